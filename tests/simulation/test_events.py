"""Events: where a function of the motion goes through zero, and what happens there."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from linkwork import Integrator, Model, Start, Trajectory, load, loads, simulate
from linkwork.elements.events import Event
from linkwork.errors import Interrupted, ModelError, NumericalStop, UsageError
from linkwork.expressions.graph import symbol
from linkwork.integrators.integrate import Moment
from linkwork.simulation.events import Course
from linkwork.view.report import summary_lines

Array = NDArray[np.float64]

BALL = """
linkwork: 1
bodies:
  ball: {mass: 2, inertia: 0.1, position: [0, 1], velocity: [0.3, 0], angular_velocity: 1}
events:
  bounce: {when: "ball.y", direction: falling, action: set, restitution: 0.9}
  half: {when: "ball.x - 0.5"}
simulation: {t_end: 7, step: 0.05, rtol: 1.0e-10, atol: 1.0e-12}
"""


DROP = """
linkwork: 1
ground: {points: {O: [0, 0]}}
bodies: {ball: {mass: 1, inertia: 0.1, position: [0, 0.5], points: {C: [0, 0]}}}
forces:
  floor:
    {type: line-contact, i: ground.O, j: ball.C, normal: [0, 1], stiffness: 1.0e+6, model: hunt-crossley,
     restitution: 0.9}
simulation: {rtol: 1.0e-10}
"""
STICKS = """
linkwork: 1
ground: {points: {O: [0, 0], W: [-1, 0]}}
bodies: {block: {mass: 2, inertia: 0.01, velocity: [0.1, 0], points: {C: [0, 0]}}}
joints: {slide: {type: prismatic, i: ground.O, j: block.C, axis: [1, 0]}}
forces:
  spring: {type: spring-damper, i: ground.W, j: block.C, stiffness: 50, free_length: 1}
  belt: {type: stick-slip, joint: slide, normal_force: 2*9.81, speed: 0.1, dynamic: 0.15, static: 0.25}
simulation: {rtol: 1.0e-10}
"""


def times(motion: Trajectory, name: str) -> Array:
    return motion.events.t[[other == name for other in motion.events.names]]


def test_a_ball_bounces_at_the_times_of_the_closed_form() -> None:
    """t_0 = sqrt(2 h/g), then t_k+1 = t_k + 2 v_k/g with v_k = e^k sqrt(2 g h); twenty of them."""
    motion = simulate(loads(BALL.replace("restitution: 0.9", "restitution: 0.95")), t_end=12.0)
    g, e = 9.81, 0.95
    speeds = e ** np.arange(1, 20) * math.sqrt(2 * g)
    exact = math.sqrt(2 / g) + np.concatenate([[0.0], np.cumsum(2 * speeds / g)])
    found = times(motion, "bounce")
    assert len(found) >= 20
    np.testing.assert_allclose(found[:20], exact, rtol=0, atol=1e-10)
    bounces = [name == "bounce" for name in motion.events.names]
    np.testing.assert_allclose(motion.events.v_after[bounces][:19, 1], speeds, rtol=1e-10)
    np.testing.assert_allclose(motion.events.v_before[bounces][1:20, 1], -speeds, rtol=1e-10)
    np.testing.assert_allclose(times(motion, "half"), [0.5 / 0.3], atol=1e-12)
    assert np.max(np.abs(motion.drift())) < 1e-9  # what the impacts take is dissipated
    assert motion["energy:dissipated"][-1] > 1.0


@pytest.mark.parametrize("direction", ["both", "falling"])
def test_velocities_set_by_a_formula_bounce_the_ball_as_restitution_does(direction: str) -> None:
    """Without a direction the event is not met again on the way back up."""
    set_ = f'direction: {direction}, action: set, velocities: {{ball.vy: "-0.9*ball.vy"}}'
    other = BALL.replace("direction: falling, action: set, restitution: 0.9", set_)
    a, b = simulate(loads(BALL)), simulate(loads(other))
    np.testing.assert_allclose(times(a, "bounce"), times(b, "bounce"), atol=1e-10)
    np.testing.assert_allclose(a.q, b.q, atol=1e-9)


def test_a_rod_that_falls_on_its_end_gets_the_impulse_of_the_impact_law() -> None:
    """R = -(1 + e) v_n/(1/m + x^2/J) at the end, x its distance from the mass centre along the ground."""
    text = """
linkwork: 1
bodies:
  rod:
    {mass: 2, inertia: 0.3, position: [0, 2], angle: 0.7, velocity: [0.4, 0], angular_velocity: -0.5,
     points: {A: [-0.6, 0.1]}}
events:
  hit: {when: "rod.A.y", direction: falling, action: set, restitution: 0.6}
  after: {when: "rod.A.y - 0.01", direction: rising, action: stop}
"""
    motion = simulate(loads(text), rtol=1e-10)
    hit = motion.events.names.index("hit")
    q, v, after = motion.events.q[hit], motion.events.v_before[hit], motion.events.v_after[hit]
    arm = math.cos(q[2]) * -0.6 - math.sin(q[2]) * 0.1
    normal = v[1] + v[2] * arm
    R = -(1 + 0.6) * normal / (1 / 2 + arm**2 / 0.3)
    np.testing.assert_allclose(after, [v[0], v[1] + R / 2, v[2] + arm * R / 0.3], atol=1e-9)
    assert motion.info.reason.startswith("event 'after' at t = ")
    assert motion.status == "finished"
    assert motion.t[-1] == pytest.approx(motion.events.t[-1], abs=1e-12)


DOUBLE = """
linkwork: 1
ground: {points: {O: [0, 0]}}
bodies:
  upper: {mass: 1.5, inertia: 0.2, position: [0.5, 0], points: {O: [-0.5, 0], P: [0.7, 0]}}
  lower: {mass: 0.8, inertia: 0.1, position: [1.6, 0], points: {P: [-0.4, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: upper.O}
  P: {type: revolute, i: upper.P, j: lower.P}
events:
  stop: {when: "lower.phi - upper.phi - 0.4", direction: rising, action: set, restitution: 1}
simulation: {t_end: 3, step: 0.1, rtol: 1.0e-11, atol: 1.0e-11}
"""


def double_pendulum_by_angles(t_end: float) -> tuple[Array, list[float]]:
    """Angles and their rates at t_end, and the times of impacts, in minimal coordinates by SciPy."""
    m1, j1, m2, j2, l1, s1, s2, g = 1.5, 0.2, 0.8, 0.1, 1.2, 0.5, 0.4, 9.81

    def M(q: Array) -> Array:
        c = m2 * l1 * s2 * math.cos(q[1] - q[0])
        return np.array([[j1 + m1 * s1**2 + m2 * l1**2, c], [c, j2 + m2 * s2**2]])

    def rates(t: float, y: Array) -> Array:
        q, v = y[:2], y[2:]
        k = m2 * l1 * s2 * math.sin(q[1] - q[0])
        h = [k * v[1] ** 2 - (m1 * s1 + m2 * l1) * g * math.cos(q[0]), -k * v[0] ** 2 - m2 * s2 * g * math.cos(q[1])]
        return np.concatenate([v, np.linalg.solve(M(q), h)])

    def touch(t: float, y: Array) -> float:
        return float(y[1] - y[0] - 0.4)

    touch.terminal, touch.direction = True, 1  # type: ignore[attr-defined]
    y, t, impacts = np.zeros(4), 0.0, list[float]()
    while t < t_end:
        found = solve_ivp(rates, (t, t_end), y, method="DOP853", rtol=1e-12, atol=1e-13, events=touch)
        t, y = found.t[-1], found.y[:, -1].copy()
        if t < t_end:
            impacts.append(t)
            G = np.array([-1.0, 1.0])
            y[2:] -= 2 * (G @ y[2:]) / (G @ np.linalg.solve(M(y), G)) * np.linalg.solve(M(y), G)
    return y, impacts


def test_a_double_pendulum_against_an_end_stop_keeps_its_energy_and_its_joints() -> None:
    """The same motion in two angles, by SciPy, with the impact R = -2 G v/(G M^-1 G^T)."""
    motion = simulate(loads(DOUBLE))
    y, impacts = double_pendulum_by_angles(3.0)
    assert len(impacts) >= 2
    np.testing.assert_allclose(motion.events.t, impacts, atol=1e-8)
    found = [motion[name][-1] for name in ("upper.phi", "lower.phi", "upper.omega", "lower.omega")]
    np.testing.assert_allclose(found, y, atol=1e-7)
    energy = motion["energy:kinetic"] + motion["energy:potential"]
    assert np.max(np.abs(energy - energy[0])) < 1e-9
    assert motion.constraint_error["velocity"] < 1e-12


@pytest.mark.parametrize("formulation", ["ggl", "udwadia-kalaba", "svd"])
def test_events_do_not_depend_on_the_formulation(formulation: str) -> None:
    _, impacts = double_pendulum_by_angles(3.0)
    motion = simulate(loads(DOUBLE), formulation=formulation)
    np.testing.assert_allclose(motion.events.t, impacts, atol=1e-8)


FOUR_BAR = """
linkwork: 1
ground: {points: {O: [0, 0], C: [1.2, 0]}}
bodies:
  crank:
    {mass: 1, inertia: 0.02, position: [0.1, 0.17320508], angle: 60 deg, angular_velocity: 6,
     points: {O: [-0.2, 0], A: [0.2, 0]}}
  rod: {mass: 1, inertia: 0.1, position: [0.7, 0.6], angle: 30 deg, points: {A: [-0.5, 0], B: [0.5, 0]}}
  rocker: {mass: 1, inertia: 0.1, position: [1.15, 0.4], angle: 95 deg, points: {C: [-0.45, 0], B: [0.45, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: rod.A}
  B: {type: revolute, i: rod.B, j: rocker.B}
  C: {type: revolute, i: ground.C, j: rocker.C}
events:
  breaks: {when: "reaction.B.x^2 + reaction.B.y^2 - 18^2", direction: rising, action: set, release: B}
simulation: {t_end: 1.5, step: 0.01, rtol: 1.0e-10, atol: 1.0e-10}
"""


def test_a_pin_is_released_at_a_given_force_and_the_chains_go_on_alone() -> None:
    """The force at the event is 18 N; from there the motion is that of the model without the pin."""
    model = loads(FOUR_BAR)
    motion = simulate(model, start=Start(assemble=True))
    assert motion.events.counts() == {"breaks": 1}
    t = float(motion.events.t[0])
    assert 0.05 < t < 1.4
    force = np.hypot(motion["reaction:B.x"], motion["reaction:B.y"])
    before, after = motion.t < t, motion.t > t
    assert np.all(force[before] < 18.0)
    assert not np.any(force[after])
    whole = simulate(replace(model, events=()), start=Start(assemble=True))
    near = np.interp(t, whole.t, np.hypot(whole["reaction:B.x"], whole["reaction:B.y"]))
    assert near == pytest.approx(18.0, rel=1e-3)  # between report times
    np.testing.assert_allclose(motion.events.v_after, motion.events.v_before)  # nothing jumps
    joints = tuple(joint for joint in model.joints if joint.name != "B")
    alone = replace(model, joints=joints, events=())
    q = dict(zip(motion.q_names, motion.events.q[0], strict=True))
    v = dict(zip((f"v:{name}" for name in motion.v_names), motion.events.v_after[0], strict=True))
    rest = simulate(alone, start={**q, **v}, t_end=1.5 - t, rtol=1e-10)
    np.testing.assert_allclose(motion.q[-1], rest.q[-1], atol=1e-7)
    np.testing.assert_allclose(motion.v[-1], rest.v[-1], atol=1e-6)
    assert np.max(np.abs(motion.drift())) < 1e-7


LATCH = """
linkwork: 1
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies:
  a: {mass: 1, inertia: 1, velocity: [2, 0], points: {R: [0.1, 0]}}
  b: {mass: 3, inertia: 1, position: [1, 0], points: {L: [-0.1, 0]}}
joints:
  A: {type: prismatic, i: ground.O, j: a.R, axis: [1, 0]}
  B: {type: prismatic, i: ground.O, j: b.L, axis: [1, 0]}
  latch: {type: revolute, i: a.R, j: b.L, open: true}
events:
  snap: {when: "a.R.x - b.L.x", action: set, engage: latch}
  free: {when: "t - 1.5", action: set, release: latch}
simulation: {t_end: 2}
"""


def test_a_latch_that_snaps_in_makes_two_bodies_one() -> None:
    """Momentum stays: (1 kg) (2 m/s) = (4 kg) v from t = 0.4 s on; 1.5 J are lost. Then both move on alike."""
    motion = simulate(loads(LATCH))
    np.testing.assert_allclose(motion.events.t, [0.4, 1.5], atol=1e-12)
    assert motion.events.names == ("snap", "free")
    late = motion.t > 0.4
    np.testing.assert_allclose(motion["a.vx"][late], 0.5, atol=1e-12)
    np.testing.assert_allclose(motion["b.vx"][late], 0.5, atol=1e-12)
    np.testing.assert_allclose(motion["b.x"][late], 1 + 0.5 * (motion.t[late] - 0.4), atol=1e-11)
    assert motion["energy:dissipated"][-1] == pytest.approx(1.5, abs=1e-12)
    with pytest.raises(NumericalStop, match=r"'latch' cannot engage.*0\.3 m open"):
        simulate(loads(LATCH.replace("a.R.x - b.L.x", "a.R.x - b.L.x + 0.3")))


LOCK = """
linkwork: 1
ground: {points: {O: [0, 0]}}
bodies:
  a: {mass: 1, inertia: 0.1, position: [1, 0], points: {O: [-1, 0], B: [1, 0]}}
  b: {mass: 1, inertia: 0.1, position: [2, -1], angle: -90 deg, points: {A: [-1, 0], E: [1, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: a.O}
  B: {type: revolute, i: a.B, j: b.A}
  lock: {type: distance, i: ground.O, j: b.E, length: 3, open: true}
events:
  latch: {when: "b.E.x^2 + b.E.y^2 - 9", action: set, engage: lock}
simulation: {t_end: 2, step: 0.1}
"""


@pytest.mark.parametrize("model", [loads(LATCH), loads(LOCK), load("stick_slip_belt")], ids=["latch", "lock", "belt"])
@pytest.mark.sampled
def test_the_explicit_form_follows_joints_that_open_and_close(model: Model) -> None:
    """Its rows and pivots are those of the joints that hold: the motion is that of the augmented form."""
    explicit, other = (simulate(model, t_end=2.0, formulation=name, rtol=1e-10) for name in ("lu", "augmented"))
    assert explicit.events.names == other.events.names
    for found, expected in ((explicit.q, other.q), (explicit.v, other.v)):
        np.testing.assert_allclose(found, expected, atol=1e-6)
    assert explicit.info.steps < 3 * other.info.steps


@pytest.mark.parametrize("model", [loads(LOCK), load("stick_slip_belt")], ids=["lock", "belt"])
@pytest.mark.parametrize(
    ("how", "tolerance"),
    [
        ({"formulation": "index-3", "integrator": "radau5", "rtol": 1e-10}, 1e-6),
        ({"formulation": "ggl", "integrator": "radau5", "rtol": 1e-10}, 1e-6),
        ({"integrator": "generalized-alpha", "rtol": 1e-7}, 3e-3),
    ],
    ids=["index-3", "ggl", "generalized-alpha"],
)
@pytest.mark.sampled
def test_multipliers_among_the_unknowns_follow_joints_that_open_and_close(
    model: Model, how: dict[str, Any], tolerance: float
) -> None:
    truth = simulate(model, t_end=2.0, rtol=1e-11, atol=1e-12)
    motion = simulate(model, t_end=2.0, atol=how["rtol"], **how)
    assert motion.events.names == truth.events.names
    np.testing.assert_allclose(motion.events.t, truth.events.t, rtol=0, atol=tolerance)
    for found, expected in ((motion.q, truth.q), (motion.v, truth.v)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def test_events_within_one_step_are_told_apart_and_grazing_is_said() -> None:
    """Free fall, which any step follows: three heights 1 micrometre apart, and a parabola that touches zero."""
    heights = "".join(f'  h{k}: {{when: "ball.y - {0.5 - 1e-6 * k}"}}\n' for k in range(3))
    text = BALL.replace("  half:", heights + '  graze: {when: "(t - 0.3)^2"}\n  half:')
    motion = simulate(loads(text), t_end=0.4)
    exact = [math.sqrt(2 * (0.5 + 1e-6 * k) / 9.81) for k in range(3)]
    assert motion.events.names == ("h0", "h1", "h2")
    np.testing.assert_allclose(motion.events.t, exact, rtol=0, atol=1e-14)
    assert any("event 'graze' was at zero at t = 0.3" in note for note in motion.info.notes)


def test_events_that_are_only_noted_and_follow_each_other_without_end_end_the_run() -> None:
    """Every 16 ns from t = 0.25 on; these are zeros of the formula, seen as soon as a step ends among them."""
    text = BALL.replace("  half:", '  often: {when: "if(t < 0.25, 1, cos(2e8*(t - 0.25)))"}\n  half:')
    with pytest.raises(NumericalStop, match="'often' happens without end") as stop:
        simulate(loads(text), t_end=0.4)
    t = stop.value.trajectory.events.t
    assert len(t) > 20
    zeros = 2e8 * (t - 0.25) / np.pi - 0.5
    np.testing.assert_allclose(zeros, np.round(zeros), atol=1e-6)
    np.testing.assert_array_equal(np.diff(np.round(zeros)), 1.0)


def test_a_ball_that_bounces_without_end_ends_with_a_message() -> None:
    """Infinitely many bounces accumulate at t = sqrt(2 h/g) (1 + e)/(1 - e)."""
    end = math.sqrt(2 / 9.81) * 3
    with pytest.raises(NumericalStop, match="'bounce' happens without end") as stop:
        simulate(loads(BALL.replace("restitution: 0.9", "restitution: 0.5")))
    assert stop.value.code == "events-accumulate"
    assert stop.value.exit_code == 4
    assert stop.value.trajectory.t[-1] == pytest.approx(end, abs=1e-5)
    with pytest.raises(NumericalStop, match="'bounce' happens without end"):
        simulate(loads(BALL.replace("restitution: 0.9", "restitution: 0")))


def test_a_square_wave_does_not_spoil_the_order() -> None:
    """v' = s(t) - v with s = +1 and -1 in turn every half second: exponentials, to 1e-8 at rtol 1e-10."""
    text = """
linkwork: 1
gravity: [0, 0]
bodies:
  b: {mass: 1, inertia: 1, points: {C: [0, 0]}}
forces:
  f: {type: point-force, at: b.C, force: ["if(sin(2*pi*t) > 0, 1, -1) - b.vx", 0]}
simulation: {t_end: 10, step: 0.5, rtol: 1.0e-10, atol: 1.0e-10}
"""
    motion = simulate(loads(text))
    x = v = 0.0
    for k in range(20):
        s = 1.0 if k % 2 == 0 else -1.0
        x += s * 0.5 + (v - s) * (1 - math.exp(-0.5))
        v = s + (v - s) * math.exp(-0.5)
        assert motion["b.x"][k + 1] == pytest.approx(x, abs=1e-8)
        assert motion["b.vx"][k + 1] == pytest.approx(v, abs=1e-8)
    assert motion.info.switches in (19, 20)
    assert motion.info.steps < 200


@pytest.mark.parametrize("method", [{"integrator": "radau5"}, {"integrator": "radau5", "formulation": "ggl"}])
def test_implicit_integrators_locate_the_same_impacts(method: dict[str, str]) -> None:
    _, impacts = double_pendulum_by_angles(3.0)
    motion = simulate(loads(DOUBLE), rtol=1e-9, **method)  # type: ignore[arg-type]
    np.testing.assert_allclose(motion.events.t, impacts, atol=1e-6)


@pytest.mark.parametrize(("speed", "direction", "count"), [(3, "falling", 0), (3, "both", 0), (-3, "falling", 1)])
def test_an_event_that_is_just_there_is_met_only_on_its_way(speed: float, direction: str, count: int) -> None:
    """A ball that starts on the floor bounces at once if it moves down, and not before it comes back if up."""
    text = BALL.replace("position: [0, 1], velocity: [0.3, 0]", f"position: [0, 0], velocity: [0.3, {speed}]")
    motion = simulate(loads(text.replace("direction: falling", f"direction: {direction}")), t_end=0.3)
    assert motion.events.counts() == ({"bounce": count} if count else {})
    if count:
        assert motion.events.t[0] == pytest.approx(0.0, abs=1e-12)
        assert motion["ball.vy"][1] == pytest.approx(0.9 * 3 - 9.81 * 0.05, abs=1e-9)


def test_a_callback_sees_the_state_and_sets_velocities() -> None:
    seen = []

    def kick(t: float, q: dict[str, float], v: dict[str, float]) -> dict[str, float]:
        seen.append((t, q["ball.y"], v["ball.vy"]))
        return {"ball.vx": 5.0}

    model = loads(BALL)
    event = Event("kick", symbol("ball.y") - 0.5, "falling", "set", callback=kick)  # type: ignore[arg-type]
    motion = simulate(replace(model, events=(event,)), t_end=0.5)
    fall = math.sqrt(1 / 9.81)
    np.testing.assert_allclose(seen, [(fall, 0.5, -9.81 * fall)], atol=1e-9)
    assert motion["ball.vx"][-1] == pytest.approx(5.0)
    assert motion["ball.x"][-1] == pytest.approx(0.3 * fall + 5 * (0.5 - fall), abs=1e-9)
    wrong = replace(event, callback=lambda t, q, v: {"ball.v": 1.0})
    with pytest.raises(UsageError, match="unknown-velocity"):
        simulate(replace(model, events=(wrong,)), t_end=0.5)


@pytest.mark.parametrize("suffix", [".nc", ".csv"])
def test_events_are_kept_in_files_and_in_the_summary(tmp_path: Path, suffix: str) -> None:
    motion = simulate(loads(BALL), t_end=2.0)
    motion.save(tmp_path / f"ball{suffix}")
    again = Trajectory.load(tmp_path / f"ball{suffix}")
    assert again.events.names == motion.events.names
    assert len(again.events.names) > 2
    for one, other in zip(again.events[1:], motion.events[1:], strict=True):
        np.testing.assert_array_equal(one, other)
    first = motion.summary()["events"][0]
    assert first["name"] == "bounce"
    assert first["v_after"]["ball.y"] == pytest.approx(-0.9 * first["v_before"]["ball.y"])


@pytest.mark.parametrize(
    ("event", "code", "what"),
    [
        ("{direction: rising}", "missing-key", "'when' is missing"),
        ('{when: "ball.z"}', "expression-name", "unknown name 'ball.z'"),
        ('{when: "3 - 1"}', "constant-event", "does not change"),
        ('{when: "ball.y", direction: down}', "wrong-shape", "'both', 'rising' or 'falling'"),
        ('{when: "ball.y", action: set}', "nothing-set", "nothing is set"),
        ('{when: "ball.y", restitution: 0.5}', "no-effect", "write action: set"),
        ('{when: "ball.y", action: set, restitution: 2}', "bad-restitution", "from 0 to 1"),
        ('{when: "ball.y", action: set, velocities: {ball.vz: 1}}', "unknown-velocity", "did you mean 'ball.v"),
        ('{when: "ball.y", action: set, release: pin}', "unknown-joint", "no joint 'pin'"),
        ('{when: "ball.y", then: stop}', "unknown-key", "unknown key 'then'"),
    ],
)
def test_a_wrong_event_is_refused_with_its_line(event: str, code: str, what: str) -> None:
    text = f"linkwork: 1\nbodies:\n  ball: {{mass: 1, inertia: 1}}\nevents:\n  touch: {event}\n"
    with pytest.raises(ModelError) as fault:
        loads(text)
    assert fault.value.code == code
    assert what in str(fault.value)
    assert ":5: events.touch" in str(fault.value)


def test_restitution_of_a_velocity_is_refused() -> None:
    text = BALL.replace('"ball.y"', '"ball.vy"')
    with pytest.raises(ModelError, match="bad-event"):
        simulate(loads(text))


def test_a_spatial_body_that_hits_the_ground_is_the_same_in_euler_parameters() -> None:
    """Impulses in v and in rates of Euler parameters, whose mass matrix is singular, are one."""
    text = """
linkwork: 1
space: spatial
bodies:
  b:
    {mass: 2, inertia: [0.1, 0.2, 0.3], position: [0, 0, 1], angular_velocity: [1, 2, 0.5],
     points: {P: [0.1, 0.2, -0.1]}}
events:
  hit: {when: "b.P.z", direction: falling, action: set, restitution: 0.7}
simulation: {t_end: 0.8, rtol: 1.0e-12, atol: 1.0e-12}
"""
    one = simulate(loads(text))
    other = simulate(loads(text), coordinates="euler", formulation="udwadia-phohomsiri")
    assert len(one.events.names) >= 2
    np.testing.assert_allclose(one.events.t, other.events.t, atol=1e-10)
    np.testing.assert_allclose(one.events.v_after, other.events.v_after, atol=1e-9)
    v, after = one.events.v_before[0], one.events.v_after[0]
    np.testing.assert_allclose((after - v)[:2], 0.0, atol=1e-12)  # no friction
    assert np.max(np.abs(one.drift())) < 1e-9


HUNDREDS = """linkwork: 1
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies: {crank: {mass: 1, inertia: 0.1, position: [0.5, 0], angular_velocity: 20, points: {O: [-0.5, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: crank.O}}
events: {turn: {when: sin(crank.phi - 1), direction: rising}}
simulation: {t_end: 100, step: 0.5}
"""


def test_hundreds_of_events_are_recorded() -> None:
    """A crank at 20 rad/s passes the angle zero once a turn: 318 times in 100 s, each at 2 pi k/20."""
    found = times(simulate(loads(HUNDREDS)), "turn")
    np.testing.assert_allclose(found, (1 + 2 * np.pi * np.arange(len(found))) / 20, atol=1e-6)
    assert len(found) == 319


def test_a_motion_that_an_event_has_stopped_is_not_resumed() -> None:
    model = loads(HUNDREDS.replace("direction: rising", "direction: rising, action: stop"))
    with pytest.raises(UsageError, match="stopped by an event"):
        simulate(model, start=Start(resume=simulate(model)))


@pytest.mark.parametrize(
    ("when", "t"),
    [
        ("abs(ball.y - 0.5)", math.sqrt(1 / 9.81)),
        ("-abs(ball.y - 0.5)", math.sqrt(1 / 9.81)),
        ("(ball.y - 0.5)^2", math.sqrt(1 / 9.81)),
        ("(ball.y - 0.5)^4", math.sqrt(1 / 9.81)),
        ("(ball.vy + 3)^2", 3 / 9.81),
        ("abs(sin(3*t))", math.pi / 3),
        ("1 - cos(3*t - 1)", 1 / 3),
        ("t - 1.2", 1.2),  # at the end
        ("1.2 - t", 1.2),
    ],
)
def test_what_only_touches_zero_is_told_with_its_time(when: str, t: float) -> None:
    """Bends, even powers and the end of the run: no sign changes, so no event, but the note has the time."""
    text = BALL.replace('{when: "ball.x - 0.5"}', f'{{when: "{when}"}}').replace("action: set, restitution: 0.9", "")
    motion = simulate(loads(text), t_end=1.2)
    assert motion.events.names == ("bounce",)
    notes = [note for note in motion.info.notes if "event 'half' was at zero" in note]
    assert len(notes) == 1
    assert float(notes[0].split("t = ")[1].split()[0]) == pytest.approx(t, abs=2e-5)


def test_what_comes_near_to_zero_and_what_goes_through_is_not_told_as_touching() -> None:
    heights = '  near: {when: "(ball.y - 0.5)^2 + 1.0e-6"}\n  cubic: {when: "(ball.y - 0.5)^3"}\n  half:'
    motion = simulate(loads(BALL.replace("  half:", heights)), t_end=0.4)
    assert motion.events.names == ("cubic",)
    assert not [note for note in motion.info.notes if "grazing" in note]


@pytest.mark.parametrize(
    ("when", "direction", "count"),
    [("t", "rising", 1), ("t", "falling", 0), ("t", "both", 0), ("t - 1", "rising", 0), ("t - 0.999999", "rising", 1)],
)
def test_events_where_the_run_begins_and_ends(when: str, direction: str, count: int) -> None:
    """At zero at the start: met on its way in its direction. At zero at the end: not passed. It stops at once."""
    entry = f'{{when: "{when}", direction: {direction}, action: stop}}'
    motion = simulate(loads(BALL.replace('{when: "ball.x - 0.5"}', entry)), t_end=1.0)
    assert motion.events.counts().get("half", 0) == count
    assert motion.info.reason == (f"event 'half' at t = {0 if when == 't' else 0.999999}" if count else "")


@pytest.mark.parametrize(
    ("changes", "code", "what"),
    [
        ({"when": symbol("ball.z")}, "expression-name", "unknown name 'ball.z'; did you mean"),
        ({"when": "ball.y"}, "wrong-shape", "should be an expression"),
        ({"when": symbol("reaction.P.y")}, "expression-name", "unknown name 'reaction.P.y'"),
        ({"direction": "down"}, "wrong-shape", "'down': should be 'both', 'rising' or 'falling'"),
        ({"action": "halt"}, "wrong-shape", "'halt': should be 'record', 'stop' or 'set'"),
        ({"action": "set"}, "nothing-set", "nothing is set"),
        ({"action": "set", "velocities": {"ball.vz": 1.0}}, "unknown-velocity", "did you mean 'ball.v"),
        ({"action": "set", "velocities": {"ball.vx": symbol("w")}}, "expression-name", "unknown name 'w'"),
        ({"action": "set", "release": ("pin",)}, "unknown-joint", "no joint 'pin'"),
        ({"action": "set", "release": "pin"}, "wrong-shape", "write ('pin',)"),
        ({"action": "set", "restitution": 2.0}, "bad-restitution", "from 0 to 1"),
        ({"name": "bounce"}, "duplicate-name", "two events 'bounce'"),
    ],
)
def test_a_wrong_event_from_python_is_refused_as_from_a_file(changes: dict[str, object], code: str, what: str) -> None:
    model = loads(BALL)
    event = replace(Event("kick", symbol("ball.y") - 0.5), **changes)  # type: ignore[arg-type]
    with pytest.raises(ModelError) as fault:
        simulate(replace(model, events=(*model.events, event)))
    assert fault.value.code == code
    assert what in str(fault.value)
    assert f"events.{event.name}" in str(fault.value)


def test_a_joint_that_is_never_open_is_not_engaged() -> None:
    with pytest.raises(ModelError, match=r"joint 'B' is never open; write open: true") as fault:
        loads(LATCH.replace("engage: latch", "engage: [latch, B]"))
    assert fault.value.code == "no-effect"


@pytest.mark.parametrize("suffix", [".nc", ".csv"])
@pytest.mark.parametrize(
    ("text", "t_end"),
    [(FOUR_BAR, 1.5), (LATCH, 2.0), (DROP, 1.0), (STICKS, 3.0)],
    ids=["pin", "latch", "contact", "belt"],
)
@pytest.mark.sampled
def test_a_motion_whose_joints_and_contacts_have_changed_is_resumed(
    text: str, t_end: float, suffix: str, tmp_path: Path
) -> None:
    """Broken off by its number of steps at half of them, kept in a file, gone on with: the motion of one run."""
    model = loads(text)
    whole = simulate(model, t_end=t_end, start=Start(assemble=True))
    with pytest.raises(NumericalStop) as stop:
        simulate(
            model,
            t_end=t_end,
            start=Start(assemble=True),
            integrator=Integrator(max_steps=(whole.info.steps + whole.info.rejected) // 2),
        )
    first = stop.value.trajectory
    assert 0.0 < first.t[-1] < t_end
    assert first.info.held
    first.save(tmp_path / f"first{suffix}")
    motion = simulate(
        model, t_end=t_end, start=Start(assemble=True, resume=Trajectory.load(tmp_path / f"first{suffix}"))
    )
    assert motion.events.names == whole.events.names
    np.testing.assert_allclose(motion.events.t, whole.events.t, atol=1e-7)
    np.testing.assert_array_equal(motion.t, whole.t)
    np.testing.assert_allclose(motion.q, whole.q, atol=1e-6)
    assert np.max(np.abs(motion.drift())) < 1e-6


@pytest.mark.parametrize("integrator", ["auto", "radau5", "generalized-alpha"])
def test_what_happens_in_the_moment_of_an_impact_happens_once(integrator: str) -> None:
    """Two balls touch the floor together, in the moment in which one is pushed sideways by 1 m/s."""
    text = """
linkwork: 1
name: two
parameters: {h: 0.7, g: 9.81}
bodies:
  first: {mass: 1.3, inertia: 0.01, position: [0, h]}
  second: {mass: 0.4, inertia: 0.02, position: [1, h], velocity: [0.3, 0]}
events:
  first: {when: first.y, direction: falling, action: set, restitution: 0.9}
  second: {when: second.y, direction: falling, action: set, restitution: 0.5}
  mark: {when: "t - sqrt(2*h/g)"}
  push: {when: "t - sqrt(2*h/g)", action: set, velocities: {second.vx: second.vx + 1}}
simulation: {t_end: 0.7, step: 0.05, rtol: 1.0e-10}
"""
    motion = simulate(loads(text), integrator=integrator)
    assert motion.events.counts() == {"first": 1, "second": 1, "mark": 1, "push": 1}
    touch = np.sqrt(1.4 / 9.81)
    left = 0.7 - touch
    rebounds = [e * 9.81 * touch * left - 0.5 * 9.81 * left**2 for e in (0.9, 0.5)]
    found = [motion[name][-1] for name in ("first.y", "second.y", "second.x", "second.vx")]
    np.testing.assert_allclose(found, [*rebounds, 1.0 + 0.3 * touch + 1.3 * left, 1.3], atol=1e-11)


def test_friction_in_a_joint_that_opens_is_noted() -> None:
    """The bar keeps rubbing at the pin that has let it go."""
    text = """
linkwork: 1
ground: {points: {O: [0, 0]}}
bodies: {bar: {mass: 1, inertia: 0.1, position: [0.5, 0], points: {O: [-0.5, 0]}}}
joints: {pin: {type: revolute, i: ground.O, j: bar.O}}
forces: {rubs: {type: joint-friction, joint: pin, normal_force: 5, radius: 0.02, dynamic: 0.3}}
events: {drop: {when: "t - 0.1", action: set, release: pin}}
simulation: {t_end: 0.2}
"""
    assert any("'rubs'" in note and "[acts-while-open]" in note for note in simulate(loads(text)).info.notes)
    kept = text.replace("release: pin", "velocities: {bar.omega: 0}")
    assert not any("[acts-while-open]" in note for note in simulate(loads(kept)).info.notes)


def test_events_that_contradict_each_other_are_both_named() -> None:
    pair = """
  left: {when: "t - 0.3", action: set, velocities: {ball.vx: -1}}
  right: {when: "t - 0.3", action: set, velocities: {ball.vx: 1}}
simulation:"""
    with pytest.raises(NumericalStop, match="by 'left', 'right' contradict") as stop:
        simulate(loads(BALL.replace("\nsimulation:", pair)))
    assert stop.value.code == "impossible-event"


def test_what_is_being_noted_when_the_user_interrupts_happens_again_in_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A signal comes while the begin of a contact is noted: that event belongs to the motion that is resumed."""
    model, note = loads(DROP), Course.happen
    whole = simulate(model, t_end=1.0)
    with monkeypatch.context() as patch:

        def interrupt(course: Course, moment: Moment, asked: bool) -> None:
            note(course, moment, asked)
            if len(course.happenings) == 3:
                raise KeyboardInterrupt

        patch.setattr(Course, "happen", interrupt)
        patch.setattr("linkwork.simulation.run.FIRST_BUDGET", 1)  # pieces of few steps
        with pytest.raises(Interrupted) as stop:
            simulate(model, t_end=1.0)
    first = stop.value.trajectory
    assert len(whole.events.t) == 4
    assert np.all(first.events.t <= first.t[-1])
    motion = simulate(model, t_end=1.0, start=Start(resume=first))
    assert motion.events.names == whole.events.names
    np.testing.assert_allclose(motion.q, whole.q, atol=1e-6)


def test_a_block_interrupted_just_before_it_sticks_is_noted_to_stick(monkeypatch: pytest.MonkeyPatch) -> None:
    """At rest on its belt up to rounding, which at the start of a run would be sticking from the start."""
    model = loads(STICKS)
    whole = simulate(model, t_end=3.0)
    caught = float(times(whole, "belt.stick")[-1])

    def interrupt(fraction: float, t: float) -> None:
        if t >= caught:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("linkwork.simulation.run.SECONDS", 0.0)  # pieces of one step
        patch.setattr("linkwork.simulation.run.FIRST_BUDGET", 1)
        with pytest.raises(Interrupted) as stop:
            simulate(model, t_end=3.0, progress=interrupt)
    first = stop.value.trajectory
    assert first.t[-1] == pytest.approx(caught, rel=1e-13)  # the end of the step before
    assert len(first.events.t) < len(whole.events.t)
    motion = simulate(model, t_end=3.0, start=Start(resume=first))
    assert motion.events.names == whole.events.names
    np.testing.assert_allclose(motion.q, whole.q, atol=1e-7)


def test_many_points_that_touch_at_nearly_the_same_time_are_no_endless_event() -> None:
    """Thirty points under a plate tilted by 1 nrad meet the floor within a nanosecond, each once, and leave it."""
    floor = "type: line-contact, i: ground.O, normal: [0, 1], model: hunt-crossley, stiffness: 1.0e+6, restitution: 0.7"
    points = ", ".join(f"P{k}: [{k / 29 - 0.5:.6f}, -0.1]" for k in range(30))
    contacts = "".join(f"  c{k}: {{{floor}, j: plate.P{k}}}\n" for k in range(30))
    motion = simulate(
        loads(
            f"""
linkwork: 1
ground: {{points: {{O: [0, 0]}}}}
bodies:
  plate: {{mass: 2, inertia: 0.3, position: [0, 0.3], angle: 1.0e-9, points: {{{points}}}}}
forces:
{contacts}
simulation: {{t_end: 0.22, step: 0.01}}
"""
        )
    )
    begun = [name for name in motion.events.names if name.endswith(".begin")]
    assert sorted(begun) == sorted(f"c{k}.begin" for k in range(30))
    np.testing.assert_allclose(motion.events.t[:30], math.sqrt(2 * 0.2 / 9.81), atol=1e-8)
    assert float(np.ptp(motion.events.t[:30])) > 0.0


HUNG = """
linkwork: 1
ground: {points: {A: [-0.5, 0], B: [0.5, 0]}}
bodies: {load: {mass: 10, inertia: 0.5, position: [0, -0.5*sqrt(3)], points: {T: [0, 0]}}}
joints:
  a: {type: distance, i: ground.A, j: load.T}
  b: {type: distance, i: ground.B, j: load.T}
events:
  cut: {when: "t - 0.5", action: set, release: a}
  break: {when: "reaction.b.tension - 70", direction: rising, action: set, release: b}
  slack: {when: "reaction.b.tension - 20", direction: falling}
simulation: {t_end: 0.8, step: 0.1}
"""


@pytest.mark.parametrize("method", [{}, {"coordinates": "joint"}, {"integrator": "radau5"}])
@pytest.mark.sampled
def test_a_rope_that_breaks_hands_its_load_on_to_another_that_breaks_with_it(method: dict[str, Any]) -> None:
    """At 30 deg from the vertical each carries m g/(2 cos 30 deg) = 56.6 N, and one alone m g cos 30 deg = 85 N."""
    motion = simulate(loads(HUNG), **method)
    assert motion.events.names == ("cut", "break", "slack")
    np.testing.assert_allclose(motion.events.t, 0.5, atol=1e-12)
    late = motion.t > 0.55
    np.testing.assert_allclose(
        motion["load.y"][late], -0.5 * math.sqrt(3) - 9.81 / 2 * (motion.t[late] - 0.5) ** 2, atol=1e-9
    )
    strong = simulate(loads(HUNG.replace("- 70", "- 86")), **method, t_end=0.51)
    assert strong.events.names == ("cut",)
    assert strong["reaction:b.tension"][-1] == pytest.approx(98.1 * math.cos(math.pi / 6), abs=0.1)


@pytest.mark.parametrize("normal_force", [100.0, 0.001])
def test_friction_that_begins_with_the_run_is_no_jump(normal_force: float) -> None:
    """A bob hangs from a block, which sticks to its belt or slips from the start on: the pin feels one of both."""
    motion = simulate(
        loads(
            f"""
linkwork: 1
ground: {{points: {{O: [0, 0], W: [-1, 0]}}}}
bodies:
  block: {{mass: 2, inertia: 0.01, velocity: [0.1, 0], points: {{C: [0, 0]}}}}
  bob: {{mass: 0.1, inertia: 0.01, position: [0, -0.3], velocity: [0.1, 0], points: {{C: [0, 0.3]}}}}
joints:
  slide: {{type: prismatic, i: ground.O, j: block.C, axis: [1, 0]}}
  pin: {{type: revolute, i: block.C, j: bob.C}}
forces:
  spring: {{type: spring-damper, i: ground.W, j: block.C, stiffness: 200, free_length: 0.9}}
  belt: {{type: stick-slip, joint: slide, normal_force: {normal_force}, speed: 0.1, dynamic: 0.4, static: 0.5}}
events: {{pulled: {{when: "reaction.pin.x + 0.2"}}}}
simulation: {{t_end: 0.05}}
"""
        )
    )
    assert motion["reaction:pin.x"][0] == pytest.approx(0.0 if normal_force > 1 else -0.513, abs=1e-3)
    assert "pulled" not in motion.events.names


@pytest.mark.parametrize(
    ("direction", "expected"), [("rising", [1.0, 2.8]), ("both", [1.0, 1.9, 2.8]), ("falling", [0.0, 1.9])]
)
def test_a_velocity_that_an_impact_reverses_goes_through_zero_there(direction: str, expected: list[float]) -> None:
    """A ball falls from rest, bounces at t_1 = sqrt(2/g) and, after its apex, at t_1 (1 + 2 e)."""
    text = BALL.replace("  half:", f'  turn: {{when: "ball.vy", direction: {direction}}}\n  half:')
    motion = simulate(loads(text), t_end=1.4)
    once = math.sqrt(2 / 9.81)
    np.testing.assert_allclose(times(motion, "turn"), once * np.array(expected), atol=1e-9)
    ends = text.replace(f"direction: {direction}}}", f"direction: {direction}, action: stop}}")
    assert simulate(loads(ends), t_end=1.4).t[-1] == pytest.approx(once * expected[0], abs=1e-9)


FLOOR = """
linkwork: 1
bodies: {{ball: {{mass: 1, inertia: 0.1, position: [0, {y!r}], velocity: [{vx!r}, {vy!r}]}}}}
events: {{lands: {{when: "ball.y - {floor!r}", direction: {direction}, action: set, {how}}}}}
simulation: {{t_end: {t_end!r}, step: {step!r}}}
"""
HEIGHTS = {0.0: 1.0, 0.1: 1.0, -3.7: 3.7, 1e-6: 1e-6, 1e6: 1e6}  # of a floor, and from how far above it something falls


def above_a_floor(floor: float, how: str, direction: str = "falling", speed: float = 0.0, steady: float = 0.0) -> str:
    """A ball above a floor, with speeds in falling heights per second; a run of three times what it takes to fall."""
    size = HEIGHTS[floor]
    t_end = 3.0 * (1.0 / speed if speed else math.sqrt(2.0 * size / 9.81))
    return FLOOR.format(
        y=floor + size, vx=steady * size, vy=-speed * size, floor=floor, how=how, direction=direction, t_end=t_end,
        step=t_end / 50,
    )  # fmt: skip


@pytest.mark.parametrize("direction", ["falling", "both"])
@pytest.mark.parametrize("how", ["restitution: 0", "velocities: {ball.vy: 0}"])
@pytest.mark.parametrize("floor", HEIGHTS)
def test_a_body_that_a_plastic_impact_leaves_to_its_weight_does_not_fall_through_the_floor(
    floor: float, how: str, direction: str
) -> None:
    """It is at rest on the floor after sqrt(2 h/g), pressed down by its weight: nothing holds it, which is said."""
    size = HEIGHTS[floor]
    with pytest.raises(NumericalStop, match="'lands' happens without end") as stop:
        simulate(loads(above_a_floor(floor, how, direction)))
    motion = stop.value.trajectory
    assert stop.value.code == "not-held"
    np.testing.assert_allclose(motion.events.t, [math.sqrt(2.0 * size / 9.81)], rtol=1e-12)
    np.testing.assert_allclose(motion.events.v_before[:, 1], [-math.sqrt(2.0 * size * 9.81)], rtol=1e-12)
    assert abs(motion.events.v_after[0, 1]) <= 1e-14 * abs(motion.events.v_before[0, 1])
    assert motion["ball.y"][-1] == pytest.approx(floor, abs=1e-12 * size)


@pytest.mark.parametrize("floor", HEIGHTS)
def test_a_body_that_nothing_presses_on_a_floor_slides_along_it_after_a_plastic_impact(floor: float) -> None:
    """Without weight it stays at the height of the floor, its speed along it what it was."""
    size = HEIGHTS[floor]
    text = above_a_floor(floor, "restitution: 0", speed=1.0, steady=2.0).replace("bodies", "gravity: [0, 0]\nbodies")
    motion = simulate(loads(text), t_end=3.0)
    np.testing.assert_allclose(motion.events.t, [1.0], rtol=1e-12)
    np.testing.assert_allclose(motion["ball.x"] / size, 2.0 * motion.t, atol=1e-12)
    np.testing.assert_allclose((motion["ball.y"] - floor) / size, np.maximum(1.0 - motion.t, 0.0), atol=1e-12)


@pytest.mark.parametrize("floor", HEIGHTS)
def test_a_body_that_lands_plastically_stays_where_a_joint_engages(floor: float) -> None:
    """Then the joint carries its weight, and it slides along the floor with the speed it had."""
    size = HEIGHTS[floor]
    text = above_a_floor(floor, "restitution: 0, engage: rail", steady=0.5)
    text = (
        text.replace("inertia: 0.1", "inertia: 0.1, points: {C: [0, 0]}")
        + f"""
ground: {{points: {{O: [0, {floor!r}]}}}}
joints: {{rail: {{type: prismatic, i: ground.O, j: ball.C, axis: [1, 0], open: true}}}}
"""
    )
    motion = simulate(loads(text))
    landed = motion.t > math.sqrt(2.0 * size / 9.81)
    np.testing.assert_allclose(motion["ball.y"][landed], floor, atol=1e-9 * size)
    np.testing.assert_allclose(motion["ball.x"] / size, 0.5 * motion.t, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(motion["reaction:rail.normal"][landed], 9.81, rtol=1e-9)


@pytest.mark.parametrize("direction", ["falling", "both"])
@pytest.mark.parametrize("floor", HEIGHTS)
def test_bounces_that_accumulate_do_so_on_a_floor_of_any_height(floor: float, direction: str) -> None:
    """At t = sqrt(2 h/g) (1 + e)/(1 - e), and the ball is never below the floor."""
    size = HEIGHTS[floor]
    with pytest.raises(NumericalStop, match="'lands' happens without end") as stop:
        simulate(loads(above_a_floor(floor, "restitution: 0.4", direction)))
    motion = stop.value.trajectory
    assert motion.t[-1] == pytest.approx(math.sqrt(2.0 * size / 9.81) * 1.4 / 0.6, rel=1e-5)
    assert np.min(motion["ball.y"]) >= floor - 1e-12 * size


ROD = """
linkwork: 1
bodies:
  rod:
    {{mass: {mass!r}, inertia: {inertia!r}, position: [0, {y!r}], angle: {angle!r}, velocity: [0, {vy!r}],
     points: {{A: [{a!r}, 0], B: [{b!r}, 0], C: [0, 0]}}}}
gravity: [0, 0]
events:
  a: {{when: "rod.A.y - {floor!r}", direction: falling, action: set, restitution: 0.8}}
  b: {{when: "rod.B.y - {floor!r}", direction: falling, action: set, restitution: 0.8}}
  c: {{when: "rod.C.y - {floor!r}", direction: falling, action: set, restitution: 0.8}}
simulation: {{t_end: 1.2, step: 0.1}}
"""


@pytest.mark.parametrize("mass", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("floor", [0.0, 0.3, 1e-6, 1e3])
@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
@pytest.mark.sampled
def test_a_rod_hits_the_floor_with_one_end_or_with_all_of_it(mass: float, floor: float, length: float) -> None:
    """One end: the impulse -(1 + e) v_n/(1/m + r^2/I); three points at once, of which one is redundant: v -> -e v."""
    inertia, speed = mass * length**2 / 12.0, length
    given = {"mass": mass, "inertia": inertia, "a": -length / 2, "b": length / 2, "floor": floor, "vy": -speed}
    flat = simulate(loads(ROD.format(**given, y=floor + length, angle=0.0)))
    assert sorted(flat.events.names) == ["a", "b", "c"]
    np.testing.assert_allclose(flat.events.v_after[:, 1], 0.8 * speed, rtol=1e-9)
    np.testing.assert_allclose(flat.events.v_after[:, 2] * length, 0.0, atol=1e-9 * speed)
    drop = length / 2 * math.sin(0.3)
    one = simulate(loads(ROD.format(**given, y=floor + length + drop, angle=0.3)), t_end=1.05)
    r = -length / 2 * math.cos(0.3)
    impulse = 1.8 * speed / (1.0 / mass + r**2 / inertia)
    assert one.events.names == ("a",)
    np.testing.assert_allclose(one.events.t, [1.0], rtol=1e-9)
    np.testing.assert_allclose(one.events.v_after[0, 1], -speed + impulse / mass, rtol=1e-9)
    np.testing.assert_allclose(one.events.v_after[0, 2], r * impulse / inertia, rtol=1e-9)


@pytest.mark.parametrize("mass", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("x", [0.0, 1e-9, -0.5, -0.50000001, 1e6])
def test_a_kick_of_a_free_body_does_not_depend_on_where_it_is(x: float, mass: float) -> None:
    """Velocities are as the kick sets them, be it near the origin, in passing it, or far from it."""
    body = f"mass: {mass}, inertia: {0.1 * mass}, position: [{x}, 0], velocity: [{1.0 if x < 0.0 else 0.0}, 0]"
    kick = "when: t - 0.5, action: set, velocities: {ball.vx: 1, ball.vy: ball.vy + 3, ball.omega: 2}"
    motion = simulate(
        loads(f"linkwork: 1\ngravity: [0, 0]\nbodies: {{ball: {{{body}}}}}\nevents: {{kick: {{{kick}}}}}"), t_end=1.0
    )
    np.testing.assert_allclose(motion.v[-1], [1.0, 3.0, 2.0], rtol=1e-12)
    np.testing.assert_allclose(motion.q[-1] - [x, 0.0, 0.0], [1.0 if x < 0.0 else 0.5, 1.5, 1.0], rtol=1e-9)


def test_a_run_of_too_many_steps_does_not_blame_joints_that_are_open() -> None:
    """Their rows hold nothing, and are no singular position."""
    for text in (LATCH, FOUR_BAR.replace("- 18^2", "- 1^2")):
        with pytest.raises(NumericalStop) as stop:
            simulate(loads(text), start=Start(assemble=True), integrator=Integrator(max_step=1e-3, max_steps=100))
        assert stop.value.code == "too-many-steps"
        assert "singular" not in str(stop.value)


@pytest.mark.parametrize(
    "when", ["sqrt(2 - ball.x) - 0.5", "log(2 - ball.x) + log(4)", "asin(ball.x - 1) - asin(0.75)"]
)
def test_an_event_happens_before_its_formula_loses_its_value(when: str) -> None:
    """All are zero at x = 1.75, and none has a value from x = 2 on, where the same step may end."""
    entry = f'{{when: "{when}", action: stop}}'
    motion = simulate(loads(BALL.replace('{when: "ball.x - 0.5"}', entry)), t_end=7.0)
    assert motion.info.reason.startswith("event 'half'")
    assert motion["ball.x"][-1] == pytest.approx(1.75, abs=1e-12)


def test_events_that_set_each_other_at_one_time_end_the_run_if_they_do_without_end() -> None:
    """The speed 2 calls for 1 and 1 for 2: there is no motion after t = 1/2; where 1 calls for nothing there is one."""
    text = """linkwork: 1
gravity: [0, 0]
bodies: {b: {mass: 1, inertia: 1, velocity: [1, 0]}}
events:
  fast: {when: "b.vx - 1.5", direction: rising, action: set, velocities: {b.vx: 1}}
  slow: {when: "b.vx - 1.2", direction: falling, action: set, velocities: {b.vx: 2}}
  kick: {when: "t - 0.5", action: set, velocities: {b.vx: 2}}
simulation: {t_end: 1, step: 0.1}
"""
    with pytest.raises(NumericalStop, match="'fast', 'slow' happen without end") as stop:
        simulate(loads(text))
    assert stop.value.code == "events-accumulate"
    assert stop.value.trajectory.events.t[-1] == pytest.approx(0.5, abs=1e-12)
    motion = simulate(loads(text.replace("velocities: {b.vx: 2}}\n  kick", "velocities: {b.vx: 1.4}}\n  kick")))
    assert motion.events.names == ("kick", "fast", "slow")
    assert motion["b.x"][-1] == pytest.approx(0.5 + 0.5 * 1.4, abs=1e-12)


def summary(motion: Trajectory) -> str:
    return "\n".join(text for _, text in summary_lines(motion))


def test_energy_lost_in_impacts_is_told() -> None:
    """A ball dropped from h keeps e^2 of its energy in each bounce: after k of them m g h (1 - e^(2 k)) is lost."""
    motion = simulate(loads(BALL), t_end=2.0)
    bounces = times(motion, "bounce")
    h, m = float(motion["ball.y"][0]), float(motion.energy["potential"][0]) / 9.81 / float(motion["ball.y"][0])
    assert len(bounces) > 1
    assert motion.info.impact_loss == pytest.approx(m * 9.81 * h * (1 - 0.9 ** (2 * len(bounces))), rel=1e-8)
    assert f"{motion.info.impact_loss:.6g} J lost in impacts" in summary(motion)
    assert "impacts" not in summary(simulate(loads(BALL), t_end=0.1))


BREAKING = """
linkwork: 1
name: breaks
ground: {points: {O: [0, 0]}}
bodies:
  arm: {mass: 1, inertia: 0.1, position: [0.5, 0], points: {O: [-0.5, 0], P: [0.5, 0]}}
  tip: {mass: 2, inertia: 0.1, position: [1.3, 0], points: {P: [-0.3, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: arm.O}
  P: {type: revolute, i: arm.P, j: tip.P}
events:
  breaks: {when: "t - 0.3", direction: rising, action: set, release: P}
simulation: {t_end: 1}
"""


def test_freedoms_at_the_end_are_told_where_joints_have_opened() -> None:
    """Two bodies of three freedoms on two pins; without the second, four are left."""
    motion = simulate(loads(BREAKING))
    assert (motion.info.dof, motion.info.final_dof) == (2, 4)
    assert "4 degrees of freedom at the end" in summary(motion)
    held = simulate(loads(BREAKING), t_end=0.2)
    assert (held.info.dof, held.info.final_dof) == (2, 2)
    assert "freedom at the end" not in summary(held)


def test_an_event_ends_a_run_of_a_structure_in_minimal_coordinates() -> None:
    """Two slides across each other leave no velocity to be changed; time goes on, up to the event."""
    text = """linkwork: 1
ground: {points: {O: [0, 0]}}
bodies: {b: {mass: 1, inertia: 1, points: {C: [0, 0]}}}
joints:
  x: {type: prismatic, i: ground.O, j: b.C, axis: [1, 0]}
  y: {type: prismatic, i: ground.O, j: b.C, axis: [1, 1]}
events: {enough: {when: "t - 0.3", action: stop}}
simulation: {t_end: 1, step: 0.1}
"""
    motion = simulate(loads(text), coordinates="minimal")
    assert motion.t[-1] == pytest.approx(0.3, abs=1e-12)
    np.testing.assert_allclose(motion["reaction:x.normal"], 9.81, atol=1e-9)


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_a_plastic_impact_that_engages_a_joint_happens_once(coordinates: str) -> None:
    """A ball falls on a pin that holds it, and turns there; what is zero with any factor does not happen again."""
    text = """linkwork: 1
ground: {points: {F: [0, 0]}}
bodies: {ball: {mass: 1, inertia: 0.1, position: [0, 1], angular_velocity: 1, points: {C: [0, 0]}}}
joints: {floor: {type: revolute, i: ground.F, j: ball.C, open: true}}
events: {land: {when: "ball.y*cos(ball.phi)", direction: falling, action: set, restitution: 0, engage: [floor]}}
simulation: {t_end: 12, step: 0.1}
"""
    motion = simulate(loads(text), coordinates=coordinates)
    np.testing.assert_allclose(times(motion, "land"), [math.sqrt(2 / 9.81)], atol=1e-8)
    assert motion["ball.phi"][-1] == pytest.approx(12.0, abs=1e-6)
    assert motion["reaction:floor.y"][-1] == pytest.approx(9.81, abs=1e-6)


@pytest.mark.parametrize("integrator", ["dop853", "dopri5", "radau5"])
def test_a_height_that_is_just_reached_is_told_with_its_time(integrator: str) -> None:
    """A throw of 5 m/s is highest after v/g: to the digits of its speed, not to the root of those of the way."""
    text = """linkwork: 1
bodies: {ball: {mass: 1, inertia: 1, velocity: [0, 5]}}
events: {top: {when: "ball.y - 25/19.62"}}
simulation: {t_end: 1, step: 0.1}
"""
    (note,) = (note for note in simulate(loads(text), integrator=integrator).info.notes if note.code == "grazing")
    assert note.data["t"] == pytest.approx(5 / 9.81, abs=1e-9)
