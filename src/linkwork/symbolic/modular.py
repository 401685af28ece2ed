"""Zeros of polynomials over the field of P elements, as lists of their coefficients, lowest first; [] is zero."""

from __future__ import annotations

from itertools import zip_longest
from random import Random

P = 2**61 - 1  # a prime with P = 3 (mod 4), so that a^((P + 1) / 4) is a root of every square a

Coefficients = list[int]


def zero_of(f: Coefficients, random: Random) -> int | None:
    """Return a zero of f in the field, any of them; None where there is none, or where f is a number.

    The linear factors of f are those it shares with x^P - x; half of them, by chance, are shared with
    (x + r)^((P - 1)/2) - 1 [cantor1981].
    """
    f = _without_zeros(f)
    if len(f) > 2:
        f = _common(f, _difference(_power([0, 1], P, f), [0, 1]))
    while len(f) > 2:
        part = _common(f, _difference(_power([random.randrange(P), 1], (P - 1) // 2, f), [1]))
        f = part if 1 < len(part) < len(f) else f
    return -f[0] * pow(f[1], -1, P) % P if len(f) == 2 else None


def _without_zeros(f: Coefficients) -> Coefficients:
    n = len(f)
    while n and not f[n - 1]:
        n -= 1
    return f[:n]


def _difference(a: Coefficients, b: Coefficients) -> Coefficients:
    return _without_zeros([(x - y) % P for x, y in zip_longest(a, b, fillvalue=0)])


def _remainder(a: Coefficients, b: Coefficients) -> Coefficients:
    inverse = pow(b[-1], -1, P)
    while len(a) >= len(b):
        factor = a[-1] * inverse % P
        a = _difference(a, [0] * (len(a) - len(b)) + [factor * c % P for c in b])
    return a


def _product(a: Coefficients, b: Coefficients) -> Coefficients:
    total = [0] * (len(a) + len(b))
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            total[i + j] = (total[i + j] + x * y) % P
    return _without_zeros(total)


def _power(a: Coefficients, n: int, modulus: Coefficients) -> Coefficients:
    result = [1]
    for bit in f"{n:b}":
        result = _remainder(_product(result, result), modulus)
        if bit == "1":
            result = _remainder(_product(result, a), modulus)
    return result


def _common(a: Coefficients, b: Coefficients) -> Coefficients:
    """Return the greatest common divisor."""
    while b:
        a, b = b, _remainder(a, b)
    return a
