"""Functions in Python that are asked at multiples of a time for the values of inputs, which hold in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.system import System
from linkwork.errors import UsageError, check_choice, checked_methods
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import symbol
from linkwork.integrators.sampling import Clocks
from linkwork.model import Model
from linkwork.units import seconds

Array = NDArray[np.float64]


@checked_methods
@dataclass(frozen=True, eq=False)
class Controller:
    """`call` is asked at t = 0, `every`, 2 `every`, ..., and its answers hold in between.

    It is given the time and, by their names, the outputs of the model, its coordinates, velocities and states, all in
    SI, and returns values of inputs: Controller("1 ms", lambda t, y: {"u": -3 * y["angle"]}).
    """

    every: float | str
    call: Callable[[float, Mapping[str, float]], Mapping[str, float]]

    def __post_init__(self) -> None:
        if not callable(self.call):
            message = f"call = {self.call!r} is not a function of the time and the outputs"
            raise UsageError(f"{message}; a formula is an input with 'every' in the model", "bad-controller")
        if self.every is None or not 0.0 < self.period < np.inf:
            raise UsageError(f"every = {self.every!r} is not a time between samples; write '1 ms'", "bad-controller")

    @property
    def period(self) -> float:
        found = seconds("every", self.every)
        assert found is not None
        return float(found)


def check_controllers(model: Model, controllers: Sequence[Controller]) -> None:
    """Raise UsageError for what are no controllers, or none for this model."""
    for controller in controllers:
        if not isinstance(controller, Controller):
            message = f"{controller!r:.60} is not a Controller"
            raise UsageError(f'{message}; write controllers=[Controller(every="1 ms", call=f)]', "bad-controller")
    if controllers and not any(x.formula is None for x in model.inputs):
        what = "has no inputs without a formula" if model.inputs else "has no inputs"
        raise UsageError(f"the model {what}, and so nothing for a controller to give", "no-inputs")


def clocks_of(system: System, controllers: Sequence[Controller]) -> Clocks:
    """Return the clocks of a mechanism: those of its inputs, then those of controllers."""
    e, f = system.equations, system.functions
    if not (e.clocks or controllers):
        return Clocks()
    periods = [*map(float, evaluate([clock.every for clock in e.clocks], e.parameters))]
    places = {x: system.held.start + k for k, x in enumerate(e.held)}
    owned = [(k, places[x]) for k, clock in enumerate(e.clocks) for x in clock.holds]
    return Clocks(
        periods=[*periods, *(controller.period for controller in controllers)],
        values=f.get("samples"),
        owners=[k for k, _ in owned],
        targets=[place for _, place in owned],
        signals=f.get("signals") if controllers else None,
        ask=Asking(system, controllers, len(periods)) if controllers else None,
        held=system.held,
    )


class Asking:
    """Asks the controllers whose clocks tick, those behind `first`, and gives p their answers."""

    def __init__(self, system: System, controllers: Sequence[Controller], first: int) -> None:
        e, self.first, self.n_x = system.equations, first, 1 + system.n_q + system.n_v
        self.calls = [controller.call for controller in controllers]
        self.names = [*e.outputs.get("outputs", {}), *e.q_names, *(c.speed for c in e.velocities)]
        sampled = {x for clock in e.clocks for x in clock.holds}
        self.inputs = [*e.outputs.get("inputs", {})]
        held = {x: system.held.start + k for k, x in enumerate(e.held) if x not in sampled}
        self.places = {name: held[symbol(name)] for name in self.inputs if symbol(name) in held}
        self.answered: dict[str, int] = {}  # inputs, and the controllers that give them

    def __call__(self, x: Array, signals: Array, due: Array, p: Array) -> None:
        t, *y = x[: self.n_x].tolist()
        known = dict(zip(self.names, [*signals.tolist(), *y], strict=True))
        for k, (call, ticks) in enumerate(zip(self.calls, due[self.first :].tolist(), strict=True)):
            if ticks:
                answer = call(t, known)
                if not isinstance(answer, Mapping):
                    message = f"a controller answers {answer!r:.60} at t = {t:.6g}"
                    raise UsageError(f'{message}; return values of inputs, as {{"u": 3.0}}', "bad-controller")
                for name, value in answer.items():
                    if name not in self.places:
                        self.refuse(name)
                    if not isinstance(value, Real) or not isfinite(value):
                        message = f"a controller gives input '{name}' the value {value!r:.60} at t = {t:.6g}"
                        raise UsageError(message, "bad-input")
                    if self.answered.setdefault(name, k) != k:
                        raise UsageError(f"two controllers give values of input '{name}'", "bad-controller")
                    p[self.places[name]] = value

    def refuse(self, name: str) -> None:
        if name in self.inputs:
            message = f"input '{name}' has a formula of its own, and no controller gives its value"
            raise UsageError(f"{message}; leave it open in the model", "bad-controller")
        check_choice("input", name, self.places)


def check_answers(model: Model, clocks: Clocks) -> None:
    """Raise UsageError where an input is left open, and the first answers of all controllers do not name it."""
    answered = clocks.ask.answered if isinstance(clocks.ask, Asking) else ()
    if left := next((x.name for x in model.inputs if x.is_open and x.name not in answered), None):
        raise UsageError(f"input '{left}' is left open, and no controller gives it a value at the start", "open-input")


def sample_at(system: System, clocks: Clocks, p: Array, t: float, y: Array, due: Sequence[bool]) -> None:
    """Do what `sample` does within the time loop, where a run begins: p with the new values of the clocks that tick."""
    x, ticking = np.append(t, y), np.array(due, dtype=float)
    if clocks.values is not None:
        values = system.functions["samples"](x[: 1 + system.n_q + system.n_v], p)
        for owner, target, value in zip(clocks.owners, clocks.targets, values.tolist(), strict=True):
            if due[owner]:
                p[target] = value
    if clocks.ask is not None:
        known = system.functions["signals"](x[: 1 + system.n_q + system.n_v], p) if clocks.signals else np.empty(0)
        clocks.ask(x, known, ticking, p)
