"""Closure equations of planar mechanisms as polynomials in few unknowns.

A body at (x, y, phi) has the isotropic coordinates z = x + i y, c = x - i y and theta = exp(i phi), whose inverse is
exp(-i phi). In them

    x = (z + c)/2,    y = (z - c)/(2 i),    cos phi = (theta + 1/theta)/2,    sin phi = (theta - 1/theta)/(2 i)

so that evaluating Psi over polynomials in z, c, theta and 1/theta gives the closure equations [wampler1999]. Then

1. rows linear in the angles alone (drivers, prismatic joints, gears) say that one theta is a monomial in others;
2. combinations of rows of a joint that hold z and theta alone, to the first degree, are found: the two rows of a
   revolute joint, for instance, are one such row and its conjugate, in c and 1/theta;
3. these give the positions z as functions of the theta, and what is left of them are the loops, linear in theta;
4. loops and the other rows are sorted into blocks that can be solved one after the other: a dyad, a triad, ...;
5. in a block the loops give some theta as affine functions of the others, u, and the conjugate loops the 1/theta as
   affine functions of others, w; theta (1/theta) = 1 is then bilinear in u and w, as are all joints but gears.

The number of solutions of l loops with 2 l unknown angles in these two groups of unknowns is binomial(2 l, l): two for
a dyad, six for a triad.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.assembly.homotopy import Polynomial
from linkwork.errors import ModelError
from linkwork.expressions.evaluation import Arithmetic, evaluate, float_arithmetic
from linkwork.expressions.graph import Expr

Complex = NDArray[np.complex128]

# (kind, body): exponents of a turn may be negative. MIRROR and BACK are conjugates of PLACE and TURN; BACK is used in
# values only, polynomials have negative exponents instead.
PLACE, MIRROR, TURN, BACK = "place", "mirror", "turn", "back"
Variable: TypeAlias = tuple[str, str]
Monomial: TypeAlias = tuple[tuple[Variable, int], ...]

NEGLIGIBLE = 1e-13  # of the largest coefficient of a row
WHOLE = 1e-9  # how far a ratio may be from a whole number
DEPENDENT = 1e-10  # singular values of rows of unit size
UNCLOSED = 1e-6  # what a loop without unknowns may lack at values that are themselves rounded


class NotPolynomialError(Exception):
    """A row that is no polynomial in the isotropic coordinates."""


class Poly:
    """A polynomial in places and mirrors and in positive and negative powers of turns."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, complex]) -> None:
        self.terms = {m: c for m, c in terms.items() if c != 0}

    def __add__(self, other: Poly | float) -> Poly:
        terms = dict(self.terms)
        for m, c in _poly(other).terms.items():
            terms[m] = terms.get(m, 0.0) + c
        return Poly(terms)

    def __mul__(self, other: Poly | complex) -> Poly:
        terms: dict[Monomial, complex] = {}
        for m, c in self.terms.items():
            for n, d in _poly(other).terms.items():
                product = _product(m, n)
                terms[product] = terms.get(product, 0.0) + c * d
        return Poly(terms)

    def __neg__(self) -> Poly:
        return self * -1.0

    def __sub__(self, other: Poly | float) -> Poly:
        return self + -_poly(other)

    def __rsub__(self, other: float) -> Poly:
        return _poly(other) - self

    def __truediv__(self, other: float) -> Poly:
        if not isinstance(other, float):
            raise NotPolynomialError("a quotient")
        return self * (1.0 / other)

    __radd__, __rmul__ = __add__, __mul__

    def conjugate(self) -> Poly:
        return Poly({_conjugate(m): c.conjugate() for m, c in self.terms.items()})

    def cleaned(self) -> Poly:
        """The largest coefficient made one and what is rounding against it dropped.

        Rows are combined at unit size, so that one far below it says nothing.
        """
        largest = max(map(abs, self.terms.values()), default=0.0)
        if largest < DEPENDENT:
            return Poly({})
        return Poly({m: c / largest for m, c in self.terms.items() if abs(c) > NEGLIGIBLE * largest})

    def variables(self) -> set[Variable]:
        return {v for m in self.terms for v, _ in m}

    def coefficient(self, variable: Variable) -> complex:
        return self.terms.get(((variable, 1),), 0.0)

    def value(self, values: Mapping[Variable, complex]) -> complex:
        """Of a polynomial in places and turns without negative powers."""
        return complex(sum(c * math.prod(values[v] ** e for v, e in m) for m, c in self.terms.items()))

    def replaced(self, forms: Mapping[Variable, Poly]) -> Poly:
        """Polynomials in the place of variables, which must not stand in negative powers."""
        result = Poly({})
        for m, c in self.terms.items():
            factor = Poly({tuple((v, e) for v, e in m if v not in forms): c})
            for v, e in m:
                for _ in range(e if v in forms else 0):
                    factor = factor * forms[v]
            result = result + factor
        return result


def _poly(x: Poly | complex) -> Poly:
    if isinstance(x, Poly):
        return x
    if isinstance(x, (int, float, complex)):
        return Poly({(): complex(x)})
    raise NotPolynomialError("an angle beside lengths")


def monomial(variable: Variable, exponent: int = 1) -> Poly:
    return Poly({((variable, exponent),): 1.0 + 0.0j})


def _product(m: Monomial, n: Monomial) -> Monomial:
    if not m or not n:
        return m or n
    exponents = dict(m)
    for v, e in n:
        exponents[v] = exponents.get(v, 0) + e
    return tuple(sorted((v, e) for v, e in exponents.items() if e))


def _conjugate(m: Monomial) -> Monomial:
    mirrored = {PLACE: MIRROR, MIRROR: PLACE, TURN: TURN}
    return tuple(sorted(((mirrored[v[0]], v[1]), -e if v[0] == TURN else e) for v, e in m))


@dataclass(frozen=True)
class Angle:
    """sum of multiples of angles of bodies, plus a constant."""

    multiples: Mapping[str, float]
    constant: float = 0.0

    def __add__(self, other: Angle | float) -> Angle:
        if isinstance(other, (int, float)):
            return Angle(self.multiples, self.constant + other)
        if not isinstance(other, Angle):
            raise NotPolynomialError("an angle beside lengths")
        bodies = {**self.multiples, **other.multiples}
        total = {b: self.multiples.get(b, 0.0) + other.multiples.get(b, 0.0) for b in bodies}
        return Angle({b: m for b, m in total.items() if abs(m) > NEGLIGIBLE}, self.constant + other.constant)

    def __mul__(self, factor: float) -> Angle:
        if not isinstance(factor, (int, float)):
            raise NotPolynomialError("an angle times a coordinate")
        return Angle({b: m * factor for b, m in self.multiples.items()}, self.constant * factor)

    def __neg__(self) -> Angle:
        return self * -1.0

    def __sub__(self, other: Angle | float) -> Angle:
        return self + -other

    def __rsub__(self, other: float) -> Angle:
        return -self + other

    def __truediv__(self, divisor: float) -> Angle:
        if not isinstance(divisor, float):
            raise NotPolynomialError("a quotient")
        return self * (1.0 / divisor)

    __radd__, __rmul__ = __add__, __mul__

    def turn(self) -> Poly:
        """exp(i angle)."""
        if any(abs(m - round(m)) > WHOLE for m in self.multiples.values()):
            raise NotPolynomialError("a fraction of an angle")
        exponents = tuple(sorted(((TURN, b), round(m)) for b, m in self.multiples.items()))
        return Poly({exponents: cmath.exp(1j * self.constant)})

    def cos(self) -> Poly:
        turn = self.turn()
        return (turn + turn.conjugate()) * 0.5

    def sin(self) -> Poly:
        turn = self.turn()
        return (turn - turn.conjugate()) * -0.5j

    def of(self, angles: Mapping[str, Angle]) -> Angle:
        """Angles in the place of those of bodies."""
        result = Angle({}, self.constant)
        for body, m in self.multiples.items():
            result = result + angles.get(body, Angle({body: 1.0})) * m
        return result


@dataclass(frozen=True)
class Root:
    """factor sqrt(radicand) + offset: a driven distance."""

    radicand: Poly
    factor: float = 1.0
    offset: float = 0.0

    def __add__(self, other: float) -> Root:
        if not isinstance(other, (int, float)):
            raise NotPolynomialError("a distance beside coordinates")
        return Root(self.radicand, self.factor, self.offset + other)

    def __mul__(self, other: float) -> Root:
        if not isinstance(other, (int, float)):
            raise NotPolynomialError("a distance times a coordinate")
        return Root(self.radicand, self.factor * other, self.offset * other)

    def __neg__(self) -> Root:
        return self * -1.0

    def __sub__(self, other: float) -> Root:
        return self + -other

    def __rsub__(self, other: float) -> Root:
        return -self + other

    def __truediv__(self, other: float) -> Root:
        if not isinstance(other, (int, float)):
            raise NotPolynomialError("a quotient")
        return self * (1.0 / other)

    __radd__, __rmul__ = __add__, __mul__

    def squared(self) -> Poly:
        """Zero where the root is; also where it is with the other sign, which the caller must sort out."""
        return self.radicand - (self.offset / self.factor) ** 2


def arithmetic() -> Arithmetic:
    """Numbers as they are; polynomials, angles and roots as far as the row stays polynomial."""
    floats = float_arithmetic()
    known: dict[str, Callable[..., Any]] = {
        "add": operator.add,
        "sub": operator.sub,
        "mul": operator.mul,
        "div": operator.truediv,
        "neg": operator.neg,
        "cos": lambda x: x.cos() if isinstance(x, Angle) else _refused("a cosine of a coordinate"),
        "sin": lambda x: x.sin() if isinstance(x, Angle) else _refused("a sine of a coordinate"),
        "sqrt": lambda x: Root(x) if isinstance(x, Poly) else _refused("a root of an angle"),
    }

    def operation(op: str) -> Callable[..., Any]:
        def value(*arguments: Any) -> Any:
            if not any(isinstance(a, (Poly, Angle, Root)) for a in arguments):
                return floats[op](*arguments)
            if op not in known:
                raise NotPolynomialError(f"'{op}' of a coordinate")
            return known[op](*arguments)

        return value

    return {op: operation(op) for op in floats}


def _refused(what: str) -> Any:
    raise NotPolynomialError(what)


@dataclass(frozen=True)
class Closure:
    """What is left to solve: loops (linear in turns and places, to be taken with their conjugates) and other rows.

    `angles` gives the angle of every body whose turn is not among the unknowns, `places` the z likewise, in units of
    `unit` metres; `consistent` is False if some row says that a number other than zero is zero.
    """

    unit: float
    turns: tuple[str, ...]
    free_places: tuple[str, ...]
    angles: Mapping[str, Angle]
    places: Mapping[str, Poly]
    loops: tuple[Poly, ...]
    rows: tuple[Poly, ...]
    consistent: bool

    @property
    def freedoms(self) -> int:
        """Unknowns minus equations, both counted in real numbers."""
        unknowns = len(self.turns) + 2 * len(self.free_places)
        return unknowns - 2 * len(self.loops) - len(self.rows)


def closure(
    rows: Sequence[Expr],
    groups: Sequence[str],
    values: Mapping[Expr, float],
    coordinates: Mapping[str, tuple[Expr, Expr, Expr]],
    unit: float,
) -> Closure:
    """The rows as polynomials, reduced; rows of one group (a joint and its drivers) are combined with each other.

    `values` are those of parameters and time, `coordinates` the symbols x, y, phi of every body.
    """
    table = arithmetic()
    symbols: dict[Expr, Any] = dict(values)
    for body, (x, y, phi) in coordinates.items():
        z, c = monomial((PLACE, body)), monomial((MIRROR, body))
        symbols |= {x: (z + c) * (0.5 * unit), y: (z - c) * (-0.5j * unit), phi: Angle({body: 1.0})}
    first = evaluate(rows, symbols, table)
    consistent, angles = _angles([row for row in first if isinstance(row, Angle)])
    for body, (_, _, phi) in coordinates.items():
        symbols[phi] = angles.get(body, symbols[phi])
    by_group: dict[str, list[Poly]] = {}
    for row, group in zip(evaluate(rows, symbols, table), groups, strict=True):
        poly = row.squared() if isinstance(row, Root) else row
        if isinstance(poly, Angle):
            continue
        poly = _poly(poly)
        if not all(cmath.isfinite(c) for c in poly.terms.values()):
            raise ModelError(f"the closure of '{group}' has no finite value", "closure-not-finite")
        by_group.setdefault(group, []).append(poly)

    scale = max((abs(c) for polys in by_group.values() for p in polys for c in p.terms.values()), default=1.0)
    loops: list[Poly] = []
    others: list[Poly] = []
    for polys in by_group.values():
        found, left = holomorphic([(p / scale).cleaned() for p in polys])
        loops += found
        others += left
    places: dict[str, Poly] = {}
    while True:
        loops = _solved_for_places(loops, places)
        forms = {(PLACE, b): p for b, p in places.items()}
        forms |= {(MIRROR, b): p.conjugate() for b, p in places.items()}
        others = _independent([p.replaced(forms).cleaned() for p in others])
        found, others = holomorphic(others)
        if not found:
            break
        loops += found
    loops = _sparse(_independent([p for p in loops if p.terms]))
    consistent = consistent and all(p.variables() for p in (*loops, *others))
    return Closure(
        unit,
        tuple(b for b in coordinates if b not in angles),
        tuple(b for b in coordinates if b not in places),
        angles,
        places,
        tuple(loops),
        tuple(others),
        consistent,
    )


def _angles(rows: Iterable[Angle]) -> tuple[bool, dict[str, Angle]]:
    """Some angles as whole multiples of others plus a constant, from rows that are zero."""
    solved: dict[str, Angle] = {}
    consistent = True
    for row in rows:
        row = row.of(solved)
        if not row.multiples:
            consistent = consistent and abs(row.constant) < 1e-9
            continue
        for body, m in row.multiples.items():
            rest = Angle({b: -k / m for b, k in row.multiples.items() if b != body}, -row.constant / m)
            if all(abs(k - round(k)) <= WHOLE for k in rest.multiples.values()):
                break
        else:
            raise NotPolynomialError("a gear ratio that is not whole")
        rest = Angle({b: float(round(k)) for b, k in rest.multiples.items()}, rest.constant)
        solved = {b: angle.of({body: rest}) for b, angle in solved.items()}
        solved[body] = rest
    return consistent, solved


def _matrix(polys: Sequence[Poly]) -> tuple[list[Monomial], Complex]:
    """The monomials of the polynomials, and a row of coefficients for each of them."""
    monomials = sorted({m for p in polys for m in p.terms})
    return monomials, np.array([[p.terms.get(m, 0.0) for m in monomials] for p in polys], dtype=complex)


def _independent(polys: Sequence[Poly], after: Sequence[Poly] = ()) -> list[Poly]:
    """The polynomials that are no linear combination of those before them."""
    kept: list[Poly] = []
    for p in polys:
        if not p.terms:
            continue
        _, A = _matrix([*after, *kept, p])
        A = A / np.linalg.norm(A, axis=1)[:, None]
        if np.linalg.svd(A, compute_uv=False)[-1] > DEPENDENT and A.shape[0] <= A.shape[1]:
            kept.append(p)
    return kept


def _is_linear(m: Monomial) -> bool:
    """1, a place or a turn."""
    return not m or (len(m) == 1 and m[0][1] == 1 and m[0][0][0] in (PLACE, TURN))


def holomorphic(rows: Sequence[Poly]) -> tuple[list[Poly], list[Poly]]:
    """Combinations of the rows that are linear in places and turns, if need be after division by a turn; other rows.

    The conjugate of every such combination is one of the rows too, since rows are real.
    """
    left = _independent(rows)
    found: list[Poly] = []
    turns = sorted({v for p in rows for v in p.variables() if v[0] == TURN})
    factors = [Poly({(): 1.0 + 0.0j}), *(monomial(v, e) for v in turns for e in (1, -1))]
    for factor in factors:
        if len(left) < 2:
            break
        monomials, A = _matrix([p * factor for p in left])
        other = np.array([not _is_linear(m) for m in monomials])
        if not other.any():
            continue  # nothing here turns with the conjugate, which cannot be for real rows
        U, values, _ = np.linalg.svd(A[:, other], full_matrices=True)
        rank = int(np.sum(values > DEPENDENT))
        combinations = U[:, rank:].conj().T @ A
        linear = [Poly(dict(zip(monomials, c, strict=True))).cleaned() for c in combinations]
        linear = [p for p in linear if p.variables()]
        if linear:
            found += linear
            inverse = factor.conjugate()
            taken = [p * inverse for p in linear]
            left = _independent(left, [*taken, *(p.conjugate() for p in taken)])
    return found, left


def _solved_for_places(loops: Sequence[Poly], places: dict[str, Poly]) -> list[Poly]:
    """Loops without those places that could be expressed by others; these go into `places`."""
    left = list(loops)
    while True:
        forms = {(PLACE, b): p for b, p in places.items()}
        left = [p.replaced(forms).cleaned() for p in left]
        candidates = [(sum(v[0] == PLACE for v in p.variables()), len(p.terms), k) for k, p in enumerate(left)]
        candidates = [c for c in candidates if c[0]]
        if not candidates:
            return left
        row = left.pop(min(candidates)[2])
        _, variable = max((abs(row.coefficient(v)), v) for v in row.variables() if v[0] == PLACE)
        solution = row * (-1.0 / row.coefficient(variable)) + monomial(variable)
        solution = Poly({m: c for m, c in solution.terms.items() if m != ((variable, 1),)})
        for body, p in places.items():
            places[body] = p.replaced({variable: solution})
        places[variable[1]] = solution


def _sparse(loops: list[Poly]) -> list[Poly]:
    """The same loops with fewer turns in each, as far as differences of two of them show it."""
    loops = list(loops)
    improved = True
    while improved:
        improved = False
        for i in range(len(loops)):
            for j in range(len(loops)):
                for v in loops[i].variables() & loops[j].variables() if i != j else ():
                    factor = loops[i].coefficient(v) / loops[j].coefficient(v)
                    difference = loops[i] - loops[j] * factor
                    if len(difference.cleaned().variables() - {v}) < len(loops[i].variables()):
                        terms = {m: c for m, c in difference.terms.items() if m != ((v, 1),)}
                        loops[i] = Poly(terms).cleaned()
                        improved = True
                        break
    return loops


@dataclass(frozen=True)
class Block:
    """Unknowns and as many equations that hold no others but those of earlier blocks."""

    turns: tuple[str, ...]
    places: tuple[str, ...]
    loops: tuple[Poly, ...]
    rows: tuple[Poly, ...]


def blocks(c: Closure) -> list[Block]:
    """Blocks in the order of their solution; one of everything where the counts do not match."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

    everything = [Block(c.turns, c.free_places, c.loops, c.rows)]
    # A real freedom per turn and two per place, two real equations per loop and one per row.
    unknowns = [(TURN, b) for b in c.turns] + [(PLACE, b) for b in c.free_places for _ in range(2)]
    equations = [p for p in c.loops for _ in range(2)] + list(c.rows)
    held = [{(PLACE if v[0] == MIRROR else v[0], v[1]) for v in p.variables()} for p in equations]
    pattern = np.array([[v in own for v in unknowns] for own in held], dtype=np.int8).reshape(len(held), len(unknowns))
    if not len(held) or len(held) != len(unknowns):
        return everything
    match = maximum_bipartite_matching(csr_array(pattern), perm_type="column")
    if np.any(match < 0):
        return everything
    needs = pattern[:, match]  # equation i holds the unknown that equation j is solved for
    count, label = connected_components(csr_array(needs), directed=True, connection="strong")
    result: list[Block] = []
    waiting = set(range(count))
    while waiting:
        ready = [k for k in sorted(waiting) if waiting & {int(j) for j in label[needs[label == k].any(axis=0)]} == {k}]
        for k in ready:
            waiting.discard(k)
            own = {unknowns[match[i]] for i in np.flatnonzero(label == k)}
            mine = {id(equations[i]) for i in np.flatnonzero(label == k)}
            result.append(
                Block(
                    tuple(b for b in c.turns if (TURN, b) in own),
                    tuple(b for b in c.free_places if (PLACE, b) in own),
                    tuple(p for p in c.loops if id(p) in mine),
                    tuple(p for p in c.rows if id(p) in mine),
                )
            )
    return result


@dataclass(frozen=True)
class Reduced:
    """A block at given values of earlier ones: polynomials in u (the first half of the unknowns) and w (the other)."""

    system: list[Polynomial]
    n: int
    forms: Mapping[Variable, Polynomial]  # the unknowns of the block as affine functions of u or w

    def values(self, point: Complex) -> dict[Variable, complex]:
        return {v: _value(form, point) for v, form in self.forms.items()}


def _value(f: Polynomial, point: Complex) -> complex:
    return complex(sum(c * math.prod([complex(point[k]) for k in term]) for term, c in f.items()))


def reduced(block: Block, known: Mapping[Variable, complex]) -> Reduced | None:
    """Point 5 of the introduction; None if a loop cannot close at these values."""
    unknowns = [(PLACE, b) for b in block.places] + [(TURN, b) for b in block.turns]
    mirrored = {PLACE: MIRROR, TURN: BACK}
    constants: dict[Variable, Polynomial] = {v: {(): a} for v, a in known.items()}
    forms: dict[Variable, Polynomial] = {}
    pivots, free = _pivots(block.loops, unknowns)
    for conjugated in (False, True):
        shift = len(free) if conjugated else 0
        names = [(mirrored[kind], b) if conjugated else (kind, b) for kind, b in unknowns]
        for place, k in enumerate(free):
            forms[names[k]] = {(shift + place,): 1.0 + 0.0j}
        if not block.loops:
            continue
        A = np.array([[p.coefficient(v) for v in unknowns] for p in block.loops], dtype=complex)
        A = A.conj() if conjugated else A
        b = np.array([_rest(p.conjugate() if conjugated else p, unknowns, constants) for p in block.loops])
        X = -np.linalg.lstsq(A[:, pivots], np.column_stack([A[:, free], b]), rcond=None)[0]
        if np.max(np.abs(A[:, pivots] @ X[:, -1] + b)) > UNCLOSED:
            return None
        for row, k in enumerate(pivots):
            form: Polynomial = {(shift + place,): complex(a) for place, a in enumerate(X[row, :-1])}
            forms[names[k]] = {**form, (): complex(X[row, -1])}
    everything = {**constants, **forms}
    system = []
    for body in block.turns:
        circle = _times(forms[TURN, body], forms[BACK, body])
        circle[()] = circle.get((), 0.0) - 1.0
        system.append(_scaled(circle))
    system += [_scaled(_inserted(p, everything)) for p in block.rows]
    return Reduced(system, 2 * len(free), forms)


def _pivots(loops: Sequence[Poly], unknowns: Sequence[Variable]) -> tuple[list[int], list[int]]:
    """Which unknowns the loops are solved for, places first, and which are left."""
    if not loops:
        return [], list(range(len(unknowns)))
    from scipy.linalg import qr

    preference = np.array([1e3 if v[0] == PLACE else 1.0 for v in unknowns])
    A = np.array([[p.coefficient(v) for v in unknowns] for p in loops], dtype=complex) * preference
    _, R, order = qr(A, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > DEPENDENT * max(diagonal[0], 1e-300)))
    return sorted(int(k) for k in order[:rank]), sorted(int(k) for k in order[rank:])


def _rest(p: Poly, unknowns: Sequence[Variable], known: Mapping[Variable, Polynomial]) -> complex:
    """What a loop, or its conjugate, holds besides the unknowns of the block."""
    own = {(kind, body) for kind, body in unknowns} | {(MIRROR, body) for kind, body in unknowns if kind == PLACE}
    terms = {m: c for m, c in p.terms.items() if not any(v in own for v, _ in m)}
    return _inserted(Poly(terms), known).get((), 0.0)


def _inserted(p: Poly, forms: Mapping[Variable, Polynomial]) -> Polynomial:
    """The polynomial with affine functions of u and w in the place of its variables."""
    result: Polynomial = {}
    for m, c in p.terms.items():
        term: Polynomial = {(): c}
        for (kind, body), e in m:
            variable = (BACK, body) if kind == TURN and e < 0 else (kind, body)
            for _ in range(abs(e)):
                term = _times(term, forms[variable])
        for key, value in term.items():
            result[key] = result.get(key, 0.0) + value
    return result


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for m, c in a.items():
        for n, d in b.items():
            key = tuple(sorted((*m, *n)))
            result[key] = result.get(key, 0.0) + c * d
    return result


def _scaled(f: Polynomial) -> Polynomial:
    """The largest coefficient made one; without what is rounding against it, and nothing if all is fulfilled."""
    largest = max(map(abs, f.values()), default=0.0)
    if largest < UNCLOSED:
        return {}
    return {m: c / largest for m, c in f.items() if abs(c) > NEGLIGIBLE * largest}
