"""The expression graph: sharing, folding, derivatives, evaluation, parser, printers."""

import contextlib
import ctypes
import gc
import importlib.util
import math
import os
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Mapping
from fractions import Fraction
from threading import Thread

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from linkwork.errors import UsageError
from linkwork.expressions import graph
from linkwork.expressions.derivatives import directional, gradients, jacobian
from linkwork.expressions.evaluation import GRAPH, RING, evaluate, numpy_arithmetic, ordered, substitute
from linkwork.expressions.graph import (
    ONE,
    ZERO,
    Expr,
    absolute,
    atan2,
    constant,
    cos,
    exp,
    less,
    less_equal,
    log,
    maximum,
    minimum,
    power,
    select,
    sign,
    sin,
    spline,
    sqrt,
    symbol,
    tan,
    tanh,
)
from linkwork.expressions.guards import freeze, switch
from linkwork.expressions.parser import CALLS, MAX_DEPTH, MAX_LENGTH, RESERVED, ExpressionError, parse
from linkwork.writing import languages
from linkwork.writing.printers import latex, text

x, y, z = symbol("x"), symbol("y"), symbol("z")
KNOTS = (-1.0, 0.1, 1.0, 2.5)
COEFFICIENTS = ((1.0, -0.5, 0.3, 0.2), (0.7, 0.4, -1.1, 0.6), (-0.2, 1.3, 0.9, -0.8))
NAMES = {name: symbol(name) for name in ("x", "y", "l1", "w1", "e", "crank.phi", "crank.A.vx", "größe")}

# Where an operation is tried: on both sides of its corners, within its domain. A new operation is tried at ANYWHERE.
ANYWHERE = [(0.41, 0.83, 0.62), (0.83, 0.41, 0.17)]
POINTS = {
    **{
        op: [(0.7,), (-0.4,)]
        for op in ("sin", "cos", "tan", "asin", "acos", "atan", "exp", "tanh", "abs", "sign", "neg")
    },
    **{op: [(0.7,), (2.3,)] for op in ("sqrt", "log")},
    **{op: [(0.7, -1.3), (-1.9, 0.6), (1.1, 2.4)] for op in ("add", "sub", "mul", "div", "min", "max", "lt", "le")},
    "atan2": [(0.7, 1.3), (0.7, -1.3), (-0.7, -1.3), (-0.7, 1.3)],
    "pow": [(0.7, -1.3), (2.2, 0.6)],
    "select": [(0.5, 1.3, -0.4), (-2.0, 0.3, 1.7)],
    "spline": [(-1.8,), (-0.6,), (0.5,), (3.3,)],
}


def applied(op, args):
    if op == "spline":
        return spline(args[0], KNOTS, COEFFICIENTS)
    return GRAPH[op](*args)


def symbols_at(op):
    """Symbols for the arguments of an operation, and the points where it is tried."""
    points = POINTS.get(op, ANYWHERE)
    return [symbol(f"a{k}") for k in range(len(points[0]))], points


def difference(f, point, k, h=1e-2):
    """The derivative of f by argument k, from the central difference of order eight."""
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    return sum(
        w / h * s * f(*[p + s * j * h * (i == k) for i, p in enumerate(point)])
        for j, w in weights.items()
        for s in (1, -1)
    )


# graph


def test_the_same_operation_on_the_same_arguments_is_one_node():
    assert x + y is y + x
    assert x * y is y * x
    assert sin(x) * x + 1 is 1 + x * sin(x)
    assert minimum(x, y) is minimum(y, x)
    assert x - y is not y - x
    assert atan2(x, y) is not atan2(y, x)
    assert symbol("x") is x
    assert constant(-0.0) is ZERO


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (x + 0, x),
        (0 * x, ZERO),
        (1 * x, x),
        (-1 * x, -x),
        (x - x, ZERO),
        (x / x, ONE),
        (x / 1, x),
        (0 / x, ZERO),
        (graph.neg(-x), x),
        (-(x - y), y - x),
        (x + -y, x - y),
        (-x + y, y - x),
        (-x - y, -(x + y)),
        (-x + -y, -(x + y)),
        (x - -3, x + 3),
        (x + -3, x - 3),
        (x + -3 * y, x - 3 * y),
        (x - -3 * y, 3 * y + x),
        ((-3 * x) * y, -((3 * x) * y)),
        ((-x) * (-y), x * y),
        ((-3 * x) / y, -((3 * x) / y)),
        (x / -3, -(x / 3)),
        (3 * (2 * x), 6 * x),
        (x / 4, 0.25 * x),
        (sin(-3 * x), -sin(3 * x)),
        (cos(-3 * x), cos(3 * x)),
        (absolute(-x), absolute(x)),
        (x**2, x * x),
        (x**-2, 1 / (x * x)),
        (x**0, ONE),
        (x**0.5, sqrt(x)),
        (2**x, power(constant(2.0), x)),
        (sin(ONE), constant(math.sin(1.0))),
        (constant(2.0) ** 10, constant(1024.0)),
        (select(ONE, x, y), x),
        (select(ZERO, x, y), y),
        (select(x, y, y), y),
        (less(ONE, ZERO), ZERO),
        (spline(x, KNOTS, COEFFICIENTS, 4), ZERO),
    ],
)
def test_identities_are_applied_while_building(built, expected):
    assert built is expected


def test_sums_do_not_depend_on_the_order_of_their_terms():
    for a in (x, -x, 3 * x, -3 * x, constant(-3)):
        for b in (y, -y, 2 * y, -2 * y):
            assert a + b is b + a


def structure(e):
    return [(node.op, node.value, [a.place[:-1] for a in node.args]) for node in ordered([e])]


def test_the_graph_does_not_depend_on_what_was_built_or_forgotten_before():
    def build():
        p, q, r = (symbol(f"history.{name}") for name in "pqr")
        return sin(p) * (q + 2.5) * r + (r * p - q * 7.25) * cos(q) + minimum(p, 1.5) * maximum(q * r, p)

    first = structure(build())
    gc.collect(0)  # these nodes are forgotten; now some are made in another order
    kept = [symbol("history.r"), constant(1.5), symbol("history.q") * constant(7.25), cos(symbol("history.q"))]
    assert structure(build()) == first
    del kept


def test_the_graph_is_the_same_in_every_process():
    code = (
        "from linkwork.expressions.graph import sin, symbol;"
        "from linkwork.writing.printers import text;"
        "s = [symbol(f's{k}') for k in range(20)];"
        "print(text(sum((sin(a * b - 2) * (b + 3.5) for a, b in zip(s, s[::-1])), s[3])))"
    )
    written = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(written) == 1


def test_what_has_no_finite_value_is_not_folded():
    for e in (ONE / ZERO, log(ZERO), sqrt(-ONE), constant(1e300) * constant(1e300), exp(constant(1000.0))):
        assert not e.is_constant
    assert evaluate([ONE / ZERO], {})[0] == math.inf
    assert evaluate([1e200 * (1e200 * x)], {x: 1e-300}) == [1e200 * (1e200 * 1e-300)]
    assert evaluate([1e-200 * (1e-200 * x)], {x: 1e300}) == [1e-200 * (1e-200 * 1e300)]
    assert evaluate([x / 5e-324], {x: 1e-323}) == [2.0]


def test_constants_are_finite_and_expressions_have_no_truth():
    for value in (math.nan, math.inf):
        with pytest.raises(ValueError, match="cannot be a constant"):
            constant(value)
    with pytest.raises(TypeError, match="select"):
        bool(x)


def test_unused_nodes_are_forgotten():
    gc.collect(0)  # what is young: nothing older goes meanwhile
    before = len(graph._nodes)
    e = sin(x * 1234.5) + cos(x * 1234.5)
    assert len(graph._nodes) > before
    del e
    gc.collect(0)
    assert len(graph._nodes) == before


def test_order_puts_arguments_first_and_every_node_once():
    e = (x + y) * sin(x + y) + (x + y) / y
    nodes = ordered([e, x + y, e])
    place = {node: i for i, node in enumerate(nodes)}
    assert len(place) == len(nodes) == 7
    assert all(place[a] < place[node] for node in nodes for a in node.args)


def test_fifty_thousand_nodes_are_built():
    made = [x]
    for k in range(25_000):
        made.append(made[-1] * y + float(k + 1))
    assert len(ordered(made)) >= 50_000


def nested(depth):
    e = x
    for _ in range(depth):
        e = e * y + z
    return e


def test_deep_graphs_meet_no_recursion_limit():
    """The fixed point of u -> u/2 + 1/4, iterated 10,000 times in 20,000 nodes; Python recurses 1,000 deep."""
    e, values = nested(10_000), {x: 2.0, y: 0.5, z: 0.25}
    assert evaluate([e], values) == [0.5]
    assert evaluate(directional([e], {z: ONE}), values) == [2.0]
    assert max(map(len, text(e).splitlines())) < 200


def test_no_function_of_the_package_recurses():
    e, values = nested(5_000), {x: 2.0, y: 0.5, z: 0.25}
    assert evaluate([jacobian([e], [z])[0, 0]], values) == [2.0]
    assert substitute([e], {}) == [e]
    for written in (latex(e), languages.write("python", [e]), languages.write("c", [e]), repr(e)):
        assert max(map(len, written.splitlines())) < 200


# derivatives


@pytest.mark.parametrize("op", GRAPH)
def test_derivatives_agree_with_differences(op):
    """First and second derivatives of every operation by every argument."""
    symbols, points = symbols_at(op)
    e = applied(op, symbols)
    for order in (1, 2):
        for k, s in enumerate(symbols):
            derivative = (
                directional([e], {s: ONE})[0] if order == 1 else directional(directional([e], {s: ONE}), {s: ONE})[0]
            )
            base = e if order == 1 else directional([e], {s: ONE})[0]

            def f(*args, base=base):
                return evaluate([base], dict(zip(symbols, args, strict=True)))[0]

            for point in points:
                exact = evaluate([derivative], dict(zip(symbols, point, strict=True)))[0]
                # truncation h^8 f^(9) / 630 is below 1e-9 at these points
                assert exact == pytest.approx(difference(f, point, k), abs=1e-8, rel=1e-8), (order, k, point)


def test_derivatives_agree_with_complex_steps():
    e = (
        sin(x * y) * exp(-x) / (1 + y**3)
        + tanh(x - y) ** 2
        - sqrt(1 + x * x) * cos(tan(y / 3))
        + absolute(x * x - 9) ** 1.5
    )
    for s in (x, y):
        values = {x: 0.7 + 0j, y: -1.2 + 0j}
        values[s] += 1e-30j
        expected = evaluate([e], values, numpy_arithmetic())[0].imag / 1e-30
        assert evaluate(directional([e], {s: ONE}), {x: 0.7, y: -1.2})[0] == pytest.approx(expected, rel=1e-14)


def test_jacobian_is_sparse_and_agrees_with_directional_derivatives():
    outputs = [
        sin(x) * y,
        atan2(y, z) / (1 + x * x),
        select(less(x, y), x * z, y),
        constant(3.0),
        sign(x),
        x + 0 * y,
        z**3,
    ]
    inputs = [x, y, z]
    J = jacobian(outputs, inputs)
    assert set(J) == {(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (5, 0), (6, 2)}
    direction = {x: 0.3, y: -1.1, z: 0.8}
    values = {x: 0.6, y: 1.4, z: -0.9}
    along = evaluate(directional(outputs, {s: constant(d) for s, d in direction.items()}), values)
    product = np.zeros(len(outputs))
    for (i, j), entry in J.items():
        product[i] += evaluate([entry], values)[0] * direction[inputs[j]]
    np.testing.assert_allclose(product, along, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("op", GRAPH)
def test_gradients_from_the_end_are_the_jacobian(op):
    """Output by output as input by input, of every operation within others that share what it makes."""
    symbols, points = symbols_at(op)
    e = applied(op, symbols)
    outputs = [e * sin(e + z) - x / (2 + e * e), e, x * y, constant(2.0), z]
    inputs = list(dict.fromkeys([*symbols, x, y, z]))
    J, found = jacobian(outputs, inputs), gradients(outputs, inputs)
    assert set(found) <= set(J)
    for point in points:
        values = {x: 0.6, y: 1.4, z: -0.9, **dict(zip(symbols, point, strict=True))}
        expected = evaluate(J.values(), values)
        given = dict(zip(found, evaluate(found.values(), values), strict=True))
        np.testing.assert_allclose([given.get(at, 0.0) for at in J], expected, rtol=1e-13, atol=1e-14)


def test_derivative_at_a_corner_takes_one_side():
    at = {x: 1.0, y: 1.0}
    for e in (minimum(x, y), maximum(x, y)):
        assert sum(evaluate([directional([e], {s: ONE})[0] for s in (x, y)], at)) == 1.0
    assert evaluate(directional([absolute(x)], {x: ONE}), {x: 0.0}) == [0.0]


# evaluation


@pytest.mark.parametrize("op", GRAPH)
def test_arrays_agree_with_floats(op):
    symbols, points = symbols_at(op)
    e = applied(op, symbols)
    arrays = dict(zip(symbols, np.array(points).T, strict=True))
    expected = [evaluate([e], dict(zip(symbols, point, strict=True)))[0] for point in points]
    result = evaluate([e], arrays, numpy_arithmetic())[0]
    np.testing.assert_allclose(result, expected, rtol=4e-16)
    if op != "atan2":  # NumPy has none for complex arguments
        complex_arrays = {s: a + 0j for s, a in arrays.items()}
        np.testing.assert_allclose(
            evaluate([e], complex_arrays, numpy_arithmetic())[0], expected, rtol=1e-15, atol=1e-16
        )


@pytest.mark.parametrize("order", range(4))
def test_spline_and_its_derivatives_are_its_polynomials(order):
    for point in (-3.0, -1.0, 0.0, 0.1, 0.9, 1.0, 4.0):
        i = sum(point >= knot for knot in KNOTS[1:-1])
        piece = np.polynomial.Polynomial(COEFFICIENTS[i])
        expected = (piece.deriv(order) if order else piece)(point - KNOTS[i])
        e = spline(x, KNOTS, COEFFICIENTS, order)
        assert evaluate([e], {x: point})[0] == pytest.approx(expected, rel=1e-14)
        assert evaluate([e], {x: np.array(point)}, numpy_arithmetic())[0] == pytest.approx(expected, rel=1e-14)


def test_fractions_are_exact():
    e = (x + y) ** 5 / (x * y - 2) - 0.75 * x
    a, b = Fraction(1, 3), Fraction(-7, 5)
    assert evaluate([e], {x: a, y: b}, RING, Fraction) == [(a + b) ** 5 / (a * b - 2) - Fraction(3, 4) * a]


def test_integers_modulo_a_prime_recognize_zero():
    p = 2**61 - 1
    arithmetic = {
        "add": lambda a, b: (a + b) % p,
        "sub": lambda a, b: (a - b) % p,
        "mul": lambda a, b: a * b % p,
        "div": lambda a, b: a * pow(b, -1, p) % p,
        "neg": lambda a: -a % p,
    }

    def residue(value):
        fraction = Fraction(value)
        return fraction.numerator * pow(fraction.denominator, -1, p) % p

    values = {x: 123456789123, y: 987654321987, z: 55555}
    zero = (x / y + y / x) ** 2 - (x**4 + y**4) / (x * y) ** 2 - 2
    assert zero is not ZERO
    assert evaluate([zero], values, arithmetic, residue) == [0]
    assert evaluate([zero + z / 2], values, arithmetic, residue) == [55555 * pow(2, -1, p) % p]


def test_missing_values_are_named():
    with pytest.raises(KeyError, match=r"crank\.phi"):
        evaluate([symbol("crank.phi") + x], {x: 1.0})


def test_substitution_rebuilds_what_changes():
    e = sin(x) * y + spline(x, KNOTS, COEFFICIENTS, 1)
    assert substitute([e], {x: ZERO, y: z}) == [spline(ZERO, KNOTS, COEFFICIENTS, 1)]
    assert substitute([e], {y: x + 1}) == [sin(x) * (x + 1) + spline(x, KNOTS, COEFFICIENTS, 1)]


# parser


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("12", 12.0),
        ("1.5", 1.5),
        (".5 + 2.", 2.5),
        ("1e-3 + 2E+2", 200.001),
        ("1 - 2 - 3", -4.0),
        ("1 + 2*3", 7.0),
        ("12/2/3", 2.0),
        ("2^3^2", 512.0),
        ("2**3**2", 512.0),
        ("-2^2", -4.0),
        ("(-2)^2", 4.0),
        ("2^-1", 0.5),
        ("2*-3", -6.0),
        ("--3", 3.0),
        ("12/-2*3", -18.0),
        ("2^-1*6", 3.0),
        ("1 - -2*3", 7.0),
        ("-2*-3*-4", -24.0),
        ("2^--1", 2.0),
        ("+3 - -4", 7.0),
        ("-2*3^2/6", -3.0),
        ("\t( 1\n+ 2 ) * 3 ", 9.0),
        ("1 < 2", 1.0),
        ("2 < 2", 0.0),
        ("2 <= 2", 1.0),
        ("1 > 2", 0.0),
        ("2 >= 2", 1.0),
        ("1 + 1 < 3 * 1", 1.0),
        ("(1 < 2) + (2 > 1)", 2.0),
        ("if(1 < 2, 10, 20)", 10.0),
        ("if(1 > 2, 10, 20)", 20.0),
        ("min(3, 1, 2)", 1.0),
        ("max(3, 1, 5, 2)", 5.0),
        ("atan2(1, -1)", math.atan2(1, -1)),
        ("sin (pi/2)", 1.0),
        ("sinh(0.3)", math.sinh(0.3)),
        ("sinh(1e-9)", 1e-9),
        ("cosh(-0.7)", math.cosh(0.7)),
        ("x + 2*l1", 0.25 + 2 * 2.25),
        ("crank.phi*crank.A.vx", 5.25 * 6.25),
        ("größe^2 - w1*e", 7.25**2 - 3.25 * 4.25),
        ("x^0.5", 0.5),
        ("x^1000", 0.25**1000),
    ],
)
def test_parser_reads(written, expected):
    values = {s: k + 0.25 for k, s in enumerate(NAMES.values())}
    assert evaluate([parse(written, NAMES)], values)[0] == pytest.approx(expected, rel=1e-15)
    assert parse(written, NAMES.get) is parse(written, NAMES)


@pytest.mark.parametrize("name", sorted({"abs", "sign", *graph.FUNCTIONS} & {*dir(math)}))
def test_parser_knows_the_functions(name):
    assert evaluate([parse(f"{name}(x)", NAMES)], {x: 0.3}) == [getattr(math, name)(0.3)]


def test_names_are_compared_in_composed_form():
    assert parse(unicodedata.normalize("NFD", "größe"), NAMES) is NAMES["größe"]


def test_reserved_names():
    assert {*graph.FUNCTIONS, "atan2", "min", "max", "if", "pi"} <= RESERVED
    assert {*CALLS, "pi"} == RESERVED
    assert "e" not in RESERVED
    assert "t" not in RESERVED


REFUSED = [
    ("", "empty", 0),
    (" \n", "empty", 0),
    ("x + y" + " " * MAX_LENGTH, "too-long", MAX_LENGTH),
    ("(" * 100_000, "too-long", MAX_LENGTH),
    ("(" * (MAX_DEPTH + 1) + "x" + ")" * (MAX_DEPTH + 1), "too-deep", MAX_DEPTH),
    ("sin(" * (MAX_DEPTH + 1) + "x" + ")" * (MAX_DEPTH + 1), "too-deep", 4 * MAX_DEPTH),
    ("__import__('os').system('true')", "character", 11),
    ("__import__(x)", "function", 0),
    ("eval(x)", "function", 0),
    ("x.__class__", "name", 0),
    ("().__class__", "character", 2),
    ("(x).real", "character", 3),
    ("lambda: x", "character", 6),
    ("[x for x in y]", "character", 0),
    ("{x}", "character", 0),
    ("f'{x}'", "character", 1),
    ('"x"', "character", 0),
    ("x; y", "character", 1),
    ("x = 1", "character", 2),
    ("x == y", "character", 2),
    ("x != y", "character", 2),
    ("x % y", "character", 2),
    ("x & y", "character", 2),
    ("x\x00", "character", 1),
    ("\u202ex", "character", 0),
    ("x\N{SUPERSCRIPT TWO}", "character", 1),
    ("x \N{MINUS SIGN} y", "character", 2),
    ("\N{FULLWIDTH DIGIT ONE}", "character", 0),
    ("1e999", "number", 0),
    ("1 + 1e-999", "number", 4),
    ("inf", "name", 0),
    ("nan", "name", 0),
    ("crank.phy", "name", 0),
    ("2*y + l3", "name", 6),
    ("sine(x)", "function", 0),
    ("floor(x)", "function", 0),
    ("2 + x(3)", "function", 4),
    ("sin(x, y)", "arguments", 0),
    ("atan2(x)", "arguments", 0),
    ("min(x)", "arguments", 0),
    ("if(x, y)", "arguments", 0),
    ("9**9**9**9", "exponent", 4),
    ("x^1001", "exponent", 1),
    ("x^-1001", "exponent", 1),
    ("1/0", "undefined", 1),
    ("x*log(0)", "undefined", 2),
    ("sqrt(-1)", "undefined", 0),
    ("(-8)^0.3", "undefined", 4),
    ("10^400", "undefined", 2),
    ("exp(1000)", "undefined", 0),
    ("x +", "syntax", 3),
    ("* x", "syntax", 0),
    ("x y", "syntax", 2),
    ("2x", "syntax", 1),
    ("2(x)", "syntax", 1),
    ("(x)(y)", "syntax", 3),
    ("1.2.3", "syntax", 3),
    ("0x10", "syntax", 1),
    ("1_000", "syntax", 1),
    ("12,5", "syntax", 2),
    ("(1, 2)", "syntax", 2),
    ("(x", "syntax", 0),
    ("2*sin(x", "syntax", 2),
    ("x)", "syntax", 1),
    ("()", "syntax", 1),
    ("sin()", "syntax", 4),
    ("sin", "syntax", 0),
    ("min(x,)", "syntax", 6),
    ("1 < x < 2", "syntax", 6),
]


@pytest.mark.parametrize(("written", "code", "position"), REFUSED, ids=lambda value: repr(value)[:30])
def test_parser_refuses(written, code, position):
    with pytest.raises(ExpressionError) as caught:
        parse(written, NAMES)
    error = caught.value
    assert isinstance(error, ValueError)
    assert error.code == f"expression-{code}"
    assert error.position == position
    assert error.text == written
    reason, line, caret = str(error).split("\n")
    assert f"at column {position + 1}" in reason
    assert reason == error.reason
    assert caret.endswith("^")
    if position < len(written) and written[position].isprintable():
        assert line[len(caret) - 1] == written[position]
    assert line.isprintable()


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("crank.phy", "did you mean 'crank.phi'?"),
        ("sine(x)", "did you mean 'sin'?"),
        ("ln(x)", "write 'log'"),
        ("arctan(x)", "write 'atan'"),
        ("12,5", "decimal"),
        ("x \N{MULTIPLICATION SIGN} y", "write *"),
        ("x(2)", "a product is x*(...)"),
    ],
)
def test_refusals_say_what_to_write(written, hint):
    with pytest.raises(ExpressionError) as caught:
        parse(written, NAMES)
    assert hint in caught.value.reason


def test_parser_takes_what_is_within_its_limits():
    assert parse("(" * MAX_DEPTH + "x" + ")" * MAX_DEPTH, NAMES) is x
    assert parse("-" * (MAX_LENGTH - 1) + "x", NAMES) is -x
    assert len(ordered([parse("x^" * 4000 + "y", NAMES)])) == 4002
    assert evaluate([parse("+".join("x" * 5000), NAMES)], {x: 1.0}) == [5000.0]


@settings(derandomize=True)
@given(st.text(alphabet="xye1.0 +-*/^()<=,minsqrt\N{SUPERSCRIPT TWO}'\n", max_size=30))
def test_any_text_is_read_or_refused(written):
    with contextlib.suppress(ExpressionError):
        parse(written, NAMES)


# printers


@st.composite
def expressions(draw):
    """Random graphs over the names and all operations but splines, which have no text the parser reads."""
    numbers = st.one_of(
        st.integers(-20, 20).map(float),
        st.sampled_from([math.pi, -math.pi / 2, 2 * math.pi, 0.5, -0.25, 1e22, 1e-7, 1001.0]),
        st.floats(allow_nan=False, allow_infinity=False),
    )
    operations = [*sorted(set(GRAPH) - {"spline"}), *4 * ["add", "sub", "mul", "div", "pow", "square"], *6 * ["leaf"]]
    nodes = [draw(st.sampled_from(sorted(NAMES)).map(NAMES.__getitem__))]
    for _ in range(draw(st.integers(1, 20))):
        op = draw(st.sampled_from(operations))
        if op == "leaf":
            nodes.append(draw(st.one_of(st.sampled_from(sorted(NAMES)).map(NAMES.__getitem__), numbers.map(constant))))
        elif op == "square":
            nodes.append(power(draw(st.sampled_from(nodes[-4:])), constant(float(draw(st.integers(-3, 7))))))
        else:
            count = len(symbols_at(op)[0])
            nodes.append(GRAPH[op](*[draw(st.sampled_from(nodes[-4:])) for _ in range(count)]))
    return nodes[-1]


@settings(derandomize=True)
@given(expressions())
@example(-((x - y) * NAMES["l1"]))  # the sign belongs to the product, not to its first factor
@example(2 * (x * y))
def test_text_reads_back_to_the_same_node(e):
    nodes = ordered([e])
    assume(not any(node.args and all(a.is_constant for a in node.args) for node in nodes))  # refused as undefined
    assume(not any(node.op == "pow" and node.args[1].is_constant and abs(node.args[1].number) > 1000 for node in nodes))
    written = text(e)
    assume(len(written) <= MAX_LENGTH)
    assert parse(written, NAMES) is e


a, b, l7, phi = symbol("a7"), symbol("b7"), symbol("l7"), symbol("crank7.phi")
WRITTEN = [
    (a + (b + l7), "b7 + l7 + a7", "a_{7} + b_{7} + l_{7}"),
    (a - (b - l7), "a7 - (b7 - l7)", r"a_{7} - \left(b_{7} - l_{7}\right)"),
    (a - 2 * b, "a7 - 2*b7", "a_{7} - 2 b_{7}"),
    (-(a + b), "-(a7 + b7)", r"-\left(a_{7} + b_{7}\right)"),
    (-a * b / 4, "-a7*b7/4", r"-\frac{a_{7} b_{7}}{4}"),
    (a / b / l7, "a7/b7/l7", r"\frac{\frac{a_{7}}{b_{7}}}{l_{7}}"),
    (a / (b * l7), "a7/(b7*l7)", r"\frac{a_{7}}{b_{7} l_{7}}"),
    ((a + b) * (a - b), "(a7 + b7)*(a7 - b7)", r"\left(a_{7} + b_{7}\right) \left(a_{7} - b_{7}\right)"),
    (a**3 * b**2, "b7^2*a7^3", "b_{7}^{2} a_{7}^{3}"),
    ((a * b) ** 2, "(a7*b7)^2", r"\left(a_{7} b_{7}\right)^{2}"),
    (1 / a**2, "1/a7^2", r"\frac{1}{a_{7}^{2}}"),
    (a ** (b**l7), "a7^b7^l7", "a_{7}^{b_{7}^{l_{7}}}"),
    ((a**b) ** l7, "(a7^b7)^l7", r"\left(a_{7}^{b_{7}}\right)^{l_{7}}"),
    ((-a) ** b, "(-a7)^b7", r"\left(-a_{7}\right)^{b_{7}}"),
    (l7 * cos(phi) ** 2, "l7*cos(crank7.phi)^2", r"l_{7} \cos^{2}\left(\varphi_{\mathrm{crank7}}\right)"),
    (sqrt(a * a + b * b), "sqrt(a7^2 + b7^2)", r"\sqrt{a_{7}^{2} + b_{7}^{2}}"),
    (exp(-a), "exp(-a7)", "e^{-a_{7}}"),
    (absolute(a), "abs(a7)", r"\left|a_{7}\right|"),
    (math.pi / 2 * a, "pi/2*a7", r"\frac{\pi}{2} a_{7}"),
    (2 * math.pi * symbol("t"), "2*pi*t", r"2 \pi t"),
    (1e-5 * a, "1e-05*a7", r"1 \cdot 10^{-5} a_{7}"),
    (less(a, b) * 3, "3*(a7 < b7)", r"3 \left[a_{7} < b_{7}\right]"),
    (less_equal(a, b), "a7 <= b7", r"a_{7} \le b_{7}"),
    (
        select(less(a, b), a, -b),
        "if(a7 < b7, a7, -b7)",
        r"\begin{cases} a_{7} & \text{if } a_{7} < b_{7} \\ -b_{7} & \text{otherwise} \end{cases}",
    ),
    (minimum(a, maximum(b, l7)), "min(a7, max(b7, l7))", r"\min\left(a_{7}, \max\left(b_{7}, l_{7}\right)\right)"),
    (atan2(a, b), "atan2(a7, b7)", r"\operatorname{atan2}\left(a_{7}, b_{7}\right)"),
    (spline(a, KNOTS, COEFFICIENTS, 2), "spline1''(a7)", r"s_{1}''\left(a_{7}\right)"),
    (symbol("crank.A.vx"), "crank.A.vx", r"v_{x,\mathrm{crank},A}"),
    (symbol("rod.omega"), "rod.omega", r"\omega_{\mathrm{rod}}"),
    (symbol("rod.wz"), "rod.wz", r"\omega_{z,\mathrm{rod}}"),
    (symbol("theta2"), "theta2", r"\theta_{2}"),
    (symbol("k_spring"), "k_spring", r"k_{\mathrm{spring}}"),
    (symbol("mass"), "mass", r"\mathrm{mass}"),
    (symbol("body_2.x"), "body_2.x", r"x_{\mathrm{body\_2}}"),
    (symbol("lam A.x"), "lam A.x", r"\lambda_{A,x}"),
    (symbol("rod.vx'"), "rod.vx'", r"v_{x,\mathrm{rod}}'"),
]


@pytest.mark.parametrize(("e", "as_text", "as_latex"), WRITTEN, ids=[row[1] for row in WRITTEN])
def test_text_and_latex(e, as_text, as_latex):
    assert text(e) == repr(e) == as_text
    assert latex(e) == as_latex


@pytest.mark.parametrize("op", GRAPH)
def test_every_operation_is_written_everywhere(op):
    e = applied(op, symbols_at(op)[0])
    for written in (text(2 + e), latex(2 + e), languages.write("python", [e]), languages.write("c", [e])):
        assert "a0" in written or "a_{0}" in written


def test_exploding_trees_are_written_with_their_shared_parts_named():
    e = symbol("w1")
    for _ in range(200):
        e = e * e + sin(e)
    lines = text(e).splitlines()
    assert len(lines) == 200
    assert lines[:2] == ["ww1 = w1^2 + sin(w1)", "ww2 = ww1^2 + sin(ww1)"]  # w1 is taken by a symbol
    value = {"w1": symbol("w1")}
    for line in lines[:-1]:
        name, _, definition = line.partition(" = ")
        value[name] = parse(definition, value)
    assert parse(lines[-1], value) is e
    assert latex(e).startswith("\\begin{aligned}\nw_{1} &= ")


def everything():
    """Expressions with every operation, shared parts, long sums, comparisons as numbers, and names to be mangled."""
    names = [
        "lambda",
        "in",
        "w1",
        "crank.phi",
        "crank_phi",
        "größe",
        "double",
        "sin",
        "1st",
        "NAN",
        "x",
        "_sign",
        "abs",
    ]
    symbols = [symbol(name) for name in names]
    values = {s: 0.3 + 0.11 * k for k, s in enumerate(symbols)}
    outputs = []
    for op in GRAPH:
        for point in symbols_at(op)[1]:
            args = [s + (p - values[s]) for s, p in zip(symbols, point, strict=False)]
            outputs.append(applied(op, args))
    total = sum(outputs, ZERO)
    truth = less(symbols[0], symbols[1])
    outputs += [
        total * total + 2,
        truth,
        -truth * symbols[2] / 3,
        less(symbols[6], symbols[7]) / (less(symbols[7], symbols[8]) + less(symbols[8], symbols[9])),  # 1/2, not 1//2
        select(total, truth, sign(truth)),
        sin(less_equal(symbols[3], symbols[4])),
        select(truth, ONE, symbols[5]) ** 5,
        spline(total, KNOTS, COEFFICIENTS, 1) + spline(total, KNOTS, COEFFICIENTS, 3),
        spline(symbols[0], KNOTS[:2], COEFFICIENTS[:1], 2),
        constant(3.0),
        1 / symbols[6],
        sum((s * float(k) for k, s in enumerate(symbols)), ZERO),
        symbols[0] - (symbols[1] - symbols[2]) / (symbols[3] / symbols[4]),
    ]
    return outputs, values


NANS = {symbol("without"): math.nan}
UNDEFINED = [
    *(f(x, y) for f in (minimum, maximum, less, less_equal) for x, y in ((*NANS, ONE), (ONE, *NANS))),
    *(select(condition, ONE, ZERO) for condition in (*NANS, less(*NANS, ONE), less_equal(ONE, *NANS))),
    sign(*NANS),
]


def test_python_code_computes_the_same_numbers(tmp_path):
    outputs, values = everything()
    source = tmp_path / "generated.py"
    arguments = [*values, *NANS]
    source.write_text(languages.write("python", outputs + UNDEFINED, "motion", arguments), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("generated", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.motion(*values.values(), *NANS.values())
    np.testing.assert_array_equal(found, evaluate(outputs + UNDEFINED, values | NANS))
    assert np.isnan(found[len(outputs) :]).all()


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is needed to compile the generated C")
def test_c_code_computes_the_same_numbers(tmp_path):
    outputs, values = everything()
    source, library = tmp_path / "generated.c", tmp_path / "generated.so"
    arguments, outputs, values = [*values, *NANS], outputs + UNDEFINED, values | NANS
    source.write_text(languages.write("c", outputs, name="motion", arguments=arguments), encoding="utf-8")
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", library, source, "-lm"], check=True)
    motion = ctypes.CDLL(str(library)).motion
    inputs = np.array(list(values.values()))
    result = np.full(len(outputs), np.nan)
    pointer = ctypes.POINTER(ctypes.c_double)
    motion(inputs.ctypes.data_as(pointer), result.ctypes.data_as(pointer))
    assert np.isnan(result[-len(UNDEFINED) :]).all()
    # a compiler may fold functions of constants to the last bit, libm need not
    np.testing.assert_allclose(result, evaluate(outputs, values), rtol=1e-14)


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="gfortran is needed to compile the generated Fortran")
def test_fortran_code_computes_the_same_numbers(tmp_path):
    """Also what has no value, comparisons of it and conditions with it."""
    outputs, values = everything()
    source, library = tmp_path / "generated.f90", tmp_path / "generated.so"
    arguments, outputs, values = [*values, *NANS], outputs + UNDEFINED, values | NANS
    source.write_text(languages.write("fortran", outputs, name="motion", arguments=arguments), encoding="utf-8")
    subprocess.run(["gfortran", "-std=f2008", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    motion = next(f for name in ("motion", "motion_") if (f := getattr(ctypes.CDLL(str(library)), name, None)))
    inputs, result, pointer = np.array([*values.values()]), np.zeros(len(outputs)), ctypes.POINTER(ctypes.c_double)
    motion(inputs.ctypes.data_as(pointer), result.ctypes.data_as(pointer))
    assert np.isnan(result[-len(UNDEFINED) :]).all()
    np.testing.assert_allclose(result, evaluate(outputs, values), rtol=1e-14)


def test_numpy_code_has_no_value_where_a_condition_has_none(tmp_path):
    """As the machine code of a run: neither branch is taken."""
    given, x = next(iter(NANS)), symbol("x")
    namespace: dict[str, object] = {}
    source = languages.write("numpy", [select(less(x, given), ONE, ZERO), less_equal(x, ONE)], "f", [x, given])
    exec(source, namespace)  # our own text
    chosen, at_most_one = namespace["f"](np.array([0.5, 1.5]), np.array([1.0, math.nan]))
    np.testing.assert_array_equal(chosen, [1.0, math.nan])
    np.testing.assert_array_equal(at_most_one, [1.0, 0.0])


def test_code_names_its_arguments():
    assert "def f(a7, crank7_phi):" in languages.write("python", [phi * a])
    assert "def f(crank7_phi, b7, a7):" in languages.write("python", [phi * a], arguments=[phi, b, a])
    with pytest.raises(ValueError, match="the arguments lack a7"):
        languages.write("python", [phi * a], arguments=[phi])
    for name in ("", "1f", "a b", "f();", "while", "sin("):
        with pytest.raises(UsageError, match="cannot be the name"):
            languages.write("c", [a], name=name)
    hostile = symbol("*/ int main() {} /*\nimport os")
    assert "*/ int" not in languages.write("c", [hostile])
    assert "\nimport os" not in languages.write("python", [hostile])


def test_threads_build_the_same_expressions_as_one() -> None:
    """Each thread builds sums of its own symbols: none meets another's, and no two nodes share a serial."""
    made: list[list[tuple[str, Expr]]] = [[] for _ in range(4)]

    def build(thread: int) -> None:
        for k in range(300):
            name = f"thread {thread} {k}"
            shared, own = symbol(f"common {k}"), symbol(name)
            made[thread].append((name, sin(own) * own + cos(own) / (own + 2.0) + shared * shared))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-7)
    try:
        threads = [Thread(target=build, args=(k,)) for k in range(len(made))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    for expressions in made:
        for k, (name, expression) in enumerate(expressions):
            names = {node.value for node in ordered([expression]) if node.op == "symbol"}
            assert names == {name, f"common {k}"}
    nodes = ordered(expression for expressions in made for _, expression in expressions)
    assert len({node.serial for node in nodes}) == len(nodes)
    assert len({(node.op, node.value, node.args) for node in nodes}) == len(nodes)


class LookedUp(Mapping):
    """Values that can be looked up, but not gone through."""

    def __init__(self, values):
        self.values_of = values

    def __getitem__(self, key):
        return self.values_of[key]

    def __contains__(self, key):
        return key in self.values_of

    def __iter__(self):
        raise AssertionError("all that is known was gone through")

    __len__ = __iter__


def test_of_what_is_known_only_what_is_needed_is_looked_at():
    """Else a step for each of N bodies, which knows of all of them, would take N^2."""
    x, y, z = map(symbol, "xyz")
    assert evaluate([x * y + 3.0, x], LookedUp({x: 2.0, y: 5.0})) == [13.0, 2.0]
    assert substitute([x + z], LookedUp({x: sin(y)})) == [sin(y) + z]
    assert directional([sin(x) * z, x], LookedUp({x: y, y: ONE})) == [cos(x) * y * z, y]


def test_numbers_are_calculated_with_the_decimals_that_were_written() -> None:
    """Sums and products of decimals have the digits that a person finds; where decimals do not end, doubles do."""
    written = [(0.13, 0.13, "0.0169"), (0.2, 0.2, "0.04"), (1.1, 1.0, "1.1"), (0.001, 9.81, "0.00981")]
    for a, b, product in written:
        assert repr((constant(a) * constant(b)).number) == product
    assert repr((constant(1.1) - constant(1.0)).number) == "0.1"
    assert repr((constant(0.1) + constant(0.2)).number) == "0.3"
    assert (constant(1.0) / constant(3.0)).number == 1.0 / 3.0
    assert (constant(1.0) / constant(3.0) * constant(3.0)).number == pytest.approx(1.0, rel=1e-15)
    assert (constant(1e300) * constant(1e300)).op == "mul"  # overflow, as it says at run time


@pytest.mark.parametrize("extreme", [maximum, minimum])
def test_a_derivative_of_an_extreme_is_held_on_the_side_of_the_extreme(extreme: Callable[[Expr, Expr], Expr]) -> None:
    """Held as it is for x > y, and for x < y, the derivative by x is that there also where x is on the other side."""
    value, side = extreme(x, y), symbol("side")
    g = switch(value)
    assert g is not None
    slope = jacobian([value], [x])[0, 0]
    (held,) = freeze([slope], [x, y, side], {g: side})
    for there, elsewhere in ((2.0, -2.0), (-2.0, 2.0)):
        (on,) = evaluate([g], {x: there, y: 1.0})
        (expected,) = evaluate([slope], {x: there, y: 1.0})
        assert evaluate([held], {x: elsewhere, y: 1.0, side: math.copysign(1.0, on)}) == [expected]
