"""What exact derivatives by many parameters cost, in motions without them, by processor time, best of several.

    python -m benchmarks.gradients

The loop is that of machine code, with its steps, report rows and projections; the call is what a user waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import process_time

from linkwork import load, prepare, sensitivities
from linkwork.compiled.mechanism import Mechanism
from linkwork.simulation.varied import name_of

TIMES = 7
CASES = (("slider_crank", (1, 10)), ("andrews_squeezer", (1, 10, 48)))


def numbers_of(mechanism: Mechanism) -> list[str]:
    """Name the numbers of a mechanism by which it may vary."""
    e, folded = mechanism.equations, mechanism.model.folded
    names = [name_of(p) for p, value in e.parameters.items() if value != 0.0 and p not in set(e.held)]
    return [name for name in names if name not in folded]


def best(run: Callable[[], object]) -> float:
    found = []
    for _ in range(TIMES):
        began = process_time()
        run()
        found.append(process_time() - began)
    return min(found)


def measure() -> Iterator[tuple[str, str, float, list[tuple[int, float]]]]:
    """Name, coordinates, milliseconds of a call, and for numbers of parameters the ratio of a call with them."""
    for name, counts in CASES:
        for coordinates in ("body", "joint", "minimal"):
            mechanism = prepare(load(name), coordinates)
            names = numbers_of(mechanism)

            def plain(of: Mechanism = mechanism) -> object:
                return of.simulate(integrator="dop853")

            def varied(n: int, of: Mechanism = mechanism, names: list[str] = names) -> Callable[[], object]:
                return lambda: sensitivities(of, names[:n])

            plain()
            alone, ratios = best(plain), list[tuple[int, float]]()
            for n in counts:
                varied(n)()
                ratios.append((n, best(varied(n)) / min(alone, best(plain))))
            yield name, coordinates, 1e3 * alone, ratios


def report() -> list[str]:
    lines = [
        "",
        "## Exact derivatives by parameters",
        "",
        "A call with derivatives by so many parameters, in calls without.",
        "",
    ]
    lines += ["| problem | coordinates | a call, ms | parameters: calls |", "| --- | --- | --- | --- |"]
    for name, coordinates, alone, ratios in measure():
        told = ", ".join(f"{n}: {ratio:.1f}" for n, ratio in ratios)
        lines.append(f"| {name} | {coordinates} | {alone:.2f} | {told} |")
    return lines


if __name__ == "__main__":
    print("\n".join(report()))
