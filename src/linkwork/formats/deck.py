"""Decks in the layout of NumDyn3D: eleven text tables in a folder, as model files [pennestri2004, tables 1 to 5].

The tables of the paper are those of joints, springs, inertia, forces and initial conditions; the others are our own,
for what the paper does not show. Body 0 is the ground, the others are counted from 1; the origin of a body is its mass
centre.
"""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from linkwork.document import Data, Document, Keys, check_inside
from linkwork.elements.joints import SPATIAL_JOINTS
from linkwork.elements.spatial import SpatialAxisPair
from linkwork.errors import ModelError, did_you_mean
from linkwork.formats.tables import Row, read_table
from linkwork.units import shown

FRAME = " ".join(f"{point}{{0}}{axis}" for point in "PQR" for axis in "xyz")  # of a joint on one body


class Layout(NamedTuple):
    """The headings of a table and the word that counts its records."""

    headings: tuple[str, ...]
    counted: str = ""


DECK: dict[str, Layout] = {
    "bodies": Layout(("B NAME X Y Z E0 E1 E2 E3",), "NBODY"),
    "inertia": Layout(("B MAS Ixx Ixy Ixz Iyx Iyy Iyz Izx Izy Izz",)),
    "joints": Layout((f"CON B1 B2 T {FRAME.format(1)}", FRAME.format(2))),
    "jointdata": Layout(("CON KEY VALUE",)),
    "springs": Layout(("S B1 B2 K L0 C A P1x P1y P1z P2x P2y P2z T",), "NSPDAMP"),
    "forces": Layout(("FOR BO Fx Fy Fz Tx Ty Tz Px Py Pz Rif",), "NFOR"),
    "gravity": Layout(("GX GY GZ",)),
    "drivers": Layout(("DRV CON FREEDOM LAW...",), "NDRV"),
    "initial": Layout(("BO Q Pos Vel",), "DOF"),
    "points": Layout(("POI BO Px Py Pz",), "NPOI"),
    "control": Layout(("TEND STEP RTOL ATOL",)),
}
NEEDED = ("bodies", "inertia")
# The types of joints by their numbers; that of the paper is 1.
TYPES = (
    "revolute", "spherical", "prismatic", "cylindrical", "universal", "constant-velocity", "screw", "planar",
    "rigid", "point-on-line", "point-on-plane", "distance", "revolute-spherical", "universal-spherical", "gear",
    "rack-and-pinion",
)  # fmt: skip
TURNING = ("revolute", "cylindrical", "screw", "planar")  # joints that may have a rotational spring
TRANSLATIONAL, ROTATIONAL = 1, 2  # springs
OF_GROUND, OF_BODY = 1, 2  # axes of external forces


class Given(NamedTuple):
    """One of the seven coordinates x y z e0 e1 e2 e3 of a body, which starts with this value and rate."""

    body: str
    coordinate: int
    value: float
    rate: float
    row: Row


def is_deck(folder: Path) -> bool:
    return all((folder / f"{name}.txt").is_file() for name in NEEDED)


def read_deck(folder: Path) -> tuple[Document, list[Given]]:
    """Read the model file of a deck, whose start is an estimate, and the coordinates that are given exactly."""
    return _Deck(folder).translate()


def _vector(row: Row, letter: str, n: int | str = "") -> list[float]:
    return row.numbers(*(f"{letter}{n}{axis}" for axis in "xyz"))


class _Deck:
    """The tables while they are put together, with the places of the parts of the model file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        there = self.tables()
        self.rows = {name: read_table(there[name], *DECK[name]) if name in there else [] for name in DECK}
        self.lines: dict[Keys, int] = {(): 1}
        self.files: dict[Keys, str] = {}
        self.data: dict[str, Any] = {"linkwork": 1, "name": folder.resolve().name, "space": "spatial"}
        self.data |= {"gravity": [0.0] * 3, "ground": {"points": {}}}
        self.data |= {section: {} for section in ("bodies", "joints", "drivers", "forces")}

    def tables(self) -> dict[str, Path]:
        """Return the files of the tables that are there; ModelError where one is a link, or misspelt (Springs.txt)."""
        alike = {name.removesuffix("s"): name for name in DECK}
        found: dict[str, Path] = {}
        for file in sorted(self.folder.iterdir()):
            name = alike.get(file.stem.lower().removesuffix("s"))
            if name is None or file.suffix.lower() != ".txt":
                continue
            if file.name != f"{name}.txt":
                hint = f"did you mean '{name}.txt'?"
                raise ModelError("is not a table of a deck", "unknown-table", file=str(file), suggestion=hint)
            check_inside(file)
            found[name] = file
        return found

    def note(self, row: Row, *place: str) -> None:
        self.lines[place], self.files[place] = row.line, row.file

    def body(self, row: Row, column: str, lowest: int = 0) -> str:
        return self.names[row.integer(column, lowest, len(self.names) - 1)]

    def new(self, row: Row, column: str, section: str) -> str:
        name = row.name(column)
        if name in self.data[section]:
            raise row.again(column, name)
        self.note(row, section, name)
        return name

    def holder(self, body: str) -> dict[str, Any]:
        found: dict[str, Any] = self.data["ground"] if body == "ground" else self.data["bodies"][body]
        return found

    def add_point(self, body: str, name: str, s: list[float]) -> str:
        """Return a point under this name or, if that one is elsewhere, a free one."""
        points = self.holder(body)["points"]
        while points.setdefault(name, s) != s:
            name += "_"
        return f"{body}.{name}"

    def translate(self) -> tuple[Document, list[Given]]:
        self.bodies()
        for row in self.rows["points"]:
            body, name = self.body(row, "BO"), row.name("POI")
            if name in self.holder(body)["points"]:
                raise row.again("POI", name)
            self.add_point(body, name, _vector(row, "P"))
        numbers = self.numbers_of_joints()
        for row in self.rows["joints"]:
            self.joint(row, numbers)
        self.named = {row.name("FOR") for row in self.rows["forces"]}  # of which torques beside a force take none
        for row in self.rows["springs"]:
            self.spring(row)
        for row in self.rows["forces"]:
            self.force(row)
        for row in self.rows["drivers"]:
            joint = row.name("CON")
            if joint not in self.data["joints"]:
                hint = did_you_mean(joint, self.data["joints"])
                raise row.error("CON", f"no joint '{shown(joint)}'", "unknown-joint", suggestion=hint)
            name = self.new(row, "DRV", "drivers")
            law = {"joint": joint, "freedom": row.name("FREEDOM"), "motion": row.words["LAW"].text}
            self.data["drivers"][name] = law
        for row in (*self.rows["gravity"][1:], *self.rows["control"][1:]):
            raise row.error(next(iter(row.words)), "a second row where the table should end")
        for row in self.rows["gravity"]:
            self.data["gravity"] = row.numbers("GX", "GY", "GZ")
        for row in self.rows["control"]:
            t_end, step, rtol, atol = row.numbers("TEND", "STEP", "RTOL", "ATOL")
            self.data["simulation"] = {"t_end": t_end, "step": step, "rtol": rtol, "atol": atol}
            self.note(row, "simulation")
        given = [
            Given(self.body(row, "BO", 1), row.integer("Q", 1, 7), row.number("Pos"), row.number("Vel"), row)
            for row in self.rows["initial"]
        ]
        data = {key: value for key, value in self.data.items() if value}
        return Document(str(self.folder), data, self.lines, self.files), given

    def bodies(self) -> None:
        self.names = ["ground"]
        for number, row in enumerate(self.rows["bodies"], 1):
            row.integer("B", number, number)
            name = self.new(row, "NAME", "bodies")
            e = row.numbers("E0", "E1", "E2", "E3")
            length = math.hypot(*e)
            if length < 0.1:
                raise row.error("E0", "the Euler parameters are zero", suggestion="without a turn they are 1 0 0 0")
            start = {"position": row.numbers("X", "Y", "Z"), "orientation": [x / length for x in e]}
            self.data["bodies"][name] = {**start, "points": {}}
            self.names.append(name)
        stated = set()
        for row in self.rows["inertia"]:
            name = self.body(row, "B", 1)
            if name in stated:
                raise row.again("B", name)
            stated.add(name)
            rows = [row.numbers(*(f"I{a}{b}" for b in "xyz")) for a in "xyz"]
            of_body = self.data["bodies"][name]
            self.data["bodies"][name] = {"mass": row.number("MAS"), "inertia": rows, **of_body}
            self.note(row, "bodies", name)
        for name in self.names[1:]:
            if name not in stated:
                file = str(self.folder / "inertia.txt")
                raise ModelError(f"body '{name}' has no row", "bad-table", file=file, rule="every body has a mass")

    def numbers_of_joints(self) -> dict[str, dict[str, Row]]:
        """Return the values that some joints need besides their frames, by joint and key."""
        found: dict[str, dict[str, Row]] = {}
        joints = [row.name("CON") for row in self.rows["joints"]]
        for row in self.rows["jointdata"]:
            joint, key = row.name("CON"), row.name("KEY")
            if joint not in joints:
                hint = did_you_mean(joint, joints)
                raise row.error("CON", f"no joint '{shown(joint)}'", "unknown-joint", suggestion=hint)
            if key in found.setdefault(joint, {}):
                raise row.again("KEY", key)
            found[joint][key] = row
        return found

    def joint(self, row: Row, numbers: dict[str, dict[str, Row]]) -> None:
        name = self.new(row, "CON", "joints")
        kind = TYPES[row.integer("T", 1, len(TYPES)) - 1]
        cls = SPATIAL_JOINTS[kind]
        known = {field.name for field in fields(cls)}
        entry: dict[str, Data] = {"type": kind}
        for n, letter, suffix in ((1, "i", ""), (2, "j", "_j")):
            P, Q, R = (_vector(row, point, n) for point in "PQR")
            body = self.body(row, f"B{n}")
            entry[letter] = self.add_point(body, f"{name}_{letter}", P)
            axis: Data = [q - p for p, q in zip(P, Q, strict=True)]
            zero: Data = [r - p for p, r in zip(P, R, strict=True)]
            if f"axis{suffix}" in known:
                entry[f"axis{suffix}"] = axis
            if issubclass(cls, SpatialAxisPair):
                entry[f"zero{suffix}"] = zero
        for key, of in numbers.get(name, {}).items():
            if key not in known & {"length", "pitch", "radius", "teeth_i", "teeth_j", "carrier", "internal"}:
                raise of.error("KEY", f"'{shown(key)}' is not a key of a joint of type {kind}", "unknown-key")
            if key == "carrier":
                entry[key] = self.body(of, "VALUE")
            elif key == "internal":
                entry[key] = of.integer("VALUE", 0, 1) == 1
            else:
                entry[key] = of.number("VALUE")
        self.data["joints"][name] = entry

    def spring(self, row: Row) -> None:
        name = self.new(row, "S", "forces")
        kind = row.integer("T", TRANSLATIONAL, ROTATIONAL)
        K, free, C, A = row.numbers("K", "L0", "C", "A")
        one, other = self.body(row, "B1"), self.body(row, "B2")
        entry: dict[str, Data] = {"stiffness": K, "damping": C, "actuator": A}
        if kind == TRANSLATIONAL:
            i = self.add_point(one, f"{name}_i", _vector(row, "P", 1))
            j = self.add_point(other, f"{name}_j", _vector(row, "P", 2))
            self.data["forces"][name] = {"type": "spring-damper", "i": i, "j": j, "free_length": free, **entry}
            return
        for n, body in ((1, one), (2, other)):  # a rotational spring does not use them
            if any(s := _vector(row, "P", n)):
                self.add_point(body, f"{name}_{'ij'[n - 1]}", s)
        ends = {one, other}
        between = [
            joint
            for joint, stated in self.data["joints"].items()
            if {str(stated[key]).rpartition(".")[0] for key in ("i", "j")} == ends and stated["type"] in TURNING
        ]
        if len(between) != 1:
            message = f"{len(between)} joints between bodies '{one}' and '{other}' leave an angle"
            raise row.error("B1", message, "bad-table", rule="a rotational spring acts about the axis of one joint")
        turning = {"type": "rotational-spring-damper", "joint": between[0], "free_angle": free}
        self.data["forces"][name] = {**turning, **entry}

    def force(self, row: Row) -> None:
        name, body = self.new(row, "FOR", "forces"), self.body(row, "BO", 1)
        F, T = _vector(row, "F"), _vector(row, "T")
        follows = {"follows": True} if row.integer("Rif", OF_GROUND, OF_BODY) == OF_BODY else {}
        if any(F) or not any(T):
            at = self.add_point(body, f"{name}_P", _vector(row, "P"))
            self.data["forces"][name] = {"type": "point-force", "at": at, "force": F, **follows}
        if any(T):
            turning = f"{name}_T" if any(F) else name
            while any(F) and turning in (*self.named, *self.data["forces"]):
                turning += "_"
            self.data["forces"][turning] = {"type": "torque", "on": body, "torque": T, **follows}
            self.note(row, "forces", turning)
