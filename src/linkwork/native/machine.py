"""The host's LLVM target: IR text to object code, object code to addresses.

llvmlite lets one thread at a time into LLVM, so all of this may be called from several.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from threading import Thread
from typing import Any
from weakref import WeakValueDictionary

SPEED = 2  # LLVM's level; 3 takes half as long again and gains nothing
LISTENING = 0.1  # seconds between two looks for signals, which may have come to another thread
INLINED = 50  # cost of a function that LLVM still copies to where it is called; its own 225 doubles the time it takes
# The beginning of a contiguous writeable array, as an argument of machine code; NumPy takes three times as long for it.
pointer_to: Any = (ctypes.c_double * 0).from_buffer


@cache
def binding() -> Any:
    """Import llvmlite when it is first needed: a command that computes nothing must not wait for it."""
    import llvmlite.binding

    # For loops over many arrays, such as those of radau5, LLVM would spend two thirds of its time on choosing what to
    # add to which address; processors with addresses of base and index run as fast without.
    llvmlite.binding.set_option("linkwork", "-disable-lsr")
    return llvmlite.binding


@cache
def missing() -> str:
    """Return why there is no machine code here, or nothing if there is."""
    try:
        binding()
    except (ImportError, OSError) as error:  # not installed, or its library does not load on this machine
        return str(error) or type(error).__name__
    return ""


@cache
def _features() -> tuple[str, str]:
    llvm = binding()
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM knows no features of this processor; the name alone then decides
        features = ""
    return llvm.get_host_cpu_name(), features


def _target_machine(opt: int, cpu: str, features: str) -> Any:
    llvm = binding()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features, opt=opt, reloc="pic", codemodel="jitdefault"
    )


@cache
def _compiler(opt: int) -> Any:
    return _target_machine(opt, *_features())


@cache
def host() -> str:
    """Return what object code depends on besides its source: processor, its features, LLVM and llvmlite."""
    llvm = binding()
    import llvmlite

    cpu, features = _features()
    version = ".".join(map(str, llvm.llvm_version_info))
    return "\n".join((llvm.get_process_triple(), cpu, features, f"LLVM {version}", f"llvmlite {llvmlite.__version__}"))


def optimize(module: Any, target: Any) -> None:
    """Run LLVM's standard passes. Loops are not unrolled: they are short, and it would take most of the time."""
    llvm = binding()
    tuning = llvm.create_pipeline_tuning_options(speed_level=SPEED)
    tuning.inlining_threshold = INLINED
    tuning.loop_unrolling = tuning.loop_interleaving = False
    tuning.loop_vectorization = tuning.slp_vectorization = True
    builder = llvm.create_pass_builder(target, tuning)
    builder.getModulePassManager().run(module, builder)


def assemble(text: str, opt: int, passes: bool = False) -> bytes:
    """Return object code for this processor of LLVM IR text; `opt` is the effort of the code generator."""
    llvm = binding()

    def compile_it() -> bytes:
        target = _compiler(opt)
        module = llvm.parse_assembly(text)
        module.verify()
        if passes:
            module.triple, module.data_layout = target.triple, str(target.target_data)
            optimize(module, target)
        code: bytes = target.emit_object(module)
        return code

    return beside(compile_it)


def beside(work: Callable[[], bytes]) -> bytes:
    """Return the result of work done in a thread: LLVM looks for no signals, who waits for a thread can be
    interrupted.
    """
    from concurrent.futures import Future  # brings logging with it

    done: Future[bytes] = Future()

    def carry_out() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            done.set_exception(error)

    thread = Thread(target=carry_out, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(LISTENING)
    return done.result()


@dataclass(frozen=True, eq=False)
class Source:
    """What object code is made from, for other processors; text is written when it is asked for."""

    text: Callable[[], str]
    opt: int
    passes: bool = False


@dataclass(frozen=True, eq=False)
class Code:
    """Machine code in this process: its addresses are valid as long as this object, which owns it, is alive."""

    addresses: Mapping[str, int]
    engine: Any  # llvmlite frees it when it is collected; or what stands in for it (interpreted.py)
    source: Source | None = None


_loaded: WeakValueDictionary[int, Code] = WeakValueDictionary()


def loaded() -> dict[int, tuple[Code, str]]:
    """Return all functions that are loaded now, by address, with their names in their code."""
    found = {code: dict(zip(code.addresses.values(), code.addresses, strict=True)) for code in _loaded.values()}
    return {address: (code, name) for code, names in found.items() for address, name in names.items()}


def load(objects: bytes, names: Iterable[str], source: Source | None = None) -> Code:
    """Link object code into this process."""
    llvm = binding()
    # The engine takes possession of its target machine, so each gets one of its own; it generates no code.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(0, "", ""))
    engine.add_object_file(llvm.ObjectFileRef.from_data(objects))
    engine.finalize_object()
    addresses = {name: int(engine.get_function_address(name)) for name in names}
    missing = [name for name, address in addresses.items() if not address]
    if missing:
        raise KeyError(f"object code has no function {', '.join(missing)}")
    code = Code(addresses, engine, source)
    _loaded.update(dict.fromkeys(addresses.values(), code))
    return code
