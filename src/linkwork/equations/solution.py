"""Accelerations and multipliers from the quasi-definite system, as expressions.

    [ M      Psi_q^T ] [ a   ]   [ Q                    ]
    [ Psi_q  -eps    ] [ lam ] = [ gamma - eps lam_prev ]

Its LDL^T is a fixed sequence (see sequences/ldl.py). Starting from lam_prev = 0, each repetition with lam_prev = lam
divides the error that eps makes by the ratio of Psi_q M^-1 Psi_q^T to eps; constraints that depend on others need no
special treatment and get the multipliers of least norm. A repetition is written as a solution for the residual of the
system without eps, which is the same and also corrects what a small pivot has cost in digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linkwork.equations.equations import Equations
from linkwork.equations.linear import eps_of, multiply
from linkwork.expressions.graph import ZERO, Expr, absolute, less
from linkwork.sequences.entries import minus

if TYPE_CHECKING:
    from linkwork.sequences.articulated import Solver

EPS = 3e-11  # eps of a row, relative to its diagonal entry of Psi_q M^-1 Psi_q^T at the start
SETTLED = 1e-10  # change of a by a repetition, of a itself: it was the last
AT_REST = 0.03  # by eps: what of lam counts where a is zero, 1e-6 of the accelerations that it holds back


def dot(x: Sequence[Expr], y: Sequence[Expr]) -> Expr:
    """Sum of x[i] y[i]; four partial sums because one would wait for itself."""
    products = [a * b for a, b in zip(x, y, strict=True)]
    s0, s1, s2, s3 = (sum(products[k::4], ZERO) for k in range(4))
    return (s0 + s1) + (s2 + s3)


@dataclass(frozen=True, eq=False)
class Solution:
    """How (a, lam) is found with a solver of the system; `regular` says whether that has M itself."""

    equations: Equations
    solver: Solver
    regular: bool

    @property
    def needs_repetition(self) -> bool:
        """Whether there is eps or another M; else the first solution is exact."""
        return bool(self.equations.Psi) or not self.regular

    def find_rest(self, x: Sequence[Expr]) -> list[Expr]:
        right = [*self.equations.Q, *self.equations.gamma]
        return [b - Kx for b, Kx in zip(right, multiply(self.equations, x), strict=True)]

    def once(self) -> tuple[list[Expr], list[Expr]]:
        """Return the solution and its rest; few coordinates need that of their constraints alone."""
        e = self.equations
        x, n = self.solver.solve([*e.Q, *e.gamma]), len(e.v)
        if not self.needs_repetition:
            return x, [ZERO] * n
        if not e.chart.carriers or e.hints.chain is not None or not self.regular:
            return x, self.find_rest(x)
        return x, [ZERO] * n + minus(e.gamma, e.Psi_q, x)

    def improve(self, x: Sequence[Expr], rest: Sequence[Expr]) -> list[Expr]:
        """Repeat: return the solution for the rest."""
        return [old + new for old, new in zip(x, self.solver.solve(rest), strict=True)]

    def weakness(self) -> Expr:
        """Return eps by the pivots of the rows, added up: one for each row that depends on others, else nearly zero."""
        e = self.equations
        return -dot(eps_of(e), [self.solver.reciprocal(len(e.v) + i) for i in range(len(e.Psi))])

    def is_unsettled(self, rest: Sequence[Expr], change: Sequence[Expr]) -> Expr:
        """Return whether the solution for the rest of (a, lam) changes a by more than SETTLED, both in the metric of M.

        da M da = -rest . (da, dlam), but for eps, and a M a = Q . a - gamma . lam
        """
        e = self.equations
        held = dot([eps * lam for eps, lam in zip(eps_of(e), e.lam, strict=True)], e.lam)
        size = absolute(dot(e.Q, e.a)) + absolute(dot(e.gamma, e.lam)) + AT_REST * held
        return less(SETTLED**2 * size, absolute(dot(rest, change)))
