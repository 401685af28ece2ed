"""Time integration from Python: a problem, which runs share, and the state of one run, advanced piece by piece.

A system y' = f(t, y) is given by machine code of the one native signature,

    derivative: x = (t, y)  ->  y'
    project:    x = (t, y)  ->  (y projected, |Psi| before, |Psi| after, |Psi_dot| after, status, pivots)
                status 0 for success, else 1 (FAILED); reciprocals of any number of pivots, of which some vanish like
                (t - t*)^2 towards a singular position

Every state the loop keeps or reports, except the initial one, has passed `project`, so its residuals are known; a
`project` that only measures returns y unchanged and zero for |Psi| before. What was far from the constraints before it
was projected makes the loop try a smaller step. All that lasts from one piece to the next is in arrays, and a piece is
so many attempted steps, so the result depends neither on the pieces nor on the time that they take.
"""

from __future__ import annotations

import ctypes
import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import thread_time
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import UsageError
from linkwork.integrators.events import happen
from linkwork.integrators.looking import new_look
from linkwork.integrators.memory import (
    BLOCK,
    KEPT,
    N_RESIDUALS,
    End,
    Method,
    Outcome,
    Preparable,
    Run,
    allocate,
    moment,
    new_run,
    places,
    whole_blocks,
)
from linkwork.integrators.methods.tableaus import DOP853
from linkwork.integrators.sampling import Clocks, Wound, sample
from linkwork.integrators.switches import note_start, pass_switches, watch_step
from linkwork.integrators.time_loop import advance
from linkwork.native.enclosing import Guards, Sized
from linkwork.native.kernels import slices_of
from linkwork.native.machine import pointer_to

__all__ = ["Actions", "End", "Moment", "Native", "Outcome", "Problem", "Settings", "State", "advance", "report_times"]

Array = NDArray[np.float64]
MAX_REPORTS = 2 * 10**7  # report times: a gigabyte of states of a mechanism with six coordinates
LAST_DIGITS = 2  # units of these around a stop are not entered: there a comparison may be rounded to either side
MOST_STEPS = 10**9  # attempted, a number that any integer can hold


class Native(Protocol):
    """Machine code of the one native signature and the doubles of scratch it needs."""

    @property
    def address(self) -> int: ...

    @property
    def work(self) -> int: ...


@dataclass(frozen=True, eq=False)
class Settings:
    """How to integrate; a step is good if its error is below atol scale + rtol |y| in the mean over the components."""

    rtol: float = 1e-6
    atol: float = 1e-9
    min_step: float = 0.0
    max_step: float = math.inf

    def __post_init__(self) -> None:
        if not 1e-15 <= self.rtol < 1.0:
            raise UsageError(f"rtol = {self.rtol:g} is not between 1e-15 and 1", "bad-tolerance")
        if not 0.0 < self.atol < math.inf:
            raise UsageError(f"atol = {self.atol:g} is not positive", "bad-tolerance")
        if not 0.0 <= self.min_step < self.max_step:
            raise UsageError(f"no step is above {self.min_step:g} s and at most {self.max_step:g} s", "bad-step-limits")


class Actions(NamedTuple):
    """What the loop does at events, at zeros of the first functions that it watches."""

    directions: Sequence[int] = ()  # -1 falling, 1 rising, 0 both; see `note_start`
    asks: Sequence[bool] = ()  # whether one ends a piece; the others do no more than set parameters
    jumps: Sized | None = None  # (t, y) -> numbers, of which each is, after its owner, what p has at the target, if any
    owners: Sequence[int] = ()
    targets: Sequence[int] = ()
    held: slice = slice(0, 0)  # places in p that so change


NO_EVENTS, NO_CLOCKS = Actions(), Clocks()


class Moment(NamedTuple):
    """When events happened."""

    t_before: float
    y_before: Array
    t: float
    y: Array
    sides: Array  # of each event whose sign has changed, that sign, else 0
    held: Array  # what p has from then on, unless Python is asked


@dataclass(frozen=True, eq=False)
class Problem:
    """All that machine code needs to advance motions of one kind: functions, sizes, method, events; nothing of a run.

    Only the first `n_norm` components of y count in the error norm; quadratures stand behind them. The first `n_rows`
    are reported. Where one of the functions of (t, y) that `guards` watch changes its sign, a step ends and another
    begins (see switches.py), so that the derivative may jump there; the first of them are `events`. `rates` are (t, y)
    -> y' of the first components, where y has accelerations among them.
    """

    derivative: Native
    ny: int
    by: Preparable = DOP853
    project: Sized | None = None
    n_norm: int | None = None
    n_rows: int | None = None
    guards: Guards | None = None
    events: Actions = NO_EVENTS
    rates: Native | None = None
    clocks: Clocks = NO_CLOCKS
    block: int = BLOCK

    @property
    def n(self) -> int:
        """Components that vectors have: whole blocks of so many that machine code takes at once."""
        return whole_blocks(self.ny, self.block)

    @cached_property
    def method(self) -> Method:
        return self.by.prepare(self.n)

    @cached_property
    def work(self) -> int:
        """Doubles of scratch."""
        watch, sample = (self.guards.watch, self.guards.sample) if self.guards else (None, None)
        sampled = self.clocks.values, self.clocks.signals
        codes = self.derivative, self.rates, self.project, watch, sample, self.events.jumps, self.method, *sampled
        return max(f.work for f in codes if f)

    def open(self) -> tuple[Run, Array]:
        """Open the memory of a run that has been told all of the problem."""
        told, sizes = self._told
        m = allocate(len(told))
        m[:] = told
        return Run.over(m, slices_of(places, *sizes)), m

    @cached_property
    def _told(self) -> tuple[Array, tuple[int, ...]]:
        held, project, jumps = self.events.held, self.project, self.events.jumps
        watch = self.guards.watch if self.guards else None
        sizes = (
            self.n,
            self.method.n_dense,
            watch.outputs if watch else 0,
            project.outputs - self.ny - N_RESIDUALS if project else 0,
            len(self.events.directions),
            jumps.outputs if jumps else 0,
            held.stop - held.start,
        )
        at, m = new_run(*sizes)
        at.ny, at.n_norm = self.ny, self.ny if self.n_norm is None else self.n_norm
        at.n_rows, at.n_rates = self.n_rows or self.ny, min(self.method.n_rates, self.ny)
        at.derivative, at.rates = self.derivative.address, (self.rates or self.derivative).address
        at.project = project.address if project else 0
        if watch:
            at.watch, at.note_start = watch.address, note_start.address
            at.pass_switches, at.first_sign = pass_switches.address, self.guards.first_sign if self.guards else 0
            at.grazes[:] = -math.inf
        if self.events.directions:
            at.happen, at.jumps, at.held = happen.address, jumps.address if jumps else 0, held.start
            at.directions[:], at.asks[:] = self.events.directions, self.events.asks
            at.owners[:], at.targets[:] = self.events.owners, self.events.targets
        method = self.method
        at.step, at.dense, at.begin = method.step, method.dense, method.begin
        at.error_order = method.error_order
        at.shrink, at.growth = method.shrink, method.growth
        return m, sizes


class State:
    """One run from times[0] to times[-1]: t, y and parameters, of which it has copies, and what it has reported.

    Its tolerances and limits of steps are those of `settings`; components of y that count are measured by their
    `scale`. At each of the times `stops` a step ends and another begins, so that the derivative may jump there.
    `first_step` is tried first; without it, or if it is 0, one is chosen. No more than `max_steps` are attempted,
    whatever the run is told on its way.
    """

    def __init__(
        self,
        problem: Problem,
        p: Array,
        y: Array,
        times: Array,
        settings: Settings,
        scale: Array | float = 1.0,
        stops: Collection[float] = (),
        first_step: float = 0.0,
        max_steps: float = math.inf,
    ) -> None:
        self.times = np.array(times, dtype=np.float64)
        if not ((self.times[1:] > self.times[:-1]).all() and math.isfinite(self.times[-1] - self.times[0])):
            raise UsageError("report times do not increase", "bad-report-times")
        self.rows = np.empty((len(self.times), problem.n_rows or problem.ny))
        self.settings, self.status, self.loop_s = settings, End.BUDGET, 0.0
        self._occupy(problem, p, y, scale, float(self.times[0]))
        t, at, by = self.times[0], self.at, settings
        at.rtol, at.least, at.min_step, at.max_step = by.rtol, by.atol, by.min_step, by.max_step
        at.x[0] = at.paced_t = t + LAST_DIGITS * np.spacing(t) if t in stops else t
        at.n_times, at.t_end, at.most_steps = len(self.times), self.times[-1], int(min(max_steps, MOST_STEPS))
        at.next_step = first_step or problem.method.first_step
        self.stop_at(stops)

    def _occupy(self, problem: Problem, p: Array, y: Array, scale: Array | float, t: float) -> None:
        """Make memory for a problem, with this state in it."""
        self.problem, self.p = problem, np.array(p, dtype=np.float64)
        self.at, self.m = problem.open()
        if problem.guards:
            self.look = new_look(problem.guards, problem.method.n_dense, problem.method.seen)
            self.at.look, self.at.watch_step = ctypes.addressof(pointer_to(self.look)), watch_step.address
        self.clocks: Wound | None = None
        if problem.clocks.periods:
            self.clocks = Wound(problem.clocks, t, problem.ny, self.p)
            self.at.clocks, self.at.sample = self.clocks.address, sample.address
        self.own, self.w = allocate(len(problem.method.own)), allocate(problem.work)
        self.own[:] = problem.method.own
        self.at.x[1 : 1 + problem.ny] = y
        self.measure(scale)
        self._advance: Callable[[int], int] | None = None

    def measure(self, scale: Array | float) -> None:
        """Let the components that count be measured by this."""
        n_norm = self.at.n_norm
        self.at.atol[:n_norm], self.at.atol[n_norm:] = self.settings.atol * scale, math.inf

    def stop_at(self, stops: Collection[float]) -> None:
        """Let steps end at these times."""
        around = [t + side * LAST_DIGITS * np.spacing(t) for t in sorted(stops) for side in (-1, 1)]
        self.stops, self.at.n_stops, self._advance = np.array(around), len(stops), None
        self.at.stop = bisect_right(around[::2], self.t)

    def advance(self, budget: int) -> End:
        """Go on by so many attempted steps at most; why it came back."""
        if self._advance is None:  # asking for addresses takes longer than some calls
            self._advance = advance.bind(self.m, self.p, self.own, self.w, self.times, self.stops, self.rows)
        go_on, began = self._advance, thread_time()
        end = go_on(budget)
        self.loop_s += thread_time() - began
        self.status = End(end)
        return self.status

    def begin_at(self, t: float, y: Array, sides: Array | Sequence[float] = ()) -> None:
        """Let the motion go on from another state; events that have happened there, and are at zero, are on `sides`."""
        at = self.at
        at.x[0], at.x[1 : 1 + len(y)], at.started, at.signed = t, y, False, False
        at.changed[:], at.changed[: len(sides)] = 0.0, sides

    def take_over(self, problem: Problem, p: Array, y: Array, scale: Array | float) -> None:
        """Let the motion go on with another problem from y; limits, counters and reports stay."""
        before, m, clocks = self.at, self.m, self.clocks
        self._occupy(problem, p, y, scale, self.t)
        if clocks is not None and self.clocks is not None:
            self.clocks.at.ticks[:] = clocks.at.ticks
        self.m[KEPT], self.at.x[0] = m[KEPT], before.x[0]
        alike = min(before.n_watched, self.at.n_watched)  # events stand first; what is behind may have changed
        self.at.grazes[:alike] = before.grazes[:alike]
        if before.n_watched == self.at.n_watched:
            self.at.signs[:], self.at.signed = before.signs, True

    def take_moments(self) -> list[Moment]:
        """Take the times with events since the last call."""
        at, own = self.at, slice(1, 1 + self.problem.ny)
        found, at.n_moments = [moment(at, k) for k in range(at.n_moments)], 0
        return [
            Moment(float(m.before[0]), m.before[own].copy(), float(m.after[0]), m.after[own].copy(), m.sides.copy(),
                   m.held.copy())
            for m in found
        ]  # fmt: skip

    def take_samples(self) -> Array:
        """Take the times, and what p has from then on, since the last call."""
        self.at.is_full = False
        return self.clocks.take_notes() if self.clocks else np.empty((0, 0))

    @property
    def t(self) -> float:
        """Of the last good state."""
        return float(self.at.x[0])

    @property
    def y(self) -> Array:
        return self.at.x[1 : 1 + self.problem.ny].copy()

    @property
    def reported(self) -> int:
        """Report times passed."""
        return self.at.row

    @property
    def held(self) -> Array:
        """What events change in p."""
        return self.p[self.problem.events.held]

    @property
    def tried(self) -> int:
        return self.at.steps + self.at.rejected

    @property
    def switches(self) -> int:
        """Located, and times at which something switches."""
        return self.at.switched + self.at.stop

    @property
    def failed(self) -> tuple[float, Array] | None:
        """(t, y) that cannot be projected or differentiated, if that ended the last step."""
        at = self.at
        if self.status == End.NOT_FINITE:
            x = at.x
        elif at.streak > 0 and at.failure in (Outcome.NOT_FINITE, Outcome.NOT_PROJECTED):
            x = at.x_inside if at.failed_inside else at.x_new
        else:
            return None
        return float(x[0]), x[1 : 1 + self.problem.ny].copy()


def report_times(t_0: float, t_end: float, step: float) -> Array:
    """Return t_0, t_0 + step, t_0 + 2 step, ..., t_end; the last interval is shorter if t_end is not on the grid."""
    if not 0.0 < step < math.inf:
        raise UsageError(f"report step {step:g} is not positive and finite", "bad-report-step")
    if not t_0 < t_end < math.inf:
        raise UsageError(f"t_end = {t_end:g} is not a time after the start at {t_0:g}", "bad-t-end")
    intervals = (t_end - t_0) / step
    if intervals > MAX_REPORTS:
        size = f"{8e-9 * intervals:.3g} GB for each coordinate"
        raise UsageError(f"{intervals:.3g} report times would take {size}", "too-many-report-times")
    count = math.ceil(intervals - 1e-9)  # a grid point nearer to the end than this is the end
    times: Array = t_0 + step * np.arange(count + 1, dtype=np.float64)
    times[-1] = t_end
    return times
