"""Every kernel as plain Python: on arrays of exactly the described size it does what its machine code does."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from all_kernels import all_kernels

from linkwork import load, prepare
from linkwork.compiled.system import MOST_REPETITIONS
from linkwork.constraints import projection
from linkwork.constraints.projection import project_start
from linkwork.driven.inverse import Acted, fill_forces
from linkwork.driven.kinematics import kinematics
from linkwork.formulations import FORMULATIONS, right_side
from linkwork.integrators import block
from linkwork.native import rows
from linkwork.native.kernels import Kernel, size_of
from linkwork.simulation import outputs as results
from linkwork.simulation import reports
from linkwork.simulation.options import Choice
from linkwork.simulation.problem import Motion
from linkwork.tolerances import ROUNDING

# Stepped through in the tests of their own rooms.
ELSEWHERE = {
    *(f.kernel.name for f in FORMULATIONS.values()),
    *("dynamics", "derivative", "advance", "step", "dense", "follow", "linearize_at", "note_step", "go_back"),
    *("radau_begin", "radau_step", "radau_dense", "linearize_motion", "alpha_begin", "alpha_step", "alpha_dense"),
    *(
        "note_start",
        "watch_step",
        "pass_switches",
        "happen",
        "find_zeros",
        "are_bounded",
        "find_rank",
        "find_scales",
        "sample",
        "advance_lanes",
        "report_lanes",
        "report_lane",
        "advance_lane",
        "project_varied",
    ),
}


def run(kernel: Kernel, stepped: bool, *arguments: Any) -> Any:
    return kernel.python(*arguments) if stepped else kernel(*arguments)


def moving(formulation: str, stabilization: str) -> tuple[Motion, np.ndarray]:
    """A slider-crank on its way, a little off its constraints."""
    choice = Choice(formulation, cast(Any, stabilization), 0.0, 0.0)
    motion = Motion.begin(prepare(load("slider_crank")), choice, "mass", False, (), None, None)
    y = project_start(motion.system, motion.p, motion.start.place)
    y[: motion.system.n_q] += 1e-5 * np.sin(np.arange(motion.system.n_q) + 1.0)
    return motion, np.concatenate([[0.1], y])


@pytest.mark.parametrize("how", [projection.project, projection.measure], ids=lambda kernel: kernel.name)
def test_projection(how: Kernel) -> None:
    motion, x = moving("augmented", "projection")
    onto = projection.of_system(motion.system, how)
    results_ = []
    for stepped in (False, True):
        y = np.full(onto.outputs, np.nan)
        run(how, stepped, x.copy(), motion.p.copy(), y, np.full(onto.work, np.nan))
        results_.append(y)
    np.testing.assert_allclose(results_[1], results_[0], rtol=1e-13, atol=1e-15)


def test_tables_of_results() -> None:
    motion, x = moving("augmented", "projection")
    s, count, ny = motion.system, 3, len(x) - 1
    times, states = np.linspace(0.0, 0.2, count), np.tile(x[1:], (count, 1)) * np.linspace(1.0, 1.1, count)[:, None]
    f, width, found = s.functions, 1 + s.n_q + 2 * s.n_v + s.m, []
    for stepped in (False, True):
        x, qd = np.full((count, width), np.nan), np.full(count * s.n_q, np.nan)
        x[:, 0], x[:, 1 : 1 + s.n_q + s.n_v] = times, states[:, : s.n_q + s.n_v]
        x = x.ravel()
        scratch = np.full(size_of(results.rates, ny, s.m) + motion.form.dynamics.work, np.nan)
        run(results.fill_dynamics, stepped, count, ny, 0, np.empty(0), motion.p, x, qd, scratch)
        found.append(np.concatenate([x, qd]))
    np.testing.assert_array_equal(found[1], found[0])
    inner, lines = max(f[name].work for name in ("report", "close")), []
    for stepped in (False, True):
        sizes = count * f["report"].outputs, size_of(results.measures, count), 2 * width
        out = _, _, extremes = [np.full(size, np.nan) for size in sizes]
        scratch = np.full(f["close"].outputs + inner, np.nan)
        run(results.fill_report, stepped, count, 0, x.copy(), np.empty(0), motion.p, *out, scratch)
        lines.append(np.concatenate(out))
        np.testing.assert_array_equal(extremes[:width], x.reshape(count, width).min(axis=0))
        np.testing.assert_array_equal(extremes[width:], x.reshape(count, width).max(axis=0))
    np.testing.assert_allclose(lines[1], lines[0], rtol=1e-13)


@pytest.mark.slow
def test_forces_of_actuators() -> None:
    """Of four of them, three are asked for theirs, and one has a size."""
    model = load("four_rrr")
    acted = Acted(prepare(model), kinematics(model, t_end=0.2, step=0.1))
    (system, p), count, found = acted.solver, len(acted.rows), []
    f, chosen = system.functions["actuation"], np.tile([True, True, False, True], (count, 1))
    held = acted.hold(chosen, np.where(chosen, 0.0, 0.3))
    for stepped in (False, True):
        x, y, w = acted.rows.ravel().copy(), np.full(count * (system.m + 1), np.nan), np.full(f.work, np.nan)
        limits = count, held.shape[1], MOST_REPETITIONS, ROUNDING, f.address
        run(fill_forces, stepped, *limits, x, held.ravel(), p.copy(), y, w)
        found.append(np.concatenate([x, y]))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12, atol=1e-15)


def test_blocks_of_motions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts, steps and report rows of three slider-cranks of different masses."""
    mechanism, takes = prepare(load("slider_crank")), ["final(slider.x)", "max(reaction:A)", "final(crank.omega)"]
    masses = {"m1": [0.7, 1.0, 1.4], "l1": [1.0, 0.9, 1.1]}
    found = [mechanism.batch(masses, takes, t_end=0.2, step=0.05, threads=1)]
    for module, name in ((rows, "fill_rows"), (block, "advance_block"), (reports, "report_block")):
        python = getattr(module, name).python

        def step(*given: Any, python: Any = python) -> None:
            python(*(x.reshape(-1) if isinstance(x, np.ndarray) else x for x in given))

        monkeypatch.setattr(module, name, step)
    found.append(mechanism.batch(masses, takes, t_end=0.2, step=0.05, threads=1))
    for text in takes:
        np.testing.assert_allclose(found[1][text], found[0][text], rtol=1e-12)
    np.testing.assert_array_equal(found[1].steps, found[0].steps)
    assert found[1].attrs["alone"] == ""


def test_extremes_of_what_is_no_number_are_none() -> None:
    extremes = np.zeros(4)
    for row in ([1.0, -2.0], [np.nan, 3.0], [5.0, -1.0]):
        results.widen(extremes, np.array(row), 2)
    np.testing.assert_array_equal(extremes, [np.nan, -2.0, np.nan, 3.0])


def test_every_kernel_is_stepped_through() -> None:
    """A new kernel must be run so too, here or with its room."""
    here = {projection.project, projection.measure}
    here |= {fill_forces, results.fill_dynamics, results.fill_report, right_side.dynamics, right_side.derivative}
    here |= {rows.fill_rows, block.advance_block, reports.report_block}
    assert {kernel.name for kernel in all_kernels()} <= {kernel.name for kernel in here} | ELSEWHERE
