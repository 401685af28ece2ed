"""The mass matrix at one state: its entries, its diagonal, whether it is regular."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from linkwork.arrays import Array
from linkwork.equations.equations import Equations
from linkwork.records import kept
from linkwork.sequences.entries import dense
from linkwork.tolerances import NEGLIGIBLE

Entries: TypeAlias = dict[tuple[int, int], float]


@dataclass(frozen=True, eq=False)
class Inertia:
    """M of these equations by the values of its entries; of a chain by those of its links."""

    equations: Equations
    entries: Array
    is_known: bool = False  # to be regular

    @kept
    def full(self) -> Array:
        """Return the full matrix."""
        e = self.equations
        if e.hints.chain is None:
            return dense(e.M, self.entries, (len(e.v), len(e.v)))
        B = np.zeros((e.hints.chain.tree.n_b, e.hints.chain.tree.n))
        for X, H in self._links:
            for (i, j), x in X.items():
                B[i] += x * B[j]
            for at, x in H.items():
                B[at] = x
        M_B = np.zeros_like(B)
        for (i, j), x in self._link_masses.items():
            M_B[i] += x * B[j]
        return np.asarray(B.T @ M_B)

    @kept
    def _links(self) -> list[tuple[Entries, Entries]]:
        """Return X and H of the links of a chain."""
        assert self.equations.hints.chain is not None
        rest, links = iter(self.entries.tolist()), self.equations.hints.chain.tree.links
        return [({at: next(rest) for at in link.X}, {at: next(rest) for at in link.H}) for link in links]

    @kept
    def _link_masses(self) -> Entries:
        """Return M of the y of a chain."""
        assert self.equations.hints.chain is not None
        M = self.equations.hints.chain.M
        return dict(zip(M, self.entries[len(self.entries) - len(M) :].tolist(), strict=True))

    @kept
    def _along_links(self) -> tuple[Array, float]:
        """Return the diagonal of M = B^T M_b B, and the least eigenvalue of its pivots where this diagonal is one.

        From the outermost links inwards: composite inertias I give H^T I H, articulated ones the pivots
        [featherstone2008, chapters 6 and 7].
        """
        assert self.equations.hints.chain is not None
        tree = self.equations.hints.chain.tree
        at = {i: (k, i - link.rows.start) for k, link in enumerate(tree.links) for i in link.rows}
        whole = [np.zeros((len(link.rows), len(link.rows))) for link in tree.links]
        for (i, j), x in self._link_masses.items():
            whole[at[i][0]][at[i][1], at[j][1]] += x
        parts, diagonal, least = [x.copy() for x in whole], np.zeros(tree.n), np.inf
        for k in reversed(range(len(tree.links))):
            shifts, hinges = self._links[k]
            own = {j: c for c, j in enumerate(sorted({j for _, j in hinges}))}
            H = np.zeros((len(whole[k]), len(own)))
            for (i, j), x in hinges.items():
                H[at[i][1], own[j]] = x
            diagonal[list(own)] = np.sum(H * (whole[k] @ H), axis=0)
            I_H = parts[k] @ H
            D, root = H.T @ I_H, np.sqrt(diagonal[list(own)])
            if own and np.all(root > 0.0):
                least = min(least, float(np.linalg.eigvalsh(D / root[:, None] / root)[0]))
            if least <= NEGLIGIBLE or not np.all(root > 0.0):
                least = 0.0  # what is further in need not be known
            if shifts:
                above = at[next(iter(shifts))[1]][0]
                X = np.zeros((len(whole[k]), len(whole[above])))
                for (i, j), x in shifts.items():
                    X[at[i][1], at[j][1]] = x
                whole[above] += X.T @ whole[k] @ X
                if least:
                    parts[above] += X.T @ (parts[k] - I_H @ np.linalg.solve(D, I_H.T)) @ X
        return diagonal, least

    @kept
    def diagonal(self) -> Array:
        """Return the diagonal of M."""
        e = self.equations
        if e.hints.chain is not None:
            return self._along_links[0]
        found, (entries, rows) = np.zeros(len(e.v)), e.diagonal
        found[rows] = self.entries[entries]
        return found

    @kept
    def is_regular(self) -> bool:
        """Return whether M is regular: every motion has inertia, also a combination of several velocities."""
        if self.is_known:
            return True
        if not all(x > 0.0 for x in self.diagonal.tolist()):
            return False
        if self.equations.is_diagonal:
            return True
        if self.equations.hints.chain is not None:
            return self._along_links[1] > NEGLIGIBLE
        try:
            own = np.sqrt(self.diagonal)[:, None] * self.inverse_root
        except np.linalg.LinAlgError:
            return False
        # Of M, its diagonal being one, the least eigenvalue is one by the largest of M^-1, whose sum is more.
        is_far = bool(NEGLIGIBLE * np.sum(own * own) < 1.0)
        return is_far or bool(NEGLIGIBLE * np.linalg.svd(own, compute_uv=False)[0] ** 2 < 1.0)

    @kept
    def inverse_root(self) -> Array:
        """Return R, an upper triangle, with M^-1 = R R^T, M being regular."""
        scale = 1.0 / np.sqrt(self.diagonal)
        if self.equations.is_diagonal:
            return np.diag(scale)
        return scale[:, None] * np.linalg.inv(np.linalg.cholesky(scale[:, None] * self.full * scale)).T

    @property
    def sizes(self) -> Array:
        """The diagonal of M, where that is zero the mean of the others of shifts or turns; 1 if M is not diagonal."""
        if self.is_regular:
            return self.diagonal
        if not self.equations.is_diagonal:
            return np.ones(len(self.equations.v))
        filled, turning = self.diagonal.copy(), self.equations.turning
        for alike in (turning, ~turning):
            own = filled[alike & (filled > 0.0)]
            filled[alike & (filled <= 0.0)] = own.mean() if len(own) else 1.0
        return filled
