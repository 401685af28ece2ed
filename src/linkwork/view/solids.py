"""The drawing of a spatial mechanism: rods and plates between the points of bodies, solids for joints and shapes.

A cylinder is a hinge, a box a slider, a ball a spherical joint; thin rods are axes and rails. What stretches is drawn
by closed lines, which are the outlines of tubes, and by open ones, which are wires that wind about the axis. Sizes are
multiples of `unit`, as in the plane.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import cos, pi, sin, sqrt
from typing import Any, TypeAlias

import numpy as np

from linkwork.arrays import Array
from linkwork.scene import Mark, Point, Scene
from linkwork.view.outlines import Stretch, coil, hull, telescope, tube
from linkwork.view.poses import Bodies

Lines: TypeAlias = list[Array]

STRAIGHT: list[Point] = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)]
ROUND = 32  # corners of a circle
ROLLING = ("wheel", "rolling-sphere", "rolling-ellipsoid", "knife-edge")  # on planes
CONTACTS = ("line-contact", "circle-contact", "plane-contact", "sphere-contact")
RAIL = 3.5  # units by which a rail reaches beyond the ends of the motion
FLAT = 1e-6  # of their extent: points so near to a plane lie in it


@dataclass(frozen=True)
class Solid:
    """A cylinder (radius, length), a ball (radius), a box (three sides), a plate, a hull or a mesh (corners) of a body.

    Its middle, from which corners count, is at `at`; z is the axis of a cylinder and of the third side of a box, x that
    of the first side.
    """

    body: int
    role: str
    form: str
    at: Point = (0.0, 0.0, 0.0)
    size: tuple[float, ...] = ()
    z: Point = (0.0, 0.0, 1.0)
    x: Point = (1.0, 0.0, 0.0)
    corners: tuple[Point, ...] = ()
    name: str = ""
    surface: tuple[str, str] | None = None  # of a mesh: float32 corners and uint32 triangles, as base64


def limbs(scene: Scene, anchors: Sequence[Sequence[Point]], seen: Sequence[Bodies], unit: float) -> Iterator[Stretch]:
    """Draw bodies without a shape as rods from their points to the mass centre, massless rods, springs and
    telescopes.
    """
    index = {body.name: k for k, body in enumerate(scene.bodies)}
    for k, spots in enumerate(anchors[1:], start=1):
        if scene.bodies[k].shape is None and not _is_plate(spots):
            for spot in spots:
                if np.linalg.norm(spot) > 1e-9:
                    yield Stretch("limb", scene.bodies[k].name, (k, k), (spot, (0.0, 0.0, 0.0)), [STRAIGHT])
        elif (shape := scene.bodies[k].shape) is not None and shape["type"] == "rod":
            one, other = shape["ends"][:2]
            yield Stretch("limb", scene.bodies[k].name, (k, k), (_point(one), _point(other)), [STRAIGHT])
    for mark in (*scene.joints, *scene.forces, *scene.drivers):
        if len(mark.points) != 2:
            continue
        i, j = (index[name] for name in mark.bodies[:2])
        for role, lines, closed in _between(mark, min(lengths(mark, i, j, seen)), unit):
            yield Stretch(role, mark.name, (i, j), (mark.points[0], mark.points[1]), lines, closed)


def _between(mark: Mark, least: float, u: float) -> Iterator[tuple[str, list[list[Point]], bool]]:
    """Draw what is between the two points of a joint, a force or a driver."""
    if mark.type in ("distance", "revolute-spherical", "universal-spherical"):
        yield "rod", [tube(0.55 * u)], True
    elif mark.type == "driver":
        if mark.parts[0] == "distance":
            yield "actuator", telescope(1.3 * u, least), True
    elif mark.type == "spring-damper":
        if "spring" in mark.parts:
            yield "spring", [coil(u, 0.0, 1.9 * u)], False
        if "damper" in mark.parts:
            yield "damper", telescope(1.1 * u, least), True
        if mark.parts == ("actuator",):
            yield "actuator", telescope(1.3 * u, least), True


def lengths(mark: Mark, i: int, j: int, seen: Sequence[Bodies]) -> tuple[float, float]:
    """Return the least and the largest distance of the points of a mark along the motion."""
    found = [float(np.linalg.norm(b.point(j, mark.points[1]) - b.point(i, mark.points[0]))) for b in seen]
    return min(found), max(found)


def _is_plate(spots: Sequence[Point]) -> bool:
    """Whether points span an area: three or more that are not on one line."""
    if len(spots) < 3:
        return False
    spread, _ = _axes(spots)
    return bool(spread[1] > FLAT * spread[0])


def _is_base(scene: Scene, spots: Sequence[Point]) -> bool:
    """Whether points of the ground lie in a level plane."""
    return len({spot[2] for spot in spots}) == 1 and scene.gravity[:2] == (0.0, 0.0)


def _axes(spots: Sequence[Point]) -> tuple[Array, Array]:
    """Find how far points spread from their middle along three directions, the farthest first, and the directions."""
    own = np.array(spots) - np.mean(spots, axis=0)
    _, spread, axes = np.linalg.svd(np.vstack([own, np.zeros((3, 3))]))
    return spread, axes


def _plate(k: int, name: str, spots: Sequence[Point], u: float) -> Solid:
    """Find the hull of points; of those in a plane a plate with room for pins at its edge."""
    spread, axes = _axes(spots)
    corners = np.array(spots)
    if spread[2] <= FLAT * spread[0]:
        out = corners - corners.mean(axis=0)
        out *= 1.0 + 1.6 * u / np.linalg.norm(out, axis=1).max()
        flat = corners.mean(axis=0) + out
        corners = np.vstack([flat + 0.4 * u * axes[2], flat - 0.4 * u * axes[2]])
    return Solid(k, "plate" if k else "floor", "hull", corners=tuple(map(_point, corners)), name=name)


def solids(scene: Scene, anchors: Sequence[Sequence[Point]], seen: Sequence[Bodies], unit: float) -> list[Solid]:
    """Collect the shapes of bodies, plates through their points and the symbols of joints."""
    index = {body.name: k for k, body in enumerate(scene.bodies)}
    found = [solid for k, body in enumerate(scene.bodies) if body.shape for solid in _shape(k, body.name, body.shape)]
    for k, (body, spots) in enumerate(zip(scene.bodies, anchors, strict=True)):
        if body.shape is None and _is_plate(spots) and (k or _is_base(scene, spots)):
            found.append(_plate(k, body.name, spots, unit))
    for mark in scene.drivers:
        if mark.parts[0] == "distance" and len(mark.points) == 2:
            ends = zip(mark.bodies, mark.points, strict=True)
            found += [Solid(index[body], "joint", "ball", at, (1.5 * unit,)) for body, at in ends]
    for mark in scene.joints:
        if len(mark.points) == 2:
            found += _joint(mark, index[mark.bodies[0]], index[mark.bodies[1]], seen, unit)
    return [*found, *dict.fromkeys(_surfaces(scene, seen, unit, index))]


def _surfaces(scene: Scene, seen: Sequence[Bodies], u: float, index: Mapping[str, int]) -> Iterator[Solid]:
    """Draw what touches: planes as far as they are used, and balls."""
    planes: dict[tuple[str, Point, Point], list[Mark]] = {}
    for mark in (*scene.forces, *scene.joints):
        if mark.type in ("plane-contact", *ROLLING) and mark.axis is not None:
            planes.setdefault((mark.bodies[0], mark.points[0], _unit(mark.axis)), []).append(mark)
        ends = {"plane-contact": (1,), "sphere-contact": (0, 1)}.get(mark.type, ())
        for end, radius in zip(ends, mark.radii, strict=False):
            k = index[mark.bodies[end]]
            if radius > 0.0 and scene.bodies[k].shape is None:
                role = "shape" if k else "floor"
                yield Solid(k, role, "ball", mark.points[end], (radius,), name=scene.bodies[k].name)
    for (body, at, z), marks in planes.items():
        i, x = index[body], _across(z)
        axes = np.array([x, np.cross(z, x)])
        places = [(b, index[m.bodies[1]], m.points[1]) for b in seen for m in marks]
        used = [axes @ b.A[i].T @ (b.point(j, s) - b.point(i, at)) for b, j, s in places]
        least, most = np.min(used, axis=0), np.max(used, axis=0)
        sides = most - least + 2.0 * max(RAIL * u, *(r for m in marks for r in m.radii))
        middle = np.array(at) + 0.5 * (least + most) @ axes - 0.2 * u * np.array(z)
        size = float(sides[0]), float(sides[1]), 0.4 * u
        yield Solid(i, "floor", "box", _point(middle), size, z, x, name=marks[0].name)


def _shape(k: int, name: str, shape: Mapping[str, Any]) -> Iterator[Solid]:
    """Draw what the model says; the shapes of the plane lie in the x-y plane of the body."""
    match shape["type"]:
        case "box":
            (width, height, _), turn = shape["size"], shape["angle"]
            sides = (width, height, 0.25 * min(width, height))
            yield Solid(k, "shape", "box", _point(shape["centre"]), sides, x=(cos(turn), sin(turn), 0.0), name=name)
        case "disc":
            radius = shape["radius"]
            yield Solid(k, "shape", "cylinder", _point(shape["centre"]), (radius, 0.12 * radius), name=name)
        case "block":
            z, x = _unit(shape["z"]), np.array(shape["x"])
            across = _unit(_point(x - (x @ z) * np.array(z)))
            yield Solid(k, "shape", "box", _point(shape["centre"]), shape["size"], z, across, name=name)
        case "cylinder":
            own = _point(shape["centre"]), (shape["radius"], shape["length"]), _unit(shape["axis"])
            yield Solid(k, "shape", "cylinder", *own, name=name)
        case "sphere":
            yield Solid(k, "shape", "ball", _point(shape["centre"]), (shape["radius"],), name=name)
        case "mesh":
            surface = str(shape["vertices"]), str(shape["triangles"])
            yield Solid(k, "shape", "mesh", corners=tuple(map(_point, shape["corners"])), name=name, surface=surface)
        case "polygon":
            yield Solid(k, "shape", "plate", corners=tuple(_point(p) for p in shape["corners"]), name=name)


def _joint(mark: Mark, i: int, j: int, seen: Sequence[Bodies], u: float) -> Iterator[Solid]:
    at_i, at_j = mark.points
    z = _unit(mark.axis) if mark.axis is not None else (0.0, 0.0, 1.0)
    z_j = _unit(mark.axis_j) if mark.axis_j is not None else turned(seen[0], i, j, z)
    x_j = _across(z_j)

    def rail() -> Solid:
        """Draw a thin rod along the axis as far as the motion goes."""
        travel = [float(np.dot(b.A[i] @ z, b.point(j, at_j) - b.point(i, at_i))) for b in seen]
        least, most = min(travel) - RAIL * u, max(travel) + RAIL * u
        middle = tuple(p + 0.5 * (least + most) * c for p, c in zip(at_i, z, strict=True))
        return Solid(i, "axis", "cylinder", _point(middle), (0.45 * u, most - least), z)

    ball = Solid(j, "joint", "ball", at_j, (1.5 * u,))
    match mark.type:
        case "revolute":
            yield Solid(j, "axis", "cylinder", at_j, (0.55 * u, 7.0 * u), z_j)
            yield Solid(i, "joint", "cylinder", at_i, (1.5 * u, 4.4 * u), z)
        case "prismatic":
            yield rail()
            yield Solid(j, "joint", "box", at_j, (2.8 * u, 2.8 * u, 4.8 * u), z_j, x_j)
        case "cylindrical" | "screw":
            yield rail()
            yield Solid(j, "joint", "cylinder", at_j, (1.6 * u, 4.8 * u), z_j)
            if mark.type == "screw":
                yield Solid(j, "axis", "cylinder", at_j, (2.1 * u, 0.8 * u), z_j)
        case "universal":
            yield Solid(i, "joint", "cylinder", at_i, (0.8 * u, 5.4 * u), z)
            yield Solid(j, "joint", "cylinder", at_j, (0.8 * u, 5.4 * u), z_j)
        case "constant-velocity":
            yield ball
            yield Solid(i, "axis", "cylinder", at_i, (0.6 * u, 6.0 * u), z)
            yield Solid(j, "axis", "cylinder", at_j, (0.6 * u, 6.0 * u), z_j)
        case "planar" | "point-on-plane":
            yield Solid(i, "axis", "box", at_i, (9.0 * u, 9.0 * u, 0.4 * u), z, _across(z))
            yield (
                Solid(j, "joint", "box", at_j, (3.0 * u, 3.0 * u, 1.2 * u), z_j, x_j) if mark.type == "planar" else ball
            )
        case "point-on-line":
            yield rail()
            yield ball
        case "rigid":
            yield Solid(j, "weld", "box", at_j, (1.8 * u, 1.8 * u, 1.8 * u))
        case "revolute-spherical":
            yield Solid(i, "joint", "cylinder", at_i, (1.5 * u, 4.4 * u), z)
            yield ball
        case "gear" if len(mark.radii) == 2:
            yield Solid(i, "gear", "cylinder", at_i, (mark.radii[0], 1.6 * u), z)
            yield Solid(j, "gear", "cylinder", at_j, (mark.radii[1], 1.6 * u), z_j)
        case "wheel":
            r = mark.radii[0]
            yield Solid(j, "gear", "cylinder", at_j, (r, 0.12 * r), z_j)
            for across in (x_j, _point(np.cross(z_j, x_j))):  # spokes, so that it is seen to turn
                yield Solid(j, "axis", "box", at_j, (1.7 * r, 0.08 * r, 0.14 * r), z_j, across)
        case "rolling-sphere":
            r = mark.radii[0]
            yield Solid(j, "gear", "ball", at_j, (r,))
            for axis in np.eye(3):  # belts
                yield Solid(j, "axis", "cylinder", at_j, (1.01 * r, 0.04 * r), _point(axis))
        case "rolling-ellipsoid" if len(mark.radii) == 3:
            for k in range(3):
                yield Solid(j, "gear", "plate", at_j, corners=_ellipse(mark.radii, k))
        case "knife-edge":
            yield Solid(j, "joint", "box", at_j, (0.8 * u, 0.8 * u, 9.0 * u), z_j, x_j)
        case "rack-and-pinion":
            yield rail()
            yield Solid(j, "gear", "cylinder", at_j, (mark.radii[0], 1.6 * u), z_j)
        case _:  # balls at both ends of a rod
            yield ball
            if mark.type != "spherical":
                yield Solid(i, "joint", "ball", at_i, (1.5 * u,))


def rim(mark: Mark) -> list[Point]:
    """Find how far what rolls reaches from its centre, along the axes of its body."""
    if mark.type not in ROLLING or not mark.radii:
        return []
    half = mark.radii if mark.type == "rolling-ellipsoid" else (mark.radii[0],) * 3
    centre = np.array(mark.points[1])
    return [_point(centre + side * h * axis) for h, axis in zip(half, np.eye(3), strict=True) for side in (-1.0, 1.0)]


def _ellipse(half: Sequence[float], k: int) -> tuple[Point, ...]:
    """Find the ellipse in which an ellipsoid is cut across its axis k."""
    one, other = (np.eye(3)[i] * half[i] for i in range(3) if i != k)
    turns = (2.0 * pi * n / ROUND for n in range(ROUND))
    return tuple(_point(cos(t) * one + sin(t) * other) for t in turns)


def _point(values: Sequence[float] | Array) -> Point:
    x, y, z = (*map(float, values), 0.0)[:3]
    return x, y, z


def _unit(axis: Point) -> Point:
    length = sqrt(sum(c * c for c in axis)) or 1.0
    return _point([c / length for c in axis])


def turned(bodies: Bodies, i: int, j: int, z: Point) -> Point:
    """Return a direction of body i as body j has it."""
    return _point(bodies.A[j].T @ bodies.A[i] @ np.array(z))


def _across(z: Point) -> Point:
    """Return a direction perpendicular to z."""
    least = int(np.argmin(np.abs(z)))
    return _unit(_point(np.cross(z, np.eye(3)[least])))


def silhouette(solid: Solid, bodies: Bodies, right: Array, up: Array) -> tuple[Array, Lines]:
    """Return the outline of a solid as it is seen, corner by corner in space, and the edges inside it that are in
    sight.
    """
    r, A = bodies.r[solid.body], bodies.A[solid.body]
    at, eye = r + A @ np.array(solid.at), np.cross(right, up)
    turns = [2.0 * pi * k / ROUND for k in range(ROUND)]
    if solid.form == "ball":
        return np.array([at + solid.size[0] * (cos(t) * right + sin(t) * up) for t in turns]), []
    if solid.form == "plate":
        return at + np.array(solid.corners) @ A.T, []
    if solid.form in ("hull", "mesh"):
        return _hull(at + np.array(solid.corners) @ A.T, right, up), []
    z, x = A @ np.array(solid.z), A @ np.array(solid.x if solid.form == "box" else _across(solid.z))
    y = np.cross(z, x)
    if solid.form == "cylinder":
        radius, length = solid.size
        ring = np.array([radius * (cos(t) * x + sin(t) * y) for t in turns])
        ends = [at + ring + side * 0.5 * length * z for side in (-1.0, 1.0)]
        cap = ends[int(z @ eye > 0.0)]
        return _hull(np.vstack(ends), right, up), [np.vstack([cap, cap[:1]])]
    sides = [0.5 * size * axis for size, axis in zip(solid.size, (x, y, z), strict=True)]
    sides = [side if side @ eye > 0.0 else -side for side in sides]  # towards the eye
    corners = np.array(
        [at + a * sides[0] + b * sides[1] + c * sides[2] for a in (1, -1) for b in (1, -1) for c in (1, -1)]
    )
    near = at + sides[0] + sides[1] + sides[2]
    return _hull(corners, right, up), [np.array([near, near - 2.0 * side]) for side in sides]


def _hull(points: Array, right: Array, up: Array) -> Array:
    flat = {(float(p @ right), float(p @ up)): p for p in points}
    return np.array([flat[spot] for spot in hull(list(flat))])
