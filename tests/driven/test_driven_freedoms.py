"""Freedoms of spatial joints that drivers move, against rotations and ratios in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from linkwork import Trajectory, kinematics, loads
from linkwork.elements.bodies import Ground, PlanarBody
from linkwork.elements.drivers import Driver
from linkwork.elements.joints import Revolute
from linkwork.elements.motions import Polynomial
from linkwork.errors import ModelError
from linkwork.model import Model
from linkwork.start.check import check

Array = NDArray[np.float64]


def turned(motion: Trajectory, body: str, row: int) -> Array:
    e0, *e = (motion[f"{body}.e{k}"][row] for k in range(4))
    return np.asarray(Rotation.from_quat([*e, e0]).as_matrix())


def test_a_ball_is_driven_by_its_cardan_angles() -> None:
    """A_i^T A_j = Rx Ry Rz of three laws, between two bodies, of which the first turns on and on."""
    motion = kinematics(
        loads("""
linkwork: 1
space: spatial
ground: {points: {O: [0, 0, 0]}}
bodies:
  table: {mass: 1, inertia: [1, 1, 1], orientation: {axis: [1, 2, 3], angle: 0.4},
          points: {O: [0, 0, 0], P: [0.5, 0.1, 0]}}
  top: {mass: 1, inertia: [1, 1, 1], position: [0.3, 0.2, 0.1], orientation: {axis: [1, 2, 3], angle: 0.4},
        points: {P: [0, 0, -0.2]}}
joints:
  O: {type: revolute, i: ground.O, j: table.O, axis: [1, 2, 3]}
  P: {type: spherical, i: table.P, j: top.P}
drivers:
  spin: {joint: O, motion: 0.4 + 3*t}
  x: {joint: P, freedom: angle_x, motion: 2*t}
  y: {joint: P, freedom: angle_y, motion: 0.7*sin(3*t)}
  z: {joint: P, freedom: angle_z, motion: -1.5*t^2}
"""),
        t_end=2.0,
        step=0.1,
        assemble=True,
    )
    for row, t in enumerate(motion.t):
        found = turned(motion, "table", row).T @ turned(motion, "top", row)
        expected = Rotation.from_euler("XYZ", [2 * t, 0.7 * np.sin(3 * t), -1.5 * t**2]).as_matrix()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def test_a_bent_constant_velocity_joint_hands_the_speed_on() -> None:
    """The shaft is driven, its joint bent: z_j lies where two laws say, and the spin has nothing along z_i + z_j."""
    motion = kinematics(
        loads("""
linkwork: 1
space: spatial
ground: {points: {A: [0, 0, -1]}}
bodies:
  one: {mass: 1, inertia: [1, 1, 1], points: {A: [0, 0, -1], O: [0, 0, 0]}}
  other: {mass: 1, inertia: [1, 1, 1], position: [0, 0, 1], points: {O: [0, 0, -1]}}
joints:
  A: {type: revolute, i: ground.A, j: one.A, axis: [0, 0, 1], zero: [1, 0, 0], zero_j: [1, 0, 0]}
  O: {type: constant-velocity, i: one.O, j: other.O, axis: [0, 0, 1], zero: [1, 0, 0], axis_j: [0, 0, 1],
      zero_j: [1, 0, 0]}
drivers:
  spin: {joint: A, motion: 2*t}
  x: {joint: O, freedom: angle_x, motion: 0.5*sin(2*t)}
  y: {joint: O, freedom: angle_y, motion: 0.4*(1 - cos(t))}
"""),
        t_end=2.0,
        step=0.1,
    )
    for row, t in enumerate(motion.t):
        A, B = turned(motion, "one", row), turned(motion, "other", row)
        bent = Rotation.from_euler("XY", [0.5 * np.sin(2 * t), 0.4 * (1 - np.cos(t))]).as_matrix()
        np.testing.assert_allclose(A.T @ B[:, 2], bent[:, 2], rtol=0, atol=1e-12)
        spins = [M @ [motion[f"{name}.w{axis}"][row] for axis in "xyz"] for name, M in (("one", A), ("other", B))]
        assert abs((spins[1] - spins[0]) @ (A[:, 2] + B[:, 2])) < 1e-10


def test_gears_and_racks_are_driven_by_their_own_freedoms() -> None:
    """30 : 20 teeth turn -1.5 times as far; a pinion of 0.2 m rolls -5 rad for each metre."""
    motion = kinematics(
        loads("""
linkwork: 1
space: spatial
ground: {points: {O: [0, 0, 0], P: [1, 0, 0], R: [0, 0.2, 2]}}
bodies:
  wheel: {mass: 1, inertia: [1, 1, 1], points: {O: [0, 0, 0]}}
  pinion: {mass: 1, inertia: [1, 1, 1], position: [1, 0, 0], points: {O: [0, 0, 0]}}
  roller: {mass: 1, inertia: [1, 1, 1], position: [0, 0.2, 2], points: {O: [0, 0, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: wheel.O, axis: [0, 0, 1]}
  P: {type: revolute, i: ground.P, j: pinion.O, axis: [0, 0, 1]}
  teeth: {type: gear, i: wheel.O, j: pinion.O, axis: [0, 0, 1], axis_j: [0, 0, 1], teeth_i: 30, teeth_j: 20,
          radius: 0.6}
  plane: {type: planar, i: ground.R, j: roller.O, axis: [0, 0, 1]}
  height: {type: point-on-plane, i: ground.R, j: roller.O, axis: [0, 1, 0]}
  rack: {type: rack-and-pinion, i: ground.R, j: roller.O, axis: [1, 0, 0], axis_j: [0, 0, 1], radius: 0.2}
drivers:
  turn: {joint: teeth, freedom: angle_j, motion: 3*t}
  roll: {joint: rack, freedom: displacement, motion: 0.5*t}
"""),
        t_end=1.0,
        step=0.1,
    )

    def rate(body: str) -> Array:
        return np.asarray(motion[f"{body}.wz"])

    np.testing.assert_allclose(rate("pinion"), 3.0, rtol=0, atol=1e-11)
    np.testing.assert_allclose(rate("wheel"), -2.0, rtol=0, atol=1e-11)
    np.testing.assert_allclose(motion["roller.x"], 0.5 * motion.t, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.abs(rate("roller")), 2.5, rtol=0, atol=1e-11)


@pytest.mark.parametrize("freedom", ["phi", "x", "", Polynomial(0.0)], ids=str)
def test_a_driver_of_a_freedom_that_is_not_there_is_refused(freedom: Any) -> None:
    """Also where the model is made in Python; it was a KeyError."""
    rod = PlanarBody("rod", 1.0, 1.0)
    pin = Revolute("O", Ground(), rod, (0.0, 0.0), (0.0, 0.0))
    with pytest.raises(ModelError, match=r"drivers.m.joint: joint 'O' leaves .*angle") as refusal:
        check(Model("x", (rod,), (pin,), (Driver("m", pin, freedom, Polynomial(0.0)),)))
    assert refusal.value.code in ("no-freedom", "which-freedom")


def test_names_of_a_model_made_in_python_stand_for_one_thing_each() -> None:
    """Two bodies of one name shared their coordinates without a word; a joint of another model was a KeyError."""
    rod, other = PlanarBody("rod", 1.0, 1.0), PlanarBody("rod", 2.0, 1.0)
    pin = Revolute("O", Ground(), rod, (0.0, 0.0), (0.0, 0.0))
    for bodies, joints, message in (
        ((rod, other), (pin,), "bodies.rod: 2 bodies have the name 'rod'"),
        ((PlanarBody("ground", 1.0, 1.0),), (), "bodies.ground: 2 bodies have the name 'ground'"),
        ((rod,), (pin, pin), "joints.O: 2 joints have the name 'O'"),
        ((PlanarBody("rood", 1.0, 1.0),), (pin,), "joints.O: the model has no body 'rod'; did you mean 'rood'"),
    ):
        with pytest.raises(ModelError, match=message):
            check(Model("x", bodies, joints))
