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

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Array
from linkwork.equations.implicit import ALGEBRAIC as ALGEBRAIC
from linkwork.errors import NumericalStop, UsageError, check_choice
from linkwork.formulations import refinement
from linkwork.formulations.refinement import padded_width, take_given, take_padded, take_result
from linkwork.linalg.rank import RANK_TOLERANCE, Rank
from linkwork.native.kernels import Kernel, put_integer, size_of

UNDETERMINED = (
    "the accelerations are not determined: a motion that the constraints admit has no mass, whatever the formulation"
)
SEQUENCES = ("augmented", "ggl")  # these are part of the compiled system, see system.py


@dataclass(frozen=True, eq=False)
class Solution:
    a: Array
    lam: Array
    rank: Rank


@dataclass(frozen=True, eq=False)
class Formulation:
    """One way to the accelerations, what it asks of the equations, and where it comes from."""

    name: str
    description: str
    source: str
    needs_regular_mass: bool = False

    @property
    def file(self) -> Any:
        """The module of its mathematics, imported when it is first needed: most runs need none."""
        return import_module(f"{__name__}.{self.name.replace('-', '_')}")

    @property
    def kernel(self) -> Kernel:
        return cast(Kernel, getattr(self.file, self.name.replace("-", "_")))

    def work_size(self, n: int, m: int) -> int:
        """Return doubles of scratch for n coordinates and m constraints."""
        return size_of(take_padded, n, m) + size_of(self.file.take_places, n, m, padded_width(n, m))

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


def solve_on_scales(
    name: str, M: ArrayLike, Psi_q: Array, Q: ArrayLike, gamma: ArrayLike, v_scale: Array, row_scale: Array
) -> Solution:
    """Find what a formulation finds for velocities and rows on these scales, inertia by the largest one.

    `right_side.scale_equations` does the same for machine code: rank decisions depend on no unit and no size.
    """
    J, inertia = Psi_q * v_scale / row_scale[:, None], v_scale[:, None] * np.asarray(M) * v_scale
    heaviest = float(np.diag(inertia).max(initial=0.0)) or 1.0
    found = FORMULATIONS[name](inertia / heaviest, J, v_scale * np.asarray(Q) / heaviest, np.asarray(gamma) / row_scale)
    return Solution(v_scale * found.a, found.lam * heaviest / row_scale, found.rank)


def pack(M: Array, Psi_q: Array, Q: Array, gamma: Array, tolerance: float) -> Array:
    """Return the argument x of a formulation."""
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
    """Return the error for what a kernel returned in place of a rank, with the formulations that would do."""
    if status == refinement.SINGULAR_MASS:
        others = ", ".join(would_do(regular_mass=False))
        reason = f"{name} needs a regular mass matrix, and M is singular; these do not: {others}"
        return NumericalStop(reason, "singular-mass")
    reason, code = {
        refinement.UNDETERMINED: (UNDETERMINED, "massless-motion"),
        refinement.NOT_CONVERGED: ("the singular values or eigenvalues of Psi_q did not converge", "not-converged"),
        refinement.NOT_FINITE: ("the equations or their solution contain infinite or undefined numbers", "not-finite"),
    }[status]
    return NumericalStop(f"{name}: {reason}", code)


def would_do(*, regular_mass: bool) -> list[str]:
    """Return names of the formulations that do with such equations; those of the sequence need mass."""
    listed = [f.name for f in FORMULATIONS.values() if regular_mass or not f.needs_regular_mass]
    return [*SEQUENCES, *listed] if regular_mass else listed


OWN = "own"  # the source of a formulation that is a function of a user
# Those of linkwork; users add theirs, see own.py.
FORMULATIONS: dict[str, Formulation] = {
    formulation.name: formulation
    for formulation in (
        Formulation("coordinate-partitioning", "independent coordinates chosen by complete pivoting", "wehage1982"),
        Formulation("zero-eigenvalue", "null space from eigenvectors of Psi_q^T Psi_q", "kamman1984"),
        Formulation("qr", "null space from QR with column pivoting of Psi_q^T", "kim1986"),
        Formulation("svd", "null space from singular vectors of Psi_q^T", "mani1985"),
        Formulation("putd", "null space from Householder's reflections without pivoting", "amirouche1988"),
        Formulation("qtz", "null space from the complete orthogonal factorization of Psi_q^T", "vita2004"),
        Formulation("schur", "null space from Schur vectors of Psi_q^T Psi_q", "pennestri2007"),
        Formulation("udwadia-kalaba", "Gauss' principle with the pseudo-inverse of Psi_q M^-1/2", "udwadia1996", True),
        Formulation("udwadia-phohomsiri", "pseudo-inverse of the projected mass matrix above Psi_q", "udwadia2006"),
        Formulation("de-falco-1", "pseudo-inverse of Psi_q M^-1 Psi_q^T", "defalco2005", True),
        Formulation("de-falco-2", "pseudo-inverse of M projected on both sides", "defalco2005"),
    )
}

EXPLICIT = "lu"  # symbolic LU: rows that depend on others are left out, and have no multipliers


def usual_formulations() -> tuple[str, ...]:
    """List the formulations that any integrator can use."""
    return (*SEQUENCES, *FORMULATIONS)


def all_formulations() -> tuple[str, ...]:
    """List all formulations, with those for implicit integrators alone."""
    return tuple(dict.fromkeys((*usual_formulations(), *ALGEBRAIC, EXPLICIT)))


def name_of(given: str | Formulation, choices: Sequence[str] | None = None) -> str:
    """Return the name of a formulation; UsageError if it is none of the choices, or a function that has no name yet."""
    if isinstance(given, Formulation):
        return given.name
    if callable(given):
        message = f"the function {getattr(given, '__name__', given)} is no formulation yet"
        raise UsageError(f"{message}; write linkwork.own.formulation('my-way')(function)", "unknown-formulation")
    check_choice("formulation", given, choices or all_formulations())
    return given
