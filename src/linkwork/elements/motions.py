"""Prescribed motions f(t) for drivers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from linkwork import units
from linkwork.elements.curves import cubic_pieces
from linkwork.elements.faults import Faults, Numbers
from linkwork.elements.quantities import AccelerationAlong, Along, Quantity, RateAlong, Time
from linkwork.errors import ModelError
from linkwork.expressions.graph import Expr, as_expr, less, maximum, minimum, select, spline


class Motion:
    """A function f(t)."""

    is_smooth: ClassVar[bool] = False  # in value, speed and acceleration, whatever its numbers are

    def f(self, t: Expr) -> Expr:
        raise NotImplementedError

    def faults(self, numbers: Numbers, t_end: float) -> Faults:
        """Find what is wrong with it in a run until t_end."""
        yield from ()


@dataclass(frozen=True)
class Law(Motion):
    """f(t) as an expression of t."""

    expression: Expr

    def f(self, t: Expr) -> Expr:
        return self.expression


@dataclass(frozen=True)
class Polynomial(Motion):
    """f = value + rate t + acceleration t^2 / 2."""

    value: Along = 0.0
    rate: RateAlong = 0.0
    acceleration: AccelerationAlong = 0.0
    is_smooth = True

    def f(self, t: Expr) -> Expr:
        return as_expr(self.value) + t * (self.rate + 0.5 * t * self.acceleration)


class Step(Motion):
    """Between two times."""

    t_start: Time
    t_end: Time
    is_smooth = True

    def faults(self, numbers: Numbers, t_end: float) -> Faults:
        if not numbers.value(self.t_start) < numbers.value(self.t_end):
            yield ModelError("t_end does not follow t_start", "motion-times", path="")


@dataclass(frozen=True)
class SmoothStep(Step):
    """From `start` to `end` between t_start and t_end with zero speed and acceleration at both ends (3-4-5).

    f = start + (end - start) s^3 (10 - 15 s + 6 s^2),    s = (t - t_start)/(t_end - t_start) within [0, 1]
                                                                                   [nikravesh2018, function type b]
    """

    start: Along
    end: Along
    t_start: Time
    t_end: Time

    def f(self, t: Expr) -> Expr:
        s = minimum(1.0, maximum(0.0, (t - self.t_start) / (as_expr(self.t_end) - self.t_start)))
        return self.start + (as_expr(self.end) - self.start) * s**3 * (10 - s * (15 - 6 * s))


@dataclass(frozen=True)
class Ramp(Step):
    """From rest at `start` to a constant rate, reached smoothly at t_end; from there on the value grows linearly.

    f = start + rate T s^4 (5/2 - 3 s + s^2),    s = (t - t_start)/T,    T = t_end - t_start;    after t_end
    f = start + rate (T/2 + t - t_end)                                             [nikravesh2018, function type c]
    """

    start: Along
    rate: RateAlong
    t_start: Time
    t_end: Time

    def f(self, t: Expr) -> Expr:
        T = as_expr(self.t_end) - self.t_start
        s = maximum(0.0, (t - self.t_start) / T)
        rising = T * s**4 * (2.5 - s * (3 - s))
        return self.start + self.rate * select(less(s, 1.0), rising, 0.5 * T + (t - self.t_end))


@dataclass(frozen=True)
class Table(Motion):
    """The not-a-knot cubic spline through (times, values)."""

    times: Annotated[tuple[float, ...], Quantity("list", (units.TIME,))]
    values: Annotated[tuple[float, ...], Quantity("list", (units.LENGTH, units.ANGLE))]
    is_smooth = True

    @cached_property
    def pieces(self) -> tuple[tuple[float, ...], ...]:
        """Coefficients of the cubics between the times."""
        return cubic_pieces(self.times, self.values)

    def f(self, t: Expr) -> Expr:
        return spline(t, self.times, self.pieces)

    def faults(self, numbers: Numbers, t_end: float) -> Faults:
        times = np.asarray(self.times)
        if len(times) != len(self.values):
            yield ModelError(f"{len(times)} times but {len(self.values)} values", "table-length", path="")
        elif len(times) < 2:
            yield ModelError("a table needs two points or more", "table-length", path="")
        elif (np.diff(times) <= 0).any():
            k = int(np.argmax(np.diff(times) <= 0))
            message = f"time {times[k + 1]:g} follows {times[k]:g}"
            yield ModelError(message, "table-order", path=f"times[{k + 1}]", rule="times must increase")
        elif times[0] > 0 or times[-1] < t_end:
            message = f"the table covers {times[0]:g} to {times[-1]:g} s, the simulation 0 to {t_end:g} s"
            rule = "tables are not continued beyond their ends"
            hint = f"extend it, or write simulation: {{t_end: {times[-1]:g}}}"
            yield ModelError(message, "table-range", path="", rule=rule, suggestion=hint)
        elif not self.pieces:
            message = "no smooth curve of finite slope leads through its points"
            yield ModelError(message, "motion-not-finite", path="", suggestion="check times and values")


# the names under which model files know them; an expression needs no name
MOTIONS: dict[str, type[Motion]] = {
    "polynomial": Polynomial,
    "smooth-step": SmoothStep,
    "ramp": Ramp,
    "table": Table,
}
