"""The trajectory of a motion: its rows evaluated, and all that is known about its run."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, islice

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.implicit import N_WORK
from linkwork.model import Simulation
from linkwork.notes import Note, Reason
from linkwork.records import changed
from linkwork.simulation.events import Course
from linkwork.simulation.judgement import ACCUMULATED, LIMIT, find_balance, is_closed
from linkwork.simulation.notes import (
    note_atol,
    note_blur,
    note_euler,
    note_grazes,
    note_machine,
    note_matrices,
    note_methods,
    note_open,
    note_pivots,
)
from linkwork.simulation.outputs import find_contradiction, split_columns, trajectory
from linkwork.simulation.passages import find_singular, note_near
from linkwork.simulation.passing import pass_smoothly
from linkwork.simulation.problem import Motion
from linkwork.simulation.rows import evaluate_motion, known_states, report_rows
from linkwork.start.singular import MOST_TOLD, Passed, name_positions, note_singular
from linkwork.trajectory import Run, Trajectory

Array = NDArray[np.float64]


def describe(motion: Motion, settings: Simulation, about_start: Iterable[Note]) -> Run:
    """Describe what is known of a run before its motion is integrated."""
    mechanism, place = motion.mechanism, motion.start.place
    return Run(
        model=mechanism.model.name,
        coordinates=mechanism.equations.chart.kind,
        formulation=motion.how.formulation,
        stabilization=motion.how.stabilization,
        integrator=motion.how.integrator,
        rtol=settings.rtol,
        atol=settings.atol,
        t_end=settings.t_end,
        step=settings.step,
        dof=motion.system.n_v - place.rank.rank - mechanism.equations.chart.unseen,
        redundant=place.rows.redundant,
        notes=(*note_machine(), *mechanism.notes, *about_start),
        parameters=dict(mechanism.model.parameters),
        units=mechanism.model.units,
    )


def is_beyond_doubt(course: Course) -> bool:
    """Whether nothing speaks against a finished motion, by as many of its report rows as steps were taken.

    Energies balance, constraints hold to rounding, accelerations obey them, and all that is reported has values. What
    rows between show of the same steps is looked at when they are asked for.
    """
    state, start = course.motion.state, course.motion.start.place
    at = evaluate_motion(course, state.at.steps + 2)
    values, n = at.found.outputs, course.motion.n
    balance = find_balance(np.hstack([values[:, :2], at.rows[:, n : n + N_WORK]]))
    return (
        bool(np.isfinite(values).all())
        and is_closed(start, course.motion.extent[1], *state.at.residuals[1:3].tolist())
        and balance.worst <= LIMIT * balance.turned_over + ACCUMULATED * balance.largest
        and find_contradiction(course.motion.system, at.found, start)[0] <= LIMIT
    )


def result(course: Course, info: Run, status: str, reason: Reason) -> Trajectory:
    """Make the trajectory of a motion."""
    motion, state, until, parts = course.motion, course.motion.state, course.until, course.parts
    at = evaluate_motion(course)
    t, rows, held, spans, x, _, found, taken = at
    assert until is not None
    s, n_q, n = motion.system, motion.system.n_q, motion.n
    q, passed = x[:, 1 : 1 + n_q], list[Passed]()
    for _, alike in groupby(range(len(parts)), key=lambda k: parts[k].measured.place.is_open.tobytes()):
        k = [*alike]  # the same joints hold
        place, _, exact, _ = parts[k[-1]].measured
        passed += find_singular(parts[k[-1]].form.system, exact, place, *known_states(course, at, k))
    is_driven, left = info.analysis == "kinematics", list[float]()
    if passed:
        passed, left = pass_smoothly(course, passed, at, is_driven)
        found = report_rows(parts, spans, x, held)
    singular = name_positions(s.equations.rows, passed)
    near = note_near(motion.start.place, t, q, found.log_det, passed)
    kept = motion.how.stabilization == "projection"
    info = changed(
        info,
        status=status,
        reason=reason,
        steps=state.at.steps,
        rejected=state.at.rejected,
        evaluations=state.at.evaluations,
        integration_s=state.loop_s,
        evaluation_s=taken / len(rows),
        switches=state.switches,
        impact_loss=course.lost,
        final_dof=s.n_v - parts[-1].measured.place.rank.rank - s.equations.chart.unseen,
        constraint_error_position=float(state.at.residuals[1]),
        constraint_error_velocity=float(state.at.residuals[2]),
        singular_positions=singular,
        held=dict(zip((str(x.value) for x in s.equations.held), course.held[until.held - 1].tolist(), strict=True)),
        notes=(
            *info.notes,
            *note_methods(course.methods, s),
            *note_singular(singular, is_driven, "" if kept else motion.how.stabilization),
            *(islice(near, MOST_TOLD) if is_driven and status != "stopped" else ()),
            *(Note("singular-row", t=row) for row in left[:MOST_TOLD]),
            *note_grazes(s, state),
            *note_blur(s, state),
            *note_open(state),
            *note_pivots(course.repivoted),
            *note_matrices(state),
            *note_atol(info, *split_columns(s, found.extremes)[:2], state.at.atol[:n]),
            *note_euler(s, split_columns(s, found.extremes)[1], float(t[-1])),
        ),
    )
    return trajectory(
        s, t, x, rows[:, n : n + N_WORK], found, info, motion.mechanism.model, motion.start.place, course.events()
    )
