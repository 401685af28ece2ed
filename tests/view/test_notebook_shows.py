"""What notebooks and pages show: tables and formulas as HTML, plots in axes of one's own, elements briefly."""

from __future__ import annotations

import json
from typing import Any

import matplotlib
import numpy as np
import pytest

import linkwork as lw
from linkwork.elements.bodies import Ground, PlanarBody, SpatialBody
from linkwork.elements.forces import Torque
from linkwork.elements.joints import Revolute
from linkwork.errors import ModelError, UsageError
from linkwork.mechanisms.generators import GENERATORS
from linkwork.view import worked

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def pendulum() -> lw.Model:
    return lw.load("simple_pendulum")


def test_comparison_check_and_exercise_are_html_in_a_cell(pendulum: lw.Model) -> None:
    """Tables with cells and formulas as MathML, whose styles stay within the cell."""
    compared = lw.compare(pendulum, formulations=["augmented", "qr"], t_end=0.1)
    for shown, wanted in (
        (compared, "<td class="),
        (lw.check(pendulum), "degree of freedom</td>"),
        (lw.explain(pendulum), "<math"),
    ):
        text = shown._repr_html_()
        assert wanted in text
        assert "\x1b" not in text
        style = text.split("<style>")[1].split("</style>")[0]
        assert style.startswith(".linkwork {")
        assert style.count("{") == style.count("}")
        assert style.rstrip().endswith("}")
        assert ":root" not in style


def test_pages_have_a_font_for_formulas_and_a_dark_side_and_hide_nothing_on_paper(pendulum: lw.Model) -> None:
    page = worked.page(lw.explain(pendulum))
    assert "Latin Modern Math" in page
    assert "prefers-color-scheme: dark" in page
    assert ".wide, math[display=" in page.split("@media print")[-1]


def test_a_plot_is_drawn_into_axes_that_are_given(pendulum: lw.Model) -> None:
    from matplotlib import pyplot

    motion = lw.simulate(pendulum, t_end=0.5)
    names = [name for name in motion if name.endswith(".phi")]
    figure, axes = pyplot.subplots()
    assert motion.plot(*names, ax=axes) is figure
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), motion[names[0]])
    in_degrees: Any = motion.to("deg")
    assert in_degrees.plot(*names, ax=axes) is figure
    np.testing.assert_allclose(np.asarray(axes.lines[-1].get_ydata(), dtype=float), np.degrees(motion[names[0]]))
    with pytest.raises(UsageError, match="one unit"):
        motion.plot("*.phi", "*.omega", ax=axes)
    with pytest.raises(UsageError, match="not axes"):
        motion.plot("*.phi", ax=figure)
    pyplot.close(figure)


def test_a_joint_shows_its_bodies_by_name() -> None:
    pin = Revolute("O", Ground(), PlanarBody("rod", 1.0, 1.0), (0.0, 0.0), (0.5, 0.0))
    assert "body_i=Ground('ground'), body_j=PlanarBody('rod')" in repr(pin)


def test_long_texts_of_json_are_read() -> None:
    """As json.dumps writes them, in one line."""
    data: Any = GENERATORS["planar_chain"][0](400)
    assert len(lw.loads(json.dumps(data)).bodies) == 400


ROD, BALL = PlanarBody("rod", 2.0, 1.0), SpatialBody("ball", 1.0, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
GROUND = Ground()
WRONG: dict[str, tuple[Any, str]] = {
    "text for a mass": (lambda: lw.Model("x", (PlanarBody("rod", "2 kg", 1.0),)), "bodies.rod.mass: '2 kg' is a text"),  # type: ignore[arg-type]
    "names for points": (
        lambda: lw.Model("x", (ROD,), (Revolute("O", GROUND, ROD, "O", "O"),), ground=GROUND),  # type: ignore[arg-type]
        "joints.O.s_i: 'O' is a text",
    ),
    "name for a body": (
        lambda: lw.Model("x", (ROD,), (Revolute("O", "ground", ROD, (0.0, 0.0), (0.0, 0.0)),)),  # type: ignore[arg-type]
        "joints.O.body_i: 'ground' is not a body",
    ),
    "body of the plane in space": (lambda: lw.Model("x", (ROD,), space="spatial"), "is a PlanarBody, and the model is"),
    "body of space in the plane": (lambda: lw.Model("x", (BALL,)), "is a SpatialBody, and the model is planar"),
    "three components": (
        lambda: lw.Model("x", (ROD,), (Revolute("O", GROUND, ROD, (0.0, 0.0, 0.0), (0.0, 0.0)),), ground=GROUND),
        "has 3 components",
    ),
    "text for a torque": (lambda: lw.Model("x", (ROD,), forces=(Torque("T", ROD, "3 N*m"),)), "is a text"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", WRONG)
def test_elements_of_wrong_types_are_refused_before_any_equation(case: str) -> None:
    make, said = WRONG[case]
    with pytest.raises(ModelError) as refused:
        lw.prepare(make())
    assert said in str(refused.value)
