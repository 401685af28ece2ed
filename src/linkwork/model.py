"""The mechanism as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, TypeAlias

from linkwork import units
from linkwork.elements.actuators import Actuator
from linkwork.elements.bodies import Ground, PlanarBody, SpatialBody
from linkwork.elements.drivers import Driver
from linkwork.elements.events import Event
from linkwork.elements.kinds import Space
from linkwork.elements.loads import Force
from linkwork.elements.pairs import Joint
from linkwork.elements.quantities import Count, Quantity
from linkwork.elements.shapes import Shape
from linkwork.elements.signals import InputSignal, OutputSignal, StateSignal
from linkwork.elements.spatial import SpatialAxisPair
from linkwork.elements.stated import Stated
from linkwork.elements.vectors import Components, Scalar, Vector
from linkwork.errors import UsageError, check_number, checked_methods
from linkwork.expressions.graph import ZERO, as_expr, symbol
from linkwork.methods import Analyses
from linkwork.notes import Note
from linkwork.records import changed

Input: TypeAlias = Callable[[float, Mapping[str, float]], float]
StartValues: TypeAlias = Annotated[Mapping[str, Scalar], Quantity("values")]


@dataclass(frozen=True)
class Simulation:
    """What a run does unless told otherwise."""

    t_end: Annotated[float, Quantity(kinds=(units.TIME,))] = 10.0
    step: Annotated[float, Quantity(kinds=(units.TIME,))] = 0.01
    rtol: Count = 1e-9
    atol: Count = 1e-9
    coordinates: Annotated[str, Quantity("name")] = "body"
    cut: Annotated[tuple[str, ...], Quantity("names")] = ()  # joints that close loops in joint coordinates
    start: StartValues = field(default_factory=dict)  # of coordinates of joints or bodies, which then hold
    rate: StartValues = field(default_factory=dict)

    def changed(
        self,
        t_end: float | str | None = None,
        step: float | str | None = None,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> Simulation:
        """Return the same with the values that are given; atol is then not looser than an rtol that is given alone."""
        t_end, step = units.seconds("t_end", t_end), units.seconds("step", step)
        for name, value in (("t_end", t_end), ("step", step), ("rtol", rtol), ("atol", atol)):
            if value is not None:
                check_number(name, value)
        if atol is None:
            atol = self.atol if rtol is None else min(self.atol, rtol)
        return changed(
            self,
            t_end=self.t_end if t_end is None else t_end,
            step=self.step if step is None else step,
            rtol=self.rtol if rtol is None else rtol,
            atol=atol,
        )


@dataclass(frozen=True)
class About:
    """Where a mechanism comes from, and one number it must reproduce."""

    title: str = ""
    source: str = ""
    checked: Mapping[str, Any] = field(default_factory=dict)


@checked_methods
@dataclass(frozen=True, eq=False, repr=False)
class Model(Analyses):
    """Bodies, joints, drivers, forces and events with the values of their parameters.

    Numbers in the elements may be expressions of the parameters; `parameters` gives their values, which can change
    without anything being compiled again. `shapes` and `colours` say of some bodies, by name, how they look, `window`
    which part of the plane is drawn, by its corners, `live` in which ranges a live page changes values. Joints in
    `open` hold nothing until an event engages them. `inputs` that have no formula have their values among the
    parameters; `functions` in Python, of the time and the state, give values of inputs or of other parameters.
    `actuators` say where forces can act whose sizes an analysis asks for; those that have a size act with it. A
    system that is `stated` by its equations has no elements but events.
    """

    name: str
    bodies: tuple[PlanarBody | SpatialBody, ...] = ()
    joints: tuple[Joint, ...] = ()
    drivers: tuple[Driver, ...] = ()
    forces: tuple[Force, ...] = ()
    gravity: Components = (0.0, -9.81)
    parameters: Mapping[str, float] = field(default_factory=dict)
    stated_units: Mapping[str, str] = field(default_factory=dict)  # of parameters that were given with one
    ground: Ground = field(default_factory=Ground)
    space: Space = "planar"
    simulation: Simulation = Simulation()
    about: About = About()
    notes: tuple[Note, ...] = ()
    folded: frozenset[str] = frozenset()  # parameters that a file was read with: in tables, times, units, repairs
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    colours: Mapping[str, str] = field(default_factory=dict)
    window: tuple[Components, Components] | None = None
    live: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    units: tuple[str, ...] = ()  # in which results are shown, where not in those of SI
    order: tuple[str, ...] = ()  # of points and constraint rows in arrays of DAP; the others stand behind
    events: tuple[Event, ...] = ()
    open: frozenset[str] = frozenset()
    inputs: tuple[InputSignal, ...] = ()
    outputs: tuple[OutputSignal, ...] = ()
    states: tuple[StateSignal, ...] = ()
    functions: Mapping[str, Input] = field(default_factory=dict)
    stated: Stated | None = None
    actuators: tuple[Actuator, ...] = ()

    def __repr__(self) -> str:
        counts = ((len(self.bodies), "bodies"), (len(self.joints), "joints"), (len(self.drivers), "drivers"),
                  (len(self.forces), "forces"))  # fmt: skip
        return f"<Model '{self.name}': {self.space}; {', '.join(f'{what}: {count}' for count, what in counts)}>"

    @property
    def joining(self) -> tuple[Joint | Driver, ...]:
        """What has rows of Psi."""
        return (*self.joints, *self.drivers)

    @property
    def parameter_units(self) -> dict[str, str]:
        """Units of parameters and inputs that were given with one."""
        return {**self.stated_units, **{x.name: x.unit for x in self.inputs}}

    @property
    def signals(self) -> tuple[InputSignal | OutputSignal | StateSignal, ...]:
        """What goes in and out by name, and states."""
        return (*self.inputs, *self.outputs, *self.states)

    @property
    def held(self) -> tuple[str, ...]:
        """Inputs, and parameters that functions give, whose values change on the way."""
        changing = [x.name for x in self.inputs if not x.follows]
        return tuple(dict.fromkeys((*changing, *self.functions)))

    @property
    def acting(self) -> tuple[Force, ...]:
        """Forces, and actuators that have a size."""
        return (*self.forces, *(actuator for actuator in self.actuators if as_expr(actuator.size) is not ZERO))

    @property
    def not_connected(self) -> list[str]:
        """The bodies that neither joints nor drivers lead to from the ground."""
        neighbours: dict[str, set[str]] = {}
        for element in self.joining:
            for body in element.bodies if element.rows or element.slips else ():
                neighbours.setdefault(body.name, set()).update(other.name for other in element.bodies)
        reached, front = {self.ground.name}, [self.ground.name]
        while front:
            new = neighbours.get(front.pop(), set()) - reached
            reached |= new
            front.extend(new)
        return [body.name for body in self.bodies if body.name not in reached]

    def with_start(self, q: Mapping[str, float], v: Mapping[str, float]) -> Model:
        """Return the same mechanism from another start, q and v by the names of coordinates ("crank.phi").

        Constants that joints take from the start position stay what they are if q fits the joints. Axes are kept as
        numbers where they would become others, and so are angles that count from the start; q may say with which turns
        ("A.angle").
        """
        simulation = replace(self.simulation, start={}, rate={})
        if self.stated is not None:
            return replace(self, simulation=simulation, stated=replace(self.stated, start=q, rate=v))
        for what, values, named in (("coordinate", q, "coordinates"), ("velocity", v, "velocities")):
            names = [x.name for b in self.bodies for x in getattr(b, named)]
            if missing := [name for name in names if name not in values]:
                raise UsageError(f"with_start: no {what} '{missing[0]}' is given; it needs all of them", "bad-value")
        bodies = {
            b.name: b.from_start([q[c.name] for c in b.coordinates], [v[c.name] for c in b.velocities])
            for b in self.bodies
        }
        given = {symbol(name): number for name, number in self.parameters.items()}

        def kept(made: Any, element: Any) -> Any:
            return made.kept_from(element, given, q) if isinstance(made, SpatialAxisPair) else made

        states = tuple(replace(x, start=q.get(x.name, x.start)) for x in self.states)
        return _on_bodies(replace(self, simulation=simulation, states=states), bodies, kept)

    def centred(self) -> Model:
        """Return the same planar mechanism with the origin of every body frame in its mass centre."""
        planar = [body for body in self.bodies if isinstance(body, PlanarBody)]
        centres = {body.name: Vector(body.mass_centre) for body in planar}

        def shifted(body: Ground | PlanarBody | SpatialBody, s: Components) -> Components:
            return (Vector(s) - centres[body.name]).components if body.name in centres else s

        bodies = {
            body.name: replace(
                body,
                position=(body.start_q[0], body.start_q[1]),
                velocity=(body.start_v[0], body.start_v[1]),
                inertia=body.J,
                points={name: shifted(body, s) for name, s in body.points.items()},
                mass_centre=(0.0, 0.0),
                inertia_about=None,
            )
            for body in planar
        }

        def moved(made: Any, _: Any) -> Any:
            own = {f.name for f in fields(made)}
            ends = {f"s{x}": f"body{x}" for x in ("", "_i", "_j") if f"s{x}" in own}
            return replace(made, **{s: shifted(getattr(made, body), getattr(made, s)) for s, body in ends.items()})

        return _on_bodies(self, bodies, moved)


def _on_bodies(model: Model, bodies: Mapping[str, Any], finish: Callable[[Any, Any], Any]) -> Model:
    """Return the mechanism with other bodies of the same names; `finish` is given each new element and the old one."""

    def moved(element: Any) -> Any:
        changes = {}
        for f in fields(element):
            value = getattr(element, f.name)
            if isinstance(value, PlanarBody | SpatialBody):
                changes[f.name] = bodies[value.name]
            elif isinstance(value, Joint) or f.name == "unit":
                changes[f.name] = moved(value)
        return finish(replace(element, **changes), element)

    kinds = ("joints", "drivers", "forces", "actuators")
    elements: dict[str, Any] = {kind: tuple(map(moved, getattr(model, kind))) for kind in kinds}
    return replace(model, bodies=tuple(bodies.values()), **elements)
