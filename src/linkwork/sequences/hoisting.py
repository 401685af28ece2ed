"""Splitting off what depends on parameters only, to be computed once instead of at every evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import Expr


def parameter_frontier(outputs: Iterable[Expr], parameters: Sequence[Expr]) -> list[Expr]:
    """Return the nodes made of parameters and constants alone that other nodes, or the outputs, use directly."""
    outputs = list(outputs)
    fixed: set[Expr] = set(parameters)
    frontier: dict[Expr, None] = {}
    for node in ordered(outputs):
        if node.args and all(a.op == "constant" or a in fixed for a in node.args):
            fixed.add(node)
        elif node.args:
            frontier.update(dict.fromkeys(a for a in node.args if a in fixed))
    frontier.update(dict.fromkeys(y for y in outputs if y in fixed))
    return list(frontier)
