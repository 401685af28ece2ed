"""Decompositions of small dense matrices as they are taught, with what decides the rank beside them.

Where the choice of a pivot is a tie the first is taken, whatever rounding says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.linalg.rank import RANK_TOLERANCE
from linkwork.tolerances import AGREEMENT

Array = NDArray[np.floating[Any]]


def pseudo_inverse(A: Array, rank: int) -> Array:
    W, values, U_T = np.linalg.svd(A, full_matrices=False)
    return np.asarray(U_T[:rank].T @ (W[:, :rank] / values[:rank]).T)


def upright(V: Array) -> Array:
    """Return the columns with the sign that makes their largest entry positive: signs of a basis are free."""
    if not V.size:
        return V
    largest = V[np.argmax(np.abs(V) > (1 - AGREEMENT) * np.max(np.abs(V), axis=0), axis=0), np.arange(V.shape[1])]
    return np.asarray(V * np.where(largest < 0, -1.0, 1.0))


def _first_largest(values: Array) -> int:
    return int(np.argmax(values >= (1.0 - AGREEMENT) * np.max(values)))


def complete_pivots(A: Array) -> tuple[list[int], list[int], Array]:
    """Return columns and rows of the pivots of elimination with complete pivoting, and the pivots."""
    rest = A.copy()
    rows: list[int] = []
    columns: list[int] = []
    pivots = np.zeros(min(A.shape))
    for k in range(len(pivots)):
        i, j = divmod(_first_largest(np.abs(rest).ravel()), A.shape[1])
        pivots[k] = abs(rest[i, j])
        if pivots[k] <= RANK_TOLERANCE * pivots[0]:
            break
        rows.append(i)
        columns.append(j)
        rest -= np.outer(rest[:, j] / rest[i, j], rest[i])
        rest[i], rest[:, j] = 0.0, 0.0
    return columns, rows, pivots


def pivoted_rows(A: Array) -> tuple[list[int], Array]:
    """Find the order in which QR with column pivoting takes the rows, always the longest of what is left, and
    these lengths."""
    rest = A.copy()
    order: list[int] = []
    basis = np.zeros((0, A.shape[1]))
    lengths = np.zeros(min(A.shape))
    for k in range(len(lengths)):
        left = np.linalg.norm(rest, axis=1)
        left[order] = 0.0
        i = _first_largest(left)
        lengths[k] = left[i]
        if lengths[k] <= RANK_TOLERANCE * lengths[0]:
            break
        order.append(i)
        basis = np.vstack([basis, rest[i] / left[i]])
        rest = rest - (rest @ basis.T) @ basis
    return [*order, *(i for i in range(len(A)) if i not in order)], lengths


def positive_qr(A: Array) -> tuple[Array, Array]:
    """Return Q R = A with Q square and a positive diagonal of R."""
    Q, R = np.linalg.qr(A, mode="complete")
    k = min(A.shape)
    signs = np.ones(len(A))
    signs[:k] = np.where(np.diag(R)[:k] < 0.0, -1.0, 1.0)
    return Q * signs, signs[:, None] * R


def stepping_rows(A: Array) -> tuple[list[int], Array]:
    """Return the rows that do not depend on those before them, and the lengths of what each row adds."""
    largest = np.max(np.linalg.norm(A, axis=1), initial=0.0)
    basis = np.zeros((0, A.shape[1]))
    steps, lengths = [], np.zeros(len(A))
    for i, row in enumerate(A):
        rest = row - basis.T @ (basis @ row)
        rest = rest - basis.T @ (basis @ rest)
        lengths[i] = np.linalg.norm(rest)
        if lengths[i] > RANK_TOLERANCE * largest:
            steps.append(i)
            basis = np.vstack([basis, rest / lengths[i]])
    return steps, lengths
