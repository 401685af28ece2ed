"""Many motions at once: each is the one that `simulate` has, and what physics says of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from slices import with_slow

import linkwork
from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.errors import LinkworkError, UsageError
from linkwork.mechanisms import shipped
from linkwork.readings import Readings
from linkwork.studies.batch import batch
from linkwork.studies.taking import read_take

FAST = ("slider_crank", "andrews_squeezer", "quick_return", "stick_slip_belt", "heavy_top", "spatial_four_link")
CASES = with_slow([(name, "body") for name in shipped()], [(name, "body") for name in FAST])
CASES += [("bricard", "joint")]  # bodies in space, whose coordinates are outputs
CASES += [pytest.param((name, kind), marks=pytest.mark.slow) for name in shipped() for kind in ("joint", "minimal")]
ROUNDING = 1e-9  # of the largest value of its kind: what is left of a start that is corrected on another way


def motions_of(mechanism: Mechanism, is_driven: bool) -> Any:
    return mechanism.kinematics if is_driven else mechanism.simulate


def kind_of(name: str) -> str:
    """Quantities that are measured alike: accelerations near zero are, beside others, no worse than they."""
    return name.partition(":")[0] if ":" in name else name.rpartition(".")[2].rstrip("xyz123")


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case))
def test_every_motion_of_a_batch_is_the_one_that_simulate_has(case: tuple[str, str]) -> None:
    """All quantities, their ends and extremes, of three mechanisms whose numbers are all changed a little."""
    model = linkwork.load(case[0])
    t_end, random = min(0.4, model.simulation.t_end), np.random.default_rng(11)
    names = [name for name, value in model.parameters.items() if value and name not in model.folded]
    for is_driven in (False, True) if model.drivers else (False,):
        try:
            mechanism = prepare(model, case[1])
            nominal: Readings = motions_of(mechanism, is_driven)(t_end=t_end)
        except LinkworkError:
            continue
        if not names:
            pytest.skip("no parameters")
        points = {name: model.parameters[name] * random.uniform(0.998, 1.002, 3) for name in names}
        takes = [f"{how}({name})" for name in nominal if name != "t" for how in ("final", "max")]
        found = mechanism.batch(points, takes, driven=is_driven, t_end=t_end, threads=1)
        for k in range(3):
            values = {name: float(x[k]) for name, x in points.items()}
            if found.status.values[k] != "finished":
                with pytest.raises(LinkworkError) as refused:
                    motions_of(mechanism, is_driven)(values, t_end=t_end)
                assert found.reason.values[k] == refused.value.code[:40]
                continue
            motion = motions_of(mechanism, is_driven)(values, t_end=t_end)
            assert found.steps.values[k] == motion.info.steps
            scale: dict[str, float] = {}
            for name in motion:
                size = float(np.abs(motion[name]).max())
                scale[kind_of(name)] = max(scale.get(kind_of(name), 0.0), size)
            for text in takes:
                take, value = read_take(text), float(found[text].values[k])
                if not take.of.startswith("error:"):
                    allowed = ROUNDING * scale[kind_of(take.of)]
                    assert value == pytest.approx(take.of_motion(motion), rel=ROUNDING, abs=allowed), (text, k)


def test_motions_from_starts_that_fit_agree_to_the_last_bit() -> None:
    random = np.random.default_rng(5)
    for name, coordinates in (("double_pendulum", "joint"), ("slider_crank", "minimal"), ("slider_crank", "body")):
        mechanism = prepare(linkwork.load(name), coordinates)
        points = {x: mechanism.model.parameters[x] * random.uniform(0.9, 1.1, 7) for x in ("m1", "m2")}
        takes = ["rms(energy:kinetic)", "max(reaction:A)", "final(energy:drift)", "mean(abs(reaction:O.x) + 1)"]
        found = mechanism.batch(points, takes, t_end=1.0)
        assert found.attrs["alone"] == ""
        for k in range(7):
            motion = mechanism.simulate({x: float(values[k]) for x, values in points.items()}, t_end=1.0)
            assert [float(found[text].values[k]) for text in takes] == [read_take(x).of_motion(motion) for x in takes]


def pendula(t: float, y: Any, m1: float, m2: float, l1: float, l2: float) -> list[float]:
    """Two uniform rods hanging from each other, by Lagrange's equations of their angles from the x-axis."""
    a, b, u, w = y
    g, c, s = 9.81, np.cos(a - b), np.sin(a - b)
    M = np.array([[(m1 / 3 + m2) * l1**2, m2 * l1 * l2 * c / 2], [m2 * l1 * l2 * c / 2, m2 * l2**2 / 3]])
    f = [-m2 * l1 * l2 * s * w * w / 2 - (m1 / 2 + m2) * g * l1 * np.cos(a),
         m2 * l1 * l2 * s * u * u / 2 - m2 * g * l2 * np.cos(b) / 2]  # fmt: skip
    return [u, w, *np.linalg.solve(M, f)]


def test_double_pendula_follow_the_equations_of_their_angles() -> None:
    """Random masses and lengths, and random angles and rates at the start: none hangs, none is symmetric."""
    random, n = np.random.default_rng(8), 12
    model = linkwork.load("double_pendulum")
    by = {x: random.uniform(0.5, 2.0, n) for x in ("m1", "m2", "L1", "L2")}
    start = {"upper.omega": random.uniform(-2, 2, n)}
    takes = ["final(upper.phi)", "final(lower.phi)", "final(lower.omega)"]
    options: dict[str, Any] = {"t_end": 1.0, "rtol": 1e-10, "atol": 1e-12, "start": start}
    found = batch(model, by, takes, **options)
    assert set(found.status.values) == {"finished"}
    for k in range(n):
        numbers = [by[x][k] for x in ("m1", "m2", "L1", "L2")]
        # Bodies at rest follow the upper rod so that energy is least: what `simulate` starts with.
        begin = linkwork.simulate(model, {x: float(v[k]) for x, v in by.items()},
                                  start={"upper.omega": float(start["upper.omega"][k])}, t_end=1e-3)  # fmt: skip
        y = [0.0, 0.0, begin["upper.omega"][0], begin["lower.omega"][0]]
        end = solve_ivp(pendula, (0, 1), y, "DOP853", rtol=1e-12, atol=1e-12, args=numbers).y[:, -1]
        got = [float(found[text].values[k]) for text in takes]
        np.testing.assert_allclose(got, end[[0, 1, 3]], atol=1e-7)


def test_driven_slider_cranks_have_their_closed_form() -> None:
    """x = l1 cos phi + sqrt(l2^2 - l1^2 sin^2 phi) and its rate, where the start is closed for every length."""
    random, n = np.random.default_rng(3), 40
    by = {"l1": random.uniform(0.7, 1.2, n), "l2": random.uniform(1.9, 2.6, n)}
    model = linkwork.load("slider_crank_driven")
    takes = ["final(crank.phi)", "final(slider.x)", "final(slider.vx)", "final(crank.omega)"]
    found = batch(model, by, takes, driven=True, t_end=0.37)
    assert set(found.status.values) == {"finished"}
    assert found.attrs["alone"] == ""
    phi, x, vx, omega = (found[text].values for text in takes)
    root = np.sqrt(by["l2"] ** 2 - (by["l1"] * np.sin(phi)) ** 2)
    np.testing.assert_allclose(x, by["l1"] * np.cos(phi) + root, rtol=1e-12)
    rate = -by["l1"] * np.sin(phi) * omega * (1.0 + by["l1"] * np.cos(phi) / root)
    np.testing.assert_allclose(vx, rate, rtol=1e-11)


def test_results_do_not_depend_on_threads_nor_on_neighbours() -> None:
    random, n = np.random.default_rng(2), 700
    mechanism = prepare(linkwork.load("slider_crank"), "joint")
    by = {x: mechanism.model.parameters[x] * random.uniform(0.9, 1.1, n) for x in ("m1", "l2")}
    options: dict[str, Any] = {"t_end": 0.2, "step": 0.1}
    takes = ["final(crank.phi)", "mean(reaction:A)"]
    one = mechanism.batch(by, takes, threads=1, **options)
    assert one.identical(mechanism.batch(by, takes, threads=3, **options))
    order = random.permutation(n)
    other = mechanism.batch({x: values[order] for x, values in by.items()}, takes, threads=2, **options)
    for text in takes:
        np.testing.assert_array_equal(other[text].values, one[text].values[order])


BALL = """
linkwork: 1
name: ball
gravity: [0, -g]
parameters: {g: 10, h: 20, m: 1}
bodies: {ball: {mass: m, inertia: 1, position: [0, h]}}
events: {floor: {when: ball.y, action: stop}}
simulation: {t_end: 1, step: 0.01}
"""


def test_motions_that_events_end_go_their_own_way_and_are_told() -> None:
    """From h they arrive at sqrt(2 h/g), if that is before the end; a ball of negative mass does not fall."""
    h, m = np.array([0.5, 1.5, 20.0, 1.0, np.nan]), np.array([1.0, 1.0, 1.0, -1.0, 1.0])
    found = batch(linkwork.loads(BALL), {"h": h, "m": m}, ["time(floor)", "count(floor)", "final(ball.y)"])
    np.testing.assert_allclose(found["time(floor)"], [*np.sqrt(2 * h[:2] / 10), np.nan, np.nan, np.nan], rtol=1e-9)
    np.testing.assert_array_equal(found["count(floor)"].values, [1, 1, 0, np.nan, np.nan])
    np.testing.assert_allclose(found["final(ball.y)"].values[2], 15.0, rtol=1e-12)
    assert found.status.values.tolist() == ["finished"] * 3 + ["refused"] * 2
    assert found.reason.values.tolist() == ["", "", "", "negative-mass", "bad-value"]
    assert found.attrs["alone"] == "loop 2, unsound 2"


def test_designs_whose_loops_do_not_close_are_rows_with_their_reason() -> None:
    """Of a rod that is shorter than a crank turned up the guide is out of reach."""
    model = linkwork.load("slider_crank_driven")
    found = batch(model, {"l2": np.array([0.3, 2.0])}, "final(slider.x)", driven=True, t_end=1.0)
    assert found.status.values.tolist() == ["stopped", "finished"]
    assert found.reason.values.tolist() == ["lock-up", ""]


@pytest.mark.parametrize(
    ("parameters", "take", "options", "code"),
    [
        ({"h": [1.0, 2.0], "m": [1.0, 2.0, 3.0]}, "final(ball.y)", {}, "bad-value"),
        ({"h": 1.0}, "final(ball.y)", {}, "bad-value"),
        ({}, "final(ball.y)", {}, "bad-value"),
        ({"h": []}, "final(ball.y)", {}, "bad-value"),
        ({"h": [[1.0], [2.0]]}, "final(ball.y)", {}, "bad-value"),
        ({"h": ["two"]}, "final(ball.y)", {}, "bad-value"),
        ({"height": [1.0]}, "final(ball.y)", {}, "unknown-parameter"),
        ({"h": [1.0]}, "final(ball.z)", {}, "unknown-quantity"),
        ({"h": [1.0]}, [], {}, "no-effect"),
        ({"h": [1.0]}, "final(ball.y)", {"start": {"ball.z": [1.0]}}, "unknown-coordinate"),
        ({"h": [1.0]}, "final(ball.y)", {"threads": 0}, "bad-value"),
        ({"h": [1.0]}, "final(ball.y)", {"t_end": -1.0}, None),
    ],
)
def test_what_is_no_batch_is_refused(parameters: Any, take: Any, options: dict[str, Any], code: str | None) -> None:
    with pytest.raises(LinkworkError) as refused:
        batch(linkwork.loads(BALL), parameters, take, **options)
    assert code is None or (isinstance(refused.value, UsageError) and refused.value.code == code)


def test_progress_is_told_to_the_end() -> None:
    told: list[tuple[float, str]] = []
    batch(linkwork.loads(BALL), {"h": np.linspace(6, 9, 600)}, "final(ball.y)", step=0.5,
          progress=lambda part, text: told.append((part, text)))  # fmt: skip
    assert told[-1] == (1.0, "600 of 600 motions")
    assert [part for part, _ in told] == sorted(part for part, _ in told)


def test_one_motion_alone_is_a_batch_too() -> None:
    found = batch(linkwork.loads(BALL), {"h": [9.0]}, "final(ball.y)", start={"ball.vx": 1.0})
    assert found.sizes == {"point": 1}
    assert float(found["final(ball.y)"][0]) == pytest.approx(4.0)
