"""The equations of a mechanism as text, LaTeX, Markdown, as Maple in the manner of [zhou2007], and as functions."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from typing import Any, NamedTuple

from linkwork.errors import UsageError
from linkwork.expressions.evaluation import ordered, substitute
from linkwork.expressions.graph import Expr, constant, symbol
from linkwork.lecture.listing import Group, Listing
from linkwork.lecture.sheet import MOST_COLUMNS, MOST_ROWS
from linkwork.units import typed
from linkwork.view.markup import md_code, md_formula, md_words
from linkwork.writing import languages, notation, printers
from linkwork.writing.collecting import collect_powers

TITLES = {
    "lagrange": "M a + Psi_q^T lam = Q,  Psi = 0",
    "rif": "implicit reduced involutive form: A X = b,  N = {Psi, D_t Psi},  det A != 0",
    "explicit": "a and lam, solved from M a + Psi_q^T lam = Q,  Psi_q a = gamma",
}
LETTERS_OF_TREES = {"Psi_q": "C", "= Q": "= h", "gamma": "-C_dot v"}  # [nikravesh2018, eqs. (9.22)-(9.34)]


def title(listing: Listing) -> str:
    found = TITLES[listing.form]
    for own, of_tree in LETTERS_OF_TREES.items() if listing.equations.chart.of_all_joints else ():
        found = found.replace(own, of_tree)
    return found


def counted(listing: Listing) -> str:
    """Return how long the sequence is, also where every subexpression is written out wherever it is used."""
    s = listing.sequence
    operations = ", ".join(f"{number} {op}" for op, number in s.count().items())
    expanded = _rounded(s.expanded) if s.expanded > 10**6 else str(s.expanded)
    return f"{len(s.operations)} operations, depth {s.depth} ({operations}); written out {expanded}"


def _rounded(number: int) -> str:
    """Write three digits of a number that may be beyond floating point."""
    return f"{Decimal(number):.2e}"


def as_dict(listing: Listing) -> dict[str, Any]:
    """Return the data for programs."""
    s = listing.sequence
    return {
        "model": listing.model,
        "form": listing.form,
        "inputs": [str(x.value) for x in s.inputs],
        "outputs": [*listing.outputs],
        "operations": len(s.operations),
        "depth": s.depth,
        "count": s.count(),
        "expanded": float(s.expanded) if s.expanded < sys.float_info.max else math.inf,
        "notes": [*listing.notes],
    }


class _Written(NamedTuple):
    """What is written down, unveiled as far as is asked: each definition before it is used."""

    parts: list[tuple[Expr, Expr]]  # of the entries
    groups: list[Group]
    definitions: list[tuple[Expr, Expr]]  # of the factors and the solution
    results: list[Expr]
    conditions: list[Expr]


def _written(listing: Listing) -> _Written:
    entries = [entry for group in listing.groups for entry in group.entries.values()]
    exprs, depth = [*listing.results.values(), *listing.conditions], listing.depth
    if listing.hierarchy.exceeds(printers.MAX_TREE, [*entries, *exprs], depth):
        message = f"unveiled {depth} times, an expression has more than {printers.MAX_TREE} symbols"
        raise UsageError(f"{message}; unveil less deep", "too-long")
    parts, found = listing.hierarchy.lines(entries, depth)
    definitions, shown = listing.hierarchy.lines(exprs, depth)
    each = iter(found)
    groups = [replace(group, entries={names: next(each) for names in group.entries}) for group in listing.groups]
    later = [line for line in definitions if line not in parts]
    results, conditions = shown[: len(listing.results)], shown[len(listing.results) :]
    plain = [*(x for _, x in parts), *found, *(x for _, x in later), *shown]
    numbers = {x: constant(typed(x.number)) for x in ordered(plain) if x.is_constant}  # without traces of rounding
    powers = dict(zip(plain, collect_powers(substitute(plain, numbers)), strict=True))
    groups = [replace(group, entries={names: powers[x] for names, x in group.entries.items()}) for group in groups]
    return _Written(
        [(made, powers[x]) for made, x in parts],
        groups,
        [(made, powers[x]) for made, x in later],
        [powers[x] for x in results],
        [powers[x] for x in conditions],
    )


def text(listing: Listing) -> str:
    written = _written(listing)
    lines = [f"{listing.model}: {title(listing)}", ""]
    lines += [f"{made!r} = {definition!r}" for made, definition in written.parts] + [""] * bool(written.parts)
    for group in written.groups:
        lines += [f"{group.letter}: {group.about}"]
        if group.letter == "A" and (laid := _laid_out(group)):
            lines += [*laid, ""]
            continue
        lines += [f"  {group.letter}[{', '.join(names)}] = {entry!r}" for names, entry in group.entries.items()]
        lines += [""] if group.entries else ["  zero", ""]
    if listing.results:
        lines += [f"{made!r} = {definition!r}" for made, definition in written.definitions]
        lines += [f"{name} = {result!r}" for name, result in zip(listing.results, written.results, strict=True)]
        pivots = ", ".join(dict.fromkeys(map(repr, written.conditions)))
        lines += ["", *[f"valid while none of these is zero: {pivots}"] * bool(pivots)]
    return "\n".join([*lines, *listing.notes, counted(listing)]) + "\n"


def _laid_out(group: Group) -> list[str]:
    """Return a matrix with its rows and columns in line, none if it is too wide for a page."""
    cells = [["", *group.columns]]
    cells += [[name, *map(repr, row)] for name, row in zip(group.rows, group.cells, strict=True)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if len(group.columns) > MOST_COLUMNS or sum(widths) + 2 * len(widths) > 2 * printers.MAX_LINE:
        return []
    aligned = ([f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)] for row in cells)
    return [f"  {'  '.join(row).rstrip()}" for row in aligned]


LETTERS = {"D_t Psi": "D_t \\Psi", "minus_C_dot_v": "(-\\dot{C} v)"}


def _latex_lines(listing: Listing) -> list[tuple[str, list[str]]]:
    """Write headings with their equations; velocities whose names end in _d are written with a prime."""
    names = {v: re.sub("_d(?= |$)", "'", str(v.value)) for v in listing.equations.v}
    primed = {v: symbol(name) for v, name in names.items()}

    def shown(expr: Expr) -> str:
        return printers.latex(substitute([expr], primed)[0])

    def of(name: str) -> str:
        return notation.latex(notation.symbol_of(re.sub("_(d+)(?= |$)", lambda d: "'" * len(d[1]), name)))

    written = _written(listing)
    parts = [f"{shown(w)} = {shown(x)}" for w, x in written.parts]
    blocks = [("parts of the entries", parts)] if parts else []
    for group in written.groups:
        letter = LETTERS.get(group.letter) or notation.latex(notation.symbol_of(group.letter))
        if group.rows and len(group.columns) <= MOST_COLUMNS and len(group.rows) <= MOST_ROWS and group.entries:
            across = f", columns {', '.join(group.columns)}" if group.columns else ""
            body = " \\\\\n".join(" & ".join(map(shown, row)) for row in group.cells)
            shape = "c" * max(1, len(group.columns))
            matrix = f"{letter} = \\left[\\begin{{array}}{{{shape}}}\n{body}\n\\end{{array}}\\right]"
            blocks.append((f"{group.letter}: {group.about}; rows {', '.join(group.rows)}{across}", [matrix]))
            continue
        entries = group.entries.items()
        equations = [f"{{{letter}}}_{{{', '.join(map(of, names))}}} = {shown(entry)}" for names, entry in entries]
        blocks.append((f"{group.letter}: {group.about}", equations or [f"{letter} = 0"]))
    if listing.results:
        sequence = [f"{shown(w)} = {shown(x)}" for w, x in written.definitions]
        blocks += [("computation sequence", sequence)] * bool(sequence)
        solved = zip(listing.results, written.results, strict=True)
        blocks.append(("solution", [f"{of(name)} = {shown(x)}" for name, x in solved]))
        conditions = [f"{shown(x)} \\ne 0" for x in dict.fromkeys(written.conditions)]
        blocks += [("valid while", conditions)] * bool(conditions)
    return blocks


def latex(listing: Listing) -> str:
    """Write displays for a document that loads amsmath."""
    parts = [f"% {listing.model}: {title(listing)}"]
    for heading, equations in _latex_lines(listing):
        parts += [f"% {heading}", *(f"\\[\n{equation}\n\\]" for equation in equations)]
    return "\n".join([*parts, *(f"% {note}" for note in (*listing.notes, counted(listing)))]) + "\n"


def markdown(listing: Listing) -> str:
    parts = [f"# {md_words(listing.model)}", "", md_code(title(listing)), ""]
    for heading, equations in _latex_lines(listing):
        parts += [f"## {md_words(heading)}", ""]
        parts += chain.from_iterable((f"$$\n{md_formula(equation)}\n$$", "") for equation in equations)
    return "\n".join([*parts, *(f"- {md_words(note)}" for note in (*listing.notes, counted(listing)))]) + "\n"


def maple(listing: Listing) -> str:
    """Return the right-hand side for dsolve/numeric: Y = (q, v) by pairs, YP its rates, W the veiled expressions.

    Where every rate of a coordinate is one velocity, coordinate and velocity stand side by side. With tables or
    comparisons, and where nothing is solved, it is a function as in the other languages.
    """
    if not listing.results:
        return _code("maple")(listing)
    if {"spline", "lt", "le", "select"} & {node.op for node in listing.sequence.operations}:
        plain = "a function of the state, not a right-hand side for dsolve, because of its tables or comparisons"
        return f"# {plain}\n{_code('maple')(listing)}"
    e = listing.equations
    paired = e.qd == e.v
    state = [x for pair in zip(e.q, e.v, strict=True) for x in pair] if paired else [*e.q, *e.v]
    renamed = {x: symbol(f"Y[{k}]") for k, x in enumerate(state, 1)}
    numbers = {w: k for k, w in enumerate(listing.hierarchy.definitions, 1)}
    renamed |= {w: symbol(f"W[{k}]") for w, k in numbers.items()}
    own = [symbol(word) for word in ("f", "N", "Y", "YP", "W")]
    names = languages.identifiers([*own, *e.parameters], languages.MAPLE)
    renamed |= {s: symbol(name) for s, name in names.items()}
    _, _, _, results, conditions = written = _written(replace(listing, groups=()))
    lines = [f"W[{numbers[w]}] := {_maple(x, renamed)};" for w, x in written.definitions]
    rates = dict(zip(e.q, e.qd, strict=True)) | dict(zip(e.v, results[: len(e.v)], strict=True))
    lines += [f"YP[{k}] := {_maple(rates[x], renamed)};" for k, x in enumerate(state, 1)]
    multipliers = zip([*listing.results][len(e.v) :], results[len(e.v) :], strict=True)
    notes = [
        f"# Y: {', '.join(str(x.value) for x in state)}",
        *(f"# {note}" for note in (*listing.notes, counted(listing))),
    ]
    notes += [f"# {name} = {_maple(x, renamed)}" for name, x in multipliers]
    notes += [f"# valid while not zero: {_maple(x, renamed)}" for x in dict.fromkeys(conditions)]
    return "\n".join([*notes, "f := proc(N, t, Y, YP)", "local W;", *lines, "end proc:"]) + "\n"


def _maple(expr: Expr, renamed: dict[Expr, Expr]) -> str:
    return printers.text(substitute([expr], renamed)[0], languages.MAPLE_WORDS)


def _code(language: str) -> Callable[[Listing], str]:
    def write(listing: Listing) -> str:
        mark = languages.LANGUAGES[language][0].comment
        notes = "".join(f"{mark} {languages.remark(note)}\n" for note in listing.notes)
        conditions = listing.hierarchy.unveil(listing.conditions)
        return notes + listing.sequence.write(language, [*listing.outputs], conditions)

    return write


FORMATS: dict[str, Callable[[Listing], str]] = {
    "text": text,
    "latex": latex,
    "markdown": markdown,
    **{name: _code(name) for name in languages.LANGUAGES},
    "maple": maple,
}
