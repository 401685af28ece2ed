"""Lanes: what vectors compute is, to the bit, what each of their doubles would be alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwork import load, prepare
from linkwork.compiled.mechanism import Mechanism
from linkwork.expressions import graph
from linkwork.expressions.graph import Expr, select, symbol
from linkwork.integrators import lanes as many
from linkwork.integrators.integrate import Problem, Settings, State
from linkwork.integrators.lanes import Team, advance_lane, advance_lanes, lanes_for, refusal
from linkwork.integrators.memory import End
from linkwork.native import machine
from linkwork.native.lowering import PART, NativeFunction, compile_programs
from linkwork.sequences.sequence import Again, ComputationSequence
from linkwork.simulation.motions import compile_lanes
from linkwork.simulation.options import choose
from linkwork.simulation.problem import Motion
from linkwork.simulation.simulate import begin_state

Array = NDArray[np.float64]

pytestmark = pytest.mark.skipif(bool(machine.missing()), reason="LLVM is not here")
ENOUGH = 10**6  # steps


def bits(x: Any) -> Any:
    return np.ascontiguousarray(x, dtype=float).view(np.int64)


# Sequences.


def compare(one: NativeFunction, lanes: NativeFunction, x: Array, p: Array) -> None:
    """x and p have a column for each lane."""
    found = np.empty((lanes.outputs, lanes.lanes))
    lanes.fill(np.ascontiguousarray(x), np.ascontiguousarray(p).reshape(-1), found)
    for k in range(lanes.lanes):
        np.testing.assert_array_equal(bits(found[:, k]), bits(one(x[:, k].copy(), p[:, k].copy())))


@pytest.mark.parametrize("count", [2, 4, 8])
def test_every_operation_does_in_each_lane_what_it_does_alone(count: int) -> None:
    """With comparisons that differ from lane to lane, tables read in different pieces, numbers that are none."""
    x, y, p = symbol("x"), symbol("y"), symbol("p")
    table = graph.spline(x, (0.0, 1.0, 2.5), ((1.0, 0.3, -0.2, 0.1), (0.5, -1.0, 0.4, 0.2)))
    unary = [getattr(graph, f)(x) for f in ("sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "tanh", "sqrt")]
    outputs = [
        *unary, graph.absolute(x), graph.sign(y), graph.atan2(x, y), graph.minimum(x, y), graph.maximum(x, p),
        graph.less(x, y), graph.less_equal(y, p), select(graph.less(x, p), x * y, x / y), -x, x - y * p, x**p, table,
        x + 2.5, p,
    ]  # fmt: skip
    program = ComputationSequence("f", [x, y], outputs)
    one, lanes = (compile_programs([program], [p], lanes=n)["f"] for n in (1, count))
    rng = np.random.default_rng(4)
    for _ in range(20):
        given = rng.normal(size=(2, count))
        given[:, rng.integers(count)] = rng.choice([0.0, -0.0, math.inf, math.nan, 1e300], 2)
        compare(one, lanes, given, rng.normal(size=(1, count)))


def test_long_programs_hand_values_of_all_lanes_on() -> None:
    """Parts of a program share a scratch, of which each lane has its own."""
    x = symbol("x")
    chain: list[Expr] = [x]
    for k in range(3 * PART):
        chain.append(graph.sin(chain[-1]) + chain[len(chain) // 2] * 0.001 * (k + 1))
    program = ComputationSequence("f", [x], [chain[-1], chain[PART // 2], chain[PART]])
    one, lanes = (compile_programs([program], [], lanes=n)["f"] for n in (1, 4))
    compare(one, lanes, np.random.default_rng(5).normal(size=(1, 4)), np.empty((0, 4)))


def test_each_lane_repeats_as_often_as_its_numbers_say() -> None:
    """Newton's square root: 0 to 3 times by a count, and up to 9 times while it is not settled."""
    a, root, count, most = symbol("a"), symbol("root"), symbol("count"), symbol("most")
    first = 0.5 * (a + 1.0)
    better = symbol("better")
    again = Again(
        count, {0: root}, {0: 0.5 * (root + a / root)}, most, graph.less(4.0, a),
        graph.less(1e-15 * root, graph.absolute(better - root)), {0: better},
    )  # fmt: skip
    program = ComputationSequence("f", [a], [first, a * 2.0], again=again)
    seen: set[bool] = set()
    for n in (2, 4, 8):
        one, lanes = (compile_programs([program], [count, most], lanes=k)["f"] for k in (1, n))
        p = np.zeros((2, n))
        p.view(np.int64)[0], p.view(np.int64)[1] = np.arange(n) % 4, np.arange(n) % 3 * 4
        for shift in range(n):
            x = np.roll(np.linspace(2.0, 9.0, n), shift)[None]
            compare(one, lanes, x, p)
            roots = [one(x[:, k].copy(), p[:, k].copy())[0] for k in range(n)]
            seen |= {math.isclose(y, math.sqrt(z), rel_tol=1e-14) for y, z in zip(roots, x[0], strict=True)}
    assert seen == {True, False}  # some have come to the root, some not


# Motions.


class Motions(NamedTuple):
    """Of some motions of one structure: what the time loop is given of each."""

    mechanism: Mechanism
    motion: Motion
    problem: Problem
    p: Array
    y: Array
    scale: Array
    settings: Settings

    def team(self, times: Array, lanes: int, max_steps: int = ENOUGH, stops: tuple[float, ...] = ()) -> Team:
        code = compile_lanes(self.motion.form, self.problem, lanes)
        return Team(self.problem, code, self.p.shape[1], times, self.settings, stops, max_steps)

    def alone(self, k: int, times: Array, max_steps: int = ENOUGH, stops: tuple[float, ...] = ()) -> State:
        given = self.p[k], self.y[k], times, self.settings, self.scale[k], stops, 0.0, max_steps
        state = State(self.problem, *given)
        state.advance(ENOUGH)
        return state


def motions_of(
    name: str, coordinates: str, values: Mapping[str, Array], integrator: str = "auto", rtol: float = 1e-8
) -> Motions:
    mechanism, rows = prepare(load(name), coordinates), []
    for row in np.column_stack([*values.values()]).tolist():
        own = mechanism.changed(dict(zip(values, row, strict=True)))
        motion = Motion.begin(own, choose("augmented", "projection", integrator, 5.0), "mass", False, (), None, None)
        settings = Settings(rtol, rtol)
        motion.set_off(settings, np.array([0.0, 5.0]), begin_state(motion, "mass", "projection"))
        rows.append((motion.state.p, motion.state.y, motion.error_scale()))
    p, y, scale = (np.array(x) for x in zip(*rows, strict=True))
    return Motions(mechanism, motion, motion.problem(), p, y, scale, settings)


def spread(count: int, **around: float) -> dict[str, Array]:
    rng = np.random.default_rng(11)
    return {name: x * rng.uniform(0.9, 1.1, count) for name, x in around.items()}


def compare_motions(given: Motions, times: Array, lanes: int, **limits: Any) -> list[End]:
    """Report rows, ends, steps and evaluations; how the motions ended."""
    found, ends = given.team(times, lanes, **limits).advance(given.p, given.y, given.scale), []
    for k in range(len(given.p)):
        state = given.alone(k, times, **limits)
        at = state.at
        row = int(found.row[k])
        assert (row, found.end[k], found.t[k]) == (at.row, state.status, at.x[0])
        assert (found.steps[k], found.rejected[k], found.evaluations[k]) == (at.steps, at.rejected, at.evaluations)
        np.testing.assert_array_equal(bits(found.rows[k, :row]), bits(state.rows[:row]))
        np.testing.assert_array_equal(bits(found.residuals[k]), bits(at.residuals))
        ends.append(End(int(found.end[k])))
    return ends


EVERY = np.linspace(0.0, 2.0, 201)


@pytest.mark.parametrize("lanes", [2, 16])
@pytest.mark.parametrize("times", [EVERY[[0, -1]], EVERY], ids=["end", "rows"])
def test_motions_side_by_side_take_the_steps_that_they_take_alone(lanes: int, times: Array) -> None:
    """More motions than lanes, each as long as it needs; with and without reports inside of steps."""
    given = motions_of("double_pendulum", "joint", spread(19, m1=1.0, L1=1.0, L2=0.7))
    assert refusal(given.problem) == ""
    assert {*compare_motions(given, times, lanes)} == {End.REACHED}


@pytest.mark.parametrize(
    ("name", "coordinates", "integrator", "around"),
    [
        ("slider_crank", "minimal", "dopri5", ("m1", "l2")),  # which has the derivative at the end already
        ("slider_crank", "body", "dop853", ("m1", "J1")),  # projected
        ("bricard", "joint", "auto", ()),  # with rows that depend on others: repeated solutions
        ("n_four_bar", "joint", "auto", ()),  # which passes singular positions
        pytest.param("andrews_squeezer", "minimal", "auto", ("c0",), marks=pytest.mark.slow),  # long programs
        ("dap/macpherson_a", "joint", "auto", ("R", "c_tyre")),  # a law that switches
        ("stick_slip_belt", "body", "auto", ("mu_s",)),  # a law that may be narrow; events, at which all of them end
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_projection_repetition_and_singular_positions_in_lanes(
    name: str, coordinates: str, integrator: str, around: tuple[str, ...]
) -> None:
    stated = load(name).parameters
    values = {key: float(stated[key]) for key in around or list(stated)[:1]}
    given = motions_of(name, coordinates, spread(10, **values), integrator)
    assert refusal(given.problem) == ""
    compare_motions(given, EVERY, lanes_for(given.problem.derivative))


def test_a_motion_that_fails_leaves_its_neighbours_alone() -> None:
    """One begins where it has no derivative, others have too few steps; nobody else's bits change."""
    given = motions_of("double_pendulum", "joint", spread(9, m1=1.0, L1=1.0))
    given.y[4, 0] = math.nan
    given.p[6, -1] = math.nan
    ends = compare_motions(given, EVERY, 4)
    assert ends[4] == End.NOT_FINITE
    assert ends.count(End.REACHED) >= 7
    assert End.TOO_MANY_STEPS in compare_motions(given, EVERY, 4, max_steps=30)


@pytest.mark.slow
def test_stops_end_steps_in_lanes_too() -> None:
    given = motions_of("double_pendulum", "joint", spread(5, m1=1.0))
    assert {*compare_motions(given, EVERY, 4, stops=(0.31, 1.7))} == {End.REACHED}


def test_no_motion_depends_on_its_place() -> None:
    given = motions_of("double_pendulum", "joint", spread(13, m1=1.0, L2=0.7))
    team, order = given.team(EVERY, 8), np.random.default_rng(2).permutation(13)
    whole = team.advance(given.p, given.y, given.scale)
    mixed = team.advance(given.p[order], given.y[order], given.scale[order])
    some = team.advance(given.p[3:8], given.y[3:8], given.scale[3:8])
    for x, y, z in zip(whole, mixed, some, strict=True):
        np.testing.assert_array_equal(bits(x[order]), bits(y))
        np.testing.assert_array_equal(bits(x[3:8]), bits(z))


def test_the_loop_in_lanes_is_stepped_through_as_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """One lane is the machine code of one motion, and Python that of one lane."""
    given = motions_of("double_pendulum", "joint", spread(5, m1=1.0), rtol=1e-4)
    times = np.array([0.0, 0.05, 0.1])
    found = [given.team(times, lanes).advance(given.p, given.y, given.scale) for lanes in (4, 1)]
    monkeypatch.setattr(many, "call_in_lanes", lambda _, here, *memory: advance_lane.python(*memory))
    monkeypatch.setattr(many, "advance_lanes", advance_lanes.python)
    found.append(given.team(times, 1).advance(given.p, given.y, given.scale))
    for x, y, z in zip(*found, strict=True):
        np.testing.assert_array_equal(bits(x), bits(y))
        np.testing.assert_allclose(z, x, rtol=1e-13)


def test_what_does_not_go_in_lanes_says_why() -> None:
    def why(name: str, coordinates: str = "body", integrator: str = "auto", formulation: str = "augmented") -> str:
        how = choose(formulation, "projection", integrator, 5.0)
        motion = Motion.begin(prepare(load(name), coordinates), how, "mass", False, (), None, None)
        motion.set_off(Settings(), np.array([0.0, 5.0]), begin_state(motion, "mass", "projection"))
        return refusal(motion.problem())

    assert why("double_pendulum") == ""
    assert "implicit" in why("double_pendulum", integrator="radau5")
    assert "one sequence" in why("slider_crank", formulation="qr")
