"""The freedom of a joint as forces need it: its value, its rate, and what works on it."""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.elements.frames import Frame
from linkwork.elements.vectors import Vector
from linkwork.expressions.derivatives import directional, jacobian
from linkwork.expressions.graph import ZERO, Expr


class Freedom(NamedTuple):
    """f(q), f_dot = sum of row . v over the bodies; a force F along it is the generalized force F row on each."""

    value: Expr
    rate: Expr
    rows: list[Vector]


def measure_freedom(joint: Any, name: str, *frames: Frame) -> Freedom:
    """The freedom of this name, or the only one."""
    freedoms = joint.freedoms(*frames)
    value = freedoms[name or next(iter(freedoms))]
    moving = {x: dx for frame in frames for x, dx in frame.motion}
    rate = directional([value], moving)[0]
    rows = []
    for frame in frames:
        entries = jacobian([rate], frame.v)
        rows.append(Vector(entries.get((0, k), ZERO) for k in range(len(frame.v))))
    return Freedom(value, rate, rows)
