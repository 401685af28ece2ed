"""Splitting off what depends on parameters only, to be computed once instead of at every evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from linkwork.expressions.evaluation import ordered, substitute
from linkwork.expressions.graph import ONE, Expr, div, mul

CYCLES = {"div": 13, "sqrt": 20, "sin": 50, "cos": 50}  # of a processor; of sums and products about 4


def made_of(outputs: Iterable[Expr], parameters: Sequence[Expr]) -> set[Expr]:
    """Return the parameters, and all nodes made of them and constants alone."""
    fixed = set(parameters)
    for node in ordered(outputs):
        if node.args and all(a.op == "constant" or a in fixed for a in node.args):
            fixed.add(node)
    return fixed


def order_products(outputs: Sequence[Expr], inputs: Sequence[Expr], parameters: Sequence[Expr]) -> list[Expr]:
    """Multiply what depends on parameters alone first, which is then done once, and of the rest what is had first.

    p (q x) = (p q) x and x/p = (1/p) x; a (b c) = (a b) c where c is had last and b c is needed nowhere else. Rounding
    is all that changes by it: sums, whose terms may cancel, stay as they are.
    """
    fixed, given = made_of(outputs, parameters), {*inputs}
    nodes = ordered(outputs, given)
    uses = Counter([*outputs, *(a for node in nodes for a in node.args)])
    new, split, time = dict[Expr, Expr](), dict[Expr, tuple[Expr, Expr]](), dict[Expr, int]()

    def ready(x: Expr) -> int:
        """Count the cycles until a node is had, about."""
        if x not in time:
            time[x] = 0 if x in fixed or x in given or not x.args else CYCLES.get(x.op, 4) + max(map(ready, x.args))
        return time[x]

    def factors(node: Expr) -> list[Expr]:
        return [
            y for a in node.args for y in (factors(a) if a.op == "mul" and uses[a] == 1 and a not in given else [a])
        ]

    def multiply(parts: Iterable[Expr]) -> Expr:
        known, others = [ONE], list[Expr]()
        for x in parts:
            (known if x.op == "constant" or x in fixed else others).append(x)
        if len(known) > 1 and others:
            first = min((x for x in others if x in split), key=ready, default=others[0])
            if first in split:
                others[others.index(first)] = split[first][1]
                known.append(split[first][0])
        factor = known[0]
        for x in known[1:]:
            factor = mul(factor, x)
        fixed.add(factor)
        others.sort(key=ready)
        if not others:
            return factor
        product = mul(factor, others[0])
        if factor is not ONE and len(others) == 1:
            split[product] = factor, others[0]
        for x in others[1:]:
            product = mul(product, x)
        return product

    for node in nodes:
        own = [new.get(a, a) for a in node.args]
        if node.op == "constant" or not node.args or node in fixed:
            new[node] = node
        elif node.op == "mul":
            new[node] = multiply(new.get(x, x) for x in factors(node))
        elif node.op == "div" and node.args[1] in fixed:
            new[node] = multiply([div(ONE, own[1]), own[0]])
        elif own == [*node.args]:
            new[node] = node
        else:
            (new[node],) = substitute([node], dict(zip(node.args, own, strict=True)))
        ready(new[node])
    return [new.get(y, y) for y in outputs]


def parameter_frontier(outputs: Iterable[Expr], parameters: Sequence[Expr]) -> list[Expr]:
    """Return the nodes made of parameters and constants alone that other nodes, or the outputs, use directly."""
    outputs = list(outputs)
    fixed = made_of(outputs, parameters)
    frontier: dict[Expr, None] = {}
    for node in ordered(outputs):
        if node not in fixed:
            frontier.update(dict.fromkeys(a for a in node.args if a in fixed))
    frontier.update(dict.fromkeys(y for y in outputs if y in fixed))
    return list(frontier)
