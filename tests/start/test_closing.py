"""Start values that fit: positions closed, velocities kept, what is refused."""

import math

import numpy as np
import pytest
from published import REFERENCE

from linkwork import Start, batch, load, sensitivities, simulate
from linkwork.assembly.assemble import assemble
from linkwork.cli import answer
from linkwork.compiled.mechanism import prepare
from linkwork.errors import ModelError
from linkwork.modelfile import loads
from linkwork.start.check import check
from linkwork.start.closing import close_joints


@pytest.mark.parametrize("bearing", ["revolute", "cylindrical"])
def test_a_cardan_shaft_starts_in_joint_coordinates_where_its_loop_closes_whatever_the_position(bearing: str) -> None:
    """Its cross stays on the axes of both shafts: rows of rounding contradict nothing; w_2 = w_1 c/(1 - s^2 cos^2)."""
    s, c = math.sin(math.pi / 6), math.cos(math.pi / 6)
    model = loads(f"""
        linkwork: 1
        space: spatial
        gravity: [0, 0, 0]
        ground: {{points: {{A: [-1, 0, 0], B: [{c!r}, {s!r}, 0]}}}}
        bodies:
          first: {{mass: 1, inertia: [0.1, 0.1, 0.1], points: {{A: [-1, 0, 0], C: [0, 0, 0]}}}}
          second: {{mass: 1, inertia: [0.1, 0.1, 0.1], points: {{B: [{c!r}, {s!r}, 0], C: [0, 0, 0]}}}}
        joints:
          A: {{type: revolute, i: ground.A, j: first.A, axis: [1, 0, 0]}}
          U: {{type: universal, i: first.C, j: second.C, axis: [0, 0, 1], axis_j: [{-s!r}, {c!r}, 0]}}
          B: {{type: {bearing}, i: ground.B, j: second.B, axis: [{c!r}, {s!r}, 0]}}
        drivers: {{motor: {{joint: A, motion: 3*t}}}}
        simulation: {{t_end: 2, step: 0.1, coordinates: joint}}
        """)
    motion = simulate(model)
    speed = c * motion["second.wx"] + s * motion["second.wy"]
    closed_form = 3 * c / (1 - s**2 * np.sin(3 * motion.t) ** 2)
    np.testing.assert_allclose(speed, closed_form, rtol=1e-9)


MODELS = REFERENCE / "trust"


def test_a_door_sketched_upside_down_closes_upright_or_is_refused() -> None:
    """The z axes of frame and door point the same way: 1 - 2 (e1^2 + e2^2) is positive."""
    model = load(MODELS / "turned.yaml")
    try:
        motion = simulate(model, start=Start(assemble=True))
    except ModelError:
        pass
    else:
        assert 1.0 - 2.0 * (motion["door.e1"][0] ** 2 + motion["door.e2"][0] ** 2) > 0.0
    try:
        closed = assemble(model)
    except ModelError:
        pass
    else:
        assert 1.0 - 2.0 * (closed.q["door.e1"] ** 2 + closed.q["door.e2"] ** 2) > 0.0


TRUST = REFERENCE / "trust"


def test_what_the_second_search_has_closed_is_closed() -> None:
    """A crank that its driver wants 30 rad further: five turns less some, reached only in many steps."""
    model = load(TRUST / "turn30.yaml")
    report = check(model, assemble=True)
    assert report.q_changes["crank.phi"] == pytest.approx(30.0, abs=1e-9)
    assert simulate(model, t_end=0.1, start=Start(assemble=True)).q[0, 2] == pytest.approx(30.0, abs=1e-9)


def test_a_given_velocity_is_kept_and_the_others_follow() -> None:
    """A crank of 0.1 m at 1 rad given 100 rad/s, everything else at rest; its slider then moves as the closed form has.

    With x = a cos(phi) + sqrt(b^2 - a^2 sin(phi)^2), the slider's rate is dx/dphi 100 rad/s.
    """
    model = load(TRUST / "start_velocity.yaml")
    motion = simulate(model, t_end=0.1)
    a, b, phi = 0.1, 0.3, 1.0
    slope = -a * np.sin(phi) - a**2 * np.sin(phi) * np.cos(phi) / np.sqrt(b**2 - (a * np.sin(phi)) ** 2)
    assert motion["crank.omega"][0] == pytest.approx(100.0, rel=1e-14)
    assert motion["slider.vx"][0] == pytest.approx(100.0 * slope, rel=1e-12)
    np.testing.assert_array_equal(simulate(model, t_end=0.1, start=Start(keep=["crank.phi"])).v, motion.v)
    # The nearest velocities for those who ask for them.
    assert simulate(model, t_end=0.1, start=Start(assemble=True))["crank.omega"][0] == pytest.approx(8.2, abs=0.1)


def test_an_error_about_keep_mentions_keep(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["run"], ["check"], ["assemble"], ["assemble", "--all"]):
        for name in ("crank.ph", "crank.omega"):
            assert answer([*command, "four_bar", "--keep", name]) == 2
            text = capsys.readouterr().err
            assert f"--keep {name}: no coordinate has this name; did you mean 'crank.phi'? [unknown-coordinate]" in text


@pytest.mark.slow
def test_run_assembles_from_the_same_sketches_as_assemble() -> None:
    """From this sketch of the quick-return mechanism the straight way ends open; from sketches near it, closed."""
    q = dict(zip(QUICK_RETURN_NAMES, QUICK_RETURN_SKETCH, strict=True))
    model = load("quick_return").with_start(q, dict.fromkeys(q, 0.0))
    with pytest.raises(ModelError, match="cannot close"):
        close_joints(prepare(model).place(), "mass")
    motion = simulate(model, t_end=0.01, start=Start(assemble=True))
    np.testing.assert_allclose(motion.q[0], list(assemble(model).q.values()), atol=1e-12)


QUICK_RETURN_NAMES = [f"{body}.{part}" for body in ("crank", "lever", "link", "ram") for part in ("x", "y", "phi")]


QUICK_RETURN_SKETCH = [-0.1, 0.32, 1.16, 0.24, 0.14, 4.57, 0.25, 0.64, -0.94, 0.3, 0.48, 2.06]


@pytest.mark.parametrize("coordinates", ["body", "joint", "minimal"])
def test_a_value_given_by_name_holds_and_the_others_follow(coordinates: str) -> None:
    """Crank 1, rod 2: x = cos phi + sqrt(4 - sin^2 phi), and the crank turns on with the rate of the model, 1."""
    phi = 0.1
    root = math.sqrt(4.0 - math.sin(phi) ** 2)
    motion = simulate(load("slider_crank"), start={"crank.phi": phi}, t_end=0.01, step=0.01, coordinates=coordinates)
    assert motion["crank.phi"][0] == pytest.approx(phi, abs=1e-15)
    assert motion["crank.omega"][0] == pytest.approx(1.0, abs=1e-14)
    assert motion["slider.x"][0] == pytest.approx(math.cos(phi) + root, abs=1e-14)
    assert motion["slider.vx"][0] == pytest.approx(-math.sin(phi) * (1.0 + math.cos(phi) / root), abs=1e-14)


def test_motions_of_a_batch_start_where_they_are_asked_to() -> None:
    phi = np.array([0.02, 0.05, 0.1])
    takes = ["first(crank.phi)", "first(slider.x)"]
    found = batch(load("slider_crank"), {}, takes, start={"crank.phi": phi}, t_end=0.01)
    np.testing.assert_allclose(found["first(crank.phi)"], found["crank.phi"], rtol=0, atol=1e-15)
    np.testing.assert_allclose(found["first(slider.x)"], np.cos(phi) + np.sqrt(4.0 - np.sin(phi) ** 2), atol=1e-14)


def test_the_slope_of_a_start_is_that_of_what_follows_a_given_value() -> None:
    """With the crank held at 0.1, the slider stands further off by l2/sqrt(l2^2 - sin^2 phi) for a longer rod."""
    motion = sensitivities(load("slider_crank"), ["l2"], start={"crank.phi": 0.1}, t_end=0.01, step=0.01)
    root = math.sqrt(4.0 - math.sin(0.1) ** 2)
    assert motion.gradient("crank.phi", "l2")[0] == pytest.approx(0.0, abs=1e-13)
    assert motion.gradient("slider.x", "l2")[0] == pytest.approx(2.0 / root, abs=1e-12)


def test_values_that_contradict_each_other_are_corrected_with_a_note() -> None:
    """Crank and rod cannot both have any angle."""
    motion = simulate(load("slider_crank"), start={"crank.phi": 0.04, "rod.phi": 0.0}, t_end=0.01, step=0.01)
    assert motion.info.constraint_error_position < 1e-12
    assert 0.0 < abs(motion["crank.phi"][0] - 0.04) < 0.02
    assert [note.code for note in motion.notes] == ["start-corrected"]


def test_a_given_orientation_holds_in_space() -> None:
    """A door given by its Euler parameters alone, with its hinge off: the mass centre follows."""
    half = 0.02
    model = loads("""
        linkwork: 1
        space: spatial
        ground: {points: {O: [0, 0, 0]}}
        bodies: {door: {mass: 2, inertia: [1, 1, 1], position: [0.5, 0, 0], points: {O: [-0.5, 0, 0]}}}
        joints: {O: {type: spherical, i: ground.O, j: door.O}}
        """)
    given = {"door.e0": math.cos(half), "door.e2": math.sin(half)}
    motion = simulate(model, start=given, t_end=0.01, step=0.01)
    for name, value in given.items():
        assert motion[name][0] == pytest.approx(value, abs=1e-15)
    assert motion["door.z"][0] == pytest.approx(-0.5 * math.sin(2.0 * half), abs=1e-15)
