"""The programs of a mechanism: what is computed in a run, as computation sequences, one function each.

Those who integrate, project, report or analyse name the programs that they need; `compiled` makes machine code of them
in one go. A motion is integrated with

    dynamics      (t, q, v, work) -> (qd, a, work rates, lam);  `derivative` is the same without lam

of which there are three, or with `terms` and `rates`, from which a formulation on full matrices makes it. Where M is
singular, another metric takes its place in the linear systems of corrections and, near to M, in that of the dynamics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from linkwork.equations.equations import ALPHA, BETA, TIME, Equations
from linkwork.equations.implicit import ALGEBRAIC, N_WORK, WORK, implicit_form, linearize
from linkwork.equations.linear import eps_of, factor_in, factor_of, kept_of, mobility_of, multiply
from linkwork.equations.solution import Solution
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import Tape, ordered, substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, as_expr, less, symbol
from linkwork.records import kept
from linkwork.sequences.sequence import Again, ComputationSequence

if TYPE_CHECKING:
    from linkwork.equations.explicit import Explicit
    from linkwork.sequences.articulated import Solver

# Of the mean inertia of its kind, added to every velocity where M is singular; repetition removes its trace.
SOFT = 1e-6
PIVOT = 1e-3  # of its size when it was chosen: a pivot of the explicit form that is given up
# In p: how often the solution is repeated, how often at most if need be, and the weakness that does not need it.
REPETITIONS, IF_NEEDED, WEAKNESS = map(symbol, ("repetitions", "repetitions if needed", "weakness"))

# In which corrections onto the constraints are least: in M or, where that is singular, near to it. But if combinations
# of velocities have no inertia, as in Euler parameters, corrections would be far along these: then in the unit metric.
Metric: TypeAlias = Literal["mass", "near mass", "unit"]


def start(source: Source) -> ComputationSequence:
    """Compute parameters -> q and v as the model states them, and behind them those of the bodies."""
    e = source.equations
    of_bodies = () if e.chart.body is None else (*e.chart.body.chart.start_q, *e.chart.body.chart.start_v)
    return ComputationSequence("start", [*e.parameters], [*e.chart.start_q, *e.chart.start_v, *of_bodies])


@dataclass(frozen=True, eq=False)
class Source:
    """What programs are derived from: the equations, and how their linear systems are solved."""

    equations: Equations
    metric: Metric = "mass"
    explicit: Explicit | None = None
    loaded: Equations | None = None  # with forces and the inertia that these meet, where M is only a metric

    @kept
    def factor(self) -> Solver:
        """Factor the linear system of corrections."""
        e = self.equations
        if self.metric == "mass":
            return factor_of(e)
        return self._near_mass if self.metric == "near mass" else factor_in(e, {(i, i): ONE for i in range(len(e.v))})

    @kept
    def _near_mass(self) -> Solver:
        return factor_in(self.equations, _softened(self.equations))

    @kept
    def closing(self) -> Solver:
        """Factor the linear system of corrections of positions, which the rows of Psi alone have to satisfy."""
        e = self.equations
        return Source(e.of_positions, self.metric).factor if e.slips else self.factor

    @kept
    def entries(self) -> list[Expr]:
        """Return symbols for what `close` has found of the factor."""
        return [symbol(f"factor {k}") for k in range(len(self.factor.entries()))]

    @kept
    def found_factor(self) -> Solver:
        return self.factor.with_entries(self.entries)

    @kept
    def linear(self) -> Solution:
        if self.loaded is not None:
            return Solution(self.loaded, self.factor, False)
        is_mass = self.metric == "mass"
        return Solution(self.equations, self.factor if is_mass else self._near_mass, is_mass)

    @kept
    def _unveiled(self) -> tuple[list[Expr], list[Expr]]:
        return self.explicit.unveiled() if self.explicit else ([], [])

    @property
    def pivots(self) -> list[Expr]:
        """The pivots of the explicit form, which must not vanish."""
        return self._unveiled[1]

    @kept
    def pivot_values(self) -> Tape:
        """Return what gives them for the values of parameters, t, q and v."""
        e = self.equations
        return Tape([*e.parameters, TIME, *e.q, *e.v], self.pivots)

    @kept
    def first_pivots(self) -> list[Expr]:
        return [symbol(f"pivot {k}") for k in range(len(self.pivots))]

    @kept
    def solution(self) -> list[Expr]:
        """Return (a, lam)."""
        return self._unveiled[0] if self.explicit else self.linear.improve(*self.linear.once())

    @kept
    def sampled(self) -> dict[Expr, Expr]:
        """Return what is watched and has to be solved for: accelerations, multipliers and pivots, with their values."""
        e, used = self.equations, set(ordered(event.when for event in self.equations.events))
        solved = used.intersection((*e.a, *e.lam))
        found = {x: y for x, y in zip((*e.a, *e.lam), self.solution, strict=True) if x in used} if solved else {}
        small = [u / u_0 - PIVOT for u, u_0 in zip(self.pivots, self.first_pivots, strict=True)]
        return found | {symbol(f"small {u_0.value}"): u for u_0, u in zip(self.first_pivots, small, strict=True)}

    @property
    def watched(self) -> list[Expr]:
        """Functions at whose zeros events happen, pivots are given up, forces or drivers switch."""
        e, n = self.equations, len(self.pivots)
        return [*(event.when for event in e.events), *[*self.sampled][len(self.sampled) - n :], *e.switches]

    @kept
    def parameters(self) -> list[Expr]:
        """Return what is fixed during a motion, or changes with events only."""
        e = self.equations
        chosen = [ALPHA, BETA, WEAKNESS, *eps_of(e), *mobility_of(e), *kept_of(e), *self.first_pivots]
        return [*e.parameters, *chosen]


Program: TypeAlias = Callable[[Source], ComputationSequence | None]  # None where there is nothing to compute


def _softened(e: Equations) -> dict[tuple[int, int], Expr]:
    """Return M with a little more on its diagonal, so that every motion has inertia."""
    softened = dict(e.M)
    for turning in (False, True):
        columns = [k for k, turns in enumerate(e.turning) if bool(turns) == turning]
        own = [e.M[k, k] for k in columns if e.M.get((k, k), ZERO) is not ZERO]
        added = SOFT * sum(own, ZERO) / max(len(own), 1) if own else as_expr(SOFT)
        softened |= {(k, k): e.M.get((k, k), ZERO) + added for k in columns}
    return softened


def constraints(s: Source) -> ComputationSequence:
    """Compute (t, q, v) -> (Psi, Psi_dot)."""
    e = s.equations
    return ComputationSequence("constraints", (TIME, *e.q, *e.v), [*e.Psi, *e.Psi_dot])


def linear(s: Source) -> ComputationSequence:
    """Compute (t, q) -> entries of Psi_q, signs of reversed axes, the longest arm if known, entries that M is made
    of.
    """
    e = s.equations
    arm = () if e.hints.arm is None else (e.hints.arm,)
    inertia = [*e.M.values()] if e.hints.chain is None else [*e.hints.chain.tree.entries(), *e.hints.chain.M.values()]
    return ComputationSequence("linear", (TIME, *e.q), [*e.Psi_q.values(), *e.reversals, *arm, *inertia])


def retract(s: Source) -> ComputationSequence:
    """Compute (q, dx) -> q moved."""
    e = s.equations
    return ComputationSequence("retract", (*e.q, *e.dx), e.chart.retract)


def close(s: Source) -> ComputationSequence:
    """Compute (t, q, v) -> (t, q moved, v, Psi, factor): a step of Newton towards Psi = 0, with the factor it used.

    The least change dx in the metric, from the linear system with the right side (0, -Psi).
    """
    e, n = s.equations, len(s.equations.v)
    dx = s.closing.solve([ZERO] * n + [-gap for gap in e.of_positions.Psi])[:n]
    moved = substitute(e.chart.retract, dict(zip(e.dx, dx, strict=True)))
    return ComputationSequence("close", (TIME, *e.q, *e.v), [TIME, *moved, *e.v, *e.Psi, *s.factor.entries()])


def align(s: Source) -> ComputationSequence:
    """Return what close returns -> (t, q, v changed, Psi, Psi_dot): the same for Psi_dot = 0, with that factor."""
    e, n = s.equations, len(s.equations.v)
    dv = s.found_factor.solve([ZERO] * n + [-gap for gap in e.Psi_dot])[:n]
    pushed = [v + d for v, d in zip(e.v, dv, strict=True)]
    left = substitute(e.Psi_dot, dict(zip(e.v, pushed, strict=True)))
    return ComputationSequence("align", (TIME, *e.q, *e.v, *e.lam, *s.entries), [TIME, *e.q, *pushed, *e.Psi, *left])


def report(s: Source) -> ComputationSequence:
    """Compute (t, q, v, a, lam) -> kinetic and potential energy, the named outputs, Psi_dot, and Psi_q a - gamma."""
    e, n, m = s.equations, len(s.equations.v), len(s.equations.Psi)
    named = (output.shown for outputs in e.outputs.values() for output in outputs.values())
    Psi_ddot = [x - g for x, g in zip(multiply(e, [*e.a, *[ZERO] * m])[n:], e.gamma, strict=True)]
    outputs = [e.energy.kinetic, e.energy.potential, *named, *e.Psi_dot, *Psi_ddot]
    return ComputationSequence("report", (TIME, *e.q, *e.v, *e.a, *e.lam), outputs)


def dynamics(s: Source) -> ComputationSequence:
    """Return accelerations and multipliers from the quasi-definite system, its solution repeated."""
    return by_repetition(s, s.equations.qd)


def stabilized_dynamics(s: Source) -> ComputationSequence:
    """Return the same with qd = N(q) (v + dv) where dv is the least change with Psi_q (v + dv) = -Psi_t.

    Positions move along the constraints although the velocities have drifted off them. It is the stabilized index-2
    form of Gear, Gupta and Leimkuhler with the multiplier of the positions eliminated [gear1985].
    """
    e, n = s.equations, len(s.equations.v)
    onto = s.factor.solve([ZERO] * n + [-gap for gap in e.Psi_dot])[:n]
    return by_repetition(s, substitute(e.qd, {v: v + d for v, d in zip(e.v, onto, strict=True)}))


def explicit_dynamics(s: Source) -> ComputationSequence:
    """Return accelerations and multipliers from symbolic LU."""
    return ComputationSequence("dynamics", _state(s), [*s.equations.qd, *_rates(s.equations, s.solution)])


def explicit_derivative(s: Source) -> ComputationSequence:
    whole = explicit_dynamics(s)
    return ComputationSequence("derivative", whole.inputs, whole.outputs[: len(whole.inputs) - 1])


def _state(s: Source) -> tuple[Expr, ...]:
    return TIME, *s.equations.q, *s.equations.v, *WORK


def _rates(e: Equations, x: Sequence[Expr]) -> list[Expr]:
    """Return (a, work rates, lam) of a solution (a, lam)."""
    powers = substitute(e.work_rates, dict(zip((*e.a, *e.lam), x, strict=True)))
    return [*x[: len(e.v)], *powers, *x[len(e.v) :]]


def by_repetition(
    s: Source, qd: Sequence[Expr], more: Sequence[Expr] = (), behind: Sequence[Expr] = ()
) -> ComputationSequence:
    """Compute (t, q, v, work) -> (qd, a, work rates, more, lam, what comes behind), the solution (a, lam) repeated."""
    e, by, n, m = s.equations, s.linear, len(s.equations.v), len(s.equations.Psi)
    first, n_y = len(e.q), len(e.q) + n + N_WORK + len(more)
    slots, again = (*range(first, first + n), *range(n_y, n_y + m)), None
    rates = (*range(first, first + n + N_WORK), *range(n_y, n_y + m))
    if by.needs_repetition:
        y = [*e.a, *e.lam]
        rest, new = by.find_rest(y), [symbol(f"improved {k}") for k in range(n + m)]
        again = Again(
            REPETITIONS,
            dict(zip(slots, y, strict=True)),
            dict(zip(rates, _rates(e, by.improve(y, rest)), strict=True)),
            IF_NEEDED,
            less(WEAKNESS, by.weakness()),
            by.is_unsettled(rest, [after - before for after, before in zip(new, y, strict=True)]),
            dict(zip(slots, new, strict=True)),
        )
    found = _rates(e, s.solution)
    outputs = [*qd, *found[: n + N_WORK], *more, *found[n + N_WORK :], *behind]
    return ComputationSequence("dynamics", _state(s), outputs, "derivative", n_y, again)


def terms(s: Source) -> ComputationSequence:
    """Compute (t, q, v) -> (M, Psi_q, Q, gamma), full matrices by rows, for another formulation."""
    e, n, m = s.equations, range(len(s.equations.v)), range(len(s.equations.Psi))
    full = [*(e.M.get((i, j), ZERO) for i in n for j in n), *(e.Psi_q.get((i, j), ZERO) for i in m for j in n)]
    return ComputationSequence("terms", (TIME, *e.q, *e.v), [*full, *e.Q, *e.gamma])


def rates(s: Source) -> ComputationSequence:
    """Compute (t, q, v, a, lam) -> (qd, work rates)."""
    e = s.equations
    inputs = (TIME, *e.q, *e.v, *e.a, *e.lam)
    return ComputationSequence("rates", inputs, [*e.qd, *e.work_rates])


def switches(s: Source) -> ComputationSequence | None:
    """Compute (t, q, v) -> functions at whose zeros events happen, pivots are given up, forces or drivers switch."""
    e, watched = s.equations, substitute(s.watched, s.sampled)
    return ComputationSequence("switches", (TIME, *e.q, *e.v), watched) if watched else None


def sampled(s: Source) -> ComputationSequence | None:
    """Compute (t, q, v) -> what these functions depend on and has to be solved for."""
    e, found = s.equations, [*s.sampled.values()]
    return ComputationSequence("sampled", (TIME, *e.q, *e.v), found) if found else None


def jumps(s: Source) -> ComputationSequence | None:
    """Compute (t, q, v) -> rows G that each event prescribes, w less their values, holds, and the rate of `when`."""
    e, jumps = s.equations, list[Expr]()
    for event in e.events:
        G = jacobian(event.rows, e.v)
        jumps += [G.get((i, j), ZERO) for i in range(len(event.rows)) for j in range(len(e.v))]
        jumps += [w - row for w, row in zip(event.targets, event.rows, strict=True)]
        jumps += [*event.holds.values(), *event.resets.values(), event.rate]
    if not {*e.a, *e.lam}.isdisjoint(ordered(jumps)):
        jumps = substitute(jumps, dict(zip((*e.a, *e.lam), s.solution, strict=True)))
    return ComputationSequence("jumps", (TIME, *e.q, *e.v), jumps) if jumps else None


def samples(s: Source) -> ComputationSequence | None:
    """Compute (t, q, v) -> new values of what is sampled, clock by clock."""
    return _signals(s, "samples", [x for clock in s.equations.clocks for x in clock.holds.values()])


def signals(s: Source) -> ComputationSequence | None:
    """Compute (t, q, v) -> the outputs that the model names, in SI."""
    return _signals(s, "signals", [x.expression for x in s.equations.outputs.get("outputs", {}).values()])


def _signals(s: Source, name: str, found: list[Expr]) -> ComputationSequence | None:
    e = s.equations
    if not {*e.a, *e.lam}.isdisjoint(ordered(found)):
        found = substitute(found, dict(zip((*e.a, *e.lam), s.solution, strict=True)))
    return ComputationSequence(name, (TIME, *e.q, *e.v), found) if found else None


def implicit_jacobian(s: Source, form: str) -> ComputationSequence:
    """Compute (t, y) -> the entries of f_y of M y' = f(t, y) in a form of equations/implicit.py."""
    found = implicit_form(s.equations, form)
    return ComputationSequence("implicit_jacobian", (TIME, *found.y), [*found.f_y().values()])


def linearized(s: Source) -> ComputationSequence:
    """Compute (t, q, v, work, a, lam) -> the entries of `linearize`, block by block."""
    e = s.equations
    entries = [entry for block in linearize(e) for entry in block.values()]
    return ComputationSequence("linearized", (TIME, *e.q, *e.v, *WORK, *e.a, *e.lam), entries)


def implicit(s: Source, form: str) -> ComputationSequence:
    """Compute (t, y) -> f."""
    found = implicit_form(s.equations, form)
    return ComputationSequence("implicit", (TIME, *found.y), found.f)


LOCAL = (constraints, linear, retract)  # what a Place asks for
BASIC: tuple[Program, ...] = (*LOCAL, close, align, report)
WATCHED: tuple[Program, ...] = (switches, sampled, jumps, samples, signals)
MOTION: tuple[Program, ...] = (*BASIC, dynamics, *WATCHED)
STABILIZED: tuple[Program, ...] = (*BASIC, stabilized_dynamics, *WATCHED)
BY_ELIMINATION: tuple[Program, ...] = (*BASIC, explicit_dynamics, explicit_derivative, *WATCHED)
TERMS: tuple[Program, ...] = (*BASIC, terms, rates, *WATCHED)
# What implicit integrators need besides, by the form that they solve.
IMPLICIT_FORMS: Mapping[str, tuple[Program, ...]] = {
    "linearized": (linearized,),
    **{form: (partial(implicit_jacobian, form=form), partial(implicit, form=form)) for form in ALGEBRAIC},
}
