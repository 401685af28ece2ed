"""The shipped mechanisms against published numbers, closed forms and independent equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from published import andrews_at_the_end, table
from scipy.integrate import solve_ivp
from scipy.special import ellipj
from slices import with_slow

from linkwork.mechanisms import describe
from linkwork.model import Model
from linkwork.modelfile import load, shipped
from linkwork.simulation.simulate import simulate
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]
G = 9.81


def run(model: Model, **settings: Any) -> Trajectory:
    return simulate(model, **settings)


DYNAMIC = [name for name in shipped() if (describe(name)["checked"] or {"analysis": "run"})["analysis"] == "run"]


LARGE = ("spatial_chain",)  # compiled for seconds; other chains are among the fast tests of test_spatial.py


@pytest.mark.parametrize("name", with_slow(DYNAMIC, {*DYNAMIC} - {*LARGE}))
def test_checked_number_of_every_mechanism(name: str) -> None:
    model = load(name)
    checked = model.about.checked
    motion = run(model, t_end=checked["t"], rtol=1e-11, atol=1e-11)
    assert abs(motion[checked["quantity"]][-1] - checked["value"]) <= checked["tolerance"]
    assert model.about.source


def test_slider_crank_follows_the_two_angle_equations() -> None:
    """Whole state over 20 s; the paper counts the rod's angle clockwise."""
    expected = table("slider_crank_two_angles.csv")
    motion = run(load("slider_crank"), t_end=20.0, step=0.05, rtol=1e-12, atol=1e-12)
    for quantity, column, sign in (("crank.phi", "th1", 1.0), ("rod.phi", "th2", -1.0)):
        k = motion.q_names.index(quantity)
        np.testing.assert_allclose(motion.q[:, k], sign * expected[column], atol=1e-9)
        np.testing.assert_allclose(motion.v[:, k], sign * expected[column + "d"], atol=1e-9)
    assert motion.info.constraint_error_position <= 1e-14
    assert motion.info.constraint_error_velocity <= 1e-13
    assert np.max(np.abs(motion.drift())) <= 1e-9
    assert motion.energy["kinetic"][0] + motion.energy["potential"][0] == pytest.approx(3.1875, abs=1e-12)


def test_constraints_drift_as_published_without_stabilization() -> None:
    """The paper reports 4e-6 at t = 20; projection removes the drift, Baumgarte holds it down."""
    model = load("slider_crank")
    free = run(model, t_end=20.0, rtol=1e-6, atol=1e-6, stabilization="none")
    held = run(model, t_end=20.0, rtol=1e-6, atol=1e-6, stabilization="baumgarte")
    assert 1e-7 < free.error_position[-1] < 1e-4
    assert held.error_position[-1] < 0.1 * free.error_position[-1]


def test_crank_rotates_monotonically_at_twice_the_speed() -> None:
    motion = run(load("slider_crank", {"omega": 2.0}), t_end=20.0)
    assert np.all(motion.v[:, motion.v_names.index("crank.phi")] > 0.0)


def test_simple_pendulum_follows_the_elliptic_functions() -> None:
    """sin(phi/2) = k cd(w t, k) with k^2 = 1/2, and the rod's force follows from the energy."""
    motion = run(load("simple_pendulum"), rtol=1e-12, atol=1e-12)
    _, cn, dn, _ = ellipj(np.sqrt(G) * motion.t, 0.5)
    half = np.sqrt(0.5) * cn / dn
    x, y = -2.0 * half * np.sqrt(1.0 - half**2), 2.0 * half**2 - 1.0
    np.testing.assert_allclose(motion.q[:, 0], x, atol=1e-10)
    np.testing.assert_allclose(motion.q[:, 1], y, atol=1e-10)
    speed_squared = -2.0 * G * y
    np.testing.assert_allclose(motion.columns("reactions")["rod.tension"], speed_squared - G * y, atol=1e-8)
    np.testing.assert_allclose(motion.q[::1, 0], table("A01_pendulum.csv")["x"], atol=1e-10)


def test_andrews_squeezer_reaches_the_state_of_the_test_set() -> None:
    """Seven angles to 1e-8 relative, their rates and accelerations at t = 0.03."""
    expected = andrews_at_the_end()
    motion = run(load("andrews_squeezer"), t_end=0.03, rtol=1e-12, atol=1e-12)
    for values, suffix, tolerance in ((motion.q, "", 1e-8), (motion.v, "_dot", 1e-7), (motion.a, "_ddot", 1e-6)):
        phi = {name: values[-1, motion.q_names.index(f"K{k}.phi")] for k, name in enumerate("1234567", start=1)}
        angles = {
            "beta": phi["1"],
            "theta": phi["2"] - phi["1"],
            "gamma": phi["3"],
            "phi": phi["4"] - phi["5"],
            "delta": phi["5"],
            "Omega": phi["6"] - phi["7"],
            "epsilon": phi["7"],
        }
        for name, value in angles.items():
            assert value == pytest.approx(expected[name + suffix], rel=tolerance), name + suffix


def test_andrews_squeezer_follows_the_library_of_benchmarks() -> None:
    """Problem A03 starts at beta = -0.062; angles over 0.05 s, and the torque's work is the energy."""
    expected = table("A03_squeezer.csv")
    names = ("beta", "theta", "gamma", "phi", "delta", "Omega", "epsilon")
    model = load("andrews_squeezer", {name: float(expected[name][0]) for name in names})
    motion = run(model, t_end=0.05, step=0.00025, rtol=1e-11, atol=1e-11)
    for name, quantity in (("beta", "K1.phi"), ("gamma", "K3.phi"), ("delta", "K5.phi"), ("epsilon", "K7.phi")):
        np.testing.assert_allclose(motion[quantity], expected[name], atol=2e-7)
    beta = motion["K1.phi"]
    np.testing.assert_allclose(motion.energy["supplied"], 0.033 * (beta - beta[0]), atol=1e-9)
    assert np.max(np.abs(motion.drift())) <= 1e-8


def test_n_four_bar_passes_its_singular_positions_on_its_branch() -> None:
    """Ten turns through ten positions where the constraints lose rank, with default settings."""
    expected = table("A02_N2.csv")
    motion = run(load("n_four_bar"))
    for k in range(3):
        np.testing.assert_allclose(np.pi / 2 - motion[f"upright{k}.phi"], expected["theta"], atol=1e-4)
    assert np.max(np.abs(motion.drift())) <= 1e-6


@pytest.mark.slow
def test_forty_four_bars_pass_their_singular_positions() -> None:
    """A02 with N = 40 against its one-freedom reduction."""
    N = 40
    motion = run(load(f"n_four_bar:{N}"))
    inertia, moment = (N + 1) / 3 + N, (N + 1) / 2 + N
    y = solve_ivp(
        lambda t, y: [y[1], moment * G * np.sin(y[0]) / inertia],
        (0.0, 10.0),
        [0.0, 1.0],
        method="DOP853",
        rtol=1e-12,
        atol=1e-12,
        t_eval=motion.t,
    ).y
    np.testing.assert_allclose(np.pi / 2 - motion["upright0.phi"], y[0], atol=1e-3)


def chain_angles(m: Array, J: Array, L: Array, t: Array) -> Array:
    """Angles and rates of hanging rods by Lagrange's equations in the absolute angles, from rest at zero."""
    N = len(m)
    beyond = np.array([m[k + 1 :].sum() for k in range(N)])

    def rates(_t: float, y: Array) -> Array:
        phi, omega = y[:N], y[N:]
        M, h = np.zeros((N, N)), np.zeros(N)
        for i in range(N):
            for j in range(N):
                k = max(i, j)
                moment = L[i] * L[j] * (beyond[k] + (m[k] / 4 if i == j else m[k] / 2)) + (J[i] if i == j else 0.0)
                M[i, j] = moment * np.cos(phi[i] - phi[j])
                h[i] -= moment * np.sin(phi[i] - phi[j]) * omega[j] ** 2
            h[i] -= G * L[i] * np.cos(phi[i]) * (m[i] / 2 + beyond[i])
        return np.concatenate([omega, np.linalg.solve(M, h)])

    found: NDArray[np.float64] = solve_ivp(
        rates, (0.0, t[-1]), np.zeros(2 * N), method="DOP853", rtol=1e-12, atol=1e-12, t_eval=t
    ).y.T  # fmt: skip
    return found


@pytest.mark.parametrize("name", ["double_pendulum", "planar_chain"])
def test_chains_follow_the_equations_in_the_angles(name: str) -> None:
    model = load(name)
    p = model.parameters
    if name == "double_pendulum":
        m, L = np.array([p["m1"], p["m2"]]), np.array([p["L1"], p["L2"]])
    else:
        m, L = np.full(8, p["m"]), np.full(8, p["L"])
    motion = run(model, t_end=1.0, step=0.1, rtol=1e-11, atol=1e-11)
    expected = chain_angles(m, m * L**2 / 12, L, motion.t)
    turning = [k for k, q in enumerate(motion.q_names) if q.endswith(".phi")]
    np.testing.assert_allclose(motion.q[:, turning], expected[:, : len(m)], atol=1e-7)
    np.testing.assert_allclose(motion.v[:, turning], expected[:, len(m) :], atol=1e-6)


def test_driven_slider_crank_follows_the_loop_and_its_motor_supplies_the_power() -> None:
    """x = l1 cos(theta) + sqrt(l2^2 - l1^2 sin(theta)^2); torque times speed is the rate of energy plus the load's."""
    motion = run(load("slider_crank_driven"), t_end=1.0, step=0.001, rtol=1e-11, atol=1e-11)
    theta = 10.0 * motion.t
    np.testing.assert_allclose(motion["slider.x"], np.cos(theta) + np.sqrt(4.0 - np.sin(theta) ** 2), atol=1e-10)
    v = motion.v[:, motion.v_names.index("slider.x")]
    energy = motion.energy["kinetic"] + motion.energy["potential"]
    rate = (-energy[4:] + 8 * energy[3:-1] - 8 * energy[1:-3] + energy[:-4]) / 0.012
    power = 10.0 * motion.columns("driving")["motor"][2:-2] - 20.0 * v[2:-2] ** 2
    np.testing.assert_allclose(power, rate, atol=1e-4 * np.max(np.abs(rate)))
    assert np.max(np.abs(motion.drift())) <= 1e-6
