"""Vectors as pointers to doubles."""

from __future__ import annotations

from linkwork.native.kernels import Pointer

SUBNORMAL = 1e-100  # smaller numbers, times each other, leave the normal doubles


def dot(x: Pointer, y: Pointer, start: int, stop: int) -> float:
    """Sum of x[i] y[i], start <= i < stop; four partial sums because one would wait for itself."""
    s0 = s1 = s2 = s3 = 0.0
    last = stop - (stop - start) % 4
    for i in range(start, last, 4):
        s0 += x[i] * y[i]
        s1 += x[i + 1] * y[i + 1]
        s2 += x[i + 2] * y[i + 2]
        s3 += x[i + 3] * y[i + 3]
    for i in range(last, stop):
        s0 += x[i] * y[i]
    return (s0 + s1) + (s2 + s3)


def add(y: Pointer, s: float, x: Pointer, start: int, stop: int) -> None:
    """Compute y[i] += s x[i], start <= i < stop."""
    for i in range(start, stop):
        y[i] += s * x[i]


def subtract_from(x: Pointer, y: Pointer, count: int) -> None:
    """Compute y := x - y."""
    for i in range(count):
        y[i] = x[i] - y[i]


def fill(x: Pointer, value: float, count: int) -> None:
    for i in range(count):
        x[i] = value


def clear(x: Pointer, start: int, stop: int) -> None:
    for i in range(start, stop):
        x[i] = 0.0


def clear_undefined(x: Pointer, count: int) -> None:
    """Make zero what is no number, or infinite, as the derivative of 1/cosh(x) for a large x."""
    for i in range(count):
        x[i] = x[i] if x[i] - x[i] == 0.0 else 0.0


def clear_negligible(x: Pointer, count: int) -> None:
    """Make zero what corrections have brought near to it.

    They would go on, down to numbers on which processors take tens of times as long.
    """
    for i in range(count):
        x[i] = 0.0 if abs(x[i]) < SUBNORMAL else x[i]


def copy(x: Pointer, y: Pointer, count: int) -> None:
    """Compute y := x."""
    for i in range(count):
        y[i] = x[i]


def largest(x: Pointer, count: int) -> float:
    """Return max |x[i]|, NaN if one of them is."""
    result = total = 0.0
    for i in range(count):
        size = abs(x[i])
        total += size
        result = size if size > result else result
    return result if total == total else total


def largest_scaled(x: Pointer, reciprocal: Pointer, count: int) -> float:
    """Return max |x[i] reciprocal[i]|, NaN if one of them is."""
    result = total = 0.0
    for i in range(count):
        size = abs(x[i] * reciprocal[i])
        total += size
        result = size if size > result else result
    return result if total == total else total


def largest_of(x: Pointer, by: Pointer, count: int) -> float:
    """Return max |x[i] / by[i]|, none of them NaN; by products, since a division takes as long as several."""
    result = 0.0
    for i in range(count):
        if abs(x[i]) > result * by[i]:
            result = abs(x[i] / by[i])
    return result


def is_finite(x: Pointer, count: int) -> bool:
    """Tell whether no x[i] is infinite or NaN."""
    total = 0.0
    for i in range(count):
        total += x[i] - x[i]
    return total == 0.0


def swap(x: Pointer, i: int, j: int) -> None:
    x_i = x[i]
    x[i] = x[j]
    x[j] = x_i


def swap_rows(x: Pointer, y: Pointer, count: int) -> None:
    for i in range(count):
        x_i = x[i]
        x[i] = y[i]
        y[i] = x_i


def permute(x: Pointer, pivots: Pointer, count: int, y: Pointer) -> None:
    """Compute y := P^T x, y[k] = x[pivots[k]]."""
    for k in range(count):
        y[k] = x[int(pivots[k])]


def permute_back(x: Pointer, pivots: Pointer, count: int, y: Pointer) -> None:
    """Compute y := P x, y[pivots[k]] = x[k]."""
    for k in range(count):
        y[int(pivots[k])] = x[k]


def sort_descending(x: Pointer, start: int, stop: int) -> None:
    for i in range(start + 1, stop):
        value = x[i]
        j = i
        while j > start and x[j - 1] < value:
            x[j] = x[j - 1]
            j -= 1
        x[j] = value
