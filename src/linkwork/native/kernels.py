"""Plain Python functions on numbers and pointers, compiled once by numba and kept as object code.

    @kernel
    def scale(x: Pointer, n: int, factor: float) -> None:
        for i in range(n):
            x[i] *= factor

    scale(array, len(array), 2.0)      # from Python
    scale.address                      # void (*)(double *, int64_t, double), for other machine code

The annotations are the C signature: int, float and Pointer (to doubles) as arguments, int or None as result. A kernel
may call other plain functions, `math`, `offset`, `take`, `integer`, `memory_at` and `call`, make named tuples, and read
global integers and floats. It allocates nothing and raises nothing, so that its object code stands alone: numba is
imported only where the code is not in the cache. `kernel.python` is the function itself, to be stepped through with
NumPy arrays as pointers.

The memory of a kernel is described once, by a plain function that takes it apart:

    class Work(NamedTuple):
        gaps: Pointer
        trial: Pointer
        rest: Pointer

    def work(w: Pointer, n: int, m: int) -> Work:
        gaps, w = take(w, 2 * m)
        trial, w = take(w, 1 + n)
        return Work(gaps, trial, w)

The kernel calls it for its places, `size_of(work, n, m)` says how many doubles they are, and stepped through as Python
every place is an array of its own size, so that nothing can be written beside it.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable
from dis import get_instructions
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeAlias, get_type_hints

import numpy as np
from numpy.typing import NDArray

from linkwork.native import cache, machine

Pointer: TypeAlias = NDArray[np.float64]

OPT = 3
RAISED = "an_exception"  # called where numba reports one, and defined nowhere: stays if LLVM finds that possible
# What a kernel may leave to the C library; everything else must be inside its object code.
LIBRARY = """
  acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs floor fma fmod hypot
  ldexp lgamma log log10 log1p log2 nearbyint pow rint round sin sincos sinh sqrt tan tanh tgamma trunc
  memcpy memmove memset
"""


def offset(pointer: Pointer, n: int) -> Pointer:
    """The pointer `n` doubles further on."""
    return pointer[n:]


def take(pointer: Pointer, count: int) -> tuple[Pointer, Pointer]:
    """The next `count` doubles, and what lies behind them."""
    return pointer[:count], pointer[count:]


def integer(pointer: Pointer, k: int) -> int:
    """The 64 bits of the k-th double as an integer: sizes and addresses stand so among numbers."""
    return int(pointer[k : k + 1].view(np.int64)[0])


def memory_at(address: int, count: int) -> Pointer:
    """The `count` doubles that begin at an address: memory that is kept between calls of machine code."""
    return np.ctypeslib.as_array((ctypes.c_double * count).from_address(address))


class _Ruler:
    """Stands for a pointer where only sizes are asked for."""

    def __init__(self, place: int = 0) -> None:
        self.place = place

    def __getitem__(self, part: slice) -> _Ruler:
        return _Ruler(self.place + (part.start or 0))


def size_of(places: Callable[..., tuple[Any, ...]], *sizes: int) -> int:
    """How many doubles a description of memory takes: where the last of its places, the rest, begins."""
    rest = places(_Ruler(), *sizes)[-1]
    return int(rest.place)


def call(address: int, x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Call machine code of the one native signature, void f(const double *x, const double *p, double *y, double *w)."""
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (x, p, y, w)]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address)(*pointers)


class Kernel:
    """A function as machine code: called from Python with numbers and arrays, from machine code by its address."""

    def __init__(self, function: FunctionType) -> None:
        self.python = function
        self.name = function.__name__
        self.__doc__ = function.__doc__
        hints = get_type_hints(function)
        self.result: Any = hints.pop("return")
        self.arguments: tuple[Any, ...] = tuple(hints[name] for name in _parameters(function))

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    @cached_property
    def address(self) -> int:
        recipe = Path(__file__).read_bytes()
        key = (recipe, _numba_version(), sys.version, machine.host(), *_content(self.python))
        code = cache.cached(key, lambda: _compile(self))
        return machine.load(code, [self.name])[self.name]

    @cached_property
    def _entry(self) -> Any:
        kinds: dict[Any, Any] = {int: ctypes.c_int64, float: ctypes.c_double, Pointer: ctypes.c_void_p}
        result = None if self.result is type(None) else ctypes.c_int64
        return ctypes.CFUNCTYPE(result, *[kinds[kind] for kind in self.arguments])(self.address)

    def __call__(self, *arguments: float | Pointer) -> Any:
        return self._entry(*map(_as_c, arguments))


def kernel(function: Callable[..., int | None]) -> Kernel:
    """Make a kernel of an annotated function; it is compiled or loaded when its address is first asked for."""
    if not isinstance(function, FunctionType):
        raise TypeError(f"a kernel is a plain function, not {function!r}")
    return Kernel(function)


def specialized(function: Callable[..., Any], name: str, **names: Callable[..., Any]) -> Callable[..., Any]:
    """The same function under another name, with some of the functions it calls exchanged for others."""
    assert isinstance(function, FunctionType)
    made = FunctionType(function.__code__, {**function.__globals__, **names}, name, function.__defaults__)
    made.__annotations__ = function.__annotations__
    made.__module__ = function.__module__
    return made


def _as_c(argument: float | Pointer) -> Any:
    if not isinstance(argument, np.ndarray):
        return argument
    if argument.dtype != np.float64 or not argument.flags.c_contiguous or not argument.flags.writeable:
        raise TypeError("a kernel takes contiguous writeable arrays of float64")
    return argument.ctypes.data


def _parameters(function: FunctionType) -> tuple[str, ...]:
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def _globals_of(function: FunctionType) -> dict[str, Any]:
    """The global names a function reads, with their values; names of attributes and built-ins are not among them."""
    read = (step.argval for step in get_instructions(function.__code__) if step.opname == "LOAD_GLOBAL")
    return {name: function.__globals__[name] for name in dict.fromkeys(read) if name in function.__globals__}


def _content(function: FunctionType) -> list[str | bytes]:
    """Everything the compiled code depends on: bytecode and constants of the function and of all it calls."""
    parts: list[str | bytes] = []
    seen: set[Any] = {offset, take, integer, memory_at, call}  # their machine code is written below, in _intrinsics

    def visit(f: FunctionType) -> None:
        if f in seen:
            return
        seen.add(f)
        code = f.__code__
        if f.__closure__ or any(isinstance(constant, CodeType) for constant in code.co_consts):
            raise TypeError(f"{f.__qualname__} contains or is an inner function, which a kernel cannot")
        names = repr((f.__name__, code.co_consts, code.co_names, code.co_varnames, f.__defaults__, f.__annotations__))
        parts.extend((names, code.co_code))
        for name, value in _globals_of(f).items():
            if isinstance(value, FunctionType):
                parts.append(f"{name} calls {value.__module__}.{value.__qualname__}")
                visit(value)
            elif isinstance(value, int | float):
                parts.append(f"{name} = {value!r}")
            elif isinstance(value, type) and issubclass(value, tuple):
                parts.append(f"{name} = {value.__name__}{getattr(value, '_fields', ())}")
            elif value is not math:
                raise TypeError(
                    f"{f.__qualname__} reads '{name}', which is neither a number, a plain function nor a named tuple"
                )

    visit(function)
    return parts


def _numba_version() -> str:
    from importlib.metadata import version  # numba itself would take half a second to import

    return version("numba")


def _intrinsics() -> dict[Any, Any]:
    """`offset`, `take`, `integer`, `memory_at` and `call` in LLVM IR."""
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
    def native_integer(_context: Any, pointer: Any, k: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            place = builder.gep(arguments[0], [arguments[1]])
            return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()))

        return types.int64(double_p, types.int64), codegen

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
        integer: native_integer,
        memory_at: native_memory_at,
        call: native_call,
    }


_native: dict[Any, Any] = {}


def _compile(entry: Kernel) -> bytes:
    """Object code with one symbol, the kernel under its own name."""
    import llvmlite.binding as llvm

    # Versions of numba differ in which of their names have types, hence the name's module and not an import statement.
    njit: Any = import_module("numba").njit
    types: Any = import_module("numba.types")
    options = {"error_model": "numpy", "boundscheck": False, "fastmath": {"contract"}}
    options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    kinds = {int: types.int64, float: types.float64, Pointer: types.CPointer(types.float64), type(None): types.void}
    signature = kinds[entry.result](*[kinds[kind] for kind in entry.arguments])
    native = _native  # kernels share the functions they call, which numba then compiles once
    if not native:
        native.update(_intrinsics())

    def translated(function: FunctionType) -> FunctionType:
        """The same function, its globals replaced by what numba can call."""
        names: dict[str, Any] = {"__name__": function.__module__, "__builtins__": __builtins__}
        for name, value in _globals_of(function).items():
            if isinstance(value, FunctionType):
                if value not in native:
                    native[value] = njit(**options)(translated(value))
                value = native[value]
            names[name] = value
        return FunctionType(function.__code__, names, function.__name__, function.__defaults__)

    (compiled,) = njit(signature, **options)(translated(entry.python)).overloads.values()
    inner = compiled.fndesc.llvm_func_name
    module = llvm.parse_assembly(compiled.library.get_llvm_str())
    module.link_in(llvm.parse_assembly(_wrapper(entry, inner)))
    for item in (*module.functions, *module.global_variables):
        if item.name != entry.name and not item.is_declaration:
            item.linkage = "internal"
    machine.optimize(module, OPT)
    _check_self_contained(entry.name, module)
    return machine.emit(module, OPT)


def _wrapper(entry: Kernel, inner: str) -> str:
    """A function of the plain C signature around numba's `i32 inner(result *, exception **, arguments)`."""
    kinds = {int: "i64", float: "double", Pointer: "ptr"}
    typed = [f"{kinds[kind]} %a{i}" for i, kind in enumerate(entry.arguments)]
    types = "".join(f", {kinds[kind]}" for kind in entry.arguments)
    passed = "".join(f", {argument}" for argument in typed)
    result, value = ("void", "void") if entry.result is type(None) else ("i64", "i64 %value")
    return f"""
declare i32 @"{inner}"(ptr, ptr{types})
define {result} @"{entry.name}"({", ".join(typed)}) {{
  %result = alloca i64
  %exception = alloca ptr
  store i64 0, ptr %result
  %status = call i32 @"{inner}"(ptr %result, ptr %exception{passed})
  %good = icmp eq i32 %status, 0
  br i1 %good, label %done, label %bad
bad:
  call void @{RAISED}()
  br label %done
done:
  %value = load i64, ptr %result
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
