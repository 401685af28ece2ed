"""What a file says about its runs: times, tolerances, and start values by the names of joints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from linkwork import units
from linkwork.elements.bodies import Ground
from linkwork.elements.vectors import Scalar
from linkwork.errors import did_you_mean
from linkwork.model import Simulation
from linkwork.modelfile.stated import KINDS

if TYPE_CHECKING:
    from linkwork.modelfile.translation import Translation

CODES = {"t_end": "bad-t-end", "step": "bad-report-step", "rtol": "bad-tolerance", "atol": "bad-tolerance"}


def read_simulation(file: Translation) -> Simulation:
    """Return times and tolerances, which are positive, and start values."""
    given: Simulation = file.element(Simulation, file.entry.simulation, ("simulation",))
    file.fold(getattr(given, name) for name in CODES)
    values: dict[str, Any] = {name: file.value(getattr(given, name)) for name in CODES}
    for name, code in CODES.items():
        if not 0.0 < values[name] < (1.0 if name == "rtol" else math.inf):
            rule = "it must be above 0 and below 1" if name == "rtol" else "it must be above zero"
            file.fail(("simulation", name), f"{name} = {values[name]:g}", code, value=values[name], rule=rule)
    start, rate = (read_values(file, key, getattr(given, key)) for key in ("start", "rate"))
    return replace(given, **values, start=start, rate=rate)


def read_values(file: Translation, key: str, given: Mapping[str, Any]) -> dict[str, Scalar]:
    """Start values of coordinates, or their rates, each in the unit of its kind."""
    if not given:
        return {}
    from linkwork.elements.paths import is_path, path_coordinates, path_velocities

    is_rate, found = key == "rate", dict[str, Scalar]()
    carrying = [joint for joint in file.joints.values() if is_path(joint)]
    kinds = {c.name: c.kind for x in carrying for c in (path_velocities if is_rate else path_coordinates)(x)}
    for body in file.bodies.values():
        if not isinstance(body, Ground):
            kinds |= {c.name: c.kind for c in (body.velocities if is_rate else body.coordinates)}
    if file.stated:
        kinds |= {name: c.kind for name, c in file.stated.coordinates.items()}
    for name, value in given.items():
        place = ("simulation", key, name)
        if name in kinds:
            found[name] = file.read(value, KINDS[kinds[name]][is_rate] or units.NUMBER_KIND, file.names, place)
            continue
        hint = did_you_mean(name, kinds) or "name a joint, JOINT.FREEDOM if it has several, or BODY.COORDINATE"
        if name in getattr(file.entry, "states", {}):
            hint = f"a state has a start of its own: states: {{{name}: {{start: ...}}}}"
        file.fail(place, f"no coordinate '{name}'", "unknown-coordinate", value=name, suggestion=hint)
    return found
