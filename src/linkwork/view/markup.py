"""What pages of HTML are made of."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from linkwork.view.report import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def text(source: str) -> str:
    return escape(printable(source))


def document(title: str, css: str, body: str, head: str = "") -> str:
    """A page that needs nothing else."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">{head}
<title>{text(title)}</title><style>{css}</style></head>
<body>
{body}
</body></html>
"""


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], numeric: Iterable[int] = (), failed: Iterable[int] = ()
) -> str:
    """Some columns are numeric, some rows failed."""
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


def svg(fig: Figure) -> str:
    """A figure as a part of the page, its text as text."""
    import matplotlib

    out = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        fig.savefig(out, format="svg", metadata={"Date": None})
    drawn = out.getvalue()
    return drawn[drawn.index("<svg") :]
