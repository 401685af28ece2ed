"""How start values vary with parameters: the derivative of what closes them.

A correction of least norm, and its derivative by a parameter, solve

    [ W      Psi_q^T ] [ dx ]   [   0  ]        K d(dx, mu) = -(d(W dx + Psi_q^T mu), d(Psi_q dx + Psi)) at fixed dx, mu
    [ Psi_q     0    ] [ mu ] = [ -Psi ]

so that the iterations of `closing` are repeated with the derivative of each, and of what leads from the bodies to the
coordinates of the equations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.equations import Equations
from linkwork.equations.linear import multiply
from linkwork.equations.place import Place, Weights
from linkwork.equations.varied import vary
from linkwork.errors import UsageError, quoted
from linkwork.expressions.graph import ZERO, Expr
from linkwork.linalg.newton import MAX_ITERATIONS
from linkwork.linalg.rank import RANK_TOLERANCE, check_finite
from linkwork.start.closing import Given, find_start
from linkwork.tolerances import HALF_THE_DIGITS, ROUNDING

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Varied:
    """A place with the derivatives of its q and v by parameters, one column each, and those of the parameters."""

    place: Place
    q: Array
    v: Array
    seeds: Mapping[Expr, Array]

    def rates(self, name: str, outputs: Any, more: Mapping[Expr, tuple[Any, Any]] | None = None) -> Array:
        """Return d outputs, where of `more` symbols values and derivatives are given too; a row for each output."""
        e, more = self.place.equations, more or {}
        direction = {**dict(zip((*e.q, *e.v), (*self.q, *self.v), strict=True)), **self.seeds}
        values = {**self.place.values, **{x: value for x, (value, _) in more.items()}}
        direction |= {x: rate for x, (_, rate) in more.items()}
        return vary(e, name, outputs, values, direction)

    @property
    def n(self) -> int:
        """The number of parameters."""
        return len(next(iter(self.seeds.values())))


def vary_start(
    e: Equations,
    seeds: Mapping[Expr, Array],
    q: Given,
    v: Given,
    weights: Weights,
    any_distance: bool,
    keep: Sequence[str],
) -> Varied:
    """Return the start values of equations, as `restart` and `find_start` have them, with their derivatives."""
    chart = e.chart
    if chart.tree is not None:
        return _on_its_sides(e, chart.tree, seeds, q, v, weights, any_distance, keep)
    if chart.body is None:
        at = _still(e, seeds)
        at = replace(at, q=at.rates("start q", lambda: chart.start_q), v=at.rates("start v", lambda: chart.start_v))
        owned: tuple[Sequence[str], Sequence[str]] = (), ()
    else:
        body = chart.body.with_values(e.parameters)
        names = (*body.q_names, *body.v_names)
        body_q, body_v = ({x: y for x, y in (given or {}).items() if x in names} for given in (q, v))
        own_keep = [name for name in keep if name in body.v_names]
        bodies = vary_start(body, seeds, body_q, body_v, weights, any_distance, own_keep)
        if any(name in e.v_names and name not in body.v_names for name in keep):
            raise UsageError("coordinates of joints that are kept at the start cannot be varied", "not-varied")
        of_q, of_v = chart.from_body
        place = Place(e, bodies.place.find(f"{chart.kind} q", of_q), bodies.place.find(f"{chart.kind} v", of_v))
        rates = bodies.rates(f"{chart.kind} q", lambda: of_q), bodies.rates(f"{chart.kind} v", lambda: of_v)
        at, owned = Varied(place, rates[0], rates[1], seeds), (body.q_names, body.v_names)
    new = [at.place.q.copy(), at.place.v.copy()]
    for level, rates_of, given, own_names, others in zip(
        new, (at.q, at.v), (q, v), (e.q_names, e.v_names), owned, strict=True
    ):
        for name, value in (given or {}).items():
            if name not in others:
                k = own_names.index(name)
                level[k], rates_of[k] = value, 0.0
    at = replace(at, place=replace(at.place, q=new[0], v=new[1]))
    follows = chart.body is not None and not {*(q or {}), *(v or {})} - {*owned[0], *owned[1]}
    if weights == "none" or not e.Psi or follows:  # bodies that have been closed close the joints
        return at
    kept = find_start(at.place, weights, any_distance, keep, q, v).kept
    return _align(_close(at, weights, kept.q), weights, kept.v)


def _on_its_sides(
    e: Equations,
    tree: Equations,
    seeds: Mapping[Expr, Array],
    q: Given,
    v: Given,
    weights: Weights,
    any_distance: bool,
    keep: Sequence[str],
) -> Varied:
    """Return those of minimal coordinates, from those of all joints; states are as they are stated."""
    first = len(e.q) - e.n_states
    stated = _still(e, seeds)
    states = stated.rates("states", lambda: e.chart.start_q[first:])
    given = dict(zip(e.q_names[first:], stated.place.q[first:].tolist(), strict=True))
    for k, name in enumerate(e.q_names[first:]):
        if name in (q or {}):
            given[name], states[k] = q[name], 0.0  # type: ignore[index]
    q = {name: x for name, x in (q or {}).items() if name not in given}
    start = vary_start(tree.with_values(e.parameters), seeds, q, v, weights, any_distance, keep)
    values = dict(zip((*tree.q, *tree.v), (*start.place.q, *start.place.v), strict=True))
    rates = dict(zip((*tree.q, *tree.v), (*start.q, *start.v), strict=True))
    values |= dict(zip(e.q[first:], given.values(), strict=True))
    rates |= dict(zip(e.q[first:], states, strict=True))
    sides = np.sign(start.place.find("sides", [dyad.side for dyad in e.chart.dyads]))
    sigma = dict(zip((dyad.sigma for dyad in e.chart.dyads), sides.tolist(), strict=True))
    own_q, own_v = (np.array([values[x] for x in symbols], dtype=float) for symbols in (e.q, e.v))
    of_q, of_v = (np.array([rates[x] for x in symbols]).reshape(len(symbols), start.n) for symbols in (e.q, e.v))
    return Varied(Place(e.with_values({**e.parameters, **sigma}), own_q, own_v), of_q, of_v, seeds)


def _still(e: Equations, seeds: Mapping[Expr, Array]) -> Varied:
    """Return the stated start of which nothing varies yet."""
    n = len(next(iter(seeds.values())))
    return Varied(Place(e, *e.start()), np.zeros((len(e.q), n)), np.zeros((len(e.v), n)), seeds)


def _metric(place: Place, weights: Weights) -> tuple[Array, bool]:
    """Return W, and whether it is M."""
    if weights == "mass" and place.mass.is_regular:
        return place.M, True
    scale = np.ones(len(place.v)) if weights == "plain" else place.v_scale
    return np.diag(1.0 / scale**2), False


def _correct(at: Varied, weights: Weights, kept: Sequence[int], level: str) -> tuple[Array, Array]:
    """Return the correction dx of q, or dv of v, and its derivatives by the parameters."""
    place = at.place
    e, n = place.equations, len(place.v)
    J, gaps = place.Psi_q.copy(), place.Psi if level == "q" else place.Psi_dot
    if level == "q":
        J[[*e.slips]] = 0.0  # these hold no position
    W, is_mass = _metric(place, weights)
    m, free = len(gaps), np.delete(np.arange(n), list(kept))
    heaviest = np.sqrt(np.max(np.diag(W) * place.v_scale**2))
    scale = np.concatenate([place.v_scale[free] / heaviest, heaviest / place.row_scale])
    K = np.block([[W[np.ix_(free, free)], J[:, free].T], [J[:, free], np.zeros((m, m))]]) * np.outer(scale, scale)

    def residual() -> list[Expr]:
        product, inertia = multiply(e, [*e.a, *e.lam]), multiply(e, [*e.a, *[ZERO] * m])[:n]
        if not is_mass:  # another metric does not vary, but for changes of the second order
            product[:n] = [x - y for x, y in zip(product[:n], inertia, strict=True)]
        wanted = e.Psi if level == "q" else e.Psi_dot
        return [*product[:n], *(x + gap for x, gap in zip(product[n:], wanted, strict=True))]

    check_finite(K)
    is_regular = place.rank.rank == m and not kept and not e.slips
    inverse = scale[:, None] * (np.linalg.inv(K) if is_regular else np.linalg.pinv(K, RANK_TOLERANCE)) * scale
    x, still = -inverse[:, len(free) :] @ gaps, np.zeros(at.n)
    dx, of_dx = np.zeros(n), np.zeros((n, at.n))
    dx[free] = x[: len(free)]
    held = zip((*e.a, *e.lam), (*dx, *x[len(free) :]), strict=True)
    rates = at.rates(f"closing {level} {is_mass}", residual, {symbol: (value, still) for symbol, value in held})
    if level == "q":
        rates[[n + i for i in e.slips]] = 0.0
    of_dx[free] = -inverse[: len(free)] @ np.vstack([rates[free], rates[n:]])
    if not is_regular and level == "q":
        check_neighbours(at, J @ of_dx, rates[n:])
    return dx, of_dx


def check_neighbours(at: Varied, moved: Array, open_by: Array) -> None:
    """Raise UsageError where joints that depend on each other would no longer close: moved + open_by is not 0."""
    left = np.abs((moved + open_by) / at.place.row_scale[:, None]).max(axis=0, initial=0.0)
    sizes = [abs(at.place.equations.parameters.get(p, 0.0)) for p in at.seeds]
    gaps = zip(at.seeds, left * sizes, strict=True)  # of a parameter that is changed by itself, linearized
    if alone := [str(p.value).rstrip("'") for p, gap in gaps if gap > HALF_THE_DIGITS]:
        message = f"with any other value of {quoted(alone)} the loops would not close, so that there is no derivative"
        raise UsageError(message, "not-varied")


def _close(at: Varied, weights: Weights, kept: Sequence[int]) -> Varied:
    """Close by Newton's iteration onto Psi = 0 with its derivative, and once more for the derivative alone."""
    e, left = at.place.equations, math.inf
    for _ in range(MAX_ITERATIONS):
        is_last = at.place.gap <= ROUNDING or not at.place.gap < 0.5 * left
        left = at.place.gap
        dx, of_dx = _correct(at, weights, kept, "q")
        dx = np.where(is_last, 0.0, dx)
        moved = at.rates("retract", lambda: e.chart.retract, dict(zip(e.dx, zip(dx, of_dx, strict=True), strict=True)))
        at = replace(at, place=at.place.moved(dx), q=moved)
        if is_last:
            break
    return at


def _align(at: Varied, weights: Weights, kept: Sequence[int]) -> Varied:
    dv, of_dv = _correct(at, weights, kept, "v")
    return replace(at, place=at.place.at_velocity(at.place.v + dv), v=at.v + of_dv)


def vary_least_gap(at: Place, parameters: Sequence[Expr]) -> tuple[float, Array]:
    """Return the least |Psi|, rows by their scales, and how it varies: Psi . Psi_p / |Psi|, as it is least by q."""
    rates = vary(
        at.equations,
        "Psi",
        lambda: at.equations.Psi,
        at.values,
        dict(zip(parameters, np.eye(len(parameters)), strict=True)),
    )
    open_by = at.Psi / at.row_scale
    size = float(np.linalg.norm(open_by))
    return size, np.asarray(open_by / (size * at.row_scale) @ rates)
