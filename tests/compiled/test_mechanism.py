"""A mechanism prepared once: what is structure and what is value, reuse in the process, threads, memory."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from memory import needs_proc, resident

import linkwork.compiled.mechanism
from linkwork import Start, load, loads, prepare
from linkwork.comparison.compare import compare
from linkwork.compiled.mechanism import Mechanism
from linkwork.driven.kinematics import kinematics
from linkwork.elements.bodies import Ground, PlanarBody
from linkwork.elements.forces import SpringDamper
from linkwork.elements.frames import Frame
from linkwork.elements.joints import Prismatic
from linkwork.equations.body import body_equations
from linkwork.equations.coordinates import COORDINATES
from linkwork.equations.parameters import Structure
from linkwork.equations.programs import constraints
from linkwork.errors import Interrupted, ModelError, NumericalStop, UsageError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import Expr
from linkwork.model import Simulation
from linkwork.modelfile import shipped
from linkwork.native import machine
from linkwork.native.kernels import size_of
from linkwork.simulation.simulate import simulate
from linkwork.soundness import look_at
from linkwork.start.check import check

CRANK = """
linkwork: 1
gravity: [0, -9.81]
ground: {points: {O: [OX, 0.2], H: [0.3, 1.5]}}
bodies:
  crank: {mass: MASS, inertia: 0.4, position: [0.5, 0.2], points: {O: [-0.5, 0], A: [0.5, 0]}}
  rod: {mass: 1.5, inertia: 0.3, position: [1.75, 0.2], points: {A: [-0.75, 0], B: [0.75, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: rod.A}
  S: {type: point-on-line, i: ground.O, j: rod.B, axis: AXIS}
forces:
  spring: {type: spring-damper, i: ground.H, j: crank.A, stiffness: 40, damping: 0.5, free_length: 1.0}
simulation: {t_end: 0.4, step: 0.1, rtol: 1.0e-10}
"""


def crank(ox: str = "1.0e-3", mass: str = "2.0", axis: str = "[3, 0.01]") -> linkwork.Model:
    return loads(CRANK.replace("OX", ox).replace("MASS", mass).replace("AXIS", axis))


@pytest.fixture
def nothing_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on neither sequences nor derivatives may be made."""

    def fail(*_: object) -> None:
        pytest.fail("made again")

    monkeypatch.setattr(machine, "assemble", fail)
    monkeypatch.setitem(COORDINATES, "body", fail)


@pytest.mark.parametrize(
    "other",
    [
        {"ox": "-2.0e-3"},  # a point of the ground
        {"mass": "7.5"},
        {"axis": "[2, 0.03]"},
        {"ox": "5e-4", "mass": "1", "axis": "[-1, -0.02]"},
    ],
    ids=lambda other: "-".join(other),
)
def test_another_value_compiles_nothing(other: dict[str, str], request: pytest.FixtureRequest) -> None:
    """Ground points, masses, axes: the same machine code gives what equations with these numbers give."""
    simulate(crank(), start=Start(assemble=True))
    expected = body_equations(crank(**other))
    request.getfixturevalue("nothing_compiles")
    motion = simulate(crank(**other), start=Start(assemble=True))
    at = dict(zip((*expected.q, *expected.v), (*motion.q[-1], *motion.v[-1]), strict=True))
    from linkwork.expressions.evaluation import evaluate

    kinetic = evaluate([expected.energy.kinetic], {**expected.parameters, **at})[0]
    assert motion.energy["kinetic"][-1] == pytest.approx(kinetic, rel=1e-12)
    gaps = evaluate(expected.Psi, {**expected.parameters, **at})
    np.testing.assert_allclose(gaps, 0.0, atol=1e-13)


def test_the_number_of_repetitions_is_no_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Near a dead centre eps leaves traces that more repetitions remove, with the same machine code.

    The accelerations are then those of a dense solution to the digits that the condition number leaves.
    """
    mechanism = prepare(load("slider_crank"))
    system = mechanism.system()
    place = system.start()
    x = np.concatenate([[0.0], place.q, place.v, [0.0, 0.0]])
    p = system.p(place)
    # Rows scaled down make eps, which is relative to the start, too large for them by the square.
    few, many = (system.functions["dynamics"](x, system.p(place, given={"repetitions": k})) for k in (0, 6))
    np.testing.assert_allclose(many, few, rtol=1e-9, atol=1e-9)
    first = len(place.q) + len(place.v) + 2
    K = np.block([[place.M, place.Psi_q.T], [place.Psi_q, np.zeros((system.m, system.m))]])
    exact = np.linalg.solve(K, np.concatenate([place.Q, place.gamma]))
    found = np.concatenate([many[len(place.q) : first - 2], many[first:]])
    np.testing.assert_allclose(found, exact, rtol=1e-11, atol=1e-11)
    assert len(p) == len(system.p(place, given={"repetitions": 6}))


def find(check: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
    """Notes, or what is said of faults."""
    try:
        return check()
    except ModelError as error:
        return (str(error),)


@pytest.mark.parametrize("name", ["slider_crank", "slider_crank_driven", "bricard"])
@pytest.mark.parametrize("factor", [0.0, -1.0, 1e9])
def test_other_values_are_looked_at_as_in_a_new_model(name: str, factor: float) -> None:
    """What is said of a mechanism with another value of any parameter is what is said of the model with that value."""
    mechanism = prepare(load(name))
    for parameter, value in mechanism.model.parameters.items():
        other = {parameter: factor * value}
        model = replace(mechanism.model, parameters={**mechanism.model.parameters, **other})
        found = find(lambda: mechanism.changed(other).changed({parameter: factor * value}).notes)  # noqa: B023
        assert found == find(lambda: look_at(model).unusual().told(model)), other  # noqa: B023


@pytest.mark.parametrize("name", sorted(shipped()))
@pytest.mark.sampled
def test_values_stand_in_the_order_of_their_symbols(name: str) -> None:
    """What tells structure from value and what puts symbols in the place of values read a model alike."""
    model = load(name)
    e = body_equations(model)
    own = [x for x in e.parameters if x not in e.held or x.value in model.parameters]
    assert Structure(model).values == [e.parameters[x] for x in own] == [*e.parameters.values()][: len(own)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"axis": "[1, 0]"}),  # an axis along x leaves products out
        ({"axis": "[1, 0]"}, {"axis": "[0, 1]"}),
        ({}, {"ox": "0"}),  # an exact zero leaves terms out
    ],
)
def test_exact_zeros_and_axes_along_x_are_structure(one: dict[str, str], other: dict[str, str]) -> None:
    assert Structure(crank(**one)).key != Structure(crank(**other)).key


def test_axes_along_x_of_any_length_are_one_structure() -> None:
    assert Structure(crank(axis="[1, 0]")).key == Structure(crank(axis="[2.5, 0]")).key


def test_a_prepared_mechanism_runs_with_other_values_start_and_times() -> None:
    """The same as a model that was written with these values."""
    model = load("slider_crank")
    mechanism = prepare(model)
    written = simulate(replace(model, parameters={**model.parameters, "l1": 0.9}), t_end=0.3, rtol=1e-11)
    motion = mechanism.simulate({"l1": 0.9}, t_end=0.3, rtol=1e-11)
    np.testing.assert_array_equal(motion.q, written.q)
    np.testing.assert_array_equal(motion.lam, written.lam)
    assert motion.info.parameters["l1"] == 0.9
    faster = mechanism.simulate(start=Start({"crank.omega": 3.0}, assemble=True), t_end=0.1)
    assert faster["crank.omega"][0] > mechanism.simulate(t_end=0.1)["crank.omega"][0]
    assert prepare(mechanism) is mechanism
    with pytest.raises(UsageError, match="unknown-parameter"):
        mechanism.simulate({"l3": 1.0})
    with pytest.raises(UsageError, match="unknown-coordinate"):
        mechanism.simulate(start={"crank.psi": 1.0})


def test_another_end_of_a_run_changes_no_other_setting() -> None:
    settings = Simulation(rtol=1e-6, coordinates="joint", cut=("A",), start={"O": 0.3}, rate={"O": 1.0})
    assert replace(settings.changed(t_end=3.0), t_end=settings.t_end) == settings


def test_a_stated_start_stays_a_formula_in_other_coordinates() -> None:
    """The coordinates of a prepared mechanism are changed first, then values: its joints start where these put them."""
    start = "parameters: {l: 1, beta: 0.3}\nsimulation: {t_end: 0.1, step: 0.1, start: {O: beta}}"
    rod = "rod: {mass: 1, inertia: 0.2, position: [l, 0], points: {O: [-l, 0]}}"
    joint = "joints: {O: {type: revolute, i: ground.O, j: rod.O}}"
    model = loads("\n".join(["linkwork: 1", start, "ground: {points: {O: [0, 0]}}", f"bodies: {{{rod}}}", joint]))
    motion = prepare(prepare(model), "joint").simulate({"l": 2.0, "beta": 0.31})
    np.testing.assert_allclose(motion.q[0], [2 * np.cos(0.31), 2 * np.sin(0.31), 0.31], rtol=1e-12)


def test_a_new_value_is_checked_as_one_in_a_file_is() -> None:
    mechanism = prepare(loads(CRANK.replace("OX", "0").replace("AXIS", "[1, 0]").replace("MASS", "m").replace(
        "linkwork: 1", "linkwork: 1\nparameters: {m: 2.0}"
    )))  # fmt: skip
    with pytest.raises(ModelError, match="negative-mass"):
        mechanism.simulate({"m": -1.0})


@pytest.mark.parametrize(
    ("number", "path"),
    [
        ("mass: 2", "bodies.rod.mass"),
        ("position: [1", "bodies.rod.position[0]"),
        ("{O: [3", "ground.points.O[0]"),
        ("lower: -1", "forces.stop.lower"),
        ("damping: 4", "forces.stop.damping"),
        ("torque: 5", "forces.motor.torque"),
        ("gravity: [0.5", "gravity[0]"),
    ],
)
def test_a_value_with_which_a_formula_has_none_is_refused(number: str, path: str) -> None:
    """sqrt(-1) in a mass, or in the end of a stop, which would then stop nothing."""
    text = "\n".join(
        [
            "linkwork: 1\nparameters: {z: 4}\ngravity: [0.5, -9]\nground: {points: {O: [3, 0]}}",
            "bodies: {rod: {mass: 2, inertia: 0.2, position: [1, 0], points: {O: [-1, 0]}}}",
            "joints: {O: {type: revolute, i: ground.O, j: rod.O}}",
            "forces:\n  stop: {type: end-stop, joint: O, stiffness: 9, lower: -1, upper: 1, damping: 4}",
            "  motor: {type: torque, on: rod, torque: 5}",
        ]
    )
    assert number in text
    model = loads(text.replace(number, f"{number} + 1e-3*sqrt(z)"))
    mechanism, other = prepare(model), {"z": -1.0}
    with pytest.raises(ModelError, match="not-finite") as changed:
        mechanism.changed(other)
    with pytest.raises(ModelError, match="not-finite") as made:
        prepare(replace(model, parameters=other))
    assert changed.value.path == made.value.path == path
    assert mechanism.changed({"z": 9.0}).model.parameters["z"] == 9.0


def test_every_analysis_takes_a_prepared_mechanism() -> None:
    driven, free = prepare(load("slider_crank_driven")), prepare(load("slider_crank"))
    assert check(free).dof == check(load("slider_crank")).dof == 1
    assert kinematics(driven, t_end=0.1).status == "finished"
    assert all(row.ok for row in compare(free, formulations=["augmented", "qr"], t_end=0.1).rows)
    assert linkwork.assemble(free).residual < 1e-12


def test_four_threads_give_bit_identical_results() -> None:
    """Prepared and run at the same time, from models read in each thread."""
    names = ("slider_crank", "four_bar", "double_pendulum")
    expected = {name: simulate(load(name), t_end=1.0) for name in names}
    barrier = threading.Barrier(4)

    def run(_: int) -> list[np.ndarray]:
        barrier.wait()
        return [part for name in names for m in [simulate(load(name), t_end=1.0)] for part in (m.q, m.v, m.a, m.lam)]

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(run, range(4)))
    for result in results:
        parts = [part for name in names for m in [expected[name]] for part in (m.q, m.v, m.a, m.lam)]
        for found, wanted in zip(result, parts, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.slow
@needs_proc
def test_runs_in_a_loop_take_no_more_memory() -> None:
    """Two hundred runs with other values, of which an engine each would be 20 MB; the benchmark does ten thousand."""
    mechanism = prepare(load("slider_crank"))
    for k in range(100):
        mechanism.simulate({"l1": 1.0 + 1e-6 * k}, t_end=0.05)
    gc.collect()
    before = resident()
    for k in range(200):
        mechanism.simulate({"l1": 1.0 + 1e-6 * k}, t_end=0.05)
    gc.collect()
    assert resident() - before < 5.0


def test_machine_code_goes_with_the_last_mechanism_of_its_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linkwork.compiled.mechanism, "MOST_KEPT", 1)
    text = CRANK.replace("OX", "0").replace("MASS", "2").replace("AXIS", "[1, 0]")
    mechanism = prepare(loads(text.replace("rod", "first_of_its_kind")))
    code = weakref.ref(mechanism.system().functions["constraints"].code)
    prepare(loads(text.replace("rod", "second_of_its_kind")))  # takes the one place there is
    assert code() is not None
    del mechanism
    gc.collect()
    assert code() is None


@pytest.mark.parametrize("body", ["phi", "x", "vx", "Kurbel_ä", "t1", "reaction"])
@pytest.mark.sampled
def test_names_of_any_form_run_through_every_analysis(body: str) -> None:
    """Nothing is recognized by the spelling of a name."""
    text = CRANK.replace("OX", "0").replace("MASS", "2").replace("AXIS", "[1, 0]").replace("crank", body)
    model = loads(text.replace("  O: {type", f"  {body}: {{type").replace(" A: {type", " angle: {type"))
    plain = simulate(crank(ox="0", axis="[1, 0]"), start=Start(assemble=True))
    motion = simulate(model, start=Start(assemble=True))
    np.testing.assert_array_equal(motion.q, plain.q)
    assert check(model, assemble=True).dof == 1
    assert motion.quantity(f"{body}.omega").unit == "rad/s"
    assert motion.quantity(f"reaction:{body}.x").unit == "N"
    assert all(row.ok for row in compare(model, formulations=["augmented", "svd"], t_end=0.1).rows)
    assert linkwork.assemble(model).residual < 1e-12
    driven = text.replace("forces:", "drivers: {motor: {joint: O, motion: '0.1*t'}}\nforces:")
    assert kinematics(loads(driven), t_end=0.1, assemble=True).status == "finished"
    assert linkwork.explain(model, "qr").blocks


def test_a_dot_in_a_name_is_refused_clearly() -> None:
    with pytest.raises(ModelError, match=r"a\.b"):
        loads(CRANK.replace("OX", "0").replace("MASS", "2").replace("AXIS", "[1, 0]").replace("crank", "a.b"))


def test_a_mechanism_says_what_it_is() -> None:
    mechanism = prepare(load("slider_crank"))
    assert isinstance(mechanism, Mechanism)
    assert repr(mechanism) == "<Mechanism 'slider_crank': 9 coordinates, 8 constraints>"


def test_a_parameter_that_was_read_as_a_number_is_refused() -> None:
    """Tables and times hold numbers; a new value would act in one place and not in the other."""
    text = CRANK.replace("OX", "0").replace("MASS", "2").replace("AXIS", "[1, 0]").replace("t_end: 0.4", "t_end: T")
    mechanism = prepare(loads(text.replace("linkwork: 1", "linkwork: 1\nparameters: {T: 0.4, u: 1.0}")))
    with pytest.raises(UsageError, match="folded-parameter"):
        mechanism.simulate({"T": 0.8})
    with pytest.raises(UsageError, match="bad-value"):
        mechanism.simulate({"u": float("nan")})


def test_a_parameter_in_a_unit_or_a_repair_is_refused() -> None:
    """N/mm^1.5 is no stiffness for another exponent, and an inertia that was repaired does not follow its formula."""
    law = "stiffness: K, model: hunt-crossley, exponent: e, restitution: 1"
    floor = f"{{type: line-contact, i: ground.O, j: ball.C, normal: [0, 1], {law}}}"
    ball = "ball: {mass: 1, inertia: 0.1, position: [0, 1], points: {C: [0, 0]}}"
    text = "linkwork: 1\nparameters: {e: 1.5}\nground: {points: {O: [0, 0]}}\n"
    text += f"bodies: {{{ball}}}\nforces: {{floor: {floor}}}\n"
    with pytest.raises(UsageError, match="folded-parameter"):
        prepare(loads(text.replace("K", "5 N/mm^1.5"))).changed({"e": 2.0})
    assert prepare(loads(text.replace("K", "5"))).changed({"e": 2.0}).model.parameters["e"] == 2.0
    top = "linkwork: 1\nspace: spatial\nparameters: {J: 5, m: 1}\nbodies: {top: {mass: m, inertia: [1, 1, J]}}"
    mechanism = prepare(loads(top, repair=("inertia",)))
    assert mechanism.changed({"m": 2.0}).model.parameters["m"] == 2.0
    with pytest.raises(UsageError, match="folded-parameter"):
        mechanism.changed({"J": 1.5})


@pytest.mark.parametrize("name", ["lam O", "eps O", "mobility crank", "d crank"])
def test_names_that_the_equations_use_are_refused(name: str) -> None:
    text = CRANK.replace("OX", "0").replace("MASS", "2").replace("AXIS", "[1, 0]").replace("crank", name)
    with pytest.raises(ModelError, match="reserved-name"):
        loads(text)


def test_numbers_of_any_type_are_values() -> None:
    """Lists and NumPy numbers from Python: one structure, and the same motion."""
    from linkwork.elements.bodies import Ground, PlanarBody
    from linkwork.elements.forces import Torque
    from linkwork.elements.joints import Revolute
    from linkwork.model import Model

    def pendulum(mass: float, arm: object, torque: float) -> Model:
        rod = PlanarBody("rod", mass, 0.2, position=[0.5, 0.0], points={"O": arm})  # type: ignore[arg-type, dict-item]
        pin = Revolute("O", Ground(), rod, (0.0, 0.0), (-0.5, 0.0))
        return Model("pendulum", (rod,), (pin,), forces=(Torque("T", rod, torque),))

    models = [pendulum(2.0, [-0.5, 0.0], 1.0), pendulum(np.float64(3.0), np.array([-0.4, 0.0]), 2.0)]
    assert Structure(models[0]).key == Structure(models[1]).key
    motions = [simulate(model, t_end=0.2) for model in models]
    assert motions[0]["rod.phi"][-1] != motions[1]["rod.phi"][-1]


def test_a_law_may_use_parameters_named_like_what_a_force_measures() -> None:
    """`k: 2*length` is six times a parameter, and not the length of the spring."""
    text = """
linkwork: 1
parameters: {length: 3, k: 2*length}
ground: {points: {O: [0, 0]}}
bodies: {b: {mass: 1, inertia: 1, position: [1, 0], velocity: [1, 0], points: {P: [0, 0]}}}
forces: {s: {type: spring-damper, i: ground.O, j: b.P, law: LAW}}
gravity: [0, 0]
simulation: {t_end: 1}
"""
    named, plain = (simulate(loads(text.replace("LAW", law))) for law in ("k*rate", "6*rate"))
    np.testing.assert_allclose(named["b.x"], plain["b.x"], atol=1e-9)


@pytest.mark.parametrize(("entry", "path"), [("coordinates: bodies", "coordinates"), ("cut: [Q]", "cut")])
def test_coordinates_and_cuts_that_are_none_are_refused_where_they_stand(entry: str, path: str) -> None:
    """A model file with an unknown name gets an error at its key, a call with one an error of use."""
    text = CRANK.replace("OX", "0.1").replace("MASS", "2.0").replace("AXIS", "[3, 0.1]")
    with pytest.raises(ModelError) as refused:
        prepare(loads(text.replace("t_end: 0.4", f"{entry}, t_end: 0.4")))
    assert refused.value.path == f"simulation.{path}"
    with pytest.raises(UsageError):
        prepare(crank(), "bodies")


@pytest.mark.parametrize("name", ["slider_crank", "flyball_governor", "dap/rod_jc", "slider_crank_zhou"])
def test_a_copy_for_another_process_moves_the_same(name: str) -> None:
    model = load(name)
    other = pickle.loads(pickle.dumps(model))
    mechanism = pickle.loads(pickle.dumps(prepare(model, "auto")))
    motion = simulate(model, t_end=0.1)
    np.testing.assert_array_equal(simulate(other, t_end=0.1).q, motion.q)
    np.testing.assert_array_equal(mechanism.simulate(t_end=0.1).q, simulate(model, coordinates="auto", t_end=0.1).q)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(motion))["t"], motion.t)


def test_errors_reach_another_process_whole() -> None:
    """Else a pool of processes waits for ever."""
    stop = NumericalStop("halted", "not-finite", trajectory=simulate(load("slider_crank"), t_end=0.1))
    for error in (ModelError("no", "bad", rule="so", line=3), UsageError("no", "bad"), stop, Interrupted("halted")):
        other = pickle.loads(pickle.dumps(error))
        assert str(other) == str(error)
        assert other.__dict__.keys() == error.__dict__.keys()
    assert pickle.loads(pickle.dumps(stop)).trajectory["crank.phi"].size == stop.trajectory["crank.phi"].size


GRIP = 40.0


class Tether(SpringDamper):
    """A spring whose stiffness stands in no field."""

    def tension(self, *frames: Frame) -> Expr:
        return GRIP * self.stretch(*frames)[1]

    def potential(self, *frames: Frame) -> Expr:
        return 0.5 * GRIP * self.stretch(*frames)[1] ** 2


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_a_law_of_ones_own_that_reads_a_constant_follows_it(coordinates: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mass m on a rail and a spring k: x = cos(sqrt(k/m) t), with the k of now in the equations."""
    ground, ball = Ground(), PlanarBody("ball", 2.0, 0.1, (1.0, 0.0))
    rail = Prismatic("rail", ground, ball, (0.0, 0.0), (0.0, 0.0), (1.0, 0.0), 0.0)
    tether = Tether("tether", ground, ball, (-5.0, 0.0), (0.0, 0.0), free_length=5.0)
    model = linkwork.Model("own", (ball,), (rail,), forces=(tether,), ground=ground, gravity=(0.0, 0.0))
    for stiffness in (40.0, 90.0, 40.0):
        monkeypatch.setattr(sys.modules[__name__], "GRIP", stiffness)
        motion = simulate(prepare(model, coordinates), t_end=1.0, step=0.1, rtol=1e-10)
        np.testing.assert_allclose(motion["ball.x"], np.cos(np.sqrt(stiffness / 2.0) * motion.t), rtol=0, atol=1e-8)


def test_a_complex_number_is_no_value_of_a_parameter() -> None:
    mechanism = prepare(load("slider_crank"))
    for value in (1j, np.complex128(1.0 + 1.0j), "1"):
        with pytest.raises(UsageError, match="bad-value"):
            mechanism.changed({"l1": value})  # type: ignore[dict-item]


def test_programs_stand_beside_their_machine_code() -> None:
    """What runs can be differentiated: of `constraints` by v, which is Psi_q, as `linear` has it."""
    system = prepare(load("slider_crank")).system()
    place, p = system.start(), system.p()
    assert set(system.programs) == set(system.functions) - {"derivative"}
    assert len({program.name for program in system.programs.values()}) == len(system.programs)
    e, program = system.equations, system.programs["constraints"]
    matrix = program.differentiate(e.v)
    found = evaluate(matrix.outputs, place.values)
    np.testing.assert_allclose(np.reshape(found, (-1, system.n_v))[system.m :], place.Psi_q, rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        system.functions["constraints"](np.concatenate([[0.0], place.q, place.v]), p),
        evaluate(program.outputs, place.values),
        rtol=0,
        atol=1e-15,
    )


def test_parameters_of_another_system_are_refused() -> None:
    mechanism = prepare(load("slider_crank"))
    few, many = mechanism.system((constraints,)), mechanism.system()
    x = np.concatenate([[0.0], *mechanism.equations.start()])
    np.testing.assert_allclose(few.functions["constraints"](x, few.p()), many.start()._gaps, rtol=0, atol=1e-15)
    with pytest.raises(ValueError, match="reads"):
        many.functions["constraints"](x, few.p())


def test_what_is_derived_depends_on_no_value() -> None:
    """Equations with other values share what is derived from them, whichever asks first."""
    e = prepare(crank()).equations
    other = e.with_values({x: 2.0 * value for x, value in e.parameters.items()})
    assert other.gamma is e.gamma
    assert other.columns is e.columns
    assert not other.symbolic.parameters.keys() - e.parameters.keys()
    assert all(value != value for value in e.symbolic.parameters.values())


@pytest.mark.parametrize("formulation", ["augmented", "lu", "qr", "udwadia-kalaba"])
@pytest.mark.sampled
def test_descriptions_of_memory_are_not_kept_for_every_run(formulation: str) -> None:
    mechanism = prepare(load("slider_crank"))
    for _ in range(2):
        mechanism.simulate(t_end=0.01, step=0.01, formulation=formulation)
    before = size_of.cache_info().currsize
    for k in range(200):
        mechanism.simulate({"l1": 1.0 + 1e-6 * k}, t_end=0.01, step=0.01, formulation=formulation)
    assert size_of.cache_info().currsize == before
