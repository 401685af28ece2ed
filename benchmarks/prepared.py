"""What a run of a prepared mechanism takes beside its integration, how much memory many runs take, and threads."""

from __future__ import annotations

import gc
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.progress import track

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.modelfile import load

REPETITIONS = 200
RUNS = 10_000
CHANGED = {"slider_crank": "m1", "andrews_squeezer": "c0"}  # a parameter that leaves the start position closed


def beside_integration(mechanism: Mechanism, name: str) -> tuple[float, float]:
    """Milliseconds of a run with another value of a parameter beside those in the compiled loop, and in it."""
    value, best, loop = mechanism.model.parameters[name], np.inf, np.inf
    for k in range(REPETITIONS):
        began = perf_counter()
        motion = mechanism.simulate({name: value * (1.0 + 1e-6 * k)})
        taken = perf_counter() - began
        best = min(best, taken - motion.info.integration_s)
        loop = min(loop, motion.info.integration_s)
    return 1e3 * best, 1e3 * loop


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def growth_mb(mechanism: Mechanism, name: str) -> float:
    """Megabytes by which the process grows over many runs, after it has settled."""
    value = mechanism.model.parameters[name]
    before = 0.0
    for k in track(range(RUNS + RUNS // 10), f"{RUNS} runs"):
        if k == RUNS // 10:
            gc.collect()
            before = resident_mb()
        mechanism.simulate({name: value * (1.0 + 1e-6 * k)}, t_end=1.0)
    gc.collect()
    return resident_mb() - before


def threads_agree(mechanism: Mechanism) -> bool:
    """Whether four threads give what one gives, bit for bit."""
    expected = mechanism.simulate()
    with ThreadPoolExecutor(4) as pool:
        motions = list(pool.map(lambda _: mechanism.simulate(), range(16)))
    return all(np.array_equal(m.q, expected.q) and np.array_equal(m.lam, expected.lam) for m in motions)


def report() -> list[str]:
    lines = [
        "",
        "## A prepared mechanism",
        "",
        "| | beside the integration, ms | integration, ms |",
        "| --- | --- | --- |",
    ]
    for name, parameter in CHANGED.items():
        beside, loop = beside_integration(prepare(load(name)), parameter)
        lines.append(f"| {name}, a run with another value of `{parameter}` | {beside:.2f} | {loop:.2f} |")
    mechanism = prepare(load("slider_crank"))
    agree = "bit-identical" if threads_agree(mechanism) else "DIFFERENT"
    grown = growth_mb(mechanism, CHANGED["slider_crank"])
    return [*lines, "", f"{RUNS} runs of slider_crank grow the process by {grown:.1f} MB; four threads: {agree}."]


if __name__ == "__main__":
    print("\n".join(report()))
