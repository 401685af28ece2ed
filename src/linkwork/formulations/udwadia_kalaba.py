"""The fundamental equation of Udwadia and Kalaba, from Gauss' principle of least constraint."""

from __future__ import annotations

from typing import NamedTuple

from linkwork.formulations.orthogonal import Orthogonal, take_orthogonal
from linkwork.formulations.refinement import SINGULAR_MASS, Padded, refine
from linkwork.linalg.cholesky import SINGULAR, factor_cholesky
from linkwork.linalg.products import multiply, transpose
from linkwork.linalg.qr import factor_qr, multiply_q
from linkwork.linalg.trapezoid import complete, solve_least, solve_transposed
from linkwork.linalg.triangular import estimate_condition, solve_rows, solve_upper, solve_upper_transposed
from linkwork.linalg.vectors import add, copy, subtract_from
from linkwork.native.kernels import Pointer, kernel, split


class Places(NamedTuple):
    D: Orthogonal  # its transpose
    U: Pointer
    x: Pointer
    y: Pointer
    rest: Pointer


def take_places(w: Pointer, n: int, m: int, width: int) -> Places:
    D = take_orthogonal(w, n, m, width)
    return Places(D, *split(D.rest, (width * width, width, width)))


@kernel
def udwadia_kalaba(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Compute accelerations by Gauss' principle of least constraint; M must be regular.

    a = a_f + M^-1/2 D^+ (gamma - Psi_q a_f),   a_f = M^-1 Q,   D = Psi_q M^-1/2
                                                        [udwadia1996; defalco2008, eqs. (30)-(33)]
    lam = -(D^+)^T D^+ (gamma - Psi_q a_f)

    For M^-1/2 any square matrix C with C C^T = M^-1 will do; here C = U^-1 of Cholesky's M = U^T U, D^T = U^-T Psi_q^T.
    The rank is decided on the diagonal of the pivoted R of D^T P = Q R, the spectrum; with R = (L^T 0) Z,
    D^+ = Q (L^-1 0; 0 0) Z P^T. The program of defalco2008 halves the entries of M^-1 instead of taking their roots,
    and uses only the diagonal of M; both are wrong.
    """
    refine(x, y, w, take_places, factor, correct)


def factor(e: Padded, k: Places, tolerance: float) -> tuple[int, float]:
    n, m, width = e.n, e.m, e.width
    copy(e.M, k.U, n * width)
    if not factor_cholesky(k.U, n, width, k.x, SINGULAR):
        return SINGULAR_MASS, 0.0
    transpose(e.Psi_q, m, n, width, k.D.R.R)
    solve_rows(k.U, n, m, width, k.D.R.R)
    rank = factor_qr(k.D.Q, k.D.R, e.spectrum, tolerance)
    complete(k.D.R, rank)
    return rank, estimate_condition(k.U, n, width)


def correct(e: Padded, k: Places, rank: int) -> None:
    n, m, width, x, y = e.n, e.m, e.width, k.x, k.y
    copy(e.f, e.da, n)
    solve_upper_transposed(k.U, n, width, e.da)
    copy(e.da, x, n)
    solve_upper(k.U, n, width, x)
    multiply(e.Psi_q, x, m, n, width, e.dlam)
    subtract_from(e.g, e.dlam, m)
    solve_transposed(k.D.R, rank, e.dlam, y)
    copy(y, x, width)
    multiply_q(k.D.Q, rank, x)
    add(e.da, 1.0, x, 0, n)
    solve_upper(k.U, n, width, e.da)
    solve_least(k.D.R, rank, y, e.dlam)
    for i in range(m):
        e.dlam[i] = -e.dlam[i]
