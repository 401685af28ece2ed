"""The methods by name."""

from __future__ import annotations

from functools import cache

from linkwork.integrators.memory import Preparable
from linkwork.integrators.methods.runge_kutta import Detecting
from linkwork.integrators.methods.tableaus import DOP853, EXPLICIT

RADAU5, ALPHA = "radau5", "generalized-alpha"
AUTO = Detecting(DOP853, 4.0)  # goes on with radau5 where it finds the motion stiff, see simulation/run.py


def integrators() -> tuple[str, ...]:
    """Return the names of all methods, those of users among the explicit ones."""
    return (*EXPLICIT, RADAU5, ALPHA, AUTO.name)


def method_of(name: str) -> Preparable:
    """Return the method of this name."""
    if name in (RADAU5, ALPHA):
        return _implicit_method(name)
    return AUTO if name == AUTO.name else EXPLICIT[name]


@cache
def _implicit_method(name: str) -> Preparable:
    """Import an implicit method when it is first asked for."""
    if name == RADAU5:
        from linkwork.integrators.methods.radau5 import Radau5

        return Radau5()
    from linkwork.integrators.methods.generalized_alpha import GeneralizedAlpha

    return GeneralizedAlpha()
