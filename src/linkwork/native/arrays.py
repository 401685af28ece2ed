"""Sequences as functions of NumPy arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwork.native.lowering import ARGUMENTS, Array, NativeFunction, compile_programs
from linkwork.sequences.sequence import ComputationSequence


@dataclass(frozen=True)
class ArrayFunction:
    """Machine code of a sequence: the last axis of the argument holds the inputs, that of the result the outputs."""

    rows: NativeFunction

    def __call__(self, x: ArrayLike) -> Array:
        x = np.ascontiguousarray(x, dtype=float)
        if x.shape[-1:] != (self.rows.inputs,):
            raise ValueError(f"{self.rows.name} takes {self.rows.inputs} numbers along the last axis, not {x.shape}")
        y = np.empty((*x.shape[:-1], self.rows.outputs))
        self.rows.fill(x, np.array([math.prod(x.shape[:-1])]).view(float), y)
        return y


def compile_sequence(sequence: ComputationSequence) -> ArrayFunction:
    """The sequence with a loop around it that runs over as many points as the integer in p says."""
    name = f"{sequence.name}.rows"
    loop = f"""define void @{name}({ARGUMENTS}) nounwind {{
  %count = load i64, ptr %p
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %loop, label %done
loop:
  %k = phi i64 [ 0, %0 ], [ %next, %loop ]
  %i = mul i64 %k, {len(sequence.inputs)}
  %j = mul i64 %k, {len(sequence.outputs)}
  %from = getelementptr double, ptr %x, i64 %i
  %to = getelementptr double, ptr %y, i64 %j
  call void @{sequence.name}(ptr %from, ptr %p, ptr %to, ptr %w)
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""
    return ArrayFunction(compile_programs([sequence], [], around={name: (sequence.name, loop)})[name])
