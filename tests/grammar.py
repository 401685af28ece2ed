"""Whole models made by a grammar: each is refused with a clear error, stops with one, or moves as physics allows.

`python tests/grammar.py 20000` (the target `make grammar`) makes that many and prints what became of them; a slice of
it is in test_grammar.py. A case is known by seed and number alone: `python tests/grammar.py 1 --seed 3 --first 4711`.

Bodies are put anywhere and joined where they are, so that most models fit; then come drivers, forces of every kind with
formulas, contacts and friction, events with every action. Of a model that loads everything is asked: check, assemble,
kinematics if it is driven, a run in some coordinates by some formulation, integrator and stabilization, and a command
line. What a finished run says must be finite and keep its own energy balance.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from fuzz import campaign
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from linkwork import Integrator, cli
from linkwork.assembly.assemble import assemble
from linkwork.driven.kinematics import kinematics
from linkwork.elements.contact import MODELS
from linkwork.elements.friction import FRICTIONS
from linkwork.errors import InternalError, LinkworkError, NumericalStop
from linkwork.formulations import all_formulations
from linkwork.integrators.methods import integrators
from linkwork.model import Model
from linkwork.modelfile import loads
from linkwork.simulation.options import STABILIZATIONS
from linkwork.simulation.simulate import simulate
from linkwork.start.check import check
from linkwork.trajectory import Trajectory

Data = dict[str, Any]
Array = NDArray[np.float64]
MOST_STEPS = 2000
BALANCED = 1e-2  # of all energy that was stored or exchanged: what a run at rtol 1e-5 or less may lose
PLANAR = ("revolute", "prismatic", "rigid", "distance", "point-on-line", "rolling", "gear", "angle-lock")
SPATIAL = (
    *("spherical", "revolute", "prismatic", "cylindrical", "screw", "universal", "constant-velocity", "planar"),
    *("rigid", "point-on-line", "point-on-plane", "distance", "revolute-spherical", "universal-spherical"),
    *("gear", "rack-and-pinion"),
)
FREEDOMS = {
    "planar": {
        **dict.fromkeys(("revolute", "distance"), ("angle",)),
        "prismatic": ("displacement",),
        **dict.fromkeys(("point-on-line", "rolling"), ("displacement", "angle")),
    },
    "spatial": {
        "revolute": ("angle",),
        "prismatic": ("displacement",),
        **dict.fromkeys(("cylindrical", "screw", "rack-and-pinion"), ("displacement", "angle")),
        "spherical": ("angle_x", "angle_y", "angle_z"),
        **dict.fromkeys(("universal", "gear"), ("angle_i", "angle_j")),
        "constant-velocity": ("angle_x", "angle_y"),
        "planar": ("x", "y", "angle"),
        "point-on-line": ("displacement",),
        "point-on-plane": ("x", "y"),
        "revolute-spherical": ("angle",),
    },
}
UNITS = {"mass": ("kg", "g"), "length": ("m", "mm", "cm"), "angle": ("rad", "deg"), "time": ("s", "ms")}
SIZES = {"kg": 1.0, "g": 1e-3, "m": 1.0, "mm": 1e-3, "cm": 1e-2, "rad": 1.0, "deg": np.pi / 180, "s": 1.0, "ms": 1e-3}


class Grammar:
    """A model in the making; what is drawn depends on the seed alone."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.space = "planar" if self.chance(0.6) else "spatial"
        self.n = 2 if self.space == "planar" else 3
        self.size = float(self.one_of([1.0, 1.0, 1.0, 1e-3, 1e3]))
        self.poses: dict[str, tuple[Array, Array, float]] = {"ground": (np.zeros(self.n), np.eye(self.n), 0.0)}
        self.data: Data = {"linkwork": 1, "name": "grammar", "space": self.space}
        self.parameters: list[str] = []

    def chance(self, p: float) -> bool:
        return bool(self.random.random() < p)

    def one_of(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.random.integers(len(choices)))]

    def number(self, low: float = -1.0, high: float = 1.0) -> float:
        return float(f"{self.random.uniform(low, high):.4g}")

    def positive(self) -> float:
        return float(f"{10 ** self.random.uniform(-1, 1):.3g}")

    def vector(self, size: float = 1.0) -> list[float]:
        return [self.number(-size, size) for _ in range(self.n)]

    def axis(self) -> list[float]:
        x = np.eye(self.n)[self.random.integers(self.n)] if self.chance(0.6) else self.random.normal(size=self.n)
        return [float(f"{c:.6g}") for c in x / np.linalg.norm(x)]

    def quantity(self, value: float, kind: str) -> Any:
        """The value as it is, with a unit, or as a formula."""
        if self.chance(0.7):
            return value
        if self.chance(0.6):
            unit = self.one_of(UNITS[kind])
            return f"{value / SIZES[unit]!r} {unit}"
        return f"{value!r}*{self.one_of(['1', 'c1/c1', 'cos(0)', '(2 - 1)'])}" if self.parameters else value

    def model(self) -> Data:
        if self.chance(0.04):
            return self.stated()
        if self.chance(0.7):
            self.data["parameters"] = {
                "c1": self.positive(),
                "c2": f"{self.number()}*c1",
                "len": self.one_of([f"{self.positive()} m", "30 cm", 0.5]),
                "k0": self.one_of([10.0, "2 N/mm", "c1^2"]),
            }
            self.parameters = ["c1", "c2"]
        if self.chance(0.4):
            self.data["gravity"] = self.vector(9.81) if self.chance(0.5) else [0] * self.n
        self.data["ground"] = {"points": {"O": [0] * self.n}}
        self.data["bodies"] = {}
        for k in range(int(self.random.integers(1, 5 if self.space == "planar" else 4))):
            self.body(f"b{k}")
        self.add("joints", self.joints())
        self.velocities()
        self.add("drivers", self.drivers())
        self.add("forces", {f"F{k}": self.force() for k in range(int(self.random.integers(0, 4)))})
        self.add("events", {f"E{k}": self.event() for k in range(int(self.random.integers(0, 3)))})
        loose = [name for name, entry in self.data.get("joints", {}).items() if entry.get("open")]
        if loose and self.chance(0.95):
            engaging = {"when": self.when([]), "action": "set", "engage": loose}
            self.data["events"] = {**self.data.get("events", {}), "engage": engaging}
        self.data["simulation"] = {
            "t_end": self.quantity(float(self.one_of([0.02, 0.1, 0.3, 1.0])), "time"),
            "step": float(self.one_of([0.01, 0.02, 0.05])),
            "rtol": float(self.one_of([1e-3, 1e-5, 1e-6, 1e-7, 1e-9])),
        }
        return self.data

    def add(self, section: str, entries: Data) -> None:
        if entries:
            self.data[section] = entries

    def body(self, name: str) -> None:
        place = self.random.uniform(-1.0, 1.0, self.n) * self.size
        mass, size = self.positive(), self.size
        entry: Data = {"mass": self.quantity(mass, "mass"), "points": {}}
        if self.space == "planar":
            angle = self.one_of([0.0, float(np.pi / 2), self.number(-3, 3)])
            c, s = np.cos(angle), np.sin(angle)
            A = np.array([[c, -s], [s, c]])
            entry |= {"angle": self.quantity(angle, "angle"), "inertia": mass * size**2 * self.positive() / 10}
            if self.chance(0.04):
                del entry["inertia"]
        else:
            turn, angle = Rotation.random(random_state=self.random), 0.0
            if self.chance(0.4):
                turn = Rotation.identity()
            x, y, z, w = turn.as_quat().tolist()
            A = turn.as_matrix()
            a, b, c = (self.positive() / 10 * mass * size**2 for _ in range(3))
            entry |= {"orientation": [w, x, y, z], "inertia": [b + c, c + a, a + b]}
        if self.chance(0.03):
            entry["mass"] = 0
        entry["position"] = [float(x) for x in place]
        self.data["bodies"][name] = entry
        self.poses[name] = place, A, angle
        for point in "PQ":
            self.point(name, place + self.random.uniform(-1, 1, self.n) * 0.5 * size, point)

    def point(self, body: str, place: Array, name: str) -> str:
        """A new point of the body at this place in the world."""
        r, A, _ = self.poses[body]
        entry = self.data["ground"] if body == "ground" else self.data["bodies"][body]
        entry["points"][name] = [float(x) for x in A.T @ (place - r)]
        return f"{body}.{name}"

    def known_point(self) -> str:
        body = self.one_of([*self.data["bodies"]])
        return f"{body}.{self.one_of([*self.data['bodies'][body]['points']])}"

    def two_bodies(self) -> tuple[str, str]:
        bodies = list(self.poses)
        i, j = self.random.permutation(len(bodies))[:2]
        return bodies[i], bodies[j]

    # Joints and drivers

    def joints(self) -> Data:
        """A tree in which bodies hang from earlier ones, and some joints more, which close loops."""
        found: Data = {}
        bodies = list(self.poses)
        for k, body in enumerate(bodies[1:], 1):
            if self.chance(0.88):
                found[f"J{k}"] = self.joint(f"J{k}", self.one_of(bodies[:k]), body)
        for k in range(int(self.random.choice([0, 1, 2], p=[0.6, 0.3, 0.1]))):
            found[f"K{k}"] = self.joint(f"K{k}", *self.two_bodies())
        return found

    def joint(self, name: str, i: str, j: str) -> Data:
        kinds = PLANAR if self.space == "planar" else SPATIAL
        kind = self.one_of(kinds) if self.chance(0.5) else self.one_of(("revolute", "prismatic", kinds[0]))
        (r_j, _, _), (_, A_i, _) = self.poses[j], self.poses[i]
        place = r_j + self.random.uniform(-0.5, 0.5, self.n) * self.size * self.one_of([0.0, 1.0])
        along = np.array(self.axis())
        entry: Data = {"type": kind}
        if kind in ("distance", "revolute-spherical", "universal-spherical"):
            other = place + self.random.uniform(-1, 1, self.n) * self.size
            if kind == "revolute-spherical":  # the link is across the axis of its hinge
                other -= along * (along @ (other - place))
            entry |= {"i": self.point(i, other, name), "j": self.point(j, place, name)}
        elif kind in ("gear", "angle-lock") and self.space == "planar":
            entry |= {"i": i, "j": j}
            if kind == "gear":
                entry |= {"radius_i": self.positive() * self.size, "radius_j": self.positive() * self.size}
                entry |= {"internal": self.chance(0.3), "pressure_angle": self.one_of(["20 deg", 0])}
        elif kind == "rolling":
            radius = self.positive() * self.size / 5
            normal = np.array([-along[1], along[0]])
            entry |= {"i": self.point(i, place - radius * normal, name), "j": self.point(j, place, name)}
            entry["radius"] = radius
        else:
            entry |= {"i": self.point(i, place, name), "j": self.point(j, place, name)}
        if kind in ("prismatic", "point-on-line", "rolling") or (
            self.space == "spatial"
            and kind not in ("spherical", "distance", "universal-spherical", "rigid", "angle-lock")
        ):
            entry["axis"] = (A_i.T @ along).tolist()
        if self.space == "spatial":
            A_j = self.poses[j][1]
            across = np.cross(along, np.roll(along, 1) + np.array([0.1, 0.2, 0.3]))
            across /= np.linalg.norm(across)
            if kind == "universal":
                entry["axis_j"] = (A_j.T @ across).tolist()
            elif kind in ("gear", "rack-and-pinion"):
                entry["axis_j"] = (A_j.T @ (along if self.chance(0.5) else across)).tolist()
                entry["radius"] = self.positive() * self.size
                if kind == "gear":
                    entry |= {"teeth_i": int(self.random.integers(8, 60)), "teeth_j": int(self.random.integers(8, 60))}
            elif kind == "screw":
                entry["pitch"] = self.number() * self.size
            elif kind in ("revolute", "cylindrical", "planar") and self.chance(0.5):
                entry |= {"zero": (A_i.T @ across).tolist(), "zero_j": (A_j.T @ across).tolist()}
                entry["axis_j"] = (A_j.T @ along).tolist()
        if self.chance(0.05):
            entry["open"] = True
        return entry

    def velocities(self) -> None:
        """Of bodies on no joint; in the plane also one angular velocity, which the others follow."""
        held = {entry[key].partition(".")[0] for entry in self.data.get("joints", {}).values() for key in "ij"}
        for name, entry in self.data["bodies"].items():
            if (name not in held or self.chance(0.03)) and self.chance(0.7):
                entry["velocity"] = self.vector(self.size)
                entry["angular_velocity"] = self.number(-5, 5) if self.n == 2 else self.vector(5)
        if self.n == 2 and self.chance(0.4):
            self.data["bodies"][self.one_of([*self.data["bodies"]])]["angular_velocity"] = self.number(-5, 5)

    def freedom(self) -> Data:
        """A joint that leaves a freedom, and which."""
        known = FREEDOMS[self.space]
        joints = {name: known[x["type"]] for name, x in self.data.get("joints", {}).items() if x["type"] in known}
        if not joints:
            return {}
        name = self.one_of([*joints])
        freedom = self.one_of(joints[name])
        return {"joint": name} | ({"freedom": freedom} if len(joints[name]) > 1 or self.chance(0.3) else {})

    def drivers(self) -> Data:
        found: Data = {}
        for k in range(int(self.random.choice([0, 1, 2], p=[0.6, 0.3, 0.1]))):
            on = self.freedom()
            start = 0.0
            if self.chance(0.15) or not on:
                i, j = self.two_bodies()
                places = [self.poses[x][0] + self.random.uniform(-1, 1, self.n) * self.size for x in (i, j)]
                on = {"i": self.point(i, places[0], f"D{k}"), "j": self.point(j, places[1], f"D{k}")}
                start = float(np.linalg.norm(places[1] - places[0]))
            elif self.space == "planar" and on.get("freedom", "angle") == "angle":
                joint = self.data["joints"][on["joint"]]
                i, j = (joint[key].partition(".")[0] for key in "ij")
                start = self.poses[j][2] - self.poses[i][2] if joint["type"] != "prismatic" else 0.0
            found[f"D{k}"] = {**on, "motion": self.motion(start)}
        return found

    def motion(self, start: float) -> Any:
        rate, way = self.number(-3, 3), self.number()
        return self.one_of(
            [
                f"{start!r} + {rate}*t",
                f"{start!r} + {way}*sin({rate}*t)",
                f"{start!r} + if(t < 0.05, 0, {way}*(t - 0.05)^3)",
                f"{start!r} + {self.formula(['t'])} - {self.formula(['t'])}",
                {"type": "polynomial", "value": start, "rate": rate, "acceleration": way},
                {"type": "smooth-step", "start": start, "end": start + way, "t_start": 0, "t_end": 0.2},
                {"type": "ramp", "start": start, "rate": rate, "t_start": 0.01, "t_end": "60 ms"},
                {
                    "type": "table",
                    "times": [0, 0.3, 0.6, 1, 2],
                    "values": [start, *(start + self.number() for _ in "1234")],
                },
            ]
        )

    # Formulas

    def names(self, with_speeds: bool = True) -> list[str]:
        """What a formula of the motion may name."""
        found = ["t", "t", *self.parameters]
        for body, entry in self.data["bodies"].items():
            axes = "xyz"[: self.n]
            found += [f"{body}.{axis}" for axis in axes] + ([f"{body}.phi"] if self.n == 2 else [])
            if with_speeds:
                found += [f"{body}.v{axis}" for axis in axes]
                found += [f"{body}.omega"] if self.n == 2 else [f"{body}.w{axis}" for axis in axes]
            point = self.one_of([*entry["points"]])
            found += [f"{body}.{point}.{axis}" for axis in axes[:1]]
            found += [f"{body}.{point}.v{axis}" for axis in axes[:1]] if with_speeds else []
        return found

    def formula(self, names: Sequence[str], depth: int = 3) -> str:
        """A formula; mostly one that is defined everywhere."""
        if depth == 0 or self.chance(0.25):
            return str(self.one_of(names)) if self.chance(0.7) else str(self.number(-2, 2))
        a, b = (self.formula(names, depth - 1) for _ in "ab")
        if self.chance(0.06):
            return str(self.one_of([f"1/({a})", f"tan({a})", f"log({a})", f"sqrt({a})", f"({a})^({b})", f"asin({a})"]))
        condition = f"{a} {self.one_of(['<', '<=', '>', '>='])} {b}"
        return str(
            self.one_of(
                [
                    f"({a} + {b})",
                    f"({a} - {b})",
                    f"({a})*({b})",
                    f"({a})/(1 + ({b})^2)",
                    f"({a})^{self.one_of([2, 3, 20])}",
                    f"sin({a})",
                    f"cos({self.one_of([1, 10, 100])}*({a}))",
                    f"exp(-({a})^2)",
                    f"tanh({self.one_of([1, 1000])}*({a}))",
                    f"atan2({a}, {b})",
                    f"sqrt(abs({a}))",
                    f"log(1 + ({a})^2)",
                    f"sign({a})",
                    f"abs({a})",
                    f"min({a}, {b})",
                    f"max({a}, {b}, 0)",
                    f"if({condition}, {self.formula(names, depth - 1)}, {self.number()})",
                ]
            )
        )

    def load(self, names: Sequence[str] | None = None) -> Any:
        """A force or a torque, as a number or as a formula of the motion."""
        if self.chance(0.3):
            return self.number(-10, 10)
        return f"{self.positive()}*({self.formula(names or self.names())})"

    # Forces

    def force(self) -> Data:
        contact = "line-contact" if self.n == 2 else "plane-contact"
        ways: list[Callable[[], Data]] = [
            self.spring,
            self.rotational_spring,
            lambda: (
                {"type": "point-force", "at": self.known_point(), "force": [self.load() for _ in range(self.n)]}
                | ({"follows": True} if self.chance(0.3) else {})
            ),
            self.torque,
            lambda: {"type": "drag", "at": self.known_point(), "coefficient": self.positive()},
            lambda: self.along_a_freedom("motor"),
            lambda: self.along_a_freedom("end-stop"),
            lambda: self.along_a_freedom("joint-friction"),
            lambda: self.along_a_freedom("stick-slip"),
            lambda: self.contact(contact),
            lambda: self.contact("circle-contact" if self.n == 2 else "sphere-contact"),
        ]
        if self.n == 3:
            ways.append(self.bushing)
        return self.one_of(ways)() or self.torque()

    def two_points(self) -> Data:
        """Of two bodies, or now and then of one."""
        points = [self.known_point(), self.known_point() if self.chance(0.7) else "ground.O"]
        if points[0].partition(".")[0] == points[1].partition(".")[0] and self.chance(0.9):
            points[1] = "ground.O"
        order = self.random.permutation(2)
        return {"i": points[order[0]], "j": points[order[1]]}

    def of_spring(self, measure: str) -> Data:
        found: Data = {}
        if self.chance(0.8):
            found["stiffness"] = float(self.one_of([1.0, 10.0, 1e3, 1e6])) * self.positive()
        if self.chance(0.5):
            found["damping"] = float(self.one_of([0.1, 1.0, 100.0])) * self.positive()
        if self.chance(0.2):
            found["actuator"] = self.load()
        if self.chance(0.2):
            found["law"] = self.load([measure, "rate", "t"])
        return found

    def spring(self) -> Data:
        entry = {"type": "spring-damper", **self.two_points(), **self.of_spring("length")}
        return entry | (
            {"free_length": self.quantity(self.positive() * self.size / 3, "length")} if self.chance(0.7) else {}
        )

    def rotational_spring(self) -> Data:
        entry = {"type": "rotational-spring-damper", **self.of_spring("angle")}
        if self.chance(0.5):
            entry["free_angle"] = self.quantity(self.number(-3, 3), "angle")
        if self.n == 2:
            i, j = self.two_bodies()
            return {**entry, "i": i, "j": j}
        on = self.freedom()
        return {**entry, "joint": on["joint"]} if on else {}

    def torque(self) -> Data:
        on = self.one_of([*self.data["bodies"]])
        return {"type": "torque", "on": on, "torque": self.load() if self.n == 2 else [self.load() for _ in "xyz"]}

    def bushing(self) -> Data:
        def diagonal() -> list[float]:
            return [self.positive() * 100 for _ in range(6)]

        entry = {"type": "bushing", **self.two_points(), "stiffness": diagonal()}
        return entry | ({"damping": diagonal()} if self.chance(0.5) else {})

    def compliance(self) -> Data:
        model = self.one_of([*MODELS])
        entry: Data = {"model": model, "stiffness": float(self.one_of([1e2, 1e4, 1e7])) * self.positive()}
        chances = {
            "damping": self.positive(),
            "exponent": self.one_of([1.0, 1.5, 2.2]),
            "restitution": self.number(0.05, 1),
        }
        return entry | {key: chances[key] for key in MODELS[model] if self.chance(0.6)}

    def friction(self, laws: Sequence[str]) -> Data:
        law = self.one_of(laws)
        dynamic = self.number(0, 0.8)
        values = {"dynamic": dynamic, "static": dynamic + self.number(0, 0.5), "transition": self.one_of([1e-3, 0.1])}
        values |= {"stribeck": 0.01, "shape": self.one_of([1.0, 2.0]), "viscous": self.number(0, 0.3)}
        return {"friction": law} | {key: values[key] for key in FRICTIONS[law] if key == "dynamic" or self.chance(0.5)}

    def contact(self, kind: str) -> Data:
        entry: Data = {"type": kind, **self.two_points(), **self.compliance()}
        if kind in ("line-contact", "plane-contact"):
            entry["normal"] = self.axis()
        else:
            entry["radius_i"] = self.positive() * self.size / 10
        entry["radius_j"] = self.positive() * self.size / 10
        return entry | (self.friction(tuple(FRICTIONS)) if self.chance(0.4) else {})

    def along_a_freedom(self, kind: str) -> Data:
        on = self.freedom()
        if not on:
            return {}
        entry: Data = {"type": kind, **on}
        normal = self.load() if self.chance(0.4) else self.positive()
        if kind == "motor":
            sign = self.one_of([-1, 1])
            return entry | {"stall": sign * self.positive(), "no_load": sign * self.positive() * 5}
        if kind == "end-stop":
            lower = self.number(-1, 1)
            ends = {"lower": lower, "upper": lower + self.positive()}
            return entry | self.compliance() | {key: ends[key] for key in self.one_of([["lower"], ["upper"], [*ends]])}
        if self.chance(0.5):
            entry["radius"] = self.positive() / 10
        if self.chance(0.3):
            entry["speed"] = self.number()
        if kind == "joint-friction":
            return entry | {"normal_force": normal} | self.friction(tuple(FRICTIONS)[1:])
        dynamic = self.number(0, 0.8)
        static = {"static": dynamic + self.number(0, 0.5)} if self.chance(0.5) else {}
        return entry | {"normal_force": normal, "dynamic": dynamic} | static

    # Events

    def event(self) -> Data:
        bodies, joints = [*self.data["bodies"]], [*self.data.get("joints", {})]
        action = self.one_of(["record", "record", "stop", "set", "set", "set"])
        entry: Data = {
            "when": self.when(joints),
            "direction": self.one_of(["both", "rising", "falling"]),
            "action": action,
        }
        if action == "set":
            body = self.one_of(bodies)
            speed = f"{body}.{self.one_of(['vx', 'vy', 'omega' if self.n == 2 else 'wz'])}"
            new = self.one_of(
                [f"{speed} + {self.number()}", f"-0.5*{speed}", str(self.number()), self.formula(self.names())]
            )
            ways: list[Data] = [{"restitution": self.number(0, 1)}, {"velocities": {speed: new}}]
            if joints:
                names = self.one_of(joints)
                ways += [{"release": names}, {"engage": names}, {"release": [names], "velocities": {speed: new}}]
            entry |= self.one_of(ways)
            if "restitution" in entry:
                entry["when"] = self.when([], with_speeds=False)
        return entry

    def when(self, joints: Sequence[str], with_speeds: bool = True) -> str:
        names = self.names(with_speeds)
        if joints and self.chance(0.2):
            part = self.one_of(["x", "y", "torque"] if self.n == 2 else ["x", "y", "z", "tx"])
            return f"reaction.{self.one_of(joints)}.{part}^2 - {self.positive() ** 2}"
        if self.data.get("drivers") and joints and self.chance(0.1):
            return f"driving.{self.one_of([*self.data['drivers']])} - {self.number()}"
        return str(
            self.one_of(
                [
                    f"t - {self.number(0, 0.3)}",
                    f"sin({self.positive() * 10}*t) - {self.number()}",
                    f"{self.one_of(names)} - {self.number() * self.size}",
                    f"{self.one_of(names)} - {self.one_of(names)}",
                    self.formula(names),
                ]
            )
        )

    def stated(self) -> Data:
        """A system given by its equations."""
        names = ["x", "y", "a"][: int(self.random.integers(1, 4))]
        kinds = {"x": "length", "y": "length", "a": "angle"}
        entry: Data = {
            "coordinates": {x: {"kind": kinds[x], "start": self.number(), "rate": self.number()} for x in names}
        }
        n = len(names)
        entry["M"] = [[self.positive() if i == j else 0 for j in range(n)] for i in range(n)]
        entry["Q"] = [self.formula([*names, *(f"{x}_d" for x in names), "t"]) for _ in names]
        if n > 1 and self.chance(0.5):
            start = [entry["coordinates"][x]["start"] for x in names[:2]]
            square = f"{start[0]!r}^2 + {start[1]!r}^2"
            entry["Psi"] = {"rod": {"expression": f"({names[0]}^2 + {names[1]}^2 - {square})/2", "kind": "length"}}
        if self.chance(0.5):
            entry["potential"] = self.formula(names)
        return {"linkwork": 1, "name": "stated", "equations": entry, "simulation": {"t_end": 0.3, "step": 0.05}}


def how(random: np.random.Generator) -> Data:
    """By which coordinates, formulation, stabilization and integrator a run is made: else the usual ones."""
    chosen: Data = {}
    for key, choices, p in (
        ("coordinates", ("body", "joint", "minimal", "euler", "auto"), 0.5),
        ("formulation", all_formulations(), 0.4),
        ("stabilization", STABILIZATIONS, 0.2),
        ("integrator", tuple(integrators()), 0.3),
    ):
        if random.random() < p:
            chosen[key] = str(choices[random.integers(len(choices))])
    return chosen


def command(random: np.random.Generator, model: str) -> list[str]:
    """A command line about the model."""
    targets = ["text", "latex", "markdown", "python", "numpy", "c", "fortran", "julia", "maple"]
    lines = [
        ["check", model],
        ["check", model, "--assemble", "--weights", "unit"],
        ["run", model, "--max-steps", "500", "-o", "out.csv"],
        ["run", model, "--max-steps", "500", "--assemble", "-o", "out.nc", "--html", "out.html"],
        ["kinematics", model, "--t-end", "0.1", "--step", "0.05", "-o", "out.csv"],
        ["assemble", model, "-o", "out.yaml"],
        ["explain", model, "-o", f"out.{('md', 'html', 'tex', 'txt')[random.integers(4)]}"],
        ["explain", model, "--formulation", "qr"],
        ["equations", model, "--to", targets[random.integers(len(targets))]],
        ["equations", model, "--form", ("explicit", "rif", "lagrange")[random.integers(3)], "--to", "text"],
        ["convert", model, "-o", "out.json"],
        ["convert", model, "-o", "deck"],
        ["view", model, "-o", "out.html", "--t-end", "0.05"],
        ["animate", model, "--film", "2", "-o", "out.png", "--t-end", "0.05"],
        ["report", model, "-o", "out.html", "--t-end", "0.05"],
        ["compare", model, "--formulations", "augmented,qr", "--t-end", "0.02"],
        ["assemble", model, "--all"],
    ]
    weights = np.array([4.0] * 12 + [0.5] * 5)  # pictures, comparisons and all modes take long
    line = lines[random.choice(len(lines), p=weights / weights.sum())]
    if line[0] in ("check", "run", "assemble", "equations", "explain") and random.random() < 0.5:
        line = [*line, "--coordinates", ("joint", "minimal", "euler", "auto")[random.integers(4)]]
    return [*line, "--json"] if random.random() < 0.5 else line


def looked_at(motion: Trajectory, what: str) -> None:
    """AssertionError if a finished motion is not finite or contradicts its energy balance."""
    assert motion.status == "finished", motion.status
    for name in motion:
        assert np.all(np.isfinite(motion[name])), f"{what}: {name} of a finished run is not finite"
    energy, rtol = motion.energy, motion.summary()["rtol"]
    if what == "run" and rtol is not None and rtol <= 1e-5:
        stored = max(float(np.max(energy["kinetic"])), float(np.ptp(energy["potential"])))
        exchanged = sum(float(np.max(np.abs(energy[key]))) for key in ("dissipated", "supplied"))
        lost = float(np.max(np.abs(motion["energy:drift"])))
        rounding = 1e-9 * float(np.max(np.abs(energy["potential"]))) + 1e-9 * float(np.max(np.abs(motion.q))) ** 2
        assert lost <= BALANCED * (stored + exchanged) + rounding, (
            f"{lost:.3g} J of {stored + exchanged:.3g} J are lost"
        )


def case(seed: int, number: int) -> str:
    """The text of a model file."""
    return json.dumps(Grammar(np.random.default_rng([seed, number, 20])).model())


def refused(task: Callable[[], Any]) -> str:
    """What a task is refused with, if it is; AssertionError where that is a fault or says nothing."""
    try:
        task()
    except LinkworkError as error:
        if isinstance(error, InternalError) or not (error.message.strip() and error.code):
            raise AssertionError(f"an error without words or without a code: {error!r}") from error
        if isinstance(error, NumericalStop) and isinstance(kept := getattr(error, "trajectory", None), Trajectory):
            assert np.all(np.isfinite(kept.q)), "a stopped run keeps positions that are not finite"
            assert np.all(np.isfinite(kept.v)), "a stopped run keeps velocities that are not finite"
        return error.code
    return ""


def trial(seed: int, number: int) -> str:
    """What becomes of a model; AssertionError or another exception if it is none of what may become of it."""
    random = np.random.default_rng([seed, number, 21])
    text = case(seed, number)
    made: list[Model] = []
    if code := refused(lambda: made.append(loads(text, is_json=True))):
        return f"load refused {code}"
    model = made[0]
    refused(lambda: check(model))
    options = how(random) if random.random() < 0.6 else {}
    limited = Integrator(options.get("integrator", "auto"), max_steps=MOST_STEPS)
    stopped = refused(lambda: looked_at(simulate(model, **{**options, "integrator": limited}), "run"))
    if model.drivers:
        refused(lambda: looked_at(kinematics(model, t_end=0.2, step=0.05), "kinematics"))
    refused(lambda: assemble(model))
    if random.random() < 0.5:
        carried_out(random, text)
    return f"run {stopped or 'finished'}"


def carried_out(random: np.random.Generator, text: str) -> None:
    """Carry out a command line in a folder of its own; AssertionError where it ends as none may."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("model.json").write_text(text, encoding="utf-8")
        line = command(random, "model.json")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.answer(line)
        said = f"linkwork {' '.join(line)}: {code}\n{out.getvalue()[-500:]}\n{err.getvalue()[-1000:]}"
        assert code in (0, 2, 3, 4), said
        assert "Traceback" not in out.getvalue() + err.getvalue(), said
        if "--json" in line:
            json.loads(out.getvalue(), parse_constant=lambda x: (_ for _ in ()).throw(AssertionError(f"{x}: {said}")))


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(campaign(trial, case))
