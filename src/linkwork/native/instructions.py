"""Values of kernels, and the instructions of LLVM on them.

A value is of a kind: bool, int, float, complex, Pointer, a number in memory, or a tuple of these, which is nothing in
LLVM but its numbers; a description of memory is such a tuple.
Variables are memory on the stack, which LLVM makes registers of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from types import FunctionType
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from linkwork.native import kernels
from linkwork.native.elementary import PAIR, PARTS_OF, call, float_bits
from linkwork.native.kernels import Memory, Pointer

WIDENING = (bool, int, float, complex)  # one can stand for all before it
TYPES: dict[Any, tuple[str, ...]] = {
    **{bool: ("i1",), int: ("i64",), float: ("double",), complex: ("double", "double"), Pointer: ("ptr",)},
    type(None): (),
}
PREDICATES: dict[type[ast.cmpop], tuple[str, str]] = {  # of integers and of floats
    ast.Lt: ("slt", "olt"), ast.LtE: ("sle", "ole"), ast.Gt: ("sgt", "ogt"),
    ast.GtE: ("sge", "oge"), ast.Eq: ("eq", "oeq"), ast.NotEq: ("ne", "une"),
}  # fmt: skip


class Shape(NamedTuple):
    """The kind of a tuple."""

    cls: type
    kinds: tuple[Any, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(self.cls.__annotations__)


class Cell(NamedTuple):
    """The kind of a number in memory: a pointer to 64 bits, which are read and stored as bool, int or float."""

    kind: Any

    @property
    def bits(self) -> str:
        return "double" if self.kind is float else "i64"

    @property
    def types(self) -> tuple[str, ...]:
        return ("ptr",)


class Made(NamedTuple):
    """The kind of a description of memory that is handed on as the arguments from which it can be made again."""

    function: Any
    kinds: tuple[Any, ...]


class Value(NamedTuple):
    """What an expression is: operands of LLVM, two of a complex number; of a tuple its values."""

    kind: Any
    parts: tuple[Any, ...]
    made: tuple[FunctionType, tuple[Value, ...]] | None = None  # of a description: by which function, from what


class Wider(Exception):
    """A variable turned out to be of a wider kind than it began with."""


@cache
def kind_of(annotation: Any) -> Any:
    """Return the kind that an annotation tells, or nothing: then the argument does."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if annotation in TYPES:
        return annotation
    if get_origin(annotation) is tuple:
        return Shape(tuple, tuple(map(kind_of, get_args(annotation))))
    if isinstance(annotation, type) and issubclass(annotation, tuple | Memory):
        hints = get_type_hints(annotation)
        return Shape(annotation, tuple(kind_of(hints[name]) for name in annotation.__annotations__))
    return None


def types_of(kind: Any) -> tuple[str, ...]:
    """Return the LLVM types of the numbers that are a value of this kind."""
    if hasattr(kind, "types"):  # it says so itself
        return tuple[str, ...](kind.types)
    return tuple(t for inner in kind.kinds for t in types_of(inner)) if isinstance(kind, Shape | Made) else TYPES[kind]


def operands_of(value: Value) -> tuple[str, ...]:
    if isinstance(value.kind, Shape | Made):
        return tuple(operand for part in value.parts for operand in operands_of(part))
    return value.parts


def value_of(kind: Any, operands: Iterator[str]) -> Value:
    """Return the value of a kind that consists of the next operands."""
    if isinstance(kind, Shape | Made):
        return Value(kind, tuple(value_of(inner, operands) for inner in kind.kinds))
    return Value(kind, tuple(next(operands) for _ in types_of(kind)))


def hand_on(value: Value) -> Value:
    """Return the value as it is handed to a function: a description has many places, and is made from few numbers."""
    if value.made is None:
        return value
    function, given = value.made
    parts = tuple(map(hand_on, given))
    return Value(Made(function, tuple(part.kind for part in parts)), parts)


def tuple_of(parts: Sequence[Value]) -> Value:
    return Value(Shape(tuple, tuple(part.kind for part in parts)), tuple(parts))


def constant(number: Any) -> Value:
    if isinstance(number, tuple):
        return tuple_of([constant(x) for x in number])
    if isinstance(number, complex):
        return Value(complex, (float_bits(number.real), float_bits(number.imag)))
    if isinstance(number, float):
        return Value(float, (float_bits(number),))
    return Value(type(number), (str(int(number)),))


def wider(a: Any, b: Any) -> Any:
    """Return the kind that can stand for both."""
    if a == b:
        return a
    if a in WIDENING and b in WIDENING:
        return max(a, b, key=WIDENING.index)
    if isinstance(a, Shape) and isinstance(b, Shape) and a.cls is b.cls and len(a.kinds) == len(b.kinds):
        return Shape(a.cls, tuple(map(wider, a.kinds, b.kinds)))
    raise TypeError(f"{a} and {b} are of different kinds")


def _is_memory(a: Any, b: Any) -> bool:
    """Return whether both are descriptions of the same memory: what is a cell there only the one that was made
    knows.
    """
    return isinstance(a, Shape) and isinstance(b, Shape) and a.cls is b.cls and issubclass(a.cls, Memory)


class Writer:
    """The lines of a function in LLVM; `kinds` are those of its variables as far as they are known."""

    def __init__(self, kinds: dict[str, Any]) -> None:
        self.kinds = kinds
        self.lines: list[str] = []
        self.places: dict[str, list[str]] = {}  # of the variables in memory
        self.count, self.ended = 0, False
        self.described, self.places_described = 0, 0  # whether places are described now; lines that do so

    def stack(self) -> list[str]:
        """Return the lines that make room for the variables."""
        return [
            f"  {place} = alloca {t}"
            for name, places in self.places.items()
            for place, t in zip(places, types_of(self.kinds[name]), strict=True)
        ]

    def line(self, text: str) -> None:
        self.lines.append("  " + text)
        self.places_described += self.described > 0

    def emit(self, text: str) -> str:
        """Return the register with the result of an instruction."""
        self.count += 1
        self.line(f"%r{self.count} = {text}")
        return f"%r{self.count}"

    def company(self) -> list[str]:
        """Return what is handed to every function beside its arguments."""
        return []

    def labels(self, *names: str) -> list[str]:
        self.count += 1
        return [f"{name}.{self.count}" for name in names]

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.ended = False

    def jump(self, label: str) -> None:
        if not self.ended:
            self.line(f"br label %{label}")
            self.ended = True

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.line(f"br i1 {condition}, label %{yes}, label %{no}")
        self.ended = True

    def store(self, name: str, value: Value) -> None:
        kind = wider(self.kinds.setdefault(name, value.kind), value.kind)
        if kind != self.kinds[name]:
            self.kinds[name] = kind
            raise Wider
        types = types_of(kind)
        places = self.places.setdefault(name, [f'%"{name}.{k}"' for k in range(len(types))])
        for place, t, operand in zip(places, types, operands_of(self.convert(value, kind)), strict=True):
            self.line(f"store {t} {operand}, ptr {place}")

    def load(self, name: str, field: int | None = None) -> Value:
        """Return the variable, or one of the values of a tuple."""
        kind, places = self.kinds[name], self.places[name]
        if field is not None:
            first = sum(len(types_of(before)) for before in kind.kinds[:field])
            kind = kind.kinds[field]
            places = places[first : first + len(types_of(kind))]
        loads = [self.emit(f"load {t}, ptr {place}") for t, place in zip(types_of(kind), places, strict=True)]
        return value_of(kind, iter(loads))

    def convert(self, value: Value, kind: Any) -> Value:
        if value.kind == kind or _is_memory(value.kind, kind):
            return value
        if isinstance(kind, Shape) and isinstance(value.kind, Shape) and len(kind.kinds) == len(value.parts):
            return Value(kind, tuple(map(self.convert, value.parts, kind.kinds)))
        if wider(value.kind, kind) != kind:
            raise TypeError(f"{value.kind} cannot stand for {kind}")
        if kind is complex:
            return Value(complex, (*self.convert(value, float).parts, float_bits(0.0)))
        if kind is int:
            return Value(int, (self.emit(f"zext i1 {value.parts[0]} to i64"),))
        if value.kind is int and value.parts[0].lstrip("-").isdigit():
            return constant(float(int(value.parts[0])))
        how = "uitofp i1" if value.kind is bool else "sitofp i64"
        return Value(float, (self.emit(f"{how} {value.parts[0]} to double"),))

    def describe(self, value: Value, cls: type) -> Value:
        """Return a description from its places, of which those of numbers are cells of their types."""
        kind = kind_of(cls)
        if len(value.parts) != len(kind.kinds):
            raise TypeError(f"{cls.__name__} has {len(kind.kinds)} places, not {len(value.parts)}")
        parts = [
            Value(Cell(inner), part.parts) if part.kind == Pointer and inner in (bool, int, float) else part
            for part, inner in zip(value.parts, kind.kinds, strict=True)
        ]
        return Value(Shape(cls, tuple(part.kind for part in parts)), tuple(parts))

    def read(self, value: Value) -> Value:
        """Return the number in a cell; any other value is itself."""
        if not isinstance(value.kind, Cell):
            return value
        bits = self.emit(f"load {value.kind.bits}, ptr {value.parts[0]}")
        return (
            Value(bool, (self.emit(f"icmp ne i64 {bits}, 0"),))
            if value.kind.kind is bool
            else Value(value.kind.kind, (bits,))
        )

    def put(self, cell: Value, value: Value) -> None:
        """Store a number in a cell."""
        if not isinstance(cell.kind, Cell):
            raise TypeError("what was given as a number is not stored")
        number = self.convert(value, cell.kind.kind)
        number = self.convert(number, int) if number.kind is bool else number
        self.line(f"store {cell.kind.bits} {number.parts[0]}, ptr {cell.parts[0]}")

    def beyond(self, pointer: Value, n: Value) -> Value:
        """Return the pointer so many doubles further on."""
        if pointer.kind != Pointer:
            raise TypeError(f"{pointer.kind} is not a pointer")
        index = self.convert(n, int).parts[0]
        if index == "0":
            return pointer
        return Value(Pointer, (self.emit(f"getelementptr inbounds double, ptr {pointer.parts[0]}, i64 {index}"),))

    def read_at(self, place: Value, kind: Any = float, about: str = "") -> Value:
        """Return the double or integer at a place."""
        return Value(kind, (self.emit(f"load {TYPES[kind][0]}, ptr {place.parts[0]}{about}"),))

    def put_at(self, place: Value, value: Value, kind: Any = float) -> None:
        self.line(f"store {TYPES[kind][0]} {self.convert(value, kind).parts[0]}, ptr {place.parts[0]}")

    def truth(self, value: Value) -> str:
        if value.kind is bool:
            return str(value.parts[0])
        if value.kind is int:
            return self.emit(f"icmp ne i64 {value.parts[0]}, 0")
        return self.emit(f"fcmp une double {self.convert(value, float).parts[0]}, {float_bits(0.0)}")

    def compare(self, op: ast.cmpop, left: Value, right: Value) -> str:
        of_integers, of_floats = PREDICATES[type(op)]
        kind = wider(wider(left.kind, right.kind), int)
        (a,), (b,) = self.convert(left, kind).parts, self.convert(right, kind).parts
        return self.emit(f"icmp {of_integers} i64 {a}, {b}" if kind is int else f"fcmp {of_floats} double {a}, {b}")

    def combine(self, op: ast.operator, left: Value, right: Value) -> Value:
        """Combine left op right, as Python has it."""
        if isinstance(op, ast.Pow):
            return self.power(left, right)
        kind = wider(wider(left.kind, right.kind), float if isinstance(op, ast.Div) else int)
        a, b = self.convert(left, kind).parts, self.convert(right, kind).parts
        if kind is int and isinstance(op, ast.FloorDiv | ast.Mod):
            return self.divide_integers(a[0], b[0], isinstance(op, ast.Mod))
        if isinstance(op, ast.Mult):
            return self.multiply(Value(kind, a), Value(kind, b))
        if isinstance(op, ast.Add | ast.Sub):
            name = "add" if isinstance(op, ast.Add) else "sub"
            if kind is int:
                return Value(int, (self.emit(f"{name} nsw i64 {a[0]}, {b[0]}"),))
            return Value(kind, tuple(self.arithmetic(name, x, y) for x, y in zip(a, b, strict=True)))
        if isinstance(op, ast.Div) and right.kind is not complex:
            return Value(kind, tuple(self.arithmetic("div", part, b[0]) for part in a))
        raise TypeError(f"{type(op).__name__} of {left.kind.__name__} and {right.kind.__name__} is not written")

    def arithmetic(self, operation: str, a: str, b: str) -> str:
        """Write an operation on two doubles."""
        return self.emit(f"f{operation} double {a}, {b}")

    def multiply_complex(self, a: Sequence[str], b: Sequence[str]) -> Value:
        real = self.arithmetic("sub", self.arithmetic("mul", a[0], b[0]), self.arithmetic("mul", a[1], b[1]))
        imaginary = self.arithmetic("add", self.arithmetic("mul", a[0], b[1]), self.arithmetic("mul", a[1], b[0]))
        return Value(complex, (real, imaginary))

    def divide_integers(self, a: str, b: str, remainder: bool) -> Value:
        """Divide and round downwards, as Python does, and not towards zero."""
        rest = self.emit(f"srem i64 {a}, {b}")
        nonzero, signs = self.emit(f"icmp ne i64 {rest}, 0"), self.emit(f"xor i64 {rest}, {b}")
        beyond = self.emit(f"and i1 {nonzero}, {self.emit(f'icmp slt i64 {signs}, 0')}")
        if remainder:
            return Value(int, (self.emit(f"add i64 {rest}, {self.emit(f'select i1 {beyond}, i64 {b}, i64 0')}"),))
        less = self.emit(f"sext i1 {beyond} to i64")
        return Value(int, (self.emit(f"add i64 {self.emit(f'sdiv i64 {a}, {b}')}, {less}"),))

    def power(self, base: Value, exponent: Value) -> Value:
        text = exponent.parts[0]
        if exponent.kind is int and text.isdigit() and 0 < int(text) < 9:  # by products, each of two powers before
            return self.power_by_products(base, int(text))
        if base.kind is int and exponent.kind is int:
            raise TypeError("a power of integers is an integer or not, as the exponent says")
        return self.apply("pow", [base, exponent])

    def power_by_products(self, base: Value, exponent: int) -> Value:
        if exponent == 1:
            return base
        half = self.power_by_products(base, exponent // 2)
        square = self.multiply(half, half)
        return self.multiply(square, base) if exponent % 2 else square

    def multiply(self, a: Value, b: Value) -> Value:
        if a.kind is complex:
            return self.multiply_complex(a.parts, b.parts)
        if a.kind is float:
            return Value(float, (self.arithmetic("mul", a.parts[0], b.parts[0]),))
        return Value(int, (self.emit(f"mul nsw i64 {a.parts[0]}, {b.parts[0]}"),))

    def apply(self, name: str, values: Sequence[Value]) -> Value:
        """Return an elementary function."""
        numbers = [self.convert(value, float).parts[0] for value in values]
        if name not in PARTS_OF:
            return Value(float, (self.emit(call(name, numbers)),))
        function, part = PARTS_OF[name]
        return Value(float, (self.emit(f"extractvalue {PAIR} {self.emit(call(function, numbers))}, {part}"),))

    def take(self, pointer: Value, count: Value) -> Value:
        return tuple_of([pointer, self.beyond(pointer, count)])

    def split(self, pointer: Value, counts: Value) -> Value:
        places = [pointer]
        for count in counts.parts:
            places.append(self.beyond(places[-1], count))
        return tuple_of(places)

    def integer(self, pointer: Value, k: Value) -> Value:
        return self.read_at(self.beyond(pointer, k), int, ", !invariant.load !0" if self.described else "")

    def put_integer(self, pointer: Value, k: Value, value: Value) -> Value:
        self.put_at(self.beyond(pointer, k), value, int)
        return Value(type(None), ())

    def add_four(self, y: Value, s: Value, x: Value) -> Value:
        """Return one instruction of a vector each where the processor has them."""
        four, (to,), (start,) = "<4 x double>", y.parts, x.parts
        first = self.emit(f"insertelement {four} poison, double {self.convert(s, float).parts[0]}, i64 0")
        factors = self.emit(f"shufflevector {four} {first}, {four} poison, <4 x i32> zeroinitializer")
        old, others = (self.emit(f"load {four}, ptr {part}, align 8") for part in (to, start))
        product = self.emit(f"fmul {four} {factors}, {others}")
        self.line(f"store {four} {self.emit(f'fadd {four} {old}, {product}')}, ptr {to}, align 8")
        return Value(type(None), ())

    def memory_at(self, address: Value, _: Value) -> Value:
        return Value(Pointer, (self.emit(f"inttoptr i64 {address.parts[0]} to ptr"),))

    def shared_at(self, address: Value, count: Value) -> Value:
        return self.memory_at(address, count)

    def call_address(self, address: Value, *pointers: Value) -> Value:
        function = self.emit(f"inttoptr i64 {address.parts[0]} to ptr")
        self.line(f"call void {function}({', '.join(f'ptr {pointer.parts[0]}' for pointer in pointers)})")
        return Value(type(None), ())

    def call_in_lanes(self, address: Value, lanes: Value, *pointers: Value) -> Value:
        function = self.emit(f"inttoptr i64 {address.parts[0]} to ptr")
        given = [*(f"ptr {pointer.parts[0]}" for pointer in pointers), f"i64 {lanes.parts[0]}"]
        self.line(f"call void {function}({', '.join(given)})")
        return Value(type(None), ())

    def least(self, op: ast.cmpop, *values: Value) -> Value:
        """Return the first of min or max that no later one is below, or above."""
        kind = values[0].kind
        for value in values:
            kind = wider(kind, value.kind)
        first, *others = (self.convert(value, kind) for value in values)
        (best,), t = first.parts, TYPES[kind][0]
        for (x,) in (other.parts for other in others):
            is_better = self.compare(op, Value(kind, (x,)), Value(kind, (best,)))
            best = self.emit(f"select i1 {is_better}, {t} {x}, {t} {best}")
        return Value(kind, (best,))

    def minimum(self, *values: Value) -> Value:
        return self.least(ast.Lt(), *values)

    def maximum(self, *values: Value) -> Value:
        return self.least(ast.Gt(), *values)

    def absolute(self, value: Value) -> Value:
        if value.kind is complex:
            return self.apply("hypot", [Value(float, (part,)) for part in value.parts])
        if value.kind is int:
            return self.maximum(value, Value(int, (self.emit(f"sub nsw i64 0, {value.parts[0]}"),)))
        return self.apply("fabs", [value])

    def to_int(self, value: Value) -> Value:
        if value.kind is float:
            return Value(int, (self.emit(f"fptosi double {value.parts[0]} to i64"),))
        return self.convert(value, int)

    def to_float(self, value: Value) -> Value:
        return self.convert(value, float)

    def to_bool(self, value: Value) -> Value:
        return Value(bool, (self.truth(value),))

    def to_complex(self, real: Value, imaginary: Value) -> Value:
        return Value(complex, (*self.to_float(real).parts, *self.to_float(imaginary).parts))


PRIMITIVES: dict[Any, str] = {  # and the methods of Writer that write them
    kernels.offset: "beyond",
    kernels.take: "take",
    kernels.split: "split",
    kernels.integer: "integer",
    kernels.put_integer: "put_integer",
    kernels.add_four: "add_four",
    kernels.memory_at: "memory_at",
    kernels.shared_at: "shared_at",
    kernels.call_in_lanes: "call_in_lanes",
    kernels.call: "call_address",
    min: "minimum",
    max: "maximum",
    abs: "absolute",
    int: "to_int",
    float: "to_float",
    bool: "to_bool",
    complex: "to_complex",
}
