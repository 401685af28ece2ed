"""Pictures of a trajectory: quantities against time, or against each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Array
from linkwork.errors import UsageError, check_extra
from linkwork.files import whole
from linkwork.readings import plain
from linkwork.trajectory import Trajectory
from linkwork.units import parse_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


SUFFIXES = (".png", ".svg", ".pdf")
COLORS = ("#1f5fa8", "#d1495b", "#2a9d63", "#e08e1b", "#7a4fa3", "#1a9aa8", "#8a6d3b", "#5c6770")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))  # so that more curves than colors differ
COVERING = (0, (4, 4))  # of a curve that lies on an earlier one, which is to be seen in between
SAME = 1e-3  # of the range of a curve: another so close covers it
INK, GRID = "#30363d", "#dfe3e8"
MOST = 8  # curves in one panel of the default choice
POINTS = 8000  # more of them along one curve cannot be seen
FLOOR = 1e-18  # errors below are zero by chance
NOISE = 1e-12  # so little change, absolute and relative, is rounding
NOUNS = {
    "s": "time",
    "m": "position",
    "rad": "angle",
    "m/s": "velocity",
    "rad/s": "angular velocity",
    "m/s^2": "acceleration",
    "rad/s^2": "angular acceleration",
    "N": "force",
    "N m": "torque",
    "J": "energy",
    "W": "power",
    "1": "coordinate",
}


class Panel(NamedTuple):
    """Curves that share an axis; without a common unit they carry their own."""

    unit: str
    curves: dict[str, Array]
    remark: str = ""
    log: bool = False


def figure(
    motion: Trajectory,
    names: Sequence[str] = (),
    against: str = "t",
    panels: Sequence[Panel] | None = None,
    axes: Axes | None = None,
) -> Figure:
    """Return one panel per unit, stacked over one axis: the named quantities, or what matters most of the run.

    A name may be a pattern ("*.phi"). Panels that are made already take the place of names. The figure belongs to no
    window and is drawn when it is saved; or it is that of the axes which are given, for quantities of one unit.
    """
    if len(motion.t) == 0:
        raise UsageError(f"the trajectory of '{motion.name}' has no rows to plot", "empty-trajectory")
    x, unit = motion.quantity(against)
    if panels is None:
        panels = chosen(motion, names) if names else overview(motion)
    if axes is not None:
        return _draw_into(axes, panels, x, against, unit)
    plane = against != "t" and all(_noun(own) == NOUNS["m"] for own in (unit, *(panel.unit for panel in panels)))
    columns = 2 if len(panels) > 3 else 1
    rows = -(-len(panels) // columns)
    size = (9.0, 6.5 * rows) if plane else (7.0 * columns + 1.0, 2.6 * rows + 0.9)
    fig = titled(_title(motion), size)
    grid = fig.subplots(rows, columns, sharex=True, squeeze=False).ravel()
    for axes, panel in zip(grid, panels, strict=False):
        _draw(axes, panel, x, in_time=against == "t")
        if plane:
            axes.set_aspect("equal", adjustable="datalim")
    for axes in grid[len(panels) - columns : len(panels)]:
        axes.set_xlabel(f"{against} [{unit}]", color=INK, parse_math=False)
        axes.tick_params(labelbottom=True)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    return fig


def titled(title: str, size: tuple[float, float], weight: str = "bold") -> Figure:
    """Begin a figure of this size, in inches, with a heading; notebooks show it."""
    check_extra("matplotlib")
    from linkwork.view.shown import ShownFigure

    fig = ShownFigure(figsize=size, layout="constrained", facecolor="white")
    fig.suptitle(title, color=INK, fontsize=12, fontweight=weight, parse_math=False)
    return fig


def _draw_into(axes: Axes, panels: Sequence[Panel], x: Array, against: str, unit: str) -> Figure:
    """Draw into axes of a user."""
    from matplotlib.axes import Axes as Known

    if not isinstance(axes, Known):
        raise UsageError(f"ax = {axes!r} are not axes of matplotlib", "bad-value")
    if len(panels) != 1:
        units = ", ".join(panel.unit for panel in panels)
        raise UsageError(f"axes take quantities of one unit, and these are in {units}", "several-units")
    _draw(axes, panels[0], x, in_time=against == "t")
    axes.set_xlabel(f"{against} [{unit}]", color=INK, parse_math=False)
    return axes.get_figure(root=True)  # type: ignore[return-value]


def save(fig: Figure, path: str | Path) -> None:
    """Write a figure as .png, .svg or .pdf, whole or not at all."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"cannot write '{path}': pictures are written as {', '.join(SUFFIXES)}", "unknown-suffix")
    # Without a date, the same trajectory gives the same picture.
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
    with whole(path) as part:
        fig.savefig(part, format=suffix[1:], dpi=150, metadata=metadata)


def chosen(motion: Trajectory, patterns: Sequence[str]) -> list[Panel]:
    """Return a panel for every unit, in the order in which the units appear."""
    by_unit: dict[str, dict[str, Array]] = {}
    for name in motion.names(*patterns):
        values, unit = motion.quantity(name)
        by_unit.setdefault(unit, {})[name] = values
    return [Panel(unit, curves) for unit, curves in by_unit.items()]


def overview(motion: Trajectory) -> list[Panel]:
    """Draw angles and positions beside their velocities, then energy and errors; or the forces that actuators need."""
    if "actuators" in motion.tables:
        actuators = motion.tables["actuators"].columns.labels
        return chosen(motion, [f"{kind}:{name}" for kind in ("actuator", "power") for name in actuators])
    columns = [motion.tables[kind].columns for kind in ("q", "v")]
    panels = []
    for turning in (True, False):
        for table in columns:
            units = [unit for unit in dict.fromkeys(table.units) if unit.startswith("rad") == turning]
            for unit in units:
                own = [name for name, other in zip(table.names, table.units, strict=True) if other == unit]
                own = [name for name in own if _moves(motion[name], table is columns[1])] or own
                shown = {*sorted(own, key=lambda name: -np.ptp(motion[name]))[:MOST]}
                remark = f"largest {MOST} of {len(own)}" if len(own) > MOST else ""
                panels.append(Panel(motion.unit(own[0]), {name: motion[name] for name in own if name in shown}, remark))
    forms = {form: motion[f"energy:{form}"] for form in motion.energy}
    acting = {form: values for form, values in forms.items() if np.any(values)}
    whole = {"kinetic + potential": forms["kinetic"] + forms["potential"]}
    panels.append(Panel(motion.unit("energy:kinetic"), {**acting, **whole}))
    balance = "energy drift" if motion.info.analysis == "simulation" else "error of the work"
    errors = {
        "|Psi| [m, rad]": motion.error_position,
        "|Psi_dot| [m/s, rad/s]": motion.error_velocity,
        f"|{balance}| [J]": np.abs(motion.drift()),
    }
    measured = {name: values for name, values in errors.items() if np.any(values > 0.0)}
    if measured:
        panels.append(Panel("", measured, log=True))
    return panels


def _moves(values: Array, is_velocity: bool) -> bool:
    """Tell whether a coordinate changes, or a velocity is not zero throughout."""
    largest = np.max(np.abs(values))
    return bool((largest if is_velocity else np.ptp(values)) > NOISE * max(1.0, largest))


def _label(panel: Panel) -> str:
    if not panel.unit:
        return "errors"
    # One curve needs no legend, its name stands at the axis.
    noun = next(iter(panel.curves)) if len(panel.curves) == 1 else _noun(panel.unit)
    return f"{noun} [{panel.unit}]"


def _noun(unit: str) -> str:
    """Return the noun for a unit, or for another of its kind; newtons times a length are a torque, not an energy."""
    if unit in NOUNS or not unit or "," in unit:
        return NOUNS.get(unit, "")
    kind, is_product = parse_unit(plain(unit)).exponents, " " in unit
    alike = (x for x in NOUNS if parse_unit(plain(x)).exponents == kind and (" " in x) == is_product)
    return NOUNS.get(next(alike, ""), "")


def _title(motion: Trajectory) -> str:
    note = "" if motion.status == "finished" else f" ({motion.status} at t = {motion.t[-1]:.6g} {motion.unit('t')})"
    return f"{motion.name}{note}"


def tidy(axes: Axes) -> None:
    """Leave two spines, in grey, and the grid behind everything."""
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, labelsize=9)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color("#9aa4af")


def _draw(axes: Axes, panel: Panel, x: Array, in_time: bool) -> None:
    drawn = list(panel.curves.values())
    for k, (name, values) in enumerate(panel.curves.items()):
        style: dict[str, Any] = {"color": COLORS[k % len(COLORS)], "linestyle": DASHES[k // len(COLORS) % len(DASHES)]}
        with np.errstate(invalid="ignore"):  # what has no value covers nothing
            covers = any(np.all(np.abs(values - other) <= SAME * np.ptp(other)) for other in drawn[:k])
        if covers:
            style["linestyle"] = COVERING
        # A label that begins with an underscore would be left out of the legend.
        label = f" {name}" if name.startswith("_") else name
        if panel.log:
            values = np.where(values > 0.0, values, np.nan)
        keep = _visible(values) if in_time else slice(None, None, max(1, len(x) // POINTS))
        axes.plot(x[keep], values[keep], label=label, linewidth=1.4, **style)
        if not in_time:
            axes.plot(x[:1], values[:1], marker="o", markersize=5, color=style["color"])
    if panel.log:
        axes.set_yscale("log")
        axes.set_ylim(bottom=max(axes.get_ylim()[0], FLOOR))
    else:
        low, high = axes.get_ylim()
        rounding = NOISE * max(1.0, abs(low))
        if high - low < rounding and in_time:  # what does not move is drawn as a line
            axes.set_ylim(low - rounding, high + rounding)
    axes.set_ylabel(_label(panel), color=INK, parse_math=False)
    axes.grid(color=GRID, linewidth=0.7)
    axes.margins(x=0.01)
    tidy(axes)
    if len(panel.curves) == 1 and panel.unit:
        return
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.005, 1.02), "frameon": False}
    sizes: dict[str, Any] = {"fontsize": 9, "title_fontsize": 8, "ncols": 1 + (len(panel.curves) - 1) // 11}
    legend = axes.legend(title=panel.remark or None, labelcolor=INK, **place, **sizes)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _visible(values: Array) -> NDArray[np.intp]:
    """Choose the rows that draw the curve: all, or the lowest and highest of every stretch if they are too many."""
    n = len(values)
    if n <= POINTS:
        return np.arange(n)
    length = -(-n // (POINTS // 2))
    padded = np.concatenate([values, np.full(-n % length, np.nan)]).reshape(-1, length)
    first = np.arange(0, n, length)
    lowest = first + np.argmin(np.where(np.isnan(padded), np.inf, padded), axis=1)
    highest = first + np.argmax(np.where(np.isnan(padded), -np.inf, padded), axis=1)
    return np.unique(np.concatenate([[0], lowest, highest, [n - 1]])).astype(np.intp)
