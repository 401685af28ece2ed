"""Dry friction between blocks and in contacts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from published import REFERENCE
from scipy.optimize import brentq

from linkwork import check, load, simulate
from linkwork.errors import ModelError
from linkwork.formulations import usual_formulations

MODELS = REFERENCE / "trust"


def pulled_block(t_end: float) -> tuple[list[float], float, float]:
    """When the block of 1.5 kg breaks loose, and its place and speed in the end.

    1.5 v' = 4 sin(3 t) - s, s the sign of v, while it slips; it sticks while |4 sin(3 t)| <= 1.5 N.
    """
    loose, t, x = list[float](), 0.0, 0.0
    while True:
        pull = 4.0 * math.sin(3.0 * t)
        if abs(pull) < 1.5 - 1e-9:
            quarter = math.pi / 6.0
            ahead = (t + k * quarter / 50 for k in range(1, 200))
            edge = next(s for s in ahead if abs(math.sin(3.0 * s)) > 0.375)
            edge = float(brentq(lambda s: abs(math.sin(3.0 * s)) - 0.375, edge - quarter / 50, edge))
            if edge > t_end:
                return loose, x, 0.0
            t = edge
            pull = 4.0 * math.sin(3.0 * t)
        loose.append(t)
        sign = math.copysign(1.0, pull)

        def v(s: float, t: float = t, sign: float = sign) -> float:
            return (4.0 / 3.0 * (math.cos(3.0 * t) - math.cos(3.0 * s)) - sign * (s - t)) / 1.5

        def way(s: float, t: float = t, sign: float = sign) -> float:
            sines = math.cos(3.0 * t) * (s - t) - (math.sin(3.0 * s) - math.sin(3.0 * t)) / 3.0
            return (4.0 / 3.0 * sines - sign * (s - t) ** 2 / 2.0) / 1.5

        steps = (t + 1e-3 + k * 1e-3 for k in range(10_000))
        end = next(s for s in steps if v(s) * sign < 0.0)
        end = float(brentq(v, end - 1e-3, end, xtol=1e-14))
        if end > t_end:
            return loose, x + way(t_end), v(t_end)
        t, x = end, x + way(end)


@pytest.mark.parametrize("formulation", usual_formulations())
@pytest.mark.sampled
def test_of_two_blocks_with_dry_friction_one_breaks_loose(formulation: str) -> None:
    """The one that is pulled with 4 sin(3 t) N at t = asin(0.375)/3; the other is held against 0.1 N."""
    motion = simulate(load(MODELS / "two_stick_slip.json"), formulation=formulation)
    loose, x, v = pulled_block(5.0)
    slips = [t for name, t in zip(motion.events.names, motion.events.t, strict=True) if name == "r1.slip"]
    assert loose[0] == pytest.approx(math.asin(0.375) / 3.0, abs=1e-12)
    assert slips[0] == pytest.approx(loose[0], abs=1e-8)
    assert "r0.slip" not in motion.events.names
    assert motion["b1.x"][-1] == pytest.approx(x, abs=1e-7)
    assert motion["b1.vx"][-1] == pytest.approx(v, abs=1e-7)
    np.testing.assert_allclose(motion["b0.x"], 0.0, atol=1e-9)


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_the_normal_force_of_stick_slip_may_name_a_point(coordinates: str) -> None:
    """x'' = -0.2 (5 + x) from 1 m/s: x = -5 + 5 cos(w t) + sin(w t)/w with w^2 = 0.2, and rest at sqrt(30) - 5."""
    motion = simulate(load(MODELS / "stick_slip_point.json"), coordinates=coordinates)
    w = math.sqrt(0.2)
    t = np.minimum(motion.t, math.atan(1.0 / (5.0 * w)) / w)
    np.testing.assert_allclose(motion["c.x"], -5.0 + 5.0 * np.cos(w * t) + np.sin(w * t) / w, atol=1e-8)
    assert motion["c.x"][-1] == pytest.approx(math.sqrt(30.0) - 5.0, abs=1e-8)


@pytest.mark.parametrize("command", [check, simulate])
def test_a_contact_of_a_body_with_itself_is_refused(command: Any) -> None:
    with pytest.raises(ModelError) as refused:
        command(load(MODELS / "contact_same_body.json"))
    assert refused.value.code == "same-body"
