"""Static equilibrium: where a mechanism stays at rest, whether it comes back to it, and what its joints then hold.

    Q(q, 0) - Psi_q^T lam = 0        Psi(q) = 0

Along the constraints, dx = Z w with Psi_q Z = 0, what is left of the forces is g = Z^T Q and its slope -K. Newton's
steps K w = g lead to a rest nearby, stable or not; where forces have a potential V, g = -Z^T V_x, steps that lower it
lead to one of its minima: |K| has the place of K, in its eigenvectors, and a step that does not lower V is shortened
                                                                                               [nocedal2006, ch. 3].
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.analyses.variation import Code, Derivatives, Tangent
from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.equations.equations import TIME
from linkwork.equations.place import Place
from linkwork.errors import ModelError, NumericalStop, checked_call
from linkwork.expressions.evaluation import evaluate, ordered
from linkwork.expressions.graph import as_expr
from linkwork.linalg.newton import MAX_ITERATIONS, iterate, solve_least_squares
from linkwork.linalg.rank import RANK_TOLERANCE, TINY
from linkwork.model import Model
from linkwork.records import Printed, kept
from linkwork.start.check import judge_reactions
from linkwork.start.closing import DECREASE, MOST_DAMPED, REACH, approach, describe_gaps, find_start, is_closed, restart
from linkwork.start.freedoms import describe_motions
from linkwork.tolerances import AGREEMENT, CLOSED, NEGLIGIBLE, ROUNDING

if TYPE_CHECKING:
    from linkwork.analyses.resting_friction import Range

Array = NDArray[np.float64]
Stability = Literal["stable", "unstable", "neutral", "marginal"]  # marginal: nothing grows, and not all fades


class Level(NamedTuple):
    """The potential and its derivatives with respect to the changes dx."""

    V: float
    V_x: Array


@dataclass(frozen=True, eq=False)
class Rest:
    """The forces at a place where nothing moves, and how they change along the constraints."""

    tangent: Tangent
    gravity: float  # its acceleration

    @property
    def place(self) -> Place:
        return self.tangent.place

    @property
    def Z(self) -> Array:
        return self.tangent.velocities.Z

    @kept
    def lam(self) -> Array:
        """Return the multipliers of least norm that balance the forces, as far as constraints can."""
        inverse = self.tangent.velocities.inverse
        return np.asarray(inverse[:, : len(self.place.Psi)].T @ self.Q)

    @property
    def Q(self) -> Array:
        return self.tangent.terms[2]

    @kept
    def g(self) -> Array:
        """Return what is left of the forces along the constraints."""
        return np.asarray(self.Z.T @ self.Q)

    @kept
    def _derivatives(self) -> Derivatives:
        return self.tangent.code.derivatives(self.place, np.zeros(len(self.place.v)), self.lam)

    @kept
    def K(self) -> Array:
        by, n_p = self._derivatives, self.tangent.n_p
        return np.asarray(-self.Z.T @ by.force_q[:, :n_p] @ by.N[:n_p] @ self.Z)

    @kept
    def balance(self) -> tuple[Array, Array]:
        """Return the slope of all that has to vanish, forces and rates of states, and what is left of it.

        Rates are measured by their slopes, as the forces by their size.
        """
        by, n_p, z = self._derivatives, self.tangent.n_p, self.tangent.z_scale
        along = by.N[:n_p] @ self.Z
        slopes = np.hstack([by.rate_q[n_p:, :n_p] @ along, by.rate_q[n_p:, n_p:] * z])
        by_slope = (self.size or 1.0) / np.maximum(np.abs(slopes).max(axis=1, initial=0.0), TINY)
        forces = np.hstack([self.K, -self.Z.T @ by.force_q[:, n_p:] * z])
        return np.vstack([forces, -slopes * by_slope[:, None]]), np.append(self.g, by.qd[n_p:] * by_slope)

    @property
    def full_balance(self) -> tuple[Array, Array]:
        """The slope of the forces along the constraints by all changes, on the scales of these, and the forces."""
        by, n_p = self._derivatives, self.tangent.n_p
        slope = -self.Z.T @ by.force_q[:, :n_p] @ by.N[:n_p] * self.tangent.scale
        return slope / (self.size or 1.0), self.g / (self.size or 1.0)

    @kept
    def potential(self) -> Level:
        V, *V_x = self.tangent.code.potential(self.place)
        return Level(V, np.array(V_x))

    @kept
    def stiffest(self) -> float:
        return float(np.abs(self.K).max(initial=0.0))

    @kept
    def size(self) -> float:
        """Return the measure of g: the heaviest body lifted by the length of the mechanism, else springs stretched
        so.
        """
        lengths = ~self.place.equations.turning
        weight = float(np.diag(self.tangent.M)[lengths].max(initial=0.0)) * self.gravity
        of_states = self._derivatives.force_q[:, self.tangent.n_p :] * self.tangent.z_scale
        return weight * self.tangent.length or max(
            self.stiffest,
            float(np.abs(self.Q * self.tangent.scale).max(initial=0.0)),
            float(np.abs(of_states * self.tangent.scale[:, None]).max(initial=0.0)),
        )

    @property
    def residual(self) -> float:
        left = self.balance[1] if self.place.equations.n_states else self.g
        return float(np.abs(left).max(initial=0.0)) / (self.size or 1.0)

    @property
    def rounding(self) -> float:
        """What the last digits of positions make of stiff forces, as the residual has it."""
        return ROUNDING * self.stiffest / (self.size or 1.0)

    @property
    def is_conservative(self) -> bool:
        """Return whether the forces are those of the potential; no states of first order move beside them."""
        if self.place.equations.n_states:
            return False
        other = self.Z.T @ (self.Q + self.potential.V_x)
        return bool(np.abs(other).max(initial=0.0) <= AGREEMENT * max(self.size, self.stiffest))

    @property
    def has_potential(self) -> bool:
        """Return whether the forces are those of the potential nearby too: K = K^T."""
        twist = np.abs(self.K - self.K.T).max(initial=0.0)
        return self.is_conservative and bool(twist <= AGREEMENT * max(self.size, self.stiffest))

    @property
    def gains_energy(self) -> bool:
        """Return whether forces feed some slow motion: w^T C w < 0."""
        C, scale = -self._derivatives.force_v, self.tangent.scale
        least = np.linalg.eigvalsh(0.5 * self.Z.T @ (C + C.T) @ self.Z).min(initial=0.0)
        return bool(least < -AGREEMENT * np.abs(C * scale * scale[:, None]).max(initial=0.0))

    def moved(self, x: Array) -> Rest | None:
        """Find where these changes (w, z) lead, the joints closed again; None if they do not close."""
        n = self.Z.shape[1]
        gaps = self.tangent.velocities.inverse[:, : len(self.place.Psi)] @ self.place.Psi
        place = self.place.moved(self.Z @ x[:n] - gaps)
        if len(x) > n:
            place = replace(place, q=np.append(place.q[: self.tangent.n_p], self.states + self.tangent.z_scale * x[n:]))
        place = approach(place, "unit")
        if not place.is_finite or not is_closed(place, within=CLOSED):
            return None
        return replace(self, tangent=replace(self.tangent, place=place))

    @property
    def states(self) -> Array:
        """Return the states of first order."""
        return self.place.q[self.tangent.n_p :]

    def limited(self, x: Array) -> Array:
        """Return a step shortened to what sines and cosines are nearly linear over."""
        dx = self.Z @ x[: self.Z.shape[1]]
        spread = max(self.tangent.length, self.place.scaled.far)  # of long chains more than their longest link
        by = np.where(self.place.equations.turning, 1.0, spread)
        return x / max(1.0, float(np.abs(dx / by).max(initial=0.0)) / REACH)


def find_rest(rest: Rest) -> Rest:
    """Find the rest to which the forces lead from this place; NumericalStop if they lead to none."""
    for _ in range(MOST_DAMPED):  # each at most half the mechanism: what falls further is held by nothing
        if rest.residual <= AGREEMENT + rest.rounding:
            break
        after = _descend(rest) if rest.is_conservative else _approach_rest(rest)
        if after is None:
            break
        rest = after
    return settle(rest)


def _descend(rest: Rest) -> Rest | None:
    """Return a step that lowers the potential."""
    values, V = np.linalg.eigh(0.5 * (rest.K + rest.K.T))
    stiffness = np.maximum(np.abs(values), RANK_TOLERANCE * max(rest.size, rest.stiffest))
    w = rest.limited(V @ np.clip((V.T @ rest.g) / stiffness, -REACH, REACH))  # soft ways do not shorten stiff ones
    fall = float(w @ rest.g)
    part = 1.0
    while part > NEGLIGIBLE:
        trial = rest.moved(part * w)
        if trial is not None and DECREASE * part * fall <= rest.potential.V - trial.potential.V:
            return trial
        part *= 0.5
    return None  # the potential is as low as rounding tells


def _approach_rest(rest: Rest) -> Rest | None:
    """Return a step of Newton that lessens what is left of the forces."""
    x, part = rest.limited(solve_least_squares(*rest.balance)), 1.0
    while part > NEGLIGIBLE:
        trial = rest.moved(part * x)
        left = np.linalg.norm(rest.balance[1])
        if trial is not None and np.linalg.norm(trial.balance[1]) <= (1.0 - DECREASE * part) * left:
            return trial
        part *= 0.5
    return None


def settle(rest: Rest) -> Rest:
    """Make Newton's steps as they are; raise NumericalStop unless what is left becomes rounding."""

    def correct(_: None, at: Rest, k: int) -> tuple[Rest, float]:
        trial = at.moved(at.limited(solve_least_squares(*at.balance)))
        return (at, math.nan) if trial is None else (trial, max(trial.residual, trial.place.gap))

    left = max(rest.residual, rest.place.gap)
    rest, _ = iterate(None, correct, rest, left, MAX_ITERATIONS, 0.0, NEGLIGIBLE)
    if not rest.residual <= NEGLIGIBLE + rest.rounding:
        raise no_rest(rest)
    return rest


def no_rest(rest: Rest) -> NumericalStop:
    """Return the error where forces lead to no rest, with the motion along which they are largest."""
    push = rest.Z @ rest.g
    way = describe_motions(rest.place.equations, push[:, None])[0]
    message = (
        f"no equilibrium is found from here: forces of {rest.residual:.2g} of the weights are left, which move {way}; "
        "give what moves a spring, a stop or a driver, or start elsewhere"
    )
    return NumericalStop(message, "no-equilibrium")


@dataclass(frozen=True, repr=False)
class Equilibrium(Printed):
    """A rest: positions, what the joints hold, whether the mechanism comes back to it.

    `residual` is what is left of the forces, by the heaviest weight; `stiffness` are the eigenvalues of the second
    variation of the potential along the constraints, by that weight times the length of the mechanism or, if that is
    more, by the stiffest way of moving.
    """

    name: str
    q: dict[str, float]
    v: dict[str, float]  # zero, but for steady motions
    stability: Stability
    residual: float
    gap: float  # the largest |Psi| on its scale
    potential: float
    stiffness: tuple[float, ...]
    reactions: dict[str, float]
    unique: dict[str, Literal["unique", "not unique"]]
    conservative: bool
    friction: tuple[str, ...]  # what sticks, and holds it nearby too
    range: Range | None  # in which it then rests, where it has one freedom
    steady: tuple[str, ...] = ()  # coordinates that have a rate, of a steady motion
    follows_time: bool = False  # whether forces depend on the time: then they are those of t = 0

    @property
    def is_stable(self) -> bool:
        return self.stability == "stable"

    def as_dict(self) -> dict[str, Any]:
        found = asdict(self)
        return {**found, "range": None if self.range is None else self.range._asdict()}

    def __str__(self) -> str:
        from linkwork.view.report import aligned
        from linkwork.view.small_motions import equilibrium_lines

        return aligned(equilibrium_lines(self))


def gravity_of(mechanism: Mechanism) -> Array:
    return np.array(
        evaluate([as_expr(x) for x in mechanism.model.gravity], mechanism.equations.parameters), dtype=float
    )


def begin_rest(mechanism: Mechanism) -> Rest:
    """Return the start of the model with nothing moving; ModelError where velocities are asked for."""
    given = find_start(restart(mechanism.place())).place
    place = given.at_velocity(0.0 * given.v)
    asked = np.array([place.Psi_dot[i] for i in place.equations.slips])
    if asked.any():
        gaps = np.where([i in place.equations.slips for i in range(len(place.Psi))], place.Psi_dot, 0.0)
        raise ModelError(
            f"nothing can rest: {describe_gaps(place, gaps)} per second are asked for",
            "cannot-rest",
            suggestion="leave out these velocities, or ask for a steady motion",
        )
    code = Code.of(mechanism)
    compiled = code.system.place(place.q, place.v)
    return Rest(Tangent(code, compiled, place.length), float(np.linalg.norm(gravity_of(mechanism))))


@checked_call()
@np.errstate(all="ignore")  # what is not finite is looked for where it matters
def equilibrium(
    model: Model | Mechanism, parameters: Mapping[str, float | str] | None = None, *, steady: Sequence[str] = ()
) -> Equilibrium:
    """Return the rest to which a mechanism sinks from its start, drivers staying where they are at first.

    Forces with a potential lead to one of its minima nearby; a start that rests already stays as it is, stable or not.
    With `steady`, names of coordinates of joints or bodies, it is the steady motion nearby in which these have the
    rates of the start: equilibrium(governor, steady=["O"]).
    """
    if steady:
        from linkwork.analyses.steady_motion import steady_motion

        return steady_motion(model, steady, parameters)
    mechanism = by_bodies(prepare(model), parameters)
    return describe(mechanism, find_rest(begin_rest(mechanism)))


def by_bodies(mechanism: Mechanism, parameters: Mapping[str, float | str] | None = None) -> Mechanism:
    """Put the mechanism into body coordinates, which have no dead positions, with belts that slip below it."""
    from linkwork.analyses.resting_friction import with_belts

    chosen = prepare(mechanism, None if mechanism.model.stated is not None else "body")
    return with_belts(chosen.changed(parameters or {}))


def describe(mechanism: Mechanism, rest: Rest) -> Equilibrium:
    from linkwork.analyses.resting_friction import find_range, rubbing

    place, e = rest.place, mechanism.equations
    at = {**place.values, **dict.fromkeys(e.a, 0.0), **dict(zip(e.lam, rest.lam.tolist(), strict=True))}
    values = evaluate([y.expression for y in e.outputs["reactions"].values()], at) if "reactions" in e.outputs else ()
    names = e.columns["reactions"].names if "reactions" in e.columns else ()
    stiffness = np.asarray(np.linalg.eigvalsh(0.5 * (rest.K + rest.K.T)) / (max(rest.size, rest.stiffest) or 1.0))
    return Equilibrium(
        mechanism.model.name,
        dict(zip(e.q_names, place.q.tolist(), strict=True)),
        dict.fromkeys(e.v_names, 0.0),
        judge_stability(mechanism, rest, stiffness),
        rest.residual,
        place.gap,
        rest.potential.V,
        tuple(stiffness.tolist()),
        {name: float(x) for name, x in zip(names, values, strict=True)},
        judge_reactions(place),
        rest.has_potential,
        tuple(x.name for x in rubbing(mechanism) if not e.parameters[x.mode]),
        find_range(mechanism, rest),
        follows_time=TIME in ordered(e.Q),
    )


def judge_stability(mechanism: Mechanism, rest: Rest, stiffness: Array) -> Stability:
    """Judge stability by the second variation, or where it does not decide, by eigenvalues of small motions."""
    if rest.has_potential and not rest.gains_energy and not rest.place.equations.slips:
        least = float(stiffness.min(initial=1.0))
        return "stable" if least > RANK_TOLERANCE else "unstable" if least < -RANK_TOLERANCE else "neutral"
    from linkwork.analyses.linearize import about_rest

    return about_rest(mechanism, rest).stability
