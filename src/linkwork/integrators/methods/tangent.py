"""The linear systems of an implicit method for a mechanism, in the motions that its constraints admit.

Of y = (q, v, work) the rates are N v, a and powers, with M a + Psi_q^T lam = Q and Psi_q a = gamma. What is stiff in
them are forces. So J is taken as

    A    N    0        A = (N v)_q          K, D: derivatives of Q - M a - Psi_q^T lam with respect to q and v
    P K  P D  0        P = Z (Z^T M Z)^-1 Z^T,   Psi_q Z = 0: as forces move what constraints admit
    Wq   Wv   0        derivatives of the powers

without those of gamma: how constraints curve changes as slowly as the motion goes, which steps follow anyhow, and f
itself is exact. With s = 1/c and (c - A)^-1 = s + s^2 A, again up to what is slow, (c - J) dy = r is

    dq_0 = (s + s^2 A) (r_q + s N r_v)
    (Z^T M Z - s Z^T D Z - s^2 Z^T K N Z - s^3 Z^T K A N Z) w = Z^T (K dq_0 + s D r_v)
    dv = s (r_v + Z w),    dq = (s + s^2 A) (r_q + N dv),    dwork = s (r_w + Wq dq + Wv dv)

for real and complex c: as many unknowns as degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.linalg.columns import add_columns
from linkwork.linalg.lu_row_pivot import factor, factor_complex, solve, solve_complex
from linkwork.linalg.rank import RANK_TOLERANCE
from linkwork.linalg.vectors import add, clear, copy, dot, largest
from linkwork.native.kernels import Memory, Pointer, integer, offset, split

Entry = tuple[int, int]  # row and column
Blocks = Sequence[Sequence[Entry]]  # of A, N, K, D, M, Wq, Wv, Psi_q, in this order
N_BLOCKS = 8  # sizes and places at the head of the memory
A, N, K, D, M, W_Q, W_V, PSI_Q = range(N_BLOCKS)


class Tangent(Memory):
    """Places in its memory; rows of matrices are of n_v numbers, made whole blocks."""

    n_q: int
    n_v: int
    m: int
    n_entries: int
    width: int
    first: Pointer  # N_BLOCKS + 1, integers: where a block begins among the entries
    row: Pointer  # n_entries, integers
    column: Pointer  # n_entries, integers
    J: Pointer  # n_entries
    U: Pointer  # m width: Psi_q, eliminated
    pivots: Pointer  # n_v: of a column, the row of U with its pivot, or -1
    Z: Pointer  # n_v width: in rows
    Z_K: Pointer  # n_v n_q: Z^T K
    Z_D: Pointer  # n_v width: Z^T D
    mass: Pointer  # n_v width: Z^T M Z, then those of D, K N and K A N
    damping: Pointer
    stiffness: Pointer
    turning: Pointer
    real: Pointer  # n_v width: factors for a real c, then those for a complex one
    complex: Pointer
    complex_i: Pointer
    real_pivots: Pointer  # width
    complex_pivots: Pointer  # width
    x: Pointer  # n_q + n_v + 2: scratch, also what follows
    z: Pointer
    q: Pointer  # n_q
    q_i: Pointer
    f: Pointer  # width
    w: Pointer  # width
    w_i: Pointer
    dof: int
    a: float  # 1/c of the complex factors, then that of the real ones
    b: float
    c: float
    rest: Pointer


def tangent_places(memory: Pointer, n_q: int, n_v: int, m: int, n_entries: int) -> Tangent:
    width = (n_v + 3) // 4 * 4
    square, n_y = n_v * width, n_q + n_v + 2
    counts = (
        *(N_BLOCKS + 1, n_entries, n_entries, n_entries, m * width, n_v, square, n_v * n_q, square),
        *(square, square, square, square, square, square, square, width, width),
        *(n_y, n_y, n_q, n_q, width, width, width, 1, 1, 1, 1),
    )
    return Tangent(n_q, n_v, m, n_entries, width, *split(memory, counts))


def fill_tangent(at: Tangent, pattern: Blocks) -> None:
    """Write down where the entries stand."""
    at.first.view(np.int64)[:] = np.cumsum([0, *map(len, pattern)])
    at.row.view(np.int64)[:] = [i for block in pattern for i, _ in block]
    at.column.view(np.int64)[:] = [j for block in pattern for _, j in block]


def add_products(at: Tangent, block: int, x: Pointer, z: Pointer, y: Pointer, w: Pointer) -> None:
    """y += B x and w += B z for a block B of J."""
    for k in range(integer(at.first, block), integer(at.first, block + 1)):
        i, j = integer(at.row, k), integer(at.column, k)
        y[i] += at.J[k] * x[j]
        w[i] += at.J[k] * z[j]


def add_product(at: Tangent, block: int, x: Pointer, y: Pointer) -> None:
    """y += B x."""
    for k in range(integer(at.first, block), integer(at.first, block + 1)):
        y[integer(at.row, k)] += at.J[k] * x[integer(at.column, k)]


def multiply_row(at: Tangent, block: int, z: Pointer, n: int, y: Pointer) -> None:
    """y := z^T B, of n columns."""
    clear(y, 0, n)
    for k in range(integer(at.first, block), integer(at.first, block + 1)):
        y[integer(at.column, k)] += at.J[k] * z[integer(at.row, k)]


def span_motions(at: Tangent) -> None:
    """Z of Psi_q Z = 0 by Gauss' elimination, the largest entry of a row as its pivot.

    A row of which RANK_TOLERANCE is left depends on others. Z is one for a column without pivot, each in its turn.
    """
    n, width, rank = at.n_v, at.width, 0
    clear(at.U, 0, at.m * width)
    for k in range(integer(at.first, PSI_Q), integer(at.first, PSI_Q + 1)):
        at.U[integer(at.row, k) * width + integer(at.column, k)] = at.J[k]
    for j in range(n):
        at.pivots[j] = -1.0
    for i in range(at.m):
        u = offset(at.U, i * width)
        size = largest(u, n)
        for j in range(n):
            p = int(at.pivots[j])
            if p >= 0 and u[j] != 0.0:
                add_columns(u, -u[j], offset(at.U, p * width), 0, width)
        pivot = 0
        for j in range(n):
            if abs(u[j]) > abs(u[pivot]):
                pivot = j
        if abs(u[pivot]) > RANK_TOLERANCE * size:
            by = 1.0 / u[pivot]
            for j in range(n):
                u[j] *= by
            for k in range(i):  # the pivot is the only entry of its column
                above = offset(at.U, k * width)
                if above[pivot] != 0.0:
                    add_columns(above, -above[pivot], u, 0, width)
            at.pivots[pivot] = i
            rank += 1
    at.dof = n - rank
    clear(at.Z, 0, at.dof * width)
    free = 0
    for j in range(n):
        if at.pivots[j] < 0.0:
            z = offset(at.Z, free * width)
            for k in range(n):
                if at.pivots[k] >= 0.0:
                    z[k] = -at.U[int(at.pivots[k]) * width + j]
            z[j] = 1.0
            free += 1


def reduce_matrices(at: Tangent) -> None:
    """Z, Z^T K and Z^T D, and M, D, K N and K A N between the motions of Z."""
    span_motions(at)
    for i in range(at.dof):
        z = offset(at.Z, i * at.width)
        multiply_row(at, K, z, at.n_q, offset(at.Z_K, i * at.n_q))
        multiply_row(at, D, z, at.n_v, offset(at.Z_D, i * at.width))
    for j in range(at.dof):
        z, q, turned = offset(at.Z, j * at.width), at.q, at.q_i
        for x in (q, turned):
            clear(x, 0, at.n_q)
        clear(at.f, 0, at.n_v)
        add_product(at, N, z, q)
        add_product(at, A, q, turned)
        add_product(at, M, z, at.f)
        for i in range(at.dof):
            k, row_q = i * at.width + j, offset(at.Z_K, i * at.n_q)
            at.mass[k] = dot(offset(at.Z, i * at.width), at.f, 0, at.n_v)
            at.damping[k] = dot(offset(at.Z_D, i * at.width), z, 0, at.n_v)
            at.stiffness[k] = dot(row_q, q, 0, at.n_q)
            at.turning[k] = dot(row_q, turned, 0, at.n_q)


def factor_tangent(at: Tangent, c: float, a: float, b: float) -> bool:
    """The factors of the matrix of w for c and for a + i b; whether these are regular."""
    size = a * a + b * b
    at.a, at.b, at.c = a / size, -b / size, 1.0 / c
    s, r, t = at.a, at.b, at.c
    s_2, r_2 = s * s - r * r, 2.0 * s * r
    s_3, r_3 = s * s_2 - r * r_2, s * r_2 + r * s_2
    for i in range(at.dof):
        for k in range(i * at.width, i * at.width + at.dof):
            M, D, K, K_A = at.mass[k], at.damping[k], at.stiffness[k], at.turning[k]
            at.real[k] = M - t * (D + t * (K + t * K_A))
            at.complex[k] = M - s * D - s_2 * K - s_3 * K_A
            at.complex_i[k] = -r * D - r_2 * K - r_3 * K_A
    return factor(at.real, at.dof, at.width, at.real_pivots, at.f) and factor_complex(
        at.complex, at.complex_i, at.dof, at.width, at.complex_pivots, at.f
    )


def move(at: Tangent, v: Pointer, x: Pointer) -> None:
    """q := (s + s^2 A) (r_q + N v) for the real c, with r_q first in x."""
    n, s = at.n_q, at.c
    copy(x, at.q, n)
    add_product(at, N, v, at.q)
    if integer(at.first, A + 1) > 0:
        clear(at.x, 0, n)
        add_product(at, A, at.q, at.x)
        for i in range(n):
            at.q[i] += s * at.x[i]
    for i in range(n):
        at.q[i] *= s


def solve_for_real(at: Tangent, x: Pointer) -> None:
    """x := (c - J)^-1 x for the real c."""
    n_q, n, s = at.n_q, at.n_v, at.c
    v, power = offset(x, n_q), offset(x, n_q + n)
    for i in range(n):
        v[i] *= s
    move(at, v, x)
    for i in range(at.dof):
        at.w[i] = s * (dot(offset(at.Z_K, i * n_q), at.q, 0, n_q) + dot(offset(at.Z_D, i * at.width), v, 0, n))
    solve(at.real, at.dof, at.width, at.real_pivots, at.w)
    for i in range(at.dof):
        add(v, at.w[i], offset(at.Z, i * at.width), 0, n)
    move(at, v, x)
    copy(at.q, x, n_q)
    add_product(at, W_Q, x, power)
    add_product(at, W_V, v, power)
    for i in range(2):
        power[i] *= s


def scale(x: Pointer, z: Pointer, s: float, r: float, n: int) -> None:
    """x + i z := (s + i r) (x + i z)."""
    for i in range(n):
        x[i], z[i] = s * x[i] - r * z[i], s * z[i] + r * x[i]


def move_complex(at: Tangent, v: Pointer, v_i: Pointer, x: Pointer, z: Pointer) -> None:
    """The same for the complex c."""
    n, s, r, q, q_i = at.n_q, at.a, at.b, at.q, at.q_i
    copy(x, q, n)
    copy(z, q_i, n)
    add_products(at, N, v, v_i, q, q_i)
    if integer(at.first, A + 1) > 0:
        clear(at.x, 0, n)
        clear(at.z, 0, n)
        add_products(at, A, q, q_i, at.x, at.z)
        for i in range(n):
            q[i] += s * at.x[i] - r * at.z[i]
            q_i[i] += s * at.z[i] + r * at.x[i]
    scale(q, q_i, s, r, n)


def solve_for_complex(at: Tangent, x: Pointer, z: Pointer) -> None:
    """x + i z := (c - J)^-1 (x + i z) for the complex c."""
    n_q, n, s, r = at.n_q, at.n_v, at.a, at.b
    v, v_i, power, power_i = offset(x, n_q), offset(z, n_q), offset(x, n_q + n), offset(z, n_q + n)
    scale(v, v_i, s, r, n)
    move_complex(at, v, v_i, x, z)
    for i in range(at.dof):
        row_q, row_v = offset(at.Z_K, i * n_q), offset(at.Z_D, i * at.width)
        at.w[i] = dot(row_q, at.q, 0, n_q) + dot(row_v, v, 0, n)
        at.w_i[i] = dot(row_q, at.q_i, 0, n_q) + dot(row_v, v_i, 0, n)
    solve_complex(at.complex, at.complex_i, at.dof, at.width, at.complex_pivots, at.w, at.w_i)
    scale(at.w, at.w_i, s, r, at.dof)
    for i in range(at.dof):
        add(v, at.w[i], offset(at.Z, i * at.width), 0, n)
        add(v_i, at.w_i[i], offset(at.Z, i * at.width), 0, n)
    move_complex(at, v, v_i, x, z)
    copy(at.q, x, n_q)
    copy(at.q_i, z, n_q)
    add_products(at, W_Q, x, z, power, power_i)
    add_products(at, W_V, v, v_i, power, power_i)
    scale(power, power_i, s, r, 2)
