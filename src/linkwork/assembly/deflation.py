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

from linkwork.linalg.newton import Array, Move, Point, newton
from linkwork.tolerances import NEGLIGIBLE, TYPED

# q -> residuals, their Jacobian, features, their Jacobian
Linearize: TypeAlias = Callable[[Array], tuple[Array, Array, Array, Array]]


def _pull(gap: Array, rate: Array) -> float:
    """Return (grad eta . d) / eta of one known solution, `rate` being the change of features along d."""
    square = max(float(gap @ gap), NEGLIGIBLE**2)  # finite on a known solution
    return -2.0 * float(gap @ rate) / (square * (1.0 + square))


class Search:
    """The different `solutions` reached from the starts until now."""

    def __init__(self, at: Linearize, move: Move, reach: Array, tolerance: float, apart: float) -> None:
        self.at, self.move, self.reach, self.tolerance, self.apart = at, move, reach, tolerance, apart
        self.solutions: list[Array] = []
        self.features: list[Array] = []

    def go_on(self, start: Array) -> bool:
        """Tell whether one more start leads to something new; if so, once more from there."""
        before = len(self.solutions)
        while True:
            (q, _, _, F, _), left = newton(self.at, self.move, start, self.tolerance, self.reach, self._lengthen)
            if not left < self.tolerance or any(np.max(np.abs(F - known)) < self.apart for known in self.features):
                return len(self.solutions) > before
            self.solutions.append(q)
            self.features.append(F)

    def _lengthen(self, point: Point, d: Array) -> Array:
        F, F_q = point[3:]
        rest = 1.0 - sum(_pull(F - known, F_q @ d) for known in self.features)
        return d / (rest if abs(rest) > TYPED else TYPED)  # its reach is limited anyway
