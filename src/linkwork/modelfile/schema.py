"""The shape of model files: keys, lists and types, as pydantic models.

The keys of a joint, force or motion are the fields of its dataclass, so that its entry is made from the element itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import pydantic
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainValidator, WithJsonSchema, create_model
from pydantic_core import PydanticCustomError

from linkwork import units
from linkwork.elements.bodies import Ground, PlanarBody, SpatialBody
from linkwork.elements.forces import FORCES
from linkwork.elements.joints import JOINTS
from linkwork.elements.kinds import Space
from linkwork.elements.motions import MOTIONS
from linkwork.elements.quantities import NOT_GIVEN, Quantity
from linkwork.elements.shapes import SHAPES
from linkwork.model import Simulation

FORMAT = 1


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise PydanticCustomError("number", "should be a number, a quantity or a formula")
    return value


def _numbers(value: Any, *counts: int) -> bool:
    return isinstance(value, list) and len(value) in counts and all(map(_is_number, value))


def _rows(value: Any, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(_numbers(row, count) for row in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool)


def _vector_or_name(count: int) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not isinstance(value, str) and not _numbers(value, count):
            several = "a pair of" if count == 2 else "three"
            raise PydanticCustomError("axis", f"should be {several} numbers or the name body.direction")
        return value

    return check


def _inertia(value: Any) -> Any:
    """Return three moments, six entries, or the matrix."""
    if not _rows(value, 3) and not _numbers(value, 3, 6):
        raise PydanticCustomError("inertia", "should be [xx, yy, zz], [xx, yy, zz, xy, yz, zx] or three rows of three")
    return value


def _matrix(value: Any) -> Any:
    """Return the diagonal, or all rows."""
    if not _rows(value, 6) and not _numbers(value, 6):
        raise PydanticCustomError("matrix", "should be the six numbers of a diagonal or six rows of six")
    return value


def _orientation(value: Any) -> Any:
    """Return one of the ways to state an orientation; see docs/model-files.md."""
    if _numbers(value, 4):
        return value
    if isinstance(value, dict):
        match sorted(map(str, value)):
            case ["angle", "axis"] if _numbers(value["axis"], 3) and _is_number(value["angle"]):
                return value
            case ["matrix"] if _rows(value["matrix"], 3):
                return value
            case ["angles", "sequence"] if _numbers(value["angles"], 3) and isinstance(value["sequence"], str):
                return value
            case ["x", "z"] if _numbers(value["z"], 2) and all(isinstance(x, str) for x in (*value["z"], value["x"])):
                return value
    ways = "[e0, e1, e2, e3], {axis, angle}, {sequence, angles}, {matrix} or {z: [A, B], x: C}"
    raise PydanticCustomError("orientation", f"should be {ways}")


def _turning(value: Any) -> Any:
    if not _numbers(value, 3) and not (
        isinstance(value, dict) and list(value) == ["ground"] and _numbers(value["ground"], 3)
    ):
        raise PydanticCustomError("turning", "should be three numbers in the axes of the body, or {ground: [x, y, z]}")
    return value


def _nothing_is_empty(value: Any) -> Any:
    return {} if value is None else value


NUMBER_SCHEMA = {"type": ["number", "string"]}
NUMBER: Any = Annotated[Any, PlainValidator(_number), WithJsonSchema(NUMBER_SCHEMA)]


def _forms(count: int) -> dict[str, Any]:
    """Return what the roles of keys look like where vectors have so many components."""
    vector_schema = {"type": "array", "items": NUMBER_SCHEMA, "minItems": count, "maxItems": count}
    vector: Any = Annotated[list[NUMBER], pydantic.Field(min_length=count, max_length=count)]
    check = PlainValidator(_vector_or_name(count))
    return {
        "number": NUMBER,
        "vector": vector,
        "list": list[NUMBER],
        "points": dict[str, vector],
        "vectors": Annotated[list[vector], pydantic.Field(min_length=2)],
        "point": str,
        "body": str,
        "joint": str,
        "axis": Annotated[Any, check, WithJsonSchema({"anyOf": [vector_schema, {"type": "string"}]})],
        "flag": bool,
        "freedom": str,
        "name": str,
        "names": list[str],
        "values": Annotated[
            dict[str, NUMBER],
            pydantic.Field(description="by the names of joints or of coordinates", examples=[{"O": "70 deg"}]),
        ],
        "inertia": Annotated[Any, PlainValidator(_inertia), WithJsonSchema({"type": "array"})],
        "matrix": Annotated[Any, PlainValidator(_matrix), WithJsonSchema({"type": "array"})],
        "orientation": Annotated[Any, PlainValidator(_orientation), WithJsonSchema({"type": ["array", "object"]})],
        "turning": Annotated[Any, PlainValidator(_turning), WithJsonSchema({"type": ["array", "object"]})],
    }


FORMS: dict[Space, dict[str, Any]] = {"planar": _forms(2), "spatial": _forms(3)}


ANYTHING, REFERENCE, POINT, FLAG, JOINT = (Quantity(form) for form in ("number", "body", "point", "flag", "joint"))


@cache
def keys(cls: type) -> tuple[tuple[str, Quantity, Field[Any]], ...]:
    """Return what an element is in a file: key, what it holds, and field of the dataclass.

    A body with a point on it is one reference "body.point": i, j, at. A body alone is its name: i, j, on, carrier.
    """
    hints, names = get_type_hints(cls, include_extras=True), {field.name for field in fields(cls)}
    found = []
    for field in fields(cls):
        if field.metadata == NOT_GIVEN:
            continue
        match field.name:
            case "name" | "s" | "s_i" | "s_j":
                continue
            case "body_i" | "body_j":
                found.append((field.name[-1], POINT if f"s_{field.name[-1]}" in names else REFERENCE, field))
            case "body":
                found.append(("at", POINT, field) if "s" in names else ("on", REFERENCE, field))
            case name:
                found.append((name, JOINT if name in ("joint", "follower") else quantity_of(hints[name]), field))
    return tuple(found)


def quantity_of(hint: Any) -> Quantity:
    """Return what the annotation of a field says it holds."""
    if hint is bool:
        return FLAG
    stated = next((x for x in getattr(hint, "__metadata__", ()) if isinstance(x, Quantity)), None)
    if stated is not None:
        return stated
    if PlanarBody in get_args(hint):
        return REFERENCE
    inside = (quantity_of(part) for part in get_args(hint) if get_origin(part) is Annotated)
    return next(inside, ANYTHING)


def is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


class Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


def kinds_of_surface(exponent: float, of: str) -> dict[str, units.Kind]:
    """Return how a surface gives way: force, or torque, by the depth, a length or an angle, to the exponent."""
    turns = of == "angle"
    depth = ("rad" if turns else "m") + ("" if exponent == 1.0 else f"^{exponent:g}")
    stiffness = f"{'N*m' if turns else 'N'}/{depth}"
    damping = units.ROTATIONAL_DAMPING if turns else units.DAMPING
    return {"stiffness": units.Kind(f"stiffness in {stiffness}", stiffness, f"1e6 {stiffness}"), "damping": damping}


def _entry(
    cls: type, space: Space, type_name: str | None = None, more: Mapping[str, Any] = MappingProxyType({})
) -> type[Entry]:
    """Return the shape of an element in a file, with `more` keys; one of several types names its own."""
    shape: dict[str, Any] = {"type": (Literal[type_name], ...)} if type_name else {}
    for key, holds, field in keys(cls):
        annotation = Literal[holds.names] if holds.form == "choice" else FORMS[space][holds.form]
        if len(holds.kinds) == 1:
            (kind,) = holds.kinds
            text = kind.name if kind.unit == "1" else f"{kind.name} in {kind.unit}, or with a unit, or a formula"
            annotation = Annotated[annotation, pydantic.Field(description=text, examples=[kind.example])]
        left_empty = annotation if key == "mass" else annotation | None  # which is no way to say zero
        shape[key] = (annotation, ...) if is_required(field) else (left_empty, None)
    about = (cls.__doc__ or "").split("\n")[0]
    return create_model(f"{cls.__name__}Entry", __base__=Entry, __doc__=about, **shape, **more)


def _one_of(entries: Mapping[str, type[Entry]]) -> Any:
    """Return an entry of one of these types, two at least; of none if there are none."""
    if not entries:
        return Entry
    return Annotated[Union[tuple(entries.values())], pydantic.Field(discriminator="type")]  # noqa: UP007


def section(annotation: Any) -> Any:
    return Annotated[dict[str, annotation], BeforeValidator(_nothing_is_empty)]


class DriverEntry(Entry):
    """A freedom of a joint, or a measure between two points, follows a function of time."""

    joint: str | None = None
    i: str | None = None
    j: str | None = None
    freedom: str | None = None
    motion: Any


class ActuatorEntry(Entry):
    """A force whose size is asked for, or given: along a freedom of a joint, between two points, or on a body."""

    joint: str | None = None
    i: str | None = None
    j: str | None = None
    freedom: str | None = None
    on: str | None = None
    kind: Literal["torque", "force"] | None = None
    axis: list[NUMBER] | None = None
    follows: bool = False
    size: NUMBER | None = None
    weight: NUMBER | None = None


class EventEntry(Entry):
    """What happens where a formula of the motion goes through zero."""

    when: str
    direction: Literal["both", "rising", "falling"] = "both"
    action: Literal["record", "stop", "set"] = "record"
    restitution: NUMBER | None = None
    velocities: dict[str, NUMBER] | None = None
    release: str | list[str] | None = None
    engage: str | list[str] | None = None
    states: dict[str, NUMBER] | None = None
    inputs: dict[str, NUMBER] | None = None


class TableEntry(Entry):
    """A function by its values, which formulas call by its name: torque(crank.omega)."""

    file: str | None = None
    columns: Annotated[list[str], pydantic.Field(min_length=2, max_length=2)] | None = None
    x: list[NUMBER] | None = None
    y: list[NUMBER] | None = None
    units: Annotated[list[str], pydantic.Field(min_length=2, max_length=2)] | None = None
    interpolation: Literal["linear", "spline"] = "linear"


def _input_value(value: Any) -> Any:
    if isinstance(value, dict):
        return TableEntry.model_validate(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str | None):
        raise PydanticCustomError("number", "should be a number, a quantity, a formula, or a table {x, y} or {file}")
    return value


class InputEntry(Entry):
    """What comes from outside: forces, rates, outputs and events name it."""

    unit: str | None = None
    value: Annotated[Any, PlainValidator(_input_value), WithJsonSchema({"type": ["number", "string", "object"]})] = None

    every: NUMBER | None = None


class OutputEntry(Entry):
    """A formula of the motion that is a result, output:name."""

    formula: NUMBER
    unit: str | None = None


class StateEntry(Entry):
    """A state of first order, which all formulas of forces, rates, outputs and events may name."""

    rate: NUMBER
    start: NUMBER = 0.0
    unit: str | None = None
    scale: NUMBER = 1.0


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


Corner: TypeAlias = Annotated[
    list[Annotated[float, pydantic.Strict(False)]], pydantic.Field(min_length=2, max_length=2)
]


class ViewEntry(Entry):
    """What drawings show."""

    window: Annotated[list[Corner], pydantic.Field(min_length=2, max_length=2)] | None = None
    units: list[str] = []
    order: list[str] = []


# What keys mean, for editors and the reference; those of which the kind says enough are not here.
MEANINGS = {
    "about": "title, source and a number to check against",
    "action": "record, stop or set; record unless given",
    "actuators": "where forces act whose sizes `inverse` asks for, by name",
    "actuator": "a force or torque added to the law; a formula of time and motion",
    "angle": "angle of body j against body i, in space what it is at the start, or of a body at the start",
    "angle_i": "angle of the cross against body i at the start",
    "angle_j": "angle of body j against the cross at the start",
    "angular_velocity": "at the start",
    "at": "where it acts: body.point",
    "atol": "absolute tolerance of the integrator",
    "axis": "direction in body i: numbers, a named direction, or a second point on the axis",
    "axis_j": "the same axis in body j; unless given, as at the start",
    "bodies": "what moves, by name",
    "carrier": "body that carries both gears; the ground unless given",
    "checked": "a number that the mechanism must reproduce",
    "colour": "drawn in: red, green, blue, cyan, magenta, yellow, orange, brown, black, grey, white, purple, #rrggbb",
    "cut": "joints that close loops in joint coordinates",
    "direction": "in which `when` crosses zero: rising, falling or both",
    "directions": "named directions, in the axes of the body",
    "drivers": "freedoms prescribed as functions of time, by name",
    "dynamic": "friction coefficient when sliding",
    "engage": "joints that hold from now on",
    "every": "time between samples of the value, which is held in between; unless given, it holds at all times",
    "equations": "a system given by its equations instead of bodies",
    "columns": "names of the columns of x and y in a file; its first two unless given",
    "formula": "what an output is; of a constraint what stays zero, linear in velocities",
    "half_axes": "of the ellipsoid, along x, y and z of body j",
    "of": "what the formula is the rate of: length, angle or number; length unless given",
    "file": "a table of numbers in the folder of the model, or below",
    "interpolation": "linear, or spline: a cubic one; linear unless given",
    "tables": "functions by their values, which formulas call by name",
    "events": "what happens where a formula crosses zero, by name",
    "follows": "whether it turns with the body",
    "follower": "name of the joint that follows",
    "forces": "springs, dampers, contacts, motors, loads, by name",
    "free_angle": "angle without torque; that of the start unless given",
    "free_length": "length without force; that of the start unless given",
    "freedom": "which freedom of the joint; needed if it leaves several",
    "friction": "friction law",
    "gravity": "acceleration in m/s^2",
    "ground": "points and directions that do not move",
    "i": "first body: body.point, or a body where the type has no points",
    "inputs": "values from outside, by name; of an event, their new values",
    "outputs": "formulas of the motion that are results, by name",
    "inertia": "about the mass centre; without it the body is a point mass",
    "inertia_about": "point about which the inertia is given, if not the mass centre",
    "internal": "whether one gear lies inside the other",
    "j": "second body, on which reactions are reported",
    "joint": "name of a joint",
    "joints": "connections of bodies, by name",
    "law": "a further force of length and rate, or torque of angle and rate; a formula",
    "length": "that of the start unless given",
    "live": "ranges in which a live page changes parameters and start values, such as 0.5 m .. 1.5 m, by name",
    "lower": "lower end of the freedom",
    "mass": "zero unless given: kinematics needs none",
    "mass_centre": "in the body frame; its origin unless given",
    "model": "law of the contact force",
    "motion": "a formula of t, or one of the motions",
    "name": "name of the model in results and pages",
    "no_load": "speed at which the motor drives no more, of the sign of stall",
    "on": "the body on which it acts",
    "open": "whether the joint holds nothing until an event engages it",
    "order": "points and constraint rows, or their joints, in the order of .mat files, others behind them; "
    "-ROW changes the sign of a row there",
    "orientation": "Euler parameters, axis and angle, sequence of angles, matrix, or points",
    "parameters": "named values; formulas may use them, and --set changes them",
    "points": "points fixed in the body, by name",
    "position": "of the origin of the body frame at the start",
    "rate": "of change: of a state a formula of time, motion, states and inputs, of others at the start",
    "release": "joints that no longer hold",
    "scale": "a usual size of the state, by which its error is measured; one unless given",
    "rtol": "relative tolerance of the integrator",
    "simulation": "settings of a run",
    "size": "force or torque of the actuator in a run; a formula of time and motion, zero unless given",
    "space": "planar or spatial",
    "speed": "speed of the belt or shaft on which it rubs",
    "stall": "torque or force at rest, in the direction in which the motor drives",
    "start": "value where the run begins; zero unless given",
    "states": "states of first order, by name; of an event, their new values",
    "static": "friction coefficient at rest",
    "step": "time between report times, s",
    "stribeck": "speed over which static friction falls to dynamic friction",
    "t_end": "end of the run, s",
    "tube": "radius of the rim of a wheel, part of its radius; 0 is an edge",
    "title": "what the mechanism is",
    "transition": "speed between rest and sliding",
    "unsettled": "what of another program's model is still missing; such a model does not run",
    "upper": "upper end of the freedom",
    "value": "a number, a formula of time and motion, or a table of time; without it a run must be given one",
    "velocities": "velocities to set, with formulas of their new values",
    "velocity": "at the start",
    "viscous": "part of the friction coefficient that grows with the speed",
    "view": "what drawings show",
    "weight": "of the square of its force where actuators share a load; 1 unless given",
    "when": "formula whose zero is the event",
    "unit": "what it is, and how results show it: N*m, deg, V",
    "units": "units in which results are shown, such as [deg, mm]",
    "window": "lower left and upper right corner of what is drawn, m",
    "zero": "direction in body i from which angles count; the start position unless given",
    "zero_j": "direction in body j to which angles count; the start position unless given",
}

COLOURS = ["black", "white", "grey", "red", "green", "blue", "cyan", "magenta", "yellow", "orange", "purple", "brown"]
COLOUR = f"^({'|'.join(COLOURS)}|#[0-9a-fA-F]{{6}})$"
BODIES: dict[Space, type[Any]] = {"planar": PlanarBody, "spatial": SpatialBody}
GRAVITY: dict[Space, list[float]] = {"planar": [0, -9.81], "spatial": [0, 0, -9.81]}  # unless given
OPEN: dict[str, Any] = {"open": (bool, False)}


# Entries are made when a file needs them, and kept by their class: pydantic takes a millisecond for each.
def joint_entry(space: Space, name: str) -> type[Entry]:
    return _element_entry(JOINTS[space][name], space, name, True)  # type: ignore[arg-type]


def force_entry(space: Space, name: str) -> type[Entry]:
    return _element_entry(FORCES[space][name], space, name)  # type: ignore[arg-type]


@cache
def _element_entry(cls: Any, space: Space, name: str, may_be_open: bool = False) -> type[Entry]:
    return _entry(cls, space, name, OPEN if may_be_open else {})


def motion_entries() -> dict[str, type[Entry]]:
    return {name: _element_entry(cls, "planar", name) for name, cls in MOTIONS.items()}  # type: ignore[arg-type]


def motion_holder() -> type[Entry]:
    return _motion_holder(tuple(motion_entries().items()))


@cache
def _motion_holder(entries: tuple[tuple[str, type[Entry]], ...]) -> type[Entry]:
    return create_model("MotionHolder", __base__=Entry, motion=(_one_of(dict(entries)), ...))


@cache
def shape_entries(space: Space) -> dict[str, type[Entry]]:
    return {
        name: _entry(cls, "planar" if name in SHAPES["planar"] else space, name) for name, cls in SHAPES[space].items()
    }


@cache
def ground_entry(space: Space) -> type[Entry]:
    return _entry(Ground, space)


@cache
def body_entry(space: Space, shaped: bool = True) -> type[Entry]:
    """Return a body, `shaped` or with nothing for a shape."""
    look: dict[str, Any] = {"shape": (_one_of(shape_entries(space)) | None if shaped else type(None), None)}
    look["colour"] = (Annotated[str, pydantic.Field(pattern=COLOUR)] | None, None)
    return create_model(f"{space}Body", __base__=_entry(BODIES[space], space), **look)


SimulationEntry = _entry(Simulation, "planar")


def model_entry(space: Space, joints: tuple[str, ...], forces: tuple[str, ...], shaped: bool = True) -> type[Entry]:
    """Return the shape of a file in this space with these types; files that do not say are planar."""
    joined = tuple((name, joint_entry(space, name)) for name in joints)
    forced = tuple((name, force_entry(space, name)) for name in forces)
    return _model_entry(space, joined, forced, shaped)


Entries: TypeAlias = tuple[tuple[str, type[Entry]], ...]


@cache
def _model_entry(space: Space, joints: Entries, forces: Entries, shaped: bool) -> type[Entry]:
    ground = ground_entry(space)
    sections: dict[str, Any] = {
        "linkwork": (Annotated[Any, WithJsonSchema({"const": FORMAT, "description": "version of the format"})], ...),
        "name": (str | None, None),
        "about": (AboutEntry, AboutEntry.model_construct()),
        "space": (Literal[space], "planar") if space == "planar" else (Literal[space], ...),
        "gravity": (FORMS[space]["vector"], GRAVITY[space]),
        "parameters": (section(NUMBER), {}),
        "ground": (ground, ground.model_construct()),
        "bodies": (section(body_entry(space, shaped)), ...),
        "joints": (section(_one_of(dict(joints))), {}),
        "drivers": (section(DriverEntry), {}),
        "forces": (section(_one_of(dict(forces))), {}),
        "actuators": (section(ActuatorEntry), {}),
        "events": (section(EventEntry), {}),
        "inputs": (section(InputEntry), {}),
        "outputs": (section(OutputEntry), {}),
        "states": (section(StateEntry), {}),
        "tables": (section(TableEntry), {}),
        "simulation": (SimulationEntry, SimulationEntry.model_construct()),
        "view": (ViewEntry, ViewEntry.model_construct()),
        "live": (section(str), {}),
        "unsettled": (list[str], []),
    }
    about = f"A {space} mechanism: bodies, joints, drivers, forces and events."
    return create_model(f"{space.capitalize()}Model", __base__=Entry, __doc__=about, **sections)


def entry_of(data: Any) -> type[Entry]:
    """Return the shape that a file must have."""
    if isinstance(data, dict) and "equations" in data:
        from linkwork.modelfile.stated_schema import StatedModel

        return StatedModel
    space = space_of(data)
    joints, forces = types_in(data, "joints", JOINTS[space]), types_in(data, "forces", FORCES[space])
    return model_entry(space, joints, forces, any("shape" in body for body in entries_in(data, "bodies")))


@cache
def load_installed() -> None:
    """Import what installed packages add to the types of elements, see own.py: a file alone never loads code."""
    from importlib.metadata import entry_points

    for point in entry_points(group="linkwork.elements"):
        point.load()


def types_in(data: Any, section: str, known: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the types used in a section and the first two, or all types if an entry has an unknown one."""
    types = [entry.get("type") for entry in entries_in(data, section)]
    if any(isinstance(name, str) and name not in known for name in types):
        load_installed()
    wrong = any(not isinstance(name, str) or name not in known for name in types)
    return tuple(name for k, name in enumerate(known) if types and (k < 2 or name in types or wrong))


def entries_in(data: Any, section: str) -> list[dict[str, Any]]:
    """Return the entries of a section, with empty ones in the place of what is none."""
    entries = data.get(section) if isinstance(data, dict) else None
    found = entries.values() if isinstance(entries, dict) else ()
    return [entry if isinstance(entry, dict) else {} for entry in found]


def space_of(data: Any) -> Space:
    """Return which space a file says it is in."""
    return "spatial" if isinstance(data, dict) and data.get("space") == "spatial" else "planar"


def json_schema() -> dict[str, Any]:
    """Return JSON Schema of model files."""
    from linkwork.modelfile.stated_schema import StatedModel

    spaces: tuple[Space, ...] = ("planar", "spatial")
    mechanisms = [model_entry(space, tuple(JOINTS[space]), tuple(FORCES[space])) for space in spaces]
    models: list[type[Entry]] = [*mechanisms, StatedModel]
    usual: list[type[Entry]] = [AboutEntry, SimulationEntry, *(ground_entry(space) for space in spaces)]
    for entry in usual:  # of which instances stand in the schema
        entry.model_rebuild(force=True)
    entries = [(entry, "validation") for entry in models]
    _, schema = pydantic.json_schema.models_json_schema(entries, ref_template="#/$defs/{model}")  # type: ignore
    motions = motion_holder().model_json_schema()
    driver = schema["$defs"]["DriverEntry"]["properties"]
    driver["motion"] = {"anyOf": [NUMBER_SCHEMA, motions["properties"]["motion"]]}
    schema["$defs"] |= motions["$defs"]
    for entry in schema["$defs"].values():
        for key, value in entry.get("properties", {}).items():
            texts = [form["description"] for form in value.get("anyOf", ()) if "description" in form]
            if text := next(iter(texts), MEANINGS.get(key)):
                value.setdefault("description", text)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "anyOf": [{"$ref": f"#/$defs/{entry.__name__}"} for entry in models],
        "title": "linkwork model file",
    }
