"""Planar bodies whose frame is not in their mass centre, and bodies without mass."""

from __future__ import annotations

import json
from math import atan2, cos, hypot
from pathlib import Path

import numpy as np
import pytest
from frames import CRANK, frames_of_the_source
from scipy.integrate import solve_ivp

from linkwork.assembly.assemble import assemble
from linkwork.cli import answer
from linkwork.driven.kinematics import kinematics
from linkwork.errors import ModelError
from linkwork.modelfile import load, loads
from linkwork.simulation.simulate import simulate

PENDULUM = """
linkwork: 1
name: pendulum
bodies:
  rod: {{mass: 2, inertia: {J}, position: [0.5, 0.2], angle: 0.7, angular_velocity: 0.4,
        points: {{O: [0, 0], E: [1, 0], C: [0.6, 0.2]}}, mass_centre: {centre}{about}}}
ground: {{points: {{O: [{x}, {y}]}}}}
joints: {{O: {{type: revolute, i: ground.O, j: rod.O}}}}
simulation: {{t_end: 2, step: 0.1, rtol: 1e-11, atol: 1e-11}}
"""
O = {"x": 0.5, "y": 0.2}  # noqa: E741 - the name of the point


@pytest.mark.parametrize("coordinates", ["body", "joint", "minimal"])
@pytest.mark.parametrize(
    ("J", "centre", "about"),
    [
        (0.3, "[0.6, 0.2]", ""),
        (0.3, "C", ""),
        (0.3 + 2 * (0.6**2 + 0.2**2), "C", ", inertia_about: O"),
        (0.3 + 2 * (0.4**2 + 0.2**2), "C", ", inertia_about: [1, 0]"),
    ],
)
def test_a_pendulum_swings_about_its_point_whatever_the_frame(
    J: float, centre: str, about: str, coordinates: str
) -> None:
    """(J + m d^2) phi'' = -m g times the horizontal arm of the mass centre, in one angle; its place, its reaction."""
    motion = simulate(loads(PENDULUM.format(J=J, centre=centre, about=about, **O)), coordinates=coordinates)
    d, ahead = hypot(0.6, 0.2), atan2(0.2, 0.6)  # from the pin to the mass centre

    def rates(t: float, y: np.ndarray) -> list[float]:
        return [y[1], -2 * 9.81 * d * cos(y[0] + ahead) / (0.3 + 2 * d * d)]

    angle = solve_ivp(rates, (0, 2), [0.7, 0.4], "DOP853", motion.t, rtol=1e-12, atol=1e-12).y
    np.testing.assert_allclose(motion["rod.phi"], angle[0], atol=1e-8)
    np.testing.assert_allclose(motion["rod.x"], O["x"] + d * np.cos(angle[0] + ahead), atol=1e-8)
    np.testing.assert_allclose(motion["rod.E.y"], O["y"] + np.sin(angle[0]), atol=1e-8)
    np.testing.assert_allclose(motion["reaction:O.y"], 2 * (motion["rod.ay"] + 9.81), atol=1e-8)
    np.testing.assert_allclose(motion["reaction:O.torque"], 0.0, atol=1e-8)


def test_a_mechanism_in_the_frames_of_its_source_moves_alike() -> None:
    """[tartari2019, table 3]: places, reactions and driving forces do not depend on the frames."""
    model = loads(json.dumps(frames_of_the_source()), is_json=True)
    own, shipped = kinematics(model, t_end=1.0), kinematics(load("warsaw_problem12"), t_end=1.0)
    assert own["boom.phi"][0] == pytest.approx(atan2(-0.4, 2.2))
    for name in shipped:
        # Angles and rows of a slide belong to their frames, and errors of the work to the steps.
        of_frames = name.endswith((".phi", ".angle")) or "lam:" in name
        if not of_frames and name not in ("energy:drift", "energy:supplied"):
            np.testing.assert_allclose(own[name], shipped[name], rtol=1e-9, atol=1e-9, err_msg=name)


def test_what_is_written_keeps_its_frames(tmp_path: Path) -> None:
    """A sketch that is closed and read again starts closed; a folder of DAP, which has no such frames, moves alike."""
    text = PENDULUM.format(J=0.3, centre="C", about="", x=0.7, y=0.1)
    (tmp_path / "sketch.yaml").write_text(text)
    closed = str(tmp_path / "closed.yaml")
    assert answer(["assemble", str(tmp_path / "sketch.yaml"), "-o", closed]) == 0
    model = load(closed)
    assert max(map(abs, assemble(model).q_changes.values()), default=0.0) < 1e-12
    assert model.bodies[0].mass_centre == (0.6, 0.2)
    assert answer(["convert", closed, "-o", str(tmp_path / "folder")]) == 0
    own, other = simulate(model), simulate(load(str(tmp_path / "folder")), t_end=2.0, step=0.1, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(other.q, own.q, atol=1e-9)


@pytest.mark.slow
def test_kinematics_needs_no_masses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Q is at 2 cos phi + sqrt(9 - 4 sin^2 phi); reactions are left out, with a word, and nothing is simulated."""
    motion = kinematics(loads(CRANK))
    phi = 3 * motion.t
    np.testing.assert_allclose(motion["rod.Q.x"], 2 * np.cos(phi) + np.sqrt(9 - 4 * np.sin(phi) ** 2), atol=1e-12)
    assert not motion.columns("reactions")
    assert "no-masses" in [note.code for note in motion.info.notes]
    with pytest.raises(ModelError, match="no body has mass; forces move masses"):
        simulate(loads(CRANK))
    (tmp_path / "crank.yaml").write_text(CRANK)
    file = str(tmp_path / "crank.yaml")
    assert answer(["check", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dof"] == 0
    assert answer(["report", file, "-o", str(tmp_path / "r.html")]) == 0
    assert answer(["run", file]) == 3


@pytest.mark.parametrize("coordinates", ["body", "joint", "minimal"])
def test_a_rate_alone_is_that_of_the_body_wherever_its_joint_is(coordinates: str) -> None:
    """A body pinned at E, not at the origin of its frame, turns about E: r_dot = omega x (C - E)."""
    text = """
linkwork: 1
bodies:
  rod: {mass: 2, inertia: 0.3, position: [-1, 0], angular_velocity: 0.4, points: {E: [1, 0]}, mass_centre: [0.6, 0.2]}
ground: {points: {O: [0, 0]}}
joints: {O: {type: revolute, i: ground.O, j: rod.E}}
simulation: {t_end: 1, step: 1}
"""
    motion = simulate(loads(text), coordinates=coordinates)
    start = [motion[name][0] for name in ("rod.omega", "rod.vx", "rod.vy")]
    np.testing.assert_allclose(start, [0.4, -0.4 * 0.2, 0.4 * -0.4], atol=1e-12)
    with pytest.raises(ModelError) as refused:  # a velocity of the origin that the pin does not allow is one
        simulate(loads(text.replace("angular_velocity", "velocity: [0, 3], angular_velocity")), coordinates=coordinates)
    assert refused.value.code == "velocity-far-off"


def test_a_rate_alone_is_that_of_the_body_in_space() -> None:
    """The same about the z axis of a hinge."""
    text = """
linkwork: 1
space: spatial
bodies:
  rod: {mass: 2, inertia: [1, 1, 1], position: [-1, 0, 0], angular_velocity: [0, 0, 0.4], points: {E: [1, 0, 0]},
        mass_centre: [0.6, 0.2, 0.3]}
ground: {points: {O: [0, 0, 0]}}
joints: {O: {type: revolute, i: ground.O, j: rod.E, axis: [0, 0, 1]}}
simulation: {t_end: 1, step: 1}
"""
    motion = simulate(loads(text))
    start = [motion[name][0] for name in ("rod.wz", "rod.vx", "rod.vy", "rod.vz")]
    np.testing.assert_allclose(start, [0.4, -0.4 * 0.2, 0.4 * -0.4, 0], atol=1e-12)
