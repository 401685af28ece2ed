"""Joint and Euler coordinates where they meet the rest: names, start values, reports, files."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from linkwork import Coordinates, Model, Start, load, loads, prepare
from linkwork.assembly.assemble import assemble
from linkwork.document import parse
from linkwork.errors import ModelError, UsageError
from linkwork.formulations import FORMULATIONS
from linkwork.lecture.explain import METHODS, explain
from linkwork.mechanisms.generators import planar_chain
from linkwork.modelfile import build, with_start
from linkwork.simulation.simulate import simulate


@pytest.mark.parametrize("coordinates", ["joint", "euler"])
def test_an_assembly_in_other_coordinates_says_to_where_they_moved(coordinates: str) -> None:
    assembly = assemble(load("spatial_four_link"), coordinates=coordinates)
    assert assembly.q_changes or assembly.v_changes
    said = " ".join(str(assembly).split())
    for changes, now in ((assembly.q_changes, assembly.theta), (assembly.v_changes, assembly.theta_d)):
        for name, change in changes.items():
            assert f"{name} by {change:+.6g} to {now[name]:.10g}" in said


@pytest.mark.parametrize(("first", "second"), [("joint", None), ("body", "joint"), ("joint", "euler")])
@pytest.mark.sampled
def test_a_motion_in_other_coordinates_is_not_resumed(first: str, second: Any) -> None:
    model = load("numdyn3d_pendulum" if second == "euler" else "double_pendulum")
    motion = simulate(model, coordinates=first, t_end=0.01, step=0.01)
    with pytest.raises(UsageError, match="of other parameters or coordinates"):
        simulate(model, coordinates=second, t_end=0.02, step=0.01, start=Start(resume=motion))


def named_alike(joint: dict[str, Any], i: str, j: str) -> Model:
    """A body P on a hinge, a body A, and a joint A."""
    body = {"mass": 2, "inertia": [0.3, 0.2, 0.25], "points": {"O": [-0.5, 0, 0], "E": [0.5, 0, 0]}}
    model = {
        "linkwork": 1,
        "name": "alike",
        "space": "spatial",
        "ground": {"points": {"O": [0, 0, 0]}},
        "bodies": {
            "P": {**body, "position": [0.5, 0, 0]},
            "A": {**body, "position": [1.5, 0, 0], "orientation": {"axis": [1, 0, 0], "angle": 0.5}},
        },
        "joints": {
            "Z": {"type": "revolute", "i": "ground.O", "j": "P.O", "axis": [1, 0, 0]},
            "A": {**joint, "i": i, "j": j},
        },
        "simulation": {"t_end": 0.1, "step": 0.1},
    }
    return loads(json.dumps(model))


@pytest.mark.parametrize("coordinates", ["joint", "euler"])
def test_a_start_value_by_a_name_that_a_body_and_a_joint_share_is_that_of_the_body(coordinates: str) -> None:
    model = named_alike({"type": "spherical"}, "P.E", "A.O")
    turned = {"P.e0": np.cos(0.2), "P.e1": np.sin(0.2), "A.e0": np.cos(0.3), "A.e1": np.sin(0.3)}
    start = {**turned, "P.wx": 1.0, "A.wx": 3.0}
    bodies, other = (simulate(model, coordinates=c, start=start) for c in ("body", coordinates))
    for name, value in start.items():
        assert bodies[name][0] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(other.q, bodies.q, atol=1e-8)
    np.testing.assert_allclose(other.v, bodies.v, atol=1e-7)


@pytest.mark.parametrize("joint", [{"type": "spherical"}, {"type": "planar", "axis": [0, 1, 0]}])
def test_a_joint_named_like_a_floating_body_is_refused_in_joint_coordinates(joint: dict[str, Any]) -> None:
    data = named_alike(joint, "ground.O", "P.O")
    model = replace(data, joints=data.joints[1:])
    with pytest.raises(ModelError, match="the joint 'A' and a body of this name") as error:
        prepare(model, "joint")
    assert error.value.path == "joints.A"
    prepare(model, "body")


LOOP = """
linkwork: 1
ground: {points: {A0: [0, 0], B0: [2.2, 0]}}
bodies:
  crank:
    {mass: 1, inertia: 0.1, position: [0.25, 0.433], angle: 61 deg, angular_velocity: 2,
     points: {O: [-0.5, 0], A: [0.5, 0]}}
  coupler: {mass: 2.5, inertia: 1.3, position: [1.63, 1.39], angle: 25 deg, points: {A: [-1.25, 0], B: [1.25, 0]}}
  rocker: {mass: 2, inertia: 0.7, position: [2.48, 0.96], angle: 73 deg, points: {O: [-1, 0], B: [1, 0]}}
joints:
  A0: {type: revolute, i: ground.A0, j: crank.O}
  A: {type: revolute, i: crank.A, j: coupler.A}
  B: {type: revolute, i: coupler.B, j: rocker.B}
  B0: {type: revolute, i: ground.B0, j: rocker.O}
simulation: {t_end: 0.01, step: 0.01}
"""


def test_a_kept_joint_coordinate_is_what_the_model_states() -> None:
    """The angle of the pin of a crank is the angle of the crank, so that keeping either is the same."""
    by_body = simulate(loads(LOOP), coordinates="body", start=Start(keep=["crank.phi"]))
    by_joint = simulate(loads(LOOP), coordinates="joint", start=Start(keep=["A0"]))
    assert by_joint["crank.phi"][0] == pytest.approx(np.radians(61.0), abs=1e-12)
    np.testing.assert_allclose(by_joint.q, by_body.q, atol=1e-10)
    np.testing.assert_allclose(by_joint.v, by_body.v, atol=1e-9)


def test_what_is_kept_must_be_a_coordinate_of_an_open_chain_too() -> None:
    with pytest.raises(UsageError, match="keep='NOPE'"):
        simulate(load("double_pendulum"), coordinates="joint", start=Start(keep=["NOPE"]))


@pytest.mark.parametrize(
    ("name", "formulation"), [*(("numdyn3d_pendulum", f) for f in METHODS), ("spatial_slider_crank", "augmented")]
)
@pytest.mark.sampled
def test_a_formulation_is_worked_out_in_Euler_parameters_or_refused(name: str, formulation: str) -> None:
    """Where M is singular: the accelerations are those of the run, or the formulation is one that `run` refuses."""
    if formulation in FORMULATIONS and FORMULATIONS[formulation].needs_regular_mass:
        with pytest.raises(ModelError, match="M is singular"):
            explain(load(name), formulation, coordinates="euler")
    else:
        worked = explain(load(name), formulation, coordinates="euler")
        assert np.max(np.abs(worked.other_a)) > 1e-3
        assert worked.difference[0] < 1e-8


SHAFTS = """
linkwork: 1
space: spatial
parameters: {bent: 0.7}
ground: {points: {O: [0, 0, 0]}}
bodies:
  a: {mass: 2, inertia: [0.3, 0.2, 0.25], position: [0.5, 0, 0], points: {O: [-0.5, 0, 0], P: [0.5, 0, 0]}}
  b:
    {mass: 1, inertia: [0.1, 0.2, 0.15], position: [1.5, 0, 0], angular_velocity: [0, 0.4, 0.3],
     orientation: {axis: [0, 0, 1], angle: bent}, points: {O: [-0.5, 0, 0]}}
joints:
  A: {type: revolute, i: ground.O, j: a.O, axis: [1, 0, 0]}
  B: {type: constant-velocity, i: a.P, j: b.O, axis: [1, 0, 0]}
simulation: {t_end: 0.2, step: 0.1, rtol: 1.0e-11, atol: 1.0e-12}
"""


def test_a_constant_velocity_joint_stays_the_same_from_another_start() -> None:
    """A motion gone on with from its middle, as a model and as a file, is the motion."""
    document = parse(SHAFTS)
    model = build(document)
    closed = assemble(model)
    model = model.with_start(closed.q, closed.v)
    whole = simulate(model)
    half = model.with_start(
        dict(zip(whole.q_names, whole.q[1], strict=True)), dict(zip(whole.v_names, whole.v[1], strict=True))
    )
    written = loads(json.dumps(with_start(document, half).data))
    for again in (half, written):
        rest = simulate(again, t_end=0.1)
        np.testing.assert_allclose(rest.q[-1], whole.q[-1], atol=1e-8)
        np.testing.assert_allclose(rest.v[-1], whole.v[-1], atol=1e-7)


def test_velocities_of_the_size_of_rounding_are_not_taken_for_given() -> None:
    """Velocities that are all a little off are corrected, whatever the last digits of a mass centre on a fixed axis."""
    closed = assemble(loads(SHAFTS))
    model, off = loads(SHAFTS).with_start(closed.q, closed.v), {"b.vy": 1.01 * closed.v["b.y"]}
    exact, rounded = (simulate(model, t_end=0.1, start={**off, "a.vx": x}) for x in (0.0, 3e-17))
    assert exact.v[0] != pytest.approx(list(closed.v.values()), abs=1e-6)
    np.testing.assert_allclose(rounded.v, exact.v, atol=1e-12)
    with pytest.raises(ModelError, match=r"that of 'a\.x' would be"):
        simulate(model, t_end=0.1, start={**off, "a.vx": 1e-3})


@pytest.mark.parametrize("coordinates", [None, "body", "euler"])
def test_joints_are_cut_in_joint_coordinates_alone(coordinates: str | None) -> None:
    model = load("spatial_four_link")
    with pytest.raises(UsageError, match="cut in joint coordinates"):
        prepare(model, Coordinates(coordinates, cut=[model.joints[0].name]))


def test_what_has_no_inertia_in_joint_coordinates_is_called_by_its_joint() -> None:
    document = planar_chain(3)
    body, joint = (list(document[kind])[-1] for kind in ("bodies", "joints"))
    document["bodies"][body] |= {"mass": 0, "inertia": 0}
    with pytest.raises(ModelError, match=f"what moves in joint '{joint}' has no inertia"):
        simulate(loads(json.dumps(document)), coordinates="joint", t_end=0.1)
