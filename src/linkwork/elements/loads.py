"""What all forces have in common, and what springs have."""

from __future__ import annotations

from typing import Any, ClassVar

from linkwork.elements.bodies import Body
from linkwork.elements.vectors import Scalar
from linkwork.expressions.evaluation import substitute
from linkwork.expressions.graph import ZERO, Expr, as_expr, symbol

# what a law may name besides t, parameters and the motion of bodies
LENGTH, ANGLE, RATE = symbol("length'"), symbol("angle'"), symbol("rate'")  # no parameter has such a name


def _nothing(*_: Any) -> Expr:
    return ZERO


class Force:
    """A force that stores, loses and supplies nothing, keeps no parameters and has no events, unless it says so.

    `Q` are the generalized forces on its bodies; all but `held` and `events` are functions of the frames of these.
    """

    name: str
    bodies: Any  # those it acts on
    Q: Any
    potential: Any = _nothing
    dissipation: Any = _nothing
    supplied: Any = _nothing

    @property
    def held(self) -> dict[Expr, float]:
        return {}

    def events(self, t: Expr, *frames: Any) -> list[Any]:
        return []


class BodyForce(Force):
    """On one body."""

    body: Body

    @property
    def bodies(self) -> tuple[Body, ...]:
        return (self.body,)


class PairForce(Force):
    """Between two bodies."""

    body_i: Body
    body_j: Body

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.body_i, self.body_j


class JointForce(Force):
    """Along a freedom of a joint."""

    joint: Any

    @property
    def bodies(self) -> tuple[Body, ...]:
        return tuple(self.joint.bodies)


class Spring(Force):
    """Spring, damper and actuator along what `stretch` measures.

    tension f = stiffness stretch + damping rate + actuator (+ law),    the law of what is `named` and of the rate
    """

    stiffness: Scalar
    damping: Scalar
    actuator: Scalar
    law: Expr
    named: ClassVar[Expr] = ANGLE

    def stretch(self, *frames: Any) -> tuple[Expr, Expr, Expr]:
        """What is measured, how far that is from where the spring is relaxed, and its rate."""
        raise NotImplementedError

    def active(self, *frames: Any) -> Expr:
        """The part of the tension that is neither spring nor damper."""
        value, _, rate = self.stretch(*frames)
        return self.actuator + substitute([as_expr(self.law)], {self.named: value, RATE: rate})[0]

    def tension(self, *frames: Any) -> Expr:
        _, x, rate = self.stretch(*frames)
        return self.stiffness * x + self.damping * rate + self.active(*frames)

    def potential(self, *frames: Any) -> Expr:
        _, x, _ = self.stretch(*frames)
        return 0.5 * (self.stiffness * x) * x

    def dissipation(self, *frames: Any) -> Expr:
        *_, rate = self.stretch(*frames)
        return self.damping * rate * rate

    def supplied(self, *frames: Any) -> Expr:
        *_, rate = self.stretch(*frames)
        return -self.active(*frames) * rate
