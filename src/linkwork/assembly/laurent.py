"""Arithmetic over which rows of Psi become polynomials in isotropic coordinates.

A body at (x, y, phi) has the isotropic coordinates z = x + i y, its mirror c = x - i y, and the turn
theta = exp(i phi), whose inverse is exp(-i phi). In them

    x = (z + c)/2,    y = (z - c)/(2 i),    cos phi = (theta + 1/theta)/2,    sin phi = (theta - 1/theta)/(2 i)

so that evaluating Psi over the three kinds of numbers below (polynomials `Poly`, angles that have not met a cosine yet,
and square roots) gives its polynomials, or NotPolynomialError where it is none.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from linkwork.expressions.evaluation import RING, Arithmetic, float_arithmetic
from linkwork.tolerances import AGREEMENT, NEGLIGIBLE

# (kind, body). In a polynomial the power -1 of a turn stands for its inverse; where unknowns are listed or have values,
# the inverse is a variable of its own, BACK.
PLACE, MIRROR, TURN, BACK = "place", "mirror", "turn", "back"
SHIFT = "shift"  # a displacement in space, which is real
CONJUGATE = {PLACE: MIRROR, MIRROR: PLACE, TURN: BACK, BACK: TURN, SHIFT: SHIFT}
Variable: TypeAlias = tuple[str, str]
Monomial: TypeAlias = tuple[tuple[Variable, int], ...]


class NotPolynomialError(Exception):
    """A row that is no polynomial in the isotropic coordinates."""


class _Number:
    """Differences and quotients by numbers, from sums and products."""

    __slots__ = ()
    __add__: Any
    __mul__: Any

    def __radd__(self, other: Any) -> Self:
        return self.__add__(other)  # type: ignore[no-any-return]

    def __rmul__(self, other: Any) -> Self:
        return self.__mul__(other)  # type: ignore[no-any-return]

    def __neg__(self) -> Self:
        return self.__mul__(-1.0)  # type: ignore[no-any-return]

    def __sub__(self, other: Any) -> Self:
        return self.__add__(-other)  # type: ignore[no-any-return]

    def __rsub__(self, other: Any) -> Self:
        return (-self).__add__(other)  # type: ignore[no-any-return]

    def __truediv__(self, other: Any) -> Self:
        if not isinstance(other, int | float):
            raise NotPolynomialError("a quotient")
        return self.__mul__(1.0 / other if other else math.nan)  # type: ignore[no-any-return]

    def __rtruediv__(self, other: Any) -> Self:
        raise NotPolynomialError("a quotient")


class Poly(_Number):
    """A polynomial in places and mirrors and in positive and negative powers of turns."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, complex]) -> None:
        self.terms = {m: c for m, c in terms.items() if c != 0}

    def __add__(self, other: Poly | complex) -> Poly:
        terms = dict(self.terms)
        for m, c in as_poly(other).terms.items():
            terms[m] = terms.get(m, 0.0) + c
        return Poly(terms)

    def __mul__(self, other: Poly | complex) -> Poly:
        terms: dict[Monomial, complex] = {}
        for m, c in self.terms.items():
            for n, d in as_poly(other).terms.items():
                product = _product(m, n)
                terms[product] = terms.get(product, 0.0) + c * d
        return Poly(terms)

    def conjugate(self) -> Poly:
        return Poly({_conjugate(m): c.conjugate() for m, c in self.terms.items()})

    def normalize(self, nothing: float) -> Poly:
        """Return the largest coefficient made one and what is rounding against it dropped.

        Zero if none is above `nothing`.
        """
        largest = max(map(abs, self.terms.values()), default=0.0)
        if largest < nothing:
            return Poly({})
        return Poly({m: c / largest for m, c in self.terms.items() if abs(c) > NEGLIGIBLE * largest})

    def variables(self) -> set[Variable]:
        return {v for m in self.terms for v, _ in m}

    def coefficient(self, variable: Variable) -> complex:
        return self.terms.get(((variable, 1),), 0.0)

    def substitute(self, forms: Mapping[Variable, Poly]) -> Poly:
        """Return polynomials in the place of variables; that of BACK for the inverse of a turn."""
        result = Poly({})
        for m, c in self.terms.items():
            product = Poly({(): c})
            for v, e in m:
                form = forms.get(v if e > 0 else (BACK, v[1]))
                for _ in range(abs(e) if form else 1):
                    product = product * (form or monomial(v, e))
            result = result + product
        return result

    def value(self, values: Mapping[Variable, complex]) -> complex:
        return complex(sum(c * math.prod(values[v] ** e for v, e in m) for m, c in self.terms.items()))


def as_poly(x: Poly | complex) -> Poly:
    if isinstance(x, Poly):
        return x
    if isinstance(x, int | float | complex):
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
    return tuple(sorted((v, -e) if v[0] == TURN else ((CONJUGATE[v[0]], v[1]), e) for v, e in m))


@dataclass(frozen=True)
class Angle(_Number):
    """sum of multiples of angles of bodies, plus a constant."""

    multiples: Mapping[str, float]
    constant: float = 0.0

    def __add__(self, other: Angle | float) -> Angle:
        if isinstance(other, int | float):
            return Angle(self.multiples, self.constant + other)
        if not isinstance(other, Angle):
            raise NotPolynomialError("an angle beside lengths")
        bodies = {**self.multiples, **other.multiples}
        total = {b: self.multiples.get(b, 0.0) + other.multiples.get(b, 0.0) for b in bodies}
        return Angle({b: m for b, m in total.items() if abs(m) > NEGLIGIBLE}, self.constant + other.constant)

    def __mul__(self, factor: float) -> Angle:
        if not isinstance(factor, int | float):
            raise NotPolynomialError("an angle times a coordinate")
        return Angle({b: m * factor for b, m in self.multiples.items()}, self.constant * factor)

    def turn(self) -> Poly:
        """Return exp(i angle)."""
        if any(abs(m - round(m)) > AGREEMENT for m in self.multiples.values()):
            raise NotPolynomialError("a fraction of an angle")
        exponents = tuple(sorted(((TURN, b), round(m)) for b, m in self.multiples.items()))
        return Poly({exponents: cmath.exp(1j * self.constant)})

    def cos(self) -> Poly:
        turn = self.turn()
        return (turn + turn.conjugate()) * 0.5

    def sin(self) -> Poly:
        turn = self.turn()
        return (turn - turn.conjugate()) * -0.5j

    def substitute(self, angles: Mapping[str, Angle]) -> Angle:
        """Return angles in the place of those of bodies."""
        result = Angle({}, self.constant)
        for body, m in self.multiples.items():
            result = result + angles.get(body, Angle({body: 1.0})) * m
        return result


@dataclass(frozen=True)
class Root(_Number):
    """factor sqrt(radicand) + offset: a driven distance."""

    radicand: Poly
    factor: float = 1.0
    offset: float = 0.0

    def __add__(self, other: float) -> Root:
        if not isinstance(other, int | float):
            raise NotPolynomialError("a distance beside coordinates")
        return Root(self.radicand, self.factor, self.offset + other)

    def __mul__(self, other: float) -> Root:
        if not isinstance(other, int | float):
            raise NotPolynomialError("a distance times a coordinate")
        return Root(self.radicand, self.factor * other, self.offset * other)

    def polynomial(self) -> Poly:
        """Return a polynomial that is zero where the root is.

        Its other sign is a zero too, which the caller sorts out.
        """
        return self.radicand - (self.offset / self.factor) ** 2


def arithmetic() -> Arithmetic:
    """Return numbers as they are; polynomials, angles and roots as far as the row stays polynomial."""
    floats = float_arithmetic()
    known: dict[str, Callable[..., Any]] = {
        **RING,
        "cos": lambda x: x.cos() if isinstance(x, Angle) else _refuse("a cosine of a coordinate"),
        "sin": lambda x: x.sin() if isinstance(x, Angle) else _refuse("a sine of a coordinate"),
        "sqrt": lambda x: Root(x) if isinstance(x, Poly) else _refuse("a root of an angle"),
    }

    def operation(op: str) -> Callable[..., Any]:
        def value(*arguments: Any) -> Any:
            if not any(isinstance(a, _Number) for a in arguments):
                return floats[op](*arguments)
            if op not in known:
                raise NotPolynomialError(f"'{op}' of a coordinate")
            return known[op](*arguments)

        return value

    return {op: operation(op) for op in floats}


def _refuse(what: str) -> Any:
    raise NotPolynomialError(what)
