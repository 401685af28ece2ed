"""The first formulation of de Falco, Pennestri and Vita: pseudo-inverse of Psi_q M^-1 Psi_q^T."""

from __future__ import annotations

import math

from linkwork.formulations.dense import (
    EPSILON,
    apply_semidefinite_inverse,
    cholesky,
    copy,
    dot,
    gram,
    pivoted_cholesky,
    solve_rows,
    solve_upper,
    solve_upper_transposed,
    transpose,
    transpose_times,
    trapezoid,
)
from linkwork.formulations.refinement import PASSES, SINGULAR_MASS, done, load, matrix, unload, vector
from linkwork.native.kernels import Pointer, offset


def de_falco_1(
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
    """Accelerations by the pseudo-inverse of the whole matrix in terms of that of D = Psi_q M^-1 Psi_q^T; M must be regular.

    a = (I - H Psi_q) M^-1 Q + H gamma,   H = M^-1 Psi_q^T D^+           [defalco2005; defalco2008, eqs. (37)-(41)]
    lam = D^+ (Psi_q M^-1 Q - gamma),   a = M^-1 (Q - Psi_q^T lam)

    D is called Q in the source. M = U^T U by Cholesky, D = X^T X with X = U^-T Psi_q^T, and D^+ from the pivoted
    Cholesky factor of D, P^T D P = R^T R, R = (T 0) Z. The roots of its pivots, the diagonal of R, are the spectrum;
    since D has been multiplied out, pivots below m eps of the first are zero whatever the tolerance, which is about 1e-7
    in the spectrum. The program of defalco2008 uses only the diagonal of M.
    """
    width = load(M, Psi_q, Q, gamma, n, m, spectrum, work)
    U = matrix(work, 2, width)
    X = matrix(work, 3, width)
    D = matrix(work, 4, width)
    T = matrix(work, 5, width)
    Z = matrix(work, 6, width)
    tau = vector(work, 7, width)
    pivots = vector(work, 8, width)
    x = vector(work, 9, width)
    y = vector(work, 10, width)
    f = vector(work, 0, width)
    g = vector(work, 1, width)
    da = vector(work, 4, width)
    dlam = vector(work, 5, width)
    copy(work, U, n * width)
    if cholesky(U, n, width, x) < n:
        return SINGULAR_MASS
    transpose(matrix(work, 1, width), m, n, width, X)
    solve_rows(U, n, m, width, X)
    gram(X, n, m, width, D)
    rank = pivoted_cholesky(D, m, width, n, T, pivots, x, max(tolerance * tolerance, m * EPSILON))
    for k in range(m):
        spectrum[k] = math.sqrt(max(x[k], 0.0))
    trapezoid(T, rank, m, width, Z, tau)

    rest = 1e300
    for _ in range(PASSES):
        copy(f, da, n)
        solve_upper_transposed(U, n, width, da)
        solve_upper(U, n, width, da)
        for i in range(m):
            dlam[i] = dot(offset(matrix(work, 1, width), i * width), da, 0, n) - g[i]
        apply_semidefinite_inverse(T, Z, tau, pivots, rank, m, width, dlam, y)
        transpose_times(matrix(work, 1, width), dlam, m, n, width, da)
        for i in range(n):
            da[i] = f[i] - da[i]
        solve_upper_transposed(U, n, width, da)
        solve_upper(U, n, width, da)
        rest = done(Q, gamma, n, m, width, work, rest)
        if rest == 0.0:
            break
    return unload(n, m, width, work, a, lam, rank)
