"""Motions with their derivatives by parameters, which are integrated beside them by the same time loop.

At a time tau at which the derivative of the motion jumps from f- to f+, and the state from y to J(y),

    S+ = J_y (S- + f- tau') + J_p + J_t tau' - f+ tau'        g_y S- + g_p + (g_t + g_y f-) tau' = 0

since tau, a zero of g, varies too. [khan2011]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism
from linkwork.elements.events import Watch
from linkwork.equations.equations import TIME
from linkwork.equations.implicit import N_WORK, WORK
from linkwork.equations.linear import eps_of, multiply
from linkwork.equations.solution import EPS
from linkwork.equations.varied import Chosen, holding, partials, vary, varying
from linkwork.errors import UsageError, check_choice, check_names
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic, ordered, substitute
from linkwork.expressions.graph import ZERO, Expr, symbol
from linkwork.integrators.integrate import End
from linkwork.linalg.newton import solve_least_squares
from linkwork.linalg.rank import row_sizes
from linkwork.records import kept
from linkwork.simulation.events import Course, jumps_at, prescribed
from linkwork.simulation.options import Start
from linkwork.simulation.outputs import ENERGY
from linkwork.simulation.problem import Motion, Part
from linkwork.simulation.rows import evaluate_motion, evaluate_rates
from linkwork.start.closing import speed_of
from linkwork.start.varying import vary_start
from linkwork.tolerances import HALF_THE_DIGITS
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]


def name_of(p: Expr) -> str:
    """Return the name of a parameter, or the place of a number in the model."""
    return str(p.value).rstrip("'")


def choose_parameters(mechanism: Mechanism, names: Sequence[str]) -> Chosen:
    """Find symbols of parameters by their names, or of numbers in the model by their places: "crank.mass".

    UsageError where there is none, or where it is no part of the equations.
    """
    check_names("sensitivities", names)
    own = {name_of(x): x for x in reversed([*mechanism.equations.parameters])}
    for name in names:
        check_choice("parameter", name, own)
        if name in mechanism.model.folded:
            message = (
                f"'{name}' is read as a number where the model is loaded, so that nothing can be differentiated by it"
            )
            raise UsageError(message, "folded-parameter")
    return tuple(own[name] for name in dict.fromkeys(names))


def check_variable(mechanism: Mechanism) -> None:
    """Raise UsageError where a motion cannot be differentiated."""
    model = mechanism.model
    if mechanism.unplaced is not None:
        message = "the start is stated by coordinates of joints, which are found where the model is loaded"
        raise UsageError(f"{message}; give them as start values", "not-varied")
    if mechanism.equations.clocks:
        raise UsageError("something is sampled, whose times would vary too", "not-varied")
    if model.functions:
        raise UsageError("functions in Python have no derivatives", "not-varied")
    if names := [event.name for event in model.events if event.callback is not None]:
        raise UsageError(f"the callback of event '{names[0]}' has no derivative", "not-varied")


@dataclass(eq=False)
class VariedMotion(Motion):
    """A motion with the derivatives of (q, v, work, held values) by parameters, one row each."""

    variations: Array = field(default_factory=lambda: np.empty((0, 0)))
    own_scale: Array = field(init=False)  # of q and v

    @classmethod
    def of(cls, motion: Motion, begin: Start, q: Mapping[str, float], v: Mapping[str, float]) -> VariedMotion:
        """Return the motion from its start on, which varies as the way to it does."""
        e, chosen = motion.system.equations, motion.how.chosen
        seeds = dict(zip(chosen, np.eye(len(chosen)), strict=True))
        at = vary_start(e, seeds, q, v, begin.weights, begin.assemble, begin.keep)
        place = motion.start.place
        off = np.concatenate([(at.place.q - place.q) / place.q_scale, (at.place.v - place.v) / place.v_scale])
        if not np.max(np.abs(off), initial=0.0) <= HALF_THE_DIGITS * (1.0 + speed_of(place)):
            message = "the start is closed from afar, by a way that cannot be differentiated"
            raise UsageError(f"{message}; state positions that fit the joints", "not-varied")
        held = np.array([[float(h is p) for h in holding(e, chosen)] for p in chosen]).reshape(len(chosen), -1)
        variations = np.hstack([at.q.T, at.v.T, np.zeros((len(chosen), N_WORK)), held])
        own = {name: getattr(motion, name) for name in ("mechanism", "how", "start", "form", "measured", "forms")}
        return cls(**own, variations=variations)

    @property
    def chosen(self) -> Chosen:
        return self.how.chosen

    @property
    def first(self) -> int:
        """Where the variations stand in y."""
        return self.n + N_WORK

    def unknowns(self, t: float, y: Array) -> Array:
        return np.concatenate([y[: self.first], self.variations.T.ravel()])

    def error_scale(self) -> Array:
        self.own_scale = super().error_scale()
        return self.own_scale if not self.form.controls_variations else self.scale_of_all()

    def scale_of_all(self) -> Array:
        """Measure variations as what varies, by the parameter, and by how large those by one parameter are now."""
        own, e = self.own_scale, self.system.equations
        sizes = np.array([abs(e.parameters[p]) or 1.0 for p in self.chosen])[:, None]
        grown = np.max(np.abs(self.variations[:, : self.n]) * sizes / own, axis=1, initial=1.0)[:, None]
        beside = np.full((len(sizes), self.variations.shape[1] - self.n), math.inf)
        return np.concatenate([own, [math.inf] * N_WORK, np.hstack([grown * own / sizes, beside]).T.ravel()])

    def take_variations(self) -> None:
        """Take the variations of now from the time loop."""
        self.variations = self.state.y[self.first :].reshape(-1, len(self.chosen)).T

    def give_variations(self, variations: Array) -> None:
        """Let the time loop go on with others."""
        self.variations, at, ny = variations, self.state.at, self.state.problem.ny
        if self.form.controls_variations:
            self.state.measure(self.scale_of_all())
        at.x[1 + self.first : 1 + ny] = variations.T.ravel()
        at.k[:ny] = self.form.derivative(at.x[: 1 + ny], self.state.p)


class Shift(NamedTuple):
    """How the state at an event varies, its time included, and how that time does."""

    variations: Array
    tau: Array


class Side(NamedTuple):
    """A state with what its rates are evaluated with."""

    t: float
    y: Array
    held: Array
    part: Part


class Edge(NamedTuple):
    """A moment at which what is reported may jump: behind how many report rows, both sides, how its time varies."""

    row: int
    before: Side
    after: Side
    tau: Array


@dataclass
class VariedCourse(Course):
    """The way of a motion with its derivatives through events and switches, of each of which Python is told."""

    shift: Shift | None = None
    times: list[Array] = field(default_factory=list)  # how those of the happenings vary
    edges: list[Edge] = field(default_factory=list)

    @property
    def varied(self) -> VariedMotion:
        assert isinstance(self.motion, VariedMotion)
        return self.motion

    def tell_asks(self) -> None:
        at = self.motion.state.at
        at.asks[: len(self.motion.system.equations.events)] = True
        at.tells = True

    def begin(self, t: float, y: Array) -> Array:
        motion = self.varied
        self.shift = Shift(motion.variations, np.zeros(len(motion.variations)))
        y = super().begin(t, y)
        motion.variations, self.shift = self.shift.variations, None
        return y

    def meet(self) -> bool:
        motion, moment, at = self.varied, self.asked, self.motion.state.at
        motion.take_variations()
        k = at.nearest if moment.sides[at.nearest : at.nearest + 1].any() else int(np.flatnonzero(moment.sides)[0])
        x = np.append(moment.t_before, moment.y_before[: motion.first])
        before = self.rates_before(x)
        tau = self.time_of(self.watched[k], f"watched {k}", x, before)
        self.shift, side = Shift(self.moved(motion.variations, tau, before), tau), self.side(at.x[0], motion.state.p)
        goes_on = super().meet()
        if goes_on and self.level and motion.state.advance(0) == End.BUDGET:  # it has begun on the sides that hold now
            variations, tau = self.shift
            motion.give_variations(self.moved(variations, -tau, motion.state.at.k[: motion.first]))
            self.edges.append(Edge(motion.state.reported, side, self.side(motion.state.t, motion.state.p), tau))
        self.shift = None
        return goes_on

    def note(self, found: Sequence[int], t: float, y: Array, y_after: Array) -> None:
        super().note(found, t, y, y_after)
        assert self.shift is not None
        self.times += [self.shift.tau] * len(found)

    def pass_switch(self) -> None:
        """Vary the time at which a law has switched: the state goes on, and its derivative may jump."""
        motion, state, at = self.varied, self.motion.state, self.motion.state.at
        motion.take_variations()
        x, after, t = at.x[: 1 + motion.first].copy(), at.k[: motion.first].copy(), state.t
        before = self.rates_before(x)
        which: tuple[Expr, str] | None = None
        if np.any(at.changed[: at.n_watched]):
            which = self.watched[at.nearest], f"watched {at.nearest}"
        elif at.passes:
            earlier, later = state.stops[2 * at.stop : 2 * at.stop + 2]
            x[0] = t = earlier
            before, x[0] = motion.form.dynamics(x, state.p)[: motion.first], later
            functions = motion.system.equations.timed_switches
            there = [np.sign(self.evaluate(functions, {**self.values(x), TIME: t})) for t in (earlier, later)]
            found = np.flatnonzero(there[0] != there[1])
            which = (functions[found[0]], f"timed {found[0]}") if len(found) else None
        if which is not None and not np.array_equal(before, after):
            tau, sides = self.time_of(*which, x, before), [self.side(t, self.p_before()), self.side(state.t, state.p)]
            motion.give_variations(self.moved(motion.variations, tau, before - after))
            self.edges.append(Edge(at.row, sides[0], sides[1]._replace(y=state.y), tau))

    def side(self, t: float, p: Array) -> Side:
        """Return the state of now, as it is at t with the laws that p holds on their sides."""
        motion, part = self.motion, self.motion.part(0)
        first, count = motion.state.at.first_sign, motion.state.at.n_watched
        if first:
            part.measured.p[first : first + count] = p[first : first + count]
        return Side(float(t), motion.state.y, motion.held.copy(), part)

    @property
    def watched(self) -> list[Expr]:
        """Functions at whose zeros events happen, forces or drivers switch."""
        return self.motion.system.source.watched

    def evaluate(self, functions: Sequence[Expr], values: Mapping[Expr, Any]) -> Array:
        return np.array(evaluate(functions, values), dtype=float)

    def rates_before(self, x: Array) -> Array:
        """Return the rates of the state, with the laws as they were before the last switches."""
        return self.motion.form.dynamics(x, self.p_before())[: self.varied.first]

    def p_before(self) -> Array:
        at, p = self.motion.state.at, self.motion.state.p.copy()
        if at.first_sign:
            signs = p[at.first_sign : at.first_sign + at.n_watched]
            signs[:] = np.where(at.changed[: at.n_watched] != 0.0, -signs, signs)
        return p

    def moved(self, variations: Array, tau: Array, rates: Array) -> Array:
        """Return the variations at a time that varies itself."""
        found = variations.copy()
        found[:, : len(rates)] += np.outer(tau, rates)
        return found

    def values(self, x: Array, held: Array | None = None) -> dict[Expr, Any]:
        """Return the values of all symbols at (t, q, v)."""
        e, place = self.motion.system.equations, self.motion.measured.place
        known = dict(zip(e.held, self.motion.held if held is None else held, strict=True))
        state = dict(zip((TIME, *e.q, *e.v), x, strict=False))
        return {**e.parameters, **dict(zip(eps_of(e), EPS * place.rows.size, strict=True)), **known, **state}

    def direction(self, variations: Array, tau: Array) -> dict[Expr, Any]:
        """Return how all that varies does; variations have a row for each of what they are by, parameters the last."""
        e, chosen = self.motion.system.equations, self.varied.chosen
        columns = dict(zip(varying(e, chosen), variations.T, strict=True))
        rows = np.eye(len(variations))[len(variations) - len(chosen) :]
        units = {p: unit for p, unit in zip(chosen, rows, strict=True) if p not in columns}
        return {TIME: tau, **columns, **units}

    def vary(self, name: str, outputs: Callable[[], Sequence[Expr]], values: Any, direction: Any) -> Array:
        """Vary outputs, a row each, where accelerations and multipliers follow from the state."""
        e, source = self.motion.system.equations, self.motion.system.source

        def of_state() -> list[Expr]:
            found = [*outputs()]
            solved = not {*e.a, *e.lam}.isdisjoint(ordered(found)) and not {*e.a} <= {*values}
            return substitute(found, dict(zip((*e.a, *e.lam), source.solution, strict=True))) if solved else found

        return vary(e, name, of_state, values, direction)

    def time_of(self, g: Expr, name: str, x: Array, rates: Array) -> Array:
        """Find how the time of an event varies."""
        motion, values = self.varied, self.values(x)
        e, n = motion.system.equations, motion.n
        along = {TIME: np.ones(1), **dict(zip((*e.q, *e.v), rates[:n, None], strict=True))}
        (rate,) = self.vary(f"{name} along", lambda: [g], values, along)
        still = np.zeros(len(motion.variations))
        (change,) = self.vary(name, lambda: [g], values, self.direction(motion.variations, still))
        return np.asarray(-change / rate)

    def change(
        self, events: list[tuple[int, int]], t: float, y: Array, t_before: float, y_before: Array
    ) -> tuple[float, Array] | None:
        motion, system, held = self.varied, self.motion.system, self.motion.held.copy()
        assert self.shift is not None
        e, (variations, tau), happening = system.equations, self.shift, [system.equations.events[k] for k, _ in events]
        x, name = np.append(t, y[: motion.n]), f"events {[k for k, _ in events]}"
        jumps = jumps_at(system, motion.p, t, y[: motion.n], {k for k, _ in events}) if events else {}
        G, gap = prescribed([(w, jumps[k]) for w, (k, _) in zip(happening, events, strict=True)])
        found = super().change(events, t, y, t_before, y_before)
        if found is None:
            return None
        values, direction = self.values(x, held), self.direction(variations, tau)
        of = varying(e, motion.chosen)
        places, variations = {x: k for k, x in enumerate(of)}, variations.copy()
        sets = [(h, new) for watch in happening for own in (watch.holds, watch.resets) for h, new in own.items()]
        after = self.vary(f"{name} set", lambda: [new for _, new in sets], values, direction)
        for (h, _), rate in zip(sets, after, strict=True):
            if h in places:
                variations[:, places[h]] = rate
        y_after = found[1]
        if len(G) or any(watch.switches_joints for watch in happening):
            between = self.direction(variations, tau)
            pushed = self.push(happening, name, x, y_after, (values, direction), between, G, gap)
            lost = self.lost_by(x, y_after, between, {**between, **dict(zip(e.v, pushed.T, strict=True))})
            variations[:, len(e.q) : motion.n] = pushed
            variations[:, motion.n + (0 if lost[0] >= 0.0 else 1)] += np.sign(lost[0]) * lost[1]
        self.shift = Shift(variations, tau)
        return found

    def push(
        self, happening: Sequence[Watch], name: str, x: Array, y: Array, before: Any, after: Any, G: Array, gap: Array
    ) -> Array:
        """Find how velocities vary behind an impact, M dv + Psi_q^T P + G^T R = 0, Psi_q dv = -Psi_dot, G dv = gap.

        `before` and `after` are how the state varies with held values as they were and as they are set.
        """
        motion, e = self.varied, self.motion.system.equations
        n_q, n, m = len(e.q), len(e.v), len(e.Psi)
        place, v = motion.place_at(float(x[0]), y), x[1 + n_q : 1 + motion.n]
        dv, J = y[n_q : motion.n] - v, np.vstack([place.Psi_q, G.reshape(len(gap), n)])
        by = np.concatenate([place.row_scale, row_sizes(G.reshape(len(gap), n) * place.v_scale)])
        heaviest = math.sqrt(np.max(np.abs(place.M * np.outer(place.v_scale, place.v_scale))))
        scale = np.concatenate([place.v_scale / heaviest, heaviest / by])
        K = np.block([[place.M, J.T], [J, np.zeros((len(J), len(J)))]]) * np.outer(scale, scale)
        forces = heaviest / by * solve_least_squares((K[:n, n:]), -scale[:n] * (place.M @ dv))
        rows, gaps = combine(happening)
        R = [symbol(f"impulse {i}") for i in range(len(rows))]

        def held() -> list[Expr]:
            balance, entries = [ZERO] * n, jacobian(rows, e.v)
            left = [-x for x in gaps]
            for (i, j), entry in entries.items():
                balance[j], left[i] = balance[j] + entry * R[i], left[i] + entry * e.dx[j]
            return [*balance, *left]

        def pushed() -> list[Expr]:
            product = multiply(e, [*e.a, *e.lam])
            return [*product[:n], *(x + y for x, y in zip(product[n:], e.Psi_dot, strict=True))]

        own = {**dict(zip(e.dx, dv, strict=True)), **dict(zip(R, forces[m:], strict=True))}
        by_rows = self.vary(f"{name} held", held, {**before[0], **own}, before[1])
        own = {**dict(zip(e.a, dv, strict=True)), **dict(zip(e.lam, forces[:m], strict=True))}
        at = self.values(np.concatenate([x[:1], y[:n_q], v]))
        left = self.vary("pushed", pushed, {**at, **own}, after)
        left[:n] += by_rows[:n]
        right = scale[:, None] * np.vstack([left, by_rows[n:]])
        found = -scale[:, None] * solve_least_squares(K, right)
        rates: Array = np.array([after[v] for v in e.v]) + found[:n]
        return rates.T

    def lost_by(self, x: Array, y: Array, before: Any, after: Any) -> tuple[float, Array]:
        """Return the kinetic energy lost in an impact, and how it varies."""
        e, n_q = self.motion.system.equations, len(self.motion.system.equations.q)
        states = [np.concatenate([x[:1], y[:n_q], v]) for v in (x[1 + n_q :], y[n_q : self.motion.n])]
        values = [self.values(state) for state in states]
        energies = [float(self.evaluate([e.energy.kinetic], at)[0]) for at in values]
        rates = [
            self.vary("kinetic", lambda: [e.energy.kinetic], at, direction)[0]
            for at, direction in zip(values, (before, after), strict=True)
        ]
        return energies[0] - energies[1], rates[0] - rates[1]


def combine(happening: Sequence[Watch]) -> tuple[list[Expr], list[Expr]]:
    """Combine rows of velocities and their changes by events of one moment, see `prescribed`."""
    rows, gaps, kicked = list[Expr](), list[Expr](), dict[Expr, int]()
    for watch in happening:
        for row, target, kicks in zip(watch.rows, watch.targets, watch.kicks, strict=True):
            if kicks and row in kicked:
                gaps[kicked[row]] = gaps[kicked[row]] + (target - row)
                continue
            if kicks:
                kicked[row] = len(rows)
            rows.append(row)
            gaps.append(target - row)
    return rows, gaps


class Table(NamedTuple):
    """Rows of a motion: what is reported, and both sides of edges."""

    t: Array
    rows: Array  # q, v, work, and their variations
    held: Array
    x: Array  # t, q, v, a, lam
    qd: Array
    parts: list[Part]
    is_reported: NDArray[np.bool_]
    pieces: NDArray[np.intp]  # edges before it


@dataclass(eq=False)
class Gradients:
    """Derivatives of what a motion reports by its parameters; (t, q, v, a, lam) and their derivatives at every row."""

    course: Course
    chosen: Chosen
    known: dict[str, Array] = field(default_factory=dict)  # derivatives at the rows, by names

    @property
    def names(self) -> list[str]:
        """Of the parameters."""
        return [name_of(p) for p in self.chosen]

    def of(self, name: str, parameter: str, motion: Trajectory) -> Array:
        """Return the derivatives d motion[name] / d parameter, in SI, at every report time."""
        check_choice("parameter", parameter, self.names)
        check_choice("quantity", name, motion.quantities)
        found = self.rates(self.expression_of(name, motion), name)
        return np.asarray(found[self.rows.is_reported, self.names.index(parameter)])

    def formula(self, text: str, motion: Trajectory) -> Expr:
        """Return a formula of quantities as an expression of t, q, v, a, lam and work."""
        formula = motion.formula(text)
        names = [x for x in ordered([formula]) if x.op == "symbol"]
        return substitute([formula], {x: self.expression_of(str(x.value), motion) for x in names})[0]

    def expression_of(self, name: str, motion: Trajectory) -> Expr:
        """Return the quantity as an expression of t, q, v, a, lam and work."""
        e = self.course.motion.system.equations
        if name == "t":
            return TIME
        dissipated, supplied = WORK
        energies = (e.energy.kinetic, e.energy.potential, dissipated, supplied)
        known = dict(zip(ENERGY.names, energies, strict=True))
        known["energy:drift"] = e.energy.kinetic + e.energy.potential + dissipated - supplied
        turns = {x.carried: x.value for x in e.chart.counted}  # what is carried varies with where it began, too
        for kind, own in (*zip(e.chart.state, (e.q, e.v, e.a), strict=True), ("lam", e.lam)):
            known |= dict(zip(e.columns[kind].names, (turns.get(x, x) for x in own), strict=True))
        for kind, outputs in e.outputs.items():
            known |= dict(zip(e.columns[kind].names, (x.shown for x in outputs.values()), strict=True))
        if name not in known:
            raise UsageError(f"'{name}' measures errors, and is not differentiated", "not-varied")
        return known[name]

    def times_of(self, event: int) -> Array:
        """Find how the time of an event varies."""
        if not isinstance(self.course, VariedCourse):
            raise UsageError("of driven motions the times of events are not differentiated", "not-varied")
        return self.course.times[event]

    @property
    def edges(self) -> list[Edge]:
        """Moments at which what is reported may jump."""
        return self.course.edges if isinstance(self.course, VariedCourse) else []

    def edge_time(self, k: int) -> Array:
        """Find how the time of such a moment varies."""
        return self.edges[k].tau

    @kept
    def rows(self) -> Table:
        """Return the report rows, and among them those on both sides of all edges."""
        at = evaluate_motion(self.course)
        n, sides = len(at.t), [side for edge in self.edges for side in (edge.before, edge.after)]
        parts = [part for part, span in zip(self.course.parts, at.spans, strict=True) for _ in at.t[span]]
        first, width = self.course.motion.n + N_WORK, at.rows.shape[1]
        more = [evaluate_rates(part, np.array([t]), y[None, :first], held[None]) for t, y, held, part in sides]
        behind = np.repeat([edge.row for edge in self.edges], 2).astype(int)

        def insert(rows: Array, others: Sequence[Any]) -> Array:
            return np.insert(rows, behind, np.array(others), axis=0) if others else rows

        order = np.insert(np.arange(n), behind, n + np.arange(len(sides)))
        return Table(
            insert(at.t, [side.t for side in sides]),
            insert(at.rows, [side.y[:width] for side in sides]),
            insert(at.held, [side.held for side in sides]),
            insert(at.x, [x[0] for x, _ in more]),
            insert(at.qd, [qd[0] for _, qd in more]),
            [[*parts, *(side.part for side in sides)][k] for k in order],
            order < n,
            np.cumsum(np.insert(np.zeros(n, int), behind, np.arange(len(sides)) % 2)),
        )

    def p_at(self, row: int) -> Array:
        """Return p of a part of the course with what events have changed until this row."""
        part = self.rows.parts[row]
        p = part.measured.p.copy()
        p[part.form.system.held] = self.rows.held[row]
        return p

    @kept
    def symbols(self) -> dict[Expr, Any]:
        """The values of all symbols at the rows."""
        rows, e, n = self.rows, self.course.motion.system.equations, self.course.motion.n
        values = {**e.parameters, **dict(zip(e.held, rows.held.T, strict=True))}
        values |= dict(zip((TIME, *e.q, *e.v, *e.a, *e.lam), rows.x.T, strict=True))
        return values | dict(zip(WORK, rows.rows[:, n : n + N_WORK].T, strict=True))

    @np.errstate(all="ignore")
    def values(self, quantity: Expr) -> Array:
        """Evaluate an expression at every row."""
        found = evaluate([quantity], self.symbols, numpy_arithmetic())[0]
        return np.broadcast_to(np.asarray(found, dtype=float), self.rows.t.shape)

    @np.errstate(all="ignore")
    def rates_in_time(self, quantity: Expr, name: str) -> Array:
        """Differentiate it by time along the motion; NaN where accelerations or forces vary."""
        e, n_q = self.course.motion.system.equations, len(self.course.motion.system.equations.q)
        a = self.rows.x[:, 1 + n_q + len(e.v) :]
        known = {TIME: np.ones(len(a)), **dict(zip((*e.q, *e.v), np.hstack([self.rows.qd, a]).T, strict=False))}
        found = np.zeros(len(a))
        for x, slope in self.partials(quantity, name).items():
            if x in known or x in (*e.a, *e.lam, *WORK):
                found += np.where(slope == 0.0, 0.0, slope * known.get(x, math.nan))
        return found

    @np.errstate(all="ignore")
    def partials(self, quantity: Expr, name: str) -> dict[Expr, Array]:
        """Differentiate an expression by all that may vary in it, time too, at every row."""
        e = self.course.motion.system.equations
        by = dict.fromkeys((TIME, *varying(e, self.chosen), *self.chosen, *e.a, *e.lam))
        found = partials(e, name, lambda: quantity, [*by], self.symbols)
        return {x: np.broadcast_to(slope, self.rows.t.shape) for x, slope in found.items()}

    def pull(self, quantity: Expr, name: str, weights: Array) -> Array:
        """Differentiate sums of an expression over the rows, with weights of which each sum has a row."""
        return np.asarray(weights @ self.rates(quantity, name))

    def rates(self, quantity: Expr, name: str) -> Array:
        """Differentiate an expression at every row, a column for each parameter; a name stands for it always."""
        if name not in self.known:
            self.known[name] = self.find_rates(quantity, name)
        return self.known[name]

    @np.errstate(all="ignore")
    def find_rates(self, quantity: Expr, name: str) -> Array:
        e, found = self.course.motion.system.equations, np.zeros((len(self.rows.t), len(self.chosen)))
        places = {x: k for k, x in enumerate(varying(e, self.chosen))}
        solved = {x: k for k, x in enumerate((*e.a, *e.lam))}
        for x, slope in self.partials(quantity, name).items():
            if x in places:
                change = self.variations[:, :, places[x]]
            elif x in solved:
                change = self.accelerations[:, :, solved[x]]
            elif x is TIME:
                continue
            else:
                change = np.eye(len(self.chosen))[[self.chosen.index(x)]]
            found += np.where(change == 0.0, 0.0, slope[:, None] * change)  # a slope may be infinite
        return found

    @kept
    def variations(self) -> Array:
        """Of (q, v, work, held values), by row and parameter."""
        varied = self.rows.rows[:, self.course.motion.n + N_WORK :].reshape(len(self.rows.t), -1, len(self.chosen))
        return varied.transpose(0, 2, 1)

    @kept
    def accelerations(self) -> Array:
        """The derivatives of (a, lam), by row and parameter."""
        rows, first, system = self.rows, self.course.motion.n + N_WORK, self.course.motion.system
        width, k = system.n_v + system.m, len(self.chosen)
        found = np.empty((len(rows.t), k, width))
        for i, part in enumerate(rows.parts):
            f = part.form.system.functions["varied_report"]
            x = rows.t[i : i + 1], rows.rows[i, :first], self.variations[i].T.ravel(), rows.x[i, -width:]
            found[i] = f(np.concatenate(x), self.p_at(i)).reshape(width, k).T
        return found
