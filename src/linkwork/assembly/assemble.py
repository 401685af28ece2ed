"""From a rough sketch to a position and a velocity that fit the joints.

The sketch is moved as little as possible, weighted by the masses or not at all; named coordinates stay exactly as
they are (start/closing.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from linkwork.arrays import Array
from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.elements.kinds import Coordinate
from linkwork.equations.coordinates import Coordinates
from linkwork.equations.place import Weights
from linkwork.errors import check_choice, checked_call
from linkwork.model import Model
from linkwork.records import Printed
from linkwork.start.closing import (
    WEIGHTS,
    Fitted,
    align_velocity,
    check_defined,
    close_from_afar,
    close_plainly,
    group_gaps,
    number_kept,
)
from linkwork.start.dead_points import check_open
from linkwork.tolerances import ROUNDING


@dataclass(frozen=True, repr=False)
class Assembly(Printed):
    """The assembled position and velocity of the bodies, and what it took.

    `theta` and `theta_d` are the coordinates and velocities that were moved where these are not those of the bodies,
    else nothing; `q_changes` and `v_changes` go by the names of what was moved.
    """

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
    theta: dict[str, float]
    theta_d: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        from linkwork.view.report import aligned, assembly_lines

        return aligned(assembly_lines(self))


def closed(model: Model | Mechanism) -> Model:
    """Return the model with the start that `assemble` finds."""
    found = assemble(model)
    own: Model = model.model if isinstance(model, Mechanism) else getattr(model, "model", model)
    return own.with_start(found.q, found.v)


@checked_call()
@np.errstate(all="ignore")  # what is not finite is looked for where it matters
def assemble(
    model: Model | Mechanism,
    keep: Sequence[str] = (),
    weights: Weights = "mass",
    coordinates: str | Coordinates | None = None,
) -> Assembly:
    """Find the nearest closed position and the nearest velocity there; coordinates named in `keep` do not change."""
    check_choice("weights", weights, [name for name in WEIGHTS if name != "none"])
    mechanism = prepare(model, coordinates)
    check_open(mechanism.equations)
    equations, given = mechanism.equations, mechanism.place()
    check_defined(given)
    kept = number_kept(equations, keep)
    if weights == "plain":
        place, other_sketch = close_plainly(given, kept), False
    else:
        place, other_sketch = close_from_afar(given, weights, kept)
    place = align_velocity(place, weights, kept)
    start = Fitted(place, given, weights)
    bodies = equations.chart.body or equations
    q, v = place.of_bodies()
    own = (equations.coordinates, place.q), (equations.velocities, place.v)
    theta, theta_d = ({} if bodies is equations else _without_rounding(*both) for both in own)
    return Assembly(
        model=mechanism.model.name,
        q=_without_rounding(bodies.coordinates, q),
        v=_without_rounding(bodies.velocities, v),
        q_changes=start.q_changes,
        v_changes=start.v_changes,
        kept=tuple(keep),
        weights=weights,
        residual=float(np.max(np.abs(place.Psi), initial=0.0)),
        gaps_before=group_gaps(equations, given.Psi),
        other_sketch=other_sketch,
        theta=theta,
        theta_d=theta_d,
    )


def _without_rounding(columns: Sequence[Coordinate], x: Array) -> dict[str, float]:
    """Return the values by name, zero where they are rounding beside the largest of their kind."""
    sizes: dict[str, float] = {}
    for c, value in zip(columns, x, strict=True):
        sizes[c.kind] = max(sizes.get(c.kind, 0.0), abs(value))
    return {c.name: float(y) if abs(y) > ROUNDING * sizes[c.kind] else 0.0 for c, y in zip(columns, x, strict=True)}
