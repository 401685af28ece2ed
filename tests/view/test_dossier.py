"""The page about a mechanism: its numbers are those of the motion, and it needs nothing else."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import linkwork
from linkwork.errors import UsageError
from linkwork.view import dossier
from linkwork.view.dossier import html, worth_writing


def cells(page: str, heading: str) -> list[list[str]]:
    """The rows of the first table below a heading, as texts."""
    table = page.split(f"<h2>{heading}</h2>")[1].split("</table>")[0]
    rows = re.findall("<tr>(.*?)</tr>", table.split("<tbody>")[1])
    return [[unescape(cell) for cell in re.findall("<td[^>]*>(.*?)</td>", row)] for row in rows]


@pytest.fixture(scope="module")
def driven() -> tuple[linkwork.Model, linkwork.Trajectory, str]:
    model = linkwork.load("scissor_lift")
    motion = linkwork.kinematics(model)
    return model, motion, html(model, linkwork.check(model), motion, command="linkwork report scissor_lift")


def test_extremes_of_reactions_stand_with_their_times(
    driven: tuple[linkwork.Model, linkwork.Trajectory, str],
) -> None:
    """Least and largest value of every reaction, and when; at its time the value is what the table says."""
    _, motion, page = driven
    rows = {row[0]: row for row in cells(page, "Reactions and driving forces")}
    assert float(rows["driving:spindle"][2]) == pytest.approx(motion["driving:spindle"].min(), rel=1e-4)
    for name in ("reaction:A.x", "reaction:A.y", "driving:spindle"):
        _, _, least, t_least, largest, t_largest, _ = rows[name]
        assert np.interp(float(t_least), motion.t, motion[name]) == pytest.approx(float(least), rel=1e-3, abs=1e-6)
        assert np.interp(float(t_largest), motion.t, motion[name]) == pytest.approx(float(largest), rel=1e-3, abs=1e-6)
        assert float(least) <= motion[name].mean() <= float(largest)
    size = np.hypot(motion["reaction:A.x"], motion["reaction:A.y"])
    assert float(rows["|A|"][4]) == pytest.approx(size.max(), rel=1e-4)


def test_rows_beyond_the_most_that_are_shown_are_counted(
    driven: tuple[linkwork.Model, linkwork.Trajectory, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of five rows two are shown, and three are more."""
    monkeypatch.setattr(dossier, "MOST_ROWS", 2)
    rows = [[f"reaction:{k}", "N", "0", "0", "1", "1", ""] for k in "ABCDE"]
    page = dossier._extremes("Reactions", rows, driven[1])
    assert [row[0] for row in cells(page, "Reactions")] == ["reaction:A", "reaction:B"]
    assert page.endswith("<p>and 3 more</p>")
    assert "more" not in dossier._extremes("Reactions", rows[:2], driven[1])


def test_the_balance_of_energy(driven: tuple[linkwork.Model, linkwork.Trajectory, str]) -> None:
    """The load is raised by what the spindle supplies: m g h of platform and bars at the end."""
    model, _, page = driven
    rows = {row[0]: [float(x) for x in row[1:]] for row in cells(page, "Energy balance and accuracy")}
    p = model.parameters
    closed, opened = (np.sqrt(p["L"] ** 2 - x**2) for x in (p["closed"], p["open"]))
    # two bars at half a stage, two at one and a half, the platform at two stages
    risen = (p["load"] * 2.0 + p["m"] * (2 * 0.5 + 2 * 1.5)) * 9.81 * (opened - closed)
    assert rows["potential"][1] - rows["potential"][0] == pytest.approx(risen, rel=1e-5)
    assert rows["supplied"][1] == pytest.approx(risen, rel=1e-4)
    assert rows["kinetic"][1] == pytest.approx(0.0, abs=1e-9)  # at rest again


def test_start_angles_are_in_degrees(driven: tuple[linkwork.Model, linkwork.Trajectory, str]) -> None:
    """The bars of the lift rise from the horizontal by the angle whose cosine is closed/L."""
    model, motion, page = driven
    rows = {row[0]: row for row in cells(page.replace("<h3>Bodies</h3>", "<h2>Bodies</h2>"), "Bodies")}
    angles = {name: float(row[4]) for name, row in rows.items()}
    rise = np.degrees(np.arccos(model.parameters["closed"] / model.parameters["L"]))
    assert any(abs(abs(x) - rise) < 0.02 for x in angles.values())
    for name, angle in angles.items():
        assert angle == pytest.approx(np.degrees(motion[f"{name}.phi"][0]), rel=1e-4, abs=1e-6)


def test_the_page_needs_nothing_else(driven: tuple[linkwork.Model, linkwork.Trajectory, str]) -> None:
    """No script, no link, nothing loaded; pictures are part of it."""
    _, _, page = driven
    assert "<script" not in page
    assert not re.search('(?:src|href)="(?!#)', page)
    assert page.count("<svg") >= 4
    assert "linkwork report scissor_lift" in page
    assert "default-src 'none'" in page


def test_a_motion_writes_the_page_about_itself(
    driven: tuple[linkwork.Model, linkwork.Trajectory, str], tmp_path: Path
) -> None:
    """It has the tables of the page that is made of model and motion; a motion from a file lacks the model."""
    _, motion, page = driven
    motion.report(tmp_path / "lift.html")
    written = (tmp_path / "lift.html").read_text()
    for heading in ("Reactions and driving forces", "Energy balance and accuracy", "Bodies"):
        own, other = (x.replace("<h3>Bodies</h3>", "<h2>Bodies</h2>") for x in (written, page))
        assert cells(own, heading) == cells(other, heading)
    motion.save(tmp_path / "lift.csv")
    with pytest.raises(UsageError, match="does not hold its model"):
        linkwork.Trajectory.load(tmp_path / "lift.csv").report(tmp_path / "other.html")
    with pytest.raises(UsageError, match=r"the report is an \.html file"):
        motion.report(tmp_path / "lift.pdf")


def test_laws_of_forces_and_drivers_are_stated() -> None:
    """What a reader needs to have the same mechanism: numbers of the strut, the formula of the driver."""
    model = linkwork.loads("""
linkwork: 1
name: flap
parameters: {swing: 0.4}
ground: {points: {O: [0, 0], S: [1, 1]}}
bodies: {flap: {mass: 2, inertia: 0.1, position: [0.5, 0], points: {O: [-0.5, 0], A: [0.5, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: flap.O}}
drivers: {motor: {joint: O, motion: "swing*sin(2*pi*t)"}}
forces: {strut: {type: spring-damper, i: ground.S, j: flap.A, stiffness: 45 kN/m, damping: 3000, free_length: 0.5}}
""")
    page = html(model, linkwork.check(model), linkwork.kinematics(model, t_end=0.02))
    assert "stiffness 45000, damping 3000, free_length 0.5" in page
    assert "angle of O, expression swing*sin(2*pi*t)" in page


def test_redundant_reactions_are_marked() -> None:
    """Joints whose reactions are not unique say so, in the table of extremes too; equations are written if short."""
    model = linkwork.load("four_bar_redundant")
    checked = linkwork.check(model)
    assert worth_writing(checked)
    motion = linkwork.simulate(model, t_end=0.5)
    comparison = linkwork.compare(model, formulations=["qr"], t_end=0.1)
    page = html(model, checked, motion, linkwork.explain(model), comparison)
    marked = {row[0] for row in cells(page, "Reactions and driving forces") if row[-1] == "not unique"}
    assert marked >= {f"reaction:{j}.{part}" for j in ("B", "B2") for part in "xy"}
    assert not any(name.startswith(("reaction:O", "reaction:C.")) for name in marked)
    assert "<h2>Equations at the start</h2>" in page
    assert "<math" in page
    assert any(row[0] == "qr" for row in cells(page.replace('<div class="wide">', ""), "Formulations compared"))


def test_long_equations_are_left_out() -> None:
    """Twenty-four coordinates are too many to be written out."""
    assert not worth_writing(linkwork.check(linkwork.load("warsaw_problem12")))
