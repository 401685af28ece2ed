"""The rank of a matrix, decided on values such as singular values or pivots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.errors import NumericalStop
from linkwork.tolerances import EPSILON

Pattern: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]  # rows and columns of entries
Matrix: TypeAlias = NDArray[Any]  # of real or complex numbers

# A value counts as zero when it is at most this fraction of the largest: far above the rounding of a Jacobian computed
# from coordinates and far below what a mechanism's lengths make, so that what lies near it is neither.
RANK_TOLERANCE = 1e-9
TINY, HUGE = float(np.finfo(float).tiny), float(np.finfo(float).max)
# The last value kept should be this much larger than the first one dropped, and than the tolerance: a matrix a
# thousandth off could not turn the decision.
CLEAR_GAP = 1e3
FEW = 400  # rows, of which all singular values take no time worth saving
MOST = 3000  # rows, of which singular values of the full matrix take a minute and vectors a gigabyte
NARROW = 10  # of the rows: a band wider than this part of them saves little


def check_finite(*matrices: Matrix) -> None:
    """Raise NumericalStop before a decomposition of what is not finite: LAPACK prints its own text there, or fails."""
    if not all(np.isfinite(matrix).all() for matrix in matrices):
        message = (
            "the equations have no finite values: masses, lengths or times are too large, too small or too far apart"
        )
        raise NumericalStop(message, "not-finite")


def svd(A: Matrix, full_matrices: bool = True) -> tuple[Matrix, NDArray[np.float64], Matrix]:
    """Return U, sigma and V* of A = U diag(sigma) V*."""
    check_finite(A)
    U, values, V = np.linalg.svd(A, full_matrices=full_matrices)
    return U, values, V


@dataclass(frozen=True, eq=False)
class Rank:
    """A rank and the values it was decided on, largest first: `rank` kept ones, then those dropped.

    A method that stops at the first value it drops leaves the others zero.
    """

    values: NDArray[np.float64]
    rank: int

    @property
    def smallest(self) -> float:
        """The smallest value kept, 1 if there is none."""
        return float(self.values[self.rank - 1]) if self.rank else 1.0

    @property
    def gap(self) -> float:
        """The last value kept by the first one dropped, which is at least rounding of the largest."""
        if self.rank == 0:
            return float("inf")
        dropped = self.values[self.rank] if self.rank < len(self.values) else 0.0
        return float(self.smallest / max(dropped, EPSILON * self.values[0]))

    @property
    def uncertain(self) -> bool:
        near = self.rank > 0 and self.smallest < CLEAR_GAP * RANK_TOLERANCE * self.values[0]
        return self.gap < CLEAR_GAP or bool(near)

    def __str__(self) -> str:
        values = ", ".join(f"{value:.3g}" for value in self.values)
        certainty = "rank uncertain" if self.uncertain else "rank"
        return f"{certainty}: {self.rank}, gap {self.gap:.2g} in {values}"


def decide_rank(values: ArrayLike, tolerance: float = RANK_TOLERANCE) -> Rank:
    """Return the number of values, largest first, above `tolerance` times the largest."""
    values = np.asarray(values, dtype=float)
    sizes = values.tolist()
    least = tolerance * max(sizes, default=0.0)
    return Rank(values, sum(size > least for size in sizes))


def rank_of(*blocks: NDArray[np.float64]) -> Rank:
    """Return the rank of the rows of all blocks, each measured by its largest entry: their units differ."""
    check_finite(*blocks)
    return decide_rank(singular_values(np.vstack([x / max(np.max(np.abs(x), initial=0.0), TINY) for x in blocks])))


def row_sizes(J: Matrix, least: float = 0.0) -> NDArray[np.float64]:
    """Return the lengths of the rows, none below `least` of the longest; squares of entries may overflow."""
    largest = np.maximum(np.max(np.abs(J), axis=1, initial=0.0), TINY)
    sizes = np.minimum(largest * np.linalg.norm(J / largest[:, None], axis=1), HUGE)
    return np.asarray(np.maximum(sizes, max(least * np.max(sizes, initial=0.0), TINY)))


def null_space(J: Matrix, tolerance: float = RANK_TOLERANCE) -> Matrix:
    """Return orthonormal rows z with J z* = 0, the rows of J being brought to unit length but for those that are
    rounding.
    """
    check_finite(J)
    _, values, V = np.linalg.svd(J / row_sizes(J, tolerance)[:, None])
    return np.asarray(V[int(np.sum(values > tolerance)) :])


def sparse(entries: NDArray[np.float64], pattern: Pattern, shape: tuple[int, int]) -> Any:
    """Return the matrix with these entries at these rows and columns."""
    from scipy.sparse import csr_array

    return csr_array((entries, pattern), shape=shape)


def singular_values(J: Any) -> NDArray[np.float64]:
    """Compute singular values, largest first; of many short rows by the eigenvalues of J J^T as a band if that will do.

    The root of an eigenvalue has an error of EPSILON sigma_1^2/sigma, so that values near the tolerance are not seen;
    only if all are far above is it used.
    """
    if J.shape[0] > FEW:
        from scipy.linalg import eigvals_banded
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        rows = csr_array(J)
        check_finite(rows.data)
        square = csr_array(rows @ rows.T)
        order = reverse_cuthill_mckee(square, symmetric_mode=True)
        part = square[order][:, order].tocoo()
        below = part.row >= part.col
        i, j = part.row[below], part.col[below]
        width, squares = int(np.max(i - j)) + 1, np.zeros(1)
        if width < J.shape[0] // NARROW:
            band = np.zeros((width, J.shape[0]))
            band[i - j, j] = part.data[below]
            squares = eigvals_banded(band, lower=True)[::-1]
        if squares[-1] > (CLEAR_GAP * RANK_TOLERANCE) ** 2 * squares[0]:
            return np.asarray(np.sqrt(squares))
        if J.shape[0] > MOST:
            message = (
                f"of {J.shape[0]} constraint rows some depend on others, or nearly, which is looked into for at most "
                f"{MOST}; leave out joints that repeat others, or choose joint coordinates, which have fewer rows"
            )
            raise NumericalStop(message, "too-large")
        J = rows.toarray()
    check_finite(J)
    return np.asarray(np.linalg.svd(J, compute_uv=False))


def left_by_others(entries: NDArray[np.float64], pattern: Pattern, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return 1/diag((J J^T)^-1) of rows J that are independent: the square of what of each row the others do not
    contain.
    """
    if shape[0] <= FEW:
        full = np.zeros(shape)
        full[pattern] = entries
        R = np.linalg.qr(full.T, mode="r")
        try:
            inverse = np.linalg.inv(R)
        except np.linalg.LinAlgError:  # rows that depend on others in this very place
            inverse = np.linalg.pinv(R)
        return np.asarray(1.0 / np.sum(inverse**2, axis=1))
    from scipy.sparse.linalg import splu

    J = sparse(entries, pattern, shape)
    solve, left = splu((J @ J.T).tocsc()).solve, np.zeros(shape[0])
    for first in range(0, shape[0], FEW):
        columns = np.arange(first, min(first + FEW, shape[0]))
        unit = np.zeros((shape[0], len(columns)))
        unit[columns, np.arange(len(columns))] = 1.0
        left[columns] = 1.0 / solve(unit)[columns, np.arange(len(columns))]
    return left
