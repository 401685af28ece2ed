"""The right-hand side of the motion by a formulation on full matrices, as the time loop takes it."""

from __future__ import annotations

import math

from linkwork.formulations.refinement import work_size
from linkwork.native.kernels import Pointer, call, kernel, offset

TOLERANCE = 1e-9  # of the rank decision
NAN = math.nan


def solve(
    M: Pointer, Psi_q: Pointer, Q: Pointer, gamma: Pointer, n: int, m: int, tolerance: float,
    a: Pointer, lam: Pointer, spectrum: Pointer, work: Pointer,
) -> int:  # fmt: skip
    """Stands for the formulation, which takes its place before anything is compiled."""
    return -1


def dynamics(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """(t, q, v, work) -> (qd, a, work rates, lam); all NaN where the formulation has no answer."""
    n_q, n, m = int(p[0]), int(p[1]), int(p[2])
    terms, rates = int(p[7]), int(p[8])
    M = w
    Psi_q = offset(M, n * n)
    Q = offset(Psi_q, m * n)
    gamma = offset(Q, n)
    state = offset(gamma, m)  # (t, q, v, a, lam)
    a = offset(state, 1 + n_q + n)
    lam = offset(a, n)
    moving = offset(lam, m)  # (qd, work rates)
    spectrum = offset(moving, n_q + 2)
    scratch = offset(spectrum, max(n, m))
    call(terms, x, p, M, scratch)
    rank = solve(M, Psi_q, Q, gamma, n, m, TOLERANCE, a, lam, spectrum, scratch)
    for i in range(1 + n_q + n):
        state[i] = x[i]
    call(rates, state, p, moving, scratch)
    for i in range(n_q):
        y[i] = moving[i] if rank >= 0 else NAN
    for i in range(n):
        y[n_q + i] = a[i]
    for i in range(2):
        y[n_q + n + i] = moving[n_q + i]
    for i in range(m):
        y[n_q + n + 2 + i] = lam[i]


@kernel
def derivative(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """The same without lam, through the address in p."""
    n_y, m = int(p[0]) + int(p[1]) + 2, int(p[2])
    call(int(p[9]), x, p, w, offset(w, n_y + m))
    for i in range(n_y):
        y[i] = w[i]


def scratch_size(n_q: int, n: int, m: int, inner: int) -> int:
    """Doubles of scratch that `derivative` needs; `inner` is what terms and rates need."""
    terms = n * n + m * n + n + m
    state = 1 + n_q + 2 * n + m + n_q + 2 + max(n, m)
    return n_q + n + 2 + m + terms + state + max(work_size(n, m), inner)
