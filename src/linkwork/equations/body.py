"""Equations in body coordinates: every body has its own, every joint is a constraint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkwork.elements.events import DIRECTIONS, Event, Watch, closed
from linkwork.elements.forces import SHORTEST
from linkwork.elements.frames import PLANAR_GROUND, SPATIAL_GROUND, Frame, PlanarFrame, SpatialFrame
from linkwork.elements.joints import Distance, Gear, Revolute
from linkwork.elements.kinds import FORCE_UNITS
from linkwork.elements.pairs import AxisPair, PointPair
from linkwork.elements.spatial import AxialPair, SpatialDistance
from linkwork.elements.vectors import Components, Vector, norm
from linkwork.equations.equations import TIME, Equations, Output, Row, constraint_forces
from linkwork.equations.parameters import Symbols
from linkwork.errors import ModelError
from linkwork.expressions.derivatives import directional
from linkwork.expressions.evaluation import ordered, substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, as_expr, maximum, sign, symbol
from linkwork.model import Model


def body_equations(model: Model) -> Equations:
    """M a + Psi_q^T lam = Q with q = (x, y, phi) of every planar body, or (r, e) of every spatial one."""
    parts = Symbols(model)
    (fixed, *bodies), joints, drivers = parts.bodies, parts.joints, parts.drivers
    q_of = {b.name: [symbol(c.name) for c in b.coordinates] for b in bodies}
    v_of = {b.name: [symbol(c.speed) for c in b.velocities] for b in bodies}
    a_of = {b.name: [symbol(f"{c.speed}'") for c in b.velocities] for b in bodies}
    dx_of = {b.name: [symbol(f"d {c.speed}") for c in b.velocities] for b in bodies}
    then_of = {b.name: [symbol(f"{c.name} then") for c in b.coordinates] for b in bodies}
    ground = PLANAR_GROUND if model.space == "planar" else SPATIAL_GROUND
    frames: dict[str, Any] = {b.name: b.frame(q_of[b.name], v_of[b.name]) for b in bodies}
    frames[model.ground.name] = ground
    first, columns = 0, {}
    for b in bodies:
        columns[b.name] = range(first, first + len(b.velocities))
        first += len(b.velocities)

    switched = {name for event in model.events for name in (*event.release, *event.engage)}
    held = {closed(joint.name): float(joint.name not in model.open) for joint in joints if joint.name in switched}
    rows: list[Row] = []
    Psi: list[Expr] = []
    for element in (*joints, *drivers):
        rows += [Row(element.name, part, kind) for part, kind in element.rows.items()]
        gaps = element.Psi(TIME, *(frames[b.name] for b in element.bodies))
        # An open joint has rows that are zero, which hold nothing and have no multiplier.
        Psi += gaps * closed(element.name) if closed(element.name) in held else gaps
    lam = tuple(symbol(f"lam {row}") for row in rows)

    q = tuple(x for b in bodies for x in q_of[b.name])
    v = tuple(x for b in bodies for x in v_of[b.name])
    a = tuple(x for b in bodies for x in a_of[b.name])
    qd = tuple(x for b in bodies for x in b.qd(q_of[b.name], v_of[b.name]))
    motion = {TIME: ONE, **dict(zip(q, qd, strict=True)), **dict(zip(v, a, strict=True))}

    M: dict[tuple[int, int], Expr] = {}
    gravity = Vector(parts.gravity)
    Q = [ZERO] * len(v)
    kinetic = potential = ZERO
    for b in bodies:
        start = columns[b.name].start
        for (i, j), entry in b.M().items():
            M[start + i, start + j] = entry
            kinetic = kinetic + 0.5 * entry * v[start + i] * v[start + j]
        potential = potential - as_expr(b.mass) * gravity.dot(frames[b.name].r)
        _add(Q, columns[b.name], b.gyroscopic(v_of[b.name]))
        _add(Q, columns[b.name], b.weight(gravity))

    named = _named_points(bodies, frames)
    dissipation = applied = ZERO
    watched: list[Watch] = []
    for force in parts.forces:
        at = [frames[b.name] for b in force.bodies]
        for b, generalized in zip(force.bodies, force.Q(TIME, *at), strict=True):
            if b.name in columns:
                _add(Q, columns[b.name], list(generalized))
        potential = potential + force.potential(*at)
        dissipation = dissipation + force.dissipation(TIME, *at)
        applied = applied + force.supplied(TIME, *at)
    *Q, dissipation, applied = substitute([*Q, dissipation, applied], named)

    e = Equations(
        q=q,
        v=v,
        a=a,
        lam=lam,
        dx=tuple(x for b in bodies for x in dx_of[b.name]),
        coordinates=tuple(c for b in bodies for c in b.coordinates),
        velocities=tuple(c for b in bodies for c in b.velocities),
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
        outputs={},
        parameters={**parts.values, **held},
        held=tuple(held),
        start_q=tuple(as_expr(x) for b in bodies for x in b.start_q),
        start_v=tuple(as_expr(x) for b in bodies for x in b.start_v),
        then=tuple(x for b in bodies for x in then_of[b.name]),
        difference=tuple(x for b in bodies for x in b.difference(q_of[b.name], then_of[b.name])),
    )

    points: dict[str, Output] = {}
    for b in (*bodies, fixed):
        for name, s in b.points.items():
            points |= _point_outputs(f"{b.name}.{name}", frames[b.name], s, motion)
    reactions: dict[str, Output] = {}
    start_row = 0
    teeth = _tooth_forces(joints, rows, frames, lam)
    for element in joints:
        element_rows = range(start_row, start_row + len(element.rows))
        start_row = element_rows.stop
        if element_rows and model.space == "planar":
            beside = teeth.get(element.name)
            reactions |= _reaction(element, frames, columns, element_rows, e.Psi_q, lam, beside)
        elif element_rows:
            reactions |= _spatial_reaction(element, frames, columns, element_rows, e.Psi_q, lam)
    driving = {
        d.name: Output(-lam[k], FORCE_UNITS[rows[k].kind])
        for d, k in zip(drivers, range(start_row, len(rows)), strict=True)
    }
    named |= {symbol(f"reaction.{name}"): output.expression for name, output in reactions.items()}
    named |= {symbol(f"driving.{name}"): output.expression for name, output in driving.items()}
    events = tuple(_watch(event, named, e) for event in parts.events)
    return e.with_outputs({"points": points, "reactions": reactions, "driving": driving}, (*events, *watched))


def _watch(event: Event, named: Mapping[Expr, Expr], e: Equations) -> Watch:
    """An event of a model with all its names replaced."""
    names, values = [symbol(name) for name in event.velocities], [as_expr(x) for x in event.velocities.values()]
    when, *rest = substitute([event.when, *names, *values], named)
    rows, targets = rest[: len(names)], rest[len(names) :]
    of_place = {*e.v, *e.a, *e.lam}.isdisjoint(ordered([when]))
    rate = directional([when], e.motion)[0] if of_place else ZERO
    if event.restitution is not None:
        if not of_place:
            message = f"restitution reverses the rate of 'when', and '{event.name}' depends on velocities or forces"
            raise ModelError(message, "bad-event", path=f"events.{event.name}.when", rule="it depends on t and q alone")
        rows, targets = [*rows, rate], [*targets, -as_expr(event.restitution) * rate]
    holds = {closed(name): ZERO for name in event.release} | {closed(name): ONE for name in event.engage}
    if holds and not rows:  # once the joints are as it sets them, there is nothing to watch
        done = as_expr(1.0)
        for parameter, value in holds.items():
            done = done * (parameter if value is ONE else 1.0 - parameter)
        when = when + done * (1.0 - when)
    return Watch(
        name=event.name,
        when=when,
        direction=DIRECTIONS[event.direction],
        ends=event.action == "stop",
        rows=tuple(rows),
        targets=tuple(targets),
        turns=event.restitution is not None,
        rate=rate,
        holds=holds,
        switches_joints=bool(holds),
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


def _point_outputs(name: str, frame: Frame, s: Components, motion: Mapping[Expr, Expr]) -> dict[str, Output]:
    place, velocity = frame.point(s), frame.point_velocity(s)
    acceleration = directional(velocity, motion)
    axes = "xyz"[: len(place)]
    return {
        f"{name}.{kind}{axis}": Output(x, unit)
        for kind, vector, unit in (("", place, "m"), ("v", velocity, "m/s"), ("a", acceleration, "m/s^2"))
        for axis, x in zip(axes, vector, strict=True)
    }


def _tooth_forces(
    joints: list[Any], rows: list[Row], frames: dict[str, Any], lam: tuple[Expr, ...]
) -> dict[str, Vector]:
    """What the pins of gears carry because teeth push at the pitch point, by the names of the pins.

    The constraint of a gear knows angles alone: its multiplier turns both gears and the carrier. The teeth do the same
    with the tangential force f = -lam t on gear i at the pitch point R_i e from its centre, t = perp(e), and -f on gear
    j; then the pins hold the gears against f, and these two forces on the carrier are the couple that turns it. e runs
    to the other centre, and away from it where gear i is the inner one of an internal pair. A gear whose centre no
    revolute joints show is left out with its partner.
    """
    first_row = {row.element: k for k, row in reversed(list(enumerate(rows)))}
    carried: dict[str, Vector] = {}
    for gear in (joint for joint in joints if isinstance(joint, Gear)):
        chains = [_pins(joints, body.name, gear.carrier.name) for body in (gear.body_i, gear.body_j)]
        if not all(chains):
            continue
        centre_i, centre_j = (frames[pin.body_j.name].point(pin.s_j) for (pin, _), *_ in chains)
        e = (centre_j - centre_i) / maximum(norm(centre_j - centre_i), SHORTEST)
        if gear.internal:
            e = e * sign(as_expr(gear.radius_i) - gear.radius_j)
        f = -lam[first_row[gear.name]] * e.perp()
        for chain, force in zip(chains, (f, -f), strict=True):
            for pin, held in chain:
                on_j = -force if pin.body_j.name == held else force
                carried[pin.name] = carried[pin.name] + on_j if pin.name in carried else on_j
    return carried


def _pins(joints: list[Any], gear: str, carrier: str) -> list[tuple[Revolute, str]]:
    """The pins that hold the centre of a gear to the carrier, with the body that each holds.

    It is one between the two, or two at the same point of a third body, as for a sun that turns in the frame.
    """
    pins = [joint for joint in joints if isinstance(joint, Revolute)]

    def other(pin: Revolute, name: str) -> str | None:
        names = pin.body_i.name, pin.body_j.name
        return names[1 - names.index(name)] if name in names else None

    def place(pin: Revolute, name: str) -> list[Expr]:
        return [as_expr(x) for x in (pin.s_i if pin.body_i.name == name else pin.s_j)]

    for pin in pins:
        if other(pin, gear) == carrier:
            return [(pin, gear)]
    for pin in pins:
        between = other(pin, gear)
        for second in pins:
            if between and other(second, between) == carrier and place(pin, between) == place(second, between):
                return [(pin, gear), (second, between)]
    return []


def _reaction(
    joint: Any,
    frames: dict[str, Any],
    columns: dict[str, range],
    rows: range,
    Psi_q: Mapping[tuple[int, int], Expr],
    lam: tuple[Expr, ...],
    beside: Vector | None,
) -> dict[str, Output]:
    """Force and torque of the joint on body j at its point of the joint (on body i, reversed, if j is the ground).

    `beside` is a force that it carries and that the constraints do not show, see `_tooth_forces`.
    """
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
        if beside is not None:
            fx, fy = force + beside
        parts = {"x": fx, "y": fy, "torque": torque}
    else:
        parts = {"torque": torque}
    units = {name: "N m" if name == "torque" else "N" for name in parts}
    return {f"{joint.name}.{name}": Output(x, units[name]) for name, x in parts.items()}


def _spatial_reaction(
    joint: Any,
    frames: dict[str, Any],
    columns: dict[str, range],
    rows: range,
    Psi_q: Mapping[tuple[int, int], Expr],
    lam: tuple[Expr, ...],
) -> dict[str, Output]:
    """Force and torque of the joint on body j at its point P_j of the joint: x .. tz in the axes of the ground.

    joint.x .. joint.tz are the same in the axes x_i, y_i, z_i of the joint. If body j is the ground, they are what
    balances the forces on the other bodies.
    """
    P_j = frames[joint.body_j.name].point(joint.s_j)
    on_j = joint.body_j.name in columns
    force = torque = Vector((0.0, 0.0, 0.0))
    for body in (joint.body_j,) if on_j else joint.bodies:
        if body.name in columns:
            frame: SpatialFrame = frames[body.name]
            pushed = Vector(constraint_forces(Psi_q, lam, rows, columns[body.name])) * (1.0 if on_j else -1.0)
            own, turned = Vector(pushed.components[:3]), frame.direction(pushed.components[3:])
            force, torque = force + own, torque + turned - (P_j - frame.r).cross(own)
    axes = {"": (Vector((1.0, 0.0, 0.0)), Vector((0.0, 1.0, 0.0)), Vector((0.0, 0.0, 1.0)))}
    if isinstance(joint, AxialPair):
        axes["joint."] = joint.triad_i(frames[joint.body_i.name])
    found = {
        f"{joint.name}.{about}{letter}{axis}": Output(a.dot(vector), unit)
        for about, triad in axes.items()
        for letter, vector, unit in (("", force, "N"), ("t", torque, "N m"))
        for axis, a in zip("xyz", triad, strict=True)
    }
    if isinstance(joint, SpatialDistance):
        found[f"{joint.name}.tension"] = Output(lam[rows.start], "N")
    return found
