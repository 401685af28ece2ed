"""The fundamental equation of Udwadia and Kalaba, from Gauss' principle of least constraint."""

from __future__ import annotations

import math

from linkwork.dense.matrices import (
    SINGULAR,
    cholesky,
    multiply_q,
    multiply_z,
    multiply_z_transposed,
    permute,
    permute_back,
    pivoted_qr,
    solve_lower,
    solve_lower_transposed,
    solve_rows,
    solve_upper,
    solve_upper_transposed,
    transpose,
    trapezoid,
)
from linkwork.dense.vectors import add, clear, copy, dot
from linkwork.formulations.refinement import (
    PASSES,
    SINGULAR_MASS,
    condition_of,
    condition_of_triangle,
    done,
    load,
    matrix,
    unload,
    vector,
)
from linkwork.native.kernels import Pointer, offset


def udwadia_kalaba(
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
    """Accelerations by Gauss' principle of least constraint; M must be regular.

    a = a_f + M^-1/2 D^+ (gamma - Psi_q a_f),   a_f = M^-1 Q,   D = Psi_q M^-1/2
                                                        [udwadia1996; defalco2008, eqs. (30)-(33)]
    lam = -(D^+)^T D^+ (gamma - Psi_q a_f)

    For M^-1/2 any square matrix C with C C^T = M^-1 will do; here C = U^-1 of Cholesky's M = U^T U, D^T = U^-T Psi_q^T.
    The rank is decided on the diagonal of the pivoted R of D^T P = Q R, the spectrum; with R = (L^T 0) Z,
    D^+ = Q (L^-1 0; 0 0) Z P^T. The program of defalco2008 halves the entries of M^-1 instead of taking their roots,
    and uses only the diagonal of M; both are wrong.
    """
    width = load(M, Psi_q, Q, gamma, n, m, spectrum, work)
    U = matrix(work, 2, width)
    R = matrix(work, 3, width)
    H = matrix(work, 4, width)
    L = matrix(work, 5, width)
    tau = vector(work, 6, width)
    tau_z = vector(work, 7, width)
    pivots = vector(work, 8, width)
    x = vector(work, 9, width)
    y = vector(work, 10, width)
    f = vector(work, 0, width)
    g = vector(work, 1, width)
    da = vector(work, 4, width)
    dlam = vector(work, 5, width)
    copy(work, U, n * width)
    if cholesky(U, n, width, x, SINGULAR) < n:
        return SINGULAR_MASS
    transpose(matrix(work, 1, width), m, n, width, R)
    solve_rows(U, n, m, width, R)
    rank = pivoted_qr(R, n, m, width, H, tau, pivots, x, y, spectrum, tolerance)
    trapezoid(R, rank, m, width, L, tau_z, x)

    mass_condition = condition_of_triangle(U, n, width)
    condition = condition_of(spectrum, rank)
    rest = math.inf
    for _ in range(PASSES):
        copy(f, da, n)
        solve_upper_transposed(U, n, width, da)
        copy(da, x, n)
        solve_upper(U, n, width, x)
        for i in range(m):
            dlam[i] = g[i] - dot(offset(matrix(work, 1, width), i * width), x, 0, n)
        permute(dlam, pivots, m, y)
        multiply_z(L, tau_z, rank, m, width, y)
        solve_lower(L, rank, width, y)
        clear(y, rank, width)
        copy(y, x, width)
        multiply_q(H, tau, rank, n, width, x)
        add(da, 1.0, x, 0, n)
        solve_upper(U, n, width, da)
        solve_lower_transposed(L, rank, width, y)
        multiply_z_transposed(L, tau_z, rank, m, width, y)
        permute_back(y, pivots, m, dlam)
        for i in range(m):
            dlam[i] = -dlam[i]
        rest = done(Q, gamma, n, m, width, work, mass_condition, condition, rest)
        if rest == 0.0:
            break
    return unload(n, m, width, work, a, lam, rank)
