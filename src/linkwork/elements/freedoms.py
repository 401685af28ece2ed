"""The freedom of a joint as forces need it: its value, its rate, and what works on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkwork.elements.drivers import FREEDOMS
from linkwork.elements.frames import Frame, SpatialFrame
from linkwork.elements.kinds import Kind
from linkwork.elements.pairs import Joint
from linkwork.elements.spatial import near
from linkwork.elements.vectors import Vector
from linkwork.expressions.derivatives import directional, jacobian
from linkwork.expressions.graph import ZERO, Expr, symbol


class Freedom(NamedTuple):
    """f(q), f_dot = sum of row . v over the bodies; a force F along it is the generalized force F row on each."""

    value: Expr
    rate: Expr
    rows: list[Vector]
    kind: Kind


def carried(joint: Joint, name: str) -> Expr:
    """Return an angle of a joint in space as it is carried along with the coordinates: it says how many turns there
    were.
    """
    return symbol(f"{joint.name}.{name} carried")


def counted(joint: Joint, name: str, value: Expr, frames: Sequence[Frame]) -> Expr:
    """Return the value of a freedom, of an angle in space with its turns, which what is carried counts."""
    counts = FREEDOMS[name] == "angle" and isinstance(frames[0], SpatialFrame)
    return near(value, carried(joint, name)) if counts else value


def measure_freedom(joint: Joint, name: str, *frames: Frame) -> Freedom:
    """Measure the freedom of this name, or the only one."""
    freedoms = joint.freedoms(*frames)
    name = name or next(iter(freedoms))
    moving = {x: dx for frame in frames for x, dx in frame.motion}
    rate = directional([freedoms[name]], moving)[0]
    rows = []
    for frame in frames:
        entries = jacobian([rate], frame.v)
        rows.append(Vector(entries.get((0, k), ZERO) for k in range(len(frame.v))))
    return Freedom(counted(joint, name, freedoms[name], frames), rate, rows, FREEDOMS[name])
