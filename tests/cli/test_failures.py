"""What goes wrong outside of a model: memory, files, streams, packages. The answer is one clear error."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from published import REFERENCE

from linkwork import load, simulate
from linkwork.cli import answer
from linkwork.compiled.mechanism import prepare
from linkwork.elements.bodies import PlanarBody
from linkwork.errors import ModelError, NumericalStop, UsageError
from linkwork.files import locked, whole
from linkwork.modelfile import loads
from linkwork.simulation.outputs import bytes_needed
from linkwork.trajectory import Trajectory

TRUST = REFERENCE / "trust"


COMMAND = [sys.executable, "-m", "linkwork"]


def call(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, as a user starts it."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "check": False, "timeout": 300}
    ended = subprocess.run([*COMMAND, *map(str, arguments)], **{**pipes, **options})
    assert "Traceback" not in (ended.stderr or "") + (ended.stdout or "")
    assert "Warning" not in (ended.stderr or "")
    return ended


# Numbers without finite products; the last of the words is a file of TRUST.
EXTREME = {
    "check r28g.yaml": (3, "motion-not-finite"),  # table values of 1e308
    "run r28g.yaml": (3, "motion-not-finite"),
    "kinematics kin_linalg_full.json": (3, "undriven"),  # a driven distance from a pin to itself
    "run kin_linalg_full.json": (3, "start-far-off"),
    "check check_linalg_full.json": (3, "velocity-far-off"),
    "check --assemble kin_linalg_full.json": (3, "cannot-close"),
    "assemble far.yaml": (0, None),  # a position of 1e160
}


def call_in_turn(commands: list[list[str]], **options: Any) -> list[tuple[int, Any]]:
    """How each of the commands ended, one after the other in one process, and the JSON it printed.

    LAPACK writes to the standard output of the process, past Python, so it is looked at as a whole.
    """
    script = (
        "import json, sys\n"
        "from linkwork.__main__ import main\n"
        "for sys.argv in json.loads(sys.argv[1]):\n"
        "    try: main()\n"
        "    except SystemExit as end: print('ended with', end.code, flush=True)\n"
    )
    given = json.dumps([["linkwork", *words, "--json"] for words in commands])
    ended = subprocess.run(
        [sys.executable, "-c", script, given], capture_output=True, text=True, timeout=300, **options
    )
    assert "Traceback" not in ended.stderr
    assert "Warning" not in ended.stderr
    *pieces, rest = re.split(r"^ended with (\d+)\n", ended.stdout, flags=re.MULTILINE)
    assert not rest
    assert len(pieces) == 2 * len(commands)
    return [(int(code), json.loads(said)) for said, code in zip(pieces[::2], pieces[1::2], strict=True)]


@pytest.fixture(scope="module")
def extreme() -> dict[str, tuple[int, Any]]:
    commands = [[*words, str(TRUST / file)] for *words, file in map(str.split, EXTREME)]
    return dict(zip(EXTREME, call_in_turn(commands), strict=True))


@pytest.mark.parametrize("command", EXTREME)
@pytest.mark.sampled
def test_numbers_without_finite_products_are_one_clear_error(command: str, extreme: dict[str, tuple[int, Any]]) -> None:
    code, said = extreme[command]
    assert (code, said.get("error", {}).get("code")) == EXTREME[command]


def test_a_position_of_1e160_closes_or_is_refused(extreme: dict[str, tuple[int, Any]]) -> None:
    assert extreme["assemble far.yaml"][1]["residual"] < 1e-3


@pytest.mark.parametrize("factor", [1e150, 1e-150])
def test_extreme_masses_stop_or_finish_without_a_warning(factor: float) -> None:
    text = (TRUST / "far.yaml").read_text().replace("1e160", "0.5").replace("inertia: 1", f"inertia: {factor}")
    try:
        motion = simulate(loads(text), t_end=0.1)
    except (NumericalStop, ModelError):
        return
    assert np.all(np.isfinite(motion.q))


def test_an_unexpected_exception_is_an_internal_error_that_asks_for_a_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("linkwork.start.check.check", fail)
    assert answer(["check", "slider_crank"]) == 70
    text = capsys.readouterr().err
    assert "ZeroDivisionError in test_failures.py" in text or "ZeroDivisionError in analyses.py" in text
    assert "please report it" in text
    assert answer(["check", "slider_crank", "--json"]) == 70
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "internal-error"


def test_too_little_memory_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("linkwork.start.check.check", fail)
    assert answer(["check", "slider_crank"]) == 2
    assert "[out-of-memory]" in capsys.readouterr().err


def test_a_closed_standard_output_is_said() -> None:
    ended = call("list", stdout=None, preexec_fn=lambda: os.close(1))
    assert ended.returncode == 2
    assert ended.stderr == "linkwork: cannot write the answer: standard output is closed [output-failed]\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is full")
def test_where_the_answer_cannot_be_written_the_exit_code_says_what_happened() -> None:
    """It was 1, which stands for nothing: of an error on a full device, and where `head` has read enough."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        assert call("check", TRUST / "r28g.yaml", stderr=full).returncode == 3
        assert call("schema", stdout=full, stderr=full).returncode == 2
    reader, writer = os.pipe()
    os.close(reader)
    ended = call("schema", stdout=writer)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (2, "")


@pytest.mark.skipif(sys.platform != "linux", reason="file names of other systems are text")
def test_a_file_name_that_is_no_text_can_be_used(tmp_path: Path) -> None:
    name = os.fsdecode(b"a\xff")
    model, motion = tmp_path / f"{name}.yaml", tmp_path / f"{name}.nc"
    model.write_text((TRUST / "far.yaml").read_text().replace("1e160", "0.5"))
    ended = call("run", model, "--t-end", "0.1", "-o", motion, "--json")
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["model"] == "a\\udcff"
    assert Trajectory.load(motion).status == "finished"


def test_without_llvmlite_python_computes_the_same_and_says_so(tmp_path: Path) -> None:
    """By the sequence, and by a formulation on full matrices with an implicit method."""
    (tmp_path / "llvmlite").mkdir()
    (tmp_path / "llvmlite" / "__init__.py").write_text("raise ImportError('not installed')")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    ways = (("augmented", "auto", 0.2), ("qr", "radau5", 0.01))
    options = [("--formulation", how, "--integrator", method, "--t-end", str(t_end)) for how, method, t_end in ways]
    found = call_in_turn(
        [["run", "simple_pendulum", *words] for words in options], env={**os.environ, "PYTHONPATH": path}
    )
    for (formulation, integrator, t_end), (code, said) in zip(ways, found, strict=True):
        assert code == 0
        motion = simulate(load("simple_pendulum"), formulation=formulation, integrator=integrator, t_end=t_end)
        assert motion.info.steps > 2
        assert [*said["final"]["q"].values()] == pytest.approx(motion.q[-1], abs=1e-11)
        assert said["evaluations"] == motion.info.evaluations
        assert any("[no-llvm]" in note for note in said["notes"])


def test_reports_take_the_memory_by_which_they_are_refused() -> None:
    """The most that NumPy holds during a run of many report times, beside the estimate; a short run is warmed up on."""
    model = load("four_bar_redundant")
    simulate(model, t_end=0.01)
    tracemalloc.start()
    motion = simulate(model, t_end=0.5, step=1e-5)
    assert len(motion.q) == 50_001  # asked for, and so evaluated
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    estimate = bytes_needed(prepare(model).equations, len(motion.t))
    assert 0.7 * estimate < most < 1.3 * estimate


def test_two_runs_on_one_output_do_not_meet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "motion.csv"
    with locked(file):
        assert answer(["run", "simple_pendulum", "--t-end", "0.1", "-o", str(file)]) == 2
        text = capsys.readouterr().err
    assert f"'{file}' is being written by process {os.getpid()} since " in text
    assert "[output-in-use]" in text
    assert answer(["run", "simple_pendulum", "--t-end", "0.1", "-o", str(file)]) == 0
    assert sorted(os.listdir(tmp_path)) == ["motion.csv", "motion.csv.json"]


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="the system has no locks on files, and opens none")
def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    """Whoever may write into the folder could have had any file of the user overwritten."""
    (tmp_path / "precious").write_text("precious")
    (tmp_path / ".motion.csv.lock").symlink_to("precious")
    with locked(tmp_path / "motion.csv"):
        assert (tmp_path / "precious").read_text() == "precious"


def test_links_in_a_circle_are_no_name_of_an_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").symlink_to("b.csv")
    (tmp_path / "b.csv").symlink_to("a.csv")
    assert answer(["run", "simple_pendulum", "--t-end", "0.1", "-o", str(tmp_path / "a.csv")]) == 2
    assert "its symbolic links lead in a circle" in capsys.readouterr().err


def test_remains_of_killed_writers_are_cleared_and_those_of_others_kept(tmp_path: Path) -> None:
    (tmp_path / ".motion.0123abcd.csv").write_text("half")
    (tmp_path / ".other.0123abcd.csv").write_text("of another file")
    with whole(tmp_path / "motion.csv") as one, whole(tmp_path / "motion.csv") as two:
        one.write_text("1")
        two.write_text("2")
    assert (tmp_path / "motion.csv").read_text() == "1"
    assert sorted(os.listdir(tmp_path)) == [".other.0123abcd.csv", "motion.csv"]


def test_a_model_is_not_replaced_by_its_assembly_unless_forced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.yaml"
    file.write_text((TRUST / "turn30.yaml").read_text())
    assert answer(["assemble", str(file), "-o", str(file)]) == 2
    assert "--force" in capsys.readouterr().err
    assert file.read_text() == (TRUST / "turn30.yaml").read_text()
    assert answer(["assemble", str(file), "-o", str(file), "--force"]) == 0
    body = load(file).bodies[0]
    assert isinstance(body, PlanarBody)
    assert body.angle == pytest.approx(30.0)


def test_a_file_name_in_the_place_of_a_model_says_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"load\('four_bar.yaml'\)"):
        simulate("four_bar.yaml")  # type: ignore[arg-type]


def test_a_comparison_in_which_every_row_failed_does_not_end_with_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(
        (TRUST / "far.yaml").read_text().replace("1e160", "0.5")
        + "forces: {f: {type: torque, on: rod, torque: sqrt(0.2 - t)}}\nsimulation: {t_end: 0.5}\n"
    )
    assert answer(["compare", str(file), "--formulations", "augmented"]) == 4
    assert "augmented" in capsys.readouterr().out
