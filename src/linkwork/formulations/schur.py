"""Orthogonalization by the Schur decomposition (Pennestri and Valentini)."""

from __future__ import annotations

import math
from typing import NamedTuple

from linkwork.formulations.maggi import FreeMotion, add_free_motion, factor_reduced_mass, take_free_motion
from linkwork.formulations.refinement import NOT_CONVERGED, Padded, refine
from linkwork.formulations.svd import sharpen
from linkwork.linalg.eigen import Spectral, copy_zero_rows, diagonalize, drop_zero_squares, expand, take_spectral
from linkwork.linalg.products import form_gram, multiply, multiply_transposed
from linkwork.native.kernels import Pointer, kernel, split
from linkwork.tolerances import EPSILON

SMALL = 1e-4  # of the largest eigenvalue, a hundredth of the largest singular value: vectors have lost four digits


class Places(NamedTuple):
    H: Spectral
    free: FreeMotion
    x: Pointer
    X: Pointer  # K Psi_q^T
    rest: Pointer


def take_places(w: Pointer, n: int, m: int, width: int) -> Places:
    H = take_spectral(w, n, width)
    free = take_free_motion(H.rest, width)
    return Places(H, free, *split(free.rest, (width, width * width)))


@kernel
def schur(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Compute accelerations with V = K_1, the Schur vectors of the zero eigenvalues of H = Psi_q^T Psi_q; M may be
    singular.

    K^T H K = U,   K = (K_1 K_2),   V = K_1                  [pennestri2007; defalco2008, eqs. (27)-(29)]
    S gamma = H^+ Psi_q^T gamma,   lam = Psi_q H^+ (Q - M a),   H^+ = K_2 U_2^-1 K_2^T

    H is symmetric, so U is diagonal. The order of the Schur vectors is not given by the algorithm: K_1 is chosen by the
    entries of U, not by position as in the program of defalco2008. The spectrum is as for `zero-eigenvalue`.
    """
    refine(x, y, w, take_places, factor_zero_vectors, correct)


def factor_zero_vectors(e: Padded, k: Places, tolerance: float) -> tuple[int, float]:
    """Diagonalize H = Psi_q^T Psi_q and take the vectors of its zero eigenvalues for V.

    Near a singular position small eigenvalues and their vectors are sharpened.
    """
    form_gram(e.Psi_q, e.m, e.n, e.width, k.H.A)
    if not diagonalize(k.H):
        return NOT_CONVERGED, 0.0
    largest = 0.0
    for i in range(e.n):
        largest = max(largest, k.H.values[i])
    small = 0
    for i in range(e.n):
        if e.n * EPSILON * largest < k.H.values[i] < SMALL * largest:
            small += 1
    if small > 0 and not sharpen(e, k.H, k.X):
        return NOT_CONVERGED, 0.0
    least = tolerance if small > 0 else max(tolerance, math.sqrt(e.n * EPSILON))
    rank = drop_zero_squares(k.H.values, e.n, least, e.spectrum)
    copy_zero_rows(k.H.K, k.H.values, e.n, e.width, k.free.V)
    return factor_reduced_mass(e, k.free, rank)


def correct(e: Padded, k: Places, rank: int) -> None:
    multiply_transposed(e.Psi_q, e.g, e.m, e.n, e.width, k.x)
    expand(k.H.K, k.H.K, k.H.values, e.n, e.width, k.x, e.da)
    add_free_motion(e, k.free, rank)
    expand(k.H.K, k.H.K, k.H.values, e.n, e.width, k.free.force, k.x)
    multiply(e.Psi_q, k.x, e.m, e.n, e.width, e.dlam)
