"""A comparison of formulations as a table, a picture and a report."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from linkwork import __version__
from linkwork.comparison.compare import COLUMNS, Comparison, Row
from linkwork.errors import UsageError
from linkwork.files import write_text
from linkwork.formulations import ALGEBRAIC, EXPLICIT, usual_formulations
from linkwork.view import markup
from linkwork.view.plot import COLORS, GRID, INK, save, tidy, titled
from linkwork.view.report import fitted, printable, terminal_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

SUFFIXES = (".html", ".md", ".tex")
LEAST = 1e-17  # a distance below is drawn here
BETWEEN = 0.045  # least distance of two labels, of the height of the axes

# Heading and text of what the columns of a table show.
Format = Callable[[Row], str]
TABLE: tuple[tuple[str, Format], ...] = (
    ("formulation", lambda row: row.label),
    ("time [ms]", lambda row: _shown(row.integration_s, ".3g", 1e3)),
    ("right side [ms]", lambda row: _shown(row.formulation_s, ".3g", 1e3)),
    ("solver [ms]", lambda row: _shown(row.solver_s, ".3g", 1e3)),
    ("evaluations", lambda row: _shown(row.evaluations)),
    ("steps", lambda row: _shown(row.steps)),
    ("largest |Psi|", lambda row: _shown(row.position_error, ".0e")),
    ("largest |Psi_dot|", lambda row: _shown(row.velocity_error, ".0e")),
    ("energy drift [J]", lambda row: _shown(row.energy_drift, ".0e")),
    ("distance [m]", lambda row: _shown(row.distance, ".1e")),
    ("angle [rad]", lambda row: _shown(row.angle, ".1e")),
    ("status", lambda row: row.status),
)
# Costs that others publish: heading, text, and whether it depends on the machine.
OF_COSTS = {
    "integration_s": ("time [s]", ".3g", True),
    "formulation_s": ("right side [s]", ".3g", True),
    "solver_s": ("solver [s]", ".3g", True),
    "evaluations": ("evaluations", ".0f", False),
    "steps": ("steps", ".0f", False),
}
# The same for a terminal, without the status.
HEADINGS = (
    *("formulation", "time\nms", "right\nside", "solver\nms", "evalu-\nations", "steps", "|Psi|", "|Psi_\ndot|"),
    *("energy\ndrift", "distance\nm", "angle\nrad"),
)
CSS = """
body { font: 15px/1.5 system-ui, sans-serif; color: #30363d; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 } th, td { padding: .3rem .6rem; border-bottom: 1px solid #dfe3e8 }
td, th { text-align: left } td.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
figure { margin: 0 }
.wide { overflow-x: auto } svg { max-width: 100%; height: auto } .failed td { color: #b3303f }
"""


def table(comparison: Comparison, columns: Sequence[int]) -> Table:
    """Return some columns, for a terminal; the reasons of failures are not in it, see `remarks`."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for k in columns:
        shown.add_column(Text(HEADINGS[k]), justify="right" if k else "left", no_wrap=True)
    for row in comparison.rows:
        shown.add_row(*(Text(_cell_text(row, k)) for k in columns), style="" if row.ok else "red")
    return shown


def _cell_text(row: Row, k: int) -> str:
    return "failed" if k == len(HEADINGS) - 1 and not row.ok else TABLE[k][1](row)


def split_columns(comparison: Comparison, width: int) -> list[list[int]]:
    """Return the columns in groups that fit beside the names of the rows, so that no figure is cut."""
    texts = [[heading, *(_cell_text(row, k) for row in comparison.rows)] for k, heading in enumerate(HEADINGS)]
    sizes = [1 + max(len(line) for text in column for line in text.split("\n")) for column in texts]
    groups = [[0]]
    for k in range(1, len(HEADINGS)):
        if len(groups[-1]) > 1 and sum(sizes[j] for j in (*groups[-1], k)) - 1 > width:
            groups.append([0])
        groups[-1].append(k)
    return groups


def as_text(comparison: Comparison) -> str:
    """Write table and remarks for a terminal, or for a file if there is none."""
    from rich.console import Console

    columns = terminal_columns()
    text = Console(file=io.StringIO(), width=120, force_terminal=columns is not None)
    with text.capture() as shown:
        for group in split_columns(comparison, columns or text.width):
            text.print(table(comparison, group))
    said = [printable(line) for line in remarks(comparison)]
    lines = said if columns is None else [part for line in said for part in fitted(line, columns)]
    tables = [_columns(published_rows(comparison, [key])) for key in published_costs(comparison)]
    others = [line for lines_of in tables for line in ("", *lines_of)]
    return "\n".join([shown.get().rstrip(), *map(printable, others), "", *lines])


def _columns(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def published_costs(comparison: Comparison) -> list[str]:
    """Tell which costs are published, in our order."""
    return [key for key in OF_COSTS if any(key in row.values for row in comparison.published)]


def published_rows(comparison: Comparison, keys: Sequence[str]) -> list[list[str]]:
    """Return heading and rows: figures of other programs beside these, times also by that of the first, as machines
    differ.
    """
    if not comparison.published:
        return []
    first = next((x for x in comparison.published if comparison.row_of(x.formulation)), comparison.published[0])
    base = comparison.row_of(first.formulation)
    heads = ["published", "here"]
    for key in keys:
        name, _, of_machine = OF_COSTS[key]
        heads += [f"{name} there", "of the first", "here", "of the first"] if of_machine else [f"{name} there", "here"]
    rows = [heads]
    for row in comparison.published:
        own = comparison.row_of(row.formulation)
        cells = [row.name, row.formulation]
        for key in keys:
            _, form, of_machine = OF_COSTS[key]
            there, here = (
                (row.values.get(key), first.values.get(key)),
                (getattr(own, key, None), getattr(base, key, None)),
            )
            for value, by in (there, here):
                cells.append(_shown(value, form))
                if of_machine:
                    cells.append(f"{value / by:.3g}" if value is not None and by else "")
        rows.append([*cells, row.remark])
    if any(row[-1] for row in rows[1:]):
        heads.append("remark")
        return rows
    return [heads, *(row[:-1] for row in rows[1:])]


# Why formulations are compared only where they are asked for.
WHY_LEFT_OUT = {
    **dict.fromkeys(ALGEBRAIC, "for implicit integrators, radau5 and generalized-alpha"),
    **dict.fromkeys(usual_formulations(), "not for this integrator"),
    EXPLICIT: "equations of its own, which are derived in symbols first",
}


def remarks(comparison: Comparison) -> list[str]:
    """Say settings, what was measured, reference and failures in words."""
    r = comparison.reference
    runs = r["runs"]
    lines = [
        f"{comparison.model}: {r['t_end']:g} s, {runs['coordinates']} coordinates, integrator {runs['integrator']}, "
        f"stabilization {runs['stabilization']}, rtol {runs['rtol']:g}, atol {runs['atol']:g}; linkwork {__version__}",
        "time: processor time of the integration alone, without deriving or compiling equations; the best of three "
        "where that is short",
        "right side: the part of it that evaluates accelerations, as evaluations times the mean cost of one, measured "
        "apart; both scatter by some per cent; solver: the rest",
        "|Psi|, |Psi_dot|: largest constraint error [m, rad] and its rate over all steps and report times",
        "energy drift: largest change of kinetic + potential + dissipated - supplied energy [J]",
    ]
    if r["status"] == "ok":
        lines.append(
            f"distance, angle: largest difference of a place and of an angle at report times from the reference, "
            f"{r['formulation']} at rtol {r['rtol']:g}, which is itself good to about {r['error']:.0e} m and "
            f"{r['angle_error']:.0e} rad"
        )
    else:
        lines.append(f"no reference solution: {r['status']}")
    apart = ", ".join(row.label for row in comparison.rows if row.ok and row.formulation_s is None)
    if apart:
        lines.append(f"right side and solver are left out where they could not be told apart: {apart}")
    left_out: dict[str, list[str]] = {}
    for name in runs.get("left_out", ()):
        left_out.setdefault(WHY_LEFT_OUT[name], []).append(name)
    if left_out:
        words = "; ".join(f"{', '.join(names)} ({why})" for why, names in left_out.items())
        lines.append(f"not compared unless named by --formulations: {words}")
    return [*lines, *(f"{row.label}: {row.status}" for row in comparison.rows if not row.ok)]


def as_csv(comparison: Comparison) -> str:
    """Return the rows with all digits; what is unknown is left empty."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    for row in comparison.rows:
        lines.writerow(["" if value is None else value for value in (getattr(row, name) for name in COLUMNS)])
    return text.getvalue()


def markdown_table(comparison: Comparison) -> str:
    numbers = "|".join(["---", *["---:"] * (len(TABLE) - 2), "---"])
    lines = ["| " + " | ".join(_cell(heading) for heading, _ in TABLE) + " |", f"|{numbers}|"]
    lines += ["| " + " | ".join(_cell(form(row)) for _, form in TABLE) + " |" for row in comparison.rows]
    return "\n".join(lines)


def latex_table(comparison: Comparison) -> str:
    """Return the table for a paper, with the settings of the runs as remarks of LaTeX."""
    rows = ([form(row) for _, form in TABLE] for row in comparison.rows)
    said = "".join(f"% {printable(line)}\n" for line in remarks(comparison))
    return said + markup.tex_table([heading for heading, _ in TABLE], rows, range(1, len(TABLE) - 1))


def figure(comparison: Comparison) -> Figure:
    """Draw cost against accuracy, both logarithmic, beside bars of the cost."""
    rows = sorted((row for row in comparison.rows if row.ok), key=lambda row: row.integration_s or 0.0)
    height = max(4.2, 0.32 * len(rows) + 1.6)
    runs = comparison.reference["runs"]
    title = f"{comparison.model}: rtol {runs['rtol']:g}, {runs['integrator']}, {runs['stabilization']}"
    fig = titled(title, (13.0, height))
    left, right = fig.subplots(1, 2, width_ratios=(1.15, 1.0))
    colors = {row.label: COLORS[k % len(COLORS)] for k, row in enumerate(comparison.rows)}
    _draw_accuracy(left, rows, colors)
    _draw_cost(right, rows, colors)
    for axes in (left, right):
        tidy(axes)
    return fig


def write(comparison: Comparison, path: str | Path) -> list[Path]:
    """Write a report with table and picture, .html in one file, .md with an .svg beside it, or the table alone, .tex.

    The files written are returned.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".html":
        write_text(path, html(comparison))
        return [path]
    if suffix == ".md":
        picture = path.with_suffix(".svg")
        save(figure(comparison), picture)
        write_text(path, markdown(comparison, picture.name))
        return [path, picture]
    if suffix == ".tex":
        write_text(path, latex_table(comparison))
        return [path]
    raise UsageError(f"cannot write '{path}': the report is written as {', '.join(SUFFIXES)}", "unknown-suffix")


def markdown(comparison: Comparison, picture: str) -> str:
    rows = published_rows(comparison, published_costs(comparison))
    ruled = [rows[0], ["---"] * len(rows[0]), *rows[1:]] if rows else []
    parts = [f"# Formulations of {_cell(comparison.model)}", markdown_table(comparison)]
    if ruled:
        parts.append("\n".join(f"| {' | '.join(c if c == '---' else _cell(c) for c in row)} |" for row in ruled))
    parts.append("\n".join(f"- {_cell(line)}" for line in remarks(comparison)))
    parts.append(f"![cost against accuracy](<{picture}>)")
    return "\n\n".join(parts) + "\n"


def html(comparison: Comparison) -> str:
    title = f"Formulations of {comparison.model}"
    return markup.document(title, CSS, f"<h1>{markup.text(title)}</h1>\n{html_part(comparison)}")


def cell(comparison: Comparison) -> str:
    """Write table and remarks for a notebook."""
    return markup.in_cell(CSS, _html_table(comparison))


def html_part(comparison: Comparison) -> str:
    """Write table, remarks and picture for a page."""
    return f"{_html_table(comparison)}<figure>{markup.svg(figure(comparison))}</figure>"


def _html_table(comparison: Comparison) -> str:
    failed = [k for k, row in enumerate(comparison.rows) if not row.ok]
    rows = ([form(row) for _, form in TABLE] for row in comparison.rows)
    shown = markup.table([heading for heading, _ in TABLE], rows, range(1, len(TABLE) - 1), failed)
    notes, others = markup.bullets(remarks(comparison)), published_rows(comparison, published_costs(comparison))
    if others:
        shown += markup.table(others[0], others[1:], range(2, len(others[0])))
    return f'<div class="wide">{shown}</div>{notes}'


def _draw_accuracy(axes: Axes, rows: list[Row], colors: dict[str, str]) -> None:
    """Draw every formulation a point; names stand in one column at the right, since many lie close together."""
    # Mechanisms that turn about their mass centres, and those stated in angles alone, have no other distance.
    key, unit = ("distance", "m") if any(row.distance for row in rows) else ("angle", "rad")
    drawn = [row for row in rows if getattr(row, key) is not None]
    axes.set_xlabel(f"{key} from the reference solution [{unit}]", color=INK)
    axes.set_ylabel("time [s]", color=INK)
    axes.grid(color=GRID, linewidth=0.7, which="major")
    if not drawn:
        axes.text(0.5, 0.5, "no reference solution", ha="center", color=INK, transform=axes.transAxes)
        return
    x = np.array([max(getattr(row, key), LEAST) for row in drawn])
    y = np.array([row.integration_s or 0.0 for row in drawn])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*_decades(x))
    axes.set_ylim(*_decades(y))
    axes.scatter(x, y, s=42, c=[colors[row.label] for row in drawn], zorder=3, edgecolors="white", linewidths=0.8)
    low, high = np.log10(axes.get_ylim())
    places = spread((np.log10(y) - low) / (high - low), BETWEEN)
    for row, x_k, y_k, place in zip(drawn, x, y, places, strict=True):
        axes.annotate(
            row.label, (x_k, y_k), xytext=(1.02, place), textcoords="axes fraction", va="center", fontsize=9,
            color=INK, annotation_clip=False, parse_math=False,
            arrowprops={"arrowstyle": "-", "color": colors[row.label], "linewidth": 0.7, "relpos": (0, 0.5)},
        )  # fmt: skip


def _draw_cost(axes: Axes, rows: list[Row], colors: dict[str, str]) -> None:
    """Draw a bar per formulation, quickest on top: the right-hand side dark, the rest of the integration light."""
    axes.set_xlabel("time [ms], dark: in the right side", color=INK)
    axes.grid(color=GRID, linewidth=0.7, axis="x")
    names = [row.label for row in rows]
    whole = np.array([1e3 * (row.integration_s or 0.0) for row in rows])
    inside = np.array([1e3 * (row.formulation_s or 0.0) for row in rows])
    shades = [colors[name] for name in names]
    axes.barh(names, whole, color=shades, alpha=0.35, height=0.68)
    axes.barh(names, inside, color=shades, height=0.68)
    for k, value in enumerate(whole):
        axes.annotate(
            f"{value:.3g}", (value, k), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9, color=INK
        )
    axes.margins(x=0.12)
    axes.invert_yaxis()


def _decades(values: np.ndarray) -> tuple[float, float]:
    """Return powers of ten with all values between them."""
    low, high = np.floor(np.log10(np.min(values))), np.ceil(np.log10(np.max(values)))
    return float(10.0**low), float(10.0 ** max(high, low + 1.0))


def spread(heights: np.ndarray, between: float) -> np.ndarray:
    """Move heights in rising order apart to at least `between`, each group about its middle."""
    groups = [[h] for h in heights]

    def bottom(group: list[float]) -> float:
        return float(np.mean(group)) - 0.5 * between * (len(group) - 1)

    k = 0
    while k + 1 < len(groups):
        if bottom(groups[k + 1]) < bottom(groups[k]) + between * len(groups[k]):
            groups[k] += groups.pop(k + 1)
            k = max(k - 1, 0)
        else:
            k += 1
    return np.array([bottom(group) + between * i for group in groups for i in range(len(group))])


def _cell(text: str) -> str:
    """Write text that means nothing else in a cell of a Markdown table."""
    plain = escape(printable(text).replace("\n", " "), quote=False)
    return "".join(f"\\{c}" if c in "\\|*_`[]" else c for c in plain)


def _shown(value: float | None, form: str = "", factor: float = 1) -> str:
    return "" if value is None else f"{value * factor:{form}}"
