"""Where expressions switch: functions at whose zeros an operation jumps or bends, and their zeros in time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.expressions.evaluation import evaluate, numpy_arithmetic
from linkwork.expressions.graph import Expr

Array = NDArray[np.float64]

# Points of the grids on which sign changes are looked for: denser ones until no more are found. No size divides
# another, so that what repeats itself in time does not look the same on two of them.
GRIDS = (4001, 16411, 65537, 262147, 1048583)
MOST_CROSSINGS = 100_000
HALVINGS = 60  # of an interval of the grid: down to neighbouring doubles


def switch(node: Expr) -> Expr | None:
    """The expression at whose zeros a comparison changes, or min, max, abs or sign bend or jump."""
    if node.op in ("lt", "le", "min", "max"):
        return node.args[0] - node.args[1]
    return node.args[0] if node.op in ("sign", "abs", "atan2") else None


def dependent(nodes: Iterable[Expr], on: Iterable[Expr]) -> set[Expr]:
    """Those of the nodes, arguments before their users, that depend on some symbols."""
    found = set(on)
    for node in nodes:
        if any(a in found for a in node.args):
            found.add(node)
    return found


def sampled(f: Expr, time: Expr, given: Mapping[Expr, Any]) -> Callable[[Array], Array]:
    """A function of time alone, for many times at once."""

    def at(t: Array) -> Array:
        with np.errstate(all="ignore"):
            values = evaluate([f], {**given, time: t}, numpy_arithmetic())[0]
        return np.broadcast_to(np.asarray(values, dtype=float), t.shape)

    return at


def crossings(g: Callable[[Array], Array], t: Array) -> list[float]:
    """Times within the grid at which g changes sign, by bisection: the first double behind each change."""
    signs = np.sign(g(t))
    before = np.flatnonzero(signs[:-1] != signs[1:])[:MOST_CROSSINGS]
    a, b, left = t[before], t[before + 1], signs[before]
    for _ in range(HALVINGS if len(before) else 0):
        middle = 0.5 * (a + b)
        same = np.sign(g(middle)) == left
        a, b = np.where(same, middle, a), np.where(same, b, middle)
    return [float(x) for x in b if 0 < x < t[-1]]


def all_crossings(g: Callable[[Array], Array], t_end: float) -> list[float]:
    """The sign changes of g from 0 to t_end, on a grid that shows as many as the one before it."""
    count = -1
    for size in GRIDS:
        t = np.linspace(0.0, t_end, size)
        signs = np.sign(g(t))
        last, count = count, int(np.count_nonzero(signs[:-1] != signs[1:]))
        if count == last:
            break
    return crossings(g, t)
