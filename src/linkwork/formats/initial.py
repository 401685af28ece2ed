"""Start values of a spatial mechanism of which some coordinates are given: the others follow from the joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.arrays import Array
from linkwork.elements.bodies import Ground
from linkwork.elements.frames import SPATIAL_GROUND
from linkwork.elements.vectors import Vector
from linkwork.errors import ModelError
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import ZERO, Expr, as_expr, symbol
from linkwork.formats.deck import Given
from linkwork.linalg.newton import newton, solve_least_squares
from linkwork.model import Model
from linkwork.sequences.entries import dense
from linkwork.tolerances import AGREEMENT, ROUNDING


def complete_start(model: Model, given: Sequence[Given]) -> Model:
    """Start the model with the given coordinates and rates, otherwise as near as possible to its estimate.

    Psi(0, q) = 0,  e . e = 1,  q_k = value,    Psi_q qd + Psi_t = 0,  e . e_dot = 0,  qd_k = rate
    by Newton steps of least norm over (x, y, z, e0 .. e3) of all bodies; omega = 2 E e_dot.
    """
    names = [body.name for body in model.bodies]
    coordinates = [symbol(c.name) for body in model.bodies for c in body.coordinates]
    frames: dict[str, Any] = {
        body.name: body.frame(coordinates[7 * k : 7 * k + 7], [ZERO] * 6) for k, body in enumerate(model.bodies)
    }
    t = symbol("t")
    rows: list[Expr] = []
    for joint in model.joining:
        rows += joint.Psi(t, *(SPATIAL_GROUND if isinstance(b, Ground) else frames[b.name] for b in joint.bodies))
    e = [Vector(coordinates[7 * k + 3 : 7 * k + 7]) for k in range(len(names))]
    rows += [0.5 * (x.dot(x) - 1.0) for x in e]
    rows += [coordinates[7 * names.index(x.body) + x.coordinate - 1] - x.value - x.rate * t for x in given]
    slopes = jacobian(rows, [*coordinates, t])

    def at(q: Array) -> tuple[Array, Array, Array]:
        """Evaluate the residuals of all equations, their derivatives by q, and by t."""
        found = evaluate([*rows, *slopes.values()], {**dict(zip(coordinates, q.tolist(), strict=True)), t: 0.0})
        J = dense(slopes, found[len(rows) :], (len(rows), len(coordinates) + 1))
        return np.array(found[: len(rows)], dtype=float), J[:, :-1], J[:, -1]

    q = np.array(evaluate([as_expr(x) for body in model.bodies for x in body.start_q], {}), dtype=float)
    (q, *_), _ = newton(at, np.add, q, AGREEMENT)
    q[np.abs(q) < ROUNDING] = 0.0
    left, J, rate = at(q)
    _check(left, given, "positions")
    qd = solve_least_squares(J, -rate)
    qd[np.abs(qd) < ROUNDING] = 0.0
    _check(J @ qd + rate, given, "velocities")
    start: dict[str, float] = {}
    speeds: dict[str, float] = {}
    for k, body in enumerate(model.bodies):
        own, own_rate = q[7 * k : 7 * k + 7], qd[7 * k : 7 * k + 7]
        e0, e1, e2, e3 = own[3:]
        B = np.array([[-e1, -e2, -e3], [e0, -e3, e2], [e3, e0, -e1], [-e2, e1, e0]])
        start |= {c.name: float(x) for c, x in zip(body.coordinates, own, strict=True)}
        moving = [*own_rate[:3], *(2.0 * B.T @ own_rate[3:])]
        speeds |= {c.name: float(x) for c, x in zip(body.velocities, moving, strict=True)}
    return model.with_start(start, speeds)


def _check(left: Array, given: Sequence[Given], what: str) -> None:
    if np.all(np.isfinite(left)) and np.max(np.abs(left), initial=0.0) <= AGREEMENT:
        return
    row = given[0].row
    off = float(np.max(np.abs(left)))
    message = f"the initial {what} do not fit the joints: a gap of {off:.3g} is left"
    hint = "correct them, or the estimates in bodies.txt"
    raise ModelError(message, "start-far-off", file=row.file, line=row.line, suggestion=hint)
