"""Steady motions: those that move along with a mechanism do not see it move.

A motion is steady if a symmetry of the equations carries it along: the mechanism as a whole is shifted by V and turned
by Omega, seen from the ground, and bodies spin by s about axes of their own,

    r' = V + Omega x r        e' = (Omega e + e s)/2        omega' = -s x omega,    omega = A^T Omega + s

with e quaternions of unit length and omega in the axes of the body; coordinates of other joints grow evenly. The small
motions of f are then those of f - X, X being these rates, a linear field: where f - X is zero, its spectrum depends on
no coordinates [marsden1992, ch. 4]. At rest X is zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.equations import Equations
from linkwork.equations.place import Place
from linkwork.linalg.newton import solve_least_squares

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Carrying:
    """The rates q' = L_q q + c and v' = L_v v with which a steady motion goes on, all zero at rest."""

    L_q: Array
    c: Array
    L_v: Array

    def flow(self, place: Place, tau: float) -> tuple[Place, Array, Array]:
        """Return where the motion is a time tau later, and the matrices by which changes of q and of v have come
        along.
        """
        from scipy.linalg import expm

        n = len(self.c)
        affine = expm(tau * np.block([[self.L_q, self.c[:, None]], [np.zeros((1, n + 1))]]))
        of_v = expm(tau * self.L_v)
        moved = replace(place, q=affine[:n, :n] @ place.q + affine[:n, n], v=of_v @ place.v, t=place.t + tau)
        return moved, affine[:n, :n], of_v


@dataclass(frozen=True)
class Group:
    """Coordinates and velocities of one owner that turn with the whole: its place r, its Euler parameters e."""

    r: tuple[int, ...]
    e: tuple[int, ...]
    v: tuple[int, ...]
    w: tuple[int, ...]  # omega in its own axes, or the rates of Euler parameters
    is_free: bool  # carried by the ground, so that Omega turns it

    @property
    def has_rates(self) -> bool:
        return len(self.w) == 4


def groups_of(equations: Equations) -> list[Group]:
    owners: dict[str, tuple[dict[str, int], dict[str, int]]] = {}
    for level, own in enumerate((equations.coordinates, equations.velocities)):
        for k, c in enumerate(own):
            owners.setdefault(c.owner, ({}, {}))[level][c.part] = k
    carried = {joint: parent for parent, joint in equations.chart.carriers.values() if joint}
    found = []
    for owner, (q, v) in owners.items():
        if owner in carried and "e0" not in q:
            continue  # a joint: its coordinates are along axes of its own
        r, e = (tuple(q[part] for part in parts if part in q) for parts in ("xyz", ("e0", "e1", "e2", "e3")))
        along = tuple(v[part] for part in "xyz" if part in v)
        turning = tuple(v[part] for part in ("wx", "wy", "wz", "e0", "e1", "e2", "e3") if part in v)
        if len(r) > 1 or len(e) == 4:
            found.append(Group(r, e, along, turning, carried.get(owner, "ground") == "ground"))
    return found


def skew(x: Array) -> Array:
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def rates_matrix(e: Array) -> Array:
    """Return E^T/2 of e' = E^T omega / 2, omega in the turned axes."""
    e0, e1, e2, e3 = e
    return 0.5 * np.array([[-e1, -e2, -e3], [e0, -e3, e2], [e3, e0, -e1], [-e2, e1, e0]])


def rotation(e: Array) -> Array:
    e0, v = e[0], e[1:]
    return np.asarray((e0 * e0 - v @ v) * np.eye(3) + 2.0 * np.outer(v, v) + 2.0 * e0 * skew(v))


def multiplied(left: Array, right: Array) -> Array:
    """Return the matrix of e -> (left e + e right)/2 on quaternions, left and right being vectors."""
    L = np.zeros((4, 4))
    L[0, 1:], L[1:, 0] = -left - right, left + right
    L[1:, 1:] = skew(left) - skew(right)
    return 0.5 * L


def carryings(place: Place, rate: Array, a: Array, gravity: Array) -> Iterator[Carrying]:
    """Yield what could carry a motion with these rates qd and accelerations: with the least Omega, then the least
    spins s.

    Gravity, if there is any, leaves turns about its own direction and shifts across it.
    """
    e, q, v = place.equations, place.q, place.v
    n_q, n, size = len(q), len(v), place.length
    if not v.any():
        yield Carrying(np.zeros((n_q, n_q)), np.zeros(n_q), np.zeros((n, n)))
        return
    groups, rows, right = groups_of(e), list[Array](), list[Array]()
    spinning = list[tuple[Array, Array]]()  # rows that say that nothing spins by itself
    for g in groups:
        if g.r:
            r, velocity, acceleration = (np.append(x, [0.0] * (3 - len(x))) for x in (q[[*g.r]], v[[*g.v]], a[[*g.v]]))
            rows += [np.hstack([np.eye(3), -skew(r) / size]), np.hstack([np.zeros((3, 3)), -skew(velocity) / size])]
            right += [velocity / size, acceleration / size]
        if g.e and g.is_free:
            A, (omega, omega_dot) = rotation(q[[*g.e]]), _turning(g, q, v, a)
            rows.append(np.hstack([np.zeros((3, 3)), -skew(omega) @ A.T]))
            right.append(omega_dot)
            spinning.append((np.hstack([np.zeros((3, 3)), A.T]), omega))
    free = _free_directions(gravity)

    def fit(more: list[tuple[Array, Array]]) -> Carrying:
        xi = np.zeros(6)
        if rows:
            B = np.vstack([*rows, *(row for row, _ in more)]) @ free
            xi = free @ solve_least_squares(B, np.concatenate([*right, *(y for _, y in more)]))
        return _carrying(place, rate, groups, size * xi[:3], xi[3:])

    yield fit([])
    if spinning:
        yield fit(spinning)


def _free_directions(gravity: Array) -> Array:
    """Return columns of (V, Omega) that gravity leaves; in the plane all but its own direction."""
    free = np.eye(6)
    down = np.append(gravity, [0.0] * (3 - len(gravity)))
    if len(gravity) == 2:
        free = free[:, [0, 1, 5]]
        return free if not down.any() else np.hstack([free[:, :2] @ np.array([[-down[1]], [down[0]]]), free[:, 2:]])
    if not down.any():
        return free
    along = down / np.linalg.norm(down)
    across = np.linalg.svd(along[None])[2][1:].T
    return np.block([[across, np.zeros((3, 1))], [np.zeros((3, 2)), along[:, None]]])


def _turning(g: Group, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
    """Return omega and its rate, in the axes of the body."""
    if not g.has_rates:
        return v[[*g.w]], a[[*g.w]]
    E = 4.0 * rates_matrix(q[[*g.e]]).T
    return E @ v[[*g.w]], E @ a[[*g.w]]


def _carrying(place: Place, rate: Array, groups: list[Group], shift: Array, turn: Array) -> Carrying:
    q, v = place.q, place.v
    L_q, c, L_v = np.zeros((len(q), len(q))), rate.copy(), np.zeros((len(v), len(v)))
    c[len(q) - place.equations.n_states :] = 0.0
    for g in groups:
        if g.r:
            own = np.ix_(g.r, g.r)
            L_q[own] = skew(turn)[: len(g.r), : len(g.r)]
            L_v[np.ix_(g.v, g.v)] = L_q[own]
            c[[*g.r]] = shift[: len(g.r)]
        if g.e:
            along = turn if g.is_free else np.zeros(3)
            s = _turning(g, q, v, v)[0] - rotation(q[[*g.e]]).T @ along
            L_q[np.ix_(g.e, g.e)] = multiplied(along, s)
            L_v[np.ix_(g.w, g.w)] = L_q[np.ix_(g.e, g.e)] if g.has_rates else -skew(s)
            c[[*g.e]] = 0.0
    return Carrying(L_q, c, L_v)
