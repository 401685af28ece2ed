"""Elimination of the reactions: accelerations from a basis V of the motions the constraints admit, Psi_q V = 0.

    a = S gamma + V p''          V^T M V p'' = V^T (Q - M S gamma)        [defalco2008, eqs. (10)-(13); pennestri2004,
                                                                          eqs. (16), (30), (36)]

S gamma is one solution of Psi_q a = gamma, here for V^T S gamma = 0. In defalco2008, eq. (11), the last term has the
wrong sign; pennestri2004, eq. (16), is right. Only V^T M V must be regular, not M.

The basis is held in the rows of a matrix, V^T.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.formulations.refinement import UNDETERMINED, Padded
from linkwork.linalg.cholesky import SINGULAR, factor_cholesky
from linkwork.linalg.columns import add_columns
from linkwork.linalg.products import multiply, multiply_matrices, multiply_transposed
from linkwork.linalg.triangular import estimate_condition, solve_definite
from linkwork.linalg.vectors import dot, subtract_from
from linkwork.native.kernels import Pointer, offset, split


class FreeMotion(NamedTuple):
    V: Pointer
    V_M: Pointer  # V^T M
    U: Pointer  # V^T M V = U^T U
    force: Pointer  # f - M da, what the reactions have to balance
    p: Pointer
    rest: Pointer


def take_free_motion(w: Pointer, width: int) -> FreeMotion:
    return FreeMotion(*split(w, (width * width, width * width, width * width, width, width)))


def factor_reduced_mass(e: Padded, k: FreeMotion, rank: int) -> tuple[int, float]:
    """Return U of V^T M V = U^T U; the rank and the condition number of V^T M V, or UNDETERMINED if it is singular."""
    free = e.n - rank
    multiply_matrices(k.V, e.M, free, e.n, e.n, e.width, k.V_M)
    for i in range(free):
        for j in range(i, free):
            k.U[i * e.width + j] = dot(offset(k.V_M, i * e.width), offset(k.V, j * e.width), 0, e.n)
    if not factor_cholesky(k.U, free, e.width, k.p, SINGULAR):
        return UNDETERMINED, 0.0
    return rank, estimate_condition(k.U, free, e.width)


def find_force_left(e: Padded, force: Pointer) -> None:
    """Compute force := f - M da."""
    multiply_transposed(e.M, e.da, e.n, e.n, e.width, force)
    subtract_from(e.f, force, e.n)


def add_free_motion(e: Padded, k: FreeMotion, rank: int) -> None:
    """Compute da += V p'' with V^T M V p'' = V^T (f - M da), and the force that is then left."""
    free = e.n - rank
    find_force_left(e, k.force)
    multiply(k.V, k.force, free, e.n, e.width, k.p)
    solve_definite(k.U, free, e.width, k.p)
    for j in range(free):
        add_columns(e.da, k.p[j], offset(k.V, j * e.width), 0, e.n)
    find_force_left(e, k.force)
