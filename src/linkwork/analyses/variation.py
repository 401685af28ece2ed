"""Small motions about a state: what the equations become for small changes dq = N dx and dv.

    force = Q - M a - Psi_q^T lam = 0        Psi = 0        Psi_dot = 0

On the constraints dx = Y w with Psi_q Y = 0 of the rows of Psi, and dv = Z u + P dq with Psi_q Z = 0 of all rows and
P = -Psi_q^+ (Psi_dot)_q. Both bases are the identity in some velocities, whose names the states have. States of first
order z, the last of q, are free as they are.
                                                                                        [peterson2015]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism
from linkwork.compiled.system import System
from linkwork.equations.equations import TIME, Equations
from linkwork.equations.linear import multiply
from linkwork.equations.place import Place
from linkwork.equations.programs import LOCAL, Program, Source, report, terms
from linkwork.errors import UsageError, check_choice, quoted
from linkwork.expressions.derivatives import directional, jacobian
from linkwork.expressions.evaluation import evaluate, ordered
from linkwork.expressions.graph import ZERO, Expr
from linkwork.linalg.rank import RANK_TOLERANCE, Pattern, row_sizes, svd
from linkwork.records import kept
from linkwork.sequences.entries import Entries
from linkwork.sequences.sequence import ComputationSequence
from linkwork.tolerances import ROUNDING

Array = NDArray[np.float64]


def blocks_of(e: Equations) -> list[Entries]:
    """Return (N v)_q, N, force_q, force_v and (Psi_dot)_q."""
    n = len(e.v)
    force = [f - x for f, x in zip(e.Q, multiply(e, [*e.a, *e.lam])[:n], strict=True)]
    return [jacobian(f, x) for f, x in ((e.qd, e.q), (e.qd, e.v), (force, e.q), (force, e.v), (e.Psi_dot, e.q))]


def patterns_of(e: Equations) -> list[Pattern]:
    """Return rows and columns of their entries."""
    return [tuple(np.array([*block], dtype=np.intp).reshape(-1, 2).T) for block in blocks_of(e)]  # type: ignore[misc]


def unseen_of(e: Equations) -> list[int]:
    """Return velocities with which point masses turn, which nothing sees."""
    if not e.chart.unseen:
        return []
    seen = set(ordered([*e.Q, *e.Psi, *e.slips.values(), *e.rates]))
    turned = {c.owner for c, x in zip(e.coordinates, e.q, strict=True) if c.kind != "length" and x in seen}
    moves = [(k, c) for k, (c, x) in enumerate(zip(e.velocities, e.v, strict=True)) if e.turning[k] and x not in seen]
    return [k for k, c in moves if c.owner not in turned]


def _state(e: Equations) -> tuple[Expr, ...]:
    return TIME, *e.q, *e.v, *e.a, *e.lam


def variation(s: Source) -> ComputationSequence:
    """Compute (t, q, v, a, lam) -> qd, then the entries of `blocks_of`, block by block."""
    found = [*s.equations.qd, *(entry for block in blocks_of(s.equations) for entry in block.values())]
    return ComputationSequence("variation", _state(s.equations), found)


def potential(s: Source) -> ComputationSequence:
    """Compute (t, q) -> the potential, and its derivatives with respect to the changes dx."""
    e = s.equations
    (rate,) = directional([e.energy.potential], {x: y for x, y in e.motion.items() if x is not TIME})
    slopes = jacobian([rate], e.v)
    found = [e.energy.potential, *(slopes.get((0, j), ZERO) for j in range(len(e.v)))]
    return ComputationSequence("potential", (TIME, *e.q), found)


PROGRAMS: tuple[Program, ...] = (*LOCAL, report, terms, variation, potential)


class Derivatives(NamedTuple):
    """Of the equations at a state, as full matrices."""

    qd: Array
    rate_q: Array  # (N v)_q
    N: Array
    force_q: Array
    force_v: Array
    Psi_dot_q: Array


@dataclass(frozen=True, eq=False)
class Code:
    """The programs of small motions of one structure with the values of a mechanism."""

    system: System
    patterns: Sequence[Pattern]
    unseen: Sequence[int]

    @staticmethod
    def of(mechanism: Mechanism) -> Code:
        patterns = mechanism.shared.compiled(("pattern", "variation"), patterns_of)
        unseen = mechanism.shared.compiled(("unseen",), unseen_of)
        return Code(mechanism.system(PROGRAMS), patterns, unseen)

    @kept
    def p(self) -> Array:
        return self.system._p(1.0, self.system._given(0.0))

    def terms(self, place: Place) -> tuple[Array, Array, Array, Array]:
        """Return M, Psi_q, Q and gamma."""
        n, m = len(place.v), len(place.equations.Psi)
        found = self.system.functions["terms"](np.concatenate([[place.t], place.q, place.v]), self.p)
        M, J, Q, gamma = np.split(found, np.cumsum([n * n, m * n, n]))
        return M.reshape(n, n), J.reshape(m, n), Q, gamma

    def potential(self, place: Place) -> list[float]:
        """Return the potential, then its derivatives."""
        found: list[float] = self.system.functions["potential"](np.append(place.t, place.q), self.p).tolist()
        return found

    def derivatives(self, place: Place, a: Array, lam: Array) -> Derivatives:
        n_q, n, m = len(place.q), len(place.v), len(lam)
        found = self.system.functions["variation"](np.concatenate([[place.t], place.q, place.v, a, lam]), self.p)
        first, matrices = n_q, list[Array]()
        for pattern, shape in zip(self.patterns, ((n_q, n_q), (n_q, n), (n, n_q), (n, n), (m, n_q)), strict=True):
            matrix = np.zeros(shape)
            matrix[pattern] = found[first : first + len(pattern[0])]
            matrices.append(matrix)
            first += len(pattern[0])
        return Derivatives(found[:n_q], *matrices)


class Split(NamedTuple):
    """What rows J leave free, J Z = 0, and their pseudo-inverse, columns on their scales."""

    Z: Array
    inverse: Array


def split_rows(J: Array, scale: Array, row_scale: Array) -> Split:
    """Split rows by the singular values of rows of unit length; rows of rounding do not decide the rank."""
    sizes = row_sizes(J * scale)
    unit = np.where((sizes > ROUNDING * row_scale)[:, None], J * scale / sizes[:, None], 0.0)
    U, values, V = svd(unit)
    rank = int(np.sum(values > RANK_TOLERANCE))
    return Split(scale[:, None] * V[rank:].T, scale[:, None] * (V[:rank].T / values[:rank]) @ U[:, :rank].T / sizes)


@dataclass(frozen=True, eq=False)
class Tangent:
    """The small changes that the constraints leave at a place, with the solution of the equations there."""

    code: Code
    place: Place
    length: float  # of the mechanism

    @kept
    def scale(self) -> Array:
        """The scale of each velocity."""
        return np.where(self.place.equations.turning, 1.0, self.length)

    @property
    def n_p(self) -> int:
        """How many of q velocities move; the others are states of first order."""
        return len(self.place.q) - self.place.equations.n_states

    @kept
    def z_scale(self) -> Array:
        """The scale of each state of first order."""
        e = self.place.equations
        return np.array(evaluate(e.chart.state_scales, e.parameters), dtype=float)

    @kept
    def row_scale(self) -> Array:
        e = self.place.equations
        return np.where(e.lengths[len(e.q) + len(e.v) :], self.length, 1.0)

    def _split(self, rows: Sequence[int] | slice) -> Split:
        """Return the split, with rows added that hold velocities without any effect, as the turning of point masses."""
        J = self.terms[1]
        more = np.eye(len(self.place.v))[self.code.unseen]
        by = np.concatenate([self.row_scale[rows], np.ones(len(more))])
        return split_rows(np.vstack([J[rows], more]), self.scale, by)

    @kept
    def terms(self) -> tuple[Array, Array, Array, Array]:
        return self.code.terms(self.place)

    @property
    def M(self) -> Array:
        return self.terms[0]

    @kept
    def solution(self) -> tuple[Array, Array]:
        """Return a and lam, of least norm where constraints are redundant."""
        M, _, Q, gamma = self.terms
        Z, inverse = self.velocities.Z, self.velocities.inverse[:, : len(gamma)]
        bent = inverse @ gamma
        a = bent + Z @ np.linalg.solve(Z.T @ M @ Z, Z.T @ (Q - M @ bent))
        return a, inverse.T @ (Q - M @ a)

    @kept
    def derivatives(self) -> Derivatives:
        return self.code.derivatives(self.place, *self.solution)

    @kept
    def velocities(self) -> Split:
        return self._split(slice(None))

    @kept
    def positions(self) -> Split:
        e = self.place.equations
        return self._split([i for i in range(len(e.Psi)) if i not in e.slips]) if e.slips else self.velocities

    @kept
    def P(self) -> Array:
        """Return dv = P dq where nothing is free."""
        m = len(self.place.equations.Psi)
        return np.asarray(-self.velocities.inverse[:, :m] @ self.derivatives.Psi_dot_q)


def number_independent(e: Equations, names: Sequence[str], Z: Array, scale: Array) -> list[int]:
    """Return the velocities of these names, if any.

    UsageError if they do not determine all others, or more than those.
    """
    if not names:
        return []
    for name in names:
        check_choice("coordinate", name, e.v_names)
    chosen = [e.v_names.index(name) for name in names]
    if len(chosen) != Z.shape[1]:
        message = f"{quoted(names)} are {len(chosen)} coordinates, and velocities have {Z.shape[1]} freedoms"
        raise UsageError(message, "not-independent")
    values = np.linalg.svd((Z / scale[:, None])[chosen], compute_uv=False)
    if values.min(initial=1.0) <= RANK_TOLERANCE:
        raise UsageError(f"{quoted(names)} do not determine all velocities here", "not-independent")
    return chosen
