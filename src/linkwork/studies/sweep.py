"""Sweeps: a mechanism at many points of its parameters.

Every point is a motion, of which some numbers are taken, many at a time by machine code. One that stops or cannot be
assembled is a row with its reason. Chunks of points are shared out to processes as they come; what is found does not
depend on how many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwork import __version__
from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.equations.identity import digest, identify
from linkwork.errors import UsageError, check_extra, checked_call
from linkwork.model import Model
from linkwork.studies.batch import Batch
from linkwork.studies.cluster import computed_by
from linkwork.studies.journal import Journal, digest_of
from linkwork.studies.points import CHUNK, Given, Points, read_points
from linkwork.studies.table import Table, load_study, open_study, write_study
from linkwork.studies.taking import read_take
from linkwork.studies.trial import Trial

if TYPE_CHECKING:
    import xarray

Array = NDArray[np.float64]
Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Study:
    """What is computed at every point."""

    batch: Batch
    points: Points

    @property
    def trial(self) -> Trial:
        return self.batch.trial

    def compute(self, k: int) -> NDArray[Any]:
        """Return the records of a chunk."""
        values, size = self.points.chunk(k), self.batch.size
        blocks = [self.batch.compute(values[first : first + size]) for first in range(0, len(values), size)]
        return np.concatenate([block.records for block in blocks])

    @property
    def head(self) -> dict[str, Any]:
        """What tells this study from others."""
        mechanism = self.trial.mechanism
        model = mechanism.unplaced or mechanism.model
        return {
            "linkwork": __version__,
            "model": identify(model),
            "settings": digest(model.simulation),
            "functions": repr((model.functions, [event.callback for event in model.events])),  # of this process
            "axes": repr(dict(self.points.axes)),
            "sample": [self.points.sampler, self.points.count, self.points.seed],
            "take": [take.text for take in self.trial.takes],
            "kinematics": self.trial.is_driven,
            "options": repr(sorted(self.trial.options.items())),
        }

    @property
    def about(self) -> dict[str, str]:
        analysis = "kinematics" if self.trial.is_driven else "simulation"
        name = self.trial.mechanism.model.name
        return {"linkwork": __version__, "model": name, "analysis": analysis, "study": digest_of(self.head)}


_study: Study  # of a worker process


def _begin(study: Study) -> None:
    global _study
    _study = study


def _compute(k: int) -> tuple[int, NDArray[Any]]:
    return k, _study.compute(k)


@checked_call()
def sweep(
    model: Model | Mechanism,
    vary: Mapping[str, Given],
    take: Sequence[str] | str,
    *,
    sample: str | None = None,
    seed: int = 0,
    driven: bool = False,
    workers: int = 1,
    dask: str | None = None,
    path: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> xarray.Dataset:
    """Take numbers of the motion of a mechanism at many points of its parameters.

        sweep(model, {"l1": "0.6:1.4:9", "omega": [1, 2, 3]}, ["max(abs(driving:motor))", "final(crank.phi)"])

    - `vary`: values of parameters by name, an array or a text, "0.6:1.4:9" or "1,2,3"; with `sample` also ranges
      "0.6:1.4" and normal distributions "0.8 +- 0.01".
    - `take`: reductions first, final, max, min, range, mean, rms, integral of formulas of results; time and count of
      events.
    - `sample`: "sobol:4096", "lhs:500" or "random:1000" points in the place of all combinations; `seed` has others.
    - `driven`: the motion that drivers prescribe, as `kinematics` has it; else that of `simulate`.
    - `workers`: processes that share the points; `dask`: or the workers of a cluster, by the address of its scheduler.
    - `path`: a netCDF file; until it is written, chunks of points are kept in PATH.part, from where `resume` goes on.
    - `options` are those of `simulate` or `kinematics`.

    The dataset has a dimension for every parameter, or `point` of samples, a variable for each take, and `status`,
    `reason` and `steps` of each point. What a point that did not finish would have is NaN.
    """
    given: Any = {"sample": sample, "seed": seed, "driven": driven, "workers": workers, "dask": dask, "resume": resume}
    table = carry_out(model, vary, take, path=path, progress=progress, **given, **options)
    if path is not None:
        return load_study(path)
    assert table is not None
    return table.as_dataset()


def carry_out(
    model: Model | Mechanism,
    vary: Mapping[str, Given],
    take: Sequence[str] | str,
    *,
    sample: str | None = None,
    seed: int = 0,
    driven: bool = False,
    workers: int = 1,
    dask: str | None = None,
    path: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Table | None:
    """Compute what `sweep` does; with a path all is in that file, and memory does not grow with the points."""
    for package in ("xarray",) if path is None else ("xarray", "h5py", "h5netcdf"):
        check_extra(package)
    texts = [take] if isinstance(take, str) else list(take)
    if not texts:
        raise UsageError("nothing is taken of the motions; write for example take=['final(crank.phi)']", "no-effect")
    if len(set(texts)) < len(texts):
        raise UsageError("something is taken twice", "bad-take")
    mechanism = prepare(model, options.pop("coordinates", None))
    points = read_points(vary, sample, seed, mechanism.model.parameter_units)
    takes = tuple(map(read_take, texts))
    trial = Trial(mechanism, takes, driven, options)
    for name in points.names:
        trial.is_parameter(name)
    first = trial.first([{}, *(dict(zip(points.names, row, strict=True)) for row in points.chunk(0)[:3].tolist())])
    units, study = trial.check_takes(first), Study(Batch.of(trial, points.names, first), points)
    target = None if path is None else Path(path)
    part = None if target is None else target.with_name(f"{target.name}.part")
    if target is not None and part is not None and resume and target.exists() and not part.exists():
        with open_study(target) as whole:
            if whole.attrs.get("study") != study.about["study"]:
                raise UsageError(f"'{target}' has the results of another study; name another file", "other-study")
        return None
    kept = Journal(study.head, points.count, len(takes), part, resume)
    table = Table(points, [take.text for take in takes], units, kept.read, study.about)
    try:
        chunks = kept.missing()
        for k, records in computed_by(dask, study, chunks) if dask else computed(study, chunks, workers):
            kept.keep(k, records)
            if progress is not None:
                done = int(kept.done.sum())
                progress(done / points.chunks, f"{min(done * CHUNK, points.count)} of {points.count} points")
        if target is None:
            return table
        write_study(table, target)
    finally:
        kept.close()
    assert part is not None
    part.unlink()
    return None


def computed(study: Study, chunks: Sequence[int], workers: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield these chunks as they come."""
    if workers < 1:
        raise UsageError(f"{workers} is not a number of workers", "bad-value")
    if workers == 1 or len(chunks) < 2:
        for k in chunks:
            yield k, study.compute(k)
        return
    with get_context("spawn").Pool(min(workers, len(chunks)), _begin, (study,)) as pool:
        yield from pool.imap_unordered(_compute, chunks)
