"""Bad inputs and what each gets: `python tests/bad_inputs.py` writes docs/bad-inputs.md, and a test compares."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from linkwork.cli import answer
from linkwork.files import locked

PAGE = Path(__file__).parent.parent / "docs" / "bad-inputs.md"

ROD = """\
linkwork: 1
name: rod
parameters: {l: 1 m, w: 0}
ground: {points: {O: [0, 0], Q: [1, 0]}}
bodies:
  rod: {mass: 2, inertia: 0.2, position: [l/2, 0], angular_velocity: w, points: {O: [-l/2, 0], E: [l/2, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: rod.O}
simulation: {t_end: 0.5, step: 0.1}
"""
LOOP = """\
joints:
  O: {type: revolute, i: ground.O, j: a.O}
  A: {type: revolute, i: a.A, j: b.A}
  B: {type: revolute, i: b.B, j: c.B}
  Q: {type: revolute, i: ground.Q, j: c.Q}
simulation: {t_end: 0.5, step: 0.1}
"""
BARS = (
    """\
linkwork: 1
name: bars
parameters: {h: sqrt(2.5)}
ground: {points: {O: [0, 0], Q: [3, 0]}}
bodies:
  a: {mass: 1, inertia: 0.1, position: [0, 0.5], angle: pi/2, points: {O: [-0.5, 0], A: [0.5, 0]}}
  b: {mass: 1, inertia: 0.1, position: [1.5, 1.5], angle: "atan2(1, 3)", points: {A: [-h, 0], B: [h, 0]}}
  c: {mass: 1, inertia: 0.1, position: [3, 1], angle: pi/2, points: {Q: [-1, 0], B: [1, 0]}}
"""
    + LOOP
)
TOP = """\
linkwork: 1
name: top
space: spatial
ground: {points: {O: [0, 0, 0]}}
bodies:
  top: {mass: 1, inertia: [1, 1, 1], position: [1, 0, 0], orientation: [1, 0, 0, 0], points: {O: [-1, 0, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: top.O, axis: [0, 0, 1], axis_j: [0, 0, 1]}
simulation: {t_end: 0.5, step: 0.1}
"""
DOOR = """\
linkwork: 1
name: door
space: spatial
ground: {points: {O: [0, 0, 0], P: [0, 0, 1]}}
bodies:
  door: {mass: 9, inertia: [1, 1, 1], position: [0.4, 0, 0.5], points: {O: [-0.4, 0, -0.5], P: [-0.4, 0, 0.5]}}
joints:
  O: {type: revolute, i: ground.O, j: door.O, axis: [0, 0, 1], axis_j: [0, 0, 1]}
  P: {type: revolute, i: ground.P, j: door.P, axis: [0, 0, 1], axis_j: [0.001, 0, 1]}
simulation: {t_end: 0.5, step: 0.1}
"""
FLAT = (
    """\
linkwork: 1
name: flat
ground: {points: {O: [0, 0], Q: [3, 0]}}
bodies:
  a: {mass: 1, inertia: 0.1, position: [0.5, 0], points: {O: [-0.5, 0], A: [0.5, 0]}}
  b: {mass: 1, inertia: 0.1, position: [2.5, 0], points: {A: [-1.5, 0], B: [1.5, 0]}}
  c: {mass: 2, inertia: 0.1, position: [3.5, 0], points: {Q: [-0.5, 0], B: [0.5, 0]}}
"""
    + LOOP
)
RAISED = (
    FLAT.replace("[0.5, 0], points", "[cos(0.5)/2, sin(0.5)/2], angle: 0.5, points")
    .replace("[2.5, 0]", "[1.5 + cos(0.5), sin(0.5)]")
    .replace("[3.5, 0], points", "[3 + cos(0.5)/2, sin(0.5)/2], angle: 0.5, points")
)
BALL = """\
linkwork: 1
name: ball
bodies:
  ball: {mass: 1, inertia: 0.1, position: [0, 1]}
events:
  bounce: {when: "ball.y", direction: falling, action: set, restitution: 0.5}
"""
BRAKE = "forces: {b: {type: joint-friction, joint: O, normal_force: 5 N, radius: 1 cm, %s}}\n"
STOP = "forces: {s: {type: end-stop, joint: O, lower: -1 rad, stiffness: 5 N/m}}\n"
NEVER = 'events: {e: {when: "rod.phi + 1", action: set, engage: O}}\n'
OTHERS = {
    "inBodies": "function inBodies\ninclude_global\nB1 = Body_struct;\nB1.m = 5.0;\nBodies = B1;\n",
    "bodies": "NBODY 1\nB NAME X Y Z E0 E1 E2 E3\n1 rod 0 0 0 1 0 0 0\n",
    "inertia": "B MAS Ixx Ixy Ixz Iyx Iyy Iyz Izx Izy Izz\n1 2,5 1 0 0 0 1 0 0 0 1\n",
}
HIGH = "{type: table, times: [0, 1, 2], values: [0, 1e308, -1e308]}"
PUSH = "forces: {f: {type: torque, on: rod, torque: u}}\n"
LOOK = "outputs: {y: {formula: u + rod.phi}}\n"
PIN = "{type: revolute, i: ground.O, j: rod.O}"
AGAINST = "".join([PIN, *(f"\n  v{k}: {{type: velocity-constraint, formula: rod.omega - {k}}}" for k in (1, 2))])
MOTOR = "drivers: {m: {joint: O, motion: %s}}\n"
ACTED = MOTOR % "t^2" + "actuators: {a: %s}\n"


def rod(old: str = "", new: str = "", more: str = "") -> Callable[[], None]:
    """The rod with a part of its file replaced, and something behind it, as x.yaml."""

    def write() -> None:
        assert old in ROD
        Path("x.yaml").write_text((ROD.replace(old, new, 1) if old else ROD) + more, encoding="utf-8")

    return write


def bars(more: str = "", old: str = "", new: str = "") -> Callable[[], None]:
    def write() -> None:
        assert old in BARS
        Path("x.yaml").write_text((BARS.replace(old, new) if old else BARS) + more, encoding="utf-8")

    return write


def top(old: str, new: str) -> Callable[[], None]:
    assert old in TOP
    return text(TOP.replace(old, new))


def text(content: str | bytes, name: str = "x.yaml") -> Callable[[], None]:
    return lambda: Path(name).write_bytes(content if isinstance(content, bytes) else content.encode()) and None


def folder(name: str, more: str = "", **suffixes: str) -> Callable[[], None]:
    """A folder of files of other programs."""

    def write() -> None:
        os.mkdir(name)
        for file, suffix in suffixes.items():
            Path(name, f"{file}.{suffix}").write_text(OTHERS[file] + more, encoding="utf-8")
        if more:
            for file in ("inPoints", "inForces", "inJoints"):
                Path(name, f"{file}.m").write_text(f"{file[2:]} = [];\n", encoding="utf-8")

    return write


def nothing() -> None:
    pass


def partial_result() -> None:
    """A motion that ended early, as motion.nc."""
    rod()()
    with contextlib.redirect_stderr(io.StringIO()):
        answer(["run", "x.yaml", "--max-steps", "3", "-o", "motion.nc"])


@contextlib.contextmanager
def interrupting(_label: str) -> Iterator[Callable[[float, float], None]]:
    """In the place of the progress bar, a user who presses Ctrl-C when the motion is under way."""

    def interrupt(_fraction: float, t: float) -> None:
        if t > 0.0:
            raise KeyboardInterrupt

    yield interrupt


class Case(NamedTuple):
    what: str
    command: str
    prepare: Callable[[], None] = nothing
    interrupted: bool = False
    without: str = ""  # a package that is not there


CASES = [
    Case("a body without mass", "run x.yaml --formulation udwadia-kalaba", rod("mass: 2", "mass: 0")),
    Case("the same, where joints determine the motion", "run x.yaml", rod("mass: 2", "mass: 0")),
    Case("a negative mass", "check x.yaml", rod("mass: 2", "mass: -2")),
    Case("a negative inertia", "check x.yaml", rod("inertia: 0.2", "inertia: -0.2")),
    Case("an inertia a million times too large", "check x.yaml", rod("inertia: 0.2", "inertia: 2e5")),
    Case("an axis of length zero", "check x.yaml", rod("type: revolute", "axis: [0, 0], type: prismatic")),
    Case("an inertia of no mass distribution", "check x.yaml", top("[1, 1, 1]", "[1, 1, 3]")),
    Case("the same, repaired", "run x.yaml --repair inertia", top("[1, 1, 1]", "[1, 1, 3]")),
    Case("an unknown repair", "run x.yaml --repair mass", top("[1, 1, 1]", "[1, 1, 3]")),
    Case("an inertia that is not symmetric", "check x.yaml", top("[1, 1, 1]", "[[1, 0, 0], [0.2, 1, 0], [0, 0, 1]]")),
    Case("an inertia that is not positive", "check x.yaml", top("[1, 1, 1]", "[1, 1, 1, 2, 0, 0]")),
    Case("Euler parameters not of length one", "check x.yaml", top("[1, 0, 0, 0]", "[1, 1, 0, 0]")),
    Case(
        "Euler parameters of seven digits",
        "check x.yaml",
        top("[1, 0, 0], orientation: [1, 0, 0, 0]", "[0, 1, 0], orientation: [0.7071068, 0, 0, 0.7071068]"),
    ),
    Case("numbers for points", "check x.yaml", top("[1, 0, 0, 0]", "{z: [1, 2], x: ground.O}")),
    Case("an axis not of length one", "check x.yaml", top("axis: [0, 0, 1]", "axis: [0, 0, 2]")),
    Case("an axis of length zero in space", "check x.yaml", top("axis: [0, 0, 1]", "axis: [0, 0, 0]")),
    Case("a joint to a missing body", "check x.yaml", rod("j: rod.O", "j: rood.O")),
    Case("a joint of a body with itself", "check x.yaml", rod("i: ground.O", "i: rod.E")),
    Case("a key twice", "check x.yaml", rod("mass: 2", "mass: 2, mass: 3")),
    Case("a name twice", "check x.yaml", rod("simulation", f"  O: {PIN}\nsimulation")),
    Case("a body without joints", "check x.yaml", rod("joints:\n  O: {type: revolute, i: ground.O, j: rod.O}\n", "")),
    Case(
        "the same, as kinematics",
        "kinematics x.yaml",
        rod("joints:\n  O: {type: revolute, i: ground.O, j: rod.O}\n", ""),
    ),
    Case("no freedom left", "check x.yaml", rod("type: revolute", "type: rigid")),
    Case("a kinematic analysis without drivers", "kinematics x.yaml", rod()),
    Case(
        "two drivers on one freedom",
        "kinematics x.yaml",
        rod(more="drivers: {m: {joint: O, motion: t}, n: {joint: O, motion: t}}\n"),
    ),
    Case(
        "two drivers that fight",
        "kinematics x.yaml",
        rod(more="drivers: {m: {joint: O, motion: t}, n: {joint: O, motion: 2*t}}\n"),
    ),
    Case(
        "the same, simulated",
        "run x.yaml",
        rod(more="drivers: {m: {joint: O, motion: t}, n: {joint: O, motion: 2*t}}\n"),
    ),
    Case("a joint twice", "check x.yaml", rod("simulation", f"  P: {PIN}\nsimulation")),
    Case(
        "joints that contradict each other",
        "assemble x.yaml",
        rod("simulation", f"  P: {PIN.replace('ground.O', 'ground.Q')}\nsimulation"),
    ),
    Case("two hinges in line", "check x.yaml", text(DOOR.replace("[0.001, 0, 1]", "[0, 0, 1]"))),
    Case("two hinges whose axes are tilted by a milliradian", "run x.yaml", text(DOOR)),
    Case("the same, assembled", "assemble x.yaml", text(DOOR)),
    Case("a start a little off", "check x.yaml", bars(old="[1.5, 1.5]", new="[1.51, 1.5]")),
    Case("degrees without their unit", "check x.yaml", rod("[l/2, 0],", "[0, l/2], angle: 90,")),
    Case("a start far from closed", "run x.yaml", bars(old="[1.5, 1.5]", new="[2, 1]")),
    Case("a loop that cannot close", "assemble x.yaml", bars(old="Q: [3, 0]", new="Q: [9, 0]")),
    Case("several assembly modes", "assemble x.yaml --all", bars()),
    Case("one of them", "run x.yaml --mode 2", bars()),
    Case("an assembly mode that does not exist", "run x.yaml --mode 7", bars()),
    Case("a coordinate to be kept that does not exist", "run x.yaml --keep rod.psi", rod()),
    Case("velocities that contradict a joint", "run x.yaml", rod("angular_velocity: w", "velocity: [1, 0]")),
    Case(
        "velocities a little off",
        "check x.yaml",
        rod("angular_velocity: w", "velocity: [0, 0.51], angular_velocity: 1"),
    ),
    Case(
        "a velocity that contradicts a driver",
        "run x.yaml",
        rod("angular_velocity: w", "angular_velocity: 5", more=MOTOR % "t"),
    ),
    Case("a start in a singular position, at rest", "run x.yaml", text(FLAT)),
    Case("the same, driven", "run x.yaml", text(FLAT + MOTOR % "t")),
    Case("the same, as kinematics", "kinematics x.yaml", text(FLAT + MOTOR % "t")),
    Case(
        "a singular position that is passed",
        "kinematics x.yaml --t-end 1 --step 0.03",
        text(RAISED + MOTOR % "0.5 - t"),
    ),
    Case(
        "a mechanism that locks",
        "kinematics x.yaml",
        bars("drivers: {m: {joint: Q, motion: pi/2 - 3*t}}\n"),
    ),
    Case(
        "a damping of 1e9",
        "run x.yaml",
        rod(more="forces: {d: {type: rotational-spring-damper, i: ground, j: rod, damping: 1e9}}\n"),
    ),
    Case(
        "a spring between points that coincide",
        "run x.yaml",
        rod(more="forces: {s: {type: spring-damper, i: ground.O, j: rod.O, stiffness: 100, free_length: 0.2}}\n"),
    ),
    Case(
        "a force that jumps",
        "run x.yaml",
        rod(more="forces: {f: {type: torque, on: rod, torque: 'if(t < 0.2, 0, 5)'}}\n"),
    ),
    Case("a run of too many steps", "run x.yaml --max-steps 3", rod()),
    Case("forces for a motion without actuators", "inverse x.yaml", rod(more=MOTOR % "t^2")),
    Case("an actuator on nothing", "check x.yaml", rod(more=ACTED % "{}")),
    Case("an actuator on the ground", "inverse x.yaml", rod(more=ACTED % "{on: ground}")),
    Case("an actuator on a joint that is none", "inverse x.yaml", rod(more=ACTED % "{joint: P}")),
    Case("a force on a body without a point", "inverse x.yaml", rod(more=ACTED % "{on: rod, kind: force}")),
    Case("a force without an axis", "inverse x.yaml", rod(more=ACTED % "{on: rod.E}")),
    Case(
        "freedoms that no actuator drives",
        "inverse x.yaml",
        text(
            ROD.replace("joints:", "  bob: {mass: 1, inertia: 0.1, position: [2*l, 0], points: {E: [-l, 0]}}\njoints:")
            .replace("simulation", "  E: {type: revolute, i: rod.E, j: bob.E}\nsimulation")
            .replace("parameters", "drivers: {m: {joint: O, motion: t^2}, n: {joint: E, motion: t}}\nparameters")
            + "actuators: {a: {joint: O}}\n"
        ),
    ),
    Case("a force that has no arm at the start", "inverse x.yaml", rod(more=ACTED % "{on: rod.E, axis: [1, 0]}")),
    Case("forces that are none of this model", "run x.yaml --actuators x.yaml", rod(more=ACTED % "{joint: O}")),
    Case("a driver that jumps", "run x.yaml", rod(more=MOTOR % '"if(t < 0.2, 0, 1)"')),
    Case("a ball that bounces without end", "run x.yaml --t-end 3", text(BALL)),
    Case("an event that cannot happen", "check x.yaml", text(BALL.replace("ball.y", "3 - 1"))),
    Case("an event of nothing known", "check x.yaml", text(BALL.replace("ball.y", "ball.height"))),
    Case("a coefficient of restitution above one", "check x.yaml", text(BALL.replace("0.5}", "1.5}"))),
    Case(
        "a friction that grows as it begins to slide",
        "check x.yaml",
        rod(more=BRAKE % "friction: anderson, dynamic: 0.3, static: 0.2"),
    ),
    Case("a coefficient that the law of friction does not take", "check x.yaml", rod(more=BRAKE % "static: 0.2")),
    Case("a stiffness of another law", "check x.yaml", rod(more=STOP)),
    Case("an event of a joint that is never open", "check x.yaml", rod(more=NEVER)),
    Case("a start of another kind", "check x.yaml", rod("step: 0.1", "step: 0.1, start: {O: 2 m}")),
    Case("a start of a joint that closes a loop", "check x.yaml", bars("", "step: 0.1", "step: 0.1, start: {B: 1}")),
    Case(
        "a table that is not in order",
        "check x.yaml",
        rod(more=MOTOR % "{type: table, times: [0, 2, 1], values: [0, 1, 2]}"),
    ),
    Case(
        "a table with a time twice",
        "check x.yaml",
        rod(more=MOTOR % "{type: table, times: [0, 1, 1], values: [0, 1, 2]}"),
    ),
    Case(
        "a table that ends too soon", "check x.yaml", rod(more=MOTOR % "{type: table, times: [0, 0.1], values: [0, 1]}")
    ),
    Case(
        "a table through 1e308",
        "check x.yaml",
        rod(more=MOTOR % HIGH),
    ),
    Case("`.nan`", "check x.yaml", rod("mass: 2", "mass: .nan")),
    Case("`1e999`", "check x.yaml", rod("mass: 2", "mass: 1e999")),
    Case("`1e999` in JSON", "check x.json", text('{"linkwork": 1, "bodies": {"r": {"mass": 1e999}}}', "x.json")),
    Case("a driver without a value later on", "check x.yaml", rod(more=MOTOR % "log(1 - 4*t)")),
    Case(
        "a force without a value later on",
        "run x.yaml",
        rod(more="forces: {f: {type: torque, on: rod, torque: sqrt(0.2 - t)}}\n"),
    ),
    Case("an unknown unit", "check x.yaml", rod("l: 1 m", "l: 5 furlongs")),
    Case("a length for a mass", "check x.yaml", rod("mass: 2", "mass: 12 mm")),
    Case("a comma for a point", "check x.yaml", rod("mass: 2", 'mass: "12,5"')),
    Case("a sum of two units", "check x.yaml", rod("mass: 2", 'mass: "2 m + 3 s"')),
    Case("a sum of two kinds", "check x.yaml", rod(more="forces: {f: {type: torque, on: rod, torque: l + t}}\n")),
    Case("a state without a rate", "check x.yaml", rod(more="states: {z: {start: 1}}\n")),
    Case("an input that needs itself", "check x.yaml", rod(more=f"inputs: {{u: {{value: -output:y}}}}\n{LOOK}")),
    Case("a force that needs a reaction", "check x.yaml", rod(more=f"inputs: {{u: {{value: reaction:O.x}}}}\n{PUSH}")),
    Case("a rate that needs a reaction", "run x.yaml", rod(more='states: {z: {rate: "reaction:O.x - z"}}\n')),
    Case("an input of another kind", "check x.yaml", rod(more=f"inputs: {{u: {{unit: N*m, value: 3 N}}}}\n{PUSH}")),
    Case("an input left open", "run x.yaml", rod(more=f"inputs: {{u: {{unit: N*m}}}}\n{PUSH}")),
    Case("an unknown input", "run x.yaml --input v=3", rod(more=f"inputs: {{u: {{unit: N*m}}}}\n{PUSH}")),
    Case("a table of inputs that is none", "run x.yaml --input u=none.csv", rod(more=f"inputs: {{u: {{}}}}\n{PUSH}")),
    Case("an input in a mass", "check x.yaml", rod("mass: 2", "mass: u", more="inputs: {u: {value: 2}}\n")),
    Case("nothing to be sampled", "check x.yaml", rod(more=f"inputs: {{u: {{value: 1, every: 1 ms}}}}\n{PUSH}")),
    Case(
        "a method for second order",
        "run x.yaml --integrator generalized-alpha",
        rod(more="states: {z: {rate: -z}}\n"),
    ),
    Case("an end before the start", "run x.yaml --t-end -1", rod()),
    Case("a tolerance of zero", "run x.yaml --rtol 0", rod()),
    Case("a tolerance of one", "run x.yaml --rtol 1", rod()),
    Case("a step of zero", "run x.yaml --step 0", rod()),
    Case("more report times than memory", "run x.yaml --t-end 1e6 --step 1e-6", rod()),
    Case("gains without Baumgarte", "run x.yaml --alpha 5", rod()),
    Case("an empty file", "check x.yaml", text("")),
    Case("a list", "check x.yaml", text("- 1\n- 2\n")),
    Case("an unknown key", "check x.yaml", rod("mass: 2", "mas: 2")),
    Case("a newer format that only adds", "check x.yaml", rod("linkwork: 1", "linkwork: 1.1")),
    Case("a newer format", "check x.yaml", rod("linkwork: 1", "linkwork: 2")),
    Case("UTF-16", "check x.yaml", text(ROD.encode("utf-16"))),
    Case("Latin-1", "check x.yaml", text(ROD.replace("name: rod", "name: Stößel").encode("latin-1"))),
    Case("a byte of zero", "check x.yaml", text(ROD.replace("name: rod", "name: r\0d"))),
    Case("a byte order mark, lines that end as on Windows", "check x.yaml", text("\ufeff" + ROD.replace("\n", "\r\n"))),
    Case("a tab", "check x.yaml", text(ROD.replace("  rod:", "\trod:"))),
    Case(
        "two names that look alike", "check x.yaml", rod("O: [-l/2, 0]", "O: [-l/2, 0], e\u0301: [0, 0], \xe9: [0, 1]")
    ),
    Case("a control character", "check x.yaml", rod("name: rod", 'name: "\\x1b[2J"')),
    Case("a text that runs from right to left by force", "check x.yaml", rod("name: rod", 'name: "\\u202edor"')),
    Case("a name like a path", "check x.yaml", rod("name: rod", "name: ../rod")),
    Case("a line of 200,000 brackets", "check x.yaml", rod("mass: 2", f"mass: {'(' * 100_000}1{')' * 100_000}")),
    Case("a file of 20 MB", "check x.yaml", text("# too long\n" * 2_000_000)),
    Case("500 brackets", "check x.yaml", text("linkwork: " + "[" * 500)),
    Case("an alias", "check x.yaml", text("a: &a [1]\nb: *a\n")),
    Case("a tag", "check x.yaml", text("a: !!python/object:os.system {}\n")),
    Case("a date", "check x.yaml", rod("name: rod", "name: 2024-01-01")),
    Case("another file to be included", "check x.yaml", rod("mass: 2", "mass: !include ../../etc/passwd")),
    Case("a pipe", "check x.yaml", lambda: os.mkfifo("x.yaml")),
    Case("a formula with a program", "check x.yaml", rod("mass: 2", "mass: \"__import__('os')\"")),
    Case("a formula with an attribute", "check x.yaml", rod("mass: 2", 'mass: "(1).__class__"')),
    Case("a tower of powers", "check x.yaml", rod("mass: 2", "mass: 9^9^9^9")),
    Case("parameters in a circle", "check x.yaml", rod("l: 1 m", "l: k, k: l")),
    Case("a parameter called pi", "check x.yaml", rod("l: 1 m", "l: 1 m, pi: 3")),
    Case("Ctrl-C in a run", "run x.yaml --t-end 1e5 --step 100 -o motion.nc", rod(), interrupted=True),
    Case("a motion that ended early, resumed", "run x.yaml --resume motion.nc", partial_result),
    Case("the same with another parameter", "run x.yaml --set l=2 --resume motion.nc", partial_result),
    Case("an output that is a folder", "run x.yaml -o f.nc", lambda: (rod()(), os.mkdir("f.nc"))[1]),
    Case("an output that is read-only", "run x.yaml -o r.nc", lambda: (rod()(), Path("r.nc").touch(0o400))[1]),
    Case("an output in a folder that is not there", "run x.yaml -o no/motion.nc", rod()),
    Case("an output of an unknown kind", "run x.yaml -o motion.xls", rod()),
    Case("an output that somebody else is writing", "run x.yaml -o busy.nc", rod()),
    Case("the model as its own output", "assemble x.yaml -o x.yaml", rod()),
    Case("a damaged result", "plot x.nc", text(b"\x89HDF\r\n\x1a\n" + b"0" * 100, "x.nc")),
    Case("a text that is not a result", "plot x.csv", text("a,b\n1,2\n", "x.csv")),
    Case(
        "a result of another version",
        "plot x.csv",
        text('# linkwork {"attributes": {"linkwork_trajectory": 9}}\nt\n0\n', "x.csv"),
    ),
    Case("no llvmlite", "run x.yaml", rod(), without="llvmlite"),
    Case("a file that is not there", "run none.yaml"),
    Case("a file with a misspelt name", "check pendulm.yaml", text(ROD, "pendulum.yaml")),
    Case("an unknown formulation", "run x.yaml --formulation augmentd", rod()),
    Case("a folder of DAP that calls the system", "run DAP", folder("DAP", inBodies="m", more="system('ls');\n")),
    Case("a folder of DAP with a loop", "convert DAP -o x.yaml", folder("DAP", inBodies="m", more="for k = 1:2\n")),
    Case("a folder of DAP without points", "run DAP", folder("DAP", inBodies="m")),
    Case("a deck with a comma in a number", "run deck", folder("deck", bodies="txt", inertia="txt")),
    Case("a folder without a model", "run empty", lambda: os.mkdir("empty")),
    Case("a force that nothing holds", "equilibrium dap/cart_c"),
    Case("linearizing where nothing rests", "linearize double_pendulum --at start"),
    Case("linearizing a motion that is not steady", "linearize heavy_top --at start"),
    Case("a speed without a steady motion", "linearize rolling_disc --set lean=0 --set turn=0 --over lean=0,0.1"),
    Case("velocities that contradict each other, at rest", "equilibrium x.yaml", rod(PIN, AGAINST)),
    Case("a misspelt parameter of a root locus", "linearize whipple_bicycle --set roll_rate=0 --over vv=0:10:1"),
    Case("a range without a step", "linearize whipple_bicycle --over v=0:10"),
    Case("an input that moves a joint", "linearize double_pendulum --inputs L1"),
    Case("a misspelt output", "linearize four_bar --outputs crank.fi"),
    Case("a rate that is none", "equilibrium gyroscope --steady tilt"),
]

HEAD = """\
# Bad inputs

How linkwork answers wrong models, commands and result files. `python tests/bad_inputs.py` writes this page from what
linkwork prints, and a test compares it. Where something unusual is accepted, there is a note.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 2 | usage error |
| 3 | model error |
| 4 | numerical stop; what was computed is kept |
| 70 | fault of linkwork itself |
| 130 | interrupted |

Not in the table below:

| event | answer |
| --- | --- |
| SIGTERM | the same as Ctrl-C |
| a signal while a result is written | the file is completed, exit 130; a second one ends at once, the old file stays |
| a full disk | the old file stays, `disk-full`, exit 2 |
| too little memory | `out-of-memory`, exit 2 |
| a closed or full standard output | `output-failed`, exit 2 |
| anything unexpected | `internal-error`, exit 70, with a request for a report |

| input | command | exit | printed |
| --- | --- | --- | --- |
"""


def carry_out(case: Case) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    if case.without:
        os.mkdir(case.without)
        Path(case.without, "__init__.py").write_text(f"raise ImportError('No module named {case.without}')")
        command = [sys.executable, "-m", "linkwork"]  # which looks in this folder first
        done = subprocess.run([*command, *case.command.split()], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr
    out, err = io.StringIO(), io.StringIO()
    patch = mock.patch("linkwork.view.report.progress", interrupting) if case.interrupted else contextlib.nullcontext()
    with patch, locked("busy.nc"), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        return answer(case.command.split()), out.getvalue(), err.getvalue()


def row(case: Case) -> str:
    """The row of a case, carried out in an empty folder."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            case.prepare()
            code, out, err = carry_out(case)
        finally:
            os.chdir(here)
    assert "Traceback" not in out + err
    lines = [(line[:8].strip(), line.partition("  ")[2].strip()) for line in out.splitlines()]
    said = [line for label, line in lines if label == "note"]
    said = said or [line for label, line in lines if label in ("status", "found")] or ["nothing but the answer"]
    printed = "; ".join(said) if code == 0 else err.removeprefix("linkwork: ").strip()
    shown = " ".join(printed.replace(str(os.getpid()), "N").split()).replace("|", "\\|")
    return f"| {case.what} | `linkwork {case.command}` | {code} | {shown} |"


def main() -> None:
    PAGE.write_text(HEAD + "".join(f"{row(case)}\n" for case in CASES), encoding="utf-8")


if __name__ == "__main__":
    main()
