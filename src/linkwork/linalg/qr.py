"""Orthogonal matrices as products of Householder's reflections I - t v v^T, and QR decompositions by them."""

from __future__ import annotations

import math
from typing import NamedTuple

from linkwork.linalg.cholesky import SINGULAR
from linkwork.linalg.products import store_four
from linkwork.linalg.trapezoid import Trapezoid
from linkwork.linalg.vectors import add, copy, dot, fill, sort_descending, swap
from linkwork.native.kernels import Pointer, offset, split
from linkwork.tolerances import HALF_THE_DIGITS


class Reflections(NamedTuple):
    """Q, a product of reflections; the k-th acts from row k on."""

    rows: int
    width: int  # of the rows of v
    v: Pointer
    tau: Pointer  # the factors t
    rest: Pointer


def take_reflections(w: Pointer, rows: int, count: int, width: int) -> Reflections:
    return Reflections(rows, width, *split(w, (count * width, count)))


def make_reflection(x: Pointer, start: int, norm: float) -> float:
    """Make x into the v of the reflection that sends it to (0, .., beta at `start`, 0, ..); t of I - t v v^T.

    beta = -sign(x[start]) norm, where norm > 0 is that of x.
    """
    beta = -norm if x[start] > 0.0 else norm
    x[start] -= beta
    t: float = -1.0 / (beta * x[start])
    return t


def reflect(A: Pointer, width: int, v: Pointer, t: float, first: int, rows: int, start: int, stop: int) -> None:
    """Compute A := (I - t v v^T) A in rows first to rows - 1 and whole groups of four columns."""
    last = rows - (rows - first) % 2
    for j in range(start - start % 4, stop, 4):
        # Rows of even and of odd number have sums of their own, which need not wait for each other.
        w0 = w1 = w2 = w3 = 0.0
        u0 = u1 = u2 = u3 = 0.0
        for i in range(first, last, 2):
            a = offset(A, i * width + j)
            w0 += v[i] * a[0]
            w1 += v[i] * a[1]
            w2 += v[i] * a[2]
            w3 += v[i] * a[3]
            b = offset(a, width)
            u0 += v[i + 1] * b[0]
            u1 += v[i + 1] * b[1]
            u2 += v[i + 1] * b[2]
            u3 += v[i + 1] * b[3]
        if last < rows:
            a = offset(A, last * width + j)
            w0 += v[last] * a[0]
            w1 += v[last] * a[1]
            w2 += v[last] * a[2]
            w3 += v[last] * a[3]
        w0, w1, w2, w3 = t * (w0 + u0), t * (w1 + u1), t * (w2 + u2), t * (w3 + u3)
        for i in range(first, rows):
            a = offset(A, i * width + j)
            store_four(a, a[0] - v[i] * w0, a[1] - v[i] * w1, a[2] - v[i] * w2, a[3] - v[i] * w3)


def factor_qr(Q: Reflections, T: Trapezoid, spectrum: Pointer, tolerance: float) -> int:
    """Factor A P = Q R over A = T.R, taking the longest remaining column each time; return the rank.

    `spectrum` holds the length of each column taken and of the first one not taken, which is the first at most
    tolerance times as long as the longest of all.
    """
    rows, columns, width, A = Q.rows, T.columns, T.width, T.R
    norms, highest = T.left, T.scratch
    for j in range(columns):
        T.pivots[j] = j
        norms[j] = 0.0
    for i in range(rows):
        a = offset(A, i * width)
        for j in range(columns):
            norms[j] += a[j] * a[j]
    copy(norms, highest, columns)
    for k in range(min(rows, columns)):
        p = k
        for j in range(k + 1, columns):
            if norms[j] > norms[p]:
                p = j
        if p != k:
            for i in range(rows):
                swap(offset(A, i * width), k, p)
            swap(T.pivots, k, p)
            swap(norms, k, p)
            swap(highest, k, p)
        norm = take_column(A, width, k, Q, k)
        spectrum[k] = norm
        if not norm > tolerance * spectrum[0]:
            return k
        eliminate(A, columns, width, k, Q, k, norm)
        r = offset(A, k * width)
        for j in range(k + 1, columns):
            norms[j] -= r[j] * r[j]
        for j in range(k + 1, columns):
            if norms[j] < HALF_THE_DIGITS * highest[j]:
                norms[j] = 0.0
                for i in range(k + 1, rows):
                    norms[j] += A[i * width + j] * A[i * width + j]
                highest[j] = norms[j]
    return min(rows, columns)


def factor_staircase(Q: Reflections, T: Trapezoid, spectrum: Pointer, tolerance: float) -> int:
    """Factor A = Q times a staircase over A = T.L, the columns in the order given; return the rank.

    A column that depends on those before it makes no step. R gets the columns that make one, then the others, in the
    order of P; `spectrum` the lengths of their remainders, each group from the longest to the shortest. Dependent is
    what is at most tolerance times as long as the longest column of A.
    """
    rows, columns, width, A = Q.rows, T.columns, T.width, T.L
    longest = 0.0
    for j in range(columns):
        norm = 0.0
        for i in range(rows):
            norm += A[i * width + j] * A[i * width + j]
        longest = max(longest, math.sqrt(norm))
    rank = 0
    last = columns
    for j in range(columns):
        norm = 0.0
        if rank < rows:
            norm = take_column(A, width, j, Q, rank)
        if norm > tolerance * longest:
            eliminate(A, columns, width, j, Q, rank, norm)
            T.pivots[rank] = j
            spectrum[rank] = norm
            rank += 1
        else:
            last -= 1
            T.pivots[last] = j
            spectrum[last] = norm
        for i in range(rank, rows):
            A[i * width + j] = 0.0
    sort_descending(spectrum, 0, rank)
    sort_descending(spectrum, rank, columns)
    fill(T.R, 0.0, rank * width)
    for i in range(rank):
        for j in range(columns):
            T.R[i * width + j] = A[i * width + int(T.pivots[j])]
    return rank


def factor_tall(A: Pointer, columns: int, width: int, Q: Reflections) -> bool:
    """Factor A = Q R over A for a matrix of full column rank; tell whether no column depends on those before it."""
    longest = 0.0
    for k in range(columns):
        norm = take_column(A, width, k, Q, k)
        longest = max(longest, norm)
        if not norm > SINGULAR * longest:
            return False
        eliminate(A, columns, width, k, Q, k, norm)
    return True


def take_column(A: Pointer, width: int, column: int, Q: Reflections, k: int) -> float:
    """Set the k-th v := the part of a column from row k on; return its length."""
    v = offset(Q.v, k * Q.width)
    for i in range(k, Q.rows):
        v[i] = A[i * width + column]
    return math.sqrt(dot(v, v, k, Q.rows))


def eliminate(A: Pointer, columns: int, width: int, column: int, Q: Reflections, k: int, norm: float) -> None:
    """Make the k-th reflection of the column in its v, so that it becomes (.., beta at row k, 0, ..), and reflect A."""
    v = offset(Q.v, k * Q.width)
    beta = -norm if v[k] > 0.0 else norm
    Q.tau[k] = make_reflection(v, k, norm)
    reflect(A, width, v, Q.tau[k], k, Q.rows, column + 1, columns)
    A[k * width + column] = beta


def multiply_q(Q: Reflections, count: int, x: Pointer) -> None:
    """Compute x := Q x."""
    for k in range(count - 1, -1, -1):
        v = offset(Q.v, k * Q.width)
        add(x, -Q.tau[k] * dot(v, x, k, Q.rows), v, k, Q.rows)


def multiply_q_transposed(Q: Reflections, count: int, x: Pointer) -> None:
    """Compute x := Q^T x."""
    for k in range(count):
        v = offset(Q.v, k * Q.width)
        add(x, -Q.tau[k] * dot(v, x, k, Q.rows), v, k, Q.rows)


def copy_null_rows(Q: Reflections, rank: int, V: Pointer) -> None:
    """Copy the last rows - rank columns of Q to the rows of V, an orthonormal basis of what A^T maps to zero."""
    for j in range(Q.rows - rank):
        v = offset(V, j * Q.width)
        fill(v, 0.0, Q.width)
        v[rank + j] = 1.0
        multiply_q(Q, rank, v)
