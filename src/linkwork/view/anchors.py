"""The points of bodies as formulas of values, by which a live page moves its drawing when its reader changes one.

A page that computes knows values by their names; here is which points follow from them, as a list of steps: numbers,
names of values with what they are at first, and operations on earlier steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.elements.bodies import Ground
from linkwork.elements.vectors import Scalar
from linkwork.equations.parameters import Symbols
from linkwork.expressions.evaluation import evaluate, ordered
from linkwork.expressions.graph import Expr, as_expr
from linkwork.model import Model

OPERATIONS = ("add", "sub", "mul", "div", "neg", "pow", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "abs")


def anchors(model: Model) -> dict[str, Any]:
    """Return steps, and for each body, the ground first, its points from the mass centre as places among the steps."""
    made = Symbols(model)
    numbers = {body.name: k for k, body in enumerate(made.bodies)}
    points: list[list[tuple[Expr, ...]]] = [
        [_from_centre(body, s) for s in body.points.values()] for body in made.bodies
    ]
    joined = [*made.joints, *(driver.joint for driver in made.drivers if hasattr(driver, "joint")), *made.forces]
    for element in joined:
        own = (getattr(element, name) for name in ("s_i", "s_j", "s") if hasattr(element, name))
        for body, s in zip(getattr(element, "bodies", ()), own, strict=False):
            points[numbers[body.name]].append(_from_centre(made.bodies[numbers[body.name]], s))
    distinct = [list(dict.fromkeys(own)) for own in points]
    nodes = ordered([x for own in distinct for point in own for x in point])
    places = {node: k for k, node in enumerate(nodes)}
    values = dict(zip(nodes, evaluate(nodes, made.values), strict=True))
    return {
        "steps": [_step(node, places, values[node]) for node in nodes],
        "points": [[[places[x] for x in point] for point in own] for own in distinct],
    }


def _from_centre(body: Any, s: Sequence[Scalar]) -> tuple[Expr, ...]:
    own = [as_expr(x) for x in s]
    if not isinstance(body, Ground):
        own = [x - as_expr(c) for x, c in zip(own, body.mass_centre, strict=True)]
    return (*own, as_expr(0.0))[:3]


def _step(node: Expr, places: dict[Expr, int], value: float) -> Any:
    """Return a number, the name of a value as the page knows it, or an operation; None for what is none of these."""
    if node.op == "symbol":
        return [str(node.value).rstrip("'"), float(value)]
    if node.op in OPERATIONS:
        return {"op": node.op, "of": [places[x] for x in node.args]}
    return float(value)
