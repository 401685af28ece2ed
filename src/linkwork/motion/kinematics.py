"""The motion of a mechanism whose drivers take all its freedoms, without integration.

At every instant   Psi(t, q) = 0,    Psi_q v = -Psi_t,    Psi_q a = gamma,    Psi_q^T lam = Q - M a:

positions by Newton's iteration from q + h v + h^2/2 a, velocities and accelerations from the constraints, and driving
forces and reactions by inverse dynamics. All four use the factor of

    [ W      Psi_q^T ]
    [ Psi_q  -eps    ]        W = diag(1, 1, arm^2) for every body

and are repeated until the true residuals vanish, so that eps leaves no trace, redundant constraints need no special
treatment and bodies may have no mass. Between report times the step is halved until both ends lie on one smooth curve;
this is what keeps the motion on its branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from time import perf_counter, thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork import projection
from linkwork.dense.vectors import copy, largest
from linkwork.equations.body import body_equations
from linkwork.equations.equations import TIME, Equations
from linkwork.errors import Interrupted, NumericalStop, UsageError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import ONE, ZERO, Expr, symbol
from linkwork.integrators.loop import report_times
from linkwork.model import Model
from linkwork.motion.check import notes
from linkwork.motion.driving import check_driving, quoted, singular_start
from linkwork.motion.initial import Place, start_values
from linkwork.motion.results import check_memory, columns, fill_report
from linkwork.motion.singular import (
    MOST_TOLD,
    Instant,
    Limit,
    Passed,
    about_singular,
    between,
    elements_of,
    limit_beyond,
    named,
    passed_between,
)
from linkwork.native.kernels import Pointer, call, kernel, offset
from linkwork.native.lowering import NativeFunction, Program, compile_programs
from linkwork.projection import CONVERGED, project, project_start
from linkwork.scene import scene
from linkwork.sequences.hoisting import parameter_frontier
from linkwork.soundness import sound
from linkwork.system import EPS, System, compile_system
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]

ARM = symbol("kinematics.arm")  # a length of the mechanism, by which turns compare with shifts

CLOSED = 1e-11  # of 1 + |q|: a position that does not close better is none
SOLVED = 1e-8  # of 1 + |a|: the last change of accelerations that count as found
MAX_REPETITIONS = 16
REPEATED = 1e-12  # of the largest: a repetition that changes less is the last
# How far two ends may be from one smooth curve, as a part of what lies between them.
SMOOTH, STEADY, COMMON = 0.25, 0.02, 1e-3
NOISE = 1e-9

NEAR = 1e-2  # of the largest on the path: a smallest singular value below this is near a singular position
COARSE = 2.0**-6  # of a report interval: the smallest step far from singular positions
FINE = 1e-10  # of a report interval: the smallest step of all
LEAPS = 9  # sizes tried, each twice the one before
ON_THE_WAY = 1e-10  # of 1 + |q|: what a path across a singular position may miss the constraints by
BLOCK = 10_000  # report times between two calls of `progress`
MOST_LOCATED = 2000  # singular positions looked for on one path
NEIGHBOURS = 6  # from which multipliers are continued into a singular position

# Behind (t, q, v, a, lam) a record holds the direction and the size of the smallest singular value and the powers;
# behind the record of the current state there are these.
STEP, BEST, STEPS, REJECTED = 0, 1, 2, 3
REMEMBERED = 4


def solved(
    r: Pointer, projection: int, close: int, refine: int, watch: int, power: int, n: int, m: int, n_closed: int,
    p: Pointer, p_own: Pointer, w: Pointer,
) -> bool:  # fmt: skip
    """Make a record of a guess: position, velocity, acceleration, multipliers; whether they were found."""
    y = w
    z = offset(y, 2 * n + 6)  # (t, q, v, lam, factor, a): what `close` returns, then lam and a in its place
    new = offset(z, n_closed + n)
    scratch = offset(new, n + m)
    call(projection, r, p, y, scratch)
    if y[2 * n + 5] != CONVERGED or not y[2 * n + 3] <= CLOSED * (1.0 + largest(y, n)):
        return False
    copy(y, offset(r, 1), 2 * n)
    call(close, r, p, z, scratch)
    copy(r, z, 1 + 2 * n)
    lam, a = offset(z, 1 + 2 * n), offset(z, n_closed)
    for i in range(m):
        lam[i] = 0.0
    for i in range(n):
        a[i] = 0.0
    change, size = math.inf, 0.0
    for k in range(MAX_REPETITIONS):
        call(refine, z, p_own, new, scratch)
        before, change, shift, size, load = change, 0.0, 0.0, 1.0, 1.0
        for i in range(n):
            change = max(change, abs(new[i] - a[i]))
            size = max(size, abs(new[i]))
            a[i] = new[i]
        for i in range(m):
            shift = max(shift, abs(new[n + i] - lam[i]))
            load = max(load, abs(new[n + i]))
            lam[i] = new[n + i]
        if change <= REPEATED * size and shift <= REPEATED * load:
            break  # what is left is smaller than this change by a large factor
        if k >= 3 and change > 0.5 * before:
            break
    if not change <= SOLVED * size:
        return False
    copy(a, offset(r, 1 + 2 * n), n)
    copy(lam, offset(r, 1 + 3 * n), m)

    # One step of inverse iteration: |x| falls by 1 + sigma^2/eps.
    null = offset(r, 1 + 3 * n + m)
    copy(null, a, n)
    call(watch, z, p_own, new, scratch)
    length = 0.0
    for i in range(n):
        length += new[i] * new[i]
    length = math.sqrt(length)
    if not length > 0.0:
        return False
    for i in range(n):
        null[i] = new[i] / length
    null[n] = math.sqrt(EPS * max(0.0, 1.0 / length - 1.0))
    call(power, z, p_own, offset(null, n + 1), scratch)
    return True


def smooth(old: Pointer, new: Pointer, n: int) -> bool:
    """Whether two records are ends of one smooth curve, in every coordinate.

    v_1 - v_0 = h/2 (a_0 + a_1) + O(h^3),    q_1 - q_0 = h/2 (v_0 + v_1) - h^2/12 (a_1 - a_0) + O(h^5)
    """
    h = new[0] - old[0]
    q_0, v_0, a_0 = offset(old, 1), offset(old, 1 + n), offset(old, 1 + 2 * n)
    q_1, v_1, a_1 = offset(new, 1), offset(new, 1 + n), offset(new, 1 + 2 * n)
    fastest = max(largest(v_0, n), largest(v_1, n))
    steepest = h * max(largest(a_0, n), largest(a_1, n))
    for i in range(n):
        speed = max(abs(v_0[i]), abs(v_1[i]))
        gain = 0.5 * h * (abs(a_0[i]) + abs(a_1[i]))
        jump = abs(v_1[i] - v_0[i] - 0.5 * h * (a_0[i] + a_1[i]))
        if not jump <= SMOOTH * gain + STEADY * speed + COMMON * steepest + NOISE * (1.0 + fastest):
            return False
        jump = abs(q_1[i] - q_0[i] - 0.5 * h * (v_0[i] + v_1[i]) + h * h * (a_1[i] - a_0[i]) / 12.0)
        if not jump <= h * (SMOOTH * (speed + gain) + COMMON * (fastest + steepest)) + NOISE * (1.0 + abs(q_0[i])):
            return False
    return True


@kernel
def follow(
    projection: int, close: int, refine: int, watch: int, power: int, n: int, m: int, n_closed: int,
    guard: float, smallest: float, n_rows: int,
    times: Pointer, p: Pointer, p_own: Pointer, state: Pointer, rows: Pointer, w: Pointer,
) -> int:  # fmt: skip
    """Go on from the state to the times, a record into `rows` for each; how many were reached.

    No step is shorter than `smallest`, and none leads where the smallest singular value is below `guard` of the
    largest so far (unless the state is there already).
    """
    null = 1 + 3 * n + m
    sigma = null + n
    width = sigma + 3
    own = offset(state, width)
    trial, scratch = w, offset(w, width)
    for k in range(n_rows):
        while state[0] < times[k]:
            left = times[k] - state[0]
            h = min(own[STEP], left)
            if h < left < 2.0 * h:
                h = 0.5 * left  # two equal steps instead of one and a rest
            trial[0] = times[k] if h == left else state[0] + h
            for i in range(n):
                v, a = state[1 + n + i], state[1 + 2 * n + i]
                trial[1 + i] = state[1 + i] + h * (v + 0.5 * h * a)
                trial[1 + n + i] = v + h * a
                trial[null + i] = state[null + i]
            good = solved(trial, projection, close, refine, watch, power, n, m, n_closed, p, p_own, scratch)
            good = good and smooth(state, trial, n)
            near = guard * own[BEST]
            if good and not trial[sigma] < near <= state[sigma]:
                copy(trial, state, width)
                own[BEST] = max(own[BEST], state[sigma])
                own[STEP] = max(own[STEP], 2.0 * h)
                own[STEPS] += 1.0
            else:
                own[STEP] = 0.5 * h
                own[REJECTED] += 1.0
                if own[STEP] < smallest:
                    return k
        copy(state, offset(rows, k * width), width)
    return n_rows


@dataclass(frozen=True)
class Mechanism:
    """The compiled functions of a driven mechanism. Beside those of `system`, all of (t, q, v, lam, factor, a):

    refine     -> (a, lam) corrected by the residuals of Psi_q a = gamma and M a + Psi_q^T lam = Q
    watch      -> (1 + J^T J/eps)^-1 x with J = Psi_q W^-1/2, for x in the place of a
    power      -> power dissipated, power supplied
    linear     -> entries of Psi_q, then Psi_t

    A record is (t, q, v, a, lam, x, sigma, power dissipated, power supplied): sigma is the smallest singular value of
    J with rows scaled as eps is, x its direction.
    """

    system: System
    own: dict[str, NativeFunction]
    p: Array
    p_own: Array
    roots: Array  # W^1/2
    row_lengths: Array  # of Psi_q W^-1/2 at the start

    @property
    def width(self) -> int:
        return 1 + self.system.n_q + 3 * self.system.n_v + self.system.m + 3

    @cached_property
    def machine_code(self) -> tuple[int, ...]:
        """The first arguments of `follow`."""
        s = self.system
        own = (self.own[name].address for name in ("refine", "watch", "power"))
        close = s.functions["close"]
        return project.address, close.address, *own, s.n_v, s.m, close.outputs

    @cached_property
    def scratch(self) -> Array:
        n, f = self.system.n_q + 2 * self.system.n_v, self.system.functions
        inner = max(projection.of_system(self.system).work, f["close"].work, *(g.work for g in self.own.values()))
        return np.empty(self.width + n + 6 + f["close"].outputs + n + self.system.m + inner)

    def start(self, place: Place) -> Array:
        """The state at t = 0."""
        s = self.system
        q, v = np.split(project_start(s, self.p, place.q, place.v)[:-2], 2)
        z = np.append(s.functions["close"](np.concatenate([[0.0], q, v]), self.p), np.zeros(s.n_v))
        z[1 : 1 + s.n_q + s.n_v + s.m] = np.concatenate([q, v, np.zeros(s.m)])
        a, lam = np.zeros(s.n_v), np.zeros(s.m)
        for _ in range(MAX_REPETITIONS):
            a, lam = np.split(self.own["refine"](z, self.p_own), [s.n_v])
            z[-s.n_v :], z[1 + s.n_q + s.n_v :][: s.m] = a, lam
        _, J, _ = self.linearized(0.0, self.roots * q)
        _, values, V_T = np.linalg.svd(J)
        sigma = float(values[-1])
        record = np.concatenate([[0.0], q, v, a, lam, V_T[-1], [sigma], self.own["power"](z, self.p_own)])
        return np.append(record, [math.inf, sigma, 0.0, 0.0])

    def follow(self, state: Array, times: Array, rows: Array, guard: float, smallest: float) -> int:
        """How many of the times were reached, with their records in `rows`; `state` is moved along."""
        arrays = (np.ascontiguousarray(times), self.p, self.p_own, state, rows, self.scratch)
        return int(follow(*self.machine_code, guard, smallest, len(times), *arrays))

    def leap(self, state: Array, smallest: float) -> Array | None:
        """The state beyond a singular position, if the path passes through it."""
        start = self.instant(state)
        for k in range(1, LEAPS + 1):
            trial, h = state.copy(), smallest * 2.0**k
            trial[self.width + STEP] = math.inf
            if self.follow(trial, np.array([state[0] + h]), np.empty((1, self.width)), NEAR, h):
                end = self.instant(trial)
                on_the_way = (between(start, end, start.t + part * h) for part in (0.2, 0.4, 0.5, 0.6, 0.8))
                gaps = [np.max(np.abs(self.linearized(x.t, x.q)[0])) for x in on_the_way]
                if max(gaps) <= ON_THE_WAY * (1.0 + np.max(np.abs(start.q))):
                    return trial
        return None

    def instant(self, record: Array) -> Instant:
        """The motion at a record, in the coordinates W^1/2 q."""
        n = self.system.n_v
        q, v, a = (self.roots * record[1 + k * n : 1 + (k + 1) * n] for k in range(3))
        return Instant(float(record[0]), q, v, a)

    def record(self, x: Instant) -> Array:
        """The record of a motion that is known, without multipliers and marked by sigma = 0."""
        q, v, a = (part / self.roots for part in (x.q, x.v, x.a))
        return np.concatenate([[x.t], q, v, a, np.zeros(self.width - 1 - 3 * len(q))])

    def power(self, record: Array) -> Array:
        """Power dissipated and supplied."""
        n, m = self.system.n_v, self.system.m
        z = np.zeros(self.own["power"].inputs)
        z[: 1 + 2 * n], z[1 + 2 * n : 1 + 2 * n + m] = record[: 1 + 2 * n], record[1 + 3 * n : 1 + 3 * n + m]
        return self.own["power"](z, self.p_own)

    def linearized(self, t: float, x: Array) -> tuple[Array, Array, Array]:
        """Psi, Psi_q and Psi_t with respect to x = W^1/2 q, rows scaled as eps is."""
        n, m, entries = self.system.n_v, self.system.m, self.system.equations.Psi_q
        z = np.zeros(self.own["linear"].inputs)
        z[0], z[1 : 1 + n] = t, x / self.roots
        Psi = self.system.functions["constraints"](z[: 1 + 2 * n], self.p)[:m]
        values = self.own["linear"](z, self.p_own)
        J = np.zeros((m, n))
        J[tuple(zip(*entries, strict=True))] = values[: len(entries)]
        Psi_t = values[len(entries) :]
        return Psi / self.row_lengths, J / self.roots / self.row_lengths[:, None], Psi_t / self.row_lengths


class Path:
    """The motion so far: `reached` of the report times have their rows."""

    def __init__(self, mechanism: Mechanism, times: Array, place: Place) -> None:
        self.mechanism = mechanism
        self.times = times
        self.step = float(times[1] - times[0])
        self.rows = np.empty((len(times), mechanism.width))
        self.reached = 1
        self.state = mechanism.start(place)
        self.rows[0] = self.state[: mechanism.width]
        self.leapt: list[Passed] = []

    def follow(self) -> Iterator[int]:
        """Go on from report time to report time; the number of those reached, every now and then."""
        while self.reached < len(self.times):
            if not self._advance(BLOCK, NEAR, COARSE) and not self._leap() and not self._advance(1, 0.0, FINE):
                return
            yield self.reached

    @property
    def interval(self) -> float:
        """The time between the last report time reached and the next."""
        return float(self.times[self.reached] - self.times[self.reached - 1])

    def _advance(self, count: int, guard: float, part: float) -> bool:
        """Whether so many report times, or all, were reached with steps above this part of a report interval."""
        ahead = self.times[self.reached : self.reached + count]
        smallest = max(part * self.interval, 2.0**-48 * float(ahead[0]))
        found = self.mechanism.follow(self.state, ahead, self.rows[self.reached :], guard, smallest)
        self.reached += found
        return found == len(ahead)

    def _leap(self) -> bool:
        """Cross a singular position; the motion at report times on the way is interpolated."""
        m = self.mechanism
        beyond = m.leap(self.state, COARSE * self.interval)
        if beyond is None:
            return False
        start, end = m.instant(self.state), m.instant(beyond)
        passed = passed_between(start, end, m.linearized, self.best)
        if passed is None:
            return False
        self.leapt.append(passed)
        while self.reached < len(self.times) and self.times[self.reached] <= end.t:
            self.rows[self.reached] = m.record(between(start, end, float(self.times[self.reached])))
            self.reached += 1
        self.state = beyond
        return True

    @property
    def best(self) -> float:
        return float(self.state[self.mechanism.width + BEST])

    def passed(self) -> list[Passed]:
        """The singular positions passed: those leapt across, and those a step went over.

        Where sigma falls to zero as |t - t*|, it is less than half on the near side of what it was a step before.
        """
        m = self.mechanism
        sigma = self.rows[: self.reached, -3]
        falls = sigma[1:] < 0.6 * sigma[:-1]
        rises = sigma[:-1] < 0.6 * sigma[1:]
        suspect = np.zeros(len(sigma), dtype=bool)
        suspect[1:-1] |= falls[:-1] & (sigma[1:-1] > 0.0)
        suspect[:-2] |= rises[1:] & (sigma[1:-1] > 0.0)
        found = list(self.leapt)
        for k in np.flatnonzero(suspect[:-1])[:MOST_LOCATED]:
            passed = passed_between(m.instant(self.rows[k]), m.instant(self.rows[k + 1]), m.linearized, self.best)
            if passed is not None and all(abs(passed.t - other.t) > 1e-6 * (1.0 + passed.t) for other in found):
                found.append(passed)
        return sorted(found, key=lambda passed: passed.t)

    def continue_multipliers(self, passed: list[Passed]) -> None:
        """Give the interpolated rows multipliers continued from their neighbours.

        Towards a singular position at t* they may grow like 1/(t - t*), so (t - t*) lam is the polynomial through
        neighbours on both sides; at t* itself the part that does not grow is left.
        """
        m, n, rows = self.mechanism, self.mechanism.system.n_v, self.rows[: self.reached]
        regular = np.flatnonzero(rows[:, -3] > 0.0)
        for k in np.flatnonzero(rows[:, -3] == 0.0):
            t = rows[k, 0]
            singular = min((x.t for x in passed), key=lambda other: abs(other - t))
            near = regular[np.argsort(np.abs(regular - k), kind="stable")[:NEIGHBOURS]]
            x, here = (rows[near, 0] - singular) / self.step, (t - singular) / self.step
            lam = slice(1 + 3 * n, 1 + 3 * n + m.system.m)
            c = np.linalg.solve(np.vander(x, increasing=True), x[:, None] * rows[near, lam])
            grows = c[0] / here if abs(here) > 1e-6 else 0.0
            rows[k, lam] = grows + here ** np.arange(len(c) - 1) @ c[1:]
            rows[k, -2:] = m.power(rows[k])

    def near(self, passed: list[Passed]) -> list[tuple[float, float]]:
        """Times at which the path comes near a singular position without passing one, and how near."""
        t, sigma = self.times[: self.reached], self.rows[: self.reached, -3] / self.best
        inside = np.concatenate([[False], (sigma < NEAR) & (sigma > 0.0), [False]])
        ends = np.flatnonzero(inside[1:] != inside[:-1]).reshape(-1, 2)
        found = []
        for first, last in ends:
            around = t[max(first - 1, 0)], t[min(last, len(t) - 1)]
            ends_here = last == len(t) < len(self.times)
            if not ends_here and not any(around[0] <= x.t <= around[1] for x in passed):
                k = first + int(np.argmin(sigma[first:last]))
                found.append((float(t[k]), float(sigma[k])))
        return found

    def limit(self) -> Limit | None:
        """Where the motion ends, if it does so shortly after the state."""
        m = self.mechanism
        return limit_beyond(m.instant(self.state), m.linearized, float(np.max(m.roots)))


def in_metric(e: Equations) -> tuple[Equations, Array]:
    """The equations with W in the place of M, and W^1/2."""
    turning = [name.endswith(".phi") for name in e.v_names]
    arms = np.abs(Place(e, *e.start()).Psi_q[:, turning])
    arm = float(np.max(arms, initial=0.0)) or 1.0
    W = {(k, k): ARM * ARM if turns else ONE for k, turns in enumerate(turning)}
    return replace(e, M=W, parameters={**e.parameters, ARM: arm}), np.where(turning, arm, 1.0)


def compile_mechanism(e: Equations, M: Mapping[tuple[int, int], Expr], roots: Array) -> Mechanism:
    """Machine code; `e` has the metric in the place of the mass matrix, which is M."""
    system = compile_system(e, repeat=0)
    n, m = system.n_v, system.m
    force, rate = list(e.Q), list(e.gamma)
    for (i, j), entry in M.items():
        force[i] = force[i] - entry * e.a[j]
    for (i, j), entry in e.Psi_q.items():
        force[j] = force[j] - entry * e.lam[i]
        rate[i] = rate[i] - entry * e.a[j]
    entries = [symbol(f"factor {k}") for k in range(len(system.factor_pattern.entries()))]
    factor = system.factor_pattern.with_entries(entries)
    change = factor.solve([*force, *rate])
    refined = [x + dx for x, dx in zip((*e.a, *e.lam), change, strict=True)]
    root = [ARM if r is not ONE else ONE for r in (e.M[k, k] for k in range(n))]
    inverse = factor.solve([*(r * x for r, x in zip(root, e.a, strict=True)), *[ZERO] * m])[:n]
    inputs = (TIME, *e.q, *e.v, *e.lam, *entries, *e.a)
    programs = [
        Program("refine", inputs, refined),
        Program("watch", inputs, [r * x for r, x in zip(root, inverse, strict=True)]),
        Program("power", inputs, [e.dissipation, e.supplied_power]),
        Program("linear", inputs, [*e.Psi_q.values(), *e.Psi_t]),
    ]
    frontier = parameter_frontier((y for program in programs for y in program.outputs), [*e.parameters])
    own = compile_programs(programs, frontier)
    lengths: Array = np.linalg.norm(Place(e, *e.start()).Psi_q / roots, axis=1).astype(float)
    return Mechanism(
        system=system,
        own=own,
        p=system.p(),
        p_own=np.array(evaluate(frontier, e.parameters), dtype=float),
        roots=roots,
        row_lengths=np.maximum(lengths, 0.03 * np.max(lengths)),
    )


def kinematics(
    model: Model,
    *,
    t_end: float | None = None,
    step: float | None = None,
    assemble: bool = False,
    progress: Callable[[float, float], None] | None = None,
) -> Trajectory:
    """The motion that the drivers of a mechanism prescribe, with driving forces and reactions.

    Arguments that are None are taken from the model. `assemble` allows the start position to be far from closed.
    Singular positions that are passed are in the notes and in info["singular_positions"]. Where the mechanism locks,
    NumericalStop with the code "lock-up" carries the trajectory so far, the time `t`, the `position` and the `joints`.
    """
    settings = model.simulation.changed(t_end, step)
    t_end, step = settings.t_end, settings.step
    times = report_times(0.0, t_end, step)
    if model.space != "planar":
        raise UsageError("kinematic analysis is for planar mechanisms", "not-planar")
    began = perf_counter()
    model = sound(replace(model, simulation=settings))
    true = body_equations(model)
    check_memory(times, true)
    e, roots = in_metric(true)
    check_driving(model, e, assemble)
    start = start_values(e, "unit", any_distance=assemble)
    rank = start.place.rank
    if rank.rank < len(e.v):
        raise singular_start(start.place)
    mechanism = compile_mechanism(e, true.M, roots)
    for needed in (project, follow, fill_report):
        _ = needed.address
    info: dict[str, Any] = {
        "model": model.name,
        "analysis": "kinematics",
        "coordinates": "body",
        "formulation": "kinematic",
        "stabilization": "newton",
        "integrator": "none",
        "t_end": t_end,
        "step": step,
        "dof": 0,
        "redundant": len(e.rows) - rank.rank,
        "parameters": dict(model.parameters),
        "scene": scene(model).as_dict(),
        "versions": {name: version(name) for name in ("linkwork", "numpy", "llvmlite", "numba")},
    }
    inertia = np.diag(Place(true, *true.start()).M)
    loaded = bool(np.any(inertia > 0.0) or model.forces)
    moved = replace(start, given=replace(start.given, v=start.place.v))  # velocities follow from the drivers
    said = [note for note in notes(model, moved, rank) if not note.endswith("[zero-mass]")]
    if not loaded:
        said.append("no body has mass and no force acts: there are no reactions [no-masses]")
    elif light := {name.rsplit(".", 1)[0]: None for name, x in zip(e.v_names, inertia, strict=True) if x <= 0.0}:
        said.append(f"the reactions hold no inertia forces of {quoted(light)}, which have no mass [zero-mass]")
    compiled, cpu = perf_counter(), thread_time()
    info["compile_s"] = compiled - began
    path = Path(mechanism, times, start.place)

    def result(status: str, reason: str = "") -> Trajectory:
        motion = _trajectory(path, loaded, {**info, "status": status, "reason": reason}, said)
        now = perf_counter()
        times_taken = {"computing_s": now - compiled, "cpu_s": thread_time() - cpu, "wall_s": now - began}
        return replace(motion, info={**motion.info, **times_taken})

    try:
        for reached in path.follow():
            if progress is not None:
                progress(reached / len(times), float(times[reached - 1]))
    except KeyboardInterrupt:
        at = float(times[path.reached - 1])
        raise Interrupted(
            f"interrupted at t = {at:.6g} of {t_end:.6g}", trajectory=result("interrupted", "interrupted by the user")
        ) from None
    if path.reached < len(times):
        raise _stopped(model, path, result)
    return result("finished")


def _stopped(model: Model, path: Path, result: Callable[[str, str], Trajectory]) -> NumericalStop:
    """Why the motion does not go on."""
    e, limit = path.mechanism.system.equations, path.limit()
    if limit is None:
        t = float(path.state[0])
        message = f"no position was found after t = {t:.9g}, however short the step; what was reached is kept"
        return NumericalStop(message, "no-position", trajectory=result("stopped", message), t=t)
    joints = elements_of(tuple(row.element for row in e.rows), limit.involvement)
    values = {symbol(name): value for name, value in model.parameters.items()}
    driven = evaluate([driver.motion.f(TIME) for driver in model.drivers], {**values, TIME: limit.t})
    at = ", ".join(f"{driver.name} = {x:.9g}" for driver, x in zip(model.drivers, driven, strict=True))
    message = (
        f"the mechanism locks at t = {limit.t:.9g} ({at}): no position exists beyond; involved are {quoted(joints)}"
    )
    q = limit.q / path.mechanism.roots
    return NumericalStop(
        message,
        "lock-up",
        trajectory=result("stopped", message),
        t=limit.t,
        position={name: float(x) for name, x in zip(e.q_names, q, strict=True)},
        joints=joints,
        drivers={driver.name: float(x) for driver, x in zip(model.drivers, driven, strict=True)},
    )


def _trajectory(path: Path, loaded: bool, info: dict[str, Any], said: list[str]) -> Trajectory:
    system = path.mechanism.system
    e, n, m = system.equations, system.n_v, system.m
    passed = path.passed()
    path.continue_multipliers(passed)
    rows, t = path.rows[: path.reached], path.times[: path.reached]
    q, v, a = (rows[:, 1 + k * n : 1 + (k + 1) * n] for k in range(3))
    lam = rows[:, 1 + 3 * n : 1 + 3 * n + m]
    found = columns(system, path.mechanism.p, t, q, v, a, lam)
    singular = named(tuple(row.element for row in e.rows), passed)
    told = about_singular(singular, "the motion goes on smoothly")
    outputs = dict(found.outputs)
    if not loaded:
        outputs |= {"reactions": {}, "driving": {}}
    steps, rejected = (int(path.state[-REMEMBERED + k]) for k in (STEPS, REJECTED))
    info.update(
        steps=steps,
        rejected=rejected,
        evaluations=1 + steps + rejected,  # positions solved for
        notes=(*said, *told, *(_about_near(t, x) for t, x in path.near(passed)[:MOST_TOLD])),
        singular_positions=singular,
        constraint_error_position=float(np.max(found.error_position)),
        constraint_error_velocity=float(np.max(found.error_velocity)),
    )
    return Trajectory(
        name=str(info["model"]),
        t=t,
        q=q,
        v=v,
        a=a,
        lam=lam,
        q_names=e.q_names,
        v_names=e.v_names,
        rows=tuple(str(row) for row in e.rows),
        energy={
            "kinetic": found.kinetic,
            "potential": found.potential,
            "dissipated": _integral(rows[:, -2], t),
            "supplied": _integral(rows[:, -1], t),
        },
        outputs=outputs,
        error_position=found.error_position,
        error_velocity=found.error_velocity,
        info=info,
    )


def _about_near(t: float, part: float) -> str:
    return (
        f"the path comes near a singular position about t = {t:.6g}: the smallest singular value falls to {part:.1e} "
        "of what it is elsewhere [near-singular]"
    )


def _integral(rate: Array, t: Array) -> Array:
    """The integral over the report times, by the trapezoidal rule with the correction of its ends, of fourth order."""
    if len(t) < 3:
        return np.concatenate([[0.0], np.cumsum(0.5 * np.diff(t) * (rate[1:] + rate[:-1]))])
    h, slope = np.diff(t), np.gradient(rate, t, edge_order=2)
    parts = 0.5 * h * (rate[1:] + rate[:-1]) - h * h / 12.0 * np.diff(slope)
    return np.concatenate([[0.0], np.cumsum(parts)])
