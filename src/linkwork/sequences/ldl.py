"""LDL^T of a sparse symmetric quasi-definite matrix as a computation sequence.

    K = [ M      Psi_q^T  ]
        [ Psi_q  -eps     ]        M > 0, eps > 0

is quasi-definite, so that P K P^T = L D L^T exists for every order P [vanderbei1995]: the order is chosen once, for
least fill-in, and the factorization is a fixed list of scalar operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from linkwork.expressions.graph import ONE, ZERO, Expr
from linkwork.sequences.ordering import elimination_order


@dataclass(frozen=True, eq=False)
class Factor:
    """The columns of L below the diagonal and the reciprocal pivots, in order of elimination."""

    order: tuple[int, ...]
    columns: tuple[tuple[tuple[int, Expr], ...], ...]
    reciprocals: tuple[Expr, ...]

    def entries(self) -> list[Expr]:
        """Return everything a solution needs, as one list."""
        return [*self.reciprocals, *(entry for column in self.columns for _, entry in column)]

    def reciprocal(self, k: int) -> Expr:
        """Return the reciprocal of the pivot of unknown k."""
        return self.reciprocals[self.order.index(k)]

    def with_entries(self, entries: Sequence[Expr]) -> Factor:
        """Return the same pattern with other entries (symbols that stand for a factor computed elsewhere)."""
        rest = iter(entries[len(self.order) :])
        columns = tuple(tuple((i, next(rest)) for i, _ in column) for column in self.columns)
        return Factor(self.order, columns, tuple(entries[: len(self.order)]))

    def solve(self, right: Sequence[Expr]) -> list[Expr]:
        """Return x with K x = right."""
        x = list(right)
        for k, column in zip(self.order, self.columns, strict=True):
            for i, entry in column:
                x[i] = x[i] - entry * x[k]
        for k, column, reciprocal in zip(
            reversed(self.order), reversed(self.columns), reversed(self.reciprocals), strict=True
        ):
            x[k] = x[k] * reciprocal
            for i, entry in column:
                x[k] = x[k] - entry * x[i]
        return x


def factorize(
    size: int,
    lower: Mapping[tuple[int, int], Expr],
    after: Sequence[int] = (),
    groups: Iterable[Sequence[int]] = (),
) -> Factor:
    """Factor LDL^T of the symmetric matrix given by its entries (i, j), i >= j, in the order of `elimination_order`."""
    order = elimination_order(size, lower, after, groups)
    matrix: list[dict[int, Expr]] = [{} for _ in range(size)]
    for (i, j), entry in lower.items():
        matrix[i][j] = matrix[j][i] = entry
    columns, reciprocals = [], []
    position = {k: rank for rank, k in enumerate(order)}
    for k in order:
        row = matrix[k]
        reciprocal = ONE / row.pop(k)
        around = sorted(row, key=position.__getitem__)
        column = []
        for a, i in enumerate(around):
            del matrix[i][k]
            multiplier = row[i] * reciprocal
            column.append((i, multiplier))
            for j in around[: a + 1]:
                changed = matrix[i].get(j, ZERO) - multiplier * row[j]
                matrix[i][j] = matrix[j][i] = changed
        columns.append(tuple(column))
        reciprocals.append(reciprocal)
    return Factor(tuple(order), tuple(columns), tuple(reciprocals))
