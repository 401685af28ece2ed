"""A driven parallelogram, wheels on one rod, and where two circles meet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp


def meet(p: Any, r: Any, q: Any, s: Any, side: int) -> Any:
    """The point at distance r from p and s from q, to the left (+1) or right (-1) of the way from p to q."""
    d = q - p
    k = (r * r - s * s + np.abs(d) ** 2) / (2 * np.abs(d) ** 2)
    return p + d * (k + 1j * side * np.sqrt(r * r / np.abs(d) ** 2 - k * k))


def one_wheel(angle: float, speed: float, times: NDArray[np.float64]) -> NDArray[np.float64]:
    """The angle of the wheels of loco.yaml, as that of one wheel with all inertia."""
    inertia, tau = 3.0 + 5.0 * 0.3**2, 20.0
    r = solve_ivp(
        lambda t, y: [y[1], (tau - 2.0 * y[1] - 5.0 * 9.81 * 0.3 * np.cos(y[0])) / inertia],
        (0.0, times[-1]),
        [angle, speed],
        rtol=1e-12,
        atol=1e-12,
        t_eval=times,
    )
    return np.asarray(r.y[0])


PARALLELOGRAM = """
linkwork: 1
name: parallelogram
parameters: {a: 1, b: 2, c: 1, d: 2, s: 60 deg, ex: d - a*cos(s), ey: -a*sin(s), e2: ex^2 + ey^2,
  coupler: "atan2(ey, ex) + acos((e2 + b^2 - c^2)/(2*b*sqrt(e2)))",
  rocker: "atan2(a*sin(s) + b*sin(coupler), a*cos(s) + b*cos(coupler) - d)"}
ground: {points: {O: [0, 0], C: [d, 0], E: [d/2, 0]}}
bodies:
  crank: {mass: 1, inertia: 0.1, position: [a/2*cos(s), a/2*sin(s)], angle: s, points: {O: [-a/2, 0], A: [a/2, 0]}}
  coupler: {mass: 1, inertia: 0.4, position: [a*cos(s) + b/2*cos(coupler), a*sin(s) + b/2*sin(coupler)], angle: coupler,
            points: {A: [-b/2, 0], B: [b/2, 0], M: [0, 0]}}
  rocker: {mass: 1, inertia: 0.1, position: [d + c/2*cos(rocker), c/2*sin(rocker)], angle: rocker,
           points: {C: [-c/2, 0], B: [c/2, 0]}}
  # middle
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: coupler.A}
  B: {type: revolute, i: coupler.B, j: rocker.B}
  C: {type: revolute, i: ground.C, j: rocker.C}
  # joints of the middle
drivers:
  motor: {joint: O, motion: s + t}
simulation: {t_end: 2*pi, step: pi/90}
"""
