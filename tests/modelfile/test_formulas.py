"""Formulas in model files: work that stays linear, values that end, notes that hold with other parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from published import REFERENCE
from rods import ROD

from linkwork.compiled.mechanism import prepare
from linkwork.errors import ModelError
from linkwork.expressions.evaluation import evaluate, ordered
from linkwork.expressions.graph import sqrt, symbol
from linkwork.modelfile import loads, translation
from linkwork.native.enclosing import find_all_zeros

TRUST = REFERENCE / "trust"


def test_a_note_about_an_axis_holds_with_other_parameters() -> None:
    text = ROD.replace("type: revolute", "type: prismatic, axis: [k, 0]").replace("name: rod", "parameters: {k: 2}")
    prepared = prepare(loads(text))
    assert prepared.notes == prepared.changed({"k": 5.0}).notes
    assert "[not-unit]" in prepared.notes[0]
    assert "2" not in prepared.notes[0]


def test_nested_tangents_are_refused() -> None:
    """A law that jumps more often than anyone can count."""
    motion = "t"
    for _ in range(12):
        motion = f"tan({motion})"
    with pytest.raises(ModelError, match="jumps by"):
        loads((TRUST / "tan.yaml").read_text().replace("MOTION", motion))


def test_a_function_without_a_value_changes_at_the_edge_alone() -> None:
    """sqrt(t - 2) is there from t = 2 on, sqrt(-1 - t) nowhere: where there is nothing, nothing is looked for."""
    t = symbol("t")
    assert find_all_zeros([sqrt(t - 2.0), sqrt(-1.0 - t)], t, {}, 5.0) == [np.nextafter(2.0, 3.0)]


def test_chained_parameters_take_linear_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of a chain is evaluated by the one before it: so many nodes as formulas hold, not as chains do."""
    visited = []
    counted = translation.evaluate  # type: ignore[attr-defined]

    def evaluate(outputs: Any, values: Any, *rest: Any) -> Any:
        outputs = list(outputs)
        visited.append(len(ordered(outputs, values)))
        return counted(outputs, values, *rest)

    monkeypatch.setattr(translation, "evaluate", evaluate)
    n = 300
    chain = ", ".join(["p0: 1", *(f"p{k}: p{k - 1} + 1" for k in range(1, n))])
    text = (TRUST / "tan.yaml").read_text().replace("MOTION", "t")
    model = loads(f"{text}parameters: {{{chain}}}\ngravity: [0, -p{n - 1}]\n")
    assert sum(visited) < 20 * n
    assert float(substitute_value(model)) == -n


def substitute_value(model: Any) -> float:
    values = {symbol(name): value for name, value in model.parameters.items()}
    return float(evaluate([model.gravity[1]], values)[0])
