"""The linear system of the equations, and how it is divided by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkwork.equations.equations import Equations
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import ZERO, Expr, symbol
from linkwork.sequences.entries import Entries, plus, transpose
from linkwork.sequences.ldl import factorize

if TYPE_CHECKING:
    from linkwork.sequences.articulated import Solver


def eps_of(e: Equations) -> list[Expr]:
    return [symbol(f"eps {row}") for row in e.rows]


def kept_of(e: Equations) -> list[Expr]:
    """Return a symbol per row: 1 if a form with multipliers as unknowns keeps it, 0 if it depends on others."""
    return [symbol(f"kept {row}") for row in e.rows]


def mobility_of(e: Equations) -> list[Expr]:
    """Return one symbol per velocity: its diagonal entry of W^-1, which weights corrections along Psi_q^T."""
    return [symbol(f"mobility {name}") for name in e.v_names]


def on_bodies(e: Equations) -> dict[tuple[int, int], Expr]:
    """Return D of a chain: the derivatives of Psi_dot with respect to the velocities of its bodies."""
    return {} if e.hints.chain is None else jacobian(e.Psi_dot, e.hints.chain.y)


def bordered(e: Equations, metric: Entries) -> dict[tuple[int, int], Expr]:
    """Return the lower half of [metric, Psi_q^T; Psi_q, 0]."""
    n = len(e.v)
    lower = {(i, j): entry for (i, j), entry in metric.items() if i >= j}
    return lower | {(n + i, j): entry for (i, j), entry in e.Psi_q.items()}


def factor_in(e: Equations, metric: Entries) -> Solver:
    """Factor [metric, Psi_q^T; Psi_q, -eps]."""
    n, m = len(e.v), len(e.Psi)
    regularized = {(n + i, n + i): -x for i, x in enumerate(eps_of(e))}
    turning: dict[str, list[int]] = {}  # velocities with which a body turns
    for k, velocity in enumerate(e.velocities):
        if velocity.kind == "angle":
            turning.setdefault(velocity.owner, []).append(k)
    return factorize(n + m, bordered(e, metric) | regularized, range(n, n + m), turning.values())


def factor_of(e: Equations) -> Solver:
    """Factor [M, Psi_q^T; Psi_q, -eps], M regular; of a chain link by link."""
    if e.hints.chain is not None:
        from linkwork.sequences.articulated import articulate

        return articulate(e.hints.chain.tree, e.hints.chain.M, on_bodies(e), eps_of(e))
    return factor_in(e, {**{(i, i): ZERO for i in range(len(e.v))}, **e.M})


def multiply(e: Equations, x: Sequence[Expr]) -> list[Expr]:
    """Multiply x = (a, lam): (M a + Psi_q^T lam, Psi_q a); of a chain (B^T (M_b B a + D^T lam), D B a)."""
    if e.hints.chain is None:
        product = [ZERO] * len(x)
        for (i, j), entry in bordered(e, e.M).items():
            product[i] = product[i] + entry * x[j]
            if i != j:
                product[j] = product[j] + entry * x[i]
        return product
    tree, n = e.hints.chain.tree, len(e.v)
    y, D = tree.spread(tree.along(x[:n])), on_bodies(e)
    force = plus(plus([ZERO] * tree.n_b, e.hints.chain.M, y), transpose(D), x[n:])
    return [*tree.gather(force)[1], *plus([ZERO] * len(e.Psi), D, y)]


def count_operations(e: Equations) -> int:
    """Count the operations for accelerations and multipliers at a state."""
    solution = factor_of(e).solve([*e.Q, *e.gamma])
    return sum(1 for node in ordered([*e.qd, *solution]) if node.args)
