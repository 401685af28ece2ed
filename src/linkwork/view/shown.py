"""A figure that a notebook shows at the end of a cell, also where nobody has set up matplotlib for notebooks."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A figure of matplotlib that belongs to no window."""

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.savefig(out, format="png")
        return out.getvalue()
