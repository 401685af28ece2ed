"""The coordinates in which the equations of a mechanism can be written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import cast

from linkwork.elements.signals import StateCoordinate
from linkwork.equations.equations import Equations
from linkwork.equations.linear import count_operations
from linkwork.equations.parameters import Symbols
from linkwork.errors import check_names
from linkwork.expressions.graph import as_expr
from linkwork.model import Model
from linkwork.units import in_si


@dataclass(frozen=True)
class Coordinates:
    """The coordinates of a run by name, and the joints at which loops are `cut`; None leaves the model's choice."""

    name: str | None = None
    cut: Sequence[str] | None = None

    def __post_init__(self) -> None:
        check_names("cut", self.cut or ())


def derive(name: str, model: Model) -> Equations:
    """Derive equations by NAME_equations of the file NAME, imported when it is first asked for: a run needs one."""
    return cast(Equations, getattr(import_module(f"linkwork.equations.{name}"), f"{name}_equations")(model))


def quickest_equations(model: Model) -> Equations:
    """Derive equations in body or joint coordinates, whichever take fewer operations for the accelerations."""
    return min((derive("body", model), derive("joint", model)), key=count_operations)


# Equations in other coordinates than those of the bodies name their state in their chart, where they also say
# `body=body_equations(model)` and how their q and v follow `from_body`; they have q, v and a of the bodies first among
# their outputs, in the order of `body.columns`. All results are then the same.
COORDINATES: dict[str, Callable[[Model], Equations]] = {
    **{name: partial(derive, name) for name in ("body", "joint", "minimal", "euler")},
    "auto": quickest_equations,
}


def equations_of(model: Model) -> Equations:
    """Return the equations in the coordinates that the model asks for; those that it states itself are in its own."""
    if model.stated:
        return derive("stated", model)
    e = COORDINATES[model.simulation.coordinates](model)
    if not model.states:
        return e
    parts = Symbols(model).states
    return e.with_states(
        [
            (StateCoordinate(x.name, "", "number", in_si(x.unit).replace("*", " ")), as_expr(x.start), as_expr(x.scale))
            for x in parts
        ]
    )
