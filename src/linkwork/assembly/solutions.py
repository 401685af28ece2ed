"""All complex solutions of the closure equations of a planar mechanism, block by block, and which are real."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.assembly import homotopy
from linkwork.assembly.blocks import Block, Reduced, reduce_block, sort_into_blocks
from linkwork.assembly.closure import Closure, form_closure
from linkwork.assembly.homotopy import KNOWN, POOR
from linkwork.assembly.laurent import CONJUGATE, PLACE, SHIFT, TURN, NotPolynomialError, Variable
from linkwork.assembly.problem import Array, Problem, Random
from linkwork.tolerances import HALF_THE_DIGITS, halved

Values: TypeAlias = Mapping[Variable, complex]
Progress: TypeAlias = Callable[[float, str], None]

UNDECIDED = 100.0  # times as much: too little to say that such an equation is not solved


@dataclass(frozen=True)
class Solution:
    """Values of the unknowns; those on a curve or surface of solutions have its dimension and the number of its set.

    One set are the solutions of a block, at the same values of earlier ones, around which there are others: they may be
    more than one curve. `given` are then the values that do not change along it.
    """

    values: Values
    regular: bool = True
    dimension: int = 0
    set: int = -1
    given: Values = field(default_factory=dict)

    @property
    def is_real(self) -> bool:
        return _is_real(self.values, KNOWN if self.regular else halved(KNOWN))

    @property
    def may_move(self) -> bool:
        """Return whether it lies on a set that may hold real positions: then what does not change along it is real."""
        return self.dimension > 0 and _is_real(self.given, halved(KNOWN))


@dataclass
class Ends:
    """Complex solutions and what became of the paths."""

    solutions: list[Solution] = field(default_factory=lambda: [Solution({})])
    paths: int = 0
    infinite: int = 0
    lost: int = 0
    doubtful: int = 0
    sets: int = 0

    @property
    def isolated(self) -> list[Solution]:
        return [s for s in self.solutions if not s.dimension]

    @property
    def complete(self) -> bool:
        """Whether no path is lost and every regular solution comes with its conjugate, as the rows are real."""
        return self.lost == 0 and self._closed_under_conjugation()

    def _closed_under_conjugation(self) -> bool:
        regular = [s.values for s in self.isolated if s.regular]
        if not regular or not regular[0]:
            return True
        names = sorted(regular[0])
        table = np.array([[values[v] for v in names] for values in regular])
        partner = [names.index((CONJUGATE[kind], body)) for kind, body in names]
        for row in table.conj()[:, partner]:
            if np.min(np.max(np.abs(table - row), axis=1)) > POOR * (1.0 + np.max(np.abs(row))):
                return False
        return True


def polynomials(problem: Problem) -> Closure:
    e = problem.equations
    bodies = [body.name for body in problem.model.bodies]
    coordinates = {name: (e.q[3 * k], e.q[3 * k + 1], e.q[3 * k + 2]) for k, name in enumerate(bodies)}
    return form_closure(problem.rows, problem.groups, problem.values, coordinates, problem.unit)


def solve_closure(c: Closure, rng: Random, path_limit: int, progress: Progress) -> Ends:
    """Solve block after block, for all complex solutions of the earlier ones."""
    ends = Ends()
    order = sort_into_blocks(c)
    for k, block in enumerate(order):
        earlier, ends.solutions = ends.solutions, []
        for i, known in enumerate(earlier):

            def report(part: float, done: float = k + i / len(earlier), step: float = 1 / len(earlier)) -> None:
                progress((done + part * step) / len(order), f"{ends.paths} paths followed")

            report(0.0)
            ends.solutions += _solve_block(block, known, rng, path_limit, ends, report)
    return ends


def _solve_block(
    block: Block, known: Solution, rng: Random, path_limit: int, ends: Ends, report: Callable[[float], None]
) -> list[Solution]:
    """Return the solutions of a block that follow one of the earlier blocks."""
    r = reduce_block(block, known.values)
    if not all(p.variables() for p in r.equations):  # some loop cannot close
        return []
    equations, n = r.system(), len(r.unknowns)
    system = equations
    if len(equations) > n:  # dependent geometry: random combinations, and what does not solve all is dropped
        system = [combine(equations, rng) for _ in range(n)]
    elif len(equations) < n:
        raise NotPolynomialError("a set of equations that vanish identically")
    half = range(n // 2)
    groupings = [[list(half), [k + len(half) for k in half]], [list(range(n))], [[k, k + len(half)] for k in half]]
    counts = [homotopy.path_count(system, grouping) for grouping in groupings]
    best = int(np.argmin(counts))
    if ends.paths + counts[best] > path_limit:
        raise NotPolynomialError(f"the number of paths, more than {path_limit},")
    return solve_reduced(r, system, groupings[best], known, rng, ends, report)


def solve_reduced(
    r: Reduced,
    system: Sequence[homotopy.Polynomial],
    grouping: homotopy.Grouping,
    known: Solution,
    rng: Random,
    ends: Ends,
    report: Callable[[float], None],
) -> list[Solution]:
    """Return the solutions of a square system that solve all equations it was made of, counted in `ends`."""
    equations = r.system()
    if not r.unknowns:
        return [_extend(known, r.values(np.zeros(0, dtype=complex)), True)]
    s = homotopy.solve(system, grouping, rng, report)
    ends.paths += s.paths
    ends.infinite += s.infinite
    ends.lost += s.failed
    ends.doubtful += s.doubtful
    result = []
    for point, regular, dimension in zip(s.points, s.regular.tolist(), s.dimension.tolist(), strict=True):
        allowed = HALF_THE_DIGITS if regular else halved(HALF_THE_DIGITS)
        left = max(_residual(f, point) for f in equations) if len(equations) > len(system) else 0.0
        if left < allowed:
            result.append(_extend(known, r.values(point), regular, dimension, ends.sets))
        elif left < UNDECIDED * allowed:
            ends.doubtful += 1
    ends.sets += any(s.set == ends.sets for s in result)
    return result


def _extend(known: Solution, values: Values, regular: bool, dimension: int = 0, number: int = -1) -> Solution:
    """Return a solution of the earlier blocks with that of one more."""
    together = {**known.values, **values}
    if known.dimension:
        given = known.given
        return Solution(together, known.regular and regular, known.dimension + dimension, known.set, given)
    if dimension:
        return Solution(together, False, dimension, number, known.values)
    return Solution(together, known.regular and regular)


def combine(equations: Sequence[homotopy.Polynomial], rng: Random) -> homotopy.Polynomial:
    total: homotopy.Polynomial = {}
    for f in equations:
        factor = complex(*rng.normal(size=2))
        for term, value in f.items():
            total[term] = total.get(term, 0.0) + factor * value
    return total


def _residual(f: homotopy.Polynomial, point: NDArray[np.complex128]) -> float:
    """Return |f| relative to the sum of its terms."""
    terms = [c * math.prod([complex(point[k]) for k in term]) for term, c in f.items()]
    return abs(sum(terms)) / max(sum(map(abs, terms)), 1e-300)


def _is_real(values: Values, tolerance: float) -> bool:
    return all(
        abs(values[CONJUGATE[kind], body] - a.conjugate()) < tolerance * (1.0 + abs(a))
        for (kind, body), a in values.items()
        if kind in (TURN, PLACE, SHIFT)
    )


def position(problem: Problem, c: Closure, values: Values) -> Array:
    """Return the coordinates of all bodies; free angles are taken within half a turn of the start."""
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


def real_position(problem: Problem, q: Array, rng: Random) -> Array | None:
    """Return a real position of the set that a complex solution lies on, if Newton's iteration from beside it finds
    one.
    """
    closed = problem.close(q)
    return closed if closed is not None and problem.freedoms(closed, rng) else None
