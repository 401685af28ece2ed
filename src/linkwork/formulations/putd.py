"""Orthogonalization by pseudo-upper-triangular decomposition (Amirouche, Jia and Ider)."""

from __future__ import annotations

from linkwork.formulations.maggi import factor_reduced_mass
from linkwork.formulations.qr import Places, correct, take_places
from linkwork.formulations.refinement import Padded, refine
from linkwork.linalg.products import transpose
from linkwork.linalg.qr import copy_null_rows, factor_staircase
from linkwork.linalg.trapezoid import complete
from linkwork.native.kernels import Pointer, kernel


@kernel
def putd(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Compute accelerations with V = H D_2^T, H from reflections of the constraint rows in their order; M may be
    singular.

    H^T Psi_q^T = U, a staircase of r steps;   D_2 = (0 I),   V = H D_2^T
                                                          [amirouche1988; defalco2008, eqs. (25)-(26)]
    S gamma = H (U_1^-T gamma_1; 0),   index 1: the r rows of Psi_q that make a step
    U lam = H^T (Q - M a), the lam of least norm

    A constraint row that depends on those before it makes no step; that is the rank decision, and the lengths of what
    each row adds to those before it are the spectrum. Without pivoting these are not ordered and reveal less than those
    of `qr`.
    """
    refine(x, y, w, take_places, factor, correct)


def factor(e: Padded, k: Places, tolerance: float) -> tuple[int, float]:
    transpose(e.Psi_q, e.m, e.n, e.width, k.jacobian.R.L)
    rank = factor_staircase(k.jacobian.Q, k.jacobian.R, e.spectrum, tolerance)
    complete(k.jacobian.R, rank)
    copy_null_rows(k.jacobian.Q, rank, k.free.V)
    return factor_reduced_mass(e, k.free, rank)
