"""Whether a solution of R(q) = 0 stands alone or belongs to a curve or surface of solutions.

A singular Jacobian says that there may be others nearby, not that there are: two modes of a four-bar that meet stand
alone, a parallelogram moves. The solutions around q have dimension k or more if k hyperplanes beside q, in random
directions of the null space, meet them within a unit [sommese2005, chapter 13].
"""

from __future__ import annotations

import numpy as np

from linkwork.assembly.deflation import Linearize
from linkwork.linalg.newton import Array, Move, newton
from linkwork.linalg.rank import null_space, row_sizes
from linkwork.tolerances import CLOSED, HALF_THE_DIGITS, halved

BESIDE = 0.03  # radians or units of the mechanism: how far off the hyperplanes are
SHORT_ROW = 1e-2  # of the longest: what is shorter at q is not lengthened, and its rounding not with it
ATTEMPTS = 20  # with other directions: where motions meet, about half of them lead nowhere


def local_dimension(at: Linearize, move: Move, q: Array, units: Array, rng: np.random.Generator) -> int:
    """Return the dimension of the set of solutions around the solution q; `units` are the scales of the coordinates."""
    _, J, F, F_q = at(q)
    sizes = row_sizes(J * units, SHORT_ROW)
    loose = null_space(J * units, halved(HALF_THE_DIGITS))  # of a singular position, which is known to few digits
    for k in range(len(loose)):
        for _ in range(ATTEMPTS):
            mix = rng.normal(size=(k + 1, len(loose)))
            directions = (mix @ loose).conj() @ (F_q * units).T
            directions = directions / np.maximum(np.linalg.norm(directions, axis=1), 1e-300)[:, None]
            there, left = newton(_cut(at, sizes, F, directions.conj()), move, q, CLOSED, BESIDE * units)
            if left < CLOSED and np.max(np.abs(there[3] - F)) < 1.0:
                break
        else:
            return k
    return len(loose)


def _cut(at: Linearize, sizes: Array, F: Array, directions: Array) -> Linearize:
    """Return R, rows of unit length, with hyperplanes directions . (F(q) - F) = BESIDE."""

    def linearize(q: Array) -> tuple[Array, Array, Array, Array]:
        R, J, here, here_q = at(q)
        beside = directions @ (here - F) - BESIDE
        cut = np.vstack([J / sizes[:, None], directions @ here_q])
        return np.concatenate([R / sizes, beside]), cut, here, here_q

    return linearize
