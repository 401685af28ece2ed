"""A motion beside tables of other programs: differences, their standard deviations, and which column is what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import tau
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwork.arrays import Array
from linkwork.errors import ModelError, UsageError, quoted
from linkwork.formats.columns import Column, bracketed, read_columns
from linkwork.records import Printed
from linkwork.resultfile import is_result, load
from linkwork.tolerances import TYPED
from linkwork.trajectory import Trajectory
from linkwork.units import parse_unit

TIMES = ("t", "time")  # columns of times, however they are capitalized
ANY = "{}"  # in a column and its quantity: the same text
# Units that other programs write without saying so, in the place of ours.
OTHERS = (
    ("m", "mm"), ("m", "cm"), ("m", "km"), ("rad", "deg"), ("N", "kN"), ("N", "mN"), ("W", "kW"), ("J", "kJ"),
    ("kg", "g"), ("s", "ms"),
)  # fmt: skip


class Table(NamedTuple):
    """What another program found: its name, the times and the columns."""

    name: str
    t: Array
    columns: Mapping[str, Column]


@dataclass(frozen=True, eq=False)
class Difference:
    """A quantity of a motion beside the column of a table, at the times of the table."""

    table: str
    column: str
    quantity: str
    unit: str
    t: Array
    ours: Array
    theirs: Array
    turned: int = 0  # rows from which whole turns were taken: programs count angles up to pi, or on and on

    @property
    def values(self) -> Array:
        return self.ours - self.theirs

    @property
    def empty(self) -> int:
        """How many cells of the table hold no number."""
        return int(np.count_nonzero(~np.isfinite(self.theirs)))

    @property
    def owner(self) -> str:
        """What the quantity belongs to, "boom.A" of boom.A.vx; of one that belongs to nothing itself."""
        return self.quantity.rpartition(".")[0] or self.quantity

    @property
    def part(self) -> str:
        """What of its owner it is, with the unit: "vx [m/s]"."""
        name = self.quantity.rpartition(".")[2] if "." in self.quantity else ""
        return f"{name} [{self.unit}]".lstrip()


class Spread(NamedTuple):
    """Of differences: how many, the largest, their mean, and their standard deviation, that of a sample (n - 1)."""

    number: int
    largest: float
    mean: float
    std: float


@dataclass(frozen=True, repr=False, eq=False)
class Beside(Printed):
    """A motion beside tables: a Difference for every column that was compared.

    `left_out` are columns to which no quantity belongs; `interpolation` is how far the motion is known between its
    report times, by quantity, where times of a table lie between them; `outside` is how many rows of a table lie
    before or behind the motion.
    """

    motion: Trajectory
    differences: tuple[Difference, ...]
    left_out: tuple[str, ...] = ()
    interpolation: Mapping[str, float] | None = None
    outside: Mapping[str, int] = field(default_factory=dict)

    @property
    def owners(self) -> list[str]:
        return list(dict.fromkeys(d.owner for d in self.differences))

    @property
    def parts(self) -> list[str]:
        return list(dict.fromkeys(d.part for d in self.differences))

    def spread(self, owner: str | None, part: str) -> Spread | None:
        """Measure the spread of the differences of a part of one owner, or of all together; None if there are none."""
        chosen = [d.values for d in self.differences if d.part == part and owner in (None, d.owner)]
        return spread(np.concatenate(chosen)) if chosen else None

    def likely_unit(self, d: Difference) -> str | None:
        """Return another unit in which the table follows the motion, where it does not in ours.

        It follows where the differences are smaller than what the quantity itself varies, in the mean of squares, if
        it varies at all on the scale of all that have its unit.
        """
        return min(_likely_units(self.motion, d), key=lambda pair: pair[1], default=(None, 0.0))[0]

    def as_dict(self) -> dict[str, Any]:
        return {
            "columns": [
                {
                    **{"table": d.table, "column": d.column, "quantity": d.quantity, "unit": d.unit},
                    **spread(d.values)._asdict(),
                    **{"empty": d.empty, "likely_unit": self.likely_unit(d), "turned": d.turned},
                }
                for d in self.differences
            ],
            "overall": {part: of._asdict() for part in self.parts if (of := self.spread(None, part))},
            "left_out": list(self.left_out),
            "outside": dict(self.outside),
            "interpolation": dict(self.interpolation or {}),
        }

    def __str__(self) -> str:
        from linkwork.view.beside import as_text

        return as_text(self)


def _likely_units(motion: Trajectory, d: Difference) -> list[tuple[str, float]]:
    """Return units in which the table follows the motion, where it does not in ours, and how far off it then is."""
    known = np.isfinite(d.values)
    ours, theirs = d.ours[known], d.theirs[known]
    varies = float(np.std(ours)) if len(ours) else 0.0
    if "," in d.unit or varies <= TYPED * _scale(motion, d.unit):  # "m, rad" is no unit
        return []

    def off(unit: str) -> float:
        return _mean_square(ours - float(parse_unit(unit.replace(" ", "*")).factor) * theirs)

    others = [re.sub(rf"\b{own}\b", other, d.unit) for own, other in OTHERS]
    return [(unit, off(unit)) for unit in others if unit != d.unit and off(unit) < varies <= off(d.unit)]


def _mean_square(x: Array) -> float:
    return float(np.sqrt(np.mean(x**2)))


def _without_turns(motion: Trajectory, d: Difference) -> Difference:
    """Return an angle with whole turns taken from the rows of the table that are nearer to the motion without them."""
    known = np.isfinite(d.values)
    turns = np.where(known, np.round(np.where(known, d.values, 0.0) / tau), 0.0)
    if d.unit != "rad" or not np.any(turns):
        return d
    found = replace(d, theirs=d.theirs + tau * turns, turned=int(np.count_nonzero(turns)))
    off = _mean_square(found.values[known])
    return d if any(other < off for _, other in _likely_units(motion, d)) else found


def spread(values: Array) -> Spread:
    known = values[np.isfinite(values)]
    if not len(known):
        return Spread(0, np.nan, np.nan, np.nan)
    deviation = float(np.std(known, ddof=1)) if len(known) > 1 else 0.0
    return Spread(len(known), float(np.max(np.abs(known))), float(np.mean(known)), deviation)


def read_table(path: str | Path, columns: Mapping[str, str] | None = None) -> Table:
    """Read a text table of another program, or a result of linkwork; `columns` may say which column has the times."""
    path = Path(path)
    if path.suffix.lower() == ".nc" or is_result(path):
        motion = load(path)
        return Table(path.stem, motion.t, {k: Column(*x) for k, x in motion.quantities.items() if k != "t"})
    found = read_columns(path)
    chosen = {column for column, quantity in (columns or {}).items() if quantity == "t"}
    name = next((x for x in found if x in chosen or f"{path.stem}:{x}" in chosen), None)
    name = name or next((x for x in found if x.lower() in TIMES), None)
    if name is None and all(x.isdigit() for x in found):
        name = "1"  # without a heading
    if name is None:
        for heading in found:
            if bracketed(heading)[0].lower() in TIMES:
                _refuse_unit(path.stem, heading, "t")
        hint = "say which it is: --column NAME=t"
        raise ModelError("has no column of times 't' or 'time'", "no-times", file=str(path), suggestion=hint)
    times = _in_si(path.stem, name, found.pop(name), "s")
    if not len(times) > 1 or not np.all(np.diff(times) > 0.0):
        raise ModelError(f"the times in '{name}' do not rise", "bad-table", file=str(path))
    return Table(path.stem, times, found)


def times_of(tables: Sequence[Table]) -> tuple[float, float | None]:
    """Return the last time of tables, and the time between two of their rows if it is always the same."""
    last = max(float(table.t[-1]) for table in tables)
    t = np.unique(np.concatenate([table.t for table in tables]))
    step = last / max(1, round(last / float(np.min(np.diff(t)))))
    even = np.all(np.abs(t - step * np.round(t / step)) <= TYPED * last)
    return last, step if even else None


def beside(motion: Trajectory, tables: Sequence[Table], columns: Mapping[str, str] | None = None) -> Beside:
    """Return a motion at the times of tables, and what they say.

    `columns` maps columns to quantities, "A_x" to "boom.A.x", to "-rod.phi" if the other program counts the other way;
    {} stands for any text, "{}_x" to "{}.vx", "adams:A_x" is the column of one table alone, and "" leaves it out.
    Columns that are not among them belong to the quantity whose name, or the end of it, is their own, whatever stands
    between the words. Values are SI, or in the units of the heading.
    """
    differences: list[Difference] = []
    left_out: list[str] = []
    off: dict[str, float] = {}
    outside: dict[str, int] = {}
    used: set[str] = set()
    for table in tables:
        slack = TYPED * abs(float(motion.t[-1])) if len(motion.t) else 0.0
        within = np.zeros(len(table.t), dtype=bool)
        if len(motion.t):
            within = (table.t >= motion.t[0] - slack) & (table.t <= motion.t[-1] + slack)
        if not np.any(within):
            raise UsageError(f"no time of '{table.name}' lies within the motion", "no-times")
        if not np.all(within):
            outside[table.name] = int(np.count_nonzero(~within))
        for name, column in table.columns.items():
            wanted = _assigned(table.name, name, columns or {}, used)
            sign, quantity = (-1.0, wanted[1:]) if wanted and wanted.startswith("-") else (1.0, wanted)
            if quantity in ("", "t"):
                continue
            found = _quantity(motion, name, quantity)
            if found is None:
                _check_unit(motion, table.name, name)
                left_out.append(name)
                continue
            values, unit = motion.quantity(found)
            ours, error = _at(motion.t, values, table.t[within])
            if error is not None:
                off[found] = error
            theirs = sign * _in_si(table.name, name, column, unit)[within]
            made = Difference(table.name, name, found, unit, table.t[within], ours, theirs)
            differences.append(_without_turns(motion, made))
    if unknown := [name for name, quantity in (columns or {}).items() if name not in used and quantity != "t"]:
        raise UsageError(f"no table has a column {quoted(unknown)}", "unknown-column")
    if not differences:
        known = quoted(name for table in tables for name in table.columns)
        hint = "say what they are: --column NAME=QUANTITY"
        raise UsageError(f"no column is called as a quantity of '{motion.name}': {known}; {hint}", "no-columns")
    return Beside(motion, tuple(differences), tuple(left_out), off, outside)


def _assigned(table: str, column: str, columns: Mapping[str, str], used: set[str]) -> str | None:
    """Find what the user calls this column, None if nothing is said of it."""
    for name, quantity in columns.items():
        of = name.removeprefix(f"{table}:")
        pattern = "(.+)".join(re.escape(part) for part in of.split(ANY, 1))
        if match := re.fullmatch(pattern, column):
            used.add(name)
            return quantity.replace(ANY, match[1]) if match.groups() else quantity
    return None


def _check_unit(motion: Trajectory, table: str, column: str) -> None:
    """Raise UsageError if a column would be a quantity of the motion but for the unit in its heading, which is none."""
    name, unit = bracketed(column)
    if unit and (quantity := _quantity(motion, name, None)) is not None:
        _refuse_unit(table, column, quantity)


def _refuse_unit(table: str, column: str, quantity: str) -> None:
    try:
        parse_unit(bracketed(column)[1])
    except ModelError as error:
        what = "; ".join(part for part in (error.message, error.suggestion) if part)
        hint = f'if the values are in SI: --column "{column}={quantity}"'
        raise UsageError(f"column '{column}' of '{table}': {what}; {hint}", error.code) from None


def _quantity(motion: Trajectory, column: str, wanted: str | None) -> str | None:
    """Return the quantity that is wanted, or that is called like the column; None if there is none."""
    if wanted is not None and wanted in motion:
        return wanted
    if wanted is not None and any(sign in wanted for sign in "*?["):
        found = [name for name in motion if fnmatchcase(name, wanted)]
    else:
        words = _words(column if wanted is None else wanted)
        found = [name for name in motion if _words(name)[-len(words) :] == words]
        found = [name for name in found if _words(name) == words] or found
        found = [name for name in found if ":" not in name] or found  # forces are called by their kind
    if not found and wanted is not None:
        motion.quantity(wanted)  # refuses it, with a suggestion
    if not found:
        return None
    # Points that a joint holds together have one name and move alike; others do not.
    units = {motion.quantity(name).unit for name in found}
    if len(found) > 1 and not (len(units) == 1 and _alike(motion, found, *units)):
        hint = f"say which is meant: --column {column}={found[0]}"
        raise UsageError(f"column '{column}' may be {quoted(found)}; {hint}", "ambiguous-column")
    return found[0]


def _alike(motion: Trajectory, names: Sequence[str], unit: str) -> bool:
    """Tell whether quantities are the same but for rounding, on the scale of all that have this unit."""
    atol = TYPED * _scale(motion, unit)
    return all(np.allclose(motion[name], motion[names[0]], rtol=0.0, atol=atol) for name in names)


def _scale(motion: Trajectory, unit: str) -> float:
    """Return the largest value of all quantities that have this unit."""
    return max(float(np.max(np.abs(x.values), initial=0.0)) for x in motion.quantities.values() if x.unit == unit)


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[\s._:/]+", name) if word]


def _in_si(table: str, name: str, column: Column, unit: str) -> Array:
    """Return the values of a column in the unit of the quantity it is compared with."""
    if not column.unit or column.unit == unit:
        return column.values
    own, expected = parse_unit(column.unit), parse_unit(unit.replace(" ", "*"))
    if own.exponents != expected.exponents:
        message = f"column '{name}' of '{table}' is in {column.unit}, and the quantity in {unit}"
        raise UsageError(message, "unit-mismatch")
    return column.values * float(own.factor / expected.factor)


def _at(t: Array, values: Array, times: Array) -> tuple[Array, float | None]:
    """Return values at other times, and their error if these lie between those of the motion.

    Splines of third order have errors of h^4: a sixteenth of what every second row gives.
    """
    nearest = np.clip(np.searchsorted(t, times), 1, len(t) - 1)
    nearest -= times - t[nearest - 1] < t[nearest] - times
    if np.all(np.abs(t[nearest] - times) <= TYPED * t[-1]):
        return values[nearest], None
    from scipy.interpolate import CubicSpline

    fine, coarse = CubicSpline(t, values)(times), CubicSpline(t[::2], values[::2])(times)
    return fine, float(np.max(np.abs(fine - coarse))) / 2**4


def pairs(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Read COLUMN=QUANTITY texts; a column may be called anything but with an equals sign."""
    for text in texts:
        name, equals, quantity = text.partition("=")
        if not (name.strip() and equals):
            raise UsageError(f"--column {text}: write COLUMN=QUANTITY, as in --column A_x=boom.A.x", "bad-column")
        yield name.strip(), quantity.strip()
