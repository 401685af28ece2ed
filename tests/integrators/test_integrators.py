"""Explicit Runge-Kutta methods and the time loop, against closed forms and SciPy."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.integrate._ivp import dop853_coefficients

from linkwork.errors import UsageError
from linkwork.expressions.graph import symbol
from linkwork.integrators import events as happening
from linkwork.integrators import integrate as loop
from linkwork.integrators import memory
from linkwork.integrators import switches as inside
from linkwork.integrators import time_loop as advance
from linkwork.integrators.integrate import Actions, End, Moment, Problem, Settings, State, report_times
from linkwork.integrators.memory import N_RESIDUALS, Method, Preparable, Run
from linkwork.integrators.methods import integrators, method_of
from linkwork.integrators.methods import runge_kutta as stages
from linkwork.integrators.methods.tableaus import DOP853, EXPLICIT, Tableau
from linkwork.native.enclosing import Guards, write_tape
from linkwork.native.kernels import Kernel, Pointer, call, kernel, size_of

Array = NDArray[np.float64]
TIME = symbol("t")
METHODS = list(EXPLICIT.values())
each_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)


class Function(NamedTuple):
    address: int
    work: int = 0
    outputs: int = 0


@dataclass(frozen=True, eq=False)
class By(Settings):
    """With another method."""

    method: Preparable = DOP853


class Whole(NamedTuple):
    """A run at its end."""

    end: State
    t: Array
    y: Array


def run(
    f: Kernel,
    y_0: list[float],
    times: Array,
    settings: Settings,
    project: Kernel | None = None,
    n_norm: int | None = None,
    budget: int = 10**6,
    stops: tuple[float, ...] = (),
    first_step: float = 0.0,
    scale: float | Array = 1.0,
) -> Whole:
    projection = Function(project.address, outputs=len(y_0) + N_RESIDUALS) if project else None
    problem = Problem(Function(f.address), len(y_0), getattr(settings, "method", DOP853), projection, n_norm)
    state = State(problem, np.zeros(1), np.array(y_0), times, settings, scale, stops, first_step)
    while state.advance(budget) == End.BUDGET:
        pass
    return Whole(state, state.times[: state.at.row], state.rows[: state.at.row])


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


def test_methods_are_found_by_their_names() -> None:
    """The name by which a method is chosen is the one that it has itself, and results give."""
    assert [method_of(name).name for name in integrators()] == list(integrators())


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


# A step of a method, alone.


class Ready(NamedTuple):
    """A run before its first step, in arrays of exactly the described sizes."""

    method: Method
    m: Array
    at: Run


def ready(method: Tableau, f: Kernel, y: list[float], settings: Settings) -> Ready:
    n = memory.whole_blocks(len(y))
    prepared = method.prepare(n)
    _, m = memory.new_run(n, prepared.n_dense)
    at = memory.open_run(m)
    at.derivative = f.address
    at.rates = f.address
    at.step = prepared.step
    at.dense = prepared.dense
    at.ny = at.n_norm = at.n_rows = len(y)
    at.n_rates = len(y)
    at.x[1 : 1 + len(y)] = y
    at.atol[:] = math.inf
    at.atol[: len(y)] = at.least = settings.atol
    at.rtol, at.max_step = settings.rtol, settings.max_step
    at.error_order = prepared.error_order
    at.shrink, at.growth = prepared.shrink, prepared.growth
    return Ready(prepared, m, at)


@kernel
def ring(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """As many components as p says."""
    n = int(p[0])
    for i in range(n):
        y[i] = math.cos(x[0] + i) - x[1 + (i + 1) % n] * x[1 + i]


@each_method
@pytest.mark.parametrize("n", [3, 23])
def test_a_step_is_that_of_the_tableau(method: Tableau, n: int, rng: np.random.Generator) -> None:
    """k_i, y_new, the error estimate and the solution inside the step, against the formulas written out in NumPy."""

    def f(t: float, y: Array) -> Array:
        return np.asarray(np.cos(t + np.arange(n)) - np.roll(y, -1) * y)

    h, y, p, none = 0.23, rng.normal(size=n), np.array([float(n)]), np.zeros(0)
    run_of, m, at = ready(method, ring, y.tolist(), By(method=method, rtol=1e-4, atol=1e-5))
    at.h = at.x_new[0] = h
    at.k[:n] = f(0.0, y)
    at.outcome = memory.Outcome.GOOD
    other = m.copy()
    call(run_of.step, m, p, own := run_of.own.copy(), none)
    k: list[Array] = []
    for c, row in zip(method.c, method.rows, strict=True):
        y_i = y + h * sum((a * k_j for a, k_j in zip(row, k, strict=False)), np.zeros(n))
        if len(k) == method.stages:
            y_new = y_i
        k.append(f(c * h, y_i))
    np.testing.assert_allclose(at.x_new[1 : 1 + n], y_new, rtol=0, atol=1e-14)
    scale = 1e-5 + 1e-4 * np.maximum(abs(y), abs(y_new))
    high, low = (
        np.linalg.norm(h * np.array(E) @ np.array(k[: len(E)]).reshape(-1, n) / scale) for E in (method.E, method.E_low)
    )
    assert at.error == pytest.approx(high**2 / math.sqrt(n * (high**2 + 0.01 * low**2)), rel=1e-9)
    call(run_of.dense, m, p, own, none)
    assert at.outcome == memory.Outcome.GOOD
    assert at.evaluations == len(method.rows) - 1
    for theta in (0.0, 0.3, 0.85, 1.0):
        advance.interpolate(at, theta * h)
        expected = y + h * dense_weights(method, theta) @ np.array(k)
        np.testing.assert_allclose(at.x_inside[: 1 + n], [theta * h, *expected], rtol=0, atol=1e-13)
    # What stands in for the machine code where there is none.
    by_numpy, own = memory.open_run(other), run_of.own.copy()
    stages.evaluate(method, other, p, own, none)
    call(ring.address, by_numpy.x_new, p, by_numpy.k_new, none)
    stages.interpolate(method, other, p, own, none)
    for place in ("x_new", "k_new", "F"):
        np.testing.assert_allclose(getattr(by_numpy, place), getattr(at, place), rtol=0, atol=1e-12)
    its = stages.open_stages(own, by_numpy)
    assert stages.error_norm(*stages.error_sums(by_numpy, its), by_numpy.n_norm) == pytest.approx(at.error, rel=1e-9)


@kernel
def breaking(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """y' = 1 as long as y is finite, but not at the evaluation to which p counts down."""
    p[0] -= 1.0
    y[0] = 1.0 + 0.0 * x[1] if p[0] != 0.0 else math.nan


@each_method
def test_a_stage_that_is_not_finite_is_found(method: Tableau) -> None:
    """The first of them inside the step, or k_s at its end, the only one whose state is that of the end."""
    h = 0.4
    for i in range(1, len(method.rows)):
        prepared, m, at = ready(method, breaking, [0.0], By(method=method))
        at.h = at.x_new[0] = h
        at.k[0], at.outcome = 1.0, memory.Outcome.GOOD
        p, own = np.array([float(i)]), prepared.own.copy()
        for part in (prepared.step, prepared.dense):
            if at.outcome == memory.Outcome.GOOD:
                call(part, m, p, own, np.zeros(1))
        assert at.outcome == memory.Outcome.NOT_FINITE
        assert at.failed_inside == (i != method.stages)
        if i != method.stages:
            np.testing.assert_allclose(at.x_inside[:2], method.c[i] * h, rtol=1e-13)


@kernel
def latest(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """y' = 1; p remembers the latest time asked for."""
    p[0] = max(p[0], x[0])
    y[0] = 1.0


@each_method
def test_no_stage_looks_behind_the_end_of_the_step(method: Tableau, rng: np.random.Generator) -> None:
    """Not even by rounding, since a derivative may change there."""
    prepared, m, at = ready(method, latest, [0.0], By(method=method))
    for t, t_new in np.sort(rng.uniform(0.0, 10.0, size=(200, 2)), axis=1):
        p = np.zeros(1)
        at.x[0], at.x_new[0], at.h = t, t_new, t_new - t
        call(prepared.step, m, p, prepared.own, np.zeros(1))
        assert p[0] <= t_new
        assert p[0] == pytest.approx(t_new, rel=1e-14)


@each_method
def test_steps_in_python_are_those_of_the_machine_code(method: Tableau, monkeypatch: pytest.MonkeyPatch) -> None:
    """All kernels as plain Python, on arrays of exactly the described sizes, with projection, reports and a stop."""
    times, stop = report_times(0.0, 1.2, 0.17), 0.61
    settings = By(method=method, rtol=1e-5, atol=1e-7)
    native = run(pendulum, [1.0, 0.0, 0.0, 0.0], times, settings, project, stops=(stop,), first_step=0.9)
    in_python = {k.address: k.python for k in (stages.step, stages.dense, pendulum, project)}

    def interpreted(address: int, *arguments: Array) -> None:
        in_python[address](*arguments) if address in in_python else call(address, *arguments)

    for module in (advance, inside, stages):
        monkeypatch.setattr(module, "call", interpreted)
    prepared, m, at = ready(method, pendulum, [1.0, 0.0, 0.0, 0.0], settings)
    assert len(m) == size_of(memory.places, *[*at][:7])
    at.next_step = 0.9
    at.project = project.address
    at.n_times, at.t_end, at.most_steps = len(times), times[-1], 1000
    at.n_stops = 1
    rows, around = np.zeros(4 * len(times)), stop + loop.LAST_DIGITS * np.spacing(stop) * np.array([-1, 1])
    own, w = prepared.own.copy(), np.zeros(0)
    status = advance.advance.python(m, np.zeros(1), own, w, times, around, rows, 1000)
    assert status == native.end.status == End.REACHED
    counts = native.end.at.steps, native.end.at.rejected, native.end.at.evaluations
    assert counts == (at.steps, at.rejected, at.evaluations)
    assert native.end.at.rejected > 0
    # Machine code may fuse a product and a sum, which the step sizes then carry on.
    np.testing.assert_allclose(rows.reshape(-1, 4), native.y, rtol=0, atol=1e-11)
    assert at.residuals[0] == pytest.approx(native.end.at.residuals[0], rel=1e-4)


@kernel
def crossing(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """An event where y = 1/(1 + t) comes to 0.3, and a switch where (1 + t)^2 e^(-t) comes to 1.2."""
    y[0] = x[1] - 0.3
    y[1] = x[2] - 1.2


def step_through(monkeypatch: pytest.MonkeyPatch, *kernels: Kernel) -> None:
    """From now on these kernels, and the loop with its parts, are plain Python."""
    parts = (inside.note_start, inside.watch_step, inside.pass_switches, happening.happen, stages.step, stages.dense)
    in_python = {k.address: k.python for k in (*parts, *kernels)}

    def interpreted(address: int, *arguments: Array) -> None:
        in_python[address](*arguments) if address in in_python else call(address, *arguments)

    for module in (advance, happening, inside, stages):
        monkeypatch.setattr(module, "call", interpreted)
    monkeypatch.setattr(advance.advance, "bind", lambda *arrays: functools.partial(advance.advance.python, *arrays))


def test_switches_in_python_are_those_of_the_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their parts of a step as plain Python find the event at t = 7/3, and a switch before it."""
    y, z = symbol("y"), symbol("z")
    guards = Guards(Function(crossing.address, outputs=2), None, write_tape([y - 0.3, z - 1.2], [TIME, y, z], []), 3)

    def find_event() -> State:
        problem = Problem(Function(rational.address), 2, guards=guards, events=events)
        state = State(problem, np.zeros(1), np.ones(2), np.array([0.0, 5.0]), Settings(rtol=1e-9))
        assert state.advance(1000) == End.EVENT
        return state

    events = Actions(directions=[-1], asks=[True])
    native = find_event()
    step_through(monkeypatch, rational, crossing)
    stepped = find_event()
    for found in (native, stepped):
        (moment,) = found.take_moments()
        assert moment.t_before == pytest.approx(7 / 3, abs=1e-8)
        assert moment.sides.tolist() == [-1.0]
        assert found.switches > 0  # how many are located, and not met at the end of a step, rounding decides
    np.testing.assert_allclose(stepped.y, native.y, rtol=1e-10)


# Events that the loop deals with by itself.


@kernel
def at_speed(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """x' is what p holds behind a number that is none of it."""
    y[0] = p[1]


@kernel
def walls(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    y[0], y[1], y[2] = x[1] - 1.0, x[1], x[0] - p[0]


@kernel
def rebound(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """The speed after either wall, of which the first also says something that is for nobody."""
    y[0], y[1], y[2] = 1e9, -1.02 * p[1], 0.01 * x[0] - p[1]


def zigzag(t_end: float) -> tuple[list[float], list[float]]:
    """When the walls are met, and the speed from then on."""
    t, x, v, times, speeds = 0.0, 0.3, 5.0, [], []
    while (t := t + ((1.0 if v > 0.0 else 0.0) - x) / v) < t_end:
        x, v = (1.0, -1.02 * v) if v > 0.0 else (0.0, 0.01 * t - v)
        times.append(t)
        speeds.append(v)
    return times, speeds


BETWEEN_WALLS = Actions(
    directions=(1, -1, 0),
    asks=(False, False, True),
    jumps=Function(rebound.address, outputs=3),
    owners=(0, 0, 1),
    targets=(0, 1, 1),
    held=slice(1, 2),
)


class Walk(NamedTuple):
    """A way between walls: how its pieces ended, with their moments, and how far it came."""

    pieces: list[tuple[End, list[Moment]]]
    state: State


def go_between_walls(p: Array, times: Array) -> Walk:
    settings, x, t_asked = Settings(rtol=1e-9, atol=1e-9, max_step=0.1), symbol("x"), symbol("p_0")
    tape = write_tape([x - 1.0, x, TIME - t_asked], [TIME, x], [t_asked])
    guards = Guards(Function(walls.address, outputs=3), None, tape, 2)
    problem = Problem(Function(at_speed.address), 1, guards=guards, events=BETWEEN_WALLS)
    state, pieces = State(problem, p, np.array([0.3]), times, settings), []
    while not pieces or pieces[-1][0] in (End.BUDGET, End.EVENT):
        pieces.append((state.advance(10**6), state.take_moments()))
    return Walk(pieces, state)


def test_events_that_set_a_parameter_happen_in_the_loop() -> None:
    """More than the loop notes at a time; one asks, and nothing is set there but by Python. Against the closed form."""
    p, times = np.array([7.77, 5.0]), report_times(0.0, 12.0, 0.1)
    pieces, state = go_between_walls(p, times)
    moments = [moment for _, found in pieces for moment in found]
    (asked,) = [found[-1] for end, found in pieces if end == End.EVENT]
    assert asked.sides.tolist() == [0.0, 0.0, 1.0]
    assert asked.t == pytest.approx(7.77, abs=1e-12)
    expected, speeds = zigzag(12.0)
    assert len(expected) > memory.MOMENTS
    met = [moment for moment in moments if not moment.sides[2]]
    np.testing.assert_allclose([moment.t for moment in met], expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose([moment.t_before for moment in met], expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose([moment.held[0] for moment in met], speeds, rtol=1e-12)
    assert pieces[-1][0] == End.REACHED
    assert state.held[0] == pytest.approx(speeds[-1], rel=1e-12)
    path = np.interp(times, [0.0, *expected], [0.3, *(1.0 if v < 0.0 else 0.0 for v in speeds)])
    inside = times < expected[-1]
    x = state.rows[:, 0]
    np.testing.assert_allclose(x[inside], path[inside], rtol=0, atol=1e-9)  # steps past a wall are 1e-14 s long
    assert p.tolist() == [7.77, 5.0]  # the run has a copy


def test_such_events_in_python_are_those_of_the_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    given = np.array([0.77, 5.0]), np.array([0.0, 0.5, 1.0])
    native = go_between_walls(*given)
    step_through(monkeypatch, at_speed, walls, rebound)
    stepped = go_between_walls(*given)
    assert sum(len(moments) for _, moments in native.pieces) == len(zigzag(1.0)[0]) + 1
    for (end, moments), (other, others) in zip(native.pieces, stepped.pieces, strict=True):
        assert end == other
        for now, then in zip(moments, others, strict=True):
            for a, b in zip(now, then, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)  # 5 m/s in steps past a wall of 1e-14 s
    np.testing.assert_allclose(native.state.rows, stepped.state.rows, rtol=1e-12)


@pytest.mark.parametrize("n_dense", [3, 4, 7])
def test_a_stretched_polynomial_is_the_same(n_dense: int) -> None:
    """At the same times, for steps of one and of 1.7."""
    at, rng = memory.open_run(memory.new_run(4, n_dense)[1]), np.random.default_rng(1)
    at.x[:], at.F[:] = rng.normal(size=5), rng.normal(size=4 * n_dense)
    times, found = at.x[0] + np.linspace(0.0, 1.7, 6), []
    for ratio in (1.0, 1.7):
        at.h = ratio
        if ratio > 1.0:
            inside.stretch(at, ratio)
        for t in times:
            inside.interpolate(at, t)
            found.append(at.x_inside[1:5].copy())
    np.testing.assert_allclose(found[6:], found[:6], rtol=0, atol=1e-12 * np.abs(found).max())


# Error control, alone.


def at_error(method: Tableau, error: float, rises: float = 1.0) -> Run:
    """After a step of 0.1, whose error by h^order is so many times that of the last."""
    at = ready(method, euler_top, TOP, Settings()).at
    at.error, at.relief, at.h = error, 1.0, 0.1
    at.last_constant = advance.constant_of_error(at) - math.log(rises)
    return at


def ratio(at: Run) -> float:
    return advance.ratio_of_steps(at, advance.constant_of_error(at))


@each_method
def test_step_sizes_follow_the_error(method: Tableau) -> None:
    """An error like h^order is brought to the tolerance at once, but for the safety factor, also one that rises."""
    order = method.error_order
    for error, rises in ((0.9**order, 1.0), (0.8, 1.0), (0.8, 0.5), (0.5, 3.0), (2.0, 1.0), (2.0, 3.0)):
        foreseen = rises if error <= 1.0 < rises else 1.0
        after = foreseen * error * ratio(at_error(method, error, rises)) ** order
        assert after == pytest.approx(0.9**order, rel=1e-12)
    assert ratio(at_error(method, 1e-30)) == 0.5 * (1.0 + method.growth)
    assert ratio(at_error(method, 1e30)) == method.shrink


@each_method
def test_a_step_after_a_rejection_does_not_grow(method: Tableau) -> None:
    for streak, grows in ((0.0, True), (2.0, False)):
        at = at_error(method, 1e-3)
        at.next_step = 0.1
        at.streak = streak
        advance.accept(at)
        assert (at.next_step > 0.1) == grows
        assert at.streak == 0


@pytest.mark.parametrize(("growth", "expected"), [(1.0, 3.0), (0.7, 3.0), (4.0, 3.0), (0.25, math.inf)])
def test_a_singular_position_is_expected_where_the_determinant_vanishes(growth: float, expected: float) -> None:
    """A pivot like (t* - t)^2, t* = 3, between t = 1 and 2, but not if another grows as it vanishes."""
    _, m = memory.new_run(4, 1, n_pivots=2)
    at = memory.open_run(m)
    at.x_new[0], at.h, at.pivots[:], at.least_pivots[:] = 2.0, 1.0, (1 / 4, 1.0), (1 / 400, 1 / 400)
    at.new_pivots[:] = 1.0, -growth
    assert advance.expect_singular(at) == pytest.approx(expected, rel=1e-14)


def test_a_step_whose_leap_fails_is_shortened_by_itself() -> None:
    """By a ratio of its own length, not of the way past a singular position, so that attempts come to an end."""
    at = at_error(DOP853, 10.0)
    at.h, at.leap = 0.3, 0.2
    advance.reject(at, memory.Outcome.FAR_OFF)
    assert at.next_step == pytest.approx(0.1 * ratio(at))


@pytest.mark.parametrize(("gap", "error", "is_far"), [(0.2, 0.3, False), (0.8, 0.8, False), (1.5, 1.5, True)])
def test_the_gap_that_a_projection_closes_counts_as_error(gap: float, error: float, is_far: bool) -> None:
    """A hundred tolerances of the largest coordinate, atol + rtol |y|, are as bad as an error of one."""
    at = at_error(DOP853, 0.3, 1.0)
    rtol, atol, y = at.rtol, at.least, 7.0
    at.relief, at.projected[1], at.projected[3] = 1.0, -y, gap * 100 * (atol + rtol * y)
    assert advance.is_far_off(at) == is_far
    assert advance.largest_measure(at) == pytest.approx(error, rel=1e-12)
    assert at.error == 0.3


# The loop.


@each_method
def test_observed_order_of_steps_and_dense_output(method: Tableau) -> None:
    """With steps held at max_step the errors at the end and between the steps fall as max_step^order."""
    times = np.concatenate([np.linspace(0.0, 3.9, 38), [4.0]])
    h = {"dopri5": 0.05, "dop853": 0.4}[method.name]
    errors = []
    for step in (h, h / 2):
        result = run(euler_top, TOP, times, By(method=method, rtol=0.5, atol=1e3, max_step=step))
        error = np.abs(result.y - top_by_scipy(times))
        errors.append((error[-1].max(), error.max()))
    order = np.log2(np.array(errors[0]) / np.array(errors[1]))
    np.testing.assert_allclose(order, method.order, atol=0.6)


@each_method
def test_whole_states_agree_with_scipy_at_tight_tolerance(method: Tableau) -> None:
    times = report_times(0.0, 12.0, 0.37)
    result = run(euler_top, TOP, times, By(method=method, rtol=1e-12, atol=1e-14))
    np.testing.assert_array_equal(result.t, times)
    # Tolerances of 1e-12 per step over some hundred to thousand steps; the motion is regular.
    np.testing.assert_allclose(result.y, top_by_scipy(times), rtol=0, atol=2e-10)


@each_method
def test_error_follows_the_tolerance(method: Tableau) -> None:
    times = report_times(0.0, 12.0, 0.37)
    reference = top_by_scipy(times)
    errors = []
    for rtol in (1e-4, 1e-7, 1e-10):
        errors.append(np.abs(run(euler_top, TOP, times, By(rtol, rtol, method=method)).y - reference).max())
    assert np.all(np.array(errors) < [3e-3, 3e-6, 3e-9]), errors
    assert errors[0] > 1e-7  # else the steps are smaller than asked for


@each_method
def test_steps_are_those_of_scipy(method: Tableau) -> None:
    """Work, not only accuracy: SciPy has the same formulas and a slightly different controller."""

    def f(t: float, w: Array) -> list[float]:
        return [-1.5 * w[1] * w[2], 1.25 * w[2] * w[0] + 0.3 * math.sin(2 * t), -w[0] * w[1] / 3.5]

    name = {"dop853": "DOP853", "dopri5": "RK45"}[method.name]
    solution = solve_ivp(f, (0.0, 30.0), TOP, name, rtol=1e-8, atol=1e-8)
    result = run(euler_top, TOP, np.array([0.0, 30.0]), By(method=method, rtol=1e-8, atol=1e-8))
    assert result.end.at.evaluations == pytest.approx(solution.nfev, rel=0.15)


@each_method
def test_results_do_not_depend_on_the_slices(method: Tableau) -> None:
    times = report_times(0.0, 20.0, 0.13)
    settings = By(method=method, rtol=1e-7, atol=1e-9)
    whole = run(euler_top, TOP, times, settings, budget=10**6)
    sliced = run(euler_top, TOP, times, settings, budget=1)
    assert whole.y.tobytes() == sliced.y.tobytes()
    assert whole.end.y.tobytes() == sliced.end.y.tobytes()
    counts = [
        (r.end.t, r.end.at.next_step, r.end.at.steps, r.end.at.rejected, r.end.at.evaluations) for r in (whole, sliced)
    ]
    assert counts[0] == counts[1]


@each_method
def test_derivatives_are_not_wasted(method: Tableau) -> None:
    """k_s is the first stage of the next step, and dense output is not prepared where nothing is reported."""
    end = run(euler_top, TOP, np.array([0.0, 20.0]), By(method=method)).end
    trial = len(method.E) - 1  # evaluations that the error estimate needs
    extra = method.stages - trial
    assert end.at.evaluations == 2 + trial * (end.at.steps + end.at.rejected) + extra * end.at.steps
    assert end.at.rejected > 0


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
    assert result.end.status == End.REACHED
    assert (result.t.tolist(), result.y.tolist()) == ([1.5], [TOP])


@each_method
@pytest.mark.parametrize("step", [0.07, 0.5, 7.0])
def test_states_are_reported_exactly_at_their_times(method: Tableau, step: float) -> None:
    """Many report times in a step, or many steps between two of them; the last state is the state at t_end itself."""
    times = report_times(0.0, 3.3, step)
    result = run(rational, [1.0, 1.0], times, By(method=method, rtol=1e-9, atol=1e-11))
    assert result.end.status == End.REACHED
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
    result = run(square, [1.0], report_times(0.0, 2.0, 0.3), By(method=method, rtol=1e-8, atol=1e-10))
    assert result.end.status == End.STEP_TOO_SMALL
    assert result.end.t == pytest.approx(1.0, abs=1e-6)
    assert 1e6 < result.end.y[0] < math.inf
    assert len(result.t) == 4
    np.testing.assert_allclose(result.y[:, 0], 1 / (1 - result.t), rtol=1e-6)


@kernel
def root(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    y[0] = math.sqrt(1.0 - x[0])


@kernel
def noise(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    y[0] = math.sin(1e200 * (x[0] + 1e-100 * x[1])) * 1e80 + 1.0


@each_method
def test_steps_from_zero_do_not_shrink_without_end(method: Tableau) -> None:
    """At t = 0 every step is long beside the time; one beside which the first was long 16 digits ago is too small."""
    result = run(noise, [0.0], report_times(0.0, 1.0, 0.5), By(method=method, rtol=1e-6, atol=1e-8), first_step=1e-3)
    assert result.end.status == End.STEP_TOO_SMALL
    assert result.end.at.next_step > 1e-21


@each_method
def test_a_derivative_that_ends_stops_the_run_where_it_ends(method: Tableau) -> None:
    """y' = sqrt(1 - t) is not a number beyond t = 1; y = 2/3 (1 - (1 - t)^(3/2)) up to there."""
    result = run(root, [0.0], report_times(0.0, 2.0, 0.3), By(method=method, rtol=1e-6, atol=1e-8))
    assert result.end.status == End.STEP_TOO_SMALL
    assert 0.999 < result.end.t <= 1.0
    assert result.end.at.rejected > 10
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
    result = run(tube, [0.0], times, By(method=method, rtol=5e-2, atol=5e-2), first_step=1.0)
    assert result.end.status == End.REACHED
    assert result.end.at.rejected > 0
    np.testing.assert_allclose(result.y[:, 0], np.sin(times), rtol=0, atol=0.02)


@pytest.mark.parametrize(("f", "y_0"), [(root, [math.nan]), (root, [math.inf]), (tube, [0.5])])
def test_a_start_that_is_not_finite_is_told_from_a_collapse(f: Kernel, y_0: list[float]) -> None:
    result = run(f, y_0, np.array([0.0, 1.0]), Settings())
    assert result.end.status == End.NOT_FINITE
    assert (result.end.t, result.end.at.steps, len(result.t)) == (0.0, 0, 0)


def test_a_stop_knows_the_state_that_failed() -> None:
    """The argument of the derivative that is not a number, not the last good state."""
    end = run(root, [0.0], np.array([0.0, 2.0]), Settings(rtol=1e-6, atol=1e-8)).end
    assert end.failed is not None
    t, y = end.failed
    assert end.t <= 1.0 < t < 1.0 + 1e-6
    assert y[0] == pytest.approx(2 / 3, abs=1e-5)
    start = run(tube, [0.5], np.array([0.0, 1.0]), Settings()).end
    assert start.failed is not None
    assert (start.failed[0], start.failed[1].tolist()) == (0.0, [0.5])
    assert run(square, [1.0], np.array([0.0, 2.0]), Settings(min_step=1e-3)).end.failed is None


@kernel
def switching(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """y' = cos t, from t = 1 on -3 sin t, behind t = 2.5 again cos t: the second switch belongs to the time before."""
    y[0] = math.cos(x[0])
    if 1.0 <= x[0] <= 2.5:
        y[0] = -3.0 * math.sin(x[0])


def switching_solution(t: Array) -> Array:
    first = np.sin(np.minimum(t, 1.0))
    second = 3 * (np.cos(np.clip(t, 1.0, 2.5)) - math.cos(1.0))
    return np.asarray(first + second + np.where(t > 2.5, np.sin(t) - math.sin(2.5), 0.0))


@each_method
@pytest.mark.parametrize("budget", [10**6, 1])
def test_steps_end_where_the_derivative_jumps(method: Tableau, budget: int) -> None:
    """With the jumps given as stops no step sees both sides; report times on, beside and between them are served."""
    times = np.array([0.0, 0.4, 1.0, 1.0001, 2.4, 2.5, 3.0, 4.0])
    settings = By(method=method, rtol=1e-10, atol=1e-12)
    stops = (1.0, 2.5, 4.0, 7.0, -1.0)
    given = run(switching, [0.0], times, settings, stops=stops, budget=budget)
    np.testing.assert_array_equal(given.t, times)
    # The dense output of dopri5 is of order 4 only; at the ends of steps the error is ten times smaller.
    np.testing.assert_allclose(given.y[:, 0], switching_solution(times), rtol=0, atol=2e-9)
    unknown = run(switching, [0.0], times, settings, budget=budget)
    assert given.end.at.rejected < unknown.end.at.rejected / 5
    assert given.end.at.steps < unknown.end.at.steps


def test_a_stop_that_cuts_a_step_does_not_shorten_those_behind_it() -> None:
    """One stop costs a step or two, wherever it lies."""
    settings, times = By(method=DOP853, rtol=1e-9, atol=1e-9), np.array([0.0, 20.0])
    steps = run(euler_top, TOP, times, settings).end.at.steps
    for stop in (3.0, 3.1, 3.2, 3.3, 3.4):
        assert run(euler_top, TOP, times, settings, stops=(stop, stop + 1e-9)).end.at.steps <= steps + 4


def test_a_run_that_goes_on_with_its_step_is_the_whole_run() -> None:
    """Left after three attempts and started again there with the step it was about to try; no error is remembered."""
    times, settings = report_times(0.0, 5.0, 0.11), By(method=DOP853, rtol=1e-8, atol=1e-9)
    problem, y = Problem(Function(pendulum.address), 4, DOP853), np.array([1.0, 0.0, 0.0, 0.0])
    whole, first = (State(problem, np.zeros(1), y, times, settings) for _ in range(2))
    for state in (whole, first):
        assert state.advance(3) == End.BUDGET
    rest = np.concatenate([[first.t], times[times > first.t]])
    second = run(pendulum, first.y.tolist(), rest, settings, first_step=first.at.next_step)
    whole.at.last_constant = math.inf
    assert whole.advance(10**6) == End.REACHED
    np.testing.assert_array_equal(second.y[1:], whole.rows[len(times) - len(rest) + 1 :])
    assert second.end.y.tobytes() == whole.y.tobytes()
    assert first.at.steps + second.end.at.steps == whole.at.steps


@kernel
def scaled_oscillator(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """A spring and a mass with the displacement in units of 1/1024."""
    y[0] = 1024.0 * x[2]
    y[1] = -x[1] / 1024.0


@kernel
def oscillator(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    y[0] = x[2]
    y[1] = -x[1]


@each_method
def test_tolerances_of_each_component_make_units_irrelevant(method: Tableau) -> None:
    """Powers of two change no digit, so that the same steps give the same motion bit by bit."""
    times = report_times(0.0, 7.0, 0.6)
    plain = run(oscillator, [0.3, 1.0], times, By(1e-6, 1e-7, method=method))
    scaled = run(
        scaled_oscillator, [0.3 * 1024, 1.0], times, By(1e-6, 1e-7, method=method), scale=np.array([1024.0, 1.0])
    )
    np.testing.assert_array_equal(plain.y * [1024, 1], scaled.y)
    looser = run(oscillator, [0.3, 1.0], times, By(1e-6, 1e-1, method=method))
    assert looser.end.at.steps < plain.end.at.steps


@kernel
def with_quadrature(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """The first two components are `rational`; the third integrates something fast that must not shorten the steps."""
    y[0] = -x[1] * x[1]
    y[1] = x[2] * (2.0 * x[1] - 1.0)
    y[2] = math.cos(300.0 * x[0])


@each_method
def test_quadratures_do_not_influence_the_steps(method: Tableau) -> None:
    times = report_times(0.0, 5.0, 0.31)
    settings = By(method=method, rtol=1e-7, atol=1e-9)
    without = run(rational, [1.0, 1.0], times, settings)
    with_it = run(with_quadrature, [1.0, 1.0, 0.0], times, settings, n_norm=2)
    assert without.end.at.steps == with_it.end.at.steps
    np.testing.assert_array_equal(without.y, with_it.y[:, :2])
    assert run(with_quadrature, [1.0, 1.0, 0.0], times, settings).end.at.steps > 3 * without.end.at.steps


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
    y[4] = 0.0
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


def swing(times: Array) -> Array:
    """The same in the angle from the lowest point, by SciPy."""

    def f(_t: float, y: Array) -> list[float]:
        return [y[1], -9.81 * math.sin(y[0])]

    phi, omega = solve_ivp(f, (times[0], times[-1]), [math.pi / 2, 0.0], "DOP853", times, rtol=1e-13, atol=1e-14).y
    return np.stack([np.sin(phi), -np.cos(phi), omega * np.cos(phi), omega * np.sin(phi)], axis=-1)


@each_method
def test_projected_states_stay_on_the_constraint_and_on_the_motion(method: Tableau) -> None:
    times = report_times(0.0, 10.0, 0.03)
    settings = By(method=method, rtol=1e-9, atol=1e-10)
    free = run(pendulum, [1.0, 0.0, 0.0, 0.0], times, settings, measure)
    held = run(pendulum, [1.0, 0.0, 0.0, 0.0], times, settings, project)
    assert held.end.at.residuals[1] < 1e-15
    assert held.end.at.residuals[2] < 1e-14
    assert 1e-14 < held.end.at.residuals[0] < 1e-7
    np.testing.assert_allclose(np.hypot(held.y[:, 0], held.y[:, 1]), 1.0, rtol=0, atol=1e-15)
    assert free.end.at.residuals[1] > 1e-11  # drift; the measured maximum covers report times and steps
    measured = np.abs(free.y[:, 0] ** 2 + free.y[:, 1] ** 2 - 1).max() / 2
    assert measured <= free.end.at.residuals[1] + 1e-15  # rounding of either
    assert free.end.at.residuals[0] == 0.0  # nothing was projected
    np.testing.assert_allclose(held.y, swing(times), rtol=0, atol=1e-6)
    np.testing.assert_allclose(free.y, swing(times), rtol=0, atol=1e-5)


@kernel
def along_x(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """(x, y, u, v): a point goes along the x-axis and is led off it a little."""
    y[0], y[1], y[2], y[3] = x[3], x[4] + 1e-6, 0.0, 0.0


@kernel
def onto_the_nearer_axis(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """On x y = 0, with velocities along the axis."""
    upright = abs(x[1]) < abs(x[2])
    for i in range(4):
        y[i] = 0.0 if (i % 2 == 0) == upright else x[1 + i]
    y[4] = abs(x[1] * x[2])
    y[5] = y[6] = y[7] = 0.0


def test_a_step_that_is_projected_onto_another_branch_is_taken_again() -> None:
    """Steps of a quarter would end where the axes meet, and the point would go on along the other one, or stay."""
    settings = Settings(rtol=1e-6, max_step=0.25)
    found = run(along_x, [-1.0, 0.0, 1.0, 0.0], np.array([0.0, 2.0]), settings, onto_the_nearer_axis, first_step=0.25)
    np.testing.assert_allclose(found.y[-1], [1.0, 0.0, 1.0, 0.0], atol=1e-12)
    assert found.end.at.rejected > 0


@each_method
def test_a_projection_that_changes_nothing_costs_no_derivative(method: Tableau) -> None:
    times, settings = np.array([0.0, 3.0]), By(method=method, rtol=1e-8)
    alone = run(pendulum, [1.0, 0.0, 0.0, 0.0], times, settings)
    measured = run(pendulum, [1.0, 0.0, 0.0, 0.0], times, settings, measure)
    assert alone.end.at.evaluations == measured.end.at.evaluations
    np.testing.assert_array_equal(alone.y, measured.y)


def test_a_failing_projection_stops_the_run_at_the_last_projected_state() -> None:
    times = report_times(0.0, 5.0, 0.11)
    for budget in (10**6, 1):
        result = run(pendulum, [1.0, 0.0, 0.0, 0.0], times, Settings(rtol=1e-8), project_until_two, budget=budget)
        assert result.end.status == End.NOT_PROJECTED
        assert result.end.t == pytest.approx(2.0, abs=1e-9)
        assert result.end.t <= 2.0
        assert result.t[-1] == times[times <= 2.0][-1]
        assert result.end.failed is not None
        t, y = result.end.failed  # the state that was to be projected
        assert 2.0 < t < 2.0 + 1e-9
        np.testing.assert_allclose(y, swing(np.array([0.0, 2.0]))[-1], rtol=0, atol=1e-5)
        np.testing.assert_allclose(result.y, swing(result.t), rtol=0, atol=1e-5)


# Settings.


@each_method
def test_steps_keep_to_the_largest(method: Tableau) -> None:
    end = run(rational, [1.0, 1.0], np.array([0.0, 5.0]), By(method=method, rtol=1e-3, max_step=0.01)).end
    assert end.at.steps >= 500


def test_a_smallest_step_stops_the_run_before_the_pole() -> None:
    result = run(square, [1.0], np.array([0.0, 2.0]), Settings(min_step=1e-3))
    assert result.end.status == End.STEP_TOO_SMALL
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


@each_method
def test_a_first_step_of_no_length_does_not_make_all_shorter_ones_long(method: Tableau) -> None:
    """The run is the scale: 30 digits below it no step is tried, however small the first was."""
    by = By(method=method, rtol=1e-6, atol=1e-8)
    result = run(noise, [0.0], report_times(0.0, 1.0, 0.5), by, first_step=1e-60)
    assert result.end.status == End.STEP_TOO_SMALL
    assert result.end.tried <= 1
