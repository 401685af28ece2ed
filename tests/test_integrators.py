"""Explicit Runge-Kutta methods and the time loop, against closed forms and SciPy."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.integrate._ivp import dop853_coefficients

from linkwork.errors import UsageError
from linkwork.integrators import loop
from linkwork.integrators.explicit import DOP853, INTEGRATORS, Tableau
from linkwork.integrators.loop import Settings, Slice, integrate, report_times
from linkwork.native.kernels import Kernel, Pointer, kernel

Array = NDArray[np.float64]
METHODS = list(INTEGRATORS.values())
each_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)


class Function(NamedTuple):
    address: int
    work: int = 0


class Run(NamedTuple):
    """All slices together."""

    end: Slice
    t: Array
    y: Array


def run(
    f: Kernel,
    y_0: list[float],
    times: Array,
    settings: Settings,
    project: Kernel | None = None,
    n_norm: int | None = None,
    seconds: float = 0.1,
) -> Run:
    projection = Function(project.address) if project else None
    slices = list(
        integrate(Function(f.address), projection, np.zeros(1), np.array(y_0), times, settings, n_norm, seconds)
    )
    assert all(s.status == loop.RUNNING for s in slices[:-1])
    return Run(slices[-1], np.concatenate([s.times for s in slices]), np.concatenate([s.rows for s in slices]))


@kernel
def euler_top(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """A free rigid body about its centre, moments of inertia 1, 2, 3.5, with a torque that depends on time."""
    y[0] = (2.0 - 3.5) * x[2] * x[3] / 1.0
    y[1] = (3.5 - 1.0) * x[3] * x[1] / 2.0 + 0.3 * math.sin(2.0 * x[0])
    y[2] = (1.0 - 2.0) * x[1] * x[2] / 3.5


TOP = [1.1, -0.4, 0.8]


@kernel
def rational(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """y = 1/(1 + t), z = (1 + t)^2 e^(-t)"""
    y[0] = -x[1] * x[1]
    y[1] = x[2] * (2.0 * x[1] - 1.0)


def rational_solution(t: Array) -> Array:
    return np.stack([1 / (1 + t), (1 + t) ** 2 * np.exp(-t)], axis=-1)


def top_by_scipy(times: Array) -> Array:
    def f(t: float, w: Array) -> list[float]:
        return [
            -1.5 * w[1] * w[2],
            1.25 * w[2] * w[0] + 0.3 * math.sin(2 * t),
            -w[0] * w[1] / 3.5,
        ]

    solution = solve_ivp(f, (times[0], times[-1]), TOP, "DOP853", times, rtol=1e-13, atol=1e-15)
    return np.asarray(solution.y.T)


# The coefficients.


def test_coefficients_of_dop853_are_those_of_scipy() -> None:
    rows = np.zeros((16, 16))
    for i, row in enumerate(DOP853.rows):
        rows[i, : len(row)] = row
    np.testing.assert_array_equal(rows, dop853_coefficients.A)
    np.testing.assert_array_equal((*DOP853.E, 0.0), dop853_coefficients.E5)
    np.testing.assert_array_equal((*DOP853.E_low, 0.0), dop853_coefficients.E3)
    np.testing.assert_array_equal(DOP853.D, dop853_coefficients.D)
    np.testing.assert_allclose(DOP853.c, dop853_coefficients.C, atol=3e-15)  # sums of coefficients of size 50


def rows_of(method: Tableau) -> Array:
    n = len(method.rows)
    return np.array([row + (0.0,) * (n - len(row)) for row in method.rows])


def dense_weights(method: Tableau, theta: float) -> Array:
    phi = [theta ** -(-j // 2) * (1 - theta) ** (j // 2) for j in range(1, len(method.W) + 1)]
    return np.asarray(np.array(phi) @ np.array(method.W))


@each_method
def test_quadrature_of_powers_is_exact_up_to_the_order(method: Tableau) -> None:
    """sum b_i c_i^(q-1) = 1/q, and sum b_i a_ij c_j^(q-2) = 1/(q (q-1)), for q up to the order."""
    b, c, A = np.array(method.b), np.array(method.c)[: method.stages], rows_of(method)[: method.stages, : method.stages]
    for q in range(1, method.order + 1):
        assert b @ c ** (q - 1) == pytest.approx(1 / q, abs=1e-14)
    for q in range(2, method.order + 1):
        assert b @ A @ c ** (q - 2) == pytest.approx(1 / (q * (q - 1)), abs=1e-14)


@each_method
def test_error_weights_vanish_on_constants(method: Tableau) -> None:
    assert math.fsum(method.E) == pytest.approx(0, abs=1e-15)
    assert math.fsum(method.E_low) == pytest.approx(0, abs=1e-15)


@each_method
def test_dense_output_integrates_powers_inside_the_step(method: Tableau) -> None:
    """sum b_i(theta) c_i^(q-1) = theta^q / q up to the order of the dense output, 4 and 7."""
    c = np.array(method.c)
    for theta in (0.0, 0.137, 0.5, 0.81, 1.0):
        for q in range(1, {"dopri5": 4, "dop853": 7}[method.name] + 1):
            assert dense_weights(method, theta) @ c ** (q - 1) == pytest.approx(theta**q / q, abs=1e-13)
    np.testing.assert_allclose(dense_weights(method, 1.0)[: method.stages], method.b, atol=1e-15)


# The loop.


@each_method
def test_observed_order_of_steps_and_dense_output(method: Tableau) -> None:
    """With steps held at max_step the errors at the end and between the steps fall as max_step^order."""
    times = np.concatenate([np.linspace(0.0, 3.9, 38), [4.0]])
    h = {"dopri5": 0.05, "dop853": 0.4}[method.name]
    errors = []
    for step in (h, h / 2):
        result = run(euler_top, TOP, times, Settings(method, rtol=0.5, atol=1e3, max_step=step))
        error = np.abs(result.y - top_by_scipy(times))
        errors.append((error[-1].max(), error.max()))
    order = np.log2(np.array(errors[0]) / np.array(errors[1]))
    np.testing.assert_allclose(order, method.order, atol=0.6)


@each_method
def test_whole_states_agree_with_scipy_at_tight_tolerance(method: Tableau) -> None:
    times = report_times(0.0, 12.0, 0.37)
    result = run(euler_top, TOP, times, Settings(method, rtol=1e-12, atol=1e-14))
    np.testing.assert_array_equal(result.t, times)
    # Tolerances of 1e-12 per step over some hundred to thousand steps; the motion is regular.
    np.testing.assert_allclose(result.y, top_by_scipy(times), rtol=0, atol=2e-10)


@each_method
def test_error_follows_the_tolerance(method: Tableau) -> None:
    times = report_times(0.0, 12.0, 0.37)
    reference = top_by_scipy(times)
    errors = []
    for rtol in (1e-4, 1e-7, 1e-10):
        errors.append(np.abs(run(euler_top, TOP, times, Settings(method, rtol, rtol)).y - reference).max())
    assert np.all(np.array(errors) < [3e-3, 3e-6, 3e-9]), errors
    assert errors[0] > 1e-7  # else the steps are smaller than asked for


@each_method
def test_steps_are_those_of_scipy(method: Tableau) -> None:
    """Work, not only accuracy: SciPy has the same formulas and a slightly different controller."""

    def f(t: float, w: Array) -> list[float]:
        return [-1.5 * w[1] * w[2], 1.25 * w[2] * w[0] + 0.3 * math.sin(2 * t), -w[0] * w[1] / 3.5]

    name = {"dop853": "DOP853", "dopri5": "RK45"}[method.name]
    solution = solve_ivp(f, (0.0, 30.0), TOP, name, rtol=1e-8, atol=1e-8)
    result = run(euler_top, TOP, np.array([0.0, 30.0]), Settings(method, rtol=1e-8, atol=1e-8))
    assert result.end.evaluations == pytest.approx(solution.nfev, rel=0.15)


@each_method
def test_results_do_not_depend_on_the_slices(method: Tableau) -> None:
    times = report_times(0.0, 20.0, 0.13)
    settings = Settings(method, rtol=1e-7, atol=1e-9)
    whole = run(euler_top, TOP, times, settings, seconds=1e3)
    sliced = run(euler_top, TOP, times, settings, seconds=0.0)  # after the first slice, one attempted step in each
    assert whole.y.tobytes() == sliced.y.tobytes()
    assert whole.end.y.tobytes() == sliced.end.y.tobytes()
    counts = [(r.end.t, r.end.step, r.end.steps, r.end.rejected, r.end.evaluations) for r in (whole, sliced)]
    assert counts[0] == counts[1]


@each_method
def test_derivatives_are_not_wasted(method: Tableau) -> None:
    """k_s is the first stage of the next step, and dense output is not prepared where nothing is reported."""
    end = run(euler_top, TOP, np.array([0.0, 20.0]), Settings(method)).end
    trial = len(method.E) - 1  # evaluations that the error estimate needs
    extra = method.stages - trial
    assert end.evaluations == 2 + trial * (end.steps + end.rejected) + extra * end.steps
    assert end.rejected > 0


def test_report_times_lie_on_the_grid_and_end_at_the_end() -> None:
    on = report_times(0.0, 1.0, 0.1)
    np.testing.assert_array_equal(on[:-1], 0.1 * np.arange(10))
    assert on[-1] == 1.0
    off = report_times(2.0, 3.05, 0.1)
    assert len(off) == 12
    assert off[-2:].tolist() == [2.0 + 0.1 * 10, 3.05]
    assert report_times(0.0, 0.05, 0.1).tolist() == [0.0, 0.05]
    assert len(report_times(0.0, 20.0, 0.01)) == 2001


@pytest.mark.parametrize(
    ("t_0", "t_end", "step"), [(0, 1, 0), (0, 1, -1), (0, 1, math.nan), (1, 0, 0.1), (0, math.inf, 0.1), (0, 1, 1e-12)]
)
def test_report_times_without_meaning_are_refused(t_0: float, t_end: float, step: float) -> None:
    with pytest.raises(UsageError):
        report_times(t_0, t_end, step)


def test_a_run_of_no_length_reports_the_initial_state() -> None:
    result = run(euler_top, TOP, np.array([1.5]), Settings())
    assert result.end.status == loop.REACHED
    assert (result.t.tolist(), result.y.tolist()) == ([1.5], [TOP])


@each_method
@pytest.mark.parametrize("step", [0.07, 0.5, 7.0])
def test_states_are_reported_exactly_at_their_times(method: Tableau, step: float) -> None:
    """Many report times in a step, or many steps between two of them; the last state is the state at t_end itself."""
    times = report_times(0.0, 3.3, step)
    result = run(rational, [1.0, 1.0], times, Settings(method, rtol=1e-9, atol=1e-11))
    assert result.end.status == loop.REACHED
    assert result.end.t == 3.3
    np.testing.assert_array_equal(result.t, times)
    np.testing.assert_array_equal(result.y[-1], result.end.y)
    np.testing.assert_allclose(result.y, rational_solution(times), rtol=0, atol=2e-8)


@kernel
def square(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    y[0] = x[1] * x[1]


@each_method
def test_a_pole_stops_the_run_at_the_last_good_state(method: Tableau) -> None:
    """y' = y^2, y(0) = 1 has y = 1/(1 - t)."""
    result = run(square, [1.0], report_times(0.0, 2.0, 0.3), Settings(method, rtol=1e-8, atol=1e-10))
    assert result.end.status == loop.COLLAPSED
    assert result.end.t == pytest.approx(1.0, abs=1e-6)
    assert 1e6 < result.end.y[0] < math.inf
    assert len(result.t) == 4
    np.testing.assert_allclose(result.y[:, 0], 1 / (1 - result.t), rtol=1e-6)


@kernel
def root(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    y[0] = math.sqrt(1.0 - x[0])


@each_method
def test_a_derivative_that_ends_stops_the_run_where_it_ends(method: Tableau) -> None:
    """y' = sqrt(1 - t) is not a number beyond t = 1; y = 2/3 (1 - (1 - t)^(3/2)) up to there."""
    result = run(root, [0.0], report_times(0.0, 2.0, 0.3), Settings(method, rtol=1e-6, atol=1e-8))
    assert result.end.status == loop.COLLAPSED
    assert 0.999 < result.end.t <= 1.0
    assert result.end.rejected > 10
    assert result.end.y[0] == pytest.approx(2 / 3 * (1 - (1 - result.end.t) ** 1.5), abs=1e-5)
    np.testing.assert_allclose(result.y[:, 0], 2 / 3 * (1 - (1 - result.t) ** 1.5), rtol=0, atol=1e-5)


@kernel
def tube(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """y = sin(t), the derivative existing only near the solution."""
    distance = x[1] - math.sin(x[0])
    y[0] = math.cos(x[0]) - distance
    if abs(distance) > 0.02:
        y[0] = math.nan


@each_method
def test_a_trial_step_outside_the_domain_is_repeated_with_a_smaller_step(method: Tableau) -> None:
    times = report_times(0.0, 10.0, 0.4)
    result = run(tube, [0.0], times, Settings(method, rtol=1e-2, atol=1e-2))
    assert result.end.status == loop.REACHED
    assert result.end.rejected > 0
    np.testing.assert_allclose(result.y[:, 0], np.sin(times), rtol=0, atol=0.02)


@pytest.mark.parametrize(("f", "y_0"), [(root, [math.nan]), (root, [math.inf]), (tube, [0.5])])
def test_a_start_that_is_not_finite_is_told_from_a_collapse(f: Kernel, y_0: list[float]) -> None:
    result = run(f, y_0, np.array([0.0, 1.0]), Settings())
    assert result.end.status == loop.NOT_FINITE
    assert (result.end.t, result.end.steps, len(result.t)) == (0.0, 0, 0)


@kernel
def with_quadrature(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """The first two components are `rational`; the third integrates something fast that must not shorten the steps."""
    y[0] = -x[1] * x[1]
    y[1] = x[2] * (2.0 * x[1] - 1.0)
    y[2] = math.cos(300.0 * x[0])


@each_method
def test_quadratures_do_not_influence_the_steps(method: Tableau) -> None:
    times = report_times(0.0, 5.0, 0.31)
    settings = Settings(method, rtol=1e-7, atol=1e-9)
    without = run(rational, [1.0, 1.0], times, settings)
    with_it = run(with_quadrature, [1.0, 1.0, 0.0], times, settings, n_norm=2)
    assert without.end.steps == with_it.end.steps
    np.testing.assert_array_equal(without.y, with_it.y[:, :2])
    assert run(with_quadrature, [1.0, 1.0, 0.0], times, settings).end.steps > 3 * without.end.steps


# Projection.


@kernel
def pendulum(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """A point of mass 1 on a circle of radius 1: y = (x, z, vx, vz), Psi = (x^2 + z^2 - 1)/2, gravity 9.81."""
    r2 = x[1] * x[1] + x[2] * x[2]
    lam = (x[3] * x[3] + x[4] * x[4] - 9.81 * x[2]) / r2
    y[0] = x[3]
    y[1] = x[4]
    y[2] = -lam * x[1]
    y[3] = -lam * x[2] - 9.81


def residuals(x: Pointer, y: Pointer) -> None:
    y[5] = abs(y[0] * y[0] + y[1] * y[1] - 1.0) / 2.0
    y[6] = abs(y[0] * y[2] + y[1] * y[3])
    y[7] = 0.0


@kernel
def measure(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    for i in range(4):
        y[i] = x[1 + i]
    y[4] = abs(y[0] * y[0] + y[1] * y[1] - 1.0) / 2.0
    residuals(x, y)


@kernel
def project(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Radially to the circle, the velocity to its tangent."""
    r = math.sqrt(x[1] * x[1] + x[2] * x[2])
    y[0] = x[1] / r
    y[1] = x[2] / r
    radial = y[0] * x[3] + y[1] * x[4]
    y[2] = x[3] - radial * y[0]
    y[3] = x[4] - radial * y[1]
    y[4] = abs(r * r - 1.0) / 2.0
    residuals(x, y)


@kernel
def project_until_two(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    for i in range(8):
        y[i] = 0.0
    for i in range(4):
        y[i] = x[1 + i]
    if x[0] > 2.0:
        y[7] = 1.0


@kernel
def project_and_ask_after_two(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    for i in range(8):
        y[i] = 0.0
    for i in range(4):
        y[i] = x[1 + i]
    if x[0] > 2.0:
        y[7] = 2.0


def swing(times: Array) -> Array:
    """The same in the angle from the lowest point, by SciPy."""

    def f(_t: float, y: Array) -> list[float]:
        return [y[1], -9.81 * math.sin(y[0])]

    phi, omega = solve_ivp(f, (times[0], times[-1]), [math.pi / 2, 0.0], "DOP853", times, rtol=1e-13, atol=1e-14).y
    return np.stack([np.sin(phi), -np.cos(phi), omega * np.cos(phi), omega * np.sin(phi)], axis=-1)


@each_method
def test_projected_states_stay_on_the_constraint_and_on_the_motion(method: Tableau) -> None:
    times = report_times(0.0, 10.0, 0.03)
    settings = Settings(method, rtol=1e-9, atol=1e-10)
    free = run(pendulum, [1.0, 0.0, 0.0, 0.0], times, settings, measure)
    held = run(pendulum, [1.0, 0.0, 0.0, 0.0], times, settings, project)
    assert held.end.psi < 1e-15
    assert held.end.psi_dot < 1e-14
    assert 1e-14 < held.end.psi_before < 1e-7
    np.testing.assert_allclose(np.hypot(held.y[:, 0], held.y[:, 1]), 1.0, rtol=0, atol=1e-15)
    assert free.end.psi > 1e-11  # drift; the measured maximum covers report times and steps
    measured = np.abs(free.y[:, 0] ** 2 + free.y[:, 1] ** 2 - 1).max() / 2
    assert measured <= free.end.psi == free.end.psi_before
    np.testing.assert_allclose(held.y, swing(times), rtol=0, atol=1e-6)
    np.testing.assert_allclose(free.y, swing(times), rtol=0, atol=1e-5)


@each_method
def test_a_projection_that_changes_nothing_costs_no_derivative(method: Tableau) -> None:
    times, settings = np.array([0.0, 3.0]), Settings(method, rtol=1e-8)
    alone = run(pendulum, [1.0, 0.0, 0.0, 0.0], times, settings)
    measured = run(pendulum, [1.0, 0.0, 0.0, 0.0], times, settings, measure)
    assert alone.end.evaluations == measured.end.evaluations
    np.testing.assert_array_equal(alone.y, measured.y)


def test_a_failing_projection_stops_the_run_at_the_last_projected_state() -> None:
    times = report_times(0.0, 5.0, 0.11)
    for seconds in (1e3, 0.0):
        result = run(pendulum, [1.0, 0.0, 0.0, 0.0], times, Settings(rtol=1e-8), project_until_two, seconds=seconds)
        assert result.end.status == loop.PROJECTION_FAILED
        assert result.end.t == pytest.approx(2.0, abs=1e-9)
        assert result.end.t <= 2.0
        assert result.t[-1] == times[times <= 2.0][-1]
        np.testing.assert_allclose(result.y, swing(result.t), rtol=0, atol=1e-5)


def test_a_projection_that_asks_for_a_stop_gets_it_after_the_step() -> None:
    """The step that passes t = 2 is kept, as are its report rows, and it is the last one."""
    times = report_times(0.0, 5.0, 0.11)
    settings = Settings(rtol=1e-8)
    whole = run(pendulum, [1.0, 0.0, 0.0, 0.0], times, settings)
    asked = run(pendulum, [1.0, 0.0, 0.0, 0.0], times, settings, project_and_ask_after_two)
    assert asked.end.status == loop.ASKED
    assert asked.end.rejected <= whole.end.rejected
    assert 2.0 < asked.end.t < 2.5
    np.testing.assert_array_equal(asked.t, times[times <= asked.end.t])
    np.testing.assert_array_equal(asked.y, whole.y[: len(asked.t)])


# Settings.


@each_method
def test_steps_keep_to_the_largest(method: Tableau) -> None:
    end = run(rational, [1.0, 1.0], np.array([0.0, 5.0]), Settings(method, rtol=1e-3, max_step=0.01)).end
    assert end.steps >= 500


def test_a_smallest_step_stops_the_run_before_the_pole() -> None:
    result = run(square, [1.0], np.array([0.0, 2.0]), Settings(min_step=1e-3))
    assert result.end.status == loop.COLLAPSED
    assert 0.5 < result.end.t < 1.0


@pytest.mark.parametrize(
    "settings",
    [
        {"rtol": 0.0},
        {"rtol": math.nan},
        {"atol": 0.0},
        {"atol": math.inf},
        {"min_step": 1.0, "max_step": 0.5},
        {"max_step": math.nan},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        Settings(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("times", [[0.0, 1.0, 0.5], [0.0, math.inf]])
def test_report_times_that_do_not_increase_are_refused(times: list[float]) -> None:
    with pytest.raises(UsageError):
        run(euler_top, TOP, np.array(times), Settings())
