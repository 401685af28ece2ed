"""The parts of the viewer that need no browser, by their own tests in TypeScript."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

VIEWER = Path(__file__).parents[2] / "viewer"


@pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm")
@pytest.mark.skipif(not (VIEWER / "node_modules" / "vitest").exists(), reason="the viewer is not built: make viewer")
def test_parts_of_the_viewer() -> None:
    """Rows, poses, clocks, choices of curves, instant centres: see viewer/tests."""
    done = subprocess.run(
        ["npm", "run", "test"], cwd=VIEWER, capture_output=True, text=True, env={**os.environ, "CI": "1"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
