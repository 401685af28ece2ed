"""Cholesky's method for definite and, with pivoting, for semi-definite matrices."""

from __future__ import annotations

import math

from linkwork.linalg.columns import add_columns
from linkwork.linalg.trapezoid import Trapezoid
from linkwork.linalg.vectors import fill, swap
from linkwork.native.kernels import Pointer, offset

# Below this fraction of its diagonal entry a pivot is rounding: some hundred times EPSILON, for sums of many terms.
SINGULAR = 1e-13


def factor_cholesky(A: Pointer, n: int, width: int, diagonal: Pointer, smallest: float) -> bool:
    """Factor A = U^T U over A's upper triangle, A symmetric; tell whether all pivots are positive.

    Not positive is what is at most `smallest` times the entry of the diagonal it started from.
    """
    for k in range(n):
        diagonal[k] = A[k * width + k]
    for k in range(n):
        u = offset(A, k * width)
        if not u[k] > smallest * diagonal[k]:
            return False
        root = math.sqrt(u[k])
        for j in range(k + 1, n):
            u[j] /= root
        u[k] = root
        for i in range(k + 1, n):
            if u[i] != 0.0:
                add_columns(offset(A, i * width), -u[i], u, i, n)
    return True


def factor_pivoted_cholesky(A: Pointer, limit: int, T: Trapezoid, tolerance: float) -> int:
    """Factor P^T A P = R^T R row by row, A symmetric and semi-definite, and return the number of rows, at most `limit`.

    Row k of the elimination is made when it is needed (left-looking). `T.left` becomes what is left of the diagonal: at
    first the pivots in the order of their choice.
    """
    n, width, diagonal = T.columns, T.width, T.left
    for i in range(n):
        T.pivots[i] = i
        diagonal[i] = A[i * width + i]
    rank = 0
    for k in range(min(limit, n)):
        p = k
        for j in range(k + 1, n):
            if diagonal[j] > diagonal[p]:
                p = j
        swap(diagonal, k, p)
        if not diagonal[k] > tolerance * diagonal[0]:
            break
        swap(T.pivots, k, p)
        for i in range(k):
            swap(offset(T.R, i * width), k, p)
        r = offset(T.R, k * width)
        a = offset(A, int(T.pivots[k]) * width)
        root = math.sqrt(diagonal[k])
        fill(r, 0.0, width)
        for j in range(k, n):
            r[j] = a[int(T.pivots[j])]
        for i in range(k):
            above = offset(T.R, i * width)
            add_columns(r, -above[k], above, k, n)
        for j in range(k + 1, n):
            r[j] /= root
            diagonal[j] -= r[j] * r[j]
        r[k] = root
        rank = k + 1
    return rank
