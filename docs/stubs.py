"""The stub of linkwork.models, written from the elements: python docs/stubs.py > src/linkwork/models.pyi"""

import inspect

from linkwork.elements.forces import FORCES
from linkwork.elements.joints import JOINTS
from linkwork.modelfile import schema

HEAD = '''"""Written by docs/stubs.py."""

from collections.abc import Mapping, Sequence
from typing import Any

from linkwork.building import Builder, Part

Number = float | str | Any
Vector = Sequence[Number]
Point = Part | str
'''
TYPES = {
    "number": "Number",
    "vector": "Vector",
    "list": "Sequence[Number]",
    "vectors": "Sequence[Vector]",
    "points": "Mapping[str, Vector] | str",
    "point": "Point",
    "body": "Part | str",
    "joint": "Part | str",
    "axis": "Vector | str",
    "flag": "bool",
    "inertia": "Sequence[Any]",
    "matrix": "Sequence[Any]",
    "orientation": "Sequence[Number] | Mapping[str, Any]",
    "turning": "Vector | Mapping[str, Vector]",
}
MORE = {"bodies": ("shape: Mapping[str, Any]", "colour: str"), "joints": ("open: bool",), "forces": ()}


def signature(section: str, cls: type, name: str) -> str:
    from linkwork.building import POSITIONAL

    by_position, by_keyword = ["self", "name: str"], []
    for key, holds, field in schema.keys(cls):
        is_required = schema.is_required(field)
        text = f"{key}: {TYPES.get(holds.form, 'str')}" + ("" if is_required else " | None = None")
        (by_position if key in POSITIONAL else by_keyword).append(text)
    by_position.sort(key=lambda text: "=" in text)
    by_keyword += [f"{text} | None = None" for text in MORE[section]]
    arguments = ", ".join([*by_position, *(["*", *by_keyword] if by_keyword else [])])
    about = (inspect.getdoc(cls) or "").split("\n")[0]
    return f'    def {name}({arguments}) -> Part:\n        """{about}"""\n'


def stub() -> str:
    parts = [HEAD]
    for space, name in (("planar", "PlanarModel"), ("spatial", "SpatialModel")):
        parts.append(f'\nclass {name}(Builder):\n    """A mechanism built element by element."""\n')
        parts.append(signature("bodies", schema.BODIES[space], "body"))
        for section, types in (("joints", JOINTS[space]), ("forces", FORCES[space])):
            parts += [signature(section, cls, own.replace("-", "_")) for own, cls in types.items()]
    return "\n".join(parts)


if __name__ == "__main__":
    print(stub(), end="")
