"""Solutions of closure equations from many starts, each found solution being removed for the next search.

With the features F of a position (what tells two positions apart, free of full turns) a found solution with F_i becomes
a pole of eta = prod_i (1 / |F - F_i|^2 + 1), and Newton's step d of R becomes that of eta R by a factor alone:

    d / (1 - (grad eta . d) / eta),    grad eta / eta = - sum_i grad |F - F_i|^2 / (|F - F_i|^2 (1 + |F - F_i|^2))
                                                                                            [farrell2015]
Nothing proves that all solutions are found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]  # of real or complex numbers
# q -> residuals, their Jacobian, features, their Jacobian
Linearize: TypeAlias = Callable[[Array], tuple[Array, Array, Array, Array]]
Move: TypeAlias = Callable[[Array, Array], Array]

MAX_ITERATIONS = 60
SINGULAR = 1e-12  # of the largest singular value: what is below takes no part in a step
AT_POLE = 1e-20  # |F - F_i|^2 not below this: the step stays finite on a known solution
FARTHEST = 1e6  # by which deflation may lengthen a step; its reach is limited anyway


def newton(at: Linearize, move: Move, q: Array, reach: Array, found: list[Array], tolerance: float) -> Array | None:
    """A solution from q that is none of the found ones (given by features), None if there is none this way.

    Steps are those of least norm, no longer than `reach`. Once the residual is below the tolerance, they go on until
    it falls no more: what is returned is a solution to rounding.
    """
    best, least = None, tolerance
    for _ in range(MAX_ITERATIONS):
        R, J, F, F_q = at(q)
        if not (np.all(np.isfinite(R)) and np.all(np.isfinite(J))):
            return best
        gap = np.max(np.abs(R), initial=0.0)
        if best is not None and gap >= least:
            return best
        if gap < least:
            best, least = q, gap
        d = np.linalg.lstsq(J, -R, rcond=SINGULAR)[0]
        if best is None:
            away = sum(_pull(F - known, F_q @ d) for known in found)
            d = d / (1.0 - away) if abs(1.0 - away) > 1.0 / FARTHEST else FARTHEST * d
        q = move(q, d / max(1.0, float(np.max(np.abs(d) / reach, initial=0.0))))
    return best


def _pull(gap: Array, rate: Array) -> float:
    """(grad eta . d) / eta of one known solution, `rate` being the change of features along d."""
    square = max(float(gap @ gap), AT_POLE)
    return -2.0 * float(gap @ rate) / (square * (1.0 + square))


def search(at: Linearize, move: Move, starts: list[Array], reach: Array, tolerance: float, apart: float) -> list[Array]:
    """The different solutions reached from the starts."""
    solutions: list[Array] = []
    features: list[Array] = []
    for start in starts:
        while (q := newton(at, move, start, reach, features, tolerance)) is not None:
            F = at(q)[2]
            if any(np.max(np.abs(F - known)) < apart for known in features):
                break
            solutions.append(q)
            features.append(F)
    return solutions
