"""A slice of the mutated model files of fuzz.py, another one each time the seed is another."""

from __future__ import annotations

import os

import pytest
from fuzz import attempt
from slices import with_slow

SLICE, PARTS = 10, 16


@pytest.mark.parametrize("part", with_slow(range(PARTS), [0]))
def test_a_mutated_model_file_is_refused_or_gives_finite_results(part: int) -> None:
    """No traceback, warning, hang or NaN; `make fuzz` tries a hundred thousand."""
    seed = int(os.environ.get("LINKWORK_SEED", "0"))
    print(f"LINKWORK_SEED={seed}")
    for number in range(part * SLICE, (part + 1) * SLICE):
        outcome, report = attempt(seed, number)
        assert not report, f"{outcome}: {report}"


@pytest.mark.parametrize("number", [1808, 8840])
def test_files_that_were_faults_once_are_none(number: int) -> None:
    """Speeds whose square is beyond all numbers; laws of time without a value."""
    outcome, report = attempt(41, number)
    assert outcome in ("load refused", "run refused or stopped"), report
