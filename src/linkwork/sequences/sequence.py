"""Computation sequences: lists of scalar operations without branches, each shared subexpression computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from linkwork.errors import check_choice
from linkwork.expressions import languages
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import Arithmetic, evaluate, ordered
from linkwork.expressions.graph import ZERO, Expr

if TYPE_CHECKING:
    from linkwork.native.arrays import ArrayFunction


@dataclass(frozen=True)
class Again:
    """The outputs at some places once more, as expressions of all that the sequence has computed and of `x`.

    `x` are symbols for what now stands at some places of the outputs. It is done as often as the integer at the place
    `count` of p says: a number that may differ from run to run without anything being compiled.
    """

    count: int
    x: Mapping[int, Expr]
    outputs: Mapping[int, Expr]


@dataclass(frozen=True)
class ComputationSequence:
    """A function written as a sequence: the outputs as expressions of the inputs (which may be any nodes).

    Under the name `head`, if given, machine code has a second function that returns the first `head_outputs` outputs
    only. With `again`, outputs are improved in a loop.
    """

    name: str
    inputs: Sequence[Expr]
    outputs: Sequence[Expr]
    head: str = ""
    head_outputs: int = 0
    again: Again | None = None

    @cached_property
    def operations(self) -> tuple[Expr, ...]:
        """The operations in the order in which they are done."""
        return tuple(node for node in ordered(self.outputs, self.inputs) if node.args)

    def count(self) -> dict[str, int]:
        """How often each operation occurs."""
        return dict(Counter(node.op for node in self.operations).most_common())

    @cached_property
    def depth(self) -> int:
        """The number of operations on the longest way from an input to an output: what cannot be done side by side."""
        depths: dict[Expr, int] = {}
        for node in self.operations:
            depths[node] = 1 + max(depths.get(a, 0) for a in node.args)
        return max((depths.get(y, 0) for y in self.outputs), default=0)

    @cached_property
    def expanded(self) -> int:
        """The number of operations if every shared subexpression were written out wherever it is used."""
        sizes: dict[Expr, int] = {}
        for node in self.operations:
            sizes[node] = 1 + sum(sizes.get(a, 0) for a in node.args)
        return sum(sizes.get(y, 0) for y in self.outputs)

    def evaluate(
        self,
        values: Iterable[Any],
        arithmetic: Arithmetic | None = None,
        constant: Callable[[float], Any] = float,
    ) -> list[Any]:
        """The outputs at these values of the inputs, which may be of any kind of number; see `evaluate`."""
        return evaluate(self.outputs, dict(zip(self.inputs, values, strict=True)), arithmetic, constant)

    def differentiate(self, inputs: Sequence[Expr] | None = None) -> ComputationSequence:
        """The matrix d outputs / d inputs, row by row, of the same inputs; with respect to all of them, or to some."""
        by = self.inputs if inputs is None else inputs
        entries = jacobian(self.outputs, by)
        matrix = [entries.get((i, j), ZERO) for i in range(len(self.outputs)) for j in range(len(by))]
        return replace(self, outputs=matrix, head="", head_outputs=0, again=None)

    def write(self, language: str = "python", labels: Sequence[str] = ()) -> str:
        """The function in a programming language; `labels` name the outputs in its comments."""
        check_choice("language", language, languages.LANGUAGES)
        return languages.LANGUAGES[language](self.outputs, self.name, self.inputs, labels)

    def compile(self) -> ArrayFunction:
        """Machine code that takes NumPy arrays, one point or many."""
        from linkwork.native.arrays import compile_sequence

        return compile_sequence(self)
