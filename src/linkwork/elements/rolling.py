"""What rolls or glides on a plane, and other constraints of velocities that are no rates of constraints of positions.

Besides Psi(t, q) = 0 such a joint has rows `slip` = A(t, q) v + b(t, q) = 0. w is the velocity, where the bodies touch,
of body j less that of body i; n is the normal of the plane, a direction of body i. Of the reaction, rows have the
force that body i exerts along the direction that they are named by.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from linkwork import units
from linkwork.elements.bodies import Body, Ground
from linkwork.elements.faults import Faults, Numbers, are_parallel
from linkwork.elements.frames import Frame, PlanarFrame, SpatialFrame
from linkwork.elements.kinds import Kind
from linkwork.elements.pairs import Joint, PointPair, unit
from linkwork.elements.quantities import Direction, Length, Place, Quantity, choice
from linkwork.elements.spatial import AxialPair, arms_at_start
from linkwork.elements.vectors import Vector, norm
from linkwork.errors import ModelError
from linkwork.expressions.graph import Expr, as_expr, sqrt

ACROSS: dict[str, Kind] = {"across": "length"}


@dataclass(frozen=True, eq=False)
class Skate(PointPair):
    """Point s_j of body j moves on body i only along the blade, `axis_j` of body j: a skate, a sledge, a wheel.

    slip = perp(A_j axis_j) . (r_j_dot - v_i) + omega_j axis_j . (s_j - c_j),    v_i that of body i where the blade is

    which is perp(A_j axis_j) . w; it slides along the blade without friction, and turns   [neimark1972, chapter 2]
    """

    axis_j: Direction
    slips: ClassVar[dict[str, Kind]] = ACROSS

    def across(self, j: PlanarFrame) -> Vector:
        return j.direction(unit(self.axis_j)).perp()

    def slip(self, t: Expr, i: PlanarFrame, j: PlanarFrame) -> Vector:
        across, turned = self.across(j), Vector(unit(self.axis_j)).dot(Vector(self.s_j) - j.c)
        return Vector((across.dot(j.r_dot - i.velocity_at(j.point(self.s_j))) + j.omega * turned,))

    def freedoms(self, i: PlanarFrame, j: PlanarFrame) -> Mapping[str, Expr]:
        d = self.d(i, j)
        return {"x": i.direction((1.0, 0.0)).dot(d), "y": i.direction((0.0, 1.0)).dot(d), "angle": j.phi - i.phi}

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        if not any(numbers.value(x) for x in self.axis_j):
            yield ModelError("the axis has length zero", "zero-axis", path="axis_j", suggestion="write [1, 0]")


class TouchingPair(AxialPair, ABC):
    """Body j touches the plane of body i through s_i, with the normal `axis`, at a place that `reach` says.

    Psi = n . (P - P_i),    P = r_j + reach
    """

    rows: ClassVar[dict[str, Kind]] = {"normal": "length"}

    @abstractmethod
    def reach(self, i: SpatialFrame, j: SpatialFrame) -> Vector:
        """Return the vector from the mass centre of body j to the place where it touches."""

    def touch(self, i: SpatialFrame, j: SpatialFrame) -> Vector:
        return j.r + self.reach(i, j)

    def tangents(self, i: SpatialFrame, j: SpatialFrame) -> tuple[Vector, ...]:
        """Return the directions in the plane, in the order of `slips`, in which it does not slip: x_i and y_i of
        the joint.
        """
        return self.triad_i(i)[:2]

    def Psi(self, t: Expr, i: SpatialFrame, j: SpatialFrame) -> Vector:
        return Vector((self.u(i).dot(self.touch(i, j) - i.point(self.s_i)),))

    def slip(self, t: Expr, i: SpatialFrame, j: SpatialFrame) -> Vector:
        w = j.r_dot + j.turning.cross(self.reach(i, j)) - i.velocity_at(self.touch(i, j))
        return Vector(u.dot(w) for u in self.tangents(i, j))

    def freedoms(self, i: SpatialFrame, j: SpatialFrame) -> Mapping[str, Expr]:
        """Return the height of s_j above the plane."""
        (x, y, _), d = self.triad_i(i), self.d(i, j)
        return {"x": x.dot(d), "y": y.dot(d)}


@dataclass(frozen=True, eq=False)
class Wheel(TouchingPair):
    """A wheel of body j about its axle `axis_j` through the centre s_j rolls on the plane of body i without slip.

    P = C - (radius - tube) e - tube n,    e = (n - (n . a) a)/|.|,    slip = (u . w, (n x u) . w),    u = (a x n)/|.|

    a is the axle; the rim is an edge, or with a `tube` a torus of this radius, `radius` being that of the whole wheel.
    """

    axis_j: Direction
    radius: Length
    tube: Length = 0.0
    slips: ClassVar[dict[str, Kind]] = {"along": "length", **ACROSS}
    sizes: ClassVar[tuple[str, ...]] = ("radius",)

    def reach(self, i: SpatialFrame, j: SpatialFrame) -> Vector:
        n, a = self.u(i), j.direction(unit(self.axis_j))
        up = n - n.dot(a) * a
        return j.arm(self.s_j) - (as_expr(self.radius) - self.tube) / norm(up) * up - self.tube * n

    def tangents(self, i: SpatialFrame, j: SpatialFrame) -> tuple[Vector, ...]:
        n, along = self.u(i), j.direction(unit(self.axis_j)).cross(self.u(i))
        along = along / norm(along)
        return along, n.cross(along)

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        tube, radius = numbers.value(self.tube), numbers.value(self.radius)
        if not 0.0 <= tube <= radius:
            rule = "it is that of the rim, from 0 to the radius of the wheel"
            yield ModelError(f"tube {tube:g}", "out-of-range", path="tube", value=tube, rule=rule)
        if (arms := arms_at_start(self, numbers)) and are_parallel(*arms):
            rule = "the axle is not along the normal of the plane"
            yield ModelError("the wheel lies flat where it starts", "parallel-axes", path="axis_j", rule=rule)


@dataclass(frozen=True, eq=False)
class RollingSphere(TouchingPair):
    """A ball of body j with centre s_j rolls on the plane of body i without slip; it may spin about the normal.

    P = C - radius n,    slip = (x_i . w, y_i . w)
    """

    radius: Length
    slips: ClassVar[dict[str, Kind]] = {"along": "length", **ACROSS}
    sizes: ClassVar[tuple[str, ...]] = ("radius",)

    def reach(self, i: SpatialFrame, j: SpatialFrame) -> Vector:
        return j.arm(self.s_j) - self.radius * self.u(i)


@dataclass(frozen=True, eq=False)
class RollingEllipsoid(TouchingPair):
    """An ellipsoid of body j with centre s_j rolls on the plane of body i without slip, as a rattleback does.

    P = C - A_j D^2 u/sqrt(u . D^2 u),    u = A_j^T n,    D the half axes, which lie along x, y and z of body j
                                                                                          [kane1982]
    """

    half_axes: Place
    slips: ClassVar[dict[str, Kind]] = {"along": "length", **ACROSS}

    def reach(self, i: SpatialFrame, j: SpatialFrame) -> Vector:
        u = j.in_body(self.u(i))
        down = Vector(as_expr(d) * d * x for d, x in zip(self.half_axes, u, strict=True))
        return j.arm(self.s_j) - j.direction(down.components) / sqrt(u.dot(down))

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        for k, half in enumerate(map(numbers.value, self.half_axes)):
            if not half > 0.0:
                rule = "half axes are above zero"
                yield ModelError(f"{half:g} m is not a half axis", "not-positive", path=f"half_axes[{k}]", rule=rule)


@dataclass(frozen=True, eq=False)
class KnifeEdge(TouchingPair):
    """Point s_j of body j glides in the plane of body i only along the blade, `axis_j` of body j.

    P = P_j,    slip = ((n x b)/|.|) . w,    b the blade; it slides along without friction [neimark1972, chapter 2]
    """

    axis_j: Direction
    slips: ClassVar[dict[str, Kind]] = ACROSS

    def reach(self, i: SpatialFrame, j: SpatialFrame) -> Vector:
        return j.arm(self.s_j)

    def tangents(self, i: SpatialFrame, j: SpatialFrame) -> tuple[Vector, ...]:
        across = self.u(i).cross(j.direction(unit(self.axis_j)))
        return (across / norm(across),)

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        if (arms := arms_at_start(self, numbers)) and are_parallel(*arms):
            rule = "the blade is not along the normal of the plane"
            yield ModelError("the blade stands upright where it starts", "parallel-axes", path="axis_j", rule=rule)


@dataclass(frozen=True, eq=False)
class VelocityConstraint(Joint):
    """A formula of time, places and velocities stays zero, in the velocities an affine one.

    slip = formula = A(t, q) v + b(t, q). It is the rate of what `of` says, a length, an angle or a number; -lam is the
    force or torque that does work on that. Bodies i and j need not be given: the formula names what it holds.
    """

    body_i: Body = field(default_factory=Ground)
    body_j: Body = field(default_factory=Ground)
    formula: Annotated[Expr, Quantity(kinds=(units.SPEED, units.ANGULAR_SPEED), of_motion=True)] = field(kw_only=True)
    of: Annotated[Kind, choice(("length", "angle", "number"))] = "length"

    @property
    def slips(self) -> dict[str, Kind]:  # type: ignore[override]
        return {"rate": self.of}

    def slip(self, t: Expr, *_: Frame) -> Vector:
        return Vector((as_expr(self.formula),))
