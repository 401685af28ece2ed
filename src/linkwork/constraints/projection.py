"""Newton's iteration onto the constraints, as machine code.

Positions:   q <- q moved by dx,    [M Psi_q^T; Psi_q -eps] (dx, mu) = (0, -Psi)
Velocities:  v <- v + dv,           the same matrix,        (dv, mu) = (0, -Psi_dot)

dx and dv are the corrections of least norm in the mass metric; both use the factor at the position before. Gaps are
measured by the scales of their rows, and rounding by how large coordinates and velocities are on their own scales.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.system import N_CARRIED, System, header, scales
from linkwork.equations.implicit import N_WORK
from linkwork.equations.place import Place
from linkwork.linalg.newton import INF, iterate
from linkwork.linalg.vectors import clear, clear_negligible, copy, largest, largest_scaled
from linkwork.native.kernels import Kernel, Memory, Pointer, call, integer, kernel, offset, size_of, split, take
from linkwork.native.lowering import NativeFunction
from linkwork.tolerances import AGREEMENT, EPSILON

Array = NDArray[np.float64]

MAX_ITERATIONS = 12  # of Newton: twice what quadratic convergence needs from where it converges at all
ENOUGH = 8 * EPSILON  # of the size of a state, gaps and rates together: nothing is left to correct
SLOWEST = 1e-200  # scales per second: what is slower is at rest, and its rounding nothing
CONVERGED, NOT_CONVERGED = 0.0, 1.0


class Projected(Memory):
    """What a projection returns: the state, largest |Psi| before, by scales, and after, |Psi_dot| after, a status."""

    state: Pointer
    before: float
    gap: float
    rate: float
    status: float
    pivots: Pointer  # of `project` where there are constraints: reciprocal pivots of the linear system


def projected(y: Pointer, n: int) -> Projected:
    return Projected(*split(y, (n, 1, 1, 1, 1)))


class Work(Memory):
    """Scratch of `project`: what `close` returns, how large and fast the state is, and two with their residuals."""

    closed: Pointer
    size: float
    speed: float
    even: Pointer
    odd: Pointer
    rest: Pointer


def work(w: Pointer, n: int, m: int, n_closed: int) -> Work:
    return Work(*split(w, (n_closed, 1, 1, 1 + n + 2 * m, 1 + n + 2 * m)))


class Given(NamedTuple):
    """What `project` is given besides x."""

    p: Pointer
    y: Pointer
    w: Pointer


def correct(at: Given, x: Pointer, k: int) -> tuple[Pointer, float]:
    """Correct (t, q, v); residuals stand behind it, by what rounding makes of a state of this size and speed."""
    about = header(at.p)
    n, m = about.n_q + about.n_v, about.m
    by = scales(at.p, about.n_q, about.n_v, m)
    memory = work(at.w, n, m, about.n_closed)
    new = memory.even if k % 2 == 0 else memory.odd
    gaps = offset(new, 1 + n)
    call(about.close, x, at.p, memory.closed, memory.rest)
    call(about.align, memory.closed, at.p, new, memory.rest)
    if k == 0:
        result = projected(at.y, n + about.n_carried)
        result.before = largest_scaled(offset(memory.closed, 1 + n), by.rows, m)
        if m > 0:
            copy(offset(memory.closed, 1 + n + m), result.pivots, about.n_v + m)
        memory.size = 1.0 + largest_scaled(offset(new, 1), by.q, about.n_q)
        memory.speed = SLOWEST + largest_scaled(offset(new, 1 + about.n_q), by.v, about.n_v)
    gap, rate, speed = largest_scaled(gaps, by.rows, m), largest_scaled(offset(gaps, m), by.rows, m), memory.speed
    return new, (gap * speed + rate) / (memory.size * speed)


def bring_onto(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Bring q and v onto the constraints, and carry what is behind them along."""
    about = header(p)
    n, m = about.n_q + about.n_v, about.m
    memory, first = work(w, n, m, about.n_closed), x
    if about.n_q > about.n_v:  # Euler parameters, whose length a correction makes one: so it must be before
        copy(x, memory.even, 1 + n)
        clear(memory.even, 1 + about.n_q, 1 + n)
        copy(x, memory.odd, 1 + n)
        call(about.retract, offset(memory.even, 1), p, offset(memory.odd, 1), memory.rest)
        first = memory.odd
    result = projected(y, n + about.n_carried)
    best, left = iterate(Given(p, y, w), correct, first, INF, MAX_ITERATIONS, ENOUGH, INF)
    copy(offset(best, 1), result.state, n)
    clear_negligible(result.state, n)
    copy(offset(x, 1 + n), offset(result.state, n), about.n_carried)
    gaps = offset(best, 1 + n)
    result.gap = largest(gaps, m) if left < INF else INF
    result.rate = largest(offset(gaps, m), m) if left < INF else INF
    result.status = CONVERGED if left <= AGREEMENT else NOT_CONVERGED


@kernel
def project(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Compute x = (t, q, v, work) -> (q, v, work, |Psi| before, |Psi| after, |Psi_dot| after, status, pivots)."""
    bring_onto(x, p, y, w)


@kernel
def project_varied(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Project a state with its variations by parameters behind it; these are brought onto the tangents there."""
    bring_onto(x, p, y, w)
    about = header(p)
    n, n_varied = about.n_q + about.n_v + N_WORK, about.n_carried - N_WORK
    state, found, scratch = split(w, (1 + n + n_varied, n_varied))
    state[0] = x[0]
    copy(y, offset(state, 1), n + n_varied)
    call(about.onto, state, p, found, scratch)
    copy(found, offset(y, n), n_varied)


@kernel
def measure(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Measure as `project` does, without correcting anything: there is no |Psi| before."""
    about = header(p)
    n, m = about.n_q + about.n_v, about.m
    gaps, scratch = take(w, 2 * m)
    call(about.constraints, x, p, gaps, scratch)
    result = projected(y, n + about.n_carried)
    copy(offset(x, 1), result.state, n + about.n_carried)
    result.before = 0.0
    result.gap = largest(gaps, m)
    result.rate = largest(offset(gaps, m), m)
    result.status = CONVERGED


def of_system(system: System, how: Kernel = project, n_carried: int = N_WORK) -> NativeFunction:
    """Return `project` or `measure` with the sizes of a system."""
    n_pivots = system.n_v + system.m if system.m and how is not measure else 0
    f, n = system.functions, system.n_q + system.n_v
    inner = max(f[name].work for name in ("constraints", "close", "align", "retract"))
    room = size_of(work, n, system.m, f["close"].outputs) + inner
    if how is project_varied:
        room = max(room, f["onto"].inputs + f["onto"].outputs + f["onto"].work)
    return NativeFunction(how.name, how.address, 1 + n + n_carried, size_of(projected, n + n_carried) + n_pivots, room)


def project_state(system: System, p: Array, t: float, y: Array) -> Array:
    """Bring the constraints of (q, v, work) to rounding in their last digits."""
    room = of_system(system, n_carried=integer(p, N_CARRIED))
    x, found = np.zeros(room.inputs), np.empty(room.outputs)
    x[0], x[1 : 1 + len(y)] = t, y
    project(x, p, found, np.empty(room.work))
    return found[: len(y)]


def project_start(system: System, p: Array, place: Place) -> Array:
    """Project (q, v) and return (q, v, 0, 0)."""
    return project_state(system, p, place.t, np.concatenate([place.q, place.v, np.zeros(N_WORK)]))
