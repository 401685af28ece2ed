"""The actuators of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwork import units
from linkwork.document import Keys
from linkwork.elements.actuators import Actuator, Push
from linkwork.elements.forces import PointForce, SpatialTorque, Torque
from linkwork.elements.loads import Force
from linkwork.elements.pairs import unit
from linkwork.expressions.graph import as_expr
from linkwork.modelfile.schema import ActuatorEntry

if TYPE_CHECKING:
    from linkwork.modelfile.translation import Translation


def read_actuator(file: Translation, name: str, entry: ActuatorEntry) -> Actuator:
    """Read an actuator; faults are told to the translation, with something harmless in its place."""
    place, known = ("actuators", name), len(file.errors)
    file.check_name(place)
    force = _along_joint(file, name, entry, place) if entry.on is None else _on_body(file, name, entry, place)
    if force is None or len(file.errors) > known:
        return Actuator(name, Torque(name, file.ground, 1.0))
    kind = units.TORQUE if Actuator(name, force).kind == "angle" else units.FORCE
    size = 0.0 if entry.size is None else entry.size
    weight = 1.0 if entry.weight is None else entry.weight
    return Actuator(
        name,
        force,
        as_expr(file.read(size, kind, file.motion_names, (*place, "size"), of_parameters=False)),
        file.read(weight, units.NUMBER_KIND, file.names, (*place, "weight")),
    )


def _along_joint(file: Translation, name: str, entry: ActuatorEntry, place: Keys) -> Force | None:
    """Return a force of size one along the freedom of a joint, or between two points."""
    for key in ("kind", "axis"):
        if getattr(entry, key) is not None:
            message = f"'{key}' says how a force acts on a body, and there is no 'on'"
            file.fail((*place, key), message, "actuator-target", suggestion="leave it out, or write on: body")
    joint = file.driven(place, entry)
    return None if joint is None else Push(name, joint, file.freedom(place, entry, joint))


def _on_body(file: Translation, name: str, entry: ActuatorEntry, place: Keys) -> Force | None:
    """Return a torque of size one on a body, or a force of size one at its point."""
    assert entry.on is not None
    beside = [key for key in ("joint", "i", "j", "freedom") if getattr(entry, key) is not None]
    if beside:
        rule = "an actuator acts along a joint, between two points or on a body"
        file.fail(place, f"'on' and '{beside[0]}' are two places", "actuator-target", rule=rule)
    at_point, count = "." in entry.on, file.size
    if entry.kind is not None and at_point != (entry.kind == "force"):
        hint = "write on: body.point" if entry.kind == "force" else "write on: body"
        rule = "a force acts at a point, a torque on a body"
        file.fail((*place, "on"), f"a {entry.kind} on '{entry.on}'", "actuator-target", rule=rule, suggestion=hint)
    body, s = file.point(entry.on, (*place, "on")) if at_point else (file.body(entry.on, (*place, "on")), ())
    has_axis = at_point or file.space == "spatial"
    if len(entry.axis or ()) != count * has_axis:
        message = f"a {'force' if at_point else 'torque'} needs an axis of {count} numbers"
        if not has_axis:
            message = "a torque in the plane has no axis"
        hint = f"write axis: [{', '.join(['1', '0', '0'][:count])}]" if has_axis else "leave it out"
        file.fail((*place, "axis"), message, "wrong-shape", suggestion=hint)
        return None
    axis = unit(file.numbers(entry.axis or [], units.NUMBER_KIND, file.names, (*place, "axis")))
    if at_point:
        return PointForce(name, body, s, axis, entry.follows)
    return SpatialTorque(name, body, axis, entry.follows) if has_axis else Torque(name, body, 1.0)
