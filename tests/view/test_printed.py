"""Printed results: readable numbers, names without HTML, pictures of driven motions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import Answer
from published import REFERENCE
from rods import ROD

from linkwork import load
from linkwork.assembly.assemble import assemble
from linkwork.assembly.modes import modes
from linkwork.cli import answer
from linkwork.start.check import check

MODELS = REFERENCE / "trust"


@pytest.mark.diagonal
@pytest.mark.parametrize("name", ["=1+1`<img src=x onerror=alert(1)>`", "``<img src=x>`", "a`<b>", "<b>``c`"])
@pytest.mark.parametrize("command", [("explain", "-o"), ("equations", "--to", "markdown", "-o"), ("compare", "-o")])
def test_names_are_no_html_in_markdown(name: str, command: tuple[str, ...], tmp_path: Path, linkwork: Answer) -> None:
    """Without its code spans, which no name ends early, a page has neither a tag nor a backtick, escaped ones apart."""
    given = (MODELS / "markdown_name.yaml").read_text().replace("=1+1`<img src=x onerror=alert(1)>`", name)
    model, page = tmp_path / "x.yaml", tmp_path / "x.md"
    model.write_text(given.replace("name: n", f'name: "{name}"'))
    linkwork(command[0], model, *command[1:], page)
    text = re.sub(r"\\[\\`<]", "", page.read_text().replace("(<x.svg>)", ""))
    if command[0] == "explain":
        assert f"{name}.phi" in text
    text = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text, flags=re.DOTALL)
    assert not re.search(r"`|<[a-z/!?]", text)


def test_results_are_readable_when_printed() -> None:
    model = load("four_bar")
    for found, word in (
        (check(model), "freedom"),
        (assemble(model), "gap now"),
        (modes(model, ["crank.phi"]), "mode 1"),
    ):
        assert word in str(found)
        assert found._repr_html_().startswith(("<pre", "<div"))


def test_rounding_is_printed_as_zero(capsys: pytest.CaptureFixture[str]) -> None:
    """The slider of the slider-crank is guided along y = 0."""
    assert answer(["run", "slider_crank", "--t-end", "1"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "slider.y" in line)
    assert line.split()[-3:] == ["0", "rate", "0"]


def test_what_stands_still_is_printed_with_rates_of_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rod that is fixed: all angles and all rates are rounding."""
    file = tmp_path / "fixed.yaml"
    file.write_text(ROD.replace("revolute", "rigid"))
    assert answer(["run", str(file)]) == 0
    shown = [line.split()[-4:] for line in capsys.readouterr().out.splitlines() if " rate " in line]
    assert shown == [["rod.x", "0.5", "rate", "0"], ["rod.y", "0", "rate", "0"], ["rod.phi", "0", "rate", "0"]]


def test_a_picture_of_kinematics_shows_the_coupler_curve(tmp_path: Path) -> None:
    file = tmp_path / "curve.svg"
    assert answer(["kinematics", "four_bar_grashof", "--coupler", "coupler.P", "-o", str(file)]) == 0
    text = file.read_text()
    assert "coupler.P.x" in text
    assert "energy" not in text
