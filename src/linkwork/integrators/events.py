"""Events within the time loop: they are noted, and what they only set is set there."""

from __future__ import annotations

import math

from linkwork.integrators.memory import End, moment, open_run
from linkwork.integrators.switches import hold_sides, note_signs
from linkwork.integrators.time_loop import begin
from linkwork.linalg.vectors import copy
from linkwork.native.kernels import Pointer, call, kernel, offset


@kernel
def happen(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Note the events of the last step, and begin anew where they give held parameters other values.

    Where one of them asks Python what it does, which then does everything, the run is to stop.
    """
    at = open_run(m)
    now = moment(at, at.n_moments)
    found = asked = changed = False
    for i in range(at.n_events):
        now.sides[i] = math.copysign(at.changed[i], at.switches[i])
        if now.sides[i] * at.directions[i] < 0.0:
            at.changed[i] = 0.0
        found = found or at.changed[i] != 0.0
        asked = asked or (at.changed[i] != 0.0 and at.asks[i] != 0.0)
    if not found:
        return
    if asked:
        at.asking = End.EVENT
    at.n_moments += 1
    copy(at.x, now.after, 1 + at.n)
    if not asked and at.n_jumps > 0:
        call(at.jumps, at.x, p, at.jumped, w)
        for i in range(at.n_jumps):
            if at.targets[i] != 0.0 and at.changed[int(at.owners[i])] != 0.0:
                p[int(at.targets[i])] = at.jumped[i]
                changed = True
    copy(offset(p, at.held), now.held, at.n_held)
    if changed:
        note_signs(at, at.x, p, w)
        hold_sides(at, p)
        if not begin(at, m, p, own, w):
            at.asking = End.NOT_FINITE
