"""Rational functions in a normal form: enough algebra to write a small result the way a person would.

A polynomial is a sum of monomials with exact coefficients over atoms: symbols, and functions such as cos(x), which are
nodes of the graph. sin(x)^2 becomes 1 - cos(x)^2 and sqrt(P)^2 becomes P, so a polynomial in these that vanishes has no
terms. A ratio of two polynomials is shortened by common monomials and wherever one divides the other, not by
general common factors. Beyond MAX_TERMS the attempt ends with TooLong: a reader would not follow either.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import combinations
from operator import add, mul
from typing import TypeAlias

from linkwork.expressions import graph
from linkwork.expressions.evaluation import RING, evaluate, ordered
from linkwork.expressions.graph import Expr
from linkwork.writing import printers
from linkwork.writing.notation import Applied, Formula, Number, Product, Quotient, Symbol, number, raise_to

MAX_TERMS = 20  # of a sum that is multiplied out: longer ones nobody reads
MAX_DIGITS = 40  # of a numerator or denominator

Monomial: TypeAlias = tuple[tuple[Expr, int], ...]  # atoms in the order of their places, with exponents > 0


class TooLong(Exception):
    """An expression with more terms than anyone would read."""


def _times(a: Monomial, b: Monomial) -> Monomial:
    exponents = dict(a)
    for atom, e in b:
        exponents[atom] = exponents.get(atom, 0) + e
    return _monomial(exponents)


def _collect(terms: Iterable[tuple[Monomial, Fraction]]) -> Polynomial:
    """Return the sum of terms, of which several may have the same monomial."""
    total: dict[Monomial, Fraction] = {}
    for monomial, c in terms:
        total[monomial] = total.get(monomial, Fraction(0)) + c
    return Polynomial({monomial: c for monomial, c in total.items() if c})


def _monomial(exponents: dict[Expr, int]) -> Monomial:
    return tuple(sorted(((atom, e) for atom, e in exponents.items() if e), key=lambda pair: pair[0].place))


def degree(monomial: Monomial) -> int:
    return sum(e for _, e in monomial)


@dataclass(frozen=True)
class Polynomial:
    """Coefficients by monomial, none of them zero."""

    terms: Mapping[Monomial, Fraction]

    def __post_init__(self) -> None:
        if len(self.terms) > MAX_TERMS:
            raise TooLong

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __add__(self, other: Polynomial) -> Polynomial:
        return _collect([*self.terms.items(), *other.terms.items()])

    def __neg__(self) -> Polynomial:
        return self.scale(Fraction(-1))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __mul__(self, other: Polynomial) -> Polynomial:
        if len(self.terms) * len(other.terms) > 4 * MAX_TERMS:
            raise TooLong
        return _collect(
            (monomial, x * y * c)
            for a, x in self.terms.items()
            for b, y in other.terms.items()
            for monomial, c in _reduce(_times(a, b)).terms.items()
        )

    def scale(self, factor: Fraction) -> Polynomial:
        return Polynomial({monomial: factor * c for monomial, c in self.terms.items()})

    @property
    def constant(self) -> Fraction | None:
        """The number this polynomial is, None if it is not one."""
        if not self.terms:
            return Fraction(0)
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def atoms(self) -> set[Expr]:
        return {atom for monomial in self.terms for atom, _ in monomial}

    def exchange(self, angle: Expr) -> Polynomial:
        """Return the same with cos(angle)^2 written as 1 - sin(angle)^2; not the normal form, but it may be shorter."""
        sin, cos = graph.sin(angle), graph.cos(angle)
        terms = []
        for monomial, c in self.terms.items():
            exponents = dict(monomial)
            e = exponents.pop(cos, 0)
            if e % 2:
                exponents[cos] = 1
            for k in range(e // 2 + 1):
                power = _monomial({**exponents, sin: exponents.get(sin, 0) + 2 * k})
                terms.append((power, c * math.comb(e // 2, k) * (-1) ** k))
        return _collect(terms)


NOTHING = Polynomial({})
UNIT = Polynomial({(): Fraction(1)})


@lru_cache(maxsize=4096)
def _reduce(monomial: Monomial) -> Polynomial:
    """Return the monomial with sin(x)^2 = 1 - cos(x)^2 and sqrt(P)^2 = P applied."""
    for atom, e in monomial:
        if e < 2 or atom.op not in ("sin", "sqrt"):
            continue
        if atom.op == "sin":
            cos = graph.cos(atom.args[0])
            square = Polynomial({(): Fraction(1), ((cos, 2),): Fraction(-1)})
        else:
            inside = rational(atom.args[0])
            if inside.below != UNIT:
                continue
            square = inside.above
        rest = _monomial({**dict(monomial), atom: e - 2})
        return _reduce(rest) * square
    return Polynomial({monomial: Fraction(1)})


def _leading(p: Polynomial, atoms: Sequence[Expr]) -> Monomial:
    """Return the largest monomial, compared by degree and then exponent by exponent."""

    def order(monomial: Monomial) -> tuple[int, ...]:
        exponents = dict(monomial)
        return (degree(monomial), *(exponents.get(atom, 0) for atom in atoms))

    return max(p.terms, key=order)


def quotient(a: Polynomial, b: Polynomial) -> Polynomial | None:
    """Return a / b where that is a polynomial, else None."""
    if b == UNIT:
        return a
    if b.constant is not None:
        return a.scale(1 / b.constant)
    atoms = sorted(a.atoms | b.atoms, key=lambda atom: atom.place)
    lead = _leading(b, atoms)
    rest, result = a, NOTHING
    for _ in range(MAX_TERMS):
        if not rest:
            return result
        top = _leading(rest, atoms)
        ratio = _times(top, tuple((atom, -e) for atom, e in lead))
        if any(e < 0 for _, e in ratio):
            return None
        term = Polynomial({ratio: rest.terms[top] / b.terms[lead]})
        result = result + term
        rest = rest - term * b
    return None


def common_factor(*polynomials: Polynomial) -> Monomial:
    """Return the largest monomial that divides all terms."""
    monomials = [dict(monomial) for p in polynomials for monomial in p.terms]
    return _monomial({node: min(m.get(node, 0) for m in monomials) for node in monomials[0]})


def without(p: Polynomial, factor: Monomial) -> Polynomial:
    """Divide by a monomial that divides all terms."""
    common = dict(factor)
    return Polynomial({_monomial({x: e - common.get(x, 0) for x, e in m}): c for m, c in p.terms.items()})


def _without_common(a: Polynomial, b: Polynomial) -> tuple[Polynomial, Polynomial]:
    common = common_factor(a, b)
    return without(a, common), without(b, common)


def content(p: Polynomial) -> Fraction:
    """Return the number by which the coefficients become whole, without a common factor."""
    numbers = p.terms.values()
    return Fraction(math.gcd(*(c.numerator for c in numbers)), math.lcm(*(c.denominator for c in numbers)))


def _angles(p: Polynomial) -> set[Expr]:
    return {atom.args[0] for atom in p.atoms if atom.op in ("sin", "cos")}


@dataclass(frozen=True)
class Rational:
    """above / below."""

    above: Polynomial
    below: Polynomial = UNIT

    @staticmethod
    def of(above: Polynomial, below: Polynomial) -> Rational:
        """Return the fraction, shortened."""
        if not below:
            raise ZeroDivisionError
        if not above:
            return ZERO
        if (whole := quotient(above, below)) is not None:
            return Rational(whole)
        if (inverse := quotient(below, above)) is not None:
            above, below = UNIT, inverse
        above, below = _without_common(above, below)
        for angle in sorted(_angles(above) & _angles(below), key=lambda node: node.place):
            # common factors sin(angle)^2 are hidden in the normal form
            above, below = _without_common(above.exchange(angle), below.exchange(angle))
            above, below = above * UNIT, below * UNIT
        # whole coefficients below without a common factor, the constant one or else the first positive
        atoms = sorted(below.atoms, key=lambda atom: atom.place)
        sign = -1 if below.terms.get((), below.terms[_leading(below, atoms)]) < 0 else 1
        by = sign * content(below)
        numbers = [*above.terms.values(), by]
        if any(max(abs(c.numerator), c.denominator) > 10**MAX_DIGITS for c in numbers):
            raise TooLong
        return Rational(above.scale(1 / by), below.scale(1 / by))

    def __bool__(self) -> bool:
        return bool(self.above)

    def __add__(self, other: Rational) -> Rational:
        if self.below == other.below:
            return Rational.of(self.above + other.above, self.below)
        if (factor := quotient(self.below, other.below)) is not None:
            return Rational.of(self.above + other.above * factor, self.below)
        if (factor := quotient(other.below, self.below)) is not None:
            return Rational.of(self.above * factor + other.above, other.below)
        return Rational.of(self.above * other.below + other.above * self.below, self.below * other.below)

    def __neg__(self) -> Rational:
        return Rational(-self.above, self.below)

    def __sub__(self, other: Rational) -> Rational:
        return self + -other

    def __mul__(self, other: Rational) -> Rational:
        if not self or not other:
            return ZERO
        crossed = Rational.of(self.above, other.below), Rational.of(other.above, self.below)
        return Rational.of(crossed[0].above * crossed[1].above, crossed[0].below * crossed[1].below)

    def __truediv__(self, other: Rational) -> Rational:
        if not other:
            raise ZeroDivisionError
        return self * Rational.of(other.below, other.above)

    @property
    def constant(self) -> Fraction | None:
        return self.above.constant if self.below == UNIT else None

    @property
    def terms(self) -> int:
        return len(self.above.terms) + len(self.below.terms) - 1

    def value(self, values: Mapping[Expr, float]) -> float:
        """Return the number this is at these values of the symbols."""
        atoms = sorted(self.above.atoms | self.below.atoms, key=lambda atom: atom.place)
        at = dict(zip(atoms, evaluate(atoms, values), strict=True))

        def total(p: Polynomial) -> float:
            return math.fsum(float(c) * math.prod(at[atom] ** e for atom, e in m) for m, c in p.terms.items())

        return total(self.above) / total(self.below)


ZERO = Rational(NOTHING)
ONE = Rational(UNIT)


def atom(node: Expr) -> Rational:
    return Rational(_reduce(((node, 1),)))


def rational(expr: Expr, found: dict[Expr, Rational] | None = None) -> Rational:
    """Return the expression in normal form; what is not made by + - * / stays as it is, as an atom.

    `found` keeps the forms of its parts for the next expression.
    """
    found = {} if found is None else found
    for node in ordered([expr]) if expr not in found else ():
        if node in found:
            continue
        if node.op == "constant":
            found[node] = Rational(Polynomial({(): Fraction(node.number)} if node.number else {}))
        elif node.op in RING:
            found[node] = RING[node.op](*[found[part] for part in node.args])
        elif node.op in ("sin", "cos"):
            plain, sign = _plain(node)
            found[node] = Rational(Polynomial({((plain, 1),): sign}))
        else:
            found[node] = Rational(Polynomial({((node, 1),): Fraction(1)}))
    return found[expr]


def _plain(turned: Expr) -> tuple[Expr, Fraction]:
    """Return sin(x) or cos(x) of x = -y by that of y, and its sign; y is what has not minus signs alone."""
    (x,) = turned.args
    if x.is_constant:
        return turned, Fraction(1)
    try:
        found = rational(x)
    except TooLong:
        return turned, Fraction(1)
    if found.below != UNIT or any(c > 0 for c in found.above.terms.values()):
        return turned, Fraction(1)
    y = expression(-found.above)
    return (graph.sin(y), Fraction(-1)) if turned.op == "sin" else (graph.cos(y), Fraction(1))


def expression(p: Polynomial) -> Expr:
    """Return the polynomial as a node of the graph."""
    total = graph.ZERO
    for monomial, c in p.terms.items():
        product = graph.constant(float(c))
        for factor, e in monomial:
            product = product * factor**e
        total = total + product
    return total


def root(x: Rational) -> Rational:
    """Return the positive square root."""

    def of(p: Polynomial) -> Rational:
        c = p.constant
        if c is not None and c >= 0:
            a, b = math.isqrt(c.numerator), math.isqrt(c.denominator)
            if Fraction(a, b) ** 2 == c:
                return Rational(Polynomial({(): Fraction(a, b)} if a else {}))
        return Rational(Polynomial({((graph.sqrt(expression(p)), 1),): Fraction(1)}))

    return of(x.above) / of(x.below)


# Formulas


def formula(x: Rational, names: Mapping[Expr, Formula], inner: dict[Expr, Formula] | None = None) -> Formula:
    """Return the fraction as it is written; factors stand in the order of `names`, functions after them.

    `inner` keeps what stands in functions: roots of roots hold much of it twice, and other fractions again.
    """
    inner = {} if inner is None else inner
    above, below = (_gather(_shorten(p), names) for p in (x.above, x.below))
    if below == UNIT:
        return _sum(above, names, inner)
    signs = [all(c < 0 for c in p.terms.values()) for p in (above, below)]
    shown = Quotient(*(_sum(-p if minus else p, names, inner) for p, minus in zip((above, below), signs, strict=True)))
    return -shown if signs[0] != signs[1] else shown


def _shorten(p: Polynomial) -> Polynomial:
    """Return the polynomial with squares of sines instead of cosines where that saves terms."""
    for angle in sorted(_angles(p), key=lambda node: node.place):
        other = p.exchange(angle)
        if len(other.terms) < len(p.terms):
            p = other
    return p


def _gather(p: Polynomial, names: Mapping[Expr, Formula]) -> Polynomial:
    """Gather products of sines and cosines by the addition theorems where two terms make one."""
    angles = _angles(p)
    known = [node for node in names if node in angles]
    others = sorted(angles - set(known), key=lambda node: node.place)
    for x, y in combinations([*known, *others], 2):
        sin_x, cos_x, sin_y, cos_y = graph.sin(x), graph.cos(x), graph.sin(y), graph.cos(y)
        rules = [  # first c + second d: for d = -c and for d = c
            ((sin_x, cos_y), (cos_x, sin_y), graph.sin(x - y), graph.sin(x + y)),
            ((cos_x, cos_y), (sin_x, sin_y), graph.cos(x + y), graph.cos(x - y)),
        ]
        for first, second, opposite, equal in rules:
            terms = dict(p.terms)
            for monomial, c in p.terms.items():
                exponents = dict(monomial)
                if any(exponents.get(node, 0) != 1 for node in first) or monomial not in terms:
                    continue
                rest = {node: e for node, e in exponents.items() if node not in first}
                if any(node in rest for node in second):
                    continue
                partner = _monomial({**rest, second[0]: 1, second[1]: 1})
                if abs(terms.get(partner, Fraction(0))) == abs(c):
                    plain, sign = _plain(equal if terms[partner] == c else opposite)
                    gathered = _monomial({**rest, plain: 1})
                    del terms[monomial], terms[partner]
                    terms[gathered] = terms.get(gathered, Fraction(0)) + sign * c
            p = Polynomial({monomial: c for monomial, c in terms.items() if c})
    return p


def _sum(p: Polynomial, names: Mapping[Expr, Formula], inner: dict[Expr, Formula]) -> Formula:
    """Return a positive number, then the other positive terms, then the negative ones; higher degrees first."""
    place = {node: k for k, node in enumerate(names)}

    def factors(monomial: Monomial) -> list[tuple[Expr, int]]:
        return sorted(monomial, key=lambda pair: (place.get(pair[0], len(place)), pair[0].op == "cos", pair[0].place))

    def order(monomial: Monomial) -> tuple[bool, bool, int, list[int]]:
        sizes = [place.get(node, len(place)) for node, _ in factors(monomial)]
        return p.terms[monomial] < 0, monomial != (), -degree(monomial), sizes

    def term(monomial: Monomial) -> Formula:
        c = p.terms[monomial]
        parts = [_power(node, e, names, inner) for node, e in factors(monomial)]
        if abs(c) != 1 or not parts:
            parts.insert(0, _coefficient(abs(c)))
        product = reduce(mul, parts)
        return -product if c < 0 else product

    return reduce(add, map(term, sorted(p.terms, key=order))) if p.terms else Number("0")


def _coefficient(c: Fraction) -> Formula:
    near = c.limit_denominator(1000)
    if float(near) == float(c):  # 1/12 of a formula is the double next to it
        c = near
    if c.denominator == 1:
        return Number(str(c.numerator))
    if c.denominator <= 1000:
        return Quotient(Number(str(c.numerator)), Number(str(c.denominator)))
    exact = printers.formula(graph.constant(float(c)), ())
    return exact if isinstance(exact, Product | Symbol | Quotient) else number(float(c), 10)  # 2 pi, pi/3


def _power(node: Expr, e: int, names: Mapping[Expr, Formula], inner: dict[Expr, Formula]) -> Formula:
    if node not in names:
        for a in node.args:
            if a not in inner:
                inner[a] = formula(rational(a), names, inner)
    base = names.get(node) or printers.formula(node, [inner[a] for a in node.args])
    if isinstance(base, Applied) and len(node.args) == 1 and node.args[0] in names:
        base = Applied(base.function, names[node.args[0]])  # cos q
    return raise_to(base, Number(str(e))) if e > 1 else base
