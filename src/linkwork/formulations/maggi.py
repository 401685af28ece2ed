"""Elimination of the reactions: accelerations from a basis V of the motions the constraints admit, Psi_q V = 0.

    a = S gamma + V p''          V^T M V p'' = V^T (Q - M S gamma)        [defalco2008, eqs. (10)-(13); pennestri2004,
                                                                          eqs. (16), (30), (36)]

S gamma is one solution of Psi_q a = gamma, here for V^T S gamma = 0. In defalco2008, eq. (11), the last term has the
wrong sign; pennestri2004, eq. (16), is right. Only V^T M V must be regular, not M.

The basis is held in the rows of a matrix, V^T.
"""

from __future__ import annotations

from linkwork.dense.matrices import (
    SINGULAR,
    add_columns,
    cholesky,
    product,
    solve_upper,
    solve_upper_transposed,
    transpose_times,
)
from linkwork.dense.vectors import dot
from linkwork.formulations.refinement import vector
from linkwork.native.kernels import Pointer, offset


def reduced_mass(
    V: Pointer, free: int, n: int, width: int, work: Pointer, N: Pointer, reduced: Pointer, diagonal: Pointer
) -> int:
    """U of V^T M V = U^T U over `reduced`; 0, or 1 if V^T M V is singular."""
    product(V, work, free, n, n, width, N)
    for i in range(free):
        for j in range(i, free):
            reduced[i * width + j] = dot(offset(N, i * width), offset(V, j * width), 0, n)
    return 0 if cholesky(reduced, free, width, diagonal, SINGULAR) == free else 1


def applied_force_left(n: int, width: int, work: Pointer, r: Pointer) -> None:
    """r := f - M da."""
    f = vector(work, 0, width)
    transpose_times(work, vector(work, 4, width), n, n, width, r)
    for i in range(n):
        r[i] = f[i] - r[i]


def add_free_motion(
    V: Pointer, reduced: Pointer, free: int, n: int, width: int, work: Pointer, r: Pointer, p: Pointer
) -> None:
    """da += V p'' with V^T M V p'' = V^T (f - M da), and r := f - M da, which the reactions then have to balance."""
    da = vector(work, 4, width)
    applied_force_left(n, width, work, r)
    for j in range(free):
        p[j] = dot(offset(V, j * width), r, 0, n)
    solve_upper_transposed(reduced, free, width, p)
    solve_upper(reduced, free, width, p)
    for j in range(free):
        add_columns(da, p[j], offset(V, j * width), 0, n)
    applied_force_left(n, width, work, r)
