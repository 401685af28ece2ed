"""What elements say is wrong with their numbers: errors with a key of the element, or "" for all of it, as path."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.elements.vectors import Scalar
from linkwork.errors import ModelError
from linkwork.tolerances import AGREEMENT

Array = NDArray[np.float64]
Faults: TypeAlias = Iterator[ModelError]
TINY, INF = math.ulp(0.0), math.inf


class Numbers(Protocol):
    """The values of a model's parameters."""

    def value(self, x: Scalar) -> float:
        """Return the number that a formula of parameters has."""
        ...

    def is_constant(self, x: Scalar) -> bool:
        """Tell whether it is a formula of parameters alone."""
        ...


def find_beyond(element: Any, limits: Mapping[str, tuple[float, float]], numbers: Numbers) -> Faults:
    """Find fields that are given and outside these limits; a lower limit of TINY means above zero."""
    for name, (low, high) in limits.items():
        given = getattr(element, name)
        if given is not None and not low <= (number := numbers.value(given)) <= high:
            rule = f"it must be at least {low:g}" + (f" and at most {high:g}" if high < INF else "")
            rule = "it must be above zero" if low == TINY else rule
            yield ModelError(f"{name} {number:g}", "out-of-range", path=name, value=number, rule=rule)


def find_no_length(name: str, size: Scalar, numbers: Numbers) -> Faults:
    """Find a length or radius that is not above zero."""
    if not (metres := numbers.value(size)) > 0:
        message = f"{metres:g} m is not a {name.split('_')[0]}"
        yield ModelError(message, "not-positive", path=name, value=metres, rule="it must be above zero")


def find_without_effect(element: Any, choice: str, laws: Mapping[str, Mapping[str, object]], always: str) -> Faults:
    """Find fields that are given although the chosen law does not take them; all laws take those in `always`."""
    law = getattr(element, choice)
    takes = [*always.split(), *laws[law]]
    for key in sorted({key for other in laws.values() for key in other} - {*laws[law]}):
        if getattr(element, key) is not None:
            others = [name for name, taken in laws.items() if key in taken]
            message = f"'{key}' has no effect with {choice}: {law}"
            rule = f"that law takes {', '.join(takes)}" if takes else "without friction there are no coefficients"
            hint = f"leave it out, or write {choice}: {' or '.join(others)}"
            yield ModelError(message, "no-effect", path=key, rule=rule, suggestion=hint)


def direct(axis: Array) -> Array:
    """Scale a vector to length one, also where squares of its components would underflow or overflow."""
    axis = axis / np.max(np.abs(axis))
    return np.asarray(axis / np.linalg.norm(axis))


def are_parallel(a: Array, b: Array) -> bool:
    if not (a.any() and b.any()):
        return False
    x, y = direct(a), direct(b)
    return float(np.linalg.norm(x - (x @ y) * y)) <= AGREEMENT
