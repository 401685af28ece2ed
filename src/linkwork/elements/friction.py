"""Dry friction: its coefficient at a sliding speed, and friction in a joint.

The laws of `Friction` are smooth: friction vanishes at rest, and what should stick creeps at a speed below
`transition`. `StickSlip` is exact instead, with a constraint while it sticks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeAlias

from linkwork.elements.bodies import Body
from linkwork.elements.drivers import FREEDOMS
from linkwork.elements.events import Watch, closed
from linkwork.elements.faults import INF, TINY, Faults, Numbers, find_beyond, find_without_effect
from linkwork.elements.frames import Frame
from linkwork.elements.freedoms import Freedom, measure_freedom
from linkwork.elements.kinds import Kind, Measured, measured_load
from linkwork.elements.loads import JointForce
from linkwork.elements.quantities import (
    ForceFormula,
    FreedomName,
    Length,
    Number,
    PerSpeed,
    Speed,
    SpeedFormulaAlong,
    choice,
)
from linkwork.elements.vectors import SHORTEST, Scalar, Vector
from linkwork.errors import ModelError
from linkwork.expressions.graph import (
    ONE,
    ZERO,
    Expr,
    absolute,
    as_expr,
    exp,
    less,
    maximum,
    select,
    sign,
    symbol,
    tanh,
)

# What each law takes, and what that is unless given: `static` is `dynamic`, and `stribeck` is `transition`.
_SMOOTH: dict[str, float | None] = {"dynamic": 0.0, "transition": 1e-3, "viscous": 0.0}
FRICTIONS: dict[str, dict[str, float | None]] = {
    "none": {},
    "tanh": _SMOOTH,
    "anderson": {**_SMOOTH, "static": None, "stribeck": None, "shape": 2.0},
    "brown-mcphee": {**_SMOOTH, "static": None},
}
FrictionLaw: TypeAlias = Annotated[str, choice(FRICTIONS)]


def in_law(element: Any, law: Mapping[str, float | None]) -> dict[str, Expr]:
    """Find what a law takes, as the element gives it or as it is unless given; not what stays open."""
    values = {key: getattr(element, key) for key in law}
    known = {key: law[key] if value is None else value for key, value in values.items()}
    return {key: as_expr(value) for key, value in known.items() if value is not None}


@dataclass(frozen=True, eq=False, kw_only=True)
class Friction:
    """The coefficient of friction mu at the sliding speed v, an odd function of it.

    tanh            mu = dynamic tanh(v/transition)
    anderson        mu = (dynamic + (static - dynamic) exp(-(|v|/stribeck)^shape)) tanh(v/transition) [andersson2007]
    brown-mcphee    mu = dynamic tanh(4 w) + (static - dynamic) w/(w^2/4 + 3/4)^2,    w = v/transition    [brown2016]
                    with its peak, about `static`, at v = transition
    In each of them viscous v is added.
    """

    friction: FrictionLaw = "none"
    dynamic: Number | None = None
    static: Number | None = None
    transition: Speed | None = None
    stribeck: Speed | None = None
    shape: Number | None = None
    viscous: PerSpeed | None = None

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)  # type: ignore[misc]
        yield from find_without_effect(self, "friction", FRICTIONS, "")
        least = 0.0 if self.dynamic is None else numbers.value(self.dynamic)
        limits = {"dynamic": (0.0, INF), "static": (least, INF), "viscous": (0.0, INF)}
        limits |= {"transition": (TINY, INF), "stribeck": (TINY, INF), "shape": (TINY, INF)}
        yield from find_beyond(self, limits, numbers)

    def mu(self, v: Expr) -> Expr:
        if self.friction == "none":
            return ZERO
        given = in_law(self, FRICTIONS[self.friction])
        dynamic, transition, viscous = given["dynamic"], given["transition"], given["viscous"]
        more, w = given.get("static", dynamic) - dynamic, v / transition
        if self.friction == "brown-mcphee":
            return dynamic * tanh(4.0 * w) + more * w / (0.25 * w * w + 0.75) ** 2 + viscous * v
        if self.friction == "anderson":
            ratio = v / given.get("stribeck", transition)
            dynamic = dynamic + more * exp(-((ratio * ratio) ** (0.5 * given["shape"])))
        return dynamic * tanh(w) + viscous * v


def pressing(normal_force: Scalar) -> Expr:
    """Return the normal force, none where its formula is negative: what is pulled does not rub."""
    N = as_expr(normal_force)
    return N if N.is_constant else maximum(N, ZERO)


def find_pulling(friction: JointFriction | StickSlip, numbers: Numbers) -> Faults:
    """Find a normal force that is always negative."""
    if as_expr(friction.normal_force).is_constant:
        yield from find_beyond(friction, {"normal_force": (0.0, INF)}, numbers)


@dataclass(frozen=True, eq=False, kw_only=True)
class JointFriction(Friction, JointForce):
    """Friction against the rate of a freedom of a joint, less `speed`, that of a belt or a shaft.

    On the freedom acts -mu(v) normal_force radius,    v = radius (rate - speed).
    `radius` is that of a pin, 1 where the freedom slides. The normal force is a formula of time and the motion.
    """

    freedom: FreedomName = ""
    friction: FrictionLaw = "tanh"
    normal_force: ForceFormula
    radius: Length = 1.0
    speed: SpeedFormulaAlong = 0.0

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        yield from find_pulling(self, numbers)

    def force(self, frames: tuple[Frame, ...]) -> tuple[Expr, Freedom]:
        along = measure_freedom(self.joint, self.freedom, *frames)
        return -self.mu(self.radius * (along.rate - self.speed)) * pressing(self.normal_force) * self.radius, along

    def Q(self, *frames: Frame) -> tuple[Vector, ...]:
        f, along = self.force(frames)
        return tuple(f * row for row in along.rows)

    def measures(self, *frames: Frame) -> list[Measured]:
        f, along = self.force(frames)
        return [measured_load(along.kind, f)]

    def dissipation(self, *frames: Frame) -> Expr:
        f, along = self.force(frames)
        return -f * (along.rate - self.speed)

    def supplied(self, *frames: Frame) -> Expr:
        return self.force(frames)[0] * self.speed


@dataclass(frozen=True, eq=False, kw_only=True)
class StickSlip(JointForce):
    """Coulomb friction along the freedom of a joint that either sticks, a constraint, or slips, a constant friction.

    v = radius (rate - speed),    N the normal force, a formula of time and the motion
    stick    v = 0 as long as |f| <= static N,    f the friction at the radius
    slip     f = -dynamic N sign(v), until v goes through zero
    Both are events, NAME.stick and NAME.slip.                                               [pfeiffer1996, ch. 2]
    """

    freedom: FreedomName = ""
    normal_force: ForceFormula
    dynamic: Number
    static: Number | None = None
    radius: Length = 1.0
    speed: SpeedFormulaAlong = 0.0

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        limits = {"dynamic": (0.0, INF), "static": (numbers.value(self.dynamic), INF), "radius": (TINY, INF)}
        yield from find_beyond(self, limits, numbers)
        yield from find_pulling(self, numbers)
        if not numbers.is_constant(self.speed):
            message = "the speed of what sticks changes with time or with the motion"
            yield ModelError(message, "speed-changes", path="speed", suggestion="choose joint-friction")

    @property
    def mode(self) -> Expr:
        """The sign of v while it slips, 0 while it sticks."""
        return symbol(f"{self.name}.mode'")

    @property
    def place(self) -> Expr:
        """The place on the belt where the freedom sticks."""
        return symbol(f"{self.name}.place'")

    @property
    def held(self) -> dict[Expr, float]:
        return {self.mode: 0.0, self.place: 0.0, closed(self.name): 0.0}

    def force(self, frames: tuple[Frame, ...]) -> tuple[Expr, Freedom]:
        along = measure_freedom(self.joint, self.freedom, *frames)
        return -self.mode * self.dynamic * pressing(self.normal_force) * self.radius, along

    Q = JointFriction.Q
    dissipation = JointFriction.dissipation
    supplied = JointFriction.supplied

    def stick(self) -> Stick:
        return Stick(self.name, self)

    @property
    def lam(self) -> Expr:
        """The multiplier of `stick`: while it sticks, the friction at the freedom is -lam."""
        return symbol(f"lam {self.name}.stick")

    def measures(self, *frames: Frame) -> list[Measured]:
        f, along = self.force(frames)
        return [measured_load(along.kind, f - self.lam)]

    def power(self, *frames: Frame) -> Expr:
        f, along = self.force(frames)
        return (f - self.lam) * along.rate

    def events(self, t: Expr, *frames: Frame) -> list[Watch]:
        _, along = self.force(frames)
        mode, v, lam = self.mode, along.rate - self.speed, self.lam
        static = self.dynamic if self.static is None else self.static
        left = static * pressing(self.normal_force) * self.radius - absolute(lam)
        sticks = {mode: ZERO, self.place: along.value - self.speed * t, closed(self.name): ONE}
        sign_v = select(less(v * v, SHORTEST * SHORTEST), ZERO, sign(v))
        starts = {**sticks, mode: sign_v, closed(self.name): 1.0 - sign_v * sign_v}
        slips = {mode: sign(lam), closed(self.name): ZERO}
        return [
            Watch(f"{self.name}.start", ONE, holds=starts, at_start=True),
            Watch(f"{self.name}.stick", mode * v + 1.0 - mode * mode, -1, holds=sticks, joints=(closed(self.name),)),
            Watch(
                f"{self.name}.slip",
                (1.0 - mode * mode) * left + mode * mode,
                -1,
                holds=slips,
                joints=(closed(self.name),),
                is_level=True,
            ),
        ]


@dataclass(frozen=True, eq=False)
class Stick:
    """The constraint of friction that sticks, one row beside those of joints and drivers.

    Psi = closed (freedom - speed t - place)
    """

    name: str
    friction: StickSlip
    slips: ClassVar[dict[str, Kind]] = {}

    @property
    def rows(self) -> dict[str, Kind]:
        joint, freedom = self.friction.joint, self.friction.freedom
        return {"stick": FREEDOMS[freedom or joint.freedom_names[0]]}

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.friction.joint.bodies

    def measures(self, lam: Expr, Psi_t: Expr) -> list[Measured]:
        """Return no measure: the friction itself has them, whether it sticks or slips."""
        return []

    def Psi(self, t: Expr, *frames: Frame) -> Vector:
        value = measure_freedom(self.friction.joint, self.friction.freedom, *frames).value
        return Vector((closed(self.name) * (value - self.friction.speed * t - self.friction.place),))
