"""A motion made ready: the form in which it is integrated, where it starts, and its problem for the time loop.

Form        programs, right-hand sides and method: what all runs of one structure and choice share
Measured    scales, rank and eps at a place, as parameters p of the programs
Motion      both, and the state of the time loop; what changes on the way is computed anew as deep as it must be
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism
from linkwork.compiled.system import System, choose_eps, most_repetitions, put_header, repetitions
from linkwork.constraints import projection
from linkwork.constraints.projection import measure, project, project_varied
from linkwork.elements.events import closed
from linkwork.equations.implicit import N_WORK
from linkwork.equations.place import Place, Weights
from linkwork.equations.programs import Metric
from linkwork.equations.solution import EPS
from linkwork.errors import UsageError
from linkwork.expressions.evaluation import evaluate
from linkwork.formulations import ALGEBRAIC, EXPLICIT, FORMULATIONS, OWN, right_side
from linkwork.integrators.integrate import MAX_REPORTS, Actions, Problem, Settings, State
from linkwork.integrators.memory import Preparable
from linkwork.integrators.methods import RADAU5, method_of
from linkwork.integrators.methods.tableaus import EXPLICIT as EXPLICIT_METHODS
from linkwork.integrators.sampling import Clocks, tick_times
from linkwork.integrators.switches import HOP
from linkwork.linalg.rank import RANK_TOLERANCE, TINY, decide_rank, singular_values
from linkwork.native.lowering import NativeFunction
from linkwork.records import changed
from linkwork.simulation.controllers import Controller, clocks_of
from linkwork.simulation.inputs import give_inputs
from linkwork.simulation.options import IMPLICIT, MOST_STEPS, Choice
from linkwork.simulation.outputs import fill_dynamics, fill_report
from linkwork.simulation.suitability import check_massless
from linkwork.start.branches import check_branch, check_regular, leave_singular
from linkwork.start.closing import Fitted, find_start, restart
from linkwork.tolerances import TYPED

Array = NDArray[np.float64]
LEAST_PIVOT = 0.03  # of the largest entry of its column, where pivots are chosen anew
MOST_LINEARIZED = 100  # coordinates and velocities: beyond, difference quotients are had sooner than exact ones
MOST_TIMES = 10.0  # that a motion goes its own length in a run; of a longer one velocities are told the better
UNSEEN = 0.01  # of the tolerance of a step: an error of the linear solution that does not show
NEAR_SINGULAR = 1e-5  # of the largest singular value: the most that counts as zero during a motion
ABOVE_ZERO = 1e-3  # of the smallest singular value at the start: what counts as zero is below


class Level(IntEnum):
    """How deep a change on the way goes; each includes those before it."""

    NOTHING = 0  # the motion goes on as it is
    STATE = 1  # other positions, velocities or held values: the derivative is computed anew
    PROBLEM = 2  # other joints or rows hold, or another method: scales, rank, eps, all of p, memory of its own


@dataclass(frozen=True, eq=False)
class Form:
    """A mechanism in the form that a method integrates."""

    how: Choice
    system: System
    derivative: NativeFunction  # (t, y) -> rates; y is (q, v, work), of algebraic forms with accelerations and so on
    dynamics: NativeFunction  # (t, q, v, work) -> rates, with lam
    method: Preparable
    header: Mapping[str, float]  # entries of the header of p

    @property
    def is_projected(self) -> bool:
        """Whether the ends of steps are brought onto the constraints."""
        return self.how.stabilization == "projection" and self.system.equations.is_constrained

    @property
    def controls_variations(self) -> bool:
        """Whether derivatives by parameters count in the error of a step.

        They are as smooth as the motion, which then stands for them, but where laws switch: the derivative of a contact
        that sets in as delta^1.5 does so as the root of delta.
        """
        return bool(self.how.varied and self.system.source.watched)


class Measured(NamedTuple):
    """Parameters with the scales, rank and eps of a place."""

    place: Place
    p: Array
    exact: Array  # p with the least eps, so that the factor shows singular positions
    header: Mapping[str, float]


class Part(NamedTuple):
    """What rows of a motion are evaluated with, from one of them on."""

    first: int
    form: Form
    measured: Measured  # with p of its own


@dataclass(eq=False)
class Motion:
    """A motion from its start on; `form`, `measured` and `state` are those of now."""

    mechanism: Mechanism
    how: Choice
    start: Fitted
    form: Form
    measured: Measured
    forms: dict[str, Form] = field(default_factory=dict)  # of other integrators that took over
    controllers: Sequence[Controller] = ()
    state: State = field(init=False)
    extent: tuple[float, float] = field(init=False)  # the length and the rate by which errors are measured

    @staticmethod
    def begin(
        mechanism: Mechanism,
        how: Choice,
        weights: Weights,
        assemble: bool,
        keep: Sequence[str],
        q: Mapping[str, float] | None,
        v: Mapping[str, float] | None,
    ) -> Motion:
        stated = mechanism.place() if how.formulation == EXPLICIT else None
        system = compile_form(mechanism, how, "mass", stated)
        system, given = _restarted(system, q, v, weights, assemble, keep)
        if not given.mass.is_regular:
            check_massless(given, how.formulation)
            system = compile_form(mechanism, how, metric_for(given, how), stated)
            system, given = _restarted(system, q, v, weights, assemble, keep)
        start = find_start(given, weights, assemble, keep, q, v)
        if start.place.rank.rank < system.m:
            check_branch(start.place)
        if stated is not None:
            check_regular(start.place)
            if not np.array_equal(start.place.q, stated.q):
                rows = leave_singular(start.place).rows.independent
                system = compile_form(mechanism, how, metric_for(start.place, how), start.place, rows)
        for kernel in (project, measure, fill_dynamics, fill_report):
            _ = kernel.address  # compiled or loaded here, not within the measured integration
        form = form_of(mechanism, how, system)
        measured = measure_at(form, start.place)
        return Motion(mechanism, how, start, form, measured, {how.integrator: form})

    @property
    def system(self) -> System:
        return self.form.system

    @property
    def p(self) -> Array:
        """Of now, with all digits of the accelerations; that of the time loop has as many as its tolerance sees."""
        return self.measured.p

    @property
    def n(self) -> int:
        """Of q and v."""
        return self.system.n_q + self.system.n_v

    @property
    def asks_python(self) -> bool:
        """Whether its machine code calls functions of users, who expect no calls once the motion is returned."""
        by = FORMULATIONS.get(self.how.formulation)
        return bool(self.mechanism.model.functions) or (by is not None and by.source == OWN)

    def set_off(self, settings: Settings, times: Array, y: Array, max_steps: int = MOST_STEPS) -> None:
        """Make it ready to be advanced from (q, v, work) through these times."""
        self.settings, self.t_end = settings, float(times[-1])
        t = float(times[0])
        stops = [stop for stop in self.stops() if stop >= t]
        given = self.loop_p(t, y), self.unknowns(t, y), times, settings, self.error_scale(), stops
        self.state = State(self.problem(), *given, max_steps=max_steps)

    @cached_property
    def clocks(self) -> Clocks:
        """What is sampled."""
        return clocks_of(self.system, self.controllers)

    def stops(self) -> list[float]:
        """Return times before the end at which something switches or is sampled; of those nearly at once one, the
        first.
        """
        found = self.system.equations.switching_times(self.t_end)
        periods = self.clocks.periods
        if not periods:
            return found
        if self.t_end > MAX_REPORTS * min(periods):
            message = f"something is sampled every {min(periods):g} s, {self.t_end / min(periods):.3g} times in all"
            raise UsageError(f"{message}; at most {MAX_REPORTS:.0e} times are allowed", "too-many-samples")
        ticks = [tick_times(period, self.t_end) for period in periods]
        times = np.unique(np.concatenate([found, *ticks]))
        apart = np.diff(times, prepend=-np.inf) > HOP * times
        return [float(t) for t in times[apart]]

    def problem(self) -> Problem:
        """Say what the time loop needs to know; motions of one structure and choice share it as long as it
        is explicit.
        """
        how = self.form.how
        if how.integrator in IMPLICIT or self.system.pivots or self.mechanism.model.functions or self.controllers:
            self.form = plan(self.mechanism, self.form, self.measured, self.t_end)
            return self.new_problem()
        key = "problem", how.formulation, how.stabilization, self.form.method, self.system.source.metric, how.varied
        return self.mechanism.shared.compiled(key, lambda _: self.new_problem())

    def new_problem(self) -> Problem:
        return problem_of(self.form, self.controllers)

    def loop_p(self, t: float, y: Array) -> Array:
        """Return p of the time loop: with so many repetitions that eps leaves UNSEEN of a tolerance in the
        accelerations.

        All it leaves is across the constraints, onto which a step is projected.
        """
        if "repetitions" not in self.measured.header:
            return self.p
        p, place = self.p.copy(), self.measured.place
        count = repetitions(place.rank.smallest, choose_eps(place), UNSEEN * self.settings.rtol)
        put_header(p, {"repetitions": count + more_repetitions(self.system)})
        return p

    def place_at(self, t: float, y: Array) -> Place:
        """Return a state on the way, with what events have changed."""
        f, n_q = self.system.functions, self.system.n_q
        code = {name: partial(f[name], p=self.p) for name in ("constraints", "linear", "retract")}
        return Place(self.system.equations, y[:n_q], y[n_q : self.n], t, code)

    @property
    def held(self) -> Array:
        """What events change."""
        return self.p[self.system.held]

    def hold(self, held: Array) -> bool:
        """Give what events change other values; whether other joints hold now."""
        changed_places = np.flatnonzero(self.held != held).tolist()
        self.p[self.system.held] = held
        return not self.joints.isdisjoint(changed_places)

    @cached_property
    def joints(self) -> set[int]:
        """Which of the held values say whether a joint holds."""
        e = self.system.equations
        symbols = {closed(row.element) for row in e.rows}
        return {k for k, x in enumerate(e.held) if x in symbols}

    def know_held(self) -> None:
        """Let the equations have the values that events have given."""
        e = self.system.equations
        values = {**e.parameters, **dict(zip(e.held, self.held.tolist(), strict=True))}
        self.form = changed(self.form, system=self.system.with_values(e.with_values(values)))

    def measure_anew(self, t: float, y: Array) -> None:
        """Measure scales, rank and eps at (q, v), where other joints or rows hold."""
        self.know_held()
        if self.system.pivots:  # other joints hold, and have other pivots
            self.choose_pivots(t, y)
        self.measured = measure_at(self.form, self.system.place(y[: self.system.n_q], y[self.system.n_q : self.n], t))

    def choose_pivots(self, t: float, y: Array) -> None:
        """Choose pivots of the explicit form that are large at (q, v)."""
        self.know_held()
        n_q, e, how = self.system.n_q, self.system.equations, self.form.how
        place = self.system.place(y[:n_q], y[n_q : self.n], t)
        rows = leave_singular(place).rows.independent
        system = compile_form(self.mechanism, how, metric_for(place, how), place, rows, LEAST_PIVOT).with_values(e)
        self.form = form_of(self.mechanism, how, system, getattr(self.form.method, "detects", False))
        measured = measure_at(self.form, system.place(y[:n_q], y[n_q : self.n], t))
        self.measured = measured._replace(place=self.measured.place)
        self.forms[how.integrator] = self.form

    def take_form(self, form: Form) -> None:
        """Go on in another form, at the scales of now."""
        self.know_held()
        self.form = changed(form, system=form.system.with_values(self.system.equations))
        self.measured = measure_at(self.form, self.measured.place)

    def go_on(self, level: Level, t: float, y: Array, sides: Array | Sequence[float] = ()) -> None:
        """Let the time loop go on from (q, v, work), with all anew that a change of this level asks for."""
        self.renew(level, t, y)
        self.state.begin_at(t, y[: self.n + N_WORK], sides)

    def renew(self, level: Level, t: float, y: Array) -> None:
        """Compute anew what a change of this level asks for."""
        if level >= Level.PROBLEM:
            self.state.take_over(self.problem(), self.loop_p(t, y), self.unknowns(t, y), self.error_scale())
        self.state.p[self.system.held] = self.held
        if self.system.equations.times_change:
            self.know_held()
            self.state.stop_at(self.stops())

    def error_scale(self) -> Array:
        """Return what q and v are measured by in the error of a step: lengths and angles, and these times a rate."""
        length, rate = self.extent = self.find_extent()
        e, n_q = self.system.equations, self.system.n_q
        scale = np.where(e.lengths[: self.n], length, 1.0)
        scale[n_q - e.n_states : n_q] = evaluate(e.chart.state_scales, e.parameters)
        scale[n_q:] *= rate
        return scale

    def find_extent(self) -> tuple[float, float]:
        """Find a length and a rate of the motion where it was measured.

        The length is the longest arm at which a turn moves a joint, and one without an arm: how far bodies are from the
        origin at the start says nothing about how far they go. The rate is one by the time in which velocities, or
        accelerations from rest, go this length or a radian, or by that of the run where nothing moves, but at most
        MOST_TIMES in it: what velocities are off adds up to its end.
        """
        place, n_q, t_end = self.measured.place, self.system.n_q, self.t_end
        rates = self.form.dynamics(np.concatenate([[place.t], place.q, place.v, np.zeros(N_WORK)]), self.p)
        length, pace = place.arm or 1.0, 0.0
        is_length = place.equations.lengths[n_q : self.n].tolist()
        for v, a, shifts in zip(place.v.tolist(), rates[n_q : self.n].tolist(), is_length, strict=True):
            by = length if shifts else 1.0
            pace = max(pace, abs(v) / by, math.sqrt(0.5 * abs(a) / by))  # a that is no number counts nothing
        return length, min(pace if pace * t_end > TYPED else 1.0 / t_end, MOST_TIMES / t_end)

    def unknowns(self, t: float, y: Array) -> Array:
        """Return (q, v, work), with algebraic unknowns behind where the form has them; mu of ggl is zero."""
        return unknowns(self.form, self.p, t, y[: self.n + N_WORK])

    def part(self, first: int) -> Part:
        """Return what rows are evaluated with from this one on."""
        return Part(first, self.form, self.measured._replace(p=self.p.copy()))


def _restarted(system: System, *given: Any) -> tuple[System, Place]:
    """Return where the motion is to start, see `restart`, and the system with dyads on their sides there."""
    place = restart(system.start(), *given)
    if place.equations is system.equations:
        return system, place
    system = system.with_values(place.equations)
    return system, system.place(place.q, place.v)


def problem_of(form: Form, controllers: Sequence[Controller] = ()) -> Problem:
    """Say what the time loop needs to know of a form."""
    s, how, n, ny = form.system, form.how, form.system.n_q + form.system.n_v, form.derivative.outputs
    by = (project_varied if how.varied else project) if form.is_projected else measure
    return Problem(
        form.derivative,
        ny,
        form.method,
        projection.of_system(s, by, ny - n),
        n_norm=ny if form.controls_variations else n,
        n_rows=ny if how.varied else n + N_WORK,
        guards=s.guards,
        events=actions_of(s),
        rates=form.dynamics if how.is_algebraic and not how.has_fixed_steps else None,
        clocks=clocks_of(s, controllers),
    )


def implicit_of(mechanism: Mechanism, how: Choice, metric: Metric) -> str:
    """Choose the form that the integrator solves beside the right-hand side, see equations/implicit.py, or nothing."""
    if metric != "mass":  # K of `linearized` is not that of a singular M
        return how.formulation if how.is_algebraic else ""
    e, damped = mechanism.equations, how.stabilization == "baumgarte"  # which may be stiff too
    # States may be stiff beside the motions of which `linearized` is made.
    if how.implicit == "linearized" and (damped or e.n_states or len(e.q) + len(e.v) > MOST_LINEARIZED):
        return ""
    return how.implicit


def compile_form(
    mechanism: Mechanism,
    how: Choice,
    metric: Metric,
    pivots_at: Place | None,
    rows: tuple[int, ...] | None = None,
    least: float = 0.0,
) -> System:
    """Compile the programs of a choice; those of the explicit form with pivots that are large at a place."""
    programs, baumgarte = how.programs(implicit_of(mechanism, how, metric)), how.stabilization == "baumgarte"
    if how.formulation != EXPLICIT:
        return mechanism.system(programs, metric, baumgarte)
    assert pivots_at is not None
    return mechanism.explicit_system(programs, pivots_at, metric, baumgarte, rows, least)


def form_of(mechanism: Mechanism, how: Choice, system: System, detects: bool = False) -> Form:
    """Make right-hand sides and method of a choice; an implicit one that `detects` asks for another where that would
    do.
    """
    derivative, dynamics = _right_sides(system, how.formulation)
    header: dict[str, float] = {}
    if how.varied:
        derivative = system.functions["varied_derivative"]
        header["n_carried"] = derivative.outputs - system.n_q - system.n_v
    if mechanism.model.functions:
        derivative, dynamics = (give_inputs(f, system, mechanism.model.functions) for f in (derivative, dynamics))
    header |= {"dynamics": dynamics.address, "derivative": derivative.address}
    method = method_of(how.integrator)
    if how.pulled:
        from linkwork.simulation.adjoint import Recording

        method = Recording(EXPLICIT_METHODS[how.integrator])
    if how.is_algebraic:
        from linkwork.simulation.implicit import algebraic_method

        derivative, method, header["n_carried"] = algebraic_method(mechanism, system, how)
    elif implicit_of(mechanism, how, system.source.metric):
        from linkwork.simulation.implicit import linearized_method

        method = linearized_method(mechanism, system, dynamics)
    if detects and method.name == RADAU5 and not how.is_algebraic:
        method = replace(method, detects=True)  # type: ignore[type-var]
    return Form(how, system, derivative, dynamics, method, header)


def plan(mechanism: Mechanism, form: Form, measured: Measured, t_end: float) -> Form:
    """Plan the linear systems of an implicit method for the form, made where it was measured."""
    if form.method.name != RADAU5:
        return form
    from linkwork.integrators.methods.radau5 import Radau5
    from linkwork.simulation.implicit import plan_systems

    assert isinstance(form.method, Radau5)
    s, place = form.system, measured.place
    y = unknowns(form, measured.p, place.t, np.concatenate([place.q, place.v, np.zeros(N_WORK)]))
    n_before = s.n_q + s.n_v + N_WORK + s.n_v
    return changed(
        form, method=plan_systems(mechanism, form.method, np.append(place.t, y), measured.p, n_before, t_end)
    )


def actions_of(system: System) -> Actions:
    """Return the events of a system, and behind them the pivots of the explicit form; each asks until told
    otherwise.
    """
    directions = [*(event.direction for event in system.equations.events), *[0] * len(system.pivots)]
    asks = [True] * len(directions)
    return Actions(directions, asks, system.functions.get("jumps"), *system.jump_targets, system.held)


def metric_for(place: Place, how: Choice) -> Metric:
    """Choose the metric in which corrections onto the constraints are least.

    What algebraic forms are off is of the kind M^-1 Psi_q^T, which no other metric removes without a trace.
    """
    if place.mass.is_regular:
        return "mass"
    return "near mass" if how.is_algebraic or place.equations.is_diagonal else "unit"


def more_repetitions(system: System) -> int:
    """Count the repetitions that remove another metric than M, or what was added to a singular one."""
    return 0 if system.regular else 2


def measure_at(form: Form, place: Place) -> Measured:
    """Set parameters of a motion at the scales of this place."""
    system, how = form.system, form.how
    eps, by_mass, header = choose_eps(place), False, dict(form.header)
    if how.formulation in FORMULATIONS:
        by_mass = FORMULATIONS[how.formulation].needs_regular_mass
        header["formulation"] = FORMULATIONS[how.formulation].kernel.address
        header["tolerance"] = how.rank_tolerance or _rank_tolerance(place, by_mass)
    else:
        header["repetitions"] = repetitions(place.rank.smallest, eps) + more_repetitions(system)
        header["most_repetitions"] = most_repetitions(place)
    p = system.p(place, how.alpha, how.beta, place.v_scale**2, given=header, eps=eps, by_mass=by_mass)
    exact = p if eps == EPS else system.p(place, given=header, by_mass=by_mass)
    return Measured(place, p, exact, header)


def unknowns(form: Form, p: Array, t: float, y: Array) -> Array:
    """Return (q, v, work), with algebraic unknowns behind where the form has them; mu of ggl is zero."""
    if not form.how.is_algebraic:
        return y
    s, of = form.system, ALGEBRAIC[form.how.formulation]
    rates = form.dynamics(np.append(t, y), p)
    mu = np.zeros(s.m if of.has_mu else 0)
    return np.concatenate([y, rates[s.n_q : s.n_q + s.n_v], rates[len(y) :], mu])


def _rank_tolerance(place: Place, by_mass: bool) -> float:
    """Return what formulations on full matrices take for zero during a motion, relative to the largest value.

    Near a singular position the small differences of a step's inner states from the constraints would be divided by
    the smallest singular value, and lead onto another branch. So they leave it out well before rounding does, as eps
    does in `augmented` (its root is 5e-6), if only the values at the start are far above. They are those of Psi_q on
    the scales of the mechanism, or in the metric of M^-1 for formulations that use it.
    """
    J, by = place.Psi_q * place.v_scale, place.row_scale
    if by_mass:
        J, by = place.scaled_jacobian("mass")[0], np.sqrt(place.rows.size)
    rank = decide_rank(singular_values(J / by[:, None]) if J.size else np.ones(1))
    return float(np.clip(ABOVE_ZERO * rank.smallest / max(rank.values[0], TINY), RANK_TOLERANCE, NEAR_SINGULAR))


def _right_sides(system: System, formulation: str) -> tuple[NativeFunction, NativeFunction]:
    """Return the derivative for the time loop, and the dynamics for the report, which returns lam too."""
    f, ny = system.functions, system.n_q + system.n_v + N_WORK
    if formulation not in FORMULATIONS:
        return f["derivative"], f["dynamics"]
    inner = max(f["terms"].work, f["rates"].work)
    work = right_side.scratch_size(formulation, system.n_q, system.n_v, system.m, inner)
    return (
        NativeFunction("derivative", right_side.derivative.address, 1 + ny, ny, work),
        NativeFunction("dynamics", right_side.dynamics.address, 1 + ny, ny + system.m, work),
    )
