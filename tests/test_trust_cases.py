"""Models that once moved wrongly without a word, were refused without a reason, or were a fault of linkwork.

What is right is a closed form, or an independent integration at 1e-12. A case that is not right yet is expected to
fail, and must be changed here by whoever mends it. Cases of the files pulse2, spin2, toggle, wedge, light, micro, epi,
para, loco and in_line are in test_trust.py, those of peaucellier and flat in test_modes.py, those of turn30, far,
start_velocity, r28g, kin_linalg_full, check_linalg_full and tan in test_robust.py.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Answer
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from slices import with_slow

from linkwork import Start, assemble, check, load, simulate
from linkwork.errors import ModelError, NumericalStop
from linkwork.formulations import usual_formulations
from linkwork.modelfile import loads
from linkwork.trajectory import Trajectory

MODELS = Path(__file__).parent / "reference" / "trust"
SPATIAL = ("body", "joint", "minimal", "euler")


def notes(motion: Trajectory) -> list[str]:
    return list(motion.summary()["notes"])


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9, 1e-12])
def test_a_pulse_between_report_times_gives_its_momentum(rtol: float) -> None:
    """1000 N on 1 kg from 5 s for 10 ms: 10 m/s, and a way of 10 (5 - 0.005) m."""
    motion = simulate(load(MODELS / "pulse.yaml"), rtol=rtol)
    assert motion["cart.vx"][-1] == pytest.approx(10.0, abs=1e-8)
    assert motion["cart.x"][-1] == pytest.approx(49.95, abs=1e-8)


GAS = ("50*cos(wheel.phi)^200", "50*(cos(wheel.phi)^2)^100", "50*exp(200*log(abs(cos(wheel.phi))))")


def test_a_flywheel_gets_every_pulse_of_its_gas_torque() -> None:
    """omega(10) and phi(10) by SciPy's DOP853 at 1e-12; the same however the law is written, at any report step."""
    text = (MODELS / "gas_torque.yaml").read_text()
    for law in GAS:
        for step in (0.001, 0.01, 0.5, 10.0):
            for rtol in (1e-6, 1e-9, 1e-12):
                model = loads(text.replace(GAS[0], law))
                motion = simulate(model, step=step, rtol=rtol, atol=rtol)
                assert motion["wheel.omega"][-1] == pytest.approx(38.1344116629, rel=100 * rtol + 1e-11)
                assert motion["wheel.phi"][-1] == pytest.approx(240.913647299, rel=100 * rtol + 1e-11)


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


def test_a_door_sketched_upside_down_closes_upright_or_is_refused() -> None:
    """The z axes of frame and door point the same way: 1 - 2 (e1^2 + e2^2) is positive."""
    model = load(MODELS / "turned.yaml")
    try:
        motion = simulate(model, start=Start(assemble=True))
    except ModelError:
        pass
    else:
        assert 1.0 - 2.0 * (motion["door.e1"][0] ** 2 + motion["door.e2"][0] ** 2) > 0.0
    try:
        closed = assemble(model)
    except ModelError:
        pass
    else:
        assert 1.0 - 2.0 * (closed.q["door.e1"] ** 2 + closed.q["door.e2"] ** 2) > 0.0


def test_bearings_of_bevel_gears_carry_the_force_of_the_teeth() -> None:
    """The teeth meet at (0.1, 0, 0.2) and push wheel a by -20 N along y: that is its 2 N m, and 4 N m about x."""
    motion = simulate(load(MODELS / "bevel.yaml"))
    assert motion["a.alphaz"][-1] == pytest.approx(20.0, abs=1e-9)
    for name, force in {"A.x": 0, "A.y": 20, "A.z": 0, "A.tx": -4, "A.ty": 0}.items():
        assert motion[f"reaction:{name}"][-1] == pytest.approx(force, abs=1e-8)
    for name, force in {"B.x": 0, "B.y": -20, "B.z": 0, "B.ty": 0, "B.tz": -2}.items():
        assert motion[f"reaction:{name}"][-1] == pytest.approx(force, abs=1e-8)


def test_a_constant_velocity_joint_that_folds_gets_a_note() -> None:
    assert any("T4" in note for note in notes(simulate(load(MODELS / "cv_fold.yaml"))))


def pulled_block(t_end: float) -> tuple[list[float], float, float]:
    """When the block of 1.5 kg breaks loose, and its place and speed in the end.

    1.5 v' = 4 sin(3 t) - s, s the sign of v, while it slips; it sticks while |4 sin(3 t)| <= 1.5 N.
    """
    loose, t, x = list[float](), 0.0, 0.0
    while True:
        pull = 4.0 * math.sin(3.0 * t)
        if abs(pull) < 1.5 - 1e-9:
            quarter = math.pi / 6.0
            ahead = (t + k * quarter / 50 for k in range(1, 200))
            edge = next(s for s in ahead if abs(math.sin(3.0 * s)) > 0.375)
            edge = float(brentq(lambda s: abs(math.sin(3.0 * s)) - 0.375, edge - quarter / 50, edge))
            if edge > t_end:
                return loose, x, 0.0
            t = edge
            pull = 4.0 * math.sin(3.0 * t)
        loose.append(t)
        sign = math.copysign(1.0, pull)

        def v(s: float, t: float = t, sign: float = sign) -> float:
            return (4.0 / 3.0 * (math.cos(3.0 * t) - math.cos(3.0 * s)) - sign * (s - t)) / 1.5

        def way(s: float, t: float = t, sign: float = sign) -> float:
            sines = math.cos(3.0 * t) * (s - t) - (math.sin(3.0 * s) - math.sin(3.0 * t)) / 3.0
            return (4.0 / 3.0 * sines - sign * (s - t) ** 2 / 2.0) / 1.5

        steps = (t + 1e-3 + k * 1e-3 for k in range(10_000))
        end = next(s for s in steps if v(s) * sign < 0.0)
        end = float(brentq(v, end - 1e-3, end, xtol=1e-14))
        if end > t_end:
            return loose, x + way(t_end), v(t_end)
        t, x = end, x + way(end)


@pytest.mark.parametrize("formulation", usual_formulations())
@pytest.mark.sampled
def test_of_two_blocks_with_dry_friction_one_breaks_loose(formulation: str) -> None:
    """The one that is pulled with 4 sin(3 t) N at t = asin(0.375)/3; the other is held against 0.1 N."""
    motion = simulate(load(MODELS / "two_stick_slip.json"), formulation=formulation)
    loose, x, v = pulled_block(5.0)
    slips = [t for name, t in zip(motion.events.names, motion.events.t, strict=True) if name == "r1.slip"]
    assert loose[0] == pytest.approx(math.asin(0.375) / 3.0, abs=1e-12)
    assert slips[0] == pytest.approx(loose[0], abs=1e-8)
    assert "r0.slip" not in motion.events.names
    assert motion["b1.x"][-1] == pytest.approx(x, abs=1e-7)
    assert motion["b1.vx"][-1] == pytest.approx(v, abs=1e-7)
    np.testing.assert_allclose(motion["b0.x"], 0.0, atol=1e-9)


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_the_normal_force_of_stick_slip_may_name_a_point(coordinates: str) -> None:
    """x'' = -0.2 (5 + x) from 1 m/s: x = -5 + 5 cos(w t) + sin(w t)/w with w^2 = 0.2, and rest at sqrt(30) - 5."""
    motion = simulate(load(MODELS / "stick_slip_point.json"), coordinates=coordinates)
    w = math.sqrt(0.2)
    t = np.minimum(motion.t, math.atan(1.0 / (5.0 * w)) / w)
    np.testing.assert_allclose(motion["c.x"], -5.0 + 5.0 * np.cos(w * t) + np.sin(w * t) / w, atol=1e-8)
    assert motion["c.x"][-1] == pytest.approx(math.sqrt(30.0) - 5.0, abs=1e-8)


@pytest.mark.parametrize("command", [check, simulate])
def test_a_contact_of_a_body_with_itself_is_refused(command: Any) -> None:
    with pytest.raises(ModelError) as refused:
        command(load(MODELS / "contact_same_body.json"))
    assert refused.value.code == "same-body"


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


@pytest.mark.diagonal
@pytest.mark.parametrize("name", ["=1+1`<img src=x onerror=alert(1)>`", "``<img src=x>`", "a`<b>", "<b>``c`"])
@pytest.mark.parametrize("command", [("explain", "-o"), ("equations", "--to", "markdown", "-o"), ("compare", "-o")])
def test_names_are_no_html_in_markdown(name: str, command: tuple[str, ...], tmp_path: Path, linkwork: Answer) -> None:
    """Without its code spans, which no name ends early, a page has neither a tag nor a backtick, escaped ones apart."""
    given = (MODELS / "markdown_name.yaml").read_text().replace("=1+1`<img src=x onerror=alert(1)>`", name)
    model, page = tmp_path / "x.yaml", tmp_path / "x.md"
    model.write_text(given.replace("name: n", f'name: "{name}"'))
    linkwork(command[0], model, *command[1:], page)
    text = re.sub(r"\\[\\`<]", "", page.read_text().replace("(<x.svg>)", ""))
    if command[0] == "explain":
        assert f"{name}.phi" in text
    text = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text, flags=re.DOTALL)
    assert not re.search(r"`|<[a-z/!?]", text)


@pytest.mark.parametrize("rtol", with_slow([1e-9, 3e-10, 1e-10, 3e-11], fast=[]))
def test_forty_four_bars_pass_their_positions_in_line_in_joint_coordinates(rtol: float) -> None:
    """All uprights turn as one: (41/3 + 40) phi'' = -(41/2 + 40) g cos(phi)."""
    motion = simulate(load("n_four_bar:40"), coordinates="joint", rtol=rtol, atol=rtol)
    inertia, weight, times = 41.0 / 3.0 + 40.0, 9.81 * (41.0 / 2.0 + 40.0), motion.t
    alone = solve_ivp(
        lambda t, y: [y[1], -weight * math.cos(y[0]) / inertia],
        (0.0, times[-1]),
        [math.pi / 2.0, -1.0],
        "DOP853",
        t_eval=times,
        rtol=1e-12,
        atol=1e-12,
    ).y[0]
    for k in range(0, 41, 8):
        np.testing.assert_allclose(motion[f"upright{k}.phi"], alone, rtol=0, atol=1e-4)


PUSHED = """
linkwork: 1
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies: {cart: {mass: 1, inertia: 1, velocity: [1, 0], points: {O: [0, 0]}}}
joints: {rail: {type: prismatic, i: ground.O, j: cart.O, axis: [1, 0]}}
MORE
simulation: {t_end: 1, step: 0.1}
"""


@pytest.mark.parametrize("condition", ["log(0.3 - cart.x) < 1", "1 >= sqrt(0.3 - cart.x)", "acos(cart.x + 0.7) > 0"])
def test_a_condition_without_a_value_stops_the_run(condition: str) -> None:
    """None of these has a value beyond x = 0.3: neither branch is right there, and the formula is named."""
    law = f'forces: {{f: {{type: torque, on: cart, torque: "if({condition}, 1, 2)"}}}}'
    with pytest.raises(NumericalStop, match=r"'f' has no finite value there: (log|sqrt|acos)") as stopped:
        simulate(loads(PUSHED.replace("MORE", law)))
    assert 0.2 <= stopped.value.trajectory.t[-1] <= 0.3


def test_an_event_without_a_value_stops_the_run() -> None:
    """`when` has no value beyond x = 0.3, so that nobody knows whether it happens."""
    with pytest.raises(NumericalStop, match="'e'"):
        simulate(loads(PUSHED.replace("MORE", 'events: {e: {when: "log(0.3 - cart.x) - 1", action: stop}}')))
