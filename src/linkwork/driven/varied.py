"""Driven motions and their derivatives by parameters: these follow from the constraints, as the motion does.

    Psi_q dq = -Psi_p        Psi_q dv = -(Psi_dot)_q dq - (Psi_dot)_p        K (da, dlam) = F_q dq + F_v dv + F_p

F and K are those of equations/varied.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwork.equations.implicit import N_WORK
from linkwork.equations.varied import size_of_variation
from linkwork.errors import UsageError
from linkwork.expressions.graph import Expr
from linkwork.records import kept
from linkwork.simulation.varied import Gradients
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]


@dataclass(eq=False)
class DrivenGradients(Gradients):
    """Those of a motion that drivers prescribe."""

    def expression_of(self, name: str, motion: Trajectory) -> Expr:
        if name in ("energy:dissipated", "energy:supplied", "energy:drift"):
            message = f"'{name}' is added up along the way; a driven motion has derivatives of what holds at one time"
            raise UsageError(message, "not-varied")
        return super().expression_of(name, motion)

    @kept
    def variations(self) -> Array:
        rows, motion, k = self.rows, self.course.motion, len(self.chosen)
        first = motion.n + N_WORK
        n = size_of_variation(motion.system.equations, self.chosen)
        found = np.empty((len(rows.t), k, n))
        for part, span in zip(self.course.parts, rows.spans, strict=True):
            p = part.measured.p.copy()
            for i in range(span.start, span.stop):
                p[part.form.system.held] = rows.held[i]
                x = np.concatenate([rows.t[i : i + 1], rows.rows[i, :first], np.zeros(k * n)])
                found[i] = part.form.system.functions["onto"](x, p).reshape(n, k).T
        return found
