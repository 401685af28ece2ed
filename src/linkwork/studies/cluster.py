"""Chunks of a study on the machines of a Dask cluster.

A task is the study, as some kilobytes, and numbers of chunks; it returns their records. It has so many that the loss of
one costs the whole cluster a tenth of a second, and the scheduler meets some ten tasks a second. Machine code is made,
or found in its cache, once per worker. A worker that dies loses the chunks that it has, which others compute anew, and
a scheduler that dies nothing that is written.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from logging import CRITICAL, getLogger
from time import perf_counter
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from linkwork import __version__
from linkwork.errors import UsageError, check_extra, option
from linkwork.simulation.run import SECONDS

if TYPE_CHECKING:
    from linkwork.studies.sweep import Study


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence what Dask writes about workers that come and go."""
    handlers = getLogger("distributed").handlers
    levels = [handler.level for handler in handlers]
    for handler in handlers:
        handler.setLevel(CRITICAL)
    try:
        yield
    finally:
        for handler, level in zip(handlers, levels, strict=True):
            handler.setLevel(level)


@lru_cache(maxsize=2)
def _read(study: bytes) -> Study:
    """Read the study, and with it its machine code, of which a worker keeps the last two."""
    found: Study = pickle.loads(study)
    return found


def compute_chunks(version: str, study: bytes, numbers: Sequence[int]) -> tuple[float, list[NDArray[Any]]] | str:
    """Return how many seconds these chunks took, and their records; of a worker with another linkwork its version."""
    if version != __version__:
        return __version__
    began = perf_counter()
    records = [_read(study).compute(k) for k in numbers]
    return perf_counter() - began, records


def computed_by(address: str, study: Study, chunks: Sequence[int]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield these chunks as they come from the cluster with this scheduler."""
    check_extra("distributed")
    dask: Any = import_module("distributed")
    try:
        client = dask.Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"no scheduler of Dask answers at '{address}': {error}", "no-scheduler") from None
    with _quiet(), client:
        sent, left, given = pickle.dumps(study), [*reversed(chunks)], dict[str, list[int]]()
        name, size = sha256(sent).hexdigest(), 1

        def submit() -> list[Any]:
            """Submit a task if any chunks are left."""
            numbers = [left.pop() for _ in range(min(size, len(left)))]
            if not numbers:
                return []
            future = client.submit(compute_chunks, __version__, sent, numbers, key=f"linkwork-{name}-{numbers[0]}")
            given[future.key] = numbers
            return [future]

        threads = max(1, sum(client.nthreads().values()))
        first = [future for _ in range(2 * threads) for future in submit()]  # none is idle while results travel
        pool = dask.as_completed(first, loop=client.loop)
        for future in pool:
            try:
                found = future.result()
            except dask.KilledWorker:
                message = f"chunk {given[future.key][0]} of the study has ended every worker that began it"
                hint = "most likely for want of memory; choose longer steps between report times"
                raise UsageError(f"{message}, {hint}", "workers-die") from None
            except (dask.client.FutureCancelledError, dask.comm.CommClosedError):
                message = "the scheduler of Dask was lost; what was computed before is kept"
                raise UsageError(f"{message}, go on with {option('resume')}", "scheduler-lost") from None
            if isinstance(found, str):
                message = f"a worker has linkwork {found}, and this is {__version__}"
                raise UsageError(f"{message}; install the same version there", "other-version")
            numbers, (seconds, records) = given.pop(future.key), found
            yield from zip(numbers, records, strict=True)
            size = max(1, min(int(len(numbers) * SECONDS * threads / seconds), len(left) // (2 * threads)))
            pool.update(submit())
