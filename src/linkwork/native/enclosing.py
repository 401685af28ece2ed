"""Enclosures by machine code: a table of operations, read by one kernel for all expressions.

An expression costs no compiling this way; an operation takes some nanoseconds more than if it were written out. The
table is described as memory of kernels is; its rows are (operation, places of up to three arguments), each for a place
of its own. Of every output the rows and inputs that it needs are listed one behind the other, so that each can be
enclosed alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from linkwork.expressions.enclosures import BINARY, INF, UNARY, choose, enclose_spline, put_nothing, square
from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import Expr
from linkwork.native.kernels import Pointer, integer, kernel, offset, offsets_of, split

OPERATIONS = ("square", "select", "spline", *UNARY, *BINARY)
CODES = {name: k for k, name in enumerate(OPERATIONS)}
SQUARE, SELECT, SPLINE, TAN, DIV, ATAN2, ATAN, TANH = (
    CODES[name] for name in ("square", "select", "spline", "tan", "div", "atan2", "atan", "tanh")
)
OF_ONE = ((SQUARE, square), *((CODES[name], f) for name, f in UNARY.items()))
OF_TWO = tuple((CODES[name], f) for name, f in BINARY.items())

MOST_ZEROS = 100_000  # of functions of time: more take longer to find than to integrate
MOST_PARTS = 10**6  # of the time, that are looked at


class Sized(Protocol):
    """Machine code of the one native signature, the doubles of scratch it needs and the number of its results."""

    @property
    def address(self) -> int: ...

    @property
    def work(self) -> int: ...

    @property
    def outputs(self) -> int: ...


class Guards(NamedTuple):
    """Functions of (t, y) that are looked at along the steps of a motion."""

    watch: Sized | None  # (t, y) -> those at whose zeros something happens
    sample: Sized | None  # (t, y) -> of what they are made that has no enclosure
    tape: NDArray[np.float64]  # enclosures of these functions, of t, y and samples, then of others that may be narrow
    n_state: int  # 1 + components of y that they depend on
    first_sign: int = 0  # where in p signs of these functions hold comparisons on one side; 0 if they do not


class Tape(NamedTuple):
    """Places of a table; those of numbers of which there is one are integers."""

    n_inputs: int
    n_given: int
    n_constants: int
    n_rows: int
    n_outputs: int
    n_listed: int
    n_data: int
    sizes: Pointer  # N_SIZES: these numbers
    inputs: Pointer  # n_inputs: which of all inputs these are
    given: Pointer  # n_given: places in p
    constants: Pointer  # n_constants
    rows: Pointer  # 4 n_rows
    outputs: Pointer  # n_outputs: their places
    first_row: Pointer  # n_outputs + 1: where in `listed` the rows begin that an output needs, then its inputs
    first_input: Pointer  # n_outputs + 1
    listed: Pointer  # n_listed
    data: Pointer  # n_data: tables of splines
    values: Pointer  # 4 for each input, given number, constant and row
    middles: Pointer  # 2 for each row: its bounds in the middle of what is enclosed
    rest: Pointer


N_SIZES = 7


def places(
    m: Pointer, n_inputs: int, n_given: int, n_constants: int, n_rows: int, n_outputs: int, n_listed: int, n_data: int
) -> Tape:
    leaves = n_inputs + n_given + n_constants
    lists = (n_inputs, n_given, n_constants, 4 * n_rows, n_outputs, n_outputs + 1, n_outputs + 1, n_listed, n_data)
    counts = (N_SIZES, *lists, 4 * (leaves + n_rows), 2 * n_rows)
    return Tape(n_inputs, n_given, n_constants, n_rows, n_outputs, n_listed, n_data, *split(m, counts))


def open_tape(m: Pointer) -> Tape:
    return places(
        m, integer(m, 0), integer(m, 1), integer(m, 2), integer(m, 3), integer(m, 4), integer(m, 5), integer(m, 6)
    )


def write_tape(outputs: Sequence[Expr], inputs: Sequence[Expr], parameters: Sequence[Expr]) -> NDArray[np.float64]:
    """Return the table for these outputs; the nodes `inputs` are enclosed, `parameters` stand in p."""
    position, in_p = {x: k for k, x in enumerate(inputs)}, {x: k for k, x in enumerate(parameters)}
    nodes = ordered(outputs, {**position, **in_p})
    for node in nodes:
        if node.op == "symbol":
            raise KeyError(f"an enclosure needs '{node.value}', which is neither input nor parameter")
    used = dict.fromkeys([*(a for node in nodes for a in node.args), *outputs])
    given = [x for x in used if x in in_p and x not in position]
    moving, constants = [x for x in used if x in position], [x for x in nodes if x.op == "constant"]
    computed = [x for x in nodes if x.op != "constant"]
    slots = {x: k for k, x in enumerate([*moving, *given, *constants, *computed])}
    data: list[float] = []
    rows: list[int] = []
    for node in computed:
        a = [slots[x] for x in node.args]
        op = "square" if node.op == "mul" and a[0] == a[1] else node.op
        if op == "spline":
            knots, coefficients, order = node.table
            a += [len(data), 4 * len(coefficients) + order]
            data += [*knots, *(c for piece in coefficients for c in piece)]
        rows += [CODES[op], *(a + [a[0]] * 2)[:3]]
    first_row, first_input, listed = [0], list[int](), list[int]()
    row_of = {x: k for k, x in enumerate(computed)}
    for y in outputs:
        own = ordered([y], {**position, **in_p})
        listed += [row_of[x] for x in own if x in row_of]
        first_input.append(len(listed))
        listed += [slots[x] for x in dict.fromkeys([*(a for node in own for a in node.args), y]) if x in position]
        first_row.append(len(listed))
    sizes = len(moving), len(given), len(constants), len(computed), len(outputs), len(listed), len(data)
    at = offsets_of(places, *sizes)
    m = np.zeros(at.rest)
    integers = m.view(np.int64)
    for first, numbers in (
        (at.sizes, sizes),
        (at.inputs, [position[x] for x in moving]),
        (at.given, [in_p[x] for x in given]),
        (at.rows, rows),
        (at.outputs, [slots[y] for y in outputs]),
        (at.first_row, first_row),
        (at.first_input, first_input),
        (at.listed, listed),
    ):
        integers[first : first + len(numbers)] = numbers
    m[at.constants : at.constants + len(constants)] = [x.number for x in constants]
    m[at.data : at.data + len(data)] = data
    return m


def load_numbers(at: Tape, p: Pointer) -> None:
    """Take what does not move from p and from the table."""
    for k in range(at.n_given + at.n_constants):
        value = p[integer(at.given, k)] if k < at.n_given else at.constants[k - at.n_given]
        out = offset(at.values, 4 * (at.n_inputs + k))
        out[0] = out[1] = value
        out[2] = out[3] = 0.0


def enclose_output(at: Tape, k: int) -> Pointer:
    """Enclose output number k, of inputs and numbers that stand in `values`."""
    first = at.n_inputs + at.n_given + at.n_constants
    for i in range(integer(at.first_row, k), integer(at.first_input, k)):
        row = integer(at.listed, i)
        apply(at, offset(at.rows, 4 * row), offset(at.values, 4 * (first + row)))
    return offset(at.values, 4 * integer(at.outputs, k))


def keep_middle(at: Tape, k: int) -> None:
    """Note what rows of output k are at the point that was enclosed last."""
    first = at.n_inputs + at.n_given + at.n_constants
    for i in range(integer(at.first_row, k), integer(at.first_input, k)):
        row = integer(at.listed, i)
        at.middles[2 * row], at.middles[2 * row + 1] = at.values[4 * (first + row)], at.values[4 * (first + row) + 1]


def enclose_around_middle(at: Tape, k: int, reach: float) -> Pointer:
    """Enclose output number k, each row also by the mean value theorem: |x - x(middle)| <= reach |x'|.

    So bounds are of second order in the width of what is enclosed, where terms depend on each other.
    """
    first = at.n_inputs + at.n_given + at.n_constants
    for i in range(integer(at.first_row, k), integer(at.first_input, k)):
        row = integer(at.listed, i)
        out = offset(at.values, 4 * (first + row))
        apply(at, offset(at.rows, 4 * row), out)
        way = reach * max(abs(out[2]), abs(out[3]))
        if way < INF and at.middles[2 * row] == at.middles[2 * row]:
            out[0], out[1] = max(out[0], at.middles[2 * row] - way), min(out[1], at.middles[2 * row + 1] + way)
    return offset(at.values, 4 * integer(at.outputs, k))


def enclose_all(at: Tape) -> None:
    """Enclose all outputs, each row once."""
    first = at.n_inputs + at.n_given + at.n_constants
    for row in range(at.n_rows):
        apply(at, offset(at.rows, 4 * row), offset(at.values, 4 * (first + row)))


def apply(at: Tape, row: Pointer, out: Pointer) -> None:
    """Apply one operation; without a value of an argument there is none of the result."""
    op, a = integer(row, 0), offset(at.values, 4 * integer(row, 1))
    if a[0] != a[0]:
        put_nothing(out)
        return
    if op == SPLINE:
        knots, packed = offset(at.data, integer(row, 2)), integer(row, 3)
        count, order = packed // 4, packed % 4
        enclose_spline(a, knots, offset(knots, count + 1), count, order, out)
        return
    b = offset(at.values, 4 * integer(row, 2))
    if op == SELECT:
        choose(a, b, offset(at.values, 4 * integer(row, 3)), out)
        return
    if b[0] != b[0]:
        put_nothing(out)
        return
    for code, f in OF_TWO:
        if op == code:
            f(a, b, out)
            return
    for code, g in OF_ONE:
        if op == code:
            g(a, out)
            return


def enclose_in_time(at: Tape, k: int, low: float, high: float) -> Pointer:
    """Enclose output k, of which time is the only input."""
    at.values[0], at.values[1], at.values[2], at.values[3] = low, high, 1.0, 1.0
    return enclose_output(at, k)


def sign_at(at: Tape, k: int, t: float) -> float:
    found = enclose_in_time(at, k, t, t)
    value = 0.5 * (found[0] + found[1])
    return 1.0 if value > 0.0 else -1.0 if value < 0.0 else 0.0


@kernel
def find_zeros(m: Pointer, p: Pointer, t_end: float, zeros: Pointer) -> int:
    """Return how often outputs change their signs between 0 and t_end, and each time the first double behind."""
    at = open_tape(m)
    load_numbers(at, p)
    t, width, count, k = 0.0, t_end, 0, 0
    for _ in range(MOST_PARTS):
        if t >= t_end:
            t, width, k = 0.0, t_end, k + 1
        if k == at.n_outputs or count == MOST_ZEROS:
            break
        end = min(t + width, t_end)
        found = enclose_in_time(at, k, t, end)
        middle = 0.5 * (t + end)
        is_short = not t < middle < end
        if found[0] > 0.0 or found[1] < 0.0 or found[0] != found[0] or found[0] == found[1]:
            t = end
            width *= 2.0
        elif is_short or found[2] > 0.0 or found[3] < 0.0:
            first, last = sign_at(at, k, t), sign_at(at, k, end)
            if first != last:
                low, high = t, end
                while low < 0.5 * (low + high) < high:
                    middle = 0.5 * (low + high)
                    if sign_at(at, k, middle) == first:
                        low = middle
                    else:
                        high = middle
                zeros[count] = high
                count += 1
            t = end
            width *= 2.0
        else:
            width = 0.5 * (end - t)
    return count


@kernel
def are_bounded(m: Pointer, p: Pointer, t_end: float) -> int:
    """Return whether outputs and their slopes are known to be bounded between 0 and t_end."""
    at = open_tape(m)
    load_numbers(at, p)
    for k in range(at.n_outputs):
        found = enclose_in_time(at, k, 0.0, t_end)
        if not (found[1] - found[0] < INF and found[3] - found[2] < INF):
            return 0
    return 1


@lru_cache(maxsize=256)  # of laws of drivers, mostly: a run with other values has the same
def _tape_in_time(functions: tuple[Expr, ...], time: Expr, parameters: tuple[Expr, ...]) -> NDArray[np.float64]:
    return write_tape([f for f in functions if time in ordered([f])], [time], parameters)


def are_all_bounded(functions: Sequence[Expr], time: Expr, values: Mapping[Expr, float], t_end: float) -> bool:
    """Return whether functions of time alone, and their slopes, are known to be bounded from 0 to t_end."""
    tape = _tape_in_time(tuple(functions), time, tuple(values)).copy()
    return bool(are_bounded(tape, np.array([*values.values()], dtype=float), t_end))


def find_all_zeros(functions: Sequence[Expr], time: Expr, values: Mapping[Expr, float], t_end: float) -> list[float]:
    """Return the times from 0 to t_end at which functions of time alone change their signs."""
    if not functions:
        return []
    tape, zeros = _tape_in_time(tuple(functions), time, tuple(values)).copy(), np.empty(MOST_ZEROS)
    count = find_zeros(tape, np.array([*values.values()], dtype=float), t_end, zeros)
    return sorted({t for t in zeros[:count].tolist() if t < t_end})
