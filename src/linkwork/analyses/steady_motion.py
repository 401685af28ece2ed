"""Steady motions with given rates: a governor at speed, a wheel that rolls, a top that precesses.

Velocities are those of the constraints with the named ones as at the start and all other independent ones zero, v(q).
What has to vanish are accelerations, without those with which X carries v along (steady.py),

    F(w) = (a(q, v(q)) - L_v v(q)) in the independent velocities,    F_w = A_uw of the small motions where F = 0

and Newton's steps with A_uw lead there; positions without effect stay as they are. Before, where all constraints are of
positions, steps lead down V - T(q, v(q)), whose gradient is -F but for the mass matrix.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkwork.analyses.equilibrium import Equilibrium, gravity_of
from linkwork.analyses.linearize import Basis, Reduced, choose_basis, find_reduced, judge_acting, reduce, sort_basis
from linkwork.analyses.steady import carryings
from linkwork.analyses.variation import Code, Tangent
from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.equations.place import Place
from linkwork.errors import NumericalStop, UsageError, check_choice, check_names, quoted
from linkwork.expressions.evaluation import evaluate
from linkwork.linalg.newton import MAX_ITERATIONS, iterate, solve_least_squares
from linkwork.linalg.rank import RANK_TOLERANCE, TINY
from linkwork.model import Model
from linkwork.records import kept
from linkwork.start.check import judge_reactions
from linkwork.start.closing import DECREASE, MOST_DAMPED, REACH, approach, find_start, is_closed, locate_bodies, restart
from linkwork.tolerances import AGREEMENT, CLOSED, EPSILON, NEGLIGIBLE

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Turning:
    """A position with its rates, and what its accelerations lack of a steady motion."""

    code: Code
    q: Array
    first: Place
    names: tuple[int, ...]  # velocities that are given
    rates: Array
    gravity: Array

    @kept
    def tangent(self) -> Tangent:
        """Add the velocities that the constraints and the given rates ask for; all others are zero."""
        still = replace(self.first, q=self.q, v=np.zeros(len(self.first.v)))
        at_rest = Tangent(self.code, still, self.first.length)
        basis = self._basis(at_rest)
        given = at_rest.velocities.inverse[:, : len(still.Psi)] @ -still.Psi_dot
        wanted = np.zeros(len(basis.of_u))
        wanted[: len(self.names)] = self.rates
        v = given + basis.Z @ (wanted - given[[*basis.of_u]])
        return Tangent(self.code, replace(still, v=v), self.first.length)

    def _basis(self, tangent: Tangent) -> Basis:
        return choose_basis(tangent, self.names)

    @kept
    def basis(self) -> Basis:
        return self._basis(self.tangent)

    @kept
    def _carried(self) -> tuple[Reduced, Array]:
        a = self.tangent.solution[0]
        place = self.tangent.place
        carrying = next(iter(carryings(place, self.tangent.derivatives.qd, a, self.gravity)))
        return reduce(self.tangent, self.basis, carrying), a - carrying.L_v @ place.v

    @property
    def usual(self) -> float:
        """The accelerations that gravity and the speed make."""
        speed = float(np.abs(self.tangent.place.v / self.tangent.scale).max(initial=0.0))
        return float(np.linalg.norm(self.gravity)) / self.tangent.length + speed * speed or 1.0

    @property
    def left(self) -> float:
        """The largest acceleration that is left, by those."""
        return float(np.abs(self._carried[1] / self.tangent.scale).max(initial=0.0)) / self.usual

    @property
    def rounding(self) -> float:
        """What the last digits of positions make of it through the fastest of the small motions."""
        return EPSILON * self._carried[0].rate ** 2 / self.usual

    @kept
    def level(self) -> float:
        """Return V - T at the given rates: where it is least along positions, the motion is steady."""
        energy = self.tangent.place.equations.energy
        kinetic, potential = self.tangent.place.find("energies", [energy.kinetic, energy.potential])
        return float(potential - kinetic)

    @kept
    def _along(self) -> tuple[Array, Array, Array]:
        """Return what is left of forces along positions, its negative slope, and the scales of positions."""
        reduced, accelerations = self._carried
        by = self.tangent.scale[[*self.basis.of_w]]
        return by * (reduced.M @ accelerations[[*self.basis.of_u]]), reduced.K * np.outer(by, by), by

    def moved(self, w: Array) -> Turning | None:
        """Return positions changed by so much of their scales, the joints closed again."""
        dx = self.basis.Y @ (w * self._along[2])
        dx = dx / max(1.0, float(np.abs(dx / self.tangent.scale).max(initial=0.0)) / REACH)
        place = approach(self.tangent.place.moved(dx), "unit")
        return replace(self, q=place.q) if place.is_finite and is_closed(place, within=CLOSED) else None

    def lower(self) -> Turning | None:
        """Return a step that lowers V - T, as equilibrium.py lowers V."""
        g, K, _ = self._along
        values, V = np.linalg.eigh(0.5 * (K + K.T))
        stiffness = np.maximum(np.abs(values), RANK_TOLERANCE * np.abs(values).max(initial=0.0)) + TINY
        w, part = V @ np.clip((V.T @ g) / stiffness, -REACH, REACH), 1.0
        while part > NEGLIGIBLE:
            trial = self.moved(part * w)
            if trial is not None and self.level - trial.level >= DECREASE * part * float(w @ g):
                return trial
            part *= 0.5
        return None

    def next(self) -> tuple[Turning, float]:
        """Return a step of Newton."""
        reduced, accelerations = self._carried
        n_w, n_u, scale = self.basis.Y.shape[1], self.basis.Z.shape[1], self.tangent.scale
        slope = reduced.A[n_w : n_w + n_u, :n_w] * self._along[2] / scale[[*self.basis.of_u], None]
        trial = self.moved(-solve_least_squares(slope, (accelerations / scale)[[*self.basis.of_u]], RANK_TOLERANCE))
        return (self, math.nan) if trial is None else (trial, trial.left)


def steady_motion(
    model: Model | Mechanism, names: Sequence[str], parameters: Mapping[str, float | str] | None = None
) -> Equilibrium:
    """Find the steady motion nearby with the rates of these coordinates at the start; others rest or follow."""
    check_names("steady", names)
    mechanism = _choose_coordinates(prepare(model), names).changed(parameters or {})
    e = mechanism.equations
    start = find_start(restart(mechanism.place())).place
    numbers = tuple(e.v_names.index(name) for name in names)
    rates = start.v[list(numbers)]
    if not rates.any():
        raise UsageError(f"the start has no rate of {quoted(names)}; give the bodies velocities", "no-rate")
    turning = Turning(Code.of(mechanism), start.q, start, numbers, rates, gravity_of(mechanism))
    if not e.slips:
        for _ in range(MOST_DAMPED):
            lower = turning.lower() if turning.left > AGREEMENT else None
            if lower is None:
                break
            turning = lower
    turning, left = iterate(None, lambda _, at, k: at.next(), turning, turning.left, MAX_ITERATIONS, 0.0, NEGLIGIBLE)
    if not left <= NEGLIGIBLE + turning.rounding:
        message = f"no steady motion is found with these rates of {quoted(names)}"
        raise NumericalStop(
            f"{message}: {left:.2g} of what forces make are left; choose other rates or starts", "no-steady-motion"
        )
    return _describe(mechanism, turning, tuple(names))


def _choose_coordinates(mechanism: Mechanism, names: Sequence[str]) -> Mechanism:
    """Choose those of the model, of joints or of bodies: the first that have all these names."""
    known: list[str] = []
    for coordinates in (None, "joint", "body"):
        if coordinates is not None and mechanism.model.stated is not None:
            break
        made = prepare(mechanism, coordinates)
        if all(name in made.equations.v_names for name in names):
            return made
        known += [name for name in made.equations.v_names if name not in known]
    for name in names:
        check_choice("coordinate", name, known)
    raise UsageError(f"{quoted(names)} are not coordinates of one kind; name joints, or bodies", "unknown-coordinate")


def _describe(mechanism: Mechanism, turning: Turning, names: tuple[str, ...]) -> Equilibrium:
    place, e = turning.tangent.place, mechanism.equations
    try:
        reduced = find_reduced(turning.tangent, sort_basis(turning.basis), turning.gravity)
    except NumericalStop as error:
        message = f"no steady motion is found with these rates of {quoted(names)}: {error.message.split(';')[0]}"
        raise NumericalStop(f"{message}; choose other rates or starts", "no-steady-motion") from None
    a, lam = turning.tangent.solution
    at = {**place.values, **dict(zip((*e.a, *e.lam), (*a.tolist(), *lam.tolist()), strict=True))}
    values = evaluate([y.expression for y in e.outputs["reactions"].values()], at) if "reactions" in e.outputs else ()
    columns = e.columns["reactions"].names if "reactions" in e.columns else ()
    body = e.chart.body or e
    q, v = place.of_bodies()
    return Equilibrium(
        mechanism.model.name,
        dict(zip(body.q_names, q.tolist(), strict=True)),
        dict(zip(body.v_names, v.tolist(), strict=True)),
        judge_acting(reduced),
        turning.left,
        place.gap,
        float(place.find("potential alone", [e.energy.potential])[0]),
        (),
        {name: float(x) for name, x in zip(columns, values, strict=True)},
        judge_reactions(locate_bodies(place)),
        False,
        (),
        None,
        names,
    )
