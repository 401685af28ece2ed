"""Newton's iteration onto the constraints, as machine code.

Positions:   q <- q moved by dx,    [M Psi_q^T; Psi_q -eps] (dx, mu) = (0, -Psi)
Velocities:  v <- v + dv,           the same matrix,        (dv, mu) = (0, -Psi_dot)

dx and dv are the corrections of least norm in the mass metric. One factorization serves a whole projection as long as
the residual falls fast; rounding ends the iteration, not a tolerance.
"""

from __future__ import annotations

from linkwork.native.kernels import Pointer, call, kernel, offset

MAX_ITERATIONS = 12
ROUNDING = 2.0**-52
CONVERGED, NOT_CONVERGED = 0.0, 1.0
ACCEPTED = 1e-9  # of 1 + |q|; a projection that stalls above this has failed


def largest(values: Pointer, n: int) -> float:
    """max |values|, NaN if one of them is."""
    result = 0.0
    for i in range(n):
        size = abs(values[i])
        if not size <= result:
            result = size
    return result


def copied(source: Pointer, n: int, target: Pointer) -> None:
    for i in range(n):
        target[i] = source[i]


@kernel
def project(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """x = (t, q, v, rest) -> (q, v, rest, |Psi| before, |Psi| after, |Psi_dot| after, status)."""
    n_q, n_v, m, n_factor = int(p[0]), int(p[1]), int(p[2]), int(p[3])
    constraints, factor, move, push = int(p[4]), int(p[5]), int(p[6]), int(p[7])
    n = n_q + n_v
    state = w  # (t, q, v)
    gaps = offset(w, 1 + n)  # (Psi, Psi_dot)
    entries = offset(gaps, 2 * m)  # the input of move and push: (factor, q or v, gap)
    scratch = offset(entries, n_factor + n + m)
    q, v = offset(state, 1), offset(state, 1 + n_q)
    copied(x, 1 + n, state)
    rest = n
    while rest < n + 2:
        y[rest] = x[1 + rest]
        rest += 1

    call(constraints, state, p, gaps, scratch)
    before = gap = largest(gaps, m)
    scale = 1.0 + largest(q, n_q)
    factored = False
    status = CONVERGED
    for _ in range(MAX_ITERATIONS):
        if not gap > ROUNDING * scale:
            break
        if not factored:
            call(factor, state, p, entries, scratch)
            factored = True
        copied(q, n_q, offset(entries, n_factor))
        copied(gaps, m, offset(entries, n_factor + n_q))
        copied(q, n_q, y)  # kept, in case the step does not help
        call(move, entries, p, q, scratch)
        call(constraints, state, p, gaps, scratch)
        new = largest(gaps, m)
        if not new < gap:
            copied(y, n_q, q)
            call(constraints, state, p, gaps, scratch)
            break
        factored = new < 1e-3 * gap
        gap = new
    if not gap <= ACCEPTED * scale:
        status = NOT_CONVERGED

    rate = largest(offset(gaps, m), m)
    speed = 1.0 + largest(v, n_v)
    for _ in range(MAX_ITERATIONS):
        if not rate > ROUNDING * speed * scale:
            break
        if not factored:
            call(factor, state, p, entries, scratch)
            factored = True
        copied(v, n_v, offset(entries, n_factor))
        copied(offset(gaps, m), m, offset(entries, n_factor + n_v))
        copied(v, n_v, offset(y, n_q))
        call(push, entries, p, v, scratch)
        call(constraints, state, p, gaps, scratch)
        new = largest(offset(gaps, m), m)
        if not new < rate:
            copied(offset(y, n_q), n_v, v)
            break
        factored = new < 1e-3 * rate
        rate = new

    copied(q, n, y)
    y[n + 2] = before
    y[n + 3] = gap
    y[n + 4] = rate
    y[n + 5] = status


@kernel
def measure(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """The same without correcting anything."""
    n, m = int(p[0]) + int(p[1]), int(p[2])
    copied(offset(x, 1), n + 2, y)
    call(int(p[4]), x, p, w, offset(w, 2 * m))
    gap = largest(w, m)
    y[n + 2] = gap
    y[n + 3] = gap
    y[n + 4] = largest(offset(w, m), m)
    y[n + 5] = CONVERGED
