"""The right-hand side of the motion by a formulation on full matrices, as the time loop takes it."""

from __future__ import annotations

import math
from typing import NamedTuple

from linkwork.compiled.system import Scales, header, scales
from linkwork.formulations import FORMULATIONS
from linkwork.formulations.refinement import Given, Result, take_given, take_result
from linkwork.linalg.vectors import copy, fill
from linkwork.native.kernels import Pointer, call, kernel, offset, put_integer, size_of, take

NAN = math.nan


class Memory(NamedTuple):
    """From M on the equations are what the system's `terms` writes, from the state to lam what its `rates` reads."""

    x: Pointer
    given: Given
    state: Pointer  # (t, q, v)
    solution: Result
    rates: Pointer  # (qd, work rates)
    rest: Pointer


def take_memory(w: Pointer, n_q: int, n: int, m: int) -> Memory:
    given = take_given(w, n, m)
    state, rest = take(given.rest, 1 + n_q + n)
    solution = take_result(rest, n, m)
    rates, rest = take(solution.rest, n_q + 2)
    return Memory(w, given, state, solution, rates, rest)


def scale_equations(given: Given, by: Scales, n: int, m: int) -> float:
    """Scale the equations: velocities and rows by the scales of the mechanism, inertia by the largest one.

    With d the scales of velocities, r those of rows and m the largest d_j^2 M_jj, which is returned, a formulation
    finds a_j/d_j and lam_i r_i/m. So its rank decisions do not depend on units or on the size of the mechanism.
    """
    heaviest = 0.0
    for j in range(n):
        heaviest = max(heaviest, given.M[j * n + j] / (by.v[j] * by.v[j]))
    if not heaviest > 0.0:
        heaviest = 1.0
    for i in range(n):
        for j in range(n):
            given.M[i * n + j] /= by.v[i] * by.v[j] * heaviest
        given.Q[i] /= by.v[i] * heaviest
    for i in range(m):
        for j in range(n):
            given.Psi_q[i * n + j] *= by.equations[i] / by.v[j]
        given.gamma[i] *= by.equations[i]
    return heaviest


def evaluate(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> Result:
    """Return (t, q, v, work) -> (qd, a, work rates), all NaN where the formulation has no answer; its solution."""
    about = header(p)
    n_q, n, m = about.n_q, about.n_v, about.m
    k = take_memory(w, n_q, n, m)
    put_integer(k.given.sizes, 0, n)
    put_integer(k.given.sizes, 1, m)
    k.given.tolerance[0] = about.tolerance
    by = scales(p, n_q, n, m)
    call(about.terms, x, p, k.given.M, k.rest)
    heaviest = scale_equations(k.given, by, n, m)
    call(about.formulation, k.x, p, k.solution.a, k.rest)
    for j in range(n):
        k.solution.a[j] /= by.v[j]
    for i in range(m):
        k.solution.lam[i] *= heaviest * by.equations[i]
    copy(x, k.state, 1 + n_q + n)
    call(about.rates, k.state, p, k.rates, k.rest)
    copy(k.rates, y, n_q)
    copy(k.solution.a, offset(y, n_q), n)
    copy(offset(k.rates, n_q), offset(y, n_q + n), 2)
    if k.solution.rank[0] < 0.0:
        fill(y, NAN, n_q + n + 2)
        fill(k.solution.lam, NAN, m)
    return k.solution


@kernel
def dynamics(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Return (t, q, v, work) -> (qd, a, work rates, lam)."""
    solution = evaluate(x, p, y, w)
    about = header(p)
    copy(solution.lam, offset(y, about.n_q + about.n_v + 2), about.m)


@kernel
def derivative(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Return the same without lam."""
    evaluate(x, p, y, w)


def scratch_size(formulation: str, n_q: int, n: int, m: int, inner: int) -> int:
    """Return doubles of scratch; `inner` is what terms and rates need."""
    return size_of(take_memory, n_q, n, m) + max(inner, FORMULATIONS[formulation].work_size(n, m))
