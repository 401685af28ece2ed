"""Places in the plane as sums of arms, and the inertia of bodies at the ends of arms.

    r = r_0 + sum of A_k z_k,    z_k = exp(i psi_k),    A_k = x_k + i y_k constant

psi are the angles in which places turn. Arms keep their lengths and the angles between those that turn together, which
sums of products of cosines do not show. With conj(A_j) A_k = P + i R and d = psi_k - psi_j a mass m at r has

    G_kk = m |A_k|^2        G_jk = m (P cos d - R sin d)        H_jk = m (P sin d + R cos d) = -H_kj
    sum over k of (G_jk psi_k'' - H_jk psi_k'^2) = f_j
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from linkwork.equations.equations import Equations
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import ordered, substitute
from linkwork.expressions.graph import ZERO, Expr, cos, sin

Row = dict[int, Expr]
Matrix = dict[tuple[int, int], Expr]
Arms = dict[int, tuple[Expr, Expr]]  # A = (x, y) by the number of the angle


class Arm(NamedTuple):
    """The coefficients of cos psi and sin psi in one component of a place."""

    c: Expr
    s: Expr


class Inertia(NamedTuple):
    """G y' = f for speeds y = W v with y' = W a + rise: rates of angles, then single velocities of bodies."""

    W: list[Row]
    rise: list[Expr]
    G: Matrix
    f: list[Expr]

    def reduced(self, n: int) -> tuple[Matrix, list[Expr]]:
        """Return W^T G W, and W^T (f - G rise), of n velocities v."""
        rest = list(self.f)
        M: Matrix = {}
        for (i, j), entry in self.G.items():
            rest[i] = rest[i] - entry * self.rise[j]
            for k, x in self.W[i].items():
                for column, y in self.W[j].items():
                    M[k, column] = M.get((k, column), ZERO) + entry * (x * y)
        Q = [sum((row[k] * x for row, x in zip(self.W, rest, strict=True) if k in row), ZERO) for k in range(n)]
        return M, Q


def find_angles(places: Sequence[Expr], q: Sequence[Expr]) -> list[Expr]:
    """Return the angles of q whose cosines or sines are in the places."""
    turned = dict.fromkeys(node.args[0] for node in ordered(places) if node.op in ("cos", "sin"))
    return [psi for psi in turned if not {*q}.isdisjoint(ordered([psi]))]


def take_apart(places: Sequence[Expr], angles: Sequence[Expr]) -> tuple[list[Expr], list[dict[int, Arm]]] | None:
    """Return r_0, and of each place its arms by the number of their angle; nothing if there are products of turns."""
    nodes = [f(psi) for psi in angles for f in (cos, sin)]
    slopes = jacobian(places, nodes)
    if not {*nodes}.isdisjoint(ordered(slopes.values())):
        return None
    arms: list[dict[int, Arm]] = [{} for _ in places]
    for i, k in dict.fromkeys((i, j // 2) for i, j in slopes):
        arms[i][k] = Arm(slopes.get((i, 2 * k), ZERO), slopes.get((i, 2 * k + 1), ZERO))
    return substitute(places, dict.fromkeys(nodes, ZERO)), arms


def gather_arms(places: Sequence[Expr], angles: Sequence[Expr]) -> list[Expr]:
    """Return the places with one arm for each angle, where they are sums of arms."""
    apart = take_apart(places, angles)
    if apart is None:
        return list(places)
    return [
        sum((arm.c * cos(angles[k]) + arm.s * sin(angles[k]) for k, arm in arms.items()), r_0)
        for r_0, arms in zip(*apart, strict=True)
    ]


def combine(terms: Mapping[tuple[int, int], Expr], rows: Sequence[Row], i: int) -> Row:
    """Return row i of a matrix, times the matrix of these rows."""
    found: Row = {}
    for (line, j), factor in terms.items():
        if line == i:
            for k, x in rows[j].items():
                found[k] = found.get(k, ZERO) + factor * x
    return found


def find_inertia(
    e: Equations, V: Sequence[Row], b: Sequence[Expr], known: Mapping[Expr, Expr], theta_d: Sequence[Expr]
) -> Inertia:
    """Derive the inertia of planar bodies whose joint coordinates in e have theta_d = V v and theta_dd = V a + b."""
    assert e.chart.body is not None
    body = e.chart.body
    places, speeds, rises = ([x.expression for x in e.outputs[kind].values()] for kind in body.chart.state)
    Q = substitute(substitute(body.Q, dict(zip((*body.q, *body.v), (*places, *speeds), strict=True))), known)
    angles = find_angles(places, e.q)
    turning, B = jacobian(angles, e.q), jacobian(speeds, e.v)
    B = dict(zip(B, substitute(B.values(), known), strict=True))
    rises = substitute(rises, {**known, **dict(zip(e.a, b, strict=True))})
    z = [substitute((cos(psi), sin(psi)), known) for psi in angles]

    def along(x: Sequence[Expr], a: int) -> Expr:
        return sum((slope * x[k] for (line, k), slope in turning.items() if line == a), ZERO)

    W, f = [combine(turning, V, a) for a in range(len(angles))], [ZERO] * len(angles)
    rise = [along(b, a) for a in range(len(angles))]
    G: Matrix = {}
    pairs: dict[tuple[int, int], tuple[Expr, Expr]] = {}
    torques = [Arm(ZERO, ZERO)] * len(angles)
    for first in range(0, len(places), 3):
        x, y, turn = range(first, first + 3)
        m = body.M[x, x]
        arms = _turning_arms(places[x : y + 1], angles, e.q)
        alone = [] if arms is not None else [x, y]
        for k, (a_x, a_y) in (arms or {}).items():
            G[k, k] = G.get((k, k), ZERO) + m * (a_x * a_x + a_y * a_y)
            # (Q_x, Q_y) along i A z = (-a_y c - a_x s, a_x c - a_y s)
            torques[k] = Arm(torques[k].c + Q[y] * a_x - Q[x] * a_y, torques[k].s - Q[x] * a_x - Q[y] * a_y)
            for j, (b_x, b_y) in (arms or {}).items():
                if j < k:
                    P, R = pairs.get((j, k), (ZERO, ZERO))
                    pairs[j, k] = P + m * (b_x * a_x + b_y * a_y), R + m * (b_x * a_y - b_y * a_x)
        psi = cos(places[turn]).args
        if psi and psi[0] in angles:
            k = angles.index(psi[0])
            G[k, k] = G.get((k, k), ZERO) + body.M[turn, turn]
            f[k] = f[k] + (Q[turn] if psi[0] is places[turn] else -Q[turn])
        else:
            alone = [*alone, turn]
        for i in alone:
            if row := combine(B, V, i):
                G[len(W), len(W)] = body.M[i, i]
                W, rise, f = [*W, row], [*rise, rises[i]], [*f, Q[i]]
    for a, arm in enumerate(torques):
        f[a] = f[a] + (arm.c * z[a][0] + arm.s * z[a][1])
    for (j, k), (P, R) in pairs.items():
        (c_j, s_j), (c_k, s_k) = z[j], z[k]
        cos_d, sin_d = c_j * c_k + s_j * s_k, s_k * c_j - c_k * s_j
        G[j, k] = G[k, j] = P * cos_d - R * sin_d
        H = P * sin_d + R * cos_d
        rate_j, rate_k = along(theta_d, j), along(theta_d, k)
        f[j], f[k] = f[j] + H * (rate_k * rate_k), f[k] - H * (rate_j * rate_j)
    return Inertia(W, rise, G, f)


def _turning_arms(place: Sequence[Expr], angles: Sequence[Expr], q: Sequence[Expr]) -> Arms | None:
    """Return those of a place that is a sum of arms of constant length, or nothing."""
    apart = take_apart(place, angles)
    if apart is None:
        return None
    r_0, (x, y) = apart
    constant = {*q}.isdisjoint(ordered([*r_0, *(part for arms in (x, y) for arm in arms.values() for part in arm)]))
    if not constant or x.keys() != y.keys() or any(x[k].c is not y[k].s or x[k].s is not -y[k].c for k in x):
        return None
    return {k: (x[k].c, y[k].c) for k in x}
