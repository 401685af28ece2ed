"""What was found at the points of a study, as a dataset and as a netCDF file, which may be larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import ModelError, check_extra, checked_call
from linkwork.files import no_file, whole
from linkwork.studies.journal import STATUSES
from linkwork.studies.points import CHUNK, Points, Values

if TYPE_CHECKING:
    import xarray

KIND = "study"  # what the file says that it holds
SIGNATURE = b"\x89HDF\r\n\x1a\n"


@dataclass(frozen=True)
class Table:
    """Records of all points, with what was taken of them and in which units."""

    points: Points
    takes: Sequence[str]
    units: Sequence[str]
    read: Callable[[int, int], NDArray[Any]]  # the records of the points of these numbers
    about: Mapping[str, str]

    @property
    def sizes(self) -> dict[str, int]:
        """Dimensions and their lengths: of a grid one for every parameter."""
        if self.points.sampler:
            return {"point": self.points.count}
        return dict(zip(self.points.names, self.points.shape, strict=True))

    @property
    def attributes(self) -> dict[str, str]:
        return {**self.about, "kind": KIND, "varied": ", ".join(self.points.names)}

    @property
    def grid(self) -> dict[str, NDArray[np.float64]]:
        """The values of the parameters of a grid."""
        axes = {} if self.points.sampler else self.points.axes
        return {name: axis.pick(np.arange(len(axis))) for name, axis in axes.items() if isinstance(axis, Values)}

    def columns(self, first: int, last: int) -> Iterator[tuple[str, NDArray[Any]]]:
        """Return every variable at the points of these numbers, which are those of a chunk."""
        records = self.read(first, last)
        for j, take in enumerate(self.takes):
            yield take, records["taken"][:, j]
        for name in ("status", "reason", "steps"):
            yield name, records[name]
        if self.points.sampler:
            rows = np.concatenate([self.points.chunk(k) for k in range(first // CHUNK, -(-last // CHUNK))])
            yield from zip(self.points.names, rows.T, strict=True)

    def as_dataset(self) -> xarray.Dataset:
        import xarray

        dimensions, shape = tuple(self.sizes), tuple(self.sizes.values())
        found = {name: (dimensions, x.reshape(shape)) for name, x in self.columns(0, self.points.count)}
        data = xarray.Dataset(found, {name: (name, x) for name, x in self.grid.items()}, self.attributes)
        for take, unit in zip(self.takes, self.units, strict=True):
            data[take].attrs["units"] = unit
        return _readable(data)


def _readable(data: xarray.Dataset) -> xarray.Dataset:
    """Return it with status and reason as text, and the parameters of samples as coordinates."""
    for name in ("status", "reason"):
        data[name] = (data[name].dims, as_text(data[name].values))
    return _with_coordinates(data)


def as_text(values: NDArray[Any]) -> NDArray[Any]:
    """Return the words of statuses or reasons, each of them once in memory."""
    if values.dtype.kind == "O":
        return values
    found, which = np.unique(values, return_inverse=True)
    words = [STATUSES[x] if values.dtype.kind == "u" else bytes(x).decode() for x in found.tolist()]
    return np.array(words, dtype=object)[which.reshape(values.shape)]


def _with_coordinates(data: xarray.Dataset) -> xarray.Dataset:
    return data.set_coords([name for name in data.attrs["varied"].split(", ") if name in data.data_vars])


def write_study(table: Table, path: Path) -> None:
    """Write the results chunk by chunk, so that memory does not grow with their number."""
    import h5netcdf
    import h5py

    count, shape = table.points.count, tuple(table.sizes.values())
    units = dict(zip(table.takes, table.units, strict=True))
    stored = {name: f"take_{k}" if name in units else name for k, (name, _) in enumerate(table.columns(0, 1))}
    with whole(path) as part:
        with h5netcdf.File(part, "w", locking=False) as file:
            file.dimensions = table.sizes
            file.attrs.update(table.attributes)
            for name, values in table.grid.items():
                file.create_variable(name, (name,), data=values)
            for name, values in table.columns(0, 1):
                variable = file.create_variable(stored[name], tuple(table.sizes), dtype=values.dtype)
                if name in units:
                    variable.attrs.update({"take": name, "units": units[name]})
        with h5py.File(part, "r+", locking=False) as plain:  # of which any part can be written
            for first in range(0, count, CHUNK):
                for name, values in table.columns(first, min(first + CHUNK, count)):
                    put(plain[stored[name]], shape, first, values)


def put(dataset: Any, shape: tuple[int, ...], first: int, values: NDArray[Any]) -> None:
    """Write values of points that follow each other, the last parameter changing fastest."""
    if len(shape) == 1:
        dataset[first : first + len(values)] = values
        return
    row, done = shape[-1], 0
    while done < len(values):
        at = np.unravel_index(first + done, shape)
        n = min(row - int(at[-1]), len(values) - done)
        dataset[(*map(int, at[:-1]), slice(int(at[-1]), int(at[-1]) + n))] = values[done : done + n]
        done += n


def is_study(path: Path) -> bool:
    """Whether a file holds the results of a study."""
    if not path.is_file():
        return False
    with open(path, "rb") as stream:
        if stream.read(len(SIGNATURE)) != SIGNATURE:
            return False
    check_extra("h5py")
    import h5py

    try:
        with h5py.File(path, "r") as file:
            return bool(file.attrs.get("kind") == KIND)
    except OSError:
        return False


@checked_call()
def load_study(path: str | Path) -> xarray.Dataset:
    """Load the results of a study from its file."""
    with open_study(path) as study:
        return _readable(study.load())


@contextmanager
def open_study(path: str | Path) -> Iterator[xarray.Dataset]:
    """Open the file of a study: what is asked for is read then, and status and reason are as they are stored."""
    check_extra("h5netcdf")
    import h5py
    import xarray

    if not Path(path).is_file():
        raise no_file(path)
    if not is_study(Path(path)):
        raise ModelError(f"'{path}' holds no results of a sweep", "not-a-study")
    with h5py.File(path, "r") as file:  # nothing is opened before all of it is known to lie in this file
        for name in file:
            if (
                not isinstance(file.get(name, getlink=True), h5py.HardLink)
                or file[name].is_virtual
                or file[name].external
            ):
                raise ModelError(f"'{path}': '{name}' is not plain data of this file", "not-a-study")
    with xarray.open_dataset(path, engine="h5netcdf", cache=False) as data:
        names = {
            name: variable.attrs.pop("take") for name, variable in data.data_vars.items() if "take" in variable.attrs
        }
        yield _with_coordinates(data.rename(names))
