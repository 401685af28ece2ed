"""The shape of model files: keys, lists and types, as pydantic models.

The keys of a joint, force or motion are the fields of its dataclass, so that its entry is made from the element itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from typing import Annotated, Any, Literal, Union

import pydantic
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainValidator, WithJsonSchema, create_model
from pydantic_core import PydanticCustomError

from linkwork import units
from linkwork.elements.bodies import Ground, PlanarBody
from linkwork.elements.forces import FORCES, RotationalSpringDamper
from linkwork.elements.joints import JOINTS
from linkwork.elements.motions import MOTIONS
from linkwork.elements.shapes import SHAPES
from linkwork.model import Simulation

FORMAT = 1

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
ROLES: dict[str, Any] = {
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


def keys(cls: type) -> Iterator[tuple[str, str, Field[Any]]]:
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
    for key, role, field in keys(cls):
        annotation = ROLES[role]
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
SHAPE_ENTRIES = {name: _entry(cls, name) for name, cls in SHAPES.items()}
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
