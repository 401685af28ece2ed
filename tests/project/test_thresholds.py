"""Numbers that decide something: each has a name and a reason, and they become fewer, not more."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

# Ratchets: whoever adds one finds two that a principle makes superfluous, and lowers these.
MEASURES = 137
LIMITS = 121  # three of them for meshes and plates, whose files come from anywhere; one for programs of many peaks
UNNAMED = 35


@pytest.fixture(scope="module")
def page() -> ModuleType:
    sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
    return importlib.import_module("thresholds")


@pytest.fixture(scope="module")
def found(page: ModuleType) -> list[Any]:
    return list(page.thresholds())


def test_every_threshold_has_a_reason(found: list[Any]) -> None:
    assert [f"{t.file}:{t.line} {t.name}" for t in found if not t.reason] == []


def test_thresholds_become_fewer(page: ModuleType, found: list[Any]) -> None:
    assert sum(not t.is_limit for t in found) <= MEASURES
    assert sum(t.is_limit for t in found) <= LIMITS
    assert len(list(page.unnamed())) <= UNNAMED


def test_what_is_shared_stands_once(found: list[Any]) -> None:
    """A name of `tolerances` has no other value elsewhere."""
    shared = {t.name for t in found if t.file == "tolerances.py"}
    others = [t for t in found if t.file != "tolerances.py"]
    assert [f"{t.file}:{t.line} {t.name}" for t in others if t.name in shared] == []


def test_a_threshold_is_told_from_a_code_and_from_a_formula(page: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
STOPPED, WENT_ON = 0, 1
# Of the largest: more is seen.
SEEN = 1e-3
MOST = 3  # of them
UP = (0.0, 1.0)

def f(x):
    return WENT_ON if x > SEEN * MOST and x * 1.5 < 0.07 else STOPPED
"""
    monkeypatch.setattr(page, "files", lambda: {"room.py": text})
    found = [(t.name, t.value, t.reason) for t in page.thresholds()]
    assert found == [("SEEN", "0.001", "Of the largest: more is seen."), ("MOST", "3", "of them")]
    assert list(page.unnamed()) == [("room.py", 9, 0.07)]
