"""Equations in minimal coordinates: loops that are triangles are solved in closed form, and leave no constraints.

Of the coordinates theta of the joints of a tree, those that the constraints of a loop determine follow from the others,
which are independent and have the velocities v:

    theta_d = V v        theta_dd = V a + b        C V = 0        C b = -C_dot theta_d
    V^T M V a = V^T (Q - M b)                                                                           [wehage1982]

with M, Q and C of the joint coordinates. A loop that two links close, a dyad, is a triangle of which one side is known:
the direction (c, s) of a link is where a line meets the unit circle,

    A c + B s = C    ->    c = (A C - sigma B S)/n,  s = (B C + sigma A S)/n,    n = A^2 + B^2,  S^2 = n - C^2

with a sign sigma that the start position has. It does not change in a motion that stays away from S = 0, where the
links are stretched or folded [rojas2011; woernle1988].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import NamedTuple

from linkwork.elements.events import closed
from linkwork.elements.joints import Distance, PointOnLine, Revolute
from linkwork.elements.vectors import Vector
from linkwork.equations.arms import Matrix, Row, find_angles, find_inertia, gather_arms
from linkwork.equations.equations import (
    DEAD,
    Chart,
    Dyad,
    Energy,
    Equations,
    Hints,
    Output,
    move_outputs,
    substitute_in,
)
from linkwork.equations.joint import joint_equations
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import ordered, substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, atan2, cos, less, select, sign, sin, sqrt, symbol
from linkwork.model import Model
from linkwork.sequences.entries import minus, transpose

STATE = ("minimal", "minimal_d", "minimal_dd")
CLOSING = (Revolute, PointOnLine, Distance)  # the joints that can close a triangle

Turn = tuple[Expr, Expr]  # the cosine and sine of an angle


def minimal_equations(model: Model) -> Equations:
    """Derive V^T M V a = V^T (Q - M b), with constraints left for drivers and for loops that are no triangles."""
    e = joint_equations(model)
    if model.space != "planar":
        return replace(e, chart=replace(e.chart, kind="minimal"))
    closing, loops = Closing(e), find_loops(model, e)
    driven = {driver.joint.name for driver in model.drivers}
    # Driven coordinates shall be independent, and an angle more likely than a shift goes on without end.
    unknown = sorted(
        range(len(e.q)), key=lambda k: (e.coordinates[k].owner not in driven, e.coordinates[k].kind != "angle")
    )
    while unknown:
        loop = next((loop for loop in loops if loop.determines({*unknown})), None)
        if loop is None:
            closing.independent.append(unknown.pop(0))
        else:
            loops.remove(loop)
            found = closing.close(loop, [k for k in loop.around if k in unknown])
            unknown = [k for k in unknown if k not in found]
    return reduce_equations(e, closing) if closing.solved else replace(e, chart=replace(e.chart, kind="minimal"))


class Loop(NamedTuple):
    """A joint that closes a loop: its name, its rows, and the coordinates along the loop, by their numbers.

    Psi are the rows. Bodies that carry the whole loop do not change its shape: where they are shifted to is left out of
    Psi, and how far they are turned matters for directions alone.
    """

    joint: str
    rows: list[int]
    around: list[int]
    turned: list[int]
    Psi: list[Expr]

    def determines(self, unknown: set[int]) -> bool:
        """Return whether it has as many unknown coordinates as rows, in directions that are known."""
        return len(unknown.intersection(self.around)) == len(self.rows) and unknown.isdisjoint(self.turned)


def find_loops(model: Model, e: Equations) -> list[Loop]:
    """Yield loops that can close a triangle, by joints not in the tree that cannot open, without floating bodies."""

    def path(body: str) -> Iterator[str]:
        while body in e.chart.carriers:
            yield body
            body = e.chart.carriers[body][0]

    found, in_tree = [], {joint for _, joint in e.chart.carriers.values()}
    for joint in model.joints:
        if isinstance(joint, CLOSING) and joint.name not in in_tree and closed(joint.name) not in e.held:
            i, j = ({*path(body.name)} for body in joint.bodies)
            rows = [k for k, row in enumerate(e.rows) if row.element == joint.name]
            joints = {e.chart.carriers[body][1] for body in i ^ j}
            if "" not in joints:
                around = [k for k, c in enumerate(e.coordinates) if c.owner in joints]
                beside = [k for k in range(len(e.q)) if k not in around]
                Psi = put_zero((e.Psi[i] for i in rows), (e.q[k] for k in beside if e.coordinates[k].kind != "angle"))
                turned = [k for k in beside if e.q[k] in {*ordered(Psi)}]
                found.append(Loop(joint.name, rows, around, turned, Psi))
    return found


@dataclass
class Closing:
    """Loops closed one after the other, each by what has been found before."""

    e: Equations
    independent: list[int] = field(default_factory=list)
    solved: list[tuple[Loop, list[int]]] = field(default_factory=list)  # and what they determine
    dyads: list[Dyad] = field(default_factory=list)
    known: dict[Expr, Expr] = field(default_factory=dict)  # dependent coordinates, cosines and sines that contain them
    turns: dict[str, Turn] = field(default_factory=dict)  # of bodies that a dependent pin carries
    steady: list[Expr] = field(default_factory=list)  # that S is not zero, and that theta has not missed a half turn

    def close(self, loop: Loop, unknown: list[int]) -> list[int]:
        """Solve the rows of a loop for its unknown coordinates; what has been found, nothing or all."""
        e, child = self.e, {joint: body for body, (_, joint) in self.e.chart.carriers.items()}
        angles = [k for k in unknown if e.coordinates[k].kind == "angle"]
        shifts = [e.q[k] for k in unknown if k not in angles]
        links = {child[e.coordinates[k].owner]: k for k in angles if e.coordinates[k].owner in child}
        z = {body: (symbol(f"cos {body}"), symbol(f"sin {body}")) for body in links}
        rows = Vector(substitute(loop.Psi, self.trigonometry(z)))
        slopes = jacobian(rows.components, shifts)
        if not {e.q[k] for k in angles}.isdisjoint(ordered(rows)):
            return []  # it is no triangle
        follows = tuple(e.coordinates[k].name for k in unknown)
        if not {*shifts}.isdisjoint(ordered(slopes.values())):
            if angles or len(shifts) > 1:
                return []
            self.solve_shift(loop, rows[0], shifts[0], follows)
        elif not angles:
            self.solve_slides(loop, rows, slopes, shifts, follows)
        else:
            self.solve_triangle(loop, rows, z, shifts, follows)
        self.solved.append((loop, unknown))
        self.known |= {e.q[k]: self.count_turns(body, e.q[k]) for body, k in links.items()}
        return unknown

    def solve_triangle(
        self, loop: Loop, rows: Vector, z: Mapping[str, Turn], shifts: Sequence[Expr], follows: tuple[str, ...]
    ) -> None:
        """Find the directions z of one or two links, or of one link and a shift, of which the rows are functions.

        Those of two links, or of a link and a shift, are r(z) + the other: its length, or the line along which it
        shifts, leaves one equation f(z) = 0.
        """
        e, (body, *second) = self.e, [*z]
        others = [*z[second[0]]] if second else list(shifts)
        r, slopes = Vector(put_zero(rows, others)), jacobian(rows.components, others)
        u = Vector(slopes.get((i, 0), ZERO) for i in range(len(rows)))
        assert e.hints.arm is not None
        # By what S is measured: the two links, a link on a fixed line, or else the longest arm of all.
        if second:
            f, reach = 0.5 * (r.dot(r) - u.dot(u)), [length(r, z[body]), length(rows, others)]
        elif shifts:
            f, reach = u.perp().dot(r), [length(r, z[body]), u.dot(u)]
            if (turned := length(u, z[body])) is not ZERO:
                reach = [e.hints.arm * e.hints.arm, turned]
        else:
            f, reach = r[0], [e.hints.arm * e.hints.arm]
        # f = f_0 + f_1 . z + f_2 z . z, because turns keep lengths and angles
        f_1 = [jacobian([f], z[body]).get((0, k), ZERO) for k in range(2)]
        f_2 = 0.5 * jacobian(f_1[:1], z[body]).get((0, 0), ZERO)
        f_0, A, B = put_zero([f, *f_1], z[body])
        side = A * sin(self.phi(body)) - B * cos(self.phi(body))
        A, B, C, *reach = substitute([A, B, -(f_0 + f_2), *reach], self.known)
        n, longest = A * A + B * B, prod(reach, start=ONE)
        square, over = n - C * C, ONE / n
        S, sigma = self.root(loop, side, square, longest)
        self.turns[body] = (A * C - B * S) * over, (B * C + A * S) * over
        found = {**self.known, **dict(zip(z[body], self.turns[body], strict=True))}
        r, u = Vector(substitute(r, found)), Vector(substitute(u, found))
        if second:
            u = u / u.dot(u)
            self.turns[second[0]] = -u.dot(r), -u.perp().dot(r)
        elif shifts:
            self.known[shifts[0]] = -u.dot(r) / u.dot(u)
        self.known |= self.trigonometry(self.turns)
        self.dyads.append(Dyad(sigma, side, square / longest, loop.joint, follows))

    def solve_slides(
        self, loop: Loop, rows: Vector, slopes: Matrix, shifts: Sequence[Expr], follows: tuple[str, ...]
    ) -> None:
        """Find where two slides meet, or a slide and a line: the determinant is the sine between them."""
        side = determinant(slopes, len(shifts))
        right = [-x for x in substitute(put_zero(rows, shifts), self.known)]
        slopes = substitute_in(slopes, self.known)
        sine = determinant(slopes, len(shifts))
        S, sigma = self.root(loop, side, sine * sine, ONE)
        self.known |= zip(shifts, solve(slopes, right, S), strict=True)
        self.dyads.append(Dyad(sigma, side, sine * sine, loop.joint, follows))

    def solve_shift(self, loop: Loop, f: Expr, x: Expr, follows: tuple[str, ...]) -> None:
        """Find x along a line at a distance from a point, f = f_0 + f_1 x + f_2 x^2 = 0."""
        (slope,) = jacobian([f], [x]).values()
        (f_2,) = (0.5 * y for y in jacobian([slope], [x]).values())
        f_0, f_1, f_2 = substitute(put_zero([f, slope, f_2], [x]), self.known)
        square = f_1 * f_1 - 4 * f_0 * f_2
        S, sigma = self.root(loop, slope, square, ONE)  # the cosine between rod and line
        self.known[x] = (S - f_1) / (2 * f_2)
        self.dyads.append(Dyad(sigma, slope, square, loop.joint, follows))

    def root(self, loop: Loop, side: Expr, square: Expr, longest: Expr) -> tuple[Expr, Expr]:
        """Return sigma S, and sigma; no number where S is nearly zero."""
        sigma = symbol(f"{loop.joint}.side'")
        at_start = substitute([side], dict(zip(self.e.q, self.e.chart.start_q, strict=True)))[0]
        self.steady.append(less(DEAD * longest, square))
        S = sqrt(select(self.steady[-1], square, -ONE))
        return select(sigma, sigma, sign(at_start)) * S, sigma

    def phi(self, body: str) -> Expr:
        """Return its angle as the joints have it."""
        found = self.e.outputs["q"].get(f"{body}.phi")
        return ZERO if found is None else found.expression

    def turn(self, body: str, turns: Mapping[str, Turn]) -> Turn | None:
        """Return the cosine and sine of a body that some body of `turns` carries, or nothing."""
        if body in turns or body not in self.e.chart.carriers:
            return turns.get(body)
        parent = self.e.chart.carriers[body][0]
        before = self.turn(parent, turns)
        if before is None:
            return None
        angle = difference(self.phi(body), self.phi(parent), self.e.q)
        (c, s), c_r, s_r = before, cos(angle), sin(angle)
        return c * c_r - s * s_r, s * c_r + c * s_r

    def trigonometry(self, turns: Mapping[str, Turn]) -> dict[Expr, Expr]:
        """Return cosines and sines of the angles of all bodies that those of `turns` carry."""
        found: dict[Expr, Expr] = {}
        for body in self.e.chart.carriers:
            for f, x in zip((cos, sin), self.turn(body, turns) or (), strict=False):
                node = f(self.phi(body))
                found |= {node.args[0]: -x} if node.op == "neg" else {node: x}
        return found

    def count_turns(self, body: str, theta: Expr) -> Expr:
        """Return the angle of the pin that carries a body, by the directions of its links.

        Whole turns are those of theta.
        """
        parent = self.e.chart.carriers[body][0]
        c, s = self.turns[body]
        c_p, s_p = self.turn(parent, self.turns) or (cos(self.phi(parent)), sin(self.phi(parent)))
        c, s = c * c_p + s * s_p, s * c_p - c * s_p
        if jacobian([self.phi(body)], [theta])[0, 0] is not ONE:  # the pin is walked back
            s = -s
        self.steady.append(atan2(s * cos(theta) - c * sin(theta), c * cos(theta) + s * sin(theta)))
        return theta + self.steady[-1]


def reduce_equations(e: Equations, closing: Closing) -> Equations:
    """Return the equations for the independent coordinates of e, whose loops have been closed.

    Behind the independent ones, q has the angles that follow, only so that their turns are counted. Where constraints
    are left it has all that follows: a driver that turns evenly would otherwise let steps grow beyond what they show.
    """
    known, independent, n = closing.known, closing.independent, len(e.q)
    dependent = [k for _, columns in closing.solved for k in columns]
    left = [i for i in range(len(e.rows)) if not any(i in loop.rows for loop, _ in closing.solved)]
    counted = [k for k in dependent if left or e.coordinates[k].kind == "angle"]
    v, a, dx = ([own[k] for k in independent] for own in (e.v, e.a, e.dx))
    in_arms = replace(e, Psi=tuple(_gathered(e, closing)), hints=replace(e.hints, carried={}, gradients={}))
    C = substitute_in(in_arms.Psi_q, known)
    for loop, _ in closing.solved:
        C = {(i, k): x for (i, k), x in C.items() if i not in loop.rows or k in loop.around}

    V = _followed(closing, C, n)

    def along(x: Sequence[Expr]) -> list[Expr]:
        """Return V x."""
        return [total(entry * x[column] for column, entry in row.items()) for row in V]

    theta_d = along(v)
    known |= {e.v[k]: theta_d[k] for k in dependent}
    b = _drifted(closing, C, substitute(in_arms.gamma, known), n)
    M, Q = find_inertia(e, V, b, known, theta_d).reduced(len(v))

    theta = substitute(e.q, known)
    theta_dd = [x + y for x, y in zip(along(a), b, strict=True)]
    moving = _moving(e, known, b)
    moving |= {theta[k]: theta_d[k] for k in dependent} | {theta_d[k]: b[k] for k in dependent}
    known |= {e.a[k]: theta_dd[k] for k in dependent}
    known |= _multipliers(e, closing, known, C, substitute(e.Q, known), theta_dd)
    outputs = {kind: move_outputs(e.outputs[kind], known) for kind in ("q", "v", "a")}
    for kind, own in zip(e.chart.state, (theta, theta_d, theta_dd), strict=True):
        labels, _, units = e.columns[kind]
        outputs[kind] = dict(zip(labels, map(Output, own, units), strict=True))
    outputs |= {kind: move_outputs(own, known) for kind, own in e.outputs.items() if kind not in outputs}
    q = [*independent, *counted]
    moved = {e.q[k]: e.q[k] + x for k, x in enumerate(along(dx)) if k in q}
    return replace(
        e,
        q=tuple(e.q[k] for k in q),
        v=tuple(v),
        a=tuple(a),
        coordinates=tuple(e.coordinates[k] for k in q),
        velocities=tuple(e.velocities[k] for k in independent),
        rows=tuple(e.rows[i] for i in left),
        qd=tuple(theta_d[k] for k in q),
        M=M,
        Q=tuple(Q),
        Psi=tuple(substitute([e.Psi[i] for i in left], known)),
        slips=substitute_in({i: e.slips[k] for i, k in enumerate(left) if k in e.slips}, known),
        energy=Energy(*substitute(e.energy, known)),
        outputs=outputs,
        events=tuple(event.moved(known) for event in e.events),
        clocks=tuple(clock.moved(known) for clock in e.clocks),
        parameters={**e.parameters, **{dyad.sigma: 0.0 for dyad in closing.dyads}},
        chart=Chart(
            retract=tuple(substitute([theta[k] for k in q], moved)),
            difference=tuple(e.then[k] - e.q[k] for k in independent),
            start_q=tuple(e.chart.start_q[k] for k in q),
            start_v=tuple(e.chart.start_v[k] for k in independent),
            kind="minimal",
            state=STATE,
            counted=e.chart.counted,
            unseen=e.chart.unseen,
            body=e.chart.body,
            from_body=(tuple(e.chart.from_body[0][k] for k in q), tuple(e.chart.from_body[1][k] for k in independent)),
            carriers=e.chart.carriers,
            tree=e,
            dyads=tuple(closing.dyads),
        ),
        hints=Hints(
            carried={x: rate for x, rate in moving.items() if not x.is_constant and x not in (*e.q, *e.v)},
            arm=e.hints.arm,
            steady=frozenset(closing.steady),
            narrow=tuple(substitute(e.narrow, known)),  # how loops close is no law
        ),
    )


def _followed(closing: Closing, C: Matrix, n: int) -> list[Row]:
    """Return V of theta_d = V v, by rows: C theta_d = 0 in every loop that is closed."""
    V: list[Row] = [{} for _ in range(n)]
    for column, k in enumerate(closing.independent):
        V[k] = {column: ONE}
    for loop, columns in closing.solved:
        inner, others = _block(C, loop.rows, columns), [k for k in range(n) if k not in columns]
        for column in range(len(closing.independent)):
            right = [-total(C.get((i, k), ZERO) * V[k].get(column, ZERO) for k in others) for i in loop.rows]
            if any(x is not ZERO for x in right):
                for k, x in zip(columns, solve(inner, right), strict=True):
                    V[k][column] = x
    return V


def _drifted(closing: Closing, C: Matrix, gamma: Sequence[Expr], n: int) -> list[Expr]:
    """Return b of theta_dd = V a + b: C b = gamma in every loop that is closed."""
    b = [ZERO] * n
    for loop, columns in closing.solved:
        right = [gamma[i] - total(C.get((i, k), ZERO) * x for k, x in enumerate(b)) for i in loop.rows]
        for k, x in zip(columns, solve(_block(C, loop.rows, columns), right), strict=True):
            b[k] = x
    return b


def _moving(e: Equations, known: Mapping[Expr, Expr], b: Sequence[Expr]) -> dict[Expr, Expr]:
    """Return rates of what the bodies are and of cosines and sines of their angles.

    Of velocities without accelerations.
    """
    places = [x.expression for x in e.outputs["q"].values()]
    speeds, rises = (substitute([x.expression for x in e.outputs[kind].values()], known) for kind in ("v", "a"))
    moving = dict(zip(substitute(places, known), speeds, strict=True))
    moving |= zip(speeds, substitute(rises, dict(zip(e.a, b, strict=True))), strict=True)
    for angle, rate in zip(places[2::3], speeds[2::3], strict=True):
        c, s = substitute((cos(angle), sin(angle)), known)
        moving |= {c: -s * rate, s: c * rate}
    return moving


def _gathered(e: Equations, closing: Closing) -> list[Expr]:
    """Return Psi, with the rows of closed loops as sums of arms."""
    Psi, angles = list(e.Psi), find_angles(e.Psi, e.q)
    for loop, _ in closing.solved:
        for i, x in zip(loop.rows, gather_arms(loop.Psi, angles), strict=True):
            Psi[i] = x
    return Psi


def _multipliers(
    e: Equations, closing: Closing, known: Mapping[Expr, Expr], C: Matrix, Q: Sequence[Expr], theta_dd: Sequence[Expr]
) -> dict[Expr, Expr]:
    """Return accelerations of closed loops, the last first, by what follows from M theta_dd + C^T lam = Q."""
    rest, lam = minus(Q, substitute_in(e.M, known), theta_dd), list(e.lam)
    found: dict[Expr, Expr] = {}
    for (_, rows, *_), columns in reversed(closing.solved):
        right = [rest[k] - total(C.get((i, k), ZERO) * x for i, x in enumerate(lam) if i not in rows) for k in columns]
        for i, x in zip(rows, solve(transpose(_block(C, rows, columns)), right), strict=True):
            found[e.lam[i]] = lam[i] = x
    return found


def total(terms: Iterable[Expr]) -> Expr:
    return sum(terms, ZERO)


def put_zero(expressions: Iterable[Expr], symbols: Iterable[Expr]) -> list[Expr]:
    return substitute(expressions, dict.fromkeys(symbols, ZERO))


def _block(C: Matrix, rows: Sequence[int], columns: Sequence[int]) -> Matrix:
    return {(i, j): C.get((row, k), ZERO) for i, row in enumerate(rows) for j, k in enumerate(columns)}


def length(r: Vector, z: Sequence[Expr]) -> Expr:
    """Return the square of the length of what turns with z = (c, s) in r."""
    slope = jacobian(r.components, z)
    return total(x * x for (_, k), x in slope.items() if k == 0)


def difference(a: Expr, b: Expr, q: Sequence[Expr]) -> Expr:
    """Subtract sums a - b of q and constants, with equal terms left out."""
    slopes, (a_0, b_0) = jacobian([a, b], q), put_zero([a, b], q)
    return sum(((slopes.get((0, k), ZERO) - slopes.get((1, k), ZERO)) * x for k, x in enumerate(q)), a_0 - b_0)


def determinant(matrix: Matrix, n: int) -> Expr:
    a, b, c, d = (matrix.get(at, ZERO) for at in ((0, 0), (0, 1), (1, 0), (1, 1)))
    return a if n == 1 else a * d - b * c


def solve(matrix: Matrix, right: Sequence[Expr], divisor: Expr | None = None) -> list[Expr]:
    """Solve one equation, or two by Cramer's rule; `divisor` is the determinant where it has been found."""
    divisor = determinant(matrix, len(right)) if divisor is None else divisor
    if len(right) == 1:
        return [right[0] / divisor]
    a, b, c, d = (matrix.get(at, ZERO) for at in ((0, 0), (0, 1), (1, 0), (1, 1)))
    over = ONE / divisor
    return [(d * right[0] - b * right[1]) * over, (a * right[1] - c * right[0]) * over]
