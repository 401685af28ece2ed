"""Many motions of one mechanism: a batch beside a loop over `simulate`, in motions a second and core.

    python -m benchmarks.batch

Clocks are those of the processor, so that other work on the machine counts little; ratios are of the same run.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

import linkwork

# Mechanism, coordinates, parameters that differ, what is taken, options.
CASES: tuple[tuple[str, str, tuple[str, ...], str, dict[str, Any]], ...] = (
    ("double_pendulum", "joint", ("m1", "m2", "L1", "L2"), "final(lower.phi)", {"t_end": 5.0, "step": 5.0}),
    ("double_pendulum", "joint", ("m1", "m2", "L1", "L2"), "final(lower.phi)", {"t_end": 5.0}),
    ("slider_crank", "minimal", ("m1", "m2", "l2"), "final(crank.phi)", {"t_end": 20.0, "step": 20.0}),
    ("andrews_squeezer", "minimal", ("d", "da"), "final(K1.phi)", {}),
    ("bricard", "joint", ("J",), "final(energy:kinetic)", {"step": 10.0}),
    ("dap/double_a_arm", "joint", ("k_tyre", "c_tyre"), "max(energy:kinetic)", {}),
    ("planar_chain:8", "joint", ("m", "L"), "final(link7.phi)", {}),
)
MOTIONS = 10_000  # of a batch
REPETITIONS = 3
ALONE = 64  # motions one by one
LONG = 0.1  # s for so many: then a batch has FEWER
FEWER = 2048


def measure() -> Iterator[tuple[str, str, int, float, float, float, str]]:
    """Case, motions, a second and core by a batch and one by one, two threads by one, what went alone."""
    for name, coordinates, names, take, options in CASES:
        mechanism = linkwork.prepare(linkwork.load(name), coordinates)
        random, nominal = np.random.default_rng(1), mechanism.model.parameters
        by = {x: nominal[x] * random.uniform(0.98, 1.02, MOTIONS) for x in names}
        few = {x: values[:ALONE] for x, values in by.items()}
        batch(mechanism, few, take, 1, options)
        if batch(mechanism, few, take, 1, options).used > LONG:
            by = {x: values[:FEWER] for x, values in by.items()}
        count = len(by[names[0]])
        taken = [[batch(mechanism, by, take, threads, options) for threads in (1, 2)] for _ in range(REPETITIONS)]
        best = min(one.used for one, _ in taken)
        ratio = max(one.wall / two.wall for one, two in taken)
        alone = min(loop(mechanism, few, options) for _ in range(REPETITIONS))
        text = f"{name}, {', '.join(f'{key} = {x:g}' for key, x in options.items()) or 'as it is'}"
        yield text, coordinates, count, count / best, ALONE / alone, ratio, taken[0][0].alone


class Taken(NamedTuple):
    """Seconds of the processor and of the wall clock, and what went one by one."""

    used: float
    wall: float
    alone: str


def batch(mechanism: linkwork.Mechanism, by: Any, take: str, threads: int, options: dict[str, Any]) -> Taken:
    began, used = perf_counter(), process_time()
    found = mechanism.batch(by, take, threads=threads, **options)
    return Taken(process_time() - used, perf_counter() - began, found.attrs["alone"])


def loop(mechanism: linkwork.Mechanism, by: dict[str, Any], options: dict[str, Any]) -> float:
    """Seconds of the processor for the same one by one."""
    began = process_time()
    for k in range(ALONE):
        mechanism.simulate({x: float(values[k]) for x, values in by.items()}, **options)
    return process_time() - began


if __name__ == "__main__":
    print("| motion | coordinates | motions | a second and core | by `simulate` | ratio | two threads | one by one |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for text, kind, count, rate, alone, ratio, why in measure():
        print(f"| {text} | {kind} | {count} | {rate:,.0f} | {alone:,.0f} | {rate / alone:.1f} | {ratio:.2f} | {why} |")
