"""A page with all assembly modes of a mechanism, each drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from linkwork.assembly.modes import Mode, Modes
from linkwork.model import Model
from linkwork.scene import scene
from linkwork.view.drawing import drawing
from linkwork.view.markup import bullets, document, svg, text
from linkwork.view.picture import color, limits
from linkwork.view.picture import picture as draw_pose
from linkwork.view.plot import GRID, INK
from linkwork.view.poses import poses

WIDTH = 3.6  # inches of a picture
CSS = f"""
body {{ font: 15px/1.5 system-ui, sans-serif; color: {INK}; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }}
main {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem }}
figure {{ margin: 0; border: 1px solid {GRID}; border-radius: 6px; padding: .5rem }}
figcaption {{ font-size: .85rem }} svg {{ width: 100%; height: auto; display: block }}
.key span {{ display: inline-block; margin-right: 1.2rem }} .open {{ color: #b3303f }}
.key i {{ display: inline-block; width: 1.4rem; height: .3rem; margin-right: .4rem; vertical-align: middle }}
"""


def html(found: Modes, model: Model) -> str:
    """Write the page: counts, a picture of every mode and of one position of every motion, all on one scale."""
    title = f"Assembly modes of {found.name}"
    key = "".join(
        f'<span><i style="background: {color(k)}"></i>{text(body.name)}</span>'
        for k, body in enumerate(model.bodies, start=1)
    )
    titles = [f"Mode {number}" for number in range(1, found.real + 1)] + ["One of many"] * len(found.motions)
    positions = (*found.modes, *found.motions)
    drawn = draw_positions([mode.q for mode in positions], model)
    figures = "\n".join(
        f"<figure>{picture}<figcaption><b>{title}</b>: {_caption(mode)}</figcaption></figure>"
        for title, mode, picture in zip(titles, positions, drawn, strict=True)
    )
    body = f"""<h1>{text(title)}</h1>
<p>{text("; ".join(remarks(found)))}.</p>
{bullets(found.notes)}
<p class="key">{key}</p>
<main>
{figures}
</main>"""
    return document(title, CSS, body)


def draw_positions(positions: Sequence[Mapping[str, float]], model: Model) -> list[str]:
    """Draw positions, given as coordinates by name, on one scale."""
    if not positions:
        return []
    seen = scene(model)
    values = {name: np.array([q[name] for q in positions]) for name in positions[0]}
    values["t"] = np.arange(len(positions))
    all_poses = poses(seen, values)
    drawn = drawing(seen, all_poses)
    sides = limits(seen, drawn, all_poses)
    return [svg(draw_pose(seen, drawn, pose, sides, WIDTH, names=True)) for pose in all_poses]


def remarks(found: Modes) -> Iterator[str]:
    """Say how the modes were searched for, and whether these are all."""
    if found.method == "multi-start":
        yield f"{found.real} mode{'s' * (found.real != 1)}, by a search from many starts"
    else:
        isolated, ending = " isolated" * bool(found.motions), "s" * (found.finite != 1)
        yield f"{found.real} real of {found.finite} finite{isolated} solution{ending}"
        yield f"{found.paths} path{'s' * (found.paths != 1)} followed, {found.infinite} to infinity, {found.lost} lost"
        count, verb = found.singular or "no", "is" if found.singular < 2 else "are"
        yield f"{count}{isolated} solution{'s' * (found.singular > 1)} {verb} singular"
    for freedoms in sorted({mode.freedoms for mode in found.motions}):
        number = sum(mode.freedoms == freedoms for mode in found.motions)
        yield f"{number} {'curves' if freedoms == 1 else f'sets of dimension {freedoms}'} of positions besides"
    if found.kept:
        yield f"kept: {', '.join(found.kept)}"
    if found.slices:
        degree = f", degree of the closure variety {found.degree}" if found.degree is not None else ""
        yield f"{found.slices} freedom{'s' * (found.slices != 1)} cut by random linear equations{degree}"
    yield "complete" if found.complete else "not proved complete"


def _caption(mode: Mode) -> str:
    proof = "certified" if mode.certified else '<span class="open">not certified</span>'
    singular = ", singular" if mode.singular else ""
    moves = f", moves with {mode.freedoms} freedoms" if mode.freedoms else ""
    return f"residual {mode.residual:.1e}, {proof}{singular}{moves}"
