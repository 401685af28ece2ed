"""Minimal coordinates beside body coordinates: loops as triangles, on the side of the start, up to dead positions."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_mechanisms import Random, fitting, force, planar_body, random_mechanism
from slices import with_slow
from test_joint import check_beside_bodies

from linkwork import (
    Coordinates,
    Model,
    Start,
    assemble,
    check,
    compare,
    explain,
    kinematics,
    load,
    loads,
    prepare,
    simulate,
)
from linkwork.elements.bodies import Ground
from linkwork.elements.drivers import Driver
from linkwork.elements.forces import RotationalSpringDamper, SpringDamper
from linkwork.elements.joints import JOINTS
from linkwork.elements.motions import Law
from linkwork.equations.equations import TIME
from linkwork.equations.place import Place
from linkwork.errors import ModelError, NumericalStop, UsageError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import sin
from linkwork.formulations import usual_formulations
from linkwork.integrators.methods import integrators
from linkwork.lecture.listing import write_down
from linkwork.modelfile import shipped
from linkwork.start.closing import restart
from linkwork.trajectory import Trajectory
from linkwork.view.listing import FORMATS

TIGHT: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13}
WITH_DEAD_POSITIONS = ("n_four_bar", "redundant_24")


def has_triangles(model: Model) -> bool:
    return not model.stated and model.space == "planar" and prepare(model, "minimal").equations.chart.tree is not None


R, P, LINE, ROD = (JOINTS["planar"][name] for name in ("revolute", "prismatic", "point-on-line", "distance"))


@pytest.mark.diagonal
@pytest.mark.parametrize("walk", ["on", "back"])
@pytest.mark.parametrize(
    ("around", "cut"),
    [
        ((R, R, R, R), ["J1"]),
        ((R, R, R, R), ["J2"]),
        ((R, R, R, R), ["J3"]),
        ((P, R, R, R), ["J2"]),
        ((R, P, R, R), ["J2"]),
        ((R, R, P, R), ["J1"]),
        ((R, R, R, P), ["J2"]),
        ((P, R, R, P), ["J1"]),
        ((R, R, P, P), ["J1"]),
        ((R, R, R, R, R), ["J2"]),
        ((R, R, ROD), []),
        ((P, R, ROD), []),
        ((R, P, R, ROD), []),
        ((R, R, LINE), []),
        ((R, P, LINE), []),
        ((P, R, LINE), []),
    ],
)
def test_a_loop_of_any_triangle_moves_as_its_bodies(around: Any, cut: Any, walk: str, rng: Random) -> None:
    """At a random state: accelerations and all reactions, with a spring, a turning spring and a link hung outside."""
    for _ in range(50):
        model = random_loop(around, cut, walk == "on", rng)
        place = prepare(model, "minimal").place()
        margins = evaluate([dyad.margin for dyad in place.equations.chart.dyads], place.values)
        if all(margin > 0.1 for margin in margins):
            break
    assert place.equations.chart.tree is not None
    assert not place.equations.Psi
    check_beside_bodies(model, rng, far=0.02, coordinates="minimal")


def random_loop(around: Any, cut: Any, onwards: bool, rng: Random) -> Model:
    """Bodies in a row from ground to ground, and one that hangs on the last."""
    ground = Ground()
    bodies = [planar_body(f"b{k}", rng) for k in range(len(around) - 1)]
    ends = [ground, *bodies, ground]
    pairs = [(i, j) if onwards else (j, i) for i, j in pairwise(ends)]
    joints = [fitting(kind, f"J{k}", *pair, rng) for k, (kind, pair) in enumerate(zip(around, pairs, strict=True))]
    hung = planar_body("hung", rng)
    joints.append(fitting(R, "hook", bodies[-1], hung, rng))
    forces = (
        force(SpringDamper, "spring", [bodies[0], bodies[-1]], rng),
        force(RotationalSpringDamper, "turning", [bodies[-1], hung], rng),
    )
    model = Model("loop", (*bodies, hung), tuple(joints), (), forces, (1.3, -9.81), ground=ground)
    return replace(model, simulation=replace(model.simulation, cut=tuple(cut)))


@pytest.mark.parametrize("base", [R, P])
def test_a_driven_loop_on_a_body_that_another_loop_leads_moves_alike(base: Any, rng: Random) -> None:
    """A four-bar on the last link of a four-bar or slider-crank; by its motor its crank is the first to be known."""
    for _ in range(50):
        model = random_loop_on_a_loop(base, rng)
        place = prepare(model, "minimal").place()
        if all(
            margin > 0.1 for margin in evaluate([dyad.margin for dyad in place.equations.chart.dyads], place.values)
        ):
            break
    assert [row.element for row in place.equations.rows] == ["motor"]
    check_beside_bodies(model, rng, far=0.02, coordinates="minimal")


def random_loop_on_a_loop(base: Any, rng: Random) -> Model:
    ground, bodies = Ground(), [planar_body(f"b{k}", rng) for k in range(6)]
    pairs = [*pairwise([ground, *bodies[:3], ground]), *pairwise([*bodies[2:], bodies[2]])]
    kinds = [R, R, R, base, R, R, R, R]
    joints = [fitting(kind, f"J{k}", *pair, rng) for k, (kind, pair) in enumerate(zip(kinds, pairs, strict=True))]
    motor = Driver("motor", joints[4], "angle", Law(bodies[3].angle - bodies[2].angle + 2.0 * sin(TIME)))
    model = Model("nested", tuple(bodies), tuple(joints), (motor,), (), (1.3, -9.81), ground=ground)
    return replace(model, simulation=replace(model.simulation, cut=("J2", "J6")))


def test_a_random_mechanism_with_loops_and_drivers_moves_alike(rng: Random) -> None:
    """Triangles, other loops and drivers side by side, whatever tree is found."""
    check_beside_bodies(random_mechanism(rng), rng, far=0.01, coordinates="minimal")


@pytest.mark.parametrize("name", with_slow(shipped()))
@pytest.mark.sampled
def test_a_shipped_mechanism_moves_alike(name: str, rng: Random) -> None:
    """At a random state near its start; nothing switches that does not switch in joint coordinates."""
    model = load(name)
    if not has_triangles(model):
        pytest.skip("it has no triangles")
    e = prepare(model, "minimal").equations
    assert e.chart.tree is not None
    assert len(e.switches) == len(e.chart.tree.switches)
    check_beside_bodies(model, rng, far=0.02, coordinates="minimal")


def beside_bodies(model: Model, **how: Any) -> tuple[Trajectory, Trajectory]:
    """Runs in minimal and in body coordinates, whose poses and reactions are the same."""
    mine, theirs = (simulate(model, **{**TIGHT, **how}, coordinates=kind) for kind in ("minimal", "body"))
    assert mine.info.coordinates == "minimal"
    np.testing.assert_allclose(mine.q, theirs.q, rtol=0.0, atol=1e-8)
    if theirs.info.redundant == 0:
        for kind in ("reactions", "driving"):
            a, b = (motion.tables[kind].values for motion in (mine, theirs))
            np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-7 * (1.0 + np.max(np.abs(b), initial=0.0)))
    return mine, theirs


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_a_shipped_mechanism_follows_the_same_path(name: str) -> None:
    """Five seconds, or its own span; or until it stops in a dead position, where the bodies go on."""
    model = load(name)
    if not has_triangles(model):
        pytest.skip("it has no triangles")
    t_end = min(5.0, model.simulation.t_end)
    if name in WITH_DEAD_POSITIONS:
        with pytest.raises(NumericalStop, match="dead-position") as stop:
            simulate(model, t_end=t_end, step=t_end / 100, coordinates="minimal")
        assert stop.value.trajectory is not None
        t_end = 0.99 * stop.value.trajectory.t[-1]
    beside_bodies(model, t_end=t_end, step=t_end / 100)


def test_the_slider_crank_is_one_equation_without_constraints() -> None:
    """Its rod and slider follow; theta of all joints, their rates and accelerations are those of joint coordinates."""
    model = load("slider_crank")
    report = check(model, coordinates="minimal")
    assert (report.constraints, report.dof) == (0, 1)
    mine, theirs = (simulate(model, t_end=3.0, step=0.05, coordinates=kind, **TIGHT) for kind in ("minimal", "joint"))
    assert mine.tables["minimal_d"].columns.labels == ("O",)
    for kind in ("theta", "theta_d", "theta_dd"):
        a, b = mine.tables[kind], theirs.tables[kind]
        assert a.columns == b.columns
        np.testing.assert_allclose(a.values, b.values, atol=1e-9 * (1.0 + np.max(np.abs(b.values))))


DRAG_LINK = """
linkwork: 1
name: drag_link
parameters: {side: 1, k: 0.5, phi: 0.3, a: 1.0, b: 1.4, c: 1.2, d: 0.5,
  ex: d - a*cos(phi), ey: -a*sin(phi), e2: ex^2 + ey^2,
  coupler: "atan2(ey, ex) + side*acos((e2 + b^2 - c^2)/(2*b*sqrt(e2)))",
  rocker: "atan2(a*sin(phi) + b*sin(coupler), a*cos(phi) + b*cos(coupler) - d)"}
gravity: [0, -9.81]
ground: {points: {O: [0, 0], C: [d, 0]}}
bodies:
  crank: {mass: 1, inertia: 0.1, position: [a/2*cos(phi), a/2*sin(phi)], angle: phi, angular_velocity: 9,
          points: {O: [-a/2, 0], A: [a/2, 0]}}
  coupler: {mass: 1.5, inertia: 0.2, angle: coupler,
            position: [a*cos(phi) + b/2*cos(coupler), a*sin(phi) + b/2*sin(coupler)],
            points: {A: [-b/2, 0], B: [b/2, 0]}}
  rocker: {mass: 1.2, inertia: 0.15, position: [d + c/2*cos(rocker), c/2*sin(rocker)], angle: rocker,
           points: {C: [-c/2, 0], B: [c/2, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: coupler.A}
  B: {type: revolute, i: coupler.B, j: rocker.B}
  C: {type: revolute, i: rocker.C, j: ground.C}
forces:
  winding: {type: rotational-spring-damper, i: ground, j: rocker, stiffness: k, damping: 0.01}
simulation: {t_end: 4, step: 0.02}
"""


def test_both_assembly_modes_of_a_four_bar_stay_on_their_sides_through_whole_turns() -> None:
    """All links of a drag link turn fully, against a spring that winds up on a pin that follows; one machine code."""
    modes = [loads(DRAG_LINK, changes={"side": side}) for side in (1.0, -1.0)]
    ends = []
    for model in modes:
        mine, theirs = beside_bodies(model)
        turned = mine["rocker.phi"][-1] - mine["rocker.phi"][0]
        assert abs(turned) > 4.0 * np.pi
        ends.append(theirs.q[-1])
    assert np.max(np.abs(ends[0] - ends[1])) > 0.1
    shared = [prepare(model, "minimal").shared for model in modes]
    assert shared[0] is shared[1]


def test_a_dyad_on_the_wrong_side_is_the_other_assembly_mode() -> None:
    """sigma decides: with its sign turned the loop is closed as well, with other angles of coupler and rocker."""
    place = restart(prepare(loads(DRAG_LINK), "minimal").place())
    e = place.equations
    (dyad,) = e.chart.dyads
    sigma = e.parameters[dyad.sigma]
    assert sigma in (1.0, -1.0)
    other = Place(e.with_values({**e.parameters, dyad.sigma: -sigma}), place.q, place.v)
    q, q_other = (at.of_bodies()[0] for at in (place, other))
    np.testing.assert_allclose(q[:3], q_other[:3], atol=1e-12)
    assert np.max(np.abs(q[3:] - q_other[3:])) > 0.1
    assert e.chart.body is not None
    mirrored = Place(e.chart.body.with_values(e.parameters), *other.of_bodies())
    np.testing.assert_allclose(mirrored.Psi, 0.0, atol=1e-12)
    theirs = prepare(loads(DRAG_LINK, changes={"side": -1.0})).place().q
    np.testing.assert_allclose(np.cos(q_other[5::3]), np.cos(theirs[5::3]), atol=1e-9)


@pytest.mark.parametrize("rtol", [1e-2, 1e-4, 1e-9])
def test_a_motion_stops_where_its_links_are_stretched(rtol: float) -> None:
    """The four-bars of equal links fold at a time known from bodies; joints, time and other coordinates are named."""
    model = load("n_four_bar")
    with pytest.raises(NumericalStop) as stop:
        simulate(model, coordinates="minimal", t_end=3.0, step=0.01, rtol=rtol)
    assert stop.value.code == "dead-position"
    for text in ("'C0'", "'A1' and 'B0'", "joint or body"):
        assert text in stop.value.message
    motion = stop.value.trajectory
    assert motion is not None
    assert motion.info.status == "stopped"
    for table in motion.tables.values():
        assert np.all(np.isfinite(table.values))
    whole = simulate(model, t_end=motion.t[-1], step=motion.t[-1] / 4)
    assert whole["upright0.phi"][-1] == pytest.approx(motion["upright0.phi"][-1], abs=max(1e-6, rtol))


def test_a_crank_that_cannot_go_round_stops_at_its_turning_point() -> None:
    """A rod shorter than its crank stands across the slide there: sin(O) = l2/l1, but for LEAST."""
    model = load("slider_crank", {"l1": 1.0, "l2": 0.6})
    with pytest.raises(NumericalStop) as stop:
        simulate(model, coordinates="minimal", t_end=5.0, step=0.01)
    assert stop.value.code == "dead-position"
    assert stop.value.trajectory is not None
    crank = stop.value.trajectory["crank.phi"][-1]
    assert abs(np.sin(crank)) == pytest.approx(0.6, abs=1e-4)
    beside_bodies(model, t_end=0.9 * stop.value.trajectory.t[-1], step=0.01)


def test_a_motion_stops_where_its_slides_are_parallel() -> None:
    """A slot that turns by t leads a pin up the line x = 1 to y = tan t: they are parallel after a quarter turn."""
    with pytest.raises(NumericalStop) as stop:
        simulate(loads(SLOT), coordinates="minimal", t_end=1.7, step=0.01)
    assert stop.value.code == "dead-position"
    assert "'outwards' and 'upwards' do not follow" in stop.value.message
    motion = stop.value.trajectory
    assert motion is not None
    assert motion.t[-1] == pytest.approx(np.pi / 2 - 0.01, abs=1e-4)
    np.testing.assert_allclose(motion["pin.y"], np.tan(motion.t), rtol=1e-9)


SLOT = """
linkwork: 1
name: slot
ground: {points: {O: [0, 0], P: [1, 0]}}
bodies:
  slot: {mass: 1, inertia: 0.2, points: {O: [0, 0]}}
  block: {mass: 0.5, inertia: 0.1, position: [1, 0], points: {P: [0, 0]}}
  pin: {mass: 0.7, inertia: 0.1, position: [1, 0], points: {P: [0, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: slot.O}
  outwards: {type: prismatic, i: slot.O, j: block.P, axis: [1, 0]}
  upwards: {type: prismatic, i: ground.P, j: pin.P, axis: [0, 1]}
  P: {type: revolute, i: block.P, j: pin.P}
drivers:
  motor: {joint: O, motion: t}
simulation: {t_end: 1, step: 0.01, cut: [P]}
"""


def test_a_dead_position_is_no_start() -> None:
    """Crank and rod in one line with the rocker's pin leave the side open."""
    with pytest.raises(ModelError, match="dead-position"):
        simulate(stretched(), coordinates="minimal", t_end=0.1)


def stretched() -> Model:
    """A drag link whose coupler and rocker are one line: b + c is the distance of their ends."""
    a, d, phi = 1.0, 0.5, 0.3
    distance = float(np.hypot(d - a * np.cos(phi), a * np.sin(phi)))
    return loads(DRAG_LINK.replace("angular_velocity: 9,", ""), changes={"b": 0.6 * distance, "c": 0.4 * distance})


def test_events_and_forces_act_on_what_follows() -> None:
    """A stop at a following link, an event of a reaction of the cut, one of the model that ends the run."""
    text = DRAG_LINK.replace("angular_velocity: 9,", "angular_velocity: 1,").replace(
        "simulation:",
        """events:
  wall: {when: rocker.phi + 2, direction: falling, action: set, restitution: 0.5}
  heavy: {when: reaction.B.x + 8, action: record}
  end: {when: t - 1.3, action: stop}
simulation:""",
    )
    mine, theirs = (simulate(loads(text), coordinates=kind, **TIGHT) for kind in ("minimal", "body"))
    assert [*mine.events.names] == [*theirs.events.names]
    assert {"wall", "heavy", "end"} <= {*mine.events.names}
    for a, b in zip(mine.events[1:], theirs.events[1:], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    np.testing.assert_allclose(mine.q, theirs.q, atol=1e-7)


@pytest.mark.parametrize("joint", ["O", "C"])
def test_a_driver_leads_an_independent_pin_and_its_torque_is_that_of_the_bodies(joint: str) -> None:
    """Of crank or rocker, with the reactions of all pins."""
    text = DRAG_LINK.replace("angular_velocity: 9,", "").replace(
        "simulation:", f'drivers:\n  motor: {{joint: {joint}, motion: "start + 5*t + sin(3*t)"}}\nsimulation:'
    )
    start = "phi" if joint == "O" else "-rocker"
    mine, _ = beside_bodies(
        loads(text.replace("start +", f"{start} +")), t_end=2.0, step=0.05, start=Start(assemble=True)
    )
    assert mine.tables["minimal_d"].columns.labels == (joint,)


def test_a_crank_driven_evenly_is_followed_by_short_steps() -> None:
    """Its angle alone would let any step pass, and the work of the motor be wrong."""
    mine, theirs = beside_bodies(load("slider_crank_driven"), t_end=2.0, step=0.1)
    np.testing.assert_allclose(mine.energy["supplied"], theirs.energy["supplied"], rtol=1e-7, atol=1e-7)


def test_other_values_and_other_starts_need_no_compiling() -> None:
    """Parameters, start values of joints that are independent and that follow; the code is that of the first run."""
    mechanism = prepare(load("four_bar"), "minimal")
    mechanism.simulate(t_end=0.1)
    compiled = dict(mechanism.shared._compiled)
    for how in (
        {"parameters": {"b": 2.4, "rho": 2.0}},
        {"start": Start({"O": 1.2}, assemble=True)},
        {"start": {"O_d": 2.0}},
    ):
        mine = mechanism.simulate(t_end=1.0, step=0.1, **TIGHT, **how)
        theirs = prepare(load("four_bar"), "joint").simulate(t_end=1.0, step=0.1, **TIGHT, **how)
        np.testing.assert_allclose(mine.q, theirs.q, atol=1e-8)
    assert mechanism.shared._compiled == compiled


def test_a_motion_is_kept_in_files_and_gone_on_with(tmp_path: Any) -> None:
    """All tables come back; half a motion goes on as the whole."""
    model = load("four_bar")
    whole, half = (simulate(model, coordinates="minimal", t_end=t, step=0.1) for t in (0.4, 0.2))
    for suffix in (".nc", ".csv"):
        half.save(tmp_path / f"half{suffix}")
        read = type(half).load(tmp_path / f"half{suffix}")
        assert read.tables.keys() == half.tables.keys()
        again = simulate(model, coordinates="minimal", t_end=0.4, step=0.1, start=Start(resume=read))
        np.testing.assert_allclose(again.q, whole.q, atol=1e-8)
    with pytest.raises(UsageError, match="minimal-arrays"):
        whole.dap_arrays()


def test_equations_are_written_and_positions_are_left_to_other_coordinates() -> None:
    """The listing says what follows; kinematics and assemble need the constraints of the loops."""
    listing = write_down(load("four_bar"), "lagrange", coordinates="minimal")
    assert any("closed as a triangle by B: A and C follow" in note for note in listing.notes)
    for to in ("text", "latex", "markdown", "python", "c"):
        assert FORMATS[to](listing)
    assert "if(" not in FORMATS["text"](listing)
    for analysis in (kinematics, assemble):
        with pytest.raises(UsageError, match="minimal-positions"):
            analysis(load("four_bar_grashof"), coordinates="minimal")


def test_a_formulation_is_explained_in_numbers(capfd: pytest.CaptureFixture[str]) -> None:
    """One equation, M a = Q; no linear algebra is tried at states that the links do not reach."""
    worked = explain(load("four_bar"), coordinates="minimal")
    motion = simulate(load("four_bar"), t_end=0.1)
    assert (worked.v_names, worked.rows) == (("O",), ())
    assert worked.a[0] == pytest.approx(motion["crank.alpha"][0], rel=1e-9)
    assert "DLASCL" not in "".join(capfd.readouterr())


def test_coordinates_are_compared_and_cuts_choose_the_triangle() -> None:
    """A row for each; with another cut the same loop is another triangle and the same motion."""
    rows = compare(load("four_bar"), coordinates=["body", "minimal"], formulations=["augmented", "qr"], t_end=0.5).rows
    assert [row.status for row in rows] == ["ok"] * 4
    expected = simulate(load("four_bar"), t_end=1.0, step=0.1, **TIGHT)
    for cut in "OABC":
        motion = simulate(load("four_bar"), coordinates=Coordinates("minimal", cut=[cut]), t_end=1.0, step=0.1, **TIGHT)
        np.testing.assert_allclose(motion.q, expected.q, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        *({"formulation": name} for name in usual_formulations()),
        *({"stabilization": name} for name in ("baumgarte", "none")),
        *({"integrator": name} for name in integrators()),
    ],
    ids=lambda how: "-".join(how.values()),
)
def test_every_method_works_in_minimal_coordinates(how: Any) -> None:
    """Half a second of a driven and of a free mechanism by each, near the motion by `augmented` in body coordinates."""
    for name in ("four_bar", "warsaw_problem12"):
        model = load(name)
        expected = simulate(model, t_end=0.5, step=0.05, rtol=1e-10, atol=1e-11)
        motion = simulate(model, coordinates="minimal", t_end=0.5, step=0.05, rtol=1e-8, atol=1e-9, **how)
        np.testing.assert_allclose(motion.q, expected.q, atol=3e-5)  # of second order, generalized-alpha


def test_a_stiff_motion_is_integrated_implicitly() -> None:
    """A strong damper on the pin that follows: radau5 and auto beside the bodies."""
    model = loads(DRAG_LINK.replace("damping: 0.01", "damping: 3000"))
    theirs = simulate(model, t_end=1.0, step=0.1, integrator="radau5", rtol=1e-9, atol=1e-10)
    for integrator in ("radau5", "auto"):
        mine = simulate(model, t_end=1.0, step=0.1, integrator=integrator, coordinates="minimal", rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(mine.q, theirs.q, atol=1e-6)


def test_the_margin_is_the_square_of_the_sine_between_two_links() -> None:
    """Of coupler and rocker, by the angles of the bodies."""
    place = restart(prepare(loads(DRAG_LINK), "minimal").place())
    (dyad,) = place.equations.chart.dyads
    q, _ = place.of_bodies()
    assert evaluate([dyad.margin], place.values)[0] == pytest.approx(np.sin(q[8] - q[5]) ** 2, rel=1e-12)


def test_equations_derived_by_hand_that_are_measured_beside_it_move_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slider-crank and Andrews' mechanism of the benchmarks: angle and speed of the crank at the end."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    joint = import_module("benchmarks.joint")
    for name, t_end, by_hand in (
        ("slider_crank", 2.0, joint.slider_crank_by_hand()),
        ("andrews_squeezer", 0.01, joint.andrews_by_hand()),
    ):
        ours = joint.of_model(name, "O", "minimal")
        end, expected = (joint.run(case, t_end, 1e-11)[1].y[list(case.watched)] for case in (ours, by_hand))
        np.testing.assert_allclose(end, expected, rtol=1e-8)
