"""A mechanism as a page that simulates: in a cell of a notebook, in the browser, as a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.driven.kinematics import kinematics
from linkwork.errors import checked_call
from linkwork.model import Model
from linkwork.simulation.simulate import simulate
from linkwork.start.check import is_driven
from linkwork.trajectory import Trajectory
from linkwork.view.cell import cell
from linkwork.view.page import open_page, write
from linkwork.web.program import Program, program


@dataclass(frozen=True, eq=False)
class LivePage:
    """A motion with the program that computes it, and others, in a page."""

    motion: Trajectory
    program: Program

    def save(self, path: str | Path) -> None:
        """Write the page, .html, which needs nothing but itself."""
        write([self.motion], path, live=self.program)

    def view(self) -> None:
        """Open the page in the browser."""
        open_page([self.motion], self.program)

    def _repr_html_(self) -> str:
        return cell(self.motion, self.program)


@checked_call()
def live_page(
    model: Model | Mechanism, parameters: Mapping[str, float | str] | None = None, *, t_end: float | str | None = None
) -> LivePage:
    """Return a page on which values are changed, points dragged and bodies pulled, the motion following at once.

    A mechanism that drivers move altogether is moved by them. Functions in Python do not go into a page: UsageError.
    """
    mechanism = prepare(model).changed(parameters or {})
    driven = is_driven(mechanism.model)
    motion = kinematics(mechanism, t_end=t_end) if driven else simulate(mechanism, t_end=t_end)
    stated = mechanism.unplaced or mechanism.model  # with the start as it was given
    settings = stated.simulation.changed(float(motion.t[-1]) if t_end is not None else None)
    return LivePage(motion, program(replace(stated, simulation=settings), driven, hands=True))
