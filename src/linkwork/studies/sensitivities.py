"""Motions with their exact derivatives by parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.driven.kinematics import follow_drivers
from linkwork.equations.coordinates import Coordinates
from linkwork.errors import UsageError, checked_call
from linkwork.integrators.methods.tableaus import DOP853, EXPLICIT
from linkwork.model import Model
from linkwork.native import cache
from linkwork.simulation.inputs import check_given
from linkwork.simulation.options import MOST_STEPS, Integrator, Start, choose
from linkwork.simulation.simulate import follow
from linkwork.simulation.varied import check_variable, choose_parameters
from linkwork.soundness import check_span
from linkwork.trajectory import Trajectory

AS_MANY = 10  # parameters cost as much beside a motion as one number does back in time


def pays_backward(mechanism: Mechanism, parameters: int, numbers: int) -> bool:
    """Whether derivatives of so many numbers by so many parameters are had sooner back in time.

    Where laws switch steps must be small enough for the derivatives too, which are integrated beside the motion then.
    """
    return not mechanism.equations.switches and parameters > AS_MANY * numbers


@checked_call()
@np.errstate(all="ignore")  # what is not finite is looked for where it matters
def sensitivities(
    model: Model | Mechanism,
    by: Sequence[str],
    parameters: Mapping[str, float] | None = None,
    *,
    start: Mapping[str, float] | Start | None = None,
    coordinates: str | Coordinates | None = None,
    t_end: float | str | None = None,
    step: float | str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    integrator: str | Integrator = DOP853.name,
    driven: bool = False,
    backward: bool = False,
    progress: Callable[[float, float], None] | None = None,
) -> Trajectory:
    """Integrate the motion of a mechanism with its exact derivatives by parameters.

        motion = sensitivities(model, ["l1", "crank.mass"], t_end=5)
        motion.gradient("crank.phi", "l1")

    `by` are parameters that the model names, or numbers in it by their places, as "crank.mass". The variational
    equations of the motion are integrated beside it by an explicit method; the error is controlled by the motion. With
    `driven` it is the motion of `kinematics`, whose derivatives follow from those of the constraints. With `backward`
    derivatives are found when they are asked for, each number by all parameters at once, back in time: the same
    derivatives, had sooner of few numbers by many parameters. All other arguments are those of `simulate`.
    """
    since = perf_counter(), cache.seconds()
    mechanism = prepare(model, coordinates).changed(parameters or {})
    check_given(mechanism.model, parameters or {})
    chosen = choose_parameters(mechanism, by)
    check_variable(mechanism)
    begin = start if isinstance(start, Start) else Start(start)
    if driven:
        if begin != Start(assemble=begin.assemble):
            raise UsageError("where drivers prescribe the motion there are no start values to choose", "no-effect")
        return follow_drivers(mechanism, t_end, step, MOST_STEPS, begin.assemble, progress, chosen, backward)
    settings = mechanism.model.simulation.changed(t_end, step, rtol, atol)
    check_span(mechanism.model, settings)
    method = integrator if isinstance(integrator, Integrator) else Integrator(integrator)
    how = choose("augmented", "projection", method.method, settings.t_end)
    if how.integrator not in EXPLICIT:
        raise UsageError(f"derivatives are integrated by an explicit method, not by {how.integrator}", "not-varied")
    if begin.resume is not None:
        raise UsageError("a motion that is continued has no derivatives", "not-varied")
    how = replace(how, pulled=chosen) if backward else replace(how, varied=chosen)
    return follow(mechanism, settings, how, method, begin, (), progress, since)
