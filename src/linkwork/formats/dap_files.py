"""What a folder of DAP_BC or DAP_JC holds: elements with their fields and lines, and where the bodies start.

The data files are read as assignments. A folder of DAP_JC has no `inJoints`: there the joints of the tree are the calls
of Coord_* in `ChainOpen`, cut pins and drivers stand in Phi of `CutJoint`; what else these two compute follows from the
joints.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkwork.document import check_inside, read_text
from linkwork.errors import ModelError, did_you_mean
from linkwork.formats.mfile import LOOPS, Node, Statement, Structure, Value, assign, called, statements
from linkwork.units import shown

# The file and the array in it of each kind of element, and the fields an element may have.
KINDS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "body": ("inBodies", "Bodies", ("m", "J", "r", "p", "r_d", "p_d", "theta", "theta_d", "p0", "shape", "R", "W", "H",
                                    "color")),
    "point": ("inPoints", "Points", ("Bindex", "sPlocal")),
    "unit vector": ("inUvectors", "Uvectors", ("Bindex", "ulocal")),
    "force": ("inForces", "Forces", ("type", "iPindex", "jPindex", "iBindex", "jBindex", "k", "L0", "theta0", "dc",
                                     "f_a", "T_a", "gravity", "wgt", "flocal", "f", "T", "iFunct")),
    "joint": ("inJoints", "Joints", ("type", "iBindex", "jBindex", "iPindex", "jPindex", "iUindex", "jUindex", "iFunct",
                                     "L", "R", "x0", "p0", "fix")),
    "function": ("inFuncts", "Functs", ("type", "t_start", "f_start", "t_end", "f_end", "dfdt_end", "coeff")),
    "animated point": ("inAnimate", "Points_anim", ("Bindex", "sPlocal")),
}  # fmt: skip
NEEDED = ("inBodies", "inPoints", "inForces")
READ = (*(name.lower() for name, _, _ in KINDS.values()), "chainopen", "cutjoint", "inconst", "user_force")
FORBIDDEN = ("system", "eval", "evalin", "evalc", "feval", "dos", "unix", "run", "delete", "fopen", "assignin")


@dataclass(frozen=True)
class Element:
    """A structure of a data file with its file and kind; fields that are not assigned have the values of DAP."""

    kind: str
    file: str
    name: str
    structure: Structure

    def error(self, message: str, code: str, key: str = "", **more: Any) -> ModelError:
        line = self.structure.fields[key][1] if key in self.structure.fields else self.structure.line
        return ModelError(f"{self.kind} '{self.name}': {message}", code, file=self.file, line=line, **more)

    def given(self, key: str, default: Value) -> Value:
        return self.structure.fields[key][0] if key in self.structure.fields else default

    def number(self, key: str, default: float = 0.0) -> float:
        value = self.given(key, default)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if not isinstance(value, float):
            raise self.error(f"{key} is not a number", "not-a-number", key)
        return value

    def numbers(self, key: str, count: int, default: tuple[float, ...] = (0.0, 0.0)) -> list[float]:
        value = self.given(key, list(default))
        values: list[Any] = value if isinstance(value, list) else [value]
        if not all(isinstance(x, float) for x in values):
            raise self.error(f"{key} is not made of numbers", "not-a-number", key)
        if len(values) != count:
            raise self.error(f"{key} has {len(values)} numbers where {count} should be", "wrong-shape", key)
        return values

    def text(self, key: str, default: str) -> str:
        value = self.given(key, default)
        if not isinstance(value, str):
            raise self.error(f"{key} is not a text", "wrong-shape", key, suggestion=f"write {key} = '{default}'")
        return value

    def index(self, key: str, what: str, count: int, lowest: int = 1) -> int:
        value = self.number(key)
        if not (value.is_integer() and lowest <= value <= count):
            rule = f"{what} are counted from {lowest} to {count}"
            raise self.error(f"{key} = {value:g}: no such {what.rstrip('s')}", "no-such-index", key, rule=rule)
        return int(value)


@dataclass
class Pose:
    r: list[float]
    phi: float
    r_dot: list[float]
    omega: float

    def turned(self, s: list[float]) -> list[float]:
        c, n = math.cos(self.phi), math.sin(self.phi)
        return [c * s[0] - n * s[1], n * s[0] + c * s[1]]

    def point(self, s: list[float]) -> tuple[list[float], list[float]]:
        """Place and velocity of a point."""
        x, y = self.turned(s)
        place = [self.r[0] + x, self.r[1] + y]
        return place, [self.r_dot[0] - self.omega * y, self.r_dot[1] + self.omega * x]

    def local(self, place: list[float]) -> list[float]:
        x, y = place[0] - self.r[0], place[1] - self.r[1]
        return Pose([0.0, 0.0], -self.phi, [0.0, 0.0], 0.0).turned([x, y])


def _held(phi: float, omega: float, s: list[float], place: list[float], velocity: list[float]) -> Pose:
    """The pose of a body whose point s is at a place."""
    x, y = Pose([0.0, 0.0], phi, [0.0, 0.0], 0.0).turned(s)
    return Pose([place[0] - x, place[1] - y], phi, [velocity[0] + omega * y, velocity[1] - omega * x], omega)


class Folder:
    """Elements of each kind in their order, joints of the tree and cut ones among them, and the poses at the start.

    `left_out` is what could not be read; `drives` are coordinate, law and statement of the drivers in CutJoint.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.m_files: dict[str, Path] = {}
        for file in sorted(folder.iterdir()):
            name = file.stem.lower()
            if file.suffix.lower() != ".m" or name not in READ:
                continue
            if name in self.m_files:
                message = f"the files {self.m_files[name].name} and {file.name} differ only in capital letters"
                suggestion = "leave the one that is meant"
                raise ModelError(message, "ambiguous-m-file", file=str(folder), suggestion=suggestion)
            self.m_files[name] = file
        for file in self.m_files.values():
            check_inside(file)
        self.left_out: list[ModelError] = []
        for name in NEEDED:
            self.need(name)
        if "injoints" not in self.m_files and "chainopen" not in self.m_files:
            self.need("inJoints")
        self.elements = {kind: self.listed(kind) for kind in KINDS}
        self.bodies = self.elements["body"]
        self.points = self.elements["point"]
        self.drives: list[tuple[str, str, Statement]] = []
        self.joints = self.elements["joint"] if "injoints" in self.m_files else [*self.chain(), *self.cuts()]
        self.poses = self.start()

    def need(self, name: str) -> None:
        if name.lower() not in self.m_files:
            rule = "a model has inBodies, inPoints, inForces and inJoints, or in DAP_JC ChainOpen"
            message = f"the folder has no file {name}.m"
            raise ModelError(message, "missing-m-file", file=str(self.folder), rule=rule)

    def listed(self, kind: str) -> list[Element]:
        """The elements of a kind in the order of their array, which gives them their indices."""
        name, array, known = KINDS[kind]
        path = self.m_files.get(name.lower())
        if path is None:
            return []
        file = str(path)
        names = assign(read_text(path), file)
        value, line = names.get(array, ([], 1))
        if array not in names and kind != "animated point":
            message = f"'{array}' is not assigned"
            raise ModelError(message, "missing-key", file=file, line=line, suggestion=f"end with {array} = [...];")
        found: list[Element] = []
        for k, item in enumerate(value if isinstance(value, list) else [value], 1):
            if not isinstance(item, Structure):
                message = f"entry {k} of {array} is no structure"
                raise ModelError(message, "wrong-shape", file=file, line=line)
            element = Element(kind, file, item.name, item)
            if any(other.name == item.name for other in found):
                raise ModelError(f"{array} holds '{item.name}' twice", "duplicate-name", file=file, line=line)
            is_user = kind == "force" and element.given("type", "ptp") == "user"
            for key in item.fields:
                if key not in known and not is_user:  # user forces keep data of their own
                    hint = did_you_mean(key, known)
                    raise element.error(f"no field '{shown(key)}'", "unknown-key", key, suggestion=hint)
            found.append(element)
        return found

    def code(self, name: str) -> list[Statement]:
        """The statements of a file of formulas, in which nothing may call what has nothing to do with them."""
        path = self.m_files[name.lower()]
        found = statements(read_text(path), str(path), lenient=True)
        for statement in found:
            words = [statement.keyword, *statement.words, *(called(node) for node in _walk(statement.value))]
            for word in words:
                # Of a line that cannot be read, what matters must not be missed.
                if word in (*LOOPS, *FORBIDDEN) or (statement.words and (word == "Phi" or word.startswith("Coord_"))):
                    message = f"'{shown(word)}' cannot be read here; nothing in this file is executed"
                    raise ModelError(message, "m-file-code", file=str(path), line=statement.line)
        return found

    def made(self, kind: str, name: str, file: str, line: int, **fields: Value) -> Element:
        return Element(kind, file, name, Structure(name, line, {key: (x, line) for key, x in fields.items()}))

    def chain(self) -> list[Element]:
        """The joints of the tree, from the calls of Coord_Rev, Coord_Tran and Coord_Float in ChainOpen."""
        file = str(self.m_files["chainopen"])
        found: list[Element] = []
        keys = {"Coord_Rev": ("iPindex", "jPindex"), "Coord_Tran": ("iPindex", "iUindex", "jPindex", "jUindex")}
        for statement in self.code("ChainOpen"):
            node = statement.value
            name = called(node) if node and statement.target is None else ""
            if node is None or not name.startswith("Coord_") or name == "Coord_Float":
                continue
            numbers = [part.parts[0] for part in node.parts[1:] if part.kind == "number"]
            if name not in keys or len(numbers) != len(keys[name]):
                message = f"{name} is no call of Coord_Rev, Coord_Tran or Coord_Float with indices"
                hint = "state all joints in an inJoints.m, as for DAP_BC"
                raise ModelError(message, "m-file-code", file=file, line=statement.line, suggestion=hint)
            fields: dict[str, Value] = dict(zip(keys[name], numbers, strict=True))
            kind = "tree-rev" if name == "Coord_Rev" else "tree-tran"
            found.append(self.made("joint", f"J{len(found) + 1}", file, statement.line, type=kind, **fields))
        return found

    def cuts(self) -> list[Element]:
        """Cut pins, Points(a).rP - Points(b).rP, and drivers, theta(k) - f(t), in Phi of CutJoint."""
        constants = assign(read_text(path), str(path)) if (path := self.m_files.get("inconst")) else {}
        wanted = constants.get("nConst", (0.0, 1))[0]
        if "cutjoint" not in self.m_files:
            if wanted:
                self.need("CutJoint")
            return []
        file, rows = str(self.m_files["cutjoint"]), 0
        found: list[Element] = []
        for statement in self.code("CutJoint"):
            target, value = statement.target, statement.value
            if target is None or value is None or target.parts != ("Phi",):
                continue
            for node in value.parts if value.kind == "array" else (value,):
                ends = [_point_named(part) for part in node.parts] if node.kind == "-" else []
                coordinate, law = _driven(node)
                if len(ends) == 2 and all(ends):
                    fields: dict[str, Value] = {"iPindex": float(ends[0] or 0), "jPindex": float(ends[1] or 0)}
                    found.append(self.made("joint", f"C{len(found) + 1}", file, node.line, type="rev", **fields))
                    rows += 2
                elif coordinate:
                    self.drives.append((coordinate, law, statement))
                    rows += 1
        if rows != wanted:
            message = f"nConst = {wanted}, but {rows} constraints were understood: pins Points(a).rP - Points(b).rP, "
            hint = "state all joints in an inJoints.m, as for DAP_BC"
            message += "drivers theta(k) - f(t)"
            self.left_out.append(ModelError(message, "cut-joint", file=file, line=1, suggestion=hint))
        return found

    def point(self, element: Element, key: str) -> Element:
        return self.points[element.index(key, "points", len(self.points)) - 1]

    def vector(self, element: Element, key: str) -> Element:
        vectors = self.elements["unit vector"]
        return vectors[element.index(key, "unit vectors", len(vectors)) - 1]

    def body_of(self, element: Element, key: str = "Bindex") -> int:
        return element.index(key, "bodies", len(self.bodies), lowest=0)

    def start(self) -> list[Pose]:
        """Poses and velocities of the bodies: as given, or by forward kinematics from the joint coordinates theta."""
        self.poses = [Pose([0.0, 0.0], 0.0, [0.0, 0.0], 0.0)]
        for number, body in enumerate(self.bodies, 1):
            fields = body.structure.fields
            if "theta" not in fields and "theta_d" not in fields:
                r, r_dot = body.numbers("r", 2), body.numbers("r_d", 2)
                self.poses.append(Pose(r, body.number("p"), r_dot, body.number("p_d")))
                continue
            joint = next((j for j in self.joints if self.owner(j) == number), None)
            self.poses.append(self.follow(number, body, joint))
        return self.poses

    def owner(self, joint: Element) -> int:
        """The body whose place a joint gives: the higher index of the two it joins."""
        kind = joint.text("type", "rev")
        if kind == "disc":
            return self.body_of(joint, "iBindex")
        if kind in ("rev", "tran", "tree-rev", "tree-tran"):
            return max(self.body_of(self.point(joint, key)) for key in ("iPindex", "jPindex"))
        return 0

    def follow(self, number: int, body: Element, joint: Element | None) -> Pose:
        if joint is None:
            theta, rate = (body.numbers(key, 3, (0.0,) * 3) for key in ("theta", "theta_d"))
            return Pose(theta[:2], theta[2], rate[:2], rate[2])
        theta_, rate_ = body.number("theta"), body.number("theta_d")
        kind = joint.text("type", "rev")
        if kind == "disc":
            R, p0 = joint.number("R", 1.0), joint.number("p0")
            return Pose([joint.number("x0") - R * (theta_ - p0), R], theta_, [-R * rate_, 0.0], rate_)
        keys = ["iPindex", "jPindex"]
        if self.body_of(self.point(joint, "iPindex")) == number:
            keys.reverse()
        before, own = (self.point(joint, key) for key in keys)
        if self.body_of(before) == number:
            raise joint.error(f"joins body '{body.name}' to itself", "same-body", keys[0])
        base = self.poses[self.body_of(before)]
        place, velocity = base.point(before.numbers("sPlocal", 2))
        s = own.numbers("sPlocal", 2)
        if kind in ("rev", "tree-rev"):
            return _held(base.phi + theta_, base.omega + rate_, s, place, velocity)
        u = base.turned(self.vector(joint, keys[0].replace("P", "U")).numbers("ulocal", 2, (1.0, 0.0)))
        place = [place[k] + theta_ * u[k] for k in (0, 1)]
        normal = [-u[1], u[0]]
        velocity = [velocity[k] + rate_ * u[k] + theta_ * base.omega * normal[k] for k in (0, 1)]
        return _held(base.phi + body.number("p0"), base.omega, s, place, velocity)


def _walk(node: Node | None) -> list[Node]:
    if node is None:
        return []
    return [node, *(inner for part in node.parts if isinstance(part, Node) for inner in _walk(part))]


def _point_named(node: Node) -> int | None:
    """k of Points(k).rP."""
    if node.kind != "field" or node.parts[1] != "rP" or called(node.parts[0]) != "Points":
        return None
    index = node.parts[0].parts[1]
    return int(index.parts[0]) if index.kind == "number" else None


def _driven(node: Node) -> tuple[str, str]:
    """k and f(t) of theta(k) - f(t); "" if it is something else."""
    terms: list[tuple[str, Node]] = []
    while node.kind in ("+", "-"):
        terms.append(("-" if node.kind == "+" else "+", node.parts[1]))
        node = node.parts[0]
    is_theta = node.kind == "call" and called(node) == "theta" and node.parts[1].kind == "number"
    if not is_theta or any(part.kind in ("field", "array", "text") for _, term in terms for part in _walk(term)):
        return "", ""
    law = " ".join(f"{sign} {_written(term, '+-')}" for sign, term in reversed(terms)).removeprefix("+ ")
    return f"{node.parts[1].parts[0]:g}", law or "0"


def _written(node: Node, bracketed: str = "") -> str:
    """An expression of numbers, names and functions as a formula of a model file, in brackets if it is one of these."""
    if node.kind in ("number", "name"):
        return str(node.parts[0])
    if node.kind == "call":
        return f"{called(node)}({', '.join(_written(part) for part in node.parts[1:])})"
    # What stands left is taken first, but ^ of model files takes what stands right first.
    left = _written(node.parts[0], {"+": "", "-": "", "*": "+-", "/": "+-", "^": "+-*/^"}[node.kind])
    found = f"{left}{node.kind}{_written(node.parts[1], '+-*/^')}"
    return f"({found})" if node.kind in bracketed else found
