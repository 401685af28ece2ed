"""Eigenvalues of symmetric matrices and singular values, with their vectors."""

from __future__ import annotations

import math
from typing import NamedTuple

from linkwork.linalg.columns import add_columns, add_two_columns, rotate
from linkwork.linalg.products import transpose
from linkwork.linalg.qr import Reflections, make_reflection, reflect, take_reflections
from linkwork.linalg.vectors import add, copy, dot, fill, sort_descending
from linkwork.native.kernels import Pointer, offset, split
from linkwork.tolerances import EPSILON, ROUNDING

SWEEPS = 40  # some five are usual


class Spectral(NamedTuple):
    """A = K diag(values) K^T of a symmetric matrix; the vectors stand in the rows of what is called K here."""

    n: int
    width: int
    reflections: Reflections
    A: Pointer  # overwritten
    K: Pointer
    values: Pointer
    beside: Pointer  # the values beside the diagonal of the tridiagonal form
    rest: Pointer


def take_spectral(w: Pointer, n: int, width: int) -> Spectral:
    reflections = take_reflections(w, n, width, width)
    return Spectral(n, width, reflections, *split(reflections.rest, (width * width, width * width, width, width)))


def diagonalize(S: Spectral) -> bool:
    """Return values and vectors of S.A; whether it converged.

    The real Schur form of a symmetric matrix is diagonal and its Hessenberg form tridiagonal (d, e): Householder's
    reflections to that form, then QL with implicit shifts. What is below rounding of the whole matrix counts as zero.
    """
    n, width, A, K, d, e, tau = S.n, S.width, S.A, S.K, S.values, S.beside, S.reflections.tau
    largest = 0.0
    for k in range(n - 1):
        a = offset(A, k * width)
        v = offset(S.reflections.v, k * width)
        fill(v, 0.0, width)
        copy(offset(a, k + 1), offset(v, k + 1), n - k - 1)
        norm = math.sqrt(dot(v, v, k + 1, n))
        d[k] = a[k]
        e[k] = 0.0
        tau[k] = 0.0
        if norm > 0.0:
            e[k] = -norm if v[k + 1] > 0.0 else norm
            tau[k] = make_reflection(v, k + 1, norm)
            # A := (I - t v v^T) A (I - t v v^T) = A - v w^T - w v^T
            w = offset(K, 0)
            fill(w, 0.0, width)
            for i in range(k + 1, n):
                add_columns(w, tau[k] * v[i], offset(A, i * width), k + 1, n)
            for j in range(k + 1):
                w[j] = 0.0
            add(w, -0.5 * tau[k] * dot(v, w, k + 1, n), v, k + 1, n)
            for i in range(k + 1, n):
                add_two_columns(offset(A, i * width), -v[i], w, -w[i], v, k + 1, n)
        largest = max(largest, abs(d[k]) + abs(e[k]))
    d[n - 1] = A[n * width - width + n - 1]
    e[n - 1] = 0.0
    largest = max(largest, abs(d[n - 1]))

    fill(A, 0.0, n * width)
    for i in range(n):
        A[i * width + i] = 1.0
    for k in range(n - 2, -1, -1):
        if tau[k] != 0.0:
            reflect(A, width, offset(S.reflections.v, k * width), tau[k], k + 1, n, k + 1, n)
    transpose(A, n, n, width, K)

    small = EPSILON * largest
    for low in range(n):
        for sweep in range(SWEEPS + 1):
            high = low
            while high < n - 1 and abs(e[high]) > small:
                high += 1
            if high == low:
                break
            if sweep == SWEEPS:
                return False
            sweep_ql(S, low, high)
    return True


def sweep_ql(S: Spectral, low: int, high: int) -> None:
    """Take one implicit QL step of the tridiagonal (d, e) between rows low and high, with Wilkinson's shift."""
    n, width, K, d, e = S.n, S.width, S.K, S.values, S.beside
    g = (d[low + 1] - d[low]) / (2.0 * e[low])
    r = math.sqrt(g * g + 1.0)
    g = d[high] - d[low] + e[low] / (g + (r if g >= 0.0 else -r))
    s = 1.0
    c = 1.0
    p = 0.0
    for i in range(high - 1, low - 1, -1):
        f = s * e[i]
        b = c * e[i]
        square = f * f + g * g
        r = math.sqrt(square)
        e[i + 1] = r
        if r == 0.0:
            d[i + 1] -= p
            e[high] = 0.0
            return
        # r / square rather than 1 / r: the division need not wait for the root.
        inverse = r * (1.0 / square)
        s = f * inverse
        c = g * inverse
        g = d[i + 1] - p
        r = (d[i] - g) * s + 2.0 * c * b
        p = s * r
        d[i + 1] = g + p
        g = c * r - b
        rotate(offset(K, i * width), offset(K, (i + 1) * width), c, s, n)
    d[low] -= p
    e[low] = g
    e[high] = 0.0


def orthogonalize_rows(A: Pointer, rows: int, columns: int, width: int, J: Pointer, squares: Pointer) -> bool:
    """Make the rows of A orthogonal by rotations, with those of J alongside; whether it converged.

    One-sided Jacobi (Hestenes): if A = J B at the beginning, J orthogonal, then A = J B = diag(sigma) U^T at the end.
    The pairs (i, j) of one round, i + j = constant modulo the number of rows, have no row in common, so that the
    processor overlaps their scalar products. Rows that are zero to rounding stay as they are. `squares` becomes
    sigma^2.
    """
    for _ in range(SWEEPS):
        rotations = 0
        largest = 0.0
        for i in range(rows):
            a = offset(A, i * width)
            squares[i] = dot(a, a, 0, columns)
            largest = max(largest, squares[i])
        zero = (columns * EPSILON) * (columns * EPSILON) * largest
        for total in range(rows):
            for i in range(rows):
                j = total - i
                if j < 0:
                    j += rows
                if i < j and squares[i] > zero and squares[j] > zero:
                    x = offset(A, i * width)
                    y = offset(A, j * width)
                    p = dot(x, y, 0, columns)
                    if p * p > ROUNDING * ROUNDING * squares[i] * squares[j]:
                        rotations += 1
                        zeta = 0.5 * (squares[j] - squares[i]) / p
                        t = 1.0 / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
                        if zeta < 0.0:
                            t = -t
                        c = 1.0 / math.sqrt(1.0 + t * t)
                        rotate(x, y, c, c * t, columns)
                        rotate(offset(J, i * width), offset(J, j * width), c, c * t, rows)
                        squares[i] -= t * p
                        squares[j] += t * p
        if rotations == 0:
            return True
    return False


def drop_zero_squares(squares: Pointer, n: int, tolerance: float, spectrum: Pointer) -> int:
    """Set to zero what is at most tolerance^2 times the largest; the number of the others.

    `spectrum` gets all roots, from the largest to the smallest.
    """
    for i in range(n):
        spectrum[i] = math.sqrt(max(squares[i], 0.0))
    sort_descending(spectrum, 0, n)
    smallest = tolerance * spectrum[0]
    rank = 0
    for i in range(n):
        if squares[i] > smallest * smallest:
            rank += 1
        else:
            squares[i] = 0.0
    return rank


def copy_zero_rows(K: Pointer, squares: Pointer, n: int, width: int, V: Pointer) -> None:
    """Copy to the rows of V the rows of K whose value is zero."""
    k = 0
    for i in range(n):
        if squares[i] == 0.0:
            copy(offset(K, i * width), offset(V, k * width), width)
            k += 1


def expand(A: Pointer, B: Pointer, squares: Pointer, n: int, width: int, x: Pointer, y: Pointer) -> None:
    """Compute y := sum of a_k (b_k^T x) / squares[k] over the rows of A and B whose value is not zero."""
    fill(y, 0.0, width)
    for k in range(n):
        if squares[k] != 0.0:
            b = offset(B, k * width)
            add_columns(y, dot(b, x, 0, width) / squares[k], offset(A, k * width), 0, width)
