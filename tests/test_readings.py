"""What is read off a motion: peaks, means, values between report times, times of crossings, other units."""

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import LinkworkError


@pytest.fixture(scope="module")
def motion() -> lw.Trajectory:
    """A mass on a spring from x = 0.1 m at rest: x = 0.1 cos(2 t), v = -0.2 sin(2 t)."""
    m = lw.PlanarModel("oscillator")
    m.gravity = (0, 0)
    m.fix(A=(0, 0))
    cart = m.body("cart", mass=1, inertia=1, position=("0.1 m", 0), points={"A": (0, 0), "P": (0, "2 m")})
    m.prismatic("A", m.ground, cart, axis=(1, 0))
    m.point_force("spring", cart["A"], force=("-4*cart.x", 0))
    return m.simulate(t_end="3 s", step="0.1 s", rtol=1e-11)


def test_a_motion_is_a_mapping_of_arrays(motion: lw.Trajectory) -> None:
    assert len(motion) == len(dict(motion)) == len([*motion.keys()])
    assert motion == motion
    assert {motion: 1}[motion] == 1
    np.testing.assert_array_equal(motion["cart.P"], np.column_stack([motion["cart.P.x"], motion["cart.P.y"]]))
    assert motion.names("cart.P.*")[0] == "cart.P.x"
    assert motion.unit("cart.P") == "m"
    assert motion.ok


def test_values_between_report_times_follow_the_motion(motion: lw.Trajectory) -> None:
    """A cubic over 0.1 s errs by h^4/384 x'''' = 4e-7 m at most; a straight line would by 5e-4."""
    for t in (0.0, 0.25, 1.234, 3.0):
        assert motion.at(t)["cart.x"] == pytest.approx(0.1 * np.cos(2 * t), abs=5e-7)
    assert motion.at("250 ms") == motion.at(0.25)
    at_all, times = motion.at(["250 ms", 1.234, 3.0]), (0.25, 1.234, 3.0)
    assert len(at_all) == len(motion)
    for name, values in at_all.items():
        np.testing.assert_array_equal(values, [motion.at(t)[name] for t in times])


def test_a_part_of_a_motion_is_read_like_the_whole(motion: lw.Trajectory) -> None:
    """v = -0.2 sin(2 t) has the mean 0.1 (cos 2 b - cos 2 a)/(b - a); the trapezoidal rule errs by h^2/12 of v''."""
    part = motion.between("500 ms", 2)
    assert (part.t[0], part.t[-1], len(part.t)) == (0.5, 2.0, 16)
    assert part.mean("cart.vx") == pytest.approx(0.1 * (np.cos(4) - np.cos(1)) / 1.5, rel=0.01)
    assert part.at(1.26)["cart.x"] == motion.at(1.26)["cart.x"]
    shown = motion.to("ms", "mm").between(500, "2 s")
    assert shown["cart.x"][-1] == pytest.approx(1000 * part["cart.x"][-1], rel=1e-14)
    np.testing.assert_allclose(shown["t"], 1000 * part.t)
    assert motion.notes == motion.info.notes


def test_times_of_crossings_are_those_of_the_motion(motion: lw.Trajectory) -> None:
    np.testing.assert_allclose(motion.when("cart.x = 0"), [np.pi / 4, 3 * np.pi / 4], atol=3e-6)
    np.testing.assert_allclose(motion.when("2*cart.x = 0.1"), np.array([1, 5]) * np.pi / 6, atol=5e-6)
    assert len(motion.when("cart.x = 1")) == 0
    np.testing.assert_allclose(motion.when("cart.x = 50 mm"), motion.when("cart.x = 0.05"), rtol=1e-12)
    np.testing.assert_allclose(motion.to("cm").when("5 cm = cart.x"), motion.when("cart.x = 0.05"), rtol=1e-12)
    assert motion.to("mm").when("cart.x = 50") == pytest.approx(motion.when("cart.x = 0.05"))
    assert motion.to("ms", "mm").when("cart.x = 50") == pytest.approx(1000 * motion.when("cart.x = 0.05"))


def test_what_has_a_colon_stands_in_equations(motion: lw.Trajectory) -> None:
    """The kinetic energy 0.02 sin(2 t)^2 is half its largest value at odd multiples of pi/8.

    A straight line over 0.1 s errs there by h^2/8 E'' / E' = 2e-3 s at most.
    """
    np.testing.assert_allclose(motion.when("energy:kinetic = 10 mJ"), np.array([1, 3, 5, 7]) * np.pi / 8, atol=2e-3)
    assert str(motion.max("abs(cart.x)")) == "0.1 at t = 0 s"


def test_units_are_added_one_after_the_other(motion: lw.Trajectory) -> None:
    shown = motion.to("deg").to("mm")
    assert (shown.unit("cart.phi"), shown.unit("cart.x")) == ("deg", "mm")
    assert shown.to("cm").unit("cart.x") == "cm"
    assert shown.to("cm").unit("cart.phi") == "deg"


def test_peaks_and_means(motion: lw.Trajectory) -> None:
    fastest = motion.min("cart.vx")
    assert (fastest.value, fastest.t, fastest.unit) == (pytest.approx(-0.2, abs=1e-3), 0.8, "m/s")  # type: ignore[comparison-overlap]
    assert str(motion.max("cart.x")) == "0.1 m at t = 0 s"
    assert float(motion.final("cart.x")) == pytest.approx(0.1 * np.cos(6), abs=1e-8)
    assert motion.integral("cart.vx") == pytest.approx(0.1 * (np.cos(6) - 1), abs=1e-3)
    assert motion.mean("cart.vx") == pytest.approx(motion.integral("cart.vx") / 3)
    assert motion.rms("cart.x") == pytest.approx(0.1 * np.sqrt(0.5 + np.sin(12) / 24), abs=1e-4)
    assert motion.max("cart.P").value == pytest.approx(np.hypot(0.1, 2.0))
    assert [peak.name for peak in motion.extremes("cart.v*")] == ["cart.vx", "cart.vy"]


def test_other_units_on_the_way_out(motion: lw.Trajectory, tmp_path: Path) -> None:
    shown = motion.to("mm", "deg", "kN", "ms")
    np.testing.assert_allclose(shown["cart.x"], 1e3 * motion["cart.x"], rtol=1e-15)
    np.testing.assert_allclose(shown["cart.vx"], motion["cart.vx"], rtol=1e-15)
    np.testing.assert_allclose(shown["cart.ax"], 1e-3 * motion["cart.ax"], rtol=1e-15)
    np.testing.assert_allclose(shown["reaction:A.torque"], motion["reaction:A.torque"], rtol=1e-15)
    units = {name: shown.unit(name) for name in ("t", "cart.vx", "cart.ax", "cart.omega", "reaction:A.torque")}
    assert [*units.values()] == ["ms", "mm/ms", "mm/ms^2", "deg/ms", "kN mm"]
    assert motion.to("rpm").unit("cart.omega") == "rpm"
    assert shown.at("250 ms")["cart.x"] == pytest.approx(1e3 * motion.at(0.25)["cart.x"], rel=1e-14)
    assert shown.to("SI") is motion
    np.testing.assert_array_equal(shown.q, motion.q)
    shown.save(tmp_path / "shown.csv")
    assert (tmp_path / "shown.csv").read_text().startswith("t [ms],cart.x [mm],cart.y [mm],cart.phi [deg]")
    assert shown.plot("cart.x").axes[0].get_ylabel() == "cart.x [mm]"
    assert shown.plot().axes


def test_a_data_frame_has_the_time_as_its_index(motion: lw.Trajectory) -> None:
    pytest.importorskip("pandas")
    frame = motion.to("mm").dataframe("cart.?")
    assert [*frame.columns] == ["cart.x", "cart.y"]
    assert frame.attrs["units"] == {"t": "s", "cart.x": "mm", "cart.y": "mm"}
    assert frame.index.name == "t"
    np.testing.assert_allclose(frame["cart.x"], 1e3 * motion["cart.x"], rtol=1e-15)


@pytest.mark.parametrize(
    ("ask", "word"),
    [
        ('motion["cart.angle"]', "did you mean 'cart.phi'"),
        ('motion.when("cart.x")', "not an equation"),
        ('motion.when("crt.x = 1")', "did you mean 'cart.x'"),
        ('motion.when("reaction:A.xx = 1")', "did you mean 'reaction:A."),
        ('motion.at(1)["crt.x"]', "did you mean 'cart.x'"),
        ("motion.at(4)", "not within"),
        ('motion.at("4 m")', "not time"),
        ('motion.max("x")', "no quantity"),
        ('motion.names("zz*")', "fits"),
        ('motion.to("deg", "rad")', "choose one"),
        ('motion.to("foo")', "no unit"),
        ('motion.to("mm").save("a.nc")', ".csv"),
    ],
)
def test_what_cannot_be_read_is_refused(motion: lw.Trajectory, ask: str, word: str) -> None:
    with pytest.raises(LinkworkError) as raised:
        eval(ask, {"motion": motion})
    assert word in str(raised.value)
