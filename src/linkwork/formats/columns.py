"""Tables of numbers that other programs write: columns by name, between commas, semicolons, tabs or blanks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from linkwork.arrays import Array
from linkwork.document import read_text
from linkwork.errors import ModelError
from linkwork.units import NUMBER, parse_unit, shown

REMARKS = "#%!"
MAX_TABLE = 64 * 1024**2  # bytes of a table: a hundred columns of fifty thousand rows
ENTRY = re.compile(rf"[+-]?(?:{NUMBER}|(?i:nan|inf))|")  # nothing where a program had no value


class Column(NamedTuple):
    """Values as they stand in the file, and the unit in the brackets of the heading, "" if it has none."""

    values: Array
    unit: str = ""


def read_columns(path: str | Path) -> dict[str, Column]:
    """Read the columns of a text table by their names, or by their numbers, "1" being the first, if it has no heading.

    Lines that begin with one of REMARKS are left out, and so is what stands above the heading, the last line without
    numbers. A heading may have units: "x [mm]", "angle (deg)". Decimals follow a point, between semicolons or tabs also
    a comma.
    """
    file = str(path)
    lines = [
        (k, line)
        for k, text in enumerate(read_text(path, MAX_TABLE).split("\n"), 1)
        if (line := text.strip(" \r\ufeff")) and line[0] not in REMARKS
    ]
    first = next((k for k, (_, line) in enumerate(lines) if _numbers(_split(line))), None)
    if first is None:
        raise ModelError("holds no line of numbers", "bad-table", file=file, rule="a table has a heading and numbers")
    rows = []
    for number, line in lines[first:]:
        words = _split(line)
        if (row := _numbers(words)) is None or len(row) != len(_split(lines[first][1])):
            wrong = next((word for word in words if not ENTRY.fullmatch(word.replace(",", "."))), None)
            what = f"{len(words)} entries" if wrong is None else f"'{shown(wrong)}'"
            expected = f"{len(_split(lines[first][1]))} numbers"
            raise ModelError(f"{what} where {expected} should be", "bad-table", file=file, line=number)
        rows.append(row)
    values = np.array(rows)
    names = [word.strip("\"' ") for word in _split(lines[first - 1][1])] if first else []
    if len(names) != values.shape[1]:
        names = [str(k) for k in range(1, values.shape[1] + 1)]
    found = [_take_unit(name) for name in names]
    if twice := next((name for k, (name, _) in enumerate(found) if name in [other for other, _ in found[:k]]), None):
        raise ModelError(
            f"two columns are called '{shown(twice)}'", "duplicate-name", file=file, line=lines[first - 1][0]
        )
    return {name: Column(column, unit) for (name, unit), column in zip(found, values.T, strict=True)}


def _split(line: str) -> list[str]:
    """Return entries between semicolons, tabs, commas or blanks, whichever the line has."""
    for separator in (";", "\t", ","):
        if separator in line:
            return [word.strip() for word in line.split(separator)]
    return line.split()


def _numbers(words: list[str]) -> list[float] | None:
    texts = [word.replace(",", ".") for word in words]
    if not all(ENTRY.fullmatch(text) for text in texts) or not any(texts):
        return None
    return [float(text or "nan") for text in texts]


def _take_unit(heading: str) -> tuple[str, str]:
    """Return the name and the unit of a heading; brackets that hold no unit belong to the name."""
    name, unit = bracketed(heading)
    try:
        parse_unit(unit)
    except ModelError:
        return heading, ""
    return name, unit


def bracketed(heading: str) -> tuple[str, str]:
    """Find what stands before the brackets that end a heading, and in them; the heading and "" if it has none."""
    found = re.fullmatch(r"(.*\S)\s*(?:\[([^][]*)\]|\(([^()]*)\))", heading)
    return (found[1], (found[2] or found[3] or "").strip()) if found else (heading, "")
