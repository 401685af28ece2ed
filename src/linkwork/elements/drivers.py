"""Drivers: a freedom of a joint, or a measure between two points, follows a function of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from linkwork.elements.bodies import Body
from linkwork.elements.faults import Faults, Numbers
from linkwork.elements.frames import Frame, SpatialFrame
from linkwork.elements.kinds import Kind, Measured, measured_load
from linkwork.elements.motions import Motion
from linkwork.elements.pairs import Joint, find_no_freedom
from linkwork.elements.spatial import wrapped
from linkwork.elements.vectors import Vector
from linkwork.expressions.graph import Expr

# The names of all freedoms that joints leave.
FREEDOMS: dict[str, Kind] = {
    **dict.fromkeys(("angle", "angle_i", "angle_j", "angle_x", "angle_y", "angle_z"), "angle"),
    **dict.fromkeys(("displacement", "distance", "x", "y", "z"), "length"),
}


@dataclass(frozen=True, eq=False)
class Driver:
    """Psi = freedom(q) - f(t); the driving force or torque in the direction of the freedom is -lam."""

    name: str
    joint: Joint
    freedom: str
    motion: Motion
    slips: ClassVar[dict[str, Kind]] = {}

    @property
    def rows(self) -> dict[str, Kind]:
        return {"drive": FREEDOMS[self.freedom]}

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.joint.bodies

    def faults(self, numbers: Numbers) -> Faults:
        yield from find_no_freedom(self.joint, self.freedom, must_name=True)

    def Psi(self, t: Expr, *frames: Frame) -> Vector:
        gap = self.joint.freedoms(*frames)[self.freedom] - self.motion.f(t)
        # Angles in space are known up to whole turns, those in the plane are coordinates.
        turns = self.rows["drive"] == "angle" and isinstance(frames[0], SpatialFrame)
        return Vector((wrapped(gap) if turns else gap,))

    def measures(self, lam: Expr, Psi_t: Expr) -> list[Measured]:
        """Return the force that drives, and its power: -Psi_q^T lam does the work lam . Psi_t."""
        return [measured_load(self.rows["drive"], -lam), Measured("power", lam * Psi_t, "W")]
