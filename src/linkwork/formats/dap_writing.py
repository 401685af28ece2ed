"""A planar model as a folder of DAP_BC, or of DAP_JC with the ChainOpen and CutJoint that its user would have to write.

Joints are turned round as they are when a folder is read (dap.py). Forces that DAP has no type for are written into
user_force as what they do to their bodies.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from linkwork.elements.bodies import Ground
from linkwork.elements.contact import FlatContact
from linkwork.elements.drivers import Driver
from linkwork.elements.forces import PointForce, RotationalSpringDamper, SpringDamper, Torque
from linkwork.elements.frames import PLANAR_GROUND
from linkwork.elements.joints import Distance, PointOnLine, Prismatic, Revolute, Rigid, Rolling, relative_angle
from linkwork.elements.motions import Ramp, SmoothStep
from linkwork.elements.shapes import Box, Disc, Rod
from linkwork.elements.vectors import Vector
from linkwork.errors import UsageError
from linkwork.expressions.derivatives import directional
from linkwork.expressions.evaluation import evaluate, ordered, substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, as_expr, constant, symbol
from linkwork.formats.dap import COLOURS
from linkwork.formats.mfile import COMMANDS, KEYWORDS, MAX_LINE
from linkwork.model import Model

TIME = symbol("t")
FILES = ("inBodies", "inPoints", "inUvectors", "inForces", "inJoints", "inFuncts", "inAnimate", "inConst")
RESERVED = {
    *KEYWORDS,
    *COMMANDS,
    "Bodies",
    "Points",
    "Uvectors",
    "Forces",
    "Joints",
    "Functs",
    "Points_anim",
    "pi",
    "t",
}
CARRYING = (Revolute, Prismatic, Rolling)  # joints that may carry a body in DAP_JC
CONTACTS = {"lankarani-nikravesh": 1, "flores-machado": 2}
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "^", "lt": "<", "le": "<="}


def folder_of(model: Model, hinges: Sequence[Any] = ()) -> tuple[dict[str, str], list[str]]:
    """The texts of the M-files by their names, and what they do not hold.

    `hinges` is the tree of the joints; with it the folder is one of DAP_JC.
    """
    if model.space != "planar" or model.stated is not None:
        raise UsageError("a folder of DAP holds mechanisms of planar bodies", "not-planar")
    return _Writing(model, hinges).write()


class Formulas:
    """Expressions as statements of an M-file; what occurs several times, or is long, gets a name."""

    def __init__(self, names: dict[Expr, str]) -> None:
        self.names, self.lines, self.count = names, list[str](), 0

    def write(self, outputs: Sequence[Expr]) -> list[str]:
        nodes = ordered(outputs)
        uses: dict[Expr, int] = {}
        for node in nodes:
            for argument in node.args:
                uses[argument] = uses.get(argument, 0) + 1
        for node in nodes:
            if node in self.names:
                continue
            text = self.text(node)
            if node.op == "select":
                condition, a, b = (self.names[x] for x in node.args)
                name = self.next()
                self.lines += [f"if {condition}", f"    {name} = {a};", "else", f"    {name} = {b};", "end"]
                text = name
            elif node.args and (uses.get(node, 0) > 1 or len(text) > MAX_LINE // 20):
                name = self.next()
                self.lines.append(f"{name} = {text};")
                text = name
            self.names[node] = text
        return [self.names[x] for x in outputs]

    def next(self) -> str:
        self.count += 1
        return f"w{self.count}"

    def text(self, node: Expr) -> str:
        parts = [self.names[x] for x in node.args]
        if node.op == "constant":
            return _number(node.number) if node.number >= 0.0 else f"({_number(node.number)})"
        if node.op == "neg":
            return f"(-{parts[0]})"
        if node.op in SIGNS:
            return f"({parts[0]} {SIGNS[node.op]} {parts[1]})"
        return f"{node.op}({', '.join(parts)})"


class _Writing:
    """The files while they are written; `left_out` is what they do not hold."""

    def __init__(self, model: Model, hinges: Sequence[Any]) -> None:
        self.model, self.left_out = model, list[str]()
        self.given = {symbol(name): constant(value) for name, value in model.parameters.items()}
        others = [hinge for hinge in hinges if hinge.joint is not None and not self.carries(hinge)]
        for hinge in others:
            self.left_out.append(
                f"joint coordinates: DAP_JC has no joint like '{hinge.joint.name}' that carries a body"
            )
        self.hinges = [] if others else list(hinges)
        self.bodies = [hinge.child for hinge in self.hinges] or list(model.bodies)
        index = {body.name: k for k, body in enumerate(model.bodies)}
        if all(index.get(hinge.parent.name, -1) < index[hinge.child.name] for hinge in self.hinges):
            self.bodies = list(model.bodies)  # they ascend from the ground as they are
        self.index = {model.ground.name: 0, **{body.name: k for k, body in enumerate(self.bodies, 1)}}
        self.elements: dict[str, list[tuple[str, dict[str, str]]]] = {name: [] for name in FILES}
        self.spots: dict[tuple[int, float, float], int] = {}
        self.law: list[str] = []

    def carries(self, hinge: Any) -> bool:
        if isinstance(hinge.joint, Rolling):
            return hinge.onwards and self.rolls(hinge.joint) is not None
        return isinstance(hinge.joint, CARRYING)

    def miss(self, what: str) -> None:
        """Leave out something without which the mechanism moves otherwise: user_force then stops, and says why."""
        self.left_out.append(what)
        self.law.append(f"error('this folder does not hold {_plain(what)}');")

    # Numbers, names and texts

    def numbers(self, values: Iterable[Any]) -> list[float]:
        return [float(x) for x in evaluate(substitute([as_expr(x) for x in values], self.given), {})]

    def constants(self, values: Iterable[Any]) -> list[float] | None:
        """The values, None if they depend on time or motion."""
        found = substitute([as_expr(x) for x in values], self.given)
        return None if any(node.op == "symbol" for node in ordered(found)) else self.numbers(found)

    def add(self, file: str, name: str, **fields: Any) -> int:
        """Write an element; its index."""
        taken = {other.lower() for other, _ in self.elements[file]}
        word = re.sub(r"\W", "_", name, flags=re.ASCII)
        word = word if re.match("[A-Za-z]", word) else f"x{word}"
        while word.lower() in taken or word in RESERVED:
            word += "_"
        texts = {key: _text(value) for key, value in fields.items()}
        self.elements[file].append((word, texts))
        return len(self.elements[file])

    def spot(self, body: Any, s: Iterable[Any], name: str = "") -> int:
        """The index of a point."""
        k = self.index[body.name]
        x, y = self.numbers(s)
        if (k, x, y) not in self.spots:
            self.spots[k, x, y] = self.add(
                "inPoints", name or f"{body.name}_{len(self.spots) + 1}", Bindex=k, sPlocal=[x, y]
            )
        return self.spots[k, x, y]

    def vector(self, body: Any, u: Iterable[Any]) -> int:
        return self.add(
            "inUvectors",
            f"U{len(self.elements['inUvectors']) + 1}",
            Bindex=self.index[body.name],
            ulocal=self.numbers(u),
        )

    def start(self, body: Any) -> tuple[list[float], list[float]]:
        if isinstance(body, Ground):
            return [0.0] * 3, [0.0] * 3
        return self.numbers(body.start_q), self.numbers(body.start_v)

    def write(self) -> tuple[dict[str, str], list[str]]:
        model = self.model
        for holder in (model.ground, *self.bodies):
            for name, s in holder.points.items():
                shared = sum(name in other.points for other in (model.ground, *self.bodies)) > 1
                self.spot(holder, s, f"{name}_{holder.name}" if shared else name)
        for event in model.events:
            self.miss(f"event '{event.name}'")
        for name in sorted(model.open):
            self.miss(f"that joint '{name}' is open at first")
        if self.hinges:
            chain = _ChainWriting(self)
        else:
            for joint in model.joints:
                self.joint(joint)
            for driver in model.drivers:
                self.driver(driver)
        for body in self.bodies:
            mass, inertia = self.numbers((body.mass, body.inertia))
            q, v = self.start(body)
            own: dict[str, Any] = {"m": mass, "J": inertia}
            own |= chain.coordinates[body.name] if self.hinges else {"r": q[:2], "p": q[2], "r_d": v[:2], "p_d": v[2]}
            self.add("inBodies", body.name, **own)
        self.forces()
        files = {name: self.file(name) for name in FILES if name not in ("inJoints", "inConst", "inAnimate")}
        files["inAnimate"] = self.animation()
        if self.hinges:
            files |= {"inConst": f"    nConst = {len(chain.rows)};\n", "ChainOpen": chain.open()}
            if chain.rows:
                files["CutJoint"] = chain.cut()
        else:
            files["inJoints"] = self.file("inJoints")
        if self.law:
            files["user_force"] = "".join(f"    {line}\n" for line in self.law)
        arguments = dict.fromkeys(("ChainOpen", "CutJoint"), "(check, theta, theta_d, t)")
        heads = {name: f"function {name}{arguments.get(name, '')}\n    include_global\n\n" for name in files}
        return {f"{name}.m": f"{heads[name]}{text}end\n" for name, text in files.items()}, self.left_out

    def file(self, name: str) -> str:
        kind = {"inBodies": "Body", "inUvectors": "Unit"}.get(name, name[2:-1])
        lines = []
        for own, fields in self.elements[name]:
            lines.append(f"    {own} = {kind}_struct;")
            lines += [f"        {own}.{key} = {value};" for key, value in fields.items()]
        names = "; ".join(own for own, _ in self.elements[name])
        return "\n".join([*lines, "", f"    {name[2:]} = [{names}];", ""])

    def animation(self) -> str:
        lines = ["    Points_anim = [];", ""]
        for k, body in enumerate(self.bodies, 1):
            shape, own = self.model.shapes.get(body.name), dict[str, Any]()
            if isinstance(shape, Disc) and not any(self.numbers(shape.centre)):
                own = {"shape": "circle", "R": self.numbers([shape.radius])[0]}
            elif isinstance(shape, Box) and not any(self.numbers((*shape.centre, shape.angle))):
                own = dict(zip(("shape", "W", "H"), ("rect", *self.numbers(shape.size)), strict=True))
            elif isinstance(shape, Rod) and shape.width is None:
                (a, b), (c, d) = map(self.numbers, shape.ends)
                if (a, b) == (-c, -d):
                    own = {"shape": "line", "W": c - a, "H": d - b}
            if shape is not None and not own:
                self.left_out.append(f"the shape of body '{body.name}'")
            if colour := self.model.colours.get(body.name):
                letters = {name: letter for letter, name in COLOURS.items()}
                parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)] if colour[0] == "#" else None
                own["color"] = parts or letters.get(colour, "k")
                if not parts and colour not in letters:
                    self.left_out.append(f"the colour of body '{body.name}'")
            lines += [f"    Bodies({k}).{key} = {_text(value)};" for key, value in own.items()]
        (x, y), (X, Y) = self.model.window or self.window()
        limits = zip(("xmin", "xmax", "ymin", "ymax"), self.numbers((x, X, y, Y)), strict=True)
        return "\n".join([*lines, *(f"    {name} = {_number(value)};" for name, value in limits), ""])

    def window(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """About all points at the start."""
        frames = {body.name: body.start_frame() for body in self.bodies} | {self.model.ground.name: PLANAR_GROUND}
        spots = [(0.0, 0.0)] + [
            tuple(self.numbers(frames[body.name].point(s)))
            for body in (self.model.ground, *self.bodies)
            for s in (*body.points.values(), (0.0, 0.0))
        ]
        low, high = ([of(x) for x in zip(*spots, strict=True)] for of in (min, max))
        room = 0.25 * (max(b - a for a, b in zip(low, high, strict=True)) or 1.0)
        return (low[0] - room, low[1] - room), (high[0] + room, high[1] + room)

    # Joints and drivers of DAP_BC

    def angle(self, joint: Any) -> float:
        return self.numbers([relative_angle(joint)])[0]

    def rolls(self, joint: Rolling) -> tuple[float, float] | None:
        """Radius, and x + R phi, of a disc about a mass centre that rolls on y = 0 of the ground; None of another."""
        line, axis = self.numbers(joint.s_i), self.numbers(joint.axis)
        if not isinstance(joint.body_i, Ground) or line[1] or axis[1] or axis[0] <= 0.0 or any(self.numbers(joint.s_j)):
            return None
        (R,), (x, _, phi) = self.numbers([joint.radius]), self.start(joint.body_j)[0]
        return R, x + R * phi

    def joint(self, joint: Any) -> None:
        i, j, own = joint.body_i, joint.body_j, dict[str, Any]()
        if isinstance(joint, Revolute):
            own = {"type": "rev", "iPindex": self.spot(j, joint.s_j), "jPindex": self.spot(i, joint.s_i)}
        elif isinstance(joint, Prismatic):
            axis, turn = self.numbers(joint.axis), -self.angle(joint)
            other = [
                math.cos(turn) * axis[0] - math.sin(turn) * axis[1],
                math.sin(turn) * axis[0] + math.cos(turn) * axis[1],
            ]
            own = {"type": "tran", "iPindex": self.spot(j, joint.s_j), "jPindex": self.spot(i, joint.s_i)}
            own |= {"iUindex": self.vector(j, other), "jUindex": self.vector(i, axis)}
        elif isinstance(joint, Rigid):
            own = {"type": "rigid", "iBindex": self.index[j.name], "jBindex": self.index[i.name]}
        elif isinstance(joint, Distance):
            own = {"type": "rev-rev", "iPindex": self.spot(j, joint.s_j), "jPindex": self.spot(i, joint.s_i)}
            own["L"] = self.numbers([joint.rod_length])[0]
        elif isinstance(joint, PointOnLine):
            own = {"type": "rev-tran", "iPindex": self.spot(i, joint.s_i), "jPindex": self.spot(j, joint.s_j)}
            own["iUindex"] = self.vector(i, [-x + 0.0 for x in self.numbers(joint.axis)])
        elif isinstance(joint, Rolling) and (disc := self.rolls(joint)) is not None:
            own = {"type": "disc", "iBindex": self.index[j.name], "R": disc[0], "x0": disc[1]}
        if own:
            self.add("inJoints", joint.name, **own)
        else:
            self.miss(f"joint '{joint.name}'")

    def driver(self, driver: Driver) -> None:
        function = self.function(driver)
        i, j = driver.joint.body_i, driver.joint.body_j
        if function is None or driver.freedom not in ("angle", "distance"):
            self.miss(f"driver '{driver.name}'")
        elif driver.freedom == "angle":
            own = {"iBindex": self.index[j.name], "jBindex": self.index[i.name]}
            self.add("inJoints", driver.name, type="rel-rot", **own, iFunct=function)
        else:
            joint: Any = driver.joint
            own = {"iPindex": self.spot(j, joint.s_j), "jPindex": self.spot(i, joint.s_i)}
            self.add("inJoints", driver.name, type="rel-tran", **own, iFunct=function)

    def function(self, driver: Driver) -> int | None:
        """The index of the function that a driver follows, None if it is of no type of DAP."""
        motion, name = driver.motion, f"f_{driver.name}"
        if isinstance(motion, SmoothStep):
            values = self.numbers((motion.start, motion.end, motion.t_start, motion.t_end))
            return self.add(
                "inFuncts", name, type="b", **dict(zip(("f_start", "f_end", "t_start", "t_end"), values, strict=True))
            )
        if isinstance(motion, Ramp):
            values = self.numbers((motion.start, motion.rate, motion.t_start, motion.t_end))
            keys = ("f_start", "dfdt_end", "t_start", "t_end")
            return self.add("inFuncts", name, type="c", **dict(zip(keys, values, strict=True)))
        law = self.motion(driver)
        if law[3] is not ZERO or any(node.op == "spline" for node in ordered(law[:1])):
            return None
        c = evaluate(law[:3], {TIME: 0.0})
        return self.add("inFuncts", name, type="a", coeff=[c[0], c[1], c[2] / 2.0])

    def motion(self, driver: Driver) -> list[Expr]:
        """f(t) and its first three derivatives."""
        found = substitute([as_expr(driver.motion.f(TIME))], self.given)
        for _ in range(3):
            found += directional(found[-1:], {TIME: ONE})
        return found

    # Forces

    def forces(self) -> None:
        gravity = self.numbers(self.model.gravity)
        if g := math.hypot(*gravity):
            self.add("inForces", "weight", type="weight", gravity=g, wgt=[x / g for x in gravity])
        for force in self.model.forces:
            if not self.force(force):
                self.user_force(force)
        if self.law:
            self.add("inForces", "user", type="user")

    def force(self, force: Any) -> bool:
        """Whether DAP has a type for a force, which is then written."""
        if isinstance(force, SpringDamper) and force.law is ZERO and (actuator := self.constants([force.actuator])):
            k, c, free = self.numbers((force.stiffness, force.damping, force.free_length))
            ends = {"iPindex": self.spot(force.body_j, force.s_j), "jPindex": self.spot(force.body_i, force.s_i)}
            self.add("inForces", force.name, type="ptp", **ends, k=k, L0=free, dc=c, f_a=actuator[0])
        elif (
            isinstance(force, RotationalSpringDamper)
            and force.law is ZERO
            and (actuator := self.constants([force.actuator]))
        ):
            k, c, free = self.numbers((force.stiffness, force.damping, force.free_angle))
            ends = {"iBindex": self.index[force.body_j.name], "jBindex": self.index[force.body_i.name]}
            kind = "rot_sda" if self.hinges else "rot-sda"  # as each of the programs spells it
            self.add("inForces", force.name, type=kind, **ends, k=k, theta0=free, dc=c, T_a=actuator[0])
        elif isinstance(force, Torque) and (value := self.constants([force.torque])):
            self.add("inForces", force.name, type="T", iBindex=self.index[force.body.name], T=value[0])
        elif (
            isinstance(force, PointForce) and not any(self.numbers(force.s)) and (value := self.constants(force.force))
        ):
            if force.follows and self.hinges:
                return False  # DAP_JC stops at this type
            kind = "flocal" if force.follows else "f"
            self.add("inForces", force.name, type=kind, iBindex=self.index[force.body.name], **{kind: value})
        else:
            return isinstance(force, FlatContact) and self.contact(force)
        return True

    def contact(self, force: FlatContact) -> bool:
        """Contact of a point with y = 0, with the exponent of Hertz and without friction."""
        line, normal, exponent = (
            self.numbers(force.s_i),
            self.numbers(force.normal),
            self.constants([_given(force.exponent, 1.5)]),
        )
        upright = normal[0] == 0.0 and normal[1] > 0.0 and line[1] == 0.0 and isinstance(force.body_i, Ground)
        plain = force.friction == "none" and exponent == [1.5] and self.numbers([force.radius_j]) == [0.0]
        if not (upright and plain and force.model in CONTACTS):
            return False
        (k, e), n = (
            self.numbers((force.stiffness, _given(force.restitution, 1.0))),
            sum("Contact(" in line for line in self.law) + 1,
        )
        of = f"{self.spot(force.body_j, force.s_j)}, {self.index[force.body_j.name]}"
        self.law.append(f"Contact({n}, {of}, {_number(k)}, {_number(e)}, {CONTACTS[force.model]});")
        return True

    def user_force(self, force: Any) -> None:
        """What a force does to its bodies, as statements."""
        names = self.state()
        frames = [self.frame(body) for body in force.bodies]
        Q = [substitute([as_expr(x) for x in own], self.given) for own in force.Q(*frames)]
        nodes = ordered([x for own in Q for x in own])
        if force.held or any(x.op == "spline" or (x.op == "symbol" and x not in names) for x in nodes):
            self.miss(f"force '{force.name}'")
            return
        self.law.append(f"% {_plain(force.name)}")
        formulas = Formulas(names)
        for body, own in zip(force.bodies, Q, strict=True):
            if isinstance(body, Ground) or all(x is ZERO for x in own):
                continue
            fx, fy, n = formulas.write(own)
            self.law += formulas.lines
            formulas.lines = []
            holder = f"Bodies({self.index[body.name]})"
            if own[0] is not ZERO or own[1] is not ZERO:
                self.law.append(f"{holder}.f = {holder}.f + [{fx}; {fy}];")
            if own[2] is not ZERO:
                self.law.append(f"{holder}.n = {holder}.n + {n};")

    def frame(self, body: Any) -> Any:
        if isinstance(body, Ground):
            return PLANAR_GROUND
        return body.frame([symbol(c.name) for c in body.coordinates], [symbol(c.speed) for c in body.velocities])

    def state(self) -> dict[Expr, str]:
        """What formulas of a model file name, as M-files do."""
        found = {TIME: "t"}
        for body in self.bodies:
            own = f"Bodies({self.index[body.name]})"
            keys = ("r(1)", "r(2)", "p"), ("r_d(1)", "r_d(2)", "p_d")
            for coordinates, fields in zip((body.coordinates, body.velocities), keys, strict=True):
                for c, key in zip(coordinates, fields, strict=True):
                    found[symbol(c.name if fields is keys[0] else c.speed)] = f"{own}.{key}"
            for name, s in body.points.items():
                point = f"Points({self.spot(body, s)})"
                for n, axis in enumerate("xy", 1):
                    found[symbol(f"{body.name}.{name}.{axis}")] = f"{point}.rP({n})"
                    found[symbol(f"{body.name}.{name}.v{axis}")] = f"{point}.rP_d({n})"
        return found


class _ChainWriting:
    """ChainOpen and CutJoint: places of bodies by joint coordinates, B and C by the arms from the joints.

    A point X of a body moves with s_rot(X - P) theta_d about a pin at P before it, with u theta_d along a slide.
    """

    def __init__(self, writing: _Writing) -> None:
        self.w = writing
        self.hinge = {hinge.child.name: hinge for hinge in writing.hinges}
        self.first: dict[str, int] = {}  # of a body, its first joint coordinate
        self.coordinates: dict[str, dict[str, Any]] = {}
        self.steps: list[str] = []
        self.pins: dict[
            str, str
        ] = {}  # of a body, the point about which, or the vector along which, its joint moves it
        count = 0
        for body in writing.bodies:
            self.first[body.name] = count + 1
            count += 3 if self.hinge[body.name].joint is None else 1
        self.count = count
        for body in writing.bodies:
            self.place(self.hinge[body.name])
        carried = {hinge.joint.name for hinge in writing.hinges if hinge.joint is not None}
        self.rows: list[tuple[str, list[str], str, str]] = []  # Phi, C by columns, rhsV, rhsA
        for joint in writing.model.joints:
            if joint.name not in carried:
                self.cut_joint(joint)
        for driver in writing.model.drivers:
            self.drive(driver)

    def place(self, hinge: Any) -> None:
        """The statements that place a body, and its start values."""
        w, body, parent, joint = self.w, hinge.child, hinge.parent, hinge.joint
        k, first = w.index[body.name], self.first[body.name]
        (q, v), (q0, v0) = w.start(body), w.start(parent)
        if joint is None:
            self.steps.append(f"Coord_Float({k}, theta({first}:{first + 2}));")
            self.coordinates[body.name] = {"theta": q, "theta_d": v}
            return
        if isinstance(joint, Rolling):
            R, x0 = w.rolls(joint) or (0.0, 0.0)
            self.steps += [f"Bodies({k}).r = [{_number(x0)} - {_number(R)}*theta({first}); {_number(R)}];"]
            self.steps += [f"Bodies({k}).p = theta({first});", f"Bodies({k}).A = Matrix_A(theta({first}));"]
            self.coordinates[body.name] = {"theta": q[2], "theta_d": v[2]}
            return
        ends = ((joint.body_i, joint.s_i), (joint.body_j, joint.s_j))
        (_, s0), (_, s) = ends if hinge.onwards else ends[::-1]
        before, own = w.spot(parent, s0), w.spot(body, s)
        if isinstance(joint, Revolute):
            self.steps.append(f"Coord_Rev({before}, {own}, theta({first}));")
            self.coordinates[body.name] = {"theta": q[2] - q0[2], "theta_d": v[2] - v0[2]}
            self.pins[body.name] = f"Points({own})"
            return
        p0 = w.angle(joint) * (1.0 if hinge.onwards else -1.0)
        ux, uy = w.numbers(joint.axis)
        length, turn = math.hypot(ux, uy), 0.0 if hinge.onwards else p0
        u = Vector((ux / length, uy / length))
        base = [math.cos(turn) * u[0] - math.sin(turn) * u[1], math.sin(turn) * u[0] + math.cos(turn) * u[1]]
        other = [math.cos(p0) * base[0] + math.sin(p0) * base[1], -math.sin(p0) * base[0] + math.cos(p0) * base[1]]
        along, across = w.vector(parent, base), w.vector(body, other)
        self.steps.append(f"Coord_Tran({before}, {along}, {own}, {across}, theta({first}));")
        frame0, frame = (self.moving(x) for x in (parent, body))
        d, axis = frame.point(s) - frame0.point(s0), frame0.direction(base)
        rate = axis.dot(frame.point_velocity(s) - frame0.point_velocity(s0)) + frame0.omega * axis.perp().dot(d)
        theta, theta_d = w.numbers((axis.dot(d), rate))
        self.coordinates[body.name] = {"theta": theta, "theta_d": theta_d, "p0": p0}
        self.pins[body.name] = f"Uvectors({along})"

    def moving(self, body: Any) -> Any:
        """The frame of a body at the start, with its velocity."""
        if isinstance(body, Ground):
            return PLANAR_GROUND
        q, v = self.w.start(body)
        return body.frame([as_expr(x) for x in q], [as_expr(x) for x in v])

    def columns(self, body: Any, X: str, dot: bool = False) -> list[tuple[str, int]]:
        """By joint coordinate, how it moves point X of a body and whether it turns the body; or the rates of these."""
        d = "_d" if dot else ""
        found = [("z2", 0)] * self.count
        while not isinstance(body, Ground):
            hinge, first = self.hinge[body.name], self.first[body.name] - 1
            centre = f"Bodies({self.w.index[body.name]}).r{d}"
            arm = f"s_rot({X} - {centre})" if centre != X else "z2"
            if hinge.joint is None:
                found[first : first + 3] = (
                    [("z2", 0), ("z2", 0), (arm, 1)] if dot else [("[1; 0]", 0), ("[0; 1]", 0), (arm, 1)]
                )
            elif isinstance(hinge.joint, Rolling):
                shift = f"[{_number(-(self.w.rolls(hinge.joint) or (0.0,))[0])}; 0]"
                found[first] = (arm if dot else f"({shift} + {arm})", 1)
            elif isinstance(hinge.joint, Revolute):
                pin = f"{self.pins[body.name]}.rP{d}"
                found[first] = (f"s_rot({X} - {pin})" if pin != X else "z2", 1)
            else:
                found[first] = (f"{self.pins[body.name]}.u{d}", 0)
            body = hinge.parent
        return found

    def difference(self, i: Any, s_i: Any, j: Any, s_j: Any) -> tuple[str, str, list[str], list[int], str]:
        """d = P_j - P_i, its rate, its columns, turns of j against i, and what is quadratic in its acceleration."""
        ends = [(body, f"Points({self.w.spot(body, s)}).rP") for body, s in ((j, s_j), (i, s_i))]
        (a, turns_a), (b, turns_b) = ([*zip(*self.columns(body, X), strict=True)] for body, X in ends)
        (da, _), (db, _) = ([*zip(*self.columns(body, f"{X}_d", dot=True), strict=True)] for body, X in ends)
        columns = [_minus(x, y) for x, y in zip(a, b, strict=True)]
        turns = [x - y for x, y in zip(turns_a, turns_b, strict=True)]
        rates = [_minus(x, y) for x, y in zip(da, db, strict=True)]
        quadratic = " + ".join(f"{x}*theta_d({k})" for k, x in enumerate(rates, 1) if x != "z2") or "z2"
        d = f"({ends[0][1]} - {ends[1][1]})"
        return d, d.replace(".rP", ".rP_d"), columns, turns, f"({quadratic})"

    def turns(self, body: Any) -> list[int]:
        return [turn for _, turn in self.columns(body, "z2")]

    def row(self, phi: str, C: Sequence[Any], rhs_a: str = "0", rhs_v: str = "0") -> None:
        self.rows.append((phi, [str(x) for x in C], rhs_v, rhs_a))

    def cut_joint(self, joint: Any) -> None:
        w = self.w
        i, j = joint.body_i, joint.body_j
        if isinstance(joint, Rolling) and (disc := w.rolls(joint)) is not None:
            R, x0 = (_number(x) for x in disc)
            k = w.index[j.name]
            moving = self.columns(j, f"Bodies({k}).r")
            rates = [x for x, _ in self.columns(j, f"Bodies({k}).r_d", dot=True)]
            quadratic = " + ".join(f"{x}*theta_d({n})" for n, x in enumerate(rates, 1) if x != "z2") or "z2"
            self.row(f"Bodies({k}).r(2) - {R}", [f"[0 1]*{x}" for x, _ in moving], f"-[0 1]*({quadratic})")
            C = [f"([1 0]*{x} + {R}*{turn})" for x, turn in moving]
            self.row(f"Bodies({k}).r(1) - {x0} + {R}*Bodies({k}).p", C, f"-[1 0]*({quadratic})")
            return
        if not isinstance(joint, Revolute | Prismatic | Rigid | Distance | PointOnLine):
            w.miss(f"joint '{joint.name}'")
            return
        d, d_d, columns, turns, quadratic = self.difference(i, joint.s_i, j, joint.s_j)
        if isinstance(joint, Revolute | Rigid):
            for part in ("[1 0]", "[0 1]"):
                self.row(f"{part}*{d}", [f"{part}*{x}" for x in columns], f"-{part}*{quadratic}")
        elif isinstance(joint, Distance):
            L = _number(w.numbers([joint.rod_length])[0])
            C = [f"{d}'*{x}/{L}" for x in columns]
            self.row(f"({d}'*{d}/{L} - {L})/2", C, f"-({d_d}'*{d_d} + {d}'*{quadratic})/{L}")
        else:
            ux, uy = w.numbers(joint.axis)
            u = f"Uvectors({w.vector(i, [x / math.hypot(ux, uy) for x in (ux, uy)])}).u"
            omega = f"Bodies({w.index[i.name]}).p_d" if w.index[i.name] else "0"
            C = [
                " - ".join([f"s_rot({u})'*{x}" if x != "z2" else "0", *([f"{u}'*{d}"] if turn else [])])
                for x, turn in zip(columns, self.turns(i), strict=True)
            ]
            quadratic = f"2*s_rot({u}_d)'*{d_d} - {omega}^2*s_rot({u})'*{d} + s_rot({u})'*{quadratic}"
            self.row(f"s_rot({u})'*{d}", C, f"-({quadratic})")
        if isinstance(joint, Prismatic | Rigid):
            self.row(f"{self.difference_of_angles(i, j)} - {_number(w.angle(joint))}", turns)

    def difference_of_angles(self, i: Any, j: Any) -> str:
        parts = [f"Bodies({self.w.index[body.name]}).p" if self.w.index[body.name] else "0" for body in (j, i)]
        return f"{parts[0]} - {parts[1]}"

    def drive(self, driver: Driver) -> None:
        joint: Any = driver.joint
        law = self.w.motion(driver)[:3]
        if any(node.op == "spline" for node in ordered(law)):
            self.w.miss(f"driver '{driver.name}'")
            return
        formulas = Formulas({TIME: "t"})
        f, f_d, f_dd = formulas.write(law)
        if formulas.lines:  # it switches
            self.w.miss(f"driver '{driver.name}': its motion is not a single formula")
            return
        owner = next((h for h in self.w.hinges if h.joint is not None and h.joint.name == joint.name), None)
        is_own = owner is not None and isinstance(owner.joint, Revolute | Prismatic)
        if is_own and owner is not None and owner.onwards:
            k = self.first[owner.child.name]
            self.row(f"theta({k}) - {f}", [int(n == k) for n in range(1, self.count + 1)], f_dd, f_d)
        elif driver.freedom == "angle":
            i, j = joint.body_i, joint.body_j
            C = [a - b for a, b in zip(self.turns(j), self.turns(i), strict=True)]
            self.row(f"{self.difference_of_angles(i, j)} - {f}", C, f_dd, f_d)
        else:
            self.w.miss(f"driver '{driver.name}'")

    def open(self) -> str:
        moved = [
            *self.steps,
            *(f"Update_P({k});" for k in range(1, len(self.w.elements["inPoints"]) + 1) if self.on_body("inPoints", k)),
        ]
        moved += [
            f"Update_U({k});" for k in range(1, len(self.w.elements["inUvectors"]) + 1) if self.on_body("inUvectors", k)
        ]
        B, rates_of = list[str](), list[str]()
        for body in self.w.bodies:
            centre = f"Bodies({self.w.index[body.name]}).r"
            columns = self.columns(body, centre)
            rates = self.columns(body, f"{centre}_d", dot=True)
            B += ["  ".join(x for x, _ in columns), "  ".join(str(turn) for _, turn in columns)]
            sums = " + ".join(f"{x}*theta_d({k})" for k, (x, _) in enumerate(rates, 1) if x != "z2")
            rates_of += [sums or "z2", "0"]
        lines = ["if check <= 2", *(f"    {x}" for x in moved), "end", "z2 = [0; 0];", "if check == 2"]
        lines += [f"    Bmat = [{_rows(B)}];", "elseif check == 3", f"    Bd = [{_rows(rates_of)}];", "end"]
        return "".join(f"    {line}\n" for line in lines)

    def on_body(self, file: str, k: int) -> bool:
        return self.w.elements[file][k - 1][1]["Bindex"] != "0"

    def cut(self) -> str:
        Phi, C, rhs_v, rhs_a = zip(*self.rows, strict=True)
        lines = [
            "z2 = [0; 0];",
            f"C = [{_rows('  '.join(row) for row in C)}];",
            "if check == 1",
            f"    Phi = [{_rows(Phi)}];",
        ]
        lines += [
            "elseif check == 2",
            f"    rhsV = [{_rows(rhs_v)}];",
            "elseif check == 3",
            f"    rhsA = [{_rows(rhs_a)}];",
            "end",
        ]
        return "".join(f"    {line}\n" for line in lines)


def _given(value: Any, usual: float) -> Any:
    return usual if value is None else value


def _plain(text: str) -> str:
    """A text that may stand in quotes or in a comment."""
    return re.sub(r"[^ -~]|'", "_", text)


def _minus(a: str, b: str) -> str:
    if b == "z2":
        return a
    return f"(-{b})" if a == "z2" else f"({a} - {b})"


def _rows(rows: Iterable[str]) -> str:
    """Rows of a matrix, one in a line; round brackets keep blanks from separating entries."""
    return "\n            ".join(" ".join(_bracketed(part) for part in row.split("  ")) for row in rows)


def _bracketed(part: str) -> str:
    return part if re.fullmatch(r"[\w.()]+|\[[^ ]* [^ ]*\]", part) and " " not in part else f"({part})"


def _number(x: float) -> str:
    return repr(float(x)).removesuffix(".0")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return f"'{value}'"
    return "[" + "; ".join(map(_number, value)) + "]" if isinstance(value, list) else _number(value)
