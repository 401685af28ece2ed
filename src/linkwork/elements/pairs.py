"""What joints of planar and of spatial bodies have in common: two bodies, points on them, axes through the points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from linkwork.elements.bodies import Body, Ground
from linkwork.elements.frames import PLANAR_GROUND, Frame
from linkwork.elements.kinds import Kind
from linkwork.elements.quantities import Direction, Length
from linkwork.elements.vectors import Components, Vector, norm
from linkwork.expressions.graph import ZERO, Expr, as_expr, sign


def unit(axis: Components) -> Components:
    """The axis with length one; along x, y or z it is exact."""
    components = Vector(axis)
    if sum(x is not ZERO for x in components) <= 1:
        return tuple(sign(x) for x in components)
    return (components / norm(components)).components


def distance(d: Vector, length: Expr) -> Expr:
    """(d . d - l^2) / (2 l): its multiplier is the tension of a rod."""
    return (d.dot(d) - length * length) / (2 * length)


@dataclass(frozen=True, eq=False)
class Joint:
    """What joins two bodies."""

    name: str
    body_i: Body
    body_j: Body
    ground: ClassVar[Frame] = PLANAR_GROUND
    rows: ClassVar[dict[str, Kind]] = {}  # of Psi(t, *frames of its bodies), with what they are
    Psi: ClassVar[Any] = staticmethod(lambda *_: Vector(()))
    freedoms: ClassVar[Any] = staticmethod(lambda *_: {})  # by name, of its frames: what can be measured and driven
    reversal: ClassVar[Any] = staticmethod(lambda *_: ())  # of its frames, for zeros of Psi where axes are reversed

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.body_i, self.body_j

    def starts(self) -> tuple[Any, ...]:
        """The frames of its bodies where their start values put them."""
        return tuple(self.ground if isinstance(b, Ground) else b.start_frame() for b in self.bodies)


@dataclass(frozen=True, eq=False)
class PointPair(Joint):
    """A point on each of the two bodies; `d` runs from i to j."""

    s_i: Components
    s_j: Components

    def d(self, i: Frame, j: Frame) -> Vector:
        return j.point(self.s_j) - i.point(self.s_i)

    def start_distance(self) -> Expr:
        """Between the two points where the bodies start."""
        return norm(self.d(*self.starts()))


@dataclass(frozen=True, eq=False)
class RodPair(PointPair):
    """The points stay at the distance `length`, unless given that of the start; lam > 0 is tension.

    Psi = (d . d - length^2) / (2 length)
    """

    length: Length | None = None
    rows: ClassVar[dict[str, Kind]] = {"length": "length"}

    @property
    def rod_length(self) -> Expr:
        return self.start_distance() if self.length is None else as_expr(self.length)

    def Psi(self, t: Expr, i: Frame, j: Frame) -> Vector:
        return Vector((distance(self.d(i, j), self.rod_length),))


@dataclass(frozen=True, eq=False)
class AxisPair(PointPair):
    """Two points and an axis of body i through s_i; `u` is its unit vector seen from the ground."""

    axis: Direction

    def u(self, i: Frame) -> Vector:
        return i.direction(unit(self.axis))
