"""Start values that satisfy the constraints.

The start position is moved by the smallest change, weighted by the masses or not at all, that closes the joints
(Gauss-Newton on Psi with least-norm steps); then the velocities likewise by Psi_q v = -Psi_t.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.equations import TIME, Equations
from linkwork.errors import ModelError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import Expr

Array = NDArray[np.float64]
Weights: TypeAlias = Literal["mass", "unit"]

MAX_ITERATIONS = 60
MOST_DAMPED = 200
CLOSED = 1e-11  # of the size of the mechanism
CLOSED_BESIDE = 1e-6  # the same for joints beside others that cannot close
SMALL = 0.05  # of the size of the mechanism, or radians: what is corrected without being asked
RANK_TOLERANCE = 1e-9  # relative to the largest singular value of the scaled Jacobian
CLEAR_GAP = 1e3  # singular values on the two sides of the decision should differ by this factor


@dataclass(frozen=True)
class Rank:
    """The rank of Psi_q, decided on its singular values with rows scaled to length one in the metric of M^-1."""

    values: Array  # all singular values, descending
    rank: int
    dependent: tuple[str, ...]  # the rows that take part in a dependence

    @property
    def smallest(self) -> float:
        """The smallest singular value that counts."""
        return float(self.values[self.rank - 1]) if self.rank else 1.0

    @property
    def gap(self) -> float:
        """The ratio of the last value that counts to the first that does not."""
        if self.rank in (0, len(self.values)):
            return np.inf
        return float(self.values[self.rank - 1] / max(self.values[self.rank], 1e-300))

    @property
    def uncertain(self) -> bool:
        return self.gap < CLEAR_GAP or (self.rank > 0 and self.smallest < CLEAR_GAP * RANK_TOLERANCE * self.values[0])


@dataclass(frozen=True)
class Place:
    """Constraints and their Jacobian at one position and velocity, evaluated without compiling anything."""

    equations: Equations
    q: Array
    v: Array
    t: float = 0.0

    @cached_property
    def values(self) -> dict[Expr, float]:
        e = self.equations
        return {
            **e.parameters,
            TIME: self.t,
            **dict(zip(e.q, self.q, strict=True)),
            **dict(zip(e.v, self.v, strict=True)),
        }

    def _evaluate(self, expressions: Iterable[Expr]) -> Array:
        return np.array(evaluate(expressions, self.values), dtype=float)

    @cached_property
    def Psi(self) -> Array:
        return self._evaluate(self.equations.Psi)

    @cached_property
    def Psi_dot(self) -> Array:
        return self._evaluate(self.equations.Psi_dot)

    @cached_property
    def Psi_q(self) -> Array:
        return self._dense(self.equations.Psi_q, (len(self.equations.Psi), len(self.equations.v)))

    @cached_property
    def M(self) -> Array:
        n = len(self.equations.v)
        return self._dense(self.equations.M, (n, n))

    def _dense(self, entries: Mapping[tuple[int, int], Expr], shape: tuple[int, int]) -> Array:
        matrix = np.zeros(shape)
        for (i, j), value in zip(entries, self._evaluate(entries.values()), strict=True):
            matrix[i, j] = value
        return matrix

    def moved(self, dx: Array) -> Place:
        e = self.equations
        q = evaluate(e.retract, {**self.values, **dict(zip(e.dx, dx, strict=True))})
        return Place(e, np.array(q, dtype=float), self.v, self.t)

    def pushed(self, dv: Array) -> Place:
        return Place(self.equations, self.q, self.v + dv, self.t)

    def scaled_jacobian(self, weights: Weights, kept: Sequence[int] = ()) -> tuple[Array, Array]:
        """Psi_q W^-1/2 and W^-1/2, W being M (or one, also where a body has no mass), without the columns `kept`."""
        free = np.delete(np.arange(len(self.v)), list(kept))
        root = np.eye(len(self.v))[:, free]
        if weights == "mass" and np.all(np.diag(self.M) > 0.0):
            root[free] = np.linalg.inv(np.linalg.cholesky(self.M[np.ix_(free, free)])).T
        return self.Psi_q @ root, root

    @cached_property
    def rank(self) -> Rank:
        J, _ = self.scaled_jacobian("mass")
        J = J / np.maximum(np.linalg.norm(J, axis=1), 1e-300)[:, None]
        values = np.zeros(len(J))
        values[: min(J.shape)] = np.linalg.svd(J, compute_uv=False) if J.size else ()
        rank = int(np.sum(values > RANK_TOLERANCE * values[0])) if len(values) else 0
        rows: tuple[str, ...] = ()
        if rank < len(J):
            U = np.linalg.svd(J)[0]
            involved = np.max(np.abs(U[:, rank:]), axis=1) > 1e-6
            rows = tuple(str(row) for row, yes in zip(self.equations.rows, involved, strict=True) if yes)
        return Rank(values, rank, rows)


def size(place: Place) -> float:
    """A length of the mechanism: how far its bodies reach, from their positions and the Jacobian's arms."""
    names = place.equations.q_names
    spots = [abs(x) for name, x in zip(names, place.q, strict=True) if name.rsplit(".", 1)[1] in "xyz"]
    turning = [
        k for k, name in enumerate(place.equations.v_names) if name.rsplit(".", 1)[1] in ("phi", "wx", "wy", "wz")
    ]
    arms = np.abs(place.Psi_q[:, turning]) if turning and len(place.Psi) else np.zeros((1, 1))
    return float(max([*spots, np.max(arms, initial=0.0), 1e-6]))


def are_angles(equations: Equations) -> list[bool]:
    """Whether rows of Psi are in radians; a driver's is if it acts on turns alone."""
    shifted = {row for row, column in equations.Psi_q if equations.v_names[column].rsplit(".", 1)[1] in "xyz"}
    return [row.part == "angle" or (row.part == "drive" and k not in shifted) for k, row in enumerate(equations.rows)]


def gaps_by_element(equations: Equations, gaps: Array) -> dict[str, dict[str, float]]:
    """|Psi| of every joint and driver: {"B": {"m": 0.003, "rad": 0.0}}."""
    result: dict[str, dict[str, float]] = {}
    for row, is_angle, gap in zip(equations.rows, are_angles(equations), gaps, strict=True):
        unit = "rad" if is_angle else "m"
        known = result.setdefault(row.element, {})
        known[unit] = float(np.hypot(known.get(unit, 0.0), gap))
    return result


def describe_gaps(equations: Equations, gaps: Array, least: float = 0.0) -> str:
    """'B 3.1e-02 m, C 1.2e-03 rad', the widest first; the widest of all even if it is not above `least`."""
    parts = sorted(
        (
            (value, f"'{element}' {value:.3g} {unit}")
            for element, by_unit in gaps_by_element(equations, gaps).items()
            for unit, value in by_unit.items()
        ),
        reverse=True,
    )
    return ", ".join(text for k, (value, text) in enumerate(parts[:6]) if k == 0 or value > least)


@dataclass(frozen=True)
class Start:
    """Consistent start values, and what had to be changed."""

    place: Place
    given: Place
    weights: Weights

    @property
    def q_changes(self) -> dict[str, float]:
        return _changes(self.place.equations.q_names, self.place.q - self.given.q)

    @property
    def v_changes(self) -> dict[str, float]:
        return _changes(self.place.equations.v_names, self.place.v - self.given.v)


def _changes(names: tuple[str, ...], changes: Array) -> dict[str, float]:
    return {name: float(d) for name, d in zip(names, changes, strict=True) if abs(d) > 1e-12}


def start_values(equations: Equations, weights: Weights = "mass", any_distance: bool = False) -> Start:
    """The start values of the model, corrected where they miss the constraints.

    A gap beyond SMALL is an error unless `any_distance` is set: so far off, another closure may be meant.
    """
    e = equations
    given = Place(e, *e.start())
    if not len(given.Psi):
        return Start(given, given, weights)
    check_defined(given)
    length = size(given)
    widest = np.max(np.abs(given.Psi) / np.where(are_angles(e), 1.0, length))
    if widest > SMALL and not any_distance:
        raise ModelError(
            f"the start position does not fit the joints: {describe_gaps(e, given.Psi)}",
            "start-far-off",
            rule=f"gaps up to {SMALL:.0%} of the mechanism, or {SMALL:g} rad, are corrected unasked",
            suggestion="correct the start positions, or ask for assembly from afar with --assemble",
        )
    place = closed(given, weights, length)
    return Start(with_consistent_velocity(place, weights), given, weights)


def check_defined(place: Place) -> None:
    """ModelError where a constraint or its Jacobian has no value, as a distance of zero has no direction."""
    values = np.column_stack([place.Psi, place.Psi_dot, place.Psi_q])
    undefined = [row.element for row, x in zip(place.equations.rows, values, strict=True) if not np.all(np.isfinite(x))]
    if undefined:
        names = ", ".join(f"'{name}'" for name in dict.fromkeys(undefined))
        raise ModelError(
            f"{names} cannot be evaluated at the start position",
            "undefined-start",
            rule="a distance between points that coincide has no direction",
            suggestion="start with the points apart, or drive x or y in the place of the distance",
        )


def is_closed(place: Place, length: float, rows: Sequence[int] | None = None) -> bool:
    """Whether the joints (of all rows, or some) are closed but for the last digits."""
    gaps = place.Psi if rows is None else place.Psi[list(rows)]
    return bool(np.max(np.abs(gaps), initial=0.0) <= 1e3 * CLOSED * length)


def closed(place: Place, weights: Weights, length: float, kept: Sequence[int] = ()) -> Place:
    """The place moved until the joints close; the velocities numbered in `kept` stay zero."""
    nearest = approach(place, weights, length, kept)
    if is_closed(nearest, length):
        return nearest
    gaps = describe_gaps(place.equations, least_gap(nearest, length, kept).Psi, CLOSED_BESIDE * length)
    raise ModelError(
        f"the joints cannot close from this start position; best found: {gaps}",
        "cannot-close",
        suggestion="check lengths and start positions of the bodies in this loop",
    )


def approach(
    place: Place, weights: Weights, length: float, kept: Sequence[int] = (), rows: Sequence[int] | None = None
) -> Place:
    """The place moved towards Psi = 0 (of all rows, or some): q <- q + dx with the least-norm dx of Psi_q dx = -Psi."""
    chosen = slice(None) if rows is None else list(rows)

    def gaps(at: Place) -> Array:
        return at.Psi[chosen]

    widest = np.inf
    for k in range(MAX_ITERATIONS):
        before, widest = widest, np.max(np.abs(gaps(place)), initial=0.0)
        # What was open and is closed gets one step more, which brings it to rounding.
        if widest <= CLOSED * length and (k == 0 or before <= CLOSED * length):
            break
        J, root = place.scaled_jacobian(weights, kept)
        dx = root @ np.linalg.lstsq(J[chosen], -gaps(place), rcond=RANK_TOLERANCE)[0]
        dx *= min(1.0, 1.0 / np.max(np.abs(dx) / _reach(place, length), initial=1e-300))
        for _ in range(20):
            trial = place.moved(dx)
            if np.linalg.norm(gaps(trial)) < np.linalg.norm(gaps(place)):
                break
            dx = 0.5 * dx
        else:
            break
        place = trial
    return place


def least_gap(place: Place, length: float, kept: Sequence[int] = ()) -> Place:
    """Where |Psi|, angles times `length`, is smallest nearby: for joints that cannot close. By damped steps."""
    scale = np.where(are_angles(place.equations), length, 1.0)
    free = np.delete(np.arange(len(place.v)), list(kept))
    reach = _reach(place, length)[free]
    damping, r = 1e-2, scale * place.Psi
    for _ in range(MOST_DAMPED):
        J = scale[:, None] * place.Psi_q[:, free] * reach
        A = np.vstack([J, damping * np.linalg.norm(J) * np.eye(len(free))])
        dx = np.zeros(len(place.v))
        dx[free] = reach * np.linalg.lstsq(A, np.concatenate([-r, np.zeros(len(free))]), rcond=None)[0]
        trial = place.moved(dx)
        r_trial = scale * trial.Psi
        gain = np.linalg.norm(r) - np.linalg.norm(r_trial)
        if gain > 0.0:
            place, r, damping = trial, r_trial, 0.3 * damping
        else:
            damping *= 4.0
        if damping > 1e3 or 0.0 < gain < 1e-9 * np.linalg.norm(r):
            break
    return place


def _reach(place: Place, length: float) -> Array:
    """How far one step may go: a turn of half a radian, a shift of half the mechanism."""
    turning = [name.rsplit(".", 1)[1] not in "xyz" for name in place.equations.v_names]
    return np.where(turning, 0.5, 0.5 * length)


def with_consistent_velocity(place: Place, weights: Weights, kept: Sequence[int] = ()) -> Place:
    """v changed least so that Psi_q v = -Psi_t; the velocities numbered in `kept` stay as they are."""
    for _ in range(2):
        if np.max(np.abs(place.Psi_dot), initial=0.0) > CLOSED * (1.0 + np.max(np.abs(place.v), initial=0.0)):
            J, root = place.scaled_jacobian(weights, kept)
            place = place.pushed(root @ np.linalg.lstsq(J, -place.Psi_dot, rcond=RANK_TOLERANCE)[0])
    agreed = 1e-9 * (1.0 + np.max(np.abs(place.v), initial=0.0))
    if np.max(np.abs(place.Psi_dot), initial=0.0) > agreed:
        gaps = describe_gaps(place.equations, place.Psi_dot, agreed)
        raise ModelError(
            f"no velocities satisfy the joints and drivers; left over per second: {gaps}",
            "velocities-conflict",
            suggestion="two drivers may act on one freedom, or a driver on a freedom that the joints have taken",
        )
    return place
