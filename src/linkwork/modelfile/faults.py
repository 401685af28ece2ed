"""What is wrong with the shape of a file, in the words of the file."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from linkwork import units
from linkwork.document import Data, Document, Keys
from linkwork.elements.forces import FORCES
from linkwork.elements.joints import JOINTS
from linkwork.elements.motions import MOTIONS
from linkwork.elements.shapes import SHAPES
from linkwork.errors import ModelError, did_you_mean
from linkwork.modelfile import schema
from linkwork.notes import Note

OTHER_NAMES = {  # what types are called elsewhere
    "hinge": "revolute", "pin": "revolute", "slider": "prismatic", "translational": "prismatic", "ball": "spherical",
    "weld": "rigid", "fixed": "rigid", "rod": "distance", "link": "distance", "slot": "point-on-line",
}  # fmt: skip
NOT_IN_NAMES = {
    ".": "a dot joins the name of a body to that of a point or coordinate",
    ":": "a colon joins a kind of quantity to the name of a joint",
    "'": "quotes and commas would break tables and messages",
    '"': "quotes and commas would break tables and messages",
    ",": "quotes and commas would break tables and messages",
}


def _keys_allowed(place: Keys, data: Data) -> list[str]:
    """Return the keys known where a key is unknown."""
    from linkwork.modelfile import stated_schema

    around = place[:-1]
    inside = _at(data, around)
    type_name = str(inside.get("type")) if isinstance(inside, dict) else ""
    space = schema.space_of(data)
    entries: dict[Keys, type[BaseModel] | None] = {
        (): schema.entry_of(data),
        ("equations",): stated_schema.StatedEntry,
        ("equations", "coordinates", *around[2:3]): stated_schema.StatedCoordinateEntry,
        ("equations", "Psi", *around[2:3]): stated_schema.StatedRowEntry,
        ("ground",): schema.ground_entry(space),
        ("about",): schema.AboutEntry,
        ("about", "checked"): schema.CheckedEntry,
        ("simulation",): schema.SimulationEntry,
        ("bodies", *around[1:2]): schema.body_entry(space),
        ("bodies", *around[1:2], "shape"): schema.shape_entries(space).get(type_name),
        ("joints", *around[1:2]): schema.joint_entry(space, type_name) if type_name in JOINTS[space] else None,
        ("forces", *around[1:2]): schema.force_entry(space, type_name) if type_name in FORCES[space] else None,
        ("drivers", *around[1:2]): schema.DriverEntry,
        ("actuators", *around[1:2]): schema.ActuatorEntry,
        ("events", *around[1:2]): schema.EventEntry,
        ("tables", *around[1:2]): schema.TableEntry,
        ("inputs", *around[1:2]): schema.InputEntry,
        ("inputs", *around[1:2], "value"): schema.TableEntry,
        ("outputs", *around[1:2]): schema.OutputEntry,
        ("states", *around[1:2]): schema.StateEntry,
        ("view",): schema.ViewEntry,
        ("drivers", *around[1:2], "motion"): schema.motion_entries().get(type_name),
    }
    entry = entries.get(around)
    return list(entry.model_fields) if entry else []


def _at(data: Data, place: Keys) -> Any:
    found: Any = data
    for step in place:
        found = found[step]
    return found


def _place(loc: tuple[str | int, ...], data: Data) -> Keys:
    """Find where a fault of shape is: pydantic's loc without the types and branches it mentions."""
    found: Any = data
    place: Keys = ()
    tagged = False  # whether the type of this mapping was mentioned: a key may have the same name
    for n, step in enumerate(loc):
        if isinstance(found, dict) and step == found.get("type") and not tagged:
            tagged = True
            continue
        inside = step in found if isinstance(found, dict) else isinstance(found, list) and isinstance(step, int)
        if inside:
            place, found, tagged = (*place, step), found[step], False
        elif n == len(loc) - 1 and isinstance(found, dict):
            place = (*place, step)  # a key that is missing
    return place


def shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else f"a list of {len(value)}"
    return "nothing" if value is None else units.shown(repr(value))


def shape_fault(detail: ErrorDetails, document: Document, before: Keys = ()) -> ModelError:
    place = _place((*before, *detail["loc"]), document.data)
    value, kind = detail["input"], detail["type"]
    space = schema.space_of(document.data)
    if kind == "extra_forbidden":
        hint = did_you_mean(str(place[-1]), _keys_allowed(place, document.data))
        if value is None:  # a key alone, as behind a comma in {source: Haug, 1989}
            hint = f"{hint}; a text with commas needs quotes" if hint else "a text with commas needs quotes"
        error = ModelError(f"unknown key '{place[-1]}'", "unknown-key", suggestion=hint)
    elif kind in ("missing", "union_tag_not_found"):
        missing = place[-1] if kind == "missing" else "type"
        place = place[:-1] if kind == "missing" else place
        error = ModelError(f"'{missing}' is missing", "missing-key")
    elif kind == "union_tag_invalid":
        types: dict[str, Any] = {
            "joints": JOINTS[space], "forces": FORCES[space], "drivers": MOTIONS, "bodies": SHAPES[space]
        }  # fmt: skip
        known, name = types[str(place[0])], str(value.get("type"))
        usual = OTHER_NAMES.get(name.lower())
        hint = f"did you mean '{usual}'?" if usual in known else did_you_mean(name, known) or ""
        if not hint.startswith("did"):
            hint += "; types of your own come from --plugins FILE, or from a module imported before"
        place = (*place, "type")
        error = ModelError(f"no type '{value.get('type')}'", "unknown-type", value=value.get("type"), suggestion=hint)
    elif kind in ("too_short", "too_long"):
        is_pair = 2 in (detail["ctx"].get("min_length"), detail["ctx"].get("max_length"))
        wanted = "a pair of numbers" if is_pair else "three numbers"
        hint = "a block has three sides" if is_pair and space == "spatial" and "box" in detail["loc"] else None
        error = ModelError(f"{shown(value)} where {wanted} should be", "wrong-shape", value=value, suggestion=hint)
    else:
        wanted = detail["msg"].removeprefix("Input ").replace("valid ", "")
        wanted = re.sub(" or (instance of .*|object to extract .*)", "", wanted)  # which no file can hold
        wanted = wanted.replace("dictionary", "mapping").replace("string", "text")
        if kind == "string_pattern_mismatch":
            wanted = f"should be {', '.join(schema.COLOURS)} or '#rrggbb'"
        error = ModelError(f"{shown(value)}: {wanted}", "wrong-shape", value=value)
    return document.locate(error, place)


def check_version(document: Document) -> tuple[Note, ...]:
    """Check the file's format before all else: what a newer one adds would only look wrong."""
    version = document.data.get("linkwork")
    error: ModelError
    if "linkwork" not in document.data:
        error = ModelError("'linkwork' is missing", "missing-key", suggestion="begin the file with 'linkwork: 1'")
        raise document.locate(error, ())
    if isinstance(version, bool) or not isinstance(version, int | float) or version < 1:
        error = ModelError(f"{shown(version)} is not a version of the format", "bad-version", suggestion="write 1")
        raise document.locate(error, ("linkwork",))
    if version >= schema.FORMAT + 1:
        message = f"format {version} is newer than this linkwork, which reads format {schema.FORMAT}"
        error = ModelError(message, "newer-version", value=version, suggestion="install a newer linkwork")
        raise document.locate(error, ("linkwork",))
    return (Note("newer-minor-version", version=version, known=schema.FORMAT),) if version > schema.FORMAT else ()


def check_settled(document: Document) -> None:
    """Refuse a model in which something that another program's files say is still missing."""
    found = list(document.unsettled)
    texts = document.data.get("unsettled")
    for k, text in enumerate(() if found or not isinstance(texts, list) else texts):
        hint = "state what is missing, then delete this line"
        error = ModelError(f"not settled: {shown(text)}", "unsettled", suggestion=hint)
        found.append(document.locate(error, ("unsettled", k)))
    if found:
        raise ModelError.together(found)


def check_space(document: Document) -> None:
    """Check the space of a file; without it nothing else can be judged."""
    space = document.data.get("space", "planar")
    if space not in tuple(JOINTS):
        wanted = " or ".join(f"'{name}'" for name in JOINTS)
        error = ModelError(f"{shown(space)}: should be {wanted}", "wrong-shape", value=space)
        raise document.locate(error, ("space",))
