"""LU of a sparse matrix of expressions, veiled, with pivots that are known not to vanish identically.

    A[rows[i], columns[j]] = (L U)[i, j]

Whether an entry is zero is decided by its signature, never by simplification. Pivots may still vanish at some states:
`pivots` are the conditions under which the sequence holds [zhou2007, section 4; zhou2006].
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import UsageError, check_choice
from linkwork.expressions.evaluation import numpy_arithmetic
from linkwork.expressions.graph import ONE, ZERO, Expr, as_expr
from linkwork.sequences.entries import Entries
from linkwork.sequences.ordering import elimination_order
from linkwork.sequences.sequence import check_expressions
from linkwork.symbolic.hierarchy import Hierarchy, Memory, size_of, unused_letter
from linkwork.symbolic.signature import Signature
from linkwork.tolerances import AGREEMENT

Entry = tuple[int, int]  # row and column
STRATEGIES = ("sparse", "first", "smallest", "largest")
SAMPLES = 5  # random points at which an entry is looked at: one alone could be a root


@dataclass(frozen=True)
class LU:
    """The factors, whose entries are expressions in the symbols of the hierarchy.

    With Bareiss' fraction-free elimination row i of U is the pivot before it times that of the ordinary factor, the
    last pivot is the determinant, and L holds the entries that were eliminated instead of multipliers [bareiss1968].
    """

    size: int
    hierarchy: Hierarchy
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    L: Entries
    U: Entries
    fraction_free: bool = False

    @property
    def rank(self) -> int:
        return len(self.rows)

    @property
    def pivots(self) -> list[Expr]:
        """What must not vanish."""
        return [self.U[k, k] for k in range(self.rank)]

    def solve(self, right: Sequence[Expr]) -> list[Expr]:
        """Solve A x = right, both in the symbols of the hierarchy, W1 in `right` too; A must be of full rank."""
        if self.rank < self.size:
            raise UsageError(
                f"the matrix has rank {self.rank} of {self.size}; nothing can be solved", "singular-matrix"
            )
        right = [as_expr(x) for x in right]
        if len(right) != self.size:
            raise UsageError(f"{self.size} right sides are needed, not {len(right)}", "bad-right-side")
        veil, y = self.hierarchy.veil, [right[row] for row in self.rows]
        below: list[list[int]] = [[] for _ in y]
        beside: list[list[int]] = [[] for _ in y]
        for i, k in sorted(self.L):
            below[k].append(i)
        for k, j in sorted(self.U):
            beside[k].append(j)
        before = ONE
        for k, pivot in enumerate(self.pivots):
            for i in range(k + 1, self.size) if self.fraction_free else below[k]:
                entry = self.L.get((i, k), ZERO)
                y[i] = veil((pivot * y[i] - entry * y[k]) / before if self.fraction_free else y[i] - entry * y[k])
            before = pivot
        x = [ZERO] * self.size
        for k in reversed(range(self.size)):
            rest = y[k]
            for j in beside[k]:
                if j != k:
                    rest = rest - self.U[k, j] * x[self.columns[j]]
            x[self.columns[k]] = veil(rest / self.U[k, k])
        return x

    @property
    def determinant(self) -> Expr:
        """The determinant of the matrix; permutations change its sign."""
        if self.rank < self.size:
            return ZERO
        sign = _sign(self.rows) * _sign(self.columns)
        if self.fraction_free:
            return sign * self.pivots[-1] if self.size else ONE
        product = ONE * sign
        for pivot in self.pivots:
            product = product * pivot
        return product


def lu(
    A: Entries,
    size: int,
    *,
    pivoting: str | Sequence[int] = "sparse",
    columns: str | Sequence[int] = "given",
    hierarchy: Hierarchy | None = None,
    fraction_free: bool = False,
    samples: Sequence[Mapping[Expr, float]] = (),
    least: float = AGREEMENT,
) -> LU:
    """Return the factors of a size x size matrix.

    `pivoting` is the row of each pivot, or how it is chosen: "sparse" takes rows and columns in one order for least
    fill-in, those without a diagonal late; "first" the first entry that is not zero, "smallest" the smallest
    expression, "largest" the numerically largest at the samples (at random points without them). A row that is named
    but has a zero there gives way to another, and so does every entry that is at a sample below `least` of the largest
    that its column ever had. `columns` is the order in which columns are eliminated, "given" or "free": then the pivot
    is chosen among all columns that are left. Elimination ends at the rank, when nothing but zeros is left.
    """
    check_expressions("entries of the matrix", [*A.values()])
    if wrong := [place for place in A if not all(k in range(size) for k in place)]:
        raise UsageError(f"the entry {wrong[0]} lies outside a matrix of {size} x {size}", "bad-entry")
    if not isinstance(columns, str) and sorted(columns) != list(range(size)):
        raise UsageError(f"the order of columns must name each of 0 to {size - 1} once", "bad-columns")
    if pivoting == "sparse":
        if columns != "given":
            raise UsageError('"sparse" orders the columns itself; choose another pivoting', "bad-columns")
        pivoting = columns = sparse_order(A, size)
    elif isinstance(pivoting, str):
        check_choice("pivoting", pivoting, STRATEGIES)
    elif sorted(pivoting) != list(range(size)):
        raise UsageError(f"the rows of pivots must name each of the {size} rows of the matrix once", "bad-rows")
    if isinstance(columns, str):
        check_choice("order of columns", columns, ("given", "free"))
    hierarchy = Hierarchy(unused_letter(A.values())) if hierarchy is None else hierarchy
    left = _Elimination(size, hierarchy, pivoting, columns == "free", samples, least)
    left.columns = list(range(size)) if isinstance(columns, str) else list(columns)
    for (i, j), entry in A.items():
        left.put(i, j, entry)
    L: dict[Entry, Expr] = {}
    U: dict[Entry, Expr] = {}
    pivots: list[Entry] = []
    before = ONE
    while (pivot := left.choose()) is not None:
        upper, lower = left.take(*pivot)
        u = upper[pivot[1]]
        for i in left.rows if fraction_free else lower:
            below = lower.get(i, ZERO)
            if fraction_free:
                for j in sorted({*upper, *left.matrix[i]} - {pivot[1]}):
                    left.put(i, j, (u * left.entry(i, j) - below * upper.get(j, ZERO)) / before)
            else:
                below = left.hierarchy.veil(below / u)
                for j in upper.keys() - {pivot[1]}:
                    left.put(i, j, left.entry(i, j) - below * upper[j])
            L[i, len(pivots)] = below
        U |= {(len(pivots), j): entry for j, entry in upper.items()}
        pivots.append(pivot)
        before = u
    rows, eliminated = [i for i, _ in pivots], [j for _, j in pivots]
    row_at = {row: k for k, row in enumerate([*rows, *left.rows])}
    column_at = {column: k for k, column in enumerate([*eliminated, *left.columns])}
    return LU(
        size,
        left.hierarchy,
        tuple(rows),
        tuple(column_at),
        {(row_at[i], k): entry for (i, k), entry in L.items() if entry is not ZERO},
        {(k, column_at[j]): entry for (k, j), entry in U.items()},
        fraction_free,
    )


def sparse_order(A: Collection[Entry], size: int) -> list[int]:
    """Order rows and columns alike, for least fill-in of a matrix with these entries; those without one come late."""
    late = [i for i in range(size) if (i, i) not in A]
    order = elimination_order(size, A, after=late)
    return [*order, *(i for i in late if i not in order)]  # those that meet no others have no order


def choose_pivots(A: NDArray[np.float64], order: Sequence[int], least: float = AGREEMENT) -> list[Entry]:
    """Return which entries "sparse" pivoting with this order takes one after the other, where the matrix has these
    values.
    """
    left, largest = A.copy(), np.abs(A).max(axis=0, initial=0.0)
    rows, columns, found = [*range(len(A))], [*order], list[Entry]()
    while (j := next((j for j in columns if left[rows, j].any()), None)) is not None:
        preferred = order[len(found)]
        sizes = {i: abs(float(left[i, j])) for i in rows if left[i, j]}
        i = min(sizes, key=lambda i: (sizes[i] <= least * largest[j], i != preferred, -sizes[i], i))
        rows.remove(i)
        columns.remove(j)
        left[rows] -= np.outer(left[rows, j] / left[i, j], left[i])
        left[rows, j] = 0.0
        largest = np.maximum(largest, np.abs(left[rows]).max(axis=0, initial=0.0))
        found.append((i, j))
    return found


class _Elimination:
    """What is left of the matrix, and the choice of the next pivot."""

    def __init__(
        self,
        size: int,
        hierarchy: Hierarchy,
        pivoting: str | Sequence[int],
        free: bool,
        samples: Sequence[Mapping[Expr, float]],
        least: float,
    ) -> None:
        self.hierarchy = hierarchy
        self.pivoting = pivoting
        self.free = free
        self.columns: list[int] = []
        self.rows = list(range(size))
        self.matrix: list[dict[int, Expr]] = [{} for _ in range(size)]
        self.holders: list[set[int]] = [set() for _ in range(size)]  # of a column: the rows that have an entry there
        self.done = 0
        self.zero = Signature(hierarchy)
        self.values = _at_samples(hierarchy, samples) if samples or pivoting == "largest" else None
        self.least = least
        self.largest = [0.0] * size  # of each column, at the samples

    def entry(self, i: int, j: int) -> Expr:
        return self.matrix[i].get(j, ZERO)

    def put(self, i: int, j: int, expr: Expr) -> None:
        if self.zero.is_zero(expr):
            self.matrix[i].pop(j, None)
            self.holders[j].discard(i)
            return
        self.matrix[i][j] = self.hierarchy.veil(expr)
        self.holders[j].add(i)
        if self.values is not None:
            self.largest[j] = max(self.largest[j], self.values(self.matrix[i][j]))

    def choose(self) -> Entry | None:
        """Choose the place of the next pivot; a column without one waits."""
        open_columns = [j for j in self.columns if self.holders[j]]
        places = [(i, j) for j in (open_columns if self.free else open_columns[:1]) for i in self.holders[j]]
        return min(places, key=lambda place: self._rank(*place), default=None)

    def _rank(self, i: int, j: int) -> tuple[float, ...]:
        """Return least for the best pivot: one that does not vanish at the samples, then by the strategy, then the
        first.
        """
        value = 1.0 if self.values is None else self.values(self.matrix[i][j])
        vanishes = value <= self.least * self.largest[j]
        if self.pivoting == "first":
            return vanishes, j, i
        if self.pivoting == "smallest":
            return vanishes, size_of(self.matrix[i][j]), j, i
        named = not isinstance(self.pivoting, str) and self.done < len(self.pivoting)
        preferred = named and i == self.pivoting[self.done]
        return vanishes, not preferred, -value, j, i

    def take(self, row: int, column: int) -> tuple[dict[int, Expr], dict[int, Expr]]:
        """Return the row of the pivot and the other entries of its column, which are no longer part of what is left."""
        upper = self.matrix[row]
        for j in upper:
            self.holders[j].discard(row)
        lower = {i: self.matrix[i].pop(column) for i in sorted(self.holders[column])}
        self.holders[column] = set()
        self.rows.remove(row)
        self.columns.remove(column)
        self.done += 1
        return upper, lower


def _at_samples(hierarchy: Hierarchy, samples: Sequence[Mapping[Expr, float]]) -> Callable[[Expr], float]:
    """Return the least size of an expression at the samples, or at random points."""
    random = Random(0)

    def sampled(symbol: Expr) -> NDArray[np.float64]:
        drawn = [random.uniform(0.5, 1.5) for _ in range(SAMPLES)]
        if any(symbol not in sample for sample in samples):
            raise UsageError(f"a sample has no value of '{symbol.value}'", "bad-samples")
        return np.array([sample[symbol] for sample in samples] or drawn)

    values = Memory(hierarchy, numpy_arithmetic(), float, sampled)

    def least(expr: Expr) -> float:
        with np.errstate(all="ignore"):
            return float(np.nan_to_num(np.min(np.abs(values(expr)))))

    return least


def _sign(permutation: Sequence[int]) -> int:
    """Return 1 if it is made of an even number of exchanges, else -1."""
    sign, seen = 1, set()
    for start in permutation:
        length, k = 0, start
        while k not in seen:
            seen.add(k)
            k, length = permutation[k], length + 1
        if length and length % 2 == 0:
            sign = -sign
    return sign
