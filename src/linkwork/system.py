"""The equations as machine code.

Accelerations and multipliers come from the quasi-definite system

    [ M      Psi_q^T ] [ a   ]   [ Q                    ]
    [ Psi_q  -eps    ] [ lam ] = [ gamma - eps lam_prev ]

whose LDL^T is a fixed sequence (see sequences/ldl.py). Starting from lam_prev = 0, each repetition with
lam_prev = lam divides the error that eps makes by the ratio of Psi_q M^-1 Psi_q^T to eps; constraints that depend on
others need no special treatment and get the multipliers of least norm. A repetition is written as a solution for the
residual of the system without eps, which is the same and also corrects what a small pivot has cost in digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from linkwork.dense.rank import RANK_TOLERANCE
from linkwork.equations.equations import ALPHA, BETA, TIME, Equations
from linkwork.expressions.evaluation import evaluate, substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, symbol
from linkwork.native.lowering import NativeFunction, Program, compile_programs
from linkwork.sequences.hoisting import parameter_frontier
from linkwork.sequences.ldl import Factor, factorize

Array = NDArray[np.float64]

EPS = 3e-11  # eps of a row, relative to its diagonal entry of Psi_q M^-1 Psi_q^T at the start
WORK = (symbol("work dissipated"), symbol("work supplied"))  # carried along as two more unknowns of the integration
Form = Literal["augmented", "ggl", "terms"]
# p begins with what machine code that calls these functions must know of them: sizes, addresses, tolerances
N_Q, N_V, M_ROWS, TOLERANCE, N_CLOSED, N_CHART, CHART_MEMORY, FORMULATION, DERIVATIVE = range(9)
CONSTRAINTS, CLOSE, ALIGN, TERMS, RATES, CHART, SHIFT, PUSH = range(9, 17)
FUNCTIONS = ("constraints", "close", "align", "terms", "rates", "chart", "shift", "push")
HEADER = 9 + len(FUNCTIONS)


@dataclass(frozen=True, eq=False)
class System:
    """Compiled functions of a mechanism, each void f(x, p, y, w), and the vector p they all take.

    dynamics      (t, q, v, work) -> (qd, a, work rates, lam);  derivative is the same without lam
    terms, rates  (t, q, v) -> (M, Psi_q, Q, gamma), full matrices by rows, and (t, q, v, a, lam) -> (qd, work rates):
                  what a formulation outside the sequence needs instead of dynamics
    constraints   (t, q, v) -> (Psi, Psi_dot)
    close         (t, q, v) -> (t, q moved, v, Psi, factor): a step of Newton towards Psi = 0, with the factor it used
    align         what close returns -> (t, q, v changed): the same for Psi_dot = 0, with that factor
    chart         (t, q) -> factor of Psi_q W^-1 Psi_q^T, and Psi_q, for corrections at other positions nearby:
    shift, push   (chart, q, Psi) -> q moved by dx = -W^-1 Psi_q^T (..)^-1 Psi, (chart, v, Psi_dot) -> v changed alike
    report        (t, q, v, a, lam) -> kinetic and potential energy and the named outputs
    """

    equations: Equations
    factor_pattern: Factor
    functions: Mapping[str, NativeFunction]
    frontier: Sequence[Expr]
    regular: bool  # whether every body has mass; if not, corrections are least in the unit metric

    @property
    def n_q(self) -> int:
        return len(self.equations.q)

    @property
    def n_v(self) -> int:
        return len(self.equations.v)

    @property
    def m(self) -> int:
        return len(self.equations.Psi)

    @cached_property
    def output_names(self) -> list[tuple[str, str]]:
        """(kind, name) of what `report` returns after the two energies."""
        return [(kind, name) for kind, named in self.equations.outputs.items() for name in named]

    def p(
        self,
        alpha: float = 0.0,
        beta: float = 0.0,
        formulation: int = 0,
        derivative: int = 0,
        mobility: Sequence[float] | None = None,
        tolerance: float = RANK_TOLERANCE,
    ) -> Array:
        """The values of the parameters, with everything that depends on them alone already computed.

        `formulation` and `derivative` are addresses of a formulation outside the sequence and of the derivative with
        it, `tolerance` is that of its rank decisions. `mobility` is the diagonal of W^-1 for charts: a coordinate
        without mobility is independent. Behind the parameters there is room for a chart.
        """
        e, f = self.equations, self.functions
        values = {**e.parameters, ALPHA: alpha, BETA: beta}
        values.update(zip(_eps(e), EPS * self._row_scale(), strict=True))
        values.update(zip(_mobility(e), mobility or [1.0] * self.n_v, strict=True))
        n_chart = f["chart"].outputs if "chart" in f else 0
        memory = HEADER + len(self.frontier)
        sizes = (self.n_q, self.n_v, self.m, tolerance, f["close"].outputs, n_chart, memory)
        addresses = [f[name].address if name in f else 0 for name in FUNCTIONS]
        # Room for the chart, the argument of shift or push behind it, and the pivots when the partition was chosen.
        room = [0.0] * (n_chart + self.n_q + 2 * self.m)
        head = [*sizes, formulation, derivative, *addresses]
        return np.array([*head, *evaluate(self.frontier, values), *room], dtype=float)

    def _row_scale(self) -> Array:
        """diag(Psi_q M^-1 Psi_q^T) at the start, M by its diagonal; a row that vanishes there is not left out."""
        e = self.equations
        q, _ = e.start()
        at_start = {**e.parameters, TIME: 0.0, **dict(zip(e.q, q, strict=True))}
        at_start.update((v, 0.0) for v in e.v)
        Psi_q = evaluate(e.Psi_q.values(), at_start)
        metric = _metric(e, self.regular)
        inertia = dict(zip(metric, evaluate(metric.values(), at_start), strict=True))
        scale = np.zeros(self.m)
        for (i, j), entry in zip(e.Psi_q, Psi_q, strict=True):
            scale[i] += entry * entry / inertia[j, j]
        return np.maximum(scale, 1e-3 * np.max(scale, initial=0.0))


def _eps(e: Equations) -> list[Expr]:
    return [symbol(f"eps {row}") for row in e.rows]


def _times(lower: Mapping[tuple[int, int], Expr], x: Sequence[Expr]) -> list[Expr]:
    """K x of the symmetric matrix with these entries (i, j), i >= j."""
    product = [ZERO] * len(x)
    for (i, j), entry in lower.items():
        product[i] = product[i] + entry * x[j]
        if i != j:
            product[j] = product[j] + entry * x[i]
    return product


def repetitions(smallest: float) -> int:
    """How often to repeat until eps leaves no trace; `smallest` is the least singular value of Psi_q M^-1/2, scaled."""
    ratio = EPS / max(smallest * smallest, 10 * EPS)
    return max(1, ceil(log(2.0**-52) / log(ratio)) - 1)


def _mobility(e: Equations) -> list[Expr]:
    return [symbol(f"mobility {name}") for name in e.v_names]


def _charts(e: Equations) -> list[Program]:
    """chart, shift and push: Newton's iteration with the Jacobian and the factor of another position."""
    n, m, mobility = len(e.v), len(e.Psi), _mobility(e)
    entries = [symbol(f"chart {k}") for k in range(len(e.Psi_q))]

    def schur(Psi_q: Mapping[tuple[int, int], Expr]) -> Factor:
        """Of Psi_q W^-1 Psi_q^T, its diagonal enlarged by EPS so that redundant rows do no harm."""
        S: dict[tuple[int, int], Expr] = {}
        for column in range(n):
            rows = [i for i in range(m) if (i, column) in Psi_q]
            for i in rows:
                for j in rows:
                    if i >= j:
                        term = Psi_q[i, column] * mobility[column] * Psi_q[j, column]
                        S[i, j] = S.get((i, j), ZERO) + (term * (1.0 + EPS) if i == j else term)
        return factorize(m, S)

    factor = schur(e.Psi_q)
    kept = [symbol(f"chart factor {k}") for k in range(len(factor.entries()))]
    base = dict(zip(e.Psi_q, entries, strict=True))

    def change(gaps: Sequence[Expr]) -> list[Expr]:
        mu = factor.with_entries(kept).solve(gaps)
        dx = [ZERO] * n
        for (i, j), entry in base.items():
            dx[j] = dx[j] - mobility[j] * entry * mu[i]
        return dx

    gaps = e.lam  # any m symbols do
    dx = change(gaps)
    moved = substitute(e.retract, dict(zip(e.dx, dx, strict=True)))
    return [
        Program("chart", (TIME, *e.q), [*factor.entries(), *e.Psi_q.values()]),
        Program("shift", (*kept, *entries, *e.q, *gaps), moved),
        Program("push", (*kept, *entries, *e.v, *gaps), [v + d for v, d in zip(e.v, dx, strict=True)]),
    ]


def _metric(e: Equations, regular: bool) -> Mapping[tuple[int, int], Expr]:
    return e.M if regular else {(i, i): ONE for i in range(len(e.v))}


def compile_system(
    equations: Equations, repeat: int = 1, form: Form = "augmented", regular: bool = True, charts: bool = False
) -> System:
    """Machine code of the equations; `repeat` solutions follow the first, each for the residual left.

    `form` says what the right-hand side is:
    augmented   accelerations from the sequence above
    ggl         the same, with qd = N(q) (v + dv) where dv is the least change with Psi_q (v + dv) = -Psi_t: positions
                move along the constraints although the velocities have drifted off them. It is the stabilized index-2
                form of Gear, Gupta and Leimkuhler with the multiplier of the positions eliminated [gear1985]
    terms       what another formulation makes it from
    """
    e = equations
    n, m, eps = len(e.v), len(e.Psi), _eps(e)
    lower = {(i, j): entry for (i, j), entry in _metric(e, regular).items() if i >= j}
    lower |= {(n + i, j): entry for (i, j), entry in e.Psi_q.items()}
    exact = dict(lower)
    lower |= {(n + i, n + i): -eps[i] for i in range(m)}
    factor = factorize(n + m, lower, after=range(n, n + m))

    # The least changes in the mass metric that close the gaps, dx and dv with right sides (0, -Psi) and (0, -Psi_dot).
    dx = factor.solve([ZERO] * n + [-gap for gap in e.Psi])[:n]
    moved = substitute(e.retract, dict(zip(e.dx, dx, strict=True)))
    entries = [symbol(f"factor {k}") for k in range(len(factor.entries()))]
    dv = factor.with_entries(entries).solve([ZERO] * n + [-gap for gap in e.Psi_dot])[:n]
    pushed = [v + d for v, d in zip(e.v, dv, strict=True)]

    programs = [
        Program("constraints", (TIME, *e.q, *e.v), [*e.Psi, *e.Psi_dot]),
        Program("close", (TIME, *e.q, *e.v), [TIME, *moved, *e.v, *e.Psi, *factor.entries()]),
        Program("align", (TIME, *e.q, *e.v, *e.lam, *entries), [TIME, *e.q, *pushed]),
        Program(
            "report",
            (TIME, *e.q, *e.v, *e.a, *e.lam),
            [e.kinetic, e.potential, *(x for named in e.outputs.values() for x in named.values())],
        ),
    ]
    powers = [e.dissipation, e.supplied_power]
    if form == "terms":
        full = [e.M.get((i, j), ZERO) for i in range(n) for j in range(n)]
        full += [e.Psi_q.get((i, j), ZERO) for i in range(m) for j in range(n)]
        programs += [
            Program("terms", (TIME, *e.q, *e.v), [*full, *e.Q, *e.gamma]),
            Program("rates", (TIME, *e.q, *e.v, *e.a, *e.lam), [*e.qd, *powers]),
        ]
    else:
        right = [*e.Q, *e.gamma]
        x = factor.solve(right)
        for _ in range(repeat):
            rest = [b - Kx for b, Kx in zip(right, _times(exact, x), strict=True)]
            x = [old + new for old, new in zip(x, factor.solve(rest), strict=True)]
        a, lam = x[:n], x[n:]
        rates = substitute(powers, {**dict(zip(e.a, a, strict=True)), **dict(zip(e.lam, lam, strict=True))})
        qd: Sequence[Expr] = e.qd
        if form == "ggl":
            onto = factor.solve([ZERO] * n + [-gap for gap in e.Psi_dot])[:n]
            qd = substitute(e.qd, {v: v + d for v, d in zip(e.v, onto, strict=True)})
        outputs = [*qd, *a, *rates, *lam]
        programs.append(Program("dynamics", (TIME, *e.q, *e.v, *WORK), outputs, "derivative", len(e.q) + n + 2))
    if charts:
        programs += _charts(e)
    given = [*e.parameters, ALPHA, BETA, *eps, *_mobility(e)]
    frontier = parameter_frontier((y for program in programs for y in program.outputs), given)
    header = [symbol(f"header {k}") for k in range(HEADER)]
    return System(e, factor, compile_programs(programs, [*header, *frontier]), frontier, regular)
