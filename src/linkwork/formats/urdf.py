"""Robots in URDF, the format of ROS, as model files.

A link is a body with its frame, and its parts that are fixed to it belong to it. A joint of URDF has a frame in its
parent link, which is the frame of its child where the joint is at zero:

    r_child = r_parent + A_parent xyz        A_child = A_parent A_z(yaw) A_y(pitch) A_x(roll)

The root link is the ground. XML is read without a document type, so that there are no entities, and nothing is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from linkwork.arrays import Array
from linkwork.document import MAX_DEPTH, MAX_NODES, Document, Keys, name_fault, read_text
from linkwork.errors import MOST_FOUND, ModelError, UsageError, check_choice, did_you_mean, option, quoted
from linkwork.notes import Note
from linkwork.tolerances import TYPED, halved
from linkwork.units import shown

# What joints are called here; those of type fixed make one body of two links, those that float need no joint.
TYPES = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "planar": "planar"}
TYPES |= {"fixed": "", "floating": ""}
MOVING = ("revolute", "continuous", "prismatic")  # of one freedom each
CLOSING = ("revolute", "prismatic", "spherical", "cylindrical", "planar", "rigid")
LIMITS = ("notes", "stops")
MOMENTS = ("ixx", "iyy", "izz", "ixy", "iyz", "ixz")  # in the order of model files


@dataclass
class Element:
    """An element of XML with the line where it begins."""

    file: str
    tag: str
    attributes: dict[str, str]
    line: int
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The place as messages call it: robot.joint 'elbow'.axis."""
        name = self.attributes.get("name")
        own = f"{self.tag} '{shown(name)}'" if name is not None and self.parent is not None else self.tag
        return own if self.parent is None else f"{self.parent.path}.{own}"

    def error(self, message: str, code: str = "bad-urdf", **more: Any) -> ModelError:
        return ModelError(message, code, file=self.file, line=self.line, path=self.path, **more)

    def all(self, tag: str) -> list[Element]:
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Element | None:
        """Return the child of this tag, of which there is at most one."""
        found = self.all(tag)
        if len(found) > 1:
            raise found[1].error(f"a second <{tag}>")
        return found[0] if found else None

    def text(self, name: str) -> str:
        if name not in self.attributes:
            raise self.error(f"'{name}' is missing", "missing-key")
        return self.attributes[name]

    def numbers(self, name: str, count: int, usual: Sequence[float] | None = None) -> Array:
        if usual is not None and name not in self.attributes:
            return np.array(usual, dtype=float)
        text = self.text(name)
        try:
            found = [float(word) for word in text.split()] if "_" not in text else []
        except ValueError:
            found = []
        if len(found) != count or not all(map(math.isfinite, found)):
            several = "a number" if count == 1 else f"{count} numbers"
            raise self.error(f'{name}="{shown(text)}" should be {several}', "bad-value", value=text)
        return np.array(found)

    def number(self, name: str, usual: float | None = None) -> float:
        return float(self.numbers(name, 1, None if usual is None else (usual,))[0])


def parse_xml(text: str, file: str) -> Element:
    """Parse XML and return its root; refuse a document type, deep nesting and too many elements."""
    parser = expat.ParserCreate()
    open_: list[Element] = []
    roots: list[Element] = []
    count = 0

    def refuse(*_: Any) -> None:
        rule = "entities and document types are not part of URDF"
        line = parser.CurrentLineNumber
        raise ModelError("a document type, which linkwork does not read", "unsafe-xml", file=file, line=line, rule=rule)

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        made = Element(file, tag, attributes, parser.CurrentLineNumber, open_[-1] if open_ else None)
        if len(open_) >= MAX_DEPTH or count > MAX_NODES:
            message = f"more than {MAX_DEPTH} elements in each other, or {MAX_NODES} in all"
            raise ModelError(message, "too-large", file=file, line=made.line)
        (open_[-1].children if open_ else roots).append(made)
        open_.append(made)

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda _: open_.pop()
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        message = f"no XML: {expat.ErrorString(error.code)} in column {error.offset + 1}"
        raise ModelError(message, "bad-xml", file=file, line=error.lineno) from None
    return roots[0]


def turn(rpy: Array) -> Array:
    """Return A_z(yaw) A_y(pitch) A_x(roll)"""
    (c_x, c_y, c_z), (s_x, s_y, s_z) = np.cos(rpy), np.sin(rpy)
    return np.array(
        [
            [c_z * c_y, c_z * s_y * s_x - s_z * c_x, c_z * s_y * c_x + s_z * s_x],
            [s_z * c_y, s_z * s_y * s_x + c_z * c_x, s_z * s_y * c_x - c_z * s_x],
            [-s_y, c_y * s_x, c_y * c_x],
        ]
    )


@dataclass(frozen=True)
class Frame:
    """Where a frame is in another: its origin and its axes, the columns of A."""

    r: Array
    A: Array

    def __matmul__(self, other: Frame) -> Frame:
        """Find where a frame in this one is."""
        return Frame(self.r + self.A @ other.r, self.A @ other.A)

    @staticmethod
    def read(element: Element | None) -> Frame:
        """Read <origin xyz="..." rpy="...">; without one, take the frame around it."""
        if element is None:
            return Frame(np.zeros(3), np.eye(3))
        return Frame(element.numbers("xyz", 3, (0, 0, 0)), turn(element.numbers("rpy", 3, (0, 0, 0))))


@dataclass(frozen=True)
class Inertia:
    """Mass, mass centre and moments about it, in the axes of a body."""

    mass: float
    c: Array
    J: Array

    def __add__(self, other: Inertia) -> Inertia:
        """Add two parts: J = sum of J_k + m_k (d_k.d_k I - d_k d_k^T), d_k from the common mass centre to that of k."""
        mass = self.mass + other.mass
        c = (self.mass * self.c + other.mass * other.c) / mass if mass else self.c
        J = np.zeros((3, 3))
        for part in (self, other):
            d = part.c - c
            J += part.J + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
        return Inertia(mass, c, J)

    @staticmethod
    def read(link: Element, at: Frame) -> Inertia:
        """Read the inertia of a link whose frame is at this place of its body."""
        inertial = link.one("inertial")
        if inertial is None:
            return Inertia(0.0, at.r, np.zeros((3, 3)))
        own = at @ Frame.read(inertial.one("origin"))
        mass, moments = inertial.one("mass"), inertial.one("inertia")
        if mass is None:
            raise inertial.error("<mass> is missing", "missing-key")
        value = mass.number("value")
        if value < 0.0:
            raise mass.error(f"a mass of {value:g} kg is negative", "out-of-range", value=value)
        xx, yy, zz, xy, yz, zx = (moments.number(name, 0.0) for name in MOMENTS) if moments else (0.0,) * 6
        J = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
        return Inertia(value, own.r, own.A @ J @ own.A.T)


def read_urdf(path: str | Path, close: Sequence[str] = (), limits: str = "notes") -> Document:
    """Read the model file of a robot.

    Each of `close` is a joint that closes a loop, "link=link:revolute"; `limits` of joints become notes or end stops.
    """
    check_choice("limits", limits, LIMITS)
    return _Robot(parse_xml(read_text(path), str(path)), limits).document(close)


class _Robot:
    """A robot while it is put together; all faults are found before they are told."""

    def __init__(self, robot: Element, limits: str) -> None:
        self.robot, self.limits = robot, limits
        self.faults: list[ModelError] = []
        self.notes: list[Note] = []
        self.shapes: dict[str, tuple[float, dict[str, Any]]] = {}  # of a body its largest, with its volume
        self.couplings: dict[str, dict[str, Any]] = {}
        self.start: dict[str, float] = {}  # of joints that do not start at zero
        self.lines: dict[Keys, int] = {(): robot.line}
        if any(e.tag.startswith("xacro:") for e in robot.children):
            hint = "expand it first: xacro FILE > robot.urdf"
            raise robot.error("is a macro file of xacro, not yet a robot", "foreign-format", suggestion=hint)
        self.links = self.named("link")
        self.joints = self.named("joint")
        self.to: dict[str, Element] = {}  # the joint that carries a link
        for joint in self.joints.values():
            self.attempt(self.connect, joint)
        self.tell()
        self.root = self.find_root()
        self.order = list(self.walk(self.root))
        if len(self.order) < len(self.links):
            lost = [name for name in self.links if name not in self.order]
            raise self.links[lost[0]].error(f"no joints lead from '{self.root}' to {quoted(lost)}", "bad-tree")

    def attempt(self, act: Any, *arguments: Any) -> None:
        try:
            act(*arguments)
        except ModelError as error:
            self.faults.append(error)
            if len(self.faults) >= MOST_FOUND:
                self.tell()

    def tell(self) -> None:
        if self.faults:
            raise ModelError.together(self.faults)

    def named(self, tag: str) -> dict[str, Element]:
        found: dict[str, Element] = {}

        def add(element: Element) -> None:
            name = element.text("name")
            if fault := name_fault(name):
                raise element.error(f"the name {fault}", "bad-name", value=name)
            if "." in name or name == "ground":
                raise element.error(f"the name '{shown(name)}' cannot stand in a model file", "bad-name", value=name)
            if name in found:
                raise element.error(f"a second {tag} '{shown(name)}'", "duplicate-name", value=name)
            found[name] = element

        for element in self.robot.all(tag):
            self.attempt(add, element)
        return found

    def end(self, joint: Element, tag: str) -> str:
        """Return the link that <parent> or <child> names."""
        element = joint.one(tag)
        if element is None:
            raise joint.error(f"<{tag}> is missing", "missing-key")
        name = element.text("link")
        if name not in self.links:
            hint = did_you_mean(name, self.links)
            raise element.error(f"no link '{shown(name)}'", "unknown-link", value=name, suggestion=hint)
        return name

    def connect(self, joint: Element) -> None:
        kind, (parent, child) = joint.text("type"), (self.end(joint, tag) for tag in ("parent", "child"))
        if kind not in TYPES:
            hint = did_you_mean(kind, TYPES)
            raise joint.error(f"no type '{shown(kind)}'", "unknown-type", value=kind, suggestion=hint)
        if child in self.to:
            other = self.to[child].attributes["name"]
            hint = "a link has one parent; close the loop with --close"
            raise joint.error(f"'{other}' carries the link '{child}' already", "bad-tree", suggestion=hint)
        self.to[child] = joint
        joint.attributes |= {"parent": parent, "child": child}

    def find_root(self) -> str:
        roots = [name for name in self.links if name not in self.to]
        if not self.links:
            raise self.robot.error("the robot has no link", "bad-tree")
        if not roots:
            raise self.robot.error("every link has a parent: the joints run in a circle", "bad-tree")
        if len(roots) > 1:
            rule = "all links hang on one"
            raise self.links[roots[1]].error(f"no joint carries the links {quoted(roots)}", "bad-tree", rule=rule)
        return roots[0]

    def walk(self, root: str) -> Iterator[str]:
        """Yield links, parents first."""
        children: dict[str, list[str]] = {}
        for child, joint in self.to.items():
            children.setdefault(joint.attributes["parent"], []).append(child)
        waiting = [root]
        while waiting:
            link = waiting.pop()
            yield link
            waiting += reversed(children.get(link, []))

    def document(self, close: Sequence[str]) -> Document:
        """Return the model file, with every link where it is at zero."""
        self.body: dict[str, str] = {}  # of a link
        self.within: dict[str, Frame] = {}  # where its frame is in this body
        self.place: dict[str, Frame] = {}  # and seen from the root
        inertia: dict[str, Inertia] = {}
        name = self.robot.attributes.get("name") or Path(self.robot.file).stem
        self.data: dict[str, Any] = {"linkwork": 1, "name": name, "space": "spatial", "ground": {"points": {}}}
        self.data |= {section: {} for section in ("bodies", "joints", "forces")}
        for name in self.joints:
            self.attempt(self.add_mimic, self.joints[name])
        for name in self.joints:
            self.attempt(self.follow, name)
        self.tell()
        for link in self.order:
            self.attempt(self.add_link, link, inertia)
        self.tell()
        for body, own in inertia.items():
            self.add_body(body, own)
        for link in self.order:
            joint = self.to.get(link)
            if joint is not None and joint.attributes["type"] not in ("fixed", "floating"):
                self.attempt(self.add_joint, joint)
        self.tell()
        self.data["joints"] |= self.couplings
        for text in close:
            self.add_closing(text)
        self.add_shapes()
        self.data["simulation"] = {"t_end": "1 s", "step": "10 ms", "coordinates": "joint"}
        data = {key: value for key, value in self.data.items() if value != {}}
        return Document(self.robot.file, data, self.lines, notes=tuple(self.notes))

    def add_link(self, link: str, inertia: dict[str, Inertia]) -> None:
        joint = self.to.get(link)
        if joint is None:
            self.body[link], self.within[link] = "ground", Frame.read(None)
            self.place[link] = self.within[link]
            return
        parent, origin = joint.attributes["parent"], Frame.read(joint.one("origin"))
        self.place[link] = self.place[parent] @ origin @ self.moved(joint)
        is_fixed = joint.attributes["type"] == "fixed"
        self.body[link] = self.body[parent] if is_fixed else link
        self.within[link] = self.within[parent] @ origin if is_fixed else Frame.read(None)
        own = Inertia.read(self.links[link], self.within[link])
        body = self.body[link]
        if body != "ground":
            inertia[body] = inertia[body] + own if body in inertia else own

    def axis(self, joint: Element) -> Array:
        """Return the unit vector of its axis, in its own frame."""
        given = joint.one("axis")
        axis = np.array([1.0, 0.0, 0.0]) if given is None else given.numbers("xyz", 3)
        if not axis.any():
            raise (given or joint).error("an axis of no length", "bad-value")
        return axis / np.linalg.norm(axis)

    def moved(self, joint: Element) -> Frame:
        """Find where a joint at its start puts the frame of its child: A = I + sin(q) u~ + (1 - cos(q)) u~ u~."""
        if not (q := self.start.get(joint.attributes["name"], 0.0)):
            return Frame.read(None)
        u = self.axis(joint)
        if joint.attributes["type"] == "prismatic":
            return Frame(q * u, np.eye(3))
        cross = np.array([[0.0, -u[2], u[1]], [u[2], 0.0, -u[0]], [-u[1], u[0], 0.0]])
        return Frame(np.zeros(3), np.eye(3) + math.sin(q) * cross + (1.0 - math.cos(q)) * cross @ cross)

    def add_body(self, body: str, own: Inertia) -> None:
        self.lines["bodies", body] = self.links[body].line
        at = self.place[body]
        entries = (own.J[0, 0], own.J[1, 1], own.J[2, 2], own.J[0, 1], own.J[1, 2], own.J[2, 0])
        self.data["bodies"][body] = {
            "mass": own.mass,
            "mass_centre": floats(own.c),
            "inertia": floats(entries),
            "position": floats(at.r),
            "orientation": {"matrix": [floats(row) for row in at.A]},
            "points": {},
        }

    def point(self, link: str, name: str, at: Frame) -> str:
        """Return a point of the body of a link, `at` in the frame of the link."""
        body = self.body[link]
        points = (self.data["ground"] if body == "ground" else self.data["bodies"][body])["points"]
        points[name] = floats((self.within[link] @ at).r)
        return f"{body}.{name}"

    def add_joint(self, joint: Element) -> None:
        name, kind = joint.attributes["name"], joint.attributes["type"]
        parent, child, origin = joint.attributes["parent"], joint.attributes["child"], Frame.read(joint.one("origin"))
        axis = self.axis(joint)
        self.lines["joints", name] = joint.line
        self.data["joints"][name] = {
            "type": TYPES[kind],
            "i": self.point(parent, name, origin),
            "j": self.point(child, name, Frame.read(None)),
            "axis": floats(self.within[parent].A @ origin.A @ axis),
        }
        if name in self.start and kind != "prismatic":
            self.data["joints"][name]["angle"] = self.start[name]
        dynamics, limit = joint.one("dynamics"), joint.one("limit")
        if dynamics is not None and kind != "planar":
            damping, friction = (dynamics.number(key, 0.0) for key in ("damping", "friction"))
            if damping or friction:
                self.lines["forces", name] = dynamics.line
                law = {"normal_force": 1.0, "viscous": damping, "dynamic": friction}
                self.data["forces"][name] = {"type": "joint-friction", "joint": name, **law}
        if limit is not None and kind in ("revolute", "prismatic"):
            lower, upper = (limit.number(key, 0.0) for key in ("lower", "upper"))
            if lower > upper:
                raise limit.error(f"the lower limit {lower:g} is above the upper {upper:g}", "bad-value")
            if self.limits == "stops":
                self.add_stop(name, limit, lower, upper)
            else:
                place = {"file": Path(joint.file).name, "line": limit.line}
                self.notes.append(Note("limits-not-kept", **place, joint=name, lower=lower, upper=upper))

    def add_stop(self, joint: str, limit: Element, lower: float, upper: float) -> None:
        """Return an end stop at both limits, as stiff as the effort of the joint asks for."""
        effort = abs(limit.number("effort", 0.0))
        if not effort or lower == upper:
            what = "has no effort, to which the stiffness of its stop is fitted" if lower < upper else "leaves no range"
            hint = "give it one, or leave the limits notes: --limits notes"
            raise limit.error(f"the limit of '{joint}' {what}", "bad-limit", suggestion=hint)
        name = f"{joint}-stop"
        self.lines["forces", name] = limit.line
        depth = halved(TYPED) * (upper - lower)  # of limits that are typed with three digits, nothing is seen of it
        law = {"lower": lower, "upper": upper, "stiffness": effort / depth}
        self.data["forces"][name] = {"type": "end-stop", "joint": joint, **law}

    def add_mimic(self, joint: Element) -> None:
        """Return a joint that follows another: q = multiplier q_other + offset."""
        if (mimic := joint.one("mimic")) is None:
            return
        name, other = joint.attributes["name"], mimic.text("joint")
        if other not in self.joints:
            hint = did_you_mean(other, self.joints)
            raise mimic.error(f"no joint '{shown(other)}'", "unknown-joint", value=other, suggestion=hint)
        for each in (joint, self.joints[other]):
            if (kind := each.attributes["type"]) not in MOVING:
                message = f"'{each.attributes['name']}' is {kind}: only joints of one freedom follow and are followed"
                raise mimic.error(message, "mimic", suggestion="delete <mimic>")
        ratio, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        coupling = {"type": "coupling", "joint": other, "follower": name, "ratio": ratio, "offset": offset}
        self.lines["joints", f"{name}-mimic"] = mimic.line
        self.couplings[f"{name}-mimic"] = coupling

    def follow(self, name: str) -> None:
        """Let a joint that follows others, which start at zero, start where they put it."""
        value, factor, chain = 0.0, 1.0, [name]
        while (mimic := self.couplings.get(f"{chain[-1]}-mimic")) is not None:
            value, factor = value + factor * mimic["offset"], factor * mimic["ratio"]
            if mimic["joint"] in chain:
                raise self.joints[name].error(f"{' -> '.join([*chain, mimic['joint']])} follow each other", "mimic")
            chain.append(mimic["joint"])
        if value:
            self.start[name] = value

    def frame(self, text: str) -> tuple[str, str, Frame]:
        """Return link, point name and place of an end of --close: a link, or LINK.JOINT, the frame of a joint on it."""
        link, dot, name = text.partition(".")
        check_choice("link", link, self.links)
        if not dot:
            return link, link, Frame.read(None)
        ends = {j: x for j, x in self.joints.items() if link in (x.attributes["parent"], x.attributes["child"])}
        check_choice(f"joint of link '{link}'", name, ends)
        is_parent = ends[name].attributes["parent"] == link
        return link, name, Frame.read(ends[name].one("origin") if is_parent else None)

    def add_closing(self, text: str) -> None:
        """Return a joint between two frames about or along an axis of the first, z unless the text names another."""
        ends, _, rest = text.partition(":")
        frames = [end.strip() for end in ends.split("=")]
        kind, _, axis = (part.strip() for part in (rest or "revolute").partition(":"))
        if len(frames) != 2 or not all(frames) or axis not in ("", "x", "y", "z"):
            message = f"{option('close', text)}: write A=B:TYPE or A=B:TYPE:AXIS, as in hand=bar:revolute:y"
            raise UsageError(message, "bad-close")
        check_choice("joint type", kind, CLOSING)
        (link, name, at), other = (self.frame(end) for end in frames)
        joint: dict[str, Any] = {"type": kind, "i": self.point(link, name, at), "j": self.point(*other)}
        if kind not in ("spherical", "rigid"):
            joint["axis"] = floats((self.within[link].A @ at.A)[:, "xyz".index(axis or "z")])
        self.data["joints"]["=".join(frames).replace(".", "-")] = joint

    def add_shapes(self) -> None:
        """Draw every body by the largest of its boxes, cylinders and spheres; all else is left out, with a note."""
        left_out: list[Element] = []
        for link, element in self.links.items():
            for visual in element.all("visual"):
                shape = None if self.body[link] == "ground" else self.shape(visual, self.within[link])
                if shape is None:
                    left_out.append(visual)
                    continue
                body, known = self.body[link], self.shapes.get(self.body[link])
                if known is None or shape[0] > known[0]:
                    self.shapes[body] = shape
        for body, (_, drawn) in self.shapes.items():
            self.data["bodies"][body]["shape"] = drawn
        if left_out:
            place = {"file": Path(self.robot.file).name, "line": left_out[0].line}
            self.notes.append(Note("drawing-not-read", **place, what="visual"))

    def shape(self, visual: Element, at: Frame) -> tuple[float, dict[str, Any]] | None:
        """Return the volume of a box, cylinder or sphere and the shape; None for a mesh."""
        own = at @ Frame.read(visual.one("origin"))
        centre, x, z = floats(own.r), floats(own.A[:, 0]), floats(own.A[:, 2])
        of = visual.one("geometry")
        for solid in of.children if of is not None else ():
            if solid.tag == "box":
                size = floats(solid.numbers("size", 3))
                return math.prod(size), {"type": "block", "size": size, "centre": centre, "z": z, "x": x}
            if solid.tag == "cylinder":
                r, length = solid.number("radius"), solid.number("length")
                return math.pi * r * r * length, {
                    "type": "cylinder", "radius": r, "length": length, "centre": centre, "axis": z
                }  # fmt: skip
            if solid.tag == "sphere":
                r = solid.number("radius")
                return 4.0 / 3.0 * math.pi * r**3, {"type": "sphere", "radius": r, "centre": centre}
        return None


def floats(numbers: Any) -> list[float]:
    """Return plain numbers for a model file, without negative zeros."""
    return [float(x) + 0.0 for x in numbers]
