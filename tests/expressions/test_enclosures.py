"""Bounds of expressions and of their slopes hold every value, in Python and in machine code."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.expressions import enclosures
from linkwork.expressions.derivatives import directional
from linkwork.expressions.evaluation import evaluate, ordered
from linkwork.expressions.graph import (
    FUNCTIONS,
    Expr,
    absolute,
    atan2,
    constant,
    function,
    less,
    less_equal,
    maximum,
    minimum,
    power,
    select,
    sign,
    sin,
    spline,
    sqrt,
    symbol,
)
from linkwork.native.enclosing import are_bounded, enclose_output, find_zeros, load_numbers, open_tape, write_tape
from linkwork.native.kernels import Pointer, integer, kernel

X, Y, THETA = symbol("x"), symbol("y"), symbol("theta")
numbers = st.one_of(st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, 10.0, -3.0]), st.floats(-20, 20, width=32))
TABLE = ((-1.0, 0.0, 0.7, 2.0), ((0.3, -1.0, 0.2, 0.5), (0.0, 1.9, 1.7, -2.0), (1.1, 0.4, -2.5, 0.8)))


def combined(inner: Any) -> Any:
    return st.one_of(
        st.builds(function, st.sampled_from(FUNCTIONS), inner),
        *(
            st.builds(f, inner, inner)
            for f in (Expr.__add__, Expr.__sub__, Expr.__mul__, Expr.__truediv__, atan2, minimum, maximum)
        ),
        st.builds(lambda a: a * a, inner),
        st.builds(power, inner, st.sampled_from([2.0, 3.0, -1.0, 66.0, 67.0, 1.5, 0.3, -2.4, 1000.0]).map(constant)),
        st.builds(lambda a, b: power(function("abs", a), b), inner, inner),
        st.builds(lambda f, a, b, c, d: select(f(a, b), c, d), st.sampled_from([less, less_equal]), *[inner] * 4),
        st.builds(lambda a, order: spline(a, *TABLE, order), inner, st.integers(0, 2)),
    )


expressions = st.recursive(st.one_of(st.just(X), st.just(Y), st.builds(constant, numbers)), combined, max_leaves=8)
curves = st.tuples(numbers, numbers, numbers)


def moved(c: tuple[float, float, float]) -> Expr:
    return c[0] + THETA * (c[1] + THETA * c[2])


def bounds_of(c: tuple[float, float, float], u: float, v: float) -> list[float]:
    """Of c0 + c1 theta + c2 theta^2 and its slope between u and v, by its three coefficients of Bernstein."""
    a, b = c[0] + u * (c[1] + u * c[2]), c[0] + v * (c[1] + v * c[2])
    middle = a + 0.5 * (v - u) * (c[1] + 2 * u * c[2])
    slopes = c[1] + 2 * u * c[2], c[1] + 2 * v * c[2]
    margin = 1e-15 * sum(map(abs, c))
    return [min(a, b, middle) - margin, max(a, b, middle) + margin, min(slopes) - margin, max(slopes) + margin]


@given(expressions, curves, curves, st.floats(0, 1), st.floats(0, 1))
def test_every_value_and_slope_lies_within_the_bounds(g: Expr, x: Any, y: Any, one: float, other: float) -> None:
    u, v = sorted((one, other))
    box = {X: bounds_of(x, u, v), Y: bounds_of(y, u, v)}
    low, high, slope_low, slope_high = evaluate([g], box, enclosures.arithmetic(), enclosures.of_constant)[0]
    along = {X: moved(x), Y: moved(y)}
    dx, dy = (directional([curve], {THETA: constant(1)})[0] for curve in along.values())
    rates = directional([g], {X: dx, Y: dy})
    for theta in np.linspace(u, v, 7):
        at = {THETA: float(theta)}
        here = dict(zip(along, evaluate(along.values(), at), strict=True))
        value, slope, *others = evaluate([g, *rates, *ordered([g])], {**here, **at})
        if all(map(math.isfinite, (value, *others))):  # also what is not chosen, which may have no value
            assert low <= value <= high
            if math.isfinite(slope):
                rounding = 1e-9 * max(1.0, abs(slope))  # of the derivative, 1 - tanh(x)^2
                assert slope_low - rounding <= slope <= slope_high + rounding


@kernel
def enclose_once(m: Pointer, p: Pointer, box: Pointer, out: Pointer) -> None:
    at = open_tape(m)
    load_numbers(at, p)
    for k in range(at.n_inputs):
        for j in range(4):
            at.values[4 * k + j] = box[4 * integer(at.inputs, k) + j]
    found = enclose_output(at, 0)
    for j in range(4):
        out[j] = found[j]


@given(expressions, curves, curves)
def test_machine_code_finds_the_same_bounds(g: Expr, x: Any, y: Any) -> None:
    """All but the last digits; y is twice a parameter."""
    boxes = [bounds_of(x, 0.2, 0.7), [y[0], y[0], 0.0, 0.0]]
    expected = evaluate([g], dict(zip((X, Y), boxes, strict=True)), enclosures.arithmetic(), enclosures.of_constant)[0]
    out = np.empty(4)
    enclose_once(write_tape([g], [X], [symbol("other"), Y]), np.array([0.0, y[0]]), np.array(boxes[0]), out)
    assert out == pytest.approx(np.array(expected), rel=1e-11, abs=1e-13, nan_ok=True)


@np.errstate(all="ignore")
def test_bounds_tell_laws_that_are_smooth_from_those_that_jump_or_have_no_value() -> None:
    """Also where the kernel is stepped through as Python: 1/(t - 2)^2 has a pole that no sign shows."""
    t = symbol("t")
    laws = {sin(3 * t) / (2 + t): 1, absolute(t - 1): 1, 1 / (t - 2) ** 2: 0, sign(t - 1): 0, sqrt(t - 1): 0}
    for law, is_bounded in laws.items():
        for f in (are_bounded, are_bounded.python):
            assert f(write_tape([law], [t], []), np.empty(0), 4.0) == is_bounded


def test_zeros_of_laws_of_time_are_found_to_the_last_digit() -> None:
    """sin(3 t) and t^2 - 2 change their signs where they do, also with the kernel stepped through as Python."""
    t = symbol("t")
    m, p = write_tape([sin(3 * t), t**2 - 2], [t], []), np.empty(0)
    for f in (find_zeros, find_zeros.python):
        zeros = np.full(64, np.nan)
        count = f(m.copy(), p, 4.0, zeros)
        found = sorted(x for x in zeros[:count] if x > 1e-300)  # sin is zero at 0 too
        np.testing.assert_allclose(found, sorted([np.pi / 3, 2 * np.pi / 3, np.pi, np.sqrt(2.0)]), rtol=1e-15)
