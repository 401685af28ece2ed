"""What coordinates, velocities, constraints and measures are: lengths, angles or plain numbers, and whose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from linkwork.expressions.graph import Expr

Kind: TypeAlias = Literal["length", "angle", "number"]
Space: TypeAlias = Literal["planar", "spatial"]

UNITS: dict[Kind, str] = {"length": "m", "angle": "rad", "number": "1"}
# Of a force that does work on a change of this kind.
FORCE_UNITS: dict[Kind, str] = {"length": "N", "angle": "N m", "number": "N m"}
FORCE_WORDS: dict[Kind, str] = {"length": "force", "angle": "torque", "number": "torque"}


@dataclass(frozen=True)
class Coordinate:
    """One of q: the body or joint it belongs to, which of its parts it is ("" if it has but one), its kind."""

    owner: str
    part: str
    kind: Kind

    @property
    def name(self) -> str:
        return f"{self.owner}.{self.part}" if self.part else self.owner

    @property
    def unit(self) -> str:
        return UNITS[self.kind]


@dataclass(frozen=True)
class CountedAngle(Coordinate):
    """One of q that follows from the others but for whole turns, which it counts: an angle of a joint in space."""


@dataclass(frozen=True)
class Velocity(Coordinate):
    """One of v; formulas and results call it and its rate by names of their own: crank.vx, crank.ax."""

    speed_part: str
    acceleration_part: str

    @property
    def speed(self) -> str:
        return self._named(self.speed_part)

    @property
    def acceleration(self) -> str:
        return self._named(self.acceleration_part)

    def _named(self, part: str) -> str:
        """Return the ending of a name where its owner has only one part: theta_d, theta_dd."""
        return f"{self.owner}.{part}" if self.part else f"{self.owner}{part}"


class Measured(NamedTuple):
    """What an element measures in its motion: a quantity such as "force", in one part or in several, with its unit."""

    quantity: str
    value: Expr
    unit: str
    part: str = ""

    def name(self, element: str) -> str:
        """Return the name that results use: force:spring, force:work.normal."""
        return f"{self.quantity}:{element}.{self.part}" if self.part else f"{self.quantity}:{element}"


def measured_load(kind: Kind, value: Expr, part: str = "") -> Measured:
    """Return the force that does work on a length, or the torque that does work on an angle."""
    return Measured(FORCE_WORDS[kind], value, FORCE_UNITS[kind], part)


def measured_vector(kind: Kind, vector: Iterable[Expr]) -> list[Measured]:
    """Return a force or torque in components x, y and, in space, z."""
    return [measured_load(kind, value, axis) for axis, value in zip("xyz", vector, strict=False)]


class Columns(NamedTuple):
    """What the columns of a table are: labels within their kind, names that no two of a result share, units."""

    labels: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
