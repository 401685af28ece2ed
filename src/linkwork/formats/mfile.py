"""The M-file language as syntax trees; nothing is executed (mcode.py says what statements compute).

A file is a script or a list of functions. A line that cannot be read becomes a statement `Unread` with its error, so
that the reader of the statements decides whether it matters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from linkwork.errors import ModelError
from linkwork.units import shown

MAX_DEPTH = 50  # of parentheses, far below Python's limit of recursion
MAX_HEIGHT = 200  # of a syntax tree, which is followed by recursion
MAX_LINE = 10_000  # characters; no M-file written by hand has longer ones

TOKEN = re.compile(
    r"(?P<space>[ \t]+|\.\.\.[^\n]*\n|[%#][^\n]*)|(?P<line>\n)"
    r"|(?P<number>(?:\d+(?:\.(?!\.\.|[*/^\\'])\d*)?|\.\d+)(?:[eEdD][-+]?\d+)?)"
    r"|(?P<name>[A-Za-z]\w*)|(?P<sign>==|~=|!=|<=|>=|&&|\|\||\.[*/^]|[-+*/^=()\[\],;.<>~&|:])|(?P<other>.)",
    re.DOTALL,
)
GLUED = re.compile(r"\.?\w[\w.]*")  # behind a number
QUOTED = re.compile(r"'((?:[^'\n]|'')*)'|\"([^\"\n]*)\"")
BLOCK_COMMENT = re.compile(r"^[ \t]*%\{[ \t]*\n.*?^[ \t]*%\}[ \t]*$", re.DOTALL | re.MULTILINE)
LOOPS = ("for", "parfor", "while")
BLOCKS = (*LOOPS, "switch", "try")  # blocks that are not followed
PARTS = ("case", "otherwise", "catch")  # of such blocks
JUMPS = ("return", "break", "continue")
KEYWORDS = ("function", "end", "if", "elseif", "else", *BLOCKS, *PARTS, *JUMPS)
COMMANDS = ("global", "persistent", "clear", "clc", "close", "format")  # words that change nothing of a model
COMPARISONS = ("<", "<=", ">", ">=", "==", "~=", "!=")
# Operators, the weakest first; signs and powers bind more than these.
GROUPS = (("||",), ("&&",), ("|",), ("&",), COMPARISONS, (":",), ("+", "-"), ("*", "/", ".*", "./"))
ORDER = {sign: order for order, signs in enumerate(GROUPS) for sign in signs}
POWERS = ("^", ".^")
NOT_EXECUTED = "nothing in an M-file is executed"


@dataclass(frozen=True)
class Node:
    """A part of an expression: its kind and parts.

    number, text, name; field (of, name); call (of, arguments), also an index; array (rows of nodes); range (from, to)
    or (from, step, to); all (a bare colon); last (`end` in an index); transpose, minus, not; else an operator with two.
    """

    kind: str
    parts: tuple[Any, ...]
    line: int
    height: int = 1


@dataclass(frozen=True)
class Assign:
    line: int
    target: Node
    value: Node


@dataclass(frozen=True)
class Evaluate:
    """An expression whose value goes nowhere: a call."""

    line: int
    value: Node


@dataclass(frozen=True)
class If:
    """Conditions with what is done where they are the first to hold; the condition None always holds."""

    line: int
    branches: tuple[tuple[Node | None, tuple[Statement, ...]], ...]


@dataclass(frozen=True)
class Unread:
    """What is not understood, and the statements in it."""

    line: int
    error: ModelError
    body: tuple[Statement, ...] = ()


Statement: TypeAlias = Assign | Evaluate | If | Unread


@dataclass(frozen=True)
class Function:
    """A function of a file, or with the name "" the statements of a script."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    body: tuple[Statement, ...]
    line: int


class _Token(NamedTuple):
    kind: str
    text: str
    line: int
    spaced: bool  # whether blanks stand before it


def parse(text: str, file: str) -> list[Function]:
    """Return the functions of an M-file in their order."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_LINE:
            message = f"a line of {len(line)} characters, more than {MAX_LINE}"
            raise ModelError(message, "too-long", file=file, line=number, rule=NOT_EXECUTED)
    return _Parser(_tokens(text, file), file).functions()


def _tokens(text: str, file: str) -> list[_Token]:
    text = BLOCK_COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    found: list[_Token] = []
    at, line, spaced = 0, 1, False
    while at < len(text):
        last = found[-1] if found else None
        transposed = "'" if text[at] == "'" else ".'"  # numbers here are real
        if (
            text.startswith(transposed, at)
            and last
            and not spaced
            and (last.kind in ("number", "name") or last.text in (")", "]", "'"))
        ):
            found.append(_Token("sign", "'", line, False))
            at += len(transposed)
            continue
        if quoted := QUOTED.match(text, at):
            words = quoted[2] if quoted[1] is None else quoted[1].replace("''", "'")
            found.append(_Token("text", words, line, spaced))
            at, spaced = quoted.end(), False
            continue
        token = TOKEN.match(text, at)
        assert token is not None  # every character matches
        kind, at = token.lastgroup or "", token.end()
        words = token[0]
        if kind == "number" and (rest := GLUED.match(text, at)):
            kind, words, at = "glued", words + rest[0], rest.end()
        if kind != "space":
            found.append(_Token(kind, words, line, spaced))
        spaced = kind == "space"
        line += token[0].count("\n")
    return [*found, _Token("line", "\n", line, False)]


class _Parser:
    """Statements from tokens by recursive descent; inside brackets blanks and line ends separate."""

    def __init__(self, tokens: Sequence[_Token], file: str) -> None:
        self.tokens, self.file = tokens, file
        self.at, self.depth = 0, 0
        self.in_array, self.in_index = False, False

    @property
    def token(self) -> _Token:
        return self.tokens[min(self.at, len(self.tokens) - 1)]

    @property
    def is_over(self) -> bool:
        return self.at >= len(self.tokens)

    def error(self, message: str, code: str = "m-file-syntax", **more: Any) -> ModelError:
        return ModelError(message, code, file=self.file, line=self.token.line, **more)

    def next(self, *texts: str) -> _Token | None:
        """Return the next token if it is one of these."""
        if self.token.kind in ("sign", "line") and self.token.text in texts:
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def expect(self, text: str) -> None:
        if not self.next(text):
            seen = "the end of the line" if self.token.kind == "line" else f"'{shown(self.token.text)}'"
            raise self.error(f"{seen} where '{text}' should be")

    def keyword(self) -> str:
        """Return the keyword that comes, "" if something else does."""
        is_one = not self.is_over and self.token.kind == "name" and self.token.text in KEYWORDS
        return self.token.text if is_one else ""

    # Functions and statements

    def functions(self) -> list[Function]:
        found: list[Function] = []
        start = self.token.line
        if script := self.body("function"):
            found.append(Function("", (), (), script, start))
        while not self.is_over:
            if self.keyword() == "function":
                name, inputs, outputs, line = self.head()
                found.append(Function(name, inputs, outputs, self.body("function"), line))
            else:
                line, self.at = self.token.line, self.at + 1  # the `end` of a function
                if after := self.body():
                    found.append(Function("", (), (), after, line))
        return found

    def head(self) -> tuple[str, tuple[str, ...], tuple[str, ...], int]:
        """Read function [outputs] = name(inputs), over several lines if its brackets are."""
        line, first = self.token.line, self.at + 1
        self.skip_line()
        words = [token for token in self.tokens[first : self.at] if token.kind != "line"]
        equals = next((k for k, token in enumerate(words) if token.text == "="), -1)
        before, after = (
            [t.text for t in part if t.kind == "name"] for part in (words[: equals + 1], words[equals + 1 :])
        )
        return (after[0] if after else "", tuple(after[1:]), tuple(before), line)

    def body(self, *ends: str) -> tuple[Statement, ...]:
        """Return statements up to one of these keywords or an `end`, which stays to be read."""
        found: list[Statement] = []
        self.deeper()
        while not self.is_over and self.keyword() not in ("end", "function", *ends):
            if not self.next("\n", ";", ","):
                found.extend(self.statement())
        self.depth -= 1
        return tuple(found)

    def close(self) -> None:
        """Read the `end` of a block."""
        if self.keyword() == "end":
            self.at += 1

    def statement(self) -> list[Statement]:
        start, first, depth = self.token, self.at, self.depth
        if start.kind == "name" and start.text in COMMANDS and self.tokens[self.at + 1].text not in ("=", "(", "."):
            self.skip_line()
            return []
        try:
            if self.keyword() == "if":
                return [self.conditional()]
            if word := self.keyword():
                return [self.block(word)]
            value = self.expression()
            found: Statement = Evaluate(start.line, value)
            if self.next("="):
                found = Assign(start.line, value, self.expression())
            if not self.next("\n", ";", ",") and not self.is_over:
                raise self.error(f"'{shown(self.token.text)}' where the statement should end")
            return [found]
        except ModelError as error:
            self.at, self.depth, self.in_array, self.in_index = max(self.at, first + 1), depth, False, False
            self.skip_line()
            return [Unread(start.line, error)]

    def conditional(self) -> If:
        line, branches = self.token.line, []
        word = "if"
        while word in ("if", "elseif", "else"):
            self.at += 1
            condition = None if word == "else" else self.expression()
            branches.append((condition, self.body("elseif", "else")))
            word = self.keyword() if branches[-1][0] is not None else "end"
        self.close()
        return If(line, tuple(branches))

    def block(self, word: str) -> Unread:
        what = f"a loop '{word}'" if word in LOOPS else f"'{word}'"
        error = self.error(f"{what} is code that is not followed", "m-file-code", rule=NOT_EXECUTED)
        line = self.token.line
        self.at += 1
        self.skip_statement()
        if word not in BLOCKS:
            return Unread(line, error)
        body: list[Statement] = []
        while True:
            body.extend(self.body(*PARTS))
            if self.keyword() not in PARTS:
                break
            self.at += 1
            self.skip_statement()
        self.close()
        return Unread(line, error, tuple(body))

    def skip_line(self) -> None:
        """Go to the end of the line; brackets may span lines."""
        depth = 0
        while not self.is_over and not (depth <= 0 and self.token.kind == "line"):
            if self.token.kind == "sign":
                depth += (self.token.text in "([") - (self.token.text in ")]")
            self.at += 1

    def skip_statement(self) -> None:
        """Go to the end of the head of a block."""
        depth = 0
        while not self.is_over and not (depth <= 0 and (self.token.kind == "line" or self.token.text in (";", ","))):
            if self.token.kind == "sign":
                depth += (self.token.text in "([") - (self.token.text in ")]")
            self.at += 1

    # Expressions

    def node(self, kind: str, line: int, *parts: Any) -> Node:
        inner = [x for part in parts for x in (part if isinstance(part, tuple) else (part,)) if isinstance(x, Node)]
        height = 1 + max((x.height for x in inner), default=0)
        if height > MAX_HEIGHT:
            raise self.error(f"more than {MAX_HEIGHT} operations on each other", "too-deep")
        return Node(kind, parts, line, height)

    def expression(self, least: int = 0) -> Node:
        """Return a value and what operators from this order on join to it."""
        node = self.signed()
        while self.operator(ORDER) and ORDER[self.token.text] >= least:
            sign = self.token
            self.at += 1
            right = self.expression(ORDER[sign.text] + 1)
            if sign.text != ":":
                node = self.node(sign.text.replace("!=", "~="), sign.line, node, right)
            elif node.kind == "range" and len(node.parts) == 2:
                node = self.node("range", sign.line, *node.parts, right)
            else:
                node = self.node("range", sign.line, node, right)
        return node

    def operator(self, signs: Collection[str]) -> bool:
        """Tell whether one of these operators comes; in an array `1 -2` are two numbers, `1 - 2` is one."""
        token = self.token
        if token.kind != "sign" or token.text not in signs:
            return False
        following = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        return not (self.in_array and token.text in "+-" and token.spaced and not following.spaced)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"nested more than {MAX_DEPTH} levels deep", "too-deep")

    def signed(self) -> Node:
        """Return a value with its signs and powers; -2^2 is -(2^2), and 2^-2 may be written."""
        self.deeper()
        if sign := self.next("-", "+", "~"):
            node = self.signed()
            if sign.text != "+":
                node = self.node("minus" if sign.text == "-" else "not", sign.line, node)
        else:
            node = self.reference()
            while self.operator(POWERS):
                power = self.token
                self.at += 1
                node = self.node(power.text, power.line, node, self.exponent())
        self.depth -= 1
        return node

    def exponent(self) -> Node:
        if not (sign := self.next("-", "+")):
            return self.reference()
        self.deeper()
        node = self.exponent()
        self.depth -= 1
        return self.node("minus", sign.line, node) if sign.text == "-" else node

    def reference(self) -> Node:
        """Return a number, a text, an array, something in brackets, or a name with its fields and arguments."""
        token = self.token
        self.at += 1
        if token.kind == "number":
            node = Node("number", (self.finite(token),), token.line)
        elif token.kind == "text":
            node = Node("text", (token.text,), token.line)
        elif token.text == "[" and token.kind == "sign":
            node = self.array(token.line)
        elif token.text == "(" and token.kind == "sign":
            node = self.inside()
            self.expect(")")
        elif self.in_index and (token.text == ":" or (token.kind == "name" and token.text == "end")):
            node = Node("all" if token.text == ":" else "last", (), token.line)
        elif token.kind == "name" and token.text not in KEYWORDS:
            node = self.named(token)
        else:
            self.at -= 1
            if token.kind == "glued":
                raise self.error(f"'{shown(token.text)}' is not a number", "not-a-number")
            if token.kind == "other":
                raise self.error(f"{shown(token.text)!r} cannot stand here", rule=NOT_EXECUTED)
            seen = "the line ends" if token.kind == "line" else f"'{shown(token.text)}' stands"
            raise self.error(f"{seen} where a value should be")
        while (not self.token.spaced or not self.in_array) and self.next("'"):
            node = self.node("transpose", token.line, node)
        return node

    def named(self, token: _Token) -> Node:
        node = Node("name", (token.text,), token.line)
        while not (self.in_array and self.token.spaced):
            if self.next("."):
                if self.token.kind != "name":
                    raise self.error("a field needs a name")
                node = self.node("field", token.line, node, self.token.text)
                self.at += 1
            elif self.next("("):
                node = self.node("call", token.line, node, *self.arguments())
            else:
                break
        return node

    def finite(self, token: _Token) -> float:
        value = float(token.text.lower().replace("d", "e"))
        if not math.isfinite(value):
            raise ModelError(
                f"{shown(token.text)} is not a finite number", "not-finite", file=self.file, line=token.line
            )
        return value

    def inside(self, in_index: bool = False) -> Node:
        """Return an expression in round brackets, where blanks mean nothing."""
        before = self.in_array, self.in_index
        self.in_array, self.in_index = False, in_index or self.in_index
        node = self.expression()
        self.in_array, self.in_index = before
        return node

    def arguments(self) -> Iterator[Node]:
        first = True
        while not self.next(")"):
            if not first:
                self.expect(",")
            first = False
            yield self.inside(in_index=True)

    def array(self, line: int) -> Node:
        before = self.in_array, self.in_index
        self.in_array, self.in_index = True, False
        rows: list[list[Node]] = [[]]
        while not self.next("]"):
            if self.at >= len(self.tokens) - 1:
                raise ModelError("'[' is never closed", "m-file-syntax", file=self.file, line=line)
            if self.next(";", "\n"):
                rows.append([])
            elif not self.next(","):
                rows[-1].append(self.expression())
        self.in_array, self.in_index = before
        return self.node("array", line, *(tuple(row) for row in rows if row))


def walk(node: Node) -> Iterator[Node]:
    """Return the node and all in it."""
    yield node
    for part in node.parts:
        for inner in part if isinstance(part, tuple) else (part,):
            if isinstance(inner, Node):
                yield from walk(inner)


def calls_in(body: Sequence[Statement]) -> Iterator[tuple[Node, int]]:
    """Return all that statements name or call, with their lines; in blocks that are not followed too."""
    for statement in body:
        inner: tuple[tuple[Node | None, tuple[Statement, ...]], ...] = ()
        nodes: tuple[Node | None, ...] = ()
        if isinstance(statement, If):
            inner, nodes = statement.branches, tuple(condition for condition, _ in statement.branches)
        elif isinstance(statement, Unread):
            inner = ((None, statement.body),)
        else:
            nodes = (statement.value,)
        for node in nodes:
            yield from ((x, x.line) for x in (walk(node) if node is not None else ()) if x.kind in ("call", "name"))
        for _, more in inner:
            yield from calls_in(more)


def called(node: Node) -> str:
    """Return the function that an expression calls or names, "" if it is anything else."""
    inner = node.parts[0] if node.kind == "call" else node
    return str(inner.parts[0]) if inner.kind == "name" else ""
