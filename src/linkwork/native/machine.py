"""The host's LLVM target: IR text to object code, object code to addresses."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

# llvmlite is imported inside the functions: a command that computes nothing must not wait for it.

_engines: list[Any] = []  # an engine owns its code, so addresses are valid as long as it lives: here, to the end


@cache
def _features() -> tuple[str, str]:
    import llvmlite.binding as llvm

    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM knows no features of this processor; the name alone then decides
        features = ""
    return llvm.get_host_cpu_name(), features


def _target_machine(opt: int) -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = _features()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features, opt=opt, reloc="pic", codemodel="jitdefault"
    )


@cache
def host() -> str:
    """What object code depends on besides its source: processor, its features, LLVM and llvmlite."""
    import llvmlite
    import llvmlite.binding as llvm

    cpu, features = _features()
    version = ".".join(map(str, llvm.llvm_version_info))
    return "\n".join((llvm.get_process_triple(), cpu, features, f"LLVM {version}", f"llvmlite {llvmlite.__version__}"))


@cache
def _compiler(opt: int) -> Any:
    return _target_machine(opt)


def optimize(module: Any, opt: int) -> None:
    """Run LLVM's standard pipeline of speed level `opt` on a parsed module, in place."""
    import llvmlite.binding as llvm

    tuning = llvm.create_pipeline_tuning_options(speed_level=opt)
    tuning.slp_vectorization = opt >= 3
    tuning.loop_vectorization = opt >= 2
    builder = llvm.create_pass_builder(_compiler(opt), tuning)
    builder.getModulePassManager().run(module, builder)


def emit(module: Any, opt: int) -> bytes:
    """Object code of a parsed module."""
    code: bytes = _compiler(opt).emit_object(module)
    return code


def assemble(text: str, opt: int) -> bytes:
    """Object code of LLVM IR text as it stands; `opt` is the effort of the code generator."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    module.verify()
    return emit(module, opt)


def load(objects: bytes, names: Iterable[str]) -> dict[str, int]:
    """Link object code into this process; the addresses of its functions stay valid until the process ends."""
    import llvmlite.binding as llvm

    # The engine takes possession of its target machine, so each gets one of its own.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(opt=0))
    engine.add_object_file(llvm.ObjectFileRef.from_data(objects))
    engine.finalize_object()
    _engines.append(engine)
    addresses = {name: int(engine.get_function_address(name)) for name in names}
    missing = [name for name, address in addresses.items() if not address]
    if missing:
        raise KeyError(f"object code has no function {', '.join(missing)}")
    return addresses
