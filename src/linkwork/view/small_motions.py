"""Rest and small motions as text, and as files for other programs."""

from __future__ import annotations

from cmath import phase
from collections.abc import Sequence
from io import BytesIO
from math import degrees
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from linkwork.analyses.equilibria import Equilibria
from linkwork.analyses.equilibrium import Equilibrium
from linkwork.analyses.linearize import Linearization, Mode
from linkwork.analyses.over import Family
from linkwork.errors import MOST_NAMED, UsageError
from linkwork.files import whole, write_text
from linkwork.tolerances import AGREEMENT, SIZABLE, TYPED
from linkwork.view import page
from linkwork.view.markup import document, svg, table, text
from linkwork.view.modes import draw_positions
from linkwork.view.plot import COLORS, GRID, INK, save, tidy, titled
from linkwork.view.plot import SUFFIXES as PICTURES
from linkwork.view.report import Lines, as_json, without_rounding

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from linkwork.model import Model

POINTS = 600  # along a curve of the frequency response
DECADE = 10.0
WRITTEN = (".html", ".json", ".mat", *PICTURES)
STABILITIES = {
    "stable": "it comes back",
    "unstable": "it leaves",
    "neutral": "some ways of moving meet no force",
    "marginal": "nothing grows, and not all fades",
}


def equilibrium_lines(found: Equilibrium) -> Lines:
    """Describe a rest and what holds the mechanism there."""
    f = found
    what = "steady motion" if f.steady else "equilibrium"
    lines = [("model", f.name), (what, f"{f.stability}, {STABILITIES[f.stability]}")]
    lines += [("", f"with the rates of {', '.join(f.steady)} at the start")] if f.steady else []
    lines += [("", "forces that depend on the time are those of t = 0")] if f.follows_time else []
    of = "what gravity and speed make" if f.steady else "the weights"
    lines += [("residual", f"{f.residual:.1e} of {of}; joints closed to {f.gap:.1e}")]
    if f.stiffness:
        how = "second variation of the potential" if f.conservative else "slope of the forces, which have no potential"
        lines += [("", f"{how}: {f.stiffness[0]:.3g} at least, by the weights or the stiffest way")]
    lines += [("potential", f"{f.potential:.10g} J")]
    width = max(map(len, (*f.q, *f.reactions)), default=0)
    shown = without_rounding(f.q)
    lines += [("position" if k == 0 else "", f"{x:{width}} {y:.12g}") for k, (x, y) in enumerate(shown.items())]
    if f.steady:
        moving = {name: x for name, x in without_rounding(f.v).items() if x}
        lines += [("rates" if k == 0 else "", f"{x:{width}} {y:.12g}") for k, (x, y) in enumerate(moving.items())]
    held = without_rounding(f.reactions)
    lines += [("reactions" if k == 0 else "", f"{x:{width}} {y:.10g}") for k, (x, y) in enumerate(held.items())]
    shared = [joint for joint, how in f.unique.items() if how == "not unique"]
    lines += [("", f"not unique in {', '.join(shared)}")] if shared else []
    if f.friction:
        lines += [("friction", f"of {', '.join(f.friction)} holds it nearby too: this is the rest that needs none")]
    if f.range is not None:
        least, most = ("no end" if x is None else f"{x:.10g}" for x in (f.range.least, f.range.most))
        lines += [("", f"it rests with {f.range.coordinate} from {least} to {most}")]
    return lines


def equilibria_lines(found: Equilibria) -> Lines:
    """Return how many rests there are, how far that is proved, and each in a line."""
    f, n = found, len(found.rests)
    proved = sum(f.certified)
    lines = [("model", f.name), ("rests", f"{n}, {len(f.stable)} of them stable, {proved} certified")]
    if f.method == "homotopy":
        complete = "complete" if f.complete else "not proved complete"
        lines += [("found by", f"{f.paths} paths to {f.finite} complex solutions, {f.lost} lost: {complete}")]
    else:
        lines += [("found by", f"a search from {f.starts} starts, which proves nothing about what was not found")]
        lines += [("", f"since {f.reason} is not a polynomial")]
    if not f.isolated:
        lines += [("", "some have others beside them, along what no force holds; these are examples")]
    every = list(f.rests[0].q) if n else []
    angles = [name for name in every if name.endswith(".phi")]
    others = [name for name in every if max(abs(rest.q[name] - f.rests[0].q[name]) for rest in f.rests) > AGREEMENT]
    names = angles if not set(angles).isdisjoint(others) else others or every
    for k, (rest, yes) in enumerate(zip(f.rests, f.certified, strict=True), start=1):
        shown = without_rounding(rest.q)
        where = ", ".join(f"{name} {shown[name]:.8g}" for name in names[:MOST_NAMED])
        mark = "certified" if yes else "not certified"
        lines += [(f"rest {k}", f"{rest.stability}, potential {rest.potential:.8g} J, {mark}"), ("", where)]
    return lines


def linearization_lines(found: Linearization) -> Lines:
    """Describe the state about which a mechanism was linearized, and its modes."""
    f = found
    lines = [("model", f"{f.name}, in {f.coordinates} coordinates"), ("about", _about(f))]
    lines += [("", f"the start moves, and not steadily: {f.unsteady.partition(': ')[2]}")] if f.unsteady else []
    lines += [("stability", f"{f.stability}, {STABILITIES[f.stability]}")]
    lines += [("states", ", ".join(f.states))]
    for k, mode in enumerate(f.modes, start=1):
        x = mode.eigenvalue
        if mode.swings:
            sign = f"{x.real:+.12g} +- {abs(x.imag):.12g} i /s"
            how = f"{mode.hertz:.6g} Hz, damping {mode.damping:.4g}"
        else:
            sign, how = f"{x.real:+.12g} /s", "grows" if x.real > 0 else "fades"
        lines += [(f"mode {k}", f"{sign}: {how}"), ("", _shape(f, mode))]
    if f.zeros:
        lines += [("zeros", f"{f.zeros} more, of states without effect on the others")]
    for what, names in (("inputs", f.inputs), ("outputs", f.outputs)):
        lines += [(what, ", ".join(names))] if names else []
    return lines


def _about(found: Linearization) -> str:
    moving = {name: x for name, x in without_rounding(found.v).items() if x}
    shown = ", ".join(f"{name} {x:.6g}" for name, x in [*moving.items()][:MOST_NAMED])
    more = ", .." if len(moving) > MOST_NAMED else ""
    return f"{found.at}, moving steadily: {shown}{more}" if moving else f"{found.at}, at rest"


def _shape(found: Linearization, mode: Mode) -> str:
    """Return the largest positions of a mode, with the angle by which they lead."""
    n_w, n_u = len(found.basis.of_w), len(found.basis.of_u)
    names = (*found.states[:n_w], *found.states[n_w + n_u :])
    scale = (*found.tangent.scale[[*found.basis.of_w]], *found.tangent.z_scale)
    sizes = {name: abs(mode.shape[name]) / by for name, by in zip(names, scale, strict=True)}
    largest = sorted((name for name in names if sizes[name] > SIZABLE * max(sizes.values())), key=lambda x: -sizes[x])
    parts = []
    for name in largest[:MOST_NAMED]:
        value = mode.shape[name]
        angle = f" at {degrees(phase(value)):.0f} deg" if mode.swings and abs(value.imag) > TYPED else ""
        size = f"{abs(value):.4g}" if angle else f"{value.real:.4g}"
        parts.append(f"{name} {size}{angle}")
    return ", ".join(parts)


def family_lines(found: Family) -> Lines:
    """List where eigenvalues cross the imaginary axis, and between which values nothing grows."""
    f, p = found, found.parameter
    lines = [("model", f.name), ("over", f"{p} from {f.values[0]:.10g} to {f.values[-1]:.10g}, {len(f.values)} values")]
    for crossing in f.crossings:
        what = "a pair swinging" if crossing.kind == "pair" else "one, or two that meet,"
        how = f"with {crossing.eigenvalue.imag:.10g} rad/s" if crossing.kind == "pair" else "at zero"
        counts = f"{crossing.before} grow below, {crossing.after} above"
        value = without_rounding({p: crossing.value, "grid": float(np.abs(f.values).max())})[p]
        lines.append(("crossing", f"{p} = {value:.14g}: {what} {how}; {counts}"))
    stable, edges = f.stable, np.flatnonzero(np.diff(f.stable.astype(int))) + 1
    parts = [part for part in np.split(np.arange(len(stable)), edges) if stable[part[0]]]
    spans = ", ".join(f"{f.values[part[0]]:.6g} to {f.values[part[-1]]:.6g}" for part in parts)
    lines.append(("nothing grows", spans or "at none of these values"))
    if f.zeros:
        lines.append(("zeros", f"{f.zeros} more, of states without effect on the others"))
    return lines


def label_of(mode: Mode) -> str:
    x = mode.eigenvalue
    return f"{x.real:+.4g} +- {abs(x.imag):.4g} i /s" if mode.swings else f"{x.real:+.4g} /s"


def write(found: Linearization, files: Sequence[Path]) -> None:
    """Write modes in the viewer, the slowest first; eigenvalues as a picture; matrices as data."""
    for file in files:
        suffix = file.suffix.lower()
        if suffix == ".html":
            if not found.modes:
                raise UsageError(f"'{found.name}' has no modes to be shown: no state acts on another", "no-modes")
            shown = range(1, min(len(found.modes), page.MOST_RESULTS) + 1)
            labels = [f"mode {k}: {label_of(found.modes[k - 1])}" for k in shown]
            page.write([found.motion(k) for k in shown], file, labels)
        elif suffix == ".json":
            write_text(file, as_json(found.as_dict()))
        elif suffix == ".mat":
            with whole(file) as beside:
                beside.write_bytes(matlab(found))
        else:
            save(bode(found) if found.inputs and found.outputs else plane(found), file)


def write_family(found: Family, files: Sequence[Path]) -> None:
    """Write the root locus as a page or a picture, or its numbers."""
    for file in files:
        suffix = file.suffix.lower()
        if suffix == ".html":
            write_text(file, locus_page(found))
        elif suffix == ".json":
            write_text(file, as_json(found.as_dict()))
        elif suffix == ".mat":
            from scipy.io import savemat

            crossings = np.array([crossing.value for crossing in found.crossings])
            with whole(file) as beside:
                arrays = {"values": found.values, "eigenvalues": found.eigenvalues, "crossings": crossings}
                savemat(beside, arrays, appendmat=False)
        else:
            save(locus(found), file)


def plane(found: Linearization) -> Figure:
    """Return the eigenvalues in the complex plane."""
    fig = titled(f"Eigenvalues of {found.name}, {found.at}", (6.4, 5.2))
    axes = fig.subplots()
    axes.plot(found.acting.real, found.acting.imag, "x", color=COLORS[0], ms=9, mew=2)
    if found.zeros:
        axes.plot(0.0, 0.0, "o", mfc="none", color=COLORS[7], ms=9, label=f"{found.zeros} without effect on others")
        axes.legend(frameon=False)
    _label(axes)
    return fig


def locus(found: Family) -> Figure:
    """Draw eigenvalues in the complex plane as the parameter grows; real and imaginary parts over it;
    crossings marked.
    """
    p, x = found.parameter, found.values
    fig = titled(f"Root locus of {found.name} over {p}", (12.0, 5.4))
    grid = fig.subplot_mosaic([["plane", "real"], ["plane", "imag"]], width_ratios=(1.1, 1.0))
    plane, real, imag = grid["plane"], grid["real"], grid["imag"]
    for k, branch in enumerate(found.eigenvalues.T):
        colour = COLORS[k % len(COLORS)]
        plane.plot(branch.real, branch.imag, color=colour, lw=1.6)
        plane.plot(branch.real[:1], branch.imag[:1], "o", mfc="white", color=colour, ms=5)
        plane.plot(branch.real[-1:], branch.imag[-1:], "o", color=colour, ms=5)
        real.plot(x, branch.real, color=colour, lw=1.6)
        imag.plot(x, branch.imag, color=colour, lw=1.6)
    for crossing in found.crossings:
        plane.plot([0.0, 0.0], [crossing.eigenvalue.imag, -crossing.eigenvalue.imag], "D", color=INK, ms=5, zorder=5)
        for axes in (real, imag):
            axes.axvline(crossing.value, color=INK, lw=1.0, ls=(0, (4, 3)))
        top = real.get_xaxis_transform()
        real.text(crossing.value, 1.01, f"{crossing.value:.5g}", transform=top, ha="center", va="bottom", fontsize=8)
    real.axhline(0.0, color=INK, lw=1.0)
    _label(plane)
    plane.set_title(f"from {x[0]:.4g} (open) to {x[-1]:.4g} (full)", fontsize=9, color=INK, parse_math=False)
    for axes, label in ((real, "real part [1/s]"), (imag, "imaginary part [rad/s]")):
        tidy(axes)
        axes.set_ylabel(label, color=INK)
    imag.set_xlabel(p, color=INK, parse_math=False)
    return fig


def bode(found: Linearization) -> Figure:
    """Draw amplitude and phase of every output to every input, over frequencies about those of the modes."""
    sizes = [mode.frequency for mode in found.modes if mode.frequency > 0.0] or [1.0]
    omega = np.geomspace(min(sizes) / DECADE, max(sizes) * DECADE, POINTS)
    response = found.response(omega)
    fig = titled(f"Frequency response of {found.name}, {found.at}", (8.0, 6.0))
    size, angle = fig.subplots(2, 1, sharex=True)
    for k, (i, j) in enumerate(np.ndindex(response.shape[1:])):
        colour, label = COLORS[k % len(COLORS)], f"{found.outputs[i]} to {found.inputs[j]}"
        size.loglog(omega, np.abs(response[:, i, j]), color=colour, lw=1.6, label=label)
        angle.semilogx(omega, np.degrees(np.unwrap(np.angle(response[:, i, j]))), color=colour, lw=1.6)
    for axes, label in ((size, "amplitude, in SI units"), (angle, "phase [deg]")):
        tidy(axes)
        axes.set_ylabel(label, color=INK)
    angle.set_xlabel("frequency [rad/s]", color=INK)
    for entry in size.legend(frameon=False).get_texts():
        entry.set_parse_math(False)
    return fig


def rests_page(found: Equilibria, model: Model) -> str:
    """Return every rest drawn, all on one scale."""
    title = f"Rests of {found.name}"
    captions = [
        f"<b>Rest {k}</b>: {rest.stability}, {rest.potential:.6g} J, {'certified' if yes else 'not certified'}"
        for k, (rest, yes) in enumerate(zip(found.rests, found.certified, strict=True), start=1)
    ]
    drawn = draw_positions([rest.q for rest in found.rests], model)
    figures = "\n".join(
        f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"
        for picture, caption in zip(drawn, captions, strict=True)
    )
    lines = "".join(f"<p>{text(label)}: {text(line)}</p>" for label, line in equilibria_lines(found)[1:3])
    return document(title, f"{CSS}{FIGURES}", f"<h1>{text(title)}</h1>\n{lines}\n<main>{figures}</main>")


def _label(axes: Axes) -> None:
    tidy(axes)
    axes.axvline(0.0, color=INK, lw=1.0)
    axes.set_xlabel("real part [1/s]", color=INK)
    axes.set_ylabel("imaginary part [rad/s]", color=INK)


FIGURES = f"""
main {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem }}
figure {{ margin: 0; border: 1px solid {GRID}; border-radius: 6px; padding: .5rem }} figcaption {{ font-size: .85rem }}
"""
CSS = f"""
body {{ font: 15px/1.5 system-ui, sans-serif; color: {INK}; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }}
svg {{ width: 100%; height: auto }} table {{ border-collapse: collapse }}
td, th {{ padding: .2rem .8rem; border-bottom: 1px solid {GRID}; text-align: left }} .n {{ text-align: right }}
"""


def locus_page(found: Family) -> str:
    """Return the root locus, and its crossings in a table."""
    title = f"Root locus of {found.name} over {found.parameter}"
    rows = [
        (f"{c.value:.14g}", f"{c.eigenvalue.imag:.10g}", c.kind, str(c.before), str(c.after)) for c in found.crossings
    ]
    heads = (found.parameter, "rad/s", "eigenvalues", "grow below", "grow above")
    crossings = table(heads, rows, (0, 1, 3, 4)) if rows else "<p>No eigenvalue crosses the imaginary axis.</p>"
    lines = "".join(
        f"<p>{text(label)}: {text(line)}</p>" for label, line in family_lines(found) if label == "nothing grows"
    )
    body = (
        f"<h1>{text(title)}</h1>\n{svg(locus(found))}\n<h2>Crossings of the imaginary axis</h2>\n{crossings}\n{lines}"
    )
    return document(title, CSS, body)


def matlab(found: Linearization) -> bytes:
    """Return A, B, C, D, reduced M_r, C_r, K_r, the eigenvalues and all names for MATLAB and Octave."""
    from scipy.io import savemat

    content = BytesIO()
    arrays = {name: getattr(found, name) for name in "ABCD"} | {"eigenvalues": found.eigenvalues}
    arrays |= {f"{name}_r": matrix for name, matrix in found.reduced._asdict().items()}
    names = {name: np.array(getattr(found, name), dtype=object) for name in ("states", "inputs", "outputs")}
    savemat(content, {**arrays, **names})
    return content.getvalue()
