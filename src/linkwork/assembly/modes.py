"""All assembly modes: every position in which the joints of a mechanism close.

Mechanisms with polynomial closure equations are solved completely by homotopy (closure.py and blocks.py in the plane,
space.py, homotopy.py). The others, and those with too many paths, are searched from many starts (deflation.py), which
proves nothing about what was not found. Every mode is brought to rounding by Newton's iteration on Psi itself and,
where the number of equations is that of the coordinates, certified (certificate.py).

Freedoms that are neither driven nor kept are removed by random linear equations in the coordinates x, y, cos phi and
sin phi, through the closed start position: modes are then witness points of the closure variety, and the number of
complex ones is its degree [zhou2007, section 6; sommese2005].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from typing import Any, Literal

import numpy as np

from linkwork.assembly.assemble import assemble
from linkwork.assembly.homotopy import POOR
from linkwork.assembly.laurent import NotPolynomialError
from linkwork.assembly.problem import MOST_STARTS, STARTS, Array, Problem, Random
from linkwork.assembly.solutions import Ends, Progress, polynomials, position, real_position, solve_closure
from linkwork.assembly.space import SpatialClosure, solve_in_space, spatial_closure, stated_closure
from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.errors import UsageError, check_count, checked_call
from linkwork.linalg.rank import svd
from linkwork.model import Model
from linkwork.notes import Note
from linkwork.records import Printed
from linkwork.tolerances import TYPED, halved

PATH_LIMIT = 20000
ATTEMPTS = 3  # with other random numbers, where paths are lost or solutions lack their conjugates
SEED = 1


@dataclass(frozen=True)
class Mode:
    """One position in which everything closes; `points` are the named points by body and name.

    `freedoms` is the dimension of the set of positions around it: zero for a mode, which stands alone.
    """

    q: Mapping[str, float]
    points: Mapping[str, tuple[float, ...]]
    residual: float
    certified: bool
    singular: bool
    freedoms: int = 0


@dataclass(frozen=True, repr=False)
class Modes(Printed):
    """The modes of a mechanism, the nearest to its start position first, and how they were found.

    `paths` were followed; they ended in `finite` different isolated complex solutions, `singular` of them singular, on
    curves or surfaces of solutions, at infinity, or were `lost`. `motions` has one position of each set of curves or
    surfaces that has real ones. `slices` random linear equations replace freedoms; `degree` is then that of the closure
    variety. `complete` says that the modes are all there are, with probability one and up to numerical error.
    """

    name: str
    modes: tuple[Mode, ...]
    motions: tuple[Mode, ...]
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
    notes: tuple[Note, ...]
    wall_s: float

    @property
    def real(self) -> int:
        return len(self.modes)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "real": self.real}

    def __str__(self) -> str:
        from linkwork.view.report import aligned, mode_lines

        return aligned(mode_lines(self))


@checked_call()
@np.errstate(all="ignore")  # what is not finite is looked for where it matters
def modes(
    model: Model | Mechanism,
    keep: Sequence[str] = (),
    *,
    path_limit: int = PATH_LIMIT,
    seed: int = SEED,
    progress: Progress | None = None,
) -> Modes:
    """Return all positions in which joints and drivers close at t = 0 with the coordinates `keep` at their start
    values.
    """
    began = perf_counter()
    check_count("path_limit", path_limit)
    check_count("seed", seed)
    model = prepare(model).model
    problem = Problem.of(model, keep)
    rng = np.random.default_rng(seed)
    notes: list[Note] = []
    try:
        follow = _follow_paths if model.space == "planar" else _follow_paths_in_space
        follow = follow if model.stated is None else _follow_paths_of_stated
        found = follow(problem, rng, path_limit, progress or (lambda _fraction, _text: None))
    except NotPolynomialError as reason:
        found, tried = _search(problem, rng)
        idle = STARTS if tried < MOST_STARTS else 0
        notes.append(Note("not-complete", reason=str(reason), starts=tried, idle=idle))
    ends = found.ends
    return Modes(
        name=model.name,
        modes=tuple(found.modes()),
        motions=tuple(found.mode(q, True, problem.freedoms(q, rng)) for q in found.motions),
        method="homotopy" if ends else "multi-start",
        kept=tuple(keep),
        slices=len(found.problem.slices),
        paths=ends.paths if ends else 0,
        finite=len(ends.isolated) if ends else 0,
        infinite=ends.infinite if ends else 0,
        singular=sum(not s.regular for s in ends.isolated) if ends else 0,
        lost=ends.lost if ends else 0,
        degree=len(ends.isolated) if ends and found.problem.slices else None,
        complete=found.complete,
        notes=(*notes, *found.notes),
        wall_s=perf_counter() - began,
    )


@np.errstate(all="ignore")  # what is not finite is looked for where it matters
def free_coordinates(model: Model, keep: Sequence[str] = ()) -> tuple[str, ...]:
    """Return coordinates that fix every freedom which joints and drivers leave: `keep`, then others where these do
    not do.

    The others are angles as far as possible, in the order of the bodies: in a four-bar, that of the crank.
    """
    problem = Problem.of(model, keep)
    if model.space != "planar":
        return problem.keep
    moves = problem.motions(problem.regular_position(np.random.default_rng(SEED)))  # not yet fixed
    found = list(problem.keep)
    for k in np.argsort(~problem.equations.turning, kind="stable"):
        part = moves[:, k]
        if np.linalg.norm(part) > POOR:  # it is not at a dead centre
            moves = svd(part[None, :])[2][1:] @ moves
            found.append(problem.equations.q_names[k])
    return tuple(found)


def in_mode(model: Model, number: int, keep: Sequence[str] = ()) -> Model:
    """Return the mechanism from the start in one of its modes, counted from 1 as `modes` lists them.

    The velocities are the nearest to those of the model that fit; those of the coordinates `keep` do not change.
    """
    found = modes(model, keep)
    if not 1 <= number <= found.real:
        kept = f" with {', '.join(keep)} kept" if keep else ""
        raise UsageError(f"no mode {number}: '{model.name}' has {found.real or 'none'}{kept}", "no-such-mode")
    equations = Problem.of(model).equations
    v = dict(zip(equations.v_names, equations.start()[1].tolist(), strict=True))
    mode = model.with_start(found.modes[number - 1].q, v)
    moving = assemble(mode, keep)
    note = Note("mode", number=number, of=found.real, kept=[*keep])
    return replace(mode.with_start(moving.q, moving.v), notes=(*model.notes, note))


@dataclass(frozen=True)
class Found:
    """Positions that close, before they are named and put in order; `ends` if they are ends of paths."""

    problem: Problem
    positions: list[tuple[Array, bool]]  # and whether it is singular
    motions: tuple[Array, ...] = ()
    ends: Ends | None = None
    complete: bool = False
    notes: tuple[Note, ...] = ()

    def modes(self) -> list[Mode]:
        """Return each position once, to rounding, the nearest to the start first."""
        p = self.problem
        at_start = p.evaluate(p.features, p.start)
        kept: list[tuple[float, Array, Array, bool]] = []
        for rough, singular in self.positions:
            q = p.close(rough)
            if q is None:
                continue
            F = p.linearize(q)[2]
            lifted = np.max(np.abs(F - p.linearize(rough)[2]), initial=0.0)
            if lifted > (halved(POOR) if singular else POOR):
                continue  # a solution of the polynomials that is none of Psi: a driven distance with the wrong sign
            apart = halved(TYPED) if singular else TYPED
            if all(np.max(np.abs(F - other), initial=0.0) > apart for _, _, other, _ in kept):
                kept.append((float(np.linalg.norm(F - at_start)), q, F, singular))
        kept.sort(key=lambda item: item[0])
        return [self.mode(q, singular) for _, q, _, singular in kept]

    def mode(self, q: Array, singular: bool, freedoms: int = 0) -> Mode:
        p = self.problem
        proved = p.is_certified(q)
        outputs, axes = p.equations.outputs.get("points", {}), "xy" if p.model.space == "planar" else "xyz"
        points = [f"{body.name}.{name}" for body in (*p.model.bodies, p.model.ground) for name in body.points]
        found = p.evaluate([outputs[f"{point}.{axis}"].expression for point in points for axis in axes], q)
        places = dict(zip(points, map(tuple, found.reshape(-1, len(axes)).tolist()), strict=True))
        by_name = dict(zip(p.equations.q_names, q.tolist(), strict=True))
        return Mode(by_name, places, p.residual(q), proved, singular and not proved, freedoms)


def _search(problem: Problem, rng: Random) -> tuple[Found, int]:
    """Search from many starts; return the solutions and the number of starts."""
    freedoms = problem.freedoms(problem.closed, rng)
    if freedoms:
        problem = problem.slice(freedoms, rng)
    positions, tried = problem.search(rng)
    return Found(problem, [(q, len(problem.motions(q)) > 0) for q in positions]), tried


def _follow_paths(problem: Problem, rng: Random, path_limit: int, progress: Progress) -> Found:
    """Return the real ones of all complex solutions."""
    c = polynomials(problem)
    if c.consistent and c.freedoms > 0:
        problem = problem.slice(c.freedoms, rng)
        c = polynomials(problem)
    if not c.consistent:
        return _contradiction(problem)
    for _ in range(ATTEMPTS):
        ends = solve_closure(c, rng, path_limit, progress)
        if ends.complete:
            break
    places = [position(problem, c, s.values) for s in ends.solutions]
    return _sort_ends(problem, rng, ends, places, _over_determined(c.freedoms))


def _follow_paths_in_space(problem: Problem, rng: Random, path_limit: int, progress: Progress) -> Found:
    """Return the same along a tree of joints, if nothing is left to move."""
    if problem.freedoms(problem.closed, rng):
        raise NotPolynomialError("a freedom in space that is neither driven nor kept")
    c = spatial_closure(problem)
    if c.freedoms > 0 and c.consistent:
        raise NotPolynomialError("a loop with fewer equations than unknowns")
    return _close(problem, c, rng, path_limit, progress)


def _follow_paths_of_stated(problem: Problem, rng: Random, path_limit: int, progress: Progress) -> Found:
    """Return the same in the coordinates that a model states, what is left to move being cut by slices."""
    c = stated_closure(problem)
    if c.consistent and c.freedoms > 0:
        problem = problem.slice(c.freedoms, rng)
        c = stated_closure(problem)
    return _close(problem, c, rng, path_limit, progress, _over_determined(c.freedoms))


def _over_determined(freedoms: int) -> list[Note]:
    return [Note("over-determined", more=-freedoms)] if freedoms < 0 else []


def _contradiction(problem: Problem) -> Found:
    return Found(problem, [], ends=Ends([]), complete=True, notes=(Note("contradiction"),))


def _close(
    problem: Problem,
    c: SpatialClosure,
    rng: Random,
    path_limit: int,
    progress: Progress,
    more: Sequence[Note] = (),
) -> Found:
    """Return the real ones of all complex solutions in coordinates of joints, or of the model's own."""
    if not c.consistent:
        return _contradiction(problem)
    for _ in range(ATTEMPTS):
        ends = solve_in_space(c, rng, path_limit, progress)
        if ends.complete:
            break
    places = [c.position(problem, s.values) for s in ends.solutions]
    return _sort_ends(problem, rng, ends, places, more)


def _sort_ends(problem: Problem, rng: Random, ends: Ends, places: Sequence[Array], more: Sequence[Note]) -> Found:
    """Return modes and motions among the solutions, of which `places` are the positions, and what there is to say
    of them.
    """
    both = list(zip(ends.solutions, places, strict=True))
    real = [(q, not s.regular) for s, q in both if not s.dimension and s.is_real]
    sets: dict[int, Array | None] = {}  # those that may hold real positions, with one
    for s, q in both:
        if s.may_move and sets.get(s.set) is None:
            sets[s.set] = real_position(problem, q, rng)
    motions = tuple(q for q in sets.values() if q is not None)
    unseen = len(sets) - len(motions)
    remarks = (
        (not ends.complete, Note("paths-lost", lost=ends.lost)),
        (ends.doubtful, Note("ill-conditioned", doubtful=ends.doubtful)),
        (motions, Note("special-geometry", motions=len(motions))),
        (unseen, Note("special-geometry", unseen=unseen)),
    )
    notes = (*(note for applies, note in remarks if applies), *more)
    return Found(problem, real, motions, ends, complete=not notes, notes=notes)
