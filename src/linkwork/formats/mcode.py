"""What the statements of an M-file compute: followed one after the other on numbers and expressions, never executed.

Numbers are matrices whose entries are floats or, where the state of a mechanism is among them, expressions. So a file
of formulas becomes formulas: where a condition depends on the state, both ways are followed and `select` chooses. There
are no loops, and a function is called only if it is known here. What cannot be followed makes what it would have
assigned unknown; asking for that raises the error of the line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import ModelError, did_you_mean
from linkwork.expressions import graph
from linkwork.expressions.graph import FUNCTIONS as SCALAR_FUNCTIONS
from linkwork.expressions.graph import Expr, as_expr, less, less_equal, select, tanh
from linkwork.formats.mfile import (
    MAX_DEPTH,
    NOT_EXECUTED,
    Assign,
    Evaluate,
    Function,
    If,
    Node,
    Statement,
    Unread,
    called,
)
from linkwork.tolerances import AGREEMENT
from linkwork.units import shown

MAX_ENTRIES = 10_000  # of an array; statements that are followed
MAX_FIELDS = 200  # of one structure: those of DAP have twenty

Matrix: TypeAlias = NDArray[Any]  # two dimensions; entries are floats or expressions


@dataclass(frozen=True)
class Structure:
    """Fields with the file and line where they were assigned; `name` is the variable that held the structure first."""

    name: str
    line: int
    fields: Mapping[str, Value] = field(default_factory=dict)
    lines: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    def having(self, key: str, value: Value, file: str, line: int) -> Structure:
        return Structure(self.name, self.line, {**self.fields, key: value}, {**self.lines, key: (file, line)})


@dataclass(frozen=True)
class Unknown:
    """What a line that cannot be followed would have assigned."""

    error: ModelError


@dataclass(frozen=True)
class Results:
    """What a function with several results gives; where one is wanted it is the first."""

    values: tuple[Matrix, ...]


Value: TypeAlias = "Matrix | str | Structure | tuple[Structure, ...] | Unknown"
Call: TypeAlias = "Callable[[Code, list[Value]], Value | Results | None]"


def matrix(*rows: Any) -> Matrix:
    """Return a column of numbers, or rows of them."""
    found = np.empty((len(rows), len(rows[0]) if rows and isinstance(rows[0], (list, tuple)) else 1), dtype=object)
    for k, row in enumerate(rows):
        found[k, :] = row if isinstance(row, (list, tuple)) else [row]
    return found


def rotate(a: Matrix) -> Matrix:
    """Return s_rot: a turned by a right angle."""
    _check(a.size == 2, "s_rot takes a vector of two numbers")
    x, y = a.flat
    return matrix(-y, x)


def rotation(angle: Matrix) -> Matrix:
    phi = scalar(angle)
    c, s = _folded(graph.cos(phi)), _folded(graph.sin(phi))
    return matrix([c, -s], [s, c])


def numbers(a: Value) -> Matrix:
    """Return what must be numbers."""
    if not isinstance(a, np.ndarray):
        raise _Misfit("a number should stand here")
    return a


def scalar(a: Value) -> Any:
    _check(isinstance(a, np.ndarray) and a.size == 1, "a single number should stand here")
    return numbers(a).flat[0]


def number(a: Value) -> float:
    value = scalar(a)
    _check(not isinstance(value, Expr), "a number should stand here, not what depends on the motion")
    return float(value)


def friction_a(mu_s: Any, mu_d: Any, v_s: Any, p: Any, k_t: Any, v: Any, N: Any) -> Any:
    """Return N (mu_d + (mu_s - mu_d) exp(-(|v|/v_s)^p)) tanh(k_t v)        [nikravesh2018]"""
    ratio = as_expr(v) / v_s
    falling = ratio**p if p == 2.0 else graph.absolute(ratio) ** p
    return N * (mu_d + (mu_s - mu_d) * graph.exp(-falling)) * tanh(k_t * as_expr(v))


def friction_b(mu_s: Any, mu_d: Any, mu_v: Any, v_t: Any, N_t: Any, v: Any, N: Any) -> Any:
    """Return N (mu_d tanh(4 w) + (mu_s - mu_d) w/(w^2/4 + 3/4)^2) + mu_v v tanh(4 N/N_t),  w = v/v_t
    [nikravesh2018]
    """
    w = as_expr(v) / v_t
    viscous = mu_v * as_expr(v) * tanh(4.0 * as_expr(N) / N_t)
    return N * (mu_d * tanh(4.0 * w) + (mu_s - mu_d) * w / (0.25 * w * w + 0.75) ** 2) + viscous


def _of_each(f: Callable[[Any], Any]) -> Call:
    """Return a function of every entry."""

    return lambda _, values: _each(f, numbers(*values))


def _of_scalars(f: Callable[..., Any]) -> Call:
    return lambda _, values: matrix(_folded(f(*map(scalar, values))))


def _of_matrices(f: Callable[..., Any]) -> Call:
    return lambda _, values: f(*values)


def _filled(value: float, n: Value, m: Value | None = None) -> Matrix:
    rows, columns = number(n), number(n if m is None else m)
    _check(0 <= rows * columns <= MAX_ENTRIES and float(rows).is_integer(), "no such size of an array")
    return np.full((int(rows), int(columns)), value, dtype=object)


def _unit(n: Value, m: Value | None = None) -> Matrix:
    made = _filled(0.0, n, m)
    np.fill_diagonal(made, 1.0)
    return made


def _norm(a: Matrix) -> Matrix:
    return matrix(_folded(graph.sqrt(sum((x * x for x in a.flat), graph.ZERO))))


def _dot(a: Matrix, b: Matrix) -> Matrix:
    _check(a.size == b.size, "both must have as many numbers")
    return matrix(_folded(sum((x * y for x, y in zip(a.flat, b.flat, strict=True)), graph.ZERO)))


def _least(of: Callable[[Any, Any], Any], *values: Matrix) -> Matrix:
    entries = [x for a in values for x in a.flat]
    _check(len(entries) > 0, "a number should stand here")
    return matrix(_folded(reduce(of, entries)))


def _structure(code: Code, parts: list[Value]) -> Structure:
    made = Structure("a_struct", code.line)
    for key, value in zip(parts[::2], parts[1::2], strict=True):
        _check(isinstance(key, str), "a field needs a name")
        made = made.having(str(key), value, code.file, code.line)
    return made


# Functions that may be called.
KNOWN: dict[str, Call] = {
    **{name: _of_each(partial(graph.function, name)) for name in SCALAR_FUNCTIONS},
    "sinh": _of_each(lambda x: 0.5 * (graph.exp(x) - graph.exp(-as_expr(x)))),
    "cosh": _of_each(lambda x: 0.5 * (graph.exp(x) + graph.exp(-as_expr(x)))),
    "deg2rad": _of_each(lambda x: x * math.pi / 180.0),
    "rad2deg": _of_each(lambda x: x * 180.0 / math.pi),
    "sind": _of_each(lambda x: graph.sin(x * math.pi / 180.0)),
    "cosd": _of_each(lambda x: graph.cos(x * math.pi / 180.0)),
    "atan2": _of_scalars(graph.atan2),
    "min": _of_matrices(partial(_least, graph.minimum)),
    "max": _of_matrices(partial(_least, graph.maximum)),
    "norm": _of_matrices(_norm),
    "dot": _of_matrices(_dot),
    "zeros": _of_matrices(partial(_filled, 0.0)),
    "ones": _of_matrices(partial(_filled, 1.0)),
    "eye": _of_matrices(_unit),
    "transpose": _of_matrices(lambda a: a.T),
    "length": lambda _, values: matrix(float(_length(values[0]))),
    "numel": lambda _, values: matrix(float(_length(values[0]))),
    "sum": _of_matrices(lambda a: matrix(_folded(sum(a.flat, graph.ZERO)))),
    "struct": _structure,
    "s_rot": _of_matrices(rotate),
    "Matrix_A": _of_matrices(rotation),
    "A_matrix": _of_matrices(rotation),
    "Friction_A": _of_scalars(friction_a),
    "Friction_B": _of_scalars(friction_b),
}
QUIET = ("include_global", "disp", "fprintf", "beep")  # calls that change nothing


def _length(value: Value) -> int:
    return (
        max(value.shape, default=0) if isinstance(value, np.ndarray) else len(value) if isinstance(value, tuple) else 1
    )


class _Misfit(Exception):
    """What cannot be computed, in words; the line is added where it is known."""


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise _Misfit(otherwise)


def _folded(x: Any) -> Any:
    """Return a number where an expression is one."""
    if isinstance(x, Expr):
        if not x.is_constant:
            return x
        x = x.number
    if isinstance(x, complex) or not math.isfinite(x):
        raise _Misfit("this is not a finite number")
    return float(x)


def _each(f: Callable[..., Any], *arrays: Matrix) -> Matrix:
    """Return f of entries that stand in the same place; a single number stands in all."""
    shape = next((a.shape for a in arrays if a.size != 1), arrays[0].shape)
    _check(all(a.size == 1 or a.shape == shape for a in arrays), "arrays of different shapes")
    found = np.empty(shape, dtype=object)
    sources = [[a.flat[0]] * found.size if a.size == 1 else list(a.flat) for a in arrays]
    for k, entries in enumerate(zip(*sources, strict=True)):
        found.flat[k] = _folded(f(*entries))
    return found


def _equal(a: Any, b: Any) -> Any:
    return less_equal(a, b) * less_equal(b, a)


COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "<": less,
    "<=": less_equal,
    ">": lambda a, b: less(b, a),
    ">=": lambda a, b: less_equal(b, a),
    "==": _equal,
    "~=": lambda a, b: 1.0 - _equal(a, b),
}
JOINED: dict[str, Callable[[Any, Any], Any]] = {
    **{"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b},
    "^": lambda a, b: a**b,
    **dict.fromkeys(("&", "&&"), lambda a, b: select(a, select(b, 1.0, 0.0), 0.0)),
    **dict.fromkeys(("|", "||"), lambda a, b: select(a, 1.0, select(b, 1.0, 0.0))),
    **COMPARED,
}


def combine(sign: str, a: Value, b: Value) -> Value:
    if isinstance(a, str) and isinstance(b, str) and sign in ("==", "~="):
        return matrix(float((a == b) == (sign == "==")))
    a, b = numbers(a), numbers(b)
    if sign == "*" and a.size != 1 and b.size != 1:
        _check(a.shape[1] == b.shape[0], f"a {_size(a)} array cannot be multiplied by a {_size(b)} array")
        rows = [[_folded(sum((x * y for x, y in zip(row, column, strict=True)), 0.0)) for column in b.T] for row in a]
        return matrix(*rows)
    _check(sign not in ("/", "^") or b.size == 1, f"'{sign}' needs a single number on its right")
    _check(sign != "^" or a.size == 1, "'^' needs a single number; entry by entry it is '.^'")
    return _each(JOINED[sign.removeprefix(".")], a, b)


def structures_of(value: Value) -> tuple[Structure, ...]:
    """Return the structures of an array."""
    _check(isinstance(value, (Structure, tuple)), "structures should stand here")
    return (value,) if isinstance(value, Structure) else value if isinstance(value, tuple) else ()


def _size(a: Matrix) -> str:
    return f"{a.shape[0]} x {a.shape[1]}"


class Code:
    """Statements followed on variables `names`.

    `functions` are known beside those of KNOWN; `missing` gives fields that were not assigned (array, index, field), if
    it knows them. Strictly, a fault is an error; else it is kept in `errors` and what it concerns is unknown.
    """

    def __init__(
        self,
        file: str,
        names: dict[str, Value],
        functions: Mapping[str, Call] | None = None,
        missing: Callable[[Code, str, int, str], Value | None] = lambda *_: None,
        strict: bool = False,
    ) -> None:
        self.file, self.names, self.missing, self.strict = file, names, missing, strict
        self.functions = {**KNOWN, **(functions or {})}
        self.errors: list[ModelError] = []
        self.is_conditional = False
        self.line = 1
        self.shared = frozenset(names)  # what functions that it calls see and change too
        self.left, self.depth = [MAX_ENTRIES], 0

    def error(self, message: str, code: str, line: int, **more: Any) -> ModelError:
        return ModelError(message, code, file=self.file, line=line, **more)

    def follow(self, body: Sequence[Statement]) -> None:
        for statement in body:
            self.line = statement.line
            self.left[0] -= 1
            try:
                if self.left[0] < 0:
                    raise self.error(f"more than {MAX_ENTRIES} statements", "too-long", statement.line)
                self.one(statement)
            except ModelError as error:
                if self.strict or self.depth:  # what a function gives is known, or the call is not
                    raise
                if all(error is not other for other in self.errors):
                    self.errors.append(error)
                for target in _targets(statement):
                    self.spoil(target, error)

    def one(self, statement: Statement) -> None:
        if isinstance(statement, Unread):
            raise statement.error
        if isinstance(statement, If):
            if self.strict:
                raise self.error("'if' is code", "m-file-code", statement.line, rule=NOT_EXECUTED)
            self.conditional(statement.branches)
        elif isinstance(statement, Evaluate):
            self.call(statement.value)
        elif statement.target.kind == "array":
            self.assign_several(statement)
        else:
            self.assign(statement.target, self.value(statement.value), statement.line)

    def conditional(self, branches: Sequence[tuple[Node | None, tuple[Statement, ...]]]) -> None:
        if not branches:
            return
        (condition, body), rest = branches[0], branches[1:]
        holds = 1.0 if condition is None else self.at(condition, lambda: scalar(self.value(condition)))
        if not isinstance(holds, Expr):
            if holds:
                self.follow(body)
            else:
                self.conditional(rest)
            return
        before, was = self.names, self.is_conditional
        self.is_conditional = True
        ways = []
        for follow in (partial(self.follow, body), partial(self.conditional, rest)):
            self.names = dict(before)
            follow()
            ways.append(self.names)
        self.is_conditional = was
        line = self.line if condition is None else condition.line
        self.names = {
            name: self.merged(holds, ways[0].get(name), ways[1].get(name), name, line)
            for name in {**ways[0], **ways[1]}
        }

    def merged(self, condition: Expr, a: Value | None, b: Value | None, name: str, line: int) -> Value:
        """Return a where the condition holds, else b."""
        if a is b and a is not None:
            return a
        if isinstance(a, Unknown):
            return a
        if isinstance(b, Unknown):
            return b
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.shape == b.shape:
            return _each(partial(select, condition), a, b)
        if isinstance(a, Structure) and isinstance(b, Structure):
            fields = {
                key: self.merged(condition, a.fields.get(key), b.fields.get(key), f"{name}.{key}", line)
                for key in {**a.fields, **b.fields}
            }
            return Structure(a.name, a.line, fields, {**b.lines, **a.lines})
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            pairs = [self.merged(condition, x, y, name, line) for x, y in zip(a, b, strict=True)]
            return tuple(x for x in pairs if isinstance(x, Structure))
        message = f"'{name}' is not assigned in the same way whether this condition holds or not"
        return Unknown(self.error(message, "m-file-code", line))

    # Values

    def at(self, node: Node, compute: Callable[[], Any]) -> Any:
        """Compute within a statement, so that errors have its line."""
        try:
            return compute()
        except _Misfit as misfit:
            code = "not-finite" if "finite" in str(misfit) and node.kind == "number" else "not-a-number"
            raise self.error(str(misfit), code, node.line) from None
        except (TypeError, ValueError, OverflowError, ZeroDivisionError):
            raise self.error("this is not a number", "not-a-number", node.line) from None

    def value(self, node: Node) -> Value:
        found: Value = self.at(node, lambda: self.evaluate(node))
        if isinstance(found, Unknown):
            raise found.error
        return found

    def evaluate(self, node: Node) -> Value:
        kind = node.kind
        if kind == "number":
            return matrix(node.parts[0])
        if kind == "text":
            return str(node.parts[0])
        if kind == "name":
            return self.named(node)
        if kind == "array":
            return self.array(node)
        if kind == "field":
            return self.field(node)
        if kind == "call":
            return self.called(node)
        if kind in ("all", "last"):
            raise _Misfit("':' and 'end' stand in an index only")
        parts = [self.value(part) for part in node.parts]
        if kind == "range":
            return _range(*map(number, parts))
        if kind in ("transpose", "minus", "not"):
            a = numbers(parts[0])
            return a.T if kind == "transpose" else _each((lambda x: -x) if kind == "minus" else (lambda x: 1.0 - x), a)
        return combine(kind, parts[0], parts[1])

    def named(self, node: Node) -> Value:
        name = str(node.parts[0])
        if name in self.names:
            return self.names[name]
        if name == "pi":
            return matrix(math.pi)
        if name == "eps":
            return matrix(float(np.finfo(float).eps))
        if name.endswith("_struct"):
            return Structure(name, node.line)
        if name in self.functions:
            return self.result(name, [], node)
        hint = did_you_mean(name, [*self.names, "pi"]) if self.names else None
        message = f"'{shown(name)}' is not a number and was not assigned before"
        raise self.error(message, "not-a-number", node.line, suggestion=hint)

    def array(self, node: Node) -> Value:
        rows = [[self.value(part) for part in row] for row in node.parts]
        entries = [x for row in rows for x in row]
        if any(isinstance(x, (Structure, tuple)) for x in entries):
            found = [y for x in entries for y in (x if isinstance(x, tuple) else [x])]
            if not all(isinstance(x, Structure) for x in found):
                raise self.error("an array of structures and of others", "wrong-shape", node.line)
            return tuple(x for x in found if isinstance(x, Structure))
        if not all(isinstance(x, np.ndarray) for x in entries):
            _check(len(entries) == 1, "an array of texts")
            return entries[0]
        solid = [[x for x in row if isinstance(x, np.ndarray) and x.size] for row in rows]
        _check(all(len({x.shape[0] for x in row}) <= 1 for row in solid), "parts of a row that are not equally high")
        made = [np.hstack(row) for row in solid if row]
        _check(len({row.shape[1] for row in made}) <= 1, "rows that are not equally long")
        _check(sum(row.size for row in made) <= MAX_ENTRIES, f"an array of more than {MAX_ENTRIES} entries")
        return np.vstack(made) if made else np.empty((0, 0), dtype=object)

    def field(self, node: Node) -> Value:
        of, key = node.parts
        holder = self.value(of)
        if isinstance(holder, tuple) and len(holder) == 1:
            holder = holder[0]
        if isinstance(holder, Structure) and key in holder.fields:
            return holder.fields[key]
        if isinstance(holder, Structure) and of.kind == "call":
            found = self.missing(self, called(of), int(number(self.value(of.parts[1]))), str(key))
            if found is not None:
                return found
        raise self.error(f"field '{shown(str(key))}' was not assigned before", "not-a-number", node.line)

    def called(self, node: Node) -> Value:
        """Return an entry of an array, or the value of a function."""
        of, *arguments = node.parts
        name = called(of)
        if of.kind == "name" and name not in self.names:
            return self.result(name, arguments, node)
        array = self.value(of)
        if isinstance(array, Structure):
            array = (array,)
        if isinstance(array, tuple):
            (k,) = self.indices(arguments, [len(array)], node)
            _check(len(k) == 1, "one of the structures should stand here")
            return array[k[0]]
        if not isinstance(array, np.ndarray):
            raise self.error("only arrays have entries", "m-file-syntax", node.line)
        if len(arguments) == 1:
            (k,) = self.indices(arguments, [array.size], node)
            entries = array.T.reshape(-1)[k]
            is_row = array.shape[0] == 1 and array.size > 1
            return entries.reshape(1, -1) if is_row else entries.reshape(-1, 1)
        rows, columns = self.indices(arguments, list(array.shape), node)
        return array[np.ix_(rows, columns)]

    def indices(self, arguments: Sequence[Node], sizes: list[int], node: Node) -> list[list[int]]:
        """Check whole numbers that count entries, and return them from 0."""
        _check(len(arguments) == len(sizes), "as many indices as the array has dimensions should stand here")
        found = []
        for argument, size in zip(arguments, sizes, strict=True):
            if argument.kind == "all":
                found.append(list(range(size)))
                continue
            outer = self.names
            values = numbers(self.value(_with_last(argument, size)))
            self.names = outer
            places = [number(matrix(x)) for x in values.flat]
            for k in places:
                if not (k.is_integer() and 1 <= k <= size):
                    rule = f"entries are counted from 1 to {size}"
                    raise self.error(f"no entry {k:g}", "no-such-index", node.line, rule=rule)
            found.append([int(k) - 1 for k in places])
        return found

    def call(self, node: Node) -> None:
        """Return a statement that is a call."""
        name = called(node)
        if name in QUIET:
            return
        if not name or name in self.names or node.kind not in ("call", "name"):
            message = f"'{shown(name)}' is not a call" if name else "a statement that assigns nothing"
            raise self.error(f"{message}: it is code", "m-file-code", node.line, rule=NOT_EXECUTED)
        self.at(node, lambda: self.call_known(name, node.parts[1:] if node.kind == "call" else (), node))

    def result(self, name: str, arguments: Sequence[Node], node: Node) -> Value:
        found = self.call_known(name, arguments, node)
        if found is None:
            raise self.error(f"'{shown(name)}' has no value", "not-a-number", node.line)
        return found.values[0] if isinstance(found, Results) else found

    def call_known(self, name: str, arguments: Sequence[Node], node: Node) -> Value | Results | None:
        function = self.functions.get(name)
        if name == "error" and function is None:
            said = [str(x) for argument in arguments if isinstance(x := self.value(argument), str)]
            message = f"the file stops here, and says: {shown(said[0]) if said else 'nothing'}"
            raise self.error(message, "m-file-stops", node.line, rule="a folder runs when this part is settled")
        if function is None:
            hint = did_you_mean(name, self.functions)
            message = f"a call of '{shown(name)}' is code"
            raise self.error(message, "m-file-code", node.line, rule=NOT_EXECUTED, suggestion=hint)
        self.line = node.line
        return function(self, [self.value(argument) for argument in arguments])

    def call_own(self, function: Function, file: str, values: list[Value]) -> Results | None:
        """Follow a function of the user: it has its own variables, and what is shared."""
        if len(values) != len(function.inputs):
            message = f"'{shown(function.name)}' takes {len(function.inputs)} arguments"
            raise self.error(message, "m-file-code", self.line)
        if self.depth >= MAX_DEPTH:
            raise self.error(f"functions that call each other {MAX_DEPTH} times", "too-deep", self.line)
        known = {name: self.names[name] for name in self.shared if name in self.names}
        inner = Code(file, {**known, **dict(zip(function.inputs, values, strict=True))}, None, self.missing)
        inner.functions = self.functions
        inner.left, inner.shared, inner.is_conditional = self.left, self.shared, self.is_conditional
        inner.depth = self.depth + 1
        inner.follow(function.body)
        self.names |= {name: inner.names[name] for name in self.shared - {*function.inputs} if name in inner.names}
        found = [inner.names.get(name) for name in function.outputs]
        for name, value in zip(function.outputs, found, strict=True):
            if not isinstance(value, np.ndarray):
                raise self.error(f"'{shown(function.name)}' gives no number '{name}'", "m-file-code", self.line)
        return Results(tuple(x for x in found if isinstance(x, np.ndarray))) if found else None

    # Assignments

    def assign(self, target: Node, value: Value, line: int) -> None:
        root, path = _path(target)
        if root is None:
            message, hint = "this cannot be assigned", "write B1.m = 5.0 or Bodies(1).m = 5.0"
            raise self.error(message, "m-file-syntax", target.line, suggestion=hint)
        if isinstance(value, Structure) and not path:
            value = Structure(root, line, value.fields, value.lines)
        self.names[root] = self.at(target, lambda: self.put(self.names.get(root), path, value, line, root))

    def put(self, held: Value | None, path: Sequence[Node], value: Value, line: int, name: str) -> Value:
        """Return the same structure with this value at the end of the path."""
        if not path:
            return value
        node, rest = path[0], path[1:]
        if isinstance(held, Unknown):
            raise held.error
        if node.kind == "field":
            if isinstance(held, tuple) and len(held) == 1:
                held = held[0]
            holder = Structure(name, line) if held is None or (isinstance(held, np.ndarray) and not held.size) else held
            if not isinstance(holder, Structure):
                raise self.error(f"'{shown(name)}' is not a structure", "m-file-syntax", line)
            key = str(node.parts[1])
            own = self.put(holder.fields.get(key), rest, value, line, f"{name}.{key}")
            made = holder.having(key, own, self.file, line)
            if len(made.fields) > MAX_FIELDS:
                raise self.error(f"'{shown(name)}' has more than {MAX_FIELDS} fields", "m-file-syntax", line)
            return made
        arguments = node.parts[1:]
        of_structures = isinstance(held, (tuple, Structure)) or isinstance(value, Structure) or rest
        if of_structures and not (isinstance(held, np.ndarray) and held.size):
            structures = held if isinstance(held, tuple) else (held,) if isinstance(held, Structure) else ()
            (places,) = self.indices(arguments, [len(structures) + 1], node)
            _check(len(places) == 1, "one of the structures should stand here")
            k = places[0]
            _check(k < MAX_ENTRIES, f"an array of more than {MAX_ENTRIES} structures")
            held = structures[k] if k < len(structures) else Structure(f"{name[0]}{k + 1}", line)
            element = self.put(held, rest, value, line, held.name)
            _check(isinstance(element, Structure), "a structure should stand here")
            assert isinstance(element, Structure)
            return (*structures[:k], element, *structures[k + 1 :])
        if rest or not isinstance(held, np.ndarray) or not isinstance(value, np.ndarray):
            raise self.error(f"'{shown(name)}' has no entries to assign", "m-file-syntax", line)
        array = held.copy()
        if len(arguments) == 1:
            (places,) = self.indices(arguments, [array.size], node)
            column = array.T.reshape(-1)
            _check(value.size in (1, len(places)), "as many numbers as entries should stand here")
            column[places] = value.T.reshape(-1) if value.size > 1 else value.flat[0]
            return column.reshape(array.T.shape).T
        rows, columns = self.indices(arguments, list(array.shape), node)
        array[np.ix_(rows, columns)] = value if value.size > 1 else value.flat[0]
        return array

    def assign_several(self, statement: Assign) -> None:
        """Assign [a, b] = f(...), with as many values as the function gives."""
        (targets,) = statement.target.parts or ((),)
        node = statement.value
        is_call = node.kind == "call" and called(node) not in self.names
        found = self.at(node, lambda: self.call_known(called(node), node.parts[1:], node)) if is_call else None
        values: Sequence[Value] = found.values if isinstance(found, Results) else () if found is None else (found,)
        if len(values) < len(targets):
            message = "a function with so many results is not known"
            raise self.error(message, "m-file-code", statement.line, rule=NOT_EXECUTED)
        for target, value in zip(targets, values, strict=False):
            self.assign(target, value, statement.line)

    def spoil(self, target: Node, error: ModelError) -> None:
        """Make what would have been assigned unknown; of entries the whole array."""
        root, path = _path(target)
        if root is None:
            return
        while path and path[-1].kind == "call":
            path = path[:-1]
        try:
            self.names[root] = self.put(self.names.get(root), path, Unknown(error), self.line, root)
        except (ModelError, _Misfit):
            self.names.setdefault(root, Unknown(error))  # there is no such entry to be spoilt


def _range(first: float, *more: float) -> Matrix:
    step, last = more if len(more) == 2 else (1.0, more[0])
    _check(step != 0.0 and (last - first) / step < MAX_ENTRIES, f"a range of more than {MAX_ENTRIES} numbers")
    count = max(0, math.floor((last - first) / step + AGREEMENT) + 1)
    found = np.empty((1, count), dtype=object)
    found[0, :] = [first + k * step for k in range(count)]
    return found


def _with_last(node: Node, size: int) -> Node:
    """Return the index with the number of the last entry in the place of `end`."""
    if node.kind == "last":
        return Node("number", (float(size),), node.line)
    if node.kind in ("call", "field", "array"):
        return node
    parts = tuple(_with_last(part, size) if isinstance(part, Node) else part for part in node.parts)
    return Node(node.kind, parts, node.line, node.height)


def _path(target: Node) -> tuple[str | None, list[Node]]:
    """Return the variable that is assigned, and the fields and indices that lead into it."""
    path: list[Node] = []
    while target.kind in ("field", "call"):
        path.insert(0, target)
        target = target.parts[0]
    return (str(target.parts[0]), path) if target.kind == "name" else (None, path)


def _targets(statement: Statement) -> Iterator[Node]:
    """Find what a statement assigns, or one in it would."""
    if isinstance(statement, Assign):
        yield from (statement.target.parts[0] if statement.target.kind == "array" else (statement.target,))
    bodies = [body for _, body in statement.branches] if isinstance(statement, If) else []
    for inner in (x for body in [*bodies, *([statement.body] if isinstance(statement, Unread) else [])] for x in body):
        yield from _targets(inner)
