"""The equations of a small mechanism in symbols, reduced to its freedoms by elimination.

Every statement is compared with numbers at random values of all its symbols before anyone sees it; what cannot be
confirmed, or grows too long, is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.equations import Equations
from linkwork.equations.place import Place
from linkwork.expressions.derivatives import directional
from linkwork.expressions.graph import Expr
from linkwork.sequences.entries import dense
from linkwork.symbolic.lu import SAMPLES
from linkwork.tolerances import AGREEMENT, TYPED
from linkwork.writing.rational import ONE, ZERO, Rational, TooLong, atom, rational, root

Array = NDArray[np.floating[Any]]
Matrix: TypeAlias = list[list[Rational]]

MOST_COORDINATES = 12  # of a mechanism whose equations fit on a page


@dataclass(frozen=True)
class Numbers(Place):
    """A place with the solution of M a + Psi_q^T lam = Q, Psi_q a = gamma there."""

    @cached_property
    def Psi_t(self) -> Array:
        return self.find("Psi_t", self.equations.Psi_t)

    @cached_property
    def turning(self) -> tuple[Array, Array]:
        """The rates of Psi_q and of Psi_t along the motion."""
        e, m = self.equations, len(self.equations.Psi)
        rates = self.find("turning", directional([*e.Psi_q.values(), *e.Psi_t], e.motion))
        return dense(e.Psi_q, rates[: len(e.Psi_q)], (m, len(e.v))), rates[len(e.Psi_q) :]

    @cached_property
    def solution(self) -> tuple[Array, Array]:
        """a and lam; of dependent constraints those that miss them least."""
        n, m = len(self.Q), len(self.gamma)
        K = np.block([[self.M, self.Psi_q.T], [self.Psi_q, np.zeros((m, m))]])
        x = np.linalg.lstsq(K, np.concatenate([self.Q, self.gamma]), rcond=None)[0]
        return x[:n], x[n:]

    @cached_property
    def all_values(self) -> dict[Expr, float]:
        """The values with those of the accelerations."""
        return {**self.values, **dict(zip(self.equations.a, map(float, self.solution[0]), strict=True))}


def values_of(matrix: Matrix, values: Mapping[Expr, float]) -> Array:
    return np.array([[entry.value(values) for entry in row] for row in matrix], dtype=float)


def need(matrix: Matrix | None) -> Matrix:
    """Return a matrix on which another one is built."""
    if matrix is None:
        raise TooLong
    return matrix


def total(terms: Iterable[Rational]) -> Rational:
    return sum(terms, ZERO)


def product(A: Matrix, B: Matrix) -> Matrix:
    return [[total(a * b for a, b in zip(row, column, strict=True)) for column in zip(*B, strict=True)] for row in A]


def transpose(A: Matrix) -> Matrix:
    return [list(column) for column in zip(*A, strict=True)]


@dataclass(frozen=True)
class Reduction:
    """Freedoms by elimination: qdd = V p'' + S_gamma, where p are the independent coordinates.

    Psi_u^-1 = `inverse` for the dependent columns u and the rows used, V = (-Psi_u^-1 Psi_v; I),
    S_gamma = (Psi_u^-1 gamma; 0), M_hat p'' = Q_hat with M_hat = V^T M V and Q_hat = V^T (Q - M S_gamma).
    """

    dependent: tuple[int, ...]
    independent: tuple[int, ...]
    rows: tuple[int, ...]
    V: Matrix
    S_gamma: Matrix
    inverse: Matrix
    M_hat: Matrix | None
    Q_hat: Matrix | None


class Symbols:
    """M, Psi_q, Q and gamma of a mechanism as rational functions, and what follows from them."""

    def __init__(self, equations: Equations, values: Mapping[Expr, float]) -> None:
        self.equations = equations
        self.values = values
        self._reductions: dict[tuple[int, tuple[int, ...] | None], Reduction | None] = {}
        rng = np.random.default_rng(20040)
        e = equations
        self.samples = []
        for _ in range(SAMPLES):
            parameters = {p: float(rng.uniform(0.5, 1.5)) * (-1.0 if x < 0 else 1.0) for p, x in e.parameters.items()}
            q, v = (rng.uniform(-1.5, 1.5, len(nodes)) for nodes in (e.q, e.v))
            self.samples.append(Numbers(e.with_values(parameters), q, v, float(rng.uniform(0.1, 1.0))))

    def confirm(self, make: Callable[[], Matrix], expected: Callable[[Numbers], Array]) -> Matrix | None:
        """Confirm a matrix: it stays short and has the expected numbers at all samples, which can be reached."""
        if not all(sample.is_finite for sample in self.samples):
            return None
        try:
            matrix = make()
            agrees = all(close(values_of(matrix, sample.all_values), expected(sample)) for sample in self.samples)
        except (TooLong, ZeroDivisionError, np.linalg.LinAlgError):
            return None
        return matrix if agrees else None

    def _dense(self, entries: Mapping[tuple[int, int], Expr], rows: int) -> Matrix:
        columns = range(len(self.equations.v))
        return [[rational(entries[i, j]) if (i, j) in entries else ZERO for j in columns] for i in range(rows)]

    @cached_property
    def Psi_q(self) -> Matrix | None:
        e = self.equations
        return self.confirm(lambda: self._dense(e.Psi_q, len(e.Psi)), lambda x: x.Psi_q)

    @cached_property
    def M(self) -> Matrix | None:
        e = self.equations
        return self.confirm(lambda: self._dense(e.M, len(e.v)), lambda x: x.M)

    @cached_property
    def Psi(self) -> Matrix | None:
        return self.confirm(lambda: [[rational(x)] for x in self.equations.Psi], lambda x: x.Psi[:, None])

    @cached_property
    def Psi_t(self) -> Matrix | None:
        return self.confirm(lambda: [[rational(x)] for x in self.equations.Psi_t], lambda x: x.Psi_t[:, None])

    @cached_property
    def Q(self) -> Matrix | None:
        return self.confirm(lambda: [[rational(x)] for x in self.equations.Q], lambda x: x.Q[:, None])

    @cached_property
    def gamma(self) -> Matrix | None:
        return self.confirm(lambda: [[rational(x)] for x in self.equations.gamma], lambda x: x.gamma[:, None])

    def reduction(self, rank: int, dependent: Sequence[int] | None = None) -> Reduction | None:
        """Eliminate these dependent coordinates, or those that need the least algebra, and return what is left."""
        key = rank, None if dependent is None else tuple(dependent)
        if key not in self._reductions:
            self._reductions[key] = self._reduction(rank, dependent)
        return self._reductions[key]

    def _reduction(self, rank: int, dependent: Sequence[int] | None) -> Reduction | None:
        if not self.Psi_q:
            return None
        try:
            found = self._eliminate(rank, dependent)
        except (TooLong, ZeroDivisionError):
            return None
        return found if found is not None and all(self._holds(found, sample) for sample in self.samples) else None

    def _eliminate(self, rank: int, dependent: Sequence[int] | None) -> Reduction | None:
        M, Psi_q, Q, gamma = (need(matrix) for matrix in (self.M, self.Psi_q, self.Q, self.gamma))
        n, m = len(self.equations.v), len(Psi_q)
        unit = [[ONE if i == j else ZERO for j in range(m)] for i in range(m)]
        A = [[*row, *g, *one] for row, g, one in zip(Psi_q, gamma, unit, strict=True)]
        allowed = range(n) if dependent is None else dependent
        pivots: dict[int, int] = {}  # column: row
        for _ in range(rank):
            free = [
                (A[i][j].constant is None, A[i][j].terms, -j, i)
                for i in range(m)
                for j in allowed
                if i not in pivots.values() and j not in pivots and abs(A[i][j].value(self.values)) > TYPED
            ]
            if not free:
                return None
            *_, column, row = min(free)
            column = -column
            pivots[column] = row
            A[row] = [x / A[row][column] if x else x for x in A[row]]
            for i in range(m):
                if i != row and (factor := A[i][column]):
                    A[i] = [x - factor * y if y else x for x, y in zip(A[i], A[row], strict=True)]
        u = tuple(sorted(pivots))
        rows = tuple(sorted(pivots.values()))
        if any(x for i in range(m) if i not in rows for x in A[i][:n]):
            return None
        v = tuple(j for j in range(n) if j not in pivots)
        V = [[-A[pivots[i]][j] for j in v] if i in pivots else [ONE if i == j else ZERO for j in v] for i in range(n)]
        S_gamma = [[A[pivots[i]][n]] if i in pivots else [ZERO] for i in range(n)]
        inverse = [[A[pivots[j]][n + 1 + i] for i in rows] for j in u]
        try:
            rest = [[f[0] - x[0]] for f, x in zip(Q, product(M, S_gamma), strict=True)]
            M_hat, Q_hat = product(transpose(V), product(M, V)), product(transpose(V), rest)
        except TooLong:
            return Reduction(u, v, rows, V, S_gamma, inverse, None, None)
        return Reduction(u, v, rows, V, S_gamma, inverse, M_hat, Q_hat)

    def _holds(self, r: Reduction, x: Numbers) -> bool:
        """Check Psi_q V = 0, Psi_q S_gamma = gamma, and the accelerations of the reduced equation."""
        u, rows = list(r.dependent), list(r.rows)
        V = values_of(r.V, x.values).reshape(len(x.Q), -1)
        S_gamma = values_of(r.S_gamma, x.values)[:, 0]
        good = [
            close(x.Psi_q[rows] @ V, np.zeros((len(rows), V.shape[1]))),
            close(x.Psi_q[rows] @ S_gamma, x.gamma[rows]),
            close(values_of(r.inverse, x.values) @ x.Psi_q[np.ix_(rows, u)], np.eye(len(u))),
        ]
        if r.M_hat is not None and r.Q_hat is not None and V.shape[1]:
            M_hat, Q_hat = values_of(r.M_hat, x.values), values_of(r.Q_hat, x.values)[:, 0]
            good += [close(M_hat, V.T @ x.M @ V), close(Q_hat, V.T @ (x.Q - x.M @ S_gamma))]
        return all(good)

    def multipliers(self, r: Reduction) -> Matrix | None:
        """Return lam = Psi_u^-T (Q - M a)_u of independent rows in terms of the accelerations."""
        if len(r.rows) < len(self.equations.Psi):
            return None

        def make() -> Matrix:
            inertia = product(need(self.M), [[atom(x)] for x in self.equations.a])
            left = [[need(self.Q)[i][0] - inertia[i][0]] for i in r.dependent]
            return product(transpose(r.inverse), left)

        return self.confirm(make, lambda x: x.solution[1][:, None])

    def orthogonal(self, r: Reduction) -> Matrix | None:
        """Return S_gamma if it is orthogonal to V, which makes it the least solution Psi_q^+ gamma."""
        return self.confirm(lambda: r.S_gamma, lambda x: (np.linalg.pinv(x.Psi_q) @ x.gamma)[:, None])

    def triangle(self, order: Sequence[int]) -> Matrix | None:
        """Return R of the QR decomposition of the constraint rows in this order, as columns: R^T R = Psi_q Psi_q^T."""

        def make() -> Matrix:
            rows = [need(self.Psi_q)[i] for i in order]
            R = [[ZERO] * len(rows) for _ in rows]
            for i, row in enumerate(rows):
                for j in range(i, len(rows)):
                    rest = total(a * b for a, b in zip(row, rows[j], strict=True))
                    rest = rest - total(R[k][i] * R[k][j] for k in range(i))
                    R[i][j] = root(rest) if i == j else rest / R[i][i]
            return R

        def expected(x: Numbers) -> Array:
            A = x.Psi_q[list(order)]
            return np.asarray(np.linalg.cholesky(A @ A.T)).T

        return self.confirm(make, expected)

    def unit_basis(self, reduction: Reduction) -> Matrix | None:
        """Return V / |V| of a single freedom."""
        if len(reduction.independent) != 1:
            return None
        column = [row[0] for row in reduction.V]

        def make() -> Matrix:
            length = root(total(a * a for a in column))
            return [[a / length] for a in column]

        def expected(x: Numbers) -> Array:
            V = values_of(reduction.V, x.values)
            return np.asarray(V / np.linalg.norm(V))

        return self.confirm(make, expected)

    def projector(self, reduction: Reduction) -> Matrix | None:
        """Return E = I - Psi_q^+ Psi_q = V V^T / (V^T V) of a single freedom."""
        if len(reduction.independent) != 1 or len(reduction.V) > 6:
            return None
        column = [row[0] for row in reduction.V]

        def make() -> Matrix:
            square = total(a * a for a in column)
            return [[a * b / square for b in column] for a in column]

        return self.confirm(
            make, lambda x: np.eye(len(column)) - np.linalg.pinv(x.Psi_q) @ x.Psi_q
        )  # fmt: skip


def close(found: Array, expected: Array) -> bool:
    size = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    return found.size == expected.size and bool(
        np.max(np.abs(found.reshape(expected.shape) - expected), initial=0.0) <= AGREEMENT * size
    )
