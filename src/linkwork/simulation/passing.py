"""Rows of a motion in singular positions, and when exactly these are passed.

There Psi_q determines accelerations and multipliers, of a driven motion velocities too, only as limits from both sides:
the path is smooth, and with rounding r of a state at the distance x accelerations are off by r/x^2. So the motion is
run once more from a state before to times beside the position, and continued through it by the polynomial of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.integrators.integrate import End, State
from linkwork.simulation.events import Course, Stretch
from linkwork.simulation.outputs import report
from linkwork.simulation.problem import Motion, Part
from linkwork.simulation.rows import Evaluated, evaluate_rates
from linkwork.start.singular import Passed
from linkwork.tolerances import AGREEMENT, DIFFERENCE, TYPED

Array = NDArray[np.float64]

BESIDE = 1e-2  # of a radian, or length of the mechanism: how far it goes between these times
AFTER = np.arange(1.0, 7.0)
AROUND = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
SIDES = (AROUND, -AFTER[::-1], AFTER)  # the latter where something happens, or the motion ends, on the other side


class Path(NamedTuple):
    """A motion through a position, by what it is at times beside it."""

    U: Array  # the times, in steps from where the position was expected
    rows: Array  # t, q, v, a, lam
    u: float  # where it is

    def at(self, z: float, n_lam: int) -> Array:
        """Return t, q, v, a, lam so many steps behind the position; in it of a lam that grows the part that
        does not.
        """
        U = self.U - self.u
        C = np.linalg.inv(np.vander(U, increasing=True))
        n = self.rows.shape[1] - n_lam
        c, c_lam = C @ self.rows[:, :n], C @ (U[:, None] * self.rows[:, n:])
        pole = np.where(np.abs(c_lam[0]) > AGREEMENT * np.abs(c_lam).max(axis=0), c_lam[0], 0.0)
        powers, grows = z ** np.arange(len(U)), pole / z if abs(z) > DIFFERENCE else 0.0
        return np.append(powers @ c, grows + powers[:-1] @ c_lam[1:])


def pass_smoothly(
    course: Course, passed: Sequence[Passed], at: Evaluated, is_driven: bool
) -> tuple[list[Passed], list[float]]:
    """Return the positions passed, with better times; rows (t, q, v, a, lam) that lie in one are written anew.

    Only a and lam are, unless drivers prescribe the motion. Returned are also the times of those that could not be,
    since something happens or switches too near to the position.
    """
    motion, stretches, found, left = course.motion, course.stretches, list[Passed](), list[float]()
    first, starts, v_scale = 1 if is_driven else 1 + motion.n, [x.t for x in stretches], motion.measured.place.v_scale
    for position in passed:
        t, n_lost = position.t, position.n_lost
        home = max(int(np.searchsorted(starts, t)) - 1, 0)
        v = known_state(stretches[home], at, t)[1][motion.system.n_q : motion.n]
        step = BESIDE / max(float(np.abs(v / v_scale).max()), 1.0 / motion.t_end)
        for k, (since, until) in enumerate(pairwise([*starts, float(at.t[-1])])):
            distance = np.where((at.t <= until) & ((at.t > since) | (k == 0)), np.abs(at.t - t), np.inf)
            if not (distance.min() < step or (is_driven and k == home)):
                continue
            path = next(filter(None, (run_beside(course, k, at, t, step, U, n_lost) for U in SIDES)), None)
            if path is None:
                left += at.t[distance < BESIDE * step].tolist()
                continue
            if k == home:
                position = position._replace(t=float(np.clip(t + path.u * step, at.t[0], at.t[-1])))
            for row in np.flatnonzero(distance < step):
                at.x[row, first:] = path.at((at.t[row] - t) / step - path.u, motion.system.m)[first:]
        found.append(position)
    return found, left


def known_state(stretch: Stretch, at: Evaluated, until: float) -> tuple[float, Array, Array]:
    """Return time, (q, v, work) and held values of the last row of a stretch before this time, or of its start."""
    k = int(np.searchsorted(at.t, until)) - 1
    if k >= 0 and at.t[k] > stretch.t:
        return float(at.t[k]), at.rows[k], at.held[k]
    return stretch.t, stretch.y, stretch.held


def run_beside(course: Course, k: int, at: Evaluated, t: float, step: float, U: Array, n_lost: int) -> Path | None:
    """Find the path through a position about t, if it is smooth from U[0] to U[-1] steps beside it, within stretch k.

    It is if nothing happens or switches there, and if the motion is between these times what their polynomial says.
    """
    between = U[-2:].mean()
    times = t + step * np.sort(np.append(U, between))
    stretch, *following = course.stretches[k : k + 2]
    end, part = following[0].t if following else at.t[-1], course.parts[stretch.part]
    if not stretch.t < times[0] < times[-1] <= end:  # beyond the last end nothing may be prescribed
        return None
    since, y, held = known_state(stretch, at, min(float(times[0]), t - BESIDE * step))  # rows in a position tell less
    to_begin = run_on(course.motion, part, since, y, held, times[:1])
    if to_begin is None:
        return None
    beside = run_on(course.motion, part, float(times[0]), to_begin.rows[-1], to_begin.held, times[1:])
    if beside is None or beside.switches or beside.at.n_moments:
        return None
    m, all_held = part.form.system.m, np.tile(to_begin.held, (len(times), 1))
    x, _ = evaluate_rates(part, times, beside.rows, all_held)
    log_det = report(part.form.system, part.measured.exact, x, all_held).log_det
    kept = np.arange(len(times)) != len(times) - 2
    distance = np.exp(0.5 / n_lost * (log_det - log_det.max()))[kept]  # each value that vanishes is linear in it
    u = find_zero(np.linalg.solve(np.vander(U, increasing=True), np.sign(U) * distance))
    path = Path(U, x[kept], u)
    difference, size = np.abs(path.at(between - u, m) - x[-2]), np.abs(x).max(axis=0)
    return path if (difference <= TYPED * size + AGREEMENT * size.max()).all() else None


def run_on(motion: Motion, part: Part, t: float, y: Array, held: Array, times: Array) -> State | None:
    """Run from a state of a part through these times, if no one must be asked on the way."""
    aside = replace(motion, form=part.form, measured=part.measured._replace(p=part.measured.p.copy()))
    aside.settings, aside.t_end = motion.settings, motion.t_end
    aside.hold(held)
    stops = [stop for stop in aside.stops() if t <= stop <= times[-1]]
    if stops and motion.controllers:
        return None
    given = aside.loop_p(t, y), aside.unknowns(t, y), np.append(t, times), aside.settings, aside.error_scale(), stops
    state = State(aside.problem(), *given)
    while state.advance(len(times)) == End.BUDGET:
        pass
    return state if state.status == End.REACHED else None


def find_zero(c: Array) -> float:
    """Find the zero next to 0 of the polynomial with these coefficients."""
    zeros = np.polynomial.polynomial.polyroots(c)
    real = zeros[np.abs(zeros.imag) < TYPED].real
    nearest = min(real.tolist(), key=abs, default=0.0)
    return float(nearest) if abs(nearest) < 1.0 else 0.0
