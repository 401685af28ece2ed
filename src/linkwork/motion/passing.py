"""Singular positions on a motion that has been computed.

Where Psi_q loses rank, freedoms are added for an instant and the mechanism could go on in another branch. The smallest
singular value that is not zero all along the motion goes to zero there like |t - t*|. It is looked at in the report
rows; where it falls so fast that it could vanish, the rows are interpolated and the interval is narrowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.equations import TIME, Equations
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic
from linkwork.expressions.graph import Expr
from linkwork.motion.singular import Passed, named

Array = NDArray[np.float64]

MOST_COORDINATES = 60
MOST_ROWS = 2000
MOST_WORK = 3e7  # rows times the cube of the number of constraints; of more rows, only some are looked at
MOST_CANDIDATES = 100
REDUNDANT = 1e-12  # of the largest eigenvalue of J J^T: a value that is always below belongs to redundant rows
SINGULAR = 1e-4  # of the largest on the motion: what counts as zero, rows being interpolated
GRID = np.linspace(0.0, 1.0, 9)
NARROWED = 8  # times, each to a quarter


def singular_positions(e: Equations, t: Array, q: Array, v: Array) -> list[dict[str, Any]]:
    """Times and joints of the singular positions on the motion with the rows (t, q, v)."""
    return named(tuple(row.element for row in e.rows), passed(e, t, q, v))


def passed(e: Equations, t: Array, q: Array, v: Array) -> list[Passed]:
    """The same with how much each row takes part, as far as the rows are close enough to show them."""
    m = len(e.Psi)
    most = int(min(MOST_ROWS, MOST_WORK / max(m, 1) ** 3))
    if m == 0 or len(t) < 3 or len(e.v) > MOST_COORDINATES:
        return []
    with np.errstate(all="ignore"):
        jacobian = _scaled_jacobian(e, q[0])
        rates = evaluate(e.qd, _values(e, t, q, v), numpy_arithmetic())
        qd = np.column_stack([np.broadcast_to(x, t.shape) for x in rates])

        def squares(times: Array) -> Array:
            J = jacobian(times, _between_rows(t, q, qd, times))
            return np.asarray(np.linalg.eigvalsh(J @ np.swapaxes(J, 1, 2)), dtype=float)

        rows = t[np.unique(np.linspace(0, len(t) - 1, min(most, len(t))).astype(int))]
        try:
            found = squares(rows)
            if not np.all(np.isfinite(found)):
                return []
            rank = int(np.max(np.sum(found > REDUNDANT * found[:, -1:], axis=1)))
            if rank == 0:
                return []

            def smallest(times: Array) -> Array:
                return np.sqrt(np.maximum(squares(times)[:, m - rank], 0.0))

            values = np.sqrt(np.maximum(found[:, m - rank], 0.0))
            zero = SINGULAR * float(np.max(values))
            times = _narrowed(rows, values, zero, smallest)
            if not len(times):
                return []
            U, sizes, _ = np.linalg.svd(jacobian(times, _between_rows(t, q, qd, times)))
        except np.linalg.LinAlgError:
            return []
    lost = [sizes_then[:rank] <= 10.0 * zero for sizes_then in sizes]
    return [Passed(float(x), np.linalg.norm(U[k][:, :rank][:, lost[k]], axis=1)) for k, x in enumerate(times)]


def _narrowed(rows: Array, values: Array, zero: float, smallest: Callable[[Array], Array]) -> Array:
    """The times between rows at which the smallest singular value vanishes."""
    before, after = np.append(np.inf, values[:-1]), np.append(values[1:], np.inf)
    fall = np.maximum(np.where(np.isfinite(before), before, 0.0), np.where(np.isfinite(after), after, 0.0)) - values
    candidates = np.flatnonzero((values <= before) & (values <= after) & (values <= 2.0 * fall + zero))
    candidates = np.sort(candidates[np.argsort(values[candidates])][:MOST_CANDIDATES])
    low, high = rows[np.maximum(candidates - 1, 0)], rows[np.minimum(candidates + 1, len(rows) - 1)]
    times = rows[candidates]
    for _ in range(NARROWED):
        if not len(times):
            return times
        grid = low[:, None] + (high - low)[:, None] * GRID
        found = smallest(grid.ravel()).reshape(grid.shape)
        each, best = np.arange(len(grid)), np.argmin(found, axis=1)
        left, right = np.maximum(best - 1, 0), np.minimum(best + 1, len(GRID) - 1)
        low, high, times = grid[each, left], grid[each, right], grid[each, best]
        least, ends = found[each, best], np.maximum(found[each, left], found[each, right])
        kept = (least <= 0.6 * ends) | (least <= zero)
        low, high, times, least = low[kept], high[kept], times[kept], least[kept]
    times, same = times[least <= zero], 1e-6 * (rows[-1] - rows[0])
    for end in (rows[0], rows[-1]):
        times = np.where(np.abs(times - end) <= same, end, times)
    first = np.append(True, np.diff(times) > same)[: len(times)]  # two rows can lead to the same position
    return np.asarray(times[first], dtype=float)


def _values(e: Equations, t: Array | float, q: Array, v: Array | None = None) -> Mapping[Expr, Any]:
    columns: dict[Expr, Any] = {**e.parameters, TIME: t, **dict(zip(e.q, q.T, strict=True))}
    return columns if v is None else {**columns, **dict(zip(e.v, v.T, strict=True))}


def _scaled_jacobian(e: Equations, q: Array) -> Callable[[Array, Array], Array]:
    """Psi_q at many positions, columns in the metric of the inertia at q, rows of length one."""
    diagonal = [e.M[k, k] for k in range(len(e.v))]
    inertia = np.array(evaluate(diagonal, _values(e, 0.0, q)), dtype=float)
    scale = np.ones(len(e.v)) if np.any(inertia <= 0.0) else 1.0 / np.sqrt(inertia)

    def jacobian(times: Array, positions: Array) -> Array:
        J = np.zeros((len(times), len(e.Psi), len(e.v)))
        entries = evaluate(e.Psi_q.values(), _values(e, times, positions), numpy_arithmetic())
        for (i, j), entry in zip(e.Psi_q, entries, strict=True):
            J[:, i, j] = entry * scale[j]
        lengths = np.linalg.norm(J, axis=2, keepdims=True)
        return J / np.where(lengths > 0.0, lengths, 1.0)

    return jacobian


def _between_rows(t: Array, q: Array, qd: Array, times: Array) -> Array:
    """Positions by the cubic polynomials through neighbouring rows and their rates."""
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    h = (t[k + 1] - t[k])[:, None]
    s = (times - t[k])[:, None] / h
    return (
        (1 + 2 * s) * (1 - s) ** 2 * q[k]
        + s * (1 - s) ** 2 * h * qd[k]
        + s**2 * (3 - 2 * s) * q[k + 1]
        - s**2 * (1 - s) * h * qd[k + 1]
    )
