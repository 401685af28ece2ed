"""What designers of linkages read off a motion: coupler curves, input and output, transmission angle, dead centres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import UsageError
from linkwork.tolerances import AGREEMENT, NEGLIGIBLE, TYPED
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]


def coupler_curve(motion: Trajectory, point: str) -> Array:
    """Return the path of a named point ("coupler.P"): rows (x, y), one for every report time."""
    return np.column_stack([motion[f"{point}.x"], motion[f"{point}.y"]])


def rates_of(motion: Trajectory, name: str) -> tuple[str, str]:
    """Return the names of speed and acceleration of a coordinate: slider.vx and slider.ax for slider.x."""
    rates = motion.rates_of(name)
    if len(rates) != 2:
        raise UsageError(
            f"'{name}' is not a coordinate of a body or point, such as rod.phi or rod.B.x", "not-a-coordinate"
        )
    return rates[0], rates[1]


def input_output(motion: Trajectory, given: str, result: str) -> Array:
    """Return rows (input, output, ratio) of two coordinates.

    Ratio = d output/d input, not finite where the input rests.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = motion[rates_of(motion, result)[0]] / motion[rates_of(motion, given)[0]]
    return np.column_stack([motion[given], motion[result], ratio])


def transmission_angle(motion: Trajectory, line: tuple[str, str], other: tuple[str, str]) -> Array:
    """Return the angle between two lines, each through two named points, in [0, pi/2].

    In a four-bar these are the coupler and the output link at their joint: at pi/2 the coupler turns the output link
    best, at zero not at all.
    """
    first, second = (coupler_curve(motion, end) - coupler_curve(motion, start) for start, end in (line, other))
    cross = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    angle: Array = np.arctan2(np.abs(cross), np.abs(np.sum(first * second, axis=1)))
    return angle


@dataclass(frozen=True)
class DeadCentre:
    """A time at which an output rests and turns back, its value there, and its acceleration."""

    t: float
    value: float
    acceleration: float


def dead_centres(motion: Trajectory, output: str) -> list[DeadCentre]:
    """Find where a coordinate ("slider.x") turns back: its speed vanishes and its acceleration does not.

    Between report times the speed is the cubic through its values and derivatives, which are known at both ends; the
    error of the time is of fourth order in the report step.
    """
    t, x = motion.t, motion[output]
    v, a = (motion[name] for name in rates_of(motion, output))
    found = []
    for k in np.flatnonzero((v[1:] != 0.0) & (v[1:] * v[:-1] <= 0.0)):
        h = t[k + 1] - t[k]
        # v = v_0 + h a_0 s + c_2 s^2 + c_3 s^3
        gain = v[k + 1] - v[k] - h * a[k]
        bend = h * (a[k + 1] - a[k])
        cubic = np.polynomial.Polynomial([v[k], h * a[k], 3 * gain - bend, bend - 2 * gain])
        roots: NDArray[np.complex128] = np.asarray(cubic.roots(), dtype=complex)
        inside = (np.abs(roots.imag) < AGREEMENT) & (roots.real >= -NEGLIGIBLE) & (roots.real < 1.0)
        if inside.any():
            s = max(0.0, float(np.min(roots.real[inside])))
            place, turning = x[k] + h * cubic.integ()(s), float(cubic.deriv()(s) / h)
            if abs(turning) > TYPED * np.max(np.abs(a)):
                found.append(DeadCentre(float(t[k] + s * h), float(place), turning))
    return found


def readings(
    motion: Trajectory,
    coupler: Sequence[str] = (),
    table: tuple[str, str] | None = None,
    dead: Sequence[str] = (),
    transmission: tuple[str, str, str, str] | None = None,
) -> dict[str, Any]:
    """Collect what was asked for, for JSON: points with their paths, input and output, dead centres, two lines.

    The two lines of `transmission` are given by two points each.
    """
    found: dict[str, Any] = {}
    if coupler:
        found["coupler_curves"] = {point: coupler_curve(motion, point) for point in coupler}
    if table:
        found["table"] = {"input": table[0], "output": table[1], "rows": input_output(motion, *table)}
    if dead:
        found["dead_centres"] = {name: [asdict(centre) for centre in dead_centres(motion, name)] for name in dead}
    if transmission:
        lines = transmission[:2], transmission[2:]
        angle = transmission_angle(motion, *lines)
        found["transmission"] = {
            "lines": lines,
            "angle": angle,
            "smallest": {"t": motion.t[np.argmin(angle)], "angle": np.min(angle)},
            "largest": {"t": motion.t[np.argmax(angle)], "angle": np.max(angle)},
        }
    return {"t": motion.t, **found} if coupler or table or transmission else found
