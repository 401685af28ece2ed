"""The motion of a mechanism whose drivers take all its freedoms, without integration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.driven.kernels import Driven, state_of
from linkwork.driven.path import Path
from linkwork.elements.kinds import Columns
from linkwork.equations.equations import TIME
from linkwork.errors import Interrupted, NumericalStop
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import symbol
from linkwork.integrators.integrate import report_times
from linkwork.model import Model
from linkwork.native import cache
from linkwork.notes import FINISHED, Note, Reason
from linkwork.simulation.notes import note_machine
from linkwork.simulation.outputs import check_memory, report, trajectory
from linkwork.soundness import check_span
from linkwork.start.check import note_start
from linkwork.start.closing import find_start, follow_bodies, restart
from linkwork.start.dead_points import check_open
from linkwork.start.freedoms import check_driving, explain_singular_start
from linkwork.start.singular import MOST_TOLD, name_elements, name_positions, note_singular
from linkwork.trajectory import Run, Table, Trajectory

Array = NDArray[np.float64]


@np.errstate(all="ignore")  # what is not finite is looked for where it matters
def kinematics(
    model: Model | Mechanism,
    *,
    coordinates: str | None = None,
    cut: Sequence[str] | None = None,
    t_end: float | None = None,
    step: float | None = None,
    assemble: bool = False,
    progress: Callable[[float, float], None] | None = None,
) -> Trajectory:
    """The motion that the drivers of a mechanism prescribe, with driving forces and reactions.

    Arguments that are None are taken from the model. `assemble` allows the start position to be far from closed.
    Singular positions that are passed are in the notes and in info.singular_positions. Where the mechanism locks,
    NumericalStop with the code "lock-up" carries the trajectory so far, the time `t`, the `position` and the `joints`.
    """
    began = perf_counter()
    mechanism = prepare(model, coordinates, cut)
    check_open(mechanism.equations)
    settings = mechanism.model.simulation.changed(t_end, step)
    times = report_times(0.0, settings.t_end, settings.step)
    check_span(mechanism.model, settings)
    check_memory(times, mechanism.equations)
    check_driving(mechanism.model, mechanism.equations, assemble)
    system = Driven.stated(mechanism)
    given = system.start()
    e = mechanism.equations
    still = dict.fromkeys((e.body or e).v_names, 0.0)
    start = find_start(restart(given, None, still, "unit", assemble), "unit", any_distance=assemble)
    rank = start.place.rank
    if rank.rank < system.n_v:
        raise explain_singular_start(start.place)
    driven = Driven.at(system, start.place)

    inertia = mechanism.place().mass.diagonal
    loaded = bool(np.any(inertia > 0.0) or mechanism.model.forces)
    bodies = follow_bodies(start)
    moved = replace(bodies, given=replace(bodies.given, v=bodies.place.v))  # velocities follow from the drivers
    notes = [*note_machine(), *(note for note in mechanism.notes if note.code != "zero-mass")]
    notes += note_start(mechanism.model, moved)
    if mechanism.equations.events:
        notes.append(Note("no-events"))
    if not loaded:
        notes.append(Note("no-masses"))
    elif light := {c.owner: None for c, x in zip(system.equations.velocities, inertia, strict=True) if x <= 0.0}:
        notes.append(Note("zero-mass", bodies=[*light]))
    ready, made = perf_counter(), cache.seconds()
    info = Run(
        model=mechanism.model.name,
        analysis="kinematics",
        coordinates=mechanism.equations.kind,
        formulation="kinematic",
        stabilization="newton",
        t_end=settings.t_end,
        step=settings.step,
        redundant=system.m - rank.rank,
        notes=tuple(notes),
        parameters=dict(mechanism.model.parameters),
    )
    path = Path(driven, times)

    def result(status: str, reason: Reason = FINISHED) -> Trajectory:
        motion = _result(path, mechanism.model, loaded, replace(info, status=status, reason=reason))
        compiled = ready - began + cache.seconds() - made
        taken = replace(motion.info, compile_s=compiled, integration_s=path.seconds, wall_s=perf_counter() - began)
        return replace(motion, info=taken)

    try:
        for reached in path.follow():
            if progress is not None:
                progress(reached / len(times), float(times[reached - 1]))
        if path.reached == len(times):
            return result("finished")
    except KeyboardInterrupt:
        message = f"interrupted at t = {times[path.reached - 1]:.6g} of {settings.t_end:.6g}"
        raise Interrupted(message, trajectory=result("interrupted", Reason("interrupted"))) from None
    raise _explain_stop(mechanism.model, path, result)


def _explain_stop(model: Model, path: Path, result: Callable[[str, Reason], Trajectory]) -> NumericalStop:
    """Why the motion does not go on."""
    e, limit = path.driven.system.equations, path.find_limit()
    if limit is None:
        t = float(path.state[0])
        reason = Reason("no-position", t=t)
        return NumericalStop(reason, reason.code, trajectory=result("stopped", reason), t=t)
    joints = name_elements(e.rows, limit.involvement)
    values = {symbol(name): value for name, value in model.parameters.items()}
    at = evaluate([driver.motion.f(TIME) for driver in model.drivers], {**values, TIME: limit.t})
    driven = {driver.name: float(x) for driver, x in zip(model.drivers, at, strict=True)}
    reason = Reason("lock-up", t=limit.t, drivers=driven, joints=[*joints])
    return NumericalStop(
        reason,
        reason.code,
        trajectory=result("stopped", reason),
        t=limit.t,
        position={name: float(x) for name, x in zip(e.q_names, limit.q, strict=True)},
        joints=joints,
        drivers=driven,
    )


def _result(path: Path, model: Model, loaded: bool, info: Run) -> Trajectory:
    driven, system = path.driven, path.driven.system
    passed = path.find_passed()
    path.continue_multipliers(passed)
    t, columns = path.times[: path.reached], path.columns
    x = np.column_stack(columns[:5])  # t, q, v, a, lam
    found = report(system, driven.p, x)
    singular = name_positions(system.equations.rows, passed)
    own = state_of(path.state, driven.width)
    steps, rejected = own.steps, own.rejected
    info = replace(
        info,
        steps=steps,
        rejected=rejected,
        evaluations=1 + steps + rejected,
        notes=(
            *info.notes,
            *note_singular(singular, True),
            *(Note("near-singular", t=t, part=part) for t, part in path.find_near(passed)[:MOST_TOLD]),
        ),
        singular_positions=singular,
        constraint_error_position=0.0,
        constraint_error_velocity=0.0,
    )
    work_done = np.column_stack([_integrate(rate, t) for rate in columns.power.T])
    motion = trajectory(system, t, x, work_done, found, info, model, driven.place)
    if loaded:
        return motion
    nothing = Table(Columns(), np.empty((len(t), 0)))
    return replace(motion, tables={**motion.tables, "reactions": nothing, "driving": nothing})


def _integrate(rate: Array, t: Array) -> Array:
    """The integral over the report times, by the trapezoidal rule with the correction of its ends, of fourth order."""
    if len(t) < 3:
        return np.concatenate([[0.0], np.cumsum(0.5 * np.diff(t) * (rate[1:] + rate[:-1]))])
    h, slope = np.diff(t), np.gradient(rate, t, edge_order=2)
    parts = 0.5 * h * (rate[1:] + rate[:-1]) - h * h / 12.0 * np.diff(slope)
    return np.concatenate([[0.0], np.cumsum(parts)])
