"""Orthogonalization by singular values (Singh and Likins; Mani, Haug and Atkinson)."""

from __future__ import annotations

import math

from linkwork.dense.matrices import add_columns, gram, jacobi_svd, product, sort_descending, symmetric_schur, transpose
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
from linkwork.native.kernels import Pointer, offset


def svd(
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
    """Accelerations with V = W_i of the singular value decomposition; M may be singular.

    Psi_q^T = (W_d W_i) (Lambda_1 0; 0 0) U^T,   V = W_i
                            [singh1985, mani1985; defalco2008, eqs. (22)-(24); pennestri2004, eqs. (38)-(43)]
    S gamma = W_d Lambda_1^-1 U_d^T gamma,   lam = U_d Lambda_1^-1 W_d^T (Q - M a)

    One-sided Jacobi, W^T Psi_q^T = Lambda U^T with orthogonal rows, started from the eigenvectors W of Psi_q^T Psi_q:
    those are the singular vectors but for the digits that squaring costs, so that few rotations remain or none. The
    rank is decided on the singular values, the spectrum. In pennestri2004, eq. (59), the second column of W must be
    (-sqrt(2)/2, -sqrt(2)/2, 0).
    """
    width = load(M, Psi_q, Q, gamma, n, m, spectrum, work)
    H = matrix(work, 2, width)
    W = matrix(work, 3, width)
    X = matrix(work, 5, width)
    V = matrix(work, 6, width)
    reduced = matrix(work, 7, width)
    x = vector(work, 9, width)
    y = vector(work, 10, width)
    squares = vector(work, 11, width)
    g = vector(work, 1, width)
    da = vector(work, 4, width)
    dlam = vector(work, 5, width)
    gram(matrix(work, 1, width), m, n, width, H)
    if symmetric_schur(H, n, width, W, matrix(work, 4, width), x, squares, y):
        return NOT_CONVERGED
    transpose(matrix(work, 1, width), m, n, width, H)
    product(W, H, n, n, m, width, X)
    if jacobi_svd(X, n, m, width, W, squares):
        return NOT_CONVERGED
    for k in range(n):
        spectrum[k] = math.sqrt(squares[k])
    sort_descending(spectrum, 0, n)
    rank = 0
    for k in range(n):
        if math.sqrt(squares[k]) > tolerance * spectrum[0]:
            rank += 1
        else:
            squares[k] = 0.0
            copy(offset(W, k * width), offset(V, (k - rank) * width), width)
    free = n - rank
    if reduced_mass(V, free, n, width, work, matrix(work, 8, width), reduced, x):
        return UNDETERMINED

    mass_condition = condition_of_triangle(reduced, free, width)
    condition = condition_of(spectrum, rank)
    rest = math.inf
    for _ in range(PASSES):
        fill(da, 0.0, width)
        fill(dlam, 0.0, width)
        for k in range(n):
            if squares[k] > 0.0:
                add_columns(da, dot(offset(X, k * width), g, 0, m) / squares[k], offset(W, k * width), 0, n)
        add_free_motion(V, reduced, free, n, width, work, x, y)
        for k in range(n):
            if squares[k] > 0.0:
                add_columns(dlam, dot(offset(W, k * width), x, 0, n) / squares[k], offset(X, k * width), 0, m)
        rest = done(Q, gamma, n, m, width, work, mass_condition, condition, rest)
        if rest == 0.0:
            break
    return unload(n, m, width, work, a, lam, rank)
