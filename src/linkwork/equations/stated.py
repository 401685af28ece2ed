"""Equations that the model itself states."""

from __future__ import annotations

from linkwork.elements.kinds import Coordinate, Velocity
from linkwork.elements.stated import ACCELERATION, RATE, Stated
from linkwork.equations.body import watch_for
from linkwork.equations.equations import (
    TIME,
    Chart,
    Energy,
    Equations,
    Row,
    change_of,
    other_of,
)
from linkwork.equations.parameters import Symbols
from linkwork.expressions.derivatives import directional
from linkwork.expressions.graph import ZERO, Expr, as_expr, symbol
from linkwork.model import Model


def stated_equations(model: Model) -> Equations:
    """Take M a + Psi_q^T lam = Q as it stands.

    Kinetic energy is v^T M v / 2. Its rate is v^T Q + v^T M_dot v / 2 but for constraints, whatever the system; what of
    this the potential does not account for is the power of applied forces.
    """
    parts = Symbols(model)
    stated: Stated = parts.stated
    q, v, names = stated.q, stated.v, [*stated.kinds]
    M = {(i, j): as_expr(x) for i, row in enumerate(stated.M) for j, x in enumerate(row)}
    M = {place: entry for place, entry in M.items() if entry is not ZERO}
    Q = tuple(map(as_expr, stated.Q))
    rows = tuple(Row(name, "", stated.row_kinds.get(name, "number")) for name in stated.Psi)
    potential = as_expr(stated.potential)
    motion = {TIME: as_expr(1.0), **dict(zip(q, v, strict=True))}
    kinetic = _half_form(M, v)
    power = sum((force * rate for force, rate in zip(Q, v, strict=True)), ZERO)
    inertia, stored = directional([kinetic, potential], motion)
    kinds = stated.kinds
    e = Equations(
        q=q,
        v=v,
        a=tuple(symbol(f"{name}{ACCELERATION}") for name in names),
        coordinates=tuple(Coordinate(name, "", kinds[name]) for name in names),
        velocities=tuple(Velocity(name, "", kinds[name], RATE, ACCELERATION) for name in names),
        rows=rows,
        qd=v,
        M=M,
        Q=Q,
        Psi=tuple(map(as_expr, stated.Psi.values())),
        energy=Energy(kinetic, potential, ZERO, power + inertia + stored),
        parameters=parts.values,
        chart=Chart(
            retract=tuple(x + change_of(rate) for x, rate in zip(q, v, strict=True)),
            difference=tuple(other_of(x) - x for x in q),
            start_q=tuple(as_expr(stated.start[name]) for name in names),
            start_v=tuple(as_expr(stated.rate[name]) for name in names),
            kind="stated",
        ),
    )
    return e.with_outputs({}, tuple(watch_for(event, {}, e) for event in parts.events))


def _half_form(M: dict[tuple[int, int], Expr], v: tuple[Expr, ...]) -> Expr:
    return sum((0.5 * entry * v[i] * v[j] for (i, j), entry in M.items()), ZERO)
