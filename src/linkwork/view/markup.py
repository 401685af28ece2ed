"""What pages of HTML are made of; names and tables of a model in Markdown and LaTeX."""

from __future__ import annotations

import io
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from linkwork.errors import check_extra
from linkwork.view.report import printable
from linkwork.writing.notation import ESCAPES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def text(source: str) -> str:
    return escape(printable(source))


def md_words(source: str) -> str:
    """Write text in Markdown, none of it taken for markup."""
    return re.sub(r"([\\*_<>#|\[\]`$&~])", r"\\\1", source)


def md_code(source: str) -> str:
    """Return a code span, between more backticks than stand together in it."""
    fence = "`" * (max(map(len, re.findall("`+", source)), default=0) + 1)
    space = " " if "`" in source else ""
    return f"{fence}{space}{source}{space}{fence}"


def md_formula(source: str) -> str:
    """Write LaTeX for Markdown, which looks for code and tags also in formulas; a backtick becomes a quotation mark."""
    return re.sub(r"<(?=\S)", "< ", source).replace("`", "\N{LEFT SINGLE QUOTATION MARK}")


_TEX_ESCAPES = {**ESCAPES, "\\": "\\textbackslash{}", "^": "\\textasciicircum{}", "~": "\\textasciitilde{}"}


def tex_words(source: str) -> str:
    """Write text in LaTeX, none of it taken for markup."""
    return "".join(_TEX_ESCAPES.get(c, c) for c in printable(source))


def tex_table(heads: Sequence[str], rows: Iterable[Sequence[str]], numeric: Iterable[int] = ()) -> str:
    """Write a tabular that needs no package; some columns are numeric."""
    right = set(numeric)
    columns = "".join("r" if k in right else "l" for k in range(len(heads)))
    head, *lines = (" & ".join(map(tex_words, row)) + r" \\" for row in (heads, *rows))
    top = rf"\begin{{tabular}}{{{columns}}}", r"\hline", f"{head} \\hline"
    return "\n".join([*top, *lines, r"\hline", r"\end{tabular}", ""])


FORMULAS = """
math { font-family: "Latin Modern Math", "STIX Two Math", "Cambria Math", "DejaVu Math TeX Gyre", math }
"""
# Of all pages: a font for formulas, dark where the reader likes it, and nothing hidden on paper.
CSS = (
    f"{FORMULAS}"
    """
:root { color-scheme: light dark }
@media screen and (prefers-color-scheme: dark) {
  body { background: #15181c; color: #d7dde4 } a { color: #7fb2e8 }
  svg { background: white; filter: invert(1) hue-rotate(180deg) brightness(.92); mix-blend-mode: lighten }
  .source { color: #9aa6b2 }
  * { border-color: #4a525c !important } pre { background: #22272e }
}
@media print {
  .grid, .scroll, .wide, math[display="block"] { overflow: visible } .wide { zoom: .65 }
}
@media screen and (max-width: 40rem) { table { display: block; overflow-x: auto; max-width: 100% } }
svg { max-width: 100%; height: auto }
"""
)


def in_cell(css: str, body: str) -> str:
    """Write what a notebook shows in a cell, with styles of its own."""
    return f'<div class="linkwork"><style>.linkwork {{ {css} {FORMULAS} }}</style>{body}</div>'


def lines_in_cell(lines: Iterable[Sequence[str]]) -> str:
    """Write lines of a report, a word and what it says of a result, for a cell of a notebook."""
    return in_cell("td { text-align: left !important; vertical-align: top; white-space: pre-wrap }", table([], lines))


def document(title: str, css: str, body: str, head: str = "") -> str:
    """Return a page that needs nothing else."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">{head}
<title>{text(title)}</title><style>{css}{CSS}</style></head>
<body>
{body}
</body></html>
"""


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], numeric: Iterable[int] = (), failed: Iterable[int] = ()
) -> str:
    """Write a table in which some columns are numeric and some rows failed."""
    kinds, marked, right = ("v", "n"), set(failed), set(numeric)
    head = f"<thead><tr>{''.join(f'<th>{text(cell)}</th>' for cell in heads)}</tr></thead>" if heads else ""
    body = "\n".join(
        f"<tr{' class=failed' if i in marked else ''}>"
        + "".join(f'<td class="{kinds[k in right]}">{text(cell)}</td>' for k, cell in enumerate(row))
        + "</tr>"
        for i, row in enumerate(rows)
    )
    return f"<table>{head}<tbody>{body}</tbody></table>"


def bullets(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{text(line)}</li>' for line in lines)}</ul>"


def image(fig: Figure, alt: str) -> str:
    """Write a figure as an image for a cell, which readers see also in a notebook that is not trusted."""
    source = b64encode(svg(fig).encode()).decode("ascii")
    style = "max-width:100%;background:white;border-radius:8px"
    return f'<img alt="{text(alt)}" style="{style}" src="data:image/svg+xml;base64,{source}">'


def svg(fig: Figure) -> str:
    """Return a figure as a part of the page, its text as text, without names of other places."""
    check_extra("matplotlib")
    import matplotlib

    out = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "linkwork"}):  # the same names every time
        fig.savefig(out, format="svg", metadata={"Date": None})
    drawn = re.sub(r' xmlns:xlink="[^"]*"|<metadata>.*?</metadata>', "", out.getvalue(), flags=re.DOTALL)
    return drawn[drawn.index("<svg") :].replace("xlink:href", "href")
