"""Parameters that are sampled: at multiples of a time they take new values, which hold in between.

Steps end at these times, so that the derivative may jump there. Values are formulas of (t, y), as machine code, or
answers of a function in Python, which is asked from within the time loop.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.integrators.memory import MOMENTS, End, Run, open_run
from linkwork.integrators.switches import HOP, hold_sides, note_signs
from linkwork.integrators.time_loop import begin
from linkwork.linalg.vectors import copy
from linkwork.native.calls import Asked
from linkwork.native.enclosing import Sized
from linkwork.native.kernels import (
    Memory,
    Pointer,
    call,
    integer,
    kernel,
    memory_at,
    offset,
    offsets_of,
    size_of,
    slices_of,
    split,
)
from linkwork.native.machine import pointer_to

Array = NDArray[np.float64]


class Clocks(NamedTuple):
    """What is sampled, and when: each clock ticks at the multiples of its period.

    `values` is (t, y) -> numbers, each of which, where its owner ticks, p has at its target from then on. `ask` is a
    function of (t, y), of what `signals` finds there, of flags of the clocks that tick, and of p, which it changes.
    """

    periods: Sequence[float] = ()
    values: Sized | None = None
    owners: Sequence[int] = ()
    targets: Sequence[int] = ()
    signals: Sized | None = None
    ask: Callable[[Array, Array, Array, Array], None] | None = None
    held: slice = slice(0, 0)  # places in p that so change, among others


class Ticking(Memory):
    """Places in the memory of the clocks of a run."""

    size: int
    n: int
    n_values: int
    n_held: int
    n_x: int
    n_signals: int
    head: Pointer  # N_HEAD: these numbers
    values_of: int  # addresses, or 0
    signals_of: int
    ask: int
    held: int  # where in p the values stand that change
    n_noted: int
    failed: bool  # whether Python has raised something
    periods: Pointer  # n
    ticks: Pointer  # n: the number of the next
    due: Pointer  # n: 1 of those that tick now
    owners: Pointer  # n_values
    targets: Pointer  # n_values
    values: Pointer  # n_values
    x: Pointer  # n_x: (t, y) where clocks tick
    signals: Pointer  # n_signals
    noted: Pointer  # MOMENTS (1 + n_held): times, and what p has from then on
    rest: Pointer


N_HEAD = Ticking._fields.index("head")


def places(m: Pointer, size: int, n: int, n_values: int, n_held: int, n_x: int, n_signals: int) -> Ticking:
    counts = (N_HEAD, 1, 1, 1, 1, 1, 1, n, n, n, n_values, n_values, n_values, n_x, n_signals, MOMENTS * (1 + n_held))
    return Ticking(size, n, n_values, n_held, n_x, n_signals, *split(m, counts))


def open_clocks(at: Run) -> Ticking:
    head = memory_at(at.clocks, N_HEAD)
    m = memory_at(at.clocks, integer(head, 0))
    return places(m, integer(m, 0), integer(m, 1), integer(m, 2), integer(m, 3), integer(m, 4), integer(m, 5))


class Wound:
    """The clocks of one run, from a time on; what they asked for at it has been done."""

    def __init__(self, clocks: Clocks, t: float, ny: int, p: Array) -> None:
        values, signals = clocks.values, clocks.signals
        n_held = clocks.held.stop - clocks.held.start
        sizes = len(clocks.periods), len(clocks.owners), n_held, 1 + ny, signals.outputs if signals else 0
        self.memory = np.zeros(size_of(places, 0, *sizes))
        self.memory[:N_HEAD].view(np.int64)[:] = len(self.memory), *sizes
        self.at = at = Ticking.over(self.memory, slices_of(places, len(self.memory), *sizes))
        at.values_of, at.signals_of = (values.address if values else 0), (signals.address if signals else 0)
        at.held = clocks.held.start
        at.periods[:], at.owners[:], at.targets[:] = clocks.periods, clocks.owners, clocks.targets
        at.ticks[:] = [next_tick(period, t) for period in clocks.periods]
        if (ask := clocks.ask) is not None:

            def answer() -> None:
                ask(at.x, at.signals, at.due, p)

            def fail() -> None:
                at.failed = True

            self.asked = Asked(answer, fail)
            at.ask = self.asked.address

    @property
    def address(self) -> int:
        return ctypes.addressof(pointer_to(self.memory))

    def places(self) -> dict[str, int]:
        """Return where in the memory the ticks and the notes of samples stand."""
        sizes = (integer(self.memory, k) for k in range(1, N_HEAD))
        found: Any = offsets_of(places, len(self.memory), *sizes)
        return {name: getattr(found, name) for name in ("n_noted", "noted", "ticks")}

    def take_notes(self) -> Array:
        """Take the times, and what is held from then on, since the last call."""
        at, count = self.at, self.at.n_noted
        at.n_noted = 0
        width = 1 + at.n_held
        found: Array = at.noted[: count * width].reshape(count, width).copy()
        return found


def next_tick(period: float, t: float) -> int:
    """Number the first multiple that is behind t, and not at it but for rounding."""
    k = math.floor(t / period)
    while k * period <= t + HOP * abs(t):
        k += 1
    return k


def ticks_at(period: float, t: float) -> bool:
    """Whether a clock ticks where a run begins; one that goes on behind a tick, if only just, has passed it."""
    return 0.0 <= round(t / period) * period - t <= HOP * abs(t)


def tick_times(period: float, t_end: float) -> Array:
    """Return multiples of a period before the end of a run."""
    found = period * np.arange(1, math.ceil(t_end / period) + 1, dtype=np.float64)
    return found[found < t_end - HOP * t_end]


@kernel
def sample(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Give what is sampled its new values where a step has passed a stop, and begin anew with them."""
    at = open_run(m)
    c = open_clocks(at)
    t, ticks = at.x[0], False
    for i in range(c.n):
        is_due = c.periods[i] * c.ticks[i] <= t + HOP * abs(t)
        c.due[i] = 1.0 if is_due else 0.0
        c.ticks[i] += c.due[i]
        ticks = ticks or is_due
    if not ticks:
        return
    if c.values_of != 0:
        call(c.values_of, at.x, p, c.values, w)
        for i in range(c.n_values):
            if c.due[int(c.owners[i])] != 0.0:
                p[int(c.targets[i])] = c.values[i]
    if c.ask != 0:
        copy(at.x, c.x, c.n_x)
        if c.signals_of != 0:
            call(c.signals_of, at.x, p, c.signals, w)
        call(c.ask, c.x, p, c.signals, w)
        if c.failed:
            at.asking = End.STOPPED
    note = offset(c.noted, c.n_noted * (1 + c.n_held))
    note[0] = t
    copy(offset(p, c.held), offset(note, 1), c.n_held)
    c.n_noted += 1
    at.is_full = c.n_noted == MOMENTS
    if at.n_watched > 0:
        note_signs(at, at.x, p, w)
        hold_sides(at, p)
    if not begin(at, m, p, own, w):
        at.asking = End.NOT_FINITE
