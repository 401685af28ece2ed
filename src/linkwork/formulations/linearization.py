"""Derivatives of the right-hand side of the motion, for implicit integrators."""

from __future__ import annotations

from typing import NamedTuple

from linkwork.compiled.system import System, header
from linkwork.equations.implicit import N_WORK
from linkwork.linalg.vectors import copy
from linkwork.native.kernels import Pointer, call, kernel, offset, size_of, split
from linkwork.native.lowering import NativeFunction


class Work(NamedTuple):
    """What `dynamics` returns, and the argument of `linearized`."""

    rates: Pointer
    state: Pointer  # (t, q, v, work, a, lam)
    rest: Pointer


def work(w: Pointer, n_q: int, n: int, m: int) -> Work:
    n_y = n_q + n + N_WORK
    return Work(*split(w, (n_y + m, 1 + n_y + n + m)))


@kernel
def linearize_motion(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Return (t, q, v, work) -> the entries of `linearize`, see equations/implicit.py."""
    about = header(p)
    n_q, n, m = about.n_q, about.n_v, about.m
    n_y = n_q + n + N_WORK
    at = work(w, n_q, n, m)
    call(about.dynamics, x, p, at.rates, at.rest)
    copy(x, at.state, 1 + n_y)
    copy(offset(at.rates, n_q), offset(at.state, 1 + n_y), n)
    copy(offset(at.rates, n_y), offset(at.state, 1 + n_y + n), m)
    call(about.linearized, at.state, p, y, at.rest)


def of_system(system: System, dynamics: NativeFunction) -> NativeFunction:
    """Return `linearize_motion` with the sizes of a system."""
    f, n_y = system.functions["linearized"], system.n_q + system.n_v + N_WORK
    room = size_of(work, system.n_q, system.n_v, system.m) + max(dynamics.work, f.work)
    return NativeFunction(linearize_motion.name, linearize_motion.address, 1 + n_y, f.outputs, room)
