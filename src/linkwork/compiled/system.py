"""The equations as machine code.

Accelerations and multipliers come from a quasi-definite system (equations/solution.py) whose solution is repeated: one
repetition is part of the sequence, and as many more as the start position of a run needs. Where a pivot has come near
eps, further ones follow, until they change a no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, log
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.equations import ALPHA, BETA, TIME, Equations
from linkwork.equations.implicit import N_WORK, WORK
from linkwork.equations.linear import eps_of, factor_in, factor_of, kept_of, mobility_of, multiply
from linkwork.equations.place import Code, Place, local_programs
from linkwork.equations.solution import Solution
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import evaluate, ordered, substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, as_expr, less, symbol
from linkwork.linalg.rank import RANK_TOLERANCE
from linkwork.native.kernels import Pointer, integer, offset, split
from linkwork.native.lowering import NativeFunction, compile_programs
from linkwork.records import changed, kept
from linkwork.sequences.hoisting import parameter_frontier
from linkwork.sequences.ldl import Factor, factorize
from linkwork.sequences.sequence import Again, ComputationSequence

if TYPE_CHECKING:
    from linkwork.equations.explicit import Explicit
    from linkwork.sequences.articulated import Solver

Array = NDArray[np.float64]

EPS = 3e-11  # eps of a row, relative to its diagonal entry of Psi_q M^-1 Psi_q^T at the start
# The same where rows depend on others only on the constraints (see Place): off them, as at the inner states of a step,
# their smallest singular value is not zero, and its square must stay well below eps, or steps are rejected. In joint
# coordinates it is larger, by as much as the others are; more would hinder the passing of singular positions.
EPS_FRAGILE = 1e-8
FRAGILE_LOOPS = 1e-5  # of the square of the least singular value that counts
# Of the mean inertia of its kind, added to every velocity where M is singular; repetition removes its trace.
SOFT = 1e-6
# eps by the pivots of the rows, added up: beyond, the repetition that is part of the sequence may leave something. A
# row that depends on others adds one, but for what rounding makes of its pivot.
UNSETTLED, ROUNDING = 1e-6, 1e-4
# More would divide rounding by the singular value itself where a motion passes a singular position. The eps of rows
# that hold a light body is larger by what it is lighter, and they may and must be repeated more.
MOST_REPETITIONS, MOST_OF_LIGHT, LIGHT = 10, 1000, 1e-3
PIVOT = 1e-3  # of its size when it was chosen: a pivot of the explicit form that is given up
WEAKNESS = symbol("weakness")  # the most of it that needs no further repetition
Form = Literal["augmented", "ggl", "lu", "terms", "position"]


class Header(NamedTuple):
    """What kernels must know of a mechanism, at the beginning of p: numbers, then addresses of machine code."""

    tolerance: float = RANK_TOLERANCE  # of the rank decisions of a formulation on full matrices
    repetitions: int = 0  # of the linear solution, beside the one that is part of the sequence
    most_repetitions: int = 0  # if needed
    n_q: int = 0
    n_v: int = 0
    m: int = 0
    n_closed: int = 0  # doubles that `close` returns
    n_chart: int = 0  # doubles that `chart` returns
    n_report: int = 0  # doubles that `report` returns
    n_carried: int = N_WORK  # unknowns behind q and v
    memory: int = 0  # address of what a stabilization keeps between steps
    formulation: int = 0
    project: int = 0
    derivative: int = 0
    dynamics: int = 0
    report: int = 0
    constraints: int = 0
    close: int = 0
    align: int = 0
    terms: int = 0
    rates: int = 0
    chart: int = 0
    shift: int = 0
    push: int = 0
    refine: int = 0
    watch: int = 0
    power: int = 0
    retract: int = 0
    difference: int = 0
    implicit_jacobian: int = 0


HEADER = len(Header._fields)
PLACES = {name: k for k, name in enumerate(Header._fields)}
REPETITIONS, MOST, N_CARRIED = PLACES["repetitions"], PLACES["most_repetitions"], PLACES["n_carried"]
FUNCTIONS = Header._fields[Header._fields.index("derivative") :]


def header(p: Pointer) -> Header:
    """The header of p; all but the first of its numbers are integers."""
    return Header(
        p[0], integer(p, 1), integer(p, 2), integer(p, 3), integer(p, 4), integer(p, 5), integer(p, 6),
        integer(p, 7), integer(p, 8), integer(p, 9), integer(p, 10), integer(p, 11), integer(p, 12), integer(p, 13),
        integer(p, 14), integer(p, 15), integer(p, 16), integer(p, 17), integer(p, 18), integer(p, 19), integer(p, 20),
        integer(p, 21), integer(p, 22), integer(p, 23), integer(p, 24), integer(p, 25), integer(p, 26), integer(p, 27),
        integer(p, 28), integer(p, 29),
    )  # fmt: skip


class Scales(NamedTuple):
    """Reciprocal scales, behind the header of p: by these coordinates, velocities and rows of Psi become numbers.

    `equations` are the scales of the rows for formulations on full matrices, which decide rank on what is so scaled.
    Behind them stand the values that events change.
    """

    q: Pointer
    v: Pointer
    rows: Pointer
    equations: Pointer
    held: Pointer


def scales(p: Pointer, n_q: int, n_v: int, m: int) -> Scales:
    return Scales(*split(offset(p, HEADER), (n_q, n_v, m, m)))


def put_header(numbers: Array, entries: Mapping[str, float]) -> None:
    """Put these entries of the header where it stands at the beginning of p."""
    integers = numbers.view(np.int64)
    for name, value in entries.items():
        k = PLACES[name]
        (integers if k else numbers)[k] = value


@dataclass(frozen=True, eq=False)
class System:
    """Compiled functions of a mechanism, each void f(x, p, y, w), and the vector p they all take.

    dynamics      (t, q, v, work) -> (qd, a, work rates, lam);  derivative is the same without lam
    terms, rates  (t, q, v) -> (M, Psi_q, Q, gamma), full matrices by rows, and (t, q, v, a, lam) -> (qd, work rates):
                  what a formulation outside the sequence needs instead of dynamics
    constraints   (t, q, v) -> (Psi, Psi_dot)
    linear        (t, q) -> entries of Psi_q and of M
    retract       (q, dx) -> q moved
    close         (t, q, v) -> (t, q moved, v, Psi, factor): a step of Newton towards Psi = 0, with the factor it used
    align         what close returns -> (t, q, v changed, Psi, Psi_dot): the same for Psi_dot = 0, with that factor
    chart         (t, q) -> factor of Psi_q W^-1 Psi_q^T, and Psi_q, for corrections at other positions nearby:
    shift, push   (chart, q, Psi) -> q moved by dx = -W^-1 Psi_q^T (..)^-1 Psi, (chart, v, Psi_dot) -> v changed alike
    switches      (t, q, v) -> functions at whose zeros events happen, and those at which forces or drivers switch, and
    jumps         (t, q, v) -> what events do, see `_events`; only if there are any
    report        (t, q, v, a, lam) -> kinetic and potential energy, the named outputs, Psi_dot, and Psi_q a - gamma
    implicit, implicit_jacobian    for implicit integrators, see equations/implicit.py
    refine, watch, power, difference    of driven mechanisms, see driven/kernels.py
    start         parameters -> q and v as the model states them
    prepare       parameters, alpha, beta, eps, mobility, rows kept, first pivots -> the rest of p, which these make

    Parameters that events change stand in p themselves, so that the time loop can change them.
    """

    equations: Equations
    functions: Mapping[str, NativeFunction]
    head: Array  # of p, but for what a run adds
    regular: bool  # whether every motion has inertia; if not, corrections are least in a metric near to M
    pivots: tuple[Expr, ...] = ()  # of the explicit form, which must not vanish

    @kept
    def n_q(self) -> int:
        return len(self.equations.q)

    @kept
    def n_v(self) -> int:
        return len(self.equations.v)

    @kept
    def m(self) -> int:
        return len(self.equations.Psi)

    @kept
    def held(self) -> slice:
        """Where in p the values stand that events change."""
        first = HEADER + self.n_q + self.n_v + 2 * self.m
        return slice(first, first + len(self.equations.held))

    @kept
    def jump_targets(self) -> tuple[list[int], list[int]]:
        """Of the numbers that `jumps` returns, the event to which each belongs, and its place in p or 0."""
        places = {x: self.held.start + k for k, x in enumerate(self.equations.held)}
        owners, targets = list[int](), list[int]()
        for k, event in enumerate(self.equations.events):
            own = [0] * (len(event.rows) * (self.n_v + 1)) + [places[x] for x in event.holds] + [0]
            owners += [k] * len(own)
            targets += own
        return owners, targets

    def with_values(self, equations: Equations) -> System:
        """The same machine code for equations that differ in the values of their parameters only."""
        return changed(self, equations=equations, values=_values_of(equations))

    @kept
    def values(self) -> Array:
        return _values_of(self.equations)

    def start(self) -> Place:
        """The state the model states, its equations evaluated by machine code."""
        x = self.functions["start"](self.values, self.values)
        return self.place(x[: self.n_q], x[self.n_q :])

    def place(self, q: Array, v: Array, t: float = 0.0) -> Place:
        p = self._p(1.0, 0.0)
        code: Code = {name: partial(self.functions[name], p=p) for name in ("constraints", "linear", "retract")}
        return Place(self.equations, q, v, t, code)

    def p(
        self,
        place: Place | None = None,
        alpha: float = 0.0,
        beta: float = 0.0,
        mobility: Array | float = 1.0,
        given: Mapping[str, float] = MappingProxyType({}),
        eps: float = EPS,
        by_mass: bool = False,
    ) -> Array:
        """The header, the scales, what events change, and all that depends on other parameters alone, already computed.

        `place` is where the motion starts, `given` are entries of the header: addresses of a formulation outside the
        sequence and of derivative and dynamics with it, the tolerance of its rank decisions, repetitions. `mobility` is
        the diagonal of W^-1 for charts, where a coordinate without mobility is independent, and for ggl. With `by_mass`
        the rows that a formulation gets have length one in the metric of M^-1.
        """
        place = self.start() if place is None else place
        scale = np.concatenate([place.scales, np.sqrt(place.row_size) if by_mass else place.row_scale])
        first = np.array(evaluate(self.pivots, place.values) if self.pivots else [], dtype=float)
        kept = np.isin(np.arange(self.m), place.independent_rows) if "implicit" in self.functions else 1.0
        weakness = (self.m - place.rank.rank) * (1.0 + ROUNDING) + UNSETTLED
        p = self._p(1.0 / scale, eps * place.row_size, alpha, beta, weakness, mobility, kept, first)
        put_header(p, given)
        return p

    def _p(
        self,
        reciprocal_scales: Array | float,
        eps: Array | float,
        alpha: float = 0.0,
        beta: float = 0.0,
        weakness: float = 0.0,
        mobility: Array | float = 1.0,
        kept: NDArray[np.bool_] | float = 1.0,
        first_pivots: Array | float = 1.0,
    ) -> Array:
        m, held, prepare = self.m, self.held, self.functions["prepare"]
        given, p, first = np.empty(prepare.inputs), np.empty(held.stop + prepare.outputs), len(self.values)
        given[:first] = self.values
        for part, count in (((alpha, beta, weakness), 3), (eps, m), (mobility, self.n_v), (kept, m)):
            given[first : first + count] = part
            first += count
        given[first:] = first_pivots
        p[:HEADER], p[HEADER : held.start] = self.head, reciprocal_scales
        p[held] = [self.equations.parameters[x] for x in self.equations.held]
        prepare.fill(given, given, p[held.stop :])  # which are all it reads
        return p


def _values_of(equations: Equations) -> Array:
    return np.array([*equations.parameters.values()], dtype=float)


def choose_eps(place: Place) -> float:
    """eps of a row for a motion from this place, relative as EPS is."""
    if not place.is_redundant_only_here:
        return EPS
    return max(EPS_FRAGILE, FRAGILE_LOOPS * place.rank.smallest**2 if place.equations.kind == "joint" else 0.0)


def repetitions(smallest: float, eps: float = EPS) -> int:
    """How often to repeat, beside the first time, until eps leaves no trace.

    `smallest` is the least singular value of Psi_q M^-1/2, scaled.
    """
    ratio = eps / max(smallest * smallest, 10 * eps)
    return max(0, ceil(log(2.0**-52) / log(ratio)) - 2)


def most_repetitions(place: Place) -> int:
    """How often to repeat at most, if need be, on a motion from this place."""
    if place.is_redundant_only_here:  # off the constraints such rows are not to be told from others, see EPS_FRAGILE
        return 0
    inertia = (place.inertia * place.v_scale**2).tolist()
    return MOST_OF_LIGHT if min(inertia, default=0.0) < LIGHT * max(inertia, default=0.0) else MOST_REPETITIONS


def _charts(e: Equations) -> list[ComputationSequence]:
    """chart, shift and push: Newton's iteration with the Jacobian and the factor of another position."""
    n, m, mobility = len(e.v), len(e.Psi), mobility_of(e)
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
        ComputationSequence("chart", (TIME, *e.q), [*factor.entries(), *e.Psi_q.values()]),
        ComputationSequence("shift", (*kept, *entries, *e.q, *gaps), moved),
        ComputationSequence("push", (*kept, *entries, *e.v, *gaps), [v + d for v, d in zip(e.v, dx, strict=True)]),
    ]


def _events(e: Equations, solution: Callable[[], Sequence[Expr]], small: Sequence[Expr]) -> list[ComputationSequence]:
    """switches, and jumps: of each event the rows G it prescribes, w less their values, holds, and the rate of `when`.

    Reactions in them become the solution (a, lam) of the linear system. Behind the events, pivots become `small`.
    """
    state = (TIME, *e.q, *e.v)
    jumps: list[Expr] = []
    for event in e.events:
        G = jacobian(event.rows, e.v)
        jumps += [G.get((i, j), ZERO) for i in range(len(event.rows)) for j in range(len(e.v))]
        jumps += [w - row for w, row in zip(event.targets, event.rows, strict=True)]
        jumps += [*event.holds.values(), event.rate]
    found = [*(event.when for event in e.events), *jumps]
    if not {*e.a, *e.lam}.isdisjoint(ordered(found)):
        found = substitute(found, dict(zip((*e.a, *e.lam), solution(), strict=True)))
    when, jumps = found[: len(e.events)], found[len(e.events) :]
    switches = ComputationSequence("switches", state, [*when, *small, *e.switches])
    return [switches, ComputationSequence("jumps", state, jumps)]


def _softened(e: Equations) -> dict[tuple[int, int], Expr]:
    """M with a little more on its diagonal, so that every motion has inertia."""
    softened = dict(e.M)
    for turning in (False, True):
        columns = [k for k, turns in enumerate(e.turning) if bool(turns) == turning]
        own = [e.M[k, k] for k in columns if e.M.get((k, k), ZERO) is not ZERO]
        added = SOFT * sum(own, ZERO) / max(len(own), 1) if own else as_expr(SOFT)
        softened |= {(k, k): e.M.get((k, k), ZERO) + added for k in columns}
    return softened


def compile_place(place: Place) -> Place:
    """The same place, its equations evaluated by machine code: for searches that ask thousands of times."""
    if place.code is not None:
        return place
    e = place.equations
    functions = compile_programs(local_programs(e), list(e.parameters))
    p = np.array([*e.parameters.values()], dtype=float)
    return replace(place, code={name: partial(f, p=p) for name, f in functions.items()})


def compile_system(
    equations: Equations,
    form: Form = "augmented",
    regular: bool = True,
    charts: bool = False,
    more: Callable[[Equations, Solver], list[ComputationSequence]] | None = None,
    soft: bool = False,
    explicit: Explicit | None = None,
) -> System:
    """Machine code of the equations, with `more` programs that may use the factor of `close`.

    Where M is singular, corrections onto the constraints are least in one near to it. But if combinations of velocities
    have no inertia, as in Euler parameters, they would be far along these: then in the unit metric, unless `soft`.

    `form` says what the right-hand side is:
    augmented   accelerations from the sequence above
    ggl         the same, with qd = N(q) (v + dv) where dv is the least change with Psi_q (v + dv) = -Psi_t: positions
                move along the constraints although the velocities have drifted off them. It is the stabilized index-2
                form of Gear, Gupta and Leimkuhler with the multiplier of the positions eliminated [gear1985]
    lu          accelerations from the sequence of `explicit`, without lam; below PIVOT of their size when they were
                chosen, its pivots are events behind those of the equations
    terms       what another formulation makes it from
    position    nothing: there is no motion to be integrated
    """
    e = equations
    n, m = len(e.v), len(e.Psi)
    unit: dict[tuple[int, int], Expr] = {(i, i): ONE for i in range(n)}
    factor = factor_of(e) if regular else factor_in(e, _softened(e) if soft or e.is_diagonal else unit)

    # The least changes in the mass metric that close the gaps, dx and dv with right sides (0, -Psi) and (0, -Psi_dot).
    dx = factor.solve([ZERO] * n + [-gap for gap in e.Psi])[:n]
    moved = substitute(e.retract, dict(zip(e.dx, dx, strict=True)))
    entries = [symbol(f"factor {k}") for k in range(len(factor.entries()))]
    dv = factor.with_entries(entries).solve([ZERO] * n + [-gap for gap in e.Psi_dot])[:n]
    pushed = [v + d for v, d in zip(e.v, dv, strict=True)]
    rates_left = substitute(e.Psi_dot, dict(zip(e.v, pushed, strict=True)))

    named = (output.expression for outputs in e.outputs.values() for output in outputs.values())
    Psi_ddot = [x - g for x, g in zip(multiply(e, [*e.a, *[ZERO] * m])[n:], e.gamma, strict=True)]
    programs = [
        *local_programs(e),
        ComputationSequence("close", (TIME, *e.q, *e.v), [TIME, *moved, *e.v, *e.Psi, *factor.entries()]),
        ComputationSequence("align", (TIME, *e.q, *e.v, *e.lam, *entries), [TIME, *e.q, *pushed, *e.Psi, *rates_left]),
        ComputationSequence(
            "report", (TIME, *e.q, *e.v, *e.a, *e.lam), [e.kinetic, e.potential, *named, *e.Psi_dot, *Psi_ddot]
        ),
    ]
    powers = [e.dissipation, e.supplied_power]
    linear = Solution(e, factor if regular else factor_in(e, _softened(e)), regular)
    solved, pivots = explicit.unveiled() if explicit else ([], [])
    first_pivots = [symbol(f"pivot {k}") for k in range(len(pivots))]

    if form == "terms":
        full = [e.M.get((i, j), ZERO) for i in range(n) for j in range(n)]
        full += [e.Psi_q.get((i, j), ZERO) for i in range(m) for j in range(n)]
        programs += [
            ComputationSequence("terms", (TIME, *e.q, *e.v), [*full, *e.Q, *e.gamma]),
            ComputationSequence("rates", (TIME, *e.q, *e.v, *e.a, *e.lam), [*e.qd, *powers]),
        ]
    elif form != "position":

        def rates(x: Sequence[Expr]) -> list[Expr]:
            """(a, work rates, lam) of a solution (a, lam)."""
            return [*x[:n], *substitute(powers, dict(zip((*e.a, *e.lam), x, strict=True))), *x[n:]]

        qd: Sequence[Expr] = e.qd
        if form == "ggl":
            onto = factor.solve([ZERO] * n + [-gap for gap in e.Psi_dot])[:n]
            qd = substitute(e.qd, {v: v + d for v, d in zip(e.v, onto, strict=True)})
        first, n_y = len(e.q), len(e.q) + n + N_WORK
        solution = dict(zip((*range(first, first + n), *range(n_y, n_y + m)), (*e.a, *e.lam), strict=True))
        state = (TIME, *e.q, *e.v, *WORK)
        if explicit is None:
            again = None
            if linear.needs_repetition:
                y, rest = [*e.a, *e.lam], linear.find_rest([*e.a, *e.lam])
                new = [symbol(f"improved {k}") for k in range(n + m)]
                again = Again(
                    REPETITIONS,
                    solution,
                    dict(enumerate(rates(linear.improve(y, rest)), start=first)),
                    MOST,
                    less(WEAKNESS, linear.weakness()),
                    linear.is_unsettled(rest, [after - before for after, before in zip(new, y, strict=True)]),
                    dict(zip(solution, new, strict=True)),
                )
            outputs = [*qd, *rates(linear.improve(*linear.once()))]
            programs.append(ComputationSequence("dynamics", state, outputs, "derivative", n_y, again))
        else:
            outputs = [*qd, *rates(solved)]
            programs.append(ComputationSequence("dynamics", state, outputs))
            programs.append(ComputationSequence("derivative", state, outputs[:n_y]))
    if (e.events or e.switches or pivots) and form != "position":
        small = [u / u_0 - PIVOT for u, u_0 in zip(pivots, first_pivots, strict=True)]
        programs += _events(e, lambda: solved if explicit else linear.improve(*linear.once()), small)
    if charts:
        programs += _charts(e)
    if more is not None:
        programs += more(e, factor.with_entries(entries))
    given = [*e.parameters, ALPHA, BETA, WEAKNESS, *eps_of(e), *mobility_of(e), *kept_of(e), *first_pivots]
    repeated = [program.again for program in programs if program.again]
    improved = [y for again in repeated for y in (*again.outputs.values(), again.is_weak, again.needs)]
    fixed = [x for x in given if x not in set(e.held)]
    frontier = parameter_frontier([*(y for program in programs for y in program.outputs), *improved], fixed)
    in_front = [symbol(f"in front {k}") for k in range(HEADER + len(e.q) + n + 2 * m)]
    of_parameters = [
        ComputationSequence("start", [*e.parameters], [*e.start_q, *e.start_v]),
        ComputationSequence("prepare", given, frontier),
    ]
    f = compile_programs(programs, [*in_front, *e.held, *frontier], of_parameters)
    sizes = {"n_closed": "close", "n_chart": "chart", "n_report": "report"}
    returned = {size: f[name].outputs for size, name in sizes.items() if name in f}
    addresses = {name: f[name].address for name in FUNCTIONS if name in f}
    head = np.empty(HEADER)
    put_header(head, Header(n_q=len(e.q), n_v=n, m=m, **returned, **addresses)._asdict())
    system = System(e, f, head, regular, tuple(pivots))
    # Found here, so that every copy with other values has them.
    _ = system.n_q, system.n_v, system.m, system.held, system.jump_targets
    return system
