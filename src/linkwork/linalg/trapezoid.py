"""Matrices of full row rank with columns in another order, R P^T, R upper trapezoidal, as rank-revealing methods leave.

    R = (L^T 0) Z          L lower triangular, rank x rank; Z orthogonal              [golub2013, section 5.5]
    (R P^T)^+ = P Z^T (L^-T; 0)

Z is a product of reflections I - t v v^T from the right, v = e_k + sum over j of L[j, k] e_j, rank <= j < columns: they
stand in the rows of L below the triangle.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from linkwork.linalg.triangular import solve_lower, solve_lower_transposed
from linkwork.linalg.vectors import add, clear, copy, permute, permute_back
from linkwork.native.kernels import Pointer, offset, split


class Trapezoid(NamedTuple):
    columns: int
    width: int
    R: Pointer
    L: Pointer
    tau: Pointer  # the factors t of Z
    pivots: Pointer  # P
    left: Pointer  # while R is made: squares of what is left of the columns
    scratch: Pointer
    rest: Pointer


def take_trapezoid(w: Pointer, columns: int, width: int) -> Trapezoid:
    return Trapezoid(columns, width, *split(w, (width * width, width * width, width, width, width, width)))


def complete(T: Trapezoid, rank: int) -> None:
    """Return L and Z from R. Works on R^T, whose rows are long where those of R beside the triangle are short."""
    width = T.width
    for i in range(rank):
        r = offset(T.R, i * width)
        for j in range(i, T.columns):
            T.L[j * width + i] = r[j]
    if rank == T.columns:
        return
    w = T.scratch
    for k in range(rank - 1, -1, -1):
        row = offset(T.L, k * width)
        square = row[k] * row[k]
        for j in range(rank, T.columns):
            square += T.L[j * width + k] * T.L[j * width + k]
        beta = -math.sqrt(square) if row[k] > 0.0 else math.sqrt(square)
        head = row[k] - beta
        t = -head / beta
        T.tau[k] = t
        row[k] = beta
        copy(row, w, k)
        for j in range(rank, T.columns):
            z = offset(T.L, j * width)
            z[k] /= head
            add(w, z[k], z, 0, k)
        add(row, -t, w, 0, k)
        for j in range(rank, T.columns):
            z = offset(T.L, j * width)
            add(z, -t * z[k], w, 0, k)


def solve_transposed(T: Trapezoid, rank: int, g: Pointer, x: Pointer) -> None:
    """Solve x := ((R P^T)^+)^T g = (L^-1 0) Z P^T g, and zeros behind it: P R^T x = g in the sense of least squares."""
    permute(g, T.pivots, T.columns, x)
    if rank < T.columns:
        for k in range(rank - 1, -1, -1):
            reflect_entries(T, k, rank, x)
    solve_lower(T.L, rank, T.width, x)
    clear(x, rank, T.width)


def solve_least(T: Trapezoid, rank: int, x: Pointer, y: Pointer) -> None:
    """Compute y := (R P^T)^+ x = P Z^T (L^-T x; 0), the least solution of R P^T y = x; x is overwritten."""
    solve_lower_transposed(T.L, rank, T.width, x)
    clear(x, rank, T.width)
    if rank < T.columns:
        for k in range(rank):
            reflect_entries(T, k, rank, x)
    permute_back(x, T.pivots, T.columns, y)


def reflect_entries(T: Trapezoid, k: int, rank: int, x: Pointer) -> None:
    """Apply one reflection of Z."""
    z = offset(T.L, k)
    s = x[k]
    for j in range(rank, T.columns):
        s += z[j * T.width] * x[j]
    s *= T.tau[k]
    x[k] -= s
    for j in range(rank, T.columns):
        x[j] -= s * z[j * T.width]
