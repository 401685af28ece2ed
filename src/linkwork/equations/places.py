"""The equations at many states at once: what `Place` says of one, here in arrays with a row for each state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Array
from linkwork.equations.equations import Equations
from linkwork.equations.place import FAR, LEAST_LEFT, LEAST_ROW, OFF, Place, aside
from linkwork.linalg.rank import HUGE, RANK_TOLERANCE, TINY
from linkwork.native.lowering import NativeFunction
from linkwork.native.rows import evaluate_rows
from linkwork.records import kept
from linkwork.tolerances import NEGLIGIBLE, ROUNDING

Flags: TypeAlias = NDArray[np.bool_]

CODE = ("constraints", "linear", "retract", "report")  # that a Place asks for


@dataclass(frozen=True, eq=False)
class Places:
    """States (q, v) at t = 0 of mechanisms that differ in their parameters p; `stated` as of a Place.

    Only of equations without states that events change, and with M regular: see `is_regular`.
    """

    equations: Equations
    functions: Mapping[str, NativeFunction]
    values: Array  # of the parameters of the equations
    p: Array
    q: Array
    v: Array
    stated: Array | None = None

    def run(self, name: str, *x: Array) -> Array:
        f = self.functions[name]
        columns = [np.zeros((len(self.q), 1)), *x] if sum(part.shape[1] for part in x) < f.inputs else x
        return evaluate_rows(f, np.column_stack(columns), self.p)

    @kept
    def _gaps(self) -> Array:
        return self.run("constraints", self.q, self.v)

    @property
    def m(self) -> int:
        return len(self.equations.Psi)

    @property
    def Psi(self) -> Array:
        return self._gaps[:, : self.m]

    @property
    def Psi_dot(self) -> Array:
        return self._gaps[:, self.m :]

    @kept
    def _linear(self) -> Array:
        return self.run("linear", self.q)

    @property
    def entries(self) -> Array:
        """The entries of Psi_q, in the order of their pattern."""
        return self._linear[:, : len(self.equations.Psi_q)]

    @property
    def Psi_q(self) -> Array:
        return self.matrices(self.entries)

    def matrices(self, entries: Array) -> Array:
        """Return full matrices with these entries in the places of those of Psi_q."""
        found = np.zeros((len(self.q), self.m, len(self.equations.v)))
        found[:, *self.equations.pattern] = entries
        return found

    @property
    def reversal(self) -> Array:
        return self._linear[:, len(self.equations.Psi_q) :][:, : len(self.equations.reversals)]

    @kept
    def _inertia(self) -> Array:
        e = self.equations
        return self._linear[:, len(e.Psi_q) + len(e.reversals) + (e.hints.arm is not None) :]

    @kept
    def is_finite(self) -> Flags:
        return np.asarray(np.isfinite(self._gaps).all(axis=1) & np.isfinite(self._linear).all(axis=1))

    def __getitem__(self, k: int) -> Place:
        """Return one of the states."""
        code = {name: partial(self.functions[name], p=self.p[k]) for name in CODE if name in self.functions}
        e = self.equations.with_values(dict(zip(self.equations.parameters, self.values[k].tolist(), strict=True)))
        return Place(e, self.q[k], self.v[k], 0.0, code, None if self.stated is None else self.stated[k])

    @kept
    def of_bodies(self) -> tuple[Array, Array]:
        """Return q and v of the bodies, whatever the coordinates."""
        body = self.equations.chart.body
        if body is None:
            return self.q, self.v
        rest = np.zeros((len(self.q), len(self.equations.a) + self.m))
        found = self.run("report", self.q, self.v, rest)[:, 2:]
        return found[:, : len(body.q)], found[:, len(body.q) :][:, : len(body.v)]

    @kept
    def departure(self) -> Array:
        """Return how far the bodies are from where, and from how fast, the model states them, on their scales."""
        body = self.equations.chart.body
        if body is None or self.stated is None:
            return np.full(len(self.q), np.inf)
        found, n_q = np.hstack(self.of_bodies), len(body.q)
        by = np.where(body.lengths[: found.shape[1]], self.length[:, None], 1.0)
        x, y = found / by, self.stated / by
        fastest = np.maximum(np.abs(x[:, n_q:]), np.abs(y[:, n_q:])).max(axis=1, initial=0.0)
        away = np.abs(x - y)
        away[:, n_q:] /= np.where(fastest > 0.0, fastest, 1.0)[:, None]
        return np.asarray(away.max(axis=1, initial=0.0))

    @kept
    def length(self) -> Array:
        found = np.maximum(np.where(self.arm > 0.0, self.arm, self.far), FAR * self.far)
        return np.where(found > 0.0, found, 1.0)

    @kept
    def far(self) -> Array:
        largest = np.abs(self.q[:, self.equations.lengths[: self.q.shape[1]]]).max(axis=1, initial=0.0)
        return np.where(largest > ROUNDING, largest, 0.0)

    @kept
    def arm(self) -> Array:
        e = self.equations
        if e.hints.arm is not None:
            longest = self._linear[:, len(e.Psi_q) + len(e.reversals)]
        else:
            longest = np.abs(self.entries[:, e.arms]).max(axis=1, initial=0.0)
        return np.where(longest > ROUNDING * np.maximum(self.far, 1.0), longest, 0.0)

    @kept
    def scales(self) -> Array:
        return np.where(self.equations.lengths, self.length[:, None], 1.0)

    @property
    def q_scale(self) -> Array:
        return self.scales[:, : self.q.shape[1]]

    @property
    def v_scale(self) -> Array:
        return self.scales[:, self.q.shape[1] : self.q.shape[1] + self.v.shape[1]]

    @property
    def row_scale(self) -> Array:
        return self.scales[:, self.q.shape[1] + self.v.shape[1] :]

    @kept
    def gap(self) -> Array:
        return np.asarray((np.abs(self.Psi) / self.row_scale).max(axis=1, initial=0.0))

    @property
    def speed(self) -> Array:
        """The largest velocity on its scale."""
        return np.asarray((np.abs(self.v) / self.v_scale).max(axis=1, initial=0.0))

    @property
    def rate(self) -> Array:
        """The largest |Psi_dot| on the scale of its row."""
        return np.asarray((np.abs(self.Psi_dot) / self.row_scale).max(axis=1, initial=0.0))

    @kept
    def diagonal(self) -> Array:
        """Return the diagonal of M."""
        found, (entries, rows) = np.zeros(self.v.shape), self.equations.diagonal
        found[:, rows] = self._inertia[:, entries]
        return found

    @kept
    def _roots(self) -> tuple[Flags, Array]:
        """Return where M is regular, and R with M^-1 = R R^T there."""
        n, e = self.v.shape[1], self.equations
        full, positive = np.zeros((len(self.q), n, n)), np.asarray((self.diagonal > 0.0).all(axis=1))
        if e.M:
            full[:, *np.array(list(e.M)).T] = self._inertia
        full[~positive] = np.eye(n)
        scale = np.where(positive[:, None], 1.0 / np.sqrt(self.diagonal), 1.0)
        lower = _each(np.linalg.cholesky, scale[:, :, None] * full * scale[:, None, :])
        roots = scale[:, :, None] * np.swapaxes(np.linalg.inv(lower), 1, 2)
        own = np.sqrt(self.diagonal)[:, :, None] * roots
        size = NEGLIGIBLE * np.sum(own * own, axis=(1, 2))
        is_regular = np.asarray(positive & np.isfinite(size))
        for k in np.flatnonzero(is_regular & (size >= 1.0)).tolist():
            is_regular[k] = NEGLIGIBLE * np.linalg.svd(own[k], compute_uv=False)[0] ** 2 < 1.0
        return is_regular, roots

    @kept
    def is_regular(self) -> Flags:
        """Return whether M is regular, and known to be."""
        if self.equations.hints.chain is not None:  # whose M is not formed
            return np.zeros(len(self.q), dtype=bool)
        return np.asarray((self.diagonal > 0.0).all(axis=1)) if self.equations.is_diagonal else self._roots[0]

    @kept
    def _ratio(self) -> Array:
        i, j = self.equations.pattern
        return self.v_scale[:, j] / self.row_scale[:, i]

    def _sums(self, x: Array) -> Array:
        """Sum over the entries of each row of Psi_q, in their order."""
        found = np.zeros((len(x), self.m))
        for k, i in enumerate(self.equations.pattern[0].tolist()):
            found[:, i] += x[:, k]
        return found

    @kept
    def _by_mass(self) -> tuple[Array, Array]:
        """Return Psi_q M^-1/2, and the lengths of its rows."""
        if self.equations.is_diagonal:
            scaled = self.entries * (1.0 / np.sqrt(self.diagonal))[:, self.equations.pattern[1]]
            return self.matrices(scaled), np.sqrt(self._sums(scaled * scaled))
        J = self.Psi_q @ self._roots[1]
        return J, np.asarray(np.linalg.norm(J, axis=2))

    @property
    def row_length(self) -> Array:
        """The lengths of the rows of Psi_q M^-1/2."""
        return self._by_mass[1]

    @kept
    def unit(self) -> Array:
        """Return Psi_q M^-1/2 with rows of length one."""
        least = 0.0 if self.equations.chart.kind == "stated" else ROUNDING
        vanishing = np.sqrt(self._sums((self.entries * self._ratio) ** 2)) <= least
        J, lengths = self._by_mass
        return np.where(vanishing[:, :, None], 0.0, J / np.maximum(lengths, TINY)[:, :, None])

    @kept
    def singular_values(self) -> Array:
        """Return the singular values of `unit`, largest first.

        Zeros follow where there are more rows than velocities.
        """
        found = np.zeros((len(self.q), self.m))
        if found.size and self.v.size:
            known: Flags = np.asarray(np.isfinite(self.unit).all(axis=(1, 2)))
            values = np.linalg.svd(np.where(known[:, None, None], self.unit, 0.0), compute_uv=False)
            found[:, : values.shape[1]] = values
        return found

    @kept
    def rank(self) -> NDArray[np.intp]:
        values = self.singular_values
        return np.asarray((values > RANK_TOLERANCE * values.max(axis=1, initial=0.0)[:, None]).sum(axis=1))

    @kept
    def smallest(self) -> Array:
        """Return the smallest singular value kept, 1 if there is none."""
        if not self.m:
            return np.ones(len(self.q))
        last = np.take_along_axis(self.singular_values, np.maximum(self.rank - 1, 0)[:, None], axis=1)[:, 0]
        return np.where(self.rank > 0, last, 1.0)

    @kept
    def size(self) -> Array:
        """Return diag(Psi_q M^-1 Psi_q^T), see Rows.size."""
        e, m = self.equations, self.m
        i, j = e.pattern
        inertia = self.diagonal[:, j]
        usual, entries = np.full((len(self.q), m), HUGE), self.entries / np.sqrt(inertia)
        for row, x in zip(i.tolist(), (1.0 / (self._ratio * self._ratio * inertia)).T, strict=True):
            usual[:, row] = np.minimum(usual[:, row], x)
        size: Array = np.maximum(self._sums(entries * entries), LEAST_ROW * usual)
        least = self.smallest**2 if e.is_diagonal else np.zeros(len(self.q))
        low = np.flatnonzero((self.rank == m) & (least < LEAST_LEFT)) if m else np.empty(0, dtype=np.intp)
        if len(low):
            J = self.matrices(entries / np.sqrt(size)[:, i])[low]
            R = np.asarray(np.linalg.qr(np.swapaxes(J, 1, 2), mode="r"))
            inverse = _each(np.linalg.inv, R)
            for k in np.flatnonzero(~np.isfinite(inverse).all(axis=(1, 2))).tolist():
                inverse[k] = np.linalg.pinv(R[k])  # of rows that depend on others in this very place
            size[low] = size[low] * np.minimum(1.0, 1.0 / np.sum(inverse**2, axis=2) / LEAST_LEFT)
        return size

    @kept
    def depend_only_here(self) -> Flags:
        """Return whether rows depend on others only where the joints are closed, see Rows."""
        found = self.rank < self.m
        if found.any():
            moved = replace(self, q=self.run("retract", self.q, OFF * self.v_scale * aside(self.v.shape[1])))
            found &= moved.rank > self.rank
        return found

    def replaced(self, rows: NDArray[np.intp], others: Places) -> Places:
        """Return the places with others instead of these states."""
        made = {name: getattr(self, name).copy() for name in ("values", "p", "q", "v")}
        for name, own in made.items():
            own[rows] = getattr(others, name)
        return replace(self, **made)

    def chosen(self, rows: Flags | NDArray[np.intp]) -> Places:
        """Return some of these states."""
        stated = None if self.stated is None else self.stated[rows]
        values, p, q, v = (x[rows] for x in (self.values, self.p, self.q, self.v))
        return replace(self, values=values, p=p, q=q, v=v, stated=stated)


def _each(f: Callable[[Array], Any], matrices: Array) -> Array:
    """Return what f makes of each matrix, all at once if it can; NaN where it fails."""
    try:
        return np.asarray(f(matrices))
    except np.linalg.LinAlgError:
        found = np.full_like(matrices, np.nan)
        for k, matrix in enumerate(matrices):
            with suppress(np.linalg.LinAlgError):
                found[k] = f(matrix)
        return found
