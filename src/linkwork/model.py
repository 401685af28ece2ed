"""The mechanism as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from linkwork.elements.bodies import Ground, PlanarBody, SpatialBody
from linkwork.elements.drivers import Driver
from linkwork.elements.forces import Force
from linkwork.elements.joints import Joint
from linkwork.elements.vectors import Components


@dataclass(frozen=True)
class Simulation:
    """What a run does unless told otherwise."""

    t_end: float = 10.0
    step: float = 0.01
    rtol: float = 1e-9
    atol: float = 1e-9


@dataclass(frozen=True)
class About:
    """Where a mechanism comes from, and one number it must reproduce."""

    title: str = ""
    source: str = ""
    checked: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Model:
    """Bodies, joints, drivers and forces with the values of their parameters.

    Numbers in the elements may be expressions of the parameters; `parameters` gives their values, which can change
    without anything being compiled again.
    """

    name: str
    bodies: tuple[PlanarBody | SpatialBody, ...]
    joints: tuple[Joint, ...] = ()
    drivers: tuple[Driver, ...] = ()
    forces: tuple[Force, ...] = ()
    gravity: Components = (0.0, -9.81)
    parameters: Mapping[str, float] = field(default_factory=dict)
    ground: Ground = field(default_factory=Ground)
    space: Literal["planar", "spatial"] = "planar"
    simulation: Simulation = Simulation()
    about: About = About()
    notes: tuple[str, ...] = ()
