"""Events: what happens where a function of the motion goes through zero."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from linkwork.elements.bodies import Ground, SpatialBody, accelerations_of
from linkwork.elements.frames import PLANAR_GROUND, SPATIAL_GROUND
from linkwork.elements.joints import JOINTS, Distance
from linkwork.elements.loads import JointForce
from linkwork.elements.pairs import AxisPair, Joint, PointPair, find_no_freedom
from linkwork.elements.spatial import AxialPair, SpatialDistance
from linkwork.elements.vectors import Scalar
from linkwork.expressions.evaluation import substitute
from linkwork.expressions.graph import ZERO, Expr, symbol

Direction: TypeAlias = Literal["both", "rising", "falling"]
Action: TypeAlias = Literal["record", "stop", "set"]
Callback: TypeAlias = Callable[[float, Mapping[str, float], Mapping[str, float]], Mapping[str, float] | None]

DIRECTIONS: dict[Direction, int] = {"both": 0, "rising": 1, "falling": -1}
ACTIONS: tuple[Action, ...] = ("record", "stop", "set")


@dataclass(frozen=True, eq=False)
class Event:
    """`when`, an expression of t, q, v and reactions, goes through zero.

    record   the event is noted
    stop     the run ends there
    set      velocities jump so that the constraints, and rows G v that are prescribed, hold afterwards:

             M dv + Psi_q^T P + G^T R = 0,    Psi_q (v + dv) = -Psi_t,    G (v + dv) = w        [pfeiffer1996, ch. 3]

             `restitution` e prescribes the rate of `when`: after it -e times what it was before, R being the impulse;
             `velocities` prescribes some by name. Joints in `release` hold no longer, and those in `engage` do from
             now on. `states` and `inputs` take new values. `callback` is given t, q and v by name, and may return
             velocities to be set, by name.
    """

    name: str
    when: Expr
    direction: Direction = "both"
    action: Action = "record"
    restitution: Scalar | None = None
    velocities: Mapping[str, Scalar] = field(default_factory=dict)
    release: tuple[str, ...] = ()
    engage: tuple[str, ...] = ()
    states: Mapping[str, Scalar] = field(default_factory=dict)
    inputs: Mapping[str, Scalar] = field(default_factory=dict)
    callback: Callback | None = None


class Watch(NamedTuple):
    """An event in the letters of the equations, of a model or of one of its elements."""

    name: str
    when: Expr
    direction: int = 0
    ends: bool = False  # whether the run does
    rows: tuple[Expr, ...] = ()  # affine in v; afterwards they are `targets`
    targets: tuple[Expr, ...] = ()
    kicks: tuple[bool, ...] = ()  # of the rows, whether their change is prescribed, whatever they are before
    turns: bool = False  # whether `when` goes back to the side it came from, by what is prescribed
    rate: Expr = ZERO  # of `when`, if it depends on t and q alone
    holds: Mapping[Expr, Expr] = MappingProxyType({})  # parameters that take new values, and these
    resets: Mapping[Expr, Expr] = MappingProxyType({})  # states that take new values, and these
    joints: tuple[Expr, ...] = ()  # those of them that say whether joints hold
    is_level: bool = False  # whether it also happens where a run, or a part of it, begins beyond zero
    at_start: bool = False  # whether it happens when the run begins, and is not worth noting

    @property
    def switches_joints(self) -> bool:
        return bool(self.joints)

    @property
    def asks(self) -> bool:
        """Return whether it does more than to set parameters."""
        return bool(self.rows or self.joints or self.resets)

    def moved(self, by: Mapping[Expr, Expr]) -> Watch:
        """Return the same in other coordinates."""
        n, values = len(self.rows), [*self.rows, *self.targets, *self.holds.values(), *self.resets.values()]
        when, rate, *values = substitute([self.when, self.rate, *values], by)
        held = 2 * n + len(self.holds)
        return self._replace(
            when=when,
            rate=rate,
            rows=tuple(values[:n]),
            targets=tuple(values[n : 2 * n]),
            holds=dict(zip(self.holds, values[2 * n : held], strict=True)),
            resets=dict(zip(self.resets, values[held:], strict=True)),
        )


def closed(joint: str) -> Expr:
    """Return the parameter that is 1 while a joint holds and 0 while it is open."""
    return symbol(f"{joint}.closed'")


def reaction_parts(joint: Joint) -> tuple[str, ...]:
    """Return the parts of a reaction that formulas of events may name."""
    if type(joint) in JOINTS["spatial"].values():
        axes = ("x", "y", "z", "tx", "ty", "tz")
        own = tuple(f"joint.{axis}" for axis in axes) if isinstance(joint, AxialPair) else ()
        return (*axes, *own, *(("tension",) if isinstance(joint, SpatialDistance) else ()))
    if isinstance(joint, AxisPair):
        return ("along", "normal", "torque")
    if isinstance(joint, Distance):
        return ("tension", "x", "y")
    return ("x", "y", "torque") if isinstance(joint, PointPair) else ("torque",)


def result_names(
    bodies: Iterable[Any], joints: Iterable[Any], drivers: Iterable[Any], forces: Iterable[Any]
) -> list[str]:
    """Find what formulas of events and outputs may name beside those of forces, as results do.

    These are accelerations, reactions, freedoms of joints and loads.
    """
    found = [name for body in bodies for name in accelerations_of(body)]
    for joint in joints:
        parts, freedoms = reaction_parts(joint), joint.freedom_names
        found += [f"reaction{mark}{joint.name}.{part}" for part in parts for mark in ".:"]
        found += [f"joint:{joint.name}.{name}{mark}" for name in freedoms for mark in ("", "_d")]
    own = {force.name for force in forces}
    for driver in drivers:
        found += [f"driving{mark}{driver.name}" for mark in ".:"]
        name = f"driver.{driver.name}" if driver.name in own else driver.name
        found += [x.name(name) for x in driver.measures(ZERO, ZERO)]
    for force in forces:
        if isinstance(force, JointForce) and any(find_no_freedom(force.joint, getattr(force, "freedom", "angle"))):
            continue  # it measures nothing, and is refused
        ground = SPATIAL_GROUND if any(isinstance(body, SpatialBody) for body in force.bodies) else PLANAR_GROUND
        at = [ground if isinstance(body, Ground) else body.start_frame for body in force.bodies]
        found += [*(x.name(force.name) for x in force.measures(*at)), f"power:{force.name}"]
    return found
