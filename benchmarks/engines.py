"""Other engines beside linkwork: milliseconds until all report times are right to 1e-6, measured once by hand.

`make bench` installs no engines; these figures stand here alone, and README.md and docs/benchmarks.md show them.
"""

from __future__ import annotations

MEASURED = "2026-11-17"
ENGINES = ("Exudyn 1.13", "MuJoCo 4.0 (soft)", "Pinocchio 4.1, RK4")
PROBLEMS: dict[str, tuple[tuple[float | None, ...], float]] = {
    "slider-crank, 20 s": ((196, 33, 5.5), 0.077),
    "A01 pendulum, 10 s": ((0.48, 3.0, 0.56), 0.054),
    "A02 two four-bars, 10 s": ((2386, None, 20), 0.306),
    "A03 Andrews' squeezer, 0.05 s": ((2520, 158, 40), 0.304),
    "A04 Bricard, 10 s": ((2082, 34.5, 43), 0.401),
    "A05 flyball governor, 10 s": ((2978, 393, 179), 1.09),
}


def table() -> list[str]:
    """The rows of the table, with the best engine by linkwork; an engine that has no figure fails on the problem."""
    rows = []
    for problem, (others, own) in PROBLEMS.items():
        shown = ("fails" if time is None else f"{time:g}" for time in others)
        best = min(time for time in others if time is not None)
        rows.append(f"| {problem} | {' | '.join(shown)} | {own:g} | {best / own:.0f} |")
    heads = ("problem", *ENGINES, "linkwork", "best engine / linkwork")
    return [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}", *rows]


def section() -> list[str]:
    return [
        "## Beside other engines",
        "",
        "Milliseconds until all report times are right to 1e-6 against a reference, one core, the integration alone,",
        f"each engine and linkwork at their best settings; measured on {MEASURED} on one machine. MuJoCo holds loops",
        "by soft constraints; of Pinocchio's accelerations a Runge-Kutta method of order 4 in C++ makes the motion.",
        "",
        *table(),
        "",
    ]
