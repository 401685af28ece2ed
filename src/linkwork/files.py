"""Writing files whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from linkwork.errors import UsageError

REASONS = {
    errno.ENOSPC: ("disk-full", "no space is left there"),
    errno.EDQUOT: ("disk-full", "the quota is used up"),
    errno.EFBIG: ("disk-full", "files of this size are not allowed there"),
    errno.EROFS: ("output-read-only", "the file system is read-only"),
    errno.EACCES: ("output-read-only", "no permission to write there"),
    errno.EPERM: ("output-read-only", "no permission to write there"),
    errno.ENOENT: ("output-no-folder", "the folder does not exist"),
    errno.ENOTDIR: ("output-no-folder", "what should be its folder is a file"),
    errno.ENAMETOOLONG: ("output-bad-name", "the name is too long"),
}


@contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place when the block ends without an error.

    The temporary name has the same suffix, because writers choose their format by it. Until the exchange, which is one
    atomic step, an old file at `path` stays as it is; after an error the temporary file is removed.

        with whole("motion.csv") as part:
            part.write_text(...)
    """
    try:
        target = Path(path).resolve()
        mode = _writable(target, str(path))
        part = target.with_name(f".{target.stem[:80]}.{secrets.token_hex(4)}{target.suffix[:20]}")
        try:
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            yield part
            with open(part, "r+b") as written:  # Windows writes through only what is open for writing
                os.fsync(written.fileno())
            if mode is not None:
                part.chmod(mode)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        code, reason = REASONS.get(error.errno or 0, ("output-failed", error.strerror or str(error)))
        raise UsageError(f"cannot write '{path}': {reason}; nothing was changed", code) from error


def _writable(target: Path, shown: str) -> int | None:
    """The permissions of the file to be replaced, None if there is none; an error if it must not be replaced."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise UsageError(f"cannot write '{shown}': it is a folder; give the name of a file in it", "output-is-folder")
    if not stat.S_ISREG(mode):
        raise UsageError(f"cannot write '{shown}': it is not a regular file", "output-not-a-file")
    # Replacing needs only the folder's permission, but a read-only file is meant to stay.
    if not mode & stat.S_IWUSR or not os.access(target, os.W_OK):
        raise UsageError(f"cannot write '{shown}': the file is read-only", "output-read-only")
    return stat.S_IMODE(mode)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file in UTF-8 with "\\n" line ends, whole or not at all."""
    with whole(path) as part:
        part.write_bytes(text.encode())
