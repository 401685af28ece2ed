"""Kinematic analysis: driven mechanisms against closed forms, published tables and the balance of power."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from parallelograms import PARALLELOGRAM, meet
from published import table

from linkwork.compiled.system import compile_system
from linkwork.driven.kinematics import kinematics
from linkwork.driven.linkages import coupler_curve, dead_centres, input_output, transmission_angle
from linkwork.elements.motions import Ramp
from linkwork.equations.body import body_equations
from linkwork.errors import Interrupted, ModelError, NumericalStop, UsageError
from linkwork.mechanisms import describe
from linkwork.modelfile import load, loads, shipped
from linkwork.simulation import result as results
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


def e(angle: Any) -> Any:
    return np.exp(1j * angle)


def point(motion: Trajectory, name: str) -> Complex:
    return motion[f"{name}.x"] + 1j * motion[f"{name}.y"]


def derivative(f: Any, t: Array, order: int, h: float = 0.01) -> Any:
    """The first or second derivative of f by central differences of eighth order."""
    if order == 1:
        weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
        return sum(w * (f(t + k * h) - f(t - k * h)) for k, w in weights.items()) / h
    weights = {1: 8 / 5, 2: -1 / 5, 3: 8 / 315, 4: -1 / 560}
    return (sum(w * (f(t + k * h) + f(t - k * h)) for k, w in weights.items()) - 205 / 72 * f(t)) / h**2


def rate(values: Array, h: float) -> Array:
    """The rate of a column over uniform report times, by differences of eighth order; four rows less at each end."""
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    n = len(values)
    return sum((w * (values[4 + k : n - 4 + k] - values[4 - k : n - 4 - k]) for k, w in weights.items()), 0.0) / h


def assert_drivers_supply_the_power(motion: Trajectory, speeds: dict[str, Array], tolerance: float) -> None:
    """Driving force times speed of the driven freedom is the rate of kinetic and potential energy."""
    energy = motion.energy["kinetic"] + motion.energy["potential"]
    power = sum(motion[f"driving:{name}"] * speed for name, speed in speeds.items())
    np.testing.assert_allclose(power[4:-4], rate(energy, float(motion.t[1])), atol=tolerance * np.max(np.abs(power)))


# The mechanism of the Warsaw project.

START = {
    **{"O": 0, "H": 0.4 - 0.2j, "N": 0.1 - 0.8j, "M": 1.9 - 1.4j, "G": 1.6 + 0.4j, "D": 2.2 - 0.4j},
    **{"C": 2.5 - 1.4j, "B": 2.9 - 1.1j, "A": 2.9 - 1.9j, "K": 3.4 - 1.9j},
}
BODY_OF = {"A": "boom", "D": "boom", "M": "boom", "C": "arm", "G": "arm", "B": "bucket", "K": "bucket"}


def warsaw(t: Array) -> dict[str, Complex]:
    """All points by intersections of circles: M about O and N, G about D and H, B about A and C."""
    P = START

    def between(a: str, b: str) -> float:
        return abs(P[a] - P[b])

    def side(a: str, b: str, c: str) -> int:
        return int(np.sign(((P[c] - P[a]) / (P[b] - P[a])).imag))

    M = meet(P["O"], between("O", "M"), P["N"], between("N", "M") - 0.25 * np.sin(2 * t), side("O", "N", "M"))
    D, A = (M * P[name] / P["M"] for name in "DA")
    G = meet(D, between("D", "G"), P["H"], between("H", "G") + 0.30 * np.sin(5 * t), side("D", "H", "G"))
    C = D + (G - D) * (P["C"] - P["D"]) / (P["G"] - P["D"])
    B = meet(A, between("A", "B"), C, between("C", "B"), side("A", "C", "B"))
    K = A + (B - A) * (P["K"] - P["A"]) / (P["B"] - P["A"])
    return {"A": A, "D": D, "M": M, "C": C, "G": G, "B": B, "K": K}


@pytest.fixture(scope="module")
def warsaw_motion() -> Trajectory:
    return kinematics(load("warsaw_problem12"))


def test_warsaw_points_follow_the_reference_and_the_published_tables(warsaw_motion: Trajectory) -> None:
    """All named points over 5 s: to 1e-10 of the exact solution, within the rounding of seven digits of ADAMS."""
    motion = warsaw_motion
    for file, rate_mark, tolerance in (
        ("warsaw_problem12_position.csv", "", 1e-10),
        ("warsaw_problem12_velocity.csv", "v", 1e-10),
        ("warsaw_problem12_adams_pos.csv", "", 5e-7),
        ("warsaw_problem12_adams_vel.csv", "v", 5e-7),
    ):
        expected = table(file)
        np.testing.assert_allclose(motion.t[::5], expected["t"], atol=1e-12)
        for name, body in BODY_OF.items():
            for axis in "xy":
                if f"{name}_{axis}" in expected:
                    found = motion[f"{body}.{name}.{rate_mark}{axis}"][::5]
                    np.testing.assert_allclose(found, expected[f"{name}_{axis}"], rtol=0, atol=tolerance * 1.01)


# Standard deviations of the source's points from ADAMS: x, y, their rates and accelerations [tartari2019, table 4].
TABLE_4 = {
    "A": (2.9425e-7, 2.7715e-7, 2.2619e-7, 2.3793e-7, 2.6396e-7, 2.7363e-7),
    "D": (2.9447e-7, 1.581e-7, 2.3811e-8, 2.1401e-7, 1.8549e-7, 2.3666e-7),
    "M": (2.9269e-7, 2.5108e-7, 1.7802e-7, 1.9428e-7, 2.3326e-7, 2.5555e-7),
    "C": (2.8811e-7, 2.5226e-7, 2.083e-7, 2.4153e-7, 6.4536e-7, 6.6173e-7),
    "G": (2.7954e-7, 2.6348e-8, 1.8009e-7, 1.871e-7, 2.8142e-7, 2.6488e-7),
}


def test_warsaw_accelerations_are_those_of_adams(warsaw_motion: Trajectory) -> None:
    """Six points at twelve times, within the rounding of seven digits."""
    expected = table("warsaw_problem12_adams_acc.csv")
    np.testing.assert_allclose(warsaw_motion.t[:111:10], expected["t"], atol=1e-12)
    for name in "ADMCGK":
        for axis in "xy":
            found = warsaw_motion[f"{BODY_OF[name]}.{name}.a{axis}"][:111:10]
            np.testing.assert_allclose(found, expected[f"{name}_{axis}"], rtol=5.01e-7)


def test_what_the_source_calls_errors_against_adams_is_the_rounding_of_its_table(warsaw_motion: Trajectory) -> None:
    """Rounding our motion to seven digits takes away what its table 4 says, column by column.

    A few of 501 values that lie near the middle between two roundings may fall on the other side: 1e-3.
    """
    for name, printed in TABLE_4.items():
        columns = [warsaw_motion[f"{BODY_OF[name]}.{name}.{rate}{axis}"] for rate in ("", "v", "a") for axis in "xy"]
        taken = [np.std(x - [float(f"{value:.6e}") for value in x], ddof=1) for x in columns]
        np.testing.assert_allclose(taken, printed, rtol=1e-3)


def test_warsaw_accelerations_are_those_of_the_circles(warsaw_motion: Trajectory) -> None:
    """Second differences of the closed form, good to 1e-11, against accelerations of all points to 1e-8."""
    motion = warsaw_motion
    for name, body in BODY_OF.items():
        closed = warsaw(motion.t)[name]
        np.testing.assert_allclose(point(motion, f"{body}.{name}"), closed, atol=1e-12)
        second = derivative(lambda t, name=name: warsaw(t)[name], motion.t, 2)
        found = motion[f"{body}.{name}.ax"] + 1j * motion[f"{body}.{name}.ay"]
        np.testing.assert_allclose(found, second, atol=1e-8)


def test_warsaw_cylinders_supply_the_power(warsaw_motion: Trajectory) -> None:
    t = warsaw_motion.t
    assert len(t) == 501
    speeds = {"ram1": -0.5 * np.cos(2 * t), "ram2": 1.5 * np.cos(5 * t)}
    assert_drivers_supply_the_power(warsaw_motion, speeds, 1e-8)


def test_the_equations_of_motion_give_the_same_accelerations_and_reactions(warsaw_motion: Trajectory) -> None:
    """M a + Psi_q^T lam = Q and Psi_q a = gamma in one, as a simulation solves them, at every tenth instant."""
    motion = warsaw_motion
    system = compile_system(body_equations(load("warsaw_problem12")))
    p, dynamics = system.p(given={"repetitions": 1}), system.functions["dynamics"]
    for k in range(0, len(motion.t), 10):
        y = dynamics(np.concatenate([[motion.t[k]], motion.q[k], motion.v[k], [0.0, 0.0]]), p)
        np.testing.assert_allclose(y[24:48], motion.a[k], atol=1e-8)
        np.testing.assert_allclose(y[-24:], motion.lam[k], atol=1e-8 * np.max(np.abs(motion.lam)))


# Four-bars of the teaching programs.


@pytest.mark.parametrize(
    ("name", "file"),
    [("four_bar_film_strip", "fourbar_film_strip.csv"), ("four_bar_grashof", "fourbar_general_grashof.csv")],
)
def test_four_bars_follow_the_vector_loop(name: str, file: str) -> None:
    """One turn: angles, their rates, accelerations, points and the torque of the motor to 1e-8."""
    expected = table(file)
    motion = kinematics(load(name))
    assert len(motion.t) == len(expected["t"])
    names = {
        **{"theta1": "crank.phi", "theta2": "coupler.phi", "theta3": "follower.phi"},
        **{"omega2": "coupler.omega", "omega3": "follower.omega"},
        **{"alpha2": "coupler.alpha", "alpha3": "follower.alpha"},
        **{f"P2_{x}": f"coupler.P.{x}" for x in ("x", "y", "vx", "vy")},
        "crank_torque": "driving:motor",
    }
    for column, quantity in names.items():
        found, wanted = motion[quantity], expected[column]
        if column.startswith("theta"):
            found, wanted = e(found), e(wanted)
        np.testing.assert_allclose(found, wanted, atol=1e-8, err_msg=quantity)
    if "follower.P.x" in motion:
        np.testing.assert_allclose(motion["follower.P.x"], expected["P3_x"], atol=1e-8)


# The other shipped mechanisms.

KINEMATIC = [name for name in shipped() if (describe(name)["checked"] or {}).get("analysis") == "kinematics"]


@pytest.mark.parametrize("name", KINEMATIC)
def test_checked_number_of_every_driven_mechanism(name: str) -> None:
    """The number in the file, whose source is a closed form or a published table; no start value needs correction."""
    model = load(name)
    checked = model.about.checked
    t_end = checked["t"] or model.simulation.step
    motion = kinematics(model, t_end=t_end)
    row = -1 if checked["t"] else 0
    assert abs(motion[checked["quantity"]][row] - checked["value"]) <= checked["tolerance"]
    assert motion.info.status == "finished"
    assert motion.info.notes == model.notes  # those of its file, none of the run
    assert motion.info.constraint_error_position < 1e-14
    assert model.about.source


def test_six_bars_follow_the_circles() -> None:
    """One turn of Watt's and Stephenson's linkage, of the leg and of the shaper, by intersections of circles."""
    motion = kinematics(load("watt_six_bar"))
    A = 0.3 * e(np.radians(50) + motion.t)
    B = meet(A, 0.8, 0.9, 0.6, 1)
    D = 0.9 + 0.5 * (B - 0.9) / 0.6 * e(-np.pi / 3)
    np.testing.assert_allclose(point(motion, "output.E"), meet(D, 0.8, 1.9, 0.5, 1), atol=1e-12)

    motion = kinematics(load("stephenson_six_bar"))
    B = meet(A, 0.8, 0.9, 0.7, 1)
    P = A + (0.5 + 0.4j) * (B - A) / 0.8
    np.testing.assert_allclose(point(motion, "output.E"), meet(P, 1.2, 1.4 + 0.2j, 0.6, 1), atol=1e-12)
    assert_drivers_supply_the_power(motion, {"motor": np.ones_like(motion.t)}, 1e-6)

    motion = kinematics(load("jansen_leg"))
    Z, pivot = 0.15 * e(motion.t), -0.38 - 0.078j
    X, W = meet(pivot, 0.415, Z, 0.5, 1), meet(pivot, 0.393, Z, 0.619, -1)
    T = meet(pivot, 0.401, X, 0.558, 1)
    U = meet(T, 0.394, W, 0.367, -1)
    foot = meet(U, 0.657, W, 0.49, -1)
    np.testing.assert_allclose(coupler_curve(motion, "foot.F"), np.column_stack([foot.real, foot.imag]), atol=1e-12)

    motion = kinematics(load("quick_return"))
    A = 0.25j + 0.1 * e(2 * np.pi * motion.t)
    E = 0.5 * A / np.abs(A)
    np.testing.assert_allclose(motion["ram.x"], E.real + np.sqrt(0.04 - (0.45 - E.imag) ** 2), atol=1e-12)


def test_pantograph_copies_to_its_ratio() -> None:
    motion = kinematics(load("pantograph"))
    np.testing.assert_allclose(point(motion, "long2.Q"), 2.5 * point(motion, "short2.P"), atol=1e-12)
    np.testing.assert_allclose(motion["short2.P.y"], 0.1 + 0.12 * np.sin(2 * motion.t), atol=1e-12)


def test_scotch_yoke_has_the_torque_of_its_sine() -> None:
    """x = r cos(t), so T = m r^2 sin(t) cos(t) and half the crank's weight at its mass centre."""
    motion = kinematics(load("scotch_yoke"))
    t = motion.t
    np.testing.assert_allclose(motion["yoke.x"], 0.1 * np.cos(t), atol=1e-15)
    torque = 2 * 0.01 * np.sin(t) * np.cos(t) + 9.81 * 0.05 * np.cos(t)
    np.testing.assert_allclose(motion["driving:motor"], torque, atol=1e-10)


def test_scissor_lift_at_rest_needs_the_force_of_virtual_work() -> None:
    """F dx = (load + bars/2) g dh with h = 2 sqrt(L^2 - x^2), where the lift rests at the top."""
    motion = kinematics(load("scissor_lift"))
    x, h = 0.7, 2 * np.sqrt(1.2**2 - 0.7**2)
    assert motion["platform.y"][-1] == pytest.approx(h, abs=1e-14)
    assert motion["driving:spindle"][-1] == pytest.approx(-(200 + 4 * 6 / 2) * 9.81 * 4 * x / h, rel=1e-10)


# Slider-cranks and parallelograms made for the purpose.

SLIDER_CRANK = """
linkwork: 1
name: slider_crank
parameters: {l1: 0.5, l2: 1, s: 0, m: 1, x: l1*cos(s) + sqrt(l2^2 - (l1*sin(s))^2), psi: -asin(l1*sin(s)/l2)}
ground: {points: {O: [0, 0]}}
bodies:
  crank: {mass: m, inertia: 0.1*m, position: [l1/2*cos(s), l1/2*sin(s)], angle: s,
          points: {O: [-l1/2, 0], A: [l1/2, 0]}}
  rod: {mass: m, inertia: 0.1*m, position: [(l1*cos(s) + x)/2, l1/2*sin(s)], angle: psi,
        points: {A: [-l2/2, 0], B: [l2/2, 0]}}
  slider: {mass: m, inertia: 0.1*m, position: [x, 0], points: {B: [0, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: rod.A}
  B: {type: revolute, i: rod.B, j: slider.B}
  S: {type: prismatic, i: ground.O, j: slider.B, axis: [1, 0]}
simulation: {t_end: 6.3, step: 0.01}
"""
TURNED = SLIDER_CRANK + "drivers: {motor: {joint: O, motion: s + t}}\n"
PUSHED = SLIDER_CRANK + "drivers: {ram: {joint: S, motion: x + 0.1*t}}\n"

WITH_MIDDLE = PARALLELOGRAM.replace(
    "# middle",
    "middle: {mass: 1, inertia: 0.1, position: [d/2 + a/2*cos(s), a/2*sin(s)], angle: s, "
    "points: {E: [-a/2, 0], M: [a/2, 0]}}",
).replace(
    "# joints of the middle",
    "E: {type: revolute, i: ground.E, j: middle.E}\n  M: {type: revolute, i: coupler.M, j: middle.M}",
)


def test_too_long_crank_locks_at_its_angle() -> None:
    """The rod stands upright at sin(theta) = l2/l1; the time is located to 1e-9, and what went before is kept."""
    with pytest.raises(NumericalStop) as stop:
        kinematics(loads(TURNED, changes={"l1": 1.2}))
    attached: dict[str, Any] = stop.value.attached
    angle = np.arcsin(1 / 1.2)
    assert stop.value.code == "lock-up"
    assert attached["t"] == pytest.approx(angle, abs=1e-9)
    assert attached["drivers"]["motor"] == pytest.approx(angle, abs=1e-9)
    assert attached["position"]["rod.phi"] == pytest.approx(-np.pi / 2, abs=1e-6)
    assert attached["position"]["slider.x"] == pytest.approx(1.2 * np.cos(angle), abs=1e-6)
    assert {"A", "B", "motor"} <= set(attached["joints"])
    assert f"{angle:.6g}"[:6] in str(stop.value)
    motion = stop.value.trajectory
    assert motion.info.status == "stopped"
    assert motion.t[-1] == pytest.approx(0.98)
    theta = motion.t
    np.testing.assert_allclose(
        motion["slider.x"], 1.2 * np.cos(theta) + np.sqrt(1 - (1.2 * np.sin(theta)) ** 2), atol=1e-11
    )


def test_hardly_too_long_crank_locks() -> None:
    """With 1e-7 too much the ways on before and after the lock are almost one smooth curve; still it locks."""
    with pytest.raises(NumericalStop) as stop:
        kinematics(loads(TURNED, changes={"l1": 1 + 1e-7}))
    assert stop.value.attached["t"] == pytest.approx(np.arcsin(1 / (1 + 1e-7)), abs=1e-9)


def test_pushed_slider_locks_in_its_dead_centre() -> None:
    """A ram on the slider ends where crank and rod are in line, x = l1 + l2."""
    with pytest.raises(NumericalStop) as stop:
        kinematics(loads(PUSHED, changes={"s": 1.0}))
    start = 0.5 * np.cos(1) + np.sqrt(1 - 0.25 * np.sin(1) ** 2)
    assert stop.value.code == "lock-up"
    attached: dict[str, Any] = stop.value.attached
    assert attached["t"] == pytest.approx((1.5 - start) / 0.1, abs=1e-9)
    assert attached["position"]["crank.phi"] == pytest.approx(0.0, abs=1e-6)
    assert "S" not in attached["joints"]


@pytest.mark.parametrize("step", [np.pi / 90, 0.0371, 0.5, np.pi / 3])
def test_parallelogram_passes_its_change_points(step: float) -> None:
    """Report times on them, beside them, far apart: the rocker stays parallel to the crank, and both are reported."""
    motion = kinematics(loads(PARALLELOGRAM), step=step)
    np.testing.assert_allclose(motion["rocker.phi"], motion["crank.phi"], atol=1e-11)
    np.testing.assert_allclose(motion["rocker.omega"], 1.0, atol=1e-10)
    np.testing.assert_allclose(motion["rocker.alpha"], 0.0, atol=1e-7)
    passed = motion.info.singular_positions
    np.testing.assert_allclose([x.t for x in passed], [2 * np.pi / 3, 5 * np.pi / 3], atol=1e-7)
    assert {"A", "B", "C"} <= set(passed[0].joints)
    assert sum("[singular-position]" in note for note in motion.info.notes) == 2
    # weights of crank and rocker at half their length, of the coupler at the whole
    np.testing.assert_allclose(motion["driving:motor"], 9.81 * 2.0 * np.cos(motion["crank.phi"]), atol=1e-7)


def test_end_on_a_singular_position() -> None:
    """The last report time is the change point itself."""
    motion = kinematics(loads(PARALLELOGRAM), t_end=2 * np.pi / 3)
    assert motion["rocker.phi"][-1] == pytest.approx(np.pi, abs=1e-10)
    assert motion["rocker.omega"][-1] == pytest.approx(1.0, abs=1e-9)
    assert len(motion.info.singular_positions) == 1


@pytest.mark.parametrize("step", [np.pi / 90, 0.5])
@pytest.mark.parametrize("longer", [1e-2, 1e-3, 1e-4, 1e-6, 1e-8])
def test_almost_a_parallelogram_stays_on_its_branch(longer: float, step: float) -> None:
    """With the rocker a little longer the linkage is a crank-rocker: the coupler never changes its side."""
    motion = kinematics(loads(PARALLELOGRAM, changes={"c": 1.0 + longer}), step=step)
    A = e(np.pi / 3 + motion.t)
    np.testing.assert_allclose(point(motion, "coupler.B"), meet(A, 2.0, 2.0, 1.0 + longer, 1), atol=1e-9)
    assert motion.info.singular_positions == ()


def test_redundant_middle_link_changes_nothing_but_the_reactions() -> None:
    """Rank 12 of 13 rows: same motion, and the motor supplies the power of all four bodies."""
    motion = kinematics(loads(WITH_MIDDLE), t_end=2.0, step=0.01)
    assert motion.info.redundant == 1
    np.testing.assert_allclose(motion["middle.phi"], motion["crank.phi"], atol=1e-12)
    np.testing.assert_allclose(motion["middle.alpha"], 0.0, atol=1e-9)
    # x of all mass centres turns on circles: weights times the horizontal distance of crank, rocker, middle and coupler
    torque = 9.81 * np.cos(motion["crank.phi"]) * (3 * 0.5 + 1.0)
    np.testing.assert_allclose(motion["driving:motor"], torque, atol=1e-8)


def test_bodies_without_mass_move_the_same() -> None:
    """A purely kinematic model has no reactions; a massless rod among others has no inertia but carries force."""
    motion = kinematics(loads(TURNED), t_end=1.0)
    bare = kinematics(loads(TURNED, changes={"m": 0}), t_end=1.0)
    for name in ("q", "v", "a"):
        np.testing.assert_allclose(getattr(bare, name), getattr(motion, name), atol=1e-12)
    assert not bare.columns("reactions")
    assert not bare.columns("driving")
    assert any("[no-masses]" in note for note in bare.info.notes)
    light_rod = TURNED.replace("rod: {mass: m, inertia: 0.1*m", "rod: {mass: 0, inertia: 0")
    light = kinematics(loads(light_rod), t_end=1.0)
    assert any("'rod'" in note and "[zero-mass]" in note for note in light.info.notes)
    assert_drivers_supply_the_power(light, {"motor": np.ones_like(light.t)}, 1e-8)


@pytest.mark.parametrize(
    ("rod", "said"),
    [
        ("mass: 2, inertia: 0", "the reactions hold no inertia torques of 'rod', which has no inertia"),
        ("mass: 0, inertia: 2", "the reactions hold no inertia forces of 'rod', which has no mass"),
        (
            "mass: 0, inertia: 0",
            "the reactions hold no inertia forces of 'rod', which has no mass, and no inertia torques of 'rod', "
            "which has no inertia",
        ),
    ],
)
def test_what_a_body_lacks_is_named(rod: str, said: str) -> None:
    """A point mass has weight and inertia forces: it is not without mass."""
    motion = kinematics(loads(TURNED.replace("rod: {mass: m, inertia: 0.1*m", f"rod: {{{rod}")), t_end=0.1)
    assert [note for note in motion.info.notes if "[zero-mass]" in note] == [f"{said} [zero-mass]"]


def test_long_steps_are_parted() -> None:
    """Two report times to a turn: what is reported does not depend on them."""
    fine, coarse = (kinematics(loads(TURNED, changes={"s": 0.3}), t_end=12.0, step=h) for h in (0.01, 3.0))
    np.testing.assert_allclose(coarse.q, fine.q[::300], atol=1e-12)
    np.testing.assert_allclose(coarse.a, fine.a[::300], atol=1e-11)
    assert coarse.info.steps > 4


def test_motion_from_rest_and_with_jumps_of_acceleration() -> None:
    """Rest, a parabola from t = 1 on, and a smooth step: none of them stops the analysis."""
    text = TURNED.replace("motion: s + t", 'motion: "s + max(t - 1, 0)^2"')
    motion = kinematics(loads(text), t_end=3.0, step=0.037)
    np.testing.assert_allclose(motion["crank.phi"], np.maximum(motion.t - 1, 0) ** 2, atol=1e-13)
    np.testing.assert_allclose(motion["crank.omega"], 2 * np.maximum(motion.t - 1, 0), atol=1e-12)
    step = "motion: {type: smooth-step, start: s, end: s + 2, t_start: 0, t_end: 2}"
    motion = kinematics(loads(TURNED.replace("motion: s + t", step)), t_end=3.0)
    assert motion["crank.phi"][-1] == pytest.approx(2.0, abs=1e-14)


LOOSE = "  loose: {mass: 1, inertia: 1}\njoints:"
BAD = {
    "undriven": (SLIDER_CRANK, {"s": 0.4}, ["1 freedom is not driven", "'crank'", "'slider' along x", "turning"]),
    "not-connected": (TURNED.replace("joints:", LOOSE), {}, ["'loose'"]),
    "over-driven": (TURNED.replace("{motor:", "{again: {joint: O, motion: s + t}, motor:"), {}, ["'again'", "'motor'"]),
    "drivers-conflict": (
        TURNED.replace("{motor:", "{slow: {joint: O, motion: s + 0.01 + 0.5*t}, motor:"),
        {},
        ["'slow'", "'motor'", "differ by 0.01", "by 0.5 per second"],
    ),
    "drivers-conflict ": (
        TURNED.replace("{motor:", "{behind: {joint: O, motion: s - 0.01 + t}, motor:"),
        {},
        ["differ by 0.01, their rates by 0 per second"],
    ),
    "singular-start": (PUSHED, {}, ["'crank' along y and turning", "'ram'"]),
}


@pytest.mark.parametrize("code", BAD)
def test_wrongly_driven_mechanisms_are_refused(code: str) -> None:
    """Freedoms without drivers by body and direction; drivers by name with what they differ by."""
    text, changes, fragments = BAD[code]
    with pytest.raises(ModelError) as refused:
        kinematics(loads(text, changes=changes))
    assert refused.value.code == code.strip()
    for fragment in fragments:
        assert fragment in str(refused.value)


def test_undriven_redundant_mechanism_is_not_taken_for_a_singular_one() -> None:
    with pytest.raises(ModelError) as refused:
        kinematics(loads(WITH_MIDDLE.replace("  motor: {joint: O, motion: s + t}", "")))
    assert refused.value.code == "undriven"
    assert "'middle'" in str(refused.value)


def test_drivers_of_other_freedoms_are_named_with_what_is_left() -> None:
    """Two drivers of one freedom and none of the other: both faults in one message."""
    text = load_two_links("{a: {joint: O, motion: 0.3 + t}, b: {joint: O, motion: 0.3 + t}}")
    with pytest.raises(ModelError, match=r"(?s)'second'.*'a', 'b' drive what is driven already"):
        kinematics(loads(text))


def load_two_links(drivers: str) -> str:
    return f"""
linkwork: 1
name: two_links
ground: {{points: {{O: [0, 0]}}}}
bodies:
  first: {{mass: 1, inertia: 1, angle: 0.3, points: {{O: [0, 0], A: [1, 0]}}}}
  second: {{mass: 1, inertia: 1, position: [cos(0.3), sin(0.3)], points: {{A: [0, 0]}}}}
joints:
  O: {{type: revolute, i: ground.O, j: first.O}}
  A: {{type: revolute, i: first.A, j: second.A}}
drivers: {drivers}
"""


# What designers read off.


def test_a_start_at_rest_is_no_dead_centre() -> None:
    """A crank that speeds up smoothly from rest first turns the slider back at half a turn: f(t) = pi."""
    model = load("slider_crank_driven")
    driver = replace(model.drivers[0], motion=Ramp(0.3, 10.0, 0.0, 0.5))
    first = dead_centres(kinematics(replace(model, drivers=(driver,)), t_end=1.0, assemble=True), "slider.x")[0]
    assert first.t == pytest.approx(0.25 + (np.pi - 0.3) / 10.0, abs=1e-6)


def test_dead_centres_of_a_slider_crank() -> None:
    """The slider turns back with crank and rod in line, x = l2 + l1 and l2 - l1, a = -+ w^2 l1 (1 +- l1/l2)."""
    motion = kinematics(loads(TURNED, changes={"s": 1.0}), t_end=2 * np.pi)
    inner, outer = dead_centres(motion, "slider.x")
    assert inner.t == pytest.approx(np.pi - 1, abs=1e-8)
    assert inner.value == pytest.approx(0.5, abs=1e-12)
    assert inner.acceleration == pytest.approx(0.5 * (1 - 0.5), abs=1e-6)
    assert outer.t == pytest.approx(2 * np.pi - 1, abs=1e-8)
    assert outer.value == pytest.approx(1.5, abs=1e-12)
    assert outer.acceleration == pytest.approx(-0.5 * (1 + 0.5), abs=1e-6)


def test_transmission_angle_and_input_output_of_a_four_bar() -> None:
    """The law of cosines at joint B, and the ratio of speeds as the slope of the output over the input."""
    motion = kinematics(load("four_bar_grashof"))
    mu = transmission_angle(motion, ("coupler.A", "coupler.B"), ("follower.Q", "follower.B"))
    diagonal = np.abs(5 - 1j - 2 * e(2 * np.pi / 3 + motion.t))
    angle = np.arccos((36 + 16 - diagonal**2) / 48)
    np.testing.assert_allclose(mu, np.minimum(angle, np.pi - angle), atol=1e-12)
    rows = input_output(motion, "crank.phi", "follower.phi")
    np.testing.assert_allclose(rows[4:-4, 2], rate(rows[:, 1], np.pi / 90), atol=1e-7)
    with pytest.raises(UsageError):
        input_output(motion, "crank.phi", "driving:motor")


def test_progress_and_report_times() -> None:
    told: list[tuple[float, float]] = []
    motion = kinematics(loads(TURNED), t_end=0.25, step=0.1, progress=lambda part, t: told.append((part, t)))
    np.testing.assert_allclose(motion.t, [0.0, 0.1, 0.2, 0.25])
    assert told[-1] == (1.0, 0.25)
    with pytest.raises(UsageError):
        kinematics(loads(TURNED), step=0.0)


def test_interruption_keeps_what_was_reached() -> None:
    def stop(part: float, t: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as interrupted:
        kinematics(loads(TURNED), t_end=3e4, step=1.0, progress=stop)  # more steps than a piece of the motion has
    motion = interrupted.value.trajectory
    assert motion.info.status == "interrupted"
    assert 0.0 < motion.t[-1] < 3e4
    np.testing.assert_allclose(motion["crank.phi"], motion.t, rtol=1e-14, atol=1e-13)


def test_interruption_while_the_results_are_evaluated_keeps_the_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate, calls = results.evaluate_motion, []

    def interrupted(*arguments: Any) -> Any:
        calls.append(0)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return evaluate(*arguments)

    monkeypatch.setattr(results, "evaluate_motion", interrupted)
    with pytest.raises(Interrupted) as end:
        kinematics(loads(TURNED), t_end=0.5)
    assert end.value.trajectory.t[-1] == 0.5


SIZED = """
linkwork: 1
gravity: [0,0]
ground: {points: {O: [0, 0]}}
bodies:
  crank: {mass: 1, inertia: J, position: [a/2, 0], points: {O: [-a/2,0], A: [a/2,0]}}
  rod: {mass: 1, inertia: J, position: [2*a, 0], points: {A: [-a,0], B: [a,0]}}
  s: {mass: 1, inertia: J, position: [3*a, 0], points: {B: [0,0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: rod.A}
  B: {type: revolute, i: rod.B, j: s.B}
  S: {type: prismatic, i: ground.O, j: s.B, axis: [1,0]}
drivers: {m: {joint: O, motion: "t"}}
parameters: {a: LEN, J: 0.1}
simulation: {t_end: 1, step: 0.05}
"""


def test_positions_do_not_depend_on_size_or_on_inertia() -> None:
    """A slider-crank of 1 m to 0.1 mm whose links keep the inertia of the largest turns by the same angles."""
    angles = [kinematics(loads(SIZED.replace("LEN", size)))["rod.phi"] for size in ("1", "1e-2", "1e-4")]
    closed = -np.arcsin(0.5 * np.sin(np.linspace(0.0, 1.0, 21)))
    for found in angles:
        np.testing.assert_allclose(found, closed, atol=1e-12)
