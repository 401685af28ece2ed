"""The elements of a folder of DAP while it is written, and texts of M-files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from linkwork.elements.bodies import Ground
from linkwork.elements.drivers import Driver
from linkwork.elements.joints import Prismatic, Revolute, Rolling, relative_angle
from linkwork.expressions.derivatives import directional
from linkwork.expressions.evaluation import evaluate, ordered, substitute
from linkwork.expressions.graph import ONE, Expr, as_expr, constant, symbol
from linkwork.formats.dap_files import ARRAYS
from linkwork.formats.mfile import COMMANDS, KEYWORDS, MAX_LINE
from linkwork.model import Model
from linkwork.units import typed

TIME = symbol("t")
FILES = ("inBodies", "inPoints", "inUvectors", "inForces", "inJoints", "inFuncts", "inAnimate", "inConst")
RESERVED = {*KEYWORDS, *COMMANDS, *ARRAYS, "pi", "t"}
CARRYING = (Revolute, Prismatic, Rolling)  # joints that may carry a body in DAP_JC
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "^", "lt": "<", "le": "<="}


class Formulas:
    """Expressions as statements of an M-file; what occurs several times, or is long, gets a name if it may."""

    def __init__(self, names: dict[Expr, str], may_name: bool = True) -> None:
        self.names, self.lines, self.count, self.may_name = names, list[str](), 0, may_name

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
            elif self.may_name and node.args and (uses.get(node, 0) > 1 or len(text) > MAX_LINE // 20):
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
            return number(node.number) if node.number >= 0.0 else f"({number(node.number)})"
        if node.op == "neg":
            return f"(-{parts[0]})"
        if node.op in SIGNS:
            return f"({parts[0]} {SIGNS[node.op]} {parts[1]})"
        return f"{node.op}({', '.join(parts)})"


class Written:
    """The files while they are written; `left_out` is what they do not hold."""

    def __init__(self, model: Model, hinges: Sequence[Any]) -> None:
        self.model, self.left_out = model, list[str]()
        self.given = {symbol(name): constant(value) for name, value in model.parameters.items()}
        others = [hinge for hinge in hinges if hinge.joint is not None and not self.carries(hinge)]
        for hinge in others:
            name = hinge.joint.name
            self.left_out.append(f"joint coordinates: DAP_JC has no joint like '{name}' that carries a body")
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
        self.law.append(f"error('this folder does not hold {plain(what)}');")

    def numbers(self, values: Iterable[Any]) -> list[float]:
        return [float(x) for x in evaluate(substitute([as_expr(x) for x in values], self.given), {})]

    def constants(self, values: Iterable[Any]) -> list[float] | None:
        """Return the values, None if they depend on time or motion."""
        found = substitute([as_expr(x) for x in values], self.given)
        return None if any(node.op == "symbol" for node in ordered(found)) else self.numbers(found)

    def add(self, file: str, name: str, **fields: Any) -> int:
        """Write an element; its index."""
        taken = {other.lower() for other, _ in self.elements[file]}
        word = re.sub(r"\W", "_", name, flags=re.ASCII)
        word = word if re.match("[A-Za-z]", word) else f"x{word}"
        while word.lower() in taken or word in RESERVED:
            word += "_"
        texts = {key: text_of(value) for key, value in fields.items()}
        self.elements[file].append((word, texts))
        return len(self.elements[file])

    def spot(self, body: Any, s: Iterable[Any], name: str = "") -> int:
        """Return the index of a point."""
        k = self.index[body.name]
        x, y = self.numbers(s)
        if (k, x, y) not in self.spots:
            name = name or f"{body.name}_{len(self.spots) + 1}"
            self.spots[k, x, y] = self.add("inPoints", name, Bindex=k, sPlocal=[x, y])
        return self.spots[k, x, y]

    def vector(self, body: Any, u: Iterable[Any]) -> int:
        name = f"U{len(self.elements['inUvectors']) + 1}"
        return self.add("inUvectors", name, Bindex=self.index[body.name], ulocal=self.numbers(u))

    def points_of(self, element: Any) -> dict[str, int]:
        """Return the points of a joint or force, turned round."""
        return {
            "iPindex": self.spot(element.body_j, element.s_j),
            "jPindex": self.spot(element.body_i, element.s_i),
        }

    def bodies_of(self, element: Any) -> dict[str, int]:
        return {"iBindex": self.index[element.body_j.name], "jBindex": self.index[element.body_i.name]}

    def start(self, body: Any) -> tuple[list[float], list[float]]:
        if isinstance(body, Ground):
            return [0.0] * 3, [0.0] * 3
        return self.numbers(body.start_q), self.numbers(body.start_v)

    def angle(self, joint: Any) -> float:
        return self.numbers([relative_angle(joint)])[0]

    def rolls(self, joint: Rolling) -> tuple[float, float] | None:
        """Return radius, and x + R phi, of a disc about a mass centre that rolls on y = 0 of the ground.

        None of another.
        """
        line, axis = self.numbers(joint.s_i), self.numbers(joint.axis)
        if not isinstance(joint.body_i, Ground) or line[1] or axis[1] or axis[0] <= 0.0 or any(self.numbers(joint.s_j)):
            return None
        (R,), (x, _, phi) = self.numbers([joint.radius]), self.start(joint.body_j)[0]
        return R, x + R * phi

    def motion(self, driver: Driver) -> list[Expr]:
        """Return f(t) and its first three derivatives."""
        found = substitute([as_expr(driver.motion.f(TIME))], self.given)
        for _ in range(3):
            found += directional(found[-1:], {TIME: ONE})
        return found

    def file(self, name: str) -> str:
        kind = {"inBodies": "Body", "inUvectors": "Unit"}.get(name, name[2:-1])
        lines = []
        for own, fields in self.elements[name]:
            lines.append(f"    {own} = {kind}_struct;")
            lines += [f"        {own}.{key} = {value};" for key, value in fields.items()]
        names = "; ".join(own for own, _ in self.elements[name])
        return "\n".join([*lines, "", f"    {name[2:]} = [{names}];", ""])


def rotated(angle: float, s: Sequence[float]) -> list[float]:
    c, n = math.cos(angle), math.sin(angle)
    return [c * s[0] - n * s[1], n * s[0] + c * s[1]]


def plain(text: str) -> str:
    """Return a text that may stand in quotes or in a comment."""
    return re.sub(r"[^ -~]|'", "_", text)


def number(x: float, size: float | None = None) -> str:
    return repr(typed(float(x), size)).removesuffix(".0")


def text_of(value: Any) -> str:
    if isinstance(value, str):
        return f"'{value}'"
    if not isinstance(value, list):
        return number(value)
    size = max(map(abs, value), default=0.0)
    return "[" + "; ".join(number(x, size) for x in value) + "]"
