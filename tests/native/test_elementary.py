"""Elementary functions of machine code: errors, special values, the same bits in every lane and on other processors."""

from __future__ import annotations

import importlib
import itertools
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwork.expressions import graph
from linkwork.expressions.evaluation import float_arithmetic
from linkwork.expressions.graph import symbol
from linkwork.native import elementary, lowering, machine
from linkwork.native.kernels import Pointer, kernel
from linkwork.native.lowering import NativeFunction, compile_programs
from linkwork.native.translation import translate
from linkwork.sequences.sequence import ComputationSequence

Array = NDArray[np.float64]

pytestmark = pytest.mark.skipif(bool(machine.missing()), reason="LLVM is not here")
BASELINE = ("x86-64", "")  # the processor of 2003: neither vectors of four doubles nor fused products
SPECIAL = [
    *(sign * x for x in (0.0, 5e-324, 1e-310, 2.0**-1022, 1e-20, 0.5, 1.0, 1.5, 2.0, 3.0, 22.0) for sign in (1, -1)),
    *(sign * x for x in (709.78, 745.2, 1e22, 2.0**53, 2.0**53 + 2, 1e300, 1.7e308, math.inf) for sign in (1, -1)),
    math.nan,
]  # fmt: skip
names = pytest.mark.parametrize("name", sorted(elementary.FUNCTIONS))


@pytest.fixture(scope="module")
def page() -> ModuleType:
    sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
    return importlib.import_module("elementary")


def bits(x: Array) -> list[int]:
    return [int(k) for k in x.view(np.int64)]


@pytest.mark.parametrize("count", [200, pytest.param(4_000, marks=pytest.mark.slow)])
def test_errors_are_below_one_unit_in_the_last_place(page: ModuleType, count: int) -> None:
    """Over the whole range of each function, with huge arguments and those next to multiples of pi/2, by mpmath."""
    pytest.importorskip("mpmath")
    seed = int(np.random.default_rng().integers(2**31))
    print(f"seed {seed}")
    found = {(name, of): worst for name, of, worst, _ in page.errors(seed, count)}
    assert {name for name, _ in found} == {"sin", "cos", *elementary.FUNCTIONS} - {"sincos"}
    assert max(found.values()) < 1.0
    assert all(found[name, "next to k pi/2"] < 0.51 for name in ("sin", "cos"))


@pytest.mark.slow
def test_polynomials_are_those_of_remez(page: ModuleType) -> None:
    pytest.importorskip("mpmath")
    for name, found in page.coefficients().items():
        assert getattr(elementary, name) == found, name


def test_constants_are_parts_of_pi_and_logarithms() -> None:
    mpmath = pytest.importorskip("mpmath")
    with mpmath.mp.workprec(1300):
        pi, ln_2 = mpmath.pi, mpmath.log(2)
        assert abs(sum(map(mpmath.mpf, elementary.PI_2)) - pi / 2) < mpmath.mpf(2) ** -156
        assert all(abs(x) * 2**k % 1 == 0 for x, k in zip(elementary.PI_2[:3], (32, 66, 101), strict=True))
        for first, rest, exact in (
            (elementary.HALF_PI, elementary.HALF_PI_LOW, pi / 2),
            (elementary.ATAN_HALF, elementary.ATAN_HALF_LOW, mpmath.atan(mpmath.mpf(1) / 2)),
            (elementary.LN_2, elementary.LN_2_LOW, ln_2),
        ):
            assert abs(mpmath.mpf(first) + mpmath.mpf(rest) - exact) < mpmath.mpf(2) ** -96
        digits = int(elementary.TWO_OVER_PI, 16)
        assert digits == int(mpmath.floor(2 / pi * 2 ** (4 * len(elementary.TWO_OVER_PI) - 48)))
        for reciprocal, first, rest in elementary.logarithms():
            assert (reciprocal * 2**elementary.TABLE_BITS) % 1 == 0
            assert abs(mpmath.mpf(first) + mpmath.mpf(rest) + mpmath.log(reciprocal)) < mpmath.mpf(2) ** -95


@names
def test_values_at_zeros_infinities_and_ends_are_those_of_ieee(page: ModuleType, name: str) -> None:
    """As the C library has them, signs of zeros included; elsewhere within the last digit."""
    count, _ = elementary.FUNCTIONS[name]
    given = np.array([*itertools.product(SPECIAL, repeat=count)]).T.copy()
    of_numpy: dict[str, list[np.ufunc]] = {
        "sincos": [np.sin, np.cos],
        "pow": [np.power],
        "atan": [np.arctan],
        "atan2": [np.arctan2],
    }
    of_numpy |= {"asin": [np.arcsin], "acos": [np.arccos]}
    for lanes in (1, 4):
        found = page.evaluate(name, *given, lanes=lanes)
        for y, f in zip(found, of_numpy.get(name) or [getattr(np, name)], strict=True):
            with np.errstate(all="ignore"):
                expected = f(*given)
            same = (y == expected) & (np.signbit(y) == np.signbit(expected)) | np.isnan(y) & np.isnan(expected)
            exact = ~np.isfinite(expected) | (expected == 0.0)
            with np.errstate(invalid="ignore"):
                near = abs(y - expected) <= np.maximum(2.3e-16 * abs(expected), 5e-324)
            wrong = np.flatnonzero(~(same | near & ~exact))
            assert not len(wrong), [(given[:, k], y[k], expected[k]) for k in wrong]


@names
def test_every_lane_has_the_bits_of_one(page: ModuleType, name: str) -> None:
    """One lane far out, where the argument is reduced by another way, does not change its neighbours."""
    for own, _, given in page.samples(7, 203):
        if own == name:
            mixed = [np.where(np.arange(len(x)) % 5 == 3, np.roll(x, 1), x) for x in given]
            expected = [bits(y) for y in page.evaluate(name, *mixed)]
            for lanes in (2, 4, 8):
                assert [bits(y) for y in page.evaluate(name, *mixed, lanes=lanes)] == expected


@pytest.mark.skipif("x86_64" not in os.uname().machine, reason="another kind of processor")
@names
def test_a_processor_without_vectors_has_the_same_bits(page: ModuleType, name: str) -> None:
    for own, _, given in page.samples(8, 201):
        if own == name:
            expected = [bits(y) for y in page.evaluate(name, *given)]
            for lanes in (1, 4):
                assert [bits(y) for y in page.evaluate(name, *given, lanes=lanes, target=BASELINE)] == expected


RUN = """
import sys
from linkwork.native import machine
if sys.argv[1:]:
    machine._features = lambda: ("x86-64", "")
import linkwork
for name, coordinates in (("slider_crank", "minimal"), ("bricard", "joint"), ("dap/conveyor_belt", "body")):
    motion = linkwork.prepare(linkwork.load(name)).simulate(coordinates=coordinates, t_end=1)
    for q in motion.q[::20]:
        print(name, *(float(x).hex() for x in q))
"""


@pytest.mark.slow
@pytest.mark.skipif("x86_64" not in os.uname().machine, reason="another kind of processor")
def test_a_motion_has_the_same_bits_on_an_older_processor(tmp_path: Path) -> None:
    """Explicit and implicit, with projection and events: nothing is fused, and no library is asked."""
    env = {**os.environ, "LINKWORK_CACHE_DIR": str(tmp_path)}
    outputs = [
        subprocess.run([sys.executable, "-c", RUN, *more], env=env, capture_output=True, text=True, check=True).stdout
        for more in ([], ["older"])
    ]
    assert outputs[0].count("\n") > 10
    assert outputs[0] == outputs[1]


@kernel
def falls(x: Pointer, y: Pointer) -> None:
    y[0] = math.atan2(math.sin(x[0]), math.cos(x[0])) + math.hypot(x[0], 3.0) ** x[1]


def test_kernels_and_sequences_call_the_same_functions(page: ModuleType) -> None:
    """Bit by bit, and nothing of a library; what a module does not call it does not have."""
    x, p = symbol("x"), symbol("p")
    direct = graph.atan2(graph.sin(x), graph.cos(x)) + graph.tanh(p)
    f = compile_programs([ComputationSequence("f", [x, p], [direct, graph.sin(x)])], [])["f"]
    given, y = np.array([2.3, 0.7]), np.empty(1)
    (s, c), (t,) = page.evaluate("sincos", given[:1]), page.evaluate("tanh", given[1:])
    (angle,) = page.evaluate("atan2", s, c)
    assert f(given, np.empty(0)).tolist() == [angle[0] + t[0], s[0]]
    falls(given, y)
    (h,) = page.evaluate("hypot", given[:1], np.array([3.0]))
    assert y[0] == angle[0] + page.evaluate("pow", h, given[1:])[0][0]
    text = translate(falls)
    defined = set(re.findall(r"define internal [^@]*@linkwork\.(\w+)", text))
    assert defined == {"sincos", "atan2", "hypot", "pow", "reduce"}
    assert not re.findall(r"declare (?!.*@llvm\.(?:fabs|sqrt|trunc))", text)


def test_a_sequence_computes_sine_and_cosine_of_an_argument_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    def keep(text: str, *_: object) -> dict[str, NativeFunction]:
        texts.append(text)
        return {}

    monkeypatch.setattr(lowering, "_assemble", keep)
    x = symbol("x")
    compile_programs([ComputationSequence("f", [x], [graph.sin(x) * graph.cos(x), graph.cos(2.0 * x)])], [])
    assert texts[0].count("call {<2 x double>, <2 x double>} @linkwork.sincos.2(") == 1
    assert "call {double, double} @linkwork.sincos(" not in texts[0]


def test_sines_side_by_side_have_the_bits_of_each_alone() -> None:
    """Of 1 to 11 angles at once, near and far, and of one that waits for the sine of another."""
    x = [symbol(f"x{k}") for k in range(11)]
    given = np.random.default_rng(4).uniform(-9.0, 9.0, 11)
    given[7] = 1e9
    (alone,) = compile_programs([ComputationSequence("one", x[:1], [graph.sin(x[0]), graph.cos(x[0])])], []).values()
    for n in range(1, 12):
        turned = [f(y) for y in x[:n] for f in (graph.sin, graph.cos)]
        program = ComputationSequence("side_by_side", x[:n], [*turned, graph.sin(turned[0])])
        (f,) = compile_programs([program], []).values()
        expected = [alone(y[None], np.empty(0)) for y in given[:n]]
        np.testing.assert_array_equal(f(given[:n], np.empty(0))[:-1], np.concatenate(expected))
        assert f(given[:n], np.empty(0))[-1] == alone(expected[0][:1], np.empty(0))[0]


def test_python_and_machine_code_differ_by_the_errors_of_both() -> None:
    """What a model file states is evaluated by Python, whose tanh is off by two units, a motion by machine code."""
    x = symbol("x")
    functions = [graph.sin, graph.cos, graph.tan, graph.asin, graph.acos, graph.atan, graph.exp, graph.log, graph.tanh]
    code = compile_programs([ComputationSequence("f", [x], [f(x) for f in functions])], [])["f"]
    python = float_arithmetic()
    for value in np.linspace(0.01, 0.99, 50):
        found = code(np.array([value]), np.empty(0))
        for f, y in zip(functions, found, strict=True):
            expected = python[f(x).op](value)
            assert abs(y - expected) <= 2.0 * math.ulp(expected), (f, value)
