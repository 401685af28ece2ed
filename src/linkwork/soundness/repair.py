"""Faults of models that can be repaired where a user asks for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.elements.bodies import SpatialBody
from linkwork.expressions.evaluation import evaluate, ordered
from linkwork.expressions.graph import as_expr, symbol
from linkwork.model import Model
from linkwork.notes import Note
from linkwork.tolerances import AGREEMENT

REPAIRS = ("inertia",)


class Inertia(NamedTuple):
    """xx, yy, zz, xy, yz, zx about the mass centre, in words how they were repaired, and on what they had depended."""

    entries: list[float]
    note: Note
    parameters: set[str]


def repair_inertias(model: Model) -> dict[str, Inertia]:
    """Find the nearest possible inertia of each body whose inertia no mass distribution has.

    J = V diag(p_2 + p_3, p_3 + p_1, p_1 + p_2) V^T with the principal axes V of the inertia given and second moments
    p >= 0 for which the difference of the two matrices is least.
    """
    from scipy.optimize import nnls

    values, found = {symbol(name): number for name, number in model.parameters.items()}, dict[str, Inertia]()
    for body in model.bodies:
        if not isinstance(body, SpatialBody):
            continue
        rows = [as_expr(x) for row in body.J for x in row]
        moments, V = np.linalg.eigh(np.array(evaluate(rows, values), dtype=float).reshape(3, 3))
        p, _ = nnls(np.ones((3, 3)) - np.eye(3), moments)
        nearest = np.sum(p) - p
        if np.max(np.abs(nearest - moments)) > AGREEMENT * np.max(np.abs(moments)):
            J = V @ np.diag(nearest) @ V.T
            entries = [float(J[place]) for place in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))]
            before, after = (sorted(own.tolist()) for own in (moments, nearest))
            used = {str(node.value) for node in ordered(rows) if node.op == "symbol"}
            note = Note("repaired-inertia", body=body.name, before=before, after=after)
            found[body.name] = Inertia(entries, note, used)
    return found
