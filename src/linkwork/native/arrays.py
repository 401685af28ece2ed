"""Sequences as functions of NumPy arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from linkwork.errors import UsageError
from linkwork.native import interpreted, machine
from linkwork.native.kernels import integer
from linkwork.native.lowering import ARGUMENTS, Array, NativeFunction, compile_programs
from linkwork.sequences.sequence import ComputationSequence


@dataclass(frozen=True)
class ArrayFunction:
    """Machine code of a sequence: the last axis of the argument holds the inputs, that of the result the outputs."""

    name: str
    rows: NativeFunction

    def __call__(self, x: ArrayLike) -> Array:
        try:
            given = np.asarray(x)
        except ValueError as error:  # rows of different lengths
            raise UsageError(f"'{self.name}' takes arrays of real numbers", "bad-values") from error
        if given.size and given.dtype.kind not in "biuf":
            raise UsageError(f"'{self.name}' takes arrays of real numbers, not of {given.dtype}", "bad-values")
        x = np.ascontiguousarray(given, dtype=float)
        if x.shape[-1:] != (self.rows.inputs,):
            needed = f"'{self.name}' takes {self.rows.inputs} numbers along the last axis"
            raise UsageError(f"{needed}, not an array of shape {x.shape}", "bad-values")
        y = np.empty((*x.shape[:-1], self.rows.outputs))
        self.rows.fill(x, np.array([math.prod(x.shape[:-1])]).view(float), y)
        return y


def compile_sequence(sequence: ComputationSequence) -> ArrayFunction:
    """Return the sequence with a loop around it that runs over as many points as the integer in p says."""
    n, m = len(sequence.inputs), len(sequence.outputs)
    if machine.missing():
        operations, one = interpreted.interpret(sequence, ())

        def each(x: Array, p: Array, y: Array, w: Array) -> None:
            for k in range(integer(p, 0)):
                one(x[k * n :], p, y[k * m :], w)

        code = interpreted.load({"rows": each})
        return ArrayFunction(
            sequence.name, NativeFunction("rows", code.addresses["rows"], n, m, 0, operations, code=code)
        )
    loop = f"""define void @sequence.rows({ARGUMENTS}) nounwind {{
  %count = load i64, ptr %p
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %loop, label %done
loop:
  %k = phi i64 [ 0, %0 ], [ %next, %loop ]
  %i = mul i64 %k, {n}
  %j = mul i64 %k, {m}
  %from = getelementptr double, ptr %x, i64 %i
  %to = getelementptr double, ptr %y, i64 %j
  call void @sequence(ptr %from, ptr %p, ptr %to, ptr %w)
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""
    inner = replace(sequence, name="sequence")  # a name of the user's might be one of the C library
    functions = compile_programs([inner], [], around={"sequence.rows": ("sequence", loop)})
    return ArrayFunction(sequence.name, functions["sequence.rows"])
