"""Equations of whole mechanisms: names, masses, reactions against Newton and Euler by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from random_mechanisms import (
    Random,
    fitting,
    matrix,
    pair,
    planar_body,
    random_mechanism,
    rotation,
    spatial_body,
    state,
    triple,
    values,
)

from linkwork.elements.bodies import Ground, PlanarBody
from linkwork.elements.drivers import Driver
from linkwork.elements.forces import PointForce, Torque
from linkwork.elements.joints import JOINTS, AngleLock, Distance, Gear, PointOnLine, Prismatic, Revolute, Rigid
from linkwork.elements.motions import Law, Polynomial, SmoothStep
from linkwork.elements.pairs import PointPair
from linkwork.elements.spatial import Spherical
from linkwork.equations.body import body_equations
from linkwork.equations.equations import ALPHA, BETA, TIME, Equations
from linkwork.expressions.graph import Expr, cos, sin, symbol
from linkwork.model import Model

GROUND = Ground()


def solved(e: Equations, t: float, q: Any, v: Any) -> dict[Expr, Any]:
    """The state with accelerations and multipliers of a dense solution."""
    n, m = len(e.v), len(e.Psi)
    at = state(e, t, np.array(q, dtype=float), np.array(v, dtype=float))
    Psi_q = matrix(e.Psi_q, (m, n), e, at)
    K = np.block([[matrix(e.M, (n, n), e, at), Psi_q.T], [Psi_q, np.zeros((m, m))]])
    x = np.linalg.solve(K, np.concatenate([values(e.Q, e, at), values(e.gamma, e, at)]))
    return at | dict(zip((*e.a, *e.lam), x, strict=True))


def outputs(e: Equations, kind: str, at: dict[Expr, Any]) -> dict[str, float]:
    named = e.outputs[kind]
    return dict(zip(named, values([output.expression for output in named.values()], e, at).tolist(), strict=True))


def cross(a: Any, b: Any) -> float:
    return float(a[0] * b[1] - a[1] * b[0])


def test_a_pendulum_pulls_at_its_pin_as_Newton_and_Euler_say() -> None:
    """m a = m g + R at the mass centre on its circle; J phi_ddot = arm x R."""
    m, J, length, phi, omega, g = 2.0, 0.3, 0.7, 0.4, 3.0, 9.81
    c, s = np.cos(phi), np.sin(phi)  # phi from the horizontal, the pin at the left end
    q, v = [length * c, length * s, phi], [-omega * length * s, omega * length * c, omega]
    alpha = -m * g * length * c / (J + m * length**2)
    a = np.array([-alpha * length * s - omega**2 * length * c, alpha * length * c - omega**2 * length * s])
    R = m * a - [0.0, -m * g]
    for body_first in (False, True):
        body = PlanarBody("rod", m, J)
        ends: Any = (
            (body, GROUND, (-length, 0.0), (0.0, 0.0)) if body_first else (GROUND, body, (0.0, 0.0), (-length, 0.0))
        )
        e = body_equations(Model("pendulum", (body,), (Revolute("O", *ends),)))
        at = solved(e, 0.0, q, v)
        np.testing.assert_allclose([at[x] for x in e.a], [*a, alpha], atol=1e-12)
        reaction = outputs(e, "reactions", at)
        side = -1.0 if body_first else 1.0  # the force is that on body j
        np.testing.assert_allclose([reaction["O.x"], reaction["O.y"]], side * R, atol=1e-12)
        assert abs(reaction["O.torque"]) < 1e-12


def test_a_slider_on_a_tilted_rail_is_carried_along_its_normal() -> None:
    """Rail at 30 degrees; weight and a push off centre: normal force and torque by equilibrium across the rail."""
    m, J, tilt, g = 3.0, 0.5, np.pi / 6, 9.81
    u, n = np.array([np.cos(tilt), np.sin(tilt)]), np.array([-np.sin(tilt), np.cos(tilt)])
    F, s, s_j, phi = np.array([7.0, -2.0]), (0.2, 0.1), (-0.3, 0.05), 0.25
    body = PlanarBody("slider", m, J, (0.0, 0.0), phi)
    joint = Prismatic("S", GROUND, body, (0.0, 0.0), s_j, (float(u[0]) * 2, float(u[1]) * 2))
    e = body_equations(Model("slider", (body,), (joint,), forces=(PointForce("F", body, s, (7.0, -2.0)),)))
    along = 0.6
    r = along * u - rotation(phi) @ s_j
    at = solved(e, 0.0, [*r, phi], [*(1.3 * u), 0.0])
    total = F - np.array([0.0, m * g])
    np.testing.assert_allclose([at[x] for x in e.a], [*(u * (u @ total) / m), 0.0], atol=1e-12)
    reaction = outputs(e, "reactions", at)
    normal = -(n @ total)
    torque = -cross(rotation(phi) @ s, F) - cross(rotation(phi) @ s_j, normal * n)
    np.testing.assert_allclose(
        [reaction["S.along"], reaction["S.normal"], reaction["S.torque"]], [0.0, normal, torque], atol=1e-12
    )


def test_a_rod_in_tension_has_a_positive_one() -> None:
    """A point mass swinging on a massless rod: tension m (g cos + omega^2 l)."""
    m, length, theta, omega = 1.5, 0.8, 0.3, 2.0
    body = PlanarBody("bob", m, 1.0, (0.0, -length))
    e = body_equations(Model("bob", (body,), (Distance("D", GROUND, body, (0.0, 0.0), (0.0, 0.0)),)))
    u = np.array([np.sin(theta), -np.cos(theta)])
    at = solved(e, 0.0, [*(length * u), 0.1], [*(omega * length * np.array([np.cos(theta), np.sin(theta)])), 0.0])
    reaction = outputs(e, "reactions", at)
    tension = m * (9.81 * np.cos(theta) + omega**2 * length)
    np.testing.assert_allclose([reaction["D.tension"], reaction["D.x"], reaction["D.y"]], [tension, *(-tension * u)])


def test_a_driver_pushes_with_what_it_moves() -> None:
    """A crank accelerated from its joint: torque J phi_ddot + m g l cos phi, and the power is torque times speed."""
    m, J, length = 2.0, 0.3, 0.7
    body = PlanarBody("crank", m, J)
    joint = Revolute("O", GROUND, body, (0.0, 0.0), (-length, 0.0))
    driver = Driver("motor", joint, "angle", Polynomial(0.2, 1.5, 4.0))
    e = body_equations(Model("crank", (body,), (joint,), (driver,)))
    t = 0.5
    phi, omega = 0.2 + 1.5 * t + 2.0 * t * t, 1.5 + 4.0 * t
    c, s = length * np.cos(phi), length * np.sin(phi)
    at = solved(e, t, [c, s, phi], [-omega * s, omega * c, omega])
    torque = (J + m * length**2) * 4.0 + m * 9.81 * c
    np.testing.assert_allclose(outputs(e, "driving", at)["motor"], torque, rtol=1e-12)
    np.testing.assert_allclose(values(e.work_rates[1:], e, at), torque * omega, rtol=1e-12)


def test_a_welded_overhang_bears_the_moment_of_its_weight() -> None:
    body = PlanarBody("beam", 2.0, 0.3, (0.7, 0.0))
    e = body_equations(Model("beam", (body,), (Rigid("W", GROUND, body, (0.0, 0.0), (-0.7, 0.0)),)))
    reaction = outputs(e, "reactions", solved(e, 0.0, [0.7, 0.0, 0.0], np.zeros(3)))
    np.testing.assert_allclose(list(reaction.values()), [0.0, 2.0 * 9.81, 2.0 * 9.81 * 0.7], atol=1e-12)
    assert list(reaction) == ["W.x", "W.y", "W.torque"]


def test_teeth_and_locks_pass_torques_on() -> None:
    """A torque on one gear drives both: the tooth force brings J_j / R_j of the angular acceleration."""
    T, (J_i, J_j), (R_i, R_j) = 5.0, (0.4, 0.9), (0.2, 0.5)
    i, j, rider = PlanarBody("i", 1.0, J_i), PlanarBody("j", 1.0, J_j, (0.7, 0.0)), PlanarBody("rider", 1.0, 0.6)
    joints = (
        Revolute("I", GROUND, i, (0.0, 0.0), (0.0, 0.0)),
        Revolute("J", GROUND, j, (0.7, 0.0), (0.0, 0.0)),
        Gear("mesh", i, j, R_i, R_j),
        AngleLock("lock", j, rider),
    )
    e = body_equations(Model("gears", (i, j, rider), joints, forces=(Torque("T", i, T),)))
    at = solved(e, 0.0, [0, 0, 0.3, 0.7, 0, -0.12, 0, 0, -0.12], np.zeros(9))
    alpha_i = T / (J_i + (J_j + 0.6) * (R_i / R_j) ** 2)
    alpha_j = -alpha_i * R_i / R_j
    np.testing.assert_allclose([at[e.a[2]], at[e.a[5]], at[e.a[8]]], [alpha_i, alpha_j, alpha_j], rtol=1e-12)
    reaction = outputs(e, "reactions", at)
    np.testing.assert_allclose(reaction["lock.torque"], 0.6 * alpha_j, rtol=1e-12)
    np.testing.assert_allclose(reaction["mesh.torque"], (J_j + 0.6) * alpha_j, rtol=1e-12)


def test_a_pin_in_a_slot_is_pushed_across_it_only(rng: Random) -> None:
    i, j = planar_body("i", rng), planar_body("j", rng)
    joint = PointOnLine("P", i, j, pair(rng), pair(rng), pair(rng))
    e = body_equations(Model("slot", (i, j), (joint,)))
    at = solved(e, 0.0, rng.normal(size=6), rng.normal(size=6))
    reaction = outputs(e, "reactions", at)
    assert abs(reaction["P.normal"]) > 1e-3
    np.testing.assert_allclose([reaction["P.along"], reaction["P.torque"]], 0.0, atol=1e-12)


def test_reactions_and_applied_forces_move_every_body(rng: Random) -> None:
    """Newton and Euler for the last body of a random tree, from reactions named in their own axes."""
    for kind in JOINTS["planar"].keys() - {"velocity-constraint", "coupling"}:  # which name no force on a body
        i, j = planar_body("i", rng), planar_body("j", rng)
        joint = fitting(JOINTS["planar"][kind], "J", i, j, rng)
        e = body_equations(Model("two", (i, j), (joint,)))
        q, v = e.start()
        at = solved(e, 0.0, q, v)
        reaction = outputs(e, "reactions", at)
        u = rotation(q[2]) @ np.array(getattr(joint, "axis", (1.0, 0.0)))
        u = u / np.linalg.norm(u)
        x, y = reaction.get("J.x", 0.0), reaction.get("J.y", 0.0)
        force = np.array([x, y]) + reaction.get("J.along", 0.0) * u
        force = force + reaction.get("J.normal", 0.0) * np.array([-u[1], u[0]])
        torque = reaction.get("J.torque", 0.0)
        if isinstance(joint, PointPair):
            torque += cross(rotation(q[5]) @ np.array(joint.s_j), force)
        a = np.array([at[x] for x in e.a])[3:]
        expected = [*(j.mass * (a[:2] - [0.0, -9.81])), j.inertia * a[2]]
        np.testing.assert_allclose([*force, torque], expected, rtol=1e-9, atol=1e-10, err_msg=kind)


def test_points_move_as_their_bodies(rng: Random) -> None:
    body = replace(planar_body("crank", rng), points={"A": (0.3, -0.2)})
    ground = Ground(points={"O": (1.0, 2.0)})
    e = body_equations(Model("one", (body,), ground=ground))
    phi, omega, alpha = 0.7, 2.0, -3.0
    at = state(e, 0.0, np.array([1.0, 2.0, phi]), np.array([0.4, 0.5, omega]))
    at |= dict(zip(e.a, (6.0, 7.0, alpha), strict=True))
    x, y = rotation(phi) @ [0.3, -0.2]
    point = outputs(e, "points", at)
    expected = {
        "crank.A.x": 1.0 + x,
        "crank.A.y": 2.0 + y,
        "crank.A.vx": 0.4 - omega * y,
        "crank.A.vy": 0.5 + omega * x,
        "crank.A.ax": 6.0 - alpha * y - omega**2 * x,
        "crank.A.ay": 7.0 + alpha * x - omega**2 * y,
        "ground.O.x": 1.0,
        "ground.O.y": 2.0,
        **dict.fromkeys(("ground.O.vx", "ground.O.vy", "ground.O.ax", "ground.O.ay"), 0.0),
    }
    assert point.keys() == expected.keys()
    np.testing.assert_allclose([point[name] for name in expected], list(expected.values()), atol=1e-14)


def test_mass_matrix_is_symmetric_and_positive(rng: Random) -> None:
    planar = random_mechanism(rng)
    spatial = Model("s", tuple(spatial_body(name, rng) for name in "ab"), gravity=triple(rng), space="spatial")
    for model in (planar, spatial):
        e = body_equations(model)
        n = len(e.v)
        v = rng.normal(size=n)
        at = state(e, 0.0, rng.normal(size=len(e.q)), v)
        M = matrix(e.M, (n, n), e, at)
        np.testing.assert_array_equal(M, M.T)
        assert np.all(np.linalg.eigvalsh(M) > 0)
        np.testing.assert_allclose(values([e.energy.kinetic], e, at), v @ M @ v / 2)


def test_gyration_does_no_work_and_turns_the_momentum(rng: Random) -> None:
    """Euler's equations J omega_dot + omega x J omega = 0 with all products of inertia."""
    body = spatial_body("b", rng)
    e = body_equations(Model("s", (body,), gravity=(0.0, 0.0, 0.0), space="spatial"))
    v = rng.normal(size=6)
    at = state(e, 0.0, rng.normal(size=7), v)
    xx, yy, zz, xy, yz, zx = (float(x) for x in body.inertia)  # type: ignore[arg-type]
    J = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
    np.testing.assert_allclose(matrix(e.M, (6, 6), e, at)[3:, 3:], J)
    np.testing.assert_allclose(values(e.Q, e, at), [0, 0, 0, *(-np.cross(v[3:], J @ v[3:]))], atol=1e-12)


def test_names_of_coordinates_and_rows() -> None:
    crank, slider = PlanarBody("crank", 1.0, 1.0), PlanarBody("slider", 1.0, 1.0)
    joint = Revolute("O", GROUND, crank, (0.0, 0.0), (0.0, 0.0))
    rail = Prismatic("S", GROUND, slider, (0.0, 0.0), (0.0, 0.0), (1.0, 0.0))
    driver = Driver("motor", joint, "angle", Law(2.0 * TIME))
    e = body_equations(Model("m", (crank, slider), (joint, rail), (driver,)))
    assert e.q_names == e.v_names == ("crank.x", "crank.y", "crank.phi", "slider.x", "slider.y", "slider.phi")
    assert [str(row) for row in e.rows] == ["O.x", "O.y", "S.normal", "S.angle", "motor.drive"]
    assert list(e.outputs["driving"]) == ["motor"]


def test_names_of_spatial_coordinates(rng: Random) -> None:
    body = spatial_body("top", rng)
    joint = Spherical("O", GROUND, body, (0.0, 0.0, 0.0), triple(rng))
    e = body_equations(Model("m", (body,), (joint,), gravity=(0.0, 0.0, -9.81), space="spatial"))
    assert e.q_names == tuple(f"top.{x}" for x in ("x", "y", "z", "e0", "e1", "e2", "e3"))
    assert e.v_names == tuple(f"top.{x}" for x in ("x", "y", "z", "wx", "wy", "wz"))
    assert [str(row) for row in e.rows] == ["O.x", "O.y", "O.z"]


def test_baumgarte_pulls_back_with_both_gains(rng: Random) -> None:
    e = body_equations(random_mechanism(rng))
    stabilized = e.with_baumgarte()
    at = state(e, 0.2, rng.normal(size=len(e.q)), rng.normal(size=len(e.v))) | {ALPHA: 3.0, BETA: 5.0}
    gamma, Psi_dot, Psi = (values(x, e, at) for x in (e.gamma, e.Psi_dot, e.Psi))
    np.testing.assert_allclose(values(stabilized.gamma, e, at), gamma - 6.0 * Psi_dot - 25.0 * Psi, rtol=1e-12)


def test_numbers_become_parameters_and_zeros_stay() -> None:
    """Equal numbers of different elements stay apart; the same joint under a driver shares them."""
    a, b = PlanarBody("a", 2.0, 1.0, (0.5, 0.0)), PlanarBody("b", 2.0, 1.0)
    joint = Revolute("O", a, b, (0.25, 0.0), (0.25, 0.0))
    motion = SmoothStep(0.0, 1.0, 0.0, 2.0)
    drivers = (Driver("D", joint, "angle", motion), Driver("E", joint, "angle", replace(motion, end=3.0)))
    e = body_equations(Model("m", (a, b), (joint,), drivers, parameters={"unused": 7.0}))
    numbers = {x.value: value for x, value in e.parameters.items()}
    assert sorted(value for name, value in numbers.items() if name.startswith("O.")) == [0.25, 0.25]
    assert [numbers[name] for name in ("a.mass'", "b.mass'", "unused")] == [2.0, 2.0, 7.0]
    assert 0.0 not in numbers.values()
    first, second = values(e.Psi[2:], e, state(e, 9.0, np.zeros(6), np.zeros(6)))
    assert [first, second] == [-1.0, -3.0]


def test_parameters_reach_every_kind_of_number() -> None:
    """Masses, points, start values, motions and gravity written with the parameters of the model."""
    length, speed = symbol("l"), symbol("speed")
    body = PlanarBody("b", length + 1.0, 2.0 * length, (length / 2, 0.0), points={"P": (length, 0.0)})
    joint = Revolute("O", GROUND, body, (0.0, 0.0), (-length / 2, 0.0))
    driver = Driver("D", joint, "angle", Law(speed * TIME + sin(length)))
    model = Model("m", (body,), (joint,), (driver,), gravity=(0.0, -cos(length)), parameters={"l": 0.8, "speed": 3.0})
    e = body_equations(model)
    q, _ = e.start()
    np.testing.assert_allclose(q, [0.4, 0.0, 0.0])
    at = state(e, 0.5, q, np.ones(3))
    np.testing.assert_allclose(values(e.Psi, e, at), [0.0, 0.0, -1.5 - np.sin(0.8)], atol=1e-15)
    np.testing.assert_allclose(values(e.Q, e, at), [0.0, -1.8 * np.cos(0.8), 0.0])


@pytest.mark.parametrize("kind", sorted(JOINTS["planar"].keys() - {"coupling"}))  # whose offset is given
def test_start_values_of_constants_are_taken_from_the_bodies(kind: str, rng: Random) -> None:
    """Where the bodies start, joints that fit have no gap, whatever the place."""
    i, j = planar_body("i", rng), planar_body("j", rng)
    for body_i in (GROUND, i):
        e = body_equations(Model("m", (i, j), (fitting(JOINTS["planar"][kind], "J", body_i, j, rng),)))
        q, v = e.start()
        np.testing.assert_allclose(values(e.Psi, e, state(e, 0.0, q, v)), 0.0, atol=1e-14)


def test_a_number_that_is_none_comes_out_as_none() -> None:
    """NaN differs from itself; it must not send the search for a free name round for ever."""
    body = PlanarBody("b", float("nan"), 1.0, (float("nan"), float("nan")))
    e = body_equations(Model("m", (body,)))
    assert np.isnan(values([e.M[0, 0]], e, {})).all()
    assert np.isnan(e.start()[0][:2]).all()
