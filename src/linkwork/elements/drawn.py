"""What a drawing must know of a joint or a force beside its points."""

from __future__ import annotations

from typing import ClassVar

from linkwork.elements.faults import Numbers
from linkwork.elements.vectors import Components, Scalar


class Drawn:
    """An element with the symbol of its type, at the points s, s_i and s_j of its bodies."""

    drawn_as: ClassVar[str] = ""  # the type whose symbol is drawn, if not its own

    @property
    def drawn_axis(self) -> Components | None:
        """Return the direction in its first body along which it lies or acts."""
        return getattr(self, "axis", None)

    @property
    def drawn_sizes(self) -> tuple[Scalar, ...]:
        """Return radii of discs and gears, half axes of an ellipsoid, or the length of a rod."""
        radii = (getattr(self, name, None) for name in ("radius", "radius_i", "radius_j"))
        return (*(radius for radius in radii if radius is not None), *getattr(self, "half_axes", ()))

    def drawn_parts(self, numbers: Numbers) -> tuple[str, ...]:
        """Return what it is made of, where its symbol depends on that."""
        return ()
