"""Machine code for WebAssembly: the same LLVM text and the same memory, as one module that stands alone.

Memory of kernels holds addresses, of functions and of other memory. All functions to which words of some arrays lead
are compiled for wasm32 and joined to one object, which is linked here; the arrays are laid out behind its own data and
the stack. Words that are addresses of functions become places in its table, which is what a call by address takes
there, and words that lead into one of the arrays become addresses in its memory. No number looks like either: the bits
of an address are those of a double below 1e-308.

An object file is a module but for its exports, its memory, its table and its stack; all else is filled in as if it were
linked alone.

    [core]      WebAssembly Core Specification 2.0, section 5, Binary format
    [object]    WebAssembly tool conventions, Object file linking
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache as cached
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import UsageError
from linkwork.native import cache, kernels, machine

Array = NDArray[np.float64]

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+simd128,+bulk-memory,+nontrapping-fptoint,+sign-ext"  # which all browsers have since 2021
MAGIC = b"\0asm\1\0\0\0"


class Bytes(IntEnum):
    """Sizes."""

    ALIGNED = 64  # as `allocate` has it
    PAGE = 2**16  # in which memory is counted
    STACK = 2**16  # where kernels keep a few numbers


class Section(IntEnum):
    """Sections of a module [core, 5.5.2], in their order but for the first; FUNCTIONS are their types."""

    CUSTOM = 0
    TYPE = 1
    IMPORT = 2
    FUNCTIONS = 3
    TABLE = 4
    MEMORY = 5
    GLOBAL = 6
    EXPORT = 7
    ELEMENT = 9
    DATA_COUNT = 12
    CODE = 10
    DATA = 11


class Flag(IntEnum):
    """Of a symbol [object]."""

    UNDEFINED = 0x10
    NAMED = 0x40


A_FUNCTION, A_TABLE, A_MEMORY, A_GLOBAL = range(4)  # what is imported or exported [core, 5.5.5]
SYMBOLS, OF_FUNCTION, OF_DATA, OF_SECTION = 8, 0, 1, 3  # a symbol table, and what its entries are [object]
FUNCREF, MUTABLE_I32, I32_CONST, END = b"\x70", b"\x7f\1", b"\x41", b"\x0b"


@dataclass(frozen=True)
class Module:
    """A module, and where in it what was asked for stands."""

    binary: bytes
    table: Mapping[str, int]  # places of the functions that it exports by these names
    arrays: Mapping[str, int]  # addresses in its memory
    heap: int  # the address from which on memory is free


def link(functions: Mapping[str, int], arrays: Mapping[str, Array]) -> Module:
    """Return a module of the functions at these addresses, of these arrays, and of all functions to which their
    words lead.
    """
    known, words = machine.loaded(), {name: array.reshape(-1).view(np.int64) for name, array in arrays.items()}
    if unknown := [name for name, address in functions.items() if address not in known]:
        raise UsageError(f"{', '.join(unknown)}: only machine code can be had as WebAssembly", "no-wasm")
    led_to = {int(x) for own in words.values() for x in own[np.isin(own, [*known])]}
    addresses = [*dict.fromkeys([*functions.values(), *sorted(led_to)])]
    linked = _read(_compile([known[address] for address in addresses]))
    place = {address: linked.first_free + k for k, address in enumerate(addresses)}
    at, layout = _aligned(linked.data_end + Bytes.STACK), dict[str, int]()
    for name, own in words.items():
        layout[name], at = at, _aligned(at + 8 * len(own))
    contents = [(layout[name], _moved(own, place, words, layout)) for name, own in words.items()]
    exports = {name: addresses.index(address) for name, address in functions.items()}
    binary = _write(linked, len(addresses), exports, contents, at)
    return Module(binary, {name: place[x] for name, x in functions.items()}, layout, at)


def _aligned(address: int) -> int:
    return -(-address // Bytes.ALIGNED) * Bytes.ALIGNED


def _moved(
    own: NDArray[np.int64], place: Mapping[int, int], words: Mapping[str, NDArray[np.int64]], layout: Mapping[str, int]
) -> bytes:
    """Return words with addresses in the module in the place of those in this process."""
    moved = own.copy()
    for address, k in place.items():
        moved[own == address] = k
    for name, array in words.items():
        start = array.ctypes.data
        leads = (own >= start) & (own < start + array.nbytes)
        moved[leads] += layout[name] - start
    return moved.tobytes().rstrip(b"\0")


@cached
def _target() -> Any:
    llvm = machine.binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(features=FEATURES, opt=kernels.OPT)


def _compile(functions: Sequence[tuple[machine.Code, str]]) -> bytes:
    """Return one object with these functions of some code; the k-th is named fk, and all others are its own."""
    sources = {code: code.source for code, _ in functions}
    names = [{name: f"f{k}" for k, (own, name) in enumerate(functions) if own is code} for code in sources]
    texts = [source.text() for source in sources.values() if source]

    def build() -> bytes:
        llvm, target = machine.binding(), _target()
        whole = llvm.parse_assembly("")
        whole.triple, whole.data_layout = TRIPLE, str(target.target_data)
        for text, source, wanted in zip(texts, sources.values(), names, strict=True):
            part = llvm.parse_bitcode(_optimized(text, bool(source and source.passes), [*wanted]))
            for f in part.functions:
                f.name = wanted.get(f.name, f.name)
            whole.link_in(part)
        manager = llvm.create_new_module_pass_manager()
        manager.add_global_dead_code_eliminate_pass()
        manager.add_merge_functions_pass()  # elementary functions, of which every part has brought its own
        manager.run(whole, llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options()))
        code: bytes = target.emit_object(whole)
        return code

    key = (TRIPLE, FEATURES, str(kernels.OPT), machine.host(), str(names), *texts)
    return cache.cached(key, lambda: machine.beside(build))


def _optimized(text: str, passes: bool, wanted: Sequence[str]) -> bytes:
    """Return a text as bitcode, its functions its own but for those that are wanted.

    Kernels are the same for all mechanisms, and optimizing them takes longer than all else: that is done once.
    """

    def build() -> bytes:
        llvm, target = machine.binding(), _target()
        part = llvm.parse_assembly(text)
        part.triple, part.data_layout = TRIPLE, str(target.target_data)
        for f in part.functions:
            if f.name not in wanted and not f.is_declaration:
                f.linkage = "internal"
        if passes:
            machine.optimize(part, target)
        code: bytes = part.as_bitcode()
        return code

    key = (TRIPLE, FEATURES, str(kernels.OPT), machine.host(), str(wanted), text)
    return cache.cached(key, build) if passes else build()


class _Bytes:
    """Bytes that are read from the front."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """Return an integer in LEB128; those that are read here have no sign."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def text(self) -> str:
        return self.take(self.number()).decode()


class _Linked(NamedTuple):
    """What an object says."""

    sections: dict[int, bytes]
    numbers: dict[str, int]  # of the functions that it defines, by name
    elements: bytes  # its own part of the table
    first_free: int  # place of the table
    data_end: int


def _read(binary: bytes) -> _Linked:
    sections, index, data_end = dict[int, bytes](), dict[str, int](), 0
    whole = _Bytes(binary)
    if whole.take(len(MAGIC)) != MAGIC:
        raise ValueError("no WebAssembly")
    while whole:
        kind, body = whole.byte(), whole.take(whole.number())
        if kind == Section.CUSTOM:
            custom = _Bytes(body)
            if custom.text() == "linking":
                index = dict(_symbols(custom))
        else:
            sections[kind] = body
    if missing := [*_imported_functions(_Bytes(sections.pop(Section.IMPORT)))]:
        raise KeyError(f"the module would take {', '.join(missing)} from where it runs")
    segments = _Bytes(sections.get(Section.DATA, b"\0"))
    for _ in range(segments.number()):
        segments.number()
        start = _constant(segments)
        data_end = start + len(segments.take(segments.number()))
    elements, first_free = b"", 1  # 0 is no function
    if Section.ELEMENT in sections:
        own = _Bytes(sections[Section.ELEMENT])
        own.number()
        elements = own.data[own.at :]
        own.number()
        first_free = _constant(own) + own.number()
    return _Linked(sections, index, elements, first_free, data_end)


def _constant(data: _Bytes) -> int:
    """Return the number in `i32.const n end`, not negative."""
    data.take(len(I32_CONST))
    number = data.number()
    data.take(len(END))
    return number


def _imported_functions(data: _Bytes) -> Iterator[str]:
    """Yield names of functions that are imported, besides memory, table and stack pointer."""
    for _ in range(data.number()):
        data.text()
        name, kind = data.text(), data.byte()
        if kind == A_FUNCTION:
            data.number()
            yield name
        elif kind == A_GLOBAL:
            data.take(len(MUTABLE_I32))
        else:
            data.take(len(FUNCREF) if kind == A_TABLE else 0)
            has_most = data.byte()
            data.number()
            if has_most & 1:
                data.number()


def _symbols(data: _Bytes) -> Iterator[tuple[str, int]]:
    """Yield functions that are defined, with their numbers."""
    data.number()  # the version
    while data:
        kind, body = data.byte(), _Bytes(data.take(data.number()))
        for _ in range(body.number() if kind == SYMBOLS else 0):
            what, flags = body.byte(), body.number()
            if what == OF_SECTION:
                body.number()
            elif what == OF_DATA:
                body.text()
                for _ in range(0 if flags & Flag.UNDEFINED else 3):
                    body.number()
            else:
                number = body.number()
                name = body.text() if not flags & Flag.UNDEFINED or flags & Flag.NAMED else ""
                if what == OF_FUNCTION and not flags & Flag.UNDEFINED:
                    yield name, number


def _number(value: int, last: int = 127) -> bytes:
    """Encode as LEB128; `last` is the largest value of its last byte, half of all where the number could have a
    sign.
    """
    found = bytearray()
    while value > last:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _vector(items: Sequence[bytes]) -> bytes:
    return _number(len(items)) + b"".join(items)


def _text(name: str) -> bytes:
    return _number(len(name.encode())) + name.encode()


def _at(address: int) -> bytes:
    return I32_CONST + _number(address, 63) + END


def _write(
    linked: _Linked, count: int, exports: Mapping[str, int], contents: Sequence[tuple[int, bytes]], heap: int
) -> bytes:
    """Return the module: memory, table and stack pointer are its own, and the last may be the only variable."""
    own = [linked.numbers[f"f{k}"] for k in range(count)]
    elements = [linked.elements] if linked.elements else []
    elements.append(b"\0" + _at(linked.first_free) + _vector([_number(x) for x in own]))
    segments = _Bytes(linked.sections.get(Section.DATA, b"\0"))
    n_segments = segments.number()
    filled = [b"\0" + _at(at) + _number(len(data)) + data for at, data in contents if data]
    named = [(name, A_FUNCTION, own[k]) for name, k in exports.items()]
    named += [("memory", A_MEMORY, 0), ("table", A_TABLE, 0)]
    stack = _aligned(linked.data_end) + Bytes.STACK
    sections = {
        **linked.sections,
        Section.TABLE: _vector([FUNCREF + b"\0" + _number(linked.first_free + count)]),
        Section.MEMORY: _vector([b"\0" + _number(-(-heap // Bytes.PAGE))]),
        Section.GLOBAL: _vector([MUTABLE_I32 + _at(stack)]),
        Section.EXPORT: _vector([_text(name) + bytes([kind]) + _number(k) for name, kind, k in named]),
        Section.ELEMENT: _vector(elements),
        Section.DATA_COUNT: _number(n_segments + len(filled)),
        Section.DATA: _number(n_segments + len(filled)) + segments.data[segments.at :] + b"".join(filled),
    }
    return MAGIC + b"".join(bytes([k]) + _number(len(sections[k])) + sections[k] for k in Section if k in sections)
