"""Numbers taken of motions with their derivatives; parameters identified from measured motions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork import fit, loads, prepare, sensitivities, slopes
from linkwork.errors import NumericalStop, UsageError
from linkwork.modelfile import load
from linkwork.studies.slopes import slope_of
from linkwork.studies.taking import read_take

THROW = """
linkwork: 1
name: throw
parameters: {angle: 0.6, v: 8, h: 1.5}
bodies: {ball: {mass: 1, inertia: 0.1, position: [0, h], velocity: [v*cos(angle), v*sin(angle)]}}
events: {land: {when: ball.y, direction: falling, action: stop}}
simulation: {t_end: 5, step: 0.05, rtol: 1.0e-11}
"""

SWING = """
linkwork: 1
name: swing
parameters: {L: 0.8, m: 1.2, J: 0.1, c: 0.15, start: 0.9}
ground: {points: {O: [0, 0]}}
bodies: {rod: {mass: m, inertia: J, position: [L/2*sin(start), -L/2*cos(start)], angle: start, points: {O: [0, L/2]}}}
joints: {O: {type: revolute, i: ground.O, j: rod.O}}
forces: {bearing: {type: rotational-spring-damper, i: ground, j: rod, damping: c}}
simulation: {t_end: 3, step: 0.05, rtol: 1.0e-8}
"""

Answer = Any


@pytest.mark.parametrize(
    "text",
    [
        "first(crank.omega)",
        "final(rod.phi)",
        "max(abs(crank.omega))",
        "min(slider.x)",
        "range(slider.x)",
        "mean(slider.vx^2)",
        "rms(rod.omega)",
        "integral(energy:kinetic)",
        "max(reaction:O)",
        "max(reaction:B.x)",
    ],
)
def test_slopes_are_those_of_the_number(text: str) -> None:
    """Derivatives of each reduction against differences of the number itself."""
    mechanism, take = prepare(load("slider_crank")), read_take(text)
    options: dict[str, Any] = {"t_end": 2.0, "step": 0.04, "rtol": 1e-11, "atol": 1e-12}
    found = slope_of(take, sensitivities(mechanism, ["l1", "m2"], **options), ["l1", "m2"])
    assert found.value == pytest.approx(take.of_motion(mechanism.simulate(**options)), rel=2e-3)
    for name, slope in zip(("l1", "m2"), found.slopes, strict=True):
        h = 1e-4
        m = {k: slope_of(take, mechanism.simulate({name: 1.0 + k * h}, **options), ()).value for k in (-2, -1, 1, 2)}
        expected = (8 * (m[1] - m[-1]) - (m[2] - m[-2])) / (12 * h)
        assert slope == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_a_throw_in_closed_form() -> None:
    """The end of the run varies; the highest point lies between report times."""

    def flight(angle: complex, v: complex, h: complex) -> tuple[complex, complex, complex]:
        rise = v * np.sin(angle)
        T = (rise + np.sqrt(rise * rise + 2 * 9.81 * h)) / 9.81
        return v * np.cos(angle) * T, T, h + rise * rise / (2 * 9.81)

    at, step = (0.6, 8.0, 1.5), 1e-30j
    found = slopes(loads(THROW), ["final(ball.x)", "time(land)", "max(ball.y)"], tolerances={"angle": 0.01, "h": 0.02})
    for k, own in enumerate(found.found):
        assert own.value == pytest.approx(flight(*at)[k].real, abs=1e-12)
        for i, slope in enumerate(own.slopes):
            shifted = [x + step * (i == j) for j, x in enumerate(at)]
            assert slope == pytest.approx(flight(*shifted)[k].imag / 1e-30, abs=1e-11)
    told = found.as_dict()["of"]["time(land)"]
    adds = [told["to"][name]["adds"] for name in ("angle", "h")]
    assert told["worst"] == pytest.approx(sum(adds))
    assert told["rms"] == pytest.approx(np.hypot(*adds))
    assert told["to"]["v"]["elasticity"] == pytest.approx(8.0 * told["to"]["v"]["derivative"] / told["value"])
    assert "tolerances together" in str(found)


def measured(deviation: float, seed: int) -> dict[str, Any]:
    """The swing of the true pendulum with errors."""
    motion = prepare(loads(SWING)).simulate()
    return {
        "t": motion.t,
        "rod.phi": motion["rod.phi"] + np.random.default_rng(seed).normal(0, deviation, len(motion.t)),
    }


VARY = {"c": (0, 1), "J": (0.01, 1), "start": (0.1, 1.5)}
TRUE = {"c": 0.15, "J": 0.1, "start": 0.9}
GUESS = {"c": 0.05, "J": 0.2, "start": 0.8}


def test_exact_data_give_the_parameters_back() -> None:
    found = fit(prepare(loads(SWING)).changed(GUESS), measured(0.0, 0), VARY)
    for name, value in TRUE.items():
        assert found.values[name] == pytest.approx(value, rel=1e-6)
        assert found.deviations[name] < 1e-6


@pytest.mark.slow
def test_intervals_hold_as_often_as_they_say() -> None:
    """Of 200 sets of data with random errors 95% of the intervals hold the true values; seeds 0 to 199."""
    guess, held = prepare(loads(SWING)).changed(GUESS), np.zeros(3)
    for seed in range(200):
        found = fit(guess, measured(0.01, seed), VARY)
        held += [low <= TRUE[name] <= high for name, (low, high) in found.intervals.items()]
    assert np.all((held >= 181) & (held <= 198))  # within three deviations of the binomial distribution


def test_columns_with_units_and_gaps(tmp_path: Path, linkwork: Answer) -> None:
    """A table in degrees and milliseconds, one value missing; the fitted model is written, and the plot drawn."""
    data, model, table = measured(0.002, 3), tmp_path / "swing.yaml", tmp_path / "swing.csv"
    model.write_text(SWING.replace("c: 0.15", "c: 0.05"))
    rows = [f"{1e3 * t:.6f},{np.degrees(x):.6f}" for t, x in zip(data["t"], data["rod.phi"], strict=True)]
    rows[7] = rows[7].split(",")[0] + ",nan"
    table.write_text("\n".join(["t [ms],rod.phi [deg]", *rows]))
    told = linkwork.data(
        "fit", model, table, "--vary", "c=0:1", "-o", tmp_path / "fitted.yaml", "-o", tmp_path / "fit.png"
    )
    low, high = told["fit"]["c"]["interval"]
    assert low < 0.15 < high
    assert told["values"] == len(rows) - 1
    assert load(tmp_path / "fitted.yaml").parameters["c"] == told["fit"]["c"]["value"]
    assert (tmp_path / "fit.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("change", "options", "code"),
    [
        (lambda d: d.pop("t"), {}, "bad-table"),
        (lambda d: d.update({"rod.fi": d.pop("rod.phi")}), {}, "unknown-quantity"),
        (lambda d: d.update(t=d["t"][::-1]), {}, "bad-table"),
        (lambda d: d.update({"rod.phi": np.full(61, np.nan)}), {}, "bad-value"),
        (lambda d: None, {"vary": {}}, "no-effect"),
        (lambda d: None, {"vary": {"cc": (0, 1)}}, "unknown-parameter"),
        (lambda d: None, {"vary": {"c": (0.2, 1)}}, "bad-range"),
    ],
)
def test_data_that_make_no_sense_are_refused(change: Callable[[dict[str, Any]], Any], options: Any, code: str) -> None:
    data = measured(0.01, 5)
    change(data)
    with pytest.raises(UsageError) as refused:
        fit(loads(SWING), data, options.get("vary", VARY))
    assert refused.value.code == code


def test_parameters_that_nothing_tells_apart() -> None:
    """Without gravity only c/(J + m L^2/4) can be seen."""
    text = SWING.replace("joints:", "gravity: [0, 0]\njoints:").replace(
        "angle: start,", "angle: start, angular_velocity: 1,"
    )
    text = text.replace(
        "position: [L/2*sin(start), -L/2*cos(start)],",
        "position: [L/2*sin(start), -L/2*cos(start)], velocity: [L/2*cos(start), L/2*sin(start)],",
    )
    data = prepare(loads(text)).simulate()
    with pytest.raises(NumericalStop, match="apart"):
        fit(loads(text), {"t": data.t, "rod.phi": data["rod.phi"]}, {"c": (0, 1), "J": (0.01, 1), "m": (0.1, 5)})


def test_sensitivity_on_the_command_line(linkwork: Answer) -> None:
    told = linkwork.data(
        "sensitivity", "slider_crank_driven", "--kinematics", "--of", "max(abs(driving:motor))", "--to", "l1,l2",
        "--tolerance", "l1=0.1mm", "--t-end", "0.5",
    )  # fmt: skip
    own = told["of"]["max(abs(driving:motor))"]
    assert own["to"]["l1"]["adds"] == pytest.approx(1e-4 * abs(own["to"]["l1"]["derivative"]))
    assert linkwork.data("sensitivity", "slider_crank", "--of", "final(crank.fi)", code=2)["error"]["code"]


@pytest.mark.parametrize(
    ("keys", "line", "text"),
    [
        ("fit: {motion: ../swing.csv}", 5, "in another folder"),
        ("fit: {motion: swung.csv}", 5, "there is no file 'swung.csv'"),
        ("fit: {motoin: swing.csv}", 5, "did you mean 'motion'?"),
        ("fit: swing.csv", 5, "has no names"),
        ("fit: {motion: swing.csv, deviations: {rod.fi: 1 deg}}", 5, "no measured column 'rod.fi'"),
        ("fit: {motion: swing.csv}\nintegrator: radau5", 6, "unknown key 'integrator'"),
    ],
)
def test_what_is_wrong_in_a_study_that_fits(tmp_path: Path, linkwork: Answer, keys: str, line: int, text: str) -> None:
    """Each refusal has the line of the study; files are read from its folder alone."""
    study = write_study(tmp_path, keys)
    refused = linkwork("fit", study, code=3)
    assert f"swing.yaml:{line}: " in refused
    assert text in refused


def test_a_study_names_its_table(tmp_path: Path, linkwork: Answer) -> None:
    """Its intervals are those of the same options on the command line, wider where they hold more often."""
    study = write_study(tmp_path, "fit: {motion: swing.csv}")
    told = linkwork.data("fit", study)
    options = "fit", tmp_path / "model.yaml", tmp_path / "swing.csv", "--vary", "c=0:1", "--set", "c=0.05"
    assert told["fit"] == linkwork.data(*options)["fit"]
    low, high = told["fit"]["c"]["interval"]
    assert low < 0.15 < high
    study = write_study(tmp_path, "fit: {motion: swing.csv, confidence: 0.999}")
    wide = linkwork.data("fit", study)["fit"]["c"]["interval"]
    assert wide[0] < low < high < wide[1]


def write_study(folder: Path, keys: str) -> Path:
    data = measured(0.002, 3)
    rows = [f"{t},{np.degrees(x)}" for t, x in zip(data["t"], data["rod.phi"], strict=True)]
    (folder / "swing.csv").write_text("\n".join(["t [s],rod.phi [deg]", *rows]))
    (folder / "model.yaml").write_text(SWING)
    path = folder / "swing.yaml"
    path.write_text(f"study: 1\nmodel: model.yaml\nset: {{c: 0.05}}\nvary: {{c: [0, 1]}}\n{keys}\n")
    return path
