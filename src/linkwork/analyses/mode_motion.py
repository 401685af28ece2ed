"""Modes and freedoms as motions that are shown: q moved a little along them, the joints closed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import prepare
from linkwork.elements.kinds import Columns
from linkwork.equations.place import Weights
from linkwork.errors import UsageError
from linkwork.model import Model
from linkwork.start.check import find_freedoms
from linkwork.start.closing import REACH, approach, find_start, follow_bodies, restart
from linkwork.start.freedoms import describe_motions
from linkwork.trajectory import Events, Run, Table, Trajectory

if TYPE_CHECKING:
    from linkwork.analyses.linearize import Linearization

Array = NDArray[np.float64]

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
    info = Run(found.name, "mode", found.coordinates, status="finished", dof=len(basis.of_u))
    return _shown(body.columns["q"], t, np.array(rows)[:, : len(body.q)], info, found.mechanism.model)


def wiggle(model: Model, weights: Weights = "mass", assemble: bool = False, keep: Sequence[str] = ()) -> Trajectory:
    """Show one freedom after the other: from the start there and back, both ways, in a second each."""
    given = restart(prepare(model).place(), None, None, weights, assemble, keep)
    place = follow_bodies(find_start(given, weights, any_distance=assemble, keep=keep)).place
    basis, swing = find_freedoms(place), np.linspace(0.0, 2.0 * np.pi, ROWS // 2, endpoint=False)
    if not basis.shape[1]:
        raise UsageError(f"'{model.name}' has no freedom to show", "no-freedom")
    dx = 0.5 * REACH * basis / np.abs(basis / place.v_scale[:, None]).max(axis=0)
    moved = [place.moved(own * np.sin(phase)) for own in dx.T for phase in swing] + [place]
    q = np.array([approach(at, "unit").of_bodies()[0] for at in moved])
    t = np.linspace(0.0, float(basis.shape[1]), len(moved))
    info = Run(model.name, "mode", "body", status="finished", dof=basis.shape[1])
    body = place.equations
    told = describe_motions(body, basis)
    begun = np.arange(len(told)) * len(swing)
    none = np.zeros((len(told), 0))
    events = Events(tuple(told), t[begun], q[begun][:, : len(body.q)], none, none)
    return replace(_shown(body.columns["q"], t, q[:, : len(body.q)], info, model), events=events)


def _shown(columns: Columns, t: Array, q: Array, info: Run, model: Model) -> Trajectory:
    """Return a motion of which positions are known alone."""
    energies = Columns(ENERGIES, tuple(f"energy:{name}" for name in ENERGIES), ("J",) * len(ENERGIES))
    tables = {"q": Table(columns, q), "energy": Table(energies, np.zeros((len(t), len(ENERGIES))))}
    return Trajectory(info.model, t, tables, 0.0 * t, 0.0 * t, info, model)
