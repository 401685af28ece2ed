"""Linear systems of a tree of links, without its full matrix.

Unknowns y_c = X y_p + H x of every link c, with p the link that carries it, are linear in the x of all links: y = B x.

    K = [ B^T M B  C^T  ]
        [ C        -eps ]        C = D B

is factorized with the y among the unknowns of one elimination, from the outermost links inwards: y_c is put in terms of
y_p and x, then x is eliminated. Where y are accelerations of bodies this is the articulated-body algorithm
[featherstone2008, chapter 7]; its work grows with the number of links alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from linkwork.expressions.evaluation import substitute
from linkwork.expressions.graph import ONE, ZERO, Expr
from linkwork.sequences.entries import Entries, plus, product, transpose
from linkwork.sequences.ldl import Factor

Matrix = dict[tuple[int, int], Expr]
ARTICULATED = 11  # operations of a link, by the square of the number of its y


@dataclass(frozen=True)
class Link:
    """y_c = X y_p + H x + zeta; rows and columns count all of y, columns of H all of x."""

    rows: range
    X: Matrix
    H: Matrix
    zeta: tuple[Expr, ...] = ()

    def substituted(self, known: Mapping[Expr, Expr]) -> Link:
        X, H, zeta = (substitute(x, known) for x in (self.X.values(), self.H.values(), self.zeta))
        return Link(self.rows, dict(zip(self.X, X, strict=True)), dict(zip(self.H, H, strict=True)), tuple(zeta))


@dataclass(frozen=True)
class Tree:
    """Links, those that carry others before them; `n_b` numbers y and `n` numbers x."""

    links: tuple[Link, ...]
    n_b: int
    n: int

    def spread(self, own: Sequence[Expr]) -> list[Expr]:
        """Return y_c = X y_p + own_c."""
        y = list(own)
        for link in self.links:
            for (i, j), entry in link.X.items():
                y[i] = y[i] + entry * y[j]
        return y

    def along(self, x: Sequence[Expr]) -> list[Expr]:
        """Return H x."""
        return plus([ZERO] * self.n_b, {at: entry for link in self.links for at, entry in link.H.items()}, x)

    def gather(self, force: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        """Return F_c = force_c + the X^T F of the links it carries, and H^T F = B^T force."""
        F, h = list(force), [ZERO] * self.n
        for link in reversed(self.links):
            for (i, j), entry in link.H.items():
                h[j] = h[j] + entry * F[i]
            for (i, j), entry in link.X.items():
                F[j] = F[j] + entry * F[i]
        return F, h

    def zeta(self) -> list[Expr]:
        zeta = [ZERO] * self.n_b
        for link in self.links:
            zeta[link.rows.start : link.rows.stop] = link.zeta
        return zeta

    def substituted(self, known: Mapping[Expr, Expr]) -> Tree:
        return Tree(tuple(link.substituted(known) for link in self.links), self.n_b, self.n)

    def B(self) -> list[dict[int, Expr]]:
        """Return B by its rows."""
        rows: list[dict[int, Expr]] = [{} for _ in range(self.n_b)]
        for link in self.links:
            for (i, j), entry in link.H.items():
                rows[i][j] = entry
            for (i, j), entry in link.X.items():
                for k, x in rows[j].items():
                    rows[i][k] = rows[i].get(k, ZERO) + entry * x
        return [{k: x for k, x in sorted(row.items()) if x is not ZERO} for row in rows]

    def entries(self) -> list[Expr]:
        """Return X and H of all links."""
        return [x for link in self.links for x in (*link.X.values(), *link.H.values())]

    def is_long(self) -> bool:
        """Tell whether `articulate` takes fewer operations than B^T M B and its factor, by numbers that fit both."""
        before: dict[int, int] = {}  # of a link, the x of those that carry it
        whole = inside = 0
        for link in self.links:
            above = next((j for _, j in link.X), None)
            size, own = len(link.rows) ** 2, len({j for _, j in link.H})
            d = 0 if above is None else before[above]
            before |= dict.fromkeys(link.rows, d + own)
            whole += size * (3 + d * own) + d * (d + 3)
            inside += ARTICULATED * size
        return whole > inside

    def project(self, M: Entries) -> Matrix:
        """Compute B^T M B by composite links: I_p <- I_p + X^T I_c X, and H^T I_c H [featherstone2008, chapter 6]."""
        composite: Matrix = dict(M)
        projected: Matrix = {}
        carrier = {i: link for link in self.links for i in link.rows}
        for link in reversed(self.links):
            own = {(i, j): x for i in link.rows for j in link.rows if (x := composite.get((i, j))) is not None}
            for (i, j), x in product(transpose(link.X), product(own, link.X)).items():
                composite[i, j] = composite.get((i, j), ZERO) + x
            force = product(own, link.H)
            at: Link | None = link
            while at is not None:
                for (i, j), x in product(transpose(at.H), force).items():
                    projected[i, j] = projected[j, i] = x
                force = product(transpose(at.X), force)
                at = carrier[next(iter(force))[0]] if force else None
        return dict(sorted(projected.items()))


class Chain(NamedTuple):
    """A tree with the matrix M of its y, and y as expressions."""

    tree: Tree
    M: Entries
    y: tuple[Expr, ...]


class Projected(Mapping[tuple[int, int], Expr]):
    """B^T M B, made when it is first looked at."""

    def __init__(self, tree: Tree, M: Entries) -> None:
        self.tree, self.M = tree, M

    @cached_property
    def _entries(self) -> Matrix:
        return self.tree.project(self.M)

    def __getitem__(self, key: tuple[int, int]) -> Expr:
        return self._entries[key]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


@dataclass(frozen=True)
class Stage:
    """A link in the elimination: what its y are in terms of other unknowns, and which unknowns are eliminated then."""

    rows: tuple[tuple[int, tuple[tuple[int, Expr], ...]], ...]
    pivots: tuple[int, ...]


@dataclass(frozen=True)
class Articulated:
    """The factor of K. Unknowns count x, then the multipliers of C, then y; the last stage has the multipliers."""

    size: int  # of x and multipliers
    stages: tuple[Stage, ...]
    columns: Mapping[int, tuple[tuple[int, Expr], ...]]
    reciprocals: Mapping[int, Expr]

    def _open(self) -> Iterator[Expr]:
        """Yield entries that are no constants, in one order."""
        yield from (x for x in self.reciprocals.values())
        yield from (x for column in self.columns.values() for _, x in column)
        yield from (x for stage in self.stages for _, row in stage.rows for _, x in row if not x.is_constant)

    def entries(self) -> list[Expr]:
        return list(self._open())

    def reciprocal(self, k: int) -> Expr:
        """Return the reciprocal of the pivot of unknown k."""
        return self.reciprocals[k]

    def with_entries(self, entries: Sequence[Expr]) -> Articulated:
        rest = iter(entries)
        reciprocals = {k: next(rest) for k in self.reciprocals}
        columns = {k: tuple((i, next(rest)) for i, _ in column) for k, column in self.columns.items()}
        stages = tuple(
            Stage(
                tuple((i, tuple((j, x if x.is_constant else next(rest)) for j, x in row)) for i, row in stage.rows),
                stage.pivots,
            )
            for stage in self.stages
        )
        return Articulated(self.size, stages, columns, reciprocals)

    def solve(self, right: Sequence[Expr]) -> list[Expr]:
        """Return x and multipliers with K (x, multipliers) = right."""
        y = dict(enumerate(right))
        for stage in self.stages:
            for i, row in stage.rows:
                if (own := y.pop(i, None)) is not None:
                    for j, x in row:
                        y[j] = y.get(j, ZERO) + x * own
            for k in stage.pivots:
                for i, x in self.columns[k]:
                    y[i] = y.get(i, ZERO) - x * y[k]
        for stage in reversed(self.stages):
            for k in reversed(stage.pivots):
                y[k] = y[k] * self.reciprocals[k]
                for i, x in self.columns[k]:
                    y[k] = y[k] - x * y[i]
            for i, row in stage.rows:
                y[i] = sum((x * y[j] for j, x in row), ZERO)
        return [y[k] for k in range(self.size)]


Solver: TypeAlias = Factor | Articulated


def articulate(tree: Tree, M: Entries, D: Entries, eps: Sequence[Expr]) -> Articulated:
    """Return the factor of K for the matrix M of y, which joins no two links, and the rows D, each with its eps."""
    n, size = tree.n, tree.n + len(eps)
    K: dict[int, dict[int, Expr]] = {}

    def add(i: int, j: int, x: Expr) -> None:
        if x is not ZERO:
            row = K.setdefault(i, {})
            row[j] = row.get(j, ZERO) + x
            K.setdefault(j, {})[i] = row[j]

    for (i, j), x in M.items():
        if i <= j:
            add(size + i, size + j, x)
    for (i, j), x in D.items():
        add(n + i, size + j, x)
    for k, x in enumerate(eps):
        add(n + k, n + k, -x)
    columns: dict[int, tuple[tuple[int, Expr], ...]] = {}
    reciprocals: dict[int, Expr] = {}

    def eliminate(k: int) -> None:
        row = K.pop(k, {})
        reciprocals[k] = ONE / row.pop(k, ZERO)
        around = sorted(row)
        columns[k] = tuple((i, row[i] * reciprocals[k]) for i in around)
        for i in around:
            del K[i][k]
        for a, (i, x) in enumerate(columns[k]):
            for j in around[: a + 1]:
                add(i, j, -x * row[j])

    stages = []
    for link in reversed(tree.links):
        T: dict[int, dict[int, Expr]] = {size + i: {} for i in link.rows}
        for (i, j), x in link.X.items():
            T[size + i][size + j] = x
        for (i, j), x in link.H.items():
            T[size + i][j] = x
        own = {i: K.pop(i, {}) for i in T}
        for i, row in own.items():
            for k in row:
                if k not in T:
                    del K[k][i]
        M_T: dict[int, dict[int, Expr]] = {i: {} for i in T}  # of the own entries
        for i, row in own.items():
            for k, x in row.items():
                for t, c in T[k].items() if k in T else ():
                    M_T[i][t] = M_T[i].get(t, ZERO) + x * c
        for i, row in own.items():
            for t, c in T[i].items():
                for k, x in M_T[i].items():
                    if k <= t:
                        add(t, k, c * x)
                for k, x in row.items():
                    if k not in T:
                        add(t, k, c * x)
        pivots = tuple(sorted({j for _, j in link.H}))
        for k in pivots:
            eliminate(k)
        stages.append(Stage(tuple((i, tuple(row.items())) for i, row in T.items()), pivots))
    for k in range(n, size):
        eliminate(k)
    stages.append(Stage((), tuple(range(n, size))))
    return Articulated(size, tuple(stages), columns, reciprocals)
