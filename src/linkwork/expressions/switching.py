"""Where expressions switch or are sharp: functions at whose zeros they jump, bend or peak, and their zeros in time."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.expressions.derivatives import directional
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic, ordered
from linkwork.expressions.graph import ONE, ZERO, Expr

Array = NDArray[np.float64]

# Points of the grids on which sign changes are looked for: denser ones until no more are found. No size divides
# another, so that what repeats itself in time does not look the same on two of them.
GRIDS = (4001, 16411, 65537, 262147, 1048583)
MOST_CROSSINGS = 100_000
HALVINGS = 60  # of an interval of the grid: down to neighbouring doubles


def switch(node: Expr) -> Expr | None:
    """The expression at whose zeros a comparison changes, or min, max, abs or sign bend or jump."""
    if node.op in ("lt", "le", "min", "max"):
        return node.args[0] - node.args[1]
    return node.args[0] if node.op in ("sign", "abs", "atan2") else None


def bumps(node: Expr, varying: Container[Expr]) -> Iterator[Expr]:
    """Expressions b around whose zeros a smooth operation may be a narrow bump that no step would see.

    exp(-b^2), 1/(1 + b^2), 1 - tanh(b)^2, 1/cosh(b) and products and powers of these; `varying` are expressions of time
    or state. Where an exponent, or what has a high power, is no such square, b is itself and, if it is of one variable,
    its derivative; of a divisor such as a polynomial it is the derivative.
    """
    if (g := _exponent(node, varying)) is not None:
        yield from _tops(g, varying)
    elif (divisor := _divisor(node)) in varying:
        for factor in _factors(divisor):
            terms = _terms(factor)
            moving = [term for term in terms if term in varying]
            if 0 < len(moving) < len(terms):
                turns = len(moving) > 1 or _without_factors(moving[0], varying).op in ("cos", "sin")
                yield from (turns and _slope(factor, varying)) or _roots(terms)
    elif _is_square(node) and node.args[0].op == "tanh":
        yield node.args[0].args[0]
    elif (base := _base(node)) is not None:
        yield from _tops(base, varying)


def _base(node: Expr) -> Expr | None:
    """What is squared more than twice."""
    depth = 0
    while _is_square(node):
        node, depth = node.args[0], depth + 1
    return node if depth > 2 else None


def _exponent(node: Expr, varying: Container[Expr]) -> Expr | None:
    return node.args[-1] if node.op in ("exp", "pow") and node.args[-1] in varying else None


def _divisor(node: Expr) -> Expr:
    """What a quotient or a negative power divides by, else zero."""
    if node.op == "div":
        return node.args[1]
    is_negative = node.op == "pow" and node.args[1].op == "constant" and node.args[1].value < 0.0
    return node.args[0] if is_negative else ZERO


def _tops(g: Expr, varying: Container[Expr]) -> list[Expr]:
    roots = [[*_roots([term])] for term in _terms(g) if term in varying]
    return [b for found in roots for b in found] if all(roots) else [*_slope(g, varying), g]


def _slope(g: Expr, varying: Container[Expr]) -> list[Expr]:
    """The derivative of g, if it is of one variable and not constant."""
    symbols = [x for x in ordered([g]) if x.op == "symbol" and x in varying]
    if len(symbols) != 1:
        return []
    slopes = directional([g], {symbols[0]: ONE})
    return slopes if symbols[0] in ordered(slopes) else []


def _is_square(node: Expr) -> bool:
    return node.op == "mul" and node.args[0] is node.args[1]


def _terms(node: Expr) -> list[Expr]:
    if node.op in ("add", "sub"):
        return [term for a in node.args for term in _terms(a)]
    return _terms(node.args[0]) if node.op == "neg" else [node]


def _factors(node: Expr) -> list[Expr]:
    if node.op in ("mul", "div"):
        return [factor for a in dict.fromkeys(node.args) for factor in _factors(a)]
    return _factors(node.args[0]) if node.op in ("neg", "pow") else [node]


def _roots(terms: Iterable[Expr]) -> Iterator[Expr]:
    """What is squared in the factors of the terms."""
    for term in terms:
        if _is_square(term):
            inner = [*_roots([term.args[0]])]
            yield from inner or [term.args[0]]
        elif term.op == "pow":
            yield from [*_roots([term.args[0]])] or [term.args[0]]
        elif term.op in ("mul", "div"):
            yield from _roots(term.args)
        elif term.op == "sqrt":
            yield from _roots(_terms(term.args[0]))


def find_peaks(nodes: Iterable[Expr], varying: Container[Expr]) -> list[Expr]:
    """The zeros of `bumps` of all nodes but those at which friction changes its sign, tanh(b/c), and so is seen.

    Smooth steps, tanh or atan, that differ by a shift make a bump where one ends what the other has begun.
    """
    steps = {node.args[0]: _without_factors(node.args[0], varying) for node in nodes if node.op in ("tanh", "atan")}
    squared = {node.args[0].args[0] for node in nodes if _is_square(node) and node.args[0].op == "tanh"}
    found = [b for node in nodes if node in varying for b in bumps(node, varying)]
    found = [b for b in found if b in squared or _without_factors(b, varying) not in steps.values()]
    kinds: dict[frozenset[Expr], set[Expr]] = {}
    for b in steps.values():
        kinds.setdefault(_without_shift(b, varying), set()).add(b)
    return found + [b for b, step in steps.items() if b in varying and len(kinds[_without_shift(step, varying)]) > 1]


def _without_shift(x: Expr, varying: Container[Expr]) -> frozenset[Expr]:
    """The terms of x that vary, without factors, however these are nested."""
    terms = [_without_factors(term, varying) for term in _terms(x) if term in varying]
    return _without_shift(terms[0], varying) if len(terms) == 1 and terms[0] is not x else frozenset(terms)


def _without_factors(x: Expr, varying: Container[Expr]) -> Expr:
    """x without abs and factors that do not vary."""
    if x.op in ("abs", "neg"):
        return _without_factors(x.args[0], varying)
    moving = [a for a in x.args if a in varying]
    return _without_factors(moving[0], varying) if x.op in ("mul", "div") and len(moving) == 1 else x


def is_sharp(node: Expr, varying: Container[Expr]) -> bool:
    """Whether the operation may be a bump narrower than its arguments vary, at a place that `bumps` do not tell."""
    if (g := _exponent(node, varying)) is not None:
        return _tops(g, varying) == [g]
    return _base(node) is not None


def dependent(nodes: Iterable[Expr], on: Iterable[Expr]) -> set[Expr]:
    """Those of the nodes, arguments before their users, that depend on some symbols."""
    found = set(on)
    for node in nodes:
        if any(a in found for a in node.args):
            found.add(node)
    return found


def sampled(f: Expr, time: Expr, given: Mapping[Expr, Any]) -> Callable[[Array], Array]:
    """A function of time alone, for many times at once."""

    def at(t: Array) -> Array:
        with np.errstate(all="ignore"):
            values = evaluate([f], {**given, time: t}, numpy_arithmetic())[0]
        return np.broadcast_to(np.asarray(values, dtype=float), t.shape)

    return at


def crossings(g: Callable[[Array], Array], t: Array) -> list[float]:
    """Times within the grid at which g changes sign, by bisection: the first double behind each change."""
    signs = np.sign(g(t))
    before = np.flatnonzero(signs[:-1] != signs[1:])[:MOST_CROSSINGS]
    a, b, left = t[before], t[before + 1], signs[before]
    for _ in range(HALVINGS if len(before) else 0):
        middle = 0.5 * (a + b)
        same = np.sign(g(middle)) == left
        a, b = np.where(same, middle, a), np.where(same, b, middle)
    return [float(x) for x in b if 0 < x < t[-1]]


def all_crossings(g: Callable[[Array], Array], t_end: float) -> list[float]:
    """The sign changes of g from 0 to t_end, on a grid that shows as many as the one before it."""
    count = -1
    for size in GRIDS:
        t = np.linspace(0.0, t_end, size)
        signs = np.sign(g(t))
        last, count = count, int(np.count_nonzero(signs[:-1] != signs[1:]))
        if count == last:
            break
    return crossings(g, t)
