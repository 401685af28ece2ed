"""Positions, velocities, accelerations and forces of a driven mechanism at one time after the other.

At every instant   Psi(t, q) = 0,    Psi_q v = -Psi_t,    Psi_q a = gamma,    Psi_q^T lam = Q - M a:

positions by Newton's iteration from q moved by h v + h^2/2 a, velocities and accelerations from the constraints, and
driving forces and reactions by inverse dynamics. All four use the factor of

    [ W      Psi_q^T ]
    [ Psi_q  -eps    ]        W = diag(1, 1, arm^2) for every body

and are repeated until the true residuals vanish, so that eps leaves no trace, redundant constraints need no special
treatment and bodies may have no mass. Between report times the step is halved until both ends lie on one smooth curve;
this is what keeps the motion on its branch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism
from linkwork.compiled.system import Header, System, compile_system, header, scales
from linkwork.constraints import projection
from linkwork.constraints.projection import NOT_CONVERGED, project_start, projected
from linkwork.equations.equations import TIME, Equations
from linkwork.equations.implicit import N_WORK
from linkwork.equations.place import Place
from linkwork.equations.programs import BASIC, Source
from linkwork.equations.solution import EPS
from linkwork.expressions.derivatives import directional
from linkwork.expressions.evaluation import substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, symbol
from linkwork.integrators.memory import N_RESIDUALS
from linkwork.linalg.rank import svd
from linkwork.linalg.vectors import copy, largest_scaled
from linkwork.native.kernels import Memory, Pointer, call, kernel, offset, size_of, split
from linkwork.sequences.entries import minus, transpose
from linkwork.sequences.sequence import ComputationSequence
from linkwork.start.singular import Instant, between
from linkwork.tolerances import AGREEMENT, CLOSED, HALF_THE_DIGITS, NEGLIGIBLE

Array = NDArray[np.float64]

ARM = symbol("kinematics.arm")  # a length of the mechanism, by which turns compare with shifts

MOST_TRIED = 50_000  # steps between two looks at the clock: one report interval takes a few
MAX_REPETITIONS = 16  # of a solution with eps: each removes all but a thousandth of its trace, so that more do not help
# How far two ends may be from one smooth curve, as a part of what lies between them.
SMOOTH, STEADY, COMMON = 0.25, 0.02, 1e-3
NEAR = 1e-2  # of the largest on the path: a smallest singular value below this is near a singular position
LEAPS = 9  # sizes tried, each twice the one before
INSIDE = (0.2, 0.4, 0.5, 0.6, 0.8)  # of a leap: where that is looked at
LEAST_ROW = 0.03  # of the longest: no row of Psi_q counts as shorter
STILL = 1.0  # length of the mechanism or radian, per second or per second squared: what is far slower is at rest


class Record(NamedTuple):
    """The motion at one time, with power dissipated and supplied.

    sigma is the smallest singular value of Psi_q W^-1/2, rows scaled as eps is, `direction` its right singular vector.
    """

    t: Pointer
    q: Pointer
    v: Pointer
    a: Pointer
    lam: Pointer
    direction: Pointer
    sigma: Pointer
    power: Pointer
    rest: Pointer


def record(r: Pointer, n_q: int, n: int, m: int) -> Record:
    return Record(*split(r, (1, n_q, n, n, m, n, 1, 2)))


class State(Memory):
    """The record of the time reached, the step to try, the largest sigma so far, and counts."""

    now: Pointer
    step: float
    best: float
    steps: int
    rejected: int
    rest: Pointer


def state_of(s: Pointer, width: int) -> State:
    return State(*split(s, (width, 1, 1, 1, 1)))


class Work(NamedTuple):
    """Scratch: the record that is tried, what the projection returns, (t, q, v, lam, factor, a), a result of it.

    `pair` are (q, dx) or two positions, `way` what leads from one to the other.
    """

    trial: Pointer
    onto: Pointer
    z: Pointer
    new: Pointer
    pair: Pointer
    way: Pointer
    rest: Pointer


def work(w: Pointer, n_q: int, n: int, m: int, n_closed: int, width: int) -> Work:
    return Work(*split(w, (width, n_q + n + N_WORK + N_RESIDUALS + n + m, n_closed + n, n + m, 2 * n_q, n)))


def solve(about: Header, p: Pointer, x: Pointer, at: Work) -> bool:
    """Make a record of a guess: position, velocity, acceleration, multipliers; whether they were found."""
    n_q, n, m = about.n_q, about.n_v, about.m
    by = scales(p, n_q, n, m)
    r = record(x, n_q, n, m)
    call(about.project, x, p, at.onto, at.rest)
    found = projected(at.onto, n_q + n + N_WORK)
    if found.status == NOT_CONVERGED:
        return False
    copy(found.state, r.q, n_q)
    copy(offset(found.state, n_q), r.v, n)
    call(about.close, x, p, at.z, at.rest)
    lam, a = offset(at.z, 1 + n_q + n), offset(at.z, about.n_closed)
    if not largest_scaled(lam, by.rows, m) <= CLOSED * (1.0 + largest_scaled(r.q, by.q, n_q)):  # Psi stands there
        return False
    copy(x, at.z, 1 + n_q + n)
    for i in range(m):
        lam[i] = 0.0
    for i in range(n):
        a[i] = 0.0
    before, change, size = math.inf, math.inf, 0.0
    for k in range(MAX_REPETITIONS):
        call(about.refine, at.z, p, at.new, at.rest)
        earlier, before, change, shift, size, load = before, change, 0.0, 0.0, STILL, 0.0
        for i in range(n):
            change = max(change, by.v[i] * abs(at.new[i] - a[i]))
            size = max(size, by.v[i] * abs(at.new[i]))
            a[i] = at.new[i]
        for i in range(m):
            shift = max(shift, abs(at.new[n + i] - lam[i]))
            load = max(load, abs(at.new[n + i]))
            lam[i] = at.new[n + i]
        if change <= NEGLIGIBLE * size and shift <= NEGLIGIBLE * load:
            break  # what is left is smaller than this change by a large factor
        if k >= 4 and change > 0.5 * earlier:  # accelerations and forces correct each other in turn
            break
    if not change <= HALF_THE_DIGITS * size:
        return False
    copy(a, r.a, n)
    copy(lam, r.lam, m)

    # One step of inverse iteration: |x| falls by 1 + sigma^2/eps.
    copy(r.direction, a, n)
    call(about.watch, at.z, p, at.new, at.rest)
    length = 0.0
    for i in range(n):
        length += at.new[i] * at.new[i]
    length = math.sqrt(length)
    if not length > 0.0:
        return False
    for i in range(n):
        r.direction[i] = at.new[i] / length
    r.sigma[0] = math.sqrt(EPS * max(0.0, 1.0 / length - 1.0))
    call(about.power, at.z, p, r.power, at.rest)
    return True


def are_smooth(about: Header, p: Pointer, old: Record, new: Record, at: Work) -> bool:
    """Whether two records are ends of one smooth curve, in every direction of v.

    v_1 - v_0 = h/2 (a_0 + a_1) + O(h^3),    q_1 - q_0 = h/2 (v_0 + v_1) - h^2/12 (a_1 - a_0) + O(h^5)

    Shifts and turns compare by their scales. The difference of positions is that of `retract`, in which turns in space
    add up but for terms of third order.
    """
    n_q, n, h = about.n_q, about.n_v, new.t[0] - old.t[0]
    size = scales(p, n_q, n, about.m).v
    copy(old.q, at.pair, n_q)
    copy(new.q, offset(at.pair, n_q), n_q)
    call(about.difference, at.pair, p, at.way, at.rest)
    fastest = max(largest_scaled(old.v, size, n), largest_scaled(new.v, size, n))
    steepest = h * max(largest_scaled(old.a, size, n), largest_scaled(new.a, size, n))
    away = largest_scaled(old.q, scales(p, n_q, n, about.m).q, n_q)
    for i in range(n):
        by = size[i]
        speed = by * max(abs(old.v[i]), abs(new.v[i]))
        gain = by * 0.5 * h * (abs(old.a[i]) + abs(new.a[i]))
        jump = by * abs(new.v[i] - old.v[i] - 0.5 * h * (old.a[i] + new.a[i]))
        if not jump <= SMOOTH * gain + STEADY * speed + COMMON * steepest + AGREEMENT * (1.0 / h + fastest):
            return False
        bend = h * h * (new.a[i] - old.a[i]) / 12.0
        jump = by * abs(at.way[i] - 0.5 * h * (old.v[i] + new.v[i]) + bend)
        allowed = h * (SMOOTH * (speed + gain) + COMMON * (fastest + steepest))
        if not jump <= allowed + AGREEMENT * (1.0 + away):
            return False
    return True


@kernel
def follow(
    n_rows: int,
    width: int,
    guard: float,
    smallest: float,
    times: Pointer,
    p: Pointer,
    state: Pointer,
    rows: Pointer,
    w: Pointer,
) -> int:
    """Go on from the state to the times, a record of `width` into `rows` for each; how many were reached.

    No step is shorter than `smallest`, no more than MOST_TRIED are tried, and none leads where the smallest singular
    value is below `guard` of the largest so far (unless the state is there already).
    """
    about = header(p)
    n_q, n, m = about.n_q, about.n_v, about.m
    own = state_of(state, width)
    at = work(w, n_q, n, m, about.n_closed, width)
    now, trial = record(own.now, n_q, n, m), record(at.trial, n_q, n, m)
    tried = 0
    for k in range(n_rows):
        while now.t[0] < times[k]:
            tried += 1
            if tried > MOST_TRIED:
                return k
            left = times[k] - now.t[0]
            h = min(own.step, left)
            if h < left < 2.0 * h:
                h = 0.5 * left  # two equal steps instead of one and a rest
            trial.t[0] = times[k] if h == left else now.t[0] + h
            copy(now.q, at.pair, n_q)
            for i in range(n):
                at.pair[n_q + i] = h * (now.v[i] + 0.5 * h * now.a[i])
                trial.v[i] = now.v[i] + h * now.a[i]
                trial.direction[i] = now.direction[i]
            call(about.retract, at.pair, p, trial.q, at.rest)
            good = solve(about, p, at.trial, at) and are_smooth(about, p, now, trial, at)
            near = guard * own.best
            if good and not trial.sigma[0] < near <= now.sigma[0]:
                copy(at.trial, own.now, width)
                own.best = max(own.best, now.sigma[0])
                own.step = max(own.step, 2.0 * h)
                own.steps += 1
            else:
                own.step = 0.5 * h
                own.rejected += 1
                if own.step < smallest:
                    return k
        copy(own.now, offset(rows, k * width), width)
    return n_rows


def in_metric(e: Equations) -> Equations:
    """The equations with W in the place of M."""
    W = {(k, k): ARM * ARM if turns else ONE for k, turns in enumerate(e.turning)}
    return replace(e, M=W, chain=None, parameters={**e.parameters, ARM: 1.0})


def refine(s: Source, M: Mapping[tuple[int, int], Expr]) -> ComputationSequence:
    """(t, q, v, lam, factor, a) -> (a, lam) corrected by the residuals of Psi_q a = gamma and M a + Psi_q^T lam = Q.

    M is the true mass matrix, the factor that of the metric.
    """
    e = s.equations
    force = minus(minus(e.Q, M, e.a), transpose(e.Psi_q), e.lam)
    change = s.found_factor.solve([*force, *minus(e.gamma, e.Psi_q, e.a)])
    return ComputationSequence("refine", _inputs(s), [x + dx for x, dx in zip((*e.a, *e.lam), change, strict=True)])


def watch(s: Source) -> ComputationSequence:
    """The same -> (1 + J^T J/eps)^-1 x with J = Psi_q W^-1/2, for x in the place of a."""
    e = s.equations
    root = [ARM if turns else ONE for turns in e.turning]
    inverse = s.found_factor.solve([*(r * x for r, x in zip(root, e.a, strict=True)), *[ZERO] * len(e.Psi)])
    return ComputationSequence("watch", _inputs(s), [r * x for r, x in zip(root, inverse, strict=False)])


def power(s: Source) -> ComputationSequence:
    """The same -> power dissipated, power supplied."""
    return ComputationSequence("power", _inputs(s), s.equations.work_rates)


def _inputs(s: Source) -> tuple[Expr, ...]:
    e = s.equations
    return TIME, *e.q, *e.v, *e.lam, *s.entries, *e.a


def forward(s: Source) -> ComputationSequence:
    """(t, q) -> Psi_t."""
    return ComputationSequence("forward", (TIME, *s.equations.q), s.equations.Psi_t)


def difference(s: Source) -> ComputationSequence:
    """(q, then) -> dx that moves one position to another."""
    e = s.equations
    return ComputationSequence("difference", (*e.q, *e.then), e.difference)


def deviation(s: Source) -> ComputationSequence:
    """(q, then, v, a) -> x, x_dot and x_ddot of the dx that moves the fixed position q to where the mechanism is."""
    e = s.equations
    rates = substitute(e.qd, dict(zip(e.q, e.then, strict=True)))
    moving = dict(zip((*e.q, *e.then, *e.v), (*[ZERO] * len(e.q), *rates, *e.a), strict=True))
    x_dot = directional(e.difference, moving)
    outputs = [*e.difference, *x_dot, *directional(x_dot, moving)]
    return ComputationSequence("deviation", (*e.q, *e.then, *e.v, *e.a), outputs)


def compile_driven(e: Equations) -> System:
    own = (partial(refine, M=e.M), watch, power, forward, difference, deviation)
    return compile_system(in_metric(e), (*BASIC, *own))


@dataclass(frozen=True)
class Driven:
    """A driven mechanism ready to be moved, from the place where it starts."""

    system: System
    place: Place
    p: Array
    roots: Array  # W^1/2
    row_lengths: Array  # of Psi_q W^-1/2 at the start

    @staticmethod
    def stated(mechanism: Mechanism) -> System:
        """The compiled equations in the metric of the mechanism as it is stated."""
        code: System = mechanism.shared.compiled(("driven",), compile_driven)
        e = code.equations.with_values({**mechanism.equations.parameters, ARM: 1.0})
        arm = code.with_values(e).start().length
        return code.with_values(e.with_values({**e.parameters, ARM: arm}))

    @staticmethod
    def at(system: System, place: Place) -> Driven:
        roots = np.where(system.equations.turning, system.equations.parameters[ARM], 1.0)
        lengths = np.linalg.norm(place.Psi_q / roots, axis=1)
        p = system.p(place, given={"project": projection.project.address})
        return Driven(system, place, p, roots, np.maximum(lengths, LEAST_ROW * np.max(lengths)))

    @property
    def n(self) -> int:
        return self.system.n_v

    @cached_property
    def width(self) -> int:
        return size_of(record, self.system.n_q, self.n, self.system.m)

    def read(self, records: Array) -> Record:
        """The places of one record."""
        return record(records, self.system.n_q, self.n, self.system.m)

    def columns(self, rows: Array) -> Record:
        """The places of many records, as columns of a table."""
        ends = np.cumsum([len(x) for x in self.read(np.empty(self.width))[:-1]])
        return Record(*np.split(rows, ends, axis=1))

    @cached_property
    def scratch(self) -> Array:
        f = self.system.functions
        called = [f[name].work for name in ("close", "refine", "watch", "power", "retract", "difference")]
        inner = max(projection.of_system(self.system).work, *called)
        sizes = self.system.n_q, self.n, self.system.m, f["close"].outputs, self.width
        return np.empty(size_of(work, *sizes) + inner)

    def start(self) -> Array:
        """The state at the start."""
        s, f, n_q, n = self.system, self.system.functions, self.system.n_q, self.n
        state = np.zeros(size_of(state_of, self.width))
        own = state_of(state, self.width)
        r = self.read(own.now)
        y = project_start(s, self.p, self.place)
        r.q[:], r.v[:] = y[:n_q], y[n_q : n_q + n]
        z = np.append(f["close"](np.concatenate([[0.0], r.q, r.v]), self.p), np.zeros(n))
        z[1 : 1 + n_q + n + s.m] = np.concatenate([r.q, r.v, np.zeros(s.m)])
        for _ in range(MAX_REPETITIONS):
            r.a[:], r.lam[:] = np.split(f["refine"](z, self.p), [n])
            z[-n:], z[1 + n_q + n :][: s.m] = r.a, r.lam
        _, J, _ = self.linearize(0.0, r.q)
        _, values, V_T = svd(J)
        r.direction[:], r.sigma[0] = V_T[-1], values[-1]
        r.power[:] = f["power"](z, self.p)
        own.step, own.best = math.inf, values[-1]
        return state

    def follow(self, state: Array, times: Array, rows: Array, guard: float, smallest: float) -> int:
        """How many of the times were reached, with their records in `rows`; `state` is moved along."""
        arrays = (np.ascontiguousarray(times), self.p, state, rows, self.scratch)
        return int(follow(len(times), self.width, guard, smallest, *arrays))

    def leap(self, state: Array, smallest: float) -> Array | None:
        """The state beyond a singular position, if the path passes through it."""
        chart = self.chart(state)
        start = chart.instant(state)
        for k in range(1, LEAPS + 1):
            trial, h = state.copy(), smallest * 2.0**k
            state_of(trial, self.width).step = math.inf
            if self.follow(trial, np.array([state[0] + h]), np.empty((1, self.width)), NEAR, h):
                end = chart.instant(trial)
                on_the_way = (between(start, end, start.t + part * h) for part in INSIDE)
                gaps = [np.max(np.abs(chart.linearize(x.t, x.q)[0])) for x in on_the_way]
                scale = self.roots * self.place.v_scale
                if max(gaps) <= AGREEMENT * (np.max(scale) + np.max(np.abs(self.read(state).q)) * np.min(scale)):
                    return trial
        return None

    def chart(self, state: Array) -> Chart:
        return Chart(self, self.read(state).q.copy())

    def power(self, state: Array) -> Array:
        """Power dissipated and supplied."""
        r, f = self.read(state), self.system.functions["power"]
        z = np.zeros(f.inputs)
        known = np.concatenate([r.t, r.q, r.v, r.lam])
        z[: len(known)] = known
        return f(z, self.p)

    def linearize(self, t: float, q: Array) -> tuple[Array, Array, Array]:
        """Psi, Psi_q with respect to W^1/2 v, and Psi_t, rows scaled as eps is."""
        at = replace(self.place, q=q, v=np.zeros(self.n), t=t)
        Psi_t = self.system.functions["forward"](np.concatenate([[t], q]), self.p)
        by = self.row_lengths
        return at.Psi / by, at.Psi_q / self.roots / by[:, None], Psi_t / by


@dataclass(frozen=True)
class Chart:
    """Positions around one of them, as x = W^1/2 dx with the dx that moves it there."""

    driven: Driven
    middle: Array

    def _way(self, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
        """dx and its rates."""
        f = self.driven.system.functions["deviation"]
        x, x_dot, x_ddot = np.split(f(np.concatenate([self.middle, q, v, a]), self.driven.p), 3)
        return x, x_dot, x_ddot

    def instant(self, state: Array) -> Instant:
        """The motion at a record."""
        r, roots = self.driven.read(state), self.driven.roots
        x, x_dot, x_ddot = self._way(r.q, r.v, r.a)
        return Instant(float(r.t[0]), roots * x, roots * x_dot, roots * x_ddot)

    def position(self, x: Array) -> Array:
        return replace(self.driven.place, q=self.middle).moved(x / self.driven.roots).q

    def linearize(self, t: float, x: Array) -> tuple[Array, Array, Array]:
        """As that of the mechanism. Away from the middle v is not quite the rate of dx, which does no harm."""
        return self.driven.linearize(t, self.position(x))

    def record(self, x: Instant) -> Array:
        """The record of a motion that is known, without multipliers and marked by sigma = 0."""
        d, made = self.driven, np.zeros(self.driven.width)
        r, still = d.read(made), np.zeros(d.n)
        r.t[0], r.q[:] = x.t, self.position(x.q)
        by_v = np.column_stack([self._way(r.q, unit, still)[1] for unit in np.eye(d.n)])  # x_dot is linear in v
        r.v[:] = np.linalg.solve(by_v, x.v / d.roots)
        r.a[:] = np.linalg.solve(by_v, x.a / d.roots - self._way(r.q, r.v, still)[2])
        return made
