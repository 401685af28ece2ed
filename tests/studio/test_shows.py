"""What the studio answers to a text."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import linkwork
from linkwork.mechanisms import MECHANISMS
from linkwork.studio.shows import Shows
from linkwork.trajectory import plain

FOUR_BAR = (MECHANISMS / "four_bar.yaml").read_text(encoding="utf-8")
# Points as they lie at the start, many of their coordinates zero.
DRAWN = """\
linkwork: 1
name: drawn
ground: {points: {A: [0, 0], D: [2.2, 0]}}
bodies:
  crank: {mass: 0.5, inertia: 0.01, mass_centre: [0, 0.25], points: {A: [0, 0], B: [0, 0.5]}}
  rod: {mass: 2, inertia: 0.7, mass_centre: [1, 1], points: {B: [0, 0.5], C: [2, 1.5]}}
  rocker: {mass: 1, inertia: 0.2, mass_centre: [2.1, 0.75], points: {C: [2, 1.5], D: [2.2, 0]}}
joints:
  A: {type: revolute, i: ground.A, j: crank.A}
  B: {type: revolute, i: crank.B, j: rod.B}
  C: {type: revolute, i: rod.C, j: rocker.C}
  D: {type: revolute, i: rocker.D, j: ground.D}
simulation: {t_end: 1}
"""


def answers(text: str, shows: Shows | None = None, held: int = 0) -> list[dict[str, Any]]:
    return [plain(x) for x in (shows or Shows()).answers(text, "model.yaml", held)]


def test_faults_stand_at_their_lines() -> None:
    (found,) = answers(FOUR_BAR.replace("j: coupler.A", "j: couplr.A"))
    (fault,) = found["faults"]
    assert FOUR_BAR.split("\n")[fault["line"] - 1].strip().startswith("A: ")
    assert fault["path"] == "joints.A.j"
    assert "did you mean 'coupler'?" in fault["text"]
    assert "page" not in found  # the picture of before stays
    assert answers("a: [")[0]["faults"][0]["code"] == "yaml-syntax"


@pytest.mark.slow
def test_faults_name_options_as_the_commands_of_the_page_have_them() -> None:
    question = {"text": DRAWN.replace("C: [2, 1.5], D", "C: [2, 2.5], D"), "file": "model.yaml", "held": 0}
    done = subprocess.run(
        [sys.executable, "-m", "linkwork.studio.shows"],
        input=json.dumps(question) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--assemble" in done.stdout
    assert "assemble=True" not in done.stdout


def test_a_start_that_does_not_fit_is_a_fault_beside_its_picture() -> None:
    """The bodies are drawn where the text has them, so that the gap is seen."""
    (found,) = answers(DRAWN.replace("C: [2, 1.5], D", "C: [2, 2.5], D"))
    (fault,) = found["faults"]
    assert fault["code"] == "start-far-off"
    assert fault["path"].startswith("joints.")
    assert [body["name"] for body in found["page"]["results"][0]["scene"]["bodies"]] == [
        "ground",
        "crank",
        "rod",
        "rocker",
    ]


def test_a_ground_alone_is_drawn() -> None:
    (found,) = answers("linkwork: 1\nground: {points: {A: [0, 0], D: [2.2, 0]}}\n")
    (body,) = found["page"]["results"][0]["scene"]["bodies"]
    assert body["points"]["D"] == [2.2, 0.0, 0.0]
    assert (found["faults"], found["trouble"]) == ([], "there are no bodies yet")
    (wrong,) = answers("linkwork: 1\nground: {points: {A: [0, 0]}}\nbodeis: {}\n")
    assert {fault["code"] for fault in wrong["faults"]} == {"missing-key", "unknown-key"}


@pytest.mark.slow
def test_another_value_is_told_and_another_structure_makes_another_page() -> None:
    shows = Shows()
    _, whole = answers(DRAWN, shows)
    assert whole["page"]["live"]["module"]
    held = whole["number"]
    (found,) = answers(DRAWN.replace("D: [2.2, 0]", "D: [2.4, 0.1]"), shows, held)
    values = found["values"]
    assert values["ground.points.D.1"] == values["rocker.points.D.1"] == values["D.s_i.1"] == values["D.s_j.1"] == 0.1
    assert "page" in answers(DRAWN, shows, 0)[0]  # a page that holds nothing is given all
    longer = answers(DRAWN.replace("t_end: 1", "t_end: 2"), shows, shows.number)
    assert longer[-1]["number"] == shows.number


@pytest.mark.slow
def test_zeros_that_are_values_leave_the_motion_as_it_is() -> None:
    """The columns of the page are those of a run of the text itself."""
    from base64 import b64decode

    _, whole = answers(DRAWN)
    (result,) = whole["page"]["results"]
    expected = linkwork.simulate(linkwork.loads(DRAWN))
    values = np.frombuffer(b64decode(result["values"]), dtype="<f8").reshape(len(result["quantities"]), result["rows"])
    t = np.frombuffer(b64decode(result["t"]), dtype="<f8")
    names = [x["name"] for x in result["quantities"]]
    for name in ("crank.phi", "rod.x", "rocker.omega"):
        at = np.searchsorted(expected.t, t - 1e-9)
        np.testing.assert_allclose(values[names.index(name)], expected[name][at], atol=1e-8, err_msg=name)


@pytest.mark.slow
def test_what_needs_python_is_replayed() -> None:
    """An input that is sampled is asked for along the way, and a law switches at a time that follows a parameter."""
    sampled = 'parameters: {T: 0.35}\ninputs: {u: {value: "sin(t)", every: 0.1}}\n'
    push = 'forces: {push: {type: torque, on: crank, torque: "if(t < T, u, 0)"}}\n'
    *_, whole = answers(DRAWN + sampled + push)
    assert "live" not in whole["page"]
    assert "computes no others" in whole["trouble"]


def test_given_coordinates_that_contradict_each_other_are_a_fault_at_their_joint() -> None:
    """A lever of 1 m about the origin cannot have its mass centre in the origin: nothing is drawn, and all is told."""
    text = """linkwork: 1
name: lever
ground: {points: {O: [0, 0]}}
bodies: {lever: {mass: 1, inertia: 1, position: [1, 0], points: {O: [-1, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: lever.O}}
simulation: {start: {lever.x: 0, lever.y: 0}}
"""
    (answer,) = Shows().answers(text, "lever.yaml", 0)
    assert [fault["path"] for fault in answer["faults"]] == ["joints.O"]
    assert "page" not in answer
