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
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic, ordered
from linkwork.expressions.graph import Expr, symbol
from linkwork.linalg.newton import MAX_ITERATIONS
from linkwork.model import Model
from linkwork.records import Printed
from linkwork.simulation.varied import choose_parameters, name_of
from linkwork.studies.sensitivities import sensitivities
from linkwork.studies.taking import Take, read_take
from linkwork.tolerances import EPSILON
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]
BESIDE = 2  # rows on either side of a largest value, through which a polynomial goes
PEAKS = {"max": (1.0,), "min": (-1.0,), "range": (1.0, -1.0)}  # signs of the extremes that each has
WINDOWS = 100  # spans of time, in each of which one largest value counts: what a step of a search solves for


class Rows(NamedTuple):
    """Values at the report times with their derivatives, a column for each parameter."""

    t: Array
    values: Array
    slopes: Array
    jumps: Array  # times at which they may jump


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
        slopes = [_time_of(times[0], motion, p) if times else np.nan for p in parameters]
        return Slope(take.of_motion(motion), np.array(slopes))
    rows = _read_rows(take, motion, parameters)
    t, x, dx = rows.t, rows.values, rows.slopes
    if take.reduction == "first":
        return Slope(float(x[0]), dx[0])
    tau = end_of(motion, parameters)
    if take.reduction == "final":
        return Slope(float(x[-1]), dx[-1] + (_rate_at_end(take.of, motion) * tau if tau.any() else 0.0))
    if take.reduction in PEAKS:
        own = [extreme(rows, sign) for sign in PEAKS[take.reduction]]
        if len(own) == 1:
            return own[0]
        high, low = own
        return Slope(high.value - low.value, high.slopes - low.slopes)
    span = t[-1] - t[0]
    if take.reduction == "rms":
        mean = _mean(t, x * x, 2.0 * x[:, None] * dx, tau, span)
        root = np.sqrt(mean.value)
        return Slope(float(root), mean.slopes / (2.0 * root) if root > 0.0 else np.full(len(parameters), np.nan))
    mean = _mean(t, x, dx, tau, span)
    if take.reduction == "mean":
        return mean
    return Slope(span * mean.value, span * mean.slopes + tau * mean.value)


def _read_rows(take: Take, motion: Trajectory, parameters: Sequence[str]) -> Rows:
    try:
        return rows_of(take.of, motion, parameters)
    except UsageError as error:
        raise UsageError(f"'{take.text}': {error.message}", error.code) from None


def _mean(t: Array, x: Array, dx: Array, tau: Array, span: float) -> Slope:
    """Average over time, the end of which varies by tau."""
    value = float(np.trapezoid(x, t) / span)
    return Slope(value, np.trapezoid(dx, t, axis=0) / span + (x[-1] - value) * tau / span)


def rows_of(text: str, motion: Trajectory, parameters: Sequence[str]) -> Rows:
    """Return the rows of a quantity, of a vector its length, or of a formula of quantities."""
    t, table, formula = motion.t, numpy_arithmetic(), motion.formula(text)
    values = {x: motion[str(x.value)] for x in ordered([formula]) if x.op == "symbol"}
    rates = {x: symbol(f"d {x.value}") for x in values}
    derivative = directional([formula], rates)
    columns = []
    for p in parameters:
        given = {rates[x]: motion.gradient(str(x.value), p) for x in values}
        columns.append(_filled(evaluate(derivative, {**values, **given}, table)[0], t))
    return Rows(t, _filled(evaluate([formula], values, table)[0], t), _columns(columns, t), motion.events.t)


def _columns(columns: Sequence[Array], t: Array) -> Array:
    return np.array(columns).reshape(len(columns), len(t)).T


def _filled(x: object, t: Array) -> Array:
    return np.broadcast_to(np.asarray(x, dtype=float), t.shape)


def end_of(motion: Trajectory, parameters: Sequence[str]) -> Array:
    """Find how the end of the run varies: not at all, unless an event ends it."""
    if motion.info.reason.code != "event":
        return np.zeros(len(parameters))
    return np.array([_time_of(len(motion.events.names) - 1, motion, p) for p in parameters])


def _time_of(event: int, motion: Trajectory, parameter: str) -> float:
    assert motion.gradients is not None
    return motion.gradients.time_of(event, parameter)


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
    if own and (sign > 0.0) == (own[0] > 0.0):
        rows = _read_rows(take, motion, parameters)
        return tuple(_thin(peaks(rows, side)) for side in own)
    found = slope_of(take, motion, parameters)
    return (Slope(np.array([sign * found.value]), sign * found.slopes[None]),)


def _thin(found: Slope) -> Slope:
    """Choose the largest values in WINDOWS spans of rows; where these are few, one may stand in several."""
    n, first = len(found.value), np.arange(WINDOWS) * len(found.value) // WINDOWS
    ends = np.maximum(np.append(first[1:], n), first + 1)
    best = [i + int(np.argmax(found.value[i:j])) for i, j in zip(first, ends, strict=True)]
    return Slope(found.value[best], found.slopes[best])


def peaks(rows: Rows, sign: float) -> Slope:
    """Find the largest values, or with the sign -1 the least with this sign, in the half steps around every row.

    Beside a peak they are those of the polynomial of fourth degree through five rows, elsewhere those of the rows.
    """
    t, x, dx = rows.t, sign * rows.values, sign * rows.slopes
    values, slopes, n = x.copy(), dx.copy(), len(t)
    k = np.arange(BESIDE, n - BESIDE)
    is_peak = np.zeros(n, dtype=bool)
    is_peak[1:-1] = (x[1:-1] >= x[:-2]) & (x[1:-1] >= x[2:])
    jumps = [np.searchsorted(rows.jumps, t[k + side * BESIDE], side="right") for side in (-1, 1)]
    k = k[(is_peak[k - 1] | is_peak[k] | is_peak[k + 1]) & (jumps[0] == jumps[1])]
    around = k[:, None] + np.arange(-BESIDE, BESIDE + 1)
    scale = t[k + 1] - t[k - 1]
    s = (t[around] - t[k, None]) / scale[:, None]
    powers = np.arange(s.shape[1])
    vandermonde = s[..., None] ** powers
    c = np.linalg.solve(vandermonde, x[around][..., None])[..., 0]
    low, high = 0.5 * s[:, BESIDE - 1], 0.5 * s[:, BESIDE + 1]
    best = _top(c, low, high)
    weights = np.linalg.solve(vandermonde.transpose(0, 2, 1), (best[:, None] ** powers)[..., None])[..., 0]
    values[k] = np.einsum("ij,ij->i", weights, x[around])
    slopes[k] = np.einsum("ij,ijk->ik", weights, dx[around])
    return Slope(values, slopes)


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


def extreme(rows: Rows, sign: float) -> Slope:
    """The largest value, or with the sign -1 the least."""
    found = peaks(rows, sign)
    k = int(np.argmax(found.value))
    return Slope(sign * float(found.value[k]), sign * found.slopes[k])


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
    motion = sensitivities(mechanism, names, **options)
    events = tuple(event.name for event in mechanism.model.events)
    units = tuple(take.check(motion, events) for take in takes)
    values = {name_of(p): mechanism.equations.parameters[p] for p in choose_parameters(mechanism, names)}
    found = tuple(slope_of(take, motion, names) for take in takes)
    return Slopes(mechanism.model.name, takes, units, values, found, tolerances)
