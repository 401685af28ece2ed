"""The page of elements: every body, joint, motion and force with its method in Python, its law and its fields."""

import textwrap
from typing import Any

from linkwork import PlanarModel, SpatialModel, units
from linkwork.elements.forces import FORCES
from linkwork.elements.joints import JOINTS
from linkwork.elements.motions import MOTIONS
from linkwork.modelfile import schema
from reference import table

BUILDERS = {"planar": PlanarModel, "spatial": SpatialModel}
FORMS = {"point": "a point of a body", "flag": "true or false"}
NAMED = {  # what is given by numbers or by a name, or by names: directions, places
    "axis": ("a direction, by its components or a name", "a place [m], or a point by its name"),
    "points": ("directions by their names", "points by their names, places [m]"),
}


def documented(cls: type) -> list[str]:
    """The docstring as Markdown, in which equations stay indented and so become code."""
    first, _, rest = (cls.__doc__ or "").partition("\n")
    return [first, *textwrap.dedent(f"    .\n{rest}").split("\n")[1:], ""] if rest else [first, ""]


def holds(quantity: Any) -> str:
    if quantity.names:
        return ", ".join(f"`{name}`" for name in quantity.names)
    if quantity.form in NAMED:
        return NAMED[quantity.form][units.LENGTH in quantity.kinds]
    kinds = " or ".join(dict.fromkeys(f"{kind.name} [{kind.unit}]" for kind in quantity.kinds))
    form = FORMS.get(quantity.form, quantity.form)
    return kinds if quantity.form == "number" and kinds else f"{form}, {kinds}" if kinds else form


def fields(cls: type) -> list[str]:
    rows = []
    for key, quantity, field in schema.keys(cls):
        value = "required" if schema.is_required(field) else field.default
        empty = value is None or not isinstance(value, str | float | int)
        rows.append([f"`{key}`", holds(quantity), "" if empty else str(value)])
    return table(["field", "holds", "if left out"], rows)


def entry(name: str, cls: type, call: str) -> list[str]:
    return [f"### {name}", "", "```text", call, "```", "", *documented(cls), *fields(cls)]


def call(cls: type, method: str) -> str:
    """How Python adds such an element: what is required, then an ellipsis for the rest."""
    required = [key for key, _, field in schema.keys(cls) if schema.is_required(field)]
    more = [] if len(required) == len(schema.keys(cls)) else ["..."]
    return f"m.{method}(name, {', '.join([*required, *more])})"


def page() -> str:
    lines = [
        "# Elements",
        "",
        "Every element with the method that adds it to a `PlanarModel` or `SpatialModel` m, the law that it states,",
        "and its fields, which are also its keys in a model file. `i` and `j` are points of bodies; differences run",
        "from body i to body j. The page is made from the docstrings, so `help(m.revolute)` says the same.",
        "",
    ]
    for space, words in (("planar", "In the plane"), ("spatial", "In space")):
        assert all(hasattr(BUILDERS[space], name.replace("-", "_")) for name in (*JOINTS[space], *FORCES[space]))
        lines += [f"## {words}: bodies", "", *entry("body", schema.BODIES[space], call(schema.BODIES[space], "body"))]
        for kind, types in (("joints", JOINTS[space]), ("forces", FORCES[space])):
            lines += [f"## {words}: {kind}", ""]
            for name, cls in types.items():
                lines += entry(name, cls, call(cls, name.replace("-", "_")))
    lines += ["## Motions of drivers", ""]
    for name, cls in MOTIONS.items():
        lines += entry(name, cls, f'm.driver(name, joint, dict(type="{name}", ...))')
    return "\n".join(lines)
