"""Gauss' elimination."""

from __future__ import annotations

from linkwork.linalg.columns import add_columns, find_largest
from linkwork.linalg.trapezoid import Trapezoid
from linkwork.linalg.vectors import swap, swap_rows
from linkwork.native.kernels import Pointer, offset


def factor_lu(
    A: Pointer, columns: int, T: Trapezoid, column_pivots: Pointer, spectrum: Pointer, tolerance: float
) -> int:
    """Factor P^T A C = L U, the largest remaining entry as pivot each time; return the rank.

    U comes to stand over A, with zeros below it; L^T, which has a column for each row of A, and P become R and P of T.
    `spectrum` holds the sizes of the pivots and of the first one refused, at most tolerance times the first.
    """
    rows, width = T.columns, T.width
    for i in range(rows):
        T.pivots[i] = i
    for j in range(columns):
        column_pivots[j] = j
    for k in range(min(rows, columns)):
        largest = -1.0
        p = k
        for i in range(k, rows):
            of_row = find_largest(offset(A, i * width), k, columns)
            if of_row > largest:
                largest = of_row
                p = i
        spectrum[k] = largest
        if not largest > tolerance * spectrum[0]:
            return k
        u = offset(A, p * width)
        c = k
        for j in range(k, columns):
            if abs(u[j]) == largest:
                c = j
        u = offset(A, k * width)
        if p != k:
            swap_rows(u, offset(A, p * width), columns)
            swap(T.pivots, k, p)
            for i in range(k):
                swap(offset(T.R, i * width), k, p)
        if c != k:
            for i in range(rows):
                swap(offset(A, i * width), k, c)
            swap(column_pivots, k, c)
        column = offset(T.R, k * width)
        column[k] = 1.0
        for i in range(k + 1, rows):
            a = offset(A, i * width)
            column[i] = a[k] / u[k]
            if column[i] != 0.0:
                add_columns(a, -column[i], u, k + 1, columns)
            a[k] = 0.0
    return min(rows, columns)
