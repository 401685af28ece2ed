"""A step of an explicit Runge-Kutta method, and its machine code from the coefficients.

The linear combinations out = y + h sum_j w_j k_j are LLVM code with the weights as constants, one function for each row
of weights; all else is the same for every method.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np

from linkwork.dense.vectors import copy
from linkwork.integrators.advance import is_finite
from linkwork.integrators.explicit import Row, Tableau
from linkwork.integrators.memory import BLOCK, NOT_FINITE, UNSUITED, Method, Run, open_run
from linkwork.integrators.spectrum import find_fastest
from linkwork.native import cache, interpreted, machine
from linkwork.native.kernels import Pointer, call, integer, kernel, offset, put_integer, size_of, split
from linkwork.native.lowering import float_bits

OPT = 1  # of the code generator, which has nothing to find out about straight code
INF = math.inf
STIFF, CALM = 15, 6  # steps limited by stability that are enough, and others after which these count no more
OPPOSITE = 0.95  # of the product of two lengths
DAMPED = 0.5  # of |lambda|: the part of -Re lambda in a mode that decays before it has swung
NEARLY = 0.8  # of the limit, what is enough of a measured lambda
AGAIN = 100  # steps after which it is measured again
MANY = 1000  # steps still to go: what another method needs must be worth being compiled
_loading = Lock()


class Stages(NamedTuple):
    """Places in the memory of an explicit method with `count` vectors k_i, s of them the stages of a step."""

    n_k: Pointer  # count
    h_n: Pointer  # 2: the step and the length of vectors, which `combine` is told
    s: Pointer
    error_uses_new: Pointer  # whether the error estimate needs k_s
    has_low: Pointer  # whether it has two parts
    limit: Pointer  # of h |lambda|, see `Detecting`, or infinite
    stiff: Pointer  # how many steps were beyond it, and how many since were not
    calm: Pointer
    gap: Pointer
    x: Pointer  # count (BLOCK + n): the arguments (t, y) of the k_i, y at a whole block
    k: Pointer  # count n
    E_k: Pointer  # n: the parts of the error estimate
    E_low_k: Pointer  # n
    c: Pointer  # count
    combine: Pointer  # count + 2 + n_dense addresses: for the argument of each k_i, for E_k, E_low_k and each F_j
    rest: Pointer


def places(own: Pointer, n: int, n_dense: int, count: int) -> Stages:
    scalars = (1, 2, 1, 1, 1, 1, 1, 1, BLOCK - 1)
    vectors = (count * (BLOCK + n), count * n, n, n, count, count + 2 + n_dense)
    return Stages(*split(own, (*scalars, *vectors)))


def open_stages(own: Pointer, at: Run) -> Stages:
    return places(own, at.n, at.n_dense, integer(own, 0))


def stage_argument(at: Run, its: Stages, i: int) -> Pointer:
    """Where the argument (t, y) of k_i stands."""
    return offset(its.x, i * (BLOCK + at.n) + BLOCK - 1)


def evaluate_stage(at: Run, its: Stages, i: int, p: Pointer, w: Pointer) -> None:
    """k_i = f(t + c_i h, y + h sum_j a_ij k_j), not beyond the end of the step, where f may change."""
    x = stage_argument(at, its, i)
    x[0] = min(at.x[0] + its.c[i] * at.h[0], at.x_new[0])
    call(integer(its.combine, i), offset(at.x, 1), its.k, offset(x, 1), its.h_n)
    call(integer(at.derivative, 0), x, p, offset(its.k, i * at.n), w)
    at.evaluations[0] += 1.0


def error_norm(at: Run, its: Stages) -> float:
    """The error of a step in units of the tolerance, in the mean over the components; its form is Tableau's."""
    y, y_new, rtol = offset(at.x, 1), offset(at.x_new, 1), at.rtol[0]
    high = low = 0.0
    for i in range(integer(at.ny, 0)):
        scale = 1.0 / (at.atol[i] + rtol * max(abs(y[i]), abs(y_new[i])))
        high += (its.E_k[i] * scale) ** 2
        low += (its.E_low_k[i] * scale) ** 2
    if high == 0.0:
        return 0.0
    return high / math.sqrt(integer(at.n_counted, 0) * (high + 0.01 * low))


def find_failure(at: Run, its: Stages, count: int) -> None:
    """Look for the first of the k_i, i < count, that is not finite."""
    at.outcome[0] = NOT_FINITE
    for i in range(count - 1, 0, -1):
        if not is_finite(offset(its.k, i * at.n), at, at.n):
            at.failed_inside[0] = 0.0 if i == integer(its.s, 0) else 1.0  # k_s is evaluated at the end
            copy(stage_argument(at, its, i), at.x_inside, 1 + at.n)


def differentiate_end(at: Run, its: Stages, p: Pointer, w: Pointer) -> None:
    """k_s = f(t_new, y_new), which is k_new."""
    k_s = offset(its.k, integer(its.s, 0) * at.n)
    call(integer(at.derivative, 0), at.x_new, p, k_s, w)
    copy(k_s, at.k_new, at.n)
    at.evaluations[0] += 1.0
    at.known[0] = 1.0


def look_for_stiffness(at: Run, its: Stages, p: Pointer, w: Pointer) -> None:
    """Ask for another method where steps are limited by a fast mode that does not show, not by what does.

    The last stage of a good step and its end are two states at one time; h |lambda| ~ h |k_new - k_i| / |y_new - y_i|
    [hairer1996, section IV.2]. The step is longer than a mode that shows would let it be, or its length that of a mode
    which decays: with lambda real and negative k_new - k_i is opposite to y_new - y_i, and after some such steps the
    mode itself is gone. Where positions and velocities are of different sizes, an oscillation can look the same; so
    lambda is then measured.
    """
    i, n_norm = integer(its.s, 0) - 1, integer(at.n_norm, 0)
    x, k = stage_argument(at, its, i), offset(its.k, i * at.n)
    if x[0] != at.x[0]:  # no good step right before
        return
    slope = gap = along = 0.0
    for j in range(n_norm):
        slope += (at.k[j] - k[j]) ** 2
        gap += (at.x[1 + j] - x[1 + j]) ** 2
        along += (at.k[j] - k[j]) * (at.x[1 + j] - x[1 + j])
    h_lambda, decays = its.h_n[0] * math.sqrt(slope), -along > OPPOSITE * math.sqrt(slope * gap)
    if h_lambda > math.sqrt(gap) * (1.0 if decays else its.limit[0]):
        its.stiff[0] += 1.0
        its.calm[0] = 0.0
    else:
        its.calm[0] += 1.0
        if its.calm[0] >= CALM:
            its.stiff[0] = 0.0
    if its.stiff[0] >= STIFF and at.t_end[0] - at.x[0] > MANY * its.h_n[0]:
        size, real = find_fastest(at, p, w, its.E_k, offset(its.k, at.n), at.k_contradicted)
        if its.h_n[0] * size > (1.0 if -real > DAMPED * size else NEARLY * its.limit[0]):
            at.asking[0] = UNSUITED
        its.stiff[0] = -AGAIN


@kernel
def step(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """A step with its error estimate, as memory.py asks for."""
    at = open_run(m)
    its = open_stages(own, at)
    s, count = integer(its.s, 0), integer(own, 0)
    y_new = offset(at.x_new, 1)
    if its.limit[0] < INF:
        look_for_stiffness(at, its, p, w)
    its.h_n[0] = at.h[0]
    copy(at.k, its.k, at.n)
    for i in range(1, s):
        evaluate_stage(at, its, i, p, w)
    call(integer(its.combine, s), offset(at.x, 1), its.k, y_new, its.h_n)
    if integer(its.error_uses_new, 0) != 0:
        differentiate_end(at, its, p, w)
    call(integer(its.combine, count), at.zeros, its.k, its.E_k, its.h_n)
    if integer(its.has_low, 0) != 0:
        call(integer(its.combine, count + 1), at.zeros, its.k, its.E_low_k, its.h_n)
    at.error[0] = error_norm(at, its)
    if not (at.error[0] < INF and is_finite(y_new, at, at.n)):
        find_failure(at, its, s)


@kernel
def dense(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """k_s, the stages for dense output alone, and the F_j, as memory.py asks for."""
    at = open_run(m)
    its = open_stages(own, at)
    s, count = integer(its.s, 0), integer(own, 0)
    if at.known[0] == 0.0:
        differentiate_end(at, its, p, w)
    for i in range(s + 1, count):
        evaluate_stage(at, its, i, p, w)
    for j in range(at.n_dense):
        call(integer(its.combine, count + 2 + j), at.zeros, its.k, offset(at.F, j * at.n), its.h_n)
    for i in range(s, count):
        if not is_finite(offset(its.k, i * at.n), at, at.n):
            find_failure(at, its, count)


@functools.cache
def prepare(method: Tableau, n: int, limit: float = INF) -> Method:
    """The method with memory for vectors of n components; `limit` is that of `Detecting`."""
    count, n_dense = len(method.rows), len(method.W)
    own = np.zeros(size_of(places, n, n_dense, count))
    put_integer(own, 0, count)
    its = places(own, n, n_dense, count)
    its.c[:] = method.c
    with _loading:  # two threads must not both load them: the addresses of one would not last
        its.combine.view(np.int64)[:] = list(combinations(method).addresses.values())
    put_integer(its.has_low, 0, bool(method.E_low))
    put_integer(its.h_n[1:], 0, n)
    put_integer(its.s, 0, method.stages)
    its.limit[0] = limit
    put_integer(its.error_uses_new, 0, len(method.E) > method.stages)
    control = method.error_order, method.beta, method.shrink, method.growth
    return Method(step.address, dense.address, n_dense, own, *control, n_rates=n, widest=method.widest)


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
def combinations(method: Tableau) -> machine.Code:
    """Machine code for every row of weights, in the order of `Stages.combine`."""
    rows = (*method.rows, method.E, method.E_low, *method.W)
    names = [f"{method.name}_{i}" for i in range(len(rows))]
    if machine.missing():
        return interpreted.load({name: functools.partial(combine, row) for name, row in zip(names, rows, strict=True)})
    text = "\n".join(combination(name, row) for name, row in zip(names, rows, strict=True))
    code = cache.cached([text, machine.host(), str(OPT)], lambda: machine.assemble(text, OPT))
    return machine.load(code, names)


def combine(weights: Row, y: Pointer, k: Pointer, out: Pointer, h_n: Pointer) -> None:
    """What `combination` does, by NumPy."""
    n = integer(h_n, 1)
    out[:n] = y[:n] + h_n[0] * sum(w * k[j * n : (j + 1) * n] for j, w in enumerate(weights) if w)


def combination(name: str, weights: Row) -> str:
    """LLVM code of out = y + h sum_j w_j k_j, where `h_n` holds h and n, and k_j begins at j n.

    Blocks are added up but for the last k_j, which has just been computed. Its components are taken one by one, so that
    what follows from the first of them does not wait for the others: velocities are known before accelerations.
    """
    terms = [(j, f"double {float_bits(w)}") for j, w in enumerate(weights) if w] or [(0, "double 0.0")]
    *sum_of_blocks, (last, weight) = terms
    lines = [
        f"define void @{name}(ptr %y, ptr noalias %k, ptr noalias %out, ptr %h_n) nounwind {{",
        "%h = load double, ptr %h_n",
        "%n_place = getelementptr double, ptr %h_n, i64 1",
        "%n = load i64, ptr %n_place",
        "%h_first = insertelement <4 x double> poison, double %h, i64 0",
        "%h4 = shufflevector <4 x double> %h_first, <4 x double> poison, <4 x i32> zeroinitializer",
        f"%hw = fmul {weight}, %h",
    ]
    for j, _ in terms:
        lines += [f"%jn{j} = mul i64 %n, {j}", f"%k{j} = getelementptr double, ptr %k, i64 %jn{j}"]
    lines += ["br label %block", "block:", "%i = phi i64 [ 0, %0 ], [ %next, %block ]"]
    total = "zeroinitializer"
    for j, w in sum_of_blocks:
        lines += [
            f"%p{j} = getelementptr double, ptr %k{j}, i64 %i",
            f"%v{j} = load <4 x double>, ptr %p{j}, align 8",
            f"%t{j} = fmul contract <4 x double> %v{j}, <{', '.join([w] * BLOCK)}>",
            f"%s{j} = fadd contract <4 x double> {total}, %t{j}",
        ]
        total = f"%s{j}"
    lines += [
        "%from = getelementptr double, ptr %y, i64 %i",
        "%y4 = load <4 x double>, ptr %from, align 8",
        f"%change = fmul contract <4 x double> %h4, {total}",
        "%before = fadd contract <4 x double> %y4, %change",
    ]
    for c in range(BLOCK):
        lines += [
            f"%i{c} = add i64 %i, {c}",
            f"%p{last}.{c} = getelementptr double, ptr %k{last}, i64 %i{c}",
            f"%v{last}.{c} = load double, ptr %p{last}.{c}",
            f"%t{last}.{c} = fmul contract double %v{last}.{c}, %hw",
            f"%before{c} = extractelement <4 x double> %before, i64 {c}",
            f"%sum{c} = fadd contract double %before{c}, %t{last}.{c}",
            f"%to{c} = getelementptr double, ptr %out, i64 %i{c}",
            f"store double %sum{c}, ptr %to{c}",
        ]
    lines += [
        f"%next = add i64 %i, {BLOCK}",
        "%more = icmp slt i64 %next, %n",
        "br i1 %more, label %block, label %done",
        "done:",
        "ret void",
        "}",
    ]
    return "\n".join(lines)
