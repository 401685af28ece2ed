"""Newton's iteration, for kernels as for Python: corrections that rounding ends, not a tolerance.

Those of implicit integrators stand with them: they end by the tolerance of a step and judge it by their rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from linkwork.linalg.rank import RANK_TOLERANCE, check_finite

Array: TypeAlias = NDArray[Any]  # of real or complex numbers
Point: TypeAlias = tuple[Array, ...]  # x, residuals R, their Jacobian J, and what else is known there
Linearize: TypeAlias = Callable[[Array], tuple[Array, ...]]  # x -> the rest of such a point
Move: TypeAlias = Callable[[Array, Array], Array]
At = TypeVar("At")
X = TypeVar("X")

INF = math.inf
MAX_ITERATIONS = 60  # of Newton's iteration: it halves the residual at least until it converges, 2^-52 in all


def iterate(
    at: At,
    correct: Callable[[At, X, int], tuple[X, float]],
    x: X,
    left: float,
    most: int,
    enough: float,
    accepted: float,
) -> tuple[X, float]:
    """Return the best x that up to `most` corrections lead to, and what it leaves of its equations.

    correct(at, x, k) gives the k-th corrected x and what that leaves, NaN if there is no way on; `left` is what the
    first x leaves, INF if any correction is better. It ends at `enough`, and once what is left is `accepted`, with a
    correction that does not halve it. Before, it may grow for a while, unless `accepted` is INF.
    """
    best, least = x, left
    for k in range(most):
        if least <= enough:
            break
        x, left = correct(at, x, k)
        falls = left < 0.5 * least
        if left <= least:
            best, least = x, left
        if not falls and (least <= accepted or not left < INF):
            break
    return best, least


def newton(
    linearize: Linearize,
    move: Move,
    x: Array,
    tolerance: float,
    reach: Array | float = INF,
    lengthen: Callable[[Point, Array], Array] | None = None,
) -> tuple[Point, float]:
    """Return the point to which steps of least norm, none beyond `reach`, lead from x, and its largest residual.

    Below the tolerance it is a solution to rounding; only above are steps lengthened.
    """

    def look(x: Array) -> tuple[Point, float]:
        R, J, *rest = linearize(x)
        is_finite = np.all(np.isfinite(R)) and np.all(np.isfinite(J))
        return (x, R, J, *rest), float(np.max(np.abs(R), initial=0.0)) if is_finite else math.nan

    def correct(_: None, at: Point, k: int) -> tuple[Point, float]:
        d = solve_least_squares(at[2], -at[1])
        if lengthen is not None and not np.max(np.abs(at[1]), initial=0.0) < tolerance:
            d = lengthen(at, d)
        return look(move(at[0], d / max(1.0, float(np.max(np.abs(d) / reach, initial=0.0)))))

    start, left = look(x)
    return iterate(None, correct, start, left, MAX_ITERATIONS, 0.0, tolerance) if left < INF else (start, left)


def solve_least_squares(A: Array, b: Array, tolerance: float = RANK_TOLERANCE) -> Array:
    """Return the least x of those with the least |A x - b|."""
    check_finite(A, b)
    return np.asarray(np.linalg.lstsq(A, b, rcond=tolerance)[0])
