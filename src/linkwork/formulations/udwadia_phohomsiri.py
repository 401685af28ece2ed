"""The explicit equation of Udwadia and Phohomsiri for singular mass matrices."""

from __future__ import annotations

from typing import NamedTuple

from linkwork.formulations.maggi import find_force_left
from linkwork.formulations.orthogonal import Orthogonal, apply_inverse_transposed, factor_jacobian, take_orthogonal
from linkwork.formulations.refinement import UNDETERMINED, Padded, refine
from linkwork.linalg.products import form_gram, multiply, multiply_matrices
from linkwork.linalg.qr import Reflections, copy_null_rows, factor_tall, multiply_q_transposed, take_reflections
from linkwork.linalg.triangular import estimate_condition, solve_upper
from linkwork.linalg.vectors import copy, largest
from linkwork.native.kernels import Pointer, kernel, offset, split


class Places(NamedTuple):
    jacobian: Orthogonal
    Q: Reflections
    E: Pointer
    B: Pointer  # at the end the R of its QR decomposition
    b: Pointer
    x: Pointer
    s: Pointer
    rest: Pointer


def take_places(w: Pointer, n: int, m: int, width: int) -> Places:
    jacobian = take_orthogonal(w, n, m, width)
    Q = take_reflections(jacobian.rest, n + m, width, 2 * width)
    return Places(jacobian, Q, *split(Q.rest, (width * width, 2 * width * width, 2 * width, width, 1)))


@kernel
def udwadia_phohomsiri(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Compute accelerations by the pseudo-inverse of a tall matrix; M may be singular.

    a = B^+ (s E Q; gamma),   B = (s E M; Psi_q),   E = I - Psi_q^+ Psi_q
                                                        [udwadia2006; defalco2008, eqs. (34)-(35)]
    lam = (Psi_q^+)^T (Q - M a)

    The source has s = 1 and Q in place of E Q, which gives the same a: B^T (Q; gamma) contains only E Q. Here the
    system is consistent, so that its condition number is not squared, and the factor s (largest entry of Psi_q by that
    of M) gives its two parts the same size. B has rank n where the motion is determined; then B^+ b = R^-1 Q^T b of its
    QR decomposition. Psi_q^+ and the rank are those of the complete orthogonal factorization, with the diagonal of its
    pivoted R as spectrum. The program of defalco2008 has the unit matrix of size m for E; it must be n.
    """
    refine(x, y, w, take_places, factor, correct)


def factor(e: Padded, k: Places, tolerance: float) -> tuple[int, float]:
    n, m, width = e.n, e.m, e.width
    rank = factor_jacobian(e, k.jacobian, tolerance)
    copy_null_rows(k.jacobian.Q, rank, k.B)
    form_gram(k.B, n - rank, n, width, k.E)
    multiply_matrices(k.E, e.M, n, n, n, width, k.B)
    size, mass = largest(e.Psi_q, m * width), largest(e.M, n * width)
    k.s[0] = size / mass if size > 0.0 and mass > 0.0 else 1.0
    for i in range(n * width):
        k.B[i] *= k.s[0]
    copy(e.Psi_q, offset(k.B, n * width), m * width)
    if not factor_tall(k.B, n, width, k.Q):
        return UNDETERMINED, 0.0
    return rank, estimate_condition(k.B, n, width)


def correct(e: Padded, k: Places, rank: int) -> None:
    n, m, width = e.n, e.m, e.width
    multiply(k.E, e.f, n, n, width, k.b)
    for i in range(n):
        k.b[i] *= k.s[0]
    copy(e.g, offset(k.b, n), m)
    multiply_q_transposed(k.Q, n, k.b)
    copy(k.b, e.da, n)
    solve_upper(k.B, n, width, e.da)
    find_force_left(e, k.x)
    apply_inverse_transposed(k.jacobian, rank, k.x, e.dlam)
