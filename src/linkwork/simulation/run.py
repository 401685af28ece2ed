"""The one loop in Python: run a piece of the motion, look up what to do about how it ended, go on.

What is done between two pieces depends on the motion alone, never on the clock: a piece that ends because its steps are
used up changes nothing, and where something is looked at after so many steps, their number is fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

from linkwork.equations.implicit import N_WORK
from linkwork.integrators.integrate import End
from linkwork.integrators.methods import AUTO, RADAU5
from linkwork.integrators.methods.tableaus import DOP853
from linkwork.linalg.rank import TINY
from linkwork.native.calls import raise_pending
from linkwork.simulation.events import Course
from linkwork.simulation.problem import Level, Motion, compile_form, form_of, metric_for
from linkwork.start.branches import leave_singular

SECONDS = 0.1  # that a piece may last, so that progress is shown and Ctrl-C is heard
FIRST_BUDGET = 16_384  # attempted steps, times components, before it is known how long they take
DEPENDENT = 0.1  # of the least singular value of the rows that would be chosen now: that of the rows to be given up


def run(course: Course, tell: Callable[[float], None]) -> End:
    """Advance the motion until it has reached its end or cannot go on; how its last piece ended."""
    motion = course.motion
    first = max(1, FIRST_BUDGET // motion.state.problem.ny)
    budget = 0 if course.stopped else first
    while True:
        state, tried, began = motion.state, motion.state.tried, perf_counter()
        end = state.advance(budget)
        taken = perf_counter() - began
        raise_pending()
        course.take_moments(end)
        goes_on = course.stopped is None and end in HANDLERS and HANDLERS[end](course, end)
        course.note_piece()
        tell(state.t)
        if not goes_on:
            return End.STOPPED if course.stopped else End.REACHED if end == End.EVENT else end
        if (done := state.tried - tried) > 0 and not has_dependent_rows(motion):
            budget = max(1, min(100 * budget, int(done * SECONDS / max(taken, TINY))))
        elif done > 0:
            budget = first


def meet(course: Course, _: End) -> bool:
    """Meet an event about which the time loop asks."""
    return course.meet()


def pass_switch(course: Course, _: End) -> bool:
    """Pass a law that has switched, which makes no difference to the motion itself."""
    course.pass_switch()
    return True


def has_dependent_rows(motion: Motion) -> bool:
    """Whether an algebraic form leaves out rows that depend on those that it keeps."""
    return motion.form.how.is_algebraic and len(motion.measured.place.rows.independent) < motion.system.m


def exchange_rows(course: Course, end: End) -> bool:
    """Keep other rows where those of an algebraic form have become dependent on each other."""
    motion, state, goes_on = course.motion, course.motion.state, end == End.BUDGET
    if not has_dependent_rows(motion):
        return goes_on
    place, kept = motion.place_at(state.t, state.y), motion.measured.place.rows.independent
    others, needed = place.rows.independent, DEPENDENT if goes_on else 1.0
    if others == kept or place.rows.independence_of(kept) >= needed * place.rows.independence_of(others):
        return goes_on
    motion.measure_anew(state.t, state.y)
    state.at.next_step = 0.0
    renew(course, Level.PROBLEM)
    return True


def change_method(course: Course, _: End) -> bool:
    """Go on with an implicit method where the motion is stiff, and with the explicit one where it is not."""
    motion, place = course.motion, course.motion.measured.place
    name = AUTO.name if motion.form.how.integrator == RADAU5 else RADAU5
    if name not in motion.forms:
        how = replace(motion.how, integrator=name)
        rows = leave_singular(place).rows.independent if motion.system.pivots else None
        system = compile_form(motion.mechanism, how, metric_for(place, how), place, rows)
        motion.forms[name] = form_of(motion.mechanism, how, system, detects=True)
    motion.take_form(motion.forms[name])
    course.methods.append((motion.state.t, DOP853.name if name == AUTO.name else name))
    motion.state.at.next_step = 0.0
    renew(course, Level.PROBLEM)
    return True


def renew(course: Course, level: Level) -> None:
    """Go on from the same state."""
    motion, state = course.motion, course.motion.state
    motion.renew(level, state.t, state.y[: motion.n + N_WORK])
    course.tell_asks()


HANDLERS: dict[End, Callable[[Course, End], bool]] = {  # each says whether the motion goes on
    End.BUDGET: exchange_rows,
    End.EVENT: meet,
    End.UNSUITED: change_method,
    End.SWITCH: pass_switch,
    End.STEP_TOO_SMALL: exchange_rows,
    End.NOT_PROJECTED: exchange_rows,
}
