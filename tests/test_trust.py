"""No run is wrong without a word: switches that were stepped over, scales, alarms, singular positions."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import random_runs
from carts import cart
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.special import ellipj

from linkwork import Baumgarte, Integrator, check, kinematics, load, simulate
from linkwork.elements.forces import PointForce
from linkwork.errors import ModelError, NumericalStop
from linkwork.expressions.graph import symbol
from linkwork.expressions.parser import parse
from linkwork.formulations import usual_formulations
from linkwork.integrators import memory, time_loop
from linkwork.model import Model
from linkwork.modelfile import loads
from linkwork.trajectory import Trajectory
from linkwork.view.report import summary_lines

Array = NDArray[np.float64]
MODELS = Path(__file__).parent / "reference" / "trust"
TOLERANCES = (1e-3, 1e-6, 1e-9, 1e-12)


def build(data: dict[str, Any]) -> Model:
    return loads(json.dumps(data), is_json=True)


@pytest.mark.diagonal
@pytest.mark.parametrize("rtol", TOLERANCES)
@pytest.mark.parametrize("integrator", ["dop853", "dopri5"])
@pytest.mark.parametrize(("begin", "length"), [(5.0, 1.0), (5.0, 1e-2), (0.123, 1e-4), (9.9, 1e-7)])
def test_a_pulse_is_not_stepped_over(rtol: float, integrator: str, begin: float, length: float) -> None:
    """A pulse of momentum 10 N s between report times: afterwards the cart has 10 m/s, whatever the tolerance.

    The step ends within two units of the last place of the time, which is an error of the momentum.
    """
    force = 10 / length
    motion = simulate(
        cart(f"if(t < {begin}, 0, if(t < {begin + length}, {force}, 0))"), rtol=rtol, integrator=integrator
    )
    rounding = 10 * force * np.spacing(begin)
    assert motion["cart.vx"][-1] == pytest.approx(10.0, abs=rounding)
    assert motion["cart.x"][-1] == pytest.approx(10 * (10 - begin - length / 2), abs=10 * rounding)


@pytest.mark.parametrize("rtol", TOLERANCES[1:])
def test_a_short_torque_acts_on_a_swinging_rod(rtol: float) -> None:
    """1000 N m for 5 ms on a rod with an inertia of 2 about its pin, by SciPy piece by piece."""
    y, ends = np.array([0.0, 0.0]), (0.0, 5.0, 5.005, 10.0)
    for begin, end, torque in zip(ends[:-1], ends[1:], (0.0, 1000.0, 0.0), strict=True):
        y = solve_ivp(
            lambda t, y, torque=torque: [y[1], (torque - 9.81 * math.cos(y[0])) / 2],
            (begin, end),
            y,
            "DOP853",
            rtol=1e-13,
            atol=1e-13,
        ).y[:, -1]
    motion = simulate(load(MODELS / "pulse2.yaml"), rtol=rtol, atol=rtol)
    np.testing.assert_allclose([motion["rod.phi"][-1], motion["rod.omega"][-1]], y, rtol=0, atol=1e4 * rtol)


@pytest.mark.parametrize("rtol", TOLERANCES[1:])
def test_pulses_that_repeat_are_all_found(rtol: float) -> None:
    """50 pulses in a second, each 0.28 ms long: the momentum is their sum."""
    motion = simulate(cart("if(sin(2*pi*50*t) > 0.999, 1000, 0)", t_end=1.0), rtol=rtol)
    momentum = 50 * 1000 * 2 * math.acos(0.999) / (2 * math.pi * 50)
    assert motion["cart.vx"][-1] == pytest.approx(momentum, rel=10 * rtol + 1e-11)


@pytest.mark.parametrize("width", [0.01, 0.003])
@pytest.mark.parametrize("rtol", TOLERANCES[1:])
def test_a_force_without_a_switch_that_report_times_see_is_not_stepped_over(rtol: float, width: float) -> None:
    """A bell of 1000 N in time: momentum sqrt(pi) width 1000, although every stage of a long step sees zero."""
    motion = simulate(cart(f"1000*exp(-((t - 5)/{width})^2)"), rtol=rtol)
    assert motion["cart.vx"][-1] == pytest.approx(1000 * width * math.sqrt(math.pi), rel=100 * rtol)


@pytest.mark.parametrize("rtol", TOLERANCES)
@pytest.mark.parametrize("stiffness", [1e4, 1e8])
def test_a_wall_throws_a_cart_back(rtol: float, stiffness: float) -> None:
    """Contact as a formula lasts half a period, pi sqrt(m/k), and reverses the velocity."""
    motion = simulate(cart(f"-{stiffness}*max(0, cart.x - 1)", velocity=1.0, t_end=2.0), rtol=rtol)
    assert motion["cart.vx"][-1] == pytest.approx(-1.0, abs=10 * rtol + 1e-10)
    assert motion["cart.x"][-1] == pytest.approx(1 - (2 - 1 - math.pi / math.sqrt(stiffness)), abs=20 * rtol + 1e-10)


@pytest.mark.parametrize("stiffness", [1e6, 1e7, 1e8, 1e9])
@pytest.mark.parametrize(("speed", "way"), [(0.3, 0.31), (1.0, 1.7), (7.0, 1.7)])
def test_a_wall_that_is_pressed_in_by_less_than_a_tolerance_throws_back(
    speed: float, way: float, stiffness: float
) -> None:
    """A tolerance of 1 mm, a way into the wall of 9 um to 7 mm; with half of a contact the speed was up to 3 % off."""
    law = f"-{stiffness}*max(0, cart.x - {way})"
    motion = simulate(cart(law, velocity=speed), rtol=1e-3, atol=1e-3)
    assert motion["cart.vx"][-1] == pytest.approx(-speed, rel=1e-3)
    assert motion.info.switches == 2


@pytest.mark.parametrize("rtol", TOLERANCES)
def test_a_force_in_a_narrow_window_of_positions_acts(rtol: float) -> None:
    """100 N over 1 mm of the way: the kinetic energy grows by 0.1 J."""
    motion = simulate(cart("if(cart.x < 5, 0, if(cart.x < 5.001, 100, 0))", velocity=1.0), rtol=rtol)
    assert motion["cart.vx"][-1] == pytest.approx(math.sqrt(1.2), abs=1e-9)


@pytest.mark.parametrize("speed", [0.7, 1.0, 5.0])
@pytest.mark.parametrize(("push", "width"), [(100.0, 1e-4), (1e4, 1e-3), (1e4, 1e-4), (-200.0, 1e-3), (-200.0, 1e-4)])
@pytest.mark.sampled
def test_a_force_in_a_window_narrower_than_a_tolerance_acts(push: float, width: float, speed: float) -> None:
    """The kinetic energy changes by push times width, up to two tolerances of the speed; it was off by up to 26."""
    begin = 5.1 * speed
    law = f"if(cart.x < {begin!r}, 0, if(cart.x < {begin + width!r}, {push}, 0))"
    motion = simulate(cart(law, velocity=speed), rtol=1e-3)
    assert motion["cart.vx"][-1] == pytest.approx(math.sqrt(speed**2 + 2.0 * push * width), rel=2e-3)
    assert motion.info.switches == 2


@pytest.mark.parametrize(("rtol", "step"), [(1e-6, 0.01), (1e-6, 0.1), (1e-9, 0.1)])
def test_a_driven_press_meets_its_work_piece_in_every_turn(rtol: float, step: float) -> None:
    """The slider passes 2.5 m = l1 cos(t') + sqrt(l2^2 - l1^2 sin(t')^2), t' = 10 t, twice in each of three turns.

    Its end is projected onto the driven position, often past the switch that was seen just before it.
    """
    model = load("slider_crank_driven")
    (slider,) = (body for body in model.bodies if body.name == "slider")
    law = parse("if(slider.x > 2.5, 100*(2 - slider.x), 0)", {"slider.x": symbol("slider.x")})
    press = PointForce("press", slider, (0.0, 0.0), (law, 0.0))
    motion = simulate(replace(model, forces=(press,)), rtol=rtol, step=step, t_end=0.6 * math.pi)
    angles = 10.0 * np.linspace(0.0, 0.6 * math.pi, 10_000)
    way = np.cos(angles) + np.sqrt(4.0 - np.sin(angles) ** 2) - 2.5
    assert motion.info.switches == np.count_nonzero(np.diff(np.sign(way))) == 6


def test_a_step_that_is_limited_is_not_longer() -> None:
    """Free flight needs a few steps; with max_step it takes as many as fit into the time."""
    free = cart("0*t", velocity=1.0)
    assert simulate(free).info.steps < 20
    assert simulate(free, integrator=Integrator(max_step=0.1)).info.steps >= 100


def rod_over_ground(
    height: float, omega: float, k: float, ends: tuple[int, ...]
) -> Callable[[float, Array], list[float]]:
    """(y, phi, vy, omega)' of a rod of 1 kg, 0.3 kg m^2, whose ends at -1 and 1 touch the ground y = 0."""

    def f(t: float, x: Array) -> list[float]:
        forces = [(s, k * max(0.0, -(x[0] + s * math.sin(x[1])))) for s in ends]
        return [x[2], x[3], sum(F for _, F in forces), sum(s * math.cos(x[1]) * F for s, F in forces) / 0.3]

    return f


@cache
def spun_rod(height: float, omega: float) -> tuple[float, float]:
    """Height and angle after ten seconds."""
    f = rod_over_ground(height, omega, 1e4, (-1, 1))
    exact = solve_ivp(f, (0, 10), [height, 0, 0, omega], "DOP853", rtol=1e-12, atol=1e-13, max_step=0.3 / (omega + 10))
    return exact.y[0, -1], exact.y[1, -1]


@pytest.mark.diagonal
@pytest.mark.parametrize("rtol", TOLERANCES)
@pytest.mark.parametrize(("height", "omega"), [(0.99, 0.3), (0.999, 3.0), (0.99, 30.0)])
def test_every_contact_of_a_spinning_rod_acts(rtol: float, height: float, omega: float) -> None:
    """Against SciPy's DOP853 at 1e-12 with short steps; the free flight between contacts needs no step at all.

    At each contact the error grows by about stiffness times duration.
    """
    model = load(MODELS / "spin2.yaml")
    y, phi = spun_rod(height, omega)
    motion = simulate(model, start={"rod.y": height, "rod.omega": omega}, rtol=rtol, atol=rtol)
    assert motion["rod.y"][-1] == pytest.approx(y, abs=1e3 * rtol + 1e-9)
    assert motion["rod.phi"][-1] == pytest.approx(phi, abs=1e3 * rtol + 1e-9)


def hung_bob(t_start: float, t_end: float) -> Model:
    """A bob of 1 kg on a massless rod of 1 m under a cart that is moved by 1 m between two times."""
    motion = {"type": "smooth-step", "start": 0, "end": 1, "t_start": t_start, "t_end": t_end}
    return build(
        {
            "linkwork": 1,
            "name": "cart with bob",
            "gravity": [0, -9.81],
            "ground": {"points": {"O": [0, 0]}},
            "bodies": {
                "cart": {"mass": 1, "inertia": 1, "points": {"O": [0, 0]}},
                "bob": {"mass": 1, "inertia": 0.1, "position": [0, -1], "points": {"A": [0, 1]}},
            },
            "joints": {
                "rail": {"type": "prismatic", "i": "ground.O", "j": "cart.O", "axis": [1, 0]},
                "pin": {"type": "revolute", "i": "cart.O", "j": "bob.A"},
            },
            "drivers": {"shift": {"joint": "rail", "motion": motion}},
            "simulation": {"t_end": 10, "step": 0.01},
        }
    )


@cache
def moved_bob(begin: float, end: float) -> tuple[float, float]:
    """Angle and rate after ten seconds: (I + m l^2) phi'' = -m l (g sin phi + x'' cos phi) by SciPy."""

    def f(t: float, y: Array) -> list[float]:
        s = (t - begin) / (end - begin)
        pull = (60 * s - 180 * s**2 + 120 * s**3) / (end - begin) ** 2 if 0 < s < 1 else 0.0
        return [y[1], -(9.81 * math.sin(y[0]) + pull * math.cos(y[0])) / 1.1]

    exact = solve_ivp(f, (0, 10), [0, 0], "DOP853", rtol=1e-12, atol=1e-13, max_step=0.2 * (end - begin))
    return exact.y[0, -1], exact.y[1, -1]


@pytest.mark.parametrize("rtol", TOLERANCES[1:])
@pytest.mark.parametrize(("begin", "end"), [(5.0, 5.1), (0.5, 0.52), (9.0, 9.3)])
@pytest.mark.sampled
def test_a_short_motion_of_a_driver_is_not_stepped_over(rtol: float, begin: float, end: float) -> None:
    """The bob under a cart that is moved for a moment; rounding error grows as it goes round."""
    phi, omega = moved_bob(begin, end)
    motion = simulate(hung_bob(begin, end), rtol=rtol)
    assert motion["bob.phi"][-1] == pytest.approx(phi, abs=1e4 * rtol + 1e-9)
    assert motion["bob.omega"][-1] == pytest.approx(omega, abs=1e4 * rtol + 1e-9)


SLIDER_CRANK = """
linkwork: 1
name: slider_crank
gravity: [0, -9.8]
parameters: {J: 1}
ground: {points: {O: [0, 0]}}
bodies:
  crank: {mass: 1, inertia: 4.5, position: [0.5, 0], velocity: [0, 0.5], angular_velocity: 1,
          points: {O: [-0.5, 0], A: [0.5, 0]}}
  rod: {mass: 1, inertia: 5.5, position: [2, 0], velocity: [0, 0.5], angular_velocity: -0.5,
        points: {A: [-1, 0], B: [1, 0]}}
  slider: {mass: 2, inertia: J, position: [3, 0], points: {B: [0, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: rod.A}
  B: {type: revolute, i: rod.B, j: slider.B}
  S: {type: prismatic, i: ground.O, j: slider.B, axis: [1, 0]}
simulation: {t_end: 1, step: 0.05, rtol: 1.0e-10, atol: 1.0e-10}
"""


@cache
def slider_crank(J: float, formulation: str) -> Trajectory:
    return simulate(loads(SLIDER_CRANK, changes={"J": J}), formulation=formulation)


@pytest.mark.diagonal
@pytest.mark.parametrize("formulation", usual_formulations())
@pytest.mark.parametrize("inertia", [1e-3, 1e-9, 1e-12, 1e-15])
def test_the_inertia_of_a_slider_that_cannot_turn_has_no_effect(formulation: str, inertia: float) -> None:
    """From 1 kg m^2 to 1e-15: the same motion to 1e-9, and crank.phi(1) of the two-angle equations."""
    usual, motion = (slider_crank(J, formulation) for J in (1.0, inertia))
    assert motion["crank.phi"][-1] == pytest.approx(0.2629316601282817, abs=1e-9)
    np.testing.assert_allclose(motion.q, usual.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion["reaction:A.x"], usual["reaction:A.x"], rtol=0, atol=1e-7)


@cache
def scaled_model(file: str, size: float, mass: float) -> Model:
    return load(MODELS / file, {"S": size, "Mu": mass})


def scaled_motion(file: str, size: float, mass: float, **how: Any) -> tuple[Array, Array]:
    """Positions and reactions of a mechanism so much longer and heavier, as those of the original.

    Under gravity time goes with the root of the size, forces with mass, torques with size times mass.
    """
    t_end = 0.6 * math.sqrt(size)
    motion = simulate(
        scaled_model(file, size, mass),
        t_end=t_end,
        step=t_end / 20,
        rtol=1e-9,
        atol=1e-9,
        **how,
    )
    q = np.array([motion[name] / (1 if name.endswith("phi") else size) for name in motion.q_names])
    named = [name for name in motion if name.startswith("reaction:")]
    return q, np.array([motion[name] / (mass * (size if name.endswith("torque") else 1)) for name in named])


def assert_no_effect_of_scales(file: str, scales: Sequence[tuple[float, float]], **how: Any) -> None:
    q, reactions = scaled_motion(file, 1.0, 1.0, **how)
    for size, mass in scales:
        other_q, other_reactions = scaled_motion(file, size, mass, **how)
        np.testing.assert_allclose(other_q, q, rtol=0, atol=1e-8)
        np.testing.assert_allclose(other_reactions, reactions, rtol=0, atol=1e-6 * np.max(abs(reactions)))


@pytest.mark.diagonal
@pytest.mark.parametrize(
    "scales",
    [
        pytest.param([(1e-6, 1.0), (1e-5, 1e12), (1e6, 1e-12)], id="extreme"),
        pytest.param([(1e-4, 1.0), (2e4, 1.0), (1.0, 1e-12), (1.0, 1e12)], id="between", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("formulation", usual_formulations())
@pytest.mark.parametrize("file", ["toggle.yaml", "wedge.yaml"])
def test_motion_does_not_depend_on_size_or_mass(file: str, formulation: str, scales: list[tuple[float, float]]) -> None:
    """Lengths from 1e-6 to 1e6, masses from 1e-12 to 1e12: positions to 1e-8, reactions to 1e-6 of the largest."""
    assert_no_effect_of_scales(file, scales, formulation=formulation)


@pytest.mark.diagonal
@pytest.mark.parametrize("formulation", usual_formulations())
@pytest.mark.parametrize("mass", [1e-6, 1e-9, 1e-12])
def test_a_light_coupler_moves_as_a_massless_one(formulation: str, mass: float) -> None:
    """crank.phi(4) = 51.2928836693 for a coupler whose mass goes to zero, by SciPy on the minimal equations."""
    motion = simulate(load(MODELS / "light.yaml", {"ml": mass}), formulation=formulation)
    assert motion["crank.phi"][-1] == pytest.approx(51.2928836693, abs=mass + 2e-7)


SPRUNG = """
linkwork: 1
name: a cart on a spring beside a plumb
parameters: {S: 1.0}
gravity: [0, -9.81]
ground: {points: {O: [0, 0], W: [-2*S, 0]}}
bodies:
  cart: {mass: 1, inertia: S^2, position: [0.1*S, 0], points: {C: [0, 0]}}
  plumb: {mass: 0.3, inertia: 0.01*S^2, position: [0, -0.5*S], points: {P: [0, 0.5*S]}}
joints:
  rail: {type: prismatic, i: ground.O, j: cart.C, axis: [1, 0]}
  pin: {type: revolute, i: ground.O, j: plumb.P}
forces:
  spring: {type: spring-damper, i: ground.W, j: cart.C, stiffness: 20/S, free_length: 2*S}
simulation: {t_end: 1, step: 0.1, rtol: 1.0e-8}
"""


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_the_default_tolerance_of_lengths_follows_the_size_of_the_mechanism(coordinates: str) -> None:
    """Of 1 m and of 10 micrometres, whose time goes with the root of the size."""
    usual = simulate(loads(SPRUNG), coordinates=coordinates)
    t_end = math.sqrt(1e-5)
    small = simulate(
        loads(SPRUNG.replace("S: 1.0", "S: 1.0e-5")), coordinates=coordinates, t_end=t_end, step=t_end / 10
    )
    np.testing.assert_allclose(small["cart.x"] / 1e-5, usual["cart.x"], rtol=0, atol=1e-7)
    np.testing.assert_allclose(usual["cart.x"], 0.1 * np.cos(math.sqrt(20) * usual.t), rtol=0, atol=1e-7)


SLOW = """
linkwork: 1
name: slow
parameters: {T: 1.0}
gravity: [0, -9.81/T^2]
ground: {points: {O: [0, 0]}}
bodies:
  rod: {mass: 1, inertia: 0.1, position: [0.5, 0], points: {O: [-0.5, 0], E: [0.5, 0]}}
  bob: {mass: 0.4, inertia: 0.02, position: [1.3, 0], points: {E: [-0.3, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: rod.O}
  E: {type: revolute, i: rod.E, j: bob.E}
forces:
  push: {type: torque, on: bob, torque: 40/T^2*exp(-((t/T - 1.3)/0.01)^2)}
simulation: {t_end: 3, step: 0.1, rtol: 1.0e-8}
"""


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_a_motion_of_months_is_that_of_seconds(coordinates: str) -> None:
    """Velocities of 1e-6 rad/s are not small against their absolute tolerance."""
    usual = simulate(loads(SLOW), coordinates=coordinates, rtol=1e-12)
    slow = simulate(loads(SLOW.replace("T: 1.0", "T: 3.0e6")), coordinates=coordinates, t_end=9e6, step=3e5)
    assert not slow.info.notes
    for angle in ("rod.phi", "bob.phi"):
        np.testing.assert_allclose(slow[angle], usual[angle], rtol=0, atol=1e-6)


def test_an_absolute_tolerance_that_is_no_small_part_of_the_motion_is_told() -> None:
    """With the default atol of 1e-9, a pendulum of a micrometre without any arm, and a ball that falls by 44."""
    model = load(MODELS / "micro.yaml")
    assert not any("atol-size" in note for note in simulate(model, t_end=1e-3).info.notes)
    assert any("atol-size" in note for note in simulate(model, t_end=1e-3, atol=1e-9).info.notes)
    settings = "simulation: {t_end: 3.0e-3, step: 3.0e-4}\n"
    ball = f"linkwork: 1\nname: ball\nbodies: {{b: {{mass: 1, inertia: 1, position: [0, 0]}}}}\n{settings}"
    assert any("atol-size" in note for note in simulate(loads(ball)).info.notes)
    assert not any("atol-size" in note for note in simulate(loads(ball), atol=1e-15).info.notes)


@pytest.mark.parametrize("formulation", usual_formulations())
@pytest.mark.sampled
def test_a_pendulum_of_a_micrometre_keeps_its_energy(formulation: str) -> None:
    """1e-5 J are turned over."""
    motion = simulate(load(MODELS / "micro.yaml"), formulation=formulation)
    assert np.max(np.abs(motion.drift())) < 1e-7 * np.ptp(motion.energy["kinetic"])


@cache
def parallelogram(angle: float, speed: float, times: tuple[float, ...]) -> Array:
    """Angle of the cranks and its rate, by the equation of their one freedom."""
    r, g = 0.3, 9.81
    inertia = 0.05 + 2 * (r / 2) ** 2 + 3 * r**2 + 0.1 + 4 * (r / 2) ** 2
    moment = (2 * r / 2 + 3 * r + 4 * r / 2) * g

    def rates(t: float, y: Array) -> list[float]:
        return [y[1], (5 - 0.5 * y[1] - moment * math.cos(y[0])) / inertia]

    found = solve_ivp(rates, (0.0, times[-1]), [angle, speed], "DOP853", times, rtol=1e-12, atol=1e-12)
    return np.asarray(found.y)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
@pytest.mark.parametrize("formulation", usual_formulations())
@pytest.mark.parametrize(
    ("angle", "speed"), [(1.7460471439216079, -11.985588906517041), (1.5627621124083113, -10.17320635468549)]
)
@pytest.mark.sampled
def test_a_driven_parallelogram_stays_one(formulation: str, rtol: float, angle: float, speed: float) -> None:
    """Through positions in line, past which an antiparallelogram begins; by SciPy in the angle of the cranks."""
    motion = simulate(
        load(MODELS / "para.yaml", {"th": angle, "w": speed}), formulation=formulation, rtol=rtol, t_end=3.0
    )
    exact = parallelogram(angle, speed, tuple(motion.t))
    np.testing.assert_allclose(motion["rod.phi"], 0.0, rtol=0, atol=1e-6)
    np.testing.assert_allclose(motion["crank.phi"], exact[0], rtol=0, atol=1e4 * rtol)
    np.testing.assert_allclose(motion["follower.omega"], exact[1], rtol=0, atol=1e5 * rtol)


def test_a_motion_that_loses_energy_is_not_finished() -> None:
    """Baumgarte's stabilization loses the branch of a parallelogram in line; the energy says so, and the exit code."""
    with pytest.raises(NumericalStop, match=r"energy balance is off by .* at t = .*") as stopped:
        simulate(load("n_four_bar:2"), stabilization="baumgarte", rtol=1e-6, t_end=10.0)
    assert (stopped.value.code, stopped.value.exit_code) == ("energy-balance", 4)
    motion = stopped.value.trajectory
    assert motion.status == "doubtful"
    assert motion.t[-1] == 10.0
    assert any("'baumgarte' does not keep it in its own" in note for note in motion.info.notes)


@pytest.mark.parametrize(
    ("scale", "coordinates", "rtol"), [(1.0, "body", 1e-3), (1e-3, "body", 1e-3), (1e3, "joint", 1e-3)]
)
def test_a_motion_that_leaves_its_constraints_is_not_finished(scale: float, coordinates: str, rtol: float) -> None:
    """Weak gains let a slider-crank open by two per cent of its size, whatever that is; projection keeps it closed."""
    time = math.sqrt(scale)
    lengths = {"l1": scale, "l2": 2 * scale, "J1": 4.5 * scale**2, "J2": 5.5 * scale**2, "omega": 1 / time}
    model, weak = load("slider_crank", lengths), 0.01 / time
    how: dict[str, Any] = {"t_end": 100.0 * time, "step": time, "rtol": rtol, "coordinates": coordinates}
    with pytest.raises(NumericalStop) as stopped:
        simulate(model, stabilization=Baumgarte(weak, weak), **how)
    assert stopped.value.code == "constraint-gap"
    assert stopped.value.trajectory.status == "doubtful"
    assert simulate(model, **how).status == "finished"


@pytest.mark.parametrize("rtol", TOLERANCES)
@pytest.mark.parametrize("model", ["slider_crank", "double_pendulum", "andrews_squeezer", "n_four_bar:2"])
def test_a_good_run_raises_no_alarm(model: str, rtol: float) -> None:
    """At every tolerance the drift is what the tolerance explains."""
    motion = simulate(load(model), rtol=rtol)
    assert motion.status == "finished"
    assert not any(code in note for note in motion.info.notes for code in ("energy-balance", "[lag]"))


SWINGING = """
linkwork: 1
name: pendulum
gravity: [0, -9.81]
ground: {points: {O: [0, 0]}}
bodies: {bob: {mass: 1, position: [0, -1], velocity: [5, 0], points: {P: [0, 0]}}}
joints: {string: {type: distance, i: ground.O, j: bob.P}}
forces: {air: {type: point-force, at: bob.P, force: [-c*bob.vx, -c*bob.vy]}}
parameters: {c: 0}
simulation: {t_end: 1000, step: 0.5, rtol: 1e-6, atol: 1e-6}
"""


def test_a_long_motion_says_by_how_much_it_may_be_ahead_or_behind() -> None:
    """By the energy balance 0.03 rad after 1,000 s; sin(phi/2) = k sn(w t, k^2) says 0.03 too, within a factor of 3.

    In a tenth of that time it is no more than tolerances explain, and what a damped pendulum did wrong is forgotten.
    """
    motion = simulate(loads(SWINGING))
    w = math.sqrt(9.81)
    k = 5.0 / (2.0 * w)
    error = np.arctan2(motion["bob.x"], -motion["bob.y"]) - 2.0 * np.arcsin(k * ellipj(w * motion.t, k**2)[0])
    (note,) = (note for note in motion.info.notes if note.endswith("[lag]"))
    said = float(note.split("and by ")[1].split()[0])
    assert said / 3.0 < np.max(np.abs(error)) < 3.0 * said
    for t_end, c in ((100.0, 0.0), (1000.0, 0.01)):
        short = simulate(loads(SWINGING, changes={"c": c}), t_end=t_end)
        assert not any("[lag]" in note for note in short.info.notes)


def test_kinematics_does_not_call_the_quadrature_of_work_a_drift() -> None:
    """Positions are solved for, nothing drifts: only the work is added up over the report times."""
    motion = kinematics(load("slider_crank_driven"))
    assert "max_drift" not in motion.summary()["energy"]
    text = " ".join(line for _, line in summary_lines(motion))
    assert "drift" not in text
    assert "work over the report times" in text


@pytest.mark.parametrize("integrator", ["auto", "dopri5", "radau5"])
@pytest.mark.parametrize("law", ["-2*sign(cart.vx)", "if(cart.vx > 0, -2, 2)", "1 - 2*cart.vx/abs(cart.vx)"])
def test_dry_friction_that_holds_by_switching_stops_where_the_cart_comes_to_rest(law: str, integrator: str) -> None:
    """From t = 0.5 on, or 1, either side pushes it back; that is told after a few steps."""
    with pytest.raises(NumericalStop, match=r"rests .* where the law of 'push' switches, .* stick-slip") as stopped:
        simulate(cart(law, velocity=1.0, t_end=10.0), rtol=1e-9, atol=1e-9, integrator=integrator)
    assert stopped.value.code == "chatters"
    motion = stopped.value.trajectory
    assert motion.t[-1] == pytest.approx(1.0 if law.startswith("1") else 0.5, abs=1e-5)
    assert motion["cart.vx"][-1] == pytest.approx(0.0, abs=1e-5)
    assert motion.info.steps + motion.info.rejected < 1000


@pytest.mark.parametrize("integrator", ["auto", "dopri5", "radau5"])
def test_a_cart_that_slides_along_a_switch_is_not_said_to_rest(integrator: str) -> None:
    """v = 1 - t and x = t - t^2/2 until x + 2 v = 0; from there on x' = -x/2, which is no rest."""
    with pytest.raises(NumericalStop, match=r"stays .* where the law of 'push' switches, .* slides along") as stopped:
        simulate(cart("-sign(cart.x + 2*cart.vx)", velocity=1.0, t_end=10.0), integrator=integrator)
    assert stopped.value.code == "chatters"
    motion = stopped.value.trajectory
    assert motion.t[-1] == pytest.approx(math.sqrt(5.0) - 1.0, abs=1e-6)
    assert motion["cart.vx"][-1] == pytest.approx(2.0 - math.sqrt(5.0), abs=1e-6)


def test_a_stop_that_no_switch_holds_says_nothing_of_friction() -> None:
    """A force that switches while the cart goes on through it, and a spring: too many steps have other causes."""
    with pytest.raises(NumericalStop) as stopped:
        simulate(
            cart("-1e4*cart.x - 1e-3*sign(cart.vx)", velocity=1.0, t_end=1e3), integrator=Integrator(max_steps=5000)
        )
    assert stopped.value.code == "too-many-steps"
    assert "stick-slip" not in str(stopped.value)


def test_pins_of_an_epicyclic_gear_carry_the_tooth_forces() -> None:
    """Forces at the teeth by hand: 16.67 N from the sun, 14.80 N from the ring; the planet pin carries their sum.

    Every body is in balance: m a of the planet is its pin and both teeth, and the carrier hands the pin on.
    """
    motion = simulate(load(MODELS / "epi.yaml"), t_end=0.05)
    at = {name: motion[f"reaction:{name}"][-1] for name in ("P.x", "P.y", "S.x", "S.y", "C.x", "C.y")}
    assert (at["P.x"], at["P.y"]) == pytest.approx((1.19, -28.12), abs=0.005)
    assert math.hypot(at["S.x"], at["S.y"]) == pytest.approx(16.67, abs=0.005)
    assert (at["C.x"], at["C.y"]) == pytest.approx((at["P.x"], at["P.y"]), abs=1e-9)


def test_a_pressure_angle_pushes_gears_apart() -> None:
    """The motion stays. The sun's pin holds 16.67 N/cos(20 deg); sun and ring push the planet by (16.67 - 14.80) N tan.

    That of the sun is away from it and that of the ring towards it, so the pin holds the difference inwards.
    """
    text = (MODELS / "epi.yaml").read_text()
    plain = simulate(loads(text), t_end=0.05)
    steep = simulate(loads(text.replace("type: gear,", "type: gear, pressure_angle: 20 deg,")), t_end=0.05)
    np.testing.assert_array_equal(plain.q, steep.q)
    sun = [math.hypot(*(motion[f"reaction:S.{axis}"][-1] for axis in "xy")) for motion in (plain, steep)]
    assert sun[1] == pytest.approx(sun[0] / math.cos(math.radians(20)), rel=1e-9)
    change = np.array([steep[f"reaction:P.{axis}"][-1] - plain[f"reaction:P.{axis}"][-1] for axis in "xy"])
    centre = np.array([plain[f"planet.{axis}"][-1] for axis in "xy"])
    sun_teeth, ring_teeth = (abs(plain[f"lam:{name}.mesh"][-1]) for name in ("sp", "pr"))
    assert (sun_teeth, ring_teeth) == pytest.approx((16.67, 14.80), abs=0.005)
    inwards = -centre / np.hypot(*centre)
    np.testing.assert_allclose(change, (sun_teeth - ring_teeth) * math.tan(math.radians(20)) * inwards, atol=1e-9)
    with pytest.raises(ModelError, match="a pressure angle of 60 deg"):
        loads(text.replace("type: gear,", "type: gear, pressure_angle: 60 deg,"))


def test_a_start_in_a_singular_position_is_refused_with_its_branches() -> None:
    """A driven parallelogram in line: (b, c) go on at the rates (0, 2) or (-4, -6); a mixture is not a motion."""
    model = load(MODELS / "in_line.yaml")
    with pytest.raises(ModelError) as refused:
        simulate(model)
    assert refused.value.code == "singular-start"
    assert "(a.phi 2, b.phi 0, c.phi 2)" in str(refused.value)
    assert "(a.phi 2, b.phi -4, c.phi -6)" in str(refused.value)
    motion = simulate(model, start={"a.omega": 2, "a.vy": 1, "b.vy": 2, "c.omega": 2, "c.vy": 1})
    np.testing.assert_allclose(motion["b.phi"], 0.0, atol=1e-8)


@pytest.mark.parametrize("turned", [0.0, 0.3, 2.0])
def test_a_plate_that_is_fastened_twice_stands_still(turned: float) -> None:
    """Its accelerations are rounding, which is no branch of a motion; A and B together carry its weight."""
    c, s = math.cos(turned), math.sin(turned)
    motion = simulate(
        loads(f"""
linkwork: 1
ground: {{points: {{O: [0, 0], P: [{c!r}, {s!r}]}}}}
bodies: {{plate: {{mass: 2, inertia: 1, angle: {turned}, points: {{O: [0, 0], P: [1, 0]}}}}}}
joints: {{A: {{type: rigid, i: ground.O, j: plate.O}}, B: {{type: rigid, i: ground.P, j: plate.P}}}}
simulation: {{t_end: 0.1, step: 0.05}}
""")
    )
    np.testing.assert_allclose(motion.v, 0.0, atol=1e-14)
    np.testing.assert_allclose(motion["reaction:A.y"] + motion["reaction:B.y"], 2 * 9.81, rtol=1e-12)


def test_a_large_body_without_freedom_stands_still_under_a_force() -> None:
    """A ball joint and a cross hold all six freedoms and one more: the rounding of what they hold is not a motion."""
    motion = simulate(
        loads("""
linkwork: 1
space: spatial
gravity: [0, 0, 0]
ground: {points: {U: [-231.456, -508.009, 367.783], S: [-176.543, -85.0859, 388.822]}}
bodies:
  b:
    mass: 0.617
    inertia: [541726, 1102579, 647233]
    position: [-176.543, -85.0859, 388.822]
    points: {U: [-54.913, -422.9231, -21.039], S: [0, 0, 0], Q: [-302.325, 325.32, -462.567]}
joints:
  U: {type: universal, i: ground.U, j: b.U, axis: [-0.2955, 0.9543, 0.0447], axis_j: [0.9504, 0.2984, -0.087]}
  S: {type: spherical, i: ground.S, j: b.S}
forces: {f: {type: point-force, at: b.Q, force: [0, 4, 4]}}
simulation: {t_end: 0.02, step: 0.01}
""")
    )
    np.testing.assert_allclose(motion.v, 0.0, atol=1e-12)


def test_branches_that_the_driver_excludes_are_not_told() -> None:
    """A rhombus in line: its coupler could turn about two pins in one place, but only with the driven link at rest."""
    data = json.loads((MODELS / "in_line.yaml").read_text())
    data["ground"]["points"]["Q"] = [1, 0]
    data["bodies"]["b"] |= {"position": [1.5, 0], "points": {"A": [-0.5, 0], "B": [0.5, 0]}}
    data["bodies"]["c"]["position"] = [1.5, 0]
    with pytest.raises(ModelError, match=r"the branch has the rates \(a.phi 2, b.phi 0, c.phi 2\); start"):
        simulate(loads(json.dumps(data)))


SMOOTH = {"type": "smooth-step", "start": 0, "end": 1, "t_start": 0, "t_end": 1}


@pytest.mark.parametrize(("coordinates", "turned"), [("body", False), ("joint", False), ("joint", True)])
@pytest.mark.parametrize(("motion", "gravity"), [(None, -9.81), ("t^2", 0.0), (SMOOTH, 0.0)])
@pytest.mark.sampled
def test_a_start_at_rest_in_a_singular_position_takes_no_branch_by_chance(
    motion: Any, gravity: float, coordinates: str, turned: bool
) -> None:
    """Links 1, 2, 1 on ground 2 in line turn in the proportion (1, 0, 1) or (-1, 2, 3): points A and B go up and down.

    Forces that push along one of these do start it: links of one mass fall as a parallelogram. A link that is turned by
    pi leaves rounding in the row that vanishes.
    """
    data = json.loads((MODELS / "in_line.yaml").read_text())
    if turned:
        data["bodies"]["c"] |= {"angle": "pi", "points": {"Q": [0.5, 0], "B": [-0.5, 0]}}
    data["gravity"], data["drivers"] = [0, gravity], {"m": {"joint": "O", "motion": motion}} if motion else {}
    if motion is None:
        even = simulate(loads(json.dumps(data)), t_end=0.2, coordinates=coordinates)
        np.testing.assert_allclose(even["b.phi"], 0.0, atol=1e-8)
        assert even["a.phi"][-1] < -0.1
    data["bodies"]["c"]["mass"] = 3
    with pytest.raises(ModelError) as refused:
        simulate(loads(json.dumps(data)), coordinates=coordinates)
    assert refused.value.code == "singular-start"
    if coordinates == "body":
        assert "(a.phi 1, b.phi 0, c.phi 1)" in str(refused.value)
        assert "(a.phi -0.333333, b.phi 0.666667, c.phi 1)" in str(refused.value)


@pytest.mark.parametrize("number", range(1))
def test_random_mechanisms_move_as_scipy_says_or_a_note_stands(number: int) -> None:
    """The first of seed 0; `make trust` runs five hundred."""
    case = random_runs.run(0, number)
    assert case.outcome in ("right", "right, with a note"), case


POINT = """linkwork: 1
SPACE
ground: {points: {O: [ZERO]}}
bodies: {bob: {mass: 2, position: [1, ZERO_1], VELOCITY points: {C: [AT]}}}
joints: {rod: {JOINT}}
simulation: {t_end: 2, step: 0.1, rtol: 1.0e-10, atol: 1.0e-11}
"""


@pytest.mark.parametrize("coordinates", ["body", "joint"])
@pytest.mark.parametrize(("joint", "at"), [("type: distance, length: 1", "0, 0"), ("type: revolute", "-1, 0")])
def test_a_planar_point_mass_needs_no_inertia(joint: str, at: str, coordinates: str) -> None:
    """On a rod, or as a body that turns about a pin: theta'' = -g/l cos(theta), one freedom."""
    text = POINT.replace("SPACE", "").replace("ZERO_1", "0").replace("ZERO", "0, 0").replace("VELOCITY", "")
    text = text.replace("AT", at).replace("JOINT", f"{joint}, i: ground.O, j: bob.C")
    motion = simulate(loads(text), coordinates=coordinates)
    angle = solve_ivp(
        lambda t, y: [y[1], -9.81 * np.cos(y[0])],
        (0, 2),
        [0, 0],
        method="DOP853",
        rtol=1e-12,
        atol=1e-13,
        t_eval=motion.t,
    )
    np.testing.assert_allclose(motion["bob.x"], np.cos(angle.y[0]), atol=1e-8)
    np.testing.assert_allclose(motion["bob.y"], np.sin(angle.y[0]), atol=1e-8)
    assert motion.info.dof == 1
    assert check(loads(text)).dof == 1


@pytest.mark.parametrize(
    ("coordinates", "formulation"),
    [("body", "augmented"), ("body", "udwadia-kalaba"), ("body", "lu"), ("joint", "augmented"), ("euler", "qr")],
)
def test_a_spatial_point_mass_needs_no_inertia(coordinates: str, formulation: str) -> None:
    """A spherical pendulum in Cartesian coordinates: r'' = g - (v.v + g.r) r/l^2, two freedoms."""
    text = POINT.replace("SPACE", "space: spatial").replace("ZERO_1", "0, 0").replace("ZERO", "0, 0, 0")
    text = text.replace("VELOCITY", "velocity: [0, 1.3, 0.4],").replace("AT", "0, 0, 0")
    text = text.replace("JOINT", "type: distance, length: 1, i: ground.O, j: bob.C")
    motion = simulate(loads(text), coordinates=coordinates, formulation=formulation)
    g = np.array([0.0, 0.0, -9.81])

    def rates(t: float, y: NDArray[np.float64]) -> NDArray[np.float64]:
        r, v = y[:3], y[3:]
        return np.concatenate([v, g - (v @ v + g @ r) * r / (r @ r)])

    start = [1, 0, 0, 0, 1.3, 0.4]
    free = solve_ivp(rates, (0, 2), start, method="DOP853", rtol=1e-12, atol=1e-13, t_eval=motion.t)
    np.testing.assert_allclose([motion[f"bob.{axis}"] for axis in "xyz"], free.y[:3], atol=1e-7)
    assert motion.info.dof == 2


def test_a_point_mass_that_must_turn_without_inertia_is_refused() -> None:
    """Pinned at its mass centre it is free to turn, and a torque would turn it infinitely fast."""
    text = POINT.replace("SPACE", "").replace("[1, ZERO_1]", "[0, 0]").replace("ZERO", "0, 0").replace("VELOCITY", "")
    text = text.replace("AT", "0, 0").replace("JOINT", "type: revolute, i: ground.O, j: bob.C")
    text += "forces: {f: {type: torque, on: bob, torque: 1}}\n"
    with pytest.raises(ModelError, match="'bob' has no inertia"):
        simulate(loads(text))


def one_wheel(angle: float, speed: float, times: NDArray[np.float64]) -> NDArray[np.float64]:
    """The angle of the wheels of loco.yaml, as that of one wheel with all inertia."""
    inertia, tau = 3.0 + 5.0 * 0.3**2, 20.0
    r = solve_ivp(
        lambda t, y: [y[1], (tau - 2.0 * y[1] - 5.0 * 9.81 * 0.3 * np.cos(y[0])) / inertia],
        (0.0, times[-1]),
        [angle, speed],
        rtol=1e-12,
        atol=1e-12,
        t_eval=times,
    )
    return np.asarray(r.y[0])


@pytest.mark.parametrize("formulation", ["zero-eigenvalue", "schur"])
def test_squares_of_singular_values_are_enough_next_to_a_singular_position(formulation: str) -> None:
    """Wheels started a thousandth of a radian before their rod is in line with them; rounding of 1e-10 there stays."""
    start = {"th": -0.0009503287941328153, "w": 4.9768515221175385}
    model = load(MODELS / "loco.yaml", start)
    motion = simulate(
        model, t_end=2.0, rtol=1e-12, atol=1e-12, formulation=formulation, integrator=Integrator(max_steps=3000)
    )
    np.testing.assert_allclose(motion["w1.phi"], one_wheel(*start.values(), motion.t), atol=1e-6)


def test_the_pace_of_a_run_tells_whether_it_can_arrive() -> None:
    """At 1e-13 s a step 5 s would need 5e13 of them: given up; at 1e-5 s it is not."""

    def is_hopeless(t: float, done: int, allowed: int) -> bool:
        at, _ = memory.new_run(4, 1)
        at.t_end, at.x[0], at.steps, at.most_steps = 5.0, t, done, allowed
        return time_loop.is_hopeless(at)

    for step, hopeless in ((1e-13, True), (1e-5, False)):
        assert is_hopeless(30_000 * step, 30_000, 2_000_000) is hopeless
    assert not is_hopeless(1e-9, 10_000, 2_000_000)
    assert is_hopeless(4.9, 10_000, 10_000)


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_an_overconstrained_linkage_goes_on_through_positions_in_line(coordinates: str) -> None:
    """Three wheels on one rod, driven: all angles stay equal, and the energy is that of one wheel with all inertia."""
    motion = simulate(load(MODELS / "loco.yaml"), t_end=2.0, coordinates=coordinates)
    for name in ("w2.phi", "w3.phi"):
        np.testing.assert_allclose(motion[name], motion["w1.phi"], atol=1e-9)
    np.testing.assert_allclose(motion["w1.phi"], one_wheel(0.5, 6.0, motion.t), atol=1e-7)


@pytest.mark.parametrize("bearing", ["revolute", "cylindrical"])
def test_a_cardan_shaft_starts_in_joint_coordinates_where_its_loop_closes_whatever_the_position(bearing: str) -> None:
    """Its cross stays on the axes of both shafts: rows of rounding contradict nothing; w_2 = w_1 c/(1 - s^2 cos^2)."""
    s, c = math.sin(math.pi / 6), math.cos(math.pi / 6)
    model = loads(f"""
        linkwork: 1
        space: spatial
        gravity: [0, 0, 0]
        ground: {{points: {{A: [-1, 0, 0], B: [{c!r}, {s!r}, 0]}}}}
        bodies:
          first: {{mass: 1, inertia: [0.1, 0.1, 0.1], points: {{A: [-1, 0, 0], C: [0, 0, 0]}}}}
          second: {{mass: 1, inertia: [0.1, 0.1, 0.1], points: {{B: [{c!r}, {s!r}, 0], C: [0, 0, 0]}}}}
        joints:
          A: {{type: revolute, i: ground.A, j: first.A, axis: [1, 0, 0]}}
          U: {{type: universal, i: first.C, j: second.C, axis: [0, 0, 1], axis_j: [{-s!r}, {c!r}, 0]}}
          B: {{type: {bearing}, i: ground.B, j: second.B, axis: [{c!r}, {s!r}, 0]}}
        drivers: {{motor: {{joint: A, motion: 3*t}}}}
        simulation: {{t_end: 2, step: 0.1, coordinates: joint}}
        """)
    motion = simulate(model)
    speed = c * motion["second.wx"] + s * motion["second.wy"]
    closed_form = 3 * c / (1 - s**2 * np.sin(3 * motion.t) ** 2)
    np.testing.assert_allclose(speed, closed_form, rtol=1e-9)


def test_loose_tolerances_do_not_explain_any_energy() -> None:
    """A spring of 1e3 rad/s loses a quarter of its energy at rtol 3e-4; the tolerances of all steps add up to more."""
    fast = """
linkwork: 1
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies: {cart: {mass: 1, position: [1.001, 0], points: {P: [0, 0]}}}
forces: {s: {type: spring-damper, i: ground.O, j: cart.P, stiffness: 1e6, free_length: 1}}
"""
    with pytest.raises(NumericalStop) as stopped:
        simulate(loads(fast), t_end=5.0, step=0.1, rtol=3e-4, atol=3e-4)
    motion = stopped.value.trajectory
    assert (stopped.value.code, motion.status) == ("energy-balance", "doubtful")
    assert np.ptp(motion.energy["kinetic"] + motion.energy["potential"]) > 0.1 * 0.5


@pytest.mark.parametrize("coordinates", ["body", "joint", "minimal"])
def test_a_force_without_a_value_ends_a_run_also_across_the_way(coordinates: str) -> None:
    """A cart on rails along x does not feel a force along y; its rails do, and sqrt(-1) is no force."""
    text = """linkwork: 1
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies: {cart: {mass: 1, inertia: 1, velocity: [1, 0], points: {C: [0, 0]}}}
joints: {rails: {type: prismatic, i: ground.O, j: cart.C, axis: [1, 0]}}
forces: {push: {type: point-force, at: cart.C, force: [0, "sqrt(0.5 - cart.x)"]}}
simulation: {t_end: 1, step: 0.1}
"""
    with pytest.raises(NumericalStop):
        simulate(loads(text), coordinates=coordinates)
    motion = simulate(loads(text), coordinates=coordinates, t_end=0.4)
    np.testing.assert_allclose(motion["reaction:rails.normal"], -np.sqrt(0.5 - motion.t), atol=1e-7)
