"""What happens inside a step: its states by dense output, the switches it comes to, and what its stages did not see.

A law that jumps or bends where a function g(t, y) changes its sign is smooth on either side, and is held on the side on
which a step begins, wherever its stages are. Where g changes its sign is found by bounds of it along the whole step
(looking.py), so that nothing is stepped over; the step is repeated up to there, and the next one begins with the law on
the other side. If rates drive g back there, it would switch without end.

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
    STEEP,
    UNCLEAR,
    Look,
    are_all_gentle,
    bracket,
    count_open,
    differentiate_inside,
    enclose_between,
    enclose_closely,
    enclose_whole_step,
    find_crossing,
    find_unseen,
    has_pole,
    is_at_rest,
    is_in_box,
    is_past,
    load_hull,
    open_look,
    prepare_look,
    slope_along,
    slope_at,
    try_box,
    tube_of,
)
from linkwork.integrators.memory import End, Outcome, Run, moment, open_run
from linkwork.linalg.vectors import clear, copy
from linkwork.native.enclosing import Tape, load_numbers, open_tape
from linkwork.native.kernels import Pointer, call, integer, kernel, offset
from linkwork.tolerances import EPSILON

HOP = 16 * EPSILON  # of the time: the least step, and how far one goes past a switch, beyond rounding
MOST_HOPS = 20  # steps of this length one after the other: what switches so does so without end
UNCUT = 1e6 * HOP  # of the time: a shorter step is cut no more
DEFECT = 100.0  # times the tolerance: a change over the whole step that dense output, of an order less, does not show
STRETCH = 1.01  # of a step that so reaches its end
BESIDE = 1e-3  # of the step: so near to its ends dense output is as good as these
AHEAD = 1e-9  # of the run: where it begins, the next moment
LOOKS = 5  # so often, each time eight times as far
TINY = 1e-300  # stands for a sign at zero
INF = math.inf


def interpolate(at: Run, t: float) -> None:
    """Interpolate the state inside the step at the time t, into x_inside, by the polynomial that `dense` has
    prepared.
    """
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
    """Stretch the same polynomial to a step that is longer by this ratio.

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
    """Prepare the F_j, once for each step; return GOOD, or why a smaller step must be tried."""
    if not at.has_dense:
        call(at.dense, m, p, own, w)
        at.has_dense = True
    return at.outcome


def hold_sides(at: Run, p: Pointer) -> bool:
    """Let laws be as they are on the sides on which the next step begins; whether that changes one of them."""
    changes = False
    if at.first_sign > 0:
        for i in range(at.n_watched):
            side = 1.0 if at.signs[i] > 0.0 else -1.0 if at.signs[i] < 0.0 else 0.0
            changes = changes or side != p[at.first_sign + i]
            p[at.first_sign + i] = side
    at.is_let_go = False
    return changes


def let_go(at: Run, p: Pointer) -> None:
    """Let laws be as they are on all sides, as for states that are far from a step's beginning."""
    if at.first_sign > 0:
        clear(offset(p, at.first_sign), 0, at.n_watched)
    at.is_let_go = at.first_sign > 0


def is_beyond(g: float, sign: float) -> bool:
    """Whether g is on the other side of zero; at zero itself it is not."""
    return (g > 0.0 and sign < 0.0) or (g < 0.0 and sign > 0.0)


def note_signs(at: Run, x: Pointer, p: Pointer, w: Pointer) -> bool:
    """Take the signs of the switching functions at the state x for those of the next step; whether one has changed."""
    call(at.watch, x, p, at.switches, w)
    changed, look = False, open_look(at)
    tape = open_tape(look.tape)
    for i in range(at.n_watched):
        if i < at.n_events and at.switches[i] != at.switches[i]:
            at.asking = End.NO_VALUE
            at.nearest = i
        g, sign = at.switches[i], at.signs[i]
        is_other = is_beyond(g, sign)
        is_exact = at.crosses or (x[0] == at.switch and look.n_sampled == 0)
        if is_other and not is_exact and abs(g) <= tube_of(at, look, tape, i, 1.0, 0.0):
            is_other, g = False, 0.0  # but for rounding
        at.changed[i] = 1.0 if is_other else 0.0
        changed = changed or is_other
        if g == 0.0 and i < at.n_events and abs(sign) > tube_of(at, look, tape, i, 1.0, 1.0):
            at.grazes[i] = x[0]  # a step ends just at zero, and did not begin there
        at.signs[i] = g if g != 0.0 else TINY if sign > 0.0 else -TINY if sign < 0.0 else 0.0
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
        copy(at.k, at.k_inside, at.n)
        for _ in range(2):
            x[0] += h
            for i in range(at.n):
                x[1 + i] += h * at.k_inside[i]
            call(at.derivative, x, p, at.k_inside, w)
        call(at.watch, x, p, at.ahead, w)
        for i in range(at.n_watched):
            change = at.ahead[i] - at.switches[i]
            if at.signs[i] == 0.0 and change != 0.0:
                direction = at.directions[i] if i < at.n_events else 0.0
                at.signs[i] = -TINY * direction if direction != 0.0 else math.copysign(TINY, change)
        h *= 8.0


def clear_rounding(at: Run, p: Pointer, w: Pointer) -> None:
    """Make zero those events g, among the signs, with |g| <= sum_j |g(y + e_j ulp_j) - g(y)|; g itself to `switches`.

    So are balls at 1 and 1.2 that touch at a distance of 0.2.
    """
    look = open_look(at)
    tape = open_tape(look.tape)
    clear(at.ahead, 0, at.n_events)
    copy(at.x, at.x_inside, 1 + at.n)
    for j in range(at.ny):
        at.x_inside[1 + j] += EPSILON * abs(at.x[1 + j])
        call(at.watch, at.x_inside, p, at.switches, w)
        at.x_inside[1 + j] = at.x[1 + j]
        for i in range(at.n_events):
            at.ahead[i] += abs(at.switches[i] - at.signs[i])
    for i in range(at.n_events):
        if at.changed[i] != 0.0:  # it happened just beyond the rounding of the last step
            at.ahead[i] = max(at.ahead[i], 2.0 * tube_of(at, look, tape, i, 1.0, 0.0))
        if abs(at.signs[i]) <= at.ahead[i]:
            at.signs[i] = 0.0
    call(at.watch, at.x, p, at.switches, w)


@kernel
def watch_step(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Look along a step that is good enough: the outcome is GOOD if it may stay, perhaps up to a switch, else CUT."""
    at = open_run(m)
    look = open_look(at)
    tape = open_tape(look.tape)
    if at.n_watched == 0 and is_all_gentle(at, look, tape, p, w):
        at.left_open += count_open(at, look, tape)
        return
    if prepare_dense(at, m, p, own, w) != Outcome.GOOD:
        return
    prepare_look(at, look, tape, p, w)
    at.left_open += count_open(at, look, tape)
    enclose_whole_step(at, look, tape)
    if at.behind and is_contradicted(at, 0.5 * look.seen[1], p, w):  # it begins where its law is not smooth
        at.outcome = Outcome.CONTRADICTED
        return
    at.outcome, end = look_for_switches(at, look, tape, p, w)
    if at.outcome == Outcome.GOOD:
        at.outcome = look_for_narrow(at, look, tape, end, p, w)
    if at.outcome == Outcome.GOOD and at.crosses:
        interpolate(at, min(at.x[0] + end * at.h, at.x_new[0]))
        copy(at.x_inside, at.x_new, 1 + at.n)
        at.known = False


def is_all_gentle(at: Run, look: Look, tape: Tape, p: Pointer, w: Pointer) -> bool:
    """Whether no quantity is steep as far as the ends of the step tell, so that no dense output is needed.

    What holds within wider bounds serves the next steps too. Where it does not, these are tried more and more seldom.
    """
    if at.n_rates == at.ny and not at.known:
        call(at.derivative, at.x_new, p, at.k_new, w)
        at.evaluations += 1
        at.known = True
    load_hull(at, tape)
    if is_in_box(look, tape):
        return True
    load_numbers(tape, p)
    look.left -= 1
    if look.left < 0:
        if try_box(look, tape):
            return True
        load_hull(at, tape)
    return are_all_gentle(tape)


def look_for_narrow(at: Run, look: Look, tape: Tape, end: float, p: Pointer, w: Pointer) -> int:
    """Return CUT where the stages have not seen a narrow law before the end of the step; it then ends where that shows.

    Of one that is seen, but steep, the error estimate may be small by chance; it is compared with the derivative.
    """
    least = UNCUT * (abs(at.x[0]) + at.h) / at.h
    if least >= 1.0:
        return Outcome.GOOD
    for k in range(at.n_watched, tape.n_outputs):
        if look.is_open[k] == 0.0:
            continue
        status, theta = find_unseen(at, look, tape, k, least)
        if theta >= end:
            continue
        if status == MET:
            at.next_step = (theta if STRETCH * theta < 1.0 else 0.5) * at.h
            return Outcome.CUT
        if status == STEEP and is_contradicted(at, theta, p, w):
            return Outcome.CONTRADICTED
    return Outcome.GOOD


def is_contradicted(at: Run, theta: float, p: Pointer, w: Pointer) -> bool:
    """Whether the derivative inside the step is not that of the dense output: control of its defect. [enright1989]"""
    interpolate(at, at.x[0] + theta * at.h)
    call(at.rates, at.x_inside, p, at.k_inside, w)
    at.evaluations += 1
    gap = 0.0
    for i in range(min(at.n_norm, at.n_rates)):
        defect = abs(at.h * at.k_inside[i] - differentiate_inside(at, theta, i))
        gap = max(gap, defect / (DEFECT * (at.atol[i] + at.rtol * abs(at.x_inside[1 + i]))))
    at.excess = max(at.excess, gap)
    return gap > 1.0


def look_for_switches(at: Run, look: Look, tape: Tape, p: Pointer, w: Pointer) -> tuple[int, float]:
    """Return GOOD, and where the step comes to its first switch; CUT if there is too much to tell."""
    hop = HOP * (abs(at.x[0]) + at.h) / at.h
    which, low, high, blurred = -1, 1.0, 1.0, 0.0
    for i in range(at.n_watched):
        if look.is_open[i] == 0.0 or at.signs[i] == 0.0:
            continue
        status, u, v = find_lasting(at, look, tape, i, high, 0.25 * hop, p, w)
        if status == UNCLEAR and at.h > UNCUT * (abs(at.x[0]) + at.h):
            at.next_step = (u if u > 0.5 and STRETCH * u < 1.0 else 0.5) * at.h
            return Outcome.CUT, 1.0
        if status == UNCLEAR:
            blurred += at.h
        elif status != CLEAR:
            is_noise = i >= at.n_events and (status == AT_REST or is_at_rest(at, look, tape, i))
            if is_noise and not matters(at, i, at.x_new, at.h, p, w):
                continue
            blurred += high * at.h if is_noise else 0.0
            if status == MET or is_past(at, look, tape, i, 1.0 if at.signs[i] > 0.0 else -1.0, v):
                low, high = bracket(look, tape, i, u, v, at.signs[i], 0.25 * hop)
                which = i
    if which < 0:
        at.blurred += blurred
        return Outcome.GOOD, 1.0
    at.nearest = which
    if high <= 1.0 - BESIDE and low > hop and (high >= BESIDE or at.is_let_go):
        at.switch = at.x[0] + low * at.h
        hold_sides(at, p)
        return Outcome.CUT, 1.0
    if high < BESIDE and is_contradicted(at, 0.5 * low, p, w):
        return Outcome.CONTRADICTED, 1.0
    for i in range(at.n_watched):
        if i == which and high < BESIDE and sets_out_otherwise(at, look, tape, i, p, w):
            at.next_step = at.shrink * at.h
            return Outcome.CUT, 1.0
    at.blurred += blurred
    at.crosses = True
    at.hops = at.hops + 1 if high <= 2.0 * hop else 0
    at.t_before = at.x[0] + max(low - hop, 0.0) * at.h
    for i in range(at.n_watched):
        if i == which:
            enclose_between(look, tape, i, low, high)
            look.at_pole = has_pole(tape, i)
    return Outcome.GOOD, min(high + hop, 1.0)


def sets_out_otherwise(at: Run, look: Look, tape: Tape, k: int, p: Pointer, w: Pointer) -> bool:
    """Whether rates lead function k away from zero where the step begins, and its polynomial towards it.

    So does one of a stiff motion, which has only its stages in common with the rates; it would go back through the
    switch from which it set out.
    """
    if at.h <= UNCUT * at.t_end:
        return False
    copy(at.k, at.k_inside, at.n)
    if at.rates != at.derivative:
        call(at.rates, at.x, p, at.k_inside, w)
        at.evaluations += 1
    side = 1.0 if at.signs[k] > 0.0 else -1.0
    leads_away = side * slope_along(look, tape, k, at.x, at.k_inside, 1.0) > 0.0
    return leads_away and side * slope_at(look, tape, k, 0.0) < 0.0


def find_lasting(
    at: Run, look: Look, tape: Tape, i: int, last: float, least: float, p: Pointer, w: Pointer
) -> tuple[int, float, float]:
    """Find the first crossing of function i, see `find_crossing`, but for a dip of what a law depends on that does
    nothing.

    From such a dip it comes back within its tolerances before rates on its two sides could change the state. So it is
    where a law bends, and a step that came there, but for its error, a moment too early is not driven on at once.
    What is at rest by its tolerances, and yet matters, comes to a crossing all the same if there is one to be told.
    """
    sign = at.signs[i]
    status, u, v = find_crossing(at, look, tape, i, sign, 0.0, last, least, True)
    if status == AT_REST and i >= at.n_events and matters(at, i, at.x_new, at.h, p, w):
        followed, first, second = find_crossing(at, look, tape, i, sign, 0.0, last, least, False)
        if followed == MET:
            status, u, v = followed, first, second
    if status != MET or i < at.n_events or v >= last:
        return status, u, v
    status, beyond, back = find_crossing(at, look, tape, i, -sign, v, last, least, False)
    if status != MET:
        return MET, u, v
    depth = enclose_closely(look, tape, i, u, back)
    lowest = -depth[0] if sign > 0.0 else depth[1]
    interpolate(at, at.x[0] + 0.5 * (v + beyond) * at.h)
    is_deep = lowest > tube_of(at, look, tape, i, back, 1.0)
    if is_deep or matters(at, i, at.x_inside, (back - u) * at.h, p, w):
        at.slight = at.slight if is_deep else at.x[0] + u * at.h
        return MET, u, v
    return find_crossing(at, look, tape, i, sign, back, last, least, False)


def matters(at: Run, i: int, x: Pointer, h: float, p: Pointer, w: Pointer) -> bool:
    """Whether rates on either side of the zero of function i differ at x by what changes the state over a time h.

    So they do where a stiff wall is pressed in by less than a tolerance: what switches there is no noise.
    """
    if at.first_sign == 0 or at.is_let_go:
        return True
    side, found = p[at.first_sign + i], False
    call(at.rates, x, p, at.k_inside, w)
    p[at.first_sign + i] = -side
    call(at.rates, x, p, at.projected, w)
    p[at.first_sign + i] = side
    at.evaluations += 2
    for j in range(min(at.n_norm, at.n_rates)):
        change = h * abs(at.projected[j] - at.k_inside[j])
        found = found or not change <= at.atol[j] + at.rtol * abs(x[1 + j])
    return found


def is_driven_back(at: Run, p: Pointer, w: Pointer) -> bool:
    """Whether rates drive the function that is nearest back on both sides of its zero, so that it stays there."""
    found = False
    for k in range(at.n_watched if at.first_sign > 0 else 0):
        found = found or (k == at.nearest and is_driven_back_to(at, k, p, w))
    return found


def is_driven_back_to(at: Run, k: int, p: Pointer, w: Pointer) -> bool:
    """Tell whether that is so of function k."""
    look = open_look(at)
    tape, sign = open_tape(look.tape), p[at.first_sign + k]
    copy(at.k_new, at.k_inside, at.n)
    if at.rates != at.derivative:
        call(at.rates, at.x_new, p, at.k_inside, w)
        at.evaluations += 1
    behind = sign * slope_along(look, tape, k, at.x_new, at.k_inside, 1.0)
    if not behind < 0.0:
        return False
    p[at.first_sign + k] = -sign
    call(at.rates, at.x_new, p, at.k_inside, w)
    p[at.first_sign + k] = sign
    at.evaluations += 1
    jump = sign * slope_along(look, tape, k, at.x_new, at.k_inside, 1.0) - behind
    # It makes more than tolerances do in what is left of the run.
    return bool(jump > -behind and jump * (at.t_end - at.x[0]) > tube_of(at, look, tape, k, 0.0, 1.0))


@kernel
def pass_switches(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Note the signs at the end of a good step for the next one; the outcome is EVENT if that of an event has changed.

    What jumps at a pole, or where an angle has turned once, has not come to zero.
    """
    at = open_run(m)
    nearest = at.nearest
    side = at.signs[nearest]
    note_signs(at, at.x_new, p, w)
    if at.crosses:
        look = open_look(at)
        tape = open_tape(look.tape)
        for k in range(at.n_watched):  # else what was sampled had it too early
            if k == nearest and (at.changed[k] != 0.0 or abs(at.switches[k]) <= tube_of(at, look, tape, k, 1.0, 0.0)):
                pass_by(at, tape, k, -math.copysign(TINY, side))
        if look.at_pole:
            at.changed[nearest] = 0.0
        at.h = at.x_new[0] - at.x[0]
    else:
        at.hops = 0
    at.behind = False
    for i in range(at.n_watched):
        if at.changed[i] != 0.0 and at.x_new[0] - at.grazes[i] <= at.next_step:
            at.grazes[i] = -INF  # it was a matter of rounding
    at.switched += 1 if any_of(offset(at.changed, at.n_events), at.n_watched - at.n_events) else 0
    if hold_sides(at, p) or not at.known:
        call(at.derivative, at.x_new, p, at.k_new, w)
        at.evaluations += 1
        at.known = True
        at.crosses = at.behind = True
    if at.crosses and nearest >= at.n_events and (at.hops > MOST_HOPS or is_driven_back(at, p, w)):
        at.asking = End.CHATTERS
    if any_of(at.changed, at.n_events):
        if not at.has_before:
            before = moment(at, at.n_moments).before
            copy(at.x_new, before, 1 + at.n)
            before[0] = max(at.x[0], at.x_new[0] - HOP * (abs(at.x_new[0]) + at.h))
        at.outcome = Outcome.EVENT


def pass_by(at: Run, tape: Tape, k: int, side: float) -> None:
    """Take function k, and those that are the same, for having changed, also if rounding has put it back."""
    for i in range(at.n_watched):
        if integer(tape.outputs, i) == integer(tape.outputs, k) and at.changed[i] == 0.0:
            at.changed[i] = 1.0
            at.switches[i] = at.signs[i] = side


def any_of(flags: Pointer, count: int) -> bool:
    found = False
    for i in range(count):
        found = found or flags[i] != 0.0
    return found
