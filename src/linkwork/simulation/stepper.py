"""A motion advanced step by step by its user, who holds inputs in between: hardware in the loop, learning, games."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.constraints.projection import project_start
from linkwork.equations.implicit import N_WORK
from linkwork.errors import NumericalStop, UsageError, checked_methods
from linkwork.expressions.graph import symbol
from linkwork.integrators.integrate import LAST_DIGITS, End, Settings
from linkwork.integrators.methods import AUTO
from linkwork.integrators.methods.tableaus import DOP853
from linkwork.model import Model
from linkwork.native.calls import raise_pending
from linkwork.simulation.inputs import Value, take_values
from linkwork.simulation.options import MOST_STEPS, choose
from linkwork.simulation.problem import Motion
from linkwork.simulation.stop_reasons import explain_stop
from linkwork.simulation.suitability import check_states

Array = NDArray[np.float64]
ENERGIES = ("energy:dissipated", "energy:supplied")


@checked_methods
class Stepper:
    """Advances states of a mechanism by times of any length, its inputs held meanwhile.

        stepper = mechanism.stepper()
        state = stepper.start()
        while state[0] < 5.0:
            y = stepper.outputs(state)
            state = stepper.step(state, [-3.0 * y[0]], 1e-3)

    A state is an array (t, q, v, ...) in SI, `names` says of what; it is all that the motion depends on, so that a copy
    of it is a place to go back to. `inputs` and `output_names` are the order of u and of the outputs. Each step takes
    as many of the integrator as its tolerances ask for. `step` allocates nothing, it changes the state that it is
    given, and `outputs` fills one array. Events that are only noted have no effect here.
    """

    def __init__(
        self,
        model: Model | Mechanism,
        parameters: Mapping[str, Value] | None = None,
        *,
        rtol: float | None = None,
        atol: float | None = None,
        formulation: str = "augmented",
        integrator: str = DOP853.name,
    ) -> None:
        mechanism = take_values(prepare(model), parameters or {}, is_controlled=True)
        settings = mechanism.model.simulation.changed(rtol=rtol, atol=atol)
        how = choose(formulation, "projection", DOP853.name if integrator == AUTO.name else integrator, settings.t_end)
        _check(mechanism, how.is_algebraic)
        check_states(mechanism.equations, how.integrator)
        motion = self._motion = Motion.begin(mechanism, how, "mass", False, (), None, None)
        e, n = motion.system.equations, motion.n
        y = project_start(motion.system, motion.p, motion.start.place)
        self._horizon = settings.t_end
        motion.set_off(Settings(settings.rtol, settings.atol), np.array([0.0, self._horizon]), y, MOST_STEPS)
        loop = self._loop = motion.state
        self.names = ("t", *e.q_names, *(c.speed for c in e.velocities), *ENERGIES, *(str(x.value) for x in e.held))
        self.inputs = tuple(x.name for x in mechanism.model.inputs if not x.follows)
        self.output_names = tuple(e.outputs.get("outputs", {}))
        self._y, self._held = slice(1, 1 + n + N_WORK), slice(1 + n + N_WORK, 1 + n + N_WORK + len(e.held))
        places = [motion.system.held.start + e.held.index(symbol(name)) for name in self.inputs]
        first = places[0] if places else 0
        in_order = places == [*range(first, first + len(places))]
        self._u: slice | list[int] = slice(first, first + len(places)) if in_order else places
        self._first = np.concatenate([[0.0], y[: n + N_WORK], motion.held])
        self._found = np.empty(len(self.output_names))
        self._signals = motion.system.functions.get("signals")
        self._x, self._p, self._held_p = loop.at.x, loop.p, loop.p[motion.system.held]
        loop.at.asks[:] = 0.0  # what is left of the events sets held values alone
        self._all_stops = motion.stops()
        self._stops = bool(self._all_stops) or e.times_change

    def start(self) -> Array:
        """Return a state from which the model starts, a new array each time."""
        return self._first.copy()

    def step(self, state: Array, u: ArrayLike | float = (), dt: float = 1e-3) -> Array:
        """Advance the state by a time dt in which the inputs have the values u; return the array that was given,
        changed.
        """
        if not isinstance(state, np.ndarray):
            raise UsageError(f"{state!r:.60} is not a state; stepper.start() gives one", "bad-value")
        loop, at, t = self._loop, self._loop.at, float(state[0])
        end = t + dt
        if not t < end < math.inf:
            raise UsageError(f"dt = {dt!r} is not a time by which t = {t:g} can be advanced", "bad-value")
        if len(state) != len(self._first):
            raise UsageError(f"the state has {len(state)} numbers, not {len(self._first)}; see names", "wrong-size")
        if np.size(u) not in (0, len(self.inputs)):
            raise UsageError(f"u has {np.size(u)} values, and the inputs are {len(self.inputs)}", "wrong-size")
        self._held_p[:] = state[self._held]
        if np.size(u):
            self._p[self._u] = u
        self._x[0], self._x[self._y] = t, state[self._y]
        loop.times[0], loop.times[1], at.t_end, at.row = t, end, end, 1
        at.started = at.signed = False
        at.steps = at.rejected = at.paced = at.n_moments = 0
        at.paced_t = t
        if self._stops:
            self._pass_stops(t, end)
        while (why := loop.advance(MOST_STEPS)) != End.REACHED:
            raise_pending()
            at.n_moments = 0
            if why not in (End.BUDGET, End.UNSUITED):
                self._motion.hold(self._held_p.copy())
                reason = explain_stop(self._motion, why)
                raise NumericalStop(reason, reason.code)
        state[0], state[self._y], state[self._held] = end, loop.rows[1], self._held_p
        return state

    def outputs(self, state: Array, u: ArrayLike | float | None = None) -> Array:
        """Return the outputs of the model at a state, with the inputs of the last step or with u; the same array each
        time.
        """
        if self._signals is not None:
            self._held_p[:] = state[self._held]
            if u is not None:
                self._p[self._u] = u
            self._signals.fill(state, self._p, self._found)
        return self._found

    def _pass_stops(self, t: float, end: float) -> None:
        """Let the step end and begin anew where something switches; all such times until the horizon are known."""
        motion = self._motion
        while end > self._horizon:
            self._horizon *= 2.0
        if motion.t_end != self._horizon or motion.system.equations.times_change:
            motion.t_end = self._horizon
            motion.hold(self._held_p.copy())
            motion.know_held()
            self._all_stops = motion.stops()
        stops = self._all_stops
        nearest = stops[max(bisect_left(stops, t + LAST_DIGITS * math.ulp(t)) - 1, 0)]
        if abs(t - nearest) <= LAST_DIGITS * math.ulp(t):  # there a comparison may be rounded to either side
            t = self._x[0] = nearest + LAST_DIGITS * math.ulp(nearest)
        self._loop.stop_at(stops[bisect_right(stops, t) : bisect_left(stops, end)])


def _check(mechanism: Mechanism, is_algebraic: bool) -> None:
    """Raise UsageError for what is not advanced step by step."""
    e, model = mechanism.equations, mechanism.model
    if is_algebraic:
        message = "a form with multipliers among its unknowns does not begin anew at every step"
        raise UsageError(f"{message}; choose another formulation or an explicit integrator", "no-stepper")
    if wrong := next((event.name for event in e.events if event.asks or event.is_level), None):
        message = f"event '{wrong}' sets velocities, states or joints, which is not done step by step"
        raise UsageError(f"{message}; simulate does it", "no-stepper")
    if wrong := next((x.name for x in model.inputs if x.every is not None), None):
        message = f"input '{wrong}' is sampled at times of its own"
        raise UsageError(f"{message}; leave it open, and give its value in each step", "no-stepper")
