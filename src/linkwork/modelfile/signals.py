"""From the entries of inputs, outputs and states in a file to signals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from linkwork import units
from linkwork.elements.events import result_names
from linkwork.elements.signals import OUTPUT, InputSignal, OutputSignal, StateSignal
from linkwork.errors import ModelError
from linkwork.expressions.graph import Expr, as_expr, symbol
from linkwork.expressions.parser import RESERVED
from linkwork.modelfile import schema
from linkwork.modelfile.dimensions import exponents_of
from linkwork.modelfile.stated import PLAIN_NAME
from linkwork.units import Kind

if TYPE_CHECKING:
    from linkwork.modelfile.translation import Translation

SECTIONS = ("inputs", "outputs", "states")


class Signals(NamedTuple):
    inputs: tuple[InputSignal, ...] = ()
    outputs: tuple[OutputSignal, ...] = ()
    states: tuple[StateSignal, ...] = ()


def declare_signals(given: Translation) -> dict[str, Expr]:
    """Return what formulas of forces, rates, outputs and events may name.

    Units and values are told to the translation.
    """
    found: dict[str, Expr] = {}
    for kind in SECTIONS:
        for name, entry in getattr(given.entry, kind, {}).items():
            place, own = (kind, name), f"{OUTPUT}{name}" if kind == "outputs" else name
            _check_name(given, place, own, found)
            found[own] = symbol(own)
            if (unit := _read_unit(given, entry.unit, place)) is not None:
                given.declared[found[own]] = exponents_of(unit)
            if kind == "inputs":
                given.values[found[own]] = 0.0  # until its own is read, or if it has none
    return found


def _check_name(given: Translation, place: tuple[str, str], own: str, taken: dict[str, Expr]) -> None:
    name = place[1]
    if not re.fullmatch(PLAIN_NAME, name):
        rule = "names in formulas are made of letters, digits and underscores"
        given.fail(place, f"'{name}' cannot stand in a formula", "bad-name", rule=rule)
    elif name in RESERVED or name == "t":
        given.fail(place, f"'{name}' has a meaning of its own in formulas", "reserved-name", value=name)
    for what, others in (("parameter", given.entry.parameters), ("table", given.tables), ("input", taken)):
        if own in others:
            given.fail(place, f"'{name}' is also the name of a {what}", "duplicate-name", value=name)


def _read_unit(given: Translation, unit: str | None, place: tuple[str, str]) -> str | None:
    if unit is not None:
        try:
            units.parse_unit(unit)
        except ModelError as error:
            given.errors.append(given.document.locate(error, (*place, "unit")))
            return None
    return unit


def kind_of(what: str, unit: str | None) -> Kind | None:
    return None if unit is None else Kind(f"{what} in {unit}", unit, f"1 {unit}")


def read_signals(given: Translation, drivers: Sequence[Any], forces: Sequence[Any]) -> Signals:
    """Read the signals; formulas that cannot be read are told to the translation."""
    if not any(getattr(given.entry, kind, None) for kind in SECTIONS):
        return Signals()
    given.stop()  # what forces measure is known of sound ones
    results = {
        name: symbol(name) for name in result_names(given.bodies.values(), given.joints.values(), drivers, forces)
    }
    read = partial(given.read, names={**results, **given.motion_names}, of_parameters=False)
    inputs = tuple(_read_input(given, name, entry, read) for name, entry in given.entry.inputs.items())
    outputs = tuple(_read_output(name, entry, read) for name, entry in given.entry.outputs.items())
    states = tuple(_read_state(given, name, entry, read) for name, entry in given.entry.states.items())
    return Signals(inputs, outputs, states)


def _read_input(given: Translation, name: str, entry: schema.InputEntry, read: Any) -> InputSignal:
    place, unit, value = ("inputs", name), entry.unit or "1", entry.value
    every = None if entry.every is None else given.read(entry.every, units.TIME, given.names, (*place, "every"))
    if isinstance(value, schema.TableEntry):
        from linkwork.modelfile.tables import read_table

        lookup = read_table(given, value, (*place, "value"))
        stated = () if lookup is None else ((lookup.unit, "s"), (lookup.of_values, entry.unit))
        for own, needed in stated:
            if own and needed and exponents_of(own) != exponents_of(needed):
                message = f"a table in {own}, where {needed} or its like should be"
                given.fail((*place, "value"), message, "unit-mismatch", value=own)
        return InputSignal(name, unit, None if lookup is None else lookup.curve.over_time(), every)
    if value is None:
        return InputSignal(name, unit, every=every, is_open=True)
    found = read(value, kind_of("an input", entry.unit), place=(*place, "value"))
    if isinstance(found, Expr) and not found.is_constant:
        return InputSignal(name, unit, found, every)
    given.values[symbol(name)] = float(found) if not isinstance(found, Expr) else found.number
    return InputSignal(name, unit, every=every)


def _read_output(name: str, entry: schema.OutputEntry, read: Any) -> OutputSignal:
    formula = read(entry.formula, kind_of("an output", entry.unit), place=("outputs", name, "formula"))
    return OutputSignal(name, as_expr(formula), entry.unit or "1")


def _read_state(given: Translation, name: str, entry: schema.StateEntry, read: Any) -> StateSignal:
    place, unit = ("states", name), entry.unit
    rate = as_expr(read(entry.rate, kind_of("a rate", unit and f"{unit}/s"), place=(*place, "rate")))
    start, scale = (
        given.read(x, kind_of("a state", unit), given.names, (*place, key))
        for key, x in (("start", entry.start), ("scale", entry.scale))
    )
    return StateSignal(name, rate, start, unit or "1", scale)
