"""A mechanism that is prepared once: between a model and its machine code.

Models of the same structure (see equations/parameters.py) share their equations and machine code. They are found again
in the process, so that a run with other values derives and compiles nothing.

    mechanism = prepare(load("slider_crank"))
    for omega in (1.0, 2.0, 3.0):
        motion = mechanism.simulate({"omega": omega}, t_end=5.0)
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from linkwork.compiled.system import System, compile_system
from linkwork.equations.coordinates import COORDINATES, Coordinates, equations_of
from linkwork.equations.equations import Equations
from linkwork.equations.implicit import implicit_form, linearize
from linkwork.equations.parameters import Structure, Uses, is_extended
from linkwork.equations.place import Place
from linkwork.equations.programs import MOTION, Metric, Program
from linkwork.errors import (
    ModelError,
    UsageError,
    check_choice,
    check_values,
    checked_call,
    checked_methods,
    did_you_mean,
    option,
)
from linkwork.expressions.graph import Expr
from linkwork.methods import Analyses
from linkwork.model import Model, Simulation
from linkwork.notes import Note
from linkwork.records import changed, kept
from linkwork.soundness import Unusual, look_at
from linkwork.units import value_of

if TYPE_CHECKING:
    import xarray

WITH_CUTS = ("joint", "minimal")
MOST_KEPT = 64  # structures of which the process keeps equations and machine code; those unused for longest go first

Code = TypeVar("Code")


class Shared:
    """What mechanisms of one structure share: equations, and machine code compiled when it is first asked for."""

    def __init__(self, equations: Equations, uses: Uses) -> None:
        self.equations, self.uses = equations, uses
        self.symbols: tuple[Expr, ...] = tuple(equations.parameters)
        self._compiled: dict[tuple[object, ...], Any] = {}
        self._compiling = RLock()

    def compiled(self, key: tuple[object, ...], build: Callable[[Equations], Code]) -> Code:
        found: Code | None = self._compiled.get(key)
        if found is None:
            with self._compiling:
                found = self._compiled.get(key)
                if found is None:
                    found = self._compiled[key] = build(self.equations)
        return found


_shared: OrderedDict[tuple[Any, ...], Shared] = OrderedDict()
_lookup = Lock()


@checked_methods
@dataclass(frozen=True, eq=False)
class Mechanism(Analyses):
    """A sound model with its equations and, once they have been needed, their machine code."""

    model: Model
    equations: Equations
    shared: Shared
    unusual: Unusual
    unplaced: Model | None = None  # as it was given, where that says where joints start

    def system(self, programs: Sequence[Program] = MOTION, metric: Metric = "mass", baumgarte: bool = False) -> System:
        """Compile these programs in one go, with the values of this mechanism."""

        def build(e: Equations) -> System:
            return compile_system(e.with_baumgarte() if baumgarte else e, programs, metric)

        return self.shared.compiled((*programs, metric, baumgarte), build).with_values(self.equations)

    def explicit_system(
        self,
        programs: Sequence[Program],
        place: Place,
        metric: Metric = "mass",
        baumgarte: bool = False,
        rows: tuple[int, ...] | None = None,
        least: float = 0.0,
    ) -> System:
        """Return the same with accelerations by symbolic LU of these rows, else of those independent at the place.

        There its pivots are chosen, none below `least` of the largest entry of its column.
        """
        from linkwork.equations.explicit import leading_system, solve_explicitly
        from linkwork.symbolic.lu import choose_pivots, sparse_order
        from linkwork.tolerances import AGREEMENT

        chosen, least = place.rows.independent if rows is None else rows, max(least, AGREEMENT)
        by, rows_by, n = place.v_scale, place.row_scale[list(chosen), None], len(place.v) + len(chosen)
        M, J = place.M * np.outer(by, by), place.Psi_q[list(chosen)] * by / rows_by  # else pivots would depend on units
        A = np.block([[M / (np.abs(M).max(initial=0.0) or 1.0), J.T], [J, np.zeros((len(chosen), len(chosen)))]])
        order = self.shared.compiled(("order", chosen), lambda e: sparse_order(leading_system(e, chosen)[0], n))
        pivots = choose_pivots(A, order, least)

        def build(e: Equations) -> System:
            e = e.with_baumgarte() if baumgarte else e
            taken = [i for i, _ in pivots], [j for _, j in pivots]
            by, columns = ([*own, *({*range(n)} - {*own})] for own in taken)  # of a singular matrix, which is told then
            explicit = solve_explicitly(e, chosen, by, None, [place.values], least, columns)
            return compile_system(e, programs, metric, explicit)

        key = (*programs, metric, baumgarte, chosen, *pivots)
        return self.shared.compiled(key, build).with_values(self.equations)

    def implicit_pattern(self, form: str) -> list[tuple[int, int]]:
        """Return rows and columns of the entries of the Jacobian of a form for implicit integrators."""
        return self.shared.compiled(("pattern", form), lambda e: list(implicit_form(e, form).f_y()))

    def linearized_pattern(self) -> list[list[tuple[int, int]]]:
        """Compile the programs of the blocks of `linearize`."""
        return self.shared.compiled(("pattern", "linearized"), lambda e: [list(block) for block in linearize(e)])

    @kept
    def notes(self) -> tuple[Note, ...]:
        """Return what is unusual about the model."""
        return self.unusual.told(self.model)

    def place(self) -> Place:
        """Return the state that the model states, evaluated without compiling anything."""
        return Place(self.equations, *self.equations.start())

    def changed(self, parameters: Mapping[str, float | str]) -> Mechanism:
        """Return the same mechanism with other values of parameters that the model names: {"l": 0.35} or {"l": "35
        cm"}.
        """
        if not parameters:
            return self
        check_values("parameters", parameters)
        stated = self.model.parameter_units
        for name in parameters:
            check_choice("parameter", name, self.model.parameters)
        given = {name: value_of(name, value, stated.get(name)) for name, value in parameters.items()}
        for name, value in given.items():
            if not isinstance(value, int | float | np.integer | np.floating) or not math.isfinite(value):
                raise UsageError(f"{value!r} is not a value of the parameter '{name}'", "bad-value")
            if name in self.model.folded:
                places = "in a table, among the times of the simulation, in a unit or in a repaired inertia"
                message = f"'{name}' stands {places}, which are read as numbers"
                raise UsageError(f"{message}; load the model with the new value", "folded-parameter")
        values = {**self.model.parameters, **given}
        if self.unplaced is not None:
            return prepare(replace(self.unplaced, parameters=values))
        model = changed(self.model, parameters=values)
        named = dict(zip(self.shared.symbols, values.values(), strict=False))
        uses = self.shared.uses  # all else is as sound as it was
        checks = look_at(uses.dependent(model, parameters), named, uses.formulas(model, parameters))
        equations = self.equations.with_values({**self.equations.parameters, **named})
        return Mechanism(model, equations, self.shared, self.unusual.changed(checks))

    def state(
        self, q: Mapping[str, float | str] | None = None, v: Mapping[str, float | str] | None = None, t: float = 0.0
    ) -> xarray.Dataset:
        """Return M, Psi_q, Q, gamma, a, lam, reactions ... at a state, by name; coordinates not given are those of
        the start.

        mechanism.state({"crank.phi": 0.3}).Psi_q.sel(row="A.x", column="crank.phi")
        """
        from linkwork.start.state import find_state

        return find_state(self, q, v, t)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave machine code in its process; another one finds its own."""
        return prepare, (self.unplaced or self.model,)

    def __repr__(self) -> str:
        e = self.equations
        return f"<Mechanism '{self.model.name}': {len(e.q)} coordinates, {len(e.Psi)} constraints>"


@checked_call()
def prepare(model: Model | Mechanism, coordinates: str | Coordinates | None = None) -> Mechanism:
    """Return the model checked, with equations that all models of its structure share; ModelError with all its faults.

    `coordinates` are those of the model unless given; Coordinates("joint", cut=["B"]) cuts loops at these joints.
    Nothing is compiled before an analysis needs it. A Mechanism is returned as it is if its coordinates are these.
    """
    model = model if isinstance(model, Mechanism) else getattr(model, "model", model)  # of one that is being built
    if not isinstance(model, Mechanism | Model):  # most often the name of a file
        raise UsageError(f"{model!r} is not a Model; read it first: load({str(model)!r})", "not-a-model")
    chosen = coordinates if isinstance(coordinates, Coordinates) else Coordinates(coordinates)
    if isinstance(model, Mechanism) and chosen.name is None and chosen.cut is None:
        return model
    stated = (model.unplaced or model.model) if isinstance(model, Mechanism) else model
    settings = _choose(stated, chosen)
    if isinstance(model, Mechanism) and settings == stated.simulation:
        return model
    _check_simulation(stated, settings)
    model = given = replace(stated, simulation=settings)
    if settings.start or settings.rate:
        from linkwork.start.by_joints import place_stated

        model = place_stated(given)
    checks, structure = look_at(model), Structure(model)
    shared = _share(model, structure)
    # What events change is not stated by the model and stands behind all that is.
    values = {**shared.equations.parameters, **dict(zip(shared.symbols, structure.values, strict=False))}
    equations, unplaced = shared.equations.with_values(values), None if model is given else given
    return Mechanism(model, equations, shared, checks.unusual(), unplaced)


def _choose(model: Model, chosen: Coordinates) -> Simulation:
    """Return the settings of the model with these coordinates, where they are given."""
    name, cut = chosen.name, chosen.cut
    if name is not None:
        check_choice("coordinates", name, COORDINATES)
        if model.stated is not None and name not in ("body", "auto"):
            message = f"the system states its equations, which cannot be had in {name} coordinates"
            raise ModelError(message, "unknown-coordinates")  # of no line of the file
    for joint in cut or ():
        check_choice("joint", joint, [x.name for x in model.joints])
    settings = replace(
        model.simulation,
        coordinates=model.simulation.coordinates if name is None else name,
        cut=model.simulation.cut if cut is None else tuple(cut),
    )
    if cut and settings.coordinates not in WITH_CUTS:
        message = f"joints are cut in joint coordinates, and these are {settings.coordinates} coordinates"
        raise UsageError(f"{message}; choose {option('coordinates', *WITH_CUTS)}, or leave out the cut", "no-effect")
    return settings


def _share(model: Model, structure: Structure) -> Shared:
    """Return what models of this structure share in the process, derived where no other has been."""
    settings, derived = model.simulation, None
    key = (settings.coordinates, settings.cut, *structure.key)
    if is_extended(model):
        derived = equations_of(model)
        key = (*key, *derived.stated)
    with _lookup:
        shared = _shared.get(key)
        if shared is not None:
            _shared.move_to_end(key)
            return shared
    made = Shared(derived or equations_of(model), Uses(model))
    with _lookup:  # another thread may have been quicker
        shared = _shared.setdefault(key, made)
        while len(_shared) > MOST_KEPT:
            _shared.popitem(last=False)
    return shared


def _check_simulation(model: Model, settings: Simulation) -> None:
    """Raise ModelError if the coordinates, or a joint to be cut, do not exist."""
    if model.stated is not None and settings.coordinates not in ("body", "auto"):
        message = f"the system states its equations, which cannot be had in {settings.coordinates} coordinates"
        raise ModelError(message, "unknown-coordinates", path="simulation.coordinates", value=settings.coordinates)
    joints = [joint.name for joint in model.joints]
    for key, known, names in (("coordinates", COORDINATES, (settings.coordinates,)), ("cut", joints, settings.cut)):
        for name in names:
            if name not in known:
                raise ModelError(
                    f"no {'joint' if key == 'cut' else 'coordinates'} '{name}'",
                    f"unknown-{'joint' if key == 'cut' else 'coordinates'}",
                    path=f"simulation.{key}",
                    value=name,
                    suggestion=did_you_mean(name, known) or f"choose from {', '.join(known)}",
                )
