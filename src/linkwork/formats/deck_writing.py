"""A spatial model as a deck (deck.py), and what of it a deck cannot hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from linkwork.elements.bodies import SpatialBody
from linkwork.elements.forces import AxialSpringDamper, PointForce, SpatialTorque, SpringDamper
from linkwork.elements.joints import SPATIAL_JOINTS
from linkwork.elements.motions import Table
from linkwork.elements.spatial import (
    AxialPair,
    CountingPair,
    SpatialAxisPair,
    SpatialMeasure,
    body_triad,
)
from linkwork.elements.vectors import Components, Vector
from linkwork.errors import UsageError
from linkwork.expressions.evaluation import evaluate, ordered, substitute
from linkwork.expressions.graph import ZERO, Expr, as_expr, constant, cos, sin, symbol
from linkwork.formats.deck import DECK, OF_BODY, OF_GROUND, ROTATIONAL, TRANSLATIONAL, TURNING, TYPES
from linkwork.model import Model
from linkwork.writing.printers import text

NUMBERS = ("length", "pitch", "radius", "teeth_i", "teeth_j")  # of joints, in the table jointdata
NOWHERE = (0.0, 0.0, 0.0)


def deck_of(model: Model) -> tuple[dict[str, str], list[str]]:
    """Return the texts of the tables by their names, and what they do not hold."""
    if model.space != "spatial":
        raise UsageError("a deck holds mechanisms in space; this one is planar", "not-spatial")
    return _Writing(model).write()


class _Writing:
    """The rows of the tables while they are written."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.given = {symbol(name): value for name, value in model.parameters.items()}
        self.index = {"ground": 0, **{body.name: k for k, body in enumerate(model.bodies, 1)}}
        self.rows: dict[str, list[Sequence[Any]]] = {name: [] for name in DECK}
        self.names: dict[tuple[str, str], str] = {}
        self.left_out = [f"the shape of body '{name}'" for name in model.shapes]
        self.left_out += [f"event '{event.name}'" for event in model.events]
        self.left_out += [f"actuator '{actuator.name}'" for actuator in model.actuators]
        for kind in ("input", "output", "state"):
            self.left_out += [f"{kind} '{signal.name}'" for signal in getattr(model, f"{kind}s")]
        settings = model.simulation
        if settings.coordinates != "body":
            self.left_out.append(f"the coordinates '{settings.coordinates}'")
        self.left_out += [f"that joint '{name}' is cut" for name in settings.cut]

    def named(self, kind: str, name: str) -> str:
        """Return a name as one entry of a table that no other of this kind has."""
        if (kind, name) not in self.names:
            word = re.sub(r"[\s#]", "_", name)
            while (kind, word) in zip((of for of, _ in self.names), self.names.values(), strict=True):
                word += "_"
            self.names[kind, name] = word
        return self.names[kind, name]

    def numbers(self, values: Iterable[Any]) -> list[float]:
        return [float(x) for x in evaluate([as_expr(x) for x in values], self.given)]

    def constants(self, values: Iterable[Any]) -> list[float] | None:
        """Return the values, None if they depend on time or motion."""
        expressions = [as_expr(x) for x in values]
        is_fixed = all(node in self.given for node in ordered(expressions) if node.op == "symbol")
        return self.numbers(expressions) if is_fixed else None

    def place(self, body: Any, s: Components) -> list[float]:
        """Return a point from the mass centre, which is the origin in a deck."""
        centre = body.mass_centre if isinstance(body, SpatialBody) else NOWHERE
        return self.numbers(Vector(s) - Vector(centre))

    def write(self) -> tuple[dict[str, str], list[str]]:
        model = self.model
        for body in model.bodies:
            self.body(body)
        for joint in model.joints:
            if joint.name in model.open:
                self.left_out.append(f"joint '{joint.name}': it is open until an event engages it")
            elif joint.slips:
                self.left_out.append(f"joint '{joint.name}': it holds velocities")
            else:
                self.joint(joint)
        for force in model.forces:
            if fault := self.force(force):
                self.left_out.append(f"force '{force.name}': {fault}")
        for driver in model.drivers:
            if isinstance(driver.joint, SpatialMeasure):
                self.left_out.append(f"driver '{driver.name}': it acts between points, not in a joint")
            elif driver.joint.name in model.open:
                self.left_out.append(f"driver '{driver.name}': its joint is open until an event engages it")
            elif isinstance(driver.motion, Table):
                self.left_out.append(f"driver '{driver.name}': its motion is a table")
            else:
                values: dict[Expr, Expr] = {name: constant(value) for name, value in self.given.items()}
                law = text(substitute([as_expr(driver.motion.f(symbol("t")))], values)[0])
                names = self.named("driver", driver.name), self.named("joint", driver.joint.name)
                self.rows["drivers"].append((*names, driver.freedom, law))
        for holder in (model.ground, *model.bodies):
            for name, s in holder.points.items():
                self.rows["points"].append(
                    (self.named(f"point of {holder.name}", name), self.index[holder.name], *self.place(holder, s))
                )
        self.rows["gravity"].append(self.numbers(model.gravity))
        settings = model.simulation
        self.rows["control"].append((settings.t_end, settings.step, settings.rtol, settings.atol))
        return {name: self.table(name) for name in DECK}, self.left_out

    def body(self, body: Any) -> None:
        number = self.index[body.name]
        q, v = self.numbers(body.start_q), self.numbers(body.start_v)
        self.rows["bodies"].append((number, self.named("body", body.name), *q))
        self.rows["inertia"].append((number, *self.numbers((body.mass, *(x for row in body.J for x in row)))))
        rates = self.numbers(body.qd([as_expr(x) for x in q], [as_expr(x) for x in v]))
        for k, (value, rate) in enumerate(zip(q, rates, strict=True), 1):
            self.rows["initial"].append((number, k, value, rate))

    def joint(self, joint: Any) -> None:
        kind = next(name for name, cls in SPATIAL_JOINTS.items() if cls is type(joint))
        frames = []
        for n, (body, s) in enumerate(((joint.body_i, joint.s_i), (joint.body_j, joint.s_j))):
            x, z = Vector((1.0, 0.0, 0.0)), Vector((0.0, 0.0, 1.0))
            if isinstance(joint, SpatialAxisPair):
                own = (joint.own_axis_j, joint.own_zero_j) if n else (joint.axis, joint.zero)
                x, y, z = body_triad(*own)
                if isinstance(joint, CountingPair) and (name := _counts_from(joint, n)):
                    zero = joint.zero_of(name)
                    x = x * cos(zero) + y * (-sin(zero) if n else sin(zero))
            elif isinstance(joint, AxialPair):
                z = Vector(getattr(joint, "axis_j" if n else "axis"))
                x = body_triad(z.components, None)[0]
            P = self.place(body, s)
            frames.append([*P, *self.numbers(Vector(P) + z), *self.numbers(Vector(P) + x)])
        ends = self.index[joint.body_i.name], self.index[joint.body_j.name]
        self.rows["joints"] += [(self.named("joint", joint.name), *ends, TYPES.index(kind) + 1, *frames[0]), frames[1]]
        data = {key: getattr(joint, key) for key in NUMBERS if getattr(joint, key, None) is not None}
        if hasattr(joint, "rod_length"):
            data["length"] = joint.rod_length
        for key, value in data.items():
            self.rows["jointdata"].append((self.named("joint", joint.name), key, *self.numbers((value,))))
        if hasattr(joint, "carrier"):
            self.rows["jointdata"].append((self.named("joint", joint.name), "carrier", self.index[joint.carrier.name]))
            self.rows["jointdata"].append((self.named("joint", joint.name), "internal", int(joint.internal)))

    def force(self, force: Any) -> str:
        """Write a force down; what a deck has no place for is returned."""
        ends = [self.index[body.name] for body in force.bodies]
        if isinstance(force, SpringDamper | AxialSpringDamper):
            is_line = isinstance(force, SpringDamper)
            free = force.free_length if isinstance(force, SpringDamper) else force.free_angle
            values = self.constants((force.stiffness, free, force.damping, force.actuator))
            if values is None or as_expr(force.law) is not ZERO:
                return "its law is a formula"
            points = [
                x
                for body, end in zip(force.bodies, "ij", strict=True)
                for x in self.place(body, body.points.get(f"{force.name}_{end}", getattr(body, "mass_centre", NOWHERE)))
            ]
            if isinstance(force, SpringDamper):
                points = [*self.place(force.body_i, force.s_i), *self.place(force.body_j, force.s_j)]
            elif self.turning(force.bodies) != [force.joint.name]:
                return "a deck finds its joint by the bodies, where one joint alone lets them turn about an axis"
            kind = TRANSLATIONAL if is_line else ROTATIONAL
            self.rows["springs"].append((self.named("force", force.name), *ends, *values, *points, kind))
            return ""
        if not isinstance(force, PointForce | SpatialTorque):
            return f"there is no table for a {type(force).__name__.lower()}"
        is_force = isinstance(force, PointForce)
        load = self.constants(force.force if isinstance(force, PointForce) else force.torque)
        if load is None:
            return "it is a formula of time or motion"
        point = self.place(force.body, force.s) if isinstance(force, PointForce) else [0.0] * 3
        loads = [*load, 0.0, 0.0, 0.0] if is_force else [0.0, 0.0, 0.0, *load]
        axes = OF_BODY if force.follows else OF_GROUND
        self.rows["forces"].append((self.named("force", force.name), *ends, *loads, *point, axes))
        return ""

    def turning(self, bodies: Sequence[Any]) -> list[str]:
        """Return the joints among which a deck looks for that of a rotational spring between these bodies."""
        ends, kinds = {body.name for body in bodies}, tuple(SPATIAL_JOINTS[kind] for kind in TURNING)
        joints = [joint for joint in self.model.joints if type(joint) in kinds and joint.name not in self.model.open]
        return [joint.name for joint in joints if {body.name for body in joint.bodies} == ends]

    def table(self, name: str) -> str:
        """Return columns under their headings, as wide as their longest entries.

        Records of two rows repeat the headings.
        """
        layout, rows = DECK[name], [[_entry(x) for x in row] for row in self.rows[name]]
        headings = [heading.replace("...", "").split() for heading in layout.headings]
        lines = [headings[0]] if len(headings) == 1 or not rows else []
        for k, row in enumerate(rows):
            lines += [row] if len(headings) == 1 else [headings[k % len(headings)], row]
        counted = [f"{layout.counted} {len(rows)}"] if layout.counted else []
        return "\n".join([*counted, *_align(lines), ""])


def _counts_from(joint: CountingPair, n: int) -> str:
    """Return the angle that is zero where x of body i (n = 0), or of body j, says so; "" if there is none."""
    last = {name: directions[-1] for name, directions in joint.directions.items()}
    return next((name for name, direction in last.items() if direction == ("zero", "zero_j")[n]), "")


def _entry(x: Any) -> str:
    return repr(x).removesuffix(".0") if isinstance(x, float) else str(x)


def _align(lines: Sequence[Sequence[str]]) -> list[str]:
    width = max(map(len, lines))
    padded = [[""] * (width - len(line)) + list(line) for line in lines]
    widths = [max(len(line[k]) for line in padded) for k in range(width)]
    return ["  ".join(word.ljust(size) for word, size in zip(line, widths, strict=True)).rstrip() for line in padded]
