"""The one time loop: adaptive steps, projection, dense output at report times, residuals.

A system y' = f(t, y) is given by machine code of the one native signature,

    derivative: x = (t, y)  ->  y'
    project:    x = (t, y)  ->  (y projected, |Psi| before, |Psi| after, |Psi_dot| after, status)
                status 0 for success, 1 (FAILED), or 2 (ASKS_TO_STOP) for success and the wish that the loop stops
                after this step, so that something can be chosen anew

Every state the loop keeps or reports, except the initial one, has passed `project`, so its residuals are known; a
`project` that only measures returns y unchanged. Python runs the loop in slices of so many attempted steps, and all
that lasts from one slice to the next is in arrays, so the result does not depend on the slices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import UsageError
from linkwork.integrators.explicit import DOP853, Tableau
from linkwork.native.kernels import Pointer, call, kernel, offset

Array = NDArray[np.float64]

# Status of a slice.
REACHED = 0  # the last report time
RUNNING = 1  # the budget of steps is used, go on
COLLAPSED = 2  # no step is small enough: a singularity, or a derivative that is not finite
NOT_FINITE = 3  # initial state or its derivative
PROJECTION_FAILED = 4
ASKED = 5  # the projection asked for a stop after this step

# Status of a projection, besides zero.
FAILED, ASKS_TO_STOP = 1.0, 2.0

# What the loop remembers between slices, besides the state and its derivative.
STARTED, STEP = 0, 1  # size of the next step
ERROR, STREAK, REASON = 2, 3, 4  # error of the last accepted step; rejections since, and why the last of them
STEPS, REJECTED, EVALUATIONS = 5, 6, 7
ROWS, PSI_BEFORE, PSI, PSI_DOT = 8, 9, 10, 11  # rows written, largest residuals so far
NEW = 4  # so much further on, the same four with the step being tried
ASKING = 16  # whether the projection wishes the loop to stop
REMEMBERED = 17

BLOCK = 4  # vectors are padded with zeros to whole blocks of four doubles, which `combine` and `dot` are written for
MAX_STREAK = 50
MAX_REPORTS = 2 * 10**7
SAFETY = 0.9
SMALLEST = 16 * 2.0**-52
INF = math.inf


def _padded(n: int) -> int:
    return (n + BLOCK - 1) // BLOCK * BLOCK


def combine(weights: Pointer, k: Pointer, n: int, y: Pointer, h: float, out: Pointer) -> None:
    """out = y + h sum_j w_j k_j, where `weights` holds the number of terms, then the place in `k` and w_j of each.

    Terms with w_j = 0 are left out, except that the last block of terms is filled up with them.
    """
    count = int(weights[0])
    for j in range(0, count, BLOCK):
        w = offset(weights, 2 * j + 1)
        k_0, k_1, k_2, k_3 = offset(k, int(w[0])), offset(k, int(w[2])), offset(k, int(w[4])), offset(k, int(w[6]))
        a_0, a_1, a_2, a_3 = h * w[1], h * w[3], h * w[5], h * w[7]
        for i in range(0, n, BLOCK):
            # All is read before anything is written, else `out` might be among the k for all the compiler knows.
            y_0 = y[i] + (a_0 * k_0[i] + a_1 * k_1[i]) + (a_2 * k_2[i] + a_3 * k_3[i])
            y_1 = y[i + 1] + (a_0 * k_0[i + 1] + a_1 * k_1[i + 1]) + (a_2 * k_2[i + 1] + a_3 * k_3[i + 1])
            y_2 = y[i + 2] + (a_0 * k_0[i + 2] + a_1 * k_1[i + 2]) + (a_2 * k_2[i + 2] + a_3 * k_3[i + 2])
            y_3 = y[i + 3] + (a_0 * k_0[i + 3] + a_1 * k_1[i + 3]) + (a_2 * k_2[i + 3] + a_3 * k_3[i + 3])
            out[i], out[i + 1], out[i + 2], out[i + 3] = y_0, y_1, y_2, y_3
        y = out


def dot(a: Pointer, b: Pointer, n: int) -> float:
    s_0 = s_1 = s_2 = s_3 = 0.0
    for i in range(0, n, BLOCK):
        s_0 += a[i] * b[i]
        s_1 += a[i + 1] * b[i + 1]
        s_2 += a[i + 2] * b[i + 2]
        s_3 += a[i + 3] * b[i + 3]
    return (s_0 + s_1) + (s_2 + s_3)


def finite(values: Pointer, n: int, zeros: Pointer) -> bool:
    """Whether all values are, since 0 times infinity is not 0."""
    return dot(values, zeros, n) == 0.0


def copy(source: Pointer, n: int, target: Pointer) -> None:
    for i in range(n):
        target[i] = source[i]


def error_norm(
    E_k: Pointer,
    E_low_k: Pointer,
    y: Pointer,
    y_new: Pointer,
    n: int,
    n_norm: int,
    h: float,
    rtol: float,
    atol: Pointer,
) -> float:
    """The error of a step in units of the tolerance, in the mean over the components; its form is Tableau's."""
    for i in range(n):
        scale = atol[i] + rtol * max(abs(y[i]), abs(y_new[i]))
        E_k[i] /= scale
        E_low_k[i] /= scale
    high, low = dot(E_k, E_k, n), dot(E_low_k, E_low_k, n)
    denominator = high + 0.01 * low
    if denominator == 0.0:
        return 0.0
    return h * high / math.sqrt(n_norm * denominator)


def initial_step(
    derivative: int,
    p: Pointer,
    w: Pointer,
    x: Pointer,
    k: Pointer,
    n: int,
    rtol: float,
    atol: Pointer,
    limit: float,
    order: float,
    trial: Pointer,
    k_trial: Pointer,
) -> float:
    """A first step over which an explicit Euler step is good to about one percent of y. [hairer1993, section II.4]"""
    y = offset(x, 1)
    d0 = d1 = 0.0
    for i in range(n):
        scale = atol[i] + rtol * abs(y[i])
        d0 += (y[i] / scale) ** 2
        d1 += (k[i] / scale) ** 2
    h = 1e-6
    if d0 > 1e-10 and d1 > 1e-10:
        h = 0.01 * math.sqrt(d0 / d1)
    h = min(h, limit)
    trial[0] = x[0] + h
    for i in range(n):
        trial[1 + i] = y[i] + h * k[i]
    call(derivative, trial, p, k_trial, w)
    d2 = 0.0
    for i in range(n):
        scale = atol[i] + rtol * abs(y[i])
        d2 += ((k_trial[i] - k[i]) / scale) ** 2
    steepest = max(math.sqrt(d2) / h, math.sqrt(d1))
    h1 = max(1e-6, 1e-3 * h)
    if 1e-15 < steepest < INF:
        h1 = (0.01 / steepest) ** (1.0 / order)
    return min(100.0 * h, h1, limit)


def passed(
    project: int, x: Pointer, p: Pointer, w: Pointer, ny: int, n: int, out: Pointer, remembered: Pointer, zeros: Pointer
) -> bool:
    """Send a state through `project` into `out` and take note of its residuals and of its wish to stop the loop.

    Without `project`, copy the state.
    """
    if project == 0:
        copy(offset(x, 1), ny, out)
        return True
    call(project, x, p, out, w)
    if not finite(out, n + BLOCK, zeros) or out[ny + 3] == FAILED:
        return False
    if out[ny + 3] == ASKS_TO_STOP:
        remembered[ASKING] = 1.0
    for i in range(3):
        remembered[NEW + PSI_BEFORE + i] = max(remembered[NEW + PSI_BEFORE + i], out[ny + i])
    return True


def basis(theta: float, dense: Pointer, stride: int, phis: int) -> None:
    """Weights of the k_i at theta, into `dense`: a row as `combine` reads it, then the W_ji for each of its k_i."""
    count = int(dense[0])
    W = offset(dense, stride)
    for i in range(count):
        phi = 1.0
        s = 0.0
        for j in range(phis):
            phi *= theta if j % 2 == 0 else 1.0 - theta
            s += W[i * phis + j] * phi
        dense[2 * i + 2] = s


def settle(
    derivative: int,
    project: int,
    p: Pointer,
    w: Pointer,
    ny: int,
    n: int,
    stages: int,
    n_rows: int,
    stride: int,
    phis: int,
    error_uses_new: int,
    c: Pointer,
    weights: Pointer,
    dense: Pointer,
    times: Pointer,
    n_times: int,
    rows: Pointer,
    remembered: Pointer,
    h: float,
    x: Pointer,
    x_new: Pointer,
    x_stage: Pointer,
    kept: Pointer,
    zeros: Pointer,
    k: Pointer,
) -> int:
    """Report from inside a step that is good enough, project its end and differentiate there: RUNNING, or why not."""
    y, y_new, y_stage = offset(x, 1), offset(x_new, 1), offset(x_stage, 1)
    k_new = offset(k, stages * n)
    known = error_uses_new != 0  # whether k_new is the derivative at y_new
    row = int(remembered[ROWS])
    for i in range(NEW):
        remembered[NEW + ROWS + i] = remembered[ROWS + i]

    if row < n_times and times[row] < x_new[0]:
        if not known:
            call(derivative, x_new, p, k_new, w)
            remembered[EVALUATIONS] += 1.0
            known = True
            if not finite(k_new, n, zeros):
                return NOT_FINITE
        for i in range(stages + 1, n_rows):
            x_stage[0] = x[0] + c[i] * h
            combine(offset(weights, i * stride), k, n, y, h, y_stage)
            call(derivative, x_stage, p, offset(k, i * n), w)
            remembered[EVALUATIONS] += 1.0
            if not finite(offset(k, i * n), n, zeros):
                return NOT_FINITE
        while row < n_times and times[row] < x_new[0]:
            x_stage[0] = times[row]
            basis((times[row] - x[0]) / h, dense, stride, phis)
            combine(dense, k, n, y, h, y_stage)
            if not passed(project, x_stage, p, w, ny, n, kept, remembered, zeros):
                return PROJECTION_FAILED
            copy(kept, ny, offset(rows, row * ny))
            row += 1

    if not passed(project, x_new, p, w, ny, n, kept, remembered, zeros):
        return PROJECTION_FAILED
    for i in range(ny):
        known = known and kept[i] == y_new[i]
        y_new[i] = kept[i]
    if row < n_times and times[row] == x_new[0]:
        copy(y_new, ny, offset(rows, row * ny))
        row += 1
    remembered[NEW + ROWS] = row
    if not known:
        call(derivative, x_new, p, k_new, w)
        remembered[EVALUATIONS] += 1.0
    if not finite(k_new, n, zeros):
        return NOT_FINITE
    return RUNNING


@kernel
def advance(
    derivative: int,
    project: int,
    p: Pointer,
    w: Pointer,
    ny: int,
    n_norm: int,
    stages: int,
    n_rows: int,
    stride: int,
    phis: int,
    error_uses_new: int,
    c: Pointer,
    weights: Pointer,
    dense: Pointer,
    error_order: float,
    beta: float,
    shrink: float,
    growth: float,
    rtol: float,
    atol: Pointer,
    min_step: float,
    max_step: float,
    times: Pointer,
    n_times: int,
    rows: Pointer,
    remembered: Pointer,
    memory: Pointer,
    budget: int,
) -> int:
    """Go on from the state in `memory` by at most `budget` attempted steps; the result is a status.

    `derivative` and `project` are addresses, project = 0 if there is nothing to project. `weights` has n_rows + 2 rows
    of `stride` numbers as `combine` reads them: for every k_i, then E and E_low. `atol` is infinite for components that
    do not count, of which n_norm do. `times` are the report times, first the initial and last the final time; `rows`,
    n_times by ny, takes their states. `memory` is laid out as below; at first it holds the initial x and zeros.
    """
    n = _padded(ny)
    # Each state has its time just before it, so that both are one input x = (t, y), with y at a whole block.
    x = offset(memory, BLOCK - 1)
    x_new = offset(x, BLOCK + n)
    x_stage = offset(x_new, BLOCK + n)
    y, y_new, y_stage = offset(x, 1), offset(x_new, 1), offset(x_stage, 1)
    kept = offset(y_stage, n)
    E_k = offset(kept, n + BLOCK)
    E_low_k = offset(E_k, n)
    zeros = offset(E_low_k, n)
    k = offset(zeros, n + BLOCK)
    k_new = offset(k, stages * n)
    t_end = times[n_times - 1]
    exponent = 1.0 / error_order - 0.75 * beta

    if remembered[STARTED] == 0.0:
        if not finite(y, n, zeros):
            return NOT_FINITE
        call(derivative, x, p, k, w)
        remembered[EVALUATIONS] += 1.0
        if not finite(k, n, zeros):
            return NOT_FINITE
        copy(y, ny, rows)
        remembered[ROWS] = 1.0
        remembered[ERROR] = 1e-4
        if x[0] < t_end:
            limit = min(max_step, t_end - x[0])
            remembered[STEP] = initial_step(
                derivative, p, w, x, k, n, rtol, atol, limit, error_order, x_stage, offset(k, n)
            )
            remembered[EVALUATIONS] += 1.0
        remembered[STARTED] = 1.0

    for _ in range(budget):
        t, h = x[0], min(remembered[STEP], max_step)
        if t >= t_end:
            return REACHED
        if h < min_step or not h > SMALLEST * abs(t) or remembered[STREAK] > MAX_STREAK:
            return PROJECTION_FAILED if remembered[REASON] == PROJECTION_FAILED else COLLAPSED
        x_new[0] = t + h
        if t + 1.01 * h >= t_end:
            x_new[0] = t_end
            h = t_end - t

        for i in range(1, stages):
            x_stage[0] = t + c[i] * h
            combine(offset(weights, i * stride), k, n, y, h, y_stage)
            call(derivative, x_stage, p, offset(k, i * n), w)
        combine(offset(weights, stages * stride), k, n, y, h, y_new)
        remembered[EVALUATIONS] += stages - 1.0
        if error_uses_new != 0:
            call(derivative, x_new, p, k_new, w)
            remembered[EVALUATIONS] += 1.0
        combine(offset(weights, n_rows * stride), k, n, zeros, 1.0, E_k)
        combine(offset(weights, (n_rows + 1) * stride), k, n, zeros, 1.0, E_low_k)
        error = error_norm(E_k, E_low_k, y, y_new, n, n_norm, h, rtol, atol)

        outcome = COLLAPSED
        if not (error < INF and finite(y_new, n, zeros)):
            outcome = NOT_FINITE
        elif error <= 1.0:
            outcome = settle(
                derivative, project, p, w, ny, n, stages, n_rows, stride, phis, error_uses_new, c, weights, dense,
                times, n_times, rows, remembered, h, x, x_new, x_stage, kept, zeros, k,
            )  # fmt: skip

        if outcome == RUNNING:
            ratio = max(shrink, min(growth, SAFETY * remembered[ERROR] ** beta / error**exponent))
            if remembered[STREAK] > 0.0:
                ratio = min(ratio, 1.0)
            remembered[ERROR] = max(error, 1e-4)
            remembered[STREAK] = 0.0
            remembered[STEPS] += 1.0
            for i in range(NEW):
                remembered[ROWS + i] = remembered[NEW + ROWS + i]
            copy(x_new, 1 + n, x)
            copy(k_new, n, k)
            if remembered[ASKING] != 0.0 and x[0] < t_end:
                return ASKED
        else:
            ratio = max(shrink, SAFETY / error**exponent) if outcome == COLLAPSED else 0.25
            remembered[REASON] = outcome
            remembered[STREAK] += 1.0
            remembered[REJECTED] += 1.0
        remembered[STEP] = h * ratio
    return REACHED if x[0] >= t_end else RUNNING


class Native(Protocol):
    """Machine code of the one native signature and the doubles of scratch it needs."""

    @property
    def address(self) -> int: ...

    @property
    def work(self) -> int: ...


@dataclass(frozen=True)
class Settings:
    """How to integrate; a step is accepted if its error is below atol + rtol |y| in the mean over the components."""

    method: Tableau = DOP853
    rtol: float = 1e-6
    atol: float | Array = 1e-9  # one for all, or one for each component of the norm
    min_step: float = 0.0
    max_step: float = math.inf

    def __post_init__(self) -> None:
        if not 1e-15 <= self.rtol < 1.0:
            raise UsageError(f"rtol = {self.rtol:g} is not between 1e-15 and 1", "bad-tolerance")
        if not np.all((np.asarray(self.atol) > 0.0) & np.isfinite(self.atol)):
            raise UsageError(f"atol = {np.min(self.atol):g} is not positive", "bad-tolerance")
        if not 0.0 <= self.min_step < self.max_step:
            raise UsageError(f"steps from {self.min_step:g} to {self.max_step:g} do not exist", "bad-step-limits")


@dataclass(frozen=True)
class Slice:
    """What a slice of the run has brought; counters and residuals are those of the whole run so far."""

    status: int
    t: float  # the last good state
    y: Array
    step: float  # the step to be tried next
    times: Array  # report times passed in this slice, and the states there
    rows: Array
    steps: int
    rejected: int
    evaluations: int
    psi_before: float  # largest |Psi| that the steps brought to the projection, and largest residuals of kept states
    psi: float
    psi_dot: float
    loop_s: float  # time spent in the compiled loop


def report_times(t_0: float, t_end: float, step: float) -> Array:
    """t_0, t_0 + step, t_0 + 2 step, ..., t_end; the last interval is shorter if t_end is not on the grid."""
    if not 0.0 < step < math.inf:
        raise UsageError(f"report step {step:g} is not positive and finite", "bad-report-step")
    if not t_0 < t_end < math.inf:
        raise UsageError(f"t_end = {t_end:g} does not follow the start at {t_0:g}", "bad-t-end")
    intervals = (t_end - t_0) / step
    if intervals > MAX_REPORTS:
        size = f"{8e-9 * intervals:.3g} GB for each coordinate"
        raise UsageError(f"{intervals:.3g} report times would take {size}", "too-many-report-times")
    count = math.ceil(intervals - 1e-9)  # a grid point nearer to the end than this is the end
    times: Array = t_0 + step * np.arange(count + 1, dtype=np.float64)
    times[-1] = t_end
    return times


def integrate(
    derivative: Native,
    project: Native | None,
    p: Array,
    y_0: Array,
    times: Array,
    settings: Settings,
    n_norm: int | None = None,
    seconds: float = 0.1,
) -> Iterator[Slice]:
    """Integrate from times[0] to times[-1], coming back about every `seconds`; the last slice is not RUNNING.

    Only the first `n_norm` components of y (default: all) count in the error norm; quadratures stand behind them.
    """
    method, ny = settings.method, len(y_0)
    n_norm = ny if n_norm is None else n_norm
    n = _padded(ny)
    atol = np.full(n, math.inf)
    atol[:n_norm] = settings.atol
    times = np.array(times, dtype=np.float64)
    if not np.all(np.isfinite(times)) or np.any(np.diff(times) <= 0.0):
        raise UsageError("report times do not increase", "bad-report-times")
    c, weights, dense = _coefficients(method, n)
    n_rows = len(c)
    memory = _aligned(5 * BLOCK + (7 + n_rows) * n)
    memory[BLOCK - 1] = times[0]
    y = memory[BLOCK : BLOCK + ny]
    y[:] = y_0
    rows = np.empty((len(times), ny))
    remembered = np.zeros(REMEMBERED)
    work = _aligned(max(derivative.work, project.work if project else 0))
    arguments = (
        derivative.address,
        project.address if project else 0,
        np.array(p, dtype=np.float64),
        work,
        ny,
        n_norm,
        method.stages,
        n_rows,
        weights.shape[1],
        3 + len(method.D),
        int(len(method.E) > method.stages),
        c,
        weights,
        dense.copy(),  # the loop writes into it
        float(method.error_order),
        method.beta,
        method.shrink,
        method.growth,
        settings.rtol,
        atol,
        settings.min_step,
        settings.max_step,
        times,
        len(times),
        rows,
        remembered,
        memory,
    )
    status, budget, done, loop_s = RUNNING, 32, 0, 0.0
    while status == RUNNING:
        began = perf_counter()
        status = advance(*arguments, budget)
        took = perf_counter() - began
        loop_s += took
        budget = max(1, min(100 * budget, int(budget * seconds / max(took, 1e-6))))
        filled = int(remembered[ROWS])
        steps, rejected, evaluations = (int(number) for number in remembered[STEPS:ROWS])
        psi_before, psi, psi_dot = (float(number) for number in remembered[PSI_BEFORE : PSI_DOT + 1])
        yield Slice(
            status,
            float(memory[BLOCK - 1]),
            y.copy(),
            float(remembered[STEP]),
            times[done:filled],
            rows[done:filled],
            steps,
            rejected,
            evaluations,
            psi_before,
            psi,
            psi_dot,
            loop_s,
        )
        done = filled


@cache
def _coefficients(method: Tableau, n: int) -> tuple[Array, Array, Array]:
    """The arguments `c`, `weights` and `dense`: a row for all k_i that occur, to be filled in, and the W_ji of each."""
    n_rows = len(method.rows)
    weights = np.array([_row(row, n, n_rows) for row in (*method.rows, method.E, method.E_low)])
    W = np.array(method.W)
    used = np.any(W != 0.0, axis=0)
    dense = np.concatenate([_row(tuple(used.astype(float)), n, n_rows), W[:, used].T.ravel()])
    return np.array(method.c), weights, dense


def _row(weights: tuple[float, ...], n: int, n_rows: int) -> list[float]:
    """A row as `combine` reads it, of one term at least, so that it always writes; k_i begins at i n."""
    terms = [(float(i * n), a) for i, a in enumerate(weights) if a != 0.0] or [(0.0, 0.0)]
    filling = [(0.0, 0.0)] * (_padded(n_rows) - len(terms))
    return [float(len(terms)), *(number for term in terms + filling for number in term)]


def _aligned(n: int) -> Array:
    """Zeros on a boundary of 64 bytes, the length of a cache line and of the longest vectors."""
    space = np.zeros(n + 8)
    start = -(space.ctypes.data // 8) % 8
    return space[start : start + n]
