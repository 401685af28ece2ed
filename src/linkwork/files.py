"""Writing files whole or not at all, and one at a time."""

from __future__ import annotations

import difflib
import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from linkwork.errors import UsageError

try:
    import fcntl
except ImportError:  # Windows has no such locks, and lets no file be replaced that is open
    fcntl = None  # type: ignore[assignment]

REASONS = {
    errno.ENOSPC: ("disk-full", "no space is left there"),
    errno.EDQUOT: ("disk-full", "the quota is used up"),
    errno.EFBIG: ("disk-full", "files of this size are not allowed there"),
    errno.EROFS: ("output-read-only", "the file system is read-only"),
    errno.EACCES: ("output-read-only", "no permission to write there"),
    errno.EPERM: ("output-read-only", "no permission to write there"),
    errno.ENOENT: ("output-no-folder", "the folder does not exist"),
    errno.ENOTDIR: ("output-no-folder", "what should be its folder is a file"),
    errno.ELOOP: ("output-bad-name", "its symbolic links lead in a circle"),
    errno.ENAMETOOLONG: ("output-bad-name", "the name is too long"),
}


@contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """Return a temporary file beside `path` that takes its place when the block ends without an error.

    The temporary name has the same suffix, because writers choose their format by it. Until the exchange, which is one
    atomic step, an old file at `path` stays as it is; after an error the temporary file is removed. What writers that
    were killed have left there is removed too.

        with whole("motion.csv") as part:
            part.write_text(...)
    """
    try:
        target = Path(os.path.realpath(path))
        mode = _writable(target, str(path))
        part = target.with_name(f".{target.stem[:80]}.{secrets.token_hex(4)}{target.suffix[:20]}")
        _clear(target)
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        try:
            if not _lock(descriptor):
                os.close(descriptor)
                descriptor = -1
            yield part
            with open(part, "r+b") as written:  # Windows writes through only what is open for writing
                os.fsync(written.fileno())
            if mode is not None:
                part.chmod(mode)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
            if descriptor >= 0:
                os.close(descriptor)
    except OSError as error:
        code, reason = REASONS.get(error.errno or 0, ("output-failed", error.strerror or str(error)))
        raise UsageError(f"cannot write '{path}': {reason}; nothing was changed", code) from error


def _lock(descriptor: int) -> bool:
    """Tell whether this process has the file for itself until it closes it or ends."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody else has it, or the file system knows no locks
        return False
    return True


def _clear(target: Path) -> None:
    """Remove the temporary files of writers that were killed: nobody holds their locks."""
    start, end = f".{target.stem[:80]}.", target.suffix[:20]
    for entry in os.scandir(target.parent) if fcntl is not None else ():
        if re.fullmatch(re.escape(start) + "[0-9a-f]{8}" + re.escape(end), entry.name) and entry.is_file():
            with suppress(OSError), open(entry.path, "r+b") as remains:
                if _lock(remains.fileno()):
                    os.unlink(entry.path)


@contextmanager
def locked(path: str | Path) -> Iterator[None]:
    """Lock `path` against other writers until the block ends; raise UsageError if somebody else writes it.

    The lock is one of the system on a file beside `path`, which holds the owner's number and the time. It goes with its
    owner, however that ends; where there are no such locks nothing is done.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name[:200]}.lock")
    descriptor = _own(beside, str(path)) if fcntl is not None else None
    try:
        yield
    finally:
        if descriptor is not None:
            beside.unlink(missing_ok=True)
            os.close(descriptor)


def _own(beside: Path, shown: str) -> int | None:
    """Return the open lock file, or None if there can be none; UsageError if somebody else has it."""
    try:
        # A symbolic link in its place would have another file overwritten.
        descriptor = os.open(beside, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o666)
    except OSError:  # writing there will say why that cannot be
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(descriptor), os.stat(beside)):
            raise FileNotFoundError  # its owner has removed it meanwhile
        os.truncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} since {time.strftime('%Y-%m-%d %H:%M:%S')}".encode())
    except BlockingIOError:
        owner = os.read(descriptor, 100).decode(errors="replace") or "somebody else"
        os.close(descriptor)
        message = f"'{shown}' is being written by {owner}; wait for it, or choose another name"
        raise UsageError(message, "output-in-use") from None
    except FileNotFoundError:
        os.close(descriptor)
        return _own(beside, shown)
    except OSError:  # a file system without locks
        os.close(descriptor)
        return None
    return descriptor


def _writable(target: Path, shown: str) -> int | None:
    """Return the permissions of the file to be replaced, None if there is none; an error if it must not be replaced."""
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


def no_file(path: str | Path) -> UsageError:
    """Return the error for a missing file, with the file of its kind in the folder that has the nearest name."""
    wanted, stems = Path(path), list[str]()
    with suppress(OSError):
        stems = sorted(Path(name).stem for name in os.listdir(wanted.parent) if Path(name).suffix == wanted.suffix)
    near = difflib.get_close_matches(wanted.stem, stems, n=1)
    hint = f"; did you mean '{wanted.with_name(near[0] + wanted.suffix)}'?" if near else ""
    return UsageError(f"no file '{path}'{hint}", "no-such-file")


def write_text(path: str | Path, text: str) -> None:
    """Write a text file in UTF-8 with "\\n" line ends, whole or not at all."""
    with whole(path) as part:
        part.write_bytes(text.encode())


def write_texts(folder: Path, texts: Mapping[str, str]) -> Path:
    """Write files into a folder, which is made if there is none; each is whole or as it was."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        code, reason = REASONS.get(error.errno or 0, ("output-failed", error.strerror))
        raise UsageError(f"cannot write '{folder}': {reason}", code) from None
    for name, text in texts.items():
        write_text(folder / name, text)
    return folder
