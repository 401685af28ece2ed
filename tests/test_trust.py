"""No run is wrong without a word: switches that were stepped over, scales, alarms, singular positions."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from linkwork import load, simulate
from linkwork.model import Model
from linkwork.modelfile import loads

Array = NDArray[np.float64]
MODELS = Path(__file__).parent / "reference" / "trust"
TOLERANCES = (1e-3, 1e-6, 1e-9, 1e-12)


def build(data: dict[str, Any]) -> Model:
    return loads(json.dumps(data), is_json=True)


def cart(force: str, velocity: float = 0.0, t_end: float = 10.0) -> Model:
    """A cart of 1 kg on a rail along x, pushed by a force of t, cart.x and cart.vx."""
    return build(
        {
            "linkwork": 1,
            "name": "cart",
            "gravity": [0, 0],
            "ground": {"points": {"O": [0, 0]}},
            "bodies": {"cart": {"mass": 1, "inertia": 1, "velocity": [velocity, 0], "points": {"O": [0, 0]}}},
            "joints": {"rail": {"type": "prismatic", "i": "ground.O", "j": "cart.O", "axis": [1, 0]}},
            "forces": {"push": {"type": "point-force", "at": "cart.O", "force": [force, 0]}},
            "simulation": {"t_end": t_end, "step": 0.01},
        }
    )


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


@pytest.mark.parametrize("rtol", TOLERANCES)
def test_a_force_in_a_narrow_window_of_positions_acts(rtol: float) -> None:
    """100 N over 1 mm of the way: the kinetic energy grows by 0.1 J."""
    motion = simulate(cart("if(cart.x < 5, 0, if(cart.x < 5.001, 100, 0))", velocity=1.0), rtol=rtol)
    assert motion["cart.vx"][-1] == pytest.approx(math.sqrt(1.2), abs=1e-9)


def test_a_step_that_is_limited_is_not_longer() -> None:
    """Free flight needs a few steps; with max_step it takes as many as fit into the time."""
    free = cart("0*t", velocity=1.0)
    assert simulate(free).info.steps < 20
    assert simulate(free, max_step=0.1).info.steps >= 100


def rod_over_ground(
    height: float, omega: float, k: float, ends: tuple[int, ...]
) -> Callable[[float, Array], list[float]]:
    """(y, phi, vy, omega)' of a rod of 1 kg, 0.3 kg m^2, whose ends at -1 and 1 touch the ground y = 0."""

    def f(t: float, x: Array) -> list[float]:
        forces = [(s, k * max(0.0, -(x[0] + s * math.sin(x[1])))) for s in ends]
        return [x[2], x[3], sum(F for _, F in forces), sum(s * math.cos(x[1]) * F for s, F in forces) / 0.3]

    return f


@pytest.mark.parametrize("rtol", TOLERANCES)
@pytest.mark.parametrize(("height", "omega"), [(0.99, 0.3), (0.999, 3.0), (0.99, 30.0)])
def test_every_contact_of_a_spinning_rod_acts(rtol: float, height: float, omega: float) -> None:
    """Against SciPy's DOP853 at 1e-12 with short steps; the free flight between contacts needs no step at all.

    At each contact the error grows by about stiffness times duration.
    """
    model = load(MODELS / "spin2.yaml")
    f = rod_over_ground(height, omega, 1e4, (-1, 1))
    exact = solve_ivp(f, (0, 10), [height, 0, 0, omega], "DOP853", rtol=1e-12, atol=1e-13, max_step=0.3 / (omega + 10))
    motion = simulate(model, q={"rod.y": height}, v={"rod.phi": omega}, rtol=rtol, atol=rtol)
    assert motion["rod.y"][-1] == pytest.approx(exact.y[0, -1], abs=1e3 * rtol + 1e-9)
    assert motion["rod.phi"][-1] == pytest.approx(exact.y[1, -1], abs=1e3 * rtol + 1e-9)


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


@pytest.mark.parametrize("rtol", TOLERANCES[1:])
@pytest.mark.parametrize(("begin", "end"), [(5.0, 5.1), (0.5, 0.52), (9.0, 9.3)])
def test_a_short_motion_of_a_driver_is_not_stepped_over(rtol: float, begin: float, end: float) -> None:
    """(I + m l^2) phi'' = -m l (g sin phi + x'' cos phi) by SciPy; rounding error grows as the bob goes round."""

    def f(t: float, y: Array) -> list[float]:
        s = (t - begin) / (end - begin)
        pull = (60 * s - 180 * s**2 + 120 * s**3) / (end - begin) ** 2 if 0 < s < 1 else 0.0
        return [y[1], -(9.81 * math.sin(y[0]) + pull * math.cos(y[0])) / 1.1]

    exact = solve_ivp(f, (0, 10), [0, 0], "DOP853", rtol=1e-12, atol=1e-13, max_step=0.2 * (end - begin))
    motion = simulate(hung_bob(begin, end), rtol=rtol)
    assert motion["bob.phi"][-1] == pytest.approx(exact.y[0, -1], abs=1e4 * rtol + 1e-9)
    assert motion["bob.omega"][-1] == pytest.approx(exact.y[1, -1], abs=1e4 * rtol + 1e-9)
