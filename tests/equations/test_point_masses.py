"""Point masses need no inertia where nothing turns them."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from linkwork import check, simulate
from linkwork.errors import ModelError
from linkwork.modelfile import loads

POINT = """linkwork: 1
SPACE
ground: {points: {O: [ZERO]}}
bodies: {bob: {mass: 2, position: [1, ZERO_1], VELOCITY points: {C: [AT]}}}
joints: {rod: {JOINT}}
simulation: {t_end: 2, step: 0.1, rtol: 1.0e-10, atol: 1.0e-11}
"""


@pytest.mark.parametrize("coordinates", ["body", "joint"])
@pytest.mark.parametrize(("joint", "at"), [("type: distance, length: 1", "0, 0"), ("type: revolute", "-1, 0")])
def test_a_planar_point_mass_needs_no_inertia(joint: str, at: str, coordinates: str) -> None:
    """On a rod, or as a body that turns about a pin: theta'' = -g/l cos(theta), one freedom."""
    text = POINT.replace("SPACE", "").replace("ZERO_1", "0").replace("ZERO", "0, 0").replace("VELOCITY", "")
    text = text.replace("AT", at).replace("JOINT", f"{joint}, i: ground.O, j: bob.C")
    motion = simulate(loads(text), coordinates=coordinates)
    angle = solve_ivp(
        lambda t, y: [y[1], -9.81 * np.cos(y[0])],
        (0, 2),
        [0, 0],
        method="DOP853",
        rtol=1e-12,
        atol=1e-13,
        t_eval=motion.t,
    )
    np.testing.assert_allclose(motion["bob.x"], np.cos(angle.y[0]), atol=1e-8)
    np.testing.assert_allclose(motion["bob.y"], np.sin(angle.y[0]), atol=1e-8)
    assert motion.info.dof == 1
    assert check(loads(text)).dof == 1


@pytest.mark.parametrize(
    ("coordinates", "formulation"),
    [("body", "augmented"), ("body", "udwadia-kalaba"), ("body", "lu"), ("joint", "augmented"), ("euler", "qr")],
)
def test_a_spatial_point_mass_needs_no_inertia(coordinates: str, formulation: str) -> None:
    """A spherical pendulum in Cartesian coordinates: r'' = g - (v.v + g.r) r/l^2, two freedoms."""
    text = POINT.replace("SPACE", "space: spatial").replace("ZERO_1", "0, 0").replace("ZERO", "0, 0, 0")
    text = text.replace("VELOCITY", "velocity: [0, 1.3, 0.4],").replace("AT", "0, 0, 0")
    text = text.replace("JOINT", "type: distance, length: 1, i: ground.O, j: bob.C")
    motion = simulate(loads(text), coordinates=coordinates, formulation=formulation)
    g = np.array([0.0, 0.0, -9.81])

    def rates(t: float, y: NDArray[np.float64]) -> NDArray[np.float64]:
        r, v = y[:3], y[3:]
        return np.concatenate([v, g - (v @ v + g @ r) * r / (r @ r)])

    start = [1, 0, 0, 0, 1.3, 0.4]
    free = solve_ivp(rates, (0, 2), start, method="DOP853", rtol=1e-12, atol=1e-13, t_eval=motion.t)
    np.testing.assert_allclose([motion[f"bob.{axis}"] for axis in "xyz"], free.y[:3], atol=1e-7)
    assert motion.info.dof == 2


def test_a_point_mass_that_must_turn_without_inertia_is_refused() -> None:
    """Pinned at its mass centre it is free to turn, and a torque would turn it infinitely fast."""
    text = POINT.replace("SPACE", "").replace("[1, ZERO_1]", "[0, 0]").replace("ZERO", "0, 0").replace("VELOCITY", "")
    text = text.replace("AT", "0, 0").replace("JOINT", "type: revolute, i: ground.O, j: bob.C")
    text += "forces: {f: {type: torque, on: bob, torque: 1}}\n"
    with pytest.raises(ModelError, match="'bob' has no inertia"):
        simulate(loads(text))
