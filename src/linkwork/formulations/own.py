"""A formulation of a user: a Python function from M, Psi_q, Q and gamma to a and lam."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Array
from linkwork.errors import UsageError
from linkwork.formulations import FORMULATIONS, OWN, Formulation, Solution, all_formulations
from linkwork.formulations.refinement import NOT_FINITE, take_given, take_result
from linkwork.linalg.rank import RANK_TOLERANCE, decide_rank, singular_values
from linkwork.native.calls import Called
from linkwork.native.kernels import integer

Solve = Callable[[Array, Array, Array, Array], tuple[ArrayLike, ArrayLike]]


@dataclass(frozen=True, eq=False)
class OwnFormulation(Formulation):
    """(M, Psi_q, Q, gamma) -> (a, lam) in Python, which machine code calls in every evaluation."""

    solve: Solve = lambda *_: ((), ())

    def work_size(self, n: int, m: int) -> int:
        return 0

    def __call__(
        self, M: ArrayLike, Psi_q: ArrayLike, Q: ArrayLike, gamma: ArrayLike, tolerance: float = RANK_TOLERANCE
    ) -> Solution:
        given = [np.array(x, dtype=float) for x in (M, Psi_q, Q, gamma)]
        a, lam = self.find(*given)
        J = given[1].reshape(len(lam), len(a))
        return Solution(a, lam, decide_rank(singular_values(J) if J.size else np.ones(1), tolerance))

    def find(self, M: Array, Psi_q: Array, Q: Array, gamma: Array) -> tuple[Array, Array]:
        """Call the function; refuse what is not n accelerations and m multipliers."""
        found = self.solve(M, Psi_q, Q, gamma)
        try:
            a, lam = (np.asarray(x, dtype=float).ravel() for x in found)
        except (TypeError, ValueError):
            message = f"formulation '{self.name}' returns {found!r:.60}, not a and lam"
            raise UsageError(message, "own-formulation") from None
        for name, x, size in (("accelerations", a, len(Q)), ("multipliers", lam, len(gamma))):
            if len(x) != size:
                message = f"formulation '{self.name}' returns {len(x)} {name}, not {size}"
                raise UsageError(message, "own-formulation")
        return a, lam

    @cached_property
    def kernel(self) -> Any:  # of machine code the address alone is asked for
        def compute(x: Array, _: Array, y: Array, __: Array) -> None:
            n, m = integer(x, 0), integer(x, 1)
            given, result = take_given(x, n, m), take_result(y, n, m)
            M, Psi_q = given.M.reshape(n, n).copy(), given.Psi_q.reshape(m, n).copy()
            result.a[:], result.lam[:] = self.find(M, Psi_q, given.Q.copy(), given.gamma.copy())
            is_finite = np.isfinite(result.a).all() and np.isfinite(result.lam).all()
            result.rank[0] = min(n, m) if is_finite else NOT_FINITE

        def refuse(x: Array, _: Array, y: Array, __: Array) -> None:
            take_result(y, integer(x, 0), integer(x, 1)).rank[0] = NOT_FINITE

        return Called(compute, refuse)


def add_formulation(name: str, solve: Solve, needs_regular_mass: bool) -> OwnFormulation:
    """Let all analyses know a formulation by its name."""
    if name in all_formulations() and not isinstance(FORMULATIONS.get(name), OwnFormulation):
        raise UsageError(f"'{name}' is a formulation of linkwork; choose another name", "duplicate-name")
    about = (solve.__doc__ or "a function in Python").strip().split("\n")[0].rstrip(".")
    made = OwnFormulation(name, about, OWN, needs_regular_mass, solve)
    FORMULATIONS[name] = made
    return made
