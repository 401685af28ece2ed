"""The start as DAP corrects it: the least change of its own coordinates, without weights, over a gap of any size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.arrays import Array
from linkwork.errors import ModelError
from linkwork.expressions.derivatives import directional, jacobian
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import ONE, Expr, symbol
from linkwork.linalg.newton import MAX_ITERATIONS
from linkwork.sequences.entries import dense
from linkwork.tolerances import ROUNDING

TIME = symbol("t")


def correct_start(Phi: Sequence[Expr], q: Sequence[Expr], at: Array, rates: Array) -> tuple[Array, Array]:
    """Return coordinates and rates that satisfy Phi(q, t) = 0 and Phi_q q_dot + Phi_t = 0 at t = 0.

    q <- q - D^T (D D^T)^-1 Phi until Phi = 0, then q_dot <- q_dot - D^T (D D^T)^-1 (D q_dot + Phi_t), with D = Phi_q
                                                                                        [nikravesh2018, appendix C]
    """
    if not Phi:
        return at, rates
    entries, Phi_t = jacobian(Phi, q), directional(Phi, {TIME: ONE})

    def measure(x: Array) -> tuple[Array, Array, Array]:
        values = {TIME: 0.0, **dict(zip(q, x.tolist(), strict=True))}
        n, found = len(Phi), evaluate([*Phi, *Phi_t, *entries.values()], values)
        return np.array(found[:n]), np.array(found[n : 2 * n]), dense(entries, found[2 * n :], (n, len(q)))

    for _ in range(MAX_ITERATIONS):  # DAP gives up after 20
        gap, _, D = measure(at)
        step = np.linalg.lstsq(D, -gap, rcond=None)[0]
        at = at + step
        if not np.all(np.isfinite(at)):
            break
        if np.linalg.norm(step) <= ROUNDING * (1.0 + np.linalg.norm(at)):
            _, by_time, D = measure(at)
            return at, rates + np.linalg.lstsq(D, -(D @ rates + by_time), rcond=None)[0]
    message = "the start values cannot be corrected: Newton's iteration of DAP does not close the joints from here"
    raise ModelError(message, "start-far-off", suggestion="give start values that are nearer to the joints")
