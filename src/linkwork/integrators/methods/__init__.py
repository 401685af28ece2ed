"""The methods by name."""

from __future__ import annotations

from functools import cache

from linkwork.integrators.memory import Preparable
from linkwork.integrators.methods.runge_kutta import Detecting
from linkwork.integrators.methods.tableaus import DOP853, EXPLICIT

RADAU5, ALPHA = "radau5", "generalized-alpha"
AUTO = Detecting(DOP853, 4.0)  # goes on with radau5 where it finds the motion stiff, see simulation/run.py
INTEGRATORS = (*EXPLICIT, RADAU5, ALPHA, AUTO.name)


@cache
def method_of(name: str) -> Preparable:
    """The method of this name; implicit ones are imported when they are first asked for."""
    if name == RADAU5:
        from linkwork.integrators.methods.radau5 import Radau5

        return Radau5()
    if name == ALPHA:
        from linkwork.integrators.methods.generalized_alpha import GeneralizedAlpha

        return GeneralizedAlpha()
    return AUTO if name == AUTO.name else EXPLICIT[name]
