"""What a run says about its own errors: doubt where it is due, and none where the motion is right."""

import math
from typing import Any

import numpy as np
import pytest
import random_runs
from scipy.special import ellipj

from linkwork import Baumgarte, kinematics, load, simulate
from linkwork.errors import NumericalStop
from linkwork.modelfile import loads
from linkwork.view.report import summary_lines

TOLERANCES = (1e-3, 1e-6, 1e-9, 1e-12)


def test_a_motion_that_loses_energy_is_not_finished() -> None:
    """Baumgarte's stabilization loses the branch of a parallelogram in line; the energy says so, and the exit code."""
    with pytest.raises(NumericalStop, match=r"energy balance is off by .* at t = .*") as stopped:
        simulate(load("n_four_bar:2"), stabilization="baumgarte", rtol=1e-6, t_end=10.0)
    assert (stopped.value.code, stopped.value.exit_code) == ("energy-balance", 4)
    motion = stopped.value.trajectory
    assert motion.status == "doubtful"
    assert motion.t[-1] == 10.0
    assert any("'baumgarte' does not keep it on its own branch" in note for note in motion.info.notes)


@pytest.mark.parametrize(
    ("scale", "coordinates", "rtol"), [(1.0, "body", 1e-3), (1e-3, "body", 1e-3), (1e3, "joint", 1e-3)]
)
def test_a_motion_that_leaves_its_constraints_is_not_finished(scale: float, coordinates: str, rtol: float) -> None:
    """Weak gains let a slider-crank open by two per cent of its size, whatever that is; projection keeps it closed."""
    time = math.sqrt(scale)
    lengths = {"l1": scale, "l2": 2 * scale, "J1": 4.5 * scale**2, "J2": 5.5 * scale**2, "omega": 1 / time}
    model, weak = load("slider_crank", lengths), 0.01 / time
    how: dict[str, Any] = {"t_end": 100.0 * time, "step": time, "rtol": rtol, "coordinates": coordinates}
    with pytest.raises(NumericalStop) as stopped:
        simulate(model, stabilization=Baumgarte(weak, weak), **how)
    assert stopped.value.code == "constraint-gap"
    assert stopped.value.trajectory.status == "doubtful"
    assert simulate(model, **how).status == "finished"


@pytest.mark.parametrize("rtol", TOLERANCES)
@pytest.mark.parametrize("model", ["slider_crank", "double_pendulum", "andrews_squeezer", "n_four_bar:2"])
def test_a_good_run_raises_no_alarm(model: str, rtol: float) -> None:
    """At every tolerance the drift is what the tolerance explains."""
    motion = simulate(load(model), rtol=rtol)
    assert motion.status == "finished"
    assert not any(code in note for note in motion.info.notes for code in ("energy-balance", "[lag]"))


SWINGING = """
linkwork: 1
name: pendulum
gravity: [0, -9.81]
ground: {points: {O: [0, 0]}}
bodies: {bob: {mass: 1, position: [0, -1], velocity: [5, 0], points: {P: [0, 0]}}}
joints: {string: {type: distance, i: ground.O, j: bob.P}}
forces: {air: {type: point-force, at: bob.P, force: [-c*bob.vx, -c*bob.vy]}}
parameters: {c: 0}
simulation: {t_end: 1000, step: 0.5, rtol: 1e-6, atol: 1e-6}
"""


def test_a_long_motion_says_by_how_much_it_may_be_ahead_or_behind() -> None:
    """By the energy balance 0.03 rad after 1,000 s; sin(phi/2) = k sn(w t, k^2) says 0.03 too, within a factor of 3.

    In a tenth of that time it is no more than tolerances explain, and what a damped pendulum did wrong is forgotten.
    """
    motion = simulate(loads(SWINGING))
    w = math.sqrt(9.81)
    k = 5.0 / (2.0 * w)
    error = np.arctan2(motion["bob.x"], -motion["bob.y"]) - 2.0 * np.arcsin(k * ellipj(w * motion.t, k**2)[0])
    (note,) = (note for note in motion.info.notes if note.endswith("[lag]"))
    said = float(note.split("and by ")[1].split()[0])
    assert said / 3.0 < np.max(np.abs(error)) < 3.0 * said
    for t_end, c in ((100.0, 0.0), (1000.0, 0.01)):
        short = simulate(loads(SWINGING, changes={"c": c}), t_end=t_end)
        assert not any("[lag]" in note for note in short.info.notes)


def test_kinematics_does_not_call_the_quadrature_of_work_a_drift() -> None:
    """Positions are solved for, nothing drifts: only the work is added up over the report times."""
    motion = kinematics(load("slider_crank_driven"))
    assert "max_drift" not in motion.summary()["energy"]
    text = " ".join(line for _, line in summary_lines(motion))
    assert "drift" not in text
    assert "work over the report times" in text


@pytest.mark.parametrize("number", range(1))
def test_random_mechanisms_move_as_scipy_says_or_a_note_stands(number: int) -> None:
    """The first of seed 0; `make trust` runs five hundred."""
    case = random_runs.run(0, number)
    assert case.outcome in ("right", "right, with a note"), case


def test_loose_tolerances_do_not_explain_any_energy() -> None:
    """A spring of 1e3 rad/s loses a quarter of its energy at rtol 3e-4; the tolerances of all steps add up to more."""
    fast = """
linkwork: 1
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies: {cart: {mass: 1, position: [1.001, 0], points: {P: [0, 0]}}}
forces: {s: {type: spring-damper, i: ground.O, j: cart.P, stiffness: 1e6, free_length: 1}}
"""
    with pytest.raises(NumericalStop) as stopped:
        simulate(loads(fast), t_end=5.0, step=0.1, rtol=3e-4, atol=3e-4)
    motion = stopped.value.trajectory
    assert (stopped.value.code, motion.status) == ("energy-balance", "doubtful")
    assert np.ptp(motion.energy["kinetic"] + motion.energy["potential"]) > 0.1 * 0.5
