"""Ordering a graph, evaluating it over any kind of number, and putting expressions in the place of symbols."""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any, cast

from linkwork.expressions import graph
from linkwork.expressions.graph import FUNCTIONS, Expr

Arithmetic = Mapping[str, Callable[..., Any]]

RING: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
}


def ordered(outputs: Iterable[Expr], given: Iterable[Expr] = ()) -> list[Expr]:
    """Order every node the outputs need beyond the given ones, arguments before their users, each once.

    Depth is limited by memory only. Given as a mapping, however many there are, only those met cost time.
    """
    known = given if isinstance(given, Mapping) else frozenset(given)
    seen: set[Expr] = set()
    sequence: list[Expr] = []
    stack: list[Expr | None] = []
    for output in outputs:
        stack.append(output)
        while stack:
            node = stack.pop()
            if node is None:  # all arguments of the one below are done
                sequence.append(cast(Expr, stack.pop()))
            elif node not in seen and node not in known:
                seen.add(node)
                if node.args:
                    stack += (node, None, *node.args[::-1])
                else:
                    sequence.append(node)
    return sequence


def _cubic(d: Any, c0: Any, c1: Any, c2: Any, c3: Any) -> tuple[Any, ...]:
    """Return c0 + c1 d + c2 d^2 + c3 d^3 and its derivatives."""
    return c0 + d * (c1 + d * (c2 + d * c3)), c1 + d * (2 * c2 + d * 3 * c3), 2 * c2 + 6 * d * c3, 6 * c3


@cache
def float_arithmetic() -> Arithmetic:
    """Compute with floats as IEEE 754 does where Python raises: infinite at a pole or beyond range, else NaN."""

    def total(f: Callable[[float], float]) -> Callable[[float], float]:
        def value(x: float) -> float:
            try:
                return f(x)
            except ValueError:
                return math.nan

        return value

    def quotient(a: float, b: float) -> float:
        return a / b if b else a * math.copysign(math.inf, b)

    def exp(x: float) -> float:
        try:
            return math.exp(x)
        except OverflowError:
            return math.inf

    def power(a: float, b: float) -> float:
        try:
            return math.pow(a, b)
        except OverflowError:
            pass
        except ValueError:
            if a:
                return math.nan
        return math.copysign(math.inf, a) if b % 2 == 1 else math.inf

    def cubic(x: float, data: Any) -> float:
        knots, coefficients, order = data
        i = min(max(bisect_right(knots, x) - 1, 0), len(coefficients) - 1)
        d = x - knots[i]
        return float(_cubic(d, *coefficients[i])[order])

    functions = {name: total(getattr(math, name)) for name in FUNCTIONS if name not in ("abs", "sign")}
    return {
        **RING,
        **functions,
        "div": quotient,
        "pow": power,
        "exp": exp,
        "log": lambda x: functions["log"](x) if x else -math.inf,
        "abs": abs,
        "sign": lambda x: float(x > 0) - float(x < 0) if x == x else x,
        "atan2": math.atan2,
        "min": lambda a, b: a if a < b or a != a else b,
        "max": lambda a, b: a if a > b or a != a else b,
        "lt": lambda a, b: float(a < b) if a == a and b == b else math.nan,
        "le": lambda a, b: float(a <= b) if a == a and b == b else math.nan,
        "select": lambda c, a, b: (a if c != 0 else b) if c == c else c,
        "spline": cubic,
    }


@cache
def numpy_arithmetic() -> Arithmetic:
    """Compute with NumPy arrays; of complex arguments the real part alone decides signs, as complex steps need."""
    import numpy as np

    def cubic(x: Any, data: Any) -> Any:
        knots, coefficients, order = data
        c = np.array(coefficients)
        i = np.clip(np.searchsorted(knots, np.real(x), side="right") - 1, 0, len(c) - 1)
        d = x - np.array(knots)[i]
        return _cubic(d, *np.moveaxis(c[i], -1, 0))[order]

    return {
        **RING,
        "div": np.divide,
        "pow": np.power,
        **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sqrt", "exp", "log", "tanh")},
        "abs": lambda x: np.where(np.signbit(np.real(x)), -x, x),
        "sign": lambda x: np.sign(np.real(x)),
        **{name: getattr(np, name.replace("a", "arc", 1)) for name in ("asin", "acos", "atan")},
        "atan2": np.arctan2,
        "min": lambda a, b: np.where((np.real(a) < np.real(b)) | np.isnan(a), a, b),
        "max": lambda a, b: np.where((np.real(a) > np.real(b)) | np.isnan(a), a, b),
        "lt": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, np.less(np.real(a), np.real(b))),
        "le": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, np.less_equal(np.real(a), np.real(b))),
        "select": lambda c, a, b: np.where(np.isnan(c), c, np.where(np.not_equal(c, 0), a, b)),
        "spline": cubic,
    }


class Known(dict[Expr, Any]):
    """What is computed, and behind it what is given, of which there may be far more than is needed."""

    def __init__(self, given: Mapping[Expr, Any]) -> None:
        self.given = given

    def __missing__(self, node: Expr) -> Any:
        return self.given[node]


def evaluate(
    outputs: Iterable[Expr],
    values: Mapping[Expr, Any],
    arithmetic: Arithmetic | None = None,
    constant: Callable[[float], Any] = float,
) -> list[Any]:
    """Return the outputs at the given values of their symbols.

    `arithmetic` maps operations to functions (Python floats unless given) and `constant` makes a number of that kind
    from a float; so intervals, residues modulo a prime or anything with + - * / can be used. A symbol without a value
    is an error unless `arithmetic` has an entry for symbols.
    """
    outputs = list(outputs)
    table = float_arithmetic() if arithmetic is None else arithmetic
    result = Known(values)
    for node in ordered(outputs, values):
        if node.op == "constant":
            result[node] = constant(node.number)
        elif node.op == "symbol":
            if "symbol" not in table:
                raise KeyError(f"no value for '{node.value}'")
            result[node] = table["symbol"](node)
        elif node.op == "spline":
            result[node] = table["spline"](result[node.args[0]], node.table)
        else:
            result[node] = table[node.op](*[result[a] for a in node.args])
    return [result[y] for y in outputs]


# An operation on floats: the place of its result, the function, the places of up to three arguments.
Step = tuple[int, Callable[..., float], int | None, int | None, int | None]


class Tape:
    """Operations in their order, found once to be done again and again; on floats unless another arithmetic is given.

    Every node has a place in a list of values, which begins as `blank`: the inputs first, in their order.
    """

    def __init__(
        self, inputs: Iterable[Expr] = (), outputs: Sequence[Expr] = (), arithmetic: Arithmetic | None = None
    ) -> None:
        self.arithmetic = arithmetic or float_arithmetic()
        self.places: dict[Expr, int] = {}
        self.blank: list[float] = []
        for node in inputs:
            self.place(node)
        self.steps = self.write(outputs)
        self.found = [self.places[y] for y in outputs]

    def place(self, node: Expr, value: float = math.nan) -> int:
        if node not in self.places:
            self.places[node] = len(self.blank)
            self.blank.append(value)
        return self.places[node]

    def write(self, outputs: Iterable[Expr]) -> list[Step]:
        """Return steps to these outputs beyond what has a place already."""
        table, steps = self.arithmetic, list[Step]()
        for node in ordered(outputs, self.places):
            if node.op == "constant":
                self.place(node, node.number)
            elif node.op == "symbol":
                raise KeyError(f"no value for '{node.value}'")
            else:
                f = partial(_on_table, table["spline"], node.table) if node.op == "spline" else table[node.op]
                a, b, c, *_ = (*(self.places[x] for x in node.args), None, None)
                steps.append((self.place(node), f, a, b, c))
        return steps

    def __call__(self, values: Iterable[Any]) -> list[Any]:
        """Return the outputs at these values of the inputs."""
        r = [*values]
        r += self.blank[len(r) :]
        play(self.steps, r)
        return [r[k] for k in self.found]


def play(steps: Iterable[Step], r: list[Any]) -> None:
    """Evaluate the steps on these values."""
    for k, f, a, b, c in steps:
        if b is None:
            r[k] = f(r[a])  # type: ignore[index]
        else:
            r[k] = f(r[a], r[b]) if c is None else f(r[a], r[b], r[c])  # type: ignore[index]


def _on_table(spline: Callable[[Any, Any], Any], table: Any, x: Any) -> Any:
    return spline(x, table)


GRAPH: Arithmetic = {
    **{name: partial(graph.function, name) for name in FUNCTIONS},
    **{name: getattr(graph, name) for name in ("add", "sub", "mul", "div", "neg", "atan2", "select")},
    **{"pow": graph.power, "min": graph.minimum, "max": graph.maximum, "lt": graph.less, "le": graph.less_equal},
    "spline": lambda x, table: graph.spline(x, *table),
}
_SAME_SYMBOLS: Arithmetic = {**GRAPH, "symbol": lambda x: x}


def substitute(outputs: Iterable[Expr], replacements: Mapping[Expr, Expr]) -> list[Expr]:
    """Return the outputs with expressions in the place of nodes; what is not replaced stays shared."""
    return evaluate(outputs, replacements, _SAME_SYMBOLS, graph.constant)
