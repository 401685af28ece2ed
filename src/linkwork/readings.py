"""What people read off a motion: names and units, peaks and means, values at a time, times at which something happens.

Everything is told at the report times of the motion and between them by curves through its rows: cubic ones where the
rate of a quantity is a quantity too, straight ones otherwise.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from linkwork import units
from linkwork.arrays import Array
from linkwork.errors import UsageError, check_choice, check_number, check_text, checked_methods
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic, ordered
from linkwork.expressions.graph import ZERO, Expr, symbol
from linkwork.expressions.parser import ExpressionError, parse
from linkwork.records import Printed, kept
from linkwork.resulttable import TABLES, check_package, write_table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


REDUCTIONS: dict[str, Callable[[Array, Array], Array]] = {  # of values at times, the last axis
    "first": lambda x, _: x[..., 0],
    "final": lambda x, _: x[..., -1],
    "max": lambda x, _: np.asarray(x.max(axis=-1)),
    "min": lambda x, _: np.asarray(x.min(axis=-1)),
    "range": lambda x, _: np.asarray(x.max(axis=-1) - x.min(axis=-1)),
    "mean": lambda x, t: _mean(x, t),
    "rms": lambda x, t: np.sqrt(_mean(x * x, t)),
    "integral": lambda x, t: np.asarray(np.trapezoid(x, t)),
}


def _mean(x: Array, t: Array) -> Array:
    return np.asarray(np.trapezoid(x, t) / (t[-1] - t[0]) if len(t) > 1 else x[..., 0])


def _length(components: Iterable[str]) -> Expr:
    return sum((symbol(x) * symbol(x) for x in components), ZERO) ** 0.5


LOADS = ("reaction", "driving", "actuator", "force", "torque", "power")  # what stands before the colon in their names


class Quantity(NamedTuple):
    """One column of the result."""

    values: Array
    unit: str


class Values(dict[str, Any]):
    """Values by the names of quantities; others are refused."""

    def __missing__(self, name: str) -> None:
        check_choice("quantity", name, self)


@dataclass(frozen=True, repr=False)
class Peak(Printed):
    """A value that a quantity takes at a report time."""

    value: float
    t: float
    name: str
    unit: str
    time_unit: str = "s"

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        value = f"{self.value + 0.0:.6g} {self.unit}".rstrip()
        return f"{value} at t = {self.t:.6g} {self.time_unit}"


@dataclass(frozen=True, repr=False)
class Peaks(Printed):
    """The largest absolute values of several quantities."""

    peaks: tuple[Peak, ...]

    def __iter__(self) -> Iterator[Peak]:
        return iter(self.peaks)

    def __len__(self) -> int:
        return len(self.peaks)

    def __str__(self) -> str:
        width = max((len(peak.name) for peak in self.peaks), default=0)
        return "\n".join(f"{peak.name:{width}}  {peak}" for peak in self.peaks)

    def latex(self) -> str:
        """Write the table for a paper, a tabular of LaTeX."""
        from linkwork.view.markup import tex_table

        rows = ([p.name, f"{p.value + 0.0:.6g}", p.unit, f"{p.t:.6g} {p.time_unit}"] for p in self.peaks)
        return tex_table(["quantity", "value", "unit", "at t"], rows, (1,))


@checked_methods
class Readings(Mapping[str, Array]):
    """Arrays over time by name, with units. `motion["crank.A"]` has a column for each component of a vector."""

    name: str

    @property
    @abstractmethod
    def quantities(self) -> dict[str, Quantity]:
        """Everything there is, by name."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def quantity(self, name: str) -> Quantity:
        if name not in self.quantities and name.endswith(".angle") and f"{name[:-5]}phi" in self.quantities:
            raise UsageError(f"no quantity '{name}'; did you mean '{name[:-5]}phi'?", "unknown-quantity")
        check_choice("quantity", name, self.quantities)
        return self.quantities[name]

    def components(self, name: str) -> list[str]:
        """Return the names of the components of a vector, of a quantity itself."""
        if not isinstance(name, str):
            ways = "write motion['crank.phi'], motion.at('1 s') or motion.dataframe('crank.*')"
            raise UsageError(f"{name!r} is not the name of a quantity; {ways}", "bad-value")
        found = [f"{name}.{axis}" for axis in "xyz" if f"{name}.{axis}" in self.quantities]
        return [name] if name in self.quantities or len(found) < 2 else found

    def __getitem__(self, name: str) -> Array:
        columns = [self.quantity(one).values for one in self.components(name)]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.quantities

    def __iter__(self) -> Iterator[str]:
        return iter(self.quantities)

    def __len__(self) -> int:
        return len(self.quantities)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def unit(self, name: str) -> str:
        return self.quantity(self.components(name)[0]).unit

    def names(self, *patterns: str) -> list[str]:
        """Return the names that fit these patterns ("reaction:*"), each once; without patterns all but the time."""
        found: list[str] = []
        for pattern in patterns or ("*",):
            check_text("the name of a quantity", pattern)
            fitting = [name for name in self if name == pattern or (name != "t" and fnmatchcase(name, pattern))]
            if not fitting and not any(sign in pattern for sign in "*?["):
                fitting = self.components(pattern)
                self.quantity(fitting[0])
            if not fitting:
                raise UsageError(f"no quantity fits '{pattern}'", "unknown-quantity")
            found += fitting
        return list(dict.fromkeys(found))

    def values_of(self, text: str) -> Array:
        """Return the values of a quantity, of a vector its length, or of a formula of these, as "slider.vx^2"."""
        columns = [self.quantity(name).values for name in self.components(text) if name in self.quantities]
        if columns:
            return columns[0] if len(columns) == 1 else np.asarray(np.linalg.norm(columns, axis=0))
        formula = self.formula(text)
        found = _evaluate(formula, {x: self.quantity(str(x.value)).values for x in _symbols(formula)})
        return np.broadcast_to(found, np.broadcast_shapes(found.shape, self["t"].shape))

    def formula(self, text: str) -> Expr:
        """Read a formula of quantities, and of vectors, which stand for their lengths."""
        if parts := [x for x in self.components(text) if x in self]:  # whatever is in the name
            return symbol(text) if parts == [text] else _length(parts)
        named = {name[:-2] for name in self if name.endswith(".x") and name[:-2] in text}
        lengths = {name: _length(parts) for name in named if len(parts := self.components(name)) > 1}
        try:
            return parse(text, {**{name: symbol(name) for name in self}, **lengths})
        except ExpressionError as error:
            if re.fullmatch(r"[\w.:]+", text):
                self.quantity(text)
            raise UsageError(f"'{text}': {error.reason}", error.code) from None

    def _peak(self, name: str, values: Array, k: Any) -> Peak:
        if not len(values):
            raise UsageError(f"the trajectory of '{self.name}' has no rows", "empty-trajectory")
        unit = "" if self.components(name) == [name] and name not in self else self.unit(name)
        return Peak(float(values[k]), float(self["t"][k]), name, unit, self.unit("t"))

    def max(self, name: str) -> Peak:
        """Return the largest value and its time; of a vector, as motion.max("reaction:O"), its largest length."""
        values = self.values_of(name)
        return self._peak(name, values, np.argmax(values) if len(values) else 0)

    def min(self, name: str) -> Peak:
        values = self.values_of(name)
        return self._peak(name, values, np.argmin(values) if len(values) else 0)

    def final(self, name: str) -> Peak:
        return self._peak(name, self.values_of(name), -1)

    def integral(self, name: str) -> float:
        """Integrate over time, by the trapezoidal rule on the report times."""
        return self._reduced("integral", name)

    def mean(self, name: str) -> float:
        """Average over time."""
        return self._reduced("mean", name)

    def rms(self, name: str) -> float:
        """Return the root of the mean square over time."""
        return self._reduced("rms", name)

    def _reduced(self, reduction: str, name: str) -> float:
        return float(REDUCTIONS[reduction](self.values_of(name), self["t"]))

    def extremes(self, *patterns: str) -> Peaks:
        """Return the largest absolute value of every quantity that fits, with its time.

        Without patterns, of all loads that are not zero throughout.
        """
        found = self.names(*patterns) if patterns else [name for name in self if name.partition(":")[0] in LOADS]
        peaks = [self._peak(name, self[name], np.argmax(np.abs(self[name]))) for name in found]
        return Peaks(tuple(peak for peak in peaks if patterns or peak.value))

    @abstractmethod
    def rates_of(self, name: str) -> tuple[str, ...]:
        """Return the names of velocity and acceleration of a coordinate or of a point, of a measure that of its
        rate.
        """

    def at(self, t: Any) -> dict[str, Any]:
        """Return all values at a time, or at each of several, also between report times: motion.at("250 ms")."""
        is_one = isinstance(t, str) or np.ndim(t) == 0
        times, moments = self["t"], np.array([self._time(one) for one in ([t] if is_one else t)])
        if not len(times) or not np.all((times[0] <= moments) & (moments <= times[-1])):
            raise UsageError(f"t = {t!r} is not within the motion", "out-of-range")
        rows = np.clip(np.searchsorted(times, moments, side="right") - 1, 0, max(len(times) - 2, 0))
        found = {name: self._between(name, rows, moments) for name in self}
        return Values({name: float(values[0]) for name, values in found.items()} if is_one else found)

    def _time(self, t: float | str) -> float:
        if not isinstance(t, str):
            check_number("t", t)
            return float(t)
        value = units.quantity(t, units.TIME)
        if value is None:
            raise UsageError(f"'{t}' is not a time; write '2 s'", "bad-value")
        return value / float(units.parse_unit(self.unit("t")).factor)

    def _between(self, name: str, k: int | NDArray[np.intp], t: Array) -> Array:
        """Return a quantity at times, each between the rows k and k + 1."""
        times, values = self["t"], self[name]
        if len(times) == 1 or name == "t":
            return np.full(len(t), values[0]) if name != "t" else t
        h = times[k + 1] - times[k]
        s = np.divide(t - times[k], h, out=np.zeros(len(t)), where=h > 0.0)
        a, b = values[k], values[k + 1]
        rates = self.rates_of(name)
        if not rates:
            return np.asarray(a + s * (b - a))
        # cubic of Hermite; the rate may be told in other units, of which the factor is that of the quantity
        scale = float(
            units.parse_unit(plain(self.unit(rates[0]))).factor * units.parse_unit(plain(self.unit("t"))).factor
        )
        scale /= float(units.parse_unit(plain(self.unit(name))).factor)
        da, db = (h * scale * self[rates[0]][i] for i in (k, k + 1))
        bend: Array = 3.0 * (b - a) - 2.0 * da - db + s * (2.0 * (a - b) + da + db)
        return np.asarray(a + s * (da + s * bend))

    def when(self, equation: str) -> Array:
        """Return the times at which an equation of named quantities holds: motion.when("crank.phi = 90 deg")."""
        check_text("an equation", equation)
        left, sign, right = equation.replace("==", "=").partition("=")
        if not sign or not left.strip() or not right.strip():
            raise UsageError(f"'{equation}' is not an equation; write for example 'crank.phi = pi'", "bad-value")
        left, right = self._number(left.strip(), right.strip()), self._number(right.strip(), left.strip())
        g = self.formula(left) - self.formula(right)
        used = {x: str(x.value) for x in _symbols(g)}
        t = self["t"]
        rows = np.broadcast_to(_evaluate(g, {x: self[name] for x, name in used.items()}), t.shape)
        found = [float(x) for x in t[rows == 0.0]]
        for k in np.flatnonzero(rows[:-1] * rows[1:] < 0.0):
            low, high = float(t[k]), float(t[k + 1])
            begins = rows[k] > 0.0
            while (middle := 0.5 * (low + high)) not in (low, high):
                here = _evaluate(g, {x: self._between(name, int(k), np.array([middle])) for x, name in used.items()})[0]
                low, high = (middle, high) if (here > 0.0) == begins else (low, middle)
            found.append(high)
        return np.array(sorted(found))

    def _number(self, side: str, other: str) -> str:
        """Read a quantity, "90 deg", as a number in the unit of what it is compared with; other texts as they are."""
        if units.unit_of(side) is None:
            return side
        unit = plain(self.unit(other))
        return repr(units.value_of(other, side, unit) / float(units.parse_unit(unit).factor))

    def dataframe(self, *patterns: str) -> pandas.DataFrame:
        """Return a pandas data frame, the time its index, with a column for every quantity that fits.

        Units in `attrs`.
        """
        try:
            import pandas
        except ImportError:
            raise UsageError("pandas is not installed; pip install pandas", "no-pandas") from None
        names = self.names(*patterns)
        frame = pandas.DataFrame({name: self[name] for name in names}, index=pandas.Index(self["t"], name="t"))
        frame.attrs["units"] = {name: self.unit(name) for name in ("t", *names)}
        return frame


def _symbols(formula: Expr) -> list[Expr]:
    return [x for x in ordered([formula]) if x.op == "symbol"]


def _evaluate(formula: Expr, values: Mapping[Expr, Array]) -> Array:
    with np.errstate(all="ignore"):  # where a formula has no number, that is none
        (found,) = evaluate([formula], values, numpy_arithmetic())
    return np.asarray(found, dtype=float)


def plain(unit: str) -> str:
    """Return a unit as results write it, "N m", as `units` reads it."""
    return unit.replace(" ", "*")


class InUnits(Readings):
    """A motion in other units; `q`, `v`, `tables` and all else that is not read by name stay in SI."""

    def __init__(self, motion: Any, wanted: Mapping[str, units.Unit]) -> None:
        self.motion, self.wanted = motion, wanted

    def __getattr__(self, name: str) -> Any:
        if name in ("motion", "wanted"):
            raise AttributeError(name)
        return getattr(self.motion, name)

    @property
    def name(self) -> str:  # type: ignore[override]
        return str(self.motion.name)

    @property
    def t(self) -> Array:
        return self["t"]

    def rates_of(self, name: str) -> tuple[str, ...]:
        found: tuple[str, ...] = self.motion.rates_of(name)
        return found

    def converted(self, unit: str) -> tuple[float, str]:
        """Return the factor to the units that are wanted, and how the new unit is written."""
        if "," in unit or unit == "1":
            return 1.0, unit
        whole = units.parse_unit(plain(unit))
        factor, text = whole.factor, unit
        for name, other in self.wanted.items():
            basic = next((own for own, known in units.WITH_PREFIX.items() if known.exponents == other.exponents), None)
            if basic is None and whole.exponents == other.exponents:
                return float(whole.factor / other.factor), name  # as rpm of rad/s
            if basic is not None:
                text = re.sub(rf"(?<![A-Za-z]){basic}(?![A-Za-z])", name, text)
        return float(factor / units.parse_unit(plain(text)).factor), text

    @kept
    def quantities(self) -> dict[str, Quantity]:
        found = {}
        for name, (values, unit) in self.motion.quantities.items():
            factor, text = self.converted(unit)
            found[name] = Quantity(values if factor == 1.0 else factor * values, text)
        return found

    def between(self, start: float | str, end: float | str) -> InUnits:
        """Cut out an interval as `Trajectory.between` does, in these units."""
        times = (f"{self._time(t)!r} {self.unit('t')}" for t in (start, end))
        return in_units(self.motion.between(*times), tuple(self.wanted))

    def plot(self, *names: str, against: str = "t", ax: Axes | None = None) -> Figure:
        """Plot as `Trajectory.plot` does, in these units."""
        from linkwork.view.plot import figure

        own: Any = self  # which has what a figure needs of a motion
        return figure(own, names, against, axes=ax)

    def save(self, path: str | Path) -> None:
        """Save a table, .csv, .xlsx or .parquet, whose headings have units; it is not read again as a result."""
        from linkwork.files import whole

        if Path(path).suffix.lower() not in TABLES:
            kinds = ", ".join(TABLES)
            raise UsageError(f"cannot write '{path}': in other units results are tables, {kinds}", "unknown-suffix")
        check_package(Path(path))
        with whole(path) as part:
            write_table(self.quantities, part, self.name)

    def to(self, *names: str) -> InUnits:
        """Return the motion in these units too; one of the same kind takes the place of an earlier one."""
        if names == ("SI",):
            return in_units(self.motion, names)
        new = [unit.exponents for unit in units.choose_units(names).values()]
        others = [name for name, unit in self.wanted.items() if unit.exponents not in new]
        return in_units(self.motion, (*others, *names))

    def __repr__(self) -> str:
        return f"{self.motion!r} in {', '.join(self.wanted)}"


def in_units(motion: Readings, names: tuple[str, ...]) -> InUnits:
    """Return the motion itself for "SI", which has all that InUnits has, else the same in other units."""
    if names == ("SI",):
        return cast(InUnits, motion)
    return InUnits(motion, units.choose_units(names))
