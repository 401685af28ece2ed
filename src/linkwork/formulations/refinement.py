"""From M, Psi_q, Q and gamma to accelerations and multipliers: what all formulations on full matrices share.

A formulation is a description of its memory and two functions. `factor` prepares, `correct` solves for (f, g):

    M da + Psi_q^T dlam = f          Psi_q da = g

first for (Q, gamma) and, if the remainder f = Q - M a - Psi_q^T lam, g = gamma - Psi_q a can be seen in a, again for
the remainder with the same factors. Methods that square the condition number of Psi_q (H = Psi_q^T Psi_q,
D = Psi_q M^-1 Psi_q^T) get the lost digits back in one to three passes; the others rarely need a second one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from linkwork.linalg.products import multiply_transposed
from linkwork.linalg.vectors import add, copy, dot, fill, is_finite, largest
from linkwork.native.kernels import Pointer, integer, offset, split

PASSES = 5  # of iterative refinement: three give the lost digits back, and what five do not, none do
# A relative error of a that is worth another pass.
VISIBLE = 1e-11

# What a formulation returns in place of the rank.
SINGULAR_MASS = -1
UNDETERMINED = -2
NOT_CONVERGED = -3
NOT_FINITE = -4

Places = TypeVar("Places")


class Given(NamedTuple):
    """What a formulation is given, full matrices row by row, M symmetric, Psi_q of any rank."""

    sizes: Pointer  # n and m, as integers
    tolerance: Pointer  # of the rank decision
    M: Pointer
    Psi_q: Pointer
    Q: Pointer
    gamma: Pointer
    rest: Pointer


def take_given(x: Pointer, n: int, m: int) -> Given:
    return Given(*split(x, (2, 1, n * n, m * n, n, m)))


class Result(NamedTuple):
    """What it returns; the values that the rank was decided on are the spectrum."""

    a: Pointer
    lam: Pointer
    spectrum: Pointer
    rank: Pointer  # or a negative status
    rest: Pointer


def take_result(y: Pointer, n: int, m: int) -> Result:
    return Result(*split(y, (n, m, max(n, m), 1)))


class Padded(NamedTuple):
    """The equations in rows of `width` doubles, as `dense` takes them, and the solution so far."""

    n: int
    m: int
    width: int
    M: Pointer
    Psi_q: Pointer
    f: Pointer
    g: Pointer
    a: Pointer
    lam: Pointer
    da: Pointer
    dlam: Pointer
    spectrum: Pointer
    rest: Pointer


def padded_width(n: int, m: int) -> int:
    return (max(n, m, 1) + 3) // 4 * 4


def take_padded(w: Pointer, n: int, m: int) -> Padded:
    width = padded_width(n, m)
    matrices, vectors = (width * width, width * width), (width, width, width, width, width, width, width)
    return Padded(n, m, width, *split(w, (*matrices, *vectors)))


def refine(
    x: Pointer,
    y: Pointer,
    w: Pointer,
    places: Callable[[Pointer, int, int, int], Places],
    factor: Callable[[Padded, Places, float], tuple[int, float]],
    correct: Callable[[Padded, Places, int], None],
) -> None:
    """Compute Given x -> Result y by a formulation.

    `places` takes the memory behind Padded apart for n, m and the width; `factor` returns the rank or a negative status
    and an estimate of the condition number of the masses; `correct` finds da and dlam. Nothing in w needs to be set.
    """
    n, m = integer(x, 0), integer(x, 1)
    given = take_given(x, n, m)
    solution = take_result(y, n, m)
    e = take_padded(w, n, m)
    k = places(e.rest, n, m, e.width)
    load(given, e)
    rank, mass_condition = factor(e, k, given.tolerance[0])
    if rank >= 0:
        condition = e.spectrum[0] / e.spectrum[rank - 1] if rank > 0 else 1.0
        last = math.inf
        for _ in range(PASSES):
            correct(e, k, rank)
            add(e.a, 1.0, e.da, 0, n)
            add(e.lam, 1.0, e.dlam, 0, m)
            error = measure_error(given, e, mass_condition, condition)
            # A pass that did not halve the error was the last one, as with a gamma that contradicts itself.
            if not VISIBLE < error < 0.5 * last:
                break
            last = error
        if not (is_finite(e.f, n) and is_finite(e.g, m) and is_finite(e.a, n) and is_finite(e.lam, m)):
            rank = NOT_FINITE
    copy(e.a, solution.a, n)
    copy(e.lam, solution.lam, m)
    copy(e.spectrum, solution.spectrum, max(n, m))
    solution.rank[0] = rank


def load(given: Given, e: Padded) -> None:
    """Copy the equations, f := Q, g := gamma, a := 0, lam := 0; zeros beside them."""
    n, m, width = e.n, e.m, e.width
    fill(e.M, 0.0, width * width)
    fill(e.Psi_q, 0.0, width * width)
    for x in (e.f, e.g, e.a, e.lam, e.da, e.dlam, e.spectrum):
        fill(x, 0.0, width)
    for i in range(n):
        copy(offset(given.M, i * n), offset(e.M, i * width), n)
    for i in range(m):
        copy(offset(given.Psi_q, i * n), offset(e.Psi_q, i * width), n)
    copy(given.Q, e.f, n)
    copy(given.gamma, e.g, m)


def measure_error(given: Given, e: Padded, mass_condition: float, condition: float) -> float:
    """Put the remainder of the equations in (f, g), over da and dlam; the relative error of a it means.

    It is the larger of f by the terms of its equation times the condition number of M, and g by the terms of its
    equation times that of Psi_q.
    """
    n, m, inertia, reaction = e.n, e.m, e.da, e.dlam
    multiply_transposed(e.M, e.a, n, n, e.width, inertia)
    multiply_transposed(e.Psi_q, e.lam, m, n, e.width, reaction)
    scale = 0.0
    for i in range(n):
        e.f[i] = given.Q[i] - inertia[i] - reaction[i]
        scale = max(scale, abs(given.Q[i]), abs(inertia[i]), abs(reaction[i]))
    error = mass_condition * largest(e.f, n) / scale if scale > 0.0 else 0.0
    scale = 0.0
    for i in range(m):
        row = offset(e.Psi_q, i * e.width)
        terms = abs(given.gamma[i])
        for j in range(n):
            terms += abs(row[j] * e.a[j])
        e.g[i] = given.gamma[i] - dot(row, e.a, 0, n)
        scale = max(scale, terms)
    return max(error, condition * largest(e.g, m) / scale) if scale > 0.0 else error
