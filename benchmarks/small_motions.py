"""What linearizing again costs with other values of a parameter, once the programs are compiled."""

from __future__ import annotations

from time import process_time

import numpy as np

from linkwork import load, prepare
from linkwork.analyses.over import Following

REPETITIONS = 20
SPEEDS = np.arange(11.0)


def speeds_ms(coordinates: str) -> float:
    """Milliseconds of the processor for the eigenvalues of the bicycle at eleven speeds."""
    bicycle = prepare(load("whipple_bicycle"), coordinates).linearize({"roll_rate": 0.0})
    following, best = Following(bicycle, "v"), np.inf
    for _ in range(REPETITIONS):
        began = process_time()
        for speed in SPEEDS.tolist():
            following.spectrum(speed)
        best = min(best, process_time() - began)
    return 1e3 * best


def report() -> list[str]:
    lines = ["", "## Small motions", "", "| coordinates | whipple_bicycle at 11 speeds, ms |", "| --- | --- |"]
    return [*lines, *(f"| {name} | {speeds_ms(name):.1f} |" for name in ("joint", "body", "euler"))]


if __name__ == "__main__":
    print("\n".join(report()))
