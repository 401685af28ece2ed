"""Worked exercises: their numbers, their symbols, and how they are written."""

from __future__ import annotations

import html
import random
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.linalg import hilbert
from slices import with_slow

from linkwork import mechanisms
from linkwork.cli import answer
from linkwork.compiled.mechanism import prepare
from linkwork.compiled.system import RANK_TOLERANCE
from linkwork.driven.kinematics import kinematics
from linkwork.elements.bodies import PlanarBody, SpatialBody
from linkwork.equations.body import body_equations
from linkwork.equations.place import Place
from linkwork.equations.solution import EPS
from linkwork.errors import ModelError, UsageError
from linkwork.expressions.graph import Expr, constant, cos, sin, symbol
from linkwork.formulations import FORMULATIONS, all_formulations
from linkwork.lecture import letters
from linkwork.lecture.decompositions import stepping_rows
from linkwork.lecture.exercise import Exercise, Instant
from linkwork.lecture.explain import METHODS, explain, reach
from linkwork.lecture.forms import Form
from linkwork.lecture.sheet import Grid, Table, Worked, sentence
from linkwork.lecture.symbolic import Numbers, Symbols, values_of
from linkwork.model import Model
from linkwork.modelfile import load, loads
from linkwork.start.closing import find_start
from linkwork.view.formulas import plain
from linkwork.view.worked import FORMATS, as_dict, markdown, page, save, tex, text
from linkwork.writing.notation import Formula, Symbol, column, latex, number, symbol_of
from linkwork.writing.rational import ONE, ZERO, Rational, TooLong, _gather, _shorten, formula, rational, root

EQUATION = "(m L^2 + I_g) p'' + m g L cos q3 = 0"
MECHANISMS = ("simple_pendulum_rod", "slider_crank", "four_bar")


@cache
def model(name: str) -> Model:
    return load(name)


@cache
def instant(name: str, at: float) -> Instant:
    return reach(model(name), at)


@cache
def worked(name: str, formulation: str, at: float = 0.0) -> Worked:
    return Exercise(instant(name, at), formulation, METHODS[formulation]).work_out()


def cells(sheet: Worked, name: str, number: int = 0) -> list[list[str]]:
    """The first matrix of this name, or a later one, as text."""
    grids = [block for block in sheet.blocks if isinstance(block, Grid) and plain(block.symbol) == name]
    return [[plain(cell) for cell in row] for row in grids[number].cells]


# Numbers


def test_every_formulation_can_be_explained() -> None:
    assert set(METHODS) == {*all_formulations()}


@pytest.mark.diagonal
@pytest.mark.parametrize("formulation", METHODS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_numbers_in_the_text_are_those_of_augmented(name: str, formulation: str) -> None:
    """The accelerations and multipliers printed beside those of the compiled code, which are found independently."""
    sheet = worked(name, formulation)
    a, lam = sheet.difference
    assert a <= 1e-12
    assert lam <= 1e-11
    check = text(sheet).split("\nCheck\n")[1]
    largest = re.search(r"Largest difference: (\S+) in the accelerations(?:, (\S+) in the multipliers)?\.", said(sheet))
    assert largest
    assert max(float(x) for x in largest.groups() if x) <= 1e-10
    printed = re.findall(r"(\S+) +(-?[0-9.]\S*) +(-?[0-9.]\S*)$", check, re.MULTILINE)
    assert [label for label, _, _ in printed] == [*sheet.v_names, *sheet.rows]
    for (_, own, other), x in zip(printed, [*sheet.other_a, *sheet.other_lam], strict=True):
        assert float(other) == pytest.approx(x, rel=1e-9, abs=1e-12)
        assert float(own) == pytest.approx(x, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("formulation", ["augmented", "coordinate-partitioning", "putd", "qtz", "schur", "de-falco-1"])
@pytest.mark.sampled
def test_redundant_rows(formulation: str) -> None:
    """Two rows too many: the same accelerations and the same forces of the joints."""
    sheet = worked("four_bar_redundant", formulation, 0.2)
    assert sheet.difference[0] <= 1e-12
    apart = re.search(r"forces of the joints are determined, and they differ by (\S+);", said(sheet))
    assert apart
    assert float(apart[1]) <= 1e-10
    if formulation != "augmented":
        assert "The rank is r = 8" in text(sheet).replace("\n", " ")
        assert "2 of the 10 rows depend on the others" in text(sheet).replace("\n", " ")


@pytest.mark.parametrize("formulation", METHODS)
@pytest.mark.sampled
def test_no_freedom_and_no_constraint(formulation: str) -> None:
    """A driven mechanism has no reduced system, a free body no constraints."""
    assert max(worked("slider_crank_driven", formulation, 0.1).difference) <= 1e-11
    check_statements(worked("slider_crank_driven", formulation, 0.1))
    free = explain(Model("free", (PlanarBody("b", 2.0, 3.0),)), formulation)
    np.testing.assert_allclose(free.a, [0.0, -9.81, 0.0], atol=1e-13)
    assert all(
        write(sheet) for write in FORMATS.values() for sheet in (free, worked("slider_crank_driven", formulation, 0.1))
    )


def test_what_cannot_move_at_all_is_refused() -> None:
    """A plate that is fastened twice has no coordinates of joints left."""
    fastened = loads("""
linkwork: 1
ground: {points: {O: [0, 0], P: [1, 0]}}
bodies: {plate: {mass: 1, inertia: 1, points: {O: [0, 0], P: [1, 0]}}}
joints: {A: {type: rigid, i: ground.O, j: plate.O}, B: {type: rigid, i: ground.P, j: plate.P}}
""")
    with pytest.raises(UsageError, match="no velocity"):
        explain(fastened, coordinates="joint")
    assert "The rank is r = 3" in text(explain(fastened, coordinates="body", formulation="qr"))


def test_spatial_velocities_are_not_rates() -> None:
    """Euler's equations of a free body: J omega' = -omega x J omega."""
    body = SpatialBody("b", 1.0, (2.0, 3.0, 4.0, 0.0, 0.0, 0.0), angular_velocity=(1.0, 2.0, 3.0))
    sheet = explain(Model("top", (body,), gravity=(0.0, 0.0, -9.81), space="spatial"), "qr")
    np.testing.assert_allclose(sheet.a[3:], [-1 * 2 * 3 / 2, 2 * 3 * 1 / 3, -1 * 1 * 2 / 4], atol=1e-12)
    assert "J_xx,b" in text(sheet)


def test_the_state_is_that_of_the_motion() -> None:
    """At t = 5 s the pendulum stands where the elliptic functions put it."""
    about, p = model("simple_pendulum_rod").about, model("simple_pendulum_rod").parameters
    phi = about.checked["value"]
    sheet = worked("simple_pendulum_rod", "qr", 5.0)
    expected = -p["m"] * p["g"] * p["L"] * np.cos(phi) / (p["m"] * p["L"] ** 2 + p["I_g"])
    assert sheet.a[2] == pytest.approx(expected, rel=1e-7)
    assert "-2.28183" in text(sheet)


@pytest.mark.slow
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", ["slider_crank", "four_bar_redundant", "redundant_24"])
def test_rank_is_decided_as_the_kernels_do(name: str, formulation: str) -> None:
    """The rank, and the values kept; ties among equal pivots of the elimination are free."""
    e = body_equations(model(name))
    place = find_start(Place(e, *e.start())).place
    x = Numbers(e, place.q, place.v)
    kernel = FORMULATIONS[formulation](x.M, x.Psi_q, x.Q, x.gamma, RANK_TOLERANCE).rank
    sheet = text(worked(name, formulation))
    assert f"The rank is r = {kernel.rank}" in sheet.replace("\n", " ")
    if formulation == "coordinate-partitioning":
        return
    shown = re.search(r"descending\s+order:\s+(.*?)\.\n", sheet, re.DOTALL)
    assert shown is not None
    values = [float(value) for value in shown[1].replace("\n", " ").split(", ")]
    np.testing.assert_allclose(values[: kernel.rank], np.sort(kernel.values)[::-1][: kernel.rank], rtol=2e-3)


# The pendulum of Pennestri and Vita (2004), eqs. (51)-(71)


@pytest.mark.parametrize("formulation", METHODS)
@pytest.mark.parametrize("at", [0.0, 0.7])
@pytest.mark.sampled
def test_pendulum_equation(formulation: str, at: float) -> None:
    """Eqs. (56) and (71), wherever the pendulum is."""
    sheet = worked("simple_pendulum_rod", formulation, at)
    assert sheet.equation is not None
    assert plain(sheet.equation) == EQUATION
    assert f"    {EQUATION}\n" in text(sheet)


def test_pendulum_constraints() -> None:
    """Eq. (51), with the squares in gamma that the source lacks."""
    sheet = worked("simple_pendulum_rod", "qr")
    assert cells(sheet, "Psi_q") == [["1", "0", "L sin q3"], ["0", "1", "-L cos q3"]]
    written = text(sheet)
    assert "O.x  q1 - L cos q3" in written
    assert "O.y  q2 - L sin q3" in written
    assert "O.x  -L q3'^2 cos q3" in written
    assert "O.y  -L q3'^2 sin q3" in written
    assert not re.search(r"q3' (cos|sin)", written)


def test_pendulum_qr() -> None:
    """Eq. (53) with its misprints corrected: plus under the roots, R22 a root, Q2 normalized."""
    sheet = worked("simple_pendulum_rod", "qr")
    length = "sqrt(1 + L^2 sin^2 q3)"
    assert cells(sheet, "R") == [
        [length, f"-(L^2 sin q3 cos q3)/{length}"],
        ["0", f"sqrt(1 + L^2)/{length}"],
    ]
    unit = "sqrt(1 + L^2)"
    assert cells(sheet, "V") == [[f"-(L sin q3)/{unit}"], [f"(L cos q3)/{unit}"], [f"1/{unit}"]]
    assert cells(sheet, "V", -1) == [["-L sin q3"], ["L cos q3"], ["1"]]
    assert "1 - L^2" not in text(sheet)


def test_pendulum_svd() -> None:
    """Eqs. (57)-(61): singular values sqrt(2) and 1, W_i = (-1/2, 1/2, sqrt(2)/2), columns of W orthogonal."""
    sheet = worked("simple_pendulum_rod", "svd")
    assert "descending order: 1.414, 1." in text(sheet)
    np.testing.assert_allclose(np.array(cells(sheet, "V"), float)[:, 0], [-0.5, 0.5, 0.707107], atol=1e-6)
    W_d = np.array(cells(sheet, "W_d"), float)
    np.testing.assert_allclose(W_d.T @ W_d, np.eye(2), atol=1e-5)
    np.testing.assert_allclose(np.abs(W_d[:, 1]), [0.707107, 0.707107, 0.0], atol=1e-6)


def test_pendulum_partition() -> None:
    """u = (q1, q2), p = q3, and V as in eq. (54)."""
    sheet = worked("simple_pendulum_rod", "coordinate-partitioning")
    assert "u = (rod.x, rod.y)" in text(sheet)
    assert cells(sheet, "Psi_u") == [["1", "0"], ["0", "1"]]
    assert cells(sheet, "Psi_p") == [["L sin q3"], ["-L cos q3"]]
    assert cells(sheet, "V") == [["-L sin q3"], ["L cos q3"], ["1"]]


def test_double_pendulum_is_written_as_in_textbooks() -> None:
    equation = worked("double_pendulum", "qr", 0.3).equation
    assert equation is not None
    assert "1/2 m2 L1 L2 cos(q3 - q6)" in plain(equation)
    assert "1/3 m1 L1^2 + m2 L1^2" in plain(equation)


def test_what_rows_add_to_each_other_is_told_where_they_nearly_depend() -> None:
    """Of Hilbert's matrix, whose rows nearly depend on each other: as much as reflections leave on the diagonal."""
    A = hilbert(8)
    steps, lengths = stepping_rows(A)
    np.testing.assert_allclose(lengths, np.abs(np.diag(np.linalg.qr(A.T).R)), rtol=1e-6)
    assert steps == [*range(7)]  # the last adds less than what counts as rounding


# What is printed is what was computed


@pytest.mark.diagonal
@pytest.mark.parametrize("formulation", METHODS)
@pytest.mark.parametrize("name", [*MECHANISMS, "slider_crank_driven", "four_bar_redundant", "spatial_slider_crank"])
def test_every_equation_on_the_sheet_holds(name: str, formulation: str) -> None:
    """Both sides of each equation, evaluated from the formula that is displayed, and each entry in symbols."""
    sheet = worked(name, formulation, 0.1)
    assert len(sheet.statements) >= 5
    for statement in sheet.statements:
        assert statement.difference <= 1e-10, plain(statement.relation)


def test_terms_of_the_reduced_equation() -> None:
    """Eqs. (63)-(70): every block and term of M_hat and F_hat, as the source prints them."""
    written = text(worked("simple_pendulum_rod", "coordinate-partitioning"))
    for line in (
        "M^pp = I_g = 1",
        "M^pu Psi_u^-1 Psi_p = 0",
        "Psi_p^T Psi_u^-T (M^up - M^uu Psi_u^-1 Psi_p) = -m L^2 = -3",
        "M_hat = m L^2 + I_g = 4",
        "Q^p = 0",
        "M^pu Psi_u^-1 gamma = 0",
        "Psi_p^T Psi_u^-T (Q^u - M^uu Psi_u^-1 gamma) = m g L cos q3 = 20.8102",
        "Q_hat = -m g L cos q3 = -20.8102",
    ):
        assert f"    {line}\n" in written


def test_letters_of_points_and_axes() -> None:
    """Local coordinates of joints by letter and frame, each explained, in the table and in the picture."""
    sheet = explain(model("dap/cart_a"), "qr")
    written = text(sheet)
    assert "rear_axle.x          eta_A1 sin q3 + q4 - xi_A1 cos q3 - q1" in written
    assert "xi_A1      rear_axle.s_i.0      -0.3  x of point A in frame 1" in written
    assert "1 chassis, 2 rear, 3 front" in written
    assert "q6 + 2 pi t - q3" in written
    drawn = page(sheet)
    assert drawn.count("<svg") == 1
    assert all(f">{letters}</text>" in drawn for letters in ("A, C", "B, D"))
    spatial = text(explain(model("numdyn3d_pendulum"), "qr"))
    assert "e_z,C1,1" in spatial
    assert "axis_j" not in spatial.split("Constraints")[1]


CONTACTS = """linkwork: 1
name: balls
gravity: [0, -9.81]
bodies:
  A: {mass: 1, inertia: 1, position: [0, 1], points: {P: [0.1, 0]}}
  B: {mass: 2, inertia: 1, position: [0, 3], points: {P: [0.2, 0]}}
ground: {points: {O: [0, 0]}}
forces:
  falls:
    {type: line-contact, i: ground.O, j: A.P, normal: [0, 1], stiffness: 1e5, restitution: 0.5, model: flores-machado}
  lands:
    {type: line-contact, i: ground.O, j: B.P, normal: [0, 1], stiffness: 1e5, restitution: 0.5, model: flores-machado}
"""


def symbols_in(part: object) -> set[Symbol]:
    """All symbols of a formula, or of cells."""
    if isinstance(part, Symbol):
        return {part}
    inside = part if isinstance(part, tuple) else vars(part).values() if isinstance(part, Formula) else ()
    return {x for own in inside for x in symbols_in(own)}


@pytest.mark.parametrize(
    "name", with_slow(["dap/rod", "spatial_four_link", "double_pendulum", "balls"], fast=["double_pendulum", "balls"])
)
def test_every_letter_of_a_sheet_by_lu_stands_in_a_table(name: str) -> None:
    """Parameters, parts of expressions, coordinates; rates stand beside coordinates."""
    own = loads(CONTACTS) if name == "balls" else model(name)
    sheet = explain(own, "lu")
    rows = [row for block in sheet.blocks if isinstance(block, Table) for row in block.rows]
    told = {row[0] for row in rows} | {symbol_of("t"), symbol_of("pi")}
    used = {x for block in sheet.blocks if isinstance(block, Grid) for x in symbols_in(block.cells)}
    used |= {x for row in rows for part in row[1:] for x in symbols_in(part)}
    assert {replace(x, mark="") for x in used} - told == set()


def test_letters_of_contacts_are_not_names_of_bodies() -> None:
    shown = said(explain(loads(CONTACTS), "lu"))
    assert "Joints, drivers and forces have letters: C falls, D lands." in shown
    assert "m_A A.mass 1 mass of A" in shown
    assert "xi_C1 falls.s_j.0 0.1 x of point C in frame 1" in shown


@pytest.mark.slow
def test_long_functions_of_parameters_alone_have_letters() -> None:
    """Start angles of a spatial tree; with them the closure of the loop is short, and right in numbers."""
    sheet = explain(model("spatial_four_link"), coordinates="joint")
    shown = said(sheet)
    assert "Parameters alone give these numbers" in shown
    assert "C.x zeta_B2 sin(q3 - c2) + zeta_D3 cos(q4 + c1) + xi_D0 - zeta_C2 sin(q3 - c2)" in shown
    assert max(statement.difference for statement in sheet.statements) < 1e-12
    c1 = next(
        row[1] for block in sheet.blocks if isinstance(block, Table) for row in block.rows if row[0] == symbol_of("c_1")
    )
    # the rocker leans from D (-4, -8.5, 0) to C (cx, -8.5, cz), 7.4 m away; its local z is where C is
    lean = np.arctan2(6.52473, 4 - 7.49112)
    assert np.sin(float(plain(c1))) == pytest.approx(np.sin(lean), abs=1e-5)


def test_values_that_events_changed_are_those_of_the_motion() -> None:
    """A block that slips by now: the sheet has the force of slipping, as the compiled code has."""
    assert max(explain(model("stick_slip_belt"), "qr", 0.1).difference) <= 1e-9


def test_rounding_is_shown_as_zero() -> None:
    """A cart that rolls without slipping: no number on the sheet is smaller than rounding beside its neighbours."""
    numbers_shown = re.findall(r"\d(?:\.\d+)?e-(\d+)", text(explain(model("dap/cart_a"), "qr")).split("Check")[0])
    assert [x for x in numbers_shown if int(x) > 12] == []


def test_psi_t_is_shown_where_time_drives() -> None:
    """Eq. (2): the driver's row of Psi_t is minus the rate of the driving function."""
    sheet = worked("slider_crank_driven", "qr", 0.1)
    x = instant("slider_crank_driven", 0.1).numbers
    np.testing.assert_allclose(x.Psi_q @ x.v + x.Psi_t, 0.0, atol=1e-12)
    assert np.abs(x.Psi_t).max() > 0.1
    assert "what depends on time itself" in text(sheet)


def test_block_pseudo_inverses() -> None:
    """De Falco, Guida and Pennestri 2008, eq. (37) and the form after (41), of dependent rows, beside numpy's."""
    for formulation in ("de-falco-1", "de-falco-2"):
        sheet = worked("four_bar_redundant", formulation, 0.1)
        block = next(s for s in sheet.statements if plain(s.relation.sides[0]) == "K^+")
        assert block.difference <= 1e-11


def test_factors_of_zhou() -> None:
    """Zhou, Jeffrey and Reid 2007, eqs. (15)-(16) with their errata: L, P and U for the pivots in rows 2, 1, 3."""
    sheet = explain(model("slider_crank_zhou"), "lu", 0.1, pivoting=[1, 0, 2])
    p, (th1, th2) = model("slider_crank_zhou").parameters, reach(model("slider_crank_zhou"), 0.1).numbers.q
    l1, l2, m1, m2, m3, J_1, J_2 = (p[name] for name in ("l1", "l2", "m1", "m2", "m3", "J1", "J2"))
    m, c1, c2, c3 = m2 / 2 + m3, np.cos(th1), np.cos(th2), np.cos(th1 + th2)
    top = l1**2 * (m1 / 4 + m2 + m3) + J_1
    side = l2**2 * (m2 / 4 + m3) + J_2
    W_1 = 8 * (top * side / (l1 * l2 * m * c3) - l1 * l2 * m * c3)
    W_2 = 2 * (top * c2 / (l1 * m * c3) - l1 * c1)
    W_3 = side * 2 * c1 / (l2 * m * c3) - 2 * l2 * c2
    L, U = (np.array(cells(sheet, name, 1), float) for name in ("L", "U"))
    L_seed = [[1, 0, 0], [-top / (l1 * l2 * m * c3), 1, 0], [-c1 / (l2 * m * c3), 4 * W_3 / W_1, 1]]
    U_seed = [[-l1 * l2 * m * c3, side, -l2 * c2], [0, W_1 / 8, -W_2 / 2]]
    np.testing.assert_allclose(L, L_seed, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(U[:2], U_seed, rtol=1e-4, atol=1e-5)
    assert cells(sheet, "P") == [["0", "1", "0"], ["1", "0", "0"], ["0", "0", "1"]]
    assert cells(sheet, "L")[1][0] == "-W1"


@pytest.mark.parametrize("form", ["index-3", "ggl"])
@pytest.mark.parametrize("name", ["simple_pendulum_rod", "four_bar_redundant", "spatial_slider_crank"])
@pytest.mark.sampled
def test_step_of_differential_algebraic_forms(name: str, form: str) -> None:
    """phi_y is the derivative of phi by differences; the position after a step of one stage is right to order h^2."""
    errors = []
    for h in (0.01, 0.005):
        exercise = Exercise(replace(instant(name, 0.1), step=h), form, METHODS[form])
        sheet = exercise.work_out()
        assert max(statement.difference for statement in sheet.statements) <= 1e-9
        end = exercise.elsewhere[0][0](letters.y).entries[:, 0]
        motion = reach(model(name), 0.1 + h).numbers
        errors.append(np.abs(end[: len(motion.q)] - motion.q).max())
    assert 3.0 < errors[0] / errors[1] < 5.0
    kept = list(exercise.numbers.rows.independent)
    built = Form(exercise, kept, form == "ggl", letters.lam_1 if len(kept) < exercise.m else letters.lam)
    y, phi_y = built.start, exercise.scope(letters.phi_y).entries
    rng, h = np.random.default_rng(3), 1e-6
    for _ in range(4):
        d = rng.normal(size=len(y))
        ahead, behind = (built.scope(y + s * h * d, exercise.t)(letters.phi).entries[:, 0] for s in (1, -1))
        slope = (ahead - behind) / (2 * h)
        np.testing.assert_allclose(phi_y @ d, slope, atol=1e-7 * (1 + np.abs(slope).max()))


FIVE = ("simple_pendulum_rod", "slider_crank", "four_bar_redundant", "spatial_slider_crank", "warsaw_problem12")


def check_statements(sheet: Worked) -> None:
    assert len(sheet.statements) >= 3
    for statement in sheet.statements:
        assert statement.difference <= 1e-10, plain(statement.relation)


DRIVEN_SWING = """linkwork: 1
name: driven swing
ground: {points: {O: [0, 0]}}
bodies:
  a: {mass: 1.3, inertia: 0.2, position: [0.4*cos(0.3), 0.4*sin(0.3)], angle: 0.3,
      points: {O: [-0.4, 0], A: [0.5, 0.1]}}
  b: {mass: 0.8, inertia: 0.1, position: [0.9*cos(0.3) - 0.1*sin(0.3), 0.9*sin(0.3) + 0.1*cos(0.3)],
      angular_velocity: 1.7, points: {A: [0, 0], B: [0.2, 0.6]}}
joints:
  O: {type: revolute, i: ground.O, j: a.O}
  A: {type: revolute, i: a.A, j: b.A}
drivers: {m: {joint: O, motion: 0.3 + 2*t + 0.7*t^2}}
forces: {s: {type: spring-damper, i: ground.O, j: b.B, stiffness: 9, damping: 0.4, free_length: 0.3}}
simulation: {t_end: 1, step: 0.1}
"""
SLED_ON_A_BELT = """linkwork: 1
name: sled
gravity: [0, 0]
ground: {points: {O: [0, 0]}}
bodies:
  sled: {mass: 2, inertia: 0.3, angle: 0.4, points: {C: [0.1, 0.2]}, velocity: [0.3, (0.3*sin(0.4) + 0.3)/cos(0.4)]}
joints:
  belt: {type: velocity-constraint, of: length,
         formula: "sled.vx*sin(sled.phi) - sled.vy*cos(sled.phi) + 0.3 + 0.8*t^2"}
forces: {s: {type: spring-damper, i: ground.O, j: sled.C, stiffness: 9, damping: 0.4, free_length: 0.3}}
simulation: {t_end: 1, step: 0.1}
"""


@pytest.mark.parametrize("formulation", ["augmented", "qr", "coordinate-partitioning"])
@pytest.mark.parametrize("text", [DRIVEN_SWING, SLED_ON_A_BELT], ids=["driven", "slip"])
def test_constraints_of_time_are_explained_where_freedoms_are_left(text: str, formulation: str) -> None:
    """Psi_t, its rate in gamma, S Psi_t in the velocities: of a driver that accelerates, of a row of velocities."""
    sheet = explain(loads(text), formulation, 0.2)
    check_statements(sheet)
    assert max(sheet.difference) <= 1e-11


@pytest.mark.diagonal
@pytest.mark.parametrize("name", FIVE)
@pytest.mark.parametrize("coordinates", ["joint", "minimal"])
@pytest.mark.parametrize("formulation", ["augmented", "qr", "coordinate-partitioning", "lu", "index-3"])
def test_coordinates_are_explained(name: str, coordinates: str, formulation: str) -> None:
    """M = B^T M_b B, Q = B^T (Q_b - M_b B_dot v), C = D B and C V = 0, in numbers of the bodies' own equations."""
    sheet = explain(model(name), formulation, 0.1, coordinates=coordinates)
    check_statements(sheet)
    spare = name == "four_bar_redundant" and coordinates == "minimal" and formulation not in ("lu", "index-3")
    assert ("B2.x, B2.y hold by themselves" in said(sheet)) == spare
    assert sheet.difference[0] <= 1e-9


@pytest.mark.parametrize(
    "name", ["slider_crank_driven", "warsaw_problem12", "dap/cart_a", "quick_return", "jansen_leg"]
)
@pytest.mark.sampled
def test_driven_motion_is_explained(name: str) -> None:
    """Newton ends in the position of the compiled path; velocities by differences of it."""
    x = reach(model(name), 0.1, move=kinematics)
    sheet = explain(model(name), at=0.1, analysis="kinematics")
    check_statements(sheet)
    assert max(sheet.difference) <= 1e-9
    h = 1e-5
    ahead, behind = (reach(model(name), 0.1 + s * h, move=kinematics).numbers for s in (1, -1))
    size = 1 + np.abs(x.numbers.v).max()
    np.testing.assert_allclose((ahead.q - behind.q) / (2 * h), x.numbers.v, atol=1e-6 * size)
    np.testing.assert_allclose((ahead.v - behind.v) / (2 * h), sheet.a, atol=1e-5 * (1 + np.abs(sheet.a).max()))


def test_driven_motion_with_rows_too_many_is_explained() -> None:
    """With a second bearing in B: the pseudo-inverse takes the place of the inverse, and the motion is that of one."""
    driven = "\ndrivers: {motor: {joint: O, motion: 'start + 2*t + 0.3*t^2'}}\n"
    shipped = Path(mechanisms.__file__).with_name("four_bar_redundant.yaml").read_text()
    twice, once = loads(shipped + driven), loads(re.sub(r"\n  B2:.*", "", shipped) + driven)
    sheet = explain(twice, at=0.1, analysis="kinematics")
    check_statements(sheet)
    assert "Psi_q^+" in said(sheet)
    np.testing.assert_allclose(sheet.a, explain(once, at=0.1, analysis="kinematics").a, rtol=1e-10)


@pytest.mark.parametrize("name", ["stewart_platform", "delta_robot"])
@pytest.mark.slow
def test_driven_motion_in_space_is_explained(name: str) -> None:
    check_statements(explain(model(name), at=0.1, analysis="kinematics"))


def test_what_is_not_driven_has_no_kinematics() -> None:
    with pytest.raises(ModelError, match="1 freedom is not driven"):
        explain(model("four_bar"), analysis="kinematics")
    with pytest.raises(UsageError, match="no formulation"):
        explain(model("slider_crank_driven"), "qr", analysis="kinematics")


@pytest.mark.parametrize("name", FIVE)
@pytest.mark.sampled
def test_assembly_is_explained(name: str) -> None:
    """From a sketch that is off by some percent, the joints are closed and the velocities fit."""
    given = model(name)
    check_statements(explain(given, analysis="assembly"))
    moved = replace(given, bodies=tuple(_nudged(body, k) for k, body in enumerate(given.bodies)))
    sheet = explain(moved, analysis="assembly")
    check_statements(sheet)
    assert "largest gap" in text(sheet)


def test_assembly_gives_bodies_the_speed_of_their_driver() -> None:
    """Psi_q v + Psi_t = 0: the motor turns the crank by 10 rad/s, the rod, twice as long, by half backwards."""
    sheet = explain(model("slider_crank_driven"), analysis="assembly")
    check_statements(sheet)
    assert re.findall(r"(?:crank|rod)\.phi +(\S+)", text(sheet).split("After it")[1]) == ["10", "-5"]


def _nudged(body: PlanarBody | SpatialBody, k: int) -> PlanarBody | SpatialBody:
    shifted = tuple(x + 0.002 * (-1) ** (k + j) for j, x in enumerate(body.position))
    return replace(body, position=shifted)


def test_modes_are_explained() -> None:
    """The four-bar closes in two ways at each angle of its crank: in both the constraints hold."""
    sheet = explain(model("four_bar"), analysis="modes")
    check_statements(sheet)
    written = text(sheet)
    assert "Mode 1" in written
    assert "proves that there is a solution" in written


# Symbols


@pytest.mark.parametrize("name", [*MECHANISMS, "double_pendulum", "simple_pendulum", "four_bar_redundant"])
@pytest.mark.sampled
def test_symbolic_basis_at_random_states(name: str) -> None:
    """Psi_q V = 0, Psi_q S_gamma = gamma, and the reduced equation gives the accelerations of the whole system."""
    e = body_equations(model(name))
    place = find_start(Place(e, *e.start())).place
    r = Symbols(e, place.values).reduction(place.rank.rank)
    assert r is not None
    rng = np.random.default_rng(7)
    for _ in range(5):
        q, v = (rng.uniform(0.4, 2.0, len(nodes)) for nodes in (e.q, e.v))
        x = Numbers(e.with_values({p: float(rng.uniform(0.4, 2.0)) for p in e.parameters}), q, v, 0.3)
        values = x.values
        V, S_gamma = values_of(r.V, values), values_of(r.S_gamma, values)[:, 0]
        rows = list(r.rows)
        np.testing.assert_allclose(x.Psi_q[rows] @ V, 0.0, atol=1e-10 * np.max(np.abs(V)))
        np.testing.assert_allclose(x.Psi_q[rows] @ S_gamma, x.gamma[rows], atol=1e-9 * (1 + np.max(np.abs(S_gamma))))
        if r.M_hat is not None and r.Q_hat is not None:
            pdd = np.linalg.solve(values_of(r.M_hat, values), values_of(r.Q_hat, values)[:, 0])
            K = np.block([[x.M, x.Psi_q[rows].T], [x.Psi_q[rows], np.zeros((len(rows), len(rows)))]])
            a = np.linalg.solve(K, np.concatenate([x.Q, x.gamma[rows]]))[: len(x.Q)]
            np.testing.assert_allclose(V @ pdd + S_gamma, a, rtol=1e-7, atol=1e-8 * np.max(np.abs(a)))


def test_what_is_not_confirmed_is_not_shown() -> None:
    e = body_equations(model("simple_pendulum_rod"))
    symbols = Symbols(e, find_start(Place(e, *e.start())).place.values)
    assert symbols.confirm(lambda: [[ONE]], lambda x: np.ones((1, 1))) == [[ONE]]
    assert symbols.confirm(lambda: [[ONE]], lambda x: np.full((1, 1), 1.0 + 1e-6)) is None


X, Y, A, B = symbol("x"), symbol("y"), symbol("a"), symbol("b")


def random_expression(rng: random.Random, depth: int) -> Expr:
    if depth == 0:
        return rng.choice([X, Y, A, B, sin(X), cos(X), sin(Y), cos(Y), constant(1.0), constant(2.0)])
    left, right = random_expression(rng, depth - 1), random_expression(rng, depth - 1)
    return rng.choice([left + right, left - right, left * right, -left])


def number_of(x: Rational) -> float:
    return x.value({X: 0.7, Y: -1.1, A: 1.3, B: 0.6})


@pytest.mark.parametrize("seed", range(40))
def test_normal_form_keeps_the_value(seed: int) -> None:
    """Also what is only written: squares exchanged and addition theorems applied."""
    rng = random.Random(seed)
    above, below = (rational(random_expression(rng, 3)) for _ in range(2))
    if not below or abs(number_of(below)) < 1e-3:
        return
    quotient = above / below
    assert number_of(quotient) == pytest.approx(number_of(above) / number_of(below), rel=1e-9, abs=1e-9)
    for p in (quotient.above, quotient.below):
        gathered = Rational(_gather(_shorten(p), {}))
        assert number_of(gathered) == pytest.approx(number_of(Rational(p)), rel=1e-9, abs=1e-9)


def test_zero_is_seen() -> None:
    s, c, a = (rational(x) for x in (sin(X), cos(X), A))
    assert not s * s + c * c - ONE
    assert not (a * s * s) / (a * a) - s / (a / s)
    length = root(ONE + a * a)
    assert length * length - a * a == ONE
    assert root(rational(constant(4.0))) == rational(constant(2.0))
    with pytest.raises(ZeroDivisionError):
        ONE / (s * s + c * c - ONE)


def test_long_products_are_given_up() -> None:
    total = ZERO
    for k in range(20):
        total = total + rational(symbol(f"x{k}"))
    with pytest.raises(TooLong):
        total * total


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        (A * sin(X) * cos(Y) - A * cos(X) * sin(Y), "a sin(x - y)"),
        (cos(X) * cos(Y) + sin(X) * sin(Y), "cos(x - y)"),
        (1 + A * A - A * A * cos(X) * cos(X), "1 + a^2 sin^2(x)"),
        (-A / (B * cos(X)), "-a/(b cos(x))"),
        (B / (A - B), "b/(a - b)"),
        (0.5 * A - 0.25, "1/2 a - 1/4"),
        (A * sin(-X), "-a sin(x)"),
        (A * cos(-X - Y), "a cos(x + y)"),
        (sin(X) * cos(X + Y) - cos(X) * sin(X + Y), "-sin(y)"),
    ],
)
def test_writing(expression: Expr, written: str) -> None:
    assert plain(formula(rational(expression), {A: Symbol("a"), B: Symbol("b")})) == written


# Formats


class Balance(HTMLParser):
    """Checks that every element is closed in turn and that nothing is fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name == "src" or (name == "href" and not str(to).startswith("#")) for name, to in attrs)
        self.seen.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("formulation", METHODS)
@pytest.mark.sampled
def test_formats(formulation: str) -> None:
    sheet = worked("simple_pendulum_rod", formulation)
    parser = Balance()
    parser.feed(page(sheet))
    assert parser.open == []
    assert {"math", "msub", "mfrac" if formulation == "qr" else "mi", "table"} <= parser.seen
    document = tex(sheet)
    assert document.startswith("\\documentclass")
    for a, b in (("{", "}"), ("\\left(", "\\right)"), ("\\begin{", "\\end{")):
        assert document.replace("\\{", "").count(a) == document.replace("\\}", "").count(b)
    assert document.replace("\\$", "").count("$") % 2 == 0
    notes = markdown(sheet)
    assert "\\left(m L^{2} + I_{g}\\right) \\ddot{p} + m g L \\cos q_{3} = 0" in notes
    assert notes.count("$$") % 2 == 0
    lines = [line for line in notes.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in lines)
    written = text(sheet)
    assert "\\" not in written
    assert "$" not in written
    assert written.isascii()


@pytest.mark.parametrize("name", ["quick_return", "scotch_yoke", "slider_crank_driven"])
@pytest.mark.sampled
def test_no_formula_is_left_out(name: str) -> None:
    """Rows of every kind of joint and driver are written in symbols, or it is said that they are too long."""
    tables = [block for block in worked(name, "augmented").blocks if isinstance(block, Table)]
    in_symbols = [block for block in tables if block.header[2:] == ("value",) and block.header[0] == ""]
    assert len(in_symbols) >= 3
    assert all(cell != "" for block in in_symbols for row in block.rows for cell in row)
    written = text(worked("quick_return", "augmented"))
    assert "1/2 r sin(q3 - q6) + q2 cos q6 + q4 sin q6 - q1 sin q6 - q5 cos q6" in written


PIECES = {"msub": 2, "msup": 2, "msubsup": 3, "mfrac": 2, "mover": 2}


@pytest.mark.parametrize("formulation", METHODS)
@pytest.mark.sampled
def test_mathml_has_the_pieces_it_needs(formulation: str) -> None:
    """A fraction has two parts, a letter with index and power three: browsers show nothing else."""
    for shown in re.findall("<math.*?</math>", page(worked("slider_crank", formulation))):
        entities = re.sub("&(?!lt|gt|amp)[a-zA-Z]+;", lambda name: html.unescape(name[0]), shown)
        for element in ElementTree.fromstring(entities).iter():
            tag = element.tag.rpartition("}")[2]
            assert len(element) == PIECES.get(tag, len(element)), entities


Q, D, a = (symbol_of(name) for name in ("Q", "D", "a"))


@pytest.mark.parametrize(
    ("formula", "in_text", "in_latex"),
    [
        (-(D * a), "-D a", "-D a"),
        (-D * a, "-D a", "-D a"),
        (a - (Q - D), "a - (Q - D)", r"a - \left(Q - D\right)"),
        (a + (Q - D), "a + Q - D", "a + Q - D"),
        (Q * (-D), "Q (-D)", r"Q \left(-D\right)"),
        (D.plus.T * (Q - D), "(D^+)^T (Q - D)", r"\left(D^{+}\right)^{T} \left(Q - D\right)"),
        ((D * a).inverse, "(D a)^-1", r"\left(D a\right)^{-1}"),
        (symbol_of("lam_0").hat, "lam0_hat", r"\hat{\lambda}_{0}"),
        (symbol_of("speed") * symbol_of("t"), "speed t", r"\mathrm{speed} \, t"),
        (number(-2.5e-7, 3) * a, "-2.5e-7 a", r"-2.5 \cdot 10^{-7} a"),
        (a * 2, "a*2", r"a \cdot 2"),
        (column(a, 0), "[ a ]\n[ 0 ]", r"\begin{bmatrix} a \\ 0 \end{bmatrix}"),
    ],
)
def test_parentheses_and_signs(formula: Formula, in_text: str, in_latex: str) -> None:
    assert plain(formula) == in_text
    assert latex(formula) == in_latex


def test_words_and_formulas_make_a_sentence() -> None:
    x = Symbol("x")
    assert "".join(
        p if isinstance(p, str) else plain(p) for p in sentence("With", x, "(", x, "),", ("so", x), ".")
    ) == ("With x (x), so x.")


def test_the_equation_is_latex_for_programs() -> None:
    record = as_dict(worked("simple_pendulum_rod", "qr"))
    assert record["equation"] == "\\left(m L^{2} + I_{g}\\right) \\ddot{p} + m g L \\cos q_{3} = 0"
    assert list(record["a"]) == ["rod.x", "rod.y", "rod.phi"]


def test_large_matrices_come_in_blocks() -> None:
    written = text(worked("redundant_24", "qr"))
    assert "Psi_q[1, ..., 12] =" in written
    assert "Psi_q[13, ..., 24] =" in written
    assert max(len(line) for line in written.splitlines()) < 220


@pytest.mark.slow
def test_wide_matrices_fit_on_paper() -> None:
    """On paper nothing scrolls: a matrix is as much smaller as it has more characters than a line."""
    shown = page(worked("spatial_slider_crank", "svd"))
    widths = [int(x) for x in re.findall(r'class="grid[^"]*" style="--characters: (\d+)"', shown)]
    assert len(widths) == shown.count('class="grid')
    assert min(widths) < 60 < 125 < max(widths) < 250
    assert "calc(125em / var(--characters))" in shown


def test_save(tmp_path: Path) -> None:
    sheet = worked("simple_pendulum_rod", "qr")
    for suffix, write in FORMATS.items():
        save(sheet, tmp_path / f"x{suffix}")
        sheet.save(tmp_path / f"y{suffix}")
        for name in "xy":
            assert (tmp_path / f"{name}{suffix}").read_text(encoding="utf-8") == write(sheet)
    with pytest.raises(UsageError, match=r"\.md"):
        save(sheet, tmp_path / "x.pdf")


def test_wrong_requests_are_refused() -> None:
    pendulum = model("simple_pendulum_rod")
    with pytest.raises(UsageError, match="did you mean 'qr'"):
        explain(pendulum, "qrr")
    for t in (-1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="zero or positive"):
            explain(pendulum, "qr", t)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pendulum.md"
    assert answer(["explain", "simple_pendulum_rod", "--formulation", "svd", "-o", str(file)]) == 0
    assert "L \\cos q_{3} = 0" in file.read_text()
    assert answer(["explain", "simple_pendulum_rod", "--formulation", "qr", "--at", "0.1"]) == 0
    assert EQUATION in capsys.readouterr().out
    assert answer(["explain", "simple_pendulum_rod", "--formulation", "lu", "--pivoting", "2,1,3,4,5"]) == 0
    assert "P A = L U" in capsys.readouterr().out
    assert answer(["explain", "simple_pendulum_rod", "--formulation", "qr", "--pivoting", "first"]) == 2


# What is said in words


def said(sheet: Worked) -> str:
    return " ".join(text(sheet).split())


def test_augmented_is_compared_with_another_formulation() -> None:
    """A check of a method with itself would show nothing: its last column is that of qr."""
    sheet = worked("four_bar", "augmented")
    found = FORMULATIONS["qr"](
        *(getattr(instant("four_bar", 0.0).numbers, name) for name in ("M", "Psi_q", "Q", "gamma"))
    )
    np.testing.assert_allclose(sheet.other_a, found.a, rtol=1e-10)
    assert sheet.other == "qr"
    assert "with those of qr computed by compiled code" in said(sheet)
    assert worked("four_bar", "qr").other == "augmented"


def test_minimal_coordinates_are_explained_by_formulas() -> None:
    """V from the Jacobian of the loop, which stands in symbols; M and Q in numbers, and why."""
    sheet = explain(model("four_bar"), coordinates="minimal")
    shown = said(sheet)
    assert "V = P1 - P2 (C P2)^-1 C P1" in shown
    assert "beta = P2 (C P2)^-1 gamma_t" in shown
    assert cells(sheet, "C")[0] == ["a sin q1 + b sin(q1 + q2)", "b sin(q1 + q2)", "-c sin q3"]
    assert "Of M and Q there are numbers only: multiplied out, the formulas are too long" in shown
    assert "M a = Q" in shown
    assert "multipliers" not in shown.split("Accelerations")[1]


def test_velocities_of_a_tree_are_explained_by_formulas() -> None:
    sheet = explain(model("four_bar"), coordinates="joint")
    assert cells(sheet, "B")[4] == ["a cos q1 + 1/2 b cos(q1 + q2)", "1/2 b cos(q1 + q2)", "0"]
    assert "1/2 a b^2 rho q1'^2 sin q2" in said(sheet)
    assert "multiplied by B^T, in which" in said(sheet)
    assert "sin(-q2)" not in said(sheet)


def test_numbers_alone_have_a_reason() -> None:
    """In space the entries of Psi_q stand one below the other; what has no short formula is named."""
    shown = said(worked("numdyn3d_pendulum", "qr"))
    assert "C1.x, rod.wz 2 xi_C1,1 q5 q6 - 2 xi_C1,1 q4 q7" in shown
    assert "In numbers alone, because no short formula gives their entries: R, V, S, S gamma." in shown
    assert "With more than 12 coordinates" in said(worked("warsaw_problem12", "augmented"))


@pytest.mark.parametrize("name", ["dap/triple_pendulum", "jansen_leg"])
@pytest.mark.slow
def test_veiled_parts_are_written_in_full(name: str) -> None:
    """None is too long, and a parameter called e is no base of powers of Euler's number."""
    sheet = explain(model(name), "lu", coordinates="joint")
    assert not re.search(r"W\d+ +too long", text(sheet))
    assert max(statement.difference for statement in sheet.statements) < 1e-12


@pytest.mark.parametrize(
    ("name", "formulation", "coordinates"),
    [
        ("slider_crank", "schur", "minimal"),  # one velocity and no constraint: diag(0) is a number
        ("numdyn3d_pendulum", "zero-eigenvalue", "joint"),
        ("four_bar_redundant", "lu", "minimal"),  # rows that hold by themselves, of rounding alone
    ],
)
def test_sheets_of_one_velocity_hold(name: str, formulation: str, coordinates: str) -> None:
    sheet = explain(model(name), formulation, 0.05, coordinates=coordinates)
    check_statements(sheet)


@pytest.mark.parametrize("name", ["dap/slider_crank_driven", "numdyn3d_pendulum"])
def test_modes_are_explained_in_the_coordinates_of_the_bodies(name: str) -> None:
    """Also of a model that runs in joint coordinates, and in space, where turns of joints are counted besides."""
    sheet = explain(model(name), analysis="modes")
    check_statements(sheet)
    assert "Mode 1" in text(sheet)
    with pytest.raises(UsageError, match="coordinates of the bodies"):
        explain(model(name), analysis="modes", coordinates="joint")


def test_the_system_of_augmented_is_quasi_definite() -> None:
    """M above and -eps below: with eps positive there, factors would not exist in every order of the unknowns."""
    K = cells(explain(model("four_bar"), coordinates="joint"), "K")
    assert all(K[k][k].startswith("-") and K[k][k].endswith("e-11") for k in (3, 4))
    assert all(float(K[k][k]) > 0 for k in (0, 1, 2))


def test_compliances_of_augmented_are_those_of_its_formula() -> None:
    """eps is 3e-11 of the diagonal of Psi_q M^-1 Psi_q^T, found by NumPy."""
    of_euler = prepare(model("numdyn3d_pendulum"), "euler")
    exercise = Exercise(instant("four_bar", 0.1), "augmented", METHODS["augmented"])
    exercise.work_out()
    x = exercise.numbers
    diagonal = np.diag(x.Psi_q @ np.linalg.inv(x.M) @ x.Psi_q.T)
    np.testing.assert_allclose(np.diag(exercise.scope(letters.eps).entries), EPS * diagonal, rtol=1e-9)
    assert "on the diagonal of Psi_q M^-1 Psi_q^T." in said(exercise.work_out())
    turning = Exercise(reach(of_euler, 0.1), "augmented", METHODS["augmented"])
    turning.work_out()
    J = turning.numbers.Psi_q  # of a singular M: the rows themselves
    np.testing.assert_allclose(np.diag(turning.scope(letters.eps).entries), EPS * np.diag(J @ J.T), rtol=1e-9)


@pytest.mark.parametrize("form", ["index-3", "ggl"])
def test_forms_without_constraints(form: str) -> None:
    """phi = (v, a, Q - M a), which vanishes in its last part, and the step ends near the motion."""
    exercise = Exercise(instant("dap/rod", 0.1), form, METHODS[form])
    check_statements(exercise.work_out())
    x = exercise.numbers
    phi = exercise.scope(letters.phi).entries[:, 0]
    np.testing.assert_allclose(phi[:3], x.v, rtol=1e-12)
    np.testing.assert_allclose(phi[6:], 0.0, atol=1e-9)


def test_a_step_of_index_3_ends_where_the_driver_is() -> None:
    """The constraints hold at the end of the step, at t + h and not at another time: the crank is driven there."""
    name, at = "slider_crank_driven", 0.1
    h = instant(name, at).step
    end = kinematics(model(name), t_end=at + h, step=at + h)["crank.phi"][-1]
    after = text(explain(model(name), "index-3", at)).split("At the end of the step")[1]
    (found,) = re.findall(r"^ *crank\.phi +(\S+)$", after.split("Check")[0], re.MULTILINE)
    assert float(found) == pytest.approx(end, rel=1e-5)
    assert float(found) != pytest.approx(instant(name, at).numbers.q[2], rel=1e-3)


@pytest.mark.parametrize("formulation", ["lu", "ggl", "index-3"])
@pytest.mark.slow
def test_rounding_is_measured_by_what_cancels(formulation: str) -> None:
    """Where accelerations vanish, dust is not held against dust: all equations of the sheet hold to rounding."""
    sheet = explain(load("scissor_lift"), formulation)
    assert max(statement.difference for statement in sheet.statements) < 1e-11
