"""Each formulation against solutions that were known before, on random systems and on the simple pendulum."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from linkwork.compiled.system import compile_system
from linkwork.equations.body import body_equations
from linkwork.equations.place import Place
from linkwork.equations.programs import TERMS
from linkwork.errors import NumericalStop, UsageError, check_choice
from linkwork.formulations import FORMULATIONS, pack, refinement, right_side, usual_formulations
from linkwork.formulations.refinement import measure_error, take_given, take_result
from linkwork.linalg.rank import Rank, decide_rank
from linkwork.modelfile import load
from linkwork.native.kernels import Kernel, size_of
from linkwork.start.closing import find_start

SEED = 20041215
ALL = list(FORMULATIONS)
FOR_SINGULAR_MASS = [name for name, entry in FORMULATIONS.items() if not entry.needs_regular_mass]

# n coordinates, m constraints, rank r: m below, equal to and above n; full rank, deficient, none; no freedom.
SHAPES = [
    (1, 1, 1),
    (2, 1, 1),
    (3, 2, 2),
    (4, 4, 4),
    (5, 3, 0),
    (6, 9, 4),
    (7, 7, 5),
    (9, 8, 8),
    (10, 20, 10),
    (13, 5, 3),
    (24, 24, 22),
    (30, 17, 17),
    (33, 40, 30),
    (40, 40, 37),
    (40, 31, 29),
    (39, 50, 39),
]


FEW = [shape for shape in SHAPES if max(shape) <= 13]


@pytest.fixture(params=["interpreted", pytest.param("compiled", marks=pytest.mark.slow)])
def shapes(request, monkeypatch):
    """The shapes of a test. To compile all formulations takes a minute; their functions also run as plain Python."""
    if request.param == "compiled":
        return SHAPES
    monkeypatch.setattr(Kernel, "__call__", interpret)
    return FEW


def interpret(kernel, *arguments):
    with np.errstate(all="ignore"):
        return kernel.python(*arguments)


@dataclass
class Problem:
    """M a + Psi_q^T lam = Q and Psi_q a = gamma with a solution chosen first; lam the one of least norm."""

    M: np.ndarray
    Psi_q: np.ndarray
    Q: np.ndarray
    gamma: np.ndarray
    a: np.ndarray
    lam: np.ndarray

    @property
    def equations(self):
        return self.M, self.Psi_q, self.Q, self.gamma


def orthonormal(rng, rows, columns):
    return np.linalg.qr(rng.standard_normal((rows, columns)))[0]


def spread(rng, count, condition):
    """`count` positive values from 1 down to 1 / condition, in random order."""
    return rng.permutation(np.geomspace(1.0, 1.0 / condition, count)) if count else np.zeros(0)


def mass_matrix(rng, n, kind, condition=10.0):
    if kind == "diagonal":
        return np.diag(spread(rng, n, condition) * 3.0)
    U = orthonormal(rng, n, n)
    M = U * spread(rng, n, condition) @ U.T * 7.0
    return (M + M.T) / 2


def problem(rng, n, m, r, mass="full", mass_condition=10.0, condition=10.0):
    Psi_q = orthonormal(rng, m, r) * spread(rng, r, condition) @ orthonormal(rng, n, r).T * 2.0
    if mass == "singular":
        # Positive on the n - r motions that the constraints admit, which is all that is needed.
        B = rng.standard_normal((n, n - (r + 1) // 2))
        M = B @ B.T
    else:
        M = mass_matrix(rng, n, mass, mass_condition)
    a = rng.standard_normal(n)
    lam = orthonormal_range(Psi_q, r) @ rng.standard_normal(r)
    # Long double, so that the right sides are those of a and lam to the last digit of a double.
    wide = np.longdouble
    Q = M.astype(wide) @ a.astype(wide) + Psi_q.T.astype(wide) @ lam.astype(wide)
    gamma = Psi_q.astype(wide) @ a.astype(wide)
    return Problem(M, Psi_q, Q.astype(float), gamma.astype(float), a, lam)


def orthonormal_range(A, rank):
    return np.linalg.svd(A)[0][:, :rank]


def check(name, p, rank, a_tolerance=1e-9, reaction_tolerance=1e-8):
    solution = FORMULATIONS[name](*p.equations)
    note = f"{name}, n, m = {p.Psi_q.shape[::-1]}, rank {rank}, seed {SEED}: {solution.rank}"
    assert solution.rank.rank == rank, note
    np.testing.assert_allclose(solution.a, p.a, rtol=0, atol=a_tolerance * np.abs(p.a).max(), err_msg=note)
    reaction = p.Psi_q.T @ p.lam
    scale = max(np.abs(reaction).max(), np.abs(p.Q).max())
    np.testing.assert_allclose(
        p.Psi_q.T @ solution.lam, reaction, rtol=0, atol=reaction_tolerance * scale, err_msg=note
    )
    return solution


@pytest.mark.parametrize("mass", ["full", "diagonal"])
@pytest.mark.parametrize("name", ALL)
def test_known_solution_is_found(name, mass, shapes):
    rng = np.random.default_rng(SEED)
    for n, m, r in shapes:
        p = problem(rng, n, m, r, mass)
        solution = check(name, p, r, a_tolerance=1e-11, reaction_tolerance=1e-11)
        assert not solution.rank.uncertain, solution.rank
        # Redundant constraints: among all multipliers with the same reactions the shortest.
        np.testing.assert_allclose(solution.lam, p.lam, rtol=0, atol=1e-9 * max(1.0, np.abs(p.lam).max(initial=0)))


@pytest.mark.parametrize("name", FOR_SINGULAR_MASS)
def test_singular_mass_is_no_obstacle_where_none_is_declared(name, shapes):
    rng = np.random.default_rng(SEED)
    for n, m, r in shapes:
        if r > 1:
            check(name, problem(rng, n, m, r, "singular"), r)


@pytest.mark.parametrize("name", ALL)
def test_accuracy_holds_up_to_condition_1e6(name, shapes):
    """An error of 1e-9 is some five times what rounding of the data alone does at this condition number."""
    rng = np.random.default_rng(SEED)
    for n, m, r in shapes:
        for mass_condition, condition in ((1e6, 10.0), (10.0, 1e6), (1e3, 1e3)):
            check(name, problem(rng, n, m, r, "full", mass_condition, condition), r)


@pytest.mark.parametrize("name", ALL)
def test_all_agree_with_a_least_squares_solution_of_the_whole_system(name, shapes):
    rng = np.random.default_rng(SEED + 1)
    for n, m, r in shapes:
        M = mass_matrix(rng, n, "full")
        Psi_q = rng.standard_normal((m, r)) @ rng.standard_normal((r, n))
        Q = 100.0 * rng.standard_normal(n)
        gamma = Psi_q @ rng.standard_normal(n)
        whole = np.block([[M, Psi_q.T], [Psi_q, np.zeros((m, m))]])
        expected = np.linalg.lstsq(whole, np.concatenate([Q, gamma]), rcond=1e-13)[0]
        solution = FORMULATIONS[name](M, Psi_q, Q, gamma)
        scale = np.abs(expected[:n]).max()
        note = f"{name}, n, m, rank = {n, m, r}, seed {SEED + 1}"
        np.testing.assert_allclose(solution.a, expected[:n], rtol=0, atol=1e-9 * scale, err_msg=note)
        reaction = Psi_q.T @ expected[n:]
        np.testing.assert_allclose(Psi_q.T @ solution.lam, reaction, rtol=0, atol=1e-8 * np.abs(Q).max(), err_msg=note)


@pytest.mark.parametrize("name", ALL)
def test_pendulum_follows_its_minimal_equation(name, shapes):
    """(m L^2 + I_g) q3'' + m g L cos q3 = 0 [pennestri2004, eqs. (51)-(71)], gamma with the squares of q3'."""
    m, L, I_g, g, q3, q3d = 1.7, 0.8, 0.31, 9.81, 0.6, -2.3
    s, c = math.sin(q3), math.cos(q3)
    solution = FORMULATIONS[name](
        np.diag([m, m, I_g]),
        [[1.0, 0.0, L * s], [0.0, 1.0, -L * c]],
        [0.0, -m * g, 0.0],
        [-L * q3d**2 * c, -L * q3d**2 * s],
    )
    q3dd = -m * g * L * c / (m * L**2 + I_g)
    x_dd = -L * (s * q3dd + c * q3d**2)
    y_dd = L * (c * q3dd - s * q3d**2)
    np.testing.assert_allclose(solution.a, [x_dd, y_dd, q3dd], rtol=1e-13)
    np.testing.assert_allclose(solution.lam, [-m * x_dd, -m * (g + y_dd)], rtol=1e-13)
    assert solution.rank.rank == 2


@pytest.mark.parametrize("name", ALL)
def test_no_constraints_leave_free_motion(name, shapes):
    M = mass_matrix(np.random.default_rng(SEED), 5, "full")
    a = np.arange(1.0, 6.0)
    solution = FORMULATIONS[name](M, np.zeros((0, 5)), M @ a, [])
    np.testing.assert_allclose(solution.a, a, rtol=1e-13)
    assert solution.rank.rank == 0


@pytest.mark.parametrize("name", ALL)
def test_wide_range_of_units(name, shapes):
    """Millimetres beside metres and grams beside tonnes: rows and columns of very different size."""
    rng = np.random.default_rng(SEED)
    p = problem(rng, 12, 8, 8)
    sizes = np.geomspace(1e-2, 1e2, 12)
    M = p.M * sizes[:, None] * sizes
    Psi_q = p.Psi_q * sizes
    a = p.a / sizes
    solution = FORMULATIONS[name](M, Psi_q, M @ a + Psi_q.T @ p.lam, Psi_q @ a)
    np.testing.assert_allclose(solution.a, a, rtol=1e-7, atol=1e-9 * np.abs(a).max())


def run_on_exact_arrays(call, name, p):
    """What `call` of the kernel returns with memory of the size described and not a double more, nothing of it set."""
    m, n = p.Psi_q.shape
    x = pack(*p.equations, 1e-9)
    y, w = np.full(size_of(take_result, n, m), np.nan), np.full(FORMULATIONS[name].work_size(n, m), np.nan)
    assert len(x) == size_of(take_given, n, m) == 3 + n * n + m * n + n + m
    given = x.copy()
    call(x, np.zeros(0), y, w)
    np.testing.assert_array_equal(x.view(np.int64), given.view(np.int64))
    return take_result(y, n, m)


@pytest.mark.parametrize(("n", "m", "r"), [(9, 8, 8), (7, 7, 5), (6, 9, 4)])
@pytest.mark.parametrize("name", ALL)
def test_machine_code_agrees_with_the_function_it_was_made_from(name, n, m, r):
    """To rounding, times a condition number of 10, which some square: machine code rounds a sum of products once."""
    p = problem(np.random.default_rng(SEED), n, m, r)
    kernel = FORMULATIONS[name].kernel
    native = run_on_exact_arrays(kernel, name, p)
    with np.errstate(all="ignore"):
        python = run_on_exact_arrays(kernel.python, name, p)
    assert native.rank[0] == python.rank[0] == r
    for one, other, expected in ((native.a, python.a, p.a), (native.lam, python.lam, p.lam)):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * np.abs(expected).max())
        np.testing.assert_allclose(one, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(native.spectrum[:r], python.spectrum[:r], rtol=1e-12)


@pytest.mark.parametrize("kernel", [right_side.dynamics, right_side.derivative], ids=lambda kernel: kernel.name)
def test_right_side_agrees_with_the_sequence(kernel):
    """As machine code and as Python, on exact arrays; the condition number of the slider-crank costs three digits."""
    e = body_equations(load("slider_crank"))
    place = find_start(Place(e, *e.start())).place
    terms, sequence = compile_system(e, TERMS), compile_system(e)
    x = np.concatenate([[0.0], place.q, place.v, [0.0, 0.0]])
    expected = sequence.functions[kernel.name](x, sequence.p())
    p = terms.p(given={"formulation": FORMULATIONS["udwadia-kalaba"].kernel.address})
    inner = max(terms.functions[name].work for name in ("terms", "rates"))
    for call in (kernel, kernel.python):
        y = np.full(len(expected), np.nan)
        call(x, p, y, np.full(right_side.scratch_size("udwadia-kalaba", len(e.q), len(e.v), len(e.Psi), inner), np.nan))
        np.testing.assert_allclose(y, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("name", ALL)
def test_well_conditioned_equations_need_no_second_pass(name, monkeypatch):
    """A second pass would set right what the first does wrong, such as a sign of gamma, and hide it."""
    errors = []

    def measure(*arguments):
        errors.append(measure_error(*arguments))
        return errors[-1]

    monkeypatch.setattr(refinement, "measure_error", measure)
    p = problem(np.random.default_rng(SEED), 7, 7, 5)
    result = run_on_exact_arrays(FORMULATIONS[name].kernel.python, name, p)
    assert result.rank[0] == 5
    assert len(errors) == 1
    np.testing.assert_allclose(result.a, p.a, rtol=0, atol=1e-12)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("name", ALL)
def test_results_scale_with_the_unit_of_length(name, factor, shapes):
    """All coordinates in another unit: M changes with its square, Psi_q and Q with it, a with its inverse, lam not."""
    rng = np.random.default_rng(SEED)
    for n, m, r in ((9, 8, 8), (7, 7, 5)):
        p = problem(rng, n, m, r)
        M, Psi_q, Q = p.M * factor**2, p.Psi_q * factor, p.Q * factor
        solution = FORMULATIONS[name](M, Psi_q, Q, p.gamma)
        assert solution.rank.rank == r
        np.testing.assert_allclose(solution.a * factor, p.a, rtol=0, atol=1e-11)
        np.testing.assert_allclose(solution.lam, p.lam, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in ALL if name not in FOR_SINGULAR_MASS])
def test_singular_mass_is_refused_with_the_formulations_that_would_do(name, shapes):
    p = problem(np.random.default_rng(SEED), 9, 6, 6, "singular")
    with pytest.raises(NumericalStop, match=r"regular mass matrix.*coordinate-partitioning, .*qr") as error:
        FORMULATIONS[name](*p.equations)
    assert error.value.code == "singular-mass"
    assert "udwadia-kalaba," not in str(error.value)


@pytest.mark.parametrize("name", ALL)
def test_massless_free_motion_is_refused(name, shapes):
    M = np.diag([1.0, 2.0, 0.0])
    with pytest.raises(NumericalStop) as error:
        FORMULATIONS[name](M, [[1.0, 1.0, 0.0]], [1.0, 2.0, 0.0], [0.5])
    assert error.value.code == ("massless-motion" if name in FOR_SINGULAR_MASS else "singular-mass")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("where", range(4))
def test_undefined_numbers_are_reported(name, where, shapes):
    p = problem(np.random.default_rng(SEED), 6, 4, 4)
    equations = [x.copy() for x in p.equations]
    equations[where].flat[3] = np.nan
    with pytest.raises(NumericalStop):
        FORMULATIONS[name](*equations)


@pytest.mark.parametrize("name", ALL)
def test_small_gap_makes_the_rank_uncertain(name, shapes):
    """Singular values 9e-8 and 4e-10, on both sides of the tolerance and not far apart."""
    rng = np.random.default_rng(SEED + 7)
    values = np.array([1.0, 0.9, 0.8, 9e-8, 4e-10])
    Psi_q = orthonormal(rng, 6, 5) * values @ orthonormal(rng, 8, 5).T
    a = rng.standard_normal(8)
    decision = FORMULATIONS[name](np.eye(8), Psi_q, a, Psi_q @ a).rank
    assert decision.uncertain
    assert "rank uncertain" in str(decision)


def test_machine_code_of_one_formulation():
    """The slow tests do this for all."""
    name = "udwadia-kalaba"
    for n, m, r in SHAPES:
        check(name, problem(np.random.default_rng(SEED), n, m, r), r, a_tolerance=1e-11, reaction_tolerance=1e-11)


def test_gap_of_full_rank_is_measured_against_rounding():
    assert Rank(np.array([1.0, 0.5]), 2).gap == pytest.approx(0.5 / np.finfo(float).eps)
    assert Rank(np.array([1.0, 1e-12]), 1).gap == pytest.approx(1e12)
    assert not Rank(np.zeros(2), 0).uncertain


def test_a_kept_value_near_the_tolerance_makes_the_rank_uncertain():
    """1e-7 of the largest is kept at a tolerance of 1e-9, a little closer to a singular position it would not be."""
    assert decide_rank([1.0, 0.5, 1e-7]).uncertain
    assert not decide_rank([1.0, 0.5, 1e-5]).uncertain


def test_rank_counts_values_above_the_tolerance_of_the_largest():
    assert decide_rank([2.0, 1.0, 3e-9, 1e-9, 0.0]).rank == 3
    assert decide_rank([2.0, 1.0, 3e-9], 1e-8).rank == 2
    assert decide_rank([]).rank == 0
    assert str(decide_rank([2.0, 1.0, 0.0])) == "rank: 2, gap 2.3e+15 in 2, 1, 0"


def test_svd_reports_the_singular_values(shapes):
    p = problem(np.random.default_rng(SEED), 9, 7, 6, condition=1e5)
    decision = FORMULATIONS["svd"](*p.equations).rank
    np.testing.assert_allclose(decision.values[:6], np.linalg.svd(p.Psi_q)[1][:6], rtol=1e-9)


def test_unknown_name_and_wrong_shape_are_refused():
    with pytest.raises(UsageError, match="no formulation 'shur'; did you mean 'schur'"):
        check_choice("formulation", "shur", usual_formulations())
    with pytest.raises(UsageError, match="no formulation 'newton'; choose from augmented, ggl, coordinate-part"):
        check_choice("formulation", "newton", usual_formulations())
    with pytest.raises(UsageError, match="M 2 x 2, Psi_q 1 x 2"):
        FORMULATIONS["qr"](np.eye(3), [[1.0, 0.0]], [1.0, 2.0], [0.0])
