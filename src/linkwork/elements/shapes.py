"""How a body looks, where a model says so: its mechanics do not depend on it. Coordinates are those of the body."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

from linkwork.elements.kinds import Space
from linkwork.elements.quantities import NOT_GIVEN, Angle, Direction, Length, Number, Place, Places, Quantity


@dataclass(frozen=True, eq=False)
class Rod:
    """A rod with round ends; without a width, as wide as links are drawn."""

    ends: Places
    width: Length | None = None


@dataclass(frozen=True, eq=False)
class Box:
    """A rectangle about its centre, turned against the body by an angle."""

    size: Place
    centre: Place = (0.0, 0.0)
    angle: Angle = 0.0


@dataclass(frozen=True, eq=False)
class Disc:
    """A disc about its centre."""

    radius: Length
    centre: Place = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Polygon:
    """A closed line through corners."""

    corners: Places


@dataclass(frozen=True, eq=False)
class Block:
    """A block about its centre with three sides, along `x`, across it, and along `z`."""

    size: Place
    centre: Place = (0.0, 0.0, 0.0)
    z: Direction = (0.0, 0.0, 1.0)
    x: Direction = (1.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Cylinder:
    """A cylinder about its centre along an axis."""

    radius: Length
    length: Length
    centre: Place = (0.0, 0.0, 0.0)
    axis: Direction = (0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Sphere:
    """A ball about its centre."""

    radius: Length
    centre: Place = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Mesh:
    """The triangles of an STL or OBJ file, times `scale`, its origin at `centre`, its axes z and x as given."""

    file: Annotated[str, Quantity("name")]
    scale: Number = 1.0
    centre: Place = (0.0, 0.0, 0.0)
    z: Direction = (0.0, 0.0, 1.0)
    x: Direction = (1.0, 0.0, 0.0)
    triangles: Any = field(default=(), metadata=NOT_GIVEN)  # n x 3 x 3, in the numbers of the file


Shape: TypeAlias = Rod | Box | Disc | Polygon | Block | Cylinder | Sphere | Mesh

# The names under which model files know the shapes; those of the plane lie in the x-y plane of a spatial body.
PLANAR_SHAPES: dict[str, type[Shape]] = {"rod": Rod, "box": Box, "disc": Disc, "polygon": Polygon}
SHAPES: dict[Space, dict[str, type[Shape]]] = {
    "planar": PLANAR_SHAPES,
    "spatial": {**PLANAR_SHAPES, "block": Block, "cylinder": Cylinder, "sphere": Sphere, "mesh": Mesh},
}
