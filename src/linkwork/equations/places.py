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
from linkwork.equations.place import OFF, Place, aside
from linkwork.equations.survey import ranked, scaled, survey_rank, survey_scales
from linkwork.linalg.rank import TINY
from linkwork.native.kernels import offsets_of
from linkwork.native.lowering import NativeFunction
from linkwork.native.rows import evaluate_rows
from linkwork.records import kept
from linkwork.tolerances import ROUNDING

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
    def _scaled(self) -> tuple[Array, Any]:
        """Return what `survey` finds of scales in rows, and the columns of it."""
        x, n = np.hstack([self.q, self.v, self._gaps, self._linear]), len(self.equations.lengths)
        return survey_scales(self.equations.layout, x, n), offsets_of(scaled, n)

    def _of_scales(self, name: str) -> Array:
        found, columns = self._scaled
        return np.asarray(found[:, getattr(columns, name)])

    @property
    def is_finite(self) -> Flags:
        return np.asarray(self._of_scales("is_finite").view(np.int64) != 0)

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

    @property
    def length(self) -> Array:
        return self._of_scales("length")

    @property
    def arm(self) -> Array:
        return self._of_scales("arm")

    @property
    def scales(self) -> Array:
        found, columns = self._scaled
        return found[:, columns.scales : columns.rest]

    @property
    def q_scale(self) -> Array:
        return self.scales[:, : self.q.shape[1]]

    @property
    def v_scale(self) -> Array:
        return self.scales[:, self.q.shape[1] : self.q.shape[1] + self.v.shape[1]]

    @property
    def row_scale(self) -> Array:
        return self.scales[:, self.q.shape[1] + self.v.shape[1] :]

    @property
    def gap(self) -> Array:
        return self._of_scales("gap")

    @property
    def speed(self) -> Array:
        """The largest velocity on its scale."""
        return self._of_scales("speed")

    @property
    def rate(self) -> Array:
        """The largest |Psi_dot| on the scale of its row."""
        return self._of_scales("rate")

    @kept
    def _ranked(self) -> tuple[Array, Any]:
        """Return what `survey` finds of rows, and the columns of it."""
        e, sizes = self.equations, (len(self.equations.v), self.m)
        return survey_rank(e.layout, np.hstack([self._linear, self.scales]), *sizes), offsets_of(ranked, *sizes)

    @property
    def is_regular(self) -> Flags:
        """Whether M is regular, and known to be; that of a chain is not formed."""
        found, columns = self._ranked
        is_known: Flags = found[:, columns.is_known].view(np.int64) != 0
        return is_known & (self.equations.hints.chain is None)

    @property
    def diagonal(self) -> Array:
        """The diagonal of M."""
        found, columns = self._ranked
        return found[:, columns.diagonal : columns.rest]

    @property
    def rank(self) -> NDArray[np.intp]:
        found, columns = self._ranked
        return found[:, columns.rank].view(np.int64)

    @property
    def smallest(self) -> Array:
        """The smallest singular value kept, 1 if there is none."""
        found, columns = self._ranked
        return found[:, columns.smallest]

    @property
    def size(self) -> Array:
        """diag(Psi_q M^-1 Psi_q^T), see `survey.find_size`."""
        found, columns = self._ranked
        return found[:, columns.size : columns.diagonal]

    @kept
    def _roots(self) -> Array:
        """Return R with M^-1 = R R^T where M is regular."""
        n, scale = self.v.shape[1], 1.0 / np.sqrt(self.diagonal)
        full = np.zeros((len(self.q), n, n))
        full[:, *np.array(list(self.equations.M)).T] = self._inertia
        lower = _each(np.linalg.cholesky, scale[:, :, None] * full * scale[:, None, :])
        return np.asarray(scale[:, :, None] * np.swapaxes(np.linalg.inv(lower), 1, 2))

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
        J = self.Psi_q @ self._roots
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
