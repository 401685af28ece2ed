"""Whatever is asked for, the answer is a result or one clear error: no traceback, no text of a library."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork import Integrator, Start, load, simulate
from linkwork.assembly.assemble import assemble
from linkwork.assembly.modes import modes
from linkwork.cli import answer
from linkwork.compiled.mechanism import prepare
from linkwork.errors import ModelError, NumericalStop, UsageError
from linkwork.expressions.evaluation import evaluate, ordered
from linkwork.expressions.graph import sqrt, symbol
from linkwork.files import locked, whole
from linkwork.modelfile import loads, translation
from linkwork.native.enclosing import find_all_zeros
from linkwork.simulation.outputs import bytes_needed
from linkwork.start.check import check
from linkwork.start.closing import close_joints
from linkwork.trajectory import Trajectory

TRUST = Path(__file__).parent / "reference" / "trust"
COMMAND = [sys.executable, "-m", "linkwork"]


ROD = """\
linkwork: 1
name: rod
ground: {points: {O: [0, 0]}}
bodies: {rod: {mass: 2, inertia: 0.2, position: [0.5, 0], points: {O: [-0.5, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: rod.O}}
simulation: {t_end: 0.5, step: 0.05}
"""


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
    assert "ZeroDivisionError in test_robust.py" in text or "ZeroDivisionError in analyses.py" in text
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
    found = call_in_turn([["run", "slider_crank", *words] for words in options], env={**os.environ, "PYTHONPATH": path})
    for (formulation, integrator, t_end), (code, said) in zip(ways, found, strict=True):
        assert code == 0
        motion = simulate(load("slider_crank"), formulation=formulation, integrator=integrator, t_end=t_end)
        assert motion.info.steps > 2
        assert [*said["final"]["q"].values()] == pytest.approx(motion.q[-1], abs=1e-11)
        assert said["evaluations"] == motion.info.evaluations
        assert any("[no-llvm]" in note for note in said["notes"])


# start values


def test_what_the_second_search_has_closed_is_closed() -> None:
    """A crank that its driver wants 30 rad further: five turns less some, reached only in many steps."""
    model = load(TRUST / "turn30.yaml")
    report = check(model, assemble=True)
    assert report.q_changes["crank.phi"] == pytest.approx(30.0, abs=1e-9)
    assert simulate(model, t_end=0.1, start=Start(assemble=True)).q[0, 2] == pytest.approx(30.0, abs=1e-9)


def test_a_given_velocity_is_kept_and_the_others_follow() -> None:
    """A crank of 0.1 m at 1 rad given 100 rad/s, everything else at rest; its slider then moves as the closed form has.

    With x = a cos(phi) + sqrt(b^2 - a^2 sin(phi)^2), the slider's rate is dx/dphi 100 rad/s.
    """
    model = load(TRUST / "start_velocity.yaml")
    motion = simulate(model, t_end=0.1)
    a, b, phi = 0.1, 0.3, 1.0
    slope = -a * np.sin(phi) - a**2 * np.sin(phi) * np.cos(phi) / np.sqrt(b**2 - (a * np.sin(phi)) ** 2)
    assert motion["crank.omega"][0] == pytest.approx(100.0, rel=1e-14)
    assert motion["slider.vx"][0] == pytest.approx(100.0 * slope, rel=1e-12)
    np.testing.assert_array_equal(simulate(model, t_end=0.1, start=Start(keep=["crank.phi"])).v, motion.v)
    # The nearest velocities for those who ask for them.
    assert simulate(model, t_end=0.1, start=Start(assemble=True))["crank.omega"][0] == pytest.approx(8.2, abs=0.1)


def test_an_error_about_keep_mentions_keep(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["run"], ["check"], ["assemble"], ["assemble", "--all"]):
        for name in ("crank.ph", "crank.omega"):
            assert answer([*command, "four_bar", "--keep", name]) == 2
            text = capsys.readouterr().err
            assert f"--keep {name}: no coordinate has this name; did you mean 'crank.phi'? [unknown-coordinate]" in text


@pytest.mark.slow
def test_run_assembles_from_the_same_sketches_as_assemble() -> None:
    """From this sketch of the quick-return mechanism the straight way ends open; from sketches near it, closed."""
    q = dict(zip(QUICK_RETURN_NAMES, QUICK_RETURN_SKETCH, strict=True))
    model = load("quick_return").with_start(q, dict.fromkeys(q, 0.0))
    with pytest.raises(ModelError, match="cannot close"):
        close_joints(prepare(model).place(), "mass")
    motion = simulate(model, t_end=0.01, start=Start(assemble=True))
    np.testing.assert_allclose(motion.q[0], list(assemble(model).q.values()), atol=1e-12)


QUICK_RETURN_NAMES = [f"{body}.{part}" for body in ("crank", "lever", "link", "ram") for part in ("x", "y", "phi")]
QUICK_RETURN_SKETCH = [-0.1, 0.32, 1.16, 0.24, 0.14, 4.57, 0.25, 0.64, -0.94, 0.3, 0.48, 2.06]


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


# interruptions, and runs that meet


def test_an_interrupted_motion_is_resumed_to_the_same_motion(tmp_path: Path) -> None:
    """Stopped between two report times and resumed: the report times, the motion and the energy of an unbroken run."""
    model = load("slider_crank")
    options: dict[str, Any] = {"t_end": 5.0, "step": 0.05, "rtol": 1e-11, "atol": 1e-11, "integrator": "dopri5"}
    whole = simulate(model, **options)
    with pytest.raises(NumericalStop) as stopped:
        simulate(model, **{**options, "integrator": Integrator("dopri5", max_steps=9)})
    first = stopped.value.trajectory
    assert 0.0 < first.t[-1] < 5.0
    assert first.t[-1] not in whole.t
    first.save(tmp_path / "first.nc")
    motion = simulate(model, start=Start(resume=Trajectory.load(tmp_path / "first.nc")), **options)
    np.testing.assert_array_equal(motion.t, whole.t)
    assert motion.status == "finished"
    for kind in ("q", "v", "a", "reactions", "energy"):
        np.testing.assert_allclose(motion.tables[kind].values, whole.tables[kind].values, atol=1e-7)
    assert motion.info.steps > first.info.steps
    with pytest.raises(UsageError, match="already"):
        simulate(model, start=Start(resume=motion), **options)
    with pytest.raises(UsageError, match="other parameters"):
        simulate(load("slider_crank", {"l1": 1.1}), start=Start(resume=first), **options)


def test_a_resumed_motion_says_once_that_it_is_stiff_and_can_be_written_for_matlab(tmp_path: Path) -> None:
    text = ROD + "forces: {d: {type: torque, on: rod, torque: -1e6*rod.omega}}\n"
    model = loads(text)
    first = simulate(model, t_end=0.1)
    motion = simulate(model, t_end=0.2, start=Start(resume=first))
    said = [note for note in motion.info.notes if note.endswith("[stiff]")]
    assert len(said) == 1 == sum(note.endswith("[stiff]") for note in first.info.notes)
    assert "radau5 from t = 0.1" in said[0]
    motion.save(tmp_path / "motion.mat")
    assert (tmp_path / "motion.mat").stat().st_size > 1000


def test_a_note_about_an_axis_holds_with_other_parameters() -> None:
    text = ROD.replace("type: revolute", "type: prismatic, axis: [k, 0]").replace("name: rod", "parameters: {k: 2}")
    prepared = prepare(loads(text))
    assert prepared.notes == prepared.changed({"k": 5.0}).notes
    assert "[not-unit]" in prepared.notes[0]
    assert "2" not in prepared.notes[0]


def test_the_command_resumes_into_the_file(tmp_path: Path) -> None:
    file = tmp_path / "motion.nc"
    assert answer(["run", "slider_crank", "--t-end", "0.5", "-o", str(file)]) == 0
    assert answer(["run", "slider_crank", "--t-end", "1", "--resume", str(file)]) == 0
    motion = Trajectory.load(file)
    assert motion.t[-1] == 1.0
    assert motion["crank.phi"][-1] == pytest.approx(0.2629316601282817, abs=1e-6)


def test_an_interruption_inside_a_callback_is_not_lost() -> None:
    """Python ignores what a callback of a weak reference raises; the interruption comes again."""
    script = (
        "import sys, time, weakref, signal\n"
        "import linkwork.start.check as module\n"
        "class Thing: pass\n"
        "def swallow(*_, **__):\n"
        "    thing = Thing()\n"
        "    reference = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGTERM))\n"
        "    del thing\n"
        "    time.sleep(60)\n"
        "module.check = swallow\n"
        "sys.argv = ['linkwork', 'check', 'slider_crank']\n"
        "from linkwork.__main__ import main; main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)
    assert ended.returncode == 130
    assert ended.stderr == "linkwork: interrupted [interrupted]\n"


def test_an_interruption_does_not_wait_for_what_it_came_out_of_to_be_freed() -> None:
    """The graph of a large model takes seconds; here something that would take a minute."""
    script = (
        "import sys, time, signal\n"
        "import linkwork.start.check as module\n"
        "class Large:\n"
        "    def __del__(self): time.sleep(60)\n"
        "def begin(*_, **__):\n"
        "    large = Large()\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
        "module.check = begin\n"
        "sys.argv = ['linkwork', 'check', 'slider_crank']\n"
        "from linkwork.__main__ import main; main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)
    assert (ended.returncode, ended.stderr) == (130, "linkwork: interrupted [interrupted]\n")


@pytest.mark.parametrize("module", ["linkwork.errors", "linkwork.cli"])
def test_an_interruption_while_commands_are_imported_is_no_traceback(module: str) -> None:
    """From the first import of our own on; what Python does before that is not in our hands."""
    script = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # tests in the background ignore it
        "class Finder:\n"
        "    def find_spec(name, *_):\n"
        f"        if name == '{module}': signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder)\n"
        "from linkwork.__main__ import main; main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)
    assert (ended.returncode, ended.stderr) == (130, "linkwork: interrupted [interrupted]\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_is_to_be_ignored_is_ignored(number: signal.Signals) -> None:
    """As `nohup` and shells tell what they start in the background."""
    script = (
        "import signal, sys\n"
        "import linkwork.start.check as module\n"
        f"signal.signal({int(number)}, signal.SIG_IGN)\n"
        "check = module.check\n"
        f"module.check = lambda *given, **named: signal.raise_signal({int(number)}) or check(*given, **named)\n"
        "sys.argv = ['linkwork', 'check', 'slider_crank']\n"
        "from linkwork.__main__ import main; main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)
    assert (ended.returncode, "interrupted" in ended.stderr, "freedom" in ended.stdout) == (0, False, True)


def test_a_compiler_at_work_is_left_behind_by_an_interruption() -> None:
    """LLVM would be busy for a minute; whoever waits for it hears the signal."""
    script = (
        "import signal, sys, threading, time\n"
        "from linkwork.native import machine\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # tests in the background ignore it
        "threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,)).start()\n"
        "began = time.monotonic()\n"
        "try: machine.beside(lambda: time.sleep(60))\n"
        "except KeyboardInterrupt: print(time.monotonic() - began < 30)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)
    assert ended.stdout == "True\n"


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
    assert load(file).bodies[0].angle == pytest.approx(30.0)


# small files


def test_nested_tangents_are_refused() -> None:
    """A law that jumps more often than anyone can count."""
    motion = "t"
    for _ in range(12):
        motion = f"tan({motion})"
    with pytest.raises(ModelError, match="jumps by"):
        loads((TRUST / "tan.yaml").read_text().replace("MOTION", motion))


def test_a_function_without_a_value_changes_at_the_edge_alone() -> None:
    """sqrt(t - 2) is there from t = 2 on, sqrt(-1 - t) nowhere: where there is nothing, nothing is looked for."""
    t = symbol("t")
    assert find_all_zeros([sqrt(t - 2.0), sqrt(-1.0 - t)], t, {}, 5.0) == [np.nextafter(2.0, 3.0)]


def test_chained_parameters_take_linear_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of a chain is evaluated by the one before it: so many nodes as formulas hold, not as chains do."""
    visited = []
    counted = translation.evaluate

    def evaluate(outputs: Any, values: Any, *rest: Any) -> Any:
        outputs = list(outputs)
        visited.append(len(ordered(outputs, values)))
        return counted(outputs, values, *rest)

    monkeypatch.setattr(translation, "evaluate", evaluate)
    n = 300
    chain = ", ".join(["p0: 1", *(f"p{k}: p{k - 1} + 1" for k in range(1, n))])
    text = (TRUST / "tan.yaml").read_text().replace("MOTION", "t")
    model = loads(f"{text}parameters: {{{chain}}}\ngravity: [0, -p{n - 1}]\n")
    assert sum(visited) < 20 * n
    assert float(substitute_value(model)) == -n


def substitute_value(model: Any) -> float:
    values = {symbol(name): value for name, value in model.parameters.items()}
    return float(evaluate([model.gravity[1]], values)[0])


# small ones


def test_results_are_readable_when_printed() -> None:
    model = load("four_bar")
    for found, word in (
        (check(model), "freedom"),
        (assemble(model), "gap now"),
        (modes(model, ["crank.phi"]), "mode 1"),
    ):
        assert word in str(found)
        assert found._repr_html_().startswith(("<pre", "<div"))


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
