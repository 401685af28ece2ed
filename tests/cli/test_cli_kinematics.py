"""The commands kinematics and assemble, and starts in assembly modes, through the command line."""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from commands import Answer, strict_json
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from linkwork.cli import answer
from linkwork.document import dump
from linkwork.modelfile import load
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]


def four_bar(drivers: Mapping[str, Any] | None = None, **parameters: float) -> dict[str, Any]:
    """A roughly sketched four-bar; its lengths are parameters."""
    values: dict[str, Any] = {"a": 1, "b": 2.5, "c": 2, "d": 2.2, **parameters}
    return {
        "linkwork": 1,
        "name": "sketch",
        "parameters": values,
        "ground": {"points": {"O": [0, 0], "C": ["d", 0]}},
        "bodies": {
            "crank": {"mass": 1, "inertia": 0.1, "position": [0.2, 0.4], "angle": 1.0,
                      "angular_velocity": 0.5, "points": {"O": ["-a/2", 0], "A": ["a/2", 0]}},
            "coupler": {"mass": 2, "inertia": 0.9, "position": [1.5, 1.5], "angle": 0.4,
                        "points": {"A": ["-b/2", 0], "B": ["b/2", 0]}},
            "rocker": {"mass": 1.5, "inertia": 0.6, "position": [2.5, 1.0], "angle": 1.3,
                       "points": {"C": ["-c/2", 0], "B": ["c/2", 0]}},
        },
        "joints": {
            "O": {"type": "revolute", "i": "ground.O", "j": "crank.O"},
            "A": {"type": "revolute", "i": "crank.A", "j": "coupler.A"},
            "B": {"type": "revolute", "i": "coupler.B", "j": "rocker.B"},
            "C": {"type": "revolute", "i": "ground.C", "j": "rocker.C"},
        },
        "drivers": dict(drivers or {}),
        "simulation": {"t_end": 0.5, "step": 0.05},
    }  # fmt: skip


MOTOR = {"motor": {"joint": "O", "motion": "1 + 2*t"}}


@pytest.fixture
def written(tmp_path: Path) -> Any:
    def write(data: dict[str, Any], name: str = "model.yaml") -> Path:
        path = tmp_path / name
        path.write_text(dump(data), encoding="utf-8")
        return path

    return write


# kinematics


def test_kinematics_prints_one_json_object(linkwork: Answer) -> None:
    """Problem 12: the bucket's tip at t = 1 is the number the mechanism states, from intersections of circles."""
    data = linkwork.data("kinematics", "warsaw_problem12", "--t-end", "1", "--coupler", "bucket.K")
    assert (data["model"], data["analysis"], data["status"]) == ("warsaw_problem12", "kinematics", "finished")
    assert (data["t_end"], data["dof"], data["redundant"]) == (1.0, 0, 0)
    assert 0 < data["steps"] < 100  # no step ends at a report time only because it is one
    assert data["constraint_error"]["position"] <= 1e-14
    curve = data["readings"]["coupler_curves"]["bucket.K"]
    assert len(curve) == len(data["readings"]["t"]) == 101
    assert curve[-1][0] == pytest.approx(2.417114599479, abs=1e-10)


def test_kinematics_summary_holds_nothing_unknown(linkwork: Answer, tmp_path: Path) -> None:
    files = [tmp_path / f"motion{suffix}" for suffix in (".nc", ".csv")]
    text = linkwork("kinematics", "slider_crank_driven", *(x for file in files for x in ("-o", file)))
    assert "unknown" not in text
    assert "rtol" not in text
    assert "kinematic, newton" in text
    assert all(f"written {file}" in " ".join(text.split()) for file in files)
    motion = Trajectory.load(files[0])
    theta = 10.0 * motion.t
    np.testing.assert_allclose(motion["slider.x"], np.cos(theta) + np.sqrt(4 - np.sin(theta) ** 2), atol=1e-12)


def test_readings_of_a_slider_crank(linkwork: Answer) -> None:
    """Dead centres at l2 +- l1, ratio dx/dtheta and the angle of the rod against the slide, in closed form."""
    extras = ["--dead-centres", "slider.x", "--table", "crank.phi", "slider.x", "--transmission"]
    lines = ["rod.A", "rod.B", "ground.O", "slider.B"]
    run = ["kinematics", "slider_crank_driven", "--t-end", "0.7", *extras, *lines]
    found = linkwork.data(*run)["readings"]
    centres = found["dead_centres"]["slider.x"]
    assert [c["value"] for c in centres] == pytest.approx([3.0, 1.0, 3.0], abs=1e-8)
    assert [c["t"] for c in centres] == pytest.approx([0.0, math.pi / 10, math.pi / 5], abs=1e-7)
    assert [c["acceleration"] for c in centres] == pytest.approx([-150.0, 50.0, -150.0], rel=1e-3)
    theta, x, ratio = np.array(found["table"]["rows"]).T
    np.testing.assert_allclose(theta, 10.0 * np.array(found["t"]), atol=1e-12)
    expected = -np.sin(theta) - np.sin(theta) * np.cos(theta) / np.sqrt(4 - np.sin(theta) ** 2)
    np.testing.assert_allclose(ratio, expected, atol=1e-11)
    np.testing.assert_allclose(x, np.cos(theta) + np.sqrt(4 - np.sin(theta) ** 2), atol=1e-12)
    angle = np.array(found["transmission"]["angle"])
    np.testing.assert_allclose(angle, np.arcsin(np.abs(np.sin(theta)) / 2), atol=1e-12)
    assert found["transmission"]["largest"]["angle"] == max(angle)
    text = linkwork(*run)
    assert "dead centre" in text
    assert "transmission" in text
    assert len(re.findall(r"^(?:table)? {2,}\d", text, re.M)) >= len(theta)


def test_readings_refuse_what_is_not_there(linkwork: Answer) -> None:
    run = ["kinematics", "slider_crank_driven", "--t-end", "0.1"]
    assert "[unknown-quantity]" in linkwork(*run, "--coupler", "rod.Q", code=2)
    assert "[not-a-coordinate]" in linkwork(*run, "--dead-centres", "driving:motor", code=2)


def test_undriven_freedoms_are_listed(linkwork: Answer) -> None:
    data = linkwork.data("kinematics", "four_bar", code=3)["error"]
    assert data["code"] == "undriven"
    assert all(f"'{body}'" in data["message"] for body in ("crank", "coupler", "rocker"))
    assert "turning" in data["message"]


def test_drivers_in_conflict_are_named(linkwork: Answer, written: Any) -> None:
    brake = {"brake": {"joint": "C", "motion": "1.3 + t"}}
    data = linkwork.data("kinematics", written(four_bar({**MOTOR, **brake})), "--assemble", code=3)["error"]
    assert data["code"] in ("over-driven", "drivers-conflict")
    assert "'motor'" in data["message"]
    assert "'brake'" in data["message"]


def test_a_crank_too_long_stops_at_the_located_angle(linkwork: Answer, tmp_path: Path) -> None:
    """The rod is square to the slide when l1 sin(theta) = l2; further the crank cannot turn."""
    file = tmp_path / "until.nc"
    run = ["kinematics", "slider_crank_driven", "--set", "l1=2", "--set", "l2=1.2", "-o", file]
    data = linkwork.data(*run, code=4)
    limit = math.asin(0.6)
    assert data["error"]["code"] == "lock-up"
    assert data["error"]["drivers"]["motor"] == pytest.approx(limit, abs=1e-6)
    assert data["error"]["t"] == pytest.approx(limit / 10, abs=1e-7)
    assert data["error"]["position"]["slider.x"] == pytest.approx(1.6, abs=1e-6)
    assert data["error"]["joints"]
    assert data["partial"]["status"] == "stopped"
    assert Trajectory.load(file).t[-1] == data["partial"]["final"]["t"] <= limit / 10
    text = linkwork(*run, code=4)
    assert "until.nc" in text
    assert "locks at t = " in text


# assemble


def test_a_link_too_short_names_the_loop_and_the_gap(linkwork: Answer, written: Any) -> None:
    """1 + 1 + 1 m cannot span 4 m; the best position has the missing metre spread evenly over the four joints."""
    path = written(four_bar(MOTOR, a=1, b=1, c=1, d=4))
    data = linkwork.data("check", path, "--assemble", code=3)["error"]
    assert data["code"] == "cannot-close"
    assert re.findall(r"'(\w+)' ([-0-9.e]+) m", data["message"])
    data = linkwork.data("assemble", written(four_bar(a=1, b=1, c=1, d=4)), code=3)["error"]
    assert all(f"'{joint}'" in data["message"] for joint in "OABC")
    shared, _, last = data["message"].partition("with all others closed, ")
    gaps = {joint: float(gap) for joint, gap in re.findall(r"'(\w+)' ([-0-9.e]+) m", shared)}
    assert gaps == pytest.approx(dict.fromkeys("OABC", 0.25), abs=1e-3)
    assert re.match(r"what is left is '\w' 1 m;", last)


@pytest.mark.parametrize(
    "lengths",
    [
        (0.1, 0.05, 2.0, 2.2),
        pytest.param((0.042, 0.033, 0.434, 0.072), marks=pytest.mark.slow),
        pytest.param((1.792, 0.085, 0.053, 0.113), marks=pytest.mark.slow),
    ],
)
def test_a_light_link_belongs_to_the_loop_too(linkwork: Answer, written: Any, lengths: tuple[float, ...]) -> None:
    """Without any one of its joints a loop closes, so all four contradict each other, whatever the masses."""
    data = four_bar(**dict(zip("abcd", lengths, strict=True)))
    for body, length in zip(data["bodies"].values(), "abc", strict=True):
        body |= {"mass": length, "inertia": f"{length}^3/12"}
    message = linkwork.data("assemble", written(data), code=3)["error"]["message"]
    assert re.search(r"the joints 'O', 'A', 'B', 'C' contradict each other: best found '\w' [0-9.e-]+ m", message)


def test_a_loop_that_can_only_just_close_tells_its_gap(linkwork: Answer, written: Any) -> None:
    """0.1 + 0.1 + 2 m reach 2.2 m only when stretched, where the gap shrinks too slowly for the joints to close."""
    status = answer(["assemble", str(written(four_bar(a=0.1, b=0.1, c=2.0, d=2.2)))])
    out, err = linkwork.capsys.readouterr()
    assert status in (0, 3)
    assert "best found ;" not in out + err


def test_assemble_says_what_moved_and_keeps_what_it_should(linkwork: Answer, written: Any, tmp_path: Path) -> None:
    path, file = written(four_bar()), tmp_path / "assembled.yaml"
    data = linkwork.data("assemble", path, "--keep", "crank.phi", "-o", file)
    assert data["q"]["crank.phi"] == 1.0
    assert data["v"]["crank.phi"] == 0.5
    assert "crank.phi" not in data["q_changes"]
    assert data["residual"] <= 1e-12
    assert data["files"] == [str(file)]
    # crank pin and rocker pin are a coupler apart
    B = np.array([2.2 + 2 * math.cos(data["q"]["rocker.phi"]), 2 * math.sin(data["q"]["rocker.phi"])])
    assert np.linalg.norm(B - [math.cos(1.0), math.sin(1.0)]) == pytest.approx(2.5, abs=1e-12)
    text = linkwork("assemble", path, "--keep", "crank.phi")
    assert "kept         crank.phi" in text
    assert "crank.x" in text
    assert "[unknown-coordinate]" in linkwork("assemble", path, "--keep", "crank.psi", code=2)
    assert "[unknown-weights]" in linkwork("assemble", path, "--weights", "lead", code=2)
    assert "[unknown-suffix]" in linkwork("assemble", path, "-o", "modes.html", code=2)


def test_what_is_rounding_beside_the_other_values_is_written_as_zero(linkwork: Answer) -> None:
    """The arms of a delta robot stand in planes and turn about axes in which their other components vanish."""
    data = linkwork.data("assemble", "delta_robot")
    for level in ("q", "v"):
        sizes = np.abs(list(data[level].values()))
        assert not np.any((sizes > 0.0) & (sizes < 1e-15))
        assert np.count_nonzero(sizes == 0.0) > 5


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_the_written_model_fits_without_corrections(
    linkwork: Answer, written: Any, tmp_path: Path, suffix: str
) -> None:
    """Positions and velocities come back with all digits; lengths, changed parameters and formulas are kept."""
    file = tmp_path / f"assembled{suffix}"
    data = linkwork.data("assemble", written(four_bar(MOTOR)), "--set", "b=2400 mm", "-o", file)
    report = linkwork.data("check", file)
    assert report["q_changes"] == report["v_changes"] == {}
    assert not [note for note in report["notes"] if "start-corrected" in note]
    model = load(file)
    assert model.name == "sketch"
    assert model.parameters == {"a": 1.0, "b": 2.4, "c": 2.0, "d": 2.2}
    for body in model.bodies:
        assert [*body.start_q] == [data["q"][c.name] for c in body.coordinates]
        assert [*body.start_v] == [data["v"][c.name] for c in body.velocities]
    assert linkwork.data("kinematics", file)["status"] == "finished"


# modes


def test_all_modes_of_the_four_bar_are_two(linkwork: Answer, tmp_path: Path) -> None:
    page = tmp_path / "modes.html"
    data = linkwork.data("assemble", "four_bar", "--all", "-o", page)
    assert {"modes", "paths", "finite", "real", "singular", "complete"} <= set(data)
    assert (data["real"], data["finite"], data["singular"], data["complete"]) == (2, 2, 0, True)
    assert data["kept"] == ["crank.phi"]
    assert data == {**linkwork.data("assemble", "four_bar", "--all", "--keep", "crank.phi"), **{
        key: data[key] for key in ("wall_s", "files")}}  # fmt: skip
    for mode in data["modes"]:
        assert mode["certified"]
        assert mode["residual"] <= 1e-12
        assert mode["q"]["crank.phi"] == pytest.approx(math.pi / 3, abs=1e-15)
    # the pin B of one mode is that of the other, mirrored at the line from A to C
    A, C = np.array([0.5, math.sqrt(0.75)]), np.array([2.2, 0.0])
    one, other = (np.array(mode["points"]["coupler.B"]) for mode in data["modes"])
    along = (C - A) / np.linalg.norm(C - A)
    np.testing.assert_allclose(other, 2 * (A + along * ((one - A) @ along)) - one, atol=1e-12)

    text = page.read_text(encoding="utf-8")
    drawings = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text, re.S)]
    assert len(drawings) == 2
    assert text.count("certified") == 2
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    table = linkwork("assemble", "four_bar", "--all")
    assert "mode 2" in table
    assert "complete" in table


def test_slices_give_the_degree_of_the_closure_variety(linkwork: Answer) -> None:
    """The coordinates of a four-bar cover a curve of degree 6, whatever plane cuts it."""
    data = linkwork.data("assemble", "four_bar", "--all", "--slice")
    assert (data["kept"], data["slices"], data["degree"], data["finite"]) == ([], 1, 6, 6)
    assert "[usage]" in linkwork("assemble", "four_bar", "--slice", code=2)


def test_names_cannot_leave_their_place_in_the_page(linkwork: Answer, written: Any, tmp_path: Path) -> None:
    """A body called <script> is text."""
    data = json.loads(json.dumps(four_bar(MOTOR)).replace("crank", "<script>alert(1)<"))
    page = tmp_path / "modes.html"
    assert linkwork.data("assemble", written(data), "--all", "-o", page)["real"] == 2
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;" in text


@pytest.mark.parametrize("command", ["check", "run", "kinematics"])
@pytest.mark.sampled
def test_a_start_in_the_second_mode(linkwork: Answer, command: str, written: Any) -> None:
    """What starts below the line of centres is found there by check, run and kinematics alike."""
    path = written(four_bar(MOTOR))
    below = linkwork.data("assemble", path, "--all")["modes"][1]
    data = linkwork.data(command, path, "--mode", "2")
    assert [note for note in data["notes"] if "mode 2 of 2" in note]
    if command == "check":
        assert data["q_changes"] == data["v_changes"] == {}
    else:
        assert math.sin(data["final"]["q"]["rocker.phi"]) < 0 < math.sin(1.3)
        assert math.sin(below["q"]["rocker.phi"]) < 0
    assert "[no-such-mode]" in linkwork(command, path, "--mode", "3", code=2)
    if command == "kinematics":
        assert "[usage]" in linkwork(command, path, "--keep", "crank.phi", code=2)


def test_the_speed_of_what_is_kept_is_kept_in_every_mode(linkwork: Answer, written: Any) -> None:
    data = linkwork.data("run", written(four_bar()), "--mode", "2", "--t-end", "1e-9", "--step", "1e-9")
    assert data["final"]["v"]["crank.phi"] == pytest.approx(0.5, abs=1e-7)
    assert data["final"]["q"]["crank.phi"] == pytest.approx(1.0, abs=1e-8)


# check


def test_check_tells_why_rows_are_redundant_and_what_that_means(linkwork: Answer) -> None:
    """A four-bar with one pin twice: 1 freedom where counting gives -1."""
    text = linkwork("check", "four_bar_redundant")
    assert "1 degree of freedom, -1 by counting" in text
    assert "not unique in B, B2; unique in all others" in text
    assert re.search(r"singular values +\S+ to \S+, 2 zero within ", text)
    assert "reactions" not in linkwork("check", "four_bar")


def test_gaps_of_drivers_have_their_own_unit(linkwork: Answer, written: Any) -> None:
    """The motor starts 0.04 rad ahead of the crank, the ram 1 cm."""
    rams = {"motor": {"joint": "O", "motion": "1.04"}, "ram": {"i": "ground.C", "j": "rocker.C", "motion": "1"}}
    data = four_bar(rams)
    del data["joints"]["C"]
    data["bodies"]["rocker"]["position"] = [3.21 + math.cos(1.3), math.sin(1.3)]
    gaps = linkwork.data("check", written(data), "--assemble")["position_gaps"]
    assert gaps["motor"] == pytest.approx({"rad": 0.04})
    assert gaps["ram"] == pytest.approx({"m": 0.01})


# random linkages


def linkage(seed: int, bodies: int, loops: int) -> tuple[dict[str, Any], Array]:
    """Bodies in random places, pinned to each other or the ground at random points: closed as it stands.

    The positions that close it; the model starts up to a tenth of its size away from them.
    """
    rng = np.random.default_rng(seed)
    places = rng.uniform(-1, 1, (bodies, 3)) * [1.0, 1.0, math.pi]
    points: list[dict[str, list[float]]] = [{} for _ in range(bodies + 1)]  # the last are those of the ground
    names = [*(f"body{k}" for k in range(bodies)), "ground"]
    joints = {}
    pairs = [(int(rng.choice([*range(k), bodies])), k) for k in range(bodies)]
    pairs += [(int(i), int(j)) for i, j in (rng.choice(bodies + 1, 2, replace=False) for _ in range(loops))]
    for n, pair in enumerate(pairs):
        spot = rng.uniform(-1, 1, 2)
        for body in pair:
            x, y, phi = places[body] if body < bodies else (0.0, 0.0, 0.0)
            turn = np.array([[math.cos(phi), math.sin(phi)], [-math.sin(phi), math.cos(phi)]])
            points[body][f"P{n}"] = (turn @ (spot - [x, y])).tolist()
        joints[f"J{n}"] = {"type": "revolute", "i": f"{names[pair[0]]}.P{n}", "j": f"{names[pair[1]]}.P{n}"}
    starts = places + rng.uniform(-0.1, 0.1, places.shape)
    data: dict[str, Any] = {
        "linkwork": 1,
        "ground": {"points": points[-1]},
        "bodies": {
            name: {"mass": 1, "inertia": 0.3, "position": start[:2].tolist(), "angle": float(start[2]), "points": own}
            for name, start, own in zip(names, starts, points, strict=False)
        },
        "joints": joints,
    }
    return data, places


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1), bodies=st.integers(1, 4), loops=st.integers(0, 3))
def test_random_linkages_reassemble_or_say_why_not(
    capsys: pytest.CaptureFixture[str], seed: int, bodies: int, loops: int
) -> None:
    """To rounding, and the written model needs no correction; else the joints in conflict are named. Never a NaN."""
    data, _ = linkage(seed, bodies, loops)
    with tempfile.TemporaryDirectory() as folder:
        path, file = Path(folder, "sketch.yaml"), Path(folder, "assembled.yaml")
        path.write_text(dump(data), encoding="utf-8")
        code = answer(["assemble", str(path), "-o", str(file), "--json"])
        out, err = capsys.readouterr()
        found = strict_json(out)
        assert not err
        if code == 0:
            assert found["residual"] <= 1e-13
            assert all(math.isfinite(x) for x in (*found["q"].values(), *found["v"].values()))
            assert answer(["check", str(file), "--json"]) == 0
            report = strict_json(capsys.readouterr().out)
            assert report["q_changes"] == report["v_changes"] == {}
        else:
            assert code == 3
            assert found["error"]["code"] == "cannot-close"
            assert re.search(r"'J\d+'.* contradict .*'J\d+' \S+ m", found["error"]["message"])
            assert not file.exists()


@pytest.mark.parametrize("option", [["--coordinates", "joint"], ["--cut", "B"], ["--weights", "unit"]])
def test_all_positions_take_no_options_without_effect(option: list[str], linkwork: Answer) -> None:
    error = linkwork.data("assemble", "four_bar", "--all", *option, code=2)["error"]
    assert error["code"] == "no-effect"
    assert option[0] in error["message"]


@pytest.mark.parametrize("command", [["check"], ["run"], ["kinematics"], ["assemble"], ["assemble", "--all"]])
def test_a_driven_distance_between_points_that_coincide_is_refused(
    command: list[str], linkwork: Answer, tmp_path: Path
) -> None:
    """Its direction is 0/0."""
    file = tmp_path / "pendulum.yaml"
    file.write_text(
        "linkwork: 1\nground: {points: {O: [0, 0]}}\nbodies: {rod: {mass: 1, inertia: 1, points: {O: [0, 0]}}}\n"
        "joints: {O: {type: revolute, i: ground.O, j: rod.O}}\ndrivers: {d: {i: ground.O, j: rod.O, motion: t}}\n"
    )
    error = linkwork.data(command[0], file, *command[1:], code=3)["error"]
    assert error["code"] == "undefined-start"
    assert "'d' cannot be evaluated at the start position" in error["message"]
