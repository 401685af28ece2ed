"""Stiff motions by explicit and implicit methods."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from linkwork import load, simulate

ROD = Path(__file__).with_name("driven_rod.yaml")
SEEN = {"flyball_governor": "slider.z", "driven_rod": "rod.y", "numdyn3d_pendulum": "rod.x"}
JOINT: dict[str, Any] = {"coordinates": "joint"}
CASES: tuple[tuple[str, str, dict[str, Any], tuple[float, ...]], ...] = (
    ("flyball_governor", "radau5", JOINT, (1e-7, 1e-9)),
    ("flyball_governor", "auto", JOINT, (1e-7,)),
    ("flyball_governor", "auto", {"coordinates": "body"}, (1e-7,)),
    ("flyball_governor", "dop853", JOINT, (1e-7,)),
    ("driven_rod", "auto", {}, (1e-6, 1e-8)),
    ("driven_rod", "dop853", {}, (1e-6,)),
    ("numdyn3d_pendulum", "radau5", {"formulation": "index-3"}, (1e-8, 1e-11)),
    ("numdyn3d_pendulum", "dop853", {}, (1e-8,)),
)


def report() -> list[str]:
    lines = [
        "",
        "## Stiff motions",
        "",
        "The governor (A05) and a driven rod on two springs of 1e8 N/m, 10 s; the rod of Pennestri and Vita,",
        "3 s, with multipliers among the unknowns: their table 6 has 20 s for it. The error is that of `slider.z`,",
        "`rod.y` and `rod.x` at the report times, against rtol 1e-11.",
        "",
        "| mechanism | integrator | choices | rtol | steps | integration, ms | error |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    truths = {}
    for name, integrator, choices, tolerances in CASES:
        model = load(ROD if name == "driven_rod" else name)
        if name not in truths:
            truths[name] = simulate(model, rtol=1e-11, atol=1e-11)
        for rtol in tolerances:
            runs = [simulate(model, integrator=integrator, rtol=rtol, atol=rtol, **choices) for _ in range(3)]
            error = np.abs(runs[0][SEEN[name]] - truths[name][SEEN[name]]).max()
            best = 1e3 * min(run.info.integration_s for run in runs)
            said = ", ".join(choices.values()) or "body"
            lines.append(
                f"| {name} | {integrator} | {said} | {rtol:.0e} | {runs[0].info.steps} | {best:.1f} | {error:.1e} |"
            )
    return [*lines, *report_contacts()]


def report_contacts() -> list[str]:
    """Events that change held values alone, within the time loop."""
    lines = [
        "",
        "Rods that fall on ground of 1e11 N/m^1.5, 10 s; all of `simulate`, by the clock of the processor:",
        "",
        "| mechanism | coordinates | contacts begun and ended | steps | ms |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in ("dap/rod", "dap/rod_jc"):
        for coordinates in ("body", "joint"):
            found = []
            for _ in range(4):  # the first compiles
                began = process_time()
                motion = simulate(load(name), coordinates=coordinates)
                found.append(process_time() - began)
            counts = f"{len(motion.events.names)} | {motion.info.steps}"
            lines.append(f"| {name} | {coordinates} | {counts} | {1e3 * min(found):.0f} |")
    return lines
