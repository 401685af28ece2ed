"""What machine code does, done by Python where LLVM cannot be loaded: the same results, hundreds of times slower.

A number stands for the address of a function, which `call` in a kernel that runs as Python finds by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from linkwork.expressions.evaluation import Tape, play
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
    """Return numbers in the place of addresses, valid as long as the Code is alive."""
    addresses = dict(zip(functions, _numbers, strict=False))
    kept = {addresses[name]: StandIn(function) for name, function in functions.items()}
    _stand_ins.update(kept)
    return Code(addresses, kept)


def find(address: int) -> Callable[..., Any]:
    """Return the function for which a number stands."""
    return _stand_ins[address].function


def reach(array: Array, n: int) -> Array:
    """Return n doubles from where the array begins: places of one memory lie one behind the other, and code runs
    over them.
    """
    return array if len(array) >= n else as_strided(array, (n,), (array.itemsize,))


def unbounded(kernel: Callable[..., Any]) -> Function:
    """Return a kernel called as machine code is, its arrays reaching as far as it likes."""

    def compute(*arrays: Array) -> None:
        kernel(*(reach(array, FAR) for array in arrays))

    return compute


def interpret(program: ComputationSequence, parameters: Sequence[Expr]) -> tuple[int, Function]:
    """Return the number of operations of a program, and what computes it."""
    columns, from_x, into = program.columns, program.input_places, program.output_places
    tape, again, n_p = Tape(parameters), program.again, len(parameters)
    rows = columns.inputs if columns else frozenset[Expr]()
    read = [  # of those in both, this is what counts
        (tape.place(node), slice(k, end) if node in rows else k)
        for node, k, end in zip(program.inputs, from_x, from_x[1:], strict=False)
    ]
    units = (
        {tape.place(x): unit for x, unit in zip(columns.units, np.eye(columns.count), strict=True)} if columns else {}
    )
    counts = [] if again is None else [parameters.index(node) for node in (again.count, again.most)]
    try:
        first = tape.write([*program.outputs, *([] if again is None else [again.is_weak])])
    except KeyError as missing:
        name = missing.args[0].removeprefix("no value for ")
        raise KeyError(f"{program.name} needs {name}, which is neither input nor parameter") from None
    written = [(tape.places[y], slice(k, end)) for y, k, end in zip(program.outputs, into, into[1:], strict=False)]
    back = [] if again is None else [(tape.place(node), into[slot]) for slot, node in again.x.items()]
    repeated = [] if again is None else tape.write([*again.outputs.values()])
    improved = [] if again is None else [(into[slot], tape.places[y]) for slot, y in again.outputs.items()]
    judged = [] if again is None else [(tape.place(node), into[slot]) for slot, node in again.improved.items()]
    judge = [] if again is None else tape.write([again.needs])

    def compute(x: Array, p: Array, y: Array, w: Array) -> None:
        del w  # there is no scratch
        x, p, y = (reach(a, n) for a, n in ((x, from_x[-1]), (p, n_p), (y, into[-1])))
        r: list[Any] = [*p[:n_p].tolist(), *tape.blank[n_p:]]
        for k, at in read:
            r[k] = x[at].copy() if isinstance(at, slice) else float(x[at])
        for k, unit in units.items():
            r[k] = unit
        play(first, r)
        for k, at in written:
            y[at] = r[k]
        if again is None:
            return
        count, most = (int(p[k : k + 1].view(np.int64)[0]) for k in counts)
        done, is_weak, needs = 0, tape.places[again.is_weak], tape.places[again.is_weak]
        while done < count or (r[is_weak] != 0.0 and r[needs] != 0.0 and done < most):
            for k, slot in back:
                r[k] = float(y[slot])
            play(repeated, r)
            for slot, k in improved:
                y[slot] = r[k]
            for k, slot in judged:
                r[k] = float(y[slot])
            play(judge, r)
            done, needs = done + 1, tape.places[again.needs]

    return len(first), compute


def interpret_head(program: ComputationSequence, whole: Function) -> Function:
    """Return the first outputs of a program alone."""

    def compute(x: Array, p: Array, y: Array, w: Array) -> None:
        outputs, n = np.empty(program.output_places[-1]), program.output_places[program.head_outputs]
        whole(x, p, outputs, w)
        y[:n] = outputs[:n]

    return compute
