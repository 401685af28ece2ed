"""Results of a study while it is computed: chunks that are there whole or not at all.

The file beside the result, RESULT.part, begins with a line that says which study it is of; then it has a byte for every
chunk and a record for every point, each at its own place. The byte of a chunk is set after its records have reached the
disk; so a study that was killed, however, goes on from there and ends with the same bits.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import UsageError
from linkwork.files import REASONS
from linkwork.studies.points import CHUNK

MAGIC = "linkwork study 1"
REASON = 40  # characters of the code of a reason
STATUSES = ("finished", "stopped", "refused")
FINISHED, STOPPED, REFUSED = range(len(STATUSES))


def record_type(n_takes: int) -> np.dtype[Any]:
    return np.dtype([("taken", "<f8", (n_takes,)), ("steps", "<i8"), ("status", "u1"), ("reason", f"S{REASON}")])


def digest_of(head: Mapping[str, Any]) -> str:
    """Return what tells a study from others, in few letters."""
    return hashlib.sha256(json.dumps(head, sort_keys=True).encode()).hexdigest()


class Journal:
    """Records of points in a file, or in memory if there is none."""

    def __init__(self, head: Mapping[str, Any], count: int, n_takes: int, path: Path | None, resume: bool) -> None:
        self.path, self.dtype = path, record_type(n_takes)
        self.done = np.zeros(-(-count // CHUNK), np.uint8)
        if path is None:
            try:
                self.records: NDArray[Any] = np.zeros(count, self.dtype)
            except MemoryError:
                message = f"{count} points are more than memory holds; name a path, or take samples"
                raise UsageError(message, "too-large") from None
            return
        self.count = count
        start = f"{MAGIC} {digest_of(head)}\n".encode()
        self.flags, self.first = len(start), len(start) + len(self.done)
        size = self.first + count * self.dtype.itemsize
        with _told(path):
            goes_on = resume and path.exists()
            self.file = os.open(path, os.O_RDWR | (0 if goes_on else os.O_CREAT | os.O_TRUNC), 0o666)
            if not goes_on:
                os.pwrite(self.file, start, 0)
                try:
                    os.ftruncate(self.file, size)
                except OSError:
                    path.unlink()  # from what is not whole nothing goes on
                    raise
            elif os.fstat(self.file).st_size != size or os.pread(self.file, len(start), 0) != start:
                message = f"'{path}' is of another study: other values, takes, options or another version"
                raise UsageError(f"{message}; name another result, or begin anew without resuming", "other-study")
            self.done[:] = np.frombuffer(os.pread(self.file, len(self.done), self.flags), np.uint8)

    def missing(self) -> list[int]:
        """Return the chunks that are still to be computed."""
        return np.flatnonzero(self.done == 0).tolist()

    def keep(self, k: int, records: NDArray[Any]) -> None:
        """Write the records of a chunk; they are on disk before they count as done."""
        if self.path is None:
            self.records[k * CHUNK : k * CHUNK + len(records)] = records
        else:
            with _told(self.path):
                data, at = records.tobytes(), self.first + k * CHUNK * self.dtype.itemsize
                while data:  # a disk that is nearly full takes a part
                    written = os.pwrite(self.file, data, at)
                    data, at = data[written:], at + written
                os.fsync(self.file)
                os.pwrite(self.file, b"\x01", self.flags + k)
        self.done[k] = 1

    def read(self, first: int, last: int) -> NDArray[Any]:
        """The records of the points of these numbers; of a file no more than these are in memory."""
        if self.path is None:
            return self.records[first:last]
        size = self.dtype.itemsize
        with _told(self.path):
            return np.frombuffer(os.pread(self.file, (last - first) * size, self.first + first * size), self.dtype)

    def close(self) -> None:
        if self.path is not None:
            os.close(self.file)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Raise UsageError where the file cannot be written."""
    try:
        yield
    except OSError as error:
        code, reason = REASONS.get(error.errno or 0, ("output-failed", error.strerror or str(error)))
        raise UsageError(f"cannot write '{path}': {reason}; what was computed before is kept", code) from error
