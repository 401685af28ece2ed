"""A proof by computation that there is exactly one solution near a numerical one.

With a square system R(q) = 0, its Jacobian J over a box q + [-rho, rho] and any matrix Y, the inequality

    |Y R(q)| + |1 - Y J(box)| rho < rho        in every component

says that the box holds exactly one zero of R [krawczyk1969]. R(q) and the columns of J(box), which are the slopes of R
along one coordinate each, are enclosed from the expressions and the parameters of the model, which count as exact.
Where R jumps within the box, a slope has no bound and nothing is proved.

Rounding: enclosures are widened by eight units in the last place. Assumed is that functions of the C library, which no
standard bounds, err by less, and that no product of two numbers falls below the range of doubles. Matrix products are
of doubles, and bounded by (n + 3) eps |Y| |J|.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from linkwork.arrays import Array
from linkwork.expressions.enclosures import arithmetic, of_constant
from linkwork.expressions.evaluation import evaluate, ordered
from linkwork.expressions.graph import Expr
from linkwork.tolerances import EPSILON, NEGLIGIBLE

RADII = (1e-9, 1e-7, 1e-11)  # of the unit of each coordinate, tried in turn


def is_certified(R: Sequence[Expr], q: Sequence[Expr], values: Mapping[Expr, float], at: Array, units: Array) -> bool:
    """Return whether a box around `at` is proved to hold exactly one zero of R.

    `units` are the scales of the coordinates.
    """
    n = len(q)
    if len(R) != n:
        return False
    known = {s: of_constant(x) for s, x in values.items()}
    points = {s: of_constant(float(x)) for s, x in zip(q, at, strict=True)}
    low, high = np.array(evaluate(R, {**known, **points}, arithmetic(), of_constant))[:, :2].T
    if not np.all(np.isfinite([low, high])):
        return False
    R_middle, R_radius = _middle_and_radius(low, high)
    parts = [{*ordered([row])} for row in R]
    for rho in (radius * units for radius in RADII):
        ends = zip(np.nextafter(at - rho, -np.inf).tolist(), np.nextafter(at + rho, np.inf).tolist(), strict=True)
        boxes = {s: [a, b, 0.0, 0.0] for s, (a, b) in zip(q, ends, strict=True)}
        lo, hi = np.zeros((2, n, n))
        for j, s in enumerate(q):
            rows = [i for i in range(n) if s in parts[i]]
            along = {**known, **boxes, s: [*boxes[s][:2], 1.0, 1.0]}
            for i, bounds in zip(rows, evaluate([R[i] for i in rows], along, arithmetic(), of_constant), strict=True):
                lo[i, j], hi[i, j] = bounds[2:]
        if not np.all(np.isfinite([lo, hi])):
            continue
        J_middle, J_radius = _middle_and_radius(lo, hi)
        try:
            Y = np.linalg.inv(J_middle)
        except np.linalg.LinAlgError:
            return False
        rounding = (n + 3) * EPSILON
        size = np.abs(Y)
        shift = np.abs(Y @ R_middle) + size @ (R_radius + rounding * np.abs(R_middle))
        contraction = np.abs(np.eye(n) - Y @ J_middle) + size @ (J_radius + rounding * np.abs(J_middle))
        # what is added up here is not negative: NEGLIGIBLE covers its rounding
        if np.all((shift + contraction @ rho) * (1.0 + NEGLIGIBLE) < rho):
            return True
    return False


def _middle_and_radius(lo: Array, hi: Array) -> tuple[Array, Array]:
    middle = 0.5 * (lo + hi)
    return middle, np.nextafter(np.maximum(hi - middle, middle - lo), np.inf)
