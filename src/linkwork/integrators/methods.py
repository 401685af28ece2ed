"""The methods by name."""

from __future__ import annotations

from functools import cache

from linkwork.integrators.explicit import DOP853, EXPLICIT
from linkwork.integrators.memory import Preparable
from linkwork.integrators.stages import Detecting

RADAU5, ALPHA = "radau5", "generalized-alpha"
AUTO = Detecting(DOP853, 4.0)  # goes on with radau5 where it finds the motion stiff, see motion/automatic.py
INTEGRATORS = (*EXPLICIT, RADAU5, ALPHA, AUTO.name)


@cache
def method_of(name: str) -> Preparable:
    """The method of this name; implicit ones are imported when they are first asked for."""
    if name == RADAU5:
        from linkwork.integrators.radau import Radau5

        return Radau5()
    if name == ALPHA:
        from linkwork.integrators.alpha import GeneralizedAlpha

        return GeneralizedAlpha()
    return AUTO if name == AUTO.name else EXPLICIT[name]
