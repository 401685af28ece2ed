"""Degrees and millimetres on the way out: what is looked at is in the units asked for, what is computed in SI."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from commands import Answer

import linkwork as lw
from linkwork.errors import LinkworkError, ModelError
from linkwork.view.page import _units
from linkwork.view.report import summary_lines

CRANK = """
linkwork: 1
name: crank
ground: {points: {O: [0, 0]}}
bodies: {crank: {mass: 2, inertia: 0.3, position: [0.5, 0], points: {O: [-0.5, 0], A: [0.5, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: crank.O}}
drivers: {motor: {joint: O, motion: pi/2*t}}
simulation: {t_end: 2, step: 0.01}
"""
IN_DEGREES = CRANK + "view: {units: [deg, mm]}\n"


def test_a_model_says_in_which_units_its_motions_are_shown(tmp_path: Path) -> None:
    """Arrays stay in SI; plots and summaries do not; files keep the wish."""
    motion = lw.kinematics(lw.loads(IN_DEGREES))
    assert motion["crank.phi"][-1] == pytest.approx(np.pi)
    assert motion.shown["crank.phi"][-1] == pytest.approx(180.0)
    for suffix in (".nc", ".csv"):
        motion.save(tmp_path / f"motion{suffix}")
        assert lw.Trajectory.load(tmp_path / f"motion{suffix}").info.units == ("deg", "mm")
    (axes,) = motion.plot("crank.phi").axes
    assert axes.get_ylabel() == "crank.phi [deg]"
    assert np.asarray(axes.lines[0].get_ydata())[-1] == pytest.approx(180.0)
    labels = [axes.get_ylabel() for axes in motion.plot().axes if axes.get_visible()]
    assert labels[:2] == ["crank.phi [deg]", "crank.omega [deg/s]"]
    assert "position [mm]" in labels
    plane = motion.plot("crank.A.y", against="crank.A.x").axes[0]
    assert plane.get_aspect() == 1.0
    lines = " ".join(text for _, text in summary_lines(motion))
    assert " 180 deg  rate " in lines
    assert " 90 deg/s" in lines
    assert " -500 mm " in lines


def test_without_a_wish_nothing_changes() -> None:
    motion = lw.kinematics(lw.loads(CRANK))
    assert motion.shown is motion
    assert not any(" deg " in text or "deg/s" in text for _, text in summary_lines(motion))
    assert motion.shown_in("deg").shown["crank.phi"][-1] == pytest.approx(180.0)
    assert motion.shown_in("deg").shown_in().shown["crank.phi"][-1] == pytest.approx(np.pi)


@pytest.mark.parametrize(("wish", "code"), [("[deg, rad]", "bad-value"), ("[degree]", "unknown-unit")])
def test_a_wish_that_cannot_be_is_refused_with_its_line(wish: str, code: str) -> None:
    with pytest.raises(ModelError) as caught:
        lw.loads(CRANK + f"view: {{units: {wish}}}\n")
    assert (caught.value.code, caught.value.path, caught.value.line) == (code, "view.units", 9)


def test_a_builder_keeps_the_wish() -> None:
    m = lw.PlanarModel("pendulum")
    m.fix(O=(0, 0))
    arm = m.body("arm", mass=1, inertia=0.1, position=(0.5, 0), points={"O": (-0.5, 0)})
    m.revolute("O", m.ground, arm)
    m.view = {"units": ["deg"]}
    assert "units: [deg]" in str(m)
    assert m.simulate(t_end=0.1).info.units == ("deg",)
    with pytest.raises(ModelError, match="no unit"):
        m.view = {"units": ["foo"]}


def test_commands_write_tables_in_these_units(linkwork: Answer, tmp_path: Path) -> None:
    (tmp_path / "crank.yaml").write_text(CRANK)
    file, table = tmp_path / "crank.nc", tmp_path / "crank.csv"
    said = linkwork("kinematics", tmp_path / "crank.yaml", "--units", "deg,mm", "-o", file, "-o", table)
    assert "180 deg" in " ".join(said.split())
    with table.open(encoding="utf-8") as rows:
        *_, last = csv.DictReader(rows)
    assert float(last["crank.phi [deg]"]) == pytest.approx(180.0)
    assert float(last["crank.A.x [mm]"]) == pytest.approx(-1000.0)
    assert float(last["torque:motor [N mm]"]) == pytest.approx(-2.0 * 9.81 * 500.0)
    assert "is not a result but a table" in linkwork("plot", table, code=3)
    assert "crank.phi deg" in " ".join(linkwork("plot", file, "--names").split())  # the file keeps the wish
    assert "crank.phi rev" in " ".join(linkwork("plot", file, "--names", "--units", "rev").split())
    assert "[bad-value]" in linkwork("plot", file, "--units", "deg,rad", code=2)


def test_the_report_has_largest_values_in_these_units(linkwork: Answer, tmp_path: Path) -> None:
    (tmp_path / "crank.yaml").write_text(CRANK)
    linkwork("report", tmp_path / "crank.yaml", "--units", "deg,kN", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    row = page.split("joint:O.angle</td>")[1].split("</tr>")[0]
    assert ">deg</td>" in row
    assert "180" in row
    assert ">kN</td>" in page.split("|O|</td>")[1].split("</tr>")[0]
    assert "--units deg,kN" in page


def test_the_page_can_be_switched() -> None:
    motion = lw.kinematics(lw.loads(CRANK))
    usual = _units(motion)
    assert (usual["names"], usual["shown"]) == ("deg, mm", False)
    assert usual["of"]["rad/s"] == ("deg/s", pytest.approx(180.0 / np.pi))
    assert usual["of"]["N m"] == ("N mm", pytest.approx(1000.0))
    wished = _units(motion.shown_in("rpm", "kN"))
    assert (wished["names"], wished["shown"]) == ("rpm, kN", True)
    assert wished["of"]["rad/s"] == ("rpm", pytest.approx(30.0 / np.pi))


def test_units_that_do_not_exist_are_refused_by_python() -> None:
    with pytest.raises(LinkworkError, match="no unit"):
        lw.kinematics(lw.loads(CRANK)).shown_in("degrees")
