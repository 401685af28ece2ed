"""Many motions of one structure at once: made ready, advanced and evaluated in arrays with a row for each.

What is done here for all is what `Motion` does for one, in the same order and by the same programs. A motion that asks
for more (joints that have to be searched for, events, another method, a singular position) is left to `simulate`, with
the reason why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism
from linkwork.compiled.system import (
    EPS_FRAGILE,
    FRAGILE_LOOPS,
    LIGHT,
    MOST_OF_LIGHT,
    MOST_REPETITIONS,
    PLACES,
    UNSETTLED,
    UNSURE,
    System,
    compile_system,
    put_header,
    repetitions,
)
from linkwork.constraints import projection
from linkwork.equations.equations import DEAD, TIME, Equations
from linkwork.equations.implicit import N_WORK
from linkwork.equations.places import Places
from linkwork.equations.programs import BASIC
from linkwork.equations.solution import EPS
from linkwork.errors import ModelError
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic, substitute
from linkwork.expressions.graph import ZERO, Expr
from linkwork.integrators.block import Advanced, Track
from linkwork.integrators.integrate import Problem, Settings
from linkwork.integrators.lanes import Code, Team, lanes_for, refusal
from linkwork.native.kernels import size_of
from linkwork.native.lowering import NativeFunction
from linkwork.native.rows import evaluate_rows
from linkwork.readings import Quantity, Readings
from linkwork.simulation.judgement import ACCUMULATED, LIMIT
from linkwork.simulation.options import Choice
from linkwork.simulation.outputs import ENERGY, count_turns, euler_gap, fill_motions, rates
from linkwork.simulation.passages import SINGULAR
from linkwork.simulation.problem import MOST_TIMES, UNSEEN, Form, more_repetitions
from linkwork.start.branches import check_branch
from linkwork.start.closing import REACH, SMALL
from linkwork.tolerances import AGREEMENT, CLOSED, HALF_THE_DIGITS, NEGLIGIBLE, TYPED

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

PROJECTING = "constraints", "close", "align", "retract"  # what a projection calls, by addresses in p
GUARDING = "switches", "sampled"  # what steps look along


@dataclass(frozen=True, eq=False)
class Plan:
    """What motions of one structure have in common."""

    mechanism: Mechanism
    form: Form
    problem: Problem
    control: Settings
    times: Array
    stops: Sequence[float]
    max_steps: int
    assembles: bool = False  # as `Start` says
    is_driven: bool = False  # by drivers that take all freedoms
    complete: Callable[[Array], None] = lambda values: None  # puts what follows from the other values among them
    compile_beside: Callable[[Equations], System] = lambda e: compile_system(e, BASIC)

    @property
    def system(self) -> System:
        return self.form.system

    @property
    def equations(self) -> Equations:
        return self.system.equations

    @property
    def t_end(self) -> float:
        return float(self.times[-1])

    def track(self) -> Track | Team:
        """Make memory for one thread, in lanes where the problem lets it."""
        s, derivative = self.system, self.form.derivative
        n_p = s.first_of_parameters + s.functions["prepare"].outputs
        limits = n_p, self.times, self.control, self.stops, self.max_steps
        if refusal(self.problem):
            return Track(self.problem, *limits)
        # Free and driven motions have programs of one name: the code tells them apart.
        key = "lanes", derivative.name, derivative.code, self.problem.project and self.problem.project.address
        make = partial(compile_lanes, self.system, self.problem, lanes_for(derivative))
        return Team(self.problem, self.mechanism.shared.compiled(key, lambda _: make()), *limits)


def compile_lanes(system: System, problem: Problem, lanes: int) -> Code:
    """Compile machine code for so many motions of a problem at once."""
    derivative, by, guards = problem.derivative, problem.project, problem.guards
    assert isinstance(derivative, NativeFunction)
    assert by is None or isinstance(by, NativeFunction)
    needed = PROJECTING if by else ()
    code = system.in_lanes((derivative.name, *needed, *(GUARDING if guards else ()), "jumps"), lanes)
    in_p = {PLACES[name]: code[name].address for name in needed if name in code}
    project = {f.name: f for f in (projection.project, projection.measure)}[by.name] if by else None
    if guards:
        watch, sample = map(code.get, GUARDING)
        guards = guards._replace(watch=watch, sample=sample)
    return Code(lanes, code[derivative.name], project, guards, code.get("jumps"), in_p, [*code.values()])


@dataclass(frozen=True, eq=False)
class Begun:
    """Motions that are ready: where they start, parameters of the loop, of reports and exact ones, states, scales."""

    numbers: Rows  # of these among those that were to be made ready
    places: Places
    p: Array
    loop_p: Array
    exact: Array
    y: Array
    scale: Array
    rate: Array  # by which errors of velocities are measured

    def chosen(self, rows: NDArray[np.bool_]) -> Begun:
        """Choose some of these motions."""
        p, loop_p, exact, y = (x[rows] for x in (self.p, self.loop_p, self.exact, self.y))
        places = self.places.chosen(rows)
        return Begun(self.numbers[rows], places, p, loop_p, exact, y, self.scale[rows], self.rate[rows])


def begin(plan: Plan, values: Array, q: Mapping[str, Array], v: Mapping[str, Array]) -> tuple[Begun, list[str]]:
    """Begin motions with these values of parameters, and these of coordinates by name; say of each why it is
    not ready.
    """
    why = np.full(len(values), "", dtype="U16")
    plan.complete(values)
    places, numbers = stated_places(plan, values, q, v), np.arange(len(values))

    def leave(chosen: NDArray[np.bool_], reason: str) -> None:
        nonlocal places, numbers
        if chosen.any():
            why[numbers[chosen]] = reason
            places, numbers = places.chosen(~chosen), numbers[~chosen]

    leave(~(places.is_finite & np.isfinite(places.q).all(axis=1) & np.isfinite(places.v).all(axis=1)), "start")
    leave(~places.is_regular, "mass")
    closed, fits = find_starts(plan, places)
    places = closed
    leave(~fits, "start")
    leave(~places.is_regular, "mass")
    if plan.is_driven:
        leave((places.rank < len(plan.equations.v)) | (places.rank < places.m), "singular")
    leave(has_no_branch(places), "singular")  # of driven ones there is none any more
    p, exact, eps = measure(plan.system, plan.form.how, plan.form.header, places)
    s, n_q, n = plan.system, plan.system.n_q, plan.system.n_q + plan.system.n_v
    onto = projection.of_system(s)
    x = np.column_stack([np.zeros(len(p)), places.q, places.v, np.zeros((len(p), N_WORK))])
    y = np.ascontiguousarray(evaluate_rows(onto, x, p)[:, : n + N_WORK])
    loop_p = p.copy()
    accuracy = UNSEEN * plan.control.rtol
    put_header(loop_p, {"repetitions": counts(places.smallest, eps, accuracy) + more_repetitions(s)})
    length, rate = extents(plan, places, p)
    scale = np.where(plan.equations.lengths[:n], length[:, None], 1.0)
    if plan.equations.n_states:
        found = values_of(plan.equations, plan.equations.chart.state_scales, places)
        scale[:, n_q - plan.equations.n_states : n_q] = found
    scale[:, n_q:] *= rate[:, None]
    return Begun(numbers, places, p, loop_p, exact, y, scale, rate), why.tolist()


def values_of(e: Equations, outputs: Sequence[Expr], places: Places) -> Array:
    """Evaluate expressions of parameters, t, q and v at all places."""
    known = dict(zip(e.parameters, places.values.T, strict=True))
    known |= {TIME: 0.0, **dict(zip(e.q, places.q.T, strict=True)), **dict(zip(e.v, places.v.T, strict=True))}
    found = evaluate(outputs, known, numpy_arithmetic())
    return np.column_stack([np.broadcast_to(x, len(places.q)) for x in found])


def stated_places(plan: Plan, values: Array, q: Mapping[str, Array], v: Mapping[str, Array]) -> Places:
    """Return places as the model states them, but for these coordinates and velocities."""
    s, e = plan.system, plan.equations
    x = evaluate_rows(s.functions["start"], values, values)
    own_q, own_v, stated = np.split(x, [s.n_q, s.n_q + s.n_v], axis=1)
    if plan.is_driven:
        own_v = np.zeros_like(own_v)
    for given, columns, names in ((q, own_q, e.q_names), (v, own_v, e.v_names)):
        for name, column in given.items():
            columns[:, names.index(name)] = column
    return Places(e, s.functions, values, s.p_of_rows(values), own_q.copy(), own_v.copy(), stated)


def find_starts(plan: Plan, given: Places) -> tuple[Places, NDArray[np.bool_]]:
    """Find where motions start that are stated so, joints closed and velocities made to fit; and which do start there.

    As in start.closing: in other coordinates than those of the bodies these fit the joints first, and where loops are
    closed as triangles, all joints do.
    """
    chart = plan.equations.chart
    if chart.body is None:
        return close(plan.system, plan.form.how, given, plan.assembles)
    is_aligned, fits = given.rate <= CLOSED * given.speed, (given.gap <= CLOSED) & (given.departure <= CLOSED)
    good: NDArray[np.bool_] = np.asarray(fits & is_aligned & (given.reversal <= CLOSED).all(axis=1))
    others = np.flatnonzero(~good)
    if not len(others) or plan.equations.n_states:
        return given, good
    part = given.chosen(others)
    body = beside(plan, chart.body, "bodies")
    assert part.stated is not None
    q, v = np.split(part.stated, [len(chart.body.q)], axis=1)
    start, fit = close(
        body, plan.form.how, at(body, plan, part, q, np.zeros_like(v) if plan.is_driven else v), plan.assembles
    )
    whole = plan.equations if chart.tree is None else chart.tree
    system = plan.system if chart.tree is None else beside(plan, chart.tree, "tree")
    q, v = (values_of(body.equations, own, start) for own in whole.chart.from_body)
    found, closes = close(system, plan.form.how, at(system, plan, part, q, v), plan.assembles)
    fit = fit & closes
    values, q, v = part.values.copy(), found.q, found.v
    if chart.tree is not None:
        places = {x: k for k, x in enumerate(plan.equations.parameters)}
        sides = np.sign(values_of(system.equations, [dyad.side for dyad in chart.dyads], found))
        values[:, [places[dyad.sigma] for dyad in chart.dyads]] = sides
        q = q[:, [whole.q.index(x) for x in plan.equations.q]]
        v = v[:, [whole.v.index(x) for x in plan.equations.v]]
    own = replace(part, values=values, p=plan.system.p_of_rows(values), q=q.copy(), v=v.copy())
    if chart.tree is not None:
        fit = fit & (values_of(plan.equations, [dyad.margin for dyad in chart.dyads], own) > DEAD).all(axis=1)
        own, closes = close(plan.system, plan.form.how, own, plan.assembles)
        fit = fit & closes
    good[others] = fit
    return given.replaced(others, own), good


def beside(plan: Plan, e: Equations, name: str) -> System:
    """Return the equations in other coordinates, which starts are found in, with what closes them; driven ones in W."""
    shared = plan.mechanism.shared
    return shared.compiled(("starts", name, plan.is_driven), lambda _: plan.compile_beside(e.symbolic))


def at(system: System, plan: Plan, places: Places, q: Array, v: Array) -> Places:
    """Return states of a system that stands beside that of the plan, of the same parameters."""
    order = {x: k for k, x in enumerate(plan.equations.parameters)}
    values = np.ascontiguousarray(places.values[:, [order[x] for x in system.equations.parameters]])
    p = system.p_of_rows(values)
    return Places(system.equations, system.functions, values, p, np.array(q), np.array(v))


def close(system: System, how: Choice, given: Places, assembles: bool) -> tuple[Places, NDArray[np.bool_]]:
    """Return the places with joints closed and velocities made to fit, and which of them are good.

    What fits is left as it is, to the bit. Else Newton's iteration closes the joints from where they are stated, and
    then takes velocities from those that are stated, each by the least change in the metric of the system.
    """
    fits: NDArray[np.bool_] = np.asarray((given.gap <= CLOSED) & (given.reversal <= CLOSED).all(axis=1))
    is_aligned = np.asarray(given.rate <= CLOSED * given.speed)
    good, near = np.asarray(fits & is_aligned), (given.gap <= SMALL) & (given.reversal <= SMALL).all(axis=1)
    moved = np.flatnonzero(near & ~good & given.is_finite & given.is_regular)
    if not len(moved):
        return given, good
    start = given.chosen(moved)
    p, onto = measure(system, how, {}, start)[0], projection.of_system(system)
    n_q, n_v = start.q.shape[1], start.v.shape[1]

    def project(q: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        x = np.column_stack([np.zeros(len(q)), q, start.v, np.zeros((len(q), N_WORK))])
        found = evaluate_rows(onto, x, p)
        is_done = np.asarray(found[:, n_q + n_v + N_WORK + 3] == projection.CONVERGED)
        return found[:, :n_q], found[:, n_q : n_q + n_v], is_done

    q, _, converged = project(start.q)
    q = np.where(fits[moved][:, None], start.q, q)
    _, v, aligned = project(q)
    place = replace(start, q=q, v=start.v)
    v = np.where((place.rate <= CLOSED * place.speed)[:, None], start.v, v)
    place = replace(start, q=q, v=v)
    is_near = (np.abs(q - start.q) <= REACH * start.q_scale).all(axis=1) & place.is_finite
    is_closed = (place.gap <= HALF_THE_DIGITS) & (place.reversal <= HALF_THE_DIGITS).all(axis=1)
    good[moved] = converged & aligned & is_near & is_closed
    if not assembles:
        good[moved] &= ~has_other_velocities(start, place)
    return given.replaced(moved, place), good


def has_other_velocities(given: Places, place: Places) -> NDArray[np.bool_]:
    """Whether velocities that the model gives would change by more than SMALL, see start.closing."""
    e = given.equations
    shifts = [c.kind == "length" for c in e.velocities]
    turns = {x: ZERO for x, is_shift in zip(e.chart.start_v, shifts, strict=True) if not is_shift}
    of_model = evaluate_rows(given.functions["start"], given.values, given.values)[:, len(e.q) : len(e.q) + len(e.v)]
    as_stated = (of_model == given.v).all(axis=1)
    own = np.where(shifts, values_of(e, substitute(e.chart.start_v, turns), given), given.v)
    is_own = as_stated & (e.chart.body is None)
    stated = np.where(is_own[:, None], own, given.v)
    sizes = np.abs(stated) / given.v_scale
    stated = np.where(sizes > AGREEMENT * sizes.max(axis=1, initial=0.0)[:, None], np.abs(stated), 0.0)
    changes = np.abs(place.v - given.v)
    kinds = [(c.owner, c.kind) for c in e.velocities]
    fastest = np.column_stack([stated[:, [k == kind for k in kinds]].max(axis=1) for kind in kinds])
    return np.asarray(((fastest > 0.0) & (changes > SMALL * fastest)).any(axis=1))


def has_no_branch(places: Places) -> NDArray[np.bool_]:
    """Find where velocities at a singular position belong to no branch."""
    found = np.zeros(len(places.q), dtype=bool)
    for k in np.flatnonzero(places.rank < places.m):
        try:
            check_branch(places[int(k)])
        except ModelError:
            found[k] = True
    return found


def counts(smallest: Array, eps: Array, *accuracy: float) -> NDArray[np.int64]:
    """Count repetitions of the linear solution, of each motion."""
    known: dict[tuple[float, float], int] = {}
    pairs = [*zip(smallest.tolist(), eps.tolist(), strict=True)]
    for pair in pairs:
        if pair not in known:
            known[pair] = repetitions(*pair, *accuracy)
    return np.array([known[pair] for pair in pairs], dtype=np.int64)


def measure(s: System, how: Choice, about: Mapping[str, object], places: Places) -> tuple[Array, Array, Array]:
    """Find p with the scales, rank and eps of each place, the same with the least eps, and eps; see `measure_at`."""
    rank = places.rank
    fragile = FRAGILE_LOOPS * places.smallest**2 if s.equations.chart.kind == "joint" else 0.0
    eps = np.where(places.depend_only_here, np.maximum(EPS_FRAGILE, fragile), EPS)
    inertia = places.diagonal * places.v_scale**2
    is_light = inertia.min(axis=1, initial=np.inf) < LIGHT * inertia.max(axis=1, initial=0.0)
    most = np.where(is_light & (inertia.size > 0), MOST_OF_LIGHT, MOST_REPETITIONS)
    header: dict[str, object] = {
        **about,
        "repetitions": counts(places.smallest, eps) + more_repetitions(s),
        "most_repetitions": np.where(places.depend_only_here, 0, most),
    }
    scale = 1.0 / np.hstack([places.scales, places.row_scale])
    weakness = np.asarray((s.m - rank) * (1.0 + UNSURE) + UNSETTLED, dtype=np.float64)
    size, mobility = places.size, places.v_scale**2
    p = s.p_of_rows(places.values, scale, eps[:, None] * size, how.alpha, how.beta, weakness, mobility)
    put_header(p, header)
    exact = p
    if (eps != EPS).any():
        exact = s.p_of_rows(places.values, scale, EPS * size, 0.0, 0.0, weakness)
        put_header(exact, header)
    return p, exact, eps


def extents(plan: Plan, places: Places, p: Array) -> tuple[Array, Array]:
    """Find a length and a rate of each motion, see `Motion.find_extent`."""
    n_q, n, count = plan.system.n_q, plan.system.n_q + plan.system.n_v, len(p)
    x = np.column_stack([np.zeros(count), places.q, places.v, np.zeros((count, N_WORK))])
    a = np.abs(evaluate_rows(plan.form.dynamics, x, p)[:, n_q:n])
    length = np.where(places.arm > 0.0, places.arm, 1.0)
    by = np.where(plan.equations.lengths[n_q:n], length[:, None], 1.0)
    paces = np.hstack([np.abs(places.v) / by, np.sqrt(0.5 * a / by)])
    pace = np.fmax.reduce(paces, axis=1, initial=0.0)
    return length, np.minimum(np.where(pace * plan.t_end > TYPED, pace, 1.0 / plan.t_end), MOST_TIMES / plan.t_end)


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Report rows of motions, each (t, q, v, a, lam), the work done, and what was found at them."""

    x: Array
    work: Array
    outputs: Array
    gap: Array
    rate: Array
    contradiction: Array
    log_det: Array
    extremes: Array


def evaluate_motions(plan: Plan, begun: Begun, advanced: Advanced, chosen: Rows) -> Evaluated:
    """Evaluate the motions at some of their report times."""
    s = plan.system
    n, count, n_rows = s.n_q + s.n_v, len(begun.p), len(chosen)
    ny, width, n_out = n + N_WORK, 1 + n + s.n_v + s.m, s.functions["report"].outputs
    x, rows = np.empty((count, n_rows, width)), advanced.rows[:, chosen]
    x[:, :, 0], x[:, :, 1 : 1 + n] = plan.times[chosen], rows[:, :, :n]
    outputs, measured = np.empty((count, n_rows, n_out)), np.empty((count, 4, n_rows))
    extremes = np.zeros((count, 2, width))
    inner = max(plan.form.dynamics.work, s.functions["report"].work, s.functions["close"].work)
    w = np.empty(size_of(rates, ny, s.m) + s.functions["close"].outputs + inner)
    given = begun.p.shape[1], begun.p.copy(), begun.exact.copy()
    fill_motions(count, n_rows, ny, *given, x, np.empty((n_rows, s.n_q)), outputs, measured, extremes, w)
    found = outputs[:, :, : n_out - 2 * s.m]
    gap, rate, contradiction, log_det = np.moveaxis(measured, 1, 0)
    return Evaluated(x, rows[:, :, n:], found, gap, rate, contradiction, log_det, extremes)


def doubts(plan: Plan, begun: Begun, advanced: Advanced, at: Evaluated) -> list[str]:
    """Say of each motion what speaks against it, see `is_beyond_doubt`; a singular position that it may have passed."""
    s, places = plan.system, begun.places
    residual = np.maximum(advanced.residuals[:, 1], advanced.residuals[:, 2] / begun.rate)
    is_closed = residual <= AGREEMENT * np.minimum(places.length, 1.0)
    kinetic, potential = at.outputs[:, :, 0], at.outputs[:, :, 1]
    dissipated, supplied = at.work[:, :, 0], at.work[:, :, 1]
    total = kinetic + potential + dissipated - supplied
    worst = np.abs(total - total[:, :1]).max(axis=1)
    forms = np.stack([kinetic, potential, dissipated, supplied])
    first, most, least = forms[:, :, 0], forms.max(axis=2), forms.min(axis=2)
    turned_over = np.maximum(most[0], np.maximum(most - first, first - least).max(axis=0))
    largest = np.maximum(most.max(axis=0), -least.min(axis=0))
    good = np.isfinite(at.outputs).all(axis=(1, 2))
    if not plan.is_driven:
        good &= is_closed
        good &= worst <= LIMIT * turned_over + ACCUMULATED * largest
        good &= contradictions(s, places, at) <= LIMIT
    reasons = np.where(good, "", "doubtful")
    reasons[good & may_pass_singular(s, at)] = "singular"
    return [str(x) for x in reasons]


def contradictions(s: System, places: Places, at: Evaluated) -> Array:
    """See `find_contradiction`."""
    if not s.m:
        return np.zeros(len(places.q))
    n = s.n_q + s.n_v
    largest, sizes = at.contradiction.max(axis=1), np.abs(at.extremes)
    v, a, lam = sizes[:, :, 1 + s.n_q : 1 + n], sizes[:, :, 1 + n : 1 + n + s.n_v], sizes[:, :, 1 + n + s.n_v :]
    held = (lam * (places.size / places.row_scale)[:, None]).max(axis=(1, 2))
    size = (a / places.v_scale[:, None]).max(axis=(1, 2)) + (v / places.v_scale[:, None]).max(axis=(1, 2)) ** 2
    found = np.where(largest > NEGLIGIBLE * held, largest, 0.0)
    return np.where(size > 0.0, found / np.where(size > 0.0, size, 1.0), found)


def may_pass_singular(s: System, at: Evaluated) -> NDArray[np.bool_]:
    """Whether the determinant falls anywhere so fast that it could vanish, see `find_singular`."""
    log_det = at.log_det
    found = np.zeros(len(log_det), dtype=bool)
    if s.m == 0 or log_det.shape[1] < 3:
        return found
    lowest, highest = log_det.min(axis=1), log_det.max(axis=1)
    spread = highest - lowest
    found = np.isfinite(spread) & (3.0 * np.exp(-0.5 * spread) <= 2.0 + SINGULAR)
    values = np.exp(0.5 * (log_det - highest[:, None]))
    padded = np.concatenate([values[:, :1], values, values[:, -1:]], axis=1)
    before, after = padded[:, :-2], padded[:, 2:]
    fall = np.maximum(before, after) - values
    candidates = (values <= before) & (values <= after) & (values <= 2.0 * fall + SINGULAR)
    return np.asarray(found & candidates.any(axis=1))


class Motions(Readings):
    """Report rows of many motions by the names of results: arrays with a row for each motion."""

    def __init__(self, plan: Plan, at: Evaluated, times: Array) -> None:
        self.name, self.t = plan.mechanism.model.name, times
        e, x, m = plan.equations, at.x, plan.system.m
        ends = np.cumsum([1, len(e.q), len(e.v), len(e.v), m]).tolist()
        blocks = [x[:, :, a:b] for a, b in pairwise(ends)]
        tables = dict(zip((*e.chart.state, "lam"), blocks, strict=True))
        first = 2
        for kind in e.outputs:
            columns = at.outputs[:, :, first : first + len(e.columns[kind].labels)]
            turning = e.turning_outputs.get(kind)
            tables[kind] = count_turns(times, columns, turning) if turning else columns
            first += len(e.columns[kind].labels)
        self._found = {"t": Quantity(np.broadcast_to(times, x.shape[:2]), "s")}
        for kind, values in tables.items():
            _, names, units = e.columns[kind]
            self._found |= {n: Quantity(values[:, :, k], u) for k, (n, u) in enumerate(zip(names, units, strict=True))}
        energies = at.outputs[:, :, 0], at.outputs[:, :, 1], at.work[:, :, 0], at.work[:, :, 1]
        self._found |= {name: Quantity(values, "J") for name, values in zip(ENERGY.names, energies, strict=True)}
        total = energies[0] + energies[1] + energies[2] - energies[3]
        self._found["energy:drift"] = Quantity(total - total[:, :1], "J")
        self._found["error:velocity"] = Quantity(at.rate, "m/s, rad/s")
        gap, model = at.gap, plan.mechanism.model
        if model.space == "spatial":
            gap = np.maximum(gap, euler_gap(tables["q"], len(model.bodies)))
        self._found["error:position"] = Quantity(gap, "m, rad")

    @property
    def quantities(self) -> dict[str, Quantity]:
        return self._found

    def __getitem__(self, name: str) -> Array:
        return self.t if name == "t" else super().__getitem__(name)

    def rates_of(self, name: str) -> tuple[str, ...]:
        return ()
