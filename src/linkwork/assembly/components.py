"""Irreducible components of all positions in which a planar mechanism closes: points, curves and surfaces.

The loops are linear in the turns theta of the bodies, their mirror images in w = 1/theta: they leave u and v with
theta = p + N u and w = p* + N* v, and what is left is theta_b w_b = 1 for every body [wampler1999]. A set of dimension
k meets k random linear equations, slices, in as many points as its degree, its witness points. Slices that move along
a closed path lead witness points of one component into each other and never to another one (monodromy); a group of
them is whole if the sum of any linear function over it moves linearly with a slice (trace) [sommese2005, chapter 15].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from linkwork.arrays import Array, Complex
from linkwork.assembly import homotopy
from linkwork.assembly.closure import Closure
from linkwork.assembly.laurent import BACK, CONJUGATE, PLACE, TURN, NotPolynomialError, Poly, Variable, monomial
from linkwork.assembly.modes import PATH_LIMIT, SEED
from linkwork.assembly.problem import Problem, Random
from linkwork.assembly.solutions import combine, polynomials, position
from linkwork.assembly.tracker import FIRST_STEP, MAX_STEPS
from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.elements.joints import Revolute
from linkwork.errors import UsageError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import as_expr
from linkwork.linalg.rank import RANK_TOLERANCE, decide_rank, singular_values, svd
from linkwork.model import Model
from linkwork.tolerances import CLOSED, DIFFERENCE, HALF_THE_DIGITS, TYPED


@dataclass(frozen=True)
class Component:
    """A set of positions that cannot be taken apart: dimension, degree, and what is so everywhere on it.

    `together` are named points that coincide on it though no joint holds them, `alike` bodies that turn by the same
    angle, `moving` the bodies that turn along it, and `q` is a real position of it, if one was found; `real` says
    whether it is its own mirror image, without which it has real positions at most where others meet it. `circuits` is
    of a curve the number of closed real curves on it that were found: between two of them the mechanism must be taken
    apart. `whole` is False where the trace says that points are missing.
    """

    dimension: int
    degree: int
    real: bool
    q: Mapping[str, float] | None
    circuits: int | None
    together: tuple[str, ...]
    alike: tuple[str, ...]
    moving: tuple[str, ...]
    whole: bool


@dataclass(frozen=True)
class Components:
    name: str
    kept: tuple[str, ...]
    paths: int
    components: tuple[Component, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@np.errstate(all="ignore")  # what is not finite is looked for where it matters
def components(
    model: Model | Mechanism, keep: Sequence[str] = (), *, path_limit: int = PATH_LIMIT, seed: int = SEED
) -> Components:
    """Find the curves and surfaces of the positions that close with the coordinates `keep` at their start.

    UsageError where the closure is not linear in the turns, as that of gears, or not planar.
    """
    model = prepare(model).model
    if model.space != "planar" or model.stated is not None:
        raise UsageError("components are found of planar mechanisms of bodies", "not-planar")
    problem = Problem.of(model, keep)
    try:
        variety = _Variety(problem, np.random.default_rng(seed), path_limit)
        found = variety.decompose()
    except NotPolynomialError as reason:
        raise UsageError(f"components are not found: {reason} is in the way", "not-polynomial") from None
    return Components(model.name, tuple(keep), variety.paths, tuple(found))


class _Variety:
    """The equations that are left in y = (u, v), as polynomials and as numbers."""

    def __init__(self, problem: Problem, rng: Random, path_limit: int) -> None:
        self.problem, self.rng, self.paths, self.path_limit = problem, rng, 0, path_limit
        self.closure: Closure = polynomials(problem)
        if not self.closure.consistent:
            raise NotPolynomialError("a contradiction")
        self.names: list[Variable] = [(TURN, b) for b in self.closure.turns]
        self.names += [(PLACE, b) for b in self.closure.free_places]
        A, b = np.zeros((len(self.closure.loops), len(self.names)), complex), np.zeros(len(self.closure.loops), complex)
        for i, loop in enumerate(self.closure.loops):
            for m, c in loop.terms.items():
                if m == ():
                    b[i] += c
                elif len(m) == 1 and m[0][1] == 1 and m[0][0] in self.names:
                    A[i, self.names.index(m[0][0])] += c
                else:
                    raise NotPolynomialError("a loop that is not linear in turns and places")
        _, values, V = svd(A) if len(A) else (None, np.zeros(0), np.eye(len(self.names)))
        rank = decide_rank(values).rank
        self.p = -np.linalg.lstsq(A, b, rcond=RANK_TOLERANCE)[0] if len(A) else np.zeros(len(self.names), complex)
        self.N = np.asarray(V[rank:].conj().T, dtype=complex)
        self.h = self.N.shape[1]
        self.n = 2 * self.h
        forms: dict[Variable, Poly] = {}
        for k, (kind, body) in enumerate(self.names):
            own, mirror = Poly({(): complex(self.p[k])}), Poly({(): complex(self.p[k].conjugate())})
            for j in range(self.h):
                own = own + monomial(("u", str(j))) * complex(self.N[k, j])
                mirror = mirror + monomial(("v", str(j))) * complex(self.N[k, j].conjugate())
            forms |= {(kind, body): own, (CONJUGATE[kind], body): mirror}
        turning = [forms[TURN, b] * forms[BACK, b] + -1.0 for b in self.closure.turns]
        self.equations = [
            _indexed(f, self.h) for f in (*turning, *(row.substitute(forms) for row in self.closure.rows))
        ]
        self.numbers = _Numbers(self.equations, self.n)

    def decompose(self) -> list[Component]:
        """Search from above: look for a set in every dimension that more or fewer equations would leave."""
        pieces: list[tuple[_Witness, list[int]]] = []
        for k in range(self.n - 1, max(0, self.n - len(self.equations) - 1), -1):
            witness = self.witness(k)
            pieces += [(witness, group) for group in witness.groups()]
        return [self.describe(witness, group) for witness, group in pieces]

    def witness(self, k: int) -> _Witness:
        """Return the witness points of all components of dimension k: regular ones that k freedoms lead away from."""
        slices = self.slices(k)
        system = [combine(self.equations, self.rng) for _ in range(self.n - k)]
        mixed = _Numbers(system, self.n)
        affine: list[homotopy.Polynomial] = [{**{(j,): row[j] for j in range(self.n)}, (): row[-1]} for row in slices]
        halves = [[*range(self.h)], [*range(self.h, self.n)]]
        square = [*system, *affine]
        grouping = min((halves, [[*range(self.n)]]), key=lambda groups: homotopy.path_count(square, groups))
        count = homotopy.path_count(square, grouping)
        if self.paths + count > self.path_limit:
            raise NotPolynomialError(f"the number of paths, more than {self.path_limit},")
        self.paths += count
        ends = homotopy.solve(square, grouping, self.rng)
        both = zip(ends.points, ends.regular.tolist(), strict=True)
        points = [y for y, regular in both if regular and self.is_on(y, k)]
        return _Witness(self, k, mixed, slices, np.array(points, complex).reshape(-1, self.n))

    def slices(self, k: int, real: bool = False) -> Complex:
        """Return random affine forms, coefficients and constant in a row.

        Real ones take real values at real positions.
        """
        a, b = (self.rng.normal(size=(k, self.h, 2)) @ [1, 1j] for _ in range(2))
        c = self.rng.normal(size=(k, 2)) @ [1, 1j]
        return np.column_stack([a, a.conj(), c.real]) if real else np.column_stack([a, b, c])

    def is_on(self, y: Complex, k: int) -> bool:
        """Tell whether a point solves all equations and these leave k freedoms there."""
        values, J = self.numbers.at(y)
        if np.max(np.abs(values)) > HALF_THE_DIGITS * (1.0 + float(np.max(np.abs(y)))) ** 2:
            return False
        return bool(self.n - decide_rank(singular_values(J), TYPED).rank == k)

    def values(self, y: Complex) -> dict[Variable, complex]:
        own, mirror = self.p + self.N @ y[: self.h], self.p.conj() + self.N.conj() @ y[self.h :]
        found = dict(zip(self.names, own.tolist(), strict=True))
        return found | {(CONJUGATE[kind], b): x for (kind, b), x in zip(self.names, mirror.tolist(), strict=True)}

    def mirrored(self, y: Complex) -> Complex:
        return np.concatenate([y[self.h :], y[: self.h]]).conj()

    def places(self, y: Complex) -> dict[str, tuple[complex, complex]]:
        """Return named points of bodies, and their mirror images."""
        values, c, found = self.values(y), self.closure, {}
        forms = {(PLACE, b): p for b, p in c.places.items()}
        for body in self.problem.model.bodies:
            angle = c.angles.get(body.name)
            if angle is None:
                turn = monomial((TURN, body.name))
            else:
                turn = Poly({(): complex(np.exp(1j * angle.constant))})
                for other, m in angle.multiples.items():
                    turn = turn * monomial((TURN, other), round(m))
            z = forms.get((PLACE, body.name), monomial((PLACE, body.name)))
            for name, s in body.points.items():
                x, y_ = (float(v) for v in evaluate([as_expr(a) for a in s], self.problem.values))
                x0, y0 = (float(v) for v in evaluate([as_expr(a) for a in body.mass_centre], self.problem.values))
                point = z + turn * complex((x - x0 + 1j * (y_ - y0)) / c.unit)
                found[f"{body.name}.{name}"] = _value(point, values), _value(point.conjugate(), values)
        return found

    def coinciding(self, points: Sequence[Complex]) -> tuple[str, ...]:
        """Return pairs of named points of two bodies that are one at all of these positions, and that no pin makes
        one.
        """
        spots = [self.places(y) for y in points]
        pinned = [{a for a in spots[0] if a in ends} for ends in self.pins()]
        return tuple(
            f"{a} = {b}"
            for a, b in combinations(spots[0], 2)
            if a.partition(".")[0] != b.partition(".")[0]
            and not any({a, b} <= ends for ends in pinned)
            and all(np.allclose(spot[a], spot[b], rtol=0.0, atol=DIFFERENCE) for spot in spots)
        )

    def pins(self) -> list[set[str]]:
        """Return named points of bodies that pins hold together, through any number of them."""
        found: list[set[str]] = []
        for joint in self.problem.model.joints:
            if isinstance(joint, Revolute):
                ends = ((joint.body_i, joint.s_i), (joint.body_j, joint.s_j))
                own = {f"{body.name}.{name}" for body, s in ends for name, at in body.points.items() if at == s}
                met = [ends for ends in found if ends & own]
                found = [ends for ends in found if not ends & own] + [own.union(*met)]
        return found

    def describe(self, witness: _Witness, group: list[int]) -> Component:
        points = witness.points[group]
        seen = [*points, *witness.moved(points, self.slices(witness.k))]
        turns = {b: np.array([self.values(y)[TURN, b] for y in seen]) for b in self.closure.turns}
        moving = tuple(b for b, x in turns.items() if np.max(np.abs(x - x[0])) > DIFFERENCE)
        pairs = ((a, b, turns[a] / turns[b]) for a, b in combinations(moving, 2))
        alike = tuple(f"{a} = {b}" for a, b, x in pairs if np.max(np.abs(x - x[0])) < DIFFERENCE)
        mirrored = np.array([self.mirrored(points[0])])
        image = witness.moved(mirrored, witness.slices, start=_mirrored_slices(witness.slices, self.h))
        real = len(image) == 1 and int(np.argmin(np.linalg.norm(witness.points - image[0], axis=1))) in group
        found = self.real_positions(witness, points) if real else []
        q = dict(zip(self.problem.equations.q_names, self.position(found[0]).tolist(), strict=True)) if found else None
        circuits = len(self.circuits(found)) if witness.k == 1 and real else None
        together, whole = self.coinciding(seen), witness.is_whole(group)
        return Component(witness.k, len(group), real, q, circuits, together, alike, moving, whole)

    def real_positions(self, witness: _Witness, points: Complex) -> list[Complex]:
        """Return those at which some real slices meet the component."""
        met = (y for _ in range(2 * self.n) for y in witness.moved(points, self.slices(witness.k, real=True)))
        return [y for y in met if np.max(np.abs(y - self.mirrored(y))) < HALF_THE_DIGITS * (1.0 + np.max(np.abs(y)))]

    def position(self, y: Complex) -> Array:
        return position(self.problem, self.closure, self.values(y))

    def circuits(self, points: Sequence[Complex]) -> list[tuple[Array, Array]]:
        """Return the closed real curves on which these positions lie, each followed once around."""
        found: list[tuple[Array, Array]] = []
        for y in points:
            x = np.concatenate([y[: self.h].real, y[: self.h].imag])
            if not any(_lies_on(x, *circuit) for circuit in found) and (circuit := self.go_round(x)) is not None:
                found.append(circuit)
        return found

    def linearize_real(self, x: Array) -> tuple[Array, Array]:
        """Return values and slopes at the real position u = x_1 + i x_2, v its conjugate."""
        u = x[: self.h] + 1j * x[self.h :]
        values, J = self.numbers.at(np.concatenate([u, u.conj()]))
        by_u, by_v = J[:, : self.h], J[:, self.h :]
        slopes = np.hstack([by_u + by_v, 1j * (by_u - by_v)])
        return np.concatenate([values.real, values.imag]), np.vstack([slopes.real, slopes.imag])

    def go_round(self, start: Array) -> tuple[Array, Array] | None:
        """Return points and directions of a real curve until it comes back; None if it does not.

        A step goes on in the direction of the last one, across positions where another curve crosses.
        """
        x, step = start, FIRST_STEP
        along = first = svd(self.linearize_real(x)[1])[2][-1]
        places, directions = [x], [along]
        while len(places) < MAX_STEPS:
            trial = x + step * along
            for _ in range(3):
                values, J = self.linearize_real(trial)
                trial = trial - np.linalg.lstsq(J, values, rcond=HALF_THE_DIGITS)[0]
            values, J = self.linearize_real(trial)
            ahead = svd(J)[2][-1]
            ahead = ahead * (1.0 if ahead @ along > 0.0 else -1.0)
            bends = np.linalg.norm(ahead - along) > FIRST_STEP or np.linalg.norm(trial - x) > 2.0 * step
            if bends or np.max(np.abs(values)) > HALF_THE_DIGITS:
                step /= 2.0
                if not step > TYPED:
                    return None
                continue
            is_near = len(places) > 1 and np.linalg.norm(start - x) < 2.0 * step
            if is_near and (start - trial) @ first <= 0.0 <= (start - x) @ first:
                return np.array(places), np.array(directions)
            x, along, step = trial, ahead, min(2.0 * step, FIRST_STEP)
            places.append(x)
            directions.append(along)
        return None


def _lies_on(x: Array, places: Array, directions: Array) -> bool:
    """Tell whether a position is on a curve: no farther from it than the curve bends from one of its points to it."""
    apart = x - places
    k = int(np.argmin(np.linalg.norm(apart, axis=1)))
    away = float(np.linalg.norm(apart[k]))
    aside = np.linalg.norm(apart[k] - (apart[k] @ directions[k]) * directions[k])
    return bool(away <= FIRST_STEP and aside <= max(FIRST_STEP * away, HALF_THE_DIGITS))


class _Witness:
    """Witness points of one dimension, with the mixed equations and the slices they solve."""

    def __init__(self, of: _Variety, k: int, mixed: _Numbers, slices: Complex, points: Complex) -> None:
        self.of, self.k, self.mixed, self.slices, self.points = of, k, mixed, slices, points

    def groups(self) -> list[list[int]]:
        """Return the points of each component: joined by loops until the trace of every group is linear."""
        groups = [[i] for i in range(len(self.points))]
        for _ in range(len(self.points) ** 2):
            if len(groups) == 1 or all(self.is_whole(group) for group in groups):
                break
            away = self.of.slices(self.k)
            there = self.moved(self.points, away)
            if len(there) < len(self.points):
                continue
            back = self.moved(there, self.slices, start=away)
            if len(back) < len(self.points):
                continue
            for i, y in enumerate(back):
                j = int(np.argmin(np.linalg.norm(self.points - y, axis=1)))
                one, other = (next(group for group in groups if a in group) for a in (i, j))
                if one is not other:
                    groups.remove(other)
                    one += other
        return sorted((sorted(group) for group in groups), key=len)

    def is_whole(self, group: list[int]) -> bool:
        """Tell whether the sum of a linear function over these points moves linearly with a slice."""
        shift = np.zeros_like(self.slices)
        shift[0, -1] = complex(*self.of.rng.normal(size=2))
        points = self.points[group]
        sides = [self.moved(points, self.slices + sign * shift) for sign in (1.0, -1.0)]
        if any(len(side) < len(points) for side in sides):
            return False
        by = self.of.rng.normal(size=self.of.n) + 1j * self.of.rng.normal(size=self.of.n)
        ahead, behind, here = (np.sum(x @ by) for x in (*sides, points))
        return bool(abs(ahead + behind - 2.0 * here) < DIFFERENCE * (1.0 + np.sum(np.abs(points @ by))))

    def moved(self, points: Complex, to: Complex, start: Complex | None = None) -> Complex:
        """Move points along as the slices become others, by way of complex ones; lost points are left out."""
        begin = self.slices if start is None else start
        gamma = np.exp(2j * np.pi * self.of.rng.uniform())
        found = (self.follow(y, gamma * begin, to) for y in points)
        return np.array([y for y in found if y is not None], complex).reshape(-1, self.of.n)

    def follow(self, y: Complex, a: Complex, b: Complex) -> Complex | None:
        """Follow one path of (1 - t) a + t b from t = 0 to 1: steps along the tangent, corrected by Newton's
        iteration.
        """
        t, step = 0.0, FIRST_STEP
        while t < 1.0:
            step = min(step, 1.0 - t)
            J = self.linearize(y, (1.0 - t) * a + t * b)[1]
            rate = np.concatenate([np.zeros(len(y) - self.k), (b - a) @ np.append(y, 1.0)])
            trial, good = y - step * np.linalg.solve(J, rate), False
            for _ in range(4):
                H, J = self.linearize(trial, (1.0 - t - step) * a + (t + step) * b)
                change = np.linalg.solve(J, H)
                trial = trial - change
                if np.max(np.abs(change)) < CLOSED * (1.0 + np.max(np.abs(trial))):
                    good = True
                    break
            if good:
                y, t, step = trial, t + step, 2.0 * step
            else:
                step = step / 4.0
                if not step > TYPED:
                    return None
        return y

    def linearize(self, y: Complex, slices: Complex) -> tuple[Complex, Complex]:
        values, slopes = self.mixed.at(y)
        return np.concatenate([values, slices @ np.append(y, 1.0)]), np.vstack([slopes, slices[:, :-1]])


class _Numbers:
    """Polynomials as coefficients of common terms, which are products of unknowns; the last place is 1."""

    def __init__(self, polynomials: Sequence[homotopy.Polynomial], n: int) -> None:
        terms = list(dict.fromkeys(term for f in polynomials for term in f))
        degree = max(map(len, terms), default=0)
        self.c = np.array([[f.get(term, 0.0) for term in terms] for f in polynomials], complex)
        self.factors = np.array([[*term, *[n] * (degree - len(term))] for term in terms], dtype=int).reshape(-1, degree)
        self.n = n

    def at(self, y: Complex) -> tuple[Complex, Complex]:
        """Return values and slopes."""
        x = np.append(y, 1.0)[self.factors]
        slopes = np.zeros((len(x), self.n + 1), complex)
        for k in range(x.shape[1]):
            np.add.at(slopes, (np.arange(len(x)), self.factors[:, k]), np.prod(np.delete(x, k, axis=1), axis=1))
        return self.c @ np.prod(x, axis=1), self.c @ slopes[:, :-1]


def _indexed(f: Poly, h: int) -> homotopy.Polynomial:
    """Return a polynomial in u and v by the numbers of its factors."""
    found: homotopy.Polynomial = {}
    for m, c in f.terms.items():
        places = [int(name) + h * (kind == "v") for (kind, name), e in m for _ in range(e)]
        found[tuple(sorted(places))] = found.get(tuple(sorted(places)), 0.0) + c
    return found


def _mirrored_slices(slices: Complex, h: int) -> Complex:
    """Return the slices on which the mirror images of points lie."""
    return np.column_stack([slices[:, h : 2 * h], slices[:, :h], slices[:, -1]]).conj()


def _value(p: Poly, values: Mapping[Variable, complex]) -> complex:
    """Return a polynomial at values, of which inverse turns and mirror images have their own."""
    total = 0.0 + 0.0j
    for m, c in p.terms.items():
        for (kind, body), e in m:
            of = (BACK, body) if kind == TURN and e < 0 else (kind, body)
            c *= values[of] ** abs(e)
        total += c
    return complex(total)
