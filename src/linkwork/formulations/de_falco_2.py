"""The second formulation of de Falco, Pennestri and Vita: pseudo-inverse of M projected onto the free motions."""

from __future__ import annotations

import math

from linkwork.dense.matrices import (
    SINGULAR,
    apply_semidefinite_inverse,
    gram,
    null_rows,
    pivoted_cholesky,
    product,
    trapezoid,
)
from linkwork.dense.vectors import add
from linkwork.formulations.maggi import applied_force_left
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


def de_falco_2(
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
    """Accelerations by the pseudo-inverse of E M E; M may be singular.

    a = G Q + (Psi_q^+ - G M Psi_q^+) gamma,   G = (E M E)^+,   E = I - Psi_q^+ Psi_q
                                                            [defalco2005; defalco2008, eqs. (42)-(45)]
    lam = (Psi_q^+)^T (Q - M a)

    G is called Q in the source. Psi_q^+ comes from the complete orthogonal factorization, E is its Q_2 Q_2^T, and E M E
    has rank n - r, so its pivoted Cholesky factor has as many rows. The rank r is decided on the diagonal of the
    pivoted R of Psi_q^T, the spectrum.
    """
    width = load(M, Psi_q, Q, gamma, n, m, spectrum, work)
    E = matrix(work, 6, width)
    N = matrix(work, 7, width)
    G = matrix(work, 8, width)
    R = matrix(work, 9, width)
    L = matrix(work, 10, width)
    x = vector(work, 9, width)
    y = vector(work, 10, width)
    tau = vector(work, 11, width)
    pivots = vector(work, 12, width)
    g = vector(work, 1, width)
    da = vector(work, 4, width)
    dlam = vector(work, 5, width)
    rank = factor(n, m, width, tolerance, spectrum, work)
    free = n - rank
    null_rows(matrix(work, 4, width), vector(work, 6, width), rank, n, width, N)
    gram(N, free, n, width, E)
    product(E, work, n, n, n, width, N)
    product(N, E, n, n, n, width, G)
    if pivoted_cholesky(G, n, width, free, R, pivots, x, SINGULAR) < free:
        return UNDETERMINED
    trapezoid(R, free, n, width, L, tau, x)

    mass_condition = condition_of_triangle(L, free, width)
    condition = condition_of(spectrum, rank)
    rest = math.inf
    for _ in range(PASSES):
        pseudo_inverse(g, n, m, rank, width, work, da)
        applied_force_left(n, width, work, x)
        apply_semidefinite_inverse(L, tau, pivots, free, n, width, x, y)
        add(da, 1.0, x, 0, n)
        applied_force_left(n, width, work, x)
        pseudo_inverse_transposed(x, n, m, rank, width, work, dlam)
        rest = done(Q, gamma, n, m, width, work, mass_condition, condition, rest)
        if rest == 0.0:
            break
    return unload(n, m, width, work, a, lam, rank)
