"""Machine code from Python functions, and its cache on disk."""

from __future__ import annotations

import gc
import math
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dis import get_instructions
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import pytest
from all_kernels import all_kernels
from memory import needs_proc, resident

from linkwork.expressions import graph
from linkwork.native import cache, kernels, machine
from linkwork.native.kernels import (
    Memory,
    Pointer,
    add_four,
    call,
    integer,
    kernel,
    offset,
    put_integer,
    size_of,
    split,
    take,
)
from linkwork.native.lowering import NativeFunction, compile_programs
from linkwork.native.translation import translate
from linkwork.sequences.sequence import ComputationSequence

HALF = 0.5
MANY = 2**60


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


class Given(NamedTuple):
    n: int
    x: Pointer
    start: Pointer


def open_given(memory: Pointer) -> Given:
    n = integer(memory, 0)
    return Given(n, *take(offset(memory, 1), n))


def sum_up(given: Given, at: Places) -> float:
    at.sums[0] = float(integer(given.start, 0))
    for i in range(given.n):
        at.squares[i] = given.x[i] * given.x[i]
        at.sums[i + 1] = at.sums[i] + at.squares[i]
    total: float = at.sums[given.n]
    return total


@kernel
def sum_squares(memory: Pointer, w: Pointer) -> int:
    """Running sums of x_i^2, with the integer that stands behind x as their start; twice the last, and one."""
    given = open_given(memory)
    total: float = 1
    total = total + 2.0 * sum_up(given, places(w, given.n))
    return int(total)


def test_memory_is_described_once_by_the_function_that_takes_it_apart() -> None:
    """Machine code and Python find the same places in memory of exactly the size that `size_of` tells."""
    x = np.array([0.0, 3.0, 4.0, 12.0, 0.0])
    put_integer(x, 4, 2**62 + 1)  # no double holds this number
    assert integer(x, 4) == 2**62 + 1
    put_integer(x, 4, 7)
    put_integer(x, 0, 3)
    size = size_of(places, 3)
    assert size == 7
    native, stepped = np.zeros(size), np.zeros(size)
    assert sum_squares(x, native) == sum_squares.python(x, stepped) == 1 + 2 * (7 + 169)
    assert native.tolist() == stepped.tolist() == [9.0, 16.0, 144.0, 7.0, 16.0, 32.0, 176.0]
    with pytest.raises(IndexError):
        sum_squares.python(x, np.zeros(size - 1))


@kernel
def add_rows(y: Pointer, x: Pointer, n: int) -> None:
    for i in range(0, n, 4):
        add_four(offset(y, i), i + 1, offset(x, i))


def test_four_numbers_are_added_at_once() -> None:
    """Where y and x overlap too: what is added is read before anything is stored."""
    x = np.arange(12.0) ** 3
    for f in (add_rows, add_rows.python):
        y = np.arange(13.0)
        f(y, x, 8)
        assert y.tolist() == [0.0, 2.0, 10.0, 30.0, 324.0, 630.0, 1086.0, 1722.0, *range(8, 13)]
        f(y[9:], y[8:], 4)
        assert y[8:].tolist() == [8.0, 17.0, 19.0, 21.0, 23.0]


def double_it(x: float) -> float:
    return 2.0 * x


def negate_it(x: float) -> float:
    return -x


ACTIONS = ((3, double_it), (5, negate_it))


@kernel
def act(x: Pointer, code: int) -> int:
    for k, f in ACTIONS:
        if k == code:
            x[0] = f(x[0])
            return 1
    return 0


def test_a_table_of_functions_is_looked_up() -> None:
    for f in (act, act.python):
        x = np.array([7.0])
        assert [f(x, 3), f(x, 5), f(x, 4)] == [1, 1, 0]
        assert x[0] == -14.0


class Counts(Memory):
    n: int
    x: Pointer
    steps: int
    largest: float
    found: bool
    rest: Pointer


def counts(w: Pointer, n: int) -> Counts:
    return Counts(n, *split(w, (n, 1, 1, 1)))


def look_at(at: Counts, k: int) -> None:
    at.steps += 1
    at.largest = max(at.largest, at.x[k])
    if not at.found:
        at.found = at.x[k] < 0.0


@kernel
def look_through(w: Pointer, n: int) -> int:
    """The steps done, and one more where a number is negative."""
    at = counts(w, n)
    at.steps = MANY
    at.largest, at.found = -math.inf, False
    for k in range(at.n):
        look_at(at, k)
    return at.steps + 1 if at.found else at.steps


def test_numbers_in_memory_are_of_their_types() -> None:
    """Machine code and Python read and store the same bits, an integer beyond those of a double among them."""
    found = []
    for function in (look_through, look_through.python):
        w = np.array([3.0, -1.0, 5.0, 2.0, math.nan, math.nan, math.nan])
        at = counts(w, 4)
        assert function(w, 4) == MANY + 5
        assert (at.steps, at.largest, at.found) == (MANY + 4, 5.0, True)
        found.append(w.tobytes())
    assert found[0] == found[1]
    with pytest.raises(AttributeError):
        at.n = 3
    with pytest.raises(TypeError, match="given as a number"):
        translate(kernel(renaming))


def renaming(w: Pointer) -> None:
    at = counts(w, 2)
    at.n = 3


def test_code_depends_on_the_types_of_fields() -> None:
    """The same functions on memory or named tuples whose fields are of other types are other machine code."""

    def key() -> list[str | bytes]:
        return kernels._content(look_through.python)

    before = key()
    Counts.__annotations__["largest"] = "int"
    try:
        assert key() != before
    finally:
        Counts.__annotations__["largest"] = "float"
    assert key() == before
    given = kernels._content(sum_squares.python)
    Given.__annotations__["n"] = "float"
    try:
        assert kernels._content(sum_squares.python) != given
    finally:
        Given.__annotations__["n"] = "int"


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


@kernel
def using_an_integer_power(x: Pointer, n: int) -> int:
    return int(n**n)


@pytest.mark.parametrize(
    ("faulty", "message"),
    [
        (raising, "line .* of raising: a kernel cannot do this: raise ValueError"),
        (printing, "printing: a kernel cannot do this: print"),
        (reading_a_list, "'TABLE'"),
        (using_an_integer_power, "a power of integers"),
    ],
)
def test_a_kernel_that_cannot_stand_alone_says_what_it_needs(faulty: kernels.Kernel, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        _ = faulty.address


class Pair(NamedTuple):
    whole: int
    part: float


def halves(k: int, x: float) -> Pair:
    return Pair(k // 2, x if x > 0.0 else 0)


def apply(f: Callable[[int, float], Pair], k: int, x: float) -> Pair:
    return f(k, x)


def first_below(x: Pointer, n: int, limit: float) -> int:
    found = -1
    for i in range(n - 1, -1, -1):
        if not x[i] < limit:
            continue
        found = i
        if i % 3 == 0:
            break
    return found


@kernel
def mixture(x: Pointer, n: int, y: Pointer) -> int:
    """A little of everything that kernels are written in."""
    total, count = 0, 0
    for k in range(-n, n):
        pair = apply(halves, k, x[abs(k) % n])
        total = total + 0.25 * pair.whole * pair.part  # type: ignore[assignment] # an integer before it is a float
        y[0] += (k % 3) * 100.0 + k // 4
        if 0 < k <= 3 or (pair.part == 0.0 and k < 0):
            count += 1
    z = complex(x[0], x[1]) * complex(x[2], -x[1]) - 2.0
    y[1], y[2] = z.real, (-z).imag
    y[3] = min(x[0], 2, x[1]) + max(count, n) - x[2] ** 3 + (1.0 + x[1] ** 2) ** 0.3
    step = 1.0
    while step * count < 1e3 and not step > 64:
        step *= 2
    y[4] = y[5] = step
    for k, place in ((1, y), (2, offset(y, 1))):
        place[6] = math.sqrt(k + abs(x[1])) + math.atan2(x[0], k)
    y[8] = total > 1.0
    return first_below(x, n, 0.5) * 1000 + count


def test_a_kernel_is_translated_as_python_runs_it(rng: np.random.Generator) -> None:
    """Loops, branches, division downwards, kinds that widen, functions that are handed on, tuples, complex numbers."""
    for n in (3, 4, 9):
        x = rng.normal(size=n)
        native, stepped = np.zeros(9), np.zeros(9)
        assert mixture(x, n, native) == mixture.python(x, n, stepped)
        np.testing.assert_allclose(native, stepped, rtol=1e-14)


def test_a_function_that_changed_on_disk_is_not_translated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else machine code of another function would be kept under the name of this one."""
    source = tmp_path / "changing.py"
    text = "from linkwork.native.kernels import Pointer, kernel\n@kernel\ndef f(x: Pointer) -> None:\n    x[0] = 1.0 {}"
    source.write_text(text.format("+ x[1]"))
    monkeypatch.syspath_prepend(str(tmp_path))
    f = import_module("changing").f
    source.write_text(text.format("- x[1]"))
    with pytest.raises(TypeError, match="source of f was changed"):
        translate(f)


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
    code = machine.load(machine.assemble(IR, opt=1), ["twice"])
    x, y = np.array([1.25]), np.zeros(1)
    call(code.addresses["twice"], x, x, y, x)
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
    foreign = good.replace(cache.digest(["key"]), cache.digest(["another key"]))
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


def test_code_that_others_could_have_written_is_not_loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A directory or an entry that others may write or own is left alone, with one message for a directory."""
    build, calls = builder(b"code")
    cache.cached(["key"], build)
    (entry,) = folder.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert entry.stat().st_mode & 0o777 == 0o600
    for path, mode in ((folder, 0o770), (folder, 0o702), (entry, 0o620), (entry, 0o602)):
        before = path.stat().st_mode
        path.chmod(mode)
        assert cache.cached(["key"], build) == b"code"
        path.chmod(before)
    assert len(calls) == 5
    cache.cached(["key"], build)
    assert len(calls) == 5
    if os.getuid() == 0:
        os.chown(folder, 4711, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 4711)
    cache.cached(["key"], build)
    assert len(calls) == 6
    assert capsys.readouterr().err.count(str(folder)) == 1


def test_the_entries_unused_for_longest_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build, _ = builder(bytes(1000))
    for name in "abcd":
        cache.cached([name], build)
    for age, name in enumerate("acbd"):
        os.utime(folder / (cache.digest([name]).hex() + cache.SUFFIX), (1000 - age, 1000 - age))
    monkeypatch.setattr(cache, "LIMIT", 4000)
    monkeypatch.setattr(cache, "TRIMMED", 1)
    cache.cached(["e"], build)
    kept = {path.stem for path in folder.iterdir()}
    assert kept == {cache.digest([name]).hex() for name in "ace"}


def test_the_cache_knows_all_that_makes_machine_code_of_kernels() -> None:
    """Translation imports no module of its room whose change would leave old code in use."""
    room = Path(kernels.__file__).parent
    used, waiting = set[str](), ["translation"]
    while waiting:
        name = waiting.pop()
        used.add(name)
        imports = re.findall(r"from linkwork\.native(?:\.(\w+))? import (.+)", (room / f"{name}.py").read_text())
        modules = {m for own, names in imports for m in ([own] if own else names.split(", "))}
        waiting += [m for m in modules if m not in used and (room / f"{m}.py").exists()]
    used -= {"cache", "interpreted"}  # where code is kept, and what stands in for it
    recipe = kernels._recipe()
    assert [name for name in sorted(used) if (room / f"{name}.py").read_bytes() not in recipe] == []


def test_globals_are_read_from_bytecode_as_dis_reads_them() -> None:
    """In all functions that kernels call; the layout of bytecode is Python's own affair and may change."""
    seen: set[FunctionType] = set()

    def visit(f: FunctionType) -> None:
        if f not in seen:
            seen.add(f)
            names = {step.argval for step in get_instructions(f.__code__) if step.opname == "LOAD_GLOBAL"}
            values = kernels.read_globals(f)
            assert set(values) == names & set(f.__globals__)
            for value in values.values():
                if isinstance(value, FunctionType):
                    visit(value)

    for found in all_kernels():
        visit(found.python)
    assert any(len(f.__code__.co_names) > 128 or len(f.__code__.co_code) > 512 for f in seen)


@pytest.mark.slow
@needs_proc
def test_machine_code_is_freed_with_its_last_function() -> None:
    """200 systems loaded and dropped leave no trace; what one function of a system still holds stays callable.

    One engine takes about 0.1 MB, so that 200 of them would be 20.
    """
    x = [graph.symbol("x"), graph.symbol("y")]

    def system() -> dict[str, NativeFunction]:
        return compile_programs(
            [ComputationSequence("f", x, [graph.sin(x[0]) * x[1]]), ComputationSequence("g", x, [x[0] - x[1]])], []
        )

    kept = system()["f"]
    for _ in range(50):  # until the pools of the allocator are filled
        system()
    gc.collect()
    before = resident()
    for _ in range(200):
        assert system()["g"](np.array([3.0, 1.0]), np.zeros(0))[0] == 2.0
    gc.collect()
    assert resident() - before < 4.0
    assert kept(np.array([0.5, 2.0]), np.zeros(0))[0] == 2.0 * math.sin(0.5)


def test_threads_compile_load_and_call_at_once(folder: Path) -> None:
    """One kernel asked for by eight threads is loaded once; sequences of their own give their own results."""
    x = graph.symbol("x")

    @kernel
    def square(x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
        y[0] = x[0] * x[0]

    def use(k: int) -> tuple[int, float, float]:
        f = compile_programs([ComputationSequence("f", [x], [graph.sin(x) * float(k)])], [])["f"]
        y = np.zeros(1)
        square(np.array([float(k)]), np.zeros(1), y, np.zeros(1))
        return square.address, f(np.array([0.3]), np.zeros(0))[0], y[0]

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(use, range(40)))
    assert len({address for address, _, _ in results}) == 1
    np.testing.assert_allclose([value for _, value, _ in results], math.sin(0.3) * np.arange(40), rtol=1e-15)
    assert [value for _, _, value in results] == [float(k * k) for k in range(40)]


def second_of(m: Pointer, k: int) -> Pairs:
    """Describe the k-th of several memories."""
    return Pairs(*split(offset(m, 2 * k), (1, 1)))


class Pairs(Memory):
    first: float
    second: float
    rest: Pointer


@kernel
def take_named_alike(x: Pointer, y: Pointer) -> None:
    """Count in a variable that has the name of what a description is given."""
    total = 0.0
    for k in range(3):
        total += x[k]
    y[0], y[1] = total, second_of(x, 1).second


def test_what_a_description_is_given_is_no_variable_of_who_calls_it() -> None:
    y = np.zeros(2)
    take_named_alike(np.array([1.0, 2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0]), y)
    np.testing.assert_array_equal(y, [6.0, 5.0])
