"""What is to be said about a run, each with its code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.system import System
from linkwork.integrators.integrate import Slice
from linkwork.native import machine
from linkwork.trajectory import Run

if TYPE_CHECKING:
    from linkwork.simulation.events import Course

Array = NDArray[np.float64]

UNSUITABLE = 1e4  # times rtol of the motion: an atol that is told
AT_REST = 1e-12  # of the scale of a coordinate: nothing moves
BLURRED = 1e-4  # of the time: less is that of contacts much shorter than any step
MOST_TOLD = 5  # times in one note


def about_machine() -> list[str]:
    """A note where there is no machine code."""
    if not (why := machine.missing()):
        return []
    slow = "equations are interpreted by Python, which takes hundreds of times as long"
    return [f"{slow}: llvmlite cannot be loaded ({why}); pip install llvmlite [no-llvm]"]


def about_atol(info: Run, q: Array, v: Array, scale: Array) -> Iterator[str]:
    """A note where atol is no small part of the motion, so that it decides the accuracy in place of rtol.

    Of q and v a few rows with the extremes are enough.
    """
    atol, rtol = info.atol, info.rtol
    if atol is None or rtol is None:
        return
    by = iter(scale.tolist())
    changes = [(max(x) - min(x)) / next(by) for x in q.T.tolist()]
    speeds = [max(map(abs, x)) / next(by) for x in v.T.tolist()]
    for what, sizes in (("coordinate", changes), ("velocity", speeds)):
        if AT_REST < (size := max(sizes, default=0.0)) < atol / (UNSUITABLE * rtol):
            yield (
                f"the largest change of a {what} is {size / atol:.2g} times its absolute tolerance; an atol below "
                f"{atol:g} would resolve this motion [atol-size]"
            )
            return


def about_pivots(course: Course) -> Iterator[str]:
    if course.repivoted:
        shown = ", ".join(f"{t:.6g}" for t in course.repivoted[:MOST_TOLD])
        more = f" and {len(course.repivoted) - MOST_TOLD} times more" if len(course.repivoted) > MOST_TOLD else ""
        yield f"a pivot came near zero, and others were chosen, at t = {shown}{more} [repivoted]"


def about_matrices(last: Slice) -> Iterator[str]:
    if last.unplanned:
        yield (
            f"the pivots chosen at the start were too small for {last.unplanned} matrices of the implicit method, "
            "which were factored as full ones [full-matrices]"
        )


def about_grazes(system: System, last: Slice) -> Iterator[str]:
    events = system.equations.events
    for k, (event, t) in enumerate(zip(events, last.grazes, strict=False)):
        if np.isfinite(t) and event.when not in (other.when for other in events[:k]):  # begin and end are one
            yield f"event '{event.name}' was at zero at t = {t:.9g} and did not go beyond: it is not counted [grazing]"


def about_blur(system: System, last: Slice) -> Iterator[str]:
    watch = system.functions.get("switches")
    if last.blurred > BLURRED * last.t and watch and watch.outputs > len(system.pivots):  # not pivots alone
        yield (
            f"what switches was not seen clearly in {last.blurred / last.t:.2g} of the time: it changes its sign more "
            "often than steps show, and some may be missed; a smaller max_step looks more often [unseen-switches]"
        )
