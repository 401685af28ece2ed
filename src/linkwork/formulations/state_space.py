"""Integration of the independent coordinates and velocities alone, as machine code.

Let B q be the independent coordinates and dx = -W^-1 Psi_q*^T (Psi_q* W^-1 Psi_q*^T)^-1 Psi the Newton step with the
Jacobian of a nearby position, the chart, whose range B annihilates:

    coordinate-partitioning   W^-1 is one for dependent coordinates and zero for independent ones, B picks the latter
    qr, svd                   W = I, B = V^T, the null space of Psi_q*               [pennestri2004, eqs. (44)-(50)]

Every evaluation of the right-hand side first solves the dependent part from B q and B v by these steps and then finds
the accelerations there. So d(B q)/dt and d(B v)/dt are functions of B q and B v: the integrator advances the
state-space form, and the dependent components it carries along are only the first guess of the next solution. The
chart is made anew after every step, the partition when a pivot has become small.
"""

from __future__ import annotations

import math

from linkwork.dense.vectors import copy, largest
from linkwork.native.kernels import Pointer, call, kernel, offset
from linkwork.native.lowering import NativeFunction
from linkwork.projection import CONVERGED, LAST_TIME, NOT_CONVERGED
from linkwork.system import (
    CHART,
    CHART_MEMORY,
    CONSTRAINTS,
    DERIVATIVE,
    M_ROWS,
    N_CHART,
    N_Q,
    N_V,
    PUSH,
    SHIFT,
)

MAX_ITERATIONS = 60
AGED = 0.05  # a partition has aged when a pivot of Psi_q W^-1 Psi_q^T has shrunk by this factor
TOLERANCE = 1e-13
NAN = math.nan


def on_chart(state: Pointer, p: Pointer, gaps: Pointer, scratch: Pointer) -> bool:
    """Solve the dependent part of (t, q, v), in place; whether it was possible."""
    n_q, n_v, m, n_chart = int(p[N_Q]), int(p[N_V]), int(p[M_ROWS]), int(p[N_CHART])
    constraints, shift, push = int(p[CONSTRAINTS]), int(p[SHIFT]), int(p[PUSH])
    chart = offset(p, int(p[CHART_MEMORY]))
    q, v = offset(state, 1), offset(state, 1 + n_q)
    scale = 1.0 + largest(q, n_q)
    last = math.inf
    for _ in range(MAX_ITERATIONS):
        call(constraints, state, p, gaps, scratch)
        gap = largest(gaps, m)
        if gap <= TOLERANCE * scale or not gap < last:
            break
        last = gap
        copy(q, offset(chart, n_chart), n_q)
        copy(gaps, offset(chart, n_chart + n_q), m)
        call(shift, chart, p, q, scratch)
    if not gap <= 1e3 * TOLERANCE * scale:
        return False
    scale *= 1.0 + largest(v, n_v)
    last = math.inf
    for _ in range(MAX_ITERATIONS):
        call(constraints, state, p, gaps, scratch)
        gap = largest(offset(gaps, m), m)
        if gap <= TOLERANCE * scale or not gap < last:
            break
        last = gap
        copy(v, offset(chart, n_chart), n_v)
        copy(offset(gaps, m), offset(chart, n_chart + n_v), m)
        call(push, chart, p, v, scratch)
    return gap <= 1e3 * TOLERANCE * scale


def aged(reciprocals: Pointer, first: Pointer, m: int) -> bool:
    """Whether a pivot has shrunk by the factor AGED since the partition was chosen."""
    for i in range(m):
        if abs(first[i]) > AGED * abs(reciprocals[i]):
            continue
        return True
    return False


@kernel
def derivative(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """(t, q, v, work) -> (qd, a, work rates) at the state with the same independent part."""
    n_q, n_v, m = int(p[N_Q]), int(p[N_V]), int(p[M_ROWS])
    state, gaps = w, offset(w, 3 + n_q + n_v)
    scratch = offset(gaps, 2 * m)
    copy(x, state, 3 + n_q + n_v)
    if on_chart(state, p, gaps, scratch):
        call(int(p[DERIVATIVE]), state, p, y, scratch)
    else:
        for i in range(n_q + n_v + 2):
            y[i] = NAN


@kernel
def keep(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """What `project` does, with the independent part unchanged; then the chart is made anew."""
    n_q, n_v, m = int(p[N_Q]), int(p[N_V]), int(p[M_ROWS])
    n = n_q + n_v
    state, gaps = w, offset(w, 3 + n)
    scratch = offset(gaps, 2 * m)
    copy(x, state, 3 + n)
    call(int(p[CONSTRAINTS]), state, p, gaps, scratch)
    y[n + 2] = largest(gaps, m)
    solved = on_chart(state, p, gaps, scratch)
    chart = offset(p, int(p[CHART_MEMORY]))
    call(int(p[CHART]), state, p, chart, scratch)
    copy(offset(state, 1), y, n + 2)
    y[n + 3] = largest(gaps, m)
    y[n + 4] = largest(offset(gaps, m), m)
    y[n + 5] = CONVERGED if solved else NOT_CONVERGED
    if solved and aged(chart, offset(chart, int(p[N_CHART]) + n_q + m), m):
        y[n + 5] = LAST_TIME


def of_system(n: int, m: int, inner: int) -> tuple[NativeFunction, NativeFunction]:
    """`derivative` and `keep` with the sizes of a system, n = n_q + n_v; `inner` is the scratch of what they call."""
    work = 3 + n + 2 * m + inner
    return (
        NativeFunction(derivative.name, derivative.address, 3 + n, n + 2, work),
        NativeFunction(keep.name, keep.address, 3 + n, n + 6, work),
    )
