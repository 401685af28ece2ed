"""The tree of joint coordinates in words, and its matrices with the arms of turns as in [nikravesh2018, chapter 9]."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.equations.equations import Equations, Row
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.graph import ONE, ZERO, Expr, symbol

Matrix = dict[tuple[int, int], Expr]
Names = dict[tuple[str, ...], Expr]


def describe_tree(e: Equations) -> Iterator[str]:
    """Say for every body that carries no line by which joints it is reached from the ground.

    And name the cut joints.
    """
    if not e.chart.carriers:
        return
    carrying = {parent for parent, _ in e.chart.carriers.values()}
    for body in e.chart.carriers:
        if body not in carrying:
            steps = [f"{f'{joint} -> ' if joint else 'floating '}{name}" for name, joint in _way(e, body)]
            yield f"tree: {e.chart.carriers[_way(e, body)[0][0]][0]}, {', '.join(steps)}"
    for dyad in e.chart.dyads:
        yield f"closed as a triangle by {dyad.joint}: {' and '.join(dyad.follows)} follow"
    cut = dict.fromkeys(row.element for row in e.rows)
    yield f"constraints: {', '.join(cut)}" if cut else f"no constraints{'' if e.chart.dyads else ': the chain is open'}"


def _way(e: Equations, body: str) -> list[tuple[str, str]]:
    """Return bodies and the joints that carry them, from the ground to this one."""
    way = []
    while body in e.chart.carriers:
        parent, joint = e.chart.carriers[body]
        way.append((body, joint))
        body = parent
    return way[::-1]


def name_arms(e: Equations) -> tuple[Matrix, Matrix, Names]:
    """Return B and C with symbols for the arms at which planar turns move mass centres and cut points, and these arms.

    A turn about a joint moves a point at the arm d with perp(d) = (-d_y, d_x).
    """
    assert e.chart.body is not None
    B = jacobian([output.expression for output in e.outputs["v"].values()], e.v)
    C = dict(e.Psi_q)
    arms: Names = {}
    if any(c.kind == "number" for c in e.chart.body.coordinates):
        return B, C, arms

    def name(matrix: Matrix, i: int, k: int, what: str, sign: float) -> None:
        """Name entries i and i + 1 of column k sign * perp(d)."""
        d = {"x": sign * matrix.get((i + 1, k), ZERO), "y": -sign * matrix.get((i, k), ZERO)}
        shown = {}
        for axis, x in d.items():
            label = f"d_{axis} {what}.{e.v_names[k]}"
            shown[axis] = x if x.is_constant else symbol(label)
            if not x.is_constant:
                arms[f"{axis} {what}.{e.v_names[k]}",] = x
        matrix |= {(i, k): -sign * shown["y"], (i + 1, k): sign * shown["x"]}

    turns = dict[int, float]()  # 1, or -1 of a joint whose body j carries body i
    for number, body in enumerate(dict.fromkeys(c.owner for c in e.chart.body.velocities)):
        for k in range(len(e.v)):
            if (turn := B.get((3 * number + 2, k))) in (ONE, -ONE):
                turns[k] = 1.0 if turn is ONE else -1.0
                name(B, 3 * number, k, body, turns[k])
    joints = {joint for _, joint in e.chart.carriers.values()}
    for i, row in enumerate(e.rows[:-1]):
        if row.part == "x" and e.rows[i + 1].part == "y" and row.element not in joints:
            for k, c in enumerate(e.velocities):
                if c.kind == "angle" and ((i, k) in C or (i + 1, k) in C) and len(sides := _sides(e, row, k)) == 1:
                    name(C, i, k, row.element, sides[0] * turns.get(k, 1.0))
    return B, C, arms


def _sides(e: Equations, row: Row, k: int) -> list[float]:
    """Tell which bodies of a cut pin velocity k of a joint carries: 1 for body j, -1 for body i."""
    assert e.chart.body is not None
    number = e.chart.body.rows.index(row)
    joint = e.velocities[k].owner
    ends = [
        (e.chart.body.velocities[c].owner, x)
        for (r, c), x in e.chart.body.Psi_q.items()
        if r == number and x.is_constant
    ]
    return [x.number for body, x in ends if joint in [name for _, name in _way(e, body)]]
