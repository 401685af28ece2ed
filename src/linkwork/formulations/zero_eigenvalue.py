"""Orthogonalization by the eigenvectors of zero eigenvalues (Walton and Steeves; Kamman and Huston)."""

from __future__ import annotations

from linkwork.formulations.maggi import add_free_motion
from linkwork.formulations.refinement import NOT_CONVERGED, Padded, refine
from linkwork.formulations.schur import Places, factor_zero_vectors, take_places
from linkwork.linalg.cholesky import factor_cholesky
from linkwork.linalg.columns import add_columns
from linkwork.linalg.products import form_gram, multiply, multiply_transposed
from linkwork.linalg.triangular import solve_definite
from linkwork.native.kernels import Pointer, kernel, offset


@kernel
def zero_eigenvalue(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Compute accelerations with V = T_1, the eigenvectors of zero eigenvalues of H = Psi_q^T Psi_q; M may be singular.

    H = T Lambda T^T,   T = (T_1 T_2),   V = T_1          [walton1969, kamman1984; defalco2008, eqs. (14)-(17)]
    S gamma = (Psi_q; V^T)^+ (gamma; 0) = (H + s V V^T)^-1 Psi_q^T gamma
    lam = Psi_q (H + s V V^T)^-1 (Q - M a)

    The factor s, the largest eigenvalue, gives both terms the same size and does not change the results. The
    eigenvalues are non-negative, not positive as after eq. (14). They are squares of singular values: their roots are
    the spectrum, and what is below n eps of the largest eigenvalue, about 1e-7 of the largest singular value, is zero
    whatever the tolerance, unless others are so small that all are sharpened (schur.py).
    """
    refine(x, y, w, take_places, factor, correct)


def factor(e: Padded, k: Places, tolerance: float) -> tuple[int, float]:
    rank, mass_condition = factor_zero_vectors(e, k, tolerance)
    if rank < 0:
        return rank, 0.0
    form_gram(e.Psi_q, e.m, e.n, e.width, k.H.A)
    s = e.spectrum[0] * e.spectrum[0] if rank > 0 else 1.0
    for j in range(e.n - rank):
        v = offset(k.free.V, j * e.width)
        for i in range(e.n):
            add_columns(offset(k.H.A, i * e.width), s * v[i], v, 0, e.n)
    if not factor_cholesky(k.H.A, e.n, e.width, k.H.beside, 0.0):
        return NOT_CONVERGED, 0.0
    return rank, mass_condition


def correct(e: Padded, k: Places, rank: int) -> None:
    multiply_transposed(e.Psi_q, e.g, e.m, e.n, e.width, e.da)
    solve_definite(k.H.A, e.n, e.width, e.da)
    add_free_motion(e, k.free, rank)
    solve_definite(k.H.A, e.n, e.width, k.free.force)
    multiply(e.Psi_q, k.free.force, e.m, e.n, e.width, e.dlam)
