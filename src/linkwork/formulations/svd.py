"""Orthogonalization by singular values (Singh and Likins; Mani, Haug and Atkinson)."""

from __future__ import annotations

import math

from linkwork.formulations.dense import (
    EPSILON,
    add_columns,
    clear,
    copy,
    dot,
    jacobi_svd,
    multiply_Q,
    multiply_Q_transposed,
    multiply_Z,
    multiply_Z_transposed,
    null_rows,
    permute,
    permute_back,
    sort_descending,
)
from linkwork.formulations.maggi import add_free_motion, reduced_mass
from linkwork.formulations.orthogonal import factor
from linkwork.formulations.refinement import (
    NOT_CONVERGED,
    PASSES,
    UNDETERMINED,
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
    S gamma = W_d Lambda_1^-1 U_1^T gamma
    lam = U_1 Lambda_1^-1 W_d^T (Q - M a)

    The decomposition goes through the complete orthogonal factorization Psi_q^T P = Q (T 0; 0 0) Z, which takes off what
    is zero to rounding, and one-sided Jacobi of the triangle, T = J^T Lambda X [drmac2008]: W_d = Q_1 J^T, U_1 = P Z^T X^T.
    The rank is decided on the singular values, the spectrum. In pennestri2004, eq. (59), the second column of W must be
    (-sqrt(2)/2, -sqrt(2)/2, 0).
    """
    width = load(M, Psi_q, Q, gamma, n, m, spectrum, work)
    V = matrix(work, 6, width)
    reduced = matrix(work, 7, width)
    x = vector(work, 9, width)
    y = vector(work, 10, width)
    g = vector(work, 1, width)
    da = vector(work, 4, width)
    dlam = vector(work, 5, width)
    T = matrix(work, 3, width)
    J = matrix(work, 2, width)
    H = matrix(work, 4, width)
    Z = matrix(work, 5, width)
    tau = vector(work, 6, width)
    tau_Z = vector(work, 7, width)
    pivots = vector(work, 8, width)
    squares = vector(work, 11, width)
    triangle = factor(n, m, width, max(n, m) * EPSILON, spectrum, work)
    for i in range(triangle):
        clear(offset(T, i * width), 0, i)
    if jacobi_svd(T, triangle, width, J, squares):
        return NOT_CONVERGED
    for i in range(triangle):
        spectrum[i] = math.sqrt(squares[i])
    sort_descending(spectrum, 0, triangle)
    smallest = tolerance * spectrum[0]
    rank = 0
    null_rows(H, tau, triangle, n, width, V)
    for k in range(triangle):
        if math.sqrt(squares[k]) > smallest:
            rank += 1
        else:
            v = offset(V, (n - triangle + k - rank) * width)
            copy(offset(J, k * width), v, width)
            clear(v, triangle, width)
            multiply_Q(H, tau, triangle, n, width, v)
    free = n - rank
    if reduced_mass(V, free, n, width, work, matrix(work, 8, width), reduced, x):
        return UNDETERMINED

    rest = 1e300
    for _ in range(PASSES):
        permute(g, pivots, m, y)
        multiply_Z(Z, tau_Z, triangle, m, width, y)
        clear(da, 0, width)
        for k in range(triangle):
            if math.sqrt(squares[k]) > smallest:
                add_columns(
                    da, dot(offset(T, k * width), y, 0, triangle) / squares[k], offset(J, k * width), 0, triangle
                )
        multiply_Q(H, tau, triangle, n, width, da)
        add_free_motion(V, reduced, free, n, width, work, x, y)
        multiply_Q_transposed(H, tau, triangle, n, width, x)
        clear(y, 0, width)
        for k in range(triangle):
            if math.sqrt(squares[k]) > smallest:
                add_columns(
                    y, dot(offset(J, k * width), x, 0, triangle) / squares[k], offset(T, k * width), 0, triangle
                )
        multiply_Z_transposed(Z, tau_Z, triangle, m, width, y)
        permute_back(y, pivots, m, dlam)
        rest = done(Q, gamma, n, m, width, work, rest)
        if rest == 0.0:
            break
    return unload(n, m, width, work, a, lam, rank)
