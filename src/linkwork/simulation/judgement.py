"""What a finished run says about itself: whether its energy balance is as good as its tolerances explain.

The balance kinetic + potential + dissipated - supplied is constant on an exact motion, whatever the mechanism. Kinetic
and potential energy follow from the state alone, which the error control does not look at, so that errors of steps,
of the branch, of impulses and of the constraints show. The work dissipated and supplied is integrated by the same
steps as the motion: a force that no stage of a step met is missing in both, and the balance cannot show it. That steps
meet what a law does is up to them (see `integrators.switches`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.elements.kinds import UNITS
from linkwork.equations.place import Place
from linkwork.errors import Interrupted, NumericalStop
from linkwork.notes import Note, Reason
from linkwork.tolerances import AGREEMENT
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]

ALLOWED = 100.0  # tolerances of every step, added up: errors may grow along the motion, by more is not explained
ACCUMULATED = 1e-11  # of the largest energy, with any zero of the potential: EPSILON of each of 50,000 steps
FIRST = 10  # steps more, for runs of a few, whose first are of any length
LOOSEST = 0.05  # of the energy turned over: no tolerances explain more, nobody means them to
LOOSEST_GAP = 1e-3  # of the mechanism, or of its speed: no tolerances explain more, it would be seen in a drawing
SPEED = f"{UNITS['length']}/s"
LIMIT = 0.01  # of the energy turned over: beyond this the motion is not to be used
LATE = 1e4  # tolerances: a lag that is told; or times rtol, an atol that decides the accuracy in its place
ITS_OWN = 0.5  # of the most kinetic energy: with more that comes or goes, a motion is not left to itself
Data = dict[str, Any] | None  # of a note, if there is something to say


class Balance(NamedTuple):
    """By how much energies do not balance, the most of that, and what they are measured by."""

    drift: Array
    worst: float
    kinetic: float  # the most there is
    turned_over: float
    largest: float  # of all energies


def find_balance(energies: Array) -> Balance:
    """Find kinetic and potential energy and the work dissipated and supplied, in columns."""
    kinetic, potential, dissipated, supplied = forms = energies.T
    total = kinetic + potential + dissipated - supplied
    drift = total - total[:1]
    if not forms.size:
        return Balance(drift, math.nan, 0.0, 0.0, 0.0)
    first, most, least = forms[:, 0].tolist(), forms.max(axis=1).tolist(), forms.min(axis=1).tolist()
    turned_over = max(most[0], *(max(a - b, b - c) for a, b, c in zip(most, first, least, strict=True)))
    return Balance(drift, float(np.abs(drift).max()), most[0], turned_over, max(*most, -min(least)))


def speeds(motion: Trajectory, length: float) -> Array:
    """Measure all velocities at all report times, in rad or in this length, in a second."""
    is_length = [unit == SPEED for unit in motion.tables["v"].columns.units]
    return np.asarray(np.abs(motion.v) / np.where(is_length, length, 1.0))


def find_imbalance(motion: Trajectory, length: float, rate: float, balance: Balance) -> tuple[Data, bool]:
    """Find by how much the energy balance is worse than tolerances explain, if it is; and whether beyond LIMIT."""
    info, (drift, worst, _, turned_over, largest) = motion.info, balance
    if not math.isfinite(worst) and np.isinf(motion.tables["energy"].values).any():
        return {}, True
    if not math.isfinite(worst) or info.rtol is None or info.atol is None:
        return None, False
    times = ALLOWED * (FIRST + info.steps)
    tolerance = min(times * info.rtol, LOOSEST)
    if worst <= tolerance * turned_over + ACCUMULATED * largest:
        return None, False
    if not (fastest := float(speeds(motion, length).max(initial=0.0))):
        return None, False
    share = info.atol * rate / fastest
    tolerance += min(times * share, max(LOOSEST, ALLOWED * share))
    explained = tolerance * turned_over + ACCUMULATED * largest
    if worst <= explained:
        return None, False
    t = float(motion.t[int(np.argmax(np.abs(np.diff(drift)))) + 1])
    is_wrong = worst > max(LIMIT, tolerance) * turned_over
    limit = LIMIT if is_wrong else None
    return {"drift": worst, "turned_over": turned_over, "explained": explained, "t": t, "limit": limit}, is_wrong


def find_lag(motion: Trajectory, length: float, balance: Balance) -> Data:
    """Find how far a long motion is ahead or behind by its energy balance, if that is more than LATE tolerances.

    With the balance off by dE, of E turned over, speeds are off by dE/(2 E), which adds up along the way. That is said
    of motions left to themselves: where energy is lost, errors are forgotten; where all is driven, there are none.
    """
    info, (drift, worst, kinetic, turned_over, largest) = motion.info, balance
    allowed = min(LATE * max(info.rtol or 0.0, info.atol or 0.0), LOOSEST)
    if info.dof == 0 or not worst > ACCUMULATED * largest:
        return None
    most = (worst - ACCUMULATED * largest) / (2.0 * turned_over)
    longest = np.abs(motion.v).max(initial=0.0) / min(length, 1.0) * motion.t[-1]
    if not longest * most > allowed:  # no way is longer
        return None
    if np.ptp(motion.energy["dissipated"] - motion.energy["supplied"]) > ITS_OWN * kinetic:
        return None
    rates = (
        speeds(motion, length).max(axis=1)
        * np.maximum(np.abs(drift) - ACCUMULATED * largest, 0.0)
        / (2.0 * turned_over)
    )
    lag = np.append(0.0, np.cumsum(0.5 * (rates[1:] + rates[:-1]) * np.diff(motion.t)))
    if not lag[-1] > allowed:
        return None
    return {"allowed": allowed, "since": float(motion.t[int(np.argmax(lag > allowed))]), "lag": float(lag[-1])}


def is_closed(start: Place, rate: float, position: float, velocity: float) -> bool:
    """Whether gaps and their rates are rounding, as projection leaves them; of joints that events open nothing is."""
    return max(position, velocity / rate) <= AGREEMENT * min(start.length, 1.0) or bool(start.equations.events)


def find_gap(motion: Trajectory, start: Place, rate: float) -> tuple[Data, bool]:
    """Find the largest gap of positions or velocities, if tolerances do not explain it; and whether beyond LIMIT.

    |Psi| is measured by the scales of its rows, |Psi_dot| by these and by the largest velocity.
    """
    info, e = motion.info, start.equations
    gaps = motion.error_position, motion.error_velocity
    if is_closed(start, rate, info.constraint_error_position, info.constraint_error_velocity):
        return None, False
    q, v = (motion.tables[kind].values for kind in e.chart.state[:2])
    fastest = float((np.abs(v) / start.v_scale).max(initial=0.0)) or 1.0
    explained = min(ALLOWED * (FIRST + info.steps) * max(info.rtol or 0.0, info.atol or 0.0), LOOSEST_GAP)
    for what, k in zip(("|Psi|", "|Psi_dot|"), (int(np.argmax(np.nan_to_num(gap))) for gap in gaps), strict=True):
        place = replace(start, t=float(motion.t[k]), q=q[k], v=v[k])
        size = (
            place.gap
            if what == "|Psi|"
            else float((np.abs(place.Psi_dot) / place.row_scale).max(initial=0.0)) / fastest
        )
        if size > explained:
            return {"what": what, "size": size, "t": place.t, "explained": explained}, size > LIMIT
    return None, False


def judge(motion: Trajectory, start: Place, length: float, rate: float, has_fixed_steps: bool) -> Trajectory:
    """Judge a finished motion by its errors; it is doubtful if they are too large to use it.

    Its velocities were measured by this length and rate. The length of fixed steps is the user's, damping by the method
    included.
    """
    balance = find_balance(motion.tables["energy"].values)
    imbalance, is_wrong = find_imbalance(motion, length, rate, balance)
    residual, (gap, is_wide) = motion.info.constraint_error_acceleration, find_gap(motion, start, rate)
    reason, reactions = None, motion.tables["reactions"]
    if not np.isfinite(reactions.values).all():  # of a force that the motion does not feel
        k, column = np.argwhere(~np.isfinite(reactions.values))[0].tolist()
        reason = Reason("no-reaction", t=float(motion.t[k]), reaction=reactions.columns.labels[column])
    elif residual > LIMIT and not motion.info.singular_positions:  # of which gaps are a consequence
        reason = Reason("acceleration-residual", size=residual, limit=LIMIT)
    elif gap and is_wide and not has_fixed_steps:  # of which energies that do not balance are a consequence
        reason = Reason("constraint-gap", **gap)
    elif is_wrong and not has_fixed_steps:
        reason = Reason("energy-balance", **(imbalance or {}))
    if reason is not None:
        return replace(motion, info=replace(motion.info, status="doubtful", reason=reason))
    lag = None if has_fixed_steps or imbalance is not None else find_lag(motion, length, balance)
    found = ("energy-balance", imbalance), ("constraint-gap", gap), ("lag", lag)
    if notes := [Note(code, **data) for code, data in found if data is not None]:
        return replace(motion, info=replace(motion.info, notes=(*motion.info.notes, *notes)))
    return motion


def refuse_doubtful(motion: Trajectory) -> Trajectory:
    """Return the motion, evaluated; NumericalStop if it is not to be used."""
    try:
        info = motion.info
    except KeyboardInterrupt:  # the motion itself is there, and is evaluated when something of it is asked for
        raise Interrupted("interrupted while results were evaluated", trajectory=motion) from None
    if info.status == "doubtful":
        raise NumericalStop(info.reason, info.reason.code, trajectory=motion)
    return motion
