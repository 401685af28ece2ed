"""Starts in and next to singular positions: their branches, and bodies that cannot move."""

import json
import math
from typing import Any

import numpy as np
import pytest
from parallelograms import one_wheel
from published import REFERENCE

from linkwork import Integrator, load, simulate
from linkwork.errors import ModelError
from linkwork.modelfile import loads

MODELS = REFERENCE / "trust"


def test_a_start_in_a_singular_position_is_refused_with_its_branches() -> None:
    """A driven parallelogram in line: (b, c) go on at the rates (0, 2) or (-4, -6); a mixture is not a motion."""
    model = load(MODELS / "in_line.yaml")
    with pytest.raises(ModelError) as refused:
        simulate(model)
    assert refused.value.code == "singular-start"
    assert "(a.phi 2, b.phi 0, c.phi 2)" in str(refused.value)
    assert "(a.phi 2, b.phi -4, c.phi -6)" in str(refused.value)
    motion = simulate(model, start={"a.omega": 2, "a.vy": 1, "b.vy": 2, "c.omega": 2, "c.vy": 1})
    np.testing.assert_allclose(motion["b.phi"], 0.0, atol=1e-8)


@pytest.mark.parametrize("turned", [0.0, 0.3, 2.0])
def test_a_plate_that_is_fastened_twice_stands_still(turned: float) -> None:
    """Its accelerations are rounding, which is no branch of a motion; A and B together carry its weight."""
    c, s = math.cos(turned), math.sin(turned)
    motion = simulate(
        loads(f"""
linkwork: 1
ground: {{points: {{O: [0, 0], P: [{c!r}, {s!r}]}}}}
bodies: {{plate: {{mass: 2, inertia: 1, angle: {turned}, points: {{O: [0, 0], P: [1, 0]}}}}}}
joints: {{A: {{type: rigid, i: ground.O, j: plate.O}}, B: {{type: rigid, i: ground.P, j: plate.P}}}}
simulation: {{t_end: 0.1, step: 0.05}}
""")
    )
    np.testing.assert_allclose(motion.v, 0.0, atol=1e-14)
    np.testing.assert_allclose(motion["reaction:A.y"] + motion["reaction:B.y"], 2 * 9.81, rtol=1e-12)


def test_a_large_body_without_freedom_stands_still_under_a_force() -> None:
    """A ball joint and a cross hold all six freedoms and one more: the rounding of what they hold is not a motion."""
    motion = simulate(
        loads("""
linkwork: 1
space: spatial
gravity: [0, 0, 0]
ground: {points: {U: [-231.456, -508.009, 367.783], S: [-176.543, -85.0859, 388.822]}}
bodies:
  b:
    mass: 0.617
    inertia: [541726, 1102579, 647233]
    position: [-176.543, -85.0859, 388.822]
    points: {U: [-54.913, -422.9231, -21.039], S: [0, 0, 0], Q: [-302.325, 325.32, -462.567]}
joints:
  U: {type: universal, i: ground.U, j: b.U, axis: [-0.2955, 0.9543, 0.0447], axis_j: [0.9504, 0.2984, -0.087]}
  S: {type: spherical, i: ground.S, j: b.S}
forces: {f: {type: point-force, at: b.Q, force: [0, 4, 4]}}
simulation: {t_end: 0.02, step: 0.01}
""")
    )
    np.testing.assert_allclose(motion.v, 0.0, atol=1e-12)


def test_branches_that_the_driver_excludes_are_not_told() -> None:
    """A rhombus in line: its coupler could turn about two pins in one place, but only with the driven link at rest."""
    data = json.loads((MODELS / "in_line.yaml").read_text())
    data["ground"]["points"]["Q"] = [1, 0]
    data["bodies"]["b"] |= {"position": [1.5, 0], "points": {"A": [-0.5, 0], "B": [0.5, 0]}}
    data["bodies"]["c"]["position"] = [1.5, 0]
    with pytest.raises(ModelError, match=r"the branch has the rates \(a.phi 2, b.phi 0, c.phi 2\); start"):
        simulate(loads(json.dumps(data)))


SMOOTH = {"type": "smooth-step", "start": 0, "end": 1, "t_start": 0, "t_end": 1}


@pytest.mark.parametrize(("coordinates", "turned"), [("body", False), ("joint", False), ("joint", True)])
@pytest.mark.parametrize(("motion", "gravity"), [(None, -9.81), ("t^2", 0.0), (SMOOTH, 0.0)])
@pytest.mark.sampled
def test_a_start_at_rest_in_a_singular_position_takes_no_branch_by_chance(
    motion: Any, gravity: float, coordinates: str, turned: bool
) -> None:
    """Links 1, 2, 1 on ground 2 in line turn in the proportion (1, 0, 1) or (-1, 2, 3): points A and B go up and down.

    Forces that push along one of these do start it: links of one mass fall as a parallelogram. A link that is turned by
    pi leaves rounding in the row that vanishes.
    """
    data = json.loads((MODELS / "in_line.yaml").read_text())
    if turned:
        data["bodies"]["c"] |= {"angle": "pi", "points": {"Q": [0.5, 0], "B": [-0.5, 0]}}
    data["gravity"], data["drivers"] = [0, gravity], {"m": {"joint": "O", "motion": motion}} if motion else {}
    if motion is None:
        even = simulate(loads(json.dumps(data)), t_end=0.2, coordinates=coordinates)
        np.testing.assert_allclose(even["b.phi"], 0.0, atol=1e-8)
        assert even["a.phi"][-1] < -0.1
    data["bodies"]["c"]["mass"] = 3
    with pytest.raises(ModelError) as refused:
        simulate(loads(json.dumps(data)), coordinates=coordinates)
    assert refused.value.code == "singular-start"
    if coordinates == "body":
        assert "(a.phi 1, b.phi 0, c.phi 1)" in str(refused.value)
        assert "(a.phi -0.333333, b.phi 0.666667, c.phi 1)" in str(refused.value)


@pytest.mark.parametrize("formulation", ["zero-eigenvalue", "schur"])
def test_squares_of_singular_values_are_enough_next_to_a_singular_position(formulation: str) -> None:
    """Wheels started a thousandth of a radian before their rod is in line with them; rounding of 1e-10 there stays."""
    start = {"th": -0.0009503287941328153, "w": 4.9768515221175385}
    model = load(MODELS / "loco.yaml", start)
    motion = simulate(
        model, t_end=2.0, rtol=1e-12, atol=1e-12, formulation=formulation, integrator=Integrator(max_steps=3000)
    )
    np.testing.assert_allclose(motion["w1.phi"], one_wheel(start["th"], start["w"], motion.t), atol=1e-6)
