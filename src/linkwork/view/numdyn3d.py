"""A motion in the files of NumDyn3D: one report of all input, three text files for each body [pennestri2004]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from linkwork.arrays import Array
from linkwork.errors import UsageError
from linkwork.files import write_texts
from linkwork.formats.deck_writing import deck_of
from linkwork.model import Model
from linkwork.trajectory import Trajectory
from linkwork.view.report import aligned, summary_lines

WIDTH = 25


def check_space(model: Model) -> None:
    if model.space != "spatial":
        raise UsageError("these files are of motions in space; write a planar one as .csv", "not-spatial")


def write(motion: Trajectory, folder: Path) -> list[Path]:
    """Write report.txt, and for the n-th body bodyN_positions.txt, bodyN_velocities.txt and bodyN_accelerations.txt."""
    assert motion.model is not None
    check_space(motion.model)
    texts = {"report.txt": report(motion)}
    for number, body in enumerate(motion.model.bodies, 1):
        parts = {
            "positions": {c.name: c.part for c in body.coordinates},
            "velocities": {c.speed: c.speed_part for c in body.velocities},
            "accelerations": {c.acceleration: c.acceleration_part for c in body.velocities},
        }
        for kind, headings in parts.items():
            values, title = (
                np.column_stack([motion.t, *(motion[name] for name in headings)]),
                f"{kind} of body {number}",
            )
            lines = _lines(f"{title}, {body.name}", ["t", *headings.values()], values)
            texts[f"body{number}_{kind}.txt"] = "\n".join(lines)
    write_texts(folder, texts)
    return [folder / name for name in texts]


def _lines(title: str, headings: list[str], values: Array) -> Iterator[str]:
    yield f"# {title}"
    yield "#" + "".join(heading.rjust(WIDTH) for heading in headings)[1:]
    yield from ("".join(f"{x:{WIDTH}.16e}" for x in row) for row in values)
    yield ""


def report(motion: Trajectory) -> str:
    """Return all input as the tables of a deck, what they do not hold, and how the run went."""
    assert motion.model is not None
    used = motion.model.simulation.changed(*(getattr(motion.info, key) for key in ("t_end", "step", "rtol", "atol")))
    tables, left_out = deck_of(replace(motion.model, simulation=used))
    parts = [f"{motion.model.name}: {motion.model.about.title}".removesuffix(": "), motion.model.about.source]
    parts += [f"{name}\n\n{text.rstrip()}" for name, text in tables.items()]
    parts += ["not in these tables\n\n" + "\n".join(left_out)] if left_out else []
    parts += ["run\n\n" + aligned(summary_lines(motion))]
    return "\n\n".join(part for part in parts if part) + "\n"
