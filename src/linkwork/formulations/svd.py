"""Orthogonalization by singular values (Singh and Likins; Mani, Haug and Atkinson)."""

from __future__ import annotations

from typing import NamedTuple

from linkwork.formulations.maggi import FreeMotion, add_free_motion, factor_reduced_mass, take_free_motion
from linkwork.formulations.refinement import NOT_CONVERGED, Padded, refine
from linkwork.linalg.eigen import (
    Spectral,
    copy_zero_rows,
    diagonalize,
    drop_zero_squares,
    expand,
    orthogonalize_rows,
    take_spectral,
)
from linkwork.linalg.products import form_gram, multiply_matrices, transpose
from linkwork.native.kernels import Pointer, kernel, split


class Places(NamedTuple):
    H: Spectral
    free: FreeMotion
    X: Pointer  # Lambda U^T
    rest: Pointer


def take_places(w: Pointer, n: int, m: int, width: int) -> Places:
    H = take_spectral(w, n, width)
    free = take_free_motion(H.rest, width)
    return Places(H, free, *split(free.rest, (width * width,)))


@kernel
def svd(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Compute accelerations with V = W_i of the singular value decomposition; M may be singular.

    Psi_q^T = (W_d W_i) (Lambda_1 0; 0 0) U^T,   V = W_i
                            [singh1985, mani1985; defalco2008, eqs. (22)-(24); pennestri2004, eqs. (38)-(43)]
    S gamma = W_d Lambda_1^-1 U_d^T gamma,   lam = U_d Lambda_1^-1 W_d^T (Q - M a)

    One-sided Jacobi, W^T Psi_q^T = Lambda U^T with orthogonal rows, started from the eigenvectors W of Psi_q^T Psi_q:
    those are the singular vectors but for the digits that squaring costs, so that few rotations remain or none. The
    rank is decided on the singular values, the spectrum. In pennestri2004, eq. (59), the second column of W must be
    (-sqrt(2)/2, -sqrt(2)/2, 0).
    """
    refine(x, y, w, take_places, factor, correct)


def factor(e: Padded, k: Places, tolerance: float) -> tuple[int, float]:
    W, squares = k.H.K, k.H.values
    form_gram(e.Psi_q, e.m, e.n, e.width, k.H.A)
    if not (diagonalize(k.H) and sharpen(e, k.H, k.X)):
        return NOT_CONVERGED, 0.0
    rank = drop_zero_squares(squares, e.n, tolerance, e.spectrum)
    copy_zero_rows(W, squares, e.n, e.width, k.free.V)
    return factor_reduced_mass(e, k.free, rank)


def sharpen(e: Padded, H: Spectral, X: Pointer) -> bool:
    """Give the eigenvectors and eigenvalues of Psi_q^T Psi_q the digits that squaring has cost; whether it converged.

    X becomes K Psi_q^T, with orthogonal rows.
    """
    transpose(e.Psi_q, e.m, e.n, e.width, H.A)
    multiply_matrices(H.K, H.A, e.n, e.n, e.width, e.width, X)
    return orthogonalize_rows(X, e.n, e.m, e.width, H.K, H.values)


def correct(e: Padded, k: Places, rank: int) -> None:
    W, squares = k.H.K, k.H.values
    expand(W, k.X, squares, e.n, e.width, e.g, e.da)
    add_free_motion(e, k.free, rank)
    expand(k.X, W, squares, e.n, e.width, k.free.force, e.dlam)
