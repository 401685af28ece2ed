"""What happens inside a step: its states by dense output, the switches it goes past, and what its stages did not see.

A derivative that jumps or bends where a function g(t, y) changes its sign is smooth on either side. So a step ends
just before the sign changes, another goes past it, no longer than rounding, and the next one begins behind it. Where g
changes its sign is found by bounds of it along the whole step (looking.py), so that nothing is stepped over. A function
that is along the whole step no more than the tolerances of the state make of it is at rest: the speed of a point that
does not move. What it goes past is no noise if rates jump or bend there by what matters over the step.

A law that is smooth but narrow may act between the stages of a step. So each of its quantities that can be steep is
looked at along the step too; one whose slope is somewhere not what the stages may have seen ends the step there, and
the control of the error does the rest.
"""

from __future__ import annotations

import math

from linkwork.integrators.looking import (
    AT_REST,
    CLEAR,
    MET,
    MOST_PARTS,
    STEEP,
    UNCLEAR,
    Look,
    bracket,
    differentiate_inside,
    enclose_between,
    find_crossing,
    find_unseen,
    has_pole,
    is_gentle,
    load_hull,
    open_look,
    prepare_look,
    slope_along,
    tube_of,
)
from linkwork.integrators.memory import End, Outcome, Run, moment, open_run
from linkwork.linalg.vectors import clear, copy
from linkwork.native.enclosing import Tape, enclose_all, load_numbers, open_tape
from linkwork.native.kernels import Pointer, call, integer, kernel, offset
from linkwork.tolerances import EPSILON, HALF_THE_DIGITS

HOP = 16 * 2.0**-52  # of the time: a step that only goes past a switch
MOST_CUTS = 20  # of one step at switches: dense output that leads astray again and again is that of a step too long
UNCUT = 1e6 * HOP  # of the time: a shorter step is cut no more
DEFECT = 100.0  # times the tolerance: a change over the whole step that dense output, of an order less, does not show
BESIDE = 1e-3  # of the step: rates so far from a switch tell how they bend there; those next to it, of what ends before
PLACES = 3  # parts of a step up to a switch, at whose ends the dense output is compared
AHEAD = 1e-9  # of the run: where it begins, the next moment
LOOKS = 5  # so often, each time eight times as far
TINY = 1e-300  # stands for a sign at zero
INF = math.inf


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


def stretch(at: Run, ratio: float) -> None:
    """The same polynomial for a step that is longer by this ratio.

    y + theta (F_0 + (1 - theta) (F_1 + theta (F_2 + ...))) becomes y + theta (Q_0 + theta Q_1 + ...) and back, by
    F_j + (1 - theta) (c_0 + theta c_1 + ...) = (F_j + c_0) + theta (c_1 - c_0) + ...
    """
    n, last, power = at.n, at.n_dense - 1, 1.0
    for j in range(last - 1, -1, -1):
        if j % 2 == 0:
            for i in range(n):
                at.F[j * n + i] += at.F[(j + 1) * n + i]
            for k in range(j + 1, last):
                for i in range(n):
                    at.F[k * n + i] = at.F[(k + 1) * n + i] - at.F[k * n + i]
            for i in range(n):
                at.F[last * n + i] = -at.F[last * n + i]
    for j in range(at.n_dense):
        power *= ratio
        for i in range(n):
            at.F[j * n + i] *= power
    for j in range(last):
        if j % 2 == 0:
            for i in range(n):
                at.F[last * n + i] = -at.F[last * n + i]
            for k in range(last - 1, j, -1):
                for i in range(n):
                    at.F[k * n + i] = at.F[(k + 1) * n + i] - at.F[k * n + i]
            for i in range(n):
                at.F[j * n + i] -= at.F[(j + 1) * n + i]


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
        if i < at.n_events and at.switches[i] != at.switches[i]:
            at.asking = End.NO_VALUE
            at.nearest = i
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
    direction, and is not if it goes back; one without a direction, or one that rests there, is behind. Two small steps
    by Euler's method tell which. One that has happened there is on the side that `changed` says.
    """
    at = open_run(m)
    call(at.watch, at.x, p, at.signs, w)
    clear_rounding(at, p, w)
    any_zero = False
    for i in range(at.n_watched):
        if at.signs[i] == 0.0 and i < at.n_events:
            at.signs[i] = TINY * at.changed[i]
        any_zero = any_zero or at.signs[i] == 0.0
    if not any_zero:
        return
    x, h = at.x_inside, AHEAD * min(at.max_step, at.t_end - at.x[0])
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
                direction = at.directions[i] if i < at.n_events else 0.0
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


def is_change(at: Run, rates: Pointer, factor: float) -> bool:
    """Whether so many times these rates change the state by more than its tolerance over the step."""
    found = False
    for i in range(min(at.n_norm, at.n_rates)):
        found = found or factor * at.h * abs(rates[i]) > at.atol[i] + at.rtol * abs(at.x_new[1 + i])
    return found


def differs(at: Run, look: Look, tape: Tape, k: int, p: Pointer, w: Pointer) -> bool:
    """Whether rates bend or jump within the tolerances of the end of the step by what matters over it.

    So they do where a stiff wall is pressed in by less than a tolerance: what switches there is no noise. Where they
    drive function k back from both sides, it would switch without end.
    """
    rises = falls = 0.0
    x, way, change = at.x_inside, offset(at.x_contradicted, 1), at.k_contradicted
    clear(way, 0, at.n)
    clear(change, 0, at.n)
    for i in range(integer(tape.first_input, k), integer(tape.first_row, k + 1)):
        index = integer(tape.inputs, integer(tape.listed, i))
        if 0 < index < look.n_state:
            clear(at.projected, 0, at.n)
            at.projected[index - 1] = 1.0
            tolerance = at.atol[index - 1] + at.rtol * abs(at.x_new[index])
            way[index - 1] = math.copysign(tolerance, slope_along(look, tape, k, at.x_new, at.projected, 0.0))
    copy(at.x_new, x, 1 + at.n)
    for side in range(-1, 2):
        for j in range(at.ny):
            x[1 + j] = at.x_new[1 + j] + side * way[j]
        call(at.rates, x, p, at.projected, w)
        for j in range(at.n):
            change[j] += (-2.0 if side == 0 else 1.0) * at.projected[j]
        if side < 0:
            rises = slope_along(look, tape, k, x, at.projected, 1.0)
        elif side > 0:
            falls = slope_along(look, tape, k, x, at.projected, 1.0)
    at.evaluations += 3
    if falls < 0.0 < rises and is_for_long(at, look, tape, k, rises - falls, 1.0):
        at.asking = End.CHATTERS
    return is_change(at, change, 1.0)


def is_for_long(at: Run, look: Look, tape: Tape, k: int, jump: float, theta: float) -> bool:
    """Whether such a jump of the rate of function k makes more than tolerances do in what is left of a run."""
    return bool(jump * (at.t_end - at.x[0]) > tube_of(at, look, tape, k, theta, 1.0))


def matters(at: Run, low: float, high: float, beside: float, p: Pointer, w: Pointer) -> bool:
    """Whether rates jump between two places of the step next to each other, or bend there, by what matters over it.

    They are compared with those so far beside them.
    """
    jump, bend = at.k_contradicted, offset(at.x_contradicted, 1)
    clear(jump, 0, at.n)
    clear(bend, 0, at.n)
    for k in range(4):
        theta = low if k < 2 else high
        theta += (k - 1) * beside if k < 1 else (k - 2) * beside if k > 2 else 0.0
        interpolate(at, at.x[0] + theta * at.h)
        call(at.rates, at.x_inside, p, at.projected, w)
        for j in range(at.n):
            jump[j] += (1.0 if k == 2 else -1.0 if k == 1 else 0.0) * at.projected[j]
            bend[j] += (1.0 if k == 0 or k == 3 else -1.0) * at.projected[j]
    at.evaluations += 4
    return is_change(at, jump, 1.0) or is_change(at, bend, 1.0 / beside)


def turns_back(at: Run, look: Look, tape: Tape, k: int, low: float, high: float, p: Pointer, w: Pointer) -> bool:
    """Whether rates drive function k back on both sides of its zero, so that it would switch without end."""
    interpolate(at, at.x[0] + low * at.h)
    call(at.rates, at.x_inside, p, at.projected, w)
    before = slope_along(look, tape, k, at.x_inside, at.projected, 1.0)
    interpolate(at, at.x[0] + high * at.h)
    call(at.rates, at.x_inside, p, at.projected, w)
    behind = slope_along(look, tape, k, at.x_inside, at.projected, 1.0)
    at.evaluations += 2
    side = 1.0 if at.signs[k] > 0.0 else -1.0
    return side * before < 0.0 < side * behind and is_for_long(at, look, tape, k, abs(behind - before), 0.0)


@kernel
def watch_step(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Look along a step that is good enough: the outcome is GOOD if it may stay, else CUT."""
    at = open_run(m)
    look = open_look(at)
    tape = open_tape(look.tape)
    if at.n_watched == 0 and is_all_gentle(at, tape, p, w):
        return
    if prepare_dense(at, m, p, own, w) != Outcome.GOOD:
        return
    prepare_look(at, look, tape, p, w)
    at.outcome = look_for_switches(at, look, tape, p, w)
    if at.outcome == Outcome.GOOD and not at.crosses:
        at.outcome = look_for_narrow(at, look, tape, p, w)


def is_all_gentle(at: Run, tape: Tape, p: Pointer, w: Pointer) -> bool:
    """Whether no quantity is steep as far as the ends of the step tell, so that no dense output is needed."""
    if at.n_rates < at.ny:
        return False
    if not at.known:
        call(at.derivative, at.x_new, p, at.k_new, w)
        at.evaluations += 1
        at.known = True
    load_numbers(tape, p)
    load_hull(at, tape)
    enclose_all(tape)
    gentle = True
    for k in range(tape.n_outputs):
        gentle = gentle and is_gentle(offset(tape.values, 4 * integer(tape.outputs, k)))
    return gentle


def look_for_narrow(at: Run, look: Look, tape: Tape, p: Pointer, w: Pointer) -> int:
    """CUT where the stages have not seen a narrow law; the step then ends where it shows.

    Of one that is seen, but steep, the error estimate may be small by chance; so is that of a step up to a switch, if a
    force that sets in and ends before it has thrown stages beyond. There it is compared with the derivative.
    """
    if at.h <= UNCUT * (abs(at.x[0]) + at.h):
        return Outcome.GOOD
    if at.x_new[0] == at.switch:
        for k in range(1, PLACES):
            if is_contradicted(at, k / PLACES, p, w):
                return Outcome.CONTRADICTED
    for k in range(at.n_watched, tape.n_outputs):
        status, theta = find_unseen(at, look, tape, k, UNCUT)
        if status == MET:
            at.next_step = theta * at.h
            return Outcome.CUT
        if status == STEEP and is_contradicted(at, theta, p, w):
            return Outcome.CONTRADICTED
    return Outcome.GOOD


def is_contradicted(at: Run, theta: float, p: Pointer, w: Pointer) -> bool:
    """Whether the derivative inside the step is not that of the dense output: control of its defect. [enright1989]"""
    interpolate(at, at.x[0] + theta * at.h)
    call(at.rates, at.x_inside, p, at.k_contradicted, w)
    at.evaluations += 1
    gap = 0.0
    for i in range(min(at.n_norm, at.n_rates)):
        defect = abs(at.h * at.k_contradicted[i] - differentiate_inside(at, theta, i))
        gap = max(gap, defect / (DEFECT * (at.atol[i] + at.rtol * abs(at.x_inside[1 + i]))))
    at.excess = max(at.excess, gap)
    return gap > 1.0


def look_for_switches(at: Run, look: Look, tape: Tape, p: Pointer, w: Pointer) -> int:
    """CUT if there is a switch inside the step, or too much to tell, else GOOD.

    A step that begins at the switch is made one that only goes past it.
    """
    wished = max(at.h, min(at.next_step, at.max_step))  # a step that was cut before is no measure
    # Where rounding of g itself hides the change, a longer hop shows it.
    hop = HOP * (abs(at.x[0]) + wished) * 2.0**at.hops
    least = 0.25 * hop / at.h
    which, low, high, passed = -1, 1.0, 1.0, 0
    for i in range(at.n_watched):
        at.resting[i] = 0.0
        sign, first = at.signs[i], 0.0
        while sign != 0.0:
            status, u, v = find_crossing(at, look, tape, i, sign, first, high, least)
            if status == CLEAR:
                break
            if status == UNCLEAR and at.h > UNCUT * (abs(at.x[0]) + wished):
                at.next_step = max(u, 0.5) * at.h
                return Outcome.CUT
            if status == UNCLEAR or passed == MOST_PARTS:
                at.blurred += at.h
                break
            u, v = bracket(at, look, tape, i, u, v, sign, least)
            if (
                i < at.n_events
                or matters(at, u, v, BESIDE, p, w)
                or (status == MET and matters(at, u, v, HALF_THE_DIGITS, p, w))
            ):
                which, low, high = i, u, v
                break
            if status == AT_REST:
                if differs(at, look, tape, i, p, w):
                    which, low, high = i, u, v
                else:
                    at.resting[i] = 1.0
                break
            first, sign = v, -sign  # nothing depends on it
            passed += 1
    if which < 0:
        return Outcome.GOOD
    at.nearest = which
    if low * at.h > hop:
        if is_contradicted(at, 0.5 * low, p, w):  # stages were thrown past it, and dense output leads astray
            return Outcome.CONTRADICTED
        if at.cuts > MOST_CUTS and at.h > UNCUT * (abs(at.x[0]) + wished):
            at.next_step = 0.5 * at.h
            at.cuts = 0
            return Outcome.CUT
        at.switch = at.x[0] + low * at.h - 0.5 * hop  # so that no stage is beyond by its last digit
        at.cuts += 1
        return Outcome.CUT
    end = min(high + hop / at.h, 1.0)
    enclose_between(look, tape, which, low, high)
    look.at_pole = has_pole(tape, which)
    if which >= at.n_events and turns_back(at, look, tape, which, 0.0, end, p, w):
        at.asking = End.CHATTERS
    interpolate(at, min(at.x[0] + end * at.h, at.x_new[0]))
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

    What jumps at a pole, or where an angle has turned once, has not come to zero.
    """
    at_switch = at.crosses or at.x_new[0] == at.switch
    nearest = at.nearest
    changed = note_signs(at, at.x_new, p, w)
    if changed or not at_switch:
        at.hops = at.cuts = 0
    elif at.crosses or is_rounding(at, nearest):
        at.hops += 1
    if not changed:
        if at.crosses:
            at.grazes[nearest] = at.x_new[0]
        return False
    if at.crosses and open_look(at).at_pole:
        at.changed[nearest] = 0.0
    for i in range(at.n_watched):
        if at.changed[i] != 0.0 and at.x_new[0] - at.grazes[i] <= at.next_step:
            at.grazes[i] = -INF  # it was a matter of rounding
    happened = any_of(at.changed, at.n_events)
    if happened:
        copy(at.x, moment(at, at.n_moments).before, 1 + at.n)
    if any_of(offset(at.changed, at.n_events), at.n_watched - at.n_events):
        at.switched += 1 if at_switch else 0  # also where projection took the end of the step before past it
    return happened


def is_rounding(at: Run, k: int) -> bool:
    """Whether function k is zero at the end of the step but for rounding."""
    look = open_look(at)
    return bool(abs(at.switches[k]) <= tube_of(at, look, open_tape(look.tape), k, 1.0, 0.0))


def any_of(flags: Pointer, count: int) -> bool:
    found = False
    for i in range(count):
        found = found or flags[i] != 0.0
    return found
