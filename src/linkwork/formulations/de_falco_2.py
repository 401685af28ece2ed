"""The second formulation of de Falco, Pennestri and Vita: pseudo-inverse of M projected onto the free motions."""

from __future__ import annotations

from typing import NamedTuple

from linkwork.formulations.maggi import find_force_left
from linkwork.formulations.orthogonal import (
    Orthogonal,
    apply_inverse,
    apply_inverse_transposed,
    factor_jacobian,
    take_orthogonal,
)
from linkwork.formulations.refinement import UNDETERMINED, Padded, refine
from linkwork.linalg.cholesky import SINGULAR, factor_pivoted_cholesky
from linkwork.linalg.products import form_gram, multiply_matrices
from linkwork.linalg.qr import copy_null_rows
from linkwork.linalg.trapezoid import Trapezoid, complete, solve_least, solve_transposed, take_trapezoid
from linkwork.linalg.triangular import estimate_condition
from linkwork.linalg.vectors import add
from linkwork.native.kernels import Pointer, kernel, split


class Places(NamedTuple):
    jacobian: Orthogonal
    R: Trapezoid  # E M E = P R^T R P^T
    E: Pointer
    E_M: Pointer
    E_M_E: Pointer
    x: Pointer
    y: Pointer
    rest: Pointer


def take_places(w: Pointer, n: int, m: int, width: int) -> Places:
    jacobian = take_orthogonal(w, n, m, width)
    R = take_trapezoid(jacobian.rest, n, width)
    return Places(jacobian, R, *split(R.rest, (width * width, width * width, width * width, width, width)))


@kernel
def de_falco_2(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Compute accelerations by the pseudo-inverse of E M E; M may be singular.

    a = G Q + (Psi_q^+ - G M Psi_q^+) gamma,   G = (E M E)^+,   E = I - Psi_q^+ Psi_q
                                                            [defalco2005; defalco2008, eqs. (42)-(45)]
    lam = (Psi_q^+)^T (Q - M a)

    G is called Q in the source. Psi_q^+ comes from the complete orthogonal factorization, E is its Q_2 Q_2^T, and E M E
    has rank n - r, so its pivoted Cholesky factor has as many rows. The rank r is decided on the diagonal of the
    pivoted R of Psi_q^T, the spectrum.
    """
    refine(x, y, w, take_places, factor, correct)


def factor(e: Padded, k: Places, tolerance: float) -> tuple[int, float]:
    n, width = e.n, e.width
    rank = factor_jacobian(e, k.jacobian, tolerance)
    free = n - rank
    copy_null_rows(k.jacobian.Q, rank, k.E_M)
    form_gram(k.E_M, free, n, width, k.E)
    multiply_matrices(k.E, e.M, n, n, n, width, k.E_M)
    multiply_matrices(k.E_M, k.E, n, n, n, width, k.E_M_E)
    if factor_pivoted_cholesky(k.E_M_E, free, k.R, SINGULAR) < free:
        return UNDETERMINED, 0.0
    complete(k.R, free)
    return rank, estimate_condition(k.R.L, free, width)


def correct(e: Padded, k: Places, rank: int) -> None:
    free = e.n - rank
    apply_inverse(k.jacobian, rank, e.g, e.da)
    find_force_left(e, k.x)
    solve_transposed(k.R, free, k.x, k.y)
    solve_least(k.R, free, k.y, k.x)
    add(e.da, 1.0, k.x, 0, e.n)
    find_force_left(e, k.x)
    apply_inverse_transposed(k.jacobian, rank, k.x, e.dlam)
