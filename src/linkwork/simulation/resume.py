"""Going on with a motion from its last state."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linkwork import __version__
from linkwork.equations.identity import identify
from linkwork.equations.place import Place
from linkwork.errors import UsageError
from linkwork.model import Model
from linkwork.notes import Note
from linkwork.simulation.problem import Motion
from linkwork.tolerances import TYPED
from linkwork.trajectory import Events, Run, Table, Trajectory

Array = NDArray[np.float64]

ONCE = ("stiff", "repivoted", "full-matrices", "atol-size", "unseen-switches")  # notes of which a run has one
SUMMED = ("steps", "rejected", "evaluations", "switches", "compile_s", "wall_s", "integration_s", "impact_loss")


def check_resumable(first: Trajectory, model: Model, start: Place, t_end: float) -> None:
    """Raise UsageError unless the motion is one of this mechanism, from this start, and ends before t_end."""
    if not isinstance(first, Trajectory):
        raise UsageError(f"resume = {first!r} is not a motion; Trajectory.load reads one", "bad-value")
    e = start.equations
    table = first.tables.get(e.chart.state[0])
    is_own = first.info.coordinates == e.chart.kind and set(first.info.held) == {str(x.value) for x in e.held}
    others = list(find_others(first, model))
    if table is None or table.columns.labels != e.q_names or not is_own or others:
        what = "the motion to resume is one of another model, of other parameters or coordinates"
        raise UsageError(f"{what}{': ' if others else ''}{', '.join(others)}", "resume-other")
    if not len(first.t) or not np.all(np.abs(table.values[0] - start.q) <= TYPED * start.q_scale):
        raise UsageError("the motion to resume has another start", "resume-other")
    if first.status == "finished" and first.info.t_end is not None and first.t[-1] < first.info.t_end:
        raise UsageError(f"the motion to resume was stopped by an event at t = {first.t[-1]:g}", "resume-done")
    if first.t[-1] >= t_end:
        raise UsageError(f"the motion to resume has already reached t = {first.t[-1]:g} of {t_end:g}", "resume-done")


def find_others(first: Trajectory, model: Model) -> Iterator[str]:
    """Yield what of its mechanism is not that of the model; files of other versions say their parameters alone."""
    then, now = first.info.parameters, model.parameters
    for name in dict.fromkeys((*then, *now)):
        if then.get(name) != now.get(name):
            yield f"'{name}' was {then.get(name)} and is {now.get(name)}"
    if first.info.versions.get("linkwork") == __version__:
        known, own = first.identity, identify(model)
        yield from (f"other {kind}" for kind in own if kind != "parameters" and own[kind] != known.get(kind, own[kind]))


def last_state(first: Trajectory, state: Sequence[str]) -> Array:
    """Return (q, v, work dissipated, work supplied) at the end; `state` is what results call q and v."""
    work = [first.energy[form][-1] for form in ("dissipated", "supplied")]
    q, v = (first.tables[kind].values[-1] for kind in state[:2])
    return np.concatenate([q, v, work])


def resume_at(motion: Motion, first: Trajectory) -> Array:
    """Return (q, v, work) where a motion has ended, with what events have changed until then."""
    e, y = motion.system.equations, last_state(first, motion.system.equations.chart.state)
    if first.info.held and motion.hold(np.array([first.info.held[str(x.value)] for x in e.held])):
        motion.measure_anew(float(first.t[-1]), y)
    motion.know_held()
    return y


def join(first: Trajectory, second: Trajectory, times: Array) -> Trajectory:
    """Join two motions, the second from where the first ends; that state only if it is at a report time."""
    before, after = first.t < second.t[0], np.ones(len(second.t), dtype=bool)
    after[0] = second.t[0] in times or len(second.t) == 1

    def both(x: Array, y: Array) -> Array:
        return np.concatenate([x[before], y[after]])

    a, b = first.info, second.info
    sums = {name: getattr(a, name) + getattr(b, name) for name in SUMMED}
    info: Run = replace(
        b,
        **sums,
        constraint_error_position=max(a.constraint_error_position, b.constraint_error_position),
        constraint_error_velocity=max(a.constraint_error_velocity, b.constraint_error_velocity),
        constraint_error_acceleration=max(a.constraint_error_acceleration, b.constraint_error_acceleration),
        notes=_join_notes(a.notes, b.notes, float(second.t[0])),
        singular_positions=(*a.singular_positions, *b.singular_positions),
    )

    def in_turns(kind: str) -> Table:
        """Continue angles with the turns they had; what an older motion did not measure has no value there."""
        then, (columns, values) = first.tables[kind], second.tables[kind]
        if then.columns != columns:
            return Table(columns, both(np.full((len(first.t), len(columns.labels)), math.nan), values))
        is_angle = np.array([unit == "rad" for unit in columns.units], dtype=bool)
        turns = np.round(np.where(is_angle, then.values[-1] - values[0], 0.0) / math.tau)
        return Table(columns, both(then.values, values + math.tau * np.nan_to_num(turns)))

    return replace(
        second,
        t=both(first.t, second.t),
        tables={kind: in_turns(kind) for kind in second.tables},
        error_position=both(first.error_position, second.error_position),
        error_velocity=both(first.error_velocity, second.error_velocity),
        info=info,
        events=Events(
            (*first.events.names, *second.events.names),
            *(np.concatenate(pair) for pair in zip(first.events[1:], second.events[1:], strict=True)),
        ),
    )


def _join_notes(first: Sequence[Note], second: Sequence[Note], t: float) -> tuple[Note, ...]:
    """Join the notes of both; what both say once about their whole length is one note."""
    later = {note.code: note.data for note in second if note.code in ONCE}
    joined = []
    for note in first:
        data = {**note.data}
        if note.code in later:
            data["then"] = [*data.get("then", ()), [t, later.pop(note.code)]]
        joined.append(Note(note.code, **data) if data != note.data else note)
    return tuple(dict.fromkeys([*joined, *(note for note in second if note.code not in ONCE or note.code in later)]))
