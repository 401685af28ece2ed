"""Inverse dynamics: the forces of actuators that make a mechanism move as it is told to.

Of a motion q, v, a the equations  M a + Psi_q^T lam = Q + B tau  are linear in lam and tau, where Psi_q has the rows of
the joints alone and B^T v are the rates of what the actuators push. With V the velocities that the joints allow,

    V^T (M a - Q) = V^T B tau,    Psi_q V = 0

so that as many actuators as there are freedoms, chosen so that V^T B_c is regular, need the forces tau_c of

    [ W    C^T  ] [ x           ]   [ M a - Q - B_s tau_s ]
    [ C    -eps ] [ -lam, tau_c ] = [ 0                   ]      C = [Psi_q; B_c^T]

repeated as in equations/solution.py, until x is zero: rows that depend on others need no special case. Of the actuators
that are left over, each takes beta = V^T B_s from those that were chosen, and the sum of weight tau^2 is least where

    tau_c = tau_c0 - beta tau_s,    (D_s + beta^T D_c beta) tau_s = beta^T D_c tau_c0,    D the weights

                                                        [featherstone2008, ch. 8; nakamura1989]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.compiled.system import MOST_REPETITIONS, System, compile_system, header
from linkwork.driven.kinematics import ARM, MASS, in_metric, kinematics
from linkwork.elements.actuators import Asked, Tried
from linkwork.elements.events import closed
from linkwork.elements.motions import Table
from linkwork.equations.equations import TIME, Equations, Output
from linkwork.equations.linear import multiply
from linkwork.equations.place import Place
from linkwork.equations.programs import LOCAL, Source, close, report
from linkwork.errors import ModelError, NumericalStop, UsageError, checked_call, did_you_mean, quoted
from linkwork.expressions.evaluation import evaluate, ordered
from linkwork.expressions.graph import ZERO, Expr, as_expr, less, select, sqrt, symbol
from linkwork.linalg.vectors import copy
from linkwork.model import Model
from linkwork.native import cache
from linkwork.native.kernels import Pointer, call, kernel, offset
from linkwork.notes import Note, Reason
from linkwork.records import kept
from linkwork.sequences.sequence import ComputationSequence
from linkwork.simulation.outputs import hold, trajectory
from linkwork.simulation.outputs import report as evaluate_report
from linkwork.simulation.simulate import simulate
from linkwork.start.check import check
from linkwork.start.freedoms import list_motions, path_of_fastest, reduce_basis, share_freedoms
from linkwork.tolerances import HALF_THE_DIGITS, ROUNDING, SIZABLE, TYPED
from linkwork.trajectory import Run, Trajectory

Array = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]

MARK = "actuator:"  # before the names of what stands for actuators, as no file names anything


@checked_call()
@np.errstate(all="ignore")  # what is not finite is looked for where it matters
def inverse(
    model: Model | Mechanism,
    parameters: Mapping[str, float | str] | None = None,
    *,
    motion: Trajectory | str | Path | None = None,
    t_end: float | str | None = None,
    step: float | str | None = None,
    assemble: bool = False,
    progress: Callable[[float, float], None] | None = None,
) -> Trajectory:
    """Find the forces that actuators need for a motion: `actuator:NAME`, their powers, and all reactions.

    The `motion` is a result of `kinematics` or `simulate`, or a file of one; or a table of measured positions, whose
    columns name coordinates, points or freedoms of joints, as many as there are freedoms: they are smoothed. Without
    it, the drivers of the model prescribe it until `t_end`, reported every `step`; they exert no forces, wherever they
    act. `parameters` are other values of those that the model names, `assemble` allows a start that is far from closed.
    """
    began, compiling = perf_counter(), cache.seconds()
    mechanism = prepare(model).changed(parameters or {})
    check_actuators(mechanism.model)
    acted = Acted(mechanism, prescribe(mechanism, motion, t_end, step, assemble, progress))
    return conclude(acted, mechanism, began, compiling)


def check_actuators(model: Model) -> None:
    """Raise UsageError of a model without actuators."""
    if not model.actuators:
        hint = "add actuators: {m: {joint: O}} to its file, m.actuator('m', joint) in Python, or ask `kinematics`"
        raise UsageError(f"'{model.name}' has no actuators whose forces could be asked for; {hint}", "no-actuators")


def prescribe(
    mechanism: Mechanism,
    motion: Trajectory | str | Path | None,
    t_end: float | str | None,
    step: float | str | None,
    assemble: bool,
    progress: Callable[[float, float], None] | None,
) -> Trajectory:
    """Return the motion: as it is given, from a file, through measured positions, or by the drivers."""
    if motion is not None and not isinstance(motion, Trajectory | str | Path):
        hint = "motions by formulas are drivers of the model"
        raise UsageError(f"motion = {motion!r:.60} is not a motion or a file of one; {hint}", "bad-value")
    if motion is not None and (t_end is not None or step is not None):
        raise UsageError("a motion that is given has its own times", "no-effect")
    if isinstance(motion, str | Path):
        from linkwork.resultfile import SUFFIXES, is_result

        path = Path(motion)
        if path.suffix.lower() == ".csv" and not is_result(path):
            from linkwork.driven.measured import follow

            return follow(mechanism.model, path, assemble)
        if path.suffix.lower() not in SUFFIXES:
            raise UsageError(f"cannot read '{path}': motions are .nc or .csv files", "unknown-suffix")
        motion = Trajectory.load(path)
    if motion is not None:
        if not isinstance(motion, Trajectory):
            raise UsageError(f"{motion!r} is not a motion; give a result or the name of its file", "bad-value")
        if assemble:
            raise UsageError("a motion that is given has its own start", "no-effect")
        return motion
    if mechanism.equations.slips and check(mechanism, assemble=assemble).dof == 0:
        return simulate(mechanism, t_end=t_end, step=step, progress=progress)  # positions follow from velocities
    return kinematics(mechanism, t_end=t_end, step=step, assemble=assemble, progress=progress)


def read_motion(e: Equations, motion: Trajectory) -> tuple[Array, Array, Array]:
    """Read q, v and a of the bodies of these equations; UsageError if the motion is that of others."""
    if not len(motion.t) or not np.all(np.diff(motion.t) > 0.0):
        message = f"the motion of '{motion.name}' has no rows, or times that do not rise"
        raise UsageError(message, "empty-trajectory")
    tables = {kind: motion.columns(kind) for kind in ("q", "v", "a")}
    tables["q"] = {**motion.columns("joints"), **tables["q"]}  # where angles in space are counted
    names = {"q": e.q_names, "v": e.v_names, "a": e.v_names}
    for kind, own in names.items():
        if missing := [name for name in own if name not in tables[kind]]:
            hint = did_you_mean(missing[0], tables[kind]) or f"it is one of '{motion.name}'"
            raise UsageError(f"the motion has no '{missing[0]}'; {hint}", "other-motion")
    q, v, a = (np.column_stack([tables[kind][name] for name in own]) for kind, own in names.items())
    return q, v, a


def actuation(s: Source) -> ComputationSequence:
    """Return (t, q, v, a, lam) -> lam improved, and what part of the forces is held by none, in the metric W^-1."""
    e = s.loaded
    assert e is not None
    n, m = len(e.v), len(e.Psi)
    rest = [Q - used for Q, used in zip(e.Q, multiply(e, [*e.a, *e.lam])[:n], strict=True)]
    found = s.factor.solve([*rest, *[ZERO] * m])
    improved = [old + new for old, new in zip(e.lam, found[n:], strict=True)]
    needed = [Q - used for Q, used in zip(e.Q, multiply(e, [*e.a, *[ZERO] * m])[:n], strict=True)]
    W = [s.equations.M[i, i] for i in range(n)]
    left = sum((w * x * x for w, x in zip(W, found, strict=False)), ZERO)
    whole = sum((f * f / w for w, f in zip(W, needed, strict=True)), ZERO)
    unheld = select(less(ZERO, whole), sqrt(left / whole), ZERO)
    return ComputationSequence("actuation", (TIME, *e.q, *e.v, *e.a, *e.lam), [*improved, unheld])


@kernel
def fill_forces(
    n_rows: int,
    n_held: int,
    repetitions: int,
    settled: float,
    actuation: int,
    x: Pointer,
    held: Pointer,
    p: Pointer,
    found: Pointer,
    w: Pointer,
) -> None:
    """Fill lam into every row (t, q, v, a, lam) of x, with its held values; `found` is as `actuation` returns it."""
    about = header(p)
    n, m = about.n_v, about.m
    width = 1 + about.n_q + 2 * n + m
    for k in range(n_rows):
        hold(p, offset(held, k * n_held), n_held)
        row, improved = offset(x, k * width), offset(found, k * (m + 1))
        lam = offset(row, width - m)
        for i in range(m):
            lam[i] = 0.0
        for _ in range(repetitions):
            call(actuation, row, p, improved, w)
            change, size = 0.0, 0.0
            for i in range(m):
                change, size = max(change, abs(improved[i] - lam[i])), max(size, abs(improved[i]))
            copy(improved, lam, m)
            if change <= settled * size:
                break


def free(e: Equations) -> Equations:
    """Return the equations with the joints alone: actuators are forces of held sizes, and results of their own."""
    e, sizes = e.with_rows(np.flatnonzero(~of_actuators(e)).tolist()), dict[str, Output]()
    loads: dict[str, Output] = {}
    for label, output in e.outputs["loads"].items():
        quantity, _, element = label.partition(":")
        name = element.removeprefix(MARK)
        if name == element:
            loads[label] = output
        elif quantity == "power":
            loads[f"power:{name}"] = output
        else:
            sizes[name] = output
    work = {form: Output(rate, "W") for form, rate in zip(("dissipated", "supplied"), e.work_rates, strict=True)}
    outputs = {kind: own for kind, own in e.outputs.items() if kind != "driving"}
    return replace(e, outputs={**outputs, "loads": loads, "actuators": sizes, "work": work})


def undriven(model: Model) -> Model:
    """Return the model without its drivers, and without what asks for their forces."""

    def asks(formula: Expr) -> bool:
        return any(node.op == "symbol" and str(node.value).startswith("driving") for node in ordered([formula]))

    outputs = tuple(x for x in model.outputs if not asks(as_expr(x.formula)))
    events = tuple(x for x in model.events if not asks(x.when))
    return replace(model, drivers=(), outputs=outputs, events=events)


def of_actuators(e: Equations) -> NDArray[np.bool_]:
    """Tell which rows are what actuators push."""
    return np.array([row.element.startswith(MARK) for row in e.rows], dtype=bool)


class Acted:
    """A mechanism without its drivers whose actuators act, at the instants of a motion."""

    def __init__(self, told: Mechanism, motion: Trajectory) -> None:
        model = told.model
        if names := [event.name for event in model.events if event.release or event.engage or event.inputs]:
            message = f"{quoted(names)} would change joints or inputs, and a motion does not say when"
            raise UsageError(f"{message}; leave out such events", "driven-events")
        self.actuators = model.actuators
        tried = [Tried(MARK + own.name, own.unit, symbol(f"{MARK}{own.name} size'")) for own in self.actuators]
        self.mechanism = prepare(
            replace(
                undriven(model),
                drivers=cast(Any, tuple(Asked(own.name, own) for own in tried)),
                forces=(*model.forces, *tried),
                actuators=(),
                events=(),
                simulation=replace(model.simulation, start={}, rate={}, coordinates="body", cut=()),
            )
        )
        e = self.equations = self.mechanism.equations
        self.asked = of_actuators(e)
        constant = {x.name for x in model.inputs if x.every is None}.difference(model.functions)  # they stay as given
        held = [str(x.value) for x in e.held]
        if names := [name for name in held if not name.startswith(MARK) and name not in constant]:
            message = f"{quoted(names)} change while a mechanism moves, and a motion does not say how"
            raise UsageError(f"{message}; leave out what has a memory", "driven-events")
        self.of_size = [e.held.index(as_expr(own.size)) for own in tried]
        self.of_closed = [e.held.index(closed(own.name)) for own in tried]
        values = {symbol(name): value for name, value in model.parameters.items()}
        self.weights = np.array(evaluate([as_expr(own.weight) for own in self.actuators], values), dtype=float)
        self.t = motion.t
        self.rows = np.column_stack([motion.t, *read_motion(e, motion), np.zeros((len(motion.t), len(e.Psi)))])
        self.start = self.place(0)
        inertia = self.start.mass.diagonal / np.where(e.turning, self.start.length**2, 1.0)
        self.metric = {ARM: self.start.length, MASS: float(inertia.max(initial=0.0)) or 1.0}

    def place(self, k: int) -> Place:
        """Return an instant of the motion."""
        n, row = len(self.equations.q), self.rows[k]
        return Place(self.equations, row[1 : 1 + n], row[1 + n : 1 + n + len(self.equations.v)], float(row[0]))

    def system(self, name: str, build: Callable[[Equations], System]) -> System:
        """Return machine code that all mechanisms of this structure share."""
        code: System = self.mechanism.shared.compiled((name,), build)
        return code.with_values(code.equations.with_values({**self.equations.parameters, **self.metric}))

    @kept
    def solver(self) -> tuple[System, Array]:
        """Return the program `actuation`, and p."""
        system = self.system("inverse", lambda e: compile_system(in_metric(e), (actuation,), loaded=e))
        return system, system.p(Place(system.equations, self.start.q, self.start.v, self.start.t))

    def hold(self, chosen: NDArray[np.bool_], sizes: Array) -> Array:
        """Hold values at the instants: the sizes of actuators, and whether their forces are asked for."""
        e = self.equations
        held = np.tile([e.parameters[x] for x in e.held], (len(sizes), 1))
        held[:, self.of_size], held[:, self.of_closed] = sizes, chosen
        return held

    def solve(self, which: Indices, chosen: NDArray[np.bool_], sizes: Array) -> tuple[Array, Array, Array]:
        """Solve for lam, the forces (of given size if not chosen) and what no actuator holds, at some instants."""
        system, p = self.solver
        f, m = system.functions["actuation"], system.m
        x, found, w = self.rows[which], np.empty((len(which), m + 1)), np.empty(f.work)
        held = self.hold(chosen, sizes)
        fill_forces(len(x), held.shape[1], MOST_REPETITIONS, ROUNDING, f.address, x, held, p.copy(), found, w)
        lam = found[:, :m]
        return lam, np.where(chosen, -lam[:, self.asked], sizes), found[:, m]

    def share(self) -> Shared:
        """Return lam and the forces of the actuators at all instants."""
        every, first = np.arange(len(self.t)), self.choose_first()
        chosen = np.broadcast_to(first, (len(every), len(first)))
        found = self.share_among(every, chosen)
        if (again := np.flatnonzero(found.is_doubtful)).size and not first.all():
            # Near a singular position of those that were chosen others hold it better.
            others = [self.choose(self.place(int(k))) for k in again]
            chosen = np.array([first if own is None else own for own in others])
            better = self.share_among(again, chosen)
            for old, new in zip(found, better, strict=True):
                old[again] = new
        if found.is_stuck.any():
            raise self.explain_singular(self.place(int(np.argmax(found.is_stuck))))
        return found

    def share_among(self, which: Indices, chosen: NDArray[np.bool_]) -> Shared:
        """Share the forces at some instants with these chosen; the others make the sum of weight tau^2 least."""
        nothing = np.zeros(chosen.shape)
        lam, tau, unheld = self.solve(which, chosen, nothing)
        beta = np.zeros((*chosen.shape, chosen.shape[1]))
        largest = np.abs(tau).max(axis=1)
        unit = np.where(largest > 0.0, largest, 1.0)
        for s in np.flatnonzero(~chosen.all(axis=0)):
            sizes = nothing.copy()
            sizes[:, s] = np.where(chosen[:, s], 0.0, unit)
            beta[:, :, s] = np.where(chosen, tau - self.solve(which, chosen, sizes)[1], 0.0) / unit[:, None]
        scale = np.where([own.kind == "length" for own in self.actuators], self.start.length, 1.0)
        if not chosen.all():
            G = np.einsum("kcs,c,kct->kst", beta, self.weights, beta) + np.diag(self.weights)
            right = np.einsum("kcs,c,kc->ks", beta, self.weights, tau)
            taken = np.linalg.solve(G, right[:, :, None])[:, :, 0]
            lam, tau, unheld = self.solve(which, chosen, np.where(chosen, 0.0, taken))
        beta = np.abs(beta) * scale[:, None] / scale
        is_stuck = ~(unheld <= HALF_THE_DIGITS)
        is_doubtful = is_stuck | (SIZABLE * beta.max(axis=(1, 2), initial=0.0) > 1.0)
        is_shared = ~chosen | (beta.max(axis=2, initial=0.0) > TYPED)
        return Shared(lam, tau, is_shared, is_doubtful, is_stuck)

    def choose(self, place: Place) -> NDArray[np.bool_] | None:
        """Return which actuators take the freedoms at a place, as many as there are, those that do it best; None if
        none do.

        V^T B is decomposed with pivoting, on the scales of the mechanism.
        """
        from scipy.linalg import qr

        taken = share_freedoms(place, self.asked)
        if taken.loose.size:
            return None
        count, freedoms = taken.share.shape
        if not freedoms:
            raise UsageError(f"the joints of '{self.mechanism.model.name}' leave nothing to be moved", "no-freedom")
        return np.isin(np.arange(count), qr(taken.share.T, mode="r", pivoting=True)[1][:freedoms])

    def choose_first(self) -> NDArray[np.bool_]:
        """Return those that take the freedoms somewhere; raise ModelError with the freedoms that no actuator moves."""
        for k in (0, len(self.t) // 2, len(self.t) - 1):
            if (chosen := self.choose(self.place(k))) is not None:
                return chosen
        e, loose = self.equations, share_freedoms(self.start, self.asked).loose
        basis = reduce_basis(e, loose)
        several = basis.shape[1] > 1
        raise ModelError(
            f"no actuator drives {f'{basis.shape[1]} freedoms' if several else 'a freedom'}: {list_motions(e, basis)}",
            "undriven",
            path=path_of_fastest(e, basis[:, 0]),
            value=basis.shape[1],
            rule="inverse dynamics needs an actuator for every freedom that the joints leave",
            suggestion="add actuators, or joints that hold it",
        )

    def explain_singular(self, place: Place) -> NumericalStop:
        """Find what the actuators do not hold at an instant."""
        e, loose = self.equations, share_freedoms(place, self.asked).loose
        ways = list_motions(e, reduce_basis(e, loose)) if loose.size else ""
        reason = Reason("actuators-singular", t=place.t, motions=ways)
        return NumericalStop(reason, reason.code, t=place.t)


class Shared(NamedTuple):
    """At every instant lam, the forces of the actuators, which of them others could share, and what is wrong."""

    lam: Array
    tau: Array
    is_shared: NDArray[np.bool_]
    is_doubtful: NDArray[np.bool_]
    is_stuck: NDArray[np.bool_]


def conclude(acted: Acted, told: Mechanism, began: float, compiling: float) -> Trajectory:
    """Return the motion with forces, powers, reactions and energies."""
    shared = acted.share()
    system = acted.system("inverse report", lambda e: compile_system(in_metric(free(e)), (*LOCAL, close, report)))
    place = Place(system.equations, acted.start.q, acted.start.v, acted.start.t)
    e, t, model = system.equations, acted.t, told.model
    x = np.hstack([acted.rows[:, : 1 + len(e.q) + 2 * len(e.v)], shared.lam[:, ~acted.asked]])
    found = evaluate_report(system, system.p(place), x, acted.hold(np.ones(shared.tau.shape, dtype=bool), shared.tau))
    if (k := int(found.gap.argmax())) >= 0 and not found.gap[k] <= TYPED * place.length:
        message = f"the motion does not fit the joints of '{model.name}': at t = {t[k]:.6g} they are open by"
        raise UsageError(f"{message} {found.gap[k]:.3g}; take a motion of this model", "other-motion")
    work = integrate(t, found.outputs[:, -2:])
    names = [own.name for own, is_shared in zip(acted.actuators, shared.is_shared.T, strict=True) if is_shared.any()]
    info = Run(
        model=model.name,
        analysis="inverse",
        formulation="inverse",
        stabilization="none",
        t_end=float(t[-1]),
        dof=system.n_v - place.rank.rank - e.chart.unseen,
        redundant=place.rows.redundant,
        constraint_error_position=0.0,
        constraint_error_velocity=0.0,
        status="finished",
        notes=(*told.notes, *([Note("actuators-not-unique", actuators=names)] if names else ())),
        parameters=dict(model.parameters),
        units=model.units,
        compile_s=cache.seconds() - compiling,
        wall_s=perf_counter() - began,
    )
    made = trajectory(system, t, x, work, found, info, undriven(model), place)
    return replace(made, tables={kind: table for kind, table in made.tables.items() if kind != "work"})


def integrate(t: Array, rates: Array) -> Array:
    """Integrate rates from the first time on, by splines through them."""
    from scipy.interpolate import CubicSpline

    if len(t) < 2:
        return np.zeros_like(rates)
    return np.asarray(CubicSpline(t, rates).antiderivative()(t))


@checked_call()
def actuated(model: Model, forces: Trajectory | str | Path) -> Model:
    """Return the model without its drivers, moved by the forces that `inverse` found for its actuators, from where
    they begin.

    Between their instants forces follow cubic splines. Simulated, it repeats the motion that the forces belong to.
    """
    found = forces if isinstance(forces, Trajectory) else Trajectory.load(forces)
    model = getattr(model, "model", model)  # of one that is being built
    known = found.columns("actuators") if "actuators" in found.tables else {}
    if missing := [own.name for own in model.actuators if own.name not in known]:
        message = f"the result of '{found.name}' has no forces of {quoted(missing)}"
        raise UsageError(f"{message}; take one of `inverse` of this model", "other-motion")
    check_actuators(model)
    if len(found.t) < 2 or found.t[0] != 0.0:
        raise UsageError(f"forces are known at {len(found.t)} times, and a run begins at t = 0", "out-of-range")
    q, v = (dict(zip(names, rows[0].tolist(), strict=True)) for names, rows in _state(found))
    start, times = model.with_start(q, v), tuple(found.t.tolist())
    laws = {name: Table(times, tuple(tau.tolist())).f(TIME) for name, tau in known.items()}
    settings = replace(start.simulation, t_end=min(start.simulation.t_end, times[-1]))
    actuators = tuple(replace(own, size=laws[own.name]) for own in start.actuators)
    return replace(undriven(start), actuators=actuators, simulation=settings)


def _state(motion: Trajectory) -> Iterator[tuple[tuple[str, ...], Array]]:
    yield motion.q_names, motion.q
    yield motion.v_names, motion.v
