"""The three-stage Radau IIA method of order 5 for M y' = f(t, y) with constant M, which may be singular.

With y_i = y + Z_i at the times t + c_i h the stages solve

    M Z_i = h sum_j a_ij f(t + c_j h, y + Z_j),          y_new = y + Z_3.

W = (T^-1 x I) Z, where T^-1 A^-1 T has one real eigenvalue gamma and the block of alpha + i beta, separates Newton's
iteration with one Jacobian J = f_y into a real and a complex system,

    (gamma/h M - J) dW_1 = R_1,        ((alpha + i beta)/h M - J) (dW_2 + i dW_3) = R_2 + i R_3,
    R = T^-1 f - (1/h) Lambda M W.                                               [hairer1996, section IV.8]

J is kept as long as the iteration converges fast, the factors as long as h stays too. Components of a variable of index
i count in norms times h^(i - 1) [hairer1996, section VII.7], those of index 2 by what they change in others: with h in
seconds the size of a mechanism would change its tolerance. What constraints leave of their error counts in full. Since
the error estimate, of order 3, is far above the error, it is compared with 0.1 rtol^(2/3) in place of rtol, and with
atol reduced alike, as the code RADAU5 does. That of an index-3 form is of h^4 where the motion is off by h^5: it is
compared with 0.1 rtol^(4/5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwork.integrators.integrate import Native
from linkwork.integrators.memory import End, Method, Outcome, Run, open_run
from linkwork.integrators.methods.collocation import (
    COMPLEX,
    GAMMA,
    T_INVERSE,
    C,
    T,
    dense_weights,
    error_by_estimate,
    error_weights,
    foreseeing_weights,
)
from linkwork.integrators.methods.linear_systems import (
    entries_of,
    factor_systems,
    fill_systems,
    is_astray,
    multiply_mass,
    solve_both,
    solve_real,
    systems_places,
    systems_sizes,
)
from linkwork.integrators.methods.radau5_dense import Radau, extrapolate, fit, open_radau, places, radau_dense
from linkwork.integrators.methods.stiffness import LOOK, PERTURBED, SOON, find_fastest
from linkwork.integrators.methods.tangent import Blocks, are_forces_gentle, reduce_matrices
from linkwork.integrators.time_loop import HALF, SAFETY, constant_of_error, is_at_rest, is_finite
from linkwork.linalg.lu_planned import Elimination
from linkwork.linalg.vectors import clear, clear_negligible, clear_undefined, copy
from linkwork.native.kernels import Pointer, call, integer, kernel, offset, size_of
from linkwork.tolerances import EPSILON

Array = NDArray[np.float64]

MOST_ITERATIONS = 7  # of the simplified Newton iteration [hairer1996]
FAST = 1e-3  # rate of convergence up to which the Jacobian is kept
GOOD = 0.25  # that with which steps advance at least cost
SLOW = 0.99  # and from which on the step is given up
SMALL = 0.1  # of the tolerance
SAME = 1.2  # ratio of steps up to which the old one is taken again, with its factors
SMALLEST_RATIO, LARGEST_RATIO = 0.2, 8.0  # of a step in one change [hairer1996]
TINY = 1e-4  # of the last step: one so short, cut off at a switch, need not be solved for
EASY = 1.0  # h |lambda| of steps that an explicit method could take
FORESEEN = 2.0  # of the last step: how far its polynomial tells where to linearize
POWER, POWER_OF_INDEX_3 = 2.0 / 3.0, 4.0 / 5.0  # of h in the estimates of the error, by the order of each
FLOOR = 1e-2  # of the error that the predictive control remembers


def evaluate(at: Run, its: Radau, p: Pointer, out: Pointer, w: Pointer) -> bool:
    """Evaluate f at its.x; where it is not finite, that state is left for the loop."""
    call(at.derivative, its.x, p, out, w)
    at.evaluations += 1
    if is_finite(out, at, at.ny):
        return True
    at.outcome = Outcome.NOT_FINITE
    at.failed_inside = True
    copy(its.x, at.x_inside, 1 + at.n)
    return False


def evaluate_jacobian(at: Run, its: Radau, p: Pointer, w: Pointer) -> bool:
    """Evaluate J: exact where it is given, else by difference quotients at the start of the step; return if f is
    finite.

    The exact one is that of the middle of the step, as far as it can be foreseen: what turns with the mechanism, such
    as the direction of a stiff spring, is then half as far off. Where nothing can, it is that a tolerance further on:
    of a law that sets in as a root it is infinite where the step begins, and no change of the stages is too small then.
    """
    ny = at.ny
    J, n_entries = entries_of(its.systems)
    its.t_jacobian = at.x[0]
    its.h_factored = its.h_foreseen = 0.0
    if its.jacobian != 0:
        copy(at.x, its.x, 1 + at.n)
        if its.has_last and at.h <= FORESEEN * its.h_last:
            its.h_foreseen = at.h
            its.x[0] += 0.5 * at.h
            extrapolate(at, its, 0.5, offset(its.x, 1))
            for i in range(ny):
                its.x[1 + i] += at.x[1 + i]
        elif not its.has_last:
            for i in range(at.n_rates):
                most = at.atol[i] + at.rtol * abs(at.x[1 + i])
                its.x[1 + i] += max(-most, min(most, 0.5 * at.h * at.k[i]))
        call(its.jacobian, its.x, p, J, w)
    else:
        copy(at.x, its.x, 1 + at.n)
        for j in range(ny):
            usual = at.atol[j] / at.rtol
            delta = PERTURBED * max(abs(at.x[1 + j]), usual if usual < math.inf else 1.0)
            its.x[1 + j] = at.x[1 + j] + delta
            delta = its.x[1 + j] - at.x[1 + j]
            if not evaluate(at, its, p, its.f, w):
                return False
            its.x[1 + j] = at.x[1 + j]
            for i in range(ny):
                J[i * at.n + j] = (its.f[i] - at.k[i]) / delta
    clear_undefined(J, n_entries)  # f is finite, and whether its stages converge will show
    if its.systems.tangent.n_entries > 0:
        reduce_matrices(its.systems.tangent)
        if its.detects and are_forces_gentle(its.systems.tangent, at.h):
            its.calm = max(its.calm, LOOK - SOON)
    return True


def forget_last(its: Radau) -> None:
    """Forget the last step, which the next one does not continue."""
    its.t_begin = its.t_end = math.nan
    its.has_last = False
    its.is_slow, its.contraction = True, 1.0  # the Jacobian may have changed
    its.calm = LOOK - SOON if its.detects else 0  # and what was stiff may be behind


@kernel
def radau_begin(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Take accelerations and multipliers where the motion begins, or forces jump: those of the state there,
    and mu = 0.
    """
    at = open_run(m)
    its = open_radau(own, at)
    forget_last(its)
    its.usual = 0.1 * at.rtol**POWER
    its.allowed = 0.1 * at.rtol**POWER_OF_INDEX_3 if its.is_scaled else its.usual
    if its.dynamics != 0:
        find_unknowns(at, its, p, w)


def find_unknowns(at: Run, its: Radau, p: Pointer, w: Pointer) -> None:
    first, n_v, m, y = at.n_rates, its.n_v, its.m, offset(at.x, 1)
    call(its.dynamics, at.x, p, its.f, w)
    copy(offset(its.f, its.n_q), offset(y, first), n_v)
    copy(offset(its.f, first), offset(y, first + n_v), m)
    clear(y, first + n_v + m, at.ny)
    call(at.derivative, at.x, p, at.k, w)
    at.evaluations += 2


def set_weights(at: Run, its: Radau) -> float:
    """Set reciprocals of the tolerances, and what Newton's iteration may leave of them."""
    n_rates, usual, rtol = at.n_rates, its.usual, its.allowed
    wanted: float = max(10.0 * EPSILON / rtol, min(0.03, math.sqrt(rtol)))
    for i in range(at.ny):
        scale = at.atol[i] / at.rtol + abs(at.x[1 + i])
        times = at.h ** its.exponent[i] if its.exponent[i] > 0.0 else 1.0  # a power takes as long as a step of its loop
        its.weight[i] = its.newton[i] = times / (rtol * scale)
        its.alone[i] = 1.0 / (usual * scale) if its.exponent[i] == 1.0 and i < n_rates else 0.0
    if its.is_scaled:
        weigh_by_change(at, its, max(1.0, wanted * rtol / (100.0 * EPSILON)))
    return wanted


def weigh_by_change(at: Run, its: Radau, most: float) -> None:
    """Weigh components of index 2 by what they change in the step, h J_ij dy_j of each y_i.

    In Newton's iteration by themselves, so many times as much at most: rounding of y_i divided by h is left of them.
    """
    n_rates = at.n_rates
    clear(its.change, 0, n_rates)
    for k in range(its.systems.n_entries):
        i, j = integer(its.systems.row, k), integer(its.systems.column, k)
        if max(i, j) < n_rates and its.exponent[i] == 0.0 and its.exponent[j] == 1.0:
            its.change[j] += (its.systems.J[k] * its.weight[i]) ** 2
    for j in range(n_rates):
        if its.change[j] > 0.0:
            its.weight[j] = at.h * math.sqrt(its.change[j])
            its.newton[j] = max(its.weight[j], min(its.alone[j], most * its.weight[j]))


def norm(at: Run, weight: Pointer, x: Pointer) -> float:
    """Return the root of the mean of the squares of x by the tolerances."""
    total = 0.0
    for i in range(at.ny):
        total += (x[i] * weight[i]) ** 2
    return math.sqrt(total / at.n_norm)


def combine(rows: Pointer, X: Pointer, n: int, ny: int, Y: Pointer) -> None:
    """Compute Y := (rows x I) X for a matrix of three rows."""
    for k in range(3):
        for i in range(ny):
            Y[k * n + i] = rows[3 * k] * X[i] + rows[3 * k + 1] * X[n + i] + rows[3 * k + 2] * X[2 * n + i]


def guess_stages(at: Run, its: Radau) -> None:
    """Guess the stages by the polynomial of the last step, continued, or zero, or of index 3 by Euler's step."""
    n, ny = at.n, at.ny
    for k in range(3):
        extrapolate(at, its, its.c[k], offset(its.Z, k * n))
    clear_negligible(its.Z, 3 * n)
    if not its.has_last and its.is_scaled:
        go_straight(at, its)
    combine(its.T_inverse, its.Z, n, ny, its.W)


def go_straight(at: Run, its: Radau) -> None:
    """Make Euler's step."""
    for k in range(3):
        for i in range(at.n_rates):
            its.Z[k * at.n + i] = its.c[k] * at.h * at.k[i]


def continue_last(at: Run, its: Radau) -> None:
    """Make a step too short to be solved for by the last one's polynomial, or as Euler's step.

    Its error is about TINY of the last one's, or less than a tolerance.
    """
    n, ny = at.n, at.ny
    guess_stages(at, its)
    if not its.has_last:
        go_straight(at, its)
    for i in range(ny):
        at.x_new[1 + i] = at.x[1 + i] + its.Z[2 * n + i]
    clear(its.R, 0, ny)
    at.error = TINY
    at.proposed = LARGEST_RATIO


def form_residual(at: Run, its: Radau, p: Pointer, w: Pointer) -> bool:
    """Form R = T^-1 f - (1/h) Lambda M W; return whether f is finite at all stages."""
    n, ny, h = at.n, at.ny, at.h
    for k in range(3):
        its.x[0] = min(at.x[0] + its.c[k] * h, at.x_new[0])
        for i in range(ny):
            its.x[1 + i] = at.x[1 + i] + its.Z[k * n + i]
        if not evaluate(at, its, p, offset(its.Z, k * n), w):  # Z is not needed again before W has changed
            return False
    combine(its.T_inverse, its.Z, n, ny, its.R)
    for k in range(3):
        multiply_mass(its.systems, offset(its.W, k * n), its.change)
        for i in range(ny):
            M_W = its.change[i] / h
            if k == 0:
                its.R[i] -= its.gamma * M_W
            elif k == 1:
                its.R[n + i] -= its.alpha * M_W
                its.R[2 * n + i] -= its.beta * M_W
            else:
                its.R[n + i] += its.beta * M_W
                its.R[2 * n + i] -= its.alpha * M_W
    return True


def solve_stages(at: Run, its: Radau, p: Pointer, w: Pointer, wanted: float) -> int:
    """Iterate by Newton for the stages; return how many rounds it took, or 0 where it does not converge.

    It ends where its rate theta promises an error below `wanted` of the tolerance, theta/(1 - theta) |dW|, and is given
    up where the rounds left will not do by two ratios of changes, of which the first is that of a poor start too; then
    a suitable step is `proposed`. Where velocities count times h, one round more is done: what the last one left of
    them would be 1/h times as much. Where there are quadratures, which no rate tells of, the last change is SMALL
    itself: J of an older force is not theirs.
    """
    n, ny = at.n, at.ny
    largest = SMALL if at.n_norm < at.n_rates else math.inf
    its.contraction = max(its.contraction, EPSILON) ** 0.8
    theta, last_ratio, last, is_last = FAST, 1.0, 1.0, False
    for k in range(MOST_ITERATIONS):
        if not form_residual(at, its, p, w):
            return 0
        R_2, R_3 = offset(its.R, n), offset(its.R, 2 * n)
        solve_both(its.systems, its.R, R_2, R_3)
        change = math.sqrt(
            (norm(at, its.newton, its.R) ** 2 + norm(at, its.newton, R_2) ** 2 + norm(at, its.newton, R_3) ** 2) / 3.0
        )
        if not change < math.inf:
            break
        if k > 0 and not is_last:
            ratio = change / last
            theta = ratio if k == 1 else math.sqrt(ratio * last_ratio)
            last_ratio = ratio
            if not theta < SLOW:
                break
            its.contraction = theta / (1.0 - theta)
            left = MOST_ITERATIONS - 1 - k
            expected = its.contraction * change * theta**left / wanted
            if k > 1 and expected >= 1.0:
                at.proposed = 0.8 * max(1e-4, min(20.0, expected)) ** (-1.0 / (4 + left))
                at.outcome = Outcome.NOT_SOLVED
                return 0
        last = max(change, EPSILON)
        for i in range(3 * n):
            its.W[i] += its.R[i]
        combine(its.T, its.W, n, ny, its.Z)
        if is_last or (its.contraction * change <= wanted and change <= largest):
            its.is_slow = theta > FAST
            its.theta = theta
            if is_last or not its.is_scaled or k == MOST_ITERATIONS - 1:
                return k + 1
            is_last = True
    at.proposed = HALF
    at.outcome = Outcome.NOT_SOLVED
    return 0


def measure_error(at: Run, its: Radau, err: Pointer) -> float:
    """Measure an error.

    What constraints leave of components v of index 2, (gamma/h M - J)^-1 (gamma/h err_v) for a short h, counts by
    itself too: it lasts, while the rest, which is larger by 1/h, is projected away.
    """
    size = norm(at, its.weight, err)
    if its.is_scaled:
        ny, left = at.ny, offset(its.R, 2 * at.n)
        for i in range(ny):
            left[i] = its.gamma / at.h * err[i] if its.alone[i] > 0.0 else 0.0
        solve_real(its.systems, left)
        size = max(size, norm(at, its.alone, left))
    return size


def estimate_error(at: Run, its: Radau, p: Pointer, w: Pointer, is_new: bool) -> float:
    """Estimate |(gamma/h M - J)^-1 (f(t, y) + M sum_i d_i Z_i/h)|, filtered again where it is large after no
    good step.
    """
    n, ny = at.n, at.ny
    Z_2, Z_3, M_Z, err = offset(its.Z, n), offset(its.Z, 2 * n), offset(its.R, n), its.R
    for i in range(ny):
        its.change[i] = (its.d[0] * its.Z[i] + its.d[1] * Z_2[i] + its.d[2] * Z_3[i]) / at.h
    multiply_mass(its.systems, its.change, M_Z)
    for i in range(ny):
        err[i] = at.k[i] + M_Z[i]
    solve_real(its.systems, err)
    size = measure_error(at, its, err)
    if size >= 1.0 and is_new:
        its.x[0] = at.x[0]
        for i in range(ny):
            its.x[1 + i] = at.x[1 + i] + err[i]
        if not evaluate(at, its, p, its.f, w):
            return size
        for i in range(ny):
            err[i] = its.f[i] + M_Z[i]
        solve_real(its.systems, err)
        size = measure_error(at, its, err)
    return max(size, 1e-10)


def judge_rise(at: Run, its: Radau) -> float:
    """Find the error of a step in which its estimate, in proportion to h^4, has grown e^z times.

    `weight` allows the estimate rtol^POWER, where the error of the step is h^2 times as small. That holds while h is
    small beside the time in which y changes; where a force sets in, its error is known to be the estimate times z^2.
    """
    z = max(0.0, constant_of_error(at) - at.last_constant)
    return max(at.error, its.by_estimate * z * z * at.error * its.allowed / at.rtol)


def propose(at: Run, its: Radau, rounds: int) -> float:
    """Propose the ratio of the next step to this one, after a good one.

    The smaller of SAFETY fac/err^(1/4), with fac small where Newton's iteration was long, and of Gustafsson's
    predictive control; a little growth is left out, since the factors then serve again.
    [hairer1996, eqs. (IV.8.21), (IV.8.25)] Where Newton's iteration limits the step, not the error, its rate theta
    grows about as h^4 with a Jacobian of this step, and h follows GOOD [gustafsson1997].
    """
    safety = SAFETY * (1 + 2 * MOST_ITERATIONS) / (rounds + 2 * MOST_ITERATIONS)
    inverse = at.error**0.25 / min(SAFETY, safety)
    if its.has_last:
        predicted = its.h_last / at.h * (at.error**2 / its.error_last) ** 0.25 / SAFETY
        inverse = max(inverse, predicted)
    ratio: float = 1.0 / max(1.0 / LARGEST_RATIO, min(1.0 / SMALLEST_RATIO, inverse))
    if its.t_jacobian == at.x[0]:
        ratio = min(ratio, max(SMALLEST_RATIO, (GOOD / its.theta) ** 0.25))
    if 1.0 <= ratio <= SAME and not its.is_slow:
        ratio = 1.0
    return ratio


def follow_last(at: Run, its: Radau, p: Pointer, w: Pointer) -> bool:
    """Go on from the step tried last; return whether it was taken. Else what is known of the one before may stay."""
    if at.x[0] != its.t_end:
        if at.x[0] != its.t_begin:  # one that was not solved for was taken
            forget_last(its)
        return False
    fit(its, its.P, at.n, at.ny)
    its.h_last = its.h_tried
    its.error_last = max(its.error_tried, FLOOR)
    its.has_last = True
    its.calm += 1 if its.detects else 0
    if its.calm >= LOOK:
        its.calm = 0
        if its.h_last * find_fastest(at, p, w, its.R, offset(its.R, at.n), its.f)[0] < EASY:
            at.asking = End.UNSUITED
    return True


def factor(at: Run, its: Radau) -> bool:
    """Factor the matrices for this h, unless the last ones serve; return whether they are regular."""
    if at.h == its.h_factored:
        return True
    its.h_factored = 0.0
    if not factor_systems(its.systems, its.gamma / at.h, its.alpha / at.h, its.beta / at.h):
        at.proposed = HALF
        at.outcome = Outcome.NOT_SOLVED
        return False
    if is_astray(its.systems):
        at.proposed = SMALLEST_RATIO
        at.outcome = Outcome.NOT_SOLVED
        return False
    at.unplanned += 1 if its.systems.is_full and its.systems.n_upper > 0 else 0
    its.h_factored = at.h
    its.contraction = 1.0  # the rate of other factors tells nothing
    return True


@kernel
def radau_step(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Make a step with its error estimate, as memory.py asks for."""
    at = open_run(m)
    its = open_radau(own, at)
    is_new = not follow_last(at, its, p, w)
    its.t_begin, its.t_end, its.h_tried = at.x[0], math.nan, at.h
    if at.h < TINY * min(its.h_last, at.next_step) and (its.has_last or is_at_rest(at)):
        continue_last(at, its)
        return
    is_other = its.t_jacobian != at.x[0] or its.h_foreseen > at.h
    if its.is_slow and is_other and not evaluate_jacobian(at, its, p, w):
        return
    wanted = set_weights(at, its)
    if not factor(at, its):
        return
    guess_stages(at, its)
    its.is_slow = True  # where what follows fails
    rounds = solve_stages(at, its, p, w, wanted)
    if rounds == 0:
        if at.outcome == Outcome.NOT_SOLVED and is_at_rest(at):  # across a switch no iteration may converge
            forget_last(its)
            continue_last(at, its)
            at.outcome = Outcome.GOOD
        return
    for i in range(at.ny):
        at.x_new[1 + i] = at.x[1 + i] + its.Z[2 * at.n + i]
    at.error = estimate_error(at, its, p, w, is_new)
    if at.outcome != Outcome.GOOD:
        return
    at.error = judge_rise(at, its)
    at.proposed = propose(at, its, rounds)
    its.error_tried = at.error
    its.t_end = at.x_new[0]


@dataclass(frozen=True, eq=False)
class Radau5:
    """The method for a system M y' = f(t, y), whose f is the `derivative` of `integrate`.

    `jacobian`, (t, y) -> the entries of f_y at the places `pattern`, is exact or left out: then difference quotients
    take its place; `plan` is the elimination for it. Of a motion the entries may be those of `blocks`, see tangent.py.
    Without `mass` M is one. `index` is 1 for components that are
    differential or follow from others at once, 2 or 3 for those that follow after one or two differentiations. Where
    accelerations and multipliers of a mechanism stand behind (q, v, work), `dynamics` gives (qd, a, work rates, lam) at
    a state. `side` is the sign of the determinant of c M - J for c to infinity, where M is not one; 0 is unknown. If it
    `detects`, it asks for an explicit method where that would do.
    """

    jacobian: Native | None = None
    mass: Array | None = None
    index: Sequence[int] | None = None
    pattern: Sequence[tuple[int, int]] | None = None
    plan: Elimination | None = None
    blocks: Blocks = ()
    dynamics: Native | None = None
    sizes: tuple[int, int, int] = (0, 0, 0)  # of q, v and Psi
    side: float = 0.0
    detects: bool = False
    name: str = "radau5"

    def prepare(self, n: int) -> Method:
        mass, pattern = np.eye(n), self.pattern
        if self.mass is not None:
            mass[: len(self.mass), : len(self.mass)] = self.mass
        n_rates = int(np.cumprod(np.all(mass == np.eye(n), axis=1)).sum())
        if pattern is None:
            pattern = list(np.ndindex(n, n)) if not self.blocks else []
        elif self.mass is not None:
            mass = self.mass
        sizes = systems_sizes(pattern, mass, self.plan, self.sizes if self.blocks else (0, 0, 0), self.blocks)
        own = np.zeros(size_of(systems_places, *sizes) + size_of(places, None, n))
        fill_systems(own, sizes, pattern, mass, self.plan, self.blocks, 1.0 if n_rates == n else self.side)
        systems = systems_places(own, *sizes)
        its = places(systems.rest, systems, n)
        if self.jacobian is not None:
            its.jacobian = self.jacobian.address
        if self.dynamics is not None:
            its.dynamics = self.dynamics.address
            its.n_q, its.n_v, its.m = self.sizes
        its.exponent[: len(self.index or ())] = np.array(self.index or (), dtype=float) - 1.0
        its.is_scaled = bool(np.any(its.exponent[:n] * np.pad(mass.diagonal(), (0, n - len(mass))) > 0.0))
        its.c[:], its.T[:], its.T_inverse[:] = C, T.ravel(), T_INVERSE.ravel()
        its.d[:] = error_weights()
        its.D[:] = dense_weights().ravel()
        its.e[:] = foreseeing_weights()
        its.by_estimate = error_by_estimate()
        its.gamma, its.alpha, its.beta = GAMMA, COMPLEX.real, COMPLEX.imag
        its.t_begin = its.t_end = its.t_jacobian = math.nan
        its.is_slow, its.contraction = True, 1.0
        its.detects = self.detects
        work = max((f.work for f in (self.jacobian, self.dynamics) if f is not None), default=0)
        control = 4.0, SMALLEST_RATIO, LARGEST_RATIO
        addresses = radau_step.address, radau_dense.address
        return Method(*addresses, 4, own, *control, n_rates, work, begin=radau_begin.address, seen=(0.0, *C))
