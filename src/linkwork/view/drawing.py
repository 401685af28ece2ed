"""The drawing of a mechanism: lines and outlines fixed in its bodies, and symbols that stretch between two points.

It is made once from a scene and its poses and serves the viewer, films and pictures alike; colours and line widths by
role stand in STYLES. Lengths of symbols are multiples of `unit`, which follows from the size of the mechanism. The
picture of a planar mechanism looks against z; spatial ones are made of rods and solids (solids.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import cos, dist, hypot, pi, sin
from typing import Any, NamedTuple

import numpy as np

from linkwork.arrays import Array
from linkwork.scene import Mark, Point, Scene
from linkwork.trajectory import Trajectory
from linkwork.view.outlines import Line, Outline, Spot, Stretch, arrow, box, circle, coil, dashpot, hull, rounded
from linkwork.view.poses import Bodies, poses, refuse_damage, scene_of
from linkwork.view.solids import CONTACTS, Solid, lengths, limbs, rim, solids, turned


class Style(NamedTuple):
    """How a role is drawn: colours are body, ink, paper, drive or load; the order counts from the back."""

    order: int
    stroke: str | None
    width: float = 0.0  # of the stroke, in units
    fill: str | None = None
    opacity: float = 1.0  # of the fill


STYLES = {
    "floor": Style(0, "ink", 0.13, "ink", 0.1),
    "hatch": Style(0, "ink", 0.13),
    "track": Style(1, "ink", 0.2),
    "link": Style(2, "body", 0.3, "body", 0.26),
    "limb": Style(2, "body", 1.2),
    "shape": Style(2, "body", 0.3, "body", 0.35),
    "plate": Style(2, "body", 0.3, "body", 0.35),
    "gear": Style(3, "body", 0.3, "body", 0.3),
    "axis": Style(4, "ink", 0.2, "ink", 0.45),
    "joint": Style(6, "body", 0.3, "paper", 1.0),
    "rail": Style(3, "body", 0.3),
    "barrel": Style(2, "body", 0.3, "body", 0.26),
    "block": Style(4, "body", 0.3, "body", 0.55),
    "disc": Style(2, "body", 0.3, "body", 0.2),
    "mark": Style(3, "body", 0.2),
    "slot": Style(3, "body", 0.2, "paper", 0.9),
    "rod": Style(5, "ink", 0.22, "paper", 1.0),
    "spring": Style(6, "ink", 0.24),
    "damper": Style(6, "ink", 0.24, "paper", 1.0),
    "actuator": Style(6, "drive", 0.26, "paper", 1.0),
    "support": Style(7, "ink", 0.22, "paper", 1.0),
    "weld": Style(8, "ink", 0.2, "ink", 1.0),
    "pin": Style(9, "ink", 0.24, "paper", 1.0),
    "point": Style(9, "body", 0.2, "body", 1.0),
    "drive": Style(10, "drive", 0.28),
    "load": Style(10, "load", 0.3),
    "centre": Style(11, "ink", 0.14, "paper", 1.0),
}
UNIT = 0.0155  # of the largest extent of the mechanism: about the radius of a pin
LEAST_LINK = 0.16  # of the usual length of a link: the most a unit may be
WIDTH = 1.25  # half the width of a link, in units
BLOCK = (2.3, 1.35)  # half the sides of a sliding block
SLOT = 0.78  # half the width of a slot
SAMPLES = 200  # poses looked at for ranges of motion
TRAVEL = 2.9  # units a track reaches beyond the ends of the motion
SAME = 1e-9  # metres, and of the distance from the origin: two points that are one
ON_AXIS = 1e-6  # of the travel: how far points may be beside the axis of a cylinder
SIDE = 1.35  # units by which spring and damper beside each other are moved out

CROSS = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


@dataclass(frozen=True)
class Drawing:
    """A mechanism ready to be drawn at any pose. `box` encloses all of its motion."""

    unit: float
    box: tuple[Point, Point]
    outlines: list[Outline] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)
    solids: list[Solid] = field(default_factory=list)


def drawing(scene: Scene, motion_poses: Array) -> Drawing:
    """Draw a mechanism for these poses, which tell how far things slide."""
    step = max(1, len(motion_poses) // SAMPLES)
    return _Draughtsman(scene, [Bodies(pose) for pose in motion_poses[::step]]).draw()


def picture_of(motion: Trajectory) -> tuple[Scene, Array, Drawing]:
    """Return what a trajectory looks like: its scene, the poses of its bodies and the drawing."""
    own = scene_of(motion)
    found = poses(own, motion)
    with refuse_damage(motion):
        return own, found, drawing(own, found)


def _span(spots: Sequence[Point]) -> float:
    """Measure the distance of two points far from each other: from one to the farthest, and on from that."""
    far, length = spots[0], 0.0
    for _ in range(3):
        near = far
        far = max(spots, key=lambda spot: dist(spot, near))
        length = max(length, dist(far, near))
    return length


class _Draughtsman:
    """One scene on the way to its drawing."""

    def __init__(self, scene: Scene, seen: list[Bodies]) -> None:
        self.scene = scene
        self.seen = seen
        self.index = {body.name: k for k, body in enumerate(scene.bodies)}
        # the points through which the outline of each body goes
        self.anchors: list[list[Point]] = [list(dict.fromkeys(body.points.values())) for body in scene.bodies]
        for mark in (*scene.joints, *scene.forces, *scene.drivers):
            for body, point in zip(mark.bodies, mark.points, strict=False):
                self._anchor(self.index[body], point)
        for k in range(1, len(self.anchors)):
            if not self.anchors[k]:
                self.anchors[k].append((0.0, 0.0, 0.0))
        self.lengths = [length for spots in self.anchors[1:] if (length := _span(spots)) > 0.0]
        self.low, self.high = self._box()
        span = min(float(np.max(self.high - self.low)), 2.0 * self._own_size())
        extent = span if span > SAME else 1.0
        usual = float(np.median(self.lengths)) if self.lengths else extent
        self.unit = min(UNIT * extent, LEAST_LINK * usual)
        self.outlines: list[Outline] = []
        self.stretches: list[Stretch] = []
        self.own_look: set[int] = set()  # bodies that joints have given a form

    def _anchor(self, body: int, spot: Sequence[float]) -> None:
        x, y, z = (*map(float, spot), 0.0)[:3]
        if all(dist((x, y, z), other) > SAME * (1.0 + hypot(x, y, z)) for other in self.anchors[body]):
            self.anchors[body].append((x, y, z))

    def _box(self) -> tuple[Array, Array]:
        radii = {self.index[m.bodies[k]]: r for m in (*self.scene.joints, *self.scene.forces) for k, r in _discs(m)}
        spots = []
        reached = [[*anchors, *self._reach(k)] for k, anchors in enumerate(self.anchors)]
        for bodies in self.seen:
            for k, anchors in enumerate(reached):
                places = [bodies.point(k, spot) for spot in anchors]
                r = radii.get(k, 0.0)
                spots += [p + d for p in places for d in ((r, r, 0.0), (-r, -r, 0.0))] if r else places
        if not spots:
            return np.full(3, -1.0), np.full(3, 1.0)
        return np.min(spots, axis=0), np.max(spots, axis=0)

    def _own_size(self) -> float:
        """Return the largest extent of the moving bodies at one time, which does not grow as they travel."""
        moving = [
            (k, s) for k, spots in enumerate(self.anchors) if k for s in (*spots, (0.0, 0.0, 0.0), *self._reach(k))
        ]
        return max(
            (float(np.ptp([b.point(k, s) for k, s in moving], axis=0).max()) for b in self.seen if moving), default=0.0
        )

    def _reach(self, k: int) -> list[Point]:
        """Measure how far a body is drawn beyond its points: to its mass centre if it has but one, to its shape, its
        rim.
        """
        if (shape := self.scene.bodies[k].shape) is None:
            rims = [spot for m in self.scene.joints if self.index[m.bodies[-1]] == k for spot in rim(m)]
            return [*rims, *([(0.0, 0.0, 0.0)] if k > 0 and len(self.anchors[k]) == 1 else [])]
        if shape["type"] in ("rod", "polygon", "mesh"):
            return [_three(spot) for spot in shape["ends" if shape["type"] == "rod" else "corners"]]
        x, y, z = shape["centre"]
        sides = (*shape.get("size", ()), shape.get("length", 0.0))
        r = hypot(shape.get("radius", 0.0), *(0.5 * side for side in sides))
        return [(x + a * r, y + b * r, z) for a, b in CROSS]

    def add(self, body: int, role: str, lines: list[Line], closed: bool = False, name: str = "") -> None:
        self.outlines.append(Outline(body, role, lines, closed, name))

    def draw(self) -> Drawing:
        margin = 3.2 * self.unit
        box = self.scene.window or (_three(self.low - margin), _three(self.high + margin))
        if self.scene.space != "planar":
            rods = list(limbs(self.scene, self.anchors, self.seen, self.unit))
            return Drawing(self.unit, box, [], rods, solids(self.scene, self.anchors, self.seen, self.unit))
        for joint in self.scene.joints:
            self._joint(joint)
        for force in self.scene.forces:
            self._force(force)
        self._surfaces()
        for driver in self.scene.drivers:
            self._driver(driver)
        for k, figure in enumerate(self.scene.bodies):
            if figure.shape is not None:
                self._shape(k, figure.name, figure.shape)
            elif k > 0:
                self._link(k, figure.name)
            used = {(round(x, 12), round(y, 12)) for x, y in self._joined(k)}
            free = [s for s in _spots(figure.points.values()) if (round(s[0], 12), round(s[1], 12)) not in used]
            if k > 0:
                for spot in free:
                    self.add(k, "point", [circle(spot, 0.45 * self.unit, 16)], True)
                self._centre(k)
        self.outlines.sort(key=lambda outline: STYLES[outline.role].order)
        return Drawing(self.unit, box, self.outlines, self.stretches)

    def _joined(self, body: int) -> Iterator[Spot]:
        for mark in self.scene.joints:
            for name, point in zip(mark.bodies, mark.points, strict=False):
                if self.index[name] == body:
                    yield point[0], point[1]

    # bodies

    def _shape(self, k: int, name: str, shape: Mapping[str, Any]) -> None:
        """Draw what the model says a body looks like."""
        match shape["type"]:
            case "rod":
                width = 0.5 * shape["width"] if shape["width"] is not None else WIDTH * self.unit
                self.add(k, "link", [rounded(_spots(shape["ends"]), width)], True, name)
            case "box":
                (x, y, _), (width, height, _) = shape["centre"], shape["size"]
                turn = cos(shape["angle"]), sin(shape["angle"])
                self.add(k, "link", [box((x, y), turn, width / 2, height / 2)], True, name)
            case "disc":
                x, y, _ = shape["centre"]
                self._disc(k, (x, y), shape["radius"], name)
                self._arms(k, (x, y), shape["radius"])
            case "polygon":
                self.add(k, "link", [_spots(shape["corners"])], True, name)

    def _link(self, k: int, name: str) -> None:
        """Draw a plate or rod through all points of a body; a lone point is joined to the mass centre."""
        spots = _spots(self.anchors[k])
        if len(spots) == 1 and k not in self.own_look:
            reach = hypot(*spots[0])
            if reach > SAME:
                self.add(k, "disc", [circle((0.0, 0.0), min(2.6 * self.unit, 0.5 * reach), 40)], True, name)
                spots.append((0.0, 0.0))
            else:
                self._disc(k, (0.0, 0.0), 2.6 * self.unit, name)
                return
        if len(spots) > 1:
            self.add(k, "link", [rounded(hull(spots), WIDTH * self.unit)], True, name)

    def _disc(self, k: int, spot: Spot, radius: float, name: str) -> None:
        """Draw a disc with two strokes that show how it turns."""
        x, y = spot
        self.add(k, "disc", [circle(spot, radius, 64)], True, name)
        inner = 0.28 * radius
        self.add(k, "mark", [[(x + inner * c, y + inner * s), (x + radius * c, y + radius * s)] for c, s in CROSS])

    def _arms(self, k: int, spot: Spot, radius: float) -> None:
        """Return lines from a disc to joints of its body that are beside it, as of a ball on a string."""
        for joint in dict.fromkeys(self._joined(k)):
            if (far := dist(spot, joint)) > radius:
                edge = tuple(a + (b - a) * radius / far for a, b in zip(spot, joint, strict=True))
                self.add(k, "rail", [[(edge[0], edge[1]), joint]])

    def _centre(self, k: int) -> None:
        """Draw the mass centre: a circle with two quarters of it filled in."""
        r = 0.62 * self.unit
        self.add(k, "centre", [circle((0.0, 0.0), r, 24)], True)
        self.add(k, "centre", [[(-r, 0.0), (r, 0.0)], [(0.0, -r), (0.0, r)]])

    # joints

    def _joint(self, mark: Mark) -> None:
        match mark.type:
            case "prismatic":
                self._prismatic(mark)
            case "point-on-line":
                self._slot(mark)
            case "rolling":
                self._rolling(mark)
            case "gear":
                self._gear(mark)
            case "skate":
                self._skate(mark)
            case "velocity-constraint" | "coupling":
                pass
            case "distance":
                w = 0.5 * self.unit
                self._stretch("rod", mark, [[(0.0, 0.0, w), (1.0, 0.0, w), (1.0, 0.0, -w), (0.0, 0.0, -w)]], True)
                for end in (0, 1):
                    self._pin(mark, end)
            case "rigid":
                s = 0.8 * self.unit
                self.add(self.index[mark.bodies[1]], "weld", [box(_spot(mark.points[1]), (1.0, 0.0), s, s)], True)
            case _ if len(mark.points) == 2:
                self._pin(mark, 1)

    def _pin(self, mark: Mark, end: int) -> None:
        """Draw a pin, with a support under it where it is fixed to the ground."""
        for side in (0, 1):
            if self.index[mark.bodies[side]] == 0 and (mark.type != "distance" or side == end):
                self._support(_spot(mark.points[side]))
        k = self.index[mark.bodies[end]]
        self.add(k, "pin", [circle(_spot(mark.points[end]), 0.72 * self.unit, 28)], True, mark.name)

    def _support(self, spot: Spot, down: float = -1.0) -> None:
        """Draw the triangle of a fixed pivot on hatched ground, or below a ceiling."""
        (x, y), u = spot, self.unit
        if any(o.role == "support" and o.lines[0][0] == (x, y) for o in self.outlines):
            return
        foot, half = y + down * 2.7 * u, 1.75 * u
        self.add(0, "support", [[(x, y), (x - half, foot), (x + half, foot)]], True)
        self._ground_line((x - 2.6 * u, foot), (x + 2.6 * u, foot), (0.0, down))

    def _ground_line(self, p: Spot, q: Spot, n: Spot) -> None:
        """Draw a line with hatching on the side of n."""
        length = hypot(q[0] - p[0], q[1] - p[1])
        (c, s), u = ((q[0] - p[0]) / length, (q[1] - p[1]) / length), self.unit
        self.add(0, "track", [[p, q]])
        count = min(max(2, round(length / (0.95 * u))), 120)
        strokes = []
        for k in range(count):
            at = (k + 0.75) * length / count
            x, y = p[0] + c * at, p[1] + s * at
            strokes.append([(x, y), (x + 0.85 * u * (n[0] - c), y + 0.85 * u * (n[1] - s))])
        self.add(0, "hatch", strokes)

    def _guide(self, ends: Sequence[Spot], axis: Spot, below: float) -> None:
        """Draw ground at this distance below a line, or beside it where it is upright."""
        n = (axis[1], -axis[0]) if axis[0] > 0.0 or (axis[0] == 0.0 and axis[1] > 0.0) else (-axis[1], axis[0])
        p, q = ((x + n[0] * below, y + n[1] * below) for x, y in ends)
        self._ground_line(p, q, n)

    def _travel(self, mark: Mark) -> tuple[Spot, float, float]:
        """Find the unit axis in body i and the least and largest place of the point of body j along it."""
        assert mark.axis is not None
        i, j = (self.index[name] for name in mark.bodies[:2])
        axis = np.array(mark.axis) / max(float(np.linalg.norm(mark.axis)), 1e-300)
        places = [float((b.A[i] @ axis) @ (b.point(j, mark.points[1]) - b.point(i, mark.points[0]))) for b in self.seen]
        return (float(axis[0]), float(axis[1])), min(places), max(places)

    def _prismatic(self, mark: Mark) -> None:
        """Draw a block on j that slides on a hatched line of the ground, or on body i; or a cylinder with
        its piston.
        """
        u, (axis, least, most) = self.unit, self._travel(mark)
        i, j = (self.index[name] for name in mark.bodies)
        turn = _spot(turned(self.seen[0], i, j, (*axis, 0.0)))
        if i and j and self._cylinder(mark, axis, turn, least, most):
            return
        _, _, _, ends = self._way(mark, TRAVEL * u)
        if i == 0:
            self._guide(ends, axis, BLOCK[1] * u)
        else:
            self.add(i, "rail", [ends])
        if self.scene.bodies[j].shape is None:
            block = box(_spot(mark.points[1]), turn, BLOCK[0] * u, BLOCK[1] * u)
            self.add(j, "block", [block], True, self.scene.bodies[j].name)
        self.own_look.add(j)

    def _way(self, mark: Mark, beyond: float) -> tuple[int, int, Spot, list[Spot]]:
        """Return both bodies, the axis, and the ends of the way along it, to which a moving body i reaches."""
        i, j = (self.index[name] for name in mark.bodies)
        axis, least, most = self._travel(mark)
        x, y = _spot(mark.points[0])
        ends = [(x + axis[0] * d, y + axis[1] * d) for d in (least - beyond, most + beyond)]
        for spot in ends if i else ():
            self._anchor(i, spot)
        return i, j, axis, ends

    def _cylinder(self, mark: Mark, axis: Spot, turn: Spot, least: float, most: float) -> bool:
        """Draw a cylinder about the axis of i and a piston rod of j, if both bodies have all their points on
        the axis.
        """
        u, (i, j) = self.unit, (self.index[name] for name in mark.bodies)
        pair = ((i, axis, mark.points[0]), (j, turn, mark.points[1]))
        for k, (c, s), origin in pair:
            beside = (abs(c * (y - origin[1]) - s * (x - origin[0])) for x, y, _ in self.anchors[k])
            if max(beside, default=0.0) > ON_AXIS * (1.0 + abs(most)):
                return False
        rod = barrel = least - 2.2 * u  # the rod reaches back as far as the cylinder reaches out
        if not most - rod < barrel - u:
            return False
        (x, y), w = _spot(mark.points[0]), 1.15 * u
        middle, half = (x + axis[0] * (barrel + u) / 2, y + axis[1] * (barrel + u) / 2), (barrel - u) / 2
        self.add(i, "barrel", [box(middle, axis, half, w)], True, self.scene.bodies[i].name)
        self.add(i, "rail", [[(x, y), (x + axis[0] * u, y + axis[1] * u)]])
        (x, y), (c, s) = _spot(mark.points[1]), turn
        piston = x - c * rod, y - s * rod
        middle = (x - c * rod / 2, y - s * rod / 2)
        self.add(j, "block", [box(middle, turn, rod / 2, 0.32 * u), box(piston, turn, 0.4 * u, 0.9 * w)], True,
                 self.scene.bodies[j].name)  # fmt: skip
        self.own_look |= {i, j}
        return True

    def _slot(self, mark: Mark) -> None:
        """Draw a slot of body i in which a pin of body j runs."""
        u = self.unit
        i, j, axis, ends = self._way(mark, 0.9 * u)
        if i == 0:
            self._guide(ends, axis, 1.3 * u)
            self.add(j, "pin", [circle(_spot(mark.points[1]), 1.2 * u, 32)], True)
        else:
            self.add(i, "slot", [rounded(ends, SLOT * u)], True)
        self.add(j, "pin", [circle(_spot(mark.points[1]), 0.62 * u, 28)], True, mark.name)

    def _rolling(self, mark: Mark) -> None:
        """Draw a disc of body j on a line of body i."""
        radius = mark.radii[0]
        i, j, axis, ends = self._way(mark, 1.3 * radius)
        if i == 0:
            self._ground_line(ends[0], ends[1], (axis[1], -axis[0]))  # the disc is on the other side
        self._disc(j, _spot(mark.points[1]), radius, self.scene.bodies[j].name)
        self.own_look.add(j)

    def _skate(self, mark: Mark) -> None:
        """Draw a blade of body j, a thin lens along its axis."""
        assert mark.axis_j is not None
        size, u, (x, y) = hypot(*mark.axis_j), self.unit, _spot(mark.points[1])
        c, s = mark.axis_j[0] / size, mark.axis_j[1] / size
        half = [(3.6 * u * k / 8, 0.55 * u * (1.0 - (k / 8) ** 2)) for k in range(-8, 9)]
        lens = [*half, *((a, -b) for a, b in reversed(half[1:-1]))]
        blade = [(x + c * a - s * b, y + s * a + c * b) for a, b in lens]
        self.add(self.index[mark.bodies[1]], "weld", [blade], True, mark.name)

    def _gear(self, mark: Mark) -> None:
        """Return two pitch circles with teeth, about the points by which the gears are carried."""
        for k, radius in _discs(mark):
            body = self.index[mark.bodies[k]]
            carried = [m for m in self.scene.joints if m.points and {mark.bodies[k], mark.bodies[2]} <= {*m.bodies}]
            spot = _spot(carried[0].points[carried[0].bodies.index(mark.bodies[k])]) if carried else (0.0, 0.0)
            self._disc(body, spot, radius, mark.bodies[k])
            teeth, depth = max(24, round(2.0 * pi * radius / (1.6 * self.unit))), 0.5 * self.unit
            around = (2.0 * pi * n / teeth for n in range(teeth))
            x, y = spot
            self.add(body, "mark", [
                [(x + (radius - depth) * cos(t), y + (radius - depth) * sin(t)),
                 (x + (radius + depth) * cos(t), y + (radius + depth) * sin(t))] for t in around
            ])  # fmt: skip
            self.own_look.add(body)

    # forces and drivers

    def _stretch(self, role: str, mark: Mark, lines: list[list[Point]], closed: bool = False) -> None:
        i, j = (self.index[name] for name in mark.bodies[:2])
        self.stretches.append(Stretch(role, mark.name, (i, j), (mark.points[0], mark.points[1]), lines, closed))

    def _force(self, mark: Mark) -> None:
        match mark.type:
            case "spring-damper":
                beside = SIDE * self.unit if {"spring", "damper"} <= {*mark.parts} else 0.0
                if "spring" in mark.parts:
                    self._stretch("spring", mark, [coil(self.unit, beside)])
                if "damper" in mark.parts:
                    self._stretch("damper", mark, dashpot(self.unit, *self._lengths(mark), -beside))
                if mark.parts == ("actuator",):
                    self._stretch("actuator", mark, dashpot(self.unit, *self._lengths(mark), 0.0))
                for end in (0, 1):
                    self._spring_end(mark, end)
            case "rotational-spring-damper":
                at = self._between(mark.bodies[0], mark.bodies[1])
                turns = (2.5 * 2.0 * pi * n / 90 for n in range(91))
                x, y = at[1]
                spiral = [(x + (1.1 + 0.13 * t) * self.unit * cos(t), y + (1.1 + 0.13 * t) * self.unit * sin(t))
                          for t in turns]  # fmt: skip
                self.add(at[0], "spring", [spiral], name=mark.name)
            case "torque":
                self._turning_arrow(*self._between(mark.bodies[0], self.scene.bodies[0].name), "load", mark.name)
            case "point-force" if mark.axis is not None and any(mark.axis):
                size, length = hypot(*mark.axis), 5.5 * self.unit
                direction = mark.axis[0] / size, mark.axis[1] / size
                tail = (-direction[0] * length, -direction[1] * length)
                upright, spot = "follows" not in mark.parts, _spot(mark.points[0])
                lines = arrow(tail, (0.0, 0.0), self.unit)
                if not upright:
                    lines = [[(x + spot[0], y + spot[1]) for x, y in line] for line in lines]
                body = self.index[mark.bodies[0]]
                self.outlines.append(Outline(body, "load", lines, False, mark.name, spot, upright))

    def _surfaces(self) -> None:
        """Draw what touches: lines as far as they are used, hatched where they are those of the ground, and circles."""
        lines: dict[tuple[str, Point, Point], list[float]] = {}
        discs = set[tuple[int, Spot, float]]()
        for mark in self.scene.forces:
            if mark.type == "line-contact" and mark.axis is not None:
                along = replace(mark, axis=(mark.axis[1], -mark.axis[0], 0.0))
                beyond = max(1.3 * mark.radii[0], TRAVEL * self.unit)
                _, least, most = self._travel(along)
                lines.setdefault((mark.bodies[0], mark.points[0], mark.axis), []).extend(
                    (least - beyond, most + beyond)
                )
            if mark.type in CONTACTS:
                discs |= {(self.index[mark.bodies[k]], _spot(mark.points[k]), r) for k, r in _discs(mark) if r > 0.0}
        for (body, (x, y, _), (a, b, _)), reach in lines.items():
            k, size = self.index[body], hypot(a, b) or 1.0
            p, q = ((x + b / size * d, y - a / size * d) for d in (min(reach), max(reach)))
            if k == 0:
                self._ground_line(p, q, (-a / size, -b / size))
            else:
                self.add(k, "rail", [[p, q]])
        for k, spot, radius in sorted(discs):
            if k == 0 or self.scene.bodies[k].shape is not None:
                self.add(k, "track" if k == 0 else "mark", [circle(spot, radius, 64)], True)
            else:
                self._disc(k, spot, radius, self.scene.bodies[k].name)
                self.own_look.add(k)

    def _lengths(self, mark: Mark) -> tuple[float, float]:
        i, j = (self.index[name] for name in mark.bodies[:2])
        return lengths(mark, i, j, self.seen)

    def _spring_end(self, mark: Mark, end: int) -> None:
        k, spot = self.index[mark.bodies[end]], _spot(mark.points[end])
        if k == 0:
            first = self.seen[0]
            other = first.point(self.index[mark.bodies[1 - end]], mark.points[1 - end])
            self._support(spot, 1.0 if other[1] < spot[1] else -1.0)  # away from the spring
        self.add(k, "pin", [circle(spot, 0.5 * self.unit, 24)], True)

    def _between(self, one: str, other: str) -> tuple[int, Spot]:
        """Return body and point of the joint between two bodies, else the origin of the first."""
        for mark in self.scene.joints:
            if mark.points and {one, other} == {*mark.bodies}:
                end = mark.bodies.index(one)
                return self.index[one], _spot(mark.points[end])
        return self.index[one], (0.0, 0.0)

    def _turning_arrow(self, body: int, spot: Spot, role: str, name: str) -> None:
        (x, y), r, turn = spot, 2.5 * self.unit, 1.5 * pi
        path = [(r * cos(t), r * sin(t)) for t in (-0.25 * pi + turn * n / 40 for n in range(41))]
        head = arrow(path[-4], path[-1], self.unit)[1]
        self.outlines.append(Outline(body, role, [path, head], False, name, (x, y), True))

    def _sliding_arrow(self, mark: Mark) -> None:
        """Return an arrow with two heads beside the driven point along the axis, which lies still where the ground has
        it.
        """
        (c, s), least, most = self._travel(mark)
        u, (i, j) = self.unit, (self.index[name] for name in mark.bodies[:2])
        origin, body = mark.points[1], j
        if i and any(m.name == mark.parts[1] and m.type == "prismatic" for m in self.scene.joints):
            c, s = _spot(turned(self.seen[0], i, j, (c, s, 0.0)))
        elif i:
            x, y, _ = mark.points[0]
            origin, body = (x + c * (least + most) / 2, y + s * (least + most) / 2, 0.0), i
        x, y = -2.3 * u * s, 2.3 * u * c
        lines = [line for way in (2.6 * u, -2.6 * u) for line in arrow((x, y), (x + way * c, y + way * s), u)]
        if i:
            lines = [[(x + origin[0], y + origin[1]) for x, y in line] for line in lines]
        self.outlines.append(Outline(body, "drive", lines, False, mark.name, _spot(origin), upright=i == 0))

    def _driver(self, mark: Mark) -> None:
        freedom = mark.parts[0]
        if freedom == "angle":
            at = (self.index[mark.bodies[1]], _spot(mark.points[1])) if mark.points else (0, (0.0, 0.0))
            self._turning_arrow(*at, "drive", mark.name)
        elif freedom == "displacement":
            self._sliding_arrow(mark)
        elif freedom == "distance" and len(mark.points) == 2:
            self._stretch("actuator", mark, dashpot(self.unit, *self._lengths(mark), 0.0))


def _discs(mark: Mark) -> list[tuple[int, float]]:
    """Return the discs of a joint or a contact: place of the body among its bodies, and radius."""
    if mark.type in ("rolling", "line-contact", "plane-contact"):
        return [(1, mark.radii[0])]
    round_ = mark.type in ("gear", "circle-contact", "sphere-contact") and len(mark.radii) == 2
    return [(0, mark.radii[0]), (1, mark.radii[1])] if round_ else []


def _spot(point: Point) -> Spot:
    return point[0], point[1]


def _spots(points: Iterable[Sequence[float]]) -> list[Spot]:
    return list(dict.fromkeys((float(p[0]), float(p[1])) for p in points))


def _three(values: Array) -> Point:
    return float(values[0]), float(values[1]), float(values[2])
