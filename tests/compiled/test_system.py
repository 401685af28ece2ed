"""Compiled systems: accelerations, multipliers, energy, projection, and spatial bodies on the same path."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from published import REFERENCE
from random_mechanisms import (
    Array,
    Random,
    fitting,
    matrix,
    planar_body,
    random_mechanism,
    rotation,
    spatial_body,
    state,
    triple,
    values,
)
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from scipy.special import ellipj
from slices import with_slow

from linkwork import load, prepare
from linkwork.compiled.system import System, compile_system
from linkwork.constraints.projection import CONVERGED, measure, of_system, project
from linkwork.elements.bodies import Ground, PlanarBody, SpatialBody
from linkwork.elements.joints import JOINTS, Distance, Revolute
from linkwork.elements.spatial import Spherical
from linkwork.equations.body import body_equations
from linkwork.equations.equations import TIME, Equations
from linkwork.equations.linear import eps_of, factor_of
from linkwork.equations.solution import EPS
from linkwork.expressions.evaluation import evaluate
from linkwork.integrators.integrate import End, Problem, Settings, State
from linkwork.integrators.methods.tableaus import DOP853
from linkwork.model import Model
from linkwork.sequences.articulated import Articulated
from linkwork.start.closing import find_start

GROUND = Ground()


class Dense(NamedTuple):
    """The matrices of the equations at a state, from the expressions, without machine code."""

    M: Array
    Psi_q: Array
    Q: Array
    gamma: Array
    Psi_t: Array

    def solution(self) -> tuple[Array, Array]:
        """Accelerations and the multipliers of least norm, by a dense solution."""
        m, n = self.Psi_q.shape
        K = np.block([[self.M, self.Psi_q.T], [self.Psi_q, np.zeros((m, m))]])
        x = np.linalg.lstsq(K, np.concatenate([self.Q, self.gamma]), rcond=1e-12)[0]
        return x[:n], x[n:]

    def condition(self) -> float:
        scaled = np.linalg.svd(self.Psi_q / np.sqrt(np.diag(self.M)), compute_uv=False)
        return float(scaled[0] / scaled[-1])


def dense(e: Equations, t: float, q: Array, v: Array) -> Dense:
    n, m = len(e.v), len(e.Psi)
    at = state(e, t, q, v)
    parts = (values(x, e, at) for x in (e.Q, e.gamma, e.Psi_t))
    return Dense(matrix(e.M, (n, n), e, at), matrix(e.Psi_q, (m, n), e, at), *parts)


class Rates(NamedTuple):
    qd: Array
    a: Array
    dissipation: float
    supplied: float
    lam: Array


def dynamics(system: System, t: float, q: Array, v: Array, p: Array | None = None) -> Rates:
    y = system.functions["dynamics"](np.array([t, *q, *v, 0.0, 0.0]), system.p() if p is None else p)
    n_q, n = system.n_q, system.n_q + system.n_v
    return Rates(y[:n_q], y[n_q:n], float(y[n]), float(y[n + 1]), y[n + 2 :])


class Projected(NamedTuple):
    q: Array
    v: Array
    before: float
    gap: float
    rate: float
    status: float


def projected(system: System, t: float, q: Array, v: Array) -> Projected:
    x, n = np.array([t, *q, *v, 0.5, 0.25]), system.n_q + system.n_v
    y = np.empty(of_system(system).outputs)
    project(x, system.p(), y, np.empty(of_system(system).work))
    assert y[n : n + 2].tolist() == [0.5, 0.25]
    return Projected(y[: system.n_q], y[system.n_q : n], *y[n + 2 : n + 6].tolist())


def scratch(system: System) -> int:
    """Enough for `project`: all that its functions return and need."""
    return sum(2 * f.outputs + f.inputs + f.work for f in system.functions.values())


def consistent(system: System, t: float, q: Array, rng: Random) -> tuple[Array, Array]:
    """A state near q on the constraints, with random velocities."""
    place = projected(system, t, q, rng.normal(size=system.n_v))
    assert place.status == CONVERGED
    return place.q, place.v


@cache
def well_conditioned(case: int) -> tuple[Model, System]:
    """A random mechanism away from singular positions, where one repetition removes eps to rounding."""
    rng = np.random.default_rng([case, int(os.environ.get("LINKWORK_SEED", "0"))])
    while True:
        model = random_mechanism(rng)
        e = body_equations(model)
        if dense(e, 0.0, *e.start()).condition() < 60.0:
            return model, compile_system(e)


@pytest.mark.parametrize("case", with_slow(range(3), range(1)))
def test_accelerations_and_multipliers_are_those_of_a_dense_solution(case: int, rng: Random) -> None:
    """All joints, drivers and forces; the states are off the constraints and fast."""
    _, system = well_conditioned(case)
    e = system.equations
    q, _ = e.start()
    for _ in range(5):
        q_near, v = q + 0.05 * rng.normal(size=len(q)), 3.0 * rng.normal(size=system.n_v)
        equations = dense(e, 0.3, q_near, v)
        a, lam = equations.solution()
        rates = dynamics(system, 0.3, q_near, v)
        scale = np.max(np.abs([*a, *lam]))
        np.testing.assert_allclose(rates.a, a, rtol=0, atol=1e-12 * scale)
        np.testing.assert_allclose(rates.lam, lam, rtol=0, atol=1e-11 * scale)
        np.testing.assert_array_equal(rates.qd, v)
        assert np.max(np.abs(equations.gamma)) > 0.1


def test_three_rods_that_meet_in_a_point_cost_no_digits() -> None:
    """The rods alone do not hold the plate there, so its pivots vanish; the body at the third rod makes them good."""
    plate, corner = PlanarBody("plate", 1.3, 0.7), np.array([-2.0, -0.5])
    held = PlanarBody("held", 0.9, 0.6, (-2.0, -0.5), 0.3)
    arms = tuple(PlanarBody(f"arm{k}", 1.0 + 0.1 * k, 0.4, (-3.0, k - 1.0)) for k in range(3))

    def point_of_held(P: Any) -> tuple[float, ...]:
        return tuple((rotation(0.3).T @ (np.array(P) - corner)).tolist())

    rods = (
        Distance("rod 1", GROUND, plate, (2.0, 0.0), (1.0, 0.0)),
        Distance("rod 2", GROUND, plate, (0.0, 2.0), (0.0, 1.0)),
        Distance("rod 3", held, plate, point_of_held((-2.0, 0.0)), (-1.0, 0.0)),
    )
    pins = (Revolute(f"pin {k}", held, arm, point_of_held((-2.8, k - 0.9)), (0.2, 0.1)) for k, arm in enumerate(arms))
    e = body_equations(Model("rods", (plate, held, *arms), (*rods, *pins)))
    q, _ = e.start()
    v = np.arange(1.0, 1.0 + len(q)) / 3.0
    equations = dense(e, 0.0, q, v)
    a, _ = equations.solution()
    assert np.linalg.matrix_rank(equations.Psi_q[:3, :3]) == 2
    assert equations.condition() < 12.0
    np.testing.assert_allclose(dynamics(compile_system(e), 0.0, q, v).a, a, rtol=0, atol=1e-12 * np.max(np.abs(a)))


def test_the_matrix_is_quasi_definite(rng: Random) -> None:
    """Pivots of velocities are positive and those of constraints negative, also where constraints repeat others."""
    system = doubled(0, ALL)
    n, m, factor = system.n_v, system.m, factor_of(system.equations)
    assert not isinstance(factor, Articulated)
    order = factor.order
    x = np.array([0.0, *rng.normal(size=system.n_q + n)])
    reciprocals = system.functions["close"](x, system.p())[1 + system.n_q + n + m :][: n + m]
    assert [r > 0.0 for r in reciprocals] == [k < n for k in order]


ALL = len(JOINTS["planar"]) + 3  # joints of a random mechanism


@cache
def doubled(case: int, count: int) -> System:
    """The mechanism of a case with its first joints stated twice."""
    model, _ = well_conditioned(case)
    again = (replace(joint, name=f"{joint.name} again") for joint in model.joints[:count])
    return compile_system(body_equations(replace(model, joints=(*model.joints, *again))))


@pytest.mark.parametrize("name", ["spatial_chain:4", "spatial_slider_crank"])
def test_no_pivot_is_eps_alone_where_axes_are_parallel(name: str) -> None:
    """There rows of a hinge see but one of the three velocities with which each of its bodies turns."""
    system = prepare(load(name)).system()
    e, place = system.equations, find_start(system.start()).place
    assert place.rank.rank == len(e.Psi)
    eps = EPS * place.rows.size
    at = {**place.values, **dict(zip(eps_of(e), eps, strict=True))}
    pivots = 1.0 / np.array(evaluate([factor_of(e).reciprocal(len(e.v) + i) for i in range(len(e.Psi))], at))
    assert (eps / np.abs(pivots)).sum() < 1e-6


@pytest.mark.parametrize("count", with_slow([1, ALL], [ALL]))
def test_joints_stated_twice_change_nothing(count: int, rng: Random) -> None:
    """Accelerations and constraint forces are as before; the multipliers share the load equally (least norm)."""
    _, system = well_conditioned(0)
    redundant = doubled(0, count)
    q, v = consistent(system, 0.0, system.equations.start()[0], rng)
    once, both = dynamics(system, 0.0, q, v), dynamics(redundant, 0.0, q, v)
    scale = np.max(np.abs(once.a))
    np.testing.assert_allclose(both.a, once.a, rtol=0, atol=1e-9 * scale)
    forces = [dense(s.equations, 0.0, q, v).Psi_q.T @ rates.lam for s, rates in ((system, once), (redundant, both))]
    np.testing.assert_allclose(forces[1], forces[0], rtol=0, atol=1e-9 * max(scale, np.max(np.abs(forces[0]))))

    lam = {str(row): x for row, x in zip(system.equations.rows, once.lam, strict=True)}
    shared = {str(row): x for row, x in zip(redundant.equations.rows, both.lam, strict=True)}
    for name, x in shared.items():
        original = name.replace(" again", "")
        half = 0.5 if original.replace(".", " again.") in shared else 1.0
        assert abs(x - half * lam[original]) < 1e-4 * np.max(np.abs(once.lam)), name


@pytest.mark.parametrize("redundant", [False, True], ids=["independent", "redundant"])
def test_projection_reaches_rounding_by_the_least_change_in_the_mass_metric(redundant: bool, rng: Random) -> None:
    """The corrections are M^-1 Psi_q^T mu, to first order in the gap: nothing along the freedoms."""
    system = doubled(0, ALL) if redundant else well_conditioned(0)[1]
    e = system.equations
    q, v = consistent(system, 0.0, e.start()[0], rng)
    remaining = []
    for size in (1e-3, 1e-4):
        q_off, v_off = q + size * rng.normal(size=len(q)), v + size * rng.normal(size=len(v))
        place = projected(system, 0.0, q_off, v_off)
        assert place.status == CONVERGED
        assert 1e-2 * size < place.before < 1e2 * size
        scale = 1.0 + np.max(np.abs(place.q))
        # Digits that q does not have, and those lost in evaluating Psi, each change it by so much at most.
        rounding = 2.0**-52 * scale * np.abs(dense(e, 0.0, place.q, place.v).Psi_q).sum(axis=1).max()
        assert place.gap <= 2 * rounding
        assert place.rate <= 8 * 2.0**-52 * scale * (1.0 + np.max(np.abs(place.v)))
        exact = state(e, 0.0, place.q, place.v)
        np.testing.assert_allclose(values([*e.Psi, *e.Psi_dot], e, exact), 0.0, atol=1e-13)
        equations = dense(e, 0.0, place.q, place.v)
        rank = np.linalg.matrix_rank(equations.Psi_q)
        freedoms = np.linalg.svd(equations.Psi_q)[2][rank:]
        change = [place.q - q_off, place.v - v_off]
        remaining.append([np.max(np.abs(freedoms @ equations.M @ dx)) / np.max(np.abs(dx)) for dx in change])
    assert np.max(remaining[0]) < 0.1
    assert np.max(remaining[1]) < 0.02
    assert np.max(remaining[1]) < 0.5 * np.max(remaining[0])


def test_a_projected_state_stays() -> None:
    """Projecting twice is projecting once."""
    _, system = well_conditioned(0)
    first = projected(system, 0.0, system.equations.start()[0] + 1e-3, np.ones(system.n_v))
    second = projected(system, 0.0, first.q, first.v)
    np.testing.assert_allclose(second.q, first.q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(second.v, first.v, rtol=0, atol=1e-14)


def test_the_length_of_euler_parameters_moves_no_body() -> None:
    """Turns are the directions of Euler parameters: at another length the bodies of a mechanism stay, to rounding."""
    system = prepare(load("spatial_slider_crank")).system()
    q, _ = system.equations.start()
    closed = projected(system, 0.0, q, np.zeros(system.n_v)).q
    is_number = [x.kind == "number" for x in system.equations.coordinates]
    longer = projected(system, 0.0, np.where(is_number, 1.001 * closed, closed), np.zeros(system.n_v))
    np.testing.assert_allclose(longer.q, closed, rtol=0, atol=1e-14)


def test_a_projection_that_cannot_converge_says_so() -> None:
    """A link pinned at two ground points farther apart than it is long."""
    rod = PlanarBody("rod", 1.0, 1.0, (1.0, 0.0))
    joints = (
        Revolute("A", GROUND, rod, (0.0, 0.0), (-1.0, 0.0)),
        Revolute("B", GROUND, rod, (3.0, 0.0), (1.0, 0.0)),
    )
    system = compile_system(body_equations(Model("torn", (rod,), joints)))
    assert projected(system, 0.0, np.array([1.0, 0.2, 0.1]), np.zeros(3)).status != CONVERGED
    assert projected(system, 0.0, np.array([np.nan, 0.2, 0.1]), np.zeros(3)).status != CONVERGED


def test_measuring_leaves_the_state_as_it_is(rng: Random) -> None:
    _, system = well_conditioned(0)
    e, n = system.equations, system.n_q + system.n_v
    q, v = rng.normal(size=system.n_q), rng.normal(size=system.n_v)
    y = np.empty(n + 6)
    measure(np.array([0.0, *q, *v, 0.5, 0.25]), system.p(), y, np.empty(scratch(system)))
    at = state(e, 0.0, q, v)
    gap, rate = (np.max(np.abs(values(x, e, at))) for x in (e.Psi, e.Psi_dot))
    np.testing.assert_allclose(y, [*q, *v, 0.5, 0.25, 0.0, gap, rate, CONVERGED], rtol=1e-12)


def check_energy_rate(system: System, t: float, q: Array, v: Array) -> None:
    """d/dt (kinetic + potential) from the accelerations = supplied - dissipated, which is what the work rates say."""
    e = system.equations
    rates = dynamics(system, t, q, v)
    h = 1e-30j
    at = {TIME: t + h, **dict(zip((*e.q, *e.v), [*(q + h * rates.qd), *(v + h * rates.a)], strict=True))}
    stored = values([e.energy.kinetic + e.energy.potential], e, at)[0].imag / 1e-30
    scale = max(1.0, abs(rates.dissipation), abs(rates.supplied), np.max(np.abs(rates.lam)))
    assert abs(stored - rates.supplied + rates.dissipation) < 1e-10 * scale
    assert rates.dissipation >= 0.0
    assert abs(rates.supplied) > 1e-6


@pytest.mark.parametrize("case", range(3))
@pytest.mark.sampled
def test_energy_changes_by_what_drivers_and_forces_do(case: int, rng: Random) -> None:
    _, system = well_conditioned(case)
    q, _ = system.equations.start()
    for _ in range(3):
        place = consistent(system, 0.0, q + 1e-2 * rng.normal(size=len(q)), rng)
        check_energy_rate(system, 0.0, *place)


def test_energy_rate_of_each_joint_between_moving_bodies(rng: Random) -> None:
    """One joint at a time, so that an error cannot hide behind the others."""
    for name, kind in JOINTS["planar"].items():
        i, j = planar_body("i", rng), planar_body("j", rng)
        system = compile_system(
            body_equations(Model(name, (i, j), (fitting(kind, "J", i, j, rng),), gravity=(2.0, -9.0)))
        )
        e = system.equations
        q, v = consistent(system, 0.0, e.start()[0], rng)
        rates = dynamics(system, 0.0, q, v)
        at = state(e, 0.0, q + 1e-30j * v, v + 1e-30j * rates.a)
        assert abs(values([e.energy.kinetic + e.energy.potential], e, at)[0].imag / 1e-30) < 1e-11 * np.max(
            np.abs(rates.a)
        ), name


def run(system: System, times: Array, rtol: float = 1e-12, stabilized: bool = True) -> tuple[State, Array]:
    """States at the times, by the compiled loop."""
    q, v = system.equations.start()
    onto = project if stabilized else measure
    y, n = np.array([*q, *v, 0.0, 0.0]), system.n_q + system.n_v
    f = system.functions["derivative"]
    problem = Problem(f, len(y), DOP853, of_system(system, onto), n)
    state = State(problem, system.p(), y, times, Settings(rtol=rtol, atol=rtol))
    assert state.advance(10**6) == End.REACHED
    return state, state.rows


def spatial(
    bodies: tuple[SpatialBody, ...], joints: tuple[Spherical, ...] = (), gravity: Any = (0.0, 0.0, 0.0)
) -> System:
    return compile_system(body_equations(Model("s", bodies, joints, gravity=gravity, space="spatial")))


def test_a_free_body_tumbles_about_its_intermediate_axis_as_Jacobi_says() -> None:
    """Angular velocity in Jacobi functions; momentum in space, energy and |e| = 1 kept; the centre goes straight."""
    data = json.loads((REFERENCE / "free_rigid_body.json").read_text())
    j1, j2, j3 = data["inertia"]
    body = SpatialBody(
        "racket", 2.0, (j1, j2, j3, 0.0, 0.0, 0.0), (0.1, 0.2, 0.3), velocity=(1.0, -2.0, 0.5),
        angular_velocity=tuple(data["omega0"]), orientation=tuple(data["attitude0"]),
    )  # fmt: skip
    system = spatial((body,))
    times = np.array([0.0, 5.0, 10.0, 20.0, 40.0])
    _, rows = run(system, times, rtol=1e-13)
    omega = rows[:, 10:13]
    closed = data["closed_form"]
    sn, cn, dn, _ = ellipj(float(closed["n"]) * times + float(closed["u0"]), float(closed["m"]))
    A = np.array([float(a) for a in closed["A"]])
    # Near the separatrix an error grows like exp(n t), over two near passages; SciPy's functions have 1e-11 here.
    np.testing.assert_allclose(omega, A * np.column_stack([cn, sn, dn]), atol=2e-9)
    printed = [[float(x) for x in data["values"][f"t={t:g}"]] for t in times[1:]]
    np.testing.assert_allclose(omega[1:], printed, atol=2e-9)
    e = rows[:, 3:7]
    np.testing.assert_allclose(np.linalg.norm(e, axis=1), 1.0, atol=4e-16)
    momentum = Rotation.from_quat(e[:, [1, 2, 3, 0]]).apply(omega * [j1, j2, j3])
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (5, 1)), atol=1e-10)
    np.testing.assert_allclose(np.sum(omega**2 * [j1, j2, j3], axis=1), float(closed["twoT"]), rtol=1e-11)
    np.testing.assert_allclose(rows[:, :3], np.array([0.1, 0.2, 0.3]) + np.outer(times, [1.0, -2.0, 0.5]), atol=1e-11)


def top_by_scipy(data: dict[str, Any], times: Array) -> Array:
    """(e, omega) of a top about its fixed point: J_O omega_dot = c x A^T m g - omega x J_O omega."""
    m, c, g = data["mass"], np.array(data["mass_centre_from_fixed_point"]), np.array(data["gravity"])
    J = np.diag(data["inertia_about_mass_centre"]) + m * (c @ c * np.eye(3) - np.outer(c, c))

    def rate(t: float, y: Array) -> Array:
        e, omega = y[:4], y[4:]
        A = Rotation.from_quat(e[[1, 2, 3, 0]]).as_matrix()
        torque = np.cross(c, A.T @ (m * g)) - np.cross(omega, J @ omega)
        e_dot = 0.5 * np.array([-e[1:] @ omega, *(e[0] * omega + np.cross(e[1:], omega))])
        return np.concatenate([e_dot, np.linalg.solve(J, torque)])

    start = [*data["attitude0"], *data["omega0_body"]]
    return np.asarray(solve_ivp(rate, (0.0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-12).y.T)


def test_a_heavy_top_on_a_spherical_joint_precesses_as_Euler_says() -> None:
    """The whole state against SciPy and Euler's equations about the fixed point; energy and vertical momentum kept."""
    data = json.loads((REFERENCE / "heavy_top.json").read_text())
    m, c, omega = data["mass"], np.array(data["mass_centre_from_fixed_point"]), np.array(data["omega0_body"])
    top = SpatialBody(
        "top", m, (*data["inertia_about_mass_centre"], 0.0, 0.0, 0.0), tuple(c.tolist()),
        velocity=tuple(np.cross(omega, c).tolist()), angular_velocity=tuple(omega.tolist()),
    )  # fmt: skip
    system = spatial((top,), (Spherical("O", GROUND, top, (0.0, 0.0, 0.0), tuple((-c).tolist())),), data["gravity"])
    times = np.linspace(0.0, 0.5, 6)
    last, rows = run(system, times)
    r, e, v, w = rows[:, :3], rows[:, 3:7], rows[:, 7:10], rows[:, 10:13]
    expected = top_by_scipy(data, times)
    A = Rotation.from_quat(e[:, [1, 2, 3, 0]])
    np.testing.assert_allclose(e, expected[:, :4], atol=1e-9)
    np.testing.assert_allclose(w, expected[:, 4:], atol=1e-9 * 150.0)
    np.testing.assert_allclose(r, A.apply(c), atol=1e-14)
    np.testing.assert_allclose(v, A.apply(np.cross(w, c)), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(e, axis=1), 1.0, atol=4e-16)
    assert last.at.residuals[1] < 1e-14

    J = np.array(data["inertia_about_mass_centre"])
    energy = 0.5 * m * np.sum(v * v, axis=1) + 0.5 * np.sum(J * w * w, axis=1) + m * 9.81 * r[:, 2]
    vertical = (A.apply(J * w) + m * np.cross(r, v))[:, 2]
    invariants = data["invariants"]
    np.testing.assert_allclose(energy, invariants["energy"], rtol=1e-11)
    np.testing.assert_allclose(vertical, invariants["angular_momentum_z"], rtol=1e-9)
    np.testing.assert_allclose(w[:, 1], invariants["omega_y"], rtol=1e-12)


def test_two_spatial_bodies_on_spherical_joints_keep_their_energy(rng: Random) -> None:
    """All products of inertia, both ends moving: accelerations of a dense solution, no power from the joints."""
    i, j = spatial_body("i", rng), spatial_body("j", rng)
    joints = (
        Spherical("O", GROUND, i, triple(rng), triple(rng)),
        Spherical("A", i, j, triple(rng), triple(rng)),
    )
    system = spatial((i, j), joints, (0.3, 0.4, -9.0))
    e = system.equations
    start = e.start()[0]
    q, v = consistent(system, 0.0, start, rng)
    np.testing.assert_allclose([np.linalg.norm(q[3:7]), np.linalg.norm(q[10:])], 1.0, atol=4e-16)
    rates = dynamics(system, 0.0, q, v)
    a, lam = dense(e, 0.0, q, v).solution()
    scale = np.max(np.abs([*a, *lam]))
    np.testing.assert_allclose(rates.a, a, atol=1e-11 * scale)
    np.testing.assert_allclose(rates.lam, lam, atol=1e-11 * scale)
    at = state(e, 0.0, q + 1e-30j * rates.qd, v + 1e-30j * rates.a)
    assert abs(values([e.energy.kinetic + e.energy.potential], e, at)[0].imag / 1e-30) < 1e-11 * scale


def test_without_projection_a_pendulum_drifts_and_with_it_does_not() -> None:
    """The same motion, compared with the angle of the minimal equation."""
    body = PlanarBody("rod", 1.0, 1.0 / 12, (0.5, 0.0))
    system = compile_system(
        body_equations(Model("p", (body,), (Revolute("O", GROUND, body, (0.0, 0.0), (-0.5, 0.0)),)))
    )
    times = np.linspace(0.0, 5.0, 11)
    minimal = solve_ivp(
        lambda t, y: [y[1], -1.5 * 9.81 * np.cos(y[0])], (0, 5), [0, 0], "DOP853", times, rtol=1e-12, atol=1e-12
    )
    phi, omega = minimal.y
    c, s = 0.5 * np.cos(phi), 0.5 * np.sin(phi)
    whole = np.column_stack([c, s, phi, -omega * s, omega * c, omega])
    kept, rows = run(system, times, rtol=1e-10)
    np.testing.assert_allclose(rows[:, :6], whole, atol=1e-8)
    assert kept.at.residuals[1] < 1e-15
    loose, rows = run(system, times, rtol=1e-6, stabilized=False)
    assert 1e-9 < loose.at.residuals[1] < 1e-4
    np.testing.assert_allclose(rows[:, :6], whole, atol=1e-3)
