"""The trace of eps in the linear system is removed wherever a motion goes, not only near its start."""

import json
import math

import numpy as np
import pytest

from linkwork import load, simulate
from linkwork.errors import NumericalStop
from linkwork.expressions.graph import absolute, cos, less, sin, sqrt, symbol
from linkwork.model import Model
from linkwork.modelfile import loads
from linkwork.native import interpreted
from linkwork.native.lowering import PART, compile_programs
from linkwork.sequences.sequence import Again, ComputationSequence


def four_bar(longer: float, coupler_mass: float) -> Model:
    """Bars of 1, 2 and 1 + longer on a ground of 2, started far from the line in which they all lie if longer is 0."""
    B, D = np.array([math.cos(1.0), math.sin(1.0)]), np.array([2.0, 0.0])
    across, distance = D - B, float(np.hypot(*(D - B)))
    along = (4.0 - (1.0 + longer) ** 2 + distance**2) / (2 * distance)
    u = across / distance
    C = B + along * u + math.sqrt(4.0 - along**2) * np.array([-u[1], u[0]])

    def bar(first: np.ndarray, last: np.ndarray, mass: float) -> dict[str, object]:
        length = float(np.hypot(*(last - first)))
        return {
            "mass": mass,
            "inertia": mass * length**2 / 12,
            "position": (0.5 * (first + last)).tolist(),
            "angle": math.atan2(*(last - first)[::-1]),
            "points": {"p": [-length / 2, 0], "q": [length / 2, 0]},
        }

    pins = {"A": "ground.A crank.p", "B": "crank.q coupler.p", "C": "coupler.q rocker.q", "D": "ground.D rocker.p"}
    data = {
        "linkwork": 1,
        "name": "near its change point",
        "ground": {"points": {"A": [0, 0], "D": [2, 0]}},
        "bodies": {
            "crank": bar(np.zeros(2), B, 1.0),
            "coupler": bar(B, C, coupler_mass),
            "rocker": bar(D, C, 1.0),
        },
        "joints": {name: {"type": "revolute", "i": ij.split()[0], "j": ij.split()[1]} for name, ij in pins.items()},
        "simulation": {"t_end": 4, "step": 0.05, "rtol": 1e-9, "atol": 1e-10},
    }
    return loads(json.dumps(data), is_json=True)


@pytest.mark.parametrize(("longer", "coupler_mass"), [(1e-7, 1.0), (1e-6, 1e-6), (1e-7, 1e-9)])
def test_a_motion_past_a_nearly_singular_position_is_that_of_full_matrices(longer: float, coupler_mass: float) -> None:
    """Far from it one repetition suffices, near it hundreds are needed; by orthogonal factors none."""
    model = four_bar(longer, coupler_mass)
    motion, other = simulate(model), simulate(model, formulation="qr")
    np.testing.assert_allclose(motion.q, other.q, rtol=0, atol=1e-7)
    np.testing.assert_allclose(motion.v, other.v, rtol=0, atol=1e-6)
    assert not motion.info.notes


@pytest.mark.parametrize(("eps", "is_doubtful"), [(1e-4, False), (3e-2, True)])
def test_accelerations_that_contradict_the_constraints_are_told(
    monkeypatch: pytest.MonkeyPatch, eps: float, is_doubtful: bool
) -> None:
    """With an eps that is not small, Psi_q a is not gamma, unless repetitions follow from what the last one changed."""
    good = simulate(load("slider_crank"), t_end=1.0)
    assert good.constraint_error["acceleration"] < 1e-13
    monkeypatch.setattr("linkwork.simulation.problem.choose_eps", lambda *given: eps)
    repeated = simulate(load("slider_crank"), t_end=1.0)
    np.testing.assert_allclose(repeated.q, good.q, rtol=0, atol=1e-9)
    assert repeated.constraint_error["acceleration"] < 1e-8
    monkeypatch.setattr("linkwork.simulation.problem.most_repetitions", lambda place: 0)
    monkeypatch.setattr("linkwork.simulation.problem.repetitions", lambda *given: 0)
    if is_doubtful:
        with pytest.raises(NumericalStop, match="contradict the constraints") as stop:
            simulate(load("slider_crank"), t_end=1.0)
        assert stop.value.code == "acceleration-residual"
        assert stop.value.trajectory.status == "doubtful"
        return
    motion = simulate(load("slider_crank"), t_end=1.0)
    (said,) = [note for note in motion.info.notes if "[acceleration-residual]" in note]
    assert f"{motion.constraint_error['acceleration']:.2g}" in said


@pytest.mark.parametrize("is_long", [False, True])
@pytest.mark.parametrize(("count", "most"), [(0, 0), (2, 0), (0, 3), (1, 3), (0, 100), (3, 100)])
@pytest.mark.parametrize("shift", [0.0, 0.01])
def test_what_is_repeated_ends_when_it_is_no_longer_needed(count: int, most: int, is_long: bool, shift: float) -> None:
    """Heron's root of s from 1: `count` times at least and, until x^2 is s to 1e-3, up to `most` times.

    Of s = 1 the first x is right, and nothing is asked further.
    """
    s, x, new = symbol("s"), symbol("x"), symbol("new")
    first = sin(s) ** 2 + cos(s) ** 2
    for _ in range(PART if is_long else 0):  # more than one function of machine code
        first = sqrt(first)
    is_weak, needs = (less(1e-3, absolute(y * y - s)) for y in (first, new))
    again = Again(symbol("count"), {0: x}, {0: 0.5 * (x + s / x) + shift}, symbol("most"), is_weak, needs, {0: new})
    program = ComputationSequence("root", [s], [first], again=again)
    p = np.zeros(2)
    p.view(np.int64)[:] = count, most
    parameters = [symbol("count"), symbol("most")]
    compiled = compile_programs([program], parameters)["root"]
    in_python = interpreted.interpret(program, parameters)[1]
    for square in (50.0, 1.0):
        root, done = 1.0, 0
        while done < count or (square > 1.0 and abs(root * root - square) > 1e-3 and done < most):
            root, done = 0.5 * (root + square / root) + shift, done + 1
        assert compiled(np.array([square]), p)[0] == pytest.approx(root, rel=1e-15)
        y = np.empty(1)
        in_python(np.array([square]), p, y, np.empty(0))
        assert y[0] == pytest.approx(root, rel=1e-15)
