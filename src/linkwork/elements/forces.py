"""Forces: each returns the generalized forces on its bodies and accounts for its energy.

With Q the generalized forces and v the velocities, Q . v = supplied - dissipation - rate of the potential.
Tension counts positive. Differences run from i to j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from linkwork.elements.bodies import Body
from linkwork.elements.frames import PlanarFrame
from linkwork.elements.vectors import Components, Scalar, Vector, norm
from linkwork.expressions.evaluation import substitute
from linkwork.expressions.graph import ZERO, Expr, as_expr, maximum, symbol

# what a law may name besides t, parameters and the motion of bodies
LENGTH, ANGLE, RATE = symbol("length"), symbol("angle"), symbol("rate")
SHORTEST = 1e-12  # metres; below it a spring has no direction and pulls with no force


@dataclass(frozen=True, eq=False)
class SpringDamper:
    """Spring, damper and actuator between point s_i of body i and point s_j of body j.

    tension f = k (l - l0) + c l_dot + actuator (+ law(length, rate)),    l = |d|
    """

    name: str
    body_i: Body
    body_j: Body
    s_i: Components
    s_j: Components
    stiffness: Scalar = 0.0
    damping: Scalar = 0.0
    free_length: Scalar = 0.0
    actuator: Scalar = 0.0
    law: Expr = ZERO

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.body_i, self.body_j

    def measure(self, i: PlanarFrame, j: PlanarFrame) -> tuple[Vector, Expr, Expr]:
        """Unit vector from i to j, length, rate of the length."""
        d = j.point(self.s_j) - i.point(self.s_i)
        length = norm(d)
        u = d / maximum(length, SHORTEST)
        return u, length, u.dot(j.point_velocity(self.s_j) - i.point_velocity(self.s_i))

    def active(self, length: Expr, rate: Expr) -> Expr:
        """The part of the tension that is neither spring nor damper."""
        return self.actuator + substitute([self.law], {LENGTH: length, RATE: rate})[0]

    def Q(self, t: Expr, i: PlanarFrame, j: PlanarFrame) -> tuple[Vector, ...]:
        u, length, rate = self.measure(i, j)
        f = self.stiffness * (length - self.free_length) + self.damping * rate + self.active(length, rate)
        return i.force_at(self.s_i, f * u), j.force_at(self.s_j, -f * u)

    def potential(self, i: PlanarFrame, j: PlanarFrame) -> Expr:
        _, length, _ = self.measure(i, j)
        return 0.5 * (self.stiffness * (length - self.free_length)) * (length - self.free_length)

    def dissipation(self, t: Expr, i: PlanarFrame, j: PlanarFrame) -> Expr:
        _, _, rate = self.measure(i, j)
        return self.damping * rate * rate

    def supplied(self, t: Expr, i: PlanarFrame, j: PlanarFrame) -> Expr:
        _, length, rate = self.measure(i, j)
        return -self.active(length, rate) * rate


@dataclass(frozen=True, eq=False)
class RotationalSpringDamper:
    """Spring, damper and actuator between the angles of bodies i and j.

    torque T = k (theta - theta0) + c theta_dot + actuator (+ law(angle, rate)),    theta = phi_j - phi_i
    acts on body i, and -T on body j.
    """

    name: str
    body_i: Body
    body_j: Body
    stiffness: Scalar = 0.0
    damping: Scalar = 0.0
    free_angle: Scalar = 0.0
    actuator: Scalar = 0.0
    law: Expr = ZERO

    bodies = SpringDamper.bodies

    def active(self, angle: Expr, rate: Expr) -> Expr:
        return self.actuator + substitute([self.law], {ANGLE: angle, RATE: rate})[0]

    def Q(self, t: Expr, i: PlanarFrame, j: PlanarFrame) -> tuple[Vector, ...]:
        theta, rate = j.phi - i.phi, j.omega - i.omega
        T = self.stiffness * (theta - self.free_angle) + self.damping * rate + self.active(theta, rate)
        return i.torque(T), j.torque(-T)

    def potential(self, i: PlanarFrame, j: PlanarFrame) -> Expr:
        turn = j.phi - i.phi - self.free_angle
        return 0.5 * (self.stiffness * turn) * turn

    def dissipation(self, t: Expr, i: PlanarFrame, j: PlanarFrame) -> Expr:
        rate = j.omega - i.omega
        return self.damping * rate * rate

    def supplied(self, t: Expr, i: PlanarFrame, j: PlanarFrame) -> Expr:
        theta, rate = j.phi - i.phi, j.omega - i.omega
        return -self.active(theta, rate) * rate


@dataclass(frozen=True, eq=False)
class PointForce:
    """A force at point s of a body; its components are along the axes of the ground, or turn with the body."""

    name: str
    body: Body
    s: Components
    force: tuple[Scalar, Scalar]
    follows: bool = False

    @property
    def bodies(self) -> tuple[Body, ...]:
        return (self.body,)

    def F(self, i: PlanarFrame) -> Vector:
        return i.direction(self.force) if self.follows else Vector(self.force)

    def Q(self, t: Expr, i: PlanarFrame) -> tuple[Vector, ...]:
        return (i.force_at(self.s, self.F(i)),)

    def potential(self, i: PlanarFrame) -> Expr:
        return ZERO

    def dissipation(self, t: Expr, i: PlanarFrame) -> Expr:
        return ZERO

    def supplied(self, t: Expr, i: PlanarFrame) -> Expr:
        return self.F(i).dot(i.point_velocity(self.s))


@dataclass(frozen=True, eq=False)
class Torque:
    """A torque on a body."""

    name: str
    body: Body
    torque: Scalar

    bodies = PointForce.bodies
    potential = PointForce.potential
    dissipation = PointForce.dissipation

    def Q(self, t: Expr, i: PlanarFrame) -> tuple[Vector, ...]:
        return (i.torque(as_expr(self.torque)),)

    def supplied(self, t: Expr, i: PlanarFrame) -> Expr:
        return self.torque * i.omega


Force: TypeAlias = SpringDamper | RotationalSpringDamper | PointForce | Torque

# the names under which model files know the forces
FORCES: dict[str, type[Force]] = {
    "spring-damper": SpringDamper,
    "rotational-spring-damper": RotationalSpringDamper,
    "point-force": PointForce,
    "torque": Torque,
}
