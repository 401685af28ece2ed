"""Kernels as LLVM text, made from the syntax of Python functions.

Every function becomes a function of LLVM for the kinds of its arguments. One that is handed to another is known here,
so that it is called directly. A variable that is assigned an integer and later a float is a float from the beginning,
for which its function is translated once more. A description of memory is written out where it is called; what it reads
stays as it is while a kernel runs, so that it is handed on as its arguments and made again. What is not written here a
kernel cannot do, and the error says where it tried.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Sequence
from enum import IntEnum
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NoReturn, get_type_hints

from linkwork.native.elementary import ELEMENTARY, define
from linkwork.native.instructions import (
    PREDICATES,
    PRIMITIVES,
    Made,
    Shape,
    Value,
    Wider,
    Writer,
    constant,
    hand_on,
    kind_of,
    operands_of,
    tuple_of,
    types_of,
    value_of,
)
from linkwork.native.kernels import Kernel, Memory, parameters_of

# Lines of LLVM text, those that describe memory left out, from which on a function is not copied to where it is called,
# however seldom that is: LLVM takes longer than in proportion for a long function, half as long again for all kernels
# together. Runs gain nothing by it; copies of small ones save a tenth of what the time loop adds to a step.
APART = 60


def translate(kernel: Kernel) -> str:
    """Write LLVM text with one function to be called, the kernel under its own name."""
    module = Module()
    module.add(kernel.python, kernel.arguments, kernel.name, "")
    text = "\n".join(module.texts)
    return "\n".join([text, define(text), "!0 = !{}"])


@cache
def _syntax(path: str) -> dict[int, tuple[ast.FunctionDef, CodeType]]:
    """Return the functions of a file and their bytecode, by the line on which they begin, decorators included."""
    tree = ast.parse(Path(path).read_bytes())
    codes, inner = {}, [compile(tree, path, "exec", dont_inherit=True)]
    for code in inner:
        codes[code.co_firstlineno] = code
        inner += [item for item in code.co_consts if isinstance(item, CodeType)]
    nodes: list[Any] = list(tree.body)
    for node in nodes:  # in classes and functions too
        nodes += getattr(node, "body", ())
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    lines = [min([node.lineno, *(d.lineno for d in node.decorator_list)]) for node in functions]
    return {line: (node, codes[line]) for line, node in zip(lines, functions, strict=True)}


def _definition(function: FunctionType) -> ast.FunctionDef:
    """Return the syntax of a function, as it was imported."""
    code = function.__code__
    node, written = _syntax(code.co_filename).get(code.co_firstlineno, (None, None))
    if node is None or written is None or written.co_code != code.co_code:
        raise TypeError(f"the source of {function.__qualname__} was changed since it was imported")
    return node


_hints = cache(partial(get_type_hints, include_extras=True))


def _returned(function: FunctionType, arguments: Sequence[Any] = ()) -> Any:
    """Return the kind of its result; a type variable in it is the kind of the argument that has the same."""
    hints = _hints(function)
    returned = hints["return"]
    if not (free := getattr(returned, "__parameters__", ())):
        return kind_of(returned)
    kinds = {hints[name]: kind for name, kind in zip(parameters_of(function), arguments, strict=False)}
    return kind_of(returned[tuple(kinds.get(x, x) for x in free)])


def result_type(kind: Any) -> str:
    """Return the type in LLVM of a function that returns this kind."""
    types = types_of(kind)
    return ("void", *types)[len(types)] if len(types) < 2 else f"{{{', '.join(types)}}}"


@cache
def _is_description(function: FunctionType) -> bool:
    """Return whether it gives names to memory, or numbers, and does nothing else."""
    kind, statements = _returned(function), {type(node) for node in _definition(function).body}
    return isinstance(kind, Shape) and kind.cls is not tuple and statements <= {ast.Expr, ast.Assign, ast.Return}


@cache
def _varying(function: ast.FunctionDef) -> set[str]:
    """Return variables that are assigned in a branch or loop; all others are one value at each place."""
    nested = (node for node in function.body if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign))
    names = (n for node in nested for n in ast.walk(node) if isinstance(n, ast.Name))
    return {n.id for n in names if isinstance(n.ctx, ast.Store)}


class Module:
    """The functions that a kernel calls, each translated once for the kinds of its arguments."""

    apart = APART

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._known: dict[tuple[Any, ...], tuple[str, Any]] = {}

    def translation(self, function: FunctionType, kinds: dict[str, Any]) -> Translation:
        return Translation(self, function, Writer(kinds))

    def find(self, function: FunctionType, arguments: tuple[Any, ...]) -> tuple[str, Any]:
        """Return the name of a function for these arguments, and the kind of its result."""
        key = function, arguments
        if key not in self._known:
            name = f"{function.__name__}.{len(self._known)}"
            self._known[key] = name, None
            self._known[key] = name, self.add(function, arguments, name, "internal ")
        return self._known[key]

    def add(self, function: FunctionType, arguments: Sequence[Any], name: str, linkage: str) -> Any:
        kinds: dict[str, Any] = {}
        while True:
            try:
                translation = self.translation(function, kinds)
                signature, lines = translation.translate(arguments)
            except Wider:
                continue
            own = len(lines) - translation.out.places_described  # places that are not used leave nothing
            apart = " noinline" if linkage and own >= self.apart else ""
            head = f'define {linkage}{result_type(translation.returned)} @"{name}"({signature}) nounwind{apart} {{'
            self.texts.append("\n".join([head, *lines, "}"]))
            return translation.returned


class Translation:
    """One function for arguments of some kinds."""

    def __init__(self, module: Module, function: FunctionType, out: Writer) -> None:
        self.module, self.function, self.node = module, function, _definition(function)
        self.returned = _returned(function)
        self.out = out
        self.known: dict[str, Any] = {}  # functions, and variables that are no memory
        self.varying = _varying(self.node)
        self.loops: list[tuple[str, str]] = []  # where `continue` and `break` lead

    def translate(self, arguments: Sequence[Any]) -> tuple[str, list[str]]:
        """Return the signature and the lines."""
        signature, self.returned = [], self.result_kind(arguments)
        for argument, kind in zip(self.node.args.args, arguments, strict=True):
            name = argument.arg
            self.known[name] = kind
            if not isinstance(kind, FunctionType):
                operands = [f"%{name}.in{k}" for k in range(len(types_of(kind)))]
                signature += [f"{t} {operand}" for t, operand in zip(types_of(kind), operands, strict=True)]
                self.known[name] = self.receive(value_of(kind, iter(operands)))
                if name in self.varying:
                    self.out.store(name, self.known[name])
        self.statements(self.node.body)
        self.finish()
        return ", ".join(signature), [*self.out.stack(), *self.out.lines]

    def result_kind(self, arguments: Sequence[Any]) -> Any:
        return _returned(self.function, arguments)

    def finish(self) -> None:
        if not self.out.ended:
            self.out.line("ret void" if self.returned is type(None) else "unreachable")

    def receive(self, value: Value) -> Value:
        """Name an argument; a description is made again."""
        if not isinstance(value.kind, Made):
            return value
        return self.describe(value.kind.function, [self.receive(part) for part in value.parts])

    def describe(self, function: FunctionType, given: Sequence[Value]) -> Value:
        """Return what a description returns, written out here."""
        inner = type(self)(self.module, function, self.out)
        inner.known.update(zip(parameters_of(function), given, strict=True))
        *before, end = inner.node.body
        assert isinstance(end, ast.Return)
        self.out.described += 1
        inner.statements(before)
        value = inner.expression(end.value)  # type: ignore[arg-type]
        self.out.described -= 1
        return value._replace(made=(function, tuple(given)))

    def statements(self, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            if self.out.ended:
                return
            try:
                getattr(self, STATEMENTS.get(type(node), "refuse"))(node)
            except TypeError as error:
                if str(error).startswith("line "):
                    raise
                raise TypeError(f"line {node.lineno} of {self.function.__qualname__}: {error}") from None

    def refuse(self, node: ast.AST) -> NoReturn:
        raise TypeError(f"a kernel cannot do this: {ast.unparse(node).splitlines()[0]}")

    def express(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.expression(node.value)

    def assign(self, node: ast.Assign) -> None:
        value = self.expression(node.value)
        for target in node.targets:
            self.put(target, value)

    def assign_annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.put(node.target, self.expression(node.value))

    def change(self, node: ast.AugAssign) -> None:
        """Change x[i] += y; its place is found once."""
        if isinstance(node.target, ast.Subscript):
            place = self.place(node.target)
            self.out.put_at(place, self.out.combine(node.op, self.out.read_at(place), self.expression(node.value)))
        else:
            self.put(node.target, self.out.combine(node.op, self.expression(node.target), self.expression(node.value)))

    def put(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name) and target.id in self.varying:
            self.out.store(target.id, value)
        elif isinstance(target, ast.Name):
            self.known[target.id] = value
        elif isinstance(target, ast.Tuple) and isinstance(value.kind, Shape):
            for inner, part in zip(target.elts, value.parts, strict=True):
                self.put(inner, part)
        elif isinstance(target, ast.Subscript):
            self.out.put_at(self.place(target), value)
        elif isinstance(target, ast.Attribute):
            self.out.put(self.field(target), value)
        else:
            self.refuse(target)

    def place(self, node: ast.Subscript) -> Value:
        return self.out.beyond(self.expression(node.value), self.expression(node.slice))

    def give_back(self, node: ast.Return) -> None:
        if node.value is None or self.returned is type(None):
            self.out.line("ret void")
        else:
            types, result = types_of(self.returned), result_type(self.returned)
            operands = operands_of(self.out.convert(self.expression(node.value), self.returned))
            whole = operands[0] if len(types) == 1 else "poison"
            for k, (t, operand) in enumerate(zip(types, operands, strict=True) if len(types) > 1 else ()):
                whole = self.out.emit(f"insertvalue {result} {whole}, {t} {operand}, {k}")
            self.out.line(f"ret {result} {whole}")
        self.out.ended = True

    def choose(self, node: ast.If) -> None:
        yes, no, end = self.out.labels("then", "else", "endif")
        self.out.branch(self.out.truth(self.expression(node.test)), yes, no)
        ended = []
        for label, statements in ((yes, node.body), (no, node.orelse)):
            self.out.begin(label)
            self.statements(statements)
            ended.append(self.out.ended)
            self.out.jump(end)
        if not all(ended):
            self.out.begin(end)

    def repeat_while(self, node: ast.While) -> None:
        head, body, end = self.out.labels("while", "body", "endwhile")
        self.out.jump(head)
        self.out.begin(head)
        self.out.branch(self.out.truth(self.expression(node.test)), body, end)
        self.out.begin(body)
        self.repeat(node, head, end)
        self.out.begin(end)

    def repeat(self, node: ast.For | ast.While, onward: str, end: str) -> None:
        """Write the body of a loop; `continue` and `break` lead to these labels."""
        if node.orelse:
            self.refuse(node)
        self.loops.append((onward, end))
        self.statements(node.body)
        self.loops.pop()
        self.out.jump(onward)

    def repeat_for(self, node: ast.For) -> None:
        called, out = node.iter, self.out
        if not (isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and called.func.id == "range"):
            self.repeat_for_each(node)
            return
        head, body, onward, end = out.labels("for", "body", "onward", "endfor")
        given = [out.convert(self.expression(argument), int) for argument in called.args]
        start, stop = given[:2] if len(given) > 1 else (constant(0), given[0])
        step = ast.literal_eval(called.args[2]) if len(given) == 3 else 1  # a number, so that its sign is known
        counter = f"for.{node.lineno}.{node.col_offset}"
        out.store(counter, start)
        out.jump(head)
        out.begin(head)
        k = out.load(counter)
        out.branch(out.emit(f"icmp {'slt' if step > 0 else 'sgt'} i64 {k.parts[0]}, {stop.parts[0]}"), body, end)
        out.begin(body)
        self.put(node.target, k)
        self.repeat(node, onward, end)
        out.begin(onward)
        out.store(counter, out.combine(ast.Add(), out.load(counter), constant(step)))
        out.jump(head)
        out.begin(end)

    def repeat_for_each(self, node: ast.For) -> None:
        """Write the body of a loop once for each value of a tuple, or row of a table of functions."""
        table = self.evaluate(node.iter)
        values = table if type(table) is tuple else self.expression(node.iter).parts
        (end,) = self.out.labels("endfor")
        for part in values:
            (onward,) = self.out.labels("onward")
            self.put_part(node.target, part)
            self.repeat(node, onward, end)
            self.out.begin(onward)
        self.out.jump(end)
        self.out.begin(end)

    def put_part(self, target: ast.expr, part: Any) -> None:
        if isinstance(part, FunctionType) and isinstance(target, ast.Name):
            self.known[target.id] = part
        elif type(part) is tuple and isinstance(target, ast.Tuple):
            for inner, x in zip(target.elts, part, strict=True):
                self.put_part(inner, x)
        else:
            self.put(target, part if isinstance(part, Value) else constant(part))

    def go_on(self, _: ast.Continue) -> None:
        self.out.jump(self.loops[-1][0])

    def leave(self, _: ast.Break) -> None:
        self.out.jump(self.loops[-1][1])

    def expression(self, node: ast.expr) -> Value:
        found = self.evaluate(node)
        if isinstance(found, Value):
            return found
        if isinstance(found, bool | int | float | complex | tuple):
            return constant(found)
        raise TypeError(f"'{ast.unparse(node)}' is not a number, pointer or tuple")

    def evaluate(self, node: ast.expr) -> Any:
        """Evaluate to a value, or to a number, function or module of Python."""
        return getattr(self, EXPRESSIONS.get(type(node), "refuse"))(node)

    def number(self, node: ast.Constant) -> Any:
        return node.value

    def look_up(self, node: ast.Name) -> Any:
        if self.is_stored(node.id):
            return self.out.load(node.id)
        if node.id in self.known:
            return self.known[node.id]
        if node.id in self.function.__code__.co_varnames:
            raise TypeError(f"'{node.id}' has no value here")
        return {**vars(builtins), **self.function.__globals__}[node.id]

    def is_stored(self, name: str) -> bool:
        """Return whether it is a variable of this function in memory, not of one that has a description written out."""
        return name in self.varying and name in self.out.places

    def attribute(self, node: ast.Attribute) -> Any:
        found = self.field(node)
        return self.out.read(found) if isinstance(found, Value) else found

    def field(self, node: ast.Attribute) -> Any:
        """Return a value, of a number in memory its cell; a member of an enumeration, or a function of `math`."""
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        if self.is_stored(name) and isinstance(kind := self.out.kinds[name], Shape) and kind.cls is not tuple:
            return self.out.load(name, kind.fields.index(node.attr))
        owner = self.evaluate(node.value)
        if owner is math:
            return getattr(math, node.attr)
        if isinstance(owner, type) and issubclass(owner, IntEnum):
            return int(owner[node.attr])
        if isinstance(owner, Value) and owner.kind is complex:
            return Value(float, (owner.parts[("real", "imag").index(node.attr)],))
        if isinstance(owner, Value) and isinstance(owner.kind, Shape) and owner.kind.cls is not tuple:
            return owner.parts[owner.kind.fields.index(node.attr)]
        self.refuse(node)

    def subscript(self, node: ast.Subscript) -> Value:
        owner = self.expression(node.value)
        if isinstance(owner.kind, Shape):
            part: Value = owner.parts[ast.literal_eval(node.slice)]
            return part
        return self.out.read_at(self.out.beyond(owner, self.expression(node.slice)))

    def gather(self, node: ast.Tuple) -> Value:
        return tuple_of(self.listed(node.elts))

    def listed(self, nodes: Sequence[ast.expr]) -> list[Value]:
        """Return their values; of a tuple with a star, those in it."""
        values: list[Value] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values += self.expression(node.value).parts
            else:
                values.append(self.expression(node))
        return values

    def decide(self, node: ast.IfExp) -> Value:
        name = f"if.{node.lineno}.{node.col_offset}"
        yes, no, end = self.out.labels("then", "else", "endif")
        self.out.branch(self.out.truth(self.expression(node.test)), yes, no)
        for label, chosen in ((yes, node.body), (no, node.orelse)):
            self.out.begin(label)
            self.out.store(name, self.expression(chosen))
            self.out.jump(end)
        self.out.begin(end)
        return self.out.load(name)

    def connect(self, node: ast.BoolOp) -> Value:
        """Connect by `and` and `or`, which look at no more of their parts than they need."""
        name = f"bool.{node.lineno}.{node.col_offset}.{node.end_col_offset}"
        (end,) = self.out.labels("decided")
        for part in node.values:
            value = self.expression(part)
            if value.kind is not bool:
                raise TypeError(f"'{ast.unparse(part)}' is neither true nor false")
            self.out.store(name, value)
            (onward,) = self.out.labels("undecided")
            self.out.branch(value.parts[0], *((onward, end) if isinstance(node.op, ast.And) else (end, onward)))
            self.out.begin(onward)
        self.out.jump(end)
        self.out.begin(end)
        return self.out.load(name)

    def negate(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return constant(-node.operand.value)  # type: ignore[operator]
        value = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            return Value(bool, (self.out.emit(f"xor i1 {self.out.truth(value)}, true"),))
        if isinstance(node.op, ast.USub) and value.kind in (float, complex):
            return Value(value.kind, tuple(self.out.emit(f"fneg double {part}") for part in value.parts))
        if isinstance(node.op, ast.USub):
            return self.out.combine(ast.Sub(), constant(0), value)
        self.refuse(node)

    def compare(self, node: ast.Compare) -> Value:
        """Compare all parts of a chain: they are numbers, which costs nothing."""
        left, whole = self.expression(node.left), "true"
        for op, operand in zip(node.ops, node.comparators, strict=True):
            right = self.expression(operand)
            if type(op) not in PREDICATES:
                self.refuse(node)
            whole = self.out.emit(f"and i1 {whole}, {self.out.compare(op, left, right)}")
            left = right
        return Value(bool, (whole,))

    def combine(self, node: ast.BinOp) -> Value:
        return self.out.combine(node.op, self.expression(node.left), self.expression(node.right))

    def call(self, node: ast.Call) -> Value:
        called = self.evaluate(node.func)
        if node.keywords:
            self.refuse(node)
        if isinstance(called, FunctionType) and called not in PRIMITIVES:
            return self.call_function(called, node.args)
        given = self.listed(node.args)
        if isinstance(called, type) and issubclass(called, Memory):
            return self.out.describe(tuple_of(given), called)
        if isinstance(called, type) and issubclass(called, tuple) and called is not tuple:
            return self.out.convert(tuple_of(given), kind_of(called))
        if called in PRIMITIVES:
            written: Value = getattr(self.out, PRIMITIVES[called])(*given)
            return written
        name = getattr(called, "__name__", "")
        if getattr(math, name, None) is called and name in ELEMENTARY:
            return self.out.apply(name, given)
        self.refuse(node)

    def call_function(self, function: FunctionType, nodes: Sequence[ast.expr]) -> Value:
        """Call another plain function, all of its arguments given by their places."""
        names = parameters_of(function)
        if len(names) != len(nodes):
            raise TypeError(f"{function.__name__} takes {len(names)} arguments, not {len(nodes)}")
        arguments: list[Any] = []
        for name, node in zip(names, nodes, strict=True):
            kind = kind_of(_hints(function)[name])
            if isinstance(node, ast.Name) and isinstance(own := self.evaluate(node), FunctionType):
                arguments.append(own)
            else:
                value = self.expression(node)
                arguments.append(value if kind is None else self.out.convert(value, kind))
        if _is_description(function):
            return self.describe(function, arguments)
        arguments = [hand_on(a) if isinstance(a, Value) else a for a in arguments]
        kinds = tuple(a.kind if isinstance(a, Value) else a for a in arguments)
        called, returned = self.module.find(function, kinds)
        values = [a for a in arguments if isinstance(a, Value)]
        passed = [f"{t} {x}" for a in values for t, x in zip(types_of(a.kind), operands_of(a), strict=True)]
        passed += self.out.company()
        text = f'call {result_type(returned)} @"{called}"({", ".join(passed)})'
        if not (types := types_of(returned)):
            self.out.line(text)
            return Value(type(None), ())
        result = self.out.emit(text)
        if len(types) == 1:
            return value_of(returned, iter([result]))
        parts = [self.out.emit(f"extractvalue {result_type(returned)} {result}, {k}") for k in range(len(types))]
        return value_of(returned, iter(parts))


# The methods of Translation that write them.
STATEMENTS: dict[type[ast.stmt], str] = {
    ast.Expr: "express",
    ast.Assign: "assign",
    ast.AnnAssign: "assign_annotated",
    ast.AugAssign: "change",
    ast.Return: "give_back",
    ast.If: "choose",
    ast.While: "repeat_while",
    ast.For: "repeat_for",
    ast.Continue: "go_on",
    ast.Break: "leave",
}
EXPRESSIONS: dict[type[ast.expr], str] = {
    ast.Constant: "number",
    ast.Name: "look_up",
    ast.Attribute: "attribute",
    ast.Subscript: "subscript",
    ast.Tuple: "gather",
    ast.IfExp: "decide",
    ast.BoolOp: "connect",
    ast.UnaryOp: "negate",
    ast.Compare: "compare",
    ast.BinOp: "combine",
    ast.Call: "call",
}
