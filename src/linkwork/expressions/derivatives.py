"""Derivatives: directional, and sparse Jacobians, by inputs or by outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import (
    ONE,
    ZERO,
    Expr,
    cos,
    less,
    less_equal,
    log,
    power,
    select,
    sign,
    sin,
    spline,
    sqrt,
)


def _spline_slope(node: Expr) -> Expr:
    knots, coefficients, order = node.table
    return spline(node.args[0], knots, coefficients, order + 1)


# d f(a, b, ...) / d(argument): one entry per argument that can vary, evaluated only where that argument does. What
# compares does so by the switching function of the node itself, by which both are held on one side.
PARTIALS: dict[str, tuple[Callable[[Expr], Expr], ...]] = {
    "add": (lambda n: ONE, lambda n: ONE),
    "sub": (lambda n: ONE, lambda n: -ONE),
    "mul": (lambda n: n.args[1], lambda n: n.args[0]),
    "div": (lambda n: ONE / n.args[1], lambda n: -n / n.args[1]),
    "neg": (lambda n: -ONE,),
    "pow": (lambda n: n.args[1] * power(n.args[0], n.args[1] - 1), lambda n: n * log(n.args[0])),
    "sin": (lambda n: cos(n.args[0]),),
    "cos": (lambda n: -sin(n.args[0]),),
    "tan": (lambda n: 1 + n * n,),
    "asin": (lambda n: ONE / sqrt(1 - n.args[0] * n.args[0]),),
    "acos": (lambda n: -ONE / sqrt(1 - n.args[0] * n.args[0]),),
    "atan": (lambda n: ONE / (1 + n.args[0] * n.args[0]),),
    "atan2": (
        lambda n: n.args[1] / (n.args[0] * n.args[0] + n.args[1] * n.args[1]),
        lambda n: -n.args[0] / (n.args[0] * n.args[0] + n.args[1] * n.args[1]),
    ),
    "sqrt": (lambda n: 0.5 / n,),
    "exp": (lambda n: n,),
    "log": (lambda n: ONE / n.args[0],),
    "tanh": (lambda n: 1 - n * n,),
    "abs": (lambda n: sign(n.args[0]),),
    "sign": (lambda n: ZERO,),
    "min": (lambda n: less(n.args[0], n.args[1]), lambda n: 1 - less(n.args[0], n.args[1])),
    "max": (lambda n: 1 - less_equal(n.args[0], n.args[1]), lambda n: less_equal(n.args[0], n.args[1])),
    "lt": (lambda n: ZERO, lambda n: ZERO),
    "le": (lambda n: ZERO, lambda n: ZERO),
    "spline": (_spline_slope,),
}


def directional(outputs: Iterable[Expr], direction: Mapping[Expr, Expr]) -> list[Expr]:
    """Return d outputs / d(epsilon) along symbol -> symbol + epsilon * direction[symbol]; other symbols stay fixed."""
    outputs = list(outputs)
    nodes = ordered(outputs, direction)
    used = (a for node in nodes for a in node.args)
    rates = {x: direction[x] for x in (*outputs, *used) if x in direction}
    for node in nodes:
        if not node.args:
            continue
        if node.op == "select":
            a, b = rates.get(node.args[1], ZERO), rates.get(node.args[2], ZERO)
            rate = select(node.args[0], a, b)
        elif node.op == "div":  # (a' - n b') / b costs one division instead of two
            a, b = rates.get(node.args[0], ZERO), rates.get(node.args[1], ZERO)
            rate = (a - node * b) / node.args[1]
        else:
            rate = ZERO
            for argument, partial in zip(node.args, PARTIALS[node.op], strict=True):
                if (change := rates.get(argument)) is not None:
                    rate = rate + partial(node) * change
        if rate is not ZERO:
            rates[node] = rate
    return [rates.get(y, ZERO) for y in outputs]


def jacobian(
    outputs: Sequence[Expr], inputs: Sequence[Expr], known: Mapping[Expr, Mapping[int, Expr]] = MappingProxyType({})
) -> dict[tuple[int, int], Expr]:
    """Return the entries d outputs[i] / d inputs[j] that are not identically zero; of some nodes they may be known."""
    gradients: dict[Expr, Mapping[int, Expr]] = {**known, **{x: {j: ONE} for j, x in enumerate(inputs)}}
    for node in ordered(outputs):
        if node in gradients or not node.args:
            continue
        gradient: dict[int, Expr] = {}
        if node.op == "select":
            a, b = gradients.get(node.args[1], {}), gradients.get(node.args[2], {})
            gradient = {j: select(node.args[0], a.get(j, ZERO), b.get(j, ZERO)) for j in sorted(a.keys() | b.keys())}
        else:
            for argument, partial in zip(node.args, PARTIALS[node.op], strict=True):
                inner = gradients.get(argument)
                if inner:
                    slope = partial(node)
                    for j, change in inner.items():
                        gradient[j] = gradient.get(j, ZERO) + slope * change
        if gradient:
            gradients[node] = gradient
    return {
        (i, j): entry
        for i, y in enumerate(outputs)
        for j, entry in sorted(gradients.get(y, {}).items())
        if entry is not ZERO
    }


def gradients(outputs: Sequence[Expr], inputs: Sequence[Expr]) -> dict[tuple[int, int], Expr]:
    """Return what `jacobian` does, output by output from the end: so few outputs of many inputs cost less."""
    places, found = {x: j for j, x in enumerate(inputs)}, dict[tuple[int, int], Expr]()
    for i, y in enumerate(outputs):
        nodes = ordered([y], places)
        moves = set(places)  # what depends on the inputs
        moves.update(node for node in nodes if not moves.isdisjoint(node.args))
        weights: dict[Expr, Expr] = {y: ONE} if y in moves else {}
        for node in (*reversed(nodes), *inputs):
            weight = weights.pop(node, ZERO)
            if weight is ZERO:
                continue
            if node in places:
                found[i, places[node]] = weight
                continue
            for k, argument in enumerate(node.args):
                if argument not in moves:
                    continue
                if node.op == "select":
                    part = ZERO if k == 0 else select(node.args[0], *((weight, ZERO) if k == 1 else (ZERO, weight)))
                else:
                    part = PARTIALS[node.op][k](node) * weight
                weights[argument] = weights.get(argument, ZERO) + part
    return found
