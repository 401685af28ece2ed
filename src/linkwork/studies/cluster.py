"""Chunks of a study on the machines of a Dask cluster.

A task is the study, as some kilobytes, and the number of a chunk; it returns the records of that chunk. Machine code
is made, or found in its cache, once per worker. A worker that dies loses the chunks that it has, which others compute
anew, and a scheduler that dies nothing that is written.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from itertools import islice
from logging import CRITICAL, getLogger
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from linkwork import __version__
from linkwork.errors import UsageError, check_extra, option

if TYPE_CHECKING:
    from linkwork.studies.sweep import Study


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what Dask writes about workers that come and go."""
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
    """The study, and with it its machine code, of which a worker keeps the last two."""
    found: Study = pickle.loads(study)
    return found


def compute_chunk(version: str, study: bytes, k: int) -> NDArray[Any] | str:
    """The records of a chunk; of a worker with another version of linkwork that version."""
    return _read(study).compute(k) if version == __version__ else __version__


def computed_by(address: str, study: Study, chunks: Sequence[int]) -> Iterator[tuple[int, NDArray[Any]]]:
    """These chunks as they come from the cluster with this scheduler."""
    check_extra("distributed")
    dask: Any = import_module("distributed")
    try:
        client = dask.Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"no scheduler of Dask answers at '{address}': {error}", "no-scheduler") from None
    with _quiet(), client:
        sent, waiting, numbers = pickle.dumps(study), iter(chunks), dict[Any, int]()
        name = f"linkwork-{sha256(sent).hexdigest()}"

        def submit(count: int) -> list[Any]:
            futures = []
            for k in islice(waiting, count):
                futures.append(client.submit(compute_chunk, __version__, sent, k, key=f"{name}-{k}"))
                numbers[futures[-1].key] = k
            return futures

        threads = max(1, sum(client.nthreads().values()))
        pool = dask.as_completed(submit(2 * threads), loop=client.loop)  # none is idle while results travel
        for future in pool:
            try:
                records = future.result()
            except dask.KilledWorker:
                k = numbers[future.key]
                message = f"chunk {k} of the study has ended every worker that began it, most likely for want of memory"
                raise UsageError(f"{message}; choose longer steps between report times", "workers-die") from None
            except (dask.client.FutureCancelledError, dask.comm.CommClosedError):
                message = "the scheduler of Dask was lost; what was computed before is kept"
                raise UsageError(f"{message}, go on with {option('resume')}", "scheduler-lost") from None
            if isinstance(records, str):
                message = f"a worker has linkwork {records}, and this is {__version__}"
                raise UsageError(f"{message}; install the same version there", "other-version")
            yield numbers.pop(future.key), records
            pool.update(submit(1))
