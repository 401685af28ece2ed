r"""Formulas in LaTeX as plain text and as MathML.

Read is the part of LaTeX that linkwork writes: letters, numbers, operators, ^ _ ', \frac \sqrt \dot \ddot \hat
\mathrm \text \operatorname, \left \right, bmatrix and cases, Greek letters and functions.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field

TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?|\s+|.", re.DOTALL)
POWER_OF_TEN = re.compile(r" \\cdot 10\^\{(-?[0-9]+)\}")
GREEK = re.compile(  # these are names of characters in HTML, too
    "alpha|beta|gamma|delta|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|upsilon|chi|psi|omega|"
    "Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega|varphi|varepsilon"
)
PLAIN_GREEK = {"varphi": "phi", "varepsilon": "eps", "lambda": "lam"}
FUNCTIONS = frozenset(["sin", "cos", "tan", "tanh", "log", "exp", "min", "max", "arcsin", "arccos", "arctan"])
OPERATORS = {"cdot": "·", "le": "≤", "lvert": "|", "rvert": "|", "ldots": "…", "neq": "≠", "wedge": "^", "sim": "~"}
PLAIN_OPERATORS = {"cdot": "*", "le": "<=", "ldots": "...", "neq": "!="}
ACCENTS = {"dot": ("˙", "'"), "ddot": ("¨", "''"), "hat": ("^", "_hat")}
SPACES = {"quad": "   ", ",": " ", ";": " ", " ": " "}


@dataclass(frozen=True)
class Node:
    """A piece of a formula: `kind`, its text, and the pieces it is made of."""

    kind: str
    text: str = ""
    parts: tuple[Node, ...] = ()
    rows: tuple[tuple[Node, ...], ...] = field(default=())


class _Reader:
    def __init__(self, latex: str) -> None:
        self.tokens: list[str] = TOKEN.findall(latex)
        self.k = 0

    def peek(self) -> str:
        while self.k < len(self.tokens) and self.tokens[self.k].isspace():
            self.k += 1
        return self.tokens[self.k] if self.k < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.k += 1
        return token

    def row(self, *ends: str) -> Node:
        parts: list[Node] = []
        while (token := self.peek()) and token not in ends:
            parts.append(self.scripted())
        return parts[0] if len(parts) == 1 else Node("row", parts=tuple(parts))

    def scripted(self) -> Node:
        base = self.atom()
        below, above, strokes = Node("none"), Node("none"), ""
        while self.peek() in ("^", "_", "'"):
            mark = self.take()
            if mark == "'":
                strokes += "'"
            elif mark == "_":
                below = self.group()
            else:
                above = self.group()
        if strokes:
            above = Node("operator", strokes)
        return base if below.kind == above.kind == "none" else Node("script", parts=(base, below, above))

    def group(self) -> Node:
        if self.peek() != "{":
            return self.atom()
        self.take()
        inside = self.row("}")
        self.take()
        return inside

    def word(self) -> str:
        """The raw text in braces, escapes undone."""
        self.take()
        text, depth = "", 1
        while self.k < len(self.tokens):
            token = self.tokens[self.k]
            self.k += 1
            depth += (token == "{") - (token == "}")
            if not depth:
                break
            text += _plain_escape(token)
        return text

    def atom(self) -> Node:
        token = self.take()
        if not token.startswith("\\"):
            if token == "{":
                self.k -= 1
                return self.group()
            if token[0].isdigit():
                return Node("number", token)
            return Node("letter" if token.isalpha() else "operator", token)
        name = token[1:]
        if name == "frac":
            return Node("frac", parts=(self.group(), self.group()))
        if name == "sqrt":
            return Node("sqrt", parts=(self.group(),))
        if name in ACCENTS:
            return Node("accent", name, (self.group(),))
        if name in ("mathrm", "text"):
            return Node("word", self.word())
        if name == "operatorname":
            return Node("function", self.word())
        if name == "left":
            left = self.fence()
            inside = self.row("\\right")
            self.take()
            return Node("fence", left + self.fence(), (inside,))
        if name == "begin":
            return self.environment(self.word())
        if name in FUNCTIONS:
            return Node("function", name)
        if GREEK.fullmatch(name):
            return Node("greek", name)
        if name in SPACES:
            return Node("space", SPACES[name])
        if name in OPERATORS:
            return Node("operator", name)
        return Node("word", _plain_escape(token))

    def fence(self) -> str:
        return {"\\lvert": "|", "\\rvert": "|"}.get(token := self.take(), token)

    def environment(self, name: str) -> Node:
        rows: list[tuple[Node, ...]] = []
        cells: list[Node] = []
        while True:
            cells.append(self.row("&", "\\\\", "\\end"))
            token = self.take()
            if token != "&":
                rows.append(tuple(cells))
                cells = []
            if token in ("\\end", ""):
                self.word()
                return Node("matrix", name, rows=tuple(rows))


def _plain_escape(token: str) -> str:
    return {"\\backslash": "\\", "\\wedge": "^", "\\sim": "~"}.get(token, token.removeprefix("\\"))


def read(latex: str) -> Node:
    return _Reader(latex).row()


# Plain text


@dataclass(frozen=True)
class Box:
    """Lines of equal length; `base` is the one that stands on the line of the formula."""

    lines: tuple[str, ...]
    base: int = 0

    @property
    def text(self) -> str:
        return self.lines[self.base]


def _beside(boxes: list[Box]) -> Box:
    above = max((box.base for box in boxes), default=0)
    below = max((len(box.lines) - box.base for box in boxes), default=1)
    lines = [""] * (above + below)
    for box in boxes:
        width = len(box.text)
        for k in range(len(lines)):
            inside = k - above + box.base
            lines[k] += box.lines[inside] if 0 <= inside < len(box.lines) else " " * width
    return Box(tuple(lines), above)


def plain(latex: str) -> str:
    """The formula as text; matrices take several lines."""
    return "\n".join(line.rstrip() for line in _box(read(POWER_OF_TEN.sub(r"e\1", latex))).lines)


def _box(node: Node) -> Box:
    if node.kind == "row":
        return _plain_row(node.parts)
    if node.kind == "matrix":
        return _plain_matrix(node)
    if node.kind == "fence":
        inside = _box(node.parts[0])
        if len(inside.lines) > 1:
            return _beside([Box((node.text[0],)), inside, Box((node.text[-1],))])
        return Box((f"{node.text[0]}{inside.text}{node.text[-1]}",))
    return Box((_plain(node),))


def _plain(node: Node) -> str:
    if node.kind == "frac":
        above, below = (_box(part).text for part in node.parts)
        above = f"({above})" if node.parts[0].kind == "row" else above
        simple = node.parts[1].kind in ("number", "letter", "greek", "word", "sqrt", "script")
        return f"{above}/{below}" if simple else f"{above}/({below})"
    if node.kind == "sqrt":
        return f"sqrt({_box(node.parts[0]).text})"
    if node.kind == "accent":
        return _box(node.parts[0]).text + ACCENTS[node.text][1]
    if node.kind == "script":
        return _plain_script(node)
    if node.kind == "greek":
        return PLAIN_GREEK.get(node.text, node.text)
    if node.kind == "operator":
        return PLAIN_OPERATORS.get(node.text, OPERATORS.get(node.text, node.text))
    if node.kind in ("row", "fence", "matrix"):
        return _box(node).text
    return node.text


def _plain_script(node: Node) -> str:
    base, below, above = node.parts
    strokes = ""
    if base.kind == "accent" and base.text != "hat":  # q'3 is written q3'
        strokes, base = ACCENTS[base.text][1], base.parts[0]
    text = _plain(base)
    if below.kind != "none":
        index = _box(below).text.replace(" ", "")
        text += index if index.isdigit() and text[-1:].isalpha() else f"_{index}"
    text += strokes
    if above.kind == "operator" and set(above.text) == {"'"}:
        return text + above.text
    if above.kind != "none":
        power = _box(above).text.replace(" ", "")
        text += f"^{power}" if re.fullmatch(r"-?[\w/]+|\+", power) else f"^({power})"
    return text


def _plain_row(parts: tuple[Node, ...]) -> Box:
    boxes: list[Box] = []
    before = Node("operator", "(")
    for part in parts:
        if gap := _gap(before, part):
            boxes.append(Box((gap,)))
        boxes.append(_box(part))
        leads = before.kind == "operator" and before.text not in (")", "]", "rvert")
        before = Node("sign") if leads and part.kind == "operator" and part.text in "+-" else part
    return _beside(boxes)


def _gap(before: Node, part: Node) -> str:
    """A blank between factors and around relations, none after an opening sign or before a comma."""
    if part.kind == "space" or before.kind in ("space", "sign"):
        return ""
    if part.kind == "operator" and part.text in (",", ")", ".", "]", "[", "cdot", "rvert", "/"):
        return ""
    if before.kind == "operator" and before.text in ("(", "[", "cdot", "lvert", "/"):
        return ""
    if part.kind == "operator" and part.text == "(" and before.kind != "operator":
        return ""
    if part.kind == "fence" and (before.kind == "function" or _power_of_function(before)):
        return ""
    return " "


def _power_of_function(node: Node) -> bool:
    return node.kind == "script" and node.parts[0].kind == "function"


def _plain_matrix(node: Node) -> Box:
    cells = [[_box(cell).text for cell in row] for row in node.rows]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=False)]
    rows = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=False)) for row in cells]
    return Box(tuple(f"[ {row} ]" for row in rows), (len(rows) - 1) // 2)


# MathML


def mathml(latex: str, display: bool = False) -> str:
    kind = ' display="block"' if display else ""
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"{kind}>{_ml(read(latex))}</math>'


def _ml(node: Node) -> str:
    text = html.escape(node.text)
    simple: dict[str, Callable[[], str]] = {
        "number": lambda: f"<mn>{text}</mn>",
        "letter": lambda: f"<mi>{text}</mi>",
        "greek": lambda: f"<mi>&{node.text.removeprefix('var')};</mi>",
        "word": lambda: f"<mtext>{text}</mtext>",
        "function": lambda: f'<mspace width="0.17em"/><mi>{text}</mi><mo>&#x2061;</mo><mspace width="0.17em"/>',
        "operator": lambda: f"<mo>{_ml_operator(node.text)}</mo>",
        "space": lambda: f'<mspace width="{0.5 * len(node.text) if len(node.text) > 1 else 0.17}em"/>',
        "none": lambda: "<mrow></mrow>",
        "row": lambda: f"<mrow>{''.join(map(_ml, node.parts))}</mrow>",
        "frac": lambda: f"<mfrac>{''.join(map(_ml_one, node.parts))}</mfrac>",
        "sqrt": lambda: f"<msqrt>{_ml(node.parts[0])}</msqrt>",
        "accent": lambda: f'<mover accent="true">{_ml_one(node.parts[0])}<mo>{ACCENTS[node.text][0]}</mo></mover>',
        "fence": lambda: f"<mrow><mo>{text[0]}</mo>{_ml(node.parts[0])}<mo>{text[-1]}</mo></mrow>",
        "script": lambda: _ml_script(node),
        "matrix": lambda: _ml_matrix(node),
    }
    return simple[node.kind]()


def _ml_operator(text: str) -> str:
    if set(text) == {"'"}:
        return "&#x2032;" * len(text)
    return "&#x2212;" if text == "-" else html.escape(OPERATORS.get(text, text))


def _ml_one(node: Node) -> str:
    """The piece as exactly one element."""
    return f"<mrow>{_ml(node)}</mrow>"


def _ml_script(node: Node) -> str:
    base, below, above = node.parts
    parts = [f"<mi>{html.escape(base.text)}</mi>" if base.kind == "function" else _ml_one(base)]
    parts += [_ml_one(part) for part in (below, above) if part.kind != "none"]
    tag = "msubsup" if len(parts) == 3 else "msub" if above.kind == "none" else "msup"
    apply = "<mo>&#x2061;</mo>" if base.kind == "function" else ""
    return f"<{tag}>{''.join(parts)}</{tag}>{apply}"


def _ml_matrix(node: Node) -> str:
    rows = "".join(
        f"<mtr>{''.join(f'<mtd>{_ml(cell)}</mtd>' for cell in row)}</mtr>" for row in node.rows
    )  # fmt: skip
    left, right = ("{", "") if node.text == "cases" else ("[", "]")
    return f"<mrow><mo>{left}</mo><mtable>{rows}</mtable><mo>{right}</mo></mrow>"
