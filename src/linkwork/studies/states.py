"""States of a mechanism: rests, small motions about them, assembled positions.

Each is a row at t = 0, so that what is taken of motions is taken of them too: final(crank.phi).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linkwork.analyses.equilibrium import equilibrium
from linkwork.analyses.linearize import linearize
from linkwork.assembly.assemble import assemble
from linkwork.compiled.mechanism import Mechanism
from linkwork.readings import Quantity, Readings


class Instant(Readings):
    """Numbers of a state by the names of results."""

    def __init__(self, mechanism: Mechanism, values: Mapping[str, float], units: Mapping[str, str]) -> None:
        known = {"t": "s", **units_of(mechanism), **units}
        self.name = mechanism.model.name
        self._found = {name: Quantity(np.array([x]), known.get(name, "")) for name, x in {"t": 0.0, **values}.items()}

    @property
    def quantities(self) -> dict[str, Quantity]:
        return self._found

    def rates_of(self, name: str) -> tuple[str, ...]:
        return ()


def units_of(mechanism: Mechanism) -> dict[str, str]:
    """Return the units of coordinates, velocities and reactions by name."""
    e, found = mechanism.equations, dict[str, str]()
    for own in (e, e.chart.body or e):
        found |= {c.name: c.unit for c in own.coordinates} | {c.speed: f"{c.unit}/s" for c in own.velocities}
        if "reactions" in own.columns:
            _, names, units = own.columns["reactions"]
            found |= dict(zip(names, units, strict=True))
    return found


def rest(mechanism: Mechanism, **options: Any) -> Instant:
    """Return where the bodies rest, and what the joints hold; `stable` is 1 or 0."""
    found = equilibrium(mechanism, **options)
    values = {**found.q, **found.reactions, "energy:potential": found.potential, "stable": float(found.is_stable)}
    return Instant(mechanism, values, {"energy:potential": "J"})


def small_motion(mechanism: Mechanism, **options: Any) -> Instant:
    """Return the eigenvalues in order, of the modes frequency and damping from the slowest on, and the fastest growth.

    Modes are fewer than eigenvalues, which may be pairs: what a place has no mode for is NaN.
    """
    found = linearize(mechanism, **options)
    values, units = {**found.q, **found.v, "stable": float(found.stability == "stable")}, {"growth": "1/s"}
    values["growth"] = float(found.acting.real.max(initial=-np.inf))
    modes = [*found.modes, *[None] * (len(found.eigenvalues) - len(found.modes))]
    for k, (value, mode) in enumerate(zip(found.eigenvalues.tolist(), modes, strict=True), 1):
        values |= {f"eigenvalue:{k}.real": value.real, f"eigenvalue:{k}.imag": value.imag}
        values |= {f"mode:{k}.{part}": getattr(mode, part, np.nan) for part in ("frequency", "damping")}
        units |= {f"eigenvalue:{k}.real": "1/s", f"eigenvalue:{k}.imag": "1/s", f"mode:{k}.frequency": "rad/s"}
    return Instant(mechanism, values, units)


def position(mechanism: Mechanism, **options: Any) -> Instant:
    """Return the nearest positions and velocities of the bodies that fit the joints."""
    found, e = assemble(mechanism, **options), mechanism.equations
    speeds = {c.speed: found.v[c.name] for c in (e.chart.body or e).velocities}
    return Instant(mechanism, {**found.q, **speeds, "residual": found.residual}, {})


STATES: dict[str, Callable[..., Instant]] = {"equilibrium": rest, "linearization": small_motion, "assembly": position}
