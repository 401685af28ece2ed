"""What a call of `simulate` takes beyond its integration: a prepared mechanism, another value of a parameter.

    python -m benchmarks.calls [MECHANISM ...]

All shipped mechanisms in all coordinates that they have, in milliseconds of the processor, the least of many calls, so
that other work on the machine counts little. A call does not evaluate results, only whether the motion is beyond doubt;
what their first reading takes is told beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import process_time
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from linkwork import Mechanism, load, prepare
from linkwork.equations.coordinates import COORDINATES
from linkwork.errors import LinkworkError
from linkwork.integrators.integrate import State
from linkwork.modelfile import shipped
from linkwork.trajectory import Trajectory

CALLS, SECONDS = 60, 0.6  # at most so many calls, or so long
READINGS = 5
CHANGE = 1e-9  # of the parameter from call to call, which leaves starts closed


class Call(NamedTuple):
    """The parameter that is changed, and milliseconds."""

    parameter: str
    beyond: float
    loop: float
    reading: float


def parameter_of(mechanism: Mechanism) -> str:
    """Return the first parameter that may be changed alone, one of mass if there is one; nothing if none may be."""
    known = mechanism.model.parameters
    for name in sorted(known, key=lambda x: (not x.startswith(("m", "J", "I", "g", "c")), x)):
        try:
            mechanism.simulate({name: known[name] * (1.0 + CHANGE)})
        except LinkworkError:
            continue
        return name
    return ""


def measure(mechanism: Mechanism) -> Call:
    name, loop, best = parameter_of(mechanism), 0.0, Call("", np.inf, np.inf, np.inf)
    advance = State.advance

    def timed(state: State, budget: int) -> object:
        nonlocal loop
        began = process_time()
        try:
            return advance(state, budget)
        finally:
            loop += process_time() - began

    def call(k: int) -> Trajectory:
        given = {name: mechanism.model.parameters[name] * (1.0 + CHANGE * (k + 2))} if name else {}
        return mechanism.simulate(given)

    used = 0.0
    with patch.object(State, "advance", timed):
        for k in range(CALLS):
            loop, began = 0.0, process_time()
            call(k)
            taken = process_time() - began
            used += taken
            best = min(best, Call(name, 1e3 * (taken - loop), 1e3 * loop, np.inf), key=lambda call: call.beyond)
            if used > SECONDS:
                break
    for k in range(READINGS):
        motion, began = call(k), process_time()
        _ = motion.info
        best = best._replace(reading=min(best.reading, 1e3 * (process_time() - began)))
    return best


def calls(names: list[str]) -> Iterator[tuple[str, str, Call]]:
    for name in names:
        for kind in COORDINATES:
            try:
                yield name, kind, measure(prepare(load(name), kind))
            except LinkworkError:  # no such coordinates, or no motion
                continue


if __name__ == "__main__":
    print("| mechanism | coordinates | parameter | call beyond the loop, ms | loop, ms | first reading, ms |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, kind, call in calls(sys.argv[1:] or [*shipped()]):
        print(
            f"| {name} | {kind} | {call.parameter} | {call.beyond:.2f} | {call.loop:.2f} | {call.reading:.2f} |",
            flush=True,
        )
