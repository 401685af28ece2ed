"""Inputs, outputs and states of first order: values against closed forms, in all forms of the equations."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Answer
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from linkwork import PlanarModel, SpatialModel, Start, Trajectory, load, loads, simulate
from linkwork.errors import ModelError, UsageError
from linkwork.modelfile import build, find, with_start

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
    begun = simulate(model, start={"i": -0.75})
    assert begun["state:i"][0] == -0.75


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
        m.state("w", "v")
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
    "half a table": ("value: 12", "value: {x: [0, 1], y: [1]}", "bad-table"),
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
            simulate(model, given)  # type: ignore[arg-type]


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
    assert "no parameter 'v'" in linkwork(*run, "--input", "v=3", code=2)
    assert "is of kind force" in linkwork(*run, "--input", "u=3 N", code=3)
