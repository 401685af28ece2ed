"""Parameters whose values functions in Python give while a motion is integrated.

An input stands in p like what events change, and is written there by whoever evaluates the motion, just before. So
forces, their work and all else that a right-hand side computes have its value of that very state. Implicit methods
leave it out of their Jacobian, which costs them steps but no accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from math import isfinite
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.compiled.system import System
from linkwork.elements.curves import Curve
from linkwork.errors import ModelError, UsageError, check_choice, option
from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import Expr, symbol
from linkwork.model import Input, Model
from linkwork.native.calls import Called
from linkwork.native.kernels import call
from linkwork.native.lowering import NativeFunction
from linkwork.units import unit_of

Array = NDArray[np.float64]
Value: TypeAlias = float | str | Input | tuple[ArrayLike, ArrayLike]


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


def take_values(model: Model | Mechanism, given: Mapping[str, Value], is_controlled: bool = False) -> Mechanism:
    """Take these values of parameters and inputs: numbers, functions of t and state, tables of time.

    Refused where a function is given for what must not change with time, or an input is left without a value unless
    the motion is controlled.
    """
    mechanism = prepare(model)
    stated = mechanism.unplaced or mechanism.model
    inputs = {x.name: x for x in stated.inputs}
    for name, value in given.items():
        check_choice("parameter", name, stated.parameters)
        if callable(value) and stated.stated is not None:
            raise UsageError("a system that states its equations takes no inputs; write formulas", "bad-input")
    if not is_controlled:
        check_given(stated, given)
    functions = {name: x for name, x in given.items() if callable(x)}
    tables = {name: x for name, x in given.items() if name in inputs and not (callable(x) or _is_number(x))}
    numbers: dict[str, Any] = {name: x for name, x in given.items() if name not in functions and name not in tables}
    for name, table in tables.items():
        inputs[name] = replace(inputs[name], formula=read_table(name, table), every=None, is_open=False)
    for name in (*numbers, *functions):
        if name in inputs and (inputs[name].formula is not None or inputs[name].is_open):
            inputs[name] = replace(inputs[name], formula=None, every=None, is_open=False)
    if others := [name for name in functions if name not in inputs]:
        _check_constant(mechanism, others)
    if functions or any(x is not y for x, y in zip(inputs.values(), stated.inputs, strict=True)):
        mechanism = prepare(replace(stated, inputs=tuple(inputs.values()), functions=functions))
    return mechanism.changed(numbers)


def _is_number(value: object) -> bool:
    """Whether this is a number, or a text that gives one with its unit."""
    return isinstance(value, Real) or (isinstance(value, str) and unit_of(value) is not None)


def check_given(model: Model, given: Collection[str]) -> None:
    """Raise UsageError where an input is left open, and is not among what is given."""
    if name := next((x.name for x in model.inputs if x.is_open and x.name not in given), None):
        hint = f"write {option('parameters', {name: 0.0}, command=f'--set {name}=0, or --input {name}=FILE')}"
        raise UsageError(f"input '{name}' is left open and has no value; {hint}", "open-input")


def read_table(name: str, table: object) -> Expr:
    """Read the function of time through (times, values), straight in between."""
    try:
        times, values = (tuple(np.asarray(x, dtype=float).ravel().tolist()) for x in table)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        what = "a number, a function of t and state, or a table (times, values)"
        raise UsageError(f"input '{name}' is {what}, and not {table!r:.60}", "bad-input") from None
    curve = Curve(times, values)
    if fault := curve.fault():
        raise UsageError(f"the table of input '{name}': {fault}", "bad-table")
    return curve.over_time()


def _check_constant(mechanism: Mechanism, names: Collection[str]) -> None:
    """Raise ModelError where one of these parameters stands in what must not change with time."""
    e = mechanism.equations.chart.body or mechanism.equations
    for part, what in (
        ([*e.Psi, *e.slips.values()], "a constraint"),
        (list(e.M.values()), "an inertia"),
        ([e.energy.potential], "a potential"),
        ([x.expression for x in e.outputs.get("points", {}).values()], "the place of a point"),
    ):
        used = {node.value for node in ordered(list(part)) if node.op == "symbol"}
        if wrong := sorted(used.intersection(names)):
            message = f"'{wrong[0]}' stands in {what}, which does not follow an input"
            rule = "inputs stand in formulas of forces and torques, dampings and events"
            raise ModelError(message, "bad-input", path=f"parameters.{wrong[0]}", rule=rule)


def find_inputs(system: System, inputs: Mapping[str, Input]) -> Callable[[float, Array], list[tuple[int, float]]]:
    """Find what gives, of a time and (t, q, v), the numbers of the inputs among what is held, and their values."""
    e = system.equations
    names = [*e.q_names, *(c.speed for c in e.velocities)]
    places = {name: 1 + k for k, name in enumerate(names)}
    given = [(e.held.index(symbol(name)), name, function) for name, function in inputs.items()]

    def find(t: float, x: Array) -> list[tuple[int, float]]:
        state, found = State(places, x), []
        for k, name, function in given:
            returned = function(t, state)
            try:
                value = float(returned)
            except (TypeError, ValueError):
                raise UsageError(f"input '{name}' is {returned!r} at t = {t:.6g}, no number", "bad-input") from None
            if not isfinite(value):
                raise UsageError(f"input '{name}' is {value} at t = {t:.6g}", "bad-input")
            found.append((k, value))
        return found

    return find


def give_inputs(native: NativeFunction, system: System, inputs: Mapping[str, Input]) -> NativeFunction:
    """Return the same right-hand side, for which the inputs are found first."""
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
