"""Formulations side by side: the redundant mechanisms, and the table that compares."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from linkwork.cli import answer
from linkwork.comparison.compare import Comparison, Row, compare
from linkwork.errors import NumericalStop, UsageError
from linkwork.formulations import all_formulations, usual_formulations
from linkwork.model import Simulation
from linkwork.modelfile import load
from linkwork.simulation.simulate import simulate
from linkwork.start.check import check
from linkwork.trajectory import Trajectory
from linkwork.view.comparison import as_csv, as_text, html, spread, write
from linkwork.view.report import as_json

Array = NDArray[np.float64]

POINTS = {
    "O": (0.0, 0.0), "H": (0.4, -0.2), "N": (0.1, -0.8), "M": (1.9, -1.4), "G": (1.6, 0.4), "D": (2.2, -0.4),
    "C": (2.5, -1.4), "B": (2.9, -1.1), "A": (2.9, -1.9), "K": (3.4, -1.9),
}  # fmt: skip
# rods of a body, kg/m and end points; bodies in the order of the model
RODS: tuple[tuple[float, tuple[str, ...]], ...] = (
    (10.0, ("OD", "DA", "AM", "MO")), (30.0, ("DC", "DG")), (30.0, ("AK", "AB")), (30.0, ("CB",)),
    (3.0, ("NM",)), (3.0, ("MN",)), (3.0, ("HG",)), (3.0, ("GH",)),
)  # fmt: skip
REVOLUTE = ((-1, 0, "O"), (-1, 6, "H"), (-1, 4, "N"), (0, 1, "D"), (0, 2, "A"), (0, 5, "M"), (1, 7, "G"), (1, 3, "C"),
            (2, 3, "B"), (-1, 0, "O"))  # fmt: skip
PRISMATIC = ((4, 5, "N", "M"), (6, 7, "H", "G"))


class EightBodies:
    """redundant_24 once more: dense NumPy equations in body coordinates with derivatives by hand, from the points."""

    def __init__(self) -> None:
        self.point = {name: np.array(place) for name, place in POINTS.items()}
        self.start, self.mass = np.zeros((8, 3)), np.zeros((8, 3))
        for k, (density, rods) in enumerate(RODS):
            ends = [(self.point[a], self.point[b]) for a, b in rods]
            if k >= 4:  # a part of a strut reaches over 0.6 of it
                ends = [(P, P + 0.6 * (Q - P)) for P, Q in ends]
            masses = [density * np.linalg.norm(Q - P) for P, Q in ends]
            centre = sum(m * (P + Q) / 2 for m, (P, Q) in zip(masses, ends, strict=True)) / sum(masses)
            inertia = sum(
                m * ((Q - P) @ (Q - P) / 12 + ((P + Q) / 2 - centre) @ ((P + Q) / 2 - centre))
                for m, (P, Q) in zip(masses, ends, strict=True)
            )
            self.start[k, :2], self.mass[k] = centre, (sum(masses), sum(masses), inertia)

    def arm(self, q: Array, body: int, point: str) -> Array:
        """From the mass centre of a body to one of its points, seen from the ground."""
        c, s = np.cos(q[body, 2]), np.sin(q[body, 2])
        return np.array([[c, -s], [s, c]]) @ (self.point[point] - self.start[body, :2])  # type: ignore[no-any-return]

    def constraints(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Psi_q and gamma."""
        J, gamma = np.zeros((24, 8, 3)), np.zeros(24)
        row = 0
        for i, j, name in REVOLUTE:
            for sign, body in ((-1.0, i), (1.0, j)):
                if body >= 0:
                    r = self.arm(q, body, name)
                    J[row : row + 2, body] = sign * np.array([[1.0, 0.0, -r[1]], [0.0, 1.0, r[0]]])
                    gamma[row : row + 2] += sign * r * v[body, 2] ** 2
            row += 2
        for i, j, P, Q in PRISMATIC:
            # n . d with n fixed in body i, d from its point P to point Q of body j; both bodies turn alike
            r_i, r_j = self.arm(q, i, P), self.arm(q, j, Q)
            c, s = np.cos(q[i, 2]), np.sin(q[i, 2])
            u = np.array([[c, -s], [s, c]]) @ (self.point[Q] - self.point[P])
            u /= np.linalg.norm(u)
            n = np.array([-u[1], u[0]])
            d = q[j, :2] + r_j - q[i, :2] - r_i
            turn = lambda x: np.array([-x[1], x[0]])  # noqa: E731
            d_dot = v[j, :2] + v[j, 2] * turn(r_j) - v[i, :2] - v[i, 2] * turn(r_i)
            J[row, i] = [-n[0], -n[1], -n @ turn(r_i) - u @ d]
            J[row, j] = [n[0], n[1], n @ turn(r_j)]
            w_i, w_j = v[i, 2], v[j, 2]
            gamma[row] = n @ d * w_i**2 + 2 * w_i * (u @ d_dot) + n @ r_j * w_j**2 - n @ r_i * w_i**2
            J[row + 1, i, 2], J[row + 1, j, 2] = -1.0, 1.0
            row += 2
        return J.reshape(24, 24), gamma

    def rates(self, t: float, y: Array) -> Array:
        q, v = y.reshape(2, 8, 3)
        J, gamma = self.constraints(q, v)
        M = self.mass.ravel()
        Q = (self.mass * [0.0, -9.81, 0.0]).ravel()
        W = J / M
        lam = np.linalg.lstsq(W @ J.T, W @ Q - gamma, rcond=1e-10)[0]
        return np.concatenate([v.ravel(), (Q - J.T @ lam) / M])

    def motion(self, times: Array, tolerance: float) -> Array:
        start = np.concatenate([self.start.ravel(), np.zeros(24)])
        solution = solve_ivp(
            self.rates, (0.0, times[-1]), start, method="DOP853", t_eval=times, rtol=tolerance, atol=tolerance
        )
        return np.asarray(solution.y.T)


def test_redundant_24_has_the_sizes_of_the_review() -> None:
    """24 coordinates, 24 rows of rank 22, two freedoms; tolerances 1e-6."""
    model = load("redundant_24")
    report = check(model)
    assert (report.bodies, report.coordinates, report.constraints, report.rank, report.dof) == (8, 24, 24, 22, 2)
    assert report.singular_values[21] > 0.1
    assert report.singular_values[22] < 1e-14
    assert not report.q_changes
    assert (model.simulation.rtol, model.simulation.atol, model.simulation.t_end) == (1e-6, 1e-6, 5.0)


def test_redundant_24_follows_dense_equations_written_by_hand() -> None:
    """Coordinates and velocities over 5 s against least squares and SciPy's DOP853, without any stabilization."""
    times = np.linspace(0.0, 5.0, 51)
    expected = EightBodies().motion(times, 1e-9)
    motion = simulate(load("redundant_24"), step=0.1, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(motion.t, times, atol=1e-12)
    np.testing.assert_allclose(motion.q, expected[:, :24], atol=1e-7)
    np.testing.assert_allclose(motion.v, expected[:, 24:], atol=1e-6)


def test_redundant_24_stays_far_from_singular_positions() -> None:
    """Were a third singular value to vanish, no tolerance of the integration would bound the error."""
    model = EightBodies()
    motion = simulate(load("redundant_24"))
    values = [np.linalg.svd(model.constraints(q, 0 * q)[0], compute_uv=False) for q in motion.q.reshape(-1, 8, 3)]
    assert np.min(np.array(values)[:, 21]) > 0.05
    assert np.max(np.array(values)[:, 22]) < 1e-12


def test_four_bar_redundant_moves_as_four_bar() -> None:
    """The second bearing changes no motion; the two share the force of the one."""
    report = check(load("four_bar_redundant"))
    assert (report.constraints, report.rank, report.dof) == (10, 8, 1)
    single = simulate(load("four_bar"), t_end=2.0, rtol=1e-11, atol=1e-11)
    double = simulate(load("four_bar_redundant"), t_end=2.0, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(double.q, single.q, atol=1e-8)
    for part in ("x", "y"):
        first, second = (double.columns("reactions")[f"{bearing}.{part}"] for bearing in ("B", "B2"))
        np.testing.assert_allclose(first + second, single.columns("reactions")[f"B.{part}"], atol=1e-7)
        # how equal rows share is decided by eps alone, so rounding is divided by it
        np.testing.assert_allclose(first, second, atol=1e-3)


ROW = {
    *("formulation", "status", "integration_s", "formulation_s", "solver_s", "evaluations", "steps"),
    *("position_error", "velocity_error", "energy_drift", "distance", "angle", "coordinates"),
}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(load("four_bar_redundant"), formulations=["augmented", "ggl"], t_end=1.0, rtol=1e-7, atol=1e-7)


def test_rows_hold_every_column(comparison: Comparison) -> None:
    """Numbers of the right size: errors at rounding, distance about the tolerance, the right side within the whole."""
    data = json.loads(as_json(comparison.as_dict()))
    assert set(data) == {"rows", "reference"}
    assert [row["formulation"] for row in data["rows"]] == ["augmented", "ggl"]
    for row in data["rows"]:
        assert set(row) == ROW
        assert row["status"] == "ok"
        assert 0.0 < row["integration_s"] < 1.0
        if row["formulation_s"] is not None:  # else the machine was too busy to tell it from the whole
            assert 0.0 < row["formulation_s"] < row["integration_s"]
            assert row["solver_s"] == row["integration_s"] - row["formulation_s"]
        assert row["evaluations"] > row["steps"] > 5
        assert row["position_error"] < 1e-14
        assert row["velocity_error"] < 1e-13
        assert 0.0 < row["energy_drift"] < 1e-5
        assert 1e-12 < row["distance"] < 1e-5
        assert 1e-12 < row["angle"] < 1e-5
    assert data["reference"]["formulation"] == "augmented"
    assert data["reference"]["rtol"] == 1e-12
    assert data["reference"]["error"] < 1e-9


def test_formulations_that_are_left_out_are_named() -> None:
    """Those of the page and those of the sentence are all there are."""
    found = compare(load("simple_pendulum"), t_end=0.01)
    left_out = found.reference["runs"]["left_out"]
    assert {row.formulation for row in found.rows} | {*left_out} == {*all_formulations()}
    assert "not compared unless named by --formulations: index-3 (for implicit integrators" in str(found)
    assert "lu (equations of its own" in str(found)
    assert "not compared" not in str(compare(load("simple_pendulum"), t_end=0.01, formulations=["qr"]))


def test_distance_is_that_from_an_independent_solution() -> None:
    """The distance of a coarse run, taken from a solution that linkwork has not made."""
    times = np.linspace(0.0, 0.5, 6)
    model = replace(load("redundant_24"), simulation=Simulation(t_end=0.5, step=0.1, rtol=1e-4, atol=1e-4))
    (row,) = compare(model, formulations=["augmented"]).rows
    motion = simulate(model)
    off = np.abs(motion.q - EightBodies().motion(times, 1e-11)[:, :24]).reshape(-1, 8, 3)
    assert row.distance == pytest.approx(np.max(off[:, :, :2]), rel=1e-3)
    assert row.angle == pytest.approx(np.max(off[:, :, 2]), rel=1e-3)


def test_a_failing_formulation_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever one stops, the others have their rows."""

    def stumbling(*arguments: Any, **settings: Any) -> Trajectory:
        if settings["formulation"] == "ggl":
            raise NumericalStop("the step size collapsed at t = 0.3", "step-collapse")
        return simulate(*arguments, **settings)

    monkeypatch.setattr("linkwork.comparison.compare.simulate", stumbling)
    result = compare(load("four_bar"), formulations=["ggl", "augmented"], t_end=0.5)
    failed, good = result.rows
    assert failed == Row("ggl", "the step size collapsed at t = 0.3 [step-collapse]")
    assert good.ok
    assert good.distance is not None
    assert "failed" in as_text(result)
    assert "ggl: the step size collapsed at t = 0.3" in as_text(result)
    assert "collapsed" in html(result)
    assert as_csv(result).splitlines()[1].endswith(",,,,,,,,,,,body")


@pytest.mark.parametrize(
    ("integrator", "chosen", "names"),
    [
        ("radau5", ["augmented", "ggl", "qr", "index-3"], {"augmented", "ggl", "qr", "index-3"}),
        pytest.param("radau5", None, {*usual_formulations(), "index-3"}, marks=pytest.mark.slow),
        ("generalized-alpha", None, {"index-3"}),
    ],
)
def test_implicit_methods_are_compared_on_all_forms_they_solve(
    integrator: str, chosen: list[str] | None, names: set[str]
) -> None:
    how = {} if chosen is None else {"formulations": chosen}
    found = compare(load("four_bar_redundant"), integrator=integrator, t_end=0.2, rtol=1e-7, atol=1e-7, **how)
    assert {row.formulation for row in found.rows} == names
    assert {row.status for row in found.rows} == {"ok"}
    assert all(row.distance is not None and row.distance < 1e-4 for row in found.rows)


def test_what_does_not_go_together_is_a_reason() -> None:
    """`index-3` needs an implicit integrator."""
    (row,) = compare(load("four_bar"), formulations=["index-3"], integrator="dop853", t_end=0.5).rows
    assert "needs-implicit" in row.status
    assert row.integration_s is None


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"formulations": ["qrr"]}, "unknown-formulation"),
        ({"formulations": []}, "no-formulation"),
        ({"coordinates": ["polar"]}, "unknown-coordinates"),
        ({"integrator": "euler"}, "unknown-integrator"),
        ({"stabilization": "glue"}, "unknown-stabilization"),
        ({"t_end": -1.0}, "bad-t-end"),
        ({"rtol": -1.0}, "bad-tolerance"),
        ({"atol": 0.0}, "bad-tolerance"),
    ],
)
def test_settings_without_meaning_are_refused_at_once(settings: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError) as refused:
        compare(load("four_bar"), **settings)
    assert refused.value.code == code


def test_progress_rises_from_nothing_to_all() -> None:
    seen: list[tuple[float, str]] = []
    compare(
        load("four_bar"), formulations=["augmented", "ggl"], t_end=0.5, progress=lambda f, what: seen.append((f, what))
    )
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert (fractions[0], fractions[-1]) == (0.0, 1.0)
    assert {what.split(",")[0] for _, what in seen} == {"reference", "augmented", "ggl"}


def test_reports_escape_names_and_need_no_other_file(comparison: Comparison, tmp_path: Path) -> None:
    hostile = replace(
        comparison, model="<script>|x", rows=(*comparison.rows, Row("qr", "<img src=x onerror=alert(1)> | *bold*"))
    )
    (page,) = write(hostile, tmp_path / "r.html")
    hostile.save(tmp_path / "s.html")
    assert (tmp_path / "s.html").read_text() == page.read_text()
    text = page.read_text()
    assert "<script" not in text
    assert "<img" not in text
    assert text.count("<svg") == 1
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)""", text)
    note, picture = write(hostile, tmp_path / "r.md")
    assert picture.read_text().count("<svg") == 1
    table = [line for line in note.read_text().splitlines() if line.startswith("|")]
    assert len(table) == 5
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {13}
    assert "<script" not in note.read_text()
    with pytest.raises(UsageError, match=r"\.html, \.md"):
        write(hostile, tmp_path / "r.pdf")


def test_labels_keep_their_distance_and_order() -> None:
    heights = np.array([0.1, 0.11, 0.12, 0.5, 0.9])
    placed = spread(heights, 0.05)
    assert np.all(np.diff(placed) >= 0.05 - 1e-12)
    assert np.mean(placed[:3]) == pytest.approx(0.11)
    np.testing.assert_allclose(placed[3:], heights[3:])


def test_command_prints_json_csv_or_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = ["compare", "four_bar", "--formulations", "augmented, ggl", "--t-end", "0.5"]
    assert answer([*base, "--json", "-o", str(tmp_path / "r.html")]) == 0
    data = json.loads(capsys.readouterr().out)
    assert set(data) == {"rows", "reference"}
    assert [set(row) for row in data["rows"]] == [ROW, ROW]
    assert (tmp_path / "r.html").exists()
    assert answer([*base, "--csv"]) == 0
    lines = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [line["formulation"] for line in lines] == ["augmented", "ggl"]
    assert float(lines[0]["distance"]) < 1e-5
    assert answer(base) == 0
    assert "distance" in capsys.readouterr().out
    assert answer([*base, "--json", "--csv"]) == 2
    assert answer([*base, "-o", str(tmp_path / "r.pdf")]) == 2
    assert answer([*base, "--formulations", "qrr"]) == 2


@pytest.mark.slow
def test_all_formulations_agree_on_redundant_24() -> None:
    """5 s at the tolerances of defalco2008: every coordinate within 1e-4 of the reference, none fails."""
    result = compare(load("redundant_24"))
    assert {row.formulation for row in result.rows} == set(usual_formulations())
    assert len({*usual_formulations()} - {"ggl"}) >= 12
    assert result.reference["error"] < 1e-9
    for row in result.rows:
        assert row.ok, row
        assert row.distance is not None
        assert row.distance < 1e-4, row
        assert row.position_error is not None
        assert row.position_error < 1e-13, row
