"""What joints do to bodies: forces and torques in the axes in which users want them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from linkwork.elements.bodies import Ground
from linkwork.elements.frames import PlanarFrame, SpatialFrame
from linkwork.elements.joints import Distance, Gear, Revolute
from linkwork.elements.pairs import AxisPair, PointPair
from linkwork.elements.spatial import AxialPair, SpatialDistance
from linkwork.elements.vectors import SHORTEST, Vector, norm
from linkwork.equations.equations import Output, Row
from linkwork.expressions.graph import ONE, Expr, absolute, as_expr, cos, maximum, sign, sin

Pushed: TypeAlias = Callable[[Any, Any], list[Expr]]  # joint, body -> the generalized force of the joint on the body


def reaction_outputs(
    joints: Sequence[Any], frames: Mapping[str, Any], pushed: Pushed, rows: Sequence[Row], lam: Sequence[Expr]
) -> dict[str, Output]:
    """The reactions of all joints that have constraints; `lam` belongs to `rows`, those of other joints may be none."""
    lam_of: dict[str, list[Expr]] = {}
    for row, x in zip(rows, lam, strict=True):
        lam_of.setdefault(row.element, []).append(x)
    teeth = _tooth_forces(joints, lam_of, frames)
    reactions: dict[str, Output] = {}
    for joint in joints:
        if joint.rows:
            own = lam_of.get(joint.name, ())
            planar = isinstance(frames[joint.body_i.name], PlanarFrame)
            reactions |= (
                _planar_reaction(joint, frames, pushed, own, teeth.get(joint.name))
                if planar
                else _spatial_reaction(joint, frames, pushed, own)
            )
    return reactions


def _tooth_forces(
    joints: Sequence[Any], lam_of: Mapping[str, Sequence[Expr]], frames: Mapping[str, Any]
) -> dict[str, Vector]:
    """What the pins of gears carry because teeth push at the pitch point, by the names of the pins.

    The constraint of a gear knows angles alone: its multiplier turns both gears and the carrier. The teeth do the same
    with the tangential force f = -lam t on gear i at the pitch point R_i e from its centre, t = perp(e), and -f on gear
    j; then the pins hold the gears against f, and these two forces on the carrier are the couple that turns it. e runs
    to the other centre, and away from it where gear i is the inner one of an internal pair. With a pressure angle the
    teeth also push |lam| tan(pressure_angle) towards the centre of a gear with outer teeth. A gear whose centre no
    revolute joints show is left out with its partner.
    """
    carried: dict[str, Vector] = {}
    for gear in (joint for joint in joints if isinstance(joint, Gear)):
        chains = [_pins(joints, body.name, gear.carrier.name) for body in (gear.body_i, gear.body_j)]
        if not all(chains):
            continue
        centre_i, centre_j = (frames[pin.body_j.name].point(pin.s_j) for (pin, _), *_ in chains)
        e = (centre_j - centre_i) / maximum(norm(centre_j - centre_i), SHORTEST)
        is_ring = sign(as_expr(gear.radius_i) - gear.radius_j) if gear.internal else -ONE
        if gear.internal:
            e = e * is_ring
        lam, apart = lam_of[gear.name][0], as_expr(gear.pressure_angle)
        f = -lam * e.perp() + absolute(lam) * sin(apart) / cos(apart) * is_ring * e
        for chain, force in zip(chains, (f, -f), strict=True):
            for pin, held in chain:
                on_j = -force if pin.body_j.name == held else force
                carried[pin.name] = carried[pin.name] + on_j if pin.name in carried else on_j
    return carried


def _pins(joints: Sequence[Any], gear: str, carrier: str) -> list[tuple[Revolute, str]]:
    """The pins that hold the centre of a gear to the carrier, with the body that each holds.

    It is one between the two, or two at the same point of a third body, as for a sun that turns in the frame.
    """
    pins = [joint for joint in joints if isinstance(joint, Revolute)]

    def other(pin: Revolute, name: str) -> str | None:
        names = pin.body_i.name, pin.body_j.name
        return names[1 - names.index(name)] if name in names else None

    def place(pin: Revolute, name: str) -> list[Expr]:
        return [as_expr(x) for x in (pin.s_i if pin.body_i.name == name else pin.s_j)]

    for pin in pins:
        if other(pin, gear) == carrier:
            return [(pin, gear)]
    for pin in pins:
        between = other(pin, gear)
        for second in pins:
            if between and other(second, between) == carrier and place(pin, between) == place(second, between):
                return [(pin, gear), (second, between)]
    return []


def _planar_reaction(
    joint: Any,
    frames: Mapping[str, Any],
    pushed: Pushed,
    lam: Sequence[Expr],
    beside: Vector | None,
) -> dict[str, Output]:
    """Force and torque of the joint on body j at its point of the joint (on body i, reversed, if j is the ground).

    `beside` is a force that it carries and that the constraints do not show, see `_tooth_forces`.
    """
    on_j = not isinstance(joint.body_j, Ground)
    body = joint.body_j if on_j else joint.body_i
    if isinstance(body, Ground):
        return {}
    sign = 1.0 if on_j else -1.0
    fx, fy, torque = (sign * x for x in pushed(joint, body))
    frame: PlanarFrame = frames[body.name]
    force = Vector((fx, fy))
    if isinstance(joint, PointPair):
        torque = torque - frame.direction(joint.s_j if on_j else joint.s_i).perp().dot(force)
    if isinstance(joint, AxisPair):
        u = joint.u(frames[joint.body_i.name])
        parts = {"along": u.dot(force), "normal": u.perp().dot(force), "torque": torque}
    elif isinstance(joint, Distance):
        parts = {"tension": lam[0], "x": fx, "y": fy}
    elif isinstance(joint, PointPair):
        if beside is not None:
            fx, fy = force + beside
        parts = {"x": fx, "y": fy, "torque": torque}
    else:
        parts = {"torque": torque}
    units = {name: "N m" if name == "torque" else "N" for name in parts}
    return {f"{joint.name}.{name}": Output(x, units[name]) for name, x in parts.items()}


def _spatial_reaction(
    joint: Any,
    frames: Mapping[str, Any],
    pushed: Pushed,
    lam: Sequence[Expr],
) -> dict[str, Output]:
    """Force and torque of the joint on body j at its point P_j of the joint: x .. tz in the axes of the ground.

    joint.x .. joint.tz are the same in the axes x_i, y_i, z_i of the joint. If body j is the ground, they are what
    balances the forces on the other bodies.
    """
    P_j = frames[joint.body_j.name].point(joint.s_j)
    on_j = not isinstance(joint.body_j, Ground)
    force = torque = Vector((0.0, 0.0, 0.0))
    for body in (joint.body_j,) if on_j else joint.bodies:
        if not isinstance(body, Ground):
            frame: SpatialFrame = frames[body.name]
            generalized = Vector(pushed(joint, body)) * (1.0 if on_j else -1.0)
            own, turned = Vector(generalized.components[:3]), frame.direction(generalized.components[3:])
            force, torque = force + own, torque + turned - (P_j - frame.r).cross(own)
    axes = {"": (Vector((1.0, 0.0, 0.0)), Vector((0.0, 1.0, 0.0)), Vector((0.0, 0.0, 1.0)))}
    if isinstance(joint, AxialPair):
        axes["joint."] = joint.triad_i(frames[joint.body_i.name])
    found = {
        f"{joint.name}.{about}{letter}{axis}": Output(a.dot(vector), unit)
        for about, triad in axes.items()
        for letter, vector, unit in (("", force, "N"), ("t", torque, "N m"))
        for axis, a in zip("xyz", triad, strict=True)
    }
    if isinstance(joint, SpatialDistance):
        found[f"{joint.name}.tension"] = Output(lam[0], "N")
    return found
