"""What a step in time may miss of an expression: where it switches, and operations that may be narrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator

from linkwork.expressions.graph import ONE, Expr

DEGREE = 8  # of a power from which on it may be narrower than the polynomials by which methods follow a motion


def switch(node: Expr) -> Expr | None:
    """The expression at whose zeros a comparison changes, or min, max, abs or sign bend or jump."""
    if node.op in ("lt", "le", "min", "max"):
        return node.args[0] - node.args[1]
    return node.args[0] if node.op in ("sign", "abs", "atan2") else None


def narrow(nodes: Iterable[Expr], varying: Container[Expr]) -> Iterator[Expr]:
    """Of the nodes, arguments before their users, quantities that may change much faster than what they depend on.

    exp, tanh, atan and tables; reciprocals; and powers, however they are written: x^200, (x^2)^100, x*x*x*... A power
    that is a factor of a higher one is seen with it.
    """
    factors: dict[Expr, Counter[Expr]] = {}
    found: dict[Expr, Expr] = {}
    for node in nodes:
        if node not in varying:
            continue
        a = node.args
        factors[node] = own = Counter({node: 1})
        if node.op == "mul":
            own = factors[node] = factors.get(a[0], Counter()) + factors.get(a[1], Counter())
        elif node.op == "pow" and a[1].is_constant and a[1].number >= 1.0:
            own = factors[node] = Counter({x: n * a[1].number for x, n in factors[a[0]].items()})
        divisor = a[1] if node.op == "div" else None
        if divisor is not None and divisor in varying:
            found[node] = ONE / divisor
        elif node.op in ("exp", "tanh", "atan", "spline") or (node.op == "pow" and own[node]):
            found[node] = node
        elif node.op in ("mul", "pow") and max(own.values(), default=0) >= DEGREE:
            for x in a:
                found.pop(x, None)
            found[node] = node
    yield from dict.fromkeys(found.values())


def dependent(nodes: Iterable[Expr], on: Iterable[Expr]) -> set[Expr]:
    """Those of the nodes, arguments before their users, that depend on some symbols."""
    found = set(on)
    for node in nodes:
        if any(a in found for a in node.args):
            found.add(node)
    return found
