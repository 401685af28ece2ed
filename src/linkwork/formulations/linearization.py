"""The exact Jacobian of the right-hand side of the motion, for implicit integrators."""

from __future__ import annotations

from typing import NamedTuple

from linkwork.dense.vectors import clear, copy
from linkwork.equations.implicit import N_WORK
from linkwork.native.kernels import Pointer, call, kernel, offset, size_of, split
from linkwork.native.lowering import NativeFunction
from linkwork.system import System, header


class Work(NamedTuple):
    """What `dynamics`, `close` and `linearize` return, and the argument of the latter."""

    rates: Pointer
    closed: Pointer  # its end, the factor, and what follows are the argument of `solve`
    right: Pointer
    solution: Pointer
    state: Pointer  # (t, q, v, a, lam)
    linear: Pointer
    rest: Pointer


def work(w: Pointer, n_q: int, n: int, m: int, n_closed: int) -> Work:
    n_x, rows = n_q + n, n_q + N_WORK + n + m
    counts = (n_x + N_WORK + m, n_closed, n + m, n + m, 1 + n_x + n + m, n_x * rows + N_WORK * (n + m))
    return Work(*split(w, counts))


@kernel
def linearize_motion(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """(t, q, v, work) -> the derivatives of (qd, a, work rates) by (q, v, work), by rows; see equations/implicit.py."""
    about = header(p)
    n_q, n, m = about.n_q, about.n_v, about.m
    n_x, n_y = n_q + n, n_q + n + N_WORK
    at = work(w, n_q, n, m, about.n_closed)
    call(about.dynamics, x, p, at.rates, at.rest)
    copy(x, at.state, 1 + n_x)
    copy(offset(at.rates, n_q), offset(at.state, 1 + n_x), n)
    copy(offset(at.rates, n_y), offset(at.state, 1 + n_x + n), m)
    call(about.close, x, p, at.closed, at.rest)
    call(about.linearize, at.state, p, at.linear, at.rest)
    rows = n_q + N_WORK + n + m
    by_solution = offset(at.linear, n_x * rows)
    clear(y, 0, n_y * n_y)
    for j in range(n_x):
        column = offset(at.linear, j * rows)
        copy(offset(column, n_q + N_WORK), at.right, n + m)
        call(about.solve, offset(at.closed, 1 + n_x + m), p, at.solution, at.rest)
        for i in range(n_q):
            y[i * n_y + j] = column[i]
        for i in range(n):
            y[(n_q + i) * n_y + j] = at.solution[i]
        for i in range(N_WORK):
            rate = column[n_q + i]
            for k in range(n + m):
                rate += by_solution[i * (n + m) + k] * at.solution[k]
            y[(n_x + i) * n_y + j] = rate


def of_system(system: System, dynamics: NativeFunction) -> NativeFunction:
    """`linearize_motion` with the sizes of a system."""
    f, n_y = system.functions, system.n_q + system.n_v + N_WORK
    inner = max(dynamics.work, *(f[name].work for name in ("close", "linearize", "solve")))
    room = size_of(work, system.n_q, system.n_v, system.m, f["close"].outputs) + inner
    return NativeFunction(linearize_motion.name, linearize_motion.address, 1 + n_y, n_y * n_y, room)
