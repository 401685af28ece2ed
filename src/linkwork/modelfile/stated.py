"""Systems that a file gives by their equations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from linkwork import units
from linkwork.elements.stated import RATE, Stated
from linkwork.expressions.graph import Expr, symbol
from linkwork.modelfile.dimensions import exponents_of

if TYPE_CHECKING:
    from linkwork.modelfile.stated_schema import StatedEntry
    from linkwork.modelfile.translation import Translation

PLAIN_NAME = r"[^\W\d]\w*"  # what can stand in a formula
KINDS = {"length": (units.LENGTH, units.SPEED), "angle": (units.ANGLE, units.ANGULAR_SPEED), "number": (None, None)}


def own_names(entry: StatedEntry) -> dict[str, Expr]:
    """Return coordinates and their rates."""
    return {word: symbol(word) for name in entry.coordinates for word in (name, f"{name}{RATE}")}


def read_stated(file: Translation, entry: StatedEntry) -> Stated:
    """Read the equations of a system without bodies."""
    from linkwork.modelfile.stated_schema import StatedRowEntry

    for name in entry.coordinates:
        if not re.fullmatch(PLAIN_NAME, name):
            rule = "the name of a coordinate is made of letters, digits and underscores"
            place = ("equations", "coordinates", name)
            file.fail(place, f"'{name}' cannot stand in a formula", "bad-name", rule=rule)
    names = file.motion_names

    def number(value: Any, *place: str, kind: units.Kind | None = None) -> Any:
        return file.read(value, kind, names, ("equations", *place), of_parameters=False)

    def numbers(values: list[Any], *place: str | int) -> Any:
        return file.numbers(values, None, names, ("equations", *place), of_parameters=False)

    for name, c in entry.coordinates.items():
        for word, kind in zip((name, f"{name}{RATE}"), KINDS[c.kind], strict=True):
            file.measured[symbol(word)] = None if kind is None else exponents_of(kind.unit)
    start: dict[str, Any] = {}
    rate: dict[str, Any] = {}
    for name, c in entry.coordinates.items():
        place = ("equations", "coordinates", name)
        start[name] = file.read(c.start, KINDS[c.kind][0], file.names, (*place, "start"))
        rate[name] = file.read(c.rate, KINDS[c.kind][1], file.names, (*place, "rate"))
    Psi: dict[str, Any] = {}
    row_kinds = {}
    for name, row in entry.Psi.items():
        file.check_name(("equations", "Psi", name))
        if isinstance(row, StatedRowEntry):
            Psi[name] = number(row.expression, "Psi", name, "expression", kind=KINDS[row.kind][0])
            row_kinds[name] = row.kind
        else:
            Psi[name] = number(row, "Psi", name)
    return Stated(
        {name: c.kind for name, c in entry.coordinates.items()},
        start,
        rate,
        tuple(numbers(row, "M", k) for k, row in enumerate(entry.M)),
        numbers(entry.Q, "Q"),
        Psi,
        row_kinds,
        number(entry.potential, "potential"),
    )
