"""Where a body is and how it moves, as joints and forces see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from linkwork.elements.vectors import Components, Vector, norm
from linkwork.expressions.graph import TWO, ZERO, Expr, cos, sin
from linkwork.records import kept


@dataclass(frozen=True, eq=False)
class PlanarFrame:
    """Mass centre r, at c in the body frame, angle phi, their rates; A = [[cos phi, -sin phi], [sin phi, cos phi]]."""

    r: Vector
    phi: Expr
    r_dot: Vector
    omega: Expr
    c: Vector = Vector((0.0, 0.0))  # noqa: RUF009

    def direction(self, a: Components) -> Vector:
        """Return A a: a body-fixed direction seen from the ground."""
        c, s = cos(self.phi), sin(self.phi)
        x, y = Vector(a)
        return Vector((c * x - s * y, s * x + c * y))

    def point(self, s: Components) -> Vector:
        """Return r + A (s - c)."""
        return self.r + self.arm(s)

    def arm(self, s: Components) -> Vector:
        """Return A (s - c): from the mass centre to a point."""
        return self.direction((Vector(s) - self.c).components)

    def point_velocity(self, s: Components) -> Vector:
        """Return r_dot + omega perp(A (s - c))."""
        return self.r_dot + self.omega * self.arm(s).perp()

    def force_at(self, s: Components, force: Vector) -> Vector:
        """Return the generalized force (F, A (s - c) x F) of a force at point s."""
        return Vector((*force, self.arm(s).perp().dot(force)))

    def torque(self, T: Expr) -> Vector:
        return Vector((ZERO, ZERO, T))

    def velocity_at(self, place: Vector) -> Vector:
        """Return the velocity of the point of the body that is at this place."""
        return self.r_dot + self.omega * (place - self.r).perp()

    def force_through(self, place: Vector, force: Vector) -> Vector:
        """Return the generalized force of a force at this place."""
        return Vector((*force, (place - self.r).perp().dot(force)))

    @property
    def v(self) -> tuple[Expr, ...]:
        return (*self.r_dot, self.omega)

    @property
    def motion(self) -> list[tuple[Expr, Expr]]:
        """The coordinates with their rates; of the ground, which has none, nothing."""
        pairs = zip((*self.r, self.phi), self.v, strict=True)
        return [(x, rate) for x, rate in pairs if x.op == "symbol"]


PLANAR_GROUND = PlanarFrame(Vector((0.0, 0.0)), ZERO, Vector((0.0, 0.0)), ZERO)


@dataclass(frozen=True, eq=False)
class SpatialFrame:
    """Mass centre r, Euler parameters e and their rates; omega in the body frame, in which the mass centre is at c.

    A = (2 e0^2 - 1) I + 2 (e e^T + e0 e~), written homogeneous of degree two so that |e| = 1 + d scales A by
    1 + 2 d instead of deforming it [haug1989, chapter 9].
    """

    r: Vector
    e: Vector
    r_dot: Vector
    omega: Vector
    c: Vector = Vector((0.0, 0.0, 0.0))  # noqa: RUF009

    @kept
    def A(self) -> tuple[Vector, Vector, Vector]:
        """The rows of the rotation matrix."""
        e0, e1, e2, e3 = self.e
        return (
            Vector((e0 * e0 + e1 * e1 - e2 * e2 - e3 * e3, 2 * (e1 * e2 - e0 * e3), 2 * (e1 * e3 + e0 * e2))),
            Vector((2 * (e1 * e2 + e0 * e3), e0 * e0 - e1 * e1 + e2 * e2 - e3 * e3, 2 * (e2 * e3 - e0 * e1))),
            Vector((2 * (e1 * e3 - e0 * e2), 2 * (e2 * e3 + e0 * e1), e0 * e0 - e1 * e1 - e2 * e2 + e3 * e3)),
        )

    def direction(self, a: Components) -> Vector:
        return Vector(row.dot(Vector(a)) for row in self.A)

    def in_body(self, a: Vector) -> Vector:
        """Return A^T a: a direction of the ground seen from the body."""
        rows = self.A
        return Vector(sum((rows[k][i] * a[k] for k in range(3)), ZERO) for i in range(3))

    def point(self, s: Components) -> Vector:
        """Return r + A (s - c)."""
        return self.r + self.arm(s)

    def arm(self, s: Components) -> Vector:
        """Return A (s - c): from the mass centre to a point."""
        return self.direction((Vector(s) - self.c).components)

    def point_velocity(self, s: Components) -> Vector:
        """Return r_dot + A (omega x (s - c))."""
        return self.r_dot + self.direction(self.omega.cross(Vector(s) - self.c).components)

    @property
    def turning(self) -> Vector:
        """A omega: the angular velocity in the axes of the ground."""
        return self.direction(self.omega.components)

    def force_at(self, s: Components, force: Vector) -> Vector:
        """Return (F, (s - c) x A^T F): torque in the body frame."""
        return Vector((*force, *(Vector(s) - self.c).cross(self.in_body(force))))

    def torque(self, T: Vector) -> Vector:
        """Return (0, A^T T) of a torque in the axes of the ground."""
        return Vector((ZERO, ZERO, ZERO, *self.in_body(T)))

    def velocity_at(self, place: Vector) -> Vector:
        return self.r_dot + self.turning.cross(place - self.r)

    def force_through(self, place: Vector, force: Vector) -> Vector:
        return Vector((*force, *self.in_body((place - self.r).cross(force))))

    @property
    def v(self) -> tuple[Expr, ...]:
        return (*self.r_dot, *self.omega)

    @property
    def matrix_rates(self) -> list[tuple[Expr, Expr]]:
        """A_dot = A omega~, for Euler parameters of any length: derivatives need not go through these.

        Entries 2 x may stand in formulas as other multiples of x.
        """
        pairs = [(a, rate) for row in self.A for a, rate in zip(row, row.cross(self.omega), strict=True)]
        halves = [(a.args[1], 0.5 * rate) for a, rate in pairs if a.op == "mul" and a.args[0] is TWO]
        return [(a, rate) for a, rate in (*pairs, *halves) if not a.is_constant]

    @property
    def motion(self) -> list[tuple[Expr, Expr]]:
        pairs = zip((*self.r, *self.e), (*self.r_dot, *euler_rates([*self.e], [*self.omega])), strict=True)
        return [*((x, rate) for x, rate in pairs if x.op == "symbol"), *self.matrix_rates]


SPATIAL_GROUND = SpatialFrame(
    Vector((0.0, 0.0, 0.0)), Vector((1.0, 0.0, 0.0, 0.0)), Vector((0.0, 0.0, 0.0)), Vector((0.0, 0.0, 0.0))
)


@dataclass(frozen=True, eq=False)
class TurnedFrame(SpatialFrame):
    """A frame whose rotation matrix is given beside its Euler parameters."""

    rows: tuple[Vector, Vector, Vector] = SPATIAL_GROUND.A

    @kept
    def A(self) -> tuple[Vector, Vector, Vector]:
        return self.rows


Frame: TypeAlias = PlanarFrame | SpatialFrame


def euler_rates(e: Sequence[Expr], omega: Sequence[Expr]) -> list[Expr]:
    """Return E^T omega / 2, omega in the turned axes."""
    e0, e1, e2, e3 = e
    wx, wy, wz = omega
    return [
        0.5 * (-e1 * wx - e2 * wy - e3 * wz),
        0.5 * (e0 * wx - e3 * wy + e2 * wz),
        0.5 * (e3 * wx + e0 * wy - e1 * wz),
        0.5 * (-e2 * wx + e1 * wy + e0 * wz),
    ]


def euler_moved(e: Sequence[Expr], turn: Sequence[Expr]) -> list[Expr]:
    """Return (e + E^T turn / 2) / |.|, so that |e| = 1 again."""
    moved = Vector(e) + Vector(euler_rates(e, turn))
    return [*(moved / norm(moved))]


def euler_difference(e: Sequence[Expr], then: Sequence[Expr]) -> list[Expr]:
    """Return the turn by which `euler_moved` takes e to `then`: 2 p / p0 of the parameters (p0, p) from e to then."""
    e0, own, then_0, other = e[0], Vector(e[1:]), then[0], Vector(then[1:])
    turn = e0 * other - then_0 * own - own.cross(other)
    return [*(turn * 2.0 / (e0 * then_0 + own.dot(other)))]
