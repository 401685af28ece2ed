"""The formulas of a model of DAP_JC: the tree of joints in ChainOpen, cut joints and drivers in Phi of CutJoint.

Both files are followed with the joint coordinates theta as symbols. Calls of Coord_* name the joints of the tree; where
a body is placed by formulas of its own, its joint is the one that holds wherever the coordinates are. Rows of Phi are
recognized by their values at random places of all bodies, so that it does not matter how they are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from linkwork.arrays import Array
from linkwork.errors import ModelError
from linkwork.expressions.derivatives import directional, jacobian
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic, ordered, substitute
from linkwork.expressions.graph import ZERO, Expr, as_expr, symbol
from linkwork.formats.dap_files import SAMPLES, SEED, Element, Folder, Pose, Spot, turned
from linkwork.formats.mcode import (
    Code,
    Matrix,
    Structure,
    Value,
    matrix,
    number,
    rotate,
    rotation,
    scalar,
    structures_of,
)
from linkwork.formats.mfile import Assign, Function, If, Statement, called, calls_in
from linkwork.tolerances import AGREEMENT
from linkwork.writing.printers import text

TIME = symbol("t")
SETTLE = "write these constraints as joints of the model file"


@dataclass(frozen=True)
class Link:
    """A joint as an entry of a model file, its points still as spots; `alike` are the vectors that stay parallel."""

    name: str
    file: str
    line: int
    entry: dict[str, Any]
    alike: tuple[Element, Element] | None = None


@dataclass(frozen=True)
class Drive:
    """A driver: which joint of the tree by the body it places, or the bodies whose angle is driven, and its law."""

    name: str
    file: str
    line: int
    law: str
    owner: int = 0
    bodies: tuple[int, int] | None = None


@dataclass
class Chain:
    """Joint coordinates, where they put the bodies, the joints of the tree, and the constraints in Phi."""

    theta: list[Expr]
    theta_d: list[Expr]
    owners: list[int]  # of each joint coordinate, the body that it places
    given: tuple[Array, Array]
    poses: list[Pose]
    links: list[Link]
    Phi: list[Expr] = field(default_factory=list)
    cuts: list[Link] = field(default_factory=list)
    drives: list[Drive] = field(default_factory=list)
    errors: list[ModelError] = field(default_factory=list)
    # Of Phi, by their numbers: those of our joints and drivers, with a minus sign where they count the other way.
    rows: dict[int, str] = field(default_factory=dict)

    def at(self, folder: Folder) -> dict[Expr, Expr]:
        """Return coordinates and velocities of the bodies by those of the joints."""
        q = [as_expr(x) for pose in self.poses for x in pose]
        v = directional(q, dict(zip(self.theta, self.theta_d, strict=True)))
        return dict(zip((*folder.q, *folder.v), (*q, *v), strict=True))


def read_chain(folder: Folder) -> Chain:
    chain = _read_open(folder)
    _read_cuts(folder, chain)
    return chain


def bound(functions: Sequence[Function], values: Sequence[Value]) -> tuple[dict[str, Value], tuple[Statement, ...]]:
    """Return the arguments of the first function by the names that it gives them, and its body."""
    usual = ("check", "theta", "theta_d", "t")
    function = functions[0]
    names = function.inputs if len(function.inputs) == len(values) else usual
    return dict(zip(names, values, strict=True)), function.body


# The tree


def _sizes(folder: Folder, body: Sequence[Statement]) -> list[int]:
    """Return how many joint coordinates each body has: as many as it is given, three where it floats, else one."""
    floating = {
        int(node.parts[1].parts[0])
        for node, _ in calls_in(body)
        if called(node) == "Coord_Float" and len(node.parts) > 1 and node.parts[1].kind == "number"
    }
    return [len(own.entries("theta", (0.0,) * (3 if k in floating else 1))) for k, own in enumerate(folder.bodies, 1)]


class _Tree:
    """Follows ChainOpen: the functions of DAP_JC that place bodies, and the joints that they name."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self.file = folder, folder.file("ChainOpen")
        self.links: dict[int, Link] = {}
        self.functions = {
            **{"Coord_Rev": self.revolute, "Coord_Tran": self.slide, "Coord_Float": self.floating},
            **dict.fromkeys(("Update_P", "Update_U"), lambda *_: None),
        }

    def chosen(self, code: Code, elements: Sequence[Element], index: Value, what: str) -> Element:
        k = number(index)
        if not (k.is_integer() and 1 <= k <= len(elements)):
            rule = f"{what}s are counted from 1 to {len(elements)}"
            raise code.error(f"no {what} {k:g}", "no-such-index", code.line, rule=rule)
        return elements[int(k) - 1]

    def base(self, code: Code, body: int) -> tuple[Matrix, Any]:
        """Return r and phi of a body that has been placed, or of the ground."""
        if not body:
            return matrix(0.0, 0.0), 0.0
        own = structures_of(code.names["Bodies"])[body - 1].fields
        r, phi = own.get("r"), own.get("p")
        if not isinstance(r, np.ndarray) or not isinstance(phi, np.ndarray):
            message = f"body {body} carries others before it is placed itself"
            raise code.error(message, "m-file-code", code.line, rule="bodies are placed from the ground on")
        return r, scalar(phi)

    def held(self, code: Code, body: int, spot: Spot, place: Matrix, phi: Any) -> None:
        """Put a body where its point is at this place."""
        r = place - matrix(*turned(phi, spot.s))
        bodies = structures_of(code.names["Bodies"])
        own = bodies[body - 1]
        for key, value in {"r": r, "p": matrix(phi), "A": rotation(matrix(phi))}.items():
            own = own.having(key, value, self.file, code.line)
        code.names["Bodies"] = (*bodies[: body - 1], own, *bodies[body:])

    def ends(self, code: Code, before: Value, own: Value) -> tuple[Spot, Spot]:
        i, j = (self.folder.spot(self.chosen(code, self.folder.points, x, "point")) for x in (before, own))
        if i.body == j.body or not j.body:
            message = f"the points '{i.name}' and '{j.name}' do not join two bodies, the second of them moving"
            raise code.error(message, "same-body", code.line)
        return i, j

    def link(self, code: Code, body: int, **entry: Any) -> None:
        self.links[body] = Link(f"J{body}", self.file, code.line, entry)

    def revolute(self, code: Code, values: list[Value]) -> None:
        before, own, theta = values
        i, j = self.ends(code, before, own)
        r, phi = self.base(code, i.body)
        self.held(code, j.body, j, r + matrix(*turned(phi, i.s)), phi + scalar(theta))
        self.link(code, j.body, type="revolute", i=i, j=j)

    def slide(self, code: Code, values: list[Value]) -> None:
        before, along, own, _, theta = values
        i, j = self.ends(code, before, own)
        vector = self.chosen(code, self.folder.vectors, along, "unit vector")
        if self.folder.body_of(vector) != i.body:
            raise code.error(f"'{vector.name}' and '{i.name}' belong to different bodies", "no-such-index", code.line)
        axis = vector.axis()
        r, phi = self.base(code, i.body)
        p0 = self.folder.bodies[j.body - 1].number("p0")
        u, place = matrix(*turned(phi, axis)), r + matrix(*turned(phi, i.s))
        self.held(code, j.body, j, place + u * scalar(theta), phi + p0)
        self.link(code, j.body, type="prismatic", i=i, j=j, axis=axis, angle=p0)

    def floating(self, code: Code, values: list[Value]) -> None:
        body = self.folder.bodies.index(self.chosen(code, self.folder.bodies, values[0], "body")) + 1
        theta = values[1]
        if not isinstance(theta, np.ndarray) or theta.size != 3:
            raise code.error("a floating body has three joint coordinates", "wrong-shape", code.line)
        x, y, phi = theta.flat
        self.held(code, body, Spot(body, (0.0, 0.0)), matrix(x, y), phi)
        self.links.pop(body, None)

    def missing(self, code: Code, array: str, index: int, key: str) -> Value | None:
        """Return fields of points and vectors, from the places of their bodies as they are by then."""
        if array == "Bodies" and key == "A":
            return rotation(matrix(self.base(code, index)[1]))
        elements = {"Points": self.folder.points, "Uvectors": self.folder.vectors}.get(array)
        if elements is None or key not in ("rP", "sP", "sP_r", "u", "u_r"):
            return None
        element = elements[index - 1]
        local = element.numbers("sPlocal", 2) if array == "Points" else element.axis()
        r, phi = self.base(code, self.folder.body_of(element))
        s = matrix(*turned(phi, local))
        return {"rP": lambda: r + s, "sP": lambda: s, "u": lambda: s}.get(key, lambda: rotate(s))()


def _read_open(folder: Folder) -> Chain:
    functions, tree = folder.functions("ChainOpen"), _Tree(folder)
    if not functions:
        raise ModelError("ChainOpen is empty", "m-file-syntax", file=tree.file, line=1)
    sizes = _sizes(folder, functions[0].body)
    theta, theta_d = ([symbol(f"{name}({k + 1})") for k in range(sum(sizes))] for name in ("theta", "theta_d"))
    arguments, body = bound(functions, [matrix(1.0), matrix(*theta), matrix(*theta_d), matrix(TIME)])
    bare = {
        array: tuple(
            Structure(x.name, x.structure.line, {k: v for k, v in x.structure.fields.items() if k not in ("r", "p")})
            for x in elements
        )
        for array, elements in (("Bodies", folder.bodies), ("Points", folder.points), ("Uvectors", folder.vectors))
    }
    state = {name: x for name, x in folder.state().items() if name not in bare}
    points = tuple(_columns(x) for x in bare["Points"])
    names: dict[str, Value] = {**state, **bare, "Points": points, **arguments}
    code = Code(tree.file, names, {**folder.helpers("ChainOpen"), **tree.functions}, tree.missing)
    code.follow(body)
    poses: list[Pose] = []
    for k in range(1, len(folder.names)):
        try:
            r, phi = tree.base(code, k)
            poses.append((*r.flat, phi))
        except ModelError:
            if code.errors:
                raise ModelError.together(code.errors) from None
            message = f"ChainOpen does not place body '{folder.names[k]}'"
            raise ModelError(message, "m-file-code", file=tree.file, line=functions[0].line) from None
    given = np.array([x for own, n in zip(folder.bodies, sizes, strict=True) for x in own.entries("theta", (0.0,) * n)])
    rates = [own.entries("theta_d", (0.0,) * n) for own, n in zip(folder.bodies, sizes, strict=True)]
    # As in DAP_JC, rates of another number than the coordinates are none.
    v = np.array([x for own, n in zip(rates, sizes, strict=True) for x in (own if len(own) == n else [0.0] * n)])
    owners = [k for k, n in enumerate(sizes, 1) for _ in range(n)]
    chain = Chain(theta, theta_d, owners, (given, v), poses, [], errors=code.errors)
    places = [own.lines.get("r", ("", functions[0].line))[1] for own in structures_of(code.names["Bodies"])]
    _recognize_tree(folder, chain, tree, places)
    chain.links = [tree.links[k] for k in sorted(tree.links)]
    return chain


def _columns(x: Structure) -> Structure:
    fields = {k: matrix(*v.flat) if isinstance(v, np.ndarray) and v.size == 2 else v for k, v in x.fields.items()}
    return Structure(x.name, x.line, fields, x.lines)


def _recognize_tree(folder: Folder, chain: Chain, tree: _Tree, lines: Sequence[int]) -> None:
    """Return the joints of bodies that formulas in these lines place: what holds at random joint coordinates."""
    random = np.random.default_rng(SEED)
    values = {x: random.uniform(-1.0, 1.0, SAMPLES) for x in (*chain.theta, TIME)}
    flat = [as_expr(x) for pose in chain.poses for x in pose]
    found = [np.broadcast_to(x, SAMPLES) for x in evaluate(flat, values, numpy_arithmetic())]
    frames = [(np.zeros(SAMPLES),) * 3, *zip(found[::3], found[1::3], found[2::3], strict=True)]

    def place(spot: Spot) -> tuple[Array, Array]:
        x, y, phi = frames[spot.body]
        c, s = np.cos(phi), np.sin(phi)
        return x + c * spot.s[0] - s * spot.s[1], y + s * spot.s[0] + c * spot.s[1]

    for k in range(1, len(frames)):
        if k in tree.links or _floats(chain, k):
            continue
        x, y, phi = frames[k]
        line = lines[k - 1]
        R = float(y[0])
        if np.ptp(y) <= AGREEMENT and R > 0.0 and np.ptp(x + R * phi) <= AGREEMENT:
            entry = {"type": "rolling", "i": Spot(0, (0.0, 0.0)), "j": Spot(k, (0.0, 0.0)), "axis": [1, 0], "radius": R}
            tree.links[k] = Link(f"J{k}", tree.file, line, entry)
            continue
        spots = [folder.spot(point) for point in folder.points]
        own = [*(spot for spot in spots if spot.body == k), Spot(k, (0.0, 0.0))]
        others = [spot for spot in spots if spot.body < k]
        pins = [
            (i, j)
            for j in own
            for i in others
            if all(np.max(np.abs(a - b)) <= AGREEMENT for a, b in zip(place(i), place(j), strict=True))
            and np.ptp(phi - frames[i.body][2]) > AGREEMENT
        ]
        slides = [
            (vector, i, j)
            for vector in folder.vectors
            if (base := folder.body_of(vector)) < k and np.ptp(phi - frames[base][2]) <= AGREEMENT
            for i in others
            if i.body == base
            for j in own
            if np.max(np.abs(_beside(frames[base][2], vector, place(i), place(j)))) <= AGREEMENT
        ]
        if pins:
            i, j = pins[0]
            tree.links[k] = Link(f"J{k}", tree.file, line, {"type": "revolute", "i": i, "j": j})
        elif slides:
            vector, i, j = slides[0]
            angle = float((phi - frames[i.body][2])[0])
            entry = {"type": "prismatic", "i": i, "j": j, "axis": vector.axis(), "angle": angle}
            tree.links[k] = Link(f"J{k}", tree.file, line, entry)
        else:
            message = f"what joint places body '{folder.names[k]}' is not understood from its formulas in ChainOpen"
            hint = "place it with Coord_Rev, Coord_Tran or Coord_Float, or " + SETTLE
            chain.errors.append(ModelError(message, "m-file-code", file=tree.file, line=line, suggestion=hint))


def _floats(chain: Chain, body: int) -> bool:
    """Tell whether the coordinates of a body are three joint coordinates themselves."""
    pose = chain.poses[body - 1]
    return len({*pose}) == 3 and all(x in chain.theta for x in pose)


def _beside(phi: Array, vector: Element, P: tuple[Array, Array], Q: tuple[Array, Array]) -> Array:
    """Return n . (Q - P), n being the normal of a vector that turns by phi."""
    a, b = vector.axis()
    u = np.cos(phi) * a - np.sin(phi) * b, np.sin(phi) * a + np.cos(phi) * b
    return np.asarray(u[0] * (Q[1] - P[1]) - u[1] * (Q[0] - P[0]))


# Cut joints and drivers


@dataclass(frozen=True)
class Row:
    """A row of Phi: its kind, sign, what it is between, and a number (offset, length, angle, radius)."""

    kind: str
    sign: float
    ends: tuple[Any, Any]
    value: float = 0.0
    vectors: tuple[Element, ...] = ()


def _read_cuts(folder: Folder, chain: Chain) -> None:
    stated = folder.variables.get("nConst")
    wanted = number(stated) if isinstance(stated, np.ndarray) and stated.size == 1 else None
    if "cutjoint" not in folder.m_files:
        if wanted:
            folder.need("CutJoint")
        return
    file, functions = folder.file("CutJoint"), folder.functions("CutJoint")
    if wanted == 0.0 or not functions:
        return
    theta = [matrix(1.0), matrix(*chain.theta), matrix(*chain.theta_d), matrix(TIME)]
    arguments, body = bound(functions, theta)
    code = Code(file, {**folder.state(), **arguments}, folder.helpers("CutJoint"))
    code.follow(body)
    Phi = code.names.get("Phi")
    if not isinstance(Phi, np.ndarray):
        reasons = [error for error in code.errors if Phi is None or error is getattr(Phi, "error", None)]
        message, hint = "Phi is not assigned where check is 1", SETTLE
        chain.errors += reasons or [ModelError(message, "cut-joint", file=file, line=1, suggestion=hint)]
        return
    line = next((s.line for s in _assignments(body) if called(s.target) == "Phi"), functions[0].line)
    rows = [as_expr(x) for x in Phi.flat]
    if wanted is not None and len(rows) != wanted:
        message = f"nConst = {wanted:g}, but Phi has {len(rows)} rows"
        chain.errors.append(ModelError(message, "cut-joint", file=file, line=line))
    chain.Phi = substitute(substitute(rows, folder.expansion), chain.at(folder))
    _Cuts(folder, chain, file, line).join([(k, row) for k, row in enumerate(rows, 1)])


def _assignments(body: Sequence[Statement]) -> Iterator[Assign]:
    for statement in body:
        if isinstance(statement, If):
            for _, inner in statement.branches:
                yield from _assignments(inner)
        elif isinstance(statement, Assign):
            yield statement


# Rows of Phi by their kind, as joints of two rows call them.
ROWS = {
    "revolute": {f"{kind} {part}": part for kind in ("pin", "fixed") for part in "xy"},
    "prismatic": {"parallel": "angle", "angle": "angle", "slot": "normal", "fixed x": "normal", "fixed y": "normal"},
    "rolling": {"fixed y": "normal", "roll": "rolling"},
}


class _Cuts:
    """Joints and drivers from rows of Phi."""

    def __init__(self, folder: Folder, chain: Chain, file: str, line: int) -> None:
        self.folder, self.chain, self.file, self.line = folder, chain, file, line
        self.values = folder.sampled(*chain.theta, *chain.theta_d, TIME)

    def sample(self, *expressions: Any) -> list[Array]:
        found = evaluate([as_expr(x) for x in expressions], self.values, numpy_arithmetic())
        return [np.broadcast_to(np.asarray(x, dtype=float), (SAMPLES,)) for x in found]

    def fit(self, row: Expr, *features: Any) -> list[float] | None:
        """Return factors of the features, and the constant, of which the row is the sum; None if it is not."""
        target, *columns = self.sample(row, *features)
        A = np.column_stack([*columns, np.ones(SAMPLES)])
        factors = np.linalg.lstsq(A, target, rcond=None)[0]
        fits = np.max(np.abs(A @ factors - target)) <= AGREEMENT * np.max(np.abs(target))
        return [float(x) if abs(x) > AGREEMENT * np.max(np.abs(factors)) else 0.0 for x in factors] if fits else None

    def join(self, rows: list[tuple[int, Expr]]) -> None:
        """Return the joints of the rows in their order; what is left over is reported."""
        understood = [(k, self.row(row, k)) for k, row in rows]
        left = [(k, row) for k, row in understood if row is not None]
        for k, row in understood:
            if row is None and not any(drive.name == f"D{k}" for drive in self.chain.drives):
                self.refuse(k)
        while left:
            k, row = left.pop(0)
            partner = next((other for other in left if self.pair(row, other[1]) is not None), None)
            entry = self.pair(row, partner[1]) if partner is not None else self.alone(row)
            if partner is not None:
                left.remove(partner)
            if entry is None:
                self.refuse(k)
                continue
            name = f"C{len(self.chain.cuts) + 1}"
            alike = next((r.vectors for r in (row, partner[1] if partner else row) if r.kind == "parallel"), None)
            self.chain.cuts.append(Link(name, self.file, self.line, entry, alike))  # type: ignore[arg-type]
            for own, part in ((k, row), *([partner] if partner is not None else ())):
                of = ROWS.get(entry["type"], {}).get(part.kind)
                minus = "-" * (self.side(part, entry) < 0.0)
                self.chain.rows[own] = minus + (f"{name}.{of}" if of else name)

    def refuse(self, k: int) -> None:
        message = f"row {k} of Phi is not a cut pin, slide, slot, rod or disc, nor a driver of a joint coordinate"
        error = ModelError(message, "cut-joint", file=self.file, line=self.line, suggestion=SETTLE)
        self.chain.errors.append(error)

    def side(self, row: Row, entry: dict[str, Any]) -> float:
        """Tell by its sign whether a row of Phi is that of the joint or its negative."""
        j = entry["j"].body if isinstance(entry["j"], Spot) else entry["j"]
        if row.kind == "angle":  # phi_j - phi_i there
            return row.sign if row.ends[0] == j else -row.sign
        if row.kind == "parallel":  # a sin(beta - alpha), of two directions that are parallel at the start
            start = dict(zip(self.chain.theta, self.chain.given[0].tolist(), strict=True)) | {TIME: 0.0}
            phi = [self.chain.poses[body - 1][2] if body else ZERO for body in row.ends]
            u, v = (complex(*vector.axis()) for vector in row.vectors)
            alpha, beta = evaluate([as_expr(x) for x in phi], start)
            cosine = float((v / u * np.exp(1j * (beta - alpha))).real)
            return row.sign * cosine * (1.0 if row.ends[1] == j else -1.0)
        if row.kind.startswith("pin"):  # P_j - P_i
            return row.sign if row.ends[0] == entry["j"] else -row.sign
        is_free = entry["type"] in ("rolling", "revolute", "distance")  # else the sign of the axis makes it the row
        return row.sign if is_free else 1.0

    def row(self, row: Expr, k: int) -> Row | None:
        names = {str(node.value) for node in ordered([row]) if node.op == "symbol"}
        of_theta = [x for x in self.chain.theta if str(x.value) in names]
        if of_theta or "t" in names:
            self.drive(row, of_theta, names, k)
            return None
        q = [x for x in (*self.folder.q, *self.folder.expansion) if str(x.value) in names]
        slopes = jacobian([row], q)
        if all(slope.is_constant for slope in slopes.values()):
            (constant,) = evaluate([row], dict.fromkeys(q, 0.0))
            found = self.linear({str(q[j].value): slope.number for (_, j), slope in slopes.items()}, constant)
            if found is not None:
                return found
        return self.curved(row, names)

    def drive(self, row: Expr, theta: list[Expr], names: set[str], k: int) -> None:
        """Return a (theta(k) - f(t)), or a (phi_i - phi_j - f(t))."""
        angles = [b for b in range(1, len(self.folder.names)) if f"{self.folder.names[b]}.phi" in names]
        own = theta or [self.folder.symbols(b)[0][2] for b in angles]
        if names - {"t"} != {str(x.value) for x in own} or not 1 <= len(own) <= 2 or (theta and len(own) != 1):
            return
        slopes = jacobian([row], own)
        if len(slopes) != len(own) or not all(slope.is_constant for slope in slopes.values()):
            return
        factors = [slopes[0, k].number for k in range(len(own))]
        if len(own) == 2 and factors[0] != -factors[1]:
            return
        a = max(factors)  # of the angle that is driven against the other
        (rest,) = substitute([row], dict.fromkeys(own, ZERO))
        law = text(-rest / a)
        self.chain.rows[k] = "-" * (a < 0.0) + f"D{k}"
        if theta:
            self.drive_joint(theta[0], law, k)
            return
        driven = factors.index(a)
        bodies = (angles[1 - driven] if len(angles) > 1 else 0, angles[driven])
        self.chain.drives.append(Drive(f"D{k}", self.file, self.line, law, bodies=bodies))

    def drive_joint(self, theta: Expr, law: str, k: int) -> None:
        """Return a driver of a joint coordinate: of the angle of a body, or of its joint."""
        turned = next((b for b, pose in enumerate(self.chain.poses, 1) if pose[2] is theta), 0)
        owner = self.chain.owners[self.chain.theta.index(theta)]
        link = next((link for link in self.chain.links if link.name == f"J{owner}"), None)
        if link is not None and (not turned or (link.entry["type"] == "revolute" and not link.entry["i"].body)):
            self.chain.drives.append(Drive(f"D{k}", self.file, self.line, law, owner))
        elif turned:
            self.chain.drives.append(Drive(f"D{k}", self.file, self.line, law, bodies=(0, turned)))

    def spots(self) -> dict[str, Spot]:
        """Return points and mass centres that move, by the names of their coordinates without x and y."""
        centres = {name: Spot(k, (0.0, 0.0)) for k, name in enumerate(self.folder.names) if k}
        points = [self.folder.spot(point) for point in self.folder.points]
        return {**centres, **{f"{self.folder.names[s.body]}.{s.name}": s for s in points if s.body}}

    def linear(self, slopes: dict[str, float], constant: float) -> Row | None:
        """Return a row of coordinates with constant factors."""
        parts = [(name.rpartition(".")[0], name.rpartition(".")[2], a) for name, a in slopes.items()]
        kinds, spots = sorted(kind for _, kind, _ in parts), self.spots()
        if not parts:
            return None
        (owner, kind, a), *more = parts
        if kinds in (["x"], ["y"]):
            return Row(f"fixed {kind}", a, (spots[owner], None), -constant / a)
        if kinds in (["x", "x"], ["y", "y"]) and more[0][2] == -a and abs(constant) <= AGREEMENT:
            return Row(f"pin {kind}", a, (spots[owner], spots[more[0][0]]))
        bodies = [self.folder.names.index(name) if name in self.folder.names else 0 for name, _, _ in parts]
        if kinds in (["phi"], ["phi", "phi"]) and (not more or more[0][2] == -a):
            return Row("angle", a, (bodies[0], bodies[1] if more else 0), -constant / a)
        if kinds == ["phi", "x"] and owner == more[0][0] and owner in self.folder.names:
            by = {kind: a for _, kind, a in parts}
            return Row("roll", by["x"], (bodies[0], 0), by["phi"] / by["x"])
        return None

    def curved(self, row: Expr, names: set[str]) -> Row | None:
        """Return a slot n . (P - Q), parallel vectors n . v, or a rod of a length."""
        known = self.spots()
        moving = [spot for name, spot in known.items() if f"{name}.x" in names or f"{name}.y" in names]
        fixed = [spot for point in self.folder.points if not (spot := self.folder.spot(point)).body]
        pairs = [(P, Q) for P, Q in combinations([*moving, *fixed], 2) if P.body != Q.body]
        vectors = [(vector, self.normal(vector)) for vector in self.folder.vectors]
        for P, Q in pairs:
            d = [a - b for a, b in zip(self.folder.place(P), self.folder.place(Q), strict=True)]
            for vector, (n, _) in vectors:
                if self.folder.body_of(vector) not in (P.body, Q.body):
                    continue
                if found := self.fit(row, n[0] * d[0] + n[1] * d[1]):
                    return Row("slot", found[0], (P, Q), -found[1] / found[0], (vector,))
            square = d[0] * d[0] + d[1] * d[1]
            if (found := self.fit(row, square)) and found[1] / found[0] < 0.0:
                return Row("rod", found[0], (P, Q), float(np.sqrt(-found[1] / found[0])))
            if (found := self.fit(row, as_expr(square) ** 0.5)) and found[1] / found[0] < 0.0:
                return Row("rod", found[0], (P, Q), -found[1] / found[0])
        for (a, (n, _)), (b, (_, u)) in combinations(vectors, 2):
            if self.folder.body_of(a) == self.folder.body_of(b):
                continue
            found = self.fit(row, n[0] * u[0] + n[1] * u[1])
            if found and found[1] == 0.0:
                return Row("parallel", found[0], (self.folder.body_of(a), self.folder.body_of(b)), 0.0, (a, b))
        return None

    def normal(self, vector: Element) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Return n and u of a unit vector, by the angle of its body."""
        axis, body = vector.axis(), self.folder.body_of(vector)
        x, y = turned(self.folder.symbols(body)[0][2], axis) if body else axis
        return (-y, x), (x, y)

    def pair(self, first: Row, second: Row) -> dict[str, Any] | None:
        """Return the joint of two rows."""
        rows = {row.kind: row for row in (first, second)}
        kinds = sorted(rows)
        if kinds == ["pin x", "pin y"]:
            P, Q = first.ends
            if {*second.ends} != {P, Q} or abs(first.sign) != abs(second.sign):
                return None
            i, j = (Q, P) if first.sign > 0.0 else (P, Q)
            return {"type": "revolute", "i": i, "j": j}
        if kinds == ["fixed x", "fixed y"] and first.ends == second.ends:
            place = rows["fixed x"].value, rows["fixed y"].value
            return {"type": "revolute", "i": Spot(0, place, "cut"), "j": first.ends[0]}
        if kinds == ["fixed y", "roll"]:
            centre, R = rows["fixed y"].ends[0], rows["roll"].value
            if centre != Spot(rows["roll"].ends[0], (0.0, 0.0)) or abs(rows["fixed y"].value - R) > AGREEMENT:
                return None
            return {"type": "rolling", "i": Spot(0, (0.0, 0.0)), "j": centre, "axis": [1, 0], "radius": R}
        other = rows.get("parallel") or rows.get("angle")
        along = next((row for row in (first, second) if row.kind in ("slot", "fixed x", "fixed y")), None)
        if other is None or along is None or (along.kind == "slot" and along.value):
            return None
        slot = self.slot(along)
        if {*other.ends} != {slot["i"].body, slot["j"].body}:
            return None
        if other.kind == "angle":
            slot["angle"] = other.value * (1.0 if other.ends[0] == slot["j"].body else -1.0)
        return {"type": "prismatic", **slot}

    def alone(self, row: Row) -> dict[str, Any] | None:
        if row.kind in ("slot", "fixed x", "fixed y"):
            return {"type": "point-on-line", **self.slot(row)}
        if row.kind == "rod":
            P, Q = row.ends
            return {"type": "distance", "i": Q, "j": P, "length": row.value}
        if row.kind == "angle":
            j, i = row.ends
            return {"type": "angle-lock", "i": i, "j": j, "angle": row.value}
        return None

    def slot(self, row: Row) -> dict[str, Any]:
        """Describe a slot: the axis is of body i, and its sign makes Psi = n . (P_j - P_i) the row itself."""
        if row.kind != "slot":  # of the ground, along x or y
            sign, is_x = float(np.copysign(1.0, row.sign)), row.kind == "fixed x"
            place = (row.value, 0.0) if is_x else (0.0, row.value)
            return {"i": Spot(0, place, "cut"), "j": row.ends[0], "axis": [0.0, -sign] if is_x else [sign, 0.0]}
        (vector,), (P, Q) = row.vectors, row.ends
        u = vector.axis()
        of_first = self.folder.body_of(vector) == P.body
        i, j = (P, Q) if of_first else (Q, P)
        sign = -row.sign if of_first else row.sign
        if row.value:  # the line runs beside the point
            beside = row.value * (-1.0 if of_first else 1.0) / (u[0] ** 2 + u[1] ** 2)
            i = Spot(i.body, (i.s[0] - beside * u[1], i.s[1] + beside * u[0]), f"{i.name}_line")
        return {"i": i, "j": j, "axis": [float(np.copysign(1.0, sign)) * x + 0.0 for x in u]}
