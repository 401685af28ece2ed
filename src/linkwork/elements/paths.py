"""How a joint leads from body i to body j: its coordinates, and the motion from one body to the other.

A path is a list of steps, each a shift or a turn in the axes reached so far. Walked backwards, every step reversed, it
leads from body j to body i.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from linkwork.elements.drivers import FREEDOMS
from linkwork.elements.frames import Frame, PlanarFrame, SpatialFrame, TurnedFrame
from linkwork.elements.joints import Prismatic, Revolute, Rigid, Rolling, relative_angle
from linkwork.elements.kinds import Coordinate, Velocity
from linkwork.elements.orientation import Parameters, of_matrix, product, turn_about
from linkwork.elements.pairs import Joint, PointPair, unit
from linkwork.elements.spatial import (
    Cylindrical,
    PlanarContact,
    Screw,
    SpatialAxisPair,
    SpatialPrismatic,
    SpatialRevolute,
    SpatialRigid,
    Spherical,
    Triad,
    Universal,
    body_triad,
)
from linkwork.elements.vectors import Vector
from linkwork.expressions.graph import ZERO, Expr, cos, sin

Rows: TypeAlias = tuple[Vector, Vector, Vector]


@dataclass(frozen=True)
class Shift:
    """To the point s, which moves at s_dot in the axes reached."""

    s: Vector
    s_dot: Vector

    def back(self) -> Shift:
        return Shift(-self.s, -self.s_dot)

    def take(self, frame: Any) -> Any:
        s, s_dot = self.s.components, self.s_dot.components
        return replace(frame, r=frame.point(s), r_dot=frame.point_velocity(s) + frame.direction(s_dot))


@dataclass(frozen=True)
class PlanarTurn:
    angle: Expr
    rate: Expr

    def back(self) -> PlanarTurn:
        return PlanarTurn(-self.angle, -self.rate)

    def take(self, frame: PlanarFrame) -> PlanarFrame:
        return replace(frame, phi=frame.phi + self.angle, omega=frame.omega + self.rate)


@dataclass(frozen=True)
class SpatialTurn:
    """A turn by the matrix R with Euler parameters e; omega is its angular velocity in the axes after it."""

    e: Parameters
    R: Rows
    omega: Vector

    def back(self) -> SpatialTurn:
        e0, e1, e2, e3 = self.e
        return SpatialTurn((e0, -e1, -e2, -e3), _transposed(self.R), -_times(self.R, self.omega))

    def take(self, frame: TurnedFrame) -> TurnedFrame:
        R_T = _transposed(self.R)
        x, y, z = (Vector(column.dot(row) for column in R_T) for row in frame.A)
        e = Vector(product(frame.e.components, self.e))
        return replace(frame, e=e, rows=(x, y, z), omega=_times(R_T, frame.omega) + self.omega)


Step: TypeAlias = Shift | PlanarTurn | SpatialTurn
Symbols: TypeAlias = Sequence[Expr]


def _transposed(R: Rows) -> Rows:
    x, y, z = (Vector(row[k] for row in R) for k in range(3))
    return x, y, z


def _times(R: Rows, a: Vector) -> Vector:
    return Vector(row.dot(a) for row in R)


def turn_axis(axis: Vector, angle: Expr, rate: Expr) -> SpatialTurn:
    """Return R = u u^T + cos (I - u u^T) + sin u~ about the unit vector u."""
    c, s = cos(angle), sin(angle)
    ux, uy, uz = axis
    tilde = (Vector((ZERO, -uz, uy)), Vector((uz, ZERO, -ux)), Vector((-uy, ux, ZERO)))
    x, y, z = (
        Vector(axis[i] * axis[j] + c * (float(i == j) - axis[i] * axis[j]) + s * tilde[i][j] for j in range(3))
        for i in range(3)
    )
    return SpatialTurn(turn_about(axis.components, angle), (x, y, z), axis * rate)


def turn_fixed(R: Rows) -> SpatialTurn:
    return SpatialTurn(of_matrix(R), R, Vector((0.0, 0.0, 0.0)))


def _between(i: Triad, j: Triad, middle: Sequence[tuple[int, float]] = ((0, 1.0), (1, 1.0), (2, 1.0))) -> Rows:
    """Return T_i K T_j^T of triads in two bodies.

    Column k of K is `sign` times the unit vector number n, of (n, sign).
    """
    x, y, z = (
        Vector(sum((sign * i[n][a] * j[k][b] for k, (n, sign) in enumerate(middle)), ZERO) for b in range(3))
        for a in range(3)
    )
    return x, y, z


def _triads(joint: SpatialAxisPair) -> tuple[Triad, Triad]:
    """Return the axes of the joint in body i and in body j, in the axes of these bodies."""
    return body_triad(joint.axis, joint.zero), body_triad(joint.own_axis_j, joint.own_zero_j)


def _prismatic(joint: Prismatic, q: Symbols, v: Symbols) -> list[Step]:
    u = Vector(unit(joint.axis))
    return [Shift(u * q[0], u * v[0]), PlanarTurn(relative_angle(joint), ZERO)]


def _rolling(joint: Rolling, q: Symbols, v: Symbols) -> list[Step]:
    """Place the centre at c - R angle along the line and at R beside it."""
    u = Vector(unit(joint.axis))
    along = joint.path(*joint.starts()) - joint.radius * q[0]
    return [Shift(u * along + u.perp() * joint.radius, -u * joint.radius * v[0]), PlanarTurn(q[0], v[0])]


def _spatial_prismatic(joint: SpatialPrismatic, q: Symbols, v: Symbols) -> list[Step]:
    i, j = _triads(joint)
    return [Shift(i[2] * q[0], i[2] * v[0]), turn_fixed(_between(i, j))]


def _cylindrical(joint: Cylindrical | Screw, q: Symbols, v: Symbols) -> list[Step]:
    i, j = _triads(joint)
    turn = turn_axis(i[2], q[1] + joint.zero_of("angle"), v[1])
    return [Shift(i[2] * q[0], i[2] * v[0]), turn, turn_fixed(_between(i, j))]


def _screw(joint: Screw, q: Symbols, v: Symbols) -> list[Step]:
    travel = (q[0] - joint.lead(*joint.starts())) * joint.pitch / math.tau
    return _cylindrical(joint, (travel, q[0]), (v[0] * joint.pitch / math.tau, v[0]))


def _planar(joint: PlanarContact, q: Symbols, v: Symbols) -> list[Step]:
    (x, y, z), j = _triads(joint)
    shift = Shift(x * q[0] + y * q[1], x * v[0] + y * v[1])
    return [shift, turn_axis(z, q[2] + joint.zero_of("angle"), v[2]), turn_fixed(_between((x, y, z), j))]


def _universal(joint: Universal, q: Symbols, v: Symbols) -> list[Step]:
    """Turn from body i to the cross, whose x is z_j and z is z_i, and on about z_j."""
    i, j = _triads(joint)
    cross = _between(i, j, ((2, 1.0), (1, -1.0), (0, 1.0)))
    first, second = (x + joint.zero_of(name) for x, name in zip(q, joint.directions, strict=True))
    return [turn_axis(i[2], first, v[0]), turn_fixed(cross), turn_axis(j[2], second, v[1])]


def _spherical(joint: Spherical, q: Symbols, v: Symbols) -> list[Step]:
    e0, e1, e2, e3 = q
    still = Vector((0.0, 0.0, 0.0))
    return [SpatialTurn((e0, e1, e2, e3), SpatialFrame(still, Vector(q), still, still).A, Vector(v))]


class Path(NamedTuple):
    """The freedoms of a joint that are its coordinates, and the steps from point i to point j for their values q, v.

    The coordinates of a ball are four Euler parameters, and its velocities an angular velocity.
    """

    freedoms: tuple[str, ...]
    steps: Callable[[Any, Symbols, Symbols], list[Step]]
    is_ball: bool = False


PATHS: dict[type, Path] = {
    Revolute: Path(("angle",), lambda joint, q, v: [PlanarTurn(q[0], v[0])]),
    Prismatic: Path(("displacement",), _prismatic),
    Rigid: Path((), lambda joint, q, v: [PlanarTurn(relative_angle(joint), ZERO)]),
    Rolling: Path(("angle",), _rolling),
    SpatialRevolute: Path(("angle",), lambda joint, q, v: _cylindrical(joint, (ZERO, *q), (ZERO, *v))),
    SpatialPrismatic: Path(("displacement",), _spatial_prismatic),
    SpatialRigid: Path((), lambda joint, q, v: [turn_fixed(_between(*_triads(joint)))]),
    Cylindrical: Path(("displacement", "angle"), _cylindrical),
    Screw: Path(("angle",), _screw),
    PlanarContact: Path(("x", "y", "angle"), _planar),
    Universal: Path(("angle_i", "angle_j"), _universal),
    Spherical: Path((), _spherical, is_ball=True),
}


def is_path(joint: Joint) -> bool:
    """Tell whether a joint can lead from one body to another; else it closes a loop."""
    return type(joint) in PATHS or joint.way is not None


def path_of(joint: Joint) -> Path:
    found: Path = PATHS.get(type(joint)) or joint.way
    return found


def path_coordinates(joint: Joint) -> tuple[Coordinate, ...]:
    """Return the coordinates of a joint that leads from one body to another."""
    path, name = path_of(joint), joint.name
    if path.is_ball:
        return tuple(Coordinate(name, f"e{k}", "number") for k in range(4))
    return tuple(Coordinate(name, part, FREEDOMS[freedom]) for freedom, part in _parts(path))


def path_velocities(joint: Joint) -> tuple[Velocity, ...]:
    path, name = path_of(joint), joint.name
    if path.is_ball:
        return tuple(Velocity(name, f"w{x}", "angle", f"w{x}", f"alpha{x}") for x in "xyz")
    parts = ((part, FREEDOMS[freedom]) for freedom, part in _parts(path))
    return tuple(Velocity(name, part, kind, f"{part}_d", f"{part}_dd") for part, kind in parts)


def _parts(path: Path) -> list[tuple[str, str]]:
    """Return the freedoms, and what their coordinates are called behind the name of the joint."""
    return [(freedom, freedom if len(path.freedoms) > 1 else "") for freedom in path.freedoms]


def follow_path(joint: Joint, q: Symbols, v: Symbols, parent: Frame, onwards: bool) -> Any:
    """Return the axes of body j at its point of the joint, from body i; or of body i, from body j, unless `onwards`."""
    steps = path_of(joint).steps(joint, q, v)
    assert isinstance(joint, PointPair)
    s = joint.s_i if onwards else joint.s_j
    frame: Any = replace(parent, r=parent.point(s), r_dot=parent.point_velocity(s), c=parent.c * 0.0)
    if isinstance(parent, SpatialFrame):
        frame = TurnedFrame(frame.r, parent.e, frame.r_dot, parent.omega, rows=parent.A)
    for step in steps if onwards else [step.back() for step in reversed(steps)]:
        frame = step.take(frame)
    return frame
