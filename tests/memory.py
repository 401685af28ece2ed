"""How much memory this process takes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

STATM = Path("/proc/self/statm")
needs_proc = pytest.mark.skipif(not STATM.exists(), reason="the size of a process is read from /proc")


def resident() -> float:
    """In MB."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
