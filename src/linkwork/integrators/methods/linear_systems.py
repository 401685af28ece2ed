"""The linear systems of implicit methods, c M - J with a real and a complex c.

J = f_y and M are given by their entries. Where an elimination is planned for their pattern (linalg/lu_planned.py), its
operations are done. What is left of a right side is looked at each time: where the pivots chosen at the start have
become too small, this matrix is factored as a full one with row pivots.

Those of the motion of a mechanism by its accelerations are reduced instead, see tangent.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from linkwork.integrators.memory import BLOCK
from linkwork.integrators.methods.tangent import (
    Blocks,
    Tangent,
    factor_tangent,
    fill_tangent,
    solve_for_both,
    solve_for_real,
    tangent_places,
)
from linkwork.linalg.lu_planned import (
    Elimination,
    Operations,
    eliminate,
    eliminate_complex,
    operations,
    sign_of_eliminated,
    solve_eliminated,
    solve_eliminated_complex,
)
from linkwork.linalg.lu_row_pivot import factor, factor_complex, sign_of_determinant, solve, solve_complex
from linkwork.linalg.vectors import clear, copy, fill
from linkwork.native.kernels import Memory, Pointer, integer, offset, split, take

Array = NDArray[np.float64]
Entry = tuple[int, int]  # row and column

SOUND = 1e-7  # of the sizes that were added up: what a sound elimination leaves of a right side at most
N_SIZES = 10  # integers at the head of the memory


class Systems(Memory):
    """Places in the memory of the systems; width is n, the number of unknowns, made whole blocks."""

    n: int
    n_entries: int  # of J
    n_mass: int  # of M
    n_upper: int  # of the elimination, 0 without one
    n_lower: int
    n_targets: int
    width: int
    of: Operations
    tangent: Tangent  # has entries where it takes the place of all that follows
    row: Pointer  # n_entries, integers
    column: Pointer  # n_entries, integers
    place: Pointer  # n_entries, integers: among the values of the elimination
    J: Pointer  # n_entries
    mass_row: Pointer  # n_mass, integers
    mass_column: Pointer  # n_mass, integers
    mass_place: Pointer  # n_mass, integers
    M: Pointer  # n_mass
    values: Pointer  # n_upper + n_lower, and one for what is not planned: of the real system, then of the complex one
    values_real: Pointer
    values_imaginary: Pointer
    E: Pointer  # n width: the same as full matrices
    E_real: Pointer
    E_imaginary: Pointer
    pivots: Pointer  # width
    complex_pivots: Pointer  # width
    x: Pointer  # width: right side and solution
    z: Pointer  # width: imaginary part
    y: Pointer  # 2 width: scratch
    size: Pointer  # width: scratch
    is_full: bool  # whether the factors are those of full matrices
    side: float  # the sign of the determinant of c M - J for c to infinity, or 0 where it is not known
    parity: float  # of the planned elimination
    rest: Pointer


def systems_places(
    memory: Pointer, n: int, n_entries: int, n_mass: int, n_upper: int, n_lower: int, n_targets: int,
    n_q: int, n_v: int, m: int, n_tangent: int,
) -> Systems:  # fmt: skip
    _, memory = take(memory, N_SIZES)
    of = operations(memory, n if n_upper > 0 else 0, n_upper, n_lower, n_targets)
    tangent = tangent_places(of.rest, n_q, n_v, m, n_tangent)
    width, n_values = (n + BLOCK - 1) // BLOCK * BLOCK, n_upper + n_lower + 1
    square = n * width if n_tangent == 0 else 0
    counts = (
        *(n_entries, n_entries, n_entries, n_entries, n_mass, n_mass, n_mass, n_mass),
        *(n_values, n_values, n_values, square, square, square),
        *(width, width, width, width, 2 * width, width, 1, 1, 1),
    )
    return Systems(n, n_entries, n_mass, n_upper, n_lower, n_targets, width, of, tangent, *split(tangent.rest, counts))


def open_systems(memory: Pointer) -> Systems:
    return systems_places(
        memory, integer(memory, 0), integer(memory, 1), integer(memory, 2), integer(memory, 3), integer(memory, 4),
        integer(memory, 5), integer(memory, 6), integer(memory, 7), integer(memory, 8), integer(memory, 9),
    )  # fmt: skip


def systems_sizes(
    pattern: Sequence[Entry],
    mass: Array,
    plan: Elimination | None,
    of: tuple[int, ...] = (0, 0, 0),
    blocks: Blocks = (),
) -> tuple[int, ...]:
    """Return what `systems_places` takes, for a Jacobian with this pattern, or these blocks for sizes `of` q, v and
    Psi.
    """
    planned = plan.sizes[1:] if plan is not None else (0, 0, 0)
    return len(mass), len(pattern), int(np.count_nonzero(mass)), *planned, *of, sum(map(len, blocks))


def fill_systems(
    memory: Pointer,
    sizes: Sequence[int],
    pattern: Sequence[Entry],
    mass: Array,
    plan: Elimination | None,
    blocks: Blocks = (),
    side: float = 0.0,
) -> None:
    """Write down sizes, patterns, M, the operations of the elimination and the sign of the determinant."""
    memory[: len(sizes)].view(np.int64)[:] = sizes
    at = systems_places(memory, *sizes)
    among = plan.place() if plan is not None else {}
    for rows, columns, where, listed in (
        (at.row, at.column, at.place, list(pattern)),
        (at.mass_row, at.mass_column, at.mass_place, [(i, j) for i, j in np.argwhere(mass).tolist()]),
    ):
        rows.view(np.int64)[:] = [i for i, _ in listed]
        columns.view(np.int64)[:] = [j for _, j in listed]
        if plan is not None:
            where.view(np.int64)[:] = [among.get(place, len(among)) for place in listed]
    at.M[:] = mass[np.nonzero(mass)]
    at.side = side
    if plan is not None:
        plan.fill(at.of)
        at.parity = plan.parity
    if blocks:
        fill_tangent(at.tangent, blocks)


def entries_of(at: Systems) -> tuple[Pointer, int]:
    """Return the places of the entries of J, and their number."""
    return (at.tangent.J, at.tangent.n_entries) if at.tangent.n_entries > 0 else (at.J, at.n_entries)


def multiply_mass(at: Systems, x: Pointer, y: Pointer) -> None:
    """Compute y := M x; M of a motion by its accelerations is one."""
    if at.tangent.n_entries > 0:
        copy(x, y, at.n)
        return
    clear(y, 0, at.n)
    for k in range(at.n_mass):
        y[integer(at.mass_row, k)] += at.M[k] * x[integer(at.mass_column, k)]


def load_values(at: Systems, c: float, values: Pointer) -> None:
    """Load c M - J among the values of the elimination."""
    clear(values, 0, at.n_upper + at.n_lower)
    for k in range(at.n_entries):
        values[integer(at.place, k)] = -at.J[k]
    for k in range(at.n_mass):
        values[integer(at.mass_place, k)] += c * at.M[k]


def load_full(at: Systems, c: float, E: Pointer, scale: float) -> None:
    """Load c M - scale J as a full matrix."""
    clear(E, 0, at.n * at.width)
    for k in range(at.n_entries):
        E[integer(at.row, k) * at.width + integer(at.column, k)] = -scale * at.J[k]
    for k in range(at.n_mass):
        E[integer(at.mass_row, k) * at.width + integer(at.mass_column, k)] += c * at.M[k]


def is_sound(at: Systems, a: float, b: float) -> bool:
    """Whether ((a + i b) M - J) (x + i z) is the right side, all ones, by the sizes of the terms."""
    left, left_i, size = at.y, offset(at.y, at.width), at.size
    fill(left, -1.0, at.n)
    clear(left_i, 0, at.n)
    fill(size, 1.0, at.n)
    for k in range(at.n_entries):
        i, j = integer(at.row, k), integer(at.column, k)
        left[i] -= at.J[k] * at.x[j]
        left_i[i] -= at.J[k] * at.z[j]
        size[i] += abs(at.J[k]) * (abs(at.x[j]) + abs(at.z[j]))
    for k in range(at.n_mass):
        i, j = integer(at.mass_row, k), integer(at.mass_column, k)
        left[i] += at.M[k] * (a * at.x[j] - b * at.z[j])
        left_i[i] += at.M[k] * (a * at.z[j] + b * at.x[j])
        size[i] += abs(at.M[k]) * (abs(a) + abs(b)) * (abs(at.x[j]) + abs(at.z[j]))
    worst = 0.0
    for i in range(at.n):
        worst = max(worst, (abs(left[i]) + abs(left_i[i])) / size[i])
    return worst <= SOUND  # which what is not a number is not


def factor_as_planned(at: Systems, c: float, a: float, b: float) -> bool:
    """Factor c M - J and (a + i b) M - J with the planned pivots; return whether they are sound."""
    load_values(at, c, at.values)
    if not eliminate(at.of, at.n, at.n_upper, at.values):
        return False
    fill(at.x, 1.0, at.n)
    clear(at.z, 0, at.n)
    solve_eliminated(at.of, at.n, at.n_upper, at.values, at.x, at.y)
    if not is_sound(at, c, 0.0):
        return False
    if b == 0.0:
        return True
    load_values(at, a, at.values_real)
    clear(at.values_imaginary, 0, at.n_upper + at.n_lower)
    for k in range(at.n_mass):
        at.values_imaginary[integer(at.mass_place, k)] += b * at.M[k]
    if not eliminate_complex(at.of, at.n, at.n_upper, at.values_real, at.values_imaginary):
        return False
    fill(at.x, 1.0, at.n)
    clear(at.z, 0, at.n)
    solve_eliminated_complex(at.of, at.n, at.n_upper, at.values_real, at.values_imaginary, at.x, at.z, at.y)
    return is_sound(at, a, b)


def factor_systems(at: Systems, c: float, a: float, b: float) -> bool:
    """Factor c M - J and, unless b is 0, (a + i b) M - J; return whether these are regular."""
    if at.tangent.n_entries > 0:
        return factor_tangent(at.tangent, c, a, b)
    if at.n_upper > 0:
        at.is_full = False
        if factor_as_planned(at, c, a, b):
            return True
    at.is_full = True
    load_full(at, c, at.E, 1.0)
    if not factor(at.E, at.n, at.width, at.pivots, at.y):
        return False
    if b == 0.0:
        return True
    load_full(at, a, at.E_real, 1.0)
    load_full(at, b, at.E_imaginary, 0.0)
    return factor_complex(at.E_real, at.E_imaginary, at.n, at.width, at.complex_pivots, at.y)


def is_astray(at: Systems) -> bool:
    """Whether the determinant of c M - J, as factored, has another sign than for c to infinity.

    Then c is below an odd number of real eigenvalues of J: what grows with e^(c t) and faster would be damped.
    """
    if at.tangent.n_entries > 0:
        of = at.tangent
        return sign_of_determinant(of.real, of.dof, of.wide, of.real_pivots) < 0.0
    if at.is_full:
        return sign_of_determinant(at.E, at.n, at.width, at.pivots) * at.side < 0.0
    return sign_of_eliminated(at.of, at.n, at.values) * at.parity * at.side < 0.0


def solve_real(at: Systems, x: Pointer) -> None:
    """Compute x := (c M - J)^-1 x."""
    if at.tangent.n_entries > 0:
        solve_for_real(at.tangent, x)
    elif at.is_full:
        solve(at.E, at.n, at.width, at.pivots, x)
    else:
        solve_eliminated(at.of, at.n, at.n_upper, at.values, x, at.y)


def solve_both(at: Systems, x: Pointer, y: Pointer, z: Pointer) -> None:
    """Compute x := (c M - J)^-1 x and y + i z := ((a + i b) M - J)^-1 (y + i z)."""
    if at.tangent.n_entries > 0:
        solve_for_both(at.tangent, x, y, z)
        return
    solve_real(at, x)
    if at.is_full:
        solve_complex(at.E_real, at.E_imaginary, at.n, at.width, at.complex_pivots, y, z)
    else:
        solve_eliminated_complex(at.of, at.n, at.n_upper, at.values_real, at.values_imaginary, y, z, at.y)
