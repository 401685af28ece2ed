"""Machine code from Python functions, and its cache on disk."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from linkwork.native import cache, kernels, machine
from linkwork.native.kernels import Pointer, call, integer, kernel, offset, size_of, take

HALF = 0.5


def mean(a: float, b: float) -> float:
    return HALF * (a + b)


@kernel
def smooth(x: Pointer, n: int, factor: float, y: Pointer) -> int:
    """y_i = factor sin(mean of two neighbours)"""
    for i in range(n - 1):
        y[i] = factor * math.sin(mean(x[i], x[i + 1]))
    return n - 1


@kernel
def hypotenuse(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    w[0] = x[0] * x[0] + x[1] * x[1]
    y[0] = p[0] * math.sqrt(w[0])


@kernel
def every_hypotenuse(f: int, x: Pointer, p: Pointer, y: Pointer, w: Pointer, n: int) -> None:
    for i in range(n):
        call(f, offset(x, 2 * i), p, offset(y, i), w)


def test_a_kernel_computes_what_its_source_says() -> None:
    x, y = np.array([0.3, -1.2, 2.5, 0.7]), np.zeros(3)
    assert smooth(x, 4, 1.7, y) == 3
    np.testing.assert_allclose(y, 1.7 * np.sin((x[:-1] + x[1:]) / 2), rtol=1e-15)


def test_a_kernel_calls_machine_code_by_address() -> None:
    x, p, w = np.array([3.0, 4.0, 5.0, 12.0, 8.0, 15.0]), np.array([2.0]), np.zeros(1)
    native, interpreted = np.zeros(3), np.zeros(3)
    every_hypotenuse(hypotenuse.address, x, p, native, w, 3)
    every_hypotenuse.python(hypotenuse.address, x, p, interpreted, w, 3)
    assert native.tolist() == interpreted.tolist() == [10.0, 26.0, 34.0]


class Places(NamedTuple):
    squares: Pointer
    sums: Pointer
    rest: Pointer


def places(w: Pointer, n: int) -> Places:
    squares, w = take(w, n)
    sums, w = take(w, n + 1)
    return Places(squares, sums, w)


@kernel
def sum_squares(n: int, x: Pointer, w: Pointer) -> int:
    """Running sums of x_i^2, with the integer that stands behind x as their start."""
    at = places(w, n)
    at.sums[0] = float(integer(x, n))
    for i in range(n):
        at.squares[i] = x[i] * x[i]
        at.sums[i + 1] = at.sums[i] + at.squares[i]
    return int(at.sums[n])


def test_memory_is_described_once_by_the_function_that_takes_it_apart() -> None:
    """Machine code and Python find the same places in memory of exactly the size that `size_of` tells."""
    x = np.array([3.0, 4.0, 12.0, 0.0])
    x[3:].view(np.int64)[0] = 2**62 + 1  # no double holds this number
    assert integer(x, 3) == 2**62 + 1
    x[3:].view(np.int64)[0] = 7
    size = size_of(places, 3)
    assert size == 7
    native, stepped = np.zeros(size), np.zeros(size)
    assert sum_squares(3, x, native) == sum_squares.python(3, x, stepped) == 7 + 169
    assert native.tolist() == stepped.tolist() == [9.0, 16.0, 144.0, 7.0, 16.0, 32.0, 176.0]
    with pytest.raises(IndexError):
        sum_squares.python(3, x, np.zeros(size - 1))


def test_arrays_of_another_kind_are_refused() -> None:
    x = np.arange(8.0)
    arrays: list[Any] = [x.astype(np.float32), x[::2], np.arange(8)]
    for wrong in arrays:
        with pytest.raises(TypeError, match="contiguous"):
            smooth(wrong, 4, 1.0, np.zeros(3))


@kernel
def raising(x: Pointer) -> int:
    if x[0] < 0.0:
        raise ValueError
    return 1


@kernel
def printing(x: Pointer) -> None:
    print(x[0])


TABLE = [1.0, 2.0]


@kernel
def reading_a_list(x: Pointer) -> None:
    x[0] = TABLE[1]


@pytest.mark.parametrize(
    ("faulty", "message"),
    [
        (raising, "kernel raising needs an_exception"),
        (printing, "kernel printing needs .*numba_gil"),
        (reading_a_list, "'TABLE'"),
    ],
)
def test_a_kernel_that_cannot_stand_alone_says_what_it_needs(faulty: kernels.Kernel, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        _ = faulty.address


def test_content_of_a_kernel_includes_its_constants_and_what_it_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    before = kernels._content(smooth.python)
    monkeypatch.setitem(globals(), "HALF", 0.25)
    assert kernels._content(smooth.python) != before
    monkeypatch.undo()
    assert kernels._content(smooth.python) == before
    monkeypatch.setitem(globals(), "mean", max)
    with pytest.raises(TypeError, match="'mean'"):
        kernels._content(smooth.python)


IR = """
define void @twice(ptr %x, ptr %p, ptr %y, ptr %w) {
  %a = load double, ptr %x
  %b = fadd double %a, %a
  store double %b, ptr %y
  ret void
}
"""


def test_llvm_text_becomes_a_function() -> None:
    addresses = machine.load(machine.assemble(IR, opt=1), ["twice"])
    x, y = np.array([1.25]), np.zeros(1)
    call(addresses["twice"], x, x, y, x)
    assert y[0] == 2.5


def test_a_missing_function_is_named() -> None:
    with pytest.raises(KeyError, match="thrice"):
        machine.load(machine.assemble(IR, opt=1), ["twice", "thrice"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def builder(code: bytes) -> tuple[Callable[[], bytes], list[int]]:
    calls: list[int] = []

    def build() -> bytes:
        calls.append(1)
        return code

    return build, calls


def test_code_is_built_once(folder: Path) -> None:
    build, calls = builder(b"machine code")
    assert cache.cached(["a", b"b"], build) == cache.cached(["a", b"b"], build) == b"machine code"
    assert len(calls) == 1
    assert len(list(folder.iterdir())) == 1


def test_keys_differ_where_their_parts_differ(folder: Path) -> None:
    build, calls = builder(b"x")
    for parts in (["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""]):
        cache.cached(parts, build)
    assert len(calls) == 4


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "append", "foreign"])
def test_a_damaged_entry_is_ignored_and_rewritten(folder: Path, damage: str) -> None:
    build, calls = builder(bytes(range(256)))
    cache.cached(["key"], build)
    (path,) = folder.iterdir()
    good = path.read_bytes()
    flipped = bytearray(good)
    flipped[-7] ^= 1
    foreign = good.replace(cache._key(["key"]), cache._key(["another key"]))
    bad = {"flip": bytes(flipped), "truncate": good[:-1], "empty": b"", "append": good + b"\0", "foreign": foreign}
    path.write_bytes(bad[damage])
    assert cache.cached(["key"], build) == bytes(range(256))
    assert len(calls) == 2
    assert path.read_bytes() == good


def test_a_directory_that_cannot_be_written_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path / "file" / "cache"))
    build, calls = builder(b"code")
    assert cache.cached(["key"], build) == cache.cached(["key"], build) == b"code"
    assert len(calls) == 2


def test_a_read_only_directory_serves_what_it_has(folder: Path) -> None:
    build, calls = builder(b"code")
    cache.cached(["old"], build)
    folder.chmod(0o500)
    try:
        assert cache.cached(["old"], build) == cache.cached(["new"], build) == b"code"
    finally:
        folder.chmod(0o700)
    assert len(calls) == 2


def test_the_entries_unused_for_longest_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build, _ = builder(bytes(1000))
    for name in "abcd":
        cache.cached([name], build)
    for age, name in enumerate("acbd"):
        os.utime(folder / (cache._key([name]).hex() + cache.SUFFIX), (1000 - age, 1000 - age))
    monkeypatch.setattr(cache, "LIMIT", 4000)
    cache.cached(["e"], build)
    kept = {path.stem for path in folder.iterdir()}
    assert kept == {cache._key([name]).hex() for name in "ace"}


WARM = """
import sys
import linkwork.native.kernels as kernels
assert "llvmlite" not in sys.modules and "numba" not in sys.modules
from linkwork.integrators.loop import advance
advance.address
print("numba" in sys.modules)
"""


def test_numba_is_imported_only_to_compile(folder: Path) -> None:
    def run() -> str:
        return subprocess.run([sys.executable, "-c", WARM], check=True, capture_output=True, text=True).stdout.strip()

    assert [run(), run()] == ["True", "False"]
