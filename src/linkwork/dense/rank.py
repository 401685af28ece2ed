"""The rank of a matrix, decided on its singular values or pivots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RANK_TOLERANCE = 1e-9  # of the largest value: what is smaller counts as zero; rounding of scaled matrices is far below
CLEAR_GAP = 1e3  # a decision is clear if the values on its two sides differ by this factor, and so from the tolerance


@dataclass(frozen=True)
class Rank:
    """`rank` of the values, largest first, count; the others are taken for zero."""

    values: Array
    rank: int

    @classmethod
    def of(cls, values: Array, tolerance: float = RANK_TOLERANCE) -> Rank:
        return cls(values, int(np.sum(values > tolerance * values[0])) if len(values) else 0)

    @property
    def smallest(self) -> float:
        """The smallest value that counts."""
        return float(self.values[self.rank - 1]) if self.rank else 1.0

    @property
    def gap(self) -> float:
        """The last value that counts by the first that does not, which is at least rounding of the largest."""
        if self.rank in (0, len(self.values)):
            return np.inf
        return self.smallest / max(float(self.values[self.rank]), np.finfo(float).eps * float(self.values[0]))

    @property
    def uncertain(self) -> bool:
        near = self.rank > 0 and self.smallest < CLEAR_GAP * RANK_TOLERANCE * self.values[0]
        return self.gap < CLEAR_GAP or bool(near)
