"""Gradients of few numbers by many parameters: the accepted steps of a motion, transposed and taken back in time.

A number F that depends on states with the weights w = dF/dy at the end of a step depends on what the step

    Y_i = y + h sum_j a_ij k_j,    k_i = f(Y_i),    y_new = P(y + h sum_i b_i k_i)

begins with, P bringing it onto the constraints, with the weights w + sum_i g_i, from the last stage to the first

    u = P_y^T w,    K_i = h b_i u + h sum_(j > i) a_ji g_j,    g_i = f_y^T K_i,    dF/dp += f_p^T K_i

[griewank2008]. What is reported inside a step is dense output, which has weights of its own and further stages. Only
the states at the ends of steps are kept; stages are computed once more. These are the transposes of what
simulation/varied.py integrates, so that both give the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.constraints import projection
from linkwork.equations.equations import TIME
from linkwork.equations.implicit import N_WORK
from linkwork.equations.varied import fixed, size_of_variation, varying
from linkwork.expressions.graph import Expr
from linkwork.integrators.integrate import End, Settings
from linkwork.integrators.memory import MOMENTS, Method, open_run
from linkwork.integrators.methods.runge_kutta import open_stages
from linkwork.integrators.methods.tableaus import Tableau
from linkwork.linalg.vectors import add, clear, copy
from linkwork.native.kernels import Memory, Pointer, Size, call, integer, kernel, offset, size_of, split
from linkwork.records import kept
from linkwork.simulation.problem import Form, Motion
from linkwork.simulation.varied import Gradients, VariedCourse, VariedMotion
from linkwork.tolerances import TYPED

Array = NDArray[np.float64]


class Record(Memory):
    """Steps of a run, each with its length h and the (t, y) at which it began; `step` is that of the method."""

    step: Size
    count: int
    rows: Pointer  # MOMENTS (2 + n): so many before Python takes them
    rest: Pointer


def record(own: Pointer, n: int) -> Record:
    return Record(*split(own, (1, 1, MOMENTS * (2 + n))))


@kernel
def note_step(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Note where a step begins, in the place of one that was tried from there before, and make it."""
    at = open_run(m)
    its = record(open_stages(own, at).rest, at.n)
    width, last = 2 + at.n, its.count - 1
    if last < 0 or its.rows[last * width + 1] != at.x[0]:
        last += 1
        its.count = last + 1
    its.rows[last * width] = at.h
    copy(at.x, offset(its.rows, last * width + 1), 1 + at.n)
    at.is_full = at.is_full or its.count == MOMENTS
    call(its.step, m, p, own, w)


@dataclass(frozen=True)
class Recording:
    """An explicit method that notes its steps."""

    method: Tableau

    @property
    def name(self) -> str:
        return self.method.name

    def prepare(self, n: int) -> Method:
        inner = self.method.prepare(n)
        own = np.concatenate([inner.own, np.zeros(size_of(record, n))])
        record(own[len(inner.own) :], n).step = inner.step
        return Method(**{**inner.__dict__, "step": note_step.address, "own": own})


class Back(Memory):
    """What a sweep back over steps is told, and its scratch; the first numbers are its sizes."""

    ny: int
    n_q: int
    n_v: int
    m: int
    n_s: int  # weights: of (q, v, work, held values)
    n_p: int
    s: int
    count: int  # stages, those of dense output too
    n_dense: int
    n_projected: int
    sizes: Pointer  # these numbers
    dynamics: Size
    project: Size  # or 0
    pull: Size
    onto: Size
    c: Pointer  # count
    A: Pointer  # count count
    W: Pointer  # n_dense count
    arguments: Pointer  # count (1 + ny)
    stages: Pointer  # count (ny + m)
    weights: Pointer  # count ny: K_i
    before: Pointer  # n_s: what F depends on by the state where the step begins
    found: Pointer  # n_s + n_p
    argument: Pointer  # 1 + 2 ny + n_v + m + n_s
    projected: Pointer  # n_projected
    rest: Pointer


N_SIZES = Back._fields.index("sizes")


def back(
    own: Pointer, ny: int, n_q: int, n_v: int, m: int, n_s: int, n_p: int, s: int, count: int, n_dense: int, n_out: int
) -> Back:
    tables = (count, count * count, n_dense * count)
    vectors = (count * (1 + ny), count * (ny + m), count * ny, n_s, n_s + n_p, 1 + 2 * ny + n_v + m + n_s, n_out)
    counts = (N_SIZES, 1, 1, 1, 1, *tables, *vectors)
    return Back(ny, n_q, n_v, m, n_s, n_p, s, count, n_dense, n_out, *split(own, counts))


def open_back(own: Pointer) -> Back:
    return back(
        own, integer(own, 0), integer(own, 1), integer(own, 2), integer(own, 3), integer(own, 4), integer(own, 5),
        integer(own, 6), integer(own, 7), integer(own, 8), integer(own, 9),
    )  # fmt: skip


def argument_of(at: Back, i: int) -> Pointer:
    """Return the place of (t, Y_i)."""
    return offset(at.arguments, i * (1 + at.ny))


def compute_stage(at: Back, i: int, x: Pointer, x_new: Pointer, h: float, p: Pointer, w: Pointer) -> None:
    """Compute k_i, and Y_i unless it is the end of the step, which is projected."""
    ny, width = at.ny, at.ny + at.m
    Y = argument_of(at, i)
    copy(x, Y, 1 + ny)
    Y[0] = min(x[0] + at.c[i] * h, max(x[0] + h, x_new[0]))
    for j in range(i):
        weight = at.A[i * at.count + j]
        if weight != 0.0:
            add(offset(Y, 1), h * weight, offset(at.stages, j * width), 0, ny)
    if i == at.s and at.project != 0:
        call(at.project, Y, p, at.projected, w)
        copy(at.projected, offset(Y, 1), ny)
    call(at.dynamics, Y, p, offset(at.stages, i * width), w)


def pull_stage(at: Back, i: int, p: Pointer, gradient: Pointer, w: Pointer) -> None:
    """Find g_i, in `found`; add what it says of parameters."""
    ny, n_q, n_v, m = at.ny, at.n_q, at.n_v, at.m
    k = offset(at.stages, i * (ny + m))
    copy(argument_of(at, i), at.argument, 1 + ny)
    copy(offset(k, n_q), offset(at.argument, 1 + ny), n_v)
    copy(offset(k, ny), offset(at.argument, 1 + ny + n_v), m)
    copy(offset(at.weights, i * ny), offset(at.argument, 1 + ny + n_v + m), ny)
    call(at.pull, at.argument, p, at.found, w)
    add(gradient, 1.0, offset(at.found, at.n_s), 0, at.n_p)


def pull_onto(at: Back, x: Pointer, weights: Pointer, p: Pointer, gradient: Pointer, w: Pointer) -> None:
    """Find the weights of a state before its projection to (t, y), in `found`; add what they say of parameters."""
    if at.project == 0:
        copy(weights, at.found, at.n_s)
        return
    copy(x, at.argument, 1 + at.ny)
    copy(weights, offset(at.argument, 1 + at.ny), at.n_s)
    call(at.onto, at.argument, p, at.found, w)
    add(gradient, 1.0, offset(at.found, at.n_s), 0, at.n_p)


def spread(at: Back, i: int, count: int, h: float) -> None:
    """Add g_i, the weights of Y_i, to those of what it is made of: the state, and the first stages."""
    add(at.before, 1.0, at.found, 0, at.n_s)
    for j in range(count):
        weight = at.A[i * at.count + j]
        if weight != 0.0:
            add(offset(at.weights, j * at.ny), h * weight, at.found, 0, at.ny)


def spread_dense(at: Back, theta: float, h: float) -> None:
    """Add the weights of dense output, in `found`, to those of what it is made of."""
    add(at.before, 1.0, at.found, 0, at.n_s)
    power = 1.0
    for j in range(at.n_dense):
        power *= theta if j % 2 == 0 else 1.0 - theta
        for i in range(at.count):
            weight = at.W[j * at.count + i]
            if weight != 0.0:
                add(offset(at.weights, i * at.ny), h * power * weight, at.found, 0, at.ny)


@kernel
def go_back(
    own: Pointer, p: Pointer, w: Pointer, path: Pointer, n_steps: int, rows: Pointer, n_rows: int, total: Pointer
) -> None:
    """Take `total`, the weights of the state at the end of the path and of parameters, back to its beginning.

    `path` has h, t and y of each step, and behind them those of the end; `rows` have t and y of what is reported on the
    way, with the weights of their states.
    """
    at = open_back(own)
    ny, n_s, s, count = at.ny, at.n_s, at.s, at.count
    step_width, row_width = 2 + ny, 1 + ny + n_s
    gradient = offset(total, n_s)
    row = n_rows - 1
    for k in range(n_steps - 1, -1, -1):
        x, h = offset(path, k * step_width + 1), path[k * step_width]
        x_new = offset(x, step_width)
        while row >= 0 and rows[row * row_width] >= x_new[0]:
            add(total, 1.0, offset(rows, row * row_width + 1 + ny), 0, n_s)
            row -= 1
        theta = (x_new[0] - x[0]) / h
        ends_inside = abs(theta - 1.0) > TYPED  # at an event, to which the polynomial of the step has led
        is_dense = ends_inside or (row >= 0 and rows[row * row_width] > x[0])
        for i in range(count if is_dense else s):
            compute_stage(at, i, x, x_new, h, p, w)
        clear(at.weights, 0, count * ny)
        clear(at.before, 0, n_s)
        end = x_new
        if is_dense:
            end = argument_of(at, s)
            if ends_inside:
                pull_onto(at, x_new, total, p, gradient, w)
                spread_dense(at, theta, h)
                clear(total, 0, n_s)
            while row >= 0 and rows[row * row_width] > x[0]:
                own_row = offset(rows, row * row_width)
                pull_onto(at, own_row, offset(own_row, 1 + ny), p, gradient, w)
                spread_dense(at, (own_row[0] - x[0]) / h, h)
                row -= 1
            for i in range(count - 1, s, -1):
                pull_stage(at, i, p, gradient, w)
                spread(at, i, i, h)
            pull_stage(at, s, p, gradient, w)
            add(total, 1.0, at.found, 0, n_s)
        pull_onto(at, end, total, p, gradient, w)
        spread(at, s, s, h)
        for i in range(s - 1, -1, -1):
            pull_stage(at, i, p, gradient, w)
            spread(at, i, i, h)
        copy(at.before, total, n_s)
    while row >= 0:
        add(total, 1.0, offset(rows, row * row_width + 1 + ny), 0, n_s)
        row -= 1


class Segment(NamedTuple):
    """Steps between two moments at which Python was told of something, and what then became of the state."""

    form: Form
    p: Array
    path: Array  # h, t and y of each step, and of the end
    row: int  # report rows before it,
    n_edges: int  # and edges, of which the last may be its beginning
    link: Array | None  # d(state behind) by state and parameters, a row each; None where it stays as it is


@dataclass(eq=False)
class RecordedMotion(VariedMotion):
    """A motion whose steps are noted; its variations are by the state of now and by parameters, in this order."""

    segments: list[Segment] = field(default_factory=list)
    steps: list[Array] = field(default_factory=list)  # since the last segment
    begun: tuple[Form, Array, int, int] = field(init=False)  # form, p, report rows and edges there

    def unknowns(self, t: float, y: Array) -> Array:
        return Motion.unknowns(self, t, y)

    def error_scale(self) -> Array:
        return Motion.error_scale(self)

    def begin_segment(self, n_edges: int) -> None:
        self.begun = self.form, self.state.p.copy(), self.state.at.row, n_edges

    def take_steps(self) -> None:
        """Take what has been noted since the last time."""
        at, own = self.state.at, self.state.own
        noted = record(open_stages(own, at).rest, at.n)
        if noted.count:
            rows = noted.rows.reshape(MOMENTS, -1)[: noted.count, : 2 + at.ny].copy()
            if self.steps and self.steps[-1][-1, 1] == rows[0, 1]:  # it was tried once more
                self.steps[-1] = self.steps[-1][:-1]
            self.steps.append(rows)
            noted.count = 0

    def end_segment(self) -> None:
        """Close the segment with the state of now."""
        at = self.state.at
        end = np.concatenate([[0.0], at.x[: 1 + at.ny]])
        form, p, row, n_edges = self.begun
        self.segments.append(Segment(form, p, np.vstack([*self.steps, end]), row, n_edges, None))
        self.steps.clear()

    def take_variations(self) -> None:
        n_s = size_of_variation(self.system.equations, self.chosen)
        self.variations = np.eye(n_s + len(self.chosen), n_s)

    def give_variations(self, variations: Array) -> None:
        self.segments[-1] = self.segments[-1]._replace(link=variations)


@dataclass
class RecordedCourse(VariedCourse):
    """The way of such a motion."""

    behind: list[int] = field(default_factory=list)  # the segments that end with the happenings
    ends: list[int] = field(default_factory=list)  # and those that end with the edges
    first: Array = field(init=False)  # variations with which the motion begins, by the parameters alone

    @property
    def recorded(self) -> RecordedMotion:
        assert isinstance(self.motion, RecordedMotion)
        return self.motion

    def set_off(self, settings: Settings, times: Array, y: Array, max_steps: int) -> None:
        super().set_off(settings, times, y, max_steps)
        self.first = self.recorded.variations
        self.recorded.begin_segment(len(self.edges))

    def take_moments(self, end: End) -> None:
        self.recorded.take_steps()
        super().take_moments(end)

    def meet(self) -> bool:
        self.recorded.end_segment()
        goes_on = super().meet()
        self.note_edges()
        self.recorded.begin_segment(len(self.edges))
        return goes_on

    def note_edges(self) -> None:
        self.ends += [len(self.recorded.segments) - 1] * (len(self.edges) - len(self.ends))

    def note(self, found: Sequence[int], t: float, y: Array, y_after: Array) -> None:
        super().note(found, t, y, y_after)
        self.behind += [len(self.recorded.segments) - 1] * len(found)

    def pass_switch(self) -> None:
        self.recorded.end_segment()
        super().pass_switch()
        self.note_edges()
        self.recorded.begin_segment(len(self.edges))


def open_memory(form: Form, n_s: int, n_p: int) -> tuple[Array, int]:
    """Return the memory of a sweep over steps of this form, and how much scratch it needs."""
    system, method, is_projected = form.system, form.method, form.is_projected
    assert isinstance(method, Recording)
    rows, W, f = method.method.rows, method.method.W, system.functions
    by = projection.of_system(system)
    ny, n_out = system.n_q + system.n_v + N_WORK, by.outputs if is_projected else 0
    sizes = ny, system.n_q, system.n_v, system.m, n_s, n_p, method.method.stages, len(rows), len(W), n_out
    own = np.zeros(size_of(back, *sizes))
    own[: len(sizes)].view(np.int64)[:] = sizes
    at = back(own, *sizes)
    at.dynamics, at.pull = form.dynamics.address, f["pulled_dynamics"].address
    at.project, at.onto = by.address if is_projected else 0, f["pulled_onto"].address
    at.c[:] = method.method.c
    for table, given in ((at.A, rows), (at.W, W)):
        for own_row, weights in zip(table.reshape(-1, len(rows)), given, strict=True):
            own_row[: len(weights)] = weights
    return own, max(g.work for g in (form.dynamics, by, f["pulled_dynamics"], f["pulled_onto"]))


@dataclass(eq=False)
class Adjoint(Gradients):
    """Derivatives of what a motion reports: of each number, by all parameters at once."""

    @kept
    def fixed(self) -> list[int]:
        """Which of the parameters no event changes."""
        own = fixed(self.course.motion.system.equations, self.chosen)
        return [k for k, p in enumerate(self.chosen) if p in own]

    @kept
    def n_s(self) -> int:
        return size_of_variation(self.course.motion.system.equations, self.chosen)

    def find_rates(self, quantity: Expr, name: str) -> Array:
        return self.pull(quantity, name, np.eye(len(self.rows.t)))

    def pull(self, quantity: Expr, name: str, weights: Array) -> Array:
        slopes = self.partials(quantity, name)
        return np.array([self.pull_one(slopes, w) for w in weights]).reshape(-1, len(self.chosen))

    @np.errstate(all="ignore")
    def pull_one(self, slopes: Mapping[Expr, Array], weights: Array) -> Array:
        """Differentiate a sum of values at the rows by their slopes."""
        e, n_s, rows = self.course.motion.system.equations, self.n_s, self.rows
        n_q, n_v, p = len(e.q), len(e.v), np.array(self.chosen)[self.fixed]
        places = {x: k for k, x in enumerate((*varying(e, self.chosen), *p, *e.a, *e.lam))}
        found = np.zeros((len(rows.t), len(places)))
        for x, slope in slopes.items():
            if x is TIME:
                continue
            found[:, places[x]] = np.where(weights == 0.0, 0.0, weights * slope)
        own, total = found[:, :n_s], np.append(np.zeros(n_s), found[:, n_s : n_s + len(p)].sum(axis=0))
        solved = found[:, n_s + len(p) :]
        for i, part in enumerate(rows.parts):
            if solved[i].any():
                rates = np.concatenate([np.zeros(n_q), solved[i, :n_v], np.zeros(N_WORK), solved[i, n_v:]])
                state = rows.t[i : i + 1], rows.rows[i], rows.x[i, 1 + n_q + n_v :]
                pulled = part.form.system.functions["pulled_report"](np.concatenate([*state, rates]), self.p_at(i))
                own[i] += pulled[:n_s]
                total[n_s:] += pulled[n_s:]
        return self.sweep(own, total)

    def sweep(self, own: Array, total: Array) -> Array:
        """Differentiate what depends on states at the rows, and at the end with parameters, with these weights."""
        raise NotImplementedError


@dataclass(eq=False)
class RecordedAdjoint(Adjoint):
    """Those of a motion whose steps have been noted."""

    @kept
    def segments(self) -> list[Segment]:
        motion = self.course.motion
        assert isinstance(motion, RecordedMotion)
        if motion.steps or not motion.segments:
            motion.end_segment()
        return motion.segments

    def sweep(self, own: Array, total: Array) -> Array:
        return self.go_back(own, total, len(self.segments))

    def go_back(self, own: Array, total: Array, until: int) -> Array:
        """Go back over the first of the segments."""
        assert isinstance(self.course, RecordedCourse)
        n_s, found = self.n_s, np.zeros(len(self.chosen))
        weighted, last = np.hstack([self.rows.t[:, None], self.rows.rows, own]), len(own)
        for k in reversed(range(until)):
            segment = self.segments[k]
            edges, begins_with_one = segment.n_edges, k > 0 and segment.n_edges > self.segments[k - 1].n_edges
            first = segment.row + 2 * edges - (1 if begins_with_one else 0)
            rows = weighted[first:last][own[first:last].any(axis=1)]
            last = first
            if segment.link is not None and k < until - 1:
                found += segment.link[n_s:] @ total[:n_s]
                total[:n_s] = segment.link[:n_s] @ total[:n_s]
            memory, work = open_memory(segment.form, n_s, len(self.fixed))
            scratch = np.empty(work)
            path = segment.path.ravel()
            go_back(memory, segment.p, scratch, path, len(segment.path) - 1, rows.ravel(), len(rows), total)
        found[self.fixed] += total[n_s:]
        return np.asarray(found + self.course.first @ total[:n_s])

    def times_of(self, event: int) -> Array:
        assert isinstance(self.course, RecordedCourse)
        return self.time_by_parameters(self.course.times[event], self.course.behind[event])

    def edge_time(self, k: int) -> Array:
        assert isinstance(self.course, RecordedCourse)
        return self.time_by_parameters(self.edges[k].tau, self.course.ends[k])

    def time_by_parameters(self, tau: Array, segment: int) -> Array:
        """Return how a time varies that does by the state at the end of a segment and by parameters."""
        n_s = self.n_s
        if len(tau) == len(self.chosen):  # where the run begins
            return tau
        total = np.append(tau[:n_s], np.zeros(len(self.fixed)))
        return tau[n_s:] + self.go_back(np.zeros((len(self.rows.t), n_s)), total, segment + 1)
