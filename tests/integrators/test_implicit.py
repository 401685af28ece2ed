"""Motions with the implicit integrator: Jacobians, differential-algebraic forms, stiff mechanisms."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from published import andrews_at_the_end
from scipy.integrate import solve_ivp
from scipy.linalg import null_space
from slices import with_slow

from linkwork import Integrator, load, loads, prepare, simulate
from linkwork.constraints.projection import project_start
from linkwork.equations.programs import TERMS
from linkwork.errors import UsageError
from linkwork.formulations import linearization, usual_formulations
from linkwork.integrators.methods import AUTO
from linkwork.integrators.methods.tableaus import DOP853
from linkwork.simulation.options import Choice
from linkwork.simulation.problem import Motion


def off_constraints(name, formulation="augmented", integrator="radau5"):
    """A mechanism on its way, a little off its constraints, and at other velocities than it may have."""
    motion = Motion.begin(
        prepare(load(name)), Choice(formulation, "projection", 0.0, 0.0, integrator), "mass", False, (), None, None
    )
    y = project_start(motion.system, motion.p, motion.start.place)
    n = motion.system.n_q + motion.system.n_v
    y[:n] += 1e-3 * np.sin(3.0 * np.arange(n) + 1.0)
    return motion, np.append(0.1, motion.unknowns(0.1, y))


def quotients(f, x, p):
    """Central differences by every unknown, steps of 1e-5 of its size: errors of 1e-10 of third derivatives."""
    columns = []
    for j in range(1, len(x)):
        h = 1e-5 * max(1.0, abs(x[j]))
        up, down = x.copy(), x.copy()
        up[j], down[j] = x[j] + h, x[j] - h
        columns.append((f(up, p) - f(down, p)) / (up[j] - down[j]))
    return np.column_stack(columns)


MECHANISMS = ("slider_crank", "andrews_squeezer", "numdyn3d_pendulum", "spatial_slider_crank", "heavy_top")


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "numdyn3d_pendulum"])  # whose M is singular
@pytest.mark.sampled
def test_linearized_motion_is_that_of_differences(name):
    """Rates of q and of the work, and Z^T M a along the motions Z that constraints admit: all that is stiff."""
    motion, x = off_constraints(name)
    s, entries = motion.system, linearization.of_system(motion.system, motion.form.dynamics)(x, motion.p)
    n_q, n = s.n_q, s.n_v
    shapes = (n_q, n_q), (n_q, n), (n, n_q), (n, n), (n, n), (2, n_q), (2, n), (s.m, n)
    full, first = [np.zeros(shape) for shape in shapes], 0
    for matrix, places in zip(full, motion.form.method.blocks, strict=True):
        matrix[tuple(np.transpose(places) if places else ([], []))] = entries[first : first + len(places)]
        first += len(places)
    A, N, K, D, M, W_q, W_v, Psi_q = full
    expected = quotients(motion.form.derivative, x, motion.p)[:, : n_q + n]
    Z, rates, powers = null_space(Psi_q), np.hstack([A, N]), np.hstack([W_q, W_v])
    np.testing.assert_allclose(rates, expected[:n_q], rtol=0, atol=1e-8 * np.abs(rates).max())
    np.testing.assert_allclose(powers, expected[n_q + n :], rtol=0, atol=1e-7 * np.abs(expected).max())
    forces = Z.T @ np.hstack([K, D])
    np.testing.assert_allclose(forces, Z.T @ M @ expected[n_q : n_q + n], rtol=0, atol=3e-7 * np.abs(forces).max())


@pytest.mark.diagonal
@pytest.mark.parametrize("formulation", ["index-3", "ggl"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_jacobian_of_algebraic_forms_is_that_of_differences(name, formulation):
    motion, x = off_constraints(name, formulation)
    x[-motion.system.m :] += 0.3  # mu of ggl, which is zero on the constraints
    exact, n = np.zeros((len(x) - 1, len(x) - 1)), motion.system.n_q + motion.system.n_v
    exact[tuple(np.transpose(motion.form.method.pattern))] = motion.system.functions["implicit_jacobian"](x, motion.p)
    assert motion.form.derivative.outputs == len(x) - 1 > n
    expected = quotients(motion.form.derivative, x, motion.p)
    np.testing.assert_allclose(exact, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


def test_jacobian_in_python_is_that_of_the_machine_code():
    motion, x = off_constraints("slider_crank")
    f = linearization.of_system(motion.system, motion.form.dynamics)
    y = np.full(f.outputs, np.nan)
    linearization.linearize_motion.python(x.copy(), motion.p.copy(), y, np.full(f.work, np.nan))
    np.testing.assert_allclose(y, f(x, motion.p), rtol=1e-12, atol=1e-12)


@pytest.fixture(scope="module")
def crank():
    """The slider-crank with the explicit method of order 8, tight."""
    return simulate(load("slider_crank"), t_end=3.0, rtol=1e-12, atol=1e-12)


def distance(motion, truth):
    return max(np.abs(getattr(motion, table) - getattr(truth, table)).max() for table in ("q", "v"))


@pytest.mark.parametrize("formulation", [*usual_formulations(), "index-3"])
def test_every_formulation_moves_as_with_the_explicit_method(formulation, crank):
    """Positions, velocities and multipliers at rtol 1e-9, with some hundred steps, inside them as at their ends."""
    motion = simulate(
        load("slider_crank"), t_end=3.0, formulation=formulation, integrator="radau5", rtol=1e-9, atol=1e-9
    )
    assert distance(motion, crank) < 2e-8
    np.testing.assert_allclose(motion.lam, crank.lam, rtol=0, atol=1e-8 * np.abs(crank.lam).max())
    assert motion.info.constraint_error_position < 1e-13
    assert np.abs(motion.drift()).max() < 1e-4


@pytest.mark.parametrize(("name", "t_end"), [("double_pendulum", 2.0), ("heavy_top", 0.3)])
def test_the_error_of_an_index_3_form_is_in_proportion_to_the_tolerance(name, t_end):
    """Of five decades; the estimate is of another order than the error."""
    truth = simulate(load(name), t_end=t_end, rtol=1e-13, atol=1e-13)
    for rtol in (1e-5, 1e-10):
        motion = simulate(load(name), t_end=t_end, formulation="index-3", integrator="radau5", rtol=rtol, atol=rtol)
        assert np.abs(motion.q - truth.q).max() < 10 * rtol


@pytest.mark.parametrize("stabilization", ["none", "baumgarte"])
def test_other_ways_to_keep_the_constraints(stabilization, crank):
    motion = simulate(
        load("slider_crank"), t_end=3.0, formulation="qr", stabilization=stabilization, integrator="radau5", rtol=1e-9,
        atol=1e-9,
    )  # fmt: skip
    assert distance(motion, crank) < 2e-6


@pytest.mark.parametrize("formulation", ["index-3", "ggl"])
def test_algebraic_forms_keep_positions_without_projection(formulation, crank):
    """Psi is one of the equations, so what is left at the ends of steps is the tolerance of Newton's iteration."""
    motion = simulate(
        load("slider_crank"), t_end=3.0, formulation=formulation, stabilization="none", integrator="radau5", rtol=1e-10,
        atol=1e-10,
    )  # fmt: skip
    assert distance(motion, crank) < 3e-6
    assert motion.info.constraint_error_position < 1e-7


def test_index_3_of_the_pendulum_is_the_closed_form():
    """The rod on a hinge of [pennestri2004]: a damped oscillation; positions to 1e-8, constraints to rounding."""
    motion = simulate(load("numdyn3d_pendulum"), formulation="index-3", integrator="radau5", rtol=1e-11, atol=1e-11)
    e_3 = np.sqrt(1 - 0.97**2)
    start, inertia = 2 * np.arctan2(e_3, 0.97), 0.834 + 10 * 0.25
    delta, omega_0 = 4.584 / (2 * inertia), np.sqrt(32.66 / inertia)
    omega, t = np.sqrt(omega_0**2 - delta**2), motion.t
    phi = 1.57 + (start - 1.57) * np.exp(-delta * t) * (np.cos(omega * t) + delta / omega * np.sin(omega * t))
    np.testing.assert_allclose(motion["rod.x"], 0.5 * np.cos(phi), rtol=0, atol=1e-8)
    np.testing.assert_allclose(motion["rod.y"], 0.5 * np.sin(phi), rtol=0, atol=1e-8)
    assert motion.info.constraint_error_position < 2e-15
    across = np.abs([motion[f"rod.{q}"] for q in ("z", "e1", "e2")])  # to the plane of motion
    assert not np.any((across > 0) & (across < np.finfo(float).tiny))  # numbers on which processors are slow


@pytest.mark.slow
def test_andrews_squeezer_as_index_3():
    """All seven angles at t = 0.03 to the reference of the test set; rounding, divided by h, leaves eleven digits.

    [ivptestset]
    """
    truth = andrews_at_the_end()
    how = {"formulation": "index-3", "integrator": "radau5", "rtol": 1e-13, "atol": 1e-13}
    motion = simulate(load("andrews_squeezer"), t_end=0.03, step=0.03, **how)
    phi = [motion[f"K{k}.phi"][-1] for k in range(1, 8)]
    angles = {
        "beta": phi[0],
        "theta": phi[1] - phi[0],
        "gamma": phi[2],
        "phi": phi[3] - phi[4],
        "delta": phi[4],
        "Omega": phi[5] - phi[6],
        "epsilon": phi[6],
    }
    for name, value in angles.items():
        assert value == pytest.approx(truth[name], rel=3e-11), name


def test_forms_with_multipliers_say_what_they_need():
    model = load("slider_crank")
    with pytest.raises(UsageError, match="needs-implicit"):
        simulate(model, formulation="index-3", integrator="dop853")
    for formulation, integrator in (("index-3", "radau5"), ("ggl", "radau5"), ("ggl", "dop853"), ("ggl", "auto")):
        with pytest.raises(UsageError, match="no-effect"):
            simulate(model, formulation=formulation, integrator=integrator, stabilization="baumgarte")


INDEX_3 = ({"formulation": "index-3", "integrator": "radau5", "rtol": 1e-10}, 1e-5)  # h times the tolerance for v
GGL = ({"formulation": "ggl", "integrator": "radau5", "rtol": 1e-10}, 1e-6)
ALPHA = ({"integrator": "generalized-alpha", "rtol": 1e-7}, 2e-3)


@pytest.mark.parametrize(
    ("name", "how", "tolerance"),
    [
        *(
            pytest.param("four_bar_redundant", *how, id=f"four_bar_redundant-{k}")
            for k, how in enumerate((INDEX_3, GGL, ALPHA))
        ),
        *(
            pytest.param("bricard", *how, id=f"bricard-{k}", marks=pytest.mark.slow)
            for k, how in enumerate((INDEX_3, GGL, ALPHA))
        ),
    ],
)
def test_redundant_constraints_leave_multipliers_among_the_unknowns_possible(name, how, tolerance):
    """Rows left out change neither the motion nor the least multipliers; those of bricard must change at t = 1.25."""
    truth = simulate(load(name), t_end=1.4, step=0.1, integrator="dop853", rtol=1e-11, atol=1e-12)
    motion = simulate(load(name), t_end=1.4, step=0.1, atol=how["rtol"], **how)
    assert distance(motion, truth) < tolerance
    np.testing.assert_allclose(motion.lam, truth.lam, rtol=0, atol=tolerance * np.abs(truth.lam).max())
    assert motion.info.redundant == truth.info.redundant > 0
    assert motion.info.constraint_error_position < 1e-13


def governor_by_hand(times):
    """Angle of the arms and height of the slider of A05: L^2/(2 I) is the potential of the spin."""
    rod, ball, slider, k, c, g = 0.3, 5.0, 3.0, 8e5, 4e4, 9.81
    arm, d = rod + ball, (0.5 * rod + ball) / (rod + ball)
    across, along = rod * 1.0001 / 12 + rod * (d - 0.5) ** 2 + ball * (1 - d) ** 2, rod * 2e-4 / 12
    alone = slider * 0.02 / 12 + 0.3 * 2e-4 / 12

    def about_z(a):
        return alone + 2 * (arm * (0.05 + d * np.cos(a)) ** 2 + across * np.cos(a) ** 2 + along * np.sin(a) ** 2)

    def slope(a):
        return 2 * (2 * (along - across) * np.sin(a) * np.cos(a) - 2 * arm * (0.05 + d * np.cos(a)) * d * np.sin(a))

    spin = about_z(np.pi / 6) * 2 * np.pi
    assert spin == pytest.approx(53.868998658418, abs=1e-11)  # as published

    def f(t, y):
        a, s, a_dot, s_dot = y
        x, z = 0.5 * np.cos(a), 1 - 0.5 * np.sin(a) - s
        length = np.hypot(x, z)
        by_a, by_s = -0.5 * (x * np.sin(a) + z * np.cos(a)) / length, -z / length
        tension = k * (length - 0.5) + c * (by_a * a_dot + by_s * s_dot)
        turn = spin**2 / (2 * about_z(a) ** 2) * slope(a) + 2 * arm * g * d * np.cos(a) - 2 * tension * by_a
        return [a_dot, s_dot, turn / (2 * (across + arm * d * d)), -g - 2 * tension * by_s / slider]

    return solve_ivp(f, (0, times[-1]), [np.pi / 6, 0.5, 0, 0], "LSODA", times, rtol=1e-10, atol=1e-12).y


def spin_about_z(motion):
    """Sum of m (x vy - y vx) + (A J w)_z over the bodies."""
    total, d = 0.0, 5.15 / 5.3
    across = 0.3 * 1.0001 / 12 + 0.3 * (d - 0.5) ** 2 + 5 * (1 - d) ** 2
    masses = {"shaft": 0.3, "slider": 3.0, "arm_a": 5.3, "arm_b": 5.3}
    inertias = {"shaft": (0.0250025, 0.0250025, 5e-6), "slider": (0.005,) * 3}
    inertias |= dict.fromkeys(("arm_a", "arm_b"), (5e-06, across, across))
    for body, mass in masses.items():
        e0, e1, e2, e3, wx, wy, wz = (motion[f"{body}.{c}"] for c in ("e0", "e1", "e2", "e3", "wx", "wy", "wz"))
        x, y, vx, vy = (motion[f"{body}.{c}"] for c in ("x", "y", "vx", "vy"))
        row = (2 * (e1 * e3 - e0 * e2), 2 * (e2 * e3 + e0 * e1), e0**2 - e1**2 - e2**2 + e3**2)
        turning = sum(a * inertia * w for a, inertia, w in zip(row, inertias[body], (wx, wy, wz), strict=True))
        total = total + mass * (x * vy - y * vx) + turning
    return total


@pytest.mark.parametrize("coordinates", with_slow(["body", "joint"], ["joint"]))
def test_governor_moves_as_by_hand(coordinates):
    """A05 of the library of benchmarks, 0.3 s: the slider to 1e-6 and the angular momentum to 1e-7."""
    how = {"coordinates": coordinates, "integrator": "radau5", "rtol": 1e-10, "atol": 1e-10}
    motion = simulate(load("flyball_governor"), t_end=0.3, **how)
    alpha, height, *_ = governor_by_hand(motion.t)
    np.testing.assert_allclose(motion["slider.z"], height, rtol=0, atol=1e-6)
    np.testing.assert_allclose(motion["arm_a.ball.z"], 1 - np.sin(alpha), rtol=0, atol=1e-6)
    np.testing.assert_allclose(spin_about_z(motion), 53.868998658418, rtol=0, atol=1e-7)


@pytest.mark.slow
def test_governor_for_ten_seconds_by_two_integrators():
    implicit = simulate(load("flyball_governor"), integrator="radau5", rtol=1e-10, atol=1e-10)
    explicit = simulate(load("flyball_governor"), integrator="dop853", rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(implicit["slider.z"], explicit["slider.z"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(implicit["slider.z"], governor_by_hand(implicit.t)[1], rtol=0, atol=1e-6)
    for motion in (implicit, explicit):
        np.testing.assert_allclose(spin_about_z(motion), 53.868998658418, rtol=0, atol=1e-7)
    assert 10 * implicit.info.evaluations < explicit.info.evaluations


DRIVEN_ROD = """
linkwork: 1
name: driven_rod
parameters: {k: 1.0e+8, c: 1.0e+6}
ground: {points: {L: [-0.5, 0], C: [0, 0], W: [0.5, 0]}}
bodies:
  rod: {mass: 10, inertia: 10/12, position: [0, 0.5], points: {L: [-0.5, 0], C: [0, 0], R: [0.5, 0]}}
  wheel: {mass: 1, inertia: 0.01, position: [0.5, 0], points: {C: [0, 0]}}
joints:
  guide: {type: point-on-line, i: ground.C, j: rod.C, axis: [0, 1]}
  road: {type: prismatic, i: ground.W, j: wheel.C, axis: [0, 1]}
drivers:
  bump: {joint: road, motion: 0.05*(1 - cos(10*t))}
forces:
  left: {type: spring-damper, i: ground.L, j: rod.L, stiffness: k, damping: c, free_length: 0.5}
  right: {type: spring-damper, i: wheel.C, j: rod.R, stiffness: k, damping: c, free_length: 0.5}
simulation: {t_end: 10, step: 0.1}
"""


def rod_by_hand(times):
    """Height and angle of the rod, its forces from the lengths of both springs."""

    def f(t, state):
        y, phi, y_dot, phi_dot = state.tolist()
        total, moment = -10 * 9.81, 0.0
        for side in (-1, 1):
            base, base_dot = (0.05 * (1 - math.cos(10 * t)), 0.5 * math.sin(10 * t)) if side == 1 else (0.0, 0.0)
            arm_x, arm_y = side * 0.5 * math.cos(phi), side * 0.5 * math.sin(phi)
            dx, dy = arm_x - side * 0.5, y + arm_y - base
            dx_dot, dy_dot = -phi_dot * arm_y, y_dot - base_dot + phi_dot * arm_x
            length = math.hypot(dx, dy)
            force = -(1e8 * (length - 0.5) + 1e6 * (dx * dx_dot + dy * dy_dot) / length) / length
            total, moment = total + force * dy, moment + force * (arm_x * dy - arm_y * dx)
        return [y_dot, phi_dot, total / 10, moment / (10 / 12)]

    return solve_ivp(f, (0, times[-1]), [0.5, 0, 0, 0], "Radau", times, rtol=1e-8, atol=1e-10).y


def test_driven_rod_on_very_stiff_springs(tmp_path):
    """Springs of 1e8 N/m and dampers of 1e6 N s/m, ten seconds in some hundred steps; stability would ask for 1e6."""
    (tmp_path / "rod.yaml").write_text(DRIVEN_ROD)
    motion = simulate(load(tmp_path / "rod.yaml"), integrator="radau5", rtol=1e-8, atol=1e-8)
    assert motion.info.steps < 1100  # dop853 takes half a million
    by_hand = rod_by_hand(motion.t[:21])
    np.testing.assert_allclose(motion["rod.y"][:21], by_hand[0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(motion["rod.phi"][:21], by_hand[1], rtol=0, atol=1e-6)


FADING = """
linkwork: 1
name: fading
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies:
  cart: {mass: 1, inertia: 1, position: [1, 0], points: {P: [0, 0]}}
joints:
  rail: {type: prismatic, i: ground.O, j: cart.P, axis: [1, 0]}
forces:
  spring: {type: point-force, at: cart.P, force: ["100*(sin(t) - cart.x) - 1e5*exp(-10*t)*cart.vx", 0]}
simulation: {t_end: 200, step: 0.5, rtol: 1e-8, atol: 1e-8}
"""


def test_the_method_changes_with_the_stiffness(tmp_path):
    """A damper that fades away: implicit while it is strong, explicit before that is known and when it is gone."""
    (tmp_path / "fading.yaml").write_text(FADING)
    model = load(tmp_path / "fading.yaml")
    motion = simulate(model, integrator="auto")
    exact = solve_ivp(
        lambda t, y: [y[1], 100 * (np.sin(t) - y[0]) - 1e5 * np.exp(-10 * t) * y[1]],
        (0, 10), [1, 0], "LSODA", motion.t[:21], rtol=1e-9, atol=1e-11,
    )  # fmt: skip
    np.testing.assert_allclose(motion["cart.x"][:21], exact.y[0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(motion["cart.vx"][:21], exact.y[1], rtol=0, atol=1e-4)
    (note,) = (note for note in motion.info.notes if "[stiff]" in note)
    assert "dop853, radau5 from t = " in note
    assert ", dop853 from t = " in note
    assert motion.info.integrator == "auto"


@pytest.mark.parametrize("name", ["slider_crank", "heavy_top", "four_bar_redundant"])
def test_auto_is_dop853_where_nothing_is_stiff(name):
    """Number for number."""
    auto, explicit = (simulate(load(name), t_end=1.0, integrator=integrator) for integrator in ("auto", "dop853"))
    np.testing.assert_array_equal(auto.q, explicit.q)
    assert auto.info.steps == explicit.info.steps
    assert not any("[stiff]" in note for note in auto.info.notes)


@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
def test_auto_is_dop853_where_a_fast_oscillation_does_not_decay(rtol):
    """1e3 rad/s, positions a thousandth of velocities; its steps are the period's, whatever the method."""
    model = loads("""
linkwork: 1
name: oscillator
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies:
  cart: {mass: 1, inertia: 1, position: [1.001, 0], points: {P: [0, 0]}}
joints:
  rail: {type: prismatic, i: ground.O, j: cart.P, axis: [1, 0]}
forces:
  spring: {type: spring-damper, i: ground.O, j: cart.P, stiffness: 1e6, free_length: 1}
simulation: {t_end: 1, step: 0.1}
""")
    auto, explicit = (simulate(model, integrator=name, rtol=rtol, atol=rtol) for name in ("auto", "dop853"))
    np.testing.assert_array_equal(auto.q, explicit.q)
    assert explicit.info.evaluations <= auto.info.evaluations < 1.01 * explicit.info.evaluations


def test_auto_looks_for_stiffness_where_a_mode_above_twenty_tolerances_would_not_let_a_step_pass():
    """E(z) of y' = lambda y with |z| = h |lambda| at the limit: the error by the amplitude, by the coefficients."""
    s = DOP853.stages
    A = np.array([[*row, *[0.0] * (s - len(row))] for row in DOP853.A])
    for angle in np.radians(np.arange(90.0, 136.0, 5.0)):
        z = AUTO.limit * np.exp(1j * angle)
        k = z * np.linalg.solve(np.eye(s) - z * A, np.ones(s))
        high, low = abs(np.dot(DOP853.E, k)), abs(np.dot(DOP853.E_low, k))
        assert 0.03 < high**2 / np.hypot(high, 0.1 * low) < 0.1


def test_very_stiff_motions_need_no_choice(tmp_path):
    (tmp_path / "rod.yaml").write_text(DRIVEN_ROD)
    motion = simulate(load(tmp_path / "rod.yaml"))
    assert motion.info.steps < 1100  # dop853 takes half a million
    changes = [found for note in motion.info.notes if (found := re.search(r"radau5 from t = ([\d.e-]+)", note))]
    assert [float(found[1]) < 1e-3 for found in changes] == [True]


def test_ida_of_sundials_agrees():
    """The same residuals, with multipliers of index 1, by another library; both to about 1e-8."""
    ida = pytest.importorskip("sksundae.ida", reason="scikit-sundae is not installed")
    mechanism, times = prepare(load("slider_crank")), np.linspace(0.0, 2.0, 11)
    system = mechanism.system(TERMS)
    n_q, n, m, p = system.n_q, system.n_v, system.m, system.p()

    def residual(t, y, y_dot, out):
        M, Psi_q, Q, gamma = np.split(
            system.functions["terms"](np.concatenate([[t], y[: n_q + n]]), p), np.cumsum([n * n, m * n, n])
        )
        a, Psi_q = y_dot[n_q : n_q + n], Psi_q.reshape(m, n)
        out[:n_q] = y_dot[:n_q] - y[n_q : n_q + n]
        out[n_q : n_q + n] = M.reshape(n, n) @ a + Psi_q.T @ y[n_q + n :] - Q
        out[n_q + n :] = Psi_q @ a - gamma

    how = {"step": 0.2, "t_end": 2.0, "rtol": 1e-10, "atol": 1e-10}
    motion = simulate(mechanism, formulation="index-3", integrator="radau5", **how)
    y_0 = np.concatenate([motion.q[0], motion.v[0], motion.lam[0]])
    slopes = np.concatenate([motion.v[0], motion.a[0], np.zeros(m)])
    solver = ida.IDA(residual, rtol=1e-10, atol=1e-10, algebraic_idx=[*range(n_q + n, n_q + n + m)])
    found = solver.solve(times, y_0, slopes)
    assert found.success
    np.testing.assert_allclose(motion.q, found.y[:, :n_q], rtol=0, atol=2e-7)
    np.testing.assert_allclose(motion.v, found.y[:, n_q : n_q + n], rtol=0, atol=1e-6)
    np.testing.assert_allclose(motion.lam, found.y[:, n_q + n :], rtol=0, atol=1e-5 * np.abs(motion.lam).max())


BOUNCE = """
linkwork: 1
name: bounce
ground: {points: {O: [0, 0]}}
bodies:
  ball: {mass: 1, inertia: 0.01, position: [0, 1], points: {P: [0, 0]}}
joints:
  rail: {type: prismatic, i: ground.O, j: ball.P, axis: [0, 1]}
events:
  touch: {when: "ball.P.y", direction: falling, action: set, restitution: 0.8}
simulation: {t_end: 2, step: 0.05}
"""


@pytest.mark.parametrize(
    ("integrator", "formulation"),
    [("radau5", "augmented"), ("radau5", "index-3"), ("radau5", "ggl"), ("generalized-alpha", "index-3")],
)
def test_events_are_located_by_implicit_methods(integrator, formulation, tmp_path):
    """Three bounces: the first after sqrt(2 h/g), then after 2 e v/g, 2 e^2 v/g; all are exact on parabolas."""
    (tmp_path / "bounce.yaml").write_text(BOUNCE)
    motion = simulate(load(tmp_path / "bounce.yaml"), integrator=integrator, formulation=formulation)
    first, e = np.sqrt(2 / 9.81), 0.8
    np.testing.assert_allclose(motion.events.t, first * np.cumsum([1, 2 * e, 2 * e**2]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("formulation", ["augmented", "ggl", "index-3"])
@pytest.mark.sampled
def test_contacts_of_a_ten_thousandth_of_a_second_leave_the_right_velocities(formulation):
    """Newton's cradle: 34 contacts in 3 s, of which the last begins and ends as by the explicit method.

    What velocities are off by within a step so short moves nothing there, and much until the next contact.
    """
    truth = simulate(load("newtons_cradle"), rtol=1e-12, atol=1e-12)
    motion = simulate(load("newtons_cradle"), integrator="radau5", formulation=formulation, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(motion.events.t[-2:], truth.events.t[-2:], rtol=0, atol=3e-8)
    np.testing.assert_allclose(motion.q[-1], truth.q[-1], rtol=0, atol=3e-7)


def test_a_jacobian_foreseen_too_far_ahead_is_not_that_of_the_next_attempt():
    """Andrews' squeezer with a loose tolerance: where the iteration fails, it begins anew nearer to what is known."""
    truth = simulate(load("andrews_squeezer"), rtol=1e-10)
    motion = simulate(load("andrews_squeezer"), formulation="index-3", integrator="radau5", rtol=1e-4, atol=1e-4)
    assert np.abs(motion.q - truth.q).max() < 50e-4


MIXED = """
linkwork: 1
name: mixed_scales
ground: {points: {O: [0, 0]}}
bodies:
  light: {mass: 1e-3, inertia: 1e-6, position: [1, 0], points: {P: [0, 0]}}
  heavy: {mass: 100, inertia: 10, position: [2, 0], points: {P: [0, 0]}}
joints:
  a: {type: prismatic, i: ground.O, j: light.P, axis: [1, 0]}
  b: {type: prismatic, i: ground.O, j: heavy.P, axis: [1, 0]}
forces:
  hard: {type: spring-damper, i: ground.O, j: light.P, stiffness: 1e9, free_length: 1, damping: 1e9}
  soft: {type: spring-damper, i: light.P, j: heavy.P, stiffness: 10, free_length: 0.5, damping: 0.1}
simulation: {t_end: 10, step: 0.1}
"""


def test_mixed_scales_need_no_choice(tmp_path):
    """Stiffness and damping of 1e9 on a gram: lambda = -1e12. The heavy body swings as on a fixed light one."""
    (tmp_path / "mixed.yaml").write_text(MIXED)
    motion = simulate(load(tmp_path / "mixed.yaml"))
    assert motion.info.steps < 500
    delta, omega_0 = 0.1 / 200, np.sqrt(10 / 100)
    omega = np.sqrt(omega_0**2 - delta**2)
    swing = 0.5 * np.exp(-delta * motion.t) * (np.cos(omega * motion.t) + delta / omega * np.sin(omega * motion.t))
    # The light body gives way by about 5 N / 1e9 (N s/m) per second.
    np.testing.assert_allclose(motion["heavy.x"], 1.5 + swing, rtol=0, atol=2e-7)


def test_long_chains_do_with_difference_quotients():
    """Beyond a hundred unknowns no exact Jacobian is compiled; 24 links move as by the explicit method."""
    how = {"t_end": 0.2, "step": 0.1, "rtol": 1e-8, "atol": 1e-8}
    implicit, explicit = (simulate(load("planar_chain:24"), integrator=name, **how) for name in ("radau5", "dop853"))
    assert distance(implicit, explicit) < 1e-6


CRANKS = """
linkwork: 1
name: cranks
parameters: {r: 0.4, start: 1.1}
ground: {points: {A: [0, 0], B: [1, 0.2], C: [2.2, -0.1]}}
bodies:
  first:
    {mass: 1, inertia: 0.1, position: [r*cos(start), r*sin(start)], angle: start, points: {O: [-r, 0], P: [r, 0]},
     angular_velocity: 1.5}
  second:
    {mass: 1.2, inertia: 0.11, position: [1 + r*cos(start), 0.2 + r*sin(start)], angle: start,
     points: {O: [-r, 0], P: [r, 0]}}
  third:
    {mass: 0.8, inertia: 0.09, position: [2.2 + r*cos(start), r*sin(start) - 0.1], angle: start,
     points: {O: [-r, 0], P: [r, 0]}}
  bar:
    {mass: 3, inertia: 1, position: [1 + 2*r*cos(start), 2*r*sin(start)],
     points: {P: [-1, 0], Q: [0, 0.2], R: [1.2, -0.1]}}
joints:
  A: {type: revolute, i: ground.A, j: first.O}
  B: {type: revolute, i: ground.B, j: second.O}
  C: {type: revolute, i: ground.C, j: third.O}
  P: {type: revolute, i: first.P, j: bar.P}
  Q: {type: revolute, i: second.P, j: bar.Q}
  R: {type: revolute, i: third.P, j: bar.R}
simulation: {t_end: 2, step: 0.02, rtol: 1.0e-10, atol: 1.0e-12}
"""


@pytest.mark.parametrize("formulation", ["index-3", "ggl"])
def test_other_rows_are_kept_where_those_of_the_start_become_dependent(formulation: str) -> None:
    """Three parallel cranks on one bar turn like one pendulum, past positions in which two of them are stretched."""
    r, m = 0.4, 3.0
    inertia = 0.3 + m * r**2 + 3.0 * (2 * r) ** 2
    pull = 9.81 * (m * r + 3.0 * 2 * r) / inertia
    motion = simulate(loads(CRANKS), formulation=formulation, integrator="radau5")
    exact = solve_ivp(
        lambda t, y: [y[1], -pull * np.cos(y[0])], (0, 2), [1.1, 1.5], "DOP853", motion.t, rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(motion["third.phi"], exact.y[0], atol=1e-7)
    np.testing.assert_allclose(motion["bar.vy"], 2 * r * np.cos(exact.y[0]) * exact.y[1], atol=1e-6)


SEIZING = """
linkwork: 1
name: seizing
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies:
  near: {mass: 1, inertia: 1, position: [1.2, 0], points: {P: [0, 0]}}
  far: {mass: 0.7, inertia: 1, position: [2.5, 0], velocity: [1, 0], points: {P: [0, 0]}}
joints:
  near: {type: prismatic, i: ground.O, j: near.P, axis: [1, 0]}
  far: {type: prismatic, i: ground.O, j: far.P, axis: [1, 0]}
forces:
  spring: {type: spring-damper, i: ground.O, j: near.P, stiffness: 100, free_length: 1}
  clutch:
    {type: spring-damper, i: near.P, j: far.P, stiffness: 40, free_length: 1,
     law: "if(sin(2*t) > 0, 1.0e+6, 0.1)*rate"}
simulation: {t_end: 4, step: 0.02, rtol: 1.0e-8, atol: 1.0e-10}
"""


@pytest.mark.parametrize("formulation", ["augmented", "ggl"])
def test_a_damper_that_seizes_in_motion_is_followed(formulation):
    """Where the clutch closes, at t = pi, accelerations jump to 1e6 m/s^2 and die out within a microsecond."""

    def rates(t, y, c):
        pull = 40 * (y[1] - y[0] - 1) + c * (y[3] - y[2])
        return [y[2], y[3], pull - 100 * (y[0] - 1), -pull / 0.7]

    motion = simulate(loads(SEIZING), formulation=formulation, integrator=Integrator("radau5", max_steps=20000))
    y, edges, methods = np.array([1.2, 2.5, 0.0, 1.0]), [0.0, np.pi / 2, np.pi, 4.0], ("LSODA", "DOP853", "LSODA")
    for begin, end, c, method in zip(edges[:-1], edges[1:], (1e6, 0.1, 1e6), methods, strict=True):
        inside = (motion.t > begin) & (motion.t <= end)
        part = solve_ivp(rates, (begin, end), y, method, rtol=1e-10, atol=1e-12, dense_output=True, args=(c,))
        for name, exact in zip(("near.x", "far.x", "near.vx", "far.vx"), part.sol(motion.t[inside]), strict=True):
            np.testing.assert_allclose(motion[name][inside], exact, atol=1e-6)
        y = part.y[:, -1]
    assert np.max(np.abs(motion.drift())) < 2e-3  # of 3.8 J, nearly all of it lost in the clutch


@pytest.mark.parametrize("integrator", ["radau5", "generalized-alpha"])
def test_a_motion_that_begins_at_the_start_begins(integrator: str) -> None:
    """Rounding finds the beginning of a smooth step at 2.6e-22 s, and no step can lead there: y = 2 sqrt(L^2 - x^2)."""
    motion = simulate(load("scissor_lift"), t_end=1.0, formulation="index-3", integrator=integrator, rtol=1e-6)
    s = motion.t / 4
    x = 1.15 - 0.45 * s**3 * (10 - 15 * s + 6 * s**2)
    np.testing.assert_allclose(motion["platform.y"], 2 * np.sqrt(1.2**2 - x**2), atol=1e-5)
