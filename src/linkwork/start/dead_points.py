"""Dead positions, which minimal coordinates cannot pass."""

from __future__ import annotations

from linkwork.equations.equations import DEAD, Dyad, Equations
from linkwork.equations.place import Place
from linkwork.errors import UsageError
from linkwork.expressions.evaluation import evaluate


def check_open(e: Equations) -> None:
    """UsageError where loops are closed by themselves, which positions are to be found for."""
    if e.tree is not None:
        message = "minimal coordinates are for motions: loops that are closed as triangles have no constraints to close"
        raise UsageError(f"{message}; choose the coordinates joint or body", "minimal-positions")


def find_dead(place: Place, within: float = 1.0) -> Dyad | None:
    """A dyad whose links are stretched or folded, or its slides parallel, or nearly so."""
    e = place.equations
    margins = evaluate([dyad.margin for dyad in e.dyads], place.values)
    return next((dyad for dyad, x in zip(e.dyads, margins, strict=True) if not x > within * DEAD), None)


def describe_dead(dyad: Dyad, t: float) -> str:
    follows, verb = " and ".join(f"'{name}'" for name in dyad.follows), "does" if len(dyad.follows) == 1 else "do"
    return (
        f"at t = {t:.9g} the links that close the loop at '{dyad.joint}' are stretched or folded, or its slides are "
        f"parallel, and {follows} {verb} not follow from the other joints; choose the coordinates joint or body, "
        "which pass there"
    )
