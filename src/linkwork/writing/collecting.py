"""Products with equal factors brought together, as they are read: x a x is x^2 a."""

from __future__ import annotations

from collections.abc import Iterable

from linkwork.expressions.evaluation import GRAPH, evaluate, ordered
from linkwork.expressions.graph import Expr, constant


def collect_powers(exprs: Iterable[Expr]) -> list[Expr]:
    """Collect every repeated factor of a product next to its first occurrence, so that it becomes a power."""
    exprs = list(exprs)
    symbols = {node: node for node in ordered(exprs) if node.op == "symbol"}
    return evaluate(exprs, symbols, {**GRAPH, "mul": _multiply}, constant)


def _multiply(a: Expr, b: Expr) -> Expr:
    factors = [*_factors(a), *_factors(b)]
    kinds = dict.fromkeys(factors)
    if len(kinds) == len(factors):
        return a * b
    made = [[factor] * factors.count(factor) for factor in kinds]
    product: Expr | None = None
    for equal in made:
        power = equal[0]
        for factor in equal[1:]:
            power = power * factor
        product = power if product is None else product * power
    assert product is not None
    return product


def _factors(x: Expr) -> list[Expr]:
    return [*_factors(x.args[0]), *_factors(x.args[1])] if x.op == "mul" else [x]
