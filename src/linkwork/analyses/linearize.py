"""Linearization: the small motions about a rest or a steady motion, x' = A x, and their modes.

With states x = (w, u, z), dx = Y w and dv = Z u + P dq of variation.py, z of first order, and the rates X of steady.py,

    dq' = ((N v)_q - L_q) dq + N dv
    Z^T M (Z u' + P dq' + L_v dv) = Z^T (force_q dq + force_v dv)        or        M u' + C u + K w = 0, reduced

The states that remain when those are left out which have no effect on the others decide about stability: where a
mechanism stands on its way, or which way it faces, leads to zeros among the eigenvalues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.analyses.equilibrium import Equilibrium, Rest, Stability, begin_rest, by_bodies, find_rest, gravity_of
from linkwork.analyses.resting_friction import with_belts
from linkwork.analyses.signals import Signals, find_signals
from linkwork.analyses.steady import Carrying, carryings
from linkwork.analyses.variation import Code, Tangent, number_independent
from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.elements.kinds import Velocity
from linkwork.equations.coordinates import Coordinates
from linkwork.equations.equations import Equations
from linkwork.equations.place import Place
from linkwork.errors import NumericalStop, UsageError, check_choice, check_names, checked_call, option
from linkwork.linalg.rank import RANK_TOLERANCE, check_finite
from linkwork.model import Model
from linkwork.records import Printed, changed, kept
from linkwork.start.closing import REACH, find_start, restart
from linkwork.start.freedoms import choose_independent
from linkwork.tolerances import NEGLIGIBLE, ROUNDING, TYPED, halved

if TYPE_CHECKING:
    from linkwork.analyses.over import Family
    from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
At: TypeAlias = "Literal['equilibrium', 'start'] | float | Equilibrium | None"


@dataclass(frozen=True)
class Basis:
    """Small changes dx = Y w and dv = Z u + P dq, Y and Z being the identity in velocities of these numbers."""

    of_w: Sequence[int]
    of_u: Sequence[int]
    Y: Array
    Z: Array


def choose_basis(tangent: Tangent, first: Sequence[int] = ()) -> Basis:
    """Choose the velocities of these numbers first, then others as they determine the rest."""
    e, Z, Y = tangent.place.equations, tangent.velocities.Z, tangent.positions.Z
    u, by_u = choose_independent(e, Z, first)
    w, by_w = (u, by_u) if Y is Z else choose_independent(e, Y, u)
    return Basis(w, u, by_w, by_u)


def sort_basis(basis: Basis) -> Basis:
    """Sort the basis in the order of the velocities, those of u first."""
    u, w = list(basis.of_u), list(basis.of_w)
    of_u, of_w = np.argsort(u), [*np.argsort(w[: len(u)]), *(len(u) + np.argsort(w[len(u) :]))]
    return Basis([w[k] for k in of_w], [u[k] for k in of_u], basis.Y[:, of_w], basis.Z[:, of_u])


@dataclass(frozen=True, eq=False)
class Reduced:
    """x' = A x with x = (w, u, z); M u' + C u + K w = 0 but for z.

    dq, dv and da are the changes of q, v and a that x makes.
    """

    A: Array
    M: Array
    C: Array
    K: Array
    dq: Array
    dv: Array
    da: Array
    rate: float  # the fastest of A
    sizes: Array  # of the states, on the scales of the mechanism, if they change at the fastest rate of A
    known: float  # to what A is: of a rest to rounding, of a motion as its state is

    @property
    def on_scales(self) -> Array:
        """A with its states measured by their sizes."""
        return np.asarray(self.A * self.sizes / self.sizes[:, None])


def reduce(tangent: Tangent, basis: Basis, carrying: Carrying) -> Reduced:
    by, M, P, n_p = tangent.derivatives, tangent.M, tangent.P, tangent.n_p
    n_w, n_u, n_z = basis.Y.shape[1], basis.Z.shape[1], len(by.N) - n_p
    onto, to_u = np.array(basis.of_u, dtype=int), slice(n_w, n_w + n_u)
    dq, of_u = np.zeros((len(by.N), n_w + n_u + n_z)), np.zeros((len(M), n_w + n_u + n_z))
    dq[:n_p, :n_w], dq[n_p:, n_w + n_u :], of_u[:, to_u] = by.N[:n_p] @ basis.Y, np.eye(n_z), basis.Z

    def follow(dq: Array) -> Array:
        """Return dv that the constraints ask for, none in the independent velocities."""
        dv = P @ dq
        return np.asarray(dv - basis.Z @ dv[onto])

    dv = follow(dq) + of_u
    dq_dot = (by.rate_q - carrying.L_q) @ dq + by.N @ dv
    given = follow(dq_dot) + carrying.L_v @ dv
    inertia = basis.Z.T @ M @ basis.Z
    push = basis.Z.T @ (by.force_q @ dq + by.force_v @ dv - M @ given)
    w_dot = np.linalg.lstsq(by.N[:n_p], dq_dot[:n_p], rcond=None)[0][[*basis.of_w]]
    check_finite(push, w_dot, dq_dot)
    u_dot = np.linalg.solve(inertia, push) if n_u else push
    A = np.vstack([w_dot, u_dot, dq_dot[n_p:]])
    rate = float(np.abs(np.linalg.eigvals(A)).max(initial=0.0))
    scale = tangent.scale
    sizes = np.concatenate([scale[[*basis.of_w]], (rate or 1.0) * scale[[*basis.of_u]], tangent.z_scale])
    known = RANK_TOLERANCE if tangent.place.v.any() else NEGLIGIBLE
    return Reduced(A, inertia, -push[:, to_u], -push[:, :n_w], dq, dv, given + basis.Z @ u_dot, rate, sizes, known)


def renewed(basis: Basis, tangent: Tangent) -> Basis:
    """Return the same states at another place."""
    Z, Y = tangent.velocities.Z, tangent.positions.Z
    of_u = Z @ np.linalg.inv(Z[[*basis.of_u]])
    return replace(basis, Z=of_u, Y=of_u if Y is Z else Y @ np.linalg.inv(Y[[*basis.of_w]]))


def reduce_again(mechanism: Mechanism, tangent: Tangent, basis: Basis) -> Reduced:
    """Return the small motions of the same states with other values of parameters."""
    return find_reduced(tangent, renewed(basis, tangent), gravity_of(mechanism), later=False)


def find_reduced(tangent: Tangent, basis: Basis, gravity: Array, later: bool = True) -> Reduced:
    """Find the small motions, with what carries a motion along; NumericalStop if it does not stay as it is.

    If it is looked at `later`, carried along, the mechanism must have the same small motions then.
    """
    a, v, scale = tangent.solution[0], tangent.place.v, tangent.scale
    speed, best, least = float(np.abs(v / scale).max(initial=0.0)), "", np.inf
    qd = tangent.derivatives.qd
    changing = np.abs(qd[tangent.n_p :] / tangent.z_scale)
    for carrying in carryings(tangent.place, qd, a, gravity):
        reduced, left = reduce(tangent, basis, carrying), a - carrying.L_v @ v
        # By the accelerations that gravity and the speed make, or else springs stretched by the size of the mechanism.
        usual = float(np.linalg.norm(gravity)) / tangent.length + speed * speed or reduced.rate**2
        off = float(np.abs(left / scale).max(initial=0.0)) / (usual or 1.0)
        k = int(np.argmax(np.abs(left / scale))) if len(left) else 0
        if float(changing.max(initial=0.0)) > TYPED * reduced.rate:
            off, j = float(changing.max()) / (reduced.rate or 1.0), tangent.n_p + int(np.argmax(changing))
            text = f"its state '{tangent.place.equations.q_names[j]}' changes by {qd[j]:.3g} per second"
        elif off <= TYPED:
            off = _changes(tangent, reduced, carrying, REACH / speed) if speed and later else 0.0
            if off <= TYPED:
                return reduced
            text = f"a little later its small motions are others, by {off:.2g} of their rates"
        else:
            c = tangent.place.equations.velocities[k]
            text = f"its acceleration {c.acceleration} is {left[k]:.3g} {c.unit}/s^2, {off:.2g} of what forces make"
        if off < least:
            best, least = text, off
    raise NumericalStop(
        f"this state {'does not move steadily' if speed else 'does not rest'}: {best}; "
        f"{option('at', 'equilibrium')} finds a rest, and equilibrium with {option('steady', 'NAME')} a steady motion",
        "not-steady",
    )


def _changes(tangent: Tangent, reduced: Reduced, carrying: Carrying, tau: float) -> float:
    """Measure the relative change of A until the time tau later, if states are carried along."""
    later, of_q, of_v = carrying.flow(tangent.place, tau)
    there = replace(tangent, place=later)
    basis = choose_basis(there)
    other = reduce(there, basis, carrying)
    n_p, dq = tangent.n_p, of_q @ reduced.dq
    w = np.linalg.lstsq(there.derivatives.N[:n_p], dq[:n_p], rcond=None)[0][[*basis.of_w]]
    S = np.vstack([w, (of_v @ reduced.dv)[[*basis.of_u]], dq[n_p:]])
    A, B = reduced.on_scales, replace(reduced, A=np.asarray(np.linalg.solve(S, other.A @ S), dtype=float)).on_scales
    return float(np.abs(A - B).max(initial=0.0) / (np.abs(A).max(initial=0.0) or 1.0))


class Spectrum(NamedTuple):
    """Eigenvalues of A with eigenvectors, those of the states that act on others first; then zeros, without vectors."""

    values: Complex
    vectors: Complex
    zeros: int  # of states without effect on the others


def remove_idle(A: Array, known: float, most: int | None = None) -> tuple[Array, Array]:
    """Return orthonormal bases of the states without effect on the others, but for what A is known to, and of the rest.

    States in the null space of A act on none. Without them there may be others again, which acted on these alone: as
    where a wheel stands, then the way that it faces, then its speed. No more than `most` are left out.
    """
    n = len(A)
    idle, acting, B = np.zeros((n, 0)), np.eye(n), A
    largest = float(np.linalg.norm(A, 2)) if n else 0.0
    while len(B) and (most is None or idle.shape[1] < most):
        _, values, V = np.linalg.svd(B)
        count = int(np.sum(values <= known * largest))
        count = count if most is None else min(count, most - idle.shape[1])
        if not count:
            break
        idle, acting = np.hstack([idle, acting @ V[len(B) - count :].T]), acting @ V[: len(B) - count].T
        B = acting.T @ A @ acting
    return idle, acting


def find_values(reduced: Reduced, zeros: int | None = None) -> Complex:
    """Find the eigenvalues of the states that act on others, all but so many if that is known."""
    A = reduced.on_scales
    _, acting = remove_idle(A, reduced.known, zeros)
    values = np.linalg.eigvals(acting.T @ A @ acting)
    return np.asarray(values[np.lexsort((values.imag, np.abs(values.imag), values.real))], dtype=complex)


def judge_acting(reduced: Reduced) -> Stability:
    """Judge stability by the eigenvalues of the states that act on others."""
    return judge(find_values(reduced))


def find_spectrum(reduced: Reduced) -> Spectrum:
    A = reduced.on_scales
    idle, acting = remove_idle(A, reduced.known)
    values, V = np.linalg.eig(acting.T @ A @ acting)
    order = np.lexsort((values.imag, np.abs(values.imag), values.real))
    values, V = values[order].astype(complex), V[:, order]
    # (lambda - A_11) z = A_12 y of the others follow from those that act
    drive, own = idle.T @ A @ acting @ V, idle.T @ A @ idle
    Z = [np.linalg.solve(x * np.eye(len(own)) - own, y) for x, y in zip(values, drive.T, strict=True)]
    vectors = acting @ V + idle @ np.array(Z, dtype=complex).reshape(len(values), len(own)).T
    vectors = vectors * reduced.sizes[:, None]
    return Spectrum(np.append(values, np.zeros(idle.shape[1])), vectors, idle.shape[1])


class Mode(NamedTuple):
    """A small motion x = Re(shape exp(eigenvalue t)): growing or fading, or swinging if the eigenvalue is not real.

    `frequency` is |eigenvalue| in rad/s, `damping` the part -Re/|eigenvalue|; `shape` by the names of states, the
    largest position being 1.
    """

    eigenvalue: complex
    frequency: float
    damping: float
    shape: dict[str, complex]

    @property
    def swings(self) -> bool:
        return self.eigenvalue.imag != 0.0

    @property
    def hertz(self) -> float:
        """Cycles per second that are seen."""
        return abs(self.eigenvalue.imag) / (2.0 * np.pi)


class Matrices(NamedTuple):
    """M u' + C u + K w = 0."""

    M: Array
    C: Array
    K: Array


@dataclass(frozen=True, eq=False, repr=False)
class Linearization(Printed):
    """x' = A x near a rest or a steady motion, x = (w, u, z); M u' + C u + K w = 0 (`reduced`) but for z.

    `states` are the names of w, then of u, then of z; `zeros` of the eigenvalues are of states without effect on the
    others. With inputs and outputs x' = A x + B u and y = C x + D u; the C of velocities is that of `reduced`.
    """

    name: str
    at: str
    coordinates: str
    states: tuple[str, ...]
    A: Array
    reduced: Matrices
    eigenvalues: Complex
    zeros: int
    q: dict[str, float]
    v: dict[str, float]
    vectors: Complex
    mechanism: Mechanism
    tangent: Tangent
    basis: Basis
    signals: Signals
    steady: tuple[str, ...] = ()  # coordinates with given rates, of a steady motion that was looked for
    unsteady: str = ""  # why a start that moves was passed over

    @property
    def B(self) -> Array:
        return self.signals.B

    @property
    def C(self) -> Array:
        return self.signals.C

    @property
    def D(self) -> Array:
        return self.signals.D

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.signals.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.signals.outputs

    def response(self, omega: float | Array) -> Complex:
        """Return C (i omega - A)^-1 B + D at these frequencies in rad/s: a matrix outputs x inputs for each."""
        s, n = self.signals, len(self.A)
        shape = (*np.shape(omega), 1, 1)
        resolvent = np.linalg.solve(1j * np.reshape(omega, shape) * np.eye(n) - self.A, s.B.astype(complex))
        return np.asarray(s.C @ resolvent + s.D)

    def ss(self, package: Literal["scipy", "control"] = "scipy") -> Any:
        """Return A, B, C and D as a StateSpace of scipy.signal, or of python-control with the names of states and
        signals.
        """
        s = self.signals
        if not (s.inputs and s.outputs):
            message = "a state space needs inputs and outputs; name them, or state them in the model"
            raise UsageError(message, "no-signals")
        check_choice("package", package, ("scipy", "control"))
        if package == "control":
            if find_spec("control") is None:
                raise UsageError("python-control is not installed; pip install control", "no-control")
            names = {"states": list(self.states), "inputs": list(s.inputs), "outputs": list(s.outputs)}
            return import_module("control").ss(self.A, s.B, s.C, s.D, **names)
        from scipy.signal import StateSpace

        return StateSpace(self.A, s.B, s.C, s.D)

    @kept
    def acting(self) -> Complex:
        """Return the eigenvalues of the states that act on others."""
        return self.eigenvalues[: len(self.eigenvalues) - self.zeros]

    @property
    def frequencies(self) -> Array:
        """|eigenvalue| in rad/s of those that act and swing, each pair once, in order."""
        return np.sort([mode.frequency for mode in self.modes if mode.swings])

    @property
    def stability(self) -> Stability:
        return judge(self.acting)

    @kept
    def modes(self) -> tuple[Mode, ...]:
        """Return one for each real eigenvalue and for each pair, without the zeros of states that act on no others."""
        found, n_w = [], len(self.basis.of_w)
        for value, vector in zip(self.acting, self.vectors.T, strict=True):
            if value.imag < 0.0:
                continue
            by = self.tangent.scale[[*self.basis.of_w]]
            largest = int(np.argmax(np.abs(vector[:n_w] / by)))
            shape = vector / (vector[largest] or 1.0)
            size = float(abs(value))
            damping = float(-value.real / size) if size else 0.0
            found.append(Mode(complex(value), size, damping, dict(zip(self.states, shape.tolist(), strict=True))))
        return tuple(sorted(found, key=lambda mode: (mode.frequency, mode.eigenvalue.real)))

    def motion(self, mode: int, size: float = 0.5 * REACH) -> Trajectory:
        """Return mode number 1, 2, .. as a motion to be shown, its largest turn or shift being `size` of the mechanism.

        Two swings; of a mode that does not swing, as far to one side as to the other.
        """
        from linkwork.analyses.mode_motion import move

        return move(self, mode, size)

    def over(self, parameter: str, values: Sequence[float] | Array) -> Family:
        """Return eigenvalues for other values of a parameter, with the values at which they cross the imaginary
        axis.
        """
        from linkwork.analyses.over import over

        return over(self, parameter, values)

    def as_dict(self) -> dict[str, Any]:
        def parts(x: complex) -> list[float]:
            return [x.real, x.imag]

        modes = [
            {
                "eigenvalue": parts(mode.eigenvalue),
                "frequency": mode.frequency,
                "damping": mode.damping,
                "shape": {name: parts(x) for name, x in mode.shape.items()},
            }
            for mode in self.modes
        ]
        return {
            "name": self.name,
            "at": self.at,
            "coordinates": self.coordinates,
            "stability": self.stability,
            "states": list(self.states),
            **{name: getattr(self, name).tolist() for name in "ABCD"},
            "reduced": {name: matrix.tolist() for name, matrix in self.reduced._asdict().items()},
            "eigenvalues": [parts(x) for x in self.eigenvalues.tolist()],
            "zeros": self.zeros,
            "modes": modes,
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
            "q": self.q,
            "v": self.v,
        }

    def __str__(self) -> str:
        from linkwork.view.report import aligned
        from linkwork.view.small_motions import linearization_lines

        return aligned(linearization_lines(self))


def judge(values: Complex) -> Stability:
    """Say stable if all small motions fade, unstable if one grows; on the axis linear equations do not decide.

    Of a multiple eigenvalue each is off by the root of rounding, their mean by rounding.
    """
    size = float(np.abs(values).max(initial=0.0))
    alike = np.abs(values[:, None] - values) <= halved(ROUNDING) * size
    growth = alike @ values.real / alike.sum(axis=1)
    if (growth > RANK_TOLERANCE * size).any():
        return "unstable"
    return "stable" if len(values) and (growth < -RANK_TOLERANCE * size).all() else "marginal"


def name_states(e: Equations, basis: Basis) -> tuple[str, ...]:
    """Name positions by coordinates, or in space by body and axis of turning; velocities by their own names."""

    def position(c: Velocity) -> str:
        return c.name if c.name in e.q_names else f"{c.owner}.turn_{c.part.removeprefix('w')}"

    return (
        *(position(e.velocities[k]) for k in basis.of_w),
        *(e.velocities[k].speed for k in basis.of_u),
        *e.q_names[len(e.q) - e.n_states :],
    )


def about_place(
    mechanism: Mechanism,
    place: Place,
    at: str,
    independent: Sequence[str] = (),
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    steady: tuple[str, ...] = (),
) -> Linearization:
    tangent = Tangent(Code.of(mechanism), place, place.length)
    given = number_independent(mechanism.equations, independent, tangent.velocities.Z, tangent.scale)
    basis = choose_basis(tangent, given) if given else sort_basis(choose_basis(tangent))
    reduced = find_reduced(tangent, basis, gravity_of(mechanism))
    e, spectrum = mechanism.equations, find_spectrum(reduced)
    speeds = [c.speed for c in e.velocities]
    return Linearization(
        mechanism.model.name,
        at,
        e.chart.kind,
        name_states(e, basis),
        reduced.A,
        Matrices(reduced.M, reduced.C, reduced.K),
        spectrum.values,
        spectrum.zeros,
        dict(zip(e.q_names, place.q.tolist(), strict=True)),
        dict(zip(speeds, place.v.tolist(), strict=True)),
        spectrum.vectors,
        mechanism,
        tangent,
        basis,
        find_signals(mechanism, tangent, basis, reduced, inputs, outputs),
        steady,
    )


def about_rest(mechanism: Mechanism, rest: Rest) -> Linearization:
    return about_place(mechanism, rest.place, "equilibrium")


@checked_call()
@np.errstate(all="ignore")  # what is not finite is looked for where it matters
def linearize(
    model: Model | Mechanism,
    parameters: Mapping[str, float | str] | None = None,
    *,
    at: At = None,
    coordinates: str | Coordinates | None = None,
    independent: Sequence[str] = (),
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
) -> Linearization:
    """Return the small motions of a mechanism about a rest or a steady motion: A, reduced M, C, K, eigenvalues, modes.

    - `parameters`: other values of parameters that the model names.
    - `at`: "equilibrium", to which the mechanism sinks from its start; "start", which must rest or move steadily; a
      time in seconds, at which its motion does; or what `equilibrium` returned. Unless given, the start if it rests or
      moves steadily, else the equilibrium; `unsteady` then says why.
    - `coordinates`: body, joint, minimal or euler; the eigenvalues are the same in all.
    - `independent`: names of the coordinates in which M, C and K stand; unless given, they are chosen.
    - `inputs`, `outputs`: names of inputs or parameters, and of results, unless given those of the model.
    """
    for what, names in (("independent", independent), ("inputs", inputs or ()), ("outputs", outputs or ())):
        check_names(what, names)
    how = (independent, inputs, outputs)
    mechanism = with_belts(prepare(model, coordinates).changed(parameters or {}))
    if isinstance(at, Equilibrium):
        place = place_bodies(mechanism, at.q, at.v)
        return about_place(mechanism, place, "steady motion" if at.steady else "equilibrium", *how, at.steady)
    if at == "equilibrium":
        return about_place(mechanism, place_bodies(mechanism, _rest_of(mechanism)), "equilibrium", *how)
    if at is None or at == "start":
        place = find_start(restart(mechanism.place())).place
        try:
            return about_place(mechanism, place, "start", *how)
        except NumericalStop as error:
            if at == "start" or error.code != "not-steady":
                raise
            unsteady = error.message.partition(";")[0] if place.v.any() else ""
        found = about_place(mechanism, place_bodies(mechanism, _rest_of(mechanism)), "equilibrium", *how)
        return replace(found, unsteady=unsteady)
    if isinstance(at, bool) or not isinstance(at, int | float):
        raise UsageError(f"at={at!r} is not a state; write 'equilibrium', 'start' or a time in seconds", "bad-value")
    there, place = _reached(mechanism, float(at))
    return about_place(there, place, f"t = {float(at):g} s", *how)


def _rest_of(mechanism: Mechanism) -> dict[str, float]:
    """Return the position of the bodies at rest, in any coordinates."""
    rest = find_rest(begin_rest(by_bodies(mechanism)))
    return dict(zip(rest.place.equations.q_names, rest.place.q.tolist(), strict=True))


def place_bodies(mechanism: Mechanism, q: Mapping[str, float], v: Mapping[str, float] | None = None) -> Place:
    """Put the bodies into this position, with these velocities or at rest."""
    body = mechanism.equations.chart.body or mechanism.equations
    place = find_start(restart(mechanism.place(), q, v or dict.fromkeys(body.v_names, 0.0)), q=q).place
    return place if v and any(v.values()) else place.at_velocity(0.0 * place.v)


def _reached(mechanism: Mechanism, t: float) -> tuple[Mechanism, Place]:
    """Return the mechanism as events have left it at a time of its motion, and its state there."""
    from linkwork.simulation.simulate import simulate

    motion = simulate(mechanism, t_end=t)
    if motion.t[-1] != t:
        raise UsageError(f"the motion ends at t = {motion.t[-1]:.6g} s, before t = {t:g} s", "out-of-range")
    e = mechanism.equations
    held = {x: motion.info.held[str(x.value)] for x in e.held}
    there = changed(mechanism, equations=e.with_values({**e.parameters, **held}))
    q, v = (motion.tables[kind].values[-1] for kind in e.chart.state[:2])
    return there, Place(there.equations, q, v, t)
