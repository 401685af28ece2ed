"""The equations as machine code.

Accelerations and multipliers come from a quasi-definite system (equations/solution.py) whose solution is repeated: one
repetition is part of the sequence, and as many more as the start position of a run needs. Where a pivot has come near
eps, further ones follow, until they change a no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, log
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.equations import TIME, Equations
from linkwork.equations.implicit import N_WORK
from linkwork.equations.place import Place
from linkwork.equations.programs import (
    IF_NEEDED,
    MOTION,
    REPETITIONS,
    WATCHED,
    Metric,
    Program,
    Source,
    start,
    switches,
)
from linkwork.equations.solution import EPS
from linkwork.expressions.graph import Expr, symbol
from linkwork.expressions.guards import freeze
from linkwork.linalg.rank import RANK_TOLERANCE
from linkwork.native.enclosing import Guards, write_tape
from linkwork.native.kernels import Pointer, integer, offset, split
from linkwork.native.lowering import NativeFunction, compile_programs
from linkwork.native.rows import evaluate_rows
from linkwork.records import changed, kept
from linkwork.sequences.hoisting import parameter_frontier
from linkwork.sequences.sequence import ComputationSequence
from linkwork.tolerances import EPSILON

if TYPE_CHECKING:
    from linkwork.equations.explicit import Explicit

Array = NDArray[np.float64]

# The same where rows depend on others only on the constraints (see Place): off them, as at the inner states of a step,
# their smallest singular value is not zero, and its square must stay well below eps, or steps are rejected. In joint
# coordinates it is larger, by as much as the others are; more would hinder the passing of singular positions.
EPS_FRAGILE = 1e-8
FRAGILE_LOOPS = 1e-5  # of the square of the least singular value that counts
# eps by the pivots of the rows, added up: beyond, the repetition that is part of the sequence may leave something. A
# row that depends on others adds one, but for what rounding makes of its pivot.
UNSETTLED, UNSURE = 1e-6, 1e-4
# More would divide rounding by the singular value itself where a motion passes a singular position. The eps of rows
# that hold a light body is larger by what it is lighter, and they may and must be repeated more.
MOST_REPETITIONS, MOST_OF_LIGHT, LIGHT = 10, 1000, 1e-3


class Header(NamedTuple):
    """What kernels must know of a mechanism, at the beginning of p: numbers, then addresses of machine code."""

    tolerance: float = RANK_TOLERANCE  # of the rank decisions of a formulation on full matrices
    repetitions: int = 0  # of the linear solution, beside the one that is part of the sequence
    most_repetitions: int = 0  # if needed
    n_q: int = 0
    n_v: int = 0
    m: int = 0
    n_closed: int = 0  # doubles that `close` returns
    n_report: int = 0  # doubles that `report` returns
    n_carried: int = N_WORK  # unknowns behind q and v
    formulation: int = 0
    derivative: int = 0
    dynamics: int = 0
    report: int = 0
    constraints: int = 0
    close: int = 0
    align: int = 0
    terms: int = 0
    rates: int = 0
    retract: int = 0
    linearized: int = 0
    onto: int = 0


HEADER = len(Header._fields)
PLACES = {name: k for k, name in enumerate(Header._fields)}
N_CARRIED = PLACES["n_carried"]
SYMBOLS = {"repetitions": REPETITIONS, "most_repetitions": IF_NEEDED}
HEADER_SYMBOLS = [SYMBOLS.get(name, symbol(f"header {name}")) for name in Header._fields]
# After the right-hand side what is called once a step, at report times, and where a motion begins.
SELDOM = ("close", "align", "report", "constraints", "linear", "retract", "start", "prepare")
FUNCTIONS = Header._fields[Header._fields.index("derivative") :]


def header(p: Pointer) -> Header:
    """Return the header of p; all but the first of its numbers are integers."""
    return Header(
        p[0], integer(p, 1), integer(p, 2), integer(p, 3), integer(p, 4), integer(p, 5), integer(p, 6),
        integer(p, 7), integer(p, 8), integer(p, 9), integer(p, 10), integer(p, 11), integer(p, 12), integer(p, 13),
        integer(p, 14), integer(p, 15), integer(p, 16), integer(p, 17), integer(p, 18), integer(p, 19),
        integer(p, 20),
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


def put_header(numbers: Array, entries: Mapping[str, Any]) -> None:
    """Put these entries of the header where it stands at the beginning of p, or of every p in rows."""
    integers = numbers.view(np.int64)
    for name, value in entries.items():
        k = PLACES[name]
        (integers if k else numbers)[..., k] = value


@dataclass(frozen=True, eq=False)
class System:
    """Programs of a mechanism with their machine code, each void f(x, p, y, w), and the vector p they all take.

    Besides those of equations/programs.py, and of others who ask for more, there are
    start         parameters -> q and v as the model states them, and behind them those of the bodies
    prepare       parameters of the source -> the rest of p, which these make
    """

    equations: Equations
    source: Source
    programs: Mapping[str, ComputationSequence]
    functions: Mapping[str, NativeFunction]
    in_p: Sequence[Expr]  # whose values p carries
    head: Array  # of p, but for what a run adds
    guards: Guards | None  # what a motion looks at along its steps
    n_signs: int  # numbers in p by which the time loop holds comparisons on one side

    @property
    def regular(self) -> bool:
        """Return whether the linear systems have the inertia that forces meet, not another metric in its place."""
        return self.source.metric == "mass" and self.source.loaded is None

    @property
    def pivots(self) -> Sequence[Expr]:
        """The pivots of the explicit form, which must not vanish."""
        return self.source.pivots

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
        """Return where in p the values stand that events change."""
        first = HEADER + self.n_q + self.n_v + 2 * self.m
        return slice(first, first + len(self.equations.held))

    @property
    def first_of_parameters(self) -> int:
        """Where in p all that stands which depends on parameters alone, behind what the time loop changes."""
        return int(self.held.stop) + self.n_signs

    @kept
    def jump_targets(self) -> tuple[list[int], list[int]]:
        """Return, for each number that `jumps` returns, the event to which it belongs and its place in p, or 0."""
        places = {x: self.held.start + k for k, x in enumerate(self.equations.held)}
        owners, targets = list[int](), list[int]()
        for k, event in enumerate(self.equations.events):
            own = (
                [0] * (len(event.rows) * (self.n_v + 1))
                + [places[x] for x in event.holds]
                + [0] * (len(event.resets) + 1)
            )
            owners += [k] * len(own)
            targets += own
        return owners, targets

    def in_lanes(self, names: Sequence[str], lanes: int) -> dict[str, NativeFunction]:
        """Return functions for so many motions at once, see `compile_programs`."""
        programs = [x for x in self.programs.values() if x.name in names or x.head in names]
        return compile_programs(programs, self.in_p, lanes=lanes)

    def with_values(self, equations: Equations) -> System:
        """Return the same machine code for equations that differ in the values of their parameters only."""
        return changed(self, equations=equations)

    @kept
    def values(self) -> Array:
        return np.array([*self.equations.parameters.values()], dtype=float)

    def start(self) -> Place:
        """Return the state the model states, its equations evaluated by machine code."""
        x = self.functions["start"](self.values, self.values)
        return self.place(x[: self.n_q], x[self.n_q : self.n_q + self.n_v], stated=x[self.n_q + self.n_v :])

    def place(self, q: Array, v: Array, t: float = 0.0, stated: Array | None = None) -> Place:
        p, named = self._p(1.0, self._given(0.0)), ("constraints", "linear", "retract", "report")
        code = {name: partial(self.functions[name], p=p) for name in named if name in self.functions}
        return Place(self.equations, q, v, t, code, stated)

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
        """Return the header, the scales, what events change, and all that depends on other parameters alone,
        already computed.

        `place` is where the motion starts, `given` are entries of the header: addresses of a formulation outside the
        sequence and of derivative and dynamics with it, the tolerance of its rank decisions, repetitions. `mobility` is
        the diagonal of W^-1 for ggl. With `by_mass` the rows that a formulation gets have length one in the metric of
        M^-1.
        """
        place = self.start() if place is None else place
        scale = np.concatenate([place.scales, np.sqrt(place.rows.size) if by_mass else place.row_scale])
        p = self._p(1.0 / scale, self.given(place, alpha, beta, mobility, eps))
        put_header(p, given)
        return p

    def given(
        self, place: Place, alpha: float = 0.0, beta: float = 0.0, mobility: Array | float = 1.0, eps: float = EPS
    ) -> Array:
        """Return what `prepare` makes the rest of p from."""
        state = *self.equations.parameters.values(), place.t, *place.q.tolist(), *place.v.tolist()
        first = np.array(self.source.pivot_values(state) if self.pivots else [], dtype=float)
        kept = np.isin(np.arange(self.m), place.rows.independent) if "implicit" in self.functions else 1.0
        weakness = (self.m - place.rank.rank) * (1.0 + UNSURE) + UNSETTLED
        return self._given(eps * place.rows.size, alpha, beta, weakness, mobility, kept, first)

    def _given(
        self,
        eps: Array | float,
        alpha: float = 0.0,
        beta: float = 0.0,
        weakness: float = 0.0,
        mobility: Array | float = 1.0,
        kept: NDArray[np.bool_] | float = 1.0,
        first_pivots: Array | float = 1.0,
    ) -> Array:
        m, given, first = self.m, np.empty(self.functions["prepare"].inputs), len(self.values)
        given[:first] = self.values
        for part, count in (((alpha, beta, weakness), 3), (eps, m), (mobility, self.n_v), (kept, m)):
            given[first : first + count] = part
            first += count
        given[first:] = first_pivots
        return given

    def _p(self, reciprocal_scales: Array | float, given: Array) -> Array:
        held, prepare = self.held, self.functions["prepare"]
        p = np.empty(self.first_of_parameters + prepare.outputs)
        p[:HEADER], p[HEADER : held.start] = self.head, reciprocal_scales
        p[held] = [self.equations.parameters[x] for x in self.equations.held]
        p[held.stop : self.first_of_parameters] = 0.0
        prepare.fill(given, given, p[self.first_of_parameters :])  # which are all it reads
        return p

    def p_of_rows(
        self,
        values: Array,
        reciprocal_scales: Array | float = 1.0,
        eps: Array | float = 0.0,
        alpha: float = 0.0,
        beta: float = 0.0,
        weakness: Array | float = 0.0,
        mobility: Array | float = 1.0,
    ) -> Array:
        """Return p of many mechanisms at once, which differ in the values of their parameters; see `p`.

        Of forms without pivots, and with all rows of Psi_q.
        """
        prepare, count, n = self.functions["prepare"], len(values), values.shape[1]
        given, p = np.ones((count, prepare.inputs)), np.zeros((count, self.first_of_parameters + prepare.outputs))
        given[:, :n], given[:, n : n + 2] = values, (alpha, beta)
        given[:, n + 2], given[:, n + 3 : n + 3 + self.m] = weakness, eps
        given[:, n + 3 + self.m : n + 3 + self.m + self.n_v] = mobility
        p[:, :HEADER], p[:, HEADER : self.held.start] = self.head, reciprocal_scales
        places = {x: k for k, x in enumerate(self.equations.parameters)}
        p[:, self.held] = values[:, [places[x] for x in self.equations.held]]
        p[:, self.first_of_parameters :] = evaluate_rows(prepare, given, given)
        return p


def choose_eps(place: Place) -> float:
    """Return eps of a row for a motion from this place, relative as EPS is."""
    if not place.rows.depend_only_here:
        return EPS
    return max(EPS_FRAGILE, FRAGILE_LOOPS * place.rank.smallest**2 if place.equations.chart.kind == "joint" else 0.0)


def repetitions(smallest: float, eps: float = EPS, accuracy: float = EPSILON) -> int:
    """Return how often to repeat, beside the first time and the one in the sequence, until eps leaves less than
    `accuracy`.

    `smallest` is the least singular value of Psi_q M^-1/2, scaled. Where its square is not far above eps, what a
    repetition leaves is not foreseen that well, and all digits are asked for.
    """
    ratio = eps / max(smallest * smallest, 10 * eps)
    return max(0, ceil(log(accuracy if 10 * ratio < 1.0 else EPSILON) / log(ratio)) - 2)


def most_repetitions(place: Place) -> int:
    """Return how often to repeat at most, if need be, on a motion from this place."""
    if place.rows.depend_only_here:  # off the constraints such rows are not to be told from others, see EPS_FRAGILE
        return 0
    inertia = (place.mass.diagonal * place.v_scale**2).tolist()
    return MOST_OF_LIGHT if min(inertia, default=0.0) < LIGHT * max(inertia, default=0.0) else MOST_REPETITIONS


def compile_system(
    e: Equations,
    programs: Sequence[Program] = MOTION,
    metric: Metric = "mass",
    explicit: Explicit | None = None,
    loaded: Equations | None = None,
) -> System:
    """Return machine code of these programs, all in one go.

    Parameters that events change stand in p themselves, so that the time loop can change them; so do signs of what is
    watched, which hold comparisons on one side where they are not zero.
    """
    source = Source(e, metric, explicit, loaded)
    watched = source.watched if switches in programs else []
    signs = [symbol(f"sign {k}") for k in range(len(watched))]
    sides = dict(zip(reversed(watched), reversed(signs), strict=True))
    found = [
        sequence.rewritten(lambda y, x: freeze(y, x, sides)) if sides and program not in WATCHED else sequence
        for program in programs
        if (sequence := program(source)) is not None
    ]
    repeated = [sequence.again for sequence in found if sequence.again]
    improved = [y for again in repeated for y in (*again.outputs.values(), again.is_weak, again.needs)]
    enclosed = [*watched, *e.narrow] if switches in programs else []
    outputs = [*(y for sequence in found for y in sequence.outputs), *improved, *enclosed]
    fixed = [x for x in source.parameters if x not in set(e.held)]
    frontier = parameter_frontier(outputs, fixed)
    scales = [symbol(f"scale {k}") for k in range(len(e.q) + len(e.v) + 2 * len(e.Psi))]
    of_parameters = [
        start(Source(e)),
        ComputationSequence("prepare", source.parameters, frontier),
    ]
    in_p = [*HEADER_SYMBOLS, *scales, *e.held, *signs, *frontier]
    f = compile_programs(found, in_p, of_parameters, seldom=SELDOM)
    sizes = {"n_closed": "close", "n_report": "report"}
    returned = {size: f[name].outputs for size, name in sizes.items() if name in f}
    addresses = {name: f[name].address for name in FUNCTIONS if name in f}
    head = np.empty(HEADER)
    put_header(head, Header(n_q=len(e.q), n_v=len(e.v), m=len(e.Psi), **returned, **addresses)._asdict())
    guards = None
    if enclosed:
        state = (TIME, *e.q, *e.v)
        tape = write_tape(enclosed, [*state, *source.sampled], in_p)
        first_sign = len(HEADER_SYMBOLS) + len(scales) + len(e.held)
        guards = Guards(f.get("switches"), f.get("sampled"), tape, len(state), first_sign)
    sequences = {sequence.name: sequence for sequence in (*found, *of_parameters)}
    return System(e, source, sequences, f, in_p, head, guards, len(signs))
