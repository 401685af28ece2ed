"""Modes as motions that are shown: q moved by Re(shape exp(i phase)), the joints closed again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.elements.kinds import Columns
from linkwork.errors import UsageError
from linkwork.start.closing import approach
from linkwork.trajectory import Run, Table, Trajectory

if TYPE_CHECKING:
    from linkwork.analyses.linearize import Linearization

ROWS = 97  # of two swings: pictures that follow each other smoothly
ENERGIES = ("kinetic", "potential", "dissipated", "supplied")


def move(found: Linearization, number: int, size: float) -> Trajectory:
    if not 1 <= number <= len(found.modes):
        raise UsageError(f"there is no mode {number} of {len(found.modes)}", "unknown-mode")
    mode, basis, scale = found.modes[number - 1], found.basis, found.tangent.scale
    w = np.array([mode.shape[name] for name in found.states[: len(basis.of_w)]])
    dx = basis.Y @ w
    dx = dx * (size / np.abs(dx / scale).max(initial=0.0))
    place, body = found.tangent.place, found.mechanism.equations.chart.body or found.mechanism.equations
    phases = np.linspace(0.0, 4.0 * np.pi, ROWS)
    rows = [approach(place.moved((dx * np.exp(1j * phase)).real), "unit").of_bodies()[0] for phase in phases]
    t = phases / (abs(mode.eigenvalue.imag) or abs(mode.eigenvalue.real) or 1.0)
    tables = {"q": Table(body.columns["q"], np.array(rows)[:, : len(body.q)])}
    energies = Columns(ENERGIES, tuple(f"energy:{name}" for name in ENERGIES), ("J",) * len(ENERGIES))
    tables["energy"] = Table(energies, np.zeros((ROWS, len(ENERGIES))))
    info = Run(found.name, "mode", found.coordinates, status="finished", dof=len(basis.of_u))
    none = np.zeros(ROWS)
    return Trajectory(found.name, t, tables, none, none, info, found.mechanism.model)
