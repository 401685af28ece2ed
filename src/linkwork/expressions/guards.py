"""What a step in time may miss of an expression: where it switches, and operations that may be narrow."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from linkwork.expressions.evaluation import GRAPH, ordered
from linkwork.expressions.graph import ONE, ZERO, Expr, absolute, atan2, function, less, less_equal, select

DEGREE = 8  # of a power from which on it may be narrower than the polynomials by which methods follow a motion


def switch(node: Expr) -> Expr | None:
    """Return the expression at whose zeros a comparison changes, or min, max, abs or sign bend or jump."""
    if node.op in ("lt", "le", "min", "max"):
        return node.args[0] - node.args[1]
    return node.args[0] if node.op in ("sign", "abs", "atan2") else None


def freeze(outputs: Sequence[Expr], inputs: Iterable[Expr], signs: Mapping[Expr, Expr]) -> list[Expr]:
    """Hold comparisons on the side that `signs` give, by switching functions, where these are not zero.

    So a law is smooth along a step that began on that side, wherever its stages are; beyond, it goes on as it is there.
    A root that has a value has one there too, and so has one in a branch that is held while another would be taken.
    """
    found: dict[Expr, Expr] = {}
    for node in ordered(outputs, inputs):
        a, g = [found.get(x, x) for x in node.args], switch(node)
        if g is not None and g in signs:
            found[node] = on_side(node.op, signs[g], a)
        elif a != [*node.args]:
            if (within := _mirrored(node, a[0])) is not a[0]:
                a[0] = select(less(ZERO, _beyond(node, node.args[0])), node.args[0], within)
            elif node.op == "select" and a[0] is not node.args[0]:
                first = node.args[0]
                a[1:] = _with_roots(a[1], first), _with_roots(a[2], select(first, ZERO, ONE))
            found[node] = GRAPH[node.op](*a, *([node.table] if node.op == "spline" else []))
    return [found.get(y, y) for y in outputs]


def _is_root(node: Expr) -> bool:
    """Tell whether an operation has no value of negative numbers."""
    power = node.args[1] if node.op == "pow" else ONE
    return node.op in ("sqrt", "log") or (node.op == "pow" and not (power.is_constant and power.number % 1.0 == 0.0))


def _beyond(node: Expr, x: Expr) -> Expr:
    """Return what is positive where a root, or the angle of a sine or cosine, has no value of x."""
    return absolute(x) - ONE if node.op in ("asin", "acos") else -x


def _mirrored(node: Expr, x: Expr) -> Expr:
    """Return the argument x of such an operation, or beyond the ends of its values as far within; else x."""
    if node.op in ("asin", "acos"):
        return function("sign", x) * (ONE - absolute(_beyond(node, x)))
    return absolute(x) if _is_root(node) else x


def _with_roots(branch: Expr, is_taken: Expr) -> Expr:
    """Return a branch whose roots have values, of |x| in the place of x, also where it is not taken."""
    found: dict[Expr, Expr] = {}
    for node in ordered([branch]):
        a = [found.get(x, x) for x in node.args]
        a[:1] = [select(is_taken, x, _mirrored(node, x)) for x in a[:1]]
        if a != [*node.args]:
            found[node] = GRAPH[node.op](*a, *([node.table] if node.op == "spline" else []))
    return found.get(branch, branch)


def on_side(op: str, side: Expr, a: Sequence[Expr]) -> Expr:
    """Return a comparison on a side of the zero of its switching function g, or as it is if `side` is zero.

    Where g has no value it has none either.
    """
    if op == "atan2":  # goes on across its jump
        return select(side, side * (0.5 * math.pi - atan2(a[1], side * a[0])), atan2(*a))
    g = a[0] if op in ("sign", "abs") else a[0] - a[1]
    g = select(side, side * (1 + less(g, ZERO)), g)
    if op in ("min", "max"):
        return select(less(g, ZERO), *(a if op == "min" else reversed(a)))
    if op == "abs":
        return select(less(g, ZERO), -a[0], a[0])
    return function("sign", g) if op == "sign" else (less if op == "lt" else less_equal)(g, ZERO)


def narrow(nodes: Iterable[Expr], varying: Container[Expr]) -> Iterator[Expr]:
    """Find, arguments before their users, the nodes that may change much faster than what they depend on.

    exp, tanh, atan, atan2, roots and tables; reciprocals, of log x that of x; and powers, however they are written:
    x^200, (x^2)^100, x*x*x*... A power that is a factor of a higher one is seen with it, a root with what it divides.
    """
    factors: dict[Expr, Counter[Expr]] = {}
    found: dict[Expr, Expr] = {}
    divisors: set[Expr] = set()
    for node in nodes:
        if node not in varying:
            continue
        a = node.args
        factors[node] = own = Counter({node: 1})
        if node.op == "mul":
            own = factors[node] = factors.get(a[0], Counter()) + factors.get(a[1], Counter())
        elif node.op == "pow" and a[1].is_constant and a[1].number >= 1.0:
            own = factors[node] = Counter({x: n * a[1].number for x, n in factors[a[0]].items()})
        divisor = a[-1] if node.op in ("div", "log") else None
        if divisor is not None and divisor in varying:
            found[node] = ONE / divisor
            divisors.update([divisor], divisor.args if divisor.op == "max" else [])
        elif node.op == "sqrt":
            found[node] = ONE / node
        elif node.op in ("exp", "tanh", "atan", "atan2", "spline") or (node.op == "pow" and own[node]):
            found[node] = node
        elif node.op in ("mul", "pow") and max(own.values(), default=0) >= DEGREE:
            for x in a:
                found.pop(x, None)
            found[node] = node
    yield from dict.fromkeys(x for node, x in found.items() if not (node.op == "sqrt" and node in divisors))


def dependent(nodes: Iterable[Expr], on: Iterable[Expr]) -> set[Expr]:
    """Return those of the nodes, arguments before their users, that depend on some symbols."""
    found = set(on)
    for node in nodes:
        if any(a in found for a in node.args):
            found.add(node)
    return found
