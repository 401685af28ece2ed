"""Many motions of one problem, one after the other as machine code: Python is asked for a block of them at a time."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.integrators.integrate import Problem, Settings, State
from linkwork.integrators.memory import Run, open_run
from linkwork.integrators.time_loop import go_on
from linkwork.linalg.vectors import copy
from linkwork.native.kernels import Memory, Pointer, kernel, offset, size_of, split

Array = NDArray[np.float64]


class Told(Memory):
    """Places of what is told of a motion."""

    end: float  # an End
    t: float  # of the last good state
    steps: float
    rejected: float
    evaluations: float
    row: float  # report times passed
    moments: float  # with events
    residuals: Pointer  # 3: see Run
    rest: Pointer


def told_places(m: Pointer) -> Told:
    return Told(*split(m, (1, 1, 1, 1, 1, 1, 1, 3)))


TOLD = size_of(told_places)


def tell(at: Run, end: int, told: Pointer) -> None:
    """Write what is told of a motion that has ended."""
    of = told_places(told)
    of.end = end
    of.t = at.x[0]
    of.steps = at.steps
    of.rejected = at.rejected
    of.evaluations = at.evaluations
    of.row = at.row
    of.moments = at.n_moments
    copy(at.residuals, of.residuals, 3)


@kernel
def advance_block(
    count: int,
    budget: int,
    n_m: int,
    n_own: int,
    n_look: int,
    n_p: int,
    n_rows: int,
    blank: Pointer,
    m: Pointer,
    own: Pointer,
    look: Pointer,
    p: Pointer,
    w: Pointer,
    parameters: Pointer,
    starts: Pointer,
    tolerances: Pointer,
    times: Pointer,
    stops: Pointer,
    rows: Pointer,
    told: Pointer,
) -> None:
    """Advance every motion from its start as far as it goes by so many attempted steps, with memory as `blank` is.

    Of each motion there are p, y at times[0], and the tolerances of its components; report rows, and what is told.
    """
    for k in range(count):
        copy(blank, m, n_m)
        copy(offset(blank, n_m), own, n_own)
        copy(offset(blank, n_m + n_own), look, n_look)
        copy(offset(parameters, k * n_p), p, n_p)
        at = open_run(m)
        copy(offset(starts, k * at.ny), offset(at.x, 1), at.ny)
        copy(offset(tolerances, k * at.n_norm), at.atol, at.n_norm)
        end = go_on(m, p, own, w, times, stops, offset(rows, k * n_rows * at.n_rows), budget)
        tell(at, end, offset(told, k * TOLD))


class Advanced(NamedTuple):
    """Of motions that were advanced: report rows (q, v, work), and what `Told` has, by its names, in arrays."""

    rows: Array
    end: Array
    t: Array
    steps: Array
    rejected: Array
    evaluations: Array
    row: Array
    moments: Array
    residuals: Array

    def chosen(self, rows: NDArray[np.bool_]) -> Advanced:
        """Choose some of these motions."""
        return Advanced(*(x[rows] for x in self))


class Track:
    """Memory in which motions of one problem, with the same times and limits, are advanced one after the other."""

    def __init__(
        self, problem: Problem, n_p: int, times: Array, settings: Settings, stops: Collection[float], max_steps: int
    ) -> None:
        self.state = State(problem, np.zeros(n_p), np.zeros(problem.ny), times, settings, 1.0, stops, 0.0, max_steps)
        self.look = self.state.look if problem.guards else np.zeros(0)
        self.blank = np.concatenate([self.state.m, self.state.own, self.look])
        self.budget = max_steps

    def advance(self, p: Array, y: Array, scale: Array) -> Advanced:
        """Advance motions with these p and y at the first time, their components measured by `scale`."""
        s, (count, n_p) = self.state, p.shape
        rows, told = np.empty((count, *s.rows.shape)), np.empty((count, TOLD))
        sizes = len(s.m), len(s.own), len(self.look), n_p, len(s.times)
        memory = self.blank, s.m, s.own, self.look, s.p, s.w
        advance_block(count, self.budget, *sizes, *memory, p, y, s.settings.atol * scale, s.times, s.stops, rows, told)
        end, t, steps, rejected, evaluations, row, moments = told[:, :7].T
        return Advanced(rows, end, t, steps, rejected, evaluations, row, moments, told[:, 7:])
