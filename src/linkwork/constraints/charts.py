"""Integration of the independent coordinates and velocities alone, as machine code.

Let B q be the independent coordinates and dx = -W^-1 Psi_q*^T (Psi_q* W^-1 Psi_q*^T)^-1 Psi the Newton step with the
Jacobian of a nearby position, the chart, whose range B annihilates:

    coordinate-partitioning   W^-1 is one for dependent coordinates and zero for independent ones, B picks the latter
    qr, svd                   W = I, B = V^T, the null space of Psi_q*               [pennestri2004, eqs. (44)-(50)]

where coordinates are measured by the scales of the mechanism.

Every evaluation of the right-hand side first solves the dependent part from B q and B v by these steps and then finds
the accelerations there. So d(B q)/dt and d(B v)/dt are functions of B q and B v: the integrator advances the
state-space form, and the dependent components it carries along are only the first guess of the next solution. How far
these are changed at the end of a step counts as its error, since the independent ones have it too. The chart is that
of the beginning of a step, and the partition is made anew when a pivot has become small.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.system import Header, System, header, scales
from linkwork.constraints import projection
from linkwork.constraints.projection import (
    CONVERGED,
    ENOUGH,
    LAST_TIME,
    NOT_CONVERGED,
    projected,
)
from linkwork.equations.implicit import N_WORK
from linkwork.equations.place import Place
from linkwork.linalg.newton import INF, iterate
from linkwork.linalg.vectors import copy, largest, largest_scaled
from linkwork.native.kernels import Pointer, call, kernel, memory_at, offset, size_of, split
from linkwork.native.lowering import NativeFunction

Array = NDArray[np.float64]

MAX_ITERATIONS = 60  # of Newton with an old matrix, which converges linearly: by a third each reach rounding
AGED = 0.3  # a partition has aged when a pivot of Psi_q W^-1 Psi_q^T has shrunk by this factor
STALLED = 1e-10  # of the size of a state: more than this is not the best to be had
TURNS = 0.5  # weight of turns among dependent coordinates: cranks have no dead centres in their own angles
TOO_NEAR = 0.1  # of the largest on the motion: a smallest singular value at which charts are left
NAN = math.nan


class Chart(NamedTuple):
    """What is kept between steps: the chart, with the argument of shift or push behind it, and the first pivots."""

    factor: Pointer  # the chart as `chart` returns it; what follows it is handed to shift and push with it
    moved: Pointer  # q or v, and gaps
    pivots: Pointer  # reciprocals, when the partition was chosen
    rest: Pointer


def chart_memory(memory: Pointer, n_q: int, m: int, n_chart: int) -> Chart:
    return Chart(*split(memory, (n_chart, n_q + m, m)))


class Work(NamedTuple):
    """Scratch: a state (t, q, v, work) and the residuals there."""

    state: Pointer
    gaps: Pointer
    rest: Pointer


def work(w: Pointer, n: int, m: int) -> Work:
    return Work(*split(w, (1 + n + N_WORK, 2 * m)))


def kept_memory(about: Header) -> Pointer:
    return memory_at(about.memory, about.n_chart + about.n_q + 2 * about.m)


class Level(NamedTuple):
    """What is solved of a state: 0 its positions, 1 its velocities; the gaps of both are put in `gaps`."""

    p: Pointer
    level: int
    gaps: Pointer
    scratch: Pointer


def measure(at: Level, state: Pointer) -> float:
    """The gap in a state."""
    about = header(at.p)
    call(about.constraints, state, at.p, at.gaps, at.scratch)
    return widest(at)


def widest(at: Level) -> float:
    about = header(at.p)
    rows = scales(at.p, about.n_q, about.n_v, about.m).rows
    return largest_scaled(offset(at.gaps, at.level * about.m), rows, about.m)


def correct(at: Level, state: Pointer, _: int) -> tuple[Pointer, float]:
    """The state with its dependent part changed in place, and the gap there."""
    about = header(at.p)
    memory = kept_memory(about)
    chart = chart_memory(memory, about.n_q, about.m, about.n_chart)
    place = offset(state, 1 + at.level * about.n_q)
    count = about.n_q if at.level == 0 else about.n_v
    copy(place, chart.moved, count)
    copy(offset(at.gaps, at.level * about.m), offset(chart.moved, count), about.m)
    call(about.shift if at.level == 0 else about.push, memory, at.p, place, at.scratch)
    return state, measure(at, state)


def settle(at: Level, state: Pointer, size: float) -> bool:
    """Solve the dependent positions or velocities of a state, in place; whether it was possible."""
    gap, enough = measure(at, state), ENOUGH * size
    # The first change also brings Euler parameters to length one, by which a gap may be as large as before.
    iterate(at, correct, state, gap if gap <= enough else INF, MAX_ITERATIONS, enough, INF)
    return widest(at) <= STALLED * size  # of the last, which is where the state is


def on_chart(p: Pointer, state: Pointer, gaps: Pointer, scratch: Pointer) -> bool:
    """Solve the dependent part of (t, q, v), in place; whether it was possible."""
    about = header(p)
    by = scales(p, about.n_q, about.n_v, about.m)
    size = 1.0 + largest_scaled(offset(state, 1), by.q, about.n_q)
    if not settle(Level(p, 0, gaps, scratch), state, size):
        return False
    speed = size * (1.0 + largest_scaled(offset(state, 1 + about.n_q), by.v, about.n_v))
    return settle(Level(p, 1, gaps, scratch), state, speed)


def aged(reciprocals: Pointer, first: Pointer, m: int) -> bool:
    """Whether a pivot has shrunk by the factor AGED since the partition was chosen."""
    small = False
    for i in range(m):
        small = small or not abs(first[i]) > AGED * abs(reciprocals[i])
    return small


@kernel
def derivative(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """(t, q, v, work) -> (qd, a, work rates) at the state with the same independent part."""
    about = header(p)
    n = about.n_q + about.n_v
    memory = work(w, n, about.m)
    copy(x, memory.state, 1 + n + N_WORK)
    if on_chart(p, memory.state, memory.gaps, memory.rest):
        call(about.derivative, memory.state, p, y, memory.rest)
    else:
        for i in range(n + N_WORK):
            y[i] = NAN


@kernel
def keep(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """What `project` does, with the independent part unchanged; then the chart is made anew."""
    about = header(p)
    n, m = about.n_q + about.n_v, about.m
    memory = work(w, n, m)
    state, gaps, scratch = memory.state, memory.gaps, memory.rest
    result = projected(y, n + N_WORK)
    copy(x, state, 1 + n + N_WORK)
    call(about.constraints, state, p, gaps, scratch)
    result.before = largest_scaled(gaps, scales(p, about.n_q, about.n_v, m).rows, m)
    solved = on_chart(p, state, gaps, scratch)
    chart = chart_memory(kept_memory(about), about.n_q, m, about.n_chart)
    call(about.chart, state, p, chart.factor, scratch)
    copy(offset(state, 1), result.state, n + N_WORK)
    result.gap = largest(gaps, m)
    result.rate = largest(offset(gaps, m), m)
    result.status = CONVERGED if solved else NOT_CONVERGED
    if solved and aged(chart.factor, chart.pivots, m):
        result.status = LAST_TIME


def of_system(system: System, derivative_of: NativeFunction) -> tuple[NativeFunction, NativeFunction]:
    """`derivative` and `keep` with the sizes of a system, on the derivative of a formulation."""
    n = system.n_q + system.n_v
    inner = max(derivative_of.work, *(f.work for f in system.functions.values()))
    room = size_of(work, n, system.m) + inner
    return (
        NativeFunction(derivative.name, derivative.address, 1 + n + N_WORK, n + N_WORK, room),
        NativeFunction(keep.name, keep.address, 1 + n + N_WORK, size_of(projected, n + N_WORK), room),
    )


class Charts:
    """The charts of a motion: its independent coordinates, and whether it is too near a singular position for any."""

    def __init__(self, derivative_of: NativeFunction, partition: bool) -> None:
        self.derivative_of, self.partition, self.is_near = derivative_of, partition, False
        self.mobility: list[float] = []

    def measure(self, system: System, place: Place) -> None:
        """Take scales and rank from a place: where the motion starts, or where other joints hold."""
        self.system, self.scales_of, self.rank, self.largest = system, place, 0, 0.0
        self.memory = np.zeros(size_of(chart_memory, system.n_q, system.m, system.functions["chart"].outputs))
        self.choose(place)

    def choose(self, place: Place) -> bool:
        """Choose anew at a place; whether the choice is another."""
        self.rank = max(self.rank, place.rank.rank)
        smallest = float(place.rank.values[self.rank - 1]) if self.rank else 1.0
        self.largest = max(self.largest, smallest)
        before = self.mobility, self.is_near
        self.mobility, self.is_near = _mobility(place, self.partition), smallest < TOO_NEAR * self.largest
        return (self.mobility, self.is_near) != before

    @property
    def functions(self) -> tuple[NativeFunction, NativeFunction]:
        """What is integrated, and what keeps it on the constraints."""
        if self.is_near:
            return self.derivative_of, projection.of_system(self.system)
        return of_system(self.system, self.derivative_of)

    def p(self, given: Mapping[str, float], t: float, q: Array) -> Array:
        """Parameters with these entries of the header, and the chart at a position."""
        own = {"memory": self.memory.ctypes.data, "derivative": self.derivative_of.address}
        mobility = self.scales_of.v_scale**2 * self.mobility
        p = self.system.p(self.scales_of, mobility=mobility, given={**given, **own})
        find_chart, m = self.system.functions["chart"], self.system.m
        chart = chart_memory(self.memory, self.system.n_q, m, find_chart.outputs)
        chart.factor[:] = find_chart(np.concatenate([[t], q]), p)
        chart.pivots[:] = chart.factor[:m]
        return p


def _mobility(place: Place, partition: bool) -> list[float]:
    """Zero for independent coordinates: those that QR with column pivoting of Psi_q leaves behind."""
    if not partition:
        return [1.0] * len(place.v)
    from scipy.linalg import qr

    weights = np.where(place.equations.turning, TURNS, 1.0) * place.v_scale
    columns = qr(place.Psi_q * weights / place.row_scale[:, None], mode="r", pivoting=True)[1]
    dependent = set(columns[: place.rank.rank].tolist())
    return [1.0 if k in dependent else 0.0 for k in range(len(place.v))]
