"""What elements measure: applied forces, their power, lengths of springs, angles and displacements of joints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwork as lw
from linkwork.elements.bodies import PlanarBody
from linkwork.elements.forces import FORCES
from linkwork.elements.kinds import Space
from linkwork.elements.loads import BodyForce, Force

PRESS = """
linkwork: 1
name: press
parameters: {r: 40 mm, l: 160 mm, k: 3 kN/m, l0: 90 mm}
ground: {points: {O: [0, 0], table: [0, -170 mm]}}
bodies:
  crank: {mass: 2 kg, inertia: 0.02, points: {O: [0, 0], A: [r, 0]}}
  rod: {mass: 1 kg, inertia: 0.002, points: {A: [-l/2, 0], B: [l/2, 0]}}
  ram: {mass: 3 kg, inertia: 0.01, position: [0, -150 mm], points: {B: [0, 0], tip: [5 mm, -20 mm]}}
  work: {mass: 1 kg, inertia: 0.01, position: [0, -200 mm], points: {top: [0, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: rod.A}
  B: {type: revolute, i: rod.B, j: ram.B}
  S: {type: prismatic, i: ground.O, j: ram.B, axis: [0, -1]}
  W: {type: prismatic, i: ground.table, j: work.top, axis: [1, -1]}
forces:
  motor: {type: motor, joint: O, stall: 40 N*m, no_load: 300 rpm}
  spring: {type: spring-damper, i: ground.O, j: ram.B, stiffness: k, damping: 20 N*s/m, free_length: l0}
  work: {type: line-contact, i: work.top, j: ram.tip, normal: [0, 1], model: hunt-crossley, stiffness: 20000,
         exponent: 2, restitution: 0.6, friction: tanh, dynamic: 0.3, transition: 0.2 m/s}
  bed: {type: spring-damper, i: ground.O, j: work.top, stiffness: 5 kN/m, damping: 30, free_length: 200 mm}
  stop: {type: end-stop, joint: S, upper: 192 mm, model: hunt-crossley, stiffness: 200000, exponent: 2,
         restitution: 0.5}
  rub: {type: joint-friction, joint: O, normal_force: 20, dynamic: 0.1, radius: 20 mm, transition: 0.1 m/s}
  wind: {type: drag, at: ram.tip, coefficient: 0.4}
  push: {type: point-force, at: ram.tip, force: ["3*cos(20*t)", "-5*sin(30*t)"]}
  twist: {type: torque, on: rod, torque: 0.2*sin(10*t)}
  wound: {type: rotational-spring-damper, i: crank, j: rod, stiffness: 0.05, damping: 0.01}
simulation: {t_end: 0.5, step: 0.05 ms, start: {O: -30 deg}}
"""
G = 9.81


@pytest.fixture(scope="module")
def press() -> lw.Trajectory:
    motion = lw.simulate(lw.loads(PRESS), start=lw.Start(assemble=True))
    assert motion.ok
    assert {"work.begin", "stop.upper.begin"} <= {*motion.events.names}
    return motion


def powers(motion: lw.Trajectory) -> NDArray[np.float64]:
    return np.asarray(sum(motion[name] for name in motion.names("power:*")))


def gained(motion: lw.Trajectory) -> NDArray[np.float64]:
    """The rate of kinetic energy and energy of height from masses and accelerations, sum of m v.(a - g) + J w alpha."""
    rate = np.zeros(len(motion.t))
    for body in motion.model.bodies:
        v, a = ([motion[f"{body.name}.{x}{axis}"] for axis in "xy"] for x in "va")
        rate += body.mass * (v[0] * a[0] + v[1] * (a[1] + G))
        rate += body.inertia * motion[f"{body.name}.omega"] * motion[f"{body.name}.alpha"]
    return rate


def test_the_powers_of_all_elements_are_the_rate_of_the_energy(press: lw.Trajectory) -> None:
    """Joints do no work: at every instant motor, springs, contact, stop, friction, drag and loads give all of it."""
    rate, scale = gained(press), np.abs(press["power:motor"]).max()
    np.testing.assert_allclose(powers(press), rate, atol=1e-8 * scale)
    for name in press.names("power:*"):  # each has its share
        assert np.abs(press[name]).max() > 1e-6 * scale, name


def test_the_powers_of_all_elements_add_up_to_the_energy(press: lw.Trajectory) -> None:
    """By Simpson's rule over the report times, to 1e-8 of the work of the motor."""
    h, p = press.t[1] - press.t[0], powers(press)
    work = h / 3.0 * np.cumsum(p[:-2:2] + 4.0 * p[1:-1:2] + p[2::2])
    height = sum(body.mass * G * press[f"{body.name}.y"] for body in press.model.bodies)
    energy = press["energy:kinetic"] + height
    np.testing.assert_allclose(work, (energy - energy[0])[2::2], atol=1e-8 * press.integral("power:motor"))


def test_forces_follow_their_laws(press: lw.Trajectory) -> None:
    """Written out from the motion of the bodies, without any expression of linkwork."""
    m, t = press, press.t
    length = -m["ram.y"]
    np.testing.assert_allclose(m["length:spring"], length, rtol=1e-9)
    np.testing.assert_allclose(m["rate:spring"], -m["ram.vy"], atol=1e-9)
    np.testing.assert_allclose(m["force:spring"], 3000.0 * (length - 0.09) - 20.0 * m["ram.vy"], atol=1e-6)
    omega = m["crank.omega"]
    np.testing.assert_allclose(m["torque:motor"], 40.0 * (1.0 - omega / (10.0 * np.pi)), rtol=1e-12)
    np.testing.assert_allclose(m["power:motor"], m["torque:motor"] * omega, rtol=1e-12)
    np.testing.assert_allclose(m["torque:rub"], -0.1 * np.tanh(0.02 * omega / 0.1) * 20.0 * 0.02, rtol=1e-9)
    gap = m["ram.tip.y"] - m["work.top.y"]
    np.testing.assert_allclose(m["gap:work"], gap, atol=1e-12)
    touching = gap < -1e-6
    assert touching.any()
    assert not np.any(m["force:work.normal"][gap > 1e-9])
    sliding = m["ram.tip.vx"] - m["work.top.vx"]
    friction = 0.3 * np.tanh(sliding / 0.2) * np.maximum(m["force:work.normal"], 0.0)
    np.testing.assert_allclose(m["force:work.tangential"], friction, atol=1e-9)  # along perp(n) = -x
    deep = np.maximum(length - 0.192, 0.0)
    at = np.searchsorted(t, m.events.t[m.events.names.index("stop.upper.begin")])
    v_0 = -m["ram.vy"][at]
    first = (t >= t[at]) & (t < t[at] + 2e-3) & (deep > 0.0)
    law = -200000.0 * deep**2 * (1.0 + 1.5 * 0.5 * -m["ram.vy"] / v_0)
    np.testing.assert_allclose(m["force:stop"][first], law[first], rtol=1e-2)  # v_0 is that of the row behind the begin
    speed = np.hypot(m["ram.tip.vx"], m["ram.tip.vy"])
    np.testing.assert_allclose(m["force:wind.y"], -0.4 * speed * m["ram.tip.vy"], atol=1e-9)
    np.testing.assert_allclose(m["force:push.y"], -5.0 * np.sin(30.0 * t), atol=1e-12)
    np.testing.assert_allclose(m["torque:twist"], 0.2 * np.sin(10.0 * t), atol=1e-14)
    turn, rate = m["rod.phi"] - m["crank.phi"], m["rod.omega"] - m["crank.omega"]
    np.testing.assert_allclose(m["angle:wound"], turn, rtol=1e-12)
    np.testing.assert_allclose(m["torque:wound"], 0.05 * turn + 0.01 * rate, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("coordinates", ["joint", "minimal"])
def test_measures_are_the_same_in_all_coordinates(press: lw.Trajectory, coordinates: str) -> None:
    other = lw.simulate(lw.loads(PRESS), coordinates=coordinates, start=lw.Start(assemble=True), rtol=1e-11, atol=1e-11)
    for name in press.names("joint:*", "length:*", "angle:*", "gap:*", "force:*", "torque:*", "power:*"):
        size = np.abs(press[name]).max()
        np.testing.assert_allclose(other[name], press[name], atol=1e-6 * max(size, 1e-3), err_msg=name)


def test_freedoms_of_joints_have_their_rates(press: lw.Trajectory) -> None:
    np.testing.assert_allclose(press["joint:S.displacement"], -press["ram.y"], atol=1e-12)
    np.testing.assert_allclose(press["joint:B.angle"], press["ram.phi"] - press["rod.phi"], atol=1e-12)
    for name in ("joint:O.angle", "joint:S.displacement", "joint:W.displacement", "length:bed"):
        (rate,) = press.rates_of(name)
        differences = (press[name][2:] - press[name][:-2]) / (press.t[2:] - press.t[:-2])
        np.testing.assert_allclose(differences, press[rate][1:-1], atol=1e-3 * np.abs(press[rate]).max())


@pytest.mark.parametrize("suffix", [".nc", pytest.param(".csv", marks=pytest.mark.slow)])
def test_files_keep_what_elements_measure(press: lw.Trajectory, suffix: str, tmp_path: Path) -> None:
    press.save(tmp_path / f"press{suffix}")
    read = lw.Trajectory.load(tmp_path / f"press{suffix}")
    for name in ("force:work.normal", "power:motor", "joint:O.angle", "joint:S.displacement_d"):
        np.testing.assert_array_equal(read[name], press[name])
        assert read.unit(name) == press.unit(name)


def test_largest_loads_have_their_times(press: lw.Trajectory) -> None:
    peaks = {peak.name: peak for peak in press.extremes()}
    assert {"reaction:O.x", "force:spring", "force:work.normal", "torque:motor", "power:motor"} <= {*peaks}
    k = int(np.argmax(press["force:work.normal"]))
    assert (peaks["force:work.normal"].value, peaks["force:work.normal"].t) == (
        press["force:work.normal"][k],
        press.t[k],
    )


def test_a_driver_has_its_torque_and_power() -> None:
    """A crank of a known moment driven at a rate that grows: T = J alpha + m g r cos, P = T omega."""
    text = """
    linkwork: 1
    name: crank
    ground: {points: {O: [0, 0]}}
    bodies: {crank: {mass: 2, inertia: 0.3, points: {O: [-0.5, 0]}}}
    joints: {O: {type: revolute, i: ground.O, j: crank.O}}
    drivers: {motor: {joint: O, motion: "3*t + t^2"}}
    """
    motion = lw.kinematics(lw.loads(text), assemble=True, t_end=2.0)
    phi, omega = 3.0 * motion.t + motion.t**2, 3.0 + 2.0 * motion.t
    torque = (0.3 + 2 * 0.25) * 2.0 + 2.0 * G * 0.5 * np.cos(phi)
    np.testing.assert_allclose(motion["joint:O.angle"], phi, atol=1e-9)
    np.testing.assert_allclose(motion["torque:motor"], torque, rtol=1e-9)
    np.testing.assert_allclose(motion["torque:motor"], motion["driving:motor"], rtol=1e-15)
    np.testing.assert_allclose(motion["power:motor"], torque * omega, rtol=1e-9)


def test_kinematics_without_masses_has_the_forces_that_a_spring_needs() -> None:
    """T = dE/dphi of a spring that is stretched; without any force there is no torque to tell."""
    text = """
    linkwork: 1
    name: crank
    ground: {points: {O: [0, 0], S: [2, 0]}}
    bodies: {crank: {points: {O: [0, 0], A: [1, 0]}}}
    joints: {O: {type: revolute, i: ground.O, j: crank.O}}
    drivers: {motor: {joint: O, motion: 2*t}}
    forces: {spring: {type: spring-damper, i: ground.S, j: crank.A, stiffness: 10, free_length: 1}}
    """
    motion = lw.kinematics(lw.loads(text), assemble=True, t_end=1.0)
    length = np.hypot(2.0 - np.cos(2.0 * motion.t), np.sin(2.0 * motion.t))
    np.testing.assert_allclose(motion["force:spring"], 10.0 * (length - 1.0), atol=1e-9)
    torque = 10.0 * (length - 1.0) * 2.0 * np.sin(2.0 * motion.t) / length
    np.testing.assert_allclose(motion["torque:motor"], torque, atol=1e-9)
    np.testing.assert_allclose(motion["power:motor"], 2.0 * torque, atol=1e-9)
    np.testing.assert_allclose(motion["power:spring"], -2.0 * torque, atol=1e-9)
    bare = lw.kinematics(lw.loads(text.split("    forces")[0]), t_end=1.0)
    assert "torque:motor" not in bare
    assert "power:motor" not in bare
    np.testing.assert_allclose(bare["joint:O.angle"], 2.0 * bare.t, atol=1e-12)


def test_friction_that_sticks_is_measured_while_it_does() -> None:
    """A block on a slope of 0.2 rad, held by m g sin(0.2): stick-slip says so, and does no work."""
    text = """
    linkwork: 1
    name: slope
    parameters: {a: 0.2 rad, m: 2 kg}
    gravity: [9.81*sin(a), -9.81*cos(a)]
    ground: {points: {O: [0, 0]}}
    bodies: {block: {mass: m, inertia: 0.1, points: {P: [0, 0]}}}
    joints: {S: {type: prismatic, i: ground.O, j: block.P, axis: [1, 0]}}
    forces: {rub: {type: stick-slip, joint: S, normal_force: m*9.81*cos(a), dynamic: 0.3, static: 0.4}}
    """
    held = lw.simulate(lw.loads(text), t_end=0.5)
    np.testing.assert_allclose(held["force:rub"], -2.0 * G * np.sin(0.2), rtol=1e-9)
    np.testing.assert_allclose(held["power:rub"], 0.0, atol=1e-12)
    sliding = lw.prepare(lw.loads(text)).simulate({"a": 0.6}, t_end=0.5)
    v = sliding["block.vx"]
    np.testing.assert_allclose(sliding["force:rub"][1:], -0.3 * 2.0 * G * np.cos(0.6), rtol=1e-9)
    np.testing.assert_allclose(sliding["power:rub"][1:], (sliding["force:rub"] * v)[1:], rtol=1e-12)


SPATIAL = """
linkwork: 1
name: rotor
space: spatial
gravity: [0, 0, -9.81]
ground: {points: {O: [0, 0, 0], S: [0.2, 0.6, 0.3]}}
bodies:
  fork: {mass: 1, inertia: [0.02, 0.03, 0.04], points: {O: [0, 0, 0], P: [0.3, 0, 0]}}
  rotor: {mass: 2, inertia: [0.05, 0.03, 0.03], position: [0.3, 0, 0], points: {P: [0, 0, 0], R: [0, 0.1, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: fork.O, axis: [0, 0.1, 1], angle: 5}
  P: {type: revolute, i: fork.P, j: rotor.P, axis: [1, 0, 0]}
forces:
  motor: {type: motor, joint: P, stall: 4, no_load: 90}
  brake: {type: rotational-spring-damper, joint: O, damping: 0.02}
  spring: {type: spring-damper, i: ground.S, j: fork.P, stiffness: 20, free_length: 0.2}
  bush: {type: bushing, i: ground.O, j: fork.O, stiffness: [0, 0, 0, 0, 0, 3], damping: [0, 0, 0, 0, 0, 0.02]}
  twist: {type: torque, on: rotor, torque: [0, 0, 0.1], follows: true}
  wind: {type: drag, at: rotor.R, coefficient: 0.1}
simulation: {t_end: 2, step: 0.01}
"""


@pytest.fixture(scope="module")
def rotor() -> lw.Trajectory:
    return lw.simulate(lw.loads(SPATIAL), rtol=1e-11, atol=1e-11)


def test_powers_in_space_are_the_rate_of_the_energy(rotor: lw.Trajectory) -> None:
    """Sum of m v.(a - g) + w.(J al + w x J w), of which the last term does no work."""
    rate = np.zeros(len(rotor.t))
    for body in rotor.model.bodies:
        v, a, w, al = (
            np.column_stack([rotor[f"{body.name}.{x}{axis}"] for axis in "xyz"]) for x in ("v", "a", "w", "alpha")
        )
        rate += body.mass * (np.sum(v * a, axis=1) + G * v[:, 2]) + np.sum(w * np.array(body.inertia)[:3] * al, axis=1)
    np.testing.assert_allclose(powers(rotor), rate, atol=1e-8 * np.abs(rotor["power:motor"]).max())
    np.testing.assert_allclose(
        rotor["torque:motor"], 4.0 * (1.0 - rotor["joint:P.angle_d"] / 90.0), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("coordinates", ["joint", "minimal", "euler"])
@pytest.mark.sampled
def test_angles_in_space_count_their_turns_in_all_coordinates(rotor: lw.Trajectory, coordinates: str) -> None:
    """The rotor turns more than ten times; joint coordinates have the turns, the others count them by the rates."""
    assert rotor["joint:P.angle"][-1] > 20.0 * np.pi
    assert rotor["joint:O.angle"][0] == pytest.approx(5.0, abs=1e-9)
    other = lw.simulate(lw.loads(SPATIAL), coordinates=coordinates, rtol=1e-11, atol=1e-11)
    for name in (*rotor.names("joint:*"), "angle:brake", "torque:bush.z", "force:spring", "power:wind"):
        np.testing.assert_allclose(other[name], rotor[name], atol=1e-6 * np.abs(rotor[name]).max(), err_msg=name)


def test_turns_are_counted_between_rows_that_are_several_turns_apart(rotor: lw.Trajectory) -> None:
    seldom = lw.simulate(lw.loads(SPATIAL), step=0.25, rtol=1e-11, atol=1e-11)
    assert np.diff(seldom["joint:P.angle"]).max() > 2.5 * np.pi
    np.testing.assert_allclose(seldom["joint:P.angle"], rotor["joint:P.angle"][::25], atol=1e-6)


def test_a_resumed_motion_goes_on_with_its_turns(rotor: lw.Trajectory) -> None:
    begun = lw.simulate(lw.loads(SPATIAL), t_end=1.0, rtol=1e-11, atol=1e-11)
    whole = lw.simulate(lw.loads(SPATIAL), t_end=2.0, rtol=1e-11, atol=1e-11, start=lw.Start(resume=begun))
    np.testing.assert_allclose(whole["joint:P.angle"], rotor["joint:P.angle"], atol=1e-6)


@pytest.mark.parametrize("space", ["planar", "spatial"])
def test_every_force_measures_something(space: Space) -> None:
    """What a designer asks first of any force is how large it is."""
    silent = [name for name, cls in FORCES[space].items() if cls.measures is Force.measures]
    assert silent == []


@dataclass(frozen=True, eq=False)
class Thrust(BodyForce):
    """3 N along the axis x of a body."""

    name: str
    body: Any

    def Q(self, i: Any) -> tuple[Any, ...]:
        return (i.force_at((0.0, 0.0), i.direction((3.0, 0.0))),)

    def supplied(self, i: Any) -> Any:
        return i.direction((3.0, 0.0)).dot(i.r_dot)


def test_a_force_of_ones_own_has_its_power_without_a_word_about_it() -> None:
    puck = PlanarBody("puck", 2.0, 0.1, position=(0.0, 0.0), angle=0.7)
    motion = lw.simulate(lw.Model("puck", (puck,), (), (), (Thrust("thrust", puck),), gravity=(0.0, 0.0)), t_end=2.0)
    np.testing.assert_allclose(motion["power:thrust"], 3.0 * 1.5 * motion.t, atol=1e-9)


WOUND = """
linkwork: 1
space: spatial
gravity: [0, 0, 0]
ground: {points: {O: [0, 0, 0]}}
bodies: {rotor: {mass: 1, inertia: [1, 1, 1], angular_velocity: [0, 0, 8], points: {O: [0, 0, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: rotor.O, axis: [0, 0, 1]}}
forces: {spring: {type: rotational-spring-damper, joint: O, stiffness: 1}}
events: {done: {when: "%s", action: stop}}
simulation: {t_end: 3, rtol: 1.0e-11, atol: 1.0e-11}
"""


@pytest.mark.parametrize("coordinates", ["body", "joint"])
@pytest.mark.parametrize(
    ("when", "angle"), [("joint:O.angle - 5", 5.0), ("torque:spring - 7", 7.0), ("joint:O.angle_d - 5", 39**0.5)]
)
def test_events_name_loads_and_freedoms_of_joints_as_results_do(when: str, angle: float, coordinates: str) -> None:
    """angle = 8 sin t, beyond half a turn: the event is at the first time at which the formula is zero."""
    motion = lw.simulate(lw.loads(WOUND % when), coordinates=coordinates)
    assert abs(motion["joint:O.angle"][-1]) == pytest.approx(angle, abs=1e-8)
    assert motion.t[-1] == pytest.approx(np.arcsin(angle / 8), abs=1e-8)


@pytest.mark.parametrize("name", ["torqe:spring", "joint:O.angel", "force:stop", "reaction:P.x"])
def test_a_result_that_is_none_is_no_name_of_an_event(name: str) -> None:
    with pytest.raises(lw.ModelError, match=rf"unknown name '{name}'"):
        lw.loads(WOUND % f"{name} - 1")


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_an_event_counts_the_turns_of_a_joint_that_no_force_asks_for(coordinates: str) -> None:
    """8 t = 20 rad, three turns on: jumps from half a turn to the other would come earlier."""
    lines = [line for line in (WOUND % "joint:O.angle - 20").splitlines() if not line.startswith("forces")]
    motion = lw.simulate(lw.loads("\n".join(lines)), coordinates=coordinates)
    assert motion.t[-1] == pytest.approx(2.5, abs=1e-8)
