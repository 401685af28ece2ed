"""Expressions from text, by a grammar of their own: nothing in the text is ever run.

    comparison   a < b   a <= b   a > b   a >= b         1 where true, else 0; not chained
    sum          a + b   a - b
    sign         -a   +a                                 of a whole product: -a*b = -(a*b), -x^2 = -(x^2)
    product      a * b   a / b                           a sign after * / ^ belongs to one factor: a/-b*c = (a/-b)*c
    power        a ^ b   a ** b                          from the right: a^b^c = a^(b^c)
    value        12   1.5   1e-3   pi   crank.phi   sin(a)   min(a, b, ...)   if(condition, a, b)   (a)

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

from linkwork.errors import did_you_mean
from linkwork.expressions import graph
from linkwork.expressions.graph import FUNCTIONS, Expr, constant, exp, less, less_equal, power, tanh

MAX_LENGTH = 10_000
MAX_DEPTH = 100
MAX_EXPONENT = 1000.0

Names = Mapping[str, Expr] | Callable[[str], Expr | None]


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

_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
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
                if not (text[i].isalpha() or text[i].isdecimal() or text[i] in "_."):  # \w holds more, as superscripts
                    raise _stray(text, i)
        tokens.append(_Token(kind, match[kind], match.start(kind)))
        at = match.end()
    return tokens


def _stray(text: str, at: int) -> ExpressionError:
    shown = f"'{text[at]}'" if text[at].isprintable() else f"U+{ord(text[at]):04X}"
    hint = f"write {_LOOKALIKES[text[at]]}" if text[at] in _LOOKALIKES else None
    return ExpressionError(f"{shown} cannot stand in an expression", "expression-character", text, at, hint)


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


def parse(text: str, names: Names) -> Expr:
    """The expression that `text` writes, its names looked up in `names`.

    Two stacks hold the operands and the operators that still wait for one, so that no text can exhaust Python's own
    stack. Raises ExpressionError.
    """
    if len(text) > MAX_LENGTH:
        hint = f"at most {MAX_LENGTH} are allowed"
        raise ExpressionError(f"{len(text)} characters, too many", "expression-too-long", text, MAX_LENGTH, hint)
    text = unicodedata.normalize("NFC", text)
    lookup = names if callable(names) else names.get
    operands: list[Expr] = []
    pending: list[_Pending] = []
    depth = 0
    value_expected = True
    comma = "the decimal sign is a point"

    def wrong(reason: str, code: str, token: _Token, hint: str | None = None) -> ExpressionError:
        return ExpressionError(reason, f"expression-{code}", text, token.position, hint)

    def apply(build: Callable[..., Expr], count: int, token: _Token) -> None:
        """Put build(*args) in the place of the last `count` operands."""
        args = operands[len(operands) - count :]
        if build is power and args[1].is_constant and abs(args[1].number) > MAX_EXPONENT:
            raise wrong(f"the exponent {args[1].number:g} is beyond {MAX_EXPONENT:g}", "exponent", token)
        result = build(*args)
        if not result.is_constant and all(a.is_constant for a in args):
            raise wrong(f"'{token.text}' has no finite value", "undefined", token)
        operands[len(operands) - count :] = [result]

    def apply_from(precedence: int) -> None:
        """Apply the waiting operators of at least this precedence."""
        while pending and pending[-1].operator.precedence >= precedence:
            operator, token, _ = pending.pop()
            apply(operator.build, operator.arguments, token)

    def value(token: _Token) -> Expr:
        """A number or a name."""
        if token.kind == "number":
            number = float(token.text)
            if math.isinf(number) or (number == 0.0 and re.match("[0.]*[1-9]", token.text)):
                raise wrong(f"the number {token.text} is out of range", "number", token)
            return constant(number)
        if token.text == "pi":
            return constant(math.pi)
        if token.text in CALLS:
            raise wrong(f"function '{token.text}' without parentheses", "syntax", token)
        found = lookup(token.text)
        if found is None:
            raise unknown("name", token, [] if callable(names) else ["pi", *names])
        return found

    def unknown(what: str, token: _Token, choices: list[str]) -> ExpressionError:
        elsewhere = _ELSEWHERE.get(token.text)
        hint = f"write '{elsewhere}'" if elsewhere else did_you_mean(token.text, choices)
        return wrong(f"unknown {what} '{token.text}'", what, token, hint)

    tokens = _tokens(text)
    if len(tokens) == 1:
        raise ExpressionError("empty expression", "expression-empty", text, 0)
    for token in tokens:
        word = token.text
        if value_expected:
            if token.kind in ("number", "name"):
                operands.append(value(token))
                value_expected = False
            elif token.kind == "call" or word == "(":
                if token.kind == "call" and word not in CALLS:
                    if lookup(word) is not None:
                        raise wrong(f"'{word}' is not a function", "function", token, f"a product is {word}*(...)")
                    raise unknown("function", token, list(CALLS))
                depth += 1
                if depth > MAX_DEPTH:
                    raise wrong(f"parentheses are nested more than {MAX_DEPTH} deep", "too-deep", token)
                pending.append(_Pending(_OPEN, token, len(operands)))
            elif word in _PREFIX:
                operator = _PREFIX[word]
                if pending and pending[-1].operator.precedence > _SIGN:
                    operator = operator._replace(precedence=_FACTOR_SIGN)
                pending.append(_Pending(operator, token))
            else:
                raise wrong(f"a value is missing before {token.shown}", "syntax", token)
        elif word in _BINARY:
            operator = _BINARY[word]
            if operator.precedence == _COMPARISON:
                apply_from(_SUM)
                if pending and pending[-1].operator.precedence == _COMPARISON:
                    raise wrong("chained comparison", "syntax", token, "use parentheses")
            elif operator.precedence < _POWER:  # powers wait: they apply from the right
                apply_from(operator.precedence)
            pending.append(_Pending(operator, token))
            value_expected = True
        elif token.kind == "end" or word in (",", ")"):
            apply_from(_COMPARISON)
            if token.kind == "end":
                if pending:
                    raise wrong("parenthesis never closed", "syntax", pending[-1].token)
            elif not pending:
                reason = f"{token.shown} without an open parenthesis"
                raise wrong(reason, "syntax", token, comma if word == "," else None)
            elif word == ",":
                if pending[-1].token.kind != "call":
                    raise wrong("comma in plain parentheses", "syntax", token, comma)
                value_expected = True
            else:
                depth -= 1
                _, opening, below = pending.pop()
                if opening.kind == "call":
                    count = len(operands) - below
                    least, most, build = CALLS[opening.text]
                    if count < least or (most is not None and count > most):
                        needs = f"{least}" if most is not None else f"{least} or more"
                        raise wrong(f"'{opening.text}' takes {needs} arguments, not {count}", "arguments", opening)
                    apply(build, count, opening)
        else:
            raise wrong(f"an operator is missing before {token.shown}", "syntax", token)
    return operands[0]
