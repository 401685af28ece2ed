"""Accelerations and multipliers as explicit expressions: symbolic LU of the leading-linear system.

    A X = b,    A = [ M  Psi_q^T ; Psi_q  0 ],    X = (a, lam),    b = (Q, gamma)            [zhou2007, eq. (11)]

with det A != 0 where the rows of Psi_q that are used are independent and hold every motion without inertia.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linkwork.equations.equations import Equations
from linkwork.errors import ModelError
from linkwork.expressions.evaluation import substitute
from linkwork.expressions.graph import ZERO, Expr
from linkwork.sequences.entries import plus
from linkwork.symbolic.hierarchy import Hierarchy, unused_letter
from linkwork.symbolic.lu import LU, lu
from linkwork.symbolic.structural import rate_of
from linkwork.tolerances import AGREEMENT


@dataclass(frozen=True)
class Explicit:
    """a and lam in the symbols of the factors' hierarchy; lam of rows that are not used is zero."""

    factors: LU
    a: tuple[Expr, ...]
    lam: tuple[Expr, ...]

    def unveiled(self) -> tuple[list[Expr], list[Expr]]:
        """Return (a, lam) and the pivots, as expressions of the state and parameters."""
        found = self.factors.hierarchy.unveil([*self.a, *self.lam, *self.factors.pivots])
        return found[: len(self.a) + len(self.lam)], found[len(self.a) + len(self.lam) :]


def leading_system(e: Equations, rows: Sequence[int]) -> tuple[dict[tuple[int, int], Expr], list[Expr]]:
    """Return the entries of A and b with these rows of Psi."""
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
    least: float = AGREEMENT,
    columns: str | Sequence[int] = "given",
) -> Explicit:
    """Solve for a and lam by LU with these rows of Psi; raise ModelError where det A is zero whatever the state."""
    n = len(e.v)
    A, b = leading_system(e, rows)
    hierarchy = hierarchy or Hierarchy(unused_letter([*A.values(), *b]))
    A, b = dict(zip(A, hierarchy.fold(A.values()), strict=True)), hierarchy.fold(b)
    size = n + len(rows)
    factors = lu(A, size, pivoting=pivoting, columns=columns, hierarchy=hierarchy, samples=samples, least=least)
    if factors.rank < factors.size:
        left = [k for k in range(factors.size) if k not in factors.rows]
        names = ", ".join(f"'{e.v_names[k]}'" if k < n else f"'{e.rows[rows[k - n]]}'" for k in left)
        reason = f"the accelerations are not determined: det A is zero, and nothing is left to solve {names} from"
        raise ModelError(reason, "singular-equations")
    x = factors.solve(b)
    found = dict(zip(rows, x[n:], strict=True))
    return Explicit(factors, tuple(x[:n]), tuple(found.get(row, ZERO) for row in range(len(e.Psi))))


def as_dae(e: Equations, rows: Sequence[int] | None = None) -> tuple[list[Expr], list[Expr], list[str]]:
    """Return F(t, x, x', ...) = 0 with these rows of Psi or all, its unknowns x = (q, lam) and names of its equations.

    Where velocities are not the rates of coordinates, they are unknowns too, and qd = N(q) v are equations. Coordinates
    that only count the turns of others are no unknowns.
    """
    placed = len(e.v) if e.qd[: len(e.v)] == e.v else len(e.q) - e.n_states
    q, qd, z = e.q[:placed], e.qd[:placed], e.q[len(e.q) - e.n_states :]
    second_order = qd == e.v
    rates = [rate_of(x) for x in q]
    accelerations = [rate_of(x, 2) if second_order else rate_of(v) for x, v in zip(q, e.v, strict=False)]
    forces = plus([-force for force in e.Q], e.M, accelerations)
    rows = range(len(e.Psi)) if rows is None else rows
    Psi, lam = [e.slips.get(i, e.Psi[i]) for i in rows], [e.lam[i] for i in rows]
    forces = plus(forces, {(j, i): x for (i, j), x in e.Psi_q.items() if i in rows}, e.lam)
    names = [*(f"motion of {name}" for name in e.v_names), *(str(e.rows[i]) for i in rows)]
    names += [f"rate of {x.value}" for x in z]
    states = [rate_of(x) - rate for x, rate in zip(z, e.rates, strict=True)]
    if second_order:
        F = substitute([*forces, *Psi, *states], dict(zip(e.v, rates, strict=True)))
        return F, [*q, *lam, *z], names
    kinematic = [rate - given for rate, given in zip(rates, qd, strict=True)]
    own = [f"rate of {name}" for name in e.q_names[:placed]]
    return [*kinematic, *forces, *Psi, *states], [*q, *e.v, *lam, *z], [*own, *names]
