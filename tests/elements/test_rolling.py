"""Rows A(t, q) v + b(t, q) = 0: what rolls, glides on blades, or is held by a formula of velocities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad, solve_ivp
from slices import with_slow

from linkwork import PlanarModel, SpatialModel, Start, check, kinematics, linearize, load, simulate
from linkwork.analyses.linearize import Linearization
from linkwork.compiled.mechanism import prepare
from linkwork.errors import ModelError, UsageError
from linkwork.formulations import FORMULATIONS
from linkwork.lecture.explain import explain
from linkwork.lecture.listing import write_down
from linkwork.own import Number, PointPair, Vector, element
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]
G = 9.81
# Enough for the last of these to be seen, and for mistakes of any sign: all motions below differ by 1e-2 and more.
CLOSE = 1e-8


def whole_state(motion: Trajectory) -> Array:
    return np.hstack([motion.q, motion.v])


def same_motion(name: str, **how: Any) -> None:
    """The motion of a shipped mechanism, as others compute it: positions, velocities and reactions."""
    usual, other = (simulate(load(name), t_end=1.0, rtol=1e-11, atol=1e-11, **x) for x in ({}, how))
    np.testing.assert_allclose(whole_state(other), whole_state(usual), atol=CLOSE)
    for kind in ("reactions", "points"):
        np.testing.assert_allclose(other.tables[kind].values, usual.tables[kind].values, rtol=1e-6, atol=1e-6)


# Chaplygin's sleigh


def sleigh_in_closed_form(t: Array, m: float, J: float, a: float, v: float, w: float) -> tuple[Array, ...]:
    """phi, speed of the blade u, rate omega and force across it: u' = a omega^2, omega' = -a u omega/c^2.

    So u^2 + c^2 omega^2 = U^2 is constant, c^2 = a^2 + J/m, and u = U tanh(s), omega = U/(c cosh(s)) with s' = a U/c^2.
    """
    c = np.sqrt(a * a + J / m)
    U = np.hypot(v, c * w)
    first = np.arctanh(v / U)
    s = first + a * U / c**2 * t
    u, omega = U * np.tanh(s), U / c / np.cosh(s)
    phi = 2.0 * c / a * (np.arctan(np.tanh(s / 2)) - np.arctan(np.tanh(first / 2)))
    return phi, u, omega, m * (u * omega - a * a * u * omega / c**2)


def test_the_sleigh_follows_its_closed_form() -> None:
    """Angle, speeds and the force of the blade; where it has gone, by quadrature."""
    model = load("chaplygin_sleigh")
    motion = simulate(model, rtol=1e-12, atol=1e-12)
    given = dict(model.parameters)
    phi, u, omega, across = sleigh_in_closed_form(motion.t, **given)
    np.testing.assert_allclose(motion["sleigh.phi"], phi, atol=1e-10)
    np.testing.assert_allclose(motion["sleigh.omega"], omega, atol=1e-10)
    np.testing.assert_allclose(motion["sleigh.A.vx"], u * np.cos(phi), atol=1e-10)
    np.testing.assert_allclose(motion["sleigh.A.vy"], u * np.sin(phi), atol=1e-10)
    np.testing.assert_allclose(motion["reaction:blade.across"], across, atol=1e-9)

    def speed(t: float, f: Callable[[float], float]) -> float:
        angle, along, *_ = sleigh_in_closed_form(np.array([t]), **given)
        return float(along[0] * f(float(angle[0])))

    way = [quad(speed, 0.0, 5.0, args=(f,), epsabs=1e-12, epsrel=1e-12, limit=200)[0] for f in (np.cos, np.sin)]
    np.testing.assert_allclose([motion["sleigh.A.x"][-1], motion["sleigh.A.y"][-1]], way, atol=1e-9)
    assert np.max(np.abs(motion.drift())) <= 1e-9


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_every_formulation_finds_the_motion_of_the_sleigh(formulation: str) -> None:
    same_motion("chaplygin_sleigh", formulation=formulation)


@pytest.mark.parametrize(
    "how",
    [
        {"coordinates": "joint"},
        {"coordinates": "minimal"},
        {"formulation": "index-3", "integrator": "radau5"},
        {"formulation": "ggl", "integrator": "radau5"},
        {"formulation": "lu"},
        {"integrator": "radau5"},
        {"stabilization": "baumgarte"},
    ],
    ids=lambda how: "-".join(how.values()),
)
def test_every_form_and_integrator_finds_the_motion_of_the_sleigh(how: dict[str, str]) -> None:
    same_motion("chaplygin_sleigh", **how)


def test_a_formula_of_velocities_is_a_skate() -> None:
    """The same motion, and the same force, whether the blade is a joint or a formula."""
    m = PlanarModel.load("chaplygin_sleigh")
    other = PlanarModel("formula", **dict(m.model.parameters))
    other.gravity = (0.0, 0.0)
    other.body("sleigh", mass="m", inertia="J", mass_centre=("a", 0), velocity=("v", 0), angular_velocity="w",
               points={"A": (0, 0)})  # fmt: skip
    other.velocity_constraint("blade", formula="sleigh.A.vy*cos(sleigh.phi) - sleigh.A.vx*sin(sleigh.phi)")
    one, two = (simulate(x, t_end=2.0) for x in (m, other))
    np.testing.assert_allclose(whole_state(two), whole_state(one), atol=CLOSE)
    np.testing.assert_allclose(two["reaction:blade.rate"], one["reaction:blade.across"], atol=1e-7)


def test_a_driven_speed_supplies_what_the_energy_gains() -> None:
    """A cart whose speed a formula prescribes, vx = sin(t): -lam = m cos(t), and its work is the kinetic energy."""
    m = PlanarModel("cart")
    m.body("cart", mass=3.0, inertia=1.0)
    m.velocity_constraint("belt", formula="cart.vx - sin(t)")
    motion = simulate(m, t_end=2.0)
    np.testing.assert_allclose(motion["cart.x"], 1.0 - np.cos(motion.t), atol=CLOSE)
    np.testing.assert_allclose(motion["reaction:belt.rate"], 3.0 * np.cos(motion.t), atol=1e-7)
    supplied = motion["energy:supplied"]
    np.testing.assert_allclose(supplied, 1.5 * np.sin(motion.t) ** 2, atol=CLOSE)


# What rolls in space


def rolls(touch: Callable[[Any], Any], m: float, J: Array, start: Array, t: Array) -> tuple[Array, Array, Array, Array]:
    """Rotation matrix, angular velocity and mass centre of a body that rolls on z = 0, and the force of the plane.

    In the axes of the body: n' = n x omega, v = r x omega, F = m (v' + omega x v + g n), J omega' + omega x J omega =
    r x F, where r(n) leads from the mass centre to the point that touches; v' = r' x omega + r x omega'.
    """

    def rates(x: Array) -> tuple[Array, Array]:
        A, omega = x[:9].reshape(3, 3), x[9:12]
        n = A[2]
        n_dot, r = np.cross(n, omega), touch(n)
        r_dot = touch(n + 1e-30j * n_dot).imag / 1e-30
        v = np.cross(r, omega)
        rest = np.cross(r_dot, omega) + np.cross(omega, v) + G * n
        R = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
        omega_dot = np.linalg.solve(J - m * R @ R, -np.cross(omega, J @ omega) + m * R @ rest)
        spun = A @ np.array([[0, -omega[2], omega[1]], [omega[2], 0, -omega[0]], [-omega[1], omega[0], 0]])
        return np.concatenate([spun.ravel(), omega_dot, A @ v]), A @ (m * (rest + R @ omega_dot))

    found = solve_ivp(lambda _, x: rates(x)[0], (0, t[-1]), start, "DOP853", t, rtol=1e-13, atol=1e-13)
    x = found.y.T
    return x[:, :9].reshape(-1, 3, 3), x[:, 9:12], x[:, 12:15], np.array([rates(row)[1] for row in x])


def check_rolling(name: str, body: str, joint: str, touch: Callable[[Any], Any], t_end: float) -> None:
    """The whole state of a body and the force on it, beside equations that know neither Psi nor multipliers."""
    model = load(name)
    motion = simulate(model, t_end=t_end, rtol=1e-12, atol=1e-12)
    (rolling,) = model.bodies
    e = prepare(model, "body").place()
    J = e.M[3:, 3:]
    start = np.concatenate([np.eye(3).ravel(), e.v[3:], e.q[:3]])
    A, omega, centre, force = rolls(touch, e.M[0, 0], J, start, motion.t)
    np.testing.assert_allclose(np.column_stack([motion[f"{body}.w{x}"] for x in "xyz"]), omega, atol=CLOSE)
    np.testing.assert_allclose(np.column_stack([motion[f"{body}.{x}"] for x in "xyz"]), centre, atol=CLOSE)
    e0, e1, e2, e3 = (motion[f"{body}.e{k}"] for k in range(4))
    np.testing.assert_allclose(2 * (e1 * e3 + e0 * e2), A[:, 0, 2], atol=CLOSE)
    np.testing.assert_allclose(2 * (e2 * e3 - e0 * e1), A[:, 1, 2], atol=CLOSE)
    np.testing.assert_allclose(np.column_stack([motion[f"reaction:{joint}.{x}"] for x in "xyz"]), force, atol=1e-6)
    np.testing.assert_allclose(motion[f"reaction:{joint}.normal"], force[:, 2], atol=1e-6)
    np.testing.assert_allclose([motion[f"reaction:{joint}.t{x}"] for x in "xyz"], 0.0, atol=1e-9)
    assert np.max(np.abs(motion.drift())) <= 1e-9
    assert rolling.name == body


def test_a_disc_rolls_as_its_equations_of_three_angles_say() -> None:
    """It leans over, turns and comes up again; the rim is an edge."""
    a, r = np.array([0.0, 1.0, 0.0]), 0.3

    def touch(n: Any) -> Any:
        up = n - (n @ a) * a
        return -r * up / np.sqrt(up @ up)

    check_rolling("rolling_disc", "disc", "rim", touch, 3.0)


@pytest.mark.slow
def test_a_rattleback_reverses_its_spin() -> None:
    """As equations without multipliers have it, and over twelve seconds from -5 rad/s to about +5 rad/s."""
    D, h = np.diag([0.2, 0.03, 0.02]) ** 2, np.array([0.0, 0.0, 0.01])
    check_rolling("rattleback", "stone", "belly", lambda n: h - D @ n / np.sqrt(n @ D @ n), 2.0)
    spin = simulate(load("rattleback"))["stone.wz"]
    assert spin[0] == -5.0
    assert spin[-1] > 4.9


@pytest.mark.parametrize(
    "how",
    with_slow(
        [
            {"coordinates": "joint"},
            {"coordinates": "euler"},
            {"coordinates": "minimal"},
            *({"formulation": name} for name in FORMULATIONS),
            {"formulation": "index-3", "integrator": "radau5"},
            {"formulation": "ggl", "integrator": "radau5"},
            {"coordinates": "euler", "formulation": "svd"},
        ],
        [{"coordinates": "joint"}, {"coordinates": "euler"}, {"formulation": "ggl", "integrator": "radau5"}],
    ),
    ids=lambda how: "-".join(how.values()),
)
def test_a_rolling_disc_moves_alike_in_all_coordinates_and_formulations(how: dict[str, str]) -> None:
    same_motion("rolling_disc", **how)


def test_a_ball_on_a_turning_table_goes_round_in_a_circle() -> None:
    """A uniform ball on a table that turns at W: its centre goes round at 2/7 W, whatever its size."""
    W, v = 1.4, 0.3
    m = SpatialModel("turntable", r="0.1 m")
    m.fix(O=(0, 0, 0))
    table = m.body("table", mass=1.0, inertia=(1.0, 1.0, 1.0), angular_velocity=(0, 0, W), points={"O": (0, 0, 0)})
    ball = m.body("ball", mass=2.0, inertia=("0.8*r^2",) * 3, position=(0.2, 0, "r"), velocity=(0, v, 0),
                  angular_velocity=((0.2 * W - v) / 0.1, 0, 0), points={"C": (0, 0, 0)})  # fmt: skip
    axis = m.revolute("axis", m.ground["O"], table["O"], axis=(0, 0, 1))
    m.driver("motor", axis, f"{W}*t")
    m.rolling_sphere("rolls", table["O"], ball["C"], axis=(0, 0, 1), radius="r")
    motion = simulate(m, t_end=4.0, rtol=1e-11, atol=1e-11)
    w = 2.0 / 7.0 * W
    middle = 0.2 - v / w
    np.testing.assert_allclose(motion["ball.x"], middle + v / w * np.cos(w * motion.t), atol=CLOSE)
    np.testing.assert_allclose(motion["ball.y"], v / w * np.sin(w * motion.t), atol=CLOSE)


def test_a_knife_edge_in_space_is_a_skate_in_the_plane() -> None:
    """On two more points that glide freely, the sleigh moves as in the plane."""
    given = dict(load("chaplygin_sleigh").parameters)
    m = SpatialModel("sleigh", **given)
    m.fix(O=(0, 0, 0))
    b = m.body("sleigh", mass="m", inertia=("J", "J", "J"), mass_centre=("a", 0, 0), velocity=("v", 0, 0),
               angular_velocity=(0, 0, "w"),
               points={"A": (0, 0, 0), "P": (0.5, 0.4, 0), "Q": (0.5, -0.4, 0)})  # fmt: skip
    m.knife_edge("blade", m.ground["O"], b["A"], axis=(0, 0, 1), axis_j=(1, 0, 0))
    for point in "PQ":
        m.point_on_plane(point, m.ground["O"], b[point], axis=(0, 0, 1))
    motion = simulate(m, t_end=3.0, rtol=1e-11, atol=1e-11)
    phi, _, omega, across = sleigh_in_closed_form(motion.t, **given)
    np.testing.assert_allclose(motion["sleigh.wz"], omega, atol=CLOSE)
    np.testing.assert_allclose(2 * np.arctan2(motion["sleigh.e3"], motion["sleigh.e0"]), phi, atol=CLOSE)
    np.testing.assert_allclose(motion["reaction:blade.across"], across, atol=1e-7)


@pytest.mark.parametrize(("v", "roll_rate"), [(4.0, 0.05), (4.6, 0.5), (8.0, 0.05)])
def test_the_bicycle_keeps_its_energy(v: float, roll_rate: float) -> None:
    """Over the manoeuvres of the benchmark, to 1e-9 J of 1.8 kJ and more, and its wheels do not slip."""
    motion = simulate(load("whipple_bicycle"), {"v": v, "roll_rate": roll_rate}, rtol=1e-11, atol=1e-11)
    assert motion.status == "finished"
    assert np.max(np.abs(motion.drift())) <= 1e-9
    assert motion.info.constraint_error_velocity <= 1e-12
    assert np.ptp(motion["frame.e1"]) > 1e-3


def small_motions(v: float, coordinates: str = "joint") -> Linearization:
    """Of the bicycle rolling upright at v; M, C and K begin with roll and steer."""
    first = ("frame.wx", "steer", "rear_hub") if coordinates == "joint" else ()
    parameters = {"v": v, "roll_rate": 0.0}
    return linearize(load("whipple_bicycle"), parameters, at="start", coordinates=coordinates, independent=first)


# Recomputed with 40 digits by appendix A of the paper; its matrices agree with all 14 digits that it gives.
M_BICYCLE = np.array([[80.81722, 2.31941332208709135], [2.31941332208709135, 0.29784188199685553]])
K0 = np.array([[-80.95, -2.59951685249871641], [-2.59951685249871641, -0.803294884586176881]])
C1 = np.array([[0.0, 33.8664139149249439], [-0.85035641456978437, 1.68540397397559674]])
K2 = np.array([[0.0, 76.5973458957322215], [0.0, 2.65431523794604025]])
ROOTS = {  # castering, capsize, weave
    0.0: (-5.5309437176539346, -3.1316432479065557, 3.1316432479065557, 5.5309437176539346),
    1.0: (-7.1100801463744077, -3.1342312506657842, 3.5269617099006942 + 0.80774027519931005j),
    2.0: (-8.6738798483173716, -3.0715864564151425, 2.6823451751274535 + 1.6806629659067578j),
    3.0: (-10.351014672459228, -2.633661372536653, 1.7067560566397352 + 2.3158244738432436j),
    4.0: (-12.15861426576444, -1.4294442736132575, 0.41325331521124132 + 3.0791081860320536j),
    5.0: (-14.078389692798247, -0.32286642900408708, -0.77534188219584193 + 4.4648677137882251j),
    6.0: (-16.085371230980284, -0.0040669007697033624, -1.5264448658414171 + 5.876730605987084j),
    7.0: (-18.157884661252021, 0.10268170574766416, -2.1387564425836343 + 7.1952591332980426j),
    8.0: (-20.279408943945663, 0.1432787976571295, -2.6934868358109477 + 8.4603797139693359j),
    9.0: (-22.437885590408591, 0.15790184030917298, -3.2167540225249075 + 9.693773515317822j),
    10.0: (-24.624596350174, 0.16105338653171554, -3.7201684043728757 + 10.906811394762882j),
}


@pytest.mark.parametrize("coordinates", ["body", "joint", "euler"])
@pytest.mark.sampled
def test_the_bicycle_has_the_eigenvalues_of_the_benchmark(coordinates: str) -> None:
    """44 eigenvalues to 1e-11, in parameters of Euler, whose velocities are not independent, to 1e-10; six are zero."""
    for v, roots in ROOTS.items():
        found = small_motions(v, coordinates)
        assert (len(found.acting), found.zeros) == (4, 6)
        expected = [x for root in roots for x in ({root, np.conj(root)} if np.imag(root) else {root})]
        for root in expected:
            assert np.min(np.abs(found.acting - root)) <= (1e-10 if coordinates == "euler" else 1e-11), (v, root)


def test_the_bicycle_has_the_matrices_of_the_benchmark() -> None:
    """M, C = v C1 and K = g K0 + v^2 K2 to 1e-12."""
    for v in ROOTS:
        M, C, K = (x[:2, :2] for x in small_motions(v).reduced)
        np.testing.assert_allclose(M, M_BICYCLE, rtol=0, atol=1e-12)
        np.testing.assert_allclose(C, v * C1, rtol=0, atol=1e-12 * (1 + v))
        np.testing.assert_allclose(K, G * K0 + v * v * K2, rtol=0, atol=1e-12 * (G + v * v))


@pytest.mark.parametrize("spin", [2.0, 3.2, 3.4, 10.0])
def test_an_upright_disc_falls_below_the_critical_spin_and_sways_above_it(spin: float) -> None:
    """A small lean follows lambda^2 = 4 g/(5 r) - 12/5 spin^2, zero at 3.30151480384383556 rad/s for r = 0.3 m."""
    square, lean = 0.8 * G / 0.3 - 2.4 * spin**2 + 0j, 1e-6
    motion = simulate(
        load("rolling_disc"), {"spin": spin, "lean": lean, "turn": 0.0}, t_end=1.0, rtol=1e-12, atol=1e-14
    )
    tilt = 2 * (motion["disc.e2"] * motion["disc.e3"] + motion["disc.e0"] * motion["disc.e1"])
    root = np.sqrt(square)
    np.testing.assert_allclose(
        tilt, (lean * np.sinh(root * motion.t) / root).real, atol=1e-5 * lean * np.exp(root.real)
    )


def test_the_bicycle_moves_alike_in_joint_coordinates() -> None:
    same_motion("whipple_bicycle", coordinates="joint")


def test_a_blade_that_is_set_down_takes_the_speed_across_it() -> None:
    """At t = 0.5 the blade bites: of the velocity (1, 0.6) and the turn 0.8 stay (1, 0) at A and c^2 w = const.

    The impulse acts at A, across, so that the speed along the blade and the moment of momentum about A stay.
    """
    m = PlanarModel("landing", m=2.0, J=0.3, a=0.4)
    m.gravity = (0.0, 0.0)
    m.fix(O=(0, 0))
    b = m.body("sleigh", mass="m", inertia="J", mass_centre=("a", 0), velocity=(1, 0.6), points={"A": (0, 0)})
    m.skate("blade", m.ground["O"], b["A"], axis_j=(1, 0), open=True)
    m.event("bites", when="t - 0.5", action="set", engage="blade")
    motion = simulate(m, t_end=1.0, step=0.1)
    after = motion.events.v_after[0]
    omega = 2.0 * 0.4 * 0.6 / (0.3 + 2.0 * 0.4**2)
    np.testing.assert_allclose(after, [1.0, 0.4 * omega, omega], atol=1e-12)
    np.testing.assert_allclose(motion["reaction:blade.across"][:5], 0.0, atol=1e-12)


def test_an_own_joint_may_hold_velocities() -> None:
    """A worm that lets a disc turn as it is shifted along: omega = k v along x, as a formula would have it."""

    @element("worm", space="planar")
    class Worm(PointPair):
        """Turns by `lead` for each metre along x of body i."""

        lead: Number
        slips = {"turn": "angle"}  # noqa: RUF012

        def slip(self, t: Any, i: Any, j: Any) -> Vector:
            w = j.point_velocity(self.s_j) - i.velocity_at(j.point(self.s_j))
            return Vector((j.omega - i.omega - self.lead * i.direction((1.0, 0.0)).dot(w),))

    m = PlanarModel("own")
    m.fix(O=(0, 0))
    b = m.body("b", mass=2.0, inertia=0.5, velocity=(1, 0), angular_velocity=3, points={"A": (0, 0)})
    m.worm("W", m.ground["O"], b["A"], lead=3.0)  # type: ignore[attr-defined]
    m.point_force("push", b["A"], force=(4, 0))
    motion = simulate(m, t_end=1.0)
    a = 4.0 / (2.0 + 0.5 * 9.0)
    np.testing.assert_allclose(motion["b.x"], motion.t + 0.5 * a * motion.t**2, atol=CLOSE)
    np.testing.assert_allclose(motion["b.phi"], 3.0 * motion["b.x"], atol=CLOSE)
    np.testing.assert_allclose(motion["reaction:W.turn"], 0.5 * 3.0 * a, atol=1e-9)

    with pytest.raises(UsageError, match="not linear in velocities"):

        @element("square", space="planar")
        class Square(PointPair):
            slips = {"x": "length"}  # noqa: RUF012

            def slip(self, t: Any, i: Any, j: Any) -> Vector:
                return Vector((j.omega * j.omega,))


# Counting, writing down, refusing


def test_freedoms_of_positions_and_of_velocities_are_counted_apart() -> None:
    for name, of_positions, of_velocities in (
        ("chaplygin_sleigh", 3, 2),
        ("rolling_disc", 5, 3),
        ("whipple_bicycle", 7, 3),
        ("rattleback", 5, 3),
        ("four_bar", 1, 1),
    ):
        report = check(load(name))
        assert (report.position_dof, report.dof) == (of_positions, of_velocities), name
    assert "positions have 7" in str(check(load("whipple_bicycle")))


def test_rows_that_say_the_same_are_redundant_and_their_reactions_not_unique() -> None:
    """Two blades on one line: the motion is that of one, their forces are shared."""
    m = PlanarModel.load("chaplygin_sleigh")
    one = simulate(m, t_end=1.0)
    m.skate("second", m.ground["O"], "sleigh.A", axis_j=(1, 0))
    two, report = simulate(m, t_end=1.0), check(m)
    assert (report.redundant, report.dof, report.position_dof) == (1, 2, 3)
    assert set(report.reactions.values()) == {"not unique"}
    np.testing.assert_allclose(whole_state(two), whole_state(one), atol=CLOSE)
    both = two["reaction:blade.across"] + two["reaction:second.across"]
    np.testing.assert_allclose(both, one["reaction:blade.across"], atol=1e-7)


def test_a_row_that_repeats_the_rate_of_a_joint_does_no_harm() -> None:
    """A slider on a line whose rate a formula holds too: redundant, and the line still holds positions."""
    m = PlanarModel("slider")
    m.fix(O=(0, 0))
    b = m.body("b", mass=1.0, inertia=0.1, velocity=(1, 0), points={"A": (0, 0)})
    m.prismatic("rail", m.ground["O"], b["A"], axis=(1, 0))
    m.velocity_constraint("same", formula="b.vy")
    motion = simulate(m, t_end=1.0, start=Start({"b.y": 0.001}, assemble=True))
    assert (check(m).redundant, check(m).position_dof) == (1, 1)
    np.testing.assert_allclose(motion["b.x"], motion.t, atol=1e-12)
    np.testing.assert_allclose(motion["b.y"], 0.0, atol=1e-14)


def test_a_pendulum_stays_on_its_circle_beside_the_rate_of_it() -> None:
    """Steps are projected onto Psi although the same row holds the velocity: none of it is a half-way house."""
    m = PlanarModel("pendulum")
    m.fix(O=(0, 0))
    b = m.body("b", mass=1.0, inertia=0.1, position=(1, 0), points={"A": (0, 0)})
    m.distance("rod", m.ground["O"], b["A"], length=1)
    alone = simulate(m, t_end=3.0, rtol=1e-6, atol=1e-6)
    m.velocity_constraint("rate", formula="b.x*b.vx + b.y*b.vy", of="number")
    both = simulate(m, t_end=3.0, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(np.hypot(both["b.x"], both["b.y"]), 1.0, atol=1e-14)
    np.testing.assert_allclose(whole_state(both), whole_state(alone), atol=1e-9)


def test_positions_are_closed_without_regard_to_rows_of_velocities() -> None:
    """A wheel above the plane is put onto it straight down, although it could not slip there."""
    m = SpatialModel.load("rolling_disc")
    motion = simulate(m, start={"disc.z": 0.305, "disc.x": 0.1}, t_end=0.1)
    np.testing.assert_allclose([motion["disc.x"][0], motion["disc.z"][0]], [0.1, 0.3], atol=1e-12)


def test_velocities_that_contradict_each_other_are_refused() -> None:
    m = PlanarModel("cart")
    m.body("cart", mass=3.0, inertia=1.0)
    m.velocity_constraint("one", formula="cart.vx - 1")
    m.velocity_constraint("other", formula="cart.vx - 2")
    with pytest.raises(ModelError, match=r"no velocities satisfy .*'o(ne|ther)'") as caught:
        simulate(m)
    assert caught.value.code == "velocities-conflict"


@pytest.mark.parametrize(
    ("formula", "code", "words"),
    [
        ("cart.vx*cart.vy", "not-affine", "not linear in 'cart.v"),
        ("cart.vx^2 + cart.vy", "not-affine", "not linear in 'cart.vx'"),
        ("cart.x - t", "no-velocity", "no velocity stands in the constraint"),
        ("cart.vX", "expression-name", "cart.vx"),
        ("3 kg", "unit-mismatch", "3 kg"),
    ],
)
def test_formulas_that_are_no_constraint_of_velocities_are_refused(formula: str, code: str, words: str) -> None:
    def refused() -> None:
        m = PlanarModel("cart")
        m.body("cart", mass=3.0, inertia=1.0)
        m.velocity_constraint("row", formula=formula)
        simulate(m)

    with pytest.raises(ModelError, match=words) as caught:
        refused()
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("given", "words"),
    [({"axis_j": (0, 0, 1)}, "lies flat"), ({"radius": -0.3}, "not a radius"), ({"tube": 1}, "tube 1")],
)
def test_wheels_that_cannot_roll_are_refused(given: dict[str, Any], words: str) -> None:
    m = SpatialModel.load("rolling_disc")
    with pytest.raises(ModelError, match=words):
        m.wheel("second", m.ground["O"], "disc.C", **{"axis": (0, 0, 1), "axis_j": (0, 1, 0), "radius": 0.3, **given})


def test_driven_motion_with_such_rows_is_left_to_simulation() -> None:
    with pytest.raises(UsageError, match=r"'rim' hold velocities.* simulate") as caught:
        kinematics(load("rolling_disc"))
    assert caught.value.code == "nonholonomic"


def test_equations_and_sheets_tell_such_rows_from_others() -> None:
    text = str(write_down(load("chaplygin_sleigh"), "lagrange"))
    assert "A v + b = 0" in text
    assert "blade.across" in text
    sheet = str(explain(load("chaplygin_sleigh")))
    assert "holds velocities" in sheet


def test_the_structure_of_a_rolling_disc_has_rows_of_index_two() -> None:
    """Psi is differentiated twice, what does not slip once."""
    notes = "\n".join(write_down(load("chaplygin_sleigh"), "rif").notes)
    assert "differentiated 1 time: blade.across" in notes
    assert "structural index 2" in notes
