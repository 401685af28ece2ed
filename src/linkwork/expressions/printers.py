"""Expressions as text, LaTeX, Python and C.

`text` and `latex` write one expression as a tree with few parentheses. `text` is what the parser reads back: without
splines, the same node results. `python` and `c` write a function that computes several expressions by the same
operations as `evaluate`; what is shared or long goes to temporaries w1, w2, ...

A graph of n nodes can stand for a tree of 2^n. Beyond MAX_TREE nodes, `text` and `latex` therefore also define
w1, w2, ... first, one on each line, and the expression is the last line; `latex` also beyond MAX_DEPTH.
"""

from __future__ import annotations

import keyword
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from linkwork.expressions import notation
from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import FUNCTIONS, Expr, constant, power
from linkwork.expressions.notation import Formula, Number, Quotient, Symbol, raise_to

MAX_TREE = 10_000
MAX_DEPTH = 60  # of a formula: it is written recursively
MAX_LINE = 100  # characters of a temporary
MAX_SYMBOLS = 20  # in a temporary of a formula

# How tightly the outermost operation of a piece binds; a leading minus sign counts as a sum.
_COMPARISON, _SUM, _PRODUCT, _POWER, _ATOM = range(5)
_COMPARISONS = {"lt": "<", "le": "<="}


class _Piece(NamedTuple):
    text: str
    level: int = _ATOM

    @property
    def size(self) -> int:
        return len(self.text)

    def within(self, level: int, brackets: str = "({})") -> str:
        """The piece as an operand that must bind at least as tightly as `level`."""
        return self.text if self.level >= level else brackets.format(self.text)


Cubics = tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]
Written = TypeVar("Written", _Piece, Formula)
Render = Callable[[Expr, list[_Piece]], _Piece]


class _Powers(NamedTuple):
    """Products that repeat one factor, as the graph writes small powers: node -> (base, exponent)."""

    found: dict[Expr, tuple[Expr, int]]

    @staticmethod
    def of(nodes: Iterable[Expr]) -> _Powers:
        found: dict[Expr, tuple[Expr, int]] = {}
        for node in nodes:
            if node.op == "mul":
                (a, i), (b, j) = (found.get(arg, (arg, 1)) for arg in node.args)
                if a is b and power(a, constant(i + j)) is node:
                    found[node] = a, i + j
        return _Powers(found)

    def parts(self, node: Expr) -> tuple[Expr, ...]:
        return (self.found[node][0],) if node in self.found else node.args


def _lines(
    outputs: Sequence[Expr],
    powers: _Powers,
    render: Callable[[Expr, list[Written]], Written],
    temporary: Callable[[int], Written] | None,
    longest: int = MAX_LINE,
) -> tuple[list[tuple[Written, Written]], list[Written]]:
    """The temporaries in order, with their names, and the outputs in terms of them; none without `temporary`."""
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


def _exceeds_tree_limit(output: Expr, powers: _Powers, most_deep: int = MAX_TREE) -> bool:
    sizes: dict[Expr, int] = {}
    depths: dict[Expr, int] = {}
    for node in ordered([output]):
        parts = powers.parts(node)
        sizes[node] = min(MAX_TREE + 1, 1 + sum(sizes[part] for part in parts))
        depths[node] = 1 + max((depths[part] for part in parts), default=0)
    return sizes[output] > MAX_TREE or depths[output] > most_deep


def _number_tables(nodes: Iterable[Expr]) -> dict[Cubics, int]:
    """The splines' tables (knots and coefficients), numbered from 1; derivatives of a spline share its table."""
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


def _sign(number: Callable[[float], _Piece], value: float) -> _Piece:
    return number(value) if value >= 0.0 else _Piece("-" + number(-value).text, _SUM)


def _sum(node: Expr, a: _Piece, b: _Piece) -> _Piece:
    if node.op == "sub":
        return _Piece(f"{a.within(_SUM)} - {b.within(_PRODUCT)}", _SUM)
    if b.level == _SUM < a.level:  # a + (b + c) is written b + c + a
        a, b = b, a
    return _Piece(f"{a.within(_SUM)} + {b.within(_PRODUCT)}", _SUM)


def _product(node: Expr, a: _Piece, b: _Piece) -> _Piece:
    if node.op == "div":
        return _Piece(f"{a.within(_PRODUCT)}/{b.within(_POWER)}", _PRODUCT)
    if node.args[0].is_constant:
        return _Piece(f"{a.text}*{b.within(_POWER)}", min(a.level, _PRODUCT))
    if b.level == _PRODUCT < a.level:  # a*(b*c) is written b*c*a
        a, b = b, a
    return _Piece(f"{a.within(_PRODUCT)}*{b.within(_POWER)}", _PRODUCT)


def _infix(node: Expr, args: Sequence[_Piece]) -> _Piece | None:
    """What text, Python and C write alike, None for anything else."""
    match node.op:
        case "add" | "sub":
            return _sum(node, *args)
        case "mul" | "div":
            return _product(node, *args)
        case "neg":
            return _Piece(f"-{args[0].within(_PRODUCT)}", _SUM)
        case "lt" | "le" as op:
            return _Piece(f"{args[0].within(_SUM)} {_COMPARISONS[op]} {args[1].within(_SUM)}", _COMPARISON)
    return None


# text


def _text_number(value: float) -> _Piece:
    if value in _MULTIPLES_OF_PI:
        k, divisor = _MULTIPLES_OF_PI[value]
        if (k, divisor) == (1, 1):
            return _Piece("pi")
        return _Piece(f"{k}*pi" if divisor == 1 else f"pi/{divisor}", _PRODUCT)
    return _Piece(repr(value).removesuffix(".0"))


def _text_render(powers: _Powers, tables: Mapping[Cubics, int]) -> Render:
    def render(node: Expr, args: list[_Piece]) -> _Piece:
        op = node.op
        if node in powers.found:
            return _Piece(f"{args[0].within(_ATOM)}^{powers.found[node][1]}", _POWER)
        if op == "constant":
            return _sign(_text_number, node.number)
        if op == "symbol":
            return _Piece(str(node.value))
        if op == "mul" and node.args[0].is_constant and (divisor := _RECIPROCALS.get(abs(node.args[0].number))):
            sign, level = ("-", _SUM) if node.args[0].number < 0.0 else ("", _PRODUCT)
            return _Piece(f"{sign}{args[1].within(_PRODUCT)}/{divisor}", level)
        if (piece := _infix(node, args)) is not None:
            return piece
        if op == "pow":
            return _Piece(f"{args[0].within(_ATOM)}^{args[1].within(_POWER)}", _POWER)
        if op == "spline":
            op = f"spline{tables[node.table[:2]]}" + "'" * node.table[2]
        elif op == "select":
            op = "if"
        return _Piece(f"{op}({', '.join(a.text for a in args)})")

    return render


def text(expr: Expr) -> str:
    """The expression as the parser reads it; a spline is spline1(x), its derivatives spline1'(x), ..."""
    nodes = ordered([expr])
    powers = _Powers.of(nodes)
    render = _text_render(powers, _number_tables(nodes))
    if not _exceeds_tree_limit(expr, powers):
        return _lines([expr], powers, render, None)[1][0].text
    prefix = "w"
    while any(node.op == "symbol" and re.fullmatch(rf"{prefix}\d+", str(node.value)) for node in nodes):
        prefix += "w"
    lines, (result,) = _lines([expr], powers, render, lambda k: _Piece(f"{prefix}{k}"))
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
    """One operation on its arguments; in [a < b], brackets make the number 1 or 0 from a comparison."""
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


def latex(expr: Expr) -> str:
    r"""The expression for mathematics mode; in [a < b], brackets make the number 1 or 0 from a comparison."""
    nodes = ordered([expr])
    powers = _Powers.of(nodes)
    tables = _number_tables(nodes)

    def render(node: Expr, args: list[Formula]) -> Formula:
        exponent = powers.found.get(node, (node, 1))[1]
        return raise_to(args[0], Number(str(exponent))) if exponent > 1 else formula(node, args, tables)

    if not _exceeds_tree_limit(expr, powers, MAX_DEPTH):
        return notation.latex(_lines([expr], powers, render, None)[1][0])
    lines, (result,) = _lines([expr], powers, render, lambda k: Symbol("w", (str(k),)), MAX_SYMBOLS)
    rows = [f"{notation.latex(name)} &= {notation.latex(piece)}" for name, piece in lines]
    rows.append(f"& {notation.latex(result)}")
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


# Python and C


class _Language(NamedTuple):
    """What differs between programming languages: one format for each operation that is not + - * /."""

    truth: str
    formats: Mapping[str, str]
    reserved: re.Pattern[str]


_PYTHON = _Language(
    truth="float({})",
    formats={
        **{name: f"math.{name}({{}})" for name in FUNCTIONS},
        "abs": "abs({})",
        "sign": "_sign({})",
        "atan2": "math.atan2({}, {})",
        "pow": "math.pow({}, {})",
        "min": "min({}, {})",
        "max": "max({}, {})",
        "select": "({1} if {0} else {2})",
        "spline": "_spline({}, _KNOTS{}, _COEFFICIENTS{}, {})",
    },
    reserved=re.compile("|".join([*keyword.kwlist, "math|bisect|abs|min|max|float|len", r"w\d+", "_.*"])),
)
_C = _Language(
    truth="(double)({})",
    formats={
        **{name: f"{name}({{}})" for name in FUNCTIONS},
        "abs": "fabs({})",
        "sign": "sign_of({})",
        "atan2": "atan2({}, {})",
        "pow": "pow({}, {})",
        "min": "fmin({}, {})",
        "max": "fmax({}, {})",
        "select": "({0} ? {1} : {2})",
        "spline": "spline_value({0}, (int)(sizeof coefficients{1} / sizeof *coefficients{1}), "
        "knots{1}, coefficients{2}, {3})",
    },
    reserved=re.compile(
        "auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline|int|long|register|"
        "restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|volatile|while|bool|true|"
        "false|nullptr|alignas|alignof|asm|typeof|constexpr|thread_local|static_assert|main|linux|unix|"
        "NAN|INFINITY|HUGE(_VAL[FL]?)?|M_.*|FP_.*|MATH_.*|math_errhandling|DOMAIN|SING|OVERFLOW|UNDERFLOW|[PT]LOSS|"
        "sin|cos|tan|asin|acos|atan|atan2|sqrt|exp|log|tanh|pow|fabs|fmin|fmax|sign_of|spline_value|"
        r"in|out|w\d+|knots\d+|coefficients\d+|_.*"
    ),
)


def _code_render(language: _Language, names: Mapping[Expr, str], tables: Mapping[Cubics, int]) -> Render:
    def render(node: Expr, args: list[_Piece]) -> _Piece:
        op = node.op
        if op == "constant":
            return _sign(lambda value: _Piece(repr(value)), node.number)
        if op == "symbol":
            return _Piece(names[node])
        condition = args[0].text if args[0].level == _COMPARISON else f"{args[0].within(_SUM)} != 0.0"
        args = [_Piece(a.within(_SUM, language.truth)) if a.level == _COMPARISON else a for a in args]
        if (piece := _infix(node, args)) is not None:
            return piece
        texts = [a.text for a in args]
        if op == "select":
            texts[0] = condition
        elif op == "spline":
            number = str(tables[node.table[:2]])
            texts += [number, number, str(node.table[2])]
        return _Piece(language.formats[op].format(*texts))

    return render


def _identifiers(symbols: Sequence[Expr], language: _Language) -> dict[Expr, str]:
    """A valid name for each symbol: crank.phi is crank_phi."""
    names: dict[Expr, str] = {}
    taken: set[str] = set()
    for symbol in symbols:
        name = "".join(
            c if c.isascii() and c.isalnum() else "_" if c.isascii() else f"u{ord(c):x}" for c in str(symbol.value)
        )
        if not name or not name[0].isalpha() or language.reserved.fullmatch(name):
            name = f"v_{name}"
        while name in taken:
            name += "_"
        taken.add(name)
        names[symbol] = name
    return names


def _comment(names: Iterable[str]) -> str:
    """Names that can stand in any comment."""
    return ", ".join("".join(c if c.isalnum() or c in "_.- '" else "?" for c in name) for name in names)


def _prepare(
    exprs: Sequence[Expr], name: str, arguments: Sequence[Expr] | None, language: _Language
) -> tuple[list[Expr], dict[Expr, str], dict[Cubics, int], list[tuple[str, str]], list[str]]:
    """Arguments, their names, spline tables, temporaries and results of the function to be written."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or language.reserved.fullmatch(name):
        raise ValueError(f"'{name}' cannot be the name of a function")
    nodes = ordered(exprs)
    used = [node for node in nodes if node.op == "symbol"]
    inputs = sorted(used, key=lambda s: str(s.value)) if arguments is None else list(arguments)
    missing = sorted(str(s.value) for s in set(used) - set(inputs))
    if missing:
        raise ValueError(f"the arguments lack {', '.join(missing)}")
    names = _identifiers(inputs, language)
    tables = _number_tables(nodes)
    render = _code_render(language, names, tables)
    lines, results = _lines(exprs, _Powers({}), render, lambda k: _Piece(f"w{k}"))
    temporaries = [(target.text, piece.within(_SUM, language.truth)) for target, piece in lines]
    return inputs, names, tables, temporaries, [piece.within(_SUM, language.truth) for piece in results]


_PYTHON_SIGN = """\
def _sign(x):
    return float((x > 0.0) - (x < 0.0))
"""
_PYTHON_SPLINE = """\
def _spline(x, knots, coefficients, order):
    i = min(max(bisect.bisect_right(knots, x) - 1, 0), len(coefficients) - 1)
    d = x - knots[i]
    c0, c1, c2, c3 = coefficients[i]
    return (c0 + d*(c1 + d*(c2 + d*c3)), c1 + d*(2*c2 + d*3*c3), 2*c2 + 6*d*c3, 6*c3)[order]
"""


def python(exprs: Sequence[Expr], name: str = "f", arguments: Sequence[Expr] | None = None) -> str:
    """A Python module with one function of the symbols (in the order of `arguments`, or of their names) -> tuple."""
    inputs, names, tables, temporaries, results = _prepare(exprs, name, arguments, _PYTHON)
    operations = {node.op for node in ordered(exprs)}
    blocks = ["import bisect\nimport math\n" if tables else "import math\n"]
    if "sign" in operations:
        blocks.append(_PYTHON_SIGN)
    if tables:
        blocks.append(_PYTHON_SPLINE)
    for table, k in tables.items():
        knots, coefficients = table
        blocks.append(f"_KNOTS{k} = {knots!r}\n_COEFFICIENTS{k} = {coefficients!r}\n")
    body = [f"# arguments: {_comment(str(s.value) for s in inputs)}"] if inputs else []
    body += [f"{target} = {value}" for target, value in temporaries]
    body += ["return (", *(f"    {value}," for value in results), ")"] if results else ["return ()"]
    head = f"def {name}({', '.join(names[s] for s in inputs)}):"
    blocks.append("\n".join([head, *(f"    {line}" for line in body)]) + "\n")
    return "\n\n".join(blocks)


_C_SIGN = """\
static double sign_of(double x)
{
    return (double)((x > 0.0) - (x < 0.0));
}
"""
_C_SPLINE = """\
static double spline_value(double x, int pieces, const double *knots, const double (*coefficients)[4], int order)
{
    int low = 0, high = pieces;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (knots[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    const double *c = coefficients[low];
    const double d = x - knots[low];
    switch (order) {
    case 0: return c[0] + d*(c[1] + d*(c[2] + d*c[3]));
    case 1: return c[1] + d*(2.0*c[2] + d*3.0*c[3]);
    case 2: return 2.0*c[2] + 6.0*d*c[3];
    default: return 6.0*c[3];
    }
}
"""


def c(exprs: Sequence[Expr], name: str = "f", arguments: Sequence[Expr] | None = None) -> str:
    """A C99 file with void name(const double *in, double *out); `in` holds the symbols in the order of `arguments`."""
    inputs, names, tables, temporaries, results = _prepare(exprs, name, arguments, _C)
    nodes = ordered(exprs)
    blocks = ["#include <math.h>\n"]
    if any(node.op == "sign" for node in nodes):
        blocks.append(_C_SIGN)
    if tables:
        blocks.append(_C_SPLINE)
    for table, k in tables.items():
        knots, coefficients = table
        rows = ", ".join("{" + ", ".join(repr(float(a)) for a in row) + "}" for row in coefficients)
        blocks.append(
            f"static const double knots{k}[] = {{{', '.join(repr(float(t)) for t in knots)}}};\n"
            f"static const double coefficients{k}[][4] = {{{rows}}};\n"
        )
    used = {node for node in nodes if node.op == "symbol"}
    body = [f"const double {names[s]} = in[{i}];" for i, s in enumerate(inputs) if s in used]
    body += [f"const double {target} = {value};" for target, value in temporaries]
    body += [f"out[{i}] = {value};" for i, value in enumerate(results)]
    if not used:
        body.insert(0, "(void)in;")
    blocks.append(
        f"/* in: {_comment(str(s.value) for s in inputs)} */\n"
        f"void {name}(const double *in, double *out)\n{{\n" + "".join(f"    {line}\n" for line in body) + "}\n"
    )
    return "\n".join(blocks)
