"""Units followed through formulas: what is added or compared is of one kind, and sine takes no length.

A number without unit is in SI units of any kind, and so are an angle, a ratio, a sine, and the product of one with
anything: 80*sin(2*t) and start + t are right as they stand. Only what is made of quantities with units alone is known,
and parts of parameters: l/2 is a length, whole numbers of parts being numbers. Only formulas with a parameter that has
a unit are looked at: the force -rod.vx has a factor of one left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from linkwork.errors import ModelError
from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import Expr
from linkwork.expressions.guards import dependent
from linkwork.units import ANGLE, KINDS, Kind, parse_unit

SUMS = ("symbol", "add", "sub", "neg")  # of which a part is of the same kind
Exponents: TypeAlias = tuple[Fraction | int, ...]  # of kg, m, s and A

ALIKE = ("add", "sub", "min", "max", "select", "lt", "le", "atan2")  # "select" has a condition in front
OF_NUMBERS = ("sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "tanh")


def exponents_of(unit: str) -> Exponents | None:
    """Return the exponents of kg, m, s and A; None where all are zero, since a radian may be left out."""
    found = parse_unit(unit).exponents[:-1]
    return found if any(found) else None


def follow(
    text: str,
    expression: Expr,
    declared: Mapping[Expr, Exponents | None],
    measured: Mapping[Expr, Exponents | None],
    kind: Kind | None,
) -> Exponents | None:
    """Find the unit of an expression; raise ModelError where kinds differ in a sum or comparison, or from `kind`.

    `declared` are the parameters with units, `measured` time, coordinates and velocities.
    """
    nodes = ordered([expression])
    if declared.keys().isdisjoint(nodes):
        return None
    known, moving = {**measured, **declared}, dependent(nodes, measured)
    found: dict[Expr, Exponents | None] = {}
    for node in nodes:
        # sin(t/2) has left its rate out, and the inertia a^2/12 a mass of one.
        if (whole := _part_of(node)) is not None and whole.op in SUMS and whole not in moving:
            found[node] = found[whole]
        else:
            found[node] = _combine(text, node, [found[a] for a in node.args]) if node.args else known.get(node)
    expected = None if kind is None else exponents_of(kind.unit)
    own = found[expression]
    if own is not None and (expected not in (None, own) or (kind == ANGLE and any(own[:2]))):  # as for sin(t)
        called = _called(expected) if expected else "an angle"
        raise ModelError(f"'{text}' is {_called(own)}, not {called}", "unit-mismatch", value=text)
    return own


def _part_of(node: Expr) -> Expr | None:
    """Return x for a part of x such as x/2, x/12 or 0.5*x; 9.81*m and 2*x may be of any kind."""
    if node.op == "div" and node.args[1].is_constant and float(node.args[1].number).is_integer():
        return node.args[0]
    if node.op == "mul":
        for part, whole in (node.args, node.args[::-1]):
            if part.is_constant and part.number and abs(part.number) < 1.0 and (1.0 / part.number).is_integer():
                return whole
    return None


def _combine(text: str, node: Expr, args: Sequence[Exponents | None]) -> Exponents | None:
    """Find the unit of a node from those of its arguments; None means unknown."""
    first, *others = args
    if node.op in ALIKE:
        sure = [x for x in (others if node.op == "select" else args) if x is not None]
        if len(set(sure)) > 1:
            message = f"'{text}' puts {_called(sure[0])} and {_called(sure[1])} together"
            hint = "check the formula; a parameter without unit is a number of any kind"
            raise ModelError(message, "unit-mismatch", value=text, suggestion=hint)
        return sure[0] if sure and node.op not in ("lt", "le", "atan2") else None
    if node.op in OF_NUMBERS and first is not None and any(first[:2]):  # sin(t) has left its rate out
        raise ModelError(f"'{text}' takes the {node.op} of {_called(first)}", "unit-mismatch", value=text)
    if node.op == "pow":
        power, (unit,) = node.args[1], others
        if unit is not None and any(unit[:2]):
            raise ModelError(f"'{text}' has {_called(unit)} as an exponent", "unit-mismatch", value=text)
        return tuple(x * Fraction(power.number) for x in first) if first and power.op == "constant" else None
    if first is None or None in others:
        return None
    exponents: Exponents = ()
    if node.op in ("neg", "abs"):
        exponents = first
    elif node.op in ("mul", "div"):
        sign = 1 if node.op == "mul" else -1
        exponents = tuple(x + sign * y for x, y in zip(first, others[0] or (), strict=True))
    elif node.op == "sqrt":
        exponents = tuple(x / Fraction(2) for x in first)
    return exponents if any(exponents) else None


def _called(exponents: Exponents | None) -> str:
    named = next((kind.name for kind in KINDS if exponents_of(kind.unit) == exponents), None)
    if named is not None:
        return f"{'an' if named[0] in 'aeiou' else 'a'} {named}"
    parts = [
        f"{unit}^{float(n):g}" if n != 1 else unit
        for unit, n in zip(("kg", "m", "s", "A"), exponents or (), strict=True)
        if n
    ]
    return f"a quantity in {' '.join(parts)}"
