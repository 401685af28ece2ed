"""The same bits on another kind of processor: 64-bit ARM, emulated by qemu-user, linked by a cross compiler."""

from __future__ import annotations

import importlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwork import load, prepare
from linkwork.driven.planning import plan_simulations
from linkwork.integrators import block
from linkwork.integrators.block import Track, given_places
from linkwork.native import machine
from linkwork.native.elementary import FUNCTIONS
from linkwork.native.kernels import memory_at
from linkwork.simulation.motions import Plan, begin

Array = NDArray[np.float64]

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
ABSENT = [name for name in (COMPILER, EMULATOR) if shutil.which(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(machine.missing()), reason="LLVM is not here"),
    pytest.mark.skipif(bool(ABSENT), reason=f"{' and '.join(ABSENT)} are not installed"),
]


def assemble(text: str, opt: int, passes: bool) -> bytes:
    """Return object code for 64-bit ARM."""
    llvm = machine.binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("aarch64-unknown-linux-gnu").create_target_machine(opt=opt, reloc="pic")
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = target.triple, str(target.target_data)
    if passes:
        machine.optimize(module, target)
    found: bytes = target.emit_object(module)
    return found


def run(folder: Path, source: str, objects: Sequence[Path]) -> Array:
    """Link a program with these objects and return the doubles that it writes."""
    (folder / "main.c").write_text(source)
    program = [COMPILER, "-static", "-O1", "main.c", *map(str, objects), "-o", "program"]
    subprocess.run(program, cwd=folder, check=True)
    found = subprocess.run([EMULATOR, "./program"], cwd=folder, check=True, capture_output=True).stdout
    return np.frombuffer(found)


def words(name: str, array: Array) -> str:
    """Return the definition of an array by its bits."""
    numbers = ",".join(f"{x:#x}" for x in np.ascontiguousarray(array).view(np.uint64).ravel().tolist())
    return f"unsigned long {name}[] __attribute__((aligned(64))) = {{{numbers or 0}}};"


def test_elementary_functions_have_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs"))
    page = importlib.import_module("elementary")
    expected, lines, calls = [], list[str](), list[str]()
    for k, (name, _, given) in enumerate(page.samples(3, 2000)):
        found = page.evaluate(name, *given)
        expected += found
        count, n_y = len(given[0]), len(found)
        lines += [words(f"x{k}_{i}", x) for i, x in enumerate(given)] + [f"double y{k}[{n_y}][{count}];"]
        pointers = ", ".join([f"(double *)x{k}_{i}" for i in range(len(given))] + [f"y{k}[{i}]" for i in range(n_y)])
        calls.append(f"all_{name}({pointers}, {count}L); fwrite(y{k}, 8, {n_y * count}, stdout);")
    heads = [f"void all_{name}();" for name in FUNCTIONS]
    (tmp_path / "own.o").write_bytes(assemble(page.module_text(1).replace("@all.", "@all_"), 2, True))
    source = "\n".join(["#include <stdio.h>", *heads, *lines, "int main(void) {", *calls, "return 0; }"])
    found = run(tmp_path, source, [tmp_path / "own.o"])
    np.testing.assert_array_equal(found.view(np.int64), np.concatenate(expected).view(np.int64))


class Recorded(Track):
    """A track that keeps what machine code is given, and what it returns."""

    def carry_out(self, given: Array) -> None:
        of, s = given_places(given), self.state
        sizes = {"parameters": of.count * of.n_p, "starts": of.count * of.n_y, "tolerances": of.count * of.n_norm}
        sizes |= {"times": of.n_times, "stops": len(s.stops), "blank": of.n_m + of.n_own + of.n_look}
        sizes |= {"rows": of.count * of.n_rows, "told": of.count * block.TOLD}
        self.memory = {name: memory_at(getattr(of, name), n) for name, n in sizes.items() if n}
        self.memory |= {"given": given, "m": s.m, "own": s.own, "look": self.look, "p": s.p, "w": s.w}
        self.before = {name: array.copy() for name, array in self.memory.items()}
        super().carry_out(given)


def transfer(folder: Path, track: Recorded) -> Array:
    """Return the rows and what is told of them as the other processor computes them from the same memory."""
    known, blocks = machine.loaded(), {x.ctypes.data: name for name, x in track.memory.items() if len(x)}
    codes, symbols, patches = dict[machine.Code, int](), dict[int, str](), list[str]()

    def symbol(address: int) -> str:
        code, name = known[address]
        symbols[address] = f"code{codes.setdefault(code, len(codes))}_{name.replace('.', '_')}"
        return symbols[address]

    entry = symbol(block.advance_block.address)
    for name, array in track.before.items():
        for k, word in enumerate(array.view(np.int64).tolist()):
            if word in known:
                patches.append(f"{name}[{k}] = (unsigned long){symbol(word)};")
            elif word in blocks:
                patches.append(f"{name}[{k}] = (unsigned long){blocks[word]};")
    objects = list[Path]()
    for code, k in codes.items():
        assert code.source is not None
        path = folder / f"code{k}.o"
        path.write_bytes(assemble(code.source.text(), code.source.opt, code.source.passes))
        names = {name: f"code{k}_{name.replace('.', '_')}" for name in code.addresses}
        renamed = [f"--redefine-sym={name}={own}" for name, own in names.items()]
        kept = [f"--keep-global-symbol={own}" for own in names.values()]  # what has a name here only stays here
        for changes in (renamed, kept):
            subprocess.run(["aarch64-linux-gnu-objcopy", *changes, str(path)], check=True)
        objects.append(path)
    heads = [f"void {name}();" for name in sorted({*symbols.values()})]
    arrays = [words(name, array) for name, array in track.before.items()]
    result = [f"fwrite({name}, 8, {len(track.memory[name])}, stdout);" for name in ("rows", "told")]
    body = [*patches, f"{entry}(given, m, own, look, p, w);", *result, "return 0;"]
    return run(folder, "\n".join(["#include <stdio.h>", *heads, *arrays, "int main(void) {", *body, "}"]), objects)


@pytest.mark.parametrize(
    ("name", "coordinates", "t_end"),
    [("slider_crank", "body", 2.0), ("slider_crank", "minimal", 2.0), ("andrews_squeezer", "joint", 0.03)],
)
def test_motions_have_the_same_bits(tmp_path: Path, name: str, coordinates: Any, t_end: float) -> None:
    """States at all report times, the ends and the numbers of steps of three motions with other parameters."""
    mechanism = prepare(load(name), coordinates)
    plan = plan_simulations(mechanism, (), t_end=t_end)
    assert isinstance(plan, Plan)
    values = np.tile([*plan.equations.parameters.values()], (3, 1)) * np.array([[1.0], [0.999], [1.001]])
    begun, _ = begin(plan, values, {}, {})
    s = plan.system
    n_p = s.first_of_parameters + s.functions["prepare"].outputs
    track = Recorded(plan.problem, n_p, plan.times, plan.control, plan.stops, plan.max_steps)
    found = track.advance(begun.loop_p, begun.y, begun.scale)
    assert len(found.end) >= 1
    assert np.ptp(found.rows[:, :, 0]) > 0.0
    expected = np.concatenate([track.memory[part].ravel() for part in ("rows", "told")])
    np.testing.assert_array_equal(transfer(tmp_path, track).view(np.int64), expected.view(np.int64))
