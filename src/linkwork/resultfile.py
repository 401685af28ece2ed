"""Files of trajectories: netCDF-4 and CSV, whole or refused; tables for other programs, and the arrays of DAP.

The two kinds that are read again hold the same: the tables with labels, names and units, the record of the run, and a
checksum over all of it. Beside a CSV file, whose first line has the names, these stand in a file FILE.csv.json; in
older ones they stand in a line above the names.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.arrays import Array
from linkwork.elements.kinds import Columns
from linkwork.errors import LinkworkError, ModelError, UsageError, check_extra
from linkwork.files import no_file, whole
from linkwork.resulttable import NEEDED, check_package, write_table
from linkwork.trajectory import Events, Run, Table, Trajectory, plain

if TYPE_CHECKING:
    import xarray


FORMAT = 2  # of the files
SUFFIXES = (".nc", ".csv")
WRITTEN = (*SUFFIXES, *NEEDED, ".mat")
STATE = {"theta": "q", "theta_d": "v", "theta_dd": "a"}  # of joint coordinates, or else of the bodies
MAX_AT_ONCE = 2**28  # characters of names that are read together
MAX_TEXT = 2**24  # characters of settings, or of one kind of names, in a file that is read
MAX_SETTINGS = 200  # attributes of a file: a run has forty
# The columns that stand alone, and their variables in netCDF files.
ENDS = {"t": "time", "error:position": "error_position", "error:velocity": "error_velocity"}
CSV_MARK = "# linkwork "  # with which older CSV files begin
SIGNATURE = b"\x89HDF\r\n\x1a\n"
# Fields of the events, their variables in netCDF files and what these are numbered by.
EVENTS = {
    "t": ("event_time", ("event",)),
    "q": ("event_q", ("event", "coordinate")),
    "v_before": ("event_v_before", ("event", "velocity")),
    "v_after": ("event_v_after", ("event", "velocity")),
}
# Kind of columns -> the dimension of its labels in files.
DIMENSIONS = {
    **{"q": "coordinate", "v": "velocity", "a": "velocity", "lam": "row", "energy": "form"},
    **{"theta": "joint_coordinate", "theta_d": "joint_velocity", "theta_dd": "joint_velocity"},
    **{"points": "point", "joints": "freedom", "reactions": "reaction", "driving": "driver", "loads": "load"},
    "actuators": "actuator",
}


def dataset(motion: Trajectory) -> xarray.Dataset:
    """Return every quantity by its name over the one dimension `time`, which has the times as its coordinate."""
    check_extra("xarray")
    import xarray

    variables: dict[str, Any] = {
        name: ("time", values, {"units": unit}) for name, (values, unit) in motion.quantities.items()
    }
    time = variables.pop("t")
    events = {"events_json": json.dumps(plain(motion.events._asdict()))}
    return xarray.Dataset(variables, {"time": time}, {**_attributes(motion), **events})


def save(motion: Trajectory, path: str | Path) -> None:
    """Write a .nc, .csv, .xlsx, .parquet or .mat file, whole or not at all; an old file is replaced."""
    suffix = Path(path).suffix.lower()
    if suffix not in WRITTEN:
        raise UsageError(f"cannot write '{path}': trajectories are written as {', '.join(WRITTEN)}", "unknown-suffix")
    check_package(Path(path))
    if suffix == ".csv":
        with whole(path) as part, whole(_record_beside(path)) as record:
            write_table(motion.quantities, part, motion.name, with_units=False)
            record.write_text(json.dumps(_head(motion)), encoding="utf-8")
        return
    with whole(path) as part:
        if suffix in NEEDED:
            write_table(motion.quantities, part, motion.name)
        elif suffix == ".mat":
            part.write_bytes(_matlab(motion))
        else:
            # As bytes: HDF5 itself, when it cannot write, kills the process later on.
            part.write_bytes(_netcdf(motion))


def dap_arrays(motion: Trajectory) -> dict[str, Array]:
    """Return a planar motion in the arrays that DAP's `post` makes, by their names there [nikravesh2018, table C.3].

    T; uT, the state as DAP integrates it (nt x 2 nJC); theta, theta_d, theta_dd (nt x nJC); r, rd, rdd (nt x nB x 2);
    p, pd, pdd (nt x nB); rP, rPd (nt x nP x 2); Jac (nt x nConst x nJC); Lam (nt x nConst) as in DAP, M theta_dd = h +
    Jac^T Lam; eng (nt x 3): kinetic, potential, sum.
    In body coordinates every body is floating: theta are x, y, phi of all bodies. Points, and in joint coordinates
    rows, stand in the `order` of the model, as in the folder from which it is; others behind them, the ground last.
    """
    from linkwork.compiled.mechanism import prepare

    if motion.model is None:
        raise UsageError("the Jacobian needs the model: take the result of `simulate`, not of a file", "no-model")
    if motion.model.space != "planar" or motion.model.stated is not None:
        raise UsageError("these arrays are of motions of planar bodies; take `quantities` or a .nc file", "not-planar")
    system = prepare(motion.model, motion.info.coordinates).system()
    if system.equations.chart.tree is not None:
        message = "minimal coordinates leave no Jacobian of all joints; run it in joint coordinates for these arrays"
        raise UsageError(message, "minimal-arrays")
    nt, tables = len(motion.t), motion.tables
    q, v, a = (tables[kind].values.reshape(nt, -1, 3) for kind in ("q", "v", "a"))
    state = [tables[kind if kind in tables else usual].values for kind, usual in STATE.items()]
    of_points, of_rows, signs = _order(motion)
    points = tables["points"].values.reshape(nt, -1, 3, 2)[:, of_points]
    place = system.start()
    jacobians = [replace(place, t=float(t), q=theta).Psi_q for t, theta in zip(motion.t, state[0], strict=True)]
    kinetic, potential = motion.energy["kinetic"], motion.energy["potential"]
    return {
        "T": motion.t,
        "uT": np.hstack(state[:2]),
        **dict(zip(STATE, state, strict=True)),
        **{"r": q[:, :, :2], "rd": v[:, :, :2], "rdd": a[:, :, :2]},
        **{"p": q[:, :, 2], "pd": v[:, :, 2], "pdd": a[:, :, 2]},
        **{"rP": points[:, :, 0], "rPd": points[:, :, 1]},
        "Jac": np.array(jacobians).reshape(nt, len(motion.rows), state[1].shape[1])[:, of_rows] * signs[:, None],
        "Lam": -motion.lam[:, of_rows] * signs,
        "eng": np.column_stack([kinetic, potential, kinetic + potential]),
    }


def _order(motion: Trajectory) -> tuple[list[int], list[int], Array]:
    """Return the places of points and of constraint rows in the order of the model, and the signs of the rows."""
    wanted = {name: k for k, name in enumerate(motion.model.order if motion.model is not None else ())}

    def place(name: str) -> tuple[int, float]:
        for own in (name, name.rpartition(".")[0]):
            for sign, minus in ((1.0, ""), (-1.0, "-")):
                if minus + own in wanted:
                    return wanted[minus + own], sign
        return len(wanted), 1.0

    def sort(names: Sequence[str]) -> list[int]:
        return sorted(range(len(names)), key=lambda k: place(names[k])[0])

    if motion.info.coordinates != "joint":
        return sort(_points(motion)), [*range(len(motion.rows))], np.ones(len(motion.rows))
    of_rows = sort(motion.rows)
    return sort(_points(motion)), of_rows, np.array([place(motion.rows[k])[1] for k in of_rows])


def _points(motion: Trajectory) -> list[str]:
    return [name.rpartition(".")[0] for name in motion.tables["points"].columns.names[::6]]


def _matlab(motion: Trajectory) -> bytes:
    """Return the arrays of `dap_arrays` for MATLAB and Octave, with the names of bodies, points and rows."""
    from scipy.io import savemat

    arrays = dap_arrays(motion)
    bodies, points = [name.rpartition(".")[0] for name in motion.q_names[::3]], _points(motion)
    of_points, of_rows, _ = _order(motion)
    names = {"bodies": bodies, "points": [points[k] for k in of_points], "rows": [motion.rows[k] for k in of_rows]}
    cells = {key: np.array(of, dtype=object) for key, of in names.items()}
    content = BytesIO()
    savemat(content, {**arrays, "T": arrays["T"][:, None], **cells})  # a column, as ode45 returns it
    return content.getvalue()


def load(path: str | Path) -> Trajectory:
    """Read a file written by `save`; a file that is not whole, or not as it was written, is refused."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"cannot read '{path}': trajectories are .nc or .csv files", "unknown-suffix")
    with _refusals(path):
        _regular(path)
        motion, stored = _read_csv(path) if suffix == ".csv" else _read_netcdf(path)
        if stored != checksum(motion):
            raise _corrupt(path, "its checksum does not fit its content")
    return motion


def checksum(motion: Trajectory) -> str:
    """Hash names, numbers and attributes by SHA-256, whatever the kind of file."""
    digest = hashlib.sha256(json.dumps(_attributes(motion), sort_keys=True).encode())
    parts: dict[str, tuple[Any, Array]] = {k: x for k, x in motion.tables.items() if x.columns.labels}
    parts |= {kind: ((), motion[kind]) for kind in ENDS}
    for kind, (columns, values) in sorted(parts.items()):
        digest.update(json.dumps([kind, columns, values.shape]).encode())
        # Text knows only one NaN.
        digest.update(np.where(np.isnan(values), np.nan, values).astype("<f8").tobytes())
    if motion.events.names:
        digest.update(json.dumps(motion.events.names).encode())
        for values in motion.events[1:]:
            digest.update(np.asarray(values).astype("<f8").tobytes())
    return digest.hexdigest()


def _attributes(motion: Trajectory) -> dict[str, Any]:
    """Return numbers and texts of the record as they are, everything else as JSON under NAME_json."""
    attributes: dict[str, Any] = {"linkwork_trajectory": FORMAT, "name": motion.name}
    info = motion.info
    record = {**asdict(info), "status": motion.status, "scene": motion.scene, "reason": str(info.reason)}
    record["identity"] = motion.identity
    if not info.units:  # files of old do not know them
        del record["units"]
    if any(note.code for note in info.notes):  # files of old have their text alone
        record["note_data"] = [(note.code, note.data) for note in info.notes]
    if info.reason.code:
        record["reason_data"] = (info.reason.code, info.reason.data)
    for key, value in record.items():
        # In netCDF an attribute `coordinates` means something else.
        if isinstance(value, str | int | float) and not isinstance(value, bool) and key != "coordinates":
            attributes[key] = value
        else:
            attributes[f"{key}_json"] = json.dumps(plain(value))
    return attributes


def _assemble(
    attributes: Mapping[str, Any],
    ends: Mapping[str, Array],
    tables: Mapping[str, tuple[Sequence[Any], Array]],
    events: Events,
) -> Trajectory:
    """Return the trajectory a file holds: its attributes, the single columns ENDS, tables by kind, and events."""
    record = {
        key.removesuffix("_json"): json.loads(value) if key.endswith("_json") else value
        for key, value in attributes.items()
    }
    labels = {kind: Columns(*(tuple(map(str, texts)) for texts in columns)) for kind, (columns, _) in tables.items()}
    return Trajectory(
        name=str(attributes["name"]),
        t=ends["t"],
        tables={kind: Table(labels[kind], values) for kind, (_, values) in tables.items()},
        error_position=ends["error:position"],
        error_velocity=ends["error:velocity"],
        info=Run.read(record),
        events=events,
    )


def _variables(motion: Trajectory) -> dict[str, tuple[tuple[str, ...], Any, dict[str, str]]]:
    """Name -> dimensions, values, attributes of everything a labelled file holds; empty tables are left out."""
    variables: dict[str, tuple[tuple[str, ...], Any, dict[str, str]]] = {}
    for name, variable in ENDS.items():
        values, unit = motion.quantity(name)
        variables[variable] = (("time",), values, {"units": unit})
    for kind, ((labels, names, units), values) in motion.tables.items():
        if labels:
            dimension = DIMENSIONS.get(kind, f"{kind}_label")
            variables[dimension] = ((dimension,), list(labels), {})
            variables[f"{kind}_name"] = ((dimension,), list(names), {})
            variables[f"{kind}_unit"] = ((dimension,), list(units), {})
            attributes = {"units": units[0]} if len(set(units)) == 1 else {}
            variables[kind] = (("time", dimension), values, attributes)
    if motion.events.names:
        variables["event"] = (("event",), list(motion.events.names), {})
        for field, (name, dimensions) in EVENTS.items():
            variables[name] = (dimensions, getattr(motion.events, field), {})
    return variables


def _netcdf(motion: Trajectory) -> memoryview:
    """Write the bytes of a netCDF-4 file, which is one of HDF5: the variable of its name is each dimension's scale.

    h5py alone takes a fifth of the time of the packages that know netCDF.
    """
    check_extra("h5py")
    import h5py

    content, variables = BytesIO(), _variables(motion)
    scales = dict.fromkeys(dimension for dimensions, _, _ in variables.values() for dimension in dimensions)
    with h5py.File(content, "w", track_order=True) as file:
        for name, (dimensions, values, attributes) in variables.items():
            text = isinstance(values, list)
            data = np.array(values, dtype=object) if text else values
            written = file.create_dataset(name, data=data, dtype=h5py.string_dtype() if text else "<f8")
            if not text and dimensions[0] == "time" and len(dimensions) == 2:
                # By the CF conventions: it belongs to the labels.
                attributes = {**attributes, "coordinates": f"{name}_name {name}_unit"}
            written.attrs.update(attributes)
        for number, dimension in enumerate(scales):
            file[dimension].make_scale(dimension)
            file[dimension].attrs["_Netcdf4Dimid"] = np.int32(number)
        for name, (dimensions, _, _) in variables.items():
            for k, dimension in enumerate(dimensions if name not in scales else ()):
                file[name].dims[k].attach_scale(file[dimension])
        file.attrs.update({**_attributes(motion), "sha256": checksum(motion)})
    return content.getbuffer()


def _read_netcdf(path: str | Path) -> tuple[Trajectory, object]:
    check_extra("h5py")
    import h5py

    with open(path, "rb") as stream:
        if stream.read(len(SIGNATURE)) != SIGNATURE:
            raise _foreign(path)
    with h5py.File(path, "r") as file:
        # Nothing is opened before all of it is known to lie in this file.
        for name in file:
            if not isinstance(file.get(name, getlink=True), h5py.HardLink):
                raise _refused(path, f"'{name}' is a link to another place")
        attributes = _netcdf_attributes(file, path)
        _check_format(attributes, path)
        kinds = [name.removesuffix("_unit") for name in file if name.endswith("_unit")]
        of_events = ["event", *(name for name, _ in EVENTS.values())] if "event" in file else []
        names = (*of_events, *ENDS.values(), *kinds, *(text for kind in kinds for text in _texts(kind)))
        variables = [file[name] for name in names]
        for variable in variables:
            if not isinstance(variable, h5py.Dataset) or variable.is_virtual or variable.external:
                raise _refused(path, f"'{variable.name}' is not plain data")
        # What is written is not packed, so that more than the file holds comes from elsewhere or from nothing.
        size = os.path.getsize(path)
        if sum(math.prod(variable.shape) * variable.dtype.itemsize for variable in variables) > size:
            raise _refused(path, f"it declares more than the {size} bytes it has")
        ends = {name: _netcdf_numbers(file[variable]) for name, variable in ENDS.items()}
        texts = {kind: [_netcdf_texts(file[name], size) for name in _texts(kind)] for kind in kinds}
        found = {kind: (texts[kind], _netcdf_numbers(file[kind], columns=True)) for kind in kinds}
        events = Events()
        if of_events:
            happened = tuple(_netcdf_texts(file["event"], size))
            fields = {f: _netcdf_numbers(file[name], len(place) == 2) for f, (name, place) in EVENTS.items()}
            events = Events(happened, **fields)
    return _assemble(attributes, ends, found, events), attributes.get("sha256")


def _texts(kind: str) -> tuple[str, str, str]:
    """Return the variables with labels, names and units of the columns of a kind."""
    return DIMENSIONS.get(kind, f"{kind}_label"), f"{kind}_name", f"{kind}_unit"


def _netcdf_attributes(file: Any, path: str | Path) -> dict[str, Any]:
    stored = sum(file.attrs.get_id(name).get_storage_size() for name in file.attrs)
    if stored > MAX_TEXT or len(file.attrs) > MAX_SETTINGS:
        raise _refused(path, f"it has more than {MAX_SETTINGS} settings, or they hold more than {MAX_TEXT} bytes")
    values = {name: file.attrs[name] for name in file.attrs if not name.startswith("_")}
    return {name: value if isinstance(value, str) else np.asarray(value).item() for name, value in values.items()}


def _netcdf_texts(variable: Any, size: int) -> list[str]:
    """Return names of columns. Many may point to one long text, so they are read in parts that bound what can come."""
    if len(variable.shape) != 1:
        raise ValueError(f"'{variable.name}' is not a list of names")
    texts: list[str] = []
    part, length = max(1, MAX_AT_ONCE // size), 0
    for first in range(0, len(variable), part):
        texts += variable.asstr()[first : first + part].tolist()
        length += sum(map(len, texts[first:]))
        if length > MAX_TEXT:
            raise ValueError(f"'{variable.name}' holds more than {MAX_TEXT} characters")
    return texts


def _netcdf_numbers(variable: Any, columns: bool = False) -> Array:
    if variable.dtype != np.dtype("<f8") or len(variable.shape) != 1 + columns:
        raise ValueError(f"'{variable.name}' holds {variable.dtype} in {len(variable.shape)} dimensions")
    values: Array = variable[...]
    return values


def _record_beside(path: str | Path) -> Path:
    return Path(f"{path}.json")


def is_result(path: Path) -> bool:
    """Tell whether a text file is a result, or at least says so."""
    if _record_beside(path).exists():
        return True
    try:
        with path.open("rb") as file:
            return file.read(len(CSV_MARK)) == CSV_MARK.encode()
    except OSError:
        return False  # reading it says why


def _head(motion: Trajectory) -> dict[str, Any]:
    """Return all but the numbers."""
    return {
        "attributes": _attributes(motion),
        "tables": {kind: table.columns for kind, table in motion.tables.items()},
        "events": plain(motion.events._asdict()),
        "sha256": checksum(motion),
    }


def _read_csv(path: str | Path) -> tuple[Trajectory, object]:
    with open(path, encoding="utf-8") as file:
        first = file.readline(MAX_TEXT)
        if is_old := first.startswith(CSV_MARK):
            head = json.loads(first.removeprefix(CSV_MARK))
        else:
            head = _read_record(path)
        attributes = head["attributes"]
        _check_format(attributes, path)
        names = (file.readline(MAX_TEXT) if is_old else first).rstrip("\n").split(",")
        if all(name.endswith("]") for name in names):
            raise ModelError("is not a result but a table in other units", "not-a-result", file=str(path))
        with warnings.catch_warnings(action="ignore"):  # about a file without rows, which the shape tells too
            values = np.loadtxt(file, delimiter=",", comments=None, ndmin=2)
    if values.shape[1:] != (len(names),) or len(set(names)) != len(names):
        raise ValueError(f"{len(names)} names over {values.shape[1]} columns")
    if sum(len(columns[1]) for columns in head["tables"].values()) > len(names):
        raise ValueError("its tables hold more columns than it has")
    column = dict(zip(names, values.T, strict=True))
    tables = {
        kind: (columns, np.column_stack([column[name] for name in columns[1]]))
        for kind, columns in head["tables"].items()
        if columns[0]
    }
    names, *numbers = (head["events"][field] for field in Events._fields)
    events = Events(tuple(map(str, names)), *(np.array(x, dtype=float) for x in numbers))
    return _assemble(attributes, {name: column[name] for name in ENDS}, tables, events), head["sha256"]


def _read_record(path: str | Path) -> dict[str, Any]:
    """Return the path of the record beside a CSV file."""
    beside = _record_beside(path)
    if not beside.exists():
        rule = f"beside a result there is its record, {beside.name}; files .nc hold both"
        raise ModelError("is not a result but a table", "not-a-result", file=str(path), rule=rule)
    _regular(beside)
    with open(beside, encoding="utf-8") as file:
        found = json.loads(file.read(MAX_TEXT))
    if not isinstance(found, dict) or not isinstance(found.get("attributes"), dict):
        raise _foreign(beside)
    return found


def _check_format(attributes: Mapping[str, Any], path: str | Path) -> None:
    version = attributes.get("linkwork_trajectory")
    if not isinstance(version, int):
        raise _foreign(path)
    if version != FORMAT:
        message = f"is a trajectory of format {version}; this linkwork reads format {FORMAT}"
        hint = "read it with the linkwork that wrote it"
        raise ModelError(message, "result-version", file=str(path), suggestion=hint)


def _foreign(path: str | Path) -> ModelError:
    return ModelError("is not a trajectory written by linkwork", "not-a-result", file=str(path))


def _refused(path: str | Path, why: str) -> ModelError:
    return ModelError(f"is refused: {why}", "result-refused", file=str(path))


def _corrupt(path: str | Path, why: str) -> ModelError:
    suggestion = "run the simulation again"
    return ModelError(f"is damaged: {why}", "result-corrupt", file=str(path), suggestion=suggestion)


@contextmanager
def _refusals(path: str | Path) -> Iterator[None]:
    """Turn whatever a damaged file makes the readers say into one clear error."""
    try:
        yield
    except LinkworkError:
        raise
    except FileNotFoundError:
        raise no_file(path) from None
    except PermissionError:
        raise ModelError("cannot be read: no permission", "unreadable", file=str(path)) from None
    except (OSError, RuntimeError, ValueError, LookupError, TypeError, AttributeError, MemoryError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise _corrupt(path, why) from error


def _regular(path: str | Path) -> None:
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise ModelError(f"is {kind}", "not-a-file", file=str(path), rule="a trajectory is read from a regular file")
