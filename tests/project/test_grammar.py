"""A slice of the models of grammar.py, another one each time the seed is another."""

from __future__ import annotations

import os

import grammar
import pytest
from fuzz import attempt
from slices import with_slow

SLICE, PARTS = 8, 12


@pytest.mark.parametrize("part", with_slow(range(PARTS), [0]))
def test_a_model_made_by_a_grammar_is_refused_or_moves_as_physics_allows(part: int) -> None:
    """No traceback, warning, hang, NaN or lost energy; `make grammar` tries twenty thousand."""
    seed = int(os.environ.get("LINKWORK_SEED", "0"))
    print(f"LINKWORK_SEED={seed}")
    for number in range(part * SLICE, (part + 1) * SLICE):
        outcome, report = attempt(seed, number, grammar.trial)
        assert not report, f"{outcome}: {report}"
