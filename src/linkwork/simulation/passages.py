"""Singular positions on a motion that has been computed.

Where Psi_q loses rank, freedoms are added for an instant and the mechanism could go on in another branch. There the
determinant of the linear system, det K = (-1)^m det M det(Psi_q M^-1 Psi_q^T + eps), goes to zero like (t - t*)^2. Its
root is known at the report rows; where it falls so fast that it could vanish, the rows are interpolated and the
interval is narrowed. What is found counts if a singular value of Psi_q really vanishes there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.system import System
from linkwork.equations.place import Place
from linkwork.linalg.rank import svd
from linkwork.notes import Note
from linkwork.simulation.outputs import report
from linkwork.start.singular import MOST_LOCATED, STEEP, Passed
from linkwork.tolerances import TYPED

Array = NDArray[np.float64]

SINGULAR = 1e-4  # of the largest on the motion: a root of the determinant that may be zero, rows being interpolated
VANISHED = 1e-2  # of what it is at the rows around: a singular value that is zero
GRID = np.maximum(np.linspace(-1.0, 1.0, 9), 0.0)  # from a time to the end of the interval around it
NEAR = 1e-2  # of the largest on the motion: a smallest singular value that is worth a note
NARROWINGS = 8  # times, each to a quarter


def find_singular(
    system: System, p: Array, start: Place, t: Array, q: Array, qd: Array, log_det: Array
) -> list[Passed]:
    """Find the singular positions on the motion with these rows, if the rows are close enough to show them."""
    if system.m == 0 or len(t) < 2:
        return []
    lowest, highest = float(log_det.min()), float(log_det.max())
    if not math.isfinite(highest - lowest) or 3.0 * math.exp(0.5 * (lowest - highest)) > 2.0 + SINGULAR:
        return []  # without values, or with none as low as candidates below are beside the highest
    values = np.exp(0.5 * (log_det - highest))
    padded = np.concatenate([values[:1], values, values[-1:]])
    before, after = padded[:-2], padded[2:]
    fall = np.maximum(before, after) - values
    candidates = ((values <= before) & (values <= after) & (values <= 2.0 * fall + SINGULAR)).nonzero()[0]
    if not len(candidates):
        return []
    candidates = np.sort(candidates[np.argsort(values[candidates])][:MOST_LOCATED])

    def root_of_det(times: Array) -> Array:
        at_rest = np.zeros((len(times), 2 * system.n_v + system.m))
        found = report(system, p, np.column_stack([times, _between_rows(t, q, qd, times), at_rest]))
        return np.exp(0.5 * (found.log_det - highest))

    low, high = t[np.maximum(candidates - 1, 0)], t[np.minimum(candidates + 1, len(t) - 1)]
    times = t[candidates]
    least = values[candidates]
    for _ in range(NARROWINGS):
        if not len(times):
            return []
        grid = times[:, None] + (low - times)[:, None] * GRID[::-1] + (high - times)[:, None] * GRID
        found = root_of_det(grid.ravel()).reshape(grid.shape)
        each, best = np.arange(len(grid)), np.argmin(found, axis=1)
        left, right = np.maximum(best - 1, 0), np.minimum(best + 1, len(GRID) - 1)
        low, high, times = grid[each, left], grid[each, right], grid[each, best]
        least, ends = found[each, best], np.maximum(found[each, left], found[each, right])
        kept = (least <= STEEP * ends) | (least <= SINGULAR)
        low, high, times, least = low[kept], high[kept], times[kept], least[kept]
    times, same = times[least <= SINGULAR], TYPED * (t[-1] - t[0])
    after = np.clip(np.searchsorted(t, times), 1, len(t) - 1)
    nearest = np.where(times - t[after - 1] < t[after] - times, t[after - 1], t[after])
    times = np.where(np.abs(times - nearest) <= same, nearest, times)
    first = np.append(True, np.diff(times) > same)[: len(times)]  # two rows can lead to the same position

    def at(time: float) -> Place:
        return replace(start, t=time, q=_between_rows(t, q, qd, np.array([time]))[0])

    passed = []
    for time in times[first]:
        k = int(np.searchsorted(t, time))
        beside = max((at(float(t[j])) for j in (max(k - 1, 0), min(k + 1, len(t) - 1))), key=lambda x: x.rank.rank)
        # Rows by their lengths beside the position: that of a loop whose links are in line vanishes there itself.
        lengths = np.linalg.norm(beside.scaled_jacobian("mass")[0], axis=1)
        lengths[beside.rows.vanishing] = math.inf
        U, sigma, _ = svd(at(float(time)).scaled_jacobian("mass")[0] / lengths[:, None])
        lost = sigma[: beside.rank.rank] <= VANISHED * beside.rank.smallest
        if lost.any():
            U = U[:, : beside.rank.rank][:, lost]
            passed.append(Passed(float(time), np.linalg.norm(U, axis=1), U.shape[1]))
    return passed


def note_near(start: Place, t: Array, q: Array, log_det: Array, passed: Sequence[Passed]) -> Iterator[Note]:
    """Note where rows come near a singular position without passing one."""

    def least(k: int) -> float:
        return float(replace(start, t=float(t[k]), q=q[k]).rows.rank.values[start.rank.rank - 1])

    is_near = np.exp(0.5 * (log_det - log_det.max())) < NEAR
    usual = least(int(log_det.argmax())) if is_near.any() else 1.0
    for first, end in np.flatnonzero(np.diff(is_near, prepend=False, append=False)).reshape(-1, 2):
        k, around = first + int(log_det[first:end].argmin()), (t[max(first - 1, 0)], t[min(end, len(t) - 1)])
        part = least(k) / usual
        if part < NEAR and not any(around[0] <= x.t <= around[1] for x in passed):
            yield Note("near-singular", t=float(t[k]), part=part)


def _between_rows(t: Array, q: Array, qd: Array, times: Array) -> Array:
    """Interpolate positions by the cubic polynomials through neighbouring rows and their rates."""
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    h = (t[k + 1] - t[k])[:, None]
    s = (times - t[k])[:, None] / h
    return (
        (1 + 2 * s) * (1 - s) ** 2 * q[k]
        + s * (1 - s) ** 2 * h * qd[k]
        + s**2 * (3 - 2 * s) * q[k + 1]
        - s**2 * (1 - s) * h * qd[k + 1]
    )
