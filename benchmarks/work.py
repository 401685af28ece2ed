"""Work and precision of the shipped mechanisms, at their own tolerances, side by side with those of another version.

    python benchmarks/work.py [-n REPETITIONS] [-o FOUND.json] [--against OTHER.json] [MECHANISM ...]

prints steps, rejected steps, evaluations, the error by rtol and the best time of integration, and against another
version the ratios of the last three with their geometric means. Counts do not depend on what else the machine does;
times do, so let versions take turns and keep the best of each. The error is the largest deviation of q and v from a run
at rtol 1e-13, by the largest number of the same unit. In driven mechanisms, which are solved for, it is rounding.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from linkwork import load, prepare, simulate
from linkwork.errors import LinkworkError
from linkwork.modelfile import shipped
from linkwork.trajectory import Trajectory

EXACT = 1e-13
RATIOS = ("evaluations", "error", "ms")


def deviation(motion: Trajectory, exact: Trajectory) -> float:
    """Largest |x - x_exact| over the states, by the largest |x_exact| of the same unit."""
    largest: dict[str, float] = {}
    names = (*exact.q_names, *exact.v_names)
    for name in names:
        unit = exact.quantity(name).unit
        largest[unit] = max(largest.get(unit, 0.0), float(np.max(np.abs(exact[name]))))
    sizes = {name: largest[exact.quantity(name).unit] for name in names}
    return max(float(np.max(np.abs(motion[name] - exact[name]))) / size for name, size in sizes.items() if size > 0.0)


def measure(name: str, repetitions: int) -> dict[str, float]:
    mechanism = prepare(load(name))
    motions = [simulate(mechanism) for _ in range(repetitions)]
    about = motions[0].info
    assert about.rtol is not None
    return {
        "steps": about.steps,
        "rejected": about.rejected,
        "evaluations": about.evaluations,
        "error": deviation(motions[0], simulate(mechanism, rtol=EXACT, atol=EXACT)) / about.rtol,
        "ms": 1e3 * min(motion.info.integration_s for motion in motions),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="MECHANISM")
    parser.add_argument("-n", "--repetitions", type=int, default=9)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    other: dict[str, Any] = json.loads(given.against.read_text()) if given.against else {}
    found, ratios = {}, []
    print("| mechanism | steps | rejected | evaluations | error by rtol | ms |" + " ratio |" * (3 if other else 0))
    print("| --- " * (9 if other else 6) + "|")
    for name in given.names or shipped():
        try:
            now = found[name] = measure(name, given.repetitions)
        except LinkworkError as error:
            print(f"| {name} | {error} |")
            continue
        columns = [f"{now[key]:.3g}" if key in ("error", "ms") else f"{now[key]:.0f}" for key in now]
        if name in other:
            ratios.append([now[key] / other[name][key] if other[name][key] else math.nan for key in RATIOS])
            columns += [f"{ratio:.3f}" for ratio in ratios[-1]]
        print(f"| {' | '.join([name, *columns])} |", flush=True)
    if ratios:
        means = np.exp(np.nanmean(np.log(np.maximum(ratios, 1e-300)), axis=0))
        print("geometric means: " + ", ".join(f"{key} {mean:.3f}" for key, mean in zip(RATIOS, means, strict=True)))
    if given.output:
        given.output.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
