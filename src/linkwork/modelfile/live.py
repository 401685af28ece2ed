"""Ranges in which a live page lets its reader change values: `live: {l1: 0.5 m .. 1.5 m}`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwork import units
from linkwork.elements.bodies import Ground
from linkwork.errors import did_you_mean
from linkwork.expressions.graph import symbol
from linkwork.modelfile.stated import KINDS
from linkwork.units import Kind

if TYPE_CHECKING:
    from linkwork.modelfile.translation import Translation


def read_live(file: Translation) -> dict[str, tuple[float, float]]:
    """Lower and upper end for names of parameters, start positions and start velocities, in units of SI."""
    given: dict[str, str] = getattr(file.entry, "live", {})
    if not given:
        return {}
    bodies = [body for body in file.bodies.values() if not isinstance(body, Ground)]
    starts = {c.name: KINDS[c.kind][0] for body in bodies for c in body.coordinates}
    starts |= {c.speed: KINDS[c.kind][1] for body in bodies for c in body.velocities}
    found = {}
    for name, text in given.items():
        place = ("live", name)
        ends = text.split("..")
        kind: Kind | None = starts.get(name) or units.NUMBER_KIND
        if name in file.entry.parameters:
            if symbol(name) not in file.values:
                rule = "values that follow from others are not set"
                file.fail(place, f"'{name}' is a formula", "bad-range", value=name, rule=rule)
                continue
            unit = units.unit_of(original) if isinstance(original := file.entry.parameters[name], str) else None
            kind = Kind(f"a quantity like '{original}'", unit, str(original)) if unit else None
        elif name not in starts:
            known = [*file.entry.parameters, *starts]
            hint = did_you_mean(name, known) or "name a parameter, or the start of a body as BODY.COORDINATE"
            file.fail(place, f"no parameter or coordinate '{name}'", "unknown-name", value=name, suggestion=hint)
            continue
        if len(ends) != 2:
            rule = "a range is written as LEAST .. MOST, such as 0.5 m .. 1.5 m"
            file.fail(place, f"'{units.shown(text)}' is not a range", "bad-range", value=text, rule=rule)
            continue
        faults = len(file.errors)
        low, high = (file.value(file.read(end.strip(), kind, file.names, place)) for end in ends)
        own = file.values.get(symbol(name), low)
        if len(file.errors) > faults:
            continue
        if not low < high:
            rule = "the first end is below the second"
            file.fail(place, f"'{units.shown(text)}' is empty", "bad-range", value=text, rule=rule)
        elif not low <= own <= high:
            rule = "the range of a parameter holds its value"
            file.fail(
                place, f"{name} = {own:g} is not within '{units.shown(text)}'", "bad-range", value=text, rule=rule
            )
        found[name] = (low, high)
    return found
