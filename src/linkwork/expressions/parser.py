"""Expressions from text, by a grammar of their own: nothing in the text is ever run.

    comparison   a < b   a <= b   a > b   a >= b         1 where true, else 0; not chained
    sum          a + b   a - b
    sign         -a   +a                                 of a whole product: -a*b = -(a*b), -x^2 = -(x^2)
    product      a * b   a / b                           a sign after * / ^ belongs to one factor: a/-b*c = (a/-b)*c
    power        a ^ b   a ** b                          from the right: a^b^c = a^(b^c)
    value        12   1.5   1e-3   3 mm   pi   crank.phi   sin(a)   min(a, b, ...)   if(condition, a, b)   (a)

Names are letters of any script, digits and underscores, joined by dots, in Unicode's composed form (NFC). `pi` is the
only constant; Euler's number is exp(1), so that `e` stays free for users. The names in RESERVED cannot be used for
anything else.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import NamedTuple

from linkwork.errors import ModelError, did_you_mean
from linkwork.expressions import graph
from linkwork.expressions.graph import FUNCTIONS, Expr, constant, exp, less, less_equal, power, tanh
from linkwork.units import SPELLINGS, UNITS, WORD, end_of_unit

MAX_LENGTH = 10_000  # characters of a formula: a page of text
MAX_DEPTH = 100  # of parentheses and calls, far below Python's limit of recursion
MAX_EXPONENT = 1000.0  # of a constant power: beyond, any number but one is zero or infinite

Names = Mapping[str, Expr] | Callable[[str], Expr | None]
Quantities = Callable[[str, str], Expr]  # of a number and its unit


class ExpressionError(ValueError):
    """Text that is not an expression: `reason` in one line, and the place in `text` at `position`, counted from 0."""

    def __init__(self, reason: str, code: str, text: str, position: int, hint: str | None = None) -> None:
        self.reason = f"{reason} at column {position + 1}" + (f"; {hint}" if hint else "")
        self.code = code
        self.text = text
        self.position = position
        start = max(0, position - 50)
        line = "".join(c if c.isprintable() else " " for c in text[start : start + 80])
        super().__init__(f"{self.reason}\n    {line}\n    {' ' * (position - start)}^")


def _cosh(x: Expr) -> Expr:
    return 0.5 * (exp(x) + exp(-x))


class _Call(NamedTuple):
    least: int
    most: int | None
    build: Callable[..., Expr]


CALLS: dict[str, _Call] = {
    **{name: _Call(1, 1, partial(graph.function, name)) for name in FUNCTIONS},
    "sinh": _Call(1, 1, lambda x: tanh(x) * _cosh(x)),  # exact for small x, unlike a difference of exponentials
    "cosh": _Call(1, 1, _cosh),
    "atan2": _Call(2, 2, graph.atan2),
    "min": _Call(2, None, lambda *args: reduce(graph.minimum, args)),
    "max": _Call(2, None, lambda *args: reduce(graph.maximum, args)),
    "if": _Call(3, 3, graph.select),
}
RESERVED = frozenset({*CALLS, "pi"})

_ELSEWHERE = {
    **{"ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2"},
    **{"fabs": "abs", "sgn": "sign", "where": "if", "select": "if"},
}
_LOOKALIKES = {
    **{"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "\N{MULTIPLICATION SIGN}": "*", "\N{MIDDLE DOT}": "*"},
    **{"\N{DIVISION SIGN}": "/", "\N{SUPERSCRIPT TWO}": "^2", "\N{SUPERSCRIPT THREE}": "^3", "[": "(", "]": ")"},
    **{"\N{LESS-THAN OR EQUAL TO}": "<=", "\N{GREATER-THAN OR EQUAL TO}": ">=", "=": "<= or >="},
}

_NAME = r"(?:[a-z_]+:)?[^\W\d]\w*(?:\.[^\W\d]\w*)*"  # of results with what they are: force:spring
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    rf"|(?P<call>{_NAME})\s*\("
    rf"|(?P<name>{_NAME})"
    r"|(?P<operator>\*\*|<=|>=|[-+*/^<>(),])"
    r"|(?P<end>\Z))"
)


class _Token(NamedTuple):
    kind: str
    text: str
    position: int
    unit: str = ""  # of a number

    @property
    def shown(self) -> str:
        return "the end" if self.kind == "end" else f"'{self.text}'"


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while not tokens or tokens[-1].kind != "end":
        match = _TOKEN.match(text, at)
        if match is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise _stray(text, at)
        kind = match.lastgroup or ""
        if kind in ("name", "call"):
            for i in range(*match.span(kind)):
                if not (text[i].isalpha() or text[i].isdecimal() or text[i] in "_.:"):  # \w holds more, as superscripts
                    raise _stray(text, i)
        at = match.end()
        after = end_of_unit(text, at) if kind == "number" else at
        tokens.append(_Token(kind, match[kind], match.start(kind), text[at:after].strip()))
        at = after
    return tokens


def _stray(text: str, at: int) -> ExpressionError:
    shown = f"'{text[at]}'" if text[at].isprintable() else f"U+{ord(text[at]):04X}"
    hint = f"write {_LOOKALIKES[text[at]]}" if text[at] in _LOOKALIKES else None
    return ExpressionError(f"{shown} is not allowed in an expression", "expression-character", text, at, hint)


class _Operator(NamedTuple):
    precedence: int
    build: Callable[..., Expr]
    arguments: int = 2


_COMPARISON, _SUM, _SIGN, _PRODUCT, _FACTOR_SIGN, _POWER = range(1, 7)
_BINARY = {
    "<": _Operator(_COMPARISON, less),
    "<=": _Operator(_COMPARISON, less_equal),
    ">": _Operator(_COMPARISON, lambda a, b: less(b, a)),
    ">=": _Operator(_COMPARISON, lambda a, b: less_equal(b, a)),
    "+": _Operator(_SUM, graph.add),
    "-": _Operator(_SUM, graph.sub),
    "*": _Operator(_PRODUCT, graph.mul),
    "/": _Operator(_PRODUCT, graph.div),
    "^": _Operator(_POWER, power),
    "**": _Operator(_POWER, power),
}
_PREFIX = {"-": _Operator(_SIGN, graph.neg, 1), "+": _Operator(_SIGN, lambda a: a, 1)}
_OPEN = _Operator(0, lambda a: a, 1)


class _Pending(NamedTuple):
    """An operator whose last operand is not complete, or an open parenthesis with `below` operands before it."""

    operator: _Operator
    token: _Token
    below: int = 0


def parse(
    text: str,
    names: Names,
    functions: Mapping[str, Callable[[Expr], Expr]] | None = None,
    quantities: Quantities | None = None,
) -> Expr:
    """Return the expression that `text` writes, its names looked up in `names`. Raises ExpressionError.

    `functions` of one argument can be called besides those of CALLS. Numbers with units are allowed where `quantities`
    says what they are.
    """
    if len(text) > MAX_LENGTH:
        hint = f"at most {MAX_LENGTH} are allowed"
        raise ExpressionError(f"{len(text)} characters, too many", "expression-too-long", text, MAX_LENGTH, hint)
    return _Parser(unicodedata.normalize("NFC", text), names, functions or {}, quantities).parse()


class _Parser:
    """Two stacks hold the operands and what waits for one, so that no text can exhaust Python's own stack."""

    def __init__(
        self,
        text: str,
        names: Names,
        functions: Mapping[str, Callable[[Expr], Expr]],
        quantities: Quantities | None,
    ) -> None:
        self.text, self.quantities = text, quantities
        self.calls = {**CALLS, **{name: _Call(1, 1, function) for name, function in functions.items()}}
        self.lookup, self.choices = (names, []) if callable(names) else (names.get, ["pi", *names])
        self.operands: list[Expr] = []
        self.pending: list[_Pending] = []
        self.depth = 0  # of parentheses
        self.value_expected = True

    def parse(self) -> Expr:
        tokens = _tokens(self.text)
        if len(tokens) == 1:
            raise ExpressionError("empty expression", "expression-empty", self.text, 0)
        for token in tokens:
            if self.value_expected:
                self.take_value(token)
            elif token.text in _BINARY:
                self.take_operator(token)
            elif token.kind == "end" or token.text in (",", ")"):
                self.end_part(token)
            else:
                raise self.wrong(f"an operator is missing before {token.shown}", "syntax", token)
        return self.operands[0]

    def wrong(self, reason: str, code: str, token: _Token, hint: str | None = None) -> ExpressionError:
        return ExpressionError(reason, f"expression-{code}", self.text, token.position, hint)

    def unknown(self, what: str, token: _Token, choices: list[str]) -> ExpressionError:
        elsewhere = _ELSEWHERE.get(token.text)
        hint = f"write '{elsewhere}'" if elsewhere else did_you_mean(token.text, choices)
        return self.wrong(f"unknown {what} '{token.text}'", what, token, hint)

    def take_value(self, token: _Token) -> None:
        """Find what may stand where a value is expected: the value, the beginning of a longer one, a sign."""
        if token.kind in ("number", "name"):
            self.operands.append(self.value(token))
            self.value_expected = False
        elif token.kind == "call" or token.text == "(":
            self.open(token)
        elif token.text in _PREFIX:
            operator = _PREFIX[token.text]
            if self.pending and self.pending[-1].operator.precedence > _SIGN:
                operator = operator._replace(precedence=_FACTOR_SIGN)
            self.pending.append(_Pending(operator, token))
        else:
            raise self.wrong(f"a value is missing before {token.shown}", "syntax", token)

    def value(self, token: _Token) -> Expr:
        """Return a number or a name."""
        if token.kind == "number":
            number = float(token.text)
            if math.isinf(number) or (number == 0.0 and re.match("[0.]*[1-9]", token.text)):
                raise self.wrong(f"the number {token.text} is out of range", "number", token)
            return self.quantity(token) if token.unit else constant(number)
        if token.text == "pi":
            return constant(math.pi)
        if token.text in self.calls:
            raise self.wrong(f"function '{token.text}' without parentheses", "syntax", token)
        found = self.lookup(token.text)
        if found is None:
            raise self.unknown("name", token, self.choices)
        return found

    def quantity(self, token: _Token) -> Expr:
        """Return a number with its unit."""
        first, *others = WORD.findall(token.unit.translate(SPELLINGS))
        is_exponent = bool(self.pending) and self.pending[-1].operator.build is power
        is_factor = first not in UNITS and self.lookup(first) is not None
        if self.quantities is None or is_exponent or is_factor:
            hint = f"a product is {token.text}*{first}" if is_factor else None
            behind = token._replace(position=self.text.index(token.unit, token.position + len(token.text)))
            raise self.wrong(f"an operator is missing before '{first}'", "syntax", behind, hint)
        if both := next((name for name in others if self.lookup(name) is not None), None):
            hint = (
                f"'{both}' is a unit and a name here; write the quantity in parentheses, or give it a name of its own"
            )
            raise self.wrong(f"'{token.text} {token.unit}' can be read in two ways", "syntax", token, hint)
        try:
            return self.quantities(token.text, token.unit)
        except ModelError as error:
            raise self.wrong(error.message, "unit", token, error.suggestion) from None

    def open(self, token: _Token) -> None:
        """Begin what stands in parentheses, of a function or plain."""
        if token.kind == "call" and token.text not in self.calls:
            if self.lookup(token.text) is not None:
                hint = f"a product is {token.text}*(...)"
                raise self.wrong(f"'{token.text}' is not a function", "function", token, hint)
            raise self.unknown("function", token, list(self.calls))
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.wrong(f"parentheses are nested more than {MAX_DEPTH} deep", "too-deep", token)
        self.pending.append(_Pending(_OPEN, token, len(self.operands)))

    def take_operator(self, token: _Token) -> None:
        operator = _BINARY[token.text]
        if operator.precedence == _COMPARISON:
            self.apply_from(_SUM)
            if self.pending and self.pending[-1].operator.precedence == _COMPARISON:
                raise self.wrong("chained comparison", "syntax", token, "use parentheses")
        elif operator.precedence < _POWER:  # powers wait: they apply from the right
            self.apply_from(operator.precedence)
        self.pending.append(_Pending(operator, token))
        self.value_expected = True

    def end_part(self, token: _Token) -> None:
        """Finish the text, one argument of a function, or what stands in parentheses."""
        self.apply_from(_COMPARISON)
        comma = "the decimal sign is a point" if token.text == "," else None
        if token.kind == "end":
            if self.pending:
                raise self.wrong("parenthesis never closed", "syntax", self.pending[-1].token)
        elif not self.pending:
            raise self.wrong(f"{token.shown} without an open parenthesis", "syntax", token, comma)
        elif token.text == ",":
            if self.pending[-1].token.kind != "call":
                raise self.wrong("comma in plain parentheses", "syntax", token, comma)
            self.value_expected = True
        else:
            self.depth -= 1
            _, opening, below = self.pending.pop()
            if opening.kind == "call":
                count = len(self.operands) - below
                least, most, build = self.calls[opening.text]
                if count < least or (most is not None and count > most):
                    needs = f"{least}" if most is not None else f"{least} or more"
                    raise self.wrong(f"'{opening.text}' takes {needs} arguments, not {count}", "arguments", opening)
                self.apply(build, count, opening)

    def apply_from(self, precedence: int) -> None:
        """Apply the waiting operators of at least this precedence."""
        while self.pending and self.pending[-1].operator.precedence >= precedence:
            operator, token, _ = self.pending.pop()
            self.apply(operator.build, operator.arguments, token)

    def apply(self, build: Callable[..., Expr], count: int, token: _Token) -> None:
        """Put build(*args) in the place of the last `count` operands."""
        args = self.operands[len(self.operands) - count :]
        if build is power and args[1].is_constant and abs(args[1].number) > MAX_EXPONENT:
            raise self.wrong(f"the exponent {args[1].number:g} is beyond {MAX_EXPONENT:g}", "exponent", token)
        result = build(*args)
        if not result.is_constant and all(a.is_constant for a in args):
            raise self.wrong(f"'{token.text}' has no finite value", "undefined", token)
        self.operands[len(self.operands) - count :] = [result]
