"""Numbers taken of a motion with their derivatives by parameters.

A largest value is that of a polynomial through the report rows around it. Its derivative is that of the values at the
time of the maximum, d max f = f_p(t*), since f_t(t*) = 0 (the envelope theorem), by the polynomial through their
derivatives. Where an event ends the run, its time varies too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.errors import UsageError, check_number, checked_call
from linkwork.expressions.derivatives import directional
from linkwork.expressions.evaluation import evaluate, ordered
from linkwork.expressions.graph import Expr, symbol
from linkwork.linalg.newton import MAX_ITERATIONS
from linkwork.model import Model
from linkwork.records import Printed
from linkwork.simulation.varied import choose_parameters, name_of
from linkwork.studies.sensitivities import pays_backward, sensitivities
from linkwork.studies.taking import Take, read_take
from linkwork.tolerances import EPSILON
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]
BESIDE = 2  # rows on either side of a largest value, through which a polynomial goes
PEAKS = {"max": (1.0,), "min": (-1.0,), "range": (1.0, -1.0)}  # signs of the extremes that each has
WINDOWS = 100  # spans of time, in each of which one largest value counts: what a step of a search solves for


class Rows(NamedTuple):
    """Values at the report times."""

    t: Array
    values: Array
    jumps: Array  # times at which they may jump


class Weighed(NamedTuple):
    """Numbers taken of a quantity as sums of its rows, near these, with weights and that of the end of the run."""

    value: Any
    weights: Array  # a row for each number
    end: Array


class Slope(NamedTuple):
    """A number taken of a motion, and its derivatives by the parameters; or several, each with its row."""

    value: Any
    slopes: Array


def slope_of(take: Take, motion: Trajectory, parameters: Sequence[str]) -> Slope:
    """Return the number, with a largest or least value between the report rows, and its derivatives."""
    if take.reduction == "count":
        return Slope(take.of_motion(motion), np.zeros(len(parameters)))
    if take.reduction == "time":
        times = [k for k, name in enumerate(motion.events.names) if name == take.of]
        slopes = times_of(times[0], motion, parameters) if times else np.full(len(parameters), np.nan)
        return Slope(take.of_motion(motion), slopes)
    found = differentiate(take, motion, parameters, weigh(take, motion))
    return Slope(found.value, found.slopes[0])


def differentiate(take: Take, motion: Trajectory, parameters: Sequence[str], found: Weighed) -> Slope:
    """Return numbers with their derivatives."""
    if not parameters:
        return Slope(found.value, np.zeros((len(found.weights), 0)))
    gradients = motion.gradients
    assert gradients is not None
    try:
        pulled = gradients.pull(gradients.formula(take.of, motion), take.of, found.weights)
    except UsageError as error:
        raise UsageError(f"'{take.text}': {error.message}", error.code) from None
    slopes = pulled[:, [gradients.names.index(p) for p in parameters]]
    if motion.info.reason.code == "event":  # the end of the run varies
        slopes = slopes + np.outer(found.end, times_of(len(motion.events.names) - 1, motion, parameters))
    return Slope(found.value, slopes)


def weigh(take: Take, motion: Trajectory) -> Weighed:
    """Return the number as a sum of rows, at the values that they have."""
    rows = rows_of(take, motion)
    t, x, n = rows.t, rows.values, len(rows.t)
    weights, end = np.zeros(n), 0.0
    if take.reduction in PEAKS:
        value, outer = 0.0, PEAKS[take.reduction][0]
        for side in PEAKS[take.reduction]:
            found = find_peaks(rows, side)
            best = int(np.argmax(found.values))
            value += outer * float(found.values[best])
            weights = weights + outer * side * found.weights_of([best], n)[0]
    elif take.reduction in ("first", "final"):
        k = 0 if take.reduction == "first" else n - 1
        weights[k], value = 1.0, float(x[k])
        if take.reduction == "final" and motion.info.reason.code == "event":
            end = _rate_at_end(take.of, motion)
    else:
        integral, span = np.convolve(np.diff(t), (0.5, 0.5)), t[-1] - t[0]  # by the trapezoidal rule
        if take.reduction == "rms":
            value = math.sqrt(float(integral @ (x * x)) / span)
            weights, end = integral * x, 0.5 * (float(x[-1]) ** 2 - value * value)
            span *= value or math.nan
        else:
            value = float(integral @ x) / (span if take.reduction == "mean" else 1.0)
            weights, end = integral, float(x[-1]) - (value if take.reduction == "mean" else 0.0)
        if take.reduction != "integral":
            weights, end = weights / span, end / span
    return Weighed(value, weights[None], np.array([end]))


def rows_of(take: Take, motion: Trajectory) -> Rows:
    """Return the rows of a quantity, of a vector its length, or of a formula of quantities."""
    try:
        return Rows(motion.t, motion.values_of(take.of), motion.events.t)
    except UsageError as error:
        raise UsageError(f"'{take.text}': {error.message}", error.code) from None


def times_of(event: int, motion: Trajectory, parameters: Sequence[str]) -> Array:
    """Find how the time of an event varies."""
    if not parameters:
        return np.zeros(0)
    gradients = motion.gradients
    assert gradients is not None
    return gradients.times_of(event)[[gradients.names.index(p) for p in parameters]]


def _rate_at_end(text: str, motion: Trajectory) -> float:
    """Return the rate of a quantity or formula at the end, by those of what it names."""
    formula = motion.formula(text)
    used = [x for x in ordered([formula]) if x.op == "symbol"]
    values, direction = dict[Expr, float](), dict[Expr, Expr]()
    for x in used:
        name = str(x.value)
        rates = ["t"] if name == "t" else motion.rates_of(name) or _rate_of_velocity(name, motion)
        if not rates:
            raise UsageError(f"the end of the run varies, and the rate of '{name}' there is not known", "not-varied")
        direction[x] = symbol(f"d {name}")
        values[x], values[direction[x]] = motion[name][-1], 1.0 if name == "t" else motion[rates[0]][-1]
    return float(evaluate(directional([formula], direction), values)[0])


def _rate_of_velocity(name: str, motion: Trajectory) -> list[str]:
    """Return the acceleration of a velocity."""
    names = motion.tables["v"].columns.names
    return [motion.tables["a"].columns.names[names.index(name)]] if name in names else []


def parts_of(take: Take, sign: float, motion: Trajectory, parameters: Sequence[str]) -> tuple[Slope, ...]:
    """Read a number taken, times a sign, as the sum of the largest of each of these groups of values.

    So a largest value is one of smooth values, where it alone would have corners. Where a sum of largest values is not
    to be had, as of a least value, the number is its own group of one.
    """
    own = PEAKS.get(take.reduction, ())
    if count_parts(take, sign) > 1:
        rows = rows_of(take, motion)
        n, groups = len(rows.t), [find_peaks(rows, side) for side in own]
        chosen = [_thin(found.values) for found in groups]
        weights = [side * found.weights_of(k, n) for side, found, k in zip(own, groups, chosen, strict=True)]
        values = np.concatenate([found.values[k] for found, k in zip(groups, chosen, strict=True)])
        both = differentiate(take, motion, parameters, Weighed(values, np.vstack(weights), np.zeros(len(values))))
        return tuple(map(Slope, np.split(values, len(own)), np.split(both.slopes, len(own))))
    found = slope_of(take, motion, parameters)
    return (Slope(np.array([sign * found.value]), sign * found.slopes[None]),)


def count_parts(take: Take, sign: float) -> int:
    """Count these values."""
    own = PEAKS.get(take.reduction, ())
    return WINDOWS * len(own) if own and (sign > 0.0) == (own[0] > 0.0) else 1


def _thin(values: Array) -> list[int]:
    """Choose the largest values in WINDOWS spans of rows; where these are few, one may stand in several."""
    n, first = len(values), np.arange(WINDOWS) * len(values) // WINDOWS
    ends = np.maximum(np.append(first[1:], n), first + 1)
    return [i + int(np.argmax(values[i:j])) for i, j in zip(first.tolist(), ends.tolist(), strict=True)]


class Peaks(NamedTuple):
    """The largest values in the half steps around every row, as sums of rows around it with weights."""

    values: Array
    around: NDArray[np.intp]
    weights: Array

    def weights_of(self, which: Sequence[int], n: int) -> Array:
        """Return those of all n rows in some of the values."""
        found = np.zeros((len(which), n))
        np.add.at(found, (np.arange(len(which))[:, None], self.around[which]), self.weights[which])
        return found


def find_peaks(rows: Rows, sign: float) -> Peaks:
    """Find the largest values, or with the sign -1 the least with this sign, in the half steps around every row.

    Beside a peak they are those of the polynomial of fourth degree through five rows, elsewhere those of the rows.
    """
    t, x = rows.t, sign * rows.values
    n, steps = len(t), np.arange(-BESIDE, BESIDE + 1)
    values, around, weights = x.copy(), np.tile(np.arange(n)[:, None], len(steps)), np.zeros((n, len(steps)))
    weights[:, 0] = 1.0
    k = np.arange(BESIDE, n - BESIDE)
    is_peak = np.zeros(n, dtype=bool)
    is_peak[1:-1] = (x[1:-1] >= x[:-2]) & (x[1:-1] >= x[2:])
    jumps = [np.searchsorted(rows.jumps, t[k + side * BESIDE], side="right") for side in (-1, 1)]
    k = k[(is_peak[k - 1] | is_peak[k] | is_peak[k + 1]) & (jumps[0] == jumps[1])]
    around[k] = k[:, None] + steps
    scale = t[k + 1] - t[k - 1]
    s = (t[around[k]] - t[k, None]) / scale[:, None]
    powers = np.arange(s.shape[1])
    vandermonde = s[..., None] ** powers
    c = np.linalg.solve(vandermonde, x[around[k]][..., None])[..., 0]
    low, high = 0.5 * s[:, BESIDE - 1], 0.5 * s[:, BESIDE + 1]
    best = _top(c, low, high)
    weights[k] = np.linalg.solve(vandermonde.transpose(0, 2, 1), (best[:, None] ** powers)[..., None])[..., 0]
    values[k] = np.einsum("ij,ij->i", weights[k], x[around[k]])
    return Peaks(values, around, weights)


def _top(c: Array, low: Array, high: Array) -> Array:
    """Find where polynomials, coefficients in rows, are largest between these bounds."""
    found = np.linspace(low, high, 2 * BESIDE + 1)
    powers = np.arange(c.shape[1])

    def at(s: Array, derivative: int) -> Array:
        factors = np.ones(len(powers))
        for i in range(derivative):
            factors = factors * (powers - i)
        terms = s[..., None] ** np.maximum(powers - derivative, 0) * factors * c
        return np.asarray(terms.sum(axis=-1), dtype=float)

    best: Array = found[np.argmax(at(found, 0), axis=0), np.arange(len(c))]
    for _ in range(MAX_ITERATIONS):
        bend = at(best, 2)
        moved: Array = np.clip(best - at(best, 1) / np.where(bend < 0.0, bend, -math.inf), low, high)
        if np.all(np.abs(moved - best) <= EPSILON):
            break
        best = moved
    return best


@dataclass(frozen=True, repr=False, eq=False)
class Slopes(Printed):
    """Numbers taken of a motion, how each depends on parameters, and what their tolerances make of it."""

    model: str
    takes: tuple[Take, ...]
    units: tuple[str, ...]
    values: Mapping[str, float]  # of the parameters
    found: tuple[Slope, ...]
    tolerances: Mapping[str, float]

    def as_dict(self) -> dict[str, Any]:
        return {"model": self.model, "of": {take.text: self._told(k) for k, take in enumerate(self.takes)}}

    def _told(self, k: int) -> dict[str, Any]:
        """Return the value of a number, its derivatives, elasticities p/F dF/dp and what each tolerance adds.

        Together they add at most sum |dF/dp| tol, and sqrt(sum (dF/dp tol)^2) if they are independent.
        """
        value, slopes = self.found[k]
        to: dict[str, Any] = {}
        for (name, x), slope in zip(self.values.items(), slopes.tolist(), strict=True):
            to[name] = {"value": x, "derivative": slope, "elasticity": slope * x / value if value else None}
            if name in self.tolerances:
                tolerance = self.tolerances[name]
                to[name] |= {"tolerance": tolerance, "adds": abs(slope) * tolerance}
        told = {"value": value, "unit": self.units[k], "to": to}
        if self.tolerances:
            added = np.array([own["adds"] for own in to.values() if "adds" in own])
            told |= {"worst": float(added.sum()), "rms": float(np.sqrt(added @ added))}
        return told

    def __str__(self) -> str:
        from linkwork.view.report import within_terminal
        from linkwork.view.studies import slope_lines

        return within_terminal(slope_lines(self.as_dict()))


@checked_call()
def slopes(
    model: Model | Mechanism,
    of: str | Sequence[str],
    to: Sequence[str] = (),
    tolerances: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    **options: Any,
) -> Slopes:
    """Find how numbers taken of a motion depend on parameters: exact derivatives, elasticities, tolerances added up.

        slopes(model, "max(abs(driving:motor))", ["l1", "l2"], {"l1": 0.1e-3}, driven=True)

    - `of`: what is taken of the motion, as in `sweep`.
    - `to`: parameters, or numbers by their places ("crank.mass"); by default those that the model names.
    - `tolerances`: how far parameters may be off, in SI. `options` are those of `sensitivities`.
    """
    mechanism = prepare(model, options.pop("coordinates", None)).changed(parameters or {})
    known, tolerances = mechanism.model.parameters, dict(tolerances or {})
    for name, tolerance in tolerances.items():
        check_number(f"tolerances[{name!r}]", tolerance)
        if not 0.0 <= tolerance < math.inf:
            raise UsageError(f"{tolerance!r} is not a tolerance of '{name}'", "bad-value")
    names = [*dict.fromkeys([*(to or [x for x in known if x not in mechanism.model.folded]), *tolerances])]
    if not names:
        raise UsageError("the model names no parameters; name numbers in it by their places: crank.mass", "no-effect")
    takes = tuple(map(read_take, [of] if isinstance(of, str) else of))
    if not takes:
        raise UsageError("nothing is taken; say for example 'max(abs(driving:motor))'", "no-effect")
    options.setdefault("backward", pays_backward(mechanism, len(names), len(takes)))
    motion = sensitivities(mechanism, names, **options)
    events = tuple(event.name for event in mechanism.model.events)
    units = tuple(take.check(motion, events) for take in takes)
    values = {name_of(p): mechanism.equations.parameters[p] for p in choose_parameters(mechanism, names)}
    found = tuple(slope_of(take, motion, names) for take in takes)
    return Slopes(mechanism.model.name, takes, units, values, found, tolerances)
