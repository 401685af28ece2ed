"""A motion made ready: compiled equations, start values and right-hand side, its slices and its result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism
from linkwork.compiled.system import System, choose_eps, most_repetitions, put_header, repetitions
from linkwork.constraints import projection
from linkwork.constraints.projection import measure, project
from linkwork.equations.implicit import N_WORK
from linkwork.equations.place import Place, Weights
from linkwork.equations.programs import Metric
from linkwork.equations.solution import EPS
from linkwork.formulations import ALGEBRAIC, EXPLICIT, FORMULATIONS, linearization, right_side
from linkwork.integrators.integrate import Actions, Settings, Slice, integrate
from linkwork.integrators.memory import Preparable
from linkwork.integrators.methods import AUTO, RADAU5, method_of
from linkwork.integrators.methods.tableaus import DOP853
from linkwork.linalg.rank import RANK_TOLERANCE, decide_rank, singular_values
from linkwork.model import Simulation
from linkwork.native.kernels import size_of
from linkwork.native.lowering import NativeFunction
from linkwork.notes import Note, Reason
from linkwork.records import changed, kept
from linkwork.simulation.automatic import choose_as_it_goes, note_methods
from linkwork.simulation.events import Course
from linkwork.simulation.notes import note_atol, note_blur, note_grazes, note_machine, note_matrices, note_pivots
from linkwork.simulation.options import Choice
from linkwork.simulation.outputs import (
    Report,
    fill_dynamics,
    fill_report,
    rates,
    report,
    split_columns,
    trajectory,
)
from linkwork.simulation.passages import find_singular
from linkwork.simulation.resume import last_state
from linkwork.simulation.suitability import check_massless
from linkwork.start.branches import check_branch, check_regular, leave_singular
from linkwork.start.closing import Start, find_start, restart
from linkwork.start.singular import name_positions, note_singular
from linkwork.trajectory import Run, Trajectory

Array = NDArray[np.float64]
MOST_STEPS = 2_000_000  # tried in one run unless more are allowed: a minute or so of a small mechanism
LEAST_PIVOT = 0.03  # of the largest entry of its column, where pivots are chosen anew
MOST_LINEARIZED = 100  # coordinates and velocities: beyond, difference quotients are had sooner than exact ones
UNSEEN = 0.01  # of the tolerance of a step: an error of the linear solution that does not show
NEAR_SINGULAR = 1e-5  # of the largest singular value: the most that counts as zero during a motion
ABOVE_ZERO = 1e-3  # of the smallest singular value at the start: what counts as zero is below


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion ready to be integrated: compiled equations, start values and right-hand side."""

    mechanism: Mechanism
    how: Choice
    system: System
    start: Start
    derivative: NativeFunction  # (t, q, v, work) -> rates
    dynamics: NativeFunction  # the same with lam
    p: Array
    header: Mapping[str, float]  # entries of the header of p that depend on the choice
    exact: Array  # p with the least eps, so that the factor shows singular positions
    method: Preparable
    stiff: Callable[[], Motion]  # the same for an implicit integrator, compiled when it is asked for
    measured: Place  # where scales, rank and eps were found: at the start, or where a joint last opened or closed
    with_pivots: Callable[[Place, float], System] | None = None  # the system with other pivots, of the explicit form

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
        implicit = how.implicit
        baumgarte = how.stabilization == "baumgarte"  # which may be stiff too
        size = len(mechanism.equations.q) + len(mechanism.equations.v)
        if implicit == "linearized" and (size > MOST_LINEARIZED or baumgarte):
            implicit = ""

        def with_pivots(place: Place, least: float = 0.0) -> System:
            rows, metric = leave_singular(place).rows.independent, metric_for(place, how)
            return mechanism.explicit_system(how.programs(implicit), place, metric, baumgarte, rows, least)

        def compiled(metric: Metric) -> System:
            if stated is not None:
                return mechanism.explicit_system(how.programs(implicit), stated, metric, baumgarte)
            return mechanism.system(how.programs(implicit), metric, baumgarte)

        stated = mechanism.place() if how.formulation == EXPLICIT else None
        system = compiled("mass")
        given = restart(system.start(), q, v, weights, assemble, keep)
        if not given.mass.is_regular:
            check_massless(given, how.formulation)
            implicit = how.formulation if how.is_algebraic else ""  # K of `linearized` is not that of a singular M
            system = compiled(metric_for(given, how))
            given = restart(system.start(), q, v, weights, assemble, keep)
        if given.equations.tree is not None:  # its dyads are on the sides of this start
            system = system.with_values(given.equations)
            given = system.place(given.q, given.v)
        start = find_start(given, weights, any_distance=assemble, keep=keep)
        if start.place.rank.rank < system.m:
            check_branch(replace(start.place, equations=mechanism.equations))
        if stated is not None:
            check_regular(start.place)
            if not np.array_equal(start.place.q, stated.q):
                system = with_pivots(start.place)
        derivative, dynamics = _right_sides(system, how.formulation)
        method = method_of(how.integrator)
        for kernel in (project, measure, fill_dynamics, fill_report):
            _ = kernel.address  # compiled or loaded here, not within the measured integration
        header: dict[str, float] = {"dynamics": dynamics.address, "derivative": derivative.address}
        if how.is_algebraic:
            from linkwork.simulation.implicit import algebraic_method

            derivative, method, header["n_carried"] = algebraic_method(mechanism, system, how)
        elif implicit:
            from linkwork.simulation.implicit import linearized_method

            method = linearized_method(mechanism, system, dynamics)
        p, exact, header = _parameters(system, how, start.place, header)

        found: list[Motion] = []

        def stiff() -> Motion:
            from linkwork.integrators.methods.radau5 import Radau5

            if not found:
                other = Motion.begin(mechanism, replace(how, integrator=RADAU5), weights, assemble, keep, q, v)
                if isinstance(other.method, Radau5) and not other.how.is_algebraic:
                    other = replace(other, method=replace(other.method, detects=True))
                found.append(other)
            return found[0]

        made = Motion(
            mechanism, how, system, start, derivative, dynamics, p, header, exact, method, stiff, start.place
        ).planned()
        return made if stated is None else replace(made, with_pivots=with_pivots)

    @property
    def held(self) -> Array:
        """What events change."""
        return self.p[self.system.held]

    def holding(self, held: Array) -> Motion:
        """The same with other values of what events change, where joints hold as they do."""
        if held.tobytes() == self.held.tobytes():
            return self
        e, p, exact = self.system.equations, self.p.copy(), self.exact.copy()
        p[self.system.held] = exact[self.system.held] = held
        system = self.system.with_values(
            e.with_values({**e.parameters, **dict(zip(e.held, held.tolist(), strict=True))})
        )
        return replace(self, system=system, p=p, exact=exact)

    def with_held(self, held: Array, t: float, y: Array) -> Motion:
        """The same with other values of what events change, from (q, v) on."""
        made = self.holding(held)
        alike = np.array_equal(made.system.equations.is_open, self.system.equations.is_open)
        return made if alike else made.measured_at(t, y)

    def resumed_from(self, first: Trajectory) -> tuple[Motion, Array]:
        """The same from where a motion has ended, and the state there."""
        e, y = self.system.equations, last_state(first, self.system.equations.state)
        if not first.info.held:
            return self, y
        held = np.array([first.info.held[str(x.value)] for x in e.held])
        return self.with_held(held, first.t[-1], y[: self.system.n_q + self.system.n_v]), y

    def measured_at(self, t: float, y: Array) -> Motion:
        """The same from (q, v) on, with scales, rank and eps as they are there."""
        place = self.system.place(y[: self.system.n_q], y[self.system.n_q :], t)
        p, exact, header = _parameters(self.system, self.how, place, self.header)
        made = replace(self, start=replace(self.start, place=place), p=p, exact=exact, header=header, measured=place)
        made = made.planned()
        return made if self.with_pivots is None else made.pivoted_at(t, y)  # other joints hold, and have other pivots

    def planned(self) -> Motion:
        """The same with a plan for the linear systems of an implicit method, made where it starts."""
        if self.method.name != RADAU5:
            return self
        from linkwork.integrators.methods.radau5 import Radau5
        from linkwork.simulation.implicit import plan_systems

        assert isinstance(self.method, Radau5)
        s, place = self.system, self.start.place
        y = self.unknowns(place.t, np.concatenate([place.q, place.v, np.zeros(N_WORK)]))
        n_before = s.n_q + s.n_v + N_WORK + s.n_v
        return replace(self, method=plan_systems(self.mechanism, self.method, np.append(place.t, y), self.p, n_before))

    def pivoted_at(self, t: float, y: Array) -> Motion:
        """The same with pivots of the explicit form that are large at (q, v)."""
        assert self.with_pivots is not None
        e, n_q, n = self.system.equations, self.system.n_q, self.system.n_q + self.system.n_v
        system = self.with_pivots(self.system.place(y[:n_q], y[n_q:n], t), LEAST_PIVOT).with_values(e)
        derivative, dynamics = _right_sides(system, self.how.formulation)
        header = {**self.header, "dynamics": dynamics.address, "derivative": derivative.address}
        place = system.place(y[:n_q], y[n_q:n], t)
        p, exact, header = _parameters(system, self.how, place, header)
        method = self.method
        if method.name == RADAU5:
            from linkwork.integrators.methods.radau5 import Radau5

            assert isinstance(method, Radau5)
            if method.jacobian is not None:
                method = replace(method, jacobian=linearization.of_system(system, dynamics))
        made = replace(self, system=system, derivative=derivative, dynamics=dynamics, method=method)
        return replace(made, p=p, exact=exact, header=header)

    def describe(self, settings: Simulation, about_start: Iterable[Note], seconds: float) -> Run:
        """What is known before it is integrated, with the seconds that took."""
        mechanism, place = self.mechanism, self.start.place
        return Run(
            model=mechanism.model.name,
            coordinates=mechanism.equations.kind,
            formulation=self.how.formulation,
            stabilization=self.how.stabilization,
            integrator=self.how.integrator,
            rtol=settings.rtol,
            atol=settings.atol,
            t_end=settings.t_end,
            step=settings.step,
            dof=self.system.n_v - place.rank.rank - mechanism.equations.unseen,
            redundant=place.rows.redundant,
            compile_s=seconds,
            notes=(*note_machine(), *mechanism.notes, *about_start),
            parameters=dict(mechanism.model.parameters),
        )

    def slices(
        self,
        times: Array,
        method: Settings,
        y: Array,
        asks: Sequence[bool] = (),
        max_steps: int = MOST_STEPS,
        before: Slice | None = None,
    ) -> Iterator[Slice]:
        """The motion from this state, piece by piece, the first of not more than so many steps.

        An event that `asks` ends a piece. `before` is one after which it goes on: from its step, and with the events
        behind that ended it.
        """
        if self.how.integrator == AUTO.name and self.how.stabilization != "state-space":

            def implicit(rest: Array, y: Array, held: Array) -> Iterator[Slice]:
                n = self.system.n_q + self.system.n_v
                return self.stiff().with_held(held, float(rest[0]), y[:n]).slices(rest, method, y, asks)

            def explicit(rest: Array, y: Array, held: Array) -> Iterator[Slice]:
                onset = before if rest is times else None
                return self.holding(held).slices_as_it_is(rest, method, y, asks, max_steps, onset)

            return choose_as_it_goes(explicit, implicit, times, y, self.held)
        if self.how.is_algebraic:
            from linkwork.simulation.implicit import exchange_rows

            return exchange_rows(self, times, method, y, asks, max_steps, before)
        return self.slices_as_it_is(times, method, y, asks, max_steps, before)

    def slices_as_it_is(
        self, times: Array, method: Settings, y: Array, asks: Sequence[bool], max_steps: int, before: Slice | None
    ) -> Iterator[Slice]:
        s, scale = self.system, self.error_scale(times[-1])
        method = changed(method, method=self.method, scale=scale)
        if self.how.stabilization == "state-space":
            if self.how.integrator == AUTO.name:  # no other method could take over
                method = changed(method, method=DOP853)
            partition = self.how.formulation == "coordinate-partitioning"
            from linkwork.constraints.charts import integrate_on_charts

            return integrate_on_charts(s, self.derivative, self.start.place, partition, y, times, method, self.header)
        y = self.unknowns(times[0], y)
        how = project if self.how.stabilization == "projection" and s.equations.is_constrained else measure
        onto = projection.of_system(s, how, len(y) - s.n_q - s.n_v)
        stops = [stop for stop in s.equations.switching_times(times[-1]) if stop >= times[0]]
        watch, n_pivots = s.functions.get("switches"), len(s.pivots)
        events = Actions(
            [*(event.direction for event in s.equations.events), *[0] * n_pivots],
            [*asks, *[True] * n_pivots],
            () if before is None else np.flatnonzero(before.moments[-1].sides).tolist(),
            s.functions.get("jumps"),
            *s.jump_targets,
            s.held,
        )
        return integrate(
            self.derivative,
            onto,
            self.as_accurate_as(method.rtol),
            y,
            times,
            method,
            s.n_q + s.n_v,
            stops=stops,
            first_step=None if before is None else before.step,
            watch=watch,
            events=events,
            max_steps=max_steps,
            is_sharp=s.equations.is_sharp,
            rates=self.dynamics if self.how.is_algebraic and not self.how.has_fixed_steps else None,
        )

    def as_accurate_as(self, rtol: float | None) -> Array:
        """p with so many repetitions that eps leaves UNSEEN of a tolerance in the accelerations of a step.

        All it leaves is across the constraints, onto which the step is projected.
        """
        if rtol is None or "repetitions" not in self.header:
            return self.p
        p, smallest, eps = self.p.copy(), self.measured.rank.smallest, choose_eps(self.measured)
        put_header(p, {"repetitions": repetitions(smallest, eps, UNSEEN * rtol) + more_repetitions(self.system)})
        return p

    def error_scale(self, t_end: float) -> Array:
        """By what q and v are measured in the error of a step."""
        return self.measured.error_scale(t_end, self.pace if t_end > 1.0 else 1.0)

    @kept
    def pace(self) -> float:
        """How fast it begins where it was measured: the largest |v| and root of |a| on their scales, if below one."""
        place, n_q = self.measured, self.system.n_q
        by = place.v_scale.tolist()
        fastest = max((abs(v) / scale for v, scale in zip(place.v.tolist(), by, strict=True)), default=0.0)
        if fastest >= 1.0:
            return fastest
        rates = self.dynamics(np.concatenate([[place.t], place.q, place.v, np.zeros(N_WORK)]), self.p)
        roots = (math.sqrt(abs(a) / scale) for a, scale in zip(rates[n_q:].tolist(), by, strict=False))
        return max([fastest, *roots])

    def unknowns(self, t: float, y: Array) -> Array:
        """(q, v, work), with algebraic unknowns behind where the form has them; mu of ggl is zero."""
        if not self.how.is_algebraic:
            return y
        s, of = self.system, ALGEBRAIC[self.how.formulation]
        rates = self.dynamics(np.append(t, y), self.p)
        mu = np.zeros(s.m if of.has_mu else 0)
        return np.concatenate([y, rates[s.n_q : s.n_q + s.n_v], rates[len(y) :], mu])

    def evaluate(self, t: Array, rows: Array, held: Array) -> tuple[Array, Array, Report, float]:
        """(t, q, v, a, lam) and qd at these states, what is reported there, and the seconds that the rates took.

        `held` is what events have changed until then.
        """
        s, (n_rows, ny) = self.system, rows.shape
        x, qd = np.empty((n_rows, 1 + s.n_q + 2 * s.n_v + s.m)), np.empty((n_rows, s.n_q))
        scratch = np.empty(size_of(rates, ny, s.m) + self.dynamics.work)
        x[:, 0], x[:, 1 : 1 + s.n_q + s.n_v] = t, rows[:, : s.n_q + s.n_v]  # memory that is new takes longer
        p, since = self.p.copy(), perf_counter()
        fill_dynamics(n_rows, ny, held.shape[1], held, p, x, qd, scratch)
        taken = perf_counter() - since
        return x, qd, report(s, self.exact, x, held), taken

    def result(self, info: Run, status: str, reason: Reason, times: Array, course: Course, began: float) -> Trajectory:
        """The trajectory of its course; of a run stopped between report times, with its last good state."""
        s, n_q, n, last = self.system, self.system.n_q, self.system.n_q + self.system.n_v, course.last
        rows = course.rows[0] if len(course.rows) == 1 else np.concatenate(course.rows)
        t, rows = times[: len(rows)], np.ascontiguousarray(rows[:, : n + N_WORK])
        if not len(t) or last.t > t[-1]:
            rows, t = np.vstack([rows, last.y[: n + N_WORK]]), np.append(t, last.t)
        motions = [part for part, _ in course.parts]
        *before, _ = accumulate(count for _, count in course.parts)
        ends = [*before, len(rows)]
        held = course.held_at(t)
        evaluated = [
            part.evaluate(t[first:end], rows[first:end], held[first:end])
            for part, first, end in zip(motions, (0, *before), ends, strict=True)
        ]
        x, qd, found, taken = evaluated[0]
        if len(evaluated) > 1:
            x, qd = (np.concatenate([part[k] for part in evaluated]) for k in (0, 1))
            found = Report(*map(np.concatenate, zip(*(part[2] for part in evaluated), strict=True)))
            taken = sum(part[3] for part in evaluated)
        q = x[:, 1 : 1 + n_q]
        passed, first = [], 0
        parts = zip(motions, ends, strict=True)
        for _, alike in groupby(parts, key=lambda part: part[0].start.place.is_open.tobytes()):  # the same joints hold
            *_, (at, end) = alike
            k = slice(first, end)
            passed += find_singular(at.system, at.exact, at.start.place, t[k], q[k], qd[k], found.log_det[k])
            first = end
        singular = name_positions(s.equations.rows, passed)
        kept = self.how.stabilization in ("projection", "state-space")
        info = changed(
            info,
            status=status,
            reason=reason,
            steps=last.steps,
            rejected=last.rejected,
            evaluations=last.evaluations,
            integration_s=last.loop_s,
            evaluation_s=taken / len(rows),
            switches=last.switches,
            constraint_error_position=last.psi,
            constraint_error_velocity=last.psi_dot,
            singular_positions=singular,
            held=dict(zip((str(x.value) for x in s.equations.held), course.held_last.tolist(), strict=True)),
            notes=(
                *info.notes,
                *note_methods(last.changes),
                *note_singular(singular, False, "" if kept else self.how.stabilization),
                *note_grazes(s, last),
                *note_blur(s, last),
                *note_pivots(course.repivoted),
                *note_matrices(last),
                *note_atol(info, *split_columns(s, found.extremes)[:2], self.error_scale(t[-1])),
            ),
            wall_s=perf_counter() - began,
        )
        model, work = self.mechanism.model, rows[:, n:]
        return trajectory(s, t, x, work, found, info, model, self.start.place, course.events())


def metric_for(place: Place, how: Choice) -> Metric:
    """In which corrections onto the constraints are least.

    What algebraic forms are off is of the kind M^-1 Psi_q^T, which no other metric removes without a trace.
    """
    if place.mass.is_regular:
        return "mass"
    return "near mass" if how.is_algebraic or place.equations.is_diagonal else "unit"


def more_repetitions(system: System) -> int:
    """Those that remove what was added to a singular M."""
    return 0 if system.regular else 2


def _parameters(
    system: System, how: Choice, place: Place, given: Mapping[str, float]
) -> tuple[Array, Array, dict[str, float]]:
    """p, p with the least eps, and the header: what is `given` and what depends on the place."""
    eps, by_mass, header = choose_eps(place), False, dict(given)
    if how.formulation in FORMULATIONS:
        by_mass = FORMULATIONS[how.formulation].needs_regular_mass
        header["formulation"] = FORMULATIONS[how.formulation].kernel.address
        header["tolerance"] = _rank_tolerance(place, by_mass)
    else:
        header["repetitions"] = repetitions(place.rank.smallest, eps) + more_repetitions(system)
        header["most_repetitions"] = most_repetitions(place)
    p = system.p(place, how.alpha, how.beta, place.v_scale**2, given=header, eps=eps, by_mass=by_mass)
    return p, p if eps == EPS else system.p(place, given=header, by_mass=by_mass), header


def _rank_tolerance(place: Place, by_mass: bool) -> float:
    """What formulations on full matrices take for zero during a motion, relative to the largest value.

    Near a singular position the small differences of a step's inner states from the constraints would be divided by
    the smallest singular value, and lead onto another branch. So they leave it out well before rounding does, as eps
    does in `augmented` (its root is 5e-6), if only the values at the start are far above. They are those of Psi_q on
    the scales of the mechanism, or in the metric of M^-1 for formulations that use it.
    """
    J, by = place.Psi_q * place.v_scale, place.row_scale
    if by_mass:
        J, by = place.scaled_jacobian("mass")[0], np.sqrt(place.rows.size)
    rank = decide_rank(singular_values(J / by[:, None]) if J.size else np.ones(1))
    return float(np.clip(ABOVE_ZERO * rank.smallest / max(rank.values[0], 1e-300), RANK_TOLERANCE, NEAR_SINGULAR))


def _right_sides(system: System, formulation: str) -> tuple[NativeFunction, NativeFunction]:
    """The derivative for the time loop, and the dynamics for the report, which returns lam too."""
    f, ny = system.functions, system.n_q + system.n_v + N_WORK
    if formulation not in FORMULATIONS:
        return f["derivative"], f["dynamics"]
    inner = max(f["terms"].work, f["rates"].work)
    work = right_side.scratch_size(formulation, system.n_q, system.n_v, system.m, inner)
    return (
        NativeFunction("derivative", right_side.derivative.address, 1 + ny, ny, work),
        NativeFunction("dynamics", right_side.dynamics.address, 1 + ny, ny + system.m, work),
    )
