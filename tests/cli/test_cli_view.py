"""The commands that show a mechanism: view, animate, report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from linkwork import load, simulate
from linkwork.cli import answer
from linkwork.view.page import built
from linkwork.view.plot import Panel, figure

needs_viewer = pytest.mark.skipif(not built(), reason="the viewer is not built: make viewer")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files without a folder are written here."""
    monkeypatch.chdir(tmp_path)


@needs_viewer
def test_view_takes_models_and_results(capsys: pytest.CaptureFixture[str]) -> None:
    """A model is simulated, or moved by its drivers; results go by their files; one page shows both."""
    assert answer(["view", "four_bar", "--t-end", "0.2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"files": ["four_bar.html"]}
    assert answer(["run", "four_bar", "--t-end", "0.2", "-o", "a.nc", "--html", "a.html"]) == 0
    assert answer(["run", "four_bar", "--t-end", "0.2", "--set", "a=0.9 m", "-o", "b.csv"]) == 0
    assert answer(["view", "a.nc", "b.csv", "-o", "both.html"]) == 0
    text = Path("both.html").read_text(encoding="utf-8")
    assert '"label":"a.nc"' in text
    assert '"label":"b.csv"' in text
    assert answer(["view", "quick_return"]) == 0
    assert '"kinematic, newton"' in Path("quick_return.html").read_text(encoding="utf-8")
    assert '"label":"four_bar"' in Path("a.html").read_text(encoding="utf-8")


@needs_viewer
def test_view_shows_how_far_a_motion_came(capsys: pytest.CaptureFixture[str]) -> None:
    """A mechanism that locks is shown up to there, and the exit code tells."""
    assert answer(["view", "slider_crank_driven", "--set", "l1=2", "--set", "l2=1.2", "-o", "until.html"]) == 4
    assert "until.html" in capsys.readouterr().err
    assert '"facts":["stopped"' in Path("until.html").read_text(encoding="utf-8")


def test_animate_writes_films_and_strips(capsys: pytest.CaptureFixture[str]) -> None:
    """A film as .gif, a strip of pictures as .png or .svg; what cannot be is refused before anything is computed."""
    assert answer(["animate", "simple_pendulum", "--t-end", "0.2", "--speed", "1"]) == 0
    assert Path("simple_pendulum.gif").read_bytes().startswith(b"GIF8")
    assert answer(["animate", "simple_pendulum", "--t-end", "0.2", "--film", "3", "-o", "strip.svg"]) == 0
    assert Path("strip.svg").read_text(encoding="utf-8").count("<!-- t = ") == 3
    capsys.readouterr()
    for arguments in (["--film", "0"], ["--speed", "-1"], ["-o", "film.avi"], ["--film", "3", "-o", "strip.gif"]):
        assert answer(["animate", "no_such_model", *arguments]) == 2
        assert "no_such_model" not in capsys.readouterr().err


@pytest.mark.slow
def test_report_writes_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    """One page, with the comparison if that is asked for, and how it was made."""
    arguments = ["report", "simple_pendulum", "--t-end", "0.5", "--set", "L=2 m", "--compare", "augmented,qr", "--json"]
    assert answer(arguments) == 0
    assert json.loads(capsys.readouterr().out) == {"files": ["simple_pendulum-report.html"]}
    text = Path("simple_pendulum-report.html").read_text(encoding="utf-8")
    assert "<h2>Formulations compared</h2>" in text
    assert "linkwork report simple_pendulum --set L=2 m --t-end 0.5" in text


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["view"], marks=needs_viewer),
        ["animate", "--film", "2"],
        ["report"],
        ["explain", "-o", "sheet.md"],
        ["compare", "--formulations", "augmented"],
    ],
    ids=lambda words: words[0],
)
@pytest.mark.sampled
def test_what_does_not_close_is_told_with_its_line_and_closed_on_request(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names --assemble, which every command takes that can meet it."""
    Path("open.yaml").write_text(
        "linkwork: 1\nground: {points: {O: [0, 0]}}\nsimulation: {t_end: 0.1, step: 0.05}\n"
        "bodies:\n  rod: {mass: 1, inertia: 0.1, position: [5, 1], points: {O: [-0.5, 0]}}\n"
        "joints:\n  O: {type: revolute, i: ground.O, j: rod.O}\n",
        encoding="utf-8",
    )
    assert answer([words[0], "open.yaml", *words[1:]]) == 3
    text = capsys.readouterr().err
    assert text.startswith("linkwork: open.yaml:7: joints.O: the start position does not fit")
    assert "--assemble" in text
    assert answer([words[0], "open.yaml", *words[1:], "--assemble"]) == 0


def test_curves_without_values_are_drawn_without_a_warning() -> None:
    """Reactions where accelerations are not finite: none of them covers another."""
    none = np.array([np.nan, np.nan])
    curves = {"A.x": none, "A.y": np.array([0.0, np.inf]), "B.x": none}
    drawn = figure(simulate(load("simple_pendulum"), t_end=0.01, step=0.01), panels=[Panel("N", curves)])
    assert len(drawn.axes[0].lines) == 3
