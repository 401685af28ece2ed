"""How motions vary with parameters p: the equations differentiated once more, as programs and as values.

With d for the derivative by one p, F = (Q - M a - Psi_q^T lam, gamma - Psi_q a) and K the matrix of the linear system,

    dq' = (N v)_q dq + N dv + (N v)_p                     Psi_q dq + Psi_p = 0
    K (dv', dlam) = F_q dq + F_v dv + F_h dh + F_p        (Psi_dot)_q dq + Psi_q dv + (Psi_dot)_p = 0

where a and lam are held in F, and h are the values that events change. The constraints on the right are kept by
corrections that are least in the metric of those of the motion. [mukherjee2007]

Of few numbers by many parameters the transposes are had sooner: what depends on (qd, a, work rates) with weights
(w_q, w_a, w_W) depends on the state, held values and parameters as this number does,

    w_q . N v + w_W . W + mu . F        at fixed a, lam and mu,        K mu = (w_a, 0) + (W_a, W_lam)^T w_W

with K symmetric.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from linkwork.arrays import Array
from linkwork.equations.equations import TIME, Equations, substitute_in
from linkwork.equations.implicit import N_WORK, WORK
from linkwork.equations.linear import multiply
from linkwork.equations.programs import Program, Source, by_repetition
from linkwork.expressions.derivatives import directional, gradients, jacobian
from linkwork.expressions.evaluation import RING, Arithmetic, Tape, float_arithmetic, numpy_arithmetic, ordered
from linkwork.expressions.graph import ZERO, Expr, symbol
from linkwork.sequences.entries import plus
from linkwork.sequences.sequence import Columns, ComputationSequence

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


def variation_of(x: Expr) -> Expr:
    """Return the symbol of dx/dp, a row with a column for each parameter."""
    return symbol(f"d({x.value})/dp")


def _sequence(
    name: str, e: Equations, chosen: Chosen, outputs: Sequence[Expr], rows: Iterable[int], more: Sequence[Expr] = ()
) -> ComputationSequence:
    """Return a sequence of time, state, its variations, row by row, and more; these outputs are rows too."""
    variations = [variation_of(x) for x in varying(e, chosen)]
    columns = Columns(len(chosen), frozenset(variations), frozenset(rows), _units(chosen))
    return ComputationSequence(name, (TIME, *e.q, *e.v, *WORK, *variations, *more), outputs, columns=columns)


def _units(chosen: Chosen) -> tuple[Expr, ...]:
    return tuple(symbol(f"by {p.value}") for p in chosen)


def varied_dynamics(s: Source, chosen: Chosen) -> ComputationSequence:
    """Compute (t, q, v, work, variations) -> (qd, a, work rates, rates of the variations, lam).

    Without lam, the derivative.
    """
    e, n = s.equations, len(s.equations.v)
    inputs = [*e.q, *e.v, *holding(e, chosen), *fixed(e, chosen)]
    known = dict(zip((*e.a, *e.lam), s.solution, strict=True))
    rates, powers = jacobian(e.qd, inputs), substitute_in(jacobian(e.work_rates, [*inputs, *e.a, *e.lam]), known)
    d, x = _solved(s, chosen, known, 0 if s.linear.regular else MORE)
    work = plus([ZERO] * len(WORK), powers, [*d, *x])
    found = [*plus([ZERO] * len(e.qd), rates, d), *x[:n], *work, *[ZERO] * len(holding(e, chosen))]
    sequence = by_repetition(s, e.qd, found)
    first = len(e.q) + n + N_WORK
    rows = range(first, first + len(found))
    varied = _sequence("varied_dynamics", e, chosen, sequence.outputs, rows)
    return replace(varied, head="varied_derivative", head_outputs=sequence.head_outputs, again=sequence.again)


def varied_report(s: Source, chosen: Chosen) -> ComputationSequence:
    """Compute (t, q, v, work, variations, a, lam) -> (da, dlam), row by row."""
    e = s.equations
    _, x = _solved(s, chosen, {}, MORE if s.linear.needs_repetition else 0)
    return _sequence("varied_report", e, chosen, x, range(len(x)), (*e.a, *e.lam))


def fixed(e: Equations, chosen: Chosen) -> list[Expr]:
    """Return parameters chosen that no event changes."""
    held = set(e.held)
    return [p for p in chosen if p not in held]


def _directions(e: Equations, chosen: Chosen, of: Sequence[Expr]) -> list[Expr]:
    """Return how these and the parameters that no event changes vary."""
    units = dict(zip(chosen, _units(chosen), strict=True))
    return [*(variation_of(x) for x in of), *(units[p] for p in fixed(e, chosen))]


def _solved(s: Source, chosen: Chosen, known: Mapping[Expr, Expr], repetitions: int) -> tuple[list[Expr], list[Expr]]:
    """Return how the arguments of F vary, and (da, dlam)."""
    e, by = s.equations, s.linear
    of = [*e.q, *e.v, *holding(e, chosen)]
    F = by.find_rest([*e.a, *e.lam])
    inputs = [*of, *fixed(e, chosen)]
    entries = substitute_in((gradients if len(F) < len(inputs) - len(F) else jacobian)(F, inputs), known)
    d = _directions(e, chosen, of)
    right = plus([ZERO] * len(F), entries, d)
    x = by.solver.solve(right)
    for _ in range(repetitions):
        x = by.improve(x, [b - Kx for b, Kx in zip(right, multiply(by.equations, x), strict=True)])
    return d, x


def onto(s: Source, chosen: Chosen) -> ComputationSequence:
    """Compute (t, q, v, work, variations) -> variations with the least change that lets Psi and Psi_dot stay zero."""
    e, n = s.equations, len(s.equations.v)
    of = [*e.q, *e.v, *holding(e, chosen)]
    inputs, Psi = [*of, *fixed(e, chosen)], e.of_positions.Psi

    def least(solver: Any, gaps: Sequence[Expr], Psi_q: Mapping[tuple[int, int], Expr]) -> list[Expr]:
        """Return dx with Psi_q dx = -gaps, its solution repeated once."""
        dx = solver.solve([*[ZERO] * n, *(-x for x in gaps)])[:n]
        again = solver.solve([*[ZERO] * n, *(-x for x in plus(gaps, Psi_q, dx))])[:n]
        return [x + more for x, more in zip(dx, again, strict=True)]

    d = _directions(e, chosen, of)
    gaps = plus([ZERO] * len(Psi), jacobian(Psi, inputs), d)
    dx = least(s.closing, gaps, e.of_positions.Psi_q)
    still = dict.fromkeys(e.dx, ZERO)
    retract = substitute_in(jacobian(e.chart.retract, [*e.q, *e.dx]), still)
    moved = plus([ZERO] * len(e.q), retract, [*d[: len(e.q)], *dx])
    rates = plus([ZERO] * len(e.Psi_dot), jacobian(e.Psi_dot, inputs), [*moved, *d[len(e.q) :]])
    dv = least(s.factor, rates, e.Psi_q)
    pushed = [variation_of(v) + change for v, change in zip(e.v, dv, strict=True)]
    found = [*moved, *pushed, *(variation_of(x) for x in (*WORK, *holding(e, chosen)))]
    return _sequence("onto", e, chosen, found, range(len(found)))


def pulled_dynamics(s: Source, chosen: Chosen) -> ComputationSequence:
    """Compute (t, q, v, work, a, lam, weights of their rates) -> weights of the state, and of parameters."""
    return _pulled(s, chosen, "pulled_dynamics", False, 0 if s.linear.regular else MORE)


def pulled_report(s: Source, chosen: Chosen) -> ComputationSequence:
    """Compute the same of the weights of (qd, a, work rates, lam), to all digits."""
    return _pulled(s, chosen, "pulled_report", True, MORE if s.linear.needs_repetition else 0)


def _pulled(s: Source, chosen: Chosen, name: str, with_lam: bool, repetitions: int) -> ComputationSequence:
    e, by = s.equations, s.linear
    rates = (*e.qd, *e.a, *WORK, *(e.lam if with_lam else ()))
    weights, state = [symbol(f"weight of rate {k}") for k in range(len(rates))], [*e.a, *e.lam]
    of_qd, of_a = weights[: len(e.qd)], weights[len(e.qd) : len(e.qd) + len(e.v)]
    of_work, of_lam = weights[len(e.qd) + len(e.v) :][:N_WORK], weights[len(e.qd) + len(e.v) + N_WORK :]
    power = sum((w * rate for w, rate in zip(of_work, e.work_rates, strict=True)), ZERO)
    right = [*of_a, *(of_lam or [ZERO] * len(e.lam))]
    for (_, k), entry in gradients([power], state).items():
        right[k] = right[k] + entry
    mu = by.solver.solve(right)
    for _ in range(repetitions):
        mu = by.improve(mu, [b - Kx for b, Kx in zip(right, multiply(by.equations, mu), strict=True)])
    held = [symbol(f"mu {k}") for k in range(len(mu))]
    parts = (*zip(of_qd, e.qd, strict=True), *zip(held, by.find_rest(state), strict=True))
    found = gradients([sum((w * x for w, x in parts), power)], [*varying(e, chosen), *fixed(e, chosen)])
    outputs = substitute_in(found, dict(zip(held, mu, strict=True)))
    return _transposed(name, e, chosen, outputs, (*state, *weights))


def pulled_onto(s: Source, chosen: Chosen) -> ComputationSequence:
    """Compute (t, q, v, work, weights of what `onto` returns) -> weights of what it is given, and of parameters."""
    e, found = s.equations, onto(s, chosen).outputs
    weights = [symbol(f"weight of {k}") for k in range(len(found))]
    total = sum((w * x for w, x in zip(weights, found, strict=True)), ZERO)
    outputs = gradients([total], _directions(e, chosen, varying(e, chosen)))
    return _transposed("pulled_onto", e, chosen, outputs, weights)


def _transposed(
    name: str, e: Equations, chosen: Chosen, row: Mapping[tuple[int, int], Expr], more: Sequence[Expr]
) -> ComputationSequence:
    count = len(varying(e, chosen)) + len(fixed(e, chosen))
    found = [row.get((0, k), ZERO) for k in range(count)]
    return ComputationSequence(name, (TIME, *e.q, *e.v, *WORK, *more), found)


@cache
def _arithmetic() -> Arithmetic:
    """Compute with floats and with arrays, numbers of one direction each; what does not change has no rate, even where
    a slope is infinite, as that of a root at zero.
    """
    arrays = numpy_arithmetic()

    def either(of_floats: Callable[..., Any], of_arrays: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: of_floats(*args) if all(type(x) is float for x in args) else of_arrays(*args)

    def product(a: Any, b: Any) -> Any:
        scalars = [x for x in (a, b) if type(x) is float]
        if 0.0 in scalars:
            return 0.0
        found = a * b
        if scalars and math.isfinite(scalars[0]):
            return found
        return found if np.isfinite(found).all() else np.where((np.equal(a, 0.0)) | (np.equal(b, 0.0)), 0.0, found)

    same = {op: RING[op] for op in ("add", "sub", "neg")}
    return {op: either(f, arrays[op]) for op, f in float_arithmetic().items()} | same | {"mul": product}


def programs(chosen: Chosen) -> tuple[Program, ...]:
    """Return the programs of variations."""
    return tuple(By(program, chosen) for program in (varied_dynamics, varied_report, onto))


def transposes(chosen: Chosen) -> tuple[Program, ...]:
    """Return the transposes of these programs."""
    return tuple(By(program, chosen) for program in (pulled_dynamics, pulled_report, pulled_onto))


def vary(
    e: Equations,
    name: str,
    outputs: Callable[[], Sequence[Expr]],
    values: Mapping[Expr, Any],
    direction: Mapping[Expr, Array],
) -> Array:
    """Return d outputs, a row each, where symbols have these values, numbers or arrays, and vary in this direction.

    A name stands for the same outputs always.
    """
    kept: dict[tuple[object, ...], tuple[list[tuple[Expr, bool]], Tape]] = e.symbolic.__dict__.setdefault("_varied", {})
    key = name, *direction
    if key not in kept:
        rates = {symbol(f"variation of {x.value}"): x for x in direction}
        found = directional(outputs(), {x: rate for rate, x in rates.items()})
        inputs = [x for x in ordered(found) if x.op == "symbol"]
        kept[key] = [(rates.get(x, x), x in rates) for x in inputs], Tape(inputs, found, _arithmetic())
    inputs_of, tape = kept[key]
    given = [direction[x] if is_rate else values[x] for x, is_rate in inputs_of]
    changes = tape([y if isinstance(y, np.ndarray) and y.ndim else float(y) for y in given])
    table = np.empty((len(changes), *next(iter(direction.values())).shape))
    for row, change in zip(table, changes, strict=True):
        row[...] = change
    return table


def partials(
    e: Equations, name: str, output: Callable[[], Expr], by: Sequence[Expr], values: Mapping[Expr, Any]
) -> dict[Expr, Any]:
    """Return the derivatives of an output by those of these symbols on which it depends; `name` is as for `vary`."""
    kept: dict[tuple[object, ...], tuple[list[Expr], list[Expr], Tape]] = e.symbolic.__dict__.setdefault(
        "_partials", {}
    )
    key = name, *by
    if key not in kept:
        found = {by[k]: slope for (_, k), slope in gradients([output()], by).items()}
        inputs = [x for x in ordered(found.values()) if x.op == "symbol"]
        kept[key] = inputs, [*found], Tape(inputs, [*found.values()], _arithmetic())
    inputs, of, tape = kept[key]
    given = [values[x] for x in inputs]
    return dict(zip(of, tape([y if isinstance(y, np.ndarray) and y.ndim else float(y) for y in given]), strict=True))
