"""What the data files of a folder of DAP_BC or DAP_JC hold: elements with their fields and lines.

The files only assign; an array such as Bodies is of all files, so that inAnimate may give bodies their shapes. The
state of the mechanism is written in the names that formulas of model files have for it: B1.x, B1.omega, B1.P2.vy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from linkwork.arrays import Array
from linkwork.document import check_inside, read_text
from linkwork.elements.motions import MOTIONS
from linkwork.errors import ModelError, did_you_mean
from linkwork.expressions.derivatives import directional
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic, substitute
from linkwork.expressions.graph import ONE, Expr, as_expr, cos, sin, symbol
from linkwork.formats.mcode import (
    Call,
    Code,
    Matrix,
    Results,
    Structure,
    Unknown,
    Value,
    matrix,
    number,
    rotate,
    rotation,
    scalar,
)
from linkwork.formats.mfile import NOT_EXECUTED, Function, called, calls_in, parse
from linkwork.notes import Note
from linkwork.units import shown

# The file and the array of each kind of element, and the fields that it may have.
KINDS: dict[str, tuple[str, str, str]] = {
    "body": ("inBodies", "Bodies", "m J r p r_d p_d theta theta_d p0"),
    "point": ("inPoints", "Points", "Bindex sPlocal"),
    "unit vector": ("inUvectors", "Uvectors", "Bindex ulocal"),
    "force": ("inForces", "Forces",
              "type iPindex jPindex iBindex jBindex k L0 theta0 dc f_a T_a gravity wgt flocal f T iFunct"),
    "joint": ("inJoints", "Joints", "type iBindex jBindex iPindex jPindex iUindex jUindex iFunct L R x0 p0 fix"),
    "function": ("inFuncts", "Functs", "type t_start f_start t_end f_end dfdt_end coeff"),
    "animated point": ("inAnimate", "Points_anim", "Bindex sPlocal"),
}  # fmt: skip
DRAWN = ("shape", "R", "W", "H", "color")
WINDOW = ("xmin", "xmax", "ymin", "ymax")
NEEDED = ("inBodies", "inPoints", "inForces")
DATA = ("inBodies", "inPoints", "inUvectors", "inForces", "inJoints", "inFuncts", "inConst", "inAnimate")
READ = (*(name.lower() for name in DATA), "chainopen", "cutjoint", "user_force")
FORBIDDEN = (
    *("system", "shell_cmd", "dos", "unix", "popen", "exec", "eval", "evalin", "evalc", "feval", "assignin", "run"),
    *("source", "delete", "unlink", "rmdir", "fopen", "load", "save", "urlread", "webread"),
)
SAMPLES = 12  # random places: more than unknowns of any form that is looked for
SEED = 2018  # of these
ARRAYS = tuple(array for _, array, _ in KINDS.values())


@dataclass(frozen=True)
class Element:
    """A structure of a data file with its file and kind; fields that are not assigned have the values of DAP."""

    kind: str
    file: str
    name: str
    structure: Structure

    def error(self, message: str, code: str, key: str = "", **more: Any) -> ModelError:
        file, line = self.structure.lines.get(key, (self.file, self.structure.line))
        return ModelError(f"{self.kind} '{self.name}': {message}", code, file=file, line=line, **more)

    def has(self, key: str) -> bool:
        value = self.structure.fields.get(key)
        return value is not None and not (isinstance(value, np.ndarray) and not value.size)

    def entries(self, key: str, default: Sequence[float]) -> list[float]:
        if not self.has(key):
            return list(default)
        value = self.structure.fields[key]
        if not isinstance(value, np.ndarray) or not all(isinstance(x, float) for x in value.flat):
            raise self.error(f"{key} is not made of numbers", "not-a-number", key)
        return [float(x) for x in value.flat]

    def number(self, key: str, default: float = 0.0) -> float:
        values = self.entries(key, (default,))
        if len(values) != 1:
            raise self.error(f"{key} is not a number", "not-a-number", key)
        return values[0]

    def numbers(self, key: str, count: int, default: Sequence[float] = (0.0, 0.0)) -> list[float]:
        values = self.entries(key, default)
        if len(values) != count:
            raise self.error(f"{key} has {len(values)} numbers where {count} should be", "wrong-shape", key)
        return values

    def text(self, key: str, default: str) -> str:
        value = self.structure.fields.get(key, default)
        if not isinstance(value, str):
            raise self.error(f"{key} is not a text", "wrong-shape", key, suggestion=f"write {key} = '{default}'")
        return value

    def axis(self) -> list[float]:
        """Return the vector of a unit vector in its body."""
        return self.numbers("ulocal", 2, (1.0, 0.0))

    def index(self, key: str, what: str, count: int, lowest: int = 1) -> int:
        value = self.number(key)
        if not (value.is_integer() and lowest <= value <= count):
            rule = f"{what} are counted from {lowest} to {count}"
            raise self.error(f"{key} = {value:g}: no such {what.rstrip('s')}", "no-such-index", key, rule=rule)
        return int(value)


@dataclass(frozen=True)
class Spot:
    """A point of a body, by the index of the body; "" names its mass centre."""

    body: int
    s: tuple[float, float]
    name: str = ""


TIME = symbol("t")

Pose: TypeAlias = tuple[Any, Any, Any]  # x, y, phi


class Folder:
    """The data of a folder: elements of each kind in their order, which gives them their indices."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.m_files = _find_files(folder)
        self.notes: list[Note] = []
        for name in NEEDED:
            self.need(name)
        if not self.is_joint:
            self.need("inJoints")
        self.variables: dict[str, Value] = {}
        for name in DATA:
            if name.lower() in self.m_files and not (name == "inJoints" and self.is_joint):
                self.read_data(name)
        self.elements = {kind: self.listed(kind) for kind in KINDS}
        self.bodies, self.points, self.vectors = (self.elements[x] for x in ("body", "point", "unit vector"))

    @property
    def is_joint(self) -> bool:
        """Return whether it is a model of DAP_JC, in joint coordinates."""
        return "chainopen" in self.m_files

    def need(self, name: str) -> None:
        if name.lower() not in self.m_files:
            rule = "a model has inBodies, inPoints, inForces and inJoints, or in DAP_JC ChainOpen"
            message = f"the folder has no file {name}.m"
            raise ModelError(message, "missing-m-file", file=str(self.folder), rule=rule)

    def file(self, name: str) -> str:
        return str(self.m_files[name.lower()])

    def functions(self, name: str, path: Path | None = None) -> list[Function]:
        """Return the functions of a file, in which nothing may call what has nothing to do with a model."""
        path = path or self.m_files[name.lower()]
        file = str(path)
        found = parse(_read(path), file)
        for node, line in (x for function in found for x in calls_in(function.body)):
            if (word := called(node)) in FORBIDDEN:
                message = f"'{word}' cannot be read here"
                raise ModelError(message, "m-file-code", file=file, line=line, rule=NOT_EXECUTED)
        return found

    def read_data(self, name: str) -> None:
        """Carry out the assignments of a file; arrays of elements are those of all files, and so is all in scripts."""
        functions = self.functions(name)
        if len(functions) > 1:
            second = functions[1].name
            message = f"a second function '{shown(second)}' is code" if second else "after the function there is code"
            raise ModelError(message, "m-file-code", file=self.file(name), line=functions[1].line, rule=NOT_EXECUTED)
        for function in functions:
            is_script = not function.name
            shared = {key: x for key, x in self.variables.items() if is_script or key in ARRAYS}
            code = Code(self.file(name), shared, strict=True)
            code.follow(function.body)
            kept = (*ARRAYS, *WINDOW, "nConst")
            self.variables |= {key: x for key, x in code.names.items() if is_script or key in kept}

    def listed(self, kind: str) -> list[Element]:
        name, array, known = KINDS[kind]
        if name.lower() not in self.m_files or (kind == "joint" and self.is_joint):
            return []
        file, value = self.file(name), self.variables.get(array)
        if value is None and kind != "animated point":
            hint = f"end with {array} = [...];"
            raise ModelError(f"'{array}' is not assigned", "missing-key", file=file, suggestion=hint)
        structures = (value,) if isinstance(value, Structure) else value if isinstance(value, tuple) else ()
        if isinstance(value, (str, Unknown)) or (isinstance(value, np.ndarray) and value.size):
            raise ModelError(f"{array} does not hold structures", "wrong-shape", file=file)
        found: list[Element] = []
        for k, item in enumerate(structures, 1):
            taken = [other.name for other in found]
            unnamed = item.name in (*taken, array) or item.name.endswith("_struct")
            label = f"{array[0]}{k}" if unnamed else item.name
            while label in taken:
                label += "_"
            element = Element(kind, file, label, item)
            self.check_fields(element, known.split())
            found.append(element)
        return found

    def check_fields(self, element: Element, known: list[str]) -> None:
        """Refuse an unknown field of the mechanics, note one of a drawing; user forces keep their own data."""
        if element.kind == "force" and element.structure.fields.get("type") == "user":
            return
        for key, (file, line) in element.structure.lines.items():
            if key in known or (element.kind == "body" and key in DRAWN):
                continue
            if "inanimate" in self.m_files and file == self.file("inAnimate"):
                self.notes.append(Note("drawing-not-read", file=Path(file).name, line=line, what=shown(key)))
                continue
            hint = did_you_mean(key, known)
            raise element.error(f"no field '{shown(key)}'", "unknown-key", key, suggestion=hint)

    def point(self, element: Element, key: str) -> Element:
        return self.points[element.index(key, "points", len(self.points)) - 1]

    def vector(self, element: Element, key: str) -> Element:
        return self.vectors[element.index(key, "unit vectors", len(self.vectors)) - 1]

    def body_of(self, element: Element, key: str = "Bindex") -> int:
        return element.index(key, "bodies", len(self.bodies), lowest=0)

    def spot(self, point: Element) -> Spot:
        x, y = point.numbers("sPlocal", 2)
        return Spot(self.body_of(point), (x, y), point.name)

    def ends(self, element: Element) -> tuple[Spot, Spot]:
        """Return the points i and j of a joint or force."""
        i, j = (self.spot(self.point(element, key)) for key in ("iPindex", "jPindex"))
        return i, j

    def pair(self, element: Element) -> tuple[int, int]:
        """Return the bodies i and j of a joint or force."""
        return self.body_of(element, "iBindex"), self.body_of(element, "jBindex")

    def sampled(self, *others: Expr) -> dict[Expr, Array]:
        """Return random states of all bodies, and values of other symbols: expressions that agree there are the
        same.
        """
        random = np.random.default_rng(SEED)
        values = {x: random.uniform(-1.0, 1.0, SAMPLES) for x in (*self.q, *self.v, *others)}
        points = evaluate(self.expansion.values(), values, numpy_arithmetic())
        return {**values, **dict(zip(self.expansion, points, strict=True))}

    def helpers(self, name: str) -> dict[str, Call]:
        """Return functions of the user that a file may call: further ones in it, and those of other M-files of the
        folder.
        """

        def follow(own: Function, file: str) -> Call:
            return lambda code, values: code.call_own(own, file, values)

        def open_file(path: Path) -> Call:
            def call(code: Code, values: list[Value]) -> Results | None:
                check_inside(path)
                found = self.functions(path.stem, path)
                if not found or not found[0].name:
                    raise code.error(f"{path.name} is not a function", "m-file-code", code.line)
                return code.call_own(found[0], str(path), values)

            return call

        others = [path for path in sorted(self.folder.glob("*.m")) if path.stem.lower() not in READ]
        own = {x.name: follow(x, self.file(name)) for x in self.functions(name)[1:] if x.name}
        return {**{path.stem: open_file(path) for path in others}, **own, "functs": self.functs}

    def functs(self, code: Code, values: list[Value]) -> Results:
        """Return f(t) of inFuncts and its first two derivatives."""
        index, time = values
        functions = self.elements["function"]
        k = number(index)
        if not (k.is_integer() and 1 <= k <= len(functions)):
            rule = f"functions are counted from 1 to {len(functions)}"
            raise code.error(f"no function {k:g}", "no-such-index", code.line, rule=rule)
        found = [law_of(functions[int(k) - 1])]
        for _ in range(2):
            found += directional(found[-1:], {TIME: ONE})
        return Results(tuple(matrix(x) for x in substitute(found, {TIME: as_expr(scalar(time))})))

    # The state in the names of formulas

    @cached_property
    def names(self) -> list[str]:
        return ["ground", *(body.name for body in self.bodies)]

    def symbols(self, body: int) -> tuple[list[Expr], list[Expr]]:
        """Return x, y, phi of a body, and their rates."""
        name = self.names[body]
        rates = [symbol(f"{name}.{key}") for key in ("vx", "vy", "omega")]
        return [symbol(f"{name}.{key}") for key in ("x", "y", "phi")], rates

    @cached_property
    def q(self) -> list[Expr]:
        return [x for body in range(1, len(self.names)) for x in self.symbols(body)[0]]

    @cached_property
    def v(self) -> list[Expr]:
        return [x for body in range(1, len(self.names)) for x in self.symbols(body)[1]]

    @cached_property
    def expansion(self) -> dict[Expr, Expr]:
        """Places and velocities of points by those of their bodies."""
        found: dict[Expr, Expr] = {}
        for point in self.points:
            spot = self.spot(point)
            if spot.body:
                (x, y, phi), (vx, vy, omega) = self.symbols(spot.body)
                a, b = turned(phi, spot.s)
                values = {"x": x + a, "y": y + b, "vx": vx - omega * b, "vy": vy + omega * a}
                prefix = f"{self.names[spot.body]}.{point.name}"
                found |= {symbol(f"{prefix}.{key}"): value for key, value in values.items()}
        return found

    def place(self, spot: Spot) -> tuple[Any, Any]:
        """Return x and y of a point by the names of formulas."""
        if not spot.body:
            return spot.s
        prefix = self.names[spot.body] + (f".{spot.name}" if spot.name else "")
        return symbol(f"{prefix}.x"), symbol(f"{prefix}.y")

    def state(self) -> dict[str, Value]:
        """Return bodies, Points and Uvectors as the formulas of a model find them, f and n of the bodies still zero."""
        bodies, points, vectors = [], [], []
        for k, body in enumerate(self.bodies, 1):
            (x, y, phi), (vx, vy, omega) = self.symbols(k)
            own: dict[str, Value] = {"r": matrix(x, y), "p": matrix(phi), "r_d": matrix(vx, vy), "p_d": matrix(omega)}
            own |= {"A": rotation(matrix(phi)), "m": matrix(body.number("m", 1.0)), "J": matrix(body.number("J", 1.0))}
            bodies.append(_with(body, {**own, "f": matrix(0.0, 0.0), "n": matrix(0.0)}))
        for point in self.points:
            spot = self.spot(point)
            place, still = matrix(*self.place(spot)), matrix(0.0, 0.0)
            s, s_d, r_d = place, still, still
            if spot.body:
                (x, y, _), (vx, vy, _) = self.symbols(spot.body)
                prefix = f"{self.names[spot.body]}.{point.name}"
                r_d = matrix(symbol(f"{prefix}.vx"), symbol(f"{prefix}.vy"))
                s, s_d = place - matrix(x, y), r_d - matrix(vx, vy)
            points.append(_with(point, {"rP": place, "rP_d": r_d, "sP": s, "sP_r": rotate(s), "sP_d": s_d}))
        for vector in self.vectors:
            u = matrix(*vector.axis())
            u_d = matrix(0.0, 0.0)
            if (body_index := self.body_of(vector)) != 0:
                (_, _, phi), (_, _, omega) = self.symbols(body_index)
                u = matrix(*turned(phi, u.flat))
                u_d = rotate(u) * omega
            vectors.append(_with(vector, {"u": u, "u_r": rotate(u), "u_d": u_d}))
        others = {array: tuple(x.structure for x in self.elements[kind]) for kind, (_, array, _) in KINDS.items()}
        counts = {"nB": len(bodies), "nP": len(points), "nU": len(vectors), "nF": len(self.elements["force"])}
        return {
            **others,
            **{"Bodies": tuple(bodies), "Points": tuple(points), "Uvectors": tuple(vectors), "t": matrix(symbol("t"))},
            **{key: matrix(float(count)) for key, count in counts.items()},
        }


def motion_of(function: Element) -> dict[str, Any]:
    """Return a function of time as a model file has it."""
    kind = function.text("type", "a")
    if kind == "a":
        value, rate, square = function.numbers("coeff", 3, ())
        return {"type": "polynomial", "value": value, "rate": rate, "acceleration": 2.0 * square}
    times = {"t_start": function.number("t_start"), "t_end": function.number("t_end", 1.0)}
    start = function.number("f_start")
    if kind == "b":
        return {"type": "smooth-step", "start": start, "end": function.number("f_end", 1.0), **times}
    if kind == "c":
        return {"type": "ramp", "start": start, "rate": function.number("dfdt_end", 1.0), **times}
    raise function.error(f"no type '{shown(kind)}'", "unknown-type", "type", suggestion="choose from a, b, c")


def law_of(function: Element) -> Expr:
    """Return f(t)."""
    motion = motion_of(function)
    return as_expr(MOTIONS[motion.pop("type")](**motion).f(TIME))


def turned(phi: Any, s: Any) -> tuple[Any, Any]:
    """Return A s."""
    x, y = s
    c, n = cos(phi), sin(phi)
    return c * x - n * y, n * x + c * y


def _with(element: Element, fields: Mapping[str, Value]) -> Structure:
    columns = {
        key: matrix(*value.flat) if isinstance(value, np.ndarray) and key in ("sPlocal", "ulocal") else value
        for key, value in element.structure.fields.items()
    }
    defaults: dict[str, Matrix] = {"Bindex": matrix(0.0)} if element.kind in ("point", "unit vector") else {}
    return Structure(element.name, element.structure.line, {**defaults, **columns, **fields}, element.structure.lines)


def _read(path: Path) -> str:
    """Read the text of an M-file; older editors wrote comments in other encodings than UTF-8."""
    try:
        return read_text(path)
    except ModelError as error:
        if error.code != "not-utf8":
            raise error if error.line else error.at(file=str(path), line=1) from None
        return path.read_bytes().decode("latin-1").replace("\r\n", "\n").replace("\r", "\n")


def _find_files(folder: Path) -> dict[str, Path]:
    """Find the M-files that are read, by their names in small letters."""
    found: dict[str, Path] = {}
    for file in sorted(folder.iterdir()):
        name = file.stem.lower()
        if file.suffix.lower() != ".m" or name not in READ:
            continue
        if name in found:
            message = f"the files {found[name].name} and {file.name} differ only in capital letters"
            raise ModelError(message, "ambiguous-m-file", file=str(folder), suggestion="leave the one that is meant")
        check_inside(file)
        found[name] = file
    return found
