"""How equations in the coordinates of joints, and in minimal ones, follow from those of the bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from linkwork.equations.place import Array
from linkwork.expressions.derivatives import directional, jacobian
from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import ZERO
from linkwork.lecture.arms import describe_tree
from linkwork.lecture.letters import (
    P_1,
    P_2,
    B,
    C,
    D,
    M,
    M_b,
    M_t,
    Psi_q,
    Q,
    Q_b,
    Q_t,
    V,
    beta,
    gamma_t,
    theta,
    v_b,
)  # fmt: skip
from linkwork.lecture.symbolic import Matrix, Numbers
from linkwork.lecture.values import Value, named, vector
from linkwork.sequences.entries import Entries, dense
from linkwork.writing.notation import Formula, equal
from linkwork.writing.rational import TooLong, rational

if TYPE_CHECKING:
    from linkwork.lecture.exercise import Exercise


def write_coordinates(x: Exercise, place: Numbers, velocity: Formula) -> None:
    """Return how equations that are not those of the bodies follow from them: B, or V beyond the tree."""
    e = place.equations
    if not e.chart.carriers:
        return
    x.head("Coordinates of the tree" if e.chart.tree is None else "Minimal coordinates")
    for line in describe_tree(e):
        x.say(line[:1].upper() + line[1:] + ".")
    if e.chart.tree is not None:
        _write_minimal(x, place, velocity)
    elif e.chart.body is not None and not any(c.kind == "number" for c in e.chart.body.coordinates):
        _write_tree(x, place, velocity)
    x.forget(B, C, D, V, P_1, P_2, gamma_t)


def _moved(place: Numbers, kind: str) -> tuple[Array, Array, Array]:
    """Return the derivatives by v of velocities that are outputs, their values, and their rates at a = 0."""
    e = place.equations
    speeds = [output.expression for output in e.outputs[kind].values()]
    by_v = jacobian(speeds, e.v)
    found = place.find(f"moved {kind}", [*by_v.values(), *speeds, *directional(speeds, e.motion)])
    k, n = len(by_v), len(speeds)
    return dense(by_v, found[:k], (n, len(e.v))), found[k : k + n], found[k + n :]


def _in_symbols(x: Exercise, place: Numbers, kind: str) -> tuple[Matrix | None, Matrix | None]:
    """Return the first and the last of `_moved` in symbols, where they are short."""
    if not x.small:
        return None, None
    e = place.equations
    speeds = [output.expression for output in e.outputs[kind].values()]
    by_v, rest = jacobian(speeds, e.v), directional(speeds, e.motion)

    def matrix() -> Matrix:
        return [[rational(by_v.get((i, j), ZERO)) for j in range(len(e.v))] for i in range(len(speeds))]

    return (
        x.symbols.confirm(matrix, lambda sample: _moved(sample, kind)[0]),
        x.symbols.confirm(lambda: [[rational(own)] for own in rest], lambda sample: _moved(sample, kind)[2][:, None]),
    )


def _write_tree(x: Exercise, place: Numbers, velocity: Formula) -> None:
    """Write v_b = B v,  M = B^T M_b B,  Q = B^T (Q_b - M_b Bdot v),  C = D B  [nikravesh2018, eqs. (9.22) to
    (9.34)].
    """
    e = place.equations
    assert e.chart.body is not None
    bodies = Numbers(e.bodies_at(place.q.tolist()), *place.of_bodies(), place.t)
    columns, own = x.scope(M).columns, named(e.chart.body.v_names)
    by_v, speeds, rest = _moved(place, "v")
    rows = [[str(row) for row in e.chart.body.rows].index(str(row)) for row in e.rows]
    values = {
        B: Value(by_v, own, columns), v_b: vector(speeds, own), beta: vector(rest, own),
        M_b: Value(bodies.M, own, own), Q_b: vector(bodies.Q, own),
        D: Value(bodies.Psi_q[rows], named(map(str, e.rows)), own),
    }  # fmt: skip
    x.find(values)
    x.say(
        "The joints of the tree carry the bodies. The velocities of these,",
        equal(v_b, B * velocity),
        ", have the matrix",
    )
    B_exact, beta_exact = _in_symbols(x, place, "v")
    x.display(B, B_exact)
    x.say("and their accelerations have, besides what the accelerations of the joints give, the part")
    x.display(beta, beta_exact)
    x.say(
        "Put into the equations of the bodies, and multiplied by",
        B.T,
        ", in which the forces of the tree's joints cancel,",
    )
    x.show(equal(M, B.T * M_b * B), equal(Q, B.T * (Q_b - M_b * beta)))
    if rows:
        x.say("The Jacobian of the joints that were cut, and of drivers, follows from", D, ", that of the bodies:")
        x.show(equal(Psi_q, D * B))


def _of_tree(x: Exercise, entries: Entries, rows: Sequence[int], columns: int) -> Matrix | None:
    """Return entries in the coordinates of all joints, in symbols where they are short and these have names here."""
    known = {node for node in ordered(entries.values()) if node.op == "symbol"} <= {*x.names}
    try:
        found = [[rational(entries.get((i, j), ZERO)) for j in range(columns)] for i in rows]
    except (TooLong, ZeroDivisionError):
        return None
    return found if known else None


def _write_minimal(x: Exercise, place: Numbers, velocity: Formula) -> None:
    """Write theta_d = V v,  C V = 0,  M = V^T M_t V,  Q = V^T (Q_t - M_t b)  [wehage1982]."""
    e = place.equations
    assert e.chart.tree is not None
    angles = place.find("angles", [output.expression for output in e.outputs["theta"].values()])
    by_v, speeds, rest = _moved(place, "theta_d")
    tree = Numbers(e.chart.tree, angles, speeds, place.t)
    columns, own = x.scope(M).columns, named(e.chart.tree.v_names)
    left = {str(row) for row in e.rows}
    solved = [k for k, row in enumerate(e.chart.tree.rows) if str(row) not in left]
    values = {
        V: Value(by_v, own, columns), theta.dot: vector(speeds, own), beta: vector(rest, own),
        M_t: Value(tree.M, own, own), Q_t: vector(tree.Q, own),
        C: Value(tree.Psi_q[solved], named(str(e.chart.tree.rows[k]) for k in solved), own),
    }  # fmt: skip
    x.find(values)
    free = [e.chart.tree.v_names.index(name) for name in e.v_names]
    takes, follows = (np.eye(len(own))[:, chosen] for chosen in (free, [k for k in range(len(own)) if k not in free]))
    x.find({P_1: Value(takes, own, columns), P_2: Value(follows, own)})
    x.say(
        "Loops of two links are solved as triangles. The velocities of all joints are",
        equal(theta.dot, V * velocity),
        ".",
    )
    if solved and follows.shape[1] == len(solved):
        x.find({gamma_t: vector(tree.gamma[solved], x.scope(C).rows)})
        x.say("They satisfy the constraints of these loops, with the Jacobian")
        x.display(C, _of_tree(x, e.chart.tree.Psi_q, solved, len(own)))
        x.say("With", P_1, "for the places of the independent velocities and", P_2, "for those that follow,")
        inverse = (C * P_2).inverse
        x.show(equal(V, P_1 - P_2 * inverse * C * P_1), equal(C * V, 0))
        x.display(V, _in_symbols(x, place, "theta_d")[0])
        x.say(
            "Their accelerations have, besides what the independent ones give, a part from", gamma_t,
            ", which is to these constraints what gamma is to those that are left:",
        )  # fmt: skip
        x.show(equal(beta, P_2 * inverse * gamma_t))
    else:
        x.display(V, _in_symbols(x, place, "theta_d")[0])
        x.say("Their accelerations have, besides what the independent ones give, the part")
    x.display(beta, _in_symbols(x, place, "theta_d")[1])
    x.say("With inertia and forces in the coordinates of all joints,")
    x.show(equal(M, V.T * M_t * V), equal(Q, V.T * (Q_t - M_t * beta)))
    x.display(M_t, _of_tree(x, e.chart.tree.M, range(len(own)), len(own)))
    x.display(Q_t)
