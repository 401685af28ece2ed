"""Orthogonalization by the Schur decomposition (Pennestri and Valentini)."""

from __future__ import annotations

import math

from linkwork.dense.matrices import add_columns, gram, symmetric_schur, times, transpose_times
from linkwork.dense.vectors import copy, dot, fill
from linkwork.formulations.maggi import add_free_motion, reduced_mass
from linkwork.formulations.refinement import (
    NOT_CONVERGED,
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
from linkwork.formulations.zero_values import rank_of_squares
from linkwork.native.kernels import Pointer, offset


def schur(
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
    """Accelerations with V = K_1, the Schur vectors of the zero eigenvalues of H = Psi_q^T Psi_q; M may be singular.

    K^T H K = U,   K = (K_1 K_2),   V = K_1                  [pennestri2007; defalco2008, eqs. (27)-(29)]
    S gamma = H^+ Psi_q^T gamma,   lam = Psi_q H^+ (Q - M a),   H^+ = K_2 U_2^-1 K_2^T

    H is symmetric, so U is diagonal. The order of the Schur vectors is not given by the algorithm: K_1 is chosen by the
    entries of U, not by position as in the program of defalco2008. The spectrum is as for `zero-eigenvalue`.
    """
    width = load(M, Psi_q, Q, gamma, n, m, spectrum, work)
    H = matrix(work, 2, width)
    K = matrix(work, 3, width)
    V = matrix(work, 6, width)
    reduced = matrix(work, 7, width)
    x = vector(work, 9, width)
    y = vector(work, 10, width)
    values = vector(work, 11, width)
    g = vector(work, 1, width)
    da = vector(work, 4, width)
    dlam = vector(work, 5, width)
    gram(matrix(work, 1, width), m, n, width, H)
    if symmetric_schur(H, n, width, K, matrix(work, 4, width), x, values, y):
        return NOT_CONVERGED
    z = vector(work, 12, width)
    rank = rank_of_squares(values, n, tolerance, spectrum)
    free = n - rank
    k = 0
    for i in range(n):
        if values[i] == 0.0:
            copy(offset(K, i * width), offset(V, k * width), width)
            k += 1
    if reduced_mass(V, free, n, width, work, matrix(work, 8, width), reduced, x):
        return UNDETERMINED

    mass_condition = condition_of_triangle(reduced, free, width)
    condition = condition_of(spectrum, rank)
    rest = math.inf
    for _ in range(PASSES):
        transpose_times(matrix(work, 1, width), g, m, n, width, z)
        apply_pseudo_inverse(K, values, z, n, width, da)
        add_free_motion(V, reduced, free, n, width, work, x, y)
        apply_pseudo_inverse(K, values, x, n, width, z)
        times(matrix(work, 1, width), z, m, n, width, dlam)
        rest = done(Q, gamma, n, m, width, work, mass_condition, condition, rest)
        if rest == 0.0:
            break
    return unload(n, m, width, work, a, lam, rank)


def apply_pseudo_inverse(K: Pointer, values: Pointer, x: Pointer, n: int, width: int, y: Pointer) -> None:
    """y := K_2 U_2^-1 K_2^T x."""
    fill(y, 0.0, width)
    for i in range(n):
        if values[i] != 0.0:
            k = offset(K, i * width)
            add_columns(y, dot(k, x, 0, n) / values[i], k, 0, n)
