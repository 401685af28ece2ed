"""Small dense matrices in place: products, triangular solves, QR, Cholesky, Jacobi and symmetric Schur forms.

For the twenty or so coordinates of a mechanism these loops are several times faster than calls of LAPACK, and they need
nothing but the memory they are given, so that their object code stands alone.

A matrix is a pointer to rows of `width` doubles, `width` being a multiple of four, with zeros beyond the last column.
The cubic loops (`reflect`, `add_columns`, `rotate`) take four columns at a time, which LLVM turns into one vector each;
where they start at a column that is no multiple of four they also change the up to three columns before it, and every
caller keeps nothing there. An orthogonal matrix Q is a product of reflections I - t v v^T: the vectors v are rows of a
matrix, the k-th acting from row k on, the factors t are a vector. Indices are kept as doubles, like all else.
"""

from __future__ import annotations

import math

from linkwork.dense.vectors import add, clear, copy, dot, fill
from linkwork.native.kernels import Pointer, offset

EPSILON = 2.220446049250313e-16
# Below this fraction of its diagonal entry, a pivot of Cholesky's method is taken for zero.
SINGULAR = 1e-13
SWEEPS = 40
# Cosine of two rows that count as orthogonal.
ORTHOGONAL = 1e-14


def add_columns(y: Pointer, s: float, x: Pointer, start: int, stop: int) -> None:
    """y += s x in whole groups of four columns."""
    for j in range(start - start % 4, stop, 4):
        y0 = y[j] + s * x[j]
        y1 = y[j + 1] + s * x[j + 1]
        y2 = y[j + 2] + s * x[j + 2]
        y3 = y[j + 3] + s * x[j + 3]
        y[j] = y0
        y[j + 1] = y1
        y[j + 2] = y2
        y[j + 3] = y3


def rotate(x: Pointer, y: Pointer, c: float, s: float, stop: int) -> None:
    """(x, y) := (c x - s y, s x + c y) in whole groups of four columns."""
    for j in range(0, stop, 4):
        x0 = c * x[j] - s * y[j]
        x1 = c * x[j + 1] - s * y[j + 1]
        x2 = c * x[j + 2] - s * y[j + 2]
        x3 = c * x[j + 3] - s * y[j + 3]
        y0 = s * x[j] + c * y[j]
        y1 = s * x[j + 1] + c * y[j + 1]
        y2 = s * x[j + 2] + c * y[j + 2]
        y3 = s * x[j + 3] + c * y[j + 3]
        x[j] = x0
        x[j + 1] = x1
        x[j + 2] = x2
        x[j + 3] = x3
        y[j] = y0
        y[j + 1] = y1
        y[j + 2] = y2
        y[j + 3] = y3


def transpose(A: Pointer, rows: int, columns: int, width: int, B: Pointer) -> None:
    """B := A^T, with zeros beyond its last column."""
    fill(B, 0.0, columns * width)
    for i in range(rows):
        a = offset(A, i * width)
        for j in range(columns):
            B[j * width + i] = a[j]


def times(A: Pointer, x: Pointer, rows: int, columns: int, width: int, y: Pointer) -> None:
    """y := A x."""
    for i in range(rows):
        y[i] = dot(offset(A, i * width), x, 0, columns)


def transpose_times(A: Pointer, x: Pointer, rows: int, columns: int, width: int, y: Pointer) -> None:
    """y := A^T x; also A x where A is symmetric."""
    fill(y, 0.0, width)
    for i in range(rows):
        if x[i] != 0.0:
            add_columns(y, x[i], offset(A, i * width), 0, columns)


def product(A: Pointer, B: Pointer, rows: int, inner: int, columns: int, width: int, C: Pointer) -> None:
    """C := A B."""
    for i in range(0, rows, 4):
        for j in range(0, columns, 4):
            tile(offset(A, i * width), 1, width, offset(B, j), inner, width, offset(C, i * width + j))


def gram(A: Pointer, rows: int, columns: int, width: int, C: Pointer) -> None:
    """C := A^T A."""
    for i in range(0, columns, 4):
        for j in range(i, columns, 4):
            tile(offset(A, i), width, 1, offset(A, j), rows, width, offset(C, i * width + j))
    for i in range(columns):
        for j in range(i):
            C[i * width + j] = C[j * width + i]


def tile(A: Pointer, forth: int, down: int, B: Pointer, inner: int, width: int, C: Pointer) -> None:
    """Four by four entries of a product: C[i, j] = sum over k of A[k forth + i down] B[k, j].

    Sixteen sums at a time, so that none waits for itself and each entry that is read serves four of them.
    """
    c00 = c01 = c02 = c03 = 0.0
    c10 = c11 = c12 = c13 = 0.0
    c20 = c21 = c22 = c23 = 0.0
    c30 = c31 = c32 = c33 = 0.0
    for k in range(inner):
        a = offset(A, k * forth)
        b = offset(B, k * width)
        a0 = a[0]
        a1 = a[down]
        a2 = a[2 * down]
        a3 = a[3 * down]
        b0 = b[0]
        b1 = b[1]
        b2 = b[2]
        b3 = b[3]
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


# Cholesky


def cholesky(A: Pointer, n: int, width: int, diagonal: Pointer, smallest: float) -> int:
    """U of A = U^T U over A's upper triangle, A symmetric; the number of positive pivots before the first other one.

    Not positive is what is at most `smallest` times the entry of the diagonal it started from.
    """
    for k in range(n):
        diagonal[k] = A[k * width + k]
    for k in range(n):
        u = offset(A, k * width)
        if not u[k] > smallest * diagonal[k]:
            return k
        root = math.sqrt(u[k])
        for j in range(k + 1, n):
            u[j] /= root
        u[k] = root
        for i in range(k + 1, n):
            if u[i] != 0.0:
                add_columns(offset(A, i * width), -u[i], u, i, n)
    return n


def pivoted_cholesky(
    A: Pointer, n: int, width: int, limit: int, R: Pointer, pivots: Pointer, diagonal: Pointer, tolerance: float
) -> int:
    """R of P^T A P = R^T R row by row, A symmetric and semi-definite, and the number of rows found, at most `limit`.

    The columns of R are in the order of P, `pivots`; row k of the elimination is made when it is needed (left-looking).
    `diagonal` becomes what is left of the diagonal: at first n entries, the pivots in the order of their choice.
    """
    for i in range(n):
        pivots[i] = i
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
        swap(pivots, k, p)
        for i in range(k):
            swap(offset(R, i * width), k, p)
        r = offset(R, k * width)
        a = offset(A, int(pivots[k]) * width)
        root = math.sqrt(diagonal[k])
        fill(r, 0.0, width)
        for j in range(k, n):
            r[j] = a[int(pivots[j])]
        for i in range(k):
            above = offset(R, i * width)
            add_columns(r, -above[k], above, k, n)
        for j in range(k + 1, n):
            r[j] /= root
            diagonal[j] -= r[j] * r[j]
        r[k] = root
        rank = k + 1
    return rank


def swap(x: Pointer, i: int, j: int) -> None:
    x_i = x[i]
    x[i] = x[j]
    x[j] = x_i


def solve_upper(U: Pointer, n: int, width: int, x: Pointer) -> None:
    """x := U^-1 x, U upper triangular."""
    for i in range(n - 1, -1, -1):
        u = offset(U, i * width)
        x[i] = (x[i] - dot(u, x, i + 1, n)) / u[i]


def solve_upper_transposed(U: Pointer, n: int, width: int, x: Pointer) -> None:
    """x := U^-T x, U upper triangular."""
    for i in range(n):
        u = offset(U, i * width)
        x[i] /= u[i]
        add(x, -x[i], u, i + 1, n)


def solve_lower(L: Pointer, n: int, width: int, x: Pointer) -> None:
    """x := L^-1 x, L lower triangular."""
    for i in range(n):
        row = offset(L, i * width)
        x[i] = (x[i] - dot(row, x, 0, i)) / row[i]


def solve_lower_transposed(L: Pointer, n: int, width: int, x: Pointer) -> None:
    """x := L^-T x, L lower triangular."""
    for i in range(n - 1, -1, -1):
        row = offset(L, i * width)
        x[i] /= row[i]
        add(x, -x[i], row, 0, i)


def solve_rows(U: Pointer, n: int, columns: int, width: int, B: Pointer) -> None:
    """B := U^-T B, U upper triangular, B of n rows."""
    for i in range(n):
        u = offset(U, i * width)
        b = offset(B, i * width)
        for j in range(columns):
            b[j] /= u[i]
        for k in range(i + 1, n):
            if u[k] != 0.0:
                add_columns(offset(B, k * width), -u[k], b, 0, columns)


# Gauss' elimination


def complete_lu(
    A: Pointer,
    rows: int,
    columns: int,
    width: int,
    L: Pointer,
    row_pivots: Pointer,
    column_pivots: Pointer,
    spectrum: Pointer,
    tolerance: float,
) -> int:
    """P^T A C = L U, the largest remaining entry as pivot each time; the rank.

    U comes to stand over A, with zeros below it, the columns of L in the rows of what is called L here. `spectrum`
    holds the sizes of the pivots and of the first one refused, at most tolerance times the first.
    """
    for i in range(rows):
        row_pivots[i] = i
    for j in range(columns):
        column_pivots[j] = j
    for k in range(min(rows, columns)):
        largest = -1.0
        p = k
        for i in range(k, rows):
            of_row = largest_of(offset(A, i * width), k, columns)
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
            for j in range(columns):
                swap_between(u, offset(A, p * width), j)
            swap(row_pivots, k, p)
            for i in range(k):
                swap(offset(L, i * width), k, p)
        if c != k:
            for i in range(rows):
                swap(offset(A, i * width), k, c)
            swap(column_pivots, k, c)
        column = offset(L, k * width)
        column[k] = 1.0
        for i in range(k + 1, rows):
            a = offset(A, i * width)
            column[i] = a[k] / u[k]
            if column[i] != 0.0:
                add_columns(a, -column[i], u, k + 1, columns)
            a[k] = 0.0
    return min(rows, columns)


def largest_of(x: Pointer, start: int, stop: int) -> float:
    """The largest absolute value in whole groups of four columns."""
    largest = largest_1 = largest_2 = largest_3 = 0.0
    for j in range(start - start % 4, stop, 4):
        largest = max(largest, abs(float(x[j])))
        largest_1 = max(largest_1, abs(float(x[j + 1])))
        largest_2 = max(largest_2, abs(float(x[j + 2])))
        largest_3 = max(largest_3, abs(float(x[j + 3])))
    return max(max(largest, largest_1), max(largest_2, largest_3))


def swap_between(x: Pointer, y: Pointer, i: int) -> None:
    x_i = x[i]
    x[i] = y[i]
    y[i] = x_i


# Householder's reflections


def reflection(x: Pointer, start: int, norm: float) -> float:
    """Make x into the v of the reflection that sends it to (0, .., beta at `start`, 0, ..); t of I - t v v^T.

    beta = -sign(x[start]) norm, where norm > 0 is that of x.
    """
    beta = -norm if x[start] > 0.0 else norm
    x[start] -= beta
    t: float = -1.0 / (beta * x[start])
    return t


def reflect(A: Pointer, width: int, v: Pointer, t: float, first: int, rows: int, start: int, stop: int) -> None:
    """A := (I - t v v^T) A in rows first to rows - 1 and whole groups of four columns."""
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
        w0 = t * (w0 + u0)
        w1 = t * (w1 + u1)
        w2 = t * (w2 + u2)
        w3 = t * (w3 + u3)
        for i in range(first, rows):
            a = offset(A, i * width + j)
            a0 = a[0] - v[i] * w0
            a1 = a[1] - v[i] * w1
            a2 = a[2] - v[i] * w2
            a3 = a[3] - v[i] * w3
            a[0] = a0
            a[1] = a1
            a[2] = a2
            a[3] = a3


def pivoted_qr(
    A: Pointer,
    rows: int,
    columns: int,
    width: int,
    H: Pointer,
    tau: Pointer,
    pivots: Pointer,
    norms: Pointer,
    highest: Pointer,
    spectrum: Pointer,
    tolerance: float,
) -> int:
    """A P = Q R by Householder's reflections, taking the longest remaining column each time; the rank.

    R comes to stand over A, the reflections in the rows of H and in tau. `spectrum` holds the length of each column
    taken and of the first one not taken, which is the first at most tolerance times as long as the longest of all.
    """
    for j in range(columns):
        pivots[j] = j
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
            swap(pivots, k, p)
            swap(norms, k, p)
            swap(highest, k, p)
        v = offset(H, k * width)
        norm = take_column(A, k, k, rows, width, v)
        spectrum[k] = norm
        if not norm > tolerance * spectrum[0]:
            return k
        r = offset(A, k * width)
        tau[k] = eliminate(A, k, k, norm, rows, columns, width, v)
        for j in range(k + 1, columns):
            norms[j] -= r[j] * r[j]
        for j in range(k + 1, columns):
            # The difference has lost its digits: add the squares up anew.
            if norms[j] < 1e-8 * highest[j]:
                norms[j] = 0.0
                for i in range(k + 1, rows):
                    norms[j] += A[i * width + j] * A[i * width + j]
                highest[j] = norms[j]
    return min(rows, columns)


def staircase_qr(
    A: Pointer,
    rows: int,
    columns: int,
    width: int,
    H: Pointer,
    tau: Pointer,
    pivots: Pointer,
    R: Pointer,
    spectrum: Pointer,
    tolerance: float,
) -> int:
    """A = Q times a staircase, the columns in the order given, by Householder's reflections; the rank.

    A column that depends on those before it makes no step. R gets the columns that make one, then the others, in the
    order of `pivots`; `spectrum` the lengths of their remainders, each group from the longest to the shortest.
    Dependent is what is at most tolerance times as long as the longest column of A.
    """
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
            norm = take_column(A, rank, j, rows, width, offset(H, rank * width))
        if norm > tolerance * longest:
            tau[rank] = eliminate(A, rank, j, norm, rows, columns, width, offset(H, rank * width))
            pivots[rank] = j
            spectrum[rank] = norm
            rank += 1
        else:
            last -= 1
            pivots[last] = j
            spectrum[last] = norm
        for i in range(rank, rows):
            A[i * width + j] = 0.0
    sort_descending(spectrum, 0, rank)
    sort_descending(spectrum, rank, columns)
    fill(R, 0.0, rank * width)
    for i in range(rank):
        for j in range(columns):
            R[i * width + j] = A[i * width + int(pivots[j])]
    return rank


def take_column(A: Pointer, first: int, column: int, rows: int, width: int, v: Pointer) -> float:
    """v := the part of a column from row `first` on; its length."""
    for i in range(first, rows):
        v[i] = A[i * width + column]
    return math.sqrt(dot(v, v, first, rows))


def eliminate(A: Pointer, k: int, column: int, norm: float, rows: int, columns: int, width: int, v: Pointer) -> float:
    """Reflect A so that what v holds of its column becomes (.., beta at row k, 0, ..); v and t of the reflection."""
    t = reflection(v, k, norm)
    beta = -norm if v[k] > 0.0 else norm
    reflect(A, width, v, t, k, rows, column + 1, columns)
    A[k * width + column] = beta
    return t


def multiply_q(H: Pointer, tau: Pointer, count: int, rows: int, width: int, x: Pointer) -> None:
    """x := Q x."""
    for k in range(count - 1, -1, -1):
        v = offset(H, k * width)
        add(x, -tau[k] * dot(v, x, k, rows), v, k, rows)


def multiply_q_transposed(H: Pointer, tau: Pointer, count: int, rows: int, width: int, x: Pointer) -> None:
    """x := Q^T x."""
    for k in range(count):
        v = offset(H, k * width)
        add(x, -tau[k] * dot(v, x, k, rows), v, k, rows)


def null_rows(H: Pointer, tau: Pointer, rank: int, rows: int, width: int, V: Pointer) -> None:
    """Rows of V := the last rows - rank columns of Q, an orthonormal basis of what A^T maps to zero."""
    for j in range(rows - rank):
        v = offset(V, j * width)
        fill(v, 0.0, width)
        v[rank + j] = 1.0
        multiply_q(H, tau, rank, rows, width, v)


# The complete orthogonal factorization R = (L^T 0) Z of R = (R_1 R_2), by reflections from the right


def trapezoid(R: Pointer, rank: int, columns: int, width: int, L: Pointer, tau: Pointer, w: Pointer) -> None:
    """L, lower triangular, and Z from R, upper trapezoidal, rank x columns.

    Works on R^T, whose rows are long where those of R_2 are short. Z is the product of reflections of
    v = e_k + sum over j of L[j, k] e_j, rank <= j < columns: they stand in the rows of L below the triangle.
    """
    for i in range(rank):
        r = offset(R, i * width)
        for j in range(i, columns):
            L[j * width + i] = r[j]
    if rank == columns:
        return
    for k in range(rank - 1, -1, -1):
        row = offset(L, k * width)
        square = row[k] * row[k]
        for j in range(rank, columns):
            square += L[j * width + k] * L[j * width + k]
        beta = -math.sqrt(square) if row[k] > 0.0 else math.sqrt(square)
        head = row[k] - beta
        t = -head / beta
        tau[k] = t
        row[k] = beta
        copy(row, w, k)
        for j in range(rank, columns):
            z = offset(L, j * width)
            z[k] /= head
            add(w, z[k], z, 0, k)
        add(row, -t, w, 0, k)
        for j in range(rank, columns):
            z = offset(L, j * width)
            add(z, -t * z[k], w, 0, k)


def multiply_z(L: Pointer, tau: Pointer, rank: int, columns: int, width: int, x: Pointer) -> None:
    """x := Z x."""
    if rank < columns:
        for k in range(rank - 1, -1, -1):
            reflect_entries(offset(L, k), tau[k], k, rank, columns, width, x)


def multiply_z_transposed(L: Pointer, tau: Pointer, rank: int, columns: int, width: int, x: Pointer) -> None:
    """x := Z^T x."""
    if rank < columns:
        for k in range(rank):
            reflect_entries(offset(L, k), tau[k], k, rank, columns, width, x)


def reflect_entries(z: Pointer, t: float, k: int, rank: int, columns: int, width: int, x: Pointer) -> None:
    """One reflection of Z; its entries z are `width` apart."""
    s = x[k]
    for j in range(rank, columns):
        s += z[j * width] * x[j]
    s *= t
    x[k] -= s
    for j in range(rank, columns):
        x[j] -= s * z[j * width]


def permute(x: Pointer, pivots: Pointer, count: int, y: Pointer) -> None:
    """y := P^T x, y[k] = x[pivots[k]]."""
    for k in range(count):
        y[k] = x[int(pivots[k])]


def permute_back(x: Pointer, pivots: Pointer, count: int, y: Pointer) -> None:
    """y := P x, y[pivots[k]] = x[k]."""
    for k in range(count):
        y[int(pivots[k])] = x[k]


def sort_descending(x: Pointer, start: int, stop: int) -> None:
    for i in range(start + 1, stop):
        value = x[i]
        j = i
        while j > start and x[j - 1] < value:
            x[j] = x[j - 1]
            j -= 1
        x[j] = value


def apply_semidefinite_inverse(
    L: Pointer, tau: Pointer, pivots: Pointer, rank: int, n: int, width: int, x: Pointer, y: Pointer
) -> None:
    """x := A^+ x for A = P R^T R P^T, R = (L^T 0) Z: A^+ = P Z^T (L^-T L^-1 0; 0 0) Z P^T."""
    permute(x, pivots, n, y)
    multiply_z(L, tau, rank, n, width, y)
    solve_lower(L, rank, width, y)
    solve_lower_transposed(L, rank, width, y)
    clear(y, rank, n)
    multiply_z_transposed(L, tau, rank, n, width, y)
    permute_back(y, pivots, n, x)


# Singular values and the Schur form of a symmetric matrix


def jacobi_svd(A: Pointer, rows: int, columns: int, width: int, J: Pointer, squares: Pointer) -> int:
    """Make the rows of A orthogonal by rotations, with those of J alongside; 0, or 1 if it did not converge.

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
                    if p * p > ORTHOGONAL * ORTHOGONAL * squares[i] * squares[j]:
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
            return 0
    return 1


def symmetric_schur(
    A: Pointer, n: int, width: int, K: Pointer, H: Pointer, tau: Pointer, d: Pointer, e: Pointer
) -> int:
    """A = K diag(d) K^T, the vectors in the rows of what is called K here; 0, or 1 if it did not converge.

    The real Schur form of a symmetric matrix is diagonal and its Hessenberg form tridiagonal (d, e): Householder's
    reflections to that form, then QL with implicit shifts. What is below rounding of the whole matrix counts as zero.
    A is overwritten.
    """
    largest = 0.0
    for k in range(n - 1):
        a = offset(A, k * width)
        v = offset(H, k * width)
        fill(v, 0.0, width)
        copy(offset(a, k + 1), offset(v, k + 1), n - k - 1)
        norm = math.sqrt(dot(v, v, k + 1, n))
        d[k] = a[k]
        e[k] = 0.0
        tau[k] = 0.0
        if norm > 0.0:
            e[k] = -norm if v[k + 1] > 0.0 else norm
            tau[k] = reflection(v, k + 1, norm)
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
            reflect(A, width, offset(H, k * width), tau[k], k + 1, n, k + 1, n)
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
                return 1
            ql_sweep(low, high, n, width, K, d, e)
    return 0


def ql_sweep(low: int, high: int, n: int, width: int, K: Pointer, d: Pointer, e: Pointer) -> None:
    """One implicit QL step of the tridiagonal (d, e) between rows low and high, with Wilkinson's shift."""
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


def add_two_columns(y: Pointer, s: float, x: Pointer, r: float, z: Pointer, start: int, stop: int) -> None:
    """y += s x + r z in whole groups of four columns."""
    for j in range(start - start % 4, stop, 4):
        y0 = y[j] + s * x[j] + r * z[j]
        y1 = y[j + 1] + s * x[j + 1] + r * z[j + 1]
        y2 = y[j + 2] + s * x[j + 2] + r * z[j + 2]
        y3 = y[j + 3] + s * x[j + 3] + r * z[j + 3]
        y[j] = y0
        y[j + 1] = y1
        y[j + 2] = y2
        y[j + 3] = y3


def tall_qr(A: Pointer, rows: int, columns: int, width: int, H: Pointer, length: int, tau: Pointer) -> int:
    """A = Q R for a matrix of full column rank, the rows of H `length` apart; 0, or 1 if a column depends on others."""
    longest = 0.0
    for k in range(columns):
        v = offset(H, k * length)
        norm = take_column(A, k, k, rows, width, v)
        longest = max(longest, norm)
        if not norm > SINGULAR * longest:
            return 1
        tau[k] = eliminate(A, k, k, norm, rows, columns, width, v)
    return 0
