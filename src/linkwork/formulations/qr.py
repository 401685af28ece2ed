"""Orthogonalization by the QR decomposition of the transposed Jacobian (Kim and Vanderploeg)."""

from __future__ import annotations

import math

from linkwork.dense.matrices import multiply_q, null_rows, permute, solve_upper_transposed
from linkwork.dense.vectors import clear
from linkwork.formulations.maggi import add_free_motion, reduced_mass
from linkwork.formulations.orthogonal import factor, pseudo_inverse_transposed
from linkwork.formulations.refinement import (
    PASSES,
    UNDETERMINED,
    condition_of,
    condition_of_triangle,
    done,
    load,
    matrix,
    unload,
    vector,
)
from linkwork.native.kernels import Pointer


def qr(
    M: Pointer,
    Psi_q: Pointer,
    Q: Pointer,
    gamma: Pointer,
    n: int,
    m: int,
    tolerance: float,
    a: Pointer,
    lam: Pointer,
    spectrum: Pointer,
    work: Pointer,
) -> int:
    """Accelerations with V = Q_2 of the QR decomposition with column pivoting; M may be singular.

    Psi_q^T P = (Q_1 Q_2) (R; 0),   R = (R_1 R_2),   V = Q_2
                                  [kim1986; defalco2008, eqs. (18)-(21); pennestri2004, eqs. (32)-(37)]
    S gamma = Q_1 R_1^-T gamma_1,   gamma_1 the first r entries of P^T gamma
    R P^T lam = Q_1^T (Q - M a),    the lam of least norm

    Q_1 has r columns, not m as in pennestri2004, eq. (32). The rank r is decided on the diagonal of R, the spectrum. In
    the worked pendulum, eq. (53), R_11 must be sqrt(1 + L^2 sin^2 q3) and Q_2 lacks the factor 1/sqrt(1 + L^2).
    """
    width = load(M, Psi_q, Q, gamma, n, m, spectrum, work)
    V = matrix(work, 6, width)
    reduced = matrix(work, 7, width)
    x = vector(work, 9, width)
    y = vector(work, 10, width)
    g = vector(work, 1, width)
    da = vector(work, 4, width)
    dlam = vector(work, 5, width)
    rank = factor(n, m, width, tolerance, spectrum, work)
    free = n - rank
    null_rows(matrix(work, 4, width), vector(work, 6, width), rank, n, width, V)
    if reduced_mass(V, free, n, width, work, matrix(work, 8, width), reduced, x):
        return UNDETERMINED

    mass_condition = condition_of_triangle(reduced, free, width)
    condition = condition_of(spectrum, rank)
    rest = math.inf
    for _ in range(PASSES):
        permute(g, vector(work, 8, width), rank, da)
        solve_upper_transposed(matrix(work, 2, width), rank, width, da)
        clear(da, rank, width)
        multiply_q(matrix(work, 4, width), vector(work, 6, width), rank, n, width, da)
        add_free_motion(V, reduced, free, n, width, work, x, y)
        pseudo_inverse_transposed(x, n, m, rank, width, work, dlam)
        rest = done(Q, gamma, n, m, width, work, mass_condition, condition, rest)
        if rest == 0.0:
            break
    return unload(n, m, width, work, a, lam, rank)
