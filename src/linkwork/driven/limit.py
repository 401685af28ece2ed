"""Where a driven mechanism locks: the position at which its path turns back in time.

The constraints of a mechanism whose drivers take all freedoms determine its velocities, Psi_q v = -Psi_t, as long as
Psi_q has full column rank. Where it loses rank, two assembly modes meet. Either the path passes through, as in a
parallelogram whose links are in line, or it turns back in time: no position exists beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.equations import TIME
from linkwork.equations.place import Place
from linkwork.equations.varied import vary
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic
from linkwork.expressions.graph import Expr
from linkwork.linalg.newton import MAX_ITERATIONS, newton, solve_least_squares
from linkwork.linalg.rank import svd
from linkwork.tolerances import AGREEMENT, DIFFERENCE

Array = NDArray[np.float64]


class Limit(NamedTuple):
    """The position at which the path turns back in time, and how much each row takes part."""

    t: float
    q: Array
    involvement: Array


def find_limit(near: Place) -> Limit | None:
    """Find the end of the path shortly after a place on it, if it is one.

    Near its end the path is followed along the direction w of the smallest singular value instead of time,

        Psi(t, q) = 0,    w . dx = s        for q moved by dx from the place,

    where it is smooth, and ends where dt/ds = 0; secant iteration on s. All is measured by the scales of the place.
    """
    rows, columns = near.row_scale, near.v_scale
    at_rest = replace(near, v=np.zeros_like(near.v))

    def position(x: Array) -> Place:
        return replace(at_rest.moved(x[:-1] * columns), t=float(x[-1]))

    def linearize(x: Array) -> tuple[Array, Array, Array]:
        at = position(x)
        return at.Psi / rows, at.Psi_q * columns / rows[:, None], at.Psi_dot / rows  # Psi_dot = Psi_t at rest

    x = np.append(np.zeros_like(near.v), near.t)
    w = svd(linearize(x)[1])[2][-1]
    speed = near.v / columns
    w = w if w @ speed >= 0 else -w
    along = np.append(np.zeros(len(rows)), 1.0)

    def follow(s: float, x: Array) -> tuple[Array, Array]:
        """Return the point x = (dx, t) of the path at s, from a neighbour, and dx/ds; NaN where there is none."""

        def border(x: Array) -> tuple[Array, Array]:
            Psi, J, Psi_t = linearize(x)
            K = np.block([[J, Psi_t[:, None]], [w[None, :], np.zeros((1, 1))]])
            return np.append(Psi, w @ x[:-1] - s), K

        (x, _, K), left = newton(border, np.add, x, AGREEMENT)
        return x, solve_least_squares(K, along) if left <= AGREEMENT else np.full_like(x, np.nan)

    s, ds = 0.0, DIFFERENCE
    x, x_s = follow(s, x)
    for _ in range(MAX_ITERATIONS):
        s, rate = s + ds, x_s[-1]
        x, x_s = follow(s, x + ds * x_s)
        if not np.isfinite(x_s[-1]) or x_s[-1] == rate:
            return None
        ds = ds * x_s[-1] / (rate - x_s[-1])
        if abs(ds) > 1.0:
            return None
        if abs(ds) <= AGREEMENT:
            t = float(x[-1])
            if (near.t - t) * np.abs(speed).max() > AGREEMENT:
                return None
            at = position(x)
            return Limit(t, at.q, at.rows.left_singular_vectors[:, len(w) - 1])
    return None


def vary_limit(at: Place, parameters: Sequence[Expr], times: Array) -> tuple[float, Array]:
    """Return by how much drivers go beyond a limit at these later times, as a part of how far they go, and how that
    varies.

    The path turns back where a combination mu of the rows has no slope by q, mu Psi_q = 0: its positions satisfy
    mu Psi(t, q) = 0 up to here, and g(t) = mu Psi(t, q) at the q of the limit is what later times are beyond.
    """
    e, n = at.equations, len(times)
    J = at.Psi_q * at.v_scale / at.row_scale[:, None]
    mu = svd(J)[0][:, len(at.v) - 1] / at.row_scale
    g = mu @ np.array(
        [np.broadcast_to(x, (n,)) for x in evaluate(e.Psi, {**at.values, TIME: times}, numpy_arithmetic())]
    )
    later = np.where(times >= at.t, g * np.sign(mu @ replace(at, v=np.zeros_like(at.v)).Psi_dot), -np.inf)
    k = int(np.argmax(later))
    rates = vary(
        e,
        "Psi",
        lambda: e.Psi,
        {**at.values, TIME: times[k]},
        dict(zip(parameters, np.eye(len(parameters)), strict=True)),
    )
    return float(later[k] / np.ptp(g)), np.asarray(np.sign(g[k]) * (mu @ rates) / np.ptp(g))
