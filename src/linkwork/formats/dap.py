"""Model folders of DAP_BC and DAP_JC as model files [nikravesh2018, appendices B and C].

DAP counts differences from j to i, d = P_i - P_j, and writes M a = h + D^T lam. Joints are turned round, so that
Psi = Phi, and Jac and Lam of `dap_arrays` are those of DAP. What cannot be translated stands in the model file under
`unsettled`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.arrays import Array
from linkwork.document import Data, Document, Keys, check_inside, parse, read_text
from linkwork.errors import ModelError, did_you_mean
from linkwork.expressions.evaluation import evaluate, substitute
from linkwork.expressions.graph import Expr, as_expr, symbol
from linkwork.formats.dap_chain import Chain, Drive, Link, read_chain
from linkwork.formats.dap_files import WINDOW, Element, Folder, Pose, Spot, law_of, motion_of, turned
from linkwork.formats.dap_forces import read_user_force
from linkwork.formats.dap_start import correct_start
from linkwork.formats.mcode import number
from linkwork.notes import Note
from linkwork.tolerances import AGREEMENT
from linkwork.units import shown

USER_FORCES = "user_force.yaml"
JOINTS = ("rev", "tran", "rev-rev", "rev-tran", "rigid", "disc", "rel-rot", "rel-tran")
ORIGIN = "centre"  # the name of a point that is added in a mass centre
NAMES_OF_COLOURS = ("black", "red", "green", "blue", "cyan", "magenta", "yellow", "white")
COLOURS = dict(zip("krgbcmyw", NAMES_OF_COLOURS, strict=True))


def is_dap(folder: Path) -> bool:
    return any(file.name.lower() == "inbodies.m" for file in folder.iterdir())


def read_dap(folder: Path, correct: bool = True) -> Document:
    """Read the model file of a folder; its start is corrected as DAP does it, or as it is given."""
    return _Translation(Folder(folder), correct).translate()


class _Translation:
    """The model file while it is put together, with the places of its parts in the files of the folder."""

    def __init__(self, folder: Folder, correct: bool) -> None:
        self.folder, self.notes = folder, folder.notes
        self.left_out: list[ModelError] = []
        self.lines: dict[Keys, int] = {(): 1}
        self.files: dict[Keys, str] = {}
        self.names = folder.names
        self.data: dict[str, Any] = {"linkwork": 1, "name": folder.folder.resolve().name, "gravity": [0.0, 0.0]}
        self.data |= {"ground": {"points": {}}, "bodies": {}, "joints": {}, "drivers": {}, "forces": {}}
        self.holders: list[dict[str, Any]] = [self.data["ground"]]
        self.chain: Chain | None = read_chain(folder) if folder.is_joint else None
        self.poses, self.rates = self.start(correct)

    def start(self, correct: bool) -> tuple[list[Pose], list[Pose]]:
        """Return poses and velocities of the bodies, the ground first."""
        if self.chain is not None:
            theta, theta_d = self.chain.given
            if correct and self.chain.Phi and not self.chain.errors:
                theta, theta_d = self.correct("CutJoint", self.chain.Phi, self.chain.theta, theta, theta_d)
            known = self.chain.at(self.folder)
            values = dict(zip((*self.chain.theta, *self.chain.theta_d), (*theta, *theta_d), strict=True))
            found = np.array(evaluate(list(known.values()), {**values, symbol("t"): 0.0}))
            q, v = found[: len(self.folder.q)], found[len(self.folder.q) :]
        else:
            bodies = self.folder.bodies
            q = np.array([x for b in bodies for x in (*b.numbers("r", 2), b.number("p"))])
            v = np.array([x for b in bodies for x in (*b.numbers("r_d", 2), b.number("p_d"))])
            if correct:
                self.poses = _grouped(q)
                Phi = substitute([x for j in self.folder.elements["joint"] for x in self.Phi(j)], self.folder.expansion)
                q, v = self.correct("inJoints", Phi, self.folder.q, q, v)
        return _grouped(q), _grouped(v)

    def correct(self, file: str, Phi: list[Expr], names: list[Expr], q: Array, v: Array) -> tuple[Array, Array]:
        """Return coordinates and rates that fit the constraints of a file; what changes is noted."""
        try:
            found, rates = correct_start(Phi, names, q, v)
        except ModelError as error:
            self.left_out.append(error.at(file=self.folder.file(file), line=1))
            return q, v
        changes = {
            f"{name.value}{what}": (float(a), float(b))
            for what, given, changed in (("", q, found), (" per second", v, rates))
            for name, a, b in zip(names, given, changed, strict=True)
            if abs(b - a) > AGREEMENT
        }
        if changes:
            self.notes.append(Note("start-of-dap", changes=changes))
        return found, rates

    def note(self, element: Element, place: Keys, **keys: str) -> None:
        """Keep where an element stands, and where fields of it do."""
        self.lines[place], self.files[place] = element.structure.line, element.file
        for key, named in keys.items():
            if named in element.structure.lines:
                self.files[(*place, key)], self.lines[(*place, key)] = element.structure.lines[named]

    def translate(self) -> Document:
        for body, pose, rate in zip(self.folder.bodies, self.poses[1:], self.rates[1:], strict=True):
            start = {"position": list(pose[:2]), "angle": pose[2]}
            start |= {"velocity": list(rate[:2]), "angular_velocity": rate[2]}
            entry: dict[str, Any] = {"mass": body.number("m", 1.0), "inertia": body.number("J", 1.0)}
            entry |= {key: x for key, x in start.items() if x not in (0.0, [0.0, 0.0])}
            entry["points"] = {}
            if shape := _shape(body):
                entry["shape"] = shape
            if body.has("color"):
                self.colour(body, entry)
            self.data["bodies"][body.name] = entry
            self.holders.append(entry)
            self.note(body, ("bodies", body.name), mass="m", inertia="J", position="r", angle="p")
        points = (*self.folder.points, *self.folder.elements["animated point"])
        order = [self.at(self.folder.body_of(x), x.numbers("sPlocal", 2), x.name) for x in points]
        for entry in self.holders[1:]:
            radius = entry.get("shape", {}).get("radius", math.inf)
            if any(math.hypot(*s) > 1.001 * radius for s in entry["points"].values()):
                del entry["shape"]  # a mark in the mass centre; the body itself is what joins its points
        for joint in self.folder.elements["joint"]:
            self.joint(joint)
        if self.chain is not None:
            self.add_chain(self.chain)
        for force in self.folder.elements["force"]:
            self.force(force)
        self.user_forces([k for k, x in enumerate(self.folder.elements["force"], 1) if x.text("type", "ptp") == "user"])
        if self.chain is not None:
            order += [row for _, row in sorted(self.chain.rows.items())]
        window = self.window()
        self.data["view"] = {**({"window": window} if window else {}), **({"order": order} if order else {})}
        if self.left_out:
            self.data["unsettled"] = [str(error) for error in self.left_out]
        data = {key: value for key, value in self.data.items() if value or key == "gravity"}
        if not data["ground"]["points"]:
            del data["ground"]
        return Document(str(self.folder.folder), data, self.lines, self.files, tuple(self.notes), tuple(self.left_out))

    def colour(self, body: Element, entry: dict[str, Any]) -> None:
        """Return a letter or name of MATLAB, or three parts of red, green and blue."""
        value = body.structure.fields["color"]
        if isinstance(value, np.ndarray) and value.size == 3 and all(isinstance(x, float) for x in value.flat):
            entry["colour"] = "#" + "".join(f"{round(255 * min(max(x, 0.0), 1.0)):02x}" for x in value.flat)
        elif isinstance(value, str) and (value in COLOURS or value in COLOURS.values()):
            entry["colour"] = COLOURS.get(value, value)
        else:
            file, line = body.structure.lines["color"]
            self.notes.append(Note("drawing-not-read", file=Path(file).name, line=line, what="color"))

    def window(self) -> list[list[float]] | None:
        """Return the lower and the upper corner of what is drawn."""
        found = [self.folder.variables.get(name) for name in WINDOW]
        if not all(isinstance(x, np.ndarray) and x.size == 1 for x in found):
            return None
        x_min, x_max, y_min, y_max = (number(x) for x in found if x is not None)
        return [[x_min, y_min], [x_max, y_max]] if x_min < x_max and y_min < y_max else None

    def ref(self, spot: Spot) -> str:
        """Return a spot as a model file names it."""
        return self.at(spot.body, list(spot.s), spot.name or (ORIGIN if spot.body else "O"))

    def at(self, body: int, s: list[float] | None = None, name: str = ORIGIN) -> str:
        """Return a point of a body, by default its origin, under this name or, if that one is elsewhere, a free one."""
        points: dict[str, Data] = self.holders[body]["points"]
        place: Data = list(s or [0.0, 0.0])
        while points.setdefault(name, place) != place:
            name += "_"
        return f"{self.names[body]}.{name}"

    def ends(self, element: Element) -> dict[str, Data]:
        """Return the points of a joint or force, turned round."""
        i, j = self.folder.ends(element)
        return {"i": self.ref(j), "j": self.ref(i)}

    # Joints

    def add_chain(self, chain: Chain) -> None:
        self.left_out += chain.errors
        for link in (*chain.links, *chain.cuts):
            self.link(link)
        for drive in chain.drives:
            self.drive(drive)
        self.data["simulation"] = {"coordinates": "joint"}
        if chain.cuts:
            self.data["simulation"]["cut"] = [link.name for link in chain.cuts]

    def link(self, link: Link) -> None:
        entry = {key: self.ref(x) if isinstance(x, Spot) else x for key, x in link.entry.items()}
        if link.entry["type"] == "angle-lock":
            entry |= {key: self.names[link.entry[key]] for key in "ij"}
        if link.alike is not None:
            # The vectors may be parallel or opposite, and angles differ by whole turns: as the bodies start.
            i, j = link.entry["i"].body, link.entry["j"].body
            a, b = (next(x for x in link.alike if self.folder.body_of(x) == body) for body in (i, j))
            entry["angle"] = self.parallel(a, b)
        self.data["joints"][link.name] = entry
        place: Keys = ("joints", link.name)
        self.lines[place], self.files[place] = link.line, link.file

    def parallel(self, along: Element, own: Element) -> float:
        """Return the angle of the second vector's body against the first one's where the vectors are parallel."""
        (a, b), (c, d) = (x.axis() for x in (along, own))
        angle = math.atan2(b, a) - math.atan2(d, c)
        turn = self.poses[self.folder.body_of(own)][2] - self.poses[self.folder.body_of(along)][2]
        return float(angle + math.pi * round((turn - angle) / math.pi))

    def turns(self, i: int, j: int) -> dict[str, Data]:
        """Return the freedom in which body j turns against body i."""
        one, other = (self.at(body, None, ORIGIN if body else "O") for body in (i, j))
        return {"i": one, "j": other, "freedom": "angle"}

    def drive(self, drive: Drive) -> None:
        if drive.bodies is None:
            driven: dict[str, Data] = {"joint": f"J{drive.owner}"}
        else:
            driven = self.turns(*drive.bodies)
        self.data["drivers"][drive.name] = {**driven, "motion": drive.law}
        self.lines["drivers", drive.name], self.files["drivers", drive.name] = drive.line, drive.file

    def joint(self, joint: Element) -> None:
        kind, name = joint.text("type", "rev"), joint.name
        entry: dict[str, Data]
        if kind == "rev":
            entry = {"type": "rigid" if joint.number("fix") else "revolute", **self.ends(joint)}
        elif kind == "tran":
            entry = self.prismatic(joint)
        elif kind == "rev-rev":
            entry = {"type": "distance", **self.ends(joint), "length": joint.number("L")}
        elif kind == "rev-tran":
            entry = self.point_on_line(joint)
        elif kind == "rigid":
            i, j = self.folder.pair(joint)
            entry = {"type": "rigid", "i": self.at(j, list(self.held(i, j)), f"{name}_rigid"), "j": self.at(i)}
        elif kind == "disc":
            body, R = self.folder.body_of(joint, "iBindex"), joint.number("R", 1.0)
            entry = {"type": "rolling", "i": self.at(0, None, "O"), "j": self.at(body), "axis": [1, 0], "radius": R}
        elif kind in ("rel-rot", "rel-tran"):
            self.driver(joint, kind)
            return
        else:
            raise joint.error(f"no type '{shown(kind)}'", "unknown-type", "type", suggestion=did_you_mean(kind, JOINTS))
        self.data["joints"][name] = entry
        self.note(joint, ("joints", name), type="type", i="jPindex", j="iPindex", length="L", radius="R")

    def held(self, i: int, j: int) -> tuple[float, float]:
        """Return the mass centre of body i in the axes of body j, as they start."""
        (x, y, _), (x0, y0, phi) = self.poses[i], self.poses[j]
        a, b = turned(-phi, (x - x0, y - y0))
        return as_expr(a).number, as_expr(b).number

    def vectors(self, joint: Element) -> tuple[Element, Element]:
        """Return the unit vectors of j and of i, which belong to the bodies of the points."""
        for key in "ij":
            own = self.folder.body_of(self.folder.vector(joint, f"{key}Uindex"))
            if own != self.folder.body_of(self.folder.point(joint, f"{key}Pindex")):
                message = f"{key}Uindex and {key}Pindex belong to different bodies"
                raise joint.error(message, "no-such-index", f"{key}Uindex")
        return self.folder.vector(joint, "jUindex"), self.folder.vector(joint, "iUindex")

    def prismatic(self, joint: Element) -> dict[str, Data]:
        """Read a slide along the vector of j."""
        along, own = self.vectors(joint)
        ends = self.ends(joint)
        if joint.number("fix"):
            point, base = self.folder.ends(joint)
            (x, y, phi), (x0, y0, phi0) = self.poses[point.body], self.poses[base.body]
            a, b = turned(phi, point.s)
            s = [as_expr(c).number for c in turned(-phi0, (x + a - x0, y + b - y0))]
            return {"type": "rigid", "i": self.at(base.body, s, f"{joint.name}_fix"), "j": ends["j"]}
        axis: Data = list(along.axis())
        return {"type": "prismatic", **ends, "axis": axis, "angle": self.parallel(along, own)}

    def point_on_line(self, joint: Element) -> dict[str, Data]:
        """Keep point j at the distance L beside the line through point i along the vector of i."""
        i, j = self.folder.ends(joint)
        u, L = self.folder.vector(joint, "iUindex").axis(), joint.number("L")
        if L:
            square = u[0] * u[0] + u[1] * u[1]
            i = Spot(i.body, (i.s[0] + L * u[1] / square, i.s[1] - L * u[0] / square), f"{joint.name}_line")
        return {"type": "point-on-line", "i": self.ref(i), "j": self.ref(j), "axis": [0.0 - x for x in u]}

    def function(self, joint: Element) -> Element:
        functions = self.folder.elements["function"]
        return functions[joint.index("iFunct", "functions", len(functions)) - 1]

    def driver(self, joint: Element, kind: str) -> None:
        """Return phi_i - phi_j = f(t), or |d| = f(t)."""
        function = self.function(joint)
        if kind == "rel-rot":
            driven = self.turns(*self.folder.pair(joint)[::-1])
        else:
            driven = {**self.ends(joint), "freedom": "distance"}
        self.data["drivers"][joint.name] = {**driven, "motion": motion_of(function)}
        self.note(joint, ("drivers", joint.name), i="jPindex", j="iPindex")
        self.note(function, ("drivers", joint.name, "motion"))

    def Phi(self, joint: Element) -> list[Expr]:
        """Return the constraints of a joint of DAP_BC, by the names that formulas have for the state."""
        kind, folder = joint.text("type", "rev"), self.folder

        def angle(body: int) -> Expr:
            return as_expr(folder.symbols(body)[0][2] if body else 0.0)

        def turn(i: int, j: int) -> Expr:
            """Return how much farther from j body i is turned than at the start."""
            return angle(i) - angle(j) - float(self.poses[i][2] - self.poses[j][2])

        if kind not in JOINTS:
            return []
        if kind == "disc":
            (x, y, phi), _ = folder.symbols(folder.body_of(joint, "iBindex"))
            R = joint.number("R", 1.0)
            return [y - R, x - joint.number("x0") + R * (phi - joint.number("p0"))]
        if kind in ("rigid", "rel-rot"):
            a, b = folder.pair(joint)
            if kind == "rel-rot":
                return [angle(a) - angle(b) - self.law(joint)]
            P, Q = (folder.place(Spot(body, (0.0, 0.0))) for body in (a, b))
            s = turned(angle(b), self.held(a, b))
            return [*(as_expr(x) - y - z for x, y, z in zip(P, Q, s, strict=True)), turn(a, b)]
        i, j = folder.ends(joint)
        dx, dy = (as_expr(a) - b for a, b in zip(folder.place(i), folder.place(j), strict=True))
        square = dx * dx + dy * dy
        if kind == "rev":
            return [dx, dy, *([turn(i.body, j.body)] if joint.number("fix") else [])]
        if kind == "rev-rev":
            L = joint.number("L")
            return [(square - L * L) / (2.0 * L)] if L else [square]
        if kind == "rel-tran":
            return [(square - self.law(joint) * self.law(joint)) * 0.5]
        if kind == "rev-tran":
            ux, uy = turned(angle(i.body), folder.vector(joint, "iUindex").axis())
            return [ux * dy - uy * dx - joint.number("L")]
        along, own = self.vectors(joint)
        (ux, uy), (vx, vy) = turned(angle(j.body), along.axis()), turned(angle(i.body), own.axis())
        rows = [ux * dy - uy * dx, as_expr(ux) * vy - as_expr(uy) * vx]
        return [*rows, *([ux * dx + uy * dy - self.slid(i, j, along)] if joint.number("fix") else [])]

    def slid(self, i: Spot, j: Spot, along: Element) -> float:
        """Return how far point i is along the vector of j from point j at the start."""
        values = dict(zip(self.folder.q, (x for pose in self.poses[1:] for x in pose), strict=True))
        (x, y), (x0, y0) = (self.folder.place(spot) for spot in (i, j))
        ux, uy = turned(self.poses[j.body][2], along.axis())
        way = substitute([as_expr(ux * (as_expr(x) - x0) + uy * (as_expr(y) - y0))], self.folder.expansion)
        return float(evaluate(way, values)[0])

    def law(self, joint: Element) -> Expr:
        return law_of(self.function(joint))

    # Forces

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
            j, i = (self.names[body] for body in self.folder.pair(force))
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
        self.note(force, ("forces", name), i="jPindex", j="iPindex", stiffness="k", damping="dc")

    def user_forces(self, users: list[int]) -> None:
        """Return the forces of user_force.yaml, or else of user_force.m."""
        home = self.folder.folder
        path = home / USER_FORCES
        if path.exists() and not users:
            message, hint = "these forces do not act", "give inForces a force of type 'user', as DAP needs it too"
            self.left_out.append(ModelError(message, "user-force", file=str(path), suggestion=hint))
        if not users:
            return
        if path.is_file():
            self.stated_forces(path)
        elif "user_force" not in self.folder.m_files:
            message = "a force of type 'user' needs a file user_force.m"
            hint = f"or state these forces in {USER_FORCES}, under 'forces:' as in a model file"
            self.left_out.append(ModelError(message, "user-force", file=str(home), suggestion=hint))
        else:
            found = read_user_force(self.folder, users)
            for name, entry in found.entries.items():
                label = name
                while label in self.data["forces"]:
                    label += "_"
                self.data["forces"][label] = {k: self.ref(x) if isinstance(x, Spot) else x for k, x in entry.items()}
                self.files["forces", label] = self.folder.file("user_force")
                self.lines["forces", label] = 1
            hint = f"state these forces in {USER_FORCES} beside it, under 'forces:' as in a model file"
            for error in found.errors:
                error.suggestion = error.suggestion or hint
            self.left_out += found.errors

    def stated_forces(self, path: Path) -> None:
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


def _grouped(values: Array) -> list[Pose]:
    """Return x, y, phi of every body, those of the ground first."""
    return [(0.0, 0.0, 0.0), *((float(x), float(y), float(phi)) for x, y, phi in values.reshape(-1, 3))]


def _shape(body: Element) -> Mapping[str, Data] | None:
    kind = body.text("shape", "")
    W, H = body.number("W"), body.number("H")
    if kind == "circle":
        return {"type": "disc", "radius": body.number("R", 1.0)}
    if kind == "rect" and W and H:
        return {"type": "box", "size": [W, H]}
    if kind == "line" and (W or H):
        return {"type": "rod", "ends": [[0.0 - W / 2, 0.0 - H / 2], [W / 2, H / 2]]}
    return None
