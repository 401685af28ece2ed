"""Euler parameters e = (cos(angle/2), n sin(angle/2)) from the ways in which people state an orientation."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.elements.pairs import unit
from linkwork.elements.vectors import Components, Scalar, Vector, norm
from linkwork.expressions.graph import ONE, ZERO, Expr, as_expr, cos, less, select, sin

Parameters = tuple[Expr, Expr, Expr, Expr]
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def turn_about(axis: Components, angle: Scalar) -> Parameters:
    half = 0.5 * as_expr(angle)
    x, y, z = Vector(unit(axis)) * sin(half)
    return cos(half), x, y, z


def product(a: Sequence[Expr], b: Sequence[Expr]) -> Parameters:
    """Return the rotation a followed by b about the axes that a has turned."""
    a0, b0, a3, b3 = a[0], b[0], Vector(a[1:]), Vector(b[1:])
    x, y, z = a0 * b3 + b0 * a3 + a3.cross(b3)
    return a0 * b0 - a3.dot(b3), x, y, z


def turn_in_sequence(axes: str, angles: Components) -> Parameters:
    """Return turns about axes of the body one after the other: zxz are Euler's angles, xyz those of Cardan."""
    e: Parameters = (ONE, ZERO, ZERO, ZERO)
    for axis, angle in zip(axes, angles, strict=True):
        e = product(e, turn_about(AXES[axis], angle))
    return e


def of_matrix(A: Sequence[Vector]) -> Parameters:
    """Convert a rotation matrix given by its rows: take the longest column of 4 e e^T, which is linear in A.

    [shepperd1978]
    """
    (a, b, c), (d, f, g), (h, k, m) = A
    columns = [
        Vector((1 + a + f + m, k - g, c - h, d - b)),
        Vector((k - g, 1 + a - f - m, b + d, c + h)),
        Vector((c - h, b + d, 1 - a + f - m, g + k)),
        Vector((d - b, c + h, g + k, 1 - a - f + m)),
    ]
    best, size = columns[0], columns[0][0]
    for k_column, column in enumerate(columns[1:], start=1):
        longer = less(size, column[k_column])
        best = Vector(select(longer, x, y) for x, y in zip(column, best, strict=True))
        size = select(longer, column[k_column], size)
    e0, e1, e2, e3 = best / norm(best)
    return e0, e1, e2, e3


def along(z: Vector, x: Vector) -> Parameters:
    """Return the z axis of the body along z, its x axis towards x."""
    z = Vector(unit(z.components))
    x = Vector(unit((x - x.dot(z) * z).components))
    y = z.cross(x)
    return of_matrix([Vector((x[n], y[n], z[n])) for n in range(3)])
