"""What happens inside a step: its states by dense output, and the switches it goes past.

A derivative that jumps or bends where a function g(t, y) changes its sign is smooth on either side. So a step ends
just before the sign changes, another goes past it, no longer than rounding, and the next one begins behind it. g is
looked at in SAMPLES + 1 points of each step and where the parabola through three of them has its vertex. Where these
points do not show g clearly, because it turns faster than the state itself (the height of a point on a free body that
spins), the step is taken again with half its length.

Switches that follow each other within a step, as when a sliding contact comes to rest, would each take
steps of their own; after a few of them they are left to the control of the error, until they are rarer again. So is one
that shows itself anew, and earlier, however often the step is cut.
"""

from __future__ import annotations

from linkwork.dense.vectors import copy
from linkwork.integrators.memory import RUNNING, SAMPLES, TO_BE_CUT, Run
from linkwork.native.kernels import Pointer, call, integer, offset

HALVINGS = 60  # of an interval with a switch: down to rounding
HOP = 16 * 2.0**-52  # of the time: a step that only goes past a switch
MOST_NEAR = 4  # switches within a step of one another that are located, and cuts of one step
NEAR = 0.1  # of how g bends between points: a vertex this near to zero is looked at
ROUGH = 0.02  # of the range of g along a step: a fourth difference above is not seen clearly
SHORTEST = 2.0**-10  # of the longest step: one this short is clear enough
LEAST_ERROR = 1e-4  # that the next step size remembers


def interpolate(at: Run, t: float) -> None:
    """The state inside the step at the time t, into x_inside, by the polynomial that `dense` has prepared."""
    theta = (t - at.x[0]) / at.h[0]
    n, y = at.n, offset(at.x_inside, 1)
    at.x_inside[0] = t
    copy(offset(at.F, (at.n_dense - 1) * n), y, n)
    for j in range(at.n_dense - 1, -1, -1):
        factor = theta if j % 2 == 0 else 1.0 - theta
        F = offset(at.F, (j - 1) * n) if j > 0 else offset(at.x, 1)
        for i in range(n):
            y[i] = F[i] + factor * y[i]


def differentiate_inside(at: Run, t: float, i: int) -> float:
    """The derivative of component i of that polynomial."""
    theta = (t - at.x[0]) / at.h[0]
    value, slope = at.F[(at.n_dense - 1) * at.n + i], 0.0
    for j in range(at.n_dense - 1, 0, -1):
        factor, sign = (theta, 1.0) if j % 2 == 0 else (1.0 - theta, -1.0)
        slope = factor * slope + sign * value
        value = at.F[(j - 1) * at.n + i] + factor * value
    rate: float = (value + theta * slope) / at.h[0]
    return rate


def prepare_dense(at: Run, m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> int:
    """Have the F_j, once for each step; RUNNING, or why a smaller step must be tried."""
    if at.has_dense[0] == 0.0:
        call(integer(at.dense, 0), m, p, own, w)
        at.has_dense[0] = 1.0
    return int(at.outcome[0])


def note_signs(at: Run, x: Pointer, p: Pointer, w: Pointer) -> bool:
    """Take the signs of the switching functions at the state x for those of the next step; whether one has changed."""
    call(integer(at.watch, 0), x, p, at.switches, w)
    changed = has_changed(at, at.switches)
    copy(at.switches, at.signs, at.n_watched)
    return changed


def has_changed(at: Run, g: Pointer) -> bool:
    changed = False
    for i in range(at.n_watched):
        changed = changed or (g[i] > 0.0) != (at.signs[i] > 0.0)
    return changed


def is_behind(at: Run, t: float, p: Pointer, w: Pointer, g: Pointer) -> bool:
    """Whether a sign inside the step at t is another than at its beginning; the functions there go to g."""
    interpolate(at, t)
    call(integer(at.watch, 0), at.x_inside, p, g, w)
    return has_changed(at, g)


def sample_time(at: Run, k: int) -> float:
    return float(at.x_new[0] if k == SAMPLES else at.x[0] + k / SAMPLES * at.h[0])


def find_switch(at: Run, p: Pointer, w: Pointer) -> tuple[float, float]:
    """Two times inside the step, one sample apart at most, between which a sign changes first; INF if none does."""
    count = at.n_watched
    copy(at.signs, at.switches, count)
    for k in range(1, SAMPLES + 1):
        if is_behind(at, sample_time(at, k), p, w, offset(at.switches, k * count)):
            return sample_time(at, k - 1), sample_time(at, k)
    for k in range(1, SAMPLES):
        for i in range(count):
            before = at.switches[(k - 1) * count + i]
            here = at.switches[k * count + i]
            after = at.switches[(k + 1) * count + i]
            slope, bend = 0.5 * (after - before), before - 2.0 * here + after
            if abs(slope) < abs(bend):  # the vertex is between the three
                least = here - 0.5 * slope * slope / bend
                if (least > 0.0) != (here > 0.0) or abs(least) < NEAR * abs(bend):
                    t = at.x[0] + (k - slope / bend) / SAMPLES * at.h[0]
                    if at.x[0] < t < at.x_new[0] and is_behind(at, t, p, w, at.vertex):
                        return sample_time(at, k - 1 if t <= sample_time(at, k) else k), t
    return at.x_new[0], at.x_new[0]


def is_clear(at: Run) -> bool:
    """Whether the points show every function that could change its sign between them: they are as good as a curve."""
    count = at.n_watched
    clear = True
    for i in range(count):
        low = high = at.switches[i]
        nearest, roughest = abs(low), 0.0
        for k in range(SAMPLES + 1):
            g = at.switches[k * count + i]
            low, high, nearest = min(low, g), max(high, g), min(nearest, abs(g))
            if k >= 4:
                first, second = at.switches[(k - 4) * count + i], at.switches[(k - 3) * count + i]
                third, fourth = at.switches[(k - 2) * count + i], at.switches[(k - 1) * count + i]
                roughest = max(roughest, abs(first - 4.0 * second + 6.0 * third - 4.0 * fourth + g))
        clear = clear and (nearest > high - low or roughest <= ROUGH * (high - low))
    return clear


def watch_step(at: Run, m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> int:
    """Look for a switch inside a step that is good enough: RUNNING if it may stay, else TO_BE_CUT.

    A step that begins at the switch is made one that only goes past it.
    """
    outcome = prepare_dense(at, m, p, own, w)
    if outcome != RUNNING:
        return outcome
    low, high = find_switch(at, p, w)
    if low == at.x_new[0]:
        if at.h[0] <= SHORTEST * at.max_step[0] or is_clear(at):
            return RUNNING
        at.longest[0] = at.next_step[0] = 0.5 * at.h[0]
        return TO_BE_CUT
    wished = max(at.h[0], min(at.next_step[0], at.max_step[0]))  # a step that was cut before is no measure
    if at.cuts[0] > MOST_NEAR or (at.chatter[0] > MOST_NEAR and low - at.last_switch[0] <= wished):
        return RUNNING
    hop = HOP * (abs(at.x[0]) + wished)
    for _ in range(HALVINGS):
        if high - low <= 0.25 * hop:
            break
        middle = 0.5 * (low + high)
        if is_behind(at, middle, p, w, at.switches):
            high = middle
        else:
            low = middle
    if low - at.x[0] > hop:
        at.switch[0] = low
        at.cuts[0] += 1.0
        return TO_BE_CUT
    interpolate(at, min(high + hop, at.x_new[0]))
    copy(at.x_inside, at.x_new, 1 + at.n)
    at.h[0] = at.x_new[0] - at.x[0]
    at.error[0] = LEAST_ERROR
    at.known[0] = 0.0
    at.crosses[0] = 1.0
    return RUNNING


def pass_switches(at: Run, p: Pointer, w: Pointer) -> None:
    """Note the signs at the end of a good step, and whether switches follow each other closely."""
    at.cuts[0] = 0.0
    if note_signs(at, at.x_new, p, w):
        near = at.x_new[0] - at.last_switch[0] <= min(at.next_step[0], at.max_step[0])
        at.chatter[0] = at.chatter[0] + 1.0 if near else 0.0
        at.last_switch[0] = at.x_new[0]
