"""Events that are brief, nearly missed, or in one moment with others."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from published import REFERENCE

from linkwork import load, simulate
from linkwork.errors import NumericalStop
from linkwork.modelfile import loads

MODELS = REFERENCE / "trust"


@pytest.mark.parametrize("length", [1e-9, 1e-3, 1.0, 1e3, 1e5, 1e6])
def test_restitution_does_not_depend_on_the_size(length: float) -> None:
    """A pendulum that hits a stop with restitution 0.8: angle and rate at 2 s by SciPy, piece by piece."""
    motion = simulate(load(MODELS / "restitution_size.yaml", {"L": length}))
    assert motion.events.names == ("hit", "hit")
    assert motion["rod.phi"][-1] == pytest.approx(-1.0480644252, abs=1e-7)
    assert motion["rod.omega"][-1] == pytest.approx(3.2017905732, abs=1e-7)


CROSSINGS = {"event_pulse.json": 1.2345 - 1e-3, "event_bump.json": 1.2345 - 1e-4 * math.sqrt(math.log(2.0))}


@pytest.mark.parametrize("file", CROSSINGS)
def test_a_short_pulse_in_when_is_an_event(file: str) -> None:
    """The cart moves at 1 m/s: the first crossing is a closed form, whatever the report step."""
    for step in (0.001, 0.1, 2.0):
        motion = simulate(load(MODELS / file), step=step)
        assert motion.events.names == ("k",)
        assert motion.t[-1] == pytest.approx(CROSSINGS[file], abs=1e-8)


def test_an_angle_that_jumps_back_by_a_turn_has_not_crossed() -> None:
    """atan2 rises all the time but for its jump at t = pi, so that it never falls through 0.5."""
    motion = simulate(load(MODELS / "event_wrap.json"))
    assert not motion.events.names
    assert motion.t[-1] == 12.0


@pytest.mark.parametrize("coordinates", ["body", "joint"])
@pytest.mark.parametrize("step", [0.1, 2.0])
def test_balls_that_touch_within_rounding_hand_their_speed_on(step: float, coordinates: str) -> None:
    """1.2 - 1 - 0.2 = -5.6e-17: a hits b at t = 0.8, which gives its speed to c at once."""
    motion = simulate(load(MODELS / "cradle_rounding.json"), step=step, coordinates=coordinates)
    assert motion.events.names == ("ab", "bc")
    assert [motion[f"{name}.x"][-1] for name in "abc"] == pytest.approx([0.8, 1.0, 2.4], abs=1e-9)
    assert [motion[f"{name}.vx"][-1] for name in "abc"] == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)


@pytest.mark.parametrize("row", range(1, 6))
@pytest.mark.parametrize("ulps", range(-2, 3))
@pytest.mark.sampled
def test_a_row_of_balls_hands_a_speed_on_whatever_the_last_digits_of_their_places(row: int, ulps: int) -> None:
    """Balls of radius 0.1 side by side, one moved by some units of the last place: the last one flies off alone."""
    places = [-1.0, *(0.2 * k for k in range(row + 1))]
    places[-1] += ulps * float(np.spacing(0.2)) / 2
    joint, motion = {"type": "prismatic", "i": "ground.O", "axis": [1, 0]}, {"velocity": [1, 0]}
    data = {
        "linkwork": 1,
        "gravity": [0, 0],
        "ground": {"points": {"O": [0, 0]}},
        "bodies": {
            f"b{k}": {"mass": 1, "inertia": 1, "position": [x, 0], "points": {"C": [0, 0]}} | (motion if k == 0 else {})
            for k, x in enumerate(places)
        },
        "joints": {f"b{k}": {**joint, "j": f"b{k}.C"} for k in range(row + 2)},
        "events": {
            f"hit{k}": {"when": f"b{k + 1}.x - b{k}.x - 0.2", "direction": "falling", "action": "set", "restitution": 1}
            for k in range(row + 1)
        },
        "simulation": {"t_end": 2, "step": 0.5},
    }
    last = simulate(loads(json.dumps(data), is_json=True))
    assert last.events.names[: row + 1] == tuple(f"hit{k}" for k in range(row + 1))
    speeds = [last[f"b{k}.vx"][-1] for k in range(row + 2)]
    assert speeds == pytest.approx([0.0] * (row + 1) + [1.0], abs=1e-12)


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_two_kicks_in_one_moment_add_up(coordinates: str) -> None:
    """1 m/s, and 1 m/s more by each of two events at t = 1."""
    motion = simulate(load(MODELS / "kick_twice.json"), coordinates=coordinates)
    assert sorted(motion.events.names) == ["k1", "k2"]
    assert motion["c.vx"][-1] == pytest.approx(3.0, abs=1e-12)
    assert motion["c.x"][-1] == pytest.approx(4.0, abs=1e-9)


def test_a_velocity_that_two_events_set_differently_in_one_moment_is_refused() -> None:
    """A kick and a value, or two values, contradict each other; two equal values do not."""
    text = (MODELS / "kick_twice.json").read_text()
    for one, other in (("5", "7"), ("c.vx+1", "7"), ("7", "c.vx+1")):
        halves = text.rsplit('"c.vx+1"', 2)
        with pytest.raises(NumericalStop, match="'k1', 'k2'") as stopped:
            simulate(loads(f'{halves[0]}"{one}"{halves[1]}"{other}"{halves[2]}', is_json=True))
        assert stopped.value.code == "impossible-event"
    assert simulate(loads(text.replace("c.vx+1", "5"), is_json=True))["c.vx"][-1] == pytest.approx(5.0, abs=1e-12)
