"""What events must satisfy, whether they come from a file or from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from linkwork.elements.bodies import measures_of
from linkwork.elements.events import ACTIONS, DIRECTIONS, Event, result_names
from linkwork.elements.signals import OUTPUT
from linkwork.errors import ModelError, did_you_mean
from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import Expr, as_expr
from linkwork.model import Model

NOTHING: tuple[object, ...] = (None, {}, ())


def event_faults(model: Model, value: Callable[[Expr | float], float]) -> Iterator[ModelError]:
    """Find what is wrong with the events; `value` evaluates a formula of parameters."""
    if not model.events:
        return
    measured = {str(known.value): unit for body in model.bodies for known, unit in measures_of(body)}
    if model.stated is not None:
        measured |= dict.fromkeys((str(x.value) for x in model.stated.q), "")
        measured |= dict.fromkeys((str(x.value) for x in model.stated.v), "/s")
    speeds = [name for name, unit in measured.items() if unit.endswith("/s")]
    names = {"t", *model.parameters, *measured, *result_names(model.bodies, model.joints, model.drivers, model.acting)}
    states = [x.name for x in model.states]
    names |= {*states, *(f"{OUTPUT}{x.name}" for x in model.outputs)}
    inputs = [x.name for x in model.inputs if not x.follows]
    joints, taken = [joint.name for joint in model.joints], set[str]()
    for event in model.events:
        path = f"events.{event.name}"
        if event.name in taken:
            yield ModelError(f"there are two events '{event.name}'", "duplicate-name", path=path)
        taken.add(event.name)
        if wrong := [*_wrong_shapes(event, path)]:
            yield from wrong
            continue
        set_ = {key: getattr(event, key) for key in ("velocities", "states", "inputs")}
        values = [(f"{key}.{k}", x) for key, own in set_.items() for k, x in own.items()]
        for place, formula in (("when", event.when), *values):
            for node in ordered([as_expr(formula)]):
                if node.op == "symbol" and node.value not in names:
                    hint = did_you_mean(str(node.value), names)
                    message = f"unknown name '{node.value}'"
                    yield ModelError(message, "expression-name", path=f"{path}.{place}", suggestion=hint)
        for speed in event.velocities:
            if speed not in speeds:
                hint = did_you_mean(speed, speeds)
                message = f"no velocity '{speed}'"
                yield ModelError(message, "unknown-velocity", path=f"{path}.velocities", suggestion=hint)
        for what, key, known in (("state", "states", states), ("input", "inputs", inputs)):
            for name in set_[key]:
                if name not in known:
                    message, hint = f"no {what} '{name}' to be set", did_you_mean(name, known)
                    yield ModelError(message, f"unknown-{what}", path=f"{path}.{key}.{name}", suggestion=hint)
        for key, named in (("release", event.release), ("engage", event.engage)):
            for joint in named:
                if joint not in joints:
                    hint = did_you_mean(joint, joints)
                    message = f"no joint '{joint}'"
                    yield ModelError(message, "unknown-joint", path=f"{path}.{key}", value=joint, suggestion=hint)
        yield from _idle(model, event, path)
        if event.restitution is not None and not 0.0 <= (e := value(event.restitution)) <= 1.0:
            message = f"restitution {e:g}"
            yield ModelError(message, "bad-restitution", path=f"{path}.restitution", value=e, rule="from 0 to 1")
        both = sorted({*event.release} & {*event.engage})
        if both:
            yield ModelError(f"joint '{both[0]}' is released and engaged at once", "bad-event", path=f"{path}.engage")


def _wrong_shapes(event: Any, path: str) -> Iterator[ModelError]:
    """Yield parts of an event that are not what they should be; those from a file always are."""
    for key, choices in (("direction", (*DIRECTIONS,)), ("action", ACTIONS)):
        if (given := getattr(event, key)) not in choices:
            wanted = f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"
            yield ModelError(f"{given!r}: should be {wanted}", "wrong-shape", path=f"{path}.{key}", value=given)
    if not isinstance(event.when, Expr):
        message, hint = f"{event.when!r}: should be an expression", 'such as symbol("ball.y") - 0.5'
        yield ModelError(message, "wrong-shape", path=f"{path}.when", suggestion=hint)
    for key in ("release", "engage"):
        if isinstance(given := getattr(event, key), str):
            message = f"{given!r}: should be a tuple of names"
            yield ModelError(message, "wrong-shape", path=f"{path}.{key}", suggestion=f"write ({given!r},)")


def _idle(model: Model, event: Event, path: str) -> Iterator[ModelError]:
    """Find what could never happen, or would change nothing."""
    if not any(node.op == "symbol" and node.value not in model.parameters for node in ordered([event.when])):
        message = "'when' does not change with time or with the motion"
        yield ModelError(message, "constant-event", path=f"{path}.when")
    keys = ("restitution", "velocities", "states", "inputs", "release", "engage")
    said = [key for key in keys if getattr(event, key) not in NOTHING]
    if event.action == "set" and not said and event.callback is None:
        rule = "it names restitution, velocities, states, inputs, release or engage"
        yield ModelError("nothing is set", "nothing-set", path=f"{path}.action", rule=rule)
    if event.action != "set" and (said or event.callback is not None):
        what = said[0] if said else "a callback"
        message, hint = f"{what} has no effect with the action {event.action}", "write action: set"
        yield ModelError(message, "no-effect", path=f"{path}.{what}", suggestion=hint)
    loose = {*model.open, *(name for other in model.events for name in other.release)}
    for joint in event.engage:
        if joint not in loose and any(joint == other.name for other in model.joints):
            message, hint = f"joint '{joint}' is never open", f"write open: true at joint '{joint}', or leave this out"
            yield ModelError(message, "no-effect", path=f"{path}.engage", value=joint, suggestion=hint)
