"""Expressions as complete functions in programming languages.

A function computes several expressions by the same operations as `evaluate`; what is shared or long goes to
temporaries w1, w2, ... A language is a `Language`, which says how operations are written, and a function that puts the
file together from a `Function`; LANGUAGES lists both.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from linkwork.errors import UsageError
from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import FUNCTIONS, Expr
from linkwork.writing.printers import COMPARISON, SUM, Cubics, Piece, Powers, infix, lines_of, number_tables, signed


class Language(NamedTuple):
    """What differs: numbers, a format for each operation that is not + - * /, words to avoid.

    Comparisons are numbers, or without formats of their own infix, and numbers as `truth` says.
    """

    formats: Mapping[str, str]
    reserved: re.Pattern[str]
    number: Callable[[float], str] = repr
    truth: str = "{}"
    unequal: str = "!="
    ignores_case: bool = False
    longest: int = 1000  # characters of a name
    comment: str = "#"


class Function(NamedTuple):
    """What a file is put together from."""

    name: str
    inputs: list[Expr]
    names: dict[Expr, str]
    used: set[Expr]
    tables: dict[Cubics, int]
    temporaries: list[tuple[str, str]]
    results: list[tuple[str, str]]  # with a comment
    conditions: list[str]
    operations: set[str]


def write(
    language: str,
    exprs: Sequence[Expr],
    name: str = "f",
    arguments: Sequence[Expr] | None = None,
    labels: Sequence[str] = (),
    conditions: Sequence[Expr] = (),
) -> str:
    """Write a file with one function of the symbols (in the order of `arguments`, or of their names) in a language.

    `labels` name the results in comments; `conditions` are named there as what must not vanish.
    """
    own, put_together = LANGUAGES[language]
    plain = (x.args[0] if x.op == "neg" else x for x in conditions)  # -w is not zero where w is not
    conditions = [x for x in dict.fromkeys(plain) if x.op != "constant"]
    f = _prepare(exprs, name, arguments, labels, conditions, own)
    valid = [f"{own.comment} valid while not zero: {condition}\n" for condition in f.conditions]
    return "".join(valid) + put_together(f)


def _prepare(
    exprs: Sequence[Expr],
    name: str,
    arguments: Sequence[Expr] | None,
    labels: Sequence[str],
    conditions: Sequence[Expr],
    language: Language,
) -> Function:
    is_name = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) and len(name) <= language.longest
    if not is_name or language.reserved.fullmatch(name):
        raise UsageError(f"'{name}' cannot be the name of a function in this language", "bad-name")
    exprs = [*exprs, *conditions]
    nodes = ordered(exprs)
    used = [node for node in nodes if node.op == "symbol"]
    inputs = sorted(used, key=lambda s: str(s.value)) if arguments is None else list(arguments)
    missing = sorted(str(s.value) for s in set(used) - set(inputs))
    if missing:
        raise ValueError(f"the arguments lack {', '.join(missing)}")
    names = identifiers(inputs, language, name)
    tables = number_tables(nodes)
    lines, pieces = lines_of(exprs, Powers({}), _render(language, names, tables), lambda k: Piece(f"w{k}"))
    temporaries = [(target.text, piece.within(SUM, language.truth)) for target, piece in lines]
    comments = [f"  {{}} {remark(label)}" for label in labels] or [""] * (len(pieces) - len(conditions))
    values = [piece.within(SUM, language.truth) for piece in pieces]
    n = len(values) - len(conditions)
    results, last = list(zip(values[:n], comments, strict=True)), values[n:]
    return Function(name, inputs, names, set(used), tables, temporaries, results, last, {node.op for node in nodes})


def _render(
    language: Language, names: Mapping[Expr, str], tables: Mapping[Cubics, int]
) -> Callable[[Expr, list[Piece]], Piece]:
    def render(node: Expr, args: list[Piece]) -> Piece:
        op = node.op
        if op == "constant":
            return signed(lambda value: Piece(language.number(value)), node.number)
        if op == "symbol":
            return Piece(names[node])
        zero = language.number(0.0)
        condition = args[0].text if args[0].level == COMPARISON else f"{args[0].within(SUM)} {language.unequal} {zero}"
        args = [Piece(a.within(SUM, language.truth)) if a.level == COMPARISON else a for a in args]
        if op not in language.formats and (piece := infix(node, args)) is not None:
            return piece
        texts = [a.text for a in args]
        if op == "select" and "lt" not in language.formats:
            texts[0] = condition
        elif op == "spline":
            number = str(tables[node.table[:2]])
            texts += [number, number, str(node.table[2])]
        return Piece(language.formats[op].format(*texts))

    return render


def identifiers(symbols: Sequence[Expr], language: Language, function: str = "f") -> dict[Expr, str]:
    """Return a valid name for each symbol: crank.phi is crank_phi."""
    names: dict[Expr, str] = {}
    folded = str.lower if language.ignores_case else str
    taken = {folded(function)}
    for symbol in symbols:
        name = "".join(
            c if c.isascii() and c.isalnum() else "_" if c.isascii() else f"u{ord(c):x}" for c in str(symbol.value)
        )
        if not name or not name[0].isalpha() or language.reserved.fullmatch(name):
            name = f"v_{name}"
        full, k = name, 0
        name = full[: language.longest]
        while folded(name) in taken:
            k += 1
            name = f"{full[: language.longest - 8]}_{k}"
        taken.add(folded(name))
        names[symbol] = name
    return names


def function_name(text: str) -> str:
    """Return a name for a function, from any text, that no language takes for a word of its own."""
    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in text)
    own = any(language.reserved.fullmatch(name) for language, _ in LANGUAGES.values())
    return (f"f_{name}" if own or not name[:1].isalpha() else name)[: _FORTRAN.longest]


def remark(text: str) -> str:
    """Return the text as it can stand in any comment."""
    return "".join(c if c.isalnum() or c in "_.- ':=,;()<!" else "?" for c in text)


def _symbol_names(f: Function) -> str:
    return remark(", ".join(str(s.value) for s in f.inputs))


def _indented(lines: Iterable[str], by: str = "    ") -> str:
    return "".join(f"{by}{line}\n" for line in lines)


def _flat(table: Iterable[float], number: Callable[[float], str] = repr) -> str:
    return ", ".join(number(float(x)) for x in table)


def _helpers(f: Function, written: Mapping[str, tuple[str, ...]], layout: str, spline: str) -> list[str]:
    """Return the functions that it calls, each by its head and its value."""
    needed = [layout.format(*parts) for operation, parts in written.items() if operation in f.operations]
    return needed + [spline] * bool(f.tables)


def _formats(call: str = "{}({{}})", **others: str) -> dict[str, str]:
    """Return functions by their own names as `call` says.

    What most languages write alike unless it is among the others.
    """
    usual = {name: f"{name}({{}}, {{}})" for name in ("atan2", "min", "max", "pow")}
    spline = "spline_value({}, knots{}, coefficients{}, {})"
    return {**{name: call.format(name) for name in FUNCTIONS}, **usual, "spline": spline, **others}


# Python, on numbers and on NumPy arrays

_PYTHON = Language(
    formats=_formats(
        "math.{}({{}})",
        **{"abs": "abs({})", "sign": "_sign({})", "min": "_min({}, {})", "max": "_max({}, {})"},
        **{"atan2": "math.atan2({}, {})", "pow": "math.pow({}, {})", "lt": "_lt({}, {})", "le": "_le({}, {})"},
        select="(_c if (_c := {0}) != _c else {1} if _c else {2})",
        spline="_spline({}, _KNOTS{}, _COEFFICIENTS{}, {})",
    ),
    reserved=re.compile("|".join([*keyword.kwlist, "math|bisect|np|abs|min|max|float|len", r"w\d+", "_.*"])),
)
_NUMPY = Language(
    formats=_formats(
        "np.{}({{}})",
        **{name: f"np.{name.replace('a', 'arc', 1)}({{}})" for name in ("asin", "acos", "atan")},
        **{"atan2": "np.arctan2({}, {})", "pow": "np.power({}, {})"},
        **{"min": "np.minimum({}, {})", "max": "np.maximum({}, {})"},
        **{"lt": "_lt({}, {})", "le": "_le({}, {})", "select": "_select({}, {}, {})"},
        spline=_PYTHON.formats["spline"],
    ),
    reserved=_PYTHON.reserved,
)
# Of a NaN these are NaN, as everywhere in linkwork; what languages have of their own mostly leaves it out.
_PYTHON_LAYOUT = "def {}:\n    return {}\n"
_PYTHON_HELPERS = {
    "sign": ("_sign(x)", "float((x > 0.0) - (x < 0.0)) if x == x else x"),
    "min": ("_min(a, b)", "a if a < b or a != a else b"),
    "max": ("_max(a, b)", "a if a > b or a != a else b"),
    "lt": ("_lt(a, b)", "a if a != a else b if b != b else float(a < b)"),
    "le": ("_le(a, b)", "a if a != a else b if b != b else float(a <= b)"),
}
_NUMPY_HELPERS = {
    "lt": ("_lt(a, b)", "np.where(np.isnan(a) | np.isnan(b), np.nan, np.less(a, b))"),
    "le": ("_le(a, b)", "np.where(np.isnan(a) | np.isnan(b), np.nan, np.less_equal(a, b))"),
    "select": ("_select(c, a, b)", "np.where(np.isnan(c), c, np.where(c, a, b))"),
}
_PYTHON_SPLINE = """\
def _spline(x, knots, coefficients, order):
    i = min(max(bisect.bisect_right(knots, x) - 1, 0), len(coefficients) - 1)
    d = x - knots[i]
    c0, c1, c2, c3 = coefficients[i]
    return (c0 + d*(c1 + d*(c2 + d*c3)), c1 + d*(2*c2 + d*3*c3), 2*c2 + 6*d*c3, 6*c3)[order]
"""
_NUMPY_SPLINE = """\
def _spline(x, knots, coefficients, order):
    i = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(coefficients) - 1)
    d = x - np.array(knots)[i]
    c0, c1, c2, c3 = np.moveaxis(np.array(coefficients)[i], -1, 0)
    return (c0 + d*(c1 + d*(c2 + d*c3)), c1 + d*(2*c2 + d*3*c3), 2*c2 + 6*d*c3, 6*c3)[order]
"""


def _python_module(f: Function, imports: str, helpers: Iterable[str]) -> str:
    blocks = [imports, *helpers]
    for (knots, coefficients), k in f.tables.items():
        blocks.append(f"_KNOTS{k} = {knots!r}\n_COEFFICIENTS{k} = {coefficients!r}\n")
    body = [f"# arguments: {_symbol_names(f)}"] if f.inputs else []
    body += [f"{target} = {value}" for target, value in f.temporaries]
    results = [f"    {value},{comment.format('#')}" for value, comment in f.results]
    body += ["return (", *results, ")"] if results else ["return ()"]
    head = f"def {f.name}({', '.join(f.names[s] for s in f.inputs)}):"
    blocks.append(f"{head}\n{_indented(body)}")
    return "\n\n".join(blocks)


def _python(f: Function) -> str:
    """Return a module with a function that returns a tuple."""
    helpers = _helpers(f, _PYTHON_HELPERS, _PYTHON_LAYOUT, _PYTHON_SPLINE)
    return _python_module(f, "import bisect\nimport math\n" if f.tables else "import math\n", helpers)


def _numpy(f: Function) -> str:
    """Return the same for arguments that may be NumPy arrays."""
    return _python_module(f, "import numpy as np\n", _helpers(f, _NUMPY_HELPERS, _PYTHON_LAYOUT, _NUMPY_SPLINE))


# C, and what languages have in common that are given functions of their own

_OF_OTHERS = {"lt": "less({}, {})", "le": "less_equal({}, {})", "select": "chosen({}, {}, {})"}
_OF_NUMBERS = {"sign": "sign_of({})", "min": "smaller({}, {})", "max": "larger({}, {})", **_OF_OTHERS}
_C = Language(
    comment="//",
    formats=_formats(
        **_OF_NUMBERS,
        abs="fabs({})",
        spline="spline_value({0}, (int)(sizeof coefficients{1} / sizeof *coefficients{1}), "
        "knots{1}, coefficients{2}, {3})",
    ),
    reserved=re.compile(
        "auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline|int|long|register|"
        "restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|volatile|while|bool|true|"
        "false|nullptr|alignas|alignof|asm|typeof|constexpr|thread_local|static_assert|main|linux|unix|"
        "NAN|INFINITY|HUGE(_VAL[FL]?)?|M_.*|FP_.*|MATH_.*|math_errhandling|DOMAIN|SING|OVERFLOW|UNDERFLOW|[PT]LOSS|"
        "abs|labs|llabs|div|abort|exit|atexit|calloc|malloc|realloc|free|printf|puts|putchar|sign_of|spline_value|"
        "smaller|larger|less|less_equal|chosen|"
        "(a?(sin|cos|tan)h?|atan2|sqrt|cbrt|hypot|exp|exp2|expm1|frexp|ldexp|log|log10|log1p|log2|l?logb|ilogb|modf|scalbl?n|"
        "pow|fabs|fmin|fmax|fdim|fma|fmod|erfc?|[lt]?gamma|ceil|floor|nearbyint|l{0,2}rint|l{0,2}round|trunc|remainder|"
        "remquo|copysign|nan|nextafter|nexttoward|[jy][01n])[fl]?|fpclassify|is(finite|inf|nan|normal|unordered)|signbit|"
        r"in|out|w\d+|knots\d+|coefficients\d+|_.*"
    ),
)
_C_LAYOUT = "static double {}\n{{\n    return {};\n}}\n"
_C_HELPERS = {
    "sign": ("sign_of(double x)", "x != x ? x : (double)((x > 0.0) - (x < 0.0))"),
    "min": ("smaller(double a, double b)", "a < b || a != a ? a : b"),
    "max": ("larger(double a, double b)", "a > b || a != a ? a : b"),
    "lt": ("less(double a, double b)", "a != a ? a : b != b ? b : (double)(a < b)"),
    "le": ("less_equal(double a, double b)", "a != a ? a : b != b ? b : (double)(a <= b)"),
    "select": ("chosen(double c, double a, double b)", "c != c ? c : c != 0.0 ? a : b"),
}
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


def _c(f: Function) -> str:
    """Write a C99 file with void name(const double *in, double *out).

    `in` holds the symbols in the order of `arguments`.
    """
    blocks = ["#include <math.h>\n", *_helpers(f, _C_HELPERS, _C_LAYOUT, _C_SPLINE)]
    for (knots, coefficients), k in f.tables.items():
        rows = ", ".join("{" + _flat(row) + "}" for row in coefficients)
        blocks.append(
            f"static const double knots{k}[] = {{{_flat(knots)}}};\n"
            f"static const double coefficients{k}[][4] = {{{rows}}};\n"
        )
    body = [] if f.used else ["(void)in;"]
    body += [f"const double {f.names[s]} = in[{i}];" for i, s in enumerate(f.inputs) if s in f.used]
    body += [f"const double {target} = {value};" for target, value in f.temporaries]
    body += [f"out[{i}] = {value};{comment.format('//')}" for i, (value, comment) in enumerate(f.results)]
    head = f"/* in: {_symbol_names(f)} */\nvoid {f.name}(const double *in, double *out)"
    blocks.append(f"{head}\n{{\n{_indented(body)}}}\n")
    return "\n".join(blocks)


# Fortran 2008, free form


def _fortran_number(value: float) -> str:
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa}d{int(exponent or 0)}"


_FORTRAN = Language(
    comment="!",
    formats=_formats(**_OF_NUMBERS, pow="(({})**({}))"),
    reserved=re.compile(
        r"in|out|w\d+|knots\d+|coefficients\d+|sign_of|spline_value|merge|min|max|atan2|c_double|kind|size|sign|count|reshape|"
        f"smaller|larger|less|less_equal|chosen|"
        f"{'|'.join(FUNCTIONS)}",
        re.IGNORECASE,
    ),
    number=_fortran_number,
    unequal="/=",
    ignores_case=True,
    longest=63,
)
_FORTRAN_LAYOUT = """\
    pure function {0}({1}) result(y)
        real(c_double), intent(in) :: {1}
        real(c_double) :: y
        y = {2}
    end function
"""
_FORTRAN_HELPERS = {  # NaN is what is not abs(x) >= 0: compilers warn of x /= x
    "sign": ("sign_of", "x", "merge(merge(1d0, 0d0, x > 0d0) - merge(1d0, 0d0, x < 0d0), x, abs(x) >= 0d0)"),
    "min": ("smaller", "a, b", "merge(a, b, a < b .or. .not. abs(a) >= 0d0)"),
    "max": ("larger", "a, b", "merge(a, b, a > b .or. .not. abs(a) >= 0d0)"),
    "lt": ("less", "a, b", "merge(merge(1d0, 0d0, a < b), a + b, abs(a) >= 0d0 .and. abs(b) >= 0d0)"),
    "le": ("less_equal", "a, b", "merge(merge(1d0, 0d0, a <= b), a + b, abs(a) >= 0d0 .and. abs(b) >= 0d0)"),
    "select": ("chosen", "c, a, b", "merge(merge(a, b, abs(c) > 0d0), c, abs(c) >= 0d0)"),
}
_FORTRAN_SPLINE = """\
    pure function spline_value(x, knots, coefficients, order) result(y)
        real(c_double), intent(in) :: x, knots(:), coefficients(:, :)
        integer, intent(in) :: order
        real(c_double) :: y, d, c(4)
        integer :: low
        low = min(max(count(knots <= x), 1), size(coefficients, 2))
        d = x - knots(low)
        c = coefficients(:, low)
        select case (order)
        case (0)
            y = c(1) + d*(c(2) + d*(c(3) + d*c(4)))
        case (1)
            y = c(2) + d*(2d0*c(3) + d*3d0*c(4))
        case (2)
            y = 2d0*c(3) + 6d0*d*c(4)
        case default
            y = 6d0*c(4)
        end select
    end function
"""
_LONGEST = 120  # of a line of Fortran, which may have 132 characters


def _continued(line: str) -> str:
    """Return the statement on as many lines as it needs, broken at spaces."""
    lines = [""]
    for word in line.split(" "):
        if len(lines[-1]) + len(word) + 1 > _LONGEST and lines[-1].strip():
            lines[-1] += " &"
            lines.append("           ")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n    ".join(lines)


def _fortran(f: Function) -> str:
    """Return a file with subroutine name(in, out), which C calls as the function that `c` writes."""
    head = [
        _continued(f'subroutine {f.name}(in, out) bind(c, name="{f.name}")'),
        "    use, intrinsic :: iso_c_binding, only: c_double",
        "    implicit none",
        f"    real(c_double), intent(in) :: in({max(len(f.inputs), 1)})",
        f"    real(c_double), intent(out) :: out({max(len(f.results), 1)})",
    ]
    for (knots, coefficients), k in f.tables.items():
        flat = _flat((x for row in coefficients for x in row), _fortran_number)
        pieces, numbers = len(coefficients), _flat(knots, _fortran_number)
        head.append(_continued(f"    real(c_double), parameter :: knots{k}({len(knots)}) = [{numbers}]"))
        shape = f"reshape([{flat}], [4, {pieces}])"
        head.append(_continued(f"    real(c_double), parameter :: coefficients{k}(4, {pieces}) = {shape}"))
    body = [f"real(c_double) :: {f.names[s]}" for s in f.inputs if s in f.used]
    body += [f"real(c_double) :: {target}" for target, _ in f.temporaries]
    body += [f"{f.names[s]} = in({i})" for i, s in enumerate(f.inputs, 1) if s in f.used]
    body += [_continued(f"{target} = {value}") for target, value in f.temporaries]
    for i, (value, comment) in enumerate(f.results, 1):
        body += [comment.format("!").strip()] * bool(comment) + [_continued(f"out({i}) = {value}")]
    helpers = _helpers(f, _FORTRAN_HELPERS, _FORTRAN_LAYOUT, _FORTRAN_SPLINE)
    contained = ["contains\n" + "".join(helpers)] if helpers else []
    comments = _indented((remark(str(s.value)) for s in f.inputs), "! in: ")
    return comments + "\n".join([*head, _indented(body) + "".join(contained) + f"end subroutine {f.name}\n"])


# Julia

_JULIA = Language(
    formats=_formats(
        **_OF_OTHERS,
        **{"atan2": "atan({}, {})", "pow": "(({})^({}))"},
        spline="spline_value({}, KNOTS{}, COEFFICIENTS{}, {})",
    ),
    reserved=re.compile(
        "baremodule|begin|break|catch|const|continue|do|else|elseif|end|export|false|finally|for|function|global|if|import|"
        r"in|isa|let|local|macro|module|quote|return|struct|true|try|using|while|x|w\d+|pi|im|min|max|ifelse|Float64|less|less_equal|chosen|"
        rf"spline_value|KNOTS\d+|COEFFICIENTS\d+|clamp|length|searchsortedlast|{'|'.join(FUNCTIONS)}"
    ),
)
_JULIA_LAYOUT = "{} = {}\n"
_JULIA_HELPERS = {
    "lt": ("less(a, b)", "a != a ? a : b != b ? b : Float64(a < b)"),
    "le": ("less_equal(a, b)", "a != a ? a : b != b ? b : Float64(a <= b)"),
    "select": ("chosen(c, a, b)", "c != c ? c : c != 0 ? a : b"),
}
_JULIA_SPLINE = """\
function spline_value(x, knots, coefficients, order)
    i = clamp(searchsortedlast(knots, x), 1, length(coefficients))
    d = x - knots[i]
    c0, c1, c2, c3 = coefficients[i]
    return (c0 + d*(c1 + d*(c2 + d*c3)), c1 + d*(2*c2 + d*3*c3), 2*c2 + 6*d*c3, 6*c3)[order + 1]
end
"""


def _julia(f: Function) -> str:
    """Write a Julia file with name(x), which takes the symbols as a vector in the order of `arguments`."""
    blocks = _helpers(f, _JULIA_HELPERS, _JULIA_LAYOUT, _JULIA_SPLINE)
    for (knots, coefficients), k in f.tables.items():
        rows = ", ".join(f"({_flat(row)})" for row in coefficients)
        blocks.append(f"const KNOTS{k} = [{_flat(knots)}]\nconst COEFFICIENTS{k} = [{rows}]\n")
    body = [f"{f.names[s]} = x[{i}]" for i, s in enumerate(f.inputs, 1) if s in f.used]
    body += [f"{target} = {value}" for target, value in f.temporaries]
    body += ["return [", *(f"    {value},{comment.format('#')}" for value, comment in f.results), "]"]
    blocks.append(f"# x: {_symbol_names(f)}\nfunction {f.name}(x)\n{_indented(body)}end\n")
    return "\n".join(blocks)


# Maple

MAPLE_WORDS = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan", "log": "ln", "sign": "signum"}
MAPLE_WORDS |= {"if": "piecewise", "pi": "Pi"}
MAPLE = Language(
    truth="`if`({}, 1, 0)",
    formats=_formats(
        **{name: f"{word}({{}})" for name, word in MAPLE_WORDS.items()}
        | {"atan2": "arctan({}, {})", "pow": "(({})^({}))", "select": "`if`({0}, {1}, {2})"}
    ),
    reserved=re.compile(
        "and|assuming|break|by|catch|description|do|done|elif|else|end|error|export|fi|finally|for|from|global|if|implies|"
        "in|intersect|local|minus|mod|module|next|not|od|option|options|or|proc|quit|read|return|save|stop|subset|then|to|"
        r"try|union|until|use|uses|while|xor|Pi|I|D|O|gamma|w\d+|"
        rf"knots\d+|coefficients\d+|spline_value|nops|min|max|ln|signum|arc(sin|cos|tan)|{'|'.join(FUNCTIONS)}"
    ),
    number=lambda value: repr(value).removesuffix(".0"),
    unequal="<>",
)
_MAPLE_SPLINE = """\
spline_value := proc(x, knots, coefficients, order)
    local i, d;
    i := 1; while i < nops(coefficients) and knots[i + 1] <= x do i := i + 1 od;
    d := x - knots[i];
    if order = 0 then coefficients[i][1] + d*(coefficients[i][2] + d*(coefficients[i][3] + d*coefficients[i][4]))
    elif order = 1 then coefficients[i][2] + d*(2*coefficients[i][3] + d*3*coefficients[i][4])
    elif order = 2 then 2*coefficients[i][3] + 6*d*coefficients[i][4]
    else 6*coefficients[i][4] fi
end proc:
"""


def _maple(f: Function) -> str:
    """Return a Maple procedure of the symbols (in the order of `arguments`) that returns a list."""
    blocks = [_MAPLE_SPLINE] * bool(f.tables)
    for (knots, coefficients), k in f.tables.items():
        rows = ", ".join(f"[{_flat(row)}]" for row in coefficients)
        blocks.append(f"knots{k} := [{_flat(knots)}]:\ncoefficients{k} := [{rows}]:\n")
    body = [f"local {', '.join(target for target, _ in f.temporaries)};"] if f.temporaries else []
    body += [f"{target} := {value};" for target, value in f.temporaries]
    body += [f"[{', '.join(value for value, _ in f.results)}]"]
    head = f"{f.name} := proc({', '.join(f.names[s] for s in f.inputs)})"
    blocks.append(f"{head}\n{_indented(body)}end proc:\n")
    return "\n".join(blocks)


LANGUAGES: dict[str, tuple[Language, Callable[[Function], str]]] = {
    "python": (_PYTHON, _python),
    "numpy": (_NUMPY, _numpy),
    "c": (_C, _c),
    "fortran": (_FORTRAN, _fortran),
    "julia": (_JULIA, _julia),
    "maple": (MAPLE, _maple),
}
