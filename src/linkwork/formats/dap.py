"""Model folders of DAP_BC and DAP_JC as model files [nikravesh2018, appendices B and C].

DAP counts differences from j to i, d = P_i - P_j, and writes M a = h + D^T lam. Where a joint keeps its order i, j,
Psi = -Phi and lam is the same; where it is turned round, Psi = Phi and lam is the opposite. `user_force` is code and is
not read: `user_force.yaml` beside it states those forces as a model file does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from linkwork.document import Data, Document, Place, check_inside, parse, read_text
from linkwork.errors import ModelError, did_you_mean
from linkwork.formats.dap_files import Element, Folder
from linkwork.formats.mfile import Statement, statements
from linkwork.units import shown

USER_FORCES = "user_force.yaml"
TOUCHING = 1e-3  # of the radius of a disc: how far it may be from where it is said to start
ORIGIN = "centre"  # the name of a point that is added in a mass centre


def is_dap(folder: Path) -> bool:
    return any(file.name.lower() == "inbodies.m" for file in folder.iterdir())


def read_dap(folder: Path) -> tuple[Document, list[ModelError]]:
    """The model file of a folder, and what of the folder could not be taken over."""
    return _Translation(Folder(folder)).translate()


class _Translation:
    """The model file while it is put together, with the places of its parts in the files of the folder."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.left_out = folder.left_out
        self.lines: dict[Place, int] = {(): 1}
        self.files: dict[Place, str] = {}
        self.names = ["ground", *(body.name for body in folder.bodies)]
        self.data: dict[str, Any] = {"linkwork": 1, "name": folder.folder.resolve().name, "gravity": [0.0, 0.0]}
        self.data |= {"ground": {"points": {}}, "bodies": {}, "joints": {}, "drivers": {}, "forces": {}}
        self.holders: list[dict[str, Any]] = [self.data["ground"]]

    def note(self, element: Element, place: Place, **keys: str) -> None:
        """Remember where an element stands, and where fields of it do."""
        self.lines[place], self.files[place] = element.structure.line, element.file
        for key, named in keys.items():
            if named in element.structure.fields:
                self.lines[(*place, key)], self.files[(*place, key)] = element.structure.fields[named][1], element.file

    def translate(self) -> tuple[Document, list[ModelError]]:
        for body, pose in zip(self.folder.bodies, self.folder.poses[1:], strict=True):
            start = {"position": pose.r, "angle": pose.phi, "velocity": pose.r_dot, "angular_velocity": pose.omega}
            entry: dict[str, Any] = {"mass": body.number("m", 1.0), "inertia": body.number("J", 1.0)}
            entry |= {key: x for key, x in start.items() if x not in (0.0, [0.0, 0.0])}
            entry["points"] = {}
            if shape := _shape(body):
                entry["shape"] = shape
            self.data["bodies"][body.name] = entry
            self.holders.append(entry)
            self.note(body, ("bodies", body.name), mass="m", inertia="J", position="r", angle="p")
        for point in (*self.folder.points, *self.folder.elements["animated point"]):
            self.at(self.folder.body_of(point), point.numbers("sPlocal", 2), point.name)
        for entry in self.holders[1:]:
            radius = entry.get("shape", {}).get("radius", math.inf)
            if any(math.hypot(*s) > 1.001 * radius for s in entry["points"].values()):
                del entry["shape"]  # a mark in the mass centre; the body itself is what joins its points
        for joint in self.folder.joints:
            self.joint(joint)
        for coordinate, law, statement in self.folder.drives:
            self.drive(coordinate, law, statement)
        for force in self.folder.elements["force"]:
            self.force(force)
        self.user_forces(any(force.text("type", "ptp") == "user" for force in self.folder.elements["force"]))
        data = {key: value for key, value in self.data.items() if value or key == "gravity"}
        if not data["ground"]["points"]:
            del data["ground"]
        return Document(str(self.folder.folder), data, self.lines, self.files), self.left_out

    def named(self, point: Element) -> str:
        return f"{self.names[self.folder.body_of(point)]}.{point.name}"

    def ends(self, element: Element) -> dict[str, str]:
        """The points of a joint or force."""
        points = [self.folder.point(element, key) for key in ("iPindex", "jPindex")]
        return dict(zip("ij", map(self.named, points), strict=True))

    def at(self, body: int, s: list[float] | None = None, name: str = ORIGIN) -> str:
        """A point of a body, by default its origin, under this name or, if that one is elsewhere, a free one."""
        points: dict[str, Data] = self.holders[body]["points"]
        place: Data = list(s or [0.0, 0.0])
        while points.setdefault(name, place) != place:
            name += "_"
        return f"{self.names[body]}.{name}"

    def joint(self, joint: Element) -> None:
        kind, name = joint.text("type", "rev"), joint.name
        place: Place = ("joints", name)
        entry: dict[str, Data]
        if kind in ("rev", "tree-rev"):
            entry = {"type": "revolute", **self.ends(joint)}
            if joint.number("fix"):
                entry["type"] = "rigid"
        elif kind in ("tran", "tree-tran"):
            entry = self.prismatic(joint, kind)
        elif kind == "rev-rev":
            entry = {"type": "distance", **self.ends(joint), "length": joint.number("L")}
        elif kind == "rev-tran":
            entry = self.point_on_line(joint)
        elif kind == "rigid":
            i, j = self.folder.body_of(joint, "iBindex"), self.folder.body_of(joint, "jBindex")
            held = self.folder.poses[j].local(self.folder.poses[i].r)
            entry = {"type": "rigid", "i": self.at(j, held, f"{name}_rigid"), "j": self.at(i)}
        elif kind == "disc":
            entry = self.rolling(joint)
        elif kind in ("rel-rot", "rel-tran"):
            self.driver(joint, kind)
            return
        else:
            known = ("rev", "tran", "rev-rev", "rev-tran", "rigid", "disc", "rel-rot", "rel-tran")
            raise joint.error(f"no type '{shown(kind)}'", "unknown-type", "type", suggestion=did_you_mean(kind, known))
        self.data["joints"][name] = entry
        self.note(joint, place, type="type", i="iPindex", j="jPindex", length="L", radius="R")

    def prismatic(self, joint: Element, kind: str) -> dict[str, Data]:
        """A slide along the vector of j; i and j change places because here the axis belongs to body i."""
        keys = ("j", "i") if kind == "tran" else ("i", "j")
        along, own = (self.folder.point(joint, f"{key}Pindex") for key in keys)
        axis, other = (self.folder.vector(joint, f"{key}Uindex").numbers("ulocal", 2, (1.0, 0.0)) for key in keys)
        base, pose = self.folder.poses[self.folder.body_of(along)], self.folder.poses[self.folder.body_of(own)]
        for key, point in zip(keys, (along, own), strict=True):
            if self.folder.body_of(self.folder.vector(joint, f"{key}Uindex")) != self.folder.body_of(point):
                message = f"{key}Uindex and {key}Pindex belong to different bodies"
                raise joint.error(message, "no-such-index", f"{key}Uindex")
        parallel = math.atan2(axis[1], axis[0]) - math.atan2(other[1], other[0])
        # The vectors may be parallel or opposite, and angles differ by whole turns: as the bodies start.
        angle = parallel + math.pi * round((pose.phi - base.phi - parallel) / math.pi)
        entry: dict[str, Data] = {"type": "prismatic", "i": self.named(along), "j": self.named(own)}
        if joint.number("fix"):
            held = base.local(pose.point(own.numbers("sPlocal", 2))[0])
            return {
                "type": "rigid",
                "i": self.at(self.folder.body_of(along), held, f"{joint.name}_fix"),
                "j": entry["j"],
            }
        return entry | {"axis": list(axis), "angle": angle}

    def point_on_line(self, joint: Element) -> dict[str, Data]:
        """Point j stays at the distance L beside the line through point i along the vector of i."""
        i, j = (self.folder.point(joint, key) for key in ("iPindex", "jPindex"))
        u, s, L = (
            self.folder.vector(joint, "iUindex").numbers("ulocal", 2, (1.0, 0.0)),
            i.numbers("sPlocal", 2),
            joint.number("L"),
        )
        square = u[0] * u[0] + u[1] * u[1]
        beside = [s[0] + L * u[1] / square, s[1] - L * u[0] / square] if L else s
        slot = self.at(self.folder.body_of(i), beside, f"{joint.name}_line") if L else self.named(i)
        return {"type": "point-on-line", "i": slot, "j": self.named(j), "axis": list(u)}

    def rolling(self, joint: Element) -> dict[str, Data]:
        body, R = self.folder.body_of(joint, "iBindex"), joint.number("R", 1.0)
        pose = self.folder.poses[body]
        gap = pose.r[0] - joint.number("x0") + R * (pose.phi - joint.number("p0"))
        if abs(gap) > TOUCHING * R:
            message = f"the disc starts {gap:g} m from where x0 and p0 put it; here it rolls from where it starts"
            self.left_out.append(joint.error(message, "disc-start", "x0", suggestion="let r and p fit x0 and p0"))
        return {"type": "rolling", "i": self.at(0, None, "O"), "j": self.at(body), "axis": [1, 0], "radius": R}

    def driver(self, joint: Element, kind: str) -> None:
        """phi_i - phi_j = f(t), or |d| = f(t)."""
        functions = self.folder.elements["function"]
        function = functions[joint.index("iFunct", "functions", len(functions)) - 1]
        if kind == "rel-rot":
            i, j = (self.at(self.folder.body_of(joint, key)) for key in ("jBindex", "iBindex"))
            driven: dict[str, Data] = {"i": i, "j": j, "freedom": "angle"}
        else:
            driven = {**self.ends(joint), "freedom": "distance"}
        self.data["drivers"][joint.name] = {**driven, "motion": _motion(function)}
        self.note(joint, ("drivers", joint.name), i="iPindex", j="jPindex")
        self.note(function, ("drivers", joint.name, "motion"))

    def drive(self, coordinate: str, law: str, statement: Statement) -> None:
        """A driver of CutJoint on the joint of the tree that has this coordinate."""
        trees = [joint for joint in self.folder.joints if joint.text("type", "").startswith("tree-")]
        sizes = [len(v) if isinstance(v := body.given("theta", 0.0), list) else 1 for body in self.folder.bodies]
        owner = next((k for k in range(len(sizes)) if sum(sizes[:k]) + 1 == int(coordinate) and sizes[k] == 1), None)
        joint = next((tree for tree in trees if owner is not None and self.folder.owner(tree) == owner + 1), None)
        if joint is None:
            message = f"theta({coordinate}) is no coordinate of a joint of ChainOpen"
            file = str(self.folder.m_files["cutjoint"])
            self.left_out.append(ModelError(message, "cut-joint", file=file, line=statement.line))
            return
        name = f"D{len(self.data['drivers']) + 1}"
        self.data["drivers"][name] = {"joint": joint.name, "motion": law}
        self.lines["drivers", name], self.files["drivers", name] = statement.line, str(self.folder.m_files["cutjoint"])

    def force(self, force: Element) -> None:
        kind, name = force.text("type", "ptp"), force.name
        entry: dict[str, Data]
        if kind == "weight":
            g, along = force.number("gravity", 9.81), force.numbers("wgt", 2, (0.0, -1.0))
            self.data["gravity"] = [a + g * b for a, b in zip(self.data["gravity"], along, strict=True)]
            return
        if kind == "user":
            return
        if force.number("iFunct"):
            self.left_out.append(force.error("its function of time is not taken over", "force-function", "iFunct"))
        if kind == "ptp":
            entry = {"type": "spring-damper", **self.ends(force), "stiffness": force.number("k")}
            entry |= {"free_length": force.number("L0"), "damping": force.number("dc"), "actuator": force.number("f_a")}
        elif kind in ("rot-sda", "rot_sda"):
            i, j = (self.names[self.folder.body_of(force, key)] for key in ("jBindex", "iBindex"))
            entry = {"type": "rotational-spring-damper", "i": i, "j": j, "stiffness": force.number("k")}
            entry |= {"free_angle": force.number("theta0")}
            entry |= {"damping": force.number("dc"), "actuator": force.number("T_a")}
        elif kind in ("f", "flocal", "fp"):
            body = force.index("iBindex", "bodies", len(self.folder.bodies))
            components: Data = list(force.numbers("f" if kind == "f" else "flocal", 2))
            entry = {"type": "point-force", "at": self.at(body), "force": components}
            if kind != "f":
                entry["follows"] = True
        elif kind == "T":
            body = force.index("iBindex", "bodies", len(self.folder.bodies))
            entry = {"type": "torque", "on": self.names[body], "torque": force.number("T")}
        else:
            known = ("weight", "ptp", "rot-sda", "flocal", "f", "T", "user")
            raise force.error(f"no type '{shown(kind)}'", "unknown-type", "type", suggestion=did_you_mean(kind, known))
        self.data["forces"][name] = {key: value for key, value in entry.items() if value != 0.0 or key == "torque"}
        self.note(force, ("forces", name), i="iPindex", j="jPindex", stiffness="k", damping="dc")

    def user_forces(self, wanted: bool) -> None:
        """The forces of user_force.yaml; without it, which lines of user_force.m are not taken over."""
        home = self.folder.folder
        path = home / USER_FORCES
        if path.exists() and not wanted:
            message, hint = "these forces do not act", "give inForces a force of type 'user', as DAP needs it too"
            self.left_out.append(ModelError(message, "user-force", file=str(path), suggestion=hint))
        if not wanted:
            return
        if path.is_file():
            check_inside(path)
            stated = parse(read_text(path), str(path))
            self.at(0, None, "O")
            for body in range(1, len(self.names)):
                self.at(body)  # a point in every mass centre, for forces that act there
            for section, entries in stated.data.items():
                if section not in ("forces", "parameters") or not isinstance(entries, dict):
                    message, rule = f"unknown key '{section}'", "this file has the keys forces and parameters"
                    raise stated.locate(ModelError(message, "unknown-key", rule=rule), (section,))
                for name in self.data.get(section, {}).keys() & entries.keys():
                    error = ModelError("inForces has a force of this name too", "duplicate-name")
                    raise stated.locate(error, (section, name))
                self.data.setdefault(section, {}).update(entries)
            self.lines |= {place: line for place, line in stated.lines.items() if place}
            self.files |= {place: str(path) for place in stated.lines if place}
            return
        file = str(self.folder.m_files.get("user_force", home))
        code = self.folder.m_files.get("user_force")
        lines = [s.line for s in statements(read_text(code), file, lenient=True)[1:]] if code else []
        where = f"lines {lines[0]} to {lines[-1]} are code" if lines else "the folder has no user_force.m"
        hint = f"state these forces in {USER_FORCES} beside it, under 'forces:' as in a model file"
        message = f"a force of type 'user' is not taken over: {where}"
        self.left_out.append(
            ModelError(message, "user-force", file=file, line=lines[0] if lines else None, suggestion=hint)
        )


def _motion(function: Element) -> dict[str, Data]:
    kind = function.text("type", "a")
    if kind == "a":
        value, rate, square = function.numbers("coeff", 3, ())
        return {"type": "polynomial", "value": value, "rate": rate, "acceleration": 2.0 * square}
    times: dict[str, Data] = {"t_start": function.number("t_start"), "t_end": function.number("t_end", 1.0)}
    start = function.number("f_start")
    if kind == "b":
        return {"type": "smooth-step", "start": start, "end": function.number("f_end", 1.0), **times}
    if kind == "c":
        return {"type": "ramp", "start": start, "rate": function.number("dfdt_end", 1.0), **times}
    raise function.error(f"no type '{shown(kind)}'", "unknown-type", "type", suggestion="choose from a, b, c")


def _shape(body: Element) -> Mapping[str, Data] | None:
    kind = body.text("shape", "")
    W, H = body.number("W"), body.number("H")
    if kind == "circle":
        return {"type": "disc", "radius": body.number("R", 1.0)}
    if kind == "rect" and W and H:
        return {"type": "box", "size": [W, H]}
    if kind == "line" and (W or H):
        return {"type": "rod", "ends": [[-W / 2, -H / 2], [W / 2, H / 2]]}
    return None
