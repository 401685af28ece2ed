"""Runs that are interrupted, and go on."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rods import ROD

from linkwork import Integrator, Start, load, simulate
from linkwork.cli import answer
from linkwork.errors import NumericalStop, UsageError
from linkwork.modelfile import loads
from linkwork.trajectory import Trajectory


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


@pytest.mark.parametrize(
    ("what", "old", "new"),
    [
        ("other bodies", "mass: 2", "mass: 6"),
        ("other forces", "stiffness: 5", "stiffness: 50"),
        ("other gravity", "name: rod", "name: rod\ngravity: [0, 9.81]"),
        ("'l' was 0.5 and is 0.4", "l: 0.5", "l: 0.4"),
    ],
)
def test_a_motion_of_another_mechanism_is_not_continued(what: str, old: str, new: str, tmp_path: Path) -> None:
    """Names and start are the same; a motion in memory, in a file, and in one that does not say of which it is."""
    spring = "forces: {s: {type: rotational-spring-damper, i: ground, j: rod, stiffness: 5}}\nparameters: {l: 0.5}\n"
    text = ROD + spring
    text = text.replace("O: [-0.5, 0]", "O: [-0.5, 0], P: [l, 0]")
    first, other = simulate(loads(text), t_end=0.2), loads(text.replace(old, new))
    for suffix in (".nc", ".csv"):
        first.save(tmp_path / f"first{suffix}")
        for motion in (first, Trajectory.load(tmp_path / f"first{suffix}")):
            with pytest.raises(UsageError, match=what):
                simulate(other, start=Start(resume=motion))
            assert simulate(loads(text), start=Start(resume=motion)).t[-1] == 0.5
    old_one = Trajectory.load(tmp_path / "first.nc")
    old_one = replace(old_one, info=replace(old_one.info, identity={}))
    if "was" not in what:
        assert simulate(other, start=Start(resume=old_one)).t[-1] == 0.5


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
