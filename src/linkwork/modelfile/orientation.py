"""Orientations of bodies in a file, stated in one of several ways."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork import units
from linkwork.document import Keys
from linkwork.elements import orientation
from linkwork.elements.vectors import Components, Vector
from linkwork.tolerances import TYPED

if TYPE_CHECKING:
    from linkwork.modelfile.translation import Translation


def read_orientation(file: Translation, value: Any, place: Keys) -> Components:
    """Return Euler parameters of an orientation stated in one of several ways."""
    if isinstance(value, list):
        return file.numbers(value, units.NUMBER_KIND, file.names, place)
    if "axis" in value:
        axis = file.numbers(value["axis"], units.NUMBER_KIND, file.names, (*place, "axis"))
        if not any(file.value(x) for x in axis):
            file.fail((*place, "axis"), "the axis has length zero", "zero-axis", suggestion="write [0, 0, 1]")
            return 1.0, 0.0, 0.0, 0.0
        angle = file.read(value["angle"], units.ANGLE, file.names, (*place, "angle"))
        return orientation.turn_about(axis, angle)
    if "sequence" in value:
        sequence = value["sequence"].lower()
        if not re.fullmatch("[xyz]{3}", sequence) or sequence[0] == sequence[1] or sequence[1] == sequence[2]:
            rule = "three of x, y, z, no two neighbours the same, such as zxz or xyz"
            file.fail((*place, "sequence"), f"'{sequence}' is not a sequence of axes", "bad-sequence", rule=rule)
            return 1.0, 0.0, 0.0, 0.0
        angles = file.numbers(value["angles"], units.ANGLE, file.names, (*place, "angles"))
        return orientation.turn_in_sequence(sequence, angles)
    if "matrix" in value:
        at = (*place, "matrix")
        rows = [file.numbers(row, units.NUMBER_KIND, file.names, (*at, k)) for k, row in enumerate(value["matrix"])]
        A = np.array([[file.value(x) for x in row] for row in rows])
        with np.errstate(all="ignore"):
            off = float(np.max(np.abs(A @ A.T - np.eye(3))))
        if not off <= TYPED:
            rule = "its rows are perpendicular and of length one"
            file.fail(at, f"A A^T differs from the unit matrix by {off:.3g}", "not-a-rotation", rule=rule)
            return 1.0, 0.0, 0.0, 0.0
        if np.linalg.det(A) < 0.0:
            file.fail(at, "the axes are left-handed: det A = -1", "left-handed", rule="det A = +1")
            return 1.0, 0.0, 0.0, 0.0
        return orientation.of_matrix([Vector(row) for row in rows])
    known = len(file.errors)
    (_, A_), (_, B), (_, C) = (
        file.point(reference, (*place, key))
        for reference, key in ((value["z"][0], "z"), (value["z"][1], "z"), (value["x"], "x"))
    )
    if len(file.errors) > known:
        return 1.0, 0.0, 0.0, 0.0
    z, x = Vector(B) - Vector(A_), Vector(C) - Vector(A_)
    with np.errstate(all="ignore"):
        normal = np.cross([file.value(a) for a in z], [file.value(a) for a in x])
    if not np.all(np.isfinite(normal)):
        file.fail(place, "the three points are so far apart that products of their distances overflow", "not-finite")
        return 1.0, 0.0, 0.0, 0.0
    if not np.any(normal):
        message = "the three points lie on one line and give no orientation"
        file.fail(place, message, "parallel-axes", rule="z runs from the first to the second, x towards the third")
        return 1.0, 0.0, 0.0, 0.0
    return orientation.along(z, x)
