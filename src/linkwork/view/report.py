"""Results and errors as text, for people and for other programs."""

from __future__ import annotations

import json
import re
import shutil
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from linkwork.errors import LinkworkError, ModelError, Unfinished
from linkwork.notes import Note

if TYPE_CHECKING:
    from linkwork.assembly.assemble import Assembly
    from linkwork.assembly.components import Components
    from linkwork.assembly.modes import Modes
    from linkwork.start.check import Report
    from linkwork.trajectory import Trajectory

Lines = list[tuple[str, str]]

MOST = 12  # coordinates in a summary
WIDTH = 80  # of long texts
NARROW = 20  # columns: less is no room for texts beside their labels
SEEN = 1e-12  # a gap below is rounding
ROUNDING = 1e-15  # of the largest value of its kind: a coordinate below is printed as zero
PATIENCE = 1.0  # seconds until progress is shown
COMPILING = "compiling and computing; what is compiled is kept for the next time"
REDUNDANCIES = {
    "structural": "by which bodies the joints join, whatever the dimensions",
    "geometric": "by the dimensions, in every position",
    "at this position": "only at this position; a little further on they are independent",
}


def as_json(data: Mapping[str, Any]) -> str:
    """Return one JSON object; numbers that are not finite are null."""
    from linkwork.trajectory import plain

    return json.dumps(plain(data), indent=2, allow_nan=False)


def aligned(lines: Lines, columns: int | None = None) -> str:
    """Write labels on the left, their text in one column beside them; in so many columns, what is longer
    goes on below.
    """
    width = max((len(label) for label, _ in lines), default=0)
    if columns is not None and columns < width + 2 + NARROW:  # texts below their labels
        parts = [[label, *(f"  {part}" for part in fitted(text, columns - 2))] for label, text in lines]
        return "\n".join(line for part in parts for line in part if line)
    if columns is not None:
        room = columns - width - 2
        lines = [("" if k else label, part) for label, text in lines for k, part in enumerate(fitted(text, room))]
    return "\n".join(f"{label:{width}}  {text}".rstrip() for label, text in lines)


def fitted(text: str, columns: int) -> list[str]:
    """Break text into lines of so many columns that end between words, never within a number."""
    if len(text) <= columns:
        return [text]
    return wrap(re.sub(" {3,}", "  ", text), columns, break_long_words=False, break_on_hyphens=False)


def terminal_columns() -> int | None:
    """Return how many a terminal has that standard output goes to; None if it goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def within_terminal(lines: Lines) -> str:
    return aligned(lines, terminal_columns())


def printable(text: str) -> str:
    """Return the text with control characters spelt out, so that no file name can steer a terminal."""
    return "".join(c if c == "\n" or unicodedata.category(c) not in ("Cc", "Cf") else f"\\x{ord(c):02x}" for c in text)


def summary_lines(motion: Trajectory) -> Lines:
    """Describe a run: its settings, how it went and how accurate it is."""
    s = motion.summary()
    final, error, energy = s["final"], s["constraint_error"], s["energy"]
    status = f"{s['status']}: {s['reason']}" if s.get("reason") else s["status"]
    methods = [s[key] for key in ("formulation", "stabilization", "integrator") if s[key] != "none"]
    numbers = [f"{key} {_number(s[key])}" for key in ("rtol", "atol", "t_end") if s[key] is not None]
    lines = [
        ("model", motion.name),
        ("settings", f"{s['coordinates']} coordinates, {', '.join(map(str, methods))}"),
        *([("", f"{', '.join(numbers)} s")] if numbers else []),
        ("status", status),
        ("freedom", f"{_count(s['dof'], 'degree')} of freedom, {_count(s['redundant'], 'redundant constraint')}"),
        *(
            [("", f"{_count(end, 'degree')} of freedom at the end")]
            if (end := s["final_dof"]) not in (None, s["dof"])
            else []
        ),
        *(
            [("forces" if k == 0 else "", str(peak)) for k, peak in enumerate(_peaks(motion, "actuator"))]
            if s["analysis"] == "inverse"
            else [("steps", f"{s['steps']} taken, {s['rejected']} rejected, {s['evaluations']} evaluations")]
        ),
        *_event_lines(motion),
        *(_driven_lines(motion) if s["analysis"] == "kinematics" else ()),
        ("time", f"{_number(s['wall_s'])} s, of which {_number(s['compile_s'])} s compiling"),
    ]
    signals = {kind: motion.tables[kind].columns for kind in ("states", "outputs") if kind in motion.tables}
    states = signals["states"].labels if "states" in signals else ()
    names = [name for name in final["q"] if name in final["v"]][:MOST]
    width = max((len(name) for name in names), default=0)
    for k, name in enumerate(names):
        label = f"at t = {final['t']:.6g} s" if k == 0 else ""
        q, v = (_last(motion, kind, name) for kind in ("q", "v"))
        lines.append((label, f"{name:{width}} {q}  rate {v}"))
    if (more := len([name for name in final["q"] if name not in states]) - len(names)) > 0:
        lines.append(("", f"and {more} coordinates more"))
    for kind, columns in signals.items():
        last = [motion.shown.final(name) for name in columns.names[:MOST]]
        width = max(len(peak.name) for peak in last)
        told = [f"{peak.name:{width}} {peak.value:.10g} {peak.unit}".removesuffix(" 1") for peak in last]
        lines += [(kind if k == 0 else "", text) for k, text in enumerate(told)]
    lines += [
        ("errors", f"|Psi| {_number(error['position'])}, |Psi_dot| {_number(error['velocity'])} at most"),
        ("energy", f"{_number(energy['initial'], 6)} J at the start, {_number(energy['final'], 6)} J at the end"),
        *([("", f"{_number(s['impact_loss'], 6)} J lost in impacts")] if s["impact_loss"] else []),
        ("", _balance(energy)),
        *(("note", note) for note in s.get("notes") or ()),
    ]
    return lines


def _peaks(motion: Trajectory, kind: str) -> list[str]:
    """Return the largest forces of actuators, or of drivers."""
    shown = motion.shown
    names = [name for name in shown if name.startswith(f"{kind}:")]
    return str(shown.extremes(*names)).split("\n") if names else []


def _driven_lines(motion: Trajectory) -> Lines:
    """List what drivers need, and whether singular positions were passed; the notes say where."""
    forces = [("driving" if k == 0 else "", peak) for k, peak in enumerate(_peaks(motion, "driving"))]
    passed = len(motion.info.singular_positions)
    return [*forces, ("singular", f"{_count(passed, 'position')} on the way" if passed else "no position on the way")]


def _event_lines(motion: Trajectory) -> Lines:
    counted = [f"{name} {_count(count, 'time')}" for name, count in motion.events.counts().items()]
    switches = [("switches", f"{motion.info.switches} of laws located")] if motion.info.switches else []
    return [*([("events", ", ".join(counted))] if counted else []), *switches]


def check_lines(report: Report) -> Lines:
    """List counts, rank and start values."""
    r = report
    lines = [
        ("model", r.name),
        ("bodies", f"{r.bodies}, with {_count(r.coordinates, 'coordinate')}"),
        ("constraints", f"{r.constraints}, of rank {r.rank}"),
        ("freedom", f"{_count(r.dof, 'degree')} of freedom" + (f", {r.gruebler} by counting" if r.redundant else "")),
        *([("", f"of velocities; positions have {r.position_dof}")] if r.position_dof != r.dof else []),
    ]
    freedoms = [f"({k}) {text}" for k, text in enumerate(r.motions, start=1)] if len(r.motions) > 1 else r.motions
    lines += [("moves" if k == 0 else "", text) for k, text in enumerate(freedoms)]
    if r.redundant:
        lines.append(("redundant", f"{_count(r.redundant, 'row')} among {', '.join(r.redundant_rows)}"))
        lines.append(("", REDUNDANCIES[r.redundancy]))
        shared = [joint for joint, how in r.reactions.items() if how == "not unique"]
        lines.append(("reactions", f"not unique in {', '.join(shared)}; unique in all others"))
    lines += [(kind, ", ".join(names)) for kind, names in r.signals.items()]
    if r.rank:
        below = f", {r.redundant} zero within {max(r.singular_values[r.rank :]):.1e}" if r.redundant else ""
        largest, smallest = r.singular_values[0], r.singular_values[r.rank - 1]
        lines.append(("singular values", f"{largest:.3g} to {smallest:.3g}{below}"))
    for what, gaps in (("start gaps", r.position_gaps), ("start rates", r.velocity_gaps)):
        per_second = "" if gaps is r.position_gaps else "/s"
        lines.append((what, _open_gaps(gaps, per_second) or "none: the start values fit"))
    width = max((len(name) for name in (*r.q_changes, *r.v_changes)), default=0)
    for what, changes in (("corrected", r.q_changes), ("velocities", r.v_changes)):
        rate = " per second" if changes is r.v_changes else ""
        entries = [f"{name:{width}} by {change:+.6g}{rate}" for name, change in changes.items()]
        lines += [(what if k == 0 else "", entry) for k, entry in enumerate(entries)]
    return [*lines, *(("note", note) for note in r.notes)]


def _open_gaps(gaps: Mapping[str, Mapping[str, float]], per_second: str = "") -> str:
    """Return joints with their gaps, the widest first."""
    entries = [(gap, joint, unit) for joint, by_unit in gaps.items() for unit, gap in by_unit.items()]
    return ", ".join(
        f"{joint} {gap:.3g} {unit}{per_second}" for gap, joint, unit in sorted(entries)[::-1] if gap > SEEN
    )


def assembly_lines(assembly: Assembly) -> Lines:
    """List what was moved to close the joints, and by how much."""
    a = assembly
    lines = [
        ("model", a.model),
        ("gaps before", _open_gaps(a.gaps_before) or "none"),
        ("gap now", f"{a.residual:.1e} at most"),
        *([("kept", ", ".join(a.kept))] if a.kept else []),
    ]
    width = max((len(name) for name in (*a.q_changes, *a.v_changes)), default=0)
    moved = ("moved", a.q_changes, a.theta or a.q, "")
    pushed = ("velocities", a.v_changes, a.theta_d or a.v, " per second")
    for what, changes, now, rate in (moved, pushed):
        entries = [f"{name:{width}} by {change:+.6g} to {now[name]:.10g}{rate}" for name, change in changes.items()]
        lines += [(what if k == 0 else "", entry) for k, entry in enumerate(entries or ["nothing"])]
    if a.other_sketch:
        lines.append(("note", Note("other-sketch")))
    return lines


def component_lines(found: Components) -> Lines:
    """Return the curves and surfaces of positions, and what holds on each of them."""
    kept = f", {', '.join(found.kept)} kept" if found.kept else ""
    lines = [("model", f"{found.name}{kept}"), ("components", f"{len(found.components)}, by {found.paths} paths")]
    for k, c in enumerate(found.components, 1):
        what = {1: "curve", 2: "surface"}.get(c.dimension, f"set of dimension {c.dimension}")
        real = "with real positions" if c.q else "no real position found" if c.real else "not real"
        whole = "" if c.whole else "; points are missing from its degree"
        curves = f", on {_count(c.circuits, 'closed curve')}" if c.circuits else ""
        lines.append((str(k), f"{what} of degree {c.degree}, {real}{curves}{whole}"))
        lines += [("", f"turning: {', '.join(c.moving) or 'nothing'}")]
        lines += [("", f"points together: {', '.join(c.together)}")] if c.together else []
        lines += [("", f"turning alike: {', '.join(c.alike)}")] if c.alike else []
    return lines


def mode_lines(found: Modes) -> Lines:
    """Return all modes with their coordinates, and how far they are all there are."""
    from linkwork.view.modes import remarks

    lines = [("model", found.name)]
    labels = [f"mode {number}" for number in range(1, found.real + 1)] + ["one of many"] * len(found.motions)
    for label, mode in zip(labels, (*found.modes, *found.motions), strict=True):
        proof = ("certified" if mode.certified else "not certified") + (", singular" if mode.singular else "")
        lines.append((label, f"residual {mode.residual:.1e}, {proof}"))
        values = wrap(", ".join(f"{name}\0{x:.6g}" for name, x in without_rounding(mode.q).items()), WIDTH)
        lines += [("", line.replace("\0", " ")) for line in values]
    lines += [("found" if k == 0 else "", remark) for k, remark in enumerate(remarks(found))]
    return [*lines, *(("note", note) for note in found.notes)]


def reading_lines(found: Mapping[str, Any], seconds: str = "s") -> Lines:
    """List coupler curves by their extent, dead centres, transmission angle; a table of input and output row by row."""
    lines = []
    for point, curve in found.get("coupler_curves", {}).items():
        seen = curve * (abs(curve) > ROUNDING * abs(curve).max())
        (x, y), (u, v) = seen.min(axis=0), seen.max(axis=0)
        lines.append(("coupler curve", f"{point}: x from {x:.6g} to {u:.6g}, y from {y:.6g} to {v:.6g}"))
    for name, centres in found.get("dead_centres", {}).items():
        texts = [f"{name} = {centre['value']:.9g} at t = {centre['t']:.9g} {seconds}" for centre in centres]
        lines += [("dead centre", text) for text in texts or [f"{name} has none"]]
    if "transmission" in found:
        least, most = (found["transmission"][end] for end in ("smallest", "largest"))
        angle = (
            f"{least['angle']:.6g} rad at t = {least['t']:.6g} {seconds} to {most['angle']:.6g} rad "
            f"at t = {most['t']:.6g} {seconds}"
        )
        lines.append(("transmission", angle))
    if "table" in found:
        table = found["table"]
        lines.append(("table", f"{'t':>10} {table['input']:>17} {table['output']:>17} {'ratio':>17}"))
        for t, row in zip(found["t"], table["rows"], strict=True):
            lines.append(("", f"{t:10.6g} " + " ".join(_digits(x) for x in row)))
    return lines


def mechanism_lines(entries: Sequence[Mapping[str, Any]]) -> Lines:
    """Name, space and title of mechanisms; some come in any size."""
    from linkwork.mechanisms.generators import GENERATORS

    sizes = {name: f"; of any size, {name}:40" for name in GENERATORS}
    return [(e["name"], f"{e['space']:7}  {e['title']}{sizes.get(e['name'], '')}") for e in entries]


def source_lines(entry: Mapping[str, Any]) -> Lines:
    """List what is known of one mechanism: its title, source and checked number."""
    lines = [(entry["name"], f"{entry['title']} ({entry['space']})")]
    lines += [("source" if k == 0 else "", line) for k, line in enumerate(wrap(entry["source"], WIDTH))]
    if checked := entry["checked"]:
        lines.append(("checked", f"{checked['quantity']} = {checked['value']:.10g} at t = {checked['t']:g} s"))
    return lines


def error_data(error: LinkworkError) -> dict[str, Any]:
    """Return an error, and what was reached before it, for --json."""
    data: dict[str, Any] = {"code": error.code, "message": str(error)}
    if isinstance(error, ModelError):
        fields = ("code", "message", "file", "line", "path", "value", "rule", "suggestion")
        data["errors"] = [{name: _shown(getattr(each, name)) for name in fields} for each in error.errors]
    if isinstance(error, Unfinished):
        data |= {"files": [], **{key: value for key, value in error.attached.items() if key != "trajectory"}}
        if error.trajectory is not None:
            return {"error": data, "partial": error.trajectory.summary()}
    return {"error": data}


def error_text(error: LinkworkError) -> str:
    """Return an error, and where what was reached before it is kept."""
    if not isinstance(error, Unfinished) or error.trajectory is None or not len(error.trajectory.t):
        return str(error)
    until = f"the motion until t = {error.trajectory.t[-1]:.6g} s"
    if files := ", ".join(error.attached.get("files", ())):
        return f"{error}\n{until} is in {files}"
    return f"{error}\n{until} was not saved; -o FILE saves it" if len(error.trajectory.t) > 1 else str(error)


@contextmanager
def progress(label: str, work: str = COMPILING) -> Iterator[Callable[[float, float | str], None] | None]:
    """Show a bar on stderr where the work takes longer than a second, or one line if that is no terminal.

    Yields what moves the bar: it takes the finished fraction and the time reached, or what is being done.
    """
    if not sys.stderr.isatty():
        line = f"linkwork: {label}: {work}"
        with _after_a_while(lambda: print(line, file=sys.stderr)):
            yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(f"{label}: {work.split()[0]}", total=None)
    try:
        with _after_a_while(bar.start):
            yield lambda fraction, at: bar.update(
                task,
                total=1.0,
                completed=fraction,
                description=f"{label}: {at if isinstance(at, str) else f't = {at:.4g} s'}",
            )
    finally:
        bar.stop()


@contextmanager
def _after_a_while(do: Callable[[], None]) -> Iterator[None]:
    """Call it if the block takes longer than PATIENCE."""
    timer = threading.Timer(PATIENCE, do)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _balance(energy: Mapping[str, Any]) -> str:
    """State the drift of a simulation; of kinematics, how good its work is, added up over report times."""
    if "max_drift" in energy:
        return f"drift {_number(energy['max_drift'])} J at most"
    return f"work over the report times good to {_number(energy['work_quadrature_error'])} J"


def _shown(value: object) -> object:
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _count(number: Any, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _number(value: Any, digits: int = 3) -> str:
    return "unknown" if value is None else f"{value:.{digits}g}"


def _rounded(motion: Trajectory, kind: str, name: str) -> float:
    """Return the last value of a coordinate or velocity, zero if it is rounding beside others of its unit."""
    (labels, _, units), values = motion.tables[kind]
    k = labels.index(name)
    value = float(values[-1, k])
    return 0.0 if abs(value) <= ROUNDING * _size(motion, kind, units[k]) else value


def _last(motion: Trajectory, kind: str, name: str) -> str:
    """Write the last value of a coordinate or velocity in the shown units, with the unit if it is not of SI."""
    value, columns = _rounded(motion, kind, name), motion.tables[kind].columns
    if not motion.info.units:
        return _digits(value)
    named = columns.names[columns.labels.index(name)]
    shown, unit = motion.shown[named][-1], motion.shown.unit(named)
    return f"{_digits(shown if value else 0.0)} {unit if unit != '1' else ''}".rstrip()


def without_rounding(values: Mapping[str, float]) -> dict[str, float]:
    """Return values with zeros for those that are rounding beside the largest."""
    least = ROUNDING * max((abs(x) for x in values.values()), default=0.0)
    return {name: x if abs(x) > least else 0.0 for name, x in values.items()}


def _size(motion: Trajectory, kind: str, unit: str) -> float:
    """Return the largest value of this unit, at least a radian; of velocities that in the time of the motion."""
    table = motion.tables[kind]
    alike = [k for k, other in enumerate(table.columns.units) if other == unit]
    largest = float(abs(table.values[:, alike]).max(initial=1.0 if unit == "rad" else 0.0))
    time = float(motion.t[-1] - motion.t[0])
    return max(largest, _size(motion, "q", unit.removesuffix("/s")) / time) if kind == "v" and time else largest


def _digits(value: Any) -> str:
    text = "unknown" if value is None else f"{value:.10g}"
    return f"{text:>17}"
