"""What of a model is structure and what is value.

Structure decides which equations there are, a value only the numbers in them, so that another value never compiles
anything again. Structure are the elements with their types, names, formulas and tables, and of the numbers only

    exact zeros             which leave terms out of the equations
    axes along x, y or z    which leave out products likewise

Every other number is a value and stands in the equations as a symbol. A parameter that the model names is always one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass, replace
from itertools import compress
from typing import Any

import numpy as np

from linkwork.elements.bodies import Ground, PlanarBody, SpatialBody
from linkwork.elements.friction import StickSlip
from linkwork.elements.motions import Table
from linkwork.elements.pairs import Joint
from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import Expr, symbol
from linkwork.model import Model
from linkwork.records import changed
from linkwork.soundness.numbers import Formulas, field_names, numbers_in

BODIES = (Ground, PlanarBody, SpatialBody)
RATES = (
    "velocity",
    "angular_velocity",
)  # of a body at the start, on which no fault depends but that of having no value
AXES = ("axis", "axis_j", "zero", "zero_j", "normal")
PLAIN = (float, str, dict, Expr, list)  # looked at first because most parts are one of these


class Reading(ABC):
    """A model read element by element; what becomes of its values and elements is told by the classes below."""

    def __init__(self, model: Model) -> None:
        self.known: dict[str, dict[str, Any]] = {"bodies": {}, "joints": {}}
        self.bodies = [self._keep("bodies", body) for body in (model.ground, *model.bodies)]
        self.joints = [self._keep("joints", joint) for joint in model.joints]
        self.drivers = [self._element(driver) for driver in model.drivers]
        self.forces = [self._element(force) for force in model.acting]
        # Whatever is called back is no part of the equations.
        self.events = [self._element(replace(event, callback=None)) for event in model.events]
        self.inputs = [self._element(replace(signal, is_open=False)) for signal in model.inputs]
        self.outputs = [self._element(signal) for signal in model.outputs]
        self.states = [self._element(signal) for signal in model.states]
        self.gravity = self._part(("gravity",), tuple(model.gravity))
        self.stated: Any = None if model.stated is None else self._element(model.stated)

    @abstractmethod
    def number(self, path: tuple[str | int, ...], value: float) -> Any:
        """Return what stands for a value."""

    @abstractmethod
    def combine(self, element: Any, parts: dict[str, Any]) -> Any:
        """Return what stands for an element, given what stands for its parts."""

    @abstractmethod
    def refer(self, element: Any, made: Any) -> Any:
        """Return what stands for an element where another one refers to it."""

    def _keep(self, kind: str, element: Any) -> Any:
        """Return elements that others refer to are read once."""
        made = self._element(element)
        self.known[kind][element.name] = self.refer(element, made)
        return made

    def _element(self, element: Any) -> Any:
        name = getattr(element, "name", type(element).__name__)
        parts: dict[str, Any] = {}
        for field in field_names(element.__class__):
            value = getattr(element, field)
            if type(value) in PLAIN:
                parts[field] = self._part((name, field), value)
            elif isinstance(value, BODIES):
                parts[field] = self.known["bodies"].get(value.name, value)
            elif isinstance(value, Joint) and value.name in self.known["joints"]:
                parts[field] = self.known["joints"][value.name]
            elif field in AXES and value is not None and _is_along_one(value):
                parts[field] = tuple(float((x > 0) - (x < 0)) for x in value)
            elif is_dataclass(value) and not isinstance(value, Table):
                parts[field] = self._element(value)
            else:
                parts[field] = self._part((name, field), value)
        return self.combine(element, parts)

    def _part(self, path: tuple[str | int, ...], value: Any) -> Any:
        kind = type(value)
        if kind is Expr and value.is_constant and value.number:
            return self.number(path, value.number)
        if kind is float or kind is int or isinstance(value, np.number):
            return self.number(path, float(value)) if value else 0.0
        if kind is tuple or kind is list or kind is np.ndarray:
            return tuple(self._part((*path, k), part) for k, part in enumerate(value))
        if kind is not str and kind is not Expr and isinstance(value, Mapping):
            return {key: self._part((*path, key), part) for key, part in value.items()}
        return value


def _is_along_one(axis: tuple[Any, ...]) -> bool:
    return all(isinstance(x, int | float) for x in axis) and sum(x != 0 for x in axis) == 1


class Symbols(Reading):
    """The elements of a model with symbols in the place of their values, and `values`, what the symbols stand for."""

    def __init__(self, model: Model) -> None:
        self.values: dict[Expr, float] = {symbol(name): value for name, value in model.parameters.items()}
        super().__init__(model)
        # Friction that sticks is a constraint like that of a driver.
        self.drivers += [force.stick() for force in self.forces if isinstance(force, StickSlip)]

    def number(self, path: tuple[str | int, ...], value: float) -> Expr:
        made = symbol(f"{'.'.join(map(str, path))}'")  # the prime keeps these names apart from all names of model files
        while made in self.values:  # a joint and a body may have one name
            made = symbol(f"{made.value}'")
        self.values[made] = value
        return made

    def combine(self, element: Any, parts: dict[str, Any]) -> Any:
        return replace(element, **parts)

    def refer(self, element: Any, made: Any) -> Any:
        return made


def is_extended(model: Model) -> bool:
    """Return whether it has elements of users, whose laws may depend on what no field says."""
    own = (model.ground, *model.bodies, *model.joints, *model.drivers, *model.acting, *model.events)
    return any(not type(x).__module__.startswith("linkwork.") for x in own)


class Structure(Reading):
    """The structure of a model as a `key`, and its `values` in the order of those of Symbols."""

    def __init__(self, model: Model) -> None:
        self.values = [float(x) for x in model.parameters.values()]
        super().__init__(model)
        signals = (self.inputs, self.outputs, self.states)
        elements = (self.bodies, self.joints, self.drivers, self.forces, self.events, *signals)
        names = tuple(model.parameters), model.open, model.held
        self.key = (model.space, *names, self.gravity, self.stated, *map(tuple, elements))

    def number(self, path: tuple[str | int, ...], value: float) -> str:
        self.values.append(value)
        return "#"

    def combine(self, element: Any, parts: dict[str, Any]) -> Any:
        return (type(element), *(_frozen(part) for part in parts.values()))

    def refer(self, element: Any, made: Any) -> str:
        return str(element.name)


class Uses(Reading):
    """Of every element the symbols on whose values it depends, itself or by those that it refers to."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._formulas: dict[frozenset[str], Formulas] = {}
        self._elements: dict[frozenset[str], Mapping[str, list[bool]]] = {}

    def number(self, path: tuple[str | int, ...], value: float) -> Any:
        return ()

    def combine(self, element: Any, parts: dict[str, Any]) -> Any:
        return frozenset(_symbols({name: part for name, part in parts.items() if name not in RATES}))

    def refer(self, element: Any, made: Any) -> Any:
        return made

    def formulas(self, model: Model, parameters: Iterable[str]) -> Formulas:
        """Return those of a model of this structure that depend on these parameters, and on no others but such."""
        key = frozenset(parameters)
        if key not in self._formulas:
            names, symbols = set(map(symbol, key)), [*map(symbol, model.parameters)]
            known = numbers_in(model, symbols).items()
            self._formulas[key] = Formulas({x: path for x, path in known if not names.isdisjoint(_symbols(x))}, symbols)
        return self._formulas[key]

    def dependent(self, model: Model, parameters: Iterable[str]) -> Model:
        """Return a model of this structure without the elements whose soundness does not depend on these parameters."""
        if model.events or model.signals or model.stated is not None:  # which may depend on any element
            return model
        key = frozenset(parameters)
        if key not in self._elements:
            names, bodies = set(map(symbol, key)), self.bodies[1:]  # behind the ground
            used = {"bodies": bodies, "joints": self.joints, "drivers": self.drivers, "forces": self.forces}
            self._elements[key] = {kind: [not names.isdisjoint(x) for x in own] for kind, own in used.items()}
        chosen = self._elements[key].items()
        return changed(model, **{kind: tuple(compress(getattr(model, kind), own)) for kind, own in chosen})


def _symbols(part: Any) -> Iterator[Expr]:
    if isinstance(part, Expr):
        yield from (node for node in ordered([part]) if node.op == "symbol")
    elif isinstance(part, Mapping | tuple | frozenset):
        for one in part.values() if isinstance(part, Mapping) else part:
            yield from _symbols(one)


def _frozen(part: Any) -> Any:
    """Return a part, as something that can be looked up."""
    return tuple((key, _frozen(value)) for key, value in part.items()) if isinstance(part, dict) else part
