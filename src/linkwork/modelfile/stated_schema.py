"""The shape of model files that state equations in place of bodies."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, WithJsonSchema

from linkwork.elements.kinds import Space
from linkwork.modelfile.schema import (
    FORMAT,
    NUMBER,
    AboutEntry,
    Entry,
    EventEntry,
    SimulationEntry,
    ground_entry,
    section,
)

KindName = Literal["length", "angle", "number"]


class StatedCoordinateEntry(Entry):
    """A coordinate, with its value and rate at the start."""

    kind: KindName = "number"
    start: NUMBER = 0.0
    rate: NUMBER = 0.0


class StatedRowEntry(Entry):
    """A constraint that is a length or an angle."""

    expression: NUMBER
    kind: KindName = "number"


ROWS: Any = section(StatedRowEntry | NUMBER)
COORDINATES: Any = section(StatedCoordinateEntry)
NUMBERS: Any = section(NUMBER)
EVENTS: Any = section(EventEntry)
SIMULATION: Any = SimulationEntry


class StatedEntry(Entry):
    """M qdd + Psi_q^T lam = Q, Psi = 0, as formulas of t, coordinates, their rates NAME_d and parameters."""

    coordinates: COORDINATES
    M: list[list[NUMBER]]
    Q: list[NUMBER]
    Psi: ROWS = Field({})
    potential: NUMBER = 0.0


class StatedModel(Entry):
    """A system given by its equations, without bodies."""

    space: ClassVar[Space] = "planar"
    gravity: ClassVar[list[float]] = [0, 0]
    ground: ClassVar[Any] = ground_entry("planar").model_construct()
    bodies: ClassVar[dict[str, Any]] = {}
    joints: ClassVar[dict[str, Any]] = {}
    drivers: ClassVar[dict[str, Any]] = {}
    forces: ClassVar[dict[str, Any]] = {}
    linkwork: Annotated[Any, WithJsonSchema({"const": FORMAT, "description": "version of the format"})]
    name: str | None = None
    about: AboutEntry = AboutEntry.model_construct()
    parameters: NUMBERS = Field({})
    equations: StatedEntry
    events: EVENTS = Field({})
    simulation: SIMULATION = SimulationEntry.model_construct()
