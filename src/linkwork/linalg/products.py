"""Products of matrices and vectors."""

from __future__ import annotations

from linkwork.linalg.columns import add_columns
from linkwork.linalg.vectors import dot, fill
from linkwork.native.kernels import Pointer, offset


def transpose(A: Pointer, rows: int, columns: int, width: int, B: Pointer) -> None:
    """Compute B := A^T, with zeros beyond its last column."""
    fill(B, 0.0, columns * width)
    for i in range(rows):
        a = offset(A, i * width)
        for j in range(columns):
            B[j * width + i] = a[j]


def multiply(A: Pointer, x: Pointer, rows: int, columns: int, width: int, y: Pointer) -> None:
    """Compute y := A x."""
    for i in range(rows):
        y[i] = dot(offset(A, i * width), x, 0, columns)


def multiply_transposed(A: Pointer, x: Pointer, rows: int, columns: int, width: int, y: Pointer) -> None:
    """Compute y := A^T x; also A x where A is symmetric."""
    fill(y, 0.0, width)
    for i in range(rows):
        if x[i] != 0.0:
            add_columns(y, x[i], offset(A, i * width), 0, columns)


def multiply_matrices(A: Pointer, B: Pointer, rows: int, inner: int, columns: int, width: int, C: Pointer) -> None:
    """Compute C := A B."""
    for i in range(0, rows, 4):
        for j in range(0, columns, 4):
            multiply_tile(offset(A, i * width), 1, width, offset(B, j), inner, width, offset(C, i * width + j))


def form_gram(A: Pointer, rows: int, columns: int, width: int, C: Pointer) -> None:
    """Compute C := A^T A."""
    for i in range(0, columns, 4):
        for j in range(i, columns, 4):
            multiply_tile(offset(A, i), width, 1, offset(A, j), rows, width, offset(C, i * width + j))
    for i in range(columns):
        for j in range(i):
            C[i * width + j] = C[j * width + i]


def multiply_tile(A: Pointer, forth: int, down: int, B: Pointer, inner: int, width: int, C: Pointer) -> None:
    """Multiply four by four entries: C[i, j] = sum over k of A[k forth + i down] B[k, j].

    Sixteen sums at a time, so that none waits for itself and each entry that is read serves four of them.
    """
    c00 = c01 = c02 = c03 = 0.0
    c10 = c11 = c12 = c13 = 0.0
    c20 = c21 = c22 = c23 = 0.0
    c30 = c31 = c32 = c33 = 0.0
    for k in range(inner):
        a = offset(A, k * forth)
        b = offset(B, k * width)
        a0, a1, a2, a3 = a[0], a[down], a[2 * down], a[3 * down]
        b0, b1, b2, b3 = b[0], b[1], b[2], b[3]
        c00 += a0 * b0
        c01 += a0 * b1
        c02 += a0 * b2
        c03 += a0 * b3
        c10 += a1 * b0
        c11 += a1 * b1
        c12 += a1 * b2
        c13 += a1 * b3
        c20 += a2 * b0
        c21 += a2 * b1
        c22 += a2 * b2
        c23 += a2 * b3
        c30 += a3 * b0
        c31 += a3 * b1
        c32 += a3 * b2
        c33 += a3 * b3
    store_four(C, c00, c01, c02, c03)
    store_four(offset(C, width), c10, c11, c12, c13)
    store_four(offset(C, 2 * width), c20, c21, c22, c23)
    store_four(offset(C, 3 * width), c30, c31, c32, c33)


def store_four(y: Pointer, y0: float, y1: float, y2: float, y3: float) -> None:
    y[0] = y0
    y[1] = y1
    y[2] = y2
    y[3] = y3
