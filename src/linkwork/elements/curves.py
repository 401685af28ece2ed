"""Functions given by their values at some places, which formulas call by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import Expr, as_expr, constant, less, select, spline, symbol


def cubic_pieces(x: Sequence[float], y: Sequence[float]) -> tuple[tuple[float, ...], ...]:
    """Return coefficients of the not-a-knot cubic spline, the constant first; none if a slope is not finite."""
    from scipy.interpolate import CubicSpline

    with np.errstate(all="ignore"):
        try:
            curve = CubicSpline(x, y)
        except (ValueError, np.linalg.LinAlgError):
            return ()
    pieces = tuple(tuple(float(c) for c in piece[::-1]) for piece in curve.c.T)
    return pieces if np.all(np.isfinite(pieces)) else ()


@dataclass(frozen=True)
class Curve:
    """A function through (x, y), straight between these places or a cubic spline; beyond the ends it stays as there.

    f = y_k + s_k (u - x_k)  for x_k <= u < x_(k+1),    s_k the slope between

    Each comparison switches at its own place, so that a run finds every corner as it finds those of other laws. A sum
    of bends, (s_k - s_(k-1)) max(u - x_k, 0), would lose as many digits as the steepest slope is larger than f.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    interpolation: str = "linear"

    def fault(self) -> str | None:
        """Find what keeps it from being a function."""
        if len(self.x) != len(self.y):
            return f"{len(self.x)} values of x and {len(self.y)} of y"
        if len(self.x) < 2:
            return f"a table of {len(self.x)} rows; it needs two or more"
        if not np.all(np.isfinite([*self.x, *self.y])):
            return "a value that is not a finite number"
        if back := next(((a, b) for a, b in pairwise(self.x) if not a < b), None):
            return f"x does not rise from {back[0]:g} to {back[1]:g}"
        with np.errstate(all="ignore"):
            steep = not np.all(np.isfinite(np.diff(self.y) / np.diff(self.x)))
        return "a slope that is not finite" if steep or (self.is_smooth and not self.pieces) else None

    @property
    def is_smooth(self) -> bool:
        return self.interpolation == "spline"

    @property
    def pieces(self) -> tuple[tuple[float, ...], ...]:
        return cubic_pieces(self.x, self.y)

    def __call__(self, u: Expr) -> Expr:
        found = self.cubic(u) if self.is_smooth else self.line(u)
        return constant(float(evaluate([found], {})[0])) if u.is_constant else found

    def over_time(self) -> Expr:
        """Return the value at the time of a run, whose steps end at all places: any number of rows takes one search."""
        slopes = (np.diff(self.y) / np.diff(self.x)).tolist()
        lines = ((y, slope, 0.0, 0.0) for y, slope in zip(self.y, slopes, strict=False))
        span, (first, *_, last) = self.x[-1] - self.x[0], self.y
        pieces = ((first, 0.0, 0.0, 0.0), *(self.pieces if self.is_smooth else lines), (last, 0.0, 0.0, 0.0))
        return spline(symbol("t"), (self.x[0] - span, *self.x, self.x[-1] + span), pieces)

    def cubic(self, u: Expr) -> Expr:
        """Return a cubic whose slope at the ends is that within, so that a motion may begin and end there."""
        low, high = self.x[0], self.x[-1]
        return spline(select(less(u, low), low, select(less(high, u), high, u)), self.x, self.pieces)

    def line(self, u: Expr) -> Expr:
        found = as_expr(self.y[-1])
        slopes = (np.diff(self.y) / np.diff(self.x)).tolist()
        for x, end, y, slope in reversed([*zip(self.x, self.x[1:], self.y, slopes, strict=False)]):
            found = select(less(u, end), y + slope * (u - x), found)
        return select(less(u, self.x[0]), self.y[0], found)
