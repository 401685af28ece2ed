"""Orthogonalization by the complete orthogonal factorization QTZ (Vita and Pennestri)."""

from __future__ import annotations

import math

from linkwork.dense.matrices import null_rows
from linkwork.formulations.maggi import add_free_motion, reduced_mass
from linkwork.formulations.orthogonal import factor, pseudo_inverse, pseudo_inverse_transposed
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


def qtz(
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
    """Accelerations with V = Q_2 of Psi_q^T = Q T Z; M may be singular.

    Psi_q^T P = (Q_1 Q_2) (T 0; 0 0) Z,   V = Q_2             [vita2004; defalco2008, methods for V, item 5]
    S gamma = Psi_q^+ gamma = Q_1 T^-T (Z P^T gamma)_1
    lam = (Psi_q^+)^T (Q - M a)

    Unlike in `qr`, all constraint rows take part in S gamma, those that depend on others too. The rank is decided on
    the diagonal of the pivoted R = (T 0) Z, the spectrum.
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
        pseudo_inverse(g, n, m, rank, width, work, da)
        add_free_motion(V, reduced, free, n, width, work, x, y)
        pseudo_inverse_transposed(x, n, m, rank, width, work, dlam)
        rest = done(Q, gamma, n, m, width, work, mass_condition, condition, rest)
        if rest == 0.0:
            break
    return unload(n, m, width, work, a, lam, rank)
