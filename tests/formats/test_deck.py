"""Decks in the layout of NumDyn3D: read, completed, written back, and the files of a run."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from decks import PENDULUM, written
from slices import with_slow

from linkwork import Coordinates
from linkwork.assembly.assemble import assemble
from linkwork.cli import answer
from linkwork.driven.kinematics import kinematics
from linkwork.errors import ModelError, UsageError
from linkwork.formats.deck import DECK, TYPES
from linkwork.formats.deck_writing import deck_of
from linkwork.mechanisms import describe
from linkwork.model import Model
from linkwork.modelfile import load, loads, shipped
from linkwork.simulation.simulate import simulate
from linkwork.trajectory import Trajectory


def test_the_deck_of_the_paper_runs_as_the_shipped_pendulum(tmp_path: Path) -> None:
    """Table 5 gives e0 alone; all else follows from the joint, and 3 s of motion agree to rounding."""
    motion, expected = simulate(load(written(tmp_path / "deck", PENDULUM))), simulate(load("numdyn3d_pendulum"))
    np.testing.assert_allclose(motion.q, expected.q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(motion.v, expected.v, rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion.a, expected.a, rtol=0, atol=1e-11)
    assert motion.constraint_error["position"] < 2e-15


def test_a_rate_of_one_euler_parameter_gives_the_motion(tmp_path: Path) -> None:
    """e0 = cos(theta/2), so that theta_dot = -2 e0_dot / sin(theta/2); the mass centre moves at half of it."""
    tables = {**PENDULUM, "initial": PENDULUM["initial"].replace("0.97 0", "0.97 -0.3")}
    model = load(written(tmp_path / "deck", tables))
    rate = 0.6 / np.sqrt(1.0 - 0.97**2)
    assert model.bodies[0].angular_velocity == pytest.approx((0.0, 0.0, rate), abs=1e-12)
    theta = 2.0 * np.arccos(0.97)
    assert model.bodies[0].velocity == pytest.approx(
        0.5 * rate * np.array([-np.sin(theta), np.cos(theta), 0.0]), abs=1e-12
    )


def moved(model: Model, t_end: float) -> Trajectory:
    analysis = kinematics if model.about.checked.get("analysis") == "kinematics" else simulate
    return analysis(model, t_end=t_end, step=t_end / 5)


SPATIAL = [name for name in shipped() if describe(name)["space"] == "spatial"]
LEFT_OUT = {
    "free_rigid_body": ["the shape of body 'body'"],
    "delta_robot": [f"actuator 'motor{k}'" for k in range(1, 4)],
    "stewart_platform": [
        *(f"actuator 'leg{k}'" for k in range(1, 7)),
        *(f"driver 'leg{k}': it acts between points, not in a joint" for k in range(1, 7)),
    ],
    "rattleback": ["joint 'belly': it holds velocities"],
    "rolling_disc": ["joint 'rim': it holds velocities"],
    "whipple_bicycle": [f"joint '{end}_tyre': it holds velocities" for end in ("rear", "front")],
}


QUICK = ("numdyn3d_pendulum", "heavy_top", "spatial_slider_crank", "stewart_platform")


@pytest.mark.parametrize("name", with_slow(SPATIAL, QUICK))
@pytest.mark.sampled
def test_spatial_mechanisms_move_alike_from_their_decks(name: str, tmp_path: Path) -> None:
    """Whole states over a short time; what a deck cannot hold is listed."""
    model = load(name)
    model = replace(model, simulation=replace(model.simulation, coordinates="body"))  # those of a deck
    closed = assemble(model)
    tables, left_out = deck_of(model.with_start(closed.q, closed.v))
    assert set(tables) == set(DECK)
    assert left_out == LEFT_OUT.get(name, [])
    again = load(written(tmp_path / "deck", tables))
    assert [body.name for body in again.bodies] == [body.name for body in model.bodies]
    if not all(what.startswith("the shape of") for what in left_out):
        return
    t_end = 0.02 * model.simulation.t_end
    motion, expected = (moved(x, t_end) for x in (again, model.with_start(closed.q, closed.v)))
    size = np.max(np.abs(expected.q))
    np.testing.assert_allclose(motion.q, expected.q, rtol=0, atol=1e-8 * size)
    np.testing.assert_allclose(motion.v, expected.v, rtol=0, atol=1e-7 * np.max(np.abs(expected.v)))


def test_joints_springs_and_forces_of_every_kind_come_back(tmp_path: Path) -> None:
    """A chain of joints with numbers of their own, mass centres beside the origins, forces in both axes, a gear."""
    model = loads(
        """
linkwork: 1
name: chain
space: spatial
gravity: [0.1, -9.81, 0.3]
parameters: {p: 0.2}
ground: {points: {O: [0, 0, 0], W: [0, 0, 3]}}
bodies:
  nut: {mass: 1, inertia: [0.2, 0.3, 0.25, 0.01, 0.02, -0.01], mass_centre: [0.1, 0, 0.05], position: [0, 0, 0.5],
        points: {O: [0, 0, 0], A: [0.5, 0, 0]}}
  ball one: {mass: 2, inertia: [0.2, 0.2, 0.2], inertia_about: [0.1, 0, 0], position: [1.5, 0, 0.5],
             points: {A: [0, 0, 0]}}
  wheel: {mass: 1, inertia: [0.1, 0.1, 0.2], position: [0, 0, 3], points: {O: [0, 0, 0]}}
  pinion: {mass: 1, inertia: [0.1, 0.1, 0.2], position: [1, 0, 3], points: {O: [0, 0, 0]}}
joints:
  S: {type: screw, i: ground.O, j: nut.O, axis: [0, 0, 1], pitch: p}
  R: {type: revolute-spherical, i: nut.A, j: ball one.A, axis: [0, 1, 0]}
  W: {type: revolute, i: ground.W, j: wheel.O, axis: [0, 0, 1]}
  P: {type: revolute, i: ground.O, j: pinion.O, axis: [0, 0, 1]}
  G: {type: gear, i: wheel.O, j: pinion.O, axis: [0, 0, 1], axis_j: [0, 0, 1], teeth_i: 30, teeth_j: 20, radius: 0.6}
forces:
  k: {type: spring-damper, i: ground.W, j: ball one.A, stiffness: 30*p, free_length: 1, damping: 0.5, actuator: 0.2}
  own: {type: point-force, at: ball one.A, force: [1, 2, p], follows: true}
  twist: {type: torque, on: wheel, torque: [0.1, 0.2, 0.3]}
  law: {type: torque, on: wheel, torque: [0, 0, "sin(t)"]}
  soft: {type: bushing, i: ground.O, j: nut.O, stiffness: [1, 1, 1, 1, 1, 1]}
simulation: {t_end: 0.5}
""".replace("i: ground.O, j: pinion.O", "i: ground.Z, j: pinion.O").replace(
            "W: [0, 0, 3]}", "W: [0, 0, 3], Z: [1, 0, 3]}"
        )
    )
    tables, left_out = deck_of(model)
    assert left_out == [
        "force 'law': it is a formula of time or motion",
        "force 'soft': there is no table for a bushing",
    ]
    again = load(written(tmp_path / "deck", tables))
    kept = [force for force in model.forces if force.name not in ("law", "soft")]
    bare = type(model)(**{**vars(model), "forces": tuple(kept)})
    motion, expected = simulate(again, t_end=0.5, step=0.1), simulate(bare, t_end=0.5, step=0.1)
    assert again.bodies[1].name == "ball_one"
    np.testing.assert_allclose(motion.q, expected.q, rtol=0, atol=1e-8)
    assert np.max(np.abs(expected.q - expected.q[0])) > 0.1  # it moves


WRONG = [
    ("joints", "C1  0  1  1 0    0", "C1  0  1  1 zero 0", "zero", "P1x, a number"),
    ("joints", "C1  0  1  1 0", "C1  0  7  1 0", "7", "B2, a whole number from 0 to 1"),
    ("joints", "C1  0  1  1 0", "C1  0  1 99 0", "99", "T, a whole number from 1 to 16"),
    ("joints", "-1.5 0   0\n", "-1.5 55\n", "\n", "R2z"),
    ("springs", "SP1 0  1  32.66", "SP1 0  1  32,66", "32,66", "K, a number"),
    ("springs", "0   2\n", "0   3\n", "3\n", "T, a whole number from 1 to 2"),
    ("inertia", "0   0.834\n", "0   0.834 7\n", "7", "behind the last entry, Izz"),
    ("inertia", "B MAS", "B MASS", "B MASS", "the heading 'B MAS Ixx"),
    ("forces", "-98.10", "1e999 ", "1e999", "Fz, a number"),
    ("initial", "1  4 0.97", "1  8 0.97", "8", "Q, a whole number from 1 to 7"),
    ("bodies", "1 rod", "2 rod", "2 rod", "B, a whole number from 1 to 1"),
]


@pytest.mark.parametrize(("name", "right", "wrong", "at", "expected"), WRONG, ids=[f"{x[0]}-{x[4]}" for x in WRONG])
def test_a_table_that_cannot_be_read_tells_where_and_what_was_expected(
    name: str, right: str, wrong: str, at: str, expected: str, tmp_path: Path
) -> None:
    assert right in PENDULUM[name]
    text = PENDULUM[name].replace(right, wrong)
    folder = written(tmp_path / "deck", {**PENDULUM, name: text})
    with pytest.raises(ModelError) as caught:
        load(folder)
    place = text.index(at, text.index(wrong))
    before = text[:place]
    found = caught.value
    assert (found.code, found.file) == ("bad-table", str(folder / f"{name}.txt"))
    assert found.line == before.count("\n") + 1
    assert found.message.startswith(f"column {len(before) - before.rfind(chr(10))}: ")
    assert expected in found.message


def test_faults_of_the_model_name_the_table(tmp_path: Path) -> None:
    """Counts, missing rows and what the model itself refuses."""
    for name, right, wrong, message in (
        ("forces", "NFOR 1", "NFOR 2", "NFOR says 2, but the table has 1 records"),
        ("inertia", "1 10 ", "1 -10 ", "mass"),
        ("initial", "0.97 0", "1.97 0", "the initial positions do not fit the joints"),
        ("springs", "SP1 0  1", "SP1 1  1", "joints between bodies 'rod' and 'rod' leave an angle"),
    ):
        folder = written(tmp_path / "deck", {**PENDULUM, name: PENDULUM[name].replace(right, wrong)})
        with pytest.raises(ModelError, match=message) as caught:
            load(folder)
        assert caught.value.file == str(folder / f"{name}.txt")
        written(folder, PENDULUM)


TWICE = [
    ("inertia", PENDULUM["inertia"] + "1 70 0 0 0 0 1 0 0 0 1\n", "column 1: 'rod' stands here for the second time"),
    ("gravity", "GX GY GZ\n0 0 0\n0 0 -99\n", "column 1: a second row"),
    ("control", PENDULUM["control"] + "4 0.1 1e-9 1e-9\n", "column 1: a second row"),
    ("jointdata", "CON KEY VALUE\nC9 length 3\n", "column 1: no joint 'C9'"),
    ("jointdata", "CON KEY VALUE\nC1 pitch 3\nC1 pitch 4\n", "column 4: 'pitch' stands here for the second time"),
    ("points", "NPOI 2\nPOI BO Px Py Pz\nG 1 0 0 0\nG 1 1 0 0\n", "column 1: 'G' stands here for the second time"),
]


@pytest.mark.parametrize(("name", "text", "message"), TWICE, ids=[f"{x[0]}-{n}" for n, x in enumerate(TWICE)])
def test_rows_that_would_be_passed_over_are_refused(name: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        load(written(tmp_path / "deck", {**PENDULUM, name: text}))
    assert caught.value.message.startswith(message)
    assert (Path(str(caught.value.file)).name, caught.value.line) == (f"{name}.txt", text.count("\n"))


@pytest.mark.parametrize("name", ["Gravity", "spring", "JOINTDATA", "point"])
def test_misspelt_tables_are_refused(name: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "deck", {**PENDULUM, name: "", "README": "of the paper", "report": ""})
    with pytest.raises(ModelError, match=rf"{name}\.txt: is not a table of a deck; did you mean") as caught:
        load(folder)
    assert caught.value.code == "unknown-table"


def test_tables_that_are_links_to_elsewhere_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path / "deck", PENDULUM)
    (folder / "springs.txt").rename(tmp_path / "elsewhere.txt")
    (folder / "springs.txt").symlink_to(tmp_path / "elsewhere.txt")
    with pytest.raises(ModelError, match=r"springs\.txt: is a link to elsewhere"):
        load(folder)


def test_names_that_tables_give_do_not_hide_others(tmp_path: Path) -> None:
    """A point called like that of a joint, a torque called like that of another force."""
    tables = {
        **PENDULUM,
        "points": "NPOI 1\nPOI BO Px Py Pz\nC1_j 1 0.5 0 0\n",
        "forces": """
NFOR 2
FOR  BO Fx Fy Fz     Tx Ty Tz Px Py Pz Rif
F1_T 1  0  0  0      0  0  5  0  0  0  1
F1   1  0  0  -98.10 0  0  3  0  0  0  1
""",
    }
    model = load(written(tmp_path / "deck", tables))
    assert model.bodies[0].points["C1_j"] == (0.5, 0.0, 0.0)
    assert model.joints[0].s_j == (-0.5, 0.0, 0.0)  # type: ignore[attr-defined]
    torques = [force.torque for force in model.forces if hasattr(force, "torque")]
    assert sorted(torques) == [(0.0, 0.0, 3.0), (0.0, 0.0, 5.0)]


def entries(report: str, heading: str) -> list[str]:
    """The words of the row below a heading."""
    lines = [line.split() for line in report.splitlines()]
    return next(row for names, row in itertools.pairwise(lines) if names[:1] == [heading])


def test_a_run_writes_a_report_and_three_files_for_each_body(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    arguments = ["run", "numdyn3d_pendulum", "--t-end", "0.1", "--step", "0.05", "--output-format", "numdyn3d"]
    assert answer([*arguments, "-o", str(folder)]) == 0
    expected = simulate(load("numdyn3d_pendulum"), t_end=0.1, step=0.05)
    assert sorted(path.name for path in folder.iterdir()) == [
        "body1_accelerations.txt", "body1_positions.txt", "body1_velocities.txt", "report.txt"
    ]  # fmt: skip
    poses = expected.q[:, :7]  # behind them is the angle that its spring measures
    for kind, values in (("positions", poses), ("velocities", expected.v), ("accelerations", expected.a)):
        found = np.loadtxt(folder / f"body1_{kind}.txt")
        np.testing.assert_allclose(found, np.column_stack([expected.t, values]), rtol=0, atol=1e-14)
    report = (folder / "report.txt").read_text()
    assert all(word in report for word in ("32.66", "4.584", "0.834", "-98.1", "NSPDAMP 1", "finished"))
    assert [*map(float, entries(report, "TEND"))] == [0.1, 0.05, 1e-9, 1e-9]  # those of the run
    deck = str(written(tmp_path / "deck", PENDULUM))
    assert answer(["run", deck, "--t-end", "0.002", "--rtol", "1e-7", *arguments[6:], "-o", str(folder)]) == 0
    report = (folder / "report.txt").read_text()
    assert [*map(float, entries(report, "TEND"))] == [0.002, 0.001, 1e-7, 1e-9]
    assert entries(report, "S")[7:13] == ["1", "0", "0", "0", "0", "0"]  # as given, though no torque depends on it
    capsys.readouterr()
    assert answer(["run", "slider_crank", *arguments[2:], "-o", str(folder)]) == 2
    assert "[not-spatial]" in capsys.readouterr().err
    assert answer([*arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "usage"


def test_convert_writes_decks_and_reads_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deck, file = tmp_path / "deck", tmp_path / "model.yaml"
    assert answer(["convert", "spatial_slider_crank", "-o", str(deck)]) == 0
    assert answer(["convert", str(deck), "-o", str(file)]) == 0
    expected, motion = (simulate(load(x), t_end=0.1) for x in (deck, file))
    np.testing.assert_allclose(motion.q, expected.q, rtol=0, atol=1e-12)
    with pytest.raises(UsageError, match="planar"):
        deck_of(load("slider_crank"))
    assert answer(["convert", "spatial_four_link", "-o", str(deck)]) == 0  # whose start velocities follow one body
    assert capsys.readouterr().err == ""


CHAIN = """
linkwork: 1
name: chain
space: spatial
ground: {points: {O: [0, 0, 0]}}
bodies:
  rod 1: {mass: 2, inertia: [0.3, 0.2, 0.25], position: [0.5, 0, 0], angular_velocity: [0, 2, 0],
          points: {O: [-0.5, 0, 0], P 1: [0.5, 0, 0], P_1: [0, 0.1, 0]}}
  rod_1: {mass: 1, inertia: [0.1, 0.2, 0.15], position: [1.5, 0, 0], points: {O: [-0.5, 0, 0], P: [0.5, 0, 0]}}
  ball: {mass: 1, inertia: [0.1, 0.2, 0.15], position: [2.5, 0, 0], points: {O: [0, 0, 0]}}
joints:
  A 1: {type: revolute, i: ground.O, j: rod 1.O, axis: [0, 1, 0]}
  A_1: {type: revolute, i: rod 1.P 1, j: rod_1.O, axis: [0, 1, 0]}
  R: {type: revolute-spherical, i: rod_1.P, j: ball.O, axis: [0, 1, 0]}
  lock: {type: spherical, i: ground.O, j: ball.O, open: true}
forces:
  s 1: {type: rotational-spring-damper, joint: A 1, stiffness: 2}
  s_1: {type: rotational-spring-damper, joint: A_1, stiffness: 3}
  s2: {type: rotational-spring-damper, joint: R, stiffness: 1}
events:
  late: {when: t - 0.1, action: set, engage: [lock]}
simulation: {t_end: 0.2, step: 0.1, coordinates: joint, cut: [R]}
"""


@pytest.mark.slow
def test_a_deck_starts_as_the_model_does_and_says_what_it_does_not_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Velocities that are given stay, others follow; names that differ by a blank stay different."""
    deck, file = tmp_path / "deck", tmp_path / "chain.yaml"
    file.write_text(CHAIN)
    assert answer(["convert", str(file), "-o", str(deck), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    lost = told["not_taken_over"]
    assert [text.partition(":")[0] for text in lost] == [
        "event 'late'", "the coordinates 'joint'", "that joint 'R' is cut", "joint 'lock'", "force 's2'"
    ]  # fmt: skip
    assert "[start-corrected]" in told["notes"][-1]
    model, again = load(file), load(deck)
    assert [body.name for body in again.bodies] == ["rod_1", "rod_1_", "ball"]
    assert again.bodies[0].points["P_1"] == (0.5, 0.0, 0.0)
    assert again.bodies[0].points["P_1_"] == (0.0, 0.1, 0.0)
    bare = replace(model, forces=model.forces[:2], events=(), open=frozenset(), joints=model.joints[:3])
    motion, expected = (
        simulate(x, t_end=0.2, step=0.1, coordinates=Coordinates("body", cut=())) for x in (again, bare)
    )
    assert motion.v[0][4] == pytest.approx(2.0, abs=1e-12)
    np.testing.assert_allclose(motion.q, expected.q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(motion.v, expected.v, rtol=0, atol=1e-7)


def test_the_page_about_decks_shows_every_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "decks.md").read_text()
    for name, (headings, counted) in DECK.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}.txt`"))
        assert all(f"`{heading.removesuffix('...')}`" in row for heading in headings)
        assert f"`{counted} n`" in row or not counted
    assert all(f"{k} {kind}" in page.replace("\n", " ") for k, kind in enumerate(TYPES, 1))


def test_convert_suggests_what_it_can_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A start far from closed is closed by `assemble`; convert itself has no such option."""
    file, closed, deck = tmp_path / "open.yaml", tmp_path / "closed.yaml", tmp_path / "deck"
    file.write_text(
        "linkwork: 1\nspace: spatial\nground: {points: {O: [0, 0, 0]}}\n"
        "bodies: {rod: {mass: 1, inertia: [1, 1, 1], position: [3, 0, 0], points: {O: [-1, 0, 0]}}}\n"
        "joints: {O: {type: spherical, i: ground.O, j: rod.O}}\n"
    )
    assert answer(["convert", str(file), "-o", str(deck), "--json"]) == 3
    message = capsys.readouterr().out
    assert "start-far-off" in message
    assert "linkwork assemble" in message
    assert "--assemble" not in message
    assert answer(["assemble", str(file), "-o", str(closed)]) == 0
    assert answer(["convert", str(closed), "-o", str(deck)]) == 0
