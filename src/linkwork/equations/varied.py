"""How motions vary with parameters p: the equations differentiated once more, as programs and as values.

With d for the derivative by one p, F = (Q - M a - Psi_q^T lam, gamma - Psi_q a) and K the matrix of the linear system,

    dq' = (N v)_q dq + N dv + (N v)_p                     Psi_q dq + Psi_p = 0
    K (dv', dlam) = F_q dq + F_v dv + F_h dh + F_p        (Psi_dot)_q dq + Psi_q dv + (Psi_dot)_p = 0

where a and lam are held in F, and h are the values that events change. The constraints on the right are kept by
corrections that are least in the metric of those of the motion. [mukherjee2007]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.equations import TIME, Equations, substitute_in
from linkwork.equations.implicit import WORK
from linkwork.equations.linear import multiply
from linkwork.equations.programs import Program, Source, by_repetition
from linkwork.expressions.derivatives import directional, jacobian
from linkwork.expressions.evaluation import Tape, numpy_arithmetic, ordered, substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, symbol
from linkwork.sequences.entries import plus
from linkwork.sequences.sequence import ComputationSequence

Array = NDArray[np.float64]
MORE = 4  # repetitions, which remove the trace of eps and of another metric than M
Chosen: TypeAlias = tuple[Expr, ...]  # parameters by which a motion varies


@dataclass(frozen=True)
class By:
    """A program of the variations by some parameters."""

    program: Callable[[Source, Chosen], ComputationSequence]
    chosen: Chosen

    def __call__(self, s: Source) -> ComputationSequence:
        return self.program(s, self.chosen)


def holding(e: Equations, chosen: Chosen) -> list[Expr]:
    """Return values that events change and that vary: those chosen, and those that get values which may vary."""
    given = [*(event.holds for event in e.events), *(clock.holds for clock in e.clocks)]
    return [h for h in e.held if h in chosen or any(h in own and not own[h].is_constant for own in given)]


def varying(e: Equations, chosen: Chosen) -> list[Expr]:
    """Return what varies along a motion: q, v, work and held values."""
    return [*e.q, *e.v, *WORK, *holding(e, chosen)]


def size_of_variation(e: Equations, chosen: Chosen) -> int:
    return len(varying(e, chosen))


def variation_of(x: Expr, p: Expr) -> Expr:
    """Return the symbol of dx/dp."""
    return symbol(f"d({x.value})/d({p.value})")


def _state(e: Equations, chosen: Chosen) -> tuple[Expr, ...]:
    """Return the arguments of the programs: time, state, and its variations by one parameter after the other."""
    return TIME, *e.q, *e.v, *WORK, *(variation_of(x, p) for p in chosen for x in varying(e, chosen))


def _vary(e: Equations, p: Expr, outputs: Sequence[Expr], by: Mapping[Expr, Expr], chosen: Chosen) -> list[Expr]:
    """Return d outputs, where q, v, held values and what else `by` says vary."""
    direction = {x: variation_of(x, p) for x in (*e.q, *e.v, *holding(e, chosen))}
    return directional(outputs, {p: ONE, **direction, **by})


def varied_dynamics(s: Source, chosen: Chosen) -> ComputationSequence:
    """Compute (t, q, v, work, variations) -> (qd, a, work rates, rates of the variations, lam).

    Without lam, the derivative.
    """
    e, n = s.equations, len(s.equations.v)
    inputs = [*e.q, *e.v, *holding(e, chosen), *_fixed(e, chosen)]
    known = dict(zip((*e.a, *e.lam), s.solution, strict=True))
    rates, powers = jacobian(e.qd, inputs), substitute_in(jacobian(e.work_rates, [*inputs, *e.a, *e.lam]), known)
    found = list[Expr]()
    for d, x in _solved(s, chosen, known, 0 if s.linear.regular else MORE):
        work = plus([ZERO] * len(WORK), powers, [*d, *x])
        found += [*plus([ZERO] * len(e.qd), rates, d), *x[:n], *work, *[ZERO] * len(holding(e, chosen))]
    sequence = by_repetition(s, e.qd, found)
    return replace(sequence, name="varied_dynamics", inputs=_state(e, chosen), head="varied_derivative")


def varied_report(s: Source, chosen: Chosen) -> ComputationSequence:
    """Compute (t, q, v, work, variations, a, lam) -> (da, dlam) by one parameter after the other."""
    e = s.equations
    found = [y for _, x in _solved(s, chosen, {}, MORE if s.linear.needs_repetition else 0) for y in x]
    return ComputationSequence("varied_report", (*_state(e, chosen), *e.a, *e.lam), found)


def _fixed(e: Equations, chosen: Chosen) -> list[Expr]:
    """Return parameters chosen that no event changes."""
    held = set(e.held)
    return [p for p in chosen if p not in held]


def _solved(
    s: Source, chosen: Chosen, known: Mapping[Expr, Expr], repetitions: int
) -> Iterator[tuple[list[Expr], list[Expr]]]:
    """Yield for each parameter how the arguments of F vary, and (da, dlam).

    The Jacobian of F is formed once for all parameters, and so is the factor of K.
    """
    e, by, parameters = s.equations, s.linear, _fixed(s.equations, chosen)
    of = [*e.q, *e.v, *holding(e, chosen)]
    F = by.find_rest([*e.a, *e.lam])
    entries = substitute_in(jacobian(F, [*of, *parameters]), known)
    for p in chosen:
        d = [*(variation_of(x, p) for x in of), *(ONE if x is p else ZERO for x in parameters)]
        right = plus([ZERO] * len(F), entries, d)
        x = by.solver.solve(right)
        for _ in range(repetitions):
            x = by.improve(x, [b - Kx for b, Kx in zip(right, multiply(by.equations, x), strict=True)])
        yield d, x


def onto(s: Source, chosen: Chosen) -> ComputationSequence:
    """Compute (t, q, v, work, variations) -> variations with the least change that lets Psi and Psi_dot stay zero."""
    e, n = s.equations, len(s.equations.v)
    of, found = varying(e, chosen), list[Expr]()
    Psi = e.of_positions.Psi

    def least(solver: Any, gaps: Sequence[Expr], Psi_q: Mapping[tuple[int, int], Expr]) -> list[Expr]:
        """Return dx with Psi_q dx = -gaps, its solution repeated once."""
        dx = solver.solve([*[ZERO] * n, *(-x for x in gaps)])[:n]
        again = solver.solve([*[ZERO] * n, *(-x for x in plus(gaps, Psi_q, dx))])[:n]
        return [x + more for x, more in zip(dx, again, strict=True)]

    for p in chosen:
        d = {x: variation_of(x, p) for x in of}
        dx = least(s.closing, _vary(e, p, Psi, {}, chosen), e.of_positions.Psi_q)
        moved = directional(e.chart.retract, {**{x: d[x] for x in e.q}, **dict(zip(e.dx, dx, strict=True))})
        moved = substitute(moved, dict.fromkeys(e.dx, ZERO))
        rates = _vary(e, p, e.Psi_dot, dict(zip(e.q, moved, strict=True)), chosen)
        dv = least(s.factor, rates, e.Psi_q)
        pushed = [d[v] + change for v, change in zip(e.v, dv, strict=True)]
        found += [*moved, *pushed, *(d[x] for x in of[len(moved) + n :])]
    return ComputationSequence("onto", _state(e, chosen), found)


def _product(a: Any, b: Any) -> Any:
    """Return what does not change has no rate, even where a slope is infinite, as that of a root at zero."""
    return np.where((np.asarray(a) == 0.0) | (np.asarray(b) == 0.0), 0.0, a * b)


def programs(chosen: Chosen) -> tuple[Program, ...]:
    """Return all programs."""
    return tuple(By(program, chosen) for program in (varied_dynamics, varied_report, onto))


def vary(
    e: Equations,
    name: str,
    outputs: Callable[[], Sequence[Expr]],
    values: Mapping[Expr, Any],
    direction: Mapping[Expr, Any],
) -> list[Any]:
    """Return d outputs where symbols have these values and vary in this direction, of numbers or of arrays of one
    shape.

    A name stands for the same outputs always.
    """
    kept: dict[tuple[object, ...], tuple[list[Expr], Tape]] = e.symbolic.__dict__.setdefault("_varied", {})
    key = name, *direction
    d = {x: symbol(f"variation of {x.value}") for x in direction}
    if key not in kept:
        found = directional(outputs(), d)
        inputs = [x for x in ordered(found) if x.op == "symbol"]
        kept[key] = inputs, Tape(inputs, found, {**numpy_arithmetic(), "mul": _product})
    given = {**values, **{d[x]: y for x, y in direction.items()}}
    inputs, tape = kept[key]
    return tape([given[x] for x in inputs])
