"""All rests of a mechanism.

In the plane, under gravity and linear springs between points, rests are solutions of polynomials. In the isotropic
coordinates of assembly/closure.py loops give some turns theta and all places as affine functions of the others, u, and
their inverses and mirrors by the conjugate functions of w. What is left are theta (1/theta) = 1 and the rows of slides,
R(u, w) = 0, and rests are where

    L(u, w, nu) = V(u, w) + nu . R(u, w)        has        L_u = 0,    L_w = 0,    R = 0

The potential of gravity is affine in u and w. That of a spring is k/2 (D - 2 l0 l + l0^2) with D = l^2 a product of an
affine function of u and one of w, so that its gradient is k/2 (1 - l0 s) D_u, s being one more unknown with s^2 D = 1:
solutions with s < 0 are none of the spring. Homotopy (assembly/homotopy.py) finds all of them; what is real is brought
to rounding by Newton's iteration and certified: a box is proved to hold one zero of Q - Psi_q^T lam and Psi.

All other mechanisms are searched from many starts, each rest found being removed from the search for the next one,
which proves nothing about what was not found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.analyses.equilibrium import Equilibrium, Rest, begin_rest, by_bodies, describe, settle
from linkwork.assembly import deflation, homotopy, laurent
from linkwork.assembly.blocks import Block, Reduced, reduce_block
from linkwork.assembly.certificate import is_certified
from linkwork.assembly.closure import Closure
from linkwork.assembly.homotopy import POOR
from linkwork.assembly.laurent import (
    PLACE,
    SHIFT,
    TURN,
    Angle,
    NotPolynomialError,
    Poly,
    Variable,
    as_poly,
    monomial,
)
from linkwork.assembly.modes import ATTEMPTS, PATH_LIMIT, SEED
from linkwork.assembly.problem import MOST_STARTS, STARTS, Problem
from linkwork.assembly.solutions import Ends, Progress, Solution, polynomials, position, solve_reduced
from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.elements.forces import SpringDamper
from linkwork.elements.frames import PLANAR_GROUND
from linkwork.equations.equations import TIME
from linkwork.errors import NumericalStop, check_count, checked_call
from linkwork.expressions.evaluation import evaluate, ordered
from linkwork.expressions.graph import ZERO, Expr, as_expr, symbol
from linkwork.linalg.rank import RANK_TOLERANCE, null_space, row_sizes
from linkwork.model import Model
from linkwork.records import Printed
from linkwork.start.closing import REACH, is_closed
from linkwork.tolerances import AGREEMENT, NEGLIGIBLE, TYPED

Array = NDArray[np.float64]
SPRING = "spring "  # in front of the name of its s


@dataclass(frozen=True, repr=False)
class Equilibria(Printed):
    """The rests of a mechanism, the lowest first, and how they were found.

    `certified` says of each whether it is proved to be one, `complete` that they are all there are, with probability
    one and up to numerical error. `paths` were followed to `finite` complex solutions.
    """

    name: str
    rests: tuple[Equilibrium, ...]
    certified: tuple[bool, ...]
    method: Literal["homotopy", "multi-start"]
    reason: str  # why it is no homotopy
    complete: bool
    paths: int
    finite: int
    lost: int
    starts: int

    @property
    def isolated(self) -> bool:
        """Return whether no rest has others beside it, as on a plane or about a vertical axis."""
        return all(abs(x) > RANK_TOLERANCE for rest in self.rests for x in rest.stiffness)

    @property
    def stable(self) -> tuple[Equilibrium, ...]:
        return tuple(rest for rest in self.rests if rest.is_stable)

    def as_dict(self) -> dict[str, Any]:
        rests = [{**rest.as_dict(), "certified": yes} for rest, yes in zip(self.rests, self.certified, strict=True)]
        return {**asdict(self), "rests": rests}

    def __str__(self) -> str:
        from linkwork.view.report import aligned
        from linkwork.view.small_motions import equilibria_lines

        return aligned(equilibria_lines(self))


@checked_call()
@np.errstate(all="ignore")  # what is not finite is looked for where it matters
def equilibria(
    model: Model | Mechanism,
    parameters: Mapping[str, float | str] | None = None,
    *,
    path_limit: int = PATH_LIMIT,
    seed: int = SEED,
    progress: Progress | None = None,
) -> Equilibria:
    """Return all rests, of every way to assemble it; drivers stay where they are at first."""
    check_count("path_limit", path_limit)
    check_count("seed", seed)
    mechanism = by_bodies(prepare(model), parameters)
    first, rng = begin_rest(mechanism), np.random.default_rng(seed)
    problem = Problem.of(mechanism.model)
    ends, reason, starts = Ends([]), "", 0
    try:
        places, ends = _follow_paths(mechanism, problem, rng, path_limit, progress or (lambda _fraction, _text: None))
    except NotPolynomialError as error:
        reason = str(error)
        places, starts = search(first, problem, rng)
    found = distinct(first, problem, places)
    found.sort(key=lambda rest: (rest.potential.V, *rest.place.q.tolist()))
    # Of real ends that are singular it is not known how many rests they are, as beside a fold.
    told_apart = len(found) == len(places) and all(s.regular for s in ends.isolated if s.is_real)
    moving = any(s.dimension for s in ends.solutions)
    return Equilibria(
        mechanism.model.name,
        tuple(describe(mechanism, rest) for rest in found),
        tuple(map(is_proved, found)),
        "multi-start" if reason else "homotopy",
        reason,
        not reason and ends.complete and told_apart and not ends.doubtful and not moving,
        ends.paths,
        len(ends.isolated),
        ends.lost,
        starts,
    )


def distinct(first: Rest, problem: Problem, places: Sequence[Array]) -> list[Rest]:
    """Return the rests at these positions, each once; what Newton's iteration leads away from them is none."""
    kept: list[tuple[Rest, Array]] = []
    for q in places:
        before = problem.evaluate(problem.features, q)
        try:
            rest = settle(
                replace(first, tangent=replace(first.tangent, place=replace(first.place, q=_whole(first, q))))
            )
        except NumericalStop:
            continue
        if not is_closed(rest.place):
            continue  # an axis is reversed
        F = problem.evaluate(problem.features, rest.place.q[: len(q)])
        if np.max(np.abs(F - before)) < POOR and all(np.max(np.abs(F - other)) > TYPED for _, other in kept):
            kept.append((rest, F))
    return [rest for rest, _ in kept]


def _whole(first: Rest, q: Array) -> Array:
    """Return the position with states, and angles that only count turns, as they are at first."""
    return np.append(q, first.place.q[len(q) :])


def is_proved(rest: Rest) -> bool:
    """Return whether a box around the rest is proved to hold exactly one zero of Q - Psi_q^T lam and the
    independent Psi.
    """
    e = rest.place.equations
    if e.n_states:
        return False
    chosen = rest.place.rows.independent
    kept = e.with_rows(chosen)
    force = list(kept.Q)
    for (i, j), entry in kept.Psi_q.items():
        force[j] = force[j] - entry * kept.lam[i]
    values = {**e.parameters, TIME: 0.0, **dict.fromkeys(e.v, 0.0)}
    J = rest.place.Psi_q[list(chosen)]
    lam = np.linalg.lstsq(J.T, rest.Q, rcond=None)[0] if len(chosen) else np.zeros(0)
    units = np.append(rest.place.q_scale, (rest.size or 1.0) / rest.tangent.row_scale[list(chosen)])
    turned = [x for c, x in zip(e.coordinates, e.q, strict=True) if len(e.q) != len(e.v) and c.kind == "number"]
    lengths = [sum((x * x for x in turned[k : k + 4]), ZERO) - 1.0 for k in range(0, len(turned), 4)]
    rows = [row for row in (*force, *kept.Psi, *lengths) if row is not ZERO]
    seen = set(ordered(rows))  # not how point masses turn
    if any(x.carried in seen for x in e.chart.counted):
        return False
    unknowns = [
        (x, at, unit) for x, at, unit in zip((*e.q, *kept.lam), (*rest.place.q, *lam), units, strict=True) if x in seen
    ]
    x, at, by = zip(*unknowns, strict=True) if unknowns else ((), (), ())
    return is_certified(rows, x, values, np.array(at), np.array(by))


class Spring(NamedTuple):
    """k/2 (l - l0)^2 with l^2 = D."""

    name: str
    k: float
    l0: float
    D: Poly


class Loads(NamedTuple):
    """The potential of gravity, and the springs."""

    V: Poly
    springs: tuple[Spring, ...]


def _loads(mechanism: Mechanism, problem: Problem, c: Closure) -> Loads:
    """Write loads in turns and places of a planar mechanism, lengths by its unit; else raise NotPolynomialError."""
    model, e, unit = mechanism.model, problem.equations, problem.unit
    values: dict[Expr, Any] = {symbol(name): x for name, x in model.parameters.items()} | dict(problem.values)
    frames: dict[str, Any] = {model.ground.name: PLANAR_GROUND}
    for k, body in enumerate(model.bodies):
        x, y, phi = e.q[3 * k : 3 * k + 3]
        z = c.places.get(body.name, monomial((PLACE, body.name)))
        values |= {x: (z + z.conjugate()) * (0.5 * unit), y: (z - z.conjugate()) * (-0.5j * unit)}
        values[phi] = c.angles.get(body.name, Angle({body.name: 1.0}))
        frames[body.name] = body.frame(e.q[3 * k : 3 * k + 3], [ZERO] * 3)
    table = laurent.arithmetic()

    def poly(expression: Expr) -> Poly:
        return as_poly(evaluate([expression], values, table)[0])

    def number(x: Any) -> float:
        return float(evaluate([as_expr(x)], values, table)[0])

    V, springs = Poly({}), list[Spring]()
    gravity = [number(x) for x in model.gravity]
    for body in model.bodies:
        r = frames[body.name].r
        V = V - (poly(r[0]) * gravity[0] + poly(r[1]) * gravity[1]) * number(body.mass)
    for force in model.acting:
        if not isinstance(force, SpringDamper) or force.law is not ZERO or as_expr(force.actuator) is not ZERO:
            raise NotPolynomialError(f"'{force.name}'")
        i, j = (frames[body.name] for body in force.bodies)
        d = force.d(i, j)
        D = (poly(d[0]) * poly(d[0]) + poly(d[1]) * poly(d[1])) / unit**2
        springs.append(Spring(force.name, number(force.stiffness) * unit**2, number(force.free_length) / unit, D))
    return Loads(V, tuple(springs))


def _derivative(p: Poly, v: Variable) -> Poly:
    """Differentiate a polynomial without negative powers."""
    terms = dict[Any, complex]()
    for m, c in p.terms.items():
        powers = dict(m)
        if n := powers.get(v, 0):
            left = tuple(sorted((x, k - (x == v)) for x, k in powers.items() if k - (x == v)))
            terms[left] = terms.get(left, 0.0) + n * c
    return Poly(terms)


def _follow_paths(
    mechanism: Mechanism, problem: Problem, rng: np.random.Generator, path_limit: int, progress: Progress
) -> tuple[list[Array], Ends]:
    """Return real positions among all complex solutions."""
    e = mechanism.equations
    if mechanism.model.space != "planar" or mechanism.model.stated is not None:
        raise NotPolynomialError("a mechanism in space, or one that states its equations,")
    if e.held or e.slips or e.n_states:
        raise NotPolynomialError("what sticks, rolls, opens or has states")
    c = polynomials(problem)
    if not c.consistent:
        return [], Ends([])
    loads = _loads(mechanism, problem, c)
    used = {
        v
        for p in (*c.loops, *c.rows, *c.places.values(), loads.V, *(s.D for s in loads.springs))
        for v in p.variables()
    }
    turns = tuple(b for b in c.turns if (TURN, b) in used)
    whole, groupings = _stationary(reduce_block(Block(turns, c.free_places, c.loops, c.rows), {}), loads)
    system = whole.system()
    if len(system) != len(whole.unknowns):
        raise NotPolynomialError("a closure with more equations than unknowns")
    counts = [homotopy.path_count(system, grouping) for grouping in groupings]
    best = int(np.argmin(counts))
    if counts[best] > path_limit:
        raise NotPolynomialError(f"the number of paths, {counts[best]}, more than {path_limit},")
    for _ in range(ATTEMPTS):
        ends = Ends([])
        ends.solutions = solve_reduced(
            whole, system, groupings[best], Solution({}), rng, ends, lambda part: progress(part, "paths followed")
        )
        if ends.complete:
            break
    real = [s.values for s in ends.isolated if s.is_real and _is_stretched(s.values)]
    idle = {(TURN, b): complex(np.exp(1j * _start_angle(problem, b))) for b in c.turns if b not in turns}
    return [position(problem, c, {**values, **idle}) for values in real], ends


def _start_angle(problem: Problem, body: str) -> float:
    return float(problem.start[3 * [b.name for b in problem.model.bodies].index(body) + 2])


def _is_stretched(values: Mapping[Variable, complex]) -> bool:
    """Tell whether all springs have a length, and not its negative."""
    return all(x.real > 0.0 for (kind, name), x in values.items() if kind == SHIFT and name.startswith(SPRING))


def _stationary(r: Reduced, loads: Loads) -> tuple[Reduced, list[list[list[int]]]]:
    """Form L_u = L_w = 0, R = 0 and s^2 D = 1 in u, w, nu and s, and ways to group these unknowns."""
    size = max((abs(x) for p in (loads.V, *(s.D * s.k for s in loads.springs)) for x in p.terms.values()), default=1.0)
    u, n = r.unknowns, len(r.unknowns) // 2
    nu: list[Variable] = [(SHIFT, f"nu {k}") for k in range(len(r.equations))]
    stretches: list[Variable] = [(SHIFT, SPRING + s.name) for s in loads.springs if s.l0]
    lines = [s.D.substitute(r.forms) for s in loads.springs]
    gradient = []
    for x in u:
        total = _derivative(loads.V.substitute(r.forms), x) * (1.0 / size)
        for D, s in zip(lines, loads.springs, strict=True):
            factor = as_poly(1.0) - (monomial((SHIFT, SPRING + s.name)) * s.l0 if s.l0 else as_poly(0.0))
            total = total + factor * _derivative(D, x) * (0.5 * s.k / size)
        for v, R in zip(nu, r.equations, strict=True):
            total = total + monomial(v) * _derivative(R, x)
        gradient.append(total)
    squares = [
        monomial(v) * monomial(v) * D - 1.0
        for v, D in zip(stretches, (D for D, s in zip(lines, loads.springs, strict=True) if s.l0), strict=True)
    ]
    unknowns = [*u, *nu, *stretches]
    forms = {**r.forms, **{v: monomial(v) for v in (*nu, *stretches)}}
    first, second = list(range(n)), list(range(n, 2 * n))
    third = list(range(2 * n, 2 * n + len(nu)))
    alone = [[k] for k in range(2 * n + len(nu), len(unknowns))]
    groupings = [
        [first, second, third, *alone],
        [first + second, third, *alone],
        [[k, k + n] for k in first] + [third, *alone],
    ]
    groupings = [[group for group in grouping if group] for grouping in groupings]
    equations = [p.normalize(NEGLIGIBLE) for p in (*r.equations, *gradient, *squares)]
    return Reduced(unknowns, equations, forms), groupings


def search(first: Rest, problem: Problem, rng: np.random.Generator) -> tuple[list[Array], int]:
    """Return rests reached from the start and from others, and how many starts were tried."""
    e, scale = first.place.equations, first.tangent.scale
    n_p, features = len(problem.equations.q), problem.linearize

    def at(q: Array) -> tuple[Array, Array, Array, Array]:
        place = replace(first.place, q=q)
        rest = replace(first, tangent=replace(first.tangent, place=place))
        slope, left = rest.full_balance
        Psi_q = place.Psi_q * scale / rest.tangent.row_scale[:, None]
        sizes = row_sizes(np.vstack([Psi_q, slope]), NEGLIGIBLE)
        R = np.append(place.Psi / rest.tangent.row_scale, -left) / sizes
        _, _, F, F_q = features(q[:n_p])
        return R, np.vstack([Psi_q, slope]) / sizes[:, None], F, F_q * scale

    def move(q: Array, dx: Array) -> Array:
        return replace(first.place, q=q).moved(scale * dx).q

    if e.n_states:
        raise NumericalStop("all rests of mechanisms with states of first order are not looked for", "no-search")
    search = deflation.Search(at, move, np.full(len(e.v), REACH), AGREEMENT, TYPED)
    tried = last = 0
    most = MOST_STARTS
    while tried < min(last + STARTS, most):
        start = first.place.q if not tried else _whole(first, problem.turn_bodies(rng))
        is_new = search.go_on(start)
        tried += 1
        last = tried if is_new else last
        if is_new and len(null_space(at(search.solutions[-1])[1])):
            most = STARTS  # on a curve of rests there are always others
    return [q[:n_p] for q in search.solutions], tried
