"""Generalized coordinate partitioning (Wehage and Haug)."""

from __future__ import annotations

from typing import NamedTuple

from linkwork.formulations.maggi import FreeMotion, add_free_motion, factor_reduced_mass, take_free_motion
from linkwork.formulations.refinement import Padded, refine
from linkwork.linalg.lu_full_pivot import factor_lu
from linkwork.linalg.trapezoid import Trapezoid, complete, solve_least, take_trapezoid
from linkwork.linalg.triangular import solve_upper, solve_upper_transposed
from linkwork.linalg.vectors import clear, copy, permute, permute_back
from linkwork.native.kernels import Pointer, kernel, offset, split


class Places(NamedTuple):
    L: Trapezoid  # its transpose
    free: FreeMotion
    U: Pointer
    columns: Pointer  # C
    x: Pointer
    rest: Pointer


def take_places(w: Pointer, n: int, m: int, width: int) -> Places:
    L = take_trapezoid(w, m, width)
    free = take_free_motion(L.rest, width)
    return Places(L, free, *split(free.rest, (width * width, width, width)))


@kernel
def coordinate_partitioning(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Compute accelerations of the independent coordinates v, then of the dependent ones u; M may be singular.

    V = (-Psi_u^-1 Psi_v; I),   S gamma = (Psi_u^-1 gamma; 0),   M_hat v'' = Q_hat
    M_hat = V^T M V,   Q_hat = V^T (Q - M S gamma)
                                [wehage1982; defalco2008, eqs. (3)-(9); pennestri2004, eqs. (44)-(50)]
    Psi_u^T lam = Q_u - (M a)_u, the lam of least norm

    M_hat and Q_hat are eqs. (8) and (9) written with V. The dependent coordinates are chosen by Gauss' elimination
    with complete pivoting, P^T Psi_q C = L (U_u U_v), anew in each evaluation: L_1 U_u stands for Psi_u, and rows that
    depend on others drop out, so full row rank is not needed (after eq. (44) of pennestri2004 it is). L^T = (K^T 0) Z
    gives the multipliers. The rank is decided on the pivots, the spectrum.
    """
    refine(x, y, w, take_places, factor, correct)


def factor(e: Padded, k: Places, tolerance: float) -> tuple[int, float]:
    n, width, x = e.n, e.width, k.x
    copy(e.Psi_q, k.U, e.m * width)
    rank = factor_lu(k.U, n, k.L, k.columns, e.spectrum, tolerance)
    complete(k.L, rank)
    for j in range(n - rank):
        for i in range(rank):
            x[i] = -k.U[i * width + rank + j]
        solve_upper(k.U, rank, width, x)
        clear(x, rank, n)
        x[rank + j] = 1.0
        v = offset(k.free.V, j * width)
        clear(v, n, width)
        permute_back(x, k.columns, n, v)
    return factor_reduced_mass(e, k.free, rank)


def correct(e: Padded, k: Places, rank: int) -> None:
    permute(e.g, k.L.pivots, rank, k.x)
    solve_upper_transposed(k.L.R, rank, e.width, k.x)
    solve_upper(k.U, rank, e.width, k.x)
    clear(k.x, rank, e.n)
    permute_back(k.x, k.columns, e.n, e.da)
    add_free_motion(e, k.free, rank)
    permute(k.free.force, k.columns, rank, k.x)
    solve_upper_transposed(k.U, rank, e.width, k.x)
    solve_least(k.L, rank, k.x, e.dlam)
