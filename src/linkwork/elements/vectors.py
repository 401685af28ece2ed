"""Small vectors of expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from linkwork.expressions.graph import ZERO, Expr, Number, as_expr, sqrt

Scalar: TypeAlias = Expr | float
Components: TypeAlias = tuple[Scalar, ...]

# Metres, or metres per second: below, what joins two points, or slides, has no direction, and a law that divides by it
# gives no force. It keeps second derivatives of such laws finite; no mechanism has parts of the size of atoms.
SHORTEST = 1e-12


class Vector:
    """A column of two or three expressions."""

    __slots__ = ("components",)

    def __init__(self, components: Iterable[Number]) -> None:
        self.components = tuple(as_expr(x) for x in components)

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.components)

    def __getitem__(self, k: int) -> Expr:
        return self.components[k]

    def __len__(self) -> int:
        return len(self.components)

    def __add__(self, other: Vector) -> Vector:
        return Vector(a + b for a, b in zip(self, other, strict=True))

    def __sub__(self, other: Vector) -> Vector:
        return Vector(a - b for a, b in zip(self, other, strict=True))

    def __neg__(self) -> Vector:
        return Vector(-a for a in self)

    def __mul__(self, factor: Number) -> Vector:
        return Vector(a * factor for a in self)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Number) -> Vector:
        return Vector(a / divisor for a in self)

    def dot(self, other: Vector) -> Expr:
        return sum((a * b for a, b in zip(self, other, strict=True)), ZERO)

    def perp(self) -> Vector:
        """Return the planar vector turned by +90 degrees."""
        x, y = self
        return Vector((-y, x))

    def cross(self, other: Vector) -> Vector:
        """Return the product of two spatial vectors."""
        (a1, a2, a3), (b1, b2, b3) = self, other
        return Vector((a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1))


def norm(a: Vector) -> Expr:
    return sqrt(a.dot(a))
