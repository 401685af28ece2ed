"""What is taken of each motion: a number that a formula of its results is reduced to.

final(crank.phi)      max(abs(driving:motor))      mean(slider.vx^2)      time(stop)
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import UsageError, check_choice, did_you_mean
from linkwork.expressions.evaluation import ordered
from linkwork.readings import REDUCTIONS, Readings
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]

OF_EVENTS = ("time", "count")  # when an event happened first, and how often
PATTERN = re.compile(r"\s*([a-z]+)\s*\((.*)\)\s*", re.DOTALL)


class Take(NamedTuple):
    """A reduction of a formula, or of an event."""

    text: str
    reduction: str
    of: str

    @property
    def needs_all_rows(self) -> bool:
        return self.reduction not in (*OF_EVENTS, "first", "final")

    def names(self, motion: Readings) -> list[str]:
        """Return the names of the quantities that are read."""
        if self.reduction in OF_EVENTS:
            return []
        return [str(x.value) for x in ordered([motion.formula(self.of)]) if x.op == "symbol"]

    def of_motion(self, motion: Readings) -> float:
        if self.reduction in OF_EVENTS and isinstance(motion, Trajectory):
            times = motion.events.t[[name == self.of for name in motion.events.names]]
            return float(len(times)) if self.reduction == "count" else float(times[0]) if len(times) else np.nan
        return float(self.of_rows(motion))

    def of_rows(self, motion: Readings) -> Array:
        """Reduce the rows of a motion, or of each of many."""
        try:
            return REDUCTIONS[self.reduction](motion.values_of(self.of), motion["t"])
        except UsageError as error:
            raise UsageError(f"'{self.text}': {error.message}", error.code) from None

    def check(self, motion: Readings, events: tuple[str, ...]) -> str:
        """Return the unit of what is taken, as far as it is known; UsageError where the motion has nothing of these
        names.
        """
        if self.reduction in OF_EVENTS:
            check_choice("event", self.of, events)
            return "s" if self.reduction == "time" else "1"
        self.of_rows(motion)
        name, of = motion.components(self.of)[0], motion.formula(self.of)
        while of.op in ("abs", "neg"):
            of = of.args[0]
        if name not in motion:
            if of.op != "symbol":
                return ""
            name = str(of.value)
        return f"{motion.unit(name)}*s" if self.reduction == "integral" else motion.unit(name)


def read_take(text: str) -> Take:
    match = PATTERN.fullmatch(text)
    if match is None or match[1] not in (*REDUCTIONS, *OF_EVENTS):
        known = (*REDUCTIONS, *OF_EVENTS)
        hint = did_you_mean(match[1], known) if match else None
        message = f"'{text}' does not say what is taken of a motion"
        raise UsageError(
            f"{message}; {hint or 'write for example final(crank.phi) or max(abs(driving:motor))'}", "bad-take"
        )
    return Take(text.strip(), match[1], match[2].strip())
