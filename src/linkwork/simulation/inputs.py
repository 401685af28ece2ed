"""Parameters whose values functions in Python give while a motion is integrated.

An input stands in p like what events change, and is written there by whoever evaluates the motion, just before. So
forces, their work and all else that a right-hand side computes have its value of that very state. Implicit methods
leave it out of their Jacobian, which costs them steps but no accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.compiled.system import System
from linkwork.errors import ModelError, UsageError, check_choice
from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import symbol
from linkwork.model import Input, Model
from linkwork.native.calls import Called
from linkwork.native.kernels import call
from linkwork.native.lowering import NativeFunction

Array = NDArray[np.float64]


class State(Mapping[str, float]):
    """Coordinates and velocities by name, read where machine code has them; they change from one call to the next."""

    def __init__(self, places: Mapping[str, int], x: Array) -> None:
        self._places, self._x = places, x

    def __getitem__(self, name: str) -> float:
        check_choice("coordinate or velocity", name, self._places)
        return float(self._x[self._places[name]])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def take_inputs(model: Model | Mechanism, inputs: Mapping[str, Input]) -> Model | Mechanism:
    """The model with these inputs; refused where a parameter stands in what must not change with time."""
    mechanism = prepare(model)
    stated = mechanism.unplaced or mechanism.model
    for name, function in inputs.items():
        check_choice("parameter", name, stated.parameters)
        if not callable(function):
            raise UsageError(f"input '{name}' is no function of t and state: {function!r}", "bad-input")
    if stated.stated is not None:
        raise UsageError("a system that states its equations takes no inputs; write formulas", "bad-input")
    if not inputs:
        return mechanism
    e = mechanism.equations.chart.body or mechanism.equations
    for part, what in (
        ([*e.Psi, *e.slips.values()], "a constraint"),
        (list(e.M.values()), "an inertia"),
        ([e.energy.potential], "a potential"),
    ):
        used = {node.value for node in ordered(list(part)) if node.op == "symbol"}
        if wrong := sorted(used & {*inputs}):
            message = f"'{wrong[0]}' stands in {what}, which does not follow an input"
            rule = "inputs stand in formulas of forces and torques, dampings and events"
            raise ModelError(message, "bad-input", path=f"parameters.{wrong[0]}", rule=rule)
    return replace(stated, inputs=dict(inputs))


def find_inputs(system: System, inputs: Mapping[str, Input]) -> Callable[[float, Array], list[tuple[int, float]]]:
    """What gives, of a time and (t, q, v), the numbers of the inputs among what is held, and their values."""
    e = system.equations
    names = [*e.q_names, *(c.speed for c in e.velocities)]
    places = {name: 1 + k for k, name in enumerate(names)}
    given = [(e.held.index(symbol(name)), name, function) for name, function in inputs.items()]

    def find(t: float, x: Array) -> list[tuple[int, float]]:
        state, found = State(places, x), []
        for k, name, function in given:
            value = float(function(t, state))
            if not isfinite(value):
                raise UsageError(f"input '{name}' is {value} at t = {t:.6g}", "bad-input")
            found.append((k, value))
        return found

    return find


def give_inputs(native: NativeFunction, system: System, inputs: Mapping[str, Input]) -> NativeFunction:
    """The same right-hand side, for which the inputs are found first."""
    find, first = find_inputs(system, inputs), system.held.start

    def compute(x: Array, p: Array, y: Array, w: Array) -> None:
        for k, value in find(float(x[0]), x):
            p[first + k] = value
        call(native.address, x, p, y, w)

    def refuse(x: Array, p: Array, y: Array, w: Array) -> None:
        y[: native.outputs] = np.nan

    called = Called(compute, refuse)
    return replace(native, address=called.address, code=(called, native))


def fill_inputs(system: System, inputs: Mapping[str, Input], t: Array, rows: Array, held: Array) -> None:
    """Put the inputs at these times and states among what is held there."""
    find = find_inputs(system, inputs)
    for row, (time, y) in enumerate(zip(t.tolist(), rows, strict=True)):
        for k, value in find(time, np.append(time, y)):
            held[row, k] = value
