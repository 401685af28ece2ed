"""Elements made in Python hold what their fields are for; those of files have been checked with their lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_type_hints

from linkwork.elements.bodies import Ground, PlanarBody, SpatialBody
from linkwork.elements.pairs import Joint
from linkwork.elements.quantities import Quantity
from linkwork.errors import ModelError
from linkwork.model import Model

BODIES = {"planar": PlanarBody, "spatial": SpatialBody}
BODY_FIELDS = ("body", "body_i", "body_j", "carrier")  # fields
SECTIONS = ("bodies", "joints", "drivers", "forces")
VECTORS = ("s", "s_i", "s_j", "position", "velocity", "mass_centre")
FORMS = ("choice", "freedom", "name", "names")  # of quantities that are texts


@cache
def text_fields(cls: type) -> frozenset[str]:
    """Return the fields of an element that hold texts, by their annotations."""
    hints = get_type_hints(cls, include_extras=True)
    stated = {
        name: [x.form for x in getattr(hint, "__metadata__", ()) if isinstance(x, Quantity)]
        for name, hint in hints.items()
    }
    return frozenset(name for name, hint in hints.items() if hint is str or any(form in FORMS for form in stated[name]))


def type_faults(model: Model) -> Iterator[ModelError]:
    """Find bodies of the other space, texts for numbers, names for bodies or joints, vectors of other sizes."""
    if model.space not in BODIES:
        yield ModelError(f"no space {model.space!r}", "wrong-space", path="space", rule="planar or spatial")
        return
    kind, size = BODIES[model.space], 2 + (model.space == "spatial")
    if not isinstance(model.gravity, tuple | list) or len(model.gravity) != size:
        rule = f"vectors of this model have {size} components"
        yield ModelError(f"{model.gravity!r} is not a vector", "wrong-type", path="gravity", rule=rule)
    if faults := list(_faults_of_sections(model)):
        yield from faults
        return
    for body in model.bodies:
        if not isinstance(body, kind):
            named = getattr(body, "name", body)
            message = f"{named!r} is a {type(body).__name__}, and the model is {model.space}"
            yield ModelError(message, "wrong-space", path="bodies", rule=f"its bodies are {kind.__name__}")
    for section in SECTIONS:
        for element in getattr(model, section):
            for f in fields(element):
                if f.name not in text_fields(element.__class__):
                    path = f"{section}.{element.name}.{f.name}"
                    yield from _faults(f.name, getattr(element, f.name), size, kind, path)


def _faults_of_sections(model: Model) -> Iterator[ModelError]:
    for section in SECTIONS:
        given = getattr(model, section)
        if not isinstance(given, tuple | list):
            yield ModelError(f"{given!r} is not a tuple of elements", "wrong-type", path=section)
        elif wrong := [x for x in given if not is_dataclass(x) or isinstance(x, type)]:
            yield ModelError(f"{wrong[0]!r} is not an element", "wrong-type", path=section)


def _faults(name: str, value: Any, size: int, kind: type, path: str) -> Iterator[ModelError]:
    if name in BODY_FIELDS and not isinstance(value, kind | Ground):
        rule = f"bodies of this model are {kind.__name__} or Ground"
        yield ModelError(f"{value!r} is not a body", "wrong-type", path=path, rule=rule)
    elif name in ("joint", "follower") and not isinstance(value, Joint):
        yield ModelError(f"{value!r} is not a joint", "wrong-type", path=path, rule="it is a joint, not its name")
    elif name in VECTORS and isinstance(value, tuple | list) and len(value) != size:
        message = f"{value!r} has {len(value)} components"
        yield ModelError(message, "wrong-type", path=path, rule=f"vectors of this model have {size}")
    elif texts := [x for x in (value if isinstance(value, tuple | list) else (value,)) if isinstance(x, str)]:
        hint = "write a number, or build it with PlanarModel or SpatialModel, which take units and formulas as text"
        yield ModelError(f"{texts[0]!r} is a text", "wrong-type", path=path, suggestion=hint)
