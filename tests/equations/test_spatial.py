"""Mechanisms in space: what joints forbid, reactions by Newton and Euler, published numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from published import table
from random_mechanisms import Array, Random, fitting_in_space, matrix, pose, spatial_body, state, touching, values
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from slices import has_bodies, with_slow
from test_equations import outputs, solved

from linkwork.compiled.mechanism import prepare
from linkwork.driven.kinematics import kinematics
from linkwork.elements.bodies import Ground, SpatialBody
from linkwork.elements.forces import PointForce, SpatialTorque, SpringDamper, Torque
from linkwork.elements.joints import JOINTS, Distance, Measure, PointOnLine, Prismatic, Revolute, Rigid
from linkwork.elements.pairs import PointPair
from linkwork.elements.rolling import TouchingPair
from linkwork.elements.spatial import (
    PointOnPlane,
    RackAndPinion,
    SpatialDistance,
    SpatialMeasure,
    SpatialPrismatic,
    SpatialRevolute,
    SpatialRigid,
)
from linkwork.equations.body import body_equations
from linkwork.errors import ModelError
from linkwork.expressions.evaluation import substitute
from linkwork.expressions.graph import as_expr, cos, sin, symbol
from linkwork.formulations import usual_formulations
from linkwork.mechanisms import describe
from linkwork.model import Model
from linkwork.modelfile import load, loads, shipped
from linkwork.simulation.simulate import simulate
from linkwork.start.check import check

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
    def touching(self) -> Array:
        """Velocity of body j as seen from body i where they touch."""
        i, j = self.joint.bodies
        P = touching(self.joint, i, j)
        return self.velocity(j, P) - self.velocity(i, P)

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
    "wheel": lambda m: list(m.touching),
    "rolling-sphere": lambda m: list(m.touching),
    "rolling-ellipsoid": lambda m: list(m.touching),
    "knife-edge": lambda m: [float(m.u @ m.touching), float(np.cross(m.u, m.u_j) @ m.touching)],
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


BEVEL = """
linkwork: 1
name: bevel
space: spatial
gravity: [0.4, -1, -9.81]
parameters: {b: 70 deg, R: 0.2, Q: 0.3, h: (Q + R*cos(b))/sin(b), k: (Q*cos(b) + R)/sin(b) + 0.07}
ground: {points: {O: [0, 0, 0]}}
bodies:
  frame:
    mass: 3
    inertia: [0.3, 0.3, 0.3]
    position: [0.1, 0.2, 0]
    angular_velocity: [0, 0, 2]
    points: {O: [-0.1, -0.2, 0], I: [h - 0.1, -0.2, 0], J: [k*cos(b) - 0.1, k*sin(b) - 0.2, 0]}
  one: {mass: 2, inertia: [0.05, 0.05, 0.05], position: [h, 0, 0], points: {C: [0, 0, 0]}}
  two: {mass: 4, inertia: [0.2, 0.2, 0.2], position: [k*cos(b), k*sin(b), 0], points: {C: [0, 0, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: frame.O, axis: [0, 0, 1]}
  I: {type: revolute, i: frame.I, j: one.C, axis: [1, 0, 0]}
  J: {type: revolute, i: two.C, j: frame.J, axis: [cos(b), sin(b), 0]}
  T: {type: gear, i: one.C, j: two.C, axis: [1, 0, 0], axis_j: [cos(b), sin(b), 0], teeth_i: 20, teeth_j: 30, radius: R,
      carrier: frame}
forces: {motor: {type: torque, on: one, torque: [3, 0.4, 0.1], follows: true}}
simulation: {t_end: 0.3, step: 0.1}
"""
ON = {"frame": {"O": 1, "I": -1, "J": 1}, "one": {"I": 1, "T": -1}, "two": {"J": -1, "T": 1}}  # signs of reactions


def test_pins_of_bevel_gears_carry_the_force_of_the_teeth() -> None:
    """Newton and Euler for each body, the frame among them, which no tooth touches; one gear stands beside its cone.

    The force at the teeth has the arm R about the axis of the first gear and is perpendicular to both axes.
    """
    motion = simulate(loads(BEVEL))
    for k in (0, -1):

        def at(name: str, parts: str = "x y z", k: int = k) -> Array:
            return np.array([motion[name + part][k] for part in parts.split()])

        turned = {body: Rotation.from_quat(at(f"{body}.e", "0 1 2 3"), scalar_first=True) for body in ON}
        places = {"O": np.zeros(3), "I": at("frame.I."), "J": at("frame.J."), "T": at("two.C.")}
        for body, mass, inertia in (("frame", 3, 0.3), ("one", 2, 0.05), ("two", 4, 0.2)):
            force = mass * np.array([0.4, -1, -9.81])
            torque = turned[body].apply([3, 0.4, 0.1]) if body == "one" else np.zeros(3)
            for joint, sign in ON[body].items():
                own = sign * at(f"reaction:{joint}.")
                force += own
                torque = (
                    torque + sign * at(f"reaction:{joint}.", "tx ty tz") + np.cross(places[joint] - at(f"{body}."), own)
                )
            np.testing.assert_allclose(force, mass * at(f"{body}.a"), atol=1e-12)
            np.testing.assert_allclose(torque, inertia * turned[body].apply(at(f"{body}.alpha")), atol=1e-12)
        first = turned["one"].apply([1, 0, 0])
        teeth = (3 - 0.05 * motion["one.alphax"][k]) / 0.2
        np.testing.assert_allclose(np.linalg.norm(at("reaction:T.")), teeth, rtol=1e-12)
        assert teeth > 5
        np.testing.assert_allclose(first @ at("reaction:T."), 0.0, atol=1e-12)


IN_SPACE = """
linkwork: 1
name: epicyclic
space: spatial
gravity: [0, 0, 0]
ground: {points: {O: [0, 0, 0]}}
bodies:
  sun: {mass: 2, inertia: [0.01, 0.01, 0.01], points: {O: [0, 0, 0]}}
  planet: {mass: 0.5, inertia: [0.0007, 0.0007, 0.0007], position: [0.15, 0, 0], points: {P: [0, 0, 0]}}
  carrier: {mass: 1, inertia: [0.05, 0.05, 0.05], points: {O: [0, 0, 0], P: [0.15, 0, 0]}}
joints:
  S: {type: revolute, i: ground.O, j: sun.O, axis: [0, 0, 1]}
  C: {type: cylindrical, i: ground.O, j: carrier.O, axis: [0, 0, 1]}
  P: {type: revolute, i: carrier.P, j: planet.P, axis: [0, 0, 1]}
  sp: {type: gear, i: sun.O, j: planet.P, axis: [0, 0, 1], axis_j: AXIS, teeth_i: 40, teeth_j: 20, radius: 0.1, SP}
  pr: {type: gear, i: planet.P, j: ground.O, axis: AXIS, axis_j: [0, 0, 1], teeth_i: 20, teeth_j: 80, radius: 0.05, PR}
forces:
  drive: {type: torque, on: sun, torque: [0, 0, 3]}
  load: {type: torque, on: carrier, torque: [0, 0, -2]}
simulation: {t_end: 0.05, step: 0.01}
"""


@pytest.mark.parametrize("upside_down", [False, True])
def test_pins_of_an_epicyclic_gear_in_space_carry_what_they_carry_in_the_plane(upside_down: bool) -> None:
    """16.67 N at the sun, 28.12 N at the planet; an axis that is turned round makes outer gears of inner ones."""
    outer, inner = ("internal: false", "internal: true")[:: -1 if upside_down else 1]
    text = IN_SPACE.replace("AXIS", "[0, 0, -1]" if upside_down else "[0, 0, 1]")
    text = text.replace("SP}", f"carrier: carrier, {outer}}}").replace("PR}", f"carrier: carrier, {inner}}}")
    motion = simulate(loads(text))
    found = [motion[f"reaction:{name}"][-1] for name in ("P.x", "P.y", "C.x", "C.y")]
    np.testing.assert_allclose(found, [1.19, -28.12, 1.19, -28.12], atol=0.005)
    sun = [motion[f"reaction:S.{axis}"][-1] for axis in "xy"]
    np.testing.assert_allclose([np.hypot(*sun), motion["reaction:P.z"][-1]], [16.67, 0.0], atol=0.005)
    for axis, pin in zip("xy", sun, strict=True):
        np.testing.assert_allclose(motion[f"reaction:sp.{axis}"][-1], pin, rtol=1e-9)


def test_a_pinion_rolls_on_its_rack() -> None:
    """Rack along x and pinion above it: turning about +z it moves back along the rack, v = -R omega."""
    pinion = SpatialBody("pinion", 1.0, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0), (0.3, 0.25, 0.0))
    origin = (0.0, 0.0, 0.0)
    joint = RackAndPinion("R", GROUND, pinion, origin, origin, (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.25)
    e = body_equations(Model("one", (pinion,), (joint,), gravity=origin, space="spatial"))
    turn = 5.0  # nearly a whole turn
    q = np.array([0.3 - 0.25 * turn, 0.25, 0.0, np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2), turn])
    v = np.array([-0.25 * 2.0, 0.0, 0.0, 0.0, 0.0, 2.0])
    np.testing.assert_allclose(values([*e.Psi, *e.Psi_dot], e, state(e, 0.0, q, v)), 0.0, atol=1e-14)


@pytest.mark.diagonal
@pytest.mark.parametrize("on_ground", [False, True], ids=["j moves", "j is the ground"])
@pytest.mark.parametrize("kind", sorted(JOINTS["spatial"].keys() - {"velocity-constraint", "coupling"}))
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
    P = touching(joint, *ends) if isinstance(joint, TouchingPair) else r + A_P @ np.array(joint.s_j)
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


@pytest.mark.parametrize("coordinates", ["body", "euler"])
@pytest.mark.parametrize("formulation", ["augmented", "svd", "qr", "coordinate-partitioning"])
def test_numdyn3d_pendulum_swings_in_closed_form(formulation: str, coordinates: str) -> None:
    """Position and velocity to 1e-8 over 3 s, constraints to 2e-15 m."""
    model = load("numdyn3d_pendulum")
    motion = simulate(model, rtol=1e-11, atol=1e-11, formulation=formulation, coordinates=coordinates)
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


SPATIAL = [name for name in shipped() if describe(name)["space"] == "spatial"]
QUICK = ("numdyn3d_pendulum", "heavy_top", "spatial_slider_crank")


@pytest.mark.parametrize("name", with_slow(SPATIAL, QUICK))
@pytest.mark.sampled
def test_euler_parameters_and_angular_velocities_describe_one_motion(name: str) -> None:
    """Poses, velocities, accelerations and reactions, the latter where redundant rows leave them unique."""
    model = load(name)
    # Stiff springs turn small errors of position into accelerations.
    body, euler = (simulate(model, t_end=0.2, rtol=1e-10, atol=1e-13, coordinates=x) for x in ("body", "euler"))
    for kind in ("q", "v", "a", *(() if body.info.redundant else ("reactions", "driving"))):
        expected = body.tables[kind].values
        size = 1.0 + np.max(np.abs(expected), initial=0.0)
        np.testing.assert_allclose(euler.tables[kind].values, expected, atol=1e-7 * size, rtol=0)
    assert euler.info.dof == body.info.dof
    poses = euler.tables["euler"].values[:, : 7 * len(model.bodies)]  # behind them are angles that count turns
    lengths = np.sum(poses.reshape(len(euler.t), -1, 7)[:, :, 3:] ** 2, axis=2)
    np.testing.assert_allclose(lengths, 1.0, atol=1e-14)


def test_a_method_that_needs_a_regular_M_names_others_for_euler_parameters() -> None:
    with pytest.raises(ModelError, match=r"singular.*udwadia-phohomsiri.*de-falco-2"):
        simulate(load("heavy_top"), coordinates="euler", formulation="udwadia-kalaba")
    with pytest.raises(ModelError, match="no Euler parameters"):
        simulate(load("slider_crank"), coordinates="euler")


def test_legs_of_a_stewart_platform_move_it_as_prescribed() -> None:
    """Six driven lengths, which are those of a prescribed motion; the pose to 1e-10."""
    motion = kinematics(load("stewart_platform"))
    t = motion.t
    zero = np.zeros_like(t)
    place = [0.1 * np.sin(t), zero, 0.9 + 0.15 * (1 - np.cos(t))]
    for axis, x in zip("xyz", place, strict=True):
        np.testing.assert_allclose(motion[f"platform.{axis}"], x, atol=1e-10)
    turn = Rotation.from_euler("XYZ", np.column_stack([0.2 * np.sin(t), zero, 0.3 * np.sin(2 * t)]))
    e = np.column_stack([motion[f"platform.e{k}"] for k in (1, 2, 3, 0)])
    np.testing.assert_allclose((turn.inv() * Rotation.from_quat(e)).as_rotvec(), 0.0, atol=1e-10)


def test_a_delta_robot_moves_as_three_spheres_meet() -> None:
    """The platform does not turn; its centre is at the distance of the rods from each elbow."""
    motion = kinematics(load("delta_robot"))
    t, (R, r, arm, rod) = motion.t, (0.2, 0.05, 0.2, 0.4)
    centre = np.column_stack([motion[f"platform.{axis}"] for axis in "xyz"])
    angles = (0.4 * np.sin(t), 0.3 * np.sin(2 * t), 0.2 * (1 - np.cos(t)))
    for k, theta in enumerate(angles):
        out = np.array([np.cos(2 * np.pi * k / 3), np.sin(2 * np.pi * k / 3), 0.0])
        elbow = (R - r + arm * np.cos(theta))[:, None] * out - (arm * np.sin(theta))[:, None] * [0.0, 0.0, 1.0]
        np.testing.assert_allclose(np.linalg.norm(centre - elbow, axis=1), rod, atol=1e-10)
    assert np.all(centre[:, 2] < 0.0)
    np.testing.assert_allclose(motion["platform.e0"], 1.0, atol=1e-10)


def test_the_rocker_of_a_spatial_four_bar_follows_circle_and_sphere() -> None:
    motion = kinematics(load("spatial_four_link"))
    pin = np.column_stack([0 * motion.t, -2 * np.sin(np.pi * motion.t), 2 * np.cos(np.pi * motion.t)])
    b = pin - [-4.0, -8.5, 0.0]
    k = (np.sum(b * b, axis=1) + 7.4**2 - 12.2**2) / (2 * 7.4)
    psi = np.arctan2(b[:, 2], b[:, 0]) + np.arccos(k / np.hypot(b[:, 0], b[:, 2]))
    np.testing.assert_allclose(motion["rocker.C.x"], -4.0 + 7.4 * np.cos(psi), atol=1e-10)
    np.testing.assert_allclose(motion["rocker.C.z"], 7.4 * np.sin(psi), atol=1e-10)


TOP = """
linkwork: 1
space: spatial
ground: {points: {O: [0, 0, 0], A: [1, 0, 0], B: [2, 0, 0], F: [1e200, 0, 1], G: [0, 1e200, 0]}}
bodies:
  top: {mass: 1, inertia: [1, 1, 1.5], position: [0, 0, 1],
        orientation: [1, 0, 0, 0], points: {O: [0, 0, -1]}}
joints:
  O: {type: revolute, i: ground.O, j: top.O, axis: [0, 0, 1]}
"""


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "words"),
    [
        ("[1, 1, 1.5]", "[1, 1, 2.5]", "inertia-triangle", 6, "1 + 1 < 2.5"),
        ("[1, 1, 1.5]", "[1, 1, 1, 1.5, 0, 0]", "negative-inertia", 6, "-0.5 < 0"),
        ("[1, 1, 1.5]", "[[1, 0.1, 0], [0.2, 1, 0], [0, 0, 1]]", "not-symmetric", 6, "(1, 2) and (2, 1)"),
        ("[1, 1, 1.5]", "[1, 1]", "wrong-shape", 6, "[xx, yy, zz]"),
        ("[1, 0, 0, 0]", "[0, 0, 0, 0]", "not-unit", 7, "length 0"),
        ("[1, 0, 0, 0]", "{matrix: [[1, 0, 0], [0, 1, 0], [0, 0.1, 1]]}", "not-a-rotation", 7, "A A^T"),
        ("[1, 0, 0, 0]", "{matrix: [[1e200, 0, 0], [0, 1, 0], [0, 0, 1]]}", "not-a-rotation", 7, "by inf"),
        ("[1, 0, 0, 0]", "{matrix: [[1, 0, 0], [0, 1, 0], [0, 0, -1]]}", "left-handed", 7, "left-handed"),
        ("[1, 0, 0, 0]", "{axis: [0, 0, 0], angle: 1}", "zero-axis", 7, "length zero"),
        ("[1, 0, 0, 0]", "{sequence: xxz, angles: [1, 2, 3]}", "bad-sequence", 7, "xxz"),
        ("[1, 0, 0, 0]", "{z: [ground.O, ground.A], x: ground.B}", "parallel-axes", 7, "one line"),
        ("[1, 0, 0, 0]", "{z: [ground.O, ground.F], x: ground.G}", "not-finite", 7, "far apart"),
        ("[1, 0, 0, 0]", "{turn: 3}", "wrong-shape", 7, "{axis, angle}"),
        ("axis: [0, 0, 1]", "axis: [0, 0, 0]", "zero-axis", 9, "length zero"),
        ("axis: [0, 0, 1]", "axis: [0, 0, 1], zero: [0, 0, 2]", "parallel-axes", 9, "'zero' is parallel to 'axis'"),
        ("axis: [0, 0, 1]", "axis: [0, 1]", "wrong-shape", 9, "three numbers"),
        ("revolute, i: ground.O, j: top.O, axis: [0, 0, 1]",
         "universal, i: ground.O, j: top.O, axis: [0, 0, 1], axis_j: [0, 0, 1]", "parallel-axes", 9, "parallel"),
        ("axis: [0, 0, 1]", "axis: ground.C", "unknown-direction", 9, "ground.C"),
        ("position: [0, 0, 1]", "position: [0, 0]", "wrong-shape", 6, "three numbers"),
        ("[1, 0, 0, 0]", "{z: [ground.O, ground.N], x: ground.A}", "unknown-point", 7, "'N'"),
        ("space: spatial", "space: space", "wrong-shape", 3, "should be 'planar' or 'spatial'"),
    ],
)  # fmt: skip
def test_faults_of_spatial_files_name_line_and_rule(old: str, new: str, code: str, line: int, words: str) -> None:
    assert loads(TOP).space == "spatial"
    with pytest.raises(ModelError) as caught:
        loads(TOP.replace(old, new))
    (error,) = caught.value.errors
    assert (error.code, error.line) == (code, line)
    assert words in str(caught.value)


def test_the_units_of_bushings_go_by_shifts_and_turns() -> None:
    """A diagonal or a matrix; entries for a shift and a turn are N/rad, which is N."""
    bushing = "forces:\n  b: {type: bushing, i: ground.O, j: top.O, stiffness: %s, damping: %s}\n"
    stiff, damped = "[2 N/mm, 3, 4 kN/m, 5 N*m/rad, 6 N*m, 7]", "[1 N*s/m, 2, 3, 4 N*m*s/rad, 5, 6]"
    made: Any = loads(TOP + bushing % (stiff, damped)).forces[0]
    K = np.array([[float(as_expr(x).number) for x in row] for row in made.stiffness])
    np.testing.assert_array_equal(K, np.diag([2000.0, 3.0, 4000.0, 5.0, 6.0, 7.0]))
    rows = [["1 N/m" if k == n < 3 else ("1 N*m" if k == n else "0") for n in range(6)] for k in range(6)]
    rows[0][4] = rows[4][0] = "0.1 N"
    whole = str(rows).replace("'", "")
    assert float(as_expr(loads(TOP + bushing % (whole, damped)).forces[0].stiffness[0][4]).number) == 0.1  # type: ignore[union-attr]
    for wrong, right, place in (
        ("2 N/mm", "2 N", "stiffness[0]"), ("6 N*m", "6 N/m", "stiffness[4]"), ("1 N*s/m", "1 N/m", "damping[0]"),
        ("5, 6]", "5 N*s/m, 6]", "damping[4]"),
    ):  # fmt: skip
        with pytest.raises(ModelError) as caught:
            loads((TOP + bushing % (stiff, damped)).replace(wrong, right))
        assert [(error.code, error.path) for error in caught.value.errors] == [("unit-mismatch", f"forces.b.{place}")]


def test_orientations_may_be_stated_in_several_ways(rng: Random) -> None:
    """All give the same body as SciPy's rotations; the angular velocity may be given in the ground's axes."""
    a, b, c = rng.uniform(-3, 3, 3)
    turn = Rotation.from_euler("ZXZ", [a, b, c])
    axis = turn.as_rotvec()
    A = turn.as_matrix()
    rows = ", ".join(str(row.tolist()) for row in A)
    e = turn.as_quat()[[3, 0, 1, 2]]
    z, x = (3 * A[:, 2]).tolist(), (A[:, 0] + 0.7 * A[:, 2]).tolist()
    ways = [
        str(e.tolist()),
        f"{{axis: {axis.tolist()}, angle: {np.linalg.norm(axis)}}}",
        f"{{matrix: [{rows}]}}",
        f"{{sequence: zxz, angles: [{a}, {b}, {c}]}}",
        "{z: [ground.O, ground.A], x: ground.B}",
    ]
    points = f"A: {z}, B: {x}"
    for way in ways:
        text = TOP.replace("A: [1, 0, 0], B: [2, 0, 0]", points).replace(
            "orientation: [1, 0, 0, 0]", f"orientation: {way}, angular_velocity: {{ground: [1, 2, 3]}}"
        )
        body: Any = loads(text).bodies[0]
        found = np.array([float(x.number if hasattr(x, "number") else x) for x in body.orientation])
        np.testing.assert_allclose(found * np.sign(found @ e), e, atol=1e-12)
        omega = [float(x.number if hasattr(x, "number") else x) for x in body.angular_velocity]
        np.testing.assert_allclose(omega, A.T @ [1, 2, 3], atol=1e-12)


def chain_accelerations(theta: Array, rate: Array, g: Array) -> Array:
    """Joint accelerations of `spatial_chain` by recursive Newton-Euler, every column of M by a unit acceleration."""
    N = len(theta)
    J = np.diag([0.001, 1 / 12, 1 / 12])
    axes = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    turns = Rotation.from_rotvec([theta[k] * axes[k % 2] for k in range(N)]).as_matrix()

    def cross(a: Array, b: Array) -> Array:
        """Of two vectors a tenth of the time that `np.cross` takes for arrays of any shape."""
        return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])

    def torques(acceleration: Array, speed: Array, gravity: Array) -> Array:
        A, omega, alpha, a = np.eye(3), np.zeros(3), np.zeros(3), -gravity  # of the joint's point
        u, arm, force, moment = [], [], [], []
        for k in range(N):
            axis = A @ axes[k % 2]
            alpha = alpha + axis * acceleration[k] + cross(omega, axis) * speed[k]
            omega = omega + axis * speed[k]
            A = A @ turns[k]
            half, inertia = A @ [0.5, 0.0, 0.0], A @ J @ A.T
            push = cross(alpha, half) + cross(omega, cross(omega, half))
            u.append(axis)
            arm.append(half)
            force.append(a + push)
            moment.append(inertia @ alpha + cross(omega, inertia @ omega))
            a = a + 2 * push
        F, T, found = np.zeros(3), np.zeros(3), np.zeros(N)
        for k in reversed(range(N)):
            T = T + moment[k] + cross(arm[k], force[k]) + cross(2 * arm[k], F)
            F = F + force[k]
            found[k] = u[k] @ T
        return found

    still = np.zeros(N)
    M = np.column_stack([torques(column, still, np.zeros(3)) for column in np.eye(N)])
    return np.asarray(np.linalg.solve(M, -torques(still, rate, g)))


def test_a_spatial_chain_swings_as_recursive_Newton_Euler_says() -> None:
    """Four links on hinges about two axes in turn: the end of the chain, and the speed of the first hinge."""
    N, g = 4, np.array([0.0, 5.0, -9.81])
    motion = simulate(load("spatial_chain:4"), t_end=0.4, step=0.1, rtol=1e-10, atol=1e-10)
    y = solve_ivp(
        lambda t, y: np.append(y[N:], chain_accelerations(y[:N], y[N:], g)),
        (0.0, 0.4),
        np.zeros(2 * N),
        method="DOP853",
        rtol=1e-9,
        atol=1e-9,
        t_eval=motion.t,
    ).y
    ends = []
    for theta in y[:N].T:
        turn, end = Rotation.identity(), np.zeros(3)
        for k in range(N):
            turn = turn * Rotation.from_rotvec(theta[k] * np.eye(3)[1 + k % 2])
            end = end + turn.apply([1.0, 0.0, 0.0])
        ends.append(end)
    found = np.column_stack([motion[f"link3.B.{axis}"] for axis in "xyz"])
    np.testing.assert_allclose(found, ends, atol=1e-6)
    np.testing.assert_allclose(motion["link0.wy"], y[N], atol=1e-5)


PLANAR = [name for name in shipped() if has_bodies(name) and describe(name)["space"] == "planar"]


def flat(s: Any) -> tuple[Any, Any, Any]:
    return s[0], s[1], 0.0


def embedded(model: Model) -> Model | None:
    """A planar mechanism as one in space, held in the plane by its hinges; None if something has no counterpart."""
    if model.signals:  # whose formulas name what has another name in space
        return None
    angles = {symbol(f"{body.name}.omega"): symbol(f"{body.name}.wz") for body in model.bodies}
    bodies: dict[str, Any] = {"ground": model.ground}
    for b in model.bodies:
        half = 0.5 * as_expr(b.angle)  # type: ignore[union-attr]
        bodies[b.name] = SpatialBody(
            b.name,
            b.mass,
            (b.inertia, b.inertia, b.inertia, 0.0, 0.0, 0.0),  # type: ignore[arg-type]
            flat(b.position),
            (cos(half), 0.0, 0.0, sin(half)),
            flat(b.velocity),
            (0.0, 0.0, b.angular_velocity),  # type: ignore[arg-type]
            {name: flat(s) for name, s in b.points.items()},
        )
    z, x, joints, forces, drivers = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), {}, [], []
    for joint in model.joints:
        ends: Any = (joint.name, bodies[joint.body_i.name], bodies[joint.body_j.name])
        if isinstance(joint, PointPair):
            ends = (*ends, flat(joint.s_i), flat(joint.s_j))
        if isinstance(joint, Revolute):
            joints[joint.name] = SpatialRevolute(*ends, z, z, x, x)
        elif isinstance(joint, Prismatic) and joint.angle is None:
            joints[joint.name] = SpatialPrismatic(*ends, flat(joint.axis))
        elif isinstance(joint, Rigid) and joint.angle is None:
            joints[joint.name] = SpatialRigid(*ends)
        elif isinstance(joint, Distance):
            joints[joint.name] = SpatialDistance(*ends, joint.length)
        elif isinstance(joint, PointOnLine):
            normal = flat((-as_expr(joint.axis[1]), joint.axis[0]))
            joints[joint.name] = PointOnPlane(*ends, normal, None, flat(joint.axis))
        else:
            return None
    for force in model.forces:
        if isinstance(force, SpringDamper):
            ends = bodies[force.body_i.name], bodies[force.body_j.name], flat(force.s_i), flat(force.s_j)
            forces.append(replace(force, body_i=ends[0], body_j=ends[1], s_i=ends[2], s_j=ends[3]))
        elif isinstance(force, PointForce):
            pushed = (*substitute([as_expr(f) for f in force.force], angles), 0.0)
            forces.append(PointForce(force.name, bodies[force.body.name], flat(force.s), pushed, force.follows))
        elif isinstance(force, Torque):
            torque = substitute([as_expr(force.torque)], angles)[0]
            forces.append(SpatialTorque(force.name, bodies[force.body.name], (0.0, 0.0, torque)))
        else:
            return None
    for driver in model.drivers:
        joint = driver.joint
        if isinstance(joint, Measure):
            if driver.freedom == "angle":  # points have none in space
                return None
            ends = bodies[joint.body_i.name], bodies[joint.body_j.name], flat(joint.s_i), flat(joint.s_j)
            measure = SpatialMeasure(joint.name, *ends)
            drivers.append(replace(driver, joint=measure))
        else:
            freedom = "x" if isinstance(joint, PointOnLine) else driver.freedom  # along the slot
            drivers.append(replace(driver, joint=joints[joint.name], freedom=freedom))
    return replace(
        model,
        bodies=tuple(b for b in bodies.values() if isinstance(b, SpatialBody)),
        joints=tuple(joints.values()),
        forces=tuple(forces),
        drivers=tuple(drivers),
        gravity=flat(model.gravity),
        space="spatial",
        ground=Ground(points={name: flat(s) for name, s in model.ground.points.items()}),
    )


def least_accelerations(model: Model) -> dict[str, float]:
    """Accelerations by a dense solution where the model starts; rows may depend on others."""
    place = prepare(model, "body").place()
    n, m = len(place.v), len(place.Psi)
    K = np.block([[place.M, place.Psi_q.T], [place.Psi_q, np.zeros((m, m))]])
    found = np.linalg.lstsq(K, np.concatenate([place.Q, place.gamma]), rcond=1e-11)[0][:n]
    return {c.acceleration: float(a) for c, a in zip(place.equations.velocities, found, strict=True)}


@pytest.mark.parametrize("name", PLANAR)
@pytest.mark.sampled
def test_planar_mechanisms_move_in_space_as_in_the_plane(name: str) -> None:
    """Accelerations at the start, with all forces and drivers; nothing leaves the plane."""
    model = load(name)
    raised = embedded(model)
    if raised is None:
        pytest.skip("a joint or force without a counterpart in space")
    planar, spatial = least_accelerations(model), least_accelerations(raised)
    scale = 1.0 + max(map(abs, planar.values()))
    for body in model.bodies:
        pairs = {"ax": "ax", "ay": "ay", "alpha": "alphaz"}
        for mine, theirs in pairs.items():
            assert abs(planar[f"{body.name}.{mine}"] - spatial[f"{body.name}.{theirs}"]) < 1e-8 * scale
        for part in ("az", "alphax", "alphay"):
            assert abs(spatial[f"{body.name}.{part}"]) < 1e-8 * scale


@pytest.mark.parametrize("name", ["slider_crank", "four_bar"])
def test_an_embedded_mechanism_follows_the_planar_one(name: str) -> None:
    """Three rows of its loop are redundant in space; mass centres and speeds after a while, and its pins' forces."""
    model = load(name)
    raised = embedded(model)
    assert raised is not None
    planar, spatial = (simulate(x, t_end=1.0, step=0.1, rtol=1e-10, atol=1e-10) for x in (model, raised))
    assert spatial.info.redundant >= planar.info.redundant + 3
    for body in model.bodies:
        for mine, theirs in (("x", "x"), ("y", "y"), ("vx", "vx"), ("omega", "wz"), ("alpha", "alphaz")):
            np.testing.assert_allclose(spatial[f"{body.name}.{theirs}"], planar[f"{body.name}.{mine}"], atol=1e-6)


# Each is compiled for a second.
@pytest.mark.parametrize("formulation", with_slow(usual_formulations(), {*usual_formulations()} - {"ggl"}))
@pytest.mark.sampled
def test_every_formulation_moves_bricard_alike(formulation: str) -> None:
    """Two seconds at rtol 1e-6 within 7e-5 of the reference, with one redundant row in every position."""
    expected = table("A04_bricard.csv")
    motion = simulate(load("bricard"), t_end=2.0, rtol=1e-6, atol=1e-6, formulation=formulation)
    for axis in "xyz":
        np.testing.assert_allclose(motion[f"rod2.P3.{axis}"], expected[f"P3_{axis}"][: len(motion.t)], atol=7e-5)


def test_a_sketched_spatial_four_bar_is_assembled() -> None:
    """From a rocker tip a metre off: it ends on its circle, 12.2 m from the pin of the wheel."""
    model = load("spatial_four_link", {"cx": -6.5, "cz": 7.5})
    with pytest.raises(ModelError) as refused:
        simulate(model)
    assert refused.value.code == "start-far-off"
    motion = kinematics(model, t_end=0.1, assemble=True)
    tip, pin = (np.array([motion[f"{name}.{axis}"][0] for axis in "xyz"]) for name in ("rocker.C", "wheel.B"))
    np.testing.assert_allclose(np.linalg.norm(tip - pin), 12.2, rtol=1e-12)
    np.testing.assert_allclose(tip, [-7.49111544, -8.5, 6.52473088], atol=1e-7)


def test_lengths_of_euler_parameters_count_as_errors() -> None:
    """A free body has no joint; without projection its |e| drifts, and that is the error that is reported."""
    kept, free = (simulate(load("free_rigid_body"), stabilization=x) for x in ("projection", "none"))
    lengths = np.sqrt(sum(free[f"{free.model.bodies[0].name}.e{k}"] ** 2 for k in range(4)))  # type: ignore[union-attr]
    np.testing.assert_allclose(free.error_position, np.abs(lengths - 1.0), rtol=0, atol=1e-15)
    assert free.constraint_error["position"] > 1e-10
    assert kept.constraint_error["position"] < 1e-15


def test_a_spring_about_a_revolute_spherical_link_pushes_through_its_ball() -> None:
    """Without gravity the ball swings as k/(m L^2) says, theta = theta_0 cos(w t), and the body does not turn."""
    text = """
linkwork: 1
space: spatial
parameters: {L: 0.7, k: 5, m: 2, start: 0.4}
gravity: [0, 0, 0]
ground: {points: {O: [0, 0, 0]}}
bodies:
  ball: {mass: m, inertia: [0.1, 0.2, 0.15], position: [L*cos(start), L*sin(start), 0], points: {P: [0, 0, 0]}}
joints:
  link: {type: revolute-spherical, i: ground.O, j: ball.P, axis: [0, 0, 1], zero: [1, 0, 0], length: L}
forces:
  spring: {type: rotational-spring-damper, joint: link, stiffness: k}
simulation: {t_end: 3, step: 0.05, rtol: 1.0e-11, atol: 1.0e-12}
"""
    for coordinates in ("body", "joint"):
        motion = simulate(loads(text), coordinates=coordinates)
        theta = np.arctan2(motion["ball.y"], motion["ball.x"])
        expected = 0.4 * np.cos(np.sqrt(5.0 / (2.0 * 0.7**2)) * motion.t)
        np.testing.assert_allclose(theta, expected, atol=1e-9)
        turning = [motion[f"ball.w{axis}"] for axis in "xyz"]
        np.testing.assert_allclose(turning, 0.0, atol=1e-9)
        np.testing.assert_allclose(motion["ball.z"], 0.0, atol=1e-9)


@pytest.mark.parametrize("coordinates", ["body", "joint", "minimal", "euler"])
@pytest.mark.sampled
def test_a_torsion_spring_counts_turns(coordinates: str) -> None:
    """w^2 = k/J: the angle is (rate/w) sin(w t), here up to two and a half turns either way.

    Nothing but the motion itself limits the steps: eight report times each would be 1,250.
    """
    model = loads("""
linkwork: 1
name: rotor
space: spatial
bodies:
  rotor: {mass: 1, inertia: [1, 1, 0.5], position: [0, 0, 0], points: {O: [0, 0, 0]}, angular_velocity: [0, 0, 32]}
ground: {points: {O: [0, 0, 0]}}
joints:
  pin: {type: revolute, i: ground.O, j: rotor.O, axis: [0, 0, 1]}
forces:
  spring: {type: rotational-spring-damper, joint: pin, stiffness: 2}
""")
    t_end = 5.0
    motion = simulate(model, t_end=t_end, step=t_end / 10_000, rtol=1e-10, atol=1e-12, coordinates=coordinates)
    np.testing.assert_allclose(motion["pin.angle"], 16.0 * np.sin(2.0 * motion.t), atol=1e-6)
    np.testing.assert_allclose(motion["rotor.wz"], 32.0 * np.cos(2.0 * motion.t), atol=1e-6)
    angle = 2.0 * np.arctan2(motion["rotor.e3"], motion["rotor.e0"])
    np.testing.assert_allclose(np.unwrap(angle), motion["pin.angle"], atol=1e-8)
    assert motion.info.steps < 250
