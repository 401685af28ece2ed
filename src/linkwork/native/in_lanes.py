"""Kernels that do in every lane of a vector what they do alone: one function, as many motions as a vector has doubles.

The same Python functions as in translation.py become LLVM text on vectors. Memory of a kernel has, in the place of
each double, one of every lane; numbers are vectors, and a mask says which lanes are here. Where a branch goes one way
in some lanes and the other way in others both are taken, each by its own lanes; a loop goes on while one of them does.
So every lane computes what it would compute alone, to the bit, since elementary functions have the same bits in lanes.

What is the same in all lanes stays one number: constants, a `Size`, what `integer` reads, what is read in `Shared`
memory, and counters of loops over such numbers. Branches by these are branches. Machine code that is called by its
address takes the mask as its last argument, a bit for each lane, and writes results of these lanes alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any, NamedTuple, get_type_hints

from linkwork.native import kernels, masks
from linkwork.native.elementary import PARTS_OF, Text, call, define
from linkwork.native.instructions import (
    PREDICATES,
    WIDENING,
    Shape,
    Value,
    Wider,
    Writer,
    constant,
    kind_of,
    operands_of,
    types_of,
    value_of,
    wider,
)
from linkwork.native.kernels import Kernel, Memory, Pointer, Shared, Size
from linkwork.native.translation import APART, Module, Translation, result_type

IN_LLVM = {bool: "i1", int: "i64", float: "double"}


class Lanes(NamedTuple):
    """The kind of a number that each lane has of its own."""

    kind: Any
    n: int

    @property
    def types(self) -> tuple[str, ...]:
        return (f"<{self.n} x {IN_LLVM[self.kind]}>",)


class Common(NamedTuple):
    """The kind of a pointer to memory of which there is one for all lanes."""

    types: tuple[str, ...] = ("ptr",)


class Scattered(NamedTuple):
    """The kind of a pointer that each lane has of its own, to doubles so far apart."""

    apart: int
    n: int

    @property
    def types(self) -> tuple[str, ...]:
        return (f"<{self.n} x ptr>",)


class Cell(NamedTuple):
    """The kind of a number in memory; `size` if it is the same in all lanes."""

    kind: Any
    pointer: Any
    size: bool

    @property
    def types(self) -> tuple[str, ...]:
        return types_of(self.pointer)


COMMON = Common()


def translate_in_lanes(kernel: Kernel, count: int) -> str:
    """Write LLVM text with one function to be called, the kernel in so many lanes: its arguments are pointers."""
    module, name = _Module(count), kernel.name
    hints = kernel.hints
    kinds = tuple(COMMON if hints[x] is Shared else Pointer for x in kernels.parameters_of(kernel.python))
    inner, _ = module.find(kernel.python, kinds)
    given = ", ".join(f"ptr %a{k}" for k in range(len(kinds)))
    entry = f"""define void @{name}({given}, i64 %lanes) nounwind {{
{masks.unpack(count)}
  call void @"{inner}"({given}, <{count} x i1> %mask)
  ret void
}}"""
    text = "\n".join([*module.texts, entry])
    return "\n".join([text, define(text), *masks.declare(text), "!0 = !{}"])


def base(kind: Any) -> Any:
    """Return the kind of a number, in lanes or not."""
    return kind.kind if isinstance(kind, Lanes) else kind


def is_pointer(kind: Any) -> bool:
    return kind in (Pointer, COMMON) or isinstance(kind, Scattered)


class _Writer(Writer):
    """The lines of a function on lanes; %mask holds those that are here, %returned those that have left it."""

    def __init__(self, kinds: dict[str, Any], count: int) -> None:
        super().__init__(kinds)
        self.n = count
        self.numbers, self.integers, self.truths = (Text(count).type(t) for t in ("double", "i64", "i1"))
        self.rooms = ["%mask", "%returned"]  # variables that hold lanes
        self.keeps: Callable[[str], bool] = bool  # whether lanes that are not here still need what a variable has

    def stack(self) -> list[str]:
        return [*super().stack(), *(f"  {room} = alloca {self.truths}" for room in self.rooms)]

    def company(self) -> list[str]:
        return [f"{self.truths} {self.mask()}"]

    # Lanes.

    def room(self, name: str) -> str:
        """Make room for lanes, empty so far."""
        (room,) = self.labels(name)
        self.rooms.append(f"%{room}")
        self.clear(f"%{room}")
        return f"%{room}"

    def clear(self, room: str) -> None:
        self.line(f"store {self.truths} zeroinitializer, ptr {room}")

    def lanes_in(self, room: str) -> str:
        return self.emit(f"load {self.truths}, ptr {room}")

    def mask(self) -> str:
        return self.lanes_in("%mask")

    def be(self, lanes: str) -> None:
        """Go on in these lanes."""
        self.line(f"store {self.truths} {lanes}, ptr %mask")

    def both(self, a: str, b: str) -> str:
        return self.emit(f"and {self.truths} {a}, {b}")

    def either(self, a: str, b: str) -> str:
        return self.emit(f"or {self.truths} {a}, {b}")

    def without(self, a: str, b: str) -> str:
        return self.both(a, self.emit(f"xor {self.truths} {b}, splat (i1 true)"))

    def move(self, room: str) -> None:
        """Take the lanes that are here there: they have left what is done here."""
        self.line(f"store {self.truths} {self.either(self.lanes_in(room), self.mask())}, ptr {room}")
        self.clear("%mask")

    def some(self, lanes: str) -> str:
        bits = self.emit(f"bitcast {self.truths} {lanes} to i{self.n}")
        return self.emit(f"icmp ne i{self.n} {bits}, 0")

    # Kinds.

    def own(self, kind: Any) -> Any:
        """Return the kind of which each lane has its own."""
        if kind in (bool, int, float):
            return Lanes(kind, self.n)
        if kind in (Pointer, COMMON):
            return Scattered(self.n if kind == Pointer else 1, self.n)
        if isinstance(kind, Shape) and not issubclass(kind.cls, Memory):
            return Shape(kind.cls, tuple(map(self.own, kind.kinds)))
        if isinstance(kind, Lanes | Scattered):
            return kind
        raise TypeError(f"lanes cannot each have {kind} of their own")

    def wider(self, a: Any, b: Any) -> Any:
        if a == b:
            return a
        if isinstance(a, Shape) and isinstance(b, Shape) and a.cls is b.cls and len(a.kinds) == len(b.kinds):
            return Shape(a.cls, tuple(map(self.wider, a.kinds, b.kinds)))
        if is_pointer(a) or is_pointer(b):
            own = self.own(a)
            if self.own(b) != own:
                raise TypeError(f"{a} and {b} are of different kinds")
            return own
        kind = wider(base(a), base(b))
        return Lanes(kind, self.n) if isinstance(a, Lanes) or isinstance(b, Lanes) else kind

    def spread(self, value: Value) -> Value:
        """Return a number, or a pointer, as each lane has it."""
        kind, part = value.kind, value.parts[0]
        if isinstance(kind, Lanes | Scattered):
            return value
        one = types_of(kind)[0]
        if is_pointer(kind):
            first = self.emit(f"insertelement <{self.n} x ptr> poison, ptr {part}, i64 0")
            each = self.emit(
                f"shufflevector <{self.n} x ptr> {first}, <{self.n} x ptr> poison, <{self.n} x i32> zeroinitializer"
            )
            if kind == Pointer:
                each = self.emit(f"getelementptr double, <{self.n} x ptr> {each}, {self.integers} {self.number()}")
            return Value(self.own(kind), (each,))
        if not part.startswith("%"):
            text = {"0": "false", "1": "true"}.get(part, part) if kind is bool else part
            return Value(self.own(kind), (f"splat ({one} {text})",))
        first = self.emit(f"insertelement <{self.n} x {one}> poison, {one} {part}, i64 0")
        zeros = f"<{self.n} x i32> zeroinitializer"
        each = self.emit(f"shufflevector <{self.n} x {one}> {first}, <{self.n} x {one}> poison, {zeros}")
        return Value(self.own(kind), (each,))

    def number(self) -> str:
        """Return the number of each lane."""
        return f"<{', '.join(f'i64 {k}' for k in range(self.n))}>"

    def convert(self, value: Value, kind: Any) -> Value:
        if value.kind == kind or kind is None or (is_pointer(value.kind) and kind == Pointer):
            return value
        if isinstance(kind, Shape) and isinstance(value.kind, Shape) and len(kind.kinds) == len(value.parts):
            if issubclass(kind.cls, Memory):
                return value
            parts = tuple(map(self.convert, value.parts, kind.kinds))
            return Value(Shape(kind.cls, tuple(part.kind for part in parts)), parts)
        if isinstance(kind, Scattered):
            return self.spread(value)
        if not isinstance(value.kind, Lanes):
            number = super().convert(value, base(kind))
            return self.spread(number) if isinstance(kind, Lanes) else number
        a, b = base(value.kind), base(kind)
        if wider(a, b) != b:
            raise TypeError(f"{a} cannot stand for {b}")
        if a == b:
            return value
        how = "zext" if b is int else "uitofp" if a is bool else "sitofp"
        target, (old,) = Lanes(b, self.n), types_of(value.kind)
        return Value(target, (self.emit(f"{how} {old} {value.parts[0]} to {types_of(target)[0]}"),))

    def select(self, lanes: str, a: Value, b: Value) -> Value:
        """Return a in these lanes, b in the others; both are of one kind."""
        chosen = [
            self.emit(f"select {self.truths} {lanes}, {t} {x}, {t} {y}")
            for t, x, y in zip(types_of(a.kind), operands_of(a), operands_of(b), strict=True)
        ]
        return value_of(a.kind, iter(chosen))

    def store(self, name: str, value: Value) -> None:
        kind = self.wider(self.kinds.setdefault(name, value.kind), value.kind)
        if keeps := self.keeps(name):
            kind = self.own(kind)
        if kind != self.kinds[name]:
            self.kinds[name] = kind
            raise Wider
        types = types_of(kind)
        places = self.places.setdefault(name, [f'%"{name}.{k}"' for k in range(len(types))])
        value = self.convert(value, kind)
        if keeps:
            value = self.select(self.mask(), value, self.load(name))
        for place, t, operand in zip(places, types, operands_of(value), strict=True):
            self.line(f"store {t} {operand}, ptr {place}")

    # Memory.

    def beyond(self, pointer: Value, n: Value) -> Value:
        if not is_pointer(kind := pointer.kind):
            raise TypeError(f"{kind} is not a pointer")
        index, (at,) = self.convert(n, int), pointer.parts
        apart = self.n if kind == Pointer else 1 if kind == COMMON else kind.apart
        if index.kind is int and not isinstance(kind, Scattered):
            if index.parts[0] == "0":
                return pointer
            (k,) = index.parts
            whole = k if apart == 1 else str(int(k) * apart) if k.isdigit() else self.emit(f"mul nsw i64 {k}, {apart}")
            return Value(kind, (self.emit(f"getelementptr inbounds double, ptr {at}, i64 {whole}"),))
        (at,), own = self.spread(pointer).parts, self.own(kind)
        places = self.spread(self.combine(ast.Mult(), index, constant(apart))).parts[0]
        text = f"getelementptr double, <{self.n} x ptr> {at}, {self.integers} {places}"
        return Value(own, (self.emit(text),))

    def read_at(self, place: Value, kind: Any = float, about: str = "") -> Value:
        (at,), t = place.parts, IN_LLVM[kind]
        if place.kind == COMMON:
            return Value(kind, (self.emit(f"load {t}, ptr {at}{about}"),))
        own = Lanes(kind, self.n)
        if place.kind == Pointer:
            return Value(own, (self.emit(f"load {own.types[0]}, ptr {at}, align 8"),))
        return Value(own, (self.emit(masks.gather(t, self.n, at, self.mask())),))

    def put_at(self, place: Value, value: Value, kind: Any = float) -> None:
        (x,), (at,) = self.convert(value, Lanes(kind, self.n)).parts, place.parts
        if place.kind == COMMON:
            raise TypeError("what all lanes share is only read")
        if place.kind == Pointer:
            self.line(masks.store(IN_LLVM[kind], self.n, x, at, self.mask()))
        else:
            self.line(masks.scatter(IN_LLVM[kind], self.n, x, at, self.mask()))

    def integer(self, pointer: Value, k: Value) -> Value:
        """Return an integer of a table, or a size: it is the same in all lanes."""
        place = self.beyond(pointer, k)
        return super().integer(place._replace(kind=COMMON) if place.kind == Pointer else place, constant(0))

    def describe(self, value: Value, cls: type) -> Value:
        kinds, hints = kind_of(cls).kinds, get_type_hints(cls, include_extras=True)
        if len(value.parts) != len(kinds):
            raise TypeError(f"{cls.__name__} has {len(kinds)} places, not {len(value.parts)}")
        parts = [
            Value(Cell(inner, part.kind, hints[name] is Size), part.parts)
            if is_pointer(part.kind) and inner in (bool, int, float)
            else part
            for name, part, inner in zip(cls.__annotations__, value.parts, kinds, strict=True)
        ]
        return Value(Shape(cls, tuple(part.kind for part in parts)), tuple(parts))

    def read(self, value: Value) -> Value:
        if not isinstance(cell := value.kind, Cell):
            return value
        kind = float if cell.kind is float else int
        if cell.size:
            return Value(int, (self.emit(f"load i64, ptr {value.parts[0]}"),))
        found = self.read_at(Value(cell.pointer, value.parts), kind)
        return self.to_bool(found) if cell.kind is bool else found

    def put(self, cell: Value, value: Value) -> None:
        if not isinstance(cell.kind, Cell):
            raise TypeError("what was given as a number is not stored")
        number = self.convert(value, cell.kind.kind)
        kind = float if cell.kind.kind is float else int
        self.put_at(Value(cell.kind.pointer, cell.parts), self.convert(number, kind), kind)

    def add_four(self, y: Value, s: Value, x: Value) -> Value:
        for k in range(4):
            to, start = self.beyond(y, constant(k)), self.beyond(x, constant(k))
            product = self.combine(ast.Mult(), s, self.read_at(start))
            self.put_at(to, self.combine(ast.Add(), self.read_at(to), product))
        return Value(type(None), ())

    def memory_at(self, address: Value, _: Value) -> Value:
        return Value(Pointer, (self.emit(f"inttoptr i64 {self.first(address)} to ptr"),))

    def shared_at(self, address: Value, _: Value) -> Value:
        return Value(COMMON, (self.emit(f"inttoptr i64 {self.first(address)} to ptr"),))

    def first(self, value: Value) -> str:
        """Return a number that is the same in all lanes."""
        (part,) = value.parts
        if not isinstance(value.kind, Lanes):
            return str(part)
        return self.emit(f"extractelement {value.kind.types[0]} {part}, i64 0")

    def call_address(self, address: Value, *pointers: Value) -> Value:
        for pointer in pointers:
            if pointer.kind != Pointer:
                raise TypeError("machine code for lanes takes memory of all of them")
        function = self.emit(f"inttoptr i64 {self.first(address)} to ptr")
        bits = self.emit(f"bitcast {self.truths} {self.mask()} to i{self.n}")
        lanes = self.emit(f"zext i{self.n} {bits} to i64")
        given = [*(f"ptr {pointer.parts[0]}" for pointer in pointers), f"i64 {lanes}"]
        self.line(f"call void {function}({', '.join(given)})")
        return Value(type(None), ())

    # Numbers.

    def test(self, value: Value) -> Value:
        """Return whether it is true, in each lane or in all of them."""
        if not isinstance(value.kind, Lanes):
            return Value(bool, (self.truth(value),))
        if value.kind.kind is bool:
            return value
        how = f"icmp ne {self.integers}" if value.kind.kind is int else f"fcmp une {self.numbers}"
        return Value(Lanes(bool, self.n), (self.emit(f"{how} {value.parts[0]}, zeroinitializer"),))

    def compare(self, op: ast.cmpop, left: Value, right: Value) -> str:
        return str(self.compared(op, left, right).parts[0])

    def compared(self, op: ast.cmpop, left: Value, right: Value) -> Value:
        kind = self.wider(self.wider(left.kind, right.kind), int)
        if not isinstance(kind, Lanes):
            return Value(bool, (super().compare(op, left, right),))
        (a,), (b,) = self.convert(left, kind).parts, self.convert(right, kind).parts
        of_integers, of_floats = PREDICATES[type(op)]
        how = f"icmp {of_integers}" if kind.kind is int else f"fcmp {of_floats}"
        return Value(Lanes(bool, self.n), (self.emit(f"{how} {kind.types[0]} {a}, {b}"),))

    def combine(self, op: ast.operator, left: Value, right: Value) -> Value:
        if isinstance(op, ast.Pow):
            return self.power(left, right)
        kind = self.wider(self.wider(left.kind, right.kind), float if isinstance(op, ast.Div) else int)
        if not isinstance(kind, Lanes):
            return super().combine(op, left, right)
        if isinstance(op, ast.Mod) and kind.kind is int and right.parts[0].isdigit():
            return self.remainder(left, right)
        name = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}.get(type(op))
        if name is None or kind.kind not in WIDENING[:3]:
            raise TypeError(f"{type(op).__name__} of {kind} is not written for lanes")
        (a,), (b,) = self.convert(left, kind).parts, self.convert(right, kind).parts
        how = f"{name} nsw" if kind.kind is int else f"f{name}"
        return Value(kind, (self.emit(f"{how} {kind.types[0]} {a}, {b}"),))

    def remainder(self, a: Value, b: Value) -> Value:
        """Return the remainder by a positive constant, which is not negative."""
        v, by = self.integers, self.spread(b).parts[0]
        rest = self.emit(f"srem {v} {a.parts[0]}, {by}")
        is_negative, more = self.emit(f"icmp slt {v} {rest}, zeroinitializer"), self.emit(f"add {v} {rest}, {by}")
        return self.select(is_negative, Value(a.kind, (more,)), Value(a.kind, (rest,)))

    def multiply(self, a: Value, b: Value) -> Value:
        lanes = isinstance(a.kind, Lanes) or isinstance(b.kind, Lanes)
        return self.combine(ast.Mult(), a, b) if lanes else super().multiply(a, b)

    def apply(self, name: str, values: Sequence[Value]) -> Value:
        numbers = [self.spread(self.convert(value, float)).parts[0] for value in values]
        if name not in PARTS_OF:
            return Value(Lanes(float, self.n), (self.emit(call(name, numbers, self.n)),))
        function, part = PARTS_OF[name]
        pair = f"{{{self.numbers}, {self.numbers}}}"
        both = self.emit(call(function, numbers, self.n))
        return Value(Lanes(float, self.n), (self.emit(f"extractvalue {pair} {both}, {part}"),))

    def least(self, op: ast.cmpop, *values: Value) -> Value:
        kind = values[0].kind
        for value in values:
            kind = self.wider(kind, value.kind)
        if not isinstance(kind, Lanes):
            return super().least(op, *values)
        best, *others = (self.convert(value, kind) for value in values)
        for x in others:
            best = self.select(self.compare(op, x, best), x, best)
        return best

    def absolute(self, value: Value) -> Value:
        if base(value.kind) is int:
            return self.maximum(value, self.combine(ast.Sub(), constant(0), value))
        return self.apply("fabs", [value])

    def to_int(self, value: Value) -> Value:
        if not isinstance(value.kind, Lanes) or value.kind.kind is not float:
            return self.convert(value, int) if isinstance(value.kind, Lanes) else super().to_int(value)
        text = f"fptosi {self.numbers} {value.parts[0]} to {self.integers}"
        return Value(Lanes(int, self.n), (self.emit(text),))

    def to_bool(self, value: Value) -> Value:
        return self.test(value)


class _Module(Module):
    """The functions that a kernel calls in so many lanes."""

    apart = 4 * APART  # lanes take so many times as many lines to say the same

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def translation(self, function: FunctionType, kinds: dict[str, Any]) -> Translation:
        return _Translation(self, function, _Writer(kinds, self.count))


class _Loop(NamedTuple):
    """A loop: where it goes on and ends, lanes that have left it or this round, how many branches are around it."""

    key: str
    onward: str
    end: str
    left: str
    skipped: str
    depth: int


class _Translation(Translation):
    """One function in lanes. `parts` are the statements that not all lanes of the function go through."""

    out: _Writer

    def __init__(self, module: Module, function: FunctionType, out: Writer) -> None:
        super().__init__(module, function, out)
        self.parts: list[Sequence[ast.AST]] = []
        self.is_left = False  # by all lanes that were here
        self.departures = 0
        self.rounds: list[_Loop] = []

    def translate(self, arguments: Sequence[Any]) -> tuple[str, list[str]]:
        self.out.keeps = self.keeps
        self.out.line(f"store {self.out.truths} %mask.in, ptr %mask")
        self.out.clear("%returned")
        signature, lines = super().translate(arguments)
        return ", ".join(filter(None, [signature, f"{self.out.truths} %mask.in"])), lines

    def finish(self) -> None:
        """Return what lanes have left in the variable for it."""
        out = self.out
        out.jump("exit")
        out.begin("exit")
        self.returned = out.kinds.get("return", type(None))
        types, result, whole = types_of(self.returned), result_type(self.returned), "poison"
        if not types:
            out.line("ret void")
            return
        operands = operands_of(out.load("return"))
        if len(types) == 1:
            whole = operands[0]
        for k, (t, operand) in enumerate(zip(types, operands, strict=True) if len(types) > 1 else ()):
            whole = out.emit(f"insertvalue {result} {whole}, {t} {operand}, {k}")
        out.line(f"ret {result} {whole}")

    def keeps(self, name: str) -> bool:
        """Return whether lanes that are not here read a variable later."""
        if name == "return":
            return bool(self.parts) or self.departures > 0
        return any(is_read_beyond(self.node, part, name) or is_handed_round(part[0], name) for part in self.parts)

    @contextmanager
    def part(self, nodes: Sequence[ast.AST]) -> Iterator[None]:
        self.parts.append(nodes)
        yield
        self.parts.pop()
        self.is_left = False

    def statements(self, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            if not self.is_left:
                super().statements([node])

    def give_back(self, node: ast.Return) -> None:
        if node.value is not None and (kind := self.stated()) is not type(None):
            self.out.store("return", self.out.convert(self.expression(node.value), kind))
        self.depart("%returned", "exit", 0)

    def stated(self) -> Any:
        return self.result_kind(())

    def depart(self, room: str, label: str, depth: int) -> None:
        """Let the lanes that are here go somewhere: at once, unless others stay."""
        if len(self.parts) > depth:
            self.out.move(room)
            self.is_left = True
            self.departures += 1
        else:
            self.out.jump(label)

    def go_on(self, _: ast.Continue) -> None:
        self.leave_round(self.rounds[-1].skipped, self.rounds[-1].onward)

    def leave(self, _: ast.Break) -> None:
        self.leave_round(self.rounds[-1].left, self.rounds[-1].end)

    def leave_round(self, room: str, label: str) -> None:
        loop = self.rounds[-1]
        if len(self.parts) > loop.depth:
            self.part_ways(loop.key)
        self.depart(room, label, loop.depth)

    def part_ways(self, key: str) -> None:
        """Take note that lanes go through a loop differently, from the beginning of its translation."""
        if key not in self.out.kinds:
            self.out.kinds[key] = True
            raise Wider

    def choose(self, node: ast.If) -> None:
        out, test = self.out, self.out.test(self.expression(node.test))
        yes, no, end = out.labels("then", "else", "endif")
        if test.kind is bool:
            out.branch(test.parts[0], yes, no)
            ended = []
            for label, statements in ((yes, node.body), (no, node.orelse)):
                out.begin(label)
                self.statements(statements)
                self.is_left = False
                ended.append(out.ended)
                out.jump(end)
            if not all(ended):
                out.begin(end)
            return
        here, before = out.mask(), self.departures
        self.branch_off(out.both(here, test.parts[0]), yes, no, node.body)
        if node.orelse:
            (other,) = out.labels("other")
            self.branch_off(out.without(here, test.parts[0]), other, end, node.orelse)
        out.be(here if self.departures == before else self.still(here))
        if self.departures > before and not self.parts:
            (onward,) = out.labels("onward")
            out.branch(out.some(out.mask()), onward, "exit")
            out.begin(onward)

    def branch_off(self, lanes: str, label: str, end: str, statements: Sequence[ast.stmt]) -> None:
        out = self.out
        out.be(lanes)
        out.branch(out.some(lanes), label, end)
        out.begin(label)
        with self.part(statements):
            self.statements(statements)
        out.jump(end)
        out.begin(end)

    def still(self, lanes: str) -> str:
        """Return those that have left neither the function nor the loop."""
        rooms = ["%returned", *([self.rounds[-1].left, self.rounds[-1].skipped] if self.rounds else [])]
        for room in rooms:
            lanes = self.out.without(lanes, self.out.lanes_in(room))
        return lanes

    @contextmanager
    def loop(self, node: ast.For | ast.While) -> Iterator[_Loop]:
        """Open a loop; behind it go on in the lanes that were here before."""
        out, key = self.out, f"loop {node.lineno}.{node.col_offset}"
        here, before = out.mask(), self.departures
        onward, end = out.labels("onward", "endloop")
        loop = _Loop(key, onward, end, out.room("left"), out.room("skipped"), len(self.parts))
        self.rounds.append(loop)
        if key in out.kinds:
            self.parts.append([node])
        yield loop
        if key in out.kinds:
            self.parts.pop()
        self.rounds.pop()
        out.jump(loop.end)
        out.begin(loop.end)
        self.is_left = False
        if key in out.kinds or self.departures > before:
            out.be(out.without(here, out.lanes_in("%returned")))

    def go_round(self, loop: _Loop, statements: Sequence[ast.stmt]) -> None:
        """Write the body, and go on where lanes are left."""
        out = self.out
        self.statements(statements)
        self.is_left = False
        out.jump(loop.onward)
        out.begin(loop.onward)
        if loop.key in out.kinds:
            out.be(out.either(out.mask(), out.lanes_in(loop.skipped)))
            out.clear(loop.skipped)
            (again,) = out.labels("again")
            out.branch(out.some(out.mask()), again, loop.end)
            out.begin(again)

    def repeat_while(self, node: ast.While) -> None:
        out = self.out
        with self.loop(node) as loop:
            head, body = out.labels("while", "body")
            out.jump(head)
            out.begin(head)
            self.enter_if(loop, out.test(self.expression(node.test)), body)
            self.go_round(loop, node.body)
            out.jump(head)

    def enter_if(self, loop: _Loop, test: Value, body: str) -> None:
        """Begin another round, in the lanes that wish it."""
        out = self.out
        if test.kind is bool:
            out.branch(test.parts[0], body, loop.end)
        else:
            self.part_ways(loop.key)
            lanes = out.both(out.mask(), test.parts[0])
            out.be(lanes)
            out.branch(out.some(lanes), body, loop.end)
        out.begin(body)

    def repeat_for(self, node: ast.For) -> None:
        called, out = node.iter, self.out
        if not (isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and called.func.id == "range"):
            self.repeat_for_each(node)
            return
        given = [out.convert(self.expression(argument), int) for argument in called.args]
        start, stop = given[:2] if len(given) > 1 else (constant(0), given[0])
        step = ast.literal_eval(called.args[2]) if len(given) == 3 else 1
        counter = f"for.{node.lineno}.{node.col_offset}"
        out.store(counter, start)
        with self.loop(node) as loop:
            head, body = out.labels("for", "body")
            out.jump(head)
            out.begin(head)
            k = out.load(counter)
            self.enter_if(loop, out.compared(ast.Lt() if step > 0 else ast.Gt(), k, stop), body)
            self.put(node.target, k)
            self.go_round(loop, node.body)
            out.store(counter, out.combine(ast.Add(), out.load(counter), constant(step)))
            out.jump(head)

    def repeat_for_each(self, node: ast.For) -> None:
        table = self.evaluate(node.iter)
        values = table if type(table) is tuple else self.expression(node.iter).parts
        with self.loop(node) as loop:
            for part in values:
                (onward,) = self.out.labels("onward")
                self.rounds[-1] = loop._replace(onward=onward)
                self.put_part(node.target, part)
                self.go_round(self.rounds[-1], node.body)

    def decide(self, node: ast.IfExp) -> Value:
        out, test = self.out, self.out.test(self.expression(node.test))
        if test.kind is bool:
            name = f"if.{node.lineno}.{node.col_offset}"
            yes, no, end = out.labels("then", "else", "endif")
            out.branch(test.parts[0], yes, no)
            for label, chosen in ((yes, node.body), (no, node.orelse)):
                out.begin(label)
                out.store(name, self.expression(chosen))
                out.jump(end)
            out.begin(end)
            return out.load(name)
        here, found = out.mask(), []
        for lanes, chosen in ((out.both, node.body), (out.without, node.orelse)):
            out.be(lanes(here, test.parts[0]))
            found.append(self.expression(chosen))
        out.be(here)
        kind = out.own(out.wider(found[0].kind, found[1].kind))
        a, b = (out.convert(x, kind) for x in found)
        return out.select(test.parts[0], a, b)

    def connect(self, node: ast.BoolOp) -> Value:
        """Connect by `and` and `or`; a part is looked at in the lanes that need it."""
        out, is_and = self.out, isinstance(node.op, ast.And)
        name = f"bool.{node.lineno}.{node.col_offset}.{node.end_col_offset}"
        (end,) = out.labels("decided")
        here, lanes_differ = out.mask(), False
        for k, part in enumerate(node.values):
            value = self.expression(part)
            if base(value.kind) is not bool:
                raise TypeError(f"'{ast.unparse(part)}' is neither true nor false")
            if lanes_differ:
                value, old = out.spread(value), out.load(name)
                known = out.spread(constant(not is_and))
                value = out.select(old.parts[0], *((value, known) if is_and else (known, value)))
            out.store(name, value)
            if k == len(node.values) - 1:
                break
            (onward,) = out.labels("undecided")
            if isinstance(value.kind, Lanes):
                lanes_differ = True
                lanes = (out.both if is_and else out.without)(here, value.parts[0])
                out.be(lanes)
                out.branch(out.some(lanes), onward, end)
            else:
                out.branch(value.parts[0], *((onward, end) if is_and else (end, onward)))
            out.begin(onward)
        out.jump(end)
        out.begin(end)
        out.be(here)
        return out.load(name)

    def negate(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return constant(-node.operand.value)  # type: ignore[operator]
        value, out = self.expression(node.operand), self.out
        if isinstance(node.op, ast.Not):
            test = out.spread(out.test(value)) if isinstance(value.kind, Lanes) else out.test(value)
            true = "splat (i1 true)" if isinstance(test.kind, Lanes) else "true"
            return Value(test.kind, (out.emit(f"xor {types_of(test.kind)[0]} {test.parts[0]}, {true}"),))
        if not isinstance(node.op, ast.USub):
            self.refuse(node)
        if base(value.kind) is float:
            return Value(value.kind, (out.emit(f"fneg {types_of(value.kind)[0]} {value.parts[0]}"),))
        return out.combine(ast.Sub(), constant(0), value)

    def compare(self, node: ast.Compare) -> Value:
        out, left, whole = self.out, self.expression(node.left), constant(True)
        for op, operand in zip(node.ops, node.comparators, strict=True):
            right = self.expression(operand)
            if type(op) not in PREDICATES:
                self.refuse(node)
            found = out.compared(op, left, right)
            kind = out.wider(whole.kind, found.kind)
            a, b = out.convert(whole, kind).parts[0], out.convert(found, kind).parts[0]
            whole = Value(kind, (out.emit(f"and {types_of(kind)[0]} {a}, {b}"),))
            left = right
        return whole


def is_handed_round(loop: ast.AST, name: str) -> bool:
    """Return whether a loop that lanes may go round early reads what the round before left in a variable."""
    if not isinstance(loop, ast.For | ast.While) or not any(isinstance(x, ast.Continue) for x in ast.walk(loop)):
        return False
    if isinstance(loop, ast.For) and reads_or_sets(loop.target, name):
        return False
    return reads_first([*([loop.test] if isinstance(loop, ast.While) else []), *loop.body], name)


def reads_first(part: Sequence[ast.AST], name: str) -> bool:
    """Return whether statements may read a variable before they set it."""
    for node in part:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            if reads_or_sets(node.value, name):
                return True
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(reads_or_sets(target, name) for target in targets):
                return False
        elif any(isinstance(x, ast.Name) and x.id == name and is_read(x, node) for x in unbound(node, name)):
            return True
    return False


def unbound(node: ast.AST, name: str) -> Iterator[ast.AST]:
    """Yield what is in a statement, but for loops that the variable counts, which set it anew."""
    yield node
    for inner in ast.iter_child_nodes(node):
        if not (isinstance(inner, ast.For) and reads_or_sets(inner.target, name)):
            yield from unbound(inner, name)


def reads_or_sets(node: ast.AST, name: str) -> bool:
    return any(isinstance(x, ast.Name) and x.id == name for x in ast.walk(node))


def is_read(x: ast.Name, within: ast.AST) -> bool:
    """Return whether a variable is read there, also where it is changed by what it was."""
    changed = (node.target for node in ast.walk(within) if isinstance(node, ast.AugAssign))
    return isinstance(x.ctx, ast.Load) or any(x is target for target in changed)


def is_read_beyond(function: ast.FunctionDef, part: Sequence[ast.AST], name: str) -> bool:
    """Return whether a variable may be read, as it is after some statements, elsewhere in a function."""
    inside = {id(node) for whole in part for node in ast.walk(whole)}
    bound = set[int]()  # where it counts a loop, and is set anew
    around = list[ast.AST]()
    for node in ast.walk(function):
        if not isinstance(node, ast.For | ast.While):
            continue
        within = {id(inner) for inner in ast.walk(node)}
        if id(node) not in inside and id(part[0]) in within:
            around.append(node)
        if isinstance(node, ast.For) and name in {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}:
            bound |= within
    if around and reads_first([x for x in part if id(x) not in bound], name):  # what other lanes left a round before
        return True
    end = max(getattr(node, "end_lineno", 0) for node in part)
    repeated = {id(node) for loop in around for node in ast.walk(loop)}
    changed = [node.target for node in ast.walk(function) if isinstance(node, ast.AugAssign)]
    read = [node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and id(node) not in inside
        and id(node) not in bound
        and (node.lineno > end or id(node) in repeated)
        for node in [*read, *changed]
    )
