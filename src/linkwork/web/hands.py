"""Hands that pull at bodies, and honey that slows all of them down, as parameters: a page plays with both."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linkwork.elements.bodies import PlanarBody, SpatialBody
from linkwork.elements.frames import Frame
from linkwork.elements.loads import BodyForce
from linkwork.elements.vectors import Components, Vector
from linkwork.expressions.graph import ZERO, Expr, symbol
from linkwork.model import Model

STIFFNESS, DAMPING, HONEY = "hand.stiffness'", "hand.damping'", "hand.honey'"  # no parameter of a model has a prime
AXES = "xyz"


@dataclass(frozen=True, eq=False)
class Hand(BodyForce):
    """A spring and damper without length, from a place to a point P of a body, and honey.

    F = holds (stiffness (place - P) - damping P_dot),    Q = P_q^T F - honey M v

    P is at `arm` from the mass centre, along the axes of the body; `holds` is 1 for the body that is held and 0 for all
    others. Honey alone makes every free motion exp(-honey t).
    """

    body: PlanarBody | SpatialBody
    holds: Expr
    arm: Components
    place: Components

    def Q(self, i: Frame) -> tuple[Vector, ...]:
        P = i.r + i.direction(self.arm)
        pull = (Vector(self.place) - P) * symbol(STIFFNESS) - i.velocity_at(P) * symbol(DAMPING)
        slowed = [ZERO] * len(i.v)
        for (row, column), m in self.body.M().items():
            slowed[row] = slowed[row] - symbol(HONEY) * m * i.v[column]
        return (i.force_through(P, pull * self.holds) + Vector(slowed),)


def holds(body: str) -> str:
    """Return the parameter that is 1 while a hand holds this body."""
    return f"hand.holds.{body}'"


def arm(axis: str) -> str:
    return f"hand.arm.{axis}'"


def place(axis: str) -> str:
    return f"hand.place.{axis}'"


def hand_parameters(model: Model) -> list[str]:
    """Return the parameters of hands on the bodies of a model."""
    own = [name(axis) for name in (arm, place) for axis in AXES[: len(model.gravity)]]
    return [STIFFNESS, DAMPING, HONEY, *own, *(holds(body.name) for body in model.bodies)]


def with_hands(model: Model) -> Model:
    """Return the model with a hand for every body, of which none holds anything."""
    at, to = (tuple(symbol(name(axis)) for axis in AXES[: len(model.gravity)]) for name in (arm, place))
    hands = [Hand(f"hand {body.name}'", body, symbol(holds(body.name)), at, to) for body in model.bodies]
    parameters = {**model.parameters, **dict.fromkeys(hand_parameters(model), 0.0)}
    return replace(model, forces=(*model.forces, *hands), parameters=parameters)
