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

for real and complex c: as many unknowns as degrees of freedom. Right sides for a real c and for a complex one stand
beside each other, (x, y + i z) in rows of four numbers, and so do the motions of Z: what is added to a row is one
vector of the processor.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.linalg.columns import add_columns, find_largest
from linkwork.linalg.lu_row_pivot import factor, factor_complex, solve, solve_complex
from linkwork.linalg.rank import RANK_TOLERANCE
from linkwork.linalg.vectors import clear, copy
from linkwork.native.kernels import Memory, Pointer, add_four, integer, offset, split

Entry = tuple[int, int]  # row and column
Blocks = Sequence[Sequence[Entry]]  # of A, N, K, D, M, Wq, Wv, Psi_q, in this order
N_BLOCKS = 8  # sizes and places at the head of the memory
A, N, K, D, M, W_Q, W_V, PSI_Q = range(N_BLOCKS)


class Tangent(Memory):
    """Places in its memory; rows of matrices are of n_v numbers, made whole blocks, or of `wide`, dof made so."""

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
    Z: Pointer  # n_v wide
    K_Z: Pointer  # n_q wide: K^T Z
    D_Z: Pointer  # n_v wide: D^T Z
    M_Z: Pointer  # n_v wide
    N_Z: Pointer  # n_q wide
    A_Z: Pointer  # n_q wide: A^T K^T Z
    mass: Pointer  # dof wide: Z^T M Z, then those of D, K N and K A N
    damping: Pointer
    stiffness: Pointer
    turning: Pointer
    real: Pointer  # dof wide: factors for a real c, then those for a complex one
    complex: Pointer
    complex_i: Pointer
    real_pivots: Pointer  # width
    complex_pivots: Pointer  # width
    x: Pointer  # 4 (n_q + n_v + 2): right sides, then solutions
    q: Pointer  # 4 n_q: scratch, also what follows
    turned: Pointer  # 4 n_q + 4 width
    w: Pointer  # 4 width
    w_1: Pointer  # width
    w_2: Pointer  # width
    w_3: Pointer  # width
    dof: int
    wide: int
    a: float  # 1/c of the complex factors, then that of the real ones
    b: float
    c: float
    rest: Pointer


def tangent_places(memory: Pointer, n_q: int, n_v: int, m: int, n_entries: int) -> Tangent:
    width = (n_v + 3) // 4 * 4
    square, by_q = n_v * width, n_q * width
    counts = (
        *(N_BLOCKS + 1, n_entries, n_entries, n_entries, m * width, n_v, square, by_q, square, square, by_q, by_q),
        *(square, square, square, square, square, square, square, width, width),
        *(4 * (n_q + n_v + 2), 4 * n_q, 4 * (n_q + width), 4 * width, width, width, width, 1, 1, 1, 1, 1),
    )
    return Tangent(n_q, n_v, m, n_entries, width, *split(memory, counts))


def fill_tangent(at: Tangent, pattern: Blocks) -> None:
    """Write down where the entries stand."""
    at.first.view(np.int64)[:] = np.cumsum([0, *map(len, pattern)])
    at.row.view(np.int64)[:] = [i for block in pattern for i, _ in block]
    at.column.view(np.int64)[:] = [j for block in pattern for _, j in block]


def add_product(at: Tangent, block: int, X: Pointer, Y: Pointer, wide: int) -> None:
    """Compute Y += B X for a block B of J, in rows of so many numbers."""
    for k in range(integer(at.first, block), integer(at.first, block + 1)):
        i, j = integer(at.row, k), integer(at.column, k)
        add_columns(offset(Y, i * wide), at.J[k], offset(X, j * wide), 0, wide)


def multiply_transposed(at: Tangent, block: int, X: Pointer, Y: Pointer, n: int) -> None:
    """Compute Y := B^T X, of n rows of one number for each motion."""
    wide = at.wide
    clear(Y, 0, n * wide)
    for k in range(integer(at.first, block), integer(at.first, block + 1)):
        i, j = integer(at.row, k), integer(at.column, k)
        add_columns(offset(Y, j * wide), at.J[k], offset(X, i * wide), 0, wide)


def multiply_between(at: Tangent, X: Pointer, Y: Pointer, n: int, wide: int, C: Pointer) -> None:
    """Compute C := X^T Y of n rows, those of X of one number for each motion."""
    dof, motions = at.dof, at.wide
    clear(C, 0, dof * wide)
    for r in range(n):
        x, y = offset(X, r * motions), offset(Y, r * wide)
        for i in range(dof):
            add_columns(offset(C, i * wide), x[i], y, 0, wide)


def span_motions(at: Tangent) -> None:
    """Find Z of Psi_q Z = 0 by Gauss' elimination, the largest entry of a row as its pivot.

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
        size = find_largest(u, 0, width)
        for j in range(n):
            if u[j] != 0.0 and at.pivots[j] >= 0.0:
                add_columns(u, -u[j], offset(at.U, int(at.pivots[j]) * width), 0, width)
        left, pivot = find_largest(u, 0, width), 0
        if left > RANK_TOLERANCE * size:
            while abs(u[pivot]) != left:
                pivot += 1
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
    at.wide = (at.dof + 3) // 4 * 4
    clear(at.Z, 0, n * at.wide)
    free = 0
    for j in range(n):
        if at.pivots[j] < 0.0:
            for k in range(n):
                if at.pivots[k] >= 0.0:
                    at.Z[k * at.wide + free] = -at.U[int(at.pivots[k]) * width + j]
            at.Z[j * at.wide + free] = 1.0
            free += 1


def reduce_matrices(at: Tangent) -> None:
    """Compute Z, K^T Z, A^T K^T Z and D^T Z, and M, D, K N and K A N between the motions of Z."""
    span_motions(at)
    n_q, n, wide = at.n_q, at.n_v, at.wide
    multiply_transposed(at, K, at.Z, at.K_Z, n_q)
    multiply_transposed(at, A, at.K_Z, at.A_Z, n_q)
    multiply_transposed(at, D, at.Z, at.D_Z, n)
    multiply_transposed(at, M, at.Z, at.M_Z, n)  # which is symmetric
    clear(at.N_Z, 0, n_q * wide)
    add_product(at, N, at.Z, at.N_Z, wide)
    multiply_between(at, at.Z, at.M_Z, n, wide, at.mass)
    multiply_between(at, at.D_Z, at.Z, n, wide, at.damping)
    multiply_between(at, at.K_Z, at.N_Z, n_q, wide, at.stiffness)
    multiply_between(at, at.A_Z, at.N_Z, n_q, wide, at.turning)


def factor_tangent(at: Tangent, c: float, a: float, b: float) -> bool:
    """Factor the matrix of w for c and for a + i b; return whether these are regular."""
    size = a * a + b * b
    at.a, at.b, at.c = a / size, -b / size, 1.0 / c
    s, r, t = at.a, at.b, at.c
    s_2, r_2 = s * s - r * r, 2.0 * s * r
    s_3, r_3 = s * s_2 - r * r_2, s * r_2 + r * s_2
    for k in range(at.dof * at.wide):
        M, D, K, K_A = at.mass[k], at.damping[k], at.stiffness[k], at.turning[k]
        at.real[k] = M - t * (D + t * (K + t * K_A))
        at.complex[k] = M - s * D - s_2 * K - s_3 * K_A
        at.complex_i[k] = -r * D - r_2 * K - r_3 * K_A
    return factor(at.real, at.dof, at.wide, at.real_pivots, at.w) and factor_complex(
        at.complex, at.complex_i, at.dof, at.wide, at.complex_pivots, at.w
    )


def are_forces_gentle(at: Tangent, h: float) -> bool:
    """Whether in a time h no force changes the motion that it acts along by as much as itself: h D + h^2 K below M."""
    for i in range(at.dof):
        k = i * at.wide + i
        if not h * (abs(at.damping[k]) + h * abs(at.stiffness[k])) < at.mass[k]:
            return False
    return True


def scale(at: Tangent, x: Pointer, n: int) -> None:
    """Scale rows (x, y + i z) by 1/c, real and complex."""
    s, r, t = at.a, at.b, at.c
    for i in range(0, 4 * n, 4):
        real, imaginary = s * x[i + 1] - r * x[i + 2], s * x[i + 2] + r * x[i + 1]
        x[i], x[i + 1], x[i + 2], x[i + 3] = t * x[i], real, imaginary, 0.0  # whole rows, which are stored at once


def find_motion(at: Tangent, v: Pointer) -> None:
    """Find w = s F^-1 Z^T (K dq_0 + D v) with v = s r_v and K dq_0 = s (K + s K A) (r_q + N v), F the matrix of w."""
    n_q, n, dof, w, turned = at.n_q, at.n_v, at.dof, at.w, at.turned
    copy(at.x, at.q, 4 * n_q)
    add_product(at, N, v, at.q, 4)
    multiply_between(at, at.K_Z, at.q, n_q, 4, w)
    if integer(at.first, A + 1) > 0:
        multiply_between(at, at.A_Z, at.q, n_q, 4, turned)
        scale(at, turned, dof)
        add_columns(w, 1.0, turned, 0, 4 * dof)
    scale(at, w, dof)
    multiply_between(at, at.D_Z, v, n, 4, turned)
    for i in range(dof):
        k = 4 * i
        at.w_1[i], at.w_2[i], at.w_3[i] = w[k] + turned[k], w[k + 1] + turned[k + 1], w[k + 2] + turned[k + 2]
    solve(at.real, dof, at.wide, at.real_pivots, at.w_1)
    solve_complex(at.complex, at.complex_i, dof, at.wide, at.complex_pivots, at.w_2, at.w_3)
    for i in range(dof):
        w[4 * i], w[4 * i + 1], w[4 * i + 2] = at.w_1[i], at.w_2[i], at.w_3[i]
    scale(at, w, dof)


def solve_motion(at: Tangent) -> None:
    """Compute x := (c - J)^-1 x, real and complex."""
    n_q, n, dof, wide = at.n_q, at.n_v, at.dof, at.wide
    v, power = offset(at.x, 4 * n_q), offset(at.x, 4 * (n_q + n))
    scale(at, v, n)
    find_motion(at, v)
    for r in range(n):
        z = offset(at.Z, r * wide)
        for i in range(dof):
            add_four(offset(v, 4 * r), z[i], offset(at.w, 4 * i))
    add_product(at, N, v, at.x, 4)
    if integer(at.first, A + 1) > 0:
        clear(at.turned, 0, 4 * n_q)
        add_product(at, A, at.x, at.turned, 4)
        scale(at, at.turned, n_q)
        add_columns(at.x, 1.0, at.turned, 0, 4 * n_q)
    scale(at, at.x, n_q)
    add_product(at, W_Q, at.x, power, 4)
    add_product(at, W_V, v, power, 4)
    scale(at, power, 2)


def solve_for_real(at: Tangent, x: Pointer) -> None:
    """Compute x := (c - J)^-1 x for the real c."""
    n = at.n_q + at.n_v + 2
    clear(at.x, 0, 4 * n)
    for i in range(n):
        at.x[4 * i] = x[i]
    solve_motion(at)
    for i in range(n):
        x[i] = at.x[4 * i]


def solve_for_both(at: Tangent, x: Pointer, y: Pointer, z: Pointer) -> None:
    """Compute the same, and y + i z := (c - J)^-1 (y + i z) for the complex c."""
    n = at.n_q + at.n_v + 2
    for i in range(n):
        at.x[4 * i], at.x[4 * i + 1], at.x[4 * i + 2], at.x[4 * i + 3] = x[i], y[i], z[i], 0.0
    solve_motion(at)
    for i in range(n):
        x[i], y[i], z[i] = at.x[4 * i], at.x[4 * i + 1], at.x[4 * i + 2]
