"""Models written in Python: each call adds an element to the document that a model file would hold.

    m = PlanarModel("four_bar", r="40 mm", d="100 mm", n="60 rpm")    # keywords are parameters
    m.fix(O=(0, 0), C=("d", 0))                                       # points of the ground
    crank = m.body("crank", mass="0.2 kg", inertia=3e-5, points=dict(O=("-r/2", 0), A=("r/2", 0)))
    O = m.revolute("O", m.ground, crank)      # a body stands for its point that is named like the joint
    m.driver("motor", O, "n*t")

There is a method for every type of joint and force that model files know, with its keys as arguments. Numbers, texts
with units and formulas stand where files have them. An element is checked when it is added, and refused in the words of
a file, with the line of Python that adds it; what needs the whole model is checked by the first analysis.
"""

from __future__ import annotations

import inspect
import linecache
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn

import numpy as np
import pydantic

from linkwork.document import Data, Document, Keys, dump, name_fault, save
from linkwork.elements.forces import FORCES
from linkwork.elements.joints import JOINTS
from linkwork.elements.kinds import Space
from linkwork.errors import (
    FAULTS_OF_FUNCTIONS,
    HERE,
    USE_SYMBOLS,
    ModelError,
    UsageError,
    check_choice,
    checked_methods,
    did_you_mean,
)
from linkwork.expressions.graph import Expr, as_expr, symbol
from linkwork.methods import Analyses
from linkwork.model import Model
from linkwork.modelfile import SUFFIXES, build, find, schema
from linkwork.modelfile.faults import OTHER_NAMES, shape_fault
from linkwork.modelfile.translation import Translation
from linkwork.soundness import sound
from linkwork.writing.printers import text

SIGNALS = ("inputs", "outputs", "states")
SECTIONS = ("bodies", "joints", "drivers", "forces", "events", "actuators", *SIGNALS)
SETTINGS = ("gravity", "simulation", "view", "live")  # what is assigned
MISSING = {"unknown-body": "bodies", "unknown-joint": "joints"}  # where errors of these codes looked in vain
POSITIONAL = ("i", "j", "at", "on", "joint", "follower", "force", "torque")  # arguments that need no keyword


@dataclass(frozen=True)
class Part:
    """An element of a model by its name; `part["A"]` is a point or a direction of a body."""

    model: Builder
    section: str
    name: str

    def __getitem__(self, point: str) -> str:
        entry = self.model.entry(self.section, self.name)
        known = [*entry.get("points", {}), *entry.get("directions", {})]
        if point not in known:
            message, hint = f"body '{self.name}' has no point '{point}'", did_you_mean(str(point), known)
            raise ModelError(message, "unknown-point", value=point, suggestion=hint, **where())
        found = Point(f"{self.name}.{point}")
        found.body = self
        return found

    def __getattr__(self, name: str) -> NoReturn:
        how = "" if name.startswith("_") else f'; a point or a direction is {self.name}["{name}"]'
        raise AttributeError(f"a part of a model has no attribute '{name}'{how}", name=name, obj=self)

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.model.entry(self.section, self.name).get("points", {})]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{self.section} '{self.name}' of '{self.model.name}'>"


class Point(str):
    """The name of a point or a direction, which knows of which body."""

    body: Part


def where() -> dict[str, Any]:
    """Return file and line of the first call from outside."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    file = frame.f_code.co_filename
    cells, source = frame.f_globals.get("In", ()), "".join(linecache.getlines(file)).strip()
    cell = next((k for k in range(len(cells) - 1, 0, -1) if cells[k].strip() == source), None)  # of a notebook
    return {"file": f"In [{cell}]" if cell else Path(file).name, "line": frame.f_lineno}


def plain(value: Any) -> Any:
    """Return what a file would hold in the place of a Python value.

    What it cannot hold stays, and is refused by its type.
    """
    if isinstance(value, Part | Point):
        return str(value)
    if isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0:
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, Sequence | set | np.ndarray) and not isinstance(value, str | bytes):
        return [plain(entry) for entry in value]
    if isinstance(value, Expr):
        return text(value)
    if inspect.isfunction(value):
        return text(traced(value))
    if hasattr(value, "units") and hasattr(value, "magnitude"):  # a quantity of pint
        return f"{value.magnitude!r} {value.units:~C}".replace("**", "^")
    if hasattr(value, "unit") and hasattr(value, "value"):  # of astropy
        return f"{float(value.value)!r} {value.unit}"
    return value


def traced(law: Callable[..., Any]) -> Expr:
    """Call a function with symbols of the names of its arguments, so that it becomes a formula of them."""
    try:
        return as_expr(law(*map(symbol, inspect.signature(law).parameters)))
    except FAULTS_OF_FUNCTIONS as error:
        hint = f"{USE_SYMBOLS}, or write a text"
        message = f"'{law.__name__}' is called once with symbols, and does not make a formula of them: {error}"
        raise ModelError(message, "not-a-formula", suggestion=hint, **where()) from error


def setting(name: str, about: str) -> Any:
    """Make a property of models that keeps a section of the file; it is set as a whole, so that it is checked."""
    return property(
        lambda model: frozen(model.document.data.get(name, {})),
        lambda model, value: model._set((name,), value),
        doc=about,
    )


def frozen(value: Any) -> Any:
    """Return what can be read and not changed."""
    if isinstance(value, Mapping):
        return MappingProxyType({key: frozen(entry) for key, entry in value.items()})
    return tuple(map(frozen, value)) if isinstance(value, list) else value


@checked_methods
class Builder(Analyses):
    """What models of planar and of spatial bodies have in common; see PlanarModel and SpatialModel."""

    space: ClassVar[Space]

    def __init__(self, name: str, /, **parameters: Any) -> None:
        at = where()
        if taken := next((x for x in SETTINGS if x in parameters), None):
            raise ModelError(f"'{taken}' is a setting", "bad-name", suggestion=f"write m.{taken} = ...", **at)
        data: dict[str, Any] = {"linkwork": schema.FORMAT, "name": name, "space": self.space}
        data |= {"parameters": plain(parameters), "ground": {}, **{section: {} for section in SECTIONS}}
        self.document = Document(at["file"], data, {(): at["line"]}, {(): at["file"]})
        self._hardpoints: dict[str, Any] = {}
        self._model: Model | None = None
        self._origin = object()  # the same in copies, which take each other's elements
        self._check(())

    @classmethod
    def load(cls, path: str | Path) -> Builder:
        """Return the model of a file, a folder or a shipped mechanism, to be changed and run."""
        found = find(path)
        build(found)
        kind = next(kind for kind in Builder.__subclasses__() if kind.space == schema.space_of(found.data))
        if "equations" in found.data or not issubclass(kind, cls):
            what = "states its equations" if "equations" in found.data else f"is {kind.space}"
            raise UsageError(f"'{path}' {what}; read it with linkwork.load", "not-a-model")
        return kind._of(found)

    @classmethod
    def _of(cls, found: Document) -> Builder:
        """Make a model of its own with the contents of a document."""
        made = object.__new__(cls)
        data = {**{section: {} for section in ("parameters", "ground", *SECTIONS)}, **deepcopy(found.data)}
        made.document = Document(found.file, data, dict(found.lines), dict(found.files), found.notes)
        made._hardpoints, made._model, made._origin = {}, None, object()
        return made

    def __getattr__(self, name: str) -> Any:
        """Return the method that adds elements of a type that was added later, see own.py."""
        for section, types in (("joints", JOINTS[self.space]), ("forces", FORCES[self.space])):
            for type_name, cls in types.items():
                if type_name.replace("-", "_") == name:
                    return method(section, cls, type_name).__get__(self)
        own = [x.replace("-", "_") for x in (*JOINTS[self.space], *FORCES[self.space])]
        other: Space = "spatial" if self.space == "planar" else "planar"
        hint = did_you_mean(name, [one for one in (*dir(type(self)), *own) if not one.startswith("_")])
        if name in OTHER_NAMES:
            hint = f"write {OTHER_NAMES[name].replace('-', '_')}"
        if name.replace("_", "-") in (*JOINTS[other], *FORCES[other]):
            hint = f"{other.capitalize()}Model has it"
        raise AttributeError(f"a {type(self).__name__} has no '{name}'" + (f"; {hint}" if hint else ""))

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name.startswith("_") or name in ("document", *SETTINGS)):
            hint = did_you_mean(name, SETTINGS)
            raise ModelError(f"a model has no setting '{name}'", "unknown-setting", suggestion=hint, **where())
        super().__setattr__(name, value)

    # What the model is.

    @property
    def name(self) -> str:
        return str(self.document.data.get("name", Path(self.document.file).stem))

    @property
    def ground(self) -> Part:
        """What does not move."""
        return Part(self, "ground", "ground")

    @property
    def model(self) -> Model:
        """The model as analyses take it; what is added later does not change it."""
        if self._model is None:
            self._model = build(self._compact())
        return self._model

    @property
    def gravity(self) -> Any:
        return frozen(self.document.data.get("gravity", schema.GRAVITY[self.space]))

    @gravity.setter
    def gravity(self, value: Any) -> None:
        self._set(("gravity",), value)

    simulation = setting(
        "simulation",
        """Settings of runs that a file keeps: m.simulation = dict(t_end="2 s", step="1 ms").

        One is changed with the others: m.simulation = {**m.simulation, "t_end": "3 s"}.
        """,
    )
    view = setting("view", 'What is shown: m.view = dict(units=["deg", "mm"]).')
    live = setting("live", 'The ranges in which a live page changes values: m.live = {"l": "0.5 m .. 1.5 m"}.')

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters as they were written; m.copy(r="50 mm") has other values."""
        return frozen(self._section("parameters"))  # type: ignore[no-any-return]

    def _section(self, section: str) -> dict[str, Any]:
        found: Any = self.document.data[section]
        return found  # type: ignore[no-any-return]

    def entry(self, section: str, name: str) -> dict[str, Any]:
        """Return the keys of an element as a file has them."""
        if section == "ground":
            return self._section("ground")
        check_choice("section", section, SECTIONS)
        check_choice("element", name, self._section(section))
        return self._section(section)[name]  # type: ignore[no-any-return]

    def names(self) -> list[str]:
        """Return the names of all elements."""
        return [name for section in SECTIONS for name in self._section(section)]

    def __getitem__(self, name: str) -> Part:
        if name == "ground":
            return self.ground
        for section in SECTIONS:
            if name in self._section(section):
                return Part(self, section, name)
        hint = did_you_mean(str(name), self.names())
        raise ModelError(f"the model has no '{name}'", "unknown-element", suggestion=hint, **where())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def _ipython_key_completions_(self) -> list[str]:
        return self.names()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Builder) and self._compact().data == other._compact().data

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        counts = ", ".join(f"{section}: {len(self._section(section))}" for section in SECTIONS[:4])
        return f"<{type(self).__name__} '{self.name}': {counts}>"

    def __str__(self) -> str:
        return dump(self._compact().data)

    def _compact(self) -> Document:
        """Return the document without sections that hold nothing."""
        data = {key: value for key, value in self.document.data.items() if value != {} or key == "bodies"}
        return Document(self.document.file, data, self.document.lines, self.document.files, self.document.notes)

    def save(self, path: str | Path) -> None:
        """Write a model file: YAML, or JSON by its suffix; units and formulas stay as they were written."""
        if Path(path).suffix.lower() not in SUFFIXES:
            raise UsageError(f"cannot write '{path}': model files are {', '.join(SUFFIXES)}", "unknown-suffix")
        self.model  # noqa: B018 - what has faults is not written
        save(self._compact().data, path)

    # What is added to it.

    def fix(self, names: str = "", **points: Any) -> Part:
        """Return points of the ground: fix(O=(0, 0)), or by the names of hard points: fix("O G")."""
        known, new = self._section("ground").get("points", {}), {**self._points(names), **plain(points)}
        if twice := next((name for name in new if known.get(name, new[name]) != new[name]), None):
            self._check_point(twice, new[twice])
            message, hint = f"the ground has a point '{twice}' already", "choose another name"
            raise ModelError(message, "duplicate-name", path="ground.points", suggestion=hint, **where())
        self._set(("ground", "points"), {**known, **new})
        return self.ground

    def hardpoints(self, **points: Any) -> None:
        """Add points in the design position, which bodies then name: body("arm", ..., points="A B").

        A body that names them has its frame at the origin in that position, and so needs its mass_centre.
        """
        for name, place in plain(points).items():
            if self._hardpoints.get(name, place) != place:
                message, hint = f"there is a hard point '{name}' already", "choose another name"
                raise ModelError(message, "duplicate-name", suggestion=hint, **where())
            self._check_point(name, place)
            self._hardpoints[name] = place

    def _check_point(self, name: str, place: Any) -> None:
        """Refuse a place that the ground could not have."""
        trial = self.copy()
        trial.document.data["ground"] = {}
        trial.fix(**{name: place})

    def _points(self, given: Any) -> Any:
        """Return points as they are given, or the hard points that a text names."""
        if isinstance(given, Mapping):
            return plain(given)
        if not isinstance(given, str):
            message, hint = f"{given!r} gives no names to points", "write points=dict(A=(0, 0)), or fix(O=(0, 0))"
            raise ModelError(message, "wrong-shape", suggestion=hint, **where())
        for name in given.split():
            if name not in self._hardpoints:
                hint = did_you_mean(name, self._hardpoints) or "name them with hardpoints(...)"
                raise ModelError(f"no hard point '{name}'", "unknown-point", value=name, suggestion=hint, **where())
        return {name: self._hardpoints[name] for name in given.split()}

    def driver(self, name: str, driven: Any, motion: Any, freedom: str | None = None) -> Part:
        """Drive a joint, or the measure between a pair of points, by a motion: a formula of t, or dict(type=...)."""
        return self._add(
            "drivers", name, {**(_pair(driven) or {"joint": driven}), "motion": motion, "freedom": freedom}
        )

    def actuator(self, name: str, pushed: Any, **given: Any) -> Part:
        """Add a force whose size is asked for: on a joint, between a pair of points, or on a body or its point.

        actuator("m", O), actuator("leg", (base["A"], top["B"])), actuator("t", crank, axis=(0, 0, 1)); `freedom` of a
        joint, `size` as a formula, `weight`.
        """
        is_joint = plain(pushed) in [*self._section("joints")] and getattr(pushed, "section", "joints") == "joints"
        what = _pair(pushed) or {"joint" if is_joint else "on": pushed}
        return self._add("actuators", name, {**what, **given})

    def event(
        self,
        name: str,
        when: str,
        *,
        direction: str | None = None,
        action: str | None = None,
        restitution: Any = None,
        velocities: Mapping[str, Any] | None = None,
        release: Any = None,
        engage: Any = None,
        states: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
    ) -> Part:
        """Return what happens where the formula `when` crosses zero, rising, falling or both.

        `action` is record, stop or set; an impact with `restitution`, other `velocities`, joints to `release` or
        `engage`, new values of `states` and `inputs`.
        """
        then = {"direction": direction, "action": action, "restitution": restitution, "velocities": velocities}
        then |= {"release": release, "engage": engage, "states": states, "inputs": inputs}
        return self._add("events", name, {"when": when, **then})

    def input(self, name: str, value: Any = None, *, unit: str | None = None, every: Any = None) -> Part:
        """Add a value from outside, which formulas name: a number, a formula, a table dict(x=..., y=...), or left open.

        With `every` the formula is sampled so often, and held in between.
        """
        return self._add("inputs", name, {"unit": unit, "value": value, "every": every})

    def output(self, name: str, formula: Any, *, unit: str | None = None) -> Part:
        """Add a formula that is a result, output:name, and that other formulas name so."""
        return self._add("outputs", name, {"formula": formula, "unit": unit})

    def state(self, name: str, rate: Any, *, start: Any = None, unit: str | None = None, scale: Any = None) -> Part:
        """Add a state of first order with a formula of its rate, which all formulas may name."""
        return self._add("states", name, {"rate": rate, "start": start, "unit": unit, "scale": scale})

    def table(
        self,
        name: str,
        x: Sequence[Any] | None = None,
        y: Sequence[Any] | None = None,
        *,
        file: str | Path | None = None,
        columns: Sequence[str] | None = None,
        units: Sequence[str] | None = None,
        interpolation: str | None = None,
    ) -> None:
        """Add a function for formulas, as in torque(crank.omega), through values y at x or those of a file.

        What a file holds becomes part of the model. `interpolation` is linear or spline.
        """
        known: Any = self.document.data.get("tables", {})
        if name in known:
            raise ModelError(f"there is a table '{name}' already", "duplicate-name", path=f"tables.{name}", **where())
        if file is not None:
            from linkwork.formats.columns import read_columns

            found = read_columns(file)
            if wrong := next((one for one in columns or () if one not in found), None):
                hint = did_you_mean(wrong, found)
                raise ModelError(f"'{file}' has no column '{wrong}'", "unknown-column", suggestion=hint, **where())
            own = [found[one] for one in columns or [*found][:2]]
            if len(own) != 2:
                raise ModelError(f"'{file}' has {len(own)} columns; a table needs two", "bad-table", **where())
            (x, y), headed = ([column.values.tolist() for column in own], [column.unit or "1" for column in own])
            units = units or headed
        given = {"x": x, "y": y, "units": units, "interpolation": interpolation}
        self._set(("tables",), {**known, name: {key: value for key, value in given.items() if value is not None}})

    def change(self, name: str, **given: Any) -> Part:
        """Replace values of some keys of an element: change("spring", stiffness="3 N/mm").

        `copy` those of parameters.
        """
        part = self[name]
        entry = self.entry(part.section, name)
        tables: Mapping[str, Mapping[Space, Mapping[str, type]]] = {"joints": JOINTS, "forces": FORCES}
        types = tables.get(part.section, {}).get(self.space, {})
        cls = schema.BODIES[self.space] if part.section == "bodies" else types.get(entry.get("type", ""))
        self._set((part.section, name), {**entry, **self._as_written(cls, name, given)})
        return part

    def remove(self, name: str) -> None:
        """Take an element out; one that others need stays."""
        part = self[name]
        for section in SECTIONS:
            for user, entry in self._section(section).items():
                if part.section in ("bodies", "joints") and user != name and _mentions(entry, name):
                    message = f"'{name}' is needed by {section}.{user}"
                    raise ModelError(message, "needed", suggestion=f"remove('{user}') first", **where())
        del self._section(part.section)[name]
        self._model = None

    def copy(self, **parameters: Any) -> Builder:
        """Return the same model with other values of parameters."""
        other = self._of(self.document)
        other._hardpoints, other._origin = dict(self._hardpoints), self._origin
        known = other._section("parameters")
        for name in parameters:
            if name not in known:
                hint = did_you_mean(name, known)
                raise ModelError(f"no parameter '{name}'", "unknown-parameter", suggestion=hint, **where())
        other._set(("parameters",), {**known, **plain(parameters)})
        return other

    def _as_written(self, cls: type | None, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return keys of an element of a class as files have them: points for bodies, and those of hard points.

        Elements of other models, of which only the name would be taken, are refused.
        """
        for part in _parts(given):
            if part.model._origin is not self._origin:
                message, hint = f"{part!r} is not an element of '{self.name}'", f"write its own, m['{part.name}']"
                raise ModelError(message, "other-model", value=part.name, suggestion=hint, **where())
        found = dict(given)
        for key, holds, _ in schema.keys(cls) if cls else ():
            if holds.form == "point" and isinstance(body := given.get(key), Part):
                found[key] = body[name]
            elif holds.form == "points" and key in given:
                found[key] = self._points(given[key])
        return found

    def _add(self, section: str, name: str, given: Mapping[str, Any], cls: type | None = None) -> Part:
        given = self._as_written(cls, name, given)
        fault = name_fault(name) if isinstance(name, str) else "is not a text"
        if fault:
            hint = "the name comes first, body('crank', mass=1)" if not name or not isinstance(name, str) else None
            raise ModelError(f"name {name!r} {fault}", "bad-name", path=section, suggestion=hint, **where())
        if name in self._section(section):
            _, line = self.document.where((section, name))
            message = f"there is a '{name}' among the {section} since line {line}"
            hint = f"choose another name, or change('{name}', ...)"
            raise ModelError(message, "duplicate-name", path=f"{section}.{name}", suggestion=hint, **where())
        self._set((section, name), {key: value for key, value in given.items() if value is not None})
        return Part(self, section, name)

    def _set(self, place: Keys, value: Any) -> None:
        """Put a value into the document, or leave it as it was and say what is wrong."""
        at, around = where(), self.document.data
        for step in place[:-1]:
            around = around.setdefault(str(step), {})  # type: ignore[assignment]
        key, missing = str(place[-1]), object()
        before: Any = around.get(key, missing)
        around[key] = plain(value)
        lines, files = self.document.lines, self.document.files
        assert isinstance(lines, dict)
        assert isinstance(files, dict)
        known = lines.get(place), files.get(place)
        lines[place], files[place] = at["line"], at["file"]
        try:
            self._check(place)
        except ModelError:
            if before is missing:
                del around[key], lines[place], files[place]
            else:
                around[key], (lines[place], files[place]) = before, known
            raise
        self._model = None

    def _check(self, place: Keys) -> None:
        """Refuse what is wrong with one element: it is looked at in a model of nothing but what it names."""
        part = _with_what_it_needs(self.document.data, place)
        document = Document(self.document.file, part, self.document.lines, self.document.files)
        try:
            entry: Any = schema.entry_of(part).model_validate(part)
        except pydantic.ValidationError as error:
            details = error.errors(include_url=False)
            raise ModelError.together([shape_fault(detail, document) for detail in details]) from None
        try:
            sound(Translation(document, entry, {}).model(()))
        except ModelError as found:
            prefix = ".".join(map(str, place[:2]))
            errors = [document.locate(error) for error in found.errors]
            own = [e for e in errors if (e.path or "").startswith(prefix) and not _may_come_later(e)]
            for e in own:
                if section := MISSING.get(e.code):  # the names of all, of which few are in this model
                    e.suggestion = did_you_mean(str(e.value), self._section(section))
            if own:
                raise ModelError.together(own) from None

    # What is done with it.

    @property
    def subject(self) -> Model:
        return self.model


def _may_come_later(error: ModelError) -> bool:
    """Return whether what is missing may still be added.

    Such are a body that a formula names, a state that the rate of another one does, the event that engages a joint.
    """
    is_rate = (error.path or "").startswith("states.")
    named = r"unknown name" if is_rate else r"unknown name '[^']*[.:]"
    names_body = error.code == "expression-name" and re.search(named, error.message)
    return bool(names_body) or error.code == "never-engaged"


def _pair(given: Any) -> dict[str, Any]:
    """Return what a measure lies between, if points are given."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        return {}
    if len(given) != 2:
        message, hint = f"{given!r} is not two points", "write (crank['A'], rod['B']); a freedom is given by keyword"
        raise ModelError(message, "wrong-shape", suggestion=hint, **where())
    return dict(zip("ij", given, strict=True))


def _parts(value: Any) -> Iterator[Part]:
    if isinstance(value, Part | Point):
        yield value if isinstance(value, Part) else value.body
    elif isinstance(value, dict | list | tuple):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _parts(entry)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _mentions(entry: Any, name: str) -> bool:
    """Return whether a text of an entry speaks of this element: "rod", "rod.A", "2*rod.phi", "reaction:rod"."""
    whole = re.compile(rf"(?<![\w.]){re.escape(name)}\.[^\W\d]|:{re.escape(name)}(?!\w)")
    return any(text == name or whole.search(text) for text in _texts(entry))


def _with_what_it_needs(data: Mapping[str, Any], place: Keys) -> dict[str, Data]:
    """Return the document with one element and the bodies and joints that its texts may name."""
    kept: dict[str, Data] = {key: value for key, value in data.items() if key not in SECTIONS and value != {}}
    kept["bodies"] = {}
    if place == ("simulation",):  # its start names bodies and joints
        return kept | {key: data[key] for key in ("bodies", "joints") if data[key]}
    if len(place) < 2 or place[0] not in SECTIONS:
        return kept
    section, name = str(place[0]), str(place[1])
    entries = {(section, name): data[section][name]}
    for other in (*SIGNALS * len(SIGNALS), "joints", "bodies"):  # signals name others, in any order
        texts = [text for entry in entries.values() for text in _texts(entry)]
        for known, entry in data[other].items():
            if any(known in text for text in texts):
                entries.setdefault((other, known), entry)
    for kind in SECTIONS:
        if own := {n: entry for (s, n), entry in entries.items() if s == kind}:
            kept[kind] = own
    return kept


def method(section: str, cls: type, type_name: str = "") -> Callable[..., Part]:
    """Return the method that adds elements of a class: points, bodies or a joint by position, all else by keyword."""
    own_type = {"type": type_name} if type_name else {}

    def add(self: Builder, name: str = "", *arguments: Any, **given: Any) -> Part:
        first = [key for key, _, _ in schema.keys(cls) if key in POSITIONAL]
        if len(arguments) > len(first):
            message = f"only {', '.join(['name', *first])} are given by position, all else by keyword"
            raise ModelError(message, "too-many-arguments", path=f"{section}.{name}", **where())
        return self._add(section, name, {**own_type, **dict(zip(first, arguments, strict=False)), **given}, cls)

    ways = inspect.Parameter
    parameters = [ways("self", ways.POSITIONAL_OR_KEYWORD), ways("name", ways.POSITIONAL_OR_KEYWORD)]
    for key, _, field in schema.keys(cls):
        kind = ways.POSITIONAL_OR_KEYWORD if key in POSITIONAL else ways.KEYWORD_ONLY
        parameters.append(ways(key, kind, default=ways.empty if schema.is_required(field) else None))
    more = {"bodies": ("shape", "colour"), "joints": ("open",)}.get(section, ())
    parameters += [ways(key, ways.KEYWORD_ONLY, default=None) for key in more]
    add.__signature__ = inspect.Signature(sorted(parameters, key=lambda p: p.kind))  # type: ignore[attr-defined]
    add.__name__ = (type_name or "body").replace("-", "_")
    add.__doc__ = inspect.getdoc(cls)
    return add
