"""What a drawing of a mechanism must know, as plain data made from the Model alone.

A trajectory keeps its scene, so that a result can be drawn without the model. All vectors have three components, in
the axes of their body, points counting from its mass centre; those of planar mechanisms have z = 0.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from linkwork.elements.actuators import Push
from linkwork.elements.bodies import Ground, PlanarBody, SpatialBody
from linkwork.elements.drivers import Driver
from linkwork.elements.forces import FORCES
from linkwork.elements.joints import JOINTS
from linkwork.elements.kinds import Space
from linkwork.elements.shapes import SHAPES, Mesh, Shape
from linkwork.elements.vectors import Scalar
from linkwork.expressions.evaluation import evaluate, ordered
from linkwork.expressions.graph import as_expr, symbol
from linkwork.model import Model

Point: TypeAlias = tuple[float, float, float]


def types_in(space: Space) -> dict[type, str]:
    """Return classes by the names that model files give them, or those of what they are drawn as."""
    tables: tuple[Mapping[str, type[Any]], ...] = (JOINTS[space], FORCES[space], SHAPES[space])
    return {cls: getattr(cls, "drawn_as", "") or name for table in tables for name, cls in table.items()}


@dataclass(frozen=True)
class Figure:
    """A body: its named points and, if the model gives one, its shape as {"type": "disc", "radius": 0.2, ...}."""

    name: str
    points: Mapping[str, Point] = field(default_factory=dict)
    shape: Mapping[str, Any] | None = None
    colour: str | None = None


@dataclass(frozen=True)
class Mark:
    """A joint, a force or a driver: what it is, which bodies it concerns and where.

    `points` holds one point for each body, or none; `axis` is fixed in the first body (the direction of a force: see
    `parts`; of a line or plane that is touched its normal), `axis_j` in the second, where it is given; `radii` are
    those of discs and gears, the half axes of an ellipsoid, or the length of a rod.
    `parts` says of a spring-damper what it is made of (spring, damper, actuator), of a driver which freedom it drives,
    of a force whether it follows its body.
    """

    name: str
    type: str
    bodies: tuple[str, ...]
    points: tuple[Point, ...] = ()
    axis: Point | None = None
    axis_j: Point | None = None
    radii: tuple[float, ...] = ()
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scene:
    """Bodies, the ground first, and all that joins, drives and loads them."""

    space: str
    gravity: Point
    bodies: tuple[Figure, ...]
    joints: tuple[Mark, ...] = ()
    forces: tuple[Mark, ...] = ()
    drivers: tuple[Mark, ...] = ()
    window: tuple[Point, Point] | None = None  # the corners of what is to be seen

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Scene:
        """Return the scene of `as_dict`, after a way through JSON too."""
        marks = {kind: tuple(_mark(entry) for entry in data[kind]) for kind in ("joints", "forces", "drivers")}
        bodies = tuple(
            Figure(str(b["name"]), {str(k): _point(p) for k, p in b["points"].items()}, b["shape"], b.get("colour"))
            for b in data["bodies"]
        )
        window = None if (seen := data.get("window")) is None else (_point(seen[0]), _point(seen[1]))
        return Scene(str(data["space"]), _point(data["gravity"]), bodies, **marks, window=window)


def scene(model: Model) -> Scene:
    """Describe a mechanism as drawings need it, with the values of its parameters."""
    seen = _Seen(model)
    units = [actuator.unit for actuator in model.actuators]
    pushing: tuple[Driver | Push, ...] = (*model.drivers, *(unit for unit in units if isinstance(unit, Push)))
    driving = {replace(own, name=""): own for own in map(seen.drive, reversed(pushing))}  # one for driver and actuator
    forces = (*model.forces, *(unit for unit in units if not isinstance(unit, Push)))
    return Scene(
        model.space,
        seen.vector(model.gravity),
        tuple(map(seen.figure, (model.ground, *model.bodies))),
        tuple(map(seen.symbol, model.joints)),
        tuple(map(seen.symbol, forces)),
        tuple(reversed(driving.values())),
        None if model.window is None else (seen.vector(model.window[0]), seen.vector(model.window[1])),
    )


class _Seen:
    """Elements of a mechanism as figures and marks, in numbers."""

    def __init__(self, model: Model) -> None:
        self.model, self.types = model, types_in(model.space)
        self.values = {symbol(name): value for name, value in model.parameters.items()}

    def value(self, x: Scalar) -> float:
        return float(evaluate([as_expr(x)], self.values)[0])

    def is_constant(self, x: Scalar) -> bool:
        return all(node in self.values for node in ordered([as_expr(x)]) if node.op == "symbol")

    def vector(self, components: Sequence[Scalar]) -> Point:
        x, y, z = (*map(self.value, components), 0.0)[:3]
        return x, y, z

    def place(self, body: Ground | PlanarBody | SpatialBody, s: Sequence[Scalar]) -> Point:
        """Return a point from the mass centre, which poses are of."""
        if isinstance(body, Ground):
            return self.vector(s)
        x, y, z = (a - b for a, b in zip(self.vector(s), self.vector(body.mass_centre), strict=True))
        return x, y, z

    def figure(self, body: Ground | PlanarBody | SpatialBody) -> Figure:
        shape = self.model.shapes.get(body.name)
        points = {name: self.place(body, s) for name, s in body.points.items()}
        return Figure(
            body.name, points, None if shape is None else self.look(body, shape), self.model.colours.get(body.name)
        )

    def look(self, body: Ground | PlanarBody | SpatialBody, shape: Shape) -> dict[str, Any]:
        """Return fields of a shape: numbers, vectors, or rows of points."""
        found: dict[str, Any] = {"type": self.types[type(shape)]}
        if isinstance(shape, Mesh):
            return {**found, **self.surface(body, shape)}
        for f in fields(shape):
            value = getattr(shape, f.name)
            if value is None or not isinstance(value, tuple):
                found[f.name] = None if value is None else self.value(value)
            elif isinstance(value[0], tuple):
                found[f.name] = [self.place(body, row) for row in value]
            else:
                found[f.name] = self.place(body, value) if f.name == "centre" else self.vector(value)
        return found

    def surface(self, body: Ground | PlanarBody | SpatialBody, mesh: Mesh) -> dict[str, Any]:
        """Return the corners of a mesh in the axes of its body, its triangles, and which corners lie farthest out."""
        z, x = (np.array(self.vector(axis)) for axis in (mesh.z, mesh.x))
        z /= np.linalg.norm(z)
        x -= (x @ z) * z
        x /= np.linalg.norm(x)
        A = np.column_stack([x, np.cross(z, x), z])
        own = np.asarray(mesh.triangles, dtype=float).reshape(-1, 3)
        corners, triangles = np.unique(own.astype(np.float32), axis=0, return_inverse=True)
        placed = self.value(mesh.scale) * corners.astype(float) @ A.T + np.array(self.place(body, mesh.centre))
        ways = np.array([*product((-1.0, -0.5, 0.0, 0.5, 1.0), repeat=3)])  # of sight: an outline for films and boxes
        far = placed[np.unique(np.argmax(placed @ ways.T, axis=0))] if len(placed) else placed
        return {
            "corners": far.tolist(),
            "vertices": b64encode(placed.astype("<f4").tobytes()).decode("ascii"),
            "triangles": b64encode(triangles.astype("<u4").tobytes()).decode("ascii"),
        }

    def mark(self, element: Any, type_name: str, parts: tuple[str, ...] = (), name: str = "") -> Mark:
        own = {f.name: getattr(element, f.name) for f in fields(element)}
        points = [own[s] for s in ("s_i", "s_j", "s") if s in own]
        axis = element.drawn_axis
        return Mark(
            name or element.name,
            type_name,
            tuple(body.name for body in element.bodies),
            tuple(self.place(body, s) for s, body in zip(points, element.bodies, strict=False)),
            self.vector(axis) if axis is not None and all(map(self.is_constant, axis)) else None,
            self.vector(own["axis_j"]) if own.get("axis_j") is not None else None,
            tuple(map(self.value, element.drawn_sizes)),
            parts or element.drawn_parts(self),
        )

    def symbol(self, element: Any) -> Mark:
        return self.mark(element, self.types.get(type(element)) or element.drawn_as or type(element).__name__.lower())

    def drive(self, driver: Driver | Push) -> Mark:
        freedom = driver.freedom or driver.joint.freedom_names[0]
        return self.mark(driver.joint, "driver", (freedom, driver.joint.name), driver.name)


def _point(data: Sequence[float]) -> Point:
    x, y, z = (float(c) for c in data)
    return x, y, z


def _mark(data: Mapping[str, Any]) -> Mark:
    return Mark(
        str(data["name"]),
        str(data["type"]),
        tuple(map(str, data["bodies"])),
        tuple(_point(p) for p in data["points"]),
        None if data["axis"] is None else _point(data["axis"]),
        None if data.get("axis_j") is None else _point(data["axis_j"]),
        tuple(map(float, data["radii"])),
        tuple(map(str, data["parts"])),
    )
