"""Joints in space that wind up, bend and fold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from published import REFERENCE
from scipy.integrate import solve_ivp

from linkwork import SpatialModel, batch, kinematics, load, loads, simulate
from linkwork.trajectory import Trajectory

MODELS = REFERENCE / "trust"


SPATIAL = ("body", "joint", "minimal", "euler")


def notes(motion: Trajectory) -> list[str]:
    return list(motion.summary()["notes"])


@pytest.mark.parametrize("coordinates", SPATIAL)
@pytest.mark.sampled
def test_an_end_stop_in_space_holds_beyond_half_a_turn(coordinates: str) -> None:
    """At 1 rad/s the stop at 4.5 rad is met at 4.5 s; half a period of sqrt(J/k) later the body turns back as fast."""
    motion = simulate(load(MODELS / "end_stop_space.json"), coordinates=coordinates)
    angle = 4.5 - (motion.t[-1] - 4.5 - math.pi * math.sqrt(0.5 / 1e4))
    assert motion["c.wz"][-1] == pytest.approx(-1.0, abs=1e-6)
    assert motion["c.P.x"][-1] == pytest.approx(math.cos(angle), abs=1e-6)
    assert motion["c.P.y"][-1] == pytest.approx(math.sin(angle), abs=1e-6)


@pytest.mark.parametrize("coordinates", SPATIAL)
@pytest.mark.sampled
def test_a_torsion_spring_in_space_winds_up_beyond_half_a_turn(coordinates: str) -> None:
    """theta = 5 sin(t), and its rate."""
    motion = simulate(load(MODELS / "torsion.yaml"), coordinates=coordinates)
    np.testing.assert_allclose(motion["b.wz"], 5.0 * np.cos(motion.t), rtol=0, atol=1e-6)
    np.testing.assert_allclose(np.abs(motion["b.e0"]), np.abs(np.cos(2.5 * np.sin(motion.t))), rtol=0, atol=1e-6)


@pytest.mark.parametrize("a", [0.0, 0.5, 2.0])
def test_a_torsion_spring_at_its_default_free_angle_rests(a: float) -> None:
    """However the axes of the body are turned, angle 0 is the start position."""
    motion = simulate(load(MODELS / "zero.yaml", {"a": a}))
    for axis in "xyz":
        np.testing.assert_allclose(motion[f"b.w{axis}"], 0.0, atol=1e-12)


def test_a_constant_velocity_joint_that_folds_gets_a_note() -> None:
    assert any("T4" in note for note in notes(simulate(load(MODELS / "cv_fold.yaml"))))


def tumbling(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """The angular velocity of a free body with moments 1, 2, 3: J w' = -w x J w."""
    J = np.array([1.0, 2.0, 3.0])
    found = solve_ivp(
        lambda t, w: -np.cross(w, J * w) / J,
        (0.0, times[-1]),
        [0.3, 5.0, 0.2],
        "DOP853",
        t_eval=times,
        rtol=1e-12,
        atol=1e-12,
    )
    return np.asarray(found.y)


@pytest.mark.slow
def test_a_tumbling_body_is_as_accurate_in_euler_parameters_or_gets_a_note() -> None:
    """Against Euler's equations; in `body` coordinates the same settings are the measure."""
    model, errors = load(MODELS / "euler_tumble.json"), dict[str, float]()
    motions = {name: simulate(model, coordinates=name) for name in ("body", "euler")}
    for name, motion in motions.items():
        w = np.array([motion[f"n.w{axis}"] for axis in "xyz"])
        errors[name] = float(np.max(np.abs(w - tumbling(motion.t))))
    assert errors["euler"] <= 10.0 * errors["body"] or len(notes(motions["euler"])) > len(notes(motions["body"]))


PUSHED = """
linkwork: 1
space: spatial
gravity: [0, 0, 0]
ground: {points: {O: [0, 0, 0]}}
bodies: {b: {mass: 1, inertia: [1, 1, 0.5], points: {O: [0, 0, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: b.O, axis: [0, 0, 1]}}
forces: {s: {type: torque, on: b, torque: [0, 0, "80*cos(6*t)"]}}
simulation: {t_end: 2.2}
"""


@pytest.mark.parametrize("step", [0.01, 0.5, 2.2])
@pytest.mark.parametrize("coordinates", SPATIAL)
def test_turns_do_not_depend_on_report_times(coordinates: str, step: float) -> None:
    """theta = 160/36 (1 - cos 6t), with no force on the joint that would name its angle: more than a turn, and back."""
    motion = simulate(loads(PUSHED), coordinates=coordinates, step=step)
    np.testing.assert_allclose(motion["joint:O.angle"], 160.0 / 36.0 * (1.0 - np.cos(6.0 * motion.t)), atol=1e-6)


def test_turns_of_a_batch_and_of_a_driven_joint_do_not_depend_on_report_times() -> None:
    found = batch(loads(PUSHED), {}, "final(joint:O.angle)", start={"b.wz": [0.0, 10.0]}, step=2.2)
    expected = 160.0 / 36.0 * (1.0 - math.cos(6.0 * 2.2)) + np.array([0.0, 22.0])
    np.testing.assert_allclose(found["final(joint:O.angle)"], expected, atol=1e-6)
    driven = PUSHED.replace("simulation:", "drivers: {m: {joint: O, motion: '9*sin(2*t)'}}\nsimulation:")
    motion = kinematics(loads(driven), step=1.1)
    np.testing.assert_allclose(motion["joint:O.angle"], 9.0 * np.sin(2.0 * motion.t), atol=1e-9)


def test_an_angle_varies_with_the_direction_from_which_it_is_measured() -> None:
    """theta = 2 t - b, in the coordinates and among the joints, back and beyond half a turn."""
    m = SpatialModel("wheel", b=0.3)
    m.gravity = (0, 0, 0)
    m.fix(O=(0, 0, 0))
    wheel = m.body("wheel", mass=1, inertia=(1, 2, 3), angular_velocity=(0, 0, 2), points={"O": (0, 0, 0)})
    m.revolute("O", m.ground, wheel, axis=(0, 0, 1), zero=("cos(b)", "sin(b)", 0), zero_j=(1, 0, 0))
    motion = m.sensitivities(["b"], t_end=3.0, step=1.5)
    for name in ("O.angle", "joint:O.angle"):
        np.testing.assert_allclose(motion[name], 2.0 * motion.t - 0.3, rtol=0, atol=1e-7)
        np.testing.assert_allclose(motion.gradient(name, "b"), -1.0, rtol=0, atol=1e-9)
