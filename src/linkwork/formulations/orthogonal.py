"""The complete orthogonal factorization of the transposed Jacobian, and its pseudo-inverse.

Psi_q^T P = Q (R; 0),   R = (T 0) Z          T = L^T regular, upper triangular, rank x rank; Q, Z orthogonal
Psi_q^+ = Q (T^-T 0; 0 0) Z P^T              [golub2013, section 5.5]
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.formulations.refinement import Padded
from linkwork.linalg.products import transpose
from linkwork.linalg.qr import Reflections, factor_qr, multiply_q, multiply_q_transposed, take_reflections
from linkwork.linalg.trapezoid import Trapezoid, complete, solve_least, solve_transposed, take_trapezoid
from linkwork.native.kernels import Pointer


class Orthogonal(NamedTuple):
    Q: Reflections
    R: Trapezoid
    rest: Pointer


def take_orthogonal(w: Pointer, n: int, m: int, width: int) -> Orthogonal:
    Q = take_reflections(w, n, width, width)
    R = take_trapezoid(Q.rest, m, width)
    return Orthogonal(Q, R, R.rest)


def factor_jacobian(e: Padded, k: Orthogonal, tolerance: float) -> int:
    """Factor Psi_q^T with column pivoting; the rank, decided on the diagonal of R."""
    transpose(e.Psi_q, e.m, e.n, e.width, k.R.R)
    rank = factor_qr(k.Q, k.R, e.spectrum, tolerance)
    complete(k.R, rank)
    return rank


def apply_inverse(k: Orthogonal, rank: int, g: Pointer, x: Pointer) -> None:
    """Compute x := Psi_q^+ g."""
    solve_transposed(k.R, rank, g, x)
    multiply_q(k.Q, rank, x)


def apply_inverse_transposed(k: Orthogonal, rank: int, x: Pointer, lam: Pointer) -> None:
    """Compute lam := (Psi_q^+)^T x, the least solution of Psi_q^T lam = x; x is overwritten."""
    multiply_q_transposed(k.Q, rank, x)
    solve_least(k.R, rank, x, lam)
