"""What controllers in Python and steps of a user's own cost, in microseconds of processor time, best of several.

    python benchmarks/control.py

A controller is measured against the same law as a formula that is sampled within the compiled loop, a step of the
stepper against the time that its time loop takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from time import process_time

from linkwork import Controller, load, loads, prepare, simulate
from linkwork.mechanisms import MECHANISMS

TIMES, STEPS = 5, 20_000
EVERY, T_END = 1e-4, 1.0


def best(run: Callable[[], object]) -> float:
    found = []
    for _ in range(TIMES):
        began = process_time()
        run()
        found.append(process_time() - began)
    return min(found)


def control(_: float, y: Mapping[str, float]) -> dict[str, float]:
    return {"u": 1.0 - 0.5 * y["rotor.omega"]}


def measure_controller() -> tuple[float, float]:
    """Microseconds for a call beyond the sampled formula, and for the formula with its step."""
    text = (MECHANISMS / "dc_motor.yaml").read_text(encoding="utf-8")
    formula = loads(text.replace("value: 1}", f"value: 1 - 0.5*rotor.omega, every: {EVERY}}}"))
    opened = loads(text.replace(", value: 1}", "}"))
    compiled = best(lambda: simulate(formula, t_end=T_END, step=T_END))
    asked = best(lambda: simulate(opened, t_end=T_END, step=T_END, controllers=[Controller(EVERY, control)]))
    calls = 1e-6 * T_END / EVERY
    return (asked - compiled) / calls, compiled / calls


def measure_stepper() -> tuple[float, float]:
    """Microseconds for a step of a slider-crank beyond its time loop, and for the loop."""
    stepper = prepare(replace(load("slider_crank"))).stepper()
    found = []
    for _ in range(TIMES):
        state, loop = stepper.start(), stepper._loop
        loop.loop_s, began = 0.0, process_time()
        for _ in range(STEPS):
            stepper.step(state, (), EVERY)
        found.append((process_time() - began - loop.loop_s, loop.loop_s))
    beyond, within = min(found)
    return 1e6 * beyond / STEPS, 1e6 * within / STEPS


if __name__ == "__main__":
    call, formula = measure_controller()
    print(f"controller in Python: {call:.2f} us a call; a sampled formula with its step: {formula:.2f} us")
    beyond, within = measure_stepper()
    print(f"stepper, slider-crank: {beyond:.2f} us a step beyond its integration, which takes {within:.2f} us")
