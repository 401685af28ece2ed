"""From the states of a motion to its trajectory: outputs, residuals, distance from singular positions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork import __version__
from linkwork.compiled.system import System, header, scales
from linkwork.elements.bodies import Ground
from linkwork.elements.frames import SPATIAL_GROUND
from linkwork.elements.kinds import Columns
from linkwork.elements.spatial import ConstantVelocity
from linkwork.equations.equations import Equations
from linkwork.equations.implicit import N_WORK
from linkwork.equations.place import Place
from linkwork.errors import UsageError
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic
from linkwork.expressions.graph import ZERO, Expr, symbol
from linkwork.linalg.vectors import copy, largest, largest_scaled
from linkwork.model import Model
from linkwork.native import machine
from linkwork.native.kernels import Pointer, call, kernel, offset, split, take
from linkwork.notes import Note
from linkwork.records import changed
from linkwork.tolerances import HALF_THE_DIGITS, NEGLIGIBLE
from linkwork.trajectory import NO_EVENTS, Events, Run, Table, Trajectory

Array = NDArray[np.float64]

MOST_GIGABYTES = 4.0  # of results: more than a laptop has free
LARGE = 2.0**500  # factors of a determinant are multiplied until their logarithm must be taken
ENERGIES = ("kinetic", "potential", "dissipated", "supplied")
ENERGY = Columns(ENERGIES, tuple(f"energy:{form}" for form in ENERGIES), ("J",) * len(ENERGIES))


@cache
def versions() -> dict[str, str]:
    known = {"linkwork": __version__, "numpy": np.__version__}
    if not machine.missing():
        import llvmlite

        known["llvmlite"] = llvmlite.__version__
    return known


class Given(NamedTuple):
    """A row of what `report` is given: a time and state (t, q, v), accelerations, multipliers."""

    state: Pointer
    a: Pointer
    lam: Pointer
    rest: Pointer


def given(x: Pointer, n_q: int, n_v: int, m: int) -> Given:
    return Given(*split(x, (1 + n_q + n_v, n_v, m)))


class Rates(NamedTuple):
    """Scratch of `fill_dynamics`: (t, y), and what `dynamics` returns."""

    state: Pointer
    found: Pointer
    rest: Pointer


def rates(w: Pointer, ny: int, m: int) -> Rates:
    return Rates(*split(w, (1 + ny, ny + m)))


class Measures(NamedTuple):
    """What `fill_report` measures at every row.

    The largest |Psi|, |Psi_dot| and, on the scales of the rows, |Psi_q a - gamma|, and log det of the linear system.
    """

    gap: Pointer
    rate: Pointer
    contradiction: Pointer
    log_det: Pointer
    rest: Pointer


def measures(y: Pointer, n_rows: int) -> Measures:
    return Measures(*split(y, (n_rows, n_rows, n_rows, n_rows)))


def hold(p: Pointer, values: Pointer, n_held: int) -> None:
    """Put the values of what events change into p, so many."""
    about = header(p)
    copy(values, scales(p, about.n_q, about.n_v, about.m).held, n_held)


def widen(extremes: Pointer, x: Pointer, count: int) -> None:
    """Let the least and the largest, one behind the other, include these; NaN if one of them is."""
    least, most = take(extremes, count)
    for i in range(count):
        value, low, high = x[i], least[i], most[i]
        is_none = value != value
        least[i] = value if value < low or is_none else low
        most[i] = value if value > high or is_none else high


def find_rates(
    n_rows: int, ny: int, n_held: int, held: Pointer, p: Pointer, x: Pointer, qd: Pointer, w: Pointer
) -> None:
    """Find in every row (t, q, v, a, lam) of x, with what events have changed until then, a and lam; and a
    row of qd.
    """
    about = header(p)
    n_q, n_v, m = about.n_q, about.n_v, about.m
    at = rates(w, ny, m)
    for k in range(n_rows):
        hold(p, offset(held, k * n_held), n_held)
        row = given(offset(x, k * (1 + n_q + 2 * n_v + m)), n_q, n_v, m)
        copy(row.state, at.state, 1 + n_q + n_v)
        call(about.dynamics, at.state, p, at.found, at.rest)
        copy(offset(at.found, n_q), row.a, n_v)
        copy(offset(at.found, ny), row.lam, m)
        copy(at.found, offset(qd, k * n_q), n_q)


@kernel
def fill_dynamics(
    n_rows: int, ny: int, n_held: int, held: Pointer, p: Pointer, x: Pointer, qd: Pointer, w: Pointer
) -> None:
    """Fill the rows of one motion, see `find_rates`."""
    find_rates(n_rows, ny, n_held, held, p, x, qd, w)


def find_report(
    n_rows: int,
    n_held: int,
    x: Pointer,
    held: Pointer,
    p: Pointer,
    outputs: Pointer,
    measured: Pointer,
    extremes: Pointer,
    w: Pointer,
) -> None:
    """Find for every row (t, q, v, a, lam) of x the outputs and `measures`, and of its columns the least and
    largest.
    """
    about = header(p)
    n, m = about.n_q + about.n_v, about.m
    by = scales(p, about.n_q, about.n_v, m)
    width = 1 + n + about.n_v + m
    closed, scratch = take(w, about.n_closed)
    found = measures(measured, n_rows)
    for k in range(n_rows):
        hold(p, offset(held, k * n_held), n_held)
        row, reported = offset(x, k * width), offset(outputs, k * about.n_report)
        if k == 0:
            copy(row, extremes, width)
            copy(row, offset(extremes, width), width)
        widen(extremes, row, width)
        call(about.report, row, p, reported, scratch)
        found.rate[k] = largest(offset(reported, about.n_report - 2 * m), m)
        found.contradiction[k] = largest_scaled(offset(reported, about.n_report - m), by.rows, m)
        call(about.close, row, p, closed, scratch)
        found.gap[k] = largest(offset(closed, 1 + n), m)
        found.log_det[k] = log_det(offset(closed, 1 + n + m), about.n_v + m)


def log_det(reciprocals: Pointer, count: int) -> float:
    """Return log |det| of a matrix with these reciprocals of its pivots."""
    found, product = 0.0, 1.0
    for i in range(count):
        product *= reciprocals[i]
        if not 1.0 / LARGE < abs(product) < LARGE:
            found -= math.log(abs(product))
            product = 1.0
    return found - math.log(abs(product))


@kernel
def fill_report(
    n_rows: int,
    n_held: int,
    x: Pointer,
    held: Pointer,
    p: Pointer,
    outputs: Pointer,
    measured: Pointer,
    extremes: Pointer,
    w: Pointer,
) -> None:
    """Fill the report of one motion, see `find_report`."""
    find_report(n_rows, n_held, x, held, p, outputs, measured, extremes, w)


class Report(NamedTuple):
    """At many states energies and outputs, extremes of what was given (see `fill_report`) in rows, and `Measures`."""

    outputs: Array
    extremes: Array
    gap: Array
    rate: Array
    contradiction: Array
    log_det: Array


def report(system: System, p: Array, x: Array, held: Array | None = None) -> Report:
    """Report at states (t, q, v, a, lam); `held` is what events have changed until then, without it what p has."""
    f, (n_rows, width) = system.functions, x.shape
    held = np.empty((n_rows, 0)) if held is None else held
    n, inner = f["report"].outputs, max(f["report"].work, f["close"].work)
    outputs, measured, extremes = np.empty((n_rows, n)), np.empty((4, n_rows)), np.zeros((2, width))
    w = np.empty(f["close"].outputs + inner)
    fill_report(n_rows, held.shape[1], x, held, p.copy(), outputs, measured, extremes, w)
    return Report(outputs[:, : n - 2 * system.m], extremes, *measured)


def split_columns(system: System, x: Array) -> tuple[Array, Array, Array, Array]:
    """Split columns t, q, v, a, lam and return all but the first."""
    v, a, lam = 1 + system.n_q, 1 + system.n_q + system.n_v, 1 + system.n_q + 2 * system.n_v
    return x[:, 1:v], x[:, v:a], x[:, a:lam], x[:, lam:]


def body_states(system: System, p: Array, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
    """Return q and v of the bodies at states of the equations."""
    e = system.equations
    if e.chart.body is None:
        return q, v
    n_q, n_v = len(e.chart.body.q), len(e.chart.body.v)
    at_rest = np.zeros((len(t), len(e.a) + len(e.lam)))
    found = report(system, p, np.column_stack([t, q, v, at_rest])).outputs[:, 2:]
    return found[:, :n_q], found[:, n_q : n_q + n_v]


def trajectory(
    system: System,
    t: Array,
    x: Array,
    work_done: Array,
    found: Report,
    info: Run,
    model: Model,
    place: Place,
    events: Events = NO_EVENTS,
) -> Trajectory:
    """Make the result of a run from `place`, of (t, q, v, a, lam) and the work dissipated and supplied, in
    two columns.
    """
    e = system.equations
    for table in (x, found.outputs):
        table.setflags(write=False)
    q, v, a, lam = split_columns(system, x)
    tables = {kind: Table(e.columns[kind], x) for kind, x in zip(e.chart.state, (q, v, a), strict=True)}
    first = 2
    for kind in e.outputs:
        columns = e.columns[kind]
        values = found.outputs[:, first : first + len(columns.labels)]
        if turning := e.turning_outputs.get(kind):
            values = count_turns(t, values, turning)
        tables[kind] = Table(columns, values)
        first += len(columns.labels)
    tables["lam"] = Table(e.columns["lam"], lam)
    energy = np.empty((len(ENERGIES), len(t)))
    energy[:2], energy[2:] = found.outputs[:, :2].T, work_done.T
    tables["energy"] = Table(ENERGY, energy.T)
    gap = found.gap
    if model.space == "spatial":
        gap = np.maximum(gap, euler_gap(tables["q"].values, len(model.bodies)))
    contradiction, k = find_contradiction(system, found, place)
    info = changed(
        info,
        constraint_error_position=float(max(info.constraint_error_position, gap.max(initial=0.0))),
        constraint_error_velocity=float(max(info.constraint_error_velocity, found.rate.max(initial=0.0))),
        constraint_error_acceleration=contradiction,
        notes=(*info.notes, *_note_accelerations(contradiction, float(t[k])), *_note_folds(model, t, tables["q"])),
        versions=versions(),
    )
    return Trajectory(info.model, t, tables, gap, found.rate, info, model, events)


def count_turns(t: Array, values: Array, turning: list[int]) -> Array:
    """Add whole turns to these columns: from row to row each changes as its rate, the next column, has it.

    Of one motion or, with an axis before that of rows, of many.
    """
    counted = values.copy()
    for k in turning:
        angle, rate = values[..., k], values[..., k + 1]
        changes = 0.5 * np.diff(t) * (rate[..., 1:] + rate[..., :-1])
        turns = np.round((changes - np.diff(angle)) / math.tau)
        counted[..., 1:, k] += math.tau * np.cumsum(np.where(np.isfinite(turns), turns, 0.0), axis=-1)
    return counted


def find_contradiction(system: System, found: Report, place: Place) -> tuple[float, int]:
    """Find the largest |Psi_q a - gamma| by the largest acceleration on the motion, all on their scales, and its row.

    Rounding of what constraints hold against forces, Psi_q M^-1 Psi_q^T lam, is none: it is all that moves a structure.
    """
    k = int(found.contradiction.argmax())
    largest = float(found.contradiction[k])
    _, v, a, lam = split_columns(system, np.abs(found.extremes))
    if not largest > NEGLIGIBLE * (lam * (place.rows.size / place.row_scale)).max(initial=0.0):
        return 0.0, k
    size = float(np.max(a / place.v_scale) + np.max(v / place.v_scale) ** 2)
    return largest / size if size > 0.0 else largest, k


def _note_accelerations(contradiction: float, t: float) -> Iterator[Note]:
    if contradiction > HALF_THE_DIGITS:
        yield Note("acceleration-residual", size=contradiction, t=t)


def _note_folds(model: Model, t: Array, q: Table) -> Iterator[Note]:
    """Note where the shafts of a constant-velocity joint fold through 180 degrees, between two report times."""
    for joint in model.joints:
        if isinstance(joint, ConstantVelocity):
            values: dict[Expr, Any] = {symbol(name): x for name, x in model.parameters.items()}
            values |= {symbol(label): x for label, x in zip(q.columns.labels, q.values.T, strict=True)}
            at: list[Any] = [
                SPATIAL_GROUND
                if isinstance(b, Ground)
                else b.frame([symbol(c.name) for c in b.coordinates], [ZERO] * 6)
                for b in joint.bodies
            ]
            half = np.sign(evaluate([joint.half_bend(*at)], values, numpy_arithmetic())[0])
            if len(found := np.flatnonzero(half[1:] * half[:-1] < 0.0)):
                yield Note("folded", joint=joint.name, t=float(t[found[0]]), until=float(t[found[0] + 1]))


def euler_gap(q: Array, bodies: int) -> Array:
    """Find the largest ||e| - 1| of the bodies in space, which no row of Psi measures, at every time."""
    if not q.size:
        return np.zeros(q.shape[:-1])
    e = q[..., : 7 * bodies].reshape(*q.shape[:-1], bodies, 7)[..., 3:]
    return np.asarray(np.abs(np.sqrt(np.einsum("...jk,...jk->...j", e, e)) - 1.0).max(axis=-1))


def bytes_needed(equations: Equations, n_times: int) -> int:
    """Count the memory that results at so many report times take while they are made."""
    e = equations
    state, m = len(e.q) + len(e.v) + N_WORK, len(e.Psi)
    outputs = sum(len(e.columns[kind].labels) for kind in e.outputs)
    # The states as they come and together, the rates qd, what `report` is given, and what it finds.
    numbers = 2 * state + len(e.q) + (1 + state + len(e.v) + m) + (outputs + 2 * m + 6) + len(ENERGIES)
    return 8 * numbers * n_times


def check_memory(times: Array, equations: Equations) -> None:
    """Raise UsageError if the results at these report times would not fit into memory."""
    gigabytes = bytes_needed(equations, len(times)) / 10**9
    if gigabytes > MOST_GIGABYTES:
        raise UsageError(
            f"{len(times)} report times need {gigabytes:.3g} GB; choose a longer step", "too-many-report-times"
        )
