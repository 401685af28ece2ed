"""Motions with the implicit integrator: Jacobians, differential-algebraic forms, stiff mechanisms."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from linkwork import load, prepare, simulate
from linkwork.errors import ModelError, UsageError
from linkwork.formulations import NAMES, linearization
from linkwork.motion.simulate import Choice, Motion
from linkwork.stabilization.projection import project_start

REFERENCE = Path(__file__).parent / "reference"


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
def test_jacobian_of_the_motion_is_that_of_differences(name):
    """By implicit differentiation of the linear system, at states off the constraints; eps leaves 1e-8 or so."""
    motion, x = off_constraints(name)
    exact = linearization.of_system(motion.system, motion.dynamics)(x, motion.p).reshape(len(x) - 1, -1)
    expected = quotients(motion.derivative, x, motion.p)
    np.testing.assert_allclose(exact, expected, rtol=0, atol=3e-7 * np.abs(expected).max())


@pytest.mark.parametrize("formulation", ["index-3", "ggl"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_jacobian_of_algebraic_forms_is_that_of_differences(name, formulation):
    motion, x = off_constraints(name, formulation)
    x[-motion.system.m :] += 0.3  # mu of ggl, which is zero on the constraints
    exact, n = np.zeros((len(x) - 1, len(x) - 1)), motion.system.n_q + motion.system.n_v
    exact[tuple(np.transpose(motion.method.pattern))] = motion.system.functions["implicit_jacobian"](x, motion.p)
    assert motion.derivative.outputs == len(x) - 1 > n
    expected = quotients(motion.derivative, x, motion.p)
    np.testing.assert_allclose(exact, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


def test_jacobian_in_python_is_that_of_the_machine_code():
    motion, x = off_constraints("slider_crank")
    f = linearization.of_system(motion.system, motion.dynamics)
    y = np.full(f.outputs, np.nan)
    linearization.linearize_motion.python(x.copy(), motion.p.copy(), y, np.full(f.work, np.nan))
    np.testing.assert_allclose(y, f(x, motion.p), rtol=1e-12, atol=1e-12)


@pytest.fixture(scope="module")
def crank():
    """The slider-crank with the explicit method of order 8, tight."""
    return simulate(load("slider_crank"), t_end=3.0, rtol=1e-12, atol=1e-12)


def distance(motion, truth):
    return max(np.abs(getattr(motion, table) - getattr(truth, table)).max() for table in ("q", "v"))


@pytest.mark.parametrize("formulation", [*NAMES, "index-3"])
def test_every_formulation_moves_as_with_the_explicit_method(formulation, crank):
    """Positions, velocities and multipliers; at rtol 1e-9, with some hundred steps, 1e-6, and more of forces."""
    motion = simulate(
        load("slider_crank"), t_end=3.0, formulation=formulation, integrator="radau5", rtol=1e-9, atol=1e-9
    )
    assert distance(motion, crank) < 2e-6
    np.testing.assert_allclose(motion.lam, crank.lam, rtol=0, atol=1e-4 * np.abs(crank.lam).max())
    assert motion.info.constraint_error_position < 1e-13
    assert np.abs(motion.drift()).max() < 1e-4


@pytest.mark.parametrize("stabilization", ["none", "baumgarte", "state-space"])
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


@pytest.mark.slow
def test_andrews_squeezer_as_index_3():
    """All seven angles at t = 0.03 to the digits of the reference of the test set. [ivptestset]"""
    truth = {k: float(v) for k, v in json.loads((REFERENCE / "andrews.json").read_text())["reference_t_end"].items()}
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
        assert value == pytest.approx(truth[name], rel=1e-8), name


def test_forms_with_multipliers_say_what_they_need():
    model = load("slider_crank")
    with pytest.raises(UsageError, match="needs-implicit"):
        simulate(model, formulation="index-3")
    with pytest.raises(UsageError, match="no-effect"):
        simulate(model, formulation="index-3", integrator="radau5", stabilization="baumgarte")
    with pytest.raises(ModelError, match="redundant"):
        simulate(load("four_bar_redundant"), formulation="index-3", integrator="radau5")
