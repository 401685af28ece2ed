"""The first formulation of de Falco, Pennestri and Vita: pseudo-inverse of Psi_q M^-1 Psi_q^T."""

from __future__ import annotations

import math

from linkwork.dense.matrices import (
    EPSILON,
    SINGULAR,
    apply_semidefinite_inverse,
    cholesky,
    gram,
    pivoted_cholesky,
    solve_rows,
    solve_upper,
    solve_upper_transposed,
    transpose,
    transpose_times,
    trapezoid,
)
from linkwork.dense.vectors import copy, dot
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
    """Accelerations and multipliers by the pseudo-inverse of D = Psi_q M^-1 Psi_q^T; M must be regular.

    a = (I - H Psi_q) M^-1 Q + H gamma,   H = M^-1 Psi_q^T D^+           [defalco2005; defalco2008, eqs. (37)-(41)]
    lam = D^+ (Psi_q M^-1 Q - gamma),   a = M^-1 (Q - Psi_q^T lam)

    D is called Q in the source. M = U^T U by Cholesky, D = X^T X with X = U^-T Psi_q^T, and D^+ from the pivoted
    Cholesky factor of D, P^T D P = R^T R, R = (L^T 0) Z. The roots of its pivots, the diagonal of R, are the spectrum;
    since D has been multiplied out, pivots below m eps of the first are zero whatever the tolerance, which is about
    1e-7 in the spectrum. The program of defalco2008 uses only the diagonal of M.
    """
    width = load(M, Psi_q, Q, gamma, n, m, spectrum, work)
    U = matrix(work, 2, width)
    X = matrix(work, 3, width)
    D = matrix(work, 4, width)
    R = matrix(work, 5, width)
    L = matrix(work, 6, width)
    tau = vector(work, 7, width)
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
    transpose(matrix(work, 1, width), m, n, width, X)
    solve_rows(U, n, m, width, X)
    gram(X, n, m, width, D)
    rank = pivoted_cholesky(D, m, width, n, R, pivots, x, max(tolerance * tolerance, m * EPSILON))
    for k in range(m):
        spectrum[k] = math.sqrt(max(x[k], 0.0))
    trapezoid(R, rank, m, width, L, tau, x)

    mass_condition = condition_of_triangle(U, n, width)
    condition = condition_of(spectrum, rank)
    rest = math.inf
    for _ in range(PASSES):
        copy(f, da, n)
        solve_upper_transposed(U, n, width, da)
        solve_upper(U, n, width, da)
        for i in range(m):
            dlam[i] = dot(offset(matrix(work, 1, width), i * width), da, 0, n) - g[i]
        apply_semidefinite_inverse(L, tau, pivots, rank, m, width, dlam, y)
        transpose_times(matrix(work, 1, width), dlam, m, n, width, da)
        for i in range(n):
            da[i] = f[i] - da[i]
        solve_upper_transposed(U, n, width, da)
        solve_upper(U, n, width, da)
        rest = done(Q, gamma, n, m, width, work, mass_condition, condition, rest)
        if rest == 0.0:
            break
    return unload(n, m, width, work, a, lam, rank)
