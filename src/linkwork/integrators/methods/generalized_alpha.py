"""The generalized-alpha method on the Lie group of a mechanism, constraints at position level.

    q_new = q o exp(h (v + h (1/2 - beta) A + h beta A_new)),     v_new = v + h (1 - gamma) A + h gamma A_new,
    (1 - alpha_m) A_new + alpha_m A = (1 - alpha_f) a_new + alpha_f a,
    0 = Q - M a - Psi_q^T lam = r  and  0 = Psi  at the end of the step.             [arnold2007; bruels2010]

With the spectral radius rho of infinitely fast modes

    alpha_m = (2 rho - 1)/(rho + 1),    alpha_f = rho/(rho + 1),
    gamma = 1/2 + alpha_f - alpha_m,    beta = (gamma + 1/2)^2/4

the method is of order 2. A follows a with a shift of (alpha_m - alpha_f) h in time, A ~ a + (alpha_m - alpha_f) h a';
so it begins, and so A - a is scaled where h changes. Newton's iteration for dx, by which q moves,

    [ r_q N + gamma/(h beta) r_v + (1 - alpha_m)/((1 - alpha_f) h^2 beta) r_a    r_lam ] [ dx   ]     [ r   ]
    [ Psi_q                                                                      0     ] [ dlam ] = - [ Psi ]

has the Jacobian of the index-3 form, y = (q, v, work, a, lam), whose last equations are r and Psi. The error of a step
is about h^2 (beta - 1/6) (A_new - A) in positions [zienkiewicz1991], and in velocities, by Taylor's series of A and
v_new, h^3 (1/12 + (alpha_m - alpha_f)^2/2) a''.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.errors import UsageError, check_number
from linkwork.integrators.integrate import Native
from linkwork.integrators.memory import Method, Outcome, Run, open_run
from linkwork.integrators.time_loop import HALF, is_at_rest, is_finite
from linkwork.linalg.lu_row_pivot import factor, sign_of_determinant, solve
from linkwork.linalg.vectors import clear, clear_undefined, copy, dot
from linkwork.native.kernels import Memory, Pointer, call, kernel, offset, size_of, split
from linkwork.tolerances import EPSILON

MOST_ITERATIONS = 10  # of the simplified Newton iteration, as in RADAU5 and some for its constant matrix
FAST = 0.1  # rate of convergence up to which the Jacobian is kept
ENOUGH = 1e-4  # of the tolerance: what Newton's iteration leaves
NUDGE = 1e-5  # of a step, over which the rate of a is measured
TINY = 1e-4  # of the last step: Euler's is good enough
SHRINK, GROWTH = 0.2, 5.0  # of a step in one change, as usual for step-size controllers
SMALL = 1e-3  # rad: below, tan(x)/x by its series
RHO = 0.8  # spectral radius unless another is given


class Alpha(Memory):
    """Places in the memory of the method, for vectors of n components; those without n in their comment one double."""

    jacobian: int  # addresses
    retract: int
    dynamics: int
    n_q: int
    n_v: int
    m: int
    n_entries: int  # of the Jacobian
    n_turns: int
    pattern: Pointer  # n n: places of the entries
    turns: Pointer  # n: where in v three components turn a body
    entries: Pointer  # n n
    J: Pointer  # n n, by rows of n_y
    S: Pointer  # n n
    pivots: Pointer  # n
    filled: Pointer  # n
    change: Pointer  # n: residual, then (dx, dlam)
    f: Pointer  # n
    moved: Pointer  # 2 n: argument of retract, (q, dx)
    dx: Pointer  # n
    A: Pointer  # n: at the beginning of the step
    A_new: Pointer  # n
    a: Pointer  # n: by `dynamics`, at the beginning of the step
    a_new: Pointer  # n
    slope: Pointer  # n: of this a over the step before, or a' where the motion begins
    x: Pointer  # 1 + n: another state
    alpha_m: float
    alpha_f: float
    gamma: float
    beta: float
    fixed: bool  # whether the length of steps is not controlled
    t_slope: float  # to which `slope` belongs
    t_begin: float  # of the step tried last
    t_end: float
    h: float  # step to which A belongs
    h_tried: float
    h_factored: float
    sign: float  # of the determinant of S, and that for h to zero
    side: float
    is_slow: bool
    rest: Pointer


SCALARS = (1,) * (len(Alpha._fields) - Alpha._fields.index("alpha_m") - 1)


def places(own: Pointer, n: int) -> Alpha:
    square = n * n
    vectors = (n, n, n, n, 2 * n, n, n, n, n, n, n, 1 + n)
    return Alpha(*split(own, (1, 1, 1, 1, 1, 1, 1, 1, square, n, square, square, square, *vectors, *SCALARS)))


@kernel
def alpha_begin(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Take a and lam where the motion begins, or forces jump: those of the state there."""
    at = open_run(m)
    its = places(own, at.n)
    first = 1 + at.ny - its.n_v - its.m
    call(its.dynamics, at.x, p, its.f, w)
    copy(offset(its.f, its.n_q), offset(at.x, first), its.n_v)
    copy(offset(its.f, first - 1), offset(at.x, first + its.n_v), its.m)
    call(at.derivative, at.x, p, at.k, w)
    at.evaluations += 2
    its.t_begin = its.t_end = math.nan
    evaluate_jacobian(at, its, at.x, p, w)
    its.side = factor_system(at, its, EPSILON * (abs(at.x[0]) + at.t_end - at.x[0]))


def begin(at: Run, its: Alpha, first: int, p: Pointer, w: Pointer) -> None:
    """Set A = a + (alpha_m - alpha_f) h a' with the change a' of a over a short while."""
    n_q, n_v = its.n_q, its.n_v
    while_ = NUDGE * at.h
    call(its.dynamics, at.x, p, its.f, w)
    its.is_slow = True
    copy(at.x, its.x, first)
    its.x[0] += while_
    for i in range(n_q + n_v):
        its.x[1 + i] += while_ * its.f[i]
    call(its.dynamics, its.x, p, its.f, w)
    for i in range(n_v):
        its.a[i] = at.x[first + i]
        its.slope[i] = (its.f[n_q + i] - its.a[i]) / while_
        its.A[i] = its.a[i] + (its.alpha_m - its.alpha_f) * at.h * its.slope[i]
    its.t_slope = at.x[0]
    at.evaluations += 2


def evaluate_jacobian(at: Run, its: Alpha, x: Pointer, p: Pointer, w: Pointer) -> None:
    """Evaluate J at x."""
    n_y = at.ny
    call(its.jacobian, x, p, its.entries, w)
    clear_undefined(its.entries, its.n_entries)
    clear(its.J, 0, n_y * n_y)
    for k in range(its.n_entries):
        its.J[int(its.pattern[k])] = its.entries[k]


def factor_system(at: Run, its: Alpha, h: float) -> float:
    """Factor S for this h; return the sign of its determinant, 0 if it is singular."""
    n_q, n_v, m, n_y = its.n_q, its.n_v, its.m, at.ny
    width, size, first = at.n, n_v + m, n_y - n_v - m
    by_v = its.gamma / (h * its.beta)
    by_a = (1.0 - its.alpha_m) / ((1.0 - its.alpha_f) * h * h * its.beta)
    clear(its.S, 0, size * width)
    for i in range(size):
        row, s = offset(its.J, (first + i) * n_y), offset(its.S, i * width)
        for k in range(n_q):
            if row[k] != 0.0:
                N = offset(its.J, k * n_y + n_q)  # d qd_k / d v
                for j in range(n_v):
                    s[j] += row[k] * N[j]
        for j in range(n_v):
            s[j] += by_v * row[n_q + j] + by_a * row[first + j]
        copy(offset(row, first + n_v), offset(s, n_v), m)
    if not factor(its.S, size, width, its.pivots, its.filled):
        return 0.0
    return sign_of_determinant(its.S, size, width, its.pivots)


def move(at: Run, its: Alpha, p: Pointer, w: Pointer) -> None:
    """Compute q_new = q o exp(dx). `retract` turns by 2 atan(|x|/2); so turns x are made |x| = 2
    tan(angle/2) before.
    """
    n_q, n_v = its.n_q, its.n_v
    copy(offset(at.x, 1), its.moved, n_q)
    dx = offset(its.moved, n_q)
    copy(its.dx, dx, n_v)
    for k in range(its.n_turns):
        turn = offset(dx, int(its.turns[k]))
        half = 0.5 * math.sqrt(dot(turn, turn, 0, 3))
        stretch = math.tan(half) / half if half > SMALL else 1.0 + half * half / 3.0
        for i in range(3):
            turn[i] *= stretch
    call(its.retract, its.moved, p, offset(at.x_new, 1), w)


def update(at: Run, its: Alpha, first: int, p: Pointer, w: Pointer) -> None:
    """Find A_new and the positions and velocities at the end from the accelerations there."""
    n_q, n_v, h = its.n_q, its.n_v, at.h
    for i in range(n_v):
        mixed = (1.0 - its.alpha_f) * at.x_new[first + i] + its.alpha_f * at.x[first + i]
        its.A_new[i] = (mixed - its.alpha_m * its.A[i]) / (1.0 - its.alpha_m)
        v = at.x[1 + n_q + i]
        its.dx[i] = h * (v + h * ((0.5 - its.beta) * its.A[i] + its.beta * its.A_new[i]))
        at.x_new[1 + n_q + i] = v + h * ((1.0 - its.gamma) * its.A[i] + its.gamma * its.A_new[i])
    move(at, its, p, w)


def weigh(at: Run, its: Alpha, dx: Pointer) -> float:
    """Measure a change of positions by the tolerances, in the mean, those of coordinates that move alike."""
    n_q, n_v, n_y = its.n_q, its.n_v, at.ny
    total = 0.0
    for k in range(n_q):
        dq = dot(offset(its.J, k * n_y + n_q), dx, 0, n_v)
        total += (dq / (at.atol[k] + at.rtol * abs(at.x[1 + k]))) ** 2
    return math.sqrt(total / max(n_q, 1))


def weigh_velocities(at: Run, its: Alpha, p: Pointer, w: Pointer) -> float:
    """Measure the mean error of velocities by their tolerances, with a'' from slopes of a over this step and the last.

    This a is that of `dynamics`: the one of the method is off by O(h) across the constraints, where it makes the
    positions right.
    """
    n_q, n_v, h = its.n_q, its.n_v, at.h
    call(its.dynamics, at.x_new, p, its.f, w)
    at.evaluations += 1
    copy(offset(its.f, n_q), its.a_new, n_v)
    C = 1.0 / 12.0 + 0.5 * (its.alpha_m - its.alpha_f) ** 2
    by, total = C * h * h * h / (at.x[0] + 0.5 * h - its.t_slope), 0.0
    for i in range(n_v):
        error = by * ((its.a_new[i] - its.a[i]) / h - its.slope[i])
        total += (error / (at.atol[n_q + i] + at.rtol * abs(at.x_new[1 + n_q + i]))) ** 2
    return math.sqrt(total / max(n_v, 1))


def iterate(at: Run, its: Alpha, p: Pointer, w: Pointer) -> bool:
    """Iterate by Newton for the end of the step; return whether it converges."""
    n_v, m, n_y = its.n_v, its.m, at.ny
    size, first = n_v + m, n_y - n_v - m
    by_a = (1.0 - its.alpha_m) / ((1.0 - its.alpha_f) * at.h * at.h * its.beta)
    last = math.inf
    for k in range(MOST_ITERATIONS):
        call(at.derivative, at.x_new, p, its.f, w)
        at.evaluations += 1
        if not is_finite(its.f, at, n_y):
            at.outcome = Outcome.NOT_FINITE
            return False
        for i in range(size):
            its.change[i] = -its.f[first + i]
        solve(its.S, size, at.n, its.pivots, its.change)
        change = weigh(at, its, its.change)
        if not change < math.inf or (k > 0 and change > last):
            return False
        for i in range(n_v):
            at.x_new[1 + first + i] += by_a * its.change[i]
        for i in range(m):
            at.x_new[1 + first + n_v + i] += its.change[n_v + i]
        update(at, its, 1 + first, p, w)
        rate = change / last if k > 0 else 1.0
        if change * rate <= ENOUGH:
            its.is_slow = k > 0 and rate > FAST
            return True
        last = change
    return False


def take_last(at: Run, its: Alpha) -> None:
    """Take the step tried last for the one that this follows."""
    its.h = its.h_tried
    its.t_slope = its.t_begin + 0.5 * its.h
    for i in range(its.n_v):
        its.slope[i] = (its.a_new[i] - its.a[i]) / its.h
    copy(its.A_new, its.A, its.n_v)
    copy(its.a_new, its.a, its.n_v)


def go_straight(at: Run, its: Alpha, first: int, h_last: float) -> None:
    """Make Euler's step where one is cut off at a switch, too short for S to be regular."""
    copy(offset(at.x, 1), offset(at.x_new, 1), at.ny)
    for i in range(first - 1):
        at.x_new[1 + i] += at.h * at.k[i]
    its.h, its.t_begin, its.t_end = h_last, math.nan, math.nan
    at.error, at.proposed = TINY, GROWTH


def foresee(at: Run, its: Alpha, first: int, p: Pointer, w: Pointer) -> None:
    """Foresee the end of the step by the accelerations at its beginning, with A - a in proportion to h."""
    if at.h != its.h:
        for i in range(its.n_v):
            a = at.x[first + i]
            its.A[i] = a + (its.A[i] - a) * at.h / its.h
        its.h = at.h
    its.t_begin, its.t_end, its.h_tried = at.x[0], math.nan, at.h
    copy(offset(at.x, 1), offset(at.x_new, 1), at.ny)
    update(at, its, first, p, w)


def solve_end(at: Run, its: Alpha, p: Pointer, w: Pointer) -> bool:
    """Solve for the end of the step, with another S where the last one does not serve; return whether that succeeds."""
    if its.is_slow or at.h != its.h_factored:
        evaluate_jacobian(at, its, at.x_new, p, w)
        its.h_factored = at.h
        its.sign = factor_system(at, its, at.h)
    is_astray = its.sign * its.side < 0.0
    if its.sign != 0.0 and not is_astray and iterate(at, its, p, w):
        return True
    its.is_slow = True
    if at.outcome == Outcome.GOOD:
        at.outcome = Outcome.NOT_SOLVED
        at.proposed = SHRINK if is_astray else HALF
    return False


@kernel
def alpha_step(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Make a step with its error estimate, as memory.py asks for."""
    at = open_run(m)
    its = places(own, at.n)
    first, h_last = 1 + at.ny - its.n_v - its.m, its.h
    if at.x[0] == its.t_end:  # the step tried last was taken
        take_last(at, its)
    elif at.x[0] != its.t_begin:
        begin(at, its, first, p, w)
        its.h = at.h
    if at.h < TINY * h_last and is_at_rest(at):
        go_straight(at, its, first, h_last)
        return
    foresee(at, its, first, p, w)
    if not solve_end(at, its, p, w):
        return
    call(at.derivative, at.x_new, p, at.k_new, w)
    at.evaluations += 1
    at.known = True
    for i in range(its.n_q + its.n_v, first - 1):  # work
        at.x_new[1 + i] = at.x[1 + i] + 0.5 * at.h * (at.k[i] + at.k_new[i])
    its.t_end = at.x_new[0]
    if its.fixed:
        at.error = at.proposed = 1.0
        return
    for i in range(its.n_v):
        its.change[i] = at.h * at.h * (its.beta - 1.0 / 6.0) * (its.A_new[i] - its.A[i])
    at.error = max(weigh(at, its, its.change), weigh_velocities(at, its, p, w), 1e-10)


@kernel
def alpha_dense(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Prepare cubic polynomials by values and rates at both ends; straight lines for a and lam. As memory.py
    asks for.
    """
    at = open_run(m)
    n, h = at.n, at.h
    for i in range(at.ny):
        change = at.x_new[1 + i] - at.x[1 + i]
        at.F[i] = change
        if i < at.n_rates:
            at.F[n + i] = h * at.k[i] - change
            at.F[2 * n + i] = change - h * at.k_new[i] - at.F[n + i]
        else:
            at.F[n + i] = at.F[2 * n + i] = 0.0


@dataclass(frozen=True, eq=False)
class GeneralizedAlpha:
    """The method for the index-3 form of a mechanism, whose f is the `derivative` of `integrate`.

    `jacobian` gives the entries of f_y at the places `pattern`, `retract` moves q, `dynamics` gives (qd, a) at (t, q,
    v); `turns` are the places in v of three components that turn a body. `rho` is the spectral radius of infinitely
    fast modes; with `fixed` all steps are so long.
    """

    rho: float = RHO
    fixed: float | None = None
    jacobian: Native | None = None
    retract: Native | None = None
    dynamics: Native | None = None
    sizes: tuple[int, int, int] = (0, 0, 0)  # of q, v and Psi
    pattern: Sequence[tuple[int, int]] = ()
    turns: Sequence[int] = ()
    name: str = "generalized-alpha"

    def __post_init__(self) -> None:
        for name, value in (("rho", self.rho), ("fixed", self.fixed or 0.0)):
            check_number(name, value)
        if not 0.0 <= self.rho <= 1.0:
            raise UsageError(f"a spectral radius of {self.rho:g} is not between 0 and 1", "bad-spectral-radius")
        if self.fixed is not None and not 0.0 < self.fixed < math.inf:
            raise UsageError(f"steps of {self.fixed:g} s do not exist", "bad-step-limits")

    def prepare(self, n: int) -> Method:
        assert self.jacobian is not None
        assert self.retract is not None
        assert self.dynamics is not None
        own = np.zeros(size_of(places, n))
        its = places(own, n)
        n_q, n_v, m = self.sizes
        n_y = n_q + 2 * n_v + 2 + m
        its.jacobian, its.retract, its.dynamics = self.jacobian.address, self.retract.address, self.dynamics.address
        its.n_q, its.n_v, its.m = n_q, n_v, m
        its.n_entries, its.n_turns = len(self.pattern), len(self.turns)
        its.pattern[: len(self.pattern)] = np.array(self.pattern).reshape(-1, 2) @ [n_y, 1]
        its.turns[: len(self.turns)] = self.turns
        alpha_m, alpha_f = (2.0 * self.rho - 1.0) / (self.rho + 1.0), self.rho / (self.rho + 1.0)
        gamma = 0.5 + alpha_f - alpha_m
        its.alpha_m, its.alpha_f = alpha_m, alpha_f
        its.gamma, its.beta = gamma, 0.25 * (gamma + 0.5) ** 2
        its.fixed = self.fixed is not None
        its.t_begin = its.t_end = math.nan
        its.is_slow = True
        work = max(self.jacobian.work, self.dynamics.work, self.retract.work)
        control = 3.0, SHRINK, GROWTH
        n_rates, first_step = n_q + n_v + 2, self.fixed or 0.0
        addresses = alpha_step.address, alpha_dense.address
        return Method(*addresses, 3, own, *control, n_rates, work, first_step, alpha_begin.address)
