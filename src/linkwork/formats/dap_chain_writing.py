"""ChainOpen and CutJoint of a folder of DAP_JC, as its user would have to write them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from linkwork.elements.bodies import Ground
from linkwork.elements.drivers import Driver
from linkwork.elements.frames import PLANAR_GROUND
from linkwork.elements.joints import Distance, PointOnLine, Prismatic, Revolute, Rigid, Rolling
from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import as_expr
from linkwork.formats.dap_elements import TIME, Formulas, Written, number, rotated


class Chain:
    """ChainOpen and CutJoint: places of bodies by joint coordinates, B and C by the arms from the joints.

    A point X of a body moves with s_rot(X - P) theta_d about a pin at P before it, with u theta_d along a slide.
    """

    def __init__(self, writing: Written) -> None:
        self.w = writing
        self.hinge = {hinge.child.name: hinge for hinge in writing.hinges}
        self.first: dict[str, int] = {}  # of a body, its first joint coordinate
        self.coordinates: dict[str, dict[str, Any]] = {}
        self.steps: list[str] = []
        # of a body, the point about which, or the vector along which, its joint moves it
        self.pins: dict[str, str] = {}
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
        """Return the statements that place a body, and its start values."""
        w, body, parent, joint = self.w, hinge.child, hinge.parent, hinge.joint
        k, first = w.index[body.name], self.first[body.name]
        (q, v), (q0, v0) = w.start(body), w.start(parent)
        if joint is None:
            self.steps.append(f"Coord_Float({k}, theta({first}:{first + 2}));")
            self.coordinates[body.name] = {"theta": q, "theta_d": v}
            return
        if isinstance(joint, Rolling):
            R, x0 = w.rolls(joint) or (0.0, 0.0)
            self.steps += [f"Bodies({k}).r = [{number(x0)} - {number(R)}*theta({first}); {number(R)}];"]
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
        base = rotated(turn, (ux / length, uy / length))
        along, across = w.vector(parent, base), w.vector(body, rotated(-p0, base))
        self.steps.append(f"Coord_Tran({before}, {along}, {own}, {across}, theta({first}));")
        frame0, frame = (self.moving(x) for x in (parent, body))
        d, axis = frame.point(s) - frame0.point(s0), frame0.direction(base)
        rate = axis.dot(frame.point_velocity(s) - frame0.point_velocity(s0)) + frame0.omega * axis.perp().dot(d)
        theta, theta_d = w.numbers((axis.dot(d), rate))
        self.coordinates[body.name] = {"theta": theta, "theta_d": theta_d, "p0": p0}
        self.pins[body.name] = f"Uvectors({along})"

    def moving(self, body: Any) -> Any:
        """Return the frame of a body at the start, with its velocity."""
        if isinstance(body, Ground):
            return PLANAR_GROUND
        q, v = self.w.start(body)
        return body.frame([as_expr(x) for x in q], [as_expr(x) for x in v])

    def columns(self, body: Any, X: str, dot: bool = False) -> list[tuple[str, int]]:
        """Return, by joint coordinate, how it moves point X of a body and whether it turns the body; or their rates."""
        d = "_d" if dot else ""
        found = [("z2", 0)] * self.count
        while not isinstance(body, Ground):
            hinge, first = self.hinge[body.name], self.first[body.name] - 1
            centre = f"Bodies({self.w.index[body.name]}).r{d}"
            arm = f"s_rot({X} - {centre})" if centre != X else "z2"
            if hinge.joint is None:
                shifts = ("z2", "z2") if dot else ("[1; 0]", "[0; 1]")
                found[first : first + 3] = [*((shift, 0) for shift in shifts), (arm, 1)]
            elif isinstance(hinge.joint, Rolling):
                shift = f"[{number(-(self.w.rolls(hinge.joint) or (0.0,))[0])}; 0]"
                found[first] = (arm if dot else f"({shift} + {arm})", 1)
            elif isinstance(hinge.joint, Revolute):
                pin = f"{self.pins[body.name]}.rP{d}"
                found[first] = (f"s_rot({X} - {pin})" if pin != X else "z2", 1)
            else:
                found[first] = (f"{self.pins[body.name]}.u{d}", 0)
            body = hinge.parent
        return found

    def difference(self, i: Any, s_i: Any, j: Any, s_j: Any) -> tuple[str, str, list[str], list[int], str]:
        """Return d = P_j - P_i, its rate, its columns, turns of j against i, and quadratic terms of its
        acceleration.
        """
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
            R, x0 = (number(x) for x in disc)
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
            L = number(w.numbers([joint.rod_length])[0])
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
            self.row(f"{self.difference_of_angles(i, j)} - {number(w.angle(joint))}", turns)

    def difference_of_angles(self, i: Any, j: Any) -> str:
        parts = [f"Bodies({self.w.index[body.name]}).p" if self.w.index[body.name] else "0" for body in (j, i)]
        return f"{parts[0]} - {parts[1]}"

    def drive(self, driver: Driver) -> None:
        joint: Any = driver.joint
        law = self.w.motion(driver)[:3]
        if any(node.op == "spline" for node in ordered(law)):
            self.w.miss(f"driver '{driver.name}'")
            return
        formulas = Formulas({TIME: "t"}, may_name=False)
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
        moved = [*self.steps]
        for letter, file in (("P", "inPoints"), ("U", "inUvectors")):
            of_bodies = [k for k, (_, own) in enumerate(self.w.elements[file], 1) if own["Bindex"] != "0"]
            moved += [f"Update_{letter}({k});" for k in of_bodies]
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

    def cut(self) -> str:
        Phi, C, rhs_v, rhs_a = zip(*self.rows, strict=True)
        lines = ["z2 = [0; 0];", f"C = [{_rows('  '.join(row) for row in C)}];"]
        for check, (name, rows) in enumerate((("Phi", Phi), ("rhsV", rhs_v), ("rhsA", rhs_a)), 1):
            lines += [f"{'if' if check == 1 else 'elseif'} check == {check}", f"    {name} = [{_rows(rows)}];"]
        return "".join(f"    {line}\n" for line in (*lines, "end"))


def _minus(a: str, b: str) -> str:
    if b == "z2":
        return a
    return f"(-{b})" if a == "z2" else f"({a} - {b})"


def _rows(rows: Iterable[str]) -> str:
    """Return rows of a matrix, one in a line; round brackets keep blanks from separating entries."""
    return "\n            ".join(" ".join(_bracketed(part) for part in row.split("  ")) for row in rows)


def _bracketed(part: str) -> str:
    return part if re.fullmatch(r"[\w.()]+|\[[^ ]* [^ ]*\]", part) and " " not in part else f"({part})"
