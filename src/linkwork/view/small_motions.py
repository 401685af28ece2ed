"""Rest and small motions as text, and as files for other programs."""

from __future__ import annotations

from cmath import phase
from collections.abc import Sequence
from io import BytesIO
from math import degrees
from pathlib import Path

import numpy as np

from linkwork.analyses.equilibrium import Equilibrium
from linkwork.analyses.linearize import Linearization, Mode
from linkwork.errors import MOST_NAMED
from linkwork.files import whole, write_text
from linkwork.tolerances import SIZABLE, TYPED
from linkwork.view.report import Lines, as_json, without_rounding

WRITTEN = (".json", ".mat")
STABILITIES = {
    "stable": "it comes back",
    "unstable": "it leaves",
    "neutral": "some ways of moving meet no force",
    "marginal": "nothing grows, and not all fades",
}


def equilibrium_lines(found: Equilibrium) -> Lines:
    """Where a mechanism rests, and what holds it there."""
    f = found
    lines = [("model", f.name), ("equilibrium", f"{f.stability}, {STABILITIES[f.stability]}")]
    lines += [("residual", f"{f.residual:.1e} of the weights; joints closed to {f.gap:.1e}")]
    if f.stiffness:
        how = "second variation of the potential" if f.conservative else "slope of the forces, which have no potential"
        lines += [("", f"{how}: {f.stiffness[0]:.3g} at least, by the weights or the stiffest way")]
    lines += [("potential", f"{f.potential:.10g} J")]
    width = max(map(len, (*f.q, *f.reactions)), default=0)
    shown = without_rounding(f.q)
    lines += [("position" if k == 0 else "", f"{x:{width}} {y:.12g}") for k, (x, y) in enumerate(shown.items())]
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


def linearization_lines(found: Linearization) -> Lines:
    """Where a mechanism was linearized, and its modes."""
    f = found
    lines = [("model", f"{f.name}, in {f.coordinates} coordinates"), ("about", _about(f))]
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
    return lines


def _about(found: Linearization) -> str:
    moving = {name: x for name, x in without_rounding(found.v).items() if x}
    shown = ", ".join(f"{name} {x:.6g}" for name, x in [*moving.items()][:MOST_NAMED])
    more = ", .." if len(moving) > MOST_NAMED else ""
    return f"{found.at}, moving steadily: {shown}{more}" if moving else f"{found.at}, at rest"


def _shape(found: Linearization, mode: Mode) -> str:
    """The largest positions of a mode, with the angle by which they lead."""
    names = found.states[: len(found.basis.of_w)]
    sizes = {name: abs(mode.shape[name]) for name in names}
    largest = sorted((name for name in names if sizes[name] > SIZABLE * max(sizes.values())), key=lambda x: -sizes[x])
    parts = []
    for name in largest[:MOST_NAMED]:
        value = mode.shape[name]
        angle = f" at {degrees(phase(value)):.0f} deg" if mode.swings and abs(value.imag) > TYPED else ""
        size = f"{abs(value):.4g}" if angle else f"{value.real:.4g}"
        parts.append(f"{name} {size}{angle}")
    return ", ".join(parts)


def write(found: Linearization, files: Sequence[Path]) -> None:
    for file in files:
        if file.suffix.lower() == ".json":
            write_text(file, as_json(found.as_dict()))
        else:
            with whole(file) as beside:
                beside.write_bytes(matlab(found))


def matlab(found: Linearization) -> bytes:
    """A, M, C, K, the eigenvalues and the names of states for MATLAB and Octave."""
    from scipy.io import savemat

    content = BytesIO()
    states = np.array(found.states, dtype=object)
    arrays = {"A": found.A, "M": found.M, "C_reduced": found.C, "K": found.K, "eigenvalues": found.eigenvalues}
    savemat(content, {**arrays, "states": states})
    return content.getvalue()
