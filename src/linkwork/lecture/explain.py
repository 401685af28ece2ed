"""A formulation worked out on a mechanism, step by step, as a teacher would write it.

What is short enough is written in symbols (see symbolic.py), everything in numbers, and `augmented` has the last word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.driven.kinematics import kinematics
from linkwork.equations.coordinates import Coordinates
from linkwork.equations.place import Array
from linkwork.errors import UsageError, check_choice, checked_call
from linkwork.formulations import ALGEBRAIC, EXPLICIT, FORMULATIONS, Formulation, name_of
from linkwork.lecture.analyses import ANALYSES, DYNAMICS
from linkwork.lecture.exercise import Exercise, Instant
from linkwork.lecture.sheet import Worked
from linkwork.lecture.steps import METHODS, teach_own
from linkwork.lecture.symbolic import Numbers
from linkwork.model import Model
from linkwork.simulation.simulate import simulate
from linkwork.simulation.suitability import check_massless
from linkwork.tolerances import ROUNDING
from linkwork.trajectory import Trajectory

LEAVING_OUT = (*ALGEBRAIC, EXPLICIT)  # formulations that leave out rows which depend on others

__all__ = ["ANALYSES", "METHODS", "Worked", "explain"]


@checked_call()
def explain(
    model: Model | Mechanism,
    formulation: str | Formulation = "augmented",
    at: float = 0.0,
    progress: Callable[[float, float], None] | None = None,
    coordinates: str | Coordinates | None = None,
    pivoting: str | Sequence[int] = "sparse",
    analysis: str = DYNAMICS,
    assemble: bool = False,
) -> Worked:
    """Work out a formulation step by step at time `at` of the motion, which is simulated to there, or an analysis.

    `pivoting` is that of `lu`: how the row of a pivot is chosen, or which rows are taken. `assemble` closes wide gaps
    of the start first.
    """
    chosen = name_of(formulation, (*METHODS, *FORMULATIONS))
    check_choice("analysis", analysis, (DYNAMICS, *ANALYSES))
    if analysis != DYNAMICS and chosen != "augmented":
        raise UsageError(f"{analysis} has no formulation to choose", "no-effect")
    if pivoting != "sparse" and chosen != EXPLICIT:
        raise UsageError(f"pivoting has no effect on {chosen}", "no-effect")
    if not 0.0 <= at < np.inf:
        raise UsageError(f"the time must be zero or positive, not {at:g}", "bad-time")
    if analysis == "modes" and coordinates not in (None, "body"):
        raise UsageError("all modes are found in the coordinates of the bodies", "no-effect")
    if assemble:
        from linkwork.assembly.assemble import closed

        model = closed(model)
    mechanism = prepare(model, "body" if analysis == "modes" else coordinates)
    if not mechanism.equations.v:
        message = "these coordinates leave the mechanism no velocity: there is no acceleration to be worked out"
        raise UsageError(message, "no-velocities")
    if analysis != DYNAMICS:
        method = ANALYSES[analysis]
        instant = reach(mechanism, at, progress, kinematics) if method.moves else sketch(mechanism)
        return Exercise(instant, analysis, method).work_out()
    instant = reach(mechanism, at, progress)
    if not instant.numbers.mass.is_regular:
        check_massless(instant.numbers, chosen)
    if instant.numbers.equations.Psi and not instant.numbers.rows.independent and chosen not in LEAVING_OUT:
        instant = _without_rows(instant)
    method = METHODS.get(chosen) or teach_own(FORMULATIONS[chosen])
    return Exercise(instant, chosen, method, pivoting).work_out()


def reach(
    model: Model | Mechanism,
    at: float,
    progress: Callable[[float, float], None] | None = None,
    move: Callable[..., Trajectory] = simulate,
) -> Instant:
    """Return the mechanism at this time."""
    mechanism = prepare(model)
    step = mechanism.model.simulation.step
    motion = move(mechanism, t_end=at or step, step=at or step, progress=progress)
    now = -1 if at else 0
    e = mechanism.equations
    q, v, a = (motion.tables[kind].values[now] for kind in e.chart.state)
    if at and motion.info.held:  # what events have changed
        e = e.with_values({x: motion.info.held.get(str(x.value), value) for x, value in e.parameters.items()})
    found = Numbers(e, q, v, at)
    q, v = without_rounding(q, found.q_scale, 1.0), without_rounding(v, found.v_scale)
    return Instant(mechanism.model.name, Numbers(e, q, v, at), a, motion.lam[now], step, mechanism)


def _without_rows(instant: Instant) -> Instant:
    """Return the mechanism without constraints, which hold by themselves."""
    x = instant.numbers
    free = Numbers(x.equations.with_rows(()), x.q, x.v, x.t)
    left_out = tuple(str(row) for row in x.equations.rows)
    return replace(instant, numbers=free, lam=np.zeros(0), left_out=left_out)


def sketch(mechanism: Mechanism) -> Instant:
    """Return the mechanism as it is stated, whether it closes or not."""
    given, e = mechanism.place(), mechanism.equations
    none = np.zeros(len(e.v)), np.zeros(len(e.Psi))
    return Instant(mechanism.model.name, Numbers(e, given.q, given.v), *none, mechanism=mechanism)


def without_rounding(x: Array, scale: Array, largest: float = 0.0) -> Array:
    """Set to zero what is rounding beside the largest entry, lengths and angles each by their scale."""
    sizes = np.abs(x) / scale
    return np.where(sizes <= ROUNDING * np.max(sizes, initial=largest), 0.0, x)
