"""Small motions over the values of a parameter, and where their eigenvalues cross the imaginary axis.

From one value to the next eigenvalues are paired so that they move least. Between two values at which the real part of
one has different signs, or vanishes on one side only, as where two that swing meet and part, the interval is halved,
with the pairing done anew in each half, until its ends are neighbouring numbers, or as near by its first width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.analyses.equilibrium import begin_rest, by_bodies, equilibrium, find_rest
from linkwork.analyses.variation import Code, Tangent
from linkwork.compiled.mechanism import Mechanism
from linkwork.equations.place import Place
from linkwork.errors import NumericalStop, UsageError, check_choice
from linkwork.linalg.rank import RANK_TOLERANCE
from linkwork.records import Printed
from linkwork.tolerances import AGREEMENT, EPSILON, TYPED

if TYPE_CHECKING:
    from linkwork.analyses.linearize import Linearization, Reduced

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
Point = tuple[float, Complex]  # a value and its eigenvalues


class Crossing(NamedTuple):
    """A value of the parameter at which eigenvalues reach or leave the imaginary axis: one, at zero, or a pair."""

    value: float
    eigenvalue: complex  # on the axis, the imaginary part not negative
    kind: Literal["real", "pair"]
    before: int  # eigenvalues that grow below this value, and above it
    after: int


@dataclass(frozen=True, eq=False, repr=False)
class Family(Printed):
    """Eigenvalues over the values of a parameter, a row for each value, a column for each that can be followed.

    `zeros` more, of states without effect on the others, are zero throughout.
    """

    name: str
    parameter: str
    values: Array
    eigenvalues: Complex
    zeros: int
    crossings: tuple[Crossing, ...]

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Whether nothing grows, for each value."""
        return np.array([not _growing(row) for row in self.eigenvalues], dtype=bool)

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "parameter": self.parameter,
            "values": self.values.tolist(),
            "eigenvalues": [[[x.real, x.imag] for x in row] for row in self.eigenvalues.tolist()],
            "zeros": self.zeros,
            "crossings": [
                {**crossing._asdict(), "eigenvalue": [crossing.eigenvalue.real, crossing.eigenvalue.imag]}
                for crossing in self.crossings
            ],
        }

    def __str__(self) -> str:
        from linkwork.view.report import aligned
        from linkwork.view.small_motions import family_lines

        return aligned(family_lines(self))


@dataclass(frozen=True, eq=False)
class Following:
    """Small motions at other values of a parameter, about the same kind of state."""

    first: Linearization
    parameter: str

    def reduced(self, value: float) -> Reduced:
        from linkwork.analyses.linearize import reduce_again

        mechanism = self.first.mechanism.changed({self.parameter: value})
        try:
            code = Code.of(mechanism)
            place = self._start(mechanism, code) if self.first.at == "start" else self._rest(mechanism)
            return reduce_again(mechanism, Tangent(code, place, self.first.tangent.length), self.first.basis)
        except NumericalStop as error:
            raise NumericalStop(f"at {self.parameter} = {value:.10g}: {error.message}", error.code) from None

    def _start(self, mechanism: Mechanism, code: Code) -> Place:
        from linkwork.start.closing import find_start, restart

        return find_start(restart(code.system.start())).place

    def _rest(self, mechanism: Mechanism) -> Place:
        from linkwork.analyses.linearize import place_bodies

        if self.first.steady:
            motion = equilibrium(mechanism, steady=self.first.steady)
            return place_bodies(mechanism, motion.q, motion.v)
        rest = find_rest(begin_rest(by_bodies(mechanism)))
        return place_bodies(mechanism, dict(zip(rest.place.equations.q_names, rest.place.q.tolist(), strict=True)))

    def spectrum(self, value: float, zeros: int | None = None) -> Complex:
        """Return the eigenvalues of states that act on others, all but `zeros`."""
        from linkwork.analyses.linearize import find_values

        return find_values(self.reduced(value), zeros)


def over(first: Linearization, parameter: str, values: Sequence[float] | Array) -> Family:
    grid = np.unique(np.asarray(values, dtype=float))
    if not len(grid) or not np.isfinite(grid).all():
        raise UsageError(f"values = {values!r} are not values of '{parameter}'", "bad-value")
    check_choice("parameter", parameter, first.mechanism.model.parameters)
    if first.at not in ("start", "equilibrium") and not first.steady:
        raise UsageError("the state at a time does not follow from a parameter; linearize about another", "no-family")
    following = Following(first, parameter)
    found = [following.reduced(value) for value in grid.tolist()]
    if len(grid) > 1 and all(np.array_equal(reduced.A, found[0].A) for reduced in found[1:]):
        message = f"'{parameter}' changes nothing in the small motions about the {first.at}"
        start = f"; the start is passed over: {first.unsteady}" if first.unsteady else ""
        raise UsageError(f"{message}{start}", "no-effect")
    return follow(following, first.name, grid, found)


def follow(following: Following, name: str, grid: Array, found: Sequence[Reduced]) -> Family:
    from linkwork.analyses.linearize import find_values

    spectra = [find_values(reduced, None) for reduced in found]
    n = len(found[0].A)
    zeros = min(n - len(spectrum) for spectrum in spectra)
    spectra = [x if n - len(x) == zeros else find_values(y, zeros) for x, y in zip(spectra, found, strict=True)]
    rows = [spectra[0]]
    for spectrum in spectra[1:]:
        rows.append(paired(rows[-1], spectrum))
    points = _apart(list(zip(grid.tolist(), rows, strict=True)))
    crossings = [x for a, b in pairwise(points) for x in _locate(following, zeros, a, b)]
    return Family(name, following.parameter, grid, np.array(rows), zeros, tuple(crossings))


def paired(before: Complex, after: Complex) -> Complex:
    """Return the eigenvalues in the order of those before, so that they move least in all."""
    from scipy.optimize import linear_sum_assignment

    _, order = linear_sum_assignment(np.abs(before[:, None] - after[None, :]) ** 2)
    return np.asarray(after[order])


def _growing(values: Complex) -> int:
    return int(np.sum(_sides(values) > 0))


def _sides(values: Complex) -> Array:
    """Return 1 of those that grow, -1 of those that fade, 0 on the axis but for rounding."""
    on_axis = np.abs(values.real) <= RANK_TOLERANCE * np.abs(values).max(initial=0.0)
    return np.where(on_axis, 0.0, np.sign(values.real))


def _apart(points: list[Point]) -> list[Point]:
    """Leave out points at which an eigenvalue crosses the axis: its sign differs between the neighbours."""

    def crosses(k: int) -> bool:
        below, here, above = (_sides(points[i][1]) for i in (k - 1, k, k + 1))
        return bool(((here == 0.0) & (below * above < 0.0)).any())

    return [x for k, x in enumerate(points) if not (0 < k < len(points) - 1 and crosses(k))]


def _locate(following: Following, zeros: int, a: Point, b: Point) -> list[Crossing]:
    """Locate the crossings between two values once each: not both of a pair, nor those that meet on the axis."""
    found: list[Crossing] = []
    for k in np.flatnonzero(_sides(a[1]) != _sides(b[1])).tolist():
        value, root = _halve(following, zeros, a, b, k)
        if any(abs(value - other.value) <= AGREEMENT * max(abs(value), b[0] - a[0]) for other in found):
            continue
        kind: Literal["real", "pair"] = "pair" if abs(root.imag) > RANK_TOLERANCE * np.abs(b[1]).max() else "real"
        beside = TYPED * max(abs(value), b[0] - a[0])  # where what crosses is told from what is on the axis
        before, after = (_growing(following.spectrum(value + side * beside, zeros)) for side in (-1.0, 1.0))
        if before == after and 0.0 in (_sides(a[1])[k], _sides(b[1])[k]):
            continue  # what fades so slowly that it is not told from what does not fade, on one side only
        found.append(Crossing(value, complex(0.0, abs(root.imag)), kind, before, after))
    return sorted(found)


def _halve(following: Following, zeros: int, a: Point, b: Point, k: int) -> tuple[float, complex]:
    """Find where the eigenvalue number k changes its side, and what it is there."""
    flips = _sides(a[1])[k] * _sides(b[1])[k] < 0.0

    def side(values: Complex) -> float:
        return float(np.sign(values[k].real) if flips else _sides(values)[k])

    (low, at_low), high = a, b[0]
    least = EPSILON * (high - low)  # near zero there are numbers far closer to each other
    while high - low > least and low < (middle := 0.5 * (low + high)) < high:
        at_middle = paired(at_low, following.spectrum(middle, zeros))
        if side(at_middle) == side(at_low):
            low, at_low = middle, at_middle
        else:
            high = middle
    return low, complex(at_low[k])
