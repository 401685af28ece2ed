"""Many motions of one problem at once, in lanes of vectors, each with a time, a step and an end of its own.

What is done in each lane is the time loop as it is for one motion, translated for vectors (native/in_lanes.py): so a
motion takes the steps that it takes alone, to the bit, whatever its neighbours do. A lane whose motion has ended takes
the next one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkwork.integrators.block import Track, given_places, occupy, rows_of, tell, told_of
from linkwork.integrators.events import happen
from linkwork.integrators.integrate import Native, Problem, Settings
from linkwork.integrators.looking import new_look
from linkwork.integrators.memory import End, allocate, open_run
from linkwork.integrators.methods import runge_kutta
from linkwork.integrators.methods.runge_kutta import Detecting, parts_of
from linkwork.integrators.methods.tableaus import Tableau
from linkwork.integrators.switches import note_start, pass_switches, watch_step
from linkwork.integrators.time_loop import GOES_ON, attempt, start
from linkwork.native import machine
from linkwork.native.enclosing import Guards
from linkwork.native.kernels import (
    Kernel,
    Memory,
    Pointer,
    Shared,
    call_in_lanes,
    integer,
    kernel,
    put_integer,
    shared_at,
    split,
)
from linkwork.native.lowering import PART, NativeFunction
from linkwork.native.machine import pointer_to

Array = NDArray[np.float64]

NOBODY = -1  # the number of the motion in a lane that has none


class Seat(Memory):
    """What there is of each lane: its motion, and whether that has not begun yet."""

    number: int
    is_new: bool
    rest: Pointer


def seat_places(m: Pointer) -> Seat:
    return Seat(*split(m, (1, 1)))


@kernel
def advance_lane(
    given: Shared, seats: Pointer, m: Pointer, own: Pointer, look: Pointer, p: Pointer, w: Pointer
) -> None:
    """Attempt a step of the motion in a lane, which begins there if it is new, and may end."""
    of, seat, at = given_places(given), seat_places(seats), open_run(m)
    k = seat.number
    rows, why = rows_of(of, k), GOES_ON
    if seat.is_new:
        seat.is_new = False
        occupy(of, k, m, own, look, p)
        why = GOES_ON if start(at, m, p, own, w, rows) else End.NOT_FINITE
    if why == GOES_ON:
        times, stops = shared_at(of.times, of.n_times), shared_at(of.stops, of.n_times)
        why = attempt(at, m, p, own, w, times, stops, rows)
    if why != GOES_ON:
        tell(at, why, told_of(of, k))
        seat.number = NOBODY


@kernel
def advance_lanes(
    lanes: int,
    address: int,
    given: Pointer,
    seats: Pointer,
    m: Pointer,
    own: Pointer,
    look: Pointer,
    p: Pointer,
    w: Pointer,
) -> None:
    """Advance every motion from its start as far as it goes; at the address is machine code of `advance_lane`."""
    of = given_places(given)
    seated = 0
    for lane in range(lanes):
        put_integer(seats, lane, NOBODY)
    while True:
        here, bit = 0, 1
        for lane in range(lanes):
            if integer(seats, lane) == NOBODY and seated < of.count:
                put_integer(seats, lane, seated)
                put_integer(seats, lanes + lane, 1)
                seated += 1
            here += bit if integer(seats, lane) != NOBODY else 0
            bit *= 2
        if here == 0:
            break
        call_in_lanes(address, here, given, seats, m, own, look, p, w)


def refusal(problem: Problem) -> str:
    """Say why motions of this problem do not go in lanes, or nothing."""
    if machine.missing():
        return "no machine code"
    if problem.clocks.periods:
        return "what is sampled"
    if not isinstance(problem.by, Tableau | Detecting):
        return "an implicit method"
    if not isinstance(problem.derivative, NativeFunction) or problem.derivative.operations == 0:
        return "a right-hand side that is more than one sequence"
    return ""


def lanes_here() -> int:
    """Count how many doubles a vector of this processor has."""
    features = machine.host()
    return 8 if "+avx512f" in features else 4 if "+avx" in features else 2


def lanes_for(derivative: Native) -> int:
    """Count how many motions go together: those of two vectors, since one is computed while the other waits.

    In a sequence so long that it is cut into parts, operations do not wait for each other, and twice as many numbers
    between them would not stay near the processor.
    """
    is_short = isinstance(derivative, NativeFunction) and derivative.operations <= PART
    return (2 if is_short else 1) * lanes_here()


@dataclass(frozen=True, eq=False)
class Code:
    """Machine code for so many lanes of what a problem has, and what p has of it: addresses by their places."""

    lanes: int
    derivative: NativeFunction
    project: Kernel | None
    guards: Guards | None
    jumps: NativeFunction | None
    in_p: Mapping[int, int]
    functions: Sequence[NativeFunction]  # all of these

    def prepare(self, p: Array) -> Array:
        """Return rows of p that have these addresses."""
        p = p.copy()
        p.view(np.int64)[:, [*self.in_p]] = [*self.in_p.values()]
        return p


def address_in_lanes(function: Kernel, lanes: int) -> int:
    return function.address if lanes == 1 else function.in_lanes(lanes).addresses[function.name]


class Team(Track):
    """Memory in which motions of one problem, with the same times and limits, are advanced together."""

    def __init__(
        self,
        problem: Problem,
        code: Code,
        n_p: int,
        times: Array,
        settings: Settings,
        stops: Collection[float],
        max_steps: int,
    ) -> None:
        if code.lanes > 1:
            problem = replace(problem, block=1)  # the blocks are of lanes
        super().__init__(problem, n_p, times, settings, stops, max_steps)
        s, n, self.code = self.state, code.lanes, code
        by = problem.by.method if isinstance(problem.by, Detecting) else problem.by
        assert isinstance(by, Tableau)
        own, self.parts = runge_kutta.places(s.own, s.at.n, len(by.rows)), parts_of(by, n)
        own.evaluate, own.interpolate = (self.parts.addresses[name] for name in ("evaluate", "interpolate"))
        kernels = {"step": runge_kutta.step, "dense": runge_kutta.dense}
        kernels |= {"project": code.project} if code.project else {}
        s.at.derivative = s.at.rates = code.derivative.address
        if code.guards:
            self.look = new_look(code.guards, problem.method.n_dense, problem.method.seen)
            kernels["watch_step"] = watch_step
            if code.guards.watch:
                s.at.watch = code.guards.watch.address
                kernels |= {"note_start": note_start, "pass_switches": pass_switches}
        if problem.events.directions:
            kernels["happen"] = happen
            s.at.jumps = code.jumps.address if code.jumps else 0
        for name, function in kernels.items():
            setattr(s.at, name, address_in_lanes(function, n))
        self.looks = allocate(len(self.look) * n)
        s.at.look = ctypes.addressof(pointer_to(self.looks)) if code.guards else 0
        self.m, self.own = allocate(len(s.m) * n), allocate(len(s.own) * n)
        for memory, one in ((self.m, s.m), (self.own, s.own), (self.looks, self.look)):
            memory.reshape(-1, n)[:] = one[:, None]
        self.p, self.w, self.seats = allocate(n_p * n), allocate(len(s.w) * n), allocate(2 * n)

    def prepare(self, p: Array) -> Array:
        p = self.code.prepare(p)
        for one in p[:1]:  # sizes stand there for lanes without a motion too
            self.p.reshape(-1, self.code.lanes)[:] = one[:, None]
        return p

    def carry_out(self, given: Array) -> None:
        memory = self.seats, self.m, self.own, self.looks, self.p, self.w
        advance_lanes(self.code.lanes, address_in_lanes(advance_lane, self.code.lanes), given, *memory)
