"""Equations in Euler parameters: v = qd, seven for every body, the length of its Euler parameters a constraint."""

from __future__ import annotations

from dataclasses import replace

from linkwork.elements.kinds import Velocity
from linkwork.equations.body import body_equations
from linkwork.equations.equations import (
    Energy,
    Equations,
    Output,
    Row,
    change_of,
    move_outputs,
    substitute_in,
)
from linkwork.errors import ModelError
from linkwork.expressions.derivatives import directional
from linkwork.expressions.evaluation import substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, symbol
from linkwork.model import Model
from linkwork.sequences.entries import minus, plus, transpose

STATE = ("euler", "euler_d", "euler_dd")


def euler_equations(model: Model) -> Equations:
    """Derive M_e qdd + Psi_q^T lam = Q_e from those in (r_dot, omega) = B qd, omega = 2 E(e) e_dot:

    M_e = B^T M B        Q_e = B^T (Q - M B_dot qd)        Psi_e = (Psi, e . e - 1 of every body)

    M_e has rank six for every body: e itself is no motion. What the joints transmit is the same lam; that of e . e - 1
    is no reaction [haug1989, section 11.3].
    """
    if model.space != "spatial":
        message = "the bodies of a planar model have an angle and no Euler parameters"
        raise ModelError(message, "not-spatial", suggestion="choose the coordinates body")
    body = body_equations(model)
    places = [7 * k for k in range(len(model.bodies))]
    q = body.q[: 7 * len(places)]
    velocities = tuple(c for b in model.bodies for c in _velocities(b.name, b.velocities[:3]))
    v, a = (tuple(symbol(f"{c.speed}{mark}") for c in velocities) for mark in ("", "'"))
    B = {
        entry: x
        for k, place in enumerate(places)
        for entry, x in _velocity_matrix(6 * k, place, q[place + 3 : place + 7]).items()
    }

    speed = plus([ZERO] * len(body.v), B, v)
    rates = dict(zip(q, v, strict=True))
    left = directional(speed, rates)  # B_dot qd
    rise = directional(speed, dict(zip(v, a, strict=True)))
    of_bodies = dict(zip(body.v, speed, strict=True))
    of_bodies |= {old: x + y for old, x, y in zip(body.a, rise, left, strict=True)}

    force = minus(substitute(body.Q, of_bodies), body.M, left)
    Q = plus([ZERO] * len(v), transpose(B), force)
    M: dict[tuple[int, int], Expr] = {}
    in_row = [{j: entry for (i, j), entry in B.items() if i == row} for row in range(len(body.v))]
    for (i, k), entry in body.M.items():
        for row, x in in_row[i].items():
            for column, y in in_row[k].items():
                M[row, column] = M.get((row, column), ZERO) + x * entry * y

    rows = tuple(Row(b.name, "e.e", "number") for b in model.bodies)
    poses = (body.q, speed, [of_bodies[x] for x in body.a])
    outputs = {
        kind: dict(zip(body.columns[kind].labels, map(Output, own, body.columns[kind].units), strict=True))
        for kind, own in zip(body.chart.state, poses, strict=True)
    }
    outputs |= {kind: move_outputs(named, of_bodies) for kind, named in body.outputs.items()}
    start = dict(zip((*body.q, *body.v), (*body.chart.start_q, *body.chart.start_v), strict=True))
    e = replace(
        body,
        q=q,
        v=v,
        a=a,
        velocities=velocities,
        rows=(*body.rows, *rows),
        qd=v,
        coordinates=body.coordinates[: len(q)],
        M={entry: x for entry, x in M.items() if x is not ZERO},
        Q=tuple(Q),
        Psi=(*body.Psi, *(sum((x * x for x in q[p + 3 : p + 7]), -ONE) for p in places)),
        slips=substitute_in(body.slips, of_bodies),
        energy=Energy(*substitute(body.energy, of_bodies)),
        outputs=outputs,
        events=tuple(event.moved(of_bodies) for event in body.events),
        clocks=tuple(clock.moved(of_bodies) for clock in body.clocks),
        chart=replace(
            body.chart,
            retract=tuple(x + change_of(rate) for x, rate in zip(q, v, strict=True)),
            difference=tuple(y - x for x, y in zip(q, body.then, strict=False)),
            start_q=body.chart.start_q[: len(q)],
            start_v=tuple(substitute(body.qd[: len(q)], start)),
            kind="euler",
            state=STATE,
            body=body,
            from_body=(body.q, body.qd[: len(q)]),
        ),
        # e_dot may have a part along e, which turns nothing and changes A
        hints=replace(body.hints, carried={}),
    )
    rates_of = directional([x.angle for x in body.chart.counted], rates)
    counted = [x._replace(rate=rate) for x, rate in zip(body.chart.counted, rates_of, strict=True)]
    return e.counting(counted)


def _velocities(body: str, shifts: tuple[Velocity, ...]) -> tuple[Velocity, ...]:
    return (*shifts, *(Velocity(body, f"e{k}", "number", f"e{k}_d", f"e{k}_dd") for k in range(4)))


def _velocity_matrix(row: int, column: int, e: tuple[Expr, ...]) -> dict[tuple[int, int], Expr]:
    """Return entries of a body in (r_dot, omega) = B (r_dot, e_dot): the identity and 2 E(e)."""
    e0, e1, e2, e3 = e
    E = ((-e1, e0, e3, -e2), (-e2, -e3, e0, e1), (-e3, e2, -e1, e0))
    B = {(row + k, column + k): ONE for k in range(3)}
    return B | {(row + 3 + i, column + 3 + j): 2 * x for i, line in enumerate(E) for j, x in enumerate(line)}
