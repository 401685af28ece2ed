"""The right-hand side of the motion by a formulation on full matrices, as the time loop takes it."""

from __future__ import annotations

import math

from linkwork.formulations.refinement import work_size
from linkwork.native.kernels import Pointer, call, kernel, offset, take
from linkwork.system import header

NAN = math.nan


def solve(
    M: Pointer, Psi_q: Pointer, Q: Pointer, gamma: Pointer, n: int, m: int, tolerance: float,
    a: Pointer, lam: Pointer, spectrum: Pointer, work: Pointer,
) -> int:  # fmt: skip
    """Stands for the formulation, which takes its place before anything is compiled."""
    return -1


def by_formulation(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """x = (M, Psi_q, Q, gamma), p = (n, m, tolerance) -> y = (a, lam, spectrum, rank)."""
    n, m = int(p[0]), int(p[1])
    Psi_q = offset(x, n * n)
    Q = offset(Psi_q, m * n)
    rank = solve(x, Psi_q, Q, offset(Q, n), n, m, p[2], y, offset(y, n), offset(y, n + m), w)
    y[n + m + max(n, m)] = rank


def evaluated(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """(t, q, v, work) -> (qd, a, work rates, lam); all NaN where the formulation has no answer."""
    about = header(p)
    n_q, n, m = about.n_q, about.n_v, about.m
    given, equations = take(w, 3)  # (n, m, tolerance), (M, Psi_q, Q, gamma)
    given[0], given[1], given[2] = float(n), float(m), about.tolerance
    state = offset(equations, n * n + m * n + n + m)  # (t, q, v, a, lam, spectrum, rank)
    a = offset(state, 1 + n_q + n)
    lam = offset(a, n)
    rank = offset(lam, m + max(n, m))
    moving = offset(rank, 1)  # (qd, work rates)
    scratch = offset(moving, n_q + 2)
    call(about.terms, x, p, equations, scratch)
    call(about.formulation, equations, given, a, scratch)
    for i in range(1 + n_q + n):
        state[i] = x[i]
    call(about.rates, state, p, moving, scratch)
    for i in range(n_q):
        y[i] = moving[i]
    for i in range(n):
        y[n_q + i] = a[i]
    for i in range(2):
        y[n_q + n + i] = moving[n_q + i]
    for i in range(m):
        y[n_q + n + 2 + i] = lam[i]
    if rank[0] < 0.0:
        for i in range(n_q + n + 2 + m):
            y[i] = NAN


@kernel
def dynamics(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    evaluated(x, p, y, w)


@kernel
def derivative(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """The same without lam."""
    about = header(p)
    n_y, m = about.n_q + about.n_v + 2, about.m
    evaluated(x, p, w, offset(w, n_y + m))
    for i in range(n_y):
        y[i] = w[i]


def scratch_size(n_q: int, n: int, m: int, inner: int) -> int:
    """Doubles of scratch that `derivative` needs; `inner` is what terms and rates need."""
    terms = n * n + m * n + n + m
    state = 1 + n_q + 2 * n + m + n_q + 2 + max(n, m) + 1
    return 3 + n_q + n + 2 + m + terms + state + max(work_size(n, m), inner)
