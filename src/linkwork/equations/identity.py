"""What tells a mechanism from others: a digest of each kind of its elements, with all their values.

Names, types, numbers, formulas and the contents of tables are in it, and of elements of users, whose laws no field
says, the equations. The values of named parameters stand apart from the formulas with them; settings of a run and looks
are no part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from hashlib import sha256
from typing import Any

from linkwork.equations.parameters import Reading, is_extended
from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import Expr
from linkwork.model import Model
from linkwork.soundness.numbers import field_names


class _Contents(Reading):
    """The elements of a model with their values; where one refers to another, its name."""

    def number(self, path: tuple[str | int, ...], value: float) -> float:
        return value

    def combine(self, element: Any, parts: dict[str, Any]) -> Any:
        return type(element).__qualname__, *parts.items()

    def refer(self, element: Any, made: Any) -> str:
        return str(element.name)


def identify(model: Model) -> dict[str, str]:
    """Return digests by kind, the same in every process."""
    own = _Contents(model)
    kinds = {
        "bodies": own.bodies,
        "joints": (own.joints, model.open),
        "drivers": own.drivers,
        "forces": own.forces,
        "gravity": own.gravity,
        "events": own.events,
        "inputs": (own.inputs, model.functions.keys()),
        "outputs": own.outputs,
        "states": own.states,
        "equations": own.stated,
        "parameters": model.parameters,
    }
    if is_extended(model):
        from linkwork.equations.coordinates import derive

        kinds["equations"] = derive("body", model).stated
    return {kind: digest(content) for kind, content in kinds.items()}


def digest(content: Any) -> str:
    """Return letters that tell nested data from others."""
    return sha256("\n".join(_words(content, {})).encode("utf-8", "surrogatepass")).hexdigest()


def _words(part: Any, known: dict[Expr, int]) -> Iterator[str]:
    """Write data down; every node of an expression once, its arguments before it."""
    if isinstance(part, Expr) and not part.is_constant:
        for node in ordered([part], known):
            yield f"{node.op} {node.value!r} {[known[x] for x in node.args]}"
            known[node] = len(known)
        yield f"node {known[part]}"
    elif isinstance(part, Mapping):
        yield from _words(tuple(part.items()), known)
    elif isinstance(part, tuple | list):
        yield f"{len(part)}:"
        for one in part:
            yield from _words(one, known)
    elif is_dataclass(part):
        yield type(part).__qualname__
        for name in field_names(part.__class__):
            yield from _words(getattr(part, name), known)
    elif isinstance(part, frozenset):
        yield from _words(sorted(part), known)
    else:
        yield repr(part.number if isinstance(part, Expr) else part)
