"""Object code on disk, so that a mechanism is compiled once per machine and not once per process.

An entry is a file named by the hash of its key, holding

    magic (16 bytes) | key (32 bytes) | checksum of the code (32 bytes) | code

Whatever does not match is treated as absent and written anew. Entries are machine code that will be executed, so a
directory or an entry that somebody else owns or may write is not trusted: nothing is read or written there then.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from threading import local
from time import perf_counter

MAGIC = b"linkwork object1"
DIGEST = 32  # bytes of a checksum: two entries do not share one by chance
SUFFIX = ".linkwork"
LIMIT = 256 * 2**20  # bytes kept on disk, and a little more; the entries unused for longest go first
TRIMMED = 16  # of so many entries written, one has the cache looked through

_spent = local()


def directory() -> Path:
    """Return the directory $LINKWORK_CACHE_DIR, or the user's cache directory of the platform."""
    if chosen := os.environ.get("LINKWORK_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "linkwork"


def seconds() -> float:
    """Return how long this thread has waited for object code that was not yet stored."""
    return float(getattr(_spent, "seconds", 0.0))


def cached(key_parts: Iterable[str | bytes], make: Callable[[], bytes]) -> bytes:
    """Return the object code stored under `key_parts`, made by `make` and stored if there is none."""

    def build() -> bytes:
        began = perf_counter()
        code = make()
        _spent.seconds = seconds() + perf_counter() - began
        return code

    key = digest(key_parts)
    try:
        folder = directory()
    except RuntimeError:  # a user without a home directory
        return build()
    if not _trusted(folder):
        _warn(folder)
        return build()
    path = folder / (key.hex() + SUFFIX)
    code = _read(path, key)
    if code is None:
        code = build()
        _write(path, key, code)
    return code


def _private(path: Path) -> bool:
    """Return whether nobody but this user, and the administrator, can have written what is there."""
    if sys.platform == "win32":  # where the directories of a user are closed to others
        return True
    status = path.stat()
    return status.st_uid in (os.getuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _trusted(folder: Path) -> bool:
    try:
        return _private(folder)
    except OSError:  # not there yet, or out of reach, so that nothing is read
        return True


@lru_cache
def _warn(folder: Path) -> None:
    """Say it once."""
    print(
        f"linkwork: compiled code is not kept in '{folder}', because others may write there; "
        "close it to them (chmod go-w) or choose another with LINKWORK_CACHE_DIR",
        file=sys.stderr,
    )


def digest(parts: Iterable[str | bytes]) -> bytes:
    hasher = blake2b(digest_size=DIGEST)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        hasher.update(len(data).to_bytes(8, "little"))  # else ("ab", "c") and ("a", "bc") would be one key
        hasher.update(data)
    return hasher.digest()


def _checksum(code: bytes) -> bytes:
    return blake2b(code, digest_size=DIGEST).digest()


def _read(path: Path, key: bytes) -> bytes | None:
    try:
        if not _private(path):
            return None
        entry = path.read_bytes()
    except OSError:
        return None
    head = MAGIC + key
    code = entry[len(head) + DIGEST :]
    if entry[: len(head) + DIGEST] != head + _checksum(code):
        return None
    with suppress(OSError):  # a cache that may only be read still serves
        os.utime(path)
    return code


def _write(path: Path, key: bytes, code: bytes) -> None:
    temporary = path.with_name(f"{path.stem}.{os.getpid()}.{os.urandom(4).hex()}{SUFFIX}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(MAGIC + key + _checksum(code) + code)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        if key[0] % TRIMMED == 0:  # looking through a full cache takes as long as compiling something small
            _trim(path.parent)
    except OSError:  # nowhere to write: the code is compiled again next time
        pass


def _trim(folder: Path) -> None:
    files = sorted(((f, f.stat()) for f in folder.glob("*" + SUFFIX)), key=lambda item: item[1].st_mtime, reverse=True)
    total = 0
    for file, status in files:
        total += status.st_size
        if total > LIMIT:
            file.unlink(missing_ok=True)
