"""Computation sequences: lists of scalar operations without branches, each shared subexpression computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from linkwork.errors import UsageError, check_choice
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import Arithmetic, evaluate, ordered, substitute
from linkwork.expressions.graph import ZERO, Expr, symbol

if TYPE_CHECKING:
    from linkwork.native.arrays import ArrayFunction


@dataclass(frozen=True)
class Again:
    """The outputs at some places once more, as expressions of all that the sequence has computed and of `x`.

    `x` are symbols for what now stands at some places of the outputs. It is done as often as the parameter `count`
    says, an integer in p that may differ from run to run without anything being compiled. If `is_weak`, of the
    sequence, is not zero, it is done further, up to the integer `most` in p, while `needs` is not zero: of the last
    time, with `improved` the symbols for what has come out at some places.
    """

    count: Expr
    x: Mapping[int, Expr]
    outputs: Mapping[int, Expr]
    most: Expr
    is_weak: Expr
    needs: Expr
    improved: Mapping[int, Expr]


@dataclass(frozen=True)
class Columns:
    """What a sequence does for several columns at once, side by side in a vector, by the same scalars.

    Some inputs and outputs are rows of `count` numbers, one for each column, and stand so in memory. `units` are the
    rows of the unit matrix: x units[j] is x in column j, and zero in the others.
    """

    count: int
    inputs: frozenset[Expr]
    outputs: frozenset[int]  # their places
    units: tuple[Expr, ...] = ()


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
    columns: Columns | None = None

    def __post_init__(self) -> None:
        check_expressions(f"inputs of '{self.name}'", self.inputs)
        check_expressions(f"outputs of '{self.name}'", self.outputs)

    def _check_inputs(self) -> None:
        """Raise UsageError unless the outputs follow from the inputs alone, each given once.

        Sequences of a System need not satisfy this: their parameters stand in p, and entries of a factor may be equal.
        """
        twice = [x for x, times in Counter(self.inputs).items() if times > 1]
        if twice:
            raise UsageError(f"'{twice[0]!r}' is twice among the inputs of '{self.name}'", "duplicate-input")
        missing = {x for x in ordered(self.outputs, self.inputs) if x.op == "symbol"} - {*self.inputs}
        if missing:
            names = ", ".join(sorted(f"'{x.value}'" for x in missing))
            raise UsageError(f"the inputs of '{self.name}' lack {names}", "missing-input")

    @cached_property
    def input_places(self) -> list[int]:
        """Where each input stands among the numbers given, and how many these are."""
        wide = self.columns
        return [*accumulate((wide.count if wide and x in wide.inputs else 1 for x in self.inputs), initial=0)]

    @cached_property
    def output_places(self) -> list[int]:
        """Where each output stands among the numbers returned, and how many these are."""
        wide, n = self.columns, len(self.outputs)
        return [*accumulate((wide.count if wide and k in wide.outputs else 1 for k in range(n)), initial=0)]

    def rewritten(self, rewrite: Callable[[Sequence[Expr], Sequence[Expr]], list[Expr]]) -> ComputationSequence:
        """Apply `rewrite` to the outputs, also to those that are improved, given its inputs."""
        again, n = self.again, len(self.outputs)
        improved = [*again.outputs.values(), again.is_weak, again.needs] if again else []
        found = rewrite([*self.outputs, *improved], self.inputs)
        if again:
            *outputs, is_weak, needs = found[n:]
            own = dict(zip(again.outputs, outputs, strict=True))
            again = replace(again, outputs=own, is_weak=is_weak, needs=needs)
        return replace(self, outputs=found[:n], again=again)

    @cached_property
    def operations(self) -> tuple[Expr, ...]:
        """The operations in the order in which they are done."""
        return tuple(node for node in ordered(self.outputs, self.inputs) if node.args)

    def count(self) -> dict[str, int]:
        """Return how often each operation occurs."""
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
        """Return the outputs at these values of the inputs, which may be of any kind of number; see `evaluate`."""
        self._check_inputs()
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            kind = type(values).__name__
            raise UsageError(
                f"'{self.name}' takes a list of numbers in the order of its inputs, not {kind}", "bad-values"
            )
        values = list(values)
        if len(values) != len(self.inputs):
            raise UsageError(f"'{self.name}' takes {len(self.inputs)} numbers, not {len(values)}", "bad-values")
        return evaluate(self.outputs, dict(zip(self.inputs, values, strict=True)), arithmetic, constant)

    def differentiate(self, inputs: Sequence[Expr] | None = None) -> ComputationSequence:
        """Return the matrix d outputs / d inputs, row by row, with respect to all of the inputs, or to some."""
        by = self.inputs if inputs is None else inputs
        check_expressions("variables of differentiation", by)
        if others := {*by} - {*self.inputs}:
            names = ", ".join(sorted(f"'{x!r}'" for x in others))
            raise UsageError(f"the inputs of '{self.name}' lack {names}", "missing-input")
        entries = jacobian(self.outputs, by)
        matrix = [entries.get((i, j), ZERO) for i in range(len(self.outputs)) for j in range(len(by))]
        return replace(self, outputs=matrix, head="", head_outputs=0, again=None)

    def write(self, language: str = "python", labels: Sequence[str] = (), conditions: Sequence[Expr] = ()) -> str:
        """Write the function in a programming language.

        Its comments name the outputs by `labels`, and say which `conditions` must not vanish.
        """
        from linkwork.writing import languages

        self._check_inputs()
        check_choice("language", language, languages.LANGUAGES)
        if labels and len(labels) != len(self.outputs):
            raise UsageError(f"'{self.name}' has {len(self.outputs)} outputs and {len(labels)} labels", "bad-labels")
        named = {x: x if x.op == "symbol" else symbol(repr(x)) for x in self.inputs}  # inputs may be any nodes
        outputs, conditions = substitute(self.outputs, named), substitute(conditions, named)
        return languages.write(language, outputs, self.name, [*named.values()], labels, conditions)

    def compile(self) -> ArrayFunction:
        """Return machine code that takes NumPy arrays, one point or many."""
        from linkwork.native.arrays import compile_sequence

        self._check_inputs()
        return compile_sequence(self)


def check_expressions(what: str, given: Sequence[Expr]) -> None:
    """Raise UsageError unless these are expressions in a list or tuple."""
    wrong = [x for x in given if not isinstance(x, Expr)] if isinstance(given, Sequence) else [given]
    if wrong:
        message = f"{what}: a list of expressions is needed, not {type(wrong[0]).__name__} {wrong[0]!r}"
        raise UsageError(f"{message}; `symbol` and `constant` make expressions", "not-an-expression")
