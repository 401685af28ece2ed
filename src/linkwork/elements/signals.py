"""What goes in and out of a mechanism by name, and states of first order beside its motion.

inputs     u, which stands in formulas of forces, rates, outputs and events
outputs    y = formula of t, q, v, states, inputs and results
states     zd = rate(t, q, v, z, u),    z = start where the run begins
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from linkwork.elements.kinds import Coordinate
from linkwork.elements.vectors import Scalar
from linkwork.expressions.evaluation import ordered, substitute
from linkwork.expressions.graph import Expr, symbol

OUTPUT, STATE, INPUT = "output:", "state:", "input:"  # in front of their names in results, of outputs in formulas


@dataclass(frozen=True, eq=False)
class InputSignal:
    """A value from outside: of a parameter of its name, or a formula of time and motion.

    With `every` it is sampled: the formula is evaluated at multiples of this time, and held in between. One that
    `is_open` must be given before a run.
    """

    name: str
    unit: str = "1"
    formula: Expr | None = None
    every: Scalar | None = None
    is_open: bool = False

    @property
    def follows(self) -> bool:
        """Return whether its formula holds at all times."""
        return self.formula is not None and self.every is None


@dataclass(frozen=True, eq=False)
class OutputSignal:
    """A formula that is a result, in a unit of its own."""

    name: str
    formula: Expr
    unit: str = "1"


@dataclass(frozen=True, eq=False)
class StateSignal:
    """A state of first order; `scale` is by what its error is measured."""

    name: str
    rate: Expr
    start: Scalar = 0.0
    unit: str = "1"
    scale: Scalar = 1.0


@dataclass(frozen=True)
class StateCoordinate(Coordinate):
    """One of q that no velocity moves: a state of first order, which has a rate of its own."""

    of_unit: str

    @property
    def unit(self) -> str:
        return self.of_unit


def output_symbol(name: str) -> Expr:
    return symbol(f"{OUTPUT}{name}")


def formulas_of(inputs: Iterable[InputSignal], outputs: Iterable[OutputSignal]) -> dict[Expr, Expr]:
    """Return the formulas that symbols stand for in other formulas."""
    following = {symbol(x.name): x.formula for x in inputs if x.formula is not None and x.follows}
    return following | {output_symbol(x.name): x.formula for x in outputs}


def _in_order(formulas: Mapping[Expr, Expr]) -> TopologicalSorter[Expr]:
    """Return each formula behind those that it needs."""
    return TopologicalSorter({x: formulas.keys() & {*ordered([formula])} for x, formula in formulas.items()})


def find_loop(formulas: Mapping[Expr, Expr]) -> list[str]:
    """Find a cycle of formulas, each of which needs the next; return their names, or nothing."""
    try:
        _in_order(formulas).prepare()
    except CycleError as error:
        return [str(x.value) for x in error.args[1][::-1]]
    return []


def resolve(formulas: Mapping[Expr, Expr], known: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
    """Return the formulas, of which some need others, in the letters of what is known alone."""
    found = dict[Expr, Expr]()
    for x in _in_order(formulas).static_order():
        found[x] = substitute([formulas[x]], {**known, **found})[0]
    return found
