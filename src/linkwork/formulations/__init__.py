"""Accelerations and multipliers from M, Psi_q, Q and gamma, in eleven ways.

    M a + Psi_q^T lam = Q          Psi_q a = gamma

Each formulation is a kernel x -> y, with x as `take_given` and y as `take_result` describe them; p is not read,
and nothing in w, whose size is `work_size(n, m)`, needs to be set. Among the multipliers of redundant constraints all
choose those of least norm.

Rank is decided once per evaluation, on the values the method itself computes (pivots, singular values, roots of
eigenvalues): a value counts as zero when it is at most `tolerance` times the largest. Rows and columns are taken as
they are given; `right_side` scales them by the mechanism.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.dense.rank import RANK_TOLERANCE, Rank
from linkwork.errors import NumericalStop, UsageError
from linkwork.formulations import (
    coordinate_partitioning,
    de_falco_1,
    de_falco_2,
    putd,
    qr,
    qtz,
    refinement,
    schur,
    svd,
    udwadia_kalaba,
    udwadia_phohomsiri,
    zero_eigenvalue,
)
from linkwork.formulations.refinement import take_given, take_padded, take_result
from linkwork.native.kernels import Kernel, Pointer, put_integer, size_of

__all__ = ["FORMULATIONS", "NAMES", "SEQUENCES", "Formulation", "Solution", "explain_refusal", "would_do"]

SEQUENCES = ("augmented", "ggl")  # these are part of the compiled system, see system.py
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    a: Array
    lam: Array
    rank: Rank


@dataclass(frozen=True)
class Formulation:
    """One way to the accelerations, what it asks of the equations, and where it comes from."""

    name: str
    kernel: Kernel
    places: Callable[[Pointer, int, int, int], tuple[Any, ...]]
    description: str
    source: str
    needs_regular_mass: bool = False

    def work_size(self, n: int, m: int) -> int:
        """Doubles of scratch for n coordinates and m constraints."""

        def take_work(w: Pointer) -> tuple[Any, ...]:
            e = take_padded(w, n, m)
            return self.places(e.rest, n, m, e.width)

        return size_of(take_work)

    def __call__(
        self, M: ArrayLike, Psi_q: ArrayLike, Q: ArrayLike, gamma: ArrayLike, tolerance: float = RANK_TOLERANCE
    ) -> Solution:
        M, Psi_q, Q, gamma = (np.array(x, dtype=float, order="C") for x in (M, Psi_q, Q, gamma))
        n, m = len(Q), len(gamma)
        if M.shape != (n, n) or Psi_q.size != m * n:
            raise UsageError(f"{n} forces and {m} gamma need M {n} x {n}, Psi_q {m} x {n}", "shape-mismatch")
        y = np.zeros(size_of(take_result, n, m))
        self.kernel(pack(M, Psi_q, Q, gamma, tolerance), np.empty(0), y, np.empty(self.work_size(n, m)))
        a, lam, spectrum, rank, _ = take_result(y, n, m)
        if rank[0] < 0:
            raise explain_refusal(self.name, int(rank[0]))
        return Solution(a, lam, Rank(spectrum[: min(n, m)], int(rank[0])))


def pack(M: Array, Psi_q: Array, Q: Array, gamma: Array, tolerance: float) -> Array:
    """The argument x of a formulation."""
    n, m = len(Q), len(gamma)
    x = np.empty(size_of(take_given, n, m))
    given = take_given(x, n, m)
    put_integer(given.sizes, 0, n)
    put_integer(given.sizes, 1, m)
    given.tolerance[0] = tolerance
    for place, values in zip(given[2:-1], (M, Psi_q, Q, gamma), strict=True):
        place[:] = values.ravel()
    return x


def explain_refusal(name: str, status: int) -> NumericalStop:
    """The error for what a kernel returned in place of a rank, with the formulations that would do."""
    if status == refinement.SINGULAR_MASS:
        others = ", ".join(would_do(regular_mass=False))
        return NumericalStop(
            f"{name} needs a regular mass matrix, and M is singular; these do not: {others}", "singular-mass"
        )
    if status == refinement.UNDETERMINED:
        return NumericalStop(
            f"{name}: the accelerations are not determined: a motion that the constraints admit has no mass, "
            "whatever the formulation",
            "massless-motion",
        )
    if status == refinement.NOT_CONVERGED:
        return NumericalStop(f"{name}: the singular values or eigenvalues of Psi_q did not converge", "not-converged")
    return NumericalStop(f"{name}: the equations or their solution contain infinite or undefined numbers", "not-finite")


def would_do(*, regular_mass: bool) -> list[str]:
    """Names of the formulations that do with such equations; those of the sequence need mass."""
    listed = [f.name for f in FORMULATIONS.values() if regular_mass or not f.needs_regular_mass]
    return [*SEQUENCES, *listed] if regular_mass else listed


FORMULATIONS = {
    formulation.name: formulation
    for formulation in (
        Formulation(
            "coordinate-partitioning",
            coordinate_partitioning.coordinate_partitioning,
            coordinate_partitioning.take_places,
            "independent coordinates chosen by complete pivoting",
            "wehage1982",
        ),
        Formulation(
            "zero-eigenvalue",
            zero_eigenvalue.zero_eigenvalue,
            zero_eigenvalue.take_places,
            "null space from eigenvectors of Psi_q^T Psi_q",
            "kamman1984",
        ),
        Formulation("qr", qr.qr, qr.take_places, "null space from QR with column pivoting of Psi_q^T", "kim1986"),
        Formulation("svd", svd.svd, svd.take_places, "null space from singular vectors of Psi_q^T", "mani1985"),
        Formulation(
            "putd",
            putd.putd,
            qr.take_places,
            "null space from Householder's reflections without pivoting",
            "amirouche1988",
        ),
        Formulation(
            "qtz",
            qtz.qtz,
            qr.take_places,
            "null space from the complete orthogonal factorization of Psi_q^T",
            "vita2004",
        ),
        Formulation(
            "schur", schur.schur, schur.take_places, "null space from Schur vectors of Psi_q^T Psi_q", "pennestri2007"
        ),
        Formulation(
            "udwadia-kalaba",
            udwadia_kalaba.udwadia_kalaba,
            udwadia_kalaba.take_places,
            "Gauss' principle with the pseudo-inverse of Psi_q M^-1/2",
            "udwadia1996",
            needs_regular_mass=True,
        ),
        Formulation(
            "udwadia-phohomsiri",
            udwadia_phohomsiri.udwadia_phohomsiri,
            udwadia_phohomsiri.take_places,
            "pseudo-inverse of the projected mass matrix stacked on Psi_q",
            "udwadia2006",
        ),
        Formulation(
            "de-falco-1",
            de_falco_1.de_falco_1,
            de_falco_1.take_places,
            "pseudo-inverse of Psi_q M^-1 Psi_q^T",
            "defalco2005",
            needs_regular_mass=True,
        ),
        Formulation(
            "de-falco-2",
            de_falco_2.de_falco_2,
            de_falco_2.take_places,
            "pseudo-inverse of M projected on both sides",
            "defalco2005",
        ),
    )
}

NAMES = (*SEQUENCES, *FORMULATIONS)
