"""Quantities at the boundary of the program."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwork
from linkwork import units
from linkwork.errors import ModelError
from linkwork.units import Kind, quantity, typed

FACTORS_BY_DEFINITION = [
    ("12 mm", units.LENGTH, 0.012),
    ("12mm", units.LENGTH, 0.012),
    ("-2.5e-1 km", units.LENGTH, -250.0),
    (".5 cm", units.LENGTH, 0.005),
    ("3 \u00b5m", units.LENGTH, 3e-6),
    ("1 in", units.LENGTH, 0.0254),
    ("2 ft", units.LENGTH, 0.6096),
    ("5 kg", units.MASS, 5.0),
    ("250 g", units.MASS, 0.25),
    ("1.5 t", units.MASS, 1500.0),
    ("1 lb", units.MASS, 0.45359237),
    ("20 ms", units.TIME, 0.02),
    ("2 min", units.TIME, 120.0),
    ("30 deg", units.ANGLE, math.pi / 6),
    ("30\u00b0", units.ANGLE, math.pi / 6),
    ("180 deg", units.ANGLE, math.pi),
    ("1 rev", units.ANGLE, 2 * math.pi),
    ("120 rpm", units.ANGULAR_SPEED, 4 * math.pi),
    ("90 deg/s", units.ANGULAR_SPEED, math.pi / 2),
    ("2 1/s", units.ANGULAR_SPEED, 2.0),
    ("36 km/h", units.SPEED, 10.0),
    ("9.81 m/s^2", units.ACCELERATION, 9.81),
    ("9.81 m/s**2", units.ACCELERATION, 9.81),
    ("9.81 m*s^-2", units.ACCELERATION, 9.81),
    ("9.81 m/s/s", units.ACCELERATION, 9.81),
    ("9.81 m/s\u00b2", units.ACCELERATION, 9.81),
    ("1 lbf", units.FORCE, 4.4482216152605),
    ("2 kN/m", units.STIFFNESS, 2000.0),
    ("0.2 N/mm", units.STIFFNESS, 200.0),
    ("3 N*s/m", units.DAMPING, 3.0),
    ("3 N/(m/s)", units.DAMPING, 3.0),
    ("3 kN\u00b7s/m", units.DAMPING, 3000.0),
    ("7 J", units.TORQUE, 7.0),
    ("2 kg*m^2", units.INERTIA, 2.0),
    ("500 g*cm^2", units.INERTIA, 5e-5),
    ("2 N*m", units.ROTATIONAL_STIFFNESS, 2.0),
    ("1 N*m/deg", units.ROTATIONAL_STIFFNESS, 180 / math.pi),
    ("0.1 N*m*s/rad", units.ROTATIONAL_DAMPING, 0.1),
    ("1e9", units.STIFFNESS, 1e9),
    (" -0.5 ", units.LENGTH, -0.5),
    ("0e999999999 mm", units.LENGTH, 0.0),
    ("3 Mg/ms", None, 3e6),
]


@pytest.mark.parametrize(
    ("text", "kind", "value"), FACTORS_BY_DEFINITION, ids=lambda x: x if isinstance(x, str) else ""
)
def test_quantity_has_the_value_of_its_units_definition(text: str, kind: Kind | None, value: float) -> None:
    """Units convert by their defined factors; one rounding of pi is the only other source of error."""
    assert quantity(text, kind) == pytest.approx(value, rel=4e-16, abs=0)


@given(st.floats(min_value=1e-200, max_value=1e200))
def test_conversion_rounds_once(x: float) -> None:
    """A decimal number of millimetres is the double nearest to its thousandth."""
    assert quantity(f"{x!r} mm", units.LENGTH) == float(Fraction(repr(x)) / 1000)


@pytest.mark.parametrize("kind", units.KINDS, ids=lambda kind: kind.name)
def test_examples_are_of_their_own_kind(kind: Kind) -> None:
    """The example shown in an error is accepted, and its SI unit has the factor 1."""
    assert quantity(kind.example, kind) is not None
    assert units.parse_unit(kind.unit).factor == 1


FORMULAS = ["l1/2", "-l1", "2*pi*t", "1e5*x", "2/s", "atan2(1,2)", "lbf", "(3)", "2^3", "1.5e-3*k + x2", "a1 b", ""]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_left_to_the_expression_parser(text: str) -> None:
    """A text that is neither a number nor begins like a quantity is a formula."""
    assert quantity(text, units.LENGTH) is None


REFUSED = [
    ("12 mm", units.MASS, "unit-mismatch", "'12 mm' is of kind length, not mass; write for example '250 g'"),
    ("30 deg", units.LENGTH, "unit-mismatch", "'30 deg' is of kind angle, not length"),
    ("2 N*m/rad", units.TORQUE, "unit-mismatch", "rotational stiffness, not torque"),
    ("2 m^3", units.LENGTH, "unit-mismatch", "'2 m^3' is a quantity of another kind, not length"),
    ("30 deg", units.NUMBER_KIND, "unit-mismatch", "not number without unit"),
    ("5 furlongs", units.LENGTH, "unknown-unit", "no unit 'furlongs'; known units are m, g, s,"),
    ("5 MM", units.LENGTH, "unknown-unit", "did you mean 'mm'?"),
    ("5 Kg", units.MASS, "unknown-unit", "did you mean 'kg'?"),
    ("5 Nm", units.TORQUE, "unknown-unit", "did you mean 'N*m'?"),
    ("5 Hz", units.ANGULAR_SPEED, "unknown-unit", "write rev/s or rad/s"),
    ("2 l1", units.LENGTH, "unknown-unit", "a product with a parameter is written with '*': 2*l1"),
    ("3 N/m*s", units.DAMPING, "ambiguous-unit", "unit 'N/m*s' can be read in two ways; write N*s/m or N/(m*s)"),
    ("3 m s", units.LENGTH, "bad-unit", "'*' or '/' is missing before 's'"),
    ("3 m^x", units.LENGTH, "bad-unit", "an exponent is a number below ten"),
    ("3 m^99", units.LENGTH, "bad-unit", "an exponent is a number below ten"),
    ("3 %", units.LENGTH, "bad-unit", "'%' stands where a unit should"),
    ("3 m" + "*m" * 100_000, units.LENGTH, "bad-unit", "longer than any quantity"),
    ("12,5", units.LENGTH, "decimal-comma", "'12,5' has a decimal comma; decimals follow a point; write 12.5"),
    ("1,5" + "0" * 100_000, units.LENGTH, "decimal-comma", "'1,5000"),
    ("9" * 100_000, units.LENGTH, "not-finite", "is not a finite number"),
    ("-12,5 mm", units.LENGTH, "decimal-comma", "write -12.5"),
    ("1 000 mm", units.LENGTH, "bad-number", "a blank between digits"),
    ("1e999", units.LENGTH, "not-finite", "1e999 is not a finite number"),
    ("1e999999999 mm", units.LENGTH, "not-finite", "is not a finite number"),
    ("1e308 GN", units.FORCE, "not-finite", "outside the range of numbers"),
    ("1e-320 nm", units.LENGTH, "not-finite", "outside the range of numbers"),
    ("1e-999", units.LENGTH, "number-underflow", "too small to be told from 0; write 0"),
    ("inf", units.LENGTH, "not-finite", "'inf' is not a finite number"),
    ("-.INF", units.LENGTH, "not-finite", "is not a finite number"),
    ("NaN", units.LENGTH, "not-finite", "is not a finite number"),
]


@pytest.mark.parametrize(("text", "kind", "code", "words"), REFUSED, ids=lambda x: x[:20] if isinstance(x, str) else "")
def test_bad_quantity_is_refused_with_its_reason(text: str, kind: Kind, code: str, words: str) -> None:
    """Numbers as text (row 31 of the bad inputs): a wrong quantity is an error that says what to write instead."""
    with pytest.raises(ModelError) as caught:
        quantity(text, kind)
    assert caught.value.code == code
    assert words in str(caught.value)
    assert len(str(caught.value)) < 400


@given(st.text(max_size=30) | st.from_regex(r"[0-9.,eE+-]{1,6} ?[a-zA-Z*/^()0-9 -]{0,12}", fullmatch=True))
def test_any_text_is_a_number_a_formula_or_an_error(text: str) -> None:
    """No text whatever ends in a traceback or in a number that is not finite."""
    try:
        value = quantity(text, None)
    except ModelError:
        return
    assert value is None or math.isfinite(value)


MOTIONS = [
    ("60 rpm*t", 2 * np.pi * 0.7),
    ("45 rpm * t", 1.5 * np.pi * 0.7),
    ("40 deg + 60 rpm*t", np.radians(40) + 2 * np.pi * 0.7),
    ("40deg-60rpm*t", np.radians(40) - 2 * np.pi * 0.7),
    ("9.81 rad/s^2*t^2/2 - 2°", 9.81 * 0.245 - np.radians(2)),
    ("w*t + sin(30 deg)*(2 rad/(s))**2*t^2", 1.4 + 0.98),
    ("tanh((t - 500 ms)/(1 s))", np.tanh(0.2)),
    ("l/(100 mm)", 1.03),
]


@pytest.mark.parametrize(("motion", "value"), MOTIONS)
def test_a_unit_in_a_formula_belongs_to_the_number_before_it(motion: str, value: float) -> None:
    """And goes on as long as there are units; t is the time, not the tonne."""
    model = linkwork.loads(CRANK.replace("MOTION", motion))
    assert linkwork.kinematics(model, t_end=0.7, assemble=True)["crank.phi"][-1] == pytest.approx(value, rel=1e-12)


MIXED = [
    ("3 mm + w*t", "unit-mismatch", "'3 mm + w*t' is a length, not an angle"),
    ("2 m*t", "unit-mismatch", "a quantity in m s, not an angle"),
    ("sin(3 mm)*t", "unit-mismatch", "takes the sin of a length"),
    ("2 m + 3 s", "unit-mismatch", "a length and a time together"),
    ("5 Nm*t/l", "expression-unit", "no unit 'Nm' at column 1; did you mean 'N*m'?"),
    ("5 w*t", "expression-syntax", "an operator is missing before 'w' at column 3; a product is 5*w"),
    ("t^2 rad", "expression-syntax", "an operator is missing before 'rad'"),
    ("2 sin(t)", "expression-syntax", "an operator is missing before 'sin'"),
    ("2 N*g/(1 N)", "expression-syntax", "'2 N*g' can be read in two ways"),
    ("1 rad/", "expression-syntax", "a value is missing before the end"),
    ("1 rad*" + "(" * 200 + "t", "expression-too-deep", "nested more than"),
]


@pytest.mark.parametrize(("motion", "code", "words"), MIXED, ids=lambda x: x[:20])
def test_units_in_formulas_are_followed(motion: str, code: str, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        linkwork.loads(CRANK.replace("MOTION", motion))
    assert code in {error.code for error in caught.value.errors}
    assert words in str(caught.value)


def test_parameters_are_formulas_with_units_of_each_other() -> None:
    """Their units are followed, and another value of one they need changes them."""
    text = CRANK.replace("MOTION", "q").replace("g: 1 kg", "q: l/(1 mm)*1 deg, g: 1 kg")
    for length, phi in ((0.103, 103.0), (0.2, 200.0)):
        motion = linkwork.kinematics(linkwork.loads(text, changes={"l": length}), t_end=0.1, assemble=True)
        assert motion["crank.phi"][-1] == pytest.approx(np.radians(phi), rel=1e-12)
    with pytest.raises(ModelError, match=r"parameters\.q.*(a length and a time|a time and a length) together"):
        linkwork.loads(CRANK.replace("g: 1 kg", "q: l + 3 s, g: 1 kg").replace("MOTION", "t"))


CRANK = """
linkwork: 1
name: crank
parameters: {r: 0.1, w: 2 rad/s, l: 3 mm + 10 cm, g: 1 kg}
ground: {points: {O: [0, 0]}}
bodies: {crank: {mass: 1, inertia: 0.1, points: {O: [0, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: crank.O}}
drivers: {turning: {joint: O, motion: "MOTION"}}
"""
FOUR_BAR = """
linkwork: 1
name: four_bar
parameters: {r: 0.1, l: LENGTH, b: 0.2, d: 0.3, m: 1 kg}
ground: {points: {O: [0, 0], C: [d, 0]}}
bodies:
  crank: {mass: m, inertia: 0.1, position: [r/2, 0], points: {O: [-r/2, 0], A: [r/2, 0]}}
  rod: {mass: m, inertia: 0.1, position: [r + l/2*cos(ANGLE), l/2*sin(ANGLE)], angle: ANGLE,
        points: {A: [-l/2, 0], B: [l/2, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: rod.A}
  D: {type: distance, i: rod.B, j: ground.C, length: b}
"""


@pytest.mark.parametrize(("length", "angle", "is_told"), [("300", "0.72273", True), ("0.3", "0.8411", False)])
def test_a_length_in_millimetres_is_recognized_by_the_start_that_then_fits(
    length: str, angle: str, is_told: bool
) -> None:
    """The triangle of sides 0.2, 0.3, 0.2 has the angle acos(3/4); a wrong angle says nothing about units."""
    with pytest.raises(ModelError) as caught:
        linkwork.simulate(linkwork.loads(FOUR_BAR.replace("LENGTH", length).replace("ANGLE", angle)))
    assert caught.value.code == "start-far-off"
    assert ("with l = 300 mm they fit" in str(caught.value)) == is_told
    assert ("mm" in str(caught.value)) == is_told


@pytest.mark.parametrize("formula", ["-k/2", "k/3 + r", "0.5*k", "r/2 - k/12", "k/2/2"])
def test_a_part_of_a_mass_is_no_length(formula: str) -> None:
    text = FOUR_BAR.replace("LENGTH", "0.3 m").replace("ANGLE", "0.72273").replace("m: 1 kg", "m: 1 kg, k: 2 kg")
    linkwork.loads(text)
    with pytest.raises(ModelError) as caught:
        linkwork.loads(text.replace("[-r/2, 0], A", f"[{formula}, 0], A"))
    assert caught.value.code == "unit-mismatch"


@pytest.mark.parametrize("formula", ["9.81*m", "m*9.81*cos(0.3)", "2*m", "m*sin(t/2)/2", "crank.vx/2 - 3*m"])
def test_a_number_may_have_any_unit_unless_it_counts_parts(formula: str) -> None:
    text = FOUR_BAR.replace("LENGTH", "0.3 m").replace("ANGLE", "0.72273")
    linkwork.loads(text + f"forces: {{push: {{type: point-force, at: rod.B, force: ['{formula}', 0]}}}}\n")


def test_a_start_in_angles_alone_gets_no_hint_of_millimetres() -> None:
    """The slider-crank in two angles, opened: there is no span by which lengths could be judged."""
    with pytest.raises(ModelError, match="start-far-off") as refused:
        linkwork.simulate(linkwork.load("slider_crank_zhou"), start={"theta2": 1.0})
    assert "millimetres" not in str(refused.value)


def test_what_was_typed_shows_through_rounding() -> None:
    """Twelve digits were typed if rounding explains the rest, in a vector that of its size."""
    assert typed(0.13 * 0.13) == 0.0169 != 0.13 * 0.13
    assert typed(-(0.1 + 0.2)) == -0.3
    assert typed(7.7e-17, size=0.075) == 0.0
    assert typed(0.07499999999999991, size=0.4) == 0.075
    for x in (math.pi, 1 / 3, 5e-324, 1.7e308, 7.7e-17, 0.123456789012345, -12345.678901234567, 0.0749999999):
        assert typed(x) == x
