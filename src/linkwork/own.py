"""Joints, forces, motions, formulations and integrators of your own.

    from linkwork.own import PointPair, Vector, Length, element

    @element("eccentric", space="planar")
    class Eccentric(PointPair):
        "Point s_j runs on a circle about s_i, whose centre is off by `offset` in body i."
        radius: Length
        offset: Length = 0.0
        rows = {"radius": "length"}

        def Psi(self, t, i, j):
            d = j.point(self.s_j) - i.point((self.s_i[0] + self.offset, self.s_i[1]))
            return Vector(((d.dot(d) - self.radius**2) / (2 * self.radius),))

From then on model files and builders know the type: `E: {type: eccentric, i: ground.O, j: bar.A, radius: 12 mm}`,
`m.eccentric("E", i, j, radius="12 mm")`. Elements are written in expressions, so that they are differentiated exactly
and compiled like those of linkwork. A model file never loads code: a module with own elements is named on the command
line, `linkwork --plugins my_elements.py run model.yaml`, imported before, or installed as an entry point of the group
"linkwork.elements".
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from importlib.util import module_from_spec, spec_from_file_location
from inspect import get_annotations, signature
from pathlib import Path as FilePath
from traceback import extract_tb
from typing import Any, TypeVar

from linkwork.elements.bodies import Ground, PlanarBody, SpatialBody
from linkwork.elements.contact import FlatContact, Push, RoundContact
from linkwork.elements.forces import FORCES, Motor, PointForce, SpringDamper, Torque
from linkwork.elements.frames import PlanarFrame, SpatialFrame
from linkwork.elements.freedoms import measure_freedom
from linkwork.elements.joints import JOINTS, Revolute
from linkwork.elements.kinds import Space
from linkwork.elements.loads import BodyForce, BodyPointForce, Force, JointForce, PairForce, PointPairForce
from linkwork.elements.motions import MOTIONS, Motion
from linkwork.elements.pairs import AxisPair, Joint, PointPair, RodPair
from linkwork.elements.paths import Path, PlanarTurn, Shift, turn_axis
from linkwork.elements.quantities import (
    Angle,
    AngularSpeed,
    Damping,
    Direction,
    ForceFormula,
    FreedomName,
    Inertia,
    Length,
    Mass,
    Number,
    Place,
    Quantity,
    RotationalDamping,
    RotationalStiffness,
    Speed,
    Stiffness,
    Time,
    TorqueFormula,
)
from linkwork.elements.spatial import AxialPair, SpatialAxisPair, SpatialRevolute
from linkwork.elements.vectors import Vector, norm
from linkwork.errors import FAULTS_OF_FUNCTIONS, HERE, USE_SYMBOLS, LinkworkError, UsageError, checked_call
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import (
    Expr,
    absolute,
    as_expr,
    atan2,
    cos,
    exp,
    less,
    log,
    maximum,
    minimum,
    select,
    sign,
    sin,
    sqrt,
    symbol,
    tan,
    tanh,
)
from linkwork.formulations.own import OwnFormulation, Solve, add_formulation
from linkwork.integrators.methods.own import tableau
from linkwork.modelfile.schema import ANYTHING, is_required, keys

__all__ = [
    "Angle",
    "AngularSpeed",
    "AxialPair",
    "AxisPair",
    "BodyForce",
    "BodyPointForce",
    "Damping",
    "Direction",
    "Expr",
    "FlatContact",
    "Force",
    "ForceFormula",
    "FreedomName",
    "Inertia",
    "Joint",
    "JointForce",
    "Length",
    "Mass",
    "Motor",
    "Number",
    "PairForce",
    "Path",
    "Place",
    "PlanarFrame",
    "PlanarTurn",
    "PointForce",
    "PointPair",
    "PointPairForce",
    "Push",
    "Quantity",
    "RodPair",
    "RotationalDamping",
    "RotationalStiffness",
    "RoundContact",
    "Shift",
    "SpatialAxisPair",
    "SpatialFrame",
    "Speed",
    "SpringDamper",
    "Stiffness",
    "Time",
    "Torque",
    "TorqueFormula",
    "Vector",
    "absolute",
    "atan2",
    "cos",
    "element",
    "exp",
    "formulation",
    "less",
    "load_plugins",
    "log",
    "maximum",
    "measure_freedom",
    "minimum",
    "norm",
    "select",
    "sign",
    "sin",
    "sqrt",
    "tableau",
    "tan",
    "tanh",
    "turn_axis",
]

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
Class = TypeVar("Class", bound=type)


@checked_call()
def element(name: str, space: Space = "planar") -> Callable[[Class], Class]:
    """Let model files and builders know a class of joints, forces or motions by this name.

    Its fields become keys, with the units that their annotations state; they are given by keyword. A joint states its
    `rows`, by name "length" or "angle", and `Psi(t, i, j)` of the frames of its bodies; what holds velocities, as
    rolling does, its `slips` likewise and `slip(t, i, j)`, linear in velocities; a force `Q(i, j)`, the generalized
    force on each of its bodies; a motion `f(t)`. Also a joint may state its `freedoms`, what it is
    `drawn_as`, and the `way` from one body to the other that makes its freedoms joint coordinates; a force its
    `potential` and its `dissipation`; each its `faults`.
    """

    if not NAME.fullmatch(name):
        raise UsageError(f"'{name}' is not a name of a type; write it like 'my-joint'", "bad-name")
    if space not in JOINTS:
        raise UsageError(f"space '{space}': should be 'planar' or 'spatial'", "bad-space")

    def add(cls: Class) -> Class:
        table = _table(cls, space)
        known = table.get(name)
        if known is not None and known.__module__.startswith("linkwork.elements."):
            raise UsageError(f"'{name}' is a type of linkwork; choose another name", "duplicate-name")
        try:
            if "__dataclass_fields__" not in cls.__dict__:
                cls = dataclass(frozen=True, eq=False, kw_only=True)(cls)  # type: ignore[assignment]
            if table is MOTIONS and not issubclass(cls, Motion):
                cls = type(cls.__name__, (cls, Motion), {"__module__": cls.__module__, "__doc__": cls.__doc__})  # type: ignore[assignment]
            _try_out(cls, name, space)
        except FAULTS_OF_FUNCTIONS as error:
            frames = extract_tb(error.__traceback__)
            line = [f", line {x.lineno}" for x in frames if not x.filename.startswith((HERE, "<string>"))][-1:]
            message = f"{cls.__name__} is tried out with symbols{''.join(line)}: {type(error).__name__}: {error}"
            ways = "write Psi(self, t, i, j), slip(self, t, i, j), Q(self, *frames) or f(self, t)"
            raise UsageError(f"{message}; {ways}, and {USE_SYMBOLS}", "own-element") from error
        table[name] = cls
        return cls

    return add


def _table(cls: type, space: Space) -> dict[str, Any]:
    """Find where a class belongs."""
    if not isinstance(cls, type):
        raise UsageError(f"{cls!r} is not a class; @element stands before one", "own-element")
    if issubclass(cls, Joint):
        if cls.slips and cls.slip is not Joint.slip and (not cls.rows or cls.Psi is not Joint.Psi):
            return JOINTS[space]
        if not cls.rows or cls.Psi is Joint.Psi:
            message = f"joint {cls.__name__} has no rows" if not cls.rows else f"joint {cls.__name__} has no Psi"
            raise UsageError(f"{message}; state rows = {{'x': 'length'}} and Psi(self, t, i, j)", "own-element")
        return JOINTS[space]
    if issubclass(cls, Force):
        if not hasattr(cls, "Q"):
            raise UsageError(f"force {cls.__name__} has no Q(self, *frames)", "own-element")
        return FORCES[space]
    if callable(getattr(cls, "f", None)):
        return MOTIONS
    bases = "Joint (PointPair, AxisPair ...), Force (BodyForce, PairForce, JointForce), nor has it f(t)"
    raise UsageError(f"{cls.__name__} is neither a {bases}", "own-element")


def _try_out(cls: type, name: str, space: Space) -> None:
    """Form the equations of one such element with symbols for its numbers: what it returns must fit its bodies."""
    for key, holds, _ in keys(cls):
        if holds is ANYTHING and key in get_annotations(cls):
            known = "one of Number, Length, Angle, Mass, Time, Stiffness, Damping ... of linkwork.own"
            raise UsageError(f"field '{key}' of {cls.__name__} has no kind; annotate it as {known}", "own-element")
    body: Any = PlanarBody if space == "planar" else SpatialBody
    size, n_v = (2, 3) if space == "planar" else (3, 6)
    given: dict[str, Any] = {field.name: "trial" for field in fields(cls) if field.name == "name"}
    bodies = {"body": body("b"), "body_i": body("i"), "body_j": body("j"), "carrier": Ground()}
    point = tuple(symbol(f"trial {x}") for x in "xyz"[:size])
    given |= {field.name: point for field in fields(cls) if field.name in ("s", "s_i", "s_j")}
    for key, holds, field in keys(cls):
        if field.name in bodies:
            given[field.name] = bodies[field.name]
        elif holds.form == "joint":
            ends = (body("i"), body("j"), point, point)
            given[key] = Revolute("O", *ends) if space == "planar" else SpatialRevolute("O", *ends, point)
        elif is_required(field):
            given[field.name] = point if holds.form in ("vector", "axis") else symbol(f"trial {key}")
    made: Any = cls(**given)
    if not issubclass(cls, Joint | Force):
        as_expr(made.f(symbol("t")))
        return
    frames = [
        body(x).frame([symbol(f"{x} q{k}") for k in range(7)], [symbol(f"{x} v{k}") for k in range(6)])
        if not isinstance(each, Ground)
        else made.ground
        for x, each in zip("ijk", made.bodies, strict=False)
    ]
    if isinstance(made, Joint):
        t = symbol("t")
        for made_of, named, found in (("Psi", made.rows, made.Psi), ("slip", made.slips, made.slip)):
            names = "rows" if made_of == "Psi" else "slips"
            if not isinstance(named, Mapping):
                message = f"{names} = {named!r} of '{name}' give no kinds to names; write {names} = {{'x': 'length'}}"
                raise UsageError(message, "own-element")
            if len(rows := [*map(as_expr, found(t, *frames))]) != len(named):
                message = f"{made_of} of '{name}' has {len(rows)} rows, but `{names}` names {len(named)}"
                raise UsageError(message, "own-element")
        speeds = {x for frame in frames for x in frame.v}
        A = jacobian([*made.slip(t, *frames)], [*speeds])
        if not speeds.isdisjoint(ordered(A.values())):
            raise UsageError(f"slip of '{name}' is not linear in velocities: it is A(t, q) v + b(t, q)", "own-element")
        kinds = [*made.rows.values(), *made.slips.values()]
        if wrong := [kind for kind in kinds if kind not in ("length", "angle", "number")]:
            raise UsageError(f"a row of '{name}' is '{wrong[0]}', not a length, an angle or a number", "own-element")
        return
    found = made.Q(*frames)
    forces = [len(Q) if isinstance(Q, Vector | tuple | list) else 1 for Q in found]
    if forces != [n_v] * len(made.bodies):
        message = f"Q of '{name}' has {forces} components, not {n_v} for each of its {len(made.bodies)} bodies"
        raise UsageError(f"{message}; frame.force_at(s, F) and frame.torque(T) give them", "own-element")


@checked_call()
def formulation(name: str, needs_regular_mass: bool = True) -> Callable[[Solve], OwnFormulation]:
    """Let `simulate`, `compare` and `explain` know a function (M, Psi_q, Q, gamma) -> (a, lam) by this name.

        @formulation("range-space")
        def range_space(M, Psi_q, Q, gamma):
            W = Psi_q @ np.linalg.inv(M)
            lam = np.linalg.solve(W @ Psi_q.T, W @ Q - gamma)
            return np.linalg.solve(M, Q - Psi_q.T @ lam), lam

    It solves M a + Psi_q^T lam = Q, Psi_q a = gamma. Velocities and rows are on the scales of the mechanism and inertia
    is by the largest one, as for every formulation on full matrices. It is called in each evaluation, some thousand
    times a run, and is slower than machine code accordingly.
    """

    if not NAME.fullmatch(name):
        raise UsageError(f"'{name}' is not a name of a formulation; write it like 'my-way'", "bad-name")

    def add(solve: Solve) -> OwnFormulation:
        try:
            signature(solve).bind("M", "Psi_q", "Q", "gamma")
        except TypeError:
            raise UsageError(f"{solve!r} is not a function of M, Psi_q, Q, gamma", "own-formulation") from None
        return add_formulation(name, solve, needs_regular_mass)

    return add


@checked_call()
def load_plugins(files: Iterable[str | FilePath]) -> None:
    """Import Python files with own elements, formulations or integrators."""
    for file in map(FilePath, files):
        spec = spec_from_file_location(file.stem, file)
        if not file.is_file() or spec is None or spec.loader is None:
            raise UsageError(f"'{file}' is not a Python file", "no-plugin")
        module = sys.modules[file.stem] = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except LinkworkError:
            raise
        except Exception as error:  # of whatever kind, it is a fault of that file
            lines = [
                frame.lineno for frame in extract_tb(error.__traceback__) if FilePath(frame.filename) == file.resolve()
            ]
            line = f":{lines[-1]}" if lines else ""
            raise UsageError(f"{file}{line}: {type(error).__name__}: {error}", "plugin-failed") from error
