"""Formulas as plain text and as MathML; their LaTeX is in writing/notation.py."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from linkwork.writing import notation as n
from linkwork.writing.notation import Formula

PLAIN = {"varphi": "phi", "varepsilon": "eps", "lambda": "lam", n.DOTS: "..."}
MARKS = {"dot": ("˙", "'"), "ddot": ("¨", "''"), "hat": ("^", "_hat")}  # above a letter, and behind it in plain text
MINUS = "\N{MINUS SIGN}"
PRIME = "\N{PRIME}"
SIGNS = {"<=": "≤", "!=": "≠", "-": MINUS}


# Plain text


@dataclass(frozen=True)
class Box:
    """Lines of equal length; `base` is the one that stands on the line of the formula."""

    lines: tuple[str, ...]
    base: int = 0

    @property
    def text(self) -> str:
        return self.lines[self.base]


def plain(x: Formula) -> str:
    """Return the formula as text; matrices take several lines."""
    return "\n".join(line.rstrip() for line in _box(x).lines)


def _beside(*pieces: Formula | str) -> Box:
    boxes = [Box((piece,)) if isinstance(piece, str) else _box(piece) for piece in pieces or ("",)]
    above = max(box.base for box in boxes)
    below = max(len(box.lines) - box.base for box in boxes)
    lines = [""] * (above + below)
    for box in boxes:
        for k in range(len(lines)):
            inside = k - above + box.base
            lines[k] += box.lines[inside] if 0 <= inside < len(box.lines) else " " * len(box.text)
    return Box(tuple(lines), above)


def _between(parts: tuple[Formula, ...], separator: str) -> list[Formula | str]:
    return [piece for part in parts for piece in (separator, part)][1:]


def _box(x: Formula) -> Box:
    match x:
        case n.Script(n.Matrix() as base, above, None) if above is not None:
            return _beside(base, f"^{_box(above).text}")
        case n.Symbol() | n.Number() | n.Function() | n.Quotient() | n.Script():
            return Box((_line(x),))
        case n.Minus(inside):
            return _beside("-", inside)
        case n.Sum(terms):
            rest = [(" - ", t.inside) if isinstance(t, n.Minus) else (" + ", t) for t in terms[1:]]
            return _beside(terms[0], *(piece for pair in rest for piece in pair))
        case n.Product(factors):
            others = n.separators(factors, "*", " ", " ")
            return _beside(factors[0], *(piece for pair in others for piece in pair))
        case n.Root(inside):
            return _beside("sqrt(", inside, ")")
        case n.Fence(inside, marks):
            return _beside(marks[0], inside, marks[1])
        case n.Applied(function, argument):
            return _beside(function, "" if isinstance(argument, n.Fence) else " ", argument)
        case n.Cases(condition, value, otherwise):
            return _beside("if(", condition, ", ", value, ", ", otherwise, ")")
        case n.Relation(sides, sign):
            return _beside(*_between(sides, f" {sign} "))
        case n.Listed(items, wide):
            return _beside(*_between(items, ",   " if wide else ", "))
        case n.Matrix(rows):
            cells = [[_box(cell).text for cell in row] for row in rows]
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            lines = ["  ".join(f"{c:>{width}}" for c, width in zip(row, widths, strict=True)) for row in cells]
            return Box(tuple(f"[ {line} ]" for line in lines), (len(lines) - 1) // 2)
    raise TypeError(f"{type(x).__name__} is not a formula")


def _line(x: Formula) -> str:
    match x:
        case n.Symbol(letter, index, mark):
            text = PLAIN.get(letter, letter)
            below = ",".join(PLAIN.get(word, word) for word in index)
            if below:
                text += below if below.isdigit() and text[-1:].isalpha() else f"_{below}"
            return text + MARKS.get(mark, ("", mark))[1]
        case n.Number(digits, exponent):
            return f"{digits}e{exponent}" if exponent else digits
        case n.Function(name):
            return name
        case n.Quotient(above, below):
            top, bottom = _box(above).text, _box(below).text
            if isinstance(above, n.Sum | n.Product | n.Minus | n.Applied | n.Quotient):
                top = f"({top})"
            alone = isinstance(below, n.Number | n.Symbol | n.Root | n.Script)
            return f"{top}/{bottom}" if alone else f"{top}/({bottom})"
        case n.Script(base, above, below):
            text = _box(base).text + (f"_{_box(below).text}" if below else "")
            power = _box(above).text.replace(" ", "") if above else ""
            if not power:
                return text
            return f"{text}^{power}" if re.fullmatch(r"-?[\w/]+|\+", power) else f"{text}^({power})"
    raise TypeError(f"{type(x).__name__} takes more than a line")


# MathML

THIN = '<mspace width="0.17em"/>'
TALL = ("<mfrac", "<mtable", "<msqrt")  # what brackets grow with; around anything else they stay on the line
APPLY = "<mo>&#x2061;</mo>"


def mathml(x: Formula, display: bool = False) -> str:
    kind = ' display="block"' if display else ""
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"{kind}>{_ml(x)}</math>'


def _operator(sign: str) -> str:
    return f"<mo>{html.escape(SIGNS.get(sign, sign))}</mo>"


def _word(word: str) -> str:
    if n.GREEK.fullmatch(word):
        return f"<mi>&{word.removeprefix('var')};</mi>"
    if word.isdecimal():
        return f"<mn>{word}</mn>"
    if word == n.DOTS:
        return "<mo>…</mo>"
    return f"<mi>{word}</mi>" if len(word) == 1 else f"<mtext>{html.escape(word)}</mtext>"


def _one(*pieces: Formula | str) -> str:
    """Return the pieces, of which strings are operators, as exactly one element."""
    return f"<mrow>{''.join(_operator(p) if isinstance(p, str) else _ml(p) for p in pieces)}</mrow>"


def _symbol(x: n.Symbol) -> tuple[str, str]:
    """Return the letter with its accent, and its subscripts."""
    letter = _word(x.letter)
    if x.mark in MARKS:
        letter = f'<mover accent="true">{letter}<mo>{MARKS[x.mark][0]}</mo></mover>'
    return letter, "<mo>,</mo>".join(map(_word, x.index))


def _scripts(base: str, below: str, above: str) -> str:
    scripts = [f"<mrow>{script}</mrow>" for script in (below, above) if script]
    tag = "m" + ("sub" if below else "") + ("sup" if above else "")
    return f"<{tag}>{base}{''.join(scripts)}</{tag}>" if scripts else base


def _ml(x: Formula) -> str:
    match x:
        case n.Symbol(_, _, mark):
            letter, below = _symbol(x)
            return _scripts(letter, below, "" if mark in MARKS or not mark else f"<mo>{PRIME * len(mark)}</mo>")
        case n.Number(digits, exponent):
            power = f"<mo>·</mo>{_scripts('<mn>10</mn>', '', _ml(n.Number(str(exponent))))}" if exponent else ""
            return f"<mn>{digits.replace('-', MINUS)}</mn>{power}"
        case n.Function(name):
            return f"<mi>{name}</mi>"
        case n.Minus(inside):
            return _one("-", inside)
        case n.Sum(terms):
            rest = [("-", t.inside) if isinstance(t, n.Minus) else ("+", t) for t in terms[1:]]
            return _one(terms[0], *(piece for pair in rest for piece in pair))
        case n.Product(factors):
            others = n.separators(factors, "<mo>·</mo>", THIN, "")
            return f"<mrow>{_ml(factors[0])}{''.join(sign + _ml(factor) for sign, factor in others)}</mrow>"
        case n.Quotient(above, below):
            return f"<mfrac>{_one(above)}{_one(below)}</mfrac>"
        case n.Root(inside):
            return f"<msqrt>{_ml(inside)}</msqrt>"
        case n.Script(n.Symbol() as base, above, None) if base.mark in MARKS or not base.mark:
            return _scripts(*_symbol(base), _ml(above) if above else "")
        case n.Script(base, above, below):
            return _scripts(_one(base), _ml(below) if below else "", _ml(above) if above else "")
        case n.Fence(inside, marks):
            within = _ml(inside)
            stretchy = "" if any(tag in within for tag in TALL) else ' stretchy="false"'
            left, right = (f'<mo lspace="0em" rspace="0em"{stretchy}>{mark}</mo>' for mark in marks)
            return f"<mrow>{left}{within}{right}</mrow>"
        case n.Applied(n.Symbol() as function, argument):
            return _one(function, argument)
        case n.Applied(function, argument):
            space = "" if isinstance(argument, n.Fence) else THIN
            return f"{THIN}{_ml(function)}{APPLY}{space}{_ml(argument)}"
        case n.Matrix(rows):
            return f"<mrow><mo>[</mo>{_ml_rows(tuple(tuple(map(_ml, row)) for row in rows))}<mo>]</mo></mrow>"
        case n.Cases(condition, value, otherwise):
            table = (
                (_ml(value), f"<mtext>if&nbsp;</mtext>{_ml(condition)}"),
                (_ml(otherwise), "<mtext>otherwise</mtext>"),
            )
            return f"<mrow><mo>{{</mo>{_ml_rows(table)}</mrow>"
        case n.Relation(sides, sign):
            return _one(*_between(sides, sign))
        case n.Listed(items, wide):
            comma = f'<mo>,</mo><mspace width="{1.5 if wide else 0.17}em"/>'
            return f"<mrow>{comma.join(map(_ml, items))}</mrow>"
    raise TypeError(f"{type(x).__name__} is not a formula")


def _ml_rows(rows: tuple[tuple[str, ...], ...]) -> str:
    cells = ("".join(f"<mtd>{cell}</mtd>" for cell in row) for row in rows)
    return f"<mtable>{''.join(f'<mtr>{row}</mtr>' for row in cells)}</mtable>"
