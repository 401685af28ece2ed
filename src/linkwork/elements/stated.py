"""A system given by its equations instead of by bodies and joints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from linkwork.elements.kinds import Kind
from linkwork.elements.vectors import Scalar
from linkwork.expressions.graph import Expr, as_expr, symbol

RATE = "_d"  # behind the name of a coordinate: its velocity
ACCELERATION = "_dd"


@dataclass(frozen=True)
class Stated:
    """M(t, q) qdd + Psi_q^T lam = Q(t, q, qd),  Psi(t, q) = 0, in the coordinates that `kinds` names.

    In the expressions the symbol of a coordinate is its name, that of its velocity the name with "_d", and t is time.
    `start` and `rate` are q and qd at t = 0, `row_kinds` says of constraints that are lengths or angles what they are.
    `potential` is the part of the energy that depends on q alone; without it all forces count as applied.
    """

    kinds: Mapping[str, Kind]
    start: Mapping[str, Scalar]
    rate: Mapping[str, Scalar]
    M: tuple[tuple[Scalar, ...], ...]
    Q: tuple[Scalar, ...]
    Psi: Mapping[str, Scalar] = field(default_factory=dict)
    row_kinds: Mapping[str, Kind] = field(default_factory=dict)
    potential: Scalar = 0.0

    @property
    def q(self) -> tuple[Expr, ...]:
        return tuple(symbol(name) for name in self.kinds)

    @property
    def v(self) -> tuple[Expr, ...]:
        return tuple(symbol(f"{name}{RATE}") for name in self.kinds)

    def expressions(self) -> Iterator[tuple[str, Expr, bool]]:
        """Return every expression with its place and whether it may depend on velocities."""
        for i, row in enumerate(self.M):
            yield from ((f"M[{i}][{j}]", as_expr(x), False) for j, x in enumerate(row))
        yield from ((f"Q[{i}]", as_expr(x), True) for i, x in enumerate(self.Q))
        yield from ((f"Psi.{name}", as_expr(x), False) for name, x in self.Psi.items())
        yield "potential", as_expr(self.potential), False
