"""Inputs and outputs of small motions: x' = A x + B u, y = C x + D u.

Inputs are parameters by which forces and rates of states depend on what is outside, outputs any results. A result of
accelerations and reactions follows from those of the small motion, da and

    dlam = (Psi_q^+)^T (force_q dq + force_v dv + force_p dp - M da)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism
from linkwork.elements.signals import OUTPUT
from linkwork.equations.equations import Equations
from linkwork.equations.linear import multiply
from linkwork.errors import UsageError, check_choice
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import Expr

if TYPE_CHECKING:
    from linkwork.analyses.linearize import Basis, Reduced
    from linkwork.analyses.variation import Tangent

Array = NDArray[np.float64]


class Signals(NamedTuple):
    """Names of inputs and outputs, and the matrices between them."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    B: Array
    C: Array
    D: Array


def results_of(e: Equations) -> dict[str, Expr]:
    """Return everything that can be an output, by its name in results; coordinates and velocities first."""
    found = dict(zip(e.q_names, e.q, strict=True)) | {c.speed: x for c, x in zip(e.velocities, e.v, strict=True)}
    for kind, outputs in e.outputs.items():
        named = zip(e.columns[kind].names, outputs.values(), strict=True)
        found |= {name: output.shown for name, output in named if name not in found}
    return found


def find_signals(
    mechanism: Mechanism,
    tangent: Tangent,
    basis: Basis,
    reduced: Reduced,
    inputs: Sequence[str] | None,
    outputs: Sequence[str] | None,
) -> Signals:
    """Find the matrices of these inputs and outputs, unless given those of the model."""
    model, e, place = mechanism.model, mechanism.equations, tangent.place
    symbols = dict(zip(model.parameters, mechanism.shared.symbols, strict=False))
    results = results_of(e)
    chosen = [x.name for x in model.inputs if not x.follows] if inputs is None else list(inputs)
    shown = [f"{OUTPUT}{x.name}" for x in model.outputs] if outputs is None else list(outputs)
    shown = [f"{OUTPUT}{name}" if f"{OUTPUT}{name}" in results else name for name in shown]
    for name in chosen:
        check_choice("input", name, symbols)
    for name in shown:
        check_choice("output", name, results)
    p, y = [symbols[name] for name in chosen], [results[name] for name in shown]
    n, n_p, n_w, a, lam = len(e.v), tangent.n_p, basis.Y.shape[1], *tangent.solution
    force = [f - x for f, x in zip(e.Q, multiply(e, [*e.a, *e.lam])[:n], strict=True)]
    at = {**place.values, **dict(zip((*e.a, *e.lam), (*a.tolist(), *lam.tolist()), strict=True))}

    def by(f: Sequence[Expr], x: Sequence[Expr]) -> Array:
        return _matrix(jacobian(f, x), (len(f), len(x)), at)

    for name, through in zip(chosen, np.abs(by([*e.Psi_dot, *e.Psi, *e.qd[:n_p]], p)).T, strict=True):
        if through.any():
            message = f"'{name}' moves joints or drivers; an input acts by forces, or by rates of states"
            raise UsageError(message, "input-moves-joints")
    force_p, inverse = by(force, p), tangent.velocities.inverse[:, : len(lam)]
    u_p = np.linalg.solve(reduced.M, basis.Z.T @ force_p) if len(reduced.M) else np.zeros((0, len(p)))
    da, da_p = reduced.da, basis.Z @ u_p
    moved = tangent.derivatives.force_q @ reduced.dq + tangent.derivatives.force_v @ reduced.dv
    dlam, dlam_p = (inverse.T @ (f - tangent.M @ x) for f, x in ((moved, da), (force_p, da_p)))
    of_a, of_lam = by(y, e.a), by(y, e.lam)
    B = np.vstack([np.zeros((n_w, len(p))), u_p, by(e.qd[n_p:], p)])
    C = by(y, e.q) @ reduced.dq + by(y, e.v) @ reduced.dv + of_a @ da + of_lam @ dlam
    return Signals(tuple(chosen), tuple(shown), B, C, by(y, p) + of_a @ da_p + of_lam @ dlam_p)


def _matrix(entries: Mapping[tuple[int, int], Expr], shape: tuple[int, int], at: Mapping[Expr, float]) -> Array:
    found = np.zeros(shape)
    if entries:
        found[tuple(np.array([*entries]).T)] = evaluate([*entries.values()], at)
    return found
