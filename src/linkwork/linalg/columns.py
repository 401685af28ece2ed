"""Rows four columns at a time, each one vector of the processor.

A loop that starts at a column that is no multiple of four also changes the up to three columns before it, and every
caller keeps nothing there.
"""

from __future__ import annotations

from linkwork.native.kernels import Pointer, add_four, offset


def add_columns(y: Pointer, s: float, x: Pointer, start: int, stop: int) -> None:
    """Compute y += s x."""
    for j in range(start - start % 4, stop, 4):
        add_four(offset(y, j), s, offset(x, j))


def add_two_columns(y: Pointer, s: float, x: Pointer, r: float, z: Pointer, start: int, stop: int) -> None:
    """Compute y += s x + r z."""
    for j in range(start - start % 4, stop, 4):
        add_four(offset(y, j), s, offset(x, j))
        add_four(offset(y, j), r, offset(z, j))


def rotate(x: Pointer, y: Pointer, c: float, s: float, stop: int) -> None:
    """Compute (x, y) := (c x - s y, s x + c y)."""
    for j in range(0, stop, 4):
        x0 = c * x[j] - s * y[j]
        x1 = c * x[j + 1] - s * y[j + 1]
        x2 = c * x[j + 2] - s * y[j + 2]
        x3 = c * x[j + 3] - s * y[j + 3]
        y0 = s * x[j] + c * y[j]
        y1 = s * x[j + 1] + c * y[j + 1]
        y2 = s * x[j + 2] + c * y[j + 2]
        y3 = s * x[j + 3] + c * y[j + 3]
        x[j] = x0
        x[j + 1] = x1
        x[j + 2] = x2
        x[j + 3] = x3
        y[j] = y0
        y[j + 1] = y1
        y[j + 2] = y2
        y[j + 3] = y3


def find_largest(x: Pointer, start: int, stop: int) -> float:
    """Find the largest absolute value."""
    largest = largest_1 = largest_2 = largest_3 = 0.0
    for j in range(start - start % 4, stop, 4):
        largest = max(largest, abs(float(x[j])))
        largest_1 = max(largest_1, abs(float(x[j + 1])))
        largest_2 = max(largest_2, abs(float(x[j + 2])))
        largest_3 = max(largest_3, abs(float(x[j + 3])))
    return max(max(largest, largest_1), max(largest_2, largest_3))
