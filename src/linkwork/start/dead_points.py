"""Dead positions, which minimal coordinates cannot pass."""

from __future__ import annotations

from linkwork.equations.equations import DEAD, Dyad, Equations
from linkwork.equations.place import Place
from linkwork.errors import UsageError
from linkwork.notes import Reason


def check_open(e: Equations) -> None:
    """Raise UsageError where loops are closed by themselves: positions are then to be found."""
    if e.chart.tree is not None:
        message = "minimal coordinates are for motions: loops that are closed as triangles have no constraints to close"
        raise UsageError(f"{message}; choose the coordinates joint or body", "minimal-positions")


def find_dead(place: Place, within: float = 1.0) -> Dyad | None:
    """Find a dyad whose links are stretched or folded, or its slides parallel, or nearly so."""
    e = place.equations
    margins = place.find("margins", [dyad.margin for dyad in e.chart.dyads])
    return next((dyad for dyad, x in zip(e.chart.dyads, margins, strict=True) if not x > within * DEAD), None)


def explain_dead(dyad: Dyad, t: float, has_moved: bool) -> Reason:
    return Reason("dead-position", t=t, joint=dyad.joint, follows=[*dyad.follows], has_moved=has_moved)
