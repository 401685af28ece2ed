"""Driven motion in the one time loop: events, stops and budgets, against closed forms and against simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linkwork import kinematics, load, loads, simulate
from linkwork.elements.drivers import Driver
from linkwork.elements.motions import Polynomial
from linkwork.errors import NumericalStop, UsageError
from linkwork.trajectory import Trajectory

# A slider-crank in line with its slide: x = a cos(theta) + sqrt(b^2 - a^2 sin(theta)^2), theta = s + w t.
A, B, S, W = 0.5, 1.2, 0.4, 3.0
SLIDER_CRANK = f"""
linkwork: 1
name: slider_crank
parameters: {{a: {A}, b: {B}, s: {S}, w: {W}, psi: -asin(a*sin(s)/b), x: a*cos(s) + b*cos(psi)}}
ground: {{points: {{O: [0, 0]}}}}
bodies:
  crank: {{mass: 1, inertia: 0.1, position: [a/2*cos(s), a/2*sin(s)], angle: s, angular_velocity: VELOCITY,
          points: {{O: [-a/2, 0], A: [a/2, 0]}}}}
  rod: {{mass: 1, inertia: 0.1, position: [a*cos(s) + b/2*cos(psi), a*sin(s) + b/2*sin(psi)], angle: psi,
        points: {{A: [-b/2, 0], B: [b/2, 0]}}}}
  slider: {{mass: 1, inertia: 0.1, position: [x, 0], points: {{B: [0, 0]}}}}
joints:
  O: {{type: revolute, i: ground.O, j: crank.O}}
  A: {{type: revolute, i: crank.A, j: rod.A}}
  B: {{type: revolute, i: rod.B, j: slider.B}}
  S: {{type: prismatic, i: ground.O, j: slider.B, axis: [1, 0]}}
DRIVE
events:
  passed: {{when: slider.x - 1.1, direction: falling}}
EVENTS
simulation: {{t_end: 5, step: 0.05}}
"""
MOTOR = "drivers: {motor: {joint: O, motion: s + w*t}}"


def text(events: str = "", drive: str = MOTOR, velocity: str = "0") -> str:
    return SLIDER_CRANK.replace("DRIVE", drive).replace("EVENTS", events).replace("VELOCITY", velocity)


def crank_angle(x: float) -> float:
    """Of the triangle of crank, rod and slide, on the way in."""
    return float(np.arccos((A * A + x * x - B * B) / (2 * A * x)))


def falls_through(x: float, until: float) -> list[float]:
    turns = np.arange(-1, 10)
    times = (crank_angle(x) + 2 * np.pi * turns - S) / W
    return [float(t) for t in times if 0.0 < t < until]


@pytest.mark.parametrize("coordinates", ["body", "joint"])
@pytest.mark.parametrize("step", [0.01, 0.37, 5.0])
def test_events_happen_at_the_angles_of_the_triangle(coordinates: str, step: float) -> None:
    """The slider comes in past x = 1.1 where the law of cosines says, at any report step, once in every turn."""
    motion = kinematics(loads(text()), coordinates=coordinates, step=step)
    expected = falls_through(1.1, 5.0)
    assert len(expected) == 3
    assert motion.events.names == ("passed",) * 3
    np.testing.assert_allclose(motion.events.t, expected, rtol=0, atol=3e-13)  # rounding of x by its rate
    np.testing.assert_allclose(motion.events.v_after, motion.events.v_before, rtol=1e-12, atol=1e-12)
    at = motion.q_names.index("crank.phi")
    np.testing.assert_allclose(motion.events.q[:, at], S + W * np.array(expected), rtol=0, atol=1e-12)


def test_a_stop_ends_the_motion_where_it_happens() -> None:
    """The driving torque reverses its sign, a function of reactions; the last row is the state there."""
    whole = kinematics(loads(text()), step=1e-3)
    torque = whole["driving:motor"]
    k = int(np.flatnonzero(torque[1:] * torque[:-1] < 0.0)[0])
    reversal = whole.t[k] + 1e-3 * torque[k] / (torque[k] - torque[k + 1])
    motion = kinematics(loads(text("  reversed: {when: driving.motor, action: stop}")))
    assert motion.info.status == "finished"
    assert motion.info.reason.code == "event"
    assert motion.t[-1] == pytest.approx(motion.events.t[-1], abs=1e-13)
    assert motion.t[-1] == pytest.approx(reversal, abs=1e-6)  # the curve between two rows
    assert abs(motion["driving:motor"][-1]) < 1e-9 * np.abs(torque).max()
    with_stop = kinematics(loads(text("  arrived: {when: slider.x - 1.1, action: stop}")))
    assert with_stop.t[-1] == pytest.approx(falls_through(1.1, 5.0)[0], abs=1e-13)
    assert with_stop["slider.x"][-1] == pytest.approx(1.1, abs=1e-13)


def test_a_strong_motor_meets_the_same_events() -> None:
    """Torques K (theta - crank.phi) and D (w - crank.omega) yield by T/K: simulation is as late as this angle says."""
    K = 1e6
    drive = f"forces: {{drive: {{type: torque, on: crank, torque: {K}*(s + w*t - crank.phi) + 1e3*(w - crank.omega)}}}}"
    simulated = simulate(loads(text(drive=drive, velocity="w")), integrator="radau5", rtol=1e-9)
    driven = kinematics(loads(text()))
    assert simulated.events.names == driven.events.names
    late = np.abs(driven["driving:motor"]).max() / K / W
    np.testing.assert_allclose(simulated.events.t, driven.events.t, rtol=0, atol=2 * late)
    assert 2 * late < 1e-4


def test_simulation_of_the_driven_mechanism_meets_the_same_events() -> None:
    simulated, driven = simulate(loads(text())), kinematics(loads(text()))
    assert simulated.events.names == driven.events.names
    np.testing.assert_allclose(simulated.events.t, driven.events.t, rtol=0, atol=1e-9)


def test_a_contact_begins_and_ends() -> None:
    """The slider presses in a buffer by delta: F = k delta^(3/2) (1 + 3/2 (1 - e) delta_dot/v_0) [hunt1975].

    v_0 is its speed where it meets the buffer; the motor is loaded by virtual work, T dtheta = F dx.
    """
    law = "model: hunt-crossley, stiffness: 1e5, restitution: 0.6"
    buffer = f"forces: {{buffer: {{type: end-stop, joint: S, upper: 1.5, {law}}}}}\n"
    free, held = (kinematics(loads(text(drive=drive + MOTOR)), step=0.01) for drive in ("", buffer))
    assert "buffer.upper.begin" in held.events.names
    np.testing.assert_allclose(held["slider.x"], free["slider.x"], rtol=0, atol=1e-14)
    theta = -crank_angle(1.5)  # on the way out
    begin = (theta + 2 * np.pi - S) / W
    v_0 = -W * A * (np.sin(theta) + A * np.sin(theta) * np.cos(theta) / np.sqrt(B**2 - (A * np.sin(theta)) ** 2))
    later = (free.t > begin) & (free.t < begin + 2.0)
    x, v = free["slider.x"][later], free["slider.vx"][later]
    delta = np.maximum(x - 1.5, 0.0)
    assert delta.max() > 0.15
    F = 1e5 * delta**1.5 * (1 + 1.5 * 0.4 * v / v_0)
    torque = (held["driving:motor"] - free["driving:motor"])[later]
    np.testing.assert_allclose(torque, F * v / W, rtol=1e-9, atol=1e-9 * np.abs(F).max())


@pytest.mark.parametrize("event", ["velocities: {slider.vx: 0}", "restitution: 0.5", "release: [B]"])
def test_events_that_drivers_do_not_allow_are_refused(event: str) -> None:
    with pytest.raises(UsageError, match="'kick' would change velocities or joints") as refused:
        kinematics(loads(text(f"  kick: {{when: slider.x - 1.1, action: set, {event}}}")))
    assert refused.value.code == "driven-events"


@pytest.mark.parametrize("most", [1, 7, 20])
def test_no_more_steps_are_tried_than_allowed(most: int) -> None:
    with pytest.raises(NumericalStop) as stop:
        kinematics(loads(text()), t_end=500.0, max_steps=most)
    motion: Trajectory = stop.value.trajectory
    assert stop.value.code == "too-many-steps"
    assert motion.info.steps + motion.info.rejected == most
    np.testing.assert_allclose(motion["crank.phi"], S + W * motion.t, rtol=0, atol=1e-13)


def test_the_work_of_the_motor_does_not_depend_on_report_times() -> None:
    """T omega integrated by Simpson's rule over 20,000 rows; weight, inertia and nothing else."""
    fine = kinematics(loads(text()), step=2.5e-4)
    power = fine["driving:motor"] * W
    work = 2.5e-4 / 3 * (power[0] + power[-1] + 4 * power[1:-1:2].sum() + 2 * power[2:-1:2].sum())
    for step in (0.01, 1.0, 5.0):
        motion = kinematics(loads(text()), step=step)
        gained = motion.energy["supplied"][-1] - motion.energy["dissipated"][-1]
        assert gained == pytest.approx(work, abs=1e-6 * np.abs(power).max())


@pytest.mark.parametrize("step", [0.01, 0.3])
def test_a_four_bar_locks_where_coupler_and_rocker_are_in_line(step: float) -> None:
    """Crank 2, coupler 1, rocker 1.5, ground 2: (b + c)^2 = a^2 + d^2 - 2 a d cos(theta), at any report step."""
    a, b, c, d, s = 2.0, 1.0, 1.5, 2.0, 0.8
    model = f"""
linkwork: 1
name: four_bar
parameters: {{a: {a}, b: {b}, c: {c}, d: {d}, s: {s}, ex: d - a*cos(s), ey: -a*sin(s), e2: ex^2 + ey^2,
  coupler: "atan2(ey, ex) + acos((e2 + b^2 - c^2)/(2*b*sqrt(e2)))",
  rocker: "atan2(a*sin(s) + b*sin(coupler), a*cos(s) + b*cos(coupler) - d)"}}
ground: {{points: {{O: [0, 0], C: [d, 0]}}}}
bodies:
  crank: {{mass: 1, inertia: 0.1, position: [0, 0], angle: s, points: {{O: [0, 0], A: [a, 0]}}}}
  coupler: {{mass: 1, inertia: 0.1, position: [a*cos(s), a*sin(s)], angle: coupler, points: {{A: [0, 0], B: [b, 0]}}}}
  rocker: {{mass: 1, inertia: 0.1, position: [d, 0], angle: rocker, points: {{C: [0, 0], B: [c, 0]}}}}
joints:
  O: {{type: revolute, i: ground.O, j: crank.O}}
  A: {{type: revolute, i: crank.A, j: coupler.A}}
  B: {{type: revolute, i: coupler.B, j: rocker.B}}
  C: {{type: revolute, i: ground.C, j: rocker.C}}
drivers: {{motor: {{joint: O, motion: s + t^2}}}}
simulation: {{t_end: 3, step: {step}}}
"""
    angle = np.arccos((a * a + d * d - (b + c) ** 2) / (2 * a * d))
    with pytest.raises(NumericalStop) as stop:
        kinematics(loads(model))
    assert stop.value.code == "lock-up"
    assert stop.value.attached["t"] == pytest.approx(np.sqrt(angle - s), abs=1e-9)
    assert stop.value.attached["drivers"]["motor"] == pytest.approx(angle, abs=1e-9)
    assert {"A", "B", "C"} <= set(stop.value.attached["joints"])
    motion: Trajectory = stop.value.trajectory
    assert np.sqrt(angle - s) - step <= motion.t[-1] <= np.sqrt(angle - s)


@pytest.mark.parametrize("part", [1.0, 0.4])
def test_steep_forces_change_nothing_of_a_driven_motion(part: float) -> None:
    """A block driven along a belt, once at its very speed, where friction is steepest, in a few steps.

    The motor holds a spring of 10 N/m and free length 0.8 m and the friction, which a steady speed does not change.
    """
    model = load("dap/conveyor_belt")
    speed = part * model.parameters["v_belt"]
    driver = Driver("motor", model.joints[0], "displacement", Polynomial(1.0, speed))
    motion = kinematics(replace(model, drivers=(driver,)), t_end=8.0)
    np.testing.assert_allclose(motion["block.x"], 1.0 + speed * motion.t, rtol=0, atol=1e-13)
    assert motion.info.steps < 50
    friction = 10.0 * (motion["block.x"] - 0.8) - motion["driving:motor"]
    np.testing.assert_allclose(friction, friction[0], rtol=0, atol=1e-9)
    assert (abs(friction[0]) > 1.0) == (part < 1.0)
