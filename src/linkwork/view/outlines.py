"""Outlines of which drawings are made: circles, boxes, arrows, hulls, springs and dashpots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import atan2, ceil, cos, pi, sin

from linkwork.scene import Point

Spot = tuple[float, float]
Line = list[Spot]

COILS = 7


@dataclass(frozen=True)
class Stretch:
    """Lines between two points of bodies; (a, b, w) lies at P_i + u (a |d| + b) + perp(u) w, u = d/|d|."""

    role: str
    name: str
    bodies: tuple[int, int]
    points: tuple[Point, Point]
    lines: list[list[Point]]
    closed: bool = False


@dataclass(frozen=True)
class Outline:
    """Lines of one role, fixed in a body (by number; 0 is the ground).

    An upright one moves with the point `at` and does not turn; its lines are relative to that point.
    """

    body: int
    role: str
    lines: list[Line]
    closed: bool = False
    name: str = ""
    at: Spot = (0.0, 0.0)
    upright: bool = False


def circle(spot: Spot, radius: float, corners: int) -> Line:
    turns = (2.0 * pi * k / corners for k in range(corners))
    return [(spot[0] + radius * cos(t), spot[1] + radius * sin(t)) for t in turns]


def box(middle: Spot, along: Spot, half_length: float, half_width: float) -> Line:
    (x, y), (c, s) = middle, along
    corners = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    return [
        (x + a * half_length * c - b * half_width * s, y + a * half_length * s + b * half_width * c) for a, b in corners
    ]


def arrow(tail: Spot, tip: Spot, unit: float) -> list[Line]:
    """Draw a shaft and the two strokes of its head."""
    turn = atan2(tip[1] - tail[1], tip[0] - tail[0])
    barbs = [(tip[0] + 1.25 * unit * cos(turn + a), tip[1] + 1.25 * unit * sin(turn + a)) for a in (2.6, -2.6)]
    return [[tail, tip], [barbs[0], tip, barbs[1]]]


def hull(spots: Sequence[Spot]) -> Line:
    """Find the convex hull, counterclockwise, by Andrew's monotone chain."""
    ordered = sorted(set(spots))
    if len(ordered) < 3:
        return ordered
    scale = max(abs(c) for spot in ordered for c in spot) or 1.0

    def half(points: Iterable[Spot]) -> Line:
        chain: Line = []
        for p in points:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], p) <= 1e-9 * scale * scale:
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return [*half(ordered), *half(ordered[::-1])]


def _turn(a: Spot, b: Spot, c: Spot) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def rounded(corners: Sequence[Spot], radius: float) -> Line:
    """Draw the outline at this distance around a convex polygon, a line or a point."""
    if len(corners) == 1:
        return circle(corners[0], radius, 40)
    directions = [atan2(q[1] - p[1], q[0] - p[0]) for p, q in pairwise([*corners, corners[0]])]
    line: Line = []
    for k, (x, y) in enumerate(corners):
        start = directions[k - 1] - pi / 2
        turn = (directions[k] - directions[k - 1]) % (2.0 * pi)
        pieces = max(1, ceil(turn / (pi / 12)))
        line += [
            (x + radius * cos(start + turn * n / pieces), y + radius * sin(start + turn * n / pieces))
            for n in range(pieces + 1)
        ]
    return line


def coil(unit: float, beside: float, radius: float | None = None) -> list[Point]:
    """Draw a spring between fractions of its length, on one side if a damper is on the other."""
    first, last, w = 0.16, 0.84, 1.1 * unit if radius is None else radius
    line: list[Point] = [(0.0, 0.0, 0.0), (0.06, 0.0, beside), (first, 0.0, beside)]
    n = 2 * COILS
    line += [(first + (last - first) * (k + 0.5) / n, 0.0, beside + (w if k % 2 == 0 else -w)) for k in range(n)]
    return [*line, (last, 0.0, beside), (0.94, 0.0, beside), (1.0, 0.0, 0.0)]


def dashpot(unit: float, least: float, most: float, beside: float) -> list[list[Point]]:
    """Draw a cup fixed to the first point and a piston fixed to the second, which stays in it between these
    distances.
    """
    foot, rod, w = 0.2 * least, 0.65 * least, 0.95 * unit
    cup = max(0.62 * least, most - rod + 0.15 * least)
    return [
        [(0.0, 0.0, 0.0), (0.0, 0.1 * least, beside), (0.0, foot, beside)],
        [(0.0, at, beside + side) for at, side in ((cup, w), (foot, w), (foot, -w), (cup, -w))],
        [(1.0, 0.0, 0.0), (1.0, -0.1 * least, beside), (1.0, -rod, beside)],
        [(1.0, -rod, beside + 0.75 * w), (1.0, -rod, beside - 0.75 * w)],
    ]


def tube(radius: float, first: tuple[float, float] = (0.0, 0.0), last: tuple[float, float] = (1.0, 0.0)) -> list[Point]:
    """Draw the outline of a tube about the line, between two places (a, b) of it."""
    return [(*first, radius), (*last, radius), (*last, -radius), (*first, -radius)]


def telescope(radius: float, least: float) -> list[list[Point]]:
    """Draw a rod at the second point that runs in a cylinder at the first, however far the points move apart."""
    return [tube(0.55 * radius, (0.0, 0.3 * least)), tube(radius, (0.0, 0.0), (0.0, 0.62 * least))]
