"""Worked exercises as text for the terminal, as Markdown, as a LaTeX document and as a page of HTML."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from linkwork.errors import UsageError
from linkwork.files import write_text
from linkwork.lecture.sheet import Block, Equation, Grid, Heading, Name, Paragraph, Part, Table, Worked
from linkwork.view.formulas import mathml, plain
from linkwork.view.markup import document, in_cell, md_code, md_formula, md_words, svg, tex_words
from linkwork.writing.notation import Formula, Minus, Number, latex

WIDTH = 100  # of paragraphs on the terminal

Inline = Callable[[Part], str]


def _inline(formula: Callable[[Formula], str], name: Callable[[str], str], words: Callable[[str], str]) -> Inline:
    """Return a writer of the parts of a sentence."""

    def write(part: Part) -> str:
        if isinstance(part, str):
            return words(part)
        return name(part.text) if isinstance(part, Name) else formula(part)

    return write


def _header(grid: Grid) -> list[list[Part]]:
    """Return the header lines of a matrix: symbols, then names, where there are any."""
    symbols: list[Part] = [symbol or "" for symbol, _ in grid.columns]
    labels: list[Part] = [Name(name) for _, name in grid.columns]
    return [line for line in (symbols, labels) if any(part not in ("", Name("")) for part in line)]


def as_dict(worked: Worked) -> dict[str, Any]:
    """Return the data for programs; the equation is in LaTeX."""
    return {
        "model": worked.model,
        "formulation": worked.formulation,
        "t": worked.t,
        "a": dict(zip(worked.v_names, map(float, worked.a), strict=True)),
        "lam": dict(zip(worked.rows, map(float, worked.lam), strict=True)),
        "equation": None if worked.equation is None else latex(worked.equation),
        "difference": dict(zip(("a", "lam"), worked.difference, strict=True)),
    }


# Terminal

_text = _inline(plain, str, str)


def text(worked: Worked) -> str:
    """Return the exercise as plain text."""
    title = worked.title
    return "\n".join([title, "=" * len(title), "", *(_text_block(block) for block in worked.blocks)])


def _text_block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{block.text}\n{'-' * len(block.text)}\n"
    if isinstance(block, Paragraph):
        # spaces inside formulas must not break the line
        joined = "".join(part if isinstance(part, str) else _text(part).replace(" ", "\0") for part in block.parts)
        return "\n".join(wrap(joined, WIDTH, break_long_words=False)).replace("\0", " ") + "\n"
    if isinstance(block, Equation):
        return "\n".join(f"    {line}" for line in plain(block.formula).splitlines()) + "\n"
    if isinstance(block, Table):
        numeric = [all(_is_number(row[k]) for row in block.rows) for k in range(len(block.header))]
        return _columns([block.header, *block.rows], 1, numeric)
    lines = _header(block)
    rows: list[Sequence[Part]] = [*lines, *block.cells]
    if block.rows:
        rows = [[label, *row] for label, row in zip([""] * len(lines) + list(block.rows), rows, strict=True)]
    numeric = [k > 0 or not block.rows for k in range(len(rows[0]))]
    return f"    {plain(block.symbol)} =\n" + _columns(rows, len(lines), numeric)


def _is_number(part: Part) -> bool:
    return isinstance(part.inside if isinstance(part, Minus) else part, Number)


def _columns(rows: Iterable[Sequence[Part]], header: int, to_the_right: Sequence[bool]) -> str:
    """Align columns."""
    columns = []
    for column, right in zip(zip(*rows, strict=True), to_the_right, strict=True):
        cells = [_text(part) for part in column]
        width = max(map(len, cells))
        columns.append([cell.rjust(width) if right else cell.ljust(width) for cell in cells])
    lines = [f"    {'  '.join(cells)}".rstrip() for cells in zip(*columns, strict=True)]
    if header:
        lines.insert(header, "    " + "-" * (sum(len(column[0]) + 2 for column in columns) - 2))
    return "\n".join(lines) + "\n"


# Markdown


_md = _inline(lambda formula: f"${md_formula(latex(formula))}$", md_code, md_words)


def markdown(worked: Worked) -> str:
    """Return the exercise in Markdown, with formulas in LaTeX between dollar signs."""
    return "\n".join([f"# {md_words(worked.title)}", "", *(_md_block(block) for block in worked.blocks)])


def _md_block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"## {md_words(block.text)}\n"
    if isinstance(block, Paragraph):
        return f"{''.join(map(_md, block.parts))}\n"
    if isinstance(block, Equation):
        return f"$$\n{md_formula(latex(block.formula))}\n$$\n"
    if isinstance(block, Table):
        # a bar would end the cell
        lines = [f"| {' | '.join(_md(part).replace('|', '') for part in row)} |" for row in (block.header, *block.rows)]
        lines.insert(1, "|" + " --- |" * len(block.header))
        return "\n".join(lines) + "\n"
    return f"$$\n{md_formula(_array(block))}\n$$\n"


def _array(grid: Grid) -> str:
    """Return the matrix as a LaTeX array with its row names at the left and its column names above."""
    corner = [""] if grid.rows else []
    labels = [[_tex_name(name)] for name in grid.rows] or [[] for _ in grid.cells]
    in_math = _inline(latex, lambda name: _tex_name(name) if name else "", str)
    head = "".join(" & ".join([*corner, *map(in_math, line)]) + " \\\\\n" for line in _header(grid))
    head = head.removesuffix("\n") + " \\hline\n" if head else ""
    body = " \\\\\n".join(" & ".join([*label, *map(latex, row)]) for label, row in zip(labels, grid.cells, strict=True))
    shape = ("r|" if grid.rows else "") + "r" * (len(grid.cells[0]) if grid.cells else 0)
    return f"{latex(grid.symbol)} =\n\\begin{{array}}{{{shape}}}\n{head}{body}\n\\end{{array}}"


def _tex_name(name: str) -> str:
    return f"\\text{{{tex_words(name)}}}"


# LaTeX

_TEX = r"""\documentclass[11pt,a4paper]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{amsmath}
\usepackage{graphicx}
\usepackage[margin=22mm]{geometry}
\setlength{\parindent}{0pt}
\setlength{\parskip}{6pt}
\allowdisplaybreaks
\setcounter{MaxMatrixCols}{24}
\newsavebox{\wide}
% a formula or table, made smaller where it does not fit the line
\newcommand{\fitted}[1]{\sbox{\wide}{$\displaystyle #1$}\begin{center}\ifdim\wd\wide>\linewidth
  \resizebox{\linewidth}{!}{\usebox{\wide}}\else\usebox{\wide}\fi\end{center}}
\begin{document}
"""


def tex(worked: Worked) -> str:
    """Return the exercise as a complete LaTeX document."""
    body = "\n".join(_tex_block(block) for block in worked.blocks)
    return f"{_TEX}\\section*{{{tex_words(worked.title)}}}\n\n{body}\n\\end{{document}}\n"


_tex = _inline(lambda formula: f"${latex(formula)}$", lambda name: f"\\texttt{{{tex_words(name)}}}", tex_words)


def _tex_block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"\\subsection*{{{tex_words(block.text)}}}\n"
    if isinstance(block, Paragraph):
        return f"{''.join(map(_tex, block.parts))}\n"
    if isinstance(block, Equation):
        return f"\\fitted{{{latex(block.formula)}}}\n"
    if isinstance(block, Table):
        rows = [" & ".join(map(_tex, row)) for row in (block.header, *block.rows)]
        rows[0] += " \\\\ \\hline"
        body = rows[0] + "\n" + " \\\\\n".join(rows[1:])
        return f"\\fitted{{\\begin{{tabular}}{{{'l' * len(block.header)}}}\n{body}\n\\end{{tabular}}}}\n"
    return f"\\fitted{{{_array(block)}}}\n"


# HTML

_CSS = """
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 17px/1.5 Georgia, serif; color: #1a1a1a; }
h1 { font-size: 1.6rem; }
h2 { font-size: 1.2rem; margin-top: 2rem; border-bottom: 1px solid #ccc; }
code { font-size: 0.85em; }
table { border-collapse: collapse; margin: 0.8rem 0; }
th, td { padding: 0.15rem 0.7rem; text-align: left; }
thead th { border-bottom: 1px solid #888; font-weight: normal; }
.scroll { overflow-x: auto; }
.grid { display: flex; align-items: center; gap: 0.6rem; overflow-x: auto; margin: 0.8rem 0; }
.grid td { text-align: right; white-space: nowrap; }
.grid thead th { text-align: right; border: 0; }
.grid tbody th { font-weight: normal; border-right: 1.5px solid #333; }
.grid td:last-child { border-right: 1.5px solid #333; }
.grid.bare td:first-child { border-left: 1.5px solid #333; }
figure { margin: 0.5rem 0; }
math[display="block"] { margin: 0.8rem 0; overflow-x: auto; overflow-y: hidden; }
@media print {
  @page { size: A4; margin: 16mm; }
  body { margin: 0; padding: 0; max-width: none; font-size: 10.5pt; }
  h2 { break-after: avoid; }
  figure, tr, .grid, p { break-inside: avoid; }
  .scroll, .grid, math[display="block"] { overflow: visible; }
  .grid { font-size: min(1em, calc(125em / var(--characters))); }
  .grid th, .grid td { padding: 0.15em 0.7em; }
}
"""


def page(worked: Worked) -> str:
    """Return the exercise as a page of HTML that needs nothing else: formulas are MathML."""
    drawn = ""
    if worked.pose is not None:
        from linkwork.view.picture import lettered

        drawn = f"<figure>{svg(lettered(worked.pose.model, worked.pose.q, worked.pose.letters))}</figure>\n"
    title = f"<h1>{html.escape(worked.title)}</h1>\n"
    return document(worked.title, _CSS, title + drawn + html_blocks(worked.blocks))


def cell(worked: Worked) -> str:
    """Return the exercise for a notebook."""
    return in_cell(_CSS, f"<h1>{html.escape(worked.title)}</h1>\n{html_blocks(worked.blocks)}")


def html_blocks(blocks: Sequence[Block]) -> str:
    """Write blocks of an exercise as a part of a page."""
    return "\n".join(_html_block(block) for block in blocks)


_html = _inline(
    mathml,
    lambda name: f"<code>{html.escape(name)}</code>" if name else "",
    lambda words: html.escape(words).replace("-&gt;", "→"),
)


def _tr(tag: str, cells: Iterable[str], first: str = "") -> str:
    return f"<tr>{first}{''.join(f'<{tag}>{cell}</{tag}>' for cell in cells)}</tr>\n"


def _html_block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h2>{html.escape(block.text)}</h2>"
    if isinstance(block, Paragraph):
        return f"<p>{''.join(map(_html, block.parts))}</p>"
    if isinstance(block, Equation):
        return mathml(block.formula, display=True)
    if isinstance(block, Table):
        rows = "".join(_tr("td", map(_html, row)) for row in block.rows)
        head = _tr("th", map(_html, block.header))
        return f'<div class="scroll"><table><thead>{head}</thead>\n<tbody>{rows}</tbody></table></div>'
    head = "".join(_tr("th", map(_html, line), "<th></th>" if block.rows else "") for line in _header(block))
    labels = [f"<th>{html.escape(name)}</th>" for name in block.rows] or [""] * len(block.cells)
    rows = "".join(_tr("td", map(mathml, row), label) for label, row in zip(labels, block.cells, strict=True))
    bare, columns = "" if block.rows else " bare", len(block.cells[0]) if block.cells else 0
    table = f"<table><thead>{head}</thead>\n<tbody>{rows}</tbody></table>"
    wide = (
        len(plain(block.symbol)) + max(map(len, block.rows), default=0) + sum(_width(k, block) for k in range(columns))
    )
    return f'<div class="grid{bare}" style="--characters: {wide}">{mathml(block.symbol)} = {table}</div>'


def _width(k: int, grid: Grid) -> int:
    """Estimate the width of a column in characters, with the space beside it: wide matrices are printed smaller."""
    cells = [*(_text(line[k]) for line in _header(grid)), *(plain(row[k]) for row in grid.cells)]
    return 3 + max(map(len, cells), default=0)


FORMATS: dict[str, Callable[[Worked], str]] = {".md": markdown, ".html": page, ".tex": tex, ".txt": text}


def save(worked: Worked, path: str | Path) -> None:
    """Write the exercise as the end of the file name says."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise UsageError(f"cannot write '{path}': the name must end in one of {', '.join(FORMATS)}", "unknown-suffix")
    write_text(path, FORMATS[suffix](worked))
