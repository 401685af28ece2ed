"""The equations at one state: their values, the scales of the mechanism, and which rows of Psi_q depend on others."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.equations import TIME, Equations, Row
from linkwork.equations.inertia import Inertia
from linkwork.equations.programs import LOCAL, Source, constraints, linear, retract
from linkwork.equations.survey import LEAST_LEFT, LEAST_ROW, Ranked, Scaled, ranked, scaled, survey_rank, survey_scales
from linkwork.expressions.graph import Expr
from linkwork.linalg.rank import (
    FEW,
    HUGE,
    TINY,
    Rank,
    check_finite,
    decide_rank,
    left_by_others,
    singular_values,
    sparse,
    svd,
)
from linkwork.native.kernels import slices_of
from linkwork.native.lowering import compile_programs
from linkwork.records import changed, kept
from linkwork.sequences.entries import dense
from linkwork.sequences.sequence import ComputationSequence
from linkwork.tolerances import ROUNDING, TYPED

Array = NDArray[np.float64]
Weights: TypeAlias = Literal["mass", "unit", "plain", "none"]
Code: TypeAlias = Mapping[str, Callable[[Array], Array]]

OFF = 1e-2  # of the scale of a coordinate: a position off the constraints that is still near


@dataclass(frozen=True, eq=False)
class Place:
    """A position and velocity at a time; `code` is machine code of programs, if there is any.

    Of other coordinates than those of the bodies `stated` are q and v of the bodies as the model states them, if known.
    """

    equations: Equations
    q: Array
    v: Array
    t: float = 0.0
    code: Code = field(default_factory=dict)
    stated: Array | None = None

    @kept
    def values(self) -> dict[Expr, float]:
        e = self.equations
        state = zip((TIME, *e.q, *e.v), (self.t, *self.q.tolist(), *self.v.tolist()), strict=True)
        return {**e.parameters, **dict(state)}

    def _run(self, program: Callable[[Source], ComputationSequence], *x: Array | list[float]) -> Array:
        """Return what a program of LOCAL finds."""
        name, e, arguments = program.__name__, self.equations, np.concatenate(x)
        if name in self.code:
            return self.code[name](arguments)
        return e.evaluate(name, lambda: program(Source(e)), *arguments.tolist())

    def find(self, name: str, outputs: Sequence[Expr]) -> Array:
        """Return the values of expressions of t, q and v here; a name stands for the same ones always."""
        e = self.equations
        state = self.t, *self.q.tolist(), *self.v.tolist()
        return e.evaluate(name, lambda: ComputationSequence(name, (TIME, *e.q, *e.v), outputs), *state)

    @kept
    def _gaps(self) -> Array:
        return self._run(constraints, [self.t], self.q, self.v)

    @kept
    def Psi(self) -> Array:
        return self._gaps[: len(self.equations.Psi)]

    @kept
    def Psi_dot(self) -> Array:
        return self._gaps[len(self.equations.Psi) :]

    @kept
    def _linear(self) -> Array:
        return self._run(linear, [self.t], self.q)

    @kept
    def entries(self) -> Array:
        """Return the entries of Psi_q, in the order of their pattern."""
        return self._linear[: len(self.equations.Psi_q)]

    @kept
    def Psi_q(self) -> Array:
        """Return Psi_q as a full matrix."""
        matrix = np.zeros((len(self.equations.Psi), len(self.equations.v)))
        matrix[self.equations.pattern] = self.entries
        return matrix

    @property
    def reversal(self) -> Array:
        """0 of joints whose axes point the same way, 2 where they are reversed."""
        return self._linear[len(self.equations.Psi_q) :][: len(self.equations.reversals)]

    @property
    def reversal_q(self) -> Array:
        e = self.equations
        entries = self.find("reversal_q", [*e.reversal_q.values()])
        return dense(e.reversal_q, entries, (len(e.reversals), len(e.v)))

    @kept
    def mass(self) -> Inertia:
        e = self.equations
        entries = self._linear[len(e.Psi_q) + len(e.reversals) + (e.hints.arm is not None) :]
        return Inertia(e, entries, self.ranked is not None)

    @property
    def M(self) -> Array:
        """M as a full matrix."""
        return self.mass.full

    @kept
    def Q(self) -> Array:
        return self.find("Q", self.equations.Q)

    @kept
    def gamma(self) -> Array:
        if "report" not in self.code:
            return self.find("gamma", self.equations.gamma)
        return -self._reported[len(self._reported) - len(self.Psi) :]  # of Psi_q a - gamma, a being zero

    @kept
    def _reported(self) -> Array:
        """Return what `report` returns at a = 0 and lam = 0."""
        rest = np.zeros(len(self.v) + len(self.equations.Psi))
        return self.code["report"](np.concatenate([[self.t], self.q, self.v, rest]))

    @kept
    def scaled(self) -> Scaled:
        """Return the scales of the mechanism here, and what is measured by them."""
        e, x = self.equations, np.concatenate([self.q, self.v, self._gaps, self._linear])
        n = len(e.lengths)
        return Scaled.over(survey_scales(e.layout, x[None], n)[0], slices_of(scaled, n))

    @property
    def is_finite(self) -> bool:
        """Whether constraints, Jacobian and inertia have values here, as decompositions need them."""
        return self.scaled.is_finite

    def of_bodies(self) -> tuple[Array, Array]:
        """Return q and v of the bodies, whatever the coordinates."""
        e = self.equations
        if e.chart.body is None:
            return self.q, self.v
        if "report" in self.code:
            found = self._reported[2:]  # behind the energies, first of all outputs
        else:
            found = self.find(
                "of bodies", [x.expression for k in e.chart.body.chart.state[:2] for x in e.outputs[k].values()]
            )
        return found[: len(e.chart.body.q)], found[len(e.chart.body.q) :][: len(e.chart.body.v)]

    @kept
    def departure(self) -> float:
        """Return how far the bodies are from where, and from how fast, the model states them, on their scales."""
        body, (q, v) = self.equations.chart.body, self.of_bodies()
        if body is None or self.stated is None:
            return math.inf
        length = self.length
        by = [length if is_length else 1.0 for is_length in body.lengths[: len(self.stated)].tolist()]
        pairs = [(x / s, y / s) for x, y, s in zip((*q.tolist(), *v.tolist()), self.stated.tolist(), by, strict=True)]
        rates = pairs[len(q) :]
        fastest = max((max(abs(x), abs(y)) for x, y in rates), default=0.0) or 1.0
        away = [*(abs(x - y) for x, y in pairs[: len(q)]), *(abs(x - y) / fastest for x, y in rates)]
        return math.nan if any(map(math.isnan, away)) else max(away, default=0.0)

    def moved(self, dx: Array) -> Place:
        return replace(self, q=self._run(retract, self.q, dx))

    def at_velocity(self, v: Array) -> Place:
        """Return the same position at another velocity, with what has been found of the position."""
        made, found = changed(self, v=v), self.__dict__
        made.__dict__.update((name, found[name]) for name in OF_POSITION if name in found)
        return made

    def compiled(self) -> Place:
        """Return the same place evaluated by machine code, for searches that ask thousands of times."""
        return self if self.code else replace(self, code=compile_local(self.equations))

    def beside(self, e: Equations, q: Array, v: Array) -> Place:
        """Return a place of the same mechanism in other coordinates; by machine code if this one has it."""
        return Place(e, q, v, self.t, compile_local(e) if self.code else {}, self.stated)

    @property
    def length(self) -> float:
        """A length of the mechanism, see `Scaled`."""
        return self.scaled.length

    @property
    def arm(self) -> float:
        """The longest at which a turn moves a joint; 0 if there is none, or none but rounding."""
        return self.scaled.arm

    @property
    def scales(self) -> Array:
        """The scales of q, v and the rows of Psi: the length of the mechanism, a radian, one."""
        return self.scaled.scales

    @kept
    def q_scale(self) -> Array:
        return self.scales[: len(self.q)]

    @kept
    def v_scale(self) -> Array:
        return self.scales[len(self.q) : len(self.q) + len(self.v)]

    @kept
    def row_scale(self) -> Array:
        return self.scales[len(self.q) + len(self.v) :]

    @property
    def gap(self) -> float:
        """The largest |Psi|, by the scales of its rows."""
        return self.scaled.gap

    def scaled_jacobian(self, weights: Weights, kept: Sequence[int] = ()) -> tuple[Array, Array]:
        """Return Psi_q W^-1/2 and W^-1/2, without the columns `kept`.

        W is M, or of unit weights the squares of 1/length for shifts and 1 for turns; also where M is singular. Plainly
        it is the identity, metres and radians counting alike.
        """
        return self._by_mass if weights == "mass" and not kept else self._scaled_by(weights, kept)

    @kept
    def _by_mass(self) -> tuple[Array, Array]:
        return self._scaled_by("mass", ())

    def _scaled_by(self, weights: Weights, kept: Sequence[int]) -> tuple[Array, Array]:
        free = np.delete(np.arange(len(self.v)), list(kept))
        by_mass = weights == "mass" and self.mass.is_regular
        if by_mass and not self.equations.is_diagonal:
            root = self.mass.inverse_root
            if kept:
                root = np.zeros((len(self.v), len(free)))
                root[free] = np.linalg.inv(np.linalg.cholesky(self.M[np.ix_(free, free)])).T
            J = self.Psi_q @ root
        else:
            scale = 1.0 / np.sqrt(self.mass.diagonal) if by_mass else self.v_scale
            scale = np.ones(len(self.v)) if weights == "plain" else scale
            root, J = np.diag(scale)[:, free], (self.Psi_q * scale)[:, free]
        check_finite(J)
        return J, root

    @kept
    def is_open(self) -> NDArray[np.bool_]:
        """Return for each row whether its joint holds nothing now."""
        return self.equations.is_open

    @kept
    def rows(self) -> Rows:
        return Rows(self)

    @property
    def of_positions(self) -> Place:
        """The place with the constraints that positions have to satisfy."""
        return replace(self, equations=self.equations.of_positions, code={}) if self.equations.slips else self

    @property
    def rank(self) -> Ranked | Rank:
        """The rank of Psi_q, decided in the metric of M^-1, rows scaled to length one."""
        return self.ranked or self.rows.rank

    @kept
    def ranked(self) -> Ranked | None:
        """Return how rows depend on each other, if M is known to be regular and rows are few."""
        e = self.equations
        if e.hints.chain is not None or len(e.Psi) > FEW or not self.is_finite:
            return None
        x, sizes = np.concatenate([self._linear, self.scales]), (len(e.v), len(e.Psi))
        found = Ranked.over(survey_rank(e.layout, x[None], *sizes)[0], slices_of(ranked, *sizes))
        return found if found.is_known else None


# What a place finds out that depends on t and q alone.
OF_POSITION = ("_linear", "entries", "Psi_q", "mass", "_by_mass", "ranked", "is_open", "rows")


def compile_local(e: Equations) -> Code:
    """Return machine code of what a place asks for, compiled once for all values of the parameters."""
    if not e.code:
        e.code.update(compile_programs([program(Source(e)) for program in LOCAL], list(e.parameters)))
    p = np.array([*e.parameters.values()], dtype=float)
    return {name: partial(f, p=p) for name, f in e.code.items()}


@cache
def aside(n: int) -> Array:
    """Return a direction that no mechanism singles out, the same in every run."""
    return np.random.default_rng(0).normal(size=n)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of Psi_q at a place: how long they are, and which depend on others."""

    place: Place

    @property
    def is_scaled_alone(self) -> bool:
        """Return whether every column of Psi_q W^-1/2 is one of Psi_q, scaled: then it has as few entries."""
        return self.place.equations.is_diagonal or not self.place.mass.is_regular

    @kept
    def _unit_entries(self) -> Array:
        """Return those of `_unit`, where columns are scaled alone."""
        i, j = self.place.equations.pattern
        scale = 1.0 / np.sqrt(self.place.mass.diagonal) if self.place.mass.is_regular else self.place.v_scale
        scaled = self.place.entries * scale[j]
        check_finite(scaled)
        lengths = np.sqrt(np.bincount(i, scaled * scaled, len(self.place.equations.Psi)))
        unit = scaled / np.maximum(lengths, TINY)[i]
        return np.where(self.vanishing[i], 0.0, unit) if self.vanishing.any() else unit

    @kept
    def vanishing(self) -> NDArray[np.bool_]:
        """Return rows of Psi_q that are rounding, as that of a loop whose links are in line.

        How large rows of stated equations are is not known.
        """
        return np.asarray(self.lengths <= (0.0 if self.place.equations.chart.kind == "stated" else ROUNDING))

    @property
    def lengths(self) -> Array:
        """The lengths of the rows of Psi_q, on the scales of the mechanism."""
        i, entries = self.place.equations.pattern[0], self.place.entries * self._ratio
        return np.sqrt(np.bincount(i, entries * entries, len(self.place.equations.Psi)))

    @kept
    def _ratio(self) -> Array:
        """Return the factors that bring the entries of Psi_q to the scales of the mechanism."""
        i, j = self.place.equations.pattern
        return self.place.v_scale[j] / self.place.row_scale[i]

    @kept
    def _unit(self) -> Array:
        """Return Psi_q W^-1/2 with rows of length one."""
        if not self.place.equations.Psi:
            return self.place.Psi_q
        if self.is_scaled_alone:
            matrix = np.zeros((len(self.place.equations.Psi), len(self.place.equations.v)))
            matrix[self.place.equations.pattern] = self._unit_entries
            return matrix
        J = self.place.scaled_jacobian("mass")[0]
        unit = J / np.maximum(np.linalg.norm(J, axis=1), TINY)[:, None]
        return np.where(self.vanishing[:, None], 0.0, unit)

    @kept
    def left_singular_vectors(self) -> Array:
        """Return left singular vectors of Psi_q W^-1/2 with rows of length one, in the order of its singular values."""
        J = self._unit
        return svd(J)[0] if J.size else np.eye(len(J))

    @kept
    def rank(self) -> Rank:
        """Decide the rank in the metric of M^-1, rows scaled to length one."""
        m, n = len(self.place.equations.Psi), len(self.place.equations.v)
        if not m or not n:
            return decide_rank(np.zeros(m))
        if m > FEW and self.is_scaled_alone:
            values = singular_values(sparse(self._unit_entries, self.place.equations.pattern, (m, n)))
        else:
            values = singular_values(self._unit)
        return decide_rank(np.concatenate([values, np.zeros(m - len(values))]) if m > n else values)

    @kept
    def size(self) -> Array:
        """Return diag(Psi_q M^-1 Psi_q^T), M by its diagonal, filled where it is zero; see `survey.find_size`."""
        if (found := self.place.ranked) is not None:
            return found.size
        e, m = self.place.equations, len(self.place.equations.Psi)
        i, j = e.pattern
        inertia = self.place.mass.sizes[j]
        usual, entries = np.full(m, HUGE), self.place.entries / np.sqrt(inertia)
        np.minimum.at(usual, i, 1.0 / (self._ratio * self._ratio * inertia))
        size: Array = np.maximum(np.bincount(i, entries * entries, m), LEAST_ROW * usual)
        # No row is left less than the square of the least singular value, where M is its diagonal.
        least = self.rank.smallest**2 if self.place.mass.is_regular and e.is_diagonal else 0.0
        if 0 < m == self.rank.rank and least < LEAST_LEFT:
            J = entries / np.sqrt(size)[i]
            size = size * np.minimum(1.0, left_by_others(J, (i, j), (m, len(e.v))) / LEAST_LEFT)
        return size

    @kept
    def independent(self) -> tuple[int, ...]:
        """Choose as many rows as the rank says, in order, for the least dependence on each other."""
        if self.place.rank.rank == len(self.place.Psi):
            return tuple(range(len(self.place.Psi)))
        from scipy.linalg import qr

        order = qr(self._unit.T, mode="r", pivoting=True)[1]
        return tuple(sorted(order[: self.place.rank.rank].tolist()))

    def independence_of(self, rows: Sequence[int]) -> float:
        """Return the smallest singular value of these rows, each of length one: 0 where one depends on the others."""
        return float(np.min(singular_values(self._unit[list(rows)]), initial=1.0))

    @kept
    def redundant(self) -> int:
        """Return how many rows depend on others."""
        return len(self.place.Psi) - self.place.rank.rank - int(np.count_nonzero(self.place.is_open))

    @kept
    def depend_only_here(self) -> bool:
        """Return whether rows depend on others only where the joints are closed, as in an overconstrained linkage."""
        if self.place.rank.rank == len(self.place.Psi):
            return False
        return self.place.moved(OFF * self.place.v_scale * aside(len(self.place.v))).rank.rank > self.place.rank.rank

    @kept
    def dependent(self) -> tuple[Row, ...]:
        """Return the rows that take part in a dependence."""
        if self.place.rank.rank == len(self.place.Psi):
            return ()
        U = self.left_singular_vectors[:, self.place.rank.rank :]
        involved = (np.max(np.abs(U), axis=1, initial=0.0) > TYPED) & ~self.place.is_open
        return tuple(row for row, yes in zip(self.place.equations.rows, involved, strict=True) if yes)
