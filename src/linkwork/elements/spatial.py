"""Joints of spatial bodies, composed of a few primitives in the shape of the planar ones (joints.py).

`axis` is fixed in body i and `axis_j` in body j; z_i and z_j are their unit vectors, which point the same way. x_i is
`zero` made perpendicular to the axis, and y_i = z_i x x_i; likewise in body j. Without `zero`, x is the x axis of the
body, turned the shortest way that takes its z axis to the joint axis (-z if the axis points down). Angles run from x_i
to x_j if `zero` and `zero_j` are given, and else from the start position.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from linkwork.elements.bodies import Body, Ground
from linkwork.elements.faults import Faults, Numbers, are_parallel, direct, find_no_length
from linkwork.elements.frames import SPATIAL_GROUND, Frame, SpatialFrame
from linkwork.elements.kinds import Kind
from linkwork.elements.orientation import of_matrix, product
from linkwork.elements.pairs import AxisPair, PointPair, RodPair, distance, note_own_carrier, unit
from linkwork.elements.quantities import Angle, Count, Direction, Length
from linkwork.elements.vectors import SHORTEST, Components, Scalar, Vector, norm
from linkwork.errors import ModelError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import ONE, ZERO, Expr, as_expr, atan2, cos, less, maximum, select, sin, sqrt
from linkwork.notes import Note
from linkwork.tolerances import AGREEMENT

Triad: TypeAlias = tuple[Vector, Vector, Vector]

# An axis with a z component below this points down. No usual angle has this cosine, so that rounding does not decide.
DOWN = -0.55

AXES = (Vector((1.0, 0.0, 0.0)), Vector((0.0, 1.0, 0.0)), Vector((0.0, 0.0, 1.0)))
POINT: dict[str, Kind] = {"x": "length", "y": "length", "z": "length"}
# Products of unit vectors that should be zero: as long as they are small, angles.
PARALLEL: dict[str, Kind] = {"tilt_x": "angle", "tilt_y": "angle"}


def angle(i: Triad, x_j: Vector) -> Expr:
    """Return the angle of x_j about z_i, from x_i towards y_i, within (-pi, pi]."""
    x_i, y_i, _ = i
    return atan2(y_i.dot(x_j), x_i.dot(x_j))


def bend(i: Triad, z_j: Vector) -> dict[str, Expr]:
    """Return the turns about x_i, then about the y axis so turned, that take z_i to z_j."""
    x_i, y_i, z_i = i
    across, along = y_i.dot(z_j), z_i.dot(z_j)
    return {"angle_x": atan2(-across, along), "angle_y": atan2(x_i.dot(z_j), sqrt(across * across + along * along))}


def wrapped(x: Expr) -> Expr:
    """Wrap x by whole turns: an angle from which another is taken is smooth where the two are less than pi apart."""
    (c, s), rest = _direction(x)
    if rest is not ZERO:
        c, s = c * cos(rest) - s * sin(rest), s * cos(rest) + c * sin(rest)
    return atan2(s, c)


def _direction(x: Expr) -> tuple[tuple[Expr, Expr], Expr]:
    """Return a vector (c, s) and an angle that together have the direction of x: of atan2(s, c) no arc is needed."""
    if x.op == "atan2":
        return (x.args[1], x.args[0]), ZERO
    if x.op == "neg":
        (c, s), rest = _direction(x.args[0])
        return (c, -s), -rest
    if x.op in ("add", "sub"):
        (c, s), rest = _direction(x.args[0])
        (a, b), other = _direction(x.args[1] if x.op == "add" else -x.args[1])
        return (c * a - s * b, s * a + c * b), rest + other
    return (ONE, ZERO), x


def near(x: Expr, other: Expr) -> Expr:
    """Return x with as many whole turns as bring it within half a turn of the other angle."""
    return other + wrapped(x - other)


def perpendicular(z: Components) -> Vector:
    """Return a unit vector perpendicular to the unit vector z, as the head of this file says; s = -1 if z points down.

    x = (1 - s zx^2 / (s + zz), -s zx zy / (s + zz), -s zx)                                       [duff2017]
    """
    zx, zy, zz = Vector(z)
    s = select(less(zz, DOWN), -1.0, 1.0)
    return Vector((1.0 - s * zx * zx / (s + zz), -s * zx * zy / (s + zz), -s * zx))


def body_triad(axis: Components, zero: Components | None) -> Triad:
    """Return x, y, z of a joint in the axes of the body it is fixed in."""
    z = Vector(unit(axis))
    if zero is None:
        x = perpendicular(z.components)
    else:
        x = Vector(unit((Vector(zero) - Vector(zero).dot(z) * z).components))
    return x, z.cross(x), z


def seen(frame: SpatialFrame, triad: Triad) -> Triad:
    x, y, z = (frame.direction(a.components) for a in triad)
    return x, y, z


class Spherical(PointPair):
    """Point s_i of body i stays on point s_j of body j.

    Psi = P_j - P_i                                                                    [haug1989, chapter 9]
    """

    ground: ClassVar[Frame] = SPATIAL_GROUND
    rows: ClassVar[dict[str, Kind]] = POINT

    def Psi(self, t: Expr, i: SpatialFrame, j: SpatialFrame) -> Vector:
        return self.d(i, j)

    def freedoms(self, i: SpatialFrame, j: SpatialFrame) -> Mapping[str, Expr]:
        """Return the Cardan angles x, y, z of the axes of body j in those of body i."""
        own, (x_j, y_j, z_j) = seen(i, AXES), seen(j, AXES)
        return {**bend(own, z_j), "angle_z": atan2(-own[0].dot(y_j), own[0].dot(x_j))}


class SpatialDistance(RodPair):
    """A massless rod with a ball at each end keeps s_i and s_j at the distance `length`.    [haug1989, chapter 9]"""

    ground: ClassVar[Frame] = SPATIAL_GROUND


class UniversalSpherical(SpatialDistance):
    """A massless link with a universal joint on body i and a ball on body j; the link does not spin, else as a rod."""


class AxialPair(AxisPair):
    """An axis in body i; `triad_i` are the axes in which reactions are given."""

    ground: ClassVar[Frame] = SPATIAL_GROUND

    def triad_i(self, i: SpatialFrame) -> Triad:
        return seen(i, body_triad(self.axis, None))


@dataclass(frozen=True, eq=False)
class SpatialAxisPair(AxialPair):
    """An axis in body i and the same axis in body j, by default where body j has it at the start."""

    axis_j: Direction | None = None
    zero: Direction | None = None
    zero_j: Direction | None = None

    def triad_i(self, i: SpatialFrame) -> Triad:
        return seen(i, body_triad(self.axis, self.zero))

    def in_j(self, a: Vector) -> Components:
        """Return a direction of the ground as body j has it where it starts."""
        start: SpatialFrame = self.starts()[1]
        return start.in_body(a).components

    @property
    def own_axis_j(self) -> Components:
        return self.in_j(self.triad_i(self.starts()[0])[2]) if self.axis_j is None else self.axis_j

    @property
    def own_zero_j(self) -> Components | None:
        return self.zero_j

    def x_at_start(self) -> Vector:
        """Turn x_i the shortest way from z_i to z_j as the bodies start; keep it where z_j = -z_i shows no way."""
        i, j = self.starts()
        x, _, z = self.triad_i(i)
        if self.axis_j is None:
            return x
        both = z + self.z_j(j)
        return x - (both.dot(x) / maximum(1.0 + z.dot(self.z_j(j)), SHORTEST)) * both

    def kept_from(self, before: Self, values: Mapping[Expr, float], q: Mapping[str, float]) -> Self:
        """Return the joint with numbers for what it took from its old start, if it now takes others."""
        (z, x), own = (
            [tuple(evaluate(map(as_expr, axis or ()), values)) for axis in (joint.own_axis_j, joint.own_zero_j)]
            for joint in (before, self)
        )
        if all(abs(a - b) < AGREEMENT for a, b in zip((*z, *x), chain(*own), strict=True)):
            return self
        return replace(self, axis_j=z, zero_j=x or None)

    def triad_j(self, j: SpatialFrame) -> Triad:
        return seen(j, body_triad(self.own_axis_j, self.own_zero_j))

    def z_j(self, j: SpatialFrame) -> Vector:
        return j.direction(unit(self.own_axis_j))

    def parallel(self, i: SpatialFrame, j: SpatialFrame) -> tuple[Expr, Expr]:
        """Return (x_i . z_j, y_i . z_j): the axes do not tilt against each other."""
        x, y, _ = self.triad_i(i)
        return x.dot(self.z_j(j)), y.dot(self.z_j(j))

    def apart(self, i: SpatialFrame, j: SpatialFrame) -> Expr:
        """Return 1 - z_i . z_j, never negative: 0 where the axes point the same way, 2 where they are reversed."""
        return 1.0 - self.u(i).dot(self.z_j(j))

    def offsets(self, i: SpatialFrame, j: SpatialFrame) -> tuple[Expr, Expr, Expr]:
        """Return d in the axes of the joint in body i."""
        d = self.d(i, j)
        x, y, z = self.triad_i(i)
        return x.dot(d), y.dot(d), z.dot(d)


class CountingPair(SpatialAxisPair):
    """Angles that count from the start position, or between directions where all of these are given.

    A field of the name of an angle is its value at the start; of one between given directions, whole turns count.
    """

    directions: ClassVar[Mapping[str, tuple[str, ...]]] = {"angle": ("zero", "zero_j")}

    def between(self, i: SpatialFrame, j: SpatialFrame) -> dict[str, Expr]:
        """Return the angles between the directions, within (-pi, pi]."""
        return {"angle": angle(self.triad_i(i), self.triad_j(j)[0])}

    def zero_of(self, name: str) -> Expr:
        """Return the angle between the directions where the angle of this name is zero."""
        start, stated = self.between(*self.starts())[name], getattr(self, name)
        if None in (getattr(self, direction) for direction in self.directions[name]):
            return start if stated is None else start - stated
        return ZERO if stated is None else start - near(start, as_expr(stated))

    def turns(self, i: SpatialFrame, j: SpatialFrame) -> dict[str, Expr]:
        """Return the angles, but for whole turns."""
        return {name: x - self.zero_of(name) for name, x in self.between(i, j).items()}

    def kept_from(self, before: Self, values: Mapping[Expr, float], q: Mapping[str, float]) -> Self:
        """Keep also the angles that it has now, with the turns of those in q ("A.angle")."""
        unknown: dict[str, Any] = dict.fromkeys(self.directions)
        made = replace(super().kept_from(before, values, q), **unknown)
        for name, usual in made.turns(*self.starts()).items():
            then = before.turns(*self.starts())[name]
            if (known := q.get(f"{self.name}.{name}")) is not None:
                then = near(then, as_expr(known))
            number, unless_given = evaluate([then, usual], values)
            if not abs(number - unless_given) < AGREEMENT:
                made = replace(made, **{name: number})
        return made


@dataclass(frozen=True, eq=False)
class TurningPair(CountingPair):
    """A pair that leaves one angle about its axis."""

    angle: Angle | None = None

    def reversal(self, i: SpatialFrame, j: SpatialFrame) -> tuple[Expr, ...]:
        return (self.apart(i, j),)


class SpatialRevolute(TurningPair):
    """Body j turns about the axis of body i; point s_j stays on s_i.

    Psi = (P_j - P_i, x_i . z_j, y_i . z_j)                                            [haug1989, chapter 9]
    """

    rows: ClassVar[dict[str, Kind]] = {**POINT, **PARALLEL}

    def Psi(self, t: Expr, i: SpatialFrame, j: SpatialFrame) -> Vector:
        return Vector((*self.d(i, j), *self.parallel(i, j)))

    def freedoms(self, i: SpatialFrame, j: SpatialFrame) -> Mapping[str, Expr]:
        return self.turns(i, j)


class Cylindrical(TurningPair):
    """Body j turns about the axis of body i and slides along it.

    Psi = (x_i . d, y_i . d, x_i . z_j, y_i . z_j)                                     [haug1989, chapter 9]
    """

    rows: ClassVar[dict[str, Kind]] = {"across_x": "length", "across_y": "length", **PARALLEL}

    def Psi(self, t: Expr, i: SpatialFrame, j: SpatialFrame) -> Vector:
        return Vector((*self.offsets(i, j)[:2], *self.parallel(i, j)))

    def freedoms(self, i: SpatialFrame, j: SpatialFrame) -> Mapping[str, Expr]:
        return {"displacement": self.offsets(i, j)[2], **self.turns(i, j)}


@dataclass(frozen=True, eq=False)
class Screw(TurningPair):
    """As cylindrical, with a displacement of `pitch` for each turn; the fourth and fifth row are those it adds.

    Psi = (.., pitch/2pi (angle - 2pi displacement/pitch - c)), c as at the start; whole turns are all the same
    """

    pitch: Length = field(kw_only=True)
    rows: ClassVar[dict[str, Kind]] = {**Cylindrical.rows, "thread": "length"}

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        if not numbers.value(self.pitch):
            yield ModelError("a thread without pitch does not move", "zero-pitch", path="pitch")

    def lead(self, i: SpatialFrame, j: SpatialFrame) -> Expr:
        return self.turns(i, j)["angle"] - self.offsets(i, j)[2] * math.tau / self.pitch

    def Psi(self, t: Expr, i: SpatialFrame, j: SpatialFrame) -> Vector:
        gap = wrapped(self.lead(i, j) - self.lead(*self.starts()))
        return Vector((*self.offsets(i, j)[:2], *self.parallel(i, j), gap * self.pitch / math.tau))

    def freedoms(self, i: SpatialFrame, j: SpatialFrame) -> Mapping[str, Expr]:
        return {"displacement": self.offsets(i, j)[2], **self.turns(i, j)}


class PlanarContact(TurningPair):
    """A plane of body j slides on the plane of body i through s_i; `axis` is the normal of both.

    Psi = (z_i . d, x_i . z_j, y_i . z_j)
    """

    rows: ClassVar[dict[str, Kind]] = {"normal": "length", **PARALLEL}

    def Psi(self, t: Expr, i: SpatialFrame, j: SpatialFrame) -> Vector:
        return Vector((self.offsets(i, j)[2], *self.parallel(i, j)))

    def freedoms(self, i: SpatialFrame, j: SpatialFrame) -> Mapping[str, Expr]:
        x, y, _ = self.offsets(i, j)
        return {"x": x, "y": y, **self.turns(i, j)}


class SpatialPointOnLine(SpatialAxisPair):
    """Point s_j of body j stays on the line of body i along the axis through s_i: Psi = (x_i . d, y_i . d)."""

    rows: ClassVar[dict[str, Kind]] = {"across_x": "length", "across_y": "length"}

    def Psi(self, t: Expr, i: SpatialFrame, j: SpatialFrame) -> Vector:
        return Vector(self.offsets(i, j)[:2])

    def freedoms(self, i: SpatialFrame, j: SpatialFrame) -> Mapping[str, Expr]:
        return {"displacement": self.offsets(i, j)[2]}


class PointOnPlane(SpatialAxisPair):
    """Point s_j of body j stays in the plane of body i through s_i, `axis` being its normal: Psi = z_i . d."""

    rows: ClassVar[dict[str, Kind]] = {"normal": "length"}

    def Psi(self, t: Expr, i: SpatialFrame, j: SpatialFrame) -> Vector:
        return Vector((self.u(i).dot(self.d(i, j)),))

    def freedoms(self, i: SpatialFrame, j: SpatialFrame) -> Mapping[str, Expr]:
        x, y, _ = self.offsets(i, j)
        return {"x": x, "y": y}


@dataclass(frozen=True, eq=False)
class RevoluteSpherical(TurningPair):
    """A massless link that turns about the axis of body i and has a ball on body j.

    Psi = ((d . d - length^2) / (2 length), z_i . d)                                   [haug1989, chapter 9]
    """

    length: Length | None = None
    rows: ClassVar[dict[str, Kind]] = {"length": "length", "across": "length"}

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        yield from find_no_length("length", self.rod_length, numbers)

    directions: ClassVar[Mapping[str, tuple[str, ...]]] = {"angle": ("zero",)}
    reversal: ClassVar[Any] = PointPair.reversal  # it has no axis in body j

    def between(self, i: SpatialFrame, j: SpatialFrame) -> dict[str, Expr]:
        return {"angle": angle(self.triad_i(i), self.d(i, j))}

    @property
    def rod_length(self) -> Expr:
        return self.start_distance() if self.length is None else as_expr(self.length)

    def Psi(self, t: Expr, i: SpatialFrame, j: SpatialFrame) -> Vector:
        d = self.d(i, j)
        return Vector((distance(d, self.rod_length), self.u(i).dot(d)))

    def freedoms(self, i: SpatialFrame, j: SpatialFrame) -> Mapping[str, Expr]:
        return self.turns(i, j)


class AlignedPair(SpatialAxisPair):
    """The bodies do not turn against each other: as their axes and zeros say, else as they start."""

    aligned: ClassVar[dict[str, Kind]] = {"turn_z": "angle", "turn_x": "angle", "turn_y": "angle"}

    @property
    def own_zero_j(self) -> Components | None:
        return self.in_j(self.x_at_start()) if self.zero_j is None else self.zero_j

    def reversal(self, i: SpatialFrame, j: SpatialFrame) -> tuple[Expr, ...]:
        """Return 1 - x_i . x_j, 1 - z_i . z_j"""
        return 1.0 - self.triad_i(i)[0].dot(self.triad_j(j)[0]), self.apart(i, j)

    def turned(self, i: SpatialFrame, j: SpatialFrame) -> tuple[Expr, Expr, Expr]:
        """Return (x_i . y_j, y_i . z_j, z_i . x_j)"""
        (x_i, y_i, z_i), (x_j, y_j, z_j) = self.triad_i(i), self.triad_j(j)
        return x_i.dot(y_j), y_i.dot(z_j), z_i.dot(x_j)


class SpatialPrismatic(AlignedPair):
    """Point s_j of body j slides along the axis through s_i on body i; the bodies do not turn against each other.

    Psi = (x_i . d, y_i . d, x_i . y_j, y_i . z_j, z_i . x_j)                          [haug1989, chapter 9]
    """

    rows: ClassVar[dict[str, Kind]] = {"across_x": "length", "across_y": "length", **AlignedPair.aligned}

    def Psi(self, t: Expr, i: SpatialFrame, j: SpatialFrame) -> Vector:
        return Vector((*self.offsets(i, j)[:2], *self.turned(i, j)))

    def freedoms(self, i: SpatialFrame, j: SpatialFrame) -> Mapping[str, Expr]:
        return {"displacement": self.offsets(i, j)[2]}


@dataclass(frozen=True, eq=False)
class SpatialRigid(AlignedPair):
    """Bodies i and j are fastened to each other at points s_i and s_j.

    Psi = (P_j - P_i, x_i . y_j, y_i . z_j, z_i . x_j)
    """

    axis: Direction = (0.0, 0.0, 1.0)
    rows: ClassVar[dict[str, Kind]] = {**POINT, **AlignedPair.aligned}

    def Psi(self, t: Expr, i: SpatialFrame, j: SpatialFrame) -> Vector:
        return Vector((*self.d(i, j), *self.turned(i, j)))


def arms_at_start(joint: Any, numbers: Numbers) -> tuple[Any, ...]:
    """Return the axes of both bodies seen from the ground where they start; none unless axis_j is given."""
    if joint.axis_j is None:
        return ()
    axes = (np.array([numbers.value(x) for x in axis]) for axis in (joint.axis, joint.axis_j))
    return tuple(
        np.array([numbers.value(x) for x in frame.direction(tuple(direct(a)))]) if a.any() else a
        for frame, a in zip(joint.starts(), axes, strict=True)
    )


class ConstantVelocity(SpatialAxisPair):
    """Shafts i and j meet at a point at any angle and turn at the same speed.

    Psi = (P_j - P_i, (x_i . y_j - y_i . x_j) / 2): body j is turned against body i about an axis across both shafts
    """

    rows: ClassVar[dict[str, Kind]] = {**POINT, "twist": "angle"}

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        if (arms := arms_at_start(self, numbers)) and are_parallel(*arms) and arms[0] @ arms[1] < 0:
            message = "the shafts point against each other where the bodies start"
            yield ModelError(message, "parallel-axes", path="axis_j", rule="they may bend, not fold")

    @property
    def own_zero_j(self) -> Components | None:
        return self.in_j(self.x_at_start()) if self.zero_j is None else self.zero_j

    def Psi(self, t: Expr, i: SpatialFrame, j: SpatialFrame) -> Vector:
        (x_i, y_i, _), (x_j, y_j, _) = self.triad_i(i), self.triad_j(j)
        return Vector((*self.d(i, j), 0.5 * (x_i.dot(y_j) - y_i.dot(x_j))))

    def reversal(self, i: SpatialFrame, j: SpatialFrame) -> tuple[Expr, ...]:
        """Return (1 + z_i . z_j - x_i . x_j - y_i . y_j) / 2 = 2 e_3^2 of the turn from i to j: no twist, and no
        half turn.
        """
        (x_i, y_i, z_i), (x_j, y_j, z_j) = self.triad_i(i), self.triad_j(j)
        return (0.5 * (1.0 + z_i.dot(z_j) - x_i.dot(x_j) - y_i.dot(y_j)),)

    def half_bend(self, i: SpatialFrame, j: SpatialFrame) -> Expr:
        """Return cos(bend/2), e_0 of the turn from i to j: it changes its sign where the shafts fold, and Psi_q
        vanishes.
        """
        turns = []
        for frame, triad in ((i, self.triad_i(SPATIAL_GROUND)), (j, self.triad_j(SPATIAL_GROUND))):
            own = of_matrix([Vector(axis[n] for axis in triad) for n in range(3)])
            turns.append(Vector(product(frame.e.components, own)))
        return turns[0].dot(turns[1])

    def freedoms(self, i: SpatialFrame, j: SpatialFrame) -> Mapping[str, Expr]:
        """Return how shaft j is bent against shaft i."""
        return bend(self.triad_i(i), self.z_j(j))


@dataclass(frozen=True, eq=False)
class Universal(CountingPair):
    """A cross whose arms turn in body i about `axis` and in body j about `axis_j`, which stay perpendicular.

    Psi = (P_j - P_i, z_i . z_j)                                                       [haug1989, chapter 9]
    """

    axis_j: Direction = field(kw_only=True)
    angle_i: Angle | None = None
    angle_j: Angle | None = None
    rows: ClassVar[dict[str, Kind]] = {**POINT, "arms": "angle"}

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        if (arms := arms_at_start(self, numbers)) and are_parallel(*arms):
            message = "the arms of the cross are parallel where the bodies start"
            yield ModelError(message, "parallel-axes", path="axis_j", rule="they are perpendicular")

    directions: ClassVar[Mapping[str, tuple[str, ...]]] = {"angle_i": ("zero",), "angle_j": ("zero_j",)}

    def between(self, i: SpatialFrame, j: SpatialFrame) -> dict[str, Expr]:
        return {"angle_i": angle(self.triad_i(i), self.z_j(j)), "angle_j": -angle(self.triad_j(j), self.u(i))}

    def Psi(self, t: Expr, i: SpatialFrame, j: SpatialFrame) -> Vector:
        return Vector((*self.d(i, j), self.u(i).dot(self.z_j(j))))

    def freedoms(self, i: SpatialFrame, j: SpatialFrame) -> Mapping[str, Expr]:
        """Return the angles of the cross against body i, and of body j against the cross."""
        return self.turns(i, j)


@dataclass(frozen=True, eq=False)
class SpatialGear(AxialPair):
    """Two gears on a carrier that holds their axes, parallel or crossing (bevel gears); their teeth mesh.

    Psi = R (z_i angle_i + z_j angle_j - c) / z_i with z teeth (-z_j for an internal gear), R the pitch radius of gear
    i; angles are those of the gears in the carrier about their axes, c as at the start; a whole tooth is all the same.
    """

    axis_j: Direction
    teeth_i: Count
    teeth_j: Count
    radius: Length
    carrier: Body = field(default_factory=Ground)
    internal: bool = False
    rows: ClassVar[dict[str, Kind]] = {"mesh": "length"}
    sizes: ClassVar[tuple[str, ...]] = ("radius",)

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        for name in ("teeth_i", "teeth_j"):
            if (teeth := numbers.value(getattr(self, name))) < 1 or teeth != round(teeth):
                yield ModelError(
                    f"the number of teeth cannot be {teeth:g}", "bad-teeth", path=name, value=teeth, rule="1, 2, 3 .."
                )

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.body_i, self.body_j, self.carrier

    def notes(self) -> Iterator[Note]:
        yield from note_own_carrier(self, self.carrier)

    @property
    def drawn_sizes(self) -> tuple[Scalar, ...]:
        return self.radius, as_expr(self.radius) * self.teeth_j / self.teeth_i

    def angles(self, i: SpatialFrame, j: SpatialFrame, carrier: SpatialFrame) -> tuple[Expr, Expr]:
        """Return the angles of the gears in the carrier about their axes."""
        starts = self.starts()
        found = []
        for gear, start, axis in ((i, starts[0], self.axis), (j, starts[1], self.axis_j)):
            own = body_triad(axis, None)
            fixed = body_triad(starts[2].in_body(start.direction(own[2].components)).components, None)
            found.append(angle(seen(carrier, fixed), gear.direction(own[0].components)))
        return found[0], found[1]

    def turn(self, i: SpatialFrame, j: SpatialFrame, carrier: SpatialFrame) -> Expr:
        """Return z_i angle_i + z_j angle_j"""
        one, other = self.angles(i, j, carrier)
        return as_expr(self.teeth_i) * one + as_expr(-self.teeth_j if self.internal else self.teeth_j) * other

    def Psi(self, t: Expr, i: SpatialFrame, j: SpatialFrame, carrier: SpatialFrame) -> Vector:
        gap = wrapped(self.turn(i, j, carrier) - self.turn(*self.starts()))
        return Vector((gap * self.radius / self.teeth_i,))

    def freedoms(self, i: SpatialFrame, j: SpatialFrame, carrier: SpatialFrame) -> Mapping[str, Expr]:
        """Return how far the gears have turned in the carrier since the start."""
        pairs = zip(self.angles(i, j, carrier), self.angles(*self.starts()), strict=True)
        one, other = (wrapped(now - start) for now, start in pairs)
        return {"angle_i": one, "angle_j": other}


@dataclass(frozen=True, eq=False)
class RackAndPinion(AxialPair):
    """A rack on body i along `axis`, a pinion on body j about `axis_j` through its centre s_j; other joints hold both.

    Psi = z_i . d + R angle - c, the angle of the pinion against the rack about z_j, c as at the start; the pinion is
    on the side z_j x z_i of the rack. Whole turns are all the same, as the displacement tells them apart.
    """

    axis_j: Direction
    radius: Length
    rows: ClassVar[dict[str, Kind]] = {"mesh": "length"}
    sizes: ClassVar[tuple[str, ...]] = ("radius",)

    def travel(self, i: SpatialFrame, j: SpatialFrame) -> Expr:
        return i.direction(unit(self.axis)).dot(self.d(i, j))

    def angle(self, i: SpatialFrame, j: SpatialFrame) -> Expr:
        """Return the angle of the pinion against the rack about z_j."""
        start_i, start_j = self.starts()
        own = body_triad(self.axis_j, None)
        fixed = body_triad(start_i.in_body(start_j.direction(own[2].components)).components, None)
        return angle(seen(i, fixed), j.direction(own[0].components))

    def turn(self, i: SpatialFrame, j: SpatialFrame) -> Expr:
        """Return angle + z_i . d / R"""
        return self.angle(i, j) + self.travel(i, j) / self.radius

    def Psi(self, t: Expr, i: SpatialFrame, j: SpatialFrame) -> Vector:
        return Vector((wrapped(self.turn(i, j) - self.turn(*self.starts())) * self.radius,))

    def freedoms(self, i: SpatialFrame, j: SpatialFrame) -> Mapping[str, Expr]:
        """Return the place of the pinion along the rack, and how far it has turned since the start."""
        return {"displacement": self.travel(i, j), "angle": wrapped(self.angle(i, j) - self.angle(*self.starts()))}


class SpatialMeasure(PointPair):
    """No joint at all: what can be measured, and so driven, between point s_i of body i and s_j of body j."""

    ground: ClassVar[Frame] = SPATIAL_GROUND

    def freedoms(self, i: SpatialFrame, j: SpatialFrame) -> Mapping[str, Expr]:
        d = self.d(i, j)
        return {"distance": norm(d), "x": d[0], "y": d[1], "z": d[2]}
