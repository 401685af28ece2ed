"""Hierarchies of veiled expressions, which keep what is written down small however large it is written out.

A hierarchy is a list of symbols W1, W2, ... with definitions, each in terms of inputs and of symbols before it
[zhou2007, section 4; corless1997].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from linkwork.errors import UsageError
from linkwork.expressions.evaluation import GRAPH, Arithmetic, evaluate, ordered, substitute
from linkwork.expressions.graph import Expr, constant, symbol
from linkwork.sequences.sequence import ComputationSequence, check_expressions

LONGEST = 50  # symbols and numbers of an entry that is written in one piece


def size_of(*exprs: Expr) -> int:
    """Return symbols and numbers in the largest of the expressions as it is written, without sharing."""
    return max(_sizes(exprs, {}), default=0)


def _is_larger(expr: Expr, largest: int) -> bool:
    """Tell whether `size_of` exceeds this; counted no further."""
    waiting, size = [expr], 0
    while waiting and size <= largest:
        args = waiting.pop().args
        waiting += args
        size += not args
    return size > largest


def _sizes(exprs: Sequence[Expr], known: Mapping[Expr, int]) -> list[int]:
    """Return symbols and numbers in each expression, `known` ones being as large as they say."""
    sizes: dict[Expr, int] = {}
    for node in ordered(exprs):
        sizes[node] = known.get(node) or max(1, sum(sizes[a] for a in node.args))
    return [sizes[expr] for expr in exprs]


def unused_letter(exprs: Iterable[Expr]) -> str:
    """Return W, or several, with which no numbered symbol of the expressions begins."""
    letter = "W"
    names = [str(node.value) for node in ordered(exprs) if node.op == "symbol"]
    while any(_is_numbered(name, letter) for name in names):
        letter += "W"
    return letter


def _is_numbered(name: str, letter: str) -> bool:
    return name.startswith(letter) and name[len(letter) :].isdigit()


class Hierarchy:
    """Symbols `letter`1, `letter`2, ... that stand for expressions larger than `largest`."""

    def __init__(self, letter: str = "W", largest: int = 1) -> None:
        if not letter.isidentifier():
            raise UsageError(f"the symbols of a hierarchy cannot begin with '{letter}'", "bad-letter")
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
        """Return a symbol in the place of the expression, or the expression itself if it is not larger than `largest`.

        The same expression always has the same symbol, and its negative the negative symbol.
        """
        check_expressions("what is veiled", [expr])
        if not _is_larger(expr, self.largest if largest is None else largest):
            return expr
        if expr.op == "neg":
            return -self.veil(expr.args[0], largest)
        if expr not in self._symbols:
            for node in ordered([expr]):
                if node.op == "symbol" and node not in self._definitions and _is_numbered(str(node.value), self.letter):
                    raise UsageError(
                        f"'{node.value}' is a name of this hierarchy; give it another letter", "bad-letter"
                    )
            made = symbol(f"{self.letter}{self.last_used + 1}")
            self._symbols[expr] = made
            self._definitions[made] = expr
        return self._symbols[expr]

    def fold(self, exprs: Iterable[Expr]) -> list[Expr]:
        """Return the expressions, those longer than LONGEST with all their larger parts veiled, from the inside out.

        Of an operation on two parts, at most 2 `largest` symbols are then written.
        """
        exprs, longest = list(exprs), max(LONGEST, self.largest)
        large = [expr for expr in exprs if _is_larger(expr, longest)]
        symbols = {node: node for node in ordered(large) if node.op == "symbol"}
        table = {op: partial(self._operate, f) for op, f in GRAPH.items()}
        folded = dict(zip(large, evaluate(large, symbols, table, constant), strict=True))
        return [folded.get(expr, expr) for expr in exprs]

    def _operate(self, f: Callable[..., Expr], *parts: Any) -> Expr:
        """Return an operation on veiled parts; comparisons stay where they decide, and tables are no expressions."""
        plain = (not isinstance(x, Expr) or x.op in ("lt", "le") for x in parts)
        return f(*(x if stays else self.veil(x) for x, stays in zip(parts, plain, strict=True)))

    def unveil(self, exprs: Iterable[Expr], depth: int | None = None) -> list[Expr]:
        """Put definitions in the place of symbols, `depth` times one after another, or until none is left."""
        exprs = list(exprs)
        if depth is None or depth >= self.last_used:
            return [*map(Memory(self, GRAPH, constant, lambda symbol: symbol), exprs)]
        for _ in range(depth):
            before, exprs = exprs, substitute(exprs, self._definitions)
            if exprs == before:
                break
        return exprs

    def exceeds(self, largest: int, exprs: Iterable[Expr], depth: int) -> bool:
        """Tell whether one of `lines`, unveiled so deep, has more symbols and numbers than `largest`."""
        asked, sizes = [*self._definitions.values(), *exprs], dict.fromkeys(self._definitions, 1)
        for _ in range(depth + 1):
            before, found = sizes, _sizes(asked, sizes)
            sizes = dict(zip(self._definitions, found, strict=False))
            if sizes == before or max(found, default=0) > largest:
                break
        return max(found, default=0) > largest

    def lines(self, exprs: Iterable[Expr], depth: int = 0) -> tuple[list[tuple[Expr, Expr]], list[Expr]]:
        """Return what is to be written down: the symbols needed with their definitions, then the expressions, all
        unveiled.
        """
        shown = self.unveil(exprs, depth)
        definitions = dict(zip(self._definitions, self.unveil(self._definitions.values(), depth), strict=True))
        needed = set(ordered(shown))
        for made, definition in reversed(definitions.items()):
            if made in needed:
                needed.update(ordered([definition]))
        return [(made, definition) for made, definition in definitions.items() if made in needed], shown

    def sequence(self, name: str, inputs: Sequence[Expr], outputs: Iterable[Expr]) -> ComputationSequence:
        """Return the outputs as a sequence of the inputs alone."""
        return ComputationSequence(name, tuple(inputs), tuple(self.unveil(outputs)))


class Memory:
    """Values of expressions over any numbers, each node computed once, symbols of a hierarchy by their definitions."""

    def __init__(
        self,
        hierarchy: Hierarchy,
        arithmetic: Arithmetic,
        constant: Callable[[float], Any],
        value_of: Callable[[Expr], Any],
    ) -> None:
        self.hierarchy = hierarchy
        self.arithmetic = arithmetic
        self.constant = constant
        self.value_of = value_of
        self.known: dict[Expr, Any] = {}

    def __call__(self, expr: Expr) -> Any:
        known, definitions, waiting = self.known, self.hierarchy.definitions, [expr]
        while waiting:
            node = waiting[-1]
            parts = (definitions[node],) if node in definitions else node.args
            missing = [] if node in known else [a for a in parts if a not in known]
            waiting += missing
            if missing or waiting.pop() in known:
                continue
            if node in definitions:
                value = known[definitions[node]]
            elif node.op == "constant":
                value = self.constant(node.number)
            elif node.op == "symbol":
                value = self.value_of(node)
            elif node.op == "spline":
                value = self.arithmetic["spline"](known[node.args[0]], node.table)
            elif node.op in ("sin", "cos", "tan") and "angle" in self.arithmetic:
                value = self.arithmetic[node.op](self.arithmetic["angle"](node.args[0]))
            else:
                value = self.arithmetic[node.op](*[known[a] for a in node.args])
            known[node] = value
        return known[expr]
