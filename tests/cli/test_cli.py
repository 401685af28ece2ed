"""The command line: what it prints, what it writes, how it ends."""

from __future__ import annotations

import io
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Answer
from slices import with_slow

from linkwork import __version__, check, compare, mechanisms, resultfile
from linkwork.cli import overrides
from linkwork.errors import Interrupted, UsageError
from linkwork.formulations import FORMULATIONS
from linkwork.integrators.methods import integrators
from linkwork.modelfile import load, shipped
from linkwork.simulation import simulate as simulation
from linkwork.simulation.judgement import refuse_doubtful
from linkwork.simulation.options import STABILIZATIONS
from linkwork.simulation.simulate import simulate
from linkwork.trajectory import Trajectory
from linkwork.view.comparison import as_text
from linkwork.view.report import aligned, check_lines, mechanism_lines, progress, source_lines, summary_lines

COMMAND = [sys.executable, "-m", "linkwork"]

# An arm whose point is drawn along until the arm is stretched at t = 1: there the motion ends.
STRETCHED = """\
linkwork: 1
name: stretched
gravity: [0, 0]
ground: {points: {O: [0, 0], H: [3, 0]}}
bodies:
  arm: {mass: 1, inertia: 1, angle: "acos((10 - 11)/6)", points: {O: [0, 0], P: [1, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: arm.O}
drivers:
  ram: {i: ground.H, j: arm.P, motion: "sqrt(11) + (4 - sqrt(11))*t"}
simulation: {t_end: 2, step: 0.01}
"""


@pytest.fixture
def stretched(tmp_path: Path) -> Path:
    path = tmp_path / "stretched.yaml"
    path.write_text(STRETCHED, encoding="utf-8")
    return path


def test_help_names_the_commands(linkwork: Answer) -> None:
    text = linkwork("--help")
    assert all(f"\n  {name} " in text for name in ("list", "check", "run", "plot", "schema"))
    assert linkwork() == text


def test_help_of_run_names_every_choice(linkwork: Answer) -> None:
    text = " ".join(linkwork("run", "--help").split())
    for choices in (FORMULATIONS, STABILIZATIONS, integrators()):
        assert ",".join(choices) in text.replace(" ", "")  # lines may be broken at hyphens
    assert "[default: auto]" in text
    assert "inspect" not in text
    assert " ".join(linkwork("run", "--help").split()) == text  # also when asked again in the same process


def test_version(linkwork: Answer) -> None:
    assert linkwork("--version") == f"linkwork {__version__}\n"


def test_list_gives_name_space_source_and_checked_number(linkwork: Answer) -> None:
    entries = linkwork.data("list")["mechanisms"]
    assert [entry["name"] for entry in entries] == list(shipped())
    for entry in entries:
        assert set(entry) == {"name", "space", "title", "source", "checked"}
        assert entry["space"] in ("planar", "spatial")
        assert entry["source"]
        assert isinstance(entry["checked"]["value"], float)
    text = linkwork("list")
    assert all(name in text for name in shipped())
    one = linkwork("list", "slider_crank")
    assert "Zhou" in one
    assert "crank.phi = 0.2629316601 at t = 1 s" in one
    assert "four_bar" not in one
    assert "did you mean 'four_bar'?" in linkwork("list", "fourbar", code=2)


def test_schema_is_a_json_schema(linkwork: Answer) -> None:
    schema = json.loads(linkwork("schema"))
    assert schema == linkwork.data("schema")
    assert schema["$schema"].startswith("https://json-schema.org/")
    spaces = [schema["$defs"][space["$ref"].rsplit("/", 1)[1]] for space in schema["anyOf"]]
    *spaces, stated = spaces
    assert len(spaces) == 2  # planar and spatial
    assert all({"bodies", "joints", "drivers", "forces"} <= set(space["properties"]) for space in spaces)
    assert "equations" in stated["properties"]
    assert "bodies" not in stated["properties"]


def test_check_counts_and_shows_what_was_corrected(linkwork: Answer, stretched: Path) -> None:
    data = linkwork.data("check", "slider_crank")
    assert (data["bodies"], data["coordinates"], data["constraints"], data["dof"]) == (3, 9, 8, 1)
    text = linkwork("check", stretched)
    # d^2 = 10 - 6 cos(phi), so the arm must turn with d d_dot / (3 sin(phi)).
    rate = np.sqrt(11) * (4 - np.sqrt(11)) / (3 * np.sin(np.arccos(-1 / 6)))
    assert f"arm.phi by +{rate:.6g} per second" in text


# run


def test_check_says_which_bodies_a_freedom_moves(linkwork: Answer, tmp_path: Path) -> None:
    """In the horizontal slider-crank the slider moves along x alone; without the joint B it is a freedom of its own."""
    whole = linkwork.data("check", "slider_crank", "--start", "O=30deg")["motions"]
    assert len(whole) == 1
    assert re.fullmatch(r"'crank' along .* and turning, 'rod' along .* and turning, 'slider' along x", whole[0])
    text = (Path(mechanisms.__path__[0]) / "slider_crank.yaml").read_text(encoding="utf-8")
    cut = tmp_path / "cut.yaml"
    cut.write_text(re.sub(r"\n  B: .*", "", text), encoding="utf-8")
    assert "'slider' along x" in linkwork.data("check", cut)["motions"]
    assert "'slider' along x\n" in linkwork("check", cut)


@pytest.mark.slow
def test_a_sketch_is_closed_for_every_command_that_moves_it(linkwork: Answer, tmp_path: Path) -> None:
    """Explained from a sketch, the accelerations are those of the closed mechanism."""
    text = (Path(mechanisms.__path__[0]) / "slider_crank.yaml").read_text(encoding="utf-8")
    sketch = tmp_path / "sketch.yaml"
    sketch.write_text(text.replace("position: [l1 + l2, 0]", "position: [2, 0]"), encoding="utf-8")
    assert "or close wider gaps with --assemble [start-far-off]" in linkwork("explain", sketch, code=3)
    closed = tmp_path / "closed.yaml"
    linkwork("assemble", sketch, "-o", closed)
    expected, found = (linkwork.data("explain", *how)["a"] for how in ((closed,), (sketch, "--assemble")))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_run_prints_the_summary_as_one_json_object(linkwork: Answer) -> None:
    """The crank angle of the slider-crank of Zhou, Jeffrey, Reid at t = 1, and errors at rounding."""
    data = linkwork.data("run", "slider_crank", "--t-end", "1", "--rtol", "1e-12", "--atol", "1e-12")
    settings = ("model", "coordinates", "formulation", "stabilization", "integrator", "rtol", "atol", "t_end")
    assert {*settings, "steps", "rejected", "evaluations", "compile_s", "wall_s", "dof", "redundant"} <= set(data)
    assert {"final", "constraint_error", "energy", "status", "versions", "notes"} <= set(data)
    assert (data["model"], data["rtol"], data["t_end"], data["dof"]) == ("slider_crank", 1e-12, 1.0, 1)
    assert data["final"]["t"] == 1.0
    assert data["final"]["q"]["crank.phi"] == pytest.approx(0.2629316601282817, abs=1e-9)
    assert data["final"]["v"]["crank.phi"] == pytest.approx(-0.4375210779891946, abs=1e-9)
    assert data["constraint_error"]["position"] <= 1e-14
    assert data["constraint_error"]["velocity"] <= 1e-13
    assert data["energy"]["max_drift"] <= 1e-9
    assert data["status"] == "finished"


def test_options_reach_the_simulation(linkwork: Answer) -> None:
    options = {"t-end": 0.5, "step": 0.1, "rtol": 1e-5, "atol": 1e-6, "stabilization": "none", "integrator": "dopri5"}
    data = linkwork.data("run", "slider_crank", *(str(x) for k, v in options.items() for x in (f"--{k}", v)))
    assert {name: data[name.replace("-", "_")] for name in options} == options
    assert data["constraint_error"]["position"] > 1e-13
    with_units = linkwork.data("run", "slider_crank", "--t-end", "500ms", "--step", "0.1 s")
    assert (with_units["t_end"], with_units["step"]) == (0.5, 0.1)
    assert "'2 m' is of kind length, not time" in linkwork("run", "slider_crank", "--t-end", "2 m", code=2)


def test_set_changes_parameters(linkwork: Answer) -> None:
    """Under weight alone, twice the masses and inertias move alike, and a longer crank does not."""
    run = ("run", "slider_crank", "--t-end", "0.5")
    values = linkwork.data(*run)
    doubled = {name: 2.0 * values["parameters"][name] for name in ("m1", "m2", "m3", "J1", "J2")}
    heavy = linkwork.data(*run, *(x for name, value in doubled.items() for x in ("--set", f"{name}={value}")))
    assert heavy["parameters"] == {**values["parameters"], **doubled}
    assert heavy["final"]["q"] == pytest.approx(values["final"]["q"], abs=1e-7)
    longer = linkwork.data(*run, "--set", "l1=1100 mm")
    assert longer["parameters"]["l1"] == 1.1
    assert abs(longer["final"]["q"]["crank.phi"] - values["final"]["q"]["crank.phi"]) > 1e-3


def test_run_writes_files_and_says_where(linkwork: Answer, tmp_path: Path) -> None:
    files = [tmp_path / f"motion{suffix}" for suffix in (".nc", ".csv", ".png")]
    text = linkwork(
        "run", "slider_crank", "--t-end", "0.2", "--step", "0.01", *(x for file in files for x in ("-o", file))
    )
    assert all(f"written {file}" in " ".join(text.split()) for file in files)
    assert sorted(tmp_path.iterdir()) == sorted([*files, tmp_path / "motion.csv.json"])
    one, other = (Trajectory.load(file) for file in files[:2])
    assert one.status == other.status == "finished"
    np.testing.assert_array_equal(one.q, other.q)
    assert len(one.t) == 21
    for word in ("crank.phi", "drift", "|Psi|", "steps", "auto"):
        assert word in text


def test_quantities_of_a_run_fit_their_names(linkwork: Answer, tmp_path: Path) -> None:
    """Velocities and accelerations are the rates of what their names say, to the error of central differences."""
    linkwork("run", "slider_crank", "--t-end", "0.5", "--step", "0.001", "-o", tmp_path / "m.nc")
    motion = Trajectory.load(tmp_path / "m.nc")
    for value, rate, second in (("crank.phi", "crank.omega", "crank.alpha"), ("crank.A.x", "crank.A.vx", "crank.A.ax")):
        for name, slope in ((value, rate), (rate, second)):
            np.testing.assert_allclose(np.gradient(motion[name], motion.t)[1:-1], motion[slope][1:-1], atol=1e-5)
    assert motion.quantity("reaction:O.x").unit == "N"


# refusals


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["frob"], 2, "usage"),
        (["run"], 2, "usage"),
        (["run", "slider_crank", "--frob"], 2, "usage"),
        (["run", "slider_crank", "--rtol", "small"], 2, "usage"),
        (["run", "slider_crnk"], 2, "no-such-model"),
        (["run", "none.yaml"], 2, "no-such-file"),
        (["run", "slider_crank", "--formulation", "augmentd"], 2, "unknown-formulation"),
        (["run", "slider_crank", "--integrator", "rk"], 2, "unknown-integrator"),
        (["run", "slider_crank", "--stabilization", "glue"], 2, "unknown-stabilization"),
        (["run", "slider_crank", "--weights", "lead"], 2, "unknown-weights"),
        (["run", "slider_crank", "--set", "m1"], 2, "bad-set"),
        (["run", "slider_crank", "--set", "m1=1", "--set", "m1=2"], 2, "bad-set"),
        (["run", "slider_crank", "--set", "nothing=1"], 2, "unknown-parameter"),
        (["run", "slider_crank", "--set", "m1=-1"], 3, "negative-mass"),
        (["run", "slider_crank", "--t-end", "nan"], 2, "bad-t-end"),
        (["run", "slider_crank", "--step", "0"], 2, "bad-report-step"),
        (["run", "slider_crank", "--rtol", "0"], 2, "bad-tolerance"),
        (["run", "slider_crank", "-o", "motion.xls"], 2, "unknown-suffix"),
        (["plot", "none.nc"], 2, "no-such-file"),
        (["plot", "none.xyz"], 2, "unknown-suffix"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_refusals_have_a_code_and_an_exit_code(arguments: list[str], code: int, error: str, linkwork: Answer) -> None:
    """One message on standard error; with --json, the same as an object on standard output and nothing else."""
    text = linkwork(*arguments, code=code)
    assert text.startswith("linkwork: ")
    assert f"[{error}]" in text
    data = linkwork.data(*arguments, code=code)
    assert data["error"]["code"] == error
    assert data["error"]["message"] in text.replace("linkwork: ", "")


def test_all_errors_of_a_model_are_shown_with_their_places(linkwork: Answer, stretched: Path) -> None:
    wrong = STRETCHED.replace("type: revolute", "type: revolut").replace("mass: 1", "mas: 1")
    stretched.write_text(wrong, encoding="utf-8")
    text = linkwork("check", stretched, code=3)
    assert f"{stretched}:6: " in text
    assert f"{stretched}:8: " in text
    errors = linkwork.data("run", stretched, code=3)["error"]["errors"]
    assert {error["line"] for error in errors} == {6, 8}
    assert all(error["path"] and error["file"] == str(stretched) for error in errors)


def test_a_place_that_cannot_be_written_is_found_before_the_run(
    linkwork: Answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder, a missing folder, a file in the place of a folder, a read-only file: nothing is simulated."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("simulated")

    monkeypatch.setattr("linkwork.simulation.simulate.simulate", never)
    (tmp_path / "folder.nc").mkdir()
    (tmp_path / "file").write_text("kept")
    (tmp_path / "fixed.csv").write_text("kept")
    (tmp_path / "fixed.csv").chmod(0o400)
    for name, error in (
        ("folder.nc", "output-is-folder"),
        ("missing/motion.nc", "output-no-folder"),
        ("file/motion.csv", "output-no-folder"),
        ("fixed.csv", "output-read-only"),
    ):
        text = linkwork("run", "slider_crank", "-o", tmp_path / name, code=2)
        assert f"[{error}]" in text
        assert str(tmp_path / name) in text
    assert (tmp_path / "fixed.csv").read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "fixed.csv", "folder.nc"]


def test_the_other_files_are_written_when_one_cannot_be(
    linkwork: Answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise UsageError("cannot write: no space is left there", "disk-full")

    monkeypatch.setattr("linkwork.view.plot.save", full)
    first, second = tmp_path / "motion.png", tmp_path / "motion.csv"
    text = linkwork("run", "simple_pendulum", "--t-end", "0.1", "-o", first, "-o", second, code=2)
    assert "[disk-full]" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["motion.csv", "motion.csv.json"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a place that is always full")
@pytest.mark.parametrize("arguments", [["schema"], ["--version"]])
def test_an_answer_that_cannot_be_written_is_an_error(arguments: list[str]) -> None:
    """More than the buffer of standard output holds fails at once, less when the program ends."""
    with open("/dev/full", "w") as full:
        ended = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == "linkwork: cannot write the answer: No space left on device [output-failed]\n"


def test_overrides_are_name_and_value() -> None:
    assert overrides(["l1=2 m", " a = b=c "]) == {"l1": "2 m", "a": "b=c"}
    assert overrides(None) == {}
    for text in ("l1", "=1", "l1=", ""):
        with pytest.raises(UsageError, match="NAME=VALUE"):
            overrides([text])


# runs cut short


def test_a_numerical_stop_keeps_what_was_computed(linkwork: Answer, stretched: Path, tmp_path: Path) -> None:
    """The arm is stretched at t = 1: exit code 4, the motion until there is saved and says that it was stopped."""
    file = tmp_path / "motion.nc"
    text = linkwork("run", stretched, "-o", file, code=4)
    assert f"is in {file}" in text
    motion = Trajectory.load(file)
    assert motion.status == "stopped"
    assert motion.info.reason
    assert 0.98 <= motion.t[-1] <= 1.0
    data = linkwork.data("run", stretched, "-o", file, code=4)
    assert data["error"]["files"] == [str(file)]
    assert data["partial"]["status"] == "stopped"
    assert 0.98 <= data["partial"]["final"]["t"] <= 1.0
    assert "was not saved; -o FILE saves it" in linkwork("run", stretched, code=4)


@pytest.mark.parametrize("columns", [40, 60])
def test_a_narrow_terminal_breaks_no_figure(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed in 40 columns are the words and figures that are printed in many."""
    motion, report = simulate(load("slider_crank"), t_end=0.2), check(load("redundant_24"))
    entry = {"name": "a_long_name_of_a_mechanism", "space": "planar", "title": "1e-09 " * 20, "source": "2e-09 " * 20}
    listed = mechanism_lines([entry]), source_lines({**entry, "checked": None})
    for lines in (summary_lines(motion), check_lines(report), *listed):
        narrow = aligned(lines, columns)
        assert max(map(len, narrow.splitlines())) <= columns
        assert narrow.split() == aligned(lines).split()
    compared = compare(load("slider_crank"), formulations=["augmented", "udwadia-phohomsiri"], t_end=0.1)
    monkeypatch.setattr("linkwork.view.comparison.terminal_columns", lambda: columns)
    narrow = re.sub(r"\x1b\[[0-9]*m", "", as_text(compared))
    monkeypatch.undo()
    wide = as_text(compared)
    assert max(map(len, narrow.splitlines())) <= columns
    below, beside = (text.partition("\n\n")[2] for text in (narrow, wide))
    assert below.split() == beside.split()
    for name in ("augmented", "udwadia-phohomsiri"):
        rows, (row,) = (
            [x.split() for x in text.partition("\n\n")[0].splitlines() if x.startswith(name)] for text in (narrow, wide)
        )
        assert len(rows) > 1
        assert [x for part in rows for x in part[1:]] == row[1:]


class Terminal:
    """A command in a process of its own, whose standard error is a terminal."""

    def __init__(self, *arguments: str) -> None:
        self.end, theirs = pytest.importorskip("pty").openpty()  # Windows has none
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
            env={**os.environ, "TERM": "xterm"},
            # Where tests run in the background, Ctrl-C is switched off for them and their children.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        os.close(theirs)
        self.seen = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
        os.close(self.end)

    def read(self, until: str | None = None) -> None:
        """Read what appears until this text, or all of it."""
        while until is None or until not in self.seen:
            ready, _, _ = select.select([self.end], [], [], 120.0)
            assert ready, f"nothing more for two minutes after {self.seen!r}"
            try:
                self.seen += os.read(self.end, 4096).decode(errors="replace")
            except OSError:  # the other side was closed
                break
        assert until is None or until in self.seen

    def finish(self) -> tuple[int, str]:
        """Exit code and standard output."""
        self.read()
        out, _ = self.process.communicate(timeout=60)
        assert "Traceback" not in self.seen + out
        return self.process.returncode, out


LONG = ("run", "double_pendulum", "--t-end", "1e6", "--step", "1")


@pytest.mark.parametrize("signal_number", with_slow([signal.SIGINT, signal.SIGTERM], fast=[signal.SIGINT]))
def test_an_interrupted_run_keeps_what_was_computed(signal_number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "motion.nc"
    with Terminal(*LONG, "--json", "-o", str(file)) as terminal:
        terminal.read(until="t = ")
        terminal.process.send_signal(signal_number)
        code, out = terminal.finish()
    assert code == 130
    data = json.loads(out)
    assert data["error"]["code"] == "interrupted"
    assert data["error"]["files"] == [str(file)]
    motion = Trajectory.load(file)
    assert motion.status == data["partial"]["status"] == "interrupted"
    assert 0.0 < motion.t[-1] < 1e6
    assert motion.t[-1] == data["partial"]["final"]["t"]
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("times", "kept"), [(1, True), (2, False)])
def test_a_signal_while_the_file_is_written_lets_it_be_written_and_a_second_one_does_not(
    signal_number: signal.Signals, times: int, kept: bool, linkwork: Answer, tmp_path: Path, monkeypatch: Any
) -> None:
    file = tmp_path / "motion.nc"
    content = resultfile._netcdf

    def interrupted(motion: Trajectory) -> memoryview:
        for _ in range(times):
            signal.raise_signal(signal_number)
        return content(motion)

    monkeypatch.setattr(resultfile, "_netcdf", interrupted)
    before = signal.signal(signal_number, signal.default_int_handler)  # tests in the background ignore SIGINT
    try:
        text = linkwork("run", "simple_pendulum", "--t-end", "0.3", "-o", str(file), code=130)
        assert signal.getsignal(signal_number) is signal.default_int_handler
    finally:
        signal.signal(signal_number, before)
    assert [entry.name for entry in tmp_path.iterdir()] == (["motion.nc"] if kept else [])
    if kept:
        assert "it was written [interrupted]" in text
        assert f"the motion until t = 0.3 s is in {file}" in text
        assert Trajectory.load(file).status == "finished"


def test_a_signal_while_the_results_of_a_run_are_evaluated_keeps_the_motion(monkeypatch: Any) -> None:
    result, calls = simulation.result, []

    def interrupted(*arguments: Any) -> Trajectory:
        calls.append(0)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return result(*arguments)

    monkeypatch.setattr(simulation, "result", interrupted)
    motion = simulate(load("simple_pendulum"), t_end=0.3)
    with pytest.raises(Interrupted) as end:
        refuse_doubtful(motion)
    assert end.value.trajectory.t[-1] == 0.3


def test_an_interruption_says_until_when_and_where() -> None:
    with Terminal(*LONG) as terminal:
        terminal.read(until="t = ")
        terminal.process.send_signal(signal.SIGINT)
        code, out = terminal.finish()
    assert (code, out) == (130, "")
    assert "linkwork: interrupted at t = " in terminal.seen
    assert "was not saved; -o FILE saves it" in terminal.seen


def test_an_interruption_before_the_run_is_no_traceback(linkwork: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("linkwork.modelfile.load", interrupted)
    assert linkwork("run", "slider_crank", code=130) == "linkwork: interrupted [interrupted]\n"
    assert linkwork.data("run", "slider_crank", code=130)["error"]["code"] == "interrupted"


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("patience", [0.0, 3600.0])
def test_a_bar_appears_only_when_work_takes_long(patience: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwork.view.report.PATIENCE", patience)
    monkeypatch.setenv("TERM", "xterm")
    terminal = FakeTerminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress("crank") as moved:
        assert moved is not None
        moved(0.25, 1.5)
        while patience == 0.0 and "25%" not in terminal.getvalue():
            time.sleep(0.01)
    shown = terminal.getvalue()
    assert ("crank: t = 1.5 s" in shown) == ("25%" in shown) == (patience == 0.0)


@pytest.mark.parametrize("patience", [0.0, 3600.0])
def test_one_line_appears_where_there_is_no_terminal(patience: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwork.view.report.PATIENCE", patience)
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with progress("crank") as moved:
        assert moved is None
        while patience == 0.0 and not stream.getvalue():
            time.sleep(0.01)
    lines = stream.getvalue().splitlines()
    assert [line.split(";")[0] for line in lines] == ["linkwork: crank: compiling and computing"] * (patience == 0.0)


# plot


def test_plot_draws_chosen_quantities(linkwork: Answer, tmp_path: Path) -> None:
    file, picture = tmp_path / "motion.nc", tmp_path / "curve.svg"
    linkwork("run", "slider_crank", "--t-end", "0.2", "-o", file)
    assert linkwork("plot", file) == f"written  {tmp_path / 'motion.png'}\n"
    assert (tmp_path / "motion.png").read_bytes().startswith(b"\x89PNG")
    data = linkwork.data("plot", file, "crank.A.y", "--against", "crank.A.x", "-o", picture)
    assert data == {"files": [str(picture)]}
    assert b"<svg" in picture.read_bytes()
    assert "[unknown-quantity]" in linkwork("plot", file, "crank.psi", code=2)
    assert "[unknown-quantity]" in linkwork("plot", file, "--against", "crank.psi", code=2)
    assert "[unknown-suffix]" in linkwork("plot", file, "-o", tmp_path / "motion.doc", code=2)
    assert linkwork.data("plot", file, "--names")["quantities"]["crank.omega"] == "rad/s"
    file.write_bytes(file.read_bytes()[:-100])
    assert "[result-corrupt]" in linkwork("plot", file, code=3)


def test_file_names_cannot_steer_the_terminal(linkwork: Answer) -> None:
    text = linkwork("plot", "\x1b[31mred.nc", code=2)
    assert "\x1b" not in text
    assert "\\x1b[31mred.nc" in text


def test_start_values_are_given_by_the_names_of_joints(linkwork: Answer, tmp_path: Path) -> None:
    """With units, in all coordinates, and written into a model file."""
    asked = ("--start", "O=70 deg", "--rate", "O=-15 rpm")
    for kind in ("body", "joint", "minimal"):
        file = tmp_path / f"{kind}.nc"
        linkwork("run", "four_bar", *asked, "--coordinates", kind, "--t-end", "0.01", "-o", file)
        motion = Trajectory.load(file)
        assert motion["crank.phi"][0] == pytest.approx(np.deg2rad(70.0), abs=1e-11)
        assert motion.v[0, 2] == pytest.approx(-np.pi / 2, abs=1e-10)
    placed = tmp_path / "placed.yaml"
    linkwork("assemble", "four_bar", *asked, "-o", placed)
    assert not linkwork.data("check", placed)["q_changes"]
    text = placed.read_text().replace("step: 0.01", "step: 0.01, start: {O: 50 deg}, rate: {O: 3}")
    stated, again = tmp_path / "stated.yaml", tmp_path / "again.yaml"
    stated.write_text(text)
    for words, angle in (((), 50.0), (("--start", "O=65 deg"), 65.0)):  # what is asked for goes before the file
        final = linkwork.data("run", stated, *words, "--t-end", "1e-9", "--step", "1e-9")["final"]
        assert final["q"]["crank.phi"] == pytest.approx(np.deg2rad(angle), abs=1e-7)
        assert final["v"]["crank.phi"] == pytest.approx(3.0, abs=1e-6)
    linkwork("assemble", stated, "--start", "O=65 deg", "-o", again)
    assert "start: {" not in again.read_text()
    assert load(again).bodies[0].angle == pytest.approx(np.deg2rad(65.0), abs=1e-11)
    stated.write_text(text.replace("{O: 50 deg}", "{B: 50 deg}"))
    line = text[: text.index("simulation:")].count("\n") + 1
    assert f"stated.yaml:{line}" in (refused := linkwork("run", stated, code=3))
    assert "joint 'B' closes a loop" in refused
    for words, text in (
        (("--start", "O"), "write NAME=VALUE, as in --start"),
        (("--start", "O=1", "--start", "O=2"), "--start gives 'O' two values"),
        (("--start", "O=3 m"), "'3 m' is of kind length, not angle"),
        (("--rate", "O=3 deg"), "'3 deg' is of kind angle, not angular speed"),
        (("--rate", "O=x+1"), "write a number or a quantity"),
        (("--start", "B=1"), "no coordinate 'B'"),
    ):
        assert text in linkwork("run", "four_bar", *words, code=2)


def test_a_new_model_file_runs_as_it_is_and_replaces_nothing(linkwork: Any, tmp_path: Path) -> None:
    """A rod of 40 cm from rest at the horizontal has the speed sqrt(3 g/l) at the bottom."""
    file = tmp_path / "arm.yaml"
    linkwork("new", str(file))
    motion = simulate(load(file), rtol=1e-10)
    assert np.max(np.abs(motion["arm.omega"])) == pytest.approx((3 * 9.81 / 0.4) ** 0.5, rel=2e-3)
    assert "[file-exists]" in linkwork("new", str(file), code=2)
    assert "[unknown-suffix]" in linkwork("new", str(tmp_path / "arm.txt"), code=2)
