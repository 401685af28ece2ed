"""Structural analysis of systems of differential-algebraic equations by their signature matrix [pryce2001].

    F_i(t, x_1, x_1', ..., x_n, ...) = 0,    sigma_ij = order of the highest derivative of x_j in F_i, or -infinity

A transversal of largest sum gives offsets c_i, the least numbers with d_j - c_i >= sigma_ij and equality along it: F_i
is differentiated c_i times, and the equations so obtained determine x_j up to its derivative of order d_j. This holds
if the Jacobian J_ij = dF_i / d x_j^(d_j - c_i) is regular; that J is not singular identically is decided by
signatures, never by its pattern alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import ModelError, UsageError
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import Expr, symbol
from linkwork.sequences.sequence import check_expressions
from linkwork.symbolic.lu import lu
from linkwork.symbolic.signature import Signature

ABSENT = -(10**6)  # stands for -infinity in the assignment


def rate_of(x: Expr, order: int = 1) -> Expr:
    """Return the symbol of a derivative of x: x_d, x_dd, ..."""
    return symbol(f"{x.value}_{'d' * order}") if order else x


@dataclass(frozen=True)
class Structure:
    """Signature matrix, offsets and what follows from them."""

    sigma: NDArray[np.int64]  # ABSENT where a variable does not occur
    transversal: tuple[int, ...]  # of each equation, its variable
    c: tuple[int, ...]
    d: tuple[int, ...]
    rank: int  # of the system Jacobian J
    dependent: tuple[int, ...]  # equations without a pivot in J

    @property
    def regular(self) -> bool:
        """Return whether the analysis succeeds: where it does not, index and freedoms say nothing."""
        return self.rank == len(self.c)

    @property
    def index(self) -> int:
        """The structural index, max c_i, and one more if some x_j is found without any derivative of it."""
        return max(self.c) + (min(self.d) == 0)

    @property
    def freedoms(self) -> int:
        """How many values can be prescribed at the start: sum d_j - sum c_i."""
        return sum(self.d) - sum(self.c)


def analyse(F: Sequence[Expr], x: Sequence[Expr], names: Sequence[str] = ()) -> Structure:
    """Return the structure of F = 0 in the unknowns x, whose derivatives are the symbols that `rate_of` gives.

    ModelError where no transversal exists, so that some equations cannot determine as many unknowns; `names` are those
    of the equations.
    """
    from scipy.optimize import linear_sum_assignment

    check_expressions("equations", F)
    check_unknowns(x)
    if names and len(names) != len(F):
        raise UsageError(f"{len(F)} equations have {len(names)} names", "bad-names")
    names = [*names] or [f"equation {i + 1}" for i in range(len(F))]
    if len(F) != len(x) or not F:
        raise ModelError(f"{len(F)} equations for {len(x)} unknowns", "structure-not-square")
    sigma = signature_matrix(F, x)
    rows, columns = linear_sum_assignment(sigma, maximize=True)
    if np.any(sigma[rows, columns] == ABSENT):
        raise _deficient(sigma != ABSENT, names, [str(s.value) for s in x])
    c = np.zeros(len(F), dtype=np.int64)
    while True:  # the least offsets: from zero upwards, as far as each forces another
        d = np.max(sigma + c[:, None], axis=0)
        raised = d[columns] - sigma[rows, columns]
        if np.array_equal(raised, c):
            break
        c = raised
    J = system_jacobian(F, x, c.tolist(), d.tolist())
    factors = lu(J, len(F))
    dependent = tuple(i for i in range(len(F)) if i not in factors.rows)
    return Structure(sigma, tuple(columns.tolist()), tuple(c.tolist()), tuple(d.tolist()), factors.rank, dependent)


def check_unknowns(x: Sequence[Expr]) -> None:
    """Raise UsageError unless these are symbols, each once, and none of them the rate of another."""
    check_expressions("unknowns", x)
    for own, times in Counter(x).items():
        if own.op != "symbol":
            raise UsageError(f"'{own!r}' is not a symbol and cannot be an unknown", "bad-unknowns")
        if times > 1:
            raise UsageError(f"'{own.value}' is twice among the unknowns", "bad-unknowns")
        base, rate = _taken_apart(own)
        if rate and any(base == other.value for other in x):
            raise UsageError(f"'{own.value}' is a rate of '{base}' and cannot be an unknown beside it", "bad-unknowns")


def _taken_apart(s: Expr) -> tuple[str, int]:
    """Return the name of which a symbol is a derivative, and its order."""
    base, _, rate = str(s.value).rpartition("_")
    return (base, len(rate)) if {*rate} == {"d"} else (str(s.value), 0)


def signature_matrix(F: Sequence[Expr], x: Sequence[Expr]) -> NDArray[np.int64]:
    """Return orders of the highest derivatives on which the equations truly depend."""
    zero = Signature()
    sigma = np.full((len(F), len(x)), ABSENT, dtype=np.int64)
    occurring = derivatives_in(F, x)
    places = list(occurring.values())
    for (i, k), slope in jacobian(F, list(occurring)).items():
        j, order = places[k]
        if order > sigma[i, j] and not zero.is_zero(slope):
            sigma[i, j] = order
    return sigma


def derivatives_in(F: Sequence[Expr], x: Sequence[Expr]) -> dict[Expr, tuple[int, int]]:
    """Find the unknowns and their derivatives in F, each with the number of its unknown and its order."""
    own = {str(s.value): j for j, s in enumerate(x)}
    occurring: dict[Expr, tuple[int, int]] = {}
    for node in ordered(F):
        base, order = _taken_apart(node)
        if node.op == "symbol" and node in x:
            occurring[node] = own[str(node.value)], 0
        elif node.op == "symbol" and base in own:
            occurring[node] = own[base], order
    return occurring


def system_jacobian(
    F: Sequence[Expr], x: Sequence[Expr], c: Sequence[int], d: Sequence[int]
) -> dict[tuple[int, int], Expr]:
    """Return J_ij = dF_i / d x_j^(d_j - c_i)."""
    J: dict[tuple[int, int], Expr] = {}
    for lift in sorted({*c}):
        rows = [i for i, own in enumerate(c) if own == lift]
        columns = [j for j, most in enumerate(d) if most >= lift]
        slopes = jacobian([F[i] for i in rows], [rate_of(x[j], d[j] - lift) for j in columns])
        J |= {(rows[i], columns[j]): slope for (i, j), slope in slopes.items()}
    return J


def _deficient(occurs: NDArray[np.bool_], names: Sequence[str], unknowns: Sequence[str]) -> ModelError:
    """Find equations with fewer unknowns than equations, beginning with one that cannot be matched."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    column_of = maximum_bipartite_matching(csr_array(occurs), perm_type="column")
    row_of = {int(column): row for row, column in enumerate(column_of) if column >= 0}
    too_many = {int(np.flatnonzero(column_of < 0)[0])}
    waiting = [*too_many]
    for row in waiting:
        for column in np.flatnonzero(occurs[row]).tolist():
            other = row_of.get(column)
            if other is not None and other not in too_many:
                too_many.add(other)
                waiting.append(other)
    held = sorted({unknowns[j] for i in too_many for j in np.flatnonzero(occurs[i]).tolist()})
    shown = ", ".join(names[i] for i in sorted(too_many))
    message = f"structurally singular: {len(too_many)} equations ({shown}) hold only {len(held)} unknowns"
    return ModelError(f"{message} ({', '.join(held)})" if held else message, "structure-singular")
