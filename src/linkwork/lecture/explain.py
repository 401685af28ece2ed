"""A formulation worked out on a mechanism, step by step, as a teacher would write it.

What is short enough is written in symbols (see symbolic.py), everything in numbers, and `augmented` has the last word.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from linkwork.equations.body import body_equations
from linkwork.equations.equations import TIME
from linkwork.errors import UsageError, check_choice
from linkwork.lecture.exercise import Exercise, Instant, Worked
from linkwork.lecture.steps import METHODS
from linkwork.lecture.symbolic import Numbers
from linkwork.model import Model
from linkwork.motion.simulate import simulate
from linkwork.soundness import sound

__all__ = ["METHODS", "Worked", "explain"]


def explain(
    model: Model,
    formulation: str = "augmented",
    at: float = 0.0,
    progress: Callable[[float, float], None] | None = None,
) -> Worked:
    """The steps of a formulation at time `at` of the motion, which is simulated up to there."""
    check_choice("formulation", formulation, METHODS)
    if not 0.0 <= at < np.inf:
        raise UsageError(f"the time must be zero or positive, not {at:g}", "bad-time")
    return Exercise(instant(model, at, progress), formulation, METHODS[formulation]).worked()


@lru_cache(maxsize=4)
def instant(model: Model, at: float, progress: Callable[[float, float], None] | None) -> Instant:
    """The mechanism at this time; kept, because one formulation is seldom explained alone."""
    model = sound(model)
    equations = body_equations(model)
    t_end = at or model.simulation.step
    motion = simulate(model, t_end=t_end, step=t_end, progress=progress)
    now = -1 if at else 0
    values = {**equations.parameters, TIME: at}
    values |= dict(zip((*equations.q, *equations.v), map(float, (*motion.q[now], *motion.v[now])), strict=True))
    return Instant(model.name, at, Numbers(equations, values), motion.a[now], motion.lam[now])
