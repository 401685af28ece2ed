"""What a place finds out about its scales and its rows, by machine code that is the same for all equations.

Two kernels of the one native signature: x are values at a state, p is the layout of the equations, which says what they
are values of. So one state is looked at as many are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.linalg.cholesky import factor_cholesky
from linkwork.linalg.qr import factor_tall, make_reflection, reflect, take_reflections
from linkwork.linalg.rank import HUGE, RANK_TOLERANCE, TINY
from linkwork.linalg.triangular import solve_upper, solve_upper_transposed
from linkwork.linalg.vectors import SUBNORMAL, add, dot, fill, is_finite
from linkwork.native.kernels import Kernel, Memory, Pointer, integer, kernel, offset, size_of, split
from linkwork.native.rows import fill_rows
from linkwork.tolerances import EPSILON, NEGLIGIBLE, ROUNDING

Array = NDArray[np.float64]

LEAST_ROW = 1e-3  # of its smallest entry at the usual scale: a row that vanishes at the start is not left out later
LEAST_LEFT = 1e-4  # of a diagonal entry, that the other rows leave: a row that is as good as independent
FAR = 1e-3  # of the distance from the origin: no length of a mechanism counts as smaller, its digits would be lost


class Layout(NamedTuple):
    """What the values at a state belong to; all numbers are integers."""

    n_q: int
    n_v: int
    m: int
    n_entries: int  # entries of Psi_q
    n_reversals: int
    n_masses: int  # entries of M
    has_arm: int  # whether the longest arm stands among the values
    is_diagonal: int  # whether M is
    is_stated: int  # whether the equations are stated: how large rows are is not known then
    numbers: Pointer  # these
    rows: Pointer  # n_entries
    columns: Pointer  # n_entries
    is_arm: Pointer  # n_entries: whether an entry is an arm at which a turn moves a joint
    is_length: Pointer  # n_q + n_v + m
    M_rows: Pointer  # n_masses
    M_columns: Pointer  # n_masses
    rest: Pointer


NUMBERS = Layout._fields.index("numbers")


def open_layout(p: Pointer) -> Layout:
    n_q, n_v, m, n_entries, n_masses = integer(p, 0), integer(p, 1), integer(p, 2), integer(p, 3), integer(p, 5)
    parts = split(p, (NUMBERS, n_entries, n_entries, n_entries, n_q + n_v + m, n_masses, n_masses))
    return Layout(n_q, n_v, m, n_entries, integer(p, 4), n_masses, integer(p, 6), integer(p, 7), integer(p, 8), *parts)


def write_layout(numbers: Sequence[int], *lists: Iterable[int]) -> Array:
    return np.array([*numbers, *(x for own in lists for x in own)], dtype=np.int64).view(np.float64)


class Scaled(Memory):
    """The scales of a place, and what is measured by them."""

    length: float  # of the mechanism: the longest arm at which a turn moves a joint, else how far its bodies spread
    arm: float  # 0 if there is none, or none but rounding
    far: float  # the largest length among the coordinates; 0 if there is none but rounding
    gap: float  # the largest |Psi|
    speed: float  # the largest |v|
    rate: float  # the largest |Psi_dot|
    is_finite: bool
    scales: Pointer  # of q, v and the rows of Psi: the length, a radian, one
    rest: Pointer


def scaled(y: Pointer, n: int) -> Scaled:
    return Scaled(*split(y, (1, 1, 1, 1, 1, 1, 1, n)))


@kernel
def find_scales(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Find the scales at q, v, where `constraints` and `linear` return these."""
    of = open_layout(p)
    n, m = of.n_q + of.n_v, of.m
    at, (q, v, Psi, Psi_dot, linear) = scaled(y, n + m), split(x, (of.n_q, of.n_v, m, m))
    far, arm = 0.0, 0.0
    for k in range(of.n_q):
        far = max(far, abs(q[k]) if integer(of.is_length, k) == 1 else 0.0)
    far = far if far > ROUNDING else 0.0
    at.far = far
    for k in range(of.n_entries):
        arm = max(arm, abs(linear[k]) if integer(of.is_arm, k) == 1 else 0.0)
    arm = linear[of.n_entries + of.n_reversals] if of.has_arm == 1 else arm
    at.arm = arm if arm > ROUNDING * max(far, 1.0) else 0.0
    length = max(at.arm if at.arm > 0.0 else far, FAR * far)
    at.length = length if length > 0.0 else 1.0
    for k in range(n + m):
        at.scales[k] = at.length if integer(of.is_length, k) == 1 else 1.0
    at.speed = largest_over(v, offset(at.scales, of.n_q), of.n_v)
    at.gap, at.rate = largest_over(Psi, offset(at.scales, n), m), largest_over(Psi_dot, offset(at.scales, n), m)
    n_linear = of.n_entries + of.n_reversals + of.has_arm + of.n_masses
    at.is_finite = is_finite(Psi, m) and is_finite(Psi_dot, m) and is_finite(linear, n_linear)


class Ranked(Memory):
    """How the rows of Psi_q depend on each other, in the metric of M^-1, each row having length one there."""

    is_known: bool  # whether M is regular, and all that follows is known
    rank: int
    smallest: float  # singular value that is kept, 1 if there is none
    size: Pointer  # m: diag(Psi_q M^-1 Psi_q^T), see `find_size`
    diagonal: Pointer  # n_v: of M
    rest: Pointer


def ranked(y: Pointer, n_v: int, m: int) -> Ranked:
    return Ranked(*split(y, (1, 1, 1, m, n_v)))


class Room(NamedTuple):
    """Scratch, rows of matrices taking whole fours of columns."""

    J: Pointer  # m rows
    U: Pointer  # n_v rows: the Cholesky factor of M, its diagonal being one
    J_T: Pointer  # n_v rows
    line: Pointer
    beside: Pointer
    z: Pointer
    rest: Pointer


def room(w: Pointer, n_v: int, m: int) -> Room:
    wide, high, most = whole_fours(n_v), whole_fours(m), whole_fours(n_v + m)
    return Room(*split(w, (m * wide, n_v * wide, n_v * high, most, most, 2 * most)))


def whole_fours(n: int) -> int:
    return n + 3 - (n + 3) % 4


def scratch_of(n_v: int, m: int) -> int:
    """Count the doubles of scratch: Room, and the reflections of a QR decomposition."""
    wide, high, most = whole_fours(n_v), whole_fours(m), whole_fours(n_v + m)
    return m * wide + n_v * wide + n_v * high + 4 * most + m * wide + m


@kernel
def find_rank(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Find which rows depend on others, where `linear` returns this, from the scales of q, v and rows behind it."""
    of = open_layout(p)
    n, m = of.n_v, of.m
    at, r, wide = ranked(y, n, m), room(w, n, m), whole_fours(n)
    first = of.n_entries + of.n_reversals + of.has_arm
    v_scale = offset(x, first + of.n_masses + of.n_q)
    at.is_known, at.rank, at.smallest = False, 0, 1.0
    if not is_regular(of, offset(x, first), at.diagonal, r):
        return
    fill(r.J, 0.0, m * wide)
    fill(r.beside, 0.0, m)  # the squares of lengths, on the scales of the mechanism
    for k in range(of.n_entries):
        i, j = integer(of.rows, k), integer(of.columns, k)
        r.J[i * wide + j] = x[k] / math.sqrt(at.diagonal[j])
        by_scale = x[k] * v_scale[j] / v_scale[n + i]
        r.beside[i] += by_scale * by_scale
    vanishing = 0.0 if of.is_stated == 1 else ROUNDING
    for i in range(m):
        row = offset(r.J, i * wide)
        if of.is_diagonal == 0:
            solve_upper_transposed(r.U, n, wide, row)
        length = max(math.sqrt(dot(row, row, 0, n)), TINY)
        for j in range(n):
            row[j] = 0.0 if math.sqrt(r.beside[i]) <= vanishing else row[j] / length
    count = bidiagonalize(r.J, m, n, wide, r.z, r.line)
    at.rank = count_above(r.z, count, RANK_TOLERANCE * singular_value(r.z, count, 1)) if count else 0
    at.smallest = singular_value(r.z, count, at.rank) if at.rank else 1.0
    at.is_known = find_size(of, x, v_scale, at, r)


def is_regular(of: Layout, M: Pointer, diagonal: Pointer, r: Room) -> bool:
    """Return whether M is known to be regular: every motion has inertia, also a combination of several velocities.

    Of M, its diagonal being one, the least eigenvalue is one by the largest of M^-1, whose sum is more.
    """
    n, wide, total = of.n_v, whole_fours(of.n_v), 0.0
    fill(r.U, 0.0, n * wide)
    fill(diagonal, 0.0, n)
    for k in range(of.n_masses):
        i, j = integer(of.M_rows, k), integer(of.M_columns, k)
        r.U[i * wide + j] = M[k]
        diagonal[i] = M[k] if i == j else diagonal[i]
    for i in range(n):
        if not diagonal[i] > 0.0:
            return False
    if of.is_diagonal == 1:
        return True
    for i in range(n):
        for j in range(n):
            r.U[i * wide + j] /= math.sqrt(diagonal[i]) * math.sqrt(diagonal[j])
    if not factor_cholesky(r.U, n, wide, r.beside, 0.0):
        return False
    for i in range(n):
        fill(r.line, 0.0, n)
        r.line[i] = 1.0
        solve_upper(r.U, n, wide, r.line)
        total += dot(r.line, r.line, 0, n)
    return NEGLIGIBLE * total < 1.0


def bidiagonalize(A: Pointer, rows: int, columns: int, width: int, z: Pointer, v: Pointer) -> int:
    """Reflect A to its diagonal and what is right of it, which stand in turn in z; return how many they are.

    They are the entries beside the diagonal of a symmetric matrix whose diagonal is zero, and whose eigenvalues are the
    singular values of A, with both signs.                                                [golub2013, chapter 8]
    """
    count = 0
    for k in range(min(rows, columns)):
        for i in range(k, rows):
            v[i] = A[i * width + k]
        norm = math.sqrt(dot(v, v, k, rows))
        if norm > SUBNORMAL:
            reflect(A, width, v, make_reflection(v, k, norm), k, rows, k + 1, columns)
        a = offset(A, k * width)
        beside = math.sqrt(dot(a, a, k + 1, columns))
        if beside > SUBNORMAL:
            t = make_reflection(a, k + 1, beside)
            for i in range(k + 1, rows):
                row = offset(A, i * width)
                add(row, -t * dot(a, row, k + 1, columns), a, k + 1, columns)
        z[count], z[count + 1] = norm, beside
        count += 2
    return count


def count_above(z: Pointer, count: int, x: float) -> int:
    """Count the singular values above x >= 0, by the signs of the pivots of that matrix less x.

    [golub2013, chapter 8]
    """
    pivot, above = -x, 0
    for k in range(count):
        pivot = -x - z[k] * z[k] / (pivot if abs(pivot) > TINY else -TINY)
        above += 1 if pivot > 0.0 else 0
    return above


def singular_value(z: Pointer, count: int, number: int) -> float:
    """Find a singular value by its number, the largest being the first, by bisection."""
    low, high = 0.0, math.sqrt(dot(z, z, 0, count))
    while high - low > EPSILON * high:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if count_above(z, count, middle) >= number:
            low = middle
        else:
            high = middle
    return high


def find_size(of: Layout, x: Pointer, v_scale: Pointer, at: Ranked, r: Room) -> bool:
    """Find diag(Psi_q M^-1 Psi_q^T), M by its diagonal, by which eps of each row is measured; whether it is found.

    A row that vanishes here is not left out: it will not stay below LEAST_ROW of what its smallest entry would be
    on the scales of the mechanism. Where a light body makes the diagonal so large that other rows, which hold that
    body, leave less than LEAST_LEFT of it, eps follows what they leave.
    """
    n, m, usual, size = of.n_v, of.m, r.line, at.size
    fill(usual, HUGE, m)
    fill(size, 0.0, m)
    for k in range(of.n_entries):
        i, j = integer(of.rows, k), integer(of.columns, k)
        entry, ratio = x[k] / math.sqrt(at.diagonal[j]), v_scale[j] / v_scale[n + i]
        size[i] += entry * entry
        usual[i] = min(usual[i], 1.0 / (ratio * ratio * at.diagonal[j]))
    for i in range(m):
        size[i] = max(size[i], LEAST_ROW * usual[i])
    # No row is left less than the square of the least singular value, where M is its diagonal.
    if m == 0 or at.rank < m or (of.is_diagonal == 1 and at.smallest * at.smallest >= LEAST_LEFT):
        return True
    high = whole_fours(m)
    fill(r.J_T, 0.0, n * high)
    for k in range(of.n_entries):
        i, j = integer(of.rows, k), integer(of.columns, k)
        r.J_T[j * high + i] = x[k] / math.sqrt(at.diagonal[j]) / math.sqrt(size[i])
    if n < m or not factor_tall(r.J_T, m, high, take_reflections(r.rest, n, m, whole_fours(n))):
        return False
    for i in range(m):  # the rows of the inverse of R
        fill(r.line, 0.0, m)
        r.line[i] = 1.0
        solve_upper_transposed(r.J_T, m, high, r.line)
        size[i] *= min(1.0, 1.0 / dot(r.line, r.line, 0, m) / LEAST_LEFT)
    return True


def largest_over(x: Pointer, by: Pointer, count: int) -> float:
    """Return max |x[i] / by[i]|, NaN if one of them is."""
    result = total = 0.0
    for i in range(count):
        size = abs(x[i] / by[i])
        total += size
        result = size if size > result else result
    return result if total == total else total


def survey_scales(layout: Array, x: Array, n: int) -> Array:
    """Return `Scaled` for every row of x, n being the number of scales."""
    return _survey(find_scales, layout, x, size_of(scaled, n), 0)


def survey_rank(layout: Array, x: Array, n_v: int, m: int) -> Array:
    """Return `Ranked` for every row of x."""
    return _survey(find_rank, layout, x, size_of(ranked, n_v, m), scratch_of(n_v, m))


def _survey(of: Kernel, layout: Array, x: Array, count: int, work: int) -> Array:
    y = np.empty((len(x), count))
    fill_rows(of.address, len(x), x.shape[1], 0, count, x, layout, y, np.empty(work))
    return y
