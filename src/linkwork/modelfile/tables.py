"""Tables of a model file, inline or from files beside it, as functions for its formulas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from linkwork import units
from linkwork.document import Keys
from linkwork.elements.curves import Curve
from linkwork.errors import ModelError, did_you_mean
from linkwork.expressions.parser import RESERVED
from linkwork.formats.columns import Column, read_columns
from linkwork.modelfile.dimensions import exponents_of
from linkwork.modelfile.schema import TableEntry
from linkwork.modelfile.stated import PLAIN_NAME

if TYPE_CHECKING:
    from linkwork.modelfile.translation import Translation

TEXT = "<text>"  # what a model is called that is no file


class Lookup(NamedTuple):
    """A curve with the units of what it is given and of what it returns, "" if that is not known."""

    curve: Curve
    unit: str
    of_values: str


def read_tables(file: Translation) -> dict[str, Lookup]:
    """Return the tables by name; faults are told to the translation."""
    found = {}
    given: dict[str, TableEntry] = getattr(file.entry, "tables", {})
    for name, entry in given.items():
        place: Keys = ("tables", name)
        if not re.fullmatch(PLAIN_NAME, name):
            rule = "names in formulas are made of letters, digits and underscores"
            file.fail(place, f"'{name}' cannot stand in a formula", "bad-name", rule=rule)
        elif name in RESERVED or name == "t":
            file.fail(place, f"'{name}' has a meaning of its own in formulas", "reserved-name", value=name)
        elif name in file.entry.parameters:
            file.fail(place, f"'{name}' is a parameter too", "duplicate-name", value=name)
        if (lookup := read_table(file, entry, place)) is not None:
            found[name] = lookup
    file.stop()
    return found


def read_table(file: Translation, entry: TableEntry, place: Keys) -> Lookup | None:
    """Read a table; None where it has faults, which are told to the translation."""
    try:
        lookup = _read(file, entry, place)
    except ModelError as error:
        file.errors.append(error if error.file else file.document.locate(error, place))
        return None
    if fault := lookup.curve.fault():
        file.fail(place, fault, "bad-table", rule="x rises from row to row, and there is a y for each")
        return None
    return lookup


def _read(file: Translation, entry: TableEntry, place: Keys) -> Lookup:
    if (entry.file is None) == (entry.x is None) or (entry.x is None) != (entry.y is None):
        raise ModelError("no values", "bad-table", rule="a table has x and y, or a file")
    stated = entry.units or ("", "")
    if entry.file is None:
        given = zip(("x", "y"), (entry.x or (), entry.y or ()), stated, strict=True)
        (x, unit), (y, of_values) = (_read_list(file, values, own, (*place, key)) for key, values, own in given)
    else:
        found = _choose(read_columns(beside(file.document.file, entry.file)), entry)
        (x, unit), (y, of_values) = (_read_column(*each) for each in zip(found, stated, strict=True))
    return Lookup(Curve(x, y, entry.interpolation), unit, of_values)


def _read_list(file: Translation, given: Sequence[Any], unit: str, place: Keys) -> tuple[tuple[float, ...], str]:
    """Return values in SI, those without a unit being in the one stated, if any, and a unit that they have."""
    numbers, factor = [], float(units.parse_unit(unit).factor) if unit else 1.0
    for k, value in enumerate(given):
        number = units.quantity(value, None) if isinstance(value, str) else float(value)
        if number is None:
            message = f"'{units.shown(value)}' is not a number"
            raise file.document.locate(ModelError(message, "bad-value", value=value), (*place, k))
        own = units.unit_of(value) if isinstance(value, str) else None
        if own and unit and exponents_of(own) != exponents_of(unit):
            message = f"'{value}' is not of the kind of '{unit}'"
            raise file.document.locate(ModelError(message, "unit-mismatch", value=value), (*place, k))
        numbers.append(number if own else factor * number)
        unit = unit or own or ""
    return tuple(numbers), unit


def _read_column(column: Column, unit: str) -> tuple[tuple[float, ...], str]:
    """Return values in SI and their unit, as the model states it, else as the heading does."""
    if unit and column.unit and exponents_of(unit) != exponents_of(column.unit):
        raise ModelError(f"'{unit}' is not of the kind of '{column.unit}' in the heading", "unit-mismatch")
    unit = unit or column.unit
    factor = float(units.parse_unit(unit).factor) if unit else 1.0
    return tuple((factor * column.values).tolist()), unit


def _choose(columns: dict[str, Column], entry: TableEntry) -> list[Column]:
    """Return the columns that are named, or the first two."""
    for name in entry.columns or ():
        if name not in columns:
            hint = did_you_mean(name, columns) or f"it has {', '.join(columns)}"
            raise ModelError(f"'{entry.file}' has no column '{name}'", "unknown-column", value=name, suggestion=hint)
    if len(columns) < 2:
        raise ModelError(f"'{entry.file}' has one column; a table needs two", "bad-table")
    return [columns[name] for name in entry.columns or [*columns][:2]]


def beside(model: str, name: str) -> Path:
    """Find a file in the folder of the model, or below; raise ModelError for any other."""
    rule = "files are read from the folder of the model"
    if model == TEXT:
        raise ModelError("a text has no folder to read files from", "table-file", rule="load a model file", value=name)
    folder = Path(model).resolve().parent
    path = (folder / name).resolve()
    if Path(name).is_absolute() or not path.is_relative_to(folder):
        raise ModelError(f"'{name}' is in another folder", "table-file", rule=rule, value=name)
    if not path.is_file():
        raise ModelError(f"there is no file '{name}' beside the model", "no-file", value=name)
    return path
