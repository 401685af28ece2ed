"""The trajectory: names, units, energy, files that are whole or refused, and pictures."""

from __future__ import annotations

import importlib
import json
import math
import re
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import h5py
import numpy as np
import pytest
import xarray
import xarray.testing
from hypothesis import given
from hypothesis import strategies as st

import linkwork
from linkwork.elements.bodies import Ground, PlanarBody
from linkwork.elements.drivers import Driver
from linkwork.elements.forces import Torque
from linkwork.elements.joints import Revolute
from linkwork.elements.kinds import Columns
from linkwork.elements.motions import Polynomial
from linkwork.equations.body import body_equations
from linkwork.errors import LinkworkError, ModelError, UsageError
from linkwork.model import Model
from linkwork.notes import Note, Reason
from linkwork.trajectory import Run, SingularPosition, Table, Trajectory
from linkwork.view.plot import Panel, figure, overview, save

OMEGA = 2.0


def turning(n: int = 41, **changes: Any) -> Trajectory:
    """A disc of mass 3 and inertia 0.5 that turns with phi = 2 t around a pin one metre from its centre.

    The pin and the body have the same name. A motor supplies what the weight takes.
    """
    t = np.linspace(0.0, 2.0, n)
    phi = OMEGA * t
    q = np.column_stack([np.cos(phi), np.sin(phi), phi])
    v = np.column_stack([-OMEGA * np.sin(phi), OMEGA * np.cos(phi), np.full(n, OMEGA)])
    a = np.column_stack([-(OMEGA**2) * np.cos(phi), -(OMEGA**2) * np.sin(phi), np.zeros(n)])
    potential = 3.0 * 9.81 * q[:, 1]
    force = 3.0 * a[:, :2] + [0.0, 3.0 * 9.81]
    labels, rows = ("O.x", "O.y", "O.phi"), ("O.x", "O.y", "motor.drive")
    speeds, rises = ("O.vx", "O.vy", "O.omega"), ("O.ax", "O.ay", "O.alpha")
    points, forms = ("O.P.x", "O.P.vx", "O.P.ax"), ("kinetic", "potential", "dissipated", "supplied")
    reactions = ("O.x", "O.y", "O.torque")
    torque = 3.0 * 9.81 * q[:, 0]
    tables = {
        "q": (labels, labels, ("m", "m", "rad"), q),
        "v": (labels, speeds, ("m/s", "m/s", "rad/s"), v),
        "a": (labels, rises, ("m/s^2", "m/s^2", "rad/s^2"), a),
        "points": (points, points, ("m", "m/s", "m/s^2"), [2.0 * q[:, 0], 2.0 * v[:, 0], 2.0 * a[:, 0]]),
        "reactions": (reactions, [f"reaction:{x}" for x in reactions], ("N", "N", "N m"), [*force.T, 0.0 * t]),
        "driving": (("motor",), ("driving:motor",), ("N m",), [torque]),
        "lam": (rows, [f"lam:{row}" for row in rows], ("N", "N", "N m"), [*-force.T, torque]),
        "energy": (
            forms,
            [f"energy:{form}" for form in forms],
            ("J",) * 4,
            [np.full(n, 0.5 * (3.0 + 0.5) * OMEGA**2), potential, 0.0 * t, potential - potential[:1]],
        ),
    }
    stated: Any = tables
    motion = Trajectory(
        name="turning",
        t=t,
        tables={
            kind: Table(
                Columns(tuple(own), tuple(names), tuple(units)),
                values if isinstance(values, np.ndarray) else np.column_stack(values),
            )
            for kind, (own, names, units, values) in stated.items()
        },
        error_position=1e-15 * (1.0 + np.sin(9.0 * t) ** 2),
        error_velocity=1e-14 * (1.0 + np.cos(9.0 * t) ** 2),
        info=Run(
            model="turning",
            integrator="dop853",
            rtol=1e-9,
            atol=1e-10,
            t_end=2.0,
            step=0.05,
            steps=17,
            rejected=1,
            evaluations=210,
            compile_s=0.1,
            wall_s=0.2,
            status="finished",
            notes=(Note("grazing", event="touch", t=0.25),),
            singular_positions=(SingularPosition(0.5, ("O", "motor")),),
            parameters={"l": 1.0},
            versions={"numpy": "2"},
            constraint_error_position=3e-15,
            constraint_error_velocity=4e-14,
            constraint_error_acceleration=5e-15,
        ),
    )
    return replace(motion, **changes)


def with_column(motion: Trajectory, kind: str, label: str, values: Any) -> Trajectory:
    """The same with other values of one column."""
    columns, table = motion.tables[kind]
    table = table.copy()
    table[:, columns.labels.index(label)] = values
    return replace(motion, tables={**motion.tables, kind: Table(columns, table)})


def assert_same(one: Trajectory, other: Trajectory) -> None:
    """Every number, name and setting agrees, bit for bit."""
    assert list(one.quantities) == list(other.quantities)
    for name, (values, unit) in one.quantities.items():
        np.testing.assert_array_equal(values, other[name], strict=True)
        assert unit == other.quantity(name).unit
    assert one.rows == other.rows
    assert one.name == other.name
    assert one.info == other.info


# names and units


def test_every_quantity_has_one_name_and_its_unit() -> None:
    """A body and a joint of one name do not meet; velocities are called as in the formulas of model files."""
    motion = turning()
    assert {name: quantity.unit for name, quantity in motion.quantities.items()} == {
        "t": "s",
        **{"O.x": "m", "O.y": "m", "O.phi": "rad"},
        **{"O.vx": "m/s", "O.vy": "m/s", "O.omega": "rad/s"},
        **{"O.ax": "m/s^2", "O.ay": "m/s^2", "O.alpha": "rad/s^2"},
        **{"O.P.x": "m", "O.P.vx": "m/s", "O.P.ax": "m/s^2"},
        **{"reaction:O.x": "N", "reaction:O.y": "N", "reaction:O.torque": "N m"},
        "driving:motor": "N m",
        **{"lam:O.x": "N", "lam:O.y": "N", "lam:motor.drive": "N m"},
        **{f"energy:{form}": "J" for form in ("kinetic", "potential", "dissipated", "supplied", "drift")},
        **{"error:position": "m, rad", "error:velocity": "m/s, rad/s"},
    }
    np.testing.assert_array_equal(motion["O.omega"], motion.v[:, 2])
    np.testing.assert_array_equal(motion["O.ay"], motion.a[:, 1])
    np.testing.assert_array_equal(motion["reaction:O.y"], motion.columns("reactions")["O.y"])
    assert "O.alpha" in motion
    assert "O.beta" not in motion


@given(st.lists(st.sampled_from(["A", "B", "vx", "x", "phi", "reaction"]), min_size=1, max_size=6, unique=True))
def test_names_are_unique_whatever_bodies_joints_and_points_are_called(owners: list[str]) -> None:
    """No two columns share a name, where body, joint, driver, force and point have the same one."""
    ground = Ground()
    bodies = tuple(PlanarBody(name, 1.0, 1.0, points={"P": (0.5, 0.0)}) for name in owners)
    joints = tuple(Revolute(body.name, ground, body, (0.0, 0.0), (0.0, 0.0)) for body in bodies)
    drivers = tuple(Driver(joint.name, joint, "angle", Polynomial(rate=1.0)) for joint in joints)
    forces = tuple(Torque(body.name, body, 1.0) for body in bodies)
    columns = body_equations(Model("m", bodies, joints, drivers, forces)).columns
    names = [name for kind in columns.values() for name in kind.names]
    assert len(names) == len(set(names)) == (3 + 3 + 3 + 6 + 2 + 3 + 1 + 2 + 2 + 3) * len(owners)


def test_an_unknown_name_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(UsageError, match=r"no quantity 'O.omga'; did you mean 'O.omega'\? \[unknown-quantity\]"):
        turning()["O.omga"]


def test_what_other_programs_write_is_answered_by_what_to_write() -> None:
    motion = turning()
    with pytest.raises(AttributeError, match=r"write motion\['O.x'\]"):
        _ = motion.O
    with pytest.raises(AttributeError, match=r"write motion\.t"):
        _ = motion.time
    for index in (0, slice(3), ("O.x", "O.y")):
        with pytest.raises(UsageError, match=r"write motion\['crank.phi'\], motion.at"):
            motion[index]  # type: ignore[index]


def test_arrays_cannot_be_changed_and_shapes_are_checked() -> None:
    motion = turning()
    with pytest.raises(ValueError, match="read-only"):
        motion.q[0, 0] = 1.0
    with pytest.raises(ValueError, match="v has the shape"):
        replace(motion, tables={**motion.tables, "v": Table(motion.tables["v"].columns, motion.v[:, :2])})


# energy, errors, summary


def test_drift_counts_dissipated_and_supplied_work() -> None:
    """The motor lifts and lowers the weight: drift is zero; without its work it is the potential energy."""
    motion = turning()
    np.testing.assert_allclose(motion.drift(), 0.0, atol=1e-13)
    idle = with_column(motion, "energy", "supplied", 0.0)
    np.testing.assert_allclose(idle.drift(), 3.0 * 9.81 * np.sin(OMEGA * motion.t), atol=1e-13)
    rubbed = with_column(motion, "energy", "dissipated", motion.t)
    np.testing.assert_allclose(rubbed.drift(), motion.t, atol=1e-13)


def test_a_summary_holds_settings_final_state_and_errors() -> None:
    motion = turning()
    s = motion.summary()
    assert {
        *("model", "coordinates", "formulation", "stabilization", "integrator", "rtol", "atol", "t_end", "steps"),
        *("rejected", "evaluations", "compile_s", "wall_s", "dof", "redundant"),
        *("final", "constraint_error", "energy", "notes", "parameters", "versions", "singular_positions"),
    } <= set(s)
    assert s["final"]["t"] == 2.0
    assert s["final"]["q"] == {"O.x": math.cos(4.0), "O.y": math.sin(4.0), "O.phi": 4.0}
    assert s["final"]["v"] == {"O.x": -2.0 * math.sin(4.0), "O.y": 2.0 * math.cos(4.0), "O.phi": 2.0}
    assert s["constraint_error"] == {"position": 3e-15, "velocity": 4e-14, "acceleration": 5e-15}
    assert s["energy"]["initial"] == 7.0
    assert s["energy"]["final"] == pytest.approx(7.0 + 29.43 * math.sin(4.0), abs=1e-12)
    assert s["energy"]["max_drift"] < 1e-13
    assert s["status"] == "finished"
    json.dumps(s, allow_nan=False)


def test_a_summary_holds_no_nan() -> None:
    motion = turning()
    s = replace(with_column(motion, "q", "O.x", math.nan), info=replace(motion.info, wall_s=math.inf)).summary()
    assert s["final"]["q"]["O.x"] is None
    assert s["wall_s"] is None
    json.dumps(s, allow_nan=False)


@pytest.mark.parametrize("missing", ["error_position", "drift", "rows"])
def test_a_run_without_measured_errors_is_not_finished(missing: str, tmp_path: Path) -> None:
    motion = turning()
    if missing == "error_position":
        info = replace(motion.info, constraint_error_position=math.nan)
        motion = replace(motion, error_position=np.full(len(motion.t), math.nan), info=info)
    elif missing == "drift":
        motion = with_column(motion, "energy", "supplied", math.nan)
    else:
        motion = turning(0)
    assert motion.status == "unmeasured"
    assert motion.summary()["status"] == "unmeasured"
    motion.save(tmp_path / "motion.nc")
    assert Trajectory.load(tmp_path / "motion.nc").info.status == "unmeasured"


@pytest.mark.parametrize("suffix", [".nc", ".csv"])
@pytest.mark.parametrize("status", ["stopped", "interrupted"])
def test_a_file_of_a_run_cut_short_says_so(status: str, suffix: str, tmp_path: Path) -> None:
    motion = turning()
    short = replace(motion, info=replace(motion.info, status=status, reason=Reason.read("step size collapsed")))
    short.save(tmp_path / f"motion{suffix}")
    loaded = Trajectory.load(tmp_path / f"motion{suffix}")
    assert loaded.status == status
    assert loaded.info.reason == "step size collapsed"


# files


@pytest.mark.parametrize("suffix", [".nc", ".csv"])
@pytest.mark.parametrize("n", [1, 41])
def test_a_file_gives_back_what_was_written(suffix: str, n: int, tmp_path: Path) -> None:
    """Numbers bit for bit, names, units and settings, NaN and infinity and signed zeros included."""
    motion = turning(n)
    a = motion.a.copy()
    a[0] = [-math.nan, math.inf, -0.0]
    tables = {**motion.tables, "a": Table(motion.tables["a"].columns, a)}
    motion = replace(motion, tables=tables, info=replace(motion.info, reason=Reason.read('grüße, "x"\n')))
    motion.save(tmp_path / f"motion{suffix}")
    loaded = Trajectory.load(tmp_path / f"motion{suffix}")
    assert_same(motion, loaded)
    assert np.signbit(loaded.a[0, 2])
    beside = ["motion.csv.json"] if suffix == ".csv" else []
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"motion{suffix}", *beside]


@pytest.mark.parametrize("suffix", [".nc", ".csv"])
def test_a_trajectory_without_joints_and_drivers_can_be_written(suffix: str, tmp_path: Path) -> None:
    motion = turning()
    free = replace(motion, tables={kind: motion.tables[kind] for kind in ("q", "v", "a", "energy")})
    free.save(tmp_path / f"free{suffix}")
    loaded = Trajectory.load(tmp_path / f"free{suffix}")
    assert_same(free, loaded)
    assert loaded.columns("points") == loaded.columns("reactions") == loaded.columns("driving") == {}


def test_xarray_reads_the_file_as_labelled_arrays(tmp_path: Path) -> None:
    motion = turning()
    motion.save(tmp_path / "motion.nc")
    with xarray.open_dataset(tmp_path / "motion.nc", engine="h5netcdf") as file:
        assert file.attrs.pop("sha256")
        phi = file.q.sel(coordinate="O.phi")
        assert phi.coords["q_unit"] == "rad"
        np.testing.assert_array_equal(phi, motion["O.phi"])
        assert float(file.reactions.sel(reaction="O.x").sel(time=0.0)) == motion["reaction:O.x"][0]
        assert (file.attrs["rtol"], file.attrs["constraint_error_position"]) == (1e-9, 3e-15)
        assert file.time.attrs["units"] == "s"


def test_a_dataset_is_a_data_frame_with_a_column_for_every_quantity() -> None:
    """One dimension: a frame has as many rows as the motion, not their product with all names."""
    motion = turning()
    data = motion.dataset()
    assert dict(data.sizes) == {"time": len(motion.t)}
    assert data["reaction:O.torque"].attrs["units"] == "N m"
    np.testing.assert_array_equal(data["O.phi"].sel(time=motion.t[3]), motion["O.phi"][3])
    assert data.to_dataframe().shape == (len(motion.t), len(motion) - 1)


def test_any_program_reads_the_csv_file_from_its_first_line(tmp_path: Path) -> None:
    motion = turning()
    motion.save(tmp_path / "motion.csv")
    names, *rows = (tmp_path / "motion.csv").read_text(encoding="utf-8").splitlines()
    assert names.split(",") == list(motion)
    table = np.array([[float(x) for x in row.split(",")] for row in rows])
    np.testing.assert_array_equal(table[:, names.split(",").index("O.omega")], motion["O.omega"])
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(tmp_path / "motion.csv")
    assert frame.shape == (len(motion.t), len(motion))
    assert set(frame.dtypes) == {np.dtype(float)}
    np.testing.assert_allclose(frame["O.phi"], motion["O.phi"], rtol=1e-15)


def test_csv_files_with_their_record_in_the_first_line_are_still_read(tmp_path: Path) -> None:
    motion, path, record = turning(), tmp_path / "motion.csv", tmp_path / "motion.csv.json"
    motion.save(path)
    path.write_text(f"# linkwork {record.read_text('utf-8')}\n{path.read_text('utf-8')}", encoding="utf-8")
    record.unlink()
    assert_same(motion, Trajectory.load(path))


def test_a_csv_file_without_its_record_is_a_table(tmp_path: Path) -> None:
    """Only its own record is taken: that of another motion does not fit."""
    turning().save(tmp_path / "motion.csv")
    turning(7).save(tmp_path / "other.csv")
    (tmp_path / "other.csv.json").replace(tmp_path / "motion.csv.json")
    with pytest.raises(ModelError, match="checksum") as caught:
        Trajectory.load(tmp_path / "motion.csv")
    assert caught.value.code == "result-corrupt"
    (tmp_path / "motion.csv.json").unlink()
    with pytest.raises(ModelError, match=r"is not a result but a table.*motion.csv.json") as caught:
        Trajectory.load(tmp_path / "motion.csv")
    assert caught.value.code == "not-a-result"


def test_a_workbook_has_names_with_units_above_the_numbers(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    motion = turning()
    motion.save(tmp_path / "motion.xlsx")
    heading, *rows = openpyxl.load_workbook(tmp_path / "motion.xlsx").active.values
    assert heading[:2] == ("t [s]", "O.x [m]")
    np.testing.assert_allclose([row[1] for row in rows], motion["O.x"], rtol=1e-15)  # as digits
    motion.to("deg").save(tmp_path / "degrees.xlsx")
    heading, *rows = openpyxl.load_workbook(tmp_path / "degrees.xlsx").active.values
    assert rows[-1][heading.index("O.phi [deg]")] == pytest.approx(np.degrees(motion["O.phi"][-1]))


def test_parquet_has_columns_by_name(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    motion = turning()
    motion.save(tmp_path / "motion.parquet")
    table = parquet.read_table(tmp_path / "motion.parquet")
    np.testing.assert_array_equal(table["O.x"].to_numpy(), motion["O.x"])
    assert table.schema.field("O.x").metadata[b"unit"] == b"m"


@pytest.mark.parametrize(("suffix", "package"), [(".xlsx", "openpyxl"), (".parquet", "pyarrow")])
def test_a_package_that_is_missing_is_named(
    suffix: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for motion in (turning(), turning().to("deg")):
        extra = rf"{package} is not installed; pip install 'linkwork\[{suffix[1:]}\]'"
        with pytest.raises(UsageError, match=extra) as caught:
            motion.save(tmp_path / f"motion{suffix}")
        assert caught.value.code == f"no-{package}"
    assert not list(tmp_path.iterdir())


def test_nothing_is_half_written(tmp_path: Path) -> None:
    """When the disk ends in the middle of writing, the old file stays as it was and no other appears."""
    script = (
        "import resource, sys; sys.path.insert(0, sys.argv[1]); from test_trajectory import turning\n"
        "motion = turning(2000)\n"
        "from linkwork.errors import UsageError\n"
        "sys.dont_write_bytecode = True\n"  # what is imported from here on would be cut off too
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "for name in sys.argv[2:] * 3:\n try: motion.save(name)\n"
        " except UsageError as error: print(error)\n"
    )
    olds = [tmp_path / f"motion{suffix}" for suffix in (".csv", ".nc")]
    for old in olds:
        old.write_bytes(b"old")
    command = [sys.executable, "-c", script, str(Path(__file__).parent), *map(str, olds)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert len(re.findall(r"cannot write .*\[disk-full\]", answer.stdout)) == 6, answer
    assert answer.returncode == 0
    assert "Traceback" not in answer.stderr
    assert all(old.read_bytes() == b"old" for old in olds)
    assert sorted(tmp_path.iterdir()) == olds


def damaged(content: bytes, how: str) -> bytes:
    if how == "truncated":
        return content[: len(content) // 2]
    if how == "without its end":
        return content[:-40]
    if how == "one bit":
        k = content.index(np.float64(math.cos(4.0)).tobytes()) if content.startswith(b"\x89HDF") else -20
        return content[:k] + bytes([content[k] ^ 1]) + content[k + 1 :]
    if how == "two lines":
        return b"".join(content.splitlines(keepends=True)[:2])
    return {"empty": b"", "text": b"once upon a time\n", "head only": content[:8]}[how]


@pytest.mark.parametrize("suffix", [".nc", ".csv"])
@pytest.mark.parametrize("how", ["truncated", "without its end", "one bit", "empty", "text", "head only", "two lines"])
def test_a_damaged_file_is_refused(suffix: str, how: str, tmp_path: Path) -> None:
    path = tmp_path / f"motion{suffix}"
    turning().save(path)
    path.write_bytes(damaged(path.read_bytes(), how))
    with pytest.raises(ModelError) as caught:
        Trajectory.load(path)
    assert caught.value.code in ("result-corrupt", "not-a-result")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("count", [50, pytest.param(500, marks=pytest.mark.slow)])
def test_random_damage_is_refused_or_harmless(count: int, tmp_path: Path, rng: np.random.Generator) -> None:
    """A changed byte anywhere gives the clear error or, in what the format does not use, the same trajectory."""
    for suffix in (".nc", ".csv"):
        path = tmp_path / f"motion{suffix}"
        motion = turning(3)
        motion.save(path)
        content = path.read_bytes()
        for place in rng.integers(0, len(content), count):
            changed = bytearray(content)
            changed[place] ^= int(rng.integers(1, 256))
            path.write_bytes(changed)
            try:
                loaded = Trajectory.load(path)
            except LinkworkError:
                continue
            np.testing.assert_array_equal(loaded.q, motion.q)


def edited(path: Path, edit: Any) -> Path:
    turning().save(path)
    with h5py.File(path, "r+") as file:
        edit(file, path.parent)
    return path


def external_link(file: Any, folder: Path) -> None:
    turning().save(folder / "other.nc")
    del file["lam"]
    file["lam"] = h5py.ExternalLink("other.nc", "/lam")


def soft_link(file: Any, folder: Path) -> None:
    del file["lam"]
    file["lam"] = h5py.SoftLink("/q")


def external_storage(file: Any, folder: Path) -> None:
    del file["error_position"]
    file.create_dataset("error_position", (41,), "<f8", external=[(str(folder / "raw"), 0, 41 * 8)])


def huge(file: Any, folder: Path) -> None:
    del file["q"]
    file.create_dataset("q", (10**9, 10**6), "<f8", chunks=(100, 100))


def group(file: Any, folder: Path) -> None:
    del file["q"]
    file.create_group("q")


def other_type(file: Any, folder: Path) -> None:
    del file["q"]
    file["q"] = np.zeros((41, 3), dtype=np.int8)


def missing(file: Any, folder: Path) -> None:
    del file["q"]


def newer(file: Any, folder: Path) -> None:
    file.attrs["linkwork_trajectory"] = 99


def not_ours(file: Any, folder: Path) -> None:
    del file.attrs["linkwork_trajectory"]


def setting(file: Any, folder: Path) -> None:
    file.attrs["status"] = "finished!"


def long_setting(file: Any, folder: Path) -> None:
    file.create_dataset("long", data=np.zeros(3))
    file.attrs.create("note", np.zeros(2**22))


def wrong_json(file: Any, folder: Path) -> None:
    file.attrs["notes_json"] = "["


def deep_json(file: Any, folder: Path) -> None:
    file.attrs["notes_json"] = "[" * 20000


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (external_link, "result-refused"),
        (soft_link, "result-refused"),
        (external_storage, "result-refused"),
        (huge, "result-refused"),
        (group, "result-refused"),
        (other_type, "result-corrupt"),
        (missing, "result-corrupt"),
        (newer, "result-version"),
        (not_ours, "not-a-result"),
        (setting, "result-corrupt"),
        (wrong_json, "result-corrupt"),
        (deep_json, "result-corrupt"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_file_that_was_tampered_with_is_refused(edit: Any, code: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        Trajectory.load(edited(tmp_path / "motion.nc", edit))
    assert caught.value.code == code


def test_a_path_that_is_no_result_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.nc").mkdir()
    with pytest.raises(ModelError, match=r"is a folder.*\[not-a-file\]"):
        Trajectory.load(tmp_path / "folder.nc")
    with pytest.raises(UsageError, match=r"\[no-such-file\]"):
        Trajectory.load(tmp_path / "motion.nc")
    with pytest.raises(UsageError, match=r"\[unknown-suffix\]"):
        Trajectory.load(tmp_path / "motion.pickle")
    with pytest.raises(UsageError, match=r"\[unknown-suffix\]"):
        turning().save(tmp_path / "motion.pickle")
    with pytest.raises(UsageError, match=r"\[output-is-folder\]"):
        turning().save(tmp_path / "folder.nc")


# views


def test_html_escapes_what_comes_from_the_model() -> None:
    html = turning(name="<script>alert(1)</script>")._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def labels(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()] if axes.get_legend() else []


def test_quantities_of_one_unit_share_an_axis() -> None:
    motion = turning()
    fig = figure(motion, ["O.phi", "O.x", "O.y", "O.vx"])
    panels = {axes.get_ylabel(): labels(axes) for axes in fig.axes}
    assert panels == {"O.phi [rad]": [], "position [m]": ["O.x", "O.y"], "O.vx [m/s]": []}
    np.testing.assert_array_equal(fig.axes[1].lines[1].get_ydata(), motion["O.y"])
    assert fig.axes[-1].get_xlabel() == "t [s]"


def test_a_pattern_stands_for_all_names_that_fit() -> None:
    fig = turning().plot("O.*x", "reaction:*")
    assert {axes.get_ylabel(): labels(axes) for axes in fig.axes if axes.get_visible()} == {
        "position [m]": ["O.x", "O.P.x"],
        "velocity [m/s]": ["O.vx", "O.P.vx"],
        "acceleration [m/s^2]": ["O.ax", "O.P.ax"],
        "force [N]": ["reaction:O.x", "reaction:O.y"],
        "reaction:O.torque [N m]": [],
    }
    with pytest.raises(UsageError, match=r"no quantity fits 'x\*' \[unknown-quantity\]"):
        turning().plot("x*")


def test_a_name_that_looks_like_a_pattern_stands_for_itself() -> None:
    motion = turning()
    names = ("[a].x", "[a].y", "[a].phi")
    renamed = motion.tables["q"].columns._replace(labels=names, names=names)
    motion = replace(motion, tables={**motion.tables, "q": Table(renamed, motion.q)})
    (axes,) = motion.plot("[a].x").axes
    assert axes.get_ylabel() == "[a].x [m]"


def test_a_curve_of_a_point_has_equal_axes() -> None:
    (axes,) = turning().plot("O.y", against="O.x").axes
    assert axes.get_aspect() == 1.0
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("O.x [m]", "O.y [m]")


def test_the_overview_shows_motion_energy_and_errors() -> None:
    assert [(panel.unit, list(panel.curves)) for panel in overview(turning())] == [
        ("rad", ["O.phi"]),
        ("rad/s", ["O.omega"]),
        ("m", ["O.x", "O.y"]),
        ("m/s", ["O.vx", "O.vy"]),
        ("J", ["kinetic", "potential", "supplied", "kinetic + potential"]),
        ("", ["|Psi| [m, rad]", "|Psi_dot| [m/s, rad/s]", "|energy drift| [J]"]),
    ]


def test_the_overview_leaves_out_what_varies_least() -> None:
    """Nine bodies that slide at speeds 1 to 9: the slowest is not shown, the others keep their order."""
    m = linkwork.PlanarModel("slides")
    m.fix(O=(0, 0))
    for k in range(1, 10):
        body = m.body(f"b{k}", mass=1, inertia=1, points={"P": (0, 0)}, velocity=(k, 0))
        m.prismatic(f"s{k}", m.ground["O"], body["P"], axis=(1, 0))
    panel = next(panel for panel in overview(m.simulate(t_end=0.1)) if panel.unit == "m")
    assert list(panel.curves) == [f"b{k}.x" for k in range(2, 10)]
    assert panel.remark == "largest 8 of 9"


def test_driven_motion_shows_the_error_of_its_work_and_no_drift() -> None:
    """A driven motion loses no energy: what is left of the balance is the quadrature over the report times."""
    motion = turning()
    driven = replace(motion, info=replace(motion.info, analysis="kinematics"))
    assert "|error of the work| [J]" in overview(driven)[-1].curves


def test_thinning_keeps_every_peak() -> None:
    """Of a hundred thousand rows a picture needs few, but single peaks among them stay."""
    n = 100_000
    motion = turning(n)
    spike = np.zeros(n)
    spike[[12_345, 77_777]] = 5.0, -7.0
    motion = with_column(motion, "driving", "motor", spike)
    (line,) = motion.plot("driving:motor").axes[0].lines
    y = np.asarray(line.get_ydata())
    assert len(y) < 20_000
    assert (y.max(), y.min()) == (5.0, -7.0)


def test_a_notebook_shows_a_plot_without_having_set_up_matplotlib() -> None:
    """What IPython asks a value for is a picture; a plain Figure shows its size in words."""
    assert cast(Any, turning().plot("O.x"))._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_pictures_are_written_and_are_the_same_for_the_same_motion(suffix: str, tmp_path: Path) -> None:
    motion = turning(name="costs $5_a^b$")
    for name in ("one", "two"):
        save(motion.plot("O.x", "O.y"), tmp_path / f"{name}{suffix}")
    content = (tmp_path / f"one{suffix}").read_bytes()
    assert content.startswith(b"\x89PNG") if suffix == ".png" else b"<svg" in content
    if suffix == ".png":
        assert content == (tmp_path / f"two{suffix}").read_bytes()
    with pytest.raises(UsageError, match=r"\[unknown-suffix\]"):
        save(motion.plot("O.x"), tmp_path / "motion.doc")


def test_plots_leave_pyplot_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are drawn where pyplot, which keeps figures and chooses windows, cannot be had."""
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.delattr("matplotlib.pyplot", raising=False)
    with pytest.raises(ImportError):
        importlib.import_module("matplotlib.pyplot")
    assert turning().plot().axes


def repeated_text(file: Any, folder: Path) -> None:
    """Every label one long text that stands in the file once."""
    names = file["q_name"]
    names[:] = ["x" * 2**16] * len(names)


def packed(file: Any, folder: Path) -> None:
    """Numbers that a few bytes stand for."""
    shape = (10**7, 3)
    del file["q"]
    file.create_dataset("q", shape, "<f8", chunks=(10**5, 3), compression="gzip", fillvalue=1.0)


@pytest.mark.parametrize("edit", [packed, repeated_text])
def test_a_hostile_file_takes_no_more_memory_than_it_is_long(edit: Any, tmp_path: Path) -> None:
    path = edited(tmp_path / "motion.nc", edit)
    tracemalloc.start()
    with pytest.raises(ModelError, match=r"declares more than|checksum|characters"):
        Trajectory.load(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50e6  # 240 MB would be declared


def test_damaged_columns_of_a_text_file_are_refused(tmp_path: Path) -> None:
    """A label less, and tables that ask for one column a million times."""
    path, record = tmp_path / "motion.csv", tmp_path / "motion.csv.json"
    turning().save(path)
    head = json.loads(record.read_text())
    labels, names, units = head["tables"]["q"]
    for broken in ([labels[1:], names, units], [labels, names[1:], units], [["x"] * 10**6, [names[0]] * 10**6, units]):
        head["tables"]["q"] = broken
        record.write_text(json.dumps(head))
        with pytest.raises(ModelError) as caught:
            Trajectory.load(path)
        assert caught.value.code == "result-corrupt"


def test_a_curve_that_covers_another_is_dashed() -> None:
    """In a parallelogram both cranks turn alike; drawn one upon the other, both are to be seen."""
    motion = turning()
    panel = Panel("rad", {"first": motion["O.phi"], "second": motion["O.phi"], "third": 2.0 * motion["O.phi"]})
    lines = figure(motion, panels=[panel]).axes[0].get_lines()
    assert [line.get_linestyle() for line in lines] == ["-", "--", "-"]
