"""Systems given by their equations: files, faults, motion by every formulation and integrator."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from published import REFERENCE
from random_mechanisms import Array

from linkwork.cli import answer
from linkwork.compiled.mechanism import prepare
from linkwork.elements.stated import Stated
from linkwork.equations.equations import TIME
from linkwork.equations.explicit import solve_explicitly
from linkwork.errors import ModelError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import symbol
from linkwork.expressions.parser import parse
from linkwork.formulations import usual_formulations
from linkwork.integrators.methods import integrators
from linkwork.model import Model
from linkwork.modelfile import load, loads
from linkwork.simulation.simulate import simulate
from linkwork.symbolic.lu import choose_pivots
from linkwork.trajectory import Trajectory

AT_1 = {"theta1": (0.2629316601282817, -0.4375210779891946), "theta2": (0.1303248907128768, -0.2130489239566246)}


@pytest.mark.parametrize("formulation", usual_formulations())
def test_the_two_angle_slider_crank_by_every_formulation(formulation: str) -> None:
    """Whole state at t = 1 to 1e-10, and the energy that the equations conserve."""
    motion = simulate(load("slider_crank_zhou"), t_end=1.0, rtol=1e-12, atol=1e-12, formulation=formulation)
    for name, (angle, rate) in AT_1.items():
        assert motion[name][-1] == pytest.approx(angle, abs=1e-10)
        assert motion[f"{name}_d"][-1] == pytest.approx(rate, abs=1e-10)
    assert motion.energy["kinetic"][0] + motion.energy["potential"][0] == pytest.approx(3.1875, abs=1e-12)
    assert np.max(np.abs(motion.drift())) < 1e-9


@pytest.mark.parametrize("integrator", integrators())
def test_the_two_angle_slider_crank_by_every_integrator(integrator: str) -> None:
    motion = simulate(load("slider_crank_zhou"), t_end=1.0, rtol=1e-11, atol=1e-11, integrator=integrator)
    accuracy = 1e-6 if integrator == "generalized-alpha" else 1e-8  # it is of second order only
    for name, (angle, rate) in AT_1.items():
        assert motion[name][-1] == pytest.approx(angle, abs=accuracy)
        assert motion[f"{name}_d"][-1] == pytest.approx(rate, abs=accuracy)


def test_bodies_and_stated_equations_move_alike() -> None:
    """The three-body model of the same slider-crank, over 5 s; the source counts the rod's angle clockwise."""
    bodies = simulate(load("slider_crank"), t_end=5.0, step=0.5, rtol=1e-12)
    stated = simulate(load("slider_crank_zhou"), t_end=5.0, step=0.5, rtol=1e-12)
    np.testing.assert_allclose(stated["theta1"], bodies["crank.phi"], atol=1e-9)
    np.testing.assert_allclose(stated["theta2_d"], -bodies["rod.omega"], atol=1e-9)
    np.testing.assert_allclose(stated["theta1_dd"], bodies["crank.alpha"], atol=1e-8)


def appendix(values: dict[str, float], Y: list[float]) -> list[float]:
    """W1 to W7 of the source's appendix."""
    angles = {"1": Y[0], "3": Y[2]}
    known = {**values, "Y2": Y[1], "Y4": Y[3], "C": np.cos(Y[0] + Y[2]), "S": np.sin(Y[0] + Y[2])}
    known |= {f"c{k}": np.cos(x) for k, x in angles.items()} | {f"s{k}": np.sin(x) for k, x in angles.items()}
    for line in (REFERENCE / "slider_crank_appendix.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, text = line.split(" = ")
            expr = parse(text, {word: symbol(word) for word in known})
            known[name] = evaluate([expr], {symbol(word): float(x) for word, x in known.items()})[0]
    return [known[f"W{k}"] for k in range(1, 8)]


def test_LU_with_the_pivots_of_the_source_gives_the_W_of_its_appendix(rng: np.random.Generator) -> None:
    """U22 = W1/8, U23 = -W2/2, L32 = 4 W3/W1, U33 = 2 W4, L21 b2 = W5/4, lam = -W6/2, theta1'' = W7."""
    e = prepare(load("slider_crank_zhou")).equations
    solved = solve_explicitly(e, [0], pivoting=[1, 0, 2])
    factors = solved.factors
    assert factors.rows == (1, 0, 2)
    for _ in range(10):
        values = {str(s.value): float(rng.uniform(0.5, 2.0)) for s in e.parameters}
        Y = rng.uniform(-0.6, 0.6, 4).tolist()
        at = {s: values[str(s.value)] for s in e.parameters} | {TIME: 0.0}
        at |= dict(zip((e.q[0], e.v[0], e.q[1], e.v[1]), Y, strict=True))
        ours = [
            8 * factors.U[1, 1],
            -2 * factors.U[1, 2],
            factors.L[2, 1] * 2 * factors.U[1, 1],
            factors.U[2, 2] / 2,
            4 * factors.L[1, 0] * e.Q[1],
            -2 * solved.lam[0],
            solved.a[0],
        ]
        found = evaluate(factors.hierarchy.unveil(ours), at)
        np.testing.assert_allclose(found, appendix(values, Y), rtol=1e-9)


def test_the_maple_procedure_reads_like_the_appendix(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["equations", "slider_crank_zhou", "--to", "maple"]) == 0
    text = capsys.readouterr().out
    for line in ("f := proc(N, t, Y, YP)", "W[1] := ", "YP[1] := Y[2];", "YP[3] := Y[4];", "end proc:"):
        assert line in text
    assert "W[8]" not in text


def test_coordinates_that_the_command_asks_for_are_no_fault_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["equations", "slider_crank_zhou", "--coordinates", "joint"]) == 3
    said = capsys.readouterr().err
    assert "cannot be had in joint coordinates" in said
    assert ".yaml" not in said


def plain(t_end: float, **settings: Any) -> tuple[Trajectory, Array, Array]:
    """The sequence integrated as the source does, and the errors of its constraint and of the rate of it."""
    motion = simulate(load("slider_crank_zhou"), t_end=t_end, step=1.0, formulation="lu", **settings)
    (th1, th2), (w1, w2) = ((motion[f"theta1{x}"], motion[f"theta2{x}"]) for x in ("", "_d"))
    return motion, np.sin(th1) - 2 * np.sin(th2), np.cos(th1) * w1 - 2 * np.cos(th2) * w2


def test_automatic_coordinates_of_a_stated_system_are_its_own() -> None:
    own, chosen = (simulate(load("slider_crank_zhou"), t_end=0.2, coordinates=c) for c in (None, "auto"))
    np.testing.assert_array_equal(own.q, chosen.q)


def test_the_explicit_sequence_drifts_as_the_source_says_unless_it_is_projected() -> None:
    """At the tolerances of the source, 1e-7: it prints 0.14e-7 and -0.69e-7 at t = 1, 0.42e-5 and 0.59e-6 at t = 20."""
    for stabilization, low, high in (("none", 0.1, 10.0), ("projection", 0.0, 1e-6)):
        motion, gap, rate = plain(20.0, integrator="dopri5", rtol=1e-7, atol=1e-7, stabilization=stabilization)
        printed = np.array([0.14e-7, 0.69e-7, 0.42e-5, 0.59e-6])
        found = np.abs([gap[1], rate[1], gap[-1], rate[-1]])
        assert np.all((low * printed <= found) & (found <= high * printed)), found
        assert motion["theta1"][1] == pytest.approx(AT_1["theta1"][0], abs=1e-6)


@pytest.mark.parametrize("integrator", ["dop853", "radau5"])
def test_a_pivot_near_zero_is_given_up_and_told(integrator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pivots of the source divide by cos(theta1 + theta2), which vanishes where the crank turns round."""
    calls = []

    def as_the_source(*arguments: Any) -> list[tuple[int, int]]:
        calls.append(arguments)
        return [(1, 0), (0, 1), (2, 2)] if len(calls) == 1 else choose_pivots(*arguments)

    monkeypatch.setattr("linkwork.symbolic.lu.choose_pivots", as_the_source)
    model = load("slider_crank_zhou", {"omega": 2})
    motion = simulate(model, t_end=5.0, formulation="lu", integrator=integrator, rtol=1e-10)
    assert len(calls) == 2
    (note,) = [note for note in motion.info.notes if "[repivoted]" in note]
    expected = simulate(model, t_end=5.0, rtol=1e-10)
    at = float(note.split("t = ")[1].split(" ")[0])
    k = int(np.argmax(expected["theta1"] + expected["theta2"] > np.pi / 2))
    assert expected.t[k - 1] <= at + 0.05 <= expected.t[k] + 0.05
    for name in ("theta1", "theta2_d", "theta1_dd", "lam:closure"):
        np.testing.assert_allclose(motion[name], expected[name], atol=1e-7)


def test_the_explicit_sequence_of_bodies_moves_as_the_others_do() -> None:
    for name in ("slider_crank", "four_bar_redundant", "heavy_top"):
        ours, other = (
            simulate(load(name), t_end=0.5, formulation=formulation, rtol=1e-10) for formulation in ("lu", "augmented")
        )
        np.testing.assert_allclose(ours.q, other.q, atol=1e-8)
        np.testing.assert_allclose(ours.a, other.a, atol=1e-6 * np.max(np.abs(other.a)))


TEXT = """
linkwork: 1
name: swing
parameters: {m: 2, L: 1.5 m}
equations:
  coordinates:
    x: {kind: length, start: 1.5 m, rate: 0}
    y: {kind: length}
  M: [[m, 0], [0, m]]
  Q: [0, -m*9.81]
  Psi:
    rod: {expression: (x^2 + y^2 - L^2)/(2*L), kind: length}
"""


def test_a_pendulum_without_a_potential_is_supplied_by_its_forces() -> None:
    """The start falls by Newton's law, and the work of the weight is what the kinetic energy gains."""
    motion = simulate(loads(TEXT), t_end=1.0, rtol=1e-11)
    np.testing.assert_allclose(motion["x"] ** 2 + motion["y"] ** 2, 1.5**2, atol=1e-12)
    speed = motion["x_d"] ** 2 + motion["y_d"] ** 2
    np.testing.assert_allclose(speed, -2 * 9.81 * motion["y"], atol=1e-8)
    np.testing.assert_allclose(motion["y_dd"][0], -9.81, atol=1e-9)
    np.testing.assert_allclose(motion.energy["supplied"], motion.energy["kinetic"], atol=1e-8)


def test_a_system_of_python_objects_is_the_one_of_the_file() -> None:
    m, L, x, y = (symbol(name) for name in ("m", "L", "x", "y"))
    stated = Stated(
        kinds={"x": "length", "y": "length"},
        start={"x": 1.5, "y": 0.0},
        rate={"x": 0.0, "y": 0.0},
        M=((m, 0.0), (0.0, m)),
        Q=(0.0, -9.81 * m),
        Psi={"rod": (x * x + y * y - L * L) / (2 * L)},
        row_kinds={"rod": "length"},
    )
    model = Model("swing", stated=stated, parameters={"m": 2.0, "L": 1.5})
    ours, file = (simulate(one, t_end=0.5) for one in (model, loads(TEXT)))
    np.testing.assert_allclose(ours.q, file.q, atol=1e-14)


def test_constraints_may_depend_on_time_and_masses_on_place() -> None:
    """A bead on a wire that turns as t^2/2: r'' = r t^2, to the series of its solution."""
    r, phi, t = symbol("r"), symbol("phi"), TIME
    rate = symbol("r_d"), symbol("phi_d")
    stated = Stated(
        kinds={"r": "length", "phi": "angle"},
        start={"r": 1.0, "phi": 0.0},
        rate={"r": 0.0, "phi": 0.0},
        M=((1.0, 0.0), (0.0, r * r)),
        Q=(r * rate[1] ** 2, -2 * r * rate[0] * rate[1]),
        Psi={"wire": phi - 0.5 * t * t},
        row_kinds={"wire": "angle"},
    )
    motion = simulate(Model("bead", stated=stated), t_end=1.0, rtol=1e-12)
    series = sum(1.0 / np.prod([(4 * k) * (4 * k - 1) for k in range(1, n + 1)]) for n in range(8))
    assert motion["r"][-1] == pytest.approx(series, abs=1e-10)
    assert motion["phi"][-1] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "line", "code"),
    [
        (("[[m, 0], [0, m]]", "[[m, x], [0, m]]"), 9, "not-symmetric"),
        (("[[m, 0], [0, m]]", "[[m, 0]]"), 9, "shape-mismatch"),
        (("[[m, 0], [0, m]]", "[[m, 0], [0]]"), 9, "shape-mismatch"),
        (("[[m, 0], [0, m]]", "[[m + x_d^2, 0], [0, m]]"), 9, "of-velocities"),
        (("[[m, 0], [0, m]]", "[[m, 2*m], [2*m, m]]"), 9, "negative-mass"),
        (("[[m, 0], [0, m]]", "[[0, 0], [0, 0]]"), 9, "massless-motion"),
        (("[[m, 0], [0, m]]", "[[m, 0], [0, (1e200*m)^2]]"), 9, "not-finite"),
        (("[[m, 0], [0, m]]", "[[m, 0], [0, m/y]]"), 9, "not-finite"),
        (("[0, -m*9.81]", "[0, -m*9.81, 3]"), 10, "shape-mismatch"),
        (("[0, -m*9.81]", "[0, -m*9.81*z]"), 10, "expression-name"),
        (("[0, -m*9.81]", "[0, -m*(9.81]"), 10, "expression-syntax"),
        (("(x^2 + y^2 - L^2)/(2*L)", "x*x_d"), 12, "of-velocities"),
        (("(x^2 + y^2 - L^2)/(2*L)", "x*speed"), 12, "expression-name"),
        (("kind: length, start: 1.5 m", "kind: lenght, start: 1.5 m"), 7, "wrong-shape"),
        (("start: 1.5 m", "start: 1.5 kg"), 7, "unit-mismatch"),
        (("(x^2 + y^2 - L^2)/(2*L)", "x^2 + y^2 - L^2"), 12, "unit-mismatch"),
        (("(x^2 + y^2 - L^2)/(2*L)", "x^2 + y^2 - L"), 12, "unit-mismatch"),
        (("(x^2 + y^2 - L^2)/(2*L)", "x - L*sin(y*L)"), 12, "unit-mismatch"),
        (("[0, -m*9.81]", "[L + x_d, -m*9.81]"), 10, "unit-mismatch"),
        (("y: {kind: length}", "y: {kind: length}\n    m: {kind: length}"), 9, "duplicate-name"),
        (("y: {kind: length}", "y: {kind: length}\n    x_d: {kind: length}"), 9, "duplicate-name"),
        (("y: {kind: length}", "y: {kind: length}\n    t: {kind: length}"), 9, "duplicate-name"),
        (("parameters: {m: 2,", "parameters: {m: 2, x_d: 3,"), 4, "duplicate-name"),
        (("parameters: {m: 2,", "parameters: {m: 2, y_dd: 3,"), 4, "duplicate-name"),
        (("y: {kind: length}", "y z: {kind: length}"), 8, "bad-name"),
        (("  M:", "  mass:"), 9, "unknown-key"),
        (("parameters: {m: 2, L: 1.5 m}", "bodies: {}"), 4, "unknown-key"),
        (("start: 1.5 m", "start: 5 m"), 12, "start-far-off"),
    ],
)
def test_faults_are_named_with_their_lines(change: tuple[str, str], line: int, code: str, tmp_path: Path) -> None:
    file = tmp_path / "swing.yaml"
    file.write_text(TEXT.replace(*change).lstrip("\n"))
    with pytest.raises(ModelError) as caught:
        prepare_located(file)
    found = [(error.line, error.code) for error in caught.value.errors]
    assert (line - 1, code) in found, found


def prepare_located(file: Path) -> Any:
    from linkwork.cli.motions import located
    from linkwork.start.check import check

    with located(str(file)):
        return check(load(file))


def test_events_of_stated_systems_are_located() -> None:
    """A ball thrown at the floor: it arrives with v1^2 = v0^2 + 2 g h, and goes up with 0.8 v1."""
    text = """
linkwork: 1
name: ball
equations:
  coordinates: {y: {kind: length, start: 1.0, rate: -1.0}}
  M: [[0.5]]
  Q: [-0.5*9.81]
events:
  floor: {when: y, direction: falling, action: set, restitution: 0.8}
  top: {when: y_d, direction: falling}
simulation: {t_end: 1.2, step: 0.01}
"""
    motion = simulate(loads(text), rtol=1e-11)
    arrives = np.sqrt(1 + 2 * 9.81)
    first, rise = (arrives - 1) / 9.81, 0.8 * arrives / 9.81
    expected = [first, first + rise, first + 2 * rise]
    np.testing.assert_allclose(motion.events.t[:3], expected, atol=1e-9)


def test_a_massless_system_is_refused_by_name() -> None:
    """With M = diag(m, 0) the constraint determines y'' where it is not horizontal, and nothing does without it."""
    text = TEXT.replace("[[m, 0], [0, m]]", "[[m, 0], [0, 0]]")
    with pytest.raises(ModelError, match="massless-motion"):
        prepare(loads(text))
    swung = text.replace("start: 1.5 m", "start: 0.9 m").replace("y: {kind: length}", "y: {kind: length, start: 1.2 m}")
    with pytest.raises(ModelError, match="det A is zero"):
        solve_explicitly(prepare(loads(swung)).equations, [])


def test_a_parameter_may_be_called_like_a_veiled_symbol() -> None:
    """W1 of the model is not W1 of the sequence: the same accelerations as with another name."""
    text = TEXT.replace("[[m, 0], [0, m]]", "[[m*(1 + x^2*m + x*m + x^4 + y^2*m^3), 0], [0, m]]").replace(
        "1.5 m", "1.5"
    )
    renamed = re.sub(r"\bm\b", "W1", text)
    ours, other = (simulate(loads(one), t_end=0.3, formulation="lu").a for one in (renamed, text))
    np.testing.assert_array_equal(ours, other)


def test_another_start_recompiles_nothing_and_moves_otherwise() -> None:
    stated = loads(TEXT).stated
    assert stated is not None
    model, other = (
        replace(loads(TEXT), stated=replace(stated, start=dict(zip("xy", start, strict=True))))
        for start in ((1.2, -0.9), (0.9, -1.2))
    )
    assert prepare(model).shared is prepare(other).shared
    assert simulate(other, t_end=0.2)["x"][0] == 0.9
    changed = simulate(model, t_end=0.2, start={"x": 0.9, "y": -1.2})
    np.testing.assert_array_equal(changed.q, simulate(other, t_end=0.2).q)


def test_commands_take_stated_systems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "swing.yaml"
    file.write_text(TEXT.replace("start: 1.5 m", "start: 1.53 m"))
    closed = tmp_path / "closed.yaml"
    assert answer(["assemble", str(file), "-o", str(closed)]) == 0
    assert load(closed).stated.start["x"] == pytest.approx(1.5)  # type: ignore[union-attr]
    capsys.readouterr()
    assert answer(["run", str(closed), "--t-end", "0.1", "--json", "-o", str(tmp_path / "swing.nc")]) == 0
    assert json.loads(capsys.readouterr().out)["coordinates"] == "stated"
    assert answer(["explain", str(closed)]) == 0
    assert answer(["assemble", str(closed), "--all"]) == 0
    assert answer(["assemble", str(closed), "--all", "-o", str(tmp_path / "modes.html")]) == 2
    assert "[no-bodies]" in capsys.readouterr().err
    assert answer(["animate", str(tmp_path / "swing.nc")]) == 2
    assert "[no-bodies]" in capsys.readouterr().err
    assert answer(["run", str(closed), "--coordinates", "euler"]) == 3


def test_the_second_run_of_the_source_turns_round() -> None:
    """With twice the start speed theta1 grows monotonically."""
    motion = simulate(load("slider_crank_zhou", {"omega": 2}), t_end=5.0)
    assert np.all(np.diff(motion["theta1"]) > 0)
