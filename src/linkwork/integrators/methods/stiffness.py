"""The fastest mode of a motion: the largest eigenvalue of f_y, roughly.

Vectors are measured as the error of a step is, each component by its tolerance: so lengths, angles and their rates can
be compared, and a change of units changes nothing.
"""

from __future__ import annotations

import math

from linkwork.integrators.memory import Run
from linkwork.linalg.vectors import copy, dot
from linkwork.native.kernels import Pointer, call
from linkwork.tolerances import EPSILON

POWERS = 8  # of f_y on a vector, before its eigenvalue is taken from the next two
PERTURBED = math.sqrt(EPSILON)  # relative change of y for a difference quotient
LOOK = 100  # good steps after which a mode is measured again: so this takes less than a hundredth of them
SOON = 10  # steps after a beginning, or after a look that found it unsuitable, in which a method has found its step


def tolerance(at: Run, i: int) -> float:
    """Return the tolerance of a component of y, for an error of one."""
    found: float = at.atol[i] + at.rtol * abs(at.x[1 + i])
    return found


def multiply_jacobian(at: Run, p: Pointer, w: Pointer, u: Pointer, out: Pointer) -> float:
    """Compute out := f_y u for a vector u of length one, by a difference quotient at (t, y); return its length."""
    n, size = min(at.n_norm, at.ny), 0.0
    for i in range(n):
        size += (at.x[1 + i] / tolerance(at, i)) ** 2
    delta = PERTURBED * max(math.sqrt(size), 1.0 / at.rtol)
    copy(at.x, at.x_inside, 1 + at.n)
    for i in range(n):
        at.x_inside[1 + i] += delta * u[i] * tolerance(at, i)
    call(at.derivative, at.x_inside, p, out, w)
    at.evaluations += 1
    for i in range(n):
        out[i] = (out[i] - at.k[i]) / (delta * tolerance(at, i))
    return math.sqrt(dot(out, out, 0, n))


def find_fastest(at: Run, p: Pointer, w: Pointer, u: Pointer, v: Pointer, out: Pointer) -> tuple[float, float]:
    """Find |lambda| and Re lambda of the fastest mode, by powers of f_y on a vector u; v and out are scratch.

    After some of them u, f_y u and f_y^2 u are in the plane of the mode, f_y^2 u = a f_y u + b u, and lambda is a root
    of lambda^2 = a lambda + b.
    """
    n = min(at.n_norm, at.ny)
    for i in range(n):
        u[i] = (1.0 + 0.1 * (i % 7)) / math.sqrt(n)
    size = 0.0
    for _ in range(POWERS):
        size = multiply_jacobian(at, p, w, u, out)
        if not 0.0 < size < math.inf:
            return size, 0.0
        for i in range(n):
            u[i] = out[i] / size
    size = multiply_jacobian(at, p, w, u, v)
    if not 0.0 < size < math.inf:
        return size, 0.0
    along = dot(u, v, 0, n)
    across = 0.0
    for i in range(n):
        v[i] /= size
        across += (v[i] - along / size * u[i]) ** 2
    if not across > PERTURBED:  # u is an eigenvector
        return size, along
    again = size * multiply_jacobian(at, p, w, v, out)
    c = along / size
    first, second = size * dot(u, out, 0, n), size * dot(v, out, 0, n)
    a = (second - c * first) / ((1.0 - c * c) * size)
    b = (first - c * second) / (1.0 - c * c)
    if not again < math.inf:
        return math.inf, 0.0
    inside = 0.25 * a * a + b
    if inside < 0.0:
        return math.sqrt(-b), 0.5 * a
    fastest = 0.5 * a + math.copysign(math.sqrt(inside), a)
    return abs(fastest), fastest
