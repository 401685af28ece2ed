"""Equations in joint coordinates: a spanning tree of joints carries the bodies, the other joints are constraints.

    v_b = B(q) v        M = B^T M_b B        Q = B^T (Q_b - M_b Bdot v)        C = D B
                                                                             [nikravesh2018, eqs. (9.22) to (9.34)]

v_b, M_b and Q_b are those of the bodies, D is the Jacobian of the constraints with respect to v_b. Each hinge gives
v_c = X v_p + H v of a body c and its parent p; by these X and H everything is made link by link.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain
from typing import Any

from linkwork.elements.bodies import Ground
from linkwork.elements.events import closed
from linkwork.elements.frames import SPATIAL_GROUND, PlanarFrame, SpatialFrame, TurnedFrame
from linkwork.elements.pairs import PointPair
from linkwork.elements.paths import Shift, follow_path
from linkwork.elements.vectors import Vector, norm
from linkwork.equations.body import Bodies, body_equations, derive_bodies
from linkwork.equations.equations import (
    Chart,
    Counted,
    Energy,
    Equations,
    Hints,
    Output,
    change_of,
    constraint_forces,
    move_outputs,
    other_of,
    substitute_in,
)
from linkwork.equations.tree import Hinge, span_tree
from linkwork.errors import ModelError
from linkwork.expressions.derivatives import directional, jacobian
from linkwork.expressions.evaluation import substitute
from linkwork.expressions.graph import ZERO, Expr, less, maximum, select, symbol
from linkwork.model import Model
from linkwork.sequences.articulated import Chain, Link, Projected, Tree
from linkwork.sequences.entries import minus, plus

Symbols = list[list[Expr]]
LETTERS = ("theta {}", "theta_d {}", "theta_dd {}")  # of q, v and a


def joint_equations(model: Model) -> Equations:
    """Derive M a + C^T lam = Q with q = theta, the coordinates of the joints of a spanning tree."""
    made, plain = derive_bodies(model, with_matrices=True), body_equations(model)
    b, parts = made.equations, made.parts
    hinges, cut = _cut_loops(made, model.simulation.cut)
    in_tree = {hinge.joint.name for hinge in hinges if hinge.joint is not None}
    order = {body.name: k for k, body in enumerate(parts.bodies)}
    by_body = sorted(hinges, key=lambda hinge: order[hinge.child.name])
    symbols = {hinge.child.name: _symbols(hinge) for hinge in hinges}
    q, v, a = (tuple(x for hinge in by_body for x in symbols[hinge.child.name][k]) for k in range(3))

    measured = _measured(plain, made, by_body)
    start = dict(zip((*plain.q, *plain.v), (*plain.chart.start_q, *plain.chart.start_v), strict=True))
    start_q, start_v = (tuple(substitute(x, start)) for x in measured)
    start |= dict(zip(q, start_q, strict=True))
    local, known = _follow(made, hinges, symbols, v, start)
    # Angles of the tree are coordinates; those of joints that close loops are carried along here too.
    turned, counted = _sort_counted(b.chart.counted, hinges, symbols)
    known |= {node: theta for x, theta in turned.items() for node in (x.carried, x.value)}
    tree = local.substituted(known)
    v_b, zeta = substitute(b.v, known), tree.zeta()
    B_dot_v = tree.spread(zeta)
    found = substitute([*b.Q, *b.energy], known)
    Q_b, energy = found[: len(b.Q)], found[len(b.Q) :]
    still = {**known, **dict(zip(b.a, B_dot_v, strict=True))}
    e = Equations(
        q=q,
        v=v,
        a=a,
        coordinates=tuple(c for hinge in by_body for c in hinge.coordinates),
        velocities=tuple(c for hinge in by_body for c in hinge.velocities),
        rows=tuple(b.rows[k] for k in cut),
        qd=_of_hinges(Hinge.qd, by_body, symbols, 1),
        M=Projected(tree, b.M) if tree.is_long() else tree.project(b.M),
        Q=tuple(tree.gather(minus(Q_b, b.M, B_dot_v))[1]),
        Psi=tuple(substitute([b.Psi[k] for k in cut], known)),
        slips=substitute_in({i: b.slips[k] for i, k in enumerate(cut) if k in b.slips}, known),
        energy=Energy(*energy),
        parameters=b.parameters,
        held=b.held,
        reversal={name: tuple(substitute(x, known)) for name, x in b.reversal.items() if name not in in_tree},
        chart=Chart(
            retract=_of_hinges(Hinge.retract, by_body, symbols, 3),
            difference=_of_hinges(Hinge.difference, by_body, symbols, 4),
            start_q=start_q,
            start_v=start_v,
            kind="joint",
            state=("theta", "theta_d", "theta_dd"),
            unseen=b.chart.unseen,
            body=plain,
            from_body=((*measured[0], *(x.carried for x in counted)), measured[1]),
            carriers={h.child.name: (h.parent.name, "" if h.joint is None else h.joint.name) for h in hinges},
        ),
        hints=Hints(
            carried=_moving(b, known, still),
            gradients={x: row for x, row in zip(v_b, tree.B(), strict=True) if not x.is_constant} if cut else {},
            chain=Chain(_in_own_axes(made, hinges, symbols, v) or tree if not cut else tree, b.M, tuple(v_b))
            if tree.is_long()
            else None,
            arm=_longest_arm(made),
            steady=frozenset(substitute([*b.hints.steady], known)),
        ),
    )
    seen = substitute([y for x in counted for y in (x.angle, x.rate)], known)
    left = [x._replace(angle=y, rate=z) for x, y, z in zip(counted, seen[::2], seen[1::2], strict=True)]
    e = e.counting(left)
    a_b = tree.spread([x + y for x, y in zip(tree.along(a), zeta, strict=True)])
    outputs = _outputs(made, hinges, local, cut)
    outputs["joints"] |= _tree_freedoms(hinges, symbols, outputs["joints"])
    return _show(e, made, plain, outputs, known | dict(zip(b.a, a_b, strict=True)))


def _cut_loops(made: Bodies, wished: Sequence[str]) -> tuple[list[Hinge], list[int]]:
    """Return the hinges of a spanning tree, and the rows of joints that are not in it and of drivers."""
    parts = made.parts
    loose = [joint.name for joint in parts.joints if closed(joint.name) in made.equations.held]
    hinges = span_tree(
        parts.bodies[0], parts.bodies[1:], parts.joints, (*wished, *loose)
    )  # what can open carries nothing
    _check_names(hinges)
    in_tree = {hinge.joint.name for hinge in hinges if hinge.joint is not None}
    elements = zip((*parts.joints, *parts.drivers), made.rows, strict=True)
    return hinges, [k for x, rows in elements for k in rows if x in parts.drivers or x.name not in in_tree]


def _moving(b: Equations, known: Mapping[Expr, Expr], still: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
    """Return what moves with q, with its rates: places and matrices of bodies at their velocities, and these.

    The latter as Bdot v says, if v is kept.
    """
    placed = len(b.q) - len(b.chart.counted)
    of_bodies = {x: rate for x, rate in b.hints.carried.items() if x not in {x.value for x in b.chart.counted}}
    moving, rates = [*b.q[:placed], *of_bodies, *b.v], [*b.qd[:placed], *of_bodies.values(), *b.a]
    found = zip(substitute(moving, known), substitute(rates, still), strict=True)
    return {at: rate for at, rate in found if not at.is_constant}


def _show(
    e: Equations,
    made: Bodies,
    plain: Equations,
    outputs: dict[str, dict[str, Output]],
    known: Mapping[Expr, Expr],
) -> Equations:
    """Return the equations with outputs, events and clocks, and the state of the bodies among the outputs."""
    b = made.equations
    events = tuple(event.moved(known) for event in made.watched(outputs))
    state = {
        kind: {at: Output(x, unit) for at, x, unit in zip(columns.labels, own, columns.units, strict=True)}
        for kind, columns, own in zip(plain.chart.state, plain.columns.values(), (b.q, b.v, b.a), strict=False)
    }
    clocks = tuple(clock.moved(known) for clock in made.sampled(outputs))
    return e.with_outputs({kind: move_outputs(own, known) for kind, own in (state | outputs).items()}, events, clocks)


def _sort_counted(
    counted: Sequence[Counted], hinges: Sequence[Hinge], symbols: Mapping[str, Symbols]
) -> tuple[dict[Counted, Expr], list[Counted]]:
    """Return the angles that are coordinates of the tree, with these, and those of joints that close loops."""
    of_tree = {
        (hinge.joint.name, name): theta
        for hinge in hinges
        if hinge.joint is not None
        for name, theta in zip(hinge.freedoms, symbols[hinge.child.name][0], strict=False)
    }
    places = {x: of_tree.get((x.coordinate.owner, x.coordinate.part)) for x in counted}
    return {x: theta for x, theta in places.items() if theta is not None}, [x for x in counted if places[x] is None]


def _tree_freedoms(
    hinges: Sequence[Hinge], symbols: Mapping[str, Symbols], outputs: Mapping[str, Output]
) -> dict[str, Output]:
    """Return the measurable freedoms of the joints of the tree, which are coordinates here, and their rates."""
    found: dict[str, Output] = {}
    for hinge in hinges:
        theta, theta_d, *_ = symbols[hinge.child.name]
        for name, *own in zip(hinge.freedoms if hinge.joint else (), theta, theta_d, strict=False):
            labels = f"{hinge.joint.name}.{name}", f"{hinge.joint.name}.{name}_d"
            found |= {label: Output(x, outputs[label].unit) for label, x in zip(labels, own, strict=True)}
    return found


def _check_names(hinges: Sequence[Hinge]) -> None:
    """Raise ModelError where a joint and a body that floats have coordinates of one name."""
    floating = {c.name for hinge in hinges if hinge.joint is None for c in (*hinge.coordinates, *hinge.velocities)}
    for hinge in hinges:
        if hinge.joint is not None and floating & {c.name for c in (*hinge.coordinates, *hinge.velocities)}:
            raise ModelError(
                f"the joint '{hinge.joint.name}' and a body of this name, which no joint carries, have coordinates "
                "of the same name",
                "duplicate-name",
                path=f"joints.{hinge.joint.name}",
                suggestion="give the joint another name, or choose the coordinates body",
            )


def _longest_arm(made: Bodies) -> Expr:
    """Return the greatest distance of a joint from the mass centre of one of its bodies."""
    arms = [
        norm(Vector(s) - made.frames[body.name].c)
        for joint in made.parts.joints
        if isinstance(joint, PointPair)
        for body, s in ((joint.body_i, joint.s_i), (joint.body_j, joint.s_j))
        if not isinstance(body, Ground)
    ]
    return reduce(maximum, arms, ZERO)


def _symbols(hinge: Hinge) -> Symbols:
    """Return symbols of q, v, a, dx and `then`."""
    owned = (hinge.coordinates, hinge.velocities, hinge.velocities)
    q, v, a = ([symbol(letter.format(c.name)) for c in own] for letter, own in zip(LETTERS, owned, strict=True))
    return [q, v, a, [*map(change_of, v)], [*map(other_of, q)]]


def _of_hinges(
    ask: Callable[[Hinge, Sequence[Expr], Sequence[Expr]], list[Expr]],
    hinges: Sequence[Hinge],
    symbols: Mapping[str, Symbols],
    k: int,
) -> tuple[Expr, ...]:
    """Return what all hinges answer, of their q and the symbols number k."""
    return tuple(x for hinge in hinges for x in ask(hinge, symbols[hinge.child.name][0], symbols[hinge.child.name][k]))


def _measured(plain: Equations, made: Bodies, hinges: Sequence[Hinge]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Return coordinates and velocities of the joints, of q and v of the bodies."""
    frames = {
        name: SpatialFrame(f.r, f.e, f.r_dot, f.omega, f.c) if isinstance(f, TurnedFrame) else f
        for name, f in made.frames.items()
    }
    found = [hinge.measure(frames, plain.motion, *_state(frames[hinge.child.name])) for hinge in hinges]
    theta, theta_d = (tuple(x for both in found for x in both[k]) for k in range(2))
    return tuple(substitute(theta, {x.angle: x.value for x in plain.chart.counted})), theta_d


def _state(frame: Any) -> tuple[list[Expr], list[Expr]]:
    """Return q and v of the body whose frame it is."""
    if isinstance(frame, PlanarFrame):
        return [*frame.r, frame.phi], [*frame.r_dot, frame.omega]
    return [*frame.r, *frame.e], [*frame.r_dot, *frame.omega]


def _matrix(frame: Any) -> list[Expr]:
    return [x for row in frame.rows for x in row] if isinstance(frame, TurnedFrame) else []


def _follow(
    made: Bodies, hinges: Sequence[Hinge], symbols: Mapping[str, Symbols], v: Sequence[Expr], start: Mapping[Expr, Expr]
) -> tuple[Tree, dict[Expr, Expr]]:
    """Return the tree in the symbols of the bodies, and what these symbols are in joint coordinates."""
    b, place = made.equations, {x: k for k, x in enumerate(v)}
    known: dict[Expr, Expr] = {}
    links = []
    for hinge in hinges:
        parent, child = made.frames[hinge.parent.name], made.frames[hinge.child.name]
        q, own_v = symbols[hinge.child.name][:2]
        frame, A = _carry(hinge, parent, child, q, own_v, start)
        q_c, v_c = _state(frame)
        zeta = directional(v_c, ChainMap(dict(zip(q, hinge.qd(q, own_v), strict=True)), b.motion))
        links.append(replace(_link(made, hinge, v_c, own_v, place), zeta=tuple(zeta)))
        of_parent = [*chain(*_state(parent)), *_matrix(parent)]
        near = {x: known[x] for x in of_parent if x in known}
        near |= zip(_matrix(child), substitute(A, near), strict=True)
        found = substitute([*q_c, *v_c], near)
        known |= zip(_matrix(child), (near[x] for x in _matrix(child)), strict=True)
        known |= zip(chain(*_state(child)), found, strict=True)
    return Tree(tuple(links), len(b.v), len(v)), known


def _link(made: Bodies, hinge: Hinge, v_c: Sequence[Expr], own: Sequence[Expr], place: Mapping[Expr, int]) -> Link:
    """Return X and H of v_c = X v_p + H v, the velocities of the child of a hinge; `place` of its own v among all."""
    columns, above = made.columns[hinge.child.name], made.columns.get(hinge.parent.name, range(0))
    X, H = jacobian(v_c, [made.equations.v[k] for k in above]), jacobian(v_c, own)
    shifts = {(columns[i], above[j]): x for (i, j), x in X.items()}
    return Link(columns, shifts, {(columns[i], place[own[j]]): x for (i, j), x in H.items()})


def _in_own_axes(
    made: Bodies, hinges: Sequence[Hinge], symbols: Mapping[str, Symbols], v: Sequence[Expr]
) -> Tree | None:
    """Return the tree of spatial bodies with their velocities in their own axes, so that it depends on joints alone.

    M_b is the same in these axes. In the plane, where a turn is one number, there is nothing to gain.
    """
    if not made.equations.hints.carried:
        return None
    place = {x: k for k, x in enumerate(v)}
    zero = Vector((0.0, 0.0, 0.0))
    links = []
    for hinge in hinges:
        q, own_v = symbols[hinge.child.name][:2]
        parent, child = made.frames[hinge.parent.name], made.frames[hinge.child.name]
        if hinge.joint is None:
            own = hinge.child.frame(q, own_v)
            v_c = [*own.in_body(own.r_dot), *own.omega]
        else:
            still = TurnedFrame(zero, SPATIAL_GROUND.e, parent.r_dot, parent.omega, parent.c)
            at = follow_path(hinge.joint, q, own_v, still, hinge.onwards)
            s = Vector(hinge.joint.s_j if hinge.onwards else hinge.joint.s_i)
            v_c = [*(at.in_body(at.r_dot) + at.omega.cross(child.c - s)), *at.omega]
        links.append(_link(made, hinge, v_c, own_v, place))
    return Tree(tuple(links), len(made.equations.v), len(v))


def _carry(
    hinge: Hinge, parent: Any, child: Any, q: Sequence[Expr], v: Sequence[Expr], start: Mapping[Expr, Expr]
) -> tuple[Any, list[Expr]]:
    """Return the frame of the child of a hinge, made of that of its parent and of its own matrix; and this matrix."""
    if hinge.joint is None:
        frame = hinge.child.frame(q, v)
        return frame, [] if isinstance(frame, PlanarFrame) else [x for row in frame.A for x in row]
    at = follow_path(hinge.joint, q, v, parent, hinge.onwards)
    s = Vector(hinge.joint.s_j if hinge.onwards else hinge.joint.s_i)
    if isinstance(at, PlanarFrame):
        return replace(Shift(child.c - s, s * 0.0).take(at), c=child.c), []
    # Of e and -e, which are the same, the one with which the body starts.
    turned, e = Vector(substitute(at.e, start)), Vector(substitute(child.e, start))
    way = select(less(turned.dot(e), 0.0), -1.0, 1.0)
    moved = Shift(child.c - s, s * 0.0).take(replace(at, rows=child.rows))
    return replace(moved, e=at.e * way), _matrix(at)


def _outputs(made: Bodies, hinges: Sequence[Hinge], local: Tree, cut: Sequence[int]) -> dict[str, dict[str, Output]]:
    """Return points, reactions and driving forces in the symbols of the bodies.

    The joint of a hinge does F to its child and -X^T F to its parent; F is what the child and all that it carries need
    beyond the forces that act on them.
    """
    b = made.equations
    needed, of_cut = [-x for x in minus(b.Q, b.M, b.a)], {*cut}
    F, _ = local.gather(plus(needed, {(j, i): x for (i, j), x in b.Psi_q.items() if i in of_cut}, b.lam))
    of_tree = {hinge.joint.name: (hinge, link) for hinge, link in zip(hinges, local.links, strict=True) if hinge.joint}
    rows_of = {joint.name: rows for joint, rows in zip(made.parts.joints, made.rows, strict=False)}

    def pushed(joint: Any, body: Any) -> list[Expr]:
        columns = made.columns[body.name]
        if joint.name not in of_tree:
            return constraint_forces(b.Psi_q, b.lam, rows_of[joint.name], columns)
        hinge, link = of_tree[joint.name]
        if body.name == hinge.child.name:
            return [F[k] for k in columns]
        force = dict.fromkeys(columns, ZERO)
        for (i, j), entry in link.X.items():
            force[j] = force[j] - entry * F[i]
        return list(force.values())

    return made.outputs(pushed)
