"""The one time loop, as parts: choose a step, try it, report from inside it, project its end, control the error.

`advance` at the end is the loop itself; the parts above it work on the memory described in memory.py.
"""

from __future__ import annotations

import math

from linkwork.integrators.memory import BLOCK, MOMENTS, N_RESIDUALS, End, Outcome, Run, moment, open_run
from linkwork.integrators.switches import HOP, STRETCH, hold_sides, interpolate, let_go, prepare_dense, stretch
from linkwork.linalg.vectors import copy, dot, largest_of
from linkwork.native.kernels import Pointer, call, kernel, offset
from linkwork.tolerances import EPSILON, TYPED

GOES_ON = -1  # no End
FAILED = 1.0  # status of a projection, besides zero
MAX_STREAK = 50  # rejections of one step
WITHIN = 20_000  # steps over which the pace of a run is measured
HOPELESS = 1e5  # times the steps that are allowed: what needs more at its pace is given up before they are used up
SAFETY = 0.9  # of the step for which the error would be the tolerance: nine of ten steps are then accepted
EXCESS = 100.0  # |Psi| before projection by the tolerance: the end of a good step is nearer
CROSSED = 1e-3  # change of a state by its projection, of the largest component, beyond all rounding
HALF = 0.5  # ratio of steps after an iteration that does not converge
AGAIN = 0.25  # ratio of steps after a failure that is no matter of accuracy
FAR = 0.3  # distance by the largest so far: nothing is expected from there
BEFORE = 0.4  # of a step: how far from a singular position it ends, to go past it by as much again and once more
AFAR = 0.6  # of the way to a position that is not located yet
ROUGH = 1000.0  # times the error of a step, by the way beyond its end: nine of ten polynomials of dop853 err less there
VANISHING = 1.5  # growth of a reciprocal pivot over a step from which on it may lead to a singular position
INF = math.inf


def is_at_rest(at: Run) -> bool:
    """Whether Euler's step changes nothing by more than its tolerance, as a force that sets in at a switch may do."""
    rests = True
    for i in range(at.n_norm):
        rests = rests and abs(at.h * at.k[i]) <= at.atol[i] + at.rtol * abs(at.x[1 + i])
    return rests


def is_finite(values: Pointer, at: Run, count: int) -> bool:
    """Whether all values are, since 0 times infinity is not 0."""
    return dot(values, at.zeros, 0, count) == 0.0


def differentiate(at: Run, p: Pointer, w: Pointer) -> bool:
    """Compute k_new = f(t_new, y_new); return whether it is finite."""
    call(at.derivative, at.x_new, p, at.k_new, w)
    at.evaluations += 1
    at.known = True
    return is_finite(at.k_new, at, at.n)


def initial_step(at: Run, p: Pointer, w: Pointer, limit: float) -> float:
    """Find a first step over which an explicit Euler step is good to about one percent of y. [hairer1993, section II.4]

    With the time that is left as the unit of time.
    """
    y, y_new = offset(at.x, 1), offset(at.x_new, 1)
    d0 = d1 = d2 = 0.0
    n_rates = at.n_rates
    copy(y, y_new, at.n)
    for i in range(n_rates):
        scale = at.atol[i] + at.rtol * abs(y[i])
        d0 += (y[i] / scale) ** 2
        d1 += (limit * at.k[i] / scale) ** 2
    h = min(0.01 * math.sqrt(d0 / d1) if min(d0, d1) > 1e-10 else TYPED, 1.0)
    at.x_new[0] = at.x[0] + h * limit
    for i in range(n_rates):
        y_new[i] = y[i] + h * limit * at.k[i]
    differentiate(at, p, w)
    for i in range(n_rates):
        d2 += (limit * (at.k_new[i] - at.k[i]) / (at.atol[i] + at.rtol * abs(y[i]))) ** 2
    steepest = max(math.sqrt(d2) / h, math.sqrt(d1))
    wanted = (0.01 / steepest) ** (1.0 / at.error_order) if 1e-15 < steepest < INF else max(TYPED, 1e-3 * h)
    return min(100.0 * h, wanted, 1.0) * limit


def begin(at: Run, m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> bool:
    """Differentiate the state from which the motion goes on, with nothing known of it; whether it is finite."""
    copy(at.x, at.x_new, 1 + at.n)
    if not is_finite(offset(at.x, 1), at, at.n) or not differentiate(at, p, w):
        return False
    copy(at.k_new, at.k, at.n)
    if at.begin != 0:
        call(at.begin, m, p, own, w)
    at.last_constant = at.smooth_constant = INF
    at.switch = -INF
    at.singular = INF
    for i in range(at.n_pivots):
        at.pivots[i] = at.least_pivots[i] = INF
    return True


def start(at: Run, m: Pointer, p: Pointer, own: Pointer, w: Pointer, rows: Pointer) -> bool:
    """Begin, report the initial state and choose the first step if none is given; whether it is finite."""
    at.started = True
    let_go(at, p)
    if not begin(at, m, p, own, w):
        return False
    if at.row == 0:
        copy(offset(at.x, 1), rows, at.n_rows)
        at.row = 1
    at.streak = at.hops = 0
    if at.n_watched > 0 and not at.signed:
        call(at.note_start, m, p, own, w)
    if hold_sides(at, p):
        begin(at, m, p, own, w)
    if at.x[0] < at.t_end and at.next_step == 0.0:
        at.next_step = initial_step(at, p, w, min(at.max_step, at.t_end - at.x[0]))
    if at.first_step == 0.0:
        at.first_step = at.next_step
    return True


def is_stuck(at: Run) -> bool:
    """Whether the next step is too small to be tried.

    Near t = 0 that is beside the first one, or, if that was small itself, beside what rounding leaves of the run.
    """
    h, t = at.next_step, at.x[0]
    least = HOP * (abs(t) + max(at.first_step, HOP * (at.t_end - t)))
    return h < at.min_step or not h > least or at.streak > MAX_STREAK


def is_hopeless(at: Run) -> bool:
    """Whether all steps are used up, or far more would be needed at the pace of the last ones."""
    tried = at.steps + at.rejected
    if tried >= at.most_steps:
        return True
    if tried - at.paced < WITHIN:
        return False
    needed, gained = (at.t_end - at.x[0]) * (tried - at.paced), at.x[0] - at.paced_t
    at.paced, at.paced_t = tried, at.x[0]
    return bool(needed > HOPELESS * at.most_steps * gained)


def keep_distance(at: Run, h: float) -> float:
    """Return the step h, or one that ends before a singular position ahead, see `pass_singular`.

    Where that is only estimated, from afar and rather too late, a part of the way is gone that leaves less than itself.
    """
    ahead = at.singular - float(at.x[0])
    return min(h, ahead / (1.0 + BEFORE) if at.is_located else AFAR * ahead) if ahead > 0.0 else h


def choose_step(at: Run, stops: Pointer) -> float:
    """Choose the step that error control wishes, but not beyond the next stop, the next switch or the end: this time.

    What is left for two steps is halved: multipliers of index 3 have the error of positions divided by h^2, and a last
    step much shorter than the others would show it.
    """
    t, h = at.x[0], keep_distance(at, min(at.next_step, at.max_step))
    stop, n_stops = at.stop, at.n_stops
    while stop < n_stops and stops[2 * stop] <= t:
        stop += 1
    end = min(at.t_end, stops[2 * stop]) if stop < n_stops else at.t_end
    if at.switch > t:
        end = min(end, at.switch)
    at.x_new[0] = t + h
    if t + STRETCH * h >= end:
        at.x_new[0] = end
        h = end - t
    elif t + 2.0 * h > end and h < at.max_step:
        h = 0.5 * (end - t)
        at.x_new[0] = t + h
    at.stop = stop
    at.h = h
    return float(end)


def project_state(at: Run, x: Pointer, p: Pointer, w: Pointer) -> bool:
    """Project the state x into `projected`, and take note of its residuals; whether it succeeds.

    Without a projection, copy the state.
    """
    ny, out, address = at.ny, at.projected, at.project
    if address == 0:
        copy(offset(x, 1), out, ny)
        return True
    call(address, x, p, out, w)
    if not is_finite(out, at, at.n + BLOCK) or out[ny + 3] == FAILED:
        return False
    for i in range(3):
        at.new_residuals[i] = max(at.new_residuals[i], out[ny + i])
    return True


def expect_singular(at: Run) -> float:
    """Expect when the next singular position is passed, by the growth g of the reciprocal pivots over a good step.

    A pivot that vanishes there is in proportion to (t* - t)^2, so that t* = t + h/(sqrt(g) - 1). One that vanishes only
    because of the order of elimination makes another grow with it; their product, the determinant, then stays.
    """
    growth, total, distance = VANISHING, 1.0, 1.0
    for i in range(at.n_pivots):
        size = abs(at.new_pivots[i])
        ratio = size / at.pivots[i]
        total *= ratio
        if ratio > growth:
            growth = ratio
            at.vanishing = i
            distance = math.sqrt(at.least_pivots[i] / size)
    if growth > VANISHING and total * total > growth and distance < FAR:
        return float(at.x_new[0] + at.h / (math.sqrt(growth) - 1.0))
    return INF


def distance_at(at: Run, t: float, p: Pointer, w: Pointer) -> float:
    """Find the root of the pivot that vanishes, at a time on the polynomial of the step."""
    interpolate(at, t)
    call(at.project, at.x_inside, p, at.projected, w)
    return 1.0 / math.sqrt(abs(at.projected[at.ny + N_RESIDUALS + at.vanishing]))


def locate_singular(at: Run, p: Pointer, w: Pointer) -> float:
    """Locate when a pivot vanishes that is expected to within a step, by the polynomial of the last one.

    Its root s is nearly linear in time and has no sign; the middle tells on which side of zero the other end is.
    """
    t, s = float(at.x_new[0]), 1.0 / math.sqrt(abs(at.new_pivots[at.vanishing]))
    found: float = at.expected
    for _ in range(2):
        middle, last = distance_at(at, 0.5 * (t + found), p, w), distance_at(at, found, p, w)
        if abs(middle - 0.5 * abs(s - last)) < abs(middle - 0.5 * (s + last)):
            last = -last
        if last >= s:
            return INF
        found = t + (found - t) * s / (s - last)
    return found


def pass_singular(at: Run, m: Pointer, p: Pointer, own: Pointer, w: Pointer, end: float) -> int:
    """Go on past a singular position ahead by the polynomial of the step, to as far behind it, if that is exact enough.

    Beside the branch of the motion another one begins there. With x the way to that position and y the distance from
    the branch, the constraints hold on x y = 0, but up to rounding, r, on hyperbolas x y = r, of which none goes past
    x = 0, and accelerations at states off the branch by y are off by y/x^2. So none is asked for near x = 0: the motion
    itself is smooth, its polynomial errs by ((h + way)/h)^k times as much as within the step, and the projection behind
    x = 0 takes away what grew across the branch. An error that does not fall with h^k towards it is such y/x^2.
    """
    at.is_located = at.expected - at.x_new[0] < 2.0 * at.h
    if not at.is_located:
        return Outcome.GOOD
    outcome = prepare_dense(at, m, p, own, w)
    if outcome != Outcome.GOOD:
        return outcome
    at.expected = locate_singular(at, p, w)
    way = 2.0 * (at.expected - at.x_new[0])
    error = math.exp(min(constant_of_error(at), at.smooth_constant)) * (at.h + way) ** at.error_order
    error *= ROUGH * way / at.h
    if not (error <= 1.0 and at.x_new[0] + way < end):
        return Outcome.GOOD
    distance_at(at, at.expected, p, w)
    if at.projected[at.ny] > at.least:  # it comes near the position, and turns before it
        return Outcome.GOOD
    stretch(at, 1.0 + way / at.h)
    at.h, at.error = at.h + way, max(at.error, error)
    interpolate(at, at.x[0] + at.h)
    copy(at.x_inside, at.x_new, 1 + at.n)
    at.known, at.leap = False, way
    return project_end(at, p, w)


def report(at: Run, m: Pointer, p: Pointer, own: Pointer, w: Pointer, times: Pointer, rows: Pointer) -> int:
    """Write the states at the report times inside the step."""
    row = at.row
    at.new_row = row
    if times[row] < at.x_new[0]:
        outcome = prepare_dense(at, m, p, own, w)
        if outcome != Outcome.GOOD:
            return outcome
    while times[row] < at.x_new[0]:
        interpolate(at, times[row])
        outcome = judge_projection(at, at.x_inside, p, w)
        if outcome != Outcome.GOOD:
            at.failed_inside = True
            return outcome
        copy(at.projected, offset(rows, row * at.n_rows), at.n_rows)
        row += 1
    at.new_row = row
    return Outcome.GOOD


def exceeds(at: Run, measure: float) -> bool:
    """Whether a measure of the step, by what is allowed, is above it; the next step is chosen by the largest."""
    at.excess = max(at.excess, measure)
    return measure > 1.0


def judge_projection(at: Run, x: Pointer, p: Pointer, w: Pointer) -> int:
    """Project a state of the step, and judge how far that has moved it."""
    if not project_state(at, x, p, w):
        return Outcome.NOT_PROJECTED
    return Outcome.FAR_OFF if is_far_off(at) else Outcome.GOOD


def is_far_off(at: Run) -> bool:
    """Whether the state that was projected had been far from the constraints.

    Stages near a singular position can be so far off that the error estimate is below the error by chance, or the end
    of the step is good and what dense output makes of it is not.
    """
    gap = at.projected[at.ny] / at.least
    if gap / EXCESS <= largest_measure(at):  # and by its tolerance it is no larger than that
        return False
    return exceeds(at, gap / (EXCESS * (1.0 + at.rtol * largest_of(at.projected, at.atol, at.n_norm))))


def has_crossed(at: Run, change: float) -> bool:
    """Whether a projection has changed the state so much that it went elsewhere.

    Near a singular position both positions can be close to the constraints, and the velocities are of another branch.
    """
    if change / EXCESS <= largest_measure(at):
        return False
    size = largest_of(at.projected, at.atol, at.n_norm)
    return exceeds(at, change / (EXCESS + max(EXCESS * at.rtol, CROSSED) * size) if size > 0.0 else 0.0)


def project_end(at: Run, p: Pointer, w: Pointer) -> int:
    """Project the end of the step, from where the motion goes on; GOOD if it is near enough to the constraints.

    This comes first, so that dense output takes the derivative there, with which the next step begins.
    """
    y_new, change = offset(at.x_new, 1), 0.0
    copy(at.residuals, at.new_residuals, 3)
    outcome = judge_projection(at, at.x_new, p, w)
    if outcome != Outcome.GOOD:
        return outcome
    for i in range(at.ny):
        if at.projected[i] != y_new[i]:
            at.known = False
            change = max(change, abs(at.projected[i] - y_new[i]) / at.atol[i])
        y_new[i] = at.projected[i]
    if has_crossed(at, change):
        return Outcome.ELSEWHERE
    copy(offset(at.projected, at.ny + N_RESIDUALS), at.new_pivots, at.n_pivots)
    at.expected = expect_singular(at)
    return Outcome.GOOD


def settle(at: Run, p: Pointer, w: Pointer, times: Pointer, stops: Pointer, rows: Pointer) -> int:
    """Go past a stop that is at the end of the step, report if it is a report time, and differentiate.

    A derivative that changes at a stop is evaluated before it, in the step that ends there, and behind it from now on.
    """
    row, stop = at.new_row, at.stop
    at.passes = stop < at.n_stops and at.x_new[0] == stops[2 * stop]
    if at.passes:
        at.x_new[0] = min(stops[2 * stop + 1], at.t_end)
        at.known = False
    while row < at.n_times and times[row] <= at.x_new[0]:
        copy(offset(at.x_new, 1), offset(rows, row * at.n_rows), at.n_rows)
        row += 1
    at.new_row = row
    return Outcome.GOOD if at.known or at.crosses or differentiate(at, p, w) else Outcome.NOT_FINITE


def largest_measure(at: Run) -> float:
    """Return the largest of the error and of all else that was measured, each by what is allowed."""
    return max(at.error, at.excess)


def ratio_of_steps(at: Run, constant: float) -> float:
    """Compute h_next/h = SAFETY/(g error)^(1/k), where error/h^k has grown g times since the last good step, and may go
    on.

    So an error that rises is met before it is too large [hairer1996, section IV.8]; one that falls may do so by chance,
    and half of the growth that it allows is taken. `constant` is log error/h^k.
    """
    is_good = largest_measure(at) <= 1.0
    if at.proposed != 0.0 and is_good:
        return at.proposed
    rises = max(0.0, constant - at.last_constant) if is_good else 0.0
    ratio = SAFETY * math.exp(-(constant + rises) / at.error_order) / at.h
    ratio = max(at.shrink, min(at.growth, ratio))
    return ratio if ratio <= 1.0 else 0.5 * (1.0 + ratio)


def constant_of_error(at: Run) -> float:
    """Compute log error/h^k."""
    return math.log(max(largest_measure(at), EPSILON)) - at.error_order * math.log(at.h)


def accept(at: Run) -> None:
    """Make the end of the step the last good state, and choose the next step."""
    wished = min(at.next_step, at.max_step)
    constant = constant_of_error(at)
    ratio = ratio_of_steps(at, constant)
    if at.streak > 0:
        ratio = min(ratio, 1.0)
    at.next_step = ratio * at.h
    if at.crosses:  # the error of this step is no measure
        at.next_step = wished
    if at.h < wished:  # cut short by a stop, which is no reason to go on with small steps
        at.next_step = max(at.next_step, wished)
    remember_step(at)
    at.last_constant = INF if at.crosses else constant
    at.streak = 0
    at.steps += 1
    at.row = at.new_row
    at.smooth_constant = constant if at.expected == INF else min(at.smooth_constant, constant)
    at.singular = INF if at.leap > 0.0 else at.expected
    for i in range(at.n_pivots):
        at.pivots[i] = abs(at.new_pivots[i])
        at.least_pivots[i] = min(at.least_pivots[i], at.pivots[i])
    copy(at.new_residuals, at.residuals, 3)
    copy(at.x_new, at.x, 1 + at.n)
    copy(at.k_new, at.k, at.n)


def remember_step(at: Run) -> None:
    """Go on behind a switch with the step that was wished there last time: a law sets in about as before.

    It is the one after the first good step there, so that it follows what error control finds.
    """
    if at.crosses:
        at.entered = 2 * at.nearest + (2 if at.signs[at.nearest] > 0.0 else 1)
        last = at.wished[at.entered - 1]
        at.next_step = last if last > 0.0 else at.next_step
    elif at.entered > 0:
        at.wished[at.entered - 1] = at.next_step
        at.entered = 0


def reject(at: Run, outcome: int) -> None:
    """Choose a smaller step from the same state."""
    at.rejected += 1
    if at.asking != End.UNSUITED:  # stiffness was seen along earlier steps; all else was wished by a step not taken
        at.asking = 0
    if outcome == Outcome.CUT:
        return
    if outcome == Outcome.NOT_SOLVED:
        ratio = max(at.shrink, at.proposed)
    elif outcome == Outcome.NOT_FINITE or outcome == Outcome.NOT_PROJECTED:
        ratio = AGAIN
    else:
        ratio = ratio_of_steps(at, constant_of_error(at))
    at.next_step = ratio * (at.h - at.leap)
    at.streak += 1
    at.failure = outcome


def forget_step(at: Run) -> None:
    """Let nothing be known of the step that is tried next."""
    at.outcome = Outcome.GOOD
    at.known = at.failed_inside = at.has_dense = at.crosses = at.has_before = at.passes = False
    at.proposed = at.excess = at.leap = 0.0


def outcome_of_step(at: Run) -> int:
    """Return GOOD if the error of the step is below the tolerance."""
    return Outcome.INACCURATE if at.outcome == Outcome.GOOD and at.error > 1.0 else at.outcome


def try_step(at: Run, m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> int:
    """Try a step of the method."""
    forget_step(at)
    call(at.step, m, p, own, w)
    return outcome_of_step(at)


def look_along(at: Run, m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> int:
    """Look for switches inside a step that is good so far; it ends at the first."""
    call(at.watch_step, m, p, own, w)
    if at.outcome != Outcome.GOOD or not at.crosses:
        return at.outcome
    if at.nearest < at.n_events:
        interpolate(at, at.t_before)
        at.has_before = project_state(at, at.x_inside, p, w)
        before = moment(at, at.n_moments).before
        before[0] = at.t_before
        copy(at.projected, offset(before, 1), at.ny)
    return project_end(at, p, w)


def note_end(at: Run, m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> int:
    """Note the signs of what is watched at the end of the step: GOOD, or EVENT if one has happened."""
    call(at.pass_switches, m, p, own, w)
    return at.outcome


def take_wish(at: Run) -> int:
    """Take the reason for which the run is to stop."""
    reason = at.asking
    at.asking = 0
    return reason


def end_before_step(at: Run) -> int:
    """Say why no further step is tried, or GOES_ON."""
    if at.row == at.n_times:
        return End.REACHED
    if is_hopeless(at):
        return End.TOO_MANY_STEPS
    if is_stuck(at):
        return End.NOT_PROJECTED if at.failure == Outcome.NOT_PROJECTED else End.STEP_TOO_SMALL
    return GOES_ON


def complete_step(
    at: Run, m: Pointer, p: Pointer, own: Pointer, w: Pointer, times: Pointer, stops: Pointer, rows: Pointer, end: float
) -> int:
    """Complete a step once its end is projected: looks and reports inside it, its derivative."""
    outcome: int = Outcome.GOOD
    if at.expected < INF:
        outcome = pass_singular(at, m, p, own, w, end)
    if outcome == Outcome.GOOD and at.look != 0:
        outcome = look_along(at, m, p, own, w)
    if outcome == Outcome.GOOD:
        outcome = report(at, m, p, own, w, times, rows)
    if outcome == Outcome.GOOD:
        outcome = settle(at, p, w, times, stops, rows)
    if outcome == Outcome.GOOD and at.n_watched > 0:
        outcome = note_end(at, m, p, own, w)
    return outcome


def conclude(at: Run, m: Pointer, p: Pointer, own: Pointer, w: Pointer, outcome: int) -> int:
    """Accept a step or choose a smaller one; why the piece ends with it, or GOES_ON."""
    if outcome == Outcome.NOT_FINITE and at.first_sign > 0 and not at.is_let_go:  # a law without a value on one side
        let_go(at, p)
        return GOES_ON
    if outcome != Outcome.GOOD and outcome != Outcome.EVENT:
        reject(at, outcome)
        return GOES_ON
    accept(at)
    if (at.crosses or at.passes) and at.begin != 0:
        call(at.begin, m, p, own, w)
    if at.passes and at.sample != 0:
        call(at.sample, m, p, own, w)
    if outcome == Outcome.EVENT:
        call(at.happen, m, p, own, w)
    if at.tells and (at.crosses or at.passes) and at.asking == 0:
        at.asking = End.SWITCH
    if at.asking != 0:
        return take_wish(at)
    if at.n_moments == MOMENTS or at.is_full:
        return End.REACHED if at.row == at.n_times else End.BUDGET
    return GOES_ON


def attempt(
    at: Run, m: Pointer, p: Pointer, own: Pointer, w: Pointer, times: Pointer, stops: Pointer, rows: Pointer
) -> int:
    """Attempt a step; why the piece ends before or with it, or GOES_ON."""
    why: int = end_before_step(at)
    if why != GOES_ON:
        return why
    end = choose_step(at, stops)
    outcome: int = try_step(at, m, p, own, w)
    if outcome == Outcome.GOOD:
        outcome = project_end(at, p, w)
    if outcome == Outcome.GOOD:
        outcome = complete_step(at, m, p, own, w, times, stops, rows, end)
    return conclude(at, m, p, own, w, outcome)


def go_on(
    m: Pointer, p: Pointer, own: Pointer, w: Pointer, times: Pointer, stops: Pointer, rows: Pointer, budget: int
) -> int:
    """Go on by at most `budget` attempted steps; the result is an `End`.

    m and own are the memories of the run and of the method, p and w parameters, of which the run has a copy of its own,
    and scratch of the derivative and the projection; `rows`, one for each of the report times, takes the states there.
    """
    at = open_run(m)
    if not at.started and not start(at, m, p, own, w, rows):
        return End.NOT_FINITE
    for _ in range(budget):
        why: int = attempt(at, m, p, own, w, times, stops, rows)
        if why != GOES_ON:
            return why
    return End.REACHED if at.row == at.n_times else End.BUDGET


@kernel
def advance(
    m: Pointer, p: Pointer, own: Pointer, w: Pointer, times: Pointer, stops: Pointer, rows: Pointer, budget: int
) -> int:
    """Run the loop of one motion, see `go_on`."""
    return go_on(m, p, own, w, times, stops, rows, budget)
