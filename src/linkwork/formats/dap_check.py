"""What a user of DAP_JC wrote by hand, compared with what follows from the joints.

Bmat and Bd of ChainOpen and C, rhsV and rhsA of CutJoint are evaluated at random states that satisfy the constraints,
and so are the derivatives of the places of bodies and of Phi:

    B = q_theta,    Bd = B_dot theta_d,    C = Phi_theta,    rhsV = -Phi_t,    rhsA = -(C_dot theta_d + d(Phi_t)/dt)
                                                                            [nikravesh2018, equations (9.22) to (9.34)]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.arrays import Array
from linkwork.errors import MOST_NAMED, ModelError
from linkwork.expressions.derivatives import directional, jacobian
from linkwork.expressions.evaluation import evaluate, substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, as_expr, symbol
from linkwork.formats.dap_chain import Chain, bound, read_chain
from linkwork.formats.dap_files import Folder
from linkwork.formats.dap_start import correct_start
from linkwork.formats.mcode import Code, Unknown, matrix
from linkwork.tolerances import HALF_THE_DIGITS

TIME = symbol("t")
STATES, SEED = 5, 2018  # random states at which both are evaluated


@dataclass(frozen=True)
class Comparison:
    """An array that a user wrote: whether it was compared, and the entries that differ (row, column, found, right)."""

    file: str
    array: str
    differing: tuple[tuple[int, int, float, float], ...] = ()
    problem: str = ""
    remark: str = ""

    @property
    def is_wrong(self) -> bool:
        """Return whether it has another size than it should."""
        return self.problem.startswith("is") and "right is" in self.problem

    def as_dict(self) -> dict[str, Any]:
        keys = ("row", "column", "found", "right")
        entries = [dict(zip(keys, entry, strict=True)) for entry in self.differing]
        return {"file": self.file, "array": self.array, "differing": entries, "problem": self.problem}

    def __str__(self) -> str:
        if self.problem:
            return f"{self.file}: {self.array} {self.problem}"
        if not self.differing:
            return f"{self.file}: {self.array} agrees with the joints{self.remark}"
        named = [f"({i}, {j}) is {a:.6g}, right is {b:.6g}" for i, j, a, b in self.differing[:MOST_NAMED]]
        more = len(self.differing) - len(named)
        return f"{self.file}: {self.array}{'; '.join(named)}" + (f" and {more} more" if more else "")


def check_formulas(path: Path) -> list[Comparison]:
    """Check the arrays of formulas in a folder of DAP_JC beside those that follow from its joints; none for DAP_BC."""
    folder = Folder(path)
    if not folder.is_joint:
        return []
    chain = read_chain(folder)
    right = _generated(folder, chain)
    states = list(_states(chain))
    found: list[Comparison] = []
    for name, arrays in (
        ("ChainOpen", {2: ("Bmat",), 3: ("Bd",)}),
        ("CutJoint", {1: ("C",), 2: ("rhsV",), 3: ("rhsA",)}),
    ):
        if name.lower() not in folder.m_files or (name == "CutJoint" and not chain.Phi):
            continue
        for check, names in arrays.items():
            values = _written(folder, chain, name, check)
            found += [_compared(folder, name, array, values.get(array), right[array], states) for array in names]
    return found


def _generated(folder: Folder, chain: Chain) -> dict[str, list[list[Expr]]]:
    moving = {**dict(zip(chain.theta, chain.theta_d, strict=True)), TIME: ONE}
    q = [as_expr(x) for pose in chain.poses for x in pose]
    rates = directional(q, moving)
    Phi_dot = directional(chain.Phi, moving)

    def full(outputs: list[Expr]) -> list[list[Expr]]:
        entries = jacobian(outputs, chain.theta)
        return [[entries.get((i, j), ZERO) for j in range(len(chain.theta))] for i in range(len(outputs))]

    return {
        "Bmat": full(q),
        "Bd": [[x] for x in directional(rates, moving)],
        "C": full(chain.Phi),
        "rhsV": [[-x] for x in directional(chain.Phi, {TIME: ONE})],
        "rhsA": [[-x] for x in directional(Phi_dot, moving)],
    }


def _written(folder: Folder, chain: Chain, name: str, check: int) -> dict[str, Any]:
    """Return the variables of a file after it was followed with this check, by joint coordinates."""
    arguments, body = bound(
        folder.functions(name), [matrix(float(check)), matrix(*chain.theta), matrix(*chain.theta_d), matrix(TIME)]
    )
    placing = dict.fromkeys(("Coord_Rev", "Coord_Tran", "Coord_Float", "Update_P", "Update_U"), lambda *_: None)
    code = Code(folder.file(name), {**folder.state(), **arguments}, {**folder.helpers(name), **placing})
    code.follow(body)
    known = chain.at(folder)
    found: dict[str, Any] = {}
    for key, value in code.names.items():
        if isinstance(value, np.ndarray) and value.size and key not in arguments:
            flat = substitute(substitute([as_expr(x) for x in value.flat], folder.expansion), known)
            found[key] = np.array(flat, dtype=object).reshape(value.shape)
        elif isinstance(value, Unknown):
            found[key] = value.error
    return found


def _states(chain: Chain) -> Iterator[Mapping[Expr, float]]:
    """Yield random states on the constraints."""
    random, reached = np.random.default_rng(SEED), 0
    symbols = (*chain.theta, *chain.theta_d)
    for _ in range(8 * STATES):
        theta = chain.given[0] + 0.25 * random.standard_normal(len(chain.theta))
        theta_d = random.standard_normal(len(chain.theta))
        try:
            theta, theta_d = correct_start(chain.Phi, chain.theta, theta, theta_d)
        except ModelError:
            continue
        reached += 1
        yield {**dict(zip(symbols, (*theta.tolist(), *theta_d.tolist()), strict=True)), TIME: 0.0}
        if reached == STATES:
            return


def _compared(
    folder: Folder, name: str, array: str, value: Any, right: list[list[Expr]], states: list[Mapping[Expr, float]]
) -> Comparison:
    file = Path(folder.file(name)).name
    if value is None or isinstance(value, ModelError):
        reason = "is not assigned" if value is None else f"is not compared: {value.message} (line {value.line})"
        return Comparison(file, array, problem=reason)
    if not states:
        return Comparison(file, array, problem="is not compared: no state near the start satisfies the constraints")
    rows, columns = len(right), len(right[0]) if right else 0
    if columns == 1:
        value = value.reshape(-1, 1)  # whether a row or a column is meant
    if value.shape != (rows, columns):
        size = " x ".join(map(str, value.shape))
        return Comparison(file, array, problem=f"is {size}, right is {rows} x {columns}")
    found, wanted = (
        np.array([np.array(evaluate(x, state)).reshape(rows, columns) for state in states])
        for x in (list(value.flat), _flat(right))
    )
    remarks = [_scaled(found, wanted, i) for i in range(rows)] if array == "C" else []
    scale = np.maximum(1.0, np.max(np.abs(wanted), axis=(1, 2), initial=0.0))[:, None, None]
    differs = ~(np.abs(found - wanted) <= HALF_THE_DIGITS * scale)
    entries = [
        (int(i) + 1, int(j) + 1, float(found[k, i, j]), float(wanted[k, i, j]))
        for i, j in np.argwhere(differs.any(axis=0))
        for k in [int(np.argmax(differs[:, i, j]))]
    ]
    return Comparison(file, array, tuple(entries), remark="".join(remarks))


def _scaled(found: Array, wanted: Array, row: int) -> str:
    """Scale a row of C that is a multiple of the right one, which holds the same, and say so."""
    a, b = found[:, row].ravel(), wanted[:, row].ravel()
    factor = float(a @ b / (b @ b)) if np.any(b) else 1.0
    is_other = abs(factor - 1.0) > HALF_THE_DIGITS and factor != 0.0
    if not is_other or not np.allclose(a, factor * b, rtol=0.0, atol=HALF_THE_DIGITS * float(np.max(np.abs(a)))):
        return ""
    found[:, row] /= factor
    return f", row {row + 1} as a multiple by {factor:.6g}"


def _flat(rows: list[list[Expr]]) -> list[Expr]:
    return [x for row in rows for x in row]
