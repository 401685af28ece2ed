"""Inverse dynamics: forces of actuators against driving forces, Newton and Euler in NumPy, and the motion they make."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwork
from linkwork import PlanarModel, SpatialModel, actuated, inverse, kinematics, load, loads, simulate
from linkwork.cli import answer
from linkwork.driven.measured import smooth
from linkwork.errors import ModelError, NumericalStop, UsageError
from linkwork.expressions.graph import symbol
from linkwork.model import Model
from linkwork.trajectory import Trajectory
from linkwork.view.dossier import _reaction_rows

Array = NDArray[np.float64]


def largest(x: Any) -> float:
    return float(np.max(np.abs(x)))


@pytest.mark.parametrize("name", ["stewart_platform", "delta_robot"])
def test_actuators_where_the_drivers_are_need_the_driving_forces(name: str) -> None:
    told = kinematics(load(name), t_end=1.0, step=0.05)
    found = inverse(load(name), motion=told)
    for actuator in load(name).actuators:
        driving = told[f"driving:{actuator.name}"]
        assert largest(found[f"actuator:{actuator.name}"] - driving) <= 1e-12 * largest(driving)
        power = told[f"power:{actuator.name}"]
        assert largest(found[f"power:{actuator.name}"] - power) <= 1e-12 * largest(power)
    for reaction in (one for one in told if one.startswith("reaction:")):
        assert largest(found[reaction] - told[reaction]) <= 1e-11 * max(1.0, largest(told[reaction]))
    assert not [note for note in found.info.notes if note.code == "actuators-not-unique"]


def test_the_torque_that_moved_andrews_squeezer_is_found_again() -> None:
    """And with it all reactions; without the motor, of whose torque the motion alone tells."""
    model = PlanarModel.load("andrews_squeezer")
    told = simulate(model.model, t_end=0.02, step=0.0005)
    model.remove("motor")
    model.actuator("m", "O")
    found = inverse(model.model, motion=told)
    assert largest(found["actuator:m"] - 0.033) <= 1e-12 * 0.033
    for name in (one for one in told if one.startswith("reaction:")):
        assert largest(found[name] - told[name]) <= 1e-10 * largest(told["reaction:E3"])


# Newton and Euler in NumPy: bodies in space with v = (r_dot, omega in the axes of the body).


def cross(x: Array) -> Array:
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def rotation(e: Array) -> Array:
    """Of Euler parameters e0, e."""
    return np.asarray((2 * e[0] ** 2 - 1) * np.eye(3) + 2 * np.outer(e[1:], e[1:]) + 2 * e[0] * cross(e[1:]))


class Bodies:
    """Positions, rates and inertias of the bodies of a motion at one of its rows."""

    def __init__(self, motion: Trajectory, model: Model, row: int) -> None:
        n = len(model.bodies)
        self.names = [body.name for body in model.bodies]
        q = motion.q[row][: 7 * n].reshape(n, 7)
        self.r, self.A = q[:, :3], [rotation(e) for e in q[:, 3:]]
        v, a = (x[row].reshape(n, 6) for x in (motion.v, motion.a))
        self.v, self.needed = v, np.zeros(6 * n)
        bodies: Any = model.bodies
        for k, body in enumerate(bodies):
            J, w = np.diag(np.array(body.inertia[:3], dtype=float)), v[k, 3:]
            self.needed[6 * k : 6 * k + 3] = float(body.mass) * (a[k, :3] - np.array(model.gravity, dtype=float))
            self.needed[6 * k + 3 : 6 * k + 6] = J @ a[k, 3:] + np.cross(w, J @ w)

    def point(self, name: str, s: Any) -> tuple[Array, Array]:
        """A place and the matrix that makes its velocity of v."""
        rows = np.zeros((3, len(self.needed)))
        if name == "ground":
            return np.array(s, dtype=float), rows
        k = self.names.index(name)
        arm = self.A[k] @ np.array(s, dtype=float)
        rows[:, 6 * k : 6 * k + 3], rows[:, 6 * k + 3 : 6 * k + 6] = np.eye(3), -cross(arm) @ self.A[k]
        return self.r[k] + arm, rows

    def turning(self, name: str) -> Array:
        """The matrix that makes its angular velocity, in the axes of the ground, of v."""
        rows, k = np.zeros((3, len(self.needed))), self.names.index(name)
        rows[:, 6 * k + 3 : 6 * k + 6] = self.A[k]
        return rows


def random_linkage(rng: np.random.Generator) -> tuple[SpatialModel, dict[str, Any]]:
    """Two cranks about skew axes, a rod between their ends by balls: a freedom, and the rod spins."""
    at: dict[str, Any] = {name: rng.uniform(-0.2, 0.2, 3) for name in ("O", "C", "A", "B")}
    at["C"], at["A"], at["B"] = at["C"] + [1.0, 0.2, 0.0], at["A"] + [0.2, 0.4, 0.3], at["B"] + [0.9, 0.5, 0.5]
    at |= {name: rng.normal(size=3) for name in ("axis_O", "axis_C", "axis_T", "axis_F")}
    m = SpatialModel("skew")
    m.gravity = rng.normal(size=3).tolist()
    m.fix(O=at["O"].tolist(), C=at["C"].tolist(), G=[0.1, -0.7, 0.2])
    for name, ends in (("left", "OA"), ("rod", "AB"), ("right", "CB")):
        centre = 0.5 * (at[ends[0]] + at[ends[1]]) + 0.05 * rng.normal(size=3)
        points = {end: (at[end] - centre).tolist() for end in ends}
        inertia = (1.0 + rng.uniform(0.0, 0.5, 3)) * 0.05
        m.body(name, mass=float(rng.uniform(0.5, 2)), inertia=inertia.tolist(), position=centre.tolist(), points=points)
    m.revolute("O", "ground.O", "left.O", axis=at["axis_O"].tolist())
    m.revolute("C", "ground.C", "right.C", axis=at["axis_C"].tolist())
    m.spherical("A", "left.A", "rod.A")
    m.spherical("B", "rod.B", "right.B")
    return m, at


def test_a_linkage_in_space_against_newton_and_euler() -> None:
    """All kinds of actuators, more than freedoms, with weights: V^T B tau = V^T (M a - Q), the least norm."""
    seed = 24
    rng = np.random.default_rng(seed)
    m, at = random_linkage(rng)
    moved = m.copy()
    moved.torque("push", on="left", torque=["3*sin(5*t)", 1.0, "2*t"], follows=True)
    told = simulate(moved.model, t_end=0.4, step=0.04, rtol=1e-10)
    m.actuator("hinge", "O", weight=2.0)
    m.actuator("spin", "rod", axis=at["axis_T"].tolist(), follows=True)
    m.actuator("leg", ("ground.G", "rod.A"), weight=0.3)
    m.actuator("thrust", "right.B", axis=at["axis_F"].tolist())
    weights, found = np.array([2.0, 1.0, 0.3, 1.0]), inverse(m.model, motion=told)
    assert found.info.dof == 2
    assert {one.code for one in found.info.notes} >= {"actuators-not-unique"}
    for row in range(len(told.t)):
        bodies = Bodies(told, m.model, row)
        points = {body.name: body.points for body in m.model.bodies} | {"ground": m.model.ground.points}
        Psi_q = []
        for name, crank, pin in (("axis_O", "left", "O"), ("axis_C", "right", "C")):
            normal = np.linalg.svd(at[name][None])[2][1:]
            Psi_q += [bodies.point(crank, points[crank][pin])[1], normal @ bodies.turning(crank)]
        ends = (("left", "rod", "A"), ("rod", "right", "B"))
        Psi_q += [bodies.point(j, points[j][p])[1] - bodies.point(i, points[i][p])[1] for i, j, p in ends]
        V = np.linalg.svd(np.vstack(Psi_q))[2][16:].T
        assert largest(np.vstack(Psi_q) @ V) <= 1e-12
        hinge = at["axis_O"] / np.linalg.norm(at["axis_O"]) @ bodies.turning("left")
        own_axis = bodies.A[1] @ at["axis_T"] / np.linalg.norm(at["axis_T"])
        (start, _), (end, rate) = bodies.point("ground", points["ground"]["G"]), bodies.point("rod", points["rod"]["A"])
        leg = (end - start) / np.linalg.norm(end - start) @ rate
        thrust = at["axis_F"] / np.linalg.norm(at["axis_F"]) @ bodies.point("right", points["right"]["B"])[1]
        B = np.array([hinge, own_axis @ bodies.turning("rod"), leg, thrust]).T
        root = np.sqrt(weights)
        tau = np.linalg.pinv(V.T @ B / root) @ (V.T @ bodies.needed) / root
        names = ("hinge", "spin", "leg", "thrust")
        got = np.array([found[f"actuator:{name}"][row] for name in names])
        assert largest(got - tau) <= 1e-9 * largest(tau), f"seed {seed}, row {row}"
        rates = np.array([found[f"power:{name}"][row] for name in names]) / got
        assert largest(rates - B.T @ bodies.v.ravel()) <= 1e-9 * largest(rates)


# What the forces do in a run.


def assert_forces_return_the_motion(model: Model, t_end: float, step: float) -> Trajectory:
    found = inverse(model, t_end=t_end, step=step)
    again = simulate(actuated(model, found), t_end=t_end, step=step, rtol=1e-12)
    n = len(found.q_names)
    assert largest(found.q - again.q[:, :n]) <= 1e-9 * largest(found.q)
    assert largest(found.v - again.v) <= 1e-8 * largest(found.v)
    return found


def without_drivers(m: Any, name: str, count: int) -> None:
    """Take these drivers out, and leave the actuators of the same names."""
    drivers: Any = m.document.data["drivers"]
    for k in range(1, count + 1):
        del drivers[f"{name}{k}"]


def delta_by_its_platform() -> Model:
    """The delta robot whose platform is told where to go."""
    m = SpatialModel.load("delta_robot")
    m.fix(G=(0, 0, 0))
    m.change("platform", points={**m.entry("bodies", "platform")["points"], "P": [0, 0, 0]})
    for axis, law in {"x": "0.03*sin(2*t)", "y": "0.04*(1 - cos(t))", "z": "-drop - 0.05*sin(1.5*t)"}.items():
        m.driver(axis, ("ground.G", "platform.P"), law, freedom=axis)
    without_drivers(m, "motor", 3)
    return m.model


def stewart_by_its_platform() -> Model:
    """The Stewart platform told where three of its points go, in six coordinates."""
    m = SpatialModel.load("stewart_platform")
    without_drivers(m, "leg", 6)
    m.fix(G=(0, 0, 0))
    told = {"P1": ("x", "y", "z"), "P2": ("y", "z"), "P3": ("z",)}
    places = {"P1": [0.4, 0.0, 0.1], "P2": [0.0, 0.5, 0.0], "P3": [-0.4, -0.3, 0.0]}
    m.change("platform", points={**m.entry("bodies", "platform")["points"], **places})
    start: Any = {"x": 0.4, "y": 0.0, "z": "h + 0.1"}, {"y": 0.5, "z": "h"}, {"z": "h"}
    laws = ["0.05*sin(2*t)", "0.04*(1 - cos(3*t))", "0.06*sin(t)", "0.03*t^2", "-0.04*sin(2*t)", "0.05*(1 - cos(2*t))"]
    for (point, axes), first in zip(told.items(), start, strict=True):
        for axis in axes:
            m.driver(
                f"{point}{axis}", ("ground.G", f"platform.{point}"), f"{first[axis]} + {laws.pop(0)}", freedom=axis
            )
    return m.model


def andrews_by_another_joint() -> Model:
    """Andrews' squeezer, driven at A and moved at O, from a position that is not singular."""
    m = PlanarModel.load("andrews_squeezer")
    at = simulate(m.model, t_end=0.008, step=0.008).at(0.008)
    for body in m.model.bodies:
        place = [at[f"{body.name}.x"], at[f"{body.name}.y"]]
        m.change(body.name, position=place, angle=at[f"{body.name}.phi"])
    m.remove("motor")
    m.driver("d", "A5", f"{at['joint:A5.angle']!r} - 0.008*sin(150*t)")
    m.actuator("m", "O")
    return m.model


@pytest.mark.slow
def test_forces_return_the_motion_of_a_stewart_platform_told_by_points() -> None:
    assert_forces_return_the_motion(stewart_by_its_platform(), 0.5, 0.001)


@pytest.mark.slow
def test_forces_return_the_motion_of_a_delta_robot_told_by_its_platform() -> None:
    assert_forces_return_the_motion(delta_by_its_platform(), 1.0, 0.0025)


@pytest.mark.slow
def test_forces_return_the_motion_of_andrews_squeezer_told_elsewhere() -> None:
    assert_forces_return_the_motion(andrews_by_another_joint(), 0.01, 1e-5)


@pytest.mark.slow
def test_forces_of_four_motors_return_the_motion_of_three_freedoms() -> None:
    found = assert_forces_return_the_motion(load("four_rrr"), 0.2, 0.001)
    assert "actuators-not-unique" in {note.code for note in found.info.notes}
    assert found.info.dof == 3


# The planar 4-RRR in NumPy: everything by its platform.


def planar_reference(motion: Trajectory, model: Model, row: int, names: list[str]) -> tuple[Array, Array]:
    """V^T B and V^T (M a - Q) of a mechanism of revolute joints with motors between the ground and cranks."""
    order = [body.name for body in model.bodies]
    values = {name: float(x) for name, x in model.parameters.items()}
    q, v, a = (x[row].reshape(-1, 3) for x in (motion.q, motion.v, motion.a))
    a_of = {"a": values["a"], "b": values["b"], "c": values["c"]}
    needed = np.zeros(3 * len(order))
    for k, body in enumerate(model.bodies):
        mass, inertia = float(body.mass), float(body.inertia)  # type: ignore[arg-type]
        needed[3 * k : 3 * k + 3] = mass * a[k, 0], mass * (a[k, 1] + 9.81), inertia * a[k, 2]

    def rows(body: str, s: tuple[float, float]) -> Array:
        found, k = np.zeros((2, 3 * len(order))), order.index(body)
        c, d = np.cos(q[k, 2]), np.sin(q[k, 2])
        found[:, 3 * k : 3 * k + 2], found[:, 3 * k + 2] = np.eye(2), [-d * s[0] - c * s[1], c * s[0] - d * s[1]]
        return found

    Psi_q, corners = [], ((-1, -1), (1, -1), (1, 1), (-1, 1))
    for k, (x, y) in enumerate(corners, start=1):
        half_a, half_b, c = a_of["a"] / 2, a_of["b"] / 2, a_of["c"]
        crank, rod = f"crank{k}", f"rod{k}"
        Psi_q += [rows(crank, (-half_a, 0)), rows(crank, (half_a, 0)) - rows(rod, (-half_b, 0))]
        Psi_q.append(rows(rod, (half_b, 0)) - rows("platform", (x * c, y * c)))
    V = np.linalg.svd(np.vstack(Psi_q))[2][24:].T
    B = np.zeros((3 * len(order), len(names)))
    for k, name in enumerate(names):
        B[3 * order.index(f"crank{name[1:]}") + 2, k] = 1.0
    assert largest(V.T @ v.ravel()) > 0.0
    return V.T @ B, V.T @ needed


def test_four_motors_share_the_load_by_the_least_norm() -> None:
    model = load("four_rrr")
    found, names = inverse(model, step=0.25), ["m1", "m2", "m3", "m4"]
    for row in range(len(found.t)):
        share, needed = planar_reference(found, model, row, names)
        tau = np.linalg.pinv(share) @ needed
        assert largest([found[f"actuator:{x}"][row] for x in names] - tau) <= 1e-10 * largest(tau)
    balance = sum(found[f"power:{x}"] for x in names)
    rate = np.zeros(len(found.t))
    for k, body in enumerate(model.bodies):
        v, a = found.v[:, 3 * k : 3 * k + 3], found.a[:, 3 * k : 3 * k + 3]
        mass, inertia = float(body.mass), float(body.inertia)  # type: ignore[arg-type]
        rate += mass * (np.sum(v[:, :2] * a[:, :2], axis=1) + 9.81 * v[:, 1]) + inertia * v[:, 2] * a[:, 2]
    assert largest(balance - rate) <= 1e-12 * largest(balance) + 1e-13


def test_other_motors_hold_it_where_those_that_were_chosen_are_singular() -> None:
    """A leg that is stretched loses its motor: the platform passes such positions, and the torques stay finite."""
    m = PlanarModel.load("four_rrr")
    m.change("x", motion="x0")
    m.change("turn", motion="p0 + 0.9*sin(w*t)")
    model = m.model
    found = inverse(model, step=0.02, t_end=3.0)
    names, spread = ["m1", "m2", "m3", "m4"], []
    for row in range(0, len(found.t), 5):
        share, needed = planar_reference(found, model, row, names)
        tau = np.linalg.pinv(share) @ needed
        spread.append(min(np.linalg.svd(np.delete(share, k, axis=1))[1][-1] for k in range(4)))
        assert largest([found[f"actuator:{x}"][row] for x in names] - tau) <= 1e-8 * largest(tau)
    assert min(spread) < 0.05 * max(spread)  # three of them alone come near to a singular position


@pytest.mark.parametrize("short", [0.0, 5e-5, -2e-3])
def test_of_two_forces_the_one_that_has_an_arm_is_asked(short: float) -> None:
    """Forces along x and y at a tip: that along y is chosen where the arm lies, and has no arm where that stands.

    The moment L (f_y cos phi - f_x sin phi) = J phi_dd + m g L cos phi / 2, and the least norm has f along the arc.
    """
    text = """
linkwork: 1
ground: {points: {O: [0, 0]}}
bodies: {arm: {mass: 3, inertia: 0.2, position: [0.4, 0], points: {O: [-0.4, 0], E: [0.4, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: arm.O}}
drivers: {d: {joint: O, motion: 0.5*t^2}}
actuators: {x: {on: arm.E, axis: [1, 0]}, y: {on: arm.E, axis: [0, 1]}}
"""
    t_end = float(np.sqrt(np.pi - short))
    found = inverse(loads(text), t_end=t_end, step=t_end / 4)
    phi = found["arm.phi"]
    assert phi[-1] == pytest.approx(np.pi / 2 - short / 2, abs=1e-12)
    moment = (0.2 + 3 * 0.4**2) + 3 * 9.81 * 0.4 * np.cos(phi)
    assert largest(found["actuator:x"] + moment * np.sin(phi) / 0.8) <= 1e-13 * largest(moment)
    assert largest(found["actuator:y"] - moment * np.cos(phi) / 0.8) <= 1e-13 * largest(moment)


# Constraints of velocities.


def test_a_sleigh_is_pushed_and_turned() -> None:
    """On its blade it has three freedoms of position and two of velocity; the side force is the blade's."""
    text = """
linkwork: 1
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies:
  sleigh: {mass: 3, inertia: 0.7, velocity: [0.4, 0], points: {P: [-0.3, 0], F: [0.2, 0.1]}}
joints: {blade: {type: skate, i: ground.O, j: sleigh.P, axis_j: [1, 0]}}
"""
    forces = """
forces:
  push: {type: point-force, at: sleigh.F, force: [2 + sin(3*t), 0.5*t], follows: true}
  turn: {type: torque, on: sleigh, torque: 0.4*cos(2*t)}
"""
    asked = "actuators: {along: {on: sleigh.F, axis: [1, 0], follows: true}, turn: {on: sleigh}}\n"
    told = simulate(loads(text + forces), t_end=1.5, step=0.05, rtol=1e-11)
    found = inverse(loads(text + asked), motion=told)
    assert found.info.dof == 2
    # The force across the blade, 0.5 t at F, acts on the freedoms by its moment about P alone.
    assert largest(found["actuator:along"] - (2 + np.sin(3 * told.t))) <= 1e-9
    across = 0.5 * told.t
    assert largest(found["actuator:turn"] - (0.4 * np.cos(2 * told.t) + 0.5 * across)) <= 1e-9


# Inputs, outputs and states.


def test_inputs_stay_as_they_are_and_states_are_those_of_the_motion() -> None:
    """A brake u + z on a flywheel, z' = omega - z: the motor turns it against both; an output may ask the driver."""
    text = """
linkwork: 1
ground: {points: {O: [0, 0]}}
bodies: {wheel: {mass: 2, inertia: 0.3, points: {O: [0, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: wheel.O}}
drivers: {d: {joint: O, motion: t^2}}
inputs: {u: {unit: N*m, value: 0.7}}
outputs: {drive: {formula: "2*driving:d", unit: N*m}}
states: {z: {rate: "wheel.omega - z", start: 0.2}}
forces: {brake: {type: torque, on: wheel, torque: -u - z}}
actuators: {m: {joint: O}}
"""
    found = inverse(loads(text), t_end=1.0, step=0.1)
    t = found.t
    z = 2.0 * (t - 1.0) + 2.2 * np.exp(-t)
    assert largest(found["actuator:m"] - (0.3 * 2 + 0.7 + z)) <= 1e-8
    moved = simulate(actuated(loads(text), found), rtol=1e-10)
    assert largest(moved["state:z"][-1] - z[-1]) <= 1e-6
    sized = loads("\n".join(line for line in text.split("\n") if not line.startswith(("drivers", "outputs"))))
    sized = replace(sized, actuators=tuple(replace(own, size=2 * symbol("u") + symbol("z")) for own in sized.actuators))
    again = simulate(sized, t_end=0.1)
    assert largest(again["torque:m"] - (1.4 + again["state:z"])) <= 1e-12


@pytest.mark.slow
def test_inputs_that_events_set_or_that_are_sampled_are_refused() -> None:
    """A motion does not say with which values of u it was made."""
    text = """
linkwork: 1
ground: {points: {O: [0, 0]}}
bodies: {wheel: {mass: 2, inertia: 0.3, points: {O: [0, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: wheel.O}}
inputs: {u: {unit: N*m, value: 0.7}}
forces: {brake: {type: torque, on: wheel, torque: -u}}
events: {loose: {when: t - 0.05, action: set, inputs: {u: 0}}}
actuators: {m: {joint: O}}
"""
    sampled = text.replace("value: 0.7", "value: 1 - t, every: 10 ms").replace(
        "action: set, inputs: {u: 0}", "action: record"
    )
    for model, reason in ((text, "'loose' would change joints or inputs"), (sampled, "'u' change while")):
        with pytest.raises(UsageError, match=reason):
            inverse(loads(model), motion=simulate(loads(model), t_end=0.1, step=0.01))


# Measured positions.


def test_measured_positions_are_smoothed_and_followed(tmp_path: Path) -> None:
    model = load("four_rrr")
    told = inverse(model, t_end=1.0, step=0.005)
    rng = np.random.default_rng(3)
    noisy = {name: told[name] + 1e-5 * rng.normal(size=len(told.t)) for name in ("platform.x", "platform.y")}
    angle = np.degrees(told["platform.phi"] + 1e-5 * rng.normal(size=len(told.t)))
    lines = ["t,platform.x [mm],platform.P.y,platform.phi [deg]"]
    rows = zip(told.t, 1000 * noisy["platform.x"], noisy["platform.y"], angle, strict=True)
    lines += [",".join(map(repr, map(float, row))) for row in rows]
    path = tmp_path / "measured.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    found = inverse(model, motion=path)
    inner = slice(20, -20)
    for name in ("m1", "m2", "m3", "m4"):
        exact = told[f"actuator:{name}"]
        assert largest(found[f"actuator:{name}"][inner] - exact[inner]) <= 0.03 * largest(exact)
    assert largest(found["platform.x"] - told["platform.x"]) <= 1e-5


def test_smoothing_keeps_what_has_no_noise_and_removes_what_is_noise() -> None:
    t = np.linspace(0.0, 2.0, 161)
    y = 0.3 + np.sin(3 * t) + 0.2 * t
    assert largest(smooth(t, y[:, None])[:, 0] - y) <= 1e-9
    noise = 1e-3 * np.random.default_rng(5).normal(size=len(t))
    left = smooth(t, (y + noise)[:, None])[:, 0] - y
    assert np.sqrt(np.mean(left**2)) <= 0.6 * np.sqrt(np.mean(noise**2))


# Files, building, words.


def test_results_are_files_tables_and_laws_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told, again = tmp_path / "forces.csv", tmp_path / "forces.nc"
    assert (
        answer(["inverse", "four_rrr", "--t-end", "0.1", "--step", "1ms", "-o", str(told), "-o", str(again), "--json"])
        == 0
    )
    data = json.loads(capsys.readouterr().out)
    assert data["analysis"] == "inverse"
    assert set(data["final"]["actuators"]) == {"m1", "m2", "m3", "m4"}
    found = Trajectory.load(again)
    assert largest(found["actuator:m2"] - Trajectory.load(told)["actuator:m2"]) == 0.0
    assert answer(["inverse", "four_rrr", "--motion", str(told), "--json"]) == 0
    twice = json.loads(capsys.readouterr().out)
    assert twice["final"]["actuators"]["m3"] == pytest.approx(data["final"]["actuators"]["m3"], rel=1e-12)
    assert answer(["run", "four_rrr", "--actuators", str(told), "--json"]) == 0
    back = json.loads(capsys.readouterr().out)
    assert back["t_end"] == 0.1
    assert back["final"]["q"]["platform.x"] == pytest.approx(data["final"]["q"]["platform.x"], abs=1e-8)
    # The same by hand: a table of the file as the size of an actuator.
    tables = "".join(
        f"  T{k}: {{file: forces.csv, columns: [t, 'actuator:m{k}'], interpolation: spline}}\n" for k in range(1, 5)
    )
    text = linkwork.building.Builder.load("four_rrr")
    for name in ("x", "y", "turn"):
        text.remove(name)
    for k in range(1, 5):
        text.remove(f"m{k}")
    start = {f"{body.name}": found.at(0.0) for body in load("four_rrr").bodies}
    for name, at in start.items():
        rates = [at[f"{name}.vx"], at[f"{name}.vy"]]
        text.change(name, velocity=rates, angular_velocity=at[f"{name}.omega"])
    sizes = "".join(f"  m{k}: {{joint: A{k}, size: T{k}(t)}}\n" for k in range(1, 5))
    path = tmp_path / "by_hand.yaml"
    path.write_text(f"{text}\ntables:\n{tables}actuators:\n{sizes}", encoding="utf-8")
    by_hand = simulate(load(path), t_end=0.1, step=0.001)
    assert largest(by_hand["platform.x"] - found["platform.x"]) <= 1e-8
    assert largest(by_hand["torque:m1"] - found["actuator:m1"]) <= 1e-12


@pytest.mark.slow
def test_actuators_that_have_a_size_are_forces_everywhere() -> None:
    """In events, sheets, all rests, and where a run tells which force has no value."""
    text = ARM.replace("drivers", "driven").split("driven")[0]
    sized = loads(f'{text}actuators: {{m: {{joint: O, size: "8 + t"}}}}\nevents: {{e: {{when: "torque:m - 8.5"}}}}')
    motion = simulate(sized, t_end=1.0)
    assert motion.events.t == pytest.approx([0.5], abs=1e-12)
    assert largest(motion["power:m"] - (8 + motion.t) * motion["one.omega"]) <= 1e-12
    assert not linkwork.equilibria(replace(sized, events=())).complete
    rod = loads(f"{text}actuators: {{m: {{joint: O, size: 1/(0.3 - t)}}}}")
    with pytest.raises(NumericalStop, match="'m'"):
        simulate(rod, t_end=1.0)


def test_reports_say_which_forces_are_not_unique() -> None:
    model = load("four_rrr")
    rows = [
        row
        for row in _reaction_rows(inverse(model, t_end=0.1, step=0.05), linkwork.check(model))
        if "actuator" in row[0]
    ]
    assert [(row[0], row[1], row[-1]) for row in rows] == [(f"actuator:m{k}", "N m", "not unique") for k in range(1, 5)]


def test_actuators_are_built_and_written_as_files_have_them(tmp_path: Path) -> None:
    m = PlanarModel("arm", l="1 m")
    m.fix(O=(0, 0))
    arm = m.body("arm", mass=2, inertia=0.2, position=("l/2", 0), points={"O": ("-l/2", 0), "E": ("l/2", 0)})
    hinge = m.revolute("O", m.ground, arm)
    m.actuator("hinge", hinge)
    m.actuator("rope", (m.ground["O"], arm["E"]), freedom="y", weight=2)
    m.actuator("jet", arm["E"], axis=(0, 1), follows=True, size="3*t")
    m.actuator("wheel", arm)
    m.save(tmp_path / "arm.yaml")
    assert PlanarModel.load(tmp_path / "arm.yaml") == m
    again = load(tmp_path / "arm.yaml")
    assert [own.name for own in again.actuators] == ["hinge", "rope", "jet", "wheel"]
    assert [own.kind for own in again.actuators] == ["angle", "length", "length", "angle"]
    assert "size: 3*t" in str(m)
    assert simulate(again, t_end=0.1)["force:jet"][-1] == pytest.approx(0.3)


ARM = """
linkwork: 1
ground: {points: {O: [0, 0], A: [2, 0]}}
bodies:
  one: {mass: 1, inertia: 0.1, position: [0.5, 0], points: {O: [-0.5, 0], A: [0.5, 0]}}
  two: {mass: 1, inertia: 0.1, position: [1.5, 0], points: {A: [-0.5, 0], E: [0.5, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: one.O}
  A: {type: revolute, i: one.A, j: two.A}
drivers: {a: {joint: O, motion: t^2}, b: {joint: A, motion: 0.3*t}}
"""


def test_a_freedom_that_no_actuator_drives_is_named() -> None:
    with pytest.raises(ModelError, match=r"no actuator drives a freedom: 'two' .*turning") as caught:
        inverse(loads(f"{ARM}actuators: {{m: {{joint: O}}}}"), t_end=0.5)
    assert caught.value.code == "undriven"
    assert caught.value.path == "bodies.two"


def test_a_position_in_which_actuators_hold_nothing_is_told_with_its_time() -> None:
    """A force along x at the tip, and the arm stretched along x: there it has no moment about the hinge."""
    text = f"{ARM}actuators: {{m: {{joint: O}}, f: {{on: two.E, axis: [1, 0]}}}}"
    told = kinematics(
        loads(text.replace("motion: t^2", "motion: 0").replace("0.3*t", "0.04 - 0.4*t")), t_end=0.2, step=0.1
    )
    with pytest.raises(
        NumericalStop, match=r"at t = 0.1 the actuators cannot make this motion: none of them moves 'two'"
    ):
        inverse(loads(text), motion=told)


@pytest.mark.parametrize(
    ("actuators", "code", "words"),
    [
        ("{m: {on: ground}}", "acts-on-nothing", "acts on the ground alone"),
        ("{m: {on: wan}}", "unknown-body", "did you mean 'one'|choose from"),
        ("{m: {i: one.O, j: one.A}}", "acts-on-nothing", "two points of 'one'"),
        ("{m: {joint: B}}", "unknown-joint", "no joint 'B'"),
        ("{m: {}}", "actuator-target", "needs a joint, two points"),
        ("{m: {joint: O, on: one}}", "actuator-target", "two places"),
        ("{m: {on: one, kind: force}}", "actuator-target", "write on: body.point"),
        ("{m: {on: one.A, kind: torque, axis: [1, 0]}}", "actuator-target", "write on: body"),
        ("{m: {on: one.A}}", "wrong-shape", r"axis of 2 numbers; write axis: \[1, 0\]"),
        ("{m: {on: one, axis: [1, 0]}}", "wrong-shape", "no axis"),
        ("{m: {on: one.A, axis: [0, 0]}}", "zero-axis", "length zero"),
        ("{m: {joint: O, freedom: x}}", "unknown-freedom", "no freedom 'x'"),
        ("{m: {joint: O, weight: 0}}", "out-of-range", "above zero"),
        ("{m: {joint: O, size: 3 N}}", "unit-mismatch", "N"),
        ("{m: {joint: O, siez: 3}}", "unknown-key", "size"),
    ],
)
def test_actuators_that_are_none_are_refused(actuators: str, code: str, words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        loads(f"{ARM}actuators: {actuators}")
    assert caught.value.code == code


def test_what_cannot_be_asked_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = f"{ARM}actuators: {{m: {{joint: O}}, n: {{joint: A}}}}"
    for motion, code in (
        (kinematics(load("four_rrr"), t_end=0.1), "other-motion"),
        (3, "bad-value"),
        ("x.txt", "unknown-suffix"),
    ):
        with pytest.raises(UsageError) as caught:
            inverse(loads(both), motion=motion)  # type: ignore[arg-type]
        assert caught.value.code == code
    longer = kinematics(loads(both.replace("A: [0.5, 0]", "A: [0.7, 0]").replace("[1.5, 0]", "[1.7, 0]")), t_end=0.2)
    with pytest.raises(UsageError, match="does not fit the joints"):
        inverse(loads(both), motion=longer)
    path = tmp_path / "measured.csv"
    path.write_text("t,on.phi\n" + "".join(f"{k},{k}\n" for k in range(8)), encoding="utf-8")
    with pytest.raises(UsageError, match=r"did you mean 'one.phi'"):
        inverse(loads(both), motion=path)
    path.write_text("t,one.phi [m],two.phi\n" + "".join(f"{k},{k},{k}\n" for k in range(8)), encoding="utf-8")
    with pytest.raises(UsageError, match="should be in rad"):
        inverse(loads(both), motion=path)
    path.write_text("t,one.phi\n" + "".join(f"{0.1 * k},{0.1 * k}\n" for k in range(8)), encoding="utf-8")
    with pytest.raises(UsageError, match="measures 1 positions of a mechanism of 2 freedoms"):
        inverse(loads(both), motion=path)
    with pytest.raises(UsageError, match="its own times"):
        inverse(loads(both), motion=path, t_end=1.0)
    path.write_text("t,one.phi\n" + "".join(f"{1 + k},{k}\n" for k in range(8)), encoding="utf-8")
    with pytest.raises(ModelError, match="times begin at 1 s"):
        inverse(loads(both), motion=path)
    assert answer(["inverse", "slider_crank"]) == 2
    assert "has no actuators" in capsys.readouterr().err
    with pytest.raises(UsageError, match="no forces of 'm'"):
        actuated(loads(both), kinematics(loads(both), t_end=0.1))
