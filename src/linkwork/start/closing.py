"""Start values that satisfy the constraints.

The start position is moved by the smallest change, weighted by the masses or by the size of the mechanism alone, or
without weights in its own coordinates over a gap of any size ("plain", as DAP does it), that closes the joints
(Gauss-Newton on Psi with least-norm steps); then the velocities likewise by Psi_q v = -Psi_t.
Axes have a sense, so that in space z_j - z_i is made zero, and not only the tilt. Coordinates to be kept stay exactly
as they are, and so do values that are given by name where the joints leave them independent. If the way from a rough
sketch ends before the joints are closed, other sketches with turned bodies are tried; if none closes, the smallest set
of joints that contradict each other is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.equations import Equations, Row
from linkwork.equations.place import Place, Weights
from linkwork.errors import (
    ModelError,
    UsageError,
    check_choice,
    check_names,
    check_number,
    check_values,
    did_you_mean,
    option,
)
from linkwork.expressions.evaluation import substitute
from linkwork.expressions.graph import ZERO
from linkwork.linalg.newton import MAX_ITERATIONS, iterate, solve_least_squares
from linkwork.linalg.rank import check_finite, decide_rank, singular_values
from linkwork.sequences.sequence import ComputationSequence
from linkwork.start.dead_points import explain_dead, find_dead
from linkwork.tolerances import AGREEMENT, CLOSED, EPSILON, HALF_THE_DIGITS, NEGLIGIBLE, ROUNDING, TYPED

Array = NDArray[np.float64]

WEIGHTS = ("mass", "unit", "plain", "none")
DECREASE = 0.1  # of what a step would narrow gaps by if Psi were linear: the least that it must (Armijo's condition)
MOST_DAMPED = 200  # damped steps: with a least gap above zero they converge linearly
DAMPING = 1e-2  # of the first damped step, by the Jacobian: nearly that of Gauss and Newton
FAR_APART = 10.0  # sizes of the mechanism: joints that are open by more are first brought together
REACH = 0.5  # radians, or of the length of the mechanism: sines and cosines are nearly linear over one step
SMALL = 0.05  # of the scale of a row: what is corrected without being asked; further off another closure may be meant
OTHER_SKETCHES = 40  # spread around the first, up to half a turn and the length of the mechanism
SEED = 20041  # of the other sketches, which are the same in every run


def group_gaps(equations: Equations, gaps: Array) -> dict[str, dict[str, float]]:
    """Return |Psi| of every joint and driver: {"B": {"m": 0.003, "rad": 0.0}}."""
    result: dict[str, dict[str, float]] = {}
    for row, gap in zip(equations.rows, gaps, strict=True):
        known = result.setdefault(row.element, {})
        known[row.unit] = float(np.hypot(known.get(row.unit, 0.0), gap))
    return result


def describe_gaps(place: Place, gaps: Array, least: float = 0.0) -> str:
    """Describe gaps, 'B 3.1e-02 m, C 1.2e-03 rad', the widest first and at least one, even below `least`.

    Gaps, and `least`, are measured by the scale of their kind.
    """
    scale = dict(zip((row.unit for row in place.equations.rows), place.row_scale, strict=True))
    parts = sorted(
        (
            (value / scale[unit], f"'{element}' {value:.3g} {unit}")
            for element, by_unit in group_gaps(place.equations, gaps).items()
            for unit, value in by_unit.items()
        ),
        reverse=True,
    )
    return ", ".join(text for k, (size, text) in enumerate(parts[:6]) if k == 0 or size > least)


def path_of(row: Row) -> str:
    """Return the place of a joint, driver or stated constraint in a model file."""
    if not row.part:
        return f"equations.Psi.{row.element}"
    return f"{'drivers' if row.part == 'drive' else 'joints'}.{row.element}"


def _path_of_widest(place: Place, gaps: Array) -> str:
    return path_of(place.equations.rows[int(np.argmax(np.abs(gaps) / place.row_scale))])


class Kept(NamedTuple):
    """Numbers of the velocities whose coordinates stay as they are, and of those that stay themselves."""

    q: Sequence[int] = ()
    v: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class Fitted:
    """Consistent start values, and what had to be changed."""

    place: Place
    given: Place
    weights: Weights
    kept: Kept = field(default_factory=Kept)

    @property
    def q_changes(self) -> dict[str, float]:
        return _changes(self.place.equations.q_names, self.place.q - self.given.q, self.place.q_scale)

    @property
    def v_changes(self) -> dict[str, float]:
        fastest = max((np.abs(x) / self.place.v_scale).max(initial=0.0) for x in (self.place.v, self.given.v))
        return _changes(self.place.equations.v_names, self.place.v - self.given.v, fastest * self.place.v_scale)


def _changes(names: tuple[str, ...], changes: Array, scale: Array) -> dict[str, float]:
    return {names[k]: float(changes[k]) for k in (np.abs(changes) > NEGLIGIBLE * scale).nonzero()[0]}


Given = Mapping[str, float] | None


def restart(
    place: Place,
    q: Given = None,
    v: Given = None,
    weights: Weights = "mass",
    any_distance: bool = False,
    keep: Sequence[str] = (),
) -> Place:
    """Return the place with other values of some coordinates and velocities, by the names of coordinates ("crank.phi").

    In other coordinates than those of the bodies, the bodies are first moved until they fit the joints as `find_start`
    does it, so that the start is the same in all coordinates; then what is named by these coordinates alone holds, and
    what of them `keep` names is as the model states it. A name that both have, as of a body and a joint 'A', is that of
    the body. Where loops are closed as triangles, all joints are moved until they fit.
    """
    for level, values in (("q", q), ("v", v)):
        check_values(level, values or {})
        for name, value in (values or {}).items():
            check_number(f"{level}[{name!r}]", value)
    check_names("keep", keep)
    if not (q or v or keep) and place.departure <= CLOSED and is_closed(place, within=CLOSED) and is_aligned(place):
        return place  # the bodies are as the model states them, and fit
    if place.equations.chart.tree is not None:
        return _on_its_sides(place, place.equations.chart.tree, q, v, weights, any_distance, keep)
    if not q and not v and place.equations.chart.body is None:
        return place
    e, new = place.equations, {"q": place.q.copy(), "v": place.v.copy()}
    of_bodies = ((), ()) if e.chart.body is None else (e.chart.body.q_names, e.chart.body.v_names)
    for given, names, others in zip((q, v), (e.q_names, e.v_names), of_bodies, strict=True):
        for name, value in (given or {}).items():
            check_choice("coordinate", name, (*names, *others))
            if not np.isfinite(value):
                raise UsageError(f"{value} is not a start value of '{name}'", "bad-value")
    if e.chart.body is not None:
        stated, fitted = fit_bodies(place, q, v, weights, any_distance, keep)
        held = {c.owner for c in e.velocities if c.name in keep and c.name not in e.chart.body.v_names}
        for level, own, columns in zip(new, e.chart.from_body, (e.coordinates, e.velocities), strict=True):
            new[level] = fitted.find(f"{e.chart.kind} {level}", own)
            if held:
                as_stated = stated.find(f"{e.chart.kind} {level}", own)
                new[level] = np.where([c.owner in held for c in columns], as_stated, new[level])
    for level, given, names, others in zip(new, (q, v), (e.q_names, e.v_names), of_bodies, strict=True):
        for name, value in (given or {}).items():
            if name not in others:
                new[level][names.index(name)] = value
    return replace(place, q=new["q"], v=new["v"])


def fit_bodies(
    place: Place, q: Given, v: Given, weights: Weights, any_distance: bool, keep: Sequence[str]
) -> tuple[Place, Place]:
    """Return where the bodies of a mechanism in other coordinates are stated to start, and where they fit the
    joints.
    """
    stated = state_bodies(place, q, v)
    names = stated.equations.v_names
    if weights in ("plain", "none"):
        return stated, stated  # other coordinates are corrected themselves
    return stated, find_start(stated, weights, any_distance, [name for name in keep if name in names], q, v).place


def state_bodies(place: Place, q: Given = None, v: Given = None) -> Place:
    """Return where the model has its bodies, or these values by their own names."""
    e = place.equations
    assert e.chart.body is not None
    body = e.chart.body.with_values(e.parameters)
    q, v = ({name: x for name, x in (given or {}).items() if name in body.v_names + body.q_names} for given in (q, v))
    of_model = body.start() if place.stated is None else np.split(place.stated, [len(body.q)])
    return restart(place.beside(body, *of_model), q, v)


def locate_bodies(place: Place) -> Place:
    """Return the equations of the bodies where they are, which hold all joints."""
    e = place.equations
    return place if e.chart.body is None else Place(e.bodies_at(place.q.tolist()), *place.of_bodies())


def follow_bodies(start: Fitted, q: Given = None, v: Given = None) -> Fitted:
    """Return what the start changes of the bodies as the model has them; of other coordinates where these are given."""
    e = start.place.equations
    if e.chart.body is None or not {*(q or ()), *(v or ())} <= {*e.chart.body.q_names, *e.chart.body.v_names}:
        return start
    return Fitted(locate_bodies(start.place), state_bodies(start.place, q, v), start.weights, start.kept)


def _on_its_sides(
    stated: Place, tree: Equations, q: Given, v: Given, weights: Weights, any_distance: bool, keep: Sequence[str]
) -> Place:
    """Return the start in minimal coordinates, from that of all joints; dyads stay on the sides that it has."""
    e = stated.equations
    of_all, first = tree.with_values(e.parameters), len(e.q) - e.n_states
    states = dict(zip(e.q_names[first:], e.start()[0][first:].tolist(), strict=True))
    states |= {name: x for name, x in (q or {}).items() if name in states}
    q = {name: x for name, x in (q or {}).items() if name not in states}
    given = restart(stated.beside(of_all, *of_all.start()), q, v, weights, any_distance, keep)
    start = find_start(given, weights, any_distance, keep, q, v).place
    sides = np.sign(start.find("sides", [dyad.side for dyad in e.chart.dyads]))
    sigma = dict(zip((dyad.sigma for dyad in e.chart.dyads), sides.tolist(), strict=True))
    found = dict(zip((*tree.q, *tree.v, *e.q[first:]), (*start.q, *start.v, *states.values()), strict=True))
    own_q, own_v = (np.array([found[x] for x in symbols], dtype=float) for symbols in (e.q, e.v))
    place = Place(e.with_values({**e.parameters, **sigma}), own_q, own_v)
    if (dead := find_dead(place)) is not None:
        raise ModelError(explain_dead(dead, 0.0, False), "dead-position", path=f"joints.{dead.joint}")
    return place


def number_kept(equations: Equations, keep: Sequence[str]) -> list[int]:
    """Return the numbers of coordinates that are to stay as they are; UsageError if there is none of such a name."""
    check_names("keep", keep)
    if not keep:
        return []
    names = equations.v_names
    of_speed = {velocity.speed: velocity.name for velocity in equations.velocities}
    for name in keep:
        if name not in names:
            hint = f"did you mean '{of_speed[name]}'?" if name in of_speed else did_you_mean(name, names)
            message = f"{option('keep', name)}: no coordinate has this name" + (f"; {hint}" if hint else "")
            raise UsageError(message, "unknown-coordinate")
    return [names.index(name) for name in keep]


def number_named(e: Equations, names: Iterable[str]) -> list[int]:
    """Return the numbers of the velocities that move coordinates of these names; Euler parameters turn their body."""
    own = {*names} - {*(e.chart.body.q_names + e.chart.body.v_names if e.chart.body else ())}
    turned = {c.owner for c in e.coordinates if c.name in own and c.name not in e.v_names}
    return [k for k, c in enumerate(e.velocities) if c.name in own or (c.owner in turned and c.kind == "angle")]


def are_independent(place: Place, numbers: Sequence[int]) -> bool:
    """Return whether the joints can close, to first order, by the other velocities alone."""
    ranks = [decide_rank(singular_values(J / place.row_scale[:, None])).rank
             for J, _ in (place.scaled_jacobian("unit", kept) for kept in ((), numbers))]  # fmt: skip
    return ranks[0] == ranks[1]


@np.errstate(all="ignore")  # what is not finite is looked for where it matters
def find_start(
    given: Place,
    weights: Weights = "mass",
    any_distance: bool = False,
    keep: Sequence[str] = (),
    q: Given = None,
    v: Given = None,
) -> Fitted:
    """Return the start values of the model, corrected where they miss the constraints, but not those of `keep`.

    What q and v name holds exactly if it is independent and can be reached, and then the rates of what q names if the
    joints let them. A gap beyond SMALL is an error unless `any_distance` is set: so far off, another closure may be
    meant. Where a velocity would change by more than SMALL of what the model says, all that it gives are kept and those
    that are zero follow; it is an error if the joints do not allow that.
    """
    check_choice("weights", weights, WEIGHTS)
    e = given.equations
    if e.chart.tree is not None:
        keep, q, v = (), None, None  # they have been kept where all joints were closed
    kept = number_kept(e, [name for name in keep if e.chart.body is None or name not in e.chart.body.v_names])
    if not len(given.Psi) or weights == "none":
        return Fitted(given, given, weights, Kept(kept, kept))
    check_defined(given)
    of_q, of_v = ({*kept, *number_named(e, names or ())} for names in (q, v))
    for held in (Kept(sorted(of_q), sorted(of_q | of_v)), Kept(sorted(of_q), sorted(of_v))):
        if held != (kept, kept) and are_independent(given, held.q) and are_independent(given, held.v):
            with suppress(ModelError):
                return _fit(given, weights, any_distance, held)
    return _fit(given, weights, any_distance, Kept(kept, kept))


def _fit(given: Place, weights: Weights, any_distance: bool, kept: Kept) -> Fitted:
    """Return the start values with these kept."""
    if weights == "plain":
        return Fitted(align_velocity(close_plainly(given, kept.q), weights, kept.v), given, weights, kept)
    if given.gap > SMALL and not any_distance:
        raise ModelError(
            f"the start position does not fit the joints: {describe_gaps(given, given.Psi, CLOSED)}",
            "start-far-off",
            path=_path_of_widest(given, given.Psi),
            rule=f"gaps up to {SMALL:.0%} of the mechanism, or {SMALL:g} rad, are corrected automatically",
            suggestion=f"correct the start positions{_about_degrees(given) or _about_millimetres(given)}, "
            f"or close wider gaps with {option('assemble')}",
        )
    if not any_distance:
        _check_senses(given)
    if any_distance:
        closed = close_from_afar(given, weights, kept.q)[0]
        return Fitted(align_velocity(closed, weights, kept.v), given, weights, kept)
    closed = close_joints(given, weights, kept.q)
    start = Fitted(align_velocity(closed, weights, kept.v), given, weights, kept)
    fault = _velocity_fault(start)
    if fault is None:
        return start
    kept = Kept(kept.q, sorted({*kept.v, *np.flatnonzero(given_velocities(given)).tolist()}))
    try:  # the others follow those that are given
        return Fitted(align_velocity(closed, weights, kept.v), given, weights, kept)
    except ModelError:
        raise fault from None


def _check_senses(given: Place) -> None:
    """Raise ModelError where a joint fits the start but for a half turn."""
    if not given.equations.reversal:
        return
    names = [name for name, own in given.equations.reversal.items() for _ in own]
    reversed_ = [name for name, x in zip(names, given.reversal, strict=True) if x > SMALL]
    for name in reversed_[:1]:
        raise ModelError(
            f"joint '{name}' is reversed at the start position: its bodies fit it but for a turn of 180 degrees",
            "reversed-joint",
            path=f"joints.{name}",
            rule="axis and axis_j, and directions that stay parallel, point the same way",
            suggestion=f"turn one of the bodies, give axis_j the other sign, or let {option('assemble')} turn them",
        )


def _about_degrees(given: Place) -> str:
    """Return a hint where an angle of more than a turn may have been meant in degrees."""
    named = zip(given.equations.coordinates, given.q.tolist(), strict=True)
    angles = [(x, c.name) for c, x in named if c.kind == "angle" and abs(x) > 2.0 * np.pi]
    return "".join(f" ({name} is {x:.6g} rad; if degrees are meant, write {x:.6g} deg)" for x, name in angles[:1])


def _about_millimetres(given: Place) -> str:
    """Return a hint where the start fits with a parameter a thousand times smaller, and without is off by more than
    it spans.

    Smaller gaps say nothing about units: a rod that is put out of the way may fit, too. Nor do bodies that are all at
    one place, as where no positions are given: there whatever is small enough fits.
    """
    e = given.equations
    are_lengths = e.lengths[len(e.q) + len(e.v) :]
    gap, places = np.abs(given.Psi[are_lengths]).max(initial=0.0), e.lengths[: len(e.q)]
    for x, value in e.parameters.items() if np.any(places) and np.ptp(given.q[places]) else ():
        name = str(x.value)
        if value and "'" not in name:  # those are not the user's
            other = e.with_values({**e.parameters, x: value / 1000.0})
            place = Place(other, *other.start())
            if place.gap <= SMALL and gap > np.ptp(place.q[places]):
                return f" (with {name} = {value:.6g} mm they fit; if millimetres are meant, write {value:.6g} mm)"
    return ""


def given_velocities(given: Place) -> Array:
    """Return the velocities that are given: zero where they are rounding beside the largest.

    That of a mass centre is not given where the model gives a turn alone, about the origin of a frame.
    """
    e, v = given.equations, given.v
    if e.chart.body is None and np.array_equal(v, e.start()[1]):
        shifts = ~e.turning

        def without_turns() -> ComputationSequence:
            turns = {x: ZERO for x, is_shift in zip(e.chart.start_v, shifts, strict=True) if not is_shift}
            return ComputationSequence("without turns", (), substitute(e.chart.start_v, turns))

        v = np.where(shifts, e.evaluate("without turns", without_turns), v)
    sizes = np.abs(v) / given.v_scale
    return np.where(sizes > AGREEMENT * np.max(sizes, initial=0.0), v, 0.0)


def _velocity_fault(start: Fitted) -> ModelError | None:
    """Return what is wrong where a velocity that the model gives a body is not its velocity at the start."""
    if start.place is start.given:
        return None
    given, changes = start.given, np.abs(start.place.v - start.given.v)
    fastest: dict[tuple[str, str], float] = {}  # of a body that shifts, and that turns
    kinds = [(c.owner, c.kind) for c in given.equations.velocities]
    for kind, v in zip(kinds, np.abs(given_velocities(given)), strict=True):
        fastest[kind] = max(fastest.get(kind, 0.0), float(v))
    by = np.array([fastest[kind] for kind in kinds])
    k = int(np.argmax(np.where(by > 0.0, changes / np.maximum(by, np.finfo(float).tiny), 0.0)))
    if by[k] == 0.0 or changes[k] <= SMALL * by[k]:
        return None
    name, found = given.equations.v_names[k], start.place.v[k]
    owners = "equations.coordinates" if given.equations.chart.kind == "stated" else "bodies"
    return ModelError(
        f"the start velocities do not fit the joints: that of '{name}' would be "
        f"{found if abs(found) > NEGLIGIBLE * by[k] else 0.0:.6g}"
        f" instead of {given.v[k]:.6g} per second",
        "velocity-far-off",
        path=f"{owners}.{given.equations.velocities[k].owner}",
        rule=f"velocities that are given stay, or are corrected by up to {SMALL:.0%}; zero counts as not given",
        suggestion=f"give fewer of them, name one that stays with {option('keep', name)}, or take the nearest with "
        f"{option('assemble')}",
    )


def check_defined(place: Place) -> None:
    """Raise ModelError where a constraint or its Jacobian has no value, as a distance of zero has no direction."""
    if place.is_finite:
        return
    values = np.column_stack([place.Psi, place.Psi_dot, place.Psi_q])
    undefined = [row.element for row, x in zip(place.equations.rows, values, strict=True) if not np.all(np.isfinite(x))]
    if undefined:
        names = ", ".join(f"'{name}'" for name in dict.fromkeys(undefined))
        raise ModelError(
            f"{names} cannot be evaluated at the start position",
            "undefined-start",
            path=path_of(next(row for row in place.equations.rows if row.element == undefined[0])),
            rule="a distance between points that coincide has no direction",
            suggestion="start with the points apart, or drive x or y in the place of the distance",
        )
    check_finite(place.M)


def is_closed(place: Place, rows: Sequence[int] | None = None, within: float = HALF_THE_DIGITS) -> bool:
    """Return whether the joints (of all rows, or some) are closed but for the last digits, and none is reversed."""
    if rows is None:
        return place.gap <= within and float(place.reversal.max(initial=0.0)) <= within
    return bool(np.max(np.abs(place.Psi[list(rows)]) / place.row_scale[list(rows)], initial=0.0) <= within)


def close_plainly(given: Place, kept: Sequence[int] = ()) -> Place:
    """Return the place moved by Newton's iteration with steps of least norm, metres and radians counting alike.

    dq = -Psi_q^T (Psi_q Psi_q^T)^-1 Psi                                               [nikravesh2018, appendix C]
    """
    place = given
    for _ in range(MAX_ITERATIONS):
        if is_closed(place, within=ROUNDING) or not place.is_finite:
            break
        J, root = _closing_jacobian(place, "plain", kept)
        place = place.moved(root @ solve_least_squares(J, -place.Psi))
    if not is_closed(place):
        raise ModelError(
            f"the least change does not close the joints: {describe_gaps(given, given.Psi, CLOSED)}",
            "start-far-off",
            path=_path_of_widest(given, given.Psi),
            suggestion="correct the start positions, or choose other weights",
        )
    return place


def close_joints(place: Place, weights: Weights, kept: Sequence[int] = ()) -> Place:
    """Return the place moved until the joints close; the velocities numbered in `kept` stay zero."""
    if is_closed(place, within=CLOSED):
        return place
    nearest, best = _approach_twice(place, weights, kept)
    if is_closed(nearest):
        return nearest
    gaps = describe_gaps(place, best.Psi, TYPED) + _describe_last(best, kept)
    raise ModelError(
        f"the joints cannot close from this start position; best found: {gaps}",
        "cannot-close",
        path=_path_of_widest(place, best.Psi),
        suggestion="check lengths, axes and start positions of the bodies in this loop",
    )


def _describe_last(best: Place, kept: Sequence[int]) -> str:
    """Describe by how much one joint stays open where all others close: so far off are lengths or axes of its loop."""
    rows = best.equations.rows
    last = rows[int(np.argmax(np.abs(best.Psi) / best.row_scale))].element
    others = [k for k, row in enumerate(rows) if row.element != last]
    near = approach(best, "unit", kept, others)
    if not is_closed(near, others):
        return ""
    gaps = np.where([row.element == last for row in rows], near.Psi, 0.0)
    return f"; with all others closed, what is left is {describe_gaps(near, gaps, TYPED)}"


def _approach_twice(place: Place, weights: Weights, kept: Sequence[int]) -> tuple[Place, Place]:
    """Return where the way to closed joints leads, and the smallest gap nearby.

    What the second search closes is closed.
    """
    nearest = approach(place, weights, kept)
    if is_closed(nearest):
        return nearest, nearest
    best = minimize_gap(nearest, kept)
    again = approach(best, weights, kept)
    return (again, again) if is_closed(again) else (nearest, best)


def _closing_jacobian(place: Place, weights: Weights, kept: Sequence[int]) -> tuple[Array, Array]:
    """Return Psi_q W^-1/2 and W^-1/2, with zeros in rows of velocities: these hold no position."""
    J, root = place.scaled_jacobian(weights, kept)
    if place.equations.slips:
        J = J.copy()
        J[[*place.equations.slips]] = 0.0
    return J, root


def approach(place: Place, weights: Weights, kept: Sequence[int] = (), rows: Sequence[int] | None = None) -> Place:
    """Return the place moved towards Psi = 0 (of all rows, or some): q <- q + dx with the least-norm dx of Psi_q dx
    = -Psi.

    Rows are measured by their scales. A step that goes beyond REACH, or does not narrow the gaps enough, is shortened.
    """
    if is_closed(place, rows, CLOSED):
        return place
    chosen = slice(None) if rows is None else list(rows)
    scale, reach = place.row_scale[chosen], REACH * place.v_scale

    def gaps(at: Place) -> Array:
        return np.append(at.Psi[chosen] / scale, at.reversal if rows is None else ())

    def correct(_: None, at: Place, k: int) -> tuple[Place, float]:
        J, root = _closing_jacobian(at, weights, kept)
        J, open_by = J[chosen] / scale[:, None], gaps(at)
        if rows is None:
            J = np.vstack([J, at.reversal_q @ root])
        dx = root @ solve_least_squares(J, -open_by)
        part = 1.0 / max(1.0, float(np.max(np.abs(dx) / reach, initial=0.0)))
        while part > TYPED:
            trial = at.moved(part * dx)
            left = float(np.linalg.norm(gaps(trial)))
            if left <= (1.0 - DECREASE * part) * np.linalg.norm(open_by) and trial.is_finite:
                return trial, left
            part *= 0.5
        return at, np.nan

    return iterate(None, correct, place, float(np.linalg.norm(gaps(place))), MAX_ITERATIONS, ROUNDING, CLOSED)[0]


def minimize_gap(place: Place, kept: Sequence[int] = ()) -> Place:
    """Return where |Psi|, rows by their scales, is smallest nearby: for joints that cannot close.

    The method of Levenberg and Marquardt, damped by how well Psi is as linear as expected [madsen2004].
    """
    scale = np.append(place.row_scale, np.ones(len(place.reversal)))
    free = np.delete(np.arange(len(place.v)), list(kept))
    reach = REACH * place.v_scale[free]

    def linearize(at: Place) -> tuple[Array, Array]:
        J = np.vstack([at.Psi_q, at.reversal_q])[:, free] * reach
        J[[*at.equations.slips]] = 0.0
        return np.append(at.Psi, at.reversal) / scale, J / scale[:, None]

    r, J = linearize(place)
    mu, raised, none = (DAMPING * np.linalg.norm(J)) ** 2, 2.0, np.zeros(len(free))
    for _ in range(MOST_DAMPED):
        y = solve_least_squares(np.vstack([J, np.sqrt(mu) * np.eye(len(free))]), np.concatenate([-r, none]), EPSILON)
        dx = np.zeros(len(place.v))
        dx[free] = reach * y
        trial = place.moved(dx)
        r_trial, J_trial = linearize(trial)
        gain, expected = r @ r - r_trial @ r_trial, y @ (mu * y - J.T @ r)
        if gain > 0.0 and trial.is_finite:
            place, r, J = trial, r_trial, J_trial
            mu, raised = mu * max(1.0 / 3.0, 1.0 - (2.0 * gain / expected - 1.0) ** 3), 2.0
        else:
            mu, raised = raised * mu, 2.0 * raised
        if max(gain, expected) <= AGREEMENT * (r @ r):
            break
    return place


def speed_of(place: Place) -> float:
    """Return the largest velocity on its scale."""
    return place.scaled.speed


def rate_of(place: Place) -> float:
    """Return the largest |Psi_dot| on the scale of its row."""
    return place.scaled.rate


def is_aligned(place: Place) -> bool:
    """Return whether Psi_q v = -Psi_t but for the last digits of v."""
    return rate_of(place) <= CLOSED * speed_of(place)


def align_velocity(place: Place, weights: Weights, kept: Sequence[int] = ()) -> Place:
    """Change v least so that Psi_q v = -Psi_t; the velocities numbered in `kept` stay as they are.

    What is left is measured by the largest velocity that is given, found, or asked for by drivers.
    """
    if is_aligned(place):
        return place
    asked = max(speed_of(place), rate_of(place.at_velocity(0.0 * place.v)))
    for _ in range(2):  # the second time for the digits that the first has lost
        if not rate_of(place) > CLOSED * max(asked, speed_of(place)):
            return place
        J, root = place.scaled_jacobian(weights, kept)
        by = place.row_scale
        place = place.at_velocity(place.v + root @ solve_least_squares(J / by[:, None], -place.Psi_dot / by))
    if rate_of(place) > AGREEMENT * max(asked, speed_of(place)):
        raise ModelError(
            f"no velocities satisfy the joints and drivers; left over per second: "
            f"{describe_gaps(place, place.Psi_dot, AGREEMENT)}",
            "velocities-conflict",
            path=_path_of_widest(place, place.Psi_dot),
            suggestion="two drivers may act on one freedom, or a driver on a freedom that the joints have taken",
        )
    return place


def gather(place: Place, kept: Sequence[int] = ()) -> Place:
    """Return the place with bodies shifted, not turned, to where joints that are far apart are least open.

    Steps that turn bodies are short, and far from each other bodies have lost the digits of the mechanism.
    """
    e, n = place.equations, len(place.q)
    rows = e.lengths[n + len(place.v) :]
    at_origin = replace(place, q=np.where(e.lengths[:n], 0.0, place.q))
    size = max(at_origin.arm, float(np.abs(at_origin.Psi[rows]).max(initial=0.0)))
    if np.abs(place.Psi[rows]).max(initial=0.0) <= FAR_APART * size:
        return place
    return minimize_gap(place, [*kept, *np.flatnonzero(e.turning).tolist()])


def close_from_afar(given: Place, weights: Weights, kept: Sequence[int] = ()) -> tuple[Place, bool]:
    """Return the closed place nearest to a sketch, and whether bodies had to be turned before it was found."""
    given = gather(given, kept)
    nearest, _ = _approach_twice(given, weights, kept)
    if is_closed(nearest):
        return nearest, False
    return _close_other_sketches(given, nearest, weights, kept), True


def find_least_gap(given: Place, weights: Weights) -> Place | None:
    """Return where joints are least open near a sketch; None if they close there."""
    nearest, best = _approach_twice(gather(given), weights, ())
    return None if is_closed(nearest) else best


def _close_other_sketches(given: Place, nearest: Place, weights: Weights, kept: Sequence[int]) -> Place:
    """Return the closed place nearest to the sketch that is found from sketches with turned and shifted bodies."""
    given = given.compiled()
    nearest = replace(nearest, code=given.code)
    random = np.random.default_rng(SEED)
    turning = given.equations.turning
    found = []
    for k in range(OTHER_SKETCHES):
        spread = (k + 1) / OTHER_SKETCHES * np.where(turning, np.pi, given.length)
        dx = spread * random.normal(size=len(given.v))
        dx[list(kept)] = 0.0
        place = approach(given.moved(dx), weights, kept)
        if is_closed(place):
            found.append(place)
        elif np.linalg.norm(place.Psi / given.row_scale) < np.linalg.norm(nearest.Psi / given.row_scale):
            nearest = place
    if not found:
        conflict = ", ".join(f"'{name}'" for name in _conflict(given, nearest, weights, kept))
        best = minimize_gap(nearest, kept)
        gaps = describe_gaps(given, best.Psi, TYPED) + _describe_last(best, kept)
        raise ModelError(
            f"the joints {conflict} contradict each other: best found {gaps}",
            "cannot-close",
            path=_path_of_widest(given, best.Psi),
            rule=f"no position closes them all, from the sketch and from {OTHER_SKETCHES} others",
            suggestion="check the lengths and axes between these joints"
            + (", or keep fewer coordinates" if kept else ""),
        )
    return min(found, key=lambda place: float(np.linalg.norm((place.q - given.q) / given.q_scale)))


def _conflict(given: Place, nearest: Place, weights: Weights, kept: Sequence[int]) -> list[str]:
    """Return joints of which none can be left out without the others closing."""
    rows: dict[str, list[int]] = {}
    for k, row in enumerate(given.equations.rows):
        rows.setdefault(row.element, []).append(k)
    needed = list(rows)
    # Masses make a light link turn far for each step, so that the way can be too long; without them it is not.
    ways: list[tuple[Place, Weights]] = [(given, weights), (nearest, weights), (given, "unit"), (nearest, "unit")]
    for name in rows:
        others = [k for other in needed if other != name for k in rows[other]]
        if not any(is_closed(approach(place, by, kept, others), others) for place, by in ways):
            needed.remove(name)
    return needed
