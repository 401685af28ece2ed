"""Contact, friction, end stops, drag and motors: their laws against closed forms and independent integrations."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from published import REFERENCE
from scipy.integrate import solve_ivp

from linkwork import Trajectory, load, loads, prepare, simulate
from linkwork.elements.contact import MODELS
from linkwork.errors import ModelError

Array = NDArray[np.float64]


DROP = """
linkwork: 1
ground: {{points: {{O: [0, 0]}}}}
bodies:
  ball: {{mass: 2, inertia: 0.1, position: [0, 0.3], velocity: [0.4, -1], angular_velocity: 3, points: {{C: [0, 0]}}}}
forces:
  floor: {{type: line-contact, i: ground.O, j: ball.C, normal: [0, 1], radius_j: 0.1, {law}}}
simulation: {{t_end: 0.4, step: 0.002, rtol: 1.0e-10, atol: 1.0e-12}}
"""
LAWS = {
    "linear": "stiffness: 2.0e+5, damping: 50, model: linear",
    "kelvin-voigt": "stiffness: 2.0e+5, damping: 50, model: kelvin-voigt",
    "hunt-crossley": "stiffness: 1.0e+8, model: hunt-crossley, restitution: 0.8",
    "lankarani-nikravesh": "stiffness: 1.0e+8, model: lankarani-nikravesh, restitution: 0.8",
    "flores-machado": "stiffness: 1.0e+8, model: flores-machado, restitution: 0.8",
}


def written_out(model: str, v_0: float) -> tuple[float, float]:
    """How long a mass of 2 kg that meets the floor with v_0 touches it, and its speed afterwards, by SciPy."""
    e, k, c, m, g = 0.8, 1e8, 50.0, 2.0, 9.81

    def force(depth: float, rate: float) -> float:
        if model in ("linear", "kelvin-voigt"):
            F = 2e5 * depth + c * rate
            return max(F, 0.0) if model == "linear" else F
        loss = {
            "hunt-crossley": 3 / 2 * (1 - e),
            "lankarani-nikravesh": 3 / 4 * (1 - e**2),
            "flores-machado": 8 / 5 * (1 - e) / e,
        }[model]
        return float(k * max(depth, 0.0) ** 1.5 * (1 + loss * rate / v_0))

    def leaves(t: float, y: Array) -> float:
        return float(y[0]) if t > 1e-9 else 1.0

    leaves.terminal, leaves.direction = True, -1  # type: ignore[attr-defined]
    found = solve_ivp(
        lambda t, y: [y[1], g - force(y[0], y[1]) / m],
        (0.0, 0.1),
        [0.0, v_0],
        method="DOP853",
        rtol=1e-12,
        atol=1e-15,
        max_step=1e-5,
        events=leaves,
    )
    return float(found.t[-1]), float(found.y[1, -1])


def test_each_contact_has_the_force_of_its_own_begin() -> None:
    """F = k delta^1.5 (1 + 3/2 (1 - e) delta_dot/v_0) at report times in bounce after bounce, v_0 of the last begin."""
    text = DROP.format(law="stiffness: 1.0e+5, model: hunt-crossley, restitution: 0.7")
    motion = simulate(loads(text.replace("t_end: 0.4, step: 0.002", "t_end: 1.2, step: 0.0005")))
    begins = [k for k, name in enumerate(motion.events.names) if name == "floor.begin"]
    assert len(begins) >= 4
    times, speeds = motion.events.t[begins], -motion.events.v_before[begins, 1]
    assert min(speeds) > 0.2  # slower ones are pressed together faster than they met
    depth, rate = 0.1 - motion["ball.y"], -motion["ball.vy"]
    touching = (depth > 1e-7) & (motion.t > times[0])
    v_0 = speeds[np.searchsorted(times, motion.t[touching]) - 1]
    assert len(set(v_0)) == len(begins)
    F = 1e5 * depth[touching] ** 1.5 * (1 + 1.5 * (1 - 0.7) * rate[touching] / v_0)
    np.testing.assert_allclose(2 * (motion["ball.ay"][touching] + 9.81), F, rtol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_a_ball_meets_the_floor_by_the_law_and_its_energy_is_accounted_for(model: str) -> None:
    """Begin from free fall in closed form, duration and speed afterwards from the law written out."""
    motion = simulate(loads(DROP.format(law=LAWS[model])))
    v_0 = math.sqrt(1 + 2 * 9.81 * 0.2)
    begin = (v_0 - 1) / 9.81
    assert motion.events.names[:2] == ("floor.begin", "floor.end")
    assert motion.events.t[0] == pytest.approx(begin, abs=1e-12)
    lasts, speed = written_out(model, v_0)
    assert motion.events.t[1] - motion.events.t[0] == pytest.approx(lasts, abs=1e-9)
    assert motion.events.v_before[1][1] == pytest.approx(-speed, abs=1e-7)
    assert motion.events.v_before[1][0] == pytest.approx(0.4)  # no friction
    assert np.max(np.abs(motion.drift())) < 1e-7
    assert motion["energy:dissipated"][-1] > 0.5


def test_restitution_near_one_is_what_the_law_promises() -> None:
    """For e near 1 Hunt-Crossley and Lankarani-Nikravesh leave with e v_0, to first order in 1 - e."""
    for model in ("hunt-crossley", "lankarani-nikravesh"):
        text = DROP.format(law=f"stiffness: 1.0e+9, model: {model}, restitution: 0.99")
        motion = simulate(loads(text))
        ratio = -motion.events.v_before[1][1] / motion.events.v_before[0][1]
        assert ratio == pytest.approx(0.99, abs=2e-4)


def test_friction_of_a_sliding_block_takes_its_speed_in_closed_form() -> None:
    """v = v_0 - mu g t; the block of 3 kg stands on two points, its weight stored in the floor."""
    text = """
linkwork: 1
ground: {points: {O: [0, 0]}}
bodies:
  block: {mass: 3, inertia: 0.05, position: [0, 0.1], velocity: [2, 0], points: {C: [0, -0.1]}}
joints:
  slide: {type: prismatic, i: ground.O, j: block.C, axis: [1, 0]}
forces:
  rub: {type: joint-friction, joint: slide, friction: FRICTION, dynamic: 0.3, normal_force: 3*9.81, transition: 0.001}
simulation: {t_end: 0.5, rtol: 1.0e-9}
"""
    for friction in ("tanh", "anderson", "brown-mcphee"):
        motion = simulate(loads(text.replace("FRICTION", friction)))
        np.testing.assert_allclose(motion["block.vx"], 2 - 0.3 * 9.81 * motion.t, atol=1e-7)
        assert np.max(np.abs(motion.drift())) < 1e-7


BELT = """
linkwork: 1
ground: {points: {O: [0, 0], W: [-1, 0]}}
bodies:
  block: {mass: 2, inertia: 0.01, position: [0, 0], velocity: [VELOCITY, 0], points: {C: [0, 0]}}
joints:
  slide: {type: prismatic, i: ground.O, j: block.C, axis: [1, 0]}
forces:
  spring: {type: spring-damper, i: ground.W, j: block.C, stiffness: 50, free_length: 1}
  belt: {type: stick-slip, joint: slide, normal_force: 2*9.81, speed: 0.1, dynamic: 0.15, static: 0.25}
simulation: {t_end: 10, step: 0.01, rtol: 1.0e-11, atol: 1.0e-12}
"""


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_a_block_on_a_belt_sticks_and_slips_in_closed_form(coordinates: str) -> None:
    """Sticks until k x = mu_s m g; slips about x_d = mu_d m g/k until its speed is that of the belt again."""
    motion = simulate(loads(BELT.replace("VELOCITY", "0.1")), coordinates=coordinates)
    m, k, speed, g = 2.0, 50.0, 0.1, 9.81
    omega, x_s, x_d = math.sqrt(k / m), 0.25 * m * g / k, 0.15 * m * g / k
    slip, stick = 2 / omega * (math.pi - math.atan((x_s - x_d) * omega / speed)), 2 * (x_s - x_d) / speed
    times = np.cumsum([x_s / speed, *([slip, stick] * 6)])
    times = times[times < 10.0]
    assert len(times) >= 10
    assert motion.events.names == (("belt.slip", "belt.stick") * len(times))[: len(times)]
    np.testing.assert_allclose(motion.events.t, times, rtol=0, atol=1e-9)
    since = motion.t[motion.t < times[1]][motion.t[motion.t < times[1]] > times[0]] - times[0]
    exact = x_d + (x_s - x_d) * np.cos(omega * since) + speed / omega * np.sin(omega * since)
    inside = (motion.t > times[0]) & (motion.t < times[1])
    np.testing.assert_allclose(motion["block.x"][inside], exact, atol=1e-9)
    np.testing.assert_allclose(motion["block.vx"][motion.t < times[0]], speed, atol=1e-12)
    assert np.max(np.abs(motion.drift())) < 1e-9
    assert motion.info.redundant == 0


def test_a_block_that_starts_slipping_is_caught_by_the_belt() -> None:
    """At rest on the moving belt: a = mu_d g - x k/m until v is that of the belt; it never slips forward."""
    motion = simulate(loads(BELT.replace("VELOCITY", "0")), t_end=0.5)
    omega, x_d = 5.0, 0.15 * 2 * 9.81 / 50
    first = math.asin(0.1 / (omega * x_d)) / omega
    assert motion.events.names[0] == "belt.stick"
    assert motion.events.t[0] == pytest.approx(first, abs=1e-9)
    held = simulate(loads(BELT.replace("VELOCITY", "0").replace("speed: 0.1", "speed: 0")), t_end=1.0)
    np.testing.assert_array_equal(held["block.x"], 0.0)  # a belt that stands, and a spring that is relaxed


@pytest.mark.parametrize("formulation", ["augmented", "ggl", "qr", "svd", "udwadia-kalaba"])
@pytest.mark.sampled
def test_one_block_breaks_loose_while_another_holds(formulation: str) -> None:
    """Pulled with 4 sin(3 t) against at most 1.5 N, at rest at the origin: loose from asin(0.375)/3 on, against 1 N.

    Positions of both blocks are rounding until then, which is no length of the mechanism.
    """
    motion = simulate(load(REFERENCE / "trust/two_stick_slip.json"), formulation=formulation)
    begin = math.asin(0.375) / 3
    assert motion.events.names[0] == "r1.slip"
    assert motion.events.t[0] == pytest.approx(begin, abs=1e-9)
    t = motion.t[(motion.t > begin) & (motion.t < 1.5)]
    since = t - begin
    x = ((4 * math.cos(3 * begin) * since - 4 / 3 * (np.sin(3 * t) - math.sin(3 * begin))) / 3 - since**2 / 2) / 1.5
    np.testing.assert_allclose(motion["b1.x"][np.isin(motion.t, t)], x, rtol=0, atol=1e-8)
    np.testing.assert_allclose(motion["b0.x"], 0.0, rtol=0, atol=1e-12)


def test_stick_slip_lets_go_at_once_where_it_cannot_hold() -> None:
    """The spring is stretched by more than mu_s m g/k at the start, and the block at rest with the belt: it slips."""
    text = BELT.replace("VELOCITY", "0.1").replace("position: [0, 0]", "position: [0.2, 0]")
    motion = simulate(loads(text), t_end=0.3)
    assert motion.events.names[0] == "belt.slip"
    assert motion.events.t[0] == 0.0
    x_d = 0.15 * 2 * 9.81 / 50
    exact = x_d + (0.2 - x_d) * np.cos(5 * motion.t) + 0.1 / 5 * np.sin(5 * motion.t)
    np.testing.assert_allclose(motion["block.x"], exact, atol=1e-9)


def test_friction_laws_have_their_published_values() -> None:
    """mu of Anderson between static and dynamic, Brown and McPhee largest near the transition; odd functions."""
    from linkwork.elements.friction import Friction
    from linkwork.expressions.evaluation import evaluate
    from linkwork.expressions.graph import symbol

    v = symbol("v")
    speeds = np.array([-0.3, -0.01, -1e-3, 0.0, 1e-3, 0.01, 0.3])
    anderson = Friction(friction="anderson", dynamic=0.15, static=0.2, transition=1e-4, stribeck=1e-3, viscous=0.01)
    found = [evaluate([anderson.mu(v)], {v: x})[0] for x in speeds]
    exact = (0.15 + 0.05 * np.exp(-((np.abs(speeds) / 1e-3) ** 2))) * np.tanh(1e4 * speeds) + 0.01 * speeds
    np.testing.assert_allclose(found, exact, atol=1e-15)
    brown = Friction(friction="brown-mcphee", dynamic=0.15, static=0.2, transition=1e-3)
    w = speeds / 1e-3
    exact = 0.15 * np.tanh(4 * w) + 0.05 * w / (w**2 / 4 + 3 / 4) ** 2
    np.testing.assert_allclose([evaluate([brown.mu(v)], {v: x})[0] for x in speeds], exact, atol=1e-15)
    assert exact[4] == pytest.approx(0.2, rel=1e-3)


def test_a_ball_thrown_with_backspin_rolls_where_friction_stops_sliding() -> None:
    """Sliding: v = v_0 - mu g t, omega = omega_0 - mu m g r t/J, until v = -omega r; then both stay."""
    text = DROP.format(
        law="stiffness: 1.0e+6, damping: 2000, friction: tanh, dynamic: 0.2, transition: 1.0e-4"
    ).replace("position: [0, 0.3], velocity: [0.4, -1]", f"position: [0, {0.1 - 2 * 9.81 / 1e6}], velocity: [0.4, 0]")
    motion = simulate(loads(text), t_end=0.5)
    v, w, r, m, J, mu_g = 0.4, 3.0, 0.1, 2.0, 0.1, 0.2 * 9.81
    t = (v + w * r) / (mu_g * (1 + m * r * r / J))
    sliding = motion.t < 0.98 * t
    np.testing.assert_allclose(motion["ball.vx"][sliding], v - mu_g * motion.t[sliding], atol=1e-6)
    np.testing.assert_allclose(motion["ball.omega"][sliding], w - mu_g * m * r / J * motion.t[sliding], atol=1e-5)
    assert motion["ball.vx"][-1] == pytest.approx(v - mu_g * t, abs=1e-5)
    assert motion["ball.vx"][-1] == pytest.approx(-r * motion["ball.omega"][-1], abs=1e-5)
    assert np.max(np.abs(motion.drift())) < 1e-6


def test_an_end_stop_turns_a_pendulum_around_without_loss() -> None:
    """A stiff stop at 0.2 rad: the energy stays, and so does the law k (angle - upper) of its torque."""
    text = """
linkwork: 1
ground: {points: {O: [0, 0]}}
bodies:
  arm: {mass: 1, inertia: 0.1, position: [0.5, 0], points: {O: [-0.5, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: arm.O}
forces:
  stop: {type: end-stop, joint: O, lower: -70 deg, stiffness: 2.0e+4}
simulation: {t_end: 2, step: 0.001, rtol: 1.0e-11, atol: 1.0e-11}
"""
    motion = simulate(loads(text))
    assert motion.events.counts()["stop.lower.begin"] >= 2
    assert np.max(np.abs(motion.drift())) < 1e-9 * 9.81 * 0.5 * math.sin(math.radians(70))  # of what falling turns over
    assert np.min(motion["arm.phi"]) > -math.radians(75)
    assert motion["arm.phi"][0] == 0.0
    inside = motion["arm.phi"] < -math.radians(70)
    depth = -math.radians(70) - motion["arm.phi"][inside]
    alpha = (2e4 * depth - 9.81 * 0.5 * np.cos(motion["arm.phi"][inside])) / (0.1 + 0.25)
    np.testing.assert_allclose(motion["arm.alpha"][inside], alpha, rtol=1e-9)


def hertz_cradle(n: int, k: float, v: float) -> Array:
    """Speeds of n balls of 1 kg in a row after the first came with v, by SciPy."""

    def rates(t: float, y: Array) -> Array:
        x, speed = y[:n], y[n:]
        push = k * np.maximum(x[:-1] - x[1:], 0.0) ** 1.5
        return np.concatenate([speed, np.append(0.0, push) - np.append(push, 0.0)])

    start = np.concatenate([np.zeros(n), [v], np.zeros(n - 1)])
    found = solve_ivp(rates, (0.0, 0.01), start, method="DOP853", rtol=1e-11, atol=1e-14, max_step=1e-5)
    return np.asarray(found.y[n:, -1])


def cradle(gap: float, extra: str) -> str:
    bodies = "".join(
        f"  b{k}: {{mass: 1, inertia: 0.01, position: [{k * (0.1 + gap)}, 0], velocity: [{1.0 if k == 0 else 0.0}, 0],"
        " points: {C: [0, 0]}}\n"
        for k in range(5)
    )
    head = "linkwork: 1\ngravity: [0, 0]\nground: {points: {O: [0, 0]}}\nbodies:\n"
    joints = "".join(f"  s{k}: {{type: prismatic, i: ground.O, j: b{k}.C, axis: [1, 0]}}\n" for k in range(5))
    settings = "simulation: {t_end: 0.01, step: 1.0e-4, rtol: 1.0e-11, atol: 1.0e-12}\n"
    return f"{head}{bodies}joints:\n{joints}{extra}{settings}"


def test_a_newtons_cradle_of_five_touching_balls_follows_hertz() -> None:
    """The last ball takes most of the speed, the others a little: the chain of five written out."""
    law = "radius_i: 0.05, radius_j: 0.05, stiffness: 1.0e+8, model: hunt-crossley"
    contacts = (f"  c{k}: {{type: circle-contact, i: b{k}.C, j: b{k + 1}.C, {law}}}\n" for k in range(4))
    forces = "forces:\n" + "".join(contacts)
    motion = simulate(loads(cradle(0.0, forces)))
    speeds = hertz_cradle(5, 1e8, 1.0)
    found = np.array([motion[f"b{k}.vx"][-1] for k in range(5)])
    np.testing.assert_allclose(found, speeds, atol=1e-6)
    assert found[4] > 0.98
    assert np.sum(found) == pytest.approx(1.0, abs=1e-9)
    assert np.max(np.abs(motion.drift())) < 1e-9


def test_a_newtons_cradle_of_impacts_hands_the_speed_on() -> None:
    """With gaps of a micrometre, each elastic impact swaps the speeds of two equal balls: the last one leaves."""
    line = '  hit{0}: {{when: "b{1}.x - b{0}.x - 0.1", direction: falling, action: set, restitution: 1}}\n'
    motion = simulate(loads(cradle(1e-6, "events:\n" + "".join(line.format(k, k + 1) for k in range(4)))))
    assert motion.events.names == ("hit0", "hit1", "hit2", "hit3")
    np.testing.assert_allclose(motion.events.t, 1e-6 * np.arange(1, 5), atol=1e-12)
    np.testing.assert_allclose([motion[f"b{k}.vx"][-1] for k in range(5)], [0, 0, 0, 0, 1], atol=1e-9)


def test_impacts_of_balls_that_touch_follow_each_other_at_once() -> None:
    """Without gaps, 1/8 m apart so that nothing is rounded: four impacts at t = 0, one after the other."""
    line = '  hit{0}: {{when: "b{1}.x - b{0}.x - 0.125", direction: falling, action: set, restitution: 1}}\n'
    motion = simulate(loads(cradle(0.025, "events:\n" + "".join(line.format(k, k + 1) for k in range(4)))))
    assert motion.events.names == ("hit0", "hit1", "hit2", "hit3")
    np.testing.assert_allclose(motion.events.t, 0.0, atol=1e-12)
    np.testing.assert_allclose([motion[f"b{k}.vx"][-1] for k in range(5)], [0, 0, 0, 0, 1], atol=1e-9)


def test_drag_and_motor_in_closed_form() -> None:
    """v = v_0/(1 + c v_0 t/m) of m v' = -c v^2; omega = w (1 - exp(-T t/(J w))) of J omega' = T (1 - omega/w)."""
    text = """
linkwork: 1
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies:
  car: {mass: 4, inertia: 1, velocity: [3, -4], points: {C: [0, 0]}}
  wheel: {mass: 1, inertia: 0.2, position: [5, 0], points: {C: [0, 0]}}
joints:
  axle: {type: revolute, i: ground.W, j: wheel.C}
forces:
  air: {type: drag, at: car.C, coefficient: 0.7}
  motor: {type: motor, joint: axle, stall: 6, no_load: 12}
simulation: {t_end: 2, rtol: 1.0e-10}
""".replace("O: [0, 0]", "O: [0, 0], W: [5, 0]")
    motion = simulate(loads(text))
    speed = 5 / (1 + 0.7 * 5 * motion.t / 4)
    np.testing.assert_allclose(motion["car.vx"], 0.6 * speed, atol=1e-8)
    np.testing.assert_allclose(motion["car.vy"], -0.8 * speed, atol=1e-8)
    np.testing.assert_allclose(motion["wheel.omega"], 12 * (1 - np.exp(-6 * motion.t / (0.2 * 12))), atol=1e-7)
    assert np.max(np.abs(motion.drift())) < 1e-7
    # a torque that grows with the speed would drive without limit
    with pytest.raises(ModelError, match="no_load 12 and stall -6 differ in sign") as refused:
        simulate(loads(text.replace("stall: 6", "stall: -6")))
    assert refused.value.code == "out-of-range"


def test_a_sphere_on_a_tilted_plane_in_space_slides_and_spins_as_in_closed_form() -> None:
    """Down a plane of 30 degrees with mu below 2/7 tan: a = g (sin - mu cos), alpha = 5/2 mu g cos/r."""
    s, c = 0.5, math.sqrt(0.75)
    text = f"""
linkwork: 1
space: spatial
ground: {{points: {{O: [0, 0, 0]}}}}
bodies:
  ball: {{mass: 2, inertia: [0.008, 0.008, 0.008], position: [{-0.1 * s}, 0, {0.1 * c}], points: {{C: [0, 0, 0]}}}}
forces:
  floor:
    {{type: plane-contact, i: ground.O, j: ball.C, normal: [{-s}, 0, {c}], radius_j: 0.1, stiffness: 1.0e+6,
     damping: 3000, friction: tanh, dynamic: 0.1, transition: 1.0e-4}}
simulation: {{t_end: 0.5, rtol: 1.0e-9}}
"""
    motion = simulate(loads(text))
    along = motion["ball.vx"] * c + motion["ball.vz"] * s
    late = motion.t > 0.1  # the floor has settled
    g = 9.81
    np.testing.assert_allclose(np.diff(along[late]) / np.diff(motion.t[late]), -g * (s - 0.1 * c), rtol=1e-4)
    spin = motion["ball.wy"]
    np.testing.assert_allclose(np.diff(spin[late]) / np.diff(motion.t[late]), -2.5 * 0.1 * g * c / 0.1, rtol=1e-4)
    assert np.max(np.abs(motion.drift())) < 1e-6


@pytest.mark.parametrize(
    ("force", "code"),
    [
        ("{type: line-contact, i: ground.O, j: b.C, normal: [0, 0], stiffness: 1}", "zero-axis"),
        ("{type: line-contact, i: ground.O, j: b.C, normal: [0, 1], stiffness: -1}", "out-of-range"),
        ("{type: line-contact, i: ground.O, j: b.C, normal: [0, 1], stiffness: 1, model: glue}", "wrong-shape"),
        (
            "{type: circle-contact, i: ground.O, j: b.C, stiffness: 1, model: hunt-crossley, restitution: 2}",
            "out-of-range",
        ),
        ("{type: line-contact, i: ground.O, j: b.C, normal: [0, 1], stiffness: 1, friction: sand}", "wrong-shape"),
        (
            "{type: joint-friction, joint: pin, normal_force: 1, dynamic: 0.3, static: 0.2, friction: anderson}",
            "out-of-range",
        ),
        ("{type: joint-friction, joint: pin, normal_force: -1, dynamic: 0.3}", "out-of-range"),
        ("{type: joint-friction, joint: pin, normal_force: 1, dynamic: 0.3, friction: none}", "no-effect"),
        ("{type: line-contact, i: ground.O, j: b.C, normal: [0, 1], stiffness: 1, dynamic: 0.3}", "no-effect"),
        ("{type: end-stop, joint: pin, stiffness: 1}", "bad-end-stop"),
        ("{type: end-stop, joint: pin, lower: 1, upper: 0, stiffness: 1}", "bad-end-stop"),
        ("{type: end-stop, joint: slot, lower: 1, stiffness: 1}", "which-freedom"),
        ("{type: motor, joint: pin, freedom: length, stall: 1, no_load: 2}", "no-freedom"),
        ("{type: motor, joint: pin, stall: 1, no_load: 0}", "out-of-range"),
        ("{type: drag, at: b.C, coefficient: -1}", "out-of-range"),
        ("{type: stick-slip, joint: pin, normal_force: 1, dynamic: 0.1, speed: t}", "speed-changes"),
        ("{type: circle-contact, i: ground.O, j: b.C, radius_j: -1, stiffness: 1}", "out-of-range"),
        ("{type: circle-contact, i: ground.O, j: b.C, stiffness: 1, restitution: 0.5}", "no-effect"),
        ("{type: circle-contact, i: ground.O, j: b.C, stiffness: 1, exponent: 1.5}", "no-effect"),
        ("{type: circle-contact, i: ground.O, j: b.C, stiffness: 1, model: flores-machado, damping: 2}", "no-effect"),
        ("{type: joint-friction, joint: pin, normal_force: 1, dynamic: 0.3, static: 0.4}", "no-effect"),
        ("{type: joint-friction, joint: pin, normal_force: 1, friction: brown-mcphee, stribeck: 1}", "no-effect"),
        ("{type: circle-contact, i: ground.O, j: b.C, stiffness: 1 N/m^1.5}", "unit-mismatch"),
        ("{type: circle-contact, i: ground.O, j: b.C, stiffness: 1 N/m, model: hunt-crossley}", "unit-mismatch"),
        ("{type: circle-contact, i: ground.O, j: b.C, stiffness: 1, damping: 2 N/m}", "unit-mismatch"),
        ("{type: end-stop, joint: pin, lower: 1 rad, stiffness: 2 N/m}", "unit-mismatch"),
        ("{type: end-stop, joint: pin, lower: 1 m, stiffness: 2 N*m/rad}", "unit-mismatch"),
        ("{type: motor, joint: pin, stall: 1 N, no_load: 2}", "unit-mismatch"),
        ("{type: drag, at: b.C, coefficient: 1 N}", "unit-mismatch"),
    ],
)
def test_a_wrong_contact_is_refused_with_its_line(force: str, code: str) -> None:
    text = f"""linkwork: 1
ground: {{points: {{O: [0, 0]}}}}
bodies: {{b: {{mass: 1, inertia: 1, points: {{C: [0, 0]}}}}}}
joints:
  pin: {{type: revolute, i: ground.O, j: b.C}}
  slot: {{type: point-on-line, i: ground.O, j: b.C, axis: [1, 0]}}
forces:
  f: {force}
"""
    with pytest.raises(ModelError) as fault:
        loads(text)
    assert fault.value.code == code
    assert ":8: forces.f" in str(fault.value)


@pytest.mark.parametrize(
    ("law", "stiffness"),
    [
        ("stiffness: 3 kN/mm", 3e6),
        ("stiffness: 2 N/mm^1.5, model: hunt-crossley", 2 * 1000**1.5),
        ("stiffness: 5 N/mm^2, model: flores-machado, exponent: 2", 5e6),
    ],
)
def test_a_stiffness_has_the_unit_of_its_law(law: str, stiffness: float) -> None:
    """Newton per metre to the exponent."""
    force = loads(DROP.format(law=law)).forces[0]
    assert force.stiffness == pytest.approx(stiffness, rel=1e-15)  # type: ignore[attr-defined]


def test_a_contact_keeps_its_events_in_a_file(tmp_path: Path) -> None:
    motion = simulate(loads(DROP.format(law=LAWS["linear"])))
    motion.save(tmp_path / "drop.nc")
    assert Trajectory.load(tmp_path / "drop.nc").events.counts() == motion.events.counts()


def test_equations_of_contacts_can_be_written_down() -> None:
    """What events hold has a finite value before the first of them."""

    for name in ("newtons_cradle", "stick_slip_belt", "dap/rod"):
        e = prepare(load(name)).equations
        assert e.held
        assert all(math.isfinite(x) for x in e.parameters.values())


@pytest.mark.parametrize("start", np.linspace(0.34, 0.9, 9))
def test_circles_that_meet_head_on_part_with_the_speed_of_restitution(start: float) -> None:
    """Wherever the steps before it end: the momentum stays, and the relative speed is turned around by the law.

    Hunt and Crossley's factor of 3/2 (1 - e) loses a little less than e says: 0.83 for e = 0.8.
    """
    text = f"""linkwork: 1
gravity: [0, 0]
bodies:
  a: {{mass: 1, inertia: 0.01, position: [0, 0], velocity: [1, 0], points: {{C: [0, 0]}}}}
  b: {{mass: 1, inertia: 0.01, position: [{start}, 0], points: {{C: [0, 0]}}}}
forces:
  c: {{type: circle-contact, i: a.C, j: b.C, radius_i: 0.1, radius_j: 0.2, stiffness: 1.0e+8, model: hunt-crossley,
      restitution: 0.8}}
simulation: {{t_end: 2, step: 0.01}}
"""
    motion = simulate(loads(text))
    a, b = motion["a.vx"][-1], motion["b.vx"][-1]
    assert a + b == pytest.approx(1.0, abs=1e-9)
    assert b - a == pytest.approx(0.83, abs=0.01)
    assert motion.events.names == ("c.begin", "c.end")


def test_a_ball_settles_on_a_damped_floor_and_bounces_on_an_elastic_one() -> None:
    """It rests at the depth m g/k, after contacts so short that their switches are a matter of rounding."""
    rest = simulate(loads(DROP.format(law="stiffness: 1.0e+7, damping: 1.0e+3").replace("t_end: 0.4", "t_end: 2")))
    assert rest["ball.y"][-1] == pytest.approx(0.1 - 2 * 9.81 / 1e7, abs=1e-9)
    assert rest.info.steps < 5000
    elastic = simulate(loads(DROP.format(law="stiffness: 1.0e+6")))
    assert elastic.info.steps < 500
    assert elastic.energy["dissipated"][-1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("damping", [0.0, 50.0])
def test_a_ball_put_on_a_floor_sinks_in_by_the_closed_form(damping: float) -> None:
    """From rest at the surface: depth = m g/k (1 - exp(-d t) (cos w t + d/w sin w t)), with d = c/(2 m)."""
    text = DROP.format(law=f"stiffness: 2.0e+4, damping: {damping}")
    text = text.replace("position: [0, 0.3], velocity: [0.4, -1]", "position: [0, 0.1]")
    motion = simulate(loads(text))
    d, t = damping / 4, motion.t
    w = math.sqrt(2e4 / 2 - d * d)
    depth = 2 * 9.81 / 2e4 * (1 - np.exp(-d * t) * (np.cos(w * t) + d / w * np.sin(w * t)))
    np.testing.assert_allclose(0.1 - motion["ball.y"], depth, atol=1e-10)
    assert motion.events.names == ("floor.begin",)


@pytest.mark.parametrize("height", [0.0, 1e-12])
def test_a_ball_put_on_a_hertzian_floor_does_not_creep(height: float) -> None:
    """The law by SciPy, v_0^2 = 2 n/(n + 1) g depth the speed of an elastic fall to the depth (m g/k)^(1/n) of rest."""
    text = DROP.format(law="stiffness: 1.0e+6, model: hunt-crossley, restitution: 0.8")
    text = text.replace("position: [0, 0.3], velocity: [0.4, -1]", f"position: [0, {0.1 + height}]")
    motion = simulate(loads(text), t_end=2.0)
    m, g = 2.0, 9.81
    rest = (m * g / 1e6) ** (2 / 3)
    v_0 = math.sqrt(2 * 0.6 * g * rest)

    def rates(t: float, y: Array) -> list[float]:
        return [y[1], g - 1e6 * max(y[0], 0.0) ** 1.5 / m * (1 + 3 / 2 * (1 - 0.8) * y[1] / v_0)]

    written = solve_ivp(rates, (0.0, 2.0), [0.0, 0.0], method="DOP853", rtol=1e-12, atol=1e-16, t_eval=motion.t)
    found = 0.1 - motion["ball.y"]
    np.testing.assert_allclose(found, written.y[0], atol=1e-9 if height == 0.0 else 1e-6)
    assert found[-1] == pytest.approx(rest, abs=1e-11)
    assert motion.events.names == ("floor.begin",)
    assert np.max(np.abs(motion.drift())) < 1e-10


def test_a_normal_force_below_zero_does_not_push() -> None:
    """A block at 1 m/s whose normal force is a formula that becomes negative slides on at the speed it then has."""
    text = """linkwork: 1
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies: {b: {mass: 1, inertia: 1, velocity: [1, 0], points: {C: [0, 0]}}}
joints: {rail: {type: prismatic, i: ground.O, j: b.C, axis: [1, 0]}}
forces: {f: {type: joint-friction, joint: rail, dynamic: 0.5, normal_force: 1 - t}}
simulation: {t_end: 3, step: 0.1}
"""
    motion = simulate(loads(text))
    t = np.minimum(motion.t, 1.0)
    np.testing.assert_allclose(motion["b.vx"], 1 - 0.5 * (t - t * t / 2), atol=1e-7)


@pytest.mark.parametrize("formulation", ["index-3", "ggl", "augmented"])
def test_an_implicit_method_counts_what_a_damped_end_stop_takes(formulation: str) -> None:
    """The balance of energy holds, behind the stop as before it."""
    text = """linkwork: 1
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies: {block: {mass: 1, inertia: 0.01, velocity: [1, 0], points: {C: [0, 0]}}}
joints: {slide: {type: prismatic, i: ground.O, j: block.C, axis: [1, 0]}}
forces: {st: {type: end-stop, joint: slide, upper: 0.5, lower: -0.5, stiffness: 1.0e+5, damping: 50}}
simulation: {t_end: 3, step: 0.01}
"""
    motion = simulate(loads(text), formulation=formulation, integrator="radau5")
    assert np.max(np.abs(motion.drift())) < 1e-4


@pytest.mark.parametrize("integrator", ["dop853", "dopri5", "radau5"])
def test_balls_that_are_fast_and_small_meet_wherever_in_a_step_they_pass(integrator: str) -> None:
    """Hard balls of 2 mm, one at 300 m/s, one at rest, which takes the part along the line of their centres.

    They overlap by less than 2e-3 of a sample of a step; their distance bends where they are nearest.
    """
    shots = prepare(
        loads("""
            linkwork: 1
            gravity: [0, 0]
            parameters: {way: 7, off: 1.0e-3}
            bodies:
              shot: {mass: 0.1, inertia: 1.0e-9, position: [-way, off], velocity: [300, 0], points: {C: [0, 0]}}
              ball: {mass: 0.1, inertia: 1.0e-9, points: {C: [0, 0]}}
            forces:
              hit: {type: circle-contact, i: shot.C, j: ball.C, radius_i: 1 mm, radius_j: 1 mm, stiffness: 1.0e+16}
            simulation: {t_end: 0.05, step: 0.01, rtol: 1.0e-7}
            """)
    )
    for way in np.linspace(7.0, 7.31, 32):  # by one step of 1 ms
        motion = shots.simulate({"way": float(way)}, integrator=integrator)
        along = math.sqrt(1 - (1e-3 / 2e-3) ** 2)
        assert motion["ball.vx"][-1] == pytest.approx(300 * along**2, rel=1e-3)
        assert motion["ball.vy"][-1] == pytest.approx(-300 * along * 0.5, rel=1e-3)


def test_a_stop_at_the_angle_of_a_wheel_that_is_the_ground_is_never_reached() -> None:
    """The gear on the ground does not turn, so the wheel that it meshes with stands; beside it a body falls freely."""
    text = """linkwork: 1
space: spatial
gravity: [0, 0, -9.81]
ground: {points: {O: [0, 0, 0]}}
bodies:
  wheel: {mass: 1, inertia: [1, 1, 1], points: {O: [0, 0, 0]}}
  stone: {mass: 1, inertia: [1, 1, 1], position: [3, 0, 0]}
joints:
  O: {type: revolute, i: ground.O, j: wheel.O, axis: [0, 0, 1]}
  mesh: {type: gear, i: wheel.O, j: ground.O, axis: [0, 0, 1], axis_j: [0, 0, 1], teeth_i: 20, teeth_j: 10, radius: 1}
forces:
  load: {type: torque, on: wheel, torque: [0, 0, 5]}
  stop: {type: end-stop, joint: mesh, freedom: angle_j, upper: 1, stiffness: 9, model: hunt-crossley, restitution: 0.5}
simulation: {t_end: 1, step: 0.5}
"""
    motion = simulate(loads(text))
    assert np.max(np.abs(motion["wheel.wz"])) < 1e-9
    np.testing.assert_allclose(motion["stone.z"], -9.81 * motion.t**2 / 2, atol=1e-8)


def test_a_motor_on_a_hinge_in_space_takes_the_steps_of_the_same_torque() -> None:
    """J w' = T (1 - w/w_0) has w = w_0 (1 - exp(-T t/(J w_0))), and a turn of any size hides nothing narrow.

    The rate of the hinge's angle divides by x^2 + y^2, which is one whatever the bounds of x and of y are.
    """
    laws = (
        "{type: motor, joint: O, stall: 100, no_load: 100}",
        "{type: torque, on: rotor, torque: [60*(1 - w/100), 0, 80*(1 - w/100)]}",
    )
    taken = []
    for law in laws:
        text = f"""linkwork: 1
space: spatial
ground: {{points: {{O: [0, 0, 0]}}}}
bodies: {{rotor: {{mass: 1, inertia: [1, 1, 1], points: {{O: [0, 0, 0]}}}}}}
joints: {{O: {{type: revolute, i: ground.O, j: rotor.O, axis: [0.6, 0, 0.8]}}}}
forces: {{drive: {law.replace("w/", "(0.6*rotor.wx + 0.8*rotor.wz)/")}}}
simulation: {{t_end: 5, step: 1, rtol: 1.0e-5}}
"""
        motion = simulate(loads(text))
        np.testing.assert_allclose(motion["rotor.wz"], 80 * (1 - np.exp(-motion.t)), atol=1e-4)
        taken.append(motion.summary()["steps"])
    assert taken[0] < 1.2 * taken[1]


@pytest.mark.parametrize("integrator", ["auto", "radau5"])
def test_balls_that_rest_against_each_other_do_not_graze(integrator: str) -> None:
    """In Newton's cradle four balls hang in touch until the first comes."""
    motion = simulate(load("newtons_cradle"), t_end=0.6, integrator=integrator)
    assert not [note for note in motion.info.notes if "[grazing]" in note]
    assert {"contact1.begin", "contact4.end"} <= {*motion.events.names}
