"""Systems of differential-algebraic equations as files: unknowns, parameters and equations, nothing else."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from linkwork.document import Document, Keys, read
from linkwork.errors import ModelError, did_you_mean
from linkwork.expressions.graph import Expr, symbol
from linkwork.expressions.parser import RESERVED, ExpressionError, parse
from linkwork.modelfile.stated import PLAIN_NAME
from linkwork.symbolic.structural import rate_of
from linkwork.units import quantity, shown

KEYS = ("linkwork", "name", "about", "unknowns", "parameters", "equations")


class System(NamedTuple):
    """F(t, x, x', ...) = 0 by the names of the equations, and values of parameters."""

    name: str
    unknowns: tuple[Expr, ...]
    equations: Mapping[str, Expr]
    values: Mapping[Expr, float]


def read_system(model: str | Path) -> System | None:
    """Read the system of a file that has `unknowns`, or equations that are formulas; None of anything else."""
    if not str(model).lower().endswith((".yaml", ".yml", ".json")) or not os.path.isfile(model):
        return None
    document = read(model)
    stated = document.data.get("equations")
    formulas = isinstance(stated, dict) and all(isinstance(own, str) for own in stated.values())
    return _translate(document) if formulas or "unknowns" in document.data else None


def _translate(document: Document) -> System:
    data: dict[str, Any] = document.data

    def fail(place: Keys, message: str, code: str, **more: Any) -> ModelError:
        return document.locate(ModelError(message, code, **more), place)

    for key in data:
        if key not in KEYS:
            rule = f"a system has {', '.join(KEYS)}"
            hint = did_you_mean(str(key), KEYS)
            raise fail((key,), f"unknown key '{shown(str(key))}'", "unknown-key", rule=rule, suggestion=hint)
    if data.get("linkwork") != 1:
        raise fail((), "'linkwork: 1' is missing", "missing-version")
    for key in ("unknowns", "equations"):
        if key not in data:
            raise fail((), f"'{key}' is missing", "missing-key")
    unknowns, stated = data["unknowns"], data["equations"]
    if not isinstance(unknowns, list) or not unknowns or not all(isinstance(name, str) for name in unknowns):
        raise fail(("unknowns",), "should be a list of names", "wrong-shape")
    if not isinstance(stated, dict) or not stated or not all(isinstance(text, str) for text in stated.values()):
        raise fail(("equations",), "should be a mapping of names to formulas", "wrong-shape")
    parameters = data.get("parameters") or {}
    if isinstance(parameters, list):
        parameters = dict.fromkeys(map(str, parameters))
    if not isinstance(parameters, dict):
        raise fail(("parameters",), "should be names, or a mapping of names to numbers", "wrong-shape")
    for place in (("unknowns",), ("parameters",)):
        for name in unknowns if place == ("unknowns",) else parameters:
            if not re.fullmatch(PLAIN_NAME, name) or name in RESERVED or name == "t":
                raise fail(place, f"'{shown(name)}' cannot stand in a formula", "bad-name")
    names = {name: symbol(name) for name in (*unknowns, *parameters, "t")}
    words = {word for text in stated.values() for word in re.findall(PLAIN_NAME, text)}
    orders = {x: {len(w) - len(x) - 1 for w in words if re.fullmatch(re.escape(x) + "_d+", w)} for x in unknowns}
    names |= {str(rate.value): rate for x in unknowns for k in orders[x] for rate in [rate_of(symbol(x), k)]}
    values = {}
    for name, value in parameters.items():
        if value is None:  # any number: pivots of it make cases
            continue
        try:
            number = float(value) if isinstance(value, int | float) else quantity(str(value), None)
        except ModelError as error:
            raise document.locate(error, ("parameters", name)) from None
        if number is None:
            raise fail(("parameters", name), f"'{shown(str(value))}' is not a number", "bad-value")
        values[symbol(name)] = number
    found = {}
    for name, text in stated.items():
        left, equals, right = text.partition("=")
        if equals and not (left.strip() and right.strip()):
            raise fail(
                ("equations", name), f"'{shown(text)}': one side of '=' is empty", "expression-empty", value=text
            )
        try:  # the right side stands at its own columns
            found[name] = parse(left, names) - (parse(" " * (len(left) + 1) + right, names) if equals else 0.0)
        except ExpressionError as error:
            raise fail(("equations", name), f"'{shown(text)}': {error.reason}", error.code, value=text) from None
    return System(str(data.get("name", Path(document.file).stem)), tuple(map(symbol, unknowns)), found, values)
