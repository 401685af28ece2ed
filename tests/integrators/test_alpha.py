"""The generalized-alpha method: order, damping by linear theory, the group of rotations, as Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkwork import load, prepare, simulate
from linkwork.cli import answer
from linkwork.constraints import projection
from linkwork.constraints.projection import project_start
from linkwork.errors import NumericalStop, UsageError
from linkwork.integrators.integrate import End, Settings
from linkwork.integrators.methods import generalized_alpha as alpha
from linkwork.integrators.methods import radau5 as radau
from linkwork.integrators.methods.generalized_alpha import GeneralizedAlpha
from linkwork.modelfile import loads
from linkwork.simulation.options import Choice
from linkwork.simulation.problem import Motion

NAME = "generalized-alpha"


def end_of(name, t_end, h, rho):
    """(q, v), and lam of the method itself, after steps of length h without projection."""
    how = Choice("index-3", "none", 0.0, 0.0, NAME, GeneralizedAlpha(rho, h))
    motion = Motion.begin(prepare(load(name)), how, "mass", False, (), None, None)
    y = project_start(motion.system, motion.p, motion.start.place)
    motion.set_off(Settings(rtol=1e-10, atol=1e-10), np.array([0.0, t_end]), y)
    last = motion.state
    assert last.advance(10**6) == End.REACHED
    n_q, n_v, m = motion.system.n_q, motion.system.n_v, motion.system.m
    assert last.at.steps == round(t_end / h)
    return last.y[:n_q], last.y[n_q : n_q + n_v], last.y[len(last.y) - m :]


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9])
@pytest.mark.parametrize(("name", "t_end"), [("heavy_top", 0.1), ("slider_crank", 1.5), ("andrews_squeezer", 0.01)])
def test_order_2_of_positions_velocities_and_multipliers(name, t_end, rho):
    truth = simulate(load(name), t_end=t_end, step=t_end, rtol=1e-13, atol=1e-13, integrator="dop853")
    exact = truth.q[-1], truth.v[-1], truth.lam[-1]
    errors = []
    for steps in (400, 800):
        found = end_of(name, t_end, t_end / steps, rho)
        errors.append([np.abs(x - y).max() for x, y in zip(found, exact, strict=True)])
    order = np.log2(np.array(errors[0]) / np.array(errors[1]))
    np.testing.assert_allclose(order, 2.0, atol=0.25)


CART = """
linkwork: 1
name: cart
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies:
  cart: {mass: 2, inertia: 1, position: [1, 0], velocity: [0.5, 0], points: {P: [0, 0]}}
joints:
  rail: {type: prismatic, i: ground.O, j: cart.P, axis: [1, 0]}
forces:
  spring: {type: point-force, at: cart.P, force: ["-2*w^2*cart.x", 0]}
parameters: {w: 10}
simulation: {t_end: 1, step: 0.01}
"""


def oscillate(w, h, rho, steps):
    """x'' = -w^2 x by the formulas of the method, written out for one mass, and the largest root of its recursion."""
    am, af = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
    gamma = 0.5 + af - am
    beta = (gamma + 0.5) ** 2 / 4
    # Unknowns (x, v, a, A) at the end by those at the beginning: a = -w^2 x closes the three formulas.
    left = np.array([[1, 0, 0, -(h**2) * beta], [0, 1, 0, -h * gamma], [0, 0, af - 1, 1 - am], [w**2, 0, 1, 0]])
    right = np.array([[1, h, 0, h**2 * (0.5 - beta)], [0, 1, 0, h * (1 - gamma)], [0, 0, af, -am], [0, 0, 0, 0]])
    step = np.linalg.solve(left, right)
    y = np.array([1.0, 0.5, -(w**2), -(w**2) + (am - af) * h * -(w**2) * 0.5])
    path = [y]
    for _ in range(steps):
        path.append(step @ path[-1])
    return np.array(path), np.abs(np.linalg.eigvals(step)).max()


@pytest.mark.parametrize("rho", [0.0, 0.8, 1.0])
@pytest.mark.sampled
def test_errors_of_positions_and_velocities_add_up_to_the_tolerances_of_all_steps(rho):
    """An oscillator x = cos(w t) + 0.05 sin(w t) hands errors on as they are, and turns those of x/1 into v/w and back.

    So each of both may have the errors of both, the root of 2 of a tolerance for each step at most; judged by positions
    alone, steps left 2.4 to 4 of them.
    """
    w, rtol = 10.0, 1e-5
    motion = simulate(loads(CART), t_end=3.0, rtol=rtol, atol=rtol, integrator=GeneralizedAlpha(rho))
    c, s = np.cos(w * motion.t), np.sin(w * motion.t)
    allowed = math.sqrt(2.0) * motion.info.steps * rtol
    np.testing.assert_allclose(motion["cart.x"], c + 0.05 * s, rtol=0.0, atol=allowed)
    np.testing.assert_allclose(motion["cart.vx"] / w, 0.05 * c - s, rtol=0.0, atol=allowed)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("w", [10.0, 1000.0])
def test_oscillations_are_damped_as_linear_theory_says(w, rho, tmp_path):
    """Positions and velocities of a cart, step by step, at h w = 0.1 and 10."""
    (tmp_path / "cart.yaml").write_text(CART.replace("w: 10}", f"w: {w}}}"))
    motion = simulate(load(tmp_path / "cart.yaml"), t_end=0.4, step=0.01, integrator=GeneralizedAlpha(rho, 0.01))
    path, largest = oscillate(w, 0.01, rho, 40)
    np.testing.assert_allclose(motion["cart.x"], path[:, 0], rtol=0, atol=1e-6 * np.abs(path[:, 0]).max())
    np.testing.assert_allclose(motion["cart.vx"], path[:, 1], rtol=0, atol=1e-6 * np.abs(path[:, 1]).max())
    assert largest <= 1.0 + 1e-12


def test_spectral_radius_of_infinitely_fast_modes():
    for rho in (0.0, 0.25, 0.5, 0.8, 1.0):
        assert oscillate(1e7, 1.0, rho, 0)[1] == pytest.approx(rho, abs=2e-3)


def test_heavy_top_stays_on_the_group():
    """No drift of |e| in 1000 steps without projection, and the spin about the axis of symmetry is kept to order 2."""
    by = GeneralizedAlpha(fixed=5e-4)
    motion = simulate(load("heavy_top"), t_end=0.5, step=0.01, integrator=by, stabilization="none")
    e = np.column_stack([motion[f"top.e{k}"] for k in range(4)])
    np.testing.assert_allclose(np.linalg.norm(e, axis=1), 1.0, rtol=0, atol=1e-14)
    np.testing.assert_allclose(motion["top.wy"], 150.0, rtol=0, atol=0.05)
    assert motion.info.constraint_error_position < 1e-9
    assert motion.info.steps == 1000


def test_controlled_steps_follow_the_tolerance():
    truth = simulate(load("slider_crank"), t_end=2.0, rtol=1e-12, atol=1e-12, integrator="dop853")
    errors = []
    for rtol in (1e-5, 1e-7):
        motion = simulate(load("slider_crank"), t_end=2.0, rtol=rtol, atol=rtol, integrator=NAME)
        errors.append(np.abs(motion.q - truth.q).max())
        assert motion.info.formulation == "index-3"
        assert motion.info.constraint_error_position < 1e-14
    assert errors[0] < 2e-3
    assert errors[1] < errors[0] / 10


@pytest.mark.parametrize(
    ("integrator", "formulation", "kernels"),
    [
        (NAME, "index-3", (alpha.alpha_begin, alpha.alpha_step, alpha.alpha_dense)),
        ("radau5", "index-3", (radau.radau_begin, radau.radau_step, radau.radau_dense)),
        ("radau5", "ggl", (radau.radau_begin, radau.radau_step, radau.radau_dense)),
    ],
)
@pytest.mark.sampled
def test_steps_in_python_are_those_of_the_machine_code(integrator, formulation, kernels):
    """One step and its dense output, on arrays of exactly the described sizes."""
    by_alpha = GeneralizedAlpha(0.7, 1e-3) if integrator == NAME else None
    how = Choice(formulation, "projection", 0.0, 0.0, integrator, by_alpha)
    motion = Motion.begin(prepare(load("heavy_top")), how, "mass", False, (), None, None)
    y = motion.unknowns(0.0, project_start(motion.system, motion.p, motion.start.place))
    from linkwork.integrators import memory

    n, ny, found = memory.whole_blocks(len(y)), len(y), []
    n_qv = motion.system.n_q + motion.system.n_v
    onto = projection.of_system(motion.system, n_carried=ny - n_qv)
    for stepped in (False, True):
        prepared = motion.form.method.prepare(n)
        _, m = memory.new_run(n, prepared.n_dense, n_pivots=onto.outputs - ny - memory.N_RESIDUALS)
        at = memory.open_run(m)
        at.derivative = motion.form.derivative.address
        at.project = onto.address
        at.ny = ny
        at.n_norm = n_qv
        at.n_rates = prepared.n_rates
        at.x[1 : 1 + ny], at.rtol = y, 1e-8
        at.atol[:n_qv], at.atol[n_qv:] = 1e-8, math.inf
        at.h = at.x_new[0] = 1e-3 if integrator == NAME else 1e-5
        at.t_end, at.outcome = 1.0, memory.Outcome.GOOD
        at.k[:ny] = motion.form.derivative(at.x[: 1 + ny], motion.p)
        w = np.zeros(max(prepared.work, motion.form.derivative.work, onto.work))
        for kernel in kernels:
            (kernel.python if stepped else kernel)(m, motion.p.copy(), prepared.own, w)
        assert at.outcome == memory.Outcome.GOOD
        F = at.F.reshape(-1, n)[:, :n_qv].ravel()  # rounding of accelerations is divided by h^2
        found.append(np.concatenate([at.x_new[: 1 + n_qv], F, [at.error]]))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10, atol=1e-10)
    assert math.isfinite(found[0].sum())


def test_what_has_no_effect_is_refused(capsys):
    model = load("slider_crank")
    with pytest.raises(UsageError, match="no-effect"):
        simulate(model, integrator=NAME, formulation="qr")
    for options in (["--rho", "0.5"], ["--fixed-step", "0.001", "--integrator", "radau5"], ["--alpha", "5"]):
        assert answer(["run", "slider_crank", *options]) == 2
        assert "[no-effect]" in capsys.readouterr().err
    with pytest.raises(UsageError, match="bad-spectral-radius"):
        GeneralizedAlpha(1.5)


SPINNING = """
linkwork: 1
name: spinning
space: spatial
gravity: [0, 0, 0]
ground: {points: {O: [0, 0, 0]}}
bodies:
  rotor: {mass: 2, inertia: [1, 2, 3], angular_velocity: [0, 0, 150], points: {O: [0, 0, 0]}}
joints:
  O: {type: spherical, i: ground.O, j: rotor.O}
simulation: {t_end: 0.5, step: 0.05}
"""


def test_a_steady_turn_is_exact_however_long_the_steps(tmp_path):
    """Steps of 1.5 rad about a principal axis: the exponential map makes of them what they are."""
    (tmp_path / "spinning.yaml").write_text(SPINNING)
    motion = simulate(load(tmp_path / "spinning.yaml"), integrator=GeneralizedAlpha(fixed=0.01), stabilization="none")
    np.testing.assert_allclose(motion["rotor.e0"], np.cos(75.0 * motion.t), rtol=0, atol=1e-11)
    np.testing.assert_allclose(motion["rotor.e3"], np.sin(75.0 * motion.t), rtol=0, atol=1e-11)


def test_fixed_steps_are_kept_or_the_run_ends():
    """A thousand of a millisecond; half a turn of the crank in one step cannot be solved for."""
    motion = simulate(load("slider_crank"), t_end=1.0, step=0.25, integrator=GeneralizedAlpha(fixed=1e-3))
    assert (motion.info.steps, motion.info.rejected) == (1000, 0)
    with pytest.raises(NumericalStop, match=r"no step of 0\.5 s can be taken at t = 0") as stop:
        simulate(load("slider_crank"), t_end=2.0, step=0.25, integrator=GeneralizedAlpha(fixed=0.5))
    assert stop.value.code == "fixed-step"
