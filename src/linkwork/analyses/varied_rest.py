"""How a rest varies with parameters: the implicit function theorem.

R = Q - Psi_q^T lam = 0,    Psi = 0        [ R_q N    -Psi_q^T ] [ dx   ]   [ -R_p   ]
                                           [ Psi_q       0     ] [ dlam ] = [ -Psi_p ]        dq = N dx
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from linkwork.analyses.equilibrium import begin_rest, by_bodies, find_rest
from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.equations.linear import multiply
from linkwork.equations.varied import vary
from linkwork.errors import NumericalStop, UsageError, checked_call
from linkwork.expressions.graph import ZERO, Expr
from linkwork.linalg.newton import solve_least_squares
from linkwork.linalg.rank import RANK_TOLERANCE
from linkwork.model import Model
from linkwork.simulation.varied import check_variable, choose_parameters, name_of


@checked_call()
@np.errstate(all="ignore")  # what is not finite is looked for where it matters
def equilibrium_slopes(
    model: Model | Mechanism, by: Sequence[str], parameters: Mapping[str, float | str] | None = None
) -> dict[str, dict[str, float]]:
    """Find how the positions and reactions of the rest that `equilibrium` finds vary with parameters, in SI.

        equilibrium_slopes(model, ["k", "arm.mass"])["arm.phi"]["k"]

    Reactions that are not unique have derivatives that are not unique either.
    """
    mechanism = by_bodies(prepare(model), parameters)
    chosen = choose_parameters(mechanism, by)
    check_variable(mechanism)
    rest = find_rest(begin_rest(mechanism))
    place, e = rest.place, rest.place.equations
    if e.n_states or rest.tangent.code.unseen:
        raise UsageError("states of first order and bodies that turn unseen have no derivatives at rest", "not-varied")
    n, m, found = len(e.v), len(e.Psi), rest.tangent.code.derivatives(place, np.zeros(len(e.v)), rest.lam)
    K = np.block([[found.force_q @ found.N, -place.Psi_q.T], [place.Psi_q, np.zeros((m, m))]])
    of_x = np.concatenate([rest.tangent.scale, (rest.size or 1.0) / rest.tangent.row_scale])
    of_rows = np.concatenate([rest.tangent.scale / (rest.size or 1.0), 1.0 / rest.tangent.row_scale])
    values = {**place.values, **dict.fromkeys(e.a, 0.0), **dict(zip(e.lam, rest.lam.tolist(), strict=True))}
    units = dict(zip(chosen, np.eye(len(chosen)), strict=True))

    def left() -> list[Expr]:
        return [*(q - x for q, x in zip(e.Q, multiply(e, [*[ZERO] * n, *e.lam])[:n], strict=True)), *e.Psi]

    rates = vary(e, "rest", left, values, units)
    if rest.K.size and np.linalg.cond(rest.K) > 1.0 / RANK_TOLERANCE:
        raise NumericalStop("the rest is neutral: it goes away in some direction without any force", "neutral-rest")
    x = of_x[:, None] * solve_least_squares(K * np.outer(of_rows, of_x), -of_rows[:, None] * rates)
    dq = found.N @ x[:n]
    direction = {**dict(zip(e.q, dq, strict=True)), **dict(zip(e.lam, x[n:], strict=True)), **units}
    outputs = e.outputs.get("reactions", {})
    forces = vary(e, "reactions at rest", lambda: [y.expression for y in outputs.values()], values, direction)
    names = [*e.q_names, *(e.columns["reactions"].names if outputs else ())]
    rows = [*dq, *forces]
    return {
        name: dict(zip(map(name_of, chosen), row.tolist(), strict=True)) for name, row in zip(names, rows, strict=True)
    }
