"""Assembly modes in space, against closed forms."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from linkwork.assembly.laurent import NotPolynomialError
from linkwork.assembly.modes import Mode, in_mode, modes
from linkwork.assembly.problem import Problem
from linkwork.assembly.space import solve_in_space, spatial_closure
from linkwork.document import parse
from linkwork.driven.kinematics import kinematics
from linkwork.elements.bodies import Ground, SpatialBody
from linkwork.elements.drivers import Driver
from linkwork.elements.motions import Polynomial
from linkwork.elements.spatial import SpatialPrismatic, SpatialRevolute
from linkwork.errors import UsageError
from linkwork.model import Model
from linkwork.modelfile import load, loads, with_start

Array = NDArray[Any]

GROUND = Ground()
INERTIA = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
# Axes of crank and rocker and of both ends of the coupler at the start, and zeros for the angles of crank and rocker.
U_1, U_4, W_2, W_3 = (
    np.array(a) / np.linalg.norm(a) for a in ((0.2, -0.1, 1.0), (1.0, 0.3, -0.2), (0.3, 0.6, 1.0), (0.9, 1.0, 0.4))
)
X_1, X_4 = (np.cross(u, (0.0, 1.0, 0.0)) / np.linalg.norm(np.cross(u, (0.0, 1.0, 0.0))) for u in (U_1, U_4))


def plain(a: Array) -> tuple[float, ...]:
    return tuple(a.tolist())


def turned(u: Array, angle: float) -> Array:
    return np.asarray(Rotation.from_rotvec(angle * u).as_matrix())


def matrix(mode: Mode, body: str) -> Array:
    return np.asarray(Rotation.from_quat([mode.q[f"{body}.e{k}"] for k in range(4)], scalar_first=True).as_matrix())


def spherical_four_bar(phi: float, *distances: float) -> Model:
    """Four axes through the origin, the pins on them at these distances; all bodies start in the axes of the ground."""
    crank, coupler, rocker = bodies = tuple(SpatialBody(name, 1.0, INERTIA) for name in ("crank", "coupler", "rocker"))
    ends: tuple[Any, ...] = (
        (GROUND, crank, U_1, X_1),
        (crank, coupler, W_2, X_1),
        (coupler, rocker, W_3, X_1),
        (GROUND, rocker, U_4, X_4),
    )
    joints = tuple(
        SpatialRevolute(name, i, j, plain(rho * u), plain(rho * u), plain(u), plain(u), plain(x), plain(x))
        for name, (i, j, u, x), rho in zip("ABCD", ends, distances, strict=True)
    )
    motor = Driver("motor", joints[0], "angle", Polynomial(phi))
    return Model("spherical", bodies, joints, (motor,), gravity=(0.0, 0.0, 0.0), space="spatial")


def rocker_angles(w_2: Array, w_3: Array, c: float) -> list[float]:
    """A cos psi + B sin psi = C: axes w_2 and w_3, which is turned by psi about U_4, have an angle of cosine c."""
    A, B = w_2 @ (w_3 - (U_4 @ w_3) * U_4), w_2 @ np.cross(U_4, w_3)
    ratio = (c - (U_4 @ w_3) * (U_4 @ w_2)) / math.hypot(A, B)
    return [] if abs(ratio) > 1.0 else [math.atan2(B, A) + sign * math.acos(ratio) for sign in (1.0, -1.0)]


@pytest.mark.parametrize("phi", [0.3, -0.4, -0.7, -1.5])
@pytest.mark.sampled
def test_a_spherical_four_bar_has_the_two_modes_of_its_closed_form(phi: float) -> None:
    """With pins off the centre no body fits the other way round; where the coupler is too short there is no mode."""
    expected = [turned(U_4, psi) for psi in rocker_angles(turned(U_1, phi) @ W_2, W_3, float(W_2 @ W_3))]
    result = modes(spherical_four_bar(phi, 0.7, 1.1, 0.9, 1.3))
    assert (result.method, result.complete, result.lost, result.real) == ("homotopy", True, 0, len(expected))
    for A in expected:
        assert min(np.max(np.abs(A - matrix(mode, "rocker"))) for mode in result.modes) < 1e-11
    assert all(mode.residual < 1e-13 for mode in result.modes)


def test_the_closed_form_of_the_spherical_four_bar_has_two_solutions_or_none() -> None:
    """What the test above goes through."""
    counts = [len(rocker_angles(turned(U_1, phi) @ W_2, W_3, float(W_2 @ W_3))) for phi in (0.3, -0.4, -0.7, -1.5)]
    assert sorted(set(counts)) == [0, 2]


@pytest.mark.parametrize("phi", [-0.4, -0.7])
def test_with_pins_at_the_centre_no_body_is_put_on_the_other_way_round(phi: float) -> None:
    """Rows hold for either sense of all axes and either sign of w_2 . w_3; modes are the two of the closed form."""
    expected = [turned(U_4, psi) for psi in rocker_angles(turned(U_1, phi) @ W_2, W_3, float(W_2 @ W_3))]
    result = modes(spherical_four_bar(phi, 0.0, 0.0, 0.0, 0.0))
    assert (result.complete, result.real, len(expected)) == (True, 2, 2)
    for A in expected:
        assert min(np.max(np.abs(A - matrix(mode, "rocker"))) for mode in result.modes) < 1e-11
    for mode in result.modes:
        crank, coupler, rocker = (matrix(mode, body) for body in ("crank", "coupler", "rocker"))
        senses = [U_1 @ crank @ U_1, crank @ W_2 @ coupler @ W_2, coupler @ W_3 @ rocker @ W_3, U_4 @ rocker @ U_4]
        np.testing.assert_allclose(senses, 1.0, atol=1e-12)


def test_a_shaft_with_a_universal_joint_has_the_modes_of_its_closed_form() -> None:
    """The driven arm is across its shaft and the other arm, in two senses."""
    result = modes(load("universal_shaft"))
    assert (result.method, result.complete, result.lost, result.real) == ("homotopy", True, 0, 2)
    axis = np.array([0.0, -0.5, math.sqrt(0.75)])
    arm = np.cross(axis, [1.0, 0.0, 0.0])
    senses = [(matrix(mode, "driven")[:, 2] @ axis, matrix(mode, "driven")[:, 1] @ arm) for mode in result.modes]
    np.testing.assert_allclose(sorted(senses), [(1.0, -1.0), (1.0, 1.0)], atol=1e-12)


def test_the_spatial_four_bar_has_the_modes_of_circle_and_sphere() -> None:
    """The rocker's pin on its circle at the coupler's length from the wheel's: A cos psi + B sin psi = C again.

    The cross of the universal joint fits in two senses.
    """
    result = modes(load("spatial_four_link"))
    assert (result.complete, result.lost, result.real) == (True, 0, 4)
    assert all(mode.certified for mode in result.modes)
    centre, radius = np.array([-4.0, -8.5, 0.0]), 7.4
    from_pin = centre - (0.0, 0.0, 2.0)
    A, B, C = from_pin[0], from_pin[2], (12.2**2 - radius**2 - from_pin @ from_pin) / (2.0 * radius)
    for sign in (1.0, -1.0):
        psi = math.atan2(B, A) + sign * math.acos(C / math.hypot(A, B))
        pin = centre + radius * np.array([math.cos(psi), 0.0, math.sin(psi)])
        near = [m for m in result.modes if np.max(np.abs(np.array(m.points["rocker.C"]) - pin)) < 1e-9]
        assert len(near) == 2
        assert all(m.points["wheel.B"] == pytest.approx((0.0, 0.0, 2.0), abs=1e-9) for m in near)


def test_what_slides_without_turning_is_mounted_in_one_way() -> None:
    """x_i . y_j = y_i . z_j = z_i . x_j = 0 holds in eight, of which seven have other axes parallel, or reversed."""
    block = SpatialBody("block", 1.0, INERTIA)
    slide = SpatialPrismatic("P", GROUND, block, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    motor = Driver("motor", slide, "displacement", Polynomial(0.4))
    result = modes(Model("slide", (block,), (slide,), (motor,), gravity=(0.0, 0.0, 0.0), space="spatial"))
    assert (result.complete, result.real) == (True, 1)
    assert result.modes[0].q["block.z"] == pytest.approx(0.4, abs=1e-14)
    np.testing.assert_allclose(matrix(result.modes[0], "block"), np.eye(3), atol=1e-14)


@pytest.mark.parametrize("kind", [SpatialRevolute, SpatialPrismatic])
def test_a_motion_starts_in_the_mode_it_is_asked_for(kind: type[Any]) -> None:
    """Axes and angles that body j takes from its start stay what they are where it starts elsewhere."""
    e = (math.cos(0.4), 0.6 * math.sin(0.4), 0.0, 0.8 * math.sin(0.4))
    body = SpatialBody("b", 1.0, INERTIA, (0.1, 0.2, 0.3), e)
    joint = kind("J", GROUND, body, (0.1, 0.2, 0.3), (0.0, 0.0, 0.0), (1.0, 2.0, -0.5))
    motor = Driver("motor", joint, next(iter(joint.freedoms(*joint.starts()))), Polynomial(0.3))
    model = Model("one", (body,), (joint,), (motor,), gravity=(0.0, 0.0, 0.0), space="spatial")
    result = modes(model)
    assert result.real == 1
    mode, motion = result.modes[0], kinematics(in_mode(model, 1), t_end=1.0, step=1.0)
    start = Mode({name: float(motion[name][0]) for name in mode.q}, {}, 0.0, False, False)
    np.testing.assert_allclose(matrix(start, "b"), matrix(mode, "b"), atol=1e-13)
    np.testing.assert_allclose([motion[f"b.{x}"][0] - mode.q[f"b.{x}"] for x in "xyz"], 0.0, atol=1e-13)
    axis = np.array([1.0, 2.0, -0.5]) / np.linalg.norm([1.0, 2.0, -0.5])
    at_first = np.asarray(Rotation.from_quat(e, scalar_first=True).as_matrix())
    turn = turned(axis, 0.3) if kind is SpatialRevolute else np.eye(3)
    np.testing.assert_allclose(matrix(mode, "b"), turn @ at_first, atol=1e-13)


def test_a_file_of_a_mode_keeps_the_zero_of_its_angles() -> None:
    """The driven angle of the file that is written is the one of the mode, although it counts from the first start."""
    text = """
linkwork: 1
name: one
space: spatial
ground: {points: {A: [0.1, 0.2, 0.3]}}
bodies:
  b: {mass: 1, inertia: [1, 1.1, 1.2], position: [0.1, 0.2, 0.3], points: {A: [0, 0, 0]},
      orientation: {axis: [0.6, 0, 0.8], angle: 0.8}}
joints: {J: {type: revolute, i: ground.A, j: b.A, axis: [1, 2, -0.5]}}
drivers: {motor: {joint: J, motion: 0.3}}
"""
    model = loads(text)
    mode = modes(model).modes[0]
    written = loads(json.dumps(with_start(parse(text), in_mode(model, 1)).data))
    motion = kinematics(written, t_end=1.0, step=1.0)
    start = Mode({name: float(motion[name][0]) for name in mode.q}, {}, 0.0, False, False)
    np.testing.assert_allclose(matrix(start, "b"), matrix(mode, "b"), atol=1e-13)


def test_a_turn_in_space_cannot_be_kept_in_all_modes() -> None:
    """Euler parameters are no angles: the message names drivers, a length is kept."""
    model = load("universal_shaft")
    with pytest.raises(UsageError, match="drive the angle of a joint") as caught:
        modes(model, keep=["driven.wz"])
    assert caught.value.code == "kept-turn"
    assert (modes(model, keep=["driven.x"]).real, modes(model, keep=["driven.x"]).complete) == (2, True)


def test_loops_with_too_many_paths_are_searched() -> None:
    """Six revolute joints, one of them driven, have 384 paths; the search says how it ended."""
    model = load("bricard")
    motor = Driver("motor", model.joints[0], "angle", Polynomial(0.4))
    closure = spatial_closure(Problem.of(replace(model, drivers=(motor,))))
    with pytest.raises(NotPolynomialError, match="more than 300"):
        solve_in_space(closure, np.random.default_rng(1), 300, lambda _part, _text: None)
