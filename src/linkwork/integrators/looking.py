"""What functions of the state do along a step: bounds of them and of their slopes between any two of its times.

The solution inside a step is a polynomial in theta, from 0 to 1 over it. Its Taylor series in the middle of any part of
the step bounds it there; from these bounds interval arithmetic makes those of a function and of its slope
(expressions/enclosures.py). Walking along the step, a part in which the bounds decide is done, another is halved; so
nothing is stepped over, whatever the formula is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.expressions.enclosures import ROUNDED
from linkwork.integrators.memory import Run
from linkwork.native.enclosing import (
    ATAN,
    ATAN2,
    DIV,
    TAN,
    TANH,
    Guards,
    Tape,
    enclose_all,
    enclose_around_middle,
    enclose_output,
    keep_middle,
    load_numbers,
)
from linkwork.native.kernels import Memory, Pointer, call, integer, memory_at, offset, offsets_of, split

Array = NDArray[np.float64]

MOST_PARTS = 400  # of a step, that are looked at for one function
# What a look along a step finds: nothing, something, too much to tell; no more than stages may have seen, but steep;
# no more than the tolerances of the state, on the other side of zero at the end
CLEAR, MET, UNCLEAR, STEEP, AT_REST = 0, 1, 2, 3, 4
WITH_POLES = (DIV, TAN, ATAN2)  # or jumps
EDGE = 1e-6  # of the step: nearer to its ends nothing is said to touch
INF = math.inf
POINTS = 8  # intervals between points of a step at which what has no bounds (solutions of linear systems) is sampled


class Look(Memory):
    """Places for looking along a step; the table of operations is behind them."""

    size: int
    degree: int
    n_dense: int
    n_inputs: int
    n_state: int  # inputs from t and y; those behind are sampled
    n_sampled: int
    n_seen: int
    n_outputs: int
    head: Pointer  # N_HEAD: these numbers
    from_samples: Pointer  # (degree + 1)^2, if there are samples
    seen: Pointer  # n_seen: where in a step the derivative is evaluated
    coefficients: Pointer  # n_inputs (degree + 1): of powers of theta
    margins: Pointer  # n_inputs: their rounding
    part: Pointer  # degree + 1
    is_open: Pointer  # n_outputs: 1 where bounds over the whole step leave something to be looked at
    samples: Pointer  # (degree + 1) n_sampled
    box: Pointer  # 2 n_inputs: bounds of the state within which no quantity is steep, where there are some
    has_box: bool
    pause: int  # steps after which wider bounds than those of a step are tried again, and those left of them
    left: int
    sample: int  # address of what is sampled
    at_pole: bool  # whether the step goes past what jumps at a pole
    tape: Pointer


N_HEAD = 8
SCALARS = (1,) * (Look._fields.index("tape") - Look._fields.index("has_box"))


def places(
    m: Pointer,
    size: int,
    degree: int,
    n_dense: int,
    n_inputs: int,
    n_state: int,
    n_sampled: int,
    n_seen: int,
    n_outputs: int,
) -> Look:
    width = degree + 1
    square = width * width if n_sampled > 0 else 0
    vectors = n_inputs * width, n_inputs, width, n_outputs, width * n_sampled, 2 * n_inputs
    counts = (N_HEAD, square, n_seen, *vectors, *SCALARS)
    return Look(size, degree, n_dense, n_inputs, n_state, n_sampled, n_seen, n_outputs, *split(m, counts))


def open_look(at: Run) -> Look:
    head = memory_at(at.look, N_HEAD)
    m = memory_at(at.look, integer(head, 0))
    a, b, c, d = integer(m, 0), integer(m, 1), integer(m, 2), integer(m, 3)
    return places(m, a, b, c, d, integer(m, 4), integer(m, 5), integer(m, 6), integer(m, 7))


def new_look(guards: Guards, n_dense: int, seen: Sequence[float]) -> Array:
    """Make the memory for looking along the steps of a method with so many F_j and these abscissae."""
    tape, n_sampled = guards.tape, guards.sample.outputs if guards.sample else 0
    degree = max(n_dense, POINTS if n_sampled else 1)
    n_inputs, n_outputs = (int(k) for k in tape[:5:4].view(np.int64))
    sizes = degree, n_dense, n_inputs, guards.n_state, n_sampled, len(seen), n_outputs
    at = offsets_of(places, 0, *sizes)
    m = np.zeros(at.tape + len(tape))
    m[:N_HEAD].view(np.int64)[:] = len(m), *sizes
    if n_sampled:
        points = 0.5 - 0.5 * np.cos(np.pi * np.arange(degree + 1) / degree)  # Chebyshev's, with both ends
        m[at.from_samples : at.seen] = np.linalg.inv(np.vander(points, increasing=True)).ravel()
    m[at.seen : at.coefficients] = seen
    m[at.tape :] = tape
    if guards.sample:
        m[at.sample : at.at_pole].view(np.int64)[:] = guards.sample.address
    return m


def value_inside(at: Run, theta: float, i: int) -> float:
    """Return component i of the state inside the step."""
    value: float = at.F[(at.n_dense - 1) * at.n + i]
    for j in range(at.n_dense - 1, -1, -1):
        factor = theta if j % 2 == 0 else 1.0 - theta
        value = (at.F[(j - 1) * at.n + i] if j > 0 else at.x[1 + i]) + factor * value
    return value


def differentiate_inside(at: Run, theta: float, i: int) -> float:
    """Differentiate component i by theta."""
    value, slope = at.F[(at.n_dense - 1) * at.n + i], 0.0
    for j in range(at.n_dense - 1, 0, -1):
        factor, sign = (theta, 1.0) if j % 2 == 0 else (1.0 - theta, -1.0)
        slope = factor * slope + sign * value
        value = at.F[(j - 1) * at.n + i] + factor * value
    change: float = value + theta * slope
    return change


def prepare_look(at: Run, look: Look, tape: Tape, p: Pointer, w: Pointer) -> None:
    """Write the step that has been made, with its F_j, in powers of theta."""
    load_numbers(tape, p)
    if look.n_sampled > 0:
        take_samples(at, look, p, w)
    width = look.degree + 1
    for k in range(look.n_inputs):
        index, c = integer(tape.inputs, k), offset(look.coefficients, k * width)
        for j in range(width):
            c[j] = 0.0
        if index == 0:
            c[0], c[1] = at.x[0], at.h
        elif index < look.n_state:
            expand(at, index - 1, c)
        else:
            for j in range(width):
                for i in range(width):
                    sample = look.samples[i * look.n_sampled + index - look.n_state]
                    c[j] += look.from_samples[j * width + i] * sample
        size = 0.0
        for j in range(width):
            size += abs(c[j])
        look.margins[k] = ROUNDED * size


def expand(at: Run, i: int, c: Pointer) -> None:
    """Expand component i of y + theta (F_0 + (1 - theta) (F_1 + theta (F_2 + ...))) in powers of theta, from inside
    out.
    """
    c[0] = at.F[(at.n_dense - 1) * at.n + i]
    for j in range(at.n_dense - 1, -1, -1):
        count = at.n_dense - j
        if j % 2 == 0:
            for k in range(count, 0, -1):
                c[k] = c[k - 1]
            c[0] = 0.0
        else:
            for k in range(count, 0, -1):
                c[k] -= c[k - 1]
        c[0] += at.F[(j - 1) * at.n + i] if j > 0 else at.x[1 + i]


def take_samples(at: Run, look: Look, p: Pointer, w: Pointer) -> None:
    """Solve what has to be solved for at every state at some places of the step."""
    degree = look.degree
    for j in range(degree + 1):
        theta = 0.5 - 0.5 * math.cos(math.pi * j / degree)
        at.x_inside[0] = at.x[0] + theta * at.h
        for i in range(at.n):
            at.x_inside[1 + i] = value_inside(at, theta, i)
        call(look.sample, at.x_inside, p, offset(look.samples, j * look.n_sampled), w)


def bound(c: Pointer, degree: int, u: float, v: float, b: Pointer) -> tuple[float, float, float, float]:
    """Bound a polynomial and its slope between u and v: with its Taylor series in the middle,

    sum_k b_k s^k for |s| <= (v - u)/2, where even powers of s have one sign.
    """
    middle, reach, power = 0.5 * (u + v), 0.5 * (v - u), 1.0
    for i in range(degree + 1):
        b[i] = c[i]
    for j in range(degree):
        for i in range(degree - 1, j - 1, -1):
            b[i] += middle * b[i + 1]
    low = high = b[0]
    slope_low = slope_high = b[1]
    for k in range(1, degree + 1):
        slope = k * b[k] * power
        power *= reach
        value = b[k] * power
        if k % 2 == 0:
            low, high = low + min(value, 0.0), high + max(value, 0.0)
            slope_low, slope_high = slope_low - abs(slope), slope_high + abs(slope)
        else:
            low, high = low - abs(value), high + abs(value)
            if k > 1:
                slope_low, slope_high = slope_low + min(slope, 0.0), slope_high + max(slope, 0.0)
    return low, high, slope_low, slope_high


def enclose_between(look: Look, tape: Tape, k: int, u: float, v: float) -> Pointer:
    """Enclose function k and its slope between two places of the step."""
    load_between(look, tape, k, u, v)
    return enclose_output(tape, k)


def load_between(look: Look, tape: Tape, k: int, u: float, v: float) -> None:
    """Load the inputs of function k between two places of the step."""
    for i in range(integer(tape.first_input, k), integer(tape.first_row, k + 1)):
        load_input(look, tape, integer(tape.listed, i), u, v)


def load_input(look: Look, tape: Tape, slot: int, u: float, v: float) -> None:
    out, margin, degree = offset(tape.values, 4 * slot), look.margins[slot], look.degree
    low, high, slope_low, slope_high = bound(offset(look.coefficients, slot * (degree + 1)), degree, u, v, look.part)
    out[0], out[1] = low - margin, high + margin
    out[2], out[3] = slope_low - degree * margin, slope_high + degree * margin


def enclose_whole_step(at: Run, look: Look, tape: Tape) -> None:
    """Find out which functions are to be looked at: not those that stay on their side of zero, or change little."""
    for slot in range(look.n_inputs):
        load_input(look, tape, slot, 0.0, 1.0)
    enclose_all(tape)
    for k in range(look.n_outputs):
        found = offset(tape.values, 4 * integer(tape.outputs, k))
        is_clear = is_gentle(found[0], found[1])
        if k < at.n_watched:
            side = at.signs[k]
            is_clear = found[0] > 0.0 if side > 0.0 else found[1] < 0.0 if side < 0.0 else True
            if k > 0 and integer(tape.outputs, k) == integer(tape.outputs, k - 1):  # begin and end are one
                is_clear = True
        look.is_open[k] = 0.0 if is_clear else 1.0


def enclose_closely(look: Look, tape: Tape, k: int, u: float, v: float) -> Pointer:
    """Enclose the same with bounds of second order in the length of the part."""
    enclose_at(look, tape, k, 0.5 * (u + v))
    keep_middle(tape, k)
    load_between(look, tape, k, u, v)
    return enclose_around_middle(tape, k, 0.5 * (v - u) * (1.0 + ROUNDED))


def enclose_at(look: Look, tape: Tape, k: int, theta: float) -> Pointer:
    """Enclose function k and its slope at one place of the step, to rounding."""
    for i in range(integer(tape.first_input, k), integer(tape.first_row, k + 1)):
        slot = integer(tape.listed, i)
        c, out = offset(look.coefficients, slot * (look.degree + 1)), offset(tape.values, 4 * slot)
        value, slope = c[look.degree], 0.0
        for j in range(look.degree - 1, -1, -1):
            slope = value + theta * slope
            value = c[j] + theta * value
        out[0] = out[1] = value
        out[2] = out[3] = slope
    return enclose_output(tape, k)


def value_at(look: Look, tape: Tape, k: int, theta: float) -> float:
    found = enclose_at(look, tape, k, theta)
    value: float = 0.5 * (found[0] + found[1])
    return value


def slope_along(look: Look, tape: Tape, k: int, x: Pointer, rates: Pointer, of_time: float) -> float:
    """Return the rate of function k at x = (t, y) where y has these rates; samples stand still."""
    for i in range(integer(tape.first_input, k), integer(tape.first_row, k + 1)):
        slot = integer(tape.listed, i)
        index, out = integer(tape.inputs, slot), offset(tape.values, 4 * slot)
        out[0], out[2] = x[0], of_time
        if 0 < index < look.n_state:
            out[0], out[2] = x[index], rates[index - 1]
        elif index > 0:
            out[0], out[2] = look.samples[look.degree * look.n_sampled + index - look.n_state], 0.0
        out[1], out[3] = out[0], out[2]
    found = enclose_output(tape, k)
    slope: float = 0.5 * (found[2] + found[3])
    return slope


def load_hull(at: Run, tape: Tape) -> None:
    """Load bounds of the state along the step by its ends and the slopes there, as wide again.

    A cubic is between four numbers of this kind. Where slopes are not known, those of the ends are three times as wide.
    """
    for k in range(tape.n_inputs):
        index, out = integer(tape.inputs, k), offset(tape.values, 4 * k)
        out[0], out[1], out[2], out[3] = at.x[0], at.x_new[0], 0.0, 0.0
        if index > 0:
            first, last = at.x[index], at.x_new[index]
            low, high, more = min(first, last), max(first, last), 1.0
            if at.n_rates == at.ny:
                second, third = first + at.h / 3.0 * at.k[index - 1], last - at.h / 3.0 * at.k_new[index - 1]
                low, high, more = min(low, second, third), max(high, second, third), 0.5
            out[0], out[1] = low - more * (high - low), high + more * (high - low)


def is_in_box(look: Look, tape: Tape) -> bool:
    """Whether the bounds of the state that are loaded lie within those in which no quantity is steep."""
    inside = look.has_box
    for k in range(tape.n_inputs):
        inside = inside and look.box[2 * k] <= tape.values[4 * k] and tape.values[4 * k + 1] <= look.box[2 * k + 1]
    return inside


def try_box(look: Look, tape: Tape) -> bool:
    """Widen the bounds that are loaded to a box in which more steps may stay; whether no quantity is steep there.

    It is five times as wide. Where it is too wide, the next one is tried more and more seldom.
    """
    for k in range(tape.n_inputs):
        out = offset(tape.values, 4 * k)
        reach = 2.0 * (out[1] - out[0])
        out[0], out[1] = out[0] - reach, out[1] + reach
        look.box[2 * k], look.box[2 * k + 1] = out[0], out[1]
    look.has_box = are_all_gentle(tape)
    look.pause = 0 if look.has_box else 2 * look.pause + 1
    look.left = look.pause
    return look.has_box


def are_all_gentle(tape: Tape) -> bool:
    """Whether no quantity is steep within the bounds of the state that are loaded."""
    enclose_all(tape)
    gentle = True
    for k in range(tape.n_outputs):
        found = offset(tape.values, 4 * integer(tape.outputs, k))
        gentle = gentle and is_gentle(found[0], found[1])
    return gentle


def has_poles(op: int) -> bool:
    """Whether the operation has poles, or jumps."""
    found = False
    for code in WITH_POLES:
        found = found or op == code
    return found


def has_pole(tape: Tape, k: int) -> bool:
    """Whether function k, as last enclosed, has a pole of a quotient or tangent, or the jump of an angle, within."""
    first, found = tape.n_inputs + tape.n_given + tape.n_constants, False
    for i in range(integer(tape.first_row, k), integer(tape.first_input, k)):
        j = integer(tape.listed, i)
        row, out = offset(tape.rows, 4 * j), offset(tape.values, 4 * (first + j))
        op, a, b = integer(row, 0), offset(tape.values, 4 * integer(row, 1)), offset(tape.values, 4 * integer(row, 2))
        of_jumps = max(abs(a[2]), abs(a[3]), abs(b[2]), abs(b[3])) == INF
        found = found or (has_poles(op) and abs(out[2]) == INF and not of_jumps)
    return found


def tube_of(at: Run, look: Look, tape: Tape, k: int, theta: float, part: float) -> float:
    """Find what a part of the tolerances of the state, and its rounding, make of function k, where that has a bound."""
    width = width_of(at, look, tape, k, theta, part)
    return width if width < INF else 0.0


def width_of(at: Run, look: Look, tape: Tape, k: int, theta: float, part: float) -> float:
    """Find what a part of the tolerances of the state, and its rounding, make of function k at a place of the step."""
    for i in range(integer(tape.first_input, k), integer(tape.first_row, k + 1)):
        slot = integer(tape.listed, i)
        index, out = integer(tape.inputs, slot), offset(tape.values, 4 * slot)
        c = offset(look.coefficients, slot * (look.degree + 1))
        value = c[look.degree]
        size = abs(value)
        for j in range(look.degree - 1, -1, -1):
            value, size = c[j] + theta * value, abs(c[j]) + theta * size
        least = at.atol[index - 1] if 0 < index < look.n_state else 0.0
        is_sampled = index >= look.n_state  # and solved for with no more digits than a step has
        tolerance = (1.0 if is_sampled else part) * (least + at.rtol * abs(value)) if index > 0 else 0.0
        tolerance += 4.0 * ROUNDED * size
        out[0], out[1], out[2], out[3] = value - tolerance, value + tolerance, 0.0, 0.0
    found = enclose_output(tape, k)
    width: float = 0.5 * (found[1] - found[0])
    return width


def note_touch(at: Run, look: Look, tape: Tape, k: int, side: float, u: float, v: float) -> None:
    """Note when function k, by its slope, was nearest to zero and did not go beyond, seen between u and v.

    What leaves zero there has been nearest before, what rests does not touch; at an end of the step it may have been
    there before, too.
    """
    if side * slope_at(look, tape, k, u) > 0.0 or is_at_rest(at, look, tape, k):
        return
    low, high = u, 1.0
    if not side * slope_at(look, tape, k, high) > 0.0:
        low = high = v
    while high - low > EDGE * EDGE:
        middle = 0.5 * (low + high)
        if side * slope_at(look, tape, k, middle) > 0.0:
            high = middle
        else:
            low = middle
    if EDGE < high < 1.0 - EDGE:
        at.grazes[k] = at.x[0] + high * at.h


def slope_at(look: Look, tape: Tape, k: int, theta: float) -> float:
    found = enclose_at(look, tape, k, theta)
    slope: float = 0.5 * (found[2] + found[3])
    return slope


def is_at_rest(at: Run, look: Look, tape: Tape, k: int) -> bool:
    """Whether function k is nowhere that the stages are more than what the tolerances of the state make of it."""
    for i in range(look.n_seen):
        if not abs(value_at(look, tape, k, look.seen[i])) <= tube_of(at, look, tape, k, look.seen[i], 1.0):
            return False
    return True


def find_crossing(
    at: Run, look: Look, tape: Tape, k: int, sign: float, first: float, last: float, least: float, may_rest: bool
) -> tuple[int, float, float]:
    """Whether function k comes to the other side of zero, by more than rounding, and between which places first.

    Where its slope has one sign, or a part is shorter than `least`, the value at its end tells, if there is one. A dip
    within what the tolerances make of the function is no event; of a law it may matter, unless it is rounding.
    """
    u, width, side = first, last - first, 1.0 if sign > 0.0 else -1.0
    for _ in range(MOST_PARTS):
        if u >= last:
            return CLEAR, last, last
        v = min(u + width, last)
        found = enclose_between(look, tape, k, u, v)
        if not side * (found[0] if side > 0.0 else found[1]) > 0.0:
            found = enclose_closely(look, tape, k, u, v)
        slope_low, slope_high, farthest = found[2], found[3], max(abs(found[0]), abs(found[1]))
        nearest = side * (found[0] if side > 0.0 else found[1])
        if not (nearest < 0.0 or (nearest == 0.0 and k < at.n_events)):  # of events also a touch is told
            u = v
            width *= 2.0
            continue
        is_short, at_v = v - u <= least, value_at(look, tape, k, v)
        if is_short or ((slope_low > 0.0 or slope_high < 0.0) and at_v == at_v):
            if is_past(at, look, tape, k, side, v):
                return MET, u, v
            if is_short:
                note_touch(at, look, tape, k, side, u, v)
            u = v
            width *= 2.0
            continue
        if may_rest and v - u == last and is_at_rest(at, look, tape, k):
            return AT_REST, u, v
        part = 1.0 if k < at.n_events else 0.0
        tube = min(tube_of(at, look, tape, k, u, part), tube_of(at, look, tape, k, v, part))
        if farthest <= tube and not is_past(at, look, tape, k, side, v):
            note_touch(at, look, tape, k, side, u, v)
            u = v
            width *= 2.0
            continue
        width = 0.5 * (v - u)
    return UNCLEAR, u, last


def is_past(at: Run, look: Look, tape: Tape, k: int, side: float, theta: float) -> bool:
    """Whether function k, which was on that side, is beyond zero by more than rounding.

    Where the step was to end before it, rounding is no excuse.
    """
    g = side * value_at(look, tape, k, theta)
    is_exact = at.x_new[0] == at.switch and look.n_sampled == 0
    return g < 0.0 and (is_exact or -g > tube_of(at, look, tape, k, theta, 0.0))


def bracket(look: Look, tape: Tape, k: int, u: float, v: float, sign: float, least: float) -> tuple[float, float]:
    """Bracket a crossing by two places not farther apart than `least`: by false position, or halves where
    that is slow.
    """
    side = 1.0 if sign > 0.0 else -1.0
    g_u, g_v = side * value_at(look, tape, k, u), side * value_at(look, tape, k, v)
    last_u = last_v = False
    halving = False
    while v - u > least:
        middle = 0.5 * (u + v)
        width = v - u
        if not halving and INF > g_u > 0.0 > g_v > -INF:
            middle = min(max(u + width * (g_u / (g_u - g_v)), u + 0.5 * least), v - 0.5 * least)
        if not u < middle < v:
            break
        g = side * value_at(look, tape, k, middle)
        if g < 0.0:
            v, g_v = middle, g
            g_u *= 0.5 if last_v else 1.0
            last_u, last_v = False, True
        else:
            u, g_u = middle, g
            g_v *= 0.5 if last_u else 1.0
            last_u, last_v = True, False
        halving = v - u > 0.5 * width and not halving
    return u, v


def is_gentle(low: float, high: float) -> bool:
    """Whether a quantity between these bounds changes by a factor of e at most, or has no value."""
    alike = (low > 0.0 and high <= math.e * low) or (high < 0.0 and low >= math.e * high)
    return bool(alike or low != low or low == high)


def band_of(at: Run, look: Look, tape: Tape, k: int, least: float) -> float:
    """Find what the tolerances of the state make of function k everywhere on the step, up to a factor of e; 0 if that
    is below `least`.

    What a step changes by less is undetermined, as the direction between points that a joint holds together: shorter
    steps would tell no more of it.
    """
    band = INF
    for i in range(look.n_seen):
        band = min(band, math.e * 2.0 * width_of(at, look, tape, k, look.seen[i], 1.0))
        if not band >= least:
            return 0.0
    return band


def count_open(at: Run, look: Look, tape: Tape) -> int:
    """How many laws the tolerances of the state leave open at the end of the step: anything a tanh or atan can be.

    But for a factor of e; so it is with tanh(v/transition) if v has a tolerance of the size of the transition.
    """
    count, alone = 0, math.sqrt(at.n_norm)  # tolerances are kept in the mean, and one component may have all of it
    for k in range(at.n_watched, tape.n_outputs):
        row = integer(tape.outputs, k) - tape.n_inputs - tape.n_given - tape.n_constants
        op = integer(tape.rows, 4 * row) if row >= 0 else DIV
        if op != ATAN and op != TANH:
            continue
        load_end(at, look, tape, k, alone)
        found = enclose_output(tape, k)
        count += 1 if math.e * (found[1] - found[0]) >= (2.0 if op == TANH else math.pi) else 0
    return count


def load_end(at: Run, look: Look, tape: Tape, k: int, part: float) -> None:
    """The inputs of function k at the end of the step, give or take a part of their tolerances."""
    for i in range(integer(tape.first_input, k), integer(tape.first_row, k + 1)):
        slot = integer(tape.listed, i)
        index, out, tolerance = integer(tape.inputs, slot), offset(tape.values, 4 * slot), 0.0
        value = (
            at.x_new[index]
            if index < look.n_state
            else look.samples[look.degree * look.n_sampled + index - look.n_state]
        )
        if 0 < index < look.n_state:
            tolerance = part * (at.atol[index - 1] + at.rtol * abs(value))
        out[0], out[1], out[2], out[3] = value - tolerance, value + tolerance, 0.0, 0.0


class Seen(NamedTuple):
    """What the stages of a step have seen of a function: bounds of it and of its slope, and where it changes most."""

    low: float
    high: float
    slope_low: float
    slope_high: float
    place: float


def see_by_stages(look: Look, tape: Tape, k: int) -> Seen:
    """Find what the stages have seen of function k, where it has a value."""
    low, high, slope_low, slope_high = INF, -INF, INF, -INF
    last, most, place = math.nan, 0.0, 0.5
    for i in range(look.n_seen):
        there = enclose_at(look, tape, k, look.seen[i])
        if there[0] == there[0] and max(abs(there[2]), abs(there[3])) < INF:
            slope_low, slope_high = min(slope_low, there[2]), max(slope_high, there[3])
            low, high = min(low, there[0]), max(high, there[1])
        if abs(there[0] - last) > most:
            most, place = abs(there[0] - last), 0.5 * (look.seen[i - 1] + look.seen[i])
        last = there[0]
    return Seen(low, high, slope_low, slope_high, place)


def find_unseen(at: Run, look: Look, tape: Tape, k: int, least: float) -> tuple[int, float]:
    """Whether the slope of function k is somewhere not what the stages of the step may have seen of it, and where.

    They have seen what it is at their abscissae, and what differs from that by no more than it does there, or by a
    factor of e at most. Where all is seen, and yet steep, the place is that between two of them between which it
    changes most.
    """
    found = enclose_closely(look, tape, k, 0.0, 1.0)
    if is_gentle(found[0], found[1]):
        return CLEAR, 1.0
    low, high, change = found[2], found[3], found[1] - found[0]
    if band_of(at, look, tape, k, change) > 0.0:
        return CLEAR, 1.0
    tolerance, seen = tube_of(at, look, tape, k, 1.0, 1.0), see_by_stages(look, tape, k)
    tolerance += at.rtol * max(-seen.low, seen.high, 0.0)
    more = max(seen.slope_high - seen.slope_low, 0.0) + tolerance
    least_slope, most_slope = seen.slope_low - more, seen.slope_high + more
    if least_slope <= low and high <= most_slope:
        return STEEP, seen.place
    u, width, band = 0.0, 1.0, band_of(at, look, tape, k, seen.high - seen.low)
    for _ in range(MOST_PARTS):
        if u >= 1.0:
            return STEEP, seen.place
        v = min(u + width, 1.0)
        found = enclose_closely(look, tape, k, u, v)
        is_seen = least_slope <= found[2] and found[3] <= most_slope
        low, high = min(seen.low, found[0]), max(seen.high, found[1])
        if is_seen or found[0] != found[0] or is_gentle(low, high) or high - low <= band:
            u = v
            width *= 2.0
            continue
        middle = 0.5 * (u + v)
        there = enclose_at(look, tape, k, middle)
        if there[0] == there[0] and (there[2] > most_slope or there[3] < least_slope):
            return MET, middle
        if v - u <= least:
            u = v
            width *= 2.0
            continue
        width = 0.5 * (v - u)
    return (MET, max(u, 0.5)) if u < 1.0 else (STEEP, seen.place)
