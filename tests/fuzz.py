"""Mutated model files: each is refused with a clear error, stops with one, or gives finite results in bounded time.

`python tests/fuzz.py 100000` (the target `make fuzz`) tries that many and prints what became of them; a slice of it is
in test_fuzz.py. A case is known by seed and number alone: `python tests/fuzz.py 1 --seed 3 --first 4711` has it again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from linkwork import Integrator
from linkwork.document import dump, parse
from linkwork.driven.kinematics import kinematics
from linkwork.errors import LinkworkError
from linkwork.mechanisms import MECHANISMS
from linkwork.modelfile import loads
from linkwork.simulation.simulate import simulate
from linkwork.start.check import check

FILES = sorted(MECHANISMS.glob("*.yaml"))
T_END, STEP, MOST_STEPS = 0.05, 0.01, 300
PATIENCE = 60  # seconds of computing after which a case hangs: a hundred times what the slowest should take

NUMBERS = (0, -1, 1, 2, 0.5, -0.0, 1e-3, 1e3, 1e-12, 1e12, 1e-160, 1e160, 1e-308, 1e308, 5e-324, 30, 3.14159, 10**18)
TEXTS = (
    *("nan", ".inf", "1e999", "1/0", "0/0", "sqrt(-1)", "log(0)", "t", "tan(t)", "tan(tan(tan(t)))", "asin(2)"),
    *("1 mm", "3 s", "2 m + 3 s", "90 deg", "5 furlongs", "12,5", "", "~", "true", "ground", "ground.O", "x" * 200),
    *("if(t < 0.02, 0, 1)", "max(0, sqrt(t - 0.01))", "abs(t)", "1e308*1e308", "exp(1e3*t)", "2^2^2^2^2", "(" * 60),
    *("crank.phi", "crank.omega^3", "-1e6*crank.omega", "pi", "\u0000", "\u202e", "é", "../x", "CON", "1e-320", "0x10"),
)
FACTORS = ("0", "-1", "1e9", "1e-9", "(1 + t)", "tan(1.5707)", "sqrt(0)", "abs(-2)", "1e200", "min(1, 2)", "sign(0)")
LAWS: tuple[Any, ...] = (
    {"type": "table", "times": [0, 1, 2], "values": [0, 1e308, -1e308]},
    {"type": "table", "times": [0, 0.01, 100], "values": [0, 1, 0]},
    {"type": "smooth-step", "start": 0, "end": 1, "t_start": 0.01, "t_end": 0.011},
    {"type": "ramp", "start": 0, "rate": 1e3, "t_start": 0, "t_end": 1e-9},
    {"type": "polynomial", "value": 0, "rate": 1e160},
)


def places(data: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values within, from the outside in."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, value in inside:
        yield (*place, step)
        yield from places(value, (*place, step))


def _at(data: Any, place: tuple[Any, ...]) -> Any:
    for step in place:
        data = data[step]
    return data


def mutate(data: Any, random: np.random.Generator) -> None:
    """One change of the data of a model: mostly of a value to another of its kind, so that many are still models."""

    def one_of(choices: Any) -> Any:
        return deepcopy(choices[random.integers(len(choices))])

    found = [place for place in places(data) if place[0] != "about"]
    leaves = [place for place in found if not isinstance(_at(data, place), dict | list)]
    place = one_of(leaves if leaves and random.random() < 0.85 else found)
    holder, key = _at(data, place[:-1]), place[-1]
    old = holder[key]

    def number() -> Any:
        if isinstance(old, int | float) and random.random() < 0.5:
            return old * float(random.choice([-1, 0.99, 1.01, 10, 0.1, 1e6, 1e-6, 1e100]))
        return one_of(NUMBERS)

    def formula() -> Any:
        return f"({old})*{one_of(FACTORS)}"

    def alike() -> Any:
        """What stands in the same role elsewhere in the file."""
        return deepcopy(_at(data, one_of([x for x in found if x[-1] == key and x[0] == place[0]])))

    def anything() -> Any:
        return one_of([*TEXTS, *LAWS, None, True, [], {}, [1, 2], [[1]], {"x": 1}, deepcopy(_at(data, one_of(found)))])

    is_value = place[0] not in ("linkwork", "name", "space") and key not in ("type", "i", "j", "joint", "on", "at")
    ways = [alike, alike, anything]
    if key == "motion":
        ways += [lambda: one_of(LAWS)] * 3
    elif is_value and not isinstance(old, dict | list):
        ways += [number] * 6 + [formula] * 3
    if random.random() < 0.85:
        holder[key] = one_of(ways)()
    elif random.random() < 0.4:
        del holder[key]
    elif isinstance(holder, list):
        holder.insert(key, deepcopy(old))
    else:  # once more, or under another name
        holder[one_of([f"{key}_2", f"{key}_2", *TEXTS])] = deepcopy(old)
        if random.random() < 0.3:
            del holder[key]


def garble(text: str, random: np.random.Generator) -> str:
    """One change of the text itself."""
    a, b = sorted(int(x) for x in random.integers(len(text) + 1, size=2))
    b = min(b, a + 12)
    lines = text.splitlines(keepends=True)
    k = int(random.integers(len(lines)))
    ways: list[Callable[[], str]] = [
        lambda: text[:a] + text[b:],
        lambda: text[:a] + text[a:b] + text[a:],
        lambda: text[:a] + chr(random.integers(1, 0x2100)) + text[a:],
        lambda: text[:a],
        lambda: "".join([*lines[:k], *lines[k + 1 :]]),
        lambda: "".join([*lines[:k], *lines[: k + 1], *lines[k:]]),
    ]
    return ways[random.integers(len(ways))]()


@cache
def _data(file: Path) -> Any:
    return parse(file.read_text(encoding="utf-8")).data


def case(seed: int, number: int) -> tuple[str, bool]:
    """A mutated model file, and whether it is JSON."""
    random = np.random.default_rng([seed, number])
    file = FILES[random.integers(len(FILES))]
    text = file.read_text(encoding="utf-8")
    if random.random() < 0.15:
        for _ in range(random.integers(1, 4)):
            text = garble(text, random) or " "
        return text, False
    data = deepcopy(_data(file))
    for _ in range(random.geometric(0.5)):
        mutate(data, random)
        if not data:
            break
    return (json.dumps(data), True) if random.random() < 0.7 else (_dumped(data), False)


def _dumped(data: Any) -> str:
    try:
        return dump(data)
    except (LinkworkError, ValueError, TypeError, AttributeError):  # what YAML cannot hold, JSON may
        return json.dumps(data)


Trial = Callable[[int, int], str]


class Hang(BaseException):
    pass


def _hang(*_: object) -> None:
    raise Hang


def outcome(text: str, is_json: bool) -> str:
    """What becomes of a model file; AssertionError if it is none of what may become of it."""
    stage = "load"
    try:
        model = loads(text, is_json=is_json)
        stage = "check"
        check(model)
        stage = "run"
        motion = simulate(model, t_end=T_END, step=STEP, integrator=Integrator(max_steps=MOST_STEPS))
        assert np.all(np.isfinite(motion.q)), "positions of a finished run are not finite"
        assert np.all(np.isfinite(motion.v)), "velocities of a finished run are not finite"
        assert motion.status == "finished", motion.status
        stage = "kinematics"
        if model.drivers:
            kinematics(model, t_end=T_END, step=STEP)
    except LinkworkError as refused:
        if not (refused.message.strip() and refused.code):
            raise AssertionError("an error without words or without a code") from refused
        return f"{stage} refused" if stage in ("load", "check") else f"{stage} refused or stopped"
    return "finished"


def trial(seed: int, number: int) -> str:
    """What becomes of a mutated file."""
    return outcome(*case(seed, number))


def attempt(seed: int, number: int, trial: Trial = trial) -> tuple[str, str]:
    """The outcome of a case, and a report if it is a fault."""
    began = time.process_time()
    signal.signal(signal.SIGPROF, _hang)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return trial(seed, number), ""
    except (Exception, Hang) as error:  # noqa: BLE001 - whatever comes here is what is looked for
        last = traceback.format_exc() if not isinstance(error, Hang) else "".join(traceback.format_exc()[-1500:])
        return f"FAULT {type(error).__name__}", f"--seed {seed} --first {number}\n{last}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        if time.process_time() - began > 10:
            print(f"slow: --seed {seed} --first {number}: {time.process_time() - began:.1f} s", flush=True)


def _attempt(given: tuple[int, int, Trial]) -> tuple[str, str]:
    return attempt(*given)


def campaign(trial: Trial, text: Callable[[int, int], str]) -> int:
    """As many cases as the command line asks for, and what became of them; the exit code of that."""
    options = argparse.ArgumentParser()
    options.add_argument("count", type=int)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    options.add_argument("--show", action="store_true", help="print the files")
    given = options.parse_args()
    numbers = range(given.first, given.first + given.count)
    if given.show:
        for number in numbers:
            print(text(given.seed, number))
    outcomes: Counter[str] = Counter()
    began = time.perf_counter()
    # A worker keeps the code of many structures, so it is replaced now and then.
    with get_context("spawn").Pool(given.jobs, maxtasksperchild=100) as pool, contextlib.suppress(KeyboardInterrupt):
        for what, report in pool.imap_unordered(_attempt, ((given.seed, n, trial) for n in numbers), chunksize=10):
            outcomes[what] += 1
            if report:
                print(report, flush=True)
            if outcomes.total() % 1000 == 0:
                print(f"{outcomes.total()} after {time.perf_counter() - began:.0f} s", flush=True)
    print(f"seed {given.seed}, {outcomes.total()} cases from number {given.first}")
    for what, count in outcomes.most_common():
        print(f"{count:8} {what}")
    return int(any(what.startswith("FAULT") for what in outcomes))


if __name__ == "__main__":
    sys.exit(campaign(trial, lambda seed, number: case(seed, number)[0]))
