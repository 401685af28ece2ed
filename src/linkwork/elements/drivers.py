"""Drivers: a freedom of a joint, or a measure between two points, follows a function of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.elements.bodies import Body
from linkwork.elements.joints import Joint
from linkwork.elements.kinds import Kind
from linkwork.elements.motions import Motion
from linkwork.elements.vectors import Vector
from linkwork.expressions.graph import Expr


@dataclass(frozen=True, eq=False)
class Driver:
    """Psi = freedom(q) - f(t); the driving force or torque in the direction of the freedom is -lam."""

    name: str
    joint: Joint
    freedom: str
    motion: Motion

    @property
    def rows(self) -> dict[str, Kind]:
        return {"drive": "angle" if self.freedom == "angle" else "length"}

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.joint.bodies

    def Psi(self, t: Expr, *frames: Any) -> Vector:
        return Vector((self.joint.freedoms(*frames)[self.freedom] - self.motion.f(t),))
