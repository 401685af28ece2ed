"""Forces of teeth that pins carry, against statics."""

import math

import numpy as np
import pytest
from published import REFERENCE

from linkwork import load, simulate
from linkwork.errors import ModelError
from linkwork.modelfile import loads

MODELS = REFERENCE / "trust"


def test_pins_of_an_epicyclic_gear_carry_the_tooth_forces() -> None:
    """Forces at the teeth by hand: 16.67 N from the sun, 14.80 N from the ring; the planet pin carries their sum.

    Every body is in balance: m a of the planet is its pin and both teeth, and the carrier hands the pin on.
    """
    motion = simulate(load(MODELS / "epi.yaml"), t_end=0.05)
    at = {name: motion[f"reaction:{name}"][-1] for name in ("P.x", "P.y", "S.x", "S.y", "C.x", "C.y")}
    assert (at["P.x"], at["P.y"]) == pytest.approx((1.19, -28.12), abs=0.005)
    assert math.hypot(at["S.x"], at["S.y"]) == pytest.approx(16.67, abs=0.005)
    assert (at["C.x"], at["C.y"]) == pytest.approx((at["P.x"], at["P.y"]), abs=1e-9)


def test_a_pressure_angle_pushes_gears_apart() -> None:
    """The motion stays. The sun's pin holds 16.67 N/cos(20 deg); sun and ring push the planet by (16.67 - 14.80) N tan.

    That of the sun is away from it and that of the ring towards it, so the pin holds the difference inwards.
    """
    text = (MODELS / "epi.yaml").read_text()
    plain = simulate(loads(text), t_end=0.05)
    steep = simulate(loads(text.replace("type: gear,", "type: gear, pressure_angle: 20 deg,")), t_end=0.05)
    np.testing.assert_array_equal(plain.q, steep.q)
    sun = [math.hypot(*(motion[f"reaction:S.{axis}"][-1] for axis in "xy")) for motion in (plain, steep)]
    assert sun[1] == pytest.approx(sun[0] / math.cos(math.radians(20)), rel=1e-9)
    change = np.array([steep[f"reaction:P.{axis}"][-1] - plain[f"reaction:P.{axis}"][-1] for axis in "xy"])
    centre = np.array([plain[f"planet.{axis}"][-1] for axis in "xy"])
    sun_teeth, ring_teeth = (abs(plain[f"lam:{name}.mesh"][-1]) for name in ("sp", "pr"))
    assert (sun_teeth, ring_teeth) == pytest.approx((16.67, 14.80), abs=0.005)
    inwards = -centre / np.hypot(*centre)
    np.testing.assert_allclose(change, (sun_teeth - ring_teeth) * math.tan(math.radians(20)) * inwards, atol=1e-9)
    with pytest.raises(ModelError, match="a pressure angle of 60 deg"):
        loads(text.replace("type: gear,", "type: gear, pressure_angle: 60 deg,"))


def test_bearings_of_bevel_gears_carry_the_force_of_the_teeth() -> None:
    """The teeth meet at (0.1, 0, 0.2) and push wheel a by -20 N along y: that is its 2 N m, and 4 N m about x."""
    motion = simulate(load(MODELS / "bevel.yaml"))
    assert motion["a.alphaz"][-1] == pytest.approx(20.0, abs=1e-9)
    for name, force in {"A.x": 0, "A.y": 20, "A.z": 0, "A.tx": -4, "A.ty": 0}.items():
        assert motion[f"reaction:{name}"][-1] == pytest.approx(force, abs=1e-8)
    for name, force in {"B.x": 0, "B.y": -20, "B.z": 0, "B.ty": 0, "B.tz": -2}.items():
        assert motion[f"reaction:{name}"][-1] == pytest.approx(force, abs=1e-8)
