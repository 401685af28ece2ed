"""Going down from a design, along exact derivatives: a least sum of largest values, within limits on such sums.

A largest value max_i f_i has corners, where peaks change places. So its pieces f_i are kept apart,

    minimize    sum of bounds s    subject to    f_i(u) <= s        and limits on sums of other bounds       [zhu2004]

which is smooth: steps know all peaks, not only the highest. First the pieces are linearized, within a distance that
grows where they do as foreseen and shrinks where not, or where nothing moves; where as many peaks as unknowns are
equally high this is Newton's iteration. Then sequential quadratic programming [kraft1988], which knows how they bend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.linalg.newton import MAX_ITERATIONS
from linkwork.studies.slopes import Slope
from linkwork.tolerances import AGREEMENT, SIZABLE, TYPED, halved

Array = NDArray[np.float64]


class Outcome(NamedTuple):
    """What is sought, and what each limit holds below its bound, as sums of largest values; or what lacks to move.

    `lack` is how far joints are open, or where they close by how much they lock too early, linearized; None if the
    mechanism moves, or if that is not known.
    """

    sums: tuple[tuple[Slope, ...], ...]
    bounds: Array
    lack: Slope | None = None
    closes: bool = True

    @property
    def excess(self) -> Array:
        """Return that of each sum over its bound."""
        return np.array([sum(x.value.max() for x in groups) for groups in self.sums]) - self.bounds

    @property
    def merit(self) -> float:
        """Return what is sought, to which a sizable excess adds as much as there was of it at first."""
        if not self.sums:
            return np.inf
        first, *others = self.excess
        return float(first + np.maximum(others, 0.0).sum() / SIZABLE)

    @property
    def is_smooth(self) -> bool:
        return max(len(x.value) for groups in self.sums for x in groups) == 1


def descend(at: Callable[[Array], Outcome], u: Array, has_slopes: bool) -> None:
    """Go down from a point of the unit cube, where `at` keeps the best of what it is asked for."""
    u = _enter(at, u)
    if not at(u).sums:
        return
    if has_slopes and not at(u).is_smooth:
        u = _descend_by_planes(at, u)
    _descend_by_curves(at, u, has_slopes)


def _enter(at: Callable[[Array], Outcome], u: Array) -> Array:
    """Go to where a mechanism closes and no longer locks, as long as that comes nearer."""
    before = {False: np.inf, True: np.inf}
    while (lack := at(u).lack) is not None and lack.value < before[at(u).closes]:
        before[at(u).closes] = lack.value
        u = np.clip(u - lack.value * lack.slopes / (lack.slopes @ lack.slopes), 0.0, 1.0)
    return u


class NoMotionError(Exception):
    """A step of this length has led where nothing moves to the end."""

    def __init__(self, length: float) -> None:
        super().__init__()
        self.length = length


def _descend_by_planes(at: Callable[[Array], Outcome], u: Array) -> Array:
    """Go down by one linear program after the other."""
    reach, here, lacks = 1.0, at(u), list[tuple[Array, Slope]]()
    for _ in range(MAX_ITERATIONS):
        step, foreseen = _solve_planes(here, u, reach, lacks)
        if foreseen <= AGREEMENT * abs(here.merit) or reach <= TYPED:
            break
        there = at(u + step)
        if there.lack is not None and there.lack.value <= SIZABLE:
            lacks.append((u + step, there.lack))
        gain = here.merit - there.merit
        length = float(np.max(np.abs(step)))
        reach = 0.5 * length if gain < 0.5 * foreseen else max(reach, 2.0 * length)
        if gain > 0.0:
            u, here = np.clip(u + step, 0.0, 1.0), there
    return u


def _solve_planes(here: Outcome, u: Array, reach: float, lacks: Sequence[tuple[Array, Slope]]) -> tuple[Array, float]:
    """Return the step to the least merit of the linearized sums within reach, and what it gains."""
    from scipy.optimize import linprog

    n, n_groups, n_soft = len(u), sum(map(len, here.sums)), len(here.sums) - 1 + len(lacks)
    # Unknowns: the step, a bound for each group, an excess for each limit and each lack.
    cost, rows, right = np.zeros(n + n_groups + n_soft), list[Array](), list[Array]()
    place, soft = n, n + n_groups
    for k, (groups, bound) in enumerate(zip(here.sums, here.bounds, strict=True)):
        own = np.zeros((1, len(cost)))
        for group in groups:
            A = np.zeros((len(group.value), len(cost)))
            A[:, :n], A[:, place], own[0, place] = group.slopes, -1.0, 1.0
            rows, right, place = [*rows, A], [*right, -group.value], place + 1
        if k == 0:
            cost += own[0]
        else:
            own[0, soft] = -1.0
            rows, right, soft = [*rows, own], [*right, np.array([bound])], soft + 1
    for v, lack in lacks:
        A = np.zeros((1, len(cost)))
        A[0, :n], A[0, soft] = lack.slopes, -1.0
        rows, right, soft = [*rows, A], [*right, np.array([lack.slopes @ (v - u) - lack.value])], soft + 1
    cost[n + n_groups :] = 1.0 / SIZABLE
    around = [(max(-x, -reach), min(1.0 - x, reach)) for x in u]
    box = around + [(None, None)] * n_groups + [(0.0, None)] * n_soft
    found = linprog(cost, np.vstack(rows), np.concatenate(right), bounds=box, method="highs")
    if found.x is None:
        return np.zeros(n), 0.0
    before = sum(max(0.0, lack.slopes @ (u - v) + lack.value) for v, lack in lacks) / SIZABLE
    return found.x[:n], here.merit + here.bounds[0] + before - float(found.fun)


def _descend_by_curves(at: Callable[[Array], Outcome], u: Array, has_slopes: bool) -> None:
    """Go down by sequential quadratic programming, in ever smaller boxes where nothing moves."""
    best = [u]
    reach, goes_on = 1.0, True

    def followed(v: Array) -> Outcome:
        v = np.clip(v, 0.0, 1.0)
        found = at(v)
        if not found.sums:
            raise NoMotionError(float(np.max(np.abs(v - best[0]))))
        if found.merit < at(best[0]).merit:
            best[0] = v
        return found

    while goes_on and reach > TYPED:
        before = at(best[0]).merit
        try:
            _solve_curves(followed, best[0], reach, has_slopes)
            goes_on = before - at(best[0]).merit > AGREEMENT * abs(before)
        except NoMotionError as step:
            reach = 0.5 * min(reach, step.length)


def _solve_curves(at: Callable[[Array], Outcome], u: Array, reach: float, has_slopes: bool) -> None:
    """Go down within reach."""
    from scipy.optimize import minimize

    here, n = at(u), len(u)
    groups = [group for sum_ in here.sums for group in sum_]
    of = np.array([k for k, sum_ in enumerate(here.sums) for _ in sum_])
    sizes = [len(group.value) for group in groups]
    z = np.array([*u, *(group.value.max() for group in groups)])
    sums = np.array([(of == k).astype(float) for k in range(len(here.sums))])
    below = np.repeat(np.eye(len(groups)), sizes, axis=0)

    def room(z: Array) -> Array:
        found = at(z[:n])
        values = np.concatenate([group.value for sum_ in found.sums for group in sum_])
        return np.concatenate([below @ z[n:] - values, found.bounds[1:] - sums[1:] @ z[n:]])

    def slopes(z: Array) -> Array:
        of_values = np.vstack([group.slopes for sum_ in at(z[:n]).sums for group in sum_])
        return np.block([[-of_values, below], [np.zeros((len(sums) - 1, n)), -sums[1:]]])

    constraint = {"type": "ineq", "fun": room, **({"jac": slopes} if has_slopes else {})}
    minimize(
        lambda z: float(sums[0] @ z[n:]),
        z,
        jac=lambda z: np.append(np.zeros(n), sums[0]),
        method="SLSQP",
        bounds=[(max(0.0, x - reach), min(1.0, x + reach)) for x in u] + [(None, None)] * len(groups),
        constraints=[constraint],
        options={"ftol": AGREEMENT} if has_slopes else {"ftol": AGREEMENT, "eps": halved(AGREEMENT)},
    )
