"""Rest by dry friction: what sticks rests in a range of positions, wherever |f| <= static N holds it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linkwork.analyses.equilibrium import Rest
from linkwork.compiled.mechanism import Mechanism
from linkwork.elements.events import closed
from linkwork.elements.friction import StickSlip
from linkwork.equations.place import OFF
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import as_expr
from linkwork.records import changed
from linkwork.start.closing import MOST_DAMPED
from linkwork.start.freedoms import choose_independent
from linkwork.tolerances import HALF_THE_DIGITS, ROUNDING


class Range(NamedTuple):
    """Values of a coordinate between which a mechanism rests by friction; None where no end was found."""

    coordinate: str
    least: float | None
    most: float | None


def rubbing(mechanism: Mechanism) -> list[StickSlip]:
    return [force for force in mechanism.model.forces if isinstance(force, StickSlip)]


def with_belts(mechanism: Mechanism) -> Mechanism:
    """Let belts and shafts move on below what rests, so that their friction slips."""
    e = mechanism.equations
    speeds = {x.mode: float(evaluate([as_expr(x.speed)], e.parameters)[0]) for x in rubbing(mechanism)}
    slipping = {mode: -float(np.sign(speed)) for mode, speed in speeds.items() if speed}
    return changed(mechanism, equations=e.with_values({**e.parameters, **slipping})) if slipping else mechanism


def margin(mechanism: Mechanism, rest: Rest) -> float:
    """Return the least of what friction could hold beyond what it has to, if all that does not slip sticks here."""
    e, place = rest.place.equations, rest.place
    stuck = [x for x in rubbing(mechanism) if not e.parameters[x.mode]]
    held = e.with_values({**e.parameters, **{closed(x.name): 1.0 for x in stuck}})
    system = rest.tangent.code.system.with_values(held)
    code = replace(rest.tangent.code, system=system)
    there = Rest(replace(rest.tangent, code=code, place=system.place(place.q, place.v)), rest.gravity)
    if np.abs(there.g).max(initial=0.0) > HALF_THE_DIGITS * there.size:
        return -np.inf  # more moves than friction holds
    at = {**there.place.values, **dict.fromkeys(e.a, 0.0), **dict(zip(e.lam, there.lam.tolist(), strict=True))}
    names = {f"{x.name}.slip" for x in stuck}
    return float(min(evaluate([event.when for event in e.events if event.name in names], at), default=-np.inf))


def find_range(mechanism: Mechanism, rest: Rest) -> Range | None:
    """Find where friction holds a mechanism of one freedom about this rest; None if there is no such range."""
    if rest.Z.shape[1] != 1 or not rubbing(mechanism) or not margin(mechanism, rest) > 0.0:
        return None
    (k,), _ = choose_independent(rest.place.equations, rest.Z)
    c = rest.place.equations.velocities[k]
    if c.name not in rest.place.equations.q_names:
        return None
    j = rest.place.equations.q_names.index(c.name)
    ends = [_follow(mechanism, rest, float(sign * np.sign((rest.Z[k]).item()))) for sign in (-1.0, 1.0)]
    least, most = (None if end is None else float(end.place.q[j]) for end in ends)
    return Range(c.name, least, most)


def _follow(mechanism: Mechanism, rest: Rest, sign: float) -> Rest | None:
    """Return the last position to one side that friction holds; None if there is no end."""
    inside, step = rest, OFF
    for _ in range(MOST_DAMPED):  # more than a length of the mechanism to either side, then ever shorter
        along = 1.0 if inside.Z[:, 0] @ rest.Z[:, 0] >= 0.0 else -1.0
        trial = inside.moved(np.array([sign * along * step]))
        if trial is not None and margin(mechanism, trial) >= 0.0:
            inside = trial
        elif step < ROUNDING:
            return inside
        else:
            step *= 0.5
    return None
