"""What joints do to bodies: forces and torques in the axes in which users want them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from linkwork.elements.bodies import Ground
from linkwork.elements.couplings import Coupling
from linkwork.elements.frames import PlanarFrame, SpatialFrame
from linkwork.elements.joints import Distance
from linkwork.elements.kinds import FORCE_UNITS
from linkwork.elements.pairs import AxisPair, PointPair
from linkwork.elements.rolling import TouchingPair, VelocityConstraint
from linkwork.elements.spatial import AxialPair, SpatialDistance
from linkwork.elements.vectors import Vector
from linkwork.equations.equations import Output, Row
from linkwork.equations.teeth import Carried, carried_by_pins
from linkwork.expressions.graph import Expr

Pushed: TypeAlias = Callable[[Any, Any], list[Expr]]  # joint, body -> the generalized force of the joint on the body


def reaction_outputs(
    joints: Sequence[Any], frames: Mapping[str, Any], pushed: Pushed, rows: Sequence[Row], lam: Sequence[Expr]
) -> dict[str, Output]:
    """Return the reactions of all joints that have constraints.

    `lam` belongs to `rows`, those of other joints may be none.
    """
    lam_of: dict[str, list[Expr]] = {}
    for row, x in zip(rows, lam, strict=True):
        lam_of.setdefault(row.element, []).append(x)
    carried = carried_by_pins(joints, lam_of, frames)
    reactions: dict[str, Output] = {}
    for joint in joints:
        if joint.rows or joint.slips:
            planar = isinstance(frames[joint.body_i.name], PlanarFrame)
            reaction = _planar_reaction if planar else _spatial_reaction
            reactions |= reaction(joint, frames, pushed, lam_of.get(joint.name, ()), carried.get(joint.name))
        if joint.slips or isinstance(joint, Coupling):  # which are no paths of a tree, so that all rows are there
            own = zip({**joint.rows, **joint.slips}.items(), lam_of[joint.name], strict=True)
            reactions |= {f"{joint.name}.{part}": Output(-x, FORCE_UNITS[kind]) for (part, kind), x in own}
    return reactions


def _planar_reaction(
    joint: Any,
    frames: Mapping[str, Any],
    pushed: Pushed,
    lam: Sequence[Expr],
    beside: Carried | None,
) -> dict[str, Output]:
    """Return force and torque of the joint on body j at its point (on body i, reversed, if j is the ground)."""
    on_j = not isinstance(joint.body_j, Ground)
    body = joint.body_j if on_j else joint.body_i
    if isinstance(body, Ground) or isinstance(joint, VelocityConstraint | Coupling):
        return {}
    sign = 1.0 if on_j else -1.0
    fx, fy, torque = (sign * x for x in pushed(joint, body))
    frame: PlanarFrame = frames[body.name]
    force = Vector((fx, fy))
    if isinstance(joint, PointPair):
        torque = torque - frame.arm(joint.s_j if on_j else joint.s_i).perp().dot(force)
    if isinstance(joint, AxisPair):
        u = joint.u(frames[joint.body_i.name])
        parts = {"along": u.dot(force), "normal": u.perp().dot(force), "torque": torque}
    elif isinstance(joint, Distance):
        parts = {"tension": lam[0], "x": fx, "y": fy}
    elif isinstance(joint, PointPair):
        if beside is not None:
            fx, fy = force + beside.force
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
    beside: Carried | None,
) -> dict[str, Output]:
    """Return force and torque of the joint on body j at its point P_j of the joint: x .. tz in the axes of the ground.

    P_j is where it touches a plane, if it does. joint.x .. joint.tz are the same in the axes x_i, y_i, z_i of the
    joint. If body j is the ground, they are what
    balances the forces on the other bodies.
    """
    if isinstance(joint, VelocityConstraint | Coupling):
        return {}
    i, j = (frames[body.name] for body in (joint.body_i, joint.body_j))
    P_j = joint.touch(i, j) if isinstance(joint, TouchingPair) else j.point(joint.s_j)
    on_j = not isinstance(joint.body_j, Ground)
    force = torque = Vector((0.0, 0.0, 0.0))
    for body in (joint.body_j,) if on_j else joint.bodies:
        if not isinstance(body, Ground):
            frame: SpatialFrame = frames[body.name]
            generalized = Vector(pushed(joint, body)) * (1.0 if on_j else -1.0)
            own, turned = Vector(generalized.components[:3]), frame.direction(generalized.components[3:])
            force, torque = force + own, torque + turned - (P_j - frame.r).cross(own)
    if beside is not None:
        force, torque = force + beside.force, torque + beside.torque
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
