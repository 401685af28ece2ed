"""One design of a mechanism tried out: its motion, and what is taken of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism
from linkwork.driven.kinematics import kinematics
from linkwork.driven.limit import vary_limit
from linkwork.equations.place import Place
from linkwork.errors import LinkworkError, NumericalStop, UsageError, check_choice, option
from linkwork.integrators.integrate import report_times
from linkwork.simulation.options import Start, coordinates_of
from linkwork.simulation.simulate import simulate
from linkwork.simulation.varied import choose_parameters
from linkwork.start.closing import find_least_gap
from linkwork.start.varying import vary_least_gap
from linkwork.studies.sensitivities import pays_backward, sensitivities
from linkwork.studies.states import STATES, Instant
from linkwork.studies.taking import Take
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Trial:
    """A mechanism, what is taken of its motions, and how these are computed."""

    mechanism: Mechanism
    takes: tuple[Take, ...]
    is_driven: bool
    options: Mapping[str, Any]
    of: str = "motion"  # or one of STATES

    def is_parameter(self, name: str) -> bool:
        """Whether a name is that of a parameter, else of a coordinate or velocity at the start; UsageError if none."""
        known = self.mechanism.model.parameters
        if name in known or self.is_driven or self.is_state or "." not in name:
            check_choice("parameter", name, known)
            return True
        check_choice("coordinate", name, coordinates_of(self.mechanism))
        return False

    @property
    def is_state(self) -> bool:
        return self.of in STATES

    def find(self, values: Mapping[str, float]) -> Trajectory | Instant:
        """Return the motion, or the state, with these values."""
        return STATES[self.of](self.mechanism.changed(values), **self.options) if self.is_state else self.move(values)

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

    def vary(self, values: Mapping[str, float], numbers: int) -> Trajectory:
        """Return the same with derivatives of so many numbers by these parameters; UsageError where there are none."""
        given = dict(self.options)
        if self.is_driven:
            given["start"] = Start(assemble=given.pop("assemble", False))
            given.pop("max_steps", None)
        if wrong := [name for name in ("formulation", "stabilization", "controllers") if name in given]:
            raise UsageError(f"with {option(wrong[0])} motions have no derivatives", "not-varied")
        given["backward"] = pays_backward(self.mechanism, len(values), numbers)
        return sensitivities(self.mechanism, tuple(values), dict(values), driven=self.is_driven, **given)

    def gap(self, values: Mapping[str, float]) -> tuple[float, Array] | None:
        """Find how wide joints are open nearest to the stated sketch, and how that varies; None if they close.

        Closures far from the sketch are others than the one that is meant, and not looked for.
        """
        mechanism = self.mechanism.changed(dict(values))
        e = mechanism.equations.chart.body or mechanism.equations
        best = find_least_gap(Place(e, *e.start()), "unit" if self.is_driven else "mass")
        return None if best is None else vary_least_gap(best, choose_parameters(mechanism, tuple(values)))

    def lock(self, values: Mapping[str, float], stop: NumericalStop) -> tuple[float, Array]:
        """Find how far drivers go beyond where the mechanism locks, and how that varies with these parameters."""
        mechanism, options = self.mechanism.changed(dict(values)), self.options
        settings = mechanism.model.simulation.changed(options.get("t_end"), options.get("step"))
        e, position = mechanism.equations, stop.attached["position"]
        place = Place(e, np.array([position[name] for name in e.q_names]), np.zeros(len(e.v)), stop.attached["t"])
        times = report_times(0.0, settings.t_end, settings.step)
        return vary_limit(place, choose_parameters(mechanism, tuple(values)), times)

    @property
    def assembles(self) -> bool:
        """Return whether each design is assembled from the sketch of the model."""
        start = self.options.get("start")
        return bool(self.options.get("assemble") or (isinstance(start, Start) and start.assemble and not start.values))

    def first(self, designs: Sequence[Mapping[str, float]]) -> Trajectory | Instant:
        """Return the motion of the first of these designs that moves; UsageError for what no motion has."""
        last: LinkworkError | None = None
        for values in designs:
            try:
                motion: Trajectory | Instant | None = self.find(values)
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

    def check_takes(self, motion: Trajectory | Instant) -> list[str]:
        """Return the units of what is taken; UsageError for what the motion does not have."""
        events = () if self.is_state else tuple(event.name for event in self.mechanism.model.events)
        return [take.check(motion, events) for take in self.takes]
