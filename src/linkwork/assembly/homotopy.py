"""All isolated solutions of a polynomial system, by following paths over the complex numbers.

The unknowns are divided into groups and the system f is made homogeneous in each of them. A start system g of products
of random linear forms has the same degrees in every group and solutions that linear algebra gives; their number is the
multi-homogeneous Bezout number. The paths of

    H(x, t) = t g(x) + (1 - t) f(x) = 0,    t from 1 to 0,    with a random chart c . x = 1 for every group

(the random factor usually called gamma is part of the forms of g) end, with probability one, in all isolated solutions
of f [sommese2005]; solutions at infinity are ordinary points of the charts. Where an end is singular, the mean of x
over closed circuits around t = 0 gives it: the endgame of Cauchy, which counts the circuits until the path closes.
A singular end may also lie on a curve or surface of solutions: the dimension found there (dimension.py) tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Array, Complex
from linkwork.assembly import tracker
from linkwork.assembly.dimension import local_dimension
from linkwork.linalg.rank import row_sizes, singular_values
from linkwork.native.kernels import size_of
from linkwork.tolerances import AGREEMENT, HALF_THE_DIGITS, TYPED, halved

# indices of variables, sorted and repeated for powers -> coefficient
Polynomial: TypeAlias = dict[tuple[int, ...], complex]
Grouping: TypeAlias = Sequence[Sequence[int]]

PREDICTED = 1e-4  # how far a predicted point may lie off its path, relative to the point
TIGHTER = (1e-2, 1e-4)  # parts of it, tried in turn where two paths seem to have met
SLICE = 1e7  # multiplications, about a tenth of a second, until machine code returns

ENDGAME = 0.1  # the radius where it begins
SHRINK = 0.25  # from one circuit to the next
INNERMOST = 1e-9  # radius; there a path cannot be told from its end
SIDES = 8  # chords of a circuit
MAX_WINDING = 12  # times that an end game goes round: the multiplicity of a solution; more are not told from noise
# What is known of a regular end: nearer ones are one, real is what lacks less, and regular one whose least singular
# value is a larger part of the largest.
KNOWN = 1e-7
POOR = halved(HALF_THE_DIGITS)  # what is known of a singular end, and of what is close to it


@dataclass(frozen=True)
class Solutions:
    """The finite solutions, each once; `multiplicity` counts the paths that end there.

    `dimension` is that of the set of solutions around a point: isolated ones have 0, of others there are as many as
    paths that end on the set.
    """

    points: Complex
    regular: NDArray[np.bool_]
    dimension: NDArray[np.int64]
    multiplicity: NDArray[np.int64]
    paths: int
    infinite: int
    failed: int

    @property
    def doubtful(self) -> int:
        """Isolated ends that seem singular although only one path leads there: too few digits are known of them."""
        return int(np.sum(~self.regular & (self.dimension == 0) & (self.multiplicity == 1)))


def degrees(system: Sequence[Polynomial], grouping: Grouping) -> list[tuple[int, ...]]:
    """Return the degree of every polynomial in every group."""
    return [tuple(max(sum(k in group for k in term) for term in f) for group in grouping) for f in system]


def path_count(system: Sequence[Polynomial], grouping: Grouping) -> int:
    """Return the multi-homogeneous Bezout number: the coefficient of prod a_g^size(g) in prod_i sum_g degree_ig a_g."""
    d = degrees(system, grouping)

    @cache
    def count(i: int, left: tuple[int, ...]) -> int:
        if i == len(d):
            return 1
        return sum(
            d[i][g] * count(i + 1, (*left[:g], left[g] - 1, *left[g + 1 :]))
            for g in range(len(left))
            if d[i][g] and left[g]
        )

    return count(0, tuple(len(group) for group in grouping))


def _choices(d: Sequence[tuple[int, ...]], left: tuple[int, ...], i: int = 0) -> Iterator[tuple[int, ...]]:
    """Return the group whose factor vanishes in each row of the start system, in every way that fixes all unknowns."""
    if i == len(d):
        yield ()
        return
    for g in range(len(left)):
        if d[i][g] and left[g]:
            for rest in _choices(d, (*left[:g], left[g] - 1, *left[g + 1 :]), i + 1):
                yield (g, *rest)


class Homotopy:
    """The table of a square system and its start solutions."""

    def __init__(self, system: Sequence[Polynomial], grouping: Grouping, rng: np.random.Generator) -> None:
        self.groups: list[list[int]] = []  # columns of each group, the homogenizing coordinate first
        column: dict[int, int] = {}
        width = 0
        for group in grouping:
            self.groups.append(list(range(width, width + 1 + len(group))))
            column.update((k, width + 1 + place) for place, k in enumerate(group))
            width += 1 + len(group)
        self.n = width
        self.unknowns = [column[k] for k in range(len(column))]
        d = degrees(system, grouping)

        sizes = [size_of(tracker.equation, width, sum(row), len(f)) for f, row in zip(system, d, strict=True)]
        self.table = np.empty(size_of(tracker.head) + sum(sizes) + 2 * width * len(grouping))
        head = tracker.head(self.table)
        self.degree = max(map(sum, d))
        head.n[0], head.rows[0], head.degree[0] = width, len(system), self.degree
        at = head.rest
        forms: list[list[tuple[int, Complex]]] = []
        for f, row in zip(system, d, strict=True):
            own = tracker.equation(at, width, sum(row), len(f))
            own.degree[0], own.terms[0] = sum(row), len(f)
            own.coefficients[:] = np.array(list(f.values()), dtype=complex).view(float)
            factors = []
            for term in f:
                missing = [degree - sum(k in grouping[g] for k in term) for g, degree in enumerate(row)]
                padding = [self.groups[g][0] for g, count in enumerate(missing) for _ in range(count)]
                factors += [*(column[k] for k in term), *padding]
            own.factors[:] = factors
            forms.append([(g, self._form(g, rng)) for g, degree in enumerate(row) for _ in range(degree)])
            own.forms[:] = np.array([form for _, form in forms[-1]]).view(float).ravel()
            at = own.rest
        self.charts = np.array([self._form(g, rng) for g in range(len(grouping))])
        at[:] = self.charts.view(float).ravel()
        self.starts = self._starts(d, forms, tuple(len(group) for group in grouping))
        self.work = np.empty(size_of(tracker.work, width, self.degree))

    def _form(self, g: int, rng: np.random.Generator) -> Complex:
        """Form a random linear form of the coordinates of one group, of unit length."""
        form = np.zeros(self.n, dtype=complex)
        part = rng.normal(size=(2, len(self.groups[g])))
        form[self.groups[g]] = (part[0] + 1j * part[1]) / np.linalg.norm(part)
        return form

    def _starts(
        self, d: Sequence[tuple[int, ...]], forms: Sequence[Sequence[tuple[int, Complex]]], sizes: tuple[int, ...]
    ) -> Complex:
        starts = []
        for choice in _choices(d, sizes):
            chosen = [[form for h, form in row if h == g] for g, row in zip(choice, forms, strict=True)]
            for factors in product(*chosen):
                x = np.zeros(self.n, dtype=complex)
                for g, columns in enumerate(self.groups):
                    A = np.array(
                        [f[columns] for f, h in zip(factors, choice, strict=True) if h == g] + [self.charts[g, columns]]
                    )
                    x[columns] = np.linalg.solve(A, np.eye(len(columns))[-1])
                starts.append(x)
        return np.array(starts).reshape(-1, self.n)

    def follow(
        self,
        points: Complex,
        t: complex,
        to: complex,
        allowed: float = PREDICTED,
        report: Callable[[float], None] = lambda _: None,
    ) -> tuple[Complex, NDArray[np.bool_]]:
        """Follow points along their paths, and tell which of them arrive; `report` takes the part that is done."""
        width = size_of(tracker.path, self.n)
        paths = np.zeros((len(points), width))
        for row, x in zip(paths, points, strict=True):
            on = tracker.path(row, self.n)
            on.x[:] = x.view(float)
            on.step[0] = tracker.FIRST_STEP
        along = np.empty(size_of(tracker.stretch))
        way = tracker.stretch(along)
        way.start[:] = t.real, t.imag
        way.span[:] = (to - t).real, (to - t).imag
        way.allowed[0] = allowed
        budget = max(1, int(SLICE / (self.n**3 + self.degree * len(self.table))))
        flat = paths.reshape(-1)
        while left := tracker.follow(self.table, along, flat, len(paths), budget, self.work):
            report(1.0 - left / len(paths))
        ends = [tracker.path(row, self.n) for row in paths]
        x = np.array([on.x for on in ends]).reshape(-1, 2 * self.n).view(complex)
        return x, np.array([on.status[0] == tracker.REACHED for on in ends], dtype=bool)

    def linearize(self, x: Complex) -> tuple[Complex, Complex, Complex, Complex]:
        """Return f and the charts at x with their Jacobian; x itself and its Jacobian."""
        at = np.ascontiguousarray(x, dtype=complex).copy()
        tracker.linearize_at(self.table, at.view(float), 0.0, 0.0, self.work)
        w = tracker.work(self.work, self.n, self.degree)
        J = w.J.view(complex).reshape(self.n, self.n).copy()
        return w.H.view(complex).copy(), J, at, np.eye(self.n, dtype=complex)

    def condition(self, x: Complex) -> float:
        """Return smallest to largest singular value of the Jacobian of f and the charts, rows of unit length."""
        J = self.linearize(x)[1]
        values = singular_values(J / row_sizes(J)[:, None])
        return float(values[-1] / values[0])

    def find_end(self, x: Complex) -> Complex | None:
        """Find the end of the path that passes x at t = ENDGAME by Cauchy's mean, None if it is not found."""
        radius = ENDGAME
        estimate: Complex | None = None
        found: Complex | None = None
        while radius > INNERMOST:
            points, corner = [], x[None]
            for k in range(SIDES * MAX_WINDING):
                a, b = (radius * np.exp(2j * np.pi * side / SIDES) for side in (k, k + 1))
                corner, reached = self.follow(corner, complex(a), complex(b))
                if not reached[0]:
                    return found
                points.append(corner[0])
                if k % SIDES == SIDES - 1 and np.linalg.norm(corner[0] - x) < TYPED * np.linalg.norm(x):
                    mean: Complex = np.mean(points, axis=0)
                    if estimate is not None:
                        change = np.linalg.norm(mean - estimate) / np.linalg.norm(mean)
                        if change < AGREEMENT:
                            return mean
                        found = mean if change < POOR else None
                    estimate = mean
                    break
            inward, reached = self.follow(x[None], complex(radius), complex(radius * SHRINK))
            if not reached[0]:
                return found
            x, radius = inward[0], radius * SHRINK
        return found

    def is_finite(self, x: Complex) -> bool:
        return all(abs(x[g[0]]) > TYPED * np.max(np.abs(x[g])) for g in self.groups)

    def affine(self, x: Complex) -> Complex:
        y = x.copy()
        for g in self.groups:
            y[g] = x[g] / x[g[0]]
        return y[self.unknowns]


def solve(
    system: Sequence[Polynomial],
    grouping: Grouping,
    rng: np.random.Generator,
    report: Callable[[float], None] = lambda _: None,
) -> Solutions:
    """Return all isolated solutions of a square system, `grouping` being a partition of its unknowns."""
    H = Homotopy(system, grouping, rng)
    middle, ends, conditions = _track(H, H.starts, PREDICTED, report)
    # Two paths never meet before the end, so that two at one regular end say that one of them has jumped.
    for tighter in TIGHTER:
        again = _coinciding(ends, conditions > KNOWN)
        if not len(again):
            break
        middle[again], ends[again], conditions[again] = _track(H, H.starts[again], tighter * PREDICTED)

    infinite = 0
    failed = len(_coinciding(ends, conditions > KNOWN))
    found: list[tuple[Complex, bool, int, int]] = []  # point, regular, dimension, multiplicity
    for x_middle, end, good in zip(middle, ends, (conditions > KNOWN).tolist(), strict=True):
        x = end if good else (H.find_end(x_middle) if np.all(np.isfinite(x_middle)) else None)
        if x is None:
            failed += 1
        elif not H.is_finite(x):
            infinite += 1
        else:
            y = H.affine(x)
            # regular ends differ from each other, singular ones are known to fewer digits
            near = [k for k, (z, regular, _, _) in enumerate(found) if not good and not regular and _near(y, z)]
            if near:
                z, _, dimension, count = found[near[0]]
                found[near[0]] = z, False, dimension, count + 1
            else:
                dimension = 0 if good else local_dimension(H.linearize, np.add, x, np.ones(H.n), rng)
                found.append((y, good, dimension, 1))
    points, regular, dimensions, counts = zip(*found, strict=True) if found else ((), (), (), ())
    numbers = np.array(dimensions, dtype=np.int64), np.array(counts, dtype=np.int64)
    ends_at = np.array(points, dtype=complex).reshape(-1, len(H.unknowns))
    return Solutions(ends_at, np.array(regular, dtype=bool), *numbers, len(H.starts), infinite, failed)


def _track(
    H: Homotopy, starts: Complex, allowed: float, report: Callable[[float], None] = lambda _: None
) -> tuple[Complex, Complex, Array]:
    """Find where the paths are at the radius of the endgame and at t = 0, and the condition there.

    What is lost before the endgame is not finite; an end that is not reached has condition zero.
    """
    middle, reached = H.follow(starts, 1.0 + 0.0j, ENDGAME + 0.0j, allowed, report)
    middle[~reached] = np.nan
    ends, good = H.follow(middle, ENDGAME + 0.0j, 0.0j, allowed)
    return middle, ends, np.array([H.condition(x) if yes else 0.0 for x, yes in zip(ends, good, strict=True)])


def _near(x: Complex, y: Complex) -> bool:
    return bool(np.max(np.abs(x - y)) < halved(KNOWN) * (1 + np.max(np.abs(y))))


def _coinciding(points: Complex, candidates: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the candidates that lie on another candidate."""
    from scipy.spatial import KDTree

    which = np.flatnonzero(candidates)
    x = points[which] / (1 + np.max(np.abs(points[which]), axis=1, initial=0.0))[:, None]
    if len(which) < 2:
        return which[:0]
    pairs = KDTree(np.ascontiguousarray(x).view(float)).query_pairs(KNOWN, p=np.inf, output_type="ndarray")
    return np.asarray(which[np.unique(pairs)])
