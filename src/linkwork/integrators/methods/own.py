"""Explicit Runge-Kutta methods of users: Butcher's tableau, checked against the order conditions.

A method has order p if, for every rooted tree of at most p nodes,    b . Phi(tree) = 1/density(tree),

    Phi(tree) = product over its branches of A Phi(branch),    density = nodes * product of the densities of branches
                                                                                       [hairer1993, section II.2]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations_with_replacement
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import UsageError, check_number, checked_call
from linkwork.integrators.methods import integrators
from linkwork.integrators.methods.tableaus import EXPLICIT, Row, Tableau
from linkwork.tolerances import TYPED

Array = NDArray[np.float64]
Tree: TypeAlias = tuple["Tree", ...]  # its branches

OWN = "own"  # the source of a method
HIGHEST = 5  # order: one further stage gives a solution inside steps of order 4, and the cubic of below does without


def nodes(tree: Tree) -> int:
    return 1 + sum(map(nodes, tree))


@cache
def trees(count: int) -> tuple[Tree, ...]:
    """Return all rooted trees of so many nodes."""
    return tuple(dict.fromkeys(tuple(sorted(tree)) for tree in _forests(count - 1, count - 1)))


def _forests(count: int, largest: int) -> Iterator[Tree]:
    """Return collections of trees with so many nodes in all, none larger than `largest`."""
    if count == 0:
        yield ()
    for size in range(min(count, largest), 0, -1):
        for many in range(1, count // size + 1):
            for some in combinations_with_replacement(trees(size), many):
                for rest in _forests(count - many * size, size - 1):
                    yield (*some, *rest)


def weight(tree: Tree, A: Array) -> Array:
    """Compute Phi of every stage."""
    return np.asarray(np.prod([np.ones(len(A)), *(A @ weight(branch, A) for branch in tree)], axis=0))


def density(tree: Tree) -> int:
    return nodes(tree) * int(np.prod([density(branch) for branch in tree], dtype=int))


def order_of(A: Array, b: Array, most: int) -> int:
    """Return the order of a method, `most` at most."""
    for order in range(1, most + 1):
        for tree in trees(order):
            if abs(b @ weight(tree, A) - 1.0 / density(tree)) > TYPED:
                return order - 1
    return most


@checked_call()
def tableau(name: str, A: Sequence[Sequence[float]], b: Sequence[float], b_low: Sequence[float], order: int) -> Tableau:
    """Let all runs know an explicit method by its name.

    Row i of A has the weights of the stages before stage i; `b` are those of the step, of the given order, and `b_low`
    those of a method of lower order, by whose difference steps are chosen, with one number more if it uses the
    derivative at the end of the step. Inside a step the solution is the cubic through its ends, for order 5 a quartic
    by a further stage.
    """
    s = len(b)
    if name in integrators() and getattr(EXPLICIT.get(name), "source", "") != OWN:
        raise UsageError(f"'{name}' is an integrator of linkwork; choose another name", "duplicate-name")
    for weight in (*(x for row in A for x in row), *b, *b_low):
        check_number(f"a weight of '{name}'", weight)
    rows = [tuple(map(float, row))[:k] for k, row in enumerate(A)]
    if len(A) != s or any(len(row) < k or any(row[k:]) for k, row in enumerate(A)):
        message = f"A of '{name}' is not a lower triangle of {s} rows; implicit tableaus are not taken"
        raise UsageError(message, "bad-tableau")
    if len(b_low) not in (s, s + 1):
        raise UsageError(f"b_low of '{name}' has {len(b_low)} weights, not {s} or {s + 1}", "bad-tableau")
    full = np.zeros((s + 1, s + 1))
    for k, row in enumerate((*rows, b)):
        full[k, : len(row)] = row
    if not 1 <= order <= HIGHEST:
        raise UsageError(f"order {order}: orders from 1 to {HIGHEST} are taken", "bad-tableau")
    weights, low = (np.append(x, np.zeros(s + 1 - len(x))) for x in (np.asarray(b, float), np.asarray(b_low, float)))
    if (found := order_of(full, weights, order)) < order:
        message = f"the weights b of '{name}' have order {found}, not {order}"
        raise UsageError(f"{message}; compare A and b with their source", "bad-tableau")
    lower = order_of(full, low, order)
    if lower == 0 or np.allclose(weights, low, rtol=0.0, atol=TYPED):
        message = "do not add up to one" if lower == 0 else "are those of b, and show no error"
        raise UsageError(f"the weights b_low of '{name}' {message}", "bad-tableau")
    inside, quartic = ((), ()) if order < HIGHEST else extend(weights, s)
    E = tuple((weights - low).tolist())
    made = Tableau(name, order, tuple(rows), tuple(map(float, b)), E, lower + 1, quartic, A_dense=inside, source=OWN)
    EXPLICIT[name] = made
    return made


def extend(b: Array, s: int) -> tuple[tuple[Row], tuple[Row]]:
    """Extend by a stage at a quarter of the step, and by the quartic inside the step whose slope there is that stage.

    The stage is on the cubic Hermite polynomial of the step; the quartic adds theta^2 (1 - theta)^2, which has no slope
    in the middle, where the stage would tell nothing.                                  [hairer1993, section II.6]
    """
    x, unit = 1 / 4, np.eye(s + 2)
    b, first, new = np.append(b, 0.0), unit[0], unit[s]
    place = x * b + x * (1 - x) * (first - b) + x * x * (1 - x) * (2 * b - first - new)
    slope = b + (1 - 2 * x) * (first - b) + (2 * x - 3 * x * x) * (2 * b - first - new)
    bend = (unit[s + 1] - slope) / (2 * x * (1 - x) * (1 - 2 * x))
    return (tuple(place[: s + 1].tolist()),), (tuple(bend.tolist()),)
