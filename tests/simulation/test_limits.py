"""Numbers near the ends of their range: a clear word or a right motion, never a warning."""

from __future__ import annotations

import json

import pytest

from linkwork import check, load, prepare, simulate
from linkwork.errors import LinkworkError, NumericalStop
from linkwork.model import Model
from linkwork.modelfile import loads

pytestmark = pytest.mark.filterwarnings("error")


def falling(mass: float) -> Model:
    body = {"mass": mass, "inertia": 1, "position": [0, 300]}
    return loads(
        json.dumps({"linkwork": 1, "name": "stone", "gravity": [0, -9.81], "bodies": {"stone": body}}), is_json=True
    )


def test_a_motion_whose_energy_is_beyond_numbers_is_doubtful() -> None:
    """m g y of 1e306 kg at 300 m is none: the fall itself is right, but nothing checks it."""
    with pytest.raises(NumericalStop, match="an energy is beyond all numbers") as stop:
        simulate(falling(1e306), t_end=0.1)
    kept = stop.value.trajectory
    assert stop.value.code == "energy-balance"
    assert kept is not None
    assert kept.status == "doubtful"
    assert kept["stone.y"][-1] == pytest.approx(300 - 9.81 * 0.1**2 / 2, rel=1e-12)
    assert simulate(falling(1e300), t_end=0.1).status == "finished"


JOINT = """
linkwork: 1
name: top
space: spatial
bodies:
  top: {mass: 1, inertia: [1, 2, 2.5], points: {O: [0, 0, 0]}}
ground: {points: {O: [0, 0, 0]}}
joints:
  O: {type: TYPE, i: ground.O, j: top.O, axis: [SMALL, 0, 0], OTHER}
"""


@pytest.mark.parametrize("small", ["1e-320", "1e-170", "1e300"])
@pytest.mark.parametrize(("kind", "other", "dof"), [("universal", "axis_j", 2), ("revolute", "zero", 1)])
def test_an_axis_of_any_length_gives_its_direction(small: str, kind: str, other: str, dof: int) -> None:
    text = JOINT.replace("TYPE", kind).replace("OTHER", f"{other}: [ALONG, ACROSS, 0]").replace("SMALL", small)
    assert check(loads(text.replace("ALONG", "0").replace("ACROSS", small))).dof == dof
    with pytest.raises(LinkworkError) as refused:
        check(loads(text.replace("ALONG", f"-{small}").replace("ACROSS", "0")))
    assert refused.value.code == "parallel-axes"


@pytest.mark.parametrize(("name", "values"), [("slider_crank_driven", {"l2": 1e-160}), ("slider_crank", {"l1": 1e308})])
def test_a_length_beyond_all_others_is_refused(name: str, values: dict[str, float]) -> None:
    """The velocities of its branches are quotients and squares beyond numbers."""
    with pytest.raises(LinkworkError) as refused:
        prepare(load(name)).simulate(values, t_end=0.05)
    assert refused.value.code
