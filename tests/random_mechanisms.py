"""Random elements and mechanisms: nothing symmetric, nothing zero."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from linkwork import units
from linkwork.elements.bodies import Ground, PlanarBody, SpatialBody
from linkwork.elements.contact import MODELS, Contact
from linkwork.elements.couplings import Coupling
from linkwork.elements.drivers import Driver
from linkwork.elements.forces import FORCES, AxialSpringDamper, Bushing, RotationalSpringDamper, SpringDamper
from linkwork.elements.friction import FRICTIONS, StickSlip
from linkwork.elements.joints import JOINTS, Distance, Measure, Revolute
from linkwork.elements.kinds import Space
from linkwork.elements.loads import ANGLE, LENGTH, RATE
from linkwork.elements.motions import Law
from linkwork.elements.quantities import Quantity
from linkwork.elements.rolling import TouchingPair, VelocityConstraint, Wheel
from linkwork.elements.spatial import SpatialMeasure, SpatialRevolute
from linkwork.equations.equations import TIME, Equations
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic
from linkwork.expressions.graph import Expr, sin, symbol
from linkwork.model import Model
from linkwork.modelfile.schema import keys

Array = NDArray[np.float64]
Random = np.random.Generator


def number(rng: Random) -> float:
    return float(rng.uniform(0.3, 1.5) * rng.choice([-1.0, 1.0]))


def positive(rng: Random) -> float:
    return float(rng.uniform(0.3, 1.5))


def pair(rng: Random) -> tuple[float, float]:
    return number(rng), number(rng)


def triple(rng: Random) -> tuple[float, float, float]:
    return number(rng), number(rng), number(rng)


MIDDAY = 1.13  # a time inside a piece of every motion


def knots(rng: Random) -> tuple[float, ...]:
    times = np.cumsum(rng.uniform(0.2, 0.7, 7))
    return tuple(float(x) for x in times - (times[3] + times[4]) / 2 + MIDDAY)


# Random values of fields by their names, where their kind does not say enough; see `usual`.
SAMPLES: dict[str, Callable[[Random], Any]] = {
    **dict.fromkeys(("s_i", "s_j", "s", "axis", "axis_j", "force"), pair),
    **dict.fromkeys(("angle", "angle_i", "angle_j", "free_angle", "actuator", "torque"), number),
    **dict.fromkeys(("value", "rate", "acceleration", "start", "end"), number),
    **dict.fromkeys(("length", "free_length", "stiffness", "damping"), positive),
    **dict.fromkeys(("radius", "radius_i", "radius_j"), positive),
    **dict.fromkeys(("internal", "follows"), lambda rng: True),
    "pressure_angle": lambda rng: float(rng.uniform(0.1, 0.5)),
    "t_start": lambda rng: float(rng.uniform(0.2, 0.6)),
    "t_end": lambda rng: float(rng.uniform(1.6, 2.4)),
    "times": lambda rng: knots(rng),
    "values": lambda rng: tuple(number(rng) for _ in range(7)),
    "pitch": number,
    "tube": lambda rng: float(rng.uniform(0.05, 0.25)),
    "half_axes": lambda rng: (positive(rng), positive(rng), positive(rng)),
    "of": lambda rng: "angle",
    **dict.fromkeys(("ratio", "offset"), number),
    **dict.fromkeys(("normal_force", "coefficient", "dynamic", "transition", "stribeck", "viscous", "stall"), positive),
    "speed": number,
    "no_load": positive,  # of the sign of stall
    "normal": pair,
    "static": lambda rng: 1.5 + positive(rng),
    "restitution": lambda rng: float(rng.uniform(0.2, 0.9)),
    "exponent": lambda rng: float(rng.uniform(1.2, 2.5)),
    "shape": lambda rng: float(rng.uniform(1.2, 2.5)),
    "model": lambda rng: str(rng.choice(tuple(MODELS))),
    "friction": lambda rng: str(rng.choice(tuple(FRICTIONS)[1:])),
    "freedom": lambda rng: "angle",
    "lower": lambda rng: 40.0,  # beyond what the freedom reaches: the stop is touched
    "upper": lambda rng: 50.0,
    **dict.fromkeys(("teeth_i", "teeth_j"), lambda rng: float(rng.integers(2, 6))),
}
SPATIAL_SAMPLES: dict[str, Callable[[Random], Any]] = {
    **SAMPLES,
    **dict.fromkeys(("s_i", "s_j", "s", "axis", "axis_j", "zero", "zero_j", "force", "torque", "normal"), triple),
}


def matrix_6(rng: Random) -> tuple[tuple[float, ...], ...]:
    root = rng.uniform(-1.0, 1.0, (6, 6))
    return tuple(map(tuple, (root @ root.T).tolist()))


def velocity_formula(body: Any) -> Expr:
    """Of a velocity in a direction that turns with the body and with time, and another speed."""
    turning = symbol(f"{body.name}.{'wy' if isinstance(body, SpatialBody) else 'omega'}")
    x, vx, vy = (symbol(f"{body.name}.P.{part}") for part in ("x", "vx", "vy"))
    return vx * sin(x + 2.0 * TIME) - 0.7 * vy * x + 0.4 * turning + sin(3.0 * TIME) * x


def usual(holds: Quantity, is_spatial: bool) -> Callable[[Random], Any]:
    """What a field of this kind takes: vectors have their components, sizes are above zero."""
    if holds.form in ("vector", "axis"):
        return triple if is_spatial else pair
    return positive if {units.LENGTH, units.MASS, units.INERTIA, units.TIME} & {*holds.kinds} else number


def sample(kind: type[Any], rng: Random, optional: bool = True, **given: Any) -> Any:
    """An element with random data in all fields that are not given; without `optional`, only in those it needs."""
    data = dict(given)
    is_spatial = kind in (*JOINTS["spatial"].values(), SpatialMeasure) or isinstance(given.get("body"), SpatialBody)
    is_spatial = is_spatial or isinstance(given.get("body_i"), SpatialBody)
    cls: type = kind
    samples = {field.name: usual(holds, is_spatial) for _, holds, field in keys(cls)}
    samples |= SPATIAL_SAMPLES if is_spatial else SAMPLES
    if kind is VelocityConstraint:
        data["formula"] = velocity_formula(given["body_j"])
    if kind is Coupling:  # of the slides of both bodies on the ground and on each other
        i, j = data.pop("body_i"), data.pop("body_j")
        slide = JOINTS["spatial" if isinstance(j, SpatialBody) else "planar"]["prismatic"]
        data["joint"] = sample(slide, rng, False, name="leads", body_i=Ground(), body_j=j)
        data["follower"] = sample(slide, rng, False, name="follows", body_i=j, body_j=i)
        data |= {"body_i": Ground(), "body_j": Ground()}
    if kind is Bushing:
        samples = {**samples, "stiffness": matrix_6, "damping": matrix_6}
    for f in fields(kind):
        needed = f.default is MISSING and f.default_factory is MISSING
        if f.name not in data and (needed or optional):
            data[f.name] = samples[f.name](rng)
    for choice, laws in (("model", MODELS), ("friction", FRICTIONS)):
        if data.get(choice) in laws:  # what only other laws take would have no effect
            others = {name for law in laws.values() for name in law} - {*laws[data[choice]], *given}
            data = {name: x for name, x in data.items() if name not in others}
    return kind(**data)


def planar_body(name: str, rng: Random) -> PlanarBody:
    return PlanarBody(
        name, positive(rng), positive(rng), pair(rng), number(rng), pair(rng), number(rng), {"P": pair(rng)}
    )


def quaternion(rng: Random) -> tuple[float, float, float, float]:
    e0, e1, e2, e3 = Rotation.random(random_state=rng).as_quat().tolist()
    return e0, e1, e2, e3


def spatial_body(name: str, rng: Random) -> SpatialBody:
    root = rng.uniform(-1.0, 1.0, (3, 3))
    mass = root @ root.T + 0.5 * np.eye(3)  # the integral of x x^T
    (xx, xy, zx), (_, yy, yz), (_, _, zz) = (np.trace(mass) * np.eye(3) - mass).tolist()
    inertia = (xx, yy, zz, xy, yz, zx)
    points = {"P": triple(rng)}
    start = triple(rng), quaternion(rng), triple(rng), triple(rng)
    return SpatialBody(name, positive(rng), inertia, *start, points, mass_centre=triple(rng))


def rotation(phi: float) -> Array:
    return np.array([[np.cos(phi), -np.sin(phi)], [np.sin(phi), np.cos(phi)]])


def pose(body: Any, space: Space = "planar") -> tuple[Array, Array]:
    """Origin and rotation matrix of a body at its start, as numbers."""
    if isinstance(body, Ground):
        return np.zeros(2 + (space == "spatial")), np.eye(2 + (space == "spatial"))
    if space == "planar":
        return np.array(body.position), rotation(body.angle)
    e0, *rest = body.orientation
    return np.array(body.position), Rotation.from_quat([*rest, e0]).as_matrix()


def fitting(kind: type[Any], name: str, i: Any, j: Any, rng: Random, **given: Any) -> Any:
    """A random joint that the bodies fulfil where they start."""
    needs = {f.name for f in fields(kind)}
    r_i, A_i = pose(i)
    r_j, A_j = pose(j)
    if "s_j" in needs:
        s_i, axis, R = np.array(pair(rng)), np.array(pair(rng)), positive(rng)
        u = A_i @ axis / np.linalg.norm(axis)
        d = np.zeros(2)
        if "axis" in needs:
            given["axis"] = tuple(axis.tolist())
            d = number(rng) * u
        if "radius" in needs:
            given["radius"] = R
            d = d + R * np.array([-u[1], u[0]])
        if kind in (Distance, Measure):
            d = np.array(pair(rng))
        given["s_i"] = tuple(s_i.tolist())
        given["s_j"] = tuple((A_j.T @ (r_i + A_i @ s_i + d - r_j)).tolist())
    return sample(kind, rng, optional=False, name=name, body_i=i, body_j=j, **given)


def fitting_in_space(kind: type[Any], name: str, i: Any, j: Any, rng: Random, **given: Any) -> Any:
    """A random joint of spatial bodies that they fulfil where they start."""
    needs, rows = {f.name for f in fields(kind)}, list(kind.rows)
    (r_i, A_i), (r_j, A_j) = pose(i, "spatial"), pose(j, "spatial")
    s_i, d = np.array(triple(rng)), np.array(triple(rng))
    if "axis" in needs:
        axis = np.array(triple(rng))
        given["axis"] = tuple(axis.tolist())
        u = A_i @ axis / np.linalg.norm(axis)
        along = (u @ d) * u
        d = along if "across_x" in rows else d - along if "normal" in rows or "across" in rows else d
        if "arms" in rows:
            given["axis_j"] = tuple((A_j.T @ np.cross(u, d)).tolist())
    if "x" in rows:
        d = np.zeros(3)
    given["s_i"] = tuple(s_i.tolist())
    given["s_j"] = tuple((A_j.T @ (r_i + A_i @ s_i + d - r_j)).tolist())
    made = sample(kind, rng, optional=False, name=name, body_i=i, body_j=j, **given)
    if isinstance(made, TouchingPair):  # so that it touches
        up = float(u @ (touching(made, i, j) - r_i - A_i @ s_i))
        made = replace(made, s_j=tuple((np.array(made.s_j) - up * A_j.T @ u).tolist()))
    return made


def touching(joint: Any, i: Any, j: Any) -> Array:
    """The lowest point above the plane of body i, of a wheel by its rim, of an ellipsoid by the sphere that it was."""
    A_i, (r, A) = pose(i, "spatial")[1], pose(j, "spatial")
    n = A_i @ np.array(joint.axis) / np.linalg.norm(joint.axis)
    centre = r + A @ np.array(joint.s_j)
    if isinstance(joint, Wheel):
        rim = np.linalg.svd((A @ np.array(joint.axis_j))[None])[2][1:]
        angle = np.arctan2(*-(rim @ n)[::-1])
        middle = centre + (joint.radius - joint.tube) * np.array([np.cos(angle), np.sin(angle)]) @ rim
        return np.asarray(middle - joint.tube * n)
    D = A @ np.diag(getattr(joint, "half_axes", [getattr(joint, "radius", 0.0)] * 3))
    return np.asarray(centre - D @ D.T @ n / max(float(np.linalg.norm(D.T @ n)), 1e-300))


def force(kind: type[Any], name: str, bodies: Sequence[Any], rng: Random) -> Any:
    """A random force on the first, or the first two, of the bodies, with laws of all that a law may name."""
    needs = {f.name for f in fields(kind)}
    i, j = bodies[0], bodies[1]
    is_spatial = isinstance(i, SpatialBody)
    turning = symbol(f"{j.name}.wy" if is_spatial else f"{j.name}.omega")
    moving = symbol(f"{i.name}.P.vx") * 0.3 + symbol(f"{i.name}.P.y") * turning + sin(3.0 * TIME)
    given: dict[str, Any] = {"body_i": i, "body_j": j} if "body_i" in needs else {"body": i}
    if "joint" in needs:
        given = {"joint": sample(SpatialRevolute if is_spatial else Revolute, rng, name="J", body_i=i, body_j=j)}
    if issubclass(kind, Contact):
        given |= {"radius_j": 20.0}  # the surfaces touch
    if kind is SpringDamper:
        given |= {"law": LENGTH * LENGTH + 0.2 * RATE * moving, "actuator": moving}
    if kind in (RotationalSpringDamper, AxialSpringDamper):
        given |= {"law": sin(ANGLE) + 0.2 * RATE * moving, "actuator": moving}
    if "force" in needs:
        pushed = (moving + 0.4, 1.0 - moving * moving, moving)[: 2 + is_spatial]
        given |= {"force": pushed, "follows": bool(rng.integers(2))}
    if "torque" in needs:
        given |= {"torque": (moving, 0.3, moving * moving) if is_spatial else moving}
    return sample(kind, rng, name=name, **given)


def random_mechanism(rng: Random, time: float = 0.0) -> Model:
    """A tree of all joints in random order, two loops, drivers, all forces; the start values fulfil Psi at `time`.

    Each joint hangs a new body on an earlier one or the ground, so that the constraints are independent.
    """
    ground = Ground()
    bodies: list[Any] = []
    joints: list[Any] = []
    kinds = [kind for kind in JOINTS["planar"] if kind != "coupling"]  # which joins joints
    for k, kind in enumerate([*rng.permutation(kinds), "revolute", "point-on-line"]):
        body = planar_body(f"b{k}", rng)
        before, carrier = ([ground, *bodies][rng.integers(len(bodies) + 1)] for _ in range(2))
        given = {"carrier": carrier} if kind == "gear" else {}
        joints.append(fitting(JOINTS["planar"][kind], f"{kind}{k}", before, body, rng, **given))
        bodies.append(body)
    hinge, pin = joints[-2:]
    joints.append(fitting(Distance, "loop", ground, pin.body_j, rng))
    between = fitting(Measure, "between", ground, pin.body_j, rng)
    (r_i, A_i), (r_j, A_j) = pose(between.body_i), pose(between.body_j)
    distance = float(np.linalg.norm(r_j + A_j @ between.s_j - r_i - A_i @ between.s_i))
    angle = hinge.body_j.angle - getattr(hinge.body_i, "angle", 0.0)
    drivers = (
        Driver("turn", hinge, "angle", Law(angle + 0.7 * sin(3.0 * (TIME - time)))),
        Driver("stretch", between, "distance", Law(distance + 0.5 * sin(2.0 * (TIME - time)))),
    )
    forces = tuple(
        force(kind, name, [bodies[k % 7], bodies[k % 7 + 1]], rng)
        for k, (name, kind) in enumerate(FORCES["planar"].items())
        if kind is not StickSlip
    )
    return Model("random", tuple(bodies), tuple(joints), drivers, forces, gravity=(1.3, -9.81), ground=ground)


def values(outputs: Iterable[Expr], e: Equations, at: Mapping[Expr, Any]) -> Array:
    """The outputs as NumPy numbers, real or complex, without machine code."""
    arithmetic = {**numpy_arithmetic(), "atan2": analytic_atan2}
    return np.array(evaluate(outputs, {**e.parameters, **at}, arithmetic))


def analytic_atan2(y: Any, x: Any) -> Any:
    """The angle of (x, y), continued to complex numbers and along arrays of them."""
    if np.isrealobj(x) and np.isrealobj(y):
        return np.arctan2(y, x)
    near = np.arctan2(np.real(y), np.real(x))
    c, s = np.cos(near), np.sin(near)
    found = near + np.arctan((y * c - x * s) / (x * c + y * s))  # also of imaginary parts below rounding
    return np.unwrap(np.real(found)) + 1j * np.imag(found) if np.ndim(found) else found


def matrix(
    entries: Mapping[tuple[int, int], Expr], shape: tuple[int, int], e: Equations, at: Mapping[Expr, Any]
) -> Array:
    dense = np.zeros(shape)
    for place, value in zip(entries, values(entries.values(), e, at), strict=True):
        dense[place] = value
    return dense


def state(e: Equations, t: float, q: Array, v: Array) -> dict[Expr, Any]:
    return {TIME: t, **dict(zip(e.q, q, strict=True)), **dict(zip(e.v, v, strict=True))}
