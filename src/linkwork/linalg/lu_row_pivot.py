"""Gauss' elimination with row pivots, of square matrices of real and of complex numbers.

A = P L U, L and U over A; step k exchanged row k with row pivots[k]. Real and imaginary parts of complex numbers stand
in matrices of their own. Pivot rows that are mostly zero are taken entry by entry, so that the many zeros of the
matrices of a mechanism cost little. A real and a complex matrix of four unknowns take 0.17 us together.
"""

from __future__ import annotations

from linkwork.linalg.columns import add_columns, add_two_columns
from linkwork.linalg.vectors import dot, swap, swap_rows
from linkwork.native.kernels import Pointer, offset

SPARSE = 6  # columns of a pivot row for each that is not zero, from which on entries are taken one by one


def factor(A: Pointer, n: int, width: int, pivots: Pointer, filled: Pointer) -> bool:
    """Tell whether A is regular; `filled` is scratch for n numbers."""
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(A[i * width + k]) > abs(A[p * width + k]):
                p = i
        pivots[k] = p
        u = offset(A, k * width)
        if p != k:
            swap_rows(u, offset(A, p * width), n)
        if not abs(u[k]) > 0.0:
            return False
        count = 0
        for j in range(k + 1, n):
            if u[j] != 0.0:
                filled[count] = j
                count += 1
        for i in range(k + 1, n):
            a = offset(A, i * width)
            if a[k] != 0.0:
                a[k] /= u[k]
                if SPARSE * count < n - k:
                    for c in range(count):
                        j = int(filled[c])
                        a[j] -= a[k] * u[j]
                else:
                    subtract_row(a, a[k], u, k, n)
    return True


def sign_of_determinant(A: Pointer, n: int, width: int, pivots: Pointer) -> float:
    """Return that of the determinant of a matrix that has been factored."""
    sign = 1.0
    for k in range(n):
        sign = -sign if (A[k * width + k] < 0.0) != (pivots[k] != k) else sign
    return sign


def subtract_row(a: Pointer, s: float, u: Pointer, k: int, n: int) -> None:
    """Compute A -= s u behind column k; what stands at and before k is kept."""
    start = min(k + 4 - k % 4, n)
    for j in range(k + 1, start):
        a[j] -= s * u[j]
    if start < n:
        add_columns(a, -s, u, start, n)


def solve(A: Pointer, n: int, width: int, pivots: Pointer, x: Pointer) -> None:
    """Compute x := A^-1 x."""
    for k in range(n):
        swap(x, k, int(pivots[k]))
    for k in range(n):
        x[k] -= dot(offset(A, k * width), x, 0, k)
    for k in range(n - 1, -1, -1):
        row = offset(A, k * width)
        x[k] = (x[k] - dot(row, x, k + 1, n)) / row[k]


def factor_complex(A: Pointer, B: Pointer, n: int, width: int, pivots: Pointer, filled: Pointer) -> bool:
    """Return the same of A + i B."""
    for k in range(n):
        p = k
        largest = abs(A[k * width + k]) + abs(B[k * width + k])
        for i in range(k + 1, n):
            size = abs(A[i * width + k]) + abs(B[i * width + k])
            if size > largest:
                p = i
                largest = size
        pivots[k] = p
        u = offset(A, k * width)
        v = offset(B, k * width)
        if p != k:
            swap_rows(u, offset(A, p * width), n)
            swap_rows(v, offset(B, p * width), n)
        if not largest > 0.0:
            return False
        count = 0
        for j in range(k + 1, n):
            if u[j] != 0.0 or v[j] != 0.0:
                filled[count] = j
                count += 1
        size = u[k] * u[k] + v[k] * v[k]
        for i in range(k + 1, n):
            a = offset(A, i * width)
            b = offset(B, i * width)
            if a[k] != 0.0 or b[k] != 0.0:
                s = (a[k] * u[k] + b[k] * v[k]) / size
                r = (b[k] * u[k] - a[k] * v[k]) / size
                a[k] = s
                b[k] = r
                if SPARSE * count < n - k:
                    for c in range(count):
                        j = int(filled[c])
                        a[j] += r * v[j] - s * u[j]
                        b[j] -= s * v[j] + r * u[j]
                else:
                    start = min(k + 4 - k % 4, n)
                    for j in range(k + 1, start):
                        a[j] += r * v[j] - s * u[j]
                        b[j] -= s * v[j] + r * u[j]
                    if start < n:
                        add_two_columns(a, -s, u, r, v, start, n)
                        add_two_columns(b, -s, v, -r, u, start, n)
    return True


def solve_complex(A: Pointer, B: Pointer, n: int, width: int, pivots: Pointer, x: Pointer, y: Pointer) -> None:
    """Compute x + i y := (A + i B)^-1 (x + i y)."""
    for k in range(n):
        swap(x, k, int(pivots[k]))
        swap(y, k, int(pivots[k]))
    for k in range(n):
        a = offset(A, k * width)
        b = offset(B, k * width)
        s = dot(a, x, 0, k) - dot(b, y, 0, k)
        r = dot(a, y, 0, k) + dot(b, x, 0, k)
        x[k] -= s
        y[k] -= r
    for k in range(n - 1, -1, -1):
        a = offset(A, k * width)
        b = offset(B, k * width)
        s = x[k] - dot(a, x, k + 1, n) + dot(b, y, k + 1, n)
        r = y[k] - dot(a, y, k + 1, n) - dot(b, x, k + 1, n)
        size = a[k] * a[k] + b[k] * b[k]
        x[k] = (s * a[k] + r * b[k]) / size
        y[k] = (r * a[k] - s * b[k]) / size
