"""Orthogonalization by the eigenvectors of zero eigenvalues (Walton and Steeves; Kamman and Huston)."""

from __future__ import annotations

import math

from linkwork.dense.matrices import (
    add_columns,
    cholesky,
    gram,
    solve_upper,
    solve_upper_transposed,
    symmetric_schur,
    times,
    transpose_times,
)
from linkwork.dense.vectors import copy
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


def zero_eigenvalue(
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
    """Accelerations with V = T_1, the eigenvectors of zero eigenvalues of H = Psi_q^T Psi_q; M may be singular.

    H = T Lambda T^T,   T = (T_1 T_2),   V = T_1          [walton1969, kamman1984; defalco2008, eqs. (14)-(17)]
    S gamma = (Psi_q; V^T)^+ (gamma; 0) = (H + s V V^T)^-1 Psi_q^T gamma
    lam = Psi_q (H + s V V^T)^-1 (Q - M a)

    The factor s, the largest eigenvalue, gives both terms the same size and does not change the results. The
    eigenvalues are non-negative, not positive as after eq. (14). They are squares of singular values: their roots are
    the spectrum, and what is below n eps of the largest eigenvalue is zero whatever the tolerance, which is about 1e-7
    of the largest singular value.
    """
    width = load(M, Psi_q, Q, gamma, n, m, spectrum, work)
    H = matrix(work, 2, width)
    T = matrix(work, 3, width)
    V = matrix(work, 6, width)
    reduced = matrix(work, 7, width)
    x = vector(work, 9, width)
    y = vector(work, 10, width)
    values = vector(work, 11, width)
    g = vector(work, 1, width)
    da = vector(work, 4, width)
    dlam = vector(work, 5, width)
    gram(matrix(work, 1, width), m, n, width, H)
    if symmetric_schur(H, n, width, T, matrix(work, 4, width), x, values, y):
        return NOT_CONVERGED
    rank = rank_of_squares(values, n, tolerance, spectrum)
    free = n - rank
    k = 0
    for i in range(n):
        if values[i] == 0.0:
            copy(offset(T, i * width), offset(V, k * width), width)
            k += 1
    if reduced_mass(V, free, n, width, work, matrix(work, 8, width), reduced, x):
        return UNDETERMINED
    gram(matrix(work, 1, width), m, n, width, H)
    s = spectrum[0] * spectrum[0] if rank > 0 else 1.0
    for k in range(free):
        v = offset(V, k * width)
        for i in range(n):
            add_columns(offset(H, i * width), s * v[i], v, 0, n)
    if cholesky(H, n, width, x, 0.0) < n:
        return NOT_CONVERGED

    mass_condition = condition_of_triangle(reduced, free, width)
    condition = condition_of(spectrum, rank)
    rest = math.inf
    for _ in range(PASSES):
        transpose_times(matrix(work, 1, width), g, m, n, width, da)
        solve_upper_transposed(H, n, width, da)
        solve_upper(H, n, width, da)
        add_free_motion(V, reduced, free, n, width, work, x, y)
        solve_upper_transposed(H, n, width, x)
        solve_upper(H, n, width, x)
        times(matrix(work, 1, width), x, m, n, width, dlam)
        rest = done(Q, gamma, n, m, width, work, mass_condition, condition, rest)
        if rest == 0.0:
            break
    return unload(n, m, width, work, a, lam, rank)
