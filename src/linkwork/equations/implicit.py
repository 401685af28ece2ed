"""The motion as M y' = f(t, y) for implicit integrators, with exact Jacobians.

Accelerations a(t, q, v) of any formulation follow from K (a, lam) = (Q, gamma), so that

    K d(a, lam) = d(Q - M a - Psi_q^T lam, gamma - Psi_q a)        at fixed a and lam,

for a change of q and v, with the K of the linear system: `linearize` gives the right sides, `solve` divides by K.

Differential-algebraic forms have accelerations and multipliers among their unknowns:

    index-3    qd = N v,                   v' = a,  0 = Q - M a - Psi_q^T lam,  0 = Psi
               y = (q, v, work, a, lam)                                           [pennestri2004, eqs. (7)-(9)]
    ggl        qd = N (v - Psi_q^T mu),    v' = a,  0 = Q - M a - Psi_q^T lam,  0 = Psi,  0 = Psi_dot
               y = (q, v, work, a, lam, mu)                                       [gear1985]

M may be singular as long as the constraints leave no motion without inertia.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkwork.equations.equations import TIME, Equations
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import substitute
from linkwork.expressions.graph import ZERO, Expr, symbol
from linkwork.sequences.articulated import Solver
from linkwork.sequences.sequence import ComputationSequence

WORK = (symbol("work dissipated"), symbol("work supplied"))  # carried along as two more unknowns of the integration
N_WORK = len(WORK)


class Algebraic(NamedTuple):
    """A form with algebraic unknowns: the index of q, v and those, and whether mu is among them."""

    q: int
    v: int
    algebraic: int
    has_mu: bool

    def size(self, n: int, m: int) -> int:
        """How many algebraic unknowns there are with n velocities and m constraints."""
        return n + m + (m if self.has_mu else 0)


ALGEBRAIC = {"index-3": Algebraic(1, 2, 3, False), "ggl": Algebraic(1, 1, 2, True)}


def linearized(e: Equations, factor: Solver) -> list[ComputationSequence]:
    """linearize: (t, q, v, a, lam) -> for each of q and v the derivatives of qd, work rates and the right sides above.

    Behind them are those of the work rates by (a, lam). solve: (factor, right side) -> (a, lam).
    """
    n, m, x = len(e.v), len(e.Psi), (*e.q, *e.v)
    right = [*_pushed(e, e.lam, e.Q), *e.gamma]
    for (i, j), entry in e.M.items():
        right[i] = right[i] - entry * e.a[j]
    for (i, j), entry in e.Psi_q.items():
        right[n + i] = right[n + i] - entry * e.a[j]
    powers = [e.dissipation, e.supplied_power]
    moving, by_solution = jacobian([*e.qd, *powers, *right], x), jacobian(powers, (*e.a, *e.lam))
    rows = len(e.qd) + len(powers) + len(right)
    outputs = [moving.get((i, j), ZERO) for j in range(len(x)) for i in range(rows)]
    outputs += [by_solution.get((i, j), ZERO) for i in range(len(powers)) for j in range(n + m)]
    b = [symbol(f"right side {k}") for k in range(n + m)]
    return [
        ComputationSequence("linearize", (TIME, *x, *e.a, *e.lam), outputs),
        ComputationSequence("solve", (*factor.entries(), *b), factor.solve(b)),
    ]


class Implicit(NamedTuple):
    """f of M y' = f(t, y) with its unknowns and its Jacobian, the entries that are not identically zero."""

    y: tuple[Expr, ...]
    f: tuple[Expr, ...]
    f_y: dict[tuple[int, int], Expr]


def algebraic(e: Equations, form: str) -> Implicit:
    mu = tuple(symbol(f"mu {k}") for k in range(len(e.Psi)))
    y, qd, gaps = [*e.q, *e.v, *WORK, *e.a, *e.lam], list(e.qd), list(e.Psi)
    if ALGEBRAIC[form].has_mu:
        along = {v: v + push for v, push in zip(e.v, _pushed(e, mu, [ZERO] * len(e.v)), strict=True)}
        y, qd, gaps = [*y, *mu], substitute(e.qd, along), [*e.Psi, *e.Psi_dot]
    force = _pushed(e, e.lam, e.Q)
    for (i, j), entry in e.M.items():
        force[i] = force[i] - entry * e.a[j]
    f = [*qd, *e.a, e.dissipation, e.supplied_power, *force, *gaps]
    return Implicit(tuple(y), tuple(f), jacobian(f, y))


def _pushed(e: Equations, multipliers: Sequence[Expr], force: Sequence[Expr]) -> list[Expr]:
    """force - Psi_q^T multipliers."""
    total = list(force)
    for (i, j), entry in e.Psi_q.items():
        total[j] = total[j] - entry * multipliers[i]
    return total


def algebraic_programs(e: Equations, form: str) -> list[ComputationSequence]:
    """implicit: (t, y) -> f, and implicit_jacobian: (t, y) -> the entries of f_y."""
    y, f, f_y = algebraic(e, form)
    return [
        ComputationSequence("implicit", (TIME, *y), f),
        ComputationSequence("implicit_jacobian", (TIME, *y), [*f_y.values()]),
    ]
