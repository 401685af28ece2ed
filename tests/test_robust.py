"""Whatever is asked for, the answer is a result or one clear error: no traceback, no text of a library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork import load, simulate
from linkwork.assembly.assemble import assemble
from linkwork.cli import answer
from linkwork.errors import ModelError, NumericalStop
from linkwork.mechanism import prepare
from linkwork.modelfile import loads
from linkwork.motion.check import check
from linkwork.motion.initial import close_joints
from linkwork.motion.results import bytes_needed
from linkwork.trajectory import Trajectory

TRUST = Path(__file__).parent / "reference" / "trust"
COMMAND = [sys.executable, "-c", "from linkwork.cli import main; main()"]


def call(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, as a user starts it."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "check": False, "timeout": 300}
    ended = subprocess.run([*COMMAND, *map(str, arguments)], **{**pipes, **options})
    assert "Traceback" not in (ended.stderr or "") + (ended.stdout or "")
    assert "Warning" not in (ended.stderr or "")
    return ended


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["check", "r28g.yaml"], 3, "motion-not-finite"),  # table values of 1e308
        (["run", "r28g.yaml"], 3, "motion-not-finite"),
        (["kinematics", "kin_linalg_full.json"], 3, "undriven"),  # a driven distance from a pin to itself
        (["run", "kin_linalg_full.json"], 3, "start-far-off"),
        (["check", "--assemble", "kin_linalg_full.json"], 3, "cannot-close"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_numbers_without_finite_products_are_one_clear_error(arguments: list[str], code: int, error: str) -> None:
    """LAPACK writes to the standard output of the process, past Python, so it is looked at as a whole."""
    ended = call(*arguments[:-1], TRUST / arguments[-1], "--json")
    assert ended.returncode == code
    assert json.loads(ended.stdout)["error"]["code"] == error


def test_a_position_of_1e160_closes_or_is_refused() -> None:
    ended = call("assemble", TRUST / "far.yaml", "--json")
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["residual"] < 1e-3


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

    monkeypatch.setattr("linkwork.motion.check.check", fail)
    assert answer(["check", "slider_crank"]) == 70
    text = capsys.readouterr().err
    assert "ZeroDivisionError in test_robust.py" in text or "ZeroDivisionError in cli.py" in text
    assert "please report it" in text
    assert answer(["check", "slider_crank", "--json"]) == 70
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "internal-error"


def test_too_little_memory_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("linkwork.motion.check.check", fail)
    assert answer(["check", "slider_crank"]) == 2
    assert "[out-of-memory]" in capsys.readouterr().err


def test_a_closed_standard_output_is_said() -> None:
    ended = call("list", stdout=None, preexec_fn=lambda: os.close(1))
    assert ended.returncode == 2
    assert ended.stderr == "linkwork: cannot write the answer: standard output is closed [output-failed]\n"


@pytest.mark.skipif(sys.platform != "linux", reason="file names of other systems are text")
def test_a_file_name_that_is_no_text_can_be_used(tmp_path: Path) -> None:
    name = os.fsdecode(b"a\xff")
    model, motion = tmp_path / f"{name}.yaml", tmp_path / f"{name}.nc"
    model.write_text((TRUST / "far.yaml").read_text().replace("1e160", "0.5"))
    ended = call("run", model, "--t-end", "0.1", "-o", motion, "--json")
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["model"] == "a\\udcff"
    assert Trajectory.load(motion).status == "finished"


def test_a_missing_llvmlite_is_said_and_needed_only_for_motion(tmp_path: Path) -> None:
    (tmp_path / "llvmlite").mkdir()
    (tmp_path / "llvmlite" / "__init__.py").write_text("raise ImportError('not installed')")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    ended = call("run", "simple_pendulum", "--json", env={**os.environ, "PYTHONPATH": path})
    assert ended.returncode == 2
    assert json.loads(ended.stdout)["error"]["code"] == "no-llvm"
    assert call("check", "simple_pendulum", env={**os.environ, "PYTHONPATH": path}).returncode == 0


# start values


def test_what_the_second_search_has_closed_is_closed() -> None:
    """A crank that its driver wants 30 rad further: five turns less some, reached only in many steps."""
    model = load(TRUST / "turn30.yaml")
    report = check(model, assemble=True)
    assert report.q_changes["crank.phi"] == pytest.approx(30.0, abs=1e-9)
    assert simulate(model, t_end=0.1, assemble=True).q[0, 2] == pytest.approx(30.0, abs=1e-9)


def test_a_given_velocity_is_kept_or_its_change_refused() -> None:
    """A crank of 0.1 m at 1 rad given 100 rad/s, everything else at rest; its slider then moves as the closed form has.

    With x = a cos(phi) + sqrt(b^2 - a^2 sin(phi)^2), the slider's rate is dx/dphi 100 rad/s.
    """
    model = load(TRUST / "start_velocity.yaml")
    with pytest.raises(ModelError, match=r"'crank.phi' would be 8.2\d* in the place of 100 .*--keep crank.phi"):
        simulate(model, t_end=0.1)
    motion = simulate(model, t_end=0.1, keep=["crank.phi"])
    a, b, phi = 0.1, 0.3, 1.0
    slope = -a * np.sin(phi) - a**2 * np.sin(phi) * np.cos(phi) / np.sqrt(b**2 - (a * np.sin(phi)) ** 2)
    assert motion["crank.omega"][0] == pytest.approx(100.0, rel=1e-14)
    assert motion["slider.vx"][0] == pytest.approx(100.0 * slope, rel=1e-12)
    # The nearest velocities, as before, for those who ask for them.
    assert simulate(model, t_end=0.1, assemble=True)["crank.omega"][0] == pytest.approx(8.2, abs=0.1)


def test_an_error_about_keep_mentions_keep(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["run"], ["check"], ["assemble"], ["assemble", "--all"]):
        assert answer([*command, "four_bar", "--keep", "crank.ph"]) == 2
        text = capsys.readouterr().err
        assert "--keep crank.ph: no coordinate has this name; did you mean 'crank.phi'? [unknown-coordinate]" in text


def test_run_assembles_from_the_same_sketches_as_assemble() -> None:
    """From this sketch of the quick-return mechanism the straight way ends open; from sketches near it, closed."""
    q = dict(zip(QUICK_RETURN_NAMES, QUICK_RETURN_SKETCH, strict=True))
    model = load("quick_return").with_start(q, dict.fromkeys(q, 0.0))
    with pytest.raises(ModelError, match="cannot close"):
        close_joints(prepare(model).place(), "mass")
    motion = simulate(model, t_end=0.01, assemble=True)
    np.testing.assert_allclose(motion.q[0], list(assemble(model).q.values()), atol=1e-12)


QUICK_RETURN_NAMES = [f"{body}.{part}" for body in ("crank", "lever", "link", "ram") for part in ("x", "y", "phi")]
QUICK_RETURN_SKETCH = [-0.1, 0.32, 1.16, 0.24, 0.14, 4.57, 0.25, 0.64, -0.94, 0.3, 0.48, 2.06]


def test_reports_take_the_memory_by_which_they_are_refused() -> None:
    """The most that NumPy holds during a run of many report times, beside the estimate; a short run is warmed up on."""
    model = load("four_bar_redundant")
    simulate(model, t_end=0.01)
    tracemalloc.start()
    motion = simulate(model, t_end=0.5, step=1e-5)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    estimate = bytes_needed(prepare(model).equations, len(motion.t))
    assert 0.7 * estimate < most < 1.3 * estimate
