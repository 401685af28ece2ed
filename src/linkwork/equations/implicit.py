"""The motion as M y' = f(t, y) for implicit integrators, with exact Jacobians.

Of a motion by its accelerations, M a + Psi_q^T lam = Q and Psi_q a = gamma, `linearize` has the derivatives that may be
large. Differential-algebraic forms have accelerations and multipliers among their unknowns:

    index-3    qd = N v,                        v' = a,  0 = Q - M a - Psi_q^T lam,  0 = Psi
               y = (q, v, work, a, lam)                                           [pennestri2004, eqs. (7)-(9)]
    ggl        qd = N (v - W^-1 Psi_q^T mu),    v' = a,  0 = Q - M a - Psi_q^T lam,  0 = Psi,  0 = Psi_dot
               y = (q, v, work, a, lam, mu)                                       [gear1985]

With W^-1, the squares of lengths and of a radian, mu moves both alike, whatever the size of the mechanism. A constraint
that depends on the others at the start, or holds nothing there, is left out: in place of 0 = Psi_i stands 0 = lam_i,
and in ggl 0 = mu_i and 0 = lam_i. A row A v + b = 0 that is the rate of no Psi takes the place of 0 = Psi_i, and in ggl
has 0 = mu_i beside it. The projection keeps all constraints, and so notices one that is missed.
M may be singular as long as the constraints leave no motion without inertia.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkwork.equations.equations import Equations
from linkwork.equations.linear import kept_of, mobility_of
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import substitute
from linkwork.expressions.graph import ZERO, Expr, symbol
from linkwork.sequences.entries import minus, transpose

WORK = (symbol("work dissipated"), symbol("work supplied"))  # carried along as two more unknowns of the integration
N_WORK = len(WORK)


class Algebraic(NamedTuple):
    """A form with algebraic unknowns: the index of q, v and those, and whether mu is among them."""

    q: int
    v: int
    algebraic: int
    has_mu: bool

    def size(self, n: int, m: int) -> int:
        """Return how many algebraic unknowns there are with n velocities and m constraints."""
        return n + m + (m if self.has_mu else 0)


ALGEBRAIC = {"index-3": Algebraic(1, 2, 3, False), "ggl": Algebraic(1, 1, 2, True)}


class Implicit(NamedTuple):
    """f of M y' = f(t, y) with its unknowns."""

    y: tuple[Expr, ...]
    f: tuple[Expr, ...]

    def f_y(self) -> dict[tuple[int, int], Expr]:
        """Return its Jacobian, the entries that are not identically zero."""
        return jacobian(self.f, self.y)


def implicit_form(e: Equations, form: str) -> Implicit:
    """Derive a form of ALGEBRAIC."""
    mu = tuple(symbol(f"mu {k}") for k in range(len(e.Psi)))
    y, qd = [*e.q, *e.v, *WORK, *e.a, *e.lam], list(e.qd)
    gaps = _kept(e, [e.slips.get(i, gap) for i, gap in enumerate(e.Psi)], e.lam)
    if ALGEBRAIC[form].has_mu:
        push = minus([ZERO] * len(e.v), transpose(e.Psi_q), mu)
        along = {v: v + w * x for v, w, x in zip(e.v, mobility_of(e), push, strict=True)}
        closing = _kept(e, e.Psi, mu)
        for i in e.slips:
            closing[i] = mu[i]
        y, qd, gaps = [*y, *mu], substitute(e.qd, along), [*closing, *_kept(e, e.Psi_dot, e.lam)]
    f = [*qd, *e.a, *e.work_rates, *_force(e), *gaps]
    return Implicit(tuple(y), tuple(f))


def _force(e: Equations) -> list[Expr]:
    """Return what is left of forces, 0 = Q - M a - Psi_q^T lam."""
    return minus(minus(e.Q, transpose(e.Psi_q), e.lam), e.M, e.a)


def linearize(e: Equations) -> list[dict[tuple[int, int], Expr]]:
    """Return derivatives by q and by v of N v, of what is left of forces and of the powers; M and Psi_q.

    In the order of integrators/methods/tangent.py: (N v)_q, N, K, D, M, those of the powers, Psi_q.
    """
    force, powers = _force(e), e.work_rates
    by_q, by_v = ([jacobian(f, x) for f in (e.qd, force, powers)] for x in (e.q, e.v))
    return [by_q[0], by_v[0], by_q[1], by_v[1], dict(e.M.items()), by_q[2], by_v[2], dict(e.Psi_q.items())]


def _kept(e: Equations, gaps: Sequence[Expr], multipliers: Sequence[Expr]) -> list[Expr]:
    """Return the gap of each row that is kept, the multiplier of each other one."""
    return [kept * gap + (1.0 - kept) * x for kept, gap, x in zip(kept_of(e), gaps, multipliers, strict=True)]
