"""What couples joints: the freedom of one follows that of another, as by gears, belts or cables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from linkwork.elements.bodies import Body, Ground
from linkwork.elements.drivers import FREEDOMS
from linkwork.elements.faults import Faults, Numbers
from linkwork.elements.frames import Frame
from linkwork.elements.freedoms import counted
from linkwork.elements.kinds import Kind
from linkwork.elements.pairs import Joint, find_no_freedom
from linkwork.elements.quantities import NOT_GIVEN, Along, Number
from linkwork.elements.vectors import Vector
from linkwork.errors import ModelError
from linkwork.expressions.graph import Expr


@dataclass(frozen=True, eq=False)
class Coupling(Joint):
    """The one freedom of the joint `follower` is `ratio` times that of `joint`, and `offset` more.

    Psi = f_follower - ratio f_joint - offset, each the angle or the displacement of its joint; turns of angles count.
    -lam is the torque or force on the follower, ratio lam that on the other joint. Bodies are those of the two joints.
    """

    body_i: Body = field(default_factory=Ground, metadata=NOT_GIVEN)
    body_j: Body = field(default_factory=Ground, metadata=NOT_GIVEN)
    joint: Joint = field(kw_only=True)
    follower: Joint = field(kw_only=True)
    ratio: Number = 1.0
    offset: Along = 0.0

    @property
    def bodies(self) -> tuple[Body, ...]:
        return *self.joint.bodies, *self.follower.bodies

    @property
    def rows(self) -> dict[str, Kind]:  # type: ignore[override]
        return {"follow": FREEDOMS[self.follower.freedom_names[0]]}

    def faults(self, numbers: Numbers) -> Faults:
        for key in ("joint", "follower"):
            of = getattr(self, key)
            for fault in find_no_freedom(of, ""):
                yield ModelError(fault.message, fault.code, path=key, rule="a coupling takes joints of one freedom")
        if self.joint.name == self.follower.name:
            yield ModelError(f"joint '{self.joint.name}' follows itself", "same-joint", path="follower")

    def Psi(self, t: Expr, *frames: Frame) -> Vector:
        n = len(self.joint.bodies)
        leads, follows = self._value(self.joint, frames[:n]), self._value(self.follower, frames[n:])
        return Vector((follows - self.ratio * leads - self.offset,))

    def _value(self, joint: Joint, frames: tuple[Frame, ...]) -> Expr:
        freedoms: Mapping[str, Expr] = joint.freedoms(*frames)
        name, value = next(iter(freedoms.items()))
        return counted(joint, name, value, frames)
