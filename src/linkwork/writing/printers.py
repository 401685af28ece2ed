"""Expressions as text and LaTeX; functions in programming languages are written by languages.py.

Both write one expression as a tree with few parentheses. `text` is what the parser reads back: without splines, the
same node results.

A graph of n nodes can stand for a tree of 2^n. Beyond MAX_TREE nodes, `text` and `latex` therefore also define
w1, w2, ... first, one on each line, and the expression is the last line; `latex` also beyond MAX_DEPTH.
"""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import Expr, constant, power
from linkwork.writing import notation
from linkwork.writing.notation import Formula, Number, Quotient, Symbol, raise_to

MAX_TREE = 10_000  # nodes of a formula that is written out: ten pages
MAX_DEPTH = 60  # of a formula: it is written recursively
MAX_LINE = 100  # characters of a temporary
MAX_SYMBOLS = 20  # in a temporary of a formula

# How tightly the outermost operation of a piece binds; a leading minus sign counts as a sum.
COMPARISON, SUM, PRODUCT, POWER, ATOM = range(5)
_COMPARISONS = {"lt": "<", "le": "<="}


class Piece(NamedTuple):
    text: str
    level: int = ATOM

    @property
    def size(self) -> int:
        return len(self.text)

    def within(self, level: int, brackets: str = "({})") -> str:
        """Return the piece as an operand that must bind at least as tightly as `level`."""
        return self.text if self.level >= level else brackets.format(self.text)


Cubics = tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]
Written = TypeVar("Written", Piece, Formula)
Render = Callable[[Expr, list[Piece]], Piece]


class Powers(NamedTuple):
    """Products that repeat one factor, as the graph writes small powers: node -> (base, exponent)."""

    found: dict[Expr, tuple[Expr, int]]

    @staticmethod
    def of(nodes: Iterable[Expr]) -> Powers:
        found: dict[Expr, tuple[Expr, int]] = {}
        for node in nodes:
            if node.op == "mul":
                (a, i), (b, j) = (found.get(arg, (arg, 1)) for arg in node.args)
                if a is b and power(a, constant(i + j)) is node:
                    found[node] = a, i + j
        return Powers(found)

    def parts(self, node: Expr) -> tuple[Expr, ...]:
        return (self.found[node][0],) if node in self.found else node.args


def lines_of(
    outputs: Sequence[Expr],
    powers: Powers,
    render: Callable[[Expr, list[Written]], Written],
    temporary: Callable[[int], Written] | None,
    longest: int = MAX_LINE,
) -> tuple[list[tuple[Written, Written]], list[Written]]:
    """Return the temporaries in order, with their names, and the outputs in terms of them; none without `temporary`."""
    nodes = ordered(outputs)
    needed = set(outputs)
    for node in reversed(nodes):
        if node in needed:
            needed.update(powers.parts(node))
    inside = Counter(part for node in nodes if node in needed for part in powers.parts(node))
    uses = inside + Counter(outputs)
    waiting = dict(uses)
    pieces: dict[Expr, Written] = {}
    lines: list[tuple[Written, Written]] = []
    for node in nodes:
        if node not in needed:
            continue
        parts = powers.parts(node)
        piece = render(node, [pieces[part] for part in parts])
        if temporary and parts and (uses[node] > 1 or (inside[node] and piece.size > longest)):
            name = temporary(len(lines) + 1)
            lines.append((name, piece))
            piece = name
        pieces[node] = piece
        for part in parts:  # the texts of a deep tree are long; keep none that is not used again
            waiting[part] -= 1
            if not waiting[part]:
                del pieces[part]
    return lines, [pieces[output] for output in outputs]


def _exceeds_tree_limit(output: Expr, powers: Powers, most_deep: int = MAX_TREE) -> bool:
    sizes: dict[Expr, int] = {}
    depths: dict[Expr, int] = {}
    for node in ordered([output]):
        parts = powers.parts(node)
        sizes[node] = min(MAX_TREE + 1, 1 + sum(sizes[part] for part in parts))
        depths[node] = 1 + max((depths[part] for part in parts), default=0)
    return sizes[output] > MAX_TREE or depths[output] > most_deep


def number_tables(nodes: Iterable[Expr]) -> dict[Cubics, int]:
    """Return the splines' tables (knots and coefficients), numbered from 1; derivatives of a spline share its table."""
    tables: dict[Cubics, int] = {}
    for node in nodes:
        if node.op == "spline":
            tables.setdefault(node.table[:2], len(tables) + 1)
    return tables


_MULTIPLES_OF_PI: dict[float, tuple[int, int]] = {
    **{k * math.pi: (k, 1) for k in range(1, 13)},
    **{math.pi / k: (1, k) for k in (2, 3, 4, 5, 6, 8, 10, 12, 180)},
}
_RECIPROCALS = {1.0 / 2**k: 2**k for k in range(1, 11)}


def signed(number: Callable[[float], Piece], value: float) -> Piece:
    return number(value) if value >= 0.0 else Piece("-" + number(-value).text, SUM)


def _sum(node: Expr, a: Piece, b: Piece) -> Piece:
    if node.op == "sub":
        return Piece(f"{a.within(SUM)} - {b.within(PRODUCT)}", SUM)
    if b.level == SUM < a.level:  # a + (b + c) is written b + c + a
        a, b = b, a
    return Piece(f"{a.within(SUM)} + {b.within(PRODUCT)}", SUM)


def _product(node: Expr, a: Piece, b: Piece) -> Piece:
    if node.op == "div":
        return Piece(f"{a.within(PRODUCT)}/{b.within(POWER)}", PRODUCT)
    if node.args[0].is_constant:
        return Piece(f"{a.text}*{b.within(POWER)}", min(a.level, PRODUCT))
    if b.level == PRODUCT < a.level:  # a*(b*c) is written b*c*a
        a, b = b, a
    return Piece(f"{a.within(PRODUCT)}*{b.within(POWER)}", PRODUCT)


def infix(node: Expr, args: Sequence[Piece]) -> Piece | None:
    """Write what text, Python and C have in common, None for anything else."""
    match node.op:
        case "add" | "sub":
            return _sum(node, *args)
        case "mul" | "div":
            return _product(node, *args)
        case "neg":
            return Piece(f"-{args[0].within(PRODUCT)}", SUM)
        case "lt" | "le" as op:
            return Piece(f"{args[0].within(SUM)} {_COMPARISONS[op]} {args[1].within(SUM)}", COMPARISON)
    return None


# text


def _text_number(value: float, pi: str) -> Piece:
    if value in _MULTIPLES_OF_PI:
        k, divisor = _MULTIPLES_OF_PI[value]
        if (k, divisor) == (1, 1):
            return Piece(pi)
        return Piece(f"{k}*{pi}" if divisor == 1 else f"{pi}/{divisor}", PRODUCT)
    return Piece(repr(value).removesuffix(".0"))


def _text_render(powers: Powers, tables: Mapping[Cubics, int], words: Mapping[str, str]) -> Render:
    number = partial(_text_number, pi=words.get("pi", "pi"))

    def render(node: Expr, args: list[Piece]) -> Piece:
        op = node.op
        if node in powers.found:
            return Piece(f"{args[0].within(ATOM)}^{powers.found[node][1]}", POWER)
        if op == "constant":
            return signed(number, node.number)
        if op == "symbol":
            return Piece(str(node.value))
        if op == "mul" and node.args[0].is_constant and (divisor := _RECIPROCALS.get(abs(node.args[0].number))):
            sign, level = ("-", SUM) if node.args[0].number < 0.0 else ("", PRODUCT)
            return Piece(f"{sign}{args[1].within(PRODUCT)}/{divisor}", level)
        if (piece := infix(node, args)) is not None:
            return piece
        if op == "pow":
            return Piece(f"{args[0].within(ATOM)}^{args[1].within(POWER)}", POWER)
        if op == "spline":
            op = f"spline{tables[node.table[:2]]}" + "'" * node.table[2]
        elif op == "select":
            op = "if"
        return Piece(f"{words.get(op, op)}({', '.join(a.text for a in args)})")

    return render


def text(expr: Expr, words: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the expression as the parser reads it; a spline is spline1(x), its derivatives spline1'(x), ...

    `words` gives functions and pi other names.
    """
    nodes = ordered([expr])
    powers = Powers.of(nodes)
    render = _text_render(powers, number_tables(nodes), words)
    if not _exceeds_tree_limit(expr, powers):
        return lines_of([expr], powers, render, None)[1][0].text
    prefix = "w"
    while any(node.op == "symbol" and re.fullmatch(rf"{prefix}\d+", str(node.value)) for node in nodes):
        prefix += "w"
    lines, (result,) = lines_of([expr], powers, render, lambda k: Piece(f"{prefix}{k}"))
    return "\n".join([*(f"{name.text} = {piece.text}" for name, piece in lines), result.text])


# LaTeX

_FUNCTIONS = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
_FORMULAS: dict[str, Callable[..., Formula]] = {
    **{"add": operator.add, "sub": operator.sub, "neg": operator.neg, "div": Quotient, "pow": raise_to},
    "sqrt": notation.Root,
    "exp": lambda x: Symbol("e") ** x,
    "abs": lambda x: notation.Fence(x, "||"),
}


def formula(node: Expr, args: Sequence[Formula], tables: Mapping[Cubics, int] | None = None) -> Formula:
    """Return one operation on its arguments; in [a < b], brackets make the number 1 or 0 from a comparison."""
    op = node.op
    if op == "constant":
        value = abs(node.number)
        k, divisor = _MULTIPLES_OF_PI.get(value, (0, 1))
        shown: Formula = (
            Symbol("pi") if k == 1 else Number(str(k)) * Symbol("pi") if k else notation.number(value, None)
        )
        if divisor > 1:
            shown = Quotient(shown, Number(str(divisor)))
        return -shown if node.number < 0.0 else shown
    if op == "symbol":
        return notation.symbol_of(str(node.value))
    if op in _FORMULAS:
        return _FORMULAS[op](*args)
    if op == "mul" and node.args[0].is_constant and (divisor := _RECIPROCALS.get(abs(node.args[0].number), 0)):
        shown = Quotient(args[1], Number(str(divisor)))
        return -shown if node.args[0].number < 0.0 else shown
    if op == "mul":
        a, b = args
        if notation.starts_with_digit(b) and not notation.starts_with_digit(a) and not isinstance(a, notation.Minus):
            return b * a
        return a * b
    if op in _COMPARISONS:
        return notation.relate(_COMPARISONS[op], *args)
    if op == "select":
        condition = args[0] if isinstance(args[0], notation.Relation) else notation.relate("!=", args[0], Number("0"))
        return notation.Cases(condition, *args[1:])
    if op == "spline":
        number = () if tables is None else (str(tables[node.table[:2]]),)
        return notation.call(Symbol("s", number, "'" * node.table[2]), *args)
    return notation.call(notation.Function(_FUNCTIONS.get(op, op)), *args)


def as_it_stands(expr: Expr, names: Mapping[Expr, Formula]) -> Formula:
    """Return the whole expression, operation by operation; symbols by their names, others as they are called."""
    built: dict[Expr, Formula] = {}
    for node in ordered([expr]):
        built[node] = names[node] if node in names else formula(node, [built[part] for part in node.args])
    return built[expr]


def latex(expr: Expr) -> str:
    r"""Return the expression for mathematics mode; in [a < b], brackets make the number 1 or 0 from a comparison."""
    nodes = ordered([expr])
    powers = Powers.of(nodes)
    tables = number_tables(nodes)

    def render(node: Expr, args: list[Formula]) -> Formula:
        exponent = powers.found.get(node, (node, 1))[1]
        return raise_to(args[0], Number(str(exponent))) if exponent > 1 else formula(node, args, tables)

    if not _exceeds_tree_limit(expr, powers, MAX_DEPTH):
        return notation.latex(lines_of([expr], powers, render, None)[1][0])
    lines, (result,) = lines_of([expr], powers, render, lambda k: Symbol("w", (str(k),)), MAX_SYMBOLS)
    rows = [f"{notation.latex(name)} &= {notation.latex(piece)}" for name, piece in lines]
    rows.append(f"& {notation.latex(result)}")
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"
