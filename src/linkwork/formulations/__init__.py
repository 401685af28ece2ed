"""Accelerations and multipliers from M, Psi_q, Q and gamma, in eleven ways.

    M a + Psi_q^T lam = Q          Psi_q a = gamma

Each formulation is one function of the same signature,

    name(M, Psi_q, Q, gamma, n, m, tolerance, a, lam, spectrum, work) -> rank, or a negative status

with M (n x n, full symmetric) and Psi_q (m x n, any rank) row by row, max(n, m) doubles for `spectrum` and
`work_size(n, m)` doubles for `work`; nothing in `work` needs to be set. Among the multipliers of redundant constraints
all choose those of least norm.

Rank is decided once per evaluation, on the values the method itself computes (pivots, singular values, roots of
eigenvalues): a value counts as zero when it is at most `tolerance` times the largest. Rows and columns are not scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.dense.rank import RANK_TOLERANCE
from linkwork.errors import NumericalStop, UsageError
from linkwork.formulations import refinement
from linkwork.formulations.coordinate_partitioning import coordinate_partitioning
from linkwork.formulations.de_falco_1 import de_falco_1
from linkwork.formulations.de_falco_2 import de_falco_2
from linkwork.formulations.putd import putd
from linkwork.formulations.qr import qr
from linkwork.formulations.qtz import qtz
from linkwork.formulations.refinement import work_size
from linkwork.formulations.right_side import by_formulation
from linkwork.formulations.schur import schur
from linkwork.formulations.svd import svd
from linkwork.formulations.udwadia_kalaba import udwadia_kalaba
from linkwork.formulations.udwadia_phohomsiri import udwadia_phohomsiri
from linkwork.formulations.zero_eigenvalue import zero_eigenvalue
from linkwork.native.kernels import Kernel, kernel, specialized

__all__ = ["FORMULATIONS", "NAMES", "SEQUENCES", "Formulation", "RankDecision", "Solution", "refusal", "work_size"]

SEQUENCES = ("augmented", "ggl")  # these are part of the compiled system, see system.py
# The last value kept should be this much larger than the first one dropped, and than the tolerance.
CLEAR_GAP = 1e3


@dataclass(frozen=True)
class RankDecision:
    """The rank of Psi_q and the values it was decided on, largest first: `rank` kept ones, then those dropped.

    A method that stops at the first value it drops leaves the others zero.
    """

    rank: int
    spectrum: NDArray[np.float64]

    @property
    def gap(self) -> float:
        """The last value kept by the first one dropped, which is at least rounding of the largest."""
        if self.rank == 0:
            return float("inf")
        dropped = self.spectrum[self.rank] if self.rank < len(self.spectrum) else 0.0
        return float(self.spectrum[self.rank - 1] / max(dropped, np.finfo(float).eps * self.spectrum[0]))

    @property
    def uncertain(self) -> bool:
        near = self.rank > 0 and self.spectrum[self.rank - 1] < CLEAR_GAP * RANK_TOLERANCE * self.spectrum[0]
        return self.gap < CLEAR_GAP or bool(near)

    def __str__(self) -> str:
        values = ", ".join(f"{value:.3g}" for value in self.spectrum)
        certainty = "rank uncertain" if self.uncertain else "rank"
        return f"{certainty}: {self.rank}, gap {self.gap:.2g} in {values}"


@dataclass(frozen=True)
class Solution:
    a: NDArray[np.float64]
    lam: NDArray[np.float64]
    rank: RankDecision


@dataclass(frozen=True)
class Formulation:
    """One way to the accelerations, what it asks of the equations, and where it comes from."""

    name: str
    function: Callable[..., int]
    description: str
    source: str
    needs_regular_mass: bool = False
    needs_full_rank: bool = False

    @cached_property
    def kernel(self) -> Kernel:
        """x = (M, Psi_q, Q, gamma), p = (n, m, tolerance) -> y = (a, lam, spectrum, rank)."""
        return kernel(specialized(by_formulation, self.function.__name__, solve=self.function))

    def __call__(
        self, M: ArrayLike, Psi_q: ArrayLike, Q: ArrayLike, gamma: ArrayLike, tolerance: float = RANK_TOLERANCE
    ) -> Solution:
        M, Psi_q, Q, gamma = (np.array(x, dtype=float, order="C") for x in (M, Psi_q, Q, gamma))
        n, m = len(Q), len(gamma)
        if M.shape != (n, n) or Psi_q.size != m * n:
            raise UsageError(f"{n} forces and {m} gamma need M {n} x {n}, Psi_q {m} x {n}", "shape-mismatch")
        x = np.concatenate([M.ravel(), Psi_q.ravel(), Q, gamma])
        y = np.zeros(n + m + max(n, m) + 1)
        self.kernel(x, np.array([n, m, tolerance]), y, np.empty(work_size(n, m)))
        a, lam, spectrum, status = np.split(y, [n, n + m, len(y) - 1])
        if status[0] < 0:
            raise refusal(self.name, int(status[0]))
        return Solution(a, lam, RankDecision(int(status[0]), spectrum[: min(n, m)]))


def refusal(name: str, status: int) -> NumericalStop:
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


def would_do(*, regular_mass: bool = True, full_rank: bool = True) -> list[str]:
    """Names of the formulations that do with such equations; those of the sequence need mass, not rank."""
    return [
        *(SEQUENCES if regular_mass else ()),
        *(
            f.name
            for f in FORMULATIONS.values()
            if (regular_mass or not f.needs_regular_mass) and (full_rank or not f.needs_full_rank)
        ),
    ]


def _by_name(entries: Iterable[Formulation]) -> dict[str, Formulation]:
    return {entry.name: entry for entry in entries}


FORMULATIONS = _by_name(
    (
        Formulation(
            "coordinate-partitioning",
            coordinate_partitioning,
            "independent coordinates chosen by complete pivoting",
            "wehage1982",
        ),
        Formulation("zero-eigenvalue", zero_eigenvalue, "null space from eigenvectors of Psi_q^T Psi_q", "kamman1984"),
        Formulation("qr", qr, "null space from QR with column pivoting of Psi_q^T", "kim1986"),
        Formulation("svd", svd, "null space from singular vectors of Psi_q^T", "mani1985"),
        Formulation("putd", putd, "null space from Householder's reflections without pivoting", "amirouche1988"),
        Formulation("qtz", qtz, "null space from the complete orthogonal factorization of Psi_q^T", "vita2004"),
        Formulation("schur", schur, "null space from Schur vectors of Psi_q^T Psi_q", "pennestri2007"),
        Formulation(
            "udwadia-kalaba",
            udwadia_kalaba,
            "Gauss' principle with the pseudo-inverse of Psi_q M^-1/2",
            "udwadia1996",
            needs_regular_mass=True,
        ),
        Formulation(
            "udwadia-phohomsiri",
            udwadia_phohomsiri,
            "pseudo-inverse of the projected mass matrix stacked on Psi_q",
            "udwadia2006",
        ),
        Formulation(
            "de-falco-1",
            de_falco_1,
            "pseudo-inverse of Psi_q M^-1 Psi_q^T",
            "defalco2005",
            needs_regular_mass=True,
        ),
        Formulation("de-falco-2", de_falco_2, "pseudo-inverse of M projected on both sides", "defalco2005"),
    )
)

NAMES = (*SEQUENCES, *FORMULATIONS)
