"""What formulas are worth: the tree that is displayed is the one that is evaluated.

Values are matrices of numbers or, over the same formulas, of rational functions. They know the names of their rows and
columns, so that a product is labelled as its factors are. 0 and I take their size from what stands beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from linkwork.expressions.graph import constant
from linkwork.lecture.decompositions import pseudo_inverse
from linkwork.linalg.rank import RANK_TOLERANCE, decide_rank
from linkwork.writing import notation as n
from linkwork.writing.notation import Formula
from linkwork.writing.rational import ONE, ZERO, TooLong, rational, root

Entries: TypeAlias = NDArray[Any]
Axis: TypeAlias = tuple[tuple[Formula | None, str], ...]  # symbol and name of each row or column

Known = TypeVar("Known", bound=Formula)
Shape: TypeAlias = tuple[int | None, int | None]

UNIT, NOTHING = n.Symbol("I"), n.Number("0")
TRANSPOSED, INVERSE, INVERSE_TRANSPOSED = n.Symbol("T"), n.number(-1, None), -n.Symbol("T")
COMPARISONS = {"<": np.less, "<=": np.less_equal, "!=": np.not_equal}
FUNCTIONS: dict[str, Callable[..., Entries]] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "exp": np.exp, "log": np.log, "tanh": np.tanh, "abs": np.abs,
    "arcsin": np.arcsin, "arccos": np.arccos, "arctan": np.arctan, "sign": np.sign,
    "atan2": np.arctan2, "min": np.minimum, "max": np.maximum,
}  # fmt: skip
PLUS, INVERSE_ROOT = n.Number("+"), n.Number("-1/2")


class Unknown(Exception):
    """A name without a value."""


@dataclass(frozen=True)
class Value:
    """A matrix, of one column if it is a vector; an axis without names is empty."""

    entries: Entries
    rows: Axis = ()
    columns: Axis = ()

    @property
    def T(self) -> Value:
        return Value(self.entries.T, self.columns, self.rows)

    @property
    def is_exact(self) -> bool:
        return self.entries.dtype == object

    def exact(self) -> Value:
        """Evaluate exactly, over rational functions; those of numbers are constants."""
        if self.is_exact:
            return self
        entries = np.vectorize(lambda x: rational(constant(float(x))), otypes=[object])(self.entries)
        return Value(entries, self.rows, self.columns)

    @property
    def size(self) -> float:
        return float(np.max(np.abs(self.entries), initial=0.0))


def vector(x: Iterable[Any], rows: Axis = ()) -> Value:
    return Value(np.array([*x]).reshape(-1, 1), rows)


def named(names: Iterable[str]) -> Axis:
    return tuple((None, name) for name in names)


class Scope:
    """Names with their values; those that are not given are found from the `definitions`, which scopes may share.

    `ranks` holds what is known of matrices whose pseudo-inverse is taken; other ranks are decided on singular values.
    `sizes` are those of values that may be rounding altogether.
    """

    def __init__(
        self,
        given: Mapping[Formula, Value],
        definitions: Mapping[Formula, Formula],
        ranks: Mapping[Formula, int] | None = None,
        sizes: Mapping[Formula, float] | None = None,
    ) -> None:
        self.given = dict(given)
        self.definitions = definitions
        self.ranks = {} if ranks is None else ranks
        self.sizes = {} if sizes is None else sizes

    def find(self, values: Mapping[Known, Value]) -> None:
        self.given.update(dict(values.items()))

    def __call__(self, x: Formula) -> Value:
        """Return the value of a formula."""
        if x not in self.given and x in self.definitions:
            self.given[x] = self(self.definitions[x])
        if x in self.given:
            return self.given[x]
        match x:
            case n.Fence(inside, marks):
                return Value(np.abs(self(inside).entries)) if marks == "||" else self(inside)
            case n.Symbol("pi", ()):
                return Value(np.array([[np.pi]]))
            case n.Script(n.Symbol("e", ()) as e, above, None) if above is not None and e not in self.given:
                return Value(np.exp(self(above).entries))
            case n.Minus(inside):
                value = self(inside)
                return Value(-value.entries, value.rows, value.columns)
            case n.Sum(terms):
                return self._sum(terms)
            case n.Product(factors):
                return self._product(factors)
            case n.Script(base, above, None) if above is not None:
                return self._power(base, above)
            case n.Matrix(rows):
                return self._blocks(rows)
            case n.Number(digits, exponent):
                return Value(np.array([[float(digits) * 10.0**exponent]]))
            case n.Quotient(above, below):
                return Value(self(above).entries / self(below).entries)
            case n.Root(inside):
                return Value(np.sqrt(self(inside).entries))
            case n.Applied(n.Function(name), argument):
                inside = argument.inside if isinstance(argument, n.Fence) else argument
                items = inside.items if isinstance(inside, n.Listed) else (inside,)
                if name not in FUNCTIONS:
                    raise Unknown(x)
                return Value(FUNCTIONS[name](*(self(item).entries for item in items)))
            case n.Cases(condition, value, otherwise):
                return self(value) if self(condition).entries[0, 0] else self(otherwise)
            case n.Relation(sides, sign) if sign in COMPARISONS:
                return Value(COMPARISONS[sign](*(self(side).entries for side in sides)) * 1.0)
            case n.Applied(n.Script(function, n.Number(exponent)), argument):
                return Value(self(n.Applied(function, argument)).entries ** float(exponent))
        raise Unknown(x)

    def magnitude(self, x: Formula) -> float:
        """Return how large the entries would be if nothing cancelled: what rounding is measured by."""
        match x:
            case n.Fence(inside) | n.Minus(inside):
                return self.magnitude(inside)
            case n.Sum(terms):
                return sum(1.0 if term == UNIT else self.magnitude(term) for term in terms)
            case n.Product(factors):
                return float(np.prod([self.magnitude(factor) for factor in factors]))
            case n.Quotient(above, below):
                return self.magnitude(above) / self(below).size
            case n.Matrix(rows):
                return max(0.0 if cell in (UNIT, NOTHING) else self.magnitude(cell) for row in rows for cell in row)
        made = self.magnitude(self.definitions[x]) if x in self.definitions else 0.0
        return max(self(x).size, self.sizes.get(x, 0.0), made)

    def _sum(self, terms: tuple[Formula, ...]) -> Value:
        signs = [-1.0 if isinstance(term, n.Minus) else 1.0 for term in terms]
        bare = [term.inside if isinstance(term, n.Minus) else term for term in terms]
        values = [None if term == UNIT else self(term) for term in bare]
        first = next(value for value in values if value is not None)
        total = None
        for sign, value in zip(signs, values, strict=True):
            entries = _unit(len(first.entries), first.is_exact) if value is None else value.entries
            if entries.shape != first.entries.shape:
                raise ValueError(f"{entries.shape} and {first.entries.shape} cannot be added")
            signed = entries if sign > 0 else -entries
            total = signed if total is None else total + signed
        assert total is not None
        return Value(total, first.rows, first.columns)

    def _product(self, factors: tuple[Formula, ...]) -> Value:
        """Multiply from the right, so that vectors stay vectors and inverses are solutions."""
        shapes = [self._shape(factor) for factor in factors]
        found = self.like(factors[-1], (shapes[-2][1], None))
        for k in reversed(range(len(factors) - 1)):
            found = self._times(factors[k], found, (shapes[k - 1][1] if k else None, len(found.entries)))
        return found

    def _shape(self, factor: Formula) -> Shape:
        """Return the shape, which of blocks may not be known yet."""
        try:
            return self(factor).entries.shape
        except Unknown:
            return None, None

    def like(self, x: Formula, shape: Shape) -> Value:
        """Return the value of a formula that is 0, I or a matrix of blocks, of which some of the shape is known."""
        if x in (UNIT, NOTHING):
            return Value(_zero(shape, False) if x == NOTHING else _unit(shape[0], False))
        return self._blocks(x.rows, shape) if isinstance(x, n.Matrix) and x not in self.given else self(x)

    def _times(self, factor: Formula, right: Value, shape: Shape) -> Value:
        if isinstance(factor, n.Script) and factor.above == INVERSE and factor not in self.given:
            left = self(factor.base)
            if not left.is_exact and left.entries.shape[0] == right.entries.shape[0]:
                return Value(np.linalg.solve(left.entries, right.entries), left.columns, right.columns)
        left = self.like(factor, shape)
        if left.is_exact != right.is_exact:
            left, right = left.exact(), right.exact()
        if left.entries.shape == (1, 1) and len(right.entries) != 1:
            return Value(left.entries[0, 0] * right.entries, right.rows, right.columns)
        if right.entries.shape == (1, 1) and left.entries.shape[1] != 1:
            return Value(left.entries * right.entries[0, 0], left.rows, left.columns)
        if left.is_exact and not left.entries.shape[1]:
            raise TooLong
        return Value(left.entries @ right.entries, left.rows, right.columns)

    def _power(self, base: Formula, exponent: Formula) -> Value:
        value = self(base)
        if exponent == TRANSPOSED:
            return value.T
        if exponent in (INVERSE, INVERSE_TRANSPOSED):
            found = Value(_inverse(value.entries), value.columns, value.rows)
            return found if exponent == INVERSE else found.T
        if exponent == PLUS and not value.is_exact:
            rank = self.ranks.get(base.inside if isinstance(base, n.Fence) else base)
            if rank is None:
                singular = np.linalg.svd(value.entries, compute_uv=False)
                rank = decide_rank(singular, RANK_TOLERANCE).rank
            return Value(pseudo_inverse(value.entries, rank), value.columns, value.rows)
        if exponent == INVERSE_ROOT:
            return Value(_inverse_root(value.entries), value.rows, value.columns)
        if isinstance(exponent, n.Number) and exponent.digits.isdecimal():
            return Value(np.linalg.matrix_power(value.entries, int(exponent.digits)), value.rows, value.columns)
        if value.is_exact:
            raise TooLong
        return Value(value.entries ** self(exponent).entries)

    def _blocks(self, rows: tuple[tuple[Formula, ...], ...], shape: Shape = (None, None)) -> Value:
        """Return a matrix of blocks; 0 and I are as high as their row and as wide as their column, I also square."""
        cells = [[None if cell in (UNIT, NOTHING) else self(cell) for cell in row] for row in rows]
        known = [value for row in cells for value in row if value is not None]
        exact = any(value.is_exact for value in known)
        across = [*zip(*cells, strict=True)]
        heights = [next((len(value.entries) for value in row if value is not None), None) for row in cells]
        widths = [next((x.entries.shape[1] for x in column if x is not None), None) for column in across]
        for _ in range(2):
            for i, row in enumerate(rows):
                for j in (j for j, cell in enumerate(row) if cell == UNIT):
                    heights[i] = widths[j] if heights[i] is None else heights[i]
                    widths[j] = heights[i] if widths[j] is None else widths[j]
            for sizes, whole in zip((heights, widths), shape, strict=True):
                if whole is not None and sizes.count(None) == 1:
                    sizes[sizes.index(None)] = whole - sum(size for size in sizes if size is not None)
        if None in heights or None in widths:
            raise Unknown(n.Matrix(rows))
        lines = []
        for row, values, height in zip(rows, cells, heights, strict=True):
            line = []
            for cell, value, width in zip(row, values, widths, strict=True):
                filled = _unit(height, exact) if cell == UNIT else _zero((height, width), exact)
                line.append(filled if value is None else value.entries)
                if line[-1].shape != (height, width):
                    raise ValueError(f"a block of {line[-1].shape} does not fit {height} x {width}")
            lines.append(np.concatenate(line, axis=1))
        down = [next((value.rows for value in row if value is not None), ()) for row in cells]
        beside = [next((value.columns for value in column if value is not None), ()) for column in across]
        return Value(np.concatenate(lines), _joined(down, heights), _joined(beside, widths))


def _joined(axes: Iterable[Axis], sizes: Iterable[int | None]) -> Axis:
    """Return the names one after the other; of blocks without names, empty ones."""
    parts = [axis or ((None, ""),) * (size or 0) for axis, size in zip(axes, sizes, strict=True)]
    joined = tuple(name for part in parts for name in part)
    return joined if any(name != (None, "") for name in joined) else ()


def _zero(shape: Shape, exact: bool) -> Entries:
    return np.full(shape, ZERO, dtype=object) if exact else np.zeros(shape)  # type: ignore[arg-type]


def _unit(size: int | None, exact: bool) -> Entries:
    entries = _zero((size, size), exact)
    np.fill_diagonal(entries, ONE if exact else 1.0)
    return entries


def _diagonal(A: Entries, entry: Callable[[Any], Any]) -> Entries:
    """Return a diagonal matrix of rational functions with each entry replaced; of others nothing short is known."""
    if any(A[i, j] for i in range(len(A)) for j in range(len(A)) if i != j):
        raise TooLong
    made = _zero(A.shape, True)
    for k in range(len(A)):
        made[k, k] = entry(A[k, k])
    return made


def _inverse(A: Entries) -> Entries:
    if A.dtype != object:
        return np.asarray(np.linalg.inv(A))
    return _diagonal(A, lambda x: ONE / x)


def _inverse_root(A: Entries) -> Entries:
    if A.dtype == object:
        return _diagonal(A, lambda x: ONE / root(x))
    values, T = np.linalg.eigh(A)
    return np.asarray((T / np.sqrt(values)) @ T.T)
