"""From the states of a motion to its trajectory: outputs, residuals, distance from singular positions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork import __version__
from linkwork.dense.vectors import copy, largest
from linkwork.elements.kinds import Columns
from linkwork.equations.equations import Equations
from linkwork.equations.implicit import N_WORK
from linkwork.equations.place import Place
from linkwork.errors import UsageError
from linkwork.model import Model
from linkwork.native import machine
from linkwork.native.kernels import Pointer, call, kernel, offset, size_of, split, take
from linkwork.records import changed
from linkwork.stabilization.projection import largest_scaled
from linkwork.system import System, header, scales
from linkwork.trajectory import NO_EVENTS, Events, Run, Table, Trajectory

Array = NDArray[np.float64]

MOST_GIGABYTES = 4.0
FACTORS = 8  # of a determinant that are multiplied before their logarithm is taken
ROUNDING = 1e-13  # of the accelerations that constraints hold back
EXPLAINED = 1e-8  # of the largest acceleration: more than rounding leaves of Psi_q a - gamma
ENERGIES = ("kinetic", "potential", "dissipated", "supplied")
ENERGY = Columns(ENERGIES, tuple(f"energy:{form}" for form in ENERGIES), ("J",) * len(ENERGIES))


@cache
def versions() -> dict[str, str]:
    known = {"linkwork": __version__, "numpy": np.__version__}
    if not machine.missing():
        import llvmlite

        known["llvmlite"] = llvmlite.__version__
    return known


class Line(NamedTuple):
    """What `fill_report` finds at a state: energies and outputs, and four numbers.

    They are the largest |Psi|, |Psi_dot| and, on the scales of the rows, |Psi_q a - gamma|, and log det of the system.
    """

    outputs: Pointer
    gap: Pointer
    rate: Pointer
    contradiction: Pointer
    log_det: Pointer
    rest: Pointer


def line(y: Pointer, n_report: int) -> Line:
    return Line(*split(y, (n_report, 1, 1, 1, 1)))


class Work(NamedTuple):
    """Scratch: residuals, and what `close` returns."""

    gaps: Pointer
    closed: Pointer
    rest: Pointer


def work(w: Pointer, m: int, n_closed: int) -> Work:
    return Work(*split(w, (2 * m, n_closed)))


def hold(p: Pointer, values: Pointer, n_held: int) -> None:
    """Put the values of what events change into p, so many."""
    about = header(p)
    copy(values, scales(p, about.n_q, about.n_v, about.m).held, n_held)


@kernel
def fill_dynamics(
    n_rows: int,
    ny: int,
    n_held: int,
    times: Pointer,
    states: Pointer,
    held: Pointer,
    p: Pointer,
    out: Pointer,
    w: Pointer,
) -> None:
    """For every (t, y), with what events have changed until then, a row of `out`: (qd, a, work rates, lam)."""
    about = header(p)
    x, scratch = take(w, 1 + ny)
    for k in range(n_rows):
        hold(p, offset(held, k * n_held), n_held)
        x[0] = times[k]
        copy(offset(states, k * ny), offset(x, 1), ny)
        call(about.dynamics, x, p, offset(out, k * (ny + about.m)), scratch)


@kernel
def fill_report(n_rows: int, n_held: int, x: Pointer, held: Pointer, p: Pointer, out: Pointer, w: Pointer) -> None:
    """For every (t, q, v, a, lam), and so on, a `line` of out; its last number is log |det| of the linear system."""
    about = header(p)
    n, m = about.n_q + about.n_v, about.m
    by = scales(p, about.n_q, about.n_v, m)
    width = 1 + n + about.n_v + m
    at = work(w, m, about.n_closed)
    for k in range(n_rows):
        hold(p, offset(held, k * n_held), n_held)
        row = offset(x, k * width)
        found = line(offset(out, k * (about.n_report + 4)), about.n_report)
        call(about.report, row, p, found.outputs, at.rest)
        found.contradiction[0] = largest_scaled(offset(found.outputs, about.n_report - m), by.rows, m)
        call(about.constraints, row, p, at.gaps, at.rest)
        found.gap[0] = largest(at.gaps, m)
        found.rate[0] = largest(offset(at.gaps, m), m)
        call(about.close, row, p, at.closed, at.rest)
        reciprocals = offset(at.closed, 1 + n + m)
        log_det, product = 0.0, 1.0
        for i in range(about.n_v + m):
            product *= reciprocals[i]
            if i % FACTORS == FACTORS - 1:
                log_det -= math.log(abs(product))
                product = 1.0
        found.log_det[0] = log_det - math.log(abs(product))


class Report(NamedTuple):
    """Of many states what a `Line` has of one."""

    outputs: Array
    gap: Array
    rate: Array
    contradiction: Array
    log_det: Array


def report(
    system: System, p: Array, t: Array, q: Array, v: Array, a: Array, lam: Array, held: Array | None = None
) -> Report:
    """At many states; `held` is what events have changed until then, without it what p has."""
    f = system.functions
    held = np.empty((len(t), 0)) if held is None else held
    x = np.concatenate([t[:, None], q, v, a, lam], axis=1)
    n = f["report"].outputs
    table = np.empty((len(x), size_of(line, n)))
    inner = max(f[name].work for name in ("report", "constraints", "close"))
    w = np.empty(size_of(work, system.m, f["close"].outputs) + inner)
    fill_report(len(x), held.shape[1], x, held, p.copy(), table, w)
    return Report(table[:, : n - system.m], *np.ascontiguousarray(table[:, n:].T))


def body_states(system: System, p: Array, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
    """q and v of the bodies at states of the equations."""
    e = system.equations
    if e.body is None:
        return q, v
    a, lam = np.zeros((len(t), len(e.a))), np.zeros((len(t), len(e.lam)))
    n_q, n_v = len(e.body.q), len(e.body.v)
    found = report(system, p, t, q, v, a, lam).outputs[:, 2:]
    return found[:, :n_q], found[:, n_q : n_q + n_v]


def trajectory(
    system: System,
    t: Array,
    q: Array,
    v: Array,
    a: Array,
    lam: Array,
    work_done: Array,
    found: Report,
    info: Run,
    model: Model,
    place: Place,
    events: Events = NO_EVENTS,
) -> Trajectory:
    """The result of a run from `place`; `work_done` are the two columns of work dissipated and supplied."""
    e = system.equations
    tables = {kind: Table(e.columns[kind], x) for kind, x in zip(e.state, (q, v, a), strict=True)}
    first = 2
    for kind in e.outputs:
        columns = e.columns[kind]
        tables[kind] = Table(columns, found.outputs[:, first : first + len(columns.labels)])
        first += len(columns.labels)
    tables["lam"] = Table(e.columns["lam"], lam)
    energy = np.empty((len(ENERGIES), len(t)))
    energy[:2], energy[2:] = found.outputs[:, :2].T, work_done.T
    tables["energy"] = Table(ENERGY, energy.T)
    contradiction = _measure(found.contradiction, place, v, a, lam)
    gap = np.maximum(found.gap, euler_gap(model, tables["q"].values))
    info = changed(
        info,
        constraint_error_position=float(max(info.constraint_error_position, gap.max(initial=0.0))),
        constraint_error_velocity=float(max(info.constraint_error_velocity, found.rate.max(initial=0.0))),
        constraint_error_acceleration=float(contradiction.max(initial=0.0)),
        notes=(*info.notes, *_about_accelerations(t, contradiction)),
        versions=versions(),
    )
    return Trajectory(info.model, t, tables, gap, found.rate, info, model, events)


def _measure(contradiction: Array, place: Place, v: Array, a: Array, lam: Array) -> Array:
    """|Psi_q a - gamma| at every time by the largest acceleration on the motion, all on their scales.

    Rounding of what constraints hold against forces, Psi_q M^-1 Psi_q^T lam, is none: it is all that moves a structure.
    """
    held = (np.abs(lam) * (place.row_size / place.row_scale)).max(initial=0.0)
    beyond = contradiction > ROUNDING * held
    if not beyond.any():
        return np.zeros(len(v))
    size = np.max(np.abs(a) / place.v_scale) + np.max(np.abs(v) / place.v_scale) ** 2
    return np.where(beyond, contradiction / size if size > 0.0 else contradiction, 0.0)


def _about_accelerations(t: Array, contradiction: Array) -> Iterator[str]:
    k = int(np.argmax(contradiction)) if len(t) else 0
    if len(t) and contradiction[k] > EXPLAINED:
        yield (
            f"accelerations contradict the constraints, Psi_q a - gamma is {contradiction[k]:.2g} of the largest of "
            f"them at t = {t[k]:.6g}; they and the reactions are not known better there [acceleration-residual]"
        )


def euler_gap(model: Model, q: Array) -> Array:
    """The largest ||e| - 1| of the bodies in space, which no row of Psi measures, at every time."""
    if model.space == "planar" or not q.size:
        return np.zeros(len(q))
    e = q.reshape(len(q), -1, 7)[:, :, 3:]
    lengths: Array = np.max(np.abs(np.linalg.norm(e, axis=2) - 1.0), axis=1)
    return lengths


def bytes_needed(equations: Equations, n_times: int) -> int:
    """The memory that results at so many report times take while they are made."""
    e = equations
    state, m = len(e.q) + len(e.v) + N_WORK, len(e.Psi)
    outputs = sum(len(e.columns[kind].labels) for kind in e.outputs)
    # The states as they come and together, the rates, what `report` is given, and what it finds.
    numbers = 2 * state + (state + m) + (1 + state + len(e.v) + m) + (outputs + m + 6) + len(ENERGIES)
    return 8 * numbers * n_times


def check_memory(times: Array, equations: Equations) -> None:
    """UsageError if the results at these report times would not fit into memory."""
    gigabytes = 1e-9 * bytes_needed(equations, len(times))
    if gigabytes > MOST_GIGABYTES:
        raise UsageError(
            f"{len(times)} report times need {gigabytes:.3g} GB; choose a longer step", "too-many-report-times"
        )
