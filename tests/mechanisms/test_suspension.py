"""The double wishbone suspension against its closed form by circles and spheres."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import linkwork

Array = NDArray[np.float64]


def frame(a: Array, b: Array, c: Array) -> Array:
    """Axes through three points: along a-b, and across their plane."""
    x = (b - a) / np.linalg.norm(b - a)
    z = np.cross(x, c - a)
    z /= np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z])


def closed_form(P: dict[str, Array], angle: float) -> tuple[Array, Array]:
    """Wheel centre and rotation of the knuckle when the lower arm is turned by an angle about its axis.

    The upper ball is on a circle about the upper axis and keeps its distance from the lower ball; the end of the tie
    rod keeps its distances from both balls and from the point T of the body of the car.
    """
    axis = P["LF"] - P["LR"]
    turn = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis))
    lower = P["LR"] + turn.apply(P["LB"] - P["LR"])
    u = (P["UF"] - P["UR"]) / np.linalg.norm(P["UF"] - P["UR"])
    centre = P["UR"] + u * (u @ (P["UB"] - P["UR"]))
    e1 = P["UB"] - centre
    r = float(np.linalg.norm(e1))
    e1, e2 = e1 / r, np.cross(u, e1 / r)
    w, height = centre - lower, np.linalg.norm(P["UB"] - P["LB"])
    a, b, c = 2.0 * r * (w @ e1), 2.0 * r * (w @ e2), height**2 - w @ w - r * r  # a cos beta + b sin beta = c
    betas = np.arctan2(b, a) + np.array([1.0, -1.0]) * np.arccos(c / np.hypot(a, b))
    beta = min((betas + np.pi) % (2.0 * np.pi) - np.pi, key=abs)
    upper = centre + r * (np.cos(beta) * e1 + np.sin(beta) * e2)
    d1, d2, d3 = (np.linalg.norm(P["T"] - P[k]) for k in ("LB", "UB", "T0"))
    ex = (upper - lower) / height
    i = ex @ (P["T0"] - lower)
    ey = P["T0"] - lower - i * ex
    j = float(np.linalg.norm(ey))
    ey /= j
    x = (d1**2 - d2**2 + height**2) / (2.0 * height)
    y = (d1**2 - d3**2 + i * i + j * j) / (2.0 * j) - i / j * x
    z = np.sqrt(d1**2 - x * x - y * y)
    ends = [lower + x * ex + y * ey + side * z * np.cross(ex, ey) for side in (1.0, -1.0)]
    end = min(ends, key=lambda p: float(np.linalg.norm(p - P["T"])))
    A = frame(lower, upper, end) @ frame(P["LB"], P["UB"], P["T"]).T
    return lower + A @ (P["W"] - P["LB"]), A


def test_the_wheel_moves_as_circles_and_spheres_say() -> None:
    """Wheel centre and all nine direction cosines of the knuckle over one period."""
    model = linkwork.load("double_wishbone_3d")
    P = {
        name: np.array(s, float)
        for body in (*model.bodies, model.ground)
        for name, s in body.points.items()
        if name != "S"
    }
    P["T"], P["T0"] = (np.array(body.points["T"], float) for body in (model.bodies[2], model.ground))
    motion = linkwork.kinematics(model, step=0.05)
    for row, t in enumerate(motion.t):
        wheel, A = closed_form(P, 0.2 * np.sin(2.0 * np.pi * t))
        found = [motion[f"knuckle.W.{axis}"][row] for axis in "xyz"]
        np.testing.assert_allclose(found, wheel, rtol=0, atol=1e-13)
        e0, *e = (motion[f"knuckle.e{k}"][row] for k in range(4))
        np.testing.assert_allclose(Rotation.from_quat([*e, e0]).as_matrix(), A, rtol=0, atol=1e-12)


def test_the_work_of_the_driver_is_the_energy() -> None:
    motion = linkwork.kinematics(linkwork.load("double_wishbone_3d"), step=0.002)
    total = motion.energy["kinetic"] + motion.energy["potential"] + motion.energy["dissipated"]
    assert np.max(np.abs(motion.drift())) == pytest.approx(0.0, abs=1e-5 * np.ptp(total))
