"""What happens inside a step: its states by dense output, and the switches it goes past.

A derivative that jumps or bends where a function g(t, y) changes its sign is smooth on either side. So a step ends
just before the sign changes, another goes past it, no longer than rounding, and the next one begins behind it. g is
looked at in SAMPLES + 1 points of each step and, between them, where it comes nearest to zero. Where these
points do not show g clearly, because it turns faster than the state itself (the height of a point on a free body that
spins), the step is taken again with half its length.

Switches that follow each other within a thousandth of the longest step, as when a sliding contact comes to rest, would
each take steps of their own; after a few of them they are left to the control of the error, until they are rarer
again. So is one that shows itself anew, and earlier, however often the step is cut, and a function that is along the
whole step no clear curve and no more than the tolerances of the state make of it: the speed of a point that rests. What
it goes past is no noise if rates jump there, or bend within these tolerances, by what matters over the step.
"""

from __future__ import annotations

import math

from linkwork.integrators.memory import SAMPLES, Outcome, Run, moment, open_run
from linkwork.linalg.vectors import clear, copy
from linkwork.native.kernels import Pointer, call, kernel, offset
from linkwork.tolerances import EPSILON

HALVINGS = 60  # of an interval with a switch: down to rounding
HOP = 16 * 2.0**-52  # of the time: a step that only goes past a switch
MOST_NEAR = 4  # switches close to one another that are located, and cuts of one step
CLOSE = 1e-3  # of the longest step: what switches regularly, and not so often, is located every time
MOST_CUTS = 20  # the same of a step with an event
UNCUT = 1e6 * HOP  # of the time: a shorter step is cut no more
GRAZING = 1e-9  # of the larger value beside it: a point this near to zero touches it
NEAR = 1.0 / 3.0  # of the larger value beside it: a straight line, a parabola or a bend there may touch zero in between
STEEPER = 1.25  # than between the next two points: the most that a bend may be
EDGE = 1e-6  # of the step: nearer to its ends nothing is said to touch
SECTION = 0.5 * (math.sqrt(5.0) - 1.0)
SECTIONS = 50  # of two intervals between points: down to 1e-10
ROUGH = 0.02  # of the range of g along a step: a fourth difference above is not seen clearly
SHORTEST = 2.0**-10  # of the longest step: one this short is clear enough
SHARP = 1e-7  # of the step: between times so near, rates that are smooth change evenly
AHEAD = 1e-7  # of the longest step: where a run begins, the next moment
LOOKS = 5  # so often, each time eight times as far
TINY = 1e-300  # stands for a sign at zero
INF = math.inf
LEAST_ERROR = 1e-4  # that the next step size remembers


def interpolate(at: Run, t: float) -> None:
    """The state inside the step at the time t, into x_inside, by the polynomial that `dense` has prepared."""
    theta = (t - at.x[0]) / at.h
    n, y = at.n, offset(at.x_inside, 1)
    at.x_inside[0] = t
    copy(offset(at.F, (at.n_dense - 1) * n), y, n)
    for j in range(at.n_dense - 1, -1, -1):
        factor = theta if j % 2 == 0 else 1.0 - theta
        F = offset(at.F, (j - 1) * n) if j > 0 else offset(at.x, 1)
        for i in range(n):
            y[i] = F[i] + factor * y[i]


def differentiate_inside(at: Run, theta: float, i: int) -> float:
    """The derivative of component i of that polynomial, times h."""
    value, slope = at.F[(at.n_dense - 1) * at.n + i], 0.0
    for j in range(at.n_dense - 1, 0, -1):
        factor, sign = (theta, 1.0) if j % 2 == 0 else (1.0 - theta, -1.0)
        slope = factor * slope + sign * value
        value = at.F[(j - 1) * at.n + i] + factor * value
    change: float = value + theta * slope
    return change


def prepare_dense(at: Run, m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> int:
    """Have the F_j, once for each step; GOOD, or why a smaller step must be tried."""
    if not at.has_dense:
        call(at.dense, m, p, own, w)
        at.has_dense = True
    return at.outcome


def is_beyond(g: float, sign: float) -> bool:
    """Whether g is on the other side of zero; at zero itself it is not."""
    return (g > 0.0 and sign < 0.0) or (g < 0.0 and sign > 0.0)


def note_signs(at: Run, x: Pointer, p: Pointer, w: Pointer) -> bool:
    """Take the signs of the switching functions at the state x for those of the next step; whether one has changed."""
    call(at.watch, x, p, at.switches, w)
    changed = has_changed(at, at.switches, at.n_watched)
    for i in range(at.n_watched):
        at.changed[i] = 1.0 if is_other(at, i, at.switches[i]) else 0.0
        comes, leaves = at.switches[i] == 0.0 and abs(at.signs[i]) > TINY, at.signs[i] == 0.0 and at.switches[i] != 0.0
        if comes or leaves:  # a step ends just at zero, or zero, where it rested, behind it
            at.grazes[i] = x[0]
        if at.switches[i] != 0.0:
            at.signs[i] = at.switches[i]
        else:
            at.signs[i] = TINY if at.signs[i] > 0.0 else -TINY if at.signs[i] < 0.0 else 0.0
    return changed


@kernel
def note_start(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Note the signs where a run begins.

    An event that is just there, at zero as far as the last digits of the state tell, is met if it goes on in its
    direction, and is not if it goes back; one without a direction, one that has `changed` before, or one that rests
    there, is behind. Two small steps by Euler's method tell which.
    """
    at = open_run(m)
    call(at.watch, at.x, p, at.signs, w)
    clear_rounding(at, p, w)
    any_zero = False
    for i in range(at.n_watched):
        any_zero = any_zero or at.signs[i] == 0.0
    if not any_zero or not at.max_step < INF:
        return
    x, h = at.x_inside, AHEAD * at.max_step
    for _ in range(LOOKS):  # farther ahead where rounding hides the first of them
        copy(at.x, x, 1 + at.n)
        copy(at.k, at.k_contradicted, at.n)
        for _ in range(2):
            x[0] += h
            for i in range(at.n):
                x[1 + i] += h * at.k_contradicted[i]
            call(at.derivative, x, p, at.k_contradicted, w)
        call(at.watch, x, p, at.vertex, w)
        for i in range(at.n_watched):
            change = at.vertex[i] - at.switches[i]
            if at.signs[i] == 0.0 and change != 0.0:
                direction = at.directions[i] if i < at.n_events and at.changed[i] == 0.0 else 0.0
                at.signs[i] = -TINY * direction if direction != 0.0 else math.copysign(TINY, change)
        h *= 8.0


def clear_rounding(at: Run, p: Pointer, w: Pointer) -> None:
    """Make zero those events g, among the signs, with |g| <= sum_j |g(y + e_j ulp_j) - g(y)|; g itself to `switches`.

    So are balls at 1 and 1.2 that touch at a distance of 0.2.
    """
    clear(at.vertex, 0, at.n_events)
    copy(at.x, at.x_inside, 1 + at.n)
    for j in range(at.ny):
        at.x_inside[1 + j] += EPSILON * abs(at.x[1 + j])
        call(at.watch, at.x_inside, p, at.switches, w)
        at.x_inside[1 + j] = at.x[1 + j]
        for i in range(at.n_events):
            at.vertex[i] += abs(at.switches[i] - at.signs[i])
    for i in range(at.n_events):
        if abs(at.signs[i]) <= at.vertex[i]:
            at.signs[i] = 0.0
    call(at.watch, at.x, p, at.switches, w)


def is_other(at: Run, i: int, g: float) -> bool:
    """Whether function i, if it does not rest, has another sign than at the beginning of the step."""
    return at.resting[i] == 0.0 and is_beyond(g, at.signs[i])


def has_changed(at: Run, g: Pointer, count: int) -> bool:
    """Whether one of the first functions, so many, has another sign than at the beginning of the step."""
    changed = False
    for i in range(count):
        changed = changed or is_other(at, i, g[i])
    return changed


def is_behind(at: Run, t: float, p: Pointer, w: Pointer, g: Pointer, count: int) -> bool:
    """Whether a sign inside the step at t is another than at its beginning; the functions there go to g."""
    interpolate(at, t)
    call(at.watch, at.x_inside, p, g, w)
    return has_changed(at, g, count)


def sample_time(at: Run, k: int) -> float:
    return float(at.x_new[0] if k == SAMPLES else at.x[0] + k / SAMPLES * at.h)


def sample(at: Run, p: Pointer, w: Pointer) -> None:
    """The functions along the step, into `switches`; at its beginning their signs."""
    copy(at.signs, at.switches, at.n_watched)
    for k in range(1, SAMPLES + 1):
        interpolate(at, sample_time(at, k))
        call(at.watch, at.x_inside, p, offset(at.switches, k * at.n_watched), w)


def find_resting(at: Run, p: Pointer, w: Pointer) -> None:
    """Functions g that rest, but for events: no clear curve, and |g| <= sum_j |g(y + e_j tol_j) - g(y)| along the step.

    tol are the tolerances of the error norm; in x_contradicted they are left with the signs by which the first function
    that depends on y_j grows, so that `bends` can go there.
    """
    count, x, way = at.n_watched, at.x_inside, offset(at.x_contradicted, 1)
    copy(at.x_new, x, 1 + at.n)
    for j in range(at.ny):
        tolerance = at.atol[j] + at.rtol * abs(at.x_new[1 + j])
        way[j] = 0.0
        if tolerance < INF:
            x[1 + j] += tolerance
            call(at.watch, x, p, at.vertex, w)
            x[1 + j] = at.x_new[1 + j]
            for i in range(at.n_events, count):
                change = at.vertex[i] - at.switches[SAMPLES * count + i]
                at.resting[i] += abs(change)
                if way[j] == 0.0 and change != 0.0:
                    way[j] = math.copysign(tolerance, change)
    for i in range(at.n_events, count):
        largest = 0.0
        for k in range(1, SAMPLES + 1):
            largest = max(largest, abs(at.switches[k * count + i]))
        at.resting[i] = 1.0 if largest <= at.resting[i] and not is_clear(at, i) else 0.0


def bends(at: Run, p: Pointer, w: Pointer) -> bool:
    """Whether the rates bend within the tolerances by so much that it matters over the step.

    So do those of a stiff wall, which is pressed in by less than a tolerance; what switches there is no noise.
    """
    x, way, change = at.x_inside, offset(at.x_contradicted, 1), at.k_contradicted
    clear(change, 0, at.n)
    copy(at.x_new, x, 1 + at.n)
    for k in range(-1, 2):
        for j in range(at.ny):
            x[1 + j] = at.x_new[1 + j] + k * way[j]
        call(at.rates, x, p, at.projected, w)
        for i in range(at.n):
            change[i] += (-2.0 if k == 0 else 1.0) * at.projected[i]
    at.evaluations += 3
    return is_change(at, change)


def is_change(at: Run, rates: Pointer) -> bool:
    """Whether such rates change the state by more than its tolerance over the step."""
    found = False
    for i in range(min(at.n_norm, at.n_rates)):
        found = found or at.h * abs(rates[i]) > at.atol[i] + at.rtol * abs(at.x_new[1 + i])
    return found


def find_switch(at: Run, p: Pointer, w: Pointer, looked_at: int) -> tuple[float, float]:
    """Two times inside the step, one sample apart at most, between which a sign changes first; its end if none does.

    Only the first functions are looked at, so many, at the points that `sample` has noted.
    """
    count = at.n_watched
    for k in range(1, SAMPLES + 1):
        if has_changed(at, offset(at.switches, k * count), looked_at):
            return sample_time(at, k - 1), sample_time(at, k)
    for k in range(SAMPLES + 1):
        first, last = max(k - 1, 0), min(k + 1, SAMPLES)
        for i in range(looked_at):
            if at.resting[i] != 0.0:
                continue
            here = abs(at.switches[k * count + i])
            before = abs(at.switches[first * count + i]) if k > 0 else beyond_end(at, i, 0, 1)
            after = abs(at.switches[last * count + i]) if k < SAMPLES else beyond_end(at, i, SAMPLES, -1)
            near = here <= min(before, after) and 0.0 < here <= NEAR * max(before, after)
            if near or (k == 0 and may_touch(at, i, 0, 1)) or (k == SAMPLES and may_touch(at, i, SAMPLES, -1)):
                t = find_nearest(at, i, sample_time(at, first), sample_time(at, last), p, w)
                if is_behind(at, t, p, w, at.vertex, looked_at):
                    return sample_time(at, k if t > sample_time(at, k) else first), t
                inside = EDGE * at.h < t - at.x[0] < (1.0 - EDGE) * at.h  # it is not just before or behind a change
                if inside and abs(at.vertex[i]) <= GRAZING * max(before, after):
                    at.grazes[i] = t
    return at.x_new[0], at.x_new[0]


def narrow(at: Run, low: float, high: float, hop: float, p: Pointer, w: Pointer, looked_at: int) -> tuple[float, float]:
    """The same two times by halvings, until they are nearer to each other than a hop."""
    for _ in range(HALVINGS):
        if high - low <= 0.25 * hop:
            break
        middle = 0.5 * (low + high)
        if is_behind(at, middle, p, w, at.vertex, looked_at):
            high = middle
        else:
            low = middle
    return low, high


def goes_on(at: Run, t: float, p: Pointer, w: Pointer, looked_at: int) -> bool:
    """Whether a function that has just changed its sign at t goes on so, by Euler's method; friction turns it back."""
    is_behind(at, t, p, w, at.vertex, looked_at)
    which = 0
    for i in range(looked_at):
        if is_other(at, i, at.vertex[i]):
            which = i
    g = at.vertex[which]
    call(at.rates, at.x_inside, p, at.k_contradicted, w)
    at.evaluations += 1
    for i in range(at.n_rates):
        at.x_inside[1 + i] += SHARP * at.h * at.k_contradicted[i]
    call(at.watch, at.x_inside, p, at.vertex, w)
    return bool(at.vertex[which] * g > g * g)


def has_jump(at: Run, low: float, high: float, p: Pointer, w: Pointer) -> bool:
    """Whether the rates jump between these two times, and not as just before, by what matters over the step."""
    change = at.k_contradicted
    clear(change, 0, at.n)
    for k in range(3):
        interpolate(at, high - k * (high - low))
        call(at.rates, at.x_inside, p, at.projected, w)
        for i in range(at.n):
            change[i] += (-2.0 if k == 1 else 1.0) * at.projected[i]
    at.evaluations += 3
    return is_change(at, change)


def beyond_end(at: Run, i: int, end: int, inward: int) -> float:
    """How far function i is from zero one sample beyond an end of the step, by the parabola through three samples.

    So a parabola that comes to zero in the outermost interval is noticed; below zero on the other side.
    """
    first, second, third = (
        end * at.n_watched + i,
        (end + inward) * at.n_watched + i,
        (end + 2 * inward) * at.n_watched + i,
    )
    g: float = 3.0 * (at.switches[first] - at.switches[second]) + at.switches[third]
    return g if at.switches[first] >= 0.0 else -g


def may_touch(at: Run, i: int, end: int, inward: int) -> bool:
    """Whether function i could come to zero and back in an outermost interval, as steep as it is in the next one.

    So is the distance of two bodies that pass each other, which bends where they are nearest.
    """
    first, second, third = (
        at.switches[end * at.n_watched + i],
        at.switches[(end + inward) * at.n_watched + i],
        at.switches[(end + 2 * inward) * at.n_watched + i],
    )
    return bool(first != 0.0 and abs(first) + abs(second) <= STEEPER * abs(third - second))


def find_nearest(at: Run, i: int, low: float, high: float, p: Pointer, w: Pointer) -> float:
    """The time between these at which function i is nearest to zero, or beyond it, by golden sections."""
    a, b = high - SECTION * (high - low), low + SECTION * (high - low)
    g_a, g_b = distance_at(at, i, a, p, w), distance_at(at, i, b, p, w)
    for _ in range(SECTIONS):
        if min(g_a, g_b) < 0.0:
            break
        if g_a <= g_b:
            high, b, g_b = b, a, g_a
            a = high - SECTION * (high - low)
            g_a = distance_at(at, i, a, p, w)
        else:
            low, a, g_a = a, b, g_b
            b = low + SECTION * (high - low)
            g_b = distance_at(at, i, b, p, w)
    return a if g_a <= g_b else b


def distance_at(at: Run, i: int, t: float, p: Pointer, w: Pointer) -> float:
    """How far function i is from zero inside the step at t, on the side where it was at its beginning."""
    interpolate(at, t)
    call(at.watch, at.x_inside, p, at.vertex, w)
    g: float = at.vertex[i] if at.signs[i] >= 0.0 else -at.vertex[i]
    return g


def is_clear(at: Run, i: int) -> bool:
    """Whether the points show function i if it could change its sign between them: they are as good as a curve."""
    count = at.n_watched
    low = high = at.switches[i]
    nearest, roughest = abs(low), 0.0
    still = True  # zero throughout, as a force without contact: the sign it had before is no part of the curve
    for k in range(SAMPLES + 1):
        g = at.switches[k * count + i]
        still = still and (k == 0 or g == 0.0)
        low, high, nearest = min(low, g), max(high, g), min(nearest, abs(g))
        if k >= 4:
            first, second = at.switches[(k - 4) * count + i], at.switches[(k - 3) * count + i]
            third, fourth = at.switches[(k - 2) * count + i], at.switches[(k - 1) * count + i]
            roughest = max(roughest, abs(first - 4.0 * second + 6.0 * third - 4.0 * fourth + g))
    return still or nearest > high - low or roughest <= ROUGH * (high - low)


def all_clear(at: Run) -> bool:
    clear = True
    for i in range(at.n_watched):
        clear = clear and (at.resting[i] != 0.0 or is_clear(at, i))
    return clear


@kernel
def watch_step(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Look for a switch inside a step that is good enough: the outcome is GOOD if it may stay, else CUT."""
    at = open_run(m)
    if prepare_dense(at, m, p, own, w) == Outcome.GOOD:
        at.outcome = judge_step(at, p, w)


def judge_step(at: Run, p: Pointer, w: Pointer) -> int:
    """CUT if there is a switch inside the step, or may be, else GOOD.

    A step that begins at the switch is made one that only goes past it.
    """
    wished = max(at.h, min(at.next_step, at.max_step))  # a step that was cut before is no measure
    looked_at = at.n_watched
    for i in range(looked_at):
        at.resting[i] = 0.0
    sample(at, p, w)
    low, high = find_switch(at, p, w, looked_at)
    # Where rounding of g itself hides the change, a longer hop shows it.
    hop = HOP * (abs(at.x[0]) + wished) * 2.0**at.hops
    jumps = False
    if at.n_events < looked_at and not all_clear(at):
        passes = False
        if low != at.x_new[0]:
            low, high = narrow(at, low, high, SHARP * at.h, p, w, looked_at)
            passes = goes_on(at, high, p, w, looked_at)
            jumps = passes and has_jump(at, low, high, p, w)
        if not jumps:
            find_resting(at, p, w)
            if passes and any_of(at.resting, looked_at) and bends(at, p, w):
                clear(at.resting, 0, looked_at)
            low, high = find_switch(at, p, w, looked_at)
    if low != at.x_new[0] and (
        at.cuts > (MOST_CUTS if jumps else MOST_NEAR)
        or (at.chatter > MOST_NEAR and low - at.last_switch <= min(wished, CLOSE * at.max_step))
    ):
        looked_at = at.n_events
        low, high = find_switch(at, p, w, looked_at)
        if low != at.x_new[0] and at.cuts > MOST_CUTS:
            # Dense output that leads astray again and again is that of a step too long.
            if at.h > UNCUT * (abs(at.x[0]) + wished):
                at.longest = at.next_step = 0.5 * at.h
                return Outcome.CUT
            low = at.x_new[0]
        if low == at.x_new[0]:
            at.blurred += 0.0 if all_clear(at) else at.h
            return Outcome.GOOD
    if low == at.x_new[0]:
        is_blurred = not all_clear(at)
        if not is_blurred or at.h <= SHORTEST * at.max_step:
            at.blurred += at.h if is_blurred else 0.0
            return Outcome.GOOD
        at.longest = at.next_step = 0.5 * at.h
        return Outcome.CUT
    low, high = narrow(at, low, high, hop, p, w, looked_at)
    is_behind(at, high, p, w, at.switches, looked_at)
    for i in range(looked_at):
        if is_other(at, i, at.switches[i]):
            at.nearest = i
    if low - at.x[0] > hop:
        at.switch = low
        at.cuts += 1
        return Outcome.CUT
    interpolate(at, min(high + hop, at.x_new[0]))
    copy(at.x_inside, at.x_new, 1 + at.n)
    at.h = at.x_new[0] - at.x[0]
    at.known = False
    at.crosses = True
    return Outcome.GOOD


@kernel
def pass_switches(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """At the end of a good step, the outcome is CUT, EVENT if the sign of an event has changed, or GOOD."""
    at = open_run(m)
    at.outcome = check_end(at, p, w)
    if at.outcome == Outcome.GOOD and has_happened(at, p, w):
        at.outcome = Outcome.EVENT


def check_end(at: Run, p: Pointer, w: Pointer) -> int:
    """Whether a step that does not go past an event ends before it, also by the last digit; else CUT."""
    if at.n_events == 0 or at.crosses or at.cuts > MOST_CUTS:
        return Outcome.GOOD
    call(at.watch, at.x_new, p, at.switches, w)
    if not has_changed(at, at.switches, at.n_events):
        return Outcome.GOOD
    earlier = at.x_new[0] - HOP * (abs(at.x_new[0]) + at.h) * 2.0**at.cuts
    if earlier <= at.x[0]:
        at.crosses = True
        return Outcome.GOOD
    at.switch = earlier
    at.cuts += 1
    return Outcome.CUT


def has_happened(at: Run, p: Pointer, w: Pointer) -> bool:
    """Note the signs at the end of a good step; whether that of an event has changed.

    What remains is whether other switches follow each other closely.
    """
    at.cuts = 0
    at_switch = at.crosses or at.x_new[0] == at.switch
    nearest = at.nearest
    before = abs(at.signs[nearest])
    changed = note_signs(at, at.x_new, p, w)
    if changed or not at_switch:
        at.hops = 0
    elif abs(at.signs[nearest]) >= 0.5 * before:  # no nearer: this is rounding
        at.hops += 1
    if not changed:
        if at.crosses:
            at.grazes[nearest] = at.x_new[0]
        return False
    for i in range(at.n_watched):
        if at.changed[i] != 0.0 and at.x_new[0] - at.grazes[i] <= at.next_step:
            at.grazes[i] = -INF  # it was a matter of rounding
    happened = any_of(at.changed, at.n_events)
    if happened:
        copy(at.x, moment(at, at.n_moments).before, 1 + at.n)
    if any_of(offset(at.changed, at.n_events), at.n_watched - at.n_events):
        near = at.x_new[0] - at.last_switch <= min(at.next_step, CLOSE * at.max_step)
        at.chatter = at.chatter + 1 if near else 0
        at.last_switch = at.x_new[0]
        at.switched += 1 if at_switch else 0  # also where projection took the end of the step before past it
    return happened


def any_of(flags: Pointer, count: int) -> bool:
    found = False
    for i in range(count):
        found = found or flags[i] != 0.0
    return found
