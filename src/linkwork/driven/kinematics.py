"""The motion of a mechanism whose drivers take all its freedoms.

At every instant   Psi(t, q) = 0,    Psi_q v = -Psi_t,    Psi_q a = gamma,    Psi_q^T lam = Q - M a:

the constraints determine positions, velocities and accelerations, and inverse dynamics driving forces and reactions.
So it is a motion of the one time loop: a step predicts q and v from the accelerations, Newton's iteration projects its
end, and report rows inside it, onto the constraints, and what the prediction errs by chooses the next step, which keeps
the motion on its branch. Reports, events, stops and budgets are those of every motion. The linear systems are those of

    [ W      Psi_q^T ]
    [ Psi_q  -eps    ]        W = mass diag(1, 1, arm^2) for every body

and are repeated until the residuals of the equations with the true M vanish, so that redundant constraints need no
special treatment, bodies may have no mass, and positions do not depend on inertia.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.compiled.system import System, compile_system
from linkwork.constraints.projection import project_start
from linkwork.driven.limit import find_limit
from linkwork.elements.kinds import Columns
from linkwork.equations.coordinates import Coordinates
from linkwork.equations.equations import TIME, Equations
from linkwork.equations.place import Place
from linkwork.equations.programs import MOTION
from linkwork.errors import Interrupted, NumericalStop, UsageError, checked_call, quoted
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import ZERO, symbol
from linkwork.integrators.integrate import End, Problem, Settings, report_times
from linkwork.integrators.methods.tableaus import DOP853
from linkwork.model import Model
from linkwork.native import cache
from linkwork.notes import FINISHED, Note, Reason
from linkwork.records import changed
from linkwork.simulation.events import Course
from linkwork.simulation.inputs import check_given
from linkwork.simulation.options import MOST_STEPS, Choice, Integrator
from linkwork.simulation.outputs import check_memory
from linkwork.simulation.problem import Motion, form_of, measure_at
from linkwork.simulation.result import describe, result
from linkwork.simulation.run import run
from linkwork.simulation.stop_reasons import explain_stop
from linkwork.soundness import check_span
from linkwork.start.check import note_start
from linkwork.start.closing import find_start, follow_bodies, restart
from linkwork.start.dead_points import check_open
from linkwork.start.freedoms import check_driving, explain_singular_start
from linkwork.start.singular import name_elements
from linkwork.tolerances import NEGLIGIBLE
from linkwork.trajectory import Table, Trajectory

if TYPE_CHECKING:
    from linkwork.equations.varied import Chosen

Array = NDArray[np.float64]

ARM = symbol("kinematics.arm")  # a length of the mechanism, by which turns compare with shifts
MASS = symbol("kinematics.mass")  # the largest, so that the solution is repeated as seldom as with M itself
PREDICTED = Choice("augmented", "projection", 0.0, 0.0, DOP853.name)


@checked_call()
@np.errstate(all="ignore")  # what is not finite is looked for where it matters
def kinematics(
    model: Model | Mechanism,
    parameters: Mapping[str, float | str] | None = None,
    *,
    coordinates: str | Coordinates | None = None,
    t_end: float | str | None = None,
    step: float | str | None = None,
    max_steps: int = MOST_STEPS,
    assemble: bool = False,
    progress: Callable[[float, float], None] | None = None,
) -> Trajectory:
    """Return the motion that the drivers of a mechanism prescribe, with driving forces and reactions.

    Arguments that are None are taken from the model; `parameters` are other values of those that it names. `assemble`
    allows the start position to be far from closed. A run
    that has tried `max_steps` stops. Singular positions that are passed are in the notes and in
    info.singular_positions. Where the mechanism locks, NumericalStop with the code "lock-up" carries the trajectory so
    far, the time `t`, the `position` and the `joints`.
    """
    mechanism = prepare(model, coordinates).changed(parameters or {})
    check_given(mechanism.model, parameters or {})
    return follow_drivers(mechanism, t_end, step, max_steps, assemble, progress)


def follow_drivers(
    mechanism: Mechanism,
    t_end: float | str | None,
    step: float | str | None,
    max_steps: int,
    assemble: bool,
    progress: Callable[[float, float], None] | None,
    varied: Chosen = (),
    backward: bool = False,
) -> Trajectory:
    """Return the motion that drivers prescribe, with its derivatives by these parameters."""
    began, compiling = perf_counter(), cache.seconds()
    check_open(mechanism.equations)
    Integrator(max_steps=max_steps)  # refuses what is no budget
    settings = mechanism.model.simulation.changed(t_end, step)
    times = report_times(0.0, settings.t_end, settings.step)
    check_span(mechanism.model, settings)
    check_memory(times, mechanism.equations)
    check_events(mechanism.equations)
    check_slips(mechanism.equations)
    check_driving(mechanism, assemble)
    motion = Driven.begin_at(mechanism, assemble, varied, backward)
    bodies = follow_bodies(motion.start)
    moved = replace(bodies, given=replace(bodies.given, v=bodies.place.v))  # velocities follow from the drivers
    info = describe(motion, settings, note_start(mechanism.model, moved))
    info = replace(
        info,
        analysis="kinematics",
        formulation="kinematic",
        stabilization="newton",
        integrator="none",
        rtol=None,
        atol=None,
        notes=(*(note for note in info.notes if note.code != "zero-mass"), *note_masses(motion)),
    )
    course = Course(motion)

    def conclude(status: str, reason: Reason = FINISHED) -> Trajectory:
        about = changed(info, compile_s=cache.seconds() - compiling, wall_s=perf_counter() - began)
        found = result(course, about, status, reason)
        if varied:
            from linkwork.driven.varied import DrivenAdjoint, DrivenGradients

            found = replace(found, gradients=(DrivenAdjoint if backward else DrivenGradients)(course, varied))
        if motion.is_loaded:
            return found
        nothing = Table(Columns(), np.empty((len(found.t), 0)))
        return replace(found, tables={**found.tables, **dict.fromkeys(("reactions", "driving", "loads"), nothing)})

    try:
        y = project_start(motion.system, motion.p, motion.start.place)
        least = NEGLIGIBLE * settings.t_end  # no run ends in such steps: towards a position where it locks they shrink
        course.set_off(Settings(settings.rtol, settings.atol, least), times, y, max_steps)
        end = run(course, lambda t: progress(t / settings.t_end, t) if progress is not None else None)
        if end == End.REACHED:
            return conclude("finished", course.ended_by)
    except KeyboardInterrupt:
        if course.until is None:
            raise
        message = f"interrupted at t = {course.until.t:.6g} of {settings.t_end:.6g}"
        raise Interrupted(message, trajectory=conclude("interrupted", Reason("interrupted"))) from None
    raise explain(course, end, max_steps, conclude)


@dataclass(eq=False)
class Driven(Motion):
    """A motion that drivers prescribe."""

    @staticmethod
    def begin_at(mechanism: Mechanism, assemble: bool, varied: Chosen = (), backward: bool = False) -> Driven:
        """Begin where the model states the positions, closed."""
        key = "driven", backward, *varied
        code: System = mechanism.shared.compiled(key, lambda e: compile_driven(e, varied, backward))
        stated = mechanism.place()
        inertia = stated.mass.diagonal / np.where(mechanism.equations.turning, stated.length**2, 1.0)
        values = {ARM: stated.length, MASS: float(inertia.max(initial=0.0)) or 1.0}
        system = code.with_values(code.equations.with_values({**mechanism.equations.parameters, **values}))
        still = dict.fromkeys((mechanism.equations.chart.body or mechanism.equations).v_names, 0.0)
        given = restart(system.start(), None, still, "unit", assemble)
        start = find_start(given, "unit", any_distance=assemble)
        if start.place.rank.rank < system.n_v:
            raise explain_singular_start(start.place)
        form = form_of(mechanism, PREDICTED, system)
        return Driven(mechanism, PREDICTED, start, form, measure_at(form, start.place))

    @cached_property
    def stated(self) -> Place:
        """The stated position, with the inertia that forces meet."""
        return self.mechanism.place()

    @property
    def is_loaded(self) -> bool:
        """Return whether there is anything that reactions could hold."""
        return bool(np.any(self.stated.mass.diagonal > 0.0) or self.mechanism.model.acting)

    def problem(self) -> Problem:
        key = ("problem", "driven", self.system.functions["derivative"].address)
        return self.mechanism.shared.compiled(key, lambda _: self.new_problem())


def in_metric(e: Equations) -> Equations:
    """Return the equations with W in the place of M, and without forces, which nothing of the motion depends on."""
    W = {(k, k): MASS * ARM * ARM if turns else MASS for k, turns in enumerate(e.turning)}
    parameters, hints = {**e.parameters, ARM: 1.0, MASS: 1.0}, replace(e.hints, chain=None)
    return replace(e, M=W, Q=(ZERO,) * len(e.Q), parameters=parameters, hints=hints)


def compile_driven(e: Equations, varied: Chosen = (), backward: bool = False) -> System:
    if not varied:
        return compile_system(in_metric(e), MOTION, loaded=e)
    from linkwork.equations.varied import programs, transposes

    return compile_system(in_metric(e), (*MOTION, *(transposes if backward else programs)(varied)), loaded=e)


def check_events(e: Equations) -> None:
    """Raise UsageError where events would change what drivers prescribe."""
    if names := [event.name for event in e.events if event.rows or event.switches_joints]:
        message = f"{quoted(names)} would change velocities or joints, which drivers prescribe where they take all "
        raise UsageError(f"{message}freedoms; leave out such events, or simulate the motion", "driven-events")


def check_slips(e: Equations) -> None:
    """Raise UsageError where positions do not follow from the drivers alone."""
    if names := dict.fromkeys(e.rows[i].element for i in e.slips):
        message = f"{quoted(names)} hold velocities, so that where the drivers lead depends on the way there"
        raise UsageError(f"{message}; simulate the motion, which follows its drivers too", "nonholonomic")


def note_masses(motion: Driven) -> Iterator[Note]:
    """Note where nothing has inertia, or some of the bodies have no mass or no moment of inertia."""
    e = motion.system.equations
    if not motion.is_loaded:
        yield Note("no-masses")
        return
    light = [k for k, x in enumerate(motion.stated.mass.diagonal) if x <= 0.0]
    owners = ({e.velocities[k].owner: None for k in light if e.turning[k] == turns} for turns in (False, True))
    without_mass, without_inertia = map(list, owners)
    if light:
        yield Note("zero-mass", without_mass=without_mass, without_inertia=without_inertia)


def explain(course: Course, end: End, max_steps: int, conclude: Callable[[str, Reason], Trajectory]) -> NumericalStop:
    """Return why the motion does not go on."""
    motion, state = course.motion, course.motion.state
    place = motion.place_at(state.t, state.y)
    limit = None if course.stopped or state.tried >= max_steps else find_limit(place)
    if limit is None:
        reason = course.stopped or (
            Reason("no-position", t=state.t)
            if end in (End.STEP_TOO_SMALL, End.NOT_PROJECTED)
            else explain_stop(motion, end)
        )
        return NumericalStop(reason, reason.code, trajectory=conclude("stopped", reason), t=state.t)
    e, model = motion.system.equations, motion.mechanism.model
    joints = name_elements(e.rows, limit.involvement)
    values = {symbol(name): value for name, value in model.parameters.items()}
    at = evaluate([driver.motion.f(TIME) for driver in model.drivers], {**values, TIME: limit.t})
    driven = {driver.name: float(x) for driver, x in zip(model.drivers, at, strict=True)}
    reason = Reason("lock-up", t=limit.t, drivers=driven, joints=[*joints])
    assert course.until is not None
    course.until = course.until._replace(t=float(state.times[course.until.rows - 1]))  # velocities grow without limit
    return NumericalStop(
        reason,
        reason.code,
        trajectory=conclude("stopped", reason),
        t=limit.t,
        position={name: float(x) for name, x in zip(e.q_names, limit.q, strict=True)},
        joints=joints,
        drivers=driven,
    )
