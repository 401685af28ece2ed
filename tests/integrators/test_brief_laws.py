"""Laws that act for much less than a step is long, or than the report times are apart."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from carts import cart
from numpy.typing import NDArray
from published import REFERENCE
from scipy.integrate import solve_ivp

from linkwork import Integrator, load, simulate
from linkwork.elements.forces import PointForce
from linkwork.expressions.graph import symbol
from linkwork.expressions.parser import parse
from linkwork.model import Model
from linkwork.modelfile import loads

Array = NDArray[np.float64]


MODELS = REFERENCE / "trust"


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
