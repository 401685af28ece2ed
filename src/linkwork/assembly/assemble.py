"""From a rough sketch to a position and a velocity that fit the joints.

The sketch is moved as little as possible, weighted by the masses or not at all; named coordinates stay exactly as
they are. If the way from the sketch ends before the joints are closed, other sketches with turned bodies are tried. If
none closes, the smallest set of joints that contradict each other is looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from linkwork.equations.place import Place, Weights
from linkwork.errors import ModelError, check_choice
from linkwork.mechanism import Mechanism, prepare
from linkwork.model import Model
from linkwork.motion import initial
from linkwork.motion.initial import align_velocity, approach, check_defined, gaps_by_element, is_closed

OTHER_SKETCHES = 40
TURNED, TURNED_MORE = 0.2, 0.07  # radians: the spread of angles of the first other sketch, and what each adds
SHIFTED = 0.1  # the spread of positions, of the size of the mechanism
SEED = 20041


@dataclass(frozen=True)
class Assembly:
    """The assembled position and velocity, and what it took."""

    model: str
    q: dict[str, float]
    v: dict[str, float]
    q_changes: dict[str, float]
    v_changes: dict[str, float]
    kept: tuple[str, ...]
    weights: Weights
    residual: float
    gaps_before: dict[str, dict[str, float]]
    other_sketch: bool  # whether bodies had to be turned before the joints would close

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def assemble(model: Model | Mechanism, keep: Sequence[str] = (), weights: Weights = "mass") -> Assembly:
    """The nearest closed position and the nearest velocity along it; coordinates named in `keep` do not change."""
    mechanism = prepare(model)
    equations, given = mechanism.equations, mechanism.place()
    check_defined(given)
    names = equations.q_names
    for name in keep:
        check_choice("coordinate", name, names)
    kept = [equations.v_names.index(name) for name in keep]
    place = approach(given, weights, kept)
    other_sketch = not is_closed(place)
    if other_sketch:
        place = _close_other_sketches(given, place, weights, kept)
    place = align_velocity(place, weights, kept)
    start = initial.Start(place, given, weights)
    return Assembly(
        model=mechanism.model.name,
        q=dict(zip(names, place.q.tolist(), strict=True)),
        v=dict(zip(equations.v_names, place.v.tolist(), strict=True)),
        q_changes=start.q_changes,
        v_changes=start.v_changes,
        kept=tuple(keep),
        weights=weights,
        residual=float(np.max(np.abs(place.Psi), initial=0.0)),
        gaps_before=gaps_by_element(equations, given.Psi),
        other_sketch=other_sketch,
    )


def _close_other_sketches(given: Place, nearest: Place, weights: Weights, kept: Sequence[int]) -> Place:
    """The closed place nearest to the sketch that is found from sketches with turned and shifted bodies."""
    random = np.random.default_rng(SEED)
    turning = given.equations.turning
    found = []
    for k in range(OTHER_SKETCHES):
        dx = random.normal(size=len(given.v)) * np.where(turning, TURNED + TURNED_MORE * k, SHIFTED * given.length)
        dx[list(kept)] = 0.0
        place = approach(given.moved(dx), weights, kept)
        if is_closed(place):
            found.append(place)
        elif np.linalg.norm(place.Psi / given.row_scale) < np.linalg.norm(nearest.Psi / given.row_scale):
            nearest = place
    if not found:
        conflict = ", ".join(f"'{name}'" for name in _conflict(given, nearest, weights, kept))
        gaps = initial.describe_gaps(given, initial.minimize_gap(nearest, kept).Psi, initial.CLOSED_BESIDE)
        message = f"the joints {conflict} contradict each other: best found {gaps}"
        rule = f"no position closes them all, from the sketch and from {OTHER_SKETCHES} others"
        hint = "check the lengths between these joints" + (", or keep fewer coordinates" if kept else "")
        raise ModelError(message, "cannot-close", rule=rule, suggestion=hint)
    return min(found, key=lambda place: float(np.linalg.norm((place.q - given.q) / given.q_scale)))


def _conflict(given: Place, nearest: Place, weights: Weights, kept: Sequence[int]) -> list[str]:
    """Joints of which none can be left out without the others closing."""
    rows: dict[str, list[int]] = {}
    for k, row in enumerate(given.equations.rows):
        rows.setdefault(row.element, []).append(k)
    needed = list(rows)
    # Masses make a light link turn far for each step, so that the way can be too long; without them it is not.
    ways: list[tuple[Place, Weights]] = [(given, weights), (nearest, weights), (given, "unit"), (nearest, "unit")]
    for name in rows:
        others = [k for other in needed if other != name for k in rows[other]]
        if not any(is_closed(approach(place, by, kept, others), others) for place, by in ways):
            needed.remove(name)
    return needed
