"""Rest, and the small motions about a rest or a steady motion, against closed forms and numbers of 30 digits."""

from __future__ import annotations

import dataclasses
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import expm
from slices import with_slow

from linkwork import Model, PlanarModel, SpatialModel, Start, equilibria, equilibrium, linearize, load, loads, simulate
from linkwork.analyses.equilibria import distinct, search
from linkwork.analyses.equilibrium import begin_rest
from linkwork.analyses.mode_motion import wiggle
from linkwork.assembly.problem import Problem
from linkwork.cli import answer
from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.errors import LinkworkError, ModelError, NumericalStop, UsageError
from linkwork.mechanisms import shipped

Array = NDArray[np.float64]
G = 9.81
PLANAR, SPATIAL = ("body", "joint", "minimal"), ("body", "joint", "minimal", "euler")
# Two equal uniform rods of 1 kg and 1 m, and eight, hanging: rad/s, computed with 30 digits.
TWO_RODS = [2.68011401225337528, 7.18867087028771367]
EIGHT_RODS = [
    1.332132576016744, 3.101480836616246, 5.049044696355453, 7.280188081697364,
    9.918930261794017, 13.15750527679031, 17.25735187612, 22.76326209944109,
]  # fmt: skip


# Where mechanisms rest


def test_the_four_bar_sinks_to_its_stable_rest() -> None:
    """crank.phi -1.7583397675971388557, of 30 digits."""
    found = equilibrium(load("four_bar"))
    assert found.q["crank.phi"] == pytest.approx(-1.7583397675971388557, abs=1e-13)
    assert found.stability == "stable"
    assert found.residual < 1e-12


def test_a_start_that_rests_stays_there_although_it_is_unstable() -> None:
    found = equilibrium(load("four_bar").with_start(*upper_rest()))
    assert found.q["crank.phi"] == pytest.approx(1.6071427799895014414, abs=1e-13)
    assert found.stability == "unstable"


def upper_rest() -> tuple[dict[str, float], dict[str, float]]:
    """The unstable rest of the four-bar, the crank at the angle of 30 digits."""
    start = Start({"crank.phi": 1.6071427799895014414}, assemble=True, keep=["crank.phi"])
    motion = simulate(load("four_bar"), start=start, t_end=1e-9)
    return {name: float(motion[name][0]) for name in motion.q_names}, dict.fromkeys(motion.v_names, 0.0)


def test_reactions_at_rest_balance_the_weight() -> None:
    """Two bearings carry the weight of the four-bar between them, and push against each other."""
    found = equilibrium(load("four_bar"))
    weight = G * np.trace(prepare(load("four_bar"), "body").place().M[::3, ::3])
    r = found.reactions
    assert r["reaction:O.y"] + r["reaction:C.y"] == pytest.approx(weight, rel=1e-12)
    assert r["reaction:O.x"] + r["reaction:C.x"] == pytest.approx(0.0, abs=1e-12 * weight)


def test_reactions_of_redundant_joints_are_told_apart() -> None:
    found = equilibrium(load("four_bar_redundant"))
    assert "not unique" in found.unique.values()
    assert found.q["crank.phi"] == pytest.approx(-1.7583397675971388557, abs=1e-13)


WITHOUT = {"dap/cart_c", "dap/cart_c_jc", "dap/cart_d", "dc_motor"}  # a motor drives them on
# The last digits of an angle make this of a contact of 1e11 N/m^1.5.
STIFF = {"dap/rod": 1e-8, "dap/rod_jc": 1e-8}


def rests(name: str) -> None:
    if name in WITHOUT:
        with pytest.raises(NumericalStop, match="no equilibrium") as caught:
            equilibrium(load(name))
        assert caught.value.code == "no-equilibrium"
        return
    found = equilibrium(load(name))
    assert found.residual < STIFF.get(name, 1e-12), name
    assert found.gap < 1e-12, name


@pytest.mark.parametrize("name", ["andrews_squeezer", "dap/macpherson_a", "dap/two_rods", "dap/cart_c", "heavy_top"])
def test_a_shipped_mechanism_rests(name: str) -> None:
    rests(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_every_shipped_mechanism_rests_or_says_what_moves(name: str) -> None:
    rests(name)


def test_a_force_that_follows_has_a_rest_too() -> None:
    """A pendulum against a torque: sin(phi) = T/(m g l), stable as its eigenvalues say."""
    m = PlanarModel("held", T=2.0)
    m.fix(O=(0, 0))
    m.body("rod", mass=1.0, inertia=0.1, position=(0.0, -0.5), angle="-90 deg", points={"O": (-0.5, 0)})
    m.revolute("O", m.ground["O"], "rod.O")
    m.torque("motor", "rod", torque="T")
    found = m.equilibrium()
    assert found.q["rod.phi"] == pytest.approx(-np.pi / 2 + np.arcsin(2.0 / (G * 0.5)), abs=1e-13)
    assert found.stability in ("stable", "marginal")


PENDULUM = """
linkwork: 1
ground: {{points: {{O: [0, 0], P: [3, 0]}}}}
bodies:
  arm: {{mass: 2, inertia: 0.2, position: [0, -0.5], angle: -90 deg, points: {{O: [-0.5, 0]}}}}
  disc: {{mass: 1, inertia: 0.3, position: [3, 0], points: {{P: [0, 0]}}}}
joints: {{O: {{type: revolute, i: ground.O, j: arm.O}}, P: {{type: revolute, i: ground.P, j: disc.P}}}}
{more}
"""


@pytest.mark.parametrize(
    ("arm", "disc", "stability"),
    [
        ("-0.5*arm.omega", "-disc.phi", "stable"),
        ("0.5*arm.omega", "-disc.phi", "unstable"),  # fed while it moves, although the potential is least
        ("-3*disc.phi", "-4*disc.phi - 3*(arm.phi + pi/2)", "stable"),
        ("-3*disc.phi", "-4*disc.phi + 3*(arm.phi + pi/2)", "unstable"),  # no potential nearby
    ],
)
def test_forces_that_vanish_at_rest_decide_too(arm: str, disc: str, stability: str) -> None:
    """The verdict is that of the eigenvalues: none of those that are unstable here is so by its stiffness alone."""
    torques = f"forces: {{a: {{type: torque, on: arm, torque: {arm}}}, d: {{type: torque, on: disc, torque: {disc}}}}}"
    model = loads(PENDULUM.format(more=torques))
    found = equilibrium(model)
    assert found.stability == stability
    assert found.conservative == ("+ 3" not in disc)
    assert (linearize(model).eigenvalues.real.max() > 1e-3) == (stability == "unstable")


def test_a_motor_that_is_switched_on_has_no_rest() -> None:
    """No force has a size where the current starts, but its rate has: K i = 0 and R i = u have no solution."""
    with pytest.raises(NumericalStop, match=r"no equilibrium is found from here: .* move 'rotor' turning"):
        equilibrium(load("dc_motor"))
    assert equilibrium(load("dc_motor"), {"u": 0.0}).stability == "stable"


def test_what_sticks_rests_in_a_range() -> None:
    """A block of 2 kg on a spring of 50 N/m sticks wherever |k x| <= mu m g."""
    found = equilibrium(load("stick_slip_belt"), {"v": 0.0})
    assert found.friction == ("belt",)
    assert found.range is not None
    expected = 0.25 * 2 * G / 50
    assert found.range.least == pytest.approx(-expected, abs=1e-12)
    assert found.range.most == pytest.approx(expected, abs=1e-12)


def test_what_slips_on_a_belt_rests_where_friction_is_balanced() -> None:
    found = equilibrium(load("stick_slip_belt"))
    assert found.q["block.x"] == pytest.approx(0.15 * 2 * G / 50, abs=1e-14)
    assert not found.friction


def test_a_velocity_that_is_asked_for_leaves_no_rest() -> None:
    m = PlanarModel("cart")
    m.body("cart", mass=3.0, inertia=1.0)
    m.gravity = (0.0, 0.0)
    m.velocity_constraint("drive", formula="cart.vx - 1")
    with pytest.raises(ModelError, match="nothing can rest: 'drive' 1") as caught:
        m.equilibrium()
    assert caught.value.code == "cannot-rest"


# All rests


def truss(weight: float) -> PlanarModel:
    """Von Mises' truss: a mass on a guide between two springs, each of free length sqrt(1 + h^2)."""
    m = PlanarModel("truss", h=0.3, P=weight, k=1000.0)
    m.gravity = (0, "-P")
    m.fix(A=(-1, 0), B=(1, 0), O=(0, 0))
    m.body("joint", mass=1.0, inertia=0.01, position=(0, "h"), points={"C": (0, 0)})
    m.prismatic("guide", m.ground["O"], "joint.C", axis=(0, 1))
    for name in "AB":
        m.spring_damper(name, m.ground[name], "joint.C", stiffness="k", free_length="sqrt(1 + h^2)")
    return m


def test_the_four_bar_has_four_rests() -> None:
    """Two on each branch, of 30 digits, one of each stable; all certified."""
    found = equilibria(load("four_bar"))
    assert (found.method, found.complete, found.certified) == ("homotopy", True, (True,) * 4)
    cranks = sorted(np.remainder(rest.q["crank.phi"] + np.pi, 2 * np.pi) - np.pi for rest in found.rests)
    known = [1.7583397675971388557, 1.6071427799895014414]
    np.testing.assert_allclose(cranks, [-known[0], -known[1], known[1], known[0]], atol=1e-13)
    assert len(found.stable) == 2
    assert found.rests[0].is_stable  # the lowest


def test_the_double_pendulum_has_four_rests() -> None:
    found = equilibria(load("double_pendulum"))
    assert (len(found.rests), found.complete, all(found.certified), len(found.stable)) == (4, True, True, 1)


@pytest.mark.parametrize(("weight", "count"), [(1.0, 3), (60.0, 1)])
def test_a_truss_has_three_rests_until_it_snaps_through(weight: float, count: int) -> None:
    """2 k (l - l0) y/l + P = 0 with l^2 = 1 + y^2, which has so many real roots."""
    found = truss(weight).equilibria()
    assert (len(found.rests), found.complete, all(found.certified)) == (count, True, True)
    for rest in found.rests:
        y = rest.q["joint.y"]
        force = 2000.0 * (np.hypot(1, y) - np.hypot(1, 0.3)) * y / np.hypot(1, y) + weight
        slope = 2000.0 * (1 - np.hypot(1, 0.3) / np.hypot(1, y) ** 3)
        assert abs(force) < 1e-12 * 2000.0
        assert rest.is_stable == (slope > 0)
    assert "joint.y" in str(found)  # what tells rests apart


def test_rests_that_cannot_be_told_apart_are_not_all_there_are() -> None:
    """At 1e-10 of the weight of snap-through two of three rests are 1e-5 apart, and beyond it two are nearly real."""
    l0 = np.hypot(1, 0.3)
    length = l0 ** (1 / 3)  # where the slope vanishes
    largest = 2000.0 * (l0 - length) * np.sqrt(length**2 - 1) / length
    for part in (1e-10, -1e-12):
        found = truss(largest * (1 - part)).equilibria()
        assert not found.complete or len(found.rests) == 3
    assert truss(largest * (1 - 1e-3)).equilibria().complete


def test_forces_that_depend_on_the_time_are_said_to_be_those_of_the_start() -> None:
    m = PlanarModel("rod")
    m.fix(O=(0, 0))
    m.body("rod", mass=1.0, inertia=0.1, position=(0, -0.5), angle="-90 deg", points={"O": (-0.5, 0)})
    m.revolute("O", m.ground["O"], "rod.O")
    assert not m.equilibrium().follows_time
    m.torque("push", "rod", torque="2*cos(3*t)")
    found = m.equilibrium()
    assert "those of t = 0" in str(found)
    assert found.q["rod.phi"] == pytest.approx(-np.arccos(2 / (0.5 * G)), abs=1e-12)


WATT = """
forces:
  spring: {type: spring-damper, i: ground.O, j: output.E, stiffness: 30, free_length: 0.4}
"""


def watt() -> Model:
    """Watt's six-bar, shipped, held by a spring in the place of its motor."""
    text = files("linkwork").joinpath("mechanisms/watt_six_bar.yaml").read_text()
    head, tail = text.split("drivers:")
    return loads(f"{head}{WATT}simulation:{tail.split('simulation:')[1]}")


@pytest.mark.slow
def test_a_six_bar_on_a_spring_has_four_rests() -> None:
    """On each of the two curves that it can move along at least one lowest and one highest position; all certified."""
    found = equilibria(watt())
    assert (len(found.rests), found.complete, all(found.certified), len(found.stable)) == (4, True, True, 2)


@pytest.mark.slow
@pytest.mark.parametrize("model", [watt(), load("four_bar"), load("dap/sliding_pendulum"), load("planar_chain:3")])
def test_a_search_from_many_starts_finds_the_same_rests(model: Model) -> None:
    """Newton's iteration on the equations themselves, which knows nothing of the polynomials."""
    mechanism, problem = prepare(model, "body"), Problem.of(model)
    first = begin_rest(mechanism)
    places, _ = search(first, problem, np.random.default_rng(3))
    others = distinct(first, problem, places)
    found = equilibria(model)
    for rest in others:
        apart = [
            max(abs(np.exp(1j * rest.place.q[k]) - np.exp(1j * x.q[n])) for k, n in angles(mechanism))
            for x in found.rests
        ]
        assert min(apart) < 1e-9
    assert len(others) <= len(found.rests)


def angles(mechanism: Mechanism) -> list[tuple[int, str]]:
    return [(k, c.name) for k, c in enumerate(mechanism.equations.coordinates) if c.kind == "angle"]


@pytest.mark.slow
def test_loads_that_are_no_polynomials_are_searched_and_labelled() -> None:
    """A torsion spring k phi about the pin of a hanging rod: m g l sin(phi) + k phi = 0 has three rests for small k."""
    m = PlanarModel("twisted", k=1.0)
    m.fix(O=(0, 0))
    m.body("rod", mass=1.0, inertia=0.1, position=(0, -0.5), angle="-90 deg", points={"O": (-0.5, 0)})
    m.revolute("O", m.ground["O"], "rod.O")
    m.rotational_spring_damper("spring", m.ground, "rod", stiffness="k", free_angle="-90 deg")
    found = m.equilibria()
    assert (found.method, found.complete, found.reason) == ("multi-start", False, "'spring'")
    assert found.starts >= 60
    turns = [rest.q["rod.phi"] + np.pi / 2 for rest in found.rests]
    assert len(turns) >= 3
    np.testing.assert_allclose([G * 0.5 * np.sin(x) + x for x in turns], 0.0, atol=1e-11)


@pytest.mark.slow
def test_rests_in_space_are_certified_and_no_axis_is_reversed() -> None:
    """Of Bricard's bars, whose axes point as they are stated, and of a disc that may stand anywhere on its plane."""
    found = equilibria(load("bricard"))
    place = prepare(load("bricard"), "body").place()
    for rest in found.rests:
        there = dataclasses.replace(place, q=np.array([rest.q[name] for name in place.equations.q_names]))
        assert np.max(there.reversal) < 1e-9
    assert any(found.certified)
    disc = equilibria(load("rolling_disc"))
    assert not disc.isolated
    assert disc.starts == 60


def test_all_rests_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "rests.html"
    assert answer(["equilibrium", "four_bar", "--all", "-o", str(page)]) == 0
    assert "4, 2 of them stable, 4 certified" in capsys.readouterr().out
    assert page.read_text().count("<figure>") == 4
    assert answer(["equilibrium", "four_bar", "--all", "-o", str(tmp_path / "rest.yaml")]) == 2
    capsys.readouterr()


# Small motions


@pytest.mark.parametrize("coordinates", with_slow(PLANAR, ["body"]))
@pytest.mark.parametrize(("rods", "expected"), [(2, TWO_RODS), (8, EIGHT_RODS)])
def test_hanging_rods_swing_as_they_should(rods: int, expected: list[float], coordinates: str) -> None:
    found = linearize(load(f"planar_chain:{rods}"), coordinates=coordinates)
    np.testing.assert_allclose(found.frequencies, expected, rtol=1e-12)
    assert (found.at, found.zeros, found.stability) == ("equilibrium", 0, "marginal")


@pytest.mark.parametrize("coordinates", PLANAR)
def test_the_four_bar_about_both_rests(coordinates: str) -> None:
    """4.62840513743325522 rad/s below, +-2.82179365336562903 /s above."""
    model = load("four_bar")
    below = linearize(model, at="equilibrium", coordinates=coordinates)
    np.testing.assert_allclose(below.eigenvalues.imag, [-4.62840513743325522, 4.62840513743325522], rtol=1e-12)
    above = linearize(model.with_start(*upper_rest()), at="start", coordinates=coordinates)
    np.testing.assert_allclose(above.eigenvalues, [-2.82179365336562903, 2.82179365336562903], rtol=1e-11)
    assert above.stability == "unstable"


@pytest.mark.parametrize("coordinates", SPATIAL)
def test_the_gyroscope_precesses_and_nutates(coordinates: str) -> None:
    """w^2 = (p^2/(B + 2 c) + B W^2)/(B + c): p = C spin, B = A + m l^2, c of fork and of post, W the precession."""
    found = linearize(load("gyroscope"), coordinates=coordinates)
    m, arm, C, A, spin, c = 2.0, 0.15, 0.01, 0.006, 300.0, 1e-5
    p, B, precession = C * spin, A + m * arm**2, m * G * arm / (C * spin)
    expected = np.sqrt((p * p / (B + 2 * c) + B * precession**2) / (B + c))
    np.testing.assert_allclose(found.frequencies, [expected], rtol=1e-11)
    assert (found.at, found.zeros) == ("start", 4)


@pytest.mark.slow
def test_the_governor_at_speed() -> None:
    """V - L^2/(2 I) is least along alpha, of the arms, and z, of the slider, at the speed 2 pi; both arms alike.

    The small motions of alpha and z are those of M x'' + C x' + K x = 0 with K of that potential at constant L.
    """
    rho, k, c, w = 3000.0, 8e5, 4e4, 2 * np.pi
    rod = rho * 1e-4
    mass, d = rod + 5.0, (0.5 * rod + 5.0) / (rod + 5.0)
    J, small, slider = rod * 1.0001 / 12 + rod * (d - 0.5) ** 2 + 5.0 * (1 - d) ** 2, rod * 2e-4 / 12, rho * 1e-3
    others = rod * 2e-4 / 12 + rho * 2e-5 / 12

    def stretch(x: Array) -> Any:
        return np.sqrt((0.5 * np.cos(x[0])) ** 2 + (1 - 0.5 * np.sin(x[0]) - x[1]) ** 2)

    def inertia(x: Array) -> Any:
        arm = mass * (0.05 + d * np.cos(x[0])) ** 2 + small * np.sin(x[0]) ** 2 + J * np.cos(x[0]) ** 2
        return 2 * arm + others

    def potential(x: Array) -> Any:
        return -2 * mass * G * d * np.sin(x[0]) + slider * G * x[1] + k * (stretch(x) - 0.5) ** 2

    def by(f: Any, x: Array, j: int) -> Any:
        """Exact but for rounding: a complex step."""
        return np.imag(f(x + 1e-30j * np.eye(2)[j])) / 1e-30

    def slope(x: Array) -> Array:
        return np.array([by(potential, x, j) - 0.5 * w * w * by(inertia, x, j) for j in range(2)])

    found = equilibrium(load("flyball_governor"), steady=["O"])
    arm = 2 * np.arctan2(found.q["arm_a.e2"], found.q["arm_a.e0"])
    at = np.array([arm, found.q["slider.z"]])
    assert np.max(np.abs(slope(at))) < 1e-10 * k
    momentum = w * inertia(at)

    def effective(x: Array) -> Any:
        return potential(x) + momentum**2 / (2 * inertia(x))

    h = 1e-5
    K = np.array(
        [[(by(effective, at + h * e, i) - by(effective, at - h * e, i)) / (2 * h) for e in np.eye(2)] for i in (0, 1)]
    )
    rates = np.array([by(stretch, at, j) for j in range(2)])
    M, C = np.diag([2 * (J + mass * d * d), slider]), 2 * c * np.outer(rates, rates)
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.inv(M) @ np.hstack([K, C])]])
    for coordinates in SPATIAL:
        small_motions = linearize(load("flyball_governor"), at=found, coordinates=coordinates)
        for root in np.linalg.eigvals(A):
            assert np.min(np.abs(small_motions.acting - root)) < 1e-6 * abs(root)
        assert (small_motions.stability, small_motions.zeros) == ("stable", 2)


def test_a_gyroscope_finds_its_tilt() -> None:
    """m g l = C (w + W sin t) W - B W^2 sin t: on gimbals that turn with W and spin with w it leans up by t."""
    m, arm, C, A, spin = 2.0, 0.16, 0.01, 0.006, 300.0
    model = load("gyroscope", {"l": arm})
    rates = {"vertical": 1.05, "bearing": spin}
    start = simulate(model, start={f"{k}_d": x for k, x in rates.items()}, coordinates="joint", t_end=1e-9)
    v = dict(zip(start.v_names, start.v[0].tolist(), strict=True))
    q = dict(zip(start.q_names, start.q[0].tolist(), strict=True))
    found = equilibrium(model.with_start(q, v), steady=["vertical", "bearing"])
    tilt = -2 * np.arctan2(found.q["fork.e2"], found.q["fork.e0"])  # up
    W, B = rates["vertical"], A + m * arm**2
    assert 0.2 < tilt < 0.22
    whole = spin + W * np.sin(tilt)
    assert C * whole * W - (B * W * W) * np.sin(tilt) == pytest.approx(m * G * arm, rel=1e-10)


def test_rates_that_leave_no_steady_motion_are_refused() -> None:
    with pytest.raises(
        NumericalStop, match=r"no steady motion is found with these rates of 'O\.wy', 'O\.wz'"
    ) as caught:
        equilibrium(load("heavy_top"), steady=["O.wy", "O.wz"])
    assert caught.value.code == "no-steady-motion"
    with pytest.raises(UsageError, match="no coordinate 'vertcal'; did you mean 'vertical'"):
        equilibrium(load("gyroscope"), steady=["vertcal"])
    with pytest.raises(UsageError, match="the start has no rate of 'tilt'"):
        equilibrium(load("gyroscope"), steady=["tilt"])


def top(spin: float) -> SpatialModel:
    m = SpatialModel("top", spin=spin)
    m.gravity = (0, 0, -G)
    m.fix(O=(0, 0, 0))
    arms: dict[str, Any] = {"mass_centre": (0, 0, 0.3), "points": {"O": (0, 0, 0)}}
    m.body("top", mass=1.5, inertia=(0.02, 0.02, 0.008), angular_velocity=(0, 0, "spin"), **arms)
    m.spherical("O", m.ground["O"], "top.O")
    return m


@pytest.mark.parametrize("coordinates", SPATIAL)
@pytest.mark.parametrize("spin", [40.0, 110.0, 200.0])
def test_a_top_sleeps_above_its_limit(spin: float, coordinates: str) -> None:
    """A z'' - i C spin z' - m g l z = 0 of the axis z = x + i y; stable above (C spin)^2 = 4 A m g l."""
    A, C, load_ = 0.02 + 1.5 * 0.09, 0.008, 1.5 * G * 0.3
    found = top(spin).linearize(coordinates=coordinates)
    roots = np.roots([A, -1j * C * spin, -load_])
    expected = np.concatenate([roots, roots.conj()])
    for root in expected:
        assert np.min(np.abs(found.eigenvalues - root)) < 1e-10 * abs(root)
    assert (found.stability == "unstable") == ((C * spin) ** 2 < 4 * A * load_)


@pytest.mark.parametrize("coordinates", SPATIAL)
def test_a_disc_that_rolls_upright_sways(coordinates: str) -> None:
    """14.6232691283447286 rad/s at a spin of 10 rad/s."""
    found = linearize(load("rolling_disc"), {"spin": 10, "lean": 0, "turn": 0}, coordinates=coordinates)
    np.testing.assert_allclose(found.frequencies, [14.6232691283447286], rtol=1e-12)


def test_a_body_that_is_not_round_is_linearized_as_it_turns() -> None:
    """Euler: about the axis of the mean moment it grows with w sqrt((B-A)(C-B)/(A C)), about the largest it nutates."""
    A, B, C, w = 0.2, 0.3, 0.45, 7.0
    for axis, square in ((1, (B - A) * (C - B) / (A * C)), (2, -(C - A) * (C - B) / (A * B))):
        m = SpatialModel("free")
        m.gravity = (0, 0, 0)
        omega = [0.0, 0.0, 0.0]
        omega[axis] = w
        m.body("body", mass=1.0, inertia=(A, B, C), angular_velocity=tuple(omega), points={"O": (0, 0, 0)})
        found, root = m.linearize(at="start"), w * np.sqrt(complex(square))
        for expected in (root, -root):
            assert np.min(np.abs(found.eigenvalues - expected)) < 1e-10 * abs(root), axis
        assert (found.stability == "unstable") == (square > 0)


def car() -> PlanarModel:
    """A car on tyres at the height of its mass centre: k1 at a before it, k2 at b behind."""
    m = PlanarModel("car", m=1200.0, J=1800.0, a=1.1, b=1.6, k1=30e3, k2=24e3, c1=1500.0, c2=1100.0)
    m.fix(O=(0, 0))
    m.body("car", mass="m", inertia="J", points={"F": ("a", 0), "R": ("-b", 0)})
    m.line_contact("front", m.ground["O"], "car.F", normal=(0, 1), stiffness="k1", damping="c1")
    m.line_contact("rear", m.ground["O"], "car.R", normal=(0, 1), stiffness="k2", damping="c2")
    return m


def test_a_car_bounces_and_pitches() -> None:
    """M x'' + C x' + K x = 0 of y and phi, about the rest: y_i = y + s_i sin(phi) under the loads N_i."""
    m, J, arms, k, c = 1200.0, 1800.0, np.array([1.1, -1.6]), np.array([30e3, 24e3]), np.array([1500.0, 1100.0])
    found = car().linearize(at="equilibrium")
    phi, N = found.q["car.phi"], m * G * np.array([1.6, 1.1]) / 2.7
    assert np.sin(phi) == pytest.approx((N[1] / k[1] - N[0] / k[0]) / 2.7, abs=1e-13)
    rows = np.array([[1.0, 1.0], arms * np.cos(phi)])
    K = rows * k @ rows.T + np.diag([0.0, np.sin(phi) * N @ arms])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.diag([1 / m, 1 / J]) @ np.hstack([K, rows * c @ rows.T])]])
    expected = np.linalg.eigvals(A)
    assert found.zeros == 2  # it may stand, or roll, anywhere
    for root in expected:
        assert np.min(np.abs(found.acting - root)) < 1e-11 * abs(root)
    assert found.stability == "stable"


@pytest.mark.parametrize(
    ("name", "coordinates", "names"),
    [("dap/double_a_arm", "minimal", ("Q", "Q_d")), ("planar_chain:2", "joint", ("J0", "J1", "J0_d", "J1_d"))],
)
def test_runs_near_a_rest_are_those_of_A(name: str, coordinates: str, names: tuple[str, ...]) -> None:
    """Differences of runs from starts a little aside, over a time tau, are exp(A tau) to 1e-7."""
    at_rest = equilibrium(load(name))
    model = load(name).with_start(at_rest.q, at_rest.v)
    found = linearize(model, at="start", coordinates=coordinates)
    assert found.states == names
    mechanism, tau, aside = prepare(model, coordinates), 0.05, 1e-4
    e = mechanism.equations
    rest = {**{k: found.q[k] for k in e.q_names}, **{c.speed: 0.0 for c in e.velocities}}
    columns = []
    for state in names:
        ends = []
        for change in (-2 * aside, -aside, aside, 2 * aside):
            given = {k: rest[k] for k in names} | {state: rest[state] + change}
            start = Start(given, keep=names[: len(names) // 2])
            motion = simulate(mechanism, start=start, t_end=tau, rtol=1e-12, atol=1e-14)
            tables = [motion.tables[kind] for kind in e.chart.state[:2]]
            labels = [*e.q_names, *(c.speed for c in e.velocities)]
            values = dict(zip(labels, np.concatenate([t.values[-1] for t in tables]), strict=True))
            ends.append(np.array([values[k] for k in names]))
        columns.append((ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * aside))
    expected = expm(found.A * tau)
    np.testing.assert_allclose(np.array(columns).T, expected, atol=1e-7 * np.abs(expected).max())


# Inputs, outputs, states of first order


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_the_spectrum_is_the_same_in_all_coordinates(name: str) -> None:
    """To 1e-11 of the fastest, states without effect on others included."""
    found = []
    # Not with drivers that begin with an acceleration, without a rest, in coordinates that it has not.
    with_none = ("not-steady", "no-equilibrium", "not-spatial", "unknown-coordinates")
    for coordinates in SPATIAL:
        try:
            found.append(linearize(load(name), coordinates=coordinates))
        except LinkworkError as error:
            if error.code not in with_none:
                raise
    for other in found[1:]:
        first = found[0]
        assert (len(other.acting), other.zeros) == (len(first.acting), first.zeros)
        fastest = np.abs(first.acting).max(initial=0.0)
        for root in other.acting:
            assert np.min(np.abs(first.acting - root)) <= 1e-11 * fastest


def servo() -> PlanarModel:
    """A pendulum on a motor with inductance, under a voltage; its pin shows forces, its end a place."""
    m = PlanarModel("servo", R=3.0, L=0.05, k=0.4, c=0.1)
    m.fix(O=(0, 0))
    m.body("arm", mass=2.0, inertia=0.2, position=(0, -0.5), angle="-90 deg", points={"O": (-0.5, 0), "E": (0.5, 0)})
    m.revolute("O", m.ground["O"], "arm.O")
    m.input("u", unit="V", value=1.5)
    m.state("current", rate="(u - R*current - k*arm.omega)/L", start=0)
    m.torque("motor", "arm", torque="k*current - c*arm.omega")
    m.output("angle", formula="arm.phi + pi/2", unit="deg")
    m.output("pin", formula="reaction.O.x", unit="N")
    return m


@pytest.mark.parametrize("coordinates", PLANAR)
def test_a_motor_with_inductance_is_linearized_with_its_current(coordinates: str) -> None:
    """J phi'' = k i - c phi' - m g l sin phi, L i' = u - R i - k phi': A, B, C, D in closed form about u = 1.5 V.

    The pin pushes with R_x = m x'' of the mass centre, x = l sin phi: R_x = m l (cos phi phi'' - sin phi phi'^2).
    """
    m, J, arm, R, L, k, c, u = 2.0, 0.2 + 2.0 * 0.25, 0.5, 3.0, 0.05, 0.4, 0.1, 1.5
    found = servo().linearize(at="equilibrium", coordinates=coordinates)
    phi = np.arcsin(k * u / R / (m * G * arm))
    A = np.array([[0, 1, 0], [-m * G * arm * np.cos(phi) / J, -c / J, k / J], [0, -k / L, -R / L]])
    np.testing.assert_allclose(found.A, A, atol=1e-12 * 1e2)
    np.testing.assert_allclose(found.B.ravel(), [0, 0, 1 / L], atol=1e-13)
    across = m * arm * np.cos(phi) * A[1]
    np.testing.assert_allclose(found.C, np.vstack([[180 / np.pi, 0, 0], across]), atol=1e-11)
    np.testing.assert_allclose(found.D, 0.0, atol=1e-15)
    assert (found.inputs, found.outputs) == (("u",), ("output:angle", "output:pin"))
    assert found.states[2] == "current"
    assert found.stability == "stable"
    at = found.response(np.array([0.0, 7.0]))
    expected = [found.C @ np.linalg.solve(1j * w * np.eye(3) - A, found.B) for w in (0.0, 7.0)]
    np.testing.assert_allclose(at, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(found.ss().C, found.C)


def test_a_parameter_and_a_reaction_serve_as_input_and_output() -> None:
    """A rod held up by a torque T at rest: phi'' = T/J at once, and the pin pushes with m l T/J across."""
    m = PlanarModel("rod", T=0.0)
    m.fix(O=(0, 0))
    m.body("rod", mass=3.0, inertia=0.4, position=(0, -0.5), angle="-90 deg", points={"O": (-0.5, 0)})
    m.revolute("O", m.ground["O"], "rod.O")
    m.torque("motor", "rod", torque="T")
    J = 0.4 + 3.0 * 0.25
    found = m.linearize(inputs=["T"], outputs=["reaction:O.x", "rod.phi"])
    np.testing.assert_allclose(found.B.ravel(), [0.0, 1 / J], atol=1e-14)
    np.testing.assert_allclose(found.D.ravel(), [3.0 * 0.5 / J, 0.0], atol=1e-14)
    np.testing.assert_allclose(found.C, [[-3.0 * 0.5 * 3.0 * G * 0.5 / J, 0.0], [1.0, 0.0]], atol=1e-12)
    with pytest.raises(UsageError, match="no input 'TT'; did you mean 'T'") as caught:
        m.linearize(inputs=["TT"])
    assert caught.value.code == "unknown-input"
    with pytest.raises(UsageError, match=r"did you mean 'rod\.phi'"):
        m.linearize(outputs=["rod.fhi"])
    with pytest.raises(UsageError, match="needs inputs and outputs"):
        m.linearize().ss()


def test_an_input_that_moves_a_joint_is_refused() -> None:
    with pytest.raises(UsageError, match="'L1' moves joints") as caught:
        linearize(load("double_pendulum"), inputs=["L1"])
    assert caught.value.code == "input-moves-joints"


def test_an_integrator_puts_the_rest_where_its_rate_vanishes() -> None:
    """A pendulum under k z with z' = ref - phi rests at ref, where k z carries its weight."""
    m = PlanarModel("integral", ref=0.3, k=5.0)
    m.fix(O=(0, 0))
    m.body("arm", mass=2.0, inertia=0.2, position=(0, -0.5), angle="-90 deg", points={"O": (-0.5, 0)})
    m.revolute("O", m.ground["O"], "arm.O")
    m.state("z", rate="ref - (arm.phi + pi/2)", start=0)
    m.torque("motor", "arm", torque="k*z - 4*arm.omega")
    found = m.equilibrium()
    assert found.q["arm.phi"] == pytest.approx(0.3 - np.pi / 2, abs=1e-13)
    assert found.q["z"] == pytest.approx(2.0 * G * 0.5 * np.sin(0.3) / 5.0, abs=1e-12)
    J = 0.2 + 0.5
    roots = np.roots([J, 4.0, 2.0 * G * 0.5 * np.cos(0.3), 5.0])
    small = m.linearize(at="equilibrium")
    for root in roots:
        assert np.min(np.abs(small.eigenvalues - root)) < 1e-11 * abs(root)
    with pytest.raises(NumericalStop, match=r"its state 'z' changes by 0.3 per second"):
        m.linearize(at="start")


# Over a parameter


@pytest.mark.parametrize("coordinates", with_slow(["joint", "body", "euler"], ["joint"]))
@pytest.mark.slow
def test_the_bicycle_is_stable_between_the_weave_and_the_capsize_speed(coordinates: str) -> None:
    """4.29238253634110396 and 6.02426201538835889 m/s, however they lie between the speeds that are looked at."""
    bicycle = prepare(load("whipple_bicycle"), coordinates).linearize({"roll_rate": 0.0, "v": 1.0})
    found = bicycle.over("v", np.arange(0.0, 10.5, 0.7))
    weave, capsize = found.crossings
    assert weave.value == pytest.approx(4.29238253634110396, abs=1e-11)
    assert capsize.value == pytest.approx(6.02426201538835889, abs=1e-11)
    assert (weave.kind, weave.before, weave.after) == ("pair", 2, 0)
    assert (capsize.kind, capsize.before, capsize.after) == ("real", 0, 1)
    assert (found.zeros, found.eigenvalues.shape[1]) == (6, 4)
    np.testing.assert_allclose(found.values[found.stable], [4.9, 5.6])


def test_a_crossing_at_a_value_that_is_looked_at_is_found() -> None:
    """The capsize speed itself is among the speeds: the state that acts on no other there is not taken for idle."""
    bicycle = prepare(load("whipple_bicycle"), "joint").linearize({"roll_rate": 0.0})
    found = bicycle.over("v", [5.0, 6.02426201538835889, 7.0])
    assert [crossing.value for crossing in found.crossings] == pytest.approx([6.02426201538835889], abs=1e-11)


def test_a_start_that_moves_unsteadily_is_not_passed_over_in_silence() -> None:
    """The shipped bicycle begins to roll over: about its rest the speed changes nothing, which is refused."""
    found = linearize(load("whipple_bicycle"))
    assert found.at == "equilibrium"
    assert "the start moves, and not steadily" in str(found)
    with pytest.raises(UsageError, match="changes nothing in the small motions about the equilibrium; the start is"):
        found.over("v", [0.0, 5.0])
    assert not linearize(load("double_pendulum")).unsteady


def test_the_critical_spin_of_a_disc_and_of_a_top_are_located() -> None:
    """Where two eigenvalues meet at zero, 3.30151480384383556 rad/s, and where two pairs meet, (C s)^2 = 4 A m g l."""
    disc = linearize(load("rolling_disc"), {"lean": 0.0, "turn": 0.0, "spin": 5.0})
    (critical,) = disc.over("spin", np.linspace(1.0, 10.0, 10)).crossings
    assert critical.value == pytest.approx(3.30151480384383556, rel=1e-12)
    assert (critical.kind, critical.before, critical.after) == ("real", 1, 0)
    (sleeping,) = top(100.0).linearize().over("spin", np.linspace(50.0, 500.0, 6)).crossings
    A, C, turning = 0.02 + 1.5 * 0.09, 0.008, 1.5 * G * 0.3
    assert sleeping.value == pytest.approx(np.sqrt(4 * A * turning) / C, rel=1e-12)
    assert (sleeping.kind, sleeping.before, sleeping.after) == ("pair", 2, 0)


def test_a_sleigh_with_its_mass_behind_the_blade_turns_round() -> None:
    """lambda = -m a v/(J + m a^2); it is zero, and no number of 160 digits, where the sleigh changes its way."""
    found = linearize(load("chaplygin_sleigh"), {"w": 0.0, "v": 1.5}).over("v", [-2.0, -1.0, 0.5, 1.5])
    assert found.eigenvalues[:, 0] == pytest.approx(-2 * 0.4 * found.values / (0.3 + 2 * 0.4**2), rel=1e-12)
    (crossing,) = found.crossings
    assert abs(crossing.value) < 1e-15
    assert (crossing.before, crossing.after) == (1, 0)
    assert "v = 0: one" in str(found)


def test_an_equilibrium_is_followed_over_a_parameter() -> None:
    """A pendulum held upright by a spring k about its pin falls below k = m g l: there it leaves the axis."""
    m = PlanarModel("inverted", k=20.0)
    m.fix(O=(0, 0))
    m.body("rod", mass=1.0, inertia=0.1, position=(0.0, 0.5), angle="90 deg", points={"O": (-0.5, 0)})
    m.revolute("O", m.ground["O"], "rod.O")
    m.rotational_spring_damper("spring", m.ground, "rod", stiffness="k", free_angle="90 deg")
    found = m.linearize(at="start").over("k", np.linspace(1.0, 20.0, 8))
    (fall,) = found.crossings
    assert fall.value == pytest.approx(G * 0.5, rel=1e-12)


def test_a_value_without_a_steady_motion_is_named() -> None:
    disc = linearize(load("rolling_disc"), {"lean": 0.0, "turn": 0.0})
    with pytest.raises(NumericalStop, match=r"at lean = 0.1: this state does not move steadily: its accel") as caught:
        disc.over("lean", [0.0, 0.1])
    assert caught.value.code == "not-steady"


def test_a_slow_mode_beside_a_fast_one_is_none_of_the_zeros() -> None:
    """omega^2 = m g l / J_O of the arm, k/J of the disc."""
    spring = "forces: {s: {type: rotational-spring-damper, i: ground, j: disc, stiffness: 3e11}}"
    found = linearize(loads(PENDULUM.format(more=spring)))
    assert found.zeros == 0
    assert found.frequencies == pytest.approx([np.sqrt(2 * G * 0.5 / 0.7), 1e6], rel=1e-9)


def test_at_a_time_events_have_changed_the_mechanism() -> None:
    """omega^2 = k/J of a disc on a spring that becomes softer; then its bearing opens, and the run ends."""
    more = """
inputs: {k: {unit: N*m/rad, value: 60}}
forces: {s: {type: torque, on: disc, torque: -k*disc.phi}}
events:
  softer: {when: t - 0.1, action: set, inputs: {k: 30}}
  apart: {when: t - 0.2, action: set, release: [P]}
  over: {when: t - 0.5, action: stop}
"""
    model = loads(PENDULUM.format(more=more + "gravity: [0, 0]"))
    found = [linearize(model, at=t) for t in (0.05, 0.15, 0.25)]
    assert [len(x.states) for x in found] == [4, 4, 8]
    assert [x.frequencies[-1] for x in found] == pytest.approx([np.sqrt(200), 10, 10], rel=1e-12)
    with pytest.raises(UsageError, match=r"ends at t = 0\.5 s"):
        linearize(model, at=1.0)


@pytest.mark.slow
def test_a_governor_is_followed_over_its_speed() -> None:
    """Each speed has its own steady motion: eigenvalues are those that are found there anew."""
    model = load("flyball_governor")
    first = linearize(model, {"omega": 3.0}, at=equilibrium(model, {"omega": 3.0}, steady=["O"]))
    found = first.over("omega", [3.0, 5.0, 2 * np.pi])
    anew = linearize(model, at=equilibrium(model, steady=["O"]))
    for root in found.eigenvalues[-1]:
        assert np.min(np.abs(anew.acting - root)) < 1e-9 * abs(root)
    assert not found.crossings


def test_modes_become_motions() -> None:
    """The first mode of two hanging rods: both swing to one side, the lower one further, and the joints stay closed."""
    found = linearize(load("planar_chain:2"))
    motion = found.motion(1)
    assert np.ptp(motion["link1.phi"]) > np.ptp(motion["link0.phi"]) > 0.1
    np.testing.assert_allclose(np.hypot(motion["link0.x"], motion["link0.y"]), 0.5, atol=1e-10)
    assert motion.t[-1] == pytest.approx(4 * np.pi / TWO_RODS[0], rel=1e-12)
    with pytest.raises(UsageError, match="no mode 3 of 2"):
        found.motion(3)


def test_freedoms_become_motions() -> None:
    """One after the other, a second each: first one rod turns alone, then the other; joints hold."""
    motion = wiggle(load("double_pendulum"))
    rows = {k: (motion.t >= k - 1e-9) & (motion.t < k + 1 - 1e-9) for k in (0, 1)}
    swung = [[np.ptp(motion[f"{body}.phi"][own]) for body in ("upper", "lower")] for own in rows.values()]
    for (near, far), turned in zip(swung, ("lower", "upper"), strict=True):
        assert max(near, far) > 0.2, turned
        assert min(near, far) < 0.01 * max(near, far), turned  # but for the way in which joints are closed again
    tip = motion["upper.x"] + 0.5 * np.cos(motion["upper.phi"]), motion["upper.y"] + 0.5 * np.sin(motion["upper.phi"])
    foot = (
        motion["lower.x"] - 0.35 * np.cos(motion["lower.phi"]),
        motion["lower.y"] - 0.35 * np.sin(motion["lower.phi"]),
    )
    np.testing.assert_allclose(tip, foot, atol=1e-9)
    np.testing.assert_array_equal(motion.q[-1], motion.q[0])
    assert [name.split("'")[1] for name in motion.events.names] == ["lower", "upper"]
    with pytest.raises(UsageError, match="no freedom"):
        wiggle(load("jansen_leg"))


def test_the_root_locus_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, picture, data = (tmp_path / name for name in ("locus.html", "locus.svg", "locus.json"))
    command = ["linearize", "rolling_disc", "--set", "lean=0", "--set", "turn=0", "--over", "spin=2:5:0.5"]
    assert answer([*command, "-o", str(page), "-o", str(picture), "-o", str(data)]) == 0
    assert "crossing       spin = 3.3015148038438: " in capsys.readouterr().out
    assert "3.3015148038438" in page.read_text()
    assert picture.stat().st_size > 1000
    for wrong in ("spin", "spin=1:2", "spin=2:1:0.1", "spin=0:1:1e-9", "=1,2", "spin=a,b"):
        assert answer(["linearize", "rolling_disc", "--over", wrong]) == 2
        assert "bad-over" in capsys.readouterr().err
    assert answer(["linearize", "rolling_disc", "--set", "lean=0", "--over", "spni=1,2"]) in (2, 3)
    assert "spin" in capsys.readouterr().err


# What cannot be done


def test_a_state_that_does_not_rest_is_refused_with_its_acceleration() -> None:
    """The two rods of the double pendulum start horizontal, from rest: phi'' = -(9/7 ..) g/l is told."""
    with pytest.raises(
        NumericalStop, match=r"does not rest: its acceleration .* is -\d.*, at='equilibrium'|does not rest"
    ) as x:
        linearize(load("double_pendulum"), at="start")
    assert x.value.code == "not-steady"


def test_a_motion_that_is_not_steady_is_refused() -> None:
    with pytest.raises(NumericalStop, match="does not move steadily") as caught:
        linearize(load("heavy_top"), at="start")
    assert caught.value.code == "not-steady"


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"at": "strat"}, "bad-value"),
        ({"independent": ("crank.fi",)}, "unknown-coordinate"),
        ({"independent": ("crank.phi", "rocker.phi")}, "not-independent"),
        ({"independent": "crank.phi"}, "bad-value"),
        ({"parameters": {"lenght": 1.0}}, "unknown-parameter"),
        ({"coordinates": "jont"}, "unknown-coordinates"),
    ],
)
def test_calls_that_make_no_sense_are_refused(how: dict[str, Any], code: str) -> None:
    with pytest.raises(LinkworkError) as caught:
        linearize(load("four_bar"), **how)
    assert caught.value.code == code
    assert isinstance(caught.value, UsageError | ModelError)


def test_commands_print_and_write(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from json import loads

    from scipy.io import loadmat

    rest, mat, data = (str(tmp_path / name) for name in ("rest.yaml", "small.mat", "small.json"))
    assert answer(["equilibrium", "four_bar", "-o", rest]) == 0
    assert "stable" in capsys.readouterr().out
    assert answer(["linearize", rest, "--at", "start", "-o", mat, "-o", data, "--json"]) == 0
    printed = loads(capsys.readouterr().out)
    assert printed["at"] == "start"
    np.testing.assert_allclose(loadmat(mat)["A"], printed["A"])
    assert loads(Path(data).read_text())["eigenvalues"] == printed["eigenvalues"]
    assert answer(["linearize", "double_pendulum", "--at", "start"]) == 4
    assert "not-steady" in capsys.readouterr().err
    assert answer(["linearize", "double_pendulum", "--at", "soon"]) == 2
    capsys.readouterr()
