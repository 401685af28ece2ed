"""The first formulation of de Falco, Pennestri and Vita: pseudo-inverse of Psi_q M^-1 Psi_q^T."""

from __future__ import annotations

import math
from typing import NamedTuple

from linkwork.formulations.refinement import SINGULAR_MASS, Padded, refine
from linkwork.linalg.cholesky import SINGULAR, factor_cholesky, factor_pivoted_cholesky
from linkwork.linalg.products import form_gram, multiply, multiply_transposed, transpose
from linkwork.linalg.trapezoid import Trapezoid, complete, solve_least, solve_transposed, take_trapezoid
from linkwork.linalg.triangular import estimate_condition, solve_definite, solve_rows
from linkwork.linalg.vectors import add, copy, subtract_from
from linkwork.native.kernels import Pointer, kernel, split
from linkwork.tolerances import EPSILON


class Places(NamedTuple):
    R: Trapezoid
    U: Pointer
    X: Pointer
    D: Pointer
    y: Pointer
    rest: Pointer


def take_places(w: Pointer, n: int, m: int, width: int) -> Places:
    R = take_trapezoid(w, m, width)
    return Places(R, *split(R.rest, (width * width, width * width, width * width, width)))


@kernel
def de_falco_1(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Compute accelerations and multipliers by the pseudo-inverse of D = Psi_q M^-1 Psi_q^T; M must be regular.

    a = (I - H Psi_q) M^-1 Q + H gamma,   H = M^-1 Psi_q^T D^+           [defalco2005; defalco2008, eqs. (37)-(41)]
    lam = D^+ (Psi_q M^-1 Q - gamma),   a = M^-1 (Q - Psi_q^T lam)

    D is called Q in the source. M = U^T U by Cholesky, D = X^T X with X = U^-T Psi_q^T, and D^+ from the pivoted
    Cholesky factor of D, P^T D P = R^T R, R = (L^T 0) Z. The roots of its pivots, the diagonal of R, are the spectrum;
    since D has been multiplied out, pivots below m eps of the first are zero whatever the tolerance, which is about
    1e-7 in the spectrum. The program of defalco2008 uses only the diagonal of M.
    """
    refine(x, y, w, take_places, factor, correct)


def factor(e: Padded, k: Places, tolerance: float) -> tuple[int, float]:
    n, m, width = e.n, e.m, e.width
    copy(e.M, k.U, n * width)
    if not factor_cholesky(k.U, n, width, k.y, SINGULAR):
        return SINGULAR_MASS, 0.0
    transpose(e.Psi_q, m, n, width, k.X)
    solve_rows(k.U, n, m, width, k.X)
    form_gram(k.X, n, m, width, k.D)
    rank = factor_pivoted_cholesky(k.D, n, k.R, max(tolerance * tolerance, m * EPSILON))
    for i in range(m):
        e.spectrum[i] = math.sqrt(max(k.R.left[i], 0.0))
    complete(k.R, rank)
    return rank, estimate_condition(k.U, n, width)


def correct(e: Padded, k: Places, rank: int) -> None:
    n, m, width = e.n, e.m, e.width
    copy(e.f, e.da, n)
    solve_definite(k.U, n, width, e.da)
    multiply(e.Psi_q, e.da, m, n, width, e.dlam)
    add(e.dlam, -1.0, e.g, 0, m)
    solve_transposed(k.R, rank, e.dlam, k.y)
    solve_least(k.R, rank, k.y, e.dlam)
    multiply_transposed(e.Psi_q, e.dlam, m, n, width, e.da)
    subtract_from(e.f, e.da, n)
    solve_definite(k.U, n, width, e.da)
