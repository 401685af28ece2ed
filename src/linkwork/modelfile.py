"""Model files: their schema, and the way from a file to a Model.

The shape of a file (keys, lists, types) is checked by pydantic models, those of joints, forces and motions being made
from the elements themselves. What remains (quantities, formulas, references between elements) is checked while the
Model is put together. Either way all faults are collected and reported with their lines.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import MISSING, Field, fields
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any, Literal, Union, cast

import pydantic
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainValidator, WithJsonSchema, create_model
from pydantic_core import ErrorDetails, PydanticCustomError

from linkwork import units
from linkwork.document import Data, Document, Place, parse, read
from linkwork.elements.bodies import Body, Ground, PlanarBody
from linkwork.elements.drivers import Driver
from linkwork.elements.forces import FORCES, RotationalSpringDamper
from linkwork.elements.joints import JOINTS, Joint, Measure, start_frame
from linkwork.elements.motions import MOTIONS, Law, Motion, Table
from linkwork.elements.shapes import SHAPES as LOOKS
from linkwork.elements.vectors import Components, Scalar
from linkwork.errors import ModelError, UsageError, check_choice, did_you_mean
from linkwork.expressions.evaluation import evaluate, ordered, substitute
from linkwork.expressions.graph import Expr, as_expr, symbol
from linkwork.expressions.parser import RESERVED, ExpressionError
from linkwork.expressions.parser import parse as parse_expression
from linkwork.mechanisms.generators import GENERATORS
from linkwork.model import About, Model, Simulation
from linkwork.soundness import sound
from linkwork.units import Kind, quantity

FORMAT = 1
MECHANISMS = Path(__file__).parent / "mechanisms"
SUFFIXES = (".yaml", ".yml", ".json")

# What the numbers of elements are, by the names of their fields.
KINDS = {
    "mass": units.MASS,
    "inertia": units.INERTIA,
    "position": units.LENGTH,
    "angle": units.ANGLE,
    "velocity": units.SPEED,
    "angular_velocity": units.ANGULAR_SPEED,
    "gravity": units.ACCELERATION,
    "points": units.LENGTH,
    "directions": units.NUMBER_KIND,
    "axis": units.NUMBER_KIND,
    "length": units.LENGTH,
    "radius": units.LENGTH,
    "radius_i": units.LENGTH,
    "radius_j": units.LENGTH,
    "stiffness": units.STIFFNESS,
    "damping": units.DAMPING,
    "free_length": units.LENGTH,
    "free_angle": units.ANGLE,
    "actuator": units.FORCE,
    "law": units.FORCE,
    "force": units.FORCE,
    "torque": units.TORQUE,
    "t_start": units.TIME,
    "t_end": units.TIME,
    "times": units.TIME,
    "step": units.TIME,
    "rtol": units.NUMBER_KIND,
    "atol": units.NUMBER_KIND,
    **dict.fromkeys(("ends", "width", "size", "centre", "corners"), units.LENGTH),
}
ROTATIONAL = {
    **KINDS,
    "stiffness": units.ROTATIONAL_STIFFNESS,
    "damping": units.ROTATIONAL_DAMPING,
    "actuator": units.TORQUE,
    "law": units.TORQUE,
}
# The values of a motion are of the kind of the freedom that is driven.
TURNING = {
    **KINDS,
    **dict.fromkeys(("value", "values", "start", "end"), units.ANGLE),
    "rate": units.ANGULAR_SPEED,
    "acceleration": units.ANGULAR_ACCELERATION,
}
SLIDING = {
    **KINDS,
    **dict.fromkeys(("value", "values", "start", "end"), units.LENGTH),
    "rate": units.SPEED,
    "acceleration": units.ACCELERATION,
}
# Formulas in these fields may name time and the motion of bodies, in all others parameters only.
OF_MOTION = ("law", "actuator", "force", "torque")
# What the law of a force may call the motion it measures.
MEASURES = {"spring-damper": ("length", "rate"), "rotational-spring-damper": ("angle", "rate")}


# The shape of a file


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise PydanticCustomError("number", "should be a number, a quantity or a formula")
    return value


def _axis(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 2:
        return [_number(x) for x in value]
    if not isinstance(value, str):
        raise PydanticCustomError("axis", "should be a pair of numbers or the name body.direction")
    return value


def _nothing_is_empty(value: Any) -> Any:
    return {} if value is None else value


NUMBER_SCHEMA = {"type": ["number", "string"]}
PAIR_SCHEMA = {"type": "array", "items": NUMBER_SCHEMA, "minItems": 2, "maxItems": 2}
NUMBER: Any = Annotated[Any, PlainValidator(_number), WithJsonSchema(NUMBER_SCHEMA)]
PAIR: Any = Annotated[list[NUMBER], pydantic.Field(min_length=2, max_length=2)]
SHAPES: dict[str, Any] = {
    "number": NUMBER,
    "pair": PAIR,
    "list": list[NUMBER],
    "points": dict[str, PAIR],
    "pairs": Annotated[list[PAIR], pydantic.Field(min_length=2)],
    "point": str,
    "body": str,
    "axis": Annotated[Any, PlainValidator(_axis), WithJsonSchema({"anyOf": [PAIR_SCHEMA, {"type": "string"}]})],
    "flag": bool,
}


def _keys(cls: type) -> Iterator[tuple[str, str, Field[Any]]]:
    """What an element is in a file: key, role and field of the dataclass.

    A body with a point on it is one reference "body.point": i, j, at. A body alone is its name: i, j, on, carrier.
    """
    names = {field.name for field in fields(cls)}
    for field in fields(cls):
        match field.name:
            case "name" | "s" | "s_i" | "s_j":
                continue
            case "body_i" | "body_j":
                yield field.name[-1], "point" if f"s_{field.name[-1]}" in names else "body", field
            case "body":
                yield ("at", "point", field) if "s" in names else ("on", "body", field)
            case "carrier":
                yield field.name, "body", field
            case "internal" | "follows":
                yield field.name, "flag", field
            case "position" | "velocity" | "force" | "size" | "centre":
                yield field.name, "pair", field
            case "ends" | "corners":
                yield field.name, "pairs", field
            case "times" | "values":
                yield field.name, "list", field
            case "points" | "directions":
                yield field.name, "points", field
            case "axis":
                yield field.name, "axis", field
            case _:
                yield field.name, "number", field


class Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


def _entry(cls: type, type_name: str | None = None) -> type[Entry]:
    """The shape of an element in a file; one of several types names its own."""
    kinds = ROTATIONAL if cls is RotationalSpringDamper else KINDS
    shape: dict[str, Any] = {"type": (Literal[type_name], ...)} if type_name else {}
    for key, role, field in _keys(cls):
        annotation = SHAPES[role]
        if kind := kinds.get(key):
            text = kind.name if kind.unit == "1" else f"{kind.name} in {kind.unit}, or with a unit, or a formula"
            annotation = Annotated[annotation, pydantic.Field(description=text, examples=[kind.example])]
        required = field.default is MISSING and field.default_factory is MISSING
        shape[key] = (annotation, ...) if required else (annotation | None, None)
    return create_model(f"{cls.__name__}Entry", __base__=Entry, __doc__=(cls.__doc__ or "").split("\n")[0], **shape)


def _one_of(entries: Mapping[str, type[Entry]]) -> Any:
    return Annotated[Union[tuple(entries.values())], pydantic.Field(discriminator="type")]  # noqa: UP007


def _section(annotation: Any) -> Any:
    return Annotated[dict[str, annotation], BeforeValidator(_nothing_is_empty)]


class DriverEntry(Entry):
    """A freedom of a joint, or a measure between two points, follows a function of time."""

    joint: str | None = None
    i: str | None = None
    j: str | None = None
    freedom: str | None = None
    motion: Any


class CheckedEntry(Entry):
    """One number the mechanism must reproduce."""

    quantity: str
    t: float
    value: float
    tolerance: float
    source: str = ""
    analysis: str = "run"


class AboutEntry(Entry):
    """Where the mechanism comes from."""

    title: str = ""
    source: str = ""
    checked: CheckedEntry | None = None


JOINT_ENTRIES = {name: _entry(cls, name) for name, cls in JOINTS.items()}
FORCE_ENTRIES = {name: _entry(cls, name) for name, cls in FORCES.items()}
MOTION_ENTRIES = {name: _entry(cls, name) for name, cls in MOTIONS.items()}
GroundEntry = _entry(Ground)
SHAPE_ENTRIES = {name: _entry(cls, name) for name, cls in LOOKS.items()}
BodyEntry = create_model("BodyEntry", __base__=_entry(PlanarBody), shape=(_one_of(SHAPE_ENTRIES) | None, None))
SimulationEntry = _entry(Simulation)
SECTIONS: dict[str, Any] = {
    "linkwork": (Annotated[Any, WithJsonSchema({"const": FORMAT, "description": "version of the format"})], ...),
    "name": (str | None, None),
    "about": (AboutEntry, AboutEntry()),
    "space": (Literal["planar"], "planar"),
    "gravity": (PAIR, [0, -9.81]),
    "parameters": (_section(NUMBER), {}),
    "ground": (GroundEntry, GroundEntry()),
    "bodies": (_section(BodyEntry), ...),
    "joints": (_section(_one_of(JOINT_ENTRIES)), {}),
    "drivers": (_section(DriverEntry), {}),
    "forces": (_section(_one_of(FORCE_ENTRIES)), {}),
    "simulation": (SimulationEntry, SimulationEntry()),
}
ABOUT_MODELS = "A planar mechanism: bodies, joints, drivers and forces."
ModelEntry = create_model("ModelEntry", __base__=Entry, __doc__=ABOUT_MODELS, **SECTIONS)
MotionHolder = create_model("MotionHolder", __base__=Entry, motion=(_one_of(MOTION_ENTRIES), ...))


def json_schema() -> dict[str, Any]:
    """JSON Schema of model files."""
    schema = ModelEntry.model_json_schema()
    motions = MotionHolder.model_json_schema()
    driver = schema["$defs"]["DriverEntry"]["properties"]
    driver["motion"] = {"anyOf": [NUMBER_SCHEMA, motions["properties"]["motion"]]}
    schema["$defs"] |= motions["$defs"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "linkwork model file",
    }


# Faults of shape


def _keys_allowed(place: Place, data: Data) -> list[str]:
    """The keys known where a key is unknown."""
    cls: type[BaseModel] | None = None
    around = _at(data, place[:-1])
    type_name = str(around.get("type")) if isinstance(around, dict) else ""
    match place[:-1]:
        case ():
            cls = ModelEntry
        case ("bodies", _):
            cls = BodyEntry
        case ("bodies", _, "shape"):
            cls = SHAPE_ENTRIES.get(type_name)
        case ("joints", _):
            cls = JOINT_ENTRIES.get(type_name)
        case ("forces", _):
            cls = FORCE_ENTRIES.get(type_name)
        case ("drivers", _):
            cls = DriverEntry
        case ("drivers", _, "motion"):
            cls = MOTION_ENTRIES.get(type_name)
        case ("ground",):
            cls = GroundEntry
        case ("about",):
            cls = AboutEntry
        case ("about", "checked"):
            cls = CheckedEntry
        case ("simulation",):
            cls = SimulationEntry
    return list(cls.model_fields) if cls else []


def _at(data: Data, place: Place) -> Any:
    found: Any = data
    for step in place:
        found = found[step]
    return found


def _place(loc: tuple[str | int, ...], data: Data) -> Place:
    """Where a fault of shape is: pydantic's loc without the types and branches it mentions."""
    found: Any = data
    place: Place = ()
    for n, step in enumerate(loc):
        inside = step in found if isinstance(found, dict) else isinstance(found, list) and isinstance(step, int)
        if inside:
            place, found = (*place, step), found[step]
        elif n == len(loc) - 1 and isinstance(found, dict) and step != found.get("type"):
            place = (*place, step)  # a key that is missing
    return place


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else f"a list of {len(value)}"
    return "nothing" if value is None else units.shown(repr(value))


def _shape_fault(detail: ErrorDetails, document: Document, before: Place = ()) -> ModelError:
    place = _place((*before, *detail["loc"]), document.data)
    value, kind = detail["input"], detail["type"]
    if kind == "extra_forbidden":
        hint = did_you_mean(str(place[-1]), _keys_allowed(place, document.data))
        error = ModelError(f"unknown key '{place[-1]}'", "unknown-key", suggestion=hint)
    elif kind in ("missing", "union_tag_not_found"):
        missing = place[-1] if kind == "missing" else "type"
        place = place[:-1] if kind == "missing" else place
        error = ModelError(f"'{missing}' is missing", "missing-key")
    elif kind == "union_tag_invalid":
        types: dict[str, Any] = {"joints": JOINTS, "forces": FORCES, "drivers": MOTIONS, "bodies": LOOKS}
        hint = did_you_mean(str(value.get("type")), types[str(place[0])])
        place = (*place, "type")
        error = ModelError(f"no type '{value.get('type')}'", "unknown-type", value=value.get("type"), suggestion=hint)
    elif kind in ("too_short", "too_long"):
        error = ModelError(f"{_shown(value)} where a pair of numbers should be", "wrong-shape", value=value)
    else:
        wanted = detail["msg"].removeprefix("Input ").replace("valid ", "")
        wanted = wanted.replace("dictionary", "mapping").replace("string", "text")
        error = ModelError(f"{_shown(value)}: {wanted}", "wrong-shape", value=value)
    return document.locate(error, place)


def _version_notes(document: Document) -> tuple[str, ...]:
    """The file's format is checked before all else: what a newer one adds would only look wrong."""
    version = document.data.get("linkwork")
    error: ModelError
    if "linkwork" not in document.data:
        error = ModelError("'linkwork' is missing", "missing-key", suggestion="begin the file with 'linkwork: 1'")
        raise document.locate(error, ())
    if isinstance(version, bool) or not isinstance(version, int | float) or version < 1:
        error = ModelError(f"{_shown(version)} is no version of the format", "bad-version", suggestion="write 1")
        raise document.locate(error, ("linkwork",))
    if version >= FORMAT + 1:
        message = f"format {version} is newer than this linkwork, which reads format {FORMAT}"
        error = ModelError(message, "newer-version", value=version, suggestion="install a newer linkwork")
        raise document.locate(error, ("linkwork",))
    if version > FORMAT:
        return (f"format {version} is newer than {FORMAT}; what it adds is not understood [newer-minor-version]",)
    return ()


# From the entries to the model


class _Translation:
    """The way from entries to elements; faults are collected, with something harmless in their place."""

    def __init__(self, document: Document, entry: Any, changes: Mapping[str, str | float]) -> None:
        self.document = document
        self.entry = entry
        self.errors: list[ModelError] = []
        self.names: dict[str, Expr] = {}
        self.values: dict[Expr, float] = {}
        self.parameters(changes)
        self.ground: Ground = self.element(Ground, entry.ground, ("ground",), name="ground")
        self.bodies: dict[str, Body] = {"ground": self.ground}
        for name, body in entry.bodies.items():
            if name == "ground":
                error = ModelError("'ground' is the name of what does not move", "reserved-name", value=name)
                self.fail(error, "bodies", name)
            self.bodies[name] = self.element(PlanarBody, body, ("bodies", name), name=name)
        self.joints: dict[str, Joint] = {
            name: self.element(JOINTS[joint.type], joint, ("joints", name), name=name)
            for name, joint in entry.joints.items()
        }

    def fail(self, error: ModelError, *place: str | int) -> None:
        self.errors.append(self.document.locate(error, place))

    def stop(self) -> None:
        if self.errors:
            raise ModelError.together(self.errors)

    def check_name(self, *place: str | int) -> None:
        """Dots and colons join names, strokes mark names of our own, commas and quotes would break tables."""
        if wrong := re.search(r"[.':,\"]", str(place[-1])):
            self.fail(ModelError(f"'{wrong[0]}' in the name '{place[-1]}'", "bad-name", value=place[-1]), *place)

    def parameters(self, changes: Mapping[str, str | float]) -> None:
        """Parameters with a number are symbols with a value; those with a formula become what the formula says."""
        given: dict[str, Any] = self.entry.parameters
        for name in given:
            if not re.fullmatch(r"[^\W\d]\w*", name):
                rule = "the name of a parameter is made of letters, digits and underscores"
                self.fail(ModelError(f"'{name}' cannot stand in a formula", "bad-name", rule=rule), "parameters", name)
            elif name in RESERVED or name == "t":
                error = ModelError(f"'{name}' has a meaning of its own in formulas", "reserved-name", value=name)
                self.fail(error, "parameters", name)
        self.stop()
        symbols = {name: symbol(name) for name in given}
        formulas: dict[str, Expr] = {}
        for name, text in given.items():
            if name in changes:
                found = self.changed(name, changes[name], symbols)
            else:
                found = self.read(text, None, symbols, ("parameters", name), of_parameters=False)
            if isinstance(found, Expr):
                formulas[name] = found
            else:
                self.names[name], self.values[symbols[name]] = symbols[name], found
        self.stop()
        needs = {
            name: {str(node.value) for node in ordered([formula]) if node.op == "symbol"}
            for name, formula in formulas.items()
        }
        try:
            order = [name for name in TopologicalSorter(needs).static_order() if name in formulas]
        except CycleError as error:
            cycle: list[str] = error.args[1][::-1]
            self.fail(ModelError(f"cycle {' -> '.join(cycle)}", "parameter-cycle"), "parameters", cycle[0])
            self.stop()
        for name in order:
            known = {symbols[other]: self.names[other] for other in needs[name]}
            self.names[name] = substitute([formulas[name]], known)[0]
            self.check_finite(self.names[name], ("parameters", name), given[name])
        self.stop()

    def changed(self, name: str, value: str | float, symbols: Mapping[str, Expr]) -> Scalar:
        """The new value of a parameter; a quantity must be of the kind it had."""
        original = self.entry.parameters[name]
        unit = units.unit_of(original) if isinstance(original, str) else None
        kind = Kind(f"a quantity like '{original}'", unit, original) if unit else None
        found = self.read(value, kind, symbols, ("parameters", name), of_parameters=False)
        if self.errors:
            error = self.errors[-1]
            message = "; ".join(part for part in (error.message, error.rule, error.suggestion) if part)
            raise UsageError(f"{name}={value}: {message}", error.code)
        return found

    def read(
        self, value: Any, kind: Kind | None, names: Mapping[str, Expr], place: Place, of_parameters: bool = True
    ) -> Scalar:
        """A number, quantity or formula as a float or an expression; of parameters alone it must be finite."""
        if not isinstance(value, str):
            return float(value)
        try:
            number = quantity(value, kind)
            if number is not None:
                return number
            expression = parse_expression(value, names)
            self.check_parameter(value.strip(), kind)
        except ModelError as error:
            self.fail(error, *place)
            return 1.0
        except ExpressionError as error:
            self.fail(ModelError(f"'{units.shown(value)}': {error.reason}", error.code, value=value), *place)
            return 1.0
        if expression.is_constant:
            return expression.number
        if of_parameters:
            self.check_finite(expression, place, value)
        return expression

    def check_parameter(self, name: str, kind: Kind | None) -> None:
        """A field that is just a parameter takes its unit; in longer formulas units are not followed."""
        given = self.entry.parameters.get(name)
        if kind not in (None, units.NUMBER_KIND) and isinstance(given, str):
            try:
                quantity(given, kind)
            except ModelError as error:
                raise ModelError(
                    f"parameter '{name}': {error.message}", error.code, value=given, suggestion=error.suggestion
                ) from None

    def check_finite(self, expression: Expr, place: Place, text: str) -> None:
        if not math.isfinite(evaluate([expression], self.values)[0]):
            self.fail(ModelError(f"'{units.shown(text)}' has no finite value", "not-finite", value=text), *place)

    def value(self, x: Scalar) -> float:
        return float(evaluate([x], self.values)[0]) if isinstance(x, Expr) else x

    def body(self, name: str, *place: str | int) -> Body:
        if name not in self.bodies:
            hint = did_you_mean(name, self.bodies)
            self.fail(ModelError(f"no body '{name}'", "unknown-body", value=name, suggestion=hint), *place)
        return self.bodies.get(name, self.ground)

    def point(self, reference: str, *place: str | int) -> tuple[Body, Components]:
        """A point by its name "body.point"."""
        name, _, point = reference.partition(".")
        body = self.body(name, *place)
        if name in self.bodies and point not in body.points:
            message = f"body '{name}' has no point '{point}'" if point else f"'{reference}' names no point"
            hint = did_you_mean(point, body.points) if point else "write body.point"
            self.fail(ModelError(message, "unknown-point", value=reference, suggestion=hint), *place)
        return body, body.points.get(point, (0.0, 0.0))

    def direction(self, reference: str, body: Body, *place: str | int) -> Components:
        """A direction of this body by its name "body.direction"."""
        name, _, direction = reference.partition(".")
        if name != body.name or direction not in body.directions:
            hint = did_you_mean(reference, [f"{body.name}.{known}" for known in body.directions])
            message = f"'{reference}' is no direction of body i, which is '{body.name}'"
            self.fail(ModelError(message, "unknown-direction", value=reference, suggestion=hint), *place)
        return body.directions.get(direction, (1.0, 0.0))

    @cached_property
    def time_names(self) -> dict[str, Expr]:
        return {**self.names, "t": symbol("t")}

    @cached_property
    def motion_names(self) -> dict[str, Expr]:
        """What formulas of forces may name: time, parameters, coordinates and velocities of bodies and points."""
        found = dict(self.time_names)
        for body in self.bodies.values():
            if isinstance(body, PlanarBody):
                own = [*body.q_names, *body.v_symbols]
                own += [f"{point}.{part}" for point in body.points for part in ("x", "y", "vx", "vy")]
                found |= {f"{body.name}.{part}": symbol(f"{body.name}.{part}") for part in own}
        return found

    def law_names(self, type_name: str, text: Any, place: Place) -> dict[str, Expr]:
        """The names of `motion_names` and what this force measures."""
        measures = MEASURES[type_name]
        for name in measures:
            if name in self.names and isinstance(text, str) and re.search(rf"(?<![\w.]){name}(?![\w.])", text):
                message = f"'{name}' is a parameter and also what this force measures"
                self.fail(ModelError(message, "ambiguous-name", suggestion="give the parameter another name"), *place)
        return {**self.motion_names, **{name: symbol(name) for name in measures}}

    def element(
        self, cls: type, entry: Any, place: Place, kinds: Mapping[str, Kind] | None = None, name: str | None = None
    ) -> Any:
        """An element from its entry."""
        kinds = kinds or (ROTATIONAL if cls is RotationalSpringDamper else KINDS)
        given: dict[str, Any] = {}
        if name is not None:
            given["name"] = name
            self.check_name(*place)
        for key, role, field in _keys(cls):
            value, at = getattr(entry, key), (*place, key)
            if value is None:
                continue
            if role == "point":
                given[field.name], given[field.name.replace("body", "s")] = self.point(value, *at)
            elif role == "body":
                given[field.name] = self.body(value, *at)
            elif role == "flag":
                given[field.name] = value
            elif role == "axis" and isinstance(value, str):
                given[field.name] = self.direction(value, given["body_i"], *at)
            elif role == "points":
                for point in value:
                    self.check_name(*at, point)
                given[field.name] = {k: self.numbers(xy, kinds[key], self.names, (*at, k)) for k, xy in value.items()}
            elif role == "pairs":
                rows = (self.numbers(xy, kinds[key], self.names, (*at, k)) for k, xy in enumerate(value))
                given[field.name] = tuple(rows)
            elif key in OF_MOTION and isinstance(value, list):
                given[field.name] = self.numbers(value, kinds[key], self.motion_names, at, of_parameters=False)
            elif key in OF_MOTION:
                names = self.law_names(entry.type, value, at) if key == "law" else self.motion_names
                given[field.name] = as_expr(self.read(value, kinds[key], names, at, of_parameters=False))
            elif isinstance(value, list):
                given[field.name] = self.numbers(value, kinds[key], self.names, at)
            else:
                given[field.name] = self.read(value, kinds[key], self.names, at)
        return cls(**given)

    def numbers(
        self, values: list[Any], kind: Kind, names: Mapping[str, Expr], place: Place, of_parameters: bool = True
    ) -> Components:
        return tuple(self.read(x, kind, names, (*place, k), of_parameters) for k, x in enumerate(values))

    def driver(self, name: str, entry: DriverEntry) -> Driver | None:
        place = ("drivers", name)
        self.check_name(*place)
        if name in self.joints:
            self.fail(ModelError(f"'{name}' is also the name of a joint", "duplicate-name", value=name), *place)
        joint = self.driven(name, entry)
        if joint is None:
            return None
        freedoms: Mapping[str, Expr] = joint.freedoms(*(start_frame(body) for body in joint.bodies))  # type: ignore
        freedom = entry.freedom or ("distance" if isinstance(joint, Measure) else next(iter(freedoms), ""))
        if not freedoms:
            self.fail(ModelError(f"joint '{entry.joint}' leaves no freedom to drive", "no-freedom"), *place, "joint")
        elif freedom not in freedoms:
            hint = did_you_mean(freedom, freedoms)
            self.fail(ModelError(f"no freedom '{freedom}'", "unknown-freedom", suggestion=hint), *place, "freedom")
        elif entry.freedom is None and len(freedoms) > 1 and not isinstance(joint, Measure):
            hint = "add freedom: " + " or ".join(freedoms)
            message = f"joint '{entry.joint}' leaves several freedoms"
            self.fail(ModelError(message, "which-freedom", suggestion=hint), *place)
        motion = self.motion(entry.motion, TURNING if freedom == "angle" else SLIDING, (*place, "motion"))
        return None if motion is None else Driver(name, joint, freedom, motion)

    def driven(self, name: str, entry: DriverEntry) -> Joint | None:
        """The joint that is driven, or the measure between two points."""
        place = ("drivers", name)
        if entry.joint is not None and entry.i is None and entry.j is None:
            if entry.joint not in self.joints:
                hint = did_you_mean(entry.joint, self.joints)
                error = ModelError(f"no joint '{entry.joint}'", "unknown-joint", value=entry.joint, suggestion=hint)
                self.fail(error, *place, "joint")
            return self.joints.get(entry.joint)
        if entry.joint is None and entry.i is not None and entry.j is not None:
            body_i, s_i = self.point(entry.i, *place, "i")
            body_j, s_j = self.point(entry.j, *place, "j")
            return Measure(name, body_i, body_j, s_i, s_j)
        self.fail(ModelError("a driver needs either a joint or two points i and j", "driver-target"), *place)
        return None

    def motion(self, given: Any, kinds: Mapping[str, Kind], place: Place) -> Motion | None:
        """A formula of t, or one of the named motions."""
        if isinstance(given, int | float | str) and not isinstance(given, bool):
            return Law(as_expr(self.read(given, kinds["value"], self.time_names, place, of_parameters=False)))
        try:
            entry: Any = MotionHolder.model_validate({"motion": given})
        except pydantic.ValidationError as error:
            details = error.errors(include_url=False)
            self.errors += [_shape_fault(detail, self.document, place[:-1]) for detail in details]
            return None
        motion: Motion = self.element(MOTIONS[entry.motion.type], entry.motion, place, kinds)
        if isinstance(motion, Table):
            return Table(tuple(map(self.value, motion.times)), tuple(map(self.value, motion.values)))
        return motion

    def simulation(self) -> Simulation:
        """Times and tolerances, which are positive."""
        given: Simulation = self.element(Simulation, self.entry.simulation, ("simulation",))
        values = {name: self.value(x) for name, x in vars(given).items()}
        codes = {"t_end": "bad-t-end", "step": "bad-report-step", "rtol": "bad-tolerance", "atol": "bad-tolerance"}
        for name, code in codes.items():
            if not 0.0 < values[name] < (1.0 if name == "rtol" else math.inf):
                rule = "it is above 0 and below 1" if name == "rtol" else "it is above zero"
                error = ModelError(f"{name} = {values[name]:g}", code, value=values[name], rule=rule)
                self.fail(error, "simulation", name)
        return Simulation(**values)

    def model(self, notes: tuple[str, ...]) -> Model:
        entry = self.entry
        drivers = [self.driver(name, driver) for name, driver in entry.drivers.items()]
        forces = [
            self.element(FORCES[force.type], force, ("forces", name), name=name) for name, force in entry.forces.items()
        ]
        shapes = {
            name: self.element(LOOKS[body.shape.type], body.shape, ("bodies", name, "shape"))
            for name, body in entry.bodies.items()
            if body.shape is not None
        }
        gravity = self.numbers(entry.gravity, units.ACCELERATION, self.names, ("gravity",))
        simulation = self.simulation()
        self.stop()
        checked = entry.about.checked
        return Model(
            name=entry.name or Path(self.document.file).stem,
            bodies=tuple(body for body in self.bodies.values() if isinstance(body, PlanarBody)),
            joints=tuple(self.joints.values()),
            drivers=tuple(driver for driver in drivers if driver is not None),
            forces=tuple(forces),
            gravity=gravity,
            parameters={str(name.value): value for name, value in self.values.items()},
            ground=self.ground,
            space=entry.space,
            simulation=simulation,
            about=About(entry.about.title, entry.about.source, checked.model_dump() if checked else {}),
            notes=notes,
            shapes=shapes,
        )


def build(document: Document, changes: Mapping[str, str | float] | None = None) -> Model:
    """The model of a document; `changes` gives parameters other values."""
    notes = _version_notes(document)
    try:
        entry: Any = ModelEntry.model_validate(document.data)
    except pydantic.ValidationError as error:
        details = error.errors(include_url=False)
        raise ModelError.together([_shape_fault(detail, document) for detail in details]) from None
    for name in changes or {}:
        check_choice("parameter", name, entry.parameters)
    model = _Translation(document, entry, changes or {}).model(notes)
    try:
        return sound(model)
    except ModelError as found:
        raise ModelError.together([document.locate(error) for error in found.errors]) from None


def with_start(document: Document, model: Model, changes: Mapping[str, str | float] | None = None) -> Document:
    """The document with the start values of `model`, which are numbers, and with changed parameters; all else stays."""
    data = deepcopy(document.data)
    parameters = cast(dict[str, Data], data.get("parameters") or {})
    for name, value in (changes or {}).items():
        parameters[name] = model.parameters.get(name, value)
    bodies = cast(dict[str, dict[str, Data]], data["bodies"])
    for body in model.bodies:
        for key in ("position", "angle", "velocity", "angular_velocity"):
            value = getattr(body, key)
            bodies[body.name][key] = [float(x) for x in value] if isinstance(value, tuple) else float(value)
    return Document(document.file, data, {})


def loads(text: str, *, is_json: bool = False, changes: Mapping[str, str | float] | None = None) -> Model:
    """The model that a text in YAML or JSON describes."""
    return build(parse(text, is_json=is_json), changes)


def load(model: str | Path, changes: Mapping[str, str | float] | None = None) -> Model:
    """The model of a file, or of a shipped mechanism given by its name ("slider_crank", "planar_chain:64").

    `changes` gives parameters other values: {"l1": 1.2} or {"l1": "1200 mm"}.
    """
    return build(find(model), changes)


def shipped() -> list[str]:
    """The names of the mechanisms that come with linkwork."""
    return sorted([*(path.stem for path in MECHANISMS.glob("*.yaml")), *GENERATORS])


def find(model: str | Path) -> Document:
    """What a path or the name of a shipped mechanism leads to; some names take a size, as in "planar_chain:64"."""
    text = str(model)
    if isinstance(model, Path) or text.lower().endswith(SUFFIXES) or re.search(r"[/\\\0]", text):
        return read(model)
    name, colon, size = text.replace("-", "_").partition(":")
    if name in GENERATORS:
        generate, usual = GENERATORS[name]
        if colon and not (re.fullmatch("[0-9]{1,4}", size) and int(size) > 0):
            raise UsageError(f"'{units.shown(size)}' is no size; write {name}:{usual}, at most 9999", "bad-size")
        return Document(text, generate(int(size) if colon else usual), {})
    if not colon and name in shipped():
        return read(MECHANISMS / f"{name}.yaml")
    if os.path.isfile(text):
        return read(text)
    hint = did_you_mean(name, shipped()) or "see 'linkwork list'"
    raise UsageError(f"no file and no shipped mechanism '{units.shown(text)}'; {hint}", "no-such-model")
