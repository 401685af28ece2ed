"""Files of published and computed numbers that tests compare with."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

REFERENCE = Path(__file__).parent / "reference"


def table(name: str) -> dict[str, NDArray[np.float64]]:
    """Columns of a reference file; remarks begin with #, the first other line names the columns."""
    names, *rows = [line for line in (REFERENCE / name).read_text().splitlines() if not line.startswith("#")]
    values = np.array([[float(x) for x in row.split(",")] for row in rows])
    return dict(zip(names.split(","), values.T, strict=True))


def andrews_at_the_end() -> dict[str, float]:
    """Angles of Andrews' squeezer, their rates and accelerations, at t = 0.03 s [ivptestset]."""
    return {k: float(v) for k, v in json.loads((REFERENCE / "andrews.json").read_text())["reference_t_end"].items()}
