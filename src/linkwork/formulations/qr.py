"""Orthogonalization by the QR decomposition of the transposed Jacobian (Kim and Vanderploeg)."""

from __future__ import annotations

from typing import NamedTuple

from linkwork.formulations.maggi import FreeMotion, add_free_motion, factor_reduced_mass, take_free_motion
from linkwork.formulations.orthogonal import Orthogonal, apply_inverse_transposed, factor_jacobian, take_orthogonal
from linkwork.formulations.refinement import Padded, refine
from linkwork.linalg.qr import copy_null_rows, multiply_q
from linkwork.linalg.triangular import solve_upper_transposed
from linkwork.linalg.vectors import clear, permute
from linkwork.native.kernels import Pointer, kernel


class Places(NamedTuple):
    jacobian: Orthogonal
    free: FreeMotion
    rest: Pointer


def take_places(w: Pointer, n: int, m: int, width: int) -> Places:
    jacobian = take_orthogonal(w, n, m, width)
    free = take_free_motion(jacobian.rest, width)
    return Places(jacobian, free, free.rest)


@kernel
def qr(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Compute accelerations with V = Q_2 of the QR decomposition with column pivoting; M may be singular.

    Psi_q^T P = (Q_1 Q_2) (R; 0),   R = (R_1 R_2),   V = Q_2
                                  [kim1986; defalco2008, eqs. (18)-(21); pennestri2004, eqs. (32)-(37)]
    S gamma = Q_1 R_1^-T gamma_1,   gamma_1 the first r entries of P^T gamma
    R P^T lam = Q_1^T (Q - M a),    the lam of least norm

    Q_1 has r columns, not m as in pennestri2004, eq. (32). The rank r is decided on the diagonal of R, the spectrum. In
    the worked pendulum, eq. (53), R_11 must be sqrt(1 + L^2 sin^2 q3) and Q_2 lacks the factor 1/sqrt(1 + L^2).
    """
    refine(x, y, w, take_places, factor, correct)


def factor(e: Padded, k: Places, tolerance: float) -> tuple[int, float]:
    rank = factor_jacobian(e, k.jacobian, tolerance)
    copy_null_rows(k.jacobian.Q, rank, k.free.V)
    return factor_reduced_mass(e, k.free, rank)


def correct(e: Padded, k: Places, rank: int) -> None:
    permute(e.g, k.jacobian.R.pivots, rank, e.da)
    solve_upper_transposed(k.jacobian.R.R, rank, e.width, e.da)
    clear(e.da, rank, e.width)
    multiply_q(k.jacobian.Q, rank, e.da)
    add_free_motion(e, k.free, rank)
    apply_inverse_transposed(k.jacobian, rank, k.free.force, e.dlam)
