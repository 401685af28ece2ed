"""The rank decision on the eigenvalues of Psi_q^T Psi_q, which are squares of singular values."""

from __future__ import annotations

import math

from linkwork.dense.matrices import EPSILON, sort_descending
from linkwork.native.kernels import Pointer


def rank_of_squares(values: Pointer, n: int, tolerance: float, spectrum: Pointer) -> int:
    """Set the eigenvalues that count as zero to zero; the number of the others. `spectrum` gets all their roots.

    Zero is what is at most tolerance^2, but not less than n eps (the rounding of the product), times the largest.
    """
    for i in range(n):
        spectrum[i] = math.sqrt(max(values[i], 0.0))
    sort_descending(spectrum, 0, n)
    smallest = max(tolerance, math.sqrt(n * EPSILON)) * spectrum[0]
    rank = 0
    for i in range(n):
        if values[i] > smallest * smallest:
            rank += 1
        else:
            values[i] = 0.0
    return rank
