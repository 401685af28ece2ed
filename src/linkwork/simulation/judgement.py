"""What a finished run says about itself: whether its energy balance is as good as its tolerances explain.

The balance kinetic + potential + dissipated - supplied is constant on an exact motion, whatever the mechanism, and no
part of the error control, so it is a witness of its own.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.elements.kinds import UNITS
from linkwork.equations.place import Place
from linkwork.errors import NumericalStop
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]

ALLOWED = 100.0  # tolerances of every step, added up: more is not explained
FIRST = 10  # steps more, for runs of a few
ROUNDING = 1e-11  # of the largest energy there is, with any zero of the potential
LOOSEST = 0.05  # of the energy turned over: no tolerances explain more
LOOSEST_GAP = 1e-3  # of the mechanism, or of its speed: no tolerances explain more
SEEN = 1e-9  # of the same: what is less is not measured by them
SPEED = f"{UNITS['length']}/s"
LIMIT = 0.01  # of the energy turned over: beyond this the motion is not to be used
LATE = 1e4  # tolerances: a lag that is told
ITS_OWN = 0.5  # of the most kinetic energy: with more that comes or goes, a motion is not left to itself


class Balance(NamedTuple):
    """By how much energies do not balance, the most of that, and what they are measured by."""

    drift: Array
    worst: float
    kinetic: float  # the most there is
    turned_over: float
    largest: float  # of all energies


def find_balance(motion: Trajectory) -> Balance:
    drift, energy = motion.drift(), motion.tables["energy"]
    forms, worst = energy.values.T, float(np.abs(drift).max(initial=0.0))
    if not forms.size:
        return Balance(drift, math.nan, 0.0, 0.0, 0.0)
    first, most, least = forms[:, 0].tolist(), forms.max(axis=1).tolist(), forms.min(axis=1).tolist()
    kinetic = most[energy.columns.labels.index("kinetic")]
    turned_over = max(kinetic, *(max(a - b, b - c) for a, b, c in zip(most, first, least, strict=True)))
    return Balance(drift, worst, kinetic, turned_over, max(*most, -min(least)))


def speeds(motion: Trajectory, start: Place) -> Array:
    """Of all velocities at all report times, in rad or lengths of the mechanism in a second."""
    is_length = [unit == SPEED for unit in motion.tables["v"].columns.units]
    return np.asarray(np.abs(motion.v) / np.where(is_length, start.error_length, 1.0))


def find_imbalance(motion: Trajectory, start: Place, balance: Balance) -> tuple[str, bool]:
    """What the energy balance contradicts, "" if nothing; and whether that is beyond LIMIT."""
    info, (drift, worst, _, turned_over, largest) = motion.info, balance
    if not math.isfinite(worst) and np.isinf(motion.tables["energy"].values).any():
        return "an energy is beyond all numbers, so that its balance, and with it the motion, cannot be checked", True
    if not math.isfinite(worst) or info.rtol is None or info.atol is None:
        return "", False
    times = ALLOWED * (FIRST + info.steps)
    tolerance = min(times * info.rtol, LOOSEST)
    if worst <= tolerance * turned_over + ROUNDING * largest:
        return "", False
    fastest = float(speeds(motion, start).max(initial=0.0))
    if fastest == 0.0:
        return "", False
    share = info.atol / fastest
    tolerance += min(times * share, max(LOOSEST, ALLOWED * share))
    explained = tolerance * turned_over + ROUNDING * largest
    if worst <= explained:
        return "", False
    jump = int(np.argmax(np.abs(np.diff(drift)))) + 1
    said = (
        f"the energy balance is off by {worst:.3g} J of {turned_over:.3g} J turned over, the tolerances explain "
        f"{explained:.2g} J; the largest jump is at t = {motion.t[jump]:.6g}"
    )
    is_wrong = worst > max(LIMIT, tolerance) * turned_over
    advice = f"; beyond {LIMIT:.0%} the motion is not to be trusted and a smaller rtol or max_step may help"
    return said + advice * is_wrong, is_wrong


def find_lag(motion: Trajectory, start: Place, balance: Balance) -> str:
    """How far a long motion is ahead or behind by its energy balance, "" if that is below LATE tolerances.

    With the balance off by dE, of E turned over, speeds are off by dE/(2 E), which adds up along the way. That is said
    of motions left to themselves: where energy is lost, errors are forgotten; where all is driven, there are none.
    """
    info, (drift, worst, kinetic, turned_over, largest) = motion.info, balance
    allowed = min(LATE * max(info.rtol or 0.0, info.atol or 0.0), LOOSEST)
    if info.dof == 0 or not worst > ROUNDING * largest:
        return ""
    fast, most = speeds(motion, start), (worst - ROUNDING * largest) / (2.0 * turned_over)
    if not fast.max(initial=0.0) * most * motion.t[-1] > allowed:  # no way is longer
        return ""
    if np.ptp(motion.energy["dissipated"] - motion.energy["supplied"]) > ITS_OWN * kinetic:
        return ""
    rates = fast.max(axis=1) * np.maximum(np.abs(drift) - ROUNDING * largest, 0.0) / (2.0 * turned_over)
    lag = np.append(0.0, np.cumsum(0.5 * (rates[1:] + rates[:-1]) * np.diff(motion.t)))
    if not lag[-1] > allowed:
        return ""
    since = motion.t[int(np.argmax(lag > allowed))]
    return (
        f"by its energy balance the motion may be ahead or behind by {allowed:.2g} rad, or lengths of the mechanism, "
        f"from t = {since:.3g} on, and by {lag[-1]:.2g} in the end; a smaller rtol keeps its pace"
    )


def find_gap(motion: Trajectory, start: Place) -> tuple[str, bool]:
    """What the largest gap of positions or velocities contradicts, "" if nothing; and whether that is beyond LIMIT.

    |Psi| is measured by the scales of its rows, |Psi_dot| by these and by the largest velocity. Projection leaves
    rounding, which is not looked at; of joints that events open and close, nothing is.
    """
    info, e = motion.info, start.equations
    gaps = motion.error_position, motion.error_velocity
    if max(info.constraint_error_position, info.constraint_error_velocity) <= SEEN * min(start.length, 1.0) or e.events:
        return "", False
    q, v = (motion.tables[kind].values for kind in e.state[:2])
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
            said = (
                f"{what} grows to {size:.2g} at t = {place.t:.6g}, measured by the mechanism; the tolerances explain "
            )
            advice = f"{explained:.2g}; a smaller rtol, or projection, keeps the constraints"
            return said + advice, size > LIMIT
    return "", False


def judge(motion: Trajectory, start: Place, has_fixed_steps: bool) -> Trajectory:
    """A finished motion with what is to be said about its errors; NumericalStop if they are too large to use it.

    The length of fixed steps is the user's, damping by the method included.
    """
    balance = find_balance(motion)
    said, is_wrong = find_imbalance(motion, start, balance)
    if is_wrong and not has_fixed_steps:
        raise NumericalStop(said, "energy-balance", trajectory=_mark(motion, "doubtful", reason=said))
    error = motion.info.constraint_error_acceleration
    if error > LIMIT and not motion.info.singular_positions:
        message = (
            f"accelerations contradict the constraints by {error:.2g} of the largest of them; beyond {LIMIT:.0%} the "
            "motion is not to be trusted; another formulation, or masses and lengths closer to each other, may help"
        )
        raise NumericalStop(message, "acceleration-residual", trajectory=_mark(motion, "doubtful", reason=message))
    gap, is_wide = find_gap(motion, start)
    if is_wide and not has_fixed_steps:
        raise NumericalStop(gap, "constraint-gap", trajectory=_mark(motion, "doubtful", reason=gap))
    lag = "" if has_fixed_steps or said else find_lag(motion, start, balance)
    told = (said, "energy-balance"), (gap, "constraint-gap"), (lag, "lag")
    notes = [f"{text} [{code}]" for text, code in told if text]
    return _mark(motion, "finished", *notes) if notes else motion


def _mark(motion: Trajectory, status: str, *notes: str, reason: str = "") -> Trajectory:
    info = replace(motion.info, status=status, reason=reason, notes=(*motion.info.notes, *notes))
    return replace(motion, info=info)
