"""How a body looks, where a model says so: its mechanics do not depend on it. Coordinates are those of the body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from linkwork.elements.quantities import Angle, Length, Place, Places


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


Shape: TypeAlias = Rod | Box | Disc | Polygon

# the names under which model files know the shapes
SHAPES: dict[str, type[Shape]] = {"rod": Rod, "box": Box, "disc": Disc, "polygon": Polygon}
