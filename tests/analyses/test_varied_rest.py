"""Derivatives of rests by parameters: a closed form, and differences of rests."""

import numpy as np
import pytest

from linkwork import equilibrium, equilibrium_slopes, loads, prepare
from linkwork.errors import NumericalStop, UsageError
from linkwork.modelfile import load

BALANCE = """
linkwork: 1
name: balance
parameters: {L: 0.8, m: 1.2, k: 20, free: 0.3}
ground: {points: {O: [0.1, 0]}}
bodies: {rod: {mass: m, inertia: 0.1, position: [0.1 + L/2*cos(0.2), L/2*sin(0.2)], angle: 0.2, points: {O: [-L/2, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: rod.O}}
forces: {spring: {type: rotational-spring-damper, i: ground, j: rod, stiffness: k, free_angle: free}}
gravity: [0, -9.81]
"""


def test_rod_on_a_spring_in_closed_form() -> None:
    """k (phi - free) + m g L/2 cos(phi) = 0, differentiated; the pin holds the weight alone."""
    found, phi = equilibrium_slopes(loads(BALANCE), ["m", "k", "free", "L"]), equilibrium(loads(BALANCE)).q["rod.phi"]
    weight = 1.2 * 9.81 * 0.4
    by_phi = 20.0 - weight * np.sin(phi)
    closed = {
        "m": -weight / 1.2 * np.cos(phi) / by_phi,
        "k": -(phi - 0.3) / by_phi,
        "free": 20.0 / by_phi,
        "L": -weight / 0.8 * np.cos(phi) / by_phi,
    }
    assert found["rod.phi"] == pytest.approx(closed, rel=1e-9)
    assert found["reaction:O.y"] == pytest.approx({"m": 9.81, "k": 0.0, "free": 0.0, "L": 0.0}, abs=1e-9)
    assert found["rod.x"]["L"] == pytest.approx(0.5 * np.cos(phi) - 0.4 * np.sin(phi) * closed["L"], rel=1e-9)


def test_rests_against_differences() -> None:
    """All positions and reactions of a closed loop."""
    mechanism, by = prepare(load("four_bar")), ["a", "b", "rho"]
    found = equilibrium_slopes(mechanism, by)
    for p in by:
        h, value = 1e-5, mechanism.model.parameters[p]
        there = {k: equilibrium(mechanism, {p: value + k * h}) for k in (-2, -1, 1, 2)}
        m = {k: {**x.q, **x.reactions} for k, x in there.items()}
        for x, own in found.items():
            far = (8.0 * (m[1][x] - m[-1][x]) - (m[2][x] - m[-2][x])) / (12.0 * h)
            assert own[p] == pytest.approx(far, rel=1e-7, abs=1e-7 * max(map(abs, m[1].values())))


def test_what_is_refused() -> None:
    with pytest.raises(UsageError, match="no parameter 'kk'"):
        equilibrium_slopes(loads(BALANCE), ["kk"])
    with pytest.raises(NumericalStop):
        equilibrium_slopes(loads(BALANCE.replace("k: 20", "k: 0").replace("-9.81", "0")), ["m"])
