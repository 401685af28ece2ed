"""simulate: formulations, stabilizations and what happens when a run cannot go on."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from linkwork import Integrator, Start
from linkwork.compiled.mechanism import prepare
from linkwork.compiled.system import compile_system
from linkwork.elements.forces import PointForce, Torque
from linkwork.equations.body import body_equations
from linkwork.equations.programs import TERMS
from linkwork.errors import Interrupted, ModelError, NumericalStop, UsageError
from linkwork.expressions.graph import sqrt, symbol
from linkwork.expressions.parser import parse
from linkwork.formulations import FORMULATIONS, right_side, usual_formulations
from linkwork.modelfile import load, loads
from linkwork.native.kernels import size_of
from linkwork.simulation.options import Baumgarte
from linkwork.simulation.simulate import simulate


@pytest.mark.diagonal
@pytest.mark.parametrize("formulation", usual_formulations())
@pytest.mark.parametrize("name", ["slider_crank", "four_bar_redundant"])
def test_every_formulation_moves_the_mechanism_alike(name: str, formulation: str) -> None:
    """Positions, velocities, accelerations and the forces on the bodies after half a second."""
    model = load(name)
    expected = simulate(model, t_end=0.5, step=0.1, rtol=1e-11)
    motion = simulate(model, t_end=0.5, step=0.1, rtol=1e-11, formulation=formulation)
    np.testing.assert_allclose(motion.q, expected.q, atol=1e-9)
    np.testing.assert_allclose(motion.v, expected.v, atol=1e-8)
    np.testing.assert_allclose(motion.a, expected.a, atol=1e-7)
    assert motion.info.formulation == formulation
    np.testing.assert_allclose(motion.columns("reactions")["O.x"], expected.columns("reactions")["O.x"], atol=1e-6)


def test_ggl_keeps_positions_on_the_constraints_without_projection() -> None:
    """Positions move along the constraints, so their gap stays an order below that of the plain index-1 form."""
    plain = simulate(load("slider_crank"), t_end=20.0, rtol=1e-6, stabilization="none")
    ggl = simulate(load("slider_crank"), t_end=20.0, rtol=1e-6, stabilization="none", formulation="ggl")
    assert ggl.error_position[-1] < plain.error_position[-1]


MASSLESS = """
linkwork: 1
name: massless_link
parameters: {m: 0}
ground: {points: {O: [0, 0]}}
bodies:
  link: {mass: m, inertia: m, position: [0.5, 0], points: {O: [-0.5, 0], A: [0.5, 0]}}
  bob: {mass: 2, inertia: 0.3, position: [1, 0], points: {A: [0, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: link.O}
  A: {type: rigid, i: link.A, j: bob.A}
"""


def test_body_without_mass_needs_a_formulation_that_allows_it() -> None:
    """A massless link with a bob fixed to it swings as one body of inertia m L^2 + J about the pivot."""
    model = loads(MASSLESS)
    with pytest.raises(ModelError) as refused:
        simulate(model, t_end=0.1, formulation="udwadia-kalaba")
    assert refused.value.code == "zero-mass"
    assert "udwadia-phohomsiri" in str(refused.value)
    with pytest.raises(ModelError, match="link' has no mass, and its motion follows from nothing else") as refused:
        simulate(loads(MASSLESS.replace("  A: {type: rigid, i: link.A, j: bob.A}\n", "")), t_end=0.1)
    assert "formulations" not in str(refused.value)  # as none would do
    same = loads(
        MASSLESS.replace("{m: 0}", "{m: 1}")
        .replace("mass: m, inertia: m, position: [0.5, 0], points: {O: [-0.5, 0], A: [0.5, 0]}",
                 "mass: 2, inertia: 0.3, position: [1, 0], points: {O: [-1, 0], A: [0, 0]}")
        .replace("  bob: {mass: 2, inertia: 0.3, position: [1, 0], points: {A: [0, 0]}}\n", "")
        .replace("  A: {type: rigid, i: link.A, j: bob.A}\n", "")
    )  # fmt: skip
    expected = simulate(same, t_end=1.0, step=0.25, rtol=1e-11)
    for formulation in ("augmented", "udwadia-phohomsiri"):
        motion = simulate(model, t_end=1.0, step=0.25, rtol=1e-11, formulation=formulation)
        np.testing.assert_allclose(motion["bob.phi"], expected["link.phi"], atol=1e-9)
        np.testing.assert_allclose(motion["reaction:O.y"], expected["reaction:O.y"], atol=1e-6)


def test_pivots_of_the_explicit_form_are_no_switches() -> None:
    """A slider-crank whose rod has no mass, and whose pivots change: there is no law that could be missed."""
    model = loads(
        """
linkwork: 1
parameters: {r: 0.2, l: 0.55, th: 0.7, ps: "asin(r*sin(th)/l)"}
ground: {points: {O: [0, 0]}}
bodies:
  crank: {mass: 1, inertia: 0.01, angle: th, position: [r/2*cos(th), r/2*sin(th)], points: {O: [-r/2, 0], A: [r/2, 0]}}
  rod: {mass: 0, angle: -ps, position: [r*cos(th)+l/2*cos(ps), r*sin(th)/2], points: {A: [-l/2, 0], B: [l/2, 0]}}
  block: {mass: 1.5, inertia: 0.05, position: [r*cos(th)+l*cos(ps), 0], points: {B: [0, 0]}}
joints:
  O: {type: revolute, i: ground.O, j: crank.O}
  A: {type: revolute, i: crank.A, j: rod.A}
  B: {type: revolute, i: rod.B, j: block.B}
  S: {type: prismatic, i: ground.O, j: block.B, axis: [1, 0]}
simulation: {t_end: 0.3, step: 0.05}
"""
    )
    notes = " ".join(simulate(model, formulation="lu").info.notes)
    assert "[repivoted]" in notes
    assert "[unseen-switches]" not in notes


def test_force_that_becomes_undefined_stops_the_run_with_the_last_good_state() -> None:
    """sqrt(0.5 - t) has no value after t = 0.5."""
    model = load("double_pendulum")
    force = PointForce("pull", model.bodies[1], (0.0, 0.0), (sqrt(0.5 - symbol("t")), 0.0))
    with pytest.raises(NumericalStop) as stopped:
        simulate(replace(model, forces=(force,)), t_end=1.0)
    motion = stopped.value.trajectory
    assert motion is not None
    assert motion.info.status == "stopped"
    assert 0.49 < motion.t[-1] <= 0.5
    assert np.all(np.isfinite(motion.q))
    assert "t = 0.4999" in str(stopped.value) or "t = 0.5" in str(stopped.value)
    assert "the force 'pull' has no finite value there" in str(stopped.value)


@pytest.mark.parametrize("formulation", ["augmented", "svd"])
def test_force_that_is_undefined_at_the_start_is_named(formulation: str) -> None:
    model = load("double_pendulum")
    force = PointForce("pull", model.bodies[1], (0.0, 0.0), (sqrt(symbol("t") - 1.0), 0.0))
    with pytest.raises(NumericalStop) as stopped:
        simulate(replace(model, forces=(force,)), t_end=1.0, formulation=formulation)
    assert stopped.value.code == "not-finite"
    assert "the force 'pull' has no finite value there" in str(stopped.value)
    motion = stopped.value.trajectory
    assert motion.status == "stopped"
    np.testing.assert_array_equal(motion.t, [0.0])
    assert np.all(np.isfinite(motion.q))


def test_a_run_with_too_many_steps_stops_and_names_the_force() -> None:
    """Very strong damping leaves explicit methods tiny steps; with radau5 it takes some hundred."""
    model = load("double_pendulum")
    names = {"upper.omega": symbol("upper.omega")}
    force = Torque("brake", model.bodies[0], parse("-1e9*upper.omega", names))
    with pytest.raises(NumericalStop) as stopped:
        simulate(replace(model, forces=(force,)), t_end=10.0, integrator=Integrator(max_steps=300))
    assert stopped.value.code == "too-many-steps"
    assert "of the forces, 'brake' changes most" in str(stopped.value)
    assert "max_steps=" in str(stopped.value)
    motion = stopped.value.trajectory
    assert motion.status == "stopped"
    assert 0.0 < motion.t[-1] < 10.0
    with pytest.raises(NumericalStop) as stopped:
        simulate(replace(model, forces=(force,)), t_end=10.0, integrator=Integrator("dop853", max_steps=8_000))
    run = stopped.value.trajectory.info
    assert run.steps + run.rejected == 8_000
    assert motion.info.steps + motion.info.rejected == 300


HOPPER = """
linkwork: 1
bodies: {ball: {mass: 1, inertia: 0.1, position: [0, 1]}}
events:
  floor: {when: ball.y, direction: falling, action: set, restitution: 0.95}
  kick: {when: "sin(40*t)", action: set, velocities: {ball.vx: ball.vx + 1}}
simulation: {t_end: 3, step: 0.05}
"""


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("slider_crank", {}),
        ("slider_crank", {"integrator": "radau5", "formulation": "ggl"}),
        ("slider_crank", {"integrator": "radau5"}),
        ("flyball_governor", {}),
        (HOPPER, {}),
        (HOPPER, {"integrator": "radau5"}),
    ],
)
@pytest.mark.parametrize("part", [0.3, 0.8])
@pytest.mark.sampled
def test_a_run_attempts_as_many_steps_as_it_may(name: str, options: dict[str, Any], part: float) -> None:
    """In all: whatever methods and events take it over on its way."""
    model = loads(name) if "\n" in name else load(name)
    whole = simulate(model, **options)
    allowed = int(part * (whole.info.steps + whole.info.rejected))
    with pytest.raises(NumericalStop) as stop:
        simulate(model, **{**options, "integrator": Integrator(options.get("integrator", "auto"), max_steps=allowed)})
    assert stop.value.code == "too-many-steps"
    motion = stop.value.trajectory
    assert motion.info.steps + motion.info.rejected == allowed
    assert 0.0 < motion.t[-1] < whole.t[-1]
    same = motion.t[:-1] == whole.t[: len(motion.t) - 1]
    assert same.all()
    np.testing.assert_array_equal(motion.q[:-1], whole.q[: len(motion.t) - 1])


@pytest.mark.parametrize(
    ("name", "options"),
    [pytest.param("bricard", {"integrator": "radau5", "formulation": "ggl"}, marks=pytest.mark.slow), (HOPPER, {})],
)
def test_a_motion_does_not_depend_on_how_long_its_pieces_last(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine so slow that each step is a piece of its own, the digits and the counts are the same."""
    model = loads(name) if "\n" in name else load(name)
    fast = simulate(model, t_end=1.0, **options)
    monkeypatch.setattr("linkwork.simulation.run.SECONDS", 0.0)
    slow = simulate(model, t_end=1.0, **options)
    np.testing.assert_array_equal(fast.q, slow.q)
    assert (fast.info.steps, fast.info.rejected) == (slow.info.steps, slow.info.rejected)


def test_interruption_keeps_what_was_computed() -> None:
    def interrupt(fraction: float, t: float) -> None:
        if t > 0.0:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        simulate(load("slider_crank"), t_end=1e4, step=10.0, progress=interrupt)
    motion = stopped.value.trajectory
    assert motion is not None
    assert motion.info.status == "interrupted"
    assert 0.0 < motion.t[-1] < 1e4


@pytest.mark.parametrize(
    ("setting", "value", "code"),
    [
        ("formulation", "augmentd", "unknown-formulation"),
        ("stabilization", "projektion", "unknown-stabilization"),
        ("integrator", "rk4", "unknown-integrator"),
        ("t_end", -1.0, "bad-t-end"),
        ("t_end", 0.0, "bad-t-end"),
        ("t_end", float("inf"), "bad-t-end"),
        ("step", 0.0, "bad-report-step"),
        ("step", float("inf"), "bad-report-step"),
        ("step", 1e-12, "too-many-report-times"),
        ("rtol", 0.0, "bad-tolerance"),
        *((name, "x", "bad-value") for name in ("t_end", "step", "rtol", "atol", "start", "parameters")),
        ("start", {"crank.phi": "x"}, "bad-value"),
        ("start", {3: 1.0}, "unknown-coordinate"),
        ("start", Start(keep="O"), "bad-value"),
        ("start", Start(keep=3), "bad-value"),  # type: ignore[arg-type]
        ("start", Start(weights=3), "unknown-weights"),  # type: ignore[arg-type]
        ("start", Start(resume="O"), "bad-value"),  # type: ignore[arg-type]
        *((name, 1.0, "moved-argument") for name in ("q", "v", "assemble", "cut", "max_step", "inputs", "resume")),
        ("formulation", None, "unknown-formulation"),
        ("integrator", ["radau5"], "unknown-integrator"),
    ],
)
def test_settings_without_meaning_are_refused(setting: str, value: object, code: str) -> None:
    with pytest.raises(UsageError) as refused:
        simulate(load("slider_crank"), **{setting: value})  # type: ignore[arg-type]
    assert refused.value.code == code


@pytest.mark.parametrize("limit", [{"max_steps": 0}, {"max_steps": "x"}, {"max_step": "x"}])
def test_limits_without_meaning_are_refused(limit: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="bad-"):
        Integrator(**limit)


def test_start_values_have_the_names_of_results() -> None:
    """What a motion shows first is what was given, in body, joint and minimal coordinates."""
    given = {"upper.phi": 0.3, "lower.phi": 0.7, "upper.omega": 2.0, "lower.omega": -1.0}
    for coordinates in ("body", "joint", "minimal"):
        how = Start(given, assemble=True, keep=["upper.phi", "lower.phi"])
        motion = simulate(load("double_pendulum"), start=how, t_end=0.01, coordinates=coordinates)
        assert [motion[name][0] for name in given] == pytest.approx([*given.values()], abs=1e-9)


def test_a_gain_is_a_finite_number() -> None:
    with pytest.raises(UsageError, match="bad-gain"):
        Baumgarte(alpha=float("nan"))


SMALL_PENDULUM = """
linkwork: 1
ground: {points: {O: [0, 0]}}
bodies: {rod: {mass: 1, inertia: 1e-3, position: [0.1, GAP], points: {O: [-0.1, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: rod.O}}
"""


@pytest.mark.parametrize(("gap", "refused"), [(0.004, False), (0.02, True)])
def test_what_is_corrected_unasked_is_a_part_of_the_mechanism(gap: float, refused: bool) -> None:
    """Five per cent of a reach of 0.1 m are 5 mm, not 5 % of a metre."""
    model = loads(SMALL_PENDULUM.replace("GAP", str(gap)))
    if not refused:
        assert simulate(model, t_end=0.01).info.constraint_error_position < 1e-14
        return
    with pytest.raises(ModelError) as error:
        simulate(model, t_end=0.01)
    assert error.value.code == "start-far-off"


def test_a_new_value_of_a_parameter_acts_without_a_new_model_file() -> None:
    """Twice all masses: the same motion, twice the forces."""
    slow = simulate(load("double_pendulum"), t_end=0.01, rtol=1e-10)
    fast = simulate(load("double_pendulum", {"m1": 2.0, "m2": 1.6}), t_end=0.01, rtol=1e-10)
    np.testing.assert_allclose(fast.q, slow.q, atol=1e-12)
    np.testing.assert_allclose(fast.lam, 2.0 * slow.lam, atol=1e-8)


def test_a_formulation_without_an_answer_gives_no_numbers() -> None:
    """Neither rates nor accelerations of a free body without mass, on which nothing acts."""
    equations = body_equations(loads("linkwork: 1\nbodies: {b: {mass: 0, inertia: 1}}"))
    system = compile_system(equations, TERMS, "near mass" if equations.is_diagonal else "unit")
    p = system.p(given={"formulation": FORMULATIONS["qr"].kernel.address})
    y, w = np.zeros(8), np.zeros(right_side.scratch_size("qr", 3, 3, 0, 0))
    right_side.dynamics(np.zeros(9), p, y, w)
    assert np.all(np.isnan(y))


@pytest.mark.parametrize(
    ("model", "options"), [("slider_crank", {"formulation": "qr"}), ("slider_crank", {}), (HOPPER, {})]
)
def test_runs_leave_nothing_behind(model: str, options: dict[str, Any]) -> None:
    """Sizes of memory are found once for a structure, and so are problems: more runs add none."""
    mechanism = prepare(loads(model) if "\n" in model else load(model))
    sizes = []
    for k in range(12):
        simulate(mechanism, t_end=0.5 + 0.01 * k, rtol=1e-6 * (1 + k), **options)
        if k > 1:
            sizes.append((size_of.cache_info().currsize, len(mechanism.shared._compiled)))
    assert len(set(sizes)) == 1


def test_a_motion_read_late_is_the_one_that_was_computed() -> None:
    """What is evaluated when it is asked for depends on nothing that happened since: not on runs of other values."""
    mechanism = prepare(loads(HOPPER))
    late = mechanism.simulate(t_end=0.5)
    others = [mechanism.simulate(t_end=t_end) for t_end in (0.3, 0.5)]
    sent = pickle.loads(pickle.dumps(mechanism.simulate(t_end=0.5)))
    assert others[0].t[-1] == 0.3
    for motion in (late, sent):
        for name, (values, unit) in others[1].quantities.items():
            np.testing.assert_array_equal(motion[name], values)
            assert motion.unit(name) == unit
        assert (motion.status, motion.info.notes, motion.info.steps) == (
            "finished",
            others[1].info.notes,
            late.info.steps,
        )
        assert motion.model is not None
        assert motion.events.names == others[1].events.names
    with pytest.raises(ValueError, match="read-only"):
        late.q[0] = 0.0
    with pytest.raises(AttributeError):
        _ = late.speed


UNFELT = """
linkwork: 1
ground: {points: {O: [0, 0]}}
bodies: {rotor: {mass: 1, inertia: 0.1, angular_velocity: 1, points: {O: [0, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: rotor.O}}
forces: {odd: {type: point-force, at: rotor.O, force: [0, "sqrt((t - T0)^2 - 1e-6)"]}}
simulation: {t_end: 1, step: 1e-3, coordinates: joint}
"""


@pytest.mark.parametrize("t_0", [0.0, 0.25, 0.5005, 0.777, 1.0])
def test_no_motion_is_finished_whose_reactions_have_no_value(t_0: float) -> None:
    """The bearing holds a force that is not a number for two milliseconds: whether or not a row of a step is there.

    The few steps of a wheel that turns evenly are judged at once, the rows between when they are asked for.
    """
    try:
        motion = simulate(loads(UNFELT.replace("T0", str(t_0))))
    except NumericalStop as stop:
        motion = stop.trajectory
    assert motion.info.steps < 20 < len(motion.t)
    assert not np.isfinite(motion["reaction:O.y"]).all()
    assert (motion.status, motion.info.reason.code) == ("doubtful", "no-reaction")
    np.testing.assert_allclose(motion["rotor.phi"], motion.t, atol=1e-12)
