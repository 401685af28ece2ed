"""user_force of DAP as forces of a model file: its statements are followed on the state, nothing is executed.

What it adds to Bodies(k).f and Bodies(k).n becomes a force at the mass centre, or at the point about which that is its
moment, and a torque; Contact becomes a contact with the line y = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork.errors import ModelError
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic, substitute
from linkwork.expressions.graph import ZERO, Expr, as_expr, symbol
from linkwork.expressions.parser import MAX_LENGTH
from linkwork.formats.dap_files import Folder, Spot
from linkwork.formats.mcode import Code, Structure, Unknown, Value, matrix, number, structures_of
from linkwork.formats.mfile import NOT_EXECUTED
from linkwork.tolerances import AGREEMENT
from linkwork.writing.printers import text

CONTACTS = {1.0: "lankarani-nikravesh", 2.0: "flores-machado"}
SUMS = ("fx", "fy", "n")  # of the forces before these


@dataclass
class UserForces:
    """Forces as entries of a model file, their points still as spots, and what could not be translated."""

    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    errors: list[ModelError] = field(default_factory=list)


def read_user_force(folder: Folder, users: list[int]) -> UserForces:
    """Read the forces of user_force.m, which DAP calls once for each of the forces `users` of type 'user'."""
    found, file = UserForces(), folder.file("user_force")
    functions = folder.functions("user_force")

    def contact(code: Code, values: list[Value]) -> None:
        _, point_index, body_index, k, e, model = map(number, values)
        if code.is_conditional:
            raise code.error("a contact that acts under a condition only", "user-force", code.line)
        point = folder.points[int(point_index) - 1] if 1 <= point_index <= len(folder.points) else None
        if point is None or folder.body_of(point) != body_index or model not in CONTACTS:
            message = "Contact needs a point of its body, and 1 or 2 as its model"
            raise code.error(message, "no-such-index", code.line)
        law = {"model": CONTACTS[model], "stiffness": k, "restitution": e}
        ground, place = Spot(0, (0.0, 0.0)), folder.spot(point)
        entry = {"type": "line-contact", "i": ground, "j": place, "normal": [0, 1], **law}
        found.entries[f"contact{len(found.entries) + 1}"] = entry

    names = folder.state()
    before = [[symbol(f"{name}.{key}'") for key in SUMS] for name in folder.names[1:]]
    names["Bodies"] = tuple(
        Structure(own.name, own.line, {**own.fields, "f": matrix(fx, fy), "n": matrix(n)}, own.lines)
        for own, (fx, fy, n) in zip(structures_of(names["Bodies"]), before, strict=True)
    )
    code = Code(file, names, {**folder.helpers("user_force"), "Contact": contact})
    for index in users:
        code.names["Fi"] = matrix(float(index))
        if functions:
            code.follow(functions[0].body)
    found.errors += code.errors
    for other in functions[1:]:
        if not other.name:
            message = "after the function there is code"
            found.errors.append(ModelError(message, "m-file-code", file=file, line=other.line, rule=NOT_EXECUTED))
    if isinstance(code.names["Bodies"], Unknown):
        return found
    for k, (own, sums) in enumerate(zip(structures_of(code.names["Bodies"]), before, strict=True), 1):
        _add_forces(folder, found, k, own, sums)
    return found


def _add_forces(folder: Folder, found: UserForces, body: int, own: Structure, sums: list[Expr]) -> None:
    """Return the forces on one body."""
    f, n = own.fields["f"], own.fields["n"]
    if isinstance(f, Unknown) or isinstance(n, Unknown):
        return  # with an error that is known
    file, line = own.lines.get("f", own.lines.get("n", (folder.file("user_force"), 1)))
    if not (isinstance(f, np.ndarray) and f.size == 2 and isinstance(n, np.ndarray) and n.size == 1):
        message = f"Bodies({body}).f is not a vector of two numbers, or .n not one number"
        found.errors.append(ModelError(message, "user-force", file=file, line=line))
        return
    totals = [as_expr(x) for x in (*f.flat, *n.flat)]
    added = substitute(totals, dict.fromkeys(sums, ZERO))
    sample = folder.sampled(*sums, symbol("t"))
    if not all(_same(sample, total, x + was) for total, x, was in zip(totals, added, sums, strict=True)):
        own_f = f"Bodies({body}).f"
        message = f"the forces on body '{folder.names[body]}' are replaced, not added to, as in {own_f} = {own_f} + ..."
        found.errors.append(ModelError(message, "user-force", file=file, line=line))
        return
    fx, fy, torque = added
    at, name = Spot(body, (0.0, 0.0)), f"user_{folder.names[body]}"
    if torque is not ZERO:
        for spot in (folder.spot(point) for point in folder.points if folder.body_of(point) == body):
            (x, y), (cx, cy) = folder.place(spot), folder.place(at)
            if _same(sample, torque, (x - cx) * fy - (y - cy) * fx):
                at, torque = spot, ZERO
                break
    laws: dict[str, dict[str, Any]] = {
        name: {"type": "point-force", "at": at, "force": [fx, fy]},
        f"{name}_torque": {"type": "torque", "on": folder.names[body], "torque": torque},
    }
    for label, entry in laws.items():
        key = "force" if "force" in entry else "torque"
        parts = entry[key] if isinstance(entry[key], list) else [entry[key]]
        if all(x is ZERO for x in parts):
            continue
        written = [x.number if x.is_constant else text(x) for x in parts]
        if any(isinstance(x, str) and (len(x) > MAX_LENGTH or "\n" in x) for x in written):
            message = f"the formula of the force on body '{folder.names[body]}' is longer than a model file may have it"
            found.errors.append(ModelError(message, "user-force", file=file, line=line))
            continue
        found.entries[label] = {**entry, key: written if key == "force" else written[0]}


def _same(values: Mapping[Expr, Any], a: Expr, b: Expr) -> bool:
    """Tell whether two expressions agree at these values."""
    with np.errstate(all="ignore"):
        x, y = (np.asarray(z, dtype=float) for z in evaluate([a, b], values, numpy_arithmetic()))
        return bool(np.all(np.abs(x - y) <= AGREEMENT * (np.max(np.abs(x)) + np.max(np.abs(y)))))
