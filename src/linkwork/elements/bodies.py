"""Rigid bodies: their coordinates, velocities, inertia and start values.

Every body answers the same questions, so that the equations are written once:
coordinates q, velocities v with qd = N(q) v, the frame they describe, the mass matrix with respect to v, the
gyroscopic force, and how a small change dx of the kind v dt moves q (`retract`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Annotated, Any, TypeAlias

from linkwork import units
from linkwork.elements.frames import PlanarFrame, SpatialFrame, euler_difference, euler_moved, euler_rates
from linkwork.elements.kinds import Coordinate, Velocity
from linkwork.elements.quantities import Angle, AngularSpeed, Inertia, Mass, Quantity
from linkwork.elements.vectors import Components, Scalar, Vector
from linkwork.expressions.graph import ZERO, Expr, as_expr, symbol
from linkwork.records import kept

Matrix: TypeAlias = dict[tuple[int, int], Expr]
AT, MOVING = Quantity("vector", (units.LENGTH,)), Quantity("vector", (units.SPEED,))
OWN_POINT = Quantity("axis", (units.LENGTH,))
MOMENTS, TURNED = Quantity("inertia", (units.INERTIA,)), Quantity("orientation", (units.NUMBER_KIND,))
TURNING = Quantity("turning", (units.ANGULAR_SPEED,))
Points: TypeAlias = Annotated[Mapping[str, Components], Quantity("points", (units.LENGTH,))]
Directions: TypeAlias = Annotated[Mapping[str, Components], Quantity("points", (units.NUMBER_KIND,))]


def _places(body: str, axes: str) -> Iterator[Coordinate]:
    return (Coordinate(body, axis, "length") for axis in axes)


def _shifts(body: str, axes: str) -> Iterator[Velocity]:
    return (Velocity(body, axis, "length", f"v{axis}", f"a{axis}") for axis in axes)


def _plain(vector: Vector) -> tuple[Any, ...]:
    """Return the components, as numbers where they are."""
    return tuple(component.number if component.is_constant else component for component in vector)


class Named:
    """A body, which elements that hold it show by its name."""

    name: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


@dataclass(frozen=True, eq=False, repr=False)
class Ground(Named):
    """What does not move; its frame is the frame of the model."""

    name: str = "ground"
    points: Points = field(default_factory=dict)
    directions: Directions = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class PlanarBody(Named):
    """A body in the plane, q = (x, y, phi) of its mass centre, v = qd, M = diag(m, m, J); J = 0 is a point mass.

    `position` and `velocity` are those of the origin of the body frame, in which points and `mass_centre` are given.
    J is given about the mass centre, or about the point `inertia_about`, where J = J_P - m |mass centre - P|^2. Without
    masses there is kinematics, but no motion under forces.
    """

    name: str
    mass: Mass = 0.0
    inertia: Inertia = 0.0
    position: Annotated[tuple[Scalar, Scalar], AT] = (0.0, 0.0)
    angle: Angle = 0.0
    velocity: Annotated[tuple[Scalar, Scalar], MOVING] = (0.0, 0.0)
    angular_velocity: AngularSpeed = 0.0
    points: Points = field(default_factory=dict)
    directions: Directions = field(default_factory=dict)
    mass_centre: Annotated[tuple[Scalar, Scalar], OWN_POINT] = (0.0, 0.0)
    inertia_about: Annotated[tuple[Scalar, Scalar], OWN_POINT] | None = None

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return (*_places(self.name, "xy"), Coordinate(self.name, "phi", "angle"))

    @property
    def velocities(self) -> tuple[Velocity, ...]:
        return (*_shifts(self.name, "xy"), Velocity(self.name, "phi", "angle", "omega", "alpha"))

    def _turned(self) -> PlanarFrame:
        """Return the body frame as it is turned at the start, about the origin of the ground."""
        still = Vector((0.0, 0.0))
        return PlanarFrame(still, as_expr(self.angle), still, as_expr(self.angular_velocity))

    @property
    def start_q(self) -> Components:
        return (*_plain(Vector(self.position) + self._turned().point(self.mass_centre)), self.angle)

    @property
    def start_v(self) -> Components:
        r_dot = Vector(self.velocity) + self._turned().point_velocity(self.mass_centre)
        return (*_plain(r_dot), self.angular_velocity)

    def from_start(self, q: Sequence[float], v: Sequence[float]) -> PlanarBody:
        """Return the same body from another start; q and v are those of its mass centre."""
        turned = replace(self, angle=q[2], angular_velocity=v[2])
        x, y = _plain(Vector(q[:2]) - turned._turned().point(self.mass_centre))
        vx, vy = _plain(Vector(v[:2]) - turned._turned().point_velocity(self.mass_centre))
        return replace(turned, position=(x, y), velocity=(vx, vy))

    def frame(self, q: Sequence[Expr], v: Sequence[Expr]) -> PlanarFrame:
        return PlanarFrame(Vector(q[:2]), q[2], Vector(v[:2]), v[2], Vector(self.mass_centre))

    @kept
    def start_frame(self) -> PlanarFrame:
        """Return the frame of the body at its start values, at rest."""
        return self.frame([as_expr(x) for x in self.start_q], [ZERO] * 3)

    def qd(self, q: Sequence[Expr], v: Sequence[Expr]) -> list[Expr]:
        return list(v)

    def retract(self, q: Sequence[Expr], dx: Sequence[Expr]) -> list[Expr]:
        return [a + b for a, b in zip(q, dx, strict=True)]

    def difference(self, q: Sequence[Expr], then: Sequence[Expr]) -> list[Expr]:
        """Return the dx by which `retract` moves q to `then`."""
        return [b - a for a, b in zip(q, then, strict=True)]

    @kept
    def J(self) -> Expr:
        """Return the inertia about the mass centre."""
        if self.inertia_about is None:
            return as_expr(self.inertia)
        d = Vector(self.mass_centre) - Vector(self.inertia_about)
        return self.inertia - self.mass * d.dot(d)

    def M(self) -> Matrix:
        m = as_expr(self.mass)
        return {(0, 0): m, (1, 1): m, (2, 2): self.J}

    def gyroscopic(self, v: Sequence[Expr]) -> list[Expr]:
        return [ZERO, ZERO, ZERO]

    def weight(self, gravity: Vector) -> Vector:
        """Return the generalized force of gravity at the mass centre."""
        return Vector((*(gravity * self.mass), ZERO))


@dataclass(frozen=True, eq=False, repr=False)
class SpatialBody(Named):
    """A body in space, q = (r, e) of its mass centre, v = (r_dot, omega): Euler parameters e, omega in the body frame.

    r_dot = v_r,    e_dot = E^T omega / 2,    M = diag(m, m, m, J) constant,    gyroscopic force -omega x J omega
                                                                         [haug1989, chapters 9 and 11]
    `position` and `velocity` are those of the origin of the body frame, in which points and `mass_centre` are given.
    J is given by its six entries (xx, yy, zz, xy, yz, zx) as matrix elements about the mass centre, or about the point
    `inertia_about` of the body frame:    J = J_P - m (d . d I - d d^T),    d = mass centre - P
    """

    name: str
    mass: Mass = 0.0
    inertia: Annotated[tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar], MOMENTS] = (0.0,) * 6  # of a point mass
    position: Annotated[tuple[Scalar, Scalar, Scalar], AT] = (0.0, 0.0, 0.0)
    orientation: Annotated[tuple[Scalar, Scalar, Scalar, Scalar], TURNED] = (1.0, 0.0, 0.0, 0.0)
    velocity: Annotated[tuple[Scalar, Scalar, Scalar], MOVING] = (0.0, 0.0, 0.0)
    angular_velocity: Annotated[tuple[Scalar, Scalar, Scalar], TURNING] = (0.0, 0.0, 0.0)
    points: Points = field(default_factory=dict)
    directions: Directions = field(default_factory=dict)
    mass_centre: Annotated[tuple[Scalar, Scalar, Scalar], OWN_POINT] = (0.0, 0.0, 0.0)
    inertia_about: Annotated[tuple[Scalar, Scalar, Scalar], OWN_POINT] | None = None

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return (*_places(self.name, "xyz"), *(Coordinate(self.name, f"e{k}", "number") for k in range(4)))

    @property
    def velocities(self) -> tuple[Velocity, ...]:
        turns = (Velocity(self.name, f"w{axis}", "angle", f"w{axis}", f"alpha{axis}") for axis in "xyz")
        return (*_shifts(self.name, "xyz"), *turns)

    def _turned(self) -> SpatialFrame:
        """Return the body frame as it is turned at the start, about the origin of the ground."""
        still = Vector((0.0, 0.0, 0.0))
        return SpatialFrame(still, Vector(self.orientation), still, Vector(self.angular_velocity))

    @property
    def start_q(self) -> Components:
        r = Vector(self.position) + self._turned().point(self.mass_centre)
        return (*r, *self.orientation)

    @property
    def start_v(self) -> Components:
        r_dot = Vector(self.velocity) + self._turned().point_velocity(self.mass_centre)
        return (*r_dot, *self.angular_velocity)

    def from_start(self, q: Sequence[float], v: Sequence[float]) -> SpatialBody:
        """Return the same body from another start; q and v are those of its mass centre."""
        r, e = (q[0], q[1], q[2]), (q[3], q[4], q[5], q[6])
        r_dot, omega = (v[0], v[1], v[2]), (v[3], v[4], v[5])
        turned = replace(self, orientation=e, angular_velocity=omega)._turned()
        position = Vector(r) - turned.point(self.mass_centre)
        velocity = Vector(r_dot) - turned.point_velocity(self.mass_centre)
        return replace(
            self, position=_plain(position), orientation=e, velocity=_plain(velocity), angular_velocity=omega
        )

    def frame(self, q: Sequence[Expr], v: Sequence[Expr]) -> SpatialFrame:
        return SpatialFrame(Vector(q[:3]), Vector(q[3:]), Vector(v[:3]), Vector(v[3:]), Vector(self.mass_centre))

    @kept
    def start_frame(self) -> SpatialFrame:
        return self.frame([as_expr(x) for x in self.start_q], [ZERO] * 6)

    def qd(self, q: Sequence[Expr], v: Sequence[Expr]) -> list[Expr]:
        return [*v[:3], *euler_rates(q[3:], v[3:])]

    def retract(self, q: Sequence[Expr], dx: Sequence[Expr]) -> list[Expr]:
        return [*(a + b for a, b in zip(q[:3], dx[:3], strict=True)), *euler_moved(q[3:], dx[3:])]

    def difference(self, q: Sequence[Expr], then: Sequence[Expr]) -> list[Expr]:
        return [*(b - a for a, b in zip(q[:3], then[:3], strict=True)), *euler_difference(q[3:], then[3:])]

    @kept
    def J(self) -> tuple[Vector, Vector, Vector]:
        """Return the inertia about the mass centre by its rows."""
        xx, yy, zz, xy, yz, zx = self.inertia
        rows = Vector((xx, xy, zx)), Vector((xy, yy, yz)), Vector((zx, yz, zz))
        if self.inertia_about is None:
            return rows
        d = Vector(self.mass_centre) - Vector(self.inertia_about)
        whole = [Vector(d.dot(d) if k == n else ZERO for k in range(3)) for n in range(3)]
        x, y, z = (row - self.mass * (own - d[n] * d) for n, (row, own) in enumerate(zip(rows, whole, strict=True)))
        return x, y, z

    def M(self) -> Matrix:
        m = as_expr(self.mass)
        entries: Matrix = {(k, k): m for k in range(3)}
        for i, row in enumerate(self.J):
            for j, entry in enumerate(row):
                if entry is not ZERO:
                    entries[3 + i, 3 + j] = entry
        return entries

    def gyroscopic(self, v: Sequence[Expr]) -> list[Expr]:
        omega = Vector(v[3:])
        momentum = Vector(row.dot(omega) for row in self.J)
        return [ZERO, ZERO, ZERO, *(-omega.cross(momentum))]

    def weight(self, gravity: Vector) -> Vector:
        return Vector((*(gravity * self.mass), ZERO, ZERO, ZERO))


Body: TypeAlias = Ground | PlanarBody | SpatialBody


def accelerations_of(body: Body) -> list[str]:
    """Return accelerations of a body and its points, as results name them: crank.ax, crank.alpha, crank.A.ax."""
    if isinstance(body, Ground):
        return []
    axes = "xy" if isinstance(body, PlanarBody) else "xyz"
    of_points = [f"{body.name}.{point}.a{axis}" for point, axis in product(body.points, axes)]
    return [*(c.acceleration for c in body.velocities), *of_points]


def measures_of(body: Body) -> Iterator[tuple[Expr, str]]:
    """Yield coordinates and velocities of a body and its points, as formulas name them, with their units."""
    if isinstance(body, Ground):
        return
    yield from ((symbol(c.name), c.unit) for c in body.coordinates)
    yield from ((symbol(c.speed), f"{c.unit}/s") for c in body.velocities)
    for point, axis in product(body.points, "xy" if isinstance(body, PlanarBody) else "xyz"):
        yield symbol(f"{body.name}.{point}.{axis}"), "m"
        yield symbol(f"{body.name}.{point}.v{axis}"), "m/s"
