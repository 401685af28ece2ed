"""What controllers in Python and steps of a user's own cost, in microseconds of processor time, best of several.

    python benchmarks/control.py

A controller is measured against the same law as a formula that is sampled within the compiled loop, a step of the
stepper against the time that its time loop takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    stepper = prepare(load("slider_crank")).stepper()
    found = []
    for _ in range(TIMES):
        state, loop = stepper.start(), stepper._loop
        loop.loop_s, began = 0.0, process_time()
        for _ in range(STEPS):
            stepper.step(state, (), EVERY)
        found.append((process_time() - began - loop.loop_s, loop.loop_s))
    beyond, within = min(found)
    return 1e6 * beyond / STEPS, 1e6 * within / STEPS


def report() -> list[str]:
    call, formula = measure_controller()
    beyond, within = measure_stepper()
    return [
        "",
        "## Controllers and steps of a user's own",
        "",
        "| what | microseconds |",
        "| --- | --- |",
        f"| dc_motor, a formula sampled every {1e3 * EVERY:g} ms, with its step | {formula:.2f} |",
        f"| the same law as a controller in Python, a call beyond that | {call:.2f} |",
        f"| slider_crank, the integration of a step of {1e3 * EVERY:g} ms | {within:.2f} |",
        f"| a step of the stepper beyond that | {beyond:.2f} |",
    ]


if __name__ == "__main__":
    print("\n".join(report()))
