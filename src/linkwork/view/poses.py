"""Where the bodies of a scene are along a motion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from linkwork.arrays import Array
from linkwork.errors import UsageError
from linkwork.scene import Scene
from linkwork.trajectory import Trajectory
from linkwork.view.outlines import Outline, Stretch


def scene_of(motion: Trajectory) -> Scene:
    """Return the scene that a trajectory keeps."""
    if not motion.scene:
        raise UsageError(f"the trajectory of '{motion.name}' holds no scene to draw; run it again", "no-scene")
    if not len(motion.t):
        raise UsageError(f"the trajectory of '{motion.name}' has no rows to draw", "empty-trajectory")
    with refuse_damage(motion):
        return Scene.from_dict(motion.scene)


@contextmanager
def refuse_damage(motion: Trajectory) -> Iterator[None]:
    """Refuse a damaged scene: it can come from anywhere, and whatever is wrong becomes one clear error."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"the scene of '{motion.name}' is damaged: {error!r}", "bad-scene") from error


def poses(scene: Scene, motion: Trajectory | Mapping[str, Array]) -> Array:
    """Return position and Euler parameters (x, y, z, e0, e1, e2, e3) of every body but the ground at every time t.

    A turn by phi about z is e = (cos phi/2, 0, 0, sin phi/2).
    """
    found = np.zeros((len(motion["t"]), len(scene.bodies) - 1, 7))
    planar = scene.space == "planar"
    parts = ("x", "y", "phi") if planar else ("x", "y", "z", "e0", "e1", "e2", "e3")
    for k, body in enumerate(scene.bodies[1:]):
        columns = [motion[f"{body.name}.{part}"] for part in parts]
        if planar:
            x, y, phi = columns
            columns = [x, y, 0.0 * x, np.cos(phi / 2), 0.0 * x, 0.0 * x, np.sin(phi / 2)]
        found[:, k] = np.column_stack(columns)
    return found


def rotation(e: Array) -> Array:
    """Return the matrix A of Euler parameters e, with r + A s the place of a point s of the body.

    A = (e0^2 - |e_v|^2) I + 2 e_v e_v^T + 2 e0 skew(e_v)
    """
    e0, x, y, z = e
    v = np.array([x, y, z])
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    A: Array = (e0 * e0 - v @ v) * np.eye(3) + 2.0 * np.outer(v, v) + 2.0 * e0 * skew
    return A


class Bodies:
    """The places of all bodies at one time, the ground first."""

    def __init__(self, pose: Array) -> None:
        self.r = [np.zeros(3), *(row[:3] for row in pose)]
        self.A = [np.eye(3), *(rotation(row[3:]) for row in pose)]

    def point(self, body: int, s: Sequence[float]) -> Array:
        place: Array = self.r[body] + self.A[body] @ (*s, 0.0)[:3]
        return place

    def lines(self, outline: Outline) -> list[Array]:
        """Return the lines of an outline at this pose, as rows of x, y, z."""
        if outline.upright:
            at = self.point(outline.body, outline.at)
            return [at + np.array([(x, y, 0.0) for x, y in line]) for line in outline.lines]
        r, A = self.r[outline.body], self.A[outline.body]
        return [r + np.array([(x, y, 0.0) for x, y in line]) @ A.T for line in outline.lines]

    def stretched(self, stretch: Stretch) -> list[Array]:
        """Return the lines of a symbol between its two points."""
        start, end = (self.point(body, s) for body, s in zip(stretch.bodies, stretch.points, strict=True))
        length = float(np.linalg.norm(end - start))
        u = (end - start) / length if length > 0.0 else np.array([1.0, 0.0, 0.0])
        n = np.cross([0.0, 0.0, 1.0], u)
        across = n / max(float(np.linalg.norm(n)), 1e-300)
        return [
            np.array([start + u * (a * length + b) + across * w for a, b, w in line], float) for line in stretch.lines
        ]
