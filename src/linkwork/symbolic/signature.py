"""Whether an expression is identically zero, decided by its values modulo a prime at random points.

Rational operations are done exactly in the field of P elements. A sine and a cosine are the coordinates of a point on
the circle s^2 + c^2 = 1 over that field: every angle gets a random point, sums and whole multiples of angles the
products of points, so that the relations between them hold by themselves. The circle is a group of 2^61 points, so that
every point is three times, five times, ... exactly one other: thirds and tenths of angles have points too. Square roots
are roots in the field where there is one; elsewhere, and where a denominator vanishes, a point says nothing. All other
functions are random numbers, equal for equal arguments [monagan1993]. Numbers are the shortest decimals that name them,
so that 0.1 is a tenth.

An expression without roots that is not zero, a quotient of polynomials of degree d, has the value zero at a random
point with probability d / P at most [schwartz1980]: with P = 2^61 - 1, d below 10^6 and four points below 10^-49. The
field knows no positive root, so that sqrt(9 x) may be -3 sqrt(x) there: with roots, a zero counts only if values in
floating point at random places agree. The value of a rational expression that is zero is zero at every point that says
something; where none does, it counts as not zero. On a variety, given by polynomials that each have a leading symbol in
which those before it are not, points are found by drawing all other symbols and taking a zero of each polynomial.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import pi
from random import Random
from typing import Any

import numpy as np

from linkwork.expressions.evaluation import numpy_arithmetic
from linkwork.expressions.graph import Expr
from linkwork.symbolic.hierarchy import Hierarchy, Memory
from linkwork.symbolic.modular import P, zero_of
from linkwork.tolerances import EPSILON

POINTS = 4
POINTS_OF_VARIETY = 24  # a factor of a constraint with half of its zeros is missed with probability 2^-24
MOST_TRIED = 16  # points for each at which all is defined
FINEST = 2**10  # angles are multiples of the angle at whose point they start, divided by this and small odd numbers
LARGEST_ODD = 10**3  # number by which the angles of a mechanism are divided
MOST_TURNS = 2**20  # steps of an angle: 1,024 turns of it, more than gears have
MOST_FACTORS = 64  # of a product that is taken apart; a longer one is taken whole
PLACES = 256  # at which zeros with roots are confirmed


def decimal(value: float) -> Fraction:
    """Return the shortest decimal number that is read as this one."""
    return Fraction(repr(float(value)))


def residue(value: float) -> int:
    """Return the decimal number in the field."""
    numerator, denominator = decimal(value).as_integer_ratio()
    return numerator * pow(denominator, -1, P) % P


def _quotient(a: int, b: int) -> int | None:
    return a * pow(b, -1, P) % P if b else None


def _root(a: int) -> int | None:
    root = pow(a, (P + 1) // 4, P)
    return root if root * root % P == a else None


RATIONAL: dict[str, Callable[..., int | None]] = {
    "add": lambda a, b: (a + b) % P,
    "sub": lambda a, b: (a - b) % P,
    "mul": lambda a, b: a * b % P,
    "neg": lambda a: -a % P,
    "div": _quotient,
    "sqrt": _root,
    "cos": lambda z: z[0],
    "sin": lambda z: z[1],
    "tan": lambda z: _quotient(z[1], z[0]),
}
OTHERS = ("asin", "acos", "atan", "exp", "log", "tanh", "abs", "sign", "atan2", "pow", "min", "max", "lt", "le")

Turn = tuple[int, int]


def _turned(a: Turn, b: Turn) -> Turn:
    return (a[0] * b[0] - a[1] * b[1]) % P, (a[0] * b[1] + a[1] * b[0]) % P


def _has_steps(factor: Fraction) -> bool:
    """Tell whether a multiple of an angle is a whole one of the angle divided by FINEST and a small odd number."""
    steps = factor * FINEST
    return steps.denominator % 2 == 1 and steps.denominator <= LARGEST_ODD and abs(steps.numerator) <= MOST_TURNS


def _steps(factor: Fraction) -> int:
    """Return how often an angle divided by FINEST makes this multiple of the angle, modulo the P + 1 points of the
    circle.
    """
    steps = factor * FINEST
    return steps.numerator * pow(steps.denominator, -1, P + 1) % (P + 1)


def _coefficient(node: Expr) -> Fraction:
    """Return the number by which a product of few factors is multiplied: 2 of 2 x y."""
    number, waiting = Fraction(1), [(node, 1)]
    for factor, power in waiting:
        if factor.is_constant and factor.number:
            number *= decimal(factor.number) ** power
        elif factor.op in ("mul", "div") and len(waiting) < MOST_FACTORS:
            waiting += [(factor.args[0], power), (factor.args[1], power if factor.op == "mul" else -power)]
    return number


def _times(z: Turn, n: int) -> Turn:
    result = (1, 0)
    while n:
        if n & 1:
            result = _turned(result, z)
        z, n = _turned(z, z), n >> 1
    return result


def angles(expr: Expr, definitions: Mapping[Expr, Expr]) -> dict[Expr | None, Fraction]:
    """Return the angle as a sum of multiples of parts; the key None stands for a number."""
    terms: dict[Expr | None, Fraction] = {}
    waiting = [(expr, Fraction(1))]
    while waiting:
        node, factor = waiting.pop()
        if node in definitions:
            waiting.append((definitions[node], factor))
        elif node.op in ("add", "sub"):
            waiting += [(node.args[0], factor), (node.args[1], factor if node.op == "add" else -factor)]
        elif node.op == "neg":
            waiting.append((node.args[0], -factor))
        elif node.op == "mul" and node.args[0].is_constant:
            waiting.append((node.args[1], factor * decimal(node.args[0].number)))
        elif node.op == "div" and node.args[1].is_constant:
            waiting.append((node.args[0], factor / decimal(node.args[1].number)))
        elif node.is_constant:
            terms[None] = terms.get(None, Fraction(0)) + factor * decimal(node.number)
        else:
            terms[node] = terms.get(node, Fraction(0)) + factor
    return terms


class _Point(Memory):
    """Values at one random point."""

    def __init__(self, hierarchy: Hierarchy, random: Random) -> None:
        self.random = random
        self._drawn: dict[tuple[object, ...], int] = {}
        self._turns: dict[int, dict[Fraction, Turn]] = {}  # of each angle, of multiples that have no common part
        table: dict[str, Callable[..., Any]] = {
            name: lambda *a, f=f: None if None in a else f(*a) for name, f in RATIONAL.items()
        }
        table |= {name: lambda *a, name=name: self._draw(name, *a) for name in OTHERS}
        table["select"] = lambda c, a, b: a if a == b else self._draw("select", c, a, b)
        table["spline"] = lambda x, data: self._draw("spline", x, hash(data))
        table["angle"] = self._turn
        super().__init__(hierarchy, table, residue, lambda symbol: self._draw("symbol", symbol.value))

    def _draw(self, *key: object) -> int | None:
        """Draw a random number, the same for the same key."""
        if None in key:
            return None
        if key not in self._drawn:
            self._drawn[key] = self.random.randrange(1, P)
        return self._drawn[key]

    def _turn(self, angle: Expr) -> Turn | None:
        """Return (cos, sin) of an angle."""
        turn = (1, 0)
        for part, factor in angles(angle, self.hierarchy.definitions).items():
            if part is None:
                quarters = float(factor) / (pi / 2)
                if quarters == round(quarters):
                    turn = _turned(turn, _times((0, 1), round(quarters) % 4))
                    continue
            own = Fraction(1) if part is None else _coefficient(part)
            value = 1 if part is None else self(part)
            if value is None:
                return None
            value, factor = value * own.denominator * pow(own.numerator, -1, P) % P, factor * own
            known = self._turns.setdefault(value, {})
            base = next((base for base in known if _has_steps(factor / base)), None)
            if base is None:
                base = Fraction(1) if _has_steps(factor) else factor
                known[base] = self._random_turn()
            turn = _turned(turn, _times(known[base], _steps(factor / base)))
        return turn

    def _random_turn(self) -> Turn:
        """Return ((1 - u^2) / (1 + u^2), 2 u / (1 + u^2)); -1 is not a square, so that no denominator vanishes."""
        u = self.random.randrange(1, P)
        below = pow(1 + u * u, -1, P)
        return (1 - u * u) * below % P, 2 * u * below % P


def _with_errors(f: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """Return the operation on pairs of a value and a bound of its error: each argument is moved by its own, away
    from zero.
    """

    def bounded(*pairs: tuple[Any, Any]) -> tuple[Any, Any]:
        values = [value for value, _ in pairs]
        result = f(*values)
        error = 4 * EPSILON * abs(result)
        for k, (value, own) in enumerate(pairs):
            error = error + abs(f(*values[:k], value + np.copysign(own, value), *values[k + 1 :]) - result)
        return result, error

    return bounded


class _Places(Memory):
    """Values in floating point at random places, in the first half of them all symbols positive, with error bounds."""

    def __init__(self, hierarchy: Hierarchy, random: Random) -> None:
        draw = np.random.default_rng(random.randrange(P))

        def drawn(_: Expr) -> tuple[Any, float]:
            signs = np.where(np.arange(PLACES) < PLACES // 2, 1.0, draw.choice([-1.0, 1.0], PLACES))
            return signs * draw.uniform(0.5, 1.5, PLACES), 0.0

        table = {name: _with_errors(f) for name, f in numpy_arithmetic().items()}
        cubic = numpy_arithmetic()["spline"]
        table["spline"] = lambda x, data: _with_errors(lambda at: cubic(at, data))(x)
        super().__init__(hierarchy, table, lambda value: (np.float64(value), 4 * EPSILON * abs(value)), drawn)

    def confirm(self, expr: Expr) -> bool:
        """Tell whether the value is zero but for rounding wherever there is one."""
        with np.errstate(all="ignore"):
            value, error = self(expr)
        told = np.isfinite(value) & np.isfinite(error)
        return bool(np.any(told) and np.all(abs(value)[told] <= np.broadcast_to(error, told.shape)[told]))


class Signature:
    """The zero test, for expressions in the symbols of a hierarchy and any others.

    `on` are leading symbols, each with the coefficients of a polynomial in it that vanishes; `nonzero` does not.
    """

    def __init__(
        self,
        hierarchy: Hierarchy | None = None,
        seed: int = 0,
        on: Sequence[tuple[Expr, Sequence[Expr]]] = (),
        nonzero: Sequence[Expr] = (),
    ) -> None:
        self._hierarchy = hierarchy or Hierarchy()
        self._random = Random(seed)
        self._points: list[_Point | None] = []
        self._on, self._nonzero = on, nonzero
        self._places = _Places(self._hierarchy, Random(seed))
        names = (*RATIONAL, *OTHERS, "select", "spline")
        having: dict[str, Callable[..., bool]] = dict.fromkeys(names, lambda *parts: True in parts)
        having["sqrt"] = lambda _: True
        self._has_root = Memory(self._hierarchy, having, lambda _: False, lambda _: False)

    def is_zero(self, expr: Expr) -> bool:
        """Tell whether the value is zero at as many points as needed that say something, of those that are tried."""
        zeros, needed = 0, POINTS_OF_VARIETY if self._on else POINTS
        for k in range(MOST_TRIED * needed):
            if k == len(self._points):
                self._points.append(self._point())
            point = self._points[k]
            value = point(expr) if point else None
            if value:
                return False
            zeros += value is not None
            if zeros == needed:
                break
        return zeros > 0 and (not self._has_root(expr) or self._places.confirm(expr))

    def _point(self) -> _Point | None:
        """Return a random point of the variety; None where a polynomial has no zero there, or something vanishes."""
        point = _Point(self._hierarchy, self._random)
        for leader, coefficients in self._on:
            values = [point(own) for own in coefficients]
            zero = None if None in values else zero_of(values, self._random)
            if zero is None:
                return None
            point.known[leader] = zero
        return None if any(point(own) == 0 for own in self._nonzero) else point
