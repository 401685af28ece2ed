"""Worked exercises as text for the terminal, as Markdown, as a LaTeX document and as a page of HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import wrap

from linkwork.errors import UsageError
from linkwork.files import write_text
from linkwork.lecture.exercise import Block, Formula, Grid, Heading, Paragraph, Table, Worked
from linkwork.view.formulas import mathml, plain

WIDTH = 100  # of paragraphs on the terminal
NUMBER = re.compile(r"-?[0-9][0-9.e+-]*")
INLINE = re.compile(r"\$([^$]*)\$|`([^`]*)`")


def _inline(text: str, math: Callable[[str], str], name: Callable[[str], str], rest: Callable[[str], str]) -> str:
    """The text with its $mathematics$, `names` and everything else rewritten."""
    parts, end = [], 0
    for found in INLINE.finditer(text):
        parts.append(rest(text[end : found.start()]))
        parts.append(math(found[1]) if found[1] is not None else name(found[2]))
        end = found.end()
    return "".join([*parts, rest(text[end:])])


def _same(text: str) -> str:
    return text


def _grid_header(grid: Grid) -> list[list[str]]:
    """The header lines of a matrix: symbols, then names, as far as there are any."""
    lines = []
    if any(symbol for symbol, _ in grid.columns):
        lines.append([f"${symbol}$" if symbol else "" for symbol, _ in grid.columns])
    if any(name for _, name in grid.columns):
        lines.append([f"`{name}`" if name else "" for _, name in grid.columns])
    return lines


# Terminal


def text(worked: Worked) -> str:
    """The exercise as plain text."""
    title = worked.title
    return "\n".join([title, "=" * len(title), "", *(_text_block(block) for block in worked.blocks)])


def _line(source: str) -> str:
    return _inline(source, plain, _same, _same)


def _text_block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{block.text}\n{'-' * len(block.text)}\n"
    if isinstance(block, Paragraph):
        # blanks inside formulas must not break the line
        joined = _inline(block.text, lambda m: plain(m).replace(" ", "\0"), _same, _same)
        return "\n".join(wrap(joined, WIDTH, break_long_words=False)).replace("\0", " ") + "\n"
    if isinstance(block, Formula):
        return "\n".join(f"    {line}" for line in plain(block.latex).splitlines()) + "\n"
    if isinstance(block, Table):
        rows = [[_line(cell) for cell in row] for row in (block.header, *block.rows)]
        return _columns(rows, header=1)
    rows = [[_line(cell) for cell in line] for line in _grid_header(block)]
    header = len(rows)
    rows += [[plain(cell) for cell in row] for row in block.cells]
    if block.rows:
        rows = [[label, *row] for label, row in zip([""] * header + list(block.rows), rows, strict=True)]
    return f"    {plain(block.latex)} =\n" + _columns(rows, header, numeric=True, labelled=bool(block.rows))


def _columns(rows: Sequence[Sequence[str]], header: int, numeric: bool = False, labelled: bool = True) -> str:
    """Aligned columns: to the right in matrices and where all entries are numbers, else to the left."""
    columns = []
    for j, column in enumerate(zip(*rows, strict=True)):
        width = max(len(cell) for cell in column)
        right = (numeric and (j > 0 or not labelled)) or all(NUMBER.fullmatch(cell) for cell in column[header:])
        columns.append([cell.rjust(width) if right else cell.ljust(width) for cell in column])
    lines = [f"    {'  '.join(cells)}".rstrip() for cells in zip(*columns, strict=True)]
    if header:
        lines.insert(header, "    " + "-" * (sum(len(column[0]) + 2 for column in columns) - 2))
    return "\n".join(lines) + "\n"


# Markdown


def markdown(worked: Worked) -> str:
    """The exercise in Markdown, with formulas in LaTeX between dollar signs."""
    return "\n".join([f"# {_md_words(worked.title)}", "", *(_md_block(block) for block in worked.blocks)])


def _md_words(source: str) -> str:
    return re.sub(r"([\\*_<>#|\[\]])", r"\\\1", source)


def _md(source: str) -> str:
    return _inline(source, lambda m: f"${m}$", lambda name: f"`{name}`", _md_words)


def _md_block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"## {_md_words(block.text)}\n"
    if isinstance(block, Paragraph):
        return f"{_md(block.text)}\n"
    if isinstance(block, Formula):
        return f"$$\n{block.latex}\n$$\n"
    if isinstance(block, Table):
        lines = [f"| {' | '.join(_md(cell).replace('|', '') for cell in row)} |" for row in (block.header, *block.rows)]
        lines.insert(1, "|" + " --- |" * len(block.header))
        return "\n".join(lines) + "\n"
    return f"$$\n{_array(block)}\n$$\n"


def _array(grid: Grid) -> str:
    r"""The matrix as a LaTeX array with its row names at the left and its column names above."""
    width = len(grid.cells[0]) if grid.cells else 0
    lines = []
    for header in _grid_header(grid):
        cells = [_inline(cell, _same, _tex_name, _same) for cell in header]
        lines.append(" & ".join([*([""] if grid.rows else []), *cells]))
    body = []
    for k, row in enumerate(grid.cells):
        body.append(" & ".join([*([_tex_name(grid.rows[k])] if grid.rows else []), *row]))
    shape = ("r|" if grid.rows else "") + "r" * width
    head = " \\\\\n".join(lines) + " \\\\ \\hline\n" if lines else ""
    return f"{grid.latex} =\n\\begin{{array}}{{{shape}}}\n{head}" + " \\\\\n".join(body) + "\n\\end{array}"


def _tex_name(name: str) -> str:
    return f"\\text{{{_tex_words(name)}}}"


# LaTeX

_TEX_ESCAPES = {
    **{c: f"\\{c}" for c in "_$&#%{}"},
    "\\": "\\textbackslash{}",
    "^": "\\textasciicircum{}",
    "~": "\\textasciitilde{}",
}

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
% a formula, made smaller where it does not fit the line
\newcommand{\fitted}[1]{\sbox{\wide}{$\displaystyle #1$}\begin{center}\ifdim\wd\wide>\linewidth
  \resizebox{\linewidth}{!}{\usebox{\wide}}\else\usebox{\wide}\fi\end{center}}
\begin{document}
"""


def _tex_words(source: str) -> str:
    return "".join(_TEX_ESCAPES.get(c, c) for c in source)


def tex(worked: Worked) -> str:
    """The exercise as a complete LaTeX document."""
    body = "\n".join(_tex_block(block) for block in worked.blocks)
    return f"{_TEX}\\section*{{{_tex_words(worked.title)}}}\n\n{body}\n\\end{{document}}\n"


def _tex_text(source: str) -> str:
    return _inline(source, lambda m: f"${m}$", lambda name: f"\\texttt{{{_tex_words(name)}}}", _tex_words)


def _tex_block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"\\subsection*{{{_tex_words(block.text)}}}\n"
    if isinstance(block, Paragraph):
        return f"{_tex_text(block.text)}\n"
    if isinstance(block, Formula):
        return f"\\fitted{{{block.latex}}}\n"
    if isinstance(block, Table):
        rows = [" & ".join(_tex_text(cell) for cell in row) for row in (block.header, *block.rows)]
        rows[0] += " \\\\ \\hline"
        body = rows[0] + "\n" + " \\\\\n".join(rows[1:])
        tabular = f"\\begin{{tabular}}{{{'l' * len(block.header)}}}\n{body}\n\\end{{tabular}}"
        return f"\\begin{{center}}\n{tabular}\n\\end{{center}}\n"
    return f"\\fitted{{{_array(block)}}}\n"


# HTML

_HTML = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 17px/1.5 Georgia, serif; color: #1a1a1a; }}
h1 {{ font-size: 1.6rem; }}
h2 {{ font-size: 1.2rem; margin-top: 2rem; border-bottom: 1px solid #ccc; }}
code {{ font-size: 0.85em; }}
table {{ border-collapse: collapse; margin: 0.8rem 0; }}
th, td {{ padding: 0.15rem 0.7rem; text-align: left; }}
thead th {{ border-bottom: 1px solid #888; font-weight: normal; }}
.scroll {{ overflow-x: auto; }}
.grid {{ display: flex; align-items: center; gap: 0.6rem; overflow-x: auto; margin: 0.8rem 0; }}
.grid td {{ text-align: right; white-space: nowrap; }}
.grid thead th {{ text-align: right; border: 0; }}
.grid tbody th {{ font-weight: normal; border-right: 1.5px solid #333; }}
.grid td:last-child {{ border-right: 1.5px solid #333; }}
.grid.bare td:first-child {{ border-left: 1.5px solid #333; }}
math[display="block"] {{ margin: 0.8rem 0; overflow-x: auto; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def page(worked: Worked) -> str:
    """The exercise as a page of HTML that needs nothing else: formulas are MathML."""
    return _HTML.format(title=html.escape(worked.title), body=html_blocks(worked.blocks))


def html_blocks(blocks: Sequence[Block]) -> str:
    """Blocks of an exercise as a part of a page."""
    return "\n".join(_html_block(block) for block in blocks)


def _html(source: str) -> str:
    return _inline(source, mathml, lambda name: f"<code>{html.escape(name)}</code>", html.escape)


def _html_block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h2>{html.escape(block.text)}</h2>"
    if isinstance(block, Paragraph):
        return f"<p>{_html(block.text)}</p>"
    if isinstance(block, Formula):
        return mathml(block.latex, display=True)
    if isinstance(block, Table):
        head = "".join(f"<th>{_html(cell)}</th>" for cell in block.header)
        rows = "\n".join(f"<tr>{''.join(f'<td>{_html(cell)}</td>' for cell in row)}</tr>" for row in block.rows)
        return f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>'
    corner = "<th></th>" if block.rows else ""
    head = "".join(
        f"<tr>{corner}{''.join(f'<th>{_html(cell)}</th>' for cell in line)}</tr>" for line in _grid_header(block)
    )
    rows = ""
    for k, row in enumerate(block.cells):
        name = f"<th>{html.escape(block.rows[k])}</th>" if block.rows else ""
        rows += f"<tr>{name}{''.join(f'<td>{mathml(cell)}</td>' for cell in row)}</tr>\n"
    bare = "" if block.rows else " bare"
    table = f"<table><thead>{head}</thead>\n<tbody>{rows}</tbody></table>"
    return f'<div class="grid{bare}">{mathml(block.latex + " =")}{table}</div>'


FORMATS: dict[str, Callable[[Worked], str]] = {".md": markdown, ".html": page, ".tex": tex, ".txt": text}


def save(worked: Worked, path: str | Path) -> None:
    """Write the exercise as the end of the file name says."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise UsageError(f"cannot write '{path}': the name must end in one of {', '.join(FORMATS)}", "unknown-suffix")
    write_text(path, FORMATS[suffix](worked))
