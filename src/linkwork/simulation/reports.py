"""Report rows of many motions, evaluated by machine code: one motion after the other, or side by side in lanes.

Of each row accelerations and multipliers, outputs and residuals as `outputs` finds them; of each motion the extremes of
its columns, and what its energies were and how they balanced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.system import System, header, scales
from linkwork.integrators.lanes import Code, address_in_lanes, seat_places
from linkwork.integrators.memory import allocate
from linkwork.linalg.vectors import copy, is_finite, largest, largest_scaled
from linkwork.native.kernels import (
    Memory,
    Pointer,
    Shared,
    call,
    call_in_lanes,
    integer,
    kernel,
    offset,
    offsets_of,
    put_integer,
    shared_at,
    size_of,
    split,
)
from linkwork.simulation.outputs import ENERGY, given, log_det, widen

Array = NDArray[np.float64]


class Wanted(Memory):
    """What machine code is given of motions whose rows it reports: how many numbers of everything, and where they are.

    Of each motion p, p with the least eps, and rows (y) of all report times; then columns that are wanted of what is
    found at the chosen times, see `Found`; extremes of (t, q, v, a, lam), and its `Account`.
    """

    count: int
    n_rows: int  # chosen of
    n_times: int
    n_columns: int
    n_p: int
    n_y: int
    chosen: int  # addresses, as all that follow
    columns: int
    times: int
    parameters: int
    exact: int
    states: int
    table: int
    extremes: int
    accounts: int
    rest: Pointer


def wanted_places(m: Pointer) -> Wanted:
    return Wanted(*split(m, (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)))


class Account(Memory):
    """The forms of energy (kinetic, potential, dissipated, supplied) of a motion, and how they balanced."""

    first: Pointer  # 4
    extremes: Pointer  # 8: the least, then the largest
    forms: Pointer  # 4: of the last row
    worst: float  # the largest that their sum was off; NaN where it once is
    is_finite: float  # whether all outputs were
    contradiction: float  # the largest
    rest: Pointer


def account_places(m: Pointer) -> Account:
    return Account(*split(m, (4, 8, 4, 1, 1, 1)))


ACCOUNT = size_of(account_places)
REPORTING = "report", "close"  # what is called beside the dynamics


class Found(NamedTuple):
    """What is found at a row.

    The largest |Psi|, |Psi_dot| and, on the scales of the rows, |Psi_q a - gamma|, and log det of the linear system.
    """

    row: Pointer  # (t, q, v, a, lam)
    work: Pointer  # 2: dissipated, supplied
    gap: Pointer  # 1, as all that follow but the last
    rate: Pointer
    contradiction: Pointer
    log_det: Pointer
    reported: Pointer  # outputs, and behind them the residuals
    rest: Pointer


def found_places(m: Pointer, width: int, n_report: int) -> Found:
    return Found(*split(m, (width, 2, 1, 1, 1, 1, n_report)))


class Scratch(NamedTuple):
    """(t, y), what the dynamics return, what is found, what `close` returns; extremes and account so far."""

    state: Pointer
    rates: Pointer
    found: Pointer
    closed: Pointer
    extremes: Pointer
    account: Pointer
    rest: Pointer


def scratch(w: Pointer, n_y: int, m: int, width: int, n_report: int, n_closed: int) -> Scratch:
    return Scratch(*split(w, (1 + n_y, n_y + m, width + 6 + n_report, n_closed, 2 * width, ACCOUNT)))


def report_motion(of: Wanted, k: int, p: Pointer, exact: Pointer, w: Pointer) -> None:
    """Fill in the rows of the k-th motion."""
    copy(offset(shared_at(of.parameters, of.count * of.n_p), k * of.n_p), p, of.n_p)
    copy(offset(shared_at(of.exact, of.count * of.n_p), k * of.n_p), exact, of.n_p)
    about = header(p)
    n_q, n_v, m, n_report = about.n_q, about.n_v, about.m, about.n_report
    n = n_q + n_v
    width = 1 + n + n_v + m
    at = scratch(w, of.n_y, m, width, n_report, about.n_closed)
    found, account, by = found_places(at.found, width, n_report), account_places(at.account), scales(p, n_q, n_v, m)
    row, forms, residuals = given(found.row, n_q, n_v, m), account.forms, offset(found.reported, n_report - 2 * m)
    chosen, columns, times = (
        shared_at(of.chosen, of.n_rows),
        shared_at(of.columns, of.n_columns),
        shared_at(of.times, of.n_times),
    )
    states = offset(shared_at(of.states, of.count * of.n_times * of.n_y), k * of.n_times * of.n_y)
    size = of.n_rows * of.n_columns
    table = offset(shared_at(of.table, of.count * size), k * size)
    start, worst, finite, contradiction = 0.0, 0.0, 1.0, 0.0
    for j in range(of.n_rows):
        time = integer(chosen, j)
        at.state[0] = times[time]
        copy(offset(states, time * of.n_y), offset(at.state, 1), of.n_y)
        call(about.dynamics, at.state, p, at.rates, at.rest)
        copy(at.state, row.state, 1 + n)
        copy(offset(at.rates, n_q), row.a, n_v)
        copy(offset(at.rates, of.n_y), row.lam, m)
        copy(offset(at.state, 1 + n), found.work, 2)
        call(about.report, found.row, exact, found.reported, at.rest)
        call(about.close, found.row, exact, at.closed, at.rest)
        copy(found.reported, forms, 2)
        copy(found.work, offset(forms, 2), 2)
        total = forms[0] + forms[1] + forms[2] - forms[3]
        if j == 0:
            copy(found.row, at.extremes, width)
            copy(found.row, offset(at.extremes, width), width)
            copy(forms, account.first, 4)
            copy(forms, account.extremes, 4)
            copy(forms, offset(account.extremes, 4), 4)
            start = total
        widen(at.extremes, found.row, width)
        widen(account.extremes, forms, 4)
        off = abs(total - start)
        worst = off if off > worst or off != off else worst
        finite = finite if is_finite(found.reported, n_report - 2 * m) else 0.0
        found.gap[0] = largest(offset(at.closed, 1 + n), m)
        found.rate[0] = largest(residuals, m)
        found.contradiction[0] = largest_scaled(offset(residuals, m), by.rows, m)
        contradiction = max(contradiction, found.contradiction[0])
        found.log_det[0] = log_det(offset(at.closed, 1 + n + m), n_v + m)
        for i in range(of.n_columns):
            table[i * of.n_rows + j] = at.found[integer(columns, i)]
    account.worst = worst
    account.is_finite = finite
    account.contradiction = contradiction
    copy(at.extremes, offset(shared_at(of.extremes, of.count * 2 * width), k * 2 * width), 2 * width)
    copy(at.account, offset(shared_at(of.accounts, of.count * ACCOUNT), k * ACCOUNT), ACCOUNT)


@kernel
def report_block(given: Pointer, p: Pointer, exact: Pointer, w: Pointer) -> None:
    """Fill in the rows of every motion, one after the other."""
    of = wanted_places(given)
    for k in range(of.count):
        report_motion(of, k, p, exact, w)


@kernel
def report_lane(given: Shared, seats: Pointer, p: Pointer, exact: Pointer, w: Pointer) -> None:
    """Fill in the rows of the motion in a lane."""
    report_motion(wanted_places(given), seat_places(seats).number, p, exact, w)


@kernel
def report_lanes(
    lanes: int, address: int, given: Pointer, seats: Pointer, p: Pointer, exact: Pointer, w: Pointer
) -> None:
    """Fill in the rows of every motion, so many side by side; at the address is machine code of `report_lane`."""
    of = wanted_places(given)
    first = 0
    while first < of.count:
        here, bit = 0, 1
        for lane in range(lanes):
            put_integer(seats, lane, first + lane)
            here += bit if first + lane < of.count else 0
            bit *= 2
        first += lanes
        call_in_lanes(address, here, given, seats, p, exact, w)


class Column(NamedTuple):
    """Where a quantity stands in what is found at a row, its unit, and whether it turns, with its rate behind it."""

    place: int
    unit: str
    turns: bool


def columns_of(s: System) -> dict[str, Column]:
    """Return where everything stands that motions of a system have by name, but for what follows from others."""
    e, n, found = s.equations, s.n_q + s.n_v, dict[str, Column]()
    at = offsets_of(found_places, 1 + n + s.n_v + s.m, 0)
    firsts = dict(zip((*e.chart.state, "lam"), (1, 1 + s.n_q, 1 + n, 1 + n + s.n_v), strict=True))
    behind = at.reported + 2
    for kind in (*firsts, *e.outputs):
        labels, names, units = e.columns[kind]
        first, turning = firsts.get(kind, behind), e.turning_outputs.get(kind, ())
        found |= {name: Column(first + k, units[k], k in turning) for k, name in enumerate(names)}
        behind += len(labels) * (kind not in firsts)
    places = at.reported, at.reported + 1, at.work, at.work + 1
    found |= {name: Column(place, "J", False) for name, place in zip(ENERGY.names, places, strict=True)}
    found["error:velocity"] = Column(at.rate, "m/s, rad/s", False)
    found["error:position"] = Column(at.gap, "m, rad", False)
    found["log det"] = Column(at.log_det, "", False)
    return found


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Of motions at report rows the columns that were wanted by name, and what was found of each motion."""

    table: dict[str, Array]
    extremes: Array  # of (t, q, v, a, lam)
    first: Array  # of the forms of energy
    least: Array
    most: Array
    worst: Array
    is_finite: Array
    contradiction: Array


def evaluate(
    s: System,
    code: Code | None,
    times: Array,
    p: Array,
    exact: Array,
    states: Array,
    chosen: NDArray[np.intp],
    wanted: Mapping[str, int],
) -> Evaluated:
    """Evaluate motions with these p and states y at all times, at some of these, for columns in these places; in lanes
    where there is code for it.
    """
    (count, n_times, n_y), f = states.shape, s.functions
    n_out, n_closed, n_rows = f["report"].outputs, f["close"].outputs, len(chosen)
    width, lanes = 1 + s.n_q + 2 * s.n_v + s.m, code.lanes if code else 1
    table, columns = np.empty((count, len(wanted), n_rows)), np.array([*wanted.values()], dtype=np.int64)
    extremes, accounts = np.empty((count, 2, width)), np.empty((count, ACCOUNT))
    own = p if code is None else code.prepare(p)
    own_exact = own if exact is p else exact if code is None else code.prepare(exact)
    arrays = [*map(np.ascontiguousarray, (chosen, columns, times, own, own_exact, states)), table, extremes, accounts]
    addresses = [array.ctypes.data for array in arrays]
    given = np.array([count, n_rows, n_times, len(wanted), p.shape[1], n_y, *addresses]).view(np.float64)
    work = max(f[name].work for name in (*REPORTING, "dynamics"))
    work += size_of(scratch, n_y, s.m, width, n_out, n_closed)
    memory = [allocate(size * lanes) for size in (p.shape[1], p.shape[1], work)]
    if code is None:
        report_block(given, *memory)
    else:
        report_lanes(lanes, address_in_lanes(report_lane, lanes), given, allocate(2 * lanes), *memory)
    at = offsets_of(account_places)
    forms = [accounts[:, k : k + 4] for k in (at.first, at.extremes, at.extremes + 4)]
    found = {name: table[:, k] for k, name in enumerate(wanted)}
    return Evaluated(found, extremes, *forms, *accounts[:, [at.worst, at.is_finite, at.contradiction]].T)
