"""What helps newcomers at the command line: help with examples, completion, pages that open, tables for papers."""

from __future__ import annotations

import shlex
import webbrowser
from pathlib import Path
from typing import Any

import pytest
import typer
from commands import Answer
from robots import BAR, joint, link, robot

from linkwork import compare, load, simulate
from linkwork.cli import answer, app
from linkwork.view.comparison import TABLE, latex_table
from linkwork.view.page import built

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
EXAMPLES = [line for command in COMMANDS.values() for line in command.epilog.split("\n")]

needs_viewer = pytest.mark.skipif(not built(), reason="the viewer is not built: make viewer")


def words(line: str) -> list[str]:
    """Of a command line, up to where its output goes."""
    found = shlex.split(line)
    return found[: found.index(">")] if ">" in found else found


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files that the browser would show; others are written into an empty folder."""
    monkeypatch.chdir(tmp_path)
    seen: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda uri: seen.append(uri.rsplit("/", 1)[1]))
    return seen


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_ends_with_examples_of_it(name: str, linkwork: Answer) -> None:
    text = linkwork(name, "--help")
    head, examples = text.split("\nExamples:\n")
    for line in examples.rstrip("\n").split("\n"):
        assert line.startswith(f"  linkwork {name}"), line
    assert "{" not in head.split("\n")[0]  # placeholders as users write them
    assert "<list" not in head
    assert "Which" not in head


@pytest.mark.parametrize("line", EXAMPLES)
def test_examples_of_the_help_are_understood(line: str) -> None:
    """Every option exists and every value is of its kind."""
    _, name, *arguments = words(line)
    COMMANDS[name].make_context(name, arguments)


def test_a_newcomer_sees_few_options_of_run_first(linkwork: Answer) -> None:
    first, *groups = linkwork("run", "--help").split("\nOptions:\n")[1].split("\n\n")
    assert 6 <= first.count("  --") + first.count("  -o") <= 10
    assert [group.split(":")[0] for group in groups] == [
        "Start values",
        "Coordinates and methods",
        "Accuracy",
        "Other programs",
        "Examples",
    ]


@pytest.mark.slow
@needs_viewer
@pytest.mark.parametrize("name", COMMANDS)
def test_examples_of_the_help_run(name: str, opened: list[str], tmp_path: Path) -> None:
    chain = [joint("shoulder", "revolute", "base", "hand", (0, 0, 0), (0, 0, 0), (0, 1, 0), LIMIT)]
    chain += [joint("swing", "continuous", "base", "bar", (0, 0, 0), (0, 0, 0), (0, 1, 0))]
    parts = [link(body, 1.0, (0, 0, -0.3), (0, 0, 0), BAR) for body in ("hand", "bar")]
    Path("robot.urdf").write_text(robot(*parts, *chain), encoding="utf-8")
    motion = simulate(load("slider_crank"), t_end=0.2)
    motion.save("motion.nc")
    measured = [f"{t},{phi}" for t, phi in zip(motion.t, motion["crank.phi"], strict=True)]
    Path("measured.csv").write_text("\n".join(["t,crank.phi", *measured]), encoding="utf-8")
    for line in COMMANDS[name].epilog.split("\n"):
        if name not in ("dap", "studio"):  # which ask
            assert answer(words(line)[1:]) == 0, line
            assert ("--open" in line) == bool(opened)
            opened.clear()


LIMIT = '<limit lower="-2" upper="2" effort="50" velocity="1"/>'


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("linkwork che", "check"),
        ("linkwork run slider", "slider_crank"),
        ("linkwork run slider_crank --formulation udw", "udwadia-kalaba"),
        ("linkwork run slider_crank --coor", "--coordinates"),
        ("linkwork compare slider_crank --integrator ra", "radau5"),
        ("linkwork plot res", "result.nc"),
        ("linkwork view sub", "sub/"),
    ],
)
def test_a_shell_completes_commands_options_choices_mechanisms_and_files(
    words: str, expected: str, linkwork: Answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("result.nc").touch()
    Path("sub").mkdir()
    monkeypatch.setenv("_LINKWORK_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert expected in linkwork().split("\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_shown(shell: str, linkwork: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.completion._get_shell_name", lambda: shell)
    assert "_LINKWORK_COMPLETE" in linkwork("--show-completion")


def test_pictures_open_where_they_are_written(opened: list[str], linkwork: Answer) -> None:
    linkwork("run", "simple_pendulum", "--t-end", "0.1", "-o", "a.nc", "-o", "a.png", "--open")
    linkwork("plot", "a.nc", "--open", "-o", "b.svg")
    linkwork("explain", "simple_pendulum", "--open")
    assert opened == ["a.png", "b.svg", "simple_pendulum-explain.html"]
    assert "a.nc is none; add -o simple_pendulum.html [nothing-to-open]" in linkwork(
        "run", "simple_pendulum", "--t-end", "0.1", "-o", "a.nc", "--open", code=2
    )
    assert "--open goes with --all" in linkwork("assemble", "four_bar", "--open", code=2)


@pytest.mark.slow
def test_tables_are_written_for_papers(tmp_path: Path, linkwork: Answer) -> None:
    """A tabular with as many cells as headings in every row, and nothing that LaTeX takes for markup."""
    comparison = compare(load("simple_pendulum"), formulations=["augmented", "qr"], t_end=0.1)
    text = latex_table(comparison)
    rows = [line for line in text.split("\n") if line.endswith((r"\\", r"\\ \hline"))]
    assert len(rows) == 3
    assert all(row.count(" & ") == len(TABLE) - 1 for row in rows)
    assert r"largest |Psi\_dot|" in rows[0]
    assert "_" not in text.replace(r"\_", "").split(r"\begin")[1]
    motion = simulate(load("four_bar"), t_end=0.1)
    motion.save(tmp_path / "table.csv")
    said = motion.extremes("reaction:*").latex()
    assert said.count(r"\\") == len(motion.extremes("reaction:*")) + 1
    linkwork("compare", "four_bar", "--t-end", "0.1", "--with", tmp_path / "table.csv", "-o", tmp_path / "beside.tex")
    beside = (tmp_path / "beside.tex").read_text(encoding="utf-8")
    assert beside.count(r"\begin{tabular}") == 2
    assert "standard deviation" in beside
