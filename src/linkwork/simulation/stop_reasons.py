"""Why a motion could not go on: time, joint or force, and size of what went wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism
from linkwork.equations.body import body_equations
from linkwork.equations.place import Place
from linkwork.errors import NumericalStop
from linkwork.expressions.evaluation import evaluate, ordered
from linkwork.expressions.graph import Expr, symbol
from linkwork.formulations import FORMULATIONS, solve_on_scales
from linkwork.integrators.integrate import End
from linkwork.notes import Reason
from linkwork.simulation.problem import Motion
from linkwork.start.dead_points import explain_dead, find_dead
from linkwork.tolerances import AGREEMENT, NEGLIGIBLE, TYPED

Array = NDArray[np.float64]

EVIDENT = 1e-3  # of a force: what it must change by within TYPED of the run, or of the speeds, to be a cause
NEARLY_DEAD = 2.0  # times the margin at which a dyad has no motion any more
LONGEST = 60  # characters of a formula in a message: half a line
NEARLY_SINGULAR = 1e-3  # least singular value of Psi_q M^-1/2, rows of length one; or length of a row


def explain_stop(motion: Motion, end: End, fixed_step: float | None = None) -> Reason:
    """Say why a motion, whose last piece ended so, could not go on."""
    last = motion.state
    if fixed_step is not None and end == End.STEP_TOO_SMALL:
        return Reason("fixed-step", step=fixed_step, t=last.t)
    motion.know_held()
    system, p, formulation = motion.system, motion.p, motion.how.formulation
    e, n_q, n = system.equations, system.n_q, motion.n
    state = np.concatenate([[last.t], last.y[:n]])
    dead = find_dead(Place(e, last.y[:n_q], last.y[n_q:n], last.t), NEARLY_DEAD)
    if dead is not None:
        return explain_dead(dead, last.t, True)
    if end == End.NOT_PROJECTED:
        t, y = (last.t, last.y) if last.failed is None else last.failed
        at = Place(e, y[:n_q], y[n_q:n], t)
        widest = e.rows[int(np.argmax(np.abs(at.Psi) / at.row_scale))].element
        return Reason("projection-failed", t=last.t, widest=widest, has_drivers=bool(motion.mechanism.model.drivers))
    force = _find_force(motion.mechanism, Place(e, last.y[:n_q], last.y[n_q:n], last.t))
    if formulation in FORMULATIONS:
        sizes = np.cumsum([system.n_v**2, system.m * system.n_v, system.n_v])
        M, Psi_q, Q, gamma = np.split(system.functions["terms"](state, p), sizes)
        try:
            J, place = Psi_q.reshape(-1, system.n_v), Place(e, last.y[:n_q], last.y[n_q:n], last.t)
            M = M.reshape(-1, system.n_v)
            solve_on_scales(formulation, M, J, Q, gamma, place.v_scale, place.row_scale)
        except NumericalStop as refused:
            return Reason(refused.code, t=last.t, force=force, refusal=refused.message)
    if end == End.NOT_FINITE:
        return Reason("not-finite", t=last.t, force=force)
    if end == End.NO_VALUE:
        return Reason("no-value", t=last.t, event=e.events[last.at.nearest].name)
    if end == End.CHATTERS:
        at_rest = np.concatenate([state[: 1 + n_q], np.zeros(n - n_q)])
        rests = system.functions["switches"](at_rest, p)[last.at.nearest] == 0.0
        return Reason("chatters", t=last.t, law="" if force is None else force["name"], rests=bool(rests))
    if end == End.TOO_MANY_STEPS:
        tried = {"steps": last.tried, "t": last.t, "step": last.at.next_step}
        place = Place(e, last.y[:n_q], last.y[n_q:n], last.t)
        vanish = place.rows.lengths[~place.is_open] < NEARLY_SINGULAR  # which the rank does not show
        if system.m and (place.rank.smallest < NEARLY_SINGULAR or (e.chart.kind != "stated" and np.any(vanish))):
            return Reason("too-many-steps", **tried, formulation=formulation)
        return Reason("too-many-steps", **tried, force=force, integrator=motion.how.integrator)
    assert end == End.STEP_TOO_SMALL
    rates = motion.form.derivative(np.concatenate([[last.t], last.y]), p)
    names = [*e.q_names, *e.v_names]
    fastest = names[int(np.argmax(np.abs(np.nan_to_num(rates[:n], nan=np.inf))))]
    return Reason("step-collapse", t=last.t, step=last.at.next_step, fastest=fastest, force=force)


def _find_force(mechanism: Mechanism, at: Place) -> dict[str, Any] | None:
    """Find the force of the model that has no finite value here or nearby, else the one that changes most.

    Near is a small part of the run, or of the velocities, those of a mechanism at rest by its scales and the run. A
    change that is a small part of the force itself is no evidence, and none is named.
    """
    model, t, (q_bodies, v) = mechanism.model, at.t, at.of_bodies()
    t_end = model.simulation.t_end
    most, found = 0.0, None
    now = {name: at.values[symbol(name)] for name in (*model.held, *(x.name for x in model.states))}
    bare = replace(
        model, joints=(), drivers=(), actuators=(), events=(), states=(), parameters={**model.parameters, **now}
    )
    for force in model.acting:
        e = body_equations(replace(bare, forces=(force,), gravity=(0.0,) * len(model.gravity)))
        n = len(e.q) - len(e.chart.counted)
        angles = evaluate(
            [x.angle for x in e.chart.counted], {**e.parameters, **dict(zip(e.q, q_bodies, strict=False))}
        )
        carried = [at.values.get(x.carried, angle) for x, angle in zip(e.chart.counted, angles, strict=True)]
        q = np.concatenate([q_bodies[:n], carried])
        here = Place(e, q, v, t)
        rates = np.array(evaluate(e.qd, here.values), dtype=float)
        dv = TYPED * here.v_scale * max(float((np.abs(v) / here.v_scale).max()), 1.0 / t_end if t_end else 0.0)
        times = (part * t_end for part in (0.0, NEGLIGIBLE, AGREEMENT, TYPED))
        nearby = [replace(here, q=q + dt * rates, t=t + dt) for dt in times]
        nearby += [replace(here, v=v - dv), replace(here, v=v + dv)]
        values = np.array([evaluate(e.Q, place.values) for place in nearby], dtype=float)
        if not np.all(np.isfinite(values)):
            place = nearby[int(np.argmin(np.all(np.isfinite(values), axis=1)))]
            return {"name": force.name, **_find_operation(place)}
        change = float(np.max(np.abs(values - values[0]), initial=0.0))
        if change > max(most, EVIDENT * float(np.max(np.abs(values), initial=0.0))):
            most, found = change, {"name": force.name}
    return found


def _find_operation(place: Place) -> dict[str, Any]:
    """Find the first operation of Q that makes something infinite or undefined of numbers, and these."""
    nodes = ordered(place.equations.Q, place.values)
    known = {**place.values, **dict(zip(nodes, evaluate(nodes, place.values), strict=True))}
    for node in nodes:
        if not np.isfinite(known[node]) and all(np.isfinite(known[x]) for x in node.args):
            arguments = [[_shortened(x), float(known[x])] for x in node.args if not x.is_constant]
            return {"operation": _shortened(node), "arguments": arguments}
    return {"operation": "", "arguments": []}


def _shortened(x: Expr) -> str:
    shown = repr(x).replace("\n", "; ")
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}..."
