"""Tables that formulas call by name: values, slopes and corners, files beside the model, units."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import linkwork as lw
from linkwork.elements.curves import Curve
from linkwork.errors import ModelError
from linkwork.expressions.derivatives import directional
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import ONE, constant, symbol

X, Y = (-1.0, 0.5, 2.0, 2.5, 7.0), (3.0, -1.0, 0.25, 4.0, 4.5)
ROTOR = """
linkwork: 1
name: rotor
gravity: [0, 0]
tables:
  torque: {TABLE}
ground: {points: {O: [0, 0]}}
bodies: {rotor: {mass: 1, inertia: 0.1, points: {O: [0, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: rotor.O}}
forces: {motor: {type: torque, on: rotor, torque: torque(rotor.omega)}}
simulation: {t_end: 6, step: 0.1}
"""
INLINE = "{x: [0, 40, 100], y: [3, 2, 0.5]}"
CSV = "speed [rpm], torque [N*mm], power\n0, 3000, 0\n381.97186342054884, 2000, 1\n954.9296585513721, 500, 2\n"


def rotor(table: str = INLINE, formula: str = "torque(rotor.omega)") -> str:
    return ROTOR.replace("{TABLE}", table).replace("torque: torque(rotor.omega)", f"torque: {formula}")


@pytest.mark.parametrize("interpolation", ["linear", "spline"])
def test_a_curve_has_the_values_and_slopes_of_its_table(interpolation: str) -> None:
    """Beside NumPy and SciPy, between the places and beyond the ends, where it stays as it is there."""
    u = symbol("u")
    f = Curve(X, Y, interpolation)(u)
    (slope,) = directional([f], {u: ONE})
    own = CubicSpline(X, Y)
    for at in np.linspace(-3.0, 9.0, 241) + 0.003:
        value, rate = evaluate([f, slope], {u: at})
        inside = X[0] < at < X[-1]
        if interpolation == "linear":
            expected = np.interp(at, X, Y)
            k = int(np.searchsorted(X, at)) - 1
            steepness = (Y[k + 1] - Y[k]) / (X[k + 1] - X[k]) if inside else 0.0
        else:
            expected, steepness = own(np.clip(at, X[0], X[-1])), own(at, 1) if inside else 0.0
        assert value == pytest.approx(expected, abs=1e-13)
        assert rate == pytest.approx(steepness, abs=1e-12)
    assert Curve(X, Y, interpolation)(constant(2.0)).number == pytest.approx(0.25, abs=1e-14)


def test_a_rotor_follows_its_torque_curve_around_the_corner() -> None:
    """J w' = a - b w on each straight piece: exponentials that meet at 40 rad/s; the corner is found as a switch."""
    motion = lw.simulate(lw.loads(rotor()), rtol=1e-11, atol=1e-11)
    J, b = 0.1, 1.0 / 40.0  # on both pieces the torque falls by 1 N m over 40 rad/s
    first = J / b * np.log(3.0 / 2.0)  # w = (3/b) (1 - exp(-b t/J)) reaches 40
    after = 40.0 + 2.0 / b * (1.0 - np.exp(-b * (motion.t - first) / J))
    expected = np.where(motion.t < first, 3.0 / b * (1.0 - np.exp(-b * motion.t / J)), after)
    assert expected[-1] < 100.0
    np.testing.assert_allclose(motion["rotor.omega"], expected, atol=1e-8)


def test_corners_are_located() -> None:
    motion = lw.simulate(lw.loads(rotor("{x: [0, 20, 40, 60], y: [3, 1, 2, 0.5]}")))
    assert motion.info.switches == 3  # at 20, 40 and 60 rad/s
    assert motion["rotor.omega"][-1] > 60.0
    late = motion["rotor.omega"] > 60.0
    np.testing.assert_allclose(motion["torque:motor"][late], 0.5, rtol=1e-12)


@pytest.mark.parametrize("width", [1e-3, 1e-9, 1e-12])
def test_a_table_keeps_its_digits_however_steep_it_is(width: float) -> None:
    """1 N m from 10 rad on, set in within a width: the kinetic energy of the rotor grows by the area below."""
    table = f"{{x: [0, 10, {10 + width!r}, 20, 30], y: [1, 1, 2, 2, 0]}}"
    motion = lw.simulate(lw.loads(rotor(table, "torque(rotor.phi)")), rtol=1e-9, atol=1e-9, step=6.0)
    assert motion["rotor.phi"][-1] > 30.0
    assert 0.05 * motion["rotor.omega"][-1] ** 2 == pytest.approx(40.0 - width / 2, rel=1e-8)
    assert motion.info.steps < 100


def test_a_smooth_table_is_a_cubic_spline() -> None:
    table = "{x: [0, 30, 60, 100], y: [3, 2.5, 1, 0.2], interpolation: spline}"
    motion = lw.simulate(lw.loads(rotor(table)), rtol=1e-11, atol=1e-11)
    torque = CubicSpline([0, 30, 60, 100], [3, 2.5, 1, 0.2])
    found = solve_ivp(lambda t, w: torque(w) / 0.1, (0, 6), [0.0], "DOP853", motion.t, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(motion["rotor.omega"], found.y[0], atol=1e-8)


@pytest.mark.parametrize(
    "table",
    [
        "{file: motor.csv}",
        "{file: data/motor.csv, columns: [speed, torque]}",
        '{x: [0, 40, 954.9296585513721 rpm], y: [3, 2000 N*mm, "0.5"]}',
        "{x: [0, 381.97186342054884, 954.9296585513721], y: [3, 2, 0.5], units: [rpm, N*m]}",
    ],
)
def test_tables_come_from_files_and_have_units(table: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name in ("motor.csv", "data/motor.csv"):
        (tmp_path / name).write_text(CSV)
    (tmp_path / "rotor.yaml").write_text(rotor(table))
    motion, expected = lw.simulate(lw.load(tmp_path / "rotor.yaml")), lw.simulate(lw.loads(rotor()))
    np.testing.assert_allclose(motion["rotor.omega"], expected["rotor.omega"], rtol=1e-9)


@pytest.mark.parametrize("name", ["../motor.csv", "inside/../../motor.csv", "/etc/hostname", "link.csv"])
def test_files_of_other_folders_are_refused(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "motor.csv").write_text(CSV)
    (folder / "link.csv").symlink_to(tmp_path / "motor.csv")
    (folder / "rotor.yaml").write_text(rotor(f"{{file: {name}}}"))
    with pytest.raises(ModelError, match="is in another folder") as caught:
        lw.load(folder / "rotor.yaml")
    assert (caught.value.code, caught.value.line) == ("table-file", 6)


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ("{x: [0, 1]}", "bad-table"),
        ("{file: motor.csv, x: [0, 1], y: [0, 1]}", "bad-table"),
        ("{x: [0, 1, 1], y: [0, 1, 2]}", "bad-table"),
        ("{x: [0, 2, 1], y: [0, 1, 2]}", "bad-table"),
        ("{x: [0, 1], y: [0, 1, 2]}", "bad-table"),
        ("{x: [0], y: [1]}", "bad-table"),
        ("{x: [0, 1e-320], y: [0, 1]}", "bad-table"),
        ("{x: [0, a], y: [0, 1]}", "bad-value"),
        ("{x: [0 rpm, 1 mm], y: [0, 1]}", "unit-mismatch"),
        ("{x: [0, 1], y: [0, 1], interpolation: akima}", None),
        ("{file: motor.csv}", "table-file"),
    ],
)
def test_what_is_no_table_is_refused_with_its_line(table: str, code: str | None) -> None:
    with pytest.raises(ModelError) as caught:
        lw.loads(rotor(table))
    assert caught.value.line == 6
    assert code is None or caught.value.code == code


def test_a_column_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "motor.csv").write_text(CSV)
    (tmp_path / "rotor.yaml").write_text(rotor("{file: motor.csv, columns: [sped, torque]}"))
    with pytest.raises(ModelError, match="no column 'sped'; did you mean 'speed'"):
        lw.load(tmp_path / "rotor.yaml")


def test_names_and_arguments_are_checked() -> None:
    with pytest.raises(ModelError, match=r"'rotor.x' is a length, not an angular speed") as caught:
        lw.loads(rotor("{x: [0, 40 rpm], y: [3, 2]}", "torque(rotor.x)"))
    assert caught.value.code == "unit-mismatch"
    with pytest.raises(ModelError, match=r"unknown function 'torqe'.*did you mean 'torque'"):
        lw.loads(rotor(INLINE, "torqe(rotor.omega)"))
    with pytest.raises(ModelError, match="'torque' takes 1 arguments, not 2"):
        lw.loads(rotor(INLINE, '"torque(rotor.omega, 2)"'))
    with pytest.raises(ModelError, match="is a parameter too"):
        lw.loads(rotor().replace("ground:", "parameters: {torque: 3}\nground:"))
    with pytest.raises(ModelError, match="has a meaning of its own"):
        lw.loads(rotor().replace("  torque: {x", "  sin: {x"))


def test_a_table_stands_in_any_formula() -> None:
    """A parameter, a mass, an event and a driver: lift(t) drives by a spline, and a corner in it is refused."""
    text = """
    linkwork: 1
    name: cam
    tables:
      lift: {x: [0, 1, 2, 3 s], y: [0, 0.2 m, 0.1, 0.4], interpolation: spline}
      size: {x: [0, 10], y: [0, 5]}
    parameters: {m: size(4)}
    ground: {points: {O: [0, 0]}}
    bodies: {cart: {mass: m, inertia: 1, points: {O: [0, 0]}}}
    joints: {S: {type: prismatic, i: ground.O, j: cart.O, axis: [1, 0]}}
    drivers: {cam: {joint: S, motion: lift(t)}}
    events: {half: {when: size(t) - 0.5}}
    simulation: {t_end: 3}
    """
    model = lw.loads(text)
    motion, curve = lw.kinematics(model), CubicSpline([0, 1, 2, 3], [0, 0.2, 0.1, 0.4])
    np.testing.assert_allclose(motion["cart.x"], curve(motion.t), atol=1e-12)
    np.testing.assert_allclose(motion["force:cam"], 2.0 * curve(motion.t, 2), atol=1e-8)
    np.testing.assert_allclose(motion.events.t, 1.0, atol=1e-9)
    with pytest.raises(ModelError) as caught:
        lw.loads(text.replace(", interpolation: spline", ""))
    assert caught.value.code == "motion-jump"


def test_tables_in_python(tmp_path: Path) -> None:
    (tmp_path / "motor.csv").write_text(CSV)
    expected = lw.simulate(lw.loads(rotor()))
    for given in ({"x": [0, "40 rad/s", 100], "y": ["3 N*m", 2, 0.5]}, {"file": tmp_path / "motor.csv"}):
        m = lw.PlanarModel("rotor")
        m.gravity = (0, 0)
        m.table("torque", **given)
        m.fix(O=(0, 0))
        body = m.body("rotor", mass=1, inertia=0.1, points={"O": (0, 0)})
        m.revolute("O", m.ground, body)
        m.torque("motor", body, torque="torque(rotor.omega)")
        np.testing.assert_allclose(m.simulate(t_end=6, step=0.1)["rotor.omega"], expected["rotor.omega"], rtol=1e-6)
        m.save(tmp_path / "again.yaml")
        assert lw.PlanarModel.load(tmp_path / "again.yaml") == m
        with pytest.raises(ModelError, match="x does not rise"):
            m.table("bad", [1, 0], [0, 1])
        with pytest.raises(ModelError, match="there is a table 'torque' already"):
            m.table("torque", [0, 1], [0, 1])
