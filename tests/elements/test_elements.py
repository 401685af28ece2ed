"""Bodies, joints, drivers, motions and forces, each by what it means for the motion of bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from random_mechanisms import (
    MIDDAY,
    Array,
    Random,
    fitting,
    force,
    matrix,
    number,
    planar_body,
    quaternion,
    rotation,
    sample,
    spatial_body,
    state,
    triple,
    values,
)
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from linkwork.compiled.mechanism import prepare
from linkwork.elements.bodies import Ground, PlanarBody, SpatialBody
from linkwork.elements.drivers import Driver
from linkwork.elements.forces import FORCES, PointForce, RotationalSpringDamper, SpringDamper, Torque
from linkwork.elements.frames import PLANAR_GROUND, SPATIAL_GROUND, PlanarFrame
from linkwork.elements.joints import JOINTS, MEASURES, Gear, Measure, Rolling
from linkwork.elements.kinds import Kind, Space
from linkwork.elements.motions import MOTIONS, Law, Motion, Ramp, SmoothStep, Table
from linkwork.elements.pairs import PointPair
from linkwork.elements.spatial import Spherical
from linkwork.elements.vectors import Vector
from linkwork.equations.body import body_equations
from linkwork.equations.equations import TIME, Equations
from linkwork.expressions.derivatives import directional
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import Expr, cos, exp, sin, sqrt, symbol
from linkwork.model import Model
from linkwork.modelfile import loads
from linkwork.native.lowering import compile_programs
from linkwork.sequences.sequence import ComputationSequence

GROUND = Ground()
CIRCLE = np.exp(2j * np.pi * np.arange(32) / 32)


def derivatives(g: Callable[[NDArray[np.complex128]], Any], radius: float = 0.005) -> tuple[Array, Array]:
    """First and second derivative at 0 of an analytic g, to rounding, from its values on a circle (Cauchy)."""
    shape = (-1, len(CIRCLE))
    samples = np.broadcast_arrays(*g(radius * CIRCLE), CIRCLE)[:-1]
    coefficients = np.fft.fft(np.reshape(samples, shape), axis=1) / len(CIRCLE)
    return coefficients[:, 1].real / radius, 2 * coefficients[:, 2].real / radius**2


def product(a: Any, b: Any) -> NDArray[Any]:
    """Of two quaternions."""
    (a0, *a3), (b0, *b3) = a, b
    a1, a2, a3 = a3
    b1, b2, b3 = b3
    return np.array(
        [
            a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
            a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
            a0 * b2 - a1 * b3 + a2 * b0 + a3 * b1,
            a0 * b3 + a1 * b2 - a2 * b1 + a3 * b0,
        ]
    )


class Path:
    """A curved path of bodies: q(s), and v and a at s = 0. Polynomials; Euler parameters are normalized ones."""

    def __init__(self, model: Model, rng: Random) -> None:
        self.model = model
        self.coefficients = [
            rng.uniform(-1.5, 1.5, (3, len(body.coordinates))) * [[1], [3], [5]] for body in model.bodies
        ]
        for k, (place, _, _) in enumerate(self.coefficients):
            place[0] += 6.0 * k  # at coincident points a distance is not analytic
        rates, accelerations = derivatives(self.q)
        v, a, first = [], [], 0
        for body in model.bodies:
            part = slice(first, first := first + len(body.coordinates))
            q_dot, q_ddot = rates[part], accelerations[part]
            if isinstance(body, SpatialBody):  # e_dot = e (0, omega) / 2 as a product of quaternions
                inverse = self.q(0.0)[part][3:] * [1, -1, -1, -1]
                q_dot = np.array([*q_dot[:3], *(2 * product(inverse, q_dot[3:]))[1:]])
                q_ddot = np.array([*q_ddot[:3], *(2 * product(inverse, q_ddot[3:]))[1:]])
            v.append(q_dot)
            a.append(q_ddot)
        self.v, self.a = np.concatenate(v), np.concatenate(a)

    def q(self, s: Any) -> NDArray[Any]:
        places = []
        for body, (c0, c1, c2) in zip(self.model.bodies, self.coefficients, strict=True):
            place = [a + s * (b + s * c / 2) for a, b, c in zip(c0, c1, c2, strict=True)]
            if isinstance(body, SpatialBody):
                e = [x + 0 * s for x in place[3:]]
                place[3:] = [x / np.sqrt(sum(y * y for y in e)) for x in e]
            places += place
        return np.array(places)

    def speed(self, s: Any) -> NDArray[Any]:
        """v(s)."""
        speeds = []
        for body, (c0, c1, c2) in zip(self.model.bodies, self.coefficients, strict=True):
            place, rate = (np.array([a + s * (b + s * c / 2) for a, b, c in zip(*x, strict=True)]) for x in (
                (c0, c1, c2), (c1, c2, 0.0 * c2)))  # fmt: skip
            if isinstance(body, SpatialBody):
                length = np.sqrt(sum(x * x for x in place[3:]))
                e = place[3:] / length
                e_dot = (rate[3:] - e * sum(x * y for x, y in zip(e, rate[3:], strict=True))) / length
                rate = [*rate[:3], *(2 * product(e * np.array([1, -1, -1, -1])[:, None], e_dot))[1:]]
            speeds += [*rate]
        return np.array(speeds)


@dataclass(frozen=True, eq=False)
class TurningLine(PointPair):
    """Point s_j stays on a line through s_i that turns with time and with body i: a constraint that mixes q and t."""

    rate: float
    rows: ClassVar[dict[str, Kind]] = {"normal": "length"}

    def Psi(self, t: Expr, i: PlanarFrame, j: PlanarFrame) -> Vector:
        u = i.direction((cos(self.rate * t), sin(self.rate * t)))
        return Vector((u.perp().dot(self.d(i, j)),))

    def freedoms(self, i: PlanarFrame, j: PlanarFrame) -> Mapping[str, Expr]:
        return {}


KINDS: dict[Space, dict[str, type[Any]]] = {
    "planar": {**JOINTS["planar"], "turning-line": TurningLine},
    "spatial": JOINTS["spatial"],
}
BODIES: dict[Space, Callable[[str, Random], Any]] = {"planar": planar_body, "spatial": spatial_body}
SPEED = sin(3.0 * TIME) * exp(0.5 * TIME)


Case = tuple[Space, str, bool, bool]


def joint_cases() -> dict[str, Case]:
    """Space, kind, whether body i is the ground, whether optional data are given."""
    return {
        f"{space}-{kind}-{'ground' if grounded else 'body'}-{'all' if full else 'needed'}": (
            space,
            kind,
            grounded,
            full,
        )
        for space, kinds in KINDS.items()
        for kind in kinds
        for grounded in (False, True)
        for full in (False, True)
    }


def model_of(element: Any, bodies: tuple[Any, ...]) -> Model:
    driven = isinstance(element, Driver)
    space = "spatial" if isinstance(bodies[0], SpatialBody) else "planar"
    return Model(
        "one",
        bodies,
        () if driven else (element,),
        (element,) if driven else (),
        gravity=(0.0, 0.0, 0.0)[: 2 + (space == "spatial")],
        space=space,  # type: ignore[arg-type]
        ground=GROUND,
    )


def joint_case(case: Case, rng: Random) -> Model:
    space, kind, grounded, full = case
    bodies = tuple(BODIES[space](name, rng) for name in "ijk")
    given: dict[str, Any] = {"carrier": bodies[2]} if kind == "gear" and full else {}
    body_i = GROUND if grounded else bodies[0]
    return model_of(sample(KINDS[space][kind], rng, full, name="J", body_i=body_i, body_j=bodies[1], **given), bodies)


def driver_cases() -> dict[str, Callable[[Random], Model]]:
    """Every freedom of every joint, with each motion in turn."""
    motions = [*MOTIONS.values(), Law]
    cases: dict[str, Callable[[Random], Model]] = {}
    kinds = [(space, kind) for space in KINDS for kind in (*JOINTS[space].values(), MEASURES[space])]
    for space, kind in kinds:
        rng, make = np.random.default_rng(1), BODIES[space]
        i, j = (make(name, rng) for name in "ij")
        joint = sample(kind, rng, False, name="J", body_i=i, body_j=j)
        fixed = PLANAR_GROUND if space == "planar" else SPATIAL_GROUND
        for freedom in joint.freedoms(*(fixed for _ in joint.bodies)):
            motion = motions[len(cases) % len(motions)]

            def case(
                rng: Random, kind: Any = kind, freedom: str = freedom, motion: Any = motion, make: Any = make
            ) -> Model:
                bodies = tuple(make(name, rng) for name in "ijk")
                given = {"carrier": bodies[2]} if kind is JOINTS["spatial"]["gear"] else {}
                joint = sample(kind, rng, name="J", body_i=bodies[0], body_j=bodies[1], **given)
                law = Law(SPEED) if motion is Law else sample(motion, rng)
                return model_of(Driver("D", joint, freedom, law), bodies)

            cases[f"{kind.__name__}-{freedom}-{motion.__name__}"] = case
    assert len(cases) >= len(motions)
    return cases


def check_rates(model: Model, rng: Random) -> None:
    """Psi_dot = d Psi/ds and Psi_ddot = Psi_q a - gamma = d^2 Psi/ds^2 along a curved path.

    Of rows A v + b the second is their rate; what A v + b itself is, the motions show that joints forbid.
    """
    e = body_equations(model).without_counting()
    path, t = Path(model, rng), MIDDAY
    at, m = state(e, t, path.q(0.0), path.v), len(e.Psi)

    def moved(s: Any) -> dict[Expr, Any]:
        return {TIME: t + s, **dict(zip((*e.q, *e.v), (*path.q(s), *path.speed(s)), strict=True))}

    rate, curvature = values(e.Psi_dot, e, at), np.empty(m)
    if held := [i for i in range(m) if i not in e.slips]:
        Psi = [e.Psi[i] for i in held]
        rate[held], curvature[held] = derivatives(lambda s: values(Psi, e, moved(s)))
    if slips := [*e.slips]:
        slip = [*e.slips.values()]
        curvature[slips] = derivatives(lambda s: values(slip, e, moved(s)))[0]
    Psi_q = matrix(e.Psi_q, (m, len(e.v)), e, at)
    off = np.where(np.isin(np.arange(len(e.Psi)), slips), values(e.Psi_dot, e, at), values(e.Psi, e, at))
    assert np.all(np.abs(off) > 1e-3), "the state is to be off the constraint"
    np.testing.assert_allclose(values(e.Psi_dot, e, at), rate, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(Psi_q @ path.v + values(e.Psi_t, e, at), rate, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(Psi_q @ path.a - values(e.gamma, e, at), curvature, rtol=1e-10, atol=1e-9)
    assert np.linalg.matrix_rank(Psi_q) == len(e.rows) == len(e.Psi)


@pytest.mark.parametrize("case", joint_cases().values(), ids=joint_cases())
def test_rates_of_Psi_along_a_curved_path(case: Case, rng: Random) -> None:
    check_rates(joint_case(case, rng), rng)


@pytest.mark.parametrize("case", driver_cases().values(), ids=driver_cases())
def test_rates_of_a_driven_Psi_along_a_curved_path(case: Callable[[Random], Model], rng: Random) -> None:
    check_rates(case(rng), rng)


def test_a_driver_follows_its_motion(rng: Random) -> None:
    """Where the distance is f(t), Psi is zero; where it is longer, positive."""
    i, j = planar_body("i", rng), planar_body("j", rng)
    for excess in (0.0, 0.25):
        s_i, s_j = (0.3, -0.2), (0.5, 0.7)
        joint = Measure("M", i, j, s_i, s_j)
        e = body_equations(model_of(Driver("D", joint, "distance", Law(sin(TIME) + 2.0)), (i, j)))
        direction, phi_i, phi_j = 0.83, 0.4, -1.9
        P_i = np.array([1.1, -0.6])
        P_j = P_i + (np.sin(0.7) + 2.0 + excess) * np.array([np.cos(direction), np.sin(direction)])
        q = [*(P_i - rotation(phi_i) @ s_i), phi_i, *(P_j - rotation(phi_j) @ s_j), phi_j]
        np.testing.assert_allclose(values(e.Psi, e, state(e, 0.7, np.array(q), np.ones(6))), [excess], atol=1e-14)


@dataclass(frozen=True)
class Moving:
    """Two bodies with velocities the joint allows, told by rigid-body kinematics alone."""

    joint: Any
    places: Mapping[str, Array]
    rates: Mapping[str, Array]

    def body(self, body: Any) -> tuple[Array, Array]:
        return self.places.get(body.name, np.zeros(3)), self.rates.get(body.name, np.zeros(3))

    def velocity(self, body: Any, P: Array) -> Array:
        """Of the point of the body that is at P."""
        (x, y, _), (vx, vy, omega) = self.body(body)
        return np.array([vx - omega * (P[1] - y), vy + omega * (P[0] - x)])

    def point(self, body: Any, s: Any) -> Array:
        place, _ = self.body(body)
        return np.asarray(place[:2] + rotation(place[2]) @ np.array(s))

    def turning(self, body: Any) -> float:
        return float(self.body(body)[1][2])

    @property
    def P_j(self) -> Array:
        return self.point(self.joint.body_j, self.joint.s_j)

    @property
    def slip(self) -> Array:
        """Velocity of P_j as seen from body i."""
        return self.velocity(self.joint.body_j, self.P_j) - self.velocity(self.joint.body_i, self.P_j)

    @property
    def u(self) -> Array:
        axis = rotation(self.body(self.joint.body_i)[0][2]) @ np.array(self.joint.axis)
        return np.asarray(axis / np.linalg.norm(axis))

    @property
    def n(self) -> Array:
        return rotation(np.pi / 2) @ self.u

    @property
    def relative_turning(self) -> float:
        return self.turning(self.joint.body_j) - self.turning(self.joint.body_i)


def rolls(m: Moving) -> list[float]:
    """The disc touches on the far side from n and its material point there moves with body i."""
    contact = m.P_j - m.joint.radius * m.n
    return list(m.velocity(m.joint.body_j, contact) - m.velocity(m.joint.body_i, contact))


def meshes(m: Moving) -> list[float]:
    """On the carrier, both rims pass the pitch point at the same speed."""
    i, j, carrier = (m.turning(body) for body in m.joint.bodies)
    outside = -1.0 if m.joint.internal else 1.0
    return [m.joint.radius_i * (i - carrier) + outside * m.joint.radius_j * (j - carrier)]


FORBIDDEN: dict[str, Callable[[Moving], list[float]]] = {
    "revolute": lambda m: list(m.slip),
    "prismatic": lambda m: [float(m.slip @ m.n), m.relative_turning],
    "rigid": lambda m: [*m.slip, m.relative_turning],
    "distance": lambda m: [float(m.slip @ (m.P_j - m.point(m.joint.body_i, m.joint.s_i)))],
    "point-on-line": lambda m: [float(m.slip @ m.n)],
    "rolling": rolls,
    "gear": meshes,
    "angle-lock": lambda m: [m.relative_turning],
    "skate": lambda m: [float(m.slip @ (rotation(m.body(m.joint.body_j)[0][2] + np.pi / 2) @ m.joint.axis_j))],
}


@pytest.mark.parametrize("grounded", [False, True], ids=["body", "ground"])
@pytest.mark.parametrize("kind", FORBIDDEN)
def test_a_joint_forbids_what_it_should_and_nothing_else(kind: str, grounded: bool, rng: Random) -> None:
    """Velocities in the null space of Psi_q have no forbidden part, and there are as many as there are freedoms."""
    bodies = tuple(planar_body(name, rng) for name in "ijk")
    given = {"carrier": bodies[2], "internal": bool(rng.integers(2))} if kind == "gear" else {}
    joint = fitting(JOINTS["planar"][kind], "J", GROUND if grounded else bodies[0], bodies[1], rng, **given)
    e = body_equations(model_of(joint, bodies))
    q = np.concatenate([[*body.position, body.angle] for body in bodies])
    at = state(e, 0.0, q, np.ones(9))
    np.testing.assert_allclose(values(e.Psi, e, at), 0.0, atol=1e-14)
    Psi_q = matrix(e.Psi_q, (len(e.Psi), 9), e, at)
    allowed = np.linalg.svd(Psi_q)[2][len(e.Psi) :]
    seen = []
    for v in (*allowed, rng.normal(size=len(allowed)) @ allowed):
        rates = {body.name: v[3 * k : 3 * k + 3] for k, body in enumerate(bodies)}
        places = {body.name: q[3 * k : 3 * k + 3] for k, body in enumerate(bodies)}
        seen.append(FORBIDDEN[kind](Moving(joint, places, rates)))
    np.testing.assert_allclose(seen, 0.0, atol=1e-13)
    assert len(seen[0]) == len(e.Psi)


def test_a_disc_rolls_forward_by_the_arc_it_turns() -> None:
    """On the ground, along x: x = x_0 - R phi, on top of the line."""
    disc = PlanarBody("disc", 1.0, 1.0, (0.0, 0.25), 0.3)
    e = body_equations(model_of(Rolling("R", GROUND, disc, (0.0, 0.0), (0.0, 0.0), (2.0, 0.0), 0.25), (disc,)))
    at = state(e, 0.0, np.array([-0.25 * 1.1, 0.25, 0.3 + 1.1]), np.ones(3))
    np.testing.assert_allclose(values(e.Psi, e, at), 0.0, atol=1e-15)


def test_a_planet_between_sun_and_ring_turns_as_in_textbooks() -> None:
    """Sun fixed, carrier at speed c: the planet turns c (1 + R_s/R_p), the ring c (1 + R_s/R_r)."""
    carrier, planet, ring = (PlanarBody(name, 1.0, 1.0) for name in ("carrier", "planet", "ring"))
    sun_planet = Gear("SP", GROUND, planet, 2.0, 1.0, carrier)
    planet_ring = Gear("PR", planet, ring, 1.0, 4.0, carrier, internal=True)
    e = body_equations(replace(model_of(sun_planet, (carrier, planet, ring)), joints=(sun_planet, planet_ring)))
    v = np.array([0, 0, 1.0, 0, 0, 3.0, 0, 0, 1.5])
    np.testing.assert_allclose(values(e.Psi_dot, e, state(e, 0.0, np.zeros(9), v)), 0.0, atol=1e-15)


def test_spatial_frame_turns_as_its_quaternion_says(rng: Random) -> None:
    """Against SciPy's rotations; the velocity of a point is the rate of its place."""
    body = spatial_body("b", rng)
    e = body_equations(model_of(Spherical("S", GROUND, body, triple(rng), body.points["P"]), (body,)))
    path = Path(model_of(Spherical("S", GROUND, body, triple(rng), triple(rng)), (body,)), rng)
    at = state(e, 0.0, path.q(0.0), path.v) | dict(zip(e.a, path.a, strict=True))
    expressions = [output.expression for output in e.outputs["points"].values()]
    place, velocity, acceleration = values(expressions, e, at).reshape(3, 3)
    r, (e0, *rest) = path.q(0.0)[:3], path.q(0.0)[3:]
    arm = np.subtract(body.points["P"], body.mass_centre).astype(float)
    np.testing.assert_allclose(place, r + Rotation.from_quat([*rest, e0]).apply(arm), atol=1e-14)
    names = expressions[:3]
    rate, curvature = derivatives(lambda s: values(names, e, dict(zip(e.q, path.q(s), strict=True))))
    np.testing.assert_allclose(velocity, rate, rtol=1e-11)
    np.testing.assert_allclose(acceleration, curvature, rtol=1e-10, atol=1e-9)


def test_retraction_turns_by_the_small_angle_and_keeps_the_length(rng: Random) -> None:
    body = spatial_body("b", rng)
    e = body_equations(model_of(Spherical("S", GROUND, body, triple(rng), triple(rng)), (body,)))
    q, dx = np.array([*triple(rng), *quaternion(rng)]), 1e-4 * rng.normal(size=6)
    moved = values(e.chart.retract, e, {**dict(zip(e.q, q, strict=True)), **dict(zip(e.dx, dx, strict=True))})
    assert abs(np.linalg.norm(moved[3:]) - 1.0) < 1e-15
    before, after = (Rotation.from_quat(x[[4, 5, 6, 3]]) for x in (q, moved))
    np.testing.assert_allclose((before.inv() * after).as_rotvec(), dx[3:], atol=1e-11)  # 1e-4 cubed, and to spare
    np.testing.assert_allclose(moved[:3], q[:3] + dx[:3], atol=1e-15)


def motion_table(motion: Motion, times: Any) -> tuple[Array, Array]:
    """f, f', f'' by the rows, interpreted and as machine code."""
    f = motion.f(TIME)
    rate = directional([f], {TIME: f * 0 + 1.0})
    outputs = [f, *rate, *directional(rate, {TIME: f * 0 + 1.0})]
    native = compile_programs([ComputationSequence("motion", (TIME,), outputs)], [])["motion"]
    p = np.zeros(0)
    return (
        np.array([evaluate(outputs, {TIME: float(t)}) for t in times]).T,
        np.array([native(np.array([t]), p) for t in times]).T,
    )


@pytest.mark.parametrize("name", MOTIONS)
def test_a_motion_and_two_rates_have_no_jumps(name: str, rng: Random) -> None:
    """Just before and just after every time where the law changes; machine code gives the same."""
    motion = sample(MOTIONS[name], rng)
    changes = [getattr(motion, "t_start", 0.9), getattr(motion, "t_end", 1.1), *getattr(motion, "times", ())]
    h = 1e-10
    interpreted, native = motion_table(motion, [t + side * h for t in changes for side in (-1, 0, 1)])
    np.testing.assert_allclose(native, interpreted, rtol=1e-13, atol=1e-13)
    jumps = np.ptp(interpreted.reshape(3, -1, 3), axis=2)
    np.testing.assert_allclose(jumps, 0.0, atol=1e-6)  # third derivatives are below 5000
    inside = np.linspace(-0.3, 3.0, 29) + 1e-3
    interpreted, native = motion_table(motion, inside)
    np.testing.assert_allclose(native, interpreted, rtol=1e-13, atol=1e-13)
    (before, *_), (after, *_) = motion_table(motion, inside - 1e-5)[0], motion_table(motion, inside + 1e-5)[0]
    np.testing.assert_allclose(interpreted[1], (after - before) / 2e-5, rtol=1e-6, atol=1e-6)


def test_smooth_step_in_closed_form() -> None:
    """From 2 to -1 between 0.5 and 1.5: halfway at the middle, speed there 15/8 of the mean, both ends at rest."""
    motion = SmoothStep(2.0, -1.0, 0.5, 1.5)
    f, rate, acceleration = motion_table(motion, [-1.0, 0.5, 0.75, 1.0, 1.5, 9.0])[0]
    np.testing.assert_allclose(f, [2.0, 2.0, 2.0 - 3.0 * 53 / 512, 0.5, -1.0, -1.0], atol=1e-14)
    np.testing.assert_allclose(rate, [0, 0, -3.0 * 135 / 128, -3.0 * 15 / 8, 0, 0], atol=1e-13)
    np.testing.assert_allclose(acceleration, [0, 0, -3.0 * 45 / 8, 0, 0, 0], atol=1e-13)


def test_ramp_in_closed_form() -> None:
    """At rest before, rate / 2 at the middle, constant rate after; the way is half of that at full speed."""
    motion = Ramp(0.7, 3.0, 0.5, 2.5)
    f, rate, acceleration = motion_table(motion, [0.0, 0.5, 1.5, 2.5, 4.5])[0]
    np.testing.assert_allclose(f, [0.7, 0.7, 0.7 + 3.0 * 2.0 * 5 / 64, 3.7, 9.7], atol=1e-13)
    np.testing.assert_allclose(rate, [0, 0, 1.5, 3.0, 3.0], atol=1e-13)
    np.testing.assert_allclose(acceleration, [0, 0, 3.0 / 2.0 * 15 / 8, 0, 0], atol=1e-13)


@pytest.mark.parametrize("points", [2, 3, 4, 9])
def test_a_table_is_the_cubic_spline_of_SciPy(points: int, rng: Random) -> None:
    times = tuple(float(x) for x in np.cumsum(rng.uniform(0.1, 1.0, points)))
    ordinates = tuple(number(rng) for _ in times)
    curve = CubicSpline(times, ordinates)
    inside = np.array([times[0] - 0.3, *times, *rng.uniform(times[0], times[-1], 20), times[-1] + 0.3])
    interpreted, native = motion_table(Table(times, ordinates), inside)
    expected = np.array([curve(inside, order) for order in range(3)])
    np.testing.assert_allclose(interpreted[0, 1 : 1 + points], ordinates, atol=1e-12)
    np.testing.assert_allclose(interpreted, expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(native, expected, rtol=1e-11, atol=1e-11)


def force_model(space: Space, name: str, rng: Random, gravity: bool = True) -> Model:
    bodies = tuple(BODIES[space](letter, rng) for letter in "ij")
    g = (0.6, -9.81, 1.2)[: 2 + (space == "spatial")]
    return Model(
        name,
        bodies,
        forces=(force(FORCES[space][name], "F", bodies, rng),),
        gravity=g if gravity else (0.0,) * len(g),
        space=space,
    )


def random_state(e: Equations, rng: Random) -> dict[Expr, Any]:
    q = rng.uniform(-2, 2, len(e.q))
    for k, coordinate in enumerate(e.coordinates):
        if coordinate.part == "e0":
            q[k : k + 4] = quaternion(rng)
    held = {x: float(rng.uniform(0.5, 2.0)) for x in e.held}
    return held | state(e, 0.9, q, rng.uniform(-5, 5, len(e.v)))


def test_a_bushing_pulls_down_its_potential_in_the_axes_of_body_i() -> None:
    """Accelerations of mass 2 and inertia 1 are differences of V = x K x / 2, x = (A^T d, axial vector of A^T)."""
    K, angles, d = np.array([100, 250, 370, 20, 30, 45.0]), [0.3, -0.7, 1.1], np.array([0.03, -0.02, 0.05])
    model = loads(f"""
linkwork: 1
name: bushing
space: spatial
gravity: [0, 0, 0]
ground: {{points: {{O: {d.tolist()}}}}}
bodies:
  b: {{mass: 2, inertia: [1, 1, 1], points: {{C: [0, 0, 0]}}, orientation: {{sequence: xyz, angles: {angles}}}}}
forces: {{f: {{type: bushing, i: b.C, j: ground.O, stiffness: {K.tolist()}}}}}
""")

    def V(shift: Array, turn: Array) -> float:
        A_T = (Rotation.from_euler("XYZ", angles) * Rotation.from_rotvec(turn)).as_matrix().T
        axial = [A_T[2, 1] - A_T[1, 2], A_T[0, 2] - A_T[2, 0], A_T[1, 0] - A_T[0, 1]]
        return float(0.5 * K @ np.square([*(A_T @ (d - shift)), *0.5 * np.array(axial)]))

    steps = [np.split(1e-5 * row, 2) for row in np.eye(6)]
    slopes = np.array([(V(*step) - V(*(-part for part in step))) / 2e-5 for step in steps])
    np.testing.assert_allclose(prepare(model).state().a, -slopes / [2, 2, 2, 1, 1, 1], rtol=1e-7)


EACH_FORCE = pytest.mark.parametrize(("space", "name"), [(space, name) for space in FORCES for name in FORCES[space]])


@EACH_FORCE
def test_power_is_supplied_less_dissipated_less_stored(space: Space, name: str, rng: Random) -> None:
    for _ in range(5):
        e = body_equations(force_model(space, name, rng))
        at = random_state(e, rng)
        v = np.array([at[x] for x in e.v])
        path = [at[x] + 1e-30j * rate for x, rate in zip(e.q, values(e.qd, e, at), strict=True)]
        stored = values([e.energy.potential], e, {TIME: 0.9, **dict(zip(e.q, path, strict=True))})[0].imag / 1e-30
        dissipation, supplied = values([e.energy.dissipation, e.energy.applied_power], e, at)
        assert dissipation >= 0.0 or name == "stick-slip"  # whose mode here is not that of its speed
        assert supplied != 0.0 or name in ("bushing", "drag", "end-stop") or name.endswith("-contact")
        np.testing.assert_allclose(values(e.Q, e, at) @ v, supplied - dissipation - stored, rtol=1e-11, atol=1e-11)


@EACH_FORCE
def test_a_force_between_two_bodies_is_in_balance(space: Space, name: str, rng: Random) -> None:
    """No resultant and no moment about the origin."""
    model = force_model(space, name, rng, gravity=False)
    e = body_equations(model)
    at = random_state(e, rng)
    Q = values(e.Q, e, at).reshape(2, -1)
    q = np.array([at[s] for s in e.q[: len(e.q) - len(e.chart.counted)]]).reshape(2, -1)
    if space == "planar":
        x, y, _ = q.T
        total = [*np.sum(Q[:, :2], axis=0), np.sum(x * Q[:, 1] - y * Q[:, 0] + Q[:, 2])]
    else:  # less the gyroscopic torques, which are no forces between bodies
        idle = values(body_equations(replace(model, forces=())).Q, e, at).reshape(2, -1)
        Q = Q - idle
        total = list(np.sum(Q[:, :3], axis=0))
        turned = [Rotation.from_quat([*x[4:], x[3]]).apply(own[3:]) for x, own in zip(q, Q, strict=True)]
        total += list(np.sum(np.cross(q[:, :3], Q[:, :3]) + turned, axis=0))
    assert np.max(np.abs(Q)) > 1e-3
    acting: Any = model.forces[0]
    if len(acting.bodies) == 2:
        np.testing.assert_allclose(total, 0.0, atol=1e-12 * np.max(np.abs(Q)))
    else:
        assert np.all(Q[1] == 0.0)
        assert abs(total[-1]) > 1e-3


@pytest.mark.parametrize("name", ["spring-damper"])
def test_coincident_points_feel_nothing(name: str, rng: Random) -> None:
    """Points 1e-13 m apart, or less, pull with no more than a spring's force and never with NaN."""
    model = force_model("planar", name, rng, gravity=False)
    spring: Any = model.forces[0]
    pull = replace(spring, body_j=GROUND, s_i=(0.5, 0.75), s_j=(1.0, 2.0))
    e = body_equations(replace(model, forces=(pull,)))
    program = ComputationSequence("Q", (TIME, *e.q, *e.v), [*e.Q, *e.energy[1:]])
    native = compile_programs([program], list(e.parameters))["Q"]
    p = np.array(list(e.parameters.values()))
    for gap in (0.0, 1e-300, 1e-17, 1e-13):
        x = np.array([0.3, 0.5, 1.25 + gap, 0.0, 0.1, 0.2, 0.3, *rng.uniform(-3, 3, 6)])
        compiled, interpreted = native(x, p), values(program.outputs, e, dict(zip(program.inputs, x, strict=True)))
        np.testing.assert_allclose(compiled, interpreted, rtol=1e-12, atol=1e-12)
        assert np.all(np.isfinite(compiled))
        assert gap == 1e-13 or np.all(compiled[:6] == 0.0)


def test_a_stretched_spring_pulls_and_a_compressed_one_pushes() -> None:
    """Tension k (l - l0) + c l_dot on a body beyond the free length, towards the ground point."""
    body = PlanarBody("b", 1.0, 1.0)
    spring = SpringDamper("S", GROUND, body, (1.0, 0.0), (0.0, 0.5), 200.0, 3.0, 0.25)
    e = body_equations(Model("m", (body,), forces=(spring,), gravity=(0.0, 0.0)))
    at = state(e, 0.0, np.array([1.5, -0.5, 0.0]), np.array([0.1, 0.0, 0.0]))  # its point is at (1.5, 0)
    f = 200.0 * 0.25 + 3.0 * 0.1
    np.testing.assert_allclose(values(e.Q, e, at), [-f, 0.0, 0.5 * f], atol=1e-13)


def test_a_rotational_spring_turns_back() -> None:
    body = PlanarBody("b", 1.0, 1.0)
    spring = RotationalSpringDamper("S", GROUND, body, 20.0, 3.0, 0.25)
    e = body_equations(Model("m", (body,), forces=(spring,), gravity=(0.0, 0.0)))
    at = state(e, 0.0, np.array([1.5, -0.5, 0.75]), np.array([0.1, 0.0, 0.2]))
    np.testing.assert_allclose(values(e.Q, e, at), [0.0, 0.0, -20.0 * 0.5 - 3.0 * 0.2], atol=1e-13)


def test_forces_turn_with_the_body_only_if_they_follow(rng: Random) -> None:
    body, phi = planar_body("b", rng), 0.7
    for follows in (False, True):
        push = PointForce("F", body, (0.3, 0.2), (4.0, -1.0), follows)
        e = body_equations(Model("m", (body,), forces=(push,), gravity=(0.0, 0.0)))
        F = rotation(phi) @ [4.0, -1.0] if follows else np.array([4.0, -1.0])
        arm = rotation(phi) @ [0.3, 0.2]
        at = state(e, 0.0, np.array([1.0, 2.0, phi]), np.ones(3))
        np.testing.assert_allclose(values(e.Q, e, at), [*F, arm[0] * F[1] - arm[1] * F[0]], atol=1e-14)


def test_a_law_may_name_places_and_velocities_of_points_and_bodies(rng: Random) -> None:
    """Air drag -c vx |v| at a point of the crank, and a torque from another body's angle and speed."""
    crank, rod = planar_body("crank", rng), planar_body("rod", rng)
    crank = replace(crank, points={"A": (0.3, -0.2)})
    vx, vy = symbol("crank.A.vx"), symbol("crank.A.vy")
    drag = -0.7 * sqrt(vx * vx + vy * vy)
    forces = (
        PointForce("drag", crank, (0.3, -0.2), (drag * vx, drag * vy)),
        Torque("T", rod, symbol("crank.A.y") * symbol("crank.phi") + symbol("rod.omega") * symbol("rod.vx")),
    )
    e = body_equations(Model("m", (crank, rod), forces=forces, gravity=(0.0, 0.0)))
    at = random_state(e, rng)
    _, y, phi, vx0, vy0, omega = (at[s] for s in (*e.q[:3], *e.v[:3]))
    arm = rotation(phi) @ [0.3, -0.2]
    v = np.array([vx0 - omega * arm[1], vy0 + omega * arm[0]])
    F = -0.7 * np.linalg.norm(v) * v
    T = (y + arm[1]) * phi + at[e.v[5]] * at[e.v[3]]
    np.testing.assert_allclose(values(e.Q, e, at), [*F, arm[0] * F[1] - arm[1] * F[0], 0, 0, T], rtol=1e-13, atol=1e-13)
