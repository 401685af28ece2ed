"""The complete orthogonal factorization of the transposed Jacobian, and its pseudo-inverse.

    Psi_q^T P = Q (R; 0),   R = (T 0) Z          T = L^T regular, upper triangular, rank x rank; Q, Z orthogonal
    Psi_q^+ = Q (T^-T 0; 0 0) Z P^T              [golub2013, section 5.5]

In `work`: matrices 2 to 4 are R, L with the reflections of Z, and the reflections of Q; vectors 6 to 8 are the factors
of Q's and of Z's reflections, and P.
"""

from __future__ import annotations

from linkwork.dense.matrices import (
    multiply_q,
    multiply_q_transposed,
    multiply_z,
    multiply_z_transposed,
    permute,
    permute_back,
    pivoted_qr,
    solve_lower,
    solve_lower_transposed,
    transpose,
    trapezoid,
)
from linkwork.dense.vectors import clear
from linkwork.formulations.refinement import matrix, vector
from linkwork.native.kernels import Pointer


def factor(n: int, m: int, width: int, tolerance: float, spectrum: Pointer, work: Pointer) -> int:
    """Factor Psi_q^T of `work` with column pivoting; the rank."""
    R = matrix(work, 2, width)
    x = vector(work, 9, width)
    y = vector(work, 10, width)
    transpose(matrix(work, 1, width), m, n, width, R)
    rank = pivoted_qr(
        R,
        n,
        m,
        width,
        matrix(work, 4, width),
        vector(work, 6, width),
        vector(work, 8, width),
        x,
        y,
        spectrum,
        tolerance,
    )
    complete(m, rank, width, work)
    return rank


def complete(m: int, rank: int, width: int, work: Pointer) -> None:
    """L and Z from R."""
    trapezoid(
        matrix(work, 2, width), rank, m, width, matrix(work, 3, width), vector(work, 7, width), vector(work, 9, width)
    )


def pseudo_inverse(g: Pointer, n: int, m: int, rank: int, width: int, work: Pointer, x: Pointer) -> None:
    """x := Psi_q^+ g."""
    pivots = vector(work, 8, width)
    permute(g, pivots, m, x)
    multiply_z(matrix(work, 3, width), vector(work, 7, width), rank, m, width, x)
    solve_lower(matrix(work, 3, width), rank, width, x)
    clear(x, rank, width)
    multiply_q(matrix(work, 4, width), vector(work, 6, width), rank, n, width, x)


def pseudo_inverse_transposed(x: Pointer, n: int, m: int, rank: int, width: int, work: Pointer, lam: Pointer) -> None:
    """lam := (Psi_q^+)^T x, the least solution of Psi_q^T lam = x; x is overwritten."""
    multiply_q_transposed(matrix(work, 4, width), vector(work, 6, width), rank, n, width, x)
    solve_lower_transposed(matrix(work, 3, width), rank, width, x)
    clear(x, rank, width)
    multiply_z_transposed(matrix(work, 3, width), vector(work, 7, width), rank, m, width, x)
    permute_back(x, vector(work, 8, width), m, lam)
