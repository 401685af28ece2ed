"""A slice of the mutated model files of fuzz.py, another one each time the seed is another."""

from __future__ import annotations

import os

import pytest
from fuzz import attempt

SLICE, PARTS = 20, 8


@pytest.mark.parametrize("part", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, PARTS))])
def test_a_mutated_model_file_is_refused_or_gives_finite_results(part: int) -> None:
    """No traceback, warning, hang or NaN; `make fuzz` tries a hundred thousand."""
    seed = int(os.environ.get("LINKWORK_SEED", "0"))
    print(f"LINKWORK_SEED={seed}")
    for number in range(part * SLICE, (part + 1) * SLICE):
        outcome, report = attempt(seed, number)
        assert not report, f"{outcome}: {report}"
