"""The sheet on which a formulation is worked out: what stands on it, without any markup, and how it is filled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.expressions.graph import Expr
from linkwork.lecture.symbolic import Matrix
from linkwork.records import Printed
from linkwork.tolerances import ROUNDING
from linkwork.writing.notation import DOTS, Applied, Fence, Formula, Listed, Symbol, number, together
from linkwork.writing.notation import Matrix as Brackets
from linkwork.writing.rational import formula

Array = NDArray[np.floating[Any]]

MOST_COLUMNS = 12  # of a matrix written in one piece
MOST_IN_BLOCKS = 24  # columns of a matrix written at all
MOST_ROWS = 48  # of a table
LONGEST_ENTRY = 17  # symbols and numbers in an entry of a matrix
LONGEST_ALONE = 40  # in a matrix of one column and in a vector
LONGEST_EQUATION = 60


@dataclass(frozen=True)
class Name:
    """What users call an element, a coordinate, a formulation."""

    text: str


Part: TypeAlias = str | Formula | Name
Sentence: TypeAlias = tuple[Part, ...]
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
    augmented_a: Array
    augmented_lam: Array
    equation: Formula | None
    blocks: tuple[Block, ...]

    @property
    def difference(self) -> tuple[float, float]:
        """The largest difference to `augmented` in a and in lam, relative to the largest entry."""
        return _difference(self.a, self.augmented_a), _difference(self.lam, self.augmented_lam)

    def __str__(self) -> str:
        from linkwork.view.worked import text

        return text(self).rstrip()


def _difference(x: Array, y: Array) -> float:
    return float(np.max(np.abs(x - y), initial=0.0) / max(1.0, np.max(np.abs(y), initial=0.0)))


def sentence(*words: Words) -> Sentence:
    """The parts with spaces between them, none before a comma or a point and none inside parentheses."""
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
    """The parts with commas between them."""
    return [piece for part in parts for piece in (",", part)][1:] or ["none"]


def numbers(A: Array, digits: int = 6) -> tuple[tuple[Formula, ...], ...]:
    small = ROUNDING * np.max(np.abs(A), initial=0.0)
    return tuple(tuple(number(0.0 if abs(x) <= small else float(x), digits) for x in row) for row in A)


def bracket(A: Array) -> Formula:
    """A matrix inside a formula; of one entry just this."""
    return Brackets(numbers(A)) if A.size > 1 else number(float(A[0, 0]))


def spectrum(values: Array, most: int = MOST_COLUMNS) -> tuple[Formula, ...]:
    shown = [number(float(x), 4) for x in values[:most]]
    return (*shown, *([Symbol(DOTS)] if len(values) > most else []))


class Sheet:
    """The blocks so far; `symbols` are the formulas of all symbols, in the order in which factors are written."""

    def __init__(self, symbols: Mapping[Expr, Formula]) -> None:
        self.names = symbols
        self.blocks: list[Block] = []

    def head(self, text: str) -> None:
        self.blocks.append(Heading(text))

    def say(self, *words: Words) -> None:
        self.blocks.append(Paragraph(sentence(*words)))

    def show(self, *equations: Formula) -> None:
        self.blocks.append(Equation(equations[0] if len(equations) == 1 else together(*equations)))

    def table(self, header: Iterable[Part], rows: Sequence[Iterable[Part]]) -> None:
        self.blocks.append(Table(tuple(header), tuple(tuple(row) for row in rows[:MOST_ROWS])))
        if len(rows) > MOST_ROWS:
            self.say(f"and {len(rows) - MOST_ROWS} more rows.")

    def matrix(
        self,
        symbol: Formula,
        A: Array,
        rows: Sequence[str] = (),
        columns: Sequence[tuple[Formula | None, str]] = (),
        symbols: Matrix | None = None,
    ) -> None:
        """A matrix in symbols where that is short, then in numbers; a large one in blocks of columns or in brief."""
        height, width = A.shape
        shown = numbers(A)
        if symbols and width <= MOST_COLUMNS and (cells := self.write_cells(symbols)) is not None:
            self.blocks.append(Grid(symbol, tuple(rows), tuple(columns), cells))
            if cells == shown:
                return
            self.say("In numbers:")
        if width > MOST_IN_BLOCKS or height > MOST_ROWS:
            filled = int(np.sum(np.abs(A) > ROUNDING * np.max(np.abs(A))))
            size = number(float(np.linalg.norm(A)))
            entries = "entry that is" if filled == 1 else "entries that are"
            self.say(symbol, f"is {height} by {width} with {filled} {entries} not zero; its norm is", size, ".")
            return
        for first in range(0, width, MOST_COLUMNS):
            last = min(first + MOST_COLUMNS, width)
            ends = number(first + 1), Symbol(DOTS), number(last)
            piece = symbol if width <= MOST_COLUMNS else Applied(symbol, Fence(Listed(ends), "[]"))
            cells = tuple(row[first:last] for row in shown)
            self.blocks.append(Grid(piece, tuple(rows), tuple(columns[first:last]), cells))

    def write_cells(self, symbols: Matrix) -> tuple[tuple[Formula, ...], ...] | None:
        """The entries of a matrix in symbols, None if one of them is long."""
        cells = tuple(tuple(formula(x, self.names) for x in row) for row in symbols)
        longest = LONGEST_ALONE if len(cells[0]) == 1 else LONGEST_ENTRY
        return None if any(cell.size > longest for row in cells for cell in row) else cells

    def vector(self, symbol: Formula, x: Array, labels: Iterable[str], symbols: Matrix | None = None) -> None:
        """A vector as a table: name, symbols where short, number."""
        formulas = [formula(row[0], self.names) for row in symbols or ()]
        values = [row[0] for row in numbers(x[:, None])]
        if any(f.size <= LONGEST_ALONE for f in formulas):
            shown = [f if f.size <= LONGEST_ALONE else "too long to be read" for f in formulas]
            self.table(("", symbol, "value"), list(zip(names(labels), shown, values, strict=True)))
        else:
            self.table(("", symbol), list(zip(names(labels), values, strict=True)))
