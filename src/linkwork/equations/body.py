"""Equations in body coordinates: every body has its own, every joint is a constraint."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

from linkwork.elements.drivers import FREEDOMS
from linkwork.elements.events import DIRECTIONS, Event, Watch, closed
from linkwork.elements.frames import PLANAR_GROUND, SPATIAL_GROUND, Frame, SpatialFrame, TurnedFrame
from linkwork.elements.freedoms import carried, counted
from linkwork.elements.kinds import FORCE_UNITS, UNITS, CountedAngle, Measured
from linkwork.elements.loads import JointForce
from linkwork.elements.signals import formulas_of, output_symbol, resolve
from linkwork.elements.spatial import ConstantVelocity, Spherical
from linkwork.elements.vectors import Components, Vector
from linkwork.equations.equations import (
    PREFIXES,
    TIME,
    Chart,
    Clock,
    Counted,
    Energy,
    Equations,
    Hints,
    Output,
    Row,
    change_of,
    constraint_forces,
    other_of,
    substitute_in,
)
from linkwork.equations.parameters import Symbols
from linkwork.equations.reactions import Pushed, reaction_outputs
from linkwork.errors import ModelError
from linkwork.expressions.derivatives import directional
from linkwork.expressions.evaluation import ordered, substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, as_expr, symbol
from linkwork.model import Model
from linkwork.units import parse_unit


class Bodies(NamedTuple):
    """The equations in body coordinates, still without outputs, and what they are made of.

    `frames` are those of ground and bodies by name, `columns` the places of a body among the velocities, `rows` those
    of a joint or driver among the constraints.
    """

    parts: Symbols
    frames: Mapping[str, Any]
    columns: Mapping[str, range]
    rows: tuple[range, ...]  # of joints, then of drivers
    of_forces: tuple[Watch, ...]
    named: Mapping[Expr, Expr]  # what formulas may name besides coordinates
    shown: Mapping[Expr, Expr]  # angles in space whose turns nobody counts, by the symbols that would carry them
    equations: Equations

    def outputs(self, pushed: Pushed) -> dict[str, dict[str, Output]]:
        """Return points, freedoms of joints, reactions, driving forces, and what forces and drivers measure."""
        e, (fixed, *bodies) = self.equations, self.parts.bodies
        motion = {**e.motion, **dict(zip(e.v, e.a, strict=True))}
        points: dict[str, Output] = {}
        for b in (*bodies, fixed):
            for name, s in b.points.items():
                points |= _point_outputs(f"{b.name}.{name}", self.frames[b.name], s, motion)
        reactions = reaction_outputs(self.parts.joints, self.frames, pushed, e.rows, e.lam)
        numbers = [rows.start for rows in self.rows[len(self.parts.joints) :]]
        driving = {
            d.name: Output(-e.lam[k], FORCE_UNITS[e.rows[k].kind])
            for d, k in zip(self.parts.drivers, numbers, strict=True)
        }
        found = {
            "points": points,
            "joints": self._freedoms(),
            "reactions": reactions,
            "driving": driving,
            "loads": self._loads(numbers),
        }
        return found | self._signals(found)

    def _signals(self, outputs: Mapping[str, Mapping[str, Output]]) -> dict[str, dict[str, Output]]:
        """Return inputs, outputs and states with their rates, of the kinds that there are."""
        parts, known, found = self.parts, self._name_results(outputs), dict[str, dict[str, Output]]()
        formulas = [output_symbol(x.name) for x in parts.outputs]
        known |= zip(formulas, substitute([self.named[x] for x in formulas], known), strict=True)
        for kind, signals, values in (
            ("inputs", parts.inputs, [self.named.get(symbol(x.name), symbol(x.name)) for x in parts.inputs]),
            ("outputs", parts.outputs, [known[x] for x in formulas]),
            ("states", parts.states, [symbol(x.name) for x in parts.states]),
        ):
            if signals:
                units = [(x.unit.replace("*", " "), float(parse_unit(x.unit).factor)) for x in signals]
                named = zip((x.name for x in signals), values, units, strict=True)
                found[kind] = {name: Output(x, unit, False, factor) for name, x, (unit, factor) in named}
        for x, rate in zip(parts.states, substitute([x.rate for x in parts.states], known), strict=True):
            if not {*self.equations.a, *self.equations.lam}.isdisjoint(ordered([rate])):
                message = f"the rate of '{x.name}' depends on accelerations or reactions"
                rule = "a rate is a formula of time, places, velocities, states and inputs"
                raise ModelError(message, "algebraic-loop", path=f"states.{x.name}.rate", rule=rule)
            state = found["states"][x.name]
            found["states"][f"{x.name}_d"] = Output(rate, f"{state.unit}/s", False, state.factor)
        return found

    def _name_results(self, outputs: Mapping[str, Mapping[str, Output]]) -> dict[Expr, Expr]:
        """Return what formulas of events and signals may name."""
        e, named = self.equations, dict(self.named)
        named |= {symbol(c.acceleration): a for c, a in zip(e.velocities, e.a, strict=True)}
        named |= {symbol(name): x.expression for name, x in outputs["points"].items() if x.unit == "m/s^2"}
        named |= {symbol(f"reaction.{name}"): output.expression for name, output in outputs["reactions"].items()}
        named |= {symbol(f"driving.{name}"): output.expression for name, output in outputs["driving"].items()}
        for kind in ("reactions", "driving", "joints", "loads", "outputs"):
            prefix = PREFIXES.get(kind, "")
            own = outputs.get(kind, {})
            named |= {symbol(f"{prefix}{name}"): output.expression for name, output in own.items()}
        return named

    def _freedoms(self) -> dict[str, Output]:
        """Return what can be measured of joints, and its rates: O.angle and O.angle_d."""
        found: dict[str, Output] = {}
        for joint in self.parts.joints:
            at = [self.frames[b.name] for b in joint.bodies]
            freedoms = joint.freedoms(*at)
            rates = directional([*freedoms.values()], {x: dx for frame in at for x, dx in frame.motion})
            for (name, value), rate in zip(freedoms.items(), rates, strict=True):
                unit, turns = UNITS[FREEDOMS.get(name, "number")], carried(joint, name) in self.shown
                found[f"{joint.name}.{name}"] = Output(value if turns else counted(joint, name, value, at), unit, turns)
                found[f"{joint.name}.{name}_d"] = Output(rate, f"{unit}/s")
        return found

    def _loads(self, numbers: Iterable[int]) -> dict[str, Output]:
        """Return what forces and drivers measure, and the power of each; `numbers` are the rows of the drivers."""
        e, found = self.equations, dict[str, Output]()
        for force in self.parts.forces:
            at = [self.frames[b.name] for b in force.bodies]
            for x in (*force.measures(*at), Measured("power", force.power(*at), "W")):
                found[x.name(force.name)] = Output(x.value, x.unit)
        known = {**self.named, **self.shown}
        for name, x in found.items():
            turns = x.unit == "rad" and not self.shown.keys().isdisjoint(ordered([x.expression]))
            found[name] = Output(substitute([x.expression], known)[0], x.unit, turns)
        own = {force.name for force in self.parts.forces}
        for driver, k in zip(self.parts.drivers, numbers, strict=True):
            name = f"driver.{driver.name}" if driver.name in own else driver.name
            found |= {x.name(name): Output(x.value, x.unit) for x in driver.measures(e.lam[k], e.Psi_t[k])}
        return found

    def watched(self, outputs: Mapping[str, Mapping[str, Output]]) -> tuple[Watch, ...]:
        """Return the events of the model and those of its forces."""
        named = self._name_results(outputs)
        return (*(watch_for(event, named, self.equations) for event in self.parts.events), *self.of_forces)

    def sampled(self, outputs: Mapping[str, Mapping[str, Output]]) -> tuple[Clock, ...]:
        """Return the inputs whose formulas are evaluated at times of their own."""
        signals = [x for x in self.parts.inputs if x.every is not None and x.formula is not None]
        values = substitute([x.formula for x in signals], self._name_results(outputs))
        return tuple(Clock(as_expr(x.every), {symbol(x.name): value}) for x, value in zip(signals, values, strict=True))


def body_equations(model: Model) -> Equations:
    """Derive M a + Psi_q^T lam = Q with q = (x, y, phi) of every planar body, or (r, e) of every spatial one."""
    made = derive_bodies(model)
    e = made.equations
    rows_of = {joint.name: rows for joint, rows in zip(made.parts.joints, made.rows, strict=False)}

    def pushed(joint: Any, body: Any) -> list[Expr]:
        return constraint_forces(e.Psi_q, e.lam, rows_of[joint.name], made.columns[body.name])

    outputs = made.outputs(pushed)
    return e.with_outputs(outputs, made.watched(outputs), made.sampled(outputs))


def _frames(
    model: Model,
    bodies: Sequence[Any],
    q_of: Mapping[str, Sequence[Expr]],
    v_of: Mapping[str, Sequence[Expr]],
    with_matrices: bool,
) -> tuple[dict[str, Any], dict[Expr, Expr]]:
    """Return the frames of ground and bodies by name, and the rates of entries of their matrices."""
    is_planar = model.space == "planar"
    frames: dict[str, Any] = {b.name: b.frame(q_of[b.name], v_of[b.name]) for b in bodies}
    frames[model.ground.name] = PLANAR_GROUND if is_planar else SPATIAL_GROUND
    matrices: dict[Expr, Expr] = {}
    for b in () if is_planar else bodies:
        if with_matrices:
            frames[b.name] = with_matrix(frames[b.name], b.name)
        matrices |= dict(frames[b.name].matrix_rates)
    return frames, matrices


class Acting(NamedTuple):
    """What forces bring with them besides what they add to Q."""

    held: dict[Expr, float]
    watched: tuple[Watch, ...]
    potential: Expr
    dissipation: Expr
    supplied: Expr
    gentle: frozenset[Expr]


def _act(
    forces: Sequence[Any],
    frames: Mapping[str, Any],
    columns: Mapping[str, range],
    named: Mapping[Expr, Expr],
    Q: list[Expr],
) -> Acting:
    """Add the generalized forces to Q."""
    held: dict[Expr, float] = {}
    watched: list[Watch] = []
    gentle: set[Expr] = set()
    potential = dissipation = supplied = ZERO
    for force in forces:
        at = [frames[b.name] for b in force.bodies]
        held |= force.held
        watched += [watch.moved(named) for watch in force.events(TIME, *at)]
        gentle.update(force.gentle(*at))
        for b, generalized in zip(force.bodies, force.Q(*at), strict=True):
            if b.name in columns:
                _add(Q, columns[b.name], list(generalized))
        potential = potential + force.potential(*at)
        dissipation = dissipation + force.dissipation(*at)
        supplied = supplied + force.supplied(*at)
    return Acting(held, tuple(watched), potential, dissipation, supplied, frozenset(gentle))


def _give_inertia(
    bodies: Sequence[Any],
    frames: Mapping[str, Any],
    columns: Mapping[str, range],
    M: dict[tuple[int, int], Expr],
    Q: Sequence[Expr],
    seen: Set[Expr],
    shifts: int,
) -> int:
    """Give point masses, of which nothing sees how they turn, any inertia; return how many such turns there are."""
    unseen = 0
    for b in bodies:
        turns = columns[b.name][shifts:]
        place = {symbol(c.name) for c in b.coordinates[:shifts]}
        own = {x for x, _ in frames[b.name].motion} - place | {symbol(c.speed) for c in b.velocities[shifts:]}
        if all(M.get((k, k), ZERO) is ZERO and Q[k] is ZERO for k in turns) and seen.isdisjoint(own):
            M |= {(k, k): as_expr(b.mass) for k in turns}
            unseen += len(turns)
    return unseen


def derive_bodies(model: Model, with_matrices: bool = False) -> Bodies:
    """Return the equations of the bodies.

    With the rotation matrices of spatial ones as symbols of their own, if asked for.
    """
    parts = Symbols(model)
    (_, *bodies), joints, drivers = parts.bodies, parts.joints, parts.drivers
    q_of = {b.name: [symbol(c.name) for c in b.coordinates] for b in bodies}
    v_of = {b.name: [symbol(c.speed) for c in b.velocities] for b in bodies}
    a_of = {b.name: [symbol(f"{c.speed}'") for c in b.velocities] for b in bodies}
    frames, matrices = _frames(model, bodies, q_of, v_of, with_matrices)
    first, columns = 0, {}
    for b in bodies:
        columns[b.name] = range(first, first + len(b.velocities))
        first += len(b.velocities)

    switched = {name for event in model.events for name in (*event.release, *event.engage)}
    held = {closed(joint.name): float(joint.name not in model.open) for joint in joints if joint.name in switched}
    held |= {symbol(name): model.parameters[name] for name in model.held}
    rows, rows_of, Psi, slips = _constraints((*joints, *drivers), frames, held)

    q = tuple(x for b in bodies for x in q_of[b.name])
    v = tuple(x for b in bodies for x in v_of[b.name])
    a = tuple(x for b in bodies for x in a_of[b.name])
    qd = tuple(x for b in bodies for x in b.qd(q_of[b.name], v_of[b.name]))

    gravity = Vector(parts.gravity)
    M, Q, kinetic, potential = _inertia(bodies, frames, columns, v, gravity)
    named = _named_points(bodies, frames)
    named |= resolve(formulas_of(parts.inputs, parts.outputs), named)
    slips = substitute_in(slips, named)
    acting = _act(parts.forces, frames, columns, named, Q)
    held |= acting.held
    potential = potential + acting.potential
    *Q, dissipation, applied = substitute([*Q, acting.dissipation, acting.supplied], named)
    rates = substitute([x.rate for x in parts.states], named)
    seen = {*ordered([*Psi, *slips.values(), *Q, *rates])}
    unseen = _give_inertia(bodies, frames, columns, M, Q, seen, len(gravity))

    e = Equations(
        q=q,
        v=v,
        a=a,
        coordinates=tuple(c for b in bodies for c in b.coordinates),
        velocities=tuple(c for b in bodies for c in b.velocities),
        rows=tuple(rows),
        qd=qd,
        M=M,
        Q=tuple(Q),
        Psi=tuple(Psi),
        slips=slips,
        energy=Energy(kinetic, potential, dissipation, applied),
        parameters={**parts.values, **held},
        held=tuple(held),
        chart=Chart(
            retract=tuple(x for b in bodies for x in b.retract(q_of[b.name], [*map(change_of, v_of[b.name])])),
            difference=tuple(x for b in bodies for x in b.difference(q_of[b.name], [*map(other_of, q_of[b.name])])),
            start_q=tuple(as_expr(x) for b in bodies for x in b.start_q),
            start_v=tuple(as_expr(x) for b in bodies for x in b.start_v),
            unseen=unseen,
        ),
        hints=Hints(carried=matrices, steady=frozenset(substitute([*acting.gentle], named))),
        reversal={
            joint.name: tuple(x * closed(joint.name) for x in own) if closed(joint.name) in held else own
            for joint in joints
            if (own := joint.reversal(*(frames[b.name] for b in joint.bodies)))
        },
    )
    watching = ordered([potential, *(x for watch in acting.watched for x in (watch.when, *watch.holds.values()))])
    angles, shown = _angles(parts, frames, {*seen, *watching}, held) if model.space == "spatial" else ([], {})
    return Bodies(parts, frames, columns, tuple(rows_of), acting.watched, named, shown, e.counting(angles))


def _constraints(
    elements: Iterable[Any], frames: Mapping[str, Any], held: Container[Expr]
) -> tuple[list[Row], list[range], list[Expr], dict[int, Expr]]:
    """Return rows of joints and drivers, which of them are whose, Psi, and the rows of velocities among them."""
    rows, rows_of, Psi, slips = list[Row](), list[range](), list[Expr](), dict[int, Expr]()
    for element in elements:
        parts_of = {**element.rows, **element.slips}
        rows_of.append(range(len(rows), len(rows) + len(parts_of)))
        rows += [Row(element.name, part, kind) for part, kind in parts_of.items()]
        held_by = [frames[b.name] for b in element.bodies]
        gaps, slip = element.Psi(TIME, *held_by), element.slip(TIME, *held_by) if element.slips else Vector(())
        if closed(element.name) in held:
            # An open joint has rows that are zero, which hold nothing and have no multiplier.
            gaps, slip = gaps * closed(element.name), slip * closed(element.name)
        Psi += gaps
        slips |= enumerate(slip, start=len(Psi))
        Psi += [ZERO] * len(slip)
    return rows, rows_of, Psi, slips


def _inertia(
    bodies: Iterable[Any], frames: Mapping[str, Any], columns: Mapping[str, range], v: Sequence[Expr], gravity: Vector
) -> tuple[dict[tuple[int, int], Expr], list[Expr], Expr, Expr]:
    """Return M, gyroscopic forces and weights, kinetic energy and potential."""
    M, Q = dict[tuple[int, int], Expr](), [ZERO] * len(v)
    kinetic = potential = ZERO
    for b in bodies:
        own = columns[b.name]
        for (i, j), entry in b.M().items():
            M[own.start + i, own.start + j] = entry
            kinetic = kinetic + 0.5 * entry * v[own.start + i] * v[own.start + j]
        potential = potential - as_expr(b.mass) * gravity.dot(frames[b.name].r)
        _add(Q, own, b.gyroscopic(v[own.start : own.stop]))
        _add(Q, own, b.weight(gravity))
    return M, Q, kinetic, potential


def _angles(
    parts: Symbols, frames: Mapping[str, Any], used: Collection[Expr], held: Container[Expr]
) -> tuple[list[Counted], dict[Expr, Expr]]:
    """Choose angles of joints in space whose turns are counted along the motion; and the others.

    The others are those of a ball, and of a joint that may open, unless a force or formula names them: there are
    positions in which these have no value, and no motion should slow down before them.
    """
    measuring = [x.formula for x in (*parts.outputs, *parts.inputs) if x.formula is not None]
    measuring += [x.rate for x in parts.states]
    asked = {*ordered([*(event.when for event in parts.events), *measuring])}
    freedoms = [(joint, name) for joint in parts.joints for name in FREEDOMS]
    used = {*used, *(carried(joint, x) for joint, x in freedoms if symbol(f"joint:{joint.name}.{x}") in asked)}
    of_forces = (force.joint for force in parts.forces if isinstance(force, JointForce))
    found, shown = [], {}
    for joint in {joint.name: joint for joint in (*parts.joints, *of_forces)}.values():
        at = [frames[b.name] for b in joint.bodies]
        has_axis = not isinstance(joint, Spherical | ConstantVelocity) and closed(joint.name) not in held
        for name, angle in joint.freedoms(*at).items():
            x, is_angle = carried(joint, name), FREEDOMS.get(name) == "angle"
            if x in used or (is_angle and has_axis):
                rate = directional([angle], {x: dx for frame in at for x, dx in frame.motion})[0]
                start = joint.freedoms(*joint.starts())[name]
                found.append(Counted(CountedAngle(joint.name, name, "angle"), x, angle, rate, start))
            elif is_angle:
                shown[x] = angle
    return found, shown


def with_matrix(frame: SpatialFrame, name: str) -> TurnedFrame:
    """Return the frame with symbols in the place of its rotation matrix."""
    x, y, z = (Vector(symbol(f"{name} A{i}{j}") for j in range(3)) for i in range(3))
    return TurnedFrame(frame.r, frame.e, frame.r_dot, frame.omega, frame.c, (x, y, z))


def watch_for(event: Event, named: Mapping[Expr, Expr], e: Equations) -> Watch:
    """Replace all names in an event of a model."""
    names, values = [symbol(name) for name in event.velocities], [as_expr(x) for x in event.velocities.values()]
    when, *rest = substitute([event.when, *names, *values], named)
    rows, targets = rest[: len(names)], rest[len(names) :]
    kicks = [directional([x], {name: ONE})[0] is ONE for name, x in zip(names, values, strict=True)]
    of_place = {*e.v, *e.a, *e.lam}.isdisjoint(ordered([when]))
    rate = directional([when], e.motion)[0] if of_place else ZERO
    if event.restitution is not None:
        if not of_place:
            message = f"restitution reverses the rate of 'when', and '{event.name}' depends on velocities or forces"
            raise ModelError(message, "bad-event", path=f"events.{event.name}.when", rule="it depends on t and q alone")
        rows, targets, kicks = [*rows, rate], [*targets, -as_expr(event.restitution) * rate], [*kicks, False]
    holds = {closed(name): ZERO for name in event.release} | {closed(name): ONE for name in event.engage}
    set_states, set_inputs = (
        dict(zip(map(symbol, own), substitute(map(as_expr, own.values()), named), strict=True))
        for own in (event.states, event.inputs)
    )
    # Once the joints are as it sets them, there is nothing to watch.
    if holds and not rows and not set_states and not set_inputs:
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
        kicks=tuple(kicks),
        turns=event.restitution is not None,
        rate=rate,
        holds={**holds, **set_inputs},
        resets=set_states,
        joints=tuple(holds),
    )


def _add(Q: list[Expr], columns: range, generalized: Any) -> None:
    for k, term in zip(columns, generalized, strict=True):
        Q[k] = Q[k] + term


def _named_points(bodies: list[Any], frames: dict[str, Any]) -> dict[Expr, Expr]:
    """Return what force laws may name besides coordinates: body.point.x and .vx, and so on."""
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
