"""Inputs, outputs and states of first order: values against closed forms, in all forms of the equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Answer
from numpy.typing import NDArray
from scipy.integrate import quad, solve_ivp
from scipy.linalg import expm

from linkwork import (
    Controller,
    PlanarModel,
    SpatialModel,
    Start,
    Trajectory,
    load,
    loads,
    prepare,
    simulate,
)
from linkwork.constraints.projection import project_start
from linkwork.errors import ModelError, NumericalStop, UsageError
from linkwork.integrators.integrate import Settings
from linkwork.integrators.sampling import sample
from linkwork.modelfile import build, find, with_start
from linkwork.simulation.options import Choice
from linkwork.simulation.problem import Motion
from linkwork.units import in_si

Array = NDArray[np.float64]
# A motor of which nothing is 1: volts drive a current, which drives an arm that a spring and gravity hold.
R, L, K, J, C, S = 2.0, 0.05, 0.3, 0.02, 0.07, 1.3
MOTOR = f"""
linkwork: 1
name: motor
gravity: [0, 0]
parameters: {{R: {R} ohm, L: {L} H, K: {K} N*m/A, J: {J} kg*m^2, C: {C} N*m*s, S: {S} N*m}}
ground: {{points: {{O: [0.2, 0.1]}}}}
bodies:
  rotor: {{mass: 1.7, inertia: J, position: [0.2, 0.1], angle: 0.3, angular_velocity: -2, points: {{O: [0, 0]}}}}
joints: {{O: {{type: revolute, i: ground.O, j: rotor.O}}}}
forces: {{drive: {{type: torque, on: rotor, torque: K*i - C*rotor.omega - S*rotor.phi}}}}
inputs: {{u: {{unit: V, value: 12}}}}
outputs: {{turned: {{formula: rotor.phi, unit: deg}}, power: {{formula: u*i, unit: W}}}}
states: {{i: {{rate: (u - R*i - K*rotor.omega)/L, start: 0.5, unit: A}}}}
simulation: {{t_end: 1, step: 0.05, rtol: 1e-12, atol: 1e-12}}
"""
# (i, phi, omega)' = A (i, phi, omega) + B u
A = np.array([[-R / L, 0.0, -K / L], [0.0, 0.0, 1.0], [K / J, -S / J, -C / J]])
B = np.array([1.0 / L, 0.0, 0.0])
START = np.array([0.5, 0.3, -2.0])


def whole(motion: Trajectory) -> Array:
    return np.column_stack([motion["state:i"], motion["rotor.phi"], motion["rotor.omega"]])


def exact(t: Array, u: float = 12.0) -> Array:
    rest = np.linalg.solve(A, -B * u)
    return np.array([rest + expm(A * x) @ (START - rest) for x in t])


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"coordinates": "joint"},
        {"coordinates": "minimal"},
        {"integrator": "dopri5"},
        {"integrator": "radau5"},
        {"formulation": "svd"},
        {"formulation": "ggl"},
        {"formulation": "lu"},
        {"formulation": "ggl", "integrator": "radau5"},
        {"formulation": "index-3", "integrator": "radau5"},
        {"stabilization": "none"},
    ],
)
def test_a_motor_with_inductance_is_the_matrix_exponential(how: dict[str, Any]) -> None:
    """Whole states at all report times, to 1e-10 whatever the coordinates, formulation and integrator."""
    motion = simulate(loads(MOTOR), **how)
    np.testing.assert_allclose(whole(motion), exact(motion.t), rtol=0, atol=1e-10)
    np.testing.assert_allclose(motion["state:i_d"], (12 - R * motion["state:i"] - K * motion["rotor.omega"]) / L, 1e-9)


def test_outputs_are_formulas_in_their_units() -> None:
    motion = simulate(loads(MOTOR))
    np.testing.assert_allclose(motion["output:turned"], np.degrees(motion["rotor.phi"]), rtol=1e-14)
    np.testing.assert_allclose(motion["output:power"], 12.0 * motion["state:i"], rtol=1e-14)
    assert [motion.unit(f"output:{name}") for name in ("turned", "power")] == ["deg", "W"]
    np.testing.assert_allclose(motion.to("rad")["output:turned"], np.degrees(motion["rotor.phi"]), rtol=1e-14)
    assert motion.unit("input:u") == "V"
    assert set(motion["input:u"]) == {12.0}


def driven(value: Any, **more: Any) -> Trajectory:
    text = MOTOR.replace("value: 12", f"value: {value}")
    return simulate(loads(text), more or None)


def test_an_input_is_a_formula_a_table_or_a_function() -> None:
    """The voltage t -> 3 sin(7 t) as a formula, by a function in Python and by SciPy; a table bends where it does."""
    by_formula = driven('"3*sin(7*t)"')
    by_function = driven(0, u=lambda t, state: 3 * np.sin(7 * t))
    truth = solve_ivp(
        lambda t, x: A @ x + B * 3 * np.sin(7 * t), (0, 1), START, "DOP853", by_formula.t, rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(whole(by_formula), truth.y.T, atol=1e-10)
    np.testing.assert_allclose(whole(by_function), truth.y.T, atol=1e-10)
    times, volts = [0.1, 0.35, 0.6], [2.0, -5.0, 3.0]
    by_table = driven("{x: [0.1, 0.35, 0.6], y: [2, -5, 3]}")
    np.testing.assert_allclose(by_table["input:u"], np.interp(by_table.t, times, volts), atol=1e-13)
    given = driven(0, u=(times, volts))
    np.testing.assert_array_equal(whole(given), whole(by_table))
    x, pieces = START, [0.0, *times, 1.0]
    for first, last in pairwise(pieces):
        found = solve_ivp(
            lambda t, x: A @ x + B * np.interp(t, times, volts), (first, last), x, "DOP853", rtol=1e-12, atol=1e-13
        )
        x = found.y[:, -1]
    np.testing.assert_allclose(whole(by_table)[-1], x, atol=1e-10)


def test_numbers_of_inputs_compile_nothing_again() -> None:
    mechanism = loads(MOTOR)
    motion = simulate(mechanism, {"u": -4.0})
    np.testing.assert_allclose(whole(motion), exact(motion.t, -4.0), atol=1e-10)
    again = simulate(loads(MOTOR.replace("value: 12", 'value: "sin(t)"')), {"u": -4.0})
    np.testing.assert_array_equal(whole(again), whole(motion))


def test_an_open_input_must_be_given() -> None:
    model = loads(MOTOR.replace(", value: 12", ""))
    with pytest.raises(UsageError, match="input 'u' is left open"):
        simulate(model)
    np.testing.assert_allclose(whole(simulate(model, {"u": 12}))[-1], exact(np.array([1.0]))[0], atol=1e-10)


def test_a_stiff_current_takes_the_implicit_method_and_few_steps() -> None:
    """An inductance of 1 uH: time constants of half a microsecond and of a tenth of a second."""
    stiff = MOTOR.replace(f"L: {L} H", "L: 1 uH").replace("rtol: 1e-12, atol: 1e-12", "rtol: 1e-9, atol: 1e-9")
    a, b = A.copy(), B.copy()
    a[0], b[0] = [-R / 1e-6, 0.0, -K / 1e-6], 1e6
    rest = np.linalg.solve(a, -b * 12.0)
    for integrator in ("radau5", "auto"):
        motion = simulate(loads(stiff), integrator=integrator)
        np.testing.assert_allclose(whole(motion)[-1], rest + expm(a) @ (START - rest), atol=1e-7)
        assert motion.info.steps < 2000


SPATIAL = """
linkwork: 1
space: spatial
parameters: {Ki: 3, ref: 0.4}
ground: {points: {O: [0, 0, 0]}}
bodies:
  arm: {mass: 2, inertia: [0.3, 0.2, 0.4], position: [0.3, 0, -0.2], points: {O: [-0.3, 0, 0.2], E: [0.3, 0.1, 0]}}
joints: {O: {type: revolute, i: ground.O, j: arm.O, axis: [0, 0.6, 0.8]}}
forces: {drive: {type: torque, on: arm, torque: [0, 0.6*(5*z + 1), 0.8*(5*z + 1)]}}
outputs: {error: {formula: "ref - joint:O.angle", unit: deg}, height: {formula: arm.E.z, unit: mm}}
states: {z: {rate: Ki*output:error, start: 0.1}}
simulation: {t_end: 2, step: 0.1, rtol: 1e-11, atol: 1e-11}
"""


def test_states_in_space_read_joints_and_turn_whole_turns() -> None:
    """A hinge about an oblique axis with integral action: a physical pendulum beside z' = Ki (ref - theta)."""
    n = np.array([0.0, 0.6, 0.8])
    r, inertia = np.array([0.3, 0.0, -0.2]), np.diag([0.3, 0.2, 0.4])
    about = n @ (inertia + 2.0 * (r @ r * np.eye(3) - np.outer(r, r))) @ n

    def turned(angle: float) -> Array:
        found: Array = r * np.cos(angle) + np.cross(n, r) * np.sin(angle) + n * (n @ r) * (1 - np.cos(angle))
        return found

    def rates(_: float, x: Array) -> list[float]:
        weight = n @ np.cross(turned(x[0]), [0.0, 0.0, -2.0 * 9.81])
        return [x[1], (weight + 5 * x[2] + 1) / about, 3 * (0.4 - x[0])]

    usual = simulate(loads(SPATIAL))
    truth = solve_ivp(rates, (0, 2), [0, 0, 0.1], "DOP853", usual.t, rtol=1e-12, atol=1e-13)
    for how in ({}, {"coordinates": "joint"}, {"coordinates": "euler", "formulation": "svd"}):
        motion = simulate(loads(SPATIAL), **how)  # type: ignore[arg-type]
        found = np.column_stack([motion["joint:O.angle"], motion["joint:O.angle_d"], motion["state:z"]])
        np.testing.assert_allclose(found, truth.y.T, atol=1e-8)
        np.testing.assert_allclose(motion["output:height"], 1000 * motion["arm.E.z"], rtol=1e-13)
        np.testing.assert_allclose(motion["output:error"], np.degrees(0.4 - motion["joint:O.angle"]), atol=1e-9)


CRANK = """
linkwork: 1
parameters: {K: 3 N*m/A}
ground: {points: {O: [0, 0]}}
bodies:
  crank: {mass: 2, inertia: 0.3, position: [0.2, 0.1], angle: 0.46, points: {O: [-0.22, 0], A: [0.22, 0]}}
  rod: {mass: 1, inertia: 0.2, position: [0.8, 0.1], angle: -0.24, points: {A: [-0.45, 0], B: [0.45, 0]}}
  slider: {mass: 3, inertia: 0.1, position: [1.3, 0], points: {B: [0, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: rod.A}
  B: {type: revolute, i: rod.B, j: slider.B}
  S: {type: prismatic, i: ground.O, j: slider.B, axis: [1, 0]}
forces:
  drive: {type: torque, on: crank, torque: K*i}
  load: {type: point-force, at: slider.B, force: [-40*w - 3*slider.vx, 0]}
inputs: {u: {unit: V, value: 9 + 3*sin(5*t)}}
outputs: {load: {formula: "reaction:B.x"}, speed: {formula: crank.omega, unit: rpm}}
states:
  i: {rate: (u - 1.5*i - K*output:speed)/0.08, start: 1, unit: A}
  w: {rate: slider.vx - 4*w*abs(crank.omega)}
simulation: {t_end: 1, step: 0.1, rtol: 1e-11, atol: 1e-11, start: {O: 0.46}, rate: {O: 2}}
"""


@pytest.mark.parametrize(
    "how",
    [
        {"coordinates": "joint"},
        {"coordinates": "minimal"},
        {"coordinates": "joint", "formulation": "udwadia-kalaba"},
        {"formulation": "qr", "stabilization": "baumgarte"},
        {"formulation": "lu"},
        {"formulation": "ggl", "integrator": "dopri5"},
        {"formulation": "index-3", "integrator": "radau5", "rtol": 1e-9, "atol": 1e-9},
        {"integrator": "radau5", "coordinates": "joint", "rtol": 1e-9, "atol": 1e-9},
    ],
)
def test_states_of_a_closed_loop_are_the_same_however_they_are_integrated(how: dict[str, Any]) -> None:
    """A slider-crank driven by a current against a load with a memory: whole states, reactions and outputs."""
    model = loads(CRANK)
    usual, other = (simulate(model, **x) for x in ({}, how))
    names = ["crank.phi", "crank.omega", "slider.x", "state:i", "state:w", "state:i_d", "output:speed", "output:load"]
    for name in names:
        np.testing.assert_allclose(other[name], usual[name], rtol=2e-7, atol=2e-7, err_msg=name)
    assert np.abs(usual["energy:drift"]).max() < 1e-8


def test_states_of_a_closed_loop_by_another_integrator() -> None:
    """The same by SciPy, in the one freedom of the crank: equations of Lagrange with numbers of its own."""
    r, a, length, b = 0.22, 0.44, 0.9, 0.45

    def place(phi: float) -> tuple[Array, Array, Array]:
        """Of rod and slider, (x, y, angle) of the rod, x of the slider; and their slopes and curvatures by phi."""
        h = 1e-4

        def at(p: float) -> Array:
            angle = -np.arcsin(a * np.sin(p) / length)
            return np.array(
                [r * np.cos(p), r * np.sin(p), p, a * np.cos(p) + b * np.cos(angle), a * np.sin(p) + b * np.sin(angle),
                 angle, a * np.cos(p) + length * np.cos(angle), 0.0, 0.0]
            )  # fmt: skip

        x = [at(phi + k * h) for k in (-2, -1, 0, 1, 2)]
        slope = (x[0] - 8 * x[1] + 8 * x[3] - x[4]) / (12 * h)
        bend = (-x[0] + 16 * x[1] - 30 * x[2] + 16 * x[3] - x[4]) / (12 * h * h)
        return x[2], slope, bend

    M = np.array([2, 2, 0.3, 1, 1, 0.2, 3, 3, 0.1])
    weight = -9.81 * np.array([0, 2, 0, 0, 1, 0, 0, 3, 0])

    def rates(t: float, y: Array) -> list[float]:
        phi, omega, i, w = y
        _, s, c = place(phi)
        v = s[6] * omega
        push = s @ weight + 3 * i + s[6] * (-40 * w - 3 * v)
        u = 9 + 3 * np.sin(5 * t)
        alpha = (push - (s * M) @ c * omega**2) / ((s * M) @ s)
        return [omega, alpha, (u - 1.5 * i - 3 * omega) / 0.08, v - 4 * w * abs(omega)]

    motion = simulate(loads(CRANK))
    start = [motion["crank.phi"][0], motion["crank.omega"][0], 1.0, 0.0]
    truth = solve_ivp(rates, (0, 1), start, "DOP853", motion.t, rtol=1e-10, atol=1e-11)
    found = np.array([motion[name] for name in ("crank.phi", "crank.omega", "state:i", "state:w")])
    np.testing.assert_allclose(found, truth.y, atol=2e-6)  # differences of positions have as many digits


def test_outputs_and_events_name_accelerations() -> None:
    """Of bodies and points; a ball in air has half the acceleration of its weight at t = (v/g) arcosh(sqrt 2)."""
    text = CRANK.replace("outputs: {", "outputs: {both: {formula: rod.B.ax + 2*crank.alpha}, ")
    for coordinates in ("body", "joint", "minimal"):
        motion = simulate(loads(text), coordinates=coordinates)
        np.testing.assert_allclose(motion["output:both"], motion["rod.B.ax"] + 2 * motion["crank.alpha"], rtol=1e-12)
    m = PlanarModel("fall")
    m.body("ball", mass=2, inertia=0.1, points={"P": (0, 0)})
    m.point_force("air", "ball.P", force=(0, "0.3*ball.vy^2"))
    m.event("half", "ball.P.ay + 9.81/2", action="stop")
    fastest = np.sqrt(2 * 9.81 / 0.3)
    np.testing.assert_allclose(m.simulate(t_end=5).events.t, [fastest / 9.81 * np.arccosh(np.sqrt(2))], rtol=1e-9)
    m.torque("no", "ball", torque="ball.ay")
    with pytest.raises(ModelError, match=r"unknown name 'ball\.ay'"):
        m.check()


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_any_linear_states_beside_a_mass_are_the_matrix_exponential(rng: np.random.Generator, coordinates: str) -> None:
    """x'' = (C z - k x - c x')/m and z' = A z + b x + d x' + e u, all entries by chance, u by an output."""
    n, (k, c, mass) = 4, rng.uniform(0.5, 3.0, 3)
    a, out = rng.normal(size=(n, n)) - 1.5 * np.eye(n), rng.normal(size=n)
    b, d, e, first, y = rng.normal(size=(5, n))
    m = PlanarModel("any")
    m.gravity = [0, 0]
    m.fix(O=(0, 0))
    m.body("cart", mass=float(mass), inertia=1, position=(0.3, 0), velocity=(-0.4, 0), points={"P": (0, 0)})
    m.prismatic("S", m.ground["O"], m["cart"]["P"], axis=(1, 0))
    names = [f"z{i}" for i in range(n)]

    def total(row: Array) -> str:
        return " + ".join(f"({float(x)!r})*{name}" for x, name in zip(row, names, strict=True))

    for i, name in enumerate(names):
        others = f"({float(b[i])!r})*cart.x + ({float(d[i])!r})*cart.vx + ({float(e[i])!r})*u"
        m.state(name, f"{total(a[i])} + {others}", start=float(first[i]))
    m.output("y", total(y))
    m.input("u", "0.2*output:y")
    m.point_force("push", "cart.P", force=(f"{total(out)} - ({float(k)!r})*cart.x - ({float(c)!r})*cart.vx", 0))
    whole_a = np.zeros((n + 2, n + 2))
    whole_a[0, 1] = 1.0
    whole_a[1] = np.concatenate([[-k, -c], out]) / mass
    whole_a[2:, 0], whole_a[2:, 1], whole_a[2:, 2:] = b, d, a + 0.2 * np.outer(e, y)
    motion = m.simulate(t_end=1.5, step=0.3, rtol=1e-11, atol=1e-12, coordinates=coordinates)
    found = np.column_stack([motion[name] for name in ("cart.x", "cart.vx", *(f"state:{name}" for name in names))])
    truth = np.array([expm(whole_a * t) @ np.concatenate([[0.3, -0.4], first]) for t in motion.t])
    np.testing.assert_allclose(found, truth, rtol=1e-9, atol=1e-9)


def test_events_read_and_set_states_and_inputs() -> None:
    """z' = 4 (w - z) falls to 0 and is set to 2, w goes from 1 to -1 where z is 0.5: exponentials in between."""
    text = MOTOR.replace(
        "states:",
        """events:
  up: {when: z - 0.5, direction: rising, action: set, inputs: {w: -1}}
  reset: {when: output:level, direction: falling, action: set, states: {z: 2 + 0*rotor.phi}}
states:""",
    )
    text = text.replace("inputs: {u:", "inputs: {w: {value: 1}, u:").replace(
        "outputs: {", "outputs: {level: {formula: z}, "
    )
    text = text.replace("states: {i:", "states: {z: {rate: (w - z)*4}, i:")
    for how in ({}, {"coordinates": "joint"}, {"integrator": "radau5"}):
        motion = simulate(loads(text), t_end=1.0, **how)  # type: ignore[arg-type]
        first = np.log(2.0) / 4
        second = first + np.log(1.5) / 4
        third = second + np.log(3.0) / 4
        np.testing.assert_allclose(motion.events.t, [first, second, third, third + np.log(3.0) / 4], atol=1e-9)
        assert motion.events.names == ("up", "reset", "reset", "reset")
        z, late = motion["state:z"], motion.t > third + np.log(3.0) / 4
        np.testing.assert_allclose(z[late], -1 + 3 * np.exp(-4 * (motion.t[late] - third - np.log(3.0) / 4)), atol=1e-9)
        np.testing.assert_allclose(motion["rotor.phi"], exact(motion.t)[:, 1], atol=1e-9)


def test_rates_that_switch_are_located() -> None:
    """z' = max(cos(9 t), 0) - |z - 0.02|/2: no error is left where it bends."""
    text = MOTOR.replace("states: {i:", "states: {z: {rate: 'max(cos(9*t), 0) - abs(z - 0.02)/2'}, i:")
    motion = simulate(loads(text))
    ends = [0.0, *(np.pi / 18 * np.arange(1, 6, 2)), 1.0]
    z = np.array([0.0])
    for a, b in pairwise(ends):
        found = solve_ivp(
            lambda t, z: max(np.cos(9 * t), 0) - abs(z - 0.02) / 2, (a, b), z, "DOP853", rtol=1e-12, atol=1e-13,
            max_step=0.002,
        )  # fmt: skip
        z = found.y[:, -1]
    np.testing.assert_allclose(motion["state:z"][-1], z[0], atol=1e-8)
    assert motion.info.switches >= 4


def test_motions_with_states_are_kept_resumed_and_restarted(tmp_path: Path) -> None:
    model = loads(MOTOR)
    motion = simulate(model)
    motion.save(tmp_path / "motion.nc")
    again = Trajectory.load(tmp_path / "motion.nc")
    for name in ("state:i", "output:turned", "input:u"):
        np.testing.assert_array_equal(again[name], motion[name])
    half = simulate(model, t_end=0.5)
    rest = simulate(model, start=Start(resume=half))
    np.testing.assert_allclose(whole(rest), whole(motion), atol=1e-11)
    final = dict(zip(motion.tables["q"].columns.labels, motion.q[10], strict=True))
    moved = model.with_start(final, dict(zip(motion.tables["v"].columns.labels, motion.v[10], strict=True)))
    np.testing.assert_allclose(whole(simulate(moved, t_end=0.5)), whole(motion)[10:], atol=1e-10)
    placed = replace(model, simulation=replace(model.simulation, start={"i": -0.75, "O": 0.3}))
    for begun in (
        *(simulate(model, start={"i": -0.75}, coordinates=name, t_end=0.1) for name in ("body", "joint", "minimal")),
        *(simulate(placed, coordinates=name, t_end=0.1) for name in ("body", "minimal")),
    ):
        np.testing.assert_allclose(whole(begun)[0], [-0.75, 0.3, -2.0], atol=1e-14)


def test_errors_of_states_are_measured_by_their_scale() -> None:
    """A state a million times smaller, with its scale, takes the same steps and has the same digits."""
    text = MOTOR.replace("rtol: 1e-12, atol: 1e-12", "rtol: 1e-6, atol: 1e-6")
    z = "z: {rate: %r*cos(30*t) - 20*z, scale: %r}"
    large, small = (simulate(loads(text.replace("states: {", f"states: {{{z % (x, x)}, "))) for x in (2.0**20, 1.0))
    assert large.info.steps == small.info.steps
    np.testing.assert_allclose(large["state:z"], 2.0**20 * small["state:z"], rtol=1e-9)


def test_models_in_python_and_in_files_are_the_same(tmp_path: Path) -> None:
    m = PlanarModel("motor", R=f"{R} ohm", L=f"{L} H", K=f"{K} N*m/A", J=f"{J} kg*m^2", C=f"{C} N*m*s", S=f"{S} N*m")
    m.gravity = [0, 0]
    m.fix(O=(0.2, 0.1))
    m.body("rotor", mass=1.7, inertia="J", position=(0.2, 0.1), angle=0.3, angular_velocity=-2, points={"O": (0, 0)})
    m.revolute("O", m.ground, m["rotor"])
    m.input("u", 12, unit="V")
    m.state("i", "(u - R*i - K*rotor.omega)/L", start=0.5, unit="A")
    m.torque("drive", "rotor", torque="K*i - C*rotor.omega - S*rotor.phi")
    m.output("turned", "rotor.phi", unit="deg")
    m.output("power", "u*i", unit="W")
    m.simulation = {"t_end": 1, "step": 0.05, "rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_array_equal(whole(m.simulate()), whole(simulate(loads(MOTOR))))
    m.save(tmp_path / "motor.yaml")
    assert PlanarModel.load(tmp_path / "motor.yaml") == m
    m.change("u", value="2*t")
    assert m.simulate()["input:u"][-1] == 2.0
    with pytest.raises(ModelError, match="unknown name 'v'"):
        m.output("w", "v")
    m.state("w", "-x")  # another state may come
    with pytest.raises(ModelError, match="unknown name 'x'"):
        m.check()
    m.state("x", "-w")
    assert m.check().signals["states"] == ("i", "w", "x")
    m.remove("w")
    m.remove("x")
    with pytest.raises(ModelError, match="'u' among the inputs"):
        m.input("u", 3)
    space = SpatialModel("space")
    space.state("z", "1 - z")
    started = with_start(
        find(tmp_path / "motor.yaml"), replace(m.model, states=(replace(m.model.states[0], start=2.5),))
    )
    assert build(started).states[0].start == 2.5


BAD = {
    "a state without rate": ('rate: (u - R*i - K*rotor.omega)/L, ', "", "missing-key"),
    "a loop of input and output": ("value: 12", "value: -output:power/A0", "algebraic-loop"),
    "a loop of outputs": ("formula: u*i", "formula: output:power", "algebraic-loop"),
    "a force of a reaction": ("K*i - C", "K*output:turned - C", "algebraic-loop"),
    "a rate of a reaction": ("rate: (u - R", "rate: (reaction:O.x + u - R", "algebraic-loop"),
    "a name that is taken": ("inputs: {u:", "inputs: {R: {value: 1}, u:", "duplicate-name"),
    "an input and a state": ("inputs: {u:", "inputs: {i: {value: 1}, u:", "duplicate-name"),
    "the time": ("inputs: {u:", "inputs: {t: {value: 1}, u:", "reserved-name"),
    "an unknown name": ("u - R*i", "u - R*j", "expression-name"),
    "a wrong kind": ("value: 12", "value: 12 N", "unit-mismatch"),
    "a wrong sum": ("u - R*i", "u - i", "unit-mismatch"),
    "no unit": ("unit: deg", "unit: dgr", "unknown-unit"),
    "an unknown key": ("value: 12", "val: 12", "unknown-key"),
    "a list": ("value: 12", "value: [1, 2]", "wrong-shape"),
    "nothing sampled": ("value: 12", "value: 12, every: 1 ms", "no-effect"),
    "samples without end": ("value: 12", "value: sin(t), every: 0", "bad-value"),
    "half a table": ("value: 12", "value: {x: [0, 1], y: [1]}", "bad-table"),
    "a start elsewhere": ("simulation: {", "simulation: {start: {i: 2}, ", "unknown-coordinate"),
    "no scale": ("unit: A}", "unit: A, scale: -1}", "bad-value"),
    "an input in a mass": ("mass: 1.7", "mass: u", "expression-name"),
    "no state to set": ("states:", "events: {e: {when: t - 1, action: set, states: {z: 0}}}\nstates:", "unknown-state"),
    "a formula set": (
        "value: 12",
        "value: sin(t)}}\nevents: {e: {when: t - 1, action: set, inputs: {u: 0}",
        "unknown-input",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_refused(what: str) -> None:
    old, new, code = BAD[what]
    text = MOTOR.replace("parameters: {", "parameters: {A0: 1 A, ")
    if what == "a force of a reaction":
        text = text.replace("formula: rotor.phi, unit: deg", "formula: reaction:O.x")
    assert old in text
    with pytest.raises(ModelError) as error:
        simulate(loads(text.replace(old, new)))
    assert error.value.errors[0].code == code


def test_refused_with_reason() -> None:
    model = loads(MOTOR)
    for given, reason in (
        ({"w": 1.0}, "no parameter 'w'"),
        ({"u": ([0, 1], [0])}, "2 values of x and 1 of y"),
        ({"u": "fast"}, "a number, a function of t and state, or a table"),
    ):
        with pytest.raises(UsageError, match=reason):
            simulate(model, given)


def test_run_takes_inputs(tmp_path: Path, linkwork: Answer) -> None:
    (tmp_path / "motor.yaml").write_text(MOTOR)
    (tmp_path / "volts.csv").write_text("t [ms], u [mV]\n0, 0\n500, 6000\n1000, -2000\n")
    run = "run", tmp_path / "motor.yaml"
    by_table = linkwork.data(*run, "--input", f"u={tmp_path / 'volts.csv'}")
    motion = simulate(load(tmp_path / "motor.yaml"), {"u": ([0, 0.5, 1], [0, 6, -2])})
    assert by_table["final"]["q"]["i"] == motion["state:i"][-1]
    by_number = linkwork.data(*run, "--input", "u=3 V")
    np.testing.assert_allclose(by_number["final"]["q"]["i"], exact(np.array([1.0]), 3.0)[0, 0], atol=1e-10)
    formula = linkwork.data(*run, "--input", "u=2*t")
    assert formula["final"]["q"]["i"] != by_number["final"]["q"]["i"]
    assert "no input 'v'" in linkwork(*run, "--input", "v=3", code=2)
    assert "is of kind force" in linkwork(*run, "--input", "u=3 N", code=3)
    for heading, reason in (("t, u [N]", "a table in N, where V"), ("t [m], u", "a table in m, where s")):
        (tmp_path / "volts.csv").write_text(f"{heading}\n0, 0\n1, 6\n")
        assert reason in linkwork(*run, "--input", f"u={tmp_path / 'volts.csv'}", code=3)


# Sampled inputs, controllers, steps


def discretized(gain: float, period: float, count: int, inductance: float = L) -> Array:
    """(i, phi, omega) at multiples of a period with u = 12 - gain phi held in between: exact for any period."""
    M = np.zeros((4, 4))
    M[:3, :3], M[:3, 3] = A, B
    M[0] *= L / inductance
    over, x = expm(M * period)[:3], START
    found = [x]
    for _ in range(count):
        x = over @ np.append(x, 12 - gain * x[1])
        found.append(x)
    return np.array(found)


OPEN = MOTOR.replace(", value: 12", "").replace("step: 0.05", "step: 20 ms")
SAMPLED = OPEN.replace("unit: V", "value: 12 - 40*rotor.phi, every: 20 ms")


@pytest.mark.parametrize(
    "how",
    [{}, {"coordinates": "joint"}, {"coordinates": "minimal"}, {"integrator": "radau5"}, {"formulation": "svd"}],
)
def test_a_sampled_formula_is_the_exact_discretization(how: dict[str, Any]) -> None:
    motion = simulate(loads(SAMPLED), **how)
    truth = discretized(40.0, 0.02, 50)
    np.testing.assert_allclose(whole(motion), truth, rtol=0, atol=1e-10)
    np.testing.assert_allclose(motion["input:u"][1:], 12 - 40 * truth[:-1, 1], atol=1e-9)  # until then
    unheld = simulate(loads(SAMPLED.replace(", every: 20 ms", "")))
    assert np.abs(whole(unheld) - truth).max() > 0.1


def test_samples_go_on_where_another_method_takes_over() -> None:
    """A current that settles in half a microsecond is stiff behind every sample: methods change, values stay."""
    stiff = SAMPLED.replace(f"L: {L} H", "L: 1 uH").replace("rtol: 1e-12, atol: 1e-12", "rtol: 1e-9, atol: 1e-9")
    motion = simulate(loads(stiff))
    assert any(note.code == "stiff" for note in motion.info.notes)
    np.testing.assert_allclose(whole(motion), discretized(40.0, 0.02, 50, 1e-6), rtol=0, atol=1e-6)


def test_sampling_as_python_does_what_its_machine_code_does() -> None:
    found = []
    for stepped in (False, True):
        motion = Motion.begin(
            prepare(loads(SAMPLED)), Choice("augmented", "projection", 0.0, 0.0), "mass", False, (), None, None
        )
        y = project_start(motion.system, motion.p, motion.start.place)
        motion.set_off(Settings(), np.array([0.0, 0.1]), y)
        state = motion.state
        state.at.x[0] = np.nextafter(0.04, 1.0)  # both ticks are behind it
        for _ in range(2):
            (sample.python if stepped else sample)(state.m, state.p, state.own, state.w)
        found.append(np.concatenate([state.held, state.at.x, state.at.k, *state.take_samples()]))
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_allclose(found[0][0], 12 - 40 * 0.3, atol=1e-13)


def test_controllers_in_python_are_asked_at_their_times_alone() -> None:
    """The same by a function, which sees outputs and coordinates, at multiples of its period and nowhere else."""
    asked: list[float] = []

    def control(t: float, y: Mapping[str, float]) -> dict[str, float]:
        asked.append(t)
        assert y["turned"] == y["rotor.phi"]
        return {"u": 12 - 40 * y["turned"]}

    motion = simulate(loads(OPEN), controllers=[Controller("20 ms", control)])
    np.testing.assert_allclose(whole(motion), discretized(40.0, 0.02, 50), rtol=0, atol=1e-10)
    np.testing.assert_allclose(asked, 0.02 * np.arange(50), rtol=1e-15)
    assert len(asked) == 50  # also after results have been read


def test_controllers_of_two_rates_meet() -> None:
    """0.1 and 0.3 meet but for rounding at 0.3, 0.6, 0.9; each is asked once there."""
    times: dict[float, list[float]] = {0.1: [], 0.3: []}

    def asking(period: float, name: str) -> Controller:
        def call(t: float, _: Mapping[str, float]) -> dict[str, float]:
            times[period].append(t)
            return {name: len(times[period])}

        return Controller(period, call)

    text = OPEN.replace("inputs: {", "inputs: {w: {value: 0}, ")
    motion = simulate(loads(text), controllers=[asking(0.1, "u"), asking(0.3, "w")])
    for period, found in times.items():
        np.testing.assert_allclose(found, period * np.arange(len(found)), rtol=1e-14)
    assert (len(times[0.1]), len(times[0.3])) == (10, 4)
    assert (motion["input:u"][-1], motion["input:w"][-1]) == (10.0, 4.0)


def test_samples_and_events_keep_their_order() -> None:
    """An event sets u within a sample; the clock takes it back at the next one. Resumed, the samples go on."""
    text = SAMPLED.replace("states:", "events: {e: {when: t - 0.509, action: set, inputs: {u: 3}}}\nstates:")
    text = text.replace("step: 20 ms", "step: 4 ms")
    motion = simulate(loads(text))
    held = {round(t, 9): u for t, u in zip(motion.t, motion["input:u"], strict=True)}
    assert held[0.512] == held[0.516] == held[0.52] == 3.0
    np.testing.assert_allclose(held[0.524], 12 - 40 * motion["rotor.phi"][np.isclose(motion.t, 0.52)], rtol=1e-9)
    first = simulate(loads(text), t_end=0.512)
    rest = simulate(loads(text), start=Start(resume=first))
    np.testing.assert_allclose(whole(rest), whole(motion), atol=1e-11)
    at_tick = simulate(loads(text), start=Start(resume=simulate(loads(text), t_end=0.3)))
    np.testing.assert_allclose(whole(at_tick), whole(motion), atol=1e-11)


def test_controllers_are_refused_with_reason() -> None:
    def give(**values: Any) -> list[Controller]:
        return [Controller("20 ms", lambda t, y: values)]

    model = loads(OPEN)
    for controllers, error, reason in (
        (give(v=1.0), UsageError, "no input 'v'"),
        (give(), UsageError, "input 'u' is left open, and no controller gives it"),
        (give(u=float("nan")), UsageError, "gives input 'u' the value nan at t = 0"),
        ([Controller("1 ms", lambda t, y: 3.0)], UsageError, "a controller answers 3.0 at t = 0"),  # type: ignore[arg-type,return-value]
        (give(u="x"), UsageError, "gives input 'u' the value 'x'"),
        (give(u=1.0) + give(u=2.0), UsageError, "two controllers give values of input 'u'"),
        ([lambda t, y: {}], UsageError, "is not a Controller"),
        ([Controller("20 ms", lambda t, y: {"u": y["turnd"]})], KeyError, "turnd"),
        ([Controller("20 ms", lambda t, y: {"u": 1 / (0.5 - (t > 0.3) * 0.5)})], ZeroDivisionError, "division"),
        ([Controller("1 ns", lambda t, y: {"u": 0.0})], UsageError, "sampled every 1e-09 s"),
    ):
        with pytest.raises(error, match=reason):
            simulate(model, controllers=controllers)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="input 'u' has a formula of its own"):
        simulate(loads(SAMPLED.replace("inputs: {", "inputs: {w: {value: 0}, ")), controllers=give(u=1.0))
    with pytest.raises(UsageError, match="has no inputs"):
        simulate(load("slider_crank"), controllers=give(u=1.0))
    with pytest.raises(UsageError, match="is not a time between samples"):
        Controller(0.0, lambda t, y: {})
    with pytest.raises(UsageError, match="every = None is not a time"):
        Controller(None, lambda t, y: {})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="is not a function"):
        Controller("1 ms", {"u": 1.0})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="state 'i' is of first order"):
        simulate(loads(MOTOR), integrator="generalized-alpha")


def test_steps_with_held_inputs_are_the_exact_discretization() -> None:
    """Steps of the user's own; a state is all there is: from a copy of it the same states follow."""
    stepper = prepare(loads(OPEN)).stepper()
    state, own = stepper.start(), [stepper.names.index(x) for x in ("i", "rotor.phi", "rotor.omega")]
    assert (stepper.inputs, stepper.output_names) == (("u",), ("turned", "power"))
    truth, kept = discretized(40.0, 0.02, 50), state.copy()
    for k in range(50):
        np.testing.assert_allclose(state[own], truth[k], atol=1e-10)
        if k == 20:
            kept = state.copy()
        moved = stepper.step(state, 12 - 40 * stepper.outputs(state)[0], 0.02)
        assert moved is state
    for _ in range(30):
        stepper.step(kept, 12 - 40 * kept[own[1]], 0.02)
    np.testing.assert_allclose(kept, state, rtol=1e-12, atol=1e-12)


def test_steps_pass_what_switches() -> None:
    """A ball that falls on a spring that only pushes, and a force that is switched by a table of time."""
    m = PlanarModel("ball")
    m.fix(O=(0, 0))
    m.body("ball", mass=2, inertia=0.1, position=(0, 0.5), points={"P": (0, 0)})
    m.line_contact("floor", "ground.O", "ball.P", normal=(0, 1), stiffness="3 kN/m", damping=5)
    m.input("f", {"x": [0, 0.2, 0.4, 1.5], "y": [0, 7, -3, 1]}, unit="N")
    m.point_force("push", "ball.P", force=("f", 0))
    motion = m.simulate(t_end=1.2, rtol=1e-11, step=0.1)
    stepper = m.stepper(rtol=1e-11)
    state = stepper.start()
    for _ in range(12):
        stepper.step(state, (), 0.1)
    names = ["ball.x", "ball.y", "ball.vx", "ball.vy"]
    found = [state[stepper.names.index(name)] for name in names]
    np.testing.assert_allclose(found, [motion[name][-1] for name in names], atol=1e-8)


IMPACT = "events: {e: {when: rotor.phi, action: set, restitution: 1}}\nstates:"


def test_steps_begin_and_end_where_laws_of_time_switch() -> None:
    """A torque that is on for 0.3 <= t <= 0.7, in steps of 0.1 whose sums are rounded: the momentum is exact."""
    text = """
linkwork: 1
gravity: [0, 0]
bodies: {rotor: {mass: 1, inertia: 0.5, points: {O: [0, 0]}}}
forces: {drive: {type: torque, on: rotor, torque: "if(t < 0.3, 0, if(t <= 0.7, 2, 0))"}}
simulation: {t_end: 1}
"""
    stepper = prepare(loads(text)).stepper()
    state = stepper.start()
    for _ in range(30):  # beyond t_end of the model
        stepper.step(state, (), 0.1)
    np.testing.assert_allclose(state[stepper.names.index("rotor.omega")], 2 * 0.4 / 0.5, rtol=1e-13)


def test_steps_are_refused_with_reason() -> None:
    with pytest.raises(UsageError, match="sampled at times of its own"):
        prepare(loads(SAMPLED)).stepper()
    with pytest.raises(UsageError, match="is not done step by step"):
        prepare(loads(OPEN.replace("states:", IMPACT))).stepper()
    with pytest.raises(UsageError, match="multipliers among its unknowns"):
        prepare(loads(OPEN)).stepper(formulation="index-3", integrator="radau5")
    stepper = prepare(loads(OPEN)).stepper()
    with pytest.raises(UsageError, match="dt = -1"):
        stepper.step(stepper.start(), 1.0, -1)
    stopping = prepare(loads(OPEN.replace("K*i -", "K*i + 0.1*sqrt(0.5 - t) -"))).stepper()
    with pytest.raises(NumericalStop, match="t = 0"):
        stopping.step(stopping.start(), 1.0, 1.0)


def test_a_pendulum_held_by_pid_is_the_matrix_exponential_for_small_motion() -> None:
    weight, J = 1.5 * 9.81 * 0.4, 0.08 + 1.5 * 0.4**2
    a = np.array([[0, 1, 0], [(weight - 20.0) / J, -3.0 / J, 30.0 / J], [-1, 0, 0]])
    how: dict[str, Any] = {"coordinates": "joint", "start": {"O": 1e-4}, "rtol": 1e-12, "atol": 1e-14}
    motion = simulate(load("pid_pendulum"), {"ref": 0.0}, t_end=3, **how)
    found = np.column_stack([motion["arm.phi"], motion["arm.omega"], motion["state:z"]])
    truth = np.array([expm(a * t) @ [1e-4, 0, 0] for t in motion.t])
    np.testing.assert_allclose(found, truth, rtol=0, atol=1e-11)


def test_states_follow_driven_motion() -> None:
    """z' = u A.x omega - z/3 along a crank that a driver turns: by quadrature, in kinematics and in dynamics."""
    m = PlanarModel("driven")
    m.fix(O=(0, 0))
    m.body("crank", mass=1, inertia=0.2, points={"O": (0, 0), "A": (0.3, 0)})
    m.driver("motor", m.revolute("O", m.ground, m["crank"]), "3*t + 0.2*t^2")
    m.input("u", 2.0)
    m.state("z", "crank.A.x*crank.omega*u - z/3")
    truth = quad(
        lambda t: 0.6 * np.cos(3 * t + 0.2 * t * t) * (3 + 0.4 * t) * np.exp((t - 2) / 3), 0, 2, epsabs=1e-13, limit=200
    )[0]
    m.change("u", value=None)
    with pytest.raises(UsageError, match="input 'u' is left open"):
        m.kinematics(t_end=2)
    m.change("u", value=2.0)
    for motion in (m.kinematics(t_end=2), m.simulate(t_end=2), m.kinematics(t_end=2, coordinates="joint")):
        np.testing.assert_allclose(motion["state:z"][-1], truth, atol=1e-9)


@pytest.mark.slow
def test_reports_show_signals(tmp_path: Path, linkwork: Answer) -> None:
    linkwork("report", "pid_pendulum", "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert ">ref - output:tilt</td>" in page
    assert "output:tilt [deg]" in page


def test_commands_tell_of_signals(linkwork: Answer) -> None:
    told = linkwork("run", "pid_pendulum", "--t-end", "1")
    assert "output:tilt 9.1473591" in told
    assert "coordinates more" not in told
    checked = linkwork.data("check", "pid_pendulum")
    assert checked["signals"] == {"inputs": ["ref", "u"], "outputs": ["tilt"], "states": ["z"]}
    assert checked["coordinates"] == 3
    written = linkwork("equations", "dc_motor", "--to", "c")
    assert "out[5] = (u - R*i - K*rotor_omega)/L;  // i_d" in written


def test_states_in_other_units_are_in_si_among_coordinates() -> None:
    """Results show the current in mA; q, in which it is integrated, has it in A."""
    motion = simulate(loads(MOTOR.replace("unit: A}", "unit: mA}")), t_end=0.2)
    np.testing.assert_allclose(motion["state:i"], 1000 * motion["i"], rtol=1e-14)
    np.testing.assert_allclose(whole(simulate(loads(MOTOR), t_end=0.2))[:, 0], motion["i"], rtol=1e-14)
    assert [motion.unit(name) for name in ("state:i", "state:i_d", "i")] == ["mA", "mA/s", "A"]
    assert [in_si(unit) for unit in ("mA", "N*mm", "kN/mm", "V", "deg", "rpm")] == [
        *("A", "J", "kg*s^-2", "V", "rad", "s^-1*rad"),
    ]
