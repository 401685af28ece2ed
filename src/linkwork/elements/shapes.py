"""How a body looks, where a model says so: its mechanics do not depend on it. Coordinates are those of the body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from linkwork.elements.vectors import Components, Scalar


@dataclass(frozen=True, eq=False)
class Rod:
    """A rod with round ends; without a width, as wide as links are drawn."""

    ends: tuple[Components, ...]
    width: Scalar | None = None


@dataclass(frozen=True, eq=False)
class Box:
    """A rectangle about its centre, turned against the body by an angle."""

    size: Components
    centre: Components = (0.0, 0.0)
    angle: Scalar = 0.0


@dataclass(frozen=True, eq=False)
class Disc:
    """A disc about its centre."""

    radius: Scalar
    centre: Components = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Polygon:
    """A closed line through corners."""

    corners: tuple[Components, ...]


Shape: TypeAlias = Rod | Box | Disc | Polygon

# the names under which model files know the shapes
SHAPES: dict[str, type[Shape]] = {"rod": Rod, "box": Box, "disc": Disc, "polygon": Polygon}
