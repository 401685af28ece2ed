"""Points of a study: all combinations of values, or samples of ranges and distributions.

A point is known by its number alone, so that any part of a study can be computed by anybody, in any order.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork import units
from linkwork.errors import ModelError, UsageError, check_choice
from linkwork.model import Model

Array = NDArray[np.float64]

CHUNK = 1024  # points that are computed and kept together; a power of two, as Sobol' sequences are balanced
SAMPLERS = ("sobol", "lhs", "random")


@dataclass(frozen=True)
class Values:
    """Each of these."""

    values: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.values)

    def pick(self, i: NDArray[np.intp]) -> Array:
        return np.asarray(np.array(self.values)[i])

    def at(self, u: Array) -> Array:
        return self.pick((u * len(self)).astype(np.intp))  # u is below one


@dataclass(frozen=True)
class Steps(Values):
    """So many between two values, both included."""

    count: int

    def __len__(self) -> int:
        return self.count

    def pick(self, i: NDArray[np.intp]) -> Array:
        low, high = self.values
        step = (high - low) / max(self.count - 1, 1)
        return np.where(i == self.count - 1, high if self.count > 1 else low, low + i * step)


@dataclass(frozen=True)
class Range:
    """All between two values, alike."""

    low: float
    high: float

    def at(self, u: Array) -> Array:
        return self.low + u * (self.high - self.low)


@dataclass(frozen=True)
class Normal:
    """A normal distribution by its mean and standard deviation."""

    mean: float
    deviation: float

    def at(self, u: Array) -> Array:
        from scipy.special import ndtri

        return np.asarray(self.mean + self.deviation * ndtri(u))


Axis: TypeAlias = Values | Range | Normal
Given: TypeAlias = str | Sequence[float | str] | NDArray[np.float64]


@dataclass(frozen=True)
class Points:
    """So many points of the parameters that are varied, in chunks; of a grid the last parameter changes fastest."""

    axes: Mapping[str, Axis]
    sampler: str  # one of SAMPLERS, or nothing for a grid
    count: int
    seed: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a grid, the number of values of each parameter."""
        return tuple(len(axis) for axis in self.axes.values() if isinstance(axis, Values))

    @property
    def chunks(self) -> int:
        return -(-self.count // CHUNK)

    def chunk(self, k: int) -> Array:
        """Return the points of a chunk, a row each."""
        first, last = k * CHUNK, min((k + 1) * CHUNK, self.count)
        if not self.sampler:
            numbers = np.unravel_index(np.arange(first, last), self.shape)
            axes = [axis for axis in self.axes.values() if isinstance(axis, Values)]
            columns = [axis.pick(i) for axis, i in zip(axes, numbers, strict=True)]
        else:
            u = self._samples(k, first, last)
            columns = [axis.at(u[:, j]) for j, axis in enumerate(self.axes.values())]
        return np.column_stack(columns)

    def _samples(self, k: int, first: int, last: int) -> Array:
        """Draw points of the unit cube."""
        n = len(self.axes)
        if self.sampler == "lhs":
            return self._hypercube[first:last]
        if self.sampler == "random":
            return np.random.default_rng([self.seed, k]).random((last - first, n))
        from scipy.stats import qmc

        with warnings.catch_warnings():  # of a last chunk that is no power of two
            warnings.simplefilter("ignore", UserWarning)
            sobol = qmc.Sobol(n, scramble=True, seed=self.seed)
            return np.asarray((sobol.fast_forward(first) if first else sobol).random(last - first))

    @cached_property
    def _hypercube(self) -> Array:
        from scipy.stats import qmc

        return np.asarray(qmc.LatinHypercube(len(self.axes), seed=self.seed).random(self.count))


def read_axis(name: str, given: Given, unit: str | None = None) -> Axis:
    """Read what a parameter takes: "0.6:1.4:9" or "1,2,3", a range "60 cm:1.4 m", a distribution "0.8 +- 0.01".

    Values with units are of the kind of the unit, if one is given.
    """
    if not isinstance(given, str):
        listed = [*given] if isinstance(given, Sequence) else np.ravel(given).tolist()
        numbers = [_number(name, one, unit) if isinstance(one, str) else one for one in listed]
        values = np.asarray(numbers, dtype=float).tolist()
        return _checked(name, Values(tuple(values)))
    if "+-" in given:
        mean, deviation = (_number(name, part, unit) for part in given.split("+-", 1))
        if not deviation > 0.0:
            raise UsageError(f"'{name}': the deviation {deviation:g} is not positive", "bad-range")
        return Normal(mean, deviation)
    parts = given.split(":")
    if len(parts) == 1:
        return _checked(name, Values(tuple(_number(name, part, unit) for part in given.split(","))))
    low, high = (_number(name, part, unit) for part in parts[:2])
    if len(parts) == 2:
        if not low < high:
            raise UsageError(f"'{name}': the range from {low:g} to {high:g} is empty", "bad-range")
        return Range(low, high)
    if len(parts) > 3 or not parts[2].strip().isdecimal() or int(parts[2]) < 1:
        message = f"'{name}={given}' is not a range; write {name}=LOW:HIGH:COUNT, as in {name}=0.6:1.4:9"
        raise UsageError(message, "bad-range")
    return Steps((low, high), int(parts[2]))


def _checked(name: str, axis: Values) -> Values:
    if not axis.values:
        raise UsageError(f"'{name}' has no values", "bad-range")
    if not np.isfinite(axis.values).all():
        raise UsageError(f"'{name}' has values that are not finite", "bad-range")
    return axis


def _number(name: str, text: str, unit: str | None) -> float:
    try:
        value = units.quantity(text, units.kind_of(unit))
    except ModelError as error:
        hint = f"; {error.suggestion}" if error.suggestion else ""
        raise UsageError(f"'{name}': {error.message}{hint}", error.code) from None
    if value is None:
        raise UsageError(f"'{name}': '{text.strip()}' is not a number, with or without a unit", "bad-range")
    return value


def read_points(
    vary: Mapping[str, Given],
    sample: str | None = None,
    seed: int = 0,
    stated_units: Mapping[str, str] = MappingProxyType({}),
) -> Points:
    """Read all combinations, or samples: "sobol:4096", "lhs:500", "random:1000"; of these units where there is one."""
    if not vary:
        raise UsageError("nothing is varied; name parameters with their values, as l1=0.6:1.4:9", "no-effect")
    axes = {name: read_axis(name, given, stated_units.get(name)) for name, given in vary.items()}
    if sample is None:
        if ranges := [name for name, axis in axes.items() if not isinstance(axis, Values)]:
            message = f"'{ranges[0]}' has a range, of which samples are taken; say how many, as sobol:4096, or write"
            raise UsageError(f"{message} {ranges[0]}=LOW:HIGH:COUNT", "bad-range")
        count = prod(len(axis) for axis in axes.values() if isinstance(axis, Values))
        return Points(axes, "", count, 0)
    kind, _, number = sample.partition(":")
    if kind not in SAMPLERS or not number.strip().isdecimal() or int(number) < 1:
        known = ", ".join(f"{name}:1000" for name in SAMPLERS)
        raise UsageError(f"'{sample}' does not say how samples are taken; choose from {known}", "bad-sample")
    return Points(axes, kind, int(number), seed)


def ranges_of(model: Model, vary: Mapping[str, str | Sequence[float]]) -> dict[str, Range]:
    """Read ranges of parameters of a model: "0.5 m:2 m", or two ends."""
    if not vary:
        raise UsageError("nothing is varied; give a parameter a range, as l1=0.6:1.4", "no-effect")
    found = dict[str, Range]()
    for name, given in vary.items():
        check_choice("parameter", name, model.parameters)
        parts = given if isinstance(given, str | Sequence) else ()
        text = parts if isinstance(parts, str) else ":".join(map(str, parts))
        axis = read_axis(name, text, model.parameter_units.get(name)) if text else None
        if not isinstance(axis, Range):
            raise UsageError(f"'{name}' needs a range from LOW to HIGH, as {name}=0.5:2", "bad-range")
        found[name] = axis
    return found
