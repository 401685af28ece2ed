"""The equations of motion of a mechanism as expressions.

qd = N(q) v        M(q) a + Psi_q^T lam = Q(t, q, v)        Psi(t, q) = 0
Psi_dot = Psi_q v + Psi_t        Psi_ddot = Psi_q a - gamma

A row A(t, q) v + b(t, q) = 0 that is the rate of no Psi, as of what rolls, is among these rows from Psi_dot on: A is
its row of Psi_q, b that of Psi_t, -(A_dot v + b_dot) that of gamma. Its row of Psi is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from linkwork.elements.events import Watch, closed
from linkwork.elements.kinds import FORCE_UNITS, UNITS, Columns, Coordinate, CountedAngle, Kind, Velocity
from linkwork.elements.signals import INPUT, OUTPUT, STATE, StateCoordinate
from linkwork.elements.spatial import near, wrapped
from linkwork.elements.vectors import SHORTEST
from linkwork.equations.survey import write_layout
from linkwork.expressions.derivatives import directional, jacobian
from linkwork.expressions.evaluation import Tape, ordered, substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, symbol
from linkwork.expressions.guards import dependent, narrow, switch
from linkwork.native.enclosing import find_all_zeros
from linkwork.native.lowering import NativeFunction
from linkwork.records import changed, derived, kept
from linkwork.sequences.sequence import ComputationSequence

if TYPE_CHECKING:
    from linkwork.sequences.articulated import Chain

Key = TypeVar("Key")
TIME = symbol("t")
# In front of the labels of outputs, so that a joint and a body of one name do not meet.
PREFIXES = {"joints": "joint:", "reactions": "reaction:", "driving": "driving:", "actuators": "actuator:"}
PREFIXES |= {"inputs": INPUT, "outputs": OUTPUT, "states": STATE}
PREFIXES |= {kind: f"{kind}:" for kind in ("theta", "theta_d", "theta_dd")}
ALPHA, BETA = symbol("baumgarte.alpha"), symbol("baumgarte.beta")


@dataclass(frozen=True)
class Row:
    """One scalar constraint: the joint or driver it belongs to, which of its rows it is, and its kind."""

    element: str
    part: str
    kind: Kind

    @property
    def unit(self) -> str:
        return UNITS[self.kind]

    def __str__(self) -> str:
        return f"{self.element}.{self.part}" if self.part else self.element


class Output(NamedTuple):
    """A named quantity of t, q, v, a and lam; an angle that `turns` shows no whole turns, its rate is the next one."""

    expression: Expr
    unit: str
    turns: bool = False
    factor: float = 1.0  # of its unit

    @property
    def shown(self) -> Expr:
        """The value in its unit; all else is in SI."""
        return self.expression if self.factor == 1.0 else self.expression / self.factor


DEAD = 1e-4  # the square of the sine between two links: nearer to a line they are in a dead position


def change_of(v: Expr) -> Expr:
    """Return the symbol of a small change of the kind v dt."""
    return symbol(f"d {v.value}")


def other_of(q: Expr) -> Expr:
    """Return the symbol of a coordinate at another position, then."""
    return symbol(f"{q.value} then")


class Energy(NamedTuple):
    """The account of a motion: the rate of kinetic + potential is the applied power less dissipation.

    Drivers supply more.
    """

    kinetic: Expr
    potential: Expr
    dissipation: Expr
    applied_power: Expr


class Clock(NamedTuple):
    """At multiples of `every` parameters take new values, which hold in between."""

    every: Expr
    holds: Mapping[Expr, Expr]

    def moved(self, by: Mapping[Expr, Expr]) -> Clock:
        """Return the same in other coordinates."""
        return self._replace(holds=substitute_in(self.holds, by))


class Counted(NamedTuple):
    """An angle of a joint in space that is `carried` along with q, behind the others, so that its turns are counted.

    `angle`, with its `rate`, is what the bodies show of it; both are the same but for whole turns and what a step adds.
    """

    coordinate: CountedAngle
    carried: Expr
    angle: Expr
    rate: Expr
    start: Expr

    @property
    def value(self) -> Expr:
        return near(self.angle, self.carried)

    def moved(self, q: Mapping[Expr, Expr], v: Mapping[Expr, Expr]) -> Expr:
        """Return what is carried where q has become this by a small change, of the kind v dt."""
        (angle,), (change,) = substitute([self.angle], q), substitute([self.rate], v)
        return near(angle, self.carried + change)


class Dyad(NamedTuple):
    """A loop that is closed as a triangle, on one side of the line that its links are when stretched or folded.

    `sigma` is the parameter that says on which, or zero for the side of the stated start; `side` has its sign, of the
    coordinates of all joints. `margin` is the square of the sine between the links, or slides. `joint` closes the loop,
    and the coordinates `follows` follow from it.
    """

    sigma: Expr
    side: Expr
    margin: Expr
    joint: str
    follows: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Chart:
    """The coordinates in which equations stand: how q moves, where it starts, how it belongs to that of the bodies.

    `retract` is q moved by a small `dx` of the kind v dt, `difference` the dx that moves q to `then`. What comes behind
    `unseen` is there where the coordinates are not those of the bodies.
    """

    retract: tuple[Expr, ...]
    difference: tuple[Expr, ...]
    start_q: tuple[Expr, ...]
    start_v: tuple[Expr, ...]
    kind: str = "body"  # which of COORDINATES these are
    state: tuple[str, str, str] = ("q", "v", "a")  # what results call q, v and a of these equations
    counted: tuple[Counted, ...] = ()
    state_scales: tuple[Expr, ...] = ()  # by which errors of states of first order are measured
    unseen: int = 0  # velocities with which point masses turn, which nothing sees: no freedoms
    body: Equations | None = None  # in body coordinates, if these are in others: their q, v and a are outputs
    from_body: tuple[tuple[Expr, ...], tuple[Expr, ...]] = ((), ())  # then q and v, of q and v of the bodies
    carriers: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # of a body its parent and joint, "" if none
    tree: Equations | None = None  # in the coordinates of all joints, if the last of these q follow from the others
    dyads: tuple[Dyad, ...] = ()

    @property
    def of_all_joints(self) -> bool:
        """Return whether q are the coordinates of all joints of a tree."""
        return bool(self.carriers) and self.tree is None


@dataclass(frozen=True, eq=False)
class Hints:
    """What is known of the expressions beforehand, so that less is formed; the motion is the same without it."""

    carried: Mapping[Expr, Expr] = field(default_factory=dict)  # other nodes that move with q, and their rates
    gradients: Mapping[Expr, Mapping[int, Expr]] = field(default_factory=dict)  # of nodes that are linear in v
    chain: Chain | None = None  # then M is not to be formed, the links being many
    arm: Expr | None = None  # then the longest arm at which a turn of a body moves a joint
    steady: frozenset[Expr] = (
        frozenset()
    )  # comparisons that no motion changes, angles that stay about zero, and what is
    # narrow where laws are not
    narrow: tuple[Expr, ...] | None = None  # then what may be narrow in laws, as other coordinates have it


@dataclass(frozen=True, eq=False)
class Equations:
    """Everything a mechanism needs, in the letters of the docstring above.

    q, v and a are symbols; `qd`, `M`, `Q` and `Psi` are stated and the rest is differentiated from them. `outputs` are
    named quantities of t, q, v, a and lam, by kind: points (places, velocities, accelerations), reactions of joints,
    driving forces. Parameters that events change are `held`.
    """

    q: tuple[Expr, ...]
    v: tuple[Expr, ...]
    a: tuple[Expr, ...]
    coordinates: tuple[Coordinate, ...]
    velocities: tuple[Velocity, ...]
    rows: tuple[Row, ...]
    qd: tuple[Expr, ...]
    M: Mapping[tuple[int, int], Expr]
    Q: tuple[Expr, ...]
    Psi: tuple[Expr, ...]
    chart: Chart
    energy: Energy
    parameters: Mapping[Expr, float]
    hints: Hints = field(default_factory=Hints)
    outputs: Mapping[str, Mapping[str, Output]] = field(default_factory=dict)
    held: tuple[Expr, ...] = ()
    events: tuple[Watch, ...] = ()
    clocks: tuple[Clock, ...] = ()
    baumgarte: bool = False
    n_states: int = 0  # of q, the last: states of first order, which no velocity moves
    slips: Mapping[int, Expr] = field(default_factory=dict)  # A v + b of rows that are the rate of no Psi
    reversal: Mapping[str, tuple[Expr, ...]] = field(default_factory=dict)  # of joints whose axes have a sense

    @derived
    def lam(self) -> tuple[Expr, ...]:
        return tuple(symbol(f"lam {row}") for row in self.rows)

    @derived
    def dx(self) -> tuple[Expr, ...]:
        return tuple(map(change_of, self.v))

    @derived
    def then(self) -> tuple[Expr, ...]:
        return tuple(map(other_of, self.q))

    @derived
    def q_names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.coordinates)

    @derived
    def v_names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.velocities)

    @derived
    def columns(self) -> dict[str, Columns]:
        """Return labels, names and units of q, v, a, lam and the outputs, as results have them."""
        names, units = self.v_names, tuple(c.unit for c in self.velocities)
        rows = tuple(str(row) for row in self.rows)
        state = (
            Columns(self.q_names, self.q_names, tuple(c.unit for c in self.coordinates)),
            Columns(names, tuple(c.speed for c in self.velocities), tuple(f"{unit}/s" for unit in units)),
            Columns(names, tuple(c.acceleration for c in self.velocities), tuple(f"{u}/s^2" for u in units)),
        )
        columns = dict(zip(self.chart.state, state, strict=True))
        columns["lam"] = Columns(
            rows, tuple(f"lam:{row}" for row in rows), tuple(FORCE_UNITS[r.kind] for r in self.rows)
        )
        for kind, outputs in self.outputs.items():
            named = tuple(PREFIXES.get(kind, "") + name for name in outputs)
            columns[kind] = Columns(tuple(outputs), named, tuple(output.unit for output in outputs.values()))
        if self.chart.body is not None:
            for kind, own in zip(self.chart.state, state, strict=True):
                columns[kind] = own._replace(names=tuple(f"{kind}:{label}" for label in own.labels))
            columns |= {kind: self.chart.body.columns[kind] for kind in self.chart.body.chart.state}
        return columns

    @derived
    def turning_outputs(self) -> dict[str, list[int]]:
        """Return, by kind, the places of outputs that show no whole turns."""
        found = {kind: [k for k, x in enumerate(own.values()) if x.turns] for kind, own in self.outputs.items()}
        return {kind: places for kind, places in found.items() if places}

    @derived
    def lengths(self) -> NDArray[np.bool_]:
        """Mark the lengths among q, v and the rows of Psi, in that order."""
        kinds = [x.kind for own in (self.coordinates, self.velocities, self.rows) for x in own]
        return np.array([kind == "length" for kind in kinds], dtype=np.bool_)

    @derived
    def arms(self) -> NDArray[np.bool_]:
        """Return which entries of Psi_q are arms at which a turn moves a joint."""
        i, j = self.pattern
        return self.lengths[len(self.q) + len(self.v) :][i] & self.turning[j]

    @derived
    def turning(self) -> NDArray[np.bool_]:
        """Return which of the velocities turn, rates of Euler parameters among them; the others shift."""
        return np.array([c.kind != "length" for c in self.velocities], dtype=bool)

    @property
    def is_constrained(self) -> bool:
        """Return whether q and v can be off the constraints, or Euler parameters off their length."""
        turned = self.coordinates[: len(self.q) - self.n_states]
        return bool(self.Psi) or any(c.kind == "number" for c in turned)

    @derived
    def motion(self) -> dict[Expr, Expr]:
        """Return the direction in which time carries (t, q) at velocity v."""
        return {TIME: ONE, **dict(zip(self.q, self.qd, strict=True)), **self.hints.carried}

    @derived
    def reversals(self) -> tuple[Expr, ...]:
        """Return the reversals of all joints whose axes have a sense, one behind the other."""
        return tuple(x for own in self.reversal.values() for x in own)

    @derived
    def reversal_q(self) -> dict[tuple[int, int], Expr]:
        """Return the Jacobian of `reversals` with respect to v."""
        return jacobian(directional(self.reversals, self.motion), self.v)

    @derived
    def Psi_dot(self) -> list[Expr]:
        return [self.slips.get(i, rate) for i, rate in enumerate(directional(self.Psi, self.motion))]

    @property
    def of_positions(self) -> Equations:
        """The equations with the rows of Psi alone, which positions have to satisfy."""
        return self._of_positions.with_values(self.parameters) if self.slips else self

    @derived
    def _of_positions(self) -> Equations:
        return self.with_rows([i for i in range(len(self.rows)) if i not in self.slips])

    def with_rows(self, chosen: Sequence[int]) -> Equations:
        """Return the equations with some of their constraints."""
        slips = {k: self.slips[i] for k, i in enumerate(chosen) if i in self.slips}
        rows, Psi = tuple(self.rows[i] for i in chosen), tuple(self.Psi[i] for i in chosen)
        return replace(self, rows=rows, Psi=Psi, slips=slips)

    @derived
    def Psi_q(self) -> dict[tuple[int, int], Expr]:
        """Return d Psi_dot / d v: the Jacobian with respect to v, which is Psi_q N for general coordinates."""
        return jacobian(self.Psi_dot, self.v, self.hints.gradients)

    @derived
    def pattern(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return rows and columns of the entries of Psi_q."""
        i, j = np.array(list(self.Psi_q), dtype=np.intp).reshape(-1, 2).T
        return i, j

    @derived
    def is_diagonal(self) -> bool:
        """Return whether M is."""
        return self.hints.chain is None and all(i == j for i, j in self.M)

    @derived
    def layout(self) -> NDArray[np.float64]:
        """Return what the values of `constraints` and `linear` belong to, see survey.py."""
        (i, j), M, chain = self.pattern, [*self.M] if self.hints.chain is None else [], self.hints.chain
        n_masses = len(M) if chain is None else len(chain.M) + sum(len(x.X) + len(x.H) for x in chain.tree.links)
        flags = int(self.hints.arm is not None), int(self.is_diagonal), int(self.chart.kind == "stated")
        numbers = len(self.q), len(self.v), len(self.Psi), len(i), len(self.reversals), n_masses, *flags
        places = [[k[side] for k in M] or [0] * n_masses for side in (0, 1)]
        return write_layout(numbers, i, j, self.arms, self.lengths, *places)

    @derived
    def diagonal(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return which entries of M are on its diagonal, and their rows."""
        found = [(k, i) for k, (i, j) in enumerate(self.M) if i == j]
        entries, rows = np.array(found, dtype=np.intp).reshape(-1, 2).T
        return entries, rows

    @derived
    def Psi_t(self) -> list[Expr]:
        at_rest = substitute(self.slips.values(), dict.fromkeys(self.v, ZERO))
        known = dict(zip(self.slips, at_rest, strict=True))
        return [known.get(i, x) for i, x in enumerate(directional(self.Psi, {TIME: ONE}))]

    @derived
    def gamma(self) -> list[Expr]:
        """Return -Psi_ddot at a = 0, with -2 alpha Psi_dot - beta^2 Psi added for stabilization [baumgarte1972]."""
        gamma = [-rate for rate in directional(self.Psi_dot, self.motion)]
        if self.baumgarte:
            pull = zip(gamma, self.Psi_dot, self.Psi, strict=True)
            gamma = [g - 2 * ALPHA * rate - BETA * BETA * gap for g, rate, gap in pull]
        return gamma

    @property
    def rates(self) -> tuple[Expr, ...]:
        """The rates of the states of first order."""
        return self.qd[len(self.qd) - self.n_states :]

    @property
    def _acting(self) -> list[Expr]:
        """Laws of forces and of states."""
        return [*self.Q, *self.rates]

    @property
    def _laws(self) -> list[Expr]:
        """Laws of forces, states and constraints."""
        return [*self._acting, *self.Psi, *self.slips.values()]

    @derived
    def _switching(self) -> tuple[list[Expr], list[Expr]]:
        """Return functions of time alone, and of the state too, at whose zeros something switches.

        Joints do not switch.
        """
        nodes, acting = ordered(self._laws), set(ordered(self._acting))
        moving, timed = dependent(nodes, (*self.q, *self.v)), dependent(nodes, (TIME,))
        found = [(x, g) for x in nodes if (g := switch(x)) is not None and not (_is_guard(x) or x in self.hints.steady)]
        known = {event.when for event in self.events}
        of_time = dict.fromkeys(g for x, g in found if x in timed - moving)
        return [*of_time], [*dict.fromkeys(g for x, g in found if x in moving & acting and g not in known)]

    @property
    def switches(self) -> list[Expr]:
        """Functions of the state at whose zeros a force or a driver switches."""
        return self._switching[1]

    @derived
    def narrow(self) -> list[Expr]:
        """Return quantities of forces, and of drivers by their time, that may vary within much less than a step."""
        if self.hints.narrow is not None:
            return [*self.hints.narrow]
        nodes, acting = ordered(self._laws), set(ordered(self._acting))
        moving, timed = dependent(nodes, (*self.q, *self.v)), dependent(nodes, (TIME,))
        return [x for x in narrow(nodes, (moving & acting) | (timed - moving)) if x not in self.hints.steady]

    @property
    def timed_switches(self) -> list[Expr]:
        """Functions of time alone at whose zeros laws switch."""
        return self._switching[0]

    def switching_times(self, t_end: float) -> list[float]:
        """Return times before t_end that are known beforehand: zeros of functions of time alone, knots of tables.

        What rounding puts next to the start is at it, so that no step goes there.
        """
        found = find_all_zeros(self.timed_switches, TIME, self.parameters, t_end)
        first = float(np.spacing(t_end))
        return sorted({*(t if t > first else 0.0 for t in found), *(t for t in self.knots if 0.0 < t < t_end)})

    @derived
    def knots(self) -> set[float]:
        """Return the knots of tables of time."""
        nodes = ordered(self._laws)
        return {t for node in nodes if node.op == "spline" and node.args[0] is TIME for t in node.table[0]}

    @property
    def stated(self) -> tuple[object, ...]:
        """What equations are not derived from others: two of one structure in which it is the same are the same."""
        if self.chart.body is not None:
            return self.chart.body.stated
        named = [output for outputs in self.outputs.values() for output in outputs.values()]
        events = [
            tuple(y for x in event for y in (x.items() if isinstance(x, Mapping) else (x,))) for event in self.events
        ]
        return (
            *self.M.items(),
            *self._laws,
            *self.energy,
            *named,
            *events,
            *((clock.every, *clock.holds.items()) for clock in self.clocks),
            *self.chart.start_q,
            *self.chart.start_v,
        )

    @derived
    def _tapes(self) -> dict[str, Tape]:
        return {}

    @derived
    def code(self) -> dict[str, NativeFunction]:
        """Return machine code of programs, once a place has asked for it."""
        return {}

    def evaluate(self, name: str, program: Callable[[], ComputationSequence], *x: float) -> NDArray[np.float64]:
        """Return what a program of this name finds without being compiled, its operations put in order once."""
        if (tape := self._tapes.get(name)) is None:
            sequence = program()
            tape = self._tapes[name] = Tape([*self.parameters, *sequence.inputs], sequence.outputs)
        return np.array(tape((*self.parameters.values(), *x)), dtype=float)

    @derived
    def times_change(self) -> bool:
        """Return whether values that events change are part of what tells when laws of time switch."""
        return not set(self.held).isdisjoint(ordered(self.timed_switches))

    @derived
    def work_rates(self) -> tuple[Expr, Expr]:
        """Return power dissipated, and supplied by applied forces and drivers: -Psi_q^T lam does work lam . Psi_t."""
        driving = (x * y for x, y in zip(self.lam, self.Psi_t, strict=True))
        return self.energy.dissipation, sum(driving, self.energy.applied_power)

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Whether the joint of each row holds nothing by the values of the parameters."""
        if not self.held:
            return np.zeros(len(self.rows), dtype=bool)
        return np.array([self.parameters.get(closed(row.element)) == 0.0 for row in self.rows], dtype=bool)

    @kept
    def symbolic(self) -> Equations:
        """Return the same equations without values: what is derived from them holds for all values."""
        made = changed(self, parameters=dict.fromkeys(self.parameters, math.nan))
        made.__dict__["symbolic"] = made
        return made

    def with_values(self, values: Mapping[Expr, float]) -> Equations:
        """Return the same equations, and what is derived from them, with other values of the parameters.

        Others do no harm.
        """
        made = changed(self, parameters={x: values[x] for x in self.parameters})
        made.__dict__["symbolic"] = self.symbolic
        return made

    def counting(self, counted: Sequence[Counted]) -> Equations:
        """Add the angles that are carried along to q."""
        q, v = dict(zip(self.q, self.chart.retract, strict=True)), dict(zip(self.v, self.dx, strict=True))
        chart = replace(
            self.chart,
            retract=(*self.chart.retract, *(x.moved(q, v) for x in counted)),
            start_q=(*self.chart.start_q, *(x.start for x in counted)),
            counted=tuple(counted),
        )
        hints = replace(
            self.hints,
            carried={**self.hints.carried, **{x.value: x.rate for x in counted}},
            steady=self.hints.steady.union(wrapped(x.angle - x.carried) for x in counted),
        )
        return replace(
            self,
            q=(*self.q, *(x.carried for x in counted)),
            coordinates=(*self.coordinates, *(x.coordinate for x in counted)),
            qd=(*self.qd, *(x.rate for x in counted)),
            chart=chart,
            hints=hints,
        )

    def bodies_at(self, q: Sequence[float]) -> Equations:
        """Return those of the bodies, to which states of first order are parameters with the values of here."""
        assert self.chart.body is not None
        body, first = self.chart.body.with_values(self.parameters), len(self.q) - self.n_states
        if not self.n_states:
            return body
        return changed(body, parameters={**body.parameters, **dict(zip(self.q[first:], q[first:], strict=True))})

    def with_states(self, states: Sequence[tuple[StateCoordinate, Expr, Expr]]) -> Equations:
        """Add states of first order to q, given by what they are, their starts and their scales.

        z = start,    zd = rate,    the rate being among the outputs. What moves q leaves z as it is.
        """
        chart = self.chart
        z, start = tuple(symbol(c.name) for c, *_ in states), tuple(start for _, start, _ in states)
        return replace(
            self,
            q=(*self.q, *z),
            coordinates=(*self.coordinates, *(c for c, *_ in states)),
            qd=(*self.qd, *(self.outputs["states"][f"{c.name}_d"].expression for c, *_ in states)),
            n_states=len(states),
            chart=replace(
                chart,
                retract=(*chart.retract, *z),
                start_q=(*chart.start_q, *start),
                from_body=((*chart.from_body[0], *start), chart.from_body[1]) if chart.body else chart.from_body,
                state_scales=tuple(scale for *_, scale in states),
            ),
        )

    def without_counting(self) -> Equations:
        """Replace angles that are carried along by what the bodies show of them, and drop the states."""
        chart = self.chart
        n = len(self.q) - len(chart.counted) - self.n_states
        shown = {x.value: x.angle for x in chart.counted}
        return replace(
            self,
            q=self.q[:n],
            coordinates=self.coordinates[:n],
            qd=self.qd[:n],
            n_states=0,
            Psi=tuple(substitute(self.Psi, shown)),
            slips=substitute_in(self.slips, shown),
            chart=replace(chart, retract=chart.retract[:n], start_q=chart.start_q[:n], counted=()),
        )

    def with_outputs(
        self, outputs: Mapping[str, Mapping[str, Output]], events: tuple[Watch, ...], clocks: tuple[Clock, ...] = ()
    ) -> Equations:
        made = changed(self, outputs=outputs, events=events, clocks=clocks)
        for name in ("motion", "Psi_dot", "Psi_q"):  # which depend on neither
            made.symbolic.__dict__[name] = getattr(self, name)
        return made

    def with_baumgarte(self) -> Equations:
        return replace(self, baumgarte=True)

    def start(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return q and v as the model states them."""
        found = self.evaluate(
            "start", lambda: ComputationSequence("start", (), [*self.chart.start_q, *self.chart.start_v])
        )
        return found[: len(self.q)], found[len(self.q) :]


def _is_guard(node: Expr) -> bool:
    """Return whether it only keeps a spring of length zero from dividing by zero."""
    return node.op == "max" and any(a.is_constant and a.number == SHORTEST for a in node.args)


def substitute_in(entries: Mapping[Key, Expr], known: Mapping[Expr, Expr]) -> dict[Key, Expr]:
    """Return the entries with what is known in the place of symbols."""
    return dict(zip(entries, substitute(entries.values(), known), strict=True))


def move_outputs(outputs: Mapping[str, Output], known: Mapping[Expr, Expr]) -> dict[str, Output]:
    """Return the outputs with what is known in the place of symbols, as other coordinates need them."""
    found = substitute([output.expression for output in outputs.values()], known)
    return {name: y._replace(expression=x) for (name, y), x in zip(outputs.items(), found, strict=True)}


def constraint_forces(
    Psi_q: Mapping[tuple[int, int], Expr], lam: tuple[Expr, ...], rows: range, columns: range
) -> list[Expr]:
    """Return -(Psi_q^T lam) of some rows on some velocities: what these constraints do to a body."""
    force = [ZERO] * len(columns)
    for row in rows:
        for place, column in enumerate(columns):
            if (entry := Psi_q.get((row, column))) is not None:
                force[place] = force[place] - entry * lam[row]
    return force
