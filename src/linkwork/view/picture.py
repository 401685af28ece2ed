"""Pictures of a mechanism without a browser: one pose, a strip of several, a film."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from linkwork.arrays import Array
from linkwork.errors import LinkworkError, UsageError, check_extra
from linkwork.files import whole
from linkwork.model import Model
from linkwork.scene import Scene
from linkwork.scene import scene as make_scene
from linkwork.trajectory import Trajectory
from linkwork.view.drawing import STYLES, Drawing, picture_of
from linkwork.view.drawing import drawing as make_drawing
from linkwork.view.plot import COLORS, INK
from linkwork.view.poses import Bodies, poses
from linkwork.view.solids import silhouette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Sides: TypeAlias = tuple[float, float, float, float]  # left, right, bottom, top

FILMS = (".gif", ".mp4")
PAPER, DRIVE, LOAD = "#ffffff", "#c2410c", "#b3303f"
PER_SECOND = 25  # pictures of a film
LASTS = 6.0  # seconds of a film unless its speed is given
LONGEST = 2000  # pictures of a film
MOST_STRIP = 100
SEEN = 40  # poses that tell how much room a spatial motion takes
HIDDEN = ("centre",)  # roles that only the viewer shows, on demand
# A spatial mechanism is seen from here: along (-1, -1, -1), with z upwards.
RIGHT, UP = np.array([-1.0, 1.0, 0.0]) / 2**0.5, np.array([-1.0, -1.0, 2.0]) / 6**0.5


def draw(axes: Axes, scene: Scene, drawing: Drawing, pose: Array, names: bool = False) -> None:
    """Draw one pose of a mechanism on axes of equal scale, whose limits are set."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    bodies = Bodies(pose)
    left, right = axes.get_xlim()
    points = axes.get_window_extent().width / axes.figure.dpi * 72.0 / (right - left)  # per metre
    view = _flat if scene.space == "planar" else _seen
    marks: list[tuple[str, int, list[Array], bool]] = [
        *((o.role, o.body, bodies.lines(o), o.closed) for o in drawing.outlines if o.role not in HIDDEN),
        *((s.role, s.bodies[0], bodies.stretched(s), s.closed) for s in drawing.stretches),
    ]
    for solid in sorted(drawing.solids, key=lambda s: float(np.cross(RIGHT, UP) @ bodies.point(s.body, s.at))):
        outline, edges = silhouette(solid, bodies, RIGHT, UP)
        marks += [(solid.role, solid.body, [outline], True), (solid.role, solid.body, edges, False)]
    for role, body, lines, closed in sorted(marks, key=lambda mark: STYLES[mark[0]].order):
        if not lines:
            continue
        style = STYLES[role]
        known = {"ink": INK, "paper": PAPER, "drive": DRIVE, "load": LOAD, "body": color(body, scene)}
        paths = [Outline(view(line), closed=False) for line in lines]
        if closed:
            paths = [Outline(view(np.vstack([line, line[:1]])), closed=True) for line in lines]
        axes.add_artist(  # not add_patch, which looks for the limits of every outline
            PathPatch(
                Outline.make_compound_path(*paths),
                facecolor=to_rgba(known[style.fill], style.opacity) if style.fill and closed else "none",
                edgecolor=known[style.stroke] if style.stroke else "none",
                linewidth=max(style.width * drawing.unit * points, 0.4),
                joinstyle="round",
                capstyle="round",
                zorder=2 + style.order,
            )
        )
    if names:
        _name(axes, scene, drawing, bodies)


def color(body: int, scene: Scene | None = None) -> str:
    """Return the colour of a body as the scene has it, else by its number; the ground has ink."""
    own = scene.bodies[body].colour if scene is not None and body < len(scene.bodies) else None
    return own or (COLORS[(body - 1) % len(COLORS)] if body else INK)


def _flat(line: Array) -> Array:
    return line[:, :2]


def _seen(line: Array) -> Array:
    return np.column_stack([line @ RIGHT, line @ UP])


def _name(axes: Axes, scene: Scene, drawing: Drawing, bodies: Bodies) -> None:
    """Write names of joints beside their points; of several at one place, one after the other."""
    index = {figure.name: k for k, figure in enumerate(scene.bodies)}
    places: dict[tuple[int, int], tuple[Array, list[str]]] = {}
    view = _flat if scene.space == "planar" else _seen
    for mark in scene.joints:
        if mark.points:
            spot = view(bodies.point(index[mark.bodies[1]], mark.points[1])[None, :])[0]
            near = (round(spot[0] / drawing.unit), round(spot[1] / drawing.unit))
            places.setdefault(near, (spot, []))[1].append(mark.name)
    for spot, labels in places.values():
        axes.annotate(
            ", ".join(labels), (spot[0], spot[1]), xytext=(6, 6), textcoords="offset points", fontsize=8, color=INK,
            zorder=20, parse_math=False, bbox={"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.8},
        )  # fmt: skip


def around(scene: Scene, drawing: Drawing, pose: Array) -> Sides:
    """Return left, right, bottom and top of one pose, with room for names."""
    bodies, view = Bodies(pose), _flat if scene.space == "planar" else _seen
    lines = [line for outline in drawing.outlines for line in bodies.lines(outline)]
    lines += [line for stretch in drawing.stretches for line in bodies.stretched(stretch)]
    lines += [silhouette(solid, bodies, RIGHT, UP)[0] for solid in drawing.solids]
    if not lines:  # bodies without points in space
        lines = [np.array(drawing.box)]
    flat, room = view(np.concatenate(lines)), 3.0 * drawing.unit
    (left, bottom), (right, top) = flat.min(axis=0) - room, flat.max(axis=0) + room
    return float(left), float(right), float(bottom), float(top)


def limits(scene: Scene, drawing: Drawing, all_poses: Array) -> Sides:
    """Return left, right, bottom and top of all the motion, on paper."""
    if scene.space == "planar":
        (left, bottom, _), (right, top, _) = drawing.box
        return left, right, bottom, top
    seen = np.array([around(scene, drawing, pose) for pose in all_poses[:: max(1, len(all_poses) // SEEN)]])
    (left, _, bottom, _), (_, right, _, top) = seen.min(axis=0), seen.max(axis=0)
    return float(left), float(right), float(bottom), float(top)


def _panel(axes: Axes, sides: Sides) -> None:
    axes.set_axis_off()
    axes.set_xlim(sides[0], sides[1])
    axes.set_ylim(sides[2], sides[3])


def lettered(model: Model, q: Mapping[str, float], letters: Mapping[str, str], width: float = 5.5) -> Figure:
    """Return a pose with letters beside the joints, and the frames of the bodies with their numbers."""
    own = make_scene(model)
    own = replace(own, joints=tuple(replace(mark, name=letters.get(mark.name, mark.name)) for mark in own.joints))
    seen = poses(own, {"t": np.zeros(1), **{name: np.array([x]) for name, x in q.items()}})
    drawn = make_drawing(own, seen)
    left, right, bottom, top = around(own, drawn, seen[0])
    length = 0.1 * max(right - left, top - bottom)
    sides = left - length, right + length, bottom - length, top + length
    fig = picture(own, drawn, seen[0], sides, width, names=True)
    view, bodies = _flat if own.space == "planar" else _seen, Bodies(seen[0])
    for k in range(len(own.bodies)):
        for axis, letter in zip(np.eye(3)[: 2 if own.space == "planar" else 3], ("xi", "eta", "zeta"), strict=False):
            tail, tip = view(np.array([bodies.r[k], bodies.r[k] + length * bodies.A[k] @ axis]))
            arrow = {"arrowstyle": "->", "color": DRIVE, "lw": 1.0, "shrinkA": 0, "shrinkB": 0}
            fig.axes[0].annotate("", tip, tail, arrowprops=arrow, zorder=21)
            beside = 6 * (tip - tail) / (np.linalg.norm(tip - tail) or 1.0)
            look: dict[str, Any] = {"fontsize": 8, "color": DRIVE, "zorder": 22, "ha": "center", "va": "center"}
            fig.axes[0].annotate(f"$\\{letter}_{k}$", tip, xytext=beside, textcoords="offset points", **look)
    return fig


def still(motion: Trajectory, width: float = 6.0, names: bool = True) -> Figure:
    """Return the mechanism at the start."""
    scene, (pose, *_), drawing = picture_of(motion)
    return picture(scene, drawing, pose, around(scene, drawing, pose), width, names)


def sketch(model: Model, width: float = 5.0) -> Figure:
    """Return a mechanism at its start, with its loops closed where they can be."""
    from linkwork.assembly.assemble import assemble
    from linkwork.compiled.mechanism import prepare

    mechanism = prepare(model, "body")
    try:
        start: Mapping[str, float] = assemble(mechanism).q
    except LinkworkError:
        start = dict(zip(mechanism.equations.q_names, mechanism.place().q.tolist(), strict=True))
    own = make_scene(model)
    seen = poses(own, {"t": np.zeros(1), **{name: np.array([x]) for name, x in start.items()}})
    drawn = make_drawing(own, seen)
    return picture(own, drawn, seen[0], around(own, drawn, seen[0]), width, names=True)


def picture(scene: Scene, drawing: Drawing, pose: Array, sides: Sides, width: float, names: bool) -> Figure:
    """Return one pose between these sides, so many inches wide."""
    check_extra("matplotlib")
    from linkwork.view.shown import ShownFigure

    height = float(np.clip(width * (sides[3] - sides[2]) / (sides[1] - sides[0]), 0.25 * width, 1.1 * width))
    fig = ShownFigure(figsize=(width, height), facecolor="white")
    axes = fig.add_axes((0.0, 0.0, 1.0, 1.0))
    _panel(axes, _widen(sides, width / height))
    draw(axes, scene, drawing, pose, names)
    return fig


def _widen(sides: Sides, aspect: float) -> Sides:
    """Return the sides widened to this aspect, about their middle."""
    left, right, bottom, top = sides
    x, y = (left + right) / 2, (bottom + top) / 2
    half = max((right - left) / 2, (top - bottom) / 2 * aspect)
    return x - half, x + half, y - half / aspect, y + half / aspect


def check_film(path: str | Path, count: int | None, speed: float | None) -> None:
    """Raise UsageError if such a film or strip cannot be made here."""
    if count is not None and not 1 <= count <= MOST_STRIP:
        raise UsageError(f"a strip has 1 to {MOST_STRIP} pictures, not {count}", "bad-film")
    if speed is not None and not 0.0 < speed < np.inf:
        raise UsageError(f"speed = {speed:g} is not above zero", "bad-speed")
    if Path(path).suffix.lower() == ".mp4" and shutil.which("ffmpeg") is None:
        raise UsageError(
            "an .mp4 needs the program ffmpeg, which is not installed; write a .gif or .html instead", "no-ffmpeg"
        )


def _moving(motion: Trajectory) -> tuple[Scene, Array, Drawing]:
    """Return the picture of a motion, of which a film can be made."""
    found = picture_of(motion)
    if not found[1].size:
        raise UsageError(f"'{motion.name}' has no bodies that move; plot its quantities instead", "no-bodies")
    return found


def strip(motion: Trajectory, count: int) -> Figure:
    """Return the mechanism at `count` instants, equal in time, on one scale; the paths of free points lie below."""
    check_extra("matplotlib")
    from matplotlib.figure import Figure

    check_film("", count, None)
    scene, all_poses, drawing = _moving(motion)
    sides = limits(scene, drawing, all_poses)
    rows = np.searchsorted(motion.t, np.linspace(motion.t[0], motion.t[-1], count) - 1e-12).clip(0, len(motion.t) - 1)
    aspect = (sides[1] - sides[0]) / (sides[3] - sides[2])
    columns = min(count, max(1, round((count / aspect) ** 0.5 * 1.25)))
    lines = -(-count // columns)
    width = 12.0 / columns
    height = float(np.clip(width / aspect, 0.3 * width, 1.4 * width))
    label = 0.25  # inches above every picture
    fig = Figure(figsize=(width * columns, (height + label) * lines), facecolor="white")
    for k, row in enumerate(rows):
        across, down = k % columns, k // columns
        whole = fig.get_figheight()
        low = 1.0 - ((down + 1) * (height + label)) / whole
        axes = fig.add_axes((across / columns, low, 1.0 / columns, height / whole))
        _panel(axes, _widen(sides, width / height))
        draw(axes, scene, drawing, all_poses[row])
        axes.set_title(f"t = {motion.t[row]:.4g} s", fontsize=10, color=INK, pad=3)
    return fig


def write_film(motion: Trajectory, path: str | Path, speed: float | None = None, width: float = 6.4) -> None:
    """Write a film as .gif or .mp4; `speed` is seconds of motion per second of film."""
    check_extra("matplotlib")
    from matplotlib.figure import Figure

    suffix = Path(path).suffix.lower()
    if suffix not in FILMS:
        raise UsageError(f"cannot write '{path}': films are written as .gif or .mp4", "unknown-suffix")
    check_film(path, None, speed)
    scene, all_poses, drawing = _moving(motion)
    times = frame_times(motion.t, speed)
    between = _between(motion.t, all_poses, times)
    sides = limits(scene, drawing, all_poses)
    height = float(np.clip(width * (sides[3] - sides[2]) / (sides[1] - sides[0]), 0.3 * width, 1.2 * width))
    width, height = (2 * round(inches * 50) / 100 for inches in (width, height))  # an .mp4 has an even number of pixels
    fig = Figure(figsize=(width, height), dpi=100, facecolor="white")
    axes = fig.add_axes((0.0, 0.0, 1.0, 1.0))
    _panel(axes, _widen(sides, width / height))
    clock = axes.text(
        0.02, 0.98, "", transform=axes.transAxes, va="top", fontsize=10, color=INK, family="monospace", zorder=30
    )

    def frame(k: int) -> Sequence[Any]:
        for patch in list(axes.patches):
            patch.remove()
        draw(axes, scene, drawing, between[k])
        clock.set_text(f"{motion.name}  t = {times[k]:.4g} s")
        clock.set_parse_math(False)
        return (clock,)

    with whole(path) as part:
        if suffix == ".gif":
            _write_gif(fig, frame, len(times), part)
        else:
            from matplotlib.animation import FFMpegWriter, FuncAnimation

            film = FuncAnimation(fig, frame, frames=len(times), interval=1000 / PER_SECOND, repeat=True)
            film.save(part, FFMpegWriter(fps=PER_SECOND, codec="h264", extra_args=["-pix_fmt", "yuv420p"]))


def _write_gif(fig: Figure, frame: Callable[[int], Any], count: int, path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas: Any = FigureCanvasAgg(fig)
    pictures = []
    for k in range(count):
        frame(k)
        canvas.draw()
        pictures.append(Image.fromarray(np.array(canvas.buffer_rgba())).convert("RGB"))
    pictures[0].save(path, "GIF", save_all=True, append_images=pictures[1:], duration=1000 // PER_SECOND, loop=0)


def frame_times(t: Array, speed: float | None) -> Array:
    """Return the times of the pictures of a film: from the first to the last, equally far apart."""
    length = float(t[-1] - t[0])
    shown = LASTS if speed is None else length / speed
    count = int(np.clip(round(shown * PER_SECOND), 1, LONGEST)) if length > 0.0 else 1
    return np.linspace(float(t[0]), float(t[-1]), count)


def _between(t: Array, all_poses: Array, times: Array) -> Array:
    """Interpolate poses between the rows, linear in all seven numbers, Euler parameters brought back to length one."""
    flat = all_poses.reshape(len(t), -1)
    found = np.column_stack([np.interp(times, t, column) for column in flat.T]).reshape(len(times), -1, 7)
    found[..., 3:] /= np.linalg.norm(found[..., 3:], axis=-1, keepdims=True)
    return found
