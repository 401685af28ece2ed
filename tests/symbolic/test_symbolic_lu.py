"""Sequences as users hold them, hierarchies, zero recognition, and symbolic LU."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random as Dice
from typing import Any

import numpy as np
import pytest
from random_mechanisms import Array, Random

from linkwork.compiled.mechanism import prepare
from linkwork.equations.explicit import leading_system, solve_explicitly
from linkwork.equations.place import Place
from linkwork.errors import LinkworkError, UsageError
from linkwork.expressions.evaluation import RING, evaluate
from linkwork.expressions.graph import ONE, ZERO, Expr, constant, cos, exp, sin, sqrt, symbol, tan
from linkwork.modelfile import load
from linkwork.sequences.sequence import ComputationSequence
from linkwork.symbolic.hierarchy import Hierarchy, size_of
from linkwork.symbolic.lu import STRATEGIES, choose_pivots, lu, sparse_order
from linkwork.symbolic.modular import P
from linkwork.symbolic.signature import Signature, residue
from linkwork.symbolic.structural import analyse

a, b, c, x, y = (symbol(name) for name in "abcxy")


def pendulum() -> ComputationSequence:
    return ComputationSequence("pendulum", [x, y], [cos(x) * y, sin(x) * y, sin(x) * y + cos(x) * y])


def test_a_sequence_counts_its_operations_and_its_depth() -> None:
    """cos, sin, two products and a sum; the sum waits for a product, which waits for a function."""
    s = pendulum()
    assert s.count() == {"mul": 2, "cos": 1, "sin": 1, "add": 1}
    assert s.depth == 3
    assert s.expanded == 2 + 2 + 5
    assert ComputationSequence("same", [x], [x, x]).depth == 0


def test_a_sequence_is_evaluated_over_any_numbers() -> None:
    """Fractions stay exact, arrays are taken as they are, residues are those of the fractions."""
    s = ComputationSequence("f", [x, y], [(x + 2 * y) / (x - y), x * x * y])
    third, seventh = Fraction(1, 3), Fraction(2, 7)
    assert s.evaluate([third, seventh], RING, Fraction) == [Fraction(19), Fraction(2, 63)]
    modular = {
        "add": lambda m, n: (m + n) % P,
        "sub": lambda m, n: (m - n) % P,
        "mul": lambda m, n: m * n % P,
        "div": lambda m, n: m * pow(n, -1, P) % P,
    }
    third_p, seventh_p = pow(3, -1, P), 2 * pow(7, -1, P) % P
    assert s.evaluate([third_p, seventh_p], modular, residue)[0] == 19


def test_derivatives_of_a_sequence_agree_with_differences(rng: Random) -> None:
    s = pendulum()
    f, df = s.compile(), s.differentiate().compile()
    point, h = rng.normal(size=2), 1e-6
    columns = [(f(point + h * e) - f(point - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(df(point).reshape(3, 2), np.array(columns).T, atol=1e-9)
    np.testing.assert_allclose(s.differentiate([y]).compile()(point), df(point).reshape(3, 2)[:, 1], atol=1e-15)


def test_a_compiled_sequence_takes_points_in_arrays_of_any_shape(rng: Random) -> None:
    f = pendulum().compile()
    points = rng.normal(size=(4, 5, 2))
    expected = np.stack([np.cos(points[..., 0]), np.sin(points[..., 0])], axis=-1) * points[..., 1:]
    expected = np.concatenate([expected, expected.sum(axis=-1, keepdims=True)], axis=-1)
    np.testing.assert_allclose(f(points), expected, rtol=1e-14)
    np.testing.assert_allclose(f(points[0, 0]), expected[0, 0], rtol=1e-14)
    assert f(points[:0]).shape == (0, 5, 3)
    for wrong in (points[..., :1], 1.0, [[1.0, 2.0], [3.0]], ["a", "b"], [1j, 2j], [None, 1.0]):
        with pytest.raises(UsageError, match=r"takes (2 numbers|arrays of real)"):
            f(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("not-an-expression", lambda: ComputationSequence("f", [x], [1.0])),  # type: ignore[list-item]
        ("not-an-expression", lambda: ComputationSequence("f", x, [x])),  # type: ignore[arg-type]
        ("not-an-expression", lambda: lu({(0, 0): 2.0}, 1)),  # type: ignore[dict-item]
        ("duplicate-input", lambda: ComputationSequence("f", [x, x], [x]).compile()),
        ("missing-input", lambda: ComputationSequence("f", [x], [x + y]).compile()),
        ("missing-input", lambda: ComputationSequence("f", [x], [x + y]).write("c")),
        ("missing-input", lambda: pendulum().differentiate([a])),
        ("bad-values", lambda: pendulum().evaluate([1.0])),
        ("bad-values", lambda: pendulum().evaluate({x: 1.0, y: 2.0})),
        ("bad-values", lambda: pendulum().evaluate(1.0)),  # type: ignore[arg-type]
        ("bad-labels", lambda: pendulum().write("c", ["one"])),
        ("bad-name", lambda: ComputationSequence("a b", [x], [x]).write("c")),
        ("unknown-language", lambda: pendulum().write("cobol")),
        ("bad-entry", lambda: lu({(0, 2): x}, 2)),
        ("bad-rows", lambda: lu({(0, 0): x}, 1, pivoting=[1])),
        ("bad-rows", lambda: lu({(0, 0): x, (1, 1): y}, 2, pivoting=[0, 0])),
        ("bad-rows", lambda: lu({(0, 0): x, (1, 1): y}, 2, pivoting=[1])),
        ("bad-right-side", lambda: lu({(0, 0): x}, 1).solve([x, y])),
        ("bad-samples", lambda: lu({(0, 0): x}, 1, samples=[{}])),
        ("bad-letter", lambda: Hierarchy("2")),
        ("structure-not-square", lambda: analyse([], [])),
    ],
)
def test_what_no_sequence_can_be_made_of_is_said(code: str, wrong: Callable[[], object]) -> None:
    with pytest.raises(LinkworkError) as error:
        wrong()
    assert error.value.code == code


def test_a_sequence_may_be_called_like_a_function_of_the_c_library() -> None:
    for name in ("cos", "malloc", "a name"):
        assert ComputationSequence(name, [x], [sin(x)]).compile()([2.0]) == pytest.approx([np.sin(2.0)], abs=1e-15)


def test_inputs_may_be_expressions_in_every_language() -> None:
    """With sin(x) for an input nothing is left of x."""
    s = ComputationSequence("f", [sin(x), y], [2 * sin(x) * y])
    assert s.compile()([3.0, 5.0]) == s.evaluate([3.0, 5.0]) == [30.0]
    module: dict[str, Any] = {}
    exec(s.write("python"), module)
    assert module["f"](3.0, 5.0) == (30.0,)


def test_veiled_expressions_are_unveiled_to_any_depth() -> None:
    """W1 = a + b, W2 = W1^2 + c, W3 = sin(W2): one level at a time, then all."""
    W = Hierarchy(largest=1)
    W_1 = W.veil(a + b)
    W_2 = W.veil(W_1 * W_1 + c)
    W_3 = W.veil(sin(W_2) * W_1)
    assert [str(s.value) for s in (W_1, W_2, W_3)] == ["W1", "W2", "W3"]
    assert W.last_used == 3
    assert W.veil(a + b) is W_1, "the same expression has the same symbol"
    assert W.veil(-(a * b + c)) is -W.veil(a * b + c)
    assert W.unveil([W_3], 1) == [sin(W_2) * W_1]
    assert W.unveil([W_3], 2) == [sin(W_1 * W_1 + c) * (a + b)]
    assert W.unveil([W_3]) == [sin((a + b) ** 2 + c) * (a + b)]
    lines, shown = W.lines([W_2 + 1])
    assert lines == [(W_1, a + b), (W_2, W_1 * W_1 + c)]
    assert shown == [W_2 + 1]


def test_what_is_not_larger_than_the_rule_is_not_veiled() -> None:
    W = Hierarchy("V", largest=4)
    assert W.veil(a * b + c) is a * b + c
    assert W.veil(a * b + c, largest=2) is symbol("V1")
    assert size_of(a * b + c) == 3


def test_a_symbol_of_the_user_cannot_be_taken_for_a_veiled_one() -> None:
    with pytest.raises(UsageError, match="'W7' is a name of this hierarchy"):
        Hierarchy().veil(symbol("W7") + a)
    A = {(0, 0): symbol("W1") + a * b, (0, 1): symbol("W1"), (1, 0): a, (1, 1): b * c + symbol("W2")}
    factors = lu(A, 2)
    at = {s: 0.5 + k for k, s in enumerate((a, b, c, symbol("W1"), symbol("W2")))}
    expected = np.linalg.solve(numbers(A, 2, at), [1.0, 1.0])
    np.testing.assert_allclose(evaluate(factors.hierarchy.unveil(factors.solve([ONE, ONE])), at), expected, rtol=1e-13)


def test_unveiling_a_long_chain_takes_no_more_than_its_length() -> None:
    """Written out, the last of these has 2^60 symbols; the sequence has two operations for each."""
    W = Hierarchy()
    last = a
    for _ in range(60):
        last = W.veil(last * last + last)
    s = W.sequence("f", [a], [last])
    assert len(s.operations) == 120
    assert s.expanded > 2**59
    assert W.last_used == 60


def identities() -> list[Expr]:
    """Expressions that are zero, but not by their graph."""
    t = tan(a)
    return [
        sin(a) ** 2 + cos(a) ** 2 - 1,
        sin(a + b) - (sin(a) * cos(b) + cos(a) * sin(b)),
        cos(2 * a - 3 * b) - (cos(2 * a) * cos(3 * b) + sin(2 * a) * sin(3 * b)),
        sin(2 * a) - 2 * sin(a) * cos(a),
        cos(a) - (1 - 2 * sin(a / 2) ** 2),
        sin(3 * a) - (3 * sin(a) - 4 * sin(a) ** 3),
        sin(a) - (3 * sin(a / 3) - 4 * sin(a / 3) ** 3),
        sin(0.2 * a) - 2 * sin(0.1 * a) * cos(0.1 * a),
        sin(a / 7 + b / 5) - (sin(a / 7) * cos(0.2 * b) + cos(a / 7) * sin(0.2 * b)),
        sin(np.pi / 180 * a * 2) - 2 * sin(np.pi / 180 * a) * cos(np.pi / 180 * a),
        cos(2 * x * a) - (1 - 2 * sin(x * a) ** 2),
        cos(x * (a / y)) - (1 - 2 * sin(x * a / (2 * y)) ** 2),
        cos(a + np.pi / 2) + sin(a),
        sin(a - np.pi) + sin(a),
        1 + t * t - 1 / cos(a) ** 2,
        1 / (x - y) - 1 / (x + y) - 2 * y / (x * x - y * y),
        (x**3 - y**3) / (x - y) - (x * x + x * y + y * y),
        x / 3 * 3 - x,
        sqrt(x * x + y * y) ** 2 - (x * x + y * y),
        exp(x + y) - exp(y + x + 0 * a),
        cos(x * y + a) - cos(a + y * x),
        sin(x * (a + b)) - sin(x * a + x * b),
    ]


def test_expressions_that_vanish_by_identities_are_recognized() -> None:
    zero = Signature()
    missed = [k for k, expr in enumerate(identities()[:-1]) if not zero.is_zero(expr)]
    assert not missed
    changed = [k for k, expr in enumerate(identities()) if zero.is_zero(expr + x / 2**40)]
    assert not changed


@pytest.mark.parametrize("seed", range(24))
def test_roots_are_positive_roots(seed: int) -> None:
    """In a field sqrt(9 x) may be -3 sqrt(x); of real numbers it is 3 sqrt(x), and sqrt(x^2) is |x|."""
    zero = Signature(seed=seed)
    W = Hierarchy()
    root = Signature(W, seed)
    assert not zero.is_zero(sqrt(9 * x) + 3 * sqrt(x))
    assert not zero.is_zero(sqrt(x * x) - x)
    assert not zero.is_zero(sqrt(x * x) + x)
    assert not root.is_zero(W.veil(sqrt(9 * x) + y) + 3 * sqrt(x) - y), "a root in a definition"
    assert zero.is_zero((sqrt(x) - y) * (sqrt(x) + y) - (x - y * y))
    assert zero.is_zero(x / sqrt(x * x + y * y) - x * sqrt(x * x + y * y) / (x * x + y * y))


def test_decimals_are_the_numbers_that_are_written() -> None:
    zero = Signature()
    assert zero.is_zero(0.1 * x + 0.2 * x - 0.3 * x)
    assert zero.is_zero(sin(0.1 * a + 0.2 * a) - sin(0.3 * a))
    assert not zero.is_zero(0.1 * x + 0.2 * x - 0.30000000000000004 * x)


def test_values_of_many_veiled_symbols_are_found_without_going_through_all_of_them() -> None:
    """The definitions are looked up one by one: the value of each new symbol costs what its definition holds."""
    W, asked = Hierarchy(), list[Expr]()

    class Counting(dict[Expr, Expr]):
        def items(self) -> Any:
            asked.extend(self)
            return super().items()

    W._definitions = Counting()
    zero, last = Signature(W), a
    for _ in range(50):
        last = W.veil(last * b + c)
        assert not zero.is_zero(last - a)
    assert not asked


def test_no_constant_is_taken_for_zero() -> None:
    zero = Signature()
    assert zero.is_zero(ZERO)
    assert not any(map(zero.is_zero, (ONE, constant(1e-300), constant(-3.0), sin(a), x, sqrt(-x * x - 1))))


def entry(dice: Dice, atoms: list[Expr], depth: int = 2) -> Expr:
    """A random rational function of sines, cosines and parameters."""
    if depth == 0:
        angle = dice.choice(atoms) + dice.choice([0, 1, 2]) * dice.choice(atoms)
        return dice.choice([sin(angle), cos(angle), dice.choice(atoms), constant(dice.randint(1, 5))])
    first, second = entry(dice, atoms, depth - 1), entry(dice, atoms, depth - 1)
    return dice.choice([first + second, first - second, first * second, first / (second * second + 1)])


def disguised(dice: Dice, expr: Expr, atoms: list[Expr]) -> Expr:
    """The same in another form."""
    u, v = dice.choice(atoms), dice.choice(atoms)
    one = sin(u) ** 2 + cos(u) ** 2
    none = sin(u + v) - sin(u) * cos(v) - cos(u) * sin(v)
    return dice.choice([expr * one, expr + none * v, (expr * (u * u + 1)) / (u * u + 1) + none])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.sampled
def test_the_rank_of_matrices_that_are_singular_by_construction(seed: int) -> None:
    """A = B C in disguise, B n x r and C r x n: elimination ends after r pivots, in any order."""
    dice = Dice(seed)
    print(f"seed {seed}")
    n = dice.randint(3, 6)
    r = dice.randint(1, n - 1)
    atoms = [a, b, c]
    B = [[entry(dice, atoms) for _ in range(r)] for _ in range(n)]
    C = [[entry(dice, atoms) for _ in range(n)] for _ in range(r)]
    A: dict[tuple[int, int], Expr] = {}
    for i in range(n):
        for j in range(n):
            exact = sum((B[i][k] * C[k][j] for k in range(r)), ZERO)
            A[i, j] = disguised(dice, exact, atoms)
    for pivoting in STRATEGIES:
        found = lu(A, n, pivoting=pivoting)
        assert found.rank == r, pivoting
        with pytest.raises(UsageError, match=f"rank {r} of {n}"):
            found.solve([ONE] * n)
    assert lu(A, n, pivoting="smallest", columns="free").rank == r
    A[n - 1, n - 1] = A[n - 1, n - 1] + x
    assert lu(A, n).rank == r + 1


def numbers(A: dict[tuple[int, int], Expr], n: int, at: dict[Expr, float]) -> Array:
    matrix = np.zeros((n, n))
    for place, value in zip(A, evaluate(A.values(), at), strict=True):
        matrix[place] = value
    return matrix


@pytest.mark.parametrize("fraction_free", [False, True])
@pytest.mark.parametrize(("pivoting", "columns"), [(s, "given") for s in STRATEGIES] + [("smallest", "free")])
def test_factors_solutions_and_determinants_agree_with_numpy(
    pivoting: str, columns: str, fraction_free: bool, rng: Random
) -> None:
    """Random sparse matrices of expressions with zeros on the diagonal, at random points."""
    dice = Dice(int(rng.integers(10**6)))
    for n in (1, 2, 4, 7):
        A = {(i, (i + 1) % n): entry(dice, [a, b, c]) + 3 for i in range(n)}
        A |= {
            (i, j): entry(dice, [a, b, c])
            for i in range(n)
            for j in range(n)
            if dice.random() < 0.4 and (i, j) not in A and i != j
        }
        right = [entry(dice, [a, b, c]) for _ in range(n)]
        factors = lu(A, n, pivoting=pivoting, columns=columns, fraction_free=fraction_free)
        at = {s: float(rng.uniform(0.5, 1.5)) for s in (a, b, c)}
        matrix = numbers(A, n, at)
        if factors.rank < n:
            assert abs(np.linalg.det(matrix)) < 1e-12
            continue
        W = factors.hierarchy
        expected = np.linalg.solve(matrix, evaluate(right, at))
        scale = np.linalg.cond(matrix) * max(1.0, float(np.max(np.abs(expected))))
        found = evaluate(W.unveil(factors.solve(right)), at)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * scale)
        (determinant,) = evaluate(W.unveil([factors.determinant]), at)
        np.testing.assert_allclose(determinant, np.linalg.det(matrix), rtol=1e-8)
        if not fraction_free:
            L = np.eye(n) + numbers(dict(zip(factors.L, W.unveil(factors.L.values()), strict=True)), n, at)
            U = numbers(dict(zip(factors.U, W.unveil(factors.U.values()), strict=True)), n, at)
            np.testing.assert_allclose(L @ U, matrix[np.ix_(factors.rows, factors.columns)], atol=1e-10 * scale)


def test_a_named_row_with_a_zero_gives_way() -> None:
    A = {(0, 1): a, (1, 0): b, (1, 1): c}
    factors = lu(A, 2, pivoting=[0, 1])
    assert factors.rows == (1, 0)
    with pytest.raises(UsageError, match="no pivoting 'smalest'; did you mean 'smallest'"):
        lu(A, 2, pivoting="smalest")


def test_an_order_of_columns_is_kept_or_refused() -> None:
    A = {(0, 0): a, (0, 1): b, (1, 0): b, (1, 1): c}
    assert lu(A, 2, pivoting="first", columns=[1, 0]).columns == (1, 0)
    for columns in ([0], [0, 0], [1, 2]):
        with pytest.raises(UsageError, match="each of 0 to 1 once"):
            lu(A, 2, pivoting="first", columns=columns)
    for order in ("free", [1, 0]):
        with pytest.raises(UsageError, match="orders the columns itself"):
            lu(A, 2, columns=order)


@pytest.mark.parametrize(("name", "size"), [("slider_crank", 17), ("andrews_squeezer", 41), ("planar_chain:12", 60)])
def test_explicit_accelerations_of_mechanisms_agree_with_the_numerical_solution(name: str, size: int) -> None:
    """Compiled, at the start, to 1e-10 of the accelerations and of the multipliers."""
    compare_with_numpy(name, size)


@pytest.mark.slow
def test_explicit_accelerations_of_an_overconstrained_linkage() -> None:
    """Of Bricard's linkage one row of 30 is left out."""
    compare_with_numpy("bricard", None)


def compare_with_numpy(name: str, size: int | None) -> None:
    mechanism = prepare(load(name))
    e, place = mechanism.equations, mechanism.place()
    rows = place.rows.independent
    A, right = leading_system(e, rows)
    solved = solve_explicitly(e, rows, samples=[place.values])
    assert solved.factors.rank == len(right)
    assert size is None or size == len(right)
    inputs: Any = [*place.values]
    f = solved.factors.hierarchy.sequence("f", inputs, [*solved.a, *solved.lam]).compile()
    matrix = numbers(A, len(right), place.values)
    expected = np.linalg.solve(matrix, np.array(evaluate(right, place.values)))
    found = f([*place.values.values()])
    n = len(e.v)
    kept = [*range(n), *(n + k for k in rows)]
    for part in (slice(0, n), slice(n, None)):
        scale = np.max(np.abs(expected[part]))
        np.testing.assert_allclose(found[kept][part], expected[part], rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("name", ["slider_crank", "four_bar", "andrews_squeezer", "universal_shaft"])
@pytest.mark.sampled
def test_pivots_by_numbers_are_those_of_the_symbolic_elimination(name: str) -> None:
    """At the start and beside it, with any least pivot: so a run finds its code without solving once more."""
    e = prepare(load(name)).equations
    start = Place(e, *e.start())
    for place in (start, start.moved(0.3 * start.v_scale * np.random.default_rng(3).normal(size=len(e.v)))):
        rows = place.rows.independent
        J, n = place.Psi_q[list(rows)], len(e.v) + len(rows)
        A = np.block([[place.M, J.T], [J, np.zeros((len(rows), len(rows)))]])
        order = sparse_order(leading_system(e, rows)[0], n)
        for least in (1e-9, 0.03):
            factors = solve_explicitly(e, rows, samples=[place.values], least=least).factors
            assert choose_pivots(A, order, least) == [*zip(factors.rows, factors.columns, strict=True)]
