"""Mechanisms in space: what joints forbid, reactions by Newton and Euler, published numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_mechanisms import Array, Random, fitting_in_space, matrix, pose, spatial_body, state, values
from scipy.spatial.transform import Rotation
from test_equations import outputs, solved
from test_mechanisms import table

from linkwork.elements.bodies import Ground, SpatialBody
from linkwork.elements.joints import JOINTS
from linkwork.elements.spatial import RackAndPinion
from linkwork.equations.body import body_equations
from linkwork.model import Model
from linkwork.modelfile import load
from linkwork.motion.check import check
from linkwork.motion.simulate import simulate

GROUND = Ground()


class Moving:
    """Two bodies (and the carrier of gears) with velocities, told by rigid-body kinematics alone."""

    def __init__(self, joint: Any, bodies: tuple[Any, ...], v: Array) -> None:
        self.joint = joint
        self.v = {body.name: v[6 * k : 6 * k + 6] for k, body in enumerate(bodies)}

    def turning(self, body: Any) -> Array:
        own = self.v.get(body.name, np.zeros(6))
        return np.asarray(pose(body, "spatial")[1] @ own[3:])

    def velocity(self, body: Any, P: Array) -> Array:
        """Of the point of the body that is at P; v is that of the mass centre."""
        if isinstance(body, Ground):
            return np.zeros(3)
        r, A = pose(body, "spatial")
        centre = r + A @ np.array(body.mass_centre)
        return np.asarray(self.v[body.name][:3] + np.cross(self.turning(body), P - centre))

    def point(self, body: Any, s: Any) -> Array:
        r, A = pose(body, "spatial")
        return np.asarray(r + A @ np.array(s))

    @property
    def P_i(self) -> Array:
        return self.point(self.joint.body_i, self.joint.s_i)

    @property
    def P_j(self) -> Array:
        return self.point(self.joint.body_j, self.joint.s_j)

    @property
    def slip(self) -> Array:
        """Velocity of P_j as seen from body i."""
        return self.velocity(self.joint.body_j, self.P_j) - self.velocity(self.joint.body_i, self.P_j)

    @property
    def spin(self) -> Array:
        """Angular velocity of body j as seen from body i."""
        return self.turning(self.joint.body_j) - self.turning(self.joint.body_i)

    def axis(self, body: Any, a: Any) -> Array:
        u = pose(body, "spatial")[1] @ np.array(a)
        return np.asarray(u / np.linalg.norm(u))

    @property
    def u(self) -> Array:
        return self.axis(self.joint.body_i, self.joint.axis)

    @property
    def u_j(self) -> Array:
        return self.axis(self.joint.body_j, self.joint.axis_j)

    def across(self, a: Array) -> list[float]:
        """Two components of a vector across the axis."""
        x = np.cross(self.u, [0.3, -0.8, 0.5])
        return [float(a @ x), float(a @ np.cross(self.u, x))]


# What is zero in the motions a joint allows. Gears and racks are held by other joints, so that their axes do not tilt.
FORBIDDEN: dict[str, Callable[[Moving], list[float]]] = {
    "spherical": lambda m: list(m.slip),
    "revolute": lambda m: [*m.slip, *m.across(m.spin)],
    "prismatic": lambda m: [*m.across(m.slip), *m.spin],
    "cylindrical": lambda m: [*m.across(m.slip), *m.across(m.spin)],
    "universal": lambda m: [*m.slip, float(m.spin @ np.cross(m.u, m.u_j))],
    "screw": lambda m: [
        *m.across(m.slip),
        *m.across(m.spin),
        float(m.u @ m.slip - m.joint.pitch * (m.u @ m.spin) / (2 * np.pi)),
    ],
    "planar": lambda m: [float(m.u @ m.slip), *m.across(m.spin)],
    "rigid": lambda m: [*m.slip, *m.spin],
    "point-on-line": lambda m: m.across(m.slip),
    "point-on-plane": lambda m: [float(m.u @ m.slip)],
    "distance": lambda m: [float(m.slip @ (m.P_j - m.P_i))],
    "universal-spherical": lambda m: [float(m.slip @ (m.P_j - m.P_i))],
    "revolute-spherical": lambda m: [float(m.slip @ (m.P_j - m.P_i)), float(m.u @ m.slip)],
}


@pytest.mark.parametrize("grounded", [False, True], ids=["body", "ground"])
@pytest.mark.parametrize("kind", FORBIDDEN)
def test_a_joint_forbids_what_it_should_and_nothing_else(kind: str, grounded: bool, rng: Random) -> None:
    """Velocities in the null space of Psi_q have no forbidden part, and there are as many as there are freedoms."""
    bodies = tuple(spatial_body(name, rng) for name in "ijk")
    joint = fitting_in_space(JOINTS["spatial"][kind], "J", GROUND if grounded else bodies[0], bodies[1], rng)
    e = body_equations(Model("one", bodies, (joint,), gravity=(0.0, 0.0, 0.0), space="spatial"))
    q, v = e.start()
    at = state(e, 0.0, q, v)
    np.testing.assert_allclose(values(e.Psi, e, at), 0.0, atol=1e-14)
    Psi_q = matrix(e.Psi_q, (len(e.Psi), 18), e, at)
    allowed = np.linalg.svd(Psi_q)[2][len(e.Psi) :]
    seen = [FORBIDDEN[kind](Moving(joint, bodies, v)) for v in (*allowed, rng.normal(size=len(allowed)) @ allowed)]
    np.testing.assert_allclose(seen, 0.0, atol=1e-12)
    assert len(seen[0]) == len(e.Psi)


def test_shafts_of_a_constant_velocity_joint_turn_at_one_speed(rng: Random) -> None:
    """The spin of one shaft against the other has nothing along the bisector of their axes."""
    for axis_j in (None, (0.3, -0.2, 0.9)):
        bodies = tuple(spatial_body(name, rng) for name in "ijk")
        kind = JOINTS["spatial"]["constant-velocity"]
        joint = fitting_in_space(kind, "J", bodies[0], bodies[1], rng, axis_j=axis_j)
        e = body_equations(Model("one", bodies, (joint,), gravity=(0.0, 0.0, 0.0), space="spatial"))
        at = state(e, 0.0, *e.start())
        np.testing.assert_allclose(values(e.Psi, e, at), 0.0, atol=1e-14)
        u = pose(bodies[0], "spatial")[1] @ np.array(joint.axis)
        u_j = u if axis_j is None else pose(bodies[1], "spatial")[1] @ np.array(axis_j)
        both = u / np.linalg.norm(u) + u_j / np.linalg.norm(u_j)
        for v in np.linalg.svd(matrix(e.Psi_q, (4, 18), e, at))[2][4:]:
            moving = Moving(joint, bodies, v)
            np.testing.assert_allclose([*moving.slip, moving.spin @ both], 0.0, atol=1e-12)


def test_teeth_of_gears_pass_at_one_speed(rng: Random) -> None:
    """With spins about their own axes in a turning carrier, parallel or not: z_i omega_i + z_j omega_j = 0."""
    for internal in (False, True):
        bodies = tuple(spatial_body(name, rng) for name in "ijk")
        joint = fitting_in_space(
            JOINTS["spatial"]["gear"], "J", bodies[0], bodies[1], rng, carrier=bodies[2], internal=internal
        )
        e = body_equations(Model("one", bodies, (joint,), gravity=(0.0, 0.0, 0.0), space="spatial"))
        q, _ = e.start()
        turn = rng.normal(size=3)
        v = np.concatenate([[*rng.normal(size=3), *(pose(body, "spatial")[1].T @ turn)] for body in bodies])
        axis_i, axis_j = (np.array(a) / np.linalg.norm(a) for a in (joint.axis, joint.axis_j))
        v[3:6] += 0.7 * axis_i
        v[9:12] -= 0.7 * joint.teeth_i / joint.teeth_j * axis_j * (-1.0 if internal else 1.0)
        np.testing.assert_allclose(values([*e.Psi, *e.Psi_dot], e, state(e, 0.0, q, v)), 0.0, atol=1e-13)


def test_a_pinion_rolls_on_its_rack() -> None:
    """Rack along x and pinion above it: turning about +z it moves back along the rack, v = -R omega."""
    pinion = SpatialBody("pinion", 1.0, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0), (0.3, 0.25, 0.0))
    origin = (0.0, 0.0, 0.0)
    joint = RackAndPinion("R", GROUND, pinion, origin, origin, (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.25)
    e = body_equations(Model("one", (pinion,), (joint,), gravity=origin, space="spatial"))
    turn = 5.0  # nearly a whole turn
    q = np.array([0.3 - 0.25 * turn, 0.25, 0.0, np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2)])
    v = np.array([-0.25 * 2.0, 0.0, 0.0, 0.0, 0.0, 2.0])
    np.testing.assert_allclose(values([*e.Psi, *e.Psi_dot], e, state(e, 0.0, q, v)), 0.0, atol=1e-14)


@pytest.mark.parametrize("on_ground", [False, True], ids=["j moves", "j is the ground"])
@pytest.mark.parametrize("kind", JOINTS["spatial"])
def test_reactions_and_weight_move_every_body(kind: str, on_ground: bool, rng: Random) -> None:
    """Newton and Euler by hand, in an open chain of two bodies or one; joint axes give the same as the ground's."""
    i, j = spatial_body("i", rng), spatial_body("j", rng)
    ends = (i, GROUND) if on_ground else (i, j)
    joint = fitting_in_space(JOINTS["spatial"][kind], "J", *ends, rng)
    g = np.array([0.7, 1.1, -9.81])
    e = body_equations(Model("two", (i, j), (joint,), gravity=tuple(g.tolist()), space="spatial"))
    q, v = e.start()
    at = solved(e, 0.0, q, v)
    reaction = outputs(e, "reactions", at)
    force, torque = (np.array([reaction[f"J.{letter}{axis}"] for axis in "xyz"]) for letter in ("", "t"))
    body, first, first_q, sign = (i, 0, 0, -1.0) if on_ground else (j, 6, 7, 1.0)
    a, w = np.array([at[x] for x in e.a])[first : first + 6], v[first + 3 : first + 6]
    (_, A_i), (_, A), (r, A_P) = pose(i, "spatial"), pose(body, "spatial"), pose(ends[1], "spatial")
    P = r + A_P @ np.array(joint.s_j)
    xx, yy, zz, xy, yz, zx = (float(x) for x in body.inertia)  # type: ignore[arg-type]
    J = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
    expected = body.mass * (a[:3] - g)
    centre = q[first_q : first_q + 3]
    moment = A @ (J @ a[3:] + np.cross(w, J @ w)) - np.cross(P - centre, expected)
    scale = np.max(np.abs([*expected, *moment]))
    assert scale > 1e-3
    np.testing.assert_allclose(sign * force, expected, atol=1e-9 * scale)
    np.testing.assert_allclose(sign * torque, moment, atol=1e-9 * scale)
    if "J.joint.x" in reaction:
        u = A_i @ np.array(joint.axis)
        np.testing.assert_allclose(reaction["J.joint.z"], force @ u / np.linalg.norm(u), atol=1e-9 * scale)
        own = [reaction[f"J.joint.t{axis}"] for axis in "xyz"]
        np.testing.assert_allclose(np.linalg.norm(own), np.linalg.norm(torque), rtol=1e-9, atol=1e-9 * scale)


def test_bricard_follows_its_reference_with_default_settings() -> None:
    """P3 over 10 s to 1e-6, energy to 1e-7; one row of 30 depends on the others in every position."""
    expected, model = table("A04_bricard.csv"), load("bricard")
    motion = simulate(model)
    for axis in "xyz":
        np.testing.assert_allclose(motion[f"rod2.P3.{axis}"], expected[f"P3_{axis}"], atol=1e-6)
    assert np.max(np.abs(motion.drift())) <= 1e-7
    report = check(model)
    assert (report.rank, report.constraints, report.dof, report.redundancy) == (29, 30, 1, "geometric")
    assert set(report.reactions.values()) == {"not unique"}


def test_spatial_slider_crank_follows_the_equation_in_the_crank_angle() -> None:
    expected = table("spatial_slider_crank.csv")
    motion = simulate(load("spatial_slider_crank"), rtol=1e-11, step=float(expected["t"][1]))
    np.testing.assert_allclose(motion["slider.x"], expected["slider_x"], atol=1e-8)
    np.testing.assert_allclose(motion["crank.wx"], expected["theta_dot"], atol=1e-6)
    np.testing.assert_allclose(motion["crank.e0"], np.cos(expected["theta"] / 2), atol=1e-7)


def test_a_free_body_tumbles_as_Jacobi_says() -> None:
    """Attitude and angular velocity over 40 s; energy and angular momentum in the ground's axes stay."""
    expected = table("free_rigid_body.csv")
    motion = simulate(load("free_rigid_body"), rtol=1e-12, atol=1e-12)
    for mine, theirs in (
        ("wx", "w1"),
        ("wy", "w2"),
        ("wz", "w3"),
        ("e0", "qw"),
        ("e1", "qx"),
        ("e2", "qy"),
        ("e3", "qz"),
    ):
        np.testing.assert_allclose(motion[f"body.{mine}"], expected[theirs], atol=1e-9)
    assert np.max(np.abs(motion.drift())) <= 1e-10
    momentum = angular_momentum(motion, "body", np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-10)


def angular_momentum(motion: Any, body: str, J: Array) -> Array:
    e = np.column_stack([motion[f"{body}.e{k}"] for k in (1, 2, 3, 0)])
    omega = np.column_stack([motion[f"{body}.w{axis}"] for axis in "xyz"])
    return np.asarray(Rotation.from_quat(e).apply(J * omega))


def test_a_heavy_top_keeps_energy_spin_and_momentum_about_the_vertical() -> None:
    """To 1e-10 of their size over 2 s, with 48 turns of the top."""
    motion = simulate(load("heavy_top"), rtol=1e-13, atol=1e-13)
    inertia = np.array([0.234375 + 15.0, 0.46875, 0.234375 + 15.0])  # the mass centre is at 1 m
    momentum = angular_momentum(motion, "top", inertia)[:, 2]
    energy = motion.energy["kinetic"] + motion.energy["potential"]
    np.testing.assert_allclose(energy, 5435.696790865547, rtol=1e-10)
    np.testing.assert_allclose(momentum, -70.3124296875, rtol=1e-10)
    np.testing.assert_allclose(motion["top.wy"], 150.0, rtol=1e-10)


def test_shafts_turn_in_the_ratio_of_Cardan() -> None:
    """tan(driven) = cos(beta) tan(driving), and the rates of both."""
    motion = simulate(load("universal_shaft"), rtol=1e-12, atol=1e-12)
    beta, theta = np.pi / 6, 4.0 * motion.t
    ratio = np.cos(beta) / (1 - np.sin(beta) ** 2 * np.sin(theta) ** 2)
    np.testing.assert_allclose(motion["driven.wz"], 4.0 * ratio, atol=1e-10)
    power = motion["driving:motor"] * 4.0  # no force does work: it changes the energy of the driven shaft alone
    rate = 0.01 * motion["driven.wz"] * motion["driven.alphaz"]
    np.testing.assert_allclose(power, rate, atol=1e-9)


@pytest.mark.parametrize("formulation", ["augmented", "svd", "qr", "coordinate-partitioning"])
def test_numdyn3d_pendulum_swings_in_closed_form(formulation: str) -> None:
    """Position and velocity to 1e-8 over 3 s, constraints to 2e-15 m."""
    motion = simulate(load("numdyn3d_pendulum"), rtol=1e-11, atol=1e-11, formulation=formulation)
    K, c, J, rest = 32.66, 4.584, 0.834 + 10 * 0.25, 1.57
    decay = c / (2 * J)
    omega = np.sqrt(K / J - decay**2)
    start = 2 * np.arccos(0.97) - rest
    swing, e = omega * motion.t, np.exp(-decay * motion.t)
    theta = rest + start * e * (np.cos(swing) + decay / omega * np.sin(swing))
    rate = -start * e * (omega + decay**2 / omega) * np.sin(swing)
    np.testing.assert_allclose(motion["rod.x"], 0.5 * np.cos(theta), atol=1e-8)
    np.testing.assert_allclose(motion["rod.y"], 0.5 * np.sin(theta), atol=1e-8)
    np.testing.assert_allclose(motion["rod.vx"], -0.5 * rate * np.sin(theta), atol=1e-8)
    np.testing.assert_allclose(motion["rod.wz"], rate, atol=1e-8)
    assert motion.info.constraint_error_position <= 2e-15
