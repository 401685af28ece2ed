"""Bounds of an expression and of its slope, where the symbols lie within bounds: interval arithmetic in forward mode.

An enclosure is four numbers, low <= x <= high and the same of the slope dx/dtheta, of a quantity that moves with a
parameter theta [moore2009, sections 2.3 and 6.4; rall1981]. Every operation writes the bounds of its result into `out`,
rounded outward. Ends may be infinite; where an operation jumps the slope is unbounded, where it bends the slope lies
between those of its sides. Where it has no value at all, as the root of what is negative, both bounds are NaN; of
arguments that have a value only in part, that part is enclosed.

The functions are written for machine code (native/enclosing.py); `arithmetic` gives them to `evaluate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.expressions.graph import Table
from linkwork.tolerances import EPSILON

Enclosure: TypeAlias = NDArray[np.float64]  # (low, high, slope low, slope high)

INF = math.inf
ROUNDED = 8 * EPSILON  # of a result: elementary functions are off by less, also two after each other
LESS, MORE = 1.0 - ROUNDED, 1.0 + ROUNDED  # outward
LARGEST_EXPONENT = math.log(1.7976931348623157e308)  # of e, to a number that can be written
MOST_TURNS = 2.0**40  # an angle beyond has lost the digits that say where on the circle it is


def put(out: Enclosure, low: float, high: float, slope_low: float, slope_high: float) -> None:
    """Store the bounds, rounded outward; what is undetermined (infinity less infinity) is unbounded."""
    out[0] = low * (LESS if low > 0.0 else MORE) if low == low else -INF
    out[1] = high * (MORE if high > 0.0 else LESS) if high == high else INF
    if slope_low == 0.0 and slope_high == 0.0:
        out[2] = out[3] = 0.0
        return
    out[2] = slope_low * (LESS if slope_low > 0.0 else MORE) if slope_low == slope_low else -INF
    out[3] = slope_high * (MORE if slope_high > 0.0 else LESS) if slope_high == slope_high else INF


def put_nothing(out: Enclosure) -> None:
    """Store that there is no value."""
    out[0] = out[1] = math.nan
    out[2], out[3] = -INF, INF


def times(x: float, y: float) -> float:
    """Multiply x y, where zero times what is unbounded is zero."""
    return 0.0 if x == 0.0 or y == 0.0 else x * y


def product(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """Return [a, b] [c, d]"""
    ac, ad, bc, bd = a * c, a * d, b * c, b * d
    total = ac + ad + bc + bd
    if total != total:
        ac, ad, bc, bd = times(a, c), times(a, d), times(b, c), times(b, d)
    return min(ac, ad, bc, bd), max(ac, ad, bc, bd)


def reciprocal(a: float, b: float) -> tuple[float, float]:
    """Return 1/[a, b]"""
    if a > 0.0 or b < 0.0:
        return 1.0 / b, 1.0 / a
    if a == 0.0 and b > 0.0:
        return 1.0 / b, INF
    if b == 0.0 and a < 0.0:
        return -INF, 1.0 / a
    return -INF, INF


def exponential(x: float) -> float:
    return INF if x > LARGEST_EXPONENT else math.exp(x)


def logarithm(x: float) -> float:
    return math.log(x) if x > 0.0 else -INF


def raised(x: float, n: float) -> float:
    """Return x^n for x >= 0 and n > 0, infinite beyond the range of numbers."""
    if x == 0.0:
        return 0.0
    if n * (x - 1.0) > LARGEST_EXPONENT and n * logarithm(x) > LARGEST_EXPONENT:  # log x <= x - 1
        return INF
    return math.pow(x, n)


def is_whole(n: float) -> bool:
    return abs(n) < 2.0**53 and n == int(n)


def power_range(a: float, b: float, n: float) -> tuple[float, float]:
    """Return [a, b]^n where it has values; of other than whole n that is from zero on."""
    if n == 0.0:
        return 1.0, 1.0
    if n == 1.0 or n == 2.0:
        return (a, b) if n == 1.0 else power_range_of_two(a, b)
    size = abs(n)
    if not is_whole(n):
        low, high = raised(max(a, 0.0), size), raised(max(b, 0.0), size)
    elif int(size) % 2 == 1:
        low, high = math.copysign(raised(abs(a), size), a), math.copysign(raised(abs(b), size), b)
    else:
        nearest = 0.0 if a <= 0.0 <= b else min(abs(a), abs(b))
        low, high = raised(nearest, size), raised(max(abs(a), abs(b)), size)
    return reciprocal(low, high) if n < 0.0 else (low, high)


def floor(x: float) -> float:
    whole = float(int(x))
    return whole - 1.0 if whole > x else whole


def cosine_range(a: float, b: float, at_a: float, at_b: float, top: float) -> tuple[float, float]:
    """Return the range of a wave of period 2 pi with its tops at `top` and the values at both ends."""
    a, b = (a - top) / math.tau - ROUNDED * (abs(a) + 1.0), (b - top) / math.tau + ROUNDED * (abs(b) + 1.0)
    low, high = min(at_a, at_b), max(at_a, at_b)
    if floor(a) < floor(b):
        high = 1.0
    if floor(a + 0.5) < floor(b + 0.5):
        low = -1.0
    return low, high


def add(a: Enclosure, b: Enclosure, out: Enclosure) -> None:
    put(out, a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3])


def subtract(a: Enclosure, b: Enclosure, out: Enclosure) -> None:
    put(out, a[0] - b[1], a[1] - b[0], a[2] - b[3], a[3] - b[2])


def negate(a: Enclosure, out: Enclosure) -> None:
    out[0], out[1], out[2], out[3] = -a[1], -a[0], -a[3], -a[2]


def rests(a: Enclosure) -> bool:
    """Tell whether the quantity does not move, so that no slope needs to be computed of it."""
    return bool(a[2] == 0.0 and a[3] == 0.0)


def multiply(a: Enclosure, b: Enclosure, out: Enclosure) -> None:
    """Apply (a b)' = a' b + a b'"""
    low, high = product(a[0], a[1], b[0], b[1])
    slope_low = slope_high = 0.0
    if not rests(a):
        slope_low, slope_high = product(a[2], a[3], b[0], b[1])
    if not rests(b):
        more_low, more_high = product(a[0], a[1], b[2], b[3])
        slope_low, slope_high = slope_low + more_low, slope_high + more_high
    put(out, low, high, slope_low, slope_high)


def square(a: Enclosure, out: Enclosure) -> None:
    """Apply (a^2)' = 2 a a'"""
    low, high = power_range_of_two(a[0], a[1])
    chain(out, low, high, 2.0 * a[0], 2.0 * a[1], a)


def power_range_of_two(a: float, b: float) -> tuple[float, float]:
    x, y = a * a, b * b
    return 0.0 if a <= 0.0 <= b else min(x, y), max(x, y)


def divide(a: Enclosure, b: Enclosure, out: Enclosure) -> None:
    """Apply (a/b)' = (a' - (a/b) b')/b"""
    r_low, r_high = reciprocal(b[0], b[1])
    low, high = product(a[0], a[1], r_low, r_high)
    slope_low, slope_high = a[2], a[3]
    if not rests(b):
        part_low, part_high = product(low, high, b[2], b[3])
        slope_low, slope_high = slope_low - part_high, slope_high - part_low
    if not (slope_low == 0.0 and slope_high == 0.0):
        slope_low, slope_high = product(slope_low, slope_high, r_low, r_high)
    put(out, low, high, slope_low, slope_high)


def chain(out: Enclosure, low: float, high: float, d_low: float, d_high: float, a: Enclosure) -> None:
    """Apply f(a)' = f'(a) a', with bounds of f and f'."""
    slope_low = slope_high = 0.0
    if not rests(a):
        slope_low, slope_high = product(d_low, d_high, a[2], a[3])
    put(out, low, high, slope_low, slope_high)


def raise_to(a: Enclosure, b: Enclosure, out: Enclosure) -> None:
    """Apply (a^b)' = b a^(b-1) a', or a^b = exp(b log a) where the exponent varies"""
    if b[0] == b[1]:
        n = b[0]
        if a[1] < 0.0 and not is_whole(n):
            put_nothing(out)
            return
        low, high = power_range(a[0], a[1], n)
        d_low, d_high = power_range(a[0], a[1], n - 1.0)
        d_low, d_high = product(d_low, d_high, n, n)
        chain(out, low, high, d_low, d_high, a)
    elif a[1] < 0.0:
        put_nothing(out)
    else:
        log_low, log_high = logarithm(a[0]), logarithm(a[1])
        x_low, x_high = product(b[0], b[1], log_low, log_high)
        low, high = exponential(x_low), exponential(x_high)
        r_low, r_high = reciprocal(max(a[0], 0.0), a[1])
        part_low, part_high = product(r_low, r_high, a[2], a[3])
        part_low, part_high = product(part_low, part_high, b[0], b[1])
        more_low, more_high = product(log_low, log_high, b[2], b[3])
        slope_low, slope_high = product(low, high, part_low + more_low, part_high + more_high)
        put(out, low, high, slope_low, slope_high)


def enclose_exp(a: Enclosure, out: Enclosure) -> None:
    low, high = exponential(a[0]), exponential(a[1])
    chain(out, low, high, low, high, a)


def enclose_log(a: Enclosure, out: Enclosure) -> None:
    if a[1] < 0.0:
        put_nothing(out)
        return
    d_low, d_high = reciprocal(max(a[0], 0.0), a[1])
    chain(out, logarithm(a[0]), logarithm(a[1]), d_low, d_high, a)


def enclose_sqrt(a: Enclosure, out: Enclosure) -> None:
    if a[1] < 0.0:
        put_nothing(out)
        return
    low, high = math.sqrt(max(a[0], 0.0)), math.sqrt(a[1])
    d_low, d_high = reciprocal(2.0 * low, 2.0 * high)
    chain(out, low, high, d_low, d_high, a)


def ranges_on_circle(a: Enclosure) -> tuple[float, float, float, float]:
    """Return the ranges of sine and cosine."""
    low, high = a[0], a[1]
    if not (high - low < math.tau and max(abs(low), abs(high)) < MOST_TURNS):
        return -1.0, 1.0, -1.0, 1.0
    s_low, s_high = cosine_range(low, high, math.sin(low), math.sin(high), 0.5 * math.pi)
    c_low, c_high = cosine_range(low, high, math.cos(low), math.cos(high), 0.0)
    return s_low, s_high, c_low, c_high


def enclose_sin(a: Enclosure, out: Enclosure) -> None:
    low, high, d_low, d_high = ranges_on_circle(a)
    chain(out, low, high, d_low, d_high, a)


def enclose_cos(a: Enclosure, out: Enclosure) -> None:
    d_low, d_high, low, high = ranges_on_circle(a)
    chain(out, low, high, -d_high, -d_low, a)


def enclose_tan(a: Enclosure, out: Enclosure) -> None:
    """Enclose tan with slope 1 + tan^2; at a pole nothing is bounded."""
    _, _, c_low, c_high = ranges_on_circle(a)
    if c_low <= 0.0 <= c_high:
        put(out, -INF, INF, -INF, INF)
        return
    low, high = math.tan(a[0]), math.tan(a[1])
    d_low, d_high = power_range_of_two(low, high)
    chain(out, low, high, 1.0 + d_low, 1.0 + d_high, a)


def enclose_asin(a: Enclosure, out: Enclosure) -> None:
    put_inverse(a, out, 0.0, 1.0)


def enclose_acos(a: Enclosure, out: Enclosure) -> None:
    put_inverse(a, out, 0.5 * math.pi, -1.0)


def put_inverse(a: Enclosure, out: Enclosure, offset: float, sign: float) -> None:
    """Store offset + sign asin(a), whose slope is sign/sqrt(1 - a^2)"""
    if a[0] > 1.0 or a[1] < -1.0:
        put_nothing(out)
        return
    low, high = max(a[0], -1.0), min(a[1], 1.0)
    least, most = power_range_of_two(low, high)
    d_low, d_high = reciprocal(math.sqrt(max(1.0 - most * MORE, 0.0)), math.sqrt(1.0 - least))
    low, high = math.asin(low), math.asin(high)
    if sign > 0.0:
        chain(out, low, high, d_low, d_high, a)
    else:
        # Rounding of the difference is that of its terms.
        chain(out, offset - high - ROUNDED, offset - low + ROUNDED, -d_high, -d_low, a)


def enclose_atan(a: Enclosure, out: Enclosure) -> None:
    d_low, d_high = power_range_of_two(a[0], a[1])
    chain(out, math.atan(a[0]), math.atan(a[1]), 1.0 / (1.0 + d_high), 1.0 / (1.0 + d_low), a)


def enclose_tanh(a: Enclosure, out: Enclosure) -> None:
    """Enclose tanh with slope 1 - tanh^2, as 1/cosh^2 with its digits where that is small."""
    nearest = 0.0 if a[0] <= 0.0 <= a[1] else min(abs(a[0]), abs(a[1]))
    d_low, d_high = slope_of_tanh(max(abs(a[0]), abs(a[1]))), slope_of_tanh(nearest)
    chain(out, math.tanh(a[0]), math.tanh(a[1]), d_low, d_high, a)


def slope_of_tanh(x: float) -> float:
    """Return 1/cosh(x)^2 = 4 e/(1 + e)^2 with e = exp(-2 x)"""
    e = math.exp(-2.0 * x)
    return 4.0 * e / ((1.0 + e) * (1.0 + e))


def enclose_atan2(a: Enclosure, b: Enclosure, out: Enclosure) -> None:
    """Enclose atan2 with slope (b a' - a b')/(a^2 + b^2); it jumps across the negative half of b and at zero."""
    is_beside = a[0] > 0.0 or a[1] < 0.0 or b[0] > 0.0 or (a[0] == 0.0 and b[1] < 0.0)
    if not is_beside:
        put(out, -math.pi, math.pi, -INF, INF)
        return
    first, second = math.atan2(a[0], b[0]), math.atan2(a[0], b[1])
    third, fourth = math.atan2(a[1], b[0]), math.atan2(a[1], b[1])
    a_low, a_high = power_range_of_two(a[0], a[1])
    b_low, b_high = power_range_of_two(b[0], b[1])
    r_low, r_high = reciprocal(a_low + b_low, a_high + b_high)
    up_low, up_high = product(b[0], b[1], a[2], a[3])
    down_low, down_high = product(a[0], a[1], b[2], b[3])
    slope_low, slope_high = product(up_low - down_high, up_high - down_low, r_low, r_high)
    put(out, min(first, second, third, fourth), max(first, second, third, fourth), slope_low, slope_high)


def enclose_abs(a: Enclosure, out: Enclosure) -> None:
    if a[0] >= 0.0:
        out[0], out[1], out[2], out[3] = a[0], a[1], a[2], a[3]
    elif a[1] <= 0.0:
        negate(a, out)
    else:
        steepest = max(abs(a[2]), abs(a[3]))
        out[0], out[1], out[2], out[3] = 0.0, max(-a[0], a[1]), -steepest, steepest


def enclose_sign(a: Enclosure, out: Enclosure) -> None:
    low = 1.0 if a[0] > 0.0 else 0.0 if a[0] == 0.0 else -1.0
    high = 1.0 if a[1] > 0.0 else 0.0 if a[1] == 0.0 else -1.0
    jump = INF if low < high else 0.0
    out[0], out[1], out[2], out[3] = low, high, -jump, jump


def enclose_min(a: Enclosure, b: Enclosure, out: Enclosure) -> None:
    put_extreme(a, b, out, a[1] < b[0], b[1] < a[0])
    out[0], out[1] = min(a[0], b[0]), min(a[1], b[1])


def enclose_max(a: Enclosure, b: Enclosure, out: Enclosure) -> None:
    put_extreme(a, b, out, a[0] > b[1], b[0] > a[1])
    out[0], out[1] = max(a[0], b[0]), max(a[1], b[1])


def put_extreme(a: Enclosure, b: Enclosure, out: Enclosure, is_a: bool, is_b: bool) -> None:
    """Store the slope of the argument that counts, or of both."""
    out[2] = a[2] if is_a else b[2] if is_b else min(a[2], b[2])
    out[3] = a[3] if is_a else b[3] if is_b else max(a[3], b[3])


def enclose_lt(a: Enclosure, b: Enclosure, out: Enclosure) -> None:
    put_truth(out, a[1] < b[0], a[0] < b[1])


def enclose_le(a: Enclosure, b: Enclosure, out: Enclosure) -> None:
    put_truth(out, a[1] <= b[0], a[0] <= b[1])


def put_truth(out: Enclosure, is_sure: bool, is_possible: bool) -> None:
    low, high = 1.0 if is_sure else 0.0, 1.0 if is_possible else 0.0
    jump = INF if low < high else 0.0
    out[0], out[1], out[2], out[3] = low, high, -jump, jump


def choose(c: Enclosure, a: Enclosure, b: Enclosure, out: Enclosure) -> None:
    """Choose a where c is not zero, else b."""
    if c[0] > 0.0 or c[1] < 0.0:
        out[0], out[1], out[2], out[3] = a[0], a[1], a[2], a[3]
    elif c[0] == 0.0 == c[1]:
        out[0], out[1], out[2], out[3] = b[0], b[1], b[2], b[3]
    elif a[0] == a[0] and b[0] == b[0]:
        out[0], out[1], out[2], out[3] = min(a[0], b[0]), max(a[1], b[1]), -INF, INF
    else:
        put(out, -INF, INF, -INF, INF)


def piece_range(c0: float, c1: float, c2: float, c3: float, a: float, b: float) -> tuple[float, float]:
    """Return c0 + c1 d + c2 d^2 + c3 d^3 for a <= d <= b, by the coefficients of Bernstein on that interval."""
    if not b - a < INF:
        return -INF, INF
    w = b - a
    first, last = c0 + a * (c1 + a * (c2 + a * c3)), c0 + b * (c1 + b * (c2 + b * c3))
    second = first + w / 3.0 * (c1 + a * (2.0 * c2 + 3.0 * a * c3))
    third = last - w / 3.0 * (c1 + b * (2.0 * c2 + 3.0 * b * c3))
    size = abs(c0) + max(abs(a), abs(b)) * (abs(c1) + max(abs(a), abs(b)) * (abs(c2) + max(abs(a), abs(b)) * abs(c3)))
    margin = ROUNDED * size  # of terms that cancel
    return min(first, second, third, last) - margin, max(first, second, third, last) + margin


def enclose_spline(
    a: Enclosure, knots: Enclosure, coefficients: Enclosure, count: int, order: int, out: Enclosure
) -> None:
    """Enclose a derivative of a piecewise cubic, see `graph.spline`; the third derivative has the slope of jumps."""
    low = slope_low = INF
    high = slope_high = -INF
    for i in range(count):
        left = knots[i] if i > 0 else -INF
        right = knots[i + 1] if i + 1 < count else INF
        if a[0] <= right and a[1] >= left:
            k = 4 * i
            c0, c1, c2, c3 = coefficients[k], coefficients[k + 1], coefficients[k + 2], coefficients[k + 3]
            for _ in range(order):
                c0, c1, c2, c3 = c1, 2.0 * c2, 3.0 * c3, 0.0
            start, end = max(a[0], left) - knots[i], min(a[1], right) - knots[i]
            piece_low, piece_high = piece_range(c0, c1, c2, c3, start, end)
            low, high = min(low, piece_low), max(high, piece_high)
            piece_low, piece_high = piece_range(c1, 2.0 * c2, 3.0 * c3, 0.0, start, end)
            if order >= 2 and left > a[0]:  # derivatives beyond the second jump at knots
                piece_low, piece_high = -INF, INF
            slope_low, slope_high = min(slope_low, piece_low), max(slope_high, piece_high)
    chain(out, low, high, slope_low, slope_high, a)


UNARY: dict[str, Callable[[Enclosure, Enclosure], None]] = {
    "neg": negate,
    "sin": enclose_sin,
    "cos": enclose_cos,
    "tan": enclose_tan,
    "asin": enclose_asin,
    "acos": enclose_acos,
    "atan": enclose_atan,
    "sqrt": enclose_sqrt,
    "exp": enclose_exp,
    "log": enclose_log,
    "tanh": enclose_tanh,
    "abs": enclose_abs,
    "sign": enclose_sign,
}
BINARY: dict[str, Callable[[Enclosure, Enclosure, Enclosure], None]] = {
    "add": add,
    "sub": subtract,
    "mul": multiply,
    "div": divide,
    "pow": raise_to,
    "atan2": enclose_atan2,
    "min": enclose_min,
    "max": enclose_max,
    "lt": enclose_lt,
    "le": enclose_le,
}


@cache
def arithmetic() -> dict[str, Callable[..., Any]]:
    """Return enclosures as a kind of number for `evaluate`; `of_constant` makes them from floats."""

    def written(f: Callable[..., None]) -> Callable[..., Any]:
        def value(*a: Any) -> Any:
            out: Any = [math.nan, math.nan, -INF, INF]
            if all(x[0] == x[0] for x in a):
                f(*a, out)
            return out

        return value

    def multiplied(a: Any, b: Any) -> Any:
        return squared(a) if a is b else times_other(a, b)

    def spline(a: Any, table: Table) -> Any:
        knots: Any
        knots, coefficients, order = table
        flat: Any = [c for piece in coefficients for c in piece]

        def of_table(x: Any, out: Any) -> None:
            enclose_spline(x, knots, flat, len(coefficients), order, out)

        return written(of_table)(a)

    def chosen(c: Any, a: Any, b: Any) -> Any:
        def of_condition(x: Any, out: Any) -> None:
            choose(x, a, b, out)

        return written(of_condition)(c)

    squared, times_other = written(square), written(multiply)
    both: dict[str, Callable[..., None]] = {**UNARY, **BINARY}
    functions = {name: written(f) for name, f in both.items()}
    return {**functions, "mul": multiplied, "select": chosen, "spline": spline}


def of_constant(x: float) -> Any:
    return [x, x, 0.0, 0.0]
