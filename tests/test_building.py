"""Models written in Python are those of files, and what is wrong with them is said when it is written."""

import ast
import linecache
import sys
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from slices import has_bodies

import linkwork as lw
from linkwork.errors import LinkworkError, ModelError
from linkwork.expressions.graph import sin
from linkwork.modelfile import shipped

FOUR_BAR = """
linkwork: 1
name: four_bar
space: planar
parameters: {r: 40 mm, l: 120 mm, b: 80 mm, d: 100 mm, n: 60 rpm}
ground: {points: {O: [0, 0], C: [d, 0], S: [60 mm, 160 mm]}}
bodies:
  crank: {mass: 0.2 kg, inertia: 3e-5, points: {O: [-r/2, 0], A: [r/2, 0]}}
  coupler: {mass: 0.6 kg, inertia: 8e-4, points: {A: [-l/2, 0], B: [l/2, 0], P: [0, 50 mm]}}
  rocker: {mass: 0.4 kg, inertia: 2e-4, points: {C: [-b/2, 0], B: [b/2, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: coupler.A}
  B: {type: revolute, i: coupler.B, j: rocker.B}
  C: {type: revolute, i: ground.C, j: rocker.C}
drivers: {motor: {joint: O, motion: n*t}}
forces:
  spring: {type: spring-damper, i: ground.S, j: coupler.P, stiffness: 2 N/mm, damping: 5 N*s/m, free_length: 80 mm}
"""
SLIDER_CRANK = """
linkwork: 1
name: slider_crank
space: spatial
parameters: {n: 60 rpm}
ground:
  points: {A: [0, 100 mm, 120 mm], B: [0, 100 mm, 200 mm], C: [200 mm, 0, 0], S: [0, 0, 0], X: [1, 0.1, 0.2]}
bodies:
  crank:
    mass: 0.12 kg
    inertia: [1e-4, 1e-4, 1e-5]
    position: [0, 100 mm, 160 mm]
    points: {A: [0, 0, -40 mm], B: [0, 0, 40 mm]}
  rod:
    mass: 0.5 kg
    inertia: [4e-3, 4e-3, 4e-4]
    position: [100 mm, 50 mm, 100 mm]
    orientation: {z: [ground.B, ground.C], x: ground.X}
    points: {B: [0, 0, -150 mm], C: [0, 0, 150 mm]}
  slider: {mass: 2 kg, inertia: [1e-3, 1e-3, 1e-3], position: [200 mm, 0, 0], points: {C: [0, 0, 0], S: [0, 0, 0]}}
joints:
  A: {type: revolute, i: ground.A, j: crank.A, axis: [1, 0, 0]}
  B: {type: spherical, i: crank.B, j: rod.B}
  C: {type: universal, i: slider.C, j: rod.C, axis: [1, 0, 0], axis_j: [0, 1, 0]}
  S: {type: prismatic, i: ground.S, j: slider.S, axis: [1, 0, 0]}
drivers: {motor: {joint: A, motion: n*t}}
"""


def four_bar() -> lw.PlanarModel:
    m = lw.PlanarModel("four_bar", r="40 mm", l="120 mm", b="80 mm", d="100 mm", n="60 rpm")
    m.fix(O=(0, 0), C=("d", 0), S=("60 mm", "160 mm"))
    crank = m.body("crank", mass="0.2 kg", inertia=3e-5, points=dict(O=("-r/2", 0), A=("r/2", 0)))
    points = dict(A=("-l/2", 0), B=("l/2", 0), P=(0, "50 mm"))
    coupler = m.body("coupler", mass="0.6 kg", inertia=8e-4, points=points)
    rocker = m.body("rocker", mass="0.4 kg", inertia=2e-4, points=dict(C=("-b/2", 0), B=("b/2", 0)))
    motor_pin = m.revolute("O", m.ground, crank)
    m.revolute("A", crank, coupler)
    m.revolute("B", coupler, rocker)
    m.revolute("C", m.ground, rocker)
    m.driver("motor", motor_pin, "n*t")
    S, P = m.ground["S"], coupler["P"]
    m.spring_damper("spring", S, P, stiffness="2 N/mm", damping="5 N*s/m", free_length="80 mm")
    return m


def slider_crank() -> lw.SpatialModel:
    m = lw.SpatialModel("slider_crank", n="60 rpm")
    m.fix(A=(0, "100 mm", "120 mm"), B=(0, "100 mm", "200 mm"), C=("200 mm", 0, 0), S=(0, 0, 0), X=(1, 0.1, 0.2))
    crank = m.body(
        "crank",
        mass="0.12 kg",
        inertia=(1e-4, 1e-4, 1e-5),
        position=(0, "100 mm", "160 mm"),
        points=dict(A=(0, 0, "-40 mm"), B=(0, 0, "40 mm")),
    )
    rod = m.body(
        "rod",
        mass="0.5 kg",
        inertia=(4e-3, 4e-3, 4e-4),
        position=("100 mm", "50 mm", "100 mm"),
        orientation=dict(z=(m.ground["B"], m.ground["C"]), x=m.ground["X"]),
        points=dict(B=(0, 0, "-150 mm"), C=(0, 0, "150 mm")),
    )
    points = dict(C=(0, 0, 0), S=(0, 0, 0))
    slider = m.body(
        "slider", mass="2 kg", inertia=cast(Any, np.full(3, 1e-3)), position=("200 mm", 0, 0), points=points
    )
    A = m.revolute("A", m.ground, crank, axis=(1, 0, 0))
    m.spherical("B", crank, rod)
    m.universal("C", slider, rod, axis=(1, 0, 0), axis_j=(0, 1, 0))
    m.prismatic("S", m.ground, slider, axis=(1, 0, 0))
    m.driver("motor", A, "n*t")
    return m


@pytest.mark.parametrize(("make", "text"), [(four_bar, FOUR_BAR), (slider_crank, SLIDER_CRANK)])
def test_a_model_in_python_moves_as_that_of_its_file(make: Any, text: str) -> None:
    written, read = make(), lw.loads(text)
    moved, expected = written.kinematics(t_end="1 s", assemble=True), lw.kinematics(read, t_end=1.0, assemble=True)
    assert list(moved) == list(expected)
    for name in moved:
        np.testing.assert_array_equal(moved[name], expected[name])
    again = lw.kinematics(lw.loads(str(written)), t_end=1.0, assemble=True)
    np.testing.assert_array_equal(again.q, moved.q)


@pytest.mark.parametrize("name", [name for name in shipped() if has_bodies(name)])
@pytest.mark.sampled
def test_shipped_mechanisms_are_loaded_saved_and_loaded_equal(name: str, tmp_path: Path) -> None:
    first = lw.PlanarModel.__base__.load(name)  # type: ignore[union-attr]
    first.save(tmp_path / "model.yaml")
    second = type(first).load(tmp_path / "model.yaml")
    assert first == second
    assert first.model.parameters == second.model.parameters
    assert [b.name for b in first.model.bodies] == [b.name for b in lw.load(name).bodies]


def test_hard_points_are_given_once() -> None:
    """Two arms and a rod between points of one design position close without a start being worked out."""
    m = lw.SpatialModel("arms")
    m.hardpoints(O=(0, 0, 0), A=(0.3, 0, 0), B=(0.3, 0.4, 0), C=(0, 0.4, 0))
    ground = m.fix("O C")
    one = m.body("one", mass=1, inertia=(1, 1, 1), mass_centre=(0.15, 0, 0), points="O A")
    other = m.body("other", mass=1, inertia=(1, 1, 1), mass_centre=(0.15, 0.4, 0), points="C B")
    m.revolute("O", ground, one, axis=(0, 0, 1))
    m.revolute("C", ground, other, axis=(0, 0, 1))
    m.distance("rod", one["A"], other["B"])
    assert m.check().dof == 1
    assert m.assemble().residual == 0.0


def test_another_value_moves_as_if_it_had_been_written() -> None:
    m = four_bar()
    other = m.copy(l="110 mm")
    assert m.parameters["l"] == "120 mm"
    assert other != m
    expected = lw.kinematics(lw.loads(FOUR_BAR.replace("120 mm", "110 mm")), assemble=True, t_end=0.5)
    np.testing.assert_array_equal(other.kinematics(assemble=True, t_end=0.5).q, expected.q)
    other.change("spring", stiffness="3 N/mm")
    assert "3 N/mm" in str(other)
    other.remove("spring")
    assert "spring" not in other
    assert "spring" in m


def test_settings_name_joints_of_the_model() -> None:
    """A start by joints is that of the file with the same lines."""
    m = four_bar()
    m.remove("motor")
    m.simulation = dict(t_end="1 s", start=dict(O="30 deg"))
    assert m.assemble().q["crank.phi"] == pytest.approx(np.pi / 6)
    with pytest.raises(ModelError, match=r"simulation\.start\.P: no coordinate .P."):
        m.simulation = dict(start=dict(P="30 deg"))


def test_wide_gaps_are_closed_for_comparisons_and_exercises() -> None:
    m = four_bar()
    with pytest.raises(ModelError, match="assemble=True"):
        m.compare(t_end=0.01, formulations=["qr"])
    assert m.compare(t_end=0.01, formulations=["qr"], assemble=True).rows[0].status == "ok"
    closed = m.assemble().q["coupler.phi"]
    assert f"{closed:.6g}".lstrip("0") in str(m.explain("qr", assemble=True))


def test_models_of_files_have_the_analyses_and_a_picture() -> None:
    model = lw.load("slider_crank")
    np.testing.assert_array_equal(model.simulate(t_end=0.1).q, lw.simulate(model, t_end=0.1).q)
    assert "data:image/svg+xml" in model._repr_html_()


def test_a_notebook_shows_the_cell_and_no_frames_of_linkwork(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "m.body('b', mass=1)\nm.body('rod', mass='2 m')"
    names = {"m": lw.PlanarModel("m"), "In": ["", "import linkwork as lw", source]}
    name = "/tmp/ipykernel_7/4280155285.py"
    monkeypatch.setitem(linecache.cache, name, (len(source), None, source.splitlines(keepends=True), name))
    with pytest.raises(ModelError, match=r"In \[2\]:2: bodies.rod.mass: '2 m' is of kind length") as raised:
        exec(compile(source, name, "exec"), names)
    shown = "\n".join(raised.value._render_traceback_())
    assert "4280155285.py" in shown
    assert "linkwork/building.py" not in shown
    assert shown.endswith("[unit-mismatch]")


def test_a_copy_takes_elements_of_the_first() -> None:
    m = four_bar()
    other = m.copy(l="110 mm")
    other.point_force("push", m["crank"]["A"], force=("1 N", 0))
    other.torque("turn", m["crank"], torque="1 N*m")
    assert "push" in other
    assert "push" not in m


def test_points_are_named_in_brackets() -> None:
    m = lw.PlanarModel("arm")
    arm = m.body("arm", points={"A": (0, 0)})
    assert arm["A"] == "arm.A"
    assert not hasattr(arm, "A")
    with pytest.raises(AttributeError, match=r'a point or a direction is arm\["A"\]'):
        _ = arm.A


def test_values_with_units_are_taken_wherever_numbers_are() -> None:
    m = four_bar()
    expected = m.kinematics({"l": 0.13, "n": np.pi}, t_end=0.5, assemble=True)
    for of in (m, m.prepare()):
        found = of.kinematics({"l": "130 mm", "n": "30 rpm"}, t_end="500 ms", assemble=True)
        np.testing.assert_array_equal(found.q, expected.q)
    points = m.sweep({"l": ["110 mm", 0.12]}, take=["max(coupler.P.y)"], driven=True, t_end=0.01, assemble=True)
    np.testing.assert_allclose(points["l"], [0.11, 0.12], rtol=1e-15)
    disc = lw.PlanarModel("disc")
    disc.fix(O=(0, 0))
    disc.revolute("O", disc.ground, disc.body("disc", mass=1, inertia=1, points=dict(O=(0, 0))))
    start = disc.simulate(start={"disc.phi": "30 deg", "disc.omega": "30 rpm"}, t_end=1)
    assert start["disc.phi"][0] == pytest.approx(np.pi / 6, rel=1e-15)
    assert start["disc.phi"][-1] == pytest.approx(np.pi / 6 + np.pi)


def test_what_a_type_is_called_elsewhere_is_answered_by_its_name() -> None:
    with pytest.raises(AttributeError, match="no 'pin'; write revolute"):
        four_bar().pin("O")


def test_events_and_motions_between_points() -> None:
    """A mass on a slide, pulled at 0.1 m/s for a second, then stopped by an event: x = 0.3 + 0.1 t."""
    m = lw.PlanarModel("slide")
    m.gravity = (0, 0)
    m.fix(A=(0, 0))
    cart = m.body("cart", mass=1, inertia=1, position=(0.3, 0), points=dict(A=(0, 0)))
    m.prismatic("A", m.ground, cart, axis=(1, 0))
    m.driver("pull", (m.ground["A"], cart["A"]), "0.3 + 0.1*t", freedom="distance")
    m.simulation = dict(t_end="1 s", step="100 ms")
    assert m.kinematics()["cart.x"][-1] == pytest.approx(0.4, abs=1e-12)
    free = lw.PlanarModel("free")
    free.gravity = (0, 0)
    free.fix(A=(0, 0))
    free.prismatic(
        "A", free.ground, free.body("cart", mass=1, inertia=1, velocity=(2, 0), points=dict(A=(0, 0))), axis=(1, 0)
    )
    free.event("there", "cart.x - 1", action="stop")
    assert free.simulate(t_end="3 s").t[-1] == pytest.approx(0.5, abs=1e-12)


def test_a_formula_may_name_a_body_that_comes_later() -> None:
    m = lw.PlanarModel("later", k=10)
    m.fix(A=(0, 0))
    first = m.body("first", mass=1, inertia=1, points=dict(A=(0, 0)))
    m.point_force("pull", first["A"], force=("-k*(first.x - second.x)", 0))
    with pytest.raises(ModelError, match=r"unknown name 'second\.x'"):
        m.simulate(t_end=1)
    m.body("second", mass=1, inertia=1, position=(1, 0))
    assert m.simulate(t_end=0.1).status == "finished"


def test_every_type_of_model_files_is_a_method_with_its_words() -> None:
    for space, kind in (("planar", lw.PlanarModel), ("spatial", lw.SpatialModel)):
        from linkwork.elements.forces import FORCES
        from linkwork.elements.joints import JOINTS

        for name, cls in {**JOINTS[space], **FORCES[space]}.items():  # type: ignore[index]
            method = getattr(kind, name.replace("-", "_"))
            assert str(method.__doc__).split("\n")[0] == str(cls.__doc__).split("\n")[0].strip()


def test_the_stub_for_editors_is_current() -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
    stubs = import_module("stubs")

    written = Path(lw.__file__).with_name("models.pyi").read_text(encoding="utf-8")
    assert ast.dump(ast.parse(written)) == ast.dump(ast.parse(stubs.stub())), "run docs/stubs.py"


def test_a_notebook_shows_the_mechanism() -> None:
    shown = four_bar()._repr_html_()
    assert "data:image/svg+xml" in shown
    assert "4 joints" in shown or "joints: 4" in shown
    assert len(shown) < 50_000


WRONG = {
    "m.revolute('Q', crank, coupler)": "no point 'Q'",
    "crank['Z']": "choose from O, A",
    "m.revolute('A', crank, coupler)": "since line",
    "m.revolute('R', crank['A'])": "'j' is missing",
    "m.revolute('R', crank['A'], 3)": "should be a text",
    "m.revolute('R', crank['A'], 'cuopler.A')": "did you mean 'coupler'",
    "m.revolute('R', crank['A'], coupler['A'], rocker['B'])": "by keyword",
    "m.revolute('R', crank['A'], crank['A'])": "to itself",
    "m.revolute('R.x', crank['A'], coupler['A'])": "a dot joins",
    "m.revolute('', crank['A'], coupler['A'])": "is empty",
    "m.revolute(7, crank['A'], coupler['A'])": "not a text",
    "m.prismatic('R', crank['A'], coupler['A'])": "'axis' is missing",
    "m.prismatic('R', crank['A'], coupler['A'], axis=(1, 0, 0))": "pair of numbers",
    "m.prismatic('R', crank['A'], coupler['A'], axis=(0, 0))": "length zero",
    "m.distance('R', crank['A'], coupler['B'], length='-5 mm')": "not a length",
    "m.distance('R', crank['A'], coupler['B'], length='5 s')": "of kind time, not length",
    "m.distance('R', crank['A'], coupler['B'], lenght=5)": "did you mean 'length'",
    "m.gear('R', crank, rocker, radius_i=0, radius_j=1)": "not a radius",
    "m.body('x', mass=-1)": "negative",
    "m.body('x', mass='1 kgg')": "no unit 'kgg'",
    "m.body('x', mass=[1])": "should be a number",
    "m.body('x', mass=float('nan'))": "not a finite number",
    "m.body('x', mass=True)": "should be a number",
    "m.body('x', mass=object())": "should be a number",
    "m.body('x', mass=1, points=dict(A=(1, 2, 3)))": "pair of numbers",
    "m.body('x', mass=1, points=dict(A='r'))": "should be a list",
    "m.body('x', mass=1, points='A B')": "hardpoints",
    "m.body('x', mass=1, points=dict(A=('q', 0)))": "unknown name 'q'",
    "m.body('x', mass=1, colour='pinkish')": "should be black, white",
    "m.body('x', mass=1, points=[(0, 0)])": "gives no names to points",
    "m.fix((0, 0))": "gives no names to points",
    "m.rotational_spring_damper('r', crank, rocker, law=lambda angle: angle > 0)": "does not make a formula",
    "m.rotational_spring_damper('r', crank, rocker, law=lambda angle: None)": "does not make a formula",
    "m.rotational_spring_damper('r', crank, rocker, law=lambda angle: {}[angle])": "does not make a formula",
    "m.rotational_spring_damper('r', crank, rocker, law=lambda angel: 3*angel)": "did you mean 'angle'",
    "m.coupling('r', O, 'D')": "no joint 'D'",
    "setattr(m, 'simulation', 5)": "5: should be a mapping [",
    "m.prepare().state({'crank.phi': 'up'})": "neither a number",
    "m.body('ground', mass=1)": "does not move",
    "m.body('crank', mass=1)": "since line",
    "m.fix(O=(1, 2, 3))": "pair of numbers",
    "m.fix('Z')": "hard point",
    "m.driver('second', 'OO', 't')": "did you mean 'O'",
    "m.driver('second', O, 'sin(t')": "parenthesis",
    "m.driver('second', O, '3 m')": "of kind length, not angle",
    "m.driver('second', O, '1/t')": "not finite",
    "m.driver('second', O, dict(type='ramp'))": "missing",
    "m.driver('second', O, dict(type='rampp', rate=1))": "did you mean",
    "m.driver('second', (crank['A'],), 't')": "two points",
    "m.spring_damper('s', crank['A'], rocker['B'], stiffness='3 kg')": "of kind mass, not stiffness",
    "m.spring_damper('s', crank['A'], rocker['B'], stifness=3)": "did you mean 'stiffness'",
    "m.point_force('F', crank['A'], force=('2*q', 0))": "unknown name 'q'",
    "m.torque('T', crank, torque='1 N')": "not torque",
    "m.event('e', 'crank.phi - pi', action='stopp')": "'record', 'stop' or 'set'",
    "m.event('e', 3)": "should be a text",
    "m.copy(ll=3)": "did you mean 'l'",
    "setattr(m, 'gravity', (0, 0, 1))": "pair of numbers",
    "setattr(m, 'simulation', dict(t_end=-1))": "above zero",
    "setattr(m, 'simulation', dict(tend=1))": "did you mean 't_end'",
    "m.remove('crank')": "needed by joints.O",
    "m['crnk']": "did you mean 'crank'",
    "m.change('crank', mass='2 m')": "of kind length, not mass",
    "lw.PlanarModel('x', t=3)": "meaning of its own",
    "lw.PlanarModel('x', a='b', b='a')": "cycle",
    "lw.PlanarModel('x', a='3 foo')": "no unit 'foo'",
    "m.kinematics(t_end='3 kg')": "not time",
    "m.simulate(t_end='soon')": "not a time",
    "m.simulate(tend=1)": "did you mean 't_end'",
    "m.kinematics({'l': '3 kg'}, t_end=1, assemble=True)": "of kind mass",
    "m.kinematics(assembled=True)": "did you mean 'assemble'",
    "m.check(3)": "too many positional arguments",
    "m.simulate(start={'crank.phi': '3 mm'})": "of kind length",
    "m.body(mass=1)": "the name comes first",
    "m.driver('second', O)": "missing a required argument: 'motion'",
    "m.driver('second', O, 't', freedon='angle')": "did you mean 'freedom'",
    "m.change('crank', name='rod')": "multiple values for argument 'name'",
    "m.copy(3)": "too many positional arguments",
    "m.fix(O=(1, 1))": "has a point 'O' already",
    "m.hardpoints(Z=(1, 2, 3))": "pair of numbers",
    "[m.hardpoints(Z=(1, 2)), m.hardpoints(Z=(1, 3))]": "a hard point 'Z' already",
    "setattr(m, 'gravty', (0, 0))": "did you mean 'gravity'",
    "setattr(m, 'name', 'other')": "no setting 'name'",
    "lw.PlanarModel('x', l=float('nan'))": "not a finite number",
    "m.revolute('R', crank['A'], lw.PlanarModel('o').body('rocker', mass=1, points=dict(R=(0, 0))))": "an element of",
    "m.change('A', i=lw.PlanarModel('o').body('rocker', mass=1, points=dict(B=(0, 0)))['B'])": "an element of",
    "m.entry('foo', 'x')": "no section 'foo'",
    "m.entry('bodies', 'crnk')": "did you mean 'crank'",
    "lw.PlanarModel()": "PlanarModel: missing a required argument: 'name'",
    "lw.Baumgarte(3, 4, 5)": "Baumgarte: too many positional arguments",
    "m.compare(max_step=-1)": "max_step = -1 is not a step",
    "m.driver('second', (crank['A'], 'ground.C', 'x'), 't')": "is not two points",
    "m.actuator('second', (crank['A'], 'ground.C', 'x'))": "is not two points",
    "m.actuator('second', {'a': 1})": "should be a text",
    "m.driver('second', lw.PlanarModel('o').body('crank', mass=1), 't')": "an element of",
    "m.prismatic('R', crank['A'], coupler['A'], axis='x')": "write [1, 0]",
    "m.optimize({'l': 5}, 'max(crank.x)')": "needs a range from LOW to HIGH",
    "m.simulate(tspan=(0, 1))": "did you mean 't_end'",
    "m.explain('gauss', assemble=True)": "choose from index-3, ggl",
    "m.simulate(dt=0.1)": "did you mean 'step'",
    "m.simulate(t_end=(0, 1))": "motions begin at t = 0",
    "m.simulate(formulation=lambda M, Psi_q, Q, gamma: (Q, gamma))": "linkwork.own.formulation",
    "lw.Controller(print, every='1 ms')": "multiple values for argument 'every'",
    "m.prepare().state({'crank.phi': '3 mm'})": "of kind length",
}


@pytest.mark.parametrize("code", WRONG)
def test_what_is_wrong_is_refused_when_it_is_written(code: str) -> None:
    m = four_bar()
    names = {"m": m, "lw": lw, "O": m["O"], **{name: m[name] for name in ("crank", "coupler", "rocker")}}
    before = str(m)
    with pytest.raises(LinkworkError) as raised:
        eval(code, names)
    assert WRONG[code] in str(raised.value)
    if isinstance(raised.value, ModelError) and "t_end='" not in code:
        assert all(error.file == "<string>" and error.line == 1 for error in raised.value.errors)
    assert str(m) == before


def test_a_change_takes_what_adding_takes() -> None:
    m, n = four_bar(), four_bar()
    m.change("A", i=m["coupler"], j=m["crank"])
    n.change("A", i="coupler.A", j="crank.A")
    assert m == n
    m.body("plate", mass=np.array(3.0), inertia=1)
    assert m.entry("bodies", "plate")["mass"] == 3.0


def test_settings_are_changed_as_a_whole() -> None:
    """What is handed out cannot be changed unchecked, and is taken again."""
    m = four_bar()
    m.simulation, m.view = dict(t_end=1, start=dict(O="30 deg")), dict(units=["mm"])
    for change in ("m.simulation['t_end'] = '3 kg'", "m.simulation['start']['O'] = 1", "m.view['units'][0] = 'kg'"):
        with pytest.raises(TypeError, match="item assignment"):
            exec(change, {"m": m})
    with pytest.raises(TypeError, match="item assignment"):
        m.parameters["r"] = 1  # type: ignore[index]
    m.simulation = {**m.simulation, "t_end": "3 s"}
    assert m.simulation == {"t_end": "3 s", "start": {"O": "30 deg"}}
    assert m.view == {"units": ("mm",)}
    assert m.gravity == (0, -9.81)


def test_only_what_is_named_is_needed() -> None:
    """Names are whole: "e" is none of "revolute", the body m none of "3 m", the joint S not the point ground.S."""
    m = four_bar()
    for name in ("e", "m", "S"):
        m.body(name, mass=1, inertia=1, points=dict(S=(0, 0)))
        m.remove(name)
    m.remove("motor")
    m.revolute("S", m.ground, m.body("plate", mass=1, inertia=1, points=dict(S=(0, 0))))
    m.remove("S")
    m.torque("push", m["plate"], torque="2*coupler.phi")
    m.remove("A")
    m.remove("B")
    m.remove("spring")
    with pytest.raises(ModelError, match=r"'coupler' is needed by forces\.push"):
        m.remove("coupler")


def test_the_line_of_a_module_beside_the_package_is_told() -> None:
    file = Path(lw.__file__).parent.with_name("linkwork_mine.py")
    code = compile("\n\nm.body('rod', mass='2 m')", str(file), "exec")
    with pytest.raises(ModelError, match=r"linkwork_mine\.py:3: bodies.rod.mass"):
        exec(code, {"m": four_bar()})


def test_a_parameter_that_nothing_uses_is_noted() -> None:
    """A misspelt setting becomes a parameter; one in a start value, a shape or another parameter's formula is used."""
    m = lw.PlanarModel("rod", l="1 m", J="m*l^2/12", m=2, width="l/20", raised="30 deg", gravty=3, density=7800)
    m.fix(O=(0, 0))
    shape = dict(type="rod", ends=((0, 0), ("l", 0)), width="width")
    rod = m.body("rod", mass="m", inertia="J", points=dict(O=(0, 0)), shape=shape)
    m.revolute("O", m.ground, rod)
    m.simulation = dict(start={"O": "raised"})
    said = "no formula uses the parameters 'gravty', 'density'; is a name misspelt?"
    assert [note for note in m.check().notes if note.code == "unused-parameters"] == [f"{said} [unused-parameters]"]
    assert not any(note.code == "unused-parameters" for note in four_bar().check(assemble=True).notes)


def test_a_law_may_be_a_function_that_is_called_once_with_symbols() -> None:
    """It becomes a formula of its arguments, which is saved, differentiated and compiled like one that was written."""
    m, n = four_bar(), four_bar()

    def cubic(angle: Any, l: Any) -> Any:  # noqa: E741 - as the parameter is called
        return 4.0 * l * angle**3 - sin(angle)

    m.rotational_spring_damper("cubic", m["crank"], m["rocker"], law=cubic)
    n.rotational_spring_damper("cubic", n["crank"], n["rocker"], law="4*l*angle^3 - sin(angle)")
    motions = [x.kinematics(t_end="0.5 s", assemble=True) for x in (m, n)]
    np.testing.assert_allclose(motions[0]["torque:motor"], motions[1]["torque:motor"], rtol=1e-12)
    np.testing.assert_array_equal(lw.kinematics(lw.loads(str(m)), t_end="0.5 s", assemble=True).q, motions[0].q)


def test_an_input_that_fails_is_named_with_its_time() -> None:
    with pytest.raises(LinkworkError, match="does not follow an input"):
        four_bar().simulate({"r": lambda t, x: 1.0}, t_end=0.1)
    p = lw.PlanarModel("fall", u=1.0)
    p.body("a", mass=1.0, inertia=1.0)
    p.torque("push", p["a"], "u")
    with pytest.raises(LinkworkError, match="input 'u' is 'x' at t = 0, no number"):
        p.simulate({"u": lambda t, x: "x"}, t_end=0.1)


def test_names_of_linkwork_are_what_users_call() -> None:
    assert {name for name in dir(lw) if not name.startswith("__")} == set(lw.__all__)


def test_every_function_of_a_mechanism_is_a_method_of_it() -> None:
    functions = [getattr(lw, name) for name in lw.__all__ if name[0].islower()]
    named = {f.__name__ for f in functions if next(iter(signature(f).parameters), "") == "model"} - {"load", "actuated"}
    assert {"simulate", "fit", "optimize", "write_down"} <= named
    for cls in (lw.PlanarModel, lw.Model, lw.Mechanism):
        assert named <= {*dir(cls)}
    assert "by svd" not in str(four_bar().write_down("lagrange"))


def test_a_prepared_mechanism_has_the_analyses_of_a_model() -> None:
    """Each is the function of its name; values of parameters come second, times may have units."""
    m = four_bar()
    mechanism = m.prepare()
    assert mechanism.check(assemble=True).dof == m.check(assemble=True).dof
    assert len(mechanism.modes().modes) == len(m.modes().modes)
    for of in (m, mechanism):
        motion = of.kinematics({"r": 0.03}, t_end="20 ms", assemble=True)
        assert motion.t[-1] == 0.02
        assert np.hypot(motion["crank.A.x"], motion["crank.A.y"]) == pytest.approx(0.03)
    model = lw.load("slider_crank")
    expected, found = (
        lw.prepare(model).simulate({"omega": 2.0}, t_end=0.1),
        lw.simulate(model, {"omega": 2.0}, t_end="100 ms"),
    )
    np.testing.assert_array_equal(expected.q, found.q)
    assert "by svd" in str(lw.prepare(model).explain("svd"))
    assert lw.prepare(model).compare(t_end=0.05, formulations=["svd"]).rows[0].status == "ok"
    with pytest.raises(LinkworkError, match="is not a time"):
        lw.simulate(model, t_end="soon")
