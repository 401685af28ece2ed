"""Where a body is and how it moves, as joints and forces see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from linkwork.elements.vectors import Components, Vector
from linkwork.expressions.graph import ZERO, Expr, cos, sin


@dataclass(frozen=True)
class PlanarFrame:
    """Origin r, angle phi and their rates; A = [[cos phi, -sin phi], [sin phi, cos phi]]."""

    r: Vector
    phi: Expr
    r_dot: Vector
    omega: Expr

    def direction(self, a: Components) -> Vector:
        """A a: a body-fixed direction seen from the ground."""
        c, s = cos(self.phi), sin(self.phi)
        x, y = Vector(a)
        return Vector((c * x - s * y, s * x + c * y))

    def point(self, s: Components) -> Vector:
        """r + A s."""
        return self.r + self.direction(s)

    def point_velocity(self, s: Components) -> Vector:
        """r_dot + omega perp(A s)."""
        return self.r_dot + self.omega * self.direction(s).perp()

    def force_at(self, s: Components, force: Vector) -> Vector:
        """The generalized force (F, A s x F) of a force at point s."""
        return Vector((*force, self.direction(s).perp().dot(force)))

    def torque(self, T: Expr) -> Vector:
        return Vector((ZERO, ZERO, T))

    def power(self, generalized: Vector) -> Expr:
        """Generalized force times generalized velocity."""
        return generalized.dot(Vector((*self.r_dot, self.omega)))


PLANAR_GROUND = PlanarFrame(Vector((0.0, 0.0)), ZERO, Vector((0.0, 0.0)), ZERO)


@dataclass(frozen=True)
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

    @property
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
        """A^T a: a direction of the ground seen from the body."""
        rows = self.A
        return Vector(sum((rows[k][i] * a[k] for k in range(3)), ZERO) for i in range(3))

    def point(self, s: Components) -> Vector:
        """r + A (s - c)."""
        return self.r + self.direction((Vector(s) - self.c).components)

    def point_velocity(self, s: Components) -> Vector:
        """r_dot + A (omega x (s - c))."""
        return self.r_dot + self.direction(self.omega.cross(Vector(s) - self.c).components)

    @property
    def turning(self) -> Vector:
        """A omega: the angular velocity in the axes of the ground."""
        return self.direction(self.omega.components)

    def force_at(self, s: Components, force: Vector) -> Vector:
        """(F, (s - c) x A^T F): torque in the body frame."""
        return Vector((*force, *(Vector(s) - self.c).cross(self.in_body(force))))

    def torque(self, T: Vector) -> Vector:
        """(0, A^T T) of a torque in the axes of the ground."""
        return Vector((ZERO, ZERO, ZERO, *self.in_body(T)))

    def power(self, generalized: Vector) -> Expr:
        return generalized.dot(Vector((*self.r_dot, *self.omega)))


SPATIAL_GROUND = SpatialFrame(
    Vector((0.0, 0.0, 0.0)), Vector((1.0, 0.0, 0.0, 0.0)), Vector((0.0, 0.0, 0.0)), Vector((0.0, 0.0, 0.0))
)

Frame: TypeAlias = PlanarFrame | SpatialFrame
