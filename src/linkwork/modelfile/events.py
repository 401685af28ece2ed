"""From the entries of events in a file to events."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from linkwork import units
from linkwork.elements.events import Event, reaction_parts
from linkwork.elements.stated import RATE
from linkwork.errors import did_you_mean
from linkwork.expressions.graph import Expr, as_expr, symbol
from linkwork.modelfile import schema

if TYPE_CHECKING:
    from linkwork.modelfile.translation import Translation

SPEED = re.compile(r".*\.(v[xyz]|omega|w[xyz])")


def event_names(given: Translation) -> dict[str, Expr]:
    """What formulas of events may name: what those of forces may, reactions and driving forces."""
    reactions = (f"reaction.{name}.{part}" for name, joint in given.joints.items() for part in reaction_parts(joint))
    found = [*reactions, *(f"driving.{name}" for name in given.entry.drivers)]
    return {**{name: symbol(name) for name in found}, **given.motion_names}


def read_event(given: Translation, name: str, entry: schema.EventEntry) -> Event:
    """The event; what is wrong with it is told to the translation."""
    place = ("events", name)
    given.check_name(place)
    read = partial(given.read, kind=None, names=event_names(given), of_parameters=False)
    when = as_expr(read(entry.when, place=(*place, "when")))
    stated = isinstance(given.entry, schema.StatedModel)
    speeds = [name for name in given.motion_names if (name.endswith(RATE) if stated else SPEED.fullmatch(name))]
    velocities = {}
    for speed, value in (entry.velocities or {}).items():
        at = (*place, "velocities", speed)
        if speed not in speeds:
            given.fail(at, f"no velocity '{speed}'", "unknown-velocity", suggestion=did_you_mean(speed, speeds))
        velocities[speed] = read(value, place=at)
    release, engage = ((x,) if isinstance(x, str) else tuple(x or ()) for x in (entry.release, entry.engage))
    for key, named in (("release", release), ("engage", engage)):
        for joint in named:
            if joint not in given.joints:
                hint = did_you_mean(joint, given.joints)
                given.fail((*place, key), f"no joint '{joint}'", "unknown-joint", value=joint, suggestion=hint)
    restitution = None
    if entry.restitution is not None:
        restitution = given.read(entry.restitution, units.NUMBER_KIND, given.names, (*place, "restitution"))
    return Event(name, when, entry.direction, entry.action, restitution, velocities, release, engage)
