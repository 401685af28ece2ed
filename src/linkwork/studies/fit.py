"""Parameters identified from a measured motion.

    r_i = (y(t_i, p) - y_i) / sigma_i,    sum r^2 least                        [SciPy's trust region, exact derivatives]

Near the least, p is off by deviations whose covariance is s^2 (J^T J)^-1 with s^2 = r.r/(n - k) of n values and k
parameters, so that p_k +- t sqrt(cov_kk) holds the true value as often as said, t of Student's distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.driven.measured import in_si
from linkwork.errors import LinkworkError, ModelError, NumericalStop, UsageError, check_choice, checked_call
from linkwork.formats.columns import read_columns
from linkwork.model import Model
from linkwork.records import Printed
from linkwork.studies.points import ranges_of
from linkwork.studies.trial import Trial
from linkwork.tolerances import EPSILON, TYPED
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class Fit(Printed):
    """Parameters that fit a measured motion best, with the intervals that hold them by this confidence."""

    model: str
    before: Mapping[str, float]
    values: Mapping[str, float]
    deviations: Mapping[str, float]  # standard ones
    intervals: Mapping[str, tuple[float, float]]
    correlation: Array
    left: Mapping[str, tuple[float, float]]  # root mean square of what is left of each column, before and after
    units: Mapping[str, str]
    confidence: float
    count: int  # values
    tried: int
    trial: Trial
    data: Mapping[str, Array]

    def motion(self, values: Mapping[str, float] | None = None) -> Trajectory:
        """Return the motion that fits, or that of other values."""
        return self.trial.move(self.values if values is None else values)

    def as_dict(self) -> dict[str, Any]:
        own = {
            name: {
                "before": self.before[name],
                "value": x,
                "deviation": self.deviations[name],
                "interval": list(self.intervals[name]),
            }
            for name, x in self.values.items()
        }
        left = {name: {"before": a, "after": b, "unit": self.units[name]} for name, (a, b) in self.left.items()}
        counts = {"confidence": self.confidence, "values": self.count, "tried": self.tried}
        return {"model": self.model, "fit": own, "left": left, "correlation": self.correlation.tolist(), **counts}

    def __str__(self) -> str:
        from linkwork.view.report import within_terminal
        from linkwork.view.studies import fit_lines

        return within_terminal(fit_lines(self.as_dict()))


def read_measured(path: str | Path, motion: Trajectory) -> dict[str, Array]:
    """Read the columns of a table in SI by the names of what a motion has, with its times t; units may stand in
    headings.
    """
    columns = read_columns(path)
    names = [name for name in columns if name != "t"]
    if "t" not in columns or not names:
        rule = "the column t has the times, the others are named as results are"
        raise ModelError("is no table of a motion", "bad-table", file=str(path), rule=rule)
    for name in names:
        check_choice("quantity", name, motion.quantities)
    return {"t": in_si(columns["t"], "s", "t")} | {
        name: in_si(columns[name], motion.unit(name), name) for name in names
    }


@dataclass(eq=False)
class Problem:
    """What is measured at times t, by its column, and the motions that are tried."""

    trial: Trial
    names: tuple[str, ...]  # of the parameters
    data: Mapping[str, Array]
    sizes: Mapping[str, float]  # by which columns are weighted
    progress: Callable[[float, str], None] | None
    seen: dict[bytes, Trajectory | None] = field(default_factory=dict)

    @property
    def known(self) -> dict[str, NDArray[np.bool_]]:
        return {name: np.isfinite(self.data[name]) for name in self.sizes}

    @property
    def counts(self) -> list[int]:
        """How many values each column has."""
        return [int(known.sum()) for known in self.known.values()]

    def values(self, p: Array) -> dict[str, float]:
        return dict(zip(self.names, p.tolist(), strict=True))

    def motion(self, p: Array) -> Trajectory | None:
        """Return the motion with its derivatives; None where there is none."""
        if p.tobytes() not in self.seen:
            try:
                self.seen[p.tobytes()] = self.trial.vary(self.values(p), sum(self.counts))
            except UsageError:
                raise
            except LinkworkError:
                self.seen[p.tobytes()] = None
            if self.progress is not None:
                self.progress(len(self.seen) / (len(self.seen) + 1), f"{len(self.seen)} motions")
        return self.seen[p.tobytes()]

    def weighted(self, rows: Mapping[str, Array], t: Array) -> Array:
        """Return rows of a motion at the times of what is measured, in deviations."""
        found = {x: at_times(rows[x], t, self.data["t"]) / size for x, size in self.sizes.items()}
        return np.concatenate([found[x][known] for x, known in self.known.items()])

    def residuals(self, p: Array) -> Array:
        motion = self.motion(p)
        if motion is None:
            return np.full(sum(self.counts), 1.0 / TYPED)
        measured = np.concatenate([self.data[x][known] / self.sizes[x] for x, known in self.known.items()])
        return np.asarray(self.weighted({x: motion[x] for x in self.sizes}, motion.t) - measured)

    def slopes(self, p: Array) -> Array:
        motion = self.motion(p)
        if motion is None:
            return np.zeros((sum(self.counts), len(self.names)))
        columns = [{x: motion.gradient(x, by) for x in self.sizes} for by in self.names]
        return np.column_stack([self.weighted(rows, motion.t) for rows in columns])


@checked_call()
def fit(
    model: Model | Mechanism,
    measured: str | Path | Mapping[str, Any],
    vary: Mapping[str, str | Sequence[float]],
    *,
    deviations: Mapping[str, float] | None = None,
    confidence: float = 19 / 20,
    driven: bool = False,
    progress: Callable[[float, str], None] | None = None,
    **options: Any,
) -> Fit:
    """Find the values of parameters with which the motion is nearest to a measured one, and how well they are known.

        fit(model, "swing.csv", {"c": "0:2", "J": (0.01, 0.5)})

    - `measured`: a table with a column t and others named as results are, or arrays by these names; a value that is
      missing (NaN) counts nothing.
    - `vary`: ranges; the search begins at the values of the model.
    - `deviations`: of the errors of each column, which only weight columns against each other; by default the spread
      of each.
    - `confidence`: how often the intervals hold the true values, if the errors are random.
    - `driven`: the motion that drivers prescribe; `options` are those of `simulate` or `kinematics`.
    """
    from scipy.optimize import least_squares

    mechanism = prepare(model)
    ranges = ranges_of(mechanism.model, vary)
    names, before = tuple(ranges), {name: mechanism.model.parameters[name] for name in ranges}
    if isinstance(measured, str | Path):
        data = read_measured(measured, Trial(mechanism, (), driven, {**options, "t_end": TYPED}).move({}))
    else:
        data = {name: np.asarray(x, dtype=float) for name, x in measured.items()}
    t = check_times(data)
    columns = [name for name in data if name != "t"]
    options.setdefault("step", float(np.min(np.diff(t))))
    for name in deviations or {}:
        check_choice("measured column", name, columns)
    sizes = {name: _size(name, data[name], deviations or {}) for name in columns}
    trial = Trial(mechanism, (), driven, {**options, "t_end": float(t[-1])})
    problem = Problem(trial, names, data, sizes, progress)
    if (count := sum(problem.counts)) <= len(names):
        raise UsageError(f"{count} measured values cannot tell {len(names)} parameters", "too-few-values")
    if not 0.0 < confidence < 1.0:
        raise UsageError(f"confidence = {confidence:g} is not between 0 and 1", "bad-value")
    low, high = np.array([(r.low, r.high) for r in ranges.values()]).T
    start = np.array([*before.values()])
    if outside := [name for name, r in ranges.items() if not r.low <= before[name] <= r.high]:
        message = f"the search begins at the value of '{outside[0]}', {before[outside[0]]:g}, which is not in its range"
        raise UsageError(message, "bad-range")
    first = problem.motion(start) or trial.move(before)  # which says why there is none
    for name in columns:
        check_choice("quantity", name, first.quantities)
    scale = np.maximum(np.abs(start), TYPED * (high - low))
    ends = {"xtol": EPSILON, "ftol": EPSILON, "gtol": EPSILON}
    found = least_squares(problem.residuals, start, problem.slopes, (low, high), x_scale=scale, **ends)
    if not np.all(np.isfinite(found.fun)) or problem.motion(found.x) is None:
        raise NumericalStop("no motion fits; widen the ranges or begin nearer", "no-design")
    return _conclude(problem, before, problem.residuals(start), found, confidence)


def check_times(data: Mapping[str, Array]) -> Array:
    """Return the times of what is measured; raise UsageError where they do not rise from zero on."""
    if "t" not in data or len(data) < 2:
        raise UsageError("what is measured needs times t and a quantity", "bad-table")
    t = data["t"]
    if len(t) < 2 or any(x.shape != t.shape for x in data.values()) or not (np.all(np.diff(t) > 0.0) and t[0] >= 0.0):
        raise UsageError("what is measured has a value at each of its times, which rise from t = 0 on", "bad-table")
    return t


def at_times(values: Array, rows: Array, t: Array) -> Array:
    """Interpolate report rows at other times by a cubic spline; at report times it has their values."""
    from scipy.interpolate import CubicSpline

    k = np.clip(np.searchsorted(rows, t - TYPED * rows[-1]), 0, len(rows) - 1)
    is_row = np.abs(rows[k] - t) <= TYPED * rows[-1]
    return np.where(is_row, values[k], CubicSpline(rows, values)(t) if not is_row.all() else 0.0)


def _size(name: str, values: Array, deviations: Mapping[str, float]) -> float:
    size = float(deviations.get(name, np.std(values[np.isfinite(values)]) if np.isfinite(values).any() else 0.0))
    if not (size > 0.0 and math.isfinite(size)):
        raise UsageError(f"'{name}' is measured at one value only, or has no deviation above zero", "bad-value")
    return size


def _conclude(problem: Problem, before: Mapping[str, float], first: Array, found: Any, confidence: float) -> Fit:
    """Find what the least residuals say about the parameters, `first` being those of the values before."""
    from scipy.stats import t as student

    J, r, count, names = found.jac, found.fun, len(found.fun), problem.names
    free = count - len(names)
    by = np.maximum(np.linalg.norm(J, axis=0), np.finfo(float).tiny)
    singular = np.linalg.svd(J / by, compute_uv=False)
    if singular[-1] <= EPSILON * count * singular[0] or not np.all(np.isfinite(J)):
        k = int(np.argmin(by))
        message = f"what is measured does not tell {', '.join(names)} apart, or does not depend on '{names[k]}'"
        raise NumericalStop(f"{message}; vary fewer of them", "not-identifiable")
    covariance = np.linalg.inv((J / by).T @ (J / by)) / np.outer(by, by) * (r @ r) / free
    deviations = np.sqrt(np.diag(covariance))
    reach = float(student.ppf(0.5 + 0.5 * confidence, free)) * deviations
    ends, left = np.cumsum(problem.counts)[:-1], dict[str, tuple[float, float]]()
    for (name, size), *parts in zip(problem.sizes.items(), np.split(first, ends), np.split(r, ends), strict=True):
        was, is_now = (float(np.sqrt(np.mean(part * part)) * size) for part in parts)
        left[name] = was, is_now
    values = problem.values(found.x)
    motion = problem.trial.move(values)
    return Fit(
        problem.trial.mechanism.model.name,
        before,
        values,
        dict(zip(names, deviations.tolist(), strict=True)),
        {name: (x - d, x + d) for (name, x), d in zip(values.items(), reach.tolist(), strict=True)},
        covariance / np.outer(deviations, deviations),
        left,
        {name: motion.unit(name) for name in problem.sizes},
        confidence,
        count,
        len(problem.seen),
        problem.trial,
        problem.data,
    )
