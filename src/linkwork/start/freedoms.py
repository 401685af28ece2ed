"""Whether the drivers of a mechanism take its freedoms: all of them, each once.

At a position where the joints are closed, the columns of Z span the velocities they allow, J Z = 0. The drivers, with
the rows D of Psi_q, take all freedoms once if D Z is square and regular. Velocities Z y with D Z y = 0 are not driven;
drivers in x with x^T D Z = 0 drive what others determine already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism
from linkwork.equations.equations import Equations
from linkwork.equations.place import OFF, Place
from linkwork.errors import MOST_NAMED, ModelError, quoted
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import constant
from linkwork.linalg.rank import RANK_TOLERANCE, null_space, row_sizes, svd
from linkwork.model import Model
from linkwork.start.closing import check_defined, close_joints, find_start, path_of
from linkwork.tolerances import AGREEMENT, SIZABLE, TYPED

Array = NDArray[np.float64]

PREFERRED = 1e3  # weight of turns, which are named first: shifts are of the size of the mechanism, 1 mm to 1 km


def check_driving(mechanism: Mechanism, assemble: bool = False) -> None:
    """Raise ModelError unless every freedom of the mechanism has one driver."""
    model, e = mechanism.model, mechanism.equations
    _check_connected(model)
    drivers = {driver.name for driver in model.drivers}
    of_driver = np.array([row.element in drivers for row in e.rows], dtype=bool)
    found: Equations = mechanism.shared.compiled(("joints alone",), lambda e: select_rows(e, ~of_driver))
    joints = found.with_values(e.parameters)
    q, v = joints.start()
    place = find_start(Place(joints, q, 0.0 * v), "unit", any_distance=assemble).place
    whole = Place(e, place.q, place.v)
    check_defined(whole)
    taken = share_freedoms(whole, of_driver)
    loose, spare = taken.loose, taken.spare
    if loose.size:
        if not all(_moves(e, whole, of_driver, loose[:, k]) for k in range(loose.shape[1])):
            raise explain_singular_start(whole)
        raise _undriven(e, reduce_basis(e, loose), _involved(model, spare))
    if spare.size:
        raise _over_driven(_involved(model, spare), whole, of_driver, spare)


class Shared(NamedTuple):
    """How rows D take the freedoms Z that other rows J leave, all on the scales of the mechanism, D of length one."""

    share: Array  # D Z
    loose: Array  # velocities Z y with D Z y = 0, which are not taken
    spare: Array  # x with x^T D Z = 0: rows that take what others do


def share_freedoms(place: Place, of_driver: NDArray[np.bool_]) -> Shared:
    """Return how some rows of Psi_q take the freedoms that the others leave."""
    J, root = place.scaled_jacobian("unit")
    lengths = row_sizes(J)
    Z = null_space(J[~of_driver]).T
    share = (J / lengths[:, None])[of_driver] @ Z
    U, values, V_T = svd(share)
    rank = int(np.sum(values > RANK_TOLERANCE))
    return Shared(share, root @ Z @ V_T[rank:].T, U[:, rank:] / lengths[of_driver, None])


def explain_singular_start(place: Place) -> ModelError:
    """Return the error for a mechanism that starts where its constraints lose rank."""
    rank = place.rows.rank
    J, root = place.scaled_jacobian("unit")
    loose = root @ null_space(J).T
    ways = "; or ".join(describe_motions(place.equations, reduce_basis(place.equations, loose)))
    smallest = ", ".join(f"{s:.2e}" for s in rank.values[-3:])
    elements = {row.element: None for row in place.rows.dependent}
    return ModelError(
        f"the start position is singular (smallest singular values {smallest}): its motion could go on in several "
        f"ways, with {ways}; joints involved: {quoted(elements)}",
        "singular-start",
        path=path_of(place.rows.dependent[0]) if elements else None,
        suggestion="start from another position, on the branch that is meant",
    )


def reduce_basis(equations: Equations, basis: Array) -> Array:
    """Return another basis of the same space: in every vector a coordinate moves, a turn if possible, that rests in
    others.
    """
    return choose_independent(equations, basis)[1]


def choose_independent(equations: Equations, basis: Array, first: Sequence[int] = ()) -> tuple[list[int], Array]:
    """Return these coordinates, those of `first` before others, and the basis that is the identity in them."""
    rows, chosen = basis.T.copy(), list[int]()
    weights = np.where(equations.turning, PREFERRED, 1.0)
    for k in range(len(rows)):
        sizes = weights * np.max(np.abs(rows[k:]), axis=0)
        column = first[k] if k < len(first) else int(np.argmax(sizes))
        pivot = k + int(np.argmax(np.abs(rows[k:, column])))
        rows[[k, pivot]] = rows[[pivot, k]]
        rows[k] /= rows[k, column]
        for i in range(len(rows)):
            if i != k:
                rows[i] -= rows[i, column] * rows[k]
        chosen.append(column)
    return chosen, rows.T


def describe_motions(equations: Equations, basis: Array) -> list[str]:
    """Return velocities in words, one text for each column: "'slider' along x, 'rod' along (0.6, 0.8) and turning"."""
    owners: dict[str, list[int]] = {}
    for k, velocity in enumerate(equations.velocities):
        owners.setdefault(velocity.owner, []).append(k)
    texts = []
    for v in basis.T:
        v = np.where(np.abs(v) > TYPED * np.max(np.abs(v)), v, 0.0)
        moving = [(owner, _describe(equations, v, columns)) for owner, columns in owners.items()]
        shown = [f"'{owner}' {how}" for owner, how in moving if how]
        more = f" and {len(shown) - MOST_NAMED} bodies more" if len(shown) > MOST_NAMED else ""
        texts.append(", ".join(shown[:MOST_NAMED]) + more)
    return texts


def _describe(equations: Equations, v: Array, columns: Sequence[int]) -> str:
    """Describe the velocity of one body in words."""
    shifts = [k for k in columns if not equations.turning[k]]
    words = []
    if v[shifts].any():
        along = v[shifts] / np.linalg.norm(v[shifts])
        axis = [equations.velocities[k].part for k, x in zip(shifts, np.abs(along), strict=True) if x > 1 - AGREEMENT]
        words.append(
            f"along {axis[0]}".removesuffix(" ") if axis else f"along ({', '.join(f'{x:.3g}' for x in along)})"
        )
    if any(v[k] for k in columns if equations.turning[k]):
        words.append("turning")
    return " and ".join(words)


def _check_connected(model: Model) -> None:
    """Check that every body hangs together with the ground, by joints or by drivers."""
    if apart := model.not_connected:
        raise ModelError(
            f"nothing connects {quoted(apart)} to the ground, so no driver determines its position",
            "not-connected",
            path=f"bodies.{apart[0]}",
            rule="a kinematic analysis needs every freedom driven",
            suggestion="add a joint to the ground, or simulate the motion",
        )


def select_rows(e: Equations, chosen: NDArray[np.bool_]) -> Equations:
    """Return the equations with some of their constraints."""
    return e.with_rows(np.flatnonzero(chosen).tolist())


def _moves(e: Equations, place: Place, of_driver: NDArray[np.bool_], direction: Array) -> bool:
    """Tell whether the mechanism, its drivers held where they are, can really be moved in this direction.

    In a singular position the direction is one of first order only, and closing the joints leads back.
    """
    Psi = tuple(x - constant(gap) if driven else x for x, gap, driven in zip(e.Psi, place.Psi, of_driver, strict=True))
    held = replace(e, Psi=Psi)
    dx = OFF * direction / np.max(np.abs(direction) / place.v_scale)
    try:
        moved = close_joints(Place(held, place.q, place.v).moved(dx), "unit")
    except ModelError:
        return False
    e = place.equations
    known = dict(zip((*e.q, *e.then), (*place.q, *moved.q), strict=True))
    way = np.array(evaluate(e.chart.difference, known), dtype=float) / place.v_scale
    dx = dx / place.v_scale
    return bool(way @ dx > 0.5 * dx @ dx)


def _involved(model: Model, vectors: Array) -> list[str]:
    """Return the drivers with a notable component in one of the vectors."""
    if not vectors.size:
        return []
    parts = np.max(np.abs(vectors), axis=1)
    return [driver.name for driver, x in zip(model.drivers, parts, strict=True) if x > SIZABLE * np.max(parts)]


def list_motions(e: Equations, basis: Array) -> str:
    """Return velocities in words, numbered if there are several."""
    texts = describe_motions(e, basis)
    listed = [f"({k}) {text}" if len(texts) > 1 else text for k, text in enumerate(texts[:MOST_NAMED], start=1)]
    more = [f"and {len(texts) - MOST_NAMED} more"] if len(texts) > MOST_NAMED else []
    return "; ".join([*listed, *more])


def _undriven(e: Equations, basis: Array, spare: Sequence[str]) -> ModelError:
    several, listed = basis.shape[1] > 1, list_motions(e, basis)
    also = f"; {quoted(spare)} drive{'s' * (len(spare) == 1)} what is driven already" if spare else ""
    return ModelError(
        f"{basis.shape[1]} {'freedoms are' if several else 'freedom is'} not driven: {listed}{also}",
        "undriven",
        path=path_of_fastest(e, basis[:, 0]),
        value=basis.shape[1],
        rule="a kinematic analysis needs one driver for every freedom",
        suggestion="add drivers, or simulate the motion",
    )


def path_of_fastest(e: Equations, v: Array) -> str:
    owner = e.velocities[int(np.argmax(np.abs(v)))].owner
    return f"{'bodies' if e.chart.body is None else 'joints'}.{owner}"


def _over_driven(names: Sequence[str], place: Place, of_driver: NDArray[np.bool_], spare: Array) -> ModelError:
    """Return drivers that depend on each other, x^T D Z = 0: they agree at t = 0 if x^T Psi and x^T Psi_t vanish
    there.
    """
    who = quoted(names)
    act = f"drivers {who} act on the same freedom" if len(names) > 1 else f"driver {who} has no freedom left to drive"
    still = Place(place.equations, place.q, np.zeros_like(place.v))
    x = spare / np.max(np.abs(spare), axis=0)

    def difference(rows: Array, scale: Array) -> float:
        size = float(np.max(np.abs(x.T @ rows[of_driver])))
        return size if size > AGREEMENT * np.max(scale[of_driver]) else 0.0

    gap, speed = difference(still.Psi, still.row_scale), difference(still.Psi_dot, np.abs(still.Psi_dot))
    if not (gap or speed):
        return ModelError(
            act,
            "over-driven",
            path=f"drivers.{names[-1]}",
            value=list(names),
            rule="a kinematic analysis needs one driver for every freedom",
            suggestion="remove one driver",
        )
    return ModelError(
        f"{act} and cannot be followed: at t = 0 they differ by {gap:.3g}, their rates by {speed:.3g} per second",
        "drivers-conflict",
        path=f"drivers.{names[-1]}",
        value=max(gap, speed),
        suggestion="remove one driver",
    )
