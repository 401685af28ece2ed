"""The coordinates in which the equations of a mechanism can be written."""

from __future__ import annotations

from collections.abc import Callable

from linkwork.equations.body import body_equations
from linkwork.equations.equations import Equations
from linkwork.equations.euler import euler_equations
from linkwork.equations.joint import joint_equations
from linkwork.equations.linear import count_operations
from linkwork.equations.minimal import minimal_equations
from linkwork.equations.stated import stated_equations
from linkwork.model import Model


def quickest_equations(model: Model) -> Equations:
    """In body or joint coordinates, whichever take fewer operations for the accelerations at a state."""
    return min((body_equations(model), joint_equations(model)), key=count_operations)


# Equations in other coordinates than those of the bodies name their state, say `body=body_equations(model)` and how
# their q and v follow `from_body`, and have q, v and a of the bodies first among their outputs, in the order of
# `body.columns`; all results are then the same.
COORDINATES: dict[str, Callable[[Model], Equations]] = {
    "body": body_equations,
    "joint": joint_equations,
    "minimal": minimal_equations,
    "euler": euler_equations,
    "auto": quickest_equations,
}


def equations_of(model: Model) -> Equations:
    """The equations in the coordinates that the model asks for; those that it states itself are in its own."""
    return stated_equations(model) if model.stated else COORDINATES[model.simulation.coordinates](model)
