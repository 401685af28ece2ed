"""Hierarchies of veiled expressions, which keep what is written down small however large it is written out.

A hierarchy is a list of symbols W1, W2, ... with definitions, each in terms of inputs and of symbols before it
[zhou2007, section 4; corless1997].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from linkwork.expressions.evaluation import ordered, substitute
from linkwork.expressions.graph import Expr, symbol
from linkwork.sequences.sequence import ComputationSequence


def size_of(expr: Expr) -> int:
    """Symbols and numbers in the expression as it is written, without sharing."""
    sizes: dict[Expr, int] = {}
    for node in ordered([expr]):
        sizes[node] = max(1, sum(sizes[a] for a in node.args))
    return sizes[expr]


class Hierarchy:
    """Symbols `letter`1, `letter`2, ... that stand for expressions larger than `largest`."""

    def __init__(self, letter: str = "W", largest: int = 1) -> None:
        self.letter = letter
        self.largest = largest
        self._definitions: dict[Expr, Expr] = {}
        self._symbols: dict[Expr, Expr] = {}

    @property
    def definitions(self) -> Mapping[Expr, Expr]:
        """What each symbol stands for, in order."""
        return MappingProxyType(self._definitions)

    @property
    def last_used(self) -> int:
        """The number of the last symbol; 0 while there is none."""
        return len(self._definitions)

    def veil(self, expr: Expr, largest: int | None = None) -> Expr:
        """A symbol in the place of the expression, or the expression itself if it is not larger than `largest`.

        The same expression always has the same symbol, and its negative the negative symbol.
        """
        if size_of(expr) <= (self.largest if largest is None else largest):
            return expr
        if expr.op == "neg":
            return -self.veil(expr.args[0], largest)
        if expr not in self._symbols:
            made = symbol(f"{self.letter}{self.last_used + 1}")
            self._symbols[expr] = made
            self._definitions[made] = expr
        return self._symbols[expr]

    def unveil(self, exprs: Iterable[Expr], depth: int | None = None) -> list[Expr]:
        """The expressions with definitions in the place of symbols, `depth` times one after another, or wholly."""
        exprs = list(exprs)
        if depth is None:  # from below: every definition is rewritten once
            known: dict[Expr, Expr] = {}
            for made, definition in self._definitions.items():
                (known[made],) = substitute([definition], known)
            return substitute(exprs, known)
        for _ in range(depth):
            exprs = substitute(exprs, self._definitions)
        return exprs

    def used(self, exprs: Iterable[Expr]) -> Iterator[tuple[Expr, Expr]]:
        """The symbols that the expressions need, with their definitions, in order."""
        needed = set(ordered(exprs))
        for made, definition in reversed(self._definitions.items()):
            if made in needed:
                needed.update(ordered([definition]))
        return ((made, definition) for made, definition in self._definitions.items() if made in needed)

    def sequence(self, name: str, inputs: Sequence[Expr], outputs: Iterable[Expr]) -> ComputationSequence:
        """The outputs as a sequence of the inputs alone."""
        return ComputationSequence(name, tuple(inputs), tuple(self.unveil(outputs)))
