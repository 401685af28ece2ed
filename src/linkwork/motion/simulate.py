"""Motion in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import version
from time import perf_counter, thread_time
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from linkwork import projection
from linkwork.elements.drivers import Driver
from linkwork.equations.body import body_equations
from linkwork.errors import Interrupted, ModelError, NumericalStop, UsageError, check_choice
from linkwork.expressions.evaluation import evaluate
from linkwork.formulations import FORMULATIONS, NAMES, SEQUENCES, right_side, state_space, would_do
from linkwork.integrators.explicit import INTEGRATORS
from linkwork.integrators.loop import (
    ASKED,
    COLLAPSED,
    NOT_FINITE,
    PROJECTION_FAILED,
    REACHED,
    RUNNING,
    Settings,
    Slice,
    advance,
    integrate,
    report_times,
)
from linkwork.model import Model
from linkwork.motion.check import notes
from linkwork.motion.initial import Place, Weights, start_values
from linkwork.motion.passing import singular_positions
from linkwork.motion.results import check_memory, columns, fill_report
from linkwork.motion.singular import about_singular
from linkwork.native.kernels import Pointer, call, kernel, offset
from linkwork.native.lowering import NativeFunction
from linkwork.projection import measure, project, project_start
from linkwork.scene import scene
from linkwork.soundness import sound
from linkwork.system import CHART_MEMORY, RANK_TOLERANCE, Form, System, compile_system, repetitions
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]
Stabilization: TypeAlias = Literal["projection", "state-space", "baumgarte", "none"]

STABILIZATIONS = ("projection", "state-space", "baumgarte", "none")
WITH_STATE_SPACE = ("coordinate-partitioning", "qr", "svd")
MOST_STEPS = 2_000_000  # tried in one run unless more are allowed: a minute or so of a small mechanism
AHEAD = (1e-12, 1e-9, 1e-6)  # seconds after a stop in which the cause is looked for
NUDGE = 1e-6  # of all velocities, for the same
TOO_NEAR = 0.1  # of the largest on the motion: a smallest singular value at which charts are left
NEAR_SINGULAR = 1e-5  # of the largest singular value: the most that counts as zero during a motion


@kernel
def fill_dynamics(
    dynamics: int, n_rows: int, ny: int, n_out: int, times: Pointer, rows: Pointer, p: Pointer, out: Pointer, w: Pointer
) -> None:
    """For every (t, y) a row of `out`: (qd, a, work rates, lam)."""
    x, scratch = w, offset(w, 1 + ny)
    for k in range(n_rows):
        x[0] = times[k]
        for i in range(ny):
            x[1 + i] = rows[k * ny + i]
        call(dynamics, x, p, offset(out, k * n_out), scratch)


def simulate(
    model: Model,
    *,
    t_end: float | None = None,
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    formulation: str = "augmented",
    stabilization: Stabilization = "projection",
    alpha: float = 10.0,
    beta: float = 10.0,
    integrator: str = "dop853",
    max_steps: int = MOST_STEPS,
    weights: Weights = "mass",
    assemble: bool = False,
    progress: Callable[[float, float], None] | None = None,
) -> Trajectory:
    """The motion of a mechanism from its start values to t_end.

    Arguments that are None are taken from the model; atol is then not looser than an rtol that is given. `step` is the
    distance of report times; the integrator chooses its own steps. `alpha` and `beta` are the gains of Baumgarte's
    stabilization, per second. A run that has tried `max_steps` steps or a few more stops. `progress` is called with the
    finished fraction and the time reached.
    """
    settings = model.simulation.changed(t_end, step, rtol, atol)
    t_end, step, rtol, atol = settings.t_end, settings.step, settings.rtol, settings.atol
    check_choice("formulation", formulation, NAMES)
    check_choice("stabilization", stabilization, STABILIZATIONS)
    check_choice("integrator", integrator, INTEGRATORS)
    if stabilization == "state-space" and formulation not in WITH_STATE_SPACE:
        raise UsageError(
            f"the formulation '{formulation}' names no independent coordinates to integrate alone; "
            f"state-space goes with {', '.join(WITH_STATE_SPACE)}",
            "no-state-space",
        )
    method = Settings(INTEGRATORS[integrator], rtol, atol)
    times = report_times(0.0, t_end, step)
    for name, gain in (("alpha", alpha), ("beta", beta)):
        if not 0.0 <= gain < np.inf:
            raise UsageError(f"{name} = {gain:g} is not a gain per second", "bad-gain")
    if max_steps < 1:
        raise UsageError(f"max_steps = {max_steps} leaves no step to try", "bad-max-steps")

    began = perf_counter()
    model = sound(replace(model, simulation=settings))
    equations = body_equations(model)
    check_memory(times, equations)
    if stabilization == "baumgarte":
        equations = equations.with_baumgarte()
    start = start_values(equations, weights, any_distance=assemble)
    regular = _has_mass(start.place, formulation)
    rank = start.place.rank
    form = formulation if formulation in SEQUENCES else "terms"
    charts = stabilization == "state-space"
    system = compile_system(equations, repetitions(rank.smallest), cast(Form, form), regular, charts)
    derivative, dynamics = _right_sides(system, formulation)
    on_chart = (state_space.derivative, state_space.keep) if charts else ()
    for needed in (advance, project, measure, fill_dynamics, fill_report, *on_chart):
        _ = needed.address  # compiled or loaded here, not within the measured integration
    compiled = perf_counter()
    address = 0 if formulation in SEQUENCES else FORMULATIONS[formulation].kernel.address
    p = system.p(alpha, beta, address, tolerance=_rank_tolerance(start.place))
    y = project_start(system, p, start.place.q, start.place.v)
    if charts:
        slices = on_charts(system, derivative, formulation, y, times, method)
    else:
        onto = projection.of_system(system, project if stabilization == "projection" else measure)
        slices = integrate(derivative, onto, p, y, times, method, n_norm=system.n_q + system.n_v)
    info: dict[str, Any] = {
        "model": model.name,
        "coordinates": "body",
        "formulation": formulation,
        "stabilization": stabilization,
        "integrator": integrator,
        "rtol": rtol,
        "atol": atol,
        "t_end": t_end,
        "step": step,
        "dof": system.n_v - rank.rank,
        "redundant": system.m - rank.rank,
        "compile_s": compiled - began,
        "notes": notes(model, start, rank),
        "parameters": dict(model.parameters),
        "scene": scene(model).as_dict(),
        "units": {name: unit for driver in model.drivers for name, unit in _units_of(driver).items()},
        "versions": {name: version(name) for name in ("linkwork", "numpy", "llvmlite", "numba")},
    }
    rows: list[Array] = []
    last: Slice | None = None

    def result(status: str, reason: str = "") -> Trajectory:
        assert last is not None
        table, at = np.concatenate(rows), times[: sum(map(len, rows))]
        if not len(at) or last.t > at[-1]:  # stopped between report times: the last good state is kept too
            table, at = np.vstack([table, last.y]), np.append(at, last.t)
        info.update(
            steps=last.steps,
            rejected=last.rejected,
            evaluations=last.evaluations,
            integration_s=last.loop_s,
            cpu_s=cpu_s,
            status=status,
            reason=reason,
        )
        return _trajectory(model, system, dynamics, p, at, table, info, last, began)

    cpu_s, ready = 0.0, thread_time()
    try:
        for last in slices:
            cpu_s += thread_time() - ready
            rows.append(last.rows)
            if progress is not None:
                progress(last.t / t_end, last.t)
            if last.status == RUNNING and last.steps + last.rejected >= max_steps:
                break
            ready = thread_time()
    except KeyboardInterrupt:
        if last is None:
            raise
        raise Interrupted(
            f"interrupted at t = {last.t:.6g} of {t_end:.6g}",
            trajectory=result("interrupted", "interrupted by the user"),
        ) from None
    assert last is not None
    if last.status != REACHED:
        message, code = _why_stopped(model, system, derivative, formulation, p, last)
        raise NumericalStop(message, code, trajectory=result("stopped", message))
    return result("finished")


def on_charts(
    system: System,
    derivative: NativeFunction,
    formulation: str,
    y: Array,
    times: Array,
    method: Settings,
) -> Iterator[Slice]:
    """The state-space form (see formulations/state_space.py), with a new partition wherever the old one has aged.

    Close to a singular position no coordinates determine the others; up to the next report time the motion is
    projected instead.
    """
    n = system.n_q + system.n_v
    inner = max(derivative.work, *(f.work for f in system.functions.values()))
    right, onto = state_space.of_system(n, system.m, inner)
    before: Slice | None = None
    mobility: list[float] = []
    rank, usual, near = 0, 0.0, False
    tolerance = _rank_tolerance(Place(system.equations, y[: system.n_q], y[system.n_q : n], float(times[0])))
    while True:
        t = times[0] if before is None else before.t
        place = Place(system.equations, y[: system.n_q], y[system.n_q : n], float(t))
        rank = max(rank, place.rank.rank)
        smallest = float(place.rank.values[rank - 1]) if rank else 1.0
        usual = max(usual, smallest)
        last = mobility, near
        mobility, near = _mobility(place, formulation), smallest < TOO_NEAR * usual
        if before is not None and before.status != ASKED and (mobility, near) == last:  # no partition does better
            yield before
            return
        p = system.p(0.0, 0.0, FORMULATIONS[formulation].kernel.address, derivative.address, mobility, tolerance)
        chart = system.functions["chart"](np.concatenate([[t], y[: system.n_q]]), p)
        memory = int(p[CHART_MEMORY])
        p[memory : memory + len(chart)] = chart
        p[len(p) - system.m :] = chart[: system.m]
        remaining = times if before is None else np.concatenate([[t], times[times > t]])
        if near:
            remaining, pieces = remaining[:2], (derivative, projection.of_system(system))
        else:
            pieces = (right, onto)
        for part in integrate(*pieces, p, y, remaining, method, n_norm=n):
            if part.status == REACHED and part.t < times[-1]:
                part = replace(part, status=ASKED)
            joined = part if before is None else _joined(before, part)
            if part.status in (PROJECTION_FAILED, COLLAPSED, ASKED):
                break
            yield joined
        if part.status in (REACHED, NOT_FINITE):
            return
        yield replace(joined, status=RUNNING)
        before, y = replace(joined, times=joined.times[:0], rows=joined.rows[:0]), part.y


def _mobility(place: Place, formulation: str) -> list[float]:
    """Zero for independent coordinates: those that QR with column pivoting of Psi_q leaves behind."""
    if formulation != "coordinate-partitioning":
        return [1.0] * len(place.v)
    from scipy.linalg import qr

    columns = qr(place.Psi_q, mode="r", pivoting=True)[1]
    dependent = set(columns[: place.rank.rank].tolist())
    return [1.0 if k in dependent else 0.0 for k in range(len(place.v))]


def _joined(before: Slice, part: Slice) -> Slice:
    """The slice of a run that began anew, with the counters of what went before; its first row is the new beginning."""
    first = int(len(part.times) > 0 and part.times[0] == before.t)
    return replace(
        part,
        times=part.times[first:],
        rows=part.rows[first:],
        steps=before.steps + part.steps,
        rejected=before.rejected + part.rejected,
        evaluations=before.evaluations + part.evaluations,
        psi_before=max(before.psi_before, part.psi_before),
        psi=max(before.psi, part.psi),
        psi_dot=max(before.psi_dot, part.psi_dot),
        loop_s=before.loop_s + part.loop_s,
    )


def _units_of(driver: Driver) -> dict[str, str]:
    unit = "N m" if driver.freedom == "angle" else "N"
    return {f"driving:{driver.name}": unit, f"lam:{driver.name}.drive": unit}


def _has_mass(place: Place, formulation: str) -> bool:
    """Whether every body has mass; refused where the formulation cannot do without."""
    massless = [name for name, inertia in zip(place.equations.v_names, np.diag(place.M), strict=True) if inertia <= 0.0]
    others = would_do(regular_mass=False)
    if massless and formulation not in others:
        body, coordinate = massless[0].rsplit(".", 1)
        raise ModelError(
            f"body '{body}' has no {'mass' if coordinate in 'xyz' else 'inertia'}",
            "zero-mass",
            rule=f"the formulation '{formulation}' needs both of every body",
            suggestion=f"give it some, or choose one of the formulations {', '.join(others)}",
        )
    return not massless


def _rank_tolerance(place: Place) -> float:
    """What formulations on full matrices take for zero during a motion, relative to the largest value.

    Near a singular position the small differences of a step's inner states from the constraints would be divided by
    the smallest singular value, and lead onto another branch. So they leave it out well before rounding does, as eps
    does in `augmented` (its root is 5e-6), if only the values at the start are far above.
    """
    values = np.linalg.svd(place.Psi_q, compute_uv=False) if place.Psi_q.size else np.ones(1)
    least = min(values[values > RANK_TOLERANCE * values[0]], default=0.0)
    return float(np.clip(1e-3 * least / max(values[0], 1e-300), RANK_TOLERANCE, NEAR_SINGULAR))


def _right_sides(system: System, formulation: str) -> tuple[NativeFunction, NativeFunction]:
    """The derivative for the time loop, and the dynamics for the report, which returns lam too."""
    f, ny = system.functions, system.n_q + system.n_v + 2
    if formulation in SEQUENCES:
        return f["derivative"], f["dynamics"]
    work = right_side.scratch_size(system.n_q, system.n_v, system.m, max(f["terms"].work, f["rates"].work))
    return (
        NativeFunction("derivative", right_side.derivative.address, 1 + ny, ny, work),
        NativeFunction("dynamics", right_side.dynamics.address, 1 + ny, ny + system.m, work),
    )


def _why_stopped(
    model: Model, system: System, derivative: NativeFunction, formulation: str, p: Array, last: Slice
) -> tuple[str, str]:
    """Time, joint and size of what went wrong."""
    n = system.n_q + system.n_v
    gaps = system.functions["constraints"](np.concatenate([[last.t], last.y[:n]]), p)[: system.m]
    largest = str(system.equations.rows[int(np.argmax(np.abs(gaps)))].element) if system.m else ""
    if last.status == PROJECTION_FAILED:
        return (
            f"projection after t = {last.t:.9g} did not converge; the joints cannot follow, "
            f"largest gap in '{largest}'; last good state kept",
            "projection-failed",
        )
    force = _hardest_force(model, last.t, last.y[: system.n_q], last.y[system.n_q : n])
    if formulation in FORMULATIONS:
        M, Psi_q, Q, gamma = np.split(
            system.functions["terms"](np.concatenate([[last.t], last.y[:n]]), p), _cuts(system)
        )
        try:
            FORMULATIONS[formulation](M.reshape(-1, system.n_v), Psi_q, Q, gamma)
        except NumericalStop as refused:
            return f"{refused.message}, at t = {last.t:.9g}{force}; last good state kept", refused.code
    if last.status == NOT_FINITE:
        return f"the accelerations at t = {last.t:.9g} are not finite{force}; last good state kept", "not-finite"
    if last.status == RUNNING:
        return (
            f"{last.steps + last.rejected} steps were tried until t = {last.t:.9g}, the last of {last.step:.2g} s"
            f"{force}; "
            "very large stiffness or damping and switching forces need so many; "
            "more are allowed with --max-steps; last good state kept",
            "too-many-steps",
        )
    assert last.status == COLLAPSED
    x = np.concatenate([[last.t], last.y])
    rates = derivative(x, p)
    names = [*system.equations.q_names, *system.equations.v_names]
    worst = names[int(np.argmax(np.abs(np.nan_to_num(rates[:n], nan=np.inf))))]
    return (
        f"the step size collapsed at t = {last.t:.9g} (step {last.step:.2g}); fastest change in '{worst}'"
        f"{force}; last good state kept",
        "step-collapse",
    )


def _hardest_force(model: Model, t: float, q: Array, v: Array) -> str:
    """Of the forces of the model, the one that has no finite value here or nearby, else the one that changes most."""
    most, found = 0.0, ""
    for force in model.forces:
        e = body_equations(replace(model, joints=(), drivers=(), forces=(force,), gravity=(0.0,) * len(model.gravity)))
        rates = np.array(evaluate(e.qd, Place(e, q, v, t).values), dtype=float)
        nearby = [Place(e, q + dt * rates, v, t + dt) for dt in (0.0, *AHEAD)]
        nearby += [Place(e, q, v + dv, t) for dv in (-NUDGE, NUDGE)]
        values = np.array([evaluate(e.Q, place.values) for place in nearby], dtype=float)
        if not np.all(np.isfinite(values)):
            return f"; the force '{force.name}' has no finite value there"
        change = float(np.max(np.abs(values - values[0]), initial=0.0))
        if change > most:
            most, found = change, f"; of the forces, '{force.name}' changes most"
    return found


def _cuts(system: System) -> Array:
    """Where the parts of `terms` end."""
    n, m = system.n_v, system.m
    return np.cumsum([n * n, m * n, n])


def _trajectory(
    model: Model,
    system: System,
    dynamics: NativeFunction,
    p: Array,
    times: Array,
    rows: Array,
    info: dict[str, Any],
    last: Slice,
    began: float,
) -> Trajectory:
    e, n_q, n_v, m = system.equations, system.n_q, system.n_v, system.m
    rows = np.ascontiguousarray(rows)
    q, v = rows[:, :n_q], rows[:, n_q : n_q + n_v]
    table, scratch = np.zeros((len(rows), dynamics.outputs)), np.empty(dynamics.inputs + dynamics.work)
    times = np.ascontiguousarray(times)
    ready = thread_time()
    fill_dynamics(dynamics.address, len(rows), rows.shape[1], dynamics.outputs, times, rows, p, table, scratch)
    info["evaluation_s"] = (thread_time() - ready) / len(rows)  # of one, in the mean over the states of the motion
    a, lam = table[:, n_q : n_q + n_v], table[:, table.shape[1] - m :]
    found = columns(system, p, times, q, v, a, lam)
    info["constraint_error_position"] = float(max(last.psi, np.max(found.error_position, initial=0.0)))
    info["constraint_error_velocity"] = float(max(last.psi_dot, np.max(found.error_velocity, initial=0.0)))
    singular = singular_positions(e, times, q, v)
    info["singular_positions"] = singular
    info["notes"] = (*info["notes"], *about_singular(singular, "the mechanism could go on in another branch there"))
    info["wall_s"] = perf_counter() - began
    return Trajectory(
        name=model.name,
        t=times,
        q=q,
        v=v,
        a=a,
        lam=lam,
        q_names=e.q_names,
        v_names=e.v_names,
        rows=tuple(str(row) for row in e.rows),
        energy={
            "kinetic": found.kinetic,
            "potential": found.potential,
            "dissipated": rows[:, n_q + n_v],
            "supplied": rows[:, n_q + n_v + 1],
        },
        outputs=found.outputs,
        error_position=found.error_position,
        error_velocity=found.error_velocity,
        info=info,
    )
