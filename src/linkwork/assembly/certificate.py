"""A proof by computation that there is exactly one solution near a numerical one.

With a square system R(q) = 0, its Jacobian J over a box q + [-rho, rho] and any matrix Y, the inequality

    |Y R(q)| + |1 - Y J(box)| rho < rho        in every component

says that the box holds exactly one zero of R [krawczyk1969]. R(q) and J(box) are evaluated over intervals from the
expressions and the parameters of the model, which count as exact.

Rounding: sums, products, quotients and square roots are widened to the neighbouring doubles on both sides. Values of
sin, cos and the other functions of the C library are widened by four units in the last place: more than the errors of
common libraries, which no standard bounds, so this is the one assumption. Matrix products are made with doubles and
bounded by (n + 3) eps |Y| |J|.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.expressions.evaluation import RING, Arithmetic, evaluate
from linkwork.expressions.graph import FUNCTIONS, Expr
from linkwork.tolerances import EPSILON

Array = NDArray[np.float64]

RADII = (1e-9, 1e-7, 1e-11)  # of the unit of each coordinate, tried in turn
WIDER = 1.0 + 1e-10  # covers the rounding of the few sums of numbers that are not negative
MONOTONE = ("exp", "atan", "tanh", "asin", "acos", "log")


class NoEnclosureError(Exception):
    """An operation without a bounded value over this box."""


@dataclass(frozen=True)
class Interval:
    """All numbers from lo to hi."""

    lo: float
    hi: float

    def __add__(self, other: Interval) -> Interval:
        return outward(self.lo + other.lo, self.hi + other.hi)

    def __sub__(self, other: Interval) -> Interval:
        return outward(self.lo - other.hi, self.hi - other.lo)

    def __neg__(self) -> Interval:
        return Interval(-self.hi, -self.lo)

    def __mul__(self, other: Interval) -> Interval:
        if self.lo == self.hi == 0.0 or other.lo == other.hi == 0.0:
            return Interval(0.0, 0.0)
        corners = [a * b for a, b in product((self.lo, self.hi), (other.lo, other.hi))]
        return outward(min(corners), max(corners))

    def __truediv__(self, other: Interval) -> Interval:
        if other.lo <= 0.0 <= other.hi:
            raise NoEnclosureError("division by an interval around zero")
        corners = [a / b for a, b in product((self.lo, self.hi), (other.lo, other.hi))]
        return outward(min(corners), max(corners))


def outward(lo: float, hi: float, ulps: int = 1) -> Interval:
    if not (math.isfinite(lo) and math.isfinite(hi)):
        raise NoEnclosureError("overflow")
    if ulps == 1:
        return Interval(math.nextafter(lo, -math.inf), math.nextafter(hi, math.inf))
    return Interval(lo - ulps * math.ulp(lo), hi + ulps * math.ulp(hi))


def _wave(f: Callable[[float], float]) -> Callable[[Interval], Interval]:
    """sin or cos: the value in the middle, plus or minus how far the ends are from there; no slope is beyond one."""

    def over(x: Interval) -> Interval:
        middle = 0.5 * (x.lo + x.hi)
        reach = math.nextafter(max(x.hi - middle, middle - x.lo), math.inf) if x.lo < x.hi else 0.0
        value = outward(f(middle), f(middle), ulps=4)
        return Interval(
            max(math.nextafter(value.lo - reach, -2.0), -1.0), min(math.nextafter(value.hi + reach, 2.0), 1.0)
        )

    return over


def _monotone(f: Callable[[float], float]) -> Callable[[Interval], Interval]:
    def over(x: Interval) -> Interval:
        try:
            lo, hi = sorted((f(x.lo), f(x.hi)))
        except ValueError as error:
            raise NoEnclosureError(str(error)) from None
        return outward(lo, hi, ulps=4)

    return over


def _root(x: Interval) -> Interval:
    if x.lo < 0.0:
        raise NoEnclosureError("root of a negative number")
    return outward(math.sqrt(x.lo), math.sqrt(x.hi))


def _angle(y: Interval, x: Interval) -> Interval:
    """atan2(y, x) off the negative x axis."""
    if x.lo > 0.0:
        return _monotone(math.atan)(y / x)
    if y.lo > 0.0 or y.hi < 0.0:
        quarter = math.copysign(math.pi / 2, y.lo)
        return outward(quarter, quarter) - _monotone(math.atan)(x / y)
    raise NoEnclosureError("an angle around half a turn, where it jumps")


def _less(a: Interval, b: Interval) -> Interval:
    if a.hi < b.lo:
        return Interval(1.0, 1.0)
    if a.lo >= b.hi:
        return Interval(0.0, 0.0)
    raise NoEnclosureError("a comparison that is not decided")


def _select(condition: Interval, a: Interval, b: Interval) -> Interval:
    return b if condition.lo == condition.hi == 0.0 else a


def _refuse(*_: Any) -> Interval:
    raise NoEnclosureError("an operation without an interval version")


def arithmetic() -> Arithmetic:
    table: dict[str, Callable[..., Any]] = dict.fromkeys((*FUNCTIONS, "pow", "le", "spline"), _refuse)
    table |= {name: _monotone(getattr(math, name)) for name in MONOTONE}
    return table | {
        **RING,
        "sin": _wave(math.sin),
        "cos": _wave(math.cos),
        "sqrt": _root,
        "atan2": _angle,
        "min": lambda a, b: Interval(min(a.lo, b.lo), min(a.hi, b.hi)),
        "max": lambda a, b: Interval(max(a.lo, b.lo), max(a.hi, b.hi)),
        "lt": _less,
        "select": _select,
    }


def is_certified(
    R: Sequence[Expr],
    J: Mapping[tuple[int, int], Expr],
    q: Sequence[Expr],
    values: Mapping[Expr, float],
    at: Array,
    units: Array,
) -> bool:
    """Whether a box around `at` is proved to hold exactly one zero of R; `units` are the scales of the coordinates."""
    n = len(q)
    if len(R) != n:
        return False
    known = {s: Interval(x, x) for s, x in values.items()}
    table = arithmetic()
    for radius in RADII:
        rho = radius * units
        points = {s: Interval(float(x), float(x)) for s, x in zip(q, at, strict=True)}
        boxes = {s: outward(float(x - r), float(x + r)) for s, x, r in zip(q, at, rho, strict=True)}
        try:
            value = evaluate(R, {**known, **points}, table, _point)
            entries = evaluate(J.values(), {**known, **boxes}, table, _point)
        except NoEnclosureError:
            continue
        lo, hi = np.zeros((2, n, n))
        for (i, j), entry in zip(J, entries, strict=True):
            lo[i, j], hi[i, j] = entry.lo, entry.hi
        J_middle, J_radius = _middle_and_radius(lo, hi)
        R_middle, R_radius = _middle_and_radius(np.array([x.lo for x in value]), np.array([x.hi for x in value]))
        try:
            Y = np.linalg.inv(J_middle)
        except np.linalg.LinAlgError:
            return False
        rounding = (n + 3) * EPSILON
        size = np.abs(Y)
        shift = np.abs(Y @ R_middle) + size @ (R_radius + rounding * np.abs(R_middle))
        contraction = np.abs(np.eye(n) - Y @ J_middle) + size @ (J_radius + rounding * np.abs(J_middle))
        if np.all((shift + contraction @ rho) * WIDER < rho):
            return True
    return False


def _point(x: float) -> Interval:
    return Interval(x, x)


def _middle_and_radius(lo: Array, hi: Array) -> tuple[Array, Array]:
    middle = 0.5 * (lo + hi)
    return middle, np.nextafter(np.maximum(hi - middle, middle - lo), np.inf)
