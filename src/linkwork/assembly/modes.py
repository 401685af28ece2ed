"""All assembly modes: every position in which the joints of a mechanism close.

Planar mechanisms with polynomial closure equations are solved completely by homotopy (isotropic.py, homotopy.py). The
others, and those with too many paths, are searched from many starts (deflation.py), which proves nothing about what was
not found. Every mode is brought to rounding by Newton's iteration on Psi itself and, where the number of equations is
that of the coordinates, certified (certificate.py).

Freedoms that are neither driven nor kept are removed by random linear equations in the coordinates x, y, cos phi and
sin phi, through the closed start position: modes are then witness points of the closure variety, and the number of
complex ones is its degree [zhou2007, section 6; sommese2005].
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linkwork.assembly import deflation, homotopy
from linkwork.assembly.assemble import assemble
from linkwork.assembly.certificate import certified
from linkwork.assembly.isotropic import (
    BACK,
    MIRROR,
    PLACE,
    TURN,
    Block,
    Closure,
    NotPolynomialError,
    Variable,
    blocks,
    closure,
    reduced,
)
from linkwork.elements.bodies import PlanarBody
from linkwork.equations.body import body_equations
from linkwork.equations.equations import TIME, Equations
from linkwork.equations.place import Place
from linkwork.errors import UsageError, check_choice
from linkwork.expressions.derivatives import directional, jacobian
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import ZERO, Expr, constant, cos, sin
from linkwork.model import Model
from linkwork.motion.initial import check_defined
from linkwork.native.lowering import Program, compile_programs

Array = NDArray[np.float64]
Random = np.random.Generator

PATH_LIMIT = 20000
ATTEMPTS = 3  # with other random numbers, where paths are lost or solutions lack their conjugates
STARTS = 60  # of a search without proof
REAL = 1e-7  # what theta may lack to lie on the unit circle
REAL_SINGULAR = 1e-4  # the same for ends known to fewer digits
CLOSED = 1e-11  # residual of a mode in units of the mechanism
APART = 1e-6  # features of two modes differ by more
AWAY = 0.03  # radians or units of the mechanism: how far to go to tell a motion from a singular position
RANK = 1e-9  # singular values of the constraints that count as zero
INDEPENDENT = 1e-4  # part of a motion that a coordinate which is to fix it must have: it is not at a dead centre
SEED = 1


@dataclass(frozen=True)
class Mode:
    """One position in which everything closes; `points` are the named points by body and name."""

    q: Mapping[str, float]
    points: Mapping[str, tuple[float, ...]]
    residual: float
    certified: bool
    singular: bool


@dataclass(frozen=True)
class Modes:
    """The modes of a mechanism, the nearest to its start position first, and how they were found.

    `paths` were followed; they ended in `finite` different complex solutions, `singular` of them singular, or at
    infinity, or were `lost`. `slices` random linear equations replace freedoms; `degree` is then that of the closure
    variety. `complete` says that the modes are all there are, with probability one and up to numerical error.
    """

    name: str
    modes: tuple[Mode, ...]
    method: Literal["homotopy", "multi-start"]
    kept: tuple[str, ...]
    slices: int
    paths: int
    finite: int
    infinite: int
    singular: int
    lost: int
    degree: int | None
    complete: bool
    notes: tuple[str, ...]
    wall_s: float

    @property
    def real(self) -> int:
        return len(self.modes)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "real": self.real}


def modes(model: Model, keep: Sequence[str] = (), *, path_limit: int = PATH_LIMIT, seed: int = SEED) -> Modes:
    """All positions in which joints and drivers close at t = 0 with the coordinates `keep` at their start values."""
    began = perf_counter()
    equations = body_equations(model)
    problem = Problem(model, equations, tuple(keep))
    rng = np.random.default_rng(seed)
    notes: list[str] = []
    try:
        if model.space != "planar":
            raise NotPolynomialError("a spatial mechanism")
        found = _by_homotopy(problem, rng, path_limit)
    except NotPolynomialError as reason:
        notes.append(f"not proved complete: {reason} leaves only a search from {STARTS} starts [not-complete]")
        found = _by_search(problem, rng)
    return Modes(
        name=model.name,
        modes=tuple(found.modes()),
        method=found.method,
        kept=tuple(keep),
        slices=len(found.problem.slices),
        paths=found.paths,
        finite=found.finite,
        infinite=found.infinite,
        singular=found.singular,
        lost=found.lost,
        degree=found.finite if found.problem.slices and found.method == "homotopy" else None,
        complete=found.complete,
        notes=(*notes, *found.notes),
        wall_s=perf_counter() - began,
    )


def free_coordinates(model: Model, keep: Sequence[str] = ()) -> tuple[str, ...]:
    """Coordinates that fix every freedom which joints and drivers leave: `keep`, then others where these do not do.

    The others are angles as far as possible, in the order of the bodies: in a four-bar, that of the crank.
    """
    problem = Problem(model, body_equations(model), tuple(keep))
    if model.space != "planar":
        return problem.keep
    check_defined(Place(problem.equations, *problem.equations.start()))
    if problem.closed is None:
        q, count = problem.start, problem.rank_defect(problem.start)
    else:
        q, count = problem.closed, problem.freedoms(problem.closed, np.random.default_rng(SEED))
    names = problem.equations.q_names
    J = problem.linearized(q)[1] * problem.units
    J = J / np.maximum(np.linalg.norm(J, axis=1), 1e-300)[:, None]
    _, values, V = np.linalg.svd(J)
    moves = V[int(np.sum(values > RANK)) :]  # the motions not yet fixed, as rows
    found = list(problem.keep)
    for name in sorted(names, key=lambda name: not name.endswith(".phi")):
        part = moves[:, names.index(name)]
        if len(found) < len(problem.keep) + count and np.linalg.norm(part) > INDEPENDENT:
            moves = np.linalg.svd(part[None, :])[2][1:] @ moves
            found.append(name)
    return tuple(found)


def in_mode(model: Model, number: int, keep: Sequence[str] = ()) -> Model:
    """The mechanism from the start in one of its modes, counted from 1 as `modes` lists them.

    The velocities are the nearest to those of the model that fit; those of the coordinates `keep` do not change.
    """
    found = modes(model, keep)
    if not 1 <= number <= found.real:
        kept = f" with {', '.join(keep)} kept" if keep else ""
        raise UsageError(f"no mode {number}: '{model.name}' has {found.real or 'none'}{kept}", "no-such-mode")
    equations = body_equations(model)
    v = dict(zip(equations.v_names, equations.start()[1].tolist(), strict=True))
    mode = model.with_start(found.modes[number - 1].q, v)
    moving = assemble(mode, keep)
    note = f"the start is mode {number} of {found.real}" + (f", {', '.join(keep)} kept" if keep else "") + " [mode]"
    return replace(mode.with_start(moving.q, moving.v), notes=(*model.notes, note))


@dataclass(frozen=True)
class Problem:
    """The rows to be made zero: constraints at t = 0, kept coordinates and slices."""

    model: Model
    equations: Equations
    keep: tuple[str, ...]
    slices: tuple[Expr, ...] = ()

    def __post_init__(self) -> None:
        for name in self.keep:
            check_choice("coordinate", name, self.equations.q_names)

    @cached_property
    def start(self) -> Array:
        return self.equations.start()[0]

    @cached_property
    def values(self) -> dict[Expr, float]:
        return {**self.equations.parameters, TIME: 0.0}

    @cached_property
    def unit(self) -> float:
        """A length of the mechanism."""
        return Place(self.equations, self.start, np.zeros(len(self.equations.v))).length

    @cached_property
    def kept(self) -> list[int]:
        return [self.equations.q_names.index(name) for name in self.keep]

    @cached_property
    def rows(self) -> list[Expr]:
        e = self.equations
        return [*e.Psi, *(e.q[k] - constant(float(self.start[k])) for k in self.kept), *self.slices]

    @property
    def groups(self) -> list[str]:
        """What each row belongs to; a driver belongs to its joint."""
        joint_of = {d.name: d.joint.name for d in self.model.drivers}
        elements = [joint_of.get(row.element, row.element) for row in self.equations.rows]
        kept = [f"keep {name.rsplit('.', 1)[0]}" for name in self.keep]
        return [*elements, *kept, *(f"slice {k}" for k in range(len(self.slices)))]

    @cached_property
    def features(self) -> list[Expr]:
        """What tells two positions apart: lengths in units of the mechanism, and directions."""
        e, result, at = self.equations, [], 0
        for body in self.model.bodies:
            q = e.q[at : at + len(body.coordinates)]
            at += len(q)
            if isinstance(body, PlanarBody):
                x, y, phi = q
                result += [x / self.unit, y / self.unit, cos(phi), sin(phi)]
            else:
                result += [x / self.unit for x in q[:3]]
                result += [a * b for k, a in enumerate(q[3:]) for b in q[3 + k :]]
        return result

    @cached_property
    def units(self) -> Array:
        """How large a change of each velocity coordinate is: a length, or one radian."""
        return np.where(self.equations.turning, 1.0, self.unit)

    def sliced(self, count: int, rng: Random) -> Problem:
        """With random linear equations through the start position, closed if that is possible."""
        at_start = self.evaluated(self.features, self.start if self.closed is None else self.closed)
        made = []
        for _ in range(count):
            a = rng.normal(size=len(self.features))
            a /= np.linalg.norm(a)
            form = sum((constant(c) * x for c, x in zip(a.tolist(), self.features, strict=True)), ZERO)
            made.append(form - constant(float(a @ at_start)))
        return Problem(self.model, self.equations, self.keep, tuple(made))

    def evaluated(self, expressions: Sequence[Expr], q: Array) -> Array:
        at = {**self.values, **dict(zip(self.equations.q, q, strict=True))}
        return np.array(evaluate(expressions, at), dtype=float)

    @cached_property
    def linearized(self) -> deflation.Linearized:
        """Rows and features with their Jacobians with respect to v, as machine code."""
        e = self.equations
        outputs = [*self.rows, *self.features]
        entries = jacobian(directional(outputs, e.motion), e.v)
        # rates are linear in v, so that their derivatives do not hold v
        names = list(self.values)
        program = Program("closure", e.q, [*outputs, *entries.values()])
        f = compile_programs([program], names)["closure"]
        p = np.array([self.values[name] for name in names])
        n, m = len(outputs), len(self.rows)
        places = tuple(np.array(list(entries), dtype=int).reshape(-1, 2).T)

        def at(q: Array) -> tuple[Array, Array, Array, Array]:
            y = f(q, p)
            J = np.zeros((n, len(e.v)))
            J[places] = y[n:]
            return y[:m], J[:m], y[m:n], J[m:]

        return at

    def moved(self, q: Array, dx: Array) -> Array:
        e = self.equations
        if self.model.space == "planar":
            return q + dx
        symbols = dict(zip((*e.q, *e.dx), (*q.tolist(), *dx.tolist()), strict=True))
        return np.array(evaluate(e.retract, symbols), dtype=float)

    def polished(self, q: Array) -> tuple[Array, float]:
        """Newton's iteration until the residual falls no more."""
        R, J, _, _ = self.linearized(q)
        for _ in range(30):
            trial = self.moved(q, np.asarray(np.linalg.lstsq(J, -R, rcond=1e-13)[0]))
            trial[self.kept] = self.start[self.kept]
            R_trial, J_trial, _, _ = self.linearized(trial)
            if not np.max(np.abs(R_trial), initial=0.0) < np.max(np.abs(R), initial=0.0):
                break
            q, R, J = trial, R_trial, J_trial
        return q + 0.0, float(np.max(np.abs(R), initial=0.0))  # a zero has no sign

    def rank_defect(self, q: Array) -> int:
        _, J, _, _ = self.linearized(q)
        J = J * self.units
        J = J / np.maximum(np.linalg.norm(J, axis=1), 1e-300)[:, None]
        return len(self.units) - int(np.sum(np.linalg.svd(J, compute_uv=False) > RANK))

    @cached_property
    def closed(self) -> Array | None:
        """A position near the start in which everything closes, if Newton's iteration finds one."""
        tolerance = CLOSED * max(self.unit, 1.0)
        return deflation.newton(self.linearized, self.moved, self.start, 0.5 * self.units, [], tolerance)

    def freedoms(self, q: Array | None, rng: Random) -> int:
        """The dimension of the set of solutions near q; zero if there is no q.

        A rank defect is a freedom if it stays when the mechanism moves on, and a singular position if not.
        """
        defect = 0 if q is None else self.rank_defect(q)
        if q is None or not defect:
            return 0
        _, J, F, _ = self.linearized(q)
        sizes = np.maximum(np.linalg.norm(J * self.units, axis=1), 1e-300)
        _, _, V = np.linalg.svd(J * self.units / sizes[:, None])
        for _ in range(4):
            along = rng.normal(size=defect) @ V[-defect:]
            there = self._settled(self.moved(q, AWAY * self.units * along / np.max(np.abs(along))), sizes, defect)
            if there is not None and np.max(np.abs(self.linearized(there)[2] - F)) > 0.01 * AWAY:
                return self.rank_defect(there)
        return 0

    def _settled(self, q: Array, sizes: Array, defect: int) -> Array | None:
        """The solution near q that damped steps lead to; Newton's would go far where motions meet."""
        n, damping = len(self.units), 0.0
        for k in range(100):
            R, J, _, _ = self.linearized(q)
            R, J = R / sizes, J * self.units / sizes[:, None]
            if np.max(np.abs(R)) < 1e-13:
                return q
            if k == 0:
                values = np.pad(np.linalg.svd(J, compute_uv=False), (0, n))[:n]
                damping = 0.3 * float(values[-defect])
            A = np.vstack([J, damping * np.eye(n)])
            dx = np.linalg.lstsq(A, np.concatenate([-R, np.zeros(n)]), rcond=1e-12)[0]
            q = self.moved(q, self.units * dx)
        return None

    def is_certified(self, q: Array) -> bool:
        e = self.equations
        rows, units = list(self.rows), list[float]()
        for body in self.model.bodies:
            at = len(units)
            units += [self.unit if c.kind == "length" else 1.0 for c in body.coordinates]
            if not isinstance(body, PlanarBody):
                rows.append(sum((x * x for x in e.q[at + 3 : at + 7]), ZERO) - 1.0)
        return certified(rows, jacobian(rows, e.q), e.q, self.values, q, np.array(units))


@dataclass(frozen=True)
class Found:
    """Positions that close, before they are named and put in order."""

    problem: Problem
    method: Literal["homotopy", "multi-start"]
    positions: list[Array]
    singular_positions: list[bool]
    paths: int = 0
    finite: int = 0
    infinite: int = 0
    singular: int = 0
    lost: int = 0
    complete: bool = False
    notes: tuple[str, ...] = ()

    def modes(self) -> list[Mode]:
        """Each position once, polished, the nearest to the start first."""
        p = self.problem
        at_start = p.evaluated(p.features, p.start)
        kept: list[tuple[float, Array, Array, float, bool]] = []
        for rough, singular in zip(self.positions, self.singular_positions, strict=True):
            q, residual = p.polished(rough)
            F = p.linearized(q)[2]
            moved = np.max(np.abs(F - p.linearized(rough)[2]), initial=0.0)
            if residual > CLOSED * max(p.unit, 1.0) or moved > (1e-2 if singular else 1e-4):
                continue  # a solution of the polynomials that is none of Psi: a driven distance with the wrong sign
            apart = 1e-3 if singular else APART
            if all(np.max(np.abs(F - other[2])) > apart for other in kept):
                kept.append((float(np.linalg.norm(F - at_start)), q, F, residual, singular))
        kept.sort(key=lambda item: item[0])
        return [self._mode(q, residual, singular) for _, q, _, residual, singular in kept]

    def _mode(self, q: Array, residual: float, singular: bool) -> Mode:
        p = self.problem
        proved = p.is_certified(q)
        outputs = p.equations.outputs["points"]
        names = [name for name, output in outputs.items() if output.unit == "m"]
        places: dict[str, tuple[float, ...]] = {}
        for name, x in zip(names, p.evaluated([outputs[name].expression for name in names], q).tolist(), strict=True):
            point = name.rsplit(".", 1)[0]
            places[point] = (*places.get(point, ()), x)
        q_by_name = dict(zip(p.equations.q_names, q.tolist(), strict=True))
        return Mode(q_by_name, places, residual, proved, singular and not proved)


def _by_search(problem: Problem, rng: Random) -> Found:
    freedoms = problem.freedoms(problem.closed, rng)
    if freedoms:
        problem = problem.sliced(freedoms, rng)
    e = problem.equations
    turning = e.turning
    starts = [problem.start]
    for _ in range(STARTS - 1):
        change = np.where(turning, rng.uniform(-math.pi, math.pi, len(e.v)), problem.unit * rng.normal(size=len(e.v)))
        starts.append(problem.moved(problem.start, change))
    tolerance = CLOSED * max(problem.unit, 1.0)
    positions = deflation.search(problem.linearized, problem.moved, starts, 0.5 * problem.units, tolerance, APART)
    singular = [problem.rank_defect(q) > 0 for q in positions]
    return Found(problem, "multi-start", positions, singular)


def _polynomials(problem: Problem) -> Closure:
    e = problem.equations
    bodies = [body.name for body in problem.model.bodies]
    coordinates = {name: (e.q[3 * k], e.q[3 * k + 1], e.q[3 * k + 2]) for k, name in enumerate(bodies)}
    return closure(problem.rows, problem.groups, problem.values, coordinates, problem.unit)


def _by_homotopy(problem: Problem, rng: Random, path_limit: int) -> Found:
    c = _polynomials(problem)
    freedoms = max(c.freedoms, problem.freedoms(problem.closed, rng)) if c.consistent else 0
    special = freedoms > max(c.freedoms, 0)
    if freedoms:
        problem = problem.sliced(freedoms, rng)
        c = _polynomials(problem)
    if not c.consistent:
        note = "joints, drivers and kept coordinates contradict each other whatever the position [contradiction]"
        return Found(problem, "homotopy", [], [], complete=True, notes=(note,))
    ends: Ends | None = None
    for _ in range(ATTEMPTS):
        ends = _solved(c, rng, path_limit)
        if ends.complete:
            break
    assert ends is not None
    positions, singular = [], []
    for values, regular in ends.solutions:
        if _is_real(values, REAL if regular else REAL_SINGULAR):
            positions.append(_lifted(problem, c, values))
            singular.append(not regular)
    notes = []
    if not ends.complete:
        notes.append(f"{ends.lost} paths were lost: modes may be missing [paths-lost]")
    if special:
        notes.append(
            f"{freedoms} freedoms where counting equations gives {max(c.freedoms, 0)}: the geometry is special, and "
            "positions apart from this motion were not looked for [special-geometry]"
        )
    elif any(problem.freedoms(problem.polished(q)[0], rng) for q, yes in zip(positions, singular, strict=True) if yes):
        special = True
        notes.append("some singular modes are single positions of a continuous motion [special-geometry]")
    elif c.freedoms < 0:
        notes.append(f"{-c.freedoms} more equations than unknowns: only what fulfils all counts [over-determined]")
    return Found(
        problem,
        "homotopy",
        positions,
        singular,
        paths=ends.paths,
        finite=len(ends.solutions),
        infinite=ends.infinite,
        singular=sum(not regular for _, regular in ends.solutions),
        lost=ends.lost,
        complete=ends.complete and not special,
        notes=tuple(notes),
    )


@dataclass
class Ends:
    """Complex solutions (values of all unknowns, whether regular) and what became of the paths."""

    solutions: list[tuple[dict[Variable, complex], bool]]
    paths: int = 0
    infinite: int = 0
    lost: int = 0

    @property
    def complete(self) -> bool:
        """No path is lost, and with every regular solution there is its conjugate, as the rows are real."""
        return self.lost == 0 and self._closed_under_conjugation()

    def _closed_under_conjugation(self) -> bool:
        swapped = {TURN: BACK, BACK: TURN, PLACE: MIRROR, MIRROR: PLACE}
        regular = [values for values, good in self.solutions if good]
        if not regular or not regular[0]:
            return True
        names = sorted(regular[0])
        table = np.array([[values[v] for v in names] for values in regular])
        partner = [names.index((swapped[kind], body)) for kind, body in names]
        for row in table.conj()[:, partner]:
            if np.min(np.max(np.abs(table - row), axis=1)) > 1e-5 * (1.0 + np.max(np.abs(row))):
                return False
        return True


def _solved(c: Closure, rng: Random, path_limit: int) -> Ends:
    """Block after block, for all complex solutions of the earlier ones."""
    ends = Ends([({}, True)])
    for block in blocks(c):
        solutions = []
        for known, regular in ends.solutions:
            for values, good in _block_solutions(block, known, rng, path_limit, ends):
                solutions.append(({**known, **values}, regular and good))
        ends.solutions = solutions
    return ends


def _block_solutions(
    block: Block, known: Mapping[Variable, complex], rng: Random, path_limit: int, ends: Ends
) -> list[tuple[dict[Variable, complex], bool]]:
    r = reduced(block, known)
    if r is None:
        return []
    equations = [f for f in r.system if f]
    if any(set(f) == {()} for f in equations):
        return []
    if r.n == 0:
        return [(r.values(np.zeros(0, dtype=complex)), True)]
    system = equations
    if len(equations) > r.n:  # dependent geometry: random combinations, and what does not solve all is dropped
        system = [_combination(equations, rng) for _ in range(r.n)]
    elif len(equations) < r.n:
        raise NotPolynomialError("a set of equations that vanish identically")
    half = range(r.n // 2)
    groupings = [
        [list(half), [k + len(half) for k in half]],
        [list(range(r.n))],
        [[k, k + len(half)] for k in half],
    ]
    counts = [homotopy.path_count(system, grouping) for grouping in groupings]
    best = int(np.argmin(counts))
    if ends.paths + counts[best] > path_limit:
        raise NotPolynomialError(f"the number of paths, more than {path_limit},")
    s = homotopy.solve(system, groupings[best], rng)
    ends.paths += s.paths
    ends.infinite += s.infinite
    ends.lost += s.failed
    result = []
    for point, regular in zip(s.points, s.regular, strict=True):
        if len(equations) == r.n or all(_residual(f, point) < (1e-8 if regular else 1e-4) for f in equations):
            result.append((r.values(point), bool(regular)))
    return result


def _combination(equations: Sequence[homotopy.Polynomial], rng: Random) -> homotopy.Polynomial:
    total: homotopy.Polynomial = {}
    for f in equations:
        factor = complex(*rng.normal(size=2))
        for term, value in f.items():
            total[term] = total.get(term, 0.0) + factor * value
    return total


def _residual(f: homotopy.Polynomial, point: NDArray[np.complex128]) -> float:
    """|f| relative to the sum of its terms."""
    terms = [c * math.prod([complex(point[k]) for k in term]) for term, c in f.items()]
    return abs(sum(terms)) / max(sum(map(abs, terms)), 1e-300)


def _is_real(values: Mapping[Variable, complex], tolerance: float) -> bool:
    conjugates = {TURN: BACK, PLACE: MIRROR}
    return all(
        abs(values[conjugates[kind], body] - a.conjugate()) < tolerance * (1.0 + abs(a))
        for (kind, body), a in values.items()
        if kind in conjugates
    )


def _lifted(problem: Problem, c: Closure, values: Mapping[Variable, complex]) -> Array:
    """The coordinates of all bodies; free angles are taken within half a turn of the start."""
    bodies = [body.name for body in problem.model.bodies]
    phi: dict[str, float] = {}
    for body in c.turns:
        angle = cmath.phase(values[TURN, body])
        before = float(problem.start[3 * bodies.index(body) + 2])
        phi[body] = angle + 2.0 * math.pi * round((before - angle) / (2.0 * math.pi))
    for body, form in c.angles.items():
        phi[body] = form.constant + sum(m * phi[b] for b, m in form.multiples.items())
    q = np.empty(3 * len(bodies))
    for k, body in enumerate(bodies):
        z = values[PLACE, body] if body in c.free_places else c.places[body].value(values)
        q[3 * k : 3 * k + 3] = c.unit * z.real, c.unit * z.imag, phi[body]
    return q
