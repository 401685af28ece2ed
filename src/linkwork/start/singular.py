"""Singular positions in words: which joints take part, and what a run notes of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.equations import Row
from linkwork.notes import Note
from linkwork.tolerances import SIZABLE
from linkwork.trajectory import SingularPosition

Array = NDArray[np.float64]

STEEP = 0.6  # of the row before: where sigma vanishes between rows it falls below half, but for the bend of its curve
MOST_LOCATED = 1000  # singular positions looked for on one motion
MOST_TOLD = 4  # singular positions with a note of their own: two turns of a parallelogram


class Passed(NamedTuple):
    """A singular position on the path: its time, how much each row takes part, and how many singular values vanish."""

    t: float
    involvement: Array
    n_lost: int


def name_elements(rows: Sequence[Row], involvement: Array) -> tuple[str, ...]:
    """Return the joints and drivers whose rows take part, those that do most first."""
    parts: dict[str, float] = {}
    for row, x in zip(rows, np.abs(involvement), strict=True):
        parts[row.element] = max(parts.get(row.element, 0.0), float(x))
    most = max(parts.values(), default=0.0)
    shares = {name: round(part / most, 2) for name, part in parts.items() if part >= SIZABLE * most > 0.0}
    return tuple(sorted(shares, key=lambda name: -shares[name]))  # equal ones in the order of rows


def name_positions(rows: Sequence[Row], passed: Sequence[Passed]) -> tuple[SingularPosition, ...]:
    """Return times of the positions passed and the joints involved."""
    return tuple(SingularPosition(x.t, name_elements(rows, x.involvement)) for x in passed)


def note_singular(singular: Sequence[SingularPosition], is_driven: bool, unkept_by: str = "") -> Iterator[Note]:
    """Write notes on singular positions; `unkept_by` is a stabilization that does not keep the motion in its branch."""
    for x in singular[:MOST_TOLD]:
        yield Note("singular-position", t=x.t, joints=[*x.joints], is_driven=is_driven, unkept_by=unkept_by)
    if len(singular) > MOST_TOLD:
        yield Note("singular-position", more=len(singular) - MOST_TOLD, until=singular[-1].t)
