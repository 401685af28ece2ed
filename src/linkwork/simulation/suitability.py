"""Whether a formulation suits the equations of a mechanism at its start."""

from __future__ import annotations

import numpy as np

from linkwork.equations.equations import Equations
from linkwork.equations.place import Place
from linkwork.errors import ModelError, UsageError, option
from linkwork.formulations import FORMULATIONS, SEQUENCES, would_do
from linkwork.integrators.methods import ALPHA, RADAU5
from linkwork.linalg.rank import rank_of

MOST_FULL = 400  # velocities: 3 ms for one evaluation on full matrices, and a quarter of a million entries to compile


def check_size(n: int, formulation: str) -> None:
    """Raise UsageError where the formulation would work on full matrices of too many of n velocities."""
    if formulation in FORMULATIONS and n > MOST_FULL:
        raise UsageError(
            f"the formulation '{formulation}' works on full matrices, whose cost grows with the cube of the {n} "
            f"velocities; at most {MOST_FULL} are taken; choose {' or '.join(SEQUENCES)}, whose cost grows with their "
            "number, or joint coordinates, which are fewer",
            "too-large",
        )


def check_states(e: Equations, integrator: str) -> None:
    """Raise UsageError where states of first order are to be integrated by a method for equations of second order."""
    if e.n_states and integrator == ALPHA:
        message = f"{ALPHA} integrates equations of second order, and state '{e.q_names[-1]}' is of first order"
        raise UsageError(f"{message}; choose {option('integrator', 'auto', RADAU5)}", "no-states")


def check_massless(place: Place, formulation: str) -> None:
    """Raise ModelError where the formulation cannot do with a singular M."""
    if place.equations.chart.kind != "stated" and not np.any(place.M):
        hint = "give masses, or move it by its drivers: linkwork kinematics"
        raise ModelError("no body has mass", "zero-mass", rule="forces move masses", suggestion=hint)
    others = would_do(regular_mass=False)
    M, J = place.v_scale[:, None] * place.M * place.v_scale, place.Psi_q * place.v_scale / place.row_scale[:, None]
    determined = rank_of(M, J).rank == len(place.v)
    if formulation in others or (formulation not in FORMULATIONS and determined):
        return
    diagonal = zip(place.equations.velocities, np.diag(place.M), strict=True)
    without = next((c for c, inertia in diagonal if inertia <= 0.0), None)
    what, path = "a combination of velocities has no inertia", None
    if place.equations.chart.kind == "euler":
        what = "in Euler parameters M is singular"
    elif without is not None:
        whose, where = "body", "bodies"
        if place.equations.chart.kind == "stated":
            whose, where = "coordinate", "equations.coordinates"
        if without.owner in {joint for _, joint in place.equations.chart.carriers.values()}:
            whose, where = "what moves in joint", "joints"
        path = f"{where}.{without.owner}"
        what = f"{whose} '{without.owner}' has no {'mass' if without.kind == 'length' else 'inertia'}"
    if not determined:
        raise ModelError(
            f"{what}, and its motion follows from nothing else",
            "zero-mass",
            path=path,
            rule="no formulation finds the accelerations of a motion without mass",
            suggestion="give it mass, or take the freedom by a joint or driver",
        )
    raise ModelError(
        what,
        "zero-mass",
        path=path,
        rule=f"the formulation '{formulation}' needs a regular one: mass and inertia of every body",
        suggestion=f"choose one of the formulations {', '.join(others)}",
    )
