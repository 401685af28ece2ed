"""A page with all assembly modes of a mechanism, each drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from math import atan2, hypot
from pathlib import Path

from linkwork.assembly.modes import Mode, Modes
from linkwork.elements.bodies import Body, Ground
from linkwork.elements.pairs import PointPair
from linkwork.elements.vectors import Components, Vector
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import ZERO, constant, symbol
from linkwork.files import write_text
from linkwork.model import Model
from linkwork.view.plot import COLORS, GRID, INK
from linkwork.view.report import printable

Spot = tuple[float, float]

SIZE = 300.0  # of a picture, in its own units
MARGIN = 26.0
CSS = f"""
body {{ font: 15px/1.5 system-ui, sans-serif; color: {INK}; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }}
main {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem }}
figure {{ margin: 0; border: 1px solid {GRID}; border-radius: 6px; padding: .5rem }}
figcaption {{ font-size: .85rem }} svg {{ width: 100%; height: auto; display: block }}
.key span {{ display: inline-block; margin-right: 1.2rem }} .open {{ color: #b3303f }}
.key i {{ display: inline-block; width: 1.4rem; height: .3rem; margin-right: .4rem; vertical-align: middle }}
"""


def write(found: Modes, model: Model, path: str | Path) -> None:
    """The page as a file, whole or not at all."""
    write_text(path, html(found, model))


def html(found: Modes, model: Model) -> str:
    """A page that needs nothing else: what was found, and a picture of every mode on one common scale."""
    title = _text(f"Assembly modes of {found.name}")
    key = "".join(
        f'<span><i style="background: {color}"></i>{_text(name)}</span>' for name, color in _colors(model).items()
    )
    notes = "".join(f"<li>{_text(note)}</li>" for note in found.notes)
    titles = [f"Mode {number}" for number in range(1, found.real + 1)] + ["One of many"] * len(found.motions)
    figures = "\n".join(
        f"<figure>{picture}<figcaption><b>{title}</b>: {_caption(mode)}</figcaption></figure>"
        for title, mode, picture in zip(titles, _positions(found), pictures(found, model), strict=True)
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>{CSS}</style></head>
<body><h1>{title}</h1>
<p>{_text("; ".join(remarks(found)))}.</p>
<ul>{notes}</ul>
<p class="key">{key}</p>
<main>
{figures}
</main>
</body></html>
"""


def remarks(found: Modes) -> Iterator[str]:
    """What was looked for and how far it is all there is."""
    if found.method == "multi-start":
        yield f"{found.real} found"
    else:
        yield f"{found.real} real of {found.finite} finite{' isolated' if found.motions else ''} solutions"
        yield f"{found.paths} paths followed, {found.infinite} to infinity, {found.lost} lost"
        count = {0: "no solution is", 1: "1 solution is"}.get(found.singular, f"{found.singular} solutions are")
        yield f"{count} singular"
    for freedoms in sorted({mode.freedoms for mode in found.motions}):
        number = sum(mode.freedoms == freedoms for mode in found.motions)
        yield f"{number} {'curves' if freedoms == 1 else f'sets of dimension {freedoms}'} of positions besides"
    if found.kept:
        yield f"kept: {', '.join(found.kept)}"
    if found.slices:
        degree = f", degree of the closure variety {found.degree}" if found.degree is not None else ""
        yield f"{found.slices} freedoms cut by random linear equations{degree}"
    yield "complete" if found.complete else "not proved complete"


@dataclass(frozen=True)
class Sketch:
    """What a picture shows: corners of bodies, lines between the points of joints, points of the ground."""

    bodies: Mapping[str, list[Spot]]
    links: list[tuple[Spot, Spot]]
    ground: Mapping[str, Spot]

    def spots(self) -> Iterator[Spot]:
        yield from self.ground.values()
        for spots in (*self.bodies.values(), *self.links):
            yield from spots


def sketch(mode: Mode, model: Model) -> Sketch:
    """A mode seen along z."""
    bodies: dict[str, list[Spot]] = {body.name: [] for body in model.bodies}
    ground: dict[str, Spot] = {}
    for name, place in mode.points.items():
        owner, _, point = name.rpartition(".")
        spot = place[0], place[1]
        if owner in bodies:
            bodies[owner].append(spot)
        else:
            ground[point] = spot
    for body in model.bodies:
        if not bodies[body.name]:  # without named points, its origin
            bodies[body.name].append((mode.q[f"{body.name}.x"], mode.q[f"{body.name}.y"]))
    links = []
    for joint in (*model.joints, *(driver.joint for driver in model.drivers)):
        if isinstance(joint, PointPair):
            ends = _spot(model, mode, joint.body_i, joint.s_i), _spot(model, mode, joint.body_j, joint.s_j)
            links.append(ends)
    return Sketch(bodies, links, ground)


def _spot(model: Model, mode: Mode, body: Body, s: Components) -> Spot:
    point = Vector(s)
    if not isinstance(body, Ground):
        q = [constant(mode.q[c.name]) for c in body.coordinates]
        point = body.frame(q, [ZERO] * len(body.velocities)).point(s)
    x, y, *_ = evaluate(point, {symbol(name): value for name, value in model.parameters.items()})
    return x, y


def pictures(found: Modes, model: Model) -> list[str]:
    """An SVG drawing of every mode and of one position of every motion, all on one scale."""
    sketches = [sketch(mode, model) for mode in _positions(found)]
    spots = [spot for each in sketches for spot in each.spots()]
    if not spots:
        return []
    (left, right), (bottom, top) = ((min(x), max(x)) for x in zip(*spots, strict=True))
    scale = (SIZE - 2 * MARGIN) / max(right - left, top - bottom, 1e-9)
    width, height = (right - left) * scale + 2 * MARGIN, (top - bottom) * scale + 2 * MARGIN

    def at(spot: Spot) -> Spot:
        return (spot[0] - left) * scale + MARGIN, (top - spot[1]) * scale + MARGIN

    colors = _colors(model)
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.1f} {height:.1f}">'
        + "".join(_marks(each, at, colors))
        + "</svg>"
        for each in sketches
    ]


def _marks(each: Sketch, at: Callable[[Spot], Spot], colors: Mapping[str, str]) -> Iterator[str]:
    for start, end in each.links:
        (x, y), (u, v) = at(start), at(end)
        if hypot(u - x, v - y) > 1.0:  # a rod, a slide or a driven distance; the points of a pin are one
            line = f"M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}"
            yield f'<path d="{line}" stroke="#8a94a0" stroke-width="1.5" stroke-dasharray="5 3"/>'
    for x, y in map(at, each.ground.values()):
        yield f'<path d="M{x:.1f} {y:.1f}l-7 12h14z" fill="#c3cad2" stroke="{INK}"/>'
    for name, spots in each.bodies.items():
        color, corners = colors[name], _around([at(spot) for spot in spots])
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
        yield (
            f'<path d="M{path}Z" fill="{color}" fill-opacity=".15" stroke="{color}" stroke-width="3" '
            f'stroke-linejoin="round"><title>{_text(name)}</title></path>'
        )
        for x, y in corners:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="white" stroke="{color}" stroke-width="1.5"/>'
    for name, spot in each.ground.items():
        x, y = at(spot)
        yield f'<text x="{x + 9:.1f}" y="{y + 13:.1f}" font-size="11" fill="{INK}">{_text(name)}</text>'


def _around(spots: list[Spot]) -> list[Spot]:
    """The corners in the order in which they lie around their middle."""
    x, y = (sum(c) / len(spots) for c in zip(*spots, strict=True))
    return sorted(spots, key=lambda spot: atan2(spot[1] - y, spot[0] - x))


def _positions(found: Modes) -> tuple[Mode, ...]:
    return (*found.modes, *found.motions)


def _caption(mode: Mode) -> str:
    proof = "certified" if mode.certified else '<span class="open">not certified</span>'
    singular = ", singular" if mode.singular else ""
    moves = f", moves with {mode.freedoms} freedoms" if mode.freedoms else ""
    return f"residual {mode.residual:.1e}, {proof}{singular}{moves}"


def _colors(model: Model) -> dict[str, str]:
    return {body.name: COLORS[k % len(COLORS)] for k, body in enumerate(model.bodies)}


def _text(text: str) -> str:
    return escape(printable(text))
