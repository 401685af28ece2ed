"""The implicit method alone: against published references of stiff problems, its orders, its Jacobians, as Python."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import null_space

from linkwork.integrators import integrate as loop
from linkwork.integrators import memory
from linkwork.integrators import switches as inside
from linkwork.integrators import time_loop as advance
from linkwork.integrators.integrate import Problem, Settings, State
from linkwork.integrators.methods import collocation
from linkwork.integrators.methods import radau5 as radau
from linkwork.integrators.methods.linear_systems import (
    Systems,
    factor_systems,
    fill_systems,
    solve_both,
    solve_real,
    systems_places,
    systems_sizes,
)
from linkwork.integrators.methods.radau5 import Radau5
from linkwork.integrators.methods.stiffness import find_fastest
from linkwork.integrators.methods.tangent import reduce_matrices
from linkwork.linalg.lu_planned import Elimination, plan_elimination
from linkwork.linalg.lu_row_pivot import factor, factor_complex, solve, solve_complex
from linkwork.native.kernels import Kernel, Pointer, call, kernel, size_of

Array = NDArray[np.float64]


class Function(NamedTuple):
    address: int
    work: int = 0


def run(
    f: Kernel,
    y_0: list[float],
    times: list[float],
    rtol: float,
    atol: float,
    method: Radau5 | None = None,
    p: float = 0.0,
) -> tuple[State, Array]:
    problem = Problem(Function(f.address), len(y_0), method or Radau5())
    state = State(problem, np.array([p]), np.array(y_0), np.array(times), Settings(rtol=rtol, atol=atol))
    state.advance(10**6)
    return state, state.rows


# The fastest mode.


@kernel
def linear(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """y' = A y with A = p of three rows"""
    for i in range(3):
        y[i] = p[3 * i] * x[1] + p[3 * i + 1] * x[2] + p[3 * i + 2] * x[3]


@pytest.mark.parametrize(
    ("A", "eigenvalue"),
    [
        ([[0.0, 1.0, 0.0], [-1e6, 0.0, 0.0], [0.0, 0.0, -3.0]], 1e3j),
        ([[0.0, 1.0, 0.0], [-1e6, -600.0, 0.0], [2.0, 0.0, -3.0]], -300 + math.sqrt(1e6 - 9e4) * 1j),
        ([[0.0, 1.0, 0.0], [-1e6, -1e5, 0.0], [2.0, 0.0, -3.0]], -99990.0),
        ([[0.0, 1.0, 0.0], [-1e6, -1600.0, 0.0], [2.0, 0.0, -3.0]], -800 + 600j),
        ([[-1.0, 0.5, 0.0], [0.5, 40.0, 0.0], [0.0, 0.0, -3.0]], 40.006),
    ],
)
def test_fastest_mode_is_measured(A: list[list[float]], eigenvalue: complex) -> None:
    """An oscillation, damped or not, overdamped motions and growth, of one freedom with lengths and velocities."""
    at = memory.open_run(memory.new_run(4, 1)[1])
    p = np.ravel(A)
    at.derivative = linear.address
    at.ny = 3
    at.n_norm = 3
    at.rtol = at.atol[:3] = 1e-6
    at.x[1:4] = 1.0, 2.0, 3.0
    at.k[:3] = np.array(A) @ at.x[1:4]
    size, real = find_fastest(at, p, np.zeros(1), *np.zeros((3, 4)))
    assert size == pytest.approx(abs(eigenvalue), rel=0.02)
    assert real == pytest.approx(eigenvalue.real, abs=0.02 * size)


# Gauss' elimination.


@pytest.mark.parametrize("density", [0.2, 1.0])
@pytest.mark.parametrize("n", [1, 6, 11, 16])
def test_elimination_solves_real_and_complex_systems(n: int, density: float, rng: np.random.Generator) -> None:
    """Against NumPy, with rows that must be exchanged and, at low density, mostly zeros."""
    width = memory.whole_blocks(n)
    shuffled = np.eye(n)[rng.permutation(n)]
    A, B = (rng.normal(size=(n, n)) * (rng.uniform(size=(n, n)) < density) + 2.0 * shuffled for _ in range(2))
    real, first, second = (np.zeros((width, width)) for _ in range(3))
    real[:n, :n], first[:n, :n], second[:n, :n] = A, A, B
    x, y, z = rng.normal(size=(3, n))
    expected, expected_complex = np.linalg.solve(A, x), np.linalg.solve(A + 1j * B, y + 1j * z)
    pivots, filled = np.zeros(n), np.zeros(n)
    assert factor(real.ravel(), n, width, pivots, filled)
    solve(real.ravel(), n, width, pivots, x)
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    assert factor_complex(first.ravel(), second.ravel(), n, width, pivots, filled)
    solve_complex(first.ravel(), second.ravel(), n, width, pivots, y, z)
    np.testing.assert_allclose(y + 1j * z, expected_complex, rtol=0, atol=1e-12 * np.abs(expected_complex).max())


def sparse_matrix(n: int, rng: np.random.Generator) -> dict[tuple[int, int], float]:
    """Regular, unsymmetric, with zeros on its diagonal, and rows of very different sizes."""
    ring = {(i, (i + 3) % n): 1.0 + rng.random() for i in range(n)}
    more = {(int(i), int(j)): rng.normal() for i, j in rng.integers(0, n, (2 * n, 2))}
    scale = 10.0 ** rng.uniform(-4, 4, n)
    return {(i, j): scale[i] * x for (i, j), x in (more | ring).items()}


@pytest.mark.parametrize("n", [4, 11, 40])
def test_planned_elimination_solves_all_matrices_of_a_pattern(n: int, rng: np.random.Generator) -> None:
    """c M - J and (a + i b) M - J with pivots chosen at other values, beside those of full matrices."""
    A = sparse_matrix(n, rng)
    mass = np.diag(rng.integers(0, 2, n).astype(float))
    at = made_systems(A, mass, plan_elimination(n, {(i, i): 0.0 for i in range(n)} | A))
    for _ in range(3):
        J = np.zeros((n, n))
        at.J[:] = -np.array(list(A.values())) * rng.uniform(0.9, 1.1, len(A))
        J[tuple(np.transpose(list(A)))] = at.J
        c, a, b = rng.uniform(0.01, 0.02, 3)
        assert factor_systems(at, c, a, b)
        assert not at.is_full
        x, y, z = rng.normal(size=(3, n))
        expected = np.linalg.solve(c * mass - J, x), np.linalg.solve((a + 1j * b) * mass - J, y + 1j * z)
        solve_both(at, x, y, z)
        np.testing.assert_allclose(x, expected[0], rtol=1e-7, atol=1e-9 * np.abs(expected[0]).max())
        np.testing.assert_allclose(y + 1j * z, expected[1], rtol=1e-7, atol=1e-9 * np.abs(expected[1]).max())


def test_pivots_that_have_become_small_are_chosen_anew_on_the_full_matrix() -> None:
    """A first pivot of 1e-12 beside ones would leave four digits; any other entry may be so small."""
    A = {(0, 0): 1.0, (0, 1): 1.0, (1, 0): 1.0, (1, 1): 0.5}
    plan = plan_elimination(2, A)
    assert plan is not None
    at = made_systems(A, np.zeros((2, 2)), plan)
    for small in A:
        J = np.array([[1.0, 1.0], [1.0, 0.5]])
        J[small] = 1e-12
        at.J[:] = -J.ravel()
        assert factor_systems(at, 1.0, 1.0, 1.0)
        x = np.array([1.0, 2.0])
        solve_real(at, x)
        np.testing.assert_allclose(x, np.linalg.solve(J, [1.0, 2.0]), rtol=1e-14)
        assert at.is_full == (small == (plan.rows[0], plan.columns[0]))


def made_systems(A: dict[tuple[int, int], float], mass: Array, plan: Elimination | None) -> Systems:
    sizes = systems_sizes(list(A), mass, plan)
    own = np.zeros(size_of(systems_places, *sizes))
    fill_systems(own, sizes, list(A), mass, plan)
    return systems_places(own, *sizes)


@pytest.mark.parametrize(("n", "rows", "rank"), [(5, 0, 0), (6, 4, 4), (9, 8, 6)])
def test_a_motion_is_linearized_between_the_motions_that_constraints_admit(
    n: int, rows: int, rank: int, rng: np.random.Generator
) -> None:
    """(c - J)^-1 r by full matrices with P from LAPACK's null space, rows redundant or not; A counts to its square."""
    n_q, turn = n + 2, 1e-6
    spread = rng.normal(size=(n, n))
    full = {
        "A": turn * rng.normal(size=(n_q, n_q)),
        "N": rng.normal(size=(n_q, n)),
        "K": rng.normal(size=(n, n_q)),
        "D": rng.normal(size=(n, n)),
        "M": spread @ spread.T,
        "W_q": rng.normal(size=(2, n_q)),
        "W_v": rng.normal(size=(2, n)),
        "Psi_q": rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, n)),
    }
    A, N, K, D, M, W_q, W_v, Psi_q = full.values()
    Z = null_space(Psi_q) if rows else np.eye(n)
    P = Z @ np.linalg.solve(Z.T @ M @ Z, Z.T)
    J = np.zeros((n_q + n + 2, n_q + n + 2))
    J[:, :n_q], J[:, n_q : n_q + n] = np.vstack([A, P @ K, W_q]), np.vstack([N, P @ D, W_v])
    blocks = [list(np.ndindex(matrix.shape)) for matrix in full.values()]
    mass = np.eye(len(J))
    sizes = systems_sizes([], mass, None, (n_q, n, rows), blocks)
    own = np.zeros(size_of(systems_places, *sizes))
    fill_systems(own, sizes, [], mass, None, blocks)
    at = systems_places(own, *sizes)
    at.tangent.J[:] = np.concatenate([matrix.ravel() for matrix in full.values()])
    reduce_matrices(at.tangent)
    assert at.tangent.dof == n - rank
    c, a, b = 3.0, 2.0, 4.0
    assert factor_systems(at, c, a, b)
    x, y, z = rng.normal(size=(3, len(J)))
    expected = np.linalg.solve(c * mass - J, x), np.linalg.solve((a + 1j * b) * mass - J, y + 1j * z)
    single = x.copy()
    solve_real(at, x)
    solve_both(at, single, y, z)
    np.testing.assert_array_equal(single, x)
    for found, exact in zip((x, y + 1j * z), expected, strict=True):
        np.testing.assert_allclose(found, exact, rtol=0, atol=100 * turn**2 * np.abs(exact).max())


def test_elimination_says_that_a_matrix_is_singular() -> None:
    A = np.outer(np.arange(1.0, 5.0), np.arange(2.0, 6.0))
    assert not factor(A.ravel().copy(), 4, 4, np.zeros(4), np.zeros(4))
    assert not factor_complex(A.ravel().copy(), 2.0 * A.ravel(), 4, 4, np.zeros(4), np.zeros(4))


# Coefficients.


def test_coefficients_are_those_of_the_book() -> None:
    """Eigenvalues and error weights in closed form. [hairer1996, section IV.8]"""
    a, b = 81 ** (1 / 3), 9 ** (1 / 3)
    alpha, beta = (12 - a + b) / 60, (a + b) * math.sqrt(3) / 60
    assert pytest.approx(30 / (6 + a - b), rel=1e-14) == collocation.GAMMA
    assert pytest.approx((alpha + 1j * beta) / (alpha**2 + beta**2), rel=1e-14) == collocation.COMPLEX
    r = 7 * math.sqrt(6)
    np.testing.assert_allclose(collocation.error_weights(), [-(13 + r) / 3, (-13 + r) / 3, -1 / 3], rtol=1e-13)
    for q in (1, 2, 3):  # collocation: sum_j a_ij c_j^(q-1) = c_i^q / q
        np.testing.assert_allclose(collocation.A @ collocation.C ** (q - 1), collocation.C**q / q, rtol=1e-14)


# Stiff problems of the test set for initial value problems, with their reference solutions.


@kernel
def van_der_pol(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """y'' = p ((1 - y^2) y' - y)"""
    y[0] = x[2]
    y[1] = p[0] * ((1.0 - x[1] * x[1]) * x[2] - x[1])


@kernel
def van_der_pol_slow(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """y'' = p (1 - y^2) y' - y, the same in time p t"""
    y[0] = x[2]
    y[1] = p[0] * (1.0 - x[1] * x[1]) * x[2] - x[1]


@kernel
def van_der_pol_jacobian(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    y[0] = 0.0
    y[1] = 1.0
    y[2] = -p[0] * (2.0 * x[1] * x[2] + 1.0)
    y[3] = p[0] * (1.0 - x[1] * x[1])


@kernel
def robertson(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    y[0] = -0.04 * x[1] + 1e4 * x[2] * x[3]
    y[2] = 3e7 * x[2] * x[2]
    y[1] = -y[0] - y[2]


@pytest.mark.parametrize("exact", [True, False])
def test_van_der_pol_at_1e6(exact: bool) -> None:
    full = list(np.ndindex(2, 2))
    method = Radau5(Function(van_der_pol_jacobian.address), np.eye(2), pattern=full) if exact else Radau5()
    end, y = run(van_der_pol, [2.0, 0.0], [0.0, 2.0], 1e-10, 1e-10, method, 1e6)
    assert end.status == loop.End.REACHED
    # The published solution is given to 16 digits; steps of 1e-10 through two jumps.
    np.testing.assert_allclose(y[-1], [1.706167732170483, -0.8928097010247975], rtol=0, atol=1e-9)
    assert end.at.steps < 5000  # an explicit method needs 1e6 and more


def test_van_der_pol_at_1e3() -> None:
    end, y = run(van_der_pol_slow, [2.0, 0.0], [0.0, 2000.0], 1e-10, 1e-12, None, 1e3)
    assert end.status == loop.End.REACHED
    np.testing.assert_allclose(y[-1], [1.706167732170469, -0.8928097010248125e-3], rtol=1e-8)


def test_robertson_to_the_end() -> None:
    """At t = 1e11 the concentrations are eight orders of magnitude apart; each is right in its own digits."""
    end, y = run(robertson, [1.0, 0.0, 0.0], [0.0, 1e11], 1e-10, 1e-20)
    assert end.status == loop.End.REACHED
    np.testing.assert_allclose(y[-1], [0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050], rtol=1e-7)
    assert end.at.steps < 2000


# Orders: fixed steps, by the step as Python, which may iterate for as long as it takes.


@pytest.fixture(autouse=True)
def _patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "orders" in request.node.name or "order_" in request.node.name:
        monkeypatch.setattr(radau, "MOST_ITERATIONS", 60)


def steps(f: Kernel, y_0: list[float], t_end: float, count: int, method: Radau5) -> Array:
    """The end of so many equal steps, the stages solved to rounding."""
    n = memory.whole_blocks(len(y_0))
    prepared = method.prepare(n)
    _, m = memory.new_run(n, prepared.n_dense)
    at = memory.open_run(m)
    at.derivative = f.address
    at.ny = len(y_0)
    at.n_norm = len(y_0)
    at.x[1 : 1 + len(y_0)] = y_0
    at.atol[:] = math.inf
    at.atol[: len(y_0)] = 1e-14
    at.rtol = 1e-14
    own, h = prepared.own.copy(), t_end / count
    radau.radau_begin.python(m, np.zeros(1), own, np.zeros(1))
    for k in range(count):
        at.h, at.x_new[0], at.outcome = h, (k + 1) * h, memory.Outcome.GOOD
        call(f.address, at.x, np.zeros(1), at.k, np.zeros(1))
        radau.radau_step.python(m, np.zeros(1), own, np.zeros(1))
        assert at.outcome == memory.Outcome.GOOD
        at.x[:] = at.x_new
    return np.array(at.x[1 : 1 + len(y_0)])


def orders(f: Kernel, y_0: list[float], t_end: float, counts: tuple[int, int], method: Radau5, exact: Array) -> Array:
    first, second = (np.abs(steps(f, y_0, t_end, count, method) - exact) for count in counts)
    found: Array = np.log(first / second) / np.log(counts[1] / counts[0])
    return found


@kernel
def rational(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """y = 1/(1 + t), z = (1 + t)^2 e^(-t)"""
    y[0] = -x[1] * x[1]
    y[1] = x[2] * (2.0 * x[1] - 1.0)


def test_order_5_of_differential_equations() -> None:
    exact = np.array([1 / 3, 9 * math.exp(-2.0)])
    found = orders(rational, [1.0, 1.0], 2.0, (10, 20), Radau5(), exact)
    assert found[1] == pytest.approx(5.0, abs=0.2)
    assert found[0] > 5.0  # y' = -y^2 is followed better


@kernel
def index_2(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """y1 = e^t, y2 = e^(-2t), z = e^(2t): y1' = y1 y2^2 z^2, y2' = y1^2 y2^2 (-3 z) + y1 y2 - .., 0 = y1^2 y2 - 1."""
    y[0] = x[1] * x[2] * x[2] * x[3] * x[3]
    y[1] = x[1] * x[1] * x[2] * x[2] - 3.0 * x[2] * x[2] * x[3]
    y[2] = x[1] * x[1] * x[2] - 1.0


def test_orders_of_index_2() -> None:
    """Order 5 of y and 3 of z [hairer1996, table VII.4.1]; the equations are those of its example."""
    e = math.e
    method = Radau5(mass=np.diag([1.0, 1.0, 0.0]), index=(1, 1, 2))
    found = orders(index_2, [1.0, 1.0, 1.0], 1.0, (16, 32), method, np.array([e, e**-2, e**2]))
    np.testing.assert_allclose(found[:2], 5.0, atol=0.4)
    assert found[2] == pytest.approx(3.0, abs=0.4)


@kernel
def particle(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """The pendulum of the index-3 test: x' = u, y' = w, u' = -x lam, w' = -y lam - 1, 0 = x^2 + y^2 - 1."""
    y[0] = x[3]
    y[1] = x[4]
    y[2] = -x[1] * x[5]
    y[3] = -x[2] * x[5] - 1.0
    y[4] = x[1] * x[1] + x[2] * x[2] - 1.0


PARTICLE = np.array(  # at t = 1, to 20 digits
    [
        0.86734864060043932173,
        0.49770105047967292935,
        -0.033748018060954519609,
        0.058813011465250007541,
        -0.49310315143901878806,
    ]
)
HANGING = Radau5(mass=np.diag([1.0, 1.0, 1.0, 1.0, 0.0]), index=(1, 1, 2, 2, 3))


def test_orders_of_index_3() -> None:
    """At least 5 of positions, 3 of velocities and 2 of multipliers. [hairer1989, table 6.1]"""
    found = orders(particle, [1.0, 0.0, 0.0, 1.0, 1.0], 1.0, (16, 32), HANGING, PARTICLE)
    assert found[:2].min() > 4.5
    assert found[2:4] == pytest.approx(3.0, abs=0.5)
    assert found[4] == pytest.approx(2.0, abs=0.5)


def test_pendulum_of_index_3_to_its_reference() -> None:
    end, y = run(particle, [1.0, 0.0, 0.0, 1.0, 1.0], [0.0, 1.0], 1e-12, 1e-12, HANGING)
    assert end.status == loop.End.REACHED
    np.testing.assert_allclose(y[-1, :2], PARTICLE[:2], rtol=0, atol=1e-11)
    np.testing.assert_allclose(y[-1, 2:4], PARTICLE[2:4], rtol=0, atol=3e-8)
    assert y[-1, 4] == pytest.approx(PARTICLE[4], abs=1e-4)


@kernel
def mixed(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """B y' = B f of `rational`, B = [[2, 1], [-1, 3]]"""
    f_1 = -x[1] * x[1]
    f_2 = x[2] * (2.0 * x[1] - 1.0)
    y[0] = 2.0 * f_1 + f_2
    y[1] = 3.0 * f_2 - f_1


def test_a_full_mass_matrix_changes_nothing() -> None:
    """But the first step, which is chosen from f where M is one."""
    times = [0.0, 0.3, 0.9, 2.0]
    plain = run(rational, [1.0, 1.0], times, 1e-8, 1e-8)[1]
    full = run(mixed, [1.0, 1.0], times, 1e-8, 1e-8, Radau5(mass=np.array([[2.0, 1.0], [-1.0, 3.0]])))[1]
    t = np.array(times)
    exact = np.column_stack([1 / (1 + t), (1 + t) ** 2 * np.exp(-t)])
    np.testing.assert_allclose(plain, exact, rtol=0, atol=2e-7)
    np.testing.assert_allclose(full, exact, rtol=0, atol=2e-7)


@pytest.mark.parametrize(("is_one", "order"), [(True, 5), (False, 4)])
def test_order_of_the_solution_inside_a_step(is_one: bool, order: int) -> None:
    """The error at the middle of a single step of the rational solution falls as h^5, with a full M as h^4."""
    method = Radau5() if is_one else Radau5(mass=np.array([[2.0, 1.0], [-1.0, 3.0]]))
    f = rational if is_one else mixed
    errors = []
    for h in (0.1, 0.05):
        prepared = method.prepare(4)
        _, m = memory.new_run(4, prepared.n_dense)
        at = memory.open_run(m)
        at.derivative = f.address
        at.ny = 2
        at.n_norm = 2
        at.n_rates = min(prepared.n_rates, 2)
        at.x[1:3], at.rtol = 1.0, 1e-10
        at.atol[:2] = 1e-10
        at.h = at.x_new[0] = h
        at.outcome = memory.Outcome.GOOD
        call(f.address, at.x, np.zeros(1), at.k, np.zeros(1))
        for address in (prepared.begin, prepared.step, prepared.dense):
            call(address, m, np.zeros(1), prepared.own, np.zeros(1))
        inside.interpolate(at, 0.45 * h)
        errors.append(abs(at.x_inside[1] - 1 / (1 + 0.45 * h)))
        np.testing.assert_allclose(inside.differentiate_inside(at, 1.0, 0), -h / (1 + h) ** 2, atol=h**4)
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.4)


def test_steps_in_python_are_those_of_the_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both kernels as plain Python on arrays of exactly the described sizes, with rejections and reports inside."""
    times = np.array([0.0, 0.2, 0.5, 0.95])
    native, rows = run(van_der_pol, [2.0, 0.0], [*times], 1e-5, 1e-7, None, 50.0)
    in_python = {k.address: k.python for k in (radau.radau_step, radau.radau_dense, radau.radau_begin, van_der_pol)}

    def interpreted(address: int, *arguments: Array) -> None:
        in_python[address](*arguments)

    for module in (advance, inside, radau):
        monkeypatch.setattr(module, "call", interpreted)
    prepared = Radau5().prepare(4)
    _, m = memory.new_run(4, prepared.n_dense)
    at = memory.open_run(m)
    at.derivative = van_der_pol.address
    at.rates = van_der_pol.address
    at.step = prepared.step
    at.dense = prepared.dense
    at.ny = at.n_norm = at.n_rates = at.n_rows = 2
    at.n_times, at.t_end, at.most_steps, at.begin = len(times), times[-1], 1000, prepared.begin
    at.x[1:3], at.max_step, at.rtol = [2.0, 0.0], math.inf, 1e-5
    at.atol[:] = math.inf
    at.atol[:2] = at.least = 1e-7
    at.error_order = prepared.error_order
    at.shrink, at.growth = prepared.shrink, prepared.growth
    found = np.zeros(2 * len(times))
    status = advance.advance.python(
        m, np.array([50.0]), prepared.own.copy(), np.zeros(0), times, np.zeros(0), found, 1000
    )
    assert status == native.status == loop.End.REACHED
    assert (native.at.steps, native.at.rejected, native.at.evaluations) == (at.steps, at.rejected, at.evaluations)
    np.testing.assert_allclose(found.reshape(-1, 2), rows, rtol=0, atol=1e-10)
