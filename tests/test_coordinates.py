"""Joint and Euler coordinates where they meet the rest: names, start values, reports, files."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from linkwork import Model, load, loads, prepare
from linkwork.assembly.assemble import assemble
from linkwork.errors import ModelError, UsageError
from linkwork.motion.simulate import simulate


@pytest.mark.parametrize("coordinates", ["joint", "euler"])
def test_an_assembly_in_other_coordinates_says_to_where_they_moved(coordinates: str) -> None:
    assembly = assemble(load("spatial_four_link"), coordinates=coordinates)
    assert assembly.q_changes or assembly.v_changes
    said = " ".join(str(assembly).split())
    for changes, now in ((assembly.q_changes, assembly.theta), (assembly.v_changes, assembly.theta_d)):
        for name, change in changes.items():
            assert f"{name} by {change:+.6g} to {now[name]:.10g}" in said


@pytest.mark.parametrize(("first", "second"), [("joint", None), ("body", "joint"), ("joint", "euler")])
def test_a_motion_in_other_coordinates_is_not_resumed(first: str, second: Any) -> None:
    model = load("spatial_four_link" if second == "euler" else "double_pendulum")
    motion = simulate(model, coordinates=first, t_end=0.01, step=0.01)
    with pytest.raises(UsageError, match="of other parameters or coordinates"):
        simulate(model, coordinates=second, t_end=0.02, step=0.01, resume=motion)


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
    start = {"q": turned, "v": {"P.wx": 1.0, "A.wx": 3.0}}
    bodies, other = (simulate(model, coordinates=c, **start) for c in ("body", coordinates))
    for name, value in {**turned, **start["v"]}.items():
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
