"""The paths of H(x, t) = t g(x) + (1 - t) f(x) = 0 with charts c . x = 1, followed in machine code.

x has n complex coordinates. f are polynomials, homogeneous of a degree each; g are products of as many linear forms;
charts are linear, and with them there are as many equations as coordinates. On a straight stretch of the complex
t-plane, t = start + s span with s from 0 to 1, each path obeys H_x dx/ds = -span H_t: the method of Runge and Kutta
predicts the next point, Newton's iteration corrects it, and the first correction is the measure of the step.

Complex numbers stand in memory as pairs of doubles.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from linkwork.linalg.newton import INF, iterate
from linkwork.linalg.vectors import add, copy, dot, fill, swap_rows
from linkwork.native.kernels import Pointer, kernel, offset, split
from linkwork.tolerances import EPSILON, HALF_THE_DIGITS

CORRECTIONS = 3  # of a step
LAST_CORRECTIONS = 5  # at the end of a stretch, where the point is brought to rounding
MAX_STEPS = 20000  # of a path on one stretch
FIRST_STEP = 0.05  # of the stretch
SHORTEST_STEP = 1e-9  # of the path: where a shorter one were needed the path is lost
CAUTION = 0.8  # a step is this part of what the error allows
GROWTH = 2.5  # and at most so many times the last one; one that failed is tried again so many times shorter
RUNNING, REACHED, LOST = 0.0, 1.0, 2.0  # how a path stands


class Head(NamedTuple):
    """A system: sizes, then its equations, then its charts."""

    n: Pointer
    rows: Pointer
    degree: Pointer  # the largest
    rest: Pointer


def head(p: Pointer) -> Head:
    return Head(*split(p, (1, 1, 1)))


class Equation(NamedTuple):
    """One row of f as coefficients and indices of coordinates (a square has its index twice), and one of g."""

    degree: Pointer
    terms: Pointer
    coefficients: Pointer
    factors: Pointer
    forms: Pointer
    rest: Pointer


def equation(p: Pointer, n: int, degree: int, terms: int) -> Equation:
    return Equation(*split(p, (1, 1, 2 * terms, degree * terms, 2 * n * degree)))


class Path(NamedTuple):
    """A point x on its path, how far it is (s), the step to be tried, how many were, and whether it goes on."""

    x: Pointer
    s: Pointer
    step: Pointer
    steps: Pointer
    status: Pointer
    rest: Pointer


def path(p: Pointer, n: int) -> Path:
    return Path(*split(p, (2 * n, 1, 1, 1, 1)))


class Stretch(NamedTuple):
    """From which t by which difference; how large the first correction may be, relative to the point."""

    start: Pointer
    span: Pointer
    allowed: Pointer
    rest: Pointer


def stretch(p: Pointer) -> Stretch:
    return Stretch(*split(p, (2, 2, 1)))


class Work(NamedTuple):
    """H, its Jacobian J with respect to x and its rate with respect to t; values of forms; points."""

    J: Pointer
    H: Pointer
    rate: Pointer
    forms: Pointer
    change: Pointer
    trial: Pointer
    rest: Pointer


def work(w: Pointer, n: int, degree: int) -> Work:
    return Work(*split(w, (2 * n * n, 2 * n, 2 * n, 2 * degree, 2 * n, 2 * n)))


def value(x: Pointer, k: int) -> complex:
    return complex(x[2 * k], x[2 * k + 1])


def put(x: Pointer, k: int, a: complex) -> None:
    x[2 * k] = a.real
    x[2 * k + 1] = a.imag


def size(a: complex) -> float:
    return math.sqrt(a.real * a.real + a.imag * a.imag)


def length(n: int, x: Pointer) -> float:
    return math.sqrt(dot(x, x, 0, 2 * n))


def linearize(table: Pointer, x: Pointer, t: complex, w: Work) -> None:
    """Return H(x, t), its Jacobian and its rate."""
    system = head(table)
    n, rows = int(system.n[0]), int(system.rows[0])
    at = system.rest
    for i in range(rows):
        own = equation(at, n, int(at[0]), int(at[1]))
        degree = int(own.degree[0])
        J_i = offset(w.J, 2 * n * i)
        fill(J_i, 0.0, 2 * n)
        f = 0.0j
        for term in range(int(own.terms[0])):
            factors = offset(own.factors, degree * term)
            for k in range(degree):
                partial = value(own.coefficients, term)
                for other in range(degree):
                    if other != k:
                        partial = partial * value(x, int(factors[other]))
                j = int(factors[k])
                put(J_i, j, value(J_i, j) + (1.0 - t) * partial)
                if k == 0:
                    f = f + partial * value(x, j)
        g = 1.0 + 0.0j
        for k in range(degree):
            form = 0.0j
            for j in range(n):
                form = form + value(own.forms, n * k + j) * value(x, j)
            put(w.forms, k, form)
            g = g * form
        for k in range(degree):
            others = t
            for other in range(degree):
                if other != k:
                    others = others * value(w.forms, other)
            for j in range(n):
                put(J_i, j, value(J_i, j) + others * value(own.forms, n * k + j))
        put(w.H, i, t * g + (1.0 - t) * f)
        put(w.rate, i, g - f)
        at = own.rest
    for i in range(rows, n):
        chart = -1.0 + 0.0j
        for j in range(n):
            c = value(at, n * (i - rows) + j)
            put(w.J, n * i + j, c)
            chart = chart + c * value(x, j)
        put(w.H, i, chart)
        put(w.rate, i, 0.0j)


def solve_linear(n: int, A: Pointer, b: Pointer) -> None:
    """Compute b <- A^-1 b by elimination with row pivoting; A is overwritten. A singular A gives what is not finite."""
    for k in range(n):
        best, pivot = -1.0, k
        for i in range(k, n):
            s = size(value(A, n * i + k))
            if s > best:
                best, pivot = s, i
        if pivot != k:
            swap_rows(offset(A, 2 * n * k), offset(A, 2 * n * pivot), 2 * n)
            swap_rows(offset(b, 2 * k), offset(b, 2 * pivot), 2)
        a = value(A, n * k + k)
        inverse = complex(a.real, -a.imag) * (1.0 / (best * best))
        for i in range(k + 1, n):
            factor = value(A, n * i + k) * inverse
            if factor.real != 0.0 or factor.imag != 0.0:
                for j in range(k + 1, n):
                    put(A, n * i + j, value(A, n * i + j) - factor * value(A, n * k + j))
                put(b, i, value(b, i) - factor * value(b, k))
        put(A, n * k + k, inverse)
    for i in range(n - 1, -1, -1):
        a = value(b, i)
        for j in range(i + 1, n):
            a = a - value(A, n * i + j) * value(b, j)
        put(b, i, a * value(A, n * i + i))


def slope(table: Pointer, n: int, x: Pointer, t: complex, dt: complex, w: Work) -> None:
    """Return w.H := the change -H_x^-1 H_t dt of a point of a path."""
    linearize(table, x, t, w)
    for i in range(n):
        put(w.H, i, -dt * value(w.rate, i))
    solve_linear(n, w.J, w.H)


def predict(table: Pointer, n: int, x: Pointer, t: complex, dt: complex, w: Work) -> None:
    """Return w.trial := the point at t + dt of the path through x, by the classical method of Runge and Kutta."""
    copy(x, w.trial, 2 * n)
    copy(x, w.change, 2 * n)
    for at, weight, onward in ((0.0, 1 / 6, 0.5), (0.5, 1 / 3, 0.5), (0.5, 1 / 3, 1.0), (1.0, 1 / 6, 0.0)):
        slope(table, n, w.trial, t + at * dt, dt, w)
        add(w.change, weight, w.H, 0, 2 * n)
        copy(x, w.trial, 2 * n)
        add(w.trial, onward, w.H, 0, 2 * n)
    copy(w.change, w.trial, 2 * n)


class PathPoint(NamedTuple):
    """A system at one t, with its scratch; points are measured by the length of the first."""

    table: Pointer
    n: int
    t: complex
    scale: float
    w: Work


def correct(at: PathPoint, x: Pointer, k: int) -> tuple[Pointer, float]:
    """Return x after a step of Newton, in one of two rooms, and how long the step was."""
    new = at.w.trial if k % 2 == 0 else at.w.change
    linearize(at.table, x, at.t, at.w)
    solve_linear(at.n, at.w.J, at.w.H)
    copy(x, new, 2 * at.n)
    add(new, -1.0, at.w.H, 0, 2 * at.n)
    return new, length(at.n, at.w.H) / at.scale


def converge(at: PathPoint, allowed: float, last: bool) -> tuple[Pointer, float]:
    """Iterate by Newton from the trial; return the point and the first relative correction, or -1 if it fails.

    It fails if the first correction is larger than allowed, or another one larger than half the one before.
    """
    x, first = correct(at, at.w.trial, 1)
    if not first <= allowed:  # what is not a number fails
        return x, -1.0
    most, enough = (LAST_CORRECTIONS, 0.0) if last else (CORRECTIONS, HALF_THE_DIGITS)
    x, left = iterate(at, correct, x, first, most - 1, enough, INF)
    return x, first if left <= HALF_THE_DIGITS else -1.0


def advance(table: Pointer, n: int, on: Path, along: Stretch, w: Work) -> None:
    """Return one step, taken or refused."""
    on.steps[0] += 1.0
    if on.step[0] < SHORTEST_STEP or on.steps[0] > MAX_STEPS:
        on.status[0] = LOST
        return
    s, allowed = on.s[0], along.allowed[0]
    last = s + on.step[0] >= 1.0
    step = min(on.step[0], 1.0 - s)
    start, span = value(along.start, 0), value(along.span, 0)
    predict(table, n, on.x, start + s * span, step * span, w)
    end = start + span if last else start + (s + step) * span
    x, error = converge(PathPoint(table, n, end, length(n, w.trial), w), allowed, last)
    if error < 0.0:
        on.step[0] = step / GROWTH
        return
    copy(x, on.x, 2 * n)
    on.s[0] = s + step
    # RK4 errs with the fifth power of the step.
    on.step[0] = step * min(GROWTH, CAUTION * (allowed / max(error, EPSILON * allowed)) ** 0.2)
    if last:
        on.status[0] = REACHED


@kernel
def follow(table: Pointer, along: Pointer, paths: Pointer, count: int, budget: int, w: Pointer) -> int:
    """Take up to `budget` steps on the paths that are still running; returns how many still are."""
    system = head(table)
    n = int(system.n[0])
    places, way = work(w, n, int(system.degree[0])), stretch(along)
    running = 0
    for _ in range(count):
        on = path(paths, n)
        while on.status[0] == RUNNING and budget > 0:
            advance(table, n, on, way, places)
            budget -= 1
        if on.status[0] == RUNNING:
            running += 1
        paths = on.rest
    return running


@kernel
def linearize_at(table: Pointer, x: Pointer, t_re: float, t_im: float, w: Pointer) -> None:
    """Return H, its Jacobian and its rate at (x, t), into the places of `work`."""
    system = head(table)
    linearize(table, x, complex(t_re, t_im), work(w, int(system.n[0]), int(system.degree[0])))
