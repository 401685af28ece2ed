"""Singular positions on the path of a driven mechanism: passed ones, and those where the motion ends.

The constraints of a mechanism whose drivers take all freedoms determine its velocities, Psi_q v = -Psi_t, as long as
Psi_q has full column rank. Where it loses rank, two assembly modes meet. Either the path passes through, as in a
parallelogram whose links are in line, or it turns back in time: no position exists beyond, the mechanism locks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.equations import Row
from linkwork.linalg.newton import INF, MAX_ITERATIONS, iterate, newton, solve_least_squares
from linkwork.linalg.rank import svd
from linkwork.notes import Note
from linkwork.tolerances import AGREEMENT, DIFFERENCE, NEGLIGIBLE, SIZABLE, TYPED
from linkwork.trajectory import SingularPosition

Array = NDArray[np.float64]
# (t, q) -> Psi, Psi_q, Psi_t; positions and rows scaled so that all numbers are of order one
Linearized = Callable[[float, Array], tuple[Array, Array, Array]]

STEEP = 0.6  # of the row before: where sigma vanishes between rows it falls below half, but for the bend of its curve
MOST_LOCATED = 1000  # singular positions looked for on one motion
MOST_TOLD = 4  # singular positions with a note of their own: two turns of a parallelogram
PROBES = 3  # times between two instants, from the best of which Newton's iteration begins


class Instant(NamedTuple):
    """Position, velocity and acceleration at one time."""

    t: float
    q: Array
    v: Array
    a: Array


def between(start: Instant, end: Instant, t: float) -> Instant:
    """The polynomial of fifth degree through both instants, with their velocities and accelerations."""
    h = end.t - start.t
    s = (t - start.t) / h
    # q = q_0 + h v_0 s + h^2 a_0 s^2/2 + c_3 s^3 + c_4 s^4 + c_5 s^5
    A = end.q - start.q - h * start.v - 0.5 * h * h * start.a
    B = h * (end.v - start.v) - h * h * start.a
    C = h * h * (end.a - start.a)
    c_3, c_4, c_5 = 10 * A - 4 * B + 0.5 * C, -15 * A + 7 * B - C, 6 * A - 3 * B + 0.5 * C
    q = start.q + s * (h * start.v + s * (0.5 * h * h * start.a + s * (c_3 + s * (c_4 + s * c_5))))
    v = start.v + (s * (h * h * start.a + s * (3 * c_3 + s * (4 * c_4 + s * 5 * c_5)))) / h
    a = start.a + s * (6 * c_3 + s * (12 * c_4 + s * 20 * c_5)) / (h * h)
    return Instant(t, q, v, a)


class Passed(NamedTuple):
    """A singular position on the path: its time, and how much each row takes part."""

    t: float
    involvement: Array


def find_between(start: Instant, end: Instant, linearize: Linearized, usual: float) -> Passed | None:
    """The singular position between two instants, if there is one.

    The smallest singular value, seen with its sign, goes through zero at the rate u^T (dPsi_q/dt) w with its singular
    vectors u and w; Newton's iteration on that. `usual` is what the value is elsewhere.
    """

    def triplet(t: float) -> tuple[Array, float, Array]:
        _, J, _ = linearize(t, between(start, end, t).q)
        U, values, V_T = svd(J, full_matrices=False)
        return U[:, -1], float(values[-1]), V_T[-1]

    h = end.t - start.t
    probes = [start.t + h * k / (PROBES + 1) for k in range(1, PROBES + 1)]

    def correct(_: None, t: float, k: int) -> tuple[float, float]:
        u, value, w = triplet(t)
        J_0, J_1 = (linearize(x, between(start, end, x).q)[1] for x in (t - DIFFERENCE * h, t + DIFFERENCE * h))
        rate = float(u @ (J_1 - J_0) @ w) / (2 * DIFFERENCE * h)
        new = t - value / rate if rate else np.inf
        return new, abs(new - t) / h if start.t <= new <= end.t else np.nan

    t, _ = iterate(None, correct, min(probes, key=lambda t: triplet(t)[1]), INF, MAX_ITERATIONS, NEGLIGIBLE, AGREEMENT)
    u, value, _ = triplet(t)
    return Passed(t, u) if value <= TYPED * usual else None


class Limit(NamedTuple):
    """The position at which the path turns back in time."""

    t: float
    q: Array
    involvement: Array


def find_limit(near: Instant, linearize: Linearized, arm: float) -> Limit | None:
    """The end of the path shortly after an instant, if it is one.

    Near its end the path is followed along the direction w of the smallest singular value instead of time,

        Psi(t, q) = 0,    w . (q - q_near) = s,

    where it is smooth, and ends where dt/ds = 0; secant iteration on s.
    """
    _, J, _ = linearize(near.t, near.q)
    w = svd(J)[2][-1]
    w = w if w @ near.v >= 0 else -w

    along = np.append(np.zeros(len(J)), 1.0)

    def follow(s: float, x: Array) -> tuple[Array, Array]:
        """The point x = (q, t) of the path at s, from a neighbour, and dx/ds; NaN where there is none."""

        def border(x: Array) -> tuple[Array, Array]:
            Psi, J, Psi_t = linearize(float(x[-1]), x[:-1])
            K = np.block([[J, Psi_t[:, None]], [w[None, :], np.zeros((1, 1))]])
            return np.append(Psi, w @ (x[:-1] - near.q) - s), K

        (x, _, K), left = newton(border, np.add, x, AGREEMENT * arm)
        return x, solve_least_squares(K, along) if left <= AGREEMENT * arm else np.full_like(x, np.nan)

    s, ds = 0.0, DIFFERENCE * arm
    x, x_s = follow(s, np.append(near.q, near.t))
    for _ in range(MAX_ITERATIONS):
        s, rate = s + ds, x_s[-1]
        x, x_s = follow(s, x + ds * x_s)
        if not np.isfinite(x_s[-1]) or x_s[-1] == rate:
            return None
        ds = ds * x_s[-1] / (rate - x_s[-1])
        if abs(ds) > arm:
            return None
        if abs(ds) <= AGREEMENT * arm:
            t, q = float(x[-1]), x[:-1]
            if (near.t - t) * np.abs(near.v).max() > AGREEMENT * arm:
                return None
            return Limit(t, q, svd(linearize(t, q)[1], full_matrices=False)[0][:, -1])
    return None


def name_elements(rows: Sequence[Row], involvement: Array) -> tuple[str, ...]:
    """The joints and drivers whose rows take part, those that do most first."""
    parts: dict[str, float] = {}
    for row, x in zip(rows, np.abs(involvement), strict=True):
        parts[row.element] = max(parts.get(row.element, 0.0), float(x))
    most = max(parts.values(), default=0.0)
    shares = {name: round(part / most, 2) for name, part in parts.items() if part >= SIZABLE * most > 0.0}
    return tuple(sorted(shares, key=lambda name: -shares[name]))  # equal ones in the order of rows


def name_positions(rows: Sequence[Row], passed: Sequence[Passed]) -> tuple[SingularPosition, ...]:
    """Times of the positions passed and the joints involved."""
    return tuple(SingularPosition(x.t, name_elements(rows, x.involvement)) for x in passed)


def note_singular(singular: Sequence[SingularPosition], is_driven: bool, unkept_by: str = "") -> Iterator[Note]:
    """Notes on singular positions; `unkept_by` is a stabilization that does not hold the motion in its branch."""
    for x in singular[:MOST_TOLD]:
        yield Note("singular-position", t=x.t, joints=[*x.joints], is_driven=is_driven, unkept_by=unkept_by)
    if len(singular) > MOST_TOLD:
        yield Note("singular-position", more=len(singular) - MOST_TOLD, until=singular[-1].t)
