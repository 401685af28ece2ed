"""Singular positions that a driven motion passes: when exactly, and the motion in the position itself.

There Psi_q determines neither velocities nor accelerations, but as limits from both sides: the path is smooth. So the
motion is run once more up to some times beside the position, and continued through it by the polynomial of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linkwork.integrators.integrate import NO_EVENTS, End, State
from linkwork.simulation.problem import Motion
from linkwork.simulation.result import evaluate
from linkwork.start.singular import Passed
from linkwork.tolerances import AGREEMENT, TYPED

Array = NDArray[np.float64]

BESIDE = 1e-2  # of a radian, or length of the mechanism: how far it goes between these times
AROUND = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
BEFORE = np.arange(-6.0, 0.0)


def pass_smoothly(motion: Motion, passed: Sequence[Passed], x: Array, held: Array) -> list[Passed]:
    """The positions passed, with better times; rows (t, q, v, a, lam) of x that lie in one are written anew."""
    n, n_v, found = motion.n, motion.system.n_v, []
    for position in passed:
        k = max(int(np.searchsorted(x[:, 0], position.t)) - 1, 0)
        v = x[k, 1 + motion.system.n_q : 1 + n]
        step = BESIDE / max(float(np.abs(v / motion.measured.place.v_scale).max()), 1.0 / motion.t_end)
        first = int(np.searchsorted(x[:, 0], position.t + BEFORE[0] * step)) - 1
        ends = position.t + AROUND[-1] * step > motion.t_end  # drivers may prescribe nothing beyond
        t, U = position.t, BEFORE if ends else AROUND
        nodes = run_beside(motion, x[first], held[first], t + step * U) if first >= 0 else None
        if nodes is None:
            found.append(position)
            continue
        rows, distance = nodes
        u = find_zero(np.linalg.solve(np.vander(U, increasing=True), np.sign(U) * distance))
        found.append(position._replace(t=t + u * step))
        C = np.linalg.inv(np.vander(U - u, increasing=True))
        c, c_lam = C @ rows[:, 1 : 1 + n + n_v], C @ ((U - u)[:, None] * rows[:, 1 + n + n_v :])
        pole = np.where(np.abs(c_lam[0]) > AGREEMENT * np.abs(c_lam).max(axis=0), c_lam[0], 0.0)
        for row in np.flatnonzero(np.abs(x[:, 0] - found[-1].t) < step):
            z = (x[row, 0] - found[-1].t) / step
            powers = z ** np.arange(len(U))
            grows = pole / z if abs(z) > TYPED else 0.0  # in the position itself the part is left that does not
            x[row, 1:] = np.append(powers @ c, grows + powers[:-1] @ c_lam[1:])
    return found


def run_beside(motion: Motion, row: Array, held: Array, times: Array) -> tuple[Array, Array] | None:
    """Rows (t, q, v, a, lam) of the motion from one of them, and how far it is from singular there, on some scale."""
    problem = motion.mechanism.shared.compiled(
        ("problem", "beside"), lambda _: replace(motion.state.problem, guards=None, events=NO_EVENTS)
    )
    p, part, n = motion.state.p.copy(), motion.part(0), motion.n
    p[motion.system.held] = held
    y = np.append(row[1 : 1 + n], np.zeros(problem.ny - n))
    state = State(problem, p, y, np.append(row[0], times), motion.settings, motion.error_scale())
    while state.advance(len(times)) == End.BUDGET:
        pass
    if state.status != End.REACHED:
        return None
    x, _, report, _ = evaluate(part, times, state.rows[1:], np.tile(held, (len(times), 1)))
    return x, np.exp(0.5 * (report.log_det - report.log_det.max()))


def find_zero(c: Array) -> float:
    """Of the polynomial with these coefficients, the zero next to 0."""
    zeros = np.polynomial.polynomial.polyroots(c)
    real = zeros[np.abs(zeros.imag) < TYPED].real
    nearest = min(real.tolist(), key=abs, default=0.0)
    return float(nearest) if abs(nearest) < 1.0 else 0.0
