"""From the entries of a file to the elements of a model: quantities, formulas, references between elements."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pydantic

from linkwork import units
from linkwork.document import Document, Keys
from linkwork.elements.bodies import Body, Ground, measures_of
from linkwork.elements.contact import MODELS, Compliance
from linkwork.elements.couplings import Coupling
from linkwork.elements.drivers import FREEDOMS, Driver
from linkwork.elements.forces import FORCES
from linkwork.elements.frames import SPATIAL_GROUND
from linkwork.elements.joints import JOINTS, MEASURES
from linkwork.elements.kinds import Space
from linkwork.elements.loads import LENGTH
from linkwork.elements.motions import MOTIONS, Law, Motion, Table
from linkwork.elements.pairs import Joint
from linkwork.elements.rolling import VelocityConstraint
from linkwork.elements.shapes import SHAPES, Mesh, Shape
from linkwork.elements.vectors import Components, Scalar, Vector
from linkwork.errors import MOST_FOUND, ModelError, UsageError, did_you_mean
from linkwork.expressions.evaluation import evaluate, ordered, substitute
from linkwork.expressions.graph import Expr, as_expr, constant, symbol
from linkwork.expressions.parser import RESERVED, ExpressionError
from linkwork.expressions.parser import parse as parse_expression
from linkwork.model import About, Model
from linkwork.modelfile import schema
from linkwork.modelfile.actuators import read_actuator
from linkwork.modelfile.dimensions import Exponents, exponents_of, follow
from linkwork.modelfile.events import read_event
from linkwork.modelfile.faults import NOT_IN_NAMES, shape_fault
from linkwork.modelfile.live import read_live
from linkwork.modelfile.orientation import read_orientation
from linkwork.modelfile.signals import declare_signals, read_signals
from linkwork.modelfile.simulation import read_simulation
from linkwork.modelfile.stated import PLAIN_NAME, own_names, read_stated
from linkwork.notes import Note
from linkwork.tolerances import AGREEMENT, TYPED
from linkwork.units import Kind, quantity

if TYPE_CHECKING:
    from linkwork.modelfile.stated_schema import StatedEntry
    from linkwork.modelfile.tables import Lookup


class Translation:
    """The way from entries to elements; faults are collected, with something harmless in their place."""

    def __init__(self, document: Document, entry: Any, changes: Mapping[str, str | float]) -> None:
        self.document = document
        self.entry = entry
        self.stated: StatedEntry | None = getattr(entry, "equations", None)  # of a system without bodies
        self.space: Space = entry.space
        self.errors: list[ModelError] = []
        self.notes: list[Note] = []
        self.folded: set[str] = set()
        self.names: dict[str, Expr] = {}
        self.values: dict[Expr, float] = {}
        self.declared: dict[Expr, Exponents | None] = {}  # units of parameters and of quantities in formulas
        self.quantities: dict[Expr, Expr] = {}  # in formulas: what they are in SI
        self.measured = {symbol("t"): exponents_of("s"), LENGTH: exponents_of("m")}
        self.bodies: dict[str, Body] = {}
        self.tables: dict[str, Lookup] = {}
        if getattr(entry, "tables", None):
            from linkwork.modelfile.tables import read_tables

            self.tables = read_tables(self)
        self.parameters(changes)
        self.ground: Ground = self.element(Ground, entry.ground, ("ground",), name="ground")
        self.bodies["ground"] = self.ground
        for name, body in entry.bodies.items():
            if name == "ground":
                self.fail(("bodies", name), "'ground' is the name of what does not move", "reserved-name", value=name)
            self.bodies[name] = self.element(schema.BODIES[self.space], body, ("bodies", name), name=name)
            self.measured |= {known: exponents_of(unit) for known, unit in measures_of(self.bodies[name])}
        self.signals = declare_signals(self)
        self.joints: dict[str, Joint] = {}
        kinds = {name: JOINTS[self.space][joint.type] for name, joint in entry.joints.items()}
        for name, cls in sorted(kinds.items(), key=lambda known: issubclass(known[1], Coupling)):  # those last
            self.joints[name] = self.element(cls, entry.joints[name], ("joints", name), name=name)

    def fail(self, place: Keys, message: str, code: str, **details: Any) -> None:
        self.errors.append(self.document.locate(ModelError(message, code, **details), place))
        if len(self.errors) >= MOST_FOUND:
            self.stop()

    def stop(self) -> None:
        if self.errors:
            raise ModelError.together(self.errors)

    def check_name(self, place: Keys) -> None:
        name = str(place[-1])
        if wrong := next((c for c in NOT_IN_NAMES if c in name), None):
            self.fail(place, f"'{wrong}' in the name '{name}'", "bad-name", value=name, rule=NOT_IN_NAMES[wrong])

    def parameters(self, changes: Mapping[str, str | float]) -> None:
        """Read parameters: with a number they are symbols with a value, with a formula they become what it says."""
        given: dict[str, Any] = self.entry.parameters
        for name in given:
            if not re.fullmatch(PLAIN_NAME, name):
                rule = "the name of a parameter is made of letters, digits and underscores"
                self.fail(("parameters", name), f"'{name}' cannot stand in a formula", "bad-name", rule=rule)
            elif name in RESERVED or name == "t":
                message = f"'{name}' has a meaning of its own in formulas"
                self.fail(("parameters", name), message, "reserved-name", value=name)
        self.stop()
        symbols = {name: symbol(name) for name in given}
        formulas: dict[str, Expr] = {}
        for name, text in given.items():
            if name in changes:
                found = self.changed(name, changes[name], symbols)
            else:
                found = self.read(text, None, symbols, ("parameters", name), of_parameters=False, keeps_units=True)
            if isinstance(found, Expr) and self.in_si(found).is_constant:
                self.declared[symbols[name]] = self.follow_units(given[name], found, None, ("parameters", name))
                found = self.in_si(found).number
            if isinstance(found, Expr):
                formulas[name] = found
            elif not math.isfinite(found):
                self.fail(("parameters", name), f"{found} is not a finite number", "not-finite", value=found)
            else:
                self.names[name], self.values[symbols[name]] = symbols[name], found
        self.stop()
        read = {name: units.unit_of(text) for name, text in given.items() if isinstance(text, str)}
        self.stated_units = {name: unit for name, unit in read.items() if unit is not None}
        self.declared |= {symbols[name]: exponents_of(unit) for name, unit in self.stated_units.items()}
        needs = {
            name: {str(x.value) for x in ordered([formula]) if x.op == "symbol" and x not in self.quantities}
            for name, formula in formulas.items()
        }
        try:
            order = [name for name in TopologicalSorter(needs).static_order() if name in formulas]
        except CycleError as error:
            cycle: list[str] = error.args[1][::-1]
            self.fail(("parameters", cycle[0]), f"cycle {' -> '.join(cycle)}", "parameter-cycle")
            self.stop()
        numbers = {name: self.values[symbols[name]] for name in self.names}
        for name in order:
            # By the numbers of those it needs: to go down to the first of a chain each time would take its square.
            known = {symbols[other]: numbers[other] for other in needs[name]}
            numbers[name] = evaluate([self.in_si(formulas[name])], known)[0]
            if not math.isfinite(numbers[name]):
                self.fail_finite(("parameters", name), given[name])
            named = {symbols[other]: self.names[other] for other in needs[name]}
            self.names[name] = substitute([self.in_si(formulas[name])], named)[0]
            unit = self.follow_units(given[name], formulas[name], None, ("parameters", name))
            if unit is not None:
                self.declared[symbols[name]] = unit
        self.stop()

    def changed(self, name: str, value: str | float, symbols: Mapping[str, Expr]) -> Scalar:
        """Return the new value of a parameter; a quantity must be of the kind it had."""
        original = self.entry.parameters[name]
        unit = units.unit_of(original) if isinstance(original, str) else None
        kind = Kind(f"a quantity like '{original}'", unit, original) if unit else None
        found = self.read(value, kind, symbols, ("parameters", name), of_parameters=False, keeps_units=True)
        if self.errors:
            error = self.errors[-1]
            message = "; ".join(part for part in (error.message, error.rule, error.suggestion) if part)
            raise UsageError(f"{name}={value}: {message}", error.code)
        return found

    def read(
        self,
        value: Any,
        kind: Kind | None,
        names: Mapping[str, Expr],
        place: Keys,
        of_parameters: bool = True,
        keeps_units: bool = False,
    ) -> Scalar:
        """Read a number, quantity or formula as a float or an expression; of parameters alone it must be finite.

        Quantities in a formula become numbers in SI, unless its units are still to be followed.
        """
        if not isinstance(value, str):
            return float(value)
        for name in self.bodies if not of_parameters and "." in value else ():
            if not re.fullmatch(PLAIN_NAME, name) and re.search(rf"(?<![\w.]){re.escape(name)}\.[^\W\d]", value):
                rule = "names in formulas are made of letters, digits and underscores"
                self.fail(place, f"the name of body '{name}' cannot stand in a formula", "bad-name", rule=rule)
                return 1.0
        try:
            number = quantity(value, kind)
            if number is not None:
                return number
            called: list[tuple[Lookup, Expr]] = []
            formula = parse_expression(value, names, self.functions(called), self.quantity_in_formula)
            self.check_parameter(value.strip(), kind)
        except ModelError as error:
            self.errors.append(self.document.locate(error, place))
            return 1.0
        except ExpressionError as error:
            self.fail(place, f"'{units.shown(value)}': {error.reason}", error.code, value=value)
            return 1.0
        self.check_arguments(called, place)
        if not formula.is_constant:
            self.follow_units(value, formula, kind, place)
        if keeps_units and not formula.is_constant:
            return formula
        expression = self.in_si(formula)
        if expression.is_constant:
            return expression.number
        if of_parameters or not any(node.op == "symbol" for node in ordered([expression])):
            self.check_finite(expression, place, value)
        return expression

    def quantity_in_formula(self, number: str, unit: str) -> Expr:
        """Return a symbol for a quantity, so that its unit can be followed."""
        text = f"{number} {unit}"
        found, value = symbol(text), quantity(text, None)
        assert value is not None
        self.quantities[found], self.declared[found] = constant(value), exponents_of(unit)
        return found

    def in_si(self, formula: Expr) -> Expr:
        return substitute([formula], self.quantities)[0] if self.quantities else formula

    def functions(self, called: list[tuple[Lookup, Expr]]) -> dict[str, Callable[[Expr], Expr]]:
        """Return the tables as functions, which note what they are given."""

        def calling(lookup: Lookup) -> Callable[[Expr], Expr]:
            def call(x: Expr) -> Expr:
                called.append((lookup, x))
                return lookup.curve(x)

            return call

        return {name: calling(lookup) for name, lookup in self.tables.items()}

    def check_arguments(self, called: Sequence[tuple[Lookup, Expr]], place: Keys) -> None:
        """Check that the argument of a table with units has its unit, or none."""
        for lookup, x in called:
            if lookup.unit:
                kind = Kind("what the table takes", lookup.unit, "")
                try:
                    follow(units.shown(str(x)), x, {**self.measured, **self.declared}, {}, kind)
                except ModelError as error:
                    self.errors.append(self.document.locate(error, place))

    def check_parameter(self, name: str, kind: Kind | None) -> None:
        """Give a parameter the unit of a field that is just this parameter."""
        given = self.entry.parameters.get(name)
        if kind not in (None, units.NUMBER_KIND) and isinstance(given, str):
            try:
                quantity(given, kind)
            except ModelError as error:
                raise ModelError(
                    f"parameter '{name}': {error.message}", error.code, value=given, suggestion=error.suggestion
                ) from None

    def follow_units(self, text: str, expression: Expr, kind: Kind | None, place: Keys) -> Exponents | None:
        try:
            return follow(units.shown(text), expression, self.declared, self.measured, kind)
        except ModelError as error:
            self.errors.append(self.document.locate(error, place))
            return None

    def check_finite(self, expression: Expr, place: Keys, text: str) -> None:
        if not math.isfinite(evaluate([expression], self.values)[0]):
            self.fail_finite(place, text)

    def fail_finite(self, place: Keys, text: str) -> None:
        self.fail(place, f"'{units.shown(text)}' has no finite value", "not-finite", value=text)

    def value(self, x: Scalar) -> float:
        return float(evaluate([x], self.values)[0]) if isinstance(x, Expr) else x

    def body(self, name: str, place: Keys) -> Body:
        if name not in self.bodies:
            hint = did_you_mean(name, self.bodies)
            self.fail(place, f"no body '{name}'", "unknown-body", value=name, suggestion=hint)
        return self.bodies.get(name, self.ground)

    def point(self, reference: str, place: Keys) -> tuple[Body, Components]:
        """Return a point by its name "body.point"."""
        name, _, point = reference.partition(".")
        body = self.body(name, place)
        if name in self.bodies and point not in body.points:
            message = f"body '{name}' has no point '{point}'" if point else f"'{reference}' names no point"
            whole = [f"{name}.{known}" for known in body.points]
            hint = did_you_mean(point, body.points) if point else did_you_mean("", whole) or "write body.point"
            self.fail(place, message, "unknown-point", value=reference, suggestion=hint)
        return body, body.points.get(point, (0.0,) * self.size)

    @property
    def size(self) -> int:
        return 2 if self.space == "planar" else 3

    def direction(self, reference: str, body: Body, origin: Components, letter: str, place: Keys) -> Components:
        """Return a direction of this body by its name "body.direction".

        In space also from the joint's point to another.
        """
        name, _, direction = reference.partition(".")
        points = body.points if self.space == "spatial" else {}
        if name == body.name and direction in points and direction not in body.directions:
            return (Vector(points[direction]) - Vector(origin)).components
        if name != body.name or direction not in body.directions:
            hint = did_you_mean(reference, [f"{body.name}.{known}" for known in (*body.directions, *points)])
            if len(reference) == 1 and reference in (axes := "xyz"[: self.size]):
                hint = f"write {[int(axis == reference) for axis in axes]}"
            message = f"'{reference}' is not a direction of body {letter}, which is '{body.name}'"
            self.fail(place, message, "unknown-direction", value=reference, suggestion=hint)
        return body.directions.get(direction, (1.0,) + (0.0,) * (self.size - 1))

    def named(self, role: str, key: str, value: Any, given: dict[str, Any], place: Keys) -> Any:
        """Return what a name in a field leads to: another body, a joint, a point of the body itself, a direction."""
        if role == "body":
            return self.body(value, place)
        if role == "joint":
            joint = self.joints.get(value)
            if joint is None:
                hint = did_you_mean(value, self.joints)
                self.fail(place, f"no joint '{value}'", "unknown-joint", value=value, suggestion=hint)
            return joint
        if "points" in given:  # a body names one of its own points
            if value not in given["points"]:
                hint = did_you_mean(value, given["points"])
                self.fail(place, f"no point '{value}' on this body", "unknown-point", value=value, suggestion=hint)
            return given["points"].get(value, (0.0,) * self.size)
        letter = "j" if key.endswith("_j") else "i"
        return self.direction(value, given[f"body_{letter}"], given[f"s_{letter}"], letter, place)

    def inertia(self, value: list[Any], place: Keys) -> Components:
        """Return (xx, yy, zz, xy, yz, zx) of three moments, of these six, or of a matrix, which is symmetric."""
        kind = units.INERTIA
        if not isinstance(value[0], list):
            return (*self.numbers(value, kind, self.names, place), *(0.0,) * (6 - len(value)))
        rows = [self.numbers(row, kind, self.names, (*place, k)) for k, row in enumerate(value)]
        for k, n in ((0, 1), (1, 2), (2, 0)):
            a, b = self.value(rows[k][n]), self.value(rows[n][k])
            if abs(a - b) > AGREEMENT * (abs(a) + abs(b)):
                message = f"entries ({k + 1}, {n + 1}) and ({n + 1}, {k + 1}) are {a:g} and {b:g}"
                self.fail((*place, k, n), message, "not-symmetric", rule="an inertia matrix is symmetric")
        return rows[0][0], rows[1][1], rows[2][2], rows[0][1], rows[1][2], rows[2][0]

    def turning(self, value: Any, e: Components | None, place: Keys) -> Components:
        """Return the angular velocity in the axes of the body."""
        if isinstance(value, list):
            return self.numbers(value, units.ANGULAR_SPEED, self.names, place)
        omega = self.numbers(value["ground"], units.ANGULAR_SPEED, self.names, (*place, "ground"))
        turned = SPATIAL_GROUND if e is None else replace(SPATIAL_GROUND, e=Vector(e))
        return turned.in_body(Vector(omega)).components

    def matrix(self, value: list[Any], kinds: tuple[Kind, ...], place: Keys) -> tuple[Components, ...]:
        """Return rows of a 6 x 6 matrix, of which the diagonal may stand for all.

        `kinds` are those of entries for two shifts, for a shift and a turn, and for two turns.
        """
        if not isinstance(value[0], list):
            diagonal = [self.read(x, kinds[2 * (k // 3)], self.names, (*place, k)) for k, x in enumerate(value)]
            return tuple(tuple(x if k == n else 0.0 for n in range(6)) for k, x in enumerate(diagonal))
        return tuple(
            tuple(self.read(x, kinds[k // 3 + n // 3], self.names, (*place, k, n)) for n, x in enumerate(row))
            for k, row in enumerate(value)
        )

    @cached_property
    def time_names(self) -> dict[str, Expr]:
        return {**self.names, "t": symbol("t")}

    @cached_property
    def motion_names(self) -> dict[str, Expr]:
        """What formulas of forces may name: time, parameters, coordinates and velocities of bodies and points."""
        if self.stated:
            return {**self.time_names, **own_names(self.stated)}
        found = {**self.time_names, **self.signals}
        for body in self.bodies.values():
            found |= {str(known.value): known for known, _ in measures_of(body)}
        return found

    def law_names(self, measures: tuple[str, ...], text: Any, place: Keys) -> dict[str, Expr]:
        """Return the names of `motion_names` and what this force measures."""
        for name in measures:
            if name in self.names and isinstance(text, str) and re.search(rf"(?<![\w.]){name}(?![\w.])", text):
                message = f"'{name}' is a parameter and also what this force measures"
                self.fail(place, message, "ambiguous-name", suggestion="give the parameter another name")
        return {**self.motion_names, **{name: symbol(f"{name}'") for name in measures}}

    def element(self, cls: type, entry: Any, place: Keys, of: str | None = None, name: str | None = None) -> Any:
        """Return an element from its entry.

        What belongs to a freedom belongs to one `of` this kind, length or angle.
        """
        special = self.kinds_of(cls, entry, place) if of is None else {}
        given: dict[str, Any] = {}
        if name is not None:
            given["name"] = name
            self.check_name(place)
        for key, (form, kinds, of_motion, names), field in schema.keys(cls):
            value, at = getattr(entry, key), (*place, key)
            if value is None:
                continue
            kind = special.get(key, kinds[0] if len(kinds) == 1 else None)
            if of is not None and len(kinds) == 2:
                kind = kinds[of == "angle"]
            if form == "point":
                given[field.name], given[field.name.replace("body", "s")] = self.point(value, at)
            elif form in ("body", "joint", "axis") and isinstance(value, str):
                given[field.name] = self.named(form, key, value, given, at)
            elif form in ("flag", "name", "freedom", "values", "choice"):
                given[field.name] = value
            elif form == "names":
                given[field.name] = tuple(value)
            elif form == "inertia":
                given[field.name] = self.inertia(value, at)
            elif form == "orientation":
                given[field.name] = read_orientation(self, value, at)
            elif form == "turning":
                given[field.name] = self.turning(value, given.get("orientation"), at)
            elif form == "matrix":
                given[field.name] = self.matrix(value, kinds, at)
            elif form == "points":
                for point in value:
                    self.check_name((*at, point))
                given[field.name] = {k: self.numbers(xy, kind, self.names, (*at, k)) for k, xy in value.items()}
            elif form == "vectors":
                given[field.name] = tuple(self.numbers(xy, kind, self.names, (*at, k)) for k, xy in enumerate(value))
            elif of_motion and isinstance(value, list):
                given[field.name] = self.numbers(value, kind, self.motion_names, at, of_parameters=False)
            elif of_motion:
                known = self.law_names(names, value, at)
                given[field.name] = as_expr(self.read(value, kind, known, at, of_parameters=False))
            elif isinstance(value, list):
                given[field.name] = self.numbers(value, kind, self.names, at)
                if form == "axis" and kind is units.NUMBER_KIND:
                    self.note_length(given[field.name], at)
            else:
                given[field.name] = self.read(value, kind, self.names, at)
        return cls(**given)

    def kinds_of(self, cls: type, entry: Any, place: Keys) -> dict[str, Kind]:
        """Return what the numbers of an element are that depend on a freedom or on an exponent."""
        of, found = "length", dict[str, Kind]()
        if any(holds.form == "freedom" for _, holds, _ in schema.keys(cls)):
            joint = self.joints.get(entry.joint)
            freedoms = () if joint is None else joint.freedom_names
            freedom = entry.freedom or "".join(freedoms[:1])
            if freedom not in freedoms:
                return found  # which is a fault of its own
            of = FREEDOMS[freedom]
            found = {key: holds.kinds[of == "angle"] for key, holds, _ in schema.keys(cls) if len(holds.kinds) == 2}
        if cls is Coupling:
            found |= self.kinds_of_coupling(entry.joint, entry.follower)
        if cls is VelocityConstraint and entry.of != "number":
            found["formula"] = units.ANGULAR_SPEED if entry.of == "angle" else units.SPEED
        if issubclass(cls, Compliance):
            law, known = MODELS[entry.model or cls.model], len(self.errors)
            exponent = law.get("exponent", 1.0)
            if "exponent" in law and entry.exponent is not None:
                given = self.read(entry.exponent, units.NUMBER_KIND, self.names, (*place, "exponent"))
                exponent = self.value(given)
                if isinstance(entry.stiffness, str):  # whose unit is of this exponent alone
                    self.fold([given])
            if len(self.errors) == known and 1.0 <= exponent < 10.0:
                found |= schema.kinds_of_surface(exponent, of)
            del self.errors[known:]  # which are found once more where the exponent itself is read
        return found

    def kinds_of_coupling(self, leads: str, follows: str) -> dict[str, Kind]:
        """Return what ratio and offset of a coupling are: a slide and a hinge have a length per angle."""
        joints = [joint for name in (leads, follows) if (joint := self.joints.get(name)) is not None]
        freedoms = ["".join(joint.freedom_names[:1]) for joint in joints]
        units_of = ["rad" if FREEDOMS.get(freedom) == "angle" else "m" for freedom in freedoms]
        if len(units_of) < 2:
            return {}  # which is a fault of its own
        found = {"offset": units.ANGLE if units_of[1] == "rad" else units.LENGTH}
        if units_of[0] != units_of[1]:
            unit = f"{units_of[1]}/{units_of[0]}"
            found["ratio"] = units.Kind(f"ratio in {unit}", unit, f"0.1 {unit}")
        return found

    def note_length(self, direction: Components, place: Keys) -> None:
        """Note the length of a direction, neither 1 nor 0 (a fault): directions count as unit vectors."""
        length = math.hypot(*map(self.value, direction))
        if length and abs(length - 1.0) > TYPED:
            at = ".".join(map(str, place))
            varies = any(isinstance(x, Expr) and not x.is_constant for x in direction)
            self.notes.append(Note("not-unit", at=at, length=None if varies else length))

    def numbers(
        self, values: list[Any], kind: Kind | None, names: Mapping[str, Expr], place: Keys, of_parameters: bool = True
    ) -> Components:
        return tuple(self.read(x, kind, names, (*place, k), of_parameters) for k, x in enumerate(values))

    def driver(self, name: str, entry: schema.DriverEntry) -> Driver | None:
        place = ("drivers", name)
        self.check_name(place)
        if name in self.joints:
            self.fail(place, f"'{name}' is also the name of a joint", "duplicate-name", value=name)
        joint = self.driven(place, entry)
        freedom = "" if joint is None else self.freedom(place, entry, joint)
        motion = self.motion(entry.motion, FREEDOMS.get(freedom, "length"), (*place, "motion"))
        return None if joint is None or motion is None else Driver(name, joint, freedom, motion)

    def freedom(self, place: Keys, entry: Any, joint: Joint) -> str:
        """Return the freedom of a joint, or of a measure, that an entry names, or the only one."""
        freedoms = joint.freedom_names
        is_measure = isinstance(joint, MEASURES[self.space])
        freedom = entry.freedom or ("distance" if is_measure else "".join(freedoms[:1]))
        if not freedoms:
            self.fail((*place, "joint"), f"joint '{entry.joint}' leaves no freedom to drive", "no-freedom")
        elif freedom not in freedoms:
            hint = did_you_mean(freedom, freedoms)
            self.fail((*place, "freedom"), f"no freedom '{freedom}'", "unknown-freedom", suggestion=hint)
        elif entry.freedom is None and len(freedoms) > 1 and not is_measure:
            hint = "add freedom: " + " or ".join(freedoms)
            self.fail(place, f"joint '{entry.joint}' leaves several freedoms", "which-freedom", suggestion=hint)
        return freedom

    def driven(self, place: Keys, entry: Any) -> Joint | None:
        """Return the joint that a driver or an actuator moves, or the measure between two points."""
        if entry.joint is not None and entry.i is None and entry.j is None:
            if entry.joint not in self.joints:
                hint = did_you_mean(entry.joint, self.joints)
                message = f"no joint '{entry.joint}'"
                self.fail((*place, "joint"), message, "unknown-joint", value=entry.joint, suggestion=hint)
            return self.joints.get(entry.joint)
        if entry.joint is None and entry.i is not None and entry.j is not None:
            body_i, s_i = self.point(entry.i, (*place, "i"))
            body_j, s_j = self.point(entry.j, (*place, "j"))
            measure: Joint = MEASURES[self.space](str(place[-1]), body_i, body_j, s_i, s_j)
            return measure
        if place[0] == "drivers":
            self.fail(place, "a driver needs either a joint or two points i and j", "driver-target")
        else:
            message = "an actuator needs a joint, two points i and j, or what it acts on"
            self.fail(place, message, "actuator-target", suggestion="write {joint: A} or {on: body}")
        return None

    def motion(self, given: Any, of: str, place: Keys) -> Motion | None:
        """Return a formula of t, or one of the named motions, for a freedom that is a length or an angle."""
        if isinstance(given, int | float | str) and not isinstance(given, bool):
            kind = units.ANGLE if of == "angle" else units.LENGTH
            return Law(as_expr(self.read(given, kind, self.time_names, place, of_parameters=False)))
        try:
            entry: Any = schema.motion_holder().model_validate({"motion": given})
        except pydantic.ValidationError as error:
            details = error.errors(include_url=False)
            self.errors += [shape_fault(detail, self.document, place[:-1]) for detail in details]
            return None
        motion: Motion = self.element(MOTIONS[entry.motion.type], entry.motion, place, of)
        if isinstance(motion, Table):
            self.fold((*motion.times, *motion.values))
            return Table(tuple(map(self.value, motion.times)), tuple(map(self.value, motion.values)))
        return motion

    def shape(self, cls: type[Shape], entry: Any, place: Keys) -> Shape:
        """Return how a body looks; a mesh with the triangles of its file."""
        shape: Shape = self.element(cls, entry, place)
        if isinstance(shape, Mesh):
            from linkwork.formats.meshes import read_mesh
            from linkwork.modelfile.tables import beside

            try:
                return replace(shape, triangles=read_mesh(beside(self.document.file, shape.file)))
            except ModelError as error:
                self.errors.append(self.document.locate(error, (*place, "file")))
        return shape

    def fold(self, numbers: Iterable[Scalar]) -> None:
        """Take note of the parameters whose values become numbers here."""
        used = ordered([x for x in numbers if isinstance(x, Expr)])
        self.folded |= {node.value for node in used if node.op == "symbol"}

    def model(self, notes: tuple[Note, ...]) -> Model:
        entry = self.entry
        drivers = [self.driver(name, driver) for name, driver in entry.drivers.items()]
        forces = [
            self.element(FORCES[self.space][force.type], force, ("forces", name), name=name)
            for name, force in entry.forces.items()
        ]
        actuators = [read_actuator(self, name, own) for name, own in getattr(entry, "actuators", {}).items()]
        loads = [*forces, *actuators]
        inputs, outputs, states = read_signals(self, drivers, loads)
        if entry.events:
            self.stop()  # what forces measure is known of sound ones
        events = tuple(read_event(self, name, event, drivers, loads) for name, event in entry.events.items())
        shaped = {name: body.shape for name, body in entry.bodies.items() if body.shape is not None}
        known = SHAPES[self.space]
        shapes = {n: self.shape(known[shape.type], shape, ("bodies", n, "shape")) for n, shape in shaped.items()}
        gravity = self.numbers(entry.gravity, units.ACCELERATION, self.names, ("gravity",))
        stated = read_stated(self, self.stated) if self.stated else None
        simulation = read_simulation(self)
        live = read_live(self)
        self.stop()
        checked = entry.about.checked
        view = schema.ViewEntry() if self.stated else entry.view
        window = view.window
        try:
            units.choose_units(view.units)
        except (ModelError, UsageError) as error:
            self.fail(("view", "units"), getattr(error, "message", str(error)), error.code, value=view.units)
        self.stop()
        return Model(
            name=entry.name or Path(self.document.file).stem.encode(errors="backslashreplace").decode(),
            bodies=tuple(body for body in self.bodies.values() if not isinstance(body, Ground)),
            joints=tuple(self.joints.values()),
            drivers=tuple(driver for driver in drivers if driver is not None),
            forces=tuple(forces),
            gravity=gravity,
            parameters={str(name.value): value for name, value in self.values.items()},
            stated_units=self.stated_units,
            ground=self.ground,
            space=entry.space,
            simulation=simulation,
            folded=frozenset(self.folded),
            about=About(entry.about.title, entry.about.source, checked.model_dump() if checked else {}),
            notes=(*notes, *self.notes),
            shapes=shapes,
            colours={name: body.colour for name, body in entry.bodies.items() if body.colour is not None},
            window=None if window is None else (tuple(window[0]), tuple(window[1])),
            live=live,
            units=tuple(view.units),
            order=tuple(view.order),
            events=events,
            open=frozenset(name for name, joint in entry.joints.items() if joint.open),
            inputs=inputs,
            outputs=outputs,
            states=states,
            stated=stated,
            actuators=tuple(actuators),
        )
