"""Orthogonalization by pseudo-upper-triangular decomposition (Amirouche, Jia and Ider)."""

from __future__ import annotations

import math

from linkwork.dense.matrices import multiply_q, null_rows, permute, solve_upper_transposed, staircase_qr, transpose
from linkwork.dense.vectors import clear
from linkwork.formulations.maggi import add_free_motion, reduced_mass
from linkwork.formulations.orthogonal import complete, pseudo_inverse_transposed
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


def putd(
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
    """Accelerations with V = H D_2^T, H from reflections of the constraint rows in their order; M may be singular.

    H^T Psi_q^T = U, a staircase of r steps;   D_2 = (0 I),   V = H D_2^T
                                                          [amirouche1988; defalco2008, eqs. (25)-(26)]
    S gamma = H (U_1^-T gamma_1; 0),   index 1: the r rows of Psi_q that make a step
    U lam = H^T (Q - M a), the lam of least norm

    A constraint row that depends on those before it makes no step; that is the rank decision, and the lengths of what
    each row adds to those before it are the spectrum. Without pivoting these are not ordered and reveal less than those
    of `qr`.
    """
    width = load(M, Psi_q, Q, gamma, n, m, spectrum, work)
    V = matrix(work, 6, width)
    reduced = matrix(work, 7, width)
    x = vector(work, 9, width)
    y = vector(work, 10, width)
    g = vector(work, 1, width)
    da = vector(work, 4, width)
    dlam = vector(work, 5, width)
    U = matrix(work, 5, width)
    H = matrix(work, 4, width)
    transpose(matrix(work, 1, width), m, n, width, U)
    rank = staircase_qr(
        U, n, m, width, H, vector(work, 6, width), vector(work, 8, width), matrix(work, 2, width), spectrum, tolerance
    )
    complete(m, rank, width, work)
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
