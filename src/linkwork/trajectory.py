"""The result of a run: arrays over the report times, with names, units and measured errors; files of it.

Every quantity has one name, the same in Python (`motion["crank.phi"]`), in plots and in the columns of a CSV file:

    t                                                       time
    crank.x  crank.y  crank.phi                             coordinates, as in q_names
    crank.vx  crank.vy  crank.omega                         velocities, as in the formulas of model files
    crank.ax  crank.ay  crank.alpha                         accelerations
    crank.A.x  crank.A.vx  crank.A.ax  ...                  place, velocity, acceleration of point A of the crank
    reaction:O.x  reaction:O.torque  ...                    what joint O does to its body j
    driving:motor                                           force or torque of a driver
    lam:O.x                                                 multiplier of a row of Psi
    energy:kinetic  :potential  :dissipated  :supplied  :drift
    error:position  error:velocity                          largest |Psi| and |Psi_dot|

A coordinate that is not one of a body, such as that of a joint, has the velocity NAME.dot and the acceleration
NAME.ddot. Names in model files hold no colon, so a joint and a body of the same name do not meet.
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
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import LinkworkError, ModelError, UsageError, check_choice
from linkwork.files import whole

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

FORMAT = 1  # of the files
SUFFIXES = (".nc", ".csv")
MAX_NUMBERS = 2**29  # in a file that is read: 4 GB
MAX_TEXT = 2**24  # characters of settings in a file that is read
# The columns that stand alone, and their variables in netCDF files.
ENDS = {"t": "time", "error:position": "error_position", "error:velocity": "error_velocity"}
CSV_MARK = "# linkwork "
SIGNATURE = b"\x89HDF\r\n\x1a\n"

# The first keys of a summary, in this order.
SETTINGS = (
    *("model", "coordinates", "formulation", "stabilization", "integrator", "rtol", "atol", "t_end"),
    *("steps", "rejected", "evaluations", "compile_s", "wall_s", "dof", "redundant"),
)
RATES = {
    **{axis: (f"v{axis}", f"a{axis}") for axis in "xyz"},
    "phi": ("omega", "alpha"),
    **{f"w{axis}": (f"w{axis}", f"alpha{axis}") for axis in "xyz"},
}
BASE_UNITS = {**dict.fromkeys("xyz", "m"), **dict.fromkeys(("phi", "wx", "wy", "wz"), "rad")}
# Kind of columns -> the dimension of its labels in files; the last three are the outputs every trajectory has.
DIMENSIONS = {
    **{"q": "coordinate", "v": "velocity", "a": "velocity", "lam": "row", "energy": "form"},
    **{"points": "point", "reactions": "reaction", "driving": "driver"},
}
PREFIXES = {"q": "", "points": "", "reactions": "reaction:"}


class Quantity(NamedTuple):
    """One column of the result."""

    values: Array
    unit: str


class Table(NamedTuple):
    """Columns of one kind: a variable of the file, its second dimension, and labels, names and units of the columns."""

    dimension: str
    labels: tuple[str, ...]
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Array


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A motion: one row of t, q, v, a and lam for every report time, and everything that follows from them.

    `info` holds the settings, the counts, the versions and the largest errors over all steps; `energy` the kinetic and
    potential energy and the work dissipated and supplied so far; `outputs` named columns by kind: points, reactions,
    driving.
    """

    name: str
    t: Array
    q: Array
    v: Array
    a: Array
    lam: Array
    q_names: tuple[str, ...]
    v_names: tuple[str, ...]
    rows: tuple[str, ...]
    energy: Mapping[str, Array]
    outputs: Mapping[str, Mapping[str, Array]]
    error_position: Array
    error_velocity: Array
    info: Mapping[str, Any]

    def __post_init__(self) -> None:
        n = len(self.t)
        widths = {"q": self.q_names, "v": self.v_names, "a": self.v_names, "lam": self.rows}
        for field, names in widths.items():
            object.__setattr__(self, field, _fixed(field, getattr(self, field), (n, len(names))))
        for field in ("t", "error_position", "error_velocity"):
            object.__setattr__(self, field, _fixed(field, getattr(self, field), (n,)))
        object.__setattr__(self, "energy", {k: _fixed(k, x, (n,)) for k, x in self.energy.items()})
        outputs = {kind: {k: _fixed(k, x, (n,)) for k, x in named.items()} for kind, named in self.outputs.items()}
        object.__setattr__(self, "outputs", outputs)

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The columns by kind: q, v, a, lam, points, reactions, driving, energy."""
        columns: dict[str, tuple[tuple[str, ...], Array]] = {
            "q": (self.q_names, self.q),
            "v": (self.v_names, self.v),
            "a": (self.v_names, self.a),
            **{kind: (tuple(named), self._columns(named)) for kind, named in self.outputs.items()},
            "lam": (self.rows, self.lam),
            "energy": (tuple(self.energy), self._columns(self.energy)),
        }
        known = self.info.get("units", {})
        tables = {}
        for kind, (labels, values) in columns.items():
            names = _names(kind, labels)
            units = (known.get(name, _unit(kind, label)) for name, label in zip(names, labels, strict=True))
            tables[kind] = Table(_dimension(kind), labels, names, tuple(units), values)
        return tables

    def _columns(self, named: Mapping[str, Array]) -> Array:
        return np.column_stack(list(named.values())) if named else np.empty((len(self.t), 0))

    @cached_property
    def quantities(self) -> dict[str, Quantity]:
        """Everything there is, by name, in the order of the file."""
        found = {"t": Quantity(self.t, "s")}
        for table in self.tables.values():
            columns = zip(table.names, table.units, table.values.T, strict=True)
            found |= {name: Quantity(values, unit) for name, unit, values in columns}
        found["energy:drift"] = Quantity(self.drift(), "J")
        found["error:position"] = Quantity(self.error_position, "m, rad")
        found["error:velocity"] = Quantity(self.error_velocity, "m/s, rad/s")
        return found

    def quantity(self, name: str) -> Quantity:
        check_choice("quantity", name, self.quantities)
        return self.quantities[name]

    def __getitem__(self, name: str) -> Array:
        return self.quantity(name).values

    def __contains__(self, name: object) -> bool:
        return name in self.quantities

    def __iter__(self) -> Iterator[str]:
        return iter(self.quantities)

    def drift(self) -> Array:
        """Kinetic + potential + dissipated - supplied energy, less its first value: zero if all were exact."""
        e = self.energy
        total: Array = e["kinetic"] + e["potential"] + e["dissipated"] - e["supplied"]
        return total - total[:1]

    @property
    def constraint_error(self) -> dict[str, float]:
        """Largest |Psi| and |Psi_dot| over all steps and report times; NaN where nothing was measured."""
        return {
            level: float(self.info.get(f"constraint_error_{level}", np.max(error, initial=-math.inf)))
            if len(error)
            else math.nan
            for level, error in (("position", self.error_position), ("velocity", self.error_velocity))
        }

    @property
    def status(self) -> str:
        """`finished`, `stopped`, `interrupted`, or `unmeasured`: a run is finished only with its errors known."""
        stated = str(self.info.get("status", "unmeasured"))
        measured = [*self.constraint_error.values(), *np.abs(self.drift()[-1:])]
        if stated == "finished" and not (len(self.t) and np.all(np.isfinite(measured))):
            return "unmeasured"
        return stated

    def summary(self) -> dict[str, Any]:
        """Settings, counts, final state and errors, as `linkwork run --json` prints them."""
        known = (*SETTINGS, "scene", "constraint_error_position", "constraint_error_velocity")
        rest = {k: x for k, x in self.info.items() if k not in known}
        energy = self.energy["kinetic"] + self.energy["potential"]
        any_rows = len(self.t) > 0
        summary = {
            **{key: self.info.get(key) for key in SETTINGS},
            "final": {
                "t": self.t[-1] if any_rows else None,
                "q": dict(zip(self.q_names, self.q[-1], strict=True)) if any_rows else {},
                "v": dict(zip(self.v_names, self.v[-1], strict=True)) if any_rows else {},
            },
            "constraint_error": self.constraint_error,
            "energy": {
                "initial": energy[0] if any_rows else None,
                "final": energy[-1] if any_rows else None,
                "max_drift": np.max(np.abs(self.drift()), initial=0.0) if any_rows else None,
            },
            **rest,
            "status": self.status,
        }
        result: dict[str, Any] = plain(summary)
        return result

    def dataset(self) -> xarray.Dataset:
        """The same as labelled arrays: `motion.dataset().q.sel(coordinate="crank.phi")`."""
        import xarray

        variables: dict[str, Any] = {}
        coordinates: dict[str, Any] = {}
        for name, (dimensions, values, attributes) in _variables(self).items():
            place = coordinates if name in dimensions or name.endswith("_unit") else variables
            place[name] = (dimensions, values, attributes)
        return xarray.Dataset(variables, coordinates, _attributes(self))

    def plot(self, *names: str, against: str = "t") -> Figure:
        """A figure of some quantities, by name or pattern ("*.phi"); without names, of what matters most."""
        from linkwork.view.plot import figure

        return figure(self, names, against)

    def animate(self, path: str | Path, speed: float | None = None) -> None:
        """Write the moving mechanism: an .html page to play and measure, or a film, .gif or .mp4.

        `speed` is seconds of motion per second of film.
        """
        from linkwork.view import page, picture

        if Path(path).suffix.lower() == ".html":
            page.write([self], path)
        else:
            picture.write_film(self, path, speed)

    def save(self, path: str | Path) -> None:
        """Write a netCDF-4 (.nc) or CSV (.csv) file, whole or not at all; an old file is replaced."""
        suffix = Path(path).suffix.lower()
        if suffix not in SUFFIXES:
            raise UsageError(f"cannot write '{path}': trajectories are written as .nc or .csv", "unknown-suffix")
        with whole(path) as part:
            if suffix == ".csv":
                _write_csv(self, part)
            else:
                _write_netcdf(self, part)

    @staticmethod
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

    def __repr__(self) -> str:
        until = f"t = {self.t[0]:g} to {self.t[-1]:g}" if len(self.t) else "empty"
        return f"<Trajectory of '{self.name}': {until}, {len(self.t)} rows, {self.status}>"

    def _repr_html_(self) -> str:
        from html import escape

        from linkwork.view.page import built, frame
        from linkwork.view.report import summary_lines

        rows = (
            f"<tr><th style='text-align:left'>{escape(what)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
            for what, value in summary_lines(self)
        )
        moving = frame(self) if built() and "scene" in self.info and len(self.t) else ""
        return f"{moving}<table>{''.join(rows)}</table>"


def _fixed(name: str, values: Array, shape: tuple[int, ...]) -> Array:
    """A view that cannot be written to."""
    fixed = np.asarray(values, dtype=np.float64).view()
    if fixed.shape != shape:
        raise ValueError(f"{name} has the shape {fixed.shape} in the place of {shape}")
    fixed.flags.writeable = False
    return fixed


def _dimension(kind: str) -> str:
    return DIMENSIONS.get(kind, f"{kind}_label")


def _names(kind: str, labels: Sequence[str]) -> tuple[str, ...]:
    """The names of columns, which no two columns of a trajectory share."""
    if kind in ("v", "a"):
        return tuple(rate_names(label)[kind == "a"] for label in labels)
    prefix = PREFIXES.get(kind, f"{kind}:")
    return tuple(f"{prefix}{label}" for label in labels)


def rate_names(name: str) -> tuple[str, str]:
    """The names of velocity and acceleration: crank.vx and crank.ax for crank.x."""
    owner, _, part = name.rpartition(".")
    if owner and part in RATES:
        v, a = RATES[part]
        return f"{owner}.{v}", f"{owner}.{a}"
    return f"{name}.dot", f"{name}.ddot"


def _unit(kind: str, label: str) -> str:
    """The unit of a column, as far as its name tells; `info["units"]` goes before it."""
    part = label.rpartition(".")[2]
    if kind in ("q", "v", "a"):
        return BASE_UNITS.get(part, "1") + {"q": "", "v": "/s", "a": "/s^2"}[kind]
    if kind == "points":
        return "m" + {"v": "/s", "a": "/s^2"}.get(part[0], "")
    if kind == "reactions":
        return "N m" if part.startswith("torque") else "N"
    if kind == "lam" and part != "drive":
        return "N m" if part == "angle" else "N"
    return "J" if kind == "energy" else "N or N m"


def plain(value: Any) -> Any:
    """The same in the types of JSON; numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


# Files. Both kinds hold the same: the tables, `info` as attributes, and a checksum over all of it.


def checksum(motion: Trajectory) -> str:
    """SHA-256 of names, numbers and attributes, whatever the kind of file."""
    digest = hashlib.sha256(json.dumps(_attributes(motion), sort_keys=True).encode())
    parts = {kind: (table.labels, table.values) for kind, table in motion.tables.items() if table.labels}
    parts |= {kind: ((), motion[kind]) for kind in ENDS}
    for kind, (labels, values) in sorted(parts.items()):
        digest.update(json.dumps([kind, labels, values.shape]).encode())
        # Text knows only one NaN.
        digest.update(np.where(np.isnan(values), np.nan, values).astype("<f8").tobytes())
    return digest.hexdigest()


def _attributes(motion: Trajectory) -> dict[str, Any]:
    """Numbers and texts of `info` as they are, everything else as JSON under NAME_json."""
    attributes: dict[str, Any] = {"linkwork_trajectory": FORMAT, "name": motion.name}
    for key, value in {**motion.info, "status": motion.status}.items():
        value = value.item() if isinstance(value, np.generic) else value
        # In netCDF an attribute `coordinates` means something else.
        if isinstance(value, str | int | float) and not isinstance(value, bool) and key != "coordinates":
            attributes[key] = value
        else:
            attributes[f"{key}_json"] = json.dumps(plain(value))
    return attributes


def _assembled(
    attributes: Mapping[str, Any], ends: Mapping[str, Array], found: Mapping[str, tuple[Sequence[str], Array]]
) -> Trajectory:
    """The trajectory a file holds: its attributes, the single columns ENDS, labels and columns by kind."""
    nothing: tuple[Sequence[str], Array] = ((), np.empty((len(ends["t"]), 0)))
    labels = {kind: tuple(found.get(kind, nothing)[0]) for kind in (*DIMENSIONS, *found)}
    values = {kind: found.get(kind, nothing)[1] for kind in labels}
    named = {kind: dict(zip(labels[kind], values[kind].T, strict=True)) for kind in labels}
    own = ("linkwork_trajectory", "name", "sha256")
    return Trajectory(
        name=str(attributes["name"]),
        t=ends["t"],
        q=values["q"],
        v=values["v"],
        a=values["a"],
        lam=values["lam"],
        q_names=labels["q"],
        v_names=labels["v"],
        rows=labels["lam"],
        energy=named["energy"],
        outputs={kind: columns for kind, columns in named.items() if kind not in ("q", "v", "a", "lam", "energy")},
        error_position=ends["error:position"],
        error_velocity=ends["error:velocity"],
        info={
            key.removesuffix("_json"): json.loads(value) if key.endswith("_json") else value
            for key, value in attributes.items()
            if key not in own
        },
    )


def _variables(motion: Trajectory) -> dict[str, tuple[tuple[str, ...], Any, dict[str, str]]]:
    """Name -> dimensions, values, attributes of everything a labelled file holds; empty tables are left out."""
    variables: dict[str, tuple[tuple[str, ...], Any, dict[str, str]]] = {}
    for name, variable in ENDS.items():
        values, unit = motion.quantity(name)
        variables[variable] = (("time",), values, {"units": unit})
    for kind, table in motion.tables.items():
        if table.labels:
            variables[table.dimension] = ((table.dimension,), list(table.labels), {})
            variables[f"{kind}_unit"] = ((table.dimension,), list(table.units), {})
            attributes = {"units": table.units[0]} if len(set(table.units)) == 1 else {}
            variables[kind] = (("time", table.dimension), table.values, attributes)
    return variables


def _write_netcdf(motion: Trajectory, path: Path) -> None:
    import h5netcdf
    import h5py

    try:
        with h5netcdf.File(path, "w") as file:
            for name, (dimensions, values, attributes) in _variables(motion).items():
                for dimension, size in zip(dimensions, np.shape(values), strict=True):
                    if dimension not in file.dimensions:
                        file.dimensions[dimension] = size
                text = isinstance(values, list)
                data = np.array(values, dtype=object) if text else values
                variable = file.create_variable(name, dimensions, h5py.string_dtype() if text else "<f8", data=data)
                variable.attrs.update(attributes)
                if not text and len(dimensions) == 2:
                    variable.attrs["coordinates"] = f"{name}_unit"  # by the CF conventions: it belongs to the labels
            file.attrs.update({**_attributes(motion), "sha256": checksum(motion)})
    except RuntimeError as error:  # HDF5 tells of some failed writes only when it closes the file
        raise OSError(str(error)) from error


def _read_netcdf(path: str | Path) -> tuple[Trajectory, object]:
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
        variables = [file[name] for name in (*ENDS.values(), *kinds, *(_dimension(kind) for kind in kinds))]
        for variable in variables:
            if not isinstance(variable, h5py.Dataset) or variable.is_virtual or variable.external:
                raise _refused(path, f"'{variable.name}' is not plain data")
        if sum(math.prod(variable.shape) for variable in variables) > MAX_NUMBERS:
            raise _refused(path, f"it declares more than {MAX_NUMBERS:.1e} numbers")
        ends = {name: _netcdf_numbers(file[variable]) for name, variable in ENDS.items()}
        found = {
            kind: (file[_dimension(kind)].asstr()[:].tolist(), _netcdf_numbers(file[kind], columns=True))
            for kind in kinds
        }
    return _assembled(attributes, ends, found), attributes.get("sha256")


def _netcdf_attributes(file: Any, path: str | Path) -> dict[str, Any]:
    if sum(file.attrs.get_id(name).get_storage_size() for name in file.attrs) > MAX_TEXT:
        raise _refused(path, f"its settings hold more than {MAX_TEXT} bytes")
    values = {name: file.attrs[name] for name in file.attrs if not name.startswith("_")}
    return {name: value if isinstance(value, str) else np.asarray(value).item() for name, value in values.items()}


def _netcdf_numbers(variable: Any, columns: bool = False) -> Array:
    if variable.dtype != np.dtype("<f8") or len(variable.shape) != 1 + columns:
        raise ValueError(f"'{variable.name}' holds {variable.dtype} in {len(variable.shape)} dimensions")
    values: Array = variable[...]
    return values


def _write_csv(motion: Trajectory, path: Path) -> None:
    """Line 1: "# linkwork " and the attributes as JSON; line 2: the names; then numbers with all their digits."""
    head = {
        "attributes": _attributes(motion),
        "labels": {kind: table.labels for kind, table in motion.tables.items()},
        "units": {name: quantity.unit for name, quantity in motion.quantities.items()},
        "sha256": checksum(motion),
    }
    values = np.column_stack([quantity.values for quantity in motion.quantities.values()])
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{CSV_MARK}{json.dumps(head)}\n")
        file.write(",".join(motion.quantities) + "\n")
        for row in values:
            file.write(",".join(map(repr, row.tolist())) + "\n")


def _read_csv(path: str | Path) -> tuple[Trajectory, object]:
    with open(path, encoding="utf-8") as file:
        first = file.readline(MAX_TEXT)
        if not first.startswith(CSV_MARK):
            raise _foreign(path)
        head = json.loads(first.removeprefix(CSV_MARK))
        attributes = head["attributes"]
        _check_format(attributes, path)
        names = file.readline(MAX_TEXT).rstrip("\n").split(",")
        with warnings.catch_warnings(action="ignore"):  # about a file without rows, which the shape tells too
            values = np.loadtxt(file, delimiter=",", comments=None, ndmin=2)
    if values.shape[1:] != (len(names),) or len(set(names)) != len(names):
        raise ValueError(f"{len(names)} names over {values.shape[1]} columns")
    column = dict(zip(names, values.T, strict=True))
    labels = {kind: tuple(map(str, found)) for kind, found in head["labels"].items()}
    found = {
        kind: (own, np.column_stack([column[name] for name in _names(kind, own)]))
        for kind, own in labels.items()
        if own
    }
    return _assembled(attributes, {name: column[name] for name in ENDS}, found), head["sha256"]


def _check_format(attributes: Mapping[str, Any], path: str | Path) -> None:
    version = attributes.get("linkwork_trajectory")
    if not isinstance(version, int):
        raise _foreign(path)
    if version != FORMAT:
        raise ModelError(
            f"is a trajectory of format {version}; this linkwork reads format {FORMAT}",
            "result-version",
            file=str(path),
            suggestion="read it with the linkwork that wrote it",
        )


def _foreign(path: str | Path) -> ModelError:
    return ModelError("is not a trajectory written by linkwork", "not-a-result", file=str(path))


def _refused(path: str | Path, why: str) -> ModelError:
    return ModelError(f"is refused: {why}", "result-refused", file=str(path))


def _corrupt(path: str | Path, why: str) -> ModelError:
    suggestion = "run the simulation again"
    return ModelError(f"is damaged: {why}", "result-corrupt", file=str(path), suggestion=suggestion)


@contextmanager
def _refusals(path: str | Path) -> Iterator[None]:
    """Whatever a damaged file makes the readers say becomes one clear error."""
    try:
        yield
    except LinkworkError:
        raise
    except FileNotFoundError:
        raise UsageError(f"no file '{path}'", "no-such-file") from None
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
