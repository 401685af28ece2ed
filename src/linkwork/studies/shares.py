"""Which parameter a result is scattered by, from any samples."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def share_of(x: Array, y: Array) -> float:
    """Return the part of the variance of y that x alone explains, Sobol's index of first order, Var(E(y | x))/Var(y).

    With y put in the order of x, E(y | x) is what varies slowly: the first harmonics, here of its cosine transform.
    What they would have of a y that x has no part in is taken off.                               [plischke2010]
    """
    from scipy.fft import dct

    n, harmonics = len(y), round(math.cbrt(len(y)))
    squares = dct(y[np.argsort(x, kind="stable")] - y.mean(), norm="ortho")[1:] ** 2
    if n < 2 * harmonics or not squares.sum() > 0.0:
        return 0.0
    left = squares[harmonics:].sum() / squares.sum()
    return max(0.0, float(1.0 - left * (n - 1) / (n - 1 - harmonics)))
