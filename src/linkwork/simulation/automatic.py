"""A motion with the method that suits it: explicit, and implicit where it is stiff."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linkwork.integrators.integrate import End, Slice, join_slices
from linkwork.integrators.methods import RADAU5
from linkwork.integrators.methods.tableaus import DOP853
from linkwork.notes import Note

Array = NDArray[np.float64]
Slices = Callable[[Array, Array, Array], Iterator[Slice]]  # of the times, from a state, with what events have changed

SHOWN = 3  # changes that the note gives times of


def choose_as_it_goes(explicit: Slices, implicit: Slices, times: Array, y: Array, held: Array) -> Iterator[Slice]:
    """The motion from this state; where a method asks for the other, that goes on from the same state.

    What an implicit form has among its unknowns behind those of y is left out.
    """
    before: Slice | None = None
    is_stiff, remaining, ny = False, times, len(y)
    while True:
        for part in (implicit if is_stiff else explicit)(remaining, y, held):
            if len(part.y) > ny:
                part = replace(part, y=part.y[:ny], rows=part.rows[:, :ny])
            joined = part if before is None else join_slices(before, part)
            if part.status == End.UNSUITED:
                break
            yield joined
        if part.status != End.UNSUITED:
            return
        is_stiff = not is_stiff
        name = RADAU5 if is_stiff else DOP853.name
        joined = replace(joined, status=End.BUDGET, changes=(*joined.changes, (part.t, name)))
        yield joined
        before, y, held = replace(joined, times=joined.times[:0], rows=joined.rows[:0]), part.y, part.held
        remaining = np.append(part.t, times[times > part.t])


def note_methods(changes: tuple[tuple[float, str], ...]) -> Iterator[Note]:
    """Which method took over when."""
    if changes:
        yield Note("stiff", first=DOP853.name, changes=[*map(list, changes[:SHOWN])], more=len(changes[SHOWN:]))
