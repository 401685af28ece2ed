"""Orthogonalization by the complete orthogonal factorization QTZ (Vita and Pennestri)."""

from __future__ import annotations

from linkwork.formulations.maggi import add_free_motion
from linkwork.formulations.orthogonal import apply_inverse, apply_inverse_transposed
from linkwork.formulations.qr import Places, factor, take_places
from linkwork.formulations.refinement import Padded, refine
from linkwork.native.kernels import Pointer, kernel


@kernel
def qtz(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Compute accelerations with V = Q_2 of Psi_q^T = Q T Z; M may be singular.

    Psi_q^T P = (Q_1 Q_2) (T 0; 0 0) Z,   V = Q_2             [vita2004; defalco2008, methods for V, item 5]
    S gamma = Psi_q^+ gamma = Q_1 T^-T (Z P^T gamma)_1
    lam = (Psi_q^+)^T (Q - M a)

    Unlike in `qr`, all constraint rows take part in S gamma, those that depend on others too. The rank is decided on
    the diagonal of the pivoted R = (T 0) Z, the spectrum.
    """
    refine(x, y, w, take_places, factor, correct)


def correct(e: Padded, k: Places, rank: int) -> None:
    apply_inverse(k.jacobian, rank, e.g, e.da)
    add_free_motion(e, k.free, rank)
    apply_inverse_transposed(k.jacobian, rank, k.free.force, e.dlam)
