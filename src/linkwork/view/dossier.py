"""All about one mechanism on one page, to be read or printed: picture, data, motion, loads, accuracy, equations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from math import pi
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.comparison.compare import Comparison
from linkwork.elements.vectors import Scalar
from linkwork.errors import UsageError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import Expr, as_expr, symbol
from linkwork.files import write_text
from linkwork.formulations import FORMULATIONS
from linkwork.lecture.explain import explain
from linkwork.lecture.sheet import Heading, Worked
from linkwork.model import Model
from linkwork.scene import Mark
from linkwork.start.check import Report, check
from linkwork.trajectory import Trajectory
from linkwork.view.comparison import html_part
from linkwork.view.markup import bullets, document, svg, table, text
from linkwork.view.page import framed
from linkwork.view.picture import still, strip
from linkwork.view.plot import figure, overview
from linkwork.view.poses import scene_of
from linkwork.view.report import check_lines
from linkwork.view.worked import html_blocks

if TYPE_CHECKING:
    from linkwork.web.program import Program

INSTANTS = 6  # pictures in the strip
PANELS = 2  # in one figure, so that it fits a printed page
PLACED = ("name", "s", "s_i", "s_j", "normal", "radius", "radius_i", "radius_j")  # of a force: a drawing shows them
ROUNDING = 1e-12  # start values below it are shown as zero
MOST_JOINTS = 4  # whose reactions are plotted: those with the largest
MOST_CURVES = 8  # of one unit in a plot
MOST_ROWS = 60  # of a table
SHORT = 9  # coordinates: the most with which equations are written out
SECTIONS = ("Constraints", "Jacobian", "Masses and forces")  # of the worked exercise
POLICY = """
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">"""
CSS = """
:root { color-scheme: light }
body { font: 14px/1.5 Georgia, "Times New Roman", serif; color: #1d232a; max-width: 54rem; margin: 2rem auto;
  padding: 0 1.2rem }
h1 { font-size: 1.7rem; margin: 0 } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; border-bottom: 1.5px solid #1f5fa8 }
h3 { font-size: 1rem; margin: 1.1rem 0 .3rem } p { margin: .4rem 0 } .source { color: #5a6570 }
table { border-collapse: collapse; margin: .4rem 0; font: 12.5px/1.45 system-ui, sans-serif }
th, td { padding: .15rem .8rem .15rem 0; border-bottom: 1px solid #e3e7ec; text-align: left; vertical-align: top }
thead th { border-bottom: 1.5px solid #9aa4af; font-weight: 600 } td.n { text-align: right }
td.n, td.v { font-variant-numeric: tabular-nums } code { font-size: .86em }
pre { background: #f3f5f8; padding: .6rem .8rem; overflow-x: auto; font-size: .82rem; border-radius: 5px }
svg { max-width: 100%; height: auto; display: block } figure { margin: .6rem 0 } .wide { overflow-x: auto }
.at { display: flex; flex-wrap: wrap; gap: 0 2.4rem; align-items: center } .at > figure { flex: 1 1 22rem }
.grid { display: flex; align-items: center; gap: .6rem; overflow-x: auto } .scroll { overflow-x: auto }
.grid td { text-align: right; white-space: nowrap } math[display="block"] { margin: .6rem 0; overflow-x: auto }
.failed td { color: #b3303f }
.try iframe { width: 100%; height: 720px; border: 1px solid #9aa4af; border-radius: 6px }
@media (min-width: 76rem) { .try iframe { width: 72rem; margin-left: -9rem } }
@media print {
  .try { display: none }
  @page { size: A4; margin: 16mm } body { margin: 0; max-width: none; font-size: 10.5pt } h2 { break-after: avoid }
  figure, tr, pre { break-inside: avoid } .grid table { font-size: 1em } .grid th, .grid td { padding: .15em .7em }
  .grid { font-size: min(1em, calc(80em / var(--characters))) }
}
"""
KINEMATIC = (
    "The drivers take all freedoms, so nothing is integrated: positions follow from Psi(t, q) = 0 by Newton's "
    "iteration, velocities and accelerations from linear systems with the Jacobian, driving forces and reactions from "
    "M a + Psi_q^T lam = Q with all motion known."
)
AUGMENTED = (
    "One symmetric system gives accelerations and multipliers together. It is the choice unless another is asked for: "
    "its zeros cost nothing, no coordinates need to be chosen as independent, and redundant rows are taken as they are."
)


def write_report(motion: Trajectory, path: str | Path) -> None:
    """Write the page on a motion that was computed here, whose mechanism starts where the motion does."""
    if Path(path).suffix.lower() != ".html":
        raise UsageError(f"cannot write '{path}': the report is an .html file", "unknown-suffix")
    if motion.model is None or not len(motion.t):
        message = "a motion from a file does not hold its model" if len(motion.t) else "the motion has no rows"
        raise UsageError(f"{message}; compute it, and report then", "no-model")
    q, v = (dict(zip(motion.tables[kind].columns.labels, motion.tables[kind].values[0], strict=True)) for kind in "qv")
    model = motion.model.with_start(q, v)
    checked = check(model)
    write_text(path, html(model, checked, motion, explain(model) if worth_writing(checked) else None))


def html(
    model: Model,
    checked: Report,
    motion: Trajectory,
    sheet: Worked | None = None,
    comparison: Comparison | None = None,
    command: str = "",
    live: Program | None = None,
) -> str:
    """Return the page; it needs nothing else. `command` is the line that made it.

    With a program of the motion there is a part that simulates, which is not printed.
    """
    title = model.about.title or model.name
    policy, frame = (POLICY, "") if live is None else framed(motion, live)
    shown: Any = motion.shown  # which has what these need of a motion
    sections = [
        _head(model, checked, motion, title),
        _data(model, motion),
        frame and f'<div class="try"><h2>Try it</h2>{frame}</div>',
        _freedoms(checked),
        _method(motion),
        _plots(motion, shown),
        _extremes("Reactions and driving forces", list(_reaction_rows(shown, checked)), shown),
        _extremes("Forces and power", list(_rows_of(shown, "loads")), shown),
        _extremes("Freedoms of joints", list(_rows_of(shown, "joints")), shown),
        _energy(motion),
        f"<h2>Formulations compared</h2>{html_part(comparison)}" if comparison else "",
        _equations(sheet) if sheet else "",
        _settings(motion, command),
    ]
    return document(title, CSS, "".join(sections), policy)


def _head(model: Model, checked: Report, motion: Trajectory, title: str) -> str:
    counts = [
        ("bodies", str(checked.bodies)),
        ("joints", str(len(model.joints))),
        ("drivers", str(len(model.drivers))),
        ("forces", str(len(model.forces))),
        ("coordinates", str(checked.coordinates)),
        ("constraint rows", f"{checked.constraints}, of rank {checked.rank}"),
        ("degrees of freedom", str(checked.dof)),
        *([("of positions", str(checked.position_dof))] if checked.position_dof != checked.dof else []),
        ("shown", f"{motion.t[0]:g} to {motion.t[-1]:g} s, {motion.status}"),
    ]
    about = f'<p class="source">{text(model.about.source)}</p>' if model.about.source else ""
    name = f"<p><code>{text(model.name)}</code></p>" if title != model.name else ""
    picture = f"<figure>{svg(still(motion, width=5.2))}</figure>"
    return f'<h1>{text(title)}</h1>{name}{about}<div class="at">{picture}{table((), counts)}</div>'


def _data(model: Model, motion: Trajectory) -> str:
    """Return bodies, joints, drivers, forces and parameters with their numbers."""
    scene = scene_of(motion)
    values = {symbol(name): value for name, value in model.parameters.items()}

    def number(x: Scalar) -> str:
        return f"{float(evaluate([as_expr(x)], values)[0]):.6g}"

    def start(name: str, factor: float = 1.0) -> str:
        value = factor * motion[name][0]
        return f"{value if abs(value) > ROUNDING else 0.0:.6g}"

    bodies = [
        [
            body.name,
            number(body.mass),
            ", ".join(map(number, body.inertia)) if isinstance(body.inertia, tuple) else number(body.inertia),
            ", ".join(start(f"{body.name}.{axis}") for axis in "xyz" if f"{body.name}.{axis}" in motion),
            *([start(f"{body.name}.phi", 180.0 / pi)] if scene.space == "planar" else []),
            "; ".join(f"{name} ({_vector(figure.points[name], scene.space)})" for name in figure.points),
        ]
        for body, figure in zip(model.bodies, scene.bodies[1:], strict=True)
    ]
    ground = "; ".join(f"{name} ({_vector(p, scene.space)})" for name, p in scene.bodies[0].points.items()) or "none"
    angle = ("angle [deg]",) if scene.space == "planar" else ()
    parts = [
        "<h2>Data</h2><h3>Bodies</h3>",
        table(("body", "mass [kg]", "inertia [kg m^2]", "start [m]", *angle, "points [m]"), bodies),
        f"<p>Points of the ground: {text(ground)}. Gravity ({_vector(scene.gravity, scene.space)}) m/s^2.</p>",
    ]
    laws = {force.name: _law(force) for force in model.acting}
    laws |= {driver.name: _law(driver.motion) for driver in model.drivers}
    driving = "Drivers and actuators" if model.actuators else "Drivers"
    for heading, marks in (("Joints", scene.joints), (driving, scene.drivers), ("Forces", scene.forces)):
        if marks:
            head = ("name", "type", "between", "points [m]", "more" if heading == "Joints" else "law (SI units)")
            rows = (_mark(mark, scene.space, laws.get(mark.name, [])) for mark in marks)
            parts += [f"<h3>{heading}</h3>", table(head, rows)]
    if model.signals:
        head = ("name", "is", "formula, or rate (SI units)", "start", "unit")
        parts += ["<h3>Inputs, outputs, states</h3>", table(head, _signals(model, number))]
    own = {x.name for x in model.inputs}
    if pairs := [(name, f"{value:.10g}") for name, value in model.parameters.items() if name not in own]:
        parts += ["<h3>Parameters</h3><p>", ", ".join(f"<code>{text(k)}</code> = {v}" for k, v in pairs), "</p>"]
    return "".join(parts)


def _signals(model: Model, number: Callable[[Scalar], str]) -> Iterator[list[str]]:
    for x in model.inputs:
        given = "given from outside" if x.is_open else f"{model.parameters[x.name]:.6g}"
        held = "" if x.every is None else f", every {number(x.every)} s"
        yield [x.name, "input", f"{given if x.formula is None else x.formula}{held}", "", x.unit]
    for y in model.outputs:
        yield [y.name, "output", str(y.formula), "", y.unit]
    for z in model.states:
        yield [z.name, "state", str(z.rate), number(z.start), z.unit]


def _law(element: Any) -> list[str]:
    """List numbers and formulas of a force or motion as the model states them; what is zero or not given is
    left out.
    """
    texts = []
    for field in fields(element):
        value = getattr(element, field.name)
        entries = value if isinstance(value, tuple) else (value,)
        if field.name in PLACED or not all(isinstance(entry, float | int | Expr | str) for entry in entries):
            continue
        shown = [f"{entry:.6g}" if isinstance(entry, float) else str(entry) for entry in entries]
        if set(shown) - {"", "0", "none", "False"}:
            texts.append(f"{field.name} {', '.join(shown)}")
    return texts


def _mark(mark: Mark, space: str, law: Sequence[str]) -> list[str]:
    more = []
    if mark.axis is not None:
        more.append(f"axis ({_vector(mark.axis, space)})")
    if mark.radii:
        what = "length" if mark.type == "distance" else "radius"
        more.append(f"{what} {', '.join(f'{r:.6g} m' for r in mark.radii)}")
    if mark.type == "driver":
        more.append(f"{mark.parts[0]} of {mark.parts[1]}" if mark.parts[1] != mark.name else mark.parts[0])
    elif not law:
        more += mark.parts
    more += law
    places = "; ".join(f"({_vector(point, space)})" for point in mark.points)
    return [mark.name, mark.type, " and ".join(mark.bodies), places, ", ".join(more)]


def _freedoms(checked: Report) -> str:
    in_brief = replace(checked, q_changes={}, v_changes={})  # a note tells of them
    lines = [(label, text) for label, text in check_lines(in_brief) if label not in ("model", "bodies")]
    return f"<h2>Freedoms and redundancy</h2>{table((), lines)}"


def _method(motion: Trajectory) -> str:
    """Tell which formulation gave the motion, and why that one."""
    name = motion.info.formulation
    if name == "kinematic":
        why, shown = KINEMATIC, "kinematic analysis"
    elif name in FORMULATIONS:
        why, shown = f"Asked for: {FORMULATIONS[name].description} [{FORMULATIONS[name].source}].", name
    else:
        why, shown = AUGMENTED, name
    if motion.info.redundant:
        why += f" {motion.info.redundant} rows depend on others here; the multipliers given are those of least norm."
    return f"<h2>Formulation: {text(shown)}</h2><p>{text(why)}</p>"


def _plots(moving: Trajectory, motion: Trajectory) -> str:
    parts = ["<h2>Motion</h2>", f"<figure>{svg(strip(moving, INSTANTS))}</figure>"]
    panels = overview(motion)
    for k in range(0, len(panels), PANELS):
        parts.append(f"<figure>{svg(figure(motion, panels=panels[k : k + PANELS]))}</figure>")
    names = [name for joint in _loaded(motion)[:MOST_JOINTS] for name in _force_columns(motion, joint)]
    driving = list(motion.tables["driving"].columns.names)
    if names or driving:
        parts.append(f"<figure>{svg(figure(motion, [*names, *driving]))}</figure>")
        most = len(_loaded(motion))
        if most > MOST_JOINTS:
            parts.append(f"<p>Reactions of the {MOST_JOINTS} most loaded of {most} joints.</p>")
    signals = [name for kind in ("inputs", "outputs") if kind in motion.tables for name in _largest(motion, kind)]
    for shown in (_largest(motion, "loads"), signals):
        if shown:
            parts.append(f"<figure>{svg(figure(motion, shown))}</figure>")
    return "".join(parts)


def _largest(motion: Trajectory, kind: str) -> list[str]:
    """Return the names of the columns of a kind with the largest values, unit by unit; none that is zero throughout."""
    columns, values = motion.tables[kind]
    peaks = np.abs(values).max(axis=0, initial=0.0)
    chosen = []
    for unit in dict.fromkeys(columns.units):
        own = [k for k, other in enumerate(columns.units) if other == unit and peaks[k] > 0.0]
        chosen += sorted(sorted(own, key=lambda k: -peaks[k])[:MOST_CURVES])
    return [columns.names[k] for k in chosen]


def _force_columns(motion: Trajectory, joint: str) -> list[str]:
    found = (f"reaction:{joint}.{part}" for part in ("x", "y", "z", "along", "normal"))
    return [name for name in found if name in motion]


def _joints(motion: Trajectory) -> list[str]:
    labels = motion.tables["reactions"].columns.labels
    return list(dict.fromkeys(label.rpartition(".")[0] for label in labels))


def _loaded(motion: Trajectory) -> list[str]:
    """Return the joints with forces, the most loaded first."""
    peaks = {joint: _size(motion, joint).max() for joint in _joints(motion) if _force_columns(motion, joint)}
    return sorted(peaks, key=lambda joint: -peaks[joint])


def _size(motion: Trajectory, joint: str) -> Any:
    return np.sqrt(sum(motion[name] ** 2 for name in _force_columns(motion, joint)))


def _extremes(heading: str, rows: Sequence[Sequence[str]], motion: Trajectory) -> str:
    """Return a table of least and largest values with their times."""
    if not rows:
        return ""
    shown = rows[:MOST_ROWS]
    rest = f"<p>and {len(rows) - len(shown)} more</p>" if len(rows) > len(shown) else ""
    at = f"at t {motion.unit('t')}"
    heads = ("quantity", "unit", "least", at, "largest", at, "")
    return f"<h2>{heading}</h2>{table(heads, shown, numeric=(2, 3, 4, 5))}{rest}"


def _reaction_rows(motion: Trajectory, checked: Report) -> Iterator[list[str]]:
    for joint in _joints(motion):
        remark = "" if checked.reactions.get(joint, "unique") == "unique" else "not unique"
        if len(_force_columns(motion, joint)) > 1:
            unit = motion.unit(_force_columns(motion, joint)[0])
            yield _extreme(f"|{joint}|", unit, _size(motion, joint), motion, remark)
        labels, names, _ = motion.tables["reactions"].columns
        for label, name in zip(labels, names, strict=True):
            if label.rpartition(".")[0] == joint and np.any(motion[name]):
                yield _extreme(name, motion.quantity(name).unit, motion[name], motion, remark)
    yield from _rows_of(motion, "driving")
    told = [note.data["actuators"] for note in motion.info.notes if note.code == "actuators-not-unique"]
    for name in motion.names("actuator:*") if "actuators" in motion.tables else ():
        remark = "not unique" if any(name.partition(":")[2] in shared for shared in told) else ""
        yield _extreme(name, motion.quantity(name).unit, motion[name], motion, remark)


def _rows_of(motion: Trajectory, kind: str) -> Iterator[list[str]]:
    for name in motion.tables[kind].columns.names:
        yield _extreme(name, motion.quantity(name).unit, motion[name], motion, "")


def _extreme(name: str, unit: str, values: Any, motion: Trajectory, remark: str) -> list[str]:
    low, high = int(np.argmin(values)), int(np.argmax(values))
    return [
        *(name, unit, f"{values[low]:.5g}", f"{motion.t[low]:.5g}"),
        *(f"{values[high]:.5g}", f"{motion.t[high]:.5g}", remark),
    ]


def _energy(motion: Trajectory) -> str:
    forms = {**motion.energy, "kinetic + potential + dissipated - supplied, less its start": motion.drift()}
    rows = [
        [form, f"{values[0]:.6g}", f"{values[-1]:.6g}", f"{np.min(values):.6g}", f"{np.max(values):.6g}"]
        for form, values in forms.items()
    ]
    error = motion.constraint_error
    return (
        "<h2>Energy balance and accuracy</h2>"
        f"{table(('J', 'start', 'end', 'least', 'largest'), rows, numeric=(1, 2, 3, 4))}"
        f"<p>The constraints are kept within |Psi| {error['position']:.2e} m, rad and |Psi_dot| "
        f"{error['velocity']:.2e} m/s, rad/s over all steps; the energy balance within "
        f"{np.max(np.abs(motion.drift())):.2e} J.</p>"
    )


def _equations(sheet: Worked) -> str:
    """Return the equations in symbols, as far as the worked exercise gives them."""
    kept, wanted = [], False
    for block in sheet.blocks:
        if isinstance(block, Heading):
            wanted = block.text in SECTIONS
        if wanted:
            kept.append(block)
    body = html_blocks(kept).replace("<h2>", "<h3>").replace("</h2>", "</h3>")
    return f"<h2>Equations at the start</h2>{body}"


def _settings(motion: Trajectory, command: str) -> str:
    s: Mapping[str, Any] = motion.summary()
    keys = ("formulation", "stabilization", "integrator", "rtol", "atol", "t_end", "step", "steps", "rejected")
    rows = [(key, str(s[key])) for key in (*keys, "evaluations") if s.get(key) is not None]
    rows += [(name, str(text)) for name, text in (s.get("versions") or {}).items()]
    made = f"<pre>{text(command)}</pre>" if command else ""
    return f"<h2>To have it again</h2>{made}{table((), rows)}{bullets(s.get('notes') or ())}"


def _vector(point: Sequence[float], space: str) -> str:
    return ", ".join(f"{x:.6g}" for x in (point[:2] if space == "planar" else point))


def worth_writing(checked: Report) -> bool:
    """Tell whether there are equations of motion, short enough for a page."""
    massless = sum(note.code == "zero-mass" and note.data["what"] == "mass" for note in checked.notes)
    return checked.coordinates <= SHORT and massless < max(checked.bodies, 1)
