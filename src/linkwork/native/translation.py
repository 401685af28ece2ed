"""Kernels as LLVM text, made from Python functions by numba.

This is done where linkwork is built, and in a checkout; an installed linkwork finds the text among its files. The text
is for no processor in particular.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import RLock
from types import FunctionType
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from linkwork.native import machine
from linkwork.native.kernels import (
    Kernel,
    Pointer,
    call,
    integer,
    member_name,
    memory_at,
    offset,
    put_integer,
    read_globals,
    split,
    take,
)

RAISED = "an_exception"  # called where numba reports one, and defined nowhere: stays if LLVM finds that possible
# What a kernel may leave to the C library; everything else must be inside its object code.
LIBRARY = """
  acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs floor fma fmod hypot
  ldexp lgamma log log10 log1p log2 nearbyint pow rint round sin sincos sinh sqrt tan tanh tgamma trunc
  memcpy memmove memset
"""
OPTIONS = {
    **{"error_model": "numpy", "boundscheck": False, "fastmath": {"contract"}},
    **{"no_cpython_wrapper": True, "no_cfunc_wrapper": True},
}
# The processor, names of files, and what LLVM finds again and writes differently in other versions.
OF_THIS_BUILD = r"^(?:target|source_filename|; ModuleID|attributes #|.*@llvm\.lifetime\.).*\n| #\d+(?=[ ,\n])"

_native: dict[Any, Any] = {}  # kernels share the functions they call, which numba then translates once
_translating = RLock()


def find_kernels(package: str) -> Iterator[Kernel]:
    """The kernels that modules of a package hold by name or in a list, or that entries of a list have as `kernel`."""
    root = Path(str(import_module(package).__file__)).parent
    for path in sorted(root.rglob("*.py")):
        if "native.kernels" not in path.read_text(encoding="utf-8"):
            continue  # a module without kernels, which may import packages that are not needed here
        parts = (package, *path.relative_to(root).with_suffix("").parts)
        for value in vars(import_module(".".join(parts).removesuffix(".__init__"))).values():
            entries = value.values() if isinstance(value, dict) else value
            for entry in entries if isinstance(value, dict | list | tuple) else (value,):
                kernel = getattr(entry, "kernel", entry)
                if isinstance(kernel, Kernel):
                    yield kernel


def ship(path: Path) -> None:
    """Write the text of all kernels of linkwork, to be found by an installation without numba."""
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, kernel in sorted({member_name(kernel): kernel for kernel in find_kernels("linkwork")}.items()):
            archive.writestr(name, translate(kernel))


def translate(kernel: Kernel) -> str:
    """LLVM text with one function to be called, the kernel under its own name."""
    import llvmlite.binding as llvm

    # Versions of numba differ in which of their names have types, hence the name's module and not an import statement.
    types: Any = import_module("numba.types")
    config: Any = import_module("numba.core.config")
    kinds = {int: types.int64, float: types.float64, Pointer: types.CPointer(types.float64), type(None): types.void}
    signature = kinds[kernel.result](*[kinds[kind] for kind in kernel.arguments])
    with _translating:
        effort = config.OPT
        config.OPT = type(effort)(0)  # numba's passes are for the processor at hand; ours follow
        try:
            translated = import_module("numba").njit(signature, **OPTIONS)(_with_native_globals(kernel.python))
        finally:
            config.OPT = effort
    (compiled,) = translated.overloads.values()
    module = llvm.parse_assembly(compiled.library.get_llvm_str())
    module.link_in(llvm.parse_assembly(_wrapper(kernel, compiled.fndesc.llvm_func_name)))
    inside = [item for item in (*module.functions, *module.global_variables) if not item.is_declaration]
    for k, item in enumerate(inside):
        if item.name != kernel.name:
            item.linkage, item.name = "internal", f"{kernel.name}.{k}"  # numba's names are long and tell the build
    machine.simplify(module)
    _check_self_contained(kernel.name, module)
    return re.sub(OF_THIS_BUILD, "", str(module), flags=re.MULTILINE)


def _with_native_globals(function: FunctionType) -> FunctionType:
    """The same function, its globals replaced by what numba can call."""
    names: dict[str, Any] = {"__name__": function.__module__, "__builtins__": __builtins__}
    for name, value in read_globals(function).items():
        if isinstance(value, FunctionType):
            if value not in _native:
                made = _intrinsics().get(value)
                _native[value] = made or import_module("numba").njit(**OPTIONS)(_with_native_globals(value))
            value = _native[value]
        names[name] = value
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__)


@cache
def _intrinsics() -> dict[Any, Any]:
    """`offset`, `take`, `split`, `integer`, `put_integer`, `memory_at` and `call` in LLVM IR."""
    from llvmlite import ir

    types: Any = import_module("numba.types")
    intrinsic: Any = import_module("numba.extending").intrinsic
    double_p = types.CPointer(types.float64)

    @intrinsic
    def native_offset(_context: Any, pointer: Any, n: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.gep(arguments[0], [arguments[1]])

        return double_p(double_p, types.int64), codegen

    @intrinsic
    def native_take(_context: Any, pointer: Any, n: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            both = arguments[0], builder.gep(arguments[0], [arguments[1]])
            return context.make_tuple(builder, signature.return_type, both)

        return types.UniTuple(double_p, 2)(double_p, types.int64), codegen

    @intrinsic
    def native_split(_context: Any, pointer: Any, counts: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            places = [arguments[0]]
            for k, kind in enumerate(signature.args[1]):
                count = context.cast(builder, builder.extract_value(arguments[1], k), kind, types.int64)
                places.append(builder.gep(places[-1], [count]))
            return context.make_tuple(builder, signature.return_type, places)

        return types.UniTuple(double_p, 1 + len(counts))(double_p, counts), codegen

    @intrinsic
    def native_integer(_context: Any, pointer: Any, k: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            place = builder.gep(arguments[0], [arguments[1]])
            return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()))

        return types.int64(double_p, types.int64), codegen

    @intrinsic
    def native_put_integer(_context: Any, pointer: Any, k: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            place = builder.gep(arguments[0], [arguments[1]])
            builder.store(arguments[2], builder.bitcast(place, ir.IntType(64).as_pointer()))
            return context.get_dummy_value()

        return types.void(double_p, types.int64, types.int64), codegen

    @intrinsic
    def native_memory_at(_context: Any, address: Any, count: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())

        return double_p(types.int64, types.int64), codegen

    @intrinsic
    def native_call(_context: Any, address: Any, x: Any, p: Any, y: Any, w: Any) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            pointer = ir.DoubleType().as_pointer()
            function = ir.FunctionType(ir.VoidType(), [pointer] * 4)
            builder.call(builder.inttoptr(arguments[0], function.as_pointer()), arguments[1:])
            return context.get_dummy_value()

        return types.void(types.int64, double_p, double_p, double_p, double_p), codegen

    return {
        offset: native_offset,
        take: native_take,
        split: native_split,
        integer: native_integer,
        put_integer: native_put_integer,
        memory_at: native_memory_at,
        call: native_call,
    }


def _wrapper(kernel: Kernel, inner: str) -> str:
    """A function of the plain C signature around numba's `i32 inner(result *, exception **, arguments)`."""
    kinds = {int: "i64", float: "double", Pointer: "ptr"}
    typed = [f"{kinds[kind]} %a{i}" for i, kind in enumerate(kernel.arguments)]
    types = "".join(f", {kinds[kind]}" for kind in kernel.arguments)
    passed = "".join(f", {argument}" for argument in typed)
    result, value = ("void", "void") if kernel.result is type(None) else ("i64", "i64 %value")
    return f"""
declare i32 @"{inner}"(ptr, ptr{types})
define {result} @"{kernel.name}"({", ".join(typed)}) {{
  %result = alloca i64, align 8
  %exception = alloca ptr
  store i64 0, ptr %result, align 8
  %status = call i32 @"{inner}"(ptr %result, ptr %exception{passed})
  %good = icmp eq i32 %status, 0
  br i1 %good, label %done, label %bad
bad:
  call void @{RAISED}()
  br label %done
done:
  %value = load i64, ptr %result, align 8
  ret {value}
}}
declare void @{RAISED}()
"""


def _check_self_contained(name: str, module: Any) -> None:
    outside = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    outside += [g.name for g in module.global_variables if g.is_declaration]
    missing = sorted(set(outside).difference(LIBRARY.split()))
    if missing:
        raise TypeError(f"kernel {name} needs {', '.join(missing)}, which its object code does not contain")
