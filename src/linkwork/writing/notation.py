"""Formulas as trees that know no markup, and their LaTeX; text and MathML are in view/formulas.py.

Operators build them, with parentheses where they are needed: Psi_q.T * (Q - M * a).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

GREEK = re.compile(  # these are names of characters in LaTeX and, without "var", in HTML
    "alpha|beta|gamma|delta|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|upsilon|chi|psi|omega|"
    "Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega|varphi|varepsilon"
)
DOTS = "ldots"
_SPELLINGS = {"phi": "varphi", "epsilon": "varepsilon", "lam": "lambda", "w": "omega"}


@dataclass(frozen=True)
class Formula:
    """What all formulas share: the operators, and `size`, the number of symbols and numbers."""

    @cached_property
    def size(self) -> int:
        return max(1, sum(_sizes(vars(self).values())))

    def __neg__(self) -> Formula:
        return Minus(_tight(self))

    def __add__(self, other: Term) -> Formula:
        return Sum((*_terms(self), *_terms(formula_of(other))))

    def __sub__(self, other: Term) -> Formula:
        return self + -formula_of(other)

    def __mul__(self, other: Term) -> Formula:
        return Product((*_factors(self), *_factors(formula_of(other))))

    def __pow__(self, exponent: Term) -> Formula:
        return Script(_base(self), above=formula_of(exponent))

    @property
    def T(self) -> Formula:
        return self ** Symbol("T")

    @property
    def inverse(self) -> Formula:
        return self**-1

    @property
    def inverse_t(self) -> Formula:
        return self ** -Symbol("T")

    @property
    def plus(self) -> Formula:
        """The pseudo-inverse."""
        return self ** Number("+")

    def part(self, index: Formula) -> Formula:
        """Return some entries of a vector."""
        return Script(_base(self), below=index)


Term: TypeAlias = Formula | float


@dataclass(frozen=True)
class Symbol(Formula):
    """A letter, Greek by its name, or a word; with words as subscripts and a mark: dot, ddot, hat or primes."""

    letter: str
    index: tuple[str, ...] = ()
    mark: str = ""

    @property
    def dot(self) -> Symbol:
        return replace(self, mark="dot")

    @property
    def ddot(self) -> Symbol:
        return replace(self, mark="ddot")

    @property
    def hat(self) -> Symbol:
        return replace(self, mark="hat")


@dataclass(frozen=True)
class Number(Formula):
    """Digits and signs as they are written, times a power of ten."""

    digits: str
    exponent: int = 0


@dataclass(frozen=True)
class Function(Formula):
    name: str


@dataclass(frozen=True)
class Minus(Formula):
    inside: Formula

    def __neg__(self) -> Formula:
        return self.inside.inside if isinstance(self.inside, Fence) else self.inside

    def __mul__(self, other: Term) -> Formula:
        return -(self.inside * other)


@dataclass(frozen=True)
class Sum(Formula):
    terms: tuple[Formula, ...]


@dataclass(frozen=True)
class Product(Formula):
    factors: tuple[Formula, ...]


@dataclass(frozen=True)
class Quotient(Formula):
    above: Formula
    below: Formula


@dataclass(frozen=True)
class Root(Formula):
    inside: Formula


@dataclass(frozen=True)
class Script(Formula):
    base: Formula
    above: Formula | None = None
    below: Formula | None = None


@dataclass(frozen=True)
class Fence(Formula):
    inside: Formula
    marks: str = "()"


@dataclass(frozen=True)
class Applied(Formula):
    """cos x if the argument is a symbol, cos(x) if it is a Fence."""

    function: Formula
    argument: Formula


@dataclass(frozen=True)
class Matrix(Formula):
    rows: tuple[tuple[Formula, ...], ...]


@dataclass(frozen=True)
class Cases(Formula):
    condition: Formula
    value: Formula
    otherwise: Formula


@dataclass(frozen=True)
class Relation(Formula):
    sides: tuple[Formula, ...]
    sign: str = "="  # or < <= > !=


@dataclass(frozen=True)
class Listed(Formula):
    """Formulas with commas between them, and wide spaces between equations."""

    items: tuple[Formula, ...]
    wide: bool = False


def _sizes(parts: Iterable[Any]) -> Iterable[int]:
    for part in parts:
        if isinstance(part, Formula):
            yield part.size
        elif isinstance(part, tuple):
            yield from _sizes(part)


def _tight(x: Formula) -> Formula:
    """Return the formula as a factor, or behind a minus sign."""
    if isinstance(x, Relation):
        return Fence(x, "[]")
    return Fence(x) if isinstance(x, Sum | Minus | Cases | Listed) else x


def _base(x: Formula) -> Formula:
    plain = isinstance(x, Symbol | Fence | Root | Matrix) or (isinstance(x, Number) and not x.exponent)
    return x if plain else Fence(x, "[]" if isinstance(x, Relation) else "()")


def _terms(x: Formula) -> tuple[Formula, ...]:
    return x.terms if isinstance(x, Sum) else (Fence(x, "[]") if isinstance(x, Relation) else x,)


def _factors(x: Formula) -> tuple[Formula, ...]:
    return x.factors if isinstance(x, Product) else (_tight(x),)


def formula_of(x: Term) -> Formula:
    return x if isinstance(x, Formula) else number(x, None)


def number(x: float, digits: int | None = 6) -> Formula:
    """Return a number with so many digits, or with all it has."""
    shown = repr(abs(x)).removesuffix(".0") if digits is None else f"{abs(x):.{digits}g}"
    mantissa, _, exponent = shown.partition("e")
    value = Number(mantissa, int(exponent or 0))
    return Minus(value) if x < 0 else value


def symbol_of(name: str) -> Symbol:
    """Write a name with subscripts: crank.phi is phi with the index crank, l1 is l with the index 1."""
    head, *owners = re.split("[ .]", name) if " " in name else name.split(".")[::-1]  # "lam A.x": the quantity first
    primes = "'" * (len(head) - len(head.rstrip("'")))
    head, *index = [word for word in head.rstrip("'").split("_") if word] or [head]
    if match := re.fullmatch(r"(.*\D)(\d+)", head):
        head, index = match[1], [match[2], *index]
    elif re.fullmatch(r"[arvwFfMn][xyz]", head):
        head, index = head[0], [head[1], *index]
    letter = _SPELLINGS.get(head, head) if index or head != "w" else head
    return Symbol(letter, (*index, *(owners if " " in name else owners[::-1])), primes)


def equal(*sides: Term) -> Relation:
    return Relation(tuple(map(formula_of, sides)))


def relate(sign: str, *sides: Formula) -> Relation:
    return Relation(tuple(Fence(x, "[]") if isinstance(x, Relation) else x for x in sides), sign)


def call(function: Formula, *arguments: Formula) -> Applied:
    return Applied(function, Fence(arguments[0] if len(arguments) == 1 else Listed(arguments)))


def diag(*entries: Formula) -> Formula:
    return call(Function("diag"), *entries)


def together(*equations: Formula) -> Listed:
    return Listed(equations, wide=True)


def column(*entries: Term) -> Matrix:
    return Matrix(tuple((formula_of(entry),) for entry in entries))


def line(*entries: Term) -> Matrix:
    return Matrix((tuple(map(formula_of, entries)),))


def raise_to(base: Formula, exponent: Formula) -> Formula:
    """Return the power, of a function as cos^2(x)."""
    if isinstance(base, Applied) and isinstance(base.function, Function) and isinstance(exponent, Number):
        return Applied(Script(base.function, exponent), base.argument)
    return base**exponent


def starts_with_digit(x: Formula) -> bool:
    while isinstance(x, Product | Script):
        x = x.factors[0] if isinstance(x, Product) else x.base
    return isinstance(x, Number)


def separators(factors: tuple[Formula, ...], dot: str, space: str, nothing: str) -> Iterator[tuple[str, Formula]]:
    """Return the factors after the first, each with what stands before it: numbers need a dot, words a space."""
    for a, b in pairwise(factors):
        yield dot if starts_with_digit(b) else space if _is_word(a) or _is_word(b) else nothing, b


def _is_word(x: Formula) -> bool:
    return isinstance(x, Symbol) and len(x.letter) > 1 and not x.index and not GREEK.fullmatch(x.letter)


# LaTeX

ESCAPES = {c: f"\\{c}" for c in "_$&#%{}"}
_ESCAPES = ESCAPES | {"\\": "\\backslash ", "^": "\\wedge ", "~": "\\sim "}
_FUNCTIONS = frozenset(["sin", "cos", "tan", "tanh", "log", "exp", "min", "max", "arcsin", "arccos", "arctan"])
_SIGNS = {"<=": "\\le", "!=": "\\neq"}


def _word(word: str) -> str:
    if GREEK.fullmatch(word) or word == DOTS:
        return f"\\{word}"
    if word.isdecimal() or (len(word) == 1 and word.isalpha()):
        return word
    return f"\\mathrm{{{''.join(_ESCAPES.get(c, c if c.isprintable() else '?') for c in word)}}}"


def latex(x: Formula) -> str:
    """Return the formula for mathematics mode."""
    match x:
        case Symbol(letter, index, mark):
            accent = mark in ("dot", "ddot", "hat")
            below = f"_{{{','.join(map(_word, index))}}}" if index else ""
            return f"\\{mark}{{{_word(letter)}}}{below}" if accent else f"{_word(letter)}{below}{mark}"
        case Number(digits, exponent):
            return f"{digits} \\cdot 10^{{{exponent}}}" if exponent else digits
        case Function(name):
            return f"\\{name}" if name in _FUNCTIONS else f"\\operatorname{{{name}}}"
        case Minus(inside):
            return f"-{latex(inside)}"
        case Sum(terms):
            rest = (f" - {latex(t.inside)}" if isinstance(t, Minus) else f" + {latex(t)}" for t in terms[1:])
            return latex(terms[0]) + "".join(rest)
        case Product(factors):
            rest = (sign + latex(f) for sign, f in separators(factors, " \\cdot ", " \\, ", " "))
            return latex(factors[0]) + "".join(rest)
        case Quotient(above, below):
            return f"\\frac{{{latex(above)}}}{{{latex(below)}}}"
        case Root(inside):
            return f"\\sqrt{{{latex(inside)}}}"
        case Script(base, above, below):
            subscript = f"_{{{latex(below)}}}" if below else ""
            return latex(base) + subscript + (f"^{{{latex(above)}}}" if above else "")
        case Fence(inside, marks):
            return f"\\left{marks[0]}{latex(inside)}\\right{marks[1]}"
        case Applied(function, argument):
            return f"{latex(function)}{'' if isinstance(argument, Fence) else ' '}{latex(argument)}"
        case Matrix(rows):
            body = " \\\\ ".join(" & ".join(map(latex, cells)) for cells in rows)
            return f"\\begin{{bmatrix}} {body} \\end{{bmatrix}}"
        case Cases(condition, value, otherwise):
            first = f"{latex(value)} & \\text{{if }} {latex(condition)}"
            return f"\\begin{{cases}} {first} \\\\ {latex(otherwise)} & \\text{{otherwise}} \\end{{cases}}"
        case Relation(sides, sign):
            return f" {_SIGNS.get(sign, sign)} ".join(map(latex, sides))
        case Listed(items, wide):
            return (", \\quad " if wide else ", ").join(map(latex, items))
    raise TypeError(f"{type(x).__name__} is not a formula")
