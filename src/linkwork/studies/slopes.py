"""Numbers taken of a motion with their derivatives by parameters.

Between the edges, at which events and switches let values jump, these are smooth. So an integral is one of pieces whose
ends vary; an extreme is one within a piece, at t* found on polynomials through the report rows, or at the end of one:

    d int x dt = int x_p dt + x_b tau_b - x_a tau_a        d x(t*) = x_p, since x_t = 0        d x(tau) = x_p + x_t tau
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
from linkwork.linalg.newton import MAX_ITERATIONS
from linkwork.model import Model
from linkwork.records import Printed
from linkwork.simulation.varied import choose_parameters, name_of
from linkwork.studies.sensitivities import pays_backward, sensitivities
from linkwork.studies.taking import Take, read_take
from linkwork.tolerances import EPSILON, TYPED
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]
BESIDE = 2  # rows on either side of a largest value, through which a polynomial goes
PEAKS = {"max": (1.0,), "min": (-1.0,), "range": (1.0, -1.0)}  # signs of the extremes that each has
WINDOWS = 100  # spans of time, in each of which one largest value counts: what a step of a search solves for


class Rows(NamedTuple):
    """Values at the report times and on both sides of edges; numbers of the pieces; rates in time at the edges."""

    t: Array
    values: Array
    pieces: NDArray[np.intp]
    rates: Array
    edges: NDArray[np.intp]  # of each row the edge beside it, the last of all the end of the run; -1 for none


class Weighed(NamedTuple):
    """Numbers taken of a quantity as sums of its rows, near these, with weights and those of the times of edges."""

    value: Any
    weights: Array  # a row for each number
    times: Array


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
    gradients = motion.gradients
    if not parameters or gradients is None:
        return Slope(found.value, np.zeros((len(found.weights), 0)))
    slopes = gradients.pull(gradients.formula(take.of, motion), take.of, found.weights)
    for k in np.flatnonzero((found.times != 0.0).any(axis=0)).tolist():
        is_end = k == found.times.shape[1] - 1
        if is_end and motion.info.reason.code != "event":
            continue
        if not np.isfinite(found.times[:, k]).all():
            message = "the time of an extreme or of the end varies, and the rate there is not known"
            raise UsageError(f"'{take.text}': {message}", "not-varied")
        tau = gradients.times_of(len(motion.events.names) - 1) if is_end else gradients.edge_time(k)
        slopes = slopes + np.outer(found.times[:, k], tau)
    return Slope(found.value, slopes[:, [gradients.names.index(p) for p in parameters]])


def weigh(take: Take, motion: Trajectory) -> Weighed:
    """Return the number as a sum of rows, at the values that they have."""
    rows = rows_of(take, motion)
    t, x, n = rows.t, rows.values, len(rows.t)
    weights, times, value = np.zeros(n), np.zeros(rows.edges.max() + 1), 0.0
    if take.reduction in PEAKS:
        outer = PEAKS[take.reduction][0]
        for side in PEAKS[take.reduction]:
            found = find_peaks(rows, side)
            best = int(np.argmax(found.values))
            own = found.weigh([best], rows)
            value += outer * float(found.values[best])
            weights, times = weights + outer * side * own.weights[0], times + outer * side * own.times[0]
    elif take.reduction in ("first", "final"):
        k = 0 if take.reduction == "first" else n - 1
        weights[k], value = 1.0, float(x[k])
        times[-1] = rows.rates[k] if take.reduction == "final" else 0.0
    else:
        y = x * x if take.reduction == "rms" else x
        steps = np.where(rows.pieces[1:] == rows.pieces[:-1], np.diff(t), 0.0)
        weights, span = np.convolve(steps, (0.5, 0.5)), t[-1] - t[0]  # by the trapezoidal rule
        jumps = np.flatnonzero(np.diff(rows.pieces))
        times[rows.edges[jumps]] = y[jumps] - y[jumps + 1]
        times[-1] = y[-1]
        value = float(weights @ y)
        if take.reduction != "integral":
            value, weights, times = value / span, weights / span, times / span
            times[-1] -= value / span
        if take.reduction == "rms":
            value = math.sqrt(value)
            weights, times = weights * x / (value or math.nan), 0.5 * times / (value or math.nan)
    return Weighed(value, weights[None], times[None])


def rows_of(take: Take, motion: Trajectory) -> Rows:
    """Return the rows of a quantity, of a vector its length, or of a formula of quantities."""
    gradients, events = motion.gradients, motion.events.t
    try:
        if gradients is None:
            pieces, t = np.searchsorted(events, motion.t), motion.t
            unknown, edges = np.full(len(t), np.nan), np.full(len(t), -1)
            edges[-1] = 0
            return Rows(t, motion.values_of(take.of), pieces, unknown, edges)
        quantity, table = gradients.formula(take.of, motion), gradients.rows
    except UsageError as error:
        raise UsageError(f"'{take.text}': {error.message}", error.code) from None
    k = np.flatnonzero(~table.is_reported)
    edges = np.full(len(table.t), -1)
    edges[k] = np.arange(len(k)) // 2
    edges[-1] = len(k) // 2
    rates = gradients.rates_in_time(quantity, take.of)
    return Rows(table.t, gradients.values(quantity), table.pieces, rates, edges)


def times_of(event: int, motion: Trajectory, parameters: Sequence[str]) -> Array:
    """Find how the time of an event varies."""
    if not parameters:
        return np.zeros(0)
    gradients = motion.gradients
    assert gradients is not None
    return gradients.times_of(event)[[gradients.names.index(p) for p in parameters]]


def parts_of(take: Take, sign: float, motion: Trajectory, parameters: Sequence[str]) -> tuple[Slope, ...]:
    """Read a number taken, times a sign, as the sum of the largest of each of these groups of values.

    So a largest value is one of smooth values, where it alone would have corners. Where a sum of largest values is not
    to be had, as of a least value, the number is its own group of one.
    """
    own = PEAKS.get(take.reduction, ())
    if count_parts(take, sign) > 1:
        rows = rows_of(take, motion)
        groups = [find_peaks(rows, side) for side in own]
        chosen = [_thin(found.values) for found in groups]
        parts = [found.weigh(k, rows) for found, k in zip(groups, chosen, strict=True)]
        values = np.concatenate([part.value for part in parts])
        weights, times = (
            np.vstack([side * part[level] for side, part in zip(own, parts, strict=True)]) for level in (1, 2)
        )
        both = differentiate(take, motion, parameters, Weighed(values, weights, times))
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
    is_row: NDArray[np.bool_]  # whether it is the value of the row

    def weigh(self, which: Sequence[int], rows: Rows) -> Weighed:
        """Return some of the values as sums of all rows, and of the times of edges at which they are."""
        k = np.asarray(which)
        weights, times = np.zeros((len(k), len(rows.t))), np.zeros((len(k), rows.edges.max() + 1))
        np.add.at(weights, (np.arange(len(k))[:, None], self.around[k]), self.weights[k])
        own = np.flatnonzero(self.is_row[k] & (rows.edges[k] >= 0))
        times[own, rows.edges[k[own]]] = rows.rates[k[own]]
        return Weighed(self.values[k], weights, times)


def find_peaks(rows: Rows, sign: float) -> Peaks:
    """Find the largest values, or with the sign -1 the least with this sign, in the half steps around every row.

    Beside a peak they are those of the polynomial of fourth degree through five rows of its piece, elsewhere those of
    the rows.
    """
    t, x, pieces = rows.t, sign * rows.values, rows.pieces
    n, steps = len(t), np.arange(2 * BESIDE + 1)
    values, around, weights = x.copy(), np.tile(np.arange(n)[:, None], len(steps)), np.zeros((n, len(steps)))
    weights[:, 0] = 1.0
    first, last = (np.searchsorted(pieces, pieces, side=side) for side in ("left", "right"))
    k = np.arange(n)
    before, after = np.maximum(k - 1, first), np.minimum(k + 1, last - 1)
    is_peak = (x >= x[before]) & (x >= x[after])
    k = k[(is_peak[before] | is_peak | is_peak[after]) & (last - first >= len(steps))]
    window = np.clip(k - BESIDE, first[k], last[k] - len(steps))[:, None] + steps
    apart = np.diff(t[window], axis=1).min(axis=1) > TYPED * (t[window[:, -1]] - t[window[:, 0]])
    k, window = k[apart], window[apart]
    around[k] = window
    scale = (t[window[:, -1]] - t[window[:, 0]]) / (2 * BESIDE)
    s = (t[window] - t[k, None]) / scale[:, None]
    powers = np.arange(s.shape[1])
    vandermonde = s[..., None] ** powers
    c = np.linalg.solve(vandermonde, x[window][..., None])[..., 0]
    low, high = (0.5 * (t[beside[k]] - t[k]) / scale for beside in (before, after))
    best = _top(c, low, high)
    weights[k] = np.linalg.solve(vandermonde.transpose(0, 2, 1), (best[:, None] ** powers)[..., None])[..., 0]
    values[k] = np.einsum("ij,ij->i", weights[k], x[window])
    is_row = np.ones(n, dtype=bool)
    is_row[k] = best == 0.0
    return Peaks(values, around, weights, is_row)


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
