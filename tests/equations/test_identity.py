"""What tells a mechanism from others is the same for the same mechanism, and sees every value."""

import subprocess
import sys

import pytest

from linkwork import load, loads
from linkwork.equations.identity import identify

TEXT = """
linkwork: 1
name: swing
gravity: [0, -9.81]
parameters: {l: 1, k: 5}
tables: {F: {x: [0, 1, 2], y: [0, 1, 0]}}
ground: {points: {O: [0, 0]}}
bodies: {a: {mass: 1, inertia: 0.02, position: [l, 0], points: {O: [-l, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: a.O}}
drivers: {}
forces:
  s: {type: rotational-spring-damper, i: ground, j: a, stiffness: k, damping: 0.1}
  f: {type: point-force, at: a.O, force: [F(t), "3*sin(2*t)"]}
inputs: {u: {value: "sin(t)", every: 0.3}}
outputs: {y: {formula: "a.phi + u"}}
states: {z: {rate: "u - z", start: 0.2}}
events: {low: {when: "a.phi + 1", action: record}}
simulation: {t_end: 1}
"""
CHANGES = [  # of which kind it is, and how
    ("bodies", "mass: 1", "mass: 1.0000001"),
    ("bodies", "points: {O: [-l, 0]}", "points: {O: [-l, 0], Q: [l, 0]}"),
    ("joints", "revolute, i: ground.O, j: a.O", "revolute, i: a.O, j: ground.O"),
    ("forces", "damping: 0.1", "damping: 0.2"),
    ("forces", "y: [0, 1, 0]", "y: [0, 1, 0.5]"),
    ("forces", "3*sin(2*t)", "3*sin(3*t)"),
    ("gravity", "[0, -9.81]", "[0, 9.81]"),
    ("inputs", "every: 0.3", "every: 0.2"),
    ("outputs", "a.phi + u", "a.phi - u"),
    ("states", "start: 0.2", "start: 0.3"),
    ("events", "a.phi + 1", "a.phi + 2"),
    ("parameters", "k: 5", "k: 6"),
]


@pytest.mark.parametrize(("kind", "old", "new"), CHANGES, ids=[f"{kind} {new}" for kind, _, new in CHANGES])
def test_a_change_is_seen_where_it_is(kind: str, old: str, new: str) -> None:
    assert old in TEXT
    first, second = identify(loads(TEXT)), identify(loads(TEXT.replace(old, new)))
    assert [own for own in first if first[own] != second[own]] == [kind]


def test_what_only_shows_a_mechanism_is_no_part_of_it() -> None:
    assert identify(loads(TEXT)) == identify(loads(TEXT.replace("name: swing", "name: other\nabout: {title: a}")))


def test_another_process_finds_the_same() -> None:
    """Whatever was built before, and whatever order its sets have."""
    code = "from linkwork import load; from linkwork.equations.identity import identify; print(identify(load('{}')))"
    for name in ("slider_crank", "four_bar"):
        command = [sys.executable, "-c", "from linkwork.expressions.graph import symbol; x = symbol('theta')\n"]
        command[-1] += code.format(name)
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        assert found.stdout.strip() == str(identify(load(name)))
