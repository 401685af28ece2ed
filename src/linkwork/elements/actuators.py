"""Actuators: forces of which the mechanism says where they act, and an analysis or a formula how large they are.

A force of size one makes the generalized forces B, so that one of the size tau makes B tau; by the principle of virtual
work the rate of what it pushes is B^T v, and its power tau B^T v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from linkwork.elements.bodies import Body, Ground
from linkwork.elements.drivers import FREEDOMS
from linkwork.elements.events import closed
from linkwork.elements.faults import INF, TINY, Faults, Numbers, find_beyond
from linkwork.elements.forces import PointForce
from linkwork.elements.frames import Frame
from linkwork.elements.freedoms import measure_freedom
from linkwork.elements.kinds import Kind, Measured, measured_load
from linkwork.elements.loads import Force, JointForce
from linkwork.elements.motions import Law, Motion
from linkwork.elements.quantities import FreedomName
from linkwork.elements.vectors import Scalar, Vector
from linkwork.errors import ModelError
from linkwork.expressions.graph import ZERO, Expr, as_expr


@dataclass(frozen=True, eq=False)
class Push(JointForce):
    """A force of size one along a freedom of a joint, or along a measure between two points."""

    freedom: FreedomName = ""

    def Q(self, *frames: Frame) -> tuple[Vector, ...]:
        return tuple(measure_freedom(self.joint, self.freedom, *frames).rows)


@dataclass(frozen=True, eq=False)
class Actuator(Force):
    """A force of some size, Q = B size, where B is the generalized force of `unit`, which is of size one.

    Where there are more actuators than freedoms, forces are shared so that the sum of weight size^2 is least.
    """

    unit: Force
    size: Scalar = 0.0
    weight: Scalar = 1.0

    @property
    def bodies(self) -> tuple[Body, ...]:
        return tuple(self.unit.bodies)

    @property
    def kind(self) -> Kind:
        """What it pushes: a length by a force, an angle by a torque."""
        if isinstance(self.unit, Push):
            joint = self.unit.joint
            return FREEDOMS[self.unit.freedom or joint.freedom_names[0]]
        return "length" if isinstance(self.unit, PointForce) else "angle"

    def Q(self, *frames: Frame) -> tuple[Vector, ...]:
        return tuple(as_expr(self.size) * Vector(row) for row in self.unit.Q(*frames))

    def measures(self, *frames: Frame) -> list[Measured]:
        return [measured_load(self.kind, as_expr(self.size))]

    def faults(self, numbers: Numbers) -> Faults:
        yield from self.unit.faults(numbers)
        yield from find_beyond(self, {"weight": (TINY, INF)}, numbers)
        if all(isinstance(body, Ground) for body in self.bodies):
            message = "acts on the ground alone, which does not move"
            yield ModelError(message, "acts-on-nothing", path="", suggestion="name a body that moves")
        elif len(self.bodies) > 1 and len({body.name for body in self.bodies}) == 1:
            message = f"acts between two points of '{self.bodies[0].name}', which it cannot move"
            yield ModelError(message, "acts-on-nothing", path="", suggestion="choose points of two bodies")
        axis = getattr(self.unit, "force", getattr(self.unit, "torque", 1.0))
        if not any(numbers.value(x) for x in (axis if isinstance(axis, tuple) else (axis,))):
            yield ModelError("the axis has length zero", "zero-axis", path="axis", suggestion="write [1, 0, 0]")


@dataclass(frozen=True, eq=False)
class Tried(Actuator):
    """An actuator whose size is a symbol that has another value at every instant."""

    @property
    def held(self) -> dict[Expr, float]:
        return {as_expr(self.size): 0.0, closed(self.name): 1.0}


@dataclass(frozen=True, eq=False)
class Asked:
    """What an actuator pushes as a row among the constraints, B^T v, whose multiplier is minus its force.

    The row is zero, and asks for nothing, where `closed` is zero.
    """

    name: str
    actuator: Actuator
    rows: ClassVar[dict[str, Kind]] = {}
    motion: ClassVar[Motion] = Law(ZERO)

    @property
    def slips(self) -> dict[str, Kind]:
        return {"push": self.actuator.kind}

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.actuator.bodies

    def faults(self, numbers: Numbers) -> Faults:
        yield from ()

    def Psi(self, t: Expr, *frames: Frame) -> Vector:
        return Vector(())

    def slip(self, t: Expr, *frames: Frame) -> Vector:
        return Vector((closed(self.name) * self.actuator.unit.power(*frames),))

    def measures(self, lam: Expr, Psi_t: Expr) -> list[Measured]:
        return []
