"""Sparse matrices of expressions, by those of their entries that are not zero, and their products with vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkwork.expressions.graph import Expr

Entries = Mapping[tuple[int, int], Expr]


def transpose(A: Entries) -> dict[tuple[int, int], Expr]:
    return {(j, i): entry for (i, j), entry in A.items()}


def plus(y: Sequence[Expr], A: Entries, x: Sequence[Expr]) -> list[Expr]:
    """y + A x."""
    result = list(y)
    for (i, j), entry in A.items():
        result[i] = result[i] + entry * x[j]
    return result


def minus(y: Sequence[Expr], A: Entries, x: Sequence[Expr]) -> list[Expr]:
    """y - A x."""
    result = list(y)
    for (i, j), entry in A.items():
        result[i] = result[i] - entry * x[j]
    return result
