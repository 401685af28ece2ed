"""Singular positions on computed motions: found where they are, nowhere else, and passed on the branch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from parallelograms import PARALLELOGRAM, meet, one_wheel
from published import REFERENCE
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicHermiteSpline
from slices import with_slow

from linkwork import Integrator
from linkwork.errors import NumericalStop
from linkwork.formulations import FORMULATIONS, usual_formulations
from linkwork.model import Model
from linkwork.modelfile import load, loads
from linkwork.simulation.simulate import simulate
from linkwork.start.check import check

T, THETA, RATE = np.loadtxt(REFERENCE / "A02_N2.csv", delimiter=",", skiprows=2).T[:3]


def horizontal() -> np.ndarray:
    """When the uprights of n_four_bar are horizontal, by its one-freedom reduction: theta = pi/2 + k pi."""
    angles = np.arange(np.pi / 2, THETA[-1], np.pi)
    return np.array([CubicHermiteSpline(T, THETA, RATE).solve(angle, extrapolate=False)[0] for angle in angles])


@pytest.mark.parametrize("step", [0.001, 0.01, 0.05])
def test_singular_positions_of_parallelograms_are_located(step: float) -> None:
    """Interpolated rows miss the position by some step^4, and that in units of the speed is the error in time."""
    motion = simulate(load("n_four_bar"), step=step)
    found = motion.info.singular_positions
    assert len(found) == 10
    np.testing.assert_allclose([x.t for x in found], horizontal(), atol=1e-6 + step**4)
    assert {"B0", "B1", "C0", "C1"} <= set(found[0].joints) <= {"A0", "A1", "A2", "B0", "B1", "C0", "C1"}
    said = [note for note in motion.info.notes if "[singular-position]" in note]
    assert len(said) == 5
    assert "t = 0.71435" in said[0]
    assert "6 more" in said[-1]


def test_a_position_at_the_end_of_the_motion_is_told_too() -> None:
    motion = simulate(load("n_four_bar"), t_end=float(horizontal()[0]), step=0.01, rtol=1e-11)
    assert [x.t for x in motion.info.singular_positions] == pytest.approx([horizontal()[0]], abs=1e-6)


def lying(angle: float) -> Model:
    """Parallel cranks of one metre that turn by 1 rad/s, the third one redundant."""
    c, s = math.cos(angle), math.sin(angle)
    cranks = "".join(
        f"  {name}: {{mass: 1, inertia: 0.1, position: [{x + 0.5 * c}, {0.5 * s}], angle: {angle}, "
        f"velocity: [{-0.5 * s}, {0.5 * c}], angular_velocity: 1, points: {{A: [-0.5, 0], B: [0.5, 0]}}}}\n"
        for name, x in (("left", 0), ("middle", 1), ("right", 2))
    )
    joints = "".join(
        f"  A_{name}: {{type: revolute, i: ground.{name}, j: {name}.A}}\n"
        f"  B_{name}: {{type: revolute, i: {name}.B, j: bar.{name}}}\n"
        for name in ("left", "middle", "right")
    )
    return loads(
        "linkwork: 1\nname: cranks\ngravity: [0, 0]\n"
        "ground: {points: {left: [0, 0], middle: [1, 0], right: [2, 0]}}\nbodies:\n"
        + cranks
        + f"  bar: {{mass: 1, inertia: 0.1, position: [{1 + c}, {s}], velocity: [{-s}, {c}], "
        "points: {left: [-1, 0], middle: [0, 0], right: [1, 0]}}\n"
        + f"joints:\n{joints}simulation: {{t_end: 4, step: 0.01}}\n"
    )


def test_a_start_in_a_singular_position_is_told_from_redundant_rows() -> None:
    """One row is always redundant; in line, where half of the entries of Psi_q vanish, another one is."""
    usual, in_line = check(lying(1.0)), check(lying(0.0))
    assert (usual.redundant, usual.redundancy) == (1, "geometric")
    assert (in_line.redundant, in_line.redundancy) == (2, "at this position")
    assert not any("[rank-uncertain]" in note for note in usual.notes + in_line.notes)
    assert any("[rank-uncertain]" in note for note in check(lying(1e-7)).notes)


def test_a_start_in_a_singular_position_is_told_at_time_zero() -> None:
    """Without gravity parallel cranks turn at a constant rate, so the next one is half a turn later."""
    motion = simulate(lying(0.0))
    np.testing.assert_allclose([x.t for x in motion.info.singular_positions], [0.0, np.pi], atol=1e-6)
    assert motion.info.singular_positions[0].t == 0.0


@pytest.mark.parametrize("name", ["slider_crank", "four_bar", "four_bar_redundant", "redundant_24", "double_pendulum"])
def test_mechanisms_without_singular_positions_are_told_none(name: str) -> None:
    """Redundant rows make Psi_q lose rank everywhere, which is no singular position."""
    motion = simulate(load(name), t_end=5.0)
    assert motion.info.singular_positions == ()
    assert not any("[singular-position]" in note for note in motion.info.notes)


@pytest.mark.diagonal
@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
@pytest.mark.parametrize("formulation", usual_formulations())
def test_every_formulation_passes_singular_positions_on_its_branch(formulation: str, rtol: float) -> None:
    """An antiparallelogram would be radians away; 2e-3 is the error of ggl at the loose tolerance."""
    motion = simulate(load("n_four_bar"), formulation=formulation, rtol=rtol, atol=rtol)
    error = np.max(np.abs(np.pi / 2 - motion["upright0.phi"] - np.interp(motion.t, T, THETA)))
    assert error < (1e-2 if rtol > 1e-7 else 1e-5)
    assert np.max(np.abs(motion.drift())) < 3e3 * rtol


@pytest.mark.parametrize("coordinates", ["body", "joint"])
@pytest.mark.parametrize("N", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_the_error_past_singular_positions_follows_the_tolerance(N: int, coordinates: str) -> None:
    """Of the pendulum that all uprights are, over ten positions in which all links are in line, at any tolerance."""
    inertia, moment = (N + 1) / 3 + N, 9.81 * ((N + 1) / 2 + N)
    exact = solve_ivp(
        lambda t, y: [y[1], -moment * np.cos(y[0]) / inertia],
        (0.0, 10.0),
        [np.pi / 2, -1.0],
        "DOP853",
        rtol=1e-13,
        atol=1e-14,
    ).y[0, -1]
    for rtol in (1e-7, 1e-8, 3e-9, 1e-9, 3e-10, 1e-10, 3e-11, 1e-11):
        motion = simulate(load(f"n_four_bar:{N}"), rtol=rtol, atol=rtol, coordinates=coordinates)
        assert max(abs(motion[f"upright{k}.phi"][-1] - exact) for k in range(N + 1)) < 1000 * rtol


@pytest.mark.parametrize("N", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_refining_goes_on_past_singular_positions(N: int) -> None:
    """Rounding puts a state on a hyperbola beside the branch, which short steps near the position would follow."""
    inertia, moment = (N + 1) / 3 + N, 9.81 * ((N + 1) / 2 + N)
    exact = solve_ivp(
        lambda t, y: [y[1], -moment * np.cos(y[0]) / inertia],
        (0.0, 10.0),
        [np.pi / 2, -1.0],
        "DOP853",
        rtol=1e-13,
        atol=1e-14,
        max_step=0.01,
    ).y[0, -1]
    model = load(f"n_four_bar:{N}")
    for rtol, allowed in ((1e-10, 3e-8), (1e-11, 3e-9), (1e-12, 1e-9), (1e-13, 1e-9)):
        motion = simulate(model, rtol=rtol, atol=rtol)
        for k in range(N + 1):
            assert abs(motion[f"upright{k}.phi"][-1] - exact) < allowed
        assert motion.info.steps < 500  # and none of them short
        assert len(motion.info.singular_positions) == 10


@pytest.mark.parametrize(("step", "rtol"), [(0.01, 1e-9), (0.1, 1e-9), (0.1, 1e-11)])
@pytest.mark.parametrize("formulation", ["coordinate-partitioning", "qr", "svd"])
def test_independent_coordinates_that_do_not_exist_there_are_no_hindrance(
    formulation: str, step: float, rtol: float
) -> None:
    """No coordinates determine the others in a singular position; report times do not matter."""
    motion = simulate(load("n_four_bar"), formulation=formulation, step=step, rtol=rtol)
    assert np.max(np.abs(np.pi / 2 - motion["upright0.phi"] - np.interp(motion.t, T, THETA))) < 1e-5
    np.testing.assert_allclose(np.diff(motion.t), step)
    assert len(motion.info.singular_positions) == 10


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_small_mechanisms_have_small_singular_values(formulation: str) -> None:
    """A four-bar of micrometres moves like one of metres in a thousandth of the time; turns hardly shift it."""
    size, time = 1e-6, 1e-3
    lengths = {name: f"{size * length} m" for name, length in (("a", 1.0), ("b", 2.5), ("c", 2.0), ("d", 2.2))}
    small = simulate(load("four_bar", lengths), t_end=time, step=0.1 * time, formulation=formulation)
    large = simulate(load("four_bar"), t_end=1.0, step=0.1, formulation=formulation)
    np.testing.assert_allclose(small["crank.phi"], large["crank.phi"], atol=1e-5)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
@pytest.mark.parametrize("longer", [1e-4, 1e-6, 1e-7])
def test_a_motion_that_turns_just_before_a_singular_position_is_followed(longer: float, rtol: float) -> None:
    """A rocker a little longer than its crank: the coupler pin stays on its side, where circles meet.

    The polynomial of a step would lead past, onto the other side; there its own gap is as wide as the rocker is longer.
    """
    motion = simulate(loads(PARALLELOGRAM, changes={"c": 1.0 + longer}), rtol=rtol)
    pin = motion["coupler.B.x"] + 1j * motion["coupler.B.y"]
    crank = np.exp(1j * (np.pi / 3 + motion.t))
    expected = meet(crank, 2.0, 2.0, 1.0 + longer, 1)
    np.testing.assert_allclose(pin, expected, atol=1e-9)
    assert motion.info.status == "finished"


SARRUS = """
linkwork: 1
name: sarrus
space: spatial
parameters: {al: 0.5, c: cos(al), s: sin(al)}
ground: {points: {A: [1, 0, 0], B: [0, 1, 0]}}
bodies:
  l1:
    mass: 1
    inertia: [0.1, 0.1, 0.1]
    position: [1 + c/2, 0, s/2]
    orientation: {axis: [0, 1, 0], angle: -al}
    points: {A: [-0.5, 0, 0], K: [0.5, 0, 0]}
  u1:
    mass: 1
    inertia: [0.1, 0.1, 0.1]
    position: [1 + c/2, 0, 1.5*s]
    orientation: {axis: [0, 1, 0], angle: al}
    points: {K: [0.5, 0, 0], T: [-0.5, 0, 0]}
  l2:
    mass: 1
    inertia: [0.1, 0.1, 0.1]
    position: [0, 1 + c/2, s/2]
    orientation: {axis: [1, 0, 0], angle: al}
    points: {B: [0, -0.5, 0], K: [0, 0.5, 0]}
  u2:
    mass: 1
    inertia: [0.1, 0.1, 0.1]
    position: [0, 1 + c/2, 1.5*s]
    orientation: {axis: [1, 0, 0], angle: -al}
    points: {K: [0, 0.5, 0], T: [0, -0.5, 0]}
  top: {mass: 2, inertia: [0.3, 0.3, 0.5], position: [0, 0, 2*s], points: {A: [1, 0, 0], B: [0, 1, 0]}}
joints:
  A: {type: revolute, i: ground.A, j: l1.A, axis: [0, 1, 0]}
  K1: {type: revolute, i: l1.K, j: u1.K, axis: [0, 1, 0]}
  T1: {type: revolute, i: u1.T, j: top.A, axis: [0, 1, 0]}
  B: {type: revolute, i: ground.B, j: l2.B, axis: [1, 0, 0]}
  K2: {type: revolute, i: l2.K, j: u2.K, axis: [1, 0, 0]}
  T2: {type: revolute, i: u2.T, j: top.B, axis: [1, 0, 0]}
simulation: {t_end: 0.5, step: 0.05, coordinates: joint}
"""


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-9])
def test_a_linkage_falls_flat_and_on(rtol: float) -> None:
    """Sarrus' by its one angle: I(a) a'' = 12 sin(a) cos(a) a'^2 - 8 g cos(a), I = 0.9 + sin(a)^2/2 + 12.5 cos(a)^2."""

    def fall(_: float, y: np.ndarray) -> list[float]:
        s, c = np.sin(y[0]), np.cos(y[0])
        return [y[1], (12 * s * c * y[1] ** 2 - 8 * 9.81 * c) / (0.9 + 0.5 * s * s + 12.5 * c * c)]

    exact = solve_ivp(fall, (0.0, 0.5), [0.5, 0.0], "DOP853", rtol=1e-12, atol=1e-12).y[0, -1]
    motion = simulate(loads(SARRUS), rtol=rtol, atol=rtol)
    assert motion["top.z"][-1] == pytest.approx(2 * np.sin(exact), abs=10 * rtol)


def test_a_run_that_does_not_pass_a_singular_position_says_so() -> None:
    """Sarrus' linkage falls flat: in joint coordinates rows of Psi_q vanish there, and unit rows do not show it."""
    with pytest.raises(NumericalStop, match="near a singular position") as stopped:
        simulate(loads(SARRUS), integrator=Integrator(max_steps=3000), rtol=1e-12, atol=1e-12)
    assert stopped.value.code == "too-many-steps"


def flat_at(t: float, step: float, kicks: Sequence[float] = (), released: float = 0.0) -> tuple[Model, float]:
    """A parallelogram whose bars are in line at t, turning at 7 rad/s; and its angular acceleration there.

    (J_1 + J_3 + (m_1 + m_3) r^2/4 + m_2 r^2) alpha = -g (m_1/2 + m_2 + m_3/2) r cos phi - c omega

    Its crank is sped up by 1.5 rad/s by each kick, and its rocker loses its hinge when it is released.
    """
    r, d, (m_1, m_2, m_3), c = 0.3, 0.5, (0.4, 1.3, 0.7), 0.3
    inertia, weight = 0.01 + 0.02 + (m_1 + m_3) * r * r / 4 + m_2 * r * r, 9.81 * r * (m_1 / 2 + m_2 + m_3 / 2)

    def rates(_: float, y: np.ndarray) -> list[float]:
        return [y[1], -(weight * math.cos(y[0]) + c * y[1]) / inertia]

    state, since = np.array([0.0, 7.0]), t
    for until in [*sorted((kick for kick in kicks if kick < t), reverse=True), 0.0]:
        state = solve_ivp(rates, (since, until), state, rtol=1e-13, atol=1e-14, method="DOP853").y[:, -1]
        state, since = state - [0.0, 1.5 if until else 0.0], until
    phi, omega = state.tolist()
    x, y = r * math.cos(phi), r * math.sin(phi)
    text = f"""
linkwork: 1
name: flat
gravity: [0, -9.81]
ground: {{points: {{O: [0, 0], C: [{d}, 0]}}}}
bodies:
  crank: {{mass: {m_1}, inertia: 0.01, angle: {phi!r}, angular_velocity: {omega!r}, position: [{x / 2!r}, {y / 2!r}],
           points: {{O: [{-r / 2}, 0], A: [{r / 2}, 0]}}}}
  coupler: {{mass: {m_2}, inertia: 0.05, position: [{x + d / 2!r}, {y!r}],
             points: {{A: [{-d / 2}, 0], B: [{d / 2}, 0]}}}}
  rocker: {{mass: {m_3}, inertia: 0.02, angle: {phi!r}, position: [{d + x / 2!r}, {y / 2!r}],
            points: {{C: [{-r / 2}, 0], B: [{r / 2}, 0]}}}}
joints:
  O: {{type: revolute, i: ground.O, j: crank.O}}
  A: {{type: revolute, i: crank.A, j: coupler.A}}
  B: {{type: revolute, i: coupler.B, j: rocker.B}}
  C: {{type: revolute, i: ground.C, j: rocker.C}}
forces: {{T: {{type: torque, on: crank, torque: "-{c}*crank.omega"}}}}
simulation: {{t_end: {2 * t}, step: {step}, rtol: 1.0e-9}}
"""
    faster = "action: set, velocities: {crank.omega: crank.omega + 1.5}"
    events = [f"  kick{k}: {{when: t - {kick}, {faster}}}\n" for k, kick in enumerate(kicks)]
    events += [f"  release: {{when: t - {released}, action: set, release: [C]}}\n"] * bool(released)
    text += "events:\n" * bool(events) + "".join(events)
    return loads(text), rates(0.0, np.array([0.0, 7.0]))[1]


@pytest.mark.parametrize("coordinates", ["body", "joint"])
@pytest.mark.parametrize("formulation", ["augmented", "qr"])
@pytest.mark.parametrize("step", [0.1, 0.001])
@pytest.mark.diagonal
def test_a_row_in_a_singular_position_has_the_limits_from_both_sides(
    coordinates: str, formulation: str, step: float
) -> None:
    """There the linear system leaves angular accelerations off by half, and a reaction without what does not grow.

    Across the bars the reaction is continuous; along them it is c/(t - t*) and a finite part, which is the mean of what
    it is as long before and after.
    """
    model, alpha = flat_at(0.2, step)
    motion = simulate(model, formulation=formulation, coordinates=coordinates)
    k = round(0.2 / step)
    assert motion.t[k] == pytest.approx(0.2, abs=1e-15)
    for body in ("crank", "rocker"):
        assert motion[f"{body}.alpha"][k] == pytest.approx(alpha, rel=1e-7)
    assert motion["coupler.alpha"][k] == pytest.approx(0.0, abs=1e-6)
    fine = simulate(flat_at(0.2, 1e-3)[0])
    for name in ("reaction:B.x", "reaction:B.y"):
        near, far = (0.5 * (fine[name][200 - j] + fine[name][200 + j]) for j in (3, 6))
        assert motion[name][k] == pytest.approx((4.0 * near - far) / 3.0, rel=1e-4)


BESIDE = {
    "a kick long before": ([0.1], 0.0),
    "one shortly before": ([0.198], 0.0),
    "one just behind": ([0.2005], 0.0),
    "a joint released behind": ([], 0.3),
    "both": ([0.1], 0.3),
}


@pytest.mark.parametrize("coordinates", ["body", "joint"])
@pytest.mark.parametrize("step", [0.2, 0.1, 0.001])
@pytest.mark.parametrize("case", BESIDE)
@pytest.mark.diagonal
def test_a_row_in_a_singular_position_is_right_beside_events(coordinates: str, step: float, case: str) -> None:
    """Whatever happens before or behind: the angular acceleration is that of the one-freedom equation."""
    model, alpha = flat_at(0.2, step, *BESIDE[case])
    motion = simulate(model, coordinates=coordinates)
    k = round(0.2 / step)
    assert motion.t[k] == pytest.approx(0.2, abs=1e-15)
    assert [x.t for x in motion.info.singular_positions][:1] == pytest.approx([0.2], abs=1e-7)
    for body in ("crank", "rocker"):
        assert motion[f"{body}.alpha"][k] == pytest.approx(alpha, rel=1e-6)
    assert motion["coupler.alpha"][k] == pytest.approx(0.0, abs=1e-5)
    assert not any("[singular-row]" in note for note in motion.info.notes)


def test_a_row_in_a_singular_position_between_two_events_is_told() -> None:
    """From 2 ms before to 2 ms behind is too short a way to continue accelerations along it."""
    motion = simulate(flat_at(0.2, 0.1, [0.198, 0.202])[0])
    assert next(note for note in motion.info.notes if "[singular-row]" in note).startswith(
        "accelerations and reactions at t = 0.2 "
    )


Array = NDArray[np.float64]


MODELS = REFERENCE / "trust"


@cache
def parallelogram(angle: float, speed: float, times: tuple[float, ...]) -> Array:
    """Angle of the cranks and its rate, by the equation of their one freedom."""
    r, g = 0.3, 9.81
    inertia = 0.05 + 2 * (r / 2) ** 2 + 3 * r**2 + 0.1 + 4 * (r / 2) ** 2
    moment = (2 * r / 2 + 3 * r + 4 * r / 2) * g

    def rates(t: float, y: Array) -> list[float]:
        return [y[1], (5 - 0.5 * y[1] - moment * math.cos(y[0])) / inertia]

    found = solve_ivp(rates, (0.0, times[-1]), [angle, speed], "DOP853", times, rtol=1e-12, atol=1e-12)
    return np.asarray(found.y)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
@pytest.mark.parametrize("formulation", usual_formulations())
@pytest.mark.parametrize(
    ("angle", "speed"), [(1.7460471439216079, -11.985588906517041), (1.5627621124083113, -10.17320635468549)]
)
@pytest.mark.sampled
def test_a_driven_parallelogram_stays_one(formulation: str, rtol: float, angle: float, speed: float) -> None:
    """Through positions in line, past which an antiparallelogram begins; by SciPy in the angle of the cranks."""
    motion = simulate(
        load(MODELS / "para.yaml", {"th": angle, "w": speed}), formulation=formulation, rtol=rtol, t_end=3.0
    )
    exact = parallelogram(angle, speed, tuple(motion.t))
    np.testing.assert_allclose(motion["rod.phi"], 0.0, rtol=0, atol=1e-6)
    np.testing.assert_allclose(motion["crank.phi"], exact[0], rtol=0, atol=1e4 * rtol)
    np.testing.assert_allclose(motion["follower.omega"], exact[1], rtol=0, atol=1e5 * rtol)


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_an_overconstrained_linkage_goes_on_through_positions_in_line(coordinates: str) -> None:
    """Three wheels on one rod, driven: all angles stay equal, and the energy is that of one wheel with all inertia."""
    motion = simulate(load(MODELS / "loco.yaml"), t_end=2.0, coordinates=coordinates)
    for name in ("w2.phi", "w3.phi"):
        np.testing.assert_allclose(motion[name], motion["w1.phi"], atol=1e-9)
    np.testing.assert_allclose(motion["w1.phi"], one_wheel(0.5, 6.0, motion.t), atol=1e-7)


@pytest.mark.parametrize("rtol", with_slow([1e-9, 3e-10, 1e-10, 3e-11], fast=[]))
def test_forty_four_bars_pass_their_positions_in_line_in_joint_coordinates(rtol: float) -> None:
    """All uprights turn as one: (41/3 + 40) phi'' = -(41/2 + 40) g cos(phi)."""
    motion = simulate(load("n_four_bar:40"), coordinates="joint", rtol=rtol, atol=rtol)
    inertia, weight, times = 41.0 / 3.0 + 40.0, 9.81 * (41.0 / 2.0 + 40.0), motion.t
    alone = solve_ivp(
        lambda t, y: [y[1], -weight * math.cos(y[0]) / inertia],
        (0.0, times[-1]),
        [math.pi / 2.0, -1.0],
        "DOP853",
        t_eval=times,
        rtol=1e-12,
        atol=1e-12,
    ).y[0]
    for k in range(0, 41, 8):
        np.testing.assert_allclose(motion[f"upright{k}.phi"], alone, rtol=0, atol=1e-4)
