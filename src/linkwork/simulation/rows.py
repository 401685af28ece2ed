"""Report rows of a motion, evaluated: accelerations, multipliers, outputs and residuals at each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from time import thread_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.implicit import N_WORK
from linkwork.native.calls import raise_pending
from linkwork.native.kernels import size_of
from linkwork.simulation.events import Course
from linkwork.simulation.inputs import fill_inputs
from linkwork.simulation.outputs import Report, fill_dynamics, rates, report
from linkwork.simulation.problem import Part

Array = NDArray[np.float64]


def evaluate_rates(part: Part, t: Array, rows: Array, held: Array) -> tuple[Array, Array]:
    """Evaluate (t, q, v, a, lam) and qd at these states; `held` is what events have changed until then."""
    s, (n_rows, ny), p = part.form.system, rows.shape, part.measured.p.copy()
    x, qd = np.empty((n_rows, 1 + s.n_q + 2 * s.n_v + s.m)), np.empty((n_rows, s.n_q))
    scratch = np.empty(size_of(rates, ny, s.m) + part.form.dynamics.work)
    x[:, 0], x[:, 1 : 1 + s.n_q + s.n_v] = t, rows[:, : s.n_q + s.n_v]  # memory that is new takes longer
    fill_dynamics(n_rows, ny, held.shape[1], held, p, x, qd, scratch)
    raise_pending()
    return x, qd


def report_rows(parts: Sequence[Part], spans: Sequence[slice], x: Array, held: Array) -> Report:
    """Report rows (t, q, v, a, lam), those of each part of a course by what held then."""
    found = [report(part.form.system, part.measured.exact, x[k], held[k]) for part, k in zip(parts, spans, strict=True)]
    return found[0] if len(found) == 1 else Report(*map(np.concatenate, zip(*found, strict=True)))


class Evaluated(NamedTuple):
    """Report rows of a motion, and what was found at them."""

    t: Array
    rows: Array  # q, v, work, and the variations of these by parameters
    held: Array
    spans: list[slice]  # of the parts of the course
    x: Array  # t, q, v, a, lam
    qd: Array
    found: Report
    taken: float  # s, for the rates


def evaluate_motion(course: Course, most: int | None = None) -> Evaluated:
    """Evaluate the motion as far as it is noted, of a run stopped between report times with its last state; or these
    rows.
    """
    motion, state, until = course.motion, course.motion.state, course.until
    assert until is not None
    t, rows, ends = state.times[: until.rows], state.rows[: until.rows], [part.first for part in course.parts[1:]]
    if not len(t) or until.t > t[-1]:
        rows, t = np.vstack([rows, until.y[: rows.shape[1]]]), np.append(t, until.t)
    if most is not None and most < len(t):
        chosen = np.arange(0, len(t), -(-len(t) // most))
        chosen[-1] = len(t) - 1
        t, rows, ends = t[chosen], rows[chosen], np.searchsorted(chosen, ends).tolist()
    held = course.held_at(t)
    if motion.mechanism.model.functions:
        fill_inputs(motion.system, motion.mechanism.model.functions, t, rows, held)
    spans = [slice(a, b) for a, b in pairwise([0, *(min(end, len(rows)) for end in ends), len(rows)])]
    since = thread_time()
    states = rows[:, : motion.n + N_WORK]
    found = [evaluate_rates(part, t[k], states[k], held[k]) for part, k in zip(course.parts, spans, strict=True)]
    taken = thread_time() - since
    x, qd = found[0] if len(found) == 1 else map(np.concatenate, zip(*found, strict=True))
    return Evaluated(t, rows, held, spans, x, qd, report_rows(course.parts, spans, x, held), taken)


def known_states(course: Course, at: Evaluated, parts: Sequence[int]) -> tuple[Array, Array, Array, Array]:
    """Return times, positions, their rates and log det of what is known of these parts: rows, and starts of
    stretches.
    """
    rows = slice(at.spans[parts[0]].start, at.spans[parts[-1]].stop)
    n_q, part = course.motion.system.n_q, course.parts[parts[-1]]
    known = at.t[rows], at.x[rows, 1 : 1 + n_q], at.qd[rows], at.found.log_det[rows]
    starts = [x for x in course.stretches if parts[0] <= x.part <= parts[-1] and x.t not in known[0]]
    if not starts:
        return known
    t, y, held = (np.array(x) for x in zip(*((x.t, x.y, x.held) for x in starts), strict=True))
    x, qd = evaluate_rates(part, t, y, held)
    more = t, x[:, 1 : 1 + n_q], qd, report(part.form.system, part.measured.exact, x, held).log_det
    order = np.argsort(np.append(known[0], t), kind="stable")
    t, q, qd, log_det = (np.concatenate(both)[order] for both in zip(known, more, strict=True))
    return t, q, qd, log_det
