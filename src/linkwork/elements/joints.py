"""Joints of planar bodies, and the lists of all joints.

Each is its constraint equations Psi and names the freedoms it leaves.
Differences run from i to j: d = P_j - P_i. Constants that are None are taken from the start position of the bodies.
`axis` is a direction fixed in body i; the reaction is the force and torque on body j at its joint point, given along
and across the axis where the joint has one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from linkwork.elements.bodies import Body, Ground
from linkwork.elements.couplings import Coupling
from linkwork.elements.faults import Faults, Numbers
from linkwork.elements.frames import PlanarFrame
from linkwork.elements.kinds import Kind, Space
from linkwork.elements.pairs import AxisPair, Joint, PointPair, RodPair, note_own_carrier
from linkwork.elements.quantities import Angle, Length
from linkwork.elements.rolling import KnifeEdge, RollingEllipsoid, RollingSphere, Skate, VelocityConstraint, Wheel
from linkwork.elements.spatial import (
    ConstantVelocity,
    Cylindrical,
    PlanarContact,
    PointOnPlane,
    RackAndPinion,
    RevoluteSpherical,
    Screw,
    SpatialDistance,
    SpatialGear,
    SpatialMeasure,
    SpatialPointOnLine,
    SpatialPrismatic,
    SpatialRevolute,
    SpatialRigid,
    Spherical,
    Universal,
    UniversalSpherical,
)
from linkwork.elements.vectors import Vector, norm
from linkwork.errors import ModelError
from linkwork.expressions.graph import Expr, as_expr
from linkwork.notes import Note

STEEPEST = math.pi / 4  # pressure angle


def relative_angle(joint: Rigid | Prismatic | AngleLock) -> Expr:
    """Return the angle that the joint keeps: as given, else that of the start."""
    if joint.angle is not None:
        return as_expr(joint.angle)
    i, j = joint.starts()
    return as_expr(j.phi - i.phi)


class Revolute(PointPair):
    """Point s_i of body i stays on point s_j of body j.

    Psi = P_j - P_i                                                                    [haug1989, chapter 3]
    """

    rows: ClassVar[dict[str, Kind]] = {"x": "length", "y": "length"}

    def Psi(self, t: Expr, i: PlanarFrame, j: PlanarFrame) -> Vector:
        return self.d(i, j)

    def freedoms(self, i: PlanarFrame, j: PlanarFrame) -> Mapping[str, Expr]:
        return {"angle": j.phi - i.phi}


@dataclass(frozen=True, eq=False)
class Prismatic(AxisPair):
    """Point s_j of body j slides along the axis through s_i on body i; the bodies do not turn against each other.

    Psi = (n . d, phi_j - phi_i - angle),    n = perp(A_i axis)                        [haug1989, chapter 3]
    """

    angle: Angle | None = None
    rows: ClassVar[dict[str, Kind]] = {"normal": "length", "angle": "angle"}

    def Psi(self, t: Expr, i: PlanarFrame, j: PlanarFrame) -> Vector:
        return Vector((self.u(i).perp().dot(self.d(i, j)), j.phi - i.phi - relative_angle(self)))

    def freedoms(self, i: PlanarFrame, j: PlanarFrame) -> Mapping[str, Expr]:
        return {"displacement": self.u(i).dot(self.d(i, j))}


@dataclass(frozen=True, eq=False)
class Rigid(PointPair):
    """Bodies i and j are fastened to each other at points s_i and s_j.

    Psi = (P_j - P_i, phi_j - phi_i - angle)
    """

    angle: Angle | None = None
    rows: ClassVar[dict[str, Kind]] = {"x": "length", "y": "length", "angle": "angle"}

    def Psi(self, t: Expr, i: PlanarFrame, j: PlanarFrame) -> Vector:
        return Vector((*self.d(i, j), j.phi - i.phi - relative_angle(self)))


class Distance(RodPair):
    """A massless rod with two pins keeps points s_i and s_j at the distance `length`.    [haug1989, chapter 3]"""

    def freedoms(self, i: PlanarFrame, j: PlanarFrame) -> Mapping[str, Expr]:
        return {"angle": j.phi - i.phi}


class PointOnLine(AxisPair):
    """A pin at s_j of body j runs in a slot of body i along the axis through s_i.

    Psi = n . d,    n = perp(A_i axis)
    """

    rows: ClassVar[dict[str, Kind]] = {"normal": "length"}

    def Psi(self, t: Expr, i: PlanarFrame, j: PlanarFrame) -> Vector:
        return Vector((self.u(i).perp().dot(self.d(i, j)),))

    def freedoms(self, i: PlanarFrame, j: PlanarFrame) -> Mapping[str, Expr]:
        return {"displacement": self.u(i).dot(self.d(i, j)), "angle": j.phi - i.phi}


@dataclass(frozen=True, eq=False)
class Rolling(AxisPair):
    """A disc of body j with centre s_j rolls without slip on the line of body i along the axis through s_i.

    Psi = (n . d - R, u . d + R (phi_j - phi_i) - c),    u = A_i axis, n = perp(u)
    The disc is on the side of n; c is the value at the start. In the plane rolling is integrable.
    """

    radius: Length
    rows: ClassVar[dict[str, Kind]] = {"normal": "length", "rolling": "length"}
    sizes: ClassVar[tuple[str, ...]] = ("radius",)

    def path(self, i: PlanarFrame, j: PlanarFrame) -> Expr:
        return self.u(i).dot(self.d(i, j)) + self.radius * (j.phi - i.phi)

    def Psi(self, t: Expr, i: PlanarFrame, j: PlanarFrame) -> Vector:
        start = self.path(*self.starts())
        return Vector((self.u(i).perp().dot(self.d(i, j)) - self.radius, self.path(i, j) - start))

    def freedoms(self, i: PlanarFrame, j: PlanarFrame) -> Mapping[str, Expr]:
        return {"displacement": self.u(i).dot(self.d(i, j)), "angle": j.phi - i.phi}


@dataclass(frozen=True, eq=False)
class Gear(Joint):
    """Two gears on a carrier; the carrier holds their centres, this joint makes the pitch circles roll.

    Psi = R_i (phi_i - phi_c) + R_j (phi_j - phi_c) - c, with -R_j for an internal gear; c is the value at the start.
    Psi is an arc length, so lam is the tangential force between the teeth. With a pressure angle they also push the
    gears apart, which their pins carry, by |lam| tan(pressure_angle).
    """

    radius_i: Length
    radius_j: Length
    carrier: Body = field(default_factory=Ground)
    internal: bool = False
    pressure_angle: Angle = 0.0
    rows: ClassVar[dict[str, Kind]] = {"mesh": "length"}
    sizes: ClassVar[tuple[str, ...]] = ("radius_i", "radius_j")

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        if not 0.0 <= (steep := numbers.value(self.pressure_angle)) <= STEEPEST:
            message, rule = f"a pressure angle of {math.degrees(steep):g} deg", "it is from 0 to 45 deg, usually 20 deg"
            yield ModelError(message, "out-of-range", path="pressure_angle", value=steep, rule=rule)

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.body_i, self.body_j, self.carrier

    def notes(self) -> Iterator[Note]:
        yield from note_own_carrier(self, self.carrier)

    def arc(self, i: PlanarFrame, j: PlanarFrame, carrier: PlanarFrame) -> Expr:
        other = self.radius_j * (j.phi - carrier.phi)
        return self.radius_i * (i.phi - carrier.phi) + (-other if self.internal else other)

    def Psi(self, t: Expr, i: PlanarFrame, j: PlanarFrame, carrier: PlanarFrame) -> Vector:
        start = self.arc(*self.starts())
        return Vector((self.arc(i, j, carrier) - start,))


@dataclass(frozen=True, eq=False)
class AngleLock(Joint):
    """Bodies i and j keep their relative angle and may shift against each other.

    Psi = phi_j - phi_i - angle
    """

    angle: Angle | None = None
    rows: ClassVar[dict[str, Kind]] = {"angle": "angle"}

    def Psi(self, t: Expr, i: PlanarFrame, j: PlanarFrame) -> Vector:
        return Vector((j.phi - i.phi - relative_angle(self),))


class Measure(PointPair):
    """No joint at all: what can be measured, and so driven, between point s_i of body i and s_j of body j."""

    def freedoms(self, i: PlanarFrame, j: PlanarFrame) -> Mapping[str, Expr]:
        d = self.d(i, j)
        return {"distance": norm(d), "angle": j.phi - i.phi, "x": d[0], "y": d[1]}


# the names under which model files know the joints
PLANAR_JOINTS: dict[str, type[Joint]] = {
    "revolute": Revolute,
    "prismatic": Prismatic,
    "rigid": Rigid,
    "distance": Distance,
    "point-on-line": PointOnLine,
    "rolling": Rolling,
    "gear": Gear,
    "angle-lock": AngleLock,
    "skate": Skate,
    "velocity-constraint": VelocityConstraint,
    "coupling": Coupling,
}
SPATIAL_JOINTS: dict[str, type[Joint]] = {
    "spherical": Spherical,
    "revolute": SpatialRevolute,
    "prismatic": SpatialPrismatic,
    "cylindrical": Cylindrical,
    "universal": Universal,
    "constant-velocity": ConstantVelocity,
    "screw": Screw,
    "planar": PlanarContact,
    "rigid": SpatialRigid,
    "point-on-line": SpatialPointOnLine,
    "point-on-plane": PointOnPlane,
    "distance": SpatialDistance,
    "revolute-spherical": RevoluteSpherical,
    "universal-spherical": UniversalSpherical,
    "gear": SpatialGear,
    "rack-and-pinion": RackAndPinion,
    "wheel": Wheel,
    "rolling-sphere": RollingSphere,
    "rolling-ellipsoid": RollingEllipsoid,
    "knife-edge": KnifeEdge,
    "velocity-constraint": VelocityConstraint,
    "coupling": Coupling,
}
JOINTS: dict[Space, dict[str, type[Joint]]] = {"planar": PLANAR_JOINTS, "spatial": SPATIAL_JOINTS}
MEASURES: dict[Space, type[PointPair]] = {"planar": Measure, "spatial": SpatialMeasure}
