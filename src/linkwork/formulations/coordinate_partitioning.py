"""Generalized coordinate partitioning (Wehage and Haug)."""

from __future__ import annotations

import math

from linkwork.dense.matrices import (
    complete_lu,
    multiply_z_transposed,
    permute,
    permute_back,
    solve_lower_transposed,
    solve_upper,
    solve_upper_transposed,
    trapezoid,
)
from linkwork.dense.vectors import clear, copy
from linkwork.formulations.maggi import add_free_motion, reduced_mass
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
from linkwork.native.kernels import Pointer, offset


def coordinate_partitioning(
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
    """Accelerations of the independent coordinates v, then of the dependent ones u; M may be singular.

    V = (-Psi_u^-1 Psi_v; I),   S gamma = (Psi_u^-1 gamma; 0),   M_hat v'' = Q_hat
    M_hat = V^T M V,   Q_hat = V^T (Q - M S gamma)
                                [wehage1982; defalco2008, eqs. (3)-(9); pennestri2004, eqs. (44)-(50)]
    Psi_u^T lam = Q_u - (M a)_u, the lam of least norm

    M_hat and Q_hat are eqs. (8) and (9) written with V. The dependent coordinates are chosen by Gauss' elimination
    with complete pivoting, P^T Psi_q C = L (U_u U_v), anew in each evaluation: L_1 U_u stands for Psi_u, and rows that
    depend on others drop out, so full row rank is not needed (after eq. (44) of pennestri2004 it is). L^T = (K^T 0) Z
    gives the multipliers. The rank is decided on the pivots, the spectrum.
    """
    width = load(M, Psi_q, Q, gamma, n, m, spectrum, work)
    U = matrix(work, 2, width)
    L = matrix(work, 3, width)
    K = matrix(work, 4, width)
    V = matrix(work, 6, width)
    reduced = matrix(work, 7, width)
    tau = vector(work, 7, width)
    rows = vector(work, 8, width)
    x = vector(work, 9, width)
    y = vector(work, 10, width)
    columns = vector(work, 11, width)
    g = vector(work, 1, width)
    da = vector(work, 4, width)
    dlam = vector(work, 5, width)
    copy(matrix(work, 1, width), U, m * width)
    rank = complete_lu(U, m, n, width, L, rows, columns, spectrum, tolerance)
    free = n - rank
    for j in range(free):
        for i in range(rank):
            x[i] = -U[i * width + rank + j]
        solve_upper(U, rank, width, x)
        clear(x, rank, n)
        x[rank + j] = 1.0
        v = offset(V, j * width)
        clear(v, n, width)
        permute_back(x, columns, n, v)
    if reduced_mass(V, free, n, width, work, K, reduced, x):
        return UNDETERMINED
    trapezoid(L, rank, m, width, K, tau, x)

    mass_condition = condition_of_triangle(reduced, free, width)
    condition = condition_of(spectrum, rank)
    rest = math.inf
    for _ in range(PASSES):
        permute(g, rows, rank, x)
        solve_upper_transposed(L, rank, width, x)
        solve_upper(U, rank, width, x)
        clear(x, rank, n)
        permute_back(x, columns, n, da)
        add_free_motion(V, reduced, free, n, width, work, x, y)
        permute(x, columns, rank, y)
        solve_upper_transposed(U, rank, width, y)
        solve_lower_transposed(K, rank, width, y)
        clear(y, rank, m)
        multiply_z_transposed(K, tau, rank, m, width, y)
        permute_back(y, rows, m, dlam)
        rest = done(Q, gamma, n, m, width, work, mass_condition, condition, rest)
        if rest == 0.0:
            break
    return unload(n, m, width, work, a, lam, rank)
