"""The sheet on which a formulation is worked out: what stands on it, without any markup, and how it is filled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.expressions.graph import Expr
from linkwork.lecture.symbolic import Matrix, close, values_of
from linkwork.lecture.values import NOTHING, UNIT, Known, Scope, Unknown, Value
from linkwork.model import Model
from linkwork.records import Printed
from linkwork.tolerances import ROUNDING
from linkwork.writing.notation import (
    DOTS,
    Applied,
    Fence,
    Formula,
    Function,
    Listed,
    Minus,
    Number,
    Relation,
    Symbol,
    diag,
    equal,
    number,
    together,
)
from linkwork.writing.notation import Matrix as Brackets
from linkwork.writing.rational import Rational, TooLong, formula

Array = NDArray[np.floating[Any]]

MOST_COLUMNS = 12  # of a matrix written in one piece
MOST_IN_BLOCKS = 24  # columns of a matrix written at all
MOST_ROWS = 48  # of a table
LONGEST_ENTRY = 17  # symbols and numbers in an entry of a matrix
LONGEST_ALONE = 40  # in a matrix of one column and in a vector
LONGEST_EQUATION = 60
LONG = "too long to be read"


@dataclass(frozen=True)
class Name:
    """What users call an element, a coordinate, a formulation."""

    text: str


Part: TypeAlias = str | Formula | Name
Sentence: TypeAlias = tuple[Part, ...]
Cells: TypeAlias = tuple[tuple[Formula, ...], ...]
Words: TypeAlias = Part | Sentence


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Paragraph:
    parts: Sentence


@dataclass(frozen=True)
class Equation:
    formula: Formula


@dataclass(frozen=True)
class Grid:
    """A matrix with names of its rows, and for its columns a symbol and a name each, or none."""

    symbol: Formula
    rows: tuple[str, ...]
    columns: tuple[tuple[Formula | None, str], ...]
    cells: tuple[tuple[Formula, ...], ...]


@dataclass(frozen=True)
class Table:
    header: Sentence
    rows: tuple[Sentence, ...]


Block: TypeAlias = Heading | Paragraph | Equation | Grid | Table


@dataclass(frozen=True)
class Statement:
    """An equation as displayed, and how far its sides differ, relative to their terms."""

    relation: Relation
    difference: float


@dataclass(frozen=True)
class Pose:
    """What a picture of the mechanism needs: positions of the bodies, and the letters of joints and forces."""

    model: Model
    q: Mapping[str, float]
    letters: Mapping[str, str]


@dataclass(frozen=True, repr=False)
class Worked(Printed):
    """The worked exercise, its result, and that of `augmented`; `equation` is the reduced equation in symbols."""

    title: str
    model: str
    formulation: str
    t: float
    v_names: tuple[str, ...]
    rows: tuple[str, ...]
    a: Array
    lam: Array
    other: str  # the formulation it is compared with, by compiled code
    other_a: Array
    other_lam: Array
    equation: Formula | None
    blocks: tuple[Block, ...]
    statements: tuple[Statement, ...] = ()
    pose: Pose | None = None

    def _repr_html_(self) -> str:
        from linkwork.view.worked import cell

        return cell(self)

    @property
    def difference(self) -> tuple[float, float]:
        """The largest difference to the other formulation in a and in lam, relative to the largest entry."""
        return _difference(self.a, self.other_a), _difference(self.lam, self.other_lam)

    def __str__(self) -> str:
        from linkwork.view.worked import text

        return text(self).rstrip()

    def save(self, path: str | Path) -> None:
        """Write the sheet, .html, .md, .tex or .txt."""
        from linkwork.view.worked import save

        save(self, path)


def _difference(x: Array, y: Array) -> float:
    return float(np.max(np.abs(x - y), initial=0.0) / max(1.0, np.max(np.abs(y), initial=0.0)))


def sentence(*words: Words) -> Sentence:
    """Return the parts with spaces between them, none before a comma or a point and none inside parentheses."""
    spaced: list[Part] = []
    for part in (part for some in words for part in (some if isinstance(some, tuple) else (some,))):
        tight = isinstance(part, str) and part.startswith((",", ".", ";", ":", ")"))
        if spaced and not tight and not (isinstance(spaced[-1], str) and spaced[-1].endswith("(")):
            spaced.append(" ")
        spaced.append(part)
    return tuple(spaced)


def names(texts: Iterable[str]) -> list[Name]:
    return [Name(text) for text in texts]


def listing(parts: Iterable[Part]) -> list[Part]:
    """Return the parts with commas between them."""
    return [piece for part in parts for piece in (",", part)][1:] or ["none"]


def numbers(A: Array, digits: int = 6, size: float = 0.0) -> tuple[tuple[Formula, ...], ...]:
    """Return the entries; what is rounding beside the largest of them, or beside `size`, is zero."""
    small = ROUNDING * max(size, np.max(np.abs(A), initial=0.0))
    return tuple(tuple(number(0.0 if abs(x) <= small else float(x), digits) for x in row) for row in A)


def spectrum(values: Array, most: int = MOST_COLUMNS) -> tuple[Formula, ...]:
    shown = [row[0] for row in numbers(values[:most, None], 4)]
    return (*shown, *([Symbol(DOTS)] if len(values) > most else []))


class Sheet:
    """The blocks so far, with the values of the names in them; what is shown is evaluated.

    `symbols` are the formulas of all symbols, in the order in which factors are written. `exact` has values as rational
    functions, `samples` has numbers at random states, which confirm what is shown of them.
    """

    def __init__(self, symbols: dict[Expr, Formula]) -> None:
        self.names = symbols
        self.inner: dict[Expr, Formula] = {}  # formulas of what stands in functions
        self.blocks: list[Block] = []
        self.relations: list[Relation] = []
        self.elsewhere: list[tuple[Scope, Relation]] = []
        self.written: list[tuple[Formula, Cells, Array, float]] = []  # in symbols, with numbers and their size
        self.bare: dict[Formula, None] = {}  # names displayed in numbers alone
        self.definitions: dict[Formula, Formula] = {}
        self.ranks: dict[Formula, int] = {}
        self.scope = Scope({}, self.definitions, self.ranks)
        self.entries = Scope({}, {})  # of the symbols in entries, which may be the same letters
        self.exact: Scope | None = None
        self.samples: list[tuple[Scope, Mapping[Expr, float]]] = []

    def head(self, text: str) -> None:
        self.blocks.append(Heading(text))

    def say(self, *words: Words) -> None:
        """Return a paragraph; equations in it are to hold."""
        self.blocks.append(Paragraph(parts := sentence(*words)))
        self.relations += [part for part in parts if isinstance(part, Relation)]

    def show(self, *equations: Formula) -> None:
        """Display equations that are to hold, on a line of their own."""
        self.blocks.append(Equation(equations[0] if len(equations) == 1 else together(*equations)))
        self.relations += [equation for equation in equations if isinstance(equation, Relation)]

    def show_formula(self, formula: Formula) -> None:
        """Return a formula that states nothing by itself."""
        self.blocks.append(Equation(formula))

    def show_in(self, scope: Scope, relation: Relation) -> None:
        """Return an equation that is to hold of other values."""
        self.blocks.append(Equation(relation))
        self.elsewhere.append((scope, relation))

    def forget(self, *names: Formula) -> None:
        """Hold what was said to the values of now, after which these names may mean something else."""
        now = Scope(self.scope.given, dict(self.definitions), self.ranks, self.scope.sizes)
        self.elsewhere += [(now, relation) for relation in self.relations]
        self.relations = []
        for name in names:
            self.scope.given.pop(name, None)

    def find(self, values: Mapping[Known, Value]) -> None:
        """Name what no formula gives: data, and factors of a decomposition."""
        self.scope.find(values)

    def let(self, name: Formula, formula: Formula, symbols: Matrix | None = None, rank: int | None = None) -> Array:
        """Define a name by its formula, show both and the value."""
        self.define(name, formula, rank)
        self.show(equal(name, formula))
        return self.display(name, symbols)

    def define(self, name: Formula, formula: Formula, rank: int | None = None) -> None:
        self.definitions[name] = formula
        if rank is not None:
            self.ranks[name] = rank

    def display(self, name: Formula, symbols: Matrix | None = None) -> Array:
        """Return the value of a formula, in symbols where that is short, then in numbers."""
        value, size = self.scope(name), self.scope.magnitude(name)
        A = np.asarray(value.entries, dtype=float)
        if symbols is None:
            symbols = self.in_symbols(name)
        if not A.size:
            return A
        if symbols is None:
            self.bare[name] = None
        if A.shape == (1, 1):
            shown = self.write(symbols[0][0]) if symbols else None
            in_numbers = numbers(A, size=size)[0][0]
            if shown is None or shown.size > LONGEST_ALONE or shown == in_numbers:
                self.blocks.append(Equation(equal(name, in_numbers)))
                if shown is not None and shown.size > LONGEST_ALONE:
                    self.say("In symbols this is too long to be read.")
            else:
                self.blocks.append(Equation(equal(name, shown, in_numbers)))
                self.written.append((name, ((shown,),), A, size))
        elif A.shape[1] == 1 and not value.columns:
            labels = [label for _, label in value.rows] or [str(k) for k in range(1, len(A) + 1)]
            self.vector(name, A[:, 0], labels, symbols, size)
        else:
            self.matrix(name, A, [label for _, label in value.rows], value.columns, symbols, size)
        return A

    def in_symbols(self, name: Formula) -> Matrix | None:
        """Return the value as rational functions, if it is short and has the right numbers at all samples."""
        if self.exact is None or not self.samples:
            return None
        try:
            found = self.exact(name).exact()
            made = [list(row) for row in found.entries]
            if not all(close(values_of(made, at), sample(name).entries) for sample, at in self.samples):
                return None
        except (Unknown, TooLong, ZeroDivisionError, np.linalg.LinAlgError):
            return None
        return made if made and made[0] else None

    def verify(self) -> tuple[Statement, ...]:
        """Return all equations that were shown, with how far their sides differ."""
        here = [(self.scope, relation) for relation in dict.fromkeys(self.relations)]
        stated = [_verified(scope, relation) for scope, relation in (*here, *self.elsewhere)]
        return (*stated, *(self._compared(*written) for written in self.written if self._can_read(written[1])))

    def _can_read(self, cells: Cells) -> bool:
        """Tell whether entries have values; tables of splines do not stand in them."""
        try:
            return all(self.entries(cell) is not None for row in cells for cell in row)
        except Unknown:
            return False

    def _compared(self, name: Formula, cells: Cells, A: Array, size: float) -> Statement:
        """Return a matrix as it is written in symbols, beside its numbers."""
        off = np.array([[self.entries(cell).entries[0, 0] for cell in row] for row in cells]) - A
        size = max(size, *(self.entries.magnitude(cell) for row in cells for cell in row)) or 1.0
        return Statement(equal(name, Brackets(cells)), float(np.max(np.abs(off))) / size)

    def table(self, header: Iterable[Part], rows: Sequence[Iterable[Part]]) -> None:
        """Return a table, of which the first rows are shown; `glossary` shows all."""
        self.glossary(header, rows[:MOST_ROWS])
        if len(rows) > MOST_ROWS:
            self.say(f"and {len(rows) - MOST_ROWS} more rows.")

    def glossary(self, header: Iterable[Part], rows: Sequence[Iterable[Part]]) -> None:
        """Add a table of the meanings of letters."""
        self.blocks.append(Table(tuple(header), tuple(tuple(row) for row in rows)))

    def matrix(
        self,
        symbol: Formula,
        A: Array,
        rows: Sequence[str] = (),
        columns: Sequence[tuple[Formula | None, str]] = (),
        symbols: Matrix | None = None,
        size: float = 0.0,
    ) -> None:
        """Display a matrix in symbols where that is short, then in numbers; a large one in blocks or in brief."""
        height, width = A.shape
        shown = numbers(A, size=size)
        if symbols and width <= MOST_COLUMNS and (cells := self.write_cells(symbols)) is not None:
            self.blocks.append(Grid(symbol, tuple(rows), tuple(columns), cells))
            self.written.append((symbol, cells, A, np.max(np.abs(A))))
            if cells == shown:
                return
            self.say("In numbers:")
        elif symbols and width <= MOST_COLUMNS:
            self.list_entries(symbol, A, rows, columns, symbols)
        if width > MOST_IN_BLOCKS or height > MOST_ROWS:
            filled = int(np.sum(np.abs(A) > ROUNDING * np.max(np.abs(A))))
            norm = number(float(np.linalg.norm(A)))
            entries = "entry that is" if filled == 1 else "entries that are"
            self.say(symbol, f"is {height} by {width} with {filled} {entries} not zero; its norm is", norm, ".")
            return
        for first in range(0, width, MOST_COLUMNS):
            last = min(first + MOST_COLUMNS, width)
            ends = number(first + 1), Symbol(DOTS), number(last)
            piece = symbol if width <= MOST_COLUMNS else Applied(symbol, Fence(Listed(ends), "[]"))
            cells = tuple(row[first:last] for row in shown)
            self.blocks.append(Grid(piece, tuple(rows), tuple(columns[first:last]), cells))

    def list_entries(
        self,
        symbol: Formula,
        A: Array,
        rows: Sequence[str],
        columns: Sequence[tuple[Formula | None, str]],
        symbols: Matrix,
    ) -> None:
        """List the entries of a matrix one below the other, where they are too long to stand side by side."""
        mirrored = A.shape[0] == A.shape[1] and np.array_equal(A, A.T)
        listed, kept = list[tuple[Part, ...]](), list[tuple[Formula, float]]()
        for (i, j), value in np.ndenumerate(A):
            if not symbols[i][j] or (mirrored and j > i):
                continue
            own, label = self.write(symbols[i][j]), columns[j][1] if columns else str(j + 1)
            is_short = own.size <= LONGEST_ALONE
            listed.append(
                (Name(f"{rows[i] if rows else i + 1}, {label}"), own if is_short else LONG, number(float(value)))
            )
            kept += [(own, float(value))] if is_short else []
        if not kept:
            self.say("Its entries in symbols are too long to be read; in numbers:")
            return
        half = "The lower half of the entries" if mirrored else "Its entries"
        self.say(f"{half} that are not zero, one below the other, since they are long:")
        self.table(("", symbol, "value"), listed)
        formulas, values = zip(*kept, strict=True)
        self.written.append((symbol, tuple((own,) for own in formulas), np.array([values]).T, np.max(np.abs(A))))
        self.say("In numbers:")

    def write(self, x: Rational) -> Formula:
        """Write a fraction in the symbols of the sheet."""
        return formula(x, self.names, self.inner)

    def write_cells(self, symbols: Matrix) -> tuple[tuple[Formula, ...], ...] | None:
        """Write the entries of a matrix in symbols, None if one of them is long."""
        cells = tuple(tuple(self.write(x) for x in row) for row in symbols)
        longest = LONGEST_ALONE if len(cells[0]) == 1 else LONGEST_ENTRY
        return None if any(cell.size > longest for row in cells for cell in row) else cells

    def vector(
        self, symbol: Formula, x: Array, labels: Iterable[str], symbols: Matrix | None = None, size: float = 0.0
    ) -> None:
        """Return a vector as a table: name, symbols where short, number."""
        formulas = [self.write(row[0]) for row in symbols or ()]
        values = [row[0] for row in numbers(x[:, None], size=size)]
        if any(f.size <= LONGEST_ALONE for f in formulas):
            shown = [f if f.size <= LONGEST_ALONE else LONG for f in formulas]
            short = [k for k, f in enumerate(formulas) if f.size <= LONGEST_ALONE]
            self.written.append((symbol, tuple((formulas[k],) for k in short), x[short, None], np.max(np.abs(x))))
            self.table(("", symbol, "value"), list(zip(names(labels), shown, values, strict=True)))
        else:
            self.table(("", symbol), list(zip(names(labels), values, strict=True)))
            if formulas:
                self.say("In symbols its entries are too long to be read.")


def _verified(scope: Scope, relation: Relation) -> Statement:
    """Return how far the sides of an equation differ; numbers among them must be the others as they are displayed."""
    difference = 0.0
    sides = [side for side in relation.sides if not _is_displayed(side)]
    for shown in (side for side in relation.sides if _is_displayed(side)):
        values = [scope(side).entries for side in sides]
        ways = [_displayed(A, digits) for A in values for digits in range(2, 11)]
        ways += [diag(*spectrum(A[:, 0])) for A in values if A.shape == (1, 1)]
        if values and shown not in ways:
            difference = 1.0
    for left, right in pairwise(sides):
        if isinstance(left, Brackets) or left in (UNIT, NOTHING):
            left, right = right, left
        x = scope(left).entries
        y = scope.like(right, x.shape).entries
        if x.shape != y.shape:
            raise ValueError(f"{x.shape} cannot equal {y.shape}")
        other = 0.0 if isinstance(right, Brackets) or right in (UNIT, NOTHING) else scope.magnitude(right)
        size = max(scope.magnitude(left), other, np.max(np.abs(y), initial=0.0)) or 1.0
        difference = max(difference, float(np.max(np.abs(x - y), initial=0.0)) / size)
    return Statement(relation, difference)


def _displayed(A: Array, digits: int) -> Formula:
    """Return numbers as they stand in a formula, those of a diagonal matrix by its diagonal."""
    if A.shape == (1, 1):
        return number(float(A[0, 0]), digits)
    diagonal = A.shape[0] == A.shape[1] and not np.any(A - np.diag(np.diag(A)))
    return diag(*spectrum(np.diag(A))) if diagonal else Brackets(numbers(A, digits))


def _is_displayed(x: Formula) -> bool:
    """Tell whether it is numbers as they are displayed, with few digits."""
    match x:
        case Number(digits, exponent):
            return digits != "0" or exponent != 0
        case Minus(inside) | Fence(inside):
            return _is_displayed(inside)
        case Brackets(rows):
            return all(_is_displayed(cell) or cell == NOTHING for row in rows for cell in row)
        case Applied(Function("diag")):
            return True
    return False
