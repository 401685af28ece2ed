"""Angles of joints in space count turns and count from the start; axes have a sense."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import answer
from scipy.spatial.transform import Rotation

from linkwork import Start, Trajectory, kinematics, simulate
from linkwork.assembly.assemble import assemble
from linkwork.document import parse
from linkwork.errors import ModelError, NumericalStop
from linkwork.modelfile import loads, with_start
from linkwork.start.check import check

COORDINATES = ("body", "joint", "minimal", "euler")
AXIS = np.array([1.0, 2.0, 3.0]) / math.sqrt(14.0)


def model(**parts: Any) -> Any:
    return loads(
        json.dumps({"linkwork": 1, "name": "m", "space": "spatial", "gravity": [0, 0, 0], **parts}), is_json=True
    )


def rotor(rate: float = 1.0, joint: dict[str, Any] | None = None, **parts: Any) -> Any:
    """A body on a hinge along z with an inertia of 0.5 about it."""
    body = {"mass": 1, "inertia": [1, 1, 0.5], "angular_velocity": [0, 0, rate], "points": {"O": [0, 0, 0]}}
    hinge = {"type": "revolute", "i": "ground.O", "j": "b.O", "axis": [0, 0, 1], **(joint or {})}
    return model(ground={"points": {"O": [0, 0, 0]}}, bodies={"b": body}, joints={"O": hinge}, **parts)


def four_bar(**parts: Any) -> Any:
    """A parallelogram in the x-y plane whose rocker is carried by B, so that the pin D closes the loop."""
    hinge, up = {"type": "revolute", "axis": [0, 0, 1]}, [math.cos(0.3), math.sin(0.3), 0]
    turned, inertia = {"axis": [0, 0, 1], "angle": 0.3}, [0.1, 0.1, 0.1]
    arm = {"mass": 1, "inertia": inertia, "orientation": turned, "points": {"O": [0, 0, 0], "P": [1, 0, 0]}}
    return model(
        ground={"points": {"A": [0, 0, 0], "D": [3, 0, 0]}},
        bodies={
            "crank": arm | {"angular_velocity": [0, 0, 4.0]},
            "coupler": {"mass": 1, "inertia": inertia, "position": up, "points": {"B": [0, 0, 0], "C": [3, 0, 0]}},
            "rocker": arm | {"position": [3, 0, 0]},
        },
        joints={
            "A": hinge | {"i": "ground.A", "j": "crank.O"},
            "B": {"type": "spherical", "i": "crank.P", "j": "coupler.B"},
            "C": {"type": "universal", "i": "coupler.C", "j": "rocker.P", "axis": [0, 1, 0], "axis_j": [0, 0, 1]},
            "D": hinge | {"i": "ground.D", "j": "rocker.O"},
        },
        **parts,
    )


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.sampled
def test_an_end_stop_beyond_half_a_turn_turns_the_body_back(coordinates: str, side: float) -> None:
    """It is reached at 4.5 rad, overlaps by rate sqrt(J/k) at most, and gives the speed back after half a period."""
    stop = {"type": "end-stop", "joint": "O", "lower": -4.5, "upper": 4.5, "stiffness": 1e4}
    motion = simulate(rotor(side, forces={"e": stop}), t_end=8.0, step=0.05, coordinates=coordinates)
    root = math.sqrt(0.5 / 1e4)
    assert side * motion["b.wz"][-1] == pytest.approx(-1.0, abs=1e-7)
    assert side * motion["O.angle"][-1] == pytest.approx(4.5 - (8.0 - 4.5 - math.pi * root), abs=1e-7)
    assert np.max(np.abs(motion["O.angle"])) < 4.5 + root
    assert [round(t, 9) for t in motion.events.t] == pytest.approx([4.5, 4.5 + math.pi * root], abs=1e-8)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.sampled
def test_turns_are_counted_across_a_resumed_run(coordinates: str, tmp_path: Path) -> None:
    """theta = 16 sin 2t, broken off at t = 0.7, at 15.8 rad, and read from a file before it goes on."""
    spring = {"type": "rotational-spring-damper", "joint": "O", "stiffness": 2}
    whole = rotor(32.0, forces={"s": spring})
    simulate(whole, t_end=0.7, step=0.1, coordinates=coordinates).save(tmp_path / "first.nc")
    first = Trajectory.load(tmp_path / "first.nc")
    motion = simulate(whole, t_end=2.0, step=0.1, coordinates=coordinates, start=Start(resume=first))
    np.testing.assert_allclose(motion["O.angle"], 16.0 * np.sin(2.0 * motion.t), atol=1e-6)


@pytest.mark.parametrize("coordinates", ["body", "joint"])
@pytest.mark.parametrize("integrator", ["radau5", "generalized-alpha"])
@pytest.mark.sampled
def test_turns_are_counted_by_implicit_methods(coordinates: str, integrator: str) -> None:
    spring = {"type": "rotational-spring-damper", "joint": "O", "stiffness": 2}
    motion = simulate(
        rotor(32.0, forces={"s": spring}),
        t_end=2.0,
        step=0.1,
        coordinates=coordinates,
        integrator=integrator,
        rtol=1e-8,
    )
    np.testing.assert_allclose(motion["O.angle"], 16.0 * np.sin(2.0 * motion.t), atol=1e-3)


@pytest.mark.parametrize("coordinates", ["body", "joint", "euler"])
@pytest.mark.sampled
def test_turns_of_a_driven_joint_are_counted(coordinates: str) -> None:
    """Inverse dynamics: the driver at 3 rad/s holds the torsion spring with k 3 t, over seven turns."""
    spring = {"type": "rotational-spring-damper", "joint": "O", "stiffness": 2}
    motion = kinematics(
        rotor(3.0, forces={"s": spring}, drivers={"m": {"joint": "O", "motion": "3*t"}}),
        t_end=15.0,
        step=0.5,
        coordinates=coordinates,
    )
    np.testing.assert_allclose(motion["driving:m"], 6.0 * motion.t, atol=1e-9)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.sampled
def test_a_joint_that_closes_a_loop_counts_its_turns(coordinates: str) -> None:
    """In a parallelogram both arms turn alike, and a spring at either bearing does the same work.

    The arms turn about their mass centres with 0.1 each, and the coupler moves on a circle of 1 m without turning.
    """
    found = []
    for bearing in ("A", "D"):
        spring = {"type": "rotational-spring-damper", "joint": bearing, "stiffness": 0.4}
        motion = simulate(four_bar(forces={"s": spring}), t_end=6.0, step=0.05, coordinates=coordinates)
        found.append(motion[f"{bearing}.angle"])
        angle = np.unwrap(2.0 * np.arctan2(motion["rocker.e3"], motion["rocker.e0"]))
        np.testing.assert_allclose(motion[f"{bearing}.angle"], angle - angle[0], atol=1e-7)
        kinetic = 0.5 * (0.1 + 0.1 + 1.0) * motion["rocker.wz"] ** 2
        np.testing.assert_allclose(kinetic + 0.2 * motion[f"{bearing}.angle"] ** 2, kinetic[0], rtol=1e-6)
    assert np.max(found[0]) > 2.0 * math.pi
    np.testing.assert_allclose(*found, atol=1e-6)


@pytest.mark.parametrize("a", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("kind", ["revolute", "cylindrical", "planar", "screw"])
@pytest.mark.parametrize("coordinates", ["body", "joint"])
@pytest.mark.sampled
def test_an_angle_counts_from_the_start_however_the_axes_of_the_body_lie(kind: str, a: float, coordinates: str) -> None:
    """A spring at its default free angle holds nothing; one with the free angle 0.3 pulls with k 0.3."""
    body = {"mass": 1, "inertia": [1, 1, 1], "orientation": {"sequence": "xyz", "angles": [a, a, a]}}
    hinge = {"type": kind, "i": "ground.O", "j": "b.O", "axis": AXIS.tolist()} | (
        {"pitch": 0.2} if kind == "screw" else {}
    )
    for free in (0.0, 0.3):
        spring = {"type": "rotational-spring-damper", "joint": "J", "stiffness": 10, "free_angle": free}
        motion = simulate(
            model(
                ground={"points": {"O": [0, 0, 0]}},
                bodies={"b": body | {"points": {"O": [0, 0, 0]}}},
                joints={"J": hinge},
                forces={"k": spring},
            ),
            t_end=0.5,
            coordinates=coordinates,
        )
        inertia = 1.0 + (0.2 / (2.0 * math.pi)) ** 2 * (kind == "screw")
        expected = free * (1.0 - np.cos(math.sqrt(10.0 / inertia) * motion.t))
        np.testing.assert_allclose(motion["J.angle"], expected, atol=1e-8)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.sampled
def test_start_values_of_angles_count_turns(coordinates: str) -> None:
    """From two turns and a little: 4 pi + 0.5 swings about zero with that amplitude."""
    spring = {"type": "rotational-spring-damper", "joint": "O", "stiffness": 0.5}
    for joint, settings in (({}, {"start": {"O": 4.0 * math.pi + 0.5}}), ({"angle": 4.0 * math.pi + 0.5}, {})):
        m = rotor(0.0, joint, forces={"s": spring}, simulation={"t_end": 2, "step": 0.1, **settings})
        motion = simulate(m, coordinates=coordinates)
        np.testing.assert_allclose(motion["O.angle"], (4.0 * math.pi + 0.5) * np.cos(motion.t), atol=1e-6)
        turned = 0.5 if settings else 0.0  # `angle` says what it is where the body stands
        assert 2.0 * math.atan2(motion["b.e3"][0], motion["b.e0"][0]) == pytest.approx(turned, abs=1e-12)


def test_given_directions_say_the_angle_and_turns_are_added() -> None:
    spring = {"type": "rotational-spring-damper", "joint": "O", "stiffness": 0.5}
    given = {"zero": [1, 0, 0], "zero_j": [math.cos(0.4), math.sin(0.4), 0]}
    for joint, expected in ((given, 0.4), (given | {"angle": 6.0}, 0.4 + 2.0 * math.pi)):
        motion = simulate(rotor(0.0, joint, forces={"s": spring}), t_end=1.0, step=0.1)
        np.testing.assert_allclose(motion["O.angle"], expected * np.cos(motion.t), atol=1e-7)


def test_a_file_of_another_start_keeps_the_zero_of_its_spring() -> None:
    """With the body put at 1.2 rad, its spring is wound by as much."""
    text = json.dumps({
        "linkwork": 1, "name": "m", "space": "spatial", "ground": {"points": {"O": [0, 0, 0]}},
        "bodies": {"b": {"mass": 1, "inertia": [1, 1, 0.5], "points": {"O": [0, 0, 0]}}},
        "joints": {"O": {"type": "revolute", "i": "ground.O", "j": "b.O", "axis": [0, 0, 1]}},
        "forces": {"s": {"type": "rotational-spring-damper", "joint": "O", "stiffness": 2}},
        "simulation": {"start": {"O": 1.2}},
    })  # fmt: skip
    stated = loads(text, is_json=True)
    placed = assemble(stated)
    written = with_start(parse(text, is_json=True), stated.with_start(placed.q, placed.v)).data
    assert "start" not in written["simulation"]  # type: ignore[operator]
    motion = simulate(loads(json.dumps(written), is_json=True), t_end=0.5)
    assert motion["energy:potential"][0] == pytest.approx(0.5 * 2.0 * 1.2**2)


def door(turn: tuple[Any, float], kind: str = "revolute") -> Any:
    body = {"mass": 20, "inertia": [7, 2, 5], "position": [0.4, 0, 0], "points": {"O": [-0.4, 0, 0]}}
    hinge = {"type": kind, "i": "ground.O", "j": "door.O", "axis": [0, 0, 1], "axis_j": [0, 0, 1]}
    pitch = {"pitch": 0.3} if kind == "screw" else {}
    axis, angle = turn
    return model(
        ground={"points": {"O": [0, 0, 0]}},
        bodies={"door": body | {"orientation": {"axis": list(axis), "angle": angle}}},
        joints={"O": hinge | pitch},
    )


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "cylindrical", "screw", "planar", "rigid"])
@pytest.mark.sampled
def test_sketches_three_radians_off_close_with_axes_that_point_the_same_way(kind: str) -> None:
    rng = np.random.default_rng(7)
    for _ in range(12):
        found = assemble(door((rng.normal(size=3).tolist(), 3.0), kind))
        A = Rotation.from_quat([found.q[f"door.e{k}"] for k in range(4)], scalar_first=True).as_matrix()
        assert A[2, 2] == pytest.approx(1.0, abs=1e-12)
        assert found.residual < 1e-12


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "cylindrical", "screw", "planar"])
@pytest.mark.sampled
def test_a_start_reversed_by_half_a_turn_is_refused_unless_it_is_assembled(kind: str) -> None:
    """It fits all rows of the joint; turned over, its z axis points up again."""
    reversed_door = door(([1, 0, 0], math.pi), kind)
    assert check(door(([1, 0, 0], 0.0), kind)).position_gaps["O"] == pytest.approx({"m": 0.0, "rad": 0.0})
    with pytest.raises(ModelError, match="180 degrees") as caught:
        check(reversed_door)
    assert (caught.value.code, caught.value.path) == ("reversed-joint", "joints.O")
    found = assemble(reversed_door)
    A = Rotation.from_quat([found.q[f"door.e{k}"] for k in range(4)], scalar_first=True).as_matrix()
    assert A[2, 2] == pytest.approx(1.0, abs=1e-12)


def test_bevel_gears_push_at_the_pitch_point_of_their_cones() -> None:
    """20 N along y at (0.1, 0, 0.2), whether the points of the gear are at the apex or at the wheels, or beyond it.

    alpha = 3/(0.05 + 0.4/4) = 20 rad/s^2; the teeth take 3 - 0.05 20 = 2 N m from wheel a at 0.1 m.
    """
    for side, at in ((1.0, 0.0), (1.0, 1.0), (-1.0, -1.0)):
        motion = simulate(
            model(
                ground={"points": {"O": [0, 0, 0]}},
                bodies={
                    "a": {"mass": 1, "inertia": [0.1, 0.1, 0.05], "points": {"O": [0, 0, 0], "W": [0, 0, 0.2 * at]}},
                    "b": {"mass": 1, "inertia": [0.4, 0.3, 0.3], "points": {"O": [0, 0, 0], "W": [0.1 * at, 0, 0]}},
                },
                joints={
                    "A": {"type": "revolute", "i": "ground.O", "j": "a.O", "axis": [0, 0, 1]},
                    "B": {"type": "revolute", "i": "ground.O", "j": "b.O", "axis": [1, 0, 0]},
                    "G": {"type": "gear", "i": "a.W", "j": "b.W", "axis": [0, 0, 1], "axis_j": [1, 0, 0],
                          "teeth_i": 20, "teeth_j": 40, "radius": 0.1},
                },
                forces={"M": {"type": "torque", "on": "a", "torque": [0, 0, 3]}},
            ),
            t_end=1.0,
            step=0.1,
        )  # fmt: skip
        bearing = [motion[f"reaction:A.{part}"] for part in ("x", "y", "z", "tx", "ty", "tz")]
        f, P = np.array([0.0, -20.0 * side, 0.0]), np.array([0.1, 0.0, 0.2]) * side
        moment = np.cross(P, f) * [1.0, 1.0, 0.0]  # about z the wheel is free
        np.testing.assert_allclose(bearing, np.outer([*-f, *-moment], np.ones(len(motion.t))), atol=1e-8)


@pytest.mark.parametrize("coordinates", ["body", "joint", "euler"])
@pytest.mark.sampled
def test_a_constant_velocity_joint_that_folds_gets_a_note(coordinates: str) -> None:
    """A shaft bent about x at a constant rate is folded at t = pi/rate; bent the other way round it goes on unbent."""

    def bent(rate: float, t_end: float) -> tuple[str, ...]:
        shaft = {"mass": 1, "inertia": [1, 1, 1], "points": {"O": [0, 0, 0]}, "angular_velocity": [rate, 0, 0]}
        joint = {"type": "constant-velocity", "i": "ground.O", "j": "b.O", "axis": [0, 0, 1], "axis_j": [0, 0, 1]}
        made = model(ground={"points": {"O": [0, 0, 0]}}, bodies={"b": shaft}, joints={"J": joint})
        return simulate(made, t_end=t_end, step=0.05, coordinates=coordinates).info.notes

    (note,) = [note for note in bent(2.0, 2.0) if "[folded]" in note]
    assert "'J'" in note
    assert "between t = 1.55 and 1.6" in note  # pi/2 = 1.5708
    assert not [note for note in bent(2.0, 1.5) if "[folded]" in note]


def test_the_command_line_assembles_a_door_that_lies_upside_down(tmp_path: Path, capsys: Any) -> None:
    text = """
linkwork: 1
name: door
space: spatial
ground: {points: {O: [0, 0, 0]}}
bodies:
  door: {mass: 20, inertia: [7, 2, 5], position: [0.4, 0, 0], points: {O: [-0.4, 0, 0]},
         orientation: {axis: [1, 0.2, 0], angle: 2.6}}
joints:
  O: {type: revolute, i: ground.O, j: door.O, axis: [0, 0, 1], axis_j: [0, 0, 1]}
"""
    (tmp_path / "door.yaml").write_text(text)
    assert answer(["assemble", str(tmp_path / "door.yaml"), "--json"]) == 0
    q = json.loads(capsys.readouterr().out)["q"]
    assert q["door.e1"] ** 2 + q["door.e2"] ** 2 < 1e-20


@pytest.mark.parametrize("coordinates", ["body", "joint", "euler"])
@pytest.mark.sampled
def test_a_force_without_a_value_beside_springs_that_count_turns_is_named(coordinates: str) -> None:
    """Only one of three forces carries an angle along: each is looked at with the angles that it knows."""
    model = loads("""
linkwork: 1
space: spatial
gravity: [0, 0, 0]
ground: {points: {O: [0, 0, 0]}}
bodies: {b: {mass: 1, inertia: [1, 1, 1], angular_velocity: [0, 0, 5], points: {O: [0, 0, 0]}}}
joints: {J: {type: revolute, i: ground.O, j: b.O, axis: [0, 0, 1]}}
forces:
  spring: {type: rotational-spring-damper, joint: J, stiffness: 1}
  drag: {type: drag, at: b.O, coefficient: 1}
  f: {type: torque, on: b, torque: [0, 0, sqrt(0.5 - t)]}
simulation: {t_end: 3, step: 0.1}
""")
    with pytest.raises(NumericalStop, match="'f' has no finite value there: sqrt"):
        simulate(model, coordinates=coordinates)


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_a_torsion_spring_about_a_pinion_swings_its_rack(coordinates: str) -> None:
    """A pinion of radius 0.2 on a hinge moves a rack of 3 kg: (J + m R^2) theta'' = -k theta, more than a turn."""
    found = simulate(
        model(
            ground={"points": {"O": [0, 0, 0], "R": [0, -0.2, 0]}},
            bodies={
                "p": {
                    "mass": 1,
                    "inertia": [1, 1, 0.5],
                    "angular_velocity": [0, 0, 8],
                    "points": {"O": [0, 0, 0]},
                },
                "r": {"mass": 3, "inertia": [1, 1, 1], "position": [0, -0.2, 0], "points": {"C": [0, 0, 0]}},
            },
            joints={
                "O": {"type": "revolute", "i": "ground.O", "j": "p.O", "axis": [0, 0, 1]},
                "S": {"type": "prismatic", "i": "ground.R", "j": "r.C", "axis": [1, 0, 0]},
                "M": {
                    "type": "rack-and-pinion",
                    "i": "r.C",
                    "j": "p.O",
                    "axis": [1, 0, 0],
                    "axis_j": [0, 0, 1],
                    "radius": 0.2,
                },
            },
            forces={"k": {"type": "rotational-spring-damper", "joint": "M", "stiffness": 0.7}},
            simulation={"t_end": 3, "step": 0.1},
        ),
        coordinates=coordinates,
    )
    w = math.sqrt(0.7 / (0.5 + 3 * 0.2**2))
    np.testing.assert_allclose(found["p.wz"], 8 * np.cos(w * found.t), rtol=0, atol=1e-6)
    np.testing.assert_allclose(np.abs(found["r.vx"]), 0.2 * np.abs(found["p.wz"]), rtol=0, atol=1e-9)
