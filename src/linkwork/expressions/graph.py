"""Scalar expressions as a shared graph.

Every node exists once: building the same operation on the same arguments twice gives the same object (hash consing), so
equality is identity and common subexpressions are shared from the start. Constants are folded and the identities of
zero, one and the minus sign are applied while building; nothing else is simplified.
"""

from __future__ import annotations

import math
import operator
import zlib
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache, partial
from itertools import count
from threading import RLock
from typing import Any, TypeAlias, cast
from weakref import ref

Number: TypeAlias = "Expr | float"
SortKey: TypeAlias = tuple[int, str, str, int, int]
Table: TypeAlias = tuple[tuple[float, ...], tuple[tuple[float, ...], ...], int]

COMMUTATIVE = frozenset({"add", "mul", "min", "max"})
FUNCTIONS = ("sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "exp", "log", "tanh", "abs", "sign")
MAX_UNROLLED_POWER = 64  # multiplications by squaring are at most 11: cheaper and more accurate than pow

_serials = count()
_making = RLock()  # a node is entered and removed by one thread at a time: else it could exist twice


class Expr:
    """One node: an operation `op` on `args`; constants and symbols carry their number or name in `value`.

    `serial` counts nodes in the order of their making. `place` orders the arguments of commutative operations by what
    they are, not by when they were made, so that the same expressions give the same graph in every process, whatever
    was built or forgotten before.
    """

    __slots__ = ("__weakref__", "args", "op", "place", "serial", "value")
    op: str
    args: tuple[Expr, ...]
    value: Any
    serial: int
    place: SortKey

    def __add__(self, other: Number) -> Expr:
        return add(self, as_expr(other))

    def __radd__(self, other: Number) -> Expr:
        return add(as_expr(other), self)

    def __sub__(self, other: Number) -> Expr:
        return sub(self, as_expr(other))

    def __rsub__(self, other: Number) -> Expr:
        return sub(as_expr(other), self)

    def __mul__(self, other: Number) -> Expr:
        if not isinstance(other, (Expr, int, float)):
            return NotImplemented  # a vector knows how to take a factor
        return mul(self, as_expr(other))

    def __rmul__(self, other: Number) -> Expr:
        return mul(as_expr(other), self)

    def __truediv__(self, other: Number) -> Expr:
        return div(self, as_expr(other))

    def __rtruediv__(self, other: Number) -> Expr:
        return div(as_expr(other), self)

    def __pow__(self, other: Number) -> Expr:
        return power(self, as_expr(other))

    def __rpow__(self, other: Number) -> Expr:
        return power(as_expr(other), self)

    def __neg__(self) -> Expr:
        return neg(self)

    def __bool__(self) -> bool:
        raise TypeError("the truth of an expression is not known; use select(condition, a, b)")

    def __reduce__(self) -> tuple[Any, ...]:
        """Restore a copy, in this process or another, as the one node there."""
        return node, (self.op, self.args, self.value)

    def __repr__(self) -> str:
        from linkwork.writing.printers import text

        return text(self)

    @property
    def is_constant(self) -> bool:
        return self.op == "constant"

    @property
    def number(self) -> float:
        """The value of a constant."""
        assert isinstance(self.value, float)
        return self.value

    @property
    def table(self) -> Table:
        """Knots, coefficients and order of a spline."""
        assert self.op == "spline"
        return cast(Table, self.value)


class _Entry(ref[Expr]):
    """A node in the table, which does not keep it alive; `weakref.WeakValueDictionary` takes twice as long."""

    __slots__ = ("key",)
    key: tuple[object, ...]


_nodes: dict[tuple[object, ...], _Entry] = {}


def _remove(entry: _Entry) -> None:
    """Take a node that is gone from the table, unless it has been made again; may come at any moment, in any thread."""
    with _making:
        if _nodes.get(entry.key) is entry:
            del _nodes[entry.key]


def node(op: str, args: tuple[Expr, ...] = (), value: object = None) -> Expr:
    """Return the one node with this operation, arguments and value."""
    key = (op, value, args)
    entry = _nodes.get(key)
    if entry is not None and (known := entry()) is not None:
        return known
    made = Expr.__new__(Expr)
    made.op = op
    made.args = args
    made.value = value
    made.serial = next(_serials)
    made.place = _place(made)
    entry = _Entry(made, _remove)
    entry.key = key
    with _making:
        other = _nodes.get(key)
        if other is not None and (known := other()) is not None:
            return known
        _nodes[key] = entry
    return made


_LAST = 1 << 62  # behind all numbers of nodes


def _place(x: Expr) -> SortKey:
    """Return height, first name, operation, a number made from the content, and the serial should all these be equal.

    Constants come last. Python's hash of numbers, unlike that of text, is the same in every process.
    """
    op = x.op
    if op == "symbol":
        return 0, x.value, op, _number_of(x.value), x.serial
    if op == "constant":
        numerator, denominator = x.number.as_integer_ratio()
        return _LAST, "", op, hash((2 * numerator, denominator)), x.serial  # hash(-1) == hash(-2), hence the 2
    height, name, content = 0, "", [_number_of(op), hash(x.value) if op == "spline" else 0]
    for a in x.args:
        a_height, a_name, _, a_content, _ = a.place
        if height <= a_height < _LAST:
            height = a_height + 1
        name = name or a_name
        content.append(a_content)
    return height, name, op, hash(tuple(content)), x.serial


@lru_cache(maxsize=4096)
def _number_of(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "surrogatepass"))


def constant(value: float) -> Expr:
    value = float(value)
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be a constant of an expression")
    return node("constant", (), value + 0.0)


def symbol(name: str) -> Expr:
    """Return the symbol of this name; the same name is the same symbol."""
    return node("symbol", (), name)


def as_expr(x: Number) -> Expr:
    return x if isinstance(x, Expr) else constant(x)


ZERO = constant(0.0)
ONE = constant(1.0)
TWO = constant(2.0)
_kept = (ZERO, ONE, TWO)


_FOLD: dict[str, Callable[..., float]] = {
    **{name: getattr(math, name) for name in FUNCTIONS if name not in ("abs", "sign")},
    **{"abs": abs, "sign": lambda x: float((x > 0.0) - (x < 0.0)), "atan2": math.atan2, "min": min, "max": max},
    **{"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": math.pow},
    **{"lt": lambda a, b: float(a < b), "le": lambda a, b: float(a <= b)},
}
_OF_DECIMALS = frozenset({"add", "sub", "mul", "div"})


def _apply(op: str, *args: Expr) -> Expr:
    """Return the node, of constants its value; if that is not finite, the node stays and says so at run time."""
    for a in args:
        if a.op != "constant":
            return node(op, args)
    with suppress(ValueError, ZeroDivisionError, OverflowError):
        return constant(_folded(op, *[a.number for a in args]))
    return node(op, args)


def _folded(op: str, *numbers: float) -> float:
    """Return the value of a function of numbers; sums and products are those of decimals, where these end.

    0.2 * 0.2 is 0.04, and as a product of doubles 0.04000000000000001.
    """
    value = _FOLD[op](*numbers)
    if op in _OF_DECIMALS and not value.is_integer():
        decimal = _FOLD[op](*[Decimal(repr(x)) for x in numbers])
        if decimal == Decimal(repr(float(decimal))):
            return float(decimal)
    return value


def _without_minus(a: Expr) -> Expr | None:
    """Return -a where a is written with a leading minus sign (-x, -3, -3*x), else None."""
    if a.op == "neg":
        return a.args[0]
    if (a.op == "constant" and a.number < 0.0) or (
        a.op == "mul" and a.args[0].op == "constant" and a.args[0].number < 0.0
    ):
        return neg(a)
    return None


def add(a: Expr, b: Expr) -> Expr:
    if a is ZERO:
        return b
    if b is ZERO:
        return a
    if a is b:
        return mul(TWO, a)
    if a.place > b.place:
        a, b = b, a
    plus_a, plus_b = _without_minus(a), _without_minus(b)
    if plus_a is not None and (plus_b is None or a.op == "neg"):
        return sub(b, plus_a)
    if plus_b is not None:
        return sub(a, plus_b)
    return _apply("add", a, b)


def sub(a: Expr, b: Expr) -> Expr:
    if b is ZERO:
        return a
    if a is ZERO:
        return neg(b)
    if a is b:
        return ZERO
    plus_b = _without_minus(b)
    if plus_b is not None:
        return add(a, plus_b)
    if a.op == "neg":
        return neg(add(a.args[0], b))
    return _apply("sub", a, b)


def mul(a: Expr, b: Expr) -> Expr:
    if a.op == "constant":
        a, b = b, a
    if b.op == "constant":
        c = b.number
        if c == 0.0:
            return ZERO
        if c == 1.0:
            return a
        if c == -1.0:
            return neg(a)
        if a.op == "neg":
            return mul(a.args[0], constant(-c))
        if a.op == "mul" and a.args[0].op == "constant":
            product = _apply("mul", a.args[0], b)
            if product.op == "constant" and product is not ZERO:  # neither overflow nor underflow
                return mul(product, a.args[1])
        return _apply("mul", b, a)
    plus_a, plus_b = _without_minus(a), _without_minus(b)
    if plus_a is not None:
        return mul(plus_a, plus_b) if plus_b is not None else neg(mul(plus_a, b))
    if plus_b is not None:
        return neg(mul(a, plus_b))
    return node("mul", (a, b) if a.place <= b.place else (b, a))


def div(a: Expr, b: Expr) -> Expr:
    if a is ZERO and b is not ZERO:
        return ZERO
    if b.op == "constant" and abs(math.frexp(b.number)[0]) == 0.5 and math.isfinite(1.0 / b.number):
        return mul(a, constant(1.0 / b.number))  # the reciprocal of a power of two is exact
    if a is b and b is not ZERO:
        return ONE
    plus_a, plus_b = _without_minus(a), _without_minus(b)
    if plus_a is not None:
        return neg(div(plus_a, b))
    if plus_b is not None:
        return neg(div(a, plus_b))
    return _apply("div", a, b)


def neg(a: Expr) -> Expr:
    if a.op == "constant":
        return constant(-a.number)
    if a.op == "neg":
        return a.args[0]
    if a.op == "sub":
        return sub(a.args[1], a.args[0])
    if a.op == "mul" and a.args[0].op == "constant":
        return mul(constant(-a.args[0].number), a.args[1])
    return node("neg", (a,))


def power(a: Expr, b: Expr) -> Expr:
    """Return a^b; small whole exponents become products, which hold for every kind of number."""
    if b.op == "constant":
        n = b.number
        if n == 0.5:
            return sqrt(a)
        if n == int(n) and abs(n) <= MAX_UNROLLED_POWER:
            return _whole_power(a, int(n))
    return _apply("pow", a, b)


def _whole_power(a: Expr, n: int) -> Expr:
    if n < 0:
        return div(ONE, _whole_power(a, -n))
    result, square = ONE, a
    while n:
        if n & 1:
            result = mul(result, square)
        n >>= 1
        if n:
            square = mul(square, square)
    return result


_ODD = frozenset({"sin", "tan", "asin", "atan", "tanh", "sign"})
_EVEN = frozenset({"cos", "abs"})


def function(op: str, x: Number) -> Expr:
    """Return one of FUNCTIONS applied to x."""
    x = as_expr(x)
    if (op in _ODD or op in _EVEN) and (plus := _without_minus(x)) is not None:
        return neg(function(op, plus)) if op in _ODD else function(op, plus)
    return _apply(op, x)


sin, cos, tan, asin, acos, atan, sqrt, exp, log, tanh, absolute, sign = (partial(function, op) for op in FUNCTIONS)


def _binary(op: str, a: Number, b: Number) -> Expr:
    a, b = as_expr(a), as_expr(b)
    return _apply(op, b, a) if op in COMMUTATIVE and a.place > b.place else _apply(op, a, b)


# comparisons are 1 where they are true, else 0
atan2, minimum, maximum, less, less_equal = (partial(_binary, op) for op in ("atan2", "min", "max", "lt", "le"))


def select(condition: Number, a: Number, b: Number) -> Expr:
    """Return a where the condition is not zero, else b."""
    condition, a, b = as_expr(condition), as_expr(a), as_expr(b)
    if condition.op == "constant":
        return a if condition.number != 0.0 else b
    return a if a is b else node("select", (condition, a, b))


def spline(x: Number, knots: tuple[float, ...], coefficients: tuple[tuple[float, ...], ...], order: int = 0) -> Expr:
    """Return derivative number `order` of a piecewise cubic at x.

    On knots[i] <= x < knots[i+1] the value is sum_k coefficients[i][k] (x - knots[i])^k; the first and the last piece
    continue beyond the ends.
    """
    return ZERO if order > 3 else node("spline", (as_expr(x),), (knots, coefficients, order))
