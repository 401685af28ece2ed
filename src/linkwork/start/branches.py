"""Starts in singular positions, from which a motion could go on in several branches.

There Psi_q has left null vectors u that it has not elsewhere, and accelerations exist only for velocities with
u . gamma(v) = 0, a quadratic equation that the velocities along each branch satisfy. What satisfies Psi_q v = -Psi_t
alone is a mixture of its solutions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.place import Place, aside
from linkwork.errors import ModelError
from linkwork.linalg.newton import solve_least_squares
from linkwork.linalg.rank import null_space, svd
from linkwork.start.closing import align_velocity, approach, is_closed, path_of
from linkwork.tolerances import NEGLIGIBLE, TYPED

Array = NDArray[np.float64]

ASIDE = 0.1  # of the mechanism, or of a radian: a step away from a singular position, after which joints still close
TRIALS = 3  # directions in which such a step is tried: a random one is good but for a set of measure zero


def check_branch(place: Place) -> None:
    """Raise ModelError where the velocities at a singular position belong to no branch of the motion.

    From rest the accelerations take their place: v = a t solves u . gamma(v) = 0 if a does.
    """
    rank = place.rank.rank
    if rank == len(place.Psi):
        return
    lengths = np.linalg.norm(place.scaled_jacobian("mass")[0], axis=1)
    rows = np.where(place.rows.vanishing, np.max(lengths) or 1.0, lengths)  # a row that vanishes does so here alone
    left = place.rows.left_singular_vectors[:, rank:] / rows[:, None]

    def contradiction(v: Array) -> Array:
        return np.asarray(left.T @ place.at_velocity(v).gamma)

    def fastest(v: Array) -> float:
        return float(np.max(np.abs(v / place.v_scale), initial=0.0))

    v, a = place.v, _accelerations(place) if place.mass.is_regular else 0.0 * place.v
    rests = fastest(v) * fastest(v) <= TYPED * fastest(a)  # which accelerations overtake at once
    if rests:
        v = a if a.any() else align_velocity(replace(place, t=_find_departure(place)), "unit").v
    if np.max(np.abs(place.at_velocity(v).gamma) / place.row_scale) <= NEGLIGIBLE * fastest(v) * fastest(v):
        return  # as of loops that close whatever the position
    # The terms of gamma may cancel for these velocities: others as fast show how large they are.
    others = fastest(v) * place.v_scale * aside(len(v))
    size = max(float(np.linalg.norm(place.at_velocity(x).gamma / rows)) for x in (v, others))
    if np.linalg.norm(contradiction(v)) <= TYPED * size:
        return
    # The branches are those of the joints alone where drivers are at rest too.
    left_out = place.rows.vanishing | [rests and row.part == "drive" for row in place.equations.rows]
    J = place.Psi_q[~left_out] * place.v_scale
    free = place.v_scale * null_space(J)
    found, rates = [], "the rates"
    if len(free) == 1:
        found = _roots(contradiction, v, free[0] * fastest(v) / fastest(free[0]))
    elif len(free) == 2 and not np.any(place.at_velocity(0.0 * v).Psi_dot):  # up to a factor
        f, g, c, s = *free, np.cos(1.0), np.sin(1.0)  # neither direction is a branch but by chance
        found, rates = _roots(contradiction, c * f + s * g, c * g - s * f), "rates in the proportion"
        found = [x / x[np.argmax(np.abs(place.equations.turning * x))] for x in found]
    turning = [(k, name) for k, name in enumerate(place.equations.v_names) if place.equations.turning[k]]
    found = [np.where(np.abs(x) > NEGLIGIBLE * np.max(np.abs(x)), x, 0.0) for x in found]
    texts = [", ".join(f"{name} {x[k]:.6g}" for k, name in turning) for x in found]
    have = "branches have" if len(texts) > 1 else "branch has"
    branches = f"; the {have} {rates} " + " or ".join(f"({text})" for text in texts) if texts else ""
    raise _singular(
        place,
        f"its {'accelerations' if rests else 'velocities'} belong to none of the branches in which the motion could "
        f"go on{branches}",
        "start from another position" + ("" if rests else ", or give the velocities of the branch that is meant"),
    )


def _accelerations(place: Place) -> Array:
    """Solve M a + Psi_q^T lam = Q and Psi_q a = gamma for a; rows may depend on each other, rounding of it is zero."""
    J, root = place.scaled_jacobian("mass")
    y = root.T @ place.Q * (place.rank.rank < len(place.v))  # forces move nothing where no freedom is left
    held = solve_least_squares(J, place.gamma - J @ y)
    left, most = y + held, np.max(np.abs(y) + np.abs(held), initial=0.0)
    return np.asarray(root @ np.where(np.abs(left) > NEGLIGIBLE * most, left, 0.0))


def _find_departure(place: Place) -> float:
    """Find the time at which drivers that start from rest have moved by more than rounding, to a factor of two."""
    still = place.at_velocity(0.0 * place.v)
    bits = np.finfo(float).nmant
    for part in 2.0 ** np.arange(-bits, bits):  # of a second
        later = replace(still, t=place.t + part)
        if part * np.max(np.abs(later.Psi_dot) / place.row_scale) > NEGLIGIBLE:
            break
    return later.t


def _roots(contradiction: Callable[[Array], Array], v: Array, along: Array) -> list[Array]:
    """Solve u . gamma = 0 for the velocities v + s along, a quadratic equation in s; of several u, take the largest."""
    at = [contradiction(v + s * along) for s in (-1.0, 0.0, 1.0)]
    k = int(np.argmax(np.abs(at[0]) + np.abs(at[2])))
    c = np.array([0.5 * (at[0][k] - 2 * at[1][k] + at[2][k]), 0.5 * (at[2][k] - at[0][k]), at[1][k]])
    c[np.abs(c) <= NEGLIGIBLE * np.max(np.abs(c))] = 0.0  # else a branch that the drivers exclude has huge rates
    roots = np.roots(c if np.all(np.isfinite(c)) else [])
    return [v + s.real * along for s in roots if abs(s.imag) <= TYPED * (1 + abs(s))]


def leave_singular(place: Place) -> Place:
    """Return the place, or a closed one near it where more rows are independent, if this one is singular."""
    rank = place.rank.rank
    if rank == len(place.Psi):
        return place
    free = svd(place.Psi_q / place.row_scale[:, None] * place.v_scale)[2][rank:] * place.v_scale
    random = np.random.default_rng(0)
    for _ in range(TRIALS if len(free) else 0):
        along = random.normal(size=len(free))
        near = approach(place.moved(ASIDE / np.linalg.norm(along) * along @ free), "unit")
        if is_closed(near) and near.rank.rank > rank:
            return near
    return place


def check_regular(place: Place) -> None:
    """Raise ModelError where the explicit form would divide by zero: rows depend on each other here only."""
    if leave_singular(place) is not place:
        suggestion = "choose another formulation, or start from another position"
        raise _singular(place, "the explicit form divides by zero there", suggestion)


def _singular(place: Place, what: str, suggestion: str) -> ModelError:
    names = ", ".join(f"'{name}'" for name in dict.fromkeys(row.element for row in place.rows.dependent))
    message = f"the start position is singular, joints involved: {names}; {what}"
    path = path_of(place.rows.dependent[0])
    return ModelError(message, "singular-start", path=path, suggestion=suggestion)
