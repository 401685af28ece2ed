"""Many motions of one structure at once: made ready, advanced and evaluated in arrays with a row for each.

What is done here for all is what `Motion` does for one, in the same order and by the same programs. A motion that asks
for more (joints that have to be searched for, events, another method, a singular position) is left to `simulate`, with
the reason why.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

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
)
from linkwork.constraints import projection
from linkwork.equations.equations import DEAD, TIME, Equations
from linkwork.equations.implicit import N_WORK
from linkwork.equations.place import aside
from linkwork.equations.places import Places
from linkwork.equations.programs import BASIC
from linkwork.equations.solution import EPS
from linkwork.errors import ModelError
from linkwork.expressions import evaluation
from linkwork.expressions.evaluation import numpy_arithmetic, substitute
from linkwork.expressions.graph import ZERO, Expr
from linkwork.integrators.block import Advanced, Track
from linkwork.integrators.integrate import Problem, Settings
from linkwork.integrators.lanes import Code, Team, lanes_for, refusal
from linkwork.native.lowering import NativeFunction
from linkwork.native.rows import evaluate_rows
from linkwork.readings import Quantity, Readings
from linkwork.records import kept
from linkwork.simulation.judgement import ACCUMULATED, LIMIT
from linkwork.simulation.options import Choice
from linkwork.simulation.outputs import ENERGY, count_turns, euler_gap
from linkwork.simulation.passages import SINGULAR
from linkwork.simulation.problem import MOST_TIMES, UNSEEN, Form, more_repetitions
from linkwork.simulation.reports import REPORTING, Column, Evaluated, columns_of, evaluate
from linkwork.start.branches import check_branch
from linkwork.start.closing import REACH, SMALL
from linkwork.tolerances import AGREEMENT, CLOSED, EPSILON, HALF_THE_DIGITS, NEGLIGIBLE, TYPED

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

PROJECTING = "constraints", "close", "align", "retract"  # what a projection calls, by addresses in p
GUARDING = "switches", "sampled"  # what steps look along
NOTHING = np.empty(0)


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

    @kept
    def columns(self) -> Mapping[str, Column]:
        return columns_of(self.system)

    @kept
    def code(self) -> Code | None:
        """Machine code for lanes, where the problem lets it."""
        if refusal(self.problem):
            return None
        # Free and driven motions have programs of one name: the code tells them apart.
        derivative, by = self.form.derivative, self.problem.project
        key = "lanes", derivative.name, derivative.code, by and by.address
        make = partial(compile_lanes, self.form, self.problem, lanes_for(derivative))
        found: Code = self.mechanism.shared.compiled(key, lambda _: make())
        return found

    def track(self) -> Track | Team:
        """Make memory for one thread."""
        s = self.system
        n_p = s.first_of_parameters + s.functions["prepare"].outputs
        limits = n_p, self.times, self.control, self.stops, self.max_steps
        return Team(self.problem, self.code, *limits) if self.code else Track(self.problem, *limits)


def compile_lanes(form: Form, problem: Problem, lanes: int) -> Code:
    """Compile machine code for so many motions of a problem, and for their reports, at once."""
    derivative, by, guards, dynamics = problem.derivative, problem.project, problem.guards, form.dynamics
    assert isinstance(derivative, NativeFunction)
    assert by is None or isinstance(by, NativeFunction)
    needed = (*REPORTING, *(PROJECTING if by else ()))
    code = form.system.in_lanes(
        (derivative.name, dynamics.name, *needed, *(GUARDING if guards else ()), "jumps"), lanes
    )
    in_p = {PLACES[name]: code[name].address for name in needed if name in code}
    in_p[PLACES["dynamics"]] = code[dynamics.name].address
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
    if q or v:  # which hold, so that others are moved
        fits = fits & (closed.q == places.q).all(axis=1) & (closed.v == places.v).all(axis=1)
    places = closed
    leave(~fits, "start")
    leave(~places.is_regular, "mass")
    if plan.is_driven:
        leave((places.rank < len(plan.equations.v)) | (places.rank < places.m), "singular")
    p, exact, eps = measure(plan.system, plan.form.how, plan.form.header, places)
    a = accelerations(plan, places, p)
    lost = has_no_branch(places, a)  # of driven ones there is none any more
    if lost.any():
        leave(lost, "singular")
        p, exact, eps, a = p[~lost], p[~lost] if exact is p else exact[~lost], eps[~lost], a[~lost]
    s, n_q, n = plan.system, plan.system.n_q, plan.system.n_q + plan.system.n_v
    onto = projection.of_system(s)
    x = np.column_stack([np.zeros(len(p)), places.q, places.v, np.zeros((len(p), N_WORK))])
    y = np.ascontiguousarray(evaluate_rows(onto, x, p)[:, : n + N_WORK])
    loop_p = p.copy()
    accuracy = UNSEEN * plan.control.rtol
    put_header(loop_p, {"repetitions": repetitions_of(places.smallest, eps, accuracy) + more_repetitions(s)})
    length, rate = extents(plan, places, a)
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
    found = evaluation.evaluate(outputs, known, numpy_arithmetic())
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


def has_no_branch(places: Places, a: Array) -> NDArray[np.bool_]:
    """Find where velocities at a singular position belong to no branch; the accelerations are a."""
    found = places.rank < places.m
    if found.any():
        found[found] = ~follow_branch(places.chosen(found), a[found])
    for k in np.flatnonzero(found):
        try:
            check_branch(places[int(k)])
            found[k] = False
        except ModelError:
            pass
    return found


def follow_branch(places: Places, a: Array) -> NDArray[np.bool_]:
    """Whether velocities, or from rest accelerations, are seen at once to satisfy u . gamma = 0, see `check_branch`."""

    def fastest(v: Array) -> Array:
        return np.asarray(np.abs(v / places.v_scale).max(axis=1, initial=0.0))

    def gamma(v: Array) -> Array:
        at_rest = np.zeros((len(v), v.shape[1] + places.m))
        return -places.run("report", places.q, v, at_rest)[:, -places.m :]

    v = np.where((fastest(places.v) ** 2 <= TYPED * fastest(a))[:, None], a, places.v)
    rows, unit = places.row_length, places.unit
    left = np.linalg.svd(np.where(places.is_finite[:, None, None], unit, 0.0))[0]
    left = np.where((np.arange(places.m) < places.rank[:, None])[:, :, None], 0.0, np.swapaxes(left, 1, 2))
    others = fastest(v)[:, None] * places.v_scale * aside(v.shape[1])
    here, there = gamma(v) / rows, gamma(others) / rows
    size = np.maximum(np.linalg.norm(here, axis=1), np.linalg.norm(there, axis=1))
    u = np.linalg.norm(np.einsum("kij,kj->ki", left, here), axis=1)
    has_rows = np.asarray(unit.any(axis=2)).all(axis=1)
    return np.asarray((u <= TYPED * size) & (fastest(v) > 0.0) & has_rows)


def repetitions_of(smallest: Array, eps: Array, accuracy: float = EPSILON) -> NDArray[np.int64]:
    """Count repetitions of the linear solution of each motion, see `repetitions`."""
    ratio = eps / np.maximum(smallest * smallest, 10 * eps)
    count = np.ceil(np.log(np.where(10 * ratio < 1.0, accuracy, EPSILON)) / np.log(ratio)) - 2
    return np.asarray(np.maximum(count, 0.0), dtype=np.int64)


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
        "repetitions": repetitions_of(places.smallest, eps) + more_repetitions(s),
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


def accelerations(plan: Plan, places: Places, p: Array) -> Array:
    count, n_q = len(p), plan.system.n_q
    x = np.column_stack([np.zeros(count), places.q, places.v, np.zeros((count, N_WORK))])
    return evaluate_rows(plan.form.dynamics, x, p)[:, n_q : n_q + plan.system.n_v]


def extents(plan: Plan, places: Places, a: Array) -> tuple[Array, Array]:
    """Find a length and a rate of each motion, see `Motion.find_extent`."""
    n_q, n, a = plan.system.n_q, plan.system.n_q + plan.system.n_v, np.abs(a)
    length = np.where(places.arm > 0.0, places.arm, 1.0)
    by = np.where(plan.equations.lengths[n_q:n], length[:, None], 1.0)
    paces = np.hstack([np.abs(places.v) / by, np.sqrt(0.5 * a / by)])
    pace = np.fmax.reduce(paces, axis=1, initial=0.0)
    return length, np.minimum(np.where(pace * plan.t_end > TYPED, pace, 1.0 / plan.t_end), MOST_TIMES / plan.t_end)


def evaluate_motions(plan: Plan, begun: Begun, advanced: Advanced, chosen: Rows, names: Collection[str]) -> Motions:
    """Evaluate the motions at some of their report times, for quantities of these names."""
    known, names = plan.columns, {*names}
    if "error:position" in names and plan.mechanism.model.space == "spatial":
        names |= {*plan.equations.columns["q"].names}
    if "energy:drift" in names:
        names |= {*ENERGY.names}
    wanted = {name: known[name].place for name in ("log det", *sorted(names)) if name in known}
    wanted |= {f"{name} rate": place + 1 for name, place in wanted.items() if known[name].turns}
    system, times = plan.system, plan.times
    at = evaluate(system, plan.code, times, begun.p, begun.exact, advanced.rows, chosen, wanted)
    return Motions(plan, at, times[chosen])


def doubts(plan: Plan, begun: Begun, advanced: Advanced, at: Evaluated) -> list[str]:
    """Say of each motion what speaks against it, see `is_beyond_doubt`; a singular position that it may have passed."""
    s, places = plan.system, begun.places
    good = at.is_finite == 1.0
    if not plan.is_driven:
        residual = np.maximum(advanced.residuals[:, 1], advanced.residuals[:, 2] / begun.rate)
        good &= residual <= AGREEMENT * np.minimum(places.length, 1.0)
        turned_over = np.maximum(at.most[:, 0], np.maximum(at.most - at.first, at.first - at.least).max(axis=1))
        largest = np.maximum(at.most.max(axis=1), -at.least.min(axis=1))
        good &= at.worst <= LIMIT * turned_over + ACCUMULATED * largest
        good &= contradictions(s, places, at) <= LIMIT
    reasons = np.where(good, "", "doubtful")
    reasons[good & may_pass_singular(s, at)] = "singular"
    return [*map(str, reasons.tolist())]


def contradictions(s: System, places: Places, at: Evaluated) -> Array:
    """See `find_contradiction`."""
    if not s.m:
        return np.zeros(len(places.q))
    n = s.n_q + s.n_v
    largest, sizes = at.contradiction, np.abs(at.extremes)
    v, a, lam = sizes[:, :, 1 + s.n_q : 1 + n], sizes[:, :, 1 + n : 1 + n + s.n_v], sizes[:, :, 1 + n + s.n_v :]
    held = (lam * (places.size / places.row_scale)[:, None]).max(axis=(1, 2))
    size = (a / places.v_scale[:, None]).max(axis=(1, 2)) + (v / places.v_scale[:, None]).max(axis=(1, 2)) ** 2
    found = np.where(largest > NEGLIGIBLE * held, largest, 0.0)
    return np.where(size > 0.0, found / np.where(size > 0.0, size, 1.0), found)


def may_pass_singular(s: System, at: Evaluated) -> NDArray[np.bool_]:
    """Whether the determinant falls anywhere so fast that it could vanish, see `find_singular`."""
    log_det = at.table["log det"]
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
    """Report rows of many motions by the names of results: arrays with a row for each motion, empty if not wanted."""

    def __init__(self, plan: Plan, at: Evaluated, times: Array) -> None:
        self.name, self.t, self.evaluated = plan.mechanism.model.name, times, at
        rows, table = (len(at.worst), len(times)), dict(at.table)
        for name, (_, _, turns) in plan.columns.items():
            if turns and name in table:
                table[name] = count_turns(times, np.stack([table[name], table[f"{name} rate"]], axis=2), [0])[:, :, 0]
        if ENERGY.names[0] in table:
            forms = [table[name] for name in ENERGY.names if name in table]
            total = forms[0] + forms[1] + forms[2] - forms[3] if len(forms) == len(ENERGY.names) else forms[0]
            table["energy:drift"] = total - total[:, :1]
        if "error:position" in table and plan.mechanism.model.space == "spatial":
            q = np.stack([table[name] for name in plan.equations.columns["q"].names], axis=2)
            table["error:position"] = np.maximum(
                table["error:position"], euler_gap(q, len(plan.mechanism.model.bodies))
            )
        units = {name: column.unit for name, column in plan.columns.items()} | {"energy:drift": "J"}
        self._found = {name: Quantity(table.get(name, NOTHING), unit) for name, unit in units.items()}
        self._found["t"] = Quantity(np.broadcast_to(times, rows), "s")

    @property
    def quantities(self) -> dict[str, Quantity]:
        return self._found

    def __getitem__(self, name: str) -> Array:
        return self.t if name == "t" else super().__getitem__(name)

    def rates_of(self, name: str) -> tuple[str, ...]:
        return ()
