"""What all forces have in common, and what springs have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from linkwork.elements.bodies import Body
from linkwork.elements.drawn import Drawn
from linkwork.elements.faults import Faults, Numbers
from linkwork.elements.frames import Frame
from linkwork.elements.kinds import UNITS, Kind, Measured, measured_load
from linkwork.elements.pairs import Joint, find_no_freedom
from linkwork.elements.vectors import Components, Scalar, Vector
from linkwork.expressions.derivatives import directional
from linkwork.expressions.evaluation import substitute
from linkwork.expressions.graph import ZERO, Expr, as_expr, symbol
from linkwork.notes import Note

# what a law may name besides t, parameters and the motion of bodies
LENGTH, ANGLE, RATE = symbol("length'"), symbol("angle'"), symbol("rate'")  # no parameter has such a name
NAMED: dict[Kind, Expr] = {"length": LENGTH, "angle": ANGLE}


def nothing(*_: object) -> Expr:
    return ZERO


def account(force: Force, *frames: Frame) -> Expr:
    """Return the power that is neither lost nor stored: Q . v + dissipation + rate of the potential."""
    moving = {x: dx for frame in frames for x, dx in frame.motion}
    stored = directional([force.potential(*frames)], moving)[0]
    return as_expr(force.power(*frames) + force.dissipation(*frames) + stored)


@dataclass(frozen=True, eq=False)
class Force(Drawn):
    """A force that stores and loses nothing, keeps no parameters and has no events, unless it says so.

    `Q` are the generalized forces on its bodies; all but `held` and `events` are functions of the frames of these.
    `measures` are results: forces, lengths, whatever a designer asks of this element.
    """

    name: str
    Q: ClassVar[Callable[..., tuple[Vector, ...]]]
    potential: ClassVar[Callable[..., Expr]] = staticmethod(nothing)
    gentle: ClassVar[Callable[..., list[Expr]]] = staticmethod(lambda *_: [])  # that may be narrow where the law is not
    dissipation: ClassVar[Callable[..., Expr]] = staticmethod(nothing)
    supplied: ClassVar[Callable[..., Expr]] = account
    measures: ClassVar[Callable[..., list[Measured]]] = staticmethod(lambda *_: [])
    events: ClassVar[Callable[..., list[Any]]] = staticmethod(lambda *_: [])  # of t and the frames: Watch of events.py

    @property
    def bodies(self) -> tuple[Body, ...]:
        """Return those it acts on."""
        raise NotImplementedError

    def faults(self, numbers: Numbers) -> Faults:
        """Find the faults of this element."""
        yield from ()

    def notes(self) -> Iterator[Note]:
        """Say what is no fault of it but seldom meant."""
        yield from ()

    @property
    def held(self) -> dict[Expr, float]:
        return {}

    def power(self, *frames: Frame) -> Expr:
        """Return Q . v: what it gives to the motion of its bodies."""
        return sum((Vector(f).dot(Vector(at.v)) for f, at in zip(self.Q(*frames), frames, strict=True)), ZERO)


@dataclass(frozen=True, eq=False)
class BodyForce(Force):
    """On one body."""

    body: Body

    @property
    def bodies(self) -> tuple[Body, ...]:
        return (self.body,)


@dataclass(frozen=True, eq=False)
class BodyPointForce(BodyForce):
    """At a point of one body."""

    s: Components


@dataclass(frozen=True, eq=False)
class PairForce(Force):
    """Between two bodies."""

    body_i: Body
    body_j: Body

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.body_i, self.body_j


@dataclass(frozen=True, eq=False)
class PointPairForce(PairForce):
    """Between points of two bodies."""

    s_i: Components
    s_j: Components

    def d(self, i: Frame, j: Frame) -> Vector:
        return j.point(self.s_j) - i.point(self.s_i)


@dataclass(frozen=True, eq=False)
class JointForce(Force):
    """Along a freedom of a joint."""

    joint: Joint

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.joint.bodies

    def faults(self, numbers: Numbers) -> Faults:
        """Refuse a joint with several freedoms unless one of them is named."""
        yield from find_no_freedom(self.joint, getattr(self, "freedom", "angle"))


class Spring(Force):
    """Spring, damper and actuator along what `stretch` measures.

    tension f = stiffness stretch + damping rate + actuator (+ law),    the law of the length or angle and of the rate
    """

    stiffness: Scalar
    damping: Scalar
    actuator: Scalar
    law: Expr
    kind: ClassVar[Kind] = "angle"  # what is measured
    stretch: ClassVar[Callable[..., tuple[Expr, Expr, Expr]]]  # its value, distance from the relaxed value, and rate

    def notes(self) -> Iterator[Note]:
        if all(as_expr(x) is ZERO for x in (self.stiffness, self.damping, self.actuator, self.law)):
            yield Note("no-law", force=self.name)

    def drawn_parts(self, numbers: Numbers) -> tuple[str, ...]:
        acting = any(not numbers.is_constant(x) or numbers.value(x) != 0.0 for x in (self.law, self.actuator))
        springs = (("spring", self.stiffness), ("damper", self.damping))
        return (*(part for part, x in springs if numbers.value(x) != 0.0), *["actuator"] * acting)

    def active(self, *frames: Frame) -> Expr:
        """Return the part of the tension that is neither spring nor damper."""
        value, _, rate = self.stretch(*frames)
        return self.actuator + substitute([as_expr(self.law)], {NAMED[self.kind]: value, RATE: rate})[0]

    def tension(self, *frames: Frame) -> Expr:
        _, x, rate = self.stretch(*frames)
        return self.stiffness * x + self.damping * rate + self.active(*frames)

    def measures(self, *frames: Frame) -> list[Measured]:
        value, _, rate = self.stretch(*frames)
        unit = UNITS[self.kind]
        geometry = [Measured(self.kind, value, unit), Measured("rate", rate, f"{unit}/s")]
        return [measured_load(self.kind, self.tension(*frames)), *geometry]

    def potential(self, *frames: Frame) -> Expr:
        _, x, _ = self.stretch(*frames)
        return 0.5 * (self.stiffness * x) * x

    def dissipation(self, *frames: Frame) -> Expr:
        *_, rate = self.stretch(*frames)
        return self.damping * rate * rate

    def supplied(self, *frames: Frame) -> Expr:
        *_, rate = self.stretch(*frames)
        return -self.active(*frames) * rate
