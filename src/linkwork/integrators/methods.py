"""The methods by name."""

from __future__ import annotations

from linkwork.integrators.alpha import GeneralizedAlpha
from linkwork.integrators.explicit import DOP853, EXPLICIT
from linkwork.integrators.memory import Preparable
from linkwork.integrators.radau import Radau5
from linkwork.integrators.stages import Detecting

RADAU5 = Radau5()
ALPHA = GeneralizedAlpha()
AUTO = Detecting(DOP853, 4.0)  # goes on with radau5 where it finds the motion stiff, see motion/automatic.py
INTEGRATORS: dict[str, Preparable] = {
    **EXPLICIT,
    **{method.name: method for method in (RADAU5, ALPHA, AUTO)},
}
