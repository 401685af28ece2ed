"""What machine code does, done by Python where LLVM cannot be loaded: the same results, hundreds of times slower.

A number stands for the address of a function, which `call` in a kernel that runs as Python finds by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from linkwork.expressions.evaluation import float_arithmetic, ordered
from linkwork.expressions.graph import Expr
from linkwork.native.machine import Code
from linkwork.sequences.sequence import ComputationSequence

Array = NDArray[np.float64]
Function = Callable[[Array, Array, Array, Array], None]  # of x, p, y and w, as machine code has it

FAR = 2**40  # doubles: more than there are


@dataclass(frozen=True, eq=False)
class StandIn:
    function: Callable[..., Any]


_numbers = count(1)
_stand_ins: WeakValueDictionary[int, StandIn] = WeakValueDictionary()


def load(functions: Mapping[str, Callable[..., Any]]) -> Code:
    """Numbers in the place of addresses, valid as long as the Code is alive."""
    addresses = dict(zip(functions, _numbers, strict=False))
    kept = {addresses[name]: StandIn(function) for name, function in functions.items()}
    _stand_ins.update(kept)
    return Code(addresses, kept)


def find(address: int) -> Callable[..., Any]:
    """The function for which a number stands."""
    return _stand_ins[address].function


def reach(array: Array, n: int) -> Array:
    """n doubles from where the array begins: places of one memory lie one behind the other, and code runs over them."""
    return array if len(array) >= n else as_strided(array, (n,), (array.itemsize,))


def unbounded(kernel: Callable[..., Any]) -> Function:
    """A kernel called as machine code is, its arrays reaching as far as it likes."""

    def compute(*arrays: Array) -> None:
        kernel(*(reach(array, FAR) for array in arrays))

    return compute


def interpret(program: ComputationSequence, parameters: Sequence[Expr]) -> tuple[int, Function]:
    """The number of operations of a program, and what computes it."""
    arithmetic = float_arithmetic()
    places: dict[Expr, int] = {}

    def place(node: Expr) -> int:
        return places.setdefault(node, len(places))

    def write(outputs: Sequence[Expr]) -> list[tuple[int, Callable[..., float], list[int]]]:
        """Steps for the outputs beyond what has a place already."""
        steps: list[tuple[int, Callable[..., float], list[int]]] = []
        for node in ordered(outputs, places):
            if node.op == "constant":
                constants.append((place(node), node.number))
                continue
            if node.op == "symbol":
                raise KeyError(f"{program.name} needs '{node.value}', which is neither input nor parameter")
            f = arithmetic[node.op] if node.op != "spline" else partial(_on_table, node.table)
            arguments = [places[a] for a in node.args]
            steps.append((place(node), f, arguments))
        return steps

    constants: list[tuple[int, float]] = []
    from_p = [(place(node), k) for k, node in enumerate(parameters)]
    from_x = [(place(node), k) for k, node in enumerate(program.inputs)]  # of those in both, this is what counts
    again = program.again
    counts = [] if again is None else [parameters.index(node) for node in (again.count, again.most)]
    first = write([*program.outputs, *([] if again is None else [again.is_weak])])
    into = [places[y] for y in program.outputs]
    n_x, n_p = len(program.inputs), len(parameters)
    back = [] if again is None else [(place(node), slot) for slot, node in again.x.items()]
    repeated = [] if again is None else write([*again.outputs.values()])
    improved = [] if again is None else [(slot, places[y]) for slot, y in again.outputs.items()]
    judged = [] if again is None else [(place(node), slot) for slot, node in again.improved.items()]
    judge = [] if again is None else write([again.needs])

    def carry_out(steps: Sequence[tuple[int, Callable[..., float], list[int]]], r: list[float]) -> None:
        for k, f, arguments in steps:
            r[k] = f(*[r[a] for a in arguments])

    def compute(x: Array, p: Array, y: Array, w: Array) -> None:
        del w  # there is no scratch
        x, p, y = (reach(a, n) for a, n in ((x, n_x), (p, n_p), (y, len(into))))
        r = [0.0] * len(places)
        for k, number in constants:
            r[k] = number
        for given, source in ((from_p, p), (from_x, x)):
            for k, slot in given:
                r[k] = float(source[slot])
        carry_out(first, r)
        y[: len(into)] = [r[k] for k in into]
        if again is None:
            return
        count, most = (int(p[k : k + 1].view(np.int64)[0]) for k in counts)
        done, needs = 0, again.is_weak
        while done < count or (r[places[again.is_weak]] != 0.0 and r[places[needs]] != 0.0 and done < most):
            for k, slot in back:
                r[k] = float(y[slot])
            carry_out(repeated, r)
            for slot, k in improved:
                y[slot] = r[k]
            for k, slot in judged:
                r[k] = float(y[slot])
            carry_out(judge, r)
            done, needs = done + 1, again.needs

    return len(first), compute


def _on_table(table: Any, x: float) -> float:
    return float(float_arithmetic()["spline"](x, table))


def interpret_head(program: ComputationSequence, whole: Function) -> Function:
    """The first outputs of a program alone."""

    def compute(x: Array, p: Array, y: Array, w: Array) -> None:
        outputs = np.empty(len(program.outputs))
        whole(x, p, outputs, w)
        y[: program.head_outputs] = outputs[: program.head_outputs]

    return compute
