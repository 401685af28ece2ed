"""Rows of a motion in singular positions, and when exactly these are passed.

There Psi_q determines accelerations and multipliers, of a driven motion velocities too, only as limits from both sides:
the path is smooth, and with rounding r of a state at the distance x accelerations are off by r/x^2. So the motion is
run once more from a row before to times beside the position, and continued through it by the polynomial of these.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from linkwork.integrators.integrate import End, State
from linkwork.simulation.outputs import report
from linkwork.simulation.problem import Motion
from linkwork.simulation.rows import Evaluated, evaluate_rates
from linkwork.start.singular import Passed
from linkwork.tolerances import AGREEMENT, DIFFERENCE, TYPED

Array = NDArray[np.float64]

BESIDE = 1e-2  # of a radian, or length of the mechanism: how far it goes between these times
AROUND = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
BEFORE = np.arange(-6.0, 0.0)


def pass_smoothly(motion: Motion, passed: Sequence[Passed], at: Evaluated, is_driven: bool) -> list[Passed]:
    """The positions passed, with better times; rows (t, q, v, a, lam) that lie in one are written anew.

    Only a and lam are, unless drivers prescribe the motion.
    """
    x, n, n_v, found = at.x, motion.n, motion.system.n_v, []
    first = 1 if is_driven else 1 + n
    for position in passed:
        t, k = position.t, max(int(np.searchsorted(at.t, position.t)) - 1, 0)
        v = x[k, 1 + motion.system.n_q : 1 + n]
        step = BESIDE / max(float(np.abs(v / motion.measured.place.v_scale).max()), 1.0 / motion.t_end)
        U = AROUND if t + AROUND[-1] * step <= motion.t_end else BEFORE  # beyond, nothing may be prescribed
        is_near = bool((np.abs(at.t - t) < step).any())
        nodes = run_beside(motion, at, t + step * U) if is_near or is_driven else None
        if nodes is None:
            found.append(position)
            continue
        rows, log_det = nodes
        distance = np.exp(0.5 / position.n_lost * (log_det - log_det.max()))  # each value that vanishes is linear in it
        u = find_zero(np.linalg.solve(np.vander(U, increasing=True), np.sign(U) * distance))
        found.append(position._replace(t=t + u * step))
        C = np.linalg.inv(np.vander(U - u, increasing=True))
        c, c_lam = C @ rows[:, first : 1 + n + n_v], C @ ((U - u)[:, None] * rows[:, 1 + n + n_v :])
        pole = np.where(np.abs(c_lam[0]) > AGREEMENT * np.abs(c_lam).max(axis=0), c_lam[0], 0.0)
        for row in np.flatnonzero(np.abs(at.t - found[-1].t) < step):
            z = (at.t[row] - found[-1].t) / step
            powers = z ** np.arange(len(U))
            grows = pole / z if abs(z) > DIFFERENCE else 0.0  # in the position itself the part is left that does not
            x[row, first:] = np.append(powers @ c, grows + powers[:-1] @ c_lam[1:])
    return found


def run_beside(motion: Motion, at: Evaluated, times: Array) -> tuple[Array, Array] | None:
    """Rows (t, q, v, a, lam) of the motion at these times, and log det of its linear system there.

    It is run from the last row before them. What holds now must have held there, and nothing may happen on the way.
    """
    row = int(np.searchsorted(at.t, times[0])) - 1
    if row < at.spans[-1].start:
        return None
    t, held, part, p = float(at.t[row]), at.held[row], motion.part(0), motion.state.p.copy()
    p[motion.system.held] = held
    given = motion.unknowns(t, at.rows[row]), np.append(t, times), motion.settings, motion.error_scale()
    state = State(motion.state.problem, p, *given, stops=motion.system.equations.switching_times(float(times[-1])))
    while state.advance(len(times)) == End.BUDGET:
        pass
    if state.status != End.REACHED:
        return None
    all_held = np.tile(held, (len(times), 1))
    x, _ = evaluate_rates(part, times, state.rows[1:], all_held)
    return x, report(part.system, part.exact, x, all_held).log_det


def find_zero(c: Array) -> float:
    """Of the polynomial with these coefficients, the zero next to 0."""
    zeros = np.polynomial.polynomial.polyroots(c)
    real = zeros[np.abs(zeros.imag) < TYPED].real
    nearest = min(real.tolist(), key=abs, default=0.0)
    return float(nearest) if abs(nearest) < 1.0 else 0.0
