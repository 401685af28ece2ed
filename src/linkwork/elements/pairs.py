"""What joints of planar and of spatial bodies have in common: two bodies, points on them, axes through the points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linkwork.elements.bodies import Body, Ground
from linkwork.elements.drawn import Drawn
from linkwork.elements.faults import Faults, Numbers, are_parallel, find_no_length
from linkwork.elements.frames import PLANAR_GROUND, Frame
from linkwork.elements.kinds import Kind
from linkwork.elements.quantities import Direction, Length
from linkwork.elements.vectors import Components, Scalar, Vector, norm
from linkwork.errors import ModelError, did_you_mean
from linkwork.expressions.graph import ZERO, Expr, as_expr, sign
from linkwork.notes import Note
from linkwork.records import kept

AXES = {"axis": "axis", "axis_j": "axis", "zero": "direction", "zero_j": "direction"}  # fields, and what they are


def find_no_freedom(joint: Joint, given: str, must_name: bool = False) -> Faults:
    """Refuse what names no freedom of a joint that leaves several."""
    freedoms = joint.freedom_names
    if given and given not in freedoms:
        message, hint = f"joint '{joint.name}' leaves no {given}", did_you_mean(str(given), freedoms)
        yield ModelError(message, "no-freedom", path="joint", value=given, suggestion=hint)
    elif not given and (len(freedoms) != 1 or must_name):
        message = f"joint '{joint.name}' leaves {', '.join(freedoms) or 'no freedom'}"
        yield ModelError(message, "which-freedom", path="joint", suggestion="name one as freedom")


def note_own_carrier(joint: Joint, carrier: Body) -> Iterator[Note]:
    """Say that a gear carries itself."""
    if carrier.name in (joint.body_i.name, joint.body_j.name):
        yield Note("own-carrier", carrier=carrier.name, joint=joint.name)


def unit(axis: Components) -> Components:
    """Return the axis with length one; along x, y or z it is exact."""
    components = Vector(axis)
    if sum(x is not ZERO for x in components) <= 1:
        return tuple(sign(x) for x in components)
    return (components / norm(components)).components


def distance(d: Vector, length: Expr) -> Expr:
    """Return (d . d - l^2) / (2 l): its multiplier is the tension of a rod."""
    return (d.dot(d) - length * length) / (2 * length)


@dataclass(frozen=True, eq=False)
class Joint(Drawn):
    """What joins two bodies."""

    name: str
    body_i: Body
    body_j: Body
    ground: ClassVar[Frame] = PLANAR_GROUND
    rows: ClassVar[dict[str, Kind]] = {}  # of Psi(t, *frames of its bodies), with what they are
    Psi: ClassVar[Callable[..., Vector]] = staticmethod(lambda *_: Vector(()))
    slips: ClassVar[dict[str, Kind]] = {}  # of slip(t, *frames) = A v + b, which is zero too and no rate of Psi
    slip: ClassVar[Callable[..., Vector]] = staticmethod(lambda *_: Vector(()))
    # by name, of its frames: what can be measured and driven
    freedoms: ClassVar[Callable[..., Mapping[str, Expr]]] = staticmethod(lambda *_: {})
    sizes: ClassVar[tuple[str, ...]] = ()  # fields that are above zero
    way: ClassVar[Any] = None  # of joints outside of paths.py, the Path that makes its freedoms coordinates
    # of its frames, for zeros of Psi where axes are reversed
    reversal: ClassVar[Callable[..., Sequence[Expr]]] = staticmethod(lambda *_: ())

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.body_i, self.body_j

    def faults(self, numbers: Numbers) -> Faults:
        """Find the faults of a joint: it joins a body to itself, or a size is not above zero."""
        if self.body_i is self.body_j:
            yield ModelError(f"joins body '{self.body_i.name}' to itself", "same-body", path="", value=self.body_i.name)
        for name in self.sizes:
            yield from find_no_length(name, getattr(self, name), numbers)

    def notes(self) -> Iterator[Note]:
        """Say what is no fault of it but seldom meant."""
        yield from ()

    @kept
    def freedom_names(self) -> tuple[str, ...]:
        """Return the names of its freedoms, which depend on no number."""
        return tuple(self.freedoms(*self.starts()))

    def starts(self) -> tuple[Any, ...]:
        """Return the frames of its bodies where their start values put them."""
        return tuple(self.ground if isinstance(b, Ground) else b.start_frame for b in self.bodies)


@dataclass(frozen=True, eq=False)
class PointPair(Joint):
    """A point on each of the two bodies; `d` runs from i to j."""

    s_i: Components
    s_j: Components

    def d(self, i: Frame, j: Frame) -> Vector:
        return j.point(self.s_j) - i.point(self.s_i)

    def start_distance(self) -> Expr:
        """Return the distance of the two points where the bodies start."""
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

    @property
    def drawn_sizes(self) -> tuple[Scalar, ...]:
        return (self.rod_length,)

    def Psi(self, t: Expr, i: Frame, j: Frame) -> Vector:
        return Vector((distance(self.d(i, j), self.rod_length),))

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        yield from find_no_length("length", self.rod_length, numbers)


@dataclass(frozen=True, eq=False)
class AxisPair(PointPair):
    """Two points and an axis of body i through s_i; `u` is its unit vector seen from the ground."""

    axis: Direction

    def u(self, i: Frame) -> Vector:
        return i.direction(unit(self.axis))

    def faults(self, numbers: Numbers) -> Faults:
        """Find axes without length, and pairs that should span a plane but are parallel."""
        yield from super().faults(numbers)
        given = {
            name: np.array([numbers.value(x) for x in axis])
            for name in AXES
            if (axis := getattr(self, name, None)) is not None
        }
        hint = "write [1, 0]" if len(self.axis) == 2 else "write [0, 0, 1]"
        for name, axis in given.items():
            if not axis.any():
                yield ModelError(f"the {AXES[name]} has length zero", "zero-axis", path=name, suggestion=hint)
        for name, other in (("zero", "axis"), ("zero_j", "axis_j")):
            if name in given and other in given and are_parallel(given[name], given[other]):
                message = f"'{name}' is parallel to '{other}', so the joint has no second direction"
                yield ModelError(message, "parallel-axes", path=name)
