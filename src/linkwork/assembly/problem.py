"""The rows that vanish in an assembly mode, scaled by the mechanism, and what Newton's iteration makes of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from linkwork.assembly import deflation
from linkwork.assembly.certificate import is_certified
from linkwork.assembly.dimension import local_dimension
from linkwork.compiled.mechanism import prepare
from linkwork.elements.bodies import PlanarBody
from linkwork.equations.equations import TIME, Equations
from linkwork.equations.place import Place
from linkwork.errors import UsageError, option
from linkwork.expressions.derivatives import directional, jacobian
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import ZERO, Expr, constant, cos, sin
from linkwork.linalg.newton import newton
from linkwork.linalg.rank import null_space, row_sizes
from linkwork.model import Model
from linkwork.native.lowering import compile_programs
from linkwork.sequences.sequence import ComputationSequence
from linkwork.start.closing import REACH, check_defined, gather, number_kept
from linkwork.tolerances import CLOSED, NEGLIGIBLE, TYPED

Array = NDArray[np.float64]
Random = np.random.Generator

STARTS = 60  # one after the other that find nothing new: then a search without proof ends
MOST_STARTS = 3000  # of a search that still finds something new, as on a curve of positions
GENERIC = 20  # closed positions looked for where the start position is singular or does not close


@dataclass(frozen=True)
class Problem:
    """The rows to be made zero: constraints at t = 0, kept coordinates and slices."""

    model: Model
    equations: Equations
    keep: tuple[str, ...]
    start: Array
    slices: tuple[Expr, ...] = ()

    @staticmethod
    def of(model: Model, keep: Sequence[str] = ()) -> Problem:
        """Set up the problem of a sound model, in coordinates that exist."""
        equations = prepare(model, "body").equations.of_positions.without_counting()
        kept = number_kept(equations, keep)
        for name in keep:
            if name not in equations.q_names:
                message = f"{option('keep', name)}: a turn in space is not a coordinate that modes could share"
                raise UsageError(f"{message}; drive the angle of a joint, with a constant as its motion", "kept-turn")
        start = Place(equations, *equations.start())
        check_defined(start)
        return Problem(model, equations, tuple(keep), gather(start, kept).q)

    @cached_property
    def values(self) -> dict[Expr, float]:
        return {**self.equations.parameters, TIME: 0.0}

    @cached_property
    def unit(self) -> float:
        """A length of the mechanism."""
        return Place(self.equations, self.start, self.equations.start()[1]).length

    @cached_property
    def kept(self) -> list[int]:
        return [self.equations.q_names.index(name) for name in self.keep]

    @cached_property
    def rows(self) -> list[Expr]:
        e = self.equations
        return [*e.Psi, *(e.q[k] - constant(float(self.start[k])) for k in self.kept), *self.slices]

    @property
    def groups(self) -> list[str]:
        """What each row belongs to; a driver belongs to its joint, a kept coordinate to its body."""
        joint_of = {d.name: d.joint.name for d in self.model.drivers}
        elements = [joint_of.get(row.element, row.element) for row in self.equations.rows]
        owners = [body.name for body in self.model.bodies for _ in body.coordinates]
        kept = [f"keep {owners[k]}" for k in self.kept]
        return [*elements, *kept, *(f"slice {k}" for k in range(len(self.slices)))]

    @cached_property
    def features(self) -> list[Expr]:
        """What tells two positions apart: lengths in units of the mechanism, and directions."""
        e, result, at = self.equations, list[Expr](), 0
        if self.model.stated is not None:
            for x, c in zip(e.q, e.coordinates, strict=True):
                result += [cos(x), sin(x)] if c.kind == "angle" else [x / self.unit if c.kind == "length" else x]
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

    def slice(self, count: int, rng: Random) -> Problem:
        """Add random linear equations through the start position, closed if that is possible."""
        at_start = self.evaluate(self.features, self.start if self.closed is None else self.closed)
        made = []
        for _ in range(count):
            a = rng.normal(size=len(self.features))
            a /= np.linalg.norm(a)
            form = sum((constant(c) * x for c, x in zip(a.tolist(), self.features, strict=True)), ZERO)
            made.append(form - constant(float(a @ at_start)))
        return replace(self, slices=tuple(made))

    def evaluate(self, expressions: Sequence[Expr], q: Array) -> Array:
        at = {**self.values, **dict(zip(self.equations.q, q, strict=True))}
        return np.array(evaluate(expressions, at), dtype=float)

    def residual(self, q: Array) -> float:
        """Return the largest gap in metres or radians."""
        return float(np.max(np.abs(self.evaluate(self.rows, q)), initial=0.0))

    @cached_property
    def linearize(self) -> deflation.Linearize:
        """Rows, brought to unit length at a generic position, and features, with their Jacobians with respect to v.

        Behind the rows stands what vanishes with them where no axis is reversed.
        """
        e = self.equations
        rows = [*self.rows, *e.reversals]
        outputs = [*rows, *self.features]
        entries = jacobian(directional(outputs, e.motion), e.v)
        # rates are linear in v, so that their derivatives do not hold v
        names = list(self.values)
        program = ComputationSequence("closure", e.q, [*outputs, *entries.values()])
        f = compile_programs([program], names)["closure"]
        p = np.array([self.values[name] for name in names])
        n, m = len(outputs), len(rows)
        places = tuple(np.array(list(entries), dtype=int).reshape(-1, 2).T)
        sizes = np.ones(m)

        def at(q: Array) -> tuple[Array, Array, Array, Array]:
            y = f(q, p)
            J = np.zeros((n, len(e.v)))
            J[places] = y[n:]
            return y[:m] / sizes, J[:m] / sizes[:, None], y[m:n], J[m:]

        sizes = row_sizes(at(self.turn_bodies(np.random.default_rng(0)))[1] * self.units, NEGLIGIBLE)
        return at

    def move(self, q: Array, dx: Array) -> Array:
        """Return q changed by dx, what is kept excepted."""
        e = self.equations
        if self.model.space == "planar":
            moved = q + dx
        else:
            symbols = dict(zip((*e.q, *e.dx), (*q.tolist(), *dx.tolist()), strict=True))
            moved = np.array(evaluate(e.chart.retract, symbols), dtype=float)
        moved[self.kept] = self.start[self.kept]
        return moved

    def turn_bodies(self, rng: Random) -> Array:
        """Return the start position with all bodies turned and shifted at random."""
        n = len(self.units)
        change = np.where(self.equations.turning, rng.uniform(-math.pi, math.pi, n), self.unit * rng.normal(size=n))
        return self.move(self.start, change)

    def close(self, q: Array) -> Array | None:
        """Return a position in which everything closes, to rounding, if Newton's iteration from q leads to one."""
        (found, *_), left = newton(self.linearize, self.move, q, CLOSED, REACH * self.units)
        return found + 0.0 if left < CLOSED else None  # a zero has no sign

    def search(self, rng: Random) -> tuple[list[Array], int]:
        """Return closed positions reached from the start and from others, and the number of these.

        It goes on until STARTS of them one after the other have found nothing new, or MOST_STARTS have been tried.
        """
        found = deflation.Search(self.linearize, self.move, REACH * self.units, CLOSED, TYPED)
        tried = last = 0
        while tried < min(last + STARTS, MOST_STARTS):
            is_new = found.go_on(self.start if not tried else self.turn_bodies(rng))
            tried += 1
            last = tried if is_new else last
        return found.solutions, tried

    @cached_property
    def closed(self) -> Array | None:
        """A closed position near the start, if there is one."""
        return self.close(self.start)

    def motions(self, q: Array) -> Array:
        """Return orthonormal rows: the changes, in units of each coordinate, that no row forbids to first order."""
        return null_space(self.linearize(q)[1] * self.units)

    def freedoms(self, q: Array | None, rng: Random) -> int:
        """Return the dimension of the set of solutions around q; zero if there is no q."""
        return 0 if q is None else local_dimension(self.linearize, self.move, q, self.units, rng)

    def regular_position(self, rng: Random) -> Array:
        """Return the closed start position, another where that is singular or does not close, or any if none is found.

        Rows lose rank in special positions: all links in one line say nothing about the freedoms of the mechanism.
        """
        q = self.closed
        if q is not None and len(self.motions(q)) == self.freedoms(q, rng):
            return q
        others = [self.close(self.turn_bodies(rng)) for _ in range(GENERIC)]
        found = [other for other in (q, *others) if other is not None]
        return min(found or [self.turn_bodies(rng)], key=lambda q: len(self.motions(q)))

    def is_certified(self, q: Array) -> bool:
        e = self.equations
        rows, at = list(self.rows), 0
        for body in self.model.bodies:
            if not isinstance(body, PlanarBody):
                rows.append(sum((x * x for x in e.q[at + 3 : at + 7]), ZERO) - 1.0)
            at += len(body.coordinates)
        units = np.array([self.unit if c.kind == "length" else 1.0 for c in e.coordinates])
        return is_certified(rows, e.q, self.values, q, units)
