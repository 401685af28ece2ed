"""Going down from designs: best approximations known in closed form, where mechanisms lock or do not close."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwork import optimize, prepare
from linkwork.errors import Interrupted, NumericalStop
from linkwork.modelfile import load
from linkwork.studies.descent import Outcome, descend
from linkwork.studies.slopes import Slope
from linkwork.studies.trial import Trial

Array = NDArray[np.float64]
DESIGNS = Path(__file__).parents[2] / "examples" / "designs"
Answer = Any

GUESS = np.array([0.9, 0.2])


def cubic(bound: float | None = None) -> tuple[Any, list[tuple[float, Array]]]:
    """max |x^3 - a x - b| on [-1, 1] of a and b in [-1, 1], with a limit on the largest a x + b; what is asked for."""
    x, asked = np.linspace(-1.0, 1.0, 100), list[tuple[float, Array]]()

    def at(u: Array) -> Outcome:
        a, b = 2.0 * u - 1.0
        line, of_line = a * x + b, 2.0 * np.column_stack([x, np.ones_like(x)])
        off = x**3 - line
        groups = [(Slope(np.concatenate([off, -off]), np.vstack([-of_line, of_line])),)]
        if bound is not None:
            groups.append((Slope(line, of_line),))
        found = Outcome(tuple(groups), np.array([0.0, bound or 0.0][: len(groups)]))
        asked.append((found.merit, u))
        return found

    return at, asked


def test_best_approximation_of_a_cubic() -> None:
    """By a straight line x^3 is best approximated by 3/4 x, to 1/4: as many peaks are equal as there are unknowns.

    The grid of 100 points misses the peaks at +-1/2 by 0.005.
    """
    at, asked = cubic()
    descend(at, GUESS, True)
    least, u = min(asked, key=lambda pair: pair[0])
    np.testing.assert_allclose(2.0 * u - 1.0, [0.75, 0.0], atol=1e-3)
    assert least == pytest.approx(0.25, abs=1e-4)
    assert len(asked) < 60


def test_best_approximation_within_a_limit() -> None:
    """No line that stays below 1/2 on [-1, 1] is nearer to x^3 than 1/2, its gap at x = 1; that near is x/2."""
    at, asked = cubic(0.5)
    descend(at, GUESS, True)
    least, u = min(asked, key=lambda pair: pair[0])
    assert least == pytest.approx(0.5, abs=1e-6)
    a, b = 2.0 * u - 1.0
    assert abs(a) + b <= 0.5 + 1e-6


def trial() -> Trial:
    return Trial(prepare(load(DESIGNS / "crossed_rockers.yaml")), (), True, {"assemble": True})


def test_where_a_mechanism_locks_varies_as_differences_say() -> None:
    """How far the driver goes beyond the limit, and its derivatives, by the positions of locking of other designs."""
    made, values = trial(), {"a": 4.4, "b": 1.3, "c": 4.7, "e": 0.8}

    def locked(given: dict[str, float]) -> NumericalStop:
        with pytest.raises(NumericalStop, match="locks") as stop:
            made.move(given)
        return stop.value

    value, slopes = made.lock(values, locked(values))
    stop = locked(values)
    reached = 2.0 * np.sin(2.0 * np.pi * stop.attached["t"])
    assert value == pytest.approx((2.0 - reached) / 4.0, abs=2e-3)  # report times miss the largest by 2e-3
    for k, name in enumerate(values):
        h = 1e-4
        far = [2.0 * np.sin(2.0 * np.pi * locked({**values, name: values[name] + x}).attached["t"]) for x in (h, -h)]
        assert slopes[k] == pytest.approx(-(far[0] - far[1]) / (2.0 * h) / 4.0, rel=2e-3)


def test_least_gap_leads_to_where_joints_close() -> None:
    """Links that are too short by half are lengthened by Newton's iteration on the gap until the loop closes."""
    made, values = trial(), {"a": 1.1, "b": 0.6, "c": 1.4, "e": 0.8}
    gaps = []
    for _ in range(20):
        found = made.gap(values)
        if found is None:
            break
        gaps.append(found[0])
        step = (found[0] + 1e-3) * found[1] / (found[1] @ found[1])
        values = {name: x - dx for (name, x), dx in zip(values.items(), step, strict=True)}
    assert made.gap(values) is None
    assert gaps[0] > 0.1
    assert len(gaps) < 12


def test_it_goes_along_where_mechanisms_lock() -> None:
    """From a design that locks, and past many that do, to the lengths that Chebyshev gave: 4 to 5 to 2."""
    found = optimize(
        prepare(load(DESIGNS / "crossed_rockers.yaml")).changed({"a": 4.4, "b": 1.3, "c": 4.7, "e": 0.8}),
        {"a": (3, 5), "b": (0.5, 4), "c": (3, 5), "e": (-2, 6)},
        "range(coupler.P.y)", method="local", driven=True, assemble=True,
    )  # fmt: skip
    assert [found.values[x] for x in "abce"] == pytest.approx([5.0, 2.0, 5.0, 1.0], abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "values", "least"),
    [
        ("hoeken", {"d": 2.215, "l": 2.823, "b": 2.823, "e": 2.823}, 0.003742),
        ("chebyshev", {"a": 5.0, "b": 2.0, "c": 5.0, "e": 1.0}, 0.009754),
        ("watt", {"a": 2.155, "b": 1.009, "c": 2.155, "e": 0.5047}, 0.003798),
        ("counterweight", {}, 188.6),
        ("bump_steer", {"y_rod": 0.4711, "z_rod": 0.05543}, 0.02015),
    ],
)
def test_studies_among_the_examples(
    study: str, values: dict[str, float], least: float, tmp_path: Path, linkwork: Answer
) -> None:
    """Linkages of Hoeken, Chebyshev and Watt are found again from anywhere; torque is halved, a wheel steers no more.

    That of the motion alone, on ten times as many rows, is what is said to be least.
    """
    told = linkwork.data("optimize", DESIGNS / f"{study}.yaml", "-o", tmp_path / "best.yaml")
    best = told["best"]
    assert {x: best["values"][x] for x in values} == pytest.approx(values, rel=1e-3)
    made = prepare(load(tmp_path / "best.yaml"))
    motion = made.kinematics(assemble=True, step=0.1 * made.model.simulation.step)
    name = told["minimize"].removeprefix("range(").removesuffix(")")
    assert np.ptp(motion[name]) == pytest.approx(least, rel=2e-3)


def test_stated_designs_outside_the_ranges_and_formulas_without_a_number() -> None:
    """A design outside the ranges is not chosen; why none is chosen is said, with the nearest limit."""
    model, far = load("slider_crank_driven"), ["range(slider.x) > 100"]
    with pytest.raises(NumericalStop, match="none of 2 designs has a motion"):
        optimize(model, {"l1": (5, 9)}, "max(abs(driving:motor))", method="local", driven=True)
    with pytest.raises(NumericalStop, match=r"'max\(log\(-1 - slider.x\^2\)\)' gives a number"):
        optimize(model, {"l1": (0.5, 0.9)}, "max(log(-1 - slider.x^2))", method="local", driven=True)
    with pytest.raises(NumericalStop, match=r"the nearest misses 'range\(slider.x\) > 100' by 0.982 of the bound"):
        optimize(model, {"l1": (0.5, 0.9)}, "max(slider.x)", subject=far, method="local", driven=True)


def test_a_search_that_is_interrupted_keeps_its_best() -> None:
    told = list[str]()

    def interrupt(part: float, text: str) -> None:
        told.append(text)
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"the best of \d+ designs is kept") as stopped:
        optimize(
            load("slider_crank_driven"),
            {"l1": (0.5, 0.9)},
            "max(abs(driving:motor))",
            method="multistart",
            driven=True,
            progress=interrupt,
        )
    best = stopped.value.attached["optimum"]
    assert told
    assert 0.5 <= best.values["l1"] <= 0.9
    assert best.best.objective < best.before.objective
