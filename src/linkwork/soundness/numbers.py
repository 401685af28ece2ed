"""The numbers that stand in a model, each with its place."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

from linkwork.elements.motions import Table
from linkwork.expressions.evaluation import Tape, ordered
from linkwork.expressions.graph import Expr
from linkwork.model import Model


class Formulas:
    """Numbers and formulas of these parameters alone, with their places in a model; put in order once."""

    def __init__(self, paths: Mapping[Expr | float, str], parameters: Iterable[Expr]) -> None:
        self.paths, self.nodes = paths, [x for x in paths if isinstance(x, Expr)]
        self.tape = Tape([*parameters], self.nodes)

    def evaluate(self, values: Iterable[float]) -> dict[Expr, float]:
        return dict(zip(self.nodes, map(float, self.tape(values)), strict=True))


def numbers_in(model: Model, parameters: Container[Expr]) -> dict[Expr | float, str]:
    """Return numbers and formulas of the parameters alone, with the first place of each in the elements of a model."""
    found: dict[Expr | float, str] = {}
    for path, x in _all_numbers(model):
        found.setdefault(x, path)
    moving = set[Expr]()
    for node in ordered([x for x in found if isinstance(x, Expr)]):
        if (node.op == "symbol" and node not in parameters) or not moving.isdisjoint(node.args):
            moving.add(node)
    return {x: path for x, path in found.items() if x not in moving}


def _all_numbers(model: Model) -> Iterator[tuple[str, Expr | float]]:
    yield from _numbers(model.ground.points, "ground.points")
    yield from _numbers(model.gravity, "gravity")
    for kind in ("bodies", "joints", "drivers", "forces", "events", "actuators", "inputs", "outputs", "states"):
        for element in getattr(model, kind):
            yield from _of_fields(element, f"{kind}.{element.name}")


def unused_parameters(model: Model) -> list[str]:
    """Return the parameters that stand in no formula: misspelt settings, or leftovers."""
    parts = (model.shapes, model.window, model.simulation.start, model.simulation.rate)
    numbers = (x for _, x in (*_all_numbers(model), *_numbers(parts, "")))
    used = {str(node.value) for node in ordered([x for x in numbers if isinstance(x, Expr)]) if node.op == "symbol"}
    used |= {*model.folded, *model.functions, *(x.name for x in model.inputs)}
    return [name for name in model.parameters if name not in used] if model.stated is None else []


def formulas_in(model: Model, kinds: Iterable[str]) -> Iterator[tuple[str, Expr]]:
    """Return the formulas in elements of these kinds, with their places."""
    for kind in kinds:
        for element in getattr(model, kind):
            yield from ((at, x) for at, x in _of_fields(element, f"{kind}.{element.name}") if isinstance(x, Expr))


@cache
def field_names(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


def _of_fields(element: Any, path: str) -> Iterator[tuple[str, Expr | float]]:
    for name in field_names(element.__class__):
        yield from _numbers(getattr(element, name), f"{path}.{name}")


def _numbers(part: Any, path: str) -> Iterator[tuple[str, Expr | float]]:
    """Yield the numbers of a part of an element, but not those of other elements in it."""
    if isinstance(part, Expr | float | int):
        yield path, part
    elif isinstance(part, tuple | list | np.ndarray):
        for k, inner in enumerate(part):
            yield from _numbers(inner, f"{path}[{k}]")
    elif isinstance(part, Mapping):
        for key, inner in part.items():
            yield from _numbers(inner, f"{path}.{key}")
    elif is_dataclass(part) and not (hasattr(part, "name") or isinstance(part, Table)):
        yield from _of_fields(part, path)
