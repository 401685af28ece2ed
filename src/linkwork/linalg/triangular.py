"""Systems with a triangular matrix."""

from __future__ import annotations

import math

from linkwork.linalg.columns import add_columns
from linkwork.linalg.vectors import add, dot
from linkwork.native.kernels import Pointer, offset


def solve_upper(U: Pointer, n: int, width: int, x: Pointer) -> None:
    """Compute x := U^-1 x, U upper triangular."""
    for i in range(n - 1, -1, -1):
        u = offset(U, i * width)
        x[i] = (x[i] - dot(u, x, i + 1, n)) / u[i]


def solve_upper_transposed(U: Pointer, n: int, width: int, x: Pointer) -> None:
    """Compute x := U^-T x, U upper triangular."""
    for i in range(n):
        u = offset(U, i * width)
        x[i] /= u[i]
        add(x, -x[i], u, i + 1, n)


def solve_lower(L: Pointer, n: int, width: int, x: Pointer) -> None:
    """Compute x := L^-1 x, L lower triangular."""
    for i in range(n):
        row = offset(L, i * width)
        x[i] = (x[i] - dot(row, x, 0, i)) / row[i]


def solve_lower_transposed(L: Pointer, n: int, width: int, x: Pointer) -> None:
    """Compute x := L^-T x, L lower triangular."""
    for i in range(n - 1, -1, -1):
        row = offset(L, i * width)
        x[i] /= row[i]
        add(x, -x[i], row, 0, i)


def solve_rows(U: Pointer, n: int, columns: int, width: int, B: Pointer) -> None:
    """Compute B := U^-T B, U upper triangular, B of n rows."""
    for i in range(n):
        u = offset(U, i * width)
        b = offset(B, i * width)
        for j in range(columns):
            b[j] /= u[i]
        for k in range(i + 1, n):
            if u[k] != 0.0:
                add_columns(offset(B, k * width), -u[k], b, 0, columns)


def solve_definite(U: Pointer, n: int, width: int, x: Pointer) -> None:
    """Compute x := A^-1 x, A = U^T U."""
    solve_upper_transposed(U, n, width, x)
    solve_upper(U, n, width, x)


def estimate_condition(U: Pointer, n: int, width: int) -> float:
    """Return the condition number of U^T U as the diagonal of the triangular U shows it."""
    largest = 0.0
    smallest = math.inf
    for k in range(n):
        largest = max(largest, abs(U[k * width + k]))
        smallest = min(smallest, abs(U[k * width + k]))
    return (largest / smallest) * (largest / smallest) if n > 0 else 1.0
