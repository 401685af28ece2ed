"""Computation sequences as LLVM code.

A function reads x and p, writes y and may keep numbers in the scratch w. A long sequence is cut into parts that hand
values on through w, because the time LLVM takes for one function grows faster than its length.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate, groupby
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import Expr, symbol
from linkwork.native import cache, interpreted, machine, masks
from linkwork.native.elementary import FUNCTIONS, INTRINSICS, PARTS_OF, Text, call, define, float_bits
from linkwork.sequences.sequence import Again, Columns, ComputationSequence

Array = NDArray[np.float64]

PART = 500  # operations per LLVM function
OPT = 1  # of the code generator; a sequence gains nothing from LLVM's passes over the code
# Operations, some 25 s of compiling. Beyond, registers are given out without looking ahead: compiling takes a third to
# a twelfth, an evaluation up to twice as long, which a hundred thousand of them would make up for.
LONG, QUICK = 300_000, 0

BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}

# sum_k c[i][k] (x - knots[i])^k and its derivatives, with the piece i found by bisection
SPLINE = """
define internal double @spline(double %x, ptr %knots, ptr %c, i64 %n, i64 %order) {
  br label %loop
loop:
  %low = phi i64 [ 0, %0 ], [ %low1, %loop ]
  %high = phi i64 [ %n, %0 ], [ %high1, %loop ]
  %sum = add i64 %low, %high
  %middle = lshr i64 %sum, 1
  %at = getelementptr double, ptr %knots, i64 %middle
  %knot = load double, ptr %at
  %right = fcmp uge double %x, %knot
  %low1 = select i1 %right, i64 %middle, i64 %low
  %high1 = select i1 %right, i64 %high, i64 %middle
  %gap = sub i64 %high1, %low1
  %more = icmp sgt i64 %gap, 1
  br i1 %more, label %loop, label %found
found:
  %start = getelementptr double, ptr %knots, i64 %low1
  %left = load double, ptr %start
  %d = fsub double %x, %left
  %c0p = getelementptr [4 x double], ptr %c, i64 %low1
  %c1p = getelementptr double, ptr %c0p, i64 1
  %c2p = getelementptr double, ptr %c0p, i64 2
  %c3p = getelementptr double, ptr %c0p, i64 3
  %c0 = load double, ptr %c0p
  %c1 = load double, ptr %c1p
  %c2 = load double, ptr %c2p
  %c3 = load double, ptr %c3p
  switch i64 %order, label %value [ i64 1, label %slope  i64 2, label %bend  i64 3, label %jerk ]
value:
  %v3 = fmul double %d, %c3
  %v2 = fadd double %c2, %v3
  %v2d = fmul double %d, %v2
  %v1 = fadd double %c1, %v2d
  %v1d = fmul double %d, %v1
  %v0 = fadd double %c0, %v1d
  ret double %v0
slope:
  %s3 = fmul double %d, %c3
  %s3t = fmul double %s3, 3.0
  %s2t = fmul double %c2, 2.0
  %s2 = fadd double %s2t, %s3t
  %s2d = fmul double %d, %s2
  %s1 = fadd double %c1, %s2d
  ret double %s1
bend:
  %b3 = fmul double %d, %c3
  %b3t = fmul double %b3, 6.0
  %b2t = fmul double %c2, 2.0
  %b2 = fadd double %b2t, %b3t
  ret double %b2
jerk:
  %j3 = fmul double %c3, 6.0
  ret double %j3
}
"""


SIGNATURE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
IN_LANES = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)  # with which of them count


def _call_all(function: Callable[..., None], *pointers: object) -> None:
    function(*pointers, masks.ALL)


@dataclass(frozen=True, eq=False)
class NativeFunction:
    """Machine code of the one signature void f(const double *x, const double *p, double *y, double *w)."""

    name: str
    address: int
    inputs: int
    outputs: int
    work: int
    operations: int = 0  # of a sequence
    parameters: int = 0  # doubles that p has at least
    code: object = field(default=None, repr=False)  # its owner, unless that is a kernel
    lanes: int = 1  # doubles in the place of each of these, one behind the other

    @cached_property
    def _entry(self) -> Callable[..., None]:
        return SIGNATURE(self.address) if self.lanes == 1 else partial(_call_all, IN_LANES(self.address))

    def __call__(self, x: Array, p: Array) -> Array:
        x, p = np.array(x, dtype=float), np.ascontiguousarray(p, dtype=float)
        lanes = () if self.lanes == 1 else (self.lanes,)
        if x.shape != (self.inputs, *lanes):
            raise ValueError(f"{self.name} takes {self.inputs} numbers, not {x.shape}")
        y = np.empty((self.outputs, *lanes))
        self.fill(x, p, y)
        return y

    def fill(self, x: Array, p: Array, y: Array) -> None:
        """Write the results into y; all arrays are contiguous and as long as the code reads and writes them."""
        if len(p) < self.parameters:
            raise ValueError(f"{self.name} reads {self.parameters} parameters, not {len(p)}")
        w = np.empty(self.work * self.lanes)
        if machine.missing():
            interpreted.find(self.address)(x.reshape(-1), p, y.reshape(-1), w)
            return
        self._entry(*map(machine.pointer_to, (x, p, y, w)))


def compile_programs(
    programs: Sequence[ComputationSequence],
    parameters: Sequence[Expr],
    without_p: Sequence[ComputationSequence] = (),
    around: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    seldom: Sequence[str] = (),
    lanes: int = 1,
) -> dict[str, NativeFunction]:
    """Return machine code of the programs; `parameters` are the nodes whose values the argument p carries.

    Of several `lanes`, each does what one would do, to the bit: every double in x, p, y and w is so many, one of each
    lane, and where a lane repeats its outputs more often than another this one keeps its own.

    Those `without_p` do not read it: they may compute what it carries. `around` gives LLVM code of further functions,
    each with the program that it calls, whose sizes it has. Programs named in `seldom`, the least often called last,
    leave optimization to the others where all together are LONG.
    """
    if machine.missing():
        return _interpret(programs, parameters, without_p)
    tables: dict[object, str] = {}
    lowered = {program.name: _lower(program, parameters, tables, lanes) for program in programs}
    lowered |= {program.name: _lower(program, (), tables, lanes) for program in without_p}
    names = sorted(lowered, key=lambda name: seldom.index(name) + 1 if name in seldom else 0)
    totals = accumulate(lowered[name][1] for name in names)
    within = [name for name, total in zip(names, totals, strict=True) if total <= LONG]
    made: dict[str, NativeFunction] = {}
    for own, opt in ((within, OPT), (names[len(within) :], QUICK)):
        texts, sizes = [lowered[name][2] for name in own], dict[str, tuple[int, int, int, int, int]]()
        for program in (*programs, *without_p):
            if program.name in own:
                work, operations, _ = lowered[program.name]
                n_p = 0 if program in without_p else len(parameters)
                inputs, outputs = program.input_places[-1], program.output_places[-1]
                sizes[program.name] = (inputs, outputs, work, operations, n_p)
                if program.head:
                    texts.append(_head(program, lanes))
                    head = program.output_places[program.head_outputs]
                    sizes[program.head] = (inputs, head, outputs - head + work, operations, n_p)
        for name, (inner, text) in around.items():
            if inner in own:
                texts.append(text)
                sizes[name] = sizes[inner]
        if own:
            text = "\n".join([*texts, _declarations(tables, lanes)])
            text = "\n".join([text, *masks.declare(text)])
            made |= _assemble(f"{text}\n{define(text)}", opt, sizes, lanes)
    return made


def _assemble(
    text: str, opt: int, sizes: Mapping[str, tuple[int, int, int, int, int]], lanes: int
) -> dict[str, NativeFunction]:
    code = cache.cached([text, machine.host(), str(opt)], lambda: machine.assemble(text, opt))
    loaded = machine.load(code, sizes, machine.Source(lambda: text, opt))
    return {name: NativeFunction(name, loaded.addresses[name], *size, loaded, lanes) for name, size in sizes.items()}


def _interpret(
    programs: Sequence[ComputationSequence], parameters: Sequence[Expr], without_p: Sequence[ComputationSequence]
) -> dict[str, NativeFunction]:
    functions, sizes = {}, {}
    for program in (*programs, *without_p):
        read = () if program in without_p else parameters
        operations, whole = interpreted.interpret(program, read)
        functions[program.name] = whole
        inputs, places = program.input_places[-1], program.output_places
        sizes[program.name] = (inputs, places[-1], 0, operations, len(read))
        if program.head:
            functions[program.head] = interpreted.interpret_head(program, whole)
            sizes[program.head] = (inputs, places[program.head_outputs], 0, operations, len(read))
    loaded = interpreted.load(functions)
    return {name: NativeFunction(name, loaded.addresses[name], *size, loaded) for name, size in sizes.items()}


ARGUMENTS = "ptr noalias readonly %x, ptr noalias readonly %p, ptr noalias %y, ptr noalias %w"
TAIL = ", ptr noalias %z"  # of a program with a head: where the outputs behind it go


def _counted(lanes: int) -> str:
    """Return the argument that says which lanes count."""
    return ", i64 %lanes" if lanes > 1 else ""


def _head(program: ComputationSequence, lanes: int) -> str:
    """Return the program, whose tail goes behind the head in y, and its head alone, whose tail goes into the
    scratch.
    """
    places, whole, those = program.output_places, f"{program.name}.whole", _counted(lanes)
    n, n_head = places[-1], places[program.head_outputs]
    return f"""define void @{program.name}({ARGUMENTS}{those}) nounwind {{
  %z = getelementptr double, ptr %y, i64 {n_head * lanes}
  tail call void @{whole}(ptr %x, ptr %p, ptr %y, ptr %w, ptr %z{those})
  ret void
}}
define void @{program.head}({ARGUMENTS}{those}) nounwind {{
  %rest = getelementptr double, ptr %w, i64 {(n - n_head) * lanes}
  tail call void @{whole}(ptr %x, ptr %p, ptr %y, ptr %rest, ptr %w{those})
  ret void
}}"""


def _place(program: ComputationSequence, slot: int) -> tuple[str, int]:
    """Return the array in which an output stands, and where."""
    places, n_head = program.output_places, program.head_outputs
    return ("z", places[slot] - places[n_head]) if program.head and slot >= n_head else ("y", places[slot])


# Doubles of some lanes from one place to another, the others stay
BLEND = """
define internal void @blend(ptr %to, ptr %from, i64 %count, <{n} x i1> %mask) nounwind noinline {{
  br label %loop
loop:
  %k = phi i64 [ 0, %0 ], [ %next, %loop ]
  %start = getelementptr <{n} x double>, ptr %from, i64 %k
  %end = getelementptr <{n} x double>, ptr %to, i64 %k
  %new = load <{n} x double>, ptr %start, align 8
  %old = load <{n} x double>, ptr %end, align 8
  %chosen = select <{n} x i1> %mask, <{n} x double> %new, <{n} x double> %old
  store <{n} x double> %chosen, ptr %end, align 8
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""


def _declarations(tables: dict[object, str], lanes: int) -> str:
    copying = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    blending = BLEND.format(n=lanes) if lanes > 1 else ""
    return copying + blending + (SPLINE + "\n".join(tables.values()) if tables else "")


class _Plan(NamedTuple):
    """The operations of a program in their order, and which results w hands on to other parts and to repetitions."""

    given: dict[Expr, tuple[str, int]]  # inputs and parameters, where they stand
    columns: Columns
    wide: set[Expr]  # what is a row of numbers, one for each column
    sequence: list[Expr]
    handed_on: dict[Expr, int]  # with their places in w
    late: list[Expr]  # of these, what only repetitions need: it is stored if they follow
    turning: list[Expr]  # sines and cosines that wait for no other, which stand first
    work: int  # doubles of w


def _plan(program: ComputationSequence, parameters: Sequence[Expr]) -> _Plan:
    """Find what parts of so many operations have to hand on."""
    given: dict[Expr, tuple[str, int]] = {node: ("p", k) for k, node in enumerate(parameters)}
    given.update((node, ("x", k)) for k, node in zip(program.input_places, program.inputs, strict=False))
    again, columns = program.again, program.columns or Columns(1, frozenset(), frozenset())
    given.update((node, ("unit", k)) for k, node in enumerate(columns.units))
    needed = [] if again is None else [again.is_weak]
    turning = _turning(ordered([*program.outputs, *needed], given))
    turned = [*dict.fromkeys(node.args[0] for node in turning), *turning]
    sequence = [n for n in ordered([*turned, *program.outputs, *needed], given) if n.op != "constant"]
    for node in sequence:
        if node.op == "symbol":
            raise KeyError(f"{program.name} needs '{node.value}', which is neither input nor parameter")
    part_of = {node: k // PART for k, node in enumerate(sequence)}
    last = max(len(sequence) - 1, 0) // PART
    users = [(part_of[node], node.args) for node in sequence] + ([(last, (again.is_weak,))] if again else [])
    across = dict.fromkeys(a for part, args in users for a in args if part_of.get(a, part) != part)
    kept = _kept(program, [*sequence, *program.inputs], parameters)
    wide = {*columns.inputs, *columns.units}
    wide.update(node for node in sequence if not wide.isdisjoint(node.args))
    passed = list(dict.fromkeys((*across, *kept)))
    places = [*accumulate((columns.count if node in wide else 1 for node in passed), initial=0)]
    handed_on = dict(zip(passed, places, strict=False))
    late = [node for node in kept if node not in across and part_of.get(node, last) == last]
    return _Plan(given, columns, wide, sequence, handed_on, late, turning, places[-1])


def _turning(sequence: Iterable[Expr]) -> list[Expr]:
    """Return the sines and cosines of what is had without any: they are computed side by side."""
    found, behind = list[Expr](), set[Expr]()
    for node in sequence:
        if node.op in PARTS_OF and node.args[0] not in behind:
            found.append(node)
        if node.op in PARTS_OF or not behind.isdisjoint(node.args):
            behind.add(node)
    return found


def _write_parts(program: ComputationSequence, by: _Plan, tables: dict[object, str], lanes: int) -> list[str]:
    """Write the code of each part; what later ones need is stored at once."""
    at_once, slots = by.handed_on.keys() - set(by.late), dict[Expr, list[int]]()
    for k, y in enumerate(program.outputs):
        slots.setdefault(y, []).append(k)
    bodies = []
    for start in range(0, max(len(by.sequence), 1), PART):
        emitter = _Emitter(by.given, by.handed_on, tables, lanes, by.wide, by.columns.count)
        emitter.lines += [masks.unpack(lanes)] if lanes > 1 else []
        here = {*by.sequence[start : start + PART]}
        emitter.turning = [] if lanes > 1 else [*dict.fromkeys(x.args[0] for x in by.turning if x in here)]
        for node in by.sequence[start : start + PART]:
            (emitter.compute_row if node in by.wide else emitter.compute)(node)
            if node in at_once:
                emitter.store(node, "w", by.handed_on[node], node in by.wide)
            for slot in slots.pop(node, ()):
                emitter.store(node, *_place(program, slot), slot in by.columns.outputs)
        if start + PART >= len(by.sequence):  # what is left are outputs that are inputs, parameters or constants
            for node, those in slots.items():
                for slot in those:
                    emitter.store(node, *_place(program, slot), slot in by.columns.outputs)
            if program.again:
                emitter.repeat(f"{program.name}.more", program.again, by.late, bool(program.head))
        bodies.append("\n".join(emitter.lines))
    return bodies


def _lower(
    program: ComputationSequence, parameters: Sequence[Expr], tables: dict[object, str], lanes: int
) -> tuple[int, int, str]:
    """Return the size of the scratch, the number of operations and the LLVM code of the program."""
    by = _plan(program, parameters)
    bodies, name, work = _write_parts(program, by, tables, lanes), program.name, by.work
    whole, tail, z = (f"{name}.whole", TAIL, ", ptr %z") if program.head else (name, "", "")
    tail, z = tail + _counted(lanes), z + _counted(lanes)
    repeated = []
    if program.again:
        rows = frozenset(by.wide.intersection(by.handed_on))
        own = replace(by.columns, inputs=rows, outputs=frozenset(), units=())
        size, text = _repetition(program, [*by.handed_on], own, parameters, tables, lanes)
        work += size
        repeated.append(text)
    if len(bodies) == 1:
        text = f"define void @{whole}({ARGUMENTS}{tail}) nounwind {{\n{bodies[0]}\nret void\n}}"
        return work, len(by.sequence), "\n".join([text, *repeated])
    functions = [
        f"define internal void @{name}.{k}({ARGUMENTS}{tail}) nounwind noinline {{\n{body}\nret void\n}}"
        for k, body in enumerate(bodies)
    ]
    calls = "\n".join(f"call void @{name}.{k}(ptr %x, ptr %p, ptr %y, ptr %w{z})" for k in range(len(bodies)))
    functions.append(f"define void @{whole}({ARGUMENTS}{tail}) nounwind {{\n{calls}\nret void\n}}")
    return work, len(by.sequence), "\n".join([*repeated, *functions])


def _kept(program: ComputationSequence, known: Sequence[Expr], parameters: Sequence[Expr]) -> list[Expr]:
    """Return what the repetition uses of what the program knows."""
    if program.again is None:
        return []
    given = {*parameters, *program.again.x.values(), *program.again.improved.values()}
    own = {node for node in known if node not in given}
    outputs = [*program.again.outputs.values(), program.again.needs]
    used = [*outputs, *(a for node in ordered(outputs, given | own) for a in node.args)]
    return list(dict.fromkeys(node for node in used if node in own and node.op != "constant"))


def _repetition(
    program: ComputationSequence,
    handed_on: list[Expr],
    columns: Columns,
    parameters: Sequence[Expr],
    tables: dict[object, str],
    lanes: int,
) -> tuple[int, str]:
    """Return the doubles it needs besides, and functions: name.again improves once, name.needs judges, name.more is
    the loop.

    Their memory is w: (values handed on, x, improved outputs, whether more is needed, scratch of the others).
    """
    assert program.again is not None
    name, again = program.name, program.again
    inputs, outputs = [*handed_on, *again.x.values()], [*again.outputs.values()]
    inner = ComputationSequence(f"{name}.again", inputs, outputs, columns=columns)
    results = [again.improved.get(slot, symbol(f"result {slot}")) for slot in again.outputs]
    judge = ComputationSequence(f"{name}.needs", [*inputs, *results], [again.needs], columns=columns)
    (work, _, text), (work_of_judge, _, text_of_judge) = (_lower(f, parameters, tables, lanes) for f in (inner, judge))
    n_in, n_out, n_kept = inner.input_places[-1], len(outputs), inner.input_places[len(handed_on)]
    copies_in = [_copy(y, at, "x", n_kept + k, n, lanes) for k, y, at, n in _runs(program, again.x)]
    copies_out = [_copy("out", k, y, at, n, lanes, masked=True) for k, y, at, n in _runs(program, again.outputs)]
    f, z, every = Text(lanes), ", ptr %z" if program.head else "", f", i64 {masks.ALL}" if lanes > 1 else ""
    integers, truths, numbers = f.type("i64"), f.type("i1"), f.type("double")
    one, zero = f.value(1, "i64").name, f.value(0.0, "double").name
    loop = f"""define internal void @{name}.more({_loop_arguments(lanes, z)}) nounwind noinline {{
  %out = getelementptr double, ptr %x, i64 {n_in * lanes}
  %verdict = getelementptr double, ptr %x, i64 {(n_in + n_out) * lanes}
  %scratch = getelementptr double, ptr %x, i64 {(n_in + n_out + 1) * lanes}
  br label %loop
loop:
  %k = phi {integers} [ zeroinitializer, %0 ], [ %next, %enough ], [ %next, %judge ]
  %active = phi {truths} [ %wanted, %0 ], [ %goes_on, %enough ], [ %more, %judge ]
  {"".join(copies_in)}
  call void @{name}.again(ptr %x, ptr %p, ptr %out, ptr %scratch{every})
  {"".join(copies_out)}
  %next = add {integers} %k, {one}
  %few = icmp slt {integers} %next, %count
  %goes_on = and {truths} %active, %few
  %room = icmp slt {integers} %next, %most
  %may = and {truths} %weak, %room
  %doubtful = and {truths} %active, %may
  %undone = or {truths} %goes_on, %doubtful
  {_some("undone", lanes)}
  br i1 %some.undone, label %enough, label %done
enough:
  %clear = xor {truths} %few, {f.value(True, "i1").name}
  %asked = and {truths} %doubtful, %clear
  {_some("asked", lanes)}
  br i1 %some.asked, label %judge, label %loop
judge:
  call void @{name}.needs(ptr %x, ptr %p, ptr %verdict, ptr %scratch{every})
  %needs = load {numbers}, ptr %verdict, align 8
  %lacks = fcmp une {numbers} %needs, {zero}
  %still = and {truths} %asked, %lacks
  %more = or {truths} %goes_on, %still
  {_some("more", lanes)}
  br i1 %some.more, label %loop, label %done
done:
  ret void
}}"""
    return n_in - n_kept + n_out + 1 + max(work, work_of_judge), f"{text}\n{text_of_judge}\n{loop}"


def _loop_arguments(lanes: int, z: str) -> str:
    """Return the arguments of the loop of repetitions: `wanted` are the lanes that have one to do."""
    f = Text(lanes)
    integers, truths = f.type("i64"), f.type("i1")
    return f"ptr %x, ptr %p, ptr %y{z}, {integers} %count, {integers} %most, {truths} %weak, {truths} %wanted"


def _some(name: str, lanes: int) -> str:
    """Return whether one of the lanes is true."""
    if lanes == 1:
        return f"%some.{name} = or i1 %{name}, false"
    return f"%some.{name} = call i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1> %{name})"


def _runs(program: ComputationSequence, slots: Iterable[int]) -> Iterator[tuple[int, str, int, int]]:
    """Yield outputs that stand behind each other: the number of the first among all, its array and place, and how
    many.
    """
    places = (_place(program, slot) for slot in slots)
    for (array, _), run in groupby(enumerate(places), key=lambda pair: (pair[1][0], pair[1][1] - pair[0])):
        (k, (_, first)), *others = run
        yield k, array, first, 1 + len(others)


def _copy(source: str, start: int, target: str, k: int, count: int, lanes: int, masked: bool = False) -> str:
    """Copy any number of values in one piece: LLVM takes long for a function of many copies."""
    label = f"{source}{start}.{target}{k}"
    places = f"""
  %from.{label} = getelementptr double, ptr %{source}, i64 {start * lanes}
  %to.{label} = getelementptr double, ptr %{target}, i64 {k * lanes}"""
    if masked and lanes > 1:
        mask = f"<{lanes} x i1> %active"
        return f"""{places}
  call void @blend(ptr %to.{label}, ptr %from.{label}, i64 {count}, {mask})"""
    return f"""{places}
  call void @llvm.memcpy.p0.p0.i64(ptr %to.{label}, ptr %from.{label}, i64 {8 * count * lanes}, i1 false)"""


class _Emitter:
    """The lines of one LLVM function and the names its values have in it."""

    def __init__(
        self,
        given: dict[Expr, tuple[str, int]],
        handed_on: dict[Expr, int],
        tables: dict[object, str],
        lanes: int,
        wide: set[Expr],
        count: int,
    ) -> None:
        self.given = given
        self.handed_on = handed_on
        self.tables = tables
        self.lines: list[str] = []
        self.names: dict[Expr, str] = {}
        self.pointers: dict[tuple[str, int], str] = {}
        self.pairs: dict[str, tuple[str, ...]] = {}  # sine and cosine of a value
        self.turning: list[Expr] = []  # values whose sines and cosines are computed side by side
        self.tests: dict[Expr, tuple[str, str]] = {}  # whether a comparison holds, and whether it has no answer
        self.of = Text(lanes)
        self.numbers, self.truths = self.of.type("double"), self.of.type("i1")
        self.wide, self.count = wide, count  # what is a row of so many numbers
        self.row = f"<{count} x double>"
        self.spread: dict[str, str] = {}  # one number as a row

    def constant(self, value: float) -> str:
        return self.of.value(value, "double").name

    def pointer(self, array: str, k: int) -> str:
        name = self.pointers.get((array, k))
        if name is None:
            name = self.pointers[array, k] = f"%{array}{k}"
            self.lines.append(f"{name} = getelementptr double, ptr %{array}, i64 {k * self.of.lanes}")
        return name

    def value(self, node: Expr) -> str:
        """Return the name of a value, loaded where it does not come from this function."""
        name = self.names.get(node)
        if name is None:
            if node.op == "constant" and node not in self.given:
                return self.constant(node.number)
            array, k = self.given[node] if node in self.given else ("w", self.handed_on[node])
            if array == "unit":
                return f"<{', '.join(f'double {float_bits(float(i == k))}' for i in range(self.count))}>"
            name = self.names[node] = f"%v{len(self.names)}"
            kind = self.row if node in self.wide else self.numbers
            self.lines.append(f"{name} = load {kind}, ptr {self.pointer(array, k)}, align 8")
        return name

    def row_of(self, node: Expr) -> str:
        """Return the name of a row; one number stands in all of its columns."""
        value = self.value(node)
        if node in self.wide:
            return value
        if node.op == "constant" and node not in self.given:
            return f"splat (double {value})"
        if value not in self.spread:
            name = self.spread[value] = f"{value}.row"
            first = f"{self.row} poison, double {value}, i64 0"
            whole = f"{self.row} {name}.first, {self.row} poison, <{self.count} x i32> zeroinitializer"
            self.lines += [f"{name}.first = insertelement {first}", f"{name} = shufflevector {whole}"]
        return self.spread[value]

    def store(self, node: Expr, array: str, k: int, is_row: bool = False) -> None:
        value, pointer, lanes = self.row_of(node) if is_row else self.value(node), self.pointer(array, k), self.of.lanes
        if lanes > 1 and array != "w":
            self.lines.append(masks.store("double", lanes, value, pointer))
        else:
            kind = self.row if is_row else self.numbers
            self.lines.append(f"store {kind} {value}, ptr {pointer}, align 8")

    def repeat(self, name: str, again: Again, kept: Sequence[Expr], has_tail: bool) -> None:
        """Call the loop of repetitions, with these values stored in w, if a number in p or a weakness wishes it."""
        integers, lanes = self.of.type("i64"), self.of.lanes
        for number, node in (("count", again.count), ("most", again.most)):
            self.lines.append(f"%{number} = load {integers}, ptr {self.pointer(*self.given[node])}, align 8")
        is_weak = self.value(again.is_weak)
        self.lines.append(f"""%weak = fcmp une {self.numbers} {is_weak}, {self.constant(0.0)}
%room = icmp sgt {integers} %most, zeroinitializer
%useful = and {self.truths} %weak, %room
%counted = icmp sgt {integers} %count, zeroinitializer
%wished = or {self.truths} %counted, %useful
%wanted = {"or" if lanes == 1 else "and"} {self.truths} %wished, {"false" if lanes == 1 else "%mask"}
{_some("wanted", lanes)}
br i1 %some.wanted, label %again, label %done
again:""")
        for node in kept:
            self.store(node, "w", self.handed_on[node], node in self.wide)
        y = "ptr %y, ptr %z" if has_tail else "ptr %y"
        given = f"{integers} %count, {integers} %most, {self.truths} %weak, {self.truths} %wanted"
        self.lines.append(f"""call void @{name}(ptr %w, ptr %p, {y}, {given})
br label %done
done:""")

    def choose(self, name: str, condition: str, a: str, b: str) -> None:
        t = self.numbers
        self.lines.append(f"{name} = select {self.truths} {condition}, {t} {a}, {t} {b}")

    def compute_row(self, node: Expr) -> None:
        """Compute a row, which is linear in others."""
        a = [self.row_of(argument) for argument in node.args]
        name = self.names[node] = f"%v{len(self.names)}"
        if node.op not in (*BINARY, "neg"):
            raise KeyError(f"no machine code for '{node.op}' of columns")
        operation = "fneg" if node.op == "neg" else BINARY[node.op]
        self.lines.append(f"{name} = {operation} {self.row} {', '.join(a)}")

    def compute(self, node: Expr) -> None:
        a = [self.value(argument) for argument in node.args]
        name = f"%v{len(self.names)}"
        self.names[node] = name
        emit, t, lanes = self.lines.append, self.numbers, self.of.lanes
        zero = self.constant(0.0)
        op = {"abs": "fabs"}.get(node.op, node.op)
        if op in BINARY:
            emit(f"{name} = {BINARY[op]} {t} {a[0]}, {a[1]}")
        elif op == "neg":
            emit(f"{name} = fneg {t} {a[0]}")
        elif op in INTRINSICS or op in FUNCTIONS:
            emit(f"{name} = {call(op, a, lanes)}")
        elif op in PARTS_OF:
            function, part = PARTS_OF[op]
            if a[0] not in self.pairs:
                together = self.turning if node.args[0] in self.turning else [node.args[0]]
                self.turn(function, [self.value(x) for x in together], f"{name}.turn")
            self.names[node] = self.pairs[a[0]][part]
        elif op in ("min", "max"):
            emit(f"{name}.c = fcmp {'olt' if op == 'min' else 'ogt'} {t} {a[0]}, {a[1]}")
            self.choose(f"{name}.m", f"{name}.c", a[0], a[1])  # one instruction, b if a is NaN
            emit(f"{name}.u = fcmp uno {t} {a[0]}, {zero}")
            self.choose(name, f"{name}.u", a[0], f"{name}.m")
        elif op in ("lt", "le"):
            emit(f"{name}.c = fcmp o{op} {t} {a[0]}, {a[1]}")
            emit(f"{name}.o = uitofp {self.truths} {name}.c to {t}")
            emit(f"{name}.u = fcmp uno {t} {a[0]}, {a[1]}")
            self.choose(name, f"{name}.u", self.constant(math.nan), f"{name}.o")
            self.tests[node] = f"{name}.c", f"{name}.u"
        elif op == "select" and node.args[0] in self.tests:
            holds, has_none = self.tests[node.args[0]]
            self.choose(f"{name}.s", holds, a[1], a[2])
            self.choose(name, has_none, self.constant(math.nan), f"{name}.s")
        elif op == "select":
            emit(f"{name}.c = fcmp one {t} {a[0]}, {zero}")
            self.choose(f"{name}.s", f"{name}.c", a[1], a[2])
            emit(f"{name}.u = fcmp uno {t} {a[0]}, {zero}")
            self.choose(name, f"{name}.u", a[0], f"{name}.s")
        elif op == "sign":
            emit(f"{name}.p = fcmp ogt {t} {a[0]}, {zero}")
            emit(f"{name}.n = fcmp olt {t} {a[0]}, {zero}")
            emit(f"{name}.q = uitofp {self.truths} {name}.p to {t}")
            emit(f"{name}.m = uitofp {self.truths} {name}.n to {t}")
            emit(f"{name}.s = fsub {t} {name}.q, {name}.m")
            emit(f"{name}.u = fcmp uno {t} {a[0]}, {zero}")
            self.choose(name, f"{name}.u", a[0], f"{name}.s")
        elif op == "spline":
            knots, coefficients, order = node.value
            table = self.table(knots, coefficients)
            rest = f"ptr @{table}.k, ptr @{table}.c, i64 {len(coefficients)}, i64 {order}"
            if lanes == 1:
                emit(f"{name} = call double @spline(double {a[0]}, {rest})")
            whole = "poison"
            for k in range(lanes if lanes > 1 else 0):  # each lane in a piece of its own
                emit(f"{name}.x{k} = extractelement {t} {a[0]}, i32 {k}")
                emit(f"{name}.y{k} = call double @spline(double {name}.x{k}, {rest})")
                into = name if k == lanes - 1 else f"{name}.w{k}"
                emit(f"{into} = insertelement {t} {whole}, double {name}.y{k}, i32 {k}")
                whole = into
        else:
            raise KeyError(f"no machine code for '{node.op}'")

    def turn(self, function: str, values: Sequence[str], name: str) -> None:
        """Compute sines and cosines of these values side by side, as many as the longest vectors have doubles."""
        emit, t = self.lines.append, self.numbers
        if len(values) == 1:
            emit(f"{name} = {call(function, values, self.of.lanes)}")
            self.pairs[values[0]] = f"{name}.0", f"{name}.1"
            for k in (0, 1):
                emit(f"{name}.{k} = extractvalue {{{t}, {t}}} {name}, {k}")
            return
        for first in range(0, len(values), 8):
            some, own = values[first : first + 8], f"{name}{first}"
            n = 1 << (len(some) - 1).bit_length()
            if n == 1:
                self.turn(function, some, own)
                continue
            row, x = f"<{n} x double>", f"splat (double {float_bits(0.0)})"
            for k, value in enumerate(some):
                emit(f"{own}.x{k} = insertelement {row} {x}, double {value}, i32 {k}")
                x = f"{own}.x{k}"
            emit(f"{own} = {call(function, [x], n)}")
            for part in (0, 1):
                emit(f"{own}.y{part} = extractvalue {{{row}, {row}}} {own}, {part}")
                for k in range(len(some)):
                    emit(f"{own}.{part}.{k} = extractelement {row} {own}.y{part}, i32 {k}")
            self.pairs |= {value: (f"{own}.0.{k}", f"{own}.1.{k}") for k, value in enumerate(some)}

    def table(self, knots: tuple[float, ...], coefficients: tuple[tuple[float, ...], ...]) -> str:
        """Return the name of the constants of a spline."""
        key = (knots, coefficients)
        names = {known: f"table{k}" for k, known in enumerate(self.tables)}
        if key not in names:
            name = names[key] = f"table{len(self.tables)}"
            flat = [c for piece in coefficients for c in piece]
            self.tables[key] = "\n".join(
                f"@{name}.{kind} = private constant [{len(values)} x double] "
                f"[{', '.join('double ' + float_bits(v) for v in values)}]"
                for kind, values in (("k", knots), ("c", flat))
            )
        return names[key]
