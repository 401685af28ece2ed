"""Plain Python functions on numbers and pointers as machine code.

    @kernel
    def scale(x: Pointer, n: int, factor: float) -> None:
        for i in range(n):
            x[i] *= factor

    scale(array, len(array), 2.0)      # from Python
    scale.address                      # void (*)(double *, int64_t, double), for other machine code

The annotations are the C signature: int, float and Pointer (to doubles) as arguments, int or None as result. A kernel
may call other plain functions and hand them on to these, `math`, `offset`, `take`, `split`, `integer`,
`put_integer`, `add_four`, `memory_at` and `call`, make named tuples and `Memory`, and read global numbers, tables of
them and of functions, and enumerations of integers. It allocates nothing and raises nothing, so that its object code
stands alone. `kernel.python` is the function itself, to be stepped through with NumPy arrays as pointers.

A kernel goes from Python to LLVM text (translation.py) and from there to object code for the processor at hand when it
is first needed; the object code is cached.

The memory of a kernel is described once, by a plain function that takes it apart:

    class Work(Memory):
        n: int
        gaps: Pointer
        trial: Pointer
        steps: int
        size: float
        rest: Pointer

    def work(w: Pointer, n: int, m: int) -> Work:
        return Work(n, *split(w, (2 * m, 1 + n, 1, 1)))

The kernel calls it for its places, `size_of(work, n, m)` says how many doubles they are, and stepped through as Python
every place is an array of its own size, so that nothing can be written beside it. A place that the class has as int,
float or bool is a number in memory, of 64 bits: `at.steps += 1` changes it there, and Python does so likewise. What is
given as a number, as n is here, is no place and stays. What a description reads, sizes and addresses, stays as it is
while the kernel runs.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dis import EXTENDED_ARG, opmap
from enum import IntEnum
from functools import cache as cache_results
from functools import cached_property, partial
from itertools import accumulate, pairwise, zip_longest
from pathlib import Path
from threading import RLock
from types import CodeType, FunctionType
from typing import Annotated, Any, ClassVar, Self, TypeAlias, dataclass_transform, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from linkwork.native import cache, interpreted, machine

Pointer: TypeAlias = NDArray[np.float64]
Shared: TypeAlias = Annotated[Pointer, "shared"]  # memory of which there is one for all lanes, see in_lanes.py
Size: TypeAlias = Annotated[int, "size"]  # a number in memory that is the same in all of them: a size, an address

OPT = 2  # of the code generator
LOAD_GLOBAL = opmap["LOAD_GLOBAL"]
_loading = RLock()


def offset(pointer: Pointer, n: int) -> Pointer:
    """Return the pointer `n` doubles further on."""
    return pointer[n:]


def take(pointer: Pointer, count: int) -> tuple[Pointer, Pointer]:
    """Return the next `count` doubles, and what lies behind them."""
    return pointer[:count], pointer[count:]


def split(pointer: Pointer, counts: tuple[int, ...]) -> tuple[Any, ...]:
    """Return so many doubles one behind the other, and what lies behind them all."""
    ends = [*accumulate(counts, initial=0)]
    return (*[pointer[i:j] for i, j in pairwise(ends)], pointer[ends[-1] :])


def integer(pointer: Pointer, k: int) -> int:
    """Return the 64 bits of the k-th double as an integer: sizes and addresses stand so among numbers."""
    return int(pointer[k : k + 1].view(np.int64)[0])


def put_integer(pointer: Pointer, k: int, value: int) -> None:
    """Put an integer where `integer` finds it."""
    pointer[k : k + 1].view(np.int64)[0] = value


def add_four(y: Pointer, s: float, x: Pointer) -> None:
    """Add y += s x of four doubles."""
    y[:4] += s * x[:4]


def memory_at(address: int, count: int) -> Pointer:
    """Return the `count` doubles that begin at an address: memory that is kept between calls of machine code."""
    return np.ctypeslib.as_array((ctypes.c_double * count).from_address(address))


def shared_at(address: int, count: int) -> Shared:
    """Return likewise doubles of which there is one for all lanes."""
    return memory_at(address, count)


class _Number:
    """A number in memory that an attribute reads and stores; one that was given as such is only read."""

    def __init__(self, name: str, kind: type) -> None:
        self.name, self.kind = name, kind
        self.bits = np.float64 if kind is float else np.int64

    def __get__(self, memory: Memory, _: type) -> Any:
        place = memory._open(self.name)
        return self.kind(place.view(self.bits)[0]) if isinstance(place, np.ndarray) else place

    def __set__(self, memory: Memory, value: float) -> None:
        memory._open(self.name).view(self.bits)[0] = value


@dataclass_transform()
class Memory:
    """Places in the memory of a kernel by name: vectors, and numbers of the types that the class states."""

    _fields: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(cls.__annotations__)
        for name, kind in get_type_hints(cls).items():
            if kind in (bool, int, float):
                setattr(cls, name, _Number(name, kind))

    def __init__(self, *places: Any) -> None:
        self.__dict__.update(zip(self._fields, places, strict=True))

    @classmethod
    def over(cls, m: Pointer, places: Mapping[str, Any]) -> Self:
        """Return the places in m that `slices_of` has found, each opened when it is first asked for."""
        made = object.__new__(cls)
        made.__dict__["_m"], made.__dict__["_places"] = m, places
        return made

    def _open(self, name: str) -> Any:
        if name not in self.__dict__:
            part = self.__dict__["_places"][name]
            self.__dict__[name] = self.__dict__["_m"][part] if isinstance(part, slice) else part
        return self.__dict__[name]

    def __getattr__(self, name: str) -> Any:
        if name not in self._fields:
            raise AttributeError(name)
        return self._open(name)

    def __iter__(self) -> Iterator[Any]:
        """Return the places themselves."""
        return iter(self.__dict__.values())


class _Ruler:
    """Stands for a pointer where only sizes are asked for."""

    def __init__(self, place: int = 0) -> None:
        self.place = place

    def __getitem__(self, part: slice) -> _Ruler:
        return _Ruler(self.place + (part.start or 0))


@cache_results
def size_of(places: Callable[..., Memory | tuple[Any, ...]], *sizes: int) -> int:
    """Return how many doubles a description of memory takes: where the last of its places, the rest, begins."""
    *_, rest = places(_Ruler(), *sizes)
    return int(rest.place)


@cache_results
def offsets_of(places: Callable[..., Any], *sizes: int) -> Any:
    """Return a description of memory with the number of its first double for every place."""
    made = places(_Ruler(), *sizes)
    return type(made)(*(x.place if isinstance(x, _Ruler) else x for x in made))


@cache_results
def slices_of(places: Callable[..., Memory], *sizes: int) -> dict[str, Any]:
    """Return for every place of a described memory its part, beside the numbers that were given."""
    made = places(_Ruler(), *sizes).__dict__
    first = {name: x.place for name, x in made.items() if isinstance(x, _Ruler)}
    return made | {name: slice(a, b) for (name, a), b in zip_longest(first.items(), [*first.values()][1:])}


def call(address: int, x: Pointer, p: Pointer, y: Pointer, w: Pointer) -> None:
    """Call machine code of the one native signature, void f(const double *x, const double *p, double *y, double *w)."""
    if machine.missing():
        interpreted.find(address)(x, p, y, w)
        return
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address)(*map(machine.pointer_to, (x, p, y, w)))


def call_in_lanes(address: int, lanes: int, *pointers: Pointer) -> None:
    """Call machine code for many lanes, see in_lanes.py; the bits of `lanes` tell which count."""
    given = [ctypes.c_void_p] * len(pointers)
    ctypes.CFUNCTYPE(None, *given, ctypes.c_int64)(address)(*map(machine.pointer_to, pointers), lanes)


class Kernel:
    """A function as machine code: called from Python with numbers and arrays, from machine code by its address."""

    def __init__(self, function: FunctionType) -> None:
        self.python = function
        self.name = function.__name__
        self.__doc__ = function.__doc__
        self._code: machine.Code | None = None
        self._in_lanes: dict[int, machine.Code] = {}

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    @cached_property
    def hints(self) -> dict[str, Any]:
        return get_type_hints(self.python, include_extras=True)

    @property
    def result(self) -> Any:
        return self.hints["return"]

    @property
    def arguments(self) -> tuple[Any, ...]:
        hints = (self.hints[name] for name in parameters_of(self.python))
        return tuple(get_args(hint)[0] if get_origin(hint) is Annotated else hint for hint in hints)

    @property
    def address(self) -> int:
        if self._code is None:
            with _loading:  # two threads must not both load it: one of the addresses would not last
                if self._code is None:
                    self._code = self._load()
        return self._code.addresses[self.name]

    def _load(self) -> machine.Code:
        if machine.missing():
            return interpreted.load({self.name: interpreted.unbounded(self.python)})
        key = (*_recipe(), machine.host(), *_content(self.python))
        compiled = cache.cached(key, lambda: machine.assemble(self._text(), OPT, passes=True))
        return machine.load(compiled, [self.name], machine.Source(self._text, OPT, passes=True))

    def _text(self) -> str:
        return self._translated

    @cached_property
    def _translated(self) -> str:
        """The text that is asked for once to load the kernel, and again for every module of WebAssembly."""
        from linkwork.native.translation import translate

        return translate(self)

    def in_lanes(self, count: int) -> machine.Code:
        """Return code that does in so many lanes what the kernel does alone, see in_lanes.py; it is kept."""
        if count not in self._in_lanes:
            with _loading:
                if count not in self._in_lanes:
                    self._in_lanes[count] = self._load_in_lanes(count)
        return self._in_lanes[count]

    def _load_in_lanes(self, count: int) -> machine.Code:
        def write() -> str:
            from linkwork.native.in_lanes import translate_in_lanes

            return translate_in_lanes(self, count)

        key = (*_recipe(), machine.host(), f"{count} lanes", *_content(self.python))
        compiled = cache.cached(key, lambda: machine.assemble(write(), OPT, passes=True))
        return machine.load(compiled, [self.name], machine.Source(write, OPT, passes=True))

    @cached_property
    def _entry(self) -> Callable[..., Any]:
        if machine.missing():
            return self.python
        kinds: dict[Any, Any] = {int: ctypes.c_int64, float: ctypes.c_double, Pointer: ctypes.c_void_p}
        result = None if self.result is type(None) else ctypes.c_int64
        return ctypes.CFUNCTYPE(result, *[kinds[kind] for kind in self.arguments])(self.address)

    def __call__(self, *arguments: float | Pointer) -> Any:
        return self._entry(*map(_as_argument, arguments))

    def bind(self, *arrays: Pointer) -> Callable[..., Any]:
        """Return the kernel with its first arguments given; asking for their addresses takes longer than some calls."""
        return partial(self._entry, *map(_as_argument, arrays))


def kernel(function: Callable[..., int | None]) -> Kernel:
    """Make a kernel of an annotated function; it is compiled or loaded when its address is first asked for."""
    if not isinstance(function, FunctionType):
        raise TypeError(f"a kernel is a plain function, not {function!r}")
    return Kernel(function)


def _as_argument(argument: float | Pointer) -> Any:
    """Return a number as it is; of an array where it begins, or where Python computes, all that it holds in a row."""
    if not isinstance(argument, np.ndarray):
        return argument
    if argument.dtype.char != "d" or not argument.flags.carray:
        raise TypeError("a kernel takes contiguous writeable arrays of float64")
    return argument.reshape(-1) if machine.missing() else machine.pointer_to(argument)


def parameters_of(function: FunctionType) -> tuple[str, ...]:
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def read_globals(function: FunctionType) -> dict[str, Any]:
    """Return the global names a function reads, with their values.

    Names of attributes and built-ins are not among them.
    """
    code, names = function.__code__, set()
    ops, arguments = code.co_code[::2], code.co_code[1::2]
    k = ops.find(LOAD_GLOBAL)
    while k >= 0:  # as `dis` does, in a fraction of the time
        argument, before = arguments[k], 1
        while ops[k - before] == EXTENDED_ARG:
            argument |= arguments[k - before] << 8 * before
            before += 1
        names.add(code.co_names[argument >> 1])  # its last bit says that a call follows
        k = ops.find(LOAD_GLOBAL, k + 1)
    return {name: function.__globals__[name] for name in sorted(names) if name in function.__globals__}


Parts: TypeAlias = list[str | bytes]


def _content(function: FunctionType) -> Parts:
    """Return everything the compiled code depends on: the bytecode of the function and of all it calls, and
    constants.
    """
    parts: Parts = []
    # Those that instructions.py writes:
    seen: set[Any] = {
        offset, take, split, integer, put_integer, add_four, memory_at, shared_at, call, call_in_lanes,
    }  # fmt: skip

    def visit(f: FunctionType) -> None:
        if f in seen:
            return
        seen.add(f)
        if f.__closure__ or any(isinstance(constant, CodeType) for constant in f.__code__.co_consts):
            raise TypeError(f"{f.__qualname__} contains or is an inner function, which a kernel cannot")
        parts.extend((f.__name__, *_bytecode(f)))
        for name, value in read_globals(f).items():
            note(f, name, value)

    def note(f: FunctionType, name: str, value: Any) -> None:
        if isinstance(value, FunctionType):
            parts.append(f"{name} calls {value.__module__}.{value.__qualname__}")
            visit(value)
        elif isinstance(value, tuple):
            parts.append(f"{name} has {len(value)}")
            for part in value:
                note(f, name, part)
        elif isinstance(value, int | float | complex):
            parts.append(f"{name} = {value!r}")
        elif isinstance(value, type) and issubclass(value, IntEnum):
            parts.append(f"{name} = {list(value)}")
        elif isinstance(value, type) and issubclass(value, tuple | Memory):
            parts.append(f"{name} = {value.__name__}{value.__annotations__}")
        elif value is not math:
            raise TypeError(
                f"{f.__qualname__} reads '{name}': no number, enumeration, plain function, named tuple or memory"
            )

    visit(function)
    return parts


def _bytecode(f: FunctionType) -> Parts:
    code = f.__code__
    names = repr((code.co_consts, code.co_names, code.co_varnames, f.__defaults__, f.__annotations__))
    return [names, code.co_code]


@cache_results
def _recipe() -> Parts:
    """Return how text and object code of kernels are made here."""
    names = ("kernels", "translation", "instructions", "in_lanes", "masks", "elementary", "machine")
    sources = (Path(__file__).with_name(f"{name}.py") for name in names)
    return [sys.version, *(source.read_bytes() for source in sources)]
