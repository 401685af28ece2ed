"""The viewer: one page of HTML with trajectories, their drawings and everything that shows them.

The page itself is built from `viewer/`; here data is put into it, as JSON in which no "<" is left, so that no name can
end the element that holds it. Numbers go as base64 of little-endian arrays.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from gzip import compress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork import __version__
from linkwork.arrays import Array
from linkwork.errors import UsageError
from linkwork.files import write_text
from linkwork.readings import InUnits
from linkwork.scene import Scene
from linkwork.trajectory import Trajectory, plain
from linkwork.units import choose_units, factors
from linkwork.view.anchors import anchors
from linkwork.view.drawing import STYLES, Drawing, drawing, picture_of
from linkwork.view.picture import color
from linkwork.view.plot import COLORS
from linkwork.view.poses import poses

if TYPE_CHECKING:
    from linkwork.web.program import Program


BUNDLE = Path(__file__).with_name("viewer.html")
PLACE = '"LINKWORK-DATA"'
POLICY = '<meta http-equiv="Content-Security-Policy"'
LESS = "\\u003c"  # in the place of "<", which could end the element that holds the data
SCRIPTS, COMPUTES = "script-src", "'wasm-unsafe-eval'"  # of the policy of a page: WebAssembly, and no text as a script
MOST_RESULTS = 4  # beside each other


class Most(NamedTuple):
    """How much of a trajectory is put into a page: rows, of which others are left out evenly, and numbers in all."""

    rows: int
    numbers: int


MOST_ROWS = 4000
MOST = Most(MOST_ROWS, 1_500_000)  # 16 MB
MOST_BESIDE_PROGRAM = Most(150, 5_000)  # 0.04 MB: the program computes it again, and all of it
MOST_EVENTS = 1000  # of a motion, on its time axis and in the list
# Kinds of columns in the order in which they are let in.
KINDS = (
    *("q", "inputs", "outputs", "states", "energy", "error", "v", "reactions", "driving", "actuators", "loads"),
    *("joints", "points", "a", "lam"),
)
USUAL_UNITS = ("deg", "mm")  # to which a page can be switched, unless the motion has its own
DIGITS = 9  # of coordinates in a drawing


def built() -> bool:
    """Whether the viewer is there."""
    return BUNDLE.exists()


def check_built() -> None:
    """Raise UsageError if the viewer is not there."""
    if not built():
        raise UsageError(
            "the viewer is not built; `make viewer` in the source folder builds it (it needs npm)", "no-viewer"
        )


def page(
    motions: Sequence[Trajectory],
    labels: Sequence[str] = (),
    live: Program | None = None,
    about: Sequence[Sequence[str]] = (),
) -> str:
    """Write the page that shows these motions beside each other; labels are their names unless given.

    With a program of the one motion the page computes others itself.
    """
    head, tail = halves()
    head = head if live is None else head.replace(SCRIPTS, f"{SCRIPTS} {COMPUTES}", 1)
    return f"{head}{data_of(motions, labels, live, about=about)}{tail}"


def halves() -> tuple[str, str]:
    """Read the page as it was built: what stands before its data and what behind."""
    check_built()
    head, tail = BUNDLE.read_text(encoding="utf-8").split(PLACE)
    return head, tail


def data_of(
    motions: Sequence[Trajectory],
    labels: Sequence[str] = (),
    live: Program | None = None,
    most: Most | None = None,
    plays: bool = False,
    about: Sequence[Sequence[str]] = (),
) -> str:
    """Write the data of a page as JSON in which no "<" is left."""
    data = plain({**contents(motions, labels, live, most, about), "plays": plays})
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", LESS)


def contents(
    motions: Sequence[Trajectory],
    labels: Sequence[str] = (),
    live: Program | None = None,
    most: Most | None = None,
    about: Sequence[Sequence[str]] = (),
) -> dict[str, Any]:
    """Return what a page holds of these motions, as data; beside each name what is said `about` it, or how it was
    found.
    """
    if not 1 <= len(motions) <= MOST_RESULTS:
        raise UsageError(f"{len(motions)} results; the viewer shows 1 to {MOST_RESULTS}", "too-many-results")
    if len({motion.scene.get("space") for motion in motions}) > 1:
        raise UsageError("planar and spatial mechanisms do not go onto one page", "mixed-spaces")
    names = list(labels) or [motion.name for motion in motions]
    most = most or (MOST if live is None else MOST_BESIDE_PROGRAM)
    told = about or [facts(motion) for motion in motions]
    results = [_result(*one, most) for one in zip(motions, names, told, strict=True)]
    data = {**_styles(_units(motions[0])), "results": results}
    if live is not None:
        data["factors"] = factors()
        data["anchors"] = None if motions[0].model is None else anchors(motions[0].model)
        data["live"] = {**live.about, "module": b64encode(compress(live.module.binary, mtime=0)).decode("ascii")}
    return data


def still(own: Scene, at: Mapping[str, Array], name: str, facts: Sequence[str]) -> dict[str, Any]:
    """Return what a page holds of a mechanism that stands, its bodies where `at` says, with the one time t."""
    look = _look(own, found := poses(own, at), drawing(own, found))
    nothing = {"quantities": [], "values": "", "left_out": [], "events": [], "n_events": 0, "reason": "", "notes": []}
    rows = {"rows": 1, "t": _base64(at["t"], "<f8"), "poses": _base64(found, "<f4")}
    units = {"names": "", "of": {}, "shown": False}
    return {**_styles(units), "results": [{"name": name, "label": name, "facts": [*facts], **look, **rows, **nothing}]}


def _styles(units: Mapping[str, Any]) -> dict[str, Any]:
    styles = {role: style._asdict() for role, style in STYLES.items()}
    return {"version": __version__, "units": units, "colors": COLORS, "styles": styles}


def _look(own: Scene, found: Array, drawn: Drawing) -> dict[str, Any]:
    colors = [color(k, own) for k in range(1, len(COLORS) + 1)]
    return {"scene": own.as_dict(), "drawing": _rounded(asdict(drawn), drawn.unit), "colors": colors}


def framed(motion: Trajectory, live: Program | None) -> tuple[str, str]:
    """Return the policy of a page in which this one stands, which binds both, and the frame with it."""
    whole = page([motion], live=live)
    policy = whole[whole.index(POLICY) : whole.index(">", whole.index(POLICY)) + 1]
    return policy, f'<iframe sandbox="allow-scripts allow-downloads" srcdoc="{escape(whole)}"></iframe>'


def open_page(motions: Sequence[Trajectory], live: Program | None = None) -> None:
    """Open the page in the browser."""
    import tempfile
    import webbrowser

    path = Path(tempfile.mkdtemp(prefix="linkwork-")) / "motion.html"
    write(motions, path, live=live)
    webbrowser.open(path.as_uri())


def write(
    motions: Sequence[Trajectory],
    path: str | Path,
    labels: Sequence[str] = (),
    live: Program | None = None,
    about: Sequence[Sequence[str]] = (),
) -> None:
    """Write the page as a file, whole or not at all."""
    if Path(path).suffix.lower() != ".html":
        raise UsageError(f"cannot write '{path}': the viewer is an .html file", "unknown-suffix")
    write_text(path, page(motions, labels, live, about))


def _result(motion: Trajectory, label: str, about: Sequence[str], most: Most) -> dict[str, Any]:
    own, found, drawn = picture_of(motion)
    rows = np.unique(np.linspace(0, len(motion.t) - 1, min(len(motion.t), most.rows)).round().astype(int))
    columns, left_out = _columns(motion, len(rows), most.numbers)
    return {
        "name": motion.name,
        "label": label,
        "facts": [*about],
        **_look(own, found, drawn),
        "rows": len(rows),
        "t": _base64(motion.t[rows], "<f8"),
        "poses": _base64(found[rows], "<f4"),
        "quantities": [{"name": name, "unit": motion.quantity(name).unit, "kind": kind} for name, kind in columns],
        "values": _base64(np.array([motion[name][rows] for name, _ in columns]), "<f8"),
        "left_out": left_out,
        "events": [*zip(motion.events.names, motion.events.t.tolist(), strict=True)][:MOST_EVENTS],
        "n_events": len(motion.events.names),
        "reason": str(motion.info.reason),
        "notes": [str(note) for note in motion.info.notes],
    }


def facts(motion: Trajectory) -> list[str]:
    """Say what stands beside the name: how the motion was found and how good it is."""
    run = motion.info
    if run.analysis == "mode":
        return ["a small motion, enlarged"]
    methods = [name for name in (run.formulation, run.stabilization, run.integrator) if name != "none"]
    error = motion.constraint_error["position"]
    return [motion.status, f"{run.dof} dof", ", ".join(methods), f"|Psi| ≤ {error:.1e}"]


def _units(motion: Trajectory) -> dict[str, Any]:
    """Return units to which the page can be switched: by those of SI, how they are written and the factor of
    numbers.
    """
    names = motion.info.units or USUAL_UNITS
    other = InUnits(motion, choose_units(names))
    found = {unit: other.converted(unit) for unit in dict.fromkeys(x.unit for x in motion.quantities.values())}
    of = {unit: (text, factor) for unit, (factor, text) in found.items() if text != unit}
    return {"names": ", ".join(names), "of": of, "shown": bool(motion.info.units)}


def _columns(motion: Trajectory, rows: int, most: int) -> tuple[list[tuple[str, str]], list[str]]:
    """Choose the columns on the page, by name and kind, and return the kinds for which there was no room."""
    names = {kind: list(table.columns.names) for kind, table in motion.tables.items()}
    names["energy"] = [*names["energy"], "energy:drift"]
    names["error"] = ["error:position", "error:velocity"]
    columns: list[tuple[str, str]] = []
    left_out = []
    for kind in KINDS:
        shown = "driving" if kind == "actuators" else kind  # one list of the viewer
        own = [(name, shown) for name in names.get(kind, ())]
        if rows * (len(columns) + len(own)) <= most:
            columns += own
        elif own:
            left_out.append(kind)
    return columns, left_out


def _base64(values: Array, kind: str) -> str:
    return b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


def _rounded(data: Any, unit: float) -> Any:
    """Round lengths far below what can be seen."""
    if isinstance(data, dict):
        return {key: _rounded(value, unit) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_rounded(value, unit) for value in data]
    return float(f"{data:.{DIGITS}g}") if isinstance(data, float) else data
