"""Couplings of joints: closed forms, whole turns, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError

COORDINATES = ("body", "joint")


def winch(ratio: float) -> lw.PlanarModel:
    """A drum that lifts a weight on a slope: the way of the weight is ratio times the angle of the drum."""
    m = lw.PlanarModel("winch", k=f"{1e3 * ratio} mm/rad", J="0.4 kg*m^2", m="3 kg", T="7 N*m")
    m.fix(O=(0, 0), S=("2 m", 0))
    drum = m.body("drum", mass="5 kg", inertia="J", points={"O": (0, 0)})
    weight = m.body("weight", mass="m", inertia=1.0, position=("2 m", 0), points={"S": (0, 0)})
    O = m.revolute("O", m.ground, drum)  # noqa: E741
    S = m.prismatic("S", m.ground, weight, axis=(0.6, 0.8))
    m.torque("motor", drum, "T")
    m.coupling("rope", O, S, ratio="k", offset="0.1 m")
    return m


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_winch_moves_by_its_closed_form(coordinates: str) -> None:
    """(J + k^2 m) theta_dd = T - 0.8 k m g, and the rope pulls with m (k theta_dd + 0.8 g)."""
    k, J, m, T, g = -0.35, 0.4, 3.0, 7.0, 9.81
    motion = winch(k).simulate(start=lw.Start(assemble=True), t_end=2.0, coordinates=coordinates)
    theta_dd = (T - 0.8 * k * m * g) / (J + k * k * m)
    start = motion["joint:O.angle"][0]  # the offset is shared between both at the start
    np.testing.assert_allclose(motion["joint:O.angle"], start + 0.5 * theta_dd * motion.t**2, atol=1e-8)
    np.testing.assert_allclose(motion["joint:S.displacement"], k * motion["joint:O.angle"] + 0.1, atol=1e-9)
    np.testing.assert_allclose(motion["reaction:rope.follow"], m * (k * theta_dd + 0.8 * g), rtol=1e-9)
    assert motion.unit("reaction:rope.follow") == "N"


@pytest.mark.parametrize("coordinates", [*COORDINATES, "euler"])
def test_shafts_in_space_count_their_turns(coordinates: str) -> None:
    """Balanced shafts about skew axes keep their speed and the ratio over many turns."""
    m = lw.SpatialModel("shafts", k=-2.37)
    m.fix(O=(0, 0, 0), B=(1, 0, 0))
    m.gravity = (0, 0, 0)
    a = m.body("a", mass="1 kg", inertia=(0.1, 0.2, 0.1), points={"O": (0, 0, 0)}, angular_velocity=(0, 30, 0))
    b = m.body("b", mass="2 kg", inertia=(0.3, 0.3, 0.3), position=(1, 0, 0), points={"B": (0, 0, 0)})
    O = m.revolute("O", m.ground, a, axis=(0, 1, 0))  # noqa: E741
    B = m.revolute("B", m.ground, b, axis=(0.3, 0.4, 0.5))
    m.coupling("belt", O, B, ratio="k")
    motion = m.simulate(t_end=5.0, coordinates=coordinates)
    speed = motion["joint:O.angle_d"][0]
    assert speed == pytest.approx(30.0)  # the given one; that of the other shaft follows
    np.testing.assert_allclose(motion["joint:O.angle"], speed * motion.t, atol=1e-7)
    np.testing.assert_allclose(motion["joint:B.angle"], -2.37 * speed * motion.t, atol=1e-7)
    assert speed * 5.0 > 4 * np.pi


def test_what_cannot_be_coupled_is_refused_where_it_is_made() -> None:
    m = winch(1.0)
    with pytest.raises(ModelError, match="follows itself"):
        m.coupling("again", "O", "O")
    with pytest.raises(ModelError, match="did you mean 'S'"):
        m.coupling("again", "O", "s")
    bead = m.body("bead", mass=1.0, inertia=1.0, points={"P": (0, 0)})
    m.point_on_line("P", m.ground["O"], bead, axis=(1, 0))
    with pytest.raises(ModelError, match="a coupling takes joints of one freedom") as refused:
        m.coupling("again", "P", "S")
    assert refused.value.code == "which-freedom"
    with pytest.raises(ModelError, match="ratio"):
        m.coupling("again", "O", "S", ratio="3 deg")
    with pytest.raises(ModelError, match="offset"):
        m.coupling("again", "O", "S", offset="3 deg")


def test_a_model_file_may_name_a_coupling_before_its_joints() -> None:
    text = str(winch(0.5))
    head, belt = text.split("joints:\n")[0], "  rope: {type: coupling, joint: O, follower: S, ratio: k}\n"
    rest = text.split("joints:\n")[1].replace(belt.replace("k}", "k, offset: 0.1 m}"), "")
    one = lw.loads(f"{head}joints:\n{belt}{rest}")
    motion, other = (lw.simulate(x, t_end=0.5) for x in (one, lw.loads(text.replace(", offset: 0.1 m", ""))))
    np.testing.assert_allclose(motion["weight.x"], other["weight.x"], atol=1e-14)
