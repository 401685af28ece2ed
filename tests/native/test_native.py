"""Machine code of sequences against their interpretation."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_mechanisms import Random
from slices import has_bodies

from linkwork.compiled.mechanism import prepare
from linkwork.compiled.system import compile_system
from linkwork.expressions.derivatives import PARTIALS
from linkwork.expressions.evaluation import GRAPH, evaluate, numpy_arithmetic, ordered
from linkwork.expressions.graph import (
    ONE,
    ZERO,
    Expr,
    constant,
    cos,
    less,
    less_equal,
    maximum,
    minimum,
    select,
    sin,
    spline,
    symbol,
)
from linkwork.modelfile import load, shipped
from linkwork.native import cache, interpreted, lowering, machine
from linkwork.native.lowering import NativeFunction, compile_programs
from linkwork.sequences.sequence import Columns, ComputationSequence
from linkwork.simulation.simulate import simulate

X = [symbol(f"x{k}") for k in range(3)]
TABLE = ((0.0, 0.5, 2.0, 2.25), ((1.0, 2.0, -3.0, 0.5), (0.1, -1.0, 0.7, 3.0), (-2.0, 1.0, 0.0, 0.3)))
ARGUMENTS = {"atan2": 2, "pow": 2, "add": 2, "sub": 2, "mul": 2, "div": 2, "min": 2, "max": 2, "lt": 2, "le": 2}
ARGUMENTS |= {"select": 3}


def compiled(
    outputs: list[Expr], inputs: list[Expr] | None = None, parameters: tuple[Expr, ...] = ()
) -> NativeFunction:
    return compile_programs([ComputationSequence("f", X if inputs is None else inputs, outputs)], parameters)["f"]


def operation(op: str) -> list[Expr]:
    if op == "spline":
        return [spline(X[0], *TABLE, order) for order in range(4)]
    return [GRAPH[op](*X[: ARGUMENTS.get(op, 1)])]


DOMAIN: dict[str, Callable[[float], float]] = {
    "asin": lambda x: math.tanh(x),
    "acos": lambda x: math.tanh(x),
    "sqrt": abs,
    "log": abs,
    "exp": lambda x: max(min(x, 700.0), -700.0),
}


@pytest.mark.parametrize("op", sorted(GRAPH))
def test_every_operation_agrees_with_its_interpretation(op: str, rng: Random) -> None:
    """To rounding (4 units in the last place of the result), also for negative numbers and angles of a million."""
    outputs = operation(op)
    f = compiled(outputs)
    inside: Callable[[float], float] = DOMAIN.get(op, float)
    for size in (1e-8, 1.0, 3.0, 1e6):
        for _ in range(25):
            x = np.array([inside(float(a)) for a in rng.normal(size=3) * size])
            if op == "pow":
                x = np.array([abs(x[0]), np.clip(x[1], -9, 9), 1.0])
            if op == "select" and rng.random() < 0.5:
                x[0] = 0.0
            interpreted = evaluate(outputs, dict(zip(X, x.tolist(), strict=True)))
            scale = np.max(np.abs(x)) if op in ("add", "sub") else 0.0
            np.testing.assert_allclose(f(x, np.zeros(0)), interpreted, rtol=1e-15, atol=1e-15 * scale + 1e-300)


@pytest.mark.parametrize("op", sorted(GRAPH))
def test_equal_arguments_and_zeros(op: str) -> None:
    """Ties and zeros are where comparisons, signs and splines could differ."""
    outputs = operation(op)
    f = compiled(outputs)
    for x in ([0.0, 0.0, 1.0], [1.0, 1.0, 2.0], [0.5, 0.5, 0.5], [2.25, -1.0, 0.0], [-1.0, 2.0, 3.0], [2.0, -0.0, 1.0]):
        interpreted = np.array(evaluate(outputs, dict(zip(X, x, strict=True))))
        native = f(np.array(x), np.zeros(0))
        defined = np.isfinite(interpreted)
        np.testing.assert_allclose(native[defined], interpreted[defined], rtol=1e-15, atol=0)
        assert not np.any(np.isfinite(native[~defined]))


SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -3.0, 1e300, -1e300, 5e-324)


@pytest.mark.parametrize("op", sorted(GRAPH))
def test_what_is_not_finite_is_the_same_for_floats_arrays_and_machine_code(op: str) -> None:
    """NaN, infinities and signed zeros of every operation by IEEE 754; finite values to rounding."""
    outputs = operation(op)
    f = compiled(outputs)
    for x in itertools.product(SPECIAL, repeat=ARGUMENTS.get(op, 1)):
        at = dict(zip(X, x, strict=False))
        native = f(np.array([*x, 0.0, 0.0][:3]), np.zeros(0))
        interpreted = np.array(evaluate(outputs, at))
        with np.errstate(all="ignore"):
            vectorized = evaluate(outputs, {s: np.array([v]) for s, v in at.items()}, numpy_arithmetic())
        for other in (native, np.array(vectorized).ravel()):
            np.testing.assert_allclose(other, interpreted, rtol=1e-15, atol=0, err_msg=f"{op}{x}")
            zero = interpreted == 0
            np.testing.assert_array_equal(np.signbit(other[zero]), np.signbit(interpreted[zero]), f"{op}{x}")


def test_a_number_that_is_not_one_is_neither_the_larger_nor_the_smaller() -> None:
    """max, min and comparisons of NaN are NaN on either side: a force without a value must not look like one of 0."""
    conditions = [less(X[0], X[1]), less_equal(X[0], X[1])]
    f = compiled([maximum(X[0], X[1]), minimum(X[0], X[1]), *conditions, *(select(c, 5.0, 7.0) for c in conditions)])
    for x in ([math.nan, 1.0, 0.0], [1.0, math.nan, 0.0]):
        assert np.all(np.isnan(f(np.array(x), np.zeros(0))))


def test_the_lists_of_operations_name_the_same_ones() -> None:
    assert set(GRAPH) == {*PARTIALS, "select"}


def long_sequence(n: int, rng: Random, inputs: list[Expr]) -> list[Expr]:
    """n operations, each on values made anywhere before, so that many are handed from part to part."""
    made = list(inputs)
    for k in range(n):
        a, b = (made[int(rng.integers(len(made)))] for _ in range(2))
        made.append([a + 0.5 * b, sin(a) * b, cos(a - b), maximum(a, b) - 0.1 * a * b, a / (1.0 + b * b)][k % 5])
    return made[len(inputs) :]


@pytest.mark.parametrize("n", [lowering.PART // 4, 5000])
def test_a_long_sequence_is_cut_and_gives_the_same(n: int, rng: Random) -> None:
    parameters = (symbol("p0"), symbol("p1"))
    made = long_sequence(n, rng, [*X, *parameters])
    outputs = [made[int(k)] for k in rng.integers(len(made), size=40)] + [made[-1]]
    f = compiled(outputs, X, parameters)
    operations = sum(node.op not in ("symbol", "constant") for node in ordered(outputs))
    assert (f.work > 0) == (operations > lowering.PART)
    for _ in range(3):
        x, p = rng.normal(size=3), rng.normal(size=2)
        at = dict(zip((*X, *parameters), [*x.tolist(), *p.tolist()], strict=True))
        np.testing.assert_allclose(f(x, p), evaluate(outputs, at), rtol=1e-9, atol=1e-9)


def test_a_value_is_handed_over_many_parts() -> None:
    """The first value and the last are far apart; every part lies between."""
    early = sin(X[0])
    chain = X[1]
    for k in range(4 * lowering.PART):
        chain = sin(chain + constant(0.001 * k))
    f = compiled([chain * early, early, chain])
    x = np.array([0.3, 0.7, 0.0])
    y = 0.7
    for k in range(4 * lowering.PART):
        y = math.sin(y + 0.001 * k)
    np.testing.assert_allclose(f(x, np.zeros(0)), [y * math.sin(0.3), math.sin(0.3), y], rtol=1e-13)


@pytest.mark.parametrize("n", [0, 3, 2000])
def test_outputs_may_be_inputs_constants_parameters_and_duplicates(n: int) -> None:
    p = symbol("p")
    value = X[0]
    for _ in range(n):
        value = sin(value)
    outputs = [X[1], value, constant(-2.5), p, value, ZERO, X[1], ONE, X[0] + p]
    y = compiled(outputs, X, (symbol("unused"), p))(np.array([0.4, 0.5, 0.6]), np.array([9.0, 7.0]))
    expected = evaluate(outputs, {X[0]: 0.4, X[1]: 0.5, p: 7.0})
    np.testing.assert_allclose(y, expected, rtol=1e-13)


def test_inputs_and_parameters_may_stand_for_any_node() -> None:
    """A node that is given is not computed, even if it could be; a constant too."""
    inner = X[0] * X[1]
    f = compiled([inner + X[2], sin(inner), ONE + X[2]], [X[2], inner], (sin(inner), ONE))
    np.testing.assert_allclose(f(np.array([0.5, 3.0]), np.array([11.0, 1.0])), [3.5, 11.0, 1.5])


@pytest.mark.parametrize("n", [10, 2000])
def test_the_head_returns_the_first_outputs(n: int, rng: Random) -> None:
    outputs = long_sequence(n, rng, list(X))[-7:]
    functions = compile_programs([ComputationSequence("whole", X, outputs, "head", 3)], [])
    x, p = rng.normal(size=3), np.zeros(0)
    assert functions["head"].outputs == 3
    np.testing.assert_array_equal(functions["head"](x, p), functions["whole"](x, p)[:3])


@pytest.mark.parametrize("count", [1, 3, 10])
@pytest.mark.parametrize("n", [10, 1500])
def test_columns_are_computed_side_by_side(count: int, n: int, rng: Random) -> None:
    """Rows of so many numbers give in each column what that column gives alone, as machine code and as Python."""
    d, units, p = [symbol(f"d{k}") for k in range(2)], tuple(symbol(f"e{k}") for k in range(count)), symbol("p")
    scalars = long_sequence(n, rng, [*X, p])
    rows = [a * d[k % 2] - d[1 - k % 2] / (2.0 + a * a) for k, a in enumerate(scalars)]
    rows = [rows[0], -rows[-1] + p * units[0] + X[0] * units[-1], sum(rows[1:], ZERO), ZERO, scalars[2]]
    outputs, columns = [scalars[-1], *rows], Columns(count, frozenset(d), frozenset(range(1, 6)), units)
    program = ComputationSequence("rows", [*X, *d], outputs, "head", 3, columns=columns)
    f = compile_programs([program], (p,))
    x, at_p, given = rng.normal(size=3), rng.normal(size=1), rng.normal(size=(2, count))
    found = f["rows"](np.concatenate([x, given.ravel()]), at_p)
    assert (f["rows"].inputs, f["rows"].outputs, f["head"].outputs) == (3 + 2 * count, 1 + 5 * count, 1 + 2 * count)
    for j, unit in enumerate(np.eye(count)):
        values = dict(zip((*X, p, *d), [*x.tolist(), *at_p.tolist(), *given[:, j].tolist()], strict=True))
        expected = evaluate(outputs, {**values, **dict(zip(units, unit.tolist(), strict=True))})
        np.testing.assert_allclose([found[0], *found[1 + j :: count]], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(f["head"](np.concatenate([x, given.ravel()]), at_p), found[: f["head"].outputs])
    again = np.empty(len(found))
    interpreted.interpret(program, (p,))[1](np.concatenate([x, given.ravel()]), at_p, again, np.empty(0))
    np.testing.assert_allclose(again, found, rtol=1e-9, atol=1e-9)


def test_columns_take_part_linearly_alone() -> None:
    """What is not linear in a row has no machine code."""
    columns = Columns(2, frozenset(X[:1]), frozenset([0]))
    with pytest.raises(KeyError, match="no machine code for 'sin' of columns"):
        compile_programs([ComputationSequence("f", X, [sin(X[0])], columns=columns)], [])


def test_several_programs_share_splines_and_keep_apart(rng: Random) -> None:
    f, g = spline(X[0], *TABLE), spline(X[0] + 1.0, *TABLE, 1)
    other = spline(X[0], (0.0, 1.0), ((5.0, 1.0, 1.0, 1.0),))
    functions = compile_programs(
        [ComputationSequence("one", X, [f, other]), ComputationSequence("two", X[:1], [g, f])], []
    )
    x = rng.uniform(-1, 3, 3)
    at = {X[0]: float(x[0])}
    np.testing.assert_allclose(functions["one"](x, np.zeros(0)), evaluate([f, other], at), rtol=1e-14)
    np.testing.assert_allclose(functions["two"](x[:1], np.zeros(0)), evaluate([g, f], at), rtol=1e-14)


def test_what_is_neither_input_nor_parameter_is_named() -> None:
    with pytest.raises(KeyError, match="f needs 'nobody'"):
        compiled([X[0] + symbol("nobody")])


def test_a_wrong_number_of_inputs_is_refused() -> None:
    with pytest.raises(ValueError, match="takes 3 numbers"):
        compiled([X[0]])(np.zeros(2), np.zeros(0))


SECOND_PROCESS = """
import sys
from linkwork.native import machine
if "cached" in sys.argv:
    def refuse(*_):
        raise SystemExit("the code generator was called")
    machine.emit = machine.assemble = refuse
from linkwork.elements.bodies import Ground, PlanarBody
from linkwork.elements.joints import Revolute
from linkwork.equations.body import body_equations
from linkwork.model import Model
from linkwork.compiled.system import compile_system
from linkwork.constraints.projection import project
ground, body = Ground(), PlanarBody("b", 1.0, 2.0, (0.5, 0.0))
system = compile_system(body_equations(Model("m", (body,), (Revolute("O", ground, body, (0, 0), (-0.5, 0.0)),))))
import numpy as np
print(*system.functions["dynamics"](np.array([0, 0.5, 0, 0, 0, 0, 0, 0, 0.0]), system.p()), project.address > 0)
assert ("linkwork.native.translation" in sys.modules) != ("cached" in sys.argv)
"""


def test_a_second_process_loads_without_compiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither LLVM's code generator nor the translation of kernels is used when the code is on disk."""
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path))

    def output(*arguments: str) -> str:
        command: Any = [sys.executable, "-c", SECOND_PROCESS, *arguments]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        return run.stdout

    first = output()
    assert len(list(tmp_path.iterdir())) == 5  # the programs; `project`; three kernels that look at a place
    assert output("cached") == first
    a = float(first.split()[5])  # phi_ddot = -m g l / (J + m l^2)
    assert abs(a + 9.81 * 0.5 / 2.25) < 1e-12


def test_the_time_of_compiling_is_that_of_code_which_is_not_stored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two clock readings around what is made, 5 s apart, and none around what is found."""
    clock = iter([1.0, 6.0])
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "perf_counter", lambda: next(clock))
    before = cache.seconds()
    assert [cache.cached(["key"], lambda: b"code") for _ in range(2)] == [b"code"] * 2
    assert cache.seconds() - before == 5.0


def test_what_is_compiled_during_a_run_counts_as_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seconds that the cache counted while a run was made, and no others."""
    mechanism = load("simple_pendulum")
    simulate(mechanism, t_end=0.1)  # so that nothing else asks for the time spent
    spent = iter([10.0, 17.0])
    monkeypatch.setattr(cache, "seconds", lambda: next(spent))
    motion = simulate(mechanism, t_end=0.1)
    assert motion.info.compile_s == 7.0


def test_what_is_called_seldom_does_not_take_optimization_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all programs are long and those of the loop are not, these are compiled as before, the others quickly."""
    often = ComputationSequence("often", X, [sin(X[0]) * X[1] + X[2]])
    seldom = ComputationSequence("seldom", X, [cos(X[0] + X[1] * X[2])])
    used: list[int] = []
    assemble = machine.assemble

    def note(text: str, opt: int) -> bytes:
        used.append(opt)
        return assemble(text, opt)

    monkeypatch.setattr(machine, "assemble", note)
    monkeypatch.setattr(lowering.cache, "cached", lambda _, build: build())
    monkeypatch.setattr(lowering, "OPT", 1)
    x, apart = np.array([0.3, -0.4, 0.5]), {}
    for limit in (10, 4, 2):  # of six operations in all, three each
        monkeypatch.setattr(lowering, "LONG", limit)
        f = compile_programs([often, seldom], [], seldom=("seldom",))
        apart[limit] = f["often"].code is not f["seldom"].code
        found = [f[name](x, np.zeros(0))[0] for name in ("often", "seldom")]
        np.testing.assert_allclose(found, [np.sin(0.3) * -0.4 + 0.5, np.cos(0.3 - 0.2)], rtol=1e-15)
    assert apart == {10: False, 4: True, 2: False}
    assert used == [1, 1, lowering.QUICK, lowering.QUICK]


def test_quickly_compiled_code_computes_the_same(monkeypatch):
    x, y = symbol("x"), symbol("y")
    outputs = [sin(x) * y + cos(y), (x - y) / (x * x + 2.0)]
    monkeypatch.setattr(lowering, "LONG", 0)
    f = compile_programs([ComputationSequence("f", (x, y), outputs)], [])["f"]
    given = np.array([0.3, -1.7])
    expected = [np.sin(0.3) * -1.7 + np.cos(-1.7), 2.0 / 2.09]
    np.testing.assert_allclose(f(given, np.zeros(0)), expected, rtol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in shipped() if has_bodies(name)])
def test_no_bit_depends_on_the_effort_of_the_code_generator(
    name: str, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """So the fast tests may take the least, and programs beyond LONG too."""
    equations = prepare(load(name)).equations
    found = []
    for opt in (1, lowering.QUICK):
        monkeypatch.setattr(lowering, "OPT", opt)
        system = compile_system(equations)
        found.append((system.functions, system.p()))
    (functions, p), (others, p_of_others) = found
    for of, function in functions.items():
        x = rng.standard_normal(function.inputs)
        np.testing.assert_array_equal(function(x, p), others[of](x, p_of_others), err_msg=of)
