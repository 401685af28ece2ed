"""M-files as data: assignments of numbers, texts, arrays and structures are read, nothing is executed.

A file becomes a list of statements, each a tree of nodes. `assign` carries out the assignments of a file that holds
data only; in files that hold formulas the trees are looked through for what is known (dap_files.py).
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from linkwork.errors import ModelError, did_you_mean
from linkwork.units import shown

MAX_DEPTH = 50
MAX_TERMS = 200
MAX_FIELDS = 200

TOKEN = re.compile(
    r"(?P<space>[ \t]+|\.\.\.[^\n]*\n|%[^\n]*)|(?P<line>\n)"
    r"|(?P<number>(?:\d+(?:\.(?!\.\.)\d*)?|\.\d+)(?:[eEdD][-+]?\d+)?)"
    r"|(?P<name>[A-Za-z]\w*)|(?P<sign>==|~=|<=|>=|&&|\|\||\.[*/^]|[-+*/^=()\[\],;.<>~&|:])|(?P<other>.)",
    re.DOTALL,
)
GLUED = re.compile(r"\.?\w[\w.]*")  # behind a number
QUOTED = re.compile(r"'((?:[^'\n]|'')*)'|\"([^\"\n]*)\"")
BLOCK_COMMENT = re.compile(r"^[ \t]*%\{[ \t]*\n.*?^[ \t]*%\}[ \t]*$", re.DOTALL | re.MULTILINE)
LOOPS = ("for", "parfor", "while")
BRANCHES = ("if", "elseif", "else", "switch", "case", "otherwise", "try", "catch", "return", "break", "continue")
KEYWORDS = ("function", "end", *LOOPS, *BRANCHES)
FUNCTIONS: dict[str, Callable[..., float]] = {
    **{"sqrt": math.sqrt, "sin": math.sin, "cos": math.cos, "tan": math.tan, "abs": abs, "exp": math.exp},
    **{"asin": math.asin, "acos": math.acos, "atan": math.atan, "atan2": math.atan2, "log": math.log},
    "deg2rad": math.radians,
}
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": operator.pow}
}
ORDERS = ("+-", "*/", "^")  # operators, the weakest first
DATA_ONLY = "this file may only assign numbers, texts, arrays and structures; nothing in it is executed"


@dataclass(frozen=True)
class Node:
    """A part of an expression: its kind ("number", "text", "name", "call", "field", "array" or an operator)."""

    kind: str
    parts: tuple[Any, ...]
    line: int


@dataclass(frozen=True)
class Statement:
    """target = value; without a target an expression, without a value a keyword such as `if`, or unread `words`."""

    line: int
    target: Node | None = None
    value: Node | None = None
    keyword: str = ""
    words: tuple[str, ...] = ()


@dataclass
class Structure:
    """Fields with the lines where they were assigned; `name` is the variable that holds the structure."""

    name: str
    line: int
    fields: dict[str, tuple[Value, int]] = field(default_factory=dict)


Value: TypeAlias = "float | str | list[Any] | Structure"


class _Token(NamedTuple):
    kind: str
    text: str
    line: int
    spaced: bool  # whether blanks stand before it


def statements(text: str, file: str, lenient: bool = False) -> list[Statement]:
    """What an M-file says, in order; leniently, a line that cannot be read becomes a statement of its words."""
    return _Parser(_tokens(text, file, lenient), file).statements(lenient)


def _tokens(text: str, file: str, lenient: bool) -> list[_Token]:
    text = BLOCK_COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    found: list[_Token] = []
    at, line, spaced = 0, 1, False
    while at < len(text):
        last = found[-1] if found else None
        if text[at] == "'" and last and not spaced and (last.kind in ("number", "name") or last.text in (")", "]")):
            at += 1  # a transposition: rows and columns are one
            continue
        if quoted := QUOTED.match(text, at):
            words = quoted[2] if quoted[1] is None else quoted[1].replace("''", "'")
            found.append(_Token("text", words, line, spaced))
            at, spaced = quoted.end(), False
            continue
        token = TOKEN.match(text, at)
        assert token is not None  # every character matches
        kind = token.lastgroup or ""
        if kind == "other" and not lenient:
            message = f"{shown(token[0])!r} cannot stand here"
            raise ModelError(message, "m-file-syntax", file=file, line=line, rule=DATA_ONLY)
        at = token.end()
        if kind == "number" and not lenient and (rest := GLUED.match(text, at)):
            message = f"'{shown(token[0] + rest[0])}' is not a number"
            raise ModelError(message, "not-a-number", file=file, line=line)
        if kind != "space":
            found.append(_Token(kind, token[0], line, spaced))
        spaced = kind == "space"
        line += token[0].count("\n")
    return [*found, _Token("line", "\n", line, False)]


class _Parser:
    """Statements from tokens by recursive descent; inside brackets blanks and line ends separate."""

    def __init__(self, tokens: Sequence[_Token], file: str) -> None:
        self.tokens, self.file = tokens, file
        self.at, self.depth = 0, 0
        self.in_array = False

    @property
    def token(self) -> _Token:
        return self.tokens[min(self.at, len(self.tokens) - 1)]

    def error(self, message: str, code: str = "m-file-syntax", **more: Any) -> ModelError:
        return ModelError(message, code, file=self.file, line=self.token.line, **more)

    def next(self, *texts: str) -> _Token | None:
        """The next token if it is one of these."""
        if self.token.kind in ("sign", "line") and self.token.text in texts:
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def expect(self, text: str) -> None:
        if not self.next(text):
            seen = "the end of the line" if self.token.kind == "line" else f"'{shown(self.token.text)}'"
            raise self.error(f"{seen} where '{text}' should be")

    def statements(self, lenient: bool) -> list[Statement]:
        found: list[Statement] = []
        while self.at < len(self.tokens):
            if self.next("\n", ";", ","):
                continue
            first = self.at
            try:
                found.append(self.statement())
            except ModelError:
                if not lenient:
                    raise
                self.at, self.depth, self.in_array = max(self.at, first + 1), 0, False
                self.skip_line()
                words = tuple(token.text for token in self.tokens[first : self.at])
                found.append(Statement(self.tokens[first].line, words=words))
        return found

    def statement(self) -> Statement:
        start = self.token
        if start.kind == "name" and start.text in KEYWORDS:
            self.skip_line()
            return Statement(start.line, keyword=start.text)
        value = self.expression()
        found = Statement(start.line, None, value)
        if self.next("="):
            found = Statement(start.line, value, self.expression())
        if not self.next("\n", ";", ","):
            raise self.error(f"'{shown(self.token.text)}' where the statement should end")
        return found

    def skip_line(self) -> None:
        """Leave out the condition of a keyword or the head of a function, whose brackets may span lines."""
        depth = 0
        while self.at < len(self.tokens) and not (depth <= 0 and self.token.kind == "line"):
            if self.token.kind == "sign":
                depth += (self.token.text == "(") - (self.token.text == ")")
            self.at += 1

    def expression(self, order: int = 0) -> Node:
        if order == len(ORDERS):
            return self.signed()
        node, terms = self.expression(order + 1), 1
        while self.operator(ORDERS[order]):
            sign = self.tokens[self.at]
            self.at, terms = self.at + 1, terms + 1
            if terms > MAX_TERMS:
                raise self.error(f"more than {MAX_TERMS} terms or factors", "too-deep")
            node = Node(sign.text[-1], (node, self.expression(order + 1)), sign.line)
        return node

    def operator(self, signs: str) -> bool:
        """Whether one of these operators comes; in an array `1 -2` are two numbers, `1 - 2` is one."""
        token = self.token
        if token.kind != "sign" or token.text.removeprefix(".") not in tuple(signs) or token.text == ".":
            return False
        following = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        return not (self.in_array and token.text in "+-" and token.spaced and not following.spaced)

    def signed(self) -> Node:
        """A value with its signs; -2^2 is -(2^2), and 2^-2 may be written."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"nested more than {MAX_DEPTH} levels deep", "too-deep")
        if sign := self.next("-", "+"):
            node = self.expression(len(ORDERS) - 1)
            node = Node("-", (Node("number", (0.0,), sign.line), node), sign.line) if sign.text == "-" else node
        else:
            node = self.reference()
        self.depth -= 1
        return node

    def reference(self) -> Node:
        """A number, a text, an array, something in brackets, or a name with its fields and arguments."""
        token = self.token
        self.at += 1
        if token.kind == "number":
            node = Node("number", (_finite(token, self.file),), token.line)
        elif token.kind == "text":
            node = Node("text", (token.text,), token.line)
        elif token.text == "[":
            node = self.array(token.line)
        elif token.text == "(":
            node = self.inside()
            self.expect(")")
        elif token.kind == "name" and token.text not in KEYWORDS:
            node = Node("name", (token.text,), token.line)
            while not (self.in_array and self.token.spaced):
                if self.next("."):
                    if self.token.kind != "name":
                        raise self.error("a field needs a name")
                    node = Node("field", (node, self.token.text), token.line)
                    self.at += 1
                elif self.next("("):
                    node = Node("call", (node, *self.arguments()), token.line)
                else:
                    break
        else:
            self.at -= 1
            seen = "the line ends" if token.kind == "line" else f"'{shown(token.text)}' stands"
            raise self.error(f"{seen} where a value should be")
        return node

    def inside(self) -> Node:
        """An expression in round brackets, where blanks mean nothing."""
        before, self.in_array = self.in_array, False
        node = self.expression()
        self.in_array = before
        return node

    def arguments(self) -> list[Node]:
        found: list[Node] = []
        while not self.next(")"):
            if found:
                self.expect(",")
            found.append(self.inside())
        return found

    def array(self, line: int) -> Node:
        before, self.in_array = self.in_array, True
        items: list[Node] = []
        while not self.next("]"):
            if self.at >= len(self.tokens) - 1:
                raise ModelError("'[' is never closed", "m-file-syntax", file=self.file, line=line)
            if not self.next(",", ";", "\n"):
                items.append(self.expression())
        self.in_array = before
        return Node("array", tuple(items), line)


def _finite(token: _Token, file: str) -> float:
    value = float(token.text.lower().replace("d", "e"))
    if not math.isfinite(value):
        raise ModelError(f"{shown(token.text)} is not a finite number", "not-finite", file=file, line=token.line)
    return value


def assign(text: str, file: str) -> dict[str, tuple[Value, int]]:
    """The variables after the assignments of a file, with their lines; anything but assignments is refused."""
    names: dict[str, tuple[Value, int]] = {}
    for statement in statements(text, file):
        target, value = statement.target, statement.value
        if statement.keyword in ("function", "end") or (
            value and target is None and value.parts == ("include_global",)
        ):
            continue
        if target is None or value is None:
            what = _said(statement)
            raise ModelError(f"{what} is code", "m-file-code", file=file, line=statement.line, rule=DATA_ONLY)
        result = evaluate(value, names, file)
        if target.kind == "name":
            name = target.parts[0]
            if isinstance(result, Structure):
                result = Structure(name, statement.line, dict(result.fields))
            names[name] = result, statement.line
        elif target.kind == "field" and target.parts[0].kind == "name":
            owner = target.parts[0].parts[0]
            holder = names.setdefault(owner, (Structure(owner, statement.line), statement.line))[0]
            if not isinstance(holder, Structure):
                message = f"'{owner}' is no structure"
                raise ModelError(message, "m-file-syntax", file=file, line=statement.line)
            # A new structure, because an array keeps what it was made of.
            fields = {**holder.fields, target.parts[1]: (result, statement.line)}
            if len(fields) > MAX_FIELDS:
                message = f"'{owner}' has more than {MAX_FIELDS} fields"
                raise ModelError(message, "m-file-syntax", file=file, line=statement.line)
            names[owner] = Structure(holder.name, holder.line, fields), names[owner][1]
        else:
            message = "only variables and their fields are assigned"
            raise ModelError(message, "m-file-syntax", file=file, line=statement.line, suggestion="write B1.m = 5.0")
    return names


def _said(statement: Statement) -> str:
    node = statement.value
    if node is None:
        return f"a loop '{statement.keyword}'" if statement.keyword in LOOPS else f"'{statement.keyword}'"
    return f"a call of '{called(node)}'" if called(node) else "a statement that assigns nothing"


def called(node: Node) -> str:
    """The function that an expression calls or names, "" if it is anything else."""
    inner = node.parts[0] if node.kind == "call" else node
    return str(inner.parts[0]) if inner.kind == "name" else ""


def evaluate(node: Node, names: dict[str, tuple[Value, int]], file: str) -> Value:
    """The value of an expression of numbers, texts, arrays and what was assigned before."""

    def fail(message: str, code: str = "not-a-number", **more: Any) -> ModelError:
        return ModelError(message, code, file=file, line=node.line, **more)

    if node.kind in ("number", "text"):
        constant: float | str = node.parts[0]
        return constant
    if node.kind == "name":
        name = node.parts[0]
        if name in names:
            return names[name][0]
        if name == "pi":
            return math.pi
        if name.endswith("_struct"):
            return Structure(name, node.line)
        hint = did_you_mean(name, [*names, "pi"]) if names else None
        raise fail(f"'{shown(name)}' is not a number and was not assigned before", suggestion=hint)
    if node.kind == "array":
        items: list[Any] = []
        for part in node.parts:
            value = evaluate(part, names, file)
            items.extend(value if isinstance(value, list) else [value])
        return items
    if node.kind == "field":
        holder = evaluate(node.parts[0], names, file)
        if not isinstance(holder, Structure) or node.parts[1] not in holder.fields:
            raise fail(f"field '{node.parts[1]}' was not assigned before")
        return holder.fields[node.parts[1]][0]
    values: list[Any] = [
        evaluate(part, names, file) for part in (node.parts[1:] if node.kind == "call" else node.parts)
    ]
    try:
        if node.kind != "call":
            combined: Value = _combine(node.kind, values[0], values[1])
            return combined
        function = FUNCTIONS.get(called(node))
        if function is None:
            hint = "functions that may stand here are " + ", ".join(FUNCTIONS)
            raise fail(f"a call of '{shown(called(node))}' is code", "m-file-code", rule=DATA_ONLY, suggestion=hint)
        result = float(function(*values))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise fail("this is not a number") from None
    if not math.isfinite(result):
        raise fail("this is not a finite number", "not-finite")
    return result


def _combine(sign: str, a: Any, b: Any) -> Any:
    """a sign b; arrays entry by entry, or every entry with a number."""
    if isinstance(a, list) and isinstance(b, list):
        if sign not in "+-" or len(a) != len(b):
            raise ValueError
        return [_combine(sign, x, y) for x, y in zip(a, b, strict=True)]
    if isinstance(a, list):
        return [_combine(sign, x, b) for x in a]
    if isinstance(b, list):
        return [_combine(sign, a, y) for y in b]
    if not isinstance(a, float) or not isinstance(b, float):
        raise TypeError
    found: Any = OPERATORS[sign](a, b)
    if isinstance(found, complex) or not math.isfinite(found):
        raise ValueError
    return found
