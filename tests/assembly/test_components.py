"""Curves and surfaces of positions, taken apart by monodromy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from published import REFERENCE

from linkwork.assembly.components import components
from linkwork.cli import answer
from linkwork.errors import UsageError
from linkwork.modelfile import load, loads

TRUST = REFERENCE / "trust"
FOUR_BAR = """
linkwork: 1
name: four_bar
ground: {{points: {{O: [0, 0], C: [{d}, 0]}}}}
bodies:
  crank: {{position: [0, 0], angle: {phi}, points: {{O: [0, 0], A: [{a}, 0]}}}}
  coupler: {{position: [{a}*cos({phi}), {a}*sin({phi})], points: {{A: [0, 0], B: [{b}, 0]}}}}
  rocker: {{position: [{d}, 0], angle: {phi}, points: {{C: [0, 0], B: [{r}, 0]}}}}
joints:
  O: {{type: revolute, i: ground.O, j: crank.O}}
  A: {{type: revolute, i: crank.A, j: coupler.A}}
  B: {{type: revolute, i: coupler.B, j: rocker.B}}
  C: {{type: revolute, i: ground.C, j: rocker.C}}
"""


def gap(q: dict[str, float]) -> float:
    """How far the pins of the four-bar are apart at q, by their places."""
    places = {}
    for body, point, s in (("crank", "A", 1.0), ("coupler", "A", 0.0), ("coupler", "B", 2.0), ("rocker", "B", 1.0)):
        places[body, point] = complex(q[f"{body}.x"], q[f"{body}.y"]) + s * np.exp(1j * q[f"{body}.phi"])
    gaps = (places["crank", "A"] - places["coupler", "A"], places["coupler", "B"] - places["rocker", "B"])
    return float(max(map(abs, gaps)))


def test_a_four_bar_of_no_special_lengths_is_one_curve() -> None:
    """Its curve in turns and their inverses has degree 6, as all modes on a slice count it."""
    (curve,) = components(loads(FOUR_BAR.format(a=1, b=2.3, r=1.7, d=2.9, phi=0.6))).components
    assert (curve.dimension, curve.degree, curve.real, curve.whole) == (1, 6, True, True)
    assert set(curve.moving) == {"crank", "coupler", "rocker"}
    assert curve.alike == curve.together == ()


@pytest.mark.parametrize(
    ("a", "b", "r", "d"), [(1, 2.3, 1.7, 2.9), (2, 3, 2.5, 1.1), (1.5, 1.6, 1.7, 3.5), (2, 2.2, 1.4, 3.1)]
)
@pytest.mark.slow
def test_real_curves_of_a_four_bar_are_those_of_grashof(a: float, b: float, r: float, d: float) -> None:
    """Two circuits where the shortest and the longest link are together shorter than the other two, else one."""
    shortest, *others, longest = sorted((a, b, r, d))
    (curve,) = components(loads(FOUR_BAR.format(a=a, b=b, r=r, d=d, phi=0.6))).components
    assert curve.circuits == (2 if shortest + longest < sum(others) else 1)


def test_a_parallelogram_is_two_curves() -> None:
    """In one the crank and the rocker turn alike and the coupler not at all; the other is crossed. Degrees add up."""
    text = FOUR_BAR.format(a=1, b=2, r=1, d=2, phi=0.6)
    straight, crossed = components(loads(text)).components
    assert straight.degree + crossed.degree == 6
    assert (straight.moving, straight.alike) == (("crank", "rocker"), ("crank = rocker",))
    assert set(crossed.moving) == {"crank", "coupler", "rocker"}
    assert crossed.alike == ()
    for curve in (straight, crossed):
        assert curve.real
        assert curve.whole
        assert curve.circuits == 1
        assert curve.q is not None
        assert gap(dict(curve.q)) < 1e-8
    assert straight.q is not None
    assert np.cos(straight.q["coupler.phi"]) == pytest.approx(1.0)


@pytest.mark.slow
def test_peaucellier_s_linkage_has_two_curves_where_its_rhombus_folds() -> None:
    """With the input held: A and B are one point, of two, and P goes round on a circle, which has degree 2."""
    found = components(load(TRUST / "peaucellier.yaml"), ["in.phi"]).components
    assert [(c.dimension, c.degree, c.real, c.whole) for c in found] == [(1, 2, True, True)] * 2
    for curve in found:
        assert curve.moving == ("pa", "pb")
        assert {"oa.A = ob.B", "ca.A = cb.B", "pa.A = pb.B"} <= set(curve.together)
        assert "pa.P = pb.P" not in curve.together  # there is a pin
    places = [complex(c.q["oa.x"], c.q["oa.y"]) for c in found if c.q]
    assert abs(places[0] - places[1]) > 0.1  # on either side


@pytest.mark.slow
def test_peaucellier_s_linkage_draws_its_line_on_one_curve_and_nothing_on_another() -> None:
    """A and B apart: P mirrors C in the rhombus, or lies on it; A and B one: two freedoms. Each curve has its name."""
    surface, *curves = components(load(TRUST / "peaucellier.yaml")).components
    assert surface.dimension == 2
    assert "oa.A = ob.B" in surface.together
    assert [(c.dimension, c.degree, c.real) for c in curves] == [(1, 6, True)] * 2
    folded = [c for c in curves if "ca.C = pa.P" in c.together]
    (drawing,) = (c for c in curves if c not in folded)
    assert len(folded) == 1
    assert not drawing.together
    assert drawing.q is not None
    rod = {name: complex(drawing.q[f"{name}.x"], drawing.q[f"{name}.y"]) for name in ("oa", "ca", "pa")}
    turn = {name: np.exp(1j * drawing.q[f"{name}.phi"]) for name in rod}
    C, P = rod["ca"] - 0.6 * turn["ca"], rod["pa"] - 0.6 * turn["pa"]
    assert abs(C) * abs(P) == pytest.approx(3.0**2 - 1.2**2, rel=1e-7)  # the inversor: OC OP = OA^2 - CA^2


def test_the_command_tells_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(FOUR_BAR.format(a=1, b=2, r=1, d=2, phi=0.6))
    assert answer(["assemble", str(file), "--components"]) == 0
    said = capsys.readouterr().out
    assert "turning alike: crank = rocker" in said
    assert said.count("curve of degree") == 2
    assert answer(["assemble", "delta_robot", "--components"]) == 2


def test_what_is_not_linear_in_turns_is_refused() -> None:
    with pytest.raises(UsageError, match="planar"):
        components(load("slider_crank_zhou"))
