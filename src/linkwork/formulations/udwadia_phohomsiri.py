"""The explicit equation of Udwadia and Phohomsiri for singular mass matrices."""

from __future__ import annotations

import math

from linkwork.dense.matrices import gram, multiply_q_transposed, null_rows, product, solve_upper, tall_qr, times
from linkwork.dense.vectors import copy
from linkwork.formulations.maggi import applied_force_left
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
from linkwork.native.kernels import Pointer, offset


def udwadia_phohomsiri(
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
    """Accelerations by the pseudo-inverse of a tall matrix; M may be singular.

    a = B^+ (s E Q; gamma),   B = (s E M; Psi_q),   E = I - Psi_q^+ Psi_q
                                                        [udwadia2006; defalco2008, eqs. (34)-(35)]
    lam = (Psi_q^+)^T (Q - M a)

    The source has s = 1 and Q in place of E Q, which gives the same a: B^T (Q; gamma) contains only E Q. Here the
    system is consistent, so that its condition number is not squared, and the factor s (largest entry of Psi_q by that
    of M) gives its two parts the same size. B has rank n where the motion is determined; then B^+ b = R^-1 Q^T b of its
    QR decomposition. Psi_q^+ and the rank are those of the complete orthogonal factorization, with the diagonal of its
    pivoted R as spectrum. The program of defalco2008 has the unit matrix of size m for E; it must be n.
    """
    width = load(M, Psi_q, Q, gamma, n, m, spectrum, work)
    E = matrix(work, 6, width)
    B = matrix(work, 7, width)
    H = matrix(work, 9, width)
    tau = vector(work, 9, width)
    b = vector(work, 10, width)
    x = vector(work, 12, width)
    f = vector(work, 0, width)
    g = vector(work, 1, width)
    da = vector(work, 4, width)
    dlam = vector(work, 5, width)
    rank = factor(n, m, width, tolerance, spectrum, work)
    null_rows(matrix(work, 4, width), vector(work, 6, width), rank, n, width, B)
    gram(B, n - rank, n, width, E)
    product(E, work, n, n, n, width, B)
    s = largest_entry(matrix(work, 1, width), m * width) / largest_entry(work, n * width)
    if not s > 0.0:
        s = 1.0
    for i in range(n * width):
        B[i] *= s
    copy(matrix(work, 1, width), offset(B, n * width), m * width)
    if tall_qr(B, n + m, n, width, H, 2 * width, tau):
        return UNDETERMINED

    mass_condition = condition_of_triangle(B, n, width)
    condition = condition_of(spectrum, rank)
    rest = math.inf
    for _ in range(PASSES):
        times(E, f, n, n, width, b)
        for i in range(n):
            b[i] *= s
        copy(g, offset(b, n), m)
        multiply_q_transposed(H, tau, n, n + m, 2 * width, b)
        copy(b, da, n)
        solve_upper(B, n, width, da)
        applied_force_left(n, width, work, x)
        pseudo_inverse_transposed(x, n, m, rank, width, work, dlam)
        rest = done(Q, gamma, n, m, width, work, mass_condition, condition, rest)
        if rest == 0.0:
            break
    return unload(n, m, width, work, a, lam, rank)


def largest_entry(A: Pointer, count: int) -> float:
    largest = 0.0
    for i in range(count):
        largest = max(largest, abs(A[i]))
    return largest
