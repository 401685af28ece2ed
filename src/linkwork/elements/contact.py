"""Contact as a force of the depth to which two surfaces overlap; end stops of joints.

gap is the distance of the surfaces along their normal n, which points from body i to body j; delta = -gap where they
overlap. Both bodies are pushed at the same point, F n on body j and -F n on body i; friction lies in the tangent. Begin
and end are events, NAME.begin and NAME.end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from linkwork.elements.bodies import Body, Ground
from linkwork.elements.events import Watch
from linkwork.elements.faults import INF, TINY, Faults, Numbers, find_beyond, find_without_effect
from linkwork.elements.frames import Frame, PlanarFrame
from linkwork.elements.freedoms import Freedom, measure_freedom
from linkwork.elements.friction import Friction, in_law
from linkwork.elements.kinds import Measured, measured_load
from linkwork.elements.loads import JointForce, PointPairForce, nothing
from linkwork.elements.quantities import Along, Direction, FreedomName, Length, Number, choice
from linkwork.elements.vectors import SHORTEST, Components, Scalar, Vector, norm
from linkwork.errors import ModelError
from linkwork.expressions.derivatives import directional
from linkwork.expressions.graph import ZERO, Expr, less, maximum, select, sqrt, symbol

LEAST_RESTITUTION = 1e-3  # by which a law divides
SLOWEST = 1e-9  # a contact that begins more slowly counts as beginning so
DAMPED, HERTZ = {"damping": 0.0}, {"exponent": 1.5, "restitution": 1.0}
# What each law takes beside the stiffness, and what that is unless given.
MODELS: dict[str, dict[str, float]] = {
    **dict.fromkeys(("linear", "kelvin-voigt"), DAMPED),
    **dict.fromkeys(("hunt-crossley", "lankarani-nikravesh", "flores-machado"), HERTZ),
}


class Push(NamedTuple):
    """The force F, the part of it that stores energy, and what is stored."""

    F: Expr
    elastic: Expr
    stored: Expr


@dataclass(frozen=True, eq=False, kw_only=True)
class Compliance:
    """F(delta, delta_dot) where surfaces overlap; k stiffness, c damping, n exponent, e restitution.

    linear                 F = k delta + c delta_dot, never below zero
    kelvin-voigt           F = k delta + c delta_dot, also where that pulls
    hunt-crossley          F = k delta^n (1 + 3/2 (1 - e) delta_dot/v_0)                  [hunt1975]
    lankarani-nikravesh    F = k delta^n (1 + 3/4 (1 - e^2) delta_dot/v_0)                [lankarani1990]
    flores-machado         F = k delta^n (1 + 8/5 (1 - e)/e delta_dot/v_0)                [flores2011]

    v_0 is delta_dot at the begin of the contact; one in which the run begins has none and is elastic. Surfaces that
    meet slowly and are then pressed together do so faster than they met, and these laws would let them creep: v_0 is at
    least the speed that the acceleration a with which they meet gives the bodies, of mass m as seen from the contact,

        v^2 = 2 n/(n + 1) a delta,    k delta^n = m a
    """

    stiffness: Scalar
    model: Annotated[str, choice(MODELS)] = "linear"
    damping: Scalar | None = None
    exponent: Number | None = None
    restitution: Number | None = None

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)  # type: ignore[misc]
        yield from find_without_effect(self, "model", MODELS, "stiffness")
        e = LEAST_RESTITUTION if self.model == "flores-machado" else 0.0
        limits = {"stiffness": (TINY, INF), "damping": (0.0, INF), "exponent": (1.0, 10.0), "restitution": (e, 1.0)}
        yield from find_beyond(self, limits, numbers)

    def push(self, gap: Expr, approach: Expr, slowness: Expr) -> Push:
        """Return the force; `approach` is delta_dot, `slowness` 1/v_0."""
        touching, given = less(gap, ZERO), in_law(self, MODELS[self.model])
        delta = select(touching, -gap, ZERO)
        if "damping" in given:
            elastic = self.stiffness * delta
            F = elastic + given["damping"] * approach
            F = maximum(F, 0.0) if self.model == "linear" else F
            return Push(select(touching, F, ZERO), elastic, 0.5 * elastic * delta)
        n, e = given["exponent"], given["restitution"]
        elastic = self.stiffness * delta**n
        loss = {
            "hunt-crossley": 1.5 * (1.0 - e),
            "lankarani-nikravesh": 0.75 * (1.0 - e * e),
            "flores-machado": 1.6 * (1.0 - e) / e,
        }[self.model]
        return Push(elastic * (1.0 + loss * slowness * approach), elastic, elastic * delta / (n + 1.0))

    @property
    def loses(self) -> bool:
        """Return whether the force depends on v_0."""
        return "restitution" in MODELS[self.model] and self.restitution is not None

    def begin_and_end(
        self, name: str, gap: Expr, approach: Expr, slowness: Expr, acted_on: list[tuple[Body, Frame, Vector]]
    ) -> list[Watch]:
        """Return events of a contact; it acts on bodies with a generalized force that is given for F = 1."""
        holds: dict[Expr, Expr] = {}
        if self.loses:
            n = in_law(self, MODELS[self.model])["exponent"]
            moving = {x: dx for _, frame, _ in acted_on for x, dx in frame.motion}
            moving |= {v: symbol(f"{v.value}'") for _, frame, _ in acted_on for v in frame.v if v.op == "symbol"}
            a = maximum(directional([approach], moving)[0], ZERO)
            lightness = sum(
                (
                    force[k] * force[k] / own
                    for body, _, force in acted_on
                    for (k, other), own in ({} if isinstance(body, Ground) else body.M()).items()
                    if k == other and own is not ZERO
                ),
                ZERO,
            )
            delta = (a / (lightness * self.stiffness)) ** (1.0 / n)
            v_0 = maximum(approach, sqrt(2.0 * n / (n + 1.0) * a * delta))
            holds = {slowness: 1.0 / maximum(v_0, SLOWEST)}
        return [Watch(f"{name}.begin", gap, direction=-1, holds=holds), Watch(f"{name}.end", gap, direction=1)]


class Touch(NamedTuple):
    """Where two surfaces are nearest: n, the gap, and the velocity of body j against body i at that point."""

    n: Vector
    gap: Expr
    point: Vector
    velocity: Vector


@dataclass(frozen=True, eq=False, kw_only=True)
class Contact(Compliance, Friction, PointPairForce, ABC):
    """What contacts of all shapes have in common."""

    supplied = nothing

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        yield from find_beyond(
            self, {name: (0.0, INF) for name in ("radius_i", "radius_j") if hasattr(self, name)}, numbers
        )
        if self.body_i is self.body_j:
            message, rule = f"touches body '{self.body_i.name}' with itself", "a contact is between two bodies"
            yield ModelError(message, "same-body", path="", value=self.body_i.name, rule=rule)

    @abstractmethod
    def shape_gap(self, i: Frame, j: Frame) -> tuple[Vector, Expr, Vector]:
        """Return n, the gap, and the point of contact."""

    @property
    def slowness(self) -> Expr:
        """1/v_0."""
        return symbol(f"{self.name}.slowness'")

    @property
    def held(self) -> dict[Expr, float]:
        return {self.slowness: 0.0} if self.loses else {}

    def touch(self, i: Frame, j: Frame) -> Touch:
        n, gap, point = self.shape_gap(i, j)
        return Touch(n, gap, point, j.velocity_at(point) - i.velocity_at(point))

    def events(self, t: Expr, i: Frame, j: Frame) -> list[Watch]:
        at = self.touch(i, j)
        pushed = [
            (self.body_i, i, i.force_through(at.point, -at.n)),
            (self.body_j, j, j.force_through(at.point, at.n)),
        ]
        return self.begin_and_end(self.name, at.gap, -at.n.dot(at.velocity), self.slowness, pushed)

    def forces(self, i: Frame, j: Frame) -> tuple[Touch, Push, Vector]:
        """Return the touch, the push along n, and friction on body j; where F pulls there is none."""
        at = self.touch(i, j)
        normal = at.n.dot(at.velocity)
        push = self.push(at.gap, -normal, self.slowness)
        if self.friction == "none":
            return at, push, at.n * ZERO
        load = maximum(push.F, 0.0)
        if isinstance(i, PlanarFrame):
            tangent = at.n.perp()
            return at, push, tangent * (-self.mu(tangent.dot(at.velocity)) * load)
        sliding = at.velocity - at.n * normal
        speed = sqrt(sliding.dot(sliding) + SHORTEST * SHORTEST)
        return at, push, sliding * (-self.mu(speed) * load / speed)

    def Q(self, i: Frame, j: Frame) -> tuple[Vector, ...]:
        at, push, friction = self.forces(i, j)
        F = at.n * push.F + friction
        return i.force_through(at.point, -F), j.force_through(at.point, F)

    def measures(self, i: Frame, j: Frame) -> list[Measured]:
        """Return the force along n on body j and the friction: in the plane along perp(n), in space its size."""
        at, push, friction = self.forces(i, j)
        found = [measured_load("length", push.F, "normal"), Measured("gap", at.gap, "m")]
        if self.friction == "none":
            return found
        across = at.n.perp().dot(friction) if isinstance(i, PlanarFrame) else sqrt(friction.dot(friction))
        return [*found, measured_load("length", across, "tangential")]

    def potential(self, i: Frame, j: Frame) -> Expr:
        return self.forces(i, j)[1].stored

    def dissipation(self, i: Frame, j: Frame) -> Expr:
        at, push, friction = self.forces(i, j)
        return (push.elastic - push.F) * at.n.dot(at.velocity) - friction.dot(at.velocity)


@dataclass(frozen=True, eq=False, kw_only=True)
class RoundContact(Contact):
    """Circles or spheres about points s_i and s_j; a radius 0 is a point.

    gap = |d| - radius_i - radius_j,    n = d/|d|
    """

    radius_i: Length = 0.0
    radius_j: Length = 0.0

    def shape_gap(self, i: Frame, j: Frame) -> tuple[Vector, Expr, Vector]:
        P_j = j.point(self.s_j)
        d = P_j - i.point(self.s_i)
        length = norm(d)
        n = d / maximum(length, SHORTEST)
        return n, length - self.radius_i - self.radius_j, P_j - n * self.radius_j


@dataclass(frozen=True, eq=False, kw_only=True)
class FlatContact(Contact):
    """A circle or sphere about point s_j, or that point, and the line or plane of body i through s_i.

    gap = n . d - radius_j,    n = A_i normal/|normal|, which points out of the material of body i
    """

    normal: Direction
    radius_j: Length = 0.0

    @property
    def drawn_axis(self) -> Components:
        return self.normal

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        if not any(numbers.value(x) for x in self.normal):
            yield ModelError("the normal has length zero", "zero-axis", path="normal")

    def shape_gap(self, i: Frame, j: Frame) -> tuple[Vector, Expr, Vector]:
        normal = Vector(self.normal)
        n, P_j = i.direction((normal / norm(normal)).components), j.point(self.s_j)
        return n, n.dot(P_j - i.point(self.s_i)) - self.radius_j, P_j - n * self.radius_j


@dataclass(frozen=True, eq=False, kw_only=True)
class EndStop(Compliance, JointForce):
    """Stops that keep the freedom of a joint between `lower` and `upper`, either of which may be left out."""

    freedom: FreedomName = ""
    lower: Along | None = None
    upper: Along | None = None
    supplied = nothing

    def faults(self, numbers: Numbers) -> Faults:
        yield from super().faults(numbers)
        ends = [numbers.value(x) for x in (self.lower, self.upper) if x is not None]
        if not ends or ends != sorted(set(ends)):
            message = "an end stop needs a lower or an upper end" if not ends else "lower is not below upper"
            yield ModelError(message, "bad-end-stop", path="")

    @property
    def held(self) -> dict[Expr, float]:
        return dict.fromkeys(self.slowness.values(), 0.0) if self.loses else {}

    @property
    def slowness(self) -> dict[str, Expr]:
        """1/v_0 of each side."""
        return {side: symbol(f"{self.name}.{side}.slowness'") for side in self.sides}

    @property
    def sides(self) -> dict[str, tuple[float, Scalar]]:
        """By name, the direction in which a stop pushes, and where it is."""
        stops = {"lower": (1.0, self.lower), "upper": (-1.0, self.upper)}
        return {side: (sign, place) for side, (sign, place) in stops.items() if place is not None}

    def measure(self, frames: tuple[Frame, ...]) -> tuple[Freedom, list[tuple[str, Expr, Expr, Expr]]]:
        """Measure the freedom, and of every side its name, gap, rate of approach and 1/v_0."""
        along = measure_freedom(self.joint, self.freedom, *frames)
        return along, [
            (side, sign * (along.value - place), -sign * along.rate, self.slowness[side])
            for side, (sign, place) in self.sides.items()
        ]

    def pushes(self, frames: tuple[Frame, ...]) -> tuple[Freedom, list[Push]]:
        along, sides = self.measure(frames)
        return along, [self.push(*measured) for _, *measured in sides]

    def events(self, t: Expr, *frames: Frame) -> list[Watch]:
        along, sides = self.measure(frames)
        pushed = [*zip(self.bodies, frames, along.rows, strict=True)]
        return [
            watch
            for side, gap, approach, slowness in sides
            for watch in self.begin_and_end(f"{self.name}.{side}", gap, approach, slowness, pushed)
        ]

    def force(self, frames: tuple[Frame, ...]) -> tuple[Expr, Freedom]:
        """Find what the stops do along the freedom."""
        along, pushes = self.pushes(frames)
        return sum((sign * push.F for (sign, _), push in zip(self.sides.values(), pushes, strict=True)), ZERO), along

    def Q(self, *frames: Frame) -> tuple[Vector, ...]:
        F, along = self.force(frames)
        return tuple(F * row for row in along.rows)

    def measures(self, *frames: Frame) -> list[Measured]:
        F, along = self.force(frames)
        return [measured_load(along.kind, F)]

    def potential(self, *frames: Frame) -> Expr:
        return sum((push.stored for push in self.pushes(frames)[1]), ZERO)

    def dissipation(self, *frames: Frame) -> Expr:
        along, pushes = self.pushes(frames)
        signs = [sign for sign, _ in self.sides.values()]
        return sum((s * (x.elastic - x.F) * along.rate for s, x in zip(signs, pushes, strict=True)), ZERO)
