"""Model files: from text to Model, and every fault with its line, its path and its code."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwork import check, kinematics, modes
from linkwork.document import parse, save
from linkwork.elements.bodies import PlanarBody, SpatialBody
from linkwork.elements.contact import Compliance
from linkwork.elements.forces import FORCES, PointForce, SpringDamper
from linkwork.elements.joints import JOINTS, Measure, Prismatic, Revolute
from linkwork.elements.motions import MOTIONS, Law, Ramp, Table
from linkwork.errors import ModelError, UsageError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import Expr, as_expr, symbol
from linkwork.model import Model
from linkwork.modelfile import json_schema, load, loads, schema, shipped
from linkwork.soundness import look_at, sound

CRANK = """\
linkwork: 1
name: crank
parameters: {l1: 1 m, l2: 2*l1, half: l1/2}
ground: {points: {O: [0, 0]}, directions: {u: [1, 0]}}
bodies:
  crank: {mass: 1, inertia: 0.1, position: [half, 0], angle: 0 deg, points: {O: [-half, 0], A: [half, 0]}}
  rod: {mass: 2 kg, inertia: 0.4, position: [l1 + l2/2, 0], points: {A: [-l2/2, 0], B: [1000 mm, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: rod.A}
  B: {type: point-on-line, i: ground.O, j: rod.B, axis: ground.u}
drivers:
  motor: {joint: O, motion: 2*pi*t}
forces:
  spring: {type: spring-damper, i: ground.O, j: rod.B, stiffness: 2 kN/m, free_length: l1 + l2, law: -3*rate^3}
  load: {type: point-force, at: rod.B, force: [-5*rod.vx, 1 kN]}
simulation: {t_end: 2 min, step: 10 ms}
"""


def value(model: Model, x: Expr | float) -> float:
    values = {symbol(name): number for name, number in model.parameters.items()}
    return float(evaluate([x], values)[0]) if isinstance(x, Expr) else float(x)


def notes_on(model: Model) -> tuple[str, ...]:
    return look_at(model).unusual().told(model)


def test_a_file_becomes_the_model_it_describes() -> None:
    """Quantities are in SI, formulas hold their parameters, references lead to the bodies themselves."""
    model = loads(CRANK)
    crank, rod = model.bodies
    assert isinstance(crank, PlanarBody)
    assert (model.name, crank.name, rod.name) == ("crank", "crank", "rod")
    assert model.parameters == {"l1": 1.0}
    assert value(model, rod.position[0]) == 2.0
    assert rod.points["B"] == (1.0, 0.0)
    assert model.gravity == (0, -9.81)
    joint_o, _, joint_b = model.joints
    assert isinstance(joint_o, Revolute)
    assert joint_o.body_i is model.ground
    assert joint_o.body_j is crank
    assert joint_o.s_j is crank.points["O"]
    assert joint_b.axis == (1.0, 0.0)  # type: ignore[union-attr]
    (motor,) = model.drivers
    assert (motor.joint, motor.freedom) == (joint_o, "angle")
    assert isinstance(motor.motion, Law)
    assert evaluate([motor.motion.f(symbol("t"))], {symbol("t"): 0.25}) == [math.pi / 2]
    spring, load_ = model.forces
    assert isinstance(spring, SpringDamper)
    assert spring.stiffness == 2000.0
    assert value(model, spring.free_length) == 3.0
    assert isinstance(load_, PointForce)
    assert load_.force[1] == 1000.0
    assert (model.simulation.t_end, model.simulation.step) == (120.0, 0.01)


def test_a_changed_parameter_reaches_what_depends_on_it() -> None:
    """Formulas follow a new value; a quantity must be of the kind the parameter had."""
    model = loads(CRANK, changes={"l1": "50 cm"})
    assert model.parameters == {"l1": 0.5}
    assert value(model, model.bodies[1].position[0]) == 1.0
    assert loads(CRANK, changes={"l2": 7.0}).parameters == {"l1": 1.0, "l2": 7.0}
    for changes, code in (
        ({"l1": "5 kg"}, "unit-mismatch"),
        ({"l3": 1.0}, "unknown-parameter"),
        ({"l1": "5 furlongs"}, "unknown-unit"),
        ({"l1": "1 +"}, "expression-syntax"),
        ({"l1": "inf"}, "not-finite"),
    ):
        with pytest.raises(UsageError) as caught:
            loads(CRANK, changes=changes)
        assert caught.value.code == code


# What a note tells of on purpose: a body that is free, axes as their sources have them, and the rod of a source that
# gives it no inertia about its axis.
MEANT = {
    **{name: ["not-connected]"] for name in ("free_rigid_body", "dap/rod", "dap/rod_jc", "dap/two_rods")},
    **{name: ["not-unit]"] for name in ("dap/macpherson_b", "dap/macpherson_b_jc", "dap/macpherson_c")},
    **{name: ["not-unit]", "not-unit]"] for name in ("redundant_24", "warsaw_problem12")},
    "numdyn3d_pendulum": ["zero-mass]"],
    "numdyn3d_pendulum_in_plane": ["zero-mass]"],
}


@pytest.mark.parametrize("name", shipped())
def test_shipped_mechanisms_load_without_notes(name: str) -> None:
    """Every shipped file is read, bears its own name and states its source and a checked number."""
    model = load(name)
    assert model.name == name.split("/")[-1]
    assert [note.split("[")[-1] for note in notes_on(model)] == MEANT.get(name, [])
    assert model.about.source
    assert {"quantity", "t", "value", "tolerance"} <= model.about.checked.keys()


def test_a_model_is_found_by_name_or_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is a shipped mechanism, anything that looks like a path is a file; JSON reads the same."""
    assert load("slider-crank").name == "slider_crank"
    monkeypatch.chdir(tmp_path)
    Path("crank.json").write_text(json.dumps(parse(CRANK).data))
    assert [body.name for body in load("crank.json").bodies] == ["crank", "rod"]
    assert len(load("planar_chain").bodies) == 8
    assert len(load("planar_chain:64").bodies) == 64
    missing = ("slider_crnk", "", "x" * 5000, "a\0b", "../nothing.yaml", "slider_crank:3")
    for name in (*missing, "planar_chain:0", "planar_chain:", "planar_chain:1e9", "planar_chain:99999999"):
        with pytest.raises(UsageError) as caught:
            load(name)
        assert caught.value.code in (("no-such-model", "no-such-file") if name in missing else ("bad-size",))
        assert len(str(caught.value)) < 6000
    with pytest.raises(UsageError, match="did you mean 'slider_crank'"):
        load("slider_crnk")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("dap/SP", "'dap/sliding_pendulum' or 'dap/sliding_pendulum_jc'"),
        ("mpb", "'dap/macpherson_b' or 'dap/macpherson_b_jc'"),
        ("A05", "'flyball_governor'"),
        ("SPP", "'SP'"),
        ("aa", "'dap/double_a_arm' or 'dap/double_a_arm_jc'"),
        ("Cart", "'dap/cart_a' or 'dap/cart_b' or 'dap/cart_c'"),
    ],
)
def test_mechanisms_are_found_by_the_names_of_their_sources(name: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"did you mean {meant}[?]"):
        load(name)


@pytest.mark.parametrize(("name", "own"), [("AA", "dap/double_a_arm"), ("Rod2", "dap/two_rods")])
def test_models_of_dap_are_loaded_by_their_names(name: str, own: str) -> None:
    assert load(name).name == load(own).name


def test_driver_between_points_and_named_motions() -> None:
    """A driver may act on a distance; its motion is of the kind of what it drives."""
    text = CRANK.replace(
        "motor: {joint: O, motion: 2*pi*t}",
        "motor: {i: ground.O, j: rod.B, motion: {type: ramp, start: 3 m, rate: 2 mm/s, t_start: 0, t_end: 1}}",
    )
    (motor,) = loads(text).drivers
    assert isinstance(motor.joint, Measure)
    assert motor.freedom == "distance"
    assert motor.motion == Ramp(3.0, 0.002, 0.0, 1.0)
    table = "{type: table, times: [0, 60, 2 min, 121], values: [0, 30 deg, pi, 4]}"
    (motor,) = loads(CRANK.replace("motion: 2*pi*t", f"motion: {table}")).drivers
    assert motor.motion == Table((0.0, 60.0, 120.0, 121.0), (0.0, math.pi / 6, math.pi, 4.0))


def test_formulas_may_leave_units_out() -> None:
    """A number, an angle, a ratio and their products are of any kind."""
    for law in ("80*sin(2*t)", "sin(t)", "3*t + 2*l1", "'2*max(0, -rod.B.y)'", "3*(rod.x/l1 + t)", "-rod.vx - rod.x"):
        assert loads(CRANK.replace("-5*rod.vx", law)).forces
    assert loads(CRANK.replace("position: [half, 0]", "position: [half + 0.1, 0]")).bodies


def test_all_faults_of_a_file_are_reported_at_once() -> None:
    """Two wrong references and a wrong unit give three lines, in the order of the file."""
    text = (
        CRANK.replace("inertia: 0.4", "inertia: 3 m")
        .replace("j: crank.O", "j: crnk.O")
        .replace("at: rod.B", "at: rod.C")
    )
    with pytest.raises(ModelError) as caught:
        loads(text)
    assert [(e.line, e.path, e.code) for e in caught.value.errors] == [
        (7, "bodies.rod.inertia", "unit-mismatch"),
        (9, "joints.O.j", "unknown-body"),
        (16, "forces.load.at", "unknown-point"),
    ]
    assert "<text>:9: joints.O.j: no body 'crnk'; did you mean 'crank'? [unknown-body]" in str(caught.value).split("\n")


FAULTS = [
    # rows 2, 6, 8: physical data and topology
    ("mass: 2 kg", "mass: -2 kg", "negative-mass", 7, "bodies.rod.mass: mass -2 kg is negative"),
    ("inertia: 0.4", "inertia: -half/l1", "negative-inertia", 7, "bodies.rod.inertia: inertia -0.5 kg m^2 is negative"),
    ("axis: ground.u", "axis: [0, 0]", "zero-axis", 11, "joints.B.axis: the axis has length zero"),
    ("j: rod.A}", "j: crank.O}", "same-body", 10, "joints.A: joins body 'crank' to itself"),
    # row 7: references
    ("j: rod.A}", "j: rood.A}", "unknown-body", 10, "joints.A.j: no body 'rood'; did you mean 'rod'?"),
    ("j: rod.A}", "j: rod.X}", "unknown-point", 10, "joints.A.j: body 'rod' has no point 'X'; choose from A, B"),
    ("j: rod.A}", "j: rod}", "unknown-point", 10, "'rod' names no point; choose from rod.A, rod.B"),
    ("joint: O,", "joint: Q,", "unknown-joint", 13, "drivers.motor.joint: no joint 'Q'; choose from O, A, B"),
    ("axis: ground.u", "axis: rod.u", "unknown-direction", 11, "not a direction of body i, which is 'ground'; did you"),
    ("joint: O,", "joint: B,", "which-freedom", 13, "leaves several freedoms; add freedom: displacement or angle"),
    (
        "joint: O,",
        "joint: O, freedom: x,",
        "unknown-freedom",
        13,
        "drivers.motor.freedom: no freedom 'x'; choose from angle",
    ),
    ("joint: O,", "joint: O, i: rod.A,", "driver-target", 13, "either a joint or two points i and j"),
    ("motor: {", "A: {", "duplicate-name", 13, "'A' is also the name of a joint"),
    ("  rod:", "  ground:", "reserved-name", 7, "bodies.ground: 'ground' is the name of what does not move"),
    ("  rod:", "  rod.x:", "bad-name", 7, "'.' in the name 'rod.x'; a dot joins the name of a body to"),
    ("  rod:", "  'a,b':", "bad-name", 7, "',' in the name 'a,b'"),
    ("  rod:", "  'reaction:O':", "bad-name", 7, "':' in the name 'reaction:O'"),
    # row 26: a driver that jumps
    (
        "2*pi*t",
        '"if(t < 1, 0, 1)"',
        "motion-jump",
        13,
        "the value jumps by 1 at t = 1; the acceleration would be infinite",
    ),
    ("2*pi*t", "abs(t - 77.7)", "motion-jump", 13, "the speed jumps by 2 at t = 77.7"),
    ("2*pi*t", '"if((t - 77.7)^2 < 1e-8, 1, 0)"', "motion-jump", 13, "the value jumps by 1 at t = 77.6999"),
    ("2*pi*t", "1/(t - 60)", "motion-not-finite", 13, "the value is not finite at t = 60"),
    ("2*pi*t", "sqrt(t - 1)", "motion-not-finite", 13, "is not finite at t = 0"),
    ("2*pi*t", "t^1.5", "motion-not-finite", 13, "the acceleration is not finite at t = 0"),
    ("2*pi*t", "asin(sin(t/7))", "motion-jump", 13, "at t = 10.9956; the acceleration would be infinite"),
    ("2*pi*t", "sqrt((t - 77.77)^2)", "motion-jump", 13, "the speed jumps by 2 at t = 77.77"),
    # row 28: tables
    ("2*pi*t", "{type: table, times: [0, 2, 1, 200], values: [0, 1, 2, 3]}", "table-order", 13, "time 1 follows 2"),
    ("2*pi*t", "{type: table, times: [0, 1, 1, 200], values: [0, 1, 2, 3]}", "table-order", 13, "time 1 follows 1"),
    ("2*pi*t", "{type: table, times: [0, 1], values: [0, 1, 2]}", "table-length", 13, "2 times but 3 values"),
    (
        "2*pi*t",
        "{type: table, times: [0, 1], values: [0, 1]}",
        "table-range",
        13,
        "covers 0 to 1 s, the simulation 0 to 120 s; tables are not continued beyond their ends; "
        "extend it, or write simulation: {t_end: 1}",
    ),
    ("2*pi*t", "{type: smooth-step, start: 0, end: 1, t_start: 2, t_end: 2}", "motion-times", 13, "does not follow"),
    ("2*pi*t", "{type: jump, start: 0}", "unknown-type", 13, "drivers.motor.motion.type: no type 'jump'; choose from"),
    ("2*pi*t", "{type: ramp, start: 0}", "missing-key", 13, "drivers.motor.motion: 'rate' is missing"),
    (
        "2*pi*t",
        "{type: ramp, star: 0}",
        "missing-key",
        13,
        "drivers.motor.motion.star: unknown key 'star'; did you mean 'start'?",
    ),
    ("2*pi*t", "[1]", "wrong-shape", 13, "drivers.motor.motion"),
    # rows 29, 30, 31: numbers
    ("mass: 2 kg", "mass: .inf", "not-finite", 7, "bodies.rod.mass: .inf is not a finite number"),
    ("mass: 2 kg", "mass: '1e999'", "not-finite", 7, "1e999 is not a finite number"),
    ("mass: 2 kg", "mass: 1/(l1 - 1)", "not-finite", 7, "bodies.rod.mass: '1/(l1 - 1)' has no finite value"),
    ("l2: 2*l1", "l2: acos(2*l1)", "not-finite", 3, "parameters.l2: 'acos(2*l1)' has no finite value"),
    ("mass: 2 kg", "mass: 12 mm", "unit-mismatch", 7, "'12 mm' is of kind length, not mass; write for example '250 g'"),
    ("mass: 2 kg", "mass: l1", "unit-mismatch", 7, "parameter 'l1': '1 m' is of kind length, not mass; write for"),
    ("mass: 2 kg", "mass: '12,5'", "decimal-comma", 7, "decimals follow a point; write 12.5"),
    ("mass: 2 kg", "mass: 5 furlongs", "unknown-unit", 7, "no unit 'furlongs'"),
    (
        "mass: 2 kg",
        "mass: true",
        "wrong-shape",
        7,
        "bodies.rod.mass: True: should be a number, a quantity or a formula",
    ),
    ("mass: 2 kg", "mass: ~", "wrong-shape", 7, "bodies.rod.mass: nothing: should be a number"),
    ("mass: 2 kg", "mass: [1]", "wrong-shape", 7, "bodies.rod.mass: a list of 1: should be a number"),
    ("A: [-l2/2, 0]", "A: [1]", "wrong-shape", 7, "bodies.rod.points.A: a list of 1 where a pair of numbers should be"),
    ("A: [-l2/2, 0]", "A: [1, 2, 3]", "wrong-shape", 7, "a list of 3 where a pair of numbers should be"),
    (
        "axis: ground.u",
        "axis: [1]",
        "wrong-shape",
        11,
        "joints.B.axis: a list of 1: should be a pair of numbers or the name",
    ),
    # row 32: times and tolerances
    ("t_end: 2 min", "t_end: -2 min", "bad-t-end", 17, "simulation.t_end: t_end = -120; it must be above zero"),
    ("step: 10 ms", "step: 0", "bad-report-step", 17, "simulation.step: step = 0; it must be above zero"),
    ("step: 10 ms", "rtol: 1", "bad-tolerance", 17, "simulation.rtol: rtol = 1; it must be above 0 and below 1"),
    ("step: 10 ms", "atol: 0", "bad-tolerance", 17, "simulation.atol: atol = 0; it must be above zero"),
    # row 33: keys and versions
    (
        "inertia: 0.4",
        "inertai: 0.4",
        "unknown-key",
        7,
        "bodies.rod.inertai: unknown key 'inertai'; did you mean 'inertia'?",
    ),
    ("joints:", "about: {source: Haug, 1989}\njoints:", "unknown-key", 8, "a text with commas needs quotes"),
    ("joints:", "joinst:", "unknown-key", 8, "joinst: unknown key 'joinst'; did you mean 'joints'?"),
    (
        "stiffness",
        "stifness",
        "unknown-key",
        15,
        "forces.spring.stifness: unknown key 'stifness'; did you mean 'stiffness'?",
    ),
    ("name: crank", "include: ../../etc/passwd", "unknown-key", 2, "unknown key 'include'"),
    ("type: point-on-line", "type: pin-in-slot", "unknown-type", 11, "joints.B.type: no type 'pin-in-slot'"),
    ("type: point-on-line", "type: slider", "unknown-type", 11, "no type 'slider'; did you mean 'prismatic'?"),
    ("2*pi*t", "cosine(t)", "expression-function", 13, "unknown function 'cosine' at column 1; did you mean 'cos'?"),
    (
        "type: point-on-line",
        "type: [point-on-line]",
        "unknown-type",
        11,
        "joints.B.type: no type '['point-on-line']'; did you mean",
    ),
    ("type: point-on-line, ", "", "missing-key", 11, "joints.B: 'type' is missing"),
    ("linkwork: 1\n", "", "missing-key", 1, "'linkwork' is missing; begin the file with 'linkwork: 1'"),
    (
        "linkwork: 1\n",
        "linkwork: 2\n",
        "newer-version",
        1,
        "format 2 is newer than this linkwork, which reads format 1",
    ),
    ("linkwork: 1\n", "linkwork: one\n", "bad-version", 1, "'one' is not a version of the format"),
    ("name: crank", "space: flat", "wrong-shape", 2, "space: 'flat': should be 'planar' or 'spatial'"),
    ("name: crank", "name: [a]", "wrong-shape", 2, "name: a list of 1: should be a text"),
    ("simulation: {t_end: 2 min, step: 10 ms}", "simulation: 5", "wrong-shape", 17, "simulation: 5: should be"),
    # row 40: formulas are not programs
    (
        "mass: 2 kg",
        "mass: __import__('os').system('true')",
        "expression-character",
        7,
        "not allowed in an expression",
    ),
    ("mass: 2 kg", "mass: __import__(l1)", "expression-function", 7, "unknown function '__import__'"),
    ("mass: 2 kg", "mass: l1.__class__", "expression-name", 7, "unknown name 'l1.__class__'"),
    ("mass: 2 kg", "mass: 9**9**9**9", "expression-exponent", 7, "the exponent"),
    ("mass: 2 kg", 'mass: "' + "(" * 9000 + '"', "expression-too-deep", 7, "nested more than 100 deep"),
    ("mass: 2 kg", 'mass: "' + "l1+" * 9000 + 'l1"', "expression-too-long", 7, "too many"),
    ("mass: 2 kg", "mass: t", "expression-name", 7, "unknown name 't'"),
    ("mass: 2 kg", "mass: rod.x", "expression-name", 7, "unknown name 'rod.x'"),
    ("mass: 2 kg", "mass: l3", "expression-name", 7, "unknown name 'l3' at column 1; choose from pi, l1, l2, half"),
    (
        "-5*rod.vx",
        "-5*rood.vx",
        "expression-name",
        16,
        "forces.load.force[0]: '-5*rood.vx': unknown name 'rood.vx' at column 4; did",
    ),
    ("law: -3*rate^3", "law: angle", "expression-name", 15, "forces.spring.law: 'angle': unknown name 'angle'"),
    # units within formulas
    ("half: l1/2}", "m: 2 kg, half: l1 + m}", "unit-mismatch", 3, "parameters.half: 'l1 + m' puts a length and a mass"),
    ("half: l1/2}", "half: l1*l1, far: half + l1}", "unit-mismatch", 3, "parameters.far: 'half + l1' puts"),
    ("inertia: 0.4", "inertia: l1*l1", "unit-mismatch", 7, "'l1*l1' is a quantity in m^2, not a moment of inertia"),
    ("-5*rod.vx", "l1 + t", "unit-mismatch", 16, "forces.load.force[0]: 'l1 + t' puts a length and a time together"),
    ("-5*rod.vx", "'if(l1 < rod.vx, 0, 1)'", "unit-mismatch", 16, "together"),
    ("-5*rod.vx", "sin(rod.B.y - l1)", "unit-mismatch", 16, "takes the sin of a length"),
    ("inertia: 0.4", "inertia: sqrt(l1)", "unit-mismatch", 7, "'sqrt(l1)' is a quantity in m^0.5, not a moment of"),
    ("inertia: 0.4", "inertia: l1^1.5", "unit-mismatch", 7, "'l1^1.5' is a quantity in m^1.5, not a moment of"),
    ("inertia: 0.4", "inertia: 2^l1", "unit-mismatch", 7, "'2^l1' has a length as an exponent"),
    ("2*pi*t", "2*pi*t + l1", "unit-mismatch", 13, "drivers.motor.motion: '2*pi*t + l1' is a length, not an angle"),
    # row 41: names of parameters
    ("half: l1/2}", "half: l1/2, t: 3}", "reserved-name", 3, "parameters.t: 't' has a meaning of its own in formulas"),
    ("half: l1/2}", "half: l1/2, pi: 3}", "reserved-name", 3, "parameters.pi"),
    ("half: l1/2}", "half: l1/2, sin: 3}", "reserved-name", 3, "parameters.sin"),
    ("half: l1/2}", "half: l1/2, a-b: 3}", "bad-name", 3, "'a-b' cannot stand in a formula"),
    ("half: l1/2}", "half: l1/2 + x, x: y, y: x}", "parameter-cycle", 3, "cycle x -> y -> x"),
    ("half: l1/2}", "half: l1/2, z: 2*z}", "parameter-cycle", 3, "parameters.z: cycle z -> z"),
    (
        "half: l1/2}",
        "half: l1/2, rate: 3}",
        "ambiguous-name",
        15,
        "'rate' is a parameter and also what this force measures",
    ),
]


def test_a_shape_of_the_plane_has_two_sides_in_space_too() -> None:
    body = "linkwork: 1\nname: plate\nspace: spatial\nbodies: {a: {mass: 1, shape: {type: %s, size: [%s]}}}"
    with pytest.raises(ModelError, match="a list of 3 where a pair of numbers should be; a block has three sides"):
        loads(body % ("box", "1, 2, 3"))
    with pytest.raises(ModelError, match="a list of 2 where three numbers should be"):
        loads(body % ("block", "1, 2"))


@pytest.mark.parametrize(("old", "new", "code", "line", "words"), FAULTS, ids=[f"{f[2]}: {f[1][:20]}" for f in FAULTS])
def test_a_fault_is_named_with_line_and_path(old: str, new: str, code: str, line: int, words: str) -> None:
    """Each fault of a model file gets its code, its line and a message that names the place, the value and the rule."""
    assert old in CRANK
    with pytest.raises(ModelError) as caught:
        loads(CRANK.replace(old, new, 1))
    first = caught.value.errors[0]
    assert (first.code, first.line) == (code, line)
    assert words in str(caught.value)
    assert caught.value.exit_code == 3


@pytest.mark.diagonal
@pytest.mark.parametrize(
    "name", ["phi", "x", "t", "vx", "pi", "nan", "inf", "wheel-2", "Kurbel_\u00e4", "\u66f2\u67c4", "a b"]
)
@pytest.mark.parametrize("what", ["body", "joint", "point", "driver"])
def test_names_of_any_form_are_names(what: str, name: str, tmp_path: Path) -> None:
    """Names that coordinates, time or functions have too, and those of other alphabets, are names through analyses."""
    names = {"body": "body", "joint": "joint", "point": "point", "driver": "driver"} | {what: name}
    body, joint, point, driver = names.values()
    text = f"""linkwork: 1
name: {name}
ground: {{points: {{{point}: [0, 0]}}}}
bodies:
  {body}: {{mass: 1, inertia: 1, position: [1, 0], points: {{{point}: [-1, 0]}}}}
joints:
  {joint}: {{type: revolute, i: ground.{point}, j: {body}.{point}}}
drivers:
  {driver}: {{joint: {joint}, motion: 2*t}}
"""
    model = loads(text)
    assert (model.name, model.bodies[0].name, model.joints[0].name) == (name, body, joint)
    assert [*model.bodies[0].points] == [point]
    report = check(model)
    assert (report.dof, report.redundant) == (0, 0)
    assert modes(model).modes[0].points[f"{body}.{point}"] == pytest.approx((0, 0), abs=1e-15)
    motion = kinematics(model, t_end=0.5, step=0.5)
    assert motion[f"{body}.phi"][-1] == pytest.approx(1.0, abs=1e-12)
    assert motion[f"{body}.y"][-1] == pytest.approx(math.sin(1.0), abs=1e-12)
    save(parse(text).data, tmp_path / "model.yaml")  # what is written reads back
    assert load(tmp_path / "model.yaml").name == name


def test_formulas_hold_names_of_letters_and_say_so() -> None:
    """A body named in another alphabet, or like a coordinate, can stand in a formula; one with a hyphen cannot."""
    for name in ("phi", "x", "Kurbel_\u00e4"):
        push = loads(CRANK.replace("rod", name)).forces[1]
        assert isinstance(push, PointForce)
        assert evaluate([push.force[0]], {symbol(f"{name}.vx"): 2.0}) == [-10.0]
    with pytest.raises(ModelError) as caught:
        loads(CRANK.replace("rod", "rod-2"))
    (error,) = caught.value.errors
    assert (error.code, error.line, error.path) == ("bad-name", 16, "forces.load.force[0]")
    assert "the name of body 'rod-2' cannot stand in a formula" in str(error)


@pytest.mark.parametrize(
    ("entry", "code", "words"),
    [
        ("{type: torque, on: rod}", "missing-key", "forces.T: 'torque' is missing"),
        ("{type: torque, on: rod, torque: 1, torq: 2}", "unknown-key", "forces.T.torq: unknown key 'torq'"),
        ("{type: torque, on: rod, torque: [1, [2]]}", "wrong-shape", "forces.T.torque: a list of 2"),
    ],
)
def test_a_key_with_the_name_of_its_type_is_found(entry: str, code: str, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        loads(f"linkwork: 1\nname: x\nbodies: {{rod: {{mass: 1, inertia: 1}}}}\nforces:\n  T: {entry}\n")
    (found,) = caught.value.errors
    assert (found.code, found.line) == (code, 5)
    assert words in str(found)


def test_sections_may_be_left_empty() -> None:
    """A section without entries may be left out or left empty."""
    model = loads("linkwork: 1\nbodies:\n  a: {mass: 1, inertia: 1}\njoints:\ndrivers:\nforces: {}\n")
    assert model.joints == model.drivers == model.forces == ()
    assert notes_on(model) == ("no joints or drivers connect 'a' to the ground [not-connected]",)


def test_a_gear_that_carries_itself_is_noted() -> None:
    """A ring gear that is the ground needs its carrier named: the usual one, the ground, locks the other gear."""
    gear = "  G: {type: gear, i: crank, j: ground, radius_i: 1, radius_j: 3, internal: true}\n"
    (note,) = notes_on(loads(CRANK.replace("drivers:\n", gear + "drivers:\n")))
    assert "'ground' is a gear of 'G' and its carrier, so the other cannot turn" in note
    assert not notes_on(loads(CRANK.replace("drivers:\n", gear.replace("true", "true, carrier: rod") + "drivers:\n")))


def test_forces_without_effect_are_noted() -> None:
    (note,) = notes_on(loads(CRANK.replace("i: ground.O, j: rod.B, stiff", "i: rod.A, j: rod.B, stiff")))
    assert note == "force 'spring' acts on 'rod' alone and moves nothing [no-effect]"
    (note,) = notes_on(loads(CRANK.replace("at: rod.B", "at: ground.O")))
    assert note == "force 'load' acts on 'ground' alone and moves nothing [no-effect]"


def test_what_is_unusual_is_noted() -> None:
    """Rows 1, 5, 10 and a newer minor version are accepted with a note that bears a code."""
    notes = notes_on(loads(CRANK.replace("mass: 2 kg", "mass: 0").replace("linkwork: 1\n", "linkwork: 1.1\n")))
    assert [note.rsplit("[")[-1] for note in notes] == ["newer-minor-version]", "zero-mass]"]
    (note,) = notes_on(loads(CRANK.replace("inertia: 0.1", "inertia: 1e5")))
    assert "body 'crank' has a radius of gyration of 316 m, its farthest point is at 0.5 m" in note


@pytest.mark.parametrize(
    ("motion", "smooth"),
    [
        ("sin(2000*t)", True),
        ("tanh(300*(t - 1))", True),
        ("if(t < 1, t^3, 3*t^2 - 3*t + 1)", True),
        ("max(0, t - 1)^3", True),
        ("atan2(sin(t), cos(t))", False),
        ("max(0, t - 1)", False),
        ("sign(t - 55.5)*1e-3", False),
        ("if(t < 1, 1, 1.001) + 10*t", False),
        ("1/(t - 60.001)", False),
        ("tan(t/50)", False),
        ("sin(abs(t - 7))*abs(t - 7)", True),
    ],
)
def test_only_real_jumps_are_refused(motion: str, smooth: bool) -> None:
    """Fast or steep motions pass, jumps of the value or of the speed do not."""
    text = CRANK.replace("2*pi*t", f'"{motion}"')
    if smooth:
        assert loads(text).drivers[0].name == "motor"
    else:
        with pytest.raises(ModelError) as caught:
            loads(text)
        assert caught.value.code == "motion-jump"


def test_a_model_made_in_python_is_checked_alike() -> None:
    """Spatial inertia must be that of some mass distribution (rows 3, 4), Euler parameters have length one (row 6)."""
    body = SpatialBody("top", 1.0, (1.0, 1.0, 1.5, 0.0, 0.0, 0.0))
    model = Model("top", (body,), gravity=(0.0, 0.0, -9.81), space="spatial")
    assert sound(model).bodies == (body,)
    for change, code, words in (
        ({"inertia": (1.0, 1.0, 2.5, 0.0, 0.0, 0.0)}, "inertia-triangle", "principal moments 1, 1, 2.5"),
        ({"inertia": (1.0, 1.0, 1.0, 1.5, 0.0, 0.0)}, "negative-inertia", "principal moments -0.5, 1, 2.5"),
        ({"mass": -1.0}, "negative-mass", "bodies.top.mass"),
        ({"orientation": (1.0, 0.1, 0.0, 0.0)}, "not-unit", "length 1.00498756"),
    ):
        with pytest.raises(ModelError, match=words) as caught:
            sound(replace(model, bodies=(replace(body, **change),)))  # type: ignore[arg-type]
        assert caught.value.code == code


def test_every_element_can_be_written_in_a_file() -> None:
    """The schema knows every listed joint, force and motion, and every field of theirs has a kind."""
    written = json_schema()
    text = json.dumps(written)
    for space in ("planar", "spatial"):
        for name in (*JOINTS[space], *FORCES[space], *MOTIONS):
            assert f'"const": "{name}"' in text
        for cls in (*JOINTS[space].values(), *FORCES[space].values()):
            for key, holds, _ in schema.keys(cls):
                named = ("point", "body", "flag", "joint", "freedom", "choice")
                by_law = issubclass(cls, Compliance) and key in ("stiffness", "damping")
                assert holds.form in named or holds.kinds or by_law
    for cls in MOTIONS.values():
        for _, holds, _ in schema.keys(cls):
            assert holds.kinds
    for entry in written["anyOf"]:
        model = written["$defs"][entry["$ref"].rpartition("/")[2]]
        assert model["properties"]["linkwork"]["const"] == 1
        assert model["additionalProperties"] is False


def test_other_joints_and_forces() -> None:
    """Joints between bodies alone, carriers, flags, and forces on one body."""
    joints = """joints:
  G: {type: gear, i: crank, j: rod, radius_i: 10 mm, radius_j: 2 cm, carrier: crank, internal: true}
  S: {type: prismatic, i: crank.A, j: rod.A, axis: [0, 1], angle: 90 deg}
"""
    forces = """forces:
  brake: {type: rotational-spring-damper, i: crank, j: rod, damping: 0.1 N*m*s/rad, free_angle: 30 deg}
  push: {type: point-force, at: rod.B, force: [1, t], follows: true}
  turn: {type: torque, on: rod, torque: -0.1*rod.omega}
"""
    text = CRANK.replace("joints:\n", joints).replace("forces:\n", forces)
    model = loads(text)
    gear, slide = model.joints[:2]
    assert (gear.radius_i, gear.radius_j, gear.carrier, gear.internal) == (0.01, 0.02, model.bodies[0], True)  # type: ignore[union-attr]
    assert isinstance(slide, Prismatic)
    assert slide.angle == math.pi / 2
    brake, push, turn = model.forces[:3]
    assert (brake.damping, brake.free_angle) == (0.1, pytest.approx(math.pi / 6))  # type: ignore[union-attr]
    assert push.follows  # type: ignore[union-attr]
    assert turn.body is model.bodies[1]  # type: ignore[union-attr]


def test_many_faults_are_cut_short() -> None:
    """A file full of faults is answered with the first twenty and the number of the others."""
    bodies = "".join(f"  b{k}: {{mass: 1 m, inertia: 1}}\n" for k in range(100))
    with pytest.raises(ModelError) as caught:
        loads("linkwork: 1\nbodies:\n" + bodies)
    assert len(caught.value.errors) == 100
    lines = str(caught.value).split("\n")
    assert (len(lines), lines[-1]) == (21, "and 80 more errors")


def test_large_models_load_in_time() -> None:
    """Five hundred bodies in a chain are read without quadratic effort anywhere (about 1 s here)."""
    bodies = "".join(
        f"  b{k}: {{mass: 1, inertia: 1, position: [{k}, 0], points: {{A: [0, 0], B: [1, 0]}}}}\n" for k in range(500)
    )
    joints = "".join(f"  j{k}: {{type: revolute, i: b{k}.B, j: b{k + 1}.A}}\n" for k in range(499))
    first = "  first: {type: revolute, i: ground.O, j: b0.A}\n"
    model = loads(f"linkwork: 1\nground: {{points: {{O: [0, 0]}}}}\nbodies:\n{bodies}joints:\n{first}{joints}")
    assert len(model.joints) == 500
    assert notes_on(model) == ()


def test_driver_jump_is_found_between_grid_points() -> None:
    """A jump at any time is located to rounding, whatever the grid of the search."""
    for time in np.random.default_rng(1).uniform(0.1, 119.9, 5):
        text = CRANK.replace("2*pi*t", f'"t + if(t < {float(time)!r}, 0, 0.01)"')
        with pytest.raises(ModelError, match=f"at t = {float(time):.6g}"):
            loads(text)


@pytest.mark.parametrize("about", ["", "inertia_about: [0, 0, 0], mass_centre: [0, 0, 0.5],"])
def test_an_inertia_is_repaired_only_where_it_is_asked_for(about: str) -> None:
    """The nearest of 1, 1, 3 with one above the sum of the others is 4/3, 4/3, 8/3, about any axes, and it is told."""
    turn = np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]]) @ np.array(
        [[1.0, 0.0, 0.0], [0.0, 0.28, -0.96], [0.0, 0.96, 0.28]]
    )
    J = turn @ np.diag([1.0, 1.0, 3.0]) @ turn.T
    given = J + (2.0 * 0.25 * np.diag([1.0, 1.0, 0.0]) if about else 0.0)
    text = f"""linkwork: 1
space: spatial
bodies: {{top: {{mass: 2, {about} inertia: {given.tolist()}}}}}
"""
    with pytest.raises(ModelError, match="repair='inertia'") as fault:
        loads(text)
    assert fault.value.code == "inertia-triangle"
    body = loads(text, repair=("inertia",)).bodies[0]
    found = np.array([[float(as_expr(x).number) for x in row] for row in body.J])  # type: ignore[union-attr]
    np.testing.assert_allclose(found, turn @ np.diag([4 / 3, 4 / 3, 8 / 3]) @ turn.T, atol=1e-12)
    notes = notes_on(loads(text, repair=("inertia",)))
    assert any("principal moments 1, 1, 3 kg m^2" in note and "[repaired-inertia]" in note for note in notes)
    sound_one = text.replace(str(given.tolist()), "[1, 1, 1]").replace(about, "")
    assert not [note for note in notes_on(loads(sound_one, repair=("inertia",))) if "repaired" in note]


def test_units_are_followed_through_chains_of_parameters() -> None:
    """Each parameter has the unit of the one before it: a length in the end, which no time can be added to."""
    chain = "".join(f", p{k}: p{k - 1} + q" for k in range(1, 300))
    text = (
        f"linkwork: 1\nname: chain\nparameters: {{q: 1 mm, p0: 1 mm{chain}, T: 2 s, wrong: p299 + T}}\nbodies: {{}}\n"
    )
    with pytest.raises(ModelError) as error:
        loads(text)
    assert [(fault.code, fault.path) for fault in error.value.errors] == [("unit-mismatch", "parameters.wrong")]


def test_a_file_of_many_errors_is_read_no_further_than_to_some_of_them() -> None:
    """Suggesting one of 3,000 points to each of 3,000 joints took a minute."""
    joints = "".join(f"  J{k}: {{type: revolute, i: ground.Q, j: rod.Q{k}}}\n" for k in range(300))
    text = "linkwork: 1\nground: {points: {O: [0, 0]}}\nbodies: {rod: {mass: 1, inertia: 1}}\njoints:\n" + joints
    with pytest.raises(ModelError) as refusal:
        loads(text)
    assert len(refusal.value.errors) == 200
    assert str(refusal.value).endswith("and 180 more errors")


LIVE = """
linkwork: 1
parameters: {l: 1 m, m: 2 kg, d: 2*l}
ground: {points: {O: [0, 0]}}
bodies:
  rod: {mass: m, inertia: m*l^2/12, position: [l/2, 0], points: {O: [-l/2, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: rod.O}
live: {l: 50 cm .. d, rod.phi: -90 deg .. 90 deg, rod.omega: 0 .. 60 rpm, m: 1 .. 3}
"""


def test_ranges_of_a_live_page_are_read_in_their_units() -> None:
    """Of parameters, start positions and start velocities, also by formulas."""
    expected = {"l": (0.5, 2.0), "rod.phi": (-np.pi / 2, np.pi / 2), "rod.omega": (0.0, 2 * np.pi), "m": (1.0, 3.0)}
    found = loads(LIVE).live
    assert list(found) == list(expected)
    np.testing.assert_allclose([*found.values()], [*expected.values()], rtol=1e-15)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("50 cm .. d", "50 kg .. d", "live.l: '50 kg' is of kind mass, not a quantity like '1 m'"),
        ("-90 deg .. 90", "-90 cm .. 90", "live.rod.phi: '-90 cm' is of kind length"),
        ("50 cm .. d", "0.7", "0.7: should be a text"),
        ("50 cm .. d", "50 cm to 1 m", "'50 cm to 1 m' is not a range; a range is written as LEAST .. MOST"),
        ("50 cm .. d", "2 .. 3", "l = 1 is not within '2 .. 3'"),
        ("1 .. 3", "3 .. 1", "'3 .. 1' is empty"),
        ("l: 50 cm", "d: 50 cm", "'d' is a formula; values that follow from others are not set"),
        ("rod.phi", "rod.fi", "no parameter or coordinate 'rod.fi'; did you mean 'rod.phi'"),
    ],
)
def test_faults_of_live_ranges_are_told_at_their_line(old: str, new: str, said: str) -> None:
    with pytest.raises(ModelError) as caught:
        loads(LIVE.replace(old, new))
    assert len(caught.value.errors) == 1
    assert str(caught.value).startswith("<text>:9: ")
    assert said in str(caught.value)
