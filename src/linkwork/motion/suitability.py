"""Whether a formulation suits the equations of a mechanism at its start."""

from __future__ import annotations

import numpy as np

from linkwork.elements.events import closed
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


def check_independent(place: Place, formulation: str) -> None:
    """ModelError where multipliers would not be unique, or constraints come and go."""
    e = place.equations
    switched = [name for name in dict.fromkeys(row.element for row in e.rows) if closed(name) in e.held]
    if switched:
        raise ModelError(
            f"{', '.join(repr(name) for name in switched)} can open or close, or stick and slip",
            "switching-constraints",
            rule=f"the formulation '{formulation}' integrates multipliers of constraints that stay",
            suggestion="choose augmented, with any integrator but generalized-alpha",
        )
    rank, m = place.rank.rank, len(place.equations.Psi)
    if rank < m:
        raise ModelError(
            f"constraints are redundant: rank {rank} of {m}",
            "redundant-constraints",
            rule=f"the formulation '{formulation}' integrates multipliers, which must be unique",
            suggestion="leave out what is redundant, or choose augmented with radau5 or auto",
        )
