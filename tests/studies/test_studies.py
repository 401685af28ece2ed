"""Many motions of one mechanism: points, what is taken of each, results that survive."""

from __future__ import annotations

import errno
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from commands import Answer
from scipy.stats import norm, qmc

from linkwork import Start, __version__, kinematics, load, loads, simulate
from linkwork.errors import LinkworkError, ModelError, NumericalStop, UsageError
from linkwork.studies.cluster import compute_chunks
from linkwork.studies.optimize import optimize, read_limit
from linkwork.studies.points import CHUNK, read_points
from linkwork.studies.shares import share_of
from linkwork.studies.sweep import sweep
from linkwork.studies.table import load_study
from linkwork.studies.taking import read_take
from linkwork.view.studies import plot_study, summarize

BALL = """
linkwork: 1
name: ball
gravity: [0, -g]
parameters: {g: 10, h: 2, m: 1}
ground: {points: {O: [0, 0]}}
bodies: {ball: {mass: m, inertia: 1, position: [0, h], points: {P: [0, 0]}}}
events: {floor: {when: ball.y, action: stop}}
simulation: {t_end: 1, step: 0.01, rtol: 1.0e-10}
"""
FALL: dict[str, Any] = {"h": [0.5, 1.0, 2.0], "g": "5:20:4"}


def test_a_sweep_has_the_closed_form_at_every_point() -> None:
    """A ball falls from h: it arrives at sqrt(2 h/g), if that is before t_end = 1, with sqrt(2 g h)."""
    found = sweep(loads(BALL), FALL, ["time(floor)", "count(floor)", "final(ball.vy)", "max(abs(ball.vy))"])
    h, g = found["h"].values[:, None], found["g"].values[None, :]
    arrives = np.sqrt(2 * h / g)
    there = arrives < 1.0
    np.testing.assert_allclose(found["time(floor)"].values[there], arrives[there], rtol=1e-9)
    assert np.isnan(found["time(floor)"].values[~there]).all()
    np.testing.assert_array_equal(found["count(floor)"].values, there)
    np.testing.assert_allclose(found["final(ball.vy)"].values, -g * np.minimum(arrives, 1.0), rtol=1e-8)
    np.testing.assert_allclose(found["max(abs(ball.vy))"].values, g * np.minimum(arrives, 1.0), rtol=1e-8)
    assert found["final(ball.vy)"].attrs["units"] == "m/s"
    assert set(found["status"].values.ravel()) == {"finished"}


def test_every_point_is_the_motion_that_simulate_has() -> None:
    model = load("slider_crank")
    by: dict[str, Any] = {"start": Start(assemble=True), "t_end": 2.0}
    found = sweep(
        model, {"l1": [0.9, 1.2], "m2": [0.7]}, ["final(crank.phi)", "rms(reaction:A.x)", "max(reaction:A)"], **by
    )
    for l1 in (0.9, 1.2):
        motion = simulate(model, {"l1": l1, "m2": 0.7}, **by)
        at = found.sel(l1=l1, m2=0.7)
        assert float(at["final(crank.phi)"]) == motion.final("crank.phi").value
        assert float(at["rms(reaction:A.x)"]) == pytest.approx(motion.rms("reaction:A.x"), rel=1e-14)
        assert float(at["max(reaction:A)"]) == pytest.approx(motion.max("reaction:A").value, rel=1e-14)
        assert int(at["steps"]) == motion.info.steps


def test_driven_motions_are_swept_too() -> None:
    model = load("slider_crank_driven")
    name = next(iter(model.parameters))
    values = [0.95 * model.parameters[name], model.parameters[name]]
    found = sweep(model, {name: values}, "range(slider.x)", driven=True, assemble=True)
    for value, travel in zip(values, found["range(slider.x)"].values, strict=True):
        assert travel == pytest.approx(np.ptp(kinematics(model, {name: value}, assemble=True)["slider.x"]), rel=1e-13)


def test_points_that_cannot_be_assembled_are_rows_with_their_reason() -> None:
    """A slider-crank whose crank of 1 m is longer than its rod, and turned up, does not reach its guide."""
    model = load("slider_crank")
    start = Start({"crank.phi": 1.5}, assemble=True, keep=["crank.phi"])
    found = sweep(model, {"l2": [0.1, 2.0]}, "final(crank.phi)", start=start, t_end=0.1)
    assert found["status"].values.tolist() == ["refused", "finished"]
    assert found["reason"].values[0] != ""
    assert np.isnan(found["final(crank.phi)"].values[0])
    assert np.isfinite(found["final(crank.phi)"].values[1])
    data = summarize(found)
    assert data["status"] == {"refused": 1, "finished": 1}


@pytest.mark.parametrize("sampler", ["sobol", "lhs", "random"])
def test_samples_are_those_of_their_distributions_whatever_part_is_asked_for(sampler: str) -> None:
    count = 2 * CHUNK + 100
    points = read_points({"a": "1:3", "b": "5 +- 0.5", "c": [1, 2, 4]}, f"{sampler}:{count}", seed=4)
    rows = np.concatenate([points.chunk(k) for k in range(points.chunks)])
    again = read_points({"a": "1:3", "b": "5 +- 0.5", "c": [1, 2, 4]}, f"{sampler}:{count}", seed=4)
    np.testing.assert_array_equal(again.chunk(1), rows[CHUNK : 2 * CHUNK])
    for values, distribution in ((rows[:, 0], lambda x: (x - 1) / 2), (rows[:, 1], norm(5, 0.5).cdf)):
        apart = np.abs(np.sort(distribution(values)) - np.arange(count) / count).max()
        assert apart < (0.05 if sampler == "random" else 0.005)  # Kolmogorov's distance; 1.6/sqrt(n) with 99 %
    shares = [np.mean(rows[:, 2] == x) for x in (1, 2, 4)]
    np.testing.assert_allclose(shares, 1 / 3, atol=0.04)


def test_grids_count_as_nested_loops_do() -> None:
    points = read_points({"a": "0:1:3", "b": "10 mm, 20 mm"})
    assert points.shape == (3, 2)
    np.testing.assert_array_equal(
        points.chunk(0), [[0, 0.01], [0, 0.02], [0.5, 0.01], [0.5, 0.02], [1, 0.01], [1, 0.02]]
    )
    assert read_points({"a": "0:1:1000000000000"}).count == 10**12


@pytest.mark.parametrize(
    ("vary", "sample", "code"),
    [
        ({}, None, "no-effect"),
        ({"a": "1:2"}, None, "bad-range"),
        ({"a": "2:1"}, "sobol:8", "bad-range"),
        ({"a": "1:2:x"}, None, "bad-range"),
        ({"a": "1:2:0"}, None, "bad-range"),
        ({"a": "1:2:3:4"}, None, "bad-range"),
        ({"a": ""}, None, "bad-range"),
        ({"a": []}, None, "bad-range"),
        ({"a": [1, math.nan]}, None, "bad-range"),
        ({"a": "l1"}, None, "bad-range"),
        ({"a": "1 +- 0"}, "sobol:8", "bad-range"),
        ({"a": "1 +- -2"}, "sobol:8", "bad-range"),
        ({"a": "1:2"}, "sobol", "bad-sample"),
        ({"a": "1:2"}, "halton:8", "bad-sample"),
        ({"a": "1:2"}, "sobol:0", "bad-sample"),
        ({"a": "3 furlongs"}, None, "unknown-unit"),
    ],
)
def test_ranges_that_are_none_are_refused(vary: dict[str, Any], sample: str | None, code: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_points(vary, sample)
    assert refused.value.code == code


def test_values_are_of_the_kind_of_their_parameter() -> None:
    """A height is no mass, whether it is one of a grid, the end of a range, or a bound."""
    for given in ("1 kg,2 kg", "1 m:2 kg:3", ["1 m", "2 kg"]):
        with pytest.raises(UsageError, match=r"'h': '[12] kg' is of kind mass, not a quantity in m"):
            read_points({"h": given}, stated_units={"h": "m"})
    with pytest.raises(UsageError, match="'3 kg' is of kind mass, not a quantity in m"):
        read_limit("max(ball.y) < 3 kg", "m")
    np.testing.assert_array_equal(read_points({"h": "10 cm,0.2"}, stated_units={"h": "m"}).chunk(0).T, [[0.1, 0.2]])


def test_a_vector_stands_for_its_length_in_formulas() -> None:
    """A ball falls 2 - 5 t^2 from the origin to 0.2 m off it; what abs() or a sign leaves has the unit of what it is
    of.
    """
    motion = simulate(loads(BALL), t_end=0.6)
    takes = [read_take(text) for text in ("final(ball.P^2/2)", "max(abs(ball.vy))", "min(-abs(ball.P))")]
    np.testing.assert_allclose([take.of_motion(motion) for take in takes], [0.02, 6.0, -2.0], rtol=1e-9)
    assert [take.check(motion, ()) for take in takes] == ["", "m/s", ""]


def test_a_journal_that_has_no_room_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the whole of it cannot be made there is nothing to go on from, and no file that says there were."""

    def refuse(*_: int) -> None:
        raise OSError(errno.EFBIG, "File too large")

    monkeypatch.setattr(os, "ftruncate", refuse)
    with pytest.raises(UsageError, match="files of this size are not allowed there"):
        sweep(loads(BALL), FALL, "final(ball.vy)", path=tmp_path / "fall.nc")
    assert not [*tmp_path.iterdir()]


def test_a_study_without_a_number_is_not_drawn() -> None:
    found = sweep(loads(BALL), {"h": "1:2:3"}, "final(log(-1 - ball.y^2))", t_end=0.1)
    with pytest.raises(UsageError, match="no point has a number"):
        plot_study(found)


@pytest.mark.parametrize("text", ["final", "fnal(x)", "final crank.phi", "__import__('os')", "max(x", ""])
def test_takes_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="does not say what is taken"):
        read_take(text)


@pytest.mark.parametrize(
    ("vary", "take", "code"),
    [
        ({"k": [1]}, ["final(ball.y)"], "unknown-parameter"),
        ({"h": [1]}, ["final(ball.z)"], "unknown-quantity"),
        ({"h": [1]}, ["time(flor)"], "unknown-event"),
        ({"h": [1]}, [], "no-effect"),
        ({"h": [1]}, ["final(ball.y)"] * 2, "bad-take"),
        ({"h": [1]}, ["final(ball.y + )"], None),
    ],
)
def test_what_no_motion_has_is_refused_before_anything_is_computed(
    vary: dict[str, Any], take: list[str], code: str | None
) -> None:
    with pytest.raises(LinkworkError) as refused:
        sweep(loads(BALL), vary, take)
    assert code is None or refused.value.code == code


def test_files_hold_what_datasets_do(tmp_path: Path) -> None:
    for sample in (None, "random:40"):
        path = tmp_path / "fall.nc"
        found, kept = (
            sweep(loads(BALL), FALL, ["time(floor)", "final(ball.vy)"], sample=sample, path=p) for p in (None, path)
        )
        assert found.identical(kept)
        assert kept.identical(load_study(path))
        assert not list(tmp_path.glob("*.part"))
        with h5py.File(path) as file:
            assert file.attrs["kind"] == "study"


def test_a_file_that_leads_elsewhere_is_not_read(tmp_path: Path) -> None:
    path, other = tmp_path / "fall.nc", tmp_path / "other.h5"
    sweep(loads(BALL), {"h": [1, 2]}, "final(ball.y)", path=path)
    with h5py.File(other, "w") as file:
        file["secret"] = [1.0, 2.0]
    with h5py.File(path, "r+") as file:
        file["linked"] = h5py.ExternalLink(str(other), "/secret")
    with pytest.raises(ModelError, match="not plain data"):
        load_study(path)
    (tmp_path / "text.nc").write_text("no results")
    with pytest.raises(ModelError, match="no results of a sweep"):
        load_study(tmp_path / "text.nc")


KILLED = """
import sys, time
from linkwork import loads
from linkwork.studies.points import CHUNK
import linkwork.studies.points as points, linkwork.studies.journal as journal, linkwork.studies.table as table
import linkwork.studies.sweep as sweeps
for module in (points, journal, table, sweeps):
    module.CHUNK = 8
sweeps.sweep(loads(open(sys.argv[1]).read()), {"h": "0.5:4:200"}, ["time(floor)", "final(ball.vy)"], path=sys.argv[2],
             resume=True, progress=lambda part, text: (print(part, flush=True), time.sleep(float(sys.argv[3]))))
"""


@pytest.mark.slow
def test_a_sweep_that_is_killed_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    """With SIGKILL, which no process hears, after some chunks and again."""
    model, script = tmp_path / "ball.yaml", tmp_path / "run.py"
    model.write_text(BALL)
    script.write_text(KILLED)
    once, again = tmp_path / "once.nc", tmp_path / "again.nc"
    command = [sys.executable, str(script), str(model)]
    subprocess.run([*command, str(once), "0"], check=True, capture_output=True)
    for chunks in (2, 5):
        with subprocess.Popen([*command, str(again), "0.05"], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(chunks):
                assert process.stdout.readline()
            os.kill(process.pid, signal.SIGKILL)
        assert not again.exists()
        assert Path(f"{again}.part").exists()
    ended = subprocess.run([*command, str(again), "0"], check=True, capture_output=True, text=True)
    assert len(ended.stdout.splitlines()) <= 25 - 7  # chunks that were kept are not computed again
    assert load_study(once).identical(load_study(again))
    assert once.read_bytes() == again.read_bytes()


def test_another_study_is_not_taken_for_this_one(tmp_path: Path) -> None:
    path = tmp_path / "fall.nc"

    def stop(part: float, text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(loads(BALL), {"h": "1:2:3000"}, "final(ball.y)", path=path, progress=stop)
    for vary, take in (({"h": "1:2:3001"}, "final(ball.y)"), ({"h": "1:2:3000"}, "max(ball.y)")):
        with pytest.raises(UsageError, match="of another study"):
            sweep(loads(BALL), vary, take, path=path, resume=True)


OTHERS = {  # of the ball: a number of a body, gravity, a force, an event, a place of a point, a time of the run
    "inertia": ("inertia: 1", "inertia: 2"),
    "gravity": ("gravity: [0, -g]", "gravity: [0.5, -g]"),
    "force": ("events:", "forces: {f: {type: point-force, at: ball.P, force: [0, 3]}}\nevents:"),
    "event": ("when: ball.y,", "when: ball.y - 0.5,"),
    "point": ("P: [0, 0]", "P: [0, 1]"),
    "end": ("t_end: 1", "t_end: 0.9"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_results_of_another_mechanism_are_not_taken_for_those_of_this_one(other: str, tmp_path: Path) -> None:
    """Finished or broken off: whatever a model of the same names has of its own is told; the same model is not."""
    text = BALL.replace(*OTHERS[other])
    assert text != BALL
    whole, part, given = tmp_path / "whole.nc", tmp_path / "part.nc", ({"h": [1.0, 2.0]}, "final(ball.y)")
    sweep(loads(BALL), *given, path=whole)
    assert load_study(whole).identical(sweep(loads(BALL), *given, path=whole, resume=True))
    with pytest.raises(UsageError, match="another study"):
        sweep(loads(text), *given, path=whole, resume=True)

    def stop(part: float, text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(loads(BALL), *given, path=part, progress=stop)
    with pytest.raises(UsageError, match="another study"):
        sweep(loads(text), *given, path=part, resume=True)


def test_a_package_that_writing_needs_is_asked_for_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkwork.errors.find_spec", lambda name: None if name == "h5py" else name)
    asked = list[float]()
    with pytest.raises(UsageError, match="h5py is not installed"):
        sweep(loads(BALL), {"h": [1.0]}, "final(ball.y)", path=tmp_path / "x.nc", progress=lambda x, _: asked.append(x))
    assert not asked
    assert not [*tmp_path.iterdir()]


@pytest.mark.slow
def test_workers_share_the_points_and_change_nothing() -> None:
    began = time.perf_counter()
    one, two = (sweep(loads(BALL), {"h": "0.5:4:2500"}, "final(ball.vy)", workers=n) for n in (1, 2))
    assert one.identical(two), time.perf_counter() - began


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_its_chunk_only(tmp_path: Path) -> None:
    """Of three processes of a cluster one is killed, then the client; another goes on and ends with the same bits."""
    distributed = pytest.importorskip("distributed")
    by: dict[str, Any] = {"vary": {"l1": "0.9:1.1:64", "m1": "0.5:2:160"}, "t_end": 0.5, "step": 0.05}
    by["take"] = ["final(crank.phi)", "max(reaction:A)"]
    model, told, path = load("slider_crank"), list[str](), tmp_path / "cluster.nc"
    with distributed.LocalCluster(3, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            workers = [*client.run(os.getpid).values()]

        def tell(part: float, text: str) -> None:
            told.append(text)
            if len(told) == 2:
                os.kill(workers[0], signal.SIGKILL)
            if len(told) == 5:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            sweep(model, dask=cluster.scheduler_address, path=path, progress=tell, **by)
        assert not path.exists()
        found = sweep(model, dask=cluster.scheduler_address, path=path, progress=tell, resume=True, **by)
    assert len(told) == 10  # chunks that were kept are not computed again
    assert set(found["status"].values.ravel()) == {"finished"}
    sweep(model, path=tmp_path / "alone.nc", **by)
    assert path.read_bytes() == (tmp_path / "alone.nc").read_bytes()


def test_where_no_scheduler_answers_that_is_said() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(UsageError, match="no scheduler of Dask answers at 'nowhere'"):
        sweep(loads(BALL), {"h": [1.0]}, "final(ball.y)", dask="nowhere")


def test_what_another_version_would_compute_is_not_taken() -> None:
    assert compute_chunks("0.0.1", b"", [0]) == __version__


def test_results_that_are_there_are_kept(tmp_path: Path, linkwork: Answer) -> None:
    model, out = tmp_path / "ball.yaml", tmp_path / "fall.nc"
    model.write_text(BALL)
    given = "sweep", model, "--vary", "h=1,2", "--take", "final(ball.y)", "-o", out
    linkwork(*given)
    before = out.read_bytes()
    assert "exists and would be replaced; say --yes" in linkwork(*given, code=2)
    assert linkwork.data(*given, "--resume")["points"] == 2
    other = linkwork("sweep", model, "--vary", "h=1,3", "--take", "final(ball.y)", "-o", out, "--resume", code=2)
    assert "has the results of another study" in other
    assert out.read_bytes() == before
    linkwork(*given, "--yes")


def test_the_command_writes_plots_and_says_what_failed(tmp_path: Path, linkwork: Answer) -> None:
    model, out = tmp_path / "ball.yaml", tmp_path / "fall.nc"
    model.write_text(BALL)
    varied = "--vary", "h=0.5:4:5", "--vary", "m=1,-1"
    data = linkwork.data("sweep", model, *varied, "--take", "final(ball.vy)", "-o", out, "--workers", "1", code=5)
    assert data["points"] == 10
    assert data["status"] == {"finished": 5, "refused": 5}
    assert data["take"]["final(ball.vy)"]["min"]["h"] == pytest.approx(4.0)
    linkwork("plot", out)
    assert (tmp_path / "fall.png").stat().st_size > 10_000


@pytest.mark.parametrize("vary", [{"h": "1:2:4"}, {"h": "1:2:4", "g": "9,10"}, {"h": "1:2:20", "g": "9:10:20"}])
def test_curves_and_maps_have_the_numbers_of_the_study(vary: dict[str, str]) -> None:
    found = sweep(loads(BALL), vary, "final(ball.y)", t_end=0.1)
    figure = plot_study(found)
    values = found["final(ball.y)"].values
    axes = figure.axes[0]
    if len(axes.lines) > 0:
        np.testing.assert_array_equal(np.column_stack([line.get_ydata() for line in axes.lines]), values.reshape(4, -1))
    else:
        np.testing.assert_array_equal(np.ravel(np.asarray(axes.collections[0].get_array())), values.T.ravel())


def test_shares_of_the_variance_are_those_of_ishigami() -> None:
    """sin a + 7 sin^2 b + c^4 sin(a)/10 of uniform a, b, c in +-pi, whose indices are known in closed form."""
    a, b, c = ((2.0 * qmc.Sobol(3, seed=1).random(2**13) - 1.0) * np.pi).T
    y = np.sin(a) + 7.0 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a)
    whole = 49 / 8 + 0.1 * np.pi**4 / 5 + 0.01 * np.pi**8 / 18 + 0.5
    expected = [0.5 * (1.0 + 0.1 * np.pi**4 / 5) ** 2 / whole, 49 / 8 / whole, 0.0]
    np.testing.assert_allclose([share_of(x, y) for x in (a, b, c)], expected, atol=0.01)


def test_what_scatters_a_stroke_most_is_told(tmp_path: Path, linkwork: Answer) -> None:
    """The stroke of a central slider-crank is twice its crank, whatever the rod: 99 % of it within 2.576 deviations."""
    given = "--vary", "l1=1+-0.01", "--vary", "l2=2+-0.05", "--sample", "lhs:300", "--kinematics", "--t-end", "0.7s"
    take = "range(slider.x)"
    command = "sweep", "slider_crank_driven", *given, "--step", "1ms", "--take", take, "--workers", "1"
    found = linkwork.data(*command)["take"][take]
    assert found["shares"]["l1"] > 0.98
    assert found["shares"]["l2"] < 0.02
    np.testing.assert_allclose(found["range"], 2.0 + 0.02 * 2.576 * np.array([-1, 1]), atol=0.01)
    assert "% by l1" in linkwork(*command)


def test_points_at_which_a_formula_has_no_number_are_counted(tmp_path: Path, linkwork: Answer) -> None:
    """The root of y - 1 where a ball falls below one metre, and the time of a floor that it does not reach."""
    (tmp_path / "ball.yaml").write_text(BALL)
    takes = "--take", "final(sqrt(ball.y - 1))", "--take", "time(floor)"
    given = "sweep", tmp_path / "ball.yaml", "--vary", "h=1.2,2,3,4", "--t-end", "0.45s", *takes
    found = linkwork.data(*given)["take"]
    assert found["final(sqrt(ball.y - 1))"]["missing"] == 2  # it falls 1.0125 m
    assert found["time(floor)"] == {"missing": 4}
    assert "no number at 2 points" in linkwork(*given)


STUDY = """
study: 1
model: ball.yaml
set: {m: 3 kg}
vary: {h: 0.5:4:3, g: [9 m/s^2, 10]}
take: ["time(floor)", "final(ball.vy)"]
t_end: 800 ms
workers: 1
"""


def test_a_study_file_says_what_options_do(tmp_path: Path, linkwork: Answer) -> None:
    (tmp_path / "ball.yaml").write_text(BALL)
    (tmp_path / "study.yaml").write_text(STUDY)
    by_file, by_options = tmp_path / "file.nc", tmp_path / "options.nc"
    told = linkwork.data("sweep", tmp_path / "study.yaml", "-o", by_file)
    given = "--set", "m=3", "--vary", "h=0.5:4:3", "--vary", "g=9,10", "--t-end", "0.8s", "--workers", "1"
    takes = "--take", "time(floor)", "--take", "final(ball.vy)"
    linkwork("sweep", tmp_path / "ball.yaml", *given, *takes, "-o", by_options)
    assert load_study(by_file).identical(load_study(by_options))
    assert told["points"] == 6
    data = linkwork.data("sweep", tmp_path / "study.yaml", "--vary", "g=10", "--t-end", "0.5s")
    assert data["points"] == 3
    assert data["take"]["final(ball.vy)"]["min"]["value"] == pytest.approx(-5.0)


@pytest.mark.parametrize(
    ("old", "new", "line", "text"),
    [
        ("h: 0.5", "k: 0.5", 5, "no parameter 'k'"),
        ("4:3", "4:x", 5, "is not a range"),
        ("4:3, g", "4, g", 5, "has a range, of which samples are taken"),
        ("[9 m/s^2, 10]", "[9 m/s^2, ten]", 5, "'ten' is not a number"),
        ("take", "tkae", 6, "did you mean 'take'?"),
        ("final(ball.vy)", "final(ball.v)", 6, "no quantity 'ball.v'"),
        ("final(ball.vy)", "last(ball.vy)", 6, "does not say what is taken"),
        ("800 ms", "800 furlongs", 7, "no unit 'furlongs'"),
        ("workers: 1", "workers: 1.5", 8, "not a whole number"),
        ("workers: 1", "workers: -1", 8, "is not a number of workers"),
        ("workers: 1", "kinematics: perhaps", 8, "neither true nor false"),
        ("study: 1", "study: 7", 2, "not a version of studies"),
        ("ball.yaml", "bell.yaml", 3, "bell.yaml"),
        ("{m: 3 kg}", "3 kg", 4, "has no names"),
        ("m: 3", "n: 3", 4, "no parameter 'n'"),
    ],
)
def test_what_is_wrong_in_a_study_has_its_line(
    tmp_path: Path, linkwork: Answer, old: str, new: str, line: int, text: str
) -> None:
    (tmp_path / "ball.yaml").write_text(BALL)
    path = tmp_path / "study.yaml"
    assert old in STUDY
    path.write_text(STUDY.replace(old, new))
    refused = linkwork("sweep", path, code=3)
    assert f"study.yaml:{line}: " in refused
    assert text in refused


THROW = """
linkwork: 1
name: throw
gravity: [0, -9.81]
parameters: {v: 10 m/s, angle: 0.2 rad, h: 50 cm}
ground: {points: {O: [0, 0]}}
bodies: {ball: {mass: 1, inertia: 1, position: [0, h], velocity: [v*cos(angle), v*sin(angle)], points: {P: [0, 0]}}}
events: {floor: {when: ball.y, direction: falling, action: stop}}
simulation: {t_end: 5, step: 0.05, rtol: 1.0e-10}
"""


@pytest.mark.parametrize("method", ["global", "local", "multistart"])
def test_the_longest_throw_is_found(method: str) -> None:
    """From a height h at speed v: tan(angle) = (1 + 2 g h/v^2)^-1/2, and it goes v^2/g (1 + 2 g h/v^2)^1/2."""
    found = optimize(loads(THROW), {"angle": "0:1.5"}, maximize="final(ball.x)", method=method)
    root = math.sqrt(1 + 2 * 9.81 * 0.5 / 100)
    assert found.best.objective == pytest.approx(100 / 9.81 * root, rel=1e-7)
    assert found.values["angle"] == pytest.approx(math.atan(1 / root), abs=1e-6)
    assert found.before.objective == pytest.approx(simulate(loads(THROW))["ball.x"][-1], rel=1e-12)
    assert found.motion()["ball.x"][-1] == found.best.objective


@pytest.mark.slow
def test_limits_are_kept_and_reached() -> None:
    """No higher than 1 m: v sin(angle) = (2 g (1 - h))^1/2, with the largest v; else the longest throw is higher."""
    found = optimize(
        loads(THROW), {"angle": "0:1.5", "v": (2, 10)}, maximize="final(ball.x)", subject=["max(ball.y) < 1 m"]
    )
    rise = math.sqrt(2 * 9.81 * 0.5)
    time_of_flight = rise / 9.81 + math.sqrt(2 * 1.0 / 9.81)
    expected = math.sqrt(100 - rise**2) * time_of_flight
    assert found.best.objective == pytest.approx(expected, rel=1e-6)  # the highest point, between report times
    assert found.best.excess[0] <= 1e-8
    assert "at its bound" in str(found)


def test_designs_that_cannot_be_assembled_are_not_chosen() -> None:
    """The shorter the rod, the more it pushes; below the crank's length the slider-crank does not turn."""
    model = load("slider_crank_driven")
    found = optimize(model, {"l2": "0.2:4"}, "range(slider.x)", driven=True, t_end=0.7, assemble=True)
    assert found.failed > 0
    assert found.values["l2"] >= 1.0


@pytest.mark.parametrize(
    ("vary", "aims", "code"),
    [
        ({}, {"minimize": "final(ball.x)"}, "no-effect"),
        ({"angle": "0:1"}, {}, "no-effect"),
        ({"angle": "0:1"}, {"minimize": "final(ball.x)", "maximize": "final(ball.y)"}, "no-effect"),
        ({"angle": "0:1:5"}, {"minimize": "final(ball.x)"}, "bad-range"),
        ({"angle": [1.0]}, {"minimize": "final(ball.x)"}, "bad-range"),
        ({"angel": "0:1"}, {"minimize": "final(ball.x)"}, "unknown-parameter"),
        ({"angle": "0:1"}, {"minimize": "final(ball.q)"}, "unknown-quantity"),
        ({"angle": "0:1"}, {"minimize": "final(ball.x)", "subject": ["max(ball.y)"]}, "bad-limit"),
        ({"angle": "0:1"}, {"minimize": "final(ball.x)", "subject": ["max(ball.y) < h"]}, "bad-limit"),
        ({"angle": "0:1"}, {"minimize": "final(ball.x)", "method": "best"}, "unknown-method"),
    ],
)
def test_designs_that_make_no_sense_are_refused(vary: dict[str, Any], aims: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError) as refused:
        optimize(loads(THROW), vary, **aims)
    assert refused.value.code == code


def test_no_design_satisfies_what_is_impossible() -> None:
    with pytest.raises(NumericalStop, match="none of"):
        optimize(loads(THROW), {"angle": "0:1"}, "final(ball.x)", subject=["max(ball.y) < 0 m"], method="local")


def test_the_best_design_is_written_as_a_model(tmp_path: Path, linkwork: Answer) -> None:
    model, out = tmp_path / "throw.yaml", tmp_path / "best.yaml"
    model.write_text(THROW)
    data = linkwork.data(
        "optimize", model, "--vary", "angle=0:1.5", "--maximize", "final(ball.x)", "--local", "-o", out
    )
    assert load(out).parameters == {"v": 10.0, "angle": data["best"]["values"]["angle"], "h": 0.5}
    assert "v: 10 m/s" in out.read_text()


def test_more_points_than_memory_holds_are_refused() -> None:
    axes = {"l1": "0.6:1.4:1000000", "l2": "2:3:1000000"}
    with pytest.raises(UsageError, match="1000000000000 points are more than memory holds"):
        sweep(load("slider_crank"), axes, "final(slider.x)", t_end=0.1)
