"""Many motions of one problem at once, in lanes of a vector, each with a time, a step and an end of its own.

The stages of an explicit method and the derivative at the end of a step, which cost most, are computed for all lanes
by one piece of code. All else is that of time_loop.py, lane by lane: so a motion takes the steps that it takes alone,
to the bit, whatever its neighbours do. A lane whose motion has ended takes the next one.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Collection, Mapping, Sequence
from functools import cache as cache_results
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from linkwork.integrators.block import TOLD, Advanced, tell
from linkwork.integrators.integrate import Problem, Settings, State
from linkwork.integrators.memory import End, Outcome, Run, allocate, open_run
from linkwork.integrators.methods import runge_kutta
from linkwork.integrators.methods.runge_kutta import (
    Detecting,
    find_failure,
    judge_step,
    look_for_stiffness,
    open_stages,
)
from linkwork.integrators.methods.tableaus import Row, Tableau
from linkwork.integrators.time_loop import (
    GOES_ON,
    choose_step,
    complete_step,
    conclude,
    end_before_step,
    forget_step,
    is_finite,
    outcome_of_step,
    project_end,
    start,
)
from linkwork.linalg.vectors import copy
from linkwork.native import cache, machine
from linkwork.native.elementary import Text, define
from linkwork.native.elementary import call as call_of
from linkwork.native.kernels import (
    Memory,
    Pointer,
    call,
    integer,
    kernel,
    offset,
    offsets_of,
    put_integer,
    size_of,
    split,
)
from linkwork.native.lowering import NativeFunction
from linkwork.native.machine import pointer_to

Array = NDArray[np.float64]

INF = math.inf
NOBODY = -1  # the number of the motion in a lane that has none
_loading = Lock()


class Group(Memory):
    """Places of motions that advance together; of vectors there is one of each lane for every component."""

    lanes: int
    n: int  # components of y
    n_p: int
    n_k: int  # stages of a step
    n_run: int  # doubles of the memory of one run
    n_own: int  # of its method
    n_look: int  # and of looks along steps
    sizes: Pointer  # N_SIZES: these numbers
    evaluate: int  # addresses of machine code for lanes
    derivative: int
    gap: Pointer
    h: Pointer  # lanes
    x: Pointer  # (1 + n) lanes: (t, y) of the last good states, and their derivatives
    k: Pointer
    x_new: Pointer  # the ends of the steps
    k_new: Pointer
    argument: Pointer  # (t, y) of the stage that was evaluated last
    stages: Pointer  # n_k n lanes: the k_i
    E_k: Pointer  # n lanes: the parts of the error estimate, and tolerances
    E_low_k: Pointer
    atol: Pointer
    rtol: Pointer  # lanes, as all that follow
    high: Pointer  # of runge_kutta.py: see `error_sums`
    low: Pointer
    slope: Pointer  # and `compare_ends`, of the step before
    distance: Pointer
    remainders: Pointer  # 0 where the end is finite
    follows: Pointer  # 1 where a good step was right before
    motions: Pointer  # which it is, or NOBODY
    outcomes: Pointer  # of the step
    ends: Pointer  # times beyond which it does not go
    stage_addresses: Pointer  # where the stages of each begin
    look_addresses: Pointer  # and what it looks along steps with, or 0
    p: Pointer  # n_p lanes
    runs: Pointer  # n_run lanes: the memory of each motion as it would have alone
    owns: Pointer
    looks: Pointer
    rest: Pointer


N_SIZES = Group._fields.index("sizes")
GAP = 16 - N_SIZES - 2  # so that vectors begin at whole cache lines


def places(m: Pointer, lanes: int, n: int, n_p: int, n_k: int, n_run: int, n_own: int, n_look: int) -> Group:
    states = (lanes, (1 + n) * lanes, n * lanes, (1 + n) * lanes, n * lanes, (1 + n) * lanes)
    vectors = (n_k * n * lanes, n * lanes, n * lanes, n * lanes)
    sums, per_lane = (lanes, lanes, lanes, lanes, lanes, lanes, lanes), (lanes, lanes, lanes, lanes, lanes)
    memories = (n_p * lanes, n_run * lanes, n_own * lanes, n_look * lanes)
    counts = (N_SIZES, 1, 1, GAP, *states, *vectors, *sums, *per_lane, *memories)
    return Group(lanes, n, n_p, n_k, n_run, n_own, n_look, *split(m, counts))


def open_group(m: Pointer) -> Group:
    return places(
        m, integer(m, 0), integer(m, 1), integer(m, 2), integer(m, 3), integer(m, 4), integer(m, 5), integer(m, 6)
    )


def run_of(g: Group, lane: int) -> Pointer:
    return offset(g.runs, lane * g.n_run)


def own_of(g: Group, lane: int) -> Pointer:
    return offset(g.owns, lane * g.n_own)


def put(vector: Pointer, lane: int, lanes: int, x: Pointer, count: int) -> None:
    """Put components of one lane into a vector of all."""
    for i in range(count):
        vector[i * lanes + lane] = x[i]


def take_lane(vector: Pointer, lane: int, lanes: int, x: Pointer, count: int) -> None:
    for i in range(count):
        x[i] = vector[i * lanes + lane]


def seat(
    g: Group, lane: int, number: int, blank: Pointer, parameters: Pointer, starts: Pointer, tolerances: Pointer
) -> None:
    """Give a lane this motion, with memory as `blank` is."""
    m, own = run_of(g, lane), own_of(g, lane)
    copy(blank, m, g.n_run)
    copy(offset(blank, g.n_run), own, g.n_own)
    copy(offset(blank, g.n_run + g.n_own), offset(g.looks, lane * g.n_look), g.n_look)
    at = open_run(m)
    its = open_stages(own, at)
    its.away, its.apart = integer(g.stage_addresses, lane), g.lanes
    at.look = integer(g.look_addresses, lane)
    copy(offset(starts, number * at.ny), offset(at.x, 1), at.ny)
    copy(offset(tolerances, number * at.n_norm), at.atol, at.n_norm)
    put(g.p, lane, g.lanes, offset(parameters, number * g.n_p), g.n_p)
    put(g.atol, lane, g.lanes, at.atol, g.n)
    g.rtol[lane] = at.rtol
    put(g.argument, lane, g.lanes, at.zeros, 1 + g.n)  # nothing is known of a stage
    put(offset(g.stages, (g.n_k - 1) * g.n * g.lanes), lane, g.lanes, at.zeros, g.n)
    put_integer(g.motions, lane, number)


def enter(g: Group, lane: int, at: Run) -> None:
    """Put the step that is tried next into the vectors."""
    g.follows[lane] = 1.0 if g.argument[lane] == at.x[0] else 0.0
    g.h[lane] = at.h
    put(g.x, lane, g.lanes, at.x, 1 + g.n)
    put(g.k, lane, g.lanes, at.k, g.n)
    g.x_new[lane] = at.x_new[0]


def leave(g: Group, lane: int, at: Run, own: Pointer, p: Pointer, w: Pointer) -> None:
    """Take what has become of the step out of the vectors, and judge it."""
    its = open_stages(own, at)
    if its.limit < INF and g.follows[lane] == 1.0:
        look_for_stiffness(at, its, p, w, g.slope[lane], g.distance[lane])
    its.last_h = at.h
    take_lane(g.x_new, lane, g.lanes, at.x_new, 1 + g.n)
    if its.knows_new:
        take_lane(g.k_new, lane, g.lanes, at.k_new, g.n)
    judge_step(at, its, g.high[lane], g.low[lane])
    if not (at.error < INF and g.remainders[lane] == 0.0):
        find_failure(at, its, its.s)


@kernel
def advance_group(
    count: int,
    n_rows: int,
    group: Pointer,
    blank: Pointer,
    w: Pointer,
    parameters: Pointer,
    starts: Pointer,
    tolerances: Pointer,
    times: Pointer,
    stops: Pointer,
    rows: Pointer,
    told: Pointer,
) -> None:
    """Advance every motion from its start to its end, as `advance_block` does one after the other."""
    g = open_group(group)
    seated = ended = 0
    for lane in range(g.lanes):
        put_integer(g.motions, lane, NOBODY)
    while ended < count:
        for lane in range(g.lanes):
            m, own = run_of(g, lane), own_of(g, lane)
            waits = True
            while waits:
                k = integer(g.motions, lane)
                if k < 0:
                    if seated == count:
                        break
                    seat(g, lane, seated, blank, parameters, starts, tolerances)
                    k = seated
                    seated += 1
                at = open_run(m)
                p, own_rows = offset(parameters, k * g.n_p), offset(rows, k * n_rows * at.n_rows)
                why: int = GOES_ON
                if not at.started and not start(at, m, p, own, w, own_rows):
                    why = End.NOT_FINITE
                if why == GOES_ON:
                    why = end_before_step(at)
                if why != GOES_ON:
                    tell(at, why, offset(told, k * TOLD))
                    put_integer(g.motions, lane, NOBODY)
                    ended += 1
                else:
                    waits = False
                    g.ends[lane] = choose_step(at, stops)
                    forget_step(at)
                    enter(g, lane, at)
        call(g.evaluate, group, g.p, w, w)
        knows_all = True
        for lane in range(g.lanes):
            k = integer(g.motions, lane)
            if k >= 0:
                m, own = run_of(g, lane), own_of(g, lane)
                at = open_run(m)
                p = offset(parameters, k * g.n_p)
                leave(g, lane, at, own, p, w)
                outcome: int = outcome_of_step(at)
                if outcome == Outcome.GOOD:
                    outcome = project_end(at, p, w)
                    put(g.x_new, lane, g.lanes, at.x_new, 1 + g.n)
                    knows_all = knows_all and at.known
                put_integer(g.outcomes, lane, outcome)
        if not knows_all:
            call(g.derivative, g.x_new, g.p, g.k_new, w)
        for lane in range(g.lanes):
            k = integer(g.motions, lane)
            if k >= 0:
                m, own, p = run_of(g, lane), own_of(g, lane), offset(parameters, k * g.n_p)
                at = open_run(m)
                outcome = integer(g.outcomes, lane)
                if outcome == Outcome.GOOD:
                    passes = at.stop < at.n_stops and at.x_new[0] == stops[2 * at.stop]
                    if not at.known and not passes:
                        take_lane(g.k_new, lane, g.lanes, at.k_new, g.n)
                        at.known = is_finite(at.k_new, at, at.n)  # else it is looked at again
                        at.evaluations += 1 if at.known else 0
                    own_rows = offset(rows, k * n_rows * at.n_rows)
                    outcome = complete_step(at, m, p, own, w, times, stops, own_rows, g.ends[lane])
                why = conclude(at, m, p, own, w, outcome)
                if why != GOES_ON:
                    tell(at, why, offset(told, k * TOLD))
                    put_integer(g.motions, lane, NOBODY)
                    ended += 1


def refusal(problem: Problem) -> str:
    """Say why motions of this problem do not go in lanes, or nothing."""
    if machine.missing():
        return "no machine code"
    if problem.guards is not None and problem.guards.watch is not None:
        return "events or laws that switch"
    if problem.clocks.periods:
        return "what is sampled"
    if not isinstance(problem.by, Tableau | Detecting):
        return "an implicit method"
    if not isinstance(problem.derivative, NativeFunction) or problem.derivative.operations == 0:
        return "a right-hand side that is more than one sequence"
    return ""


def lanes_here() -> int:
    """Count how many doubles a vector of this processor has."""
    features = machine.host()
    return 8 if "+avx512f" in features else 4 if "+avx" in features else 2


class Team:
    """Memory in which motions of one problem, with the same times and limits, are advanced together."""

    def __init__(
        self,
        problem: Problem,
        derivative: NativeFunction,
        n_p: int,
        times: Array,
        settings: Settings,
        stops: Collection[float],
        max_steps: int,
    ) -> None:
        self.state = s = State(
            problem, np.zeros(n_p), np.zeros(problem.ny), times, settings, 1.0, stops, 0.0, max_steps
        )
        self.derivative, look = derivative, s.look if problem.guards else np.zeros(0)
        self.blank = np.concatenate([s.m, s.own, look])
        by, lanes = problem.by.method if isinstance(problem.by, Detecting) else problem.by, derivative.lanes
        assert isinstance(by, Tableau)
        sizes = lanes, problem.ny, n_p, by.stages, len(s.m), len(s.own), len(look)
        self.m = allocate(size_of(places, *sizes))
        self.m[:N_SIZES].view(np.int64)[:] = sizes
        at = places(self.m, *sizes)
        at.evaluate, at.derivative = code_in_lanes(by, lanes).addresses["evaluate"], derivative.address
        first = [ctypes.addressof(pointer_to(vector)) for vector in (at.stages, at.looks)]
        at.stage_addresses.view(np.int64)[:] = first[0] + 8 * np.arange(lanes)
        at.look_addresses.view(np.int64)[:] = first[1] + 8 * len(look) * np.arange(lanes) if len(look) else 0
        self.w = allocate(max(len(s.w), derivative.work * lanes))

    def advance(self, p: Array, y: Array, scale: Array) -> Advanced:
        """Advance motions with these p and y at the first time, their components measured by `scale`."""
        s, count = self.state, len(p)
        rows, told = np.empty((count, *s.rows.shape)), np.empty((count, TOLD))
        tolerances = np.broadcast_to(s.settings.atol * scale, (count, s.at.n_norm)).copy()
        given = (x.reshape(-1) for x in (p, y, tolerances))
        written = (x.reshape(-1) for x in (s.times, s.stops, rows, told))
        advance_group(count, len(s.times), self.m, self.blank, self.w, *given, *written)
        end, t, steps, rejected, evaluations, row, moments = told[:, :7].T
        return Advanced(rows, end, t, steps, rejected, evaluations, row, moments, told[:, 7:])


@cache_results
def code_in_lanes(method: Tableau, lanes: int) -> machine.Code:
    """Write the stages of a step, the end and the error estimate of all lanes; rounded as
    `runge_kutta.code_of` does.
    """
    text = text_in_lanes(method, lanes)
    opt = runge_kutta.OPT
    code = cache.cached([text, machine.host(), str(opt)], lambda: machine.assemble(text, opt))
    return machine.load(code, ["evaluate"], machine.Source(lambda: text, opt))


def text_in_lanes(method: Tableau, lanes: int) -> str:
    s, f = method.stages, Text(lanes)
    t = f.type("double")
    found = [offsets_of(places, lanes, n, 0, s, 0, 0, 0) for n in (0, 1)]

    def locate(name: str, field: str, further: int = 0, vectors: int = 0) -> list[str]:
        at_0, at_1 = (getattr(offsets, field) for offsets in found)
        return [
            f"%{name}.n = mul i64 %n, {at_1 - at_0 + vectors * lanes}",
            f"%{name}.0 = getelementptr double, ptr %m, i64 {at_0 + further}",
            f"%{name} = getelementptr double, ptr %{name}.0, i64 %{name}.n",
        ]

    def number(x: float) -> str:
        return f.value(x, "double").name

    lines = ["define void @evaluate(ptr %m, ptr %p, ptr %y_unused, ptr %w) nounwind {"]
    lines += ["%n.at = getelementptr i64, ptr %m, i64 1", "%n = load i64, ptr %n.at"]
    vectors = "x", "k", "x_new", "argument", "E_k", "E_low_k", "atol"
    sums = "high", "low", "remainders", "slope", "distance"
    for field in ("derivative", "h", "rtol", *vectors, *sums):
        lines += locate(f"{field}.at", field)
    lines += locate("y", "x", lanes) + locate("y_new", "x_new", lanes) + locate("y_stage", "argument", lanes)
    lines += locate("k0", "k") + locate(f"k{s}", "k_new")
    for i in range(1, s):
        lines += locate(f"k{i}", "stages", 0, i)
    lines += ["%f = load ptr, ptr %derivative.at"]
    lines += [f"%{x} = load {t}, ptr %{at}.at, align 64" for x, at in (("h", "h"), ("t", "x"), ("t_new", "x_new"))]
    one, zero = number(1.0), number(0.0)
    lines += [
        f"%rtol = load {t}, ptr %rtol.at, align 64",
        *add_up(
            "before",
            f,
            {"y": "y", "k": "k0", "other": "y_stage", "stage": f"k{s - 1}", "atol": "atol.at"},
            [
                f"%before.size = {call_of('fabs', ['%before.y'], lanes)}",
                f"%before.part = fmul {t} %rtol, %before.size",
                f"%before.tolerance = fadd {t} %before.atol, %before.part",
                f"%before.by = fdiv {t} {one}, %before.tolerance",
                f"%before.change = fsub {t} %before.k, %before.stage",
                f"%before.a = fmul {t} %before.change, %before.by",
                f"%before.slope = fmul {t} %before.a, %before.a",
                f"%before.gap = fsub {t} %before.y, %before.other",
                f"%before.b = fmul {t} %before.gap, %before.by",
                f"%before.distance = fmul {t} %before.b, %before.b",
            ],
            ("slope", "distance"),
        ),
    ]
    for i in range(1, s):
        lines += [
            *combination(f"stage{i}", "y_stage", method.rows[i], f, is_change=False),
            f"%ch{i} = fmul {t} %h, {number(method.c[i])}",
            f"%t{i} = fadd {t} %t, %ch{i}",
            f"%inside{i} = fcmp olt {t} %t{i}, %t_new",
            f"%until{i} = select {f.type('i1')} %inside{i}, {t} %t{i}, {t} %t_new",
            f"store {t} %until{i}, ptr %argument.at, align 64",
            f"call void %f(ptr %argument.at, ptr %p, ptr %k{i}, ptr %w)",
        ]
    lines += combination("end", "y_new", method.b, f, is_change=False)
    if len(method.E) > s:
        lines += [f"call void %f(ptr %x_new.at, ptr %p, ptr %k{s}, ptr %w)"]
    for name, weights in (("E_k", method.E), ("E_low_k", method.E_low)):
        if any(weights):
            lines += combination(name, f"{name}.at", weights, f, is_change=True)
    lines += add_up(
        "after",
        f,
        {"y": "y", "y_new": "y_new", "E": "E_k.at", "E_low": "E_low_k.at", "atol": "atol.at"},
        [
            f"%after.old = {call_of('fabs', ['%after.y'], lanes)}",
            f"%after.new = {call_of('fabs', ['%after.y_new'], lanes)}",
            f"%after.grows = fcmp ogt {t} %after.new, %after.old",
            f"%after.size = select {f.type('i1')} %after.grows, {t} %after.new, {t} %after.old",
            f"%after.part = fmul {t} %rtol, %after.size",
            f"%after.tolerance = fadd {t} %after.atol, %after.part",
            f"%after.scale = fdiv {t} {one}, %after.tolerance",
            f"%after.a = fmul {t} %after.E, %after.scale",
            f"%after.high = fmul {t} %after.a, %after.a",
            f"%after.b = fmul {t} %after.E_low, %after.scale",
            f"%after.low = fmul {t} %after.b, %after.b",
            f"%after.remainders = fmul {t} %after.y_new, {zero}",
        ],
        ("high", "low", "remainders"),
    )
    text = "\n".join([*lines, "ret void", "}"])
    return f"{text}\n{define(text)}"


def add_up(label: str, f: Text, loaded: Mapping[str, str], terms: Sequence[str], sums: Sequence[str]) -> list[str]:
    """Write LLVM code that loads vectors row by row and adds these terms of them up."""
    t = f.type("double")
    lines = [
        f"br label %{label}.begin",
        f"{label}.begin:",
        f"br label %{label}.row",
        f"{label}.row:",
        f"%{label}.i = phi i64 [ 0, %{label}.begin ], [ %{label}.next, %{label}.row ]",
        *(
            f"%{label}.{x}.0 = phi {t} [ zeroinitializer, %{label}.begin ], [ %{label}.{x}.1, %{label}.row ]"
            for x in sums
        ),
        f"%{label}.place = mul i64 %{label}.i, {f.lanes}",
    ]
    for name, pointer in loaded.items():
        lines += [
            f"%{label}.{name}.at = getelementptr double, ptr %{pointer}, i64 %{label}.place",
            f"%{label}.{name} = load {t}, ptr %{label}.{name}.at, align 64",
        ]
    return [
        *lines,
        *terms,
        *(f"%{label}.{x}.1 = fadd {t} %{label}.{x}.0, %{label}.{x}" for x in sums),
        f"%{label}.next = add i64 %{label}.i, 1",
        f"%{label}.more = icmp slt i64 %{label}.next, %n",
        f"br i1 %{label}.more, label %{label}.row, label %{label}.done",
        f"{label}.done:",
        *(f"store {t} %{label}.{x}.1, ptr %{x}.at, align 64" for x in sums),
    ]


def combination(label: str, out: str, weights: Row, f: Text, is_change: bool) -> list[str]:
    """Write LLVM code of out = h sum_j w_j k_j, or of y + that; the last product comes last, as in `runge_kutta`."""
    t, lanes = f.type("double"), f.lanes
    *others, (last, weight) = [(j, f.value(w, "double").name) for j, w in enumerate(weights) if w]

    def load(name: str, pointer: str) -> list[str]:
        return [
            f"%{label}.{name}.at = getelementptr double, ptr %{pointer}, i64 %{label}.place",
            f"%{label}.{name} = load {t}, ptr %{label}.{name}.at, align 64",
        ]

    lines = [
        f"%{label}.hw = fmul {t} {weight}, %h",
        f"br label %{label}.begin",
        f"{label}.begin:",
        f"br label %{label}.row",
        f"{label}.row:",
        f"%{label}.i = phi i64 [ 0, %{label}.begin ], [ %{label}.next, %{label}.row ]",
        f"%{label}.place = mul i64 %{label}.i, {lanes}",
    ]
    total = "zeroinitializer"
    for j, w in others:
        lines += [
            *load(f"v{j}", f"k{j}"),
            f"%{label}.t{j} = fmul {t} %{label}.v{j}, {w}",
            f"%{label}.s{j} = fadd {t} {total}, %{label}.t{j}",
        ]
        total = f"%{label}.s{j}"
    lines += [f"%{label}.change = fmul {t} %h, {total}"]
    before = f"%{label}.change"
    if not is_change:
        lines += [*load("y", "y"), f"%{label}.before = fadd {t} %{label}.y, {before}"]
        before = f"%{label}.before"
    return [
        *lines,
        *load("last", f"k{last}"),
        f"%{label}.product = fmul {t} %{label}.last, %{label}.hw",
        f"%{label}.sum = fadd {t} {before}, %{label}.product",
        f"%{label}.to = getelementptr double, ptr %{out}, i64 %{label}.place",
        f"store {t} %{label}.sum, ptr %{label}.to, align 64",
        f"%{label}.next = add i64 %{label}.i, 1",
        f"%{label}.more = icmp slt i64 %{label}.next, %n",
        f"br i1 %{label}.more, label %{label}.row, label %{label}.done",
        f"{label}.done:",
    ]
