"""A step of an explicit Runge-Kutta method, and its machine code from the coefficients.

The stages of a step and all linear combinations out = y + h sum_j w_j k_j are one piece of LLVM code with the weights
as constants, those of dense output another; all else is the same for every method.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.integrators import memory
from linkwork.integrators.memory import BLOCK, End, Method, Outcome, Run, open_run
from linkwork.integrators.methods.stiffness import LOOK, SOON, find_fastest, tolerance
from linkwork.integrators.methods.tableaus import Row, Tableau
from linkwork.integrators.time_loop import differentiate, is_finite
from linkwork.linalg.vectors import copy
from linkwork.native import cache, interpreted, machine, masks
from linkwork.native.elementary import float_bits
from linkwork.native.kernels import (
    Memory,
    Pointer,
    Size,
    call,
    integer,
    kernel,
    offset,
    offsets_of,
    size_of,
    split,
)

OPT = 1  # of the code generator, which has nothing to find out about straight code
INF = math.inf
DAMPED = 0.5  # of |lambda|: the part of -Re lambda in a mode that decays before it has swung
NEARLY = 0.8  # of the limit, what is enough of a measured lambda
MANY = 1000  # steps still to go: what another method needs must be worth being compiled
_loading = Lock()


class Stages(Memory):
    """Places in the memory of an explicit method with `count` vectors k_i, s of them the stages of a step.

    k_0 and k_s are not here: they are the derivatives at the ends of the step.
    """

    n_k: Size  # count
    s: Size
    evaluate: Size  # addresses: from k_0 to y_new and the error estimate, from k_s to the F_j
    interpolate: Size
    knows_new: bool  # whether the error estimate needs k_s, which then is had from the first of these
    limit: float  # of h |lambda|, see `Detecting`, or infinite
    last_h: float
    calm: int  # good steps since it was last looked, LOOK - SOON more at a beginning and after a doubt
    is_doubted: bool  # whether the last look found steps beyond the limit
    gap: Pointer
    arguments: Pointer  # count (BLOCK + n): the arguments (t, y) of the k_i, y at a whole block
    stages: Pointer  # count n: the k_i
    E_k: Pointer  # n: the parts of the error estimate
    E_low_k: Pointer  # n
    rest: Pointer


SCALARS = (1,) * Stages._fields.index("gap")
GAP = -len(SCALARS) % BLOCK


def places(own: Pointer, n: int, count: int) -> Stages:
    return Stages(*split(own, (*SCALARS, GAP, count * (BLOCK + n), count * n, n, n)))


def open_stages(own: Pointer, at: Run) -> Stages:
    return places(own, at.n, integer(own, 0))


def stage_argument(at: Run, its: Stages, i: int) -> Pointer:
    """Return the place of the argument (t, y) of k_i."""
    return offset(its.arguments, i * (BLOCK + at.n) + BLOCK - 1)


def stage(at: Run, its: Stages, i: int) -> Pointer:
    """Find k_i, i > 0."""
    return at.k_new if i == its.s else offset(its.stages, i * at.n)


def error_sums(at: Run, its: Stages) -> tuple[float, float]:
    """Add up the squares of both parts of the error of a step, in units of the tolerance, over the components."""
    y, y_new, rtol = offset(at.x, 1), offset(at.x_new, 1), at.rtol
    high = low = 0.0
    for i in range(at.ny):
        scale = 1.0 / (at.atol[i] + rtol * max(abs(y[i]), abs(y_new[i])))
        high += (its.E_k[i] * scale) ** 2
        low += (its.E_low_k[i] * scale) ** 2
    return high, low


def error_norm(high: float, low: float, n: int) -> float:
    """Measure the error of a step in units of the tolerance, in the mean over n components; its form is Tableau's."""
    return 0.0 if high == 0.0 else high / math.sqrt(n * (high + 0.01 * low))


def find_failure(at: Run, its: Stages, count: int) -> None:
    """Look for the first of the k_i, i < count, that is not finite."""
    s = its.s
    at.outcome = Outcome.NOT_FINITE
    for i in range(count - 1, 0, -1):
        if not is_finite(stage(at, its, i), at, at.n):
            at.failed_inside = i != s  # k_s is evaluated at the end
            copy(stage_argument(at, its, i), at.x_inside, 1 + at.n)


def compare_ends(at: Run, its: Stages) -> tuple[float, float]:
    """Compare the last stage of a good step and its end, two states at one time: |k_new - k_i|^2 and |y_new
    - y_i|^2.
    """
    x, k, slope, gap = stage_argument(at, its, its.s - 1), stage(at, its, its.s - 1), 0.0, 0.0
    for j in range(at.n_norm):
        by = 1.0 / tolerance(at, j)
        slope += ((at.k[j] - k[j]) * by) ** 2
        gap += ((at.x[1 + j] - x[1 + j]) * by) ** 2
    return slope, gap


def look_for_stiffness(at: Run, its: Stages, p: Pointer, w: Pointer, slope: float, gap: float) -> None:
    """Ask for another method where steps are limited by a fast mode that does not show, not by what does.

    A step is longer than a mode that shows would let it be, beyond `limit`, or its length that of a mode which decays.
    [hairer1996, section IV.2] Two looks must find that, since a contact may pass meanwhile. A mode may limit the step
    where h |lambda| ~ h |k_new - k_i|/|y_new - y_i|, see `compare_ends`. Before a singular position the fastest mode is
    that of states off the branch, see `pass_singular`, whatever steps are: it would tell nothing of the motion.
    """
    if at.x[0] < at.singular < math.inf:
        return
    its.calm += SOON if its.last_h**2 * slope > (NEARLY * its.limit) ** 2 * gap else 1
    if its.calm < LOOK or at.t_end - at.x[0] <= MANY * its.last_h:
        return
    size, real = find_fastest(at, p, w, its.E_k, offset(its.stages, at.n), at.k_inside)
    is_beyond = its.last_h * size > (1.0 if -real > DAMPED * size else NEARLY * its.limit)
    if is_beyond and its.is_doubted:
        at.asking = End.UNSUITED
    its.is_doubted = is_beyond
    its.calm = LOOK - SOON if is_beyond else 0


def judge_step(at: Run, its: Stages, high: float, low: float) -> None:
    """Count the stages that have been evaluated, and take the error from its sums."""
    at.known = its.knows_new
    at.evaluations += its.s if at.known else its.s - 1
    at.error = error_norm(high, low, at.n_norm)


@kernel
def step(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Make a step with its error estimate, as memory.py asks for."""
    at = open_run(m)
    its = open_stages(own, at)
    if its.limit < INF and stage_argument(at, its, its.s - 1)[0] == at.x[0]:  # a good step was right before
        slope, gap = compare_ends(at, its)
        look_for_stiffness(at, its, p, w, slope, gap)
    its.last_h = at.h
    call(its.evaluate, m, p, own, w)
    high, low = error_sums(at, its)
    judge_step(at, its, high, low)
    if not (at.error < INF and is_finite(offset(at.x_new, 1), at, at.n)):
        find_failure(at, its, its.s)


@kernel
def dense(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Prepare k_s, the stages for dense output alone, and the F_j, as memory.py asks for."""
    at = open_run(m)
    its = open_stages(own, at)
    s, count = its.s, its.n_k
    if not at.known:
        differentiate(at, p, w)
    call(its.interpolate, m, p, own, w)
    at.evaluations += count - 1 - s
    for i in range(s, count):
        if not is_finite(stage(at, its, i), at, at.n):
            find_failure(at, its, count)


@functools.cache
def prepare(method: Tableau, n: int, limit: float = INF) -> Method:
    """Prepare the method with memory for vectors of n components; `limit` is that of `Detecting`."""
    count, n_dense = len(method.rows), len(method.W)
    own = np.zeros(size_of(places, n, count))
    its = places(own, n, count)
    with _loading:  # two threads must not both load them: the addresses of one would not last
        addresses = parts_of(method).addresses
    its.n_k, its.s = count, method.stages
    its.evaluate, its.interpolate = addresses["evaluate"], addresses["interpolate"]
    its.knows_new, its.limit = len(method.E) > method.stages, limit
    its.calm = LOOK - SOON
    control = method.error_order, method.shrink, method.growth
    return Method(step.address, dense.address, n_dense, own, *control, n_rates=n, seen=method.seen)


@dataclass(frozen=True)
class Detecting:
    """An explicit method that asks for another where the problem turns out to be stiff."""

    method: Tableau
    # Of h |lambda|: a step so long has an error of a twentieth of the mode; one above twenty tolerances does not pass.
    # Its domain of stability ends farther out, but rounding of a stiff force, as of a body at rest on hard ground, may
    # look like an error before.
    limit: float
    name: str = "auto"

    def prepare(self, n: int) -> Method:
        return prepare(self.method, n, self.limit)


@functools.cache
def parts_of(method: Tableau, lanes: int = 1) -> machine.Code:
    """Return the parts of a step that hold the coefficients: `evaluate` and `interpolate` of Stages."""
    if machine.missing():
        return interpreted.load({f.__name__: functools.partial(f, method) for f in (evaluate, interpolate)})
    text = code_of(method, lanes)
    code = cache.cached([text, machine.host(), str(OPT)], lambda: machine.assemble(text, OPT))
    return machine.load(code, ["evaluate", "interpolate"], machine.Source(lambda: text, OPT))


def combine(at: Run, its: Stages, weights: Row) -> NDArray[np.float64]:
    """Add up h sum_j w_j k_j, by NumPy."""
    k = (at.k if j == 0 else stage(at, its, j)[: at.n] for j in range(len(weights)))
    terms = (w * k_j for w, k_j in zip(weights, k, strict=True) if w)
    return np.asarray(at.h * sum(terms, at.zeros[: at.n]))


def evaluate_stage(method: Tableau, at: Run, its: Stages, i: int, p: Pointer, w: Pointer) -> None:
    """Evaluate k_i = f(t + c_i h, y + h sum_j a_ij k_j), not beyond the end of the step, where f may change."""
    x = stage_argument(at, its, i)
    x[0] = min(at.x[0] + method.c[i] * at.h, at.x_new[0])
    x[1 : 1 + at.n] = at.x[1:] + combine(at, its, method.rows[i])
    call(at.derivative, x, p, stage(at, its, i), w)


def evaluate(method: Tableau, m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Evaluate from k_0 to y_new and the error estimate, with k_s if that needs it."""
    at = open_run(m)
    its = open_stages(own, at)
    for i in range(1, method.stages):
        evaluate_stage(method, at, its, i, p, w)
    at.x_new[1:] = at.x[1:] + combine(at, its, method.b)
    if len(method.E) > method.stages:
        call(at.derivative, at.x_new, p, at.k_new, w)
    its.E_k[:], its.E_low_k[:] = (combine(at, its, E) for E in (method.E, method.E_low))


def interpolate(method: Tableau, m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Compute from k_s to the F_j."""
    at = open_run(m)
    its = open_stages(own, at)
    for i in range(method.stages + 1, len(method.rows)):
        evaluate_stage(method, at, its, i, p, w)
    for j, weights in enumerate(method.W):
        at.F[j * at.n : (j + 1) * at.n] = combine(at, its, weights)


class Block(NamedTuple):
    """The vector that the machine code takes at once: BLOCK components of one motion, or one component of all lanes."""

    lanes: int

    @property
    def length(self) -> int:
        return BLOCK if self.lanes == 1 else self.lanes

    @property
    def type(self) -> str:
        return f"<{self.length} x double>"

    @property
    def time(self) -> str:
        """Return the type of what each motion has one of."""
        return "double" if self.lanes == 1 else self.type

    def of(self, w: float) -> str:
        return f"splat (double {float_bits(w)})"

    def load(self, name: str, pointer: str, index: str) -> list[str]:
        return [
            f"%{name}.at = getelementptr double, ptr %{pointer}, i64 %{index}",
            f"%{name} = load {self.type}, ptr %{name}.at, align 8",
        ]

    def store(self, name: str, pointer: str, index: str) -> list[str]:
        return [f"%{name}.to = getelementptr double, ptr %{pointer}, i64 %{index}", self.put(f"%{name}", f"%{name}.to")]

    def put(self, value: str, pointer: str) -> str:
        if self.lanes > 1:
            return masks.store("double", self.lanes, value, pointer)
        return f"store {self.type} {value}, ptr {pointer}, align 8"


def code_of(method: Tableau, lanes: int = 1) -> str:
    """Write LLVM code of `evaluate` and `interpolate`, for one motion or for so many at once.

    With lanes it also takes which of them count, and tells the derivative.
    """
    s, count, n_dense, by = method.stages, len(method.rows), len(method.W), Block(lanes)
    described = {
        "m": [offsets_of(memory.places, n, n_dense, 0, 0, 0, 0, 0) for n in (0, 1)],
        "own": [offsets_of(places, n, count) for n in (0, 1)],
    }
    counted, those = ("", "") if lanes == 1 else (", i64 %lanes", ", i64 %lanes")

    def locate(name: str, base: str, field: str, further: int = 0, vectors: int = 0) -> list[str]:
        """Locate a place so many doubles and vectors beyond another, whose distance from the base is linear in n."""
        at_0, at_1 = (getattr(offsets, field) for offsets in described[base])
        return [
            f"%{name}.n = mul i64 %n, {(at_1 - at_0 + vectors) * lanes}",
            f"%{name}.0 = getelementptr double, ptr %{base}, i64 {(at_0 + further) * lanes}",
            f"%{name} = getelementptr double, ptr %{name}.0, i64 %{name}.n",
        ]

    def write(name: str, stages: range, *rest: list[str]) -> list[str]:
        lines = [f"define void @{name}(ptr %m, ptr %p, ptr %own, ptr %w{counted}) nounwind {{"]
        lines += ["%n = load i64, ptr %m", f"%doubles = mul i64 %n, {lanes}"]
        lines += [masks.unpack(lanes)] if lanes > 1 else []
        for field in ("h", "derivative", "x", "x_new"):
            lines += locate(field, "m", field)
        lines += locate("y", "m", "x", 1) + locate("y_new", "m", "x_new", 1)
        lines += locate("k0", "m", "k") + locate(f"k{s}", "m", "k_new")
        for i in range(1, count):
            lines += locate(f"k{i}", "own", "stages", 0, i) if i != s else []
        for j in range(n_dense):
            lines += locate(f"F{j}", "m", "F", 0, j)
        lines += locate("E_k", "own", "E_k") + locate("E_low_k", "own", "E_low_k")
        lines += ["%f = load ptr, ptr %derivative", f"%h1 = load {by.time}, ptr %h, align 8"]
        if lanes == 1:
            lines += [
                f"%h_first = insertelement {by.type} poison, double %h1, i64 0",
                f"%hb = shufflevector {by.type} %h_first, {by.type} poison, <{BLOCK} x i32> zeroinitializer",
            ]
        else:
            lines += [f"%hb = load {by.type}, ptr %h, align 8"]
        lines += [f"%t = load {by.time}, ptr %x, align 8", f"%t_new = load {by.time}, ptr %x_new, align 8"]
        for i in stages:
            c = f"double {float_bits(method.c[i])}" if lanes == 1 else f"{by.type} {by.of(method.c[i])}"
            lines += [
                *locate(f"x{i}", "own", "arguments", BLOCK * i + BLOCK - 1, i),
                *locate(f"y{i}", "own", "arguments", BLOCK * i + BLOCK, i),
                *combination(f"y{i}", method.rows[i], by),
                f"%ch{i} = fmul {c}, %h1",
                f"%t{i} = fadd {by.time} %t, %ch{i}",
                f"%inside{i} = fcmp olt {by.time} %t{i}, %t_new",
                f"%until{i} = select {by.time.replace('double', 'i1')} %inside{i}, {by.time} %t{i}, {by.time} %t_new",
                f"store double %until{i}, ptr %x{i}" if lanes == 1 else by.put(f"%until{i}", f"%x{i}"),
                f"call void %f(ptr %x{i}, ptr %p, ptr %k{i}, ptr %w{those})",
            ]
        return [*lines, *chain(*rest), "ret void", "}"]

    end = [f"call void %f(ptr %x_new, ptr %p, ptr %k{s}, ptr %w{those})"] if len(method.E) > s else []
    errors = combinations({"E_k": method.E, "E_low_k": method.E_low}, by)
    dense = combinations({f"F{j}": weights for j, weights in enumerate(method.W)}, by)
    evaluating = write("evaluate", range(1, s), combination("y_new", method.b, by), end, errors)
    text = "\n".join([*evaluating, *write("interpolate", range(s + 1, count), dense)])
    return "\n".join([text, *masks.declare(text)])


def combination(out: str, weights: Row, by: Block) -> list[str]:
    """Write LLVM code of out = y + h sum_j w_j k_j, for which the next stage waits.

    Blocks are added up but for the last k_j, which has just been computed. The components of one motion are then taken
    one by one, so that what follows from the first of them does not wait for the others: velocities are known before
    accelerations.
    """
    *sum_of_blocks, (last, weight) = [(j, w) for j, w in enumerate(weights) if w]
    t, i = by.type, f"{out}.i"
    factor = f"double {float_bits(weight)}" if by.lanes == 1 else f"{t} {by.of(weight)}"
    lines = [
        f"%{out}.hw = fmul {factor}, %h1",
        f"br label %{out}.begin",
        f"{out}.begin:",
        f"br label %{out}.block",
        f"{out}.block:",
        f"%{out}.i = phi i64 [ 0, %{out}.begin ], [ %{out}.next, %{out}.block ]",
    ]
    total = "zeroinitializer"
    for j, w in sum_of_blocks:
        lines += [
            *by.load(f"{out}.v{j}", f"k{j}", i),
            f"%{out}.t{j} = fmul {t} %{out}.v{j}, {by.of(w)}",
            f"%{out}.s{j} = fadd {t} {total}, %{out}.t{j}",
        ]
        total = f"%{out}.s{j}"
    lines += [
        f"%{out}.change = fmul {t} %hb, {total}",
        *by.load(f"{out}.y", "y", i),
        f"%{out}.before = fadd {t} %{out}.y, %{out}.change",
    ]
    if by.lanes > 1:
        lines += [
            *by.load(f"{out}.v{last}", f"k{last}", i),
            f"%{out}.t{last} = fmul {t} %{out}.v{last}, %{out}.hw",
            f"%{out}.sum = fadd {t} %{out}.before, %{out}.t{last}",
            *by.store(f"{out}.sum", out, i),
        ]
    for c in range(BLOCK if by.lanes == 1 else 0):
        lines += [
            f"%{out}.i{c} = add i64 %{out}.i, {c}",
            f"%{out}.p{last}.{c} = getelementptr double, ptr %k{last}, i64 %{out}.i{c}",
            f"%{out}.v{last}.{c} = load double, ptr %{out}.p{last}.{c}",
            f"%{out}.t{last}.{c} = fmul double %{out}.v{last}.{c}, %{out}.hw",
            f"%{out}.before{c} = extractelement {t} %{out}.before, i64 {c}",
            f"%{out}.sum{c} = fadd double %{out}.before{c}, %{out}.t{last}.{c}",
            f"%{out}.to{c} = getelementptr double, ptr %{out}, i64 %{out}.i{c}",
            f"store double %{out}.sum{c}, ptr %{out}.to{c}",
        ]
    return [
        *lines,
        f"%{out}.next = add i64 %{out}.i, {by.length}",
        f"%{out}.more = icmp slt i64 %{out}.next, %doubles",
        f"br i1 %{out}.more, label %{out}.block, label %{out}.done",
        f"{out}.done:",
    ]


def combinations(rows: Mapping[str, Row], by: Block) -> list[str]:
    """Write LLVM code of out = h sum_j w_j k_j for several out, in blocks, each loaded once for all; rounded as the
    above.
    """
    t = by.type
    terms = {out: [(j, w) for j, w in enumerate(weights) if w] for out, weights in rows.items() if any(weights)}
    lines = [f"%{out}.hw = fmul {t} %hb, {by.of(own[-1][1])}" for out, own in terms.items()]
    lines += [
        "br label %begin",
        "begin:",
        "br label %block",
        "block:",
        "%i = phi i64 [ 0, %begin ], [ %next, %block ]",
    ]
    for j in sorted({j for own in terms.values() for j, _ in own}):
        lines += by.load(f"v{j}", f"k{j}", "i")
    for out, own in terms.items():
        total = "zeroinitializer"
        for j, w in own[:-1]:
            lines += [f"%{out}.t{j} = fmul {t} %v{j}, {by.of(w)}", f"%{out}.s{j} = fadd {t} {total}, %{out}.t{j}"]
            total = f"%{out}.s{j}"
        lines += [
            f"%{out}.before = fmul {t} %hb, {total}",
            f"%{out}.last = fmul {t} %v{own[-1][0]}, %{out}.hw",
            f"%{out}.change = fadd {t} %{out}.before, %{out}.last",
            *by.store(f"{out}.change", out, "i"),
        ]
    return [
        *lines,
        f"%next = add i64 %i, {by.length}",
        "%more = icmp slt i64 %next, %doubles",
        "br i1 %more, label %block, label %done",
        "done:",
    ]
