"""What is to be said about a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.system import System
from linkwork.integrators.integrate import State
from linkwork.integrators.methods.tableaus import DOP853
from linkwork.native import machine
from linkwork.notes import Note
from linkwork.simulation.judgement import LATE
from linkwork.tolerances import NEGLIGIBLE
from linkwork.trajectory import Run

Array = NDArray[np.float64]

SHOWN = 3  # changes of the method of which the times are given
BLURRED = 1e-4  # of the time: less is that of contacts much shorter than any step


def note_machine() -> Iterator[Note]:
    """Note where there is no machine code."""
    if why := machine.missing():
        yield Note("no-llvm", why=why)


def note_atol(info: Run, q: Array, v: Array, tolerances: Array) -> Iterator[Note]:
    """Note where atol is no small part of the motion, so that it decides the accuracy in place of rtol.

    Of q and v a few rows with the extremes are enough.
    """
    atol, rtol = info.atol, info.rtol
    if atol is None or rtol is None:
        return
    by = iter((tolerances / atol).tolist())
    changes = [(max(x) - min(x)) / next(by) for x in q.T.tolist()]
    speeds = [max(map(abs, x)) / next(by) for x in v.T.tolist()]
    for what, sizes in (("coordinate", changes), ("velocity", speeds)):
        if NEGLIGIBLE < (size := max(sizes, default=0.0)) < atol / (LATE * rtol):
            yield Note("atol-size", what=what, ratio=size / atol, atol=atol)
            return


def note_methods(changes: Sequence[tuple[float, str]], system: System) -> Iterator[Note]:
    """Note which method took over when; in the coordinates of bodies a stiff direction turns with them."""
    if changes:
        turns = system.equations.chart.kind == "body" and system.m > 0
        shown, more = [*map(list, changes[:SHOWN])], len(changes[SHOWN:])
        yield Note("stiff", first=DOP853.name, changes=shown, more=more, turns=turns)


def note_euler(system: System, v: Array, t_end: float) -> Iterator[Note]:
    """Note where Euler parameters follow a body through a turn, of whose rates errors of the orientation are a part.

    |2 pd| is the angular velocity; of v a few rows with the extremes are enough.
    """
    e = system.equations
    if (
        e.chart.kind == "euler"
        and 2.0 * np.abs(v[:, ~e.lengths[system.n_q : system.n_q + system.n_v]]).max() * t_end > math.tau
    ):
        yield Note("euler-rates")


def note_pivots(times: Sequence[float]) -> Iterator[Note]:
    """Note at which times other pivots of the explicit form were chosen."""
    if times:
        yield Note("repivoted", times=[*times])


def note_matrices(last: State) -> Iterator[Note]:
    if last.at.unplanned:
        yield Note("full-matrices", count=last.at.unplanned)


def note_grazes(system: System, last: State) -> Iterator[Note]:
    events = system.equations.events
    for k, (event, t) in enumerate(zip(events, last.at.grazes, strict=False)):
        if np.isfinite(t) and event.when not in (other.when for other in events[:k]):  # begin and end are one
            yield Note("grazing", event=event.name, t=float(t))


def note_blur(system: System, last: State) -> Iterator[Note]:
    watch = system.functions.get("switches")
    if last.at.blurred > BLURRED * last.t and watch and watch.outputs > len(system.pivots):  # not pivots alone
        yield Note("unseen-switches", part=last.at.blurred / last.t)


def note_open(last: State) -> Iterator[Note]:
    if last.at.slight > 0.0:
        yield Note("slight-switch", t=last.at.slight)
    if last.at.left_open:
        yield Note("steep-law", count=last.at.left_open, atol=last.settings.atol)
