"""The methods by name."""

from __future__ import annotations

from linkwork.integrators.explicit import EXPLICIT
from linkwork.integrators.memory import Preparable
from linkwork.integrators.radau import Radau5

RADAU5 = Radau5()
INTEGRATORS: dict[str, Preparable] = {**EXPLICIT, RADAU5.name: RADAU5}
