"""One design of a mechanism tried out: its motion, and what is taken of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkwork.compiled.mechanism import Mechanism
from linkwork.driven.kinematics import kinematics
from linkwork.errors import LinkworkError, NumericalStop, UsageError, check_choice, option
from linkwork.simulation.options import Start, coordinates_of
from linkwork.simulation.simulate import simulate
from linkwork.studies.sensitivities import sensitivities
from linkwork.studies.taking import Take
from linkwork.trajectory import Trajectory


@dataclass(frozen=True)
class Trial:
    """A mechanism, what is taken of its motions, and how these are computed."""

    mechanism: Mechanism
    takes: tuple[Take, ...]
    is_driven: bool
    options: Mapping[str, Any]

    def is_parameter(self, name: str) -> bool:
        """Whether a name is that of a parameter, else of a coordinate or velocity at the start; UsageError if none."""
        known = self.mechanism.model.parameters
        if name in known or self.is_driven or "." not in name:
            check_choice("parameter", name, known)
            return True
        check_choice("coordinate", name, coordinates_of(self.mechanism))
        return False

    def move(self, values: Mapping[str, float]) -> Trajectory:
        """Return the motion with these values of parameters, and of coordinates and velocities at the start."""
        if self.is_driven:
            return kinematics(self.mechanism, dict(values), **self.options)
        given = {name: x for name, x in values.items() if self.is_parameter(name)}
        options = dict(self.options)
        if len(given) < len(values):
            start = options.get("start")
            start = start if isinstance(start, Start) else Start(start)
            own = {name: x for name, x in values.items() if name not in given}
            options["start"] = replace(start, values={**(start.values or {}), **own})
        return simulate(self.mechanism, given, **options)

    def vary(self, values: Mapping[str, float]) -> Trajectory:
        """Return the same with its derivatives by these parameters; UsageError where there are none."""
        given = dict(self.options)
        if self.is_driven:
            given["start"] = Start(assemble=given.pop("assemble", False))
            given.pop("max_steps", None)
        if wrong := [name for name in ("formulation", "stabilization", "controllers") if name in given]:
            raise UsageError(f"with {option(wrong[0])} motions have no derivatives", "not-varied")
        return sensitivities(self.mechanism, tuple(values), dict(values), driven=self.is_driven, **given)

    def first(self, designs: Sequence[Mapping[str, float]]) -> Trajectory:
        """Return the motion of the first of these designs that moves; UsageError for what no motion has."""
        last: LinkworkError | None = None
        for values in designs:
            try:
                motion: Trajectory | None = self.move(values)
            except UsageError:
                raise
            except NumericalStop as stop:
                last, motion = stop, stop.trajectory
            except LinkworkError as refused:
                last, motion = refused, None
            if motion is not None:
                return motion
        assert last is not None
        raise last

    def check_takes(self, motion: Trajectory) -> list[str]:
        """Return the units of what is taken; UsageError for what the motion does not have."""
        events = tuple(event.name for event in self.mechanism.model.events)
        return [take.check(motion, events) for take in self.takes]
