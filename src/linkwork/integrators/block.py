"""Many motions of one problem, one after the other as machine code: Python is asked for a block of them at a time."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.integrators.integrate import Problem, Settings, State
from linkwork.integrators.memory import Run, open_run
from linkwork.integrators.time_loop import go_on
from linkwork.linalg.vectors import copy
from linkwork.native.kernels import Memory, Pointer, kernel, offset, shared_at, size_of, split

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


class Given(Memory):
    """What machine code is given of motions that it advances: how many numbers of everything, and where they stand.

    Of each motion there are p, y at times[0], and the tolerances of its components; report rows, and what is told.
    """

    count: int
    budget: int  # attempted steps of each
    n_m: int
    n_own: int
    n_look: int
    n_p: int
    n_y: int
    n_norm: int
    n_rows: int  # of all report times
    n_times: int  # and of stops: addresses, as all that follow
    blank: int  # memory as every motion begins with
    parameters: int
    starts: int
    tolerances: int
    times: int
    stops: int
    rows: int
    told: int
    rest: Pointer


def given_places(m: Pointer) -> Given:
    return Given(*split(m, (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)))


def occupy(of: Given, k: int, m: Pointer, own: Pointer, look: Pointer, p: Pointer) -> None:
    """Put the k-th motion into memory, from which it then begins."""
    blank = shared_at(of.blank, of.n_m + of.n_own + of.n_look)
    copy(blank, m, of.n_m)
    copy(offset(blank, of.n_m), own, of.n_own)
    copy(offset(blank, of.n_m + of.n_own), look, of.n_look)
    copy(offset(shared_at(of.parameters, of.count * of.n_p), k * of.n_p), p, of.n_p)
    at = open_run(m)
    copy(offset(shared_at(of.starts, of.count * of.n_y), k * of.n_y), offset(at.x, 1), of.n_y)
    copy(offset(shared_at(of.tolerances, of.count * of.n_norm), k * of.n_norm), at.atol, of.n_norm)


def rows_of(of: Given, k: int) -> Pointer:
    """Find the report rows of the k-th motion."""
    return offset(shared_at(of.rows, of.count * of.n_rows), k * of.n_rows)


def told_of(of: Given, k: int) -> Pointer:
    return offset(shared_at(of.told, of.count * TOLD), k * TOLD)


@kernel
def advance_block(given: Pointer, m: Pointer, own: Pointer, look: Pointer, p: Pointer, w: Pointer) -> None:
    """Advance every motion from its start as far as it goes."""
    of = given_places(given)
    times, stops = shared_at(of.times, of.n_times), shared_at(of.stops, of.n_times)
    for k in range(of.count):
        occupy(of, k, m, own, look, p)
        end = go_on(m, p, own, w, times, stops, rows_of(of, k), of.budget)
        tell(open_run(m), end, told_of(of, k))


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
        self.budget = max_steps

    @cached_property
    def blank(self) -> Array:
        return np.concatenate([self.state.m, self.state.own, self.look])

    def advance(self, p: Array, y: Array, scale: Array) -> Advanced:
        """Advance motions with these p and y at the first time, their components measured by `scale`."""
        s, (count, n_p) = self.state, p.shape
        rows, told = np.empty((count, *s.rows.shape)), np.empty((count, TOLD))
        tolerances = np.broadcast_to(s.settings.atol * scale, (count, s.at.n_norm))
        sizes = len(s.m), len(s.own), len(self.look), n_p, y.shape[1], tolerances.shape[1], s.rows.size, len(s.times)
        p = self.prepare(p)
        arrays = [*map(np.ascontiguousarray, (self.blank, p, y, tolerances, s.times, s.stops))]
        addresses = [x.ctypes.data for x in (*arrays, rows, told)]
        self.carry_out(np.array([count, self.budget, *sizes, *addresses]).view(np.float64))
        end, t, steps, rejected, evaluations, row, moments = told[:, :7].T
        return Advanced(rows, end, t, steps, rejected, evaluations, row, moments, told[:, 7:])

    def prepare(self, p: Array) -> Array:
        """Return p for the machine code that is called here."""
        return p

    def carry_out(self, given: Array) -> None:
        """Advance motions that are given so."""
        s = self.state
        advance_block(given, s.m, s.own, self.look, s.p, s.w)
