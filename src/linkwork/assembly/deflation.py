"""Solutions of closure equations from many starts, each found solution being removed for the next search.

With the features F of a position (what tells two positions apart, free of full turns) a found solution with F_i becomes
a pole of eta = prod_i (1 / |F - F_i|^2 + 1), and Newton's step d of R becomes that of eta R by a factor alone:

    d / (1 - (grad eta . d) / eta),    grad eta / eta = - sum_i grad |F - F_i|^2 / (|F - F_i|^2 (1 + |F - F_i|^2))
                                                                                            [farrell2015]
Nothing proves that all solutions are found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# q -> residuals, their Jacobian, features, their Jacobian
Linearized: TypeAlias = Callable[[Array], tuple[Array, Array, Array, Array]]
Moved: TypeAlias = Callable[[Array, Array], Array]

MAX_ITERATIONS = 60


def newton(at: Linearized, moved: Moved, q: Array, reach: Array, found: list[Array], tolerance: float) -> Array | None:
    """A solution from q that is none of the found ones (given by features), None if there is none this way."""
    for _ in range(MAX_ITERATIONS):
        R, J, F, F_q = at(q)
        if not (np.all(np.isfinite(R)) and np.all(np.isfinite(J))):
            return None
        if np.max(np.abs(R), initial=0.0) < tolerance:
            return q
        d: Array = np.asarray(np.linalg.lstsq(J, -R, rcond=1e-12)[0], dtype=float)
        away = 0.0
        for known in found:
            gap = F - known
            square = max(float(gap @ gap), 1e-20)
            away -= 2.0 * float(gap @ (F_q @ d)) / (square * (1.0 + square))
        factor = 1.0 / (1.0 - away) if abs(1.0 - away) > 1e-6 else 1e6
        d = factor * d
        q = moved(q, d / max(1.0, float(np.max(np.abs(d) / reach))))
    return None


def search(
    at: Linearized, moved: Moved, starts: list[Array], reach: Array, tolerance: float, apart: float
) -> list[Array]:
    """The different solutions reached from the starts."""
    solutions: list[Array] = []
    features: list[Array] = []
    for start in starts:
        while (q := newton(at, moved, start, reach, features, tolerance)) is not None:
            F = at(q)[2]
            if any(np.max(np.abs(F - known)) < apart for known in features):
                break
            solutions.append(q)
            features.append(F)
    return solutions
