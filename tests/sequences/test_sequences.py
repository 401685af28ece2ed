"""Elimination orders, LDL^T as a sequence, and what is computed from parameters once."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from random_mechanisms import Array, Random, random_mechanism, values

from linkwork.compiled.system import compile_system
from linkwork.equations.body import body_equations
from linkwork.equations.equations import TIME, Equations
from linkwork.expressions.evaluation import evaluate, ordered
from linkwork.expressions.graph import ONE, Expr, sin, symbol
from linkwork.model import Model
from linkwork.native import machine
from linkwork.sequences.hoisting import parameter_frontier
from linkwork.sequences.ldl import factorize
from linkwork.sequences.ordering import elimination_order


def quasi_definite(n: int, m: int, eps: float, rng: Random) -> Array:
    """[M Psi_q^T; Psi_q -eps] with M > 0, sparse."""
    root = np.where(rng.random((n, n)) < 1.5 / n, rng.normal(size=(n, n)), 0.0)
    Psi_q = np.where(rng.random((m, n)) < 2.5 / n, rng.normal(size=(m, n)), 0.0)
    return np.block([[root @ root.T + 0.5 * np.eye(n), Psi_q.T], [Psi_q, -eps * np.eye(m)]])


def symbols(K: Array) -> dict[tuple[int, int], Expr]:
    return {(i, j): symbol(f"K{i},{j}") for i, j in np.argwhere(np.tril(K)).tolist()}


@pytest.mark.parametrize("eps", [1.0, 1e-10])
@pytest.mark.parametrize(("n", "m"), [(1, 0), (1, 1), (7, 3), (20, 12), (30, 0)])
def test_LDL_solves_sparse_quasi_definite_systems(n: int, m: int, eps: float, rng: Random) -> None:
    """Against NumPy; with a tiny eps the rows of Psi_q are independent, as constraints are."""
    for _ in range(5):
        K = quasi_definite(n, m, eps, rng)
        if eps < 1.0:
            K[n:, :m] += 2.0 * np.eye(m)
            K[:m, n:] += 2.0 * np.eye(m)
        lower, right = symbols(K), [symbol(f"r{k}") for k in range(n + m)]
        factor = factorize(n + m, lower, after=range(n, n + m))
        r = rng.normal(size=n + m)
        at = {entry: float(K[place]) for place, entry in lower.items()} | dict(zip(right, r.tolist(), strict=True))
        expected = np.linalg.solve(K, r)
        tolerance = 1e-14 * np.linalg.cond(K) * np.max(np.abs(expected))
        np.testing.assert_allclose(evaluate(factor.solve(right), at), expected, rtol=0, atol=tolerance)

        # the same pattern, with numbers in the place of the factor's entries
        entries = [symbol(f"factor{k}") for k in range(len(factor.entries()))]
        at |= dict(zip(entries, evaluate(factor.entries(), at), strict=True))
        np.testing.assert_allclose(
            evaluate(factor.with_entries(entries).solve(right), at), expected, rtol=0, atol=tolerance
        )


def test_the_factor_is_that_of_the_permuted_matrix(rng: Random) -> None:
    """P K P^T = L D L^T with unit lower triangular L; the pivots of M are positive, those of -eps negative."""
    n, m = 12, 7
    K = quasi_definite(n, m, 0.1, rng)
    lower = symbols(K)
    factor = factorize(n + m, lower, after=range(n, n + m))
    at = {entry: float(K[place]) for place, entry in lower.items()}
    rank = {k: place for place, k in enumerate(factor.order)}
    L = np.eye(n + m)
    for k, column in enumerate(factor.columns):
        for i, entry in column:
            assert rank[i] > k
            L[rank[i], k] = evaluate([entry], at)[0]
    D = 1.0 / np.array(evaluate(factor.reciprocals, at))
    np.testing.assert_allclose(L * D @ L.T, K[np.ix_(factor.order, factor.order)], atol=1e-12)
    assert all((D[rank[k]] > 0) == (k < n) for k in range(n + m))


def test_order_is_a_permutation_and_rows_wait_for_a_neighbour(rng: Random) -> None:
    for _ in range(50):
        n, m = rng.integers(1, 15, 2).tolist()
        K = quasi_definite(n, m, 1.0, rng)
        pattern = np.argwhere(np.tril(K, -1)).tolist()
        order = elimination_order(n + m, [(i, j) for i, j in pattern], after=range(n, n + m))
        assert sorted(order) == list(range(n + m))
        done: set[int] = set()
        for k in order:
            neighbours = set(np.flatnonzero(K[k]).tolist()) - {k}
            # fill-in counts as neighbourhood: what is eliminated before may have come near through others
            assert k < n or not neighbours or done
            if k >= n and neighbours and not neighbours & done:
                assert reaches(K, k, done)
            done.add(k)


def test_rows_wait_for_all_columns_that_turn_together(rng: Random) -> None:
    """Rows that see two groups of three columns come after all of one group, each."""
    n, m = 12, 4
    for _ in range(20):
        groups = rng.permutation(n).reshape(-1, 3).tolist()
        seen = [rng.choice(len(groups), 2, replace=False).tolist() for _ in range(m)]
        pattern = [(n + i, c) for i, pair in enumerate(seen) for k in pair for c in groups[k]]
        order = elimination_order(n + m, pattern, range(n, n + m), groups)
        place = {k: at for at, k in enumerate(order)}
        for i, pair in enumerate(seen):
            assert place[n + i] > min(max(place[c] for c in groups[k]) for k in pair)


def reaches(K: Array, k: int, through: set[int]) -> bool:
    """Whether an eliminated unknown is joined to k by a path."""
    seen, front = {k}, [k]
    while front:
        i = front.pop()
        for j in np.flatnonzero(K[i]).tolist():
            if j in through:
                return True
            if j not in seen:
                seen.add(j)
                front.append(j)
    return False


def test_a_chain_is_eliminated_without_fill_in() -> None:
    """A tree pattern has a perfect order, and minimum degree finds it."""
    n = 40
    lower = {(k, k): symbol(f"d{k}") for k in range(n)}
    for i, j in pairwise(np.random.default_rng(5).permutation(n).tolist()):
        lower[max(i, j), min(i, j)] = symbol(f"e{i},{j}")
    assert sum(len(column) for column in factorize(n, lower).columns) == n - 1


def parametric(rng: Random) -> Model:
    """A random mechanism with parameters in masses, points and a law."""
    model = random_mechanism(rng)
    first: Any
    second: Any
    first, second, *rest = model.bodies
    forces: Any = model.forces
    k, l1 = symbol("k"), symbol("l1")
    bodies = (replace(first, mass=k * l1 + 1.0), replace(second, inertia=sin(k) + l1**2), *rest)
    forces = tuple(
        replace(force, stiffness=k**3 / l1, damping=k) if force.name == "spring-damper" else force for force in forces
    )
    return replace(model, bodies=bodies, forces=forces, parameters={"k": 1.7, "l1": 0.9})


def at_random(e: Equations, rng: Random) -> Array:
    return np.concatenate([[0.4], rng.uniform(-1, 1, len(e.q)), rng.uniform(-2, 2, len(e.v)), [0.0, 0.0]])


def test_nothing_that_is_hoisted_depends_on_the_state(rng: Random) -> None:
    e = body_equations(parametric(rng))
    frontier = parameter_frontier([*e.Psi_q.values(), *e.M.values(), *e.Q, *e.gamma, *e.Psi], [*e.parameters])
    changing = {TIME, *e.q, *e.v, *e.a, *e.lam, *e.dx}
    assert len(frontier) > 50
    assert not changing & set(ordered(frontier))
    assert all(node.args or node.op == "symbol" for node in frontier)


def test_the_frontier_is_where_parameters_meet_the_state() -> None:
    a, b, x = symbol("a"), symbol("b"), symbol("x")
    inner = sin(a * b + 1.0)
    outputs = [x * inner + a, inner * inner, x + 2.0]
    assert set(parameter_frontier(outputs, [a, b])) == {inner, a, inner * inner}
    assert parameter_frontier([x * x, ONE], [a]) == []


def test_a_new_value_needs_no_new_code(rng: Random, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same machine code with another p gives what a system built with the new values gives."""
    model = parametric(rng)
    system = compile_system(body_equations(model))
    changed = body_equations(replace(model, parameters={"k": 0.6, "l1": 2.2}))
    monkeypatch.setattr(machine, "assemble", lambda *_: pytest.fail("compiled again"))
    fresh = compile_system(changed)
    kept = replace(system, equations=changed)
    x = at_random(changed, rng)
    before = system.functions["dynamics"](x, system.p())
    after = system.functions["dynamics"](x, kept.p())
    np.testing.assert_array_equal(after, fresh.functions["dynamics"](x, fresh.p()))
    assert np.max(np.abs(after - before)) > 1e-3


@pytest.mark.slow
def test_hoisted_constants_change_no_result(rng: Random) -> None:
    """The compiled constraints and energies agree with the expressions, evaluated without hoisting."""
    e = body_equations(parametric(rng))
    system = compile_system(e)
    x = at_random(e, rng)
    at = dict(zip((TIME, *e.q, *e.v), x, strict=False))
    gaps = system.functions["constraints"](x[:-2], system.p())
    np.testing.assert_allclose(gaps, values([*e.Psi, *e.Psi_dot], e, at), rtol=1e-13, atol=1e-13)
    energies = system.functions["report"](np.concatenate([x[:-2], np.ones(system.n_v + system.m)]), system.p())[:2]
    np.testing.assert_allclose(energies, values([e.energy.kinetic, e.energy.potential], e, at), rtol=1e-13)
