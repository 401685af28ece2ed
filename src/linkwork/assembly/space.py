"""Closure equations of spatial mechanisms as polynomials in the coordinates of the joints of a spanning tree.

Constraints that a model states in coordinates of its own are polynomials in the same way, without a tree.

Along the tree (equations/tree.py) every body is reached by turns and shifts, so that with theta = exp(i angle) its
place and its axes are polynomials in theta, 1/theta and displacements, and so are the rows of the joints that close
loops. A driven coordinate is a number. Every angle is two unknowns with theta (1/theta) = 1; as each angle enters a row
to the first degree, k angles and as many rows have at most 2^k k! solutions: eight in a spherical four-bar, whose
closed form has two for each sense of the axis where the loop is cut. Rows say that axes are parallel and not in which
sense; solutions in which the axes of a joint are reversed are no modes.

A shaft with a universal joint worked out. The driving shaft is known, and with it the arm z_i of the cross; the driven
one is carried by a cylindrical joint with angle and displacement d. The point of the cross gives d; its arms,
z_i . z_j = 0, are A theta + B + C/theta = 0 with two solutions.

Loops have more rows than unknowns where axes meet in a point or are parallel. Random combinations of them, as many as
there are unknowns, have all their common solutions among theirs [sommese2005]; what does not solve all rows is dropped.
"""

from __future__ import annotations

import cmath
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.assembly import homotopy, laurent
from linkwork.assembly.blocks import Reduced
from linkwork.assembly.closure import select_independent, solve_angles
from linkwork.assembly.laurent import BACK, SHIFT, TURN, Angle, NotPolynomialError, Poly, Root, Variable, monomial
from linkwork.assembly.problem import Array, Problem, Random
from linkwork.assembly.solutions import Ends, Progress, Solution, combine, solve_reduced
from linkwork.elements.frames import SPATIAL_GROUND
from linkwork.elements.paths import Shift, follow_path
from linkwork.elements.vectors import Vector
from linkwork.equations.equations import TIME
from linkwork.equations.tree import span_tree
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import ZERO, Expr, constant, symbol
from linkwork.linalg.rank import RANK_TOLERANCE
from linkwork.symbolic.signature import Signature

MOST_PATHS = 2000  # many end singular at infinity, which takes long
STILL = Vector((0.0, 0.0, 0.0))


@dataclass(frozen=True)
class SpatialClosure:
    """`q` of the bodies in the coordinates of its joints, and the rows that close loops.

    Angles among the `coordinates` are the unknowns `turns`, displacements `shifts`, in units of `unit` metres; those
    that are driven or kept are `numbers`.
    """

    coordinates: Mapping[Expr, Variable]
    numbers: Mapping[Expr, float]
    q: tuple[Expr, ...]
    rows: tuple[Poly, ...]
    unit: float

    @property
    def freedoms(self) -> int:
        return len(self.coordinates) - len(self.rows)

    @property
    def consistent(self) -> bool:
        return all(p.variables() for p in self.rows)

    @property
    def grouping(self) -> list[list[int]]:
        """Each angle with its inverse, each displacement alone, as places among the unknowns of `reduce`."""
        sizes = [2 if kind == TURN else 1 for kind, _ in self.coordinates.values()]
        firsts = np.cumsum([0, *sizes])
        return [list(range(int(first), int(first) + size)) for first, size in zip(firsts, sizes, strict=False)]

    def reduce(self, rng: Random) -> tuple[Reduced, list[homotopy.Polynomial]]:
        """Return all equations in theta, 1/theta and displacements, and as many as there are unknowns."""
        parts = {TURN: (TURN, BACK), SHIFT: (SHIFT,)}
        unknowns = [(part, name) for kind, name in self.coordinates.values() for part in parts[kind]]
        forms = {v: monomial(v) for v in unknowns}
        inverse = [monomial((TURN, name)) * monomial((BACK, name)) - 1.0 for kind, name in unknowns if kind == TURN]
        whole = Reduced(unknowns, [*inverse, *(p.substitute(forms) for p in self.rows)], forms)
        polynomials = whole.system()
        circles, rows = polynomials[: len(inverse)], polynomials[len(inverse) :]
        needed = len(unknowns) - len(circles)
        return whole, [*circles, *(rows if len(rows) == needed else [combine(rows, rng) for _ in range(needed)])]

    def position(self, problem: Problem, values: Mapping[Variable, complex]) -> Array:
        """Return the coordinates of all bodies."""
        found = {
            x: cmath.phase(values[v]) if v[0] == TURN else self.unit * values[v].real
            for x, v in self.coordinates.items()
        }
        return np.array(evaluate(self.q, {**problem.values, **self.numbers, **found}), dtype=float)


def spatial_closure(problem: Problem) -> SpatialClosure:
    """Derive the closure equations along the tree that leaves the fewest rows."""
    model = problem.model
    if problem.equations.held:
        raise NotPolynomialError("a joint that opens or sticks")
    hinges = span_tree(model.ground, model.bodies, model.joints, ())
    if any(hinge.joint is None or hinge.is_ball for hinge in hinges):
        raise NotPolynomialError("a body that nothing but a ball carries")
    driven = {(d.joint.name, d.freedom): d for d in model.drivers}
    carried = {hinge.joint.name for hinge in hinges}
    coordinates: dict[Expr, Variable] = {}
    numbers: dict[Expr, float] = {}
    used = set()
    frames: dict[str, Any] = {model.ground.name: SPATIAL_GROUND}
    for hinge in hinges:
        q = []
        for freedom, c in zip(hinge.freedoms, hinge.coordinates, strict=True):
            x = symbol(f"theta {c.name}")
            driver = driven.get((hinge.joint.name, freedom))
            if driver is None:
                coordinates[x] = (TURN if c.kind == "angle" else SHIFT, c.name)
            else:
                numbers[x] = evaluate([driver.motion.f(TIME)], problem.values)[0]
                used.add(driver.name)
            q.append(x)
        at = follow_path(hinge.joint, q, [ZERO] * len(q), frames[hinge.parent.name], hinge.onwards)
        centre = Vector(hinge.child.mass_centre)
        s = Vector(hinge.joint.s_j if hinge.onwards else hinge.joint.s_i)
        frames[hinge.child.name] = replace(Shift(centre - s, STILL).take(at), c=centre)
    loops: list[Any] = [joint for joint in model.joints if joint.name not in carried]
    loops += [d for d in model.drivers if d.name not in used]
    places = tuple(x for body in model.bodies for x in (*frames[body.name].r, *frames[body.name].e))
    rows = [x for element in loops for x in element.Psi(TIME, *(frames[b.name] for b in element.bodies))]
    rows += [places[k] - constant(float(problem.start[k])) for k in problem.kept]
    kinds = [kind for element in loops for kind in element.rows.values()] + ["length"] * len(problem.kept)
    found = evaluate(rows, {**problem.values, **numbers, **_unknowns(coordinates, problem.unit)}, laurent.arithmetic())
    sizes = [problem.unit if kind == "length" else 1.0 for kind in kinds]
    polys = [
        row.polynomial() / problem.unit**2 if isinstance(row, Root) else laurent.as_poly(row) / size
        for row, size in zip(found, sizes, strict=True)
    ]
    independent = select_independent([p.normalize(RANK_TOLERANCE) for p in polys])
    return SpatialClosure(coordinates, numbers, places, tuple(independent), problem.unit)


def _unknowns(coordinates: Mapping[Expr, Variable], unit: float) -> dict[Expr, Any]:
    return {x: Angle({v[1]: 1.0}) if v[0] == TURN else monomial(v) * unit for x, v in coordinates.items()}


def stated_closure(problem: Problem) -> SpatialClosure:
    """Return the constraints, and slices, of a model that states its equations, in its own coordinates.

    Those that are kept are numbers, and angles that rows give by other angles are put in their place.
    """
    e, zero, table = problem.equations, Signature(), laurent.arithmetic()
    rows = [row for row in (*e.Psi, *problem.slices) if not zero.is_zero(row)]
    free = {x: (TURN if c.kind == "angle" else SHIFT, c.name) for x, c in zip(e.q, e.coordinates, strict=True)}
    everything: dict[Expr, Any] = {**problem.values, **_unknowns(free, problem.unit)}
    sizes = [_size(row) for row in evaluate(rows, everything, table)]
    kept = {e.q[k]: float(problem.start[k]) for k in problem.kept}
    first = evaluate(rows, {**everything, **kept}, table)
    consistent, angles = solve_angles([row for row in first if isinstance(row, Angle)])
    solved = {x: angles[v[1]] for x, v in free.items() if v[0] == TURN and v[1] in angles}
    left = [(row, size) for row, size, form in zip(rows, sizes, first, strict=True) if not isinstance(form, Angle)]
    found = evaluate([row for row, _ in left], {**everything, **kept, **solved}, table)
    polys = [row.polynomial() if isinstance(row, Root) else laurent.as_poly(row) for row in found]
    polys = [(p / size).normalize(RANK_TOLERANCE) for p, (_, size) in zip(polys, left, strict=True)]
    if not consistent:
        polys.append(laurent.as_poly(1.0))
    by_name = {c.name: x for x, c in zip(e.q, e.coordinates, strict=True)}
    q = tuple(
        sum((m * by_name[name] for name, m in solved[x].multiples.items()), constant(solved[x].constant))
        if x in solved
        else x
        for x in e.q
    )
    own = {x: v for x, v in free.items() if x not in kept and x not in solved}
    return SpatialClosure(own, kept, q, tuple(select_independent(polys)), problem.unit)


def _size(row: Any) -> float:
    """Return the largest coefficient of a row in which all coordinates are unknown."""
    if isinstance(row, Angle):
        return 1.0
    p = row.polynomial() if isinstance(row, Root) else laurent.as_poly(row)
    return max(map(abs, p.terms.values()), default=0.0) or 1.0


def solve_in_space(c: SpatialClosure, rng: Random, path_limit: int, progress: Progress) -> Ends:
    """Return all complex solutions."""
    whole, system = c.reduce(rng)
    most = min(path_limit, MOST_PATHS)
    if homotopy.path_count(system, c.grouping) > most:
        raise NotPolynomialError(f"the number of paths, more than {most},")
    ends = Ends([])

    def report(part: float) -> None:
        progress(part, f"{ends.paths} paths followed")

    report(0.0)
    ends.solutions += solve_reduced(whole, system, c.grouping, Solution({}), rng, ends, report)
    return ends
