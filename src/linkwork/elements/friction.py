"""Dry friction: its coefficient at a sliding speed, and friction in a joint.

The laws are smooth: friction vanishes at rest, and what should stick creeps at a speed below `transition`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.elements.bodies import Body
from linkwork.elements.frames import Frame
from linkwork.elements.freedoms import Freedom, measure_freedom
from linkwork.elements.joints import Joint
from linkwork.elements.vectors import Scalar, Vector
from linkwork.expressions.graph import ZERO, Expr, as_expr, exp, tanh

FRICTIONS = ("none", "tanh", "anderson", "brown-mcphee")


@dataclass(frozen=True, eq=False, kw_only=True)
class Friction:
    """The coefficient of friction mu at the sliding speed v, an odd function of it.

    tanh            mu = dynamic tanh(v/transition)
    anderson        mu = (dynamic + (static - dynamic) exp(-(|v|/stribeck)^shape)) tanh(v/transition) [andersson2007]
    brown-mcphee    mu = dynamic tanh(4 w) + (static - dynamic) w/(w^2/4 + 3/4)^2,    w = v/transition    [brown2016]
                    with its peak, about `static`, at v = transition
    In each of them viscous v is added. `static` is `dynamic` and `stribeck` is `transition` unless given.
    """

    friction: str = "none"
    dynamic: Scalar = 0.0
    static: Scalar | None = None
    transition: Scalar = 1e-3
    stribeck: Scalar | None = None
    shape: Scalar = 2.0
    viscous: Scalar = 0.0

    def mu(self, v: Expr) -> Expr:
        dynamic, w = as_expr(self.dynamic), v / self.transition
        more = ZERO if self.static is None else self.static - dynamic
        if self.friction == "brown-mcphee":
            return dynamic * tanh(4.0 * w) + more * w / (0.25 * w * w + 0.75) ** 2 + self.viscous * v
        if self.friction == "anderson":
            ratio = v / (self.transition if self.stribeck is None else self.stribeck)
            dynamic = dynamic + more * exp(-((ratio * ratio) ** (0.5 * as_expr(self.shape))))
        return dynamic * tanh(w) + self.viscous * v


@dataclass(frozen=True, eq=False, kw_only=True)
class JointFriction(Friction):
    """Friction against the rate of a freedom of a joint, less `speed`, that of a belt or a shaft.

    On the freedom acts -mu(v) normal_force radius,    v = radius (rate - speed).
    `radius` is that of a pin, 1 where the freedom slides. The normal force is a formula of time and the motion.
    """

    name: str
    joint: Joint
    freedom: str = ""
    friction: str = "tanh"
    normal_force: Scalar
    radius: Scalar = 1.0
    speed: Scalar = 0.0

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.joint.bodies

    def force(self, frames: tuple[Frame, ...]) -> tuple[Expr, Freedom]:
        along = measure_freedom(self.joint, self.freedom, *frames)
        return -self.mu(self.radius * (along.rate - self.speed)) * self.normal_force * self.radius, along

    def Q(self, t: Expr, *frames: Any) -> tuple[Vector, ...]:
        f, along = self.force(frames)
        return tuple(f * row for row in along.rows)

    def potential(self, *frames: Any) -> Expr:
        return ZERO

    def dissipation(self, t: Expr, *frames: Any) -> Expr:
        f, along = self.force(frames)
        return -f * (along.rate - self.speed)

    def supplied(self, t: Expr, *frames: Any) -> Expr:
        return self.force(frames)[0] * self.speed
