"""Motion in time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.constraints.projection import project_start
from linkwork.equations.coordinates import Coordinates
from linkwork.equations.implicit import N_WORK
from linkwork.equations.place import Weights
from linkwork.errors import Interrupted, NumericalStop, UsageError, check_values, checked_call, option
from linkwork.formulations import Formulation
from linkwork.integrators.integrate import End, Settings, report_times
from linkwork.integrators.methods.tableaus import Tableau
from linkwork.model import Model, Simulation
from linkwork.native import cache
from linkwork.notes import FINISHED, Reason
from linkwork.records import changed
from linkwork.simulation.controllers import Controller, check_controllers
from linkwork.simulation.events import Course
from linkwork.simulation.inputs import Value, take_values
from linkwork.simulation.judgement import judge, refuse_doubtful
from linkwork.simulation.options import Baumgarte, Choice, Integrator, Ranked, Stabilization, Start, choose
from linkwork.simulation.outputs import check_memory
from linkwork.simulation.problem import Motion
from linkwork.simulation.result import describe, is_beyond_doubt, result
from linkwork.simulation.resume import check_resumable, join, resume_at
from linkwork.simulation.run import run
from linkwork.simulation.stop_reasons import explain_stop
from linkwork.simulation.suitability import check_size, check_states
from linkwork.soundness import check_span
from linkwork.start.check import note_start
from linkwork.tolerances import CLOSED, TYPED
from linkwork.trajectory import Trajectory

if TYPE_CHECKING:
    from linkwork.integrators.methods.generalized_alpha import GeneralizedAlpha

Array = NDArray[np.float64]


CUT = 'coordinates=Coordinates("joint", cut=[...])'
START = {name: f"start=Start({name}=...)" for name in ("assemble", "keep", "weights", "resume")}
START |= {"q": 'start={"crank.phi": 0.3}', "v": 'start={"crank.omega": 2.0}'}
LIMITS = {name: f"integrator=Integrator({name}=...)" for name in ("max_step", "max_steps")}


@checked_call(**START, **LIMITS, cut=CUT, inputs='parameters={"u": ...}, a number, a function or a table')
@np.errstate(all="ignore")  # what is not finite is looked for where it matters
def simulate(
    model: Model | Mechanism,
    parameters: Mapping[str, Value] | None = None,
    *,
    start: Mapping[str, float | str] | Start | None = None,
    coordinates: str | Coordinates | None = None,
    t_end: float | str | None = None,
    step: float | str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    formulation: str | Formulation | Ranked = "augmented",
    stabilization: Stabilization | Baumgarte = "projection",
    integrator: str | Tableau | GeneralizedAlpha | Integrator = "auto",
    controllers: Sequence[Controller] = (),
    progress: Callable[[float, float], None] | None = None,
) -> Trajectory:
    """Simulate a mechanism from its start values to t_end.

    Arguments that are None are taken from the model. Times are seconds, or texts with units: "20 ms".

    - `parameters`: other values of parameters and inputs that the model names, in SI; or functions that give them as
      the motion goes on, {"u": lambda t, state: -3 * state["arm.omega"]}, where the state are coordinates and
      velocities of the run by name. Functions are called at every evaluation, some microseconds each. Of an input also
      tables of time, {"u": (times, values)}.
    - `start`: other start values by name, {"crank.phi": 0.3, "crank.omega": 2.0}; Start(..., assemble=True) says how
      they are corrected, and Start(resume=motion) continues a motion that ended early.
    - `coordinates`: body, joint, minimal, euler or auto; Coordinates("joint", cut=["B"]) cuts loops at these joints.
    - `t_end`, `step`: end, and time between report times; the integrator chooses its own steps.
    - `rtol`, `atol`: tolerances; an atol of the model is not looser than an rtol that is given.
    - `formulation`, `stabilization`, `integrator`: by name, or with options of their own: Ranked("svd", 1e-8),
      Baumgarte(alpha=20, beta=20), GeneralizedAlpha(rho=0.8, fixed=1e-3), or a method of your own, see linkwork.own.
      Integrator("dop853", max_step="1 ms", max_steps=10000) limits its steps.
    - `controllers`: functions that are asked at multiples of a time for values of inputs, which hold in between:
      [Controller(every="1 ms", call=lambda t, outputs: {"u": -3 * outputs["angle"]})].
    - `progress`: called with the finished fraction and the time reached.
    """
    began, compiling = perf_counter(), cache.seconds()
    mechanism = _take(model, parameters or {}, coordinates, bool(controllers))
    check_controllers(mechanism.model, controllers)
    settings = _settle(mechanism, t_end, step, rtol, atol)
    by = integrator if isinstance(integrator, Integrator) else Integrator(integrator)
    how = choose(formulation, stabilization, by.method, settings.t_end)
    begin = start if isinstance(start, Start) else Start(start)
    return follow(mechanism, settings, how, by, begin, controllers, progress, (began, compiling))


def follow(
    mechanism: Mechanism,
    settings: Simulation,
    how: Choice,
    by: Integrator,
    begin: Start,
    controllers: Sequence[Controller],
    progress: Callable[[float, float], None] | None,
    since: tuple[float, float],
) -> Trajectory:
    """Follow the motion by this choice, with its derivatives where `how` asks for them."""
    began, compiling = since
    fixed_step = None if how.by_alpha is None else how.by_alpha.fixed
    control = _limit_steps(settings, by.longest, fixed_step)
    times = report_times(0.0, settings.t_end, settings.step)
    check_memory(times, mechanism.equations)
    check_size(len(mechanism.equations.v), how.formulation)
    check_states(mechanism.equations, how.integrator)
    q, v, resume = *begin.split(mechanism), begin.resume
    motion = Motion.begin(mechanism, how, begin.weights, begin.assemble, begin.keep, q, v)
    motion.controllers = controllers
    y, grid = begin_state(motion, begin.weights, how.stabilization), times
    if resume is not None:
        check_resumable(resume, mechanism.model, motion.start.place, settings.t_end)
        y = resume_at(motion, resume)
        times = np.append(resume.t[-1], grid[grid > resume.t[-1]])
    course = Course(motion, resume is not None)
    if how.varied:
        from linkwork.simulation.varied import VariedCourse, VariedMotion

        motion = VariedMotion.of(motion, begin, q, v)
        course = VariedCourse(motion)
    if how.pulled:
        from linkwork.simulation.adjoint import RecordedCourse, RecordedMotion

        motion = RecordedMotion.of(motion, begin, q, v)
        course = RecordedCourse(motion)

    def conclude(status: str, reason: Reason = FINISHED) -> Callable[[], Trajectory]:
        times_taken = {"compile_s": cache.seconds() - compiling, "wall_s": perf_counter() - began}

        @np.errstate(all="ignore")
        def evaluated() -> Trajectory:
            info = changed(describe(motion, settings, note_start(mechanism.model, motion.start, q, v)), **times_taken)
            found = result(course, info, status, reason)
            found = found if resume is None else join(resume, found, grid)
            if how.varied:
                from linkwork.simulation.varied import Gradients

                found = replace(found, gradients=Gradients(course, how.varied))
            if how.pulled:
                from linkwork.simulation.adjoint import RecordedAdjoint

                found = replace(found, gradients=RecordedAdjoint(course, how.pulled))
            if status != "finished":
                return found
            return judge(found, motion.start.place, *motion.extent, fixed_step is not None)

        return evaluated

    try:
        course.set_off(control, times, y, by.max_steps)
        end = run(course, lambda t: progress(t / settings.t_end, t) if progress is not None else None)
        if end == End.REACHED:
            can_wait = not motion.asks_python and is_beyond_doubt(course)
            evaluated = conclude("finished", course.ended_by)
            return Trajectory.later(evaluated) if can_wait else refuse_doubtful(evaluated())
    except KeyboardInterrupt:
        if course.until is None:
            raise
        message = f"interrupted at t = {course.until.t:.6g} of {settings.t_end:.6g}"
        raise Interrupted(message, trajectory=conclude("interrupted", Reason("interrupted"))()) from None
    reason = course.stopped or explain_stop(motion, end, fixed_step)
    raise NumericalStop(reason, reason.code, trajectory=conclude("stopped", reason)())


def _take(
    model: Model | Mechanism,
    parameters: Mapping[str, Value],
    coordinates: str | Coordinates | None,
    is_controlled: bool,
) -> Mechanism:
    """Return the mechanism in these coordinates with these values of parameters and inputs."""
    check_values("parameters", parameters)
    return take_values(prepare(model, coordinates), parameters, is_controlled)


def begin_state(motion: Motion, weights: Weights, stabilization: str) -> Array:
    """Find the state from which the motion begins: on the constraints, or as it is given if it is not to be
    corrected.
    """
    place = motion.start.place
    if weights != "none":
        return project_start(motion.system, motion.p, place)
    if place.gap > CLOSED and stabilization != "none":
        message = f"the start is not to be corrected, but '{stabilization}' would close its gaps in the first step"
        raise UsageError(f"{message}; choose {option('stabilization', 'none')}", "no-effect")
    return np.concatenate([place.q, place.v, np.zeros(N_WORK)])


def _settle(
    mechanism: Mechanism, t_end: float | str | None, step: float | str | None, rtol: float | None, atol: float | None
) -> Simulation:
    """Settle times and tolerances: what is given, else those of the model."""
    settings = mechanism.model.simulation.changed(t_end, step, rtol, atol)
    check_span(mechanism.model, settings)
    return settings


def _limit_steps(settings: Simulation, most: float, fixed_step: float | None) -> Settings:
    """Choose how to integrate, with steps as long as they may be."""
    least = 0.0
    if fixed_step is not None:
        least, most = (1.0 - TYPED) * fixed_step, fixed_step  # one that is shorter is not tried
    return Settings(settings.rtol, settings.atol, least, most)
