"""Time integration from Python: what to integrate, how, and what comes back.

A system y' = f(t, y) is given by machine code of the one native signature,

    derivative: x = (t, y)  ->  y'
    project:    x = (t, y)  ->  (y projected, |Psi| before, |Psi| after, |Psi_dot| after, status, pivots)
                status 0 for success, 1 (FAILED), or 2 (ASKS_TO_STOP) for success and the wish that the loop stops
                after this step, so that something can be chosen anew; reciprocals of any number of pivots, of which
                some vanish like (t - t*)^2 towards a singular position

Every state the loop keeps or reports, except the initial one, has passed `project`, so its residuals are known; a
`project` that only measures returns y unchanged and zero for |Psi| before. What was far from the constraints before it
was projected makes the loop try a smaller step. Python runs the loop in slices of so many attempted steps, and all
that lasts from one slice to the next is in arrays, so the result does not depend on the slices.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import UsageError
from linkwork.integrators.events import happen
from linkwork.integrators.memory import (
    N_RESIDUALS,
    End,
    Method,
    Outcome,
    Preparable,
    Run,
    allocate,
    moment,
    new_run,
    whole_blocks,
)
from linkwork.integrators.methods.tableaus import DOP853
from linkwork.integrators.switches import note_start, pass_switches, watch_step
from linkwork.integrators.time_loop import advance

__all__ = [
    "Actions",
    "End",
    "Moment",
    "Native",
    "Outcome",
    "Settings",
    "Slice",
    "advance",
    "integrate",
    "join_slices",
    "report_times",
]

Array = NDArray[np.float64]
MAX_REPORTS = 2 * 10**7  # report times: a gigabyte of states of a mechanism with six coordinates
LAST_DIGITS = 2  # units of these around a stop are not entered: there a comparison may be rounded to either side
MOST_AT_ONCE = 10**9  # attempted steps, a number that any integer can hold
CROWDED = 32  # report times in one step: the stages are so far apart that what these see may be between them
FIRST_BUDGET = 16_384  # attempted steps, times components, before it is known how long they take


class Native(Protocol):
    """Machine code of the one native signature and the doubles of scratch it needs."""

    @property
    def address(self) -> int: ...

    @property
    def work(self) -> int: ...


class Sized(Native, Protocol):
    """The same with the number of its results."""

    @property
    def outputs(self) -> int: ...


@dataclass(frozen=True, eq=False)
class Settings:
    """How to integrate; a step is good if its error is below atol scale + rtol |y| in the mean over the components."""

    method: Preparable = DOP853
    rtol: float = 1e-6
    atol: float = 1e-9
    min_step: float = 0.0
    max_step: float = math.inf
    scale: float | Array = 1.0  # by what components of the norm are measured
    oblique: bool = False  # whether what is projected is moved along some coordinates alone, not the shortest way

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
    asks: Sequence[bool] = ()  # whether one ends a slice; the others do no more than set parameters
    behind: Collection[int] = ()  # of those that the run begins at, the ones that have happened
    jumps: Sized | None = None  # (t, y) -> numbers, of which each is, after its owner, what p has at the target, if any
    owners: Sequence[int] = ()
    targets: Sequence[int] = ()
    held: slice = slice(0, 0)  # places in p that so change


NO_EVENTS = Actions()


class Moment(NamedTuple):
    """When events happened."""

    t_before: float
    y_before: Array
    t: float
    y: Array
    sides: Array  # of each event whose sign has changed, that sign, else 0
    held: Array  # what p has from then on, unless Python is asked


@dataclass(frozen=True, eq=False)
class Slice:
    """What a slice of the run has brought; counters and residuals are those of the whole run so far."""

    status: End
    t: float  # the last good state
    y: Array
    step: float  # the step to be tried next
    times: Array  # report times passed in this slice, and the states there
    rows: Array
    steps: int
    rejected: int
    evaluations: int
    psi_before: float  # largest |Psi| that the steps brought to the projection, and largest residuals of kept states
    psi: float
    psi_dot: float
    unplanned: int  # matrices for which the pivots that were planned would not do
    switches: int  # located, and times at which something switches
    blurred: float  # length of steps along which what switches was seen neither clearly nor at rest
    grazes: Array  # of each watched function, when it last came to zero without changing its sign; else -inf
    loop_s: float  # time spent in the compiled loop
    held: Array  # what events have changed in p, as it is now
    moments: tuple[Moment, ...]  # with events in this slice; of one that Python is asked about, the last
    failed: tuple[float, Array] | None  # (t, y) that cannot be projected or differentiated, if that ended the last step
    changes: tuple[tuple[float, str], ...] = ()  # times at which another method took over, and its name


def report_times(t_0: float, t_end: float, step: float) -> Array:
    """t_0, t_0 + step, t_0 + 2 step, ..., t_end; the last interval is shorter if t_end is not on the grid."""
    if not 0.0 < step < math.inf:
        raise UsageError(f"report step {step:g} is not positive and finite", "bad-report-step")
    if not t_0 < t_end < math.inf:
        raise UsageError(f"t_end = {t_end:g} is no time after the start at {t_0:g}", "bad-t-end")
    intervals = (t_end - t_0) / step
    if intervals > MAX_REPORTS:
        size = f"{8e-9 * intervals:.3g} GB for each coordinate"
        raise UsageError(f"{intervals:.3g} report times would take {size}", "too-many-report-times")
    count = math.ceil(intervals - 1e-9)  # a grid point nearer to the end than this is the end
    times: Array = t_0 + step * np.arange(count + 1, dtype=np.float64)
    times[-1] = t_end
    return times


def integrate(
    derivative: Native,
    project: Sized | None,
    p: Array,
    y_0: Array,
    times: Array,
    settings: Settings,
    n_norm: int | None = None,
    seconds: float = 0.1,
    stops: Collection[float] = (),
    first_step: float | None = None,
    watch: Sized | None = None,
    events: Actions = NO_EVENTS,
    max_steps: int = MOST_AT_ONCE,
    is_sharp: bool = False,
    rates: Native | None = None,
) -> Iterator[Slice]:
    """Integrate from times[0] to times[-1], coming back about every `seconds`.

    Only the first `n_norm` components of y (default: all) count in the error norm; quadratures stand behind them.
    At each of the times `stops` a step ends and another begins, so that the derivative may jump there, and likewise
    where one of the outputs of `watch`, functions of (t, y), changes its sign (see switches.py); the first of them are
    `events`, and a slice that one has ended is gone on from if asked for the next.
    `first_step` is tried first, for instance that of a slice from where the run goes on; without it, or if it is 0,
    one is chosen. After `max_steps` tried steps it ends. Of a derivative that may vary within much less
    than y does, `is_sharp`, every report time is compared with it, or with `rates`, (t, y) -> y' of the first
    components, where y has accelerations among them.
    """
    ny, times, p = len(y_0), np.array(times, dtype=np.float64), np.array(p, dtype=np.float64)
    if not ((times[1:] > times[:-1]).all() and math.isfinite(times[-1] - times[0])):
        raise UsageError("report times do not increase", "bad-report-times")
    method, held, rows = settings.method.prepare(whole_blocks(ny)), p[events.held], np.empty((len(times), ny))
    n_pivots = project.outputs - ny - N_RESIDUALS if project else 0
    n_watched, n_jumps = watch.outputs if watch else 0, events.jumps.outputs if events.jumps else 0
    sizes = n_watched, n_pivots, len(events.directions), n_jumps, len(held)
    at, m = new_run(whole_blocks(ny), method.n_dense, *sizes)
    _put_codes(at, derivative, rates or derivative, project, watch, method)
    _put_control(at, settings, method, ny, ny if n_norm is None else n_norm)
    if events.directions:
        _put_events(at, events)
    at.x[0] = times[0] + LAST_DIGITS * np.spacing(times[0]) if times[0] in stops else times[0]
    at.x[1 : 1 + ny], at.t_end, at.next_step = y_0, times[-1], first_step or method.first_step
    at.n_times, at.n_stops, at.crowded = len(times), len(stops), 0 if is_sharp else CROWDED
    at.most_steps = max_steps
    around = np.array([t + side * LAST_DIGITS * np.spacing(t) for t in sorted(stops) for side in (-1, 1)])
    codes = derivative, rates, project, watch, events.jumps, method
    own, w = allocate(len(method.own)), allocate(max(f.work for f in codes if f))
    own[:] = method.own

    def slices() -> Iterator[Slice]:
        kept = codes  # owners of the machine code whose addresses stand in `m`
        status, budget, done, loop_s = End.BUDGET, min(max(1, FIRST_BUDGET // ny), max_steps), 0, 0.0
        go_on = advance.bind(m, p, own, w, times, around, rows)  # compiled or loaded here, not within the measured time
        while status in (End.BUDGET, End.EVENT):
            began = perf_counter()
            status = End(go_on(budget))
            took = perf_counter() - began
            loop_s += took
            filled = at.row
            part = slice_of(at, ny, status, times[done:filled], rows[done:filled], loop_s, held.copy())
            left = max_steps - part.steps - part.rejected
            budget = max(1, min(100 * budget, left, int(budget * seconds / max(took, 1e-6))))
            yield part
            done, at.n_moments = filled, 0
        del kept

    return slices()


def _put_codes(
    at: Run, derivative: Native, rates: Native, project: Native | None, watch: Native | None, method: Method
) -> None:
    """The addresses of machine code; 0 where there is none."""
    at.derivative, at.rates, at.project = derivative.address, rates.address, project.address if project else 0
    at.step, at.dense, at.begin = method.step, method.dense, method.begin
    if watch:
        at.watch, at.note_start = watch.address, note_start.address
        at.watch_step, at.pass_switches = watch_step.address, pass_switches.address


def _put_control(at: Run, settings: Settings, method: Method, ny: int, n_norm: int) -> None:
    """What the error of a step is measured by, and what follows from it."""
    at.ny, at.n_norm, at.n_rates = ny, n_norm, min(method.n_rates, ny)
    at.atol[:n_norm], at.atol[n_norm:] = settings.atol * settings.scale, math.inf
    at.rtol, at.least, at.oblique = settings.rtol, settings.atol, settings.oblique
    at.min_step, at.max_step = settings.min_step, settings.max_step
    at.error_order, at.beta = method.error_order, method.beta
    at.shrink, at.growth, at.widest = method.shrink, method.growth, method.widest


def _put_events(at: Run, events: Actions) -> None:
    """Which functions are events, and what these do."""
    at.happen, at.jumps, at.held = happen.address, events.jumps.address if events.jumps else 0, events.held.start
    at.directions[:], at.asks[:], at.changed[list(events.behind)] = events.directions, events.asks, 1.0
    at.owners[:], at.targets[:] = events.owners, events.targets


def join_slices(before: Slice, part: Slice) -> Slice:
    """The slice of a run that began anew, with the counters of what went before; its first row is the new beginning."""
    first = int(len(part.times) > 0 and part.times[0] == before.t)
    alike = min(len(before.grazes), len(part.grazes))  # events stand first; what is behind may have changed with them
    return replace(
        part,
        times=part.times[first:],
        rows=part.rows[first:],
        steps=before.steps + part.steps,
        rejected=before.rejected + part.rejected,
        evaluations=before.evaluations + part.evaluations,
        psi_before=max(before.psi_before, part.psi_before),
        psi=max(before.psi, part.psi),
        psi_dot=max(before.psi_dot, part.psi_dot),
        unplanned=before.unplanned + part.unplanned,
        switches=before.switches + part.switches,
        blurred=before.blurred + part.blurred,
        grazes=np.maximum(before.grazes[:alike], part.grazes[:alike]),
        loop_s=before.loop_s + part.loop_s,
        changes=(*before.changes, *part.changes),
    )


def moment_of(at: Run, ny: int, k: int) -> Moment:
    m, own = moment(at, k), slice(1, 1 + ny)
    before, after = m.before[own].copy(), m.after[own].copy()
    return Moment(float(m.before[0]), before, float(m.after[0]), after, m.sides.copy(), m.held.copy())


def slice_of(at: Run, ny: int, status: End, times: Array, rows: Array, loop_s: float, held: Array) -> Slice:
    """What the memory of a run holds."""

    def state(x: Array) -> tuple[float, Array]:
        return float(x[0]), x[1 : 1 + ny].copy()

    t, y = state(at.x)
    failed: tuple[float, Array] | None = None
    if status == End.NOT_FINITE:
        failed = state(at.x)
    elif at.streak > 0 and at.failure in (Outcome.NOT_FINITE, Outcome.NOT_PROJECTED):
        failed = state(at.x_inside if at.failed_inside else at.x_new)
    return Slice(
        status,
        t,
        y,
        at.next_step,
        times,
        rows,
        at.steps,
        at.rejected,
        at.evaluations,
        float(at.residuals[0]),
        float(at.residuals[1]),
        float(at.residuals[2]),
        at.unplanned,
        at.switched + at.stop,
        at.blurred,
        at.grazes.copy(),
        loop_s,
        held,
        tuple(moment_of(at, ny, k) for k in range(at.n_moments)),
        failed,
    )
