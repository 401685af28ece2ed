"""A motion beside tables of other programs, as text, a report and a picture."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from linkwork import __version__
from linkwork.comparison.beside import Beside, Spread, spread
from linkwork.errors import UsageError
from linkwork.files import write_text
from linkwork.view import markup
from linkwork.view.plot import COLORS, DASHES, GRID, INK, save, tidy, titled
from linkwork.view.plot import SUFFIXES as PICTURES
from linkwork.view.report import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".html", ".md", ".tex", *PICTURES)
ABREAST = 6  # parts in one table: places, velocities and accelerations in the plane
OVERALL = "all together"
HEADINGS = {"std": "standard deviation", "largest": "largest difference"}


def as_text(of: Beside) -> str:
    lines = []
    for key, heading in HEADINGS.items():
        for parts in _abreast(of.parts):
            rows = [[heading, *parts], *_rows(of, key, parts)]
            widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
            lines += [
                "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
                for row in rows
            ]
            lines.append("")
    return "\n".join(printable(line).rstrip() for line in [*lines, *remarks(of)])


def remarks(of: Beside) -> list[str]:
    """Describe what was compared."""
    tables = list(dict.fromkeys(d.table for d in of.differences))
    counts = {d.table: len(d.t) for d in of.differences}
    rows = ", ".join(f"{name} ({counts[name]} times)" for name in tables)
    count = len(of.differences)
    lines = [f"{of.motion.name} less {rows}: {count} {'column' if count == 1 else 'columns'}; linkwork {__version__}"]
    if any(row[0] == OVERALL for parts in _abreast(of.parts) for row in _rows(of, "std", parts)):
        lines.append(f"{OVERALL}: all differences of a column of this table as one sample")
    if empty := ", ".join(f"{d.column} ({d.empty} of {len(d.t)})" for d in of.differences if d.empty):
        lines.append(f"cells without a number are left out: {empty}")
    for name, number in of.outside.items():
        span = f"{of.motion.t[0]:g} s to {of.motion.t[-1]:g} s"
        lines.append(f"{_rows_of(number)} of {name} outside of the motion, {span}, left out")
    for d in of.differences:
        if d.turned:
            lines.append(f"{d.column}: whole turns taken from {_rows_of(d.turned)}, 2 pi each")
        if unit := of.likely_unit(d):
            lines.append(f"{d.column} seems to be in {unit}, not in {d.unit}; write {d.column} [{unit}] in its heading")
    if of.interpolation:
        worst = max(of.interpolation, key=lambda name: (of.interpolation or {})[name])
        lines.append(
            "some times lie between report times, where the motion is interpolated by splines: errors up to about "
            f"{of.interpolation[worst]:.1e} in {worst}; --step of the table avoids them"
        )
    if of.left_out:
        lines.append(
            f"no quantity is called like {', '.join(of.left_out)}: left out; --column COLUMN=QUANTITY names it"
        )
    return lines


def _rows_of(number: int) -> str:
    return f"{number} {'row' if number == 1 else 'rows'}"


def as_csv(of: Beside) -> str:
    """Return a row for every column of the tables, with all digits."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["table", "column", "quantity", "unit", *Spread._fields])
    lines.writerows([d.table, d.column, d.quantity, d.unit, *spread(d.values)] for d in of.differences)
    return text.getvalue()


def figure(of: Beside) -> Figure:
    """Draw for every part, x or vy, curves over those of the tables, broad and pale, and beside them the
    differences.
    """
    parts, tables = of.parts, ", ".join(dict.fromkeys(d.table for d in of.differences))
    title = f"{of.motion.name} beside {tables}, differences at the right"
    fig = titled(title, (13.0, 2.4 * len(parts) + 0.8), weight="normal")
    grid = fig.subplots(len(parts), 2, sharex=True, squeeze=False)
    owners = of.owners
    for (left, right), part in zip(grid, parts, strict=True):
        for d in (d for d in of.differences if d.part == part):
            k = owners.index(d.owner)
            style = {"color": COLORS[k % len(COLORS)], "linewidth": 1.2}
            left.plot(d.t, d.ours, linestyle=DASHES[k // len(COLORS) % len(DASHES)], label=d.owner, **style)
            left.plot(d.t, d.theirs, color=style["color"], linewidth=4.0, alpha=0.25)
            right.plot(d.t, d.values, **{**style, "linewidth": 0.8})
        found = of.spread(None, part)
        left.set_ylabel(part, color=INK, parse_math=False)
        right.set_title(f"standard deviation {found.std:.4e}" if found else "", color=INK, fontsize=9)
        for axes in (left, right):
            axes.grid(color=GRID, linewidth=0.7)
            axes.margins(x=0.01)
            tidy(axes)
    _name(fig, [axes for axes, _ in grid])
    grid[0][0].set_title(f"thin: linkwork, broad: {tables}", color=INK, fontsize=9, parse_math=False)
    for axes in grid[-1]:
        axes.set_xlabel("t [s]", color=INK)
    return fig


def _name(fig: Figure, axes: Sequence[Axes]) -> None:
    """Return one legend of all owners, whichever of the axes they are drawn in."""
    pairs = [pair for own in axes for pair in zip(*own.get_legend_handles_labels(), strict=True)]
    handles = {label: handle for handle, label in reversed(pairs)}
    labels = list(dict.fromkeys(label for _, label in pairs))
    legend = fig.legend(
        [handles[label] for label in labels], labels, loc="outside lower center", ncols=min(len(labels), 10),
        frameon=False, fontsize=9,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)


def write(of: Beside, path: str | Path) -> list[Path]:
    """Write a picture, or a report with tables and picture: .html in one file, .md with an .svg beside it."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in PICTURES:
        save(figure(of), path)
        return [path]
    if suffix == ".html":
        from linkwork.view.comparison import CSS

        title = f"{of.motion.name} beside other programs"
        notes, drawn = markup.bullets(remarks(of)), markup.svg(figure(of))
        body = f"<h1>{markup.text(title)}</h1>{''.join(_html(of, key) for key in HEADINGS)}{notes}"
        write_text(path, markup.document(title, CSS, f"{body}<figure>{drawn}</figure>"))
        return [path]
    if suffix == ".md":
        picture = path.with_suffix(".svg")
        save(figure(of), picture)
        notes = "\n".join(f"- {markup.md_words(line)}" for line in remarks(of))
        tables = "\n\n".join(markdown_table(of, key) for key in HEADINGS)
        title = markup.md_words(f"{of.motion.name} beside other programs")
        write_text(path, f"# {title}\n\n{tables}\n\n{notes}\n\n![differences](<{picture.name}>)\n")
        return [path, picture]
    if suffix == ".tex":
        said = "".join(f"% {printable(line)}\n" for line in remarks(of))
        numbers = range(1, 1 + len(of.parts))
        written = (markup.tex_table([HEADINGS[key], *of.parts], _rows(of, key, of.parts), numbers) for key in HEADINGS)
        write_text(path, said + "\n".join(written))
        return [path]
    raise UsageError(f"cannot write '{path}': the name must end in one of {', '.join(SUFFIXES)}", "unknown-suffix")


def markdown_table(of: Beside, key: str) -> str:
    heads = [HEADINGS[key], *of.parts]
    lines = [heads, ["---", *["---:"] * len(of.parts)], *_rows(of, key, of.parts)]
    return "\n".join(f"| {' | '.join(c if '---' in c else markup.md_words(c) for c in row)} |" for row in lines)


def _html(of: Beside, key: str) -> str:
    heads = [HEADINGS[key], *of.parts]
    return f'<div class="wide">{markup.table(heads, _rows(of, key, of.parts), range(1, len(heads)))}</div>'


def _rows(of: Beside, key: str, parts: Sequence[str]) -> list[list[str]]:
    """Return a row for all owners together, then one for each, in which it has any of these parts."""
    owners = [owner for owner in of.owners if any(of.spread(owner, part) for part in parts)]
    chosen: list[str | None] = [None, *owners] if len(owners) > 1 else [*owners]
    return [[owner or OVERALL, *(_shown(of.spread(owner, part), key) for part in parts)] for owner in chosen]


def _abreast(parts: Sequence[str]) -> list[Sequence[str]]:
    return [parts[k : k + ABREAST] for k in range(0, len(parts), ABREAST)]


def _shown(found: Spread | None, key: str) -> str:
    value = np.nan if found is None else getattr(found, key)
    return f"{value:.4e}" if np.isfinite(value) else ""
