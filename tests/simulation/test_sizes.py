"""Sizes, masses, inertias and times without effect, by every formulation."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from published import REFERENCE

from linkwork import load, simulate
from linkwork.formulations import usual_formulations
from linkwork.model import Model
from linkwork.modelfile import loads
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]


MODELS = REFERENCE / "trust"


SLIDER_CRANK = """
linkwork: 1
name: slider_crank
gravity: [0, -9.8]
parameters: {J: 1}
ground: {points: {O: [0, 0]}}
bodies:
  crank: {mass: 1, inertia: 4.5, position: [0.5, 0], velocity: [0, 0.5], angular_velocity: 1,
          points: {O: [-0.5, 0], A: [0.5, 0]}}
  rod: {mass: 1, inertia: 5.5, position: [2, 0], velocity: [0, 0.5], angular_velocity: -0.5,
        points: {A: [-1, 0], B: [1, 0]}}
  slider: {mass: 2, inertia: J, position: [3, 0], points: {B: [0, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: rod.A}
  B: {type: revolute, i: rod.B, j: slider.B}
  S: {type: prismatic, i: ground.O, j: slider.B, axis: [1, 0]}
simulation: {t_end: 1, step: 0.05, rtol: 1.0e-10, atol: 1.0e-10}
"""


@cache
def slider_crank(J: float, formulation: str) -> Trajectory:
    return simulate(loads(SLIDER_CRANK, changes={"J": J}), formulation=formulation)


@pytest.mark.diagonal
@pytest.mark.parametrize("formulation", usual_formulations())
@pytest.mark.parametrize("inertia", [1e-3, 1e-9, 1e-12, 1e-15])
def test_the_inertia_of_a_slider_that_cannot_turn_has_no_effect(formulation: str, inertia: float) -> None:
    """From 1 kg m^2 to 1e-15: the same motion to 1e-9, and crank.phi(1) of the two-angle equations."""
    usual, motion = (slider_crank(J, formulation) for J in (1.0, inertia))
    assert motion["crank.phi"][-1] == pytest.approx(0.2629316601282817, abs=1e-9)
    np.testing.assert_allclose(motion.q, usual.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion["reaction:A.x"], usual["reaction:A.x"], rtol=0, atol=1e-7)


@cache
def scaled_model(file: str, size: float, mass: float) -> Model:
    return load(MODELS / file, {"S": size, "Mu": mass})


def scaled_motion(file: str, size: float, mass: float, **how: Any) -> tuple[Array, Array]:
    """Positions and reactions of a mechanism so much longer and heavier, as those of the original.

    Under gravity time goes with the root of the size, forces with mass, torques with size times mass.
    """
    t_end = 0.6 * math.sqrt(size)
    motion = simulate(
        scaled_model(file, size, mass),
        t_end=t_end,
        step=t_end / 20,
        rtol=1e-9,
        atol=1e-9,
        **how,
    )
    q = np.array([motion[name] / (1 if name.endswith("phi") else size) for name in motion.q_names])
    named = [name for name in motion if name.startswith("reaction:")]
    return q, np.array([motion[name] / (mass * (size if name.endswith("torque") else 1)) for name in named])


def assert_no_effect_of_scales(file: str, scales: Sequence[tuple[float, float]], **how: Any) -> None:
    q, reactions = scaled_motion(file, 1.0, 1.0, **how)
    for size, mass in scales:
        other_q, other_reactions = scaled_motion(file, size, mass, **how)
        np.testing.assert_allclose(other_q, q, rtol=0, atol=1e-8)
        np.testing.assert_allclose(other_reactions, reactions, rtol=0, atol=1e-6 * np.max(abs(reactions)))


@pytest.mark.diagonal
@pytest.mark.parametrize(
    "scales",
    [
        pytest.param([(1e-6, 1.0), (1e-5, 1e12), (1e6, 1e-12)], id="extreme"),
        pytest.param([(1e-4, 1.0), (2e4, 1.0), (1.0, 1e-12), (1.0, 1e12)], id="between", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("formulation", usual_formulations())
@pytest.mark.parametrize("file", ["toggle.yaml", "wedge.yaml"])
def test_motion_does_not_depend_on_size_or_mass(file: str, formulation: str, scales: list[tuple[float, float]]) -> None:
    """Lengths from 1e-6 to 1e6, masses from 1e-12 to 1e12: positions to 1e-8, reactions to 1e-6 of the largest."""
    assert_no_effect_of_scales(file, scales, formulation=formulation)


@pytest.mark.diagonal
@pytest.mark.parametrize("formulation", usual_formulations())
@pytest.mark.parametrize("mass", [1e-6, 1e-9, 1e-12])
def test_a_light_coupler_moves_as_a_massless_one(formulation: str, mass: float) -> None:
    """crank.phi(4) = 51.2928836693 for a coupler whose mass goes to zero, by SciPy on the minimal equations."""
    motion = simulate(load(MODELS / "light.yaml", {"ml": mass}), formulation=formulation)
    assert motion["crank.phi"][-1] == pytest.approx(51.2928836693, abs=mass + 2e-7)


SPRUNG = """
linkwork: 1
name: a cart on a spring beside a plumb
parameters: {S: 1.0}
gravity: [0, -9.81]
ground: {points: {O: [0, 0], W: [-2*S, 0]}}
bodies:
  cart: {mass: 1, inertia: S^2, position: [0.1*S, 0], points: {C: [0, 0]}}
  plumb: {mass: 0.3, inertia: 0.01*S^2, position: [0, -0.5*S], points: {P: [0, 0.5*S]}}
joints:
  rail: {type: prismatic, i: ground.O, j: cart.C, axis: [1, 0]}
  pin: {type: revolute, i: ground.O, j: plumb.P}
forces:
  spring: {type: spring-damper, i: ground.W, j: cart.C, stiffness: 20/S, free_length: 2*S}
simulation: {t_end: 1, step: 0.1, rtol: 1.0e-8}
"""


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_the_default_tolerance_of_lengths_follows_the_size_of_the_mechanism(coordinates: str) -> None:
    """Of 1 m and of 10 micrometres, whose time goes with the root of the size."""
    usual = simulate(loads(SPRUNG), coordinates=coordinates)
    t_end = math.sqrt(1e-5)
    small = simulate(
        loads(SPRUNG.replace("S: 1.0", "S: 1.0e-5")), coordinates=coordinates, t_end=t_end, step=t_end / 10
    )
    np.testing.assert_allclose(small["cart.x"] / 1e-5, usual["cart.x"], rtol=0, atol=1e-7)
    np.testing.assert_allclose(usual["cart.x"], 0.1 * np.cos(math.sqrt(20) * usual.t), rtol=0, atol=1e-7)


SLOW = """
linkwork: 1
name: slow
parameters: {T: 1.0}
gravity: [0, -9.81/T^2]
ground: {points: {O: [0, 0]}}
bodies:
  rod: {mass: 1, inertia: 0.1, position: [0.5, 0], points: {O: [-0.5, 0], E: [0.5, 0]}}
  bob: {mass: 0.4, inertia: 0.02, position: [1.3, 0], points: {E: [-0.3, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: rod.O}
  E: {type: revolute, i: rod.E, j: bob.E}
forces:
  push: {type: torque, on: bob, torque: 40/T^2*exp(-((t/T - 1.3)/0.01)^2)}
simulation: {t_end: 3, step: 0.1, rtol: 1.0e-8}
"""


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_a_motion_of_months_is_that_of_seconds(coordinates: str) -> None:
    """Velocities of 1e-6 rad/s are not small against their absolute tolerance."""
    usual = simulate(loads(SLOW), coordinates=coordinates, rtol=1e-12)
    slow = simulate(loads(SLOW.replace("T: 1.0", "T: 3.0e6")), coordinates=coordinates, t_end=9e6, step=3e5)
    assert not slow.info.notes
    for angle in ("rod.phi", "bob.phi"):
        np.testing.assert_allclose(slow[angle], usual[angle], rtol=0, atol=1e-6)


def test_an_absolute_tolerance_that_is_no_small_part_of_the_motion_is_told() -> None:
    """With the default atol of 1e-9, a pendulum of a micrometre without any arm, and a ball that falls by 44."""
    model = load(MODELS / "micro.yaml")
    assert not any("atol-size" in note for note in simulate(model, t_end=1e-3).info.notes)
    assert any("atol-size" in note for note in simulate(model, t_end=1e-3, atol=1e-9).info.notes)
    settings = "simulation: {t_end: 3.0e-3, step: 3.0e-4}\n"
    ball = f"linkwork: 1\nname: ball\nbodies: {{b: {{mass: 1, inertia: 1, position: [0, 0]}}}}\n{settings}"
    assert any("atol-size" in note for note in simulate(loads(ball)).info.notes)
    assert not any("atol-size" in note for note in simulate(loads(ball), atol=1e-15).info.notes)


@pytest.mark.parametrize("formulation", usual_formulations())
@pytest.mark.sampled
def test_a_pendulum_of_a_micrometre_keeps_its_energy(formulation: str) -> None:
    """1e-5 J are turned over."""
    motion = simulate(load(MODELS / "micro.yaml"), formulation=formulation)
    assert np.max(np.abs(motion.drift())) < 1e-7 * np.ptp(motion.energy["kinetic"])
