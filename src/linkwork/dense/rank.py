"""The rank of a matrix, decided on values such as singular values or pivots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.dense.vectors import EPSILON
from linkwork.errors import NumericalStop

# A value counts as zero when it is at most this fraction of the largest: far above the rounding of a Jacobian computed
# from coordinates and far below what a mechanism's lengths make, so that what lies near it is neither.
RANK_TOLERANCE = 1e-9
# The last value kept should be this much larger than the first one dropped, and than the tolerance: a matrix a
# thousandth off could not turn the decision.
CLEAR_GAP = 1e3


def check_finite(*matrices: NDArray[np.float64]) -> None:
    """NumericalStop before a decomposition of what is not finite: LAPACK prints its own text there, or fails."""
    if not all(np.all(np.isfinite(matrix)) for matrix in matrices):
        message = (
            "the equations have no finite values: masses, lengths or times are too large, too small or too far apart"
        )
        raise NumericalStop(message, "not-finite")


@dataclass(frozen=True)
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
    """The number of values, largest first, above `tolerance` times the largest."""
    values = np.asarray(values, dtype=float)
    return Rank(values, int(np.sum(values > tolerance * np.max(values, initial=0.0))))
