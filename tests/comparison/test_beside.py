"""Motions and costs beside tables of other programs."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from math import pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from published import REFERENCE

from linkwork.cli import answer
from linkwork.comparison import compare as comparing
from linkwork.comparison.beside import Beside, beside, read_table, times_of
from linkwork.comparison.compare import compare, read_published
from linkwork.driven.kinematics import kinematics
from linkwork.errors import Interrupted, ModelError, NumericalStop, UsageError
from linkwork.modelfile import load, loads
from linkwork.simulation.options import Ranked
from linkwork.simulation.simulate import simulate
from linkwork.trajectory import Trajectory
from linkwork.view.beside import figure

DATA = REFERENCE
ADAMS = DATA / "warsaw_problem12_adams.csv"
TURNING = """
linkwork: 1
name: crank
bodies: {crank: {mass: 1, inertia: 1, points: {O: [0, 0], P: [2, 0]}}}
ground: {points: {O: [0, 0]}}
joints: {O: {type: revolute, i: ground.O, j: crank.O}}
drivers: {motor: {joint: O, motion: 3*t}}
simulation: {t_end: 1, step: 0.1}
"""


@pytest.fixture(scope="module")
def turning() -> Trajectory:
    """A crank that turns with 3 rad/s; its point P goes round on a circle of radius 2."""
    return kinematics(loads(TURNING))


@pytest.fixture(scope="module")
def adams() -> Beside:
    return beside(kinematics(load("warsaw_problem12")), [read_table(ADAMS)])


def table_4() -> dict[str, dict[str, float]]:
    lines = [line for line in (DATA / "tartari2019_table4.csv").read_text().splitlines() if not line.startswith("#")]
    return {row.pop("point"): {k: float(x) for k, x in row.items()} for row in csv.DictReader(lines)}  # type: ignore[arg-type]


PARTS = ("x [m]", "y [m]", "vx [m/s]", "vy [m/s]", "ax [m/s^2]", "ay [m/s^2]")


@pytest.mark.parametrize("point", ["overall", "A", "D", "M", "C", "G"])
@pytest.mark.sampled
def test_standard_deviations_from_adams_are_those_published(adams: Beside, point: str) -> None:
    """[tartari2019, table 4], all digits but for rows that ADAMS rounded otherwise; with its row of all points."""
    owner = None if point == "overall" else next(name for name in adams.owners if name.endswith(f".{point}"))
    found = [adams.spread(owner, part) for part in PARTS]
    printed = list(table_4()[point].values())
    np.testing.assert_allclose([of.std for of in found if of], printed, rtol=2e-4)


def test_errors_against_adams_are_its_rounding(adams: Beside) -> None:
    """Seven digits: half a unit of the seventh, which of accelerations above 10 is 5e-6."""
    assert all(len(d.t) == 501 for d in adams.differences)
    assert "seems to be in" not in str(adams)  # not where a point rests, either
    for part in PARTS:
        of = adams.spread(None, part)
        assert of is not None
        assert of.largest < (5.01e-6 if part.startswith("a") else 5.01e-7)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("t,P_x,P_y\n0,2,0\n0.5,{x},{y}\n", {}),
        ("# remark\nTime [ms];crank.P.x [mm];crank P y (cm)\n0;2000;0\n500;{X};{Y}\n", {}),
        ("t\tu\tv\n0\t2\t0\n0.5\t{x}\t{y}\n", {"u": "crank.P.x", "v": "crank.P.y"}),
        ("t a_1 a_2\n0 -2 0\n0.5 -{x} {y}\n", {"a_1": "-crank.P.x", "a_2": "*.P.y"}),
        ("0 2 0\n0.5 {x} {y}\n", {"2": "crank.P.x", "3": "crank.P.y"}),
        (
            "one program\n\ns,P in x,P in y\n0,2,0\n0.5,{x},{y}\n",
            {"s": "t", "{} in x": "{}.x", "{} in y": "crank.{}.y"},
        ),
    ],
)
def test_columns_of_any_spelling_are_found(
    text: str, columns: dict[str, str], turning: Trajectory, tmp_path: Path
) -> None:
    """Names, units, signs and separators: what is left is the digits that were written."""
    x, y = 2 * np.cos(1.5), 2 * np.sin(1.5)
    file = tmp_path / "other.csv"
    file.write_text(text.format(x=f"{x:.9f}", y=f"{y:.9f}", X=f"{1e3 * x:.6f}".replace(".", ","), Y=f"{100 * y:.7f}"))
    of = beside(turning, [read_table(file, columns)], columns)
    assert [d.quantity for d in of.differences] == ["crank.P.x", "crank.P.y"]
    assert all(np.max(np.abs(d.values)) < 1e-9 for d in of.differences)
    assert [float(d.ours[1]) for d in of.differences] == pytest.approx([x, y], rel=1e-12)


def test_cells_without_a_number_are_counted(turning: Trajectory, tmp_path: Path) -> None:
    """One owner has no row of all together, which is then not explained; one column is one column."""
    (tmp_path / "holes.csv").write_text("t,P_x\n0,2\n0.1,\n0.2,nan\n0.3,\n")
    of = beside(turning, [read_table(tmp_path / "holes.csv")])
    said = str(of)
    assert "cells without a number are left out: P_x (3 of 4)" in said
    assert "1 column;" in said
    assert "all together" not in said
    assert of.as_dict()["columns"][0]["empty"] == 3


@pytest.mark.parametrize(
    ("heading", "values", "unit"),
    [
        ("P_x", lambda t: 2e3 * np.cos(3 * t), "mm"),
        ("P_y", lambda t: 2e2 * np.sin(3 * t), "cm"),
        ("P_vx", lambda t: -6e3 * np.sin(3 * t), "mm/s"),
        ("phi", lambda t: np.degrees(3 * t), "deg"),
        ("P_y", lambda t: 2e-3 * np.sin(3 * t), "km"),
        ("P_x", lambda t: 2.1 * np.cos(3 * t), None),  # a mechanism of other dimensions
        ("P_x", lambda t: 2 * np.cos(3 * t), None),
        ("P_x", lambda t: 1e3 * np.cos(17 * t), None),  # another motion, in whatever unit
    ],
)
def test_a_unit_that_was_not_written_is_guessed(
    heading: str, values: Any, unit: str | None, turning: Trajectory, tmp_path: Path
) -> None:
    t = np.linspace(0.0, 1.0, 11)
    rows = [f"{a:.1f},{x:.9f}" for a, x in zip(t, values(t), strict=True)]
    (tmp_path / "other.csv").write_text("\n".join([f"t,{heading}", *rows]))
    of = beside(turning, [read_table(tmp_path / "other.csv")])
    assert of.likely_unit(of.differences[0]) == unit
    assert ("seems to be in" in str(of)) == (unit is not None)


def test_whole_turns_and_rows_outside_the_motion_are_said(turning: Trajectory, tmp_path: Path) -> None:
    """3 t rad, which another program counts from -pi to pi, from 0.2 s before to 0.2 s behind the motion of 1 s."""
    assert turning.t[-1] == 1.0
    t = np.linspace(-0.2, 1.2, 15)
    angle = 3 * t + 20 * pi - 0.5  # a turned scale: the whole turns are taken out, the half radian is not
    wrapped = np.angle(np.exp(1j * angle))
    (tmp_path / "other.csv").write_text(
        "\n".join(["t,phi", *(f"{a:.1f},{x:.9f}" for a, x in zip(t, wrapped, strict=True))])
    )
    of = beside(turning, [read_table(tmp_path / "other.csv")])
    (d,) = of.differences
    assert d.values == pytest.approx(np.full(11, 0.5), abs=1e-8)
    assert of.likely_unit(d) is None
    assert of.outside == {"other": 4}
    rows = [f"{a:.1f},{x:.9f}" for a, x in zip(t, angle, strict=True)]
    (tmp_path / "other.csv").write_text("\n".join(["t,phi", *rows]))
    of = beside(turning, [read_table(tmp_path / "other.csv")])
    assert of.differences[0].turned == 11
    assert "phi: whole turns taken from 11 rows" in str(of)
    assert "4 rows of other outside of the motion, 0 s to 1 s, left out" in str(of)


def test_legends_name_all_that_is_drawn(turning: Trajectory, tmp_path: Path) -> None:
    """The angle of the crank and places of its point stand in different axes."""
    (tmp_path / "other.csv").write_text("t,phi,P_x\n0,0,2\n1,3,-1.98\n")
    (legend,) = figure(beside(turning, [read_table(tmp_path / "other.csv")])).legends
    assert [text.get_text() for text in legend.get_texts()] == ["crank", "crank.P"]


def test_units_that_do_not_exist_are_named(turning: Trajectory, tmp_path: Path) -> None:
    file = tmp_path / "other.csv"
    file.write_text("t,P_x [mmm],other (2)\n0,2,1\n1,2,1\n")
    with pytest.raises(UsageError, match=r"column 'P_x \[mmm\]' of 'other': no unit 'mmm'"):
        beside(turning, [read_table(file)])
    columns = {"P_x [mmm]": "crank.P.x"}
    assert beside(turning, [read_table(file)], columns).left_out == ("other (2)",)
    file.write_text("time (sec),P_x\n0,2\n1,2\n")
    with pytest.raises(UsageError, match=r"no unit 'sec'.*=t"):
        read_table(file)


def test_angles_in_degrees_and_a_second_table(turning: Trajectory, tmp_path: Path) -> None:
    """Two tables with columns of one name are told apart by the names of the files."""
    (tmp_path / "pos.csv").write_text(f"t,a (deg)\n0,0\n1,{3 * 180 / pi:.12f}\n")
    (tmp_path / "vel.csv").write_text("t,a [rad/s]\n0,3\n1,3\n")
    columns = {"pos:a": "crank.phi", "vel:a": "crank.omega"}
    of = beside(turning, [read_table(tmp_path / name) for name in ("pos.csv", "vel.csv")], columns)
    assert [(d.table, d.quantity) for d in of.differences] == [("pos", "crank.phi"), ("vel", "crank.omega")]
    assert all(np.max(np.abs(d.values)) < 1e-11 for d in of.differences)


def test_between_report_times_the_error_of_interpolation_is_said(turning: Trajectory, tmp_path: Path) -> None:
    """2 cos 3t by cubic splines: the error that is stated is that from the circle, within a factor of four."""
    t = np.array([0.0, 0.44, 0.48])
    lines = [f"{time},{float(2 * np.cos(3 * time))!r}" for time in t.tolist()]
    (tmp_path / "odd.csv").write_text("\n".join(["t,P_x", *lines]))
    table = read_table(tmp_path / "odd.csv")
    of = beside(turning, [table])
    (stated,) = (of.interpolation or {}).values()
    off = float(np.max(np.abs(of.differences[0].values)))
    assert off < 4 * stated < 40 * off
    assert "interpolated" in str(of)
    assert times_of([table]) == (0.48, pytest.approx(0.04))
    assert beside(kinematics(loads(TURNING), step=0.04), [table]).interpolation == {}


@pytest.mark.parametrize(
    ("text", "columns", "code"),
    [
        ("u,P_x\n0,1\n1,2\n", {}, "no-times"),
        ("t,P_x\n0,1\n0,2\n", {}, "bad-table"),
        ("t,P_x\n0,1\n1,2,3\n", {}, "bad-table"),
        ("t,P_x\n0,1\n1,two\n", {}, "bad-table"),
        ("nothing here\n", {}, "bad-table"),
        ("t,P_x,P_x\n0,1,1\n1,2,2\n", {}, "duplicate-name"),
        ("t,P_x [kg]\n0,1\n1,2\n", {}, "unit-mismatch"),
        ("t,y\n0,1\n1,2\n", {}, "ambiguous-column"),
        ("t,Q\n0,1\n1,2\n", {}, "no-columns"),
        ("t,P_x\n0,1\n1,2\n", {"P_z": "crank.P.x"}, "unknown-column"),
        ("t,P_x\n0,1\n1,2\n", {"P_x": "crank.Q.x"}, "unknown-quantity"),
        ("t,P_x\n5,1\n6,2\n", {}, "no-times"),
    ],
)
def test_tables_without_meaning_are_refused(
    text: str, columns: dict[str, str], code: str, turning: Trajectory, tmp_path: Path
) -> None:
    (tmp_path / "other.csv").write_text(text)
    with pytest.raises((ModelError, UsageError)) as refused:
        beside(turning, [read_table(tmp_path / "other.csv", columns)], columns)
    assert refused.value.code == code


@pytest.mark.slow
def test_results_of_linkwork_are_tables_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The pendulum by two formulations: `compare`, `kinematics` and `plot` read what `run` wrote."""
    for suffix in ("nc", "csv"):
        simulate(load("four_bar"), t_end=0.5, formulation="qr").save(tmp_path / f"qr.{suffix}")
        command = ["compare", "four_bar", "--formulations", "svd", "--with", str(tmp_path / f"qr.{suffix}")]
        assert answer([*command, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert {"crank.phi", "reaction:B.x"} < {row["quantity"] for row in found["columns"]}
        assert all(row["largest"] < 1e-9 for row in found["columns"] if row["unit"] in ("m", "rad"))
    assert answer(["plot", str(tmp_path / "qr.nc"), "*.phi", "--with", str(tmp_path / "qr.csv")]) == 0
    assert (tmp_path / "qr.png").stat().st_size > 10_000
    assert answer(["plot", str(tmp_path / "qr.nc"), "t", "--with", str(tmp_path / "qr.csv")]) == 2


def test_commands_take_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The times of the table are those of the motion, unless others are given; pictures show both."""
    t = np.arange(5) * 0.05
    (tmp_path / "other.csv").write_text("\n".join(["t,P_x", *(f"{x:.2f},{2 * np.cos(3 * x):.6f}" for x in t)]))
    (tmp_path / "crank.yaml").write_text(TURNING)
    command = ["kinematics", str(tmp_path / "crank.yaml"), "--with", str(tmp_path / "other.csv"), "--json"]
    assert answer([*command, "-o", str(tmp_path / "k.png")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["t_end"], found["step"]) == (0.2, 0.05)
    assert found["beside"]["columns"][0]["largest"] < 5.1e-7
    assert found["beside"]["overall"]["x [m]"]["number"] == 5
    command = ["compare", str(tmp_path / "crank.yaml"), "--with", str(tmp_path / "other.csv")]
    assert answer([*command, "--csv"]) == 0
    assert capsys.readouterr().out.startswith(
        "table,column,quantity,unit,number,largest,mean,std\nother,P_x,crank.P.x,m,5,"
    )
    assert answer([*command, "-o", str(tmp_path / "r.html"), "-o", str(tmp_path / "r.md")]) == 0
    assert all((tmp_path / name).read_text().count("<svg") == 1 for name in ("r.html", "r.svg"))
    assert "| standard deviation | x" in (tmp_path / "r.md").read_text()
    assert answer([*command, "--rtol", "1e-6"]) == 2  # drivers alone move it
    assert answer(["kinematics", str(tmp_path / "crank.yaml"), "--column", "a=b"]) == 2


def test_published_costs_stand_beside_ours(capsys: pytest.CaptureFixture[str]) -> None:
    """[pennestri2004, table 6]: its ratio 16/20, and ours; what has no counterpart here is shown too."""
    table = str(DATA / "pennestri2004_table6.csv")
    command = ["compare", "four_bar_redundant", "--integrator", "radau5", "--t-end", "0.1", "--with", table]
    assert answer([*command, "--formulations", "index-3,svd"]) == 0
    lines = {line.split("  ")[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    assert lines["NumDyn3D with SVD"][3:6] == ["svd", "16", "0.8"]
    assert len(lines["NumDyn3D with SVD"]) == 8
    assert lines["Working Model 3D"][3:5] == ["30", "1.5"]


def test_published_costs_are_read_with_their_gaps(tmp_path: Path) -> None:
    """[defalco2008]: ten methods, of which one fails."""
    rows = read_published(DATA / "defalco2008_table.csv")
    assert rows is not None
    assert [row.name for row in rows if not row.values] == ["SVD"]
    assert rows[1].values == {"integration_s": 128.0, "evaluations": 1846.0, "solver_s": 0.47}
    assert read_published(ADAMS) is None
    for text, code in (
        ("formulation,steps\nqrr,1", "unknown-formulation"),
        ("formulation,time\nqr,1", "unknown-column"),
    ):
        (tmp_path / "costs.csv").write_text(text)
        with pytest.raises(UsageError) as refused:
            read_published(tmp_path / "costs.csv")
        assert refused.value.code == code
    (tmp_path / "costs.csv").write_text("formulation,steps\nqr,many")
    with pytest.raises(ModelError, match="many"):
        read_published(tmp_path / "costs.csv")


def test_parts_that_cannot_be_told_apart_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluations that seem to take longer than the whole run are no part of it, and the text says so."""

    def slowly(*arguments: Any, **settings: Any) -> Trajectory:
        motion = simulate(*arguments, **settings)
        return replace(motion, info=replace(motion.info, evaluation_s=1.0))

    monkeypatch.setattr(comparing, "simulate", slowly)
    found = compare(load("four_bar"), formulations=["augmented"], t_end=0.1)
    (row,) = found.rows
    assert (row.formulation_s, row.solver_s) == (None, None)
    assert "could not be told apart: augmented" in str(found)


def test_one_evaluation_is_measured_at_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of some report times is timed as it is; its evaluations where as many states make the call small."""

    def timed(*arguments: Any, **settings: Any) -> Trajectory:
        motion = simulate(*arguments, **settings)
        many = len(motion.t) >= comparing.STATES
        times = {"integration_s": 7.0, "evaluation_s": 1e-3} if many else {"integration_s": 0.1, "evaluation_s": 3.0}
        return replace(motion, info=replace(motion.info, **times))

    monkeypatch.setattr(comparing, "simulate", timed)
    (row,) = compare(load("four_bar"), formulations=["augmented"], t_end=0.1).rows
    assert row.evaluations is not None
    assert row.formulation_s == pytest.approx(1e-3 * row.evaluations)
    assert row.solver_s == pytest.approx(0.1 - 1e-3 * row.evaluations)


def test_an_interrupt_leaves_the_rows_that_are_finished(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ended(*arguments: Any, **settings: Any) -> Trajectory:
        if settings["formulation"] == "ggl":
            raise Interrupted("interrupted at t = 0.1 of 0.5")
        return simulate(*arguments, **settings)

    monkeypatch.setattr(comparing, "simulate", ended)
    command = ["compare", "four_bar", "--t-end", "0.5", "--csv", "--formulations"]
    assert answer([*command, "qr,svd,ggl,schur"]) == 130
    said = capsys.readouterr()
    assert [line.split(",")[:2] for line in said.out.splitlines()[1:]] == [["qr", "ok"], ["svd", "ok"]]
    assert "the comparison was interrupted" in said.err
    assert answer([*command, "ggl,schur"]) == 130
    assert capsys.readouterr().out == ""


def test_a_rank_tolerance_decides_which_rows_hold() -> None:
    """1e-6 as in [defalco2008] changes nothing; with 0.9 of the largest, rows are given up and the links come apart."""
    model = load("four_bar")
    usual = simulate(model, formulation="qr", t_end=0.2)
    tight = simulate(model, formulation=Ranked("qr", 1e-6), t_end=0.2)
    np.testing.assert_allclose(tight.q, usual.q, atol=1e-12)
    with pytest.raises(NumericalStop, match="contradict the constraints"):
        simulate(model, formulation=Ranked("qr", 0.9), t_end=0.2, stabilization="none")
    for wrong in (Ranked("augmented", 1e-6), Ranked("qr", 0.0), Ranked("qr", 1.0)):
        with pytest.raises(UsageError):
            simulate(model, formulation=wrong)
    rows = compare(model, formulations=["augmented", "qr"], t_end=0.2, rank_tolerance=1e-6).rows
    assert all(row.ok for row in rows)
