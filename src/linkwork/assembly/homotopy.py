"""All isolated solutions of a polynomial system, by following paths over the complex numbers.

The unknowns are divided into groups and the system f is made homogeneous in each of them. A start system g of products
of random linear forms has the same degrees in every group and solutions that linear algebra gives; their number is the
multi-homogeneous Bezout number. The paths of

    H(x, t) = t g(x) + (1 - t) f(x) = 0,    t from 1 to 0,    with a random chart c . x = 1 for every group

(the random factor usually called gamma is part of the forms of g) end, with probability one, in all isolated solutions
of f [sommese2005]; solutions at infinity are ordinary points of the charts. Where an end is singular, the mean of x
over closed circuits around t = 0 gives it: the endgame of Cauchy, which counts the circuits until the path closes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.native.kernels import Pointer, kernel, offset

# indices of variables, sorted and repeated for powers -> coefficient
Polynomial: TypeAlias = dict[tuple[int, ...], complex]
Grouping: TypeAlias = Sequence[Sequence[int]]
Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

PREDICTED = 1e-4  # how far a predicted point may lie off its path, relative to the point
CORRECTED = 1e-8  # the last correction; what remains is its square
MAX_STEPS = 20000
SHORTEST_STEP = 1e-9  # of the stretch to be followed
REACHED, LOST = 0.0, 1.0

ENDGAME = 0.1  # the radius where it begins
SHRINK = 0.25  # from one circuit to the next
SIDES = 8  # chords of a circuit
MAX_WINDING = 12
AGREEMENT = 1e-9  # of two estimates of an end
POOR_AGREEMENT = 1e-5  # what is accepted when paths cannot be followed closer to the end
SINGULAR = 1e-7  # ratio of singular values below which an end counts as singular
INFINITE = 1e-6  # ratio of the homogenizing coordinate to the largest of its group
SAME = 1e-7  # regular ends nearer than this are one
SAME_SINGULAR = 1e-4


# Layout of `table`: n, rows; for each row degree, terms, the terms (re, im, degree indices each), the linear forms
# of the start system (degree forms of n complex numbers); for each of the n - rows charts n complex numbers.


def value(x: Pointer, k: int) -> complex:
    return complex(x[2 * k], x[2 * k + 1])


def put(x: Pointer, k: int, a: complex) -> None:
    x[2 * k] = a.real
    x[2 * k + 1] = a.imag


def size(a: complex) -> float:
    return math.sqrt(a.real * a.real + a.imag * a.imag)


def homotopy(table: Pointer, x: Pointer, t: complex, J: Pointer, H: Pointer, rate: Pointer, forms: Pointer) -> None:
    """H(x, t), its Jacobian J with respect to x, and its rate with respect to t."""
    n, rows = int(table[0]), int(table[1])
    at = 2
    for i in range(rows):
        degree, terms = int(table[at]), int(table[at + 1])
        at += 2
        J_i = offset(J, 2 * n * i)
        for j in range(2 * n):
            J_i[j] = 0.0
        f = 0.0j
        for _ in range(terms):
            c = value(offset(table, at), 0)
            at += 2
            for k in range(degree):
                partial = c
                for other in range(degree):
                    if other != k:
                        partial = partial * value(x, int(table[at + other]))
                j = int(table[at + k])
                put(J_i, j, value(J_i, j) + (1.0 - t) * partial)
                if k == 0:
                    f = f + partial * value(x, j)
            at += degree
        g = 1.0 + 0.0j
        for k in range(degree):
            form = 0.0j
            for j in range(n):
                form = form + value(table_row(table, at, n, k), j) * value(x, j)
            put(forms, k, form)
            g = g * form
        for k in range(degree):
            others = t
            for other in range(degree):
                if other != k:
                    others = others * value(forms, other)
            for j in range(n):
                put(J_i, j, value(J_i, j) + others * value(table_row(table, at, n, k), j))
        at += 2 * n * degree
        put(H, i, t * g + (1.0 - t) * f)
        put(rate, i, g - f)
    for i in range(rows, n):
        chart = -1.0 + 0.0j
        for j in range(n):
            c = value(offset(table, at), j)
            put(J, n * i + j, c)
            chart = chart + c * value(x, j)
        put(H, i, chart)
        put(rate, i, 0.0j)
        at += 2 * n


def table_row(table: Pointer, at: int, n: int, k: int) -> Pointer:
    return offset(table, at + 2 * n * k)


def solve_linear(n: int, A: Pointer, b: Pointer) -> None:
    """b <- A^-1 b by elimination with row pivoting; A is overwritten. A singular A gives what is not finite."""
    for k in range(n):
        best, pivot = -1.0, k
        for i in range(k, n):
            s = size(value(A, n * i + k))
            if s > best:
                best, pivot = s, i
        if pivot != k:
            for j in range(k, n):
                a = value(A, n * k + j)
                put(A, n * k + j, value(A, n * pivot + j))
                put(A, n * pivot + j, a)
            a = value(b, k)
            put(b, k, value(b, pivot))
            put(b, pivot, a)
        a = value(A, n * k + k)
        inverse = complex(a.real, -a.imag) * (1.0 / (best * best))
        for i in range(k + 1, n):
            factor = value(A, n * i + k) * inverse
            if factor.real != 0.0 or factor.imag != 0.0:
                for j in range(k + 1, n):
                    put(A, n * i + j, value(A, n * i + j) - factor * value(A, n * k + j))
                put(b, i, value(b, i) - factor * value(b, k))
        put(A, n * k + k, inverse)
    for i in range(n - 1, -1, -1):
        a = value(b, i)
        for j in range(i + 1, n):
            a = a - value(A, n * i + j) * value(b, j)
        put(b, i, a * value(A, n * i + i))


def length(n: int, x: Pointer) -> float:
    total = 0.0
    for i in range(2 * n):
        total += x[i] * x[i]
    return math.sqrt(total)


@kernel
def follow(
    table: Pointer,
    points: Pointer,
    count: int,
    t_re: float,
    t_im: float,
    to_re: float,
    to_im: float,
    predicted: float,
    status: Pointer,
    w: Pointer,
) -> None:
    """Follow `count` paths from t to `to` along a straight line; RK4 predicts, Newton corrects."""
    n = int(table[0])
    m = 2 * n
    J, H, rate, forms = w, offset(w, m * n), offset(w, m * n + m), offset(w, m * n + 2 * m)
    total, trial = offset(forms, m), offset(forms, 2 * m)
    span = complex(to_re - t_re, to_im - t_im)
    for path in range(count):
        x = offset(points, m * path)
        s, h, steps = 0.0, 0.05, 0
        while s < 1.0 and status[path] == REACHED:
            steps += 1
            if h < SHORTEST_STEP or steps > MAX_STEPS:
                status[path] = LOST
            last = s + h >= 1.0
            h = min(h, 1.0 - s)
            for k in range(m):
                trial[k] = x[k]
                total[k] = 0.0
            error, correction, scale, good = 0.0, predicted, 1.0, False
            for stage in range(9 if last else 7):
                part = 0.0 if stage == 0 else (0.5 if stage <= 2 else 1.0)
                t = complex(t_re, t_im) + (s + part * h) * span
                homotopy(table, trial, t, J, H, rate, forms)
                if stage < 4:
                    for i in range(n):
                        put(H, i, -span * value(rate, i))
                solve_linear(n, J, H)
                if stage < 4:
                    weight = (1.0 if stage == 0 or stage == 3 else 2.0) / 6.0
                    for k in range(m):
                        total[k] += weight * H[k]
                        trial[k] = x[k] + h * (total[k] if stage == 3 else (1.0 if stage == 2 else 0.5) * H[k])
                    scale = length(n, trial)
                    continue
                before = correction
                correction = length(n, H) / scale
                for k in range(m):
                    trial[k] -= H[k]
                if stage == 4:
                    error = correction
                # written so that what is not a number fails
                if not (correction <= (before if stage == 4 else 0.5 * before) or good):
                    break
                good = correction <= CORRECTED
                if good and not last:
                    break
            if good:
                for k in range(m):
                    x[k] = trial[k]
                s = 1.0 if last else s + h
                h = h * min(2.5, 0.8 * (predicted / max(error, 1e-3 * predicted)) ** 0.2)
            else:
                h = 0.4 * h


@dataclass(frozen=True)
class Solutions:
    """The finite solutions, each once; `multiplicity` counts the paths that end there."""

    points: Complex
    regular: NDArray[np.bool_]
    multiplicity: NDArray[np.int64]
    paths: int
    infinite: int
    failed: int


def degrees(system: Sequence[Polynomial], grouping: Grouping) -> list[tuple[int, ...]]:
    """The degree of every polynomial in every group."""
    return [tuple(max(sum(k in group for k in term) for term in f) for group in grouping) for f in system]


def path_count(system: Sequence[Polynomial], grouping: Grouping) -> int:
    """The multi-homogeneous Bezout number: the coefficient of prod a_g^size(g) in prod_i sum_g degree_ig a_g."""
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
    """The group whose factor vanishes in each row of the start system, in every way that fixes all unknowns."""
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

        table: list[float] = [float(width), float(len(system))]
        self.terms: list[tuple[Complex, NDArray[np.int64]]] = []
        forms: list[list[tuple[int, Complex]]] = []
        for f, row in zip(system, d, strict=True):
            table += [float(sum(row)), float(len(f))]
            factors = []
            for term, c in f.items():
                missing = [degree - sum(k in grouping[g] for k in term) for g, degree in enumerate(row)]
                padding = [self.groups[g][0] for g, count in enumerate(missing) for _ in range(count)]
                factors.append([*(column[k] for k in term), *padding])
                table += [c.real, c.imag, *map(float, factors[-1])]
            self.terms.append((np.array(list(f.values())), np.array(factors)))
            forms.append([(g, self._form(g, rng)) for g, degree in enumerate(row) for _ in range(degree)])
            table += np.array([form for _, form in forms[-1]]).view(float).ravel().tolist()
        self.charts = np.array([self._form(g, rng) for g in range(len(grouping))])
        table += self.charts.view(float).ravel().tolist()
        self.table = np.array(table)
        self.starts = self._starts(d, forms, tuple(len(group) for group in grouping))
        self.work = np.empty(2 * width * width + 14 * width + 64)

    def _form(self, g: int, rng: np.random.Generator) -> Complex:
        """A random linear form of the coordinates of one group, of unit length."""
        form = np.zeros(self.n, dtype=complex)
        part = rng.normal(size=(2, len(self.groups[g])))
        form[self.groups[g]] = (part[0] + 1j * part[1]) / np.linalg.norm(part)
        return form

    def _starts(
        self,
        d: Sequence[tuple[int, ...]],
        forms: Sequence[Sequence[tuple[int, Complex]]],
        sizes: tuple[int, ...],
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

    def followed(self, points: Complex, t: complex, to: complex, predicted: float = PREDICTED) -> tuple[Complex, Array]:
        """The points further along their paths, and which of them got there."""
        x = np.ascontiguousarray(points).copy()
        status = np.zeros(len(x))
        flat = x.view(float).reshape(-1)
        follow(self.table, flat, len(x), t.real, t.imag, to.real, to.imag, predicted, status, self.work)
        return x, status

    def condition(self, x: Complex) -> float:
        """Smallest to largest singular value of the Jacobian of f and the charts, rows of unit length."""
        matrix = np.zeros((self.n, self.n), dtype=complex)
        for i, (coefficients, factors) in enumerate(self.terms):
            for k in range(factors.shape[1]):
                others = np.prod(x[np.delete(factors, k, axis=1)], axis=1)
                np.add.at(matrix[i], factors[:, k], coefficients * others)
        matrix[len(self.terms) :] = self.charts
        values = np.linalg.svd(matrix / np.maximum(np.linalg.norm(matrix, axis=1), 1e-300)[:, None], compute_uv=False)
        return float(values[-1] / values[0])

    def cauchy(self, x: Complex) -> Complex | None:
        """The end of the path that passes x at t = ENDGAME, None if it is not found."""
        radius = ENDGAME
        estimate: Complex | None = None
        found: Complex | None = None
        while radius > 1e-9:
            points, corner = [], x[None]
            for k in range(SIDES * MAX_WINDING):
                a, b = (radius * np.exp(2j * np.pi * side / SIDES) for side in (k, k + 1))
                corner, status = self.followed(corner, complex(a), complex(b))
                if status[0] != REACHED:
                    return found
                points.append(corner[0])
                if k % SIDES == SIDES - 1 and np.linalg.norm(corner[0] - x) < 1e-6 * np.linalg.norm(x):
                    mean: Complex = np.mean(points, axis=0)
                    if estimate is not None:
                        change = np.linalg.norm(mean - estimate) / np.linalg.norm(mean)
                        if change < AGREEMENT:
                            return mean
                        found = mean if change < POOR_AGREEMENT else None
                    estimate = mean
                    break
            inward, status = self.followed(x[None], complex(radius), complex(radius * SHRINK))
            if status[0] != REACHED:
                return found
            x, radius = inward[0], radius * SHRINK
        return found

    def finite(self, x: Complex) -> bool:
        return all(abs(x[g[0]]) > INFINITE * np.max(np.abs(x[g])) for g in self.groups)

    def affine(self, x: Complex) -> Complex:
        y = x.copy()
        for g in self.groups:
            y[g] = x[g] / x[g[0]]
        return y[self.unknowns]


def solve(system: Sequence[Polynomial], grouping: Grouping, rng: np.random.Generator) -> Solutions:
    """All isolated solutions of a square system, `grouping` being a partition of its unknowns."""
    H = Homotopy(system, grouping, rng)
    middle, ends, status = _tracked(H, H.starts, PREDICTED)
    conditions = _conditions(H, ends, status)
    # Two paths never meet before the end, so that two at one regular end say that one of them has jumped.
    for tighter in (1e-2, 1e-4):
        again = _coinciding(ends, conditions > SINGULAR)
        if not len(again):
            break
        middle[again], ends[again], status[again] = _tracked(H, H.starts[again], tighter * PREDICTED)
        conditions[again] = _conditions(H, ends[again], status[again])

    points: list[Complex] = []
    regular: list[bool] = []
    multiplicity: list[int] = []
    infinite = 0
    failed = len(_coinciding(ends, conditions > SINGULAR))
    for x_middle, end, good in zip(middle, ends, conditions > SINGULAR, strict=True):
        x = end if good else (H.cauchy(x_middle) if np.all(np.isfinite(x_middle)) else None)
        if x is None:
            failed += 1
        elif not H.finite(x):
            infinite += 1
        else:
            y = H.affine(x)
            # regular ends differ from each other, singular ones are known to fewer digits
            near = [k for k in np.flatnonzero(~np.array(regular, dtype=bool)) if _near(y, points[k])]
            if near and not good:
                multiplicity[near[0]] += 1
            else:
                points.append(y)
                regular.append(bool(good))
                multiplicity.append(1)
    shape = (-1, len(H.unknowns))
    return Solutions(
        np.array(points, dtype=complex).reshape(shape),
        np.array(regular, dtype=bool),
        np.array(multiplicity, dtype=np.int64),
        len(H.starts),
        infinite,
        failed,
    )


def _tracked(H: Homotopy, starts: Complex, predicted: float) -> tuple[Complex, Complex, Array]:
    """Where the paths are at the radius of the endgame and at t = 0; what is lost before is not finite."""
    middle, lost = H.followed(starts, 1.0 + 0.0j, ENDGAME + 0.0j, predicted)
    middle[lost != REACHED] = np.nan
    ends, status = H.followed(middle, ENDGAME + 0.0j, 0.0j, predicted)
    return middle, ends, np.maximum(lost, status)


def _near(x: Complex, y: Complex) -> bool:
    return bool(np.max(np.abs(x - y)) < SAME_SINGULAR * (1 + np.max(np.abs(y))))


def _conditions(H: Homotopy, ends: Complex, status: Array) -> Array:
    """The condition of every end; zero where none was reached."""
    return np.array([H.condition(x) if s == REACHED else 0.0 for x, s in zip(ends, status, strict=True)])


def _coinciding(points: Complex, candidates: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The candidates that lie on another candidate."""
    which = np.flatnonzero(candidates)
    if len(which) < 2:
        return which[:0]
    # Sorted by a random linear function, equal points are neighbours.
    direction = np.exp(1j * np.arange(1, points.shape[1] + 1))
    keys = (points[which] @ direction).real
    order = which[np.argsort(keys)]
    found: set[int] = set()
    keys = np.sort(keys)
    for a in range(len(order)):
        b = a + 1
        while b < len(order) and keys[b] - keys[a] < 1e-6 * (1 + abs(keys[a])):
            x, y = points[order[a]], points[order[b]]
            if np.max(np.abs(x - y)) < SAME * (1 + np.max(np.abs(x))):
                found |= {int(order[a]), int(order[b])}
            b += 1
    return np.array(sorted(found), dtype=np.int64)
