"""Designs: the values of parameters for which a number taken of the motion is least.

A global search (differential evolution [storn1997]) looks everywhere in the ranges, a local one (sequential quadratic
programming [kraft1988]) goes down from its best point, or from many. It follows the exact derivatives of motions, or
difference quotients where there are none. A design whose loops do not close, or whose motion stops, is one that may not
be chosen, not an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork import units
from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.errors import Interrupted, LinkworkError, NumericalStop, UsageError, check_choice, checked_call, quoted
from linkwork.model import Model
from linkwork.records import Printed
from linkwork.studies.descent import Outcome, descend
from linkwork.studies.points import Range, ranges_of
from linkwork.studies.slopes import Slope, count_parts, parts_of, slope_of
from linkwork.studies.taking import Take, read_take
from linkwork.studies.trial import Trial
from linkwork.tolerances import AGREEMENT, EPSILON, TYPED
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]

NO_NUMBER = "no-number"  # why a design with a motion may not be chosen
NOT_CLOSED = "cannot-close"  # why a design does not move, as assembly has it
METHODS = ("global", "local", "multistart")
COMPARISON = re.compile(r"(.+?)(<=|>=|<|>)(.+)", re.DOTALL)


class Limit(NamedTuple):
    """What a design must satisfy: a number taken of its motion, below a bound or above it."""

    text: str
    take: Take
    sign: float  # 1 if it is to be below, -1 if above
    bound: float

    @property
    def size(self) -> float:
        """By what excess is measured."""
        return abs(self.bound) or 1.0

    def excess(self, value: float) -> float:
        """Return by how much the limit is exceeded."""
        return self.sign * (value - self.bound)


def read_limit(text: str, unit: str = "") -> Limit:
    """Read a limit: max(abs(reaction:O.x)) < 5 kN; of what is taken in a unit, the bound is of its kind."""
    match = COMPARISON.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"'{text}' is not a limit; write for example 'max(slider.x) < 30 mm'", "bad-limit")
    try:
        bound = units.quantity(match[3], units.kind_of(unit or None))
    except LinkworkError as error:
        raise UsageError(f"'{text}': {error.message}", error.code) from None
    if bound is None:
        raise UsageError(f"'{text}': '{match[3].strip()}' is not a number, with or without a unit", "bad-limit")
    return Limit(text.strip(), read_take(match[1]), 1.0 if match[2].startswith("<") else -1.0, bound)


@dataclass(frozen=True)
class Design:
    """Values of parameters, what was taken of the motion and by how much each limit is exceeded; NaN without motion."""

    values: Mapping[str, float]
    objective: float
    excess: tuple[float, ...]
    reason: str = ""  # why there is no motion


@dataclass(frozen=True, repr=False, eq=False)
class Optimum(Printed):
    """The best design that was found, beside the one that the model states."""

    model: Mechanism
    take: Take
    maximizes: bool
    limits: tuple[Limit, ...]
    unit: str
    before: Design
    best: Design
    tried: int
    failed: int  # of these, without a motion
    trial: Trial
    is_exact: bool  # whether exact derivatives were followed

    @property
    def values(self) -> dict[str, float]:
        return dict(self.best.values)

    def motion(self, design: Design | None = None) -> Trajectory:
        """Return the motion of the best design, or of another one."""
        return self.trial.move((design or self.best).values)

    def as_dict(self) -> dict[str, Any]:
        designs = {"before": self.before, "best": self.best}
        told = {
            name: {"values": dict(x.values), "objective": x.objective, "excess": list(x.excess), "reason": x.reason}
            for name, x in designs.items()
        }
        aim = "maximize" if self.maximizes else "minimize"
        counts: dict[str, Any] = {"tried": self.tried, "failed": self.failed, "unit": self.unit}
        counts["derivatives"] = "exact" if self.is_exact else "differences"
        return {"model": self.model.model.name, aim: self.take.text, **told, **counts}

    def __str__(self) -> str:
        from linkwork.view.report import within_terminal
        from linkwork.view.studies import optimum_lines

        return within_terminal(optimum_lines(self))


@checked_call()
def optimize(
    model: Model | Mechanism,
    vary: Mapping[str, str | Sequence[float]],
    minimize: str | None = None,
    *,
    maximize: str | None = None,
    subject: Sequence[str] = (),
    method: str = "global",
    starts: int = 32,
    seed: int = 0,
    driven: bool = False,
    progress: Callable[[float, str], None] | None = None,
    **options: Any,
) -> Optimum:
    """Find the design for which a number taken of the motion is least, or largest.

        optimize(model, {"l1": "0.5 m:2 m", "m": (1, 5)}, "max(abs(driving:motor))", subject=["range(slider.x) > 1 m"])

    - `vary`: ranges of parameters.
    - `minimize`, or `maximize`: what is taken of the motion, as in `sweep`.
    - `subject`: limits, a number taken of the motion and a bound.
    - `method`: "global" looks everywhere and then goes down from the best point, "local" goes down from the values
      that the model states, "multistart" from so many points (`starts`) spread over the ranges.
    - `driven`: the motion that drivers prescribe; `options` are those of `simulate` or `kinematics`.
    """
    if (minimize is None) == (maximize is None):
        raise UsageError("say what is to be least, or what is to be largest", "no-effect")
    check_choice("method", method, METHODS)
    mechanism = prepare(model)
    named = ranges_of(mechanism.model, vary)
    names, ranges = tuple(named), [*named.values()]
    take, limits = read_take(minimize or maximize or ""), tuple(map(read_limit, subject))
    takes = tuple(dict.fromkeys((take, *(limit.take for limit in limits))))
    stated = {name: mechanism.model.parameters[name] for name in names}
    trial = Trial(mechanism, takes, driven, options)
    designs = [stated, *_inside(names, ranges)]
    units_of = dict(zip(takes, trial.check_takes(trial.first(designs)), strict=True))
    unit, limits = units_of[take], tuple(read_limit(limit.text, units_of[limit.take]) for limit in limits)
    search = Search(trial, names, ranges, take, -1.0 if maximize else 1.0, limits, progress)
    search.check_exact(designs)
    before, is_whole = search.sample(stated, trial.move).design, True
    if any(not r.low <= stated[name] <= r.high for name, r in named.items()):  # it may not be chosen
        search.best = None
    try:
        search.run(method, stated, starts, seed)
    except KeyboardInterrupt:
        if search.best is None or search.rank(search.best)[0] > 0.0:
            raise
        is_whole = False
    best = search.best
    assert best is not None
    if search.rank(best)[0] > 0.0:
        raise NumericalStop(f"{search.explain(best)}; widen ranges or limits", "no-design")
    counts = search.tried, search.failed
    best = search.sample(best.values, trial.move).design  # by the motion alone, as others see it
    aim = mechanism, take, maximize is not None, limits, unit
    found = Optimum(*aim, before, best, *counts, trial, search.is_exact)
    if not is_whole:
        raise Interrupted(f"interrupted; the best of {counts[0]} designs is kept", optimum=found)
    return found


def _inside(names: Sequence[str], ranges: Sequence[Range]) -> list[dict[str, float]]:
    """Return designs to learn the results of motions from, if the stated design has no motion."""
    found = [[r.low + part * (r.high - r.low) for r in ranges] for part in (0.5, 0.25, 0.75)]
    return [dict(zip(names, values, strict=True)) for values in found]


class Sample(NamedTuple):
    """A design with its motion, or by how much it misses to move to the end, linearized, as far as that is known."""

    design: Design
    motion: Trajectory | None
    lack: Slope | None = None


@dataclass
class Search:
    """Designs in units of their ranges, and the best that was found; of none that is allowed, the least exceeding."""

    trial: Trial
    names: tuple[str, ...]
    ranges: Sequence[Range]
    take: Take
    sign: float
    limits: tuple[Limit, ...]
    progress: Callable[[float, str], None] | None
    tried: int = 0
    failed: int = 0
    best: Design | None = None
    is_exact: bool = True  # until there are no derivatives

    @property
    def low(self) -> Array:
        return np.array([r.low for r in self.ranges])

    @property
    def span(self) -> Array:
        return np.array([r.high - r.low for r in self.ranges])

    def values(self, u: Array) -> dict[str, float]:
        """Return those of the parameters, at a point of the unit cube."""
        return dict(zip(self.names, (self.low + u * self.span).tolist(), strict=True))

    def sample(self, named: Mapping[str, float], move: Callable[[Mapping[str, float]], Trajectory]) -> Sample:
        """Try the design with these values of its parameters."""
        self.tried += 1
        reason, lack, motion = "", None, None
        found = Design(named, math.nan, (math.nan,) * len(self.limits))
        try:
            if self.is_exact and self.trial.assembles and (lack := self.trial.gap(named)):
                reason = NOT_CLOSED
            else:
                motion = move(named)
                excess = tuple(limit.excess(slope_of(limit.take, motion, ()).value) for limit in self.limits)
                found = Design(named, slope_of(self.take, motion, ()).value, excess)
        except UsageError:
            raise
        except LinkworkError as error:
            reason, motion = error.code, None
            if isinstance(error, NumericalStop) and error.code == "lock-up" and self.is_exact:
                lack = self.trial.lock(named, error)
        if motion is not None and not all(map(math.isfinite, (found.objective, *found.excess))):
            reason, motion = NO_NUMBER, None
        if motion is None:
            self.failed += 1
            found = replace(found, reason=reason, objective=math.nan)
        if self.best is None or self.rank(found) < self.rank(self.best):
            self.best = found
        if lack is None or not np.all(np.isfinite(lack[1])):
            return Sample(found, motion)
        return Sample(found, motion, Slope(lack[0] + TYPED, lack[1] * self.span))  # a little more, to be inside

    def vary(self, values: Mapping[str, float]) -> Trajectory:
        """Return the motion with the derivatives of what is sought and limited."""
        return self.trial.vary(values, sum(count_parts(take, sign) for take, sign in self.signs))

    @property
    def signs(self) -> list[tuple[Take, float]]:
        """What is to be small, with its sign: what is sought, then what is limited."""
        return [(self.take, self.sign), *((limit.take, limit.sign) for limit in self.limits)]

    def check_exact(self, designs: Sequence[Mapping[str, float]]) -> None:
        """Find out whether motions have derivatives, by the first of these that moves."""
        for values in designs:
            try:
                motion = self.vary(values)
                for take, _ in self.signs:
                    slope_of(take, motion, self.names)
                return
            except UsageError:
                self.is_exact = False
                return
            except LinkworkError:
                continue

    def rank(self, design: Design) -> tuple[float, float]:
        """Order designs: allowed ones by what is to be least, before them none; others by their excess."""
        if not math.isfinite(design.objective):
            return math.inf, math.inf
        excess = sum(max(0.0, x / limit.size - AGREEMENT) for x, limit in zip(design.excess, self.limits, strict=True))
        return excess, self.sign * design.objective

    def at(self, u: Array) -> Design:
        """Return the design at a point of the unit cube."""
        return self.sample(self.values(u), self.trial.move).design

    def place(self, values: Mapping[str, float]) -> Array:
        """Return where a design is in the unit cube."""
        return (np.array([values[name] for name in self.names]) - self.low) / self.span

    def run(self, method: str, stated: Mapping[str, float], starts: int, seed: int) -> None:
        """Search by this method."""
        if method == "multistart":
            self.descend_from_many(starts, seed)
            return
        if method == "global":
            self.look_everywhere(seed)
        self.descend(self.place(self.best.values if self.best else stated))

    def look_everywhere(self, seed: int) -> None:
        from scipy.optimize import differential_evolution

        last = 1.0 / EPSILON**2  # above all that is sought: that of designs that do not move

        def value(u: Array) -> float:
            excess, objective = self.rank(self.at(u))
            if excess == 0.0:
                return objective
            return last if excess == math.inf else last / (1.0 + 1.0 / (1.0 + excess))

        def tell(_: Array, convergence: float) -> None:
            if self.progress is not None and self.best is not None:
                self.progress(min(convergence, 1.0), f"{self.tried} designs, best {self.best.objective:.6g}")

        differential_evolution(
            value,
            [(0.0, 1.0)] * len(self.names),
            polish=False,
            callback=tell,
            init="sobol",
            seed=seed,
        )

    def explain(self, best: Design) -> str:
        """Say why none of the designs may be chosen, the best among them."""
        none = f"none of {self.tried} designs"
        if best.reason == NO_NUMBER:
            texts = (self.take.text, *(limit.take.text for limit in self.limits))
            return f"in {none} {quoted(dict.fromkeys(texts))} gives a number"
        if best.reason:
            return f"{none} has a motion that satisfies all limits ({best.reason})"
        excess, worst = max((x / limit.size, limit.text) for x, limit in zip(best.excess, self.limits, strict=True))
        return f"{none} satisfies all limits: the nearest misses '{worst}' by {excess:.3g} of the bound"

    def descend_from_many(self, starts: int, seed: int) -> None:
        """Go down from designs all over the ranges."""
        from scipy.stats import qmc

        points = qmc.Sobol(len(self.names), seed=seed).random(starts)
        for k, u in enumerate(points):
            self.descend(u)
            if self.progress is not None and self.best is not None:
                self.progress((k + 1) / len(points), f"{self.tried} designs, best {self.best.objective:.6g}")

    def descend(self, u: Array) -> None:
        """Go down from a design, in units of the ranges, of what is sought there and of what limits it."""
        known, names, size = dict[bytes, Outcome](), self.names if self.is_exact else (), 0.0

        def sums(motion: Trajectory) -> Iterator[tuple[Slope, ...]]:
            for (take, sign), by in zip(self.signs, (size, *(x.size for x in self.limits)), strict=True):
                groups = parts_of(take, sign, motion, names)
                yield tuple(Slope(x.value / by, x.slopes * self.span[: len(names)] / by) for x in groups)

        def at(u: Array) -> Outcome:
            nonlocal size
            u = np.clip(u, 0.0, 1.0)
            if u.tobytes() not in known:
                move = self.vary if self.is_exact else self.trial.move
                design, motion, lack = self.sample(self.values(u), move)
                size = size or (0.0 if motion is None else abs(design.objective) or 1.0)
                bounds = np.array([0.0, *(x.sign * x.bound / x.size for x in self.limits)])
                known[u.tobytes()] = Outcome(
                    () if motion is None else (*sums(motion),), bounds, lack, design.reason != NOT_CLOSED
                )
            return known[u.tobytes()]

        descend(at, np.clip(u, 0.0, 1.0), self.is_exact)
