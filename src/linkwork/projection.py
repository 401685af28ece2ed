"""Newton's iteration onto the constraints, as machine code.

Positions:   q <- q moved by dx,    [M Psi_q^T; Psi_q -eps] (dx, mu) = (0, -Psi)
Velocities:  v <- v + dv,           the same matrix,        (dv, mu) = (0, -Psi_dot)

dx and dv are the corrections of least norm in the mass metric; both use the factor at the position before. Rounding
ends the iteration, not a tolerance: where nothing falls by half any more, the best that was found is taken.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from linkwork.dense.vectors import copy, largest
from linkwork.native.kernels import Kernel, Pointer, call, kernel, offset
from linkwork.native.lowering import NativeFunction
from linkwork.system import ALIGN, CLOSE, CONSTRAINTS, M_ROWS, N_CLOSED, N_Q, N_V, System

Array = NDArray[np.float64]

MAX_ITERATIONS = 12
ROUNDING = 4 * 2.0**-52  # of 1 + |q|: nothing is left to correct
ACCEPTED = 1e-9  # of 1 + |q|: a projection that stalls above this has failed
CONVERGED, NOT_CONVERGED, LAST_TIME = 0.0, 1.0, 2.0
INF = math.inf


@kernel
def project(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """x = (t, q, v, rest) -> (q, v, rest, |Psi| before, |Psi| after, |Psi_dot| after, status)."""
    n_q, n_v, m, n_closed = int(p[N_Q]), int(p[N_V]), int(p[M_ROWS]), int(p[N_CLOSED])
    constraints, close, align = int(p[CONSTRAINTS]), int(p[CLOSE]), int(p[ALIGN])
    n = n_q + n_v
    closed = w
    gaps = offset(closed, n_closed)
    best, trial, spare = x, offset(gaps, 2 * m), offset(gaps, 2 * m + 1 + n)
    scratch = offset(spare, 1 + n)

    scale = 1.0 + largest(offset(x, 1), n_q)
    speed = scale * (1.0 + largest(offset(x, 1 + n_q), n_v))
    before, gap, rate = INF, INF, INF
    for k in range(MAX_ITERATIONS):
        call(close, best, p, closed, scratch)
        call(align, closed, p, trial, scratch)
        call(constraints, trial, p, gaps, scratch)
        if k == 0:
            before = largest(offset(closed, 1 + n), m)
        new_gap, new_rate = largest(gaps, m), largest(offset(gaps, m), m)
        falling = new_gap < 0.5 * gap or new_rate < 0.5 * rate
        if falling or (new_gap <= gap and new_rate <= rate):
            best, trial, spare = trial, spare, trial
            gap, rate = new_gap, new_rate
        if not falling or (gap <= ROUNDING * scale and rate <= ROUNDING * speed):
            break

    copy(offset(best, 1), y, n)
    copy(offset(x, 1 + n), offset(y, n), 2)
    y[n + 2] = before
    y[n + 3] = gap
    y[n + 4] = rate
    y[n + 5] = CONVERGED if gap <= ACCEPTED * scale else NOT_CONVERGED


@kernel
def measure(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """The same without correcting anything."""
    n, m = int(p[N_Q]) + int(p[N_V]), int(p[M_ROWS])
    copy(offset(x, 1), y, n + 2)
    call(int(p[CONSTRAINTS]), x, p, w, offset(w, 2 * m))
    gap = largest(w, m)
    y[n + 2] = gap
    y[n + 3] = gap
    y[n + 4] = largest(offset(w, m), m)
    y[n + 5] = CONVERGED


def of_system(system: System, how: Kernel = project) -> NativeFunction:
    """`project` or `measure` with the sizes of a system."""
    f, n = system.functions, system.n_q + system.n_v
    inner = max(f[name].work for name in ("constraints", "close", "align"))
    work = f["close"].outputs + 2 * system.m + 2 * (1 + n) + inner  # what `close` returns, the residuals, two states
    return NativeFunction(how.name, how.address, 3 + n, n + 6, work)


def project_start(system: System, p: Array, q: Array, v: Array) -> Array:
    """(q, v, 0, 0) at t = 0 with the last digits of the constraints brought to rounding."""
    return of_system(system)(np.concatenate([[0.0], q, v, [0.0, 0.0]]), p)[:-4]
