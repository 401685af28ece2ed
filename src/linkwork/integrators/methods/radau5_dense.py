"""The memory of the Radau method, and its solution inside a step.

Where y' = f(t, y), the polynomial through the stages, of degree 3, is made one of degree 4 that also has the slope
f(t, y) at the beginning. How far the first is from it is what the error estimate filters, and it is taken from there:
what is stiff in f shall not show between the steps.

Where q and v follow constraints, stages and multipliers inside a step are far less exact than its end. So the stages
are brought onto the constraints, and the slopes there are the velocities and the accelerations of the dynamics.
"""

from __future__ import annotations

from linkwork.integrators.memory import BLOCK, Run, open_run
from linkwork.integrators.methods.linear_systems import Systems, open_systems, solve_real
from linkwork.integrators.time_loop import FAILED, is_finite
from linkwork.linalg.vectors import clear, copy
from linkwork.native.kernels import Memory, Pointer, call, kernel, offset, split


class Radau(Memory):
    """Places in the memory of the method, for vectors of n components; those without n in their comment one double."""

    systems: Systems
    jacobian: int  # address, or 0 for difference quotients
    dynamics: int  # address, or 0 without accelerations and multipliers among the unknowns
    n_q: int  # of q, v and Psi
    n_v: int
    m: int
    exponent: Pointer  # n: index - 1 of each component
    Z: Pointer  # 3 n
    W: Pointer  # 3 n
    R: Pointer  # 3 n: residuals, then the error
    P: Pointer  # 3 n: the F_j of the last good step
    weight: Pointer  # n: reciprocal of what counts as one
    alone: Pointer  # n: of components of index 2 by themselves, else 0
    newton: Pointer  # n: in Newton's iteration
    change: Pointer  # n: M times something; a state for a difference quotient
    gap: Pointer  # BLOCK - 1
    x: Pointer  # 1 + n: argument of f
    f: Pointer  # n
    c: Pointer  # 3
    T: Pointer  # 9
    T_inverse: Pointer  # 9
    d: Pointer  # 3: weights of the error estimate
    D: Pointer  # 16: see `dense_weights`
    e: Pointer  # 3: the value at 0 of a polynomial through those at c
    gamma: float
    alpha: float
    beta: float
    t_begin: float  # of the step tried last
    t_end: float
    h_tried: float
    error_tried: float
    has_last: bool  # whether the step before this one is known, with its h and its error
    h_last: float
    error_last: float
    h_factored: float  # of the factors, 0 if there are none
    t_jacobian: float  # beginning of the step for which it was evaluated, and the h at whose middle, or 0
    h_foreseen: float
    is_slow: bool  # whether the iteration asks for another Jacobian
    theta: float  # its rate of convergence
    is_scaled: bool  # whether components with a derivative count times a power of h
    contraction: float  # theta/(1 - theta) of the last iteration
    usual: float  # of the estimated error, by y, where nothing counts times a power of h
    allowed: float  # and here
    by_estimate: float  # see `error_by_estimate`
    detects: bool  # whether to ask for an explicit method where that would do
    calm: int  # steps since it was last looked
    rest: Pointer


SCALARS = (1,) * (len(Radau._fields) - Radau._fields.index("gamma") - 1)


def places(memory: Pointer, systems: Systems, n: int) -> Radau:
    vectors = (n, 3 * n, 3 * n, 3 * n, 3 * n, n, n, n, n, BLOCK - 1, 1 + n, n)
    return Radau(systems, *split(memory, (1, 1, 1, 1, 1, *vectors, 3, 9, 9, 3, 16, 3, *SCALARS)))


def open_radau(own: Pointer, at: Run) -> Radau:
    systems = open_systems(own)
    return places(systems.rest, systems, at.n)


def fit(its: Radau, F: Pointer, n: int, ny: int) -> None:
    """Fit F_j of y(theta) = y + theta (F_0 + (1 - theta) (F_1 + theta F_2)) through the stages."""
    c_1, c_2 = its.c[0], its.c[1]
    for i in range(ny):
        end = its.Z[2 * n + i]
        G_1 = (its.Z[i] / c_1 - end) / (1.0 - c_1)
        G_2 = (its.Z[n + i] / c_2 - end) / (1.0 - c_2)
        F[i] = end
        F[2 * n + i] = (G_2 - G_1) / (c_2 - c_1)
        F[n + i] = G_1 - c_1 * F[2 * n + i]


def extrapolate(at: Run, its: Radau, c: float, Z: Pointer) -> None:
    """Extrapolate the change up to t + c h by the polynomial of the last step, or zero."""
    n = at.n
    theta = 1.0 + c * at.h / its.h_last if its.has_last else 1.0
    for i in range(at.ny):
        F = its.P[n + i] + theta * its.P[2 * n + i]
        Z[i] = theta * (its.P[i] + (1.0 - theta) * F) - its.P[i] if theta != 1.0 else 0.0


def follow_constraints(at: Run, its: Radau, p: Pointer, w: Pointer) -> None:
    """Find F_j of q and v, of degree 4, by their slopes at the start and the stages, and by the end of the step.

    The slope of v at the beginning, where it is stiff, is filtered as the error is; that of q is not.
    """
    n, ny, n_q, h = at.n, at.ny, its.n_q, at.h
    n_qv, onto, first = n_q + its.n_v, at.project, its.change
    call(its.dynamics, at.x, p, its.f, w)
    copy(its.f, first, n_qv)
    for k in range(3):
        its.x[0] = min(at.x[0] + its.c[k] * h, at.x_new[0])
        for i in range(ny):
            its.x[1 + i] = at.x[1 + i] + its.Z[k * n + i]
        if onto != 0:
            call(onto, its.x, p, at.projected, w)
            if is_finite(at.projected, at, n + BLOCK) and at.projected[ny + 3] != FAILED:
                copy(at.projected, offset(its.x, 1), n_qv)
        call(its.dynamics, its.x, p, its.f, w)
        copy(its.f, offset(its.W, k * n), n_qv)
    at.evaluations += 4
    clear(its.R, 0, ny)
    for i in range(n_qv):
        foreseen = its.e[0] * its.W[i] + its.e[1] * its.W[n + i] + its.e[2] * its.W[2 * n + i]
        its.R[i] = first[i] - foreseen
        if i >= n_q:
            first[i] = foreseen
    solve_real(its.systems, its.R)
    filtering = its.gamma / h if h == its.h_factored else 0.0
    for i in range(n_qv):
        if i >= n_q:
            first[i] += filtering * its.R[i]
        at.F[i] = its.x[1 + i] - at.x[1 + i]
        for j in range(1, 4):
            D = offset(its.D, 4 * j)
            at.F[j * n + i] = h * (D[0] * first[i] + D[1] * its.W[i] + D[2] * its.W[n + i] + D[3] * its.W[2 * n + i])


@kernel
def radau_dense(m: Pointer, p: Pointer, own: Pointer, w: Pointer) -> None:
    """Prepare the polynomial inside a step, of degree 4 and order 4 where it can be, else 3, as memory.py asks for."""
    at = open_run(m)
    its = open_radau(own, at)
    n, ny = at.n, at.ny
    fit(its, at.F, n, ny)
    clear(at.F, 3 * n, 4 * n)
    if at.n_rates == ny:
        for j in range(4):
            for i in range(ny):
                at.F[j * n + i] += its.D[4 * j] * its.gamma * its.R[i]
    elif its.dynamics != 0:
        follow_constraints(at, its, p, w)
