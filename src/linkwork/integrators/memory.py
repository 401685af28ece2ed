"""The memory of a run, which its parts share: a step of a method, error control, reports, projection, stopping.

A method is two or three pieces of machine code of the one native signature, called as f(m, p, own, w) with this memory
m, the parameters p and the scratch w of the derivative, and the method's own memory:

    step    from x = (t, y), k = f(t, y), x_new[0] = t_new and h = t_new - t to y_new and `error`, the error of the step
            in units of the tolerance. Where f(t_new, y_new) is had on the way, it is left in k_new and is `known`.
            A method with an error control of its own leaves the ratio of the next step to h in `proposed`.
    dense   for a step that is good enough, the vectors F_j of the solution inside it,

            y(theta) = y + theta (F_0 + (1 - theta) (F_1 + theta (F_2 + (1 - theta) (F_3 + ...)))).

    begin   where it has one: the motion begins at x, or goes on behind a stop, a switch or an event. Unknowns that
            follow from others, as accelerations and multipliers, are found anew in x, and k with them.

They write nothing else outside their own memory, but for scratch, counters and what follows. Step and dense may set
`outcome`, which they find GOOD, to the reason why a smaller step must be tried. Where that was seen inside the step,
that (t, y) is left in x_inside and `failed_inside` is set, else it was at x_new. `asking` set to UNSUITED stops the run
after the next good step. An implicit method may solve M y' = f(t, y) instead; `n_rates` is the number of first
components with y'_i = f_i. In Python a method has `prepare(n)`, which returns a `Method`.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from linkwork.native.kernels import Memory, Pointer, Size, integer, offset, size_of, split
from linkwork.native.machine import pointer_to


class End(IntEnum):
    """How a piece of the motion ended: why the time loop came back."""

    REACHED = 0  # the last report time
    BUDGET = 1  # the attempted steps it was given, or the room for moments and samples
    EVENT = 2  # about which Python is asked; it is the last moment that was noted
    UNSUITED = 3  # the method found that another kind suits the problem better
    STEP_TOO_SMALL = 4  # no step is small enough: a singularity, or a derivative that is not finite
    NOT_FINITE = 5  # the state from which to go on, or its derivative
    NOT_PROJECTED = 6  # no step is small enough for its end to be projected
    TOO_MANY_STEPS = 7  # were attempted in all
    CHATTERS = 8  # what switches is driven back from both sides, and would switch without end
    NO_VALUE = 9  # an event has none, the one that is `nearest`
    STOPPED = 10  # what happened cannot be, which Python alone knows
    SWITCH = 11  # a law has switched, of which Python is told


class Outcome(IntEnum):
    """What became of a step: GOOD, or why another one is tried."""

    GOOD = 0
    INACCURATE = 1  # the error that the method estimates
    NOT_SOLVED = 2  # its iteration does not converge; the method leaves in `proposed` what to try next
    NOT_FINITE = 3  # a state or a derivative
    NOT_PROJECTED = 4
    FAR_OFF = 5  # too far from the constraints before it was projected
    ELSEWHERE = 6  # moved so far that it is on another branch
    CONTRADICTED = 7  # the derivative inside is not that of the dense output
    CUT = 8  # it is to end earlier, at a switch or because what switches was not seen clearly
    EVENT = 9  # good, and the sign of an event has changed in it


N_RESIDUALS = 4  # numbers that `project` returns between y and the pivots: residuals and a status
MOMENTS = 64  # with events that are noted before Python is told
BLOCK = 4  # vectors are padded with zeros to whole blocks of so many doubles, which machine code takes at once


class Run(Memory):
    """Places in the memory of a run; vectors have n components, those without n in their comment one double.

    What has the same size in every run stands first: machine code then knows where. Until `derivative` it is of the run
    alone, and stays where another problem takes it over. (t, y) is one argument of the
    derivative; before it there is a gap, so that y is at a whole block.
    """

    n: int
    n_dense: int
    n_watched: int
    n_pivots: int
    n_events: int  # of the watched functions, the first: none of them is left to the control of the error
    n_jumps: int
    n_held: int
    sizes: Pointer  # N_SIZES: these numbers, see `open_run`
    residuals: Pointer  # 3: largest |Psi| before, by its scale, |Psi| after and |Psi_dot| after projection, so far
    new_residuals: Pointer  # 3: with those of the step that is tried
    most_steps: int  # attempted in all
    n_times: Size  # report times, the first the initial and the last the final one
    n_stops: Size  # times at which a step must end, as pairs: the last double before and the first one after
    t_end: float  # the last report time
    rtol: float
    least: float  # atol of a component whose scale is one
    min_step: float
    max_step: float
    next_step: float
    first_step: float  # a time of the motion
    steps: int
    rejected: int
    evaluations: int
    unplanned: int  # matrices for which the pivots that were planned would not do
    switched: int  # switches that were located
    blurred: float  # length of steps along which what switches was seen neither clearly nor at rest
    slight: float  # when a law last switched and back by less than the tolerances, which acts on what follows
    left_open: int  # laws that are anything they can be, by the tolerances of the state, at the ends of steps
    row: int  # report times passed
    stop: int  # stops behind
    paced: int  # steps attempted, and the time, when its pace was last looked at
    paced_t: float
    tells: bool  # whether Python is told of switches and stops that are passed
    derivative: Size  # addresses; project may be 0
    rates: Size  # of y' of the first n_rates components at any (t, y) on the constraints
    project: Size
    watch: Size
    look: Size  # where memory for looking along steps begins, or 0, see looking.py
    note_start: Size  # of switches.py, where there is something to watch
    watch_step: Size
    pass_switches: Size
    sample: Size  # of sampling.py, where something is sampled, and where memory for it begins
    clocks: Size
    is_full: bool  # whether no more samples can be noted
    happen: Size  # of events.py, where there are events
    jumps: Size  # of events, (t, y) -> numbers
    step: Size
    dense: Size
    begin: Size  # or 0
    ny: Size  # components of y, and of these the first that count in the error norm: quadratures stand behind
    n_norm: Size
    n_rows: Size  # and those that are reported
    n_rates: Size  # components of y whose derivative is that of f
    error_order: float  # constants of error control, see Method
    shrink: float
    growth: float
    h: float  # of the step that is tried
    error: float  # that the method estimates
    excess: float  # the largest of what else is measured of the step, by what is allowed
    proposed: float  # ratio of the next step to it if the method has one, else 0
    outcome: int
    has_dense: bool  # whether `dense` has been called for it
    crosses: bool  # whether it ends at a switch
    passes: bool  # whether it ends at a stop
    nearest: int  # which function switches there
    behind: bool  # whether it begins behind a switch
    entered: int  # the place in `wished` of the side that it begins on, plus one, or 0
    hops: int  # steps one after the other that came to a switch at once
    t_before: float  # the last time before an event to which the step comes
    has_before: bool  # whether the state there has been noted
    switch: float  # where the step is to end since it comes to a switch there
    first_sign: Size  # where in p signs hold comparisons on one side, or 0, and
    is_let_go: bool  # whether they do not for once
    singular: float  # when pivots are expected to vanish next, see `expect_singular`
    expected: float  # the same by the end of the step that is tried
    vanishing: int  # the pivot that does
    is_located: bool  # whether that was found on the polynomial of a step
    leap: float  # how far its polynomial goes on past such a time, else 0
    known: bool  # whether k_new is the derivative at x_new
    failed_inside: bool  # whether the state that failed is x_inside, not x_new
    started: bool
    signed: bool  # whether it starts with signs that are known
    n_moments: int  # that have been noted
    held: Size  # where in p the values stand that events change
    last_constant: float  # log error/h^k of the last good step
    smooth_constant: float  # the least since no singular position was ahead
    streak: int  # steps rejected since, and the outcome of the last of them
    failure: int
    asking: int  # the reason with which the projection or the method wishes the run to stop, or 0
    new_row: int  # the same with those inside the step that is tried
    first_gap: Pointer
    x: Pointer  # 1 + n: (t, y) of the last good state, and its derivative
    k: Pointer  # n
    gap: Pointer
    x_new: Pointer  # 1 + n: the end of the step
    k_new: Pointer  # n
    other_gap: Pointer
    x_inside: Pointer  # 1 + n: a state inside the step
    k_inside: Pointer  # n: rates there
    zeros: Pointer  # n + BLOCK
    atol: Pointer  # n: by their scales; infinite for components that do not count
    F: Pointer  # n_dense n
    projected: Pointer  # n + BLOCK + n_pivots: what `project` returns
    pivots: Pointer  # n_pivots: at the last good state, at the end of the step, and the least so far
    new_pivots: Pointer  # n_pivots
    least_pivots: Pointer  # n_pivots
    signs: Pointer  # n_watched: switching functions at the beginning of the step, their signs count; of zero, the last
    switches: Pointer  # n_watched: these functions at its end, and at another state
    ahead: Pointer  # n_watched
    changed: Pointer  # n_watched: 1 where the sign has changed in the last step; where a run begins at zero, the side
    grazes: Pointer  # n_watched: when it last came to zero and did not change its sign
    wished: Pointer  # 2 n_watched: the step that the first one on either side of its zero asked for last time, or 0
    directions: Pointer  # n_events: -1 falling, 1 rising, 0 both, see `note_start`
    asks: Pointer  # n_events: 1 where Python is asked what it does
    jumped: Pointer  # n_jumps: what `jumps` returns
    owners: Pointer  # n_jumps: the event to which each of these numbers belongs, and
    targets: Pointer  # n_jumps: the place in p that takes it, 0 for none
    moments: Pointer  # MOMENTS times the places of `moment`
    rest: Pointer


N_SIZES = Run._fields.index("sizes")
SCALARS = (1,) * (Run._fields.index("first_gap") - Run._fields.index("most_steps"))
KEPT = slice(N_SIZES, N_SIZES + 3 + 3 + Run._fields.index("derivative") - Run._fields.index("most_steps"))
BEFORE_X = -(N_SIZES + 3 + 3 + len(SCALARS) + 1) % (2 * BLOCK)


def places(
    m: Pointer, n: int, n_dense: int, n_watched: int, n_pivots: int, n_events: int, n_jumps: int, n_held: int
) -> Run:
    gap = BLOCK - 1
    states = (1 + n, n, gap, 1 + n, n, gap, 1 + n, n)
    vectors = (n + BLOCK, n, n_dense * n, n + BLOCK + n_pivots, n_pivots, n_pivots, n_pivots)
    watched = (n_watched, n_watched, n_watched, n_watched, n_watched, 2 * n_watched)
    moments = MOMENTS * moment_size(n, n_events, n_held) if n_events > 0 else 0
    events = (n_events, n_events, n_jumps, n_jumps, n_jumps, moments)
    counts = (N_SIZES, 3, 3, *SCALARS, BEFORE_X, *states, *vectors, *watched, *events)
    return Run(n, n_dense, n_watched, n_pivots, n_events, n_jumps, n_held, *split(m, counts))


def open_run(m: Pointer) -> Run:
    """Return the places of a memory that has been filled."""
    return places(
        m, integer(m, 0), integer(m, 1), integer(m, 2), integer(m, 3), integer(m, 4), integer(m, 5), integer(m, 6)
    )


class Moment(Memory):
    """Places of a moment at which events happened."""

    before: Pointer  # 1 + n: (t, y) on either side
    after: Pointer  # 1 + n
    sides: Pointer  # n_events: of those whose sign has changed, the sign now, else 0
    held: Pointer  # n_held: what events change in p, from now on
    rest: Pointer


def moment_size(n: int, n_events: int, n_held: int) -> int:
    return 2 * (1 + n) + n_events + n_held


def moment(at: Run, k: int) -> Moment:
    m = offset(at.moments, k * moment_size(at.n, at.n_events, at.n_held))
    return Moment(*split(m, (1 + at.n, 1 + at.n, at.n_events, at.n_held)))


@dataclass(frozen=True, eq=False)
class Method:
    """A method made ready for vectors of n components, with the constants of its error control."""

    step: int  # addresses
    dense: int
    n_dense: int
    own: NDArray[np.float64]  # its memory as a run begins, of which each run takes a copy
    error_order: float  # the error of a step behaves as h^error_order
    shrink: float  # smallest and largest ratio of successive steps
    growth: float
    n_rates: int  # see above; not above n
    work: int = 0  # doubles of scratch it needs
    first_step: float = 0.0  # unless another is given
    begin: int = 0  # address
    seen: tuple[float, ...] = (0.0, 1.0)  # where in a step it is evaluated, and counts


class Preparable(Protocol):
    """What `integrate` knows of a method."""

    @property
    def name(self) -> str: ...

    def prepare(self, n: int) -> Method: ...


def whole_blocks(ny: int, block: int = BLOCK) -> int:
    """Return the length of vectors of ny components."""
    return -(-ny // block) * block


def allocate(count: int) -> NDArray[np.float64]:
    """Allocate zeros on a boundary of 64 bytes, the length of a cache line and of the longest vectors."""
    space = np.zeros(count + 8)
    start = -(ctypes.addressof(pointer_to(space)) // 8) % 8
    return space[start : start + count]


def new_run(
    n: int, n_dense: int, n_watched: int = 0, n_pivots: int = 0, n_events: int = 0, n_jumps: int = 0, n_held: int = 0
) -> tuple[Run, NDArray[np.float64]]:
    """Make empty memory, and its places."""
    sizes = n, n_dense, n_watched, n_pivots, n_events, n_jumps, n_held
    m = allocate(size_of(places, *sizes))
    m[: len(sizes)].view(np.int64)[:] = sizes
    return places(m, *sizes), m
