"""Sparse matrices of expressions, by those of their entries that are not zero, and their products."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Array
from linkwork.expressions.graph import ZERO, Expr

Entries = Mapping[tuple[int, int], Expr]


def dense(A: Iterable[tuple[int, int]], values: ArrayLike, shape: tuple[int, int]) -> Array:
    """Return a full matrix with these values in the places of the entries."""
    matrix, places = np.zeros(shape), list(A)
    if places:
        matrix[tuple(np.array(places).T)] = values
    return matrix


def transpose(A: Entries) -> dict[tuple[int, int], Expr]:
    return {(j, i): entry for (i, j), entry in A.items()}


def product(A: Entries, B: Entries) -> dict[tuple[int, int], Expr]:
    """Return A B."""
    rows: dict[int, list[tuple[int, Expr]]] = {}
    for (i, j), y in B.items():
        rows.setdefault(i, []).append((j, y))
    found: dict[tuple[int, int], Expr] = {}
    for (i, k), x in A.items():
        for j, y in rows.get(k, ()):
            found[i, j] = found.get((i, j), ZERO) + x * y
    return {at: x for at, x in found.items() if x is not ZERO}


def plus(y: Sequence[Expr], A: Entries, x: Sequence[Expr]) -> list[Expr]:
    """Return y + A x."""
    result = list(y)
    for (i, j), entry in A.items():
        result[i] = result[i] + entry * x[j]
    return result


def minus(y: Sequence[Expr], A: Entries, x: Sequence[Expr]) -> list[Expr]:
    """Return y - A x."""
    result = list(y)
    for (i, j), entry in A.items():
        result[i] = result[i] - entry * x[j]
    return result
