"""Accelerations and multipliers as explicit expressions: symbolic LU of the leading-linear system.

    A X = b,    A = [ M  Psi_q^T ; Psi_q  0 ],    X = (a, lam),    b = (Q, gamma)            [zhou2007, eq. (11)]

with det A != 0 where the rows of Psi_q that are used are independent and hold every motion without inertia.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linkwork.equations.equations import Equations
from linkwork.errors import ModelError
from linkwork.expressions.graph import ZERO, Expr
from linkwork.sequences.hierarchy import Hierarchy
from linkwork.sequences.lu import LU, lu


@dataclass(frozen=True)
class Explicit:
    """a and lam in the symbols of the factors' hierarchy; lam of rows that are not used is zero."""

    factors: LU
    a: tuple[Expr, ...]
    lam: tuple[Expr, ...]


def leading_system(e: Equations, rows: Sequence[int]) -> tuple[dict[tuple[int, int], Expr], list[Expr]]:
    """The entries of A and b with these rows of Psi."""
    n, place = len(e.v), {row: k for k, row in enumerate(rows)}
    A = dict(e.M)
    for (i, j), entry in e.Psi_q.items():
        if i in place:
            A[n + place[i], j] = A[j, n + place[i]] = entry
    return A, [*e.Q, *(e.gamma[row] for row in rows)]


def solve_explicitly(
    e: Equations,
    rows: Sequence[int],
    pivoting: str | Sequence[int] = "sparse",
    hierarchy: Hierarchy | None = None,
    samples: Sequence[Mapping[Expr, float]] = (),
) -> Explicit:
    """a and lam by LU with these rows of Psi; a ModelError where det A is zero whatever the state."""
    n = len(e.v)
    A, b = leading_system(e, rows)
    factors = lu(A, n + len(rows), pivoting=pivoting, hierarchy=hierarchy, samples=samples)
    if factors.rank < factors.size:
        left = [k for k in range(factors.size) if k not in factors.rows]
        names = ", ".join(f"'{e.v_names[k]}'" if k < n else f"'{e.rows[rows[k - n]]}'" for k in left)
        reason = f"the accelerations are not determined: det A is zero, and nothing is left to solve {names} from"
        raise ModelError(reason, "singular-equations")
    x = factors.solve(b)
    found = dict(zip(rows, x[n:], strict=True))
    return Explicit(factors, tuple(x[:n]), tuple(found.get(row, ZERO) for row in range(len(e.Psi))))
