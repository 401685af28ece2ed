"""The equations in padded memory, and what a solution leaves of them.

Every formulation first factors, then solves for (f, g) = (Q, gamma):

    M da + Psi_q^T dlam = f          Psi_q da = g

and, if the remainder f = Q - M a - Psi_q^T lam, g = gamma - Psi_q a can be seen in a, again for the remainder with the
same factors. Methods that square the condition number of Psi_q (H = Psi_q^T Psi_q, Q = Psi_q M^-1 Psi_q^T) get the lost
digits back in one to three passes; the others rarely need a second one.

The memory `work`: MATRICES square matrices of `width` rows, then VECTORS vectors. Matrices 0 and 1 are M and Psi_q,
vectors 0 to 5 are f, g, a, lam, da, dlam; the rest belongs to the formulation.
"""

from __future__ import annotations

import math

from linkwork.dense.matrices import transpose_times
from linkwork.dense.vectors import add, copy, dot, fill
from linkwork.native.kernels import Pointer, offset

MATRICES = 11
VECTORS = 16
PASSES = 5
# A relative error of a that is worth another pass.
VISIBLE = 1e-11

# What a formulation returns in place of the rank.
SINGULAR_MASS = -1
UNDETERMINED = -2
NOT_CONVERGED = -3
NOT_FINITE = -4


def padded(n: int, m: int) -> int:
    """The row length for n coordinates and m constraints: at least one group of four columns."""
    return (max(n, m, 1) + 3) // 4 * 4


def work_size(n: int, m: int) -> int:
    """Number of doubles in `work`."""
    return (MATRICES * padded(n, m) + VECTORS) * padded(n, m)


def matrix(work: Pointer, k: int, width: int) -> Pointer:
    return offset(work, k * width * width)


def vector(work: Pointer, k: int, width: int) -> Pointer:
    return offset(work, (MATRICES * width + k) * width)


def load(
    M: Pointer, Psi_q: Pointer, Q: Pointer, gamma: Pointer, n: int, m: int, spectrum: Pointer, work: Pointer
) -> int:
    """Copy the equations into `work`, f := Q, g := gamma, a := 0, lam := 0; the row length."""
    width = padded(n, m)
    fill(spectrum, 0.0, max(n, m))
    fill(work, 0.0, 2 * width * width)
    fill(vector(work, 0, width), 0.0, 6 * width)
    for i in range(n):
        copy(offset(M, i * n), offset(work, i * width), n)
    for i in range(m):
        copy(offset(Psi_q, i * n), offset(matrix(work, 1, width), i * width), n)
    copy(Q, vector(work, 0, width), n)
    copy(gamma, vector(work, 1, width), m)
    return width


def done(
    Q: Pointer,
    gamma: Pointer,
    n: int,
    m: int,
    width: int,
    work: Pointer,
    mass_condition: float,
    condition: float,
    rest: float,
) -> float:
    """Add (da, dlam) to (a, lam), put the remainder in (f, g); the error of a it means, or 0 if it may stay.

    The error is the larger of f by the terms of its equation times the condition number of M, and g by the terms of its
    equation times that of Psi_q. `rest` is the error after the pass before: a pass that does not halve it was the last
    one, as with a gamma that contradicts itself. An error that is not a number is no reason for another pass.
    """
    f = vector(work, 0, width)
    g = vector(work, 1, width)
    a = vector(work, 2, width)
    lam = vector(work, 3, width)
    inertia = vector(work, 4, width)
    reaction = vector(work, 5, width)
    add(a, 1.0, inertia, 0, n)
    add(lam, 1.0, reaction, 0, m)
    transpose_times(work, a, n, n, width, inertia)
    transpose_times(matrix(work, 1, width), lam, m, n, width, reaction)
    scale = 0.0
    left = 0.0
    for i in range(n):
        f[i] = Q[i] - inertia[i] - reaction[i]
        scale = max(scale, abs(Q[i]), abs(inertia[i]), abs(reaction[i]))
        left = max(left, abs(f[i]))
    error = mass_condition * left / scale if scale > 0.0 else 0.0
    scale = 0.0
    left = 0.0
    for i in range(m):
        row = offset(matrix(work, 1, width), i * width)
        terms = abs(gamma[i])
        for j in range(n):
            terms += abs(row[j] * a[j])
        g[i] = gamma[i] - dot(row, a, 0, n)
        scale = max(scale, terms)
        left = max(left, abs(g[i]))
    if scale > 0.0:
        error = max(error, condition * left / scale)
    return error if VISIBLE < error < 0.5 * rest else 0.0


def condition_of(spectrum: Pointer, rank: int) -> float:
    """Estimate of the condition number of Psi_q without what is zero."""
    return spectrum[0] / spectrum[rank - 1] if rank > 0 else 1.0


def condition_of_triangle(U: Pointer, n: int, width: int) -> float:
    """Estimate of the condition number of U^T U from the diagonal of the triangular U."""
    largest = 0.0
    smallest = math.inf
    for k in range(n):
        largest = max(largest, abs(U[k * width + k]))
        smallest = min(smallest, abs(U[k * width + k]))
    return (largest / smallest) * (largest / smallest) if n > 0 else 1.0


def unload(n: int, m: int, width: int, work: Pointer, a: Pointer, lam: Pointer, rank: int) -> int:
    """Copy the solution out; the rank, or NOT_FINITE if it or what it leaves of the equations is not finite."""
    copy(vector(work, 2, width), a, n)
    copy(vector(work, 3, width), lam, m)
    x = vector(work, 0, width)
    total = 0.0
    for i in range(4 * width):
        total += x[i] - x[i]
    return rank if total == 0.0 else NOT_FINITE
