"""The path of a driven mechanism from report time to report time, across singular positions where it passes them."""

from __future__ import annotations

from collections.abc import Iterator
from time import thread_time

import numpy as np
from numpy.typing import NDArray

from linkwork.driven.kernels import NEAR, Driven, Record, state_of
from linkwork.start.singular import MOST_LOCATED, STEEP, Limit, Passed, between, find_between, find_limit
from linkwork.tolerances import ROUNDING, TYPED

Array = NDArray[np.float64]

FINE = 1e-10  # of a report interval: the smallest step of all
COARSE = 2.0**-6  # of a report interval: the smallest step far from singular positions
BLOCK = 500  # report times between two calls of `progress`: with COARSE, fewer steps than `follow` tries
NEIGHBOURS = 6  # from which multipliers are continued into a singular position


class Path:
    """The motion so far: `reached` of the report times have their rows."""

    def __init__(self, driven: Driven, times: Array) -> None:
        self.driven = driven
        self.times = times
        self.step = float(times[1] - times[0])
        self.rows = np.empty((len(times), driven.width))
        self.reached = 1
        self.state = driven.start()
        self.rows[0] = self.state[: driven.width]
        self.leapt: list[Passed] = []
        self.seconds = 0.0  # in compiled code

    def follow(self) -> Iterator[int]:
        """Go on from report time to report time; the number of those reached, every now and then."""
        while self.reached < len(self.times):
            if not self._advance(BLOCK, NEAR, COARSE) and not self._leap() and not self._advance(1, 0.0, FINE):
                return
            yield self.reached

    @property
    def interval(self) -> float:
        """The time between the last report time reached and the next."""
        return float(self.times[self.reached] - self.times[self.reached - 1])

    def _advance(self, count: int, guard: float, part: float) -> bool:
        """Whether so many report times, or all, were reached with steps above this part of a report interval."""
        ahead = self.times[self.reached : self.reached + count]
        smallest = max(part * self.interval, ROUNDING * float(ahead[0]))
        since = thread_time()
        found = self.driven.follow(self.state, ahead, self.rows[self.reached :], guard, smallest)
        self.seconds += thread_time() - since
        self.reached += found
        return found == len(ahead)

    def _leap(self) -> bool:
        """Cross a singular position; the motion at report times on the way is interpolated."""
        d = self.driven
        beyond = d.leap(self.state, COARSE * self.interval)
        if beyond is None:
            return False
        chart = d.chart(self.state)
        start, end = chart.instant(self.state), chart.instant(beyond)
        passed = find_between(start, end, chart.linearize, self.best)
        if passed is None:
            return False
        self.leapt.append(passed)
        while self.reached < len(self.times) and self.times[self.reached] <= end.t:
            self.rows[self.reached] = chart.record(between(start, end, float(self.times[self.reached])))
            self.reached += 1
        self.state = beyond
        return True

    @property
    def columns(self) -> Record:
        """The rows reached, by their places."""
        return self.driven.columns(self.rows[: self.reached])

    @property
    def best(self) -> float:
        return state_of(self.state, self.driven.width).best

    def find_passed(self) -> list[Passed]:
        """The singular positions passed: those leapt across, and those a step went over.

        Where sigma falls to zero as |t - t*|, it is less than half on the near side of what it was a step before.
        """
        d = self.driven
        sigma = self.columns.sigma[:, 0]
        falls = sigma[1:] < STEEP * sigma[:-1]
        rises = sigma[:-1] < STEEP * sigma[1:]
        suspect = np.zeros(len(sigma), dtype=bool)
        suspect[1:-1] |= falls[:-1] & (sigma[1:-1] > 0.0)
        suspect[:-2] |= rises[1:] & (sigma[1:-1] > 0.0)
        found = list(self.leapt)
        for k in np.flatnonzero(suspect[:-1])[:MOST_LOCATED]:
            chart = d.chart(self.rows[k])
            ends = chart.instant(self.rows[k]), chart.instant(self.rows[k + 1])
            passed = find_between(*ends, chart.linearize, self.best)
            if passed is not None and all(abs(passed.t - other.t) > TYPED * self.times[-1] for other in found):
                found.append(passed)
        return sorted(found, key=lambda passed: passed.t)

    def continue_multipliers(self, passed: list[Passed]) -> None:
        """Give the interpolated rows multipliers continued from their neighbours.

        Towards a singular position at t* they may grow like 1/(t - t*), so (t - t*) lam is the polynomial through
        neighbours on both sides; at t* itself the part that does not grow is left.
        """
        d, rows, columns = self.driven, self.rows[: self.reached], self.columns
        times, sigma, lam = columns.t[:, 0], columns.sigma[:, 0], columns.lam
        regular = np.flatnonzero(sigma > 0.0)
        for k in np.flatnonzero(sigma == 0.0):
            singular = min((x.t for x in passed), key=lambda other: abs(other - times[k]))
            near = regular[np.argsort(np.abs(regular - k), kind="stable")[:NEIGHBOURS]]
            x, here = (times[near] - singular) / self.step, (times[k] - singular) / self.step
            c = np.linalg.solve(np.vander(x, increasing=True), x[:, None] * lam[near])
            grows = c[0] / here if abs(here) > TYPED else 0.0
            lam[k] = grows + here ** np.arange(len(c) - 1) @ c[1:]
            columns.power[k] = d.power(rows[k])

    def find_near(self, passed: list[Passed]) -> list[tuple[float, float]]:
        """Times at which the path comes near a singular position without passing one, and how near."""
        t, sigma = self.times[: self.reached], self.columns.sigma[:, 0] / self.best
        inside = np.concatenate([[False], (sigma < NEAR) & (sigma > 0.0), [False]])
        ends = np.flatnonzero(inside[1:] != inside[:-1]).reshape(-1, 2)
        found = []
        for first, last in ends:
            around = t[max(first - 1, 0)], t[min(last, len(t) - 1)]
            ends_here = last == len(t) < len(self.times)
            if not ends_here and not any(around[0] <= x.t <= around[1] for x in passed):
                k = first + int(np.argmin(sigma[first:last]))
                found.append((float(t[k]), float(sigma[k])))
        return found

    def find_limit(self) -> Limit | None:
        """Where the motion ends, if it does so shortly after the state."""
        chart = self.driven.chart(self.state)
        limit = find_limit(chart.instant(self.state), chart.linearize, float(np.max(self.driven.roots)))
        return None if limit is None else limit._replace(q=chart.position(limit.q))
