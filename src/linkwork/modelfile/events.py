"""From the entries of events in a file to events."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from linkwork import units
from linkwork.elements.events import Event, result_names
from linkwork.expressions.graph import as_expr, symbol
from linkwork.modelfile import schema

if TYPE_CHECKING:
    from linkwork.modelfile.translation import Translation


def read_event(
    given: Translation, name: str, entry: schema.EventEntry, drivers: Sequence[Any], forces: Sequence[Any]
) -> Event:
    """Read the event; formulas that cannot be read are told to the translation."""
    place = ("events", name)
    given.check_name(place)
    results = {
        name: symbol(name) for name in result_names(given.bodies.values(), given.joints.values(), drivers, forces)
    }
    read = partial(given.read, kind=None, names={**results, **given.motion_names}, of_parameters=False)
    when = as_expr(read(entry.when, place=(*place, "when")))
    velocities = {
        speed: read(value, place=(*place, "velocities", speed)) for speed, value in (entry.velocities or {}).items()
    }
    states, inputs = (
        {own: read(value, place=(*place, key, own)) for own, value in (getattr(entry, key) or {}).items()}
        for key in ("states", "inputs")
    )
    release, engage = ((x,) if isinstance(x, str) else tuple(x or ()) for x in (entry.release, entry.engage))
    restitution = None
    if entry.restitution is not None:
        restitution = given.read(entry.restitution, units.NUMBER_KIND, given.names, (*place, "restitution"))
    return Event(name, when, entry.direction, entry.action, restitution, velocities, release, engage, states, inputs)
