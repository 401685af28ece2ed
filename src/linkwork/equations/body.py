"""Equations in body coordinates: every body has its own, every joint is a constraint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from linkwork.elements.bodies import Ground, PlanarBody, SpatialBody
from linkwork.elements.frames import PLANAR_GROUND, SPATIAL_GROUND, Frame, PlanarFrame
from linkwork.elements.joints import AxisPair, Distance, PointPair
from linkwork.elements.motions import Table
from linkwork.elements.vectors import Components, Vector
from linkwork.equations.equations import TIME, Equations, Row, constraint_forces
from linkwork.expressions.derivatives import directional, jacobian
from linkwork.expressions.evaluation import substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, as_expr, symbol
from linkwork.model import Model


class Parameters:
    """The numbers of a model as symbols, collected with their values while the elements are read."""

    def __init__(self, model: Model) -> None:
        self.values: dict[Expr, float] = {symbol(name): value for name, value in model.parameters.items()}
        self.bodies: dict[str, Any] = {model.ground.name: model.ground}
        for body in model.bodies:
            self.bodies[body.name] = self.element(body)

    def element(self, element: Any) -> Any:
        """The element with symbols in the place of its numbers; exact zeros stay, they are structure."""
        name = getattr(element, "name", type(element).__name__)
        changes = {}
        for f in fields(element):
            value = getattr(element, f.name)
            if isinstance(value, (Ground, PlanarBody, SpatialBody)):
                changes[f.name] = self.bodies.get(value.name, value)
            elif is_dataclass(value) and not isinstance(value, Table):
                changes[f.name] = self.element(value)
            elif f.name == "axis" and set(value) <= {0.0, 1.0, -1.0}:
                continue
            else:
                changes[f.name] = self.field(f"{name}.{f.name}", value)
        return replace(element, **changes)

    def field(self, path: str, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, (int, float, tuple, Mapping)):
            return value
        if isinstance(value, tuple):
            return tuple(self.field(f"{path}.{k}", part) for k, part in enumerate(value))
        if isinstance(value, Mapping):
            return {key: self.field(f"{path}.{key}", part) for key, part in value.items()}
        if value == 0:
            return 0.0
        number = symbol(f"{path}'")  # the stroke keeps these names apart from all names of model files
        while number in self.values and self.values[number] != value:
            number = symbol(f"{number.value}'")
        self.values[number] = float(value)
        return number


def body_equations(model: Model) -> Equations:
    """M a + Psi_q^T lam = Q with q = (x, y, phi) of every planar body, or (r, e) of every spatial one."""
    parameters = Parameters(model)
    bodies = [parameters.bodies[body.name] for body in model.bodies]
    q_of = {b.name: [symbol(f"{b.name}.{c}") for c in b.q_names] for b in bodies}
    v_of = {b.name: [symbol(f"{b.name}.{c}") for c in b.v_symbols] for b in bodies}
    a_of = {b.name: [symbol(f"{b.name}.{c}'") for c in b.v_symbols] for b in bodies}
    dx_of = {b.name: [symbol(f"d {b.name}.{c}") for c in b.v_symbols] for b in bodies}
    ground = PLANAR_GROUND if model.space == "planar" else SPATIAL_GROUND
    frames: dict[str, Any] = {b.name: b.frame(q_of[b.name], v_of[b.name]) for b in bodies}
    frames[model.ground.name] = ground
    first, columns = 0, {}
    for b in bodies:
        columns[b.name] = range(first, first + len(b.v_names))
        first += len(b.v_names)

    joints = [parameters.element(joint) for joint in model.joints]
    drivers = [parameters.element(driver) for driver in model.drivers]
    rows: list[Row] = []
    Psi: list[Expr] = []
    for element in (*joints, *drivers):
        rows += [Row(element.name, part) for part in element.rows]
        Psi += element.Psi(TIME, *(frames[b.name] for b in element.bodies))
    lam = tuple(symbol(f"lam {row}") for row in rows)

    q = tuple(x for b in bodies for x in q_of[b.name])
    v = tuple(x for b in bodies for x in v_of[b.name])
    a = tuple(x for b in bodies for x in a_of[b.name])
    qd = tuple(x for b in bodies for x in b.qd(q_of[b.name], v_of[b.name]))
    motion = {TIME: ONE, **dict(zip(q, qd, strict=True)), **dict(zip(v, a, strict=True))}

    M: dict[tuple[int, int], Expr] = {}
    gravity = Vector(parameters.field("gravity", tuple(model.gravity)))
    Q = [ZERO] * len(v)
    kinetic = potential = ZERO
    for b in bodies:
        start = columns[b.name].start
        for (i, j), entry in b.M().items():
            M[start + i, start + j] = entry
            kinetic = kinetic + 0.5 * entry * v[start + i] * v[start + j]
        potential = potential - as_expr(b.mass) * gravity.dot(frames[b.name].r)
        _add(Q, columns[b.name], b.gyration(v_of[b.name]))
        _add(Q, columns[b.name], b.weight(gravity))

    named = _named_points(bodies, frames)
    dissipation = applied = ZERO
    for force in (parameters.element(f) for f in model.forces):
        at = [frames[b.name] for b in force.bodies]
        for b, generalized in zip(force.bodies, force.Q(TIME, *at), strict=True):
            if b.name in columns:
                _add(Q, columns[b.name], list(generalized))
        potential = potential + force.potential(*at)
        dissipation = dissipation + force.dissipation(TIME, *at)
        applied = applied + force.supplied(TIME, *at)
    *Q, dissipation, applied = substitute([*Q, dissipation, applied], named)

    Psi_q = jacobian(directional(Psi, motion), v)
    points: dict[str, Expr] = {}
    for b in (*bodies, model.ground):
        for name, s in b.points.items():
            points |= _point_outputs(f"{b.name}.{name}", frames[b.name], s, motion)
    reactions: dict[str, Expr] = {}
    start_row = 0
    for element in joints:
        element_rows = range(start_row, start_row + len(element.rows))
        start_row = element_rows.stop
        if model.space == "planar" and element_rows:
            reactions |= _reaction(element, frames, columns, element_rows, Psi_q, lam)
    driving = {d.name: -lam[k] for d, k in zip(drivers, range(start_row, len(rows)), strict=True)}

    return Equations(
        q=q,
        v=v,
        a=a,
        lam=lam,
        dx=tuple(x for b in bodies for x in dx_of[b.name]),
        q_names=tuple(f"{b.name}.{c}" for b in bodies for c in b.q_names),
        v_names=tuple(f"{b.name}.{c}" for b in bodies for c in b.v_names),
        rows=tuple(rows),
        qd=qd,
        retract=tuple(x for b in bodies for x in b.retract(q_of[b.name], dx_of[b.name])),
        M=M,
        Q=tuple(Q),
        Psi=tuple(Psi),
        kinetic=kinetic,
        potential=potential,
        dissipation=dissipation,
        applied_power=applied,
        outputs={"points": points, "reactions": reactions, "driving": driving},
        parameters=parameters.values,
        start_q=tuple(as_expr(x) for b in bodies for x in b.start_q),
        start_v=tuple(as_expr(x) for b in bodies for x in b.start_v),
    )


def _add(Q: list[Expr], columns: range, generalized: Any) -> None:
    for k, term in zip(columns, generalized, strict=True):
        Q[k] = Q[k] + term


def _named_points(bodies: list[Any], frames: dict[str, Any]) -> dict[Expr, Expr]:
    """What force laws may name besides coordinates: body.point.x and .vx, and so on."""
    named = {}
    for b in bodies:
        for name, s in b.points.items():
            place, velocity = frames[b.name].point(s), frames[b.name].point_velocity(s)
            for axis, x, rate in zip("xyz", place, velocity, strict=False):
                named[symbol(f"{b.name}.{name}.{axis}")] = x
                named[symbol(f"{b.name}.{name}.v{axis}")] = rate
    return named


def _point_outputs(name: str, frame: Frame, s: Components, motion: Mapping[Expr, Expr]) -> dict[str, Expr]:
    place, velocity = frame.point(s), frame.point_velocity(s)
    acceleration = directional(velocity, motion)
    axes = "xyz"[: len(place)]
    return {
        f"{name}.{kind}{axis}": x
        for kind, vector in (("", place), ("v", velocity), ("a", acceleration))
        for axis, x in zip(axes, vector, strict=True)
    }


def _reaction(
    joint: Any,
    frames: dict[str, Any],
    columns: dict[str, range],
    rows: range,
    Psi_q: Mapping[tuple[int, int], Expr],
    lam: tuple[Expr, ...],
) -> dict[str, Expr]:
    """Force and torque of the joint on body j at its point of the joint (on body i, reversed, if j is the ground)."""
    on_j = joint.body_j.name in columns
    body = joint.body_j if on_j else joint.body_i
    if body.name not in columns:
        return {}
    sign = 1.0 if on_j else -1.0
    fx, fy, torque = (sign * x for x in constraint_forces(Psi_q, lam, rows, columns[body.name]))
    frame: PlanarFrame = frames[body.name]
    force = Vector((fx, fy))
    if isinstance(joint, PointPair):
        torque = torque - frame.direction(joint.s_j if on_j else joint.s_i).perp().dot(force)
    if isinstance(joint, AxisPair):
        u = joint.u(frames[joint.body_i.name])
        parts = {"along": u.dot(force), "normal": u.perp().dot(force), "torque": torque}
    elif isinstance(joint, Distance):
        parts = {"tension": lam[rows.start], "x": fx, "y": fy}
    elif isinstance(joint, PointPair):
        parts = {"x": fx, "y": fy, "torque": torque}
    else:
        parts = {"torque": torque}
    return {f"{joint.name}.{name}": x for name, x in parts.items()}
