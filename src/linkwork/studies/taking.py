"""What is taken of each motion: a number that a formula of its results is reduced to.

final(crank.phi)      max(abs(driving:motor))      mean(slider.vx^2)      time(stop)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import UsageError, check_choice, did_you_mean
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic, ordered
from linkwork.expressions.graph import Expr, symbol
from linkwork.expressions.parser import ExpressionError, parse
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]


def _mean(x: Array, t: Array) -> float:
    return float(np.trapezoid(x, t) / (t[-1] - t[0])) if len(t) > 1 else float(x[0])


REDUCTIONS: dict[str, Callable[[Array, Array], float]] = {  # of values at times
    "first": lambda x, _: float(x[0]),
    "final": lambda x, _: float(x[-1]),
    "max": lambda x, _: float(x.max()),
    "min": lambda x, _: float(x.min()),
    "range": lambda x, _: float(x.max() - x.min()),
    "mean": _mean,
    "rms": lambda x, t: float(np.sqrt(_mean(x * x, t))),
    "integral": lambda x, t: float(np.trapezoid(x, t)),
}
OF_EVENTS = ("time", "count")  # when an event happened first, and how often
PATTERN = re.compile(r"\s*([a-z]+)\s*\((.*)\)\s*", re.DOTALL)


class Take(NamedTuple):
    """A reduction of a formula, or of an event."""

    text: str
    reduction: str
    of: str

    def of_motion(self, motion: Trajectory) -> float:
        if self.reduction in OF_EVENTS:
            times = motion.events.t[[name == self.of for name in motion.events.names]]
            return float(len(times)) if self.reduction == "count" else float(times[0]) if len(times) else np.nan
        if len(parts := motion.components(self.of)) > 1 or self.of in motion:  # of a vector, its length
            values = np.linalg.norm(np.atleast_2d([motion[name] for name in parts]), axis=0) if len(parts) > 1 else None
            return REDUCTIONS[self.reduction](motion[self.of] if values is None else values, motion.t)
        formula, names = self._formula(motion)
        (found,) = evaluate([formula], {symbol(name): motion[name] for name in names}, numpy_arithmetic())
        return REDUCTIONS[self.reduction](np.broadcast_to(np.asarray(found, dtype=float), motion.t.shape), motion.t)

    def _formula(self, motion: Trajectory) -> tuple[Expr, list[str]]:
        known = {name: symbol(name) for name in motion}
        try:
            formula = parse(self.of, known)
        except ExpressionError as error:
            raise UsageError(f"'{self.text}': {error.reason}", error.code) from None
        return formula, [str(x.value) for x in ordered([formula]) if x.op == "symbol"]

    def check(self, motion: Trajectory, events: tuple[str, ...]) -> str:
        """The unit of what is taken, as far as it is known; UsageError where the motion has nothing of these names."""
        if self.reduction in OF_EVENTS:
            check_choice("event", self.of, events)
            return "s" if self.reduction == "time" else "1"
        if len(parts := motion.components(self.of)) > 1 or self.of in motion:
            unit = motion.unit(parts[0])
            return f"{unit}*s" if self.reduction == "integral" else unit
        self._formula(motion)
        return ""


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
