"""LU of a sparse matrix by a list of operations that is made once.

    A[rows[i], columns[j]] = (L U)[i, j]

The order of pivots is chosen from the values at one place: by Markowitz' count, which keeps fill-in low, among entries
that are not small in their column [markowitz1957]. From then on every matrix of the pattern is eliminated by
the same operations, and their user looks at what they leave: a pivot may have become small. Runs with
multipliers among the unknowns of radau5, 37 to 98, take 2.5 to 5 times as long on full matrices.

Values stand in one vector: row by row the pivot, whose place its reciprocal takes, and the rest of U, then the rows of
L. Of complex matrices the imaginary parts are a second one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linkwork.native.kernels import Pointer, integer, offset, split

Entry = tuple[int, int]  # row and column

THRESHOLD = 0.01  # of the largest entry of its column, after scaling: a pivot
SWEEPS = 4  # of scaling
SEARCHED = 4  # rows and columns of least count among which a pivot is looked for


class Operations(NamedTuple):
    """The list as integers between doubles, for n unknowns."""

    rows: Pointer  # n
    columns: Pointer  # n
    U_start: Pointer  # n + 1
    L_start: Pointer  # n + 1
    U_column: Pointer  # n_upper, in the order of pivots; so L_column
    L_column: Pointer  # n_lower
    targets: Pointer  # where the products of an entry of L with a row of U are subtracted
    rest: Pointer


def operations(memory: Pointer, n: int, n_upper: int, n_lower: int, n_targets: int) -> Operations:
    return Operations(*split(memory, (n, n, n + 1, n + 1, n_upper, n_lower, n_targets)))


@dataclass(frozen=True, eq=False)
class Elimination:
    """The operations of a pattern, and where its entries stand among the values."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    U: tuple[tuple[int, ...], ...]  # of each row the columns, in the order of pivots, the pivot first
    L: tuple[tuple[int, ...], ...]

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """n, n_upper, n_lower and n_targets of `operations`."""
        n_targets = sum(len(self.U[k]) - 1 for row in self.L for k in row)
        return len(self.rows), sum(map(len, self.U)), sum(map(len, self.L)), n_targets

    @property
    def parity(self) -> float:
        """Return the sign of the permutation from rows to columns, by which the determinant of L U is that of A."""
        return round(float(np.linalg.det(np.eye(len(self.rows))[np.ix_(self.rows, self.columns)])))

    def place(self) -> dict[Entry, int]:
        """Find where the entries of the matrix, by their rows and columns in it, stand among the values."""
        inside = [(i, j) for i, row in enumerate(self.U) for j in row] + [
            (i, k) for i, row in enumerate(self.L) for k in row
        ]
        return {(self.rows[i], self.columns[j]): place for place, (i, j) in enumerate(inside)}

    def fill(self, at: Operations) -> None:
        place, n = self.place(), len(self.rows)
        targets = [place[self.rows[i], self.columns[j]] for i in range(n) for k in self.L[i] for j in self.U[k][1:]]
        for memory, numbers in (
            (at.rows, self.rows),
            (at.columns, self.columns),
            (at.U_start, np.cumsum([0, *map(len, self.U)])),
            (at.L_start, np.cumsum([0, *map(len, self.L)])),
            (at.U_column, [j for row in self.U for j in row]),
            (at.L_column, [k for row in self.L for k in row]),
            (at.targets, targets),
        ):
            memory.view(np.int64)[:] = numbers


def plan_elimination(n: int, A: Mapping[Entry, float]) -> Elimination | None:
    """Return pivots and operations for matrices with these entries, of which some may be zero here.

    None if it is singular.
    """
    matrix: list[dict[int, float]] = [{} for _ in range(n)]
    holders: list[set[int]] = [set() for _ in range(n)]  # of a column: the rows that are left with an entry there
    for (i, j), entry in zip(A, scaled(n, A), strict=True):
        matrix[i][j] = entry
        holders[j].add(i)
    rows, columns = set(range(n)), set(range(n))
    pivots: list[Entry] = []
    L: list[list[int]] = [[] for _ in range(n)]  # of each row of the matrix, the steps that eliminated in it
    while columns:
        places = [(i, j) for j in sorted(columns, key=lambda j: (len(holders[j]), j))[:SEARCHED] for i in holders[j]]
        places += [(i, j) for i in sorted(rows, key=lambda i: (len(matrix[i]), i))[:SEARCHED] for j in matrix[i]]
        best, row, column = (np.inf, 0.0), -1, -1
        for i, j in places:
            size = abs(matrix[i][j]) / max(*(abs(matrix[k][j]) for k in holders[j]), 1e-300)
            cost = (len(matrix[i]) - 1) * (len(holders[j]) - 1), -size
            if size >= THRESHOLD and (*cost, i, j) < (*best, row, column):
                best, row, column = cost, i, j
        if row < 0:
            return None
        upper, u = matrix[row], matrix[row][column]
        for j in upper:
            holders[j].discard(row)
        for i in sorted(holders[column]):
            factor = matrix[i].pop(column) / u
            L[i].append(len(pivots))
            for j, entry in upper.items():
                if j != column:
                    matrix[i][j] = matrix[i].get(j, 0.0) - factor * entry
                    holders[j].add(i)
        rows.discard(row)
        columns.discard(column)
        pivots.append((row, column))
    step = {column: k for k, (_, column) in enumerate(pivots)}
    return Elimination(
        tuple(i for i, _ in pivots),
        tuple(j for _, j in pivots),
        tuple(tuple(sorted(step[j] for j in matrix[i])) for i, _ in pivots),
        tuple(tuple(L[i]) for i, _ in pivots),
    )


def scaled(n: int, A: Mapping[Entry, float]) -> list[float]:
    """Return the entries with rows and columns multiplied so that the largest of each comes near to one."""
    i, j = np.array(list(A), dtype=int).reshape(-1, 2).T
    values = np.array(list(A.values()), dtype=float)
    for _ in range(SWEEPS):
        for places in (i, j):
            largest = np.zeros(n)
            np.maximum.at(largest, places, np.abs(values))
            values = values / np.sqrt(np.where(largest > 0.0, largest, 1.0))[places]
    found: list[float] = values.tolist()
    return found


def eliminate(at: Operations, n: int, n_upper: int, values: Pointer) -> bool:
    """Tell whether no pivot is zero."""
    target = 0
    for i in range(n):
        for place in range(integer(at.L_start, i), integer(at.L_start, i + 1)):
            k = integer(at.L_column, place)
            first, end = integer(at.U_start, k), integer(at.U_start, k + 1)
            s = values[n_upper + place] * values[first]
            values[n_upper + place] = s
            for j in range(first + 1, end):
                values[integer(at.targets, target)] -= s * values[j]
                target += 1
        pivot = values[integer(at.U_start, i)]
        if not abs(pivot) > 0.0:
            return False
        values[integer(at.U_start, i)] = 1.0 / pivot
    return True


def sign_of_eliminated(at: Operations, n: int, values: Pointer) -> float:
    """Return the sign of the determinant of L U."""
    sign = 1.0
    for i in range(n):
        sign = -sign if values[integer(at.U_start, i)] < 0.0 else sign
    return sign


def solve_eliminated(at: Operations, n: int, n_upper: int, values: Pointer, x: Pointer, y: Pointer) -> None:
    """Compute x := A^-1 x; y is scratch."""
    L = offset(values, n_upper)
    for i in range(n):
        s = x[integer(at.rows, i)]
        for k in range(integer(at.L_start, i), integer(at.L_start, i + 1)):
            s -= L[k] * y[integer(at.L_column, k)]
        y[i] = s
    for i in range(n - 1, -1, -1):
        first, s = integer(at.U_start, i), y[i]
        for j in range(first + 1, integer(at.U_start, i + 1)):
            s -= values[j] * y[integer(at.U_column, j)]
        y[i] = s * values[first]
        x[integer(at.columns, i)] = y[i]


def eliminate_complex(at: Operations, n: int, n_upper: int, values: Pointer, imaginary: Pointer) -> bool:
    target = 0
    for i in range(n):
        for place in range(integer(at.L_start, i), integer(at.L_start, i + 1)):
            k = integer(at.L_column, place)
            first, end = integer(at.U_start, k), integer(at.U_start, k + 1)
            a, b = values[n_upper + place], imaginary[n_upper + place]
            s = a * values[first] - b * imaginary[first]
            r = a * imaginary[first] + b * values[first]
            values[n_upper + place], imaginary[n_upper + place] = s, r
            for j in range(first + 1, end):
                to = integer(at.targets, target)
                values[to] -= s * values[j] - r * imaginary[j]
                imaginary[to] -= s * imaginary[j] + r * values[j]
                target += 1
        first = integer(at.U_start, i)
        a, b = values[first], imaginary[first]
        size = a * a + b * b
        if not size > 0.0:
            return False
        values[first], imaginary[first] = a / size, -b / size
    return True


def solve_eliminated_complex(
    at: Operations, n: int, n_upper: int, values: Pointer, imaginary: Pointer, x: Pointer, z: Pointer, y: Pointer
) -> None:
    """Compute x + i z := A^-1 (x + i z); y is scratch for 2 n numbers."""
    L, L_i, y_i = offset(values, n_upper), offset(imaginary, n_upper), offset(y, n)
    for i in range(n):
        s, r = x[integer(at.rows, i)], z[integer(at.rows, i)]
        for k in range(integer(at.L_start, i), integer(at.L_start, i + 1)):
            j = integer(at.L_column, k)
            s -= L[k] * y[j] - L_i[k] * y_i[j]
            r -= L[k] * y_i[j] + L_i[k] * y[j]
        y[i], y_i[i] = s, r
    for i in range(n - 1, -1, -1):
        first, s, r = integer(at.U_start, i), y[i], y_i[i]
        for j in range(first + 1, integer(at.U_start, i + 1)):
            k = integer(at.U_column, j)
            s -= values[j] * y[k] - imaginary[j] * y_i[k]
            r -= values[j] * y_i[k] + imaginary[j] * y[k]
        y[i] = s * values[first] - r * imaginary[first]
        y_i[i] = s * imaginary[first] + r * values[first]
        x[integer(at.columns, i)], z[integer(at.columns, i)] = y[i], y_i[i]
