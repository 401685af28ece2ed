"""Whether a formulation suits the equations of a mechanism at its start."""

from __future__ import annotations

import numpy as np

from linkwork.equations.place import Place
from linkwork.errors import ModelError
from linkwork.formulations import FORMULATIONS, would_do


def check_massless(place: Place, formulation: str) -> None:
    """ModelError where the formulation cannot do with a singular M."""
    others = would_do(regular_mass=False)
    determined = np.linalg.matrix_rank(np.vstack([place.M, place.Psi_q]) * place.v_scale) == len(place.v)
    if formulation in others or (formulation not in FORMULATIONS and determined):
        return
    diagonal = zip(place.equations.velocities, np.diag(place.M), strict=True)
    without = next((c for c, inertia in diagonal if inertia <= 0.0), None)
    what = "a combination of velocities has no inertia"
    if place.equations.kind == "euler":
        what = "in Euler parameters M is singular"
    elif without is not None:
        whose = "coordinate" if place.equations.kind == "stated" else "body"
        if without.owner in {joint for _, joint in place.equations.carriers.values()}:
            whose = "what moves in joint"
        what = f"{whose} '{without.owner}' has no {'mass' if without.kind == 'length' else 'inertia'}"
    raise ModelError(
        what,
        "zero-mass",
        rule=f"the formulation '{formulation}' needs a regular one: mass and inertia of every body",
        suggestion=f"choose one of the formulations {', '.join(others)}",
    )
