"""Forces: each returns the generalized forces on its bodies and accounts for its energy.

With Q the generalized forces and v the velocities, Q . v = supplied - dissipation - rate of the potential.
Tension counts positive. Differences run from i to j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from linkwork import units
from linkwork.elements.contact import EndStop, FlatContact, RoundContact
from linkwork.elements.faults import INF, Faults, Numbers, find_beyond
from linkwork.elements.frames import Frame, PlanarFrame, SpatialFrame
from linkwork.elements.freedoms import Freedom, counted, measure_freedom
from linkwork.elements.friction import JointFriction, StickSlip
from linkwork.elements.kinds import Kind, Measured, Space, measured_load, measured_vector
from linkwork.elements.loads import (
    BodyForce,
    BodyPointForce,
    Force,
    JointForce,
    PairForce,
    PointPairForce,
    Spring,
    nothing,
)
from linkwork.elements.quantities import (
    Angle,
    AngleLaw,
    Damping,
    DragCoefficient,
    ForceAlong,
    ForceFormula,
    ForceVector,
    FreedomName,
    Length,
    LengthLaw,
    Quantity,
    RateAlong,
    RotationalDamping,
    RotationalStiffness,
    Stiffness,
    TorqueFormula,
    TorqueVector,
)
from linkwork.elements.spatial import CountingPair, RackAndPinion, RevoluteSpherical
from linkwork.elements.vectors import SHORTEST, Components, Vector, norm
from linkwork.errors import ModelError
from linkwork.expressions.graph import ZERO, Expr, as_expr, maximum, sqrt
from linkwork.tolerances import AGREEMENT

BUSHING_STIFFNESS = Quantity("matrix", (units.STIFFNESS, units.COUPLED_STIFFNESS, units.ROTATIONAL_STIFFNESS))
BUSHING_DAMPING = Quantity("matrix", (units.DAMPING, units.COUPLED_DAMPING, units.ROTATIONAL_DAMPING))
AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class SpringDamper(Spring, PointPairForce):
    """Spring, damper and actuator between point s_i of body i and point s_j of body j.

    tension f = k (l - l0) + c l_dot + actuator (+ law(length, rate)),    l = |d|
    """

    stiffness: Stiffness = 0.0
    damping: Damping = 0.0
    free_length: Length = 0.0
    actuator: ForceFormula = 0.0
    law: LengthLaw = ZERO
    kind: ClassVar[Kind] = "length"

    def direction(self, i: Frame, j: Frame) -> tuple[Vector, Expr]:
        """Return unit vector from i to j, and the length."""
        d = self.d(i, j)
        length = norm(d)
        return d / maximum(length, SHORTEST), length

    def stretch(self, i: Frame, j: Frame) -> tuple[Expr, Expr, Expr]:
        u, length = self.direction(i, j)
        rate = u.dot(j.point_velocity(self.s_j) - i.point_velocity(self.s_i))
        return length, length - self.free_length, rate

    def Q(self, i: Frame, j: Frame) -> tuple[Vector, ...]:
        u, f = self.direction(i, j)[0], self.tension(i, j)
        return i.force_at(self.s_i, f * u), j.force_at(self.s_j, -f * u)


@dataclass(frozen=True, eq=False)
class RotationalSpringDamper(Spring, PairForce):
    """Spring, damper and actuator between the angles of bodies i and j.

    torque T = k (theta - theta0) + c theta_dot + actuator (+ law(angle, rate)),    theta = phi_j - phi_i
    acts on body i, and -T on body j.
    """

    stiffness: RotationalStiffness = 0.0
    damping: RotationalDamping = 0.0
    free_angle: Angle = 0.0
    actuator: TorqueFormula = 0.0
    law: AngleLaw = ZERO

    def stretch(self, i: PlanarFrame, j: PlanarFrame) -> tuple[Expr, Expr, Expr]:
        theta = j.phi - i.phi
        return theta, theta - self.free_angle, j.omega - i.omega

    def Q(self, i: PlanarFrame, j: PlanarFrame) -> tuple[Vector, ...]:
        T = self.tension(i, j)
        return i.torque(T), j.torque(-T)


@dataclass(frozen=True, eq=False)
class PointForce(BodyPointForce):
    """A force at point s of a body; its components are along the axes of the ground, or turn with the body."""

    force: ForceVector
    follows: bool = False

    @property
    def drawn_axis(self) -> Components:
        return self.force

    def drawn_parts(self, numbers: Numbers) -> tuple[str, ...]:
        return ("follows",) if self.follows else ()

    def F(self, i: Frame) -> Vector:
        return i.direction(self.force) if self.follows else Vector(self.force)

    def Q(self, i: Frame) -> tuple[Vector, ...]:
        return (i.force_at(self.s, self.F(i)),)

    def measures(self, i: Frame) -> list[Measured]:
        return measured_vector("length", self.F(i))

    def supplied(self, i: Frame) -> Expr:
        return self.F(i).dot(i.point_velocity(self.s))


@dataclass(frozen=True, eq=False)
class Torque(BodyForce):
    """A torque on a body."""

    torque: TorqueFormula

    def Q(self, i: PlanarFrame) -> tuple[Vector, ...]:
        return (i.torque(as_expr(self.torque)),)

    def measures(self, i: PlanarFrame) -> list[Measured]:
        return [measured_load("angle", as_expr(self.torque))]

    def supplied(self, i: PlanarFrame) -> Expr:
        return self.torque * i.omega


@dataclass(frozen=True, eq=False)
class SpatialTorque(BodyForce):
    """A torque on a body in space; its components are along the axes of the ground, or turn with the body."""

    torque: TorqueVector
    follows: bool = False

    def T(self, i: SpatialFrame) -> Vector:
        return i.direction(self.torque) if self.follows else Vector(self.torque)

    def Q(self, i: SpatialFrame) -> tuple[Vector, ...]:
        return (i.torque(self.T(i)),)

    def measures(self, i: SpatialFrame) -> list[Measured]:
        return measured_vector("angle", self.T(i))

    def supplied(self, i: SpatialFrame) -> Expr:
        return self.T(i).dot(i.turning)


@dataclass(frozen=True, eq=False)
class AxialSpringDamper(Spring, JointForce):
    """Spring, damper and actuator about the axis of a spatial joint that leaves the freedom "angle".

    torque T = k (angle - free_angle) + c rate + actuator (+ law(angle, rate))
    acts along w on body i, and -T on body j; w is the direction in which the angle changes, the axis where the
    joint is closed:    w = x_j x (c y_i - s x_i) / (c^2 + s^2),    (c, s) = (x_i . x_j, y_i . x_j)
    Of a revolute-spherical link the angle is its own, and what acts on body j is a force through its ball; that of a
    pinion counts against its rack.
    """

    joint: CountingPair
    stiffness: RotationalStiffness = 0.0
    damping: RotationalDamping = 0.0
    free_angle: Angle = 0.0
    actuator: TorqueFormula = 0.0
    law: AngleLaw = ZERO

    def measure(self, i: SpatialFrame, j: SpatialFrame) -> Freedom:
        if isinstance(self.joint, RevoluteSpherical | RackAndPinion):
            return measure_freedom(self.joint, "angle", i, j)
        x_i, y_i, _ = self.joint.triad_i(i)
        x_j = self.joint.triad_j(j)[0]
        c, s = x_i.dot(x_j), y_i.dot(x_j)
        w = x_j.cross(c * y_i - s * x_i) / (c * c + s * s)
        turn = counted(self.joint, "angle", self.joint.turns(i, j)["angle"], (i, j))
        return Freedom(turn, w.dot(j.turning - i.turning), [i.torque(-w), j.torque(w)], "angle")

    def stretch(self, i: SpatialFrame, j: SpatialFrame) -> tuple[Expr, Expr, Expr]:
        angle, rate, *_ = self.measure(i, j)
        return angle, angle - self.free_angle, rate

    def Q(self, i: SpatialFrame, j: SpatialFrame) -> tuple[Vector, ...]:
        T = self.tension(i, j)
        return tuple(row * -T for row in self.measure(i, j).rows)


@dataclass(frozen=True, eq=False)
class Bushing(PointPairForce):
    """An elastic bearing between point s_i of body i and point s_j of body j, in the axes of body i.

    f = K x + C x_dot,    x = (A_i^T d, phi),    phi the axial vector of A_i^T A_j: for small turns the angles
    K and C are 6 x 6, symmetric, by rows, for (d, phi); f acts on body i along x, and -f on body j. It is relaxed where
    the points meet and the axes of the bodies are parallel.
    """

    stiffness: Annotated[tuple[Components, ...], BUSHING_STIFFNESS]
    damping: Annotated[tuple[Components, ...], BUSHING_DAMPING] = ((0.0,) * 6,) * 6
    supplied = nothing

    def faults(self, numbers: Numbers) -> Faults:
        """Find stiffness or damping that is not symmetric or has a negative eigenvalue."""
        for name in ("stiffness", "damping"):
            matrix = np.array([[numbers.value(x) for x in row] for row in getattr(self, name)])
            if matrix.shape != (6, 6):
                yield ModelError(f"{matrix.shape} where 6 x 6 should be", "wrong-shape", path=name)
            elif not np.allclose(matrix, matrix.T, rtol=0.0, atol=AGREEMENT * abs(matrix).max()):
                k, n = np.unravel_index(np.argmax(abs(matrix - matrix.T)), (6, 6))
                message = f"entries ({k + 1}, {n + 1}) and ({n + 1}, {k + 1}) are {matrix[k, n]:g} and {matrix[n, k]:g}"
                yield ModelError(message, "not-symmetric", path=name, rule="the matrix is symmetric")
            elif (least := np.linalg.eigvalsh(matrix)[0]) < -AGREEMENT * abs(matrix).max():
                message = f"eigenvalue {least:.6g} is negative"
                yield ModelError(message, "negative-stiffness", path=name, rule="the matrix has none below zero")

    def measure(self, i: SpatialFrame, j: SpatialFrame) -> tuple[Vector, Vector, list[tuple[Vector, Vector]]]:
        """Measure x, its rates, and for each of x the force and torque on body j, at P_j, that does unit work on it."""
        axes_i = [i.direction(a) for a in AXES]
        axes_j = [j.direction(a) for a in AXES]
        d = self.d(i, j)
        # Seen from body i, P_j moves at its own velocity less that of the point of body i which is there.
        rate = j.point_velocity(self.s_j) - i.point_velocity(self.s_i) - i.turning.cross(d)
        turning = j.turning - i.turning
        nothing = Vector((0.0, 0.0, 0.0))
        x = [a.dot(d) for a in axes_i]
        rates = [a.dot(rate) for a in axes_i]
        wrenches = [(a, nothing) for a in axes_i]
        for k in range(3):
            m, n = (k + 1) % 3, (k + 2) % 3  # of A_i^T A_j, entries (n, m) and (m, n)
            x.append(0.5 * (axes_i[n].dot(axes_j[m]) - axes_i[m].dot(axes_j[n])))
            w = 0.5 * (axes_j[m].cross(axes_i[n]) - axes_j[n].cross(axes_i[m]))
            rates.append(w.dot(turning))
            wrenches.append((nothing, w))
        return Vector(x), Vector(rates), wrenches

    def f(self, i: SpatialFrame, j: SpatialFrame) -> list[Expr]:
        x, rates, _ = self.measure(i, j)
        return [Vector(K).dot(x) + Vector(C).dot(rates) for K, C in zip(self.stiffness, self.damping, strict=True)]

    def measures(self, i: SpatialFrame, j: SpatialFrame) -> list[Measured]:
        f = self.f(i, j)
        return [*measured_vector("length", f[:3]), *measured_vector("angle", f[3:])]

    def Q(self, i: SpatialFrame, j: SpatialFrame) -> tuple[Vector, ...]:
        _, _, wrenches = self.measure(i, j)
        F = T = Vector((0.0, 0.0, 0.0))
        for size, (force, torque) in zip(self.f(i, j), wrenches, strict=True):
            F, T = F + size * force, T + size * torque
        d = self.d(i, j)
        return i.force_at(self.s_i, F) + i.torque(T + d.cross(F)), -j.force_at(self.s_j, F) - j.torque(T)

    def potential(self, i: SpatialFrame, j: SpatialFrame) -> Expr:
        x, _, _ = self.measure(i, j)
        return 0.5 * x.dot(Vector(Vector(K).dot(x) for K in self.stiffness))

    def dissipation(self, i: SpatialFrame, j: SpatialFrame) -> Expr:
        _, rates, _ = self.measure(i, j)
        return rates.dot(Vector(Vector(C).dot(rates) for C in self.damping))


@dataclass(frozen=True, eq=False)
class Drag(BodyPointForce):
    """The drag of air or water at point s of a body.

    F = -coefficient |v| v,    coefficient = density drag_coefficient area / 2
    """

    coefficient: DragCoefficient
    supplied = nothing

    def faults(self, numbers: Numbers) -> Faults:
        yield from find_beyond(self, {"coefficient": (0.0, INF)}, numbers)

    def measure(self, i: Frame) -> tuple[Vector, Expr]:
        """Measure the velocity, and how fast that is."""
        v = i.point_velocity(self.s)
        return v, sqrt(v.dot(v) + SHORTEST * SHORTEST)

    def F(self, i: Frame) -> Vector:
        v, speed = self.measure(i)
        return v * (-self.coefficient * speed)

    def Q(self, i: Frame) -> tuple[Vector, ...]:
        return (i.force_at(self.s, self.F(i)),)

    def gentle(self, i: Frame) -> list[Expr]:
        """The speed turns back fast only where it is small, and the force with it."""
        return [1.0 / self.measure(i)[1]]

    def measures(self, i: Frame) -> list[Measured]:
        return measured_vector("length", self.F(i))

    def dissipation(self, i: Frame) -> Expr:
        v, speed = self.measure(i)
        return self.coefficient * speed * v.dot(v)


@dataclass(frozen=True, eq=False)
class Motor(JointForce):
    """A motor that drives the freedom of a joint, its torque (or force) falling with the rate.

    F = stall (1 - rate/no_load),    up to rate = no_load, where it drives nothing; beyond, it brakes
    """

    stall: ForceAlong
    no_load: RateAlong
    freedom: FreedomName = ""

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        stall, no_load = numbers.value(self.stall), numbers.value(self.no_load)
        if not no_load:
            yield ModelError("a motor without speed", "out-of-range", path="no_load", rule="it is not zero")
        elif stall * no_load < 0:
            message = f"no_load {no_load:g} and stall {stall:g} differ in sign: the drive grows with the speed"
            rule = "both have the sign of the direction in which the motor drives"
            yield ModelError(message, "out-of-range", path="no_load", value=no_load, rule=rule)

    def drive(self, frames: tuple[Frame, ...]) -> tuple[Expr, Freedom]:
        along = measure_freedom(self.joint, self.freedom, *frames)
        return self.stall * (1.0 - along.rate / self.no_load), along

    def Q(self, *frames: Frame) -> tuple[Vector, ...]:
        F, along = self.drive(frames)
        return tuple(F * row for row in along.rows)

    def measures(self, *frames: Frame) -> list[Measured]:
        F, along = self.drive(frames)
        return [measured_load(along.kind, F)]

    def supplied(self, *frames: Frame) -> Expr:
        F, along = self.drive(frames)
        return F * along.rate


OF_BOTH: dict[str, type[Force]] = {
    "drag": Drag,
    "motor": Motor,
    "joint-friction": JointFriction,
    "stick-slip": StickSlip,
    "end-stop": EndStop,
}

# the names under which model files know the forces
FORCES: dict[Space, dict[str, type[Force]]] = {
    "planar": {
        "spring-damper": SpringDamper,
        "rotational-spring-damper": RotationalSpringDamper,
        "point-force": PointForce,
        "torque": Torque,
        **OF_BOTH,
        "circle-contact": RoundContact,
        "line-contact": FlatContact,
    },
    "spatial": {
        "spring-damper": SpringDamper,
        "rotational-spring-damper": AxialSpringDamper,
        "point-force": PointForce,
        "torque": SpatialTorque,
        "bushing": Bushing,
        **OF_BOTH,
        "sphere-contact": RoundContact,
        "plane-contact": FlatContact,
    },
}
